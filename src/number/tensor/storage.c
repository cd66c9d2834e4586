#include "tensor/storage.h"

#include <stdbool.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* Name, bits of a code (0: dense, in blocks or uniform), and whether numbers are float32 carriers.
 */
static const hu_storage_trait traits[] = {
    {"8 bit", 8, 0}, {"16 bit", 16, 0}, {"float32", 32, 1},
    {"dense", 0, 0}, {"blocks", 0, 0},  {"uniform", 0, 0},
};
/* Places of the rows above. */
enum { TRAIT_8, TRAIT_16, TRAIT_FLOAT32, TRAIT_DENSE, TRAIT_BLOCKS, TRAIT_UNIFORM };

/* In the order of hu_storage_mode. */
static const char *const mode_names[] = {"packed", "float32", "dense"};

hu_status hu_storage_mode_parse(const char *text, hu_storage_mode *mode) {
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, mode_names[i]) != 0) continue;
        *mode = (hu_storage_mode)i;
        return HU_OK;
    }
    return hu_fail(HU_ERR_UNKNOWN, "storage '%s', expected packed, float32 or dense", text);
}

static const hu_format float32 = {
    .exp_bits = 8, .man_bits = 23, .bias = 127, .subnormals = 1, .specials = HU_SPECIALS_IEEE};

/* One bit of exponent more gives all numbers of a format without infinity, and infinity. Where such
 * codes would reach beyond float32, float32 itself does. */
hu_format hu_storage_format(const hu_format *format) {
    hu_format wide = *format;
    if (format->nan != HU_NAN_OVERFLOWS || format->overflow != HU_OVERFLOW_INF) return wide;
    wide.exp_bits++;
    wide.specials = HU_SPECIALS_IEEE;
    wide.nan = HU_NAN_STAYS;
    return (1 << wide.exp_bits) - 2 - wide.bias <= 127 ? wide : float32;
}

/* Formats wider than 16 bits stay in float32: there is no narrower storage for them. */
static const hu_storage_trait *pick(hu_storage_mode mode, const hu_format *format) {
    if (!format || mode == HU_STORAGE_FLOAT32) return &traits[TRAIT_FLOAT32];
    const hu_format coded = hu_storage_format(format);
    uint32_t bits = hu_format_bits(&coded);
    if (bits > 16) return &traits[TRAIT_FLOAT32];
    if (mode == HU_STORAGE_DENSE) return &traits[TRAIT_DENSE];
    return &traits[bits <= 8 ? TRAIT_8 : TRAIT_16];
}

hu_status hu_storage_choose(hu_storage_mode mode, const hu_format *format, int64_t row_elements,
                            hu_storage *storage) {
    hu_status st = HU_OK;
    memset(storage, 0, sizeof *storage);
    storage->trait = pick(mode, format);
    storage->row_elements = row_elements;
    if (format) storage->format = hu_storage_format(format);
    if (storage->trait->is_float32) {
        if (hu_mul_size((size_t)row_elements, sizeof(float), &storage->row_bytes)) return HU_OK;
        return hu_fail(HU_ERR_SHAPE, "%lld elements of a sample do not fit the address space",
                       (long long)row_elements);
    }
    HU_TRY(hu_packer_init(&storage->packer, &storage->format, storage->trait->code_bits));
    storage->row_bytes =
        hu_packed_bytes((size_t)row_elements, &storage->format, storage->trait->code_bits);
done:
    return st;
}

void hu_storage_choose_blocks(hu_storage_mode mode, const hu_blocker *blocker,
                              hu_storage *storage) {
    bool is_float32 = mode == HU_STORAGE_FLOAT32;
    *storage = (hu_storage){.trait = &traits[is_float32 ? TRAIT_FLOAT32 : TRAIT_BLOCKS],
                            .format = blocker->format.element,
                            .blocker = blocker,
                            .tensor_scale = 1.0f,
                            .row_elements = blocker->row_elements};
    storage->row_bytes =
        is_float32 ? (size_t)blocker->row_elements * sizeof(float) : blocker->row_bytes;
}

void hu_storage_choose_uniform(hu_storage_mode mode, const hu_uniformer *uniformer,
                               hu_storage *storage) {
    bool is_float32 = mode == HU_STORAGE_FLOAT32;
    *storage = (hu_storage){.trait = &traits[is_float32 ? TRAIT_FLOAT32 : TRAIT_UNIFORM],
                            .uniformer = uniformer,
                            .tensor_scale = 1.0f,
                            .row_elements = uniformer->row_elements};
    storage->row_bytes =
        is_float32 ? (size_t)uniformer->row_elements * sizeof(float) : uniformer->row_bytes;
}

void hu_storage_set_format(hu_storage *storage, const hu_format *format) {
    storage->format = hu_storage_format(format);
    if (storage->trait->is_float32) return;
    /* It cannot fail: the format is valid and has as many bits as the one that the packer was made
     * for. */
    (void)hu_packer_init(&storage->packer, &storage->format, storage->trait->code_bits);
}

size_t hu_storage_bytes(const hu_storage *storage, int64_t rows) {
    return storage->row_bytes * (size_t)rows;
}

