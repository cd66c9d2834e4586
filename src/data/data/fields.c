#include "data/fields.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

/* ---- row fields ---- */

/* Fields of samples that are rows of words or of sound: of the kinds of data
 * that read them, and for whoever assumes some.
 *
 * Each sets the fields and their count; classes are different words, letters and so on.
 */

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

/* ---- A border around the images of a data set ---- */

/* Only plain images alone: label maps and boxes would have to move with them. */
static bool can_be_framed(const hu_dataset *dataset) {
    int spatial = 0;
    for (int f = 0; f < dataset->field_count; f++)
        spatial += dataset->field[f].is_spatial || dataset->field[f].is_boxes;
    const hu_field *image = &dataset->field[HU_FIELD_IMAGE];
    return spatial == 1 && image->is_spatial && image->type == HU_FIELD_U8 && image->rank == 3 &&
           image->margin == 0 && dataset->train.rows[HU_FIELD_IMAGE] &&
           dataset->test.rows[HU_FIELD_IMAGE] && !dataset->parted;
}

/* A copy of the images of a part [count, height, width, channels], each inside of a larger black
 * one. */
static hu_status frame_part(const hu_split *split, const int64_t *extent, int64_t pixels,
                            void **framed) {
    int64_t height = extent[0] + 2 * pixels, row = extent[1] * extent[2];
    int64_t wide = (extent[1] + 2 * pixels) * extent[2], all;
    const uint8_t *from = split->rows[HU_FIELD_IMAGE];
    if (!hu_mul_i64(height * wide, split->count, &all))
        return hu_fail(HU_ERR_LIMIT, "data.frame: the images leave no size that fits 63 bits");
    hu_status st = hu_alloc((size_t)all, framed); /* zeros: black */
    if (st != HU_OK) return st;
    uint8_t *to = *framed;
    for (int64_t s = 0; s < split->count; s++)
        for (int64_t y = 0; y < extent[0]; y++)
            memcpy(to + (s * height + y + pixels) * wide + pixels * extent[2],
                   from + (s * extent[0] + y) * row, (size_t)row);
    return HU_OK;
}

/* Where the data set owns the images of a part; NULL: they are somebody else's. */
static void **owner_of(hu_dataset *dataset, const hu_split *split) {
    for (size_t i = 0; i < sizeof dataset->owned / sizeof *dataset->owned; i++)
        if (dataset->owned[i] == split->rows[HU_FIELD_IMAGE]) return &dataset->owned[i];
    return NULL;
}

/* The new images in the place of the old ones. */
static void take(hu_dataset *dataset, hu_split *split, void *framed) {
    void **owner = owner_of(dataset, split);
    hu_free(*owner);
    *owner = framed;
    hu_memory_assign(framed, HU_MEMORY_DATA);
    split->rows[HU_FIELD_IMAGE] = framed;
}

hu_status hu_dataset_frame(hu_dataset *dataset, int64_t pixels) {
    hu_status st = HU_OK;
    void *train = NULL, *test = NULL;
    int64_t *extent = dataset->field[HU_FIELD_IMAGE].extent;
    if (pixels < 0 || pixels > HU_FRAME_MOST)
        return hu_fail(HU_ERR_ARGUMENT, "data.frame: found %lld, expected 0..%d", (long long)pixels,
                       HU_FRAME_MOST);
    if (pixels == 0) return HU_OK;
    if (!can_be_framed(dataset) || !owner_of(dataset, &dataset->train) ||
        !owner_of(dataset, &dataset->test))
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.frame: found %lld with data %s, expected images of bytes in memory, "
                       "without label maps or boxes",
                       (long long)pixels, dataset->name ? dataset->name : "");
    HU_TRY(frame_part(&dataset->train, extent, pixels, &train));
    HU_TRY(frame_part(&dataset->test, extent, pixels, &test));
    take(dataset, &dataset->train, train);
    take(dataset, &dataset->test, test);
    extent[0] += 2 * pixels;
    extent[1] += 2 * pixels;
    train = test = NULL;
done:
    hu_free(train);
    hu_free(test);
    return st;
}

/* ---- Data sets whose samples a program makes ---- */

/* number: place in the caller's list, for the message of a field without a name. */
static hu_status check_field(const hu_field *field, int number) {
    int64_t bytes = sizeof(float);
    if (!field->name[0] || !memchr(field->name, '\0', sizeof field->name))
        return hu_fail(HU_ERR_ARGUMENT, "field %d: found no name, expected 1 to %d characters",
                       number, HU_FIELD_NAME_BYTES - 1);
    if (field->rank < 0 || field->rank > HU_FIELD_RANK_MAX || field->classes < 0)
        return hu_fail(HU_ERR_ARGUMENT, "field '%s': found rank %d and %lld classes", field->name,
                       field->rank, (long long)field->classes);
    for (int i = 0; i < field->rank; i++) {
        if (field->extent[i] < 1)
            return hu_fail(HU_ERR_ARGUMENT, "field '%s': extent %d is %lld, expected at least 1",
                           field->name, i, (long long)field->extent[i]);
        if (!hu_mul_i64(bytes, field->extent[i], &bytes))
            return hu_fail(HU_ERR_ARGUMENT,
                           "field '%s': extents up to number %d, which is %lld, are more numbers "
                           "than can be addressed",
                           field->name, i, (long long)field->extent[i]);
    }
    return HU_OK;
}

