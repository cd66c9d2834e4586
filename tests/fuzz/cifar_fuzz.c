/* CIFAR files out of a short description: version, two limits, and per file the number of records,
 * the bytes at its end that are missing or too many, and the labels; the pixels are drawn. */
#include "../unit/split.h"
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

#include <halfulp/data.h>

enum { PIXELS = 3072, FILES = 6, RECORDS_MAX = 3 };

typedef struct version {
    const char *name;
    const char *file[FILES + 1]; /* the last is the test half */
    size_t label_bytes;
    int bound[2];
} version;

static const version versions[] = {{"cifar10",
                                    {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                     "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"},
                                    1,
                                    {10}},
                                   {"cifar100", {"train.bin", "test.bin"}, 2, {20, 100}}};

/* What was written. */
typedef struct written {
    int labels[FILES * RECORDS_MAX], count[2]; /* training half, then test half */
    bool sizes_fit, labels_fit;
} written;

static void put_file(fuzz_cursor *cursor, const version *v, int index, bool is_test, written *all) {
    static uint8_t data[RECORDS_MAX * (PIXELS + 2) + 256], ramp[PIXELS + 13 * RECORDS_MAX];
    if (!ramp[1])
        for (size_t i = 0; i < sizeof ramp; i++) ramp[i] = (uint8_t)i;
    size_t records = fuzz_u8(cursor) % (RECORDS_MAX + 1), bytes = 0;
    int extra = (int8_t)fuzz_u8(cursor);
    for (size_t r = 0; r < records; r++) {
        int label = 0;
        for (size_t k = 0; k < v->label_bytes; k++) {
            data[bytes++] = fuzz_u8(cursor);
            label = data[bytes - 1];
            all->labels_fit = all->labels_fit && label < v->bound[k];
        }
        all->labels[all->count[0] + all->count[1]] = label;
        all->count[is_test]++;
        memcpy(data + bytes, ramp + 13 * r, PIXELS);
        bytes += PIXELS;
    }
    if (extra < 0 && (size_t)-extra > bytes) extra = 0;
    if (extra > 0) memset(data + bytes, 0, (size_t)extra);
    bytes = (size_t)((int64_t)bytes + extra);
    all->sizes_fit = all->sizes_fit && records > 0 && extra == 0;
    fuzz_keep(v->file[index], data, bytes);
}

/* The first planes' bytes of a record stand side by side in the pixels. */
static void check_set(const hu_dataset *set, const written *all, const hu_data_limits *limits) {
    const hu_split *splits[] = {&set->train, &set->test};
    int64_t most[] = {limits->train, limits->test};
    FUZZ_CHECK(set->field[HU_FIELD_IMAGE].extent[0] == 32 &&
               set->field[HU_FIELD_IMAGE].extent[1] == 32 &&
               set->field[HU_FIELD_IMAGE].extent[2] == 3);
    for (int half = 0; half < 2; half++) {
        int64_t count = all->count[half];
        if (most[half] > 0 && most[half] < count) count = most[half];
        FUZZ_CHECK(splits[half]->count == count);
        for (int64_t i = 0; i < count; i++) {
            FUZZ_CHECK(labels_of(splits[half])[i] == all->labels[i + (half ? all->count[0] : 0)]);
            const uint8_t *pixels = pixels_of(splits[half]) + i * PIXELS;
            FUZZ_CHECK((uint8_t)(pixels[3] - pixels[0]) == 1 && pixels[1] == pixels[0]);
        }
    }
}

void fuzz_one(const uint8_t *data, size_t size) {
    fuzz_cursor cursor = {data, size, 0};
    const version *v = &versions[fuzz_u8(&cursor) % 2];
    hu_data_limits limits = {fuzz_u8(&cursor), fuzz_u8(&cursor)};
    written all = {.sizes_fit = true, .labels_fit = true};
    char spec[512];
    hu_dataset *set;
    for (int i = 0; v->file[i]; i++) put_file(&cursor, v, i, !v->file[i + 1], &all);
    snprintf(spec, sizeof spec, "%s:%s", v->name, fuzz_folder());
    if (size % 8 == 0) (void)FUZZ_DONE(hu_dataset_available(spec) ? HU_OK : HU_ERR_MEMORY);
    hu_status st = hu_dataset_open(spec, &limits, &set);
    FUZZ_CHECK((st == HU_OK) == (set != NULL));
    if (st == HU_OK) {
        FUZZ_CHECK(all.sizes_fit);
        FUZZ_CHECK(all.labels_fit || limits.train || limits.test);
        check_set(set, &all, &limits);
        hu_dataset_close(set);
    } else {
        FUZZ_CHECK(st == HU_ERR_CORRUPT || fuzz_was_fault(st));
        FUZZ_CHECK(!all.sizes_fit || !all.labels_fit || fuzz_was_fault(st));
        FUZZ_CHECK(hu_last_error()[0] != '\0');
    }
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const uint8_t ten[] = {0, 0, 0, 1, 0, 3, 2, 0, 4, 5, 1, 0,
                                  9, 1, 0, 0, 1, 0, 7, 2, 0, 1, 2},
                         hundred[] = {1, 0, 0, 2, 0, 19, 99, 3, 4, 1, 0, 5, 6},
                         limited[] = {0, 2, 1, 1, 0, 3, 2, 0, 4, 5, 1, 0,
                                      9, 1, 0, 0, 1, 0, 7, 2, 0, 1, 2};
    static const struct {
        const uint8_t *data;
        size_t size;
    } seeds[] = {{ten, sizeof ten}, {hundred, sizeof hundred}, {limited, sizeof limited}};
    if (index >= sizeof seeds / sizeof *seeds) return false;
    FUZZ_CHECK(hu_write_bytes(seed, seeds[index].data, seeds[index].size) == HU_OK);
    return true;
}