/* Rows that can be packed or unpacked in one call: all of them unless a row ends inside a byte or
 * has scales of its own. */
static int64_t rows_per_call(const hu_storage *storage, int64_t rows) {
    if (storage->uniformer) return storage->uniformer->is_seamless ? rows : 1;
    return storage->trait->code_bits == 0 ? 1 : rows;
}

void hu_storage_write(const hu_storage *storage, void *data, int64_t first, int64_t rows,
                      const float *x) {
    unsigned char *place = (unsigned char *)data + hu_storage_bytes(storage, first);
    if (storage->trait->is_float32) {
        if ((const void *)place != (const void *)x)
            memcpy(place, x, hu_storage_bytes(storage, rows));
        return;
    }
    /* Values are on the grid already: packing loses nothing and counts nothing. */
    int64_t step = rows_per_call(storage, rows);
    for (int64_t r = 0; r < rows; r += step)
        hu_packer_pack(&storage->packer, (size_t)(step * storage->row_elements),
                       x + r * storage->row_elements, place + hu_storage_bytes(storage, r), NULL);
}

void hu_storage_encode(const hu_storage *storage, const hu_rounder *rounder, void *data,
                       int64_t first, int64_t rows, const float *x, float *y,
                       const hu_random_key *key, uint64_t first_index, hu_round_counts *counts) {
    unsigned char *place = (unsigned char *)data + hu_storage_bytes(storage, first);
    int64_t step = rows_per_call(storage, rows), n = step * storage->row_elements;
    for (int64_t r = 0; r < rows; r += step) {
        int64_t at = r * storage->row_elements;
        hu_encode(rounder, &storage->packer, (size_t)n, x + at, y ? y + at : NULL,
                  place + hu_storage_bytes(storage, r), key, first_index + (uint64_t)at, counts);
    }
}

void hu_storage_encode_on_grid(const hu_storage *storage, const hu_rounder *rounder, void *data,
                               int64_t first, int64_t rows, const float *x,
                               hu_round_counts *counts) {
    unsigned char *place = (unsigned char *)data + hu_storage_bytes(storage, first);
    int64_t step = rows_per_call(storage, rows), n = step * storage->row_elements;
    for (int64_t r = 0; r < rows; r += step)
        hu_encode_on_grid(rounder, &storage->packer, (size_t)n, x + r * storage->row_elements,
                          place + hu_storage_bytes(storage, r), counts);
}

/* n elements from element `first` of the packed row at place on, of what has scales of its own. */
static void unpack_scaled(const hu_storage *storage, const unsigned char *row, int64_t first,
                          int64_t n, float *y) {
    if (storage->blocker)
        hu_blocker_unpack(storage->blocker, storage->tensor_scale, row, first, (size_t)n, y);
    else
        hu_uniform_unpack(storage->uniformer, storage->scale, row, first, (size_t)n, y);
}

static bool is_scaled(const hu_storage *storage) {
    return hu_storage_is_blocks(storage) || hu_storage_is_uniform(storage);
}

const float *hu_storage_read(const hu_storage *storage, const void *data, int64_t first,
                             int64_t rows, float *scratch) {
    const unsigned char *place = (const unsigned char *)data + hu_storage_bytes(storage, first);
    if (storage->trait->is_float32) return (const float *)(const void *)place;
    int64_t step = rows_per_call(storage, rows), n = step * storage->row_elements;
    for (int64_t r = 0; r < rows; r += step) {
        const unsigned char *row = place + hu_storage_bytes(storage, r);
        float *y = scratch + r * storage->row_elements;
        if (is_scaled(storage))
            unpack_scaled(storage, row, 0, n, y);
        else
            hu_packer_unpack(&storage->packer, (size_t)n, row, y);
    }
    return scratch;
}

float *hu_storage_in_place(const hu_storage *storage, void *data, int64_t first) {
    if (!storage->trait->is_float32) return NULL;
    return (float *)(void *)((unsigned char *)data + hu_storage_bytes(storage, first));
}

/* Byte at which element `first` of a row begins; whole bytes because first is a multiple of 8. */
static size_t part_offset(const hu_storage *storage, int64_t first) {
    return storage->trait->is_float32
               ? (size_t)first * sizeof(float)
               : hu_packed_bytes((size_t)first, &storage->format, storage->trait->code_bits);
}

void hu_storage_write_part(const hu_storage *storage, void *data, int64_t first, int64_t count,
                           const float *x) {
    unsigned char *place = (unsigned char *)data + part_offset(storage, first);
    if (!storage->trait->is_float32)
        hu_packer_pack(&storage->packer, (size_t)count, x, place, NULL);
    else if ((const void *)place != (const void *)x)
        memcpy(place, x, (size_t)count * sizeof(float));
}

const float *hu_storage_read_part(const hu_storage *storage, const void *data, int64_t first,
                                  int64_t count, float *scratch) {
    if (is_scaled(storage)) {
        unpack_scaled(storage, data, first, count, scratch);
        return scratch;
    }
    const unsigned char *place = (const unsigned char *)data + part_offset(storage, first);
    if (storage->trait->is_float32) return (const float *)(const void *)place;
    hu_packer_unpack(&storage->packer, (size_t)count, place, scratch);
    return scratch;
}