/* Tasks find fields by their names. */
static hu_status check_names(const hu_field *fields, int count) {
    for (int f = 1; f < count; f++)
        for (int other = 0; other < f; other++)
            if (strcmp(fields[f].name, fields[other].name) == 0)
                return hu_fail(HU_ERR_ARGUMENT,
                               "fields %d and %d are both called '%s', expected a name for each",
                               other, f, fields[f].name);
    return HU_OK;
}

/* The size tells which version of the header the program was built with. */
static hu_status check_source(const hu_sample_source *source, const char *half) {
    if (source->size != sizeof *source)
        return hu_fail(HU_ERR_ARGUMENT, "%s source: its size is %zu, expected %zu", half,
                       source->size, sizeof *source);
    if (!source->fill || source->samples < 1 || source->samples > UINT32_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "%s source: found %lld samples%s, expected 1 to 2^32-1",
                       half, (long long)source->samples, source->fill ? "" : " and no fill");
    return HU_OK;
}

/* Numbers as they come: neither bytes nor pixels that move. */
static hu_field plain_field(const hu_field *given) {
    hu_field field = {.type = HU_FIELD_F32, .rank = given->rank, .classes = given->classes};
    memcpy(field.name, given->name, sizeof field.name);
    memcpy(field.extent, given->extent, sizeof field.extent);
    return field;
}

hu_status hu_dataset_of_sources(const hu_field *fields, int count, const hu_sample_source *train,
                                const hu_sample_source *test, hu_dataset **dataset) {
    HU_GIVEN(dataset);
    *dataset = NULL;
    HU_GIVEN(fields);
    HU_GIVEN(train);
    HU_GIVEN(test);
    hu_status st = HU_OK;
    void *block = NULL;
    if (count < 1 || count > HU_FIELDS_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "found %d fields, expected 1 to %d", count, HU_FIELDS_MAX);
    for (int f = 0; f < count; f++) HU_TRY(check_field(&fields[f], f));
    HU_TRY(check_names(fields, count));
    HU_TRY(check_source(train, "training"));
    HU_TRY(check_source(test, "test"));
    HU_TRY(hu_alloc(sizeof **dataset, &block));
    hu_dataset *made = block;
    made->field_count = count;
    made->train = (hu_split){.count = train->samples, .source = *train};
    made->test = (hu_split){.count = test->samples, .source = *test};
    for (int f = 0; f < count; f++) made->field[f] = plain_field(&fields[f]);
    HU_TRY(hu_strdup("source", &made->name));
    *dataset = made;
    block = NULL;
done:
    hu_dataset_close(block);
    return st;
}

/* ---- Data sets whose samples a program has ---- */

static hu_status no_samples(void *context, int field, int64_t epoch, int64_t index, float *row) {
    (void)context;
    (void)field;
    (void)epoch;
    (void)index;
    (void)row;
    return HU_ERR_MISSING;
}

hu_status hu_dataset_need_samples(const hu_split *half) {
    if (half->source.fill != no_samples) return HU_OK;
    return hu_fail(HU_ERR_MISSING,
                   "the data set was made without the samples of this half (hu_dataset_of_rows), "
                   "expected some: training steps may get theirs by hu_training_push");
}

static hu_status check_rows(const hu_sample_rows *rows, int count, const char *half) {
    if (rows->size != sizeof *rows)
        return hu_fail(HU_ERR_ARGUMENT, "%s rows: their size is %zu, expected %zu", half,
                       rows->size, sizeof *rows);
    for (int f = 0; rows->field && f < count; f++)
        if (!rows->field[f])
            return hu_fail(HU_ERR_ARGUMENT, "%s rows: found none of field %d", half, f);
    return HU_OK;
}

static void set_rows(const hu_sample_rows *rows, int count, hu_split *half) {
    if (!rows->field) return;
    half->source = (hu_sample_source){0};
    for (int f = 0; f < count; f++) half->rows[f] = rows->field[f];
}

hu_status hu_dataset_of_rows(const hu_field *fields, int count, const hu_sample_rows *train,
                             const hu_sample_rows *test, hu_dataset **dataset) {
    HU_GIVEN(dataset);
    *dataset = NULL;
    HU_GIVEN(fields);
    HU_GIVEN(train);
    HU_GIVEN(test);
    hu_status st = HU_OK;
    const hu_sample_source of_train = {sizeof of_train, train->samples, NULL, no_samples};
    const hu_sample_source of_test = {sizeof of_test, test->samples, NULL, no_samples};
    HU_TRY(hu_dataset_of_sources(fields, count, &of_train, &of_test, dataset));
    HU_TRY(check_rows(train, count, "training"));
    HU_TRY(check_rows(test, count, "test"));
    set_rows(train, count, &(*dataset)->train);
    set_rows(test, count, &(*dataset)->test);
done:
    if (st != HU_OK) {
        hu_dataset_close(*dataset);
        *dataset = NULL;
    }
    return st;
}

