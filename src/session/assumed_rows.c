#include "session/assumed_rows.h"

#include <string.h>

#include "base/error.h"
#include "data/segments.h"
#include "model/model.h"
#include "precision/role.h"

/* Rows of a sample; numbers of a row of a sound, or words of the language that is translated from;
 * different tokens, or characters and the blank. */
typedef struct assumed_rows {
    const char *model; /* a glob pattern; the first that matches counts */
    int64_t length, bins, sources, classes;
} assumed_rows;

/* Ten seconds of 16 kHz, and 1.6 of 8 kHz, with English letters, blank, apostrophe and the blank of
 * CTC; English and French of Multi30k, and as many words as Micikevicius et al. 2018 had; words of
 * WikiText-103, -2 and One Billion Words, and of the test text of WikiText-2 that it has three
 * times; pieces of BERT. */
static const assumed_rows usual[] = {
    {"deepspeech2", 1000, 161, 0, 29},
    {"deepspeech2-mandarin", 1000, 161, 0, 6000},
    {"ds2-s", 160, 81, 0, 27},
    {"biglstm", 20, 0, 0, 793470},
    {"biglstm-s", 20, 0, 0, 7266},
    {"lstm-lm", 35, 0, 0, 33278},
    {"lstm-lm-s", 32, 0, 0, 7266},
    {"seq2seq-s", 32, 0, 5898, 6434},
    {"seq2seq*", 32, 0, 100000, 40000},
    {"bert-tiny-s", 64, 0, 0, 7270},
    {"bert*", 128, 0, 0, 30522},
    {"transformer-lm", 3072, 0, 0, 267744},
    {"*", 64, 0, 0, 7266},
};

/* NULL: the model neither reads nor hears. */
static const assumed_rows *find(const char *name) {
    const hu_model *model;
    const assumed_rows *row = usual;
    if (hu_model_find(name, &model) != HU_OK) return NULL;
    if (strcmp(model->task, hu_task_transcribe.name) != 0 &&
        strcmp(model->task, hu_task_pretrain.name) != 0 &&
        strcmp(model->task, hu_task_translate.name) != 0 &&
        strcmp(model->task, hu_task_language.name) != 0)
        return NULL;
    while (!hu_glob_match(row->model, name)) row++;
    return row;
}

/* Windows of tokens, and the token behind each; the samples of a batch stand side by side. */
static void set_text(int64_t length, int64_t words, hu_dataset *assumed) {
    static const char *const names[] = {"tokens", "targets"};
    for (int f = 0; f < 2; f++) {
        assumed->field[f] =
            (hu_field){.type = HU_FIELD_I32, .rank = 1, .extent = {length}, .classes = words};
        strcpy(assumed->field[f].name, names[f]);
    }
    assumed->field_count = 2;
    assumed->streams = assumed->test.count;
}

/* Two segments with hidden words. */
static void set_segments(int64_t length, int64_t words, hu_dataset *assumed) {
    int64_t hidden = hu_segments_hidden(length);
    const struct {
        const char *name;
        int rank;
        int64_t extent, classes;
    } fields[] = {
        {"tokens", 1, length, words},  {"segments", 1, length, 2}, {"targets", 1, hidden, words},
        {"places", 1, hidden, length}, {"label", 0, 0, 2},         {"length", 0, 0, 0}};
    assumed->field_count = sizeof fields / sizeof *fields;
    for (int f = 0; f < assumed->field_count; f++) {
        assumed->field[f] = (hu_field){.type = HU_FIELD_F32,
                                       .rank = fields[f].rank,
                                       .extent = {fields[f].extent},
                                       .classes = fields[f].classes};
        strcpy(assumed->field[f].name, fields[f].name);
    }
}

/* A sentence and its translation, which the network also reads, a token behind. */
static void set_sentences(int64_t length, int64_t sources, int64_t words, hu_dataset *assumed) {
    static const struct {
        const char *name;
        bool is_target; /* of the words of its language */
        int rank;
    } fields[] = {{"source", false, 1},
                  {"tokens", true, 1},
                  {"targets", true, 1},
                  {"source_length", false, 0},
                  {"target_length", true, 0}};
    assumed->field_count = sizeof fields / sizeof *fields;
    for (int f = 0; f < assumed->field_count; f++) {
        assumed->field[f] =
            (hu_field){.type = HU_FIELD_I32, .rank = fields[f].rank, .extent = {length}};
        if (fields[f].rank > 0) assumed->field[f].classes = fields[f].is_target ? words : sources;
        strcpy(assumed->field[f].name, fields[f].name);
    }
}

/* Frames of 10 ms; nobody says more than a character in four of them. */
static void set_sound(int64_t frames, int64_t bins, int64_t classes, hu_dataset *assumed) {
    enum { FEATURES, LENGTH, LABEL, FIELDS, FRAMES_OF_A_CHARACTER = 4 };
    int64_t most = (frames + FRAMES_OF_A_CHARACTER - 1) / FRAMES_OF_A_CHARACTER;
    assumed->field[FEATURES] = (hu_field){.name = "features",
                                          .type = HU_FIELD_F32,
                                          .rank = 3,
                                          .extent = {frames, bins, 1},
                                          .is_ragged = true};
    assumed->field[LENGTH] = (hu_field){.name = "length", .type = HU_FIELD_I32};
    assumed->field[LABEL] = (hu_field){.name = "label",
                                       .type = HU_FIELD_I32,
                                       .rank = 1,
                                       .extent = {most},
                                       .is_ragged = true,
                                       .classes = classes};
    assumed->field_count = FIELDS;
}

hu_status hu_assumed_rows(const hu_config *config, const char *model, hu_dataset *assumed) {
    int64_t length, classes;
    hu_status st = HU_OK;
    const assumed_rows *row = find(model);
    if (!row) return HU_OK;
    HU_TRY(hu_config_i64(config, row->bins ? "data.frames" : "data.length", &length));
    HU_TRY(hu_config_i64(config, "data.classes", &classes));
    if (length == 0) length = row->length;
    if (classes == 0) classes = row->classes;
    if (row->bins)
        set_sound(length, row->bins, classes, assumed);
    else if (row->sources)
        set_sentences(length, row->sources, classes, assumed);
    else if (hu_glob_match("bert*", model))
        set_segments(length, classes, assumed);
    else
        set_text(length, classes, assumed);
done:
    return st;
}

const char *hu_assumed_rows_keys(const char *model) {
    const assumed_rows *row = find(model);
    if (!row) return NULL;
    return row->bins ? "data.frames=N data.classes=N" : "data.length=N data.classes=N";
}
