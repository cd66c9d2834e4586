/* Data sets in IDX files: kind, two limits, three lengths, and the bytes of four files. */
#include "../unit/split.h"
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halfulp/data.h>

static void check_split(const hu_dataset *set, const hu_split *split, int64_t limit) {
    size_t bytes = (size_t)(split->count * set->field[HU_FIELD_IMAGE].extent[0] *
                            set->field[HU_FIELD_IMAGE].extent[1]),
           sum = 0;
    FUZZ_CHECK(split->count >= 1 && (limit == 0 || split->count <= limit));
    for (size_t i = 0; i < bytes; i++) sum += pixels_of(split)[i];
    FUZZ_CHECK(sum <= 255 * bytes);
    for (int64_t i = 0; i < split->count; i++)
        FUZZ_CHECK(labels_of(split)[i] >= 0 &&
                   labels_of(split)[i] < set->field[HU_FIELD_LABEL].classes);
}

static void check_loader(const hu_dataset *set) {
    const hu_loader_settings settings = {.seed = 1, .shuffle = true, .augment = set->augment};
    hu_loader *loader;
    float label, *image = calloc((size_t)(set->field[HU_FIELD_IMAGE].extent[0] *
                                          set->field[HU_FIELD_IMAGE].extent[1]),
                                 sizeof *image);
    FUZZ_CHECK(image != NULL);
    if (FUZZ_DONE(hu_loader_create(set, HU_SPLIT_TRAIN, &settings, &loader))) {
        FUZZ_CHECK(hu_loader_begin_epoch(loader, 1) == HU_OK);
        fill_both(loader, 0, 1, image, &label);
        for (int64_t i = 0;
             i < set->field[HU_FIELD_IMAGE].extent[0] * set->field[HU_FIELD_IMAGE].extent[1]; i++)
            FUZZ_CHECK(isfinite(image[i]));
        FUZZ_CHECK(label >= 0 && label < (float)set->field[HU_FIELD_LABEL].classes);
        hu_loader_close(loader);
    }
    free(image);
}

static void put_files(fuzz_cursor *cursor) {
    static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                        "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
    size_t bytes[4] = {fuzz_u16(cursor), fuzz_u16(cursor), fuzz_u16(cursor), SIZE_MAX};
    for (int i = 0; i < 4; i++) {
        const uint8_t *file = fuzz_take(cursor, &bytes[i]);
        fuzz_keep(names[i], file, bytes[i]);
    }
}

void fuzz_one(const uint8_t *data, size_t size) {
    fuzz_cursor cursor = {data, size, 0};
    bool any_size = fuzz_u8(&cursor) % 2 == 0;
    hu_data_limits limits = {fuzz_u8(&cursor), fuzz_u8(&cursor)};
    char spec[512];
    hu_dataset *set;
    snprintf(spec, sizeof spec, "%s:%s", any_size ? "idx" : "fashion-mnist", fuzz_folder());
    put_files(&cursor);
    if (size % 8 == 0) (void)FUZZ_DONE(hu_dataset_available(spec) ? HU_OK : HU_ERR_MEMORY);
    hu_status st = hu_dataset_open(spec, &limits, &set);
    if (st != HU_OK) {
        FUZZ_CHECK(!set && (st == HU_ERR_CORRUPT || fuzz_was_fault(st)));
        FUZZ_CHECK(hu_last_error()[0] != '\0');
        return;
    }
    FUZZ_CHECK(
        set->field[HU_FIELD_IMAGE].extent[0] >= 1 && set->field[HU_FIELD_IMAGE].extent[1] >= 1 &&
        set->field[HU_FIELD_IMAGE].extent[2] == 1 && set->field[HU_FIELD_LABEL].classes >= 1);
    FUZZ_CHECK(isfinite(set->field[HU_FIELD_IMAGE].mean[0]) &&
               set->field[HU_FIELD_IMAGE].std[0] > 0 &&
               isfinite(set->field[HU_FIELD_IMAGE].std[0]));
    check_split(set, &set->train, limits.train);
    check_split(set, &set->test, limits.test);
    check_loader(set);
    hu_dataset_close(set);
}

static void put_u32(hu_byte_writer *out, uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8)
        FUZZ_CHECK(hu_write_u8(out, (uint8_t)(value >> shift)) == HU_OK);
}

static void put_half(hu_byte_writer *out, uint32_t count, uint32_t height, uint32_t width) {
    put_u32(out, 0x803);
    put_u32(out, count);
    put_u32(out, height);
    put_u32(out, width);
    for (uint32_t i = 0; i < count * height * width; i++)
        FUZZ_CHECK(hu_write_u8(out, (uint8_t)(i * 7)) == HU_OK);
    put_u32(out, 0x801);
    put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) FUZZ_CHECK(hu_write_u8(out, (uint8_t)i) == HU_OK);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    if (index >= 3) return false;
    uint32_t height = index == 1 ? 28 : 3, width = index == 1 ? 28 : 2, count = index == 1 ? 1 : 5;
    FUZZ_CHECK(hu_write_u8(seed, index == 1) == HU_OK);
    FUZZ_CHECK(hu_write_u8(seed, index == 2 ? 3 : 0) == HU_OK);
    FUZZ_CHECK(hu_write_u8(seed, index == 2) == HU_OK);
    FUZZ_CHECK(hu_write_u16(seed, (uint16_t)(16 + count * height * width)) == HU_OK);
    FUZZ_CHECK(hu_write_u16(seed, (uint16_t)(8 + count)) == HU_OK);
    FUZZ_CHECK(hu_write_u16(seed, (uint16_t)(16 + height * width)) == HU_OK);
    put_half(seed, count, height, width);
    put_half(seed, 1, height, width);
    return true;
}
