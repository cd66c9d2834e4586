#include "data/parallel_for.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/reader.h"

/* The first that failed. */
typedef struct failure {
    int64_t index;
    hu_status status;
    char message[1024];
} failure;

static void note(failure *first, int64_t index, hu_status st) {
#pragma omp critical(hu_data_failure)
    if (index < first->index) {
        first->index = index;
        first->status = st;
        snprintf(first->message, sizeof first->message, "%s", hu_last_error());
    }
}

static int64_t failed_at(const failure *first) {
    int64_t index;
#pragma omp critical(hu_data_failure)
    index = first->index;
    return index;
}

/* Whether somebody wants an end; one question of a process, as signals are. */
static const volatile sig_atomic_t *_Atomic asked;

void hu_data_watch(const volatile sig_atomic_t *interrupted) {
    atomic_store(&asked, interrupted);
}

static hu_status check_asked(void) {
    const volatile sig_atomic_t *flag = atomic_load(&asked);
    if (!flag || !*flag) return HU_OK;
    return hu_fail(HU_ERR_INTERRUPTED, "interrupted while the data were read");
}

hu_status hu_data_each(int64_t count, hu_status (*visit)(void *context, int64_t i), void *context) {
    failure first = {.index = INT64_MAX, .status = HU_OK};
#pragma omp parallel for schedule(dynamic, 8)
    for (int64_t i = 0; i < count; i++) {
        if (i > failed_at(&first)) continue;
        hu_status st = check_asked();
        if (st == HU_OK) st = visit(context, i);
        if (st != HU_OK) note(&first, i, st);
    }
    return first.status == HU_OK ? HU_OK : hu_fail(first.status, "%s", first.message);
}

/* Where samples go that are read field by field. */
typedef struct keeping {
    const hu_reader *reader;
    int fields;
    uint8_t *rows[HU_FIELDS_MAX]; /* NULL: not read */
    size_t bytes[HU_FIELDS_MAX];  /* of one sample */
} keeping;

static hu_status keep(void *context, int64_t i) {
    const keeping *k = context;
    const hu_reading_change none = {.epoch = 0};
    hu_image_scratch room = {0};
    uint8_t *sample;
    hu_status st = HU_NEW_ARRAY(&sample, k->reader->sample_bytes);
    if (st == HU_OK) st = k->reader->read(k->reader, &none, i, &room, sample);
    for (int f = 0; st == HU_OK && f < k->fields; f++)
        if (k->rows[f])
            memcpy(k->rows[f] + (size_t)i * k->bytes[f], sample + k->reader->start[f], k->bytes[f]);
    hu_image_scratch_free(&room);
    hu_free(sample);
    return st;
}

/* Bytes of a field with its margins; fields that are read are of bytes. */
static size_t field_bytes(const hu_field *field) {
    int64_t channels = field->rank > 2 ? field->extent[2] : 1;
    return (size_t)((field->extent[0] + 2 * field->margin) *
                    (field->extent[1] + 2 * field->margin) * channels);
}

hu_status hu_split_keep(const hu_dataset *dataset, void **owned, hu_split *split) {
    hu_status st = HU_OK;
    keeping k = {.reader = split->reader, .fields = dataset->field_count};
    const hu_field *field = split->field ? split->field : dataset->field;
    for (int f = 0; f < k.fields; f++) {
        if (!k.reader->reads[f]) continue;
        k.bytes[f] = field_bytes(&field[f]);
        HU_TRY(hu_alloc_array((size_t)split->count, k.bytes[f], owned));
        split->rows[f] = k.rows[f] = *owned++;
    }
    HU_TRY(hu_data_each(split->count, keep, &k));
    split->files = split->reader; /* that knows where they come from */
    split->reader = NULL;
done:
    return st;
}

hu_status hu_split_file(const hu_split *split, int64_t index, hu_sample_file *file) {
    const hu_reader *reader = split->reader ? split->reader : split->files;
    *file = (hu_sample_file){0};
    return reader && reader->tell ? reader->tell(reader, index, file) : HU_OK;
}
