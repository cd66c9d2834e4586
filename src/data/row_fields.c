#include "data/row_fields.h"

#include <string.h>

/* A field with one extent, or with none. */
typedef struct row_field {
    const char *name;
    int rank;
    int64_t extent, classes;
} row_field;

static void set(hu_field_type type, const row_field *row, int count, hu_dataset *dataset) {
    for (int f = 0; f < count; f++) {
        dataset->field[f] = (hu_field){.type = type,
                                       .rank = row[f].rank,
                                       .extent = {row[f].extent},
                                       .classes = row[f].classes};
        strcpy(dataset->field[f].name, row[f].name);
    }
    dataset->field_count = count;
}

void hu_text_fields(int64_t length, int64_t classes, hu_dataset *dataset) {
    const row_field rows[] = {{"tokens", 1, length, classes}, {"targets", 1, length, classes}};
    set(HU_FIELD_I32, rows, sizeof rows / sizeof *rows, dataset);
}

void hu_segment_fields(int64_t length, int64_t classes, hu_dataset *dataset) {
    int64_t hidden = hu_segments_hidden(length);
    const row_field rows[] = {
        {"tokens", 1, length, classes}, {"segments", 1, length, 2}, {"targets", 1, hidden, classes},
        {"places", 1, hidden, length},  {"label", 0, 0, 2},         {"length", 0, 0, 0}};
    set(HU_FIELD_F32, rows, sizeof rows / sizeof *rows, dataset);
}

void hu_sentence_fields(int64_t length, int64_t sources, int64_t targets, hu_dataset *dataset) {
    const row_field rows[] = {{"source", 1, length, sources},
                              {"source_length", 0, 0, 0},
                              {"tokens", 1, length, targets},
                              {"targets", 1, length, targets},
                              {"target_length", 0, 0, 0}};
    set(HU_FIELD_I32, rows, sizeof rows / sizeof *rows, dataset);
}

void hu_sound_fields(int64_t frames, int64_t bins, int64_t letters, int64_t classes,
                     hu_dataset *dataset) {
    enum { FEATURES, LENGTH, LABEL, FIELDS };
    dataset->field[FEATURES] = (hu_field){.name = "features",
                                          .type = HU_FIELD_F32,
                                          .rank = 3,
                                          .extent = {frames, bins, 1},
                                          .is_ragged = true};
    dataset->field[LENGTH] = (hu_field){.name = "length", .type = HU_FIELD_I32};
    dataset->field[LABEL] = (hu_field){.name = "label",
                                       .type = HU_FIELD_I32,
                                       .rank = 1,
                                       .extent = {letters},
                                       .is_ragged = true,
                                       .classes = classes};
    dataset->field_count = FIELDS;
}