/* ---- Samples held out of the training part, on which choices are made ---- */

/* How many samples an amount means; HU_ERR_ARGUMENT where it leaves a part empty. */
static hu_status count_held(const hu_dataset *dataset, double amount, int64_t *held) {
    int64_t all = dataset->train.count;
    *held = 0;
    bool is_share = amount > 0.0 && amount < 1.0;
    if (!is_share && !(amount >= 1.0 && amount == floor(amount)))
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.validation: found %g, expected a share below 1 of the training "
                       "samples, or a number of them",
                       amount);
    double asked = is_share ? floor(amount * (double)all + 0.5) : amount;
    if (asked < 1.0 || asked >= (double)all)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.validation: found %g, which is %.0f of the %lld training samples; "
                       "expected 1 to %lld",
                       amount, asked, (long long)all, (long long)all - 1);
    *held = (int64_t)asked;
    return HU_OK;
}

/* Both parts in the order of the data set: those that are not held out first, then those that are.
 * is_held: [count]. */
static void list_parts(const bool *is_held, int64_t count, int64_t held, uint32_t *index) {
    int64_t train = 0, validation = count - held;
    for (int64_t i = 0; i < count; i++) index[is_held[i] ? validation++ : train++] = (uint32_t)i;
}

/* Class numbers, one for each sample; NULL: the field is something else, or made by a source. */
static const int32_t *classes_of(const hu_dataset *dataset, int f) {
    const hu_field *field = &dataset->field[f];
    bool is_class = field->type == HU_FIELD_I32 && field->rank == 0 && field->classes > 0;
    return is_class && !dataset->train.source.fill ? dataset->train.rows[f] : NULL;
}

/* A class of which every training sample is held out could not be learned. */
static hu_status check_classes(const int32_t *label, int64_t classes, const bool *is_held,
                               int64_t count) {
    hu_status st = HU_OK;
    int64_t *left = NULL, *present = NULL;
    HU_TRY(HU_NEW_ARRAY(&left, (size_t)classes));
    HU_TRY(HU_NEW_ARRAY(&present, (size_t)classes));
    for (int64_t i = 0; i < count; i++) {
        if (label[i] < 0 || label[i] >= classes) continue;
        present[label[i]]++;
        left[label[i]] += !is_held[i];
    }
    for (int64_t c = 0; c < classes; c++)
        if (present[c] > 0 && left[c] == 0)
            HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                           "data.validation: all %lld training samples of class %lld are held "
                           "out, expected some to be left; hold out fewer, or set "
                           "data.class_seed",
                           (long long)present[c], (long long)c));
done:
    hu_free(left);
    hu_free(present);
    return st;
}

/* Marks the first `held` of the permutation that the seed names. order: room for [count]. */
static void draw(uint64_t seed, int64_t count, int64_t held, uint32_t *order, bool *is_held) {
    hu_random_key key = {seed, hu_stream_id("validation", ""), 0};
    hu_random_permutation(&key, (uint32_t)count, order);
    for (int64_t i = 0; i < held; i++) is_held[order[i]] = true;
}

hu_status hu_dataset_hold_out(hu_dataset *dataset, double amount, uint64_t seed) {
    HU_GIVEN(dataset);
    hu_status st = HU_OK;
    int64_t held, all = dataset->train.count;
    uint32_t *index = NULL;
    bool *is_held = NULL;
    if (dataset->parted)
        return hu_fail(HU_ERR_ARGUMENT, "data %s: a part is held out already", dataset->name);
    if (dataset->streams > 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.validation: found %g of a text in %lld streams, "
                       "expected none: a sample goes on where another ends (assign, which chooses "
                       "on samples held out, cannot search for such a network)",
                       amount, (long long)dataset->streams);
    HU_TRY(count_held(dataset, amount, &held));
    HU_TRY(HU_NEW_ARRAY(&index, (size_t)all));
    HU_TRY(HU_NEW_ARRAY(&is_held, (size_t)all));
    draw(seed, all, held, index, is_held);
    for (int f = 0; f < dataset->field_count; f++)
        if (classes_of(dataset, f))
            HU_TRY(check_classes(classes_of(dataset, f), dataset->field[f].classes, is_held, all));
    list_parts(is_held, all, held, index);
    hu_memory_assign(index, HU_MEMORY_DATA);
    dataset->validation = dataset->train;
    dataset->validation.count = held;
    dataset->validation.index = index + (all - held);
    dataset->train.count = all - held;
    dataset->train.index = index;
    dataset->parted = index;
    index = NULL;
done:
    hu_free(index);
    hu_free(is_held);
    return st;
}
