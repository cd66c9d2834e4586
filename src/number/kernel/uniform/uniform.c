/* kernel/uniform/uniform.c - ranges, rows piece by piece, and their bytes. */
#include "kernel/uniform/uniform.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "base/checked.h"
#include "base/error.h"
#include "kernel/round/round.h"
#include "kernel/pack/bits.h"

/* Elements of a piece: a multiple of 8, so that pieces of a dense stream end at whole bytes. */
enum { PIECE = 1024 };

extern const hu_uniform_kernels HU_OF_ISA(hu_uniform_kernels);
static const hu_uniform_kernels *const kernels[HU_ISA_COUNT] = {HU_AT_ISA(hu_uniform_kernels)};

/* ---- preparation ---- */

/* Bytes of n codes as a dense stream. */
static size_t dense_bytes(uint32_t bits, size_t n) {
    return n / 8 * bits + (n % 8 * bits + 7) / 8;
}

hu_status hu_uniformer_init(hu_uniformer *u, uint32_t bits, hu_rounding rounding,
                            int64_t row_elements, int64_t line) {
    size_t carriers;
    memset(u, 0, sizeof *u);
    if (bits < 1 || bits > HU_UNIFORM_BITS_MOST)
        return hu_fail(HU_ERR_ARGUMENT, "uniform integers of %u bits, allowed 1..%d",
                       (unsigned)bits, HU_UNIFORM_BITS_MOST);
    if (rounding != HU_ROUND_NEAREST_EVEN && rounding != HU_ROUND_STOCHASTIC)
        return hu_fail(HU_ERR_ARGUMENT, "uniform integers: found rounding %s, expected rne or sr",
                       hu_rounding_name(rounding));
    if (!hu_mul_size((size_t)row_elements, sizeof(float), &carriers))
        return hu_fail(HU_ERR_SHAPE, "%lld elements of a sample do not fit the address space",
                       (long long)row_elements);
    *u = (hu_uniformer){.kernels = kernels[hu_cpu_isa()],
                        .bits = bits,
                        .rounding = rounding,
                        .levels = (float)((1u << bits) - 1),
                        .row_elements = row_elements,
                        .line = line,
                        .row_bytes = dense_bytes(bits, (size_t)row_elements),
                        .is_seamless = line == 0 && (size_t)row_elements % 8 * bits % 8 == 0};
    return HU_OK;
}

/* ---- ranges ---- */

/* Numbers as integers in the same order; -0 is less than +0, NaNs lie beyond the infinities. */
static int32_t place_of(float x) {
    int32_t word = (int32_t)hu_f32_bits(x);
    return word ^ (word >> 31 & INT32_MAX);
}

/* The number of a place; both zeros are +0. */
static float number_at(int32_t place) {
    return hu_f32_of_bits((uint32_t)(place ^ (place >> 31 & INT32_MAX))) + 0.0f;
}

/* A NaN with a sign is the least of all places, one without the largest: both end up in *high. */
static void set_range(int32_t least, int32_t most, float *low, float *high) {
    bool has_nan = least < place_of(-INFINITY) || most > place_of(INFINITY);
    *low = number_at(least);
    *high = has_nan ? hu_f32_of_bits(HU_F32_NAN) : number_at(most);
}

void hu_uniform_range(size_t n, const float *x, float *low, float *high) {
    int32_t least = place_of(*low), most = place_of(*high);
    kernels[hu_cpu_isa()]->range(n, x, &least, &most);
    set_range(least, most, low, high);
}

void hu_uniform_range_join(float more_low, float more_high, float *low, float *high) {
    int32_t least = place_of(*low), most = place_of(*high);
    if (place_of(more_low) < least) least = place_of(more_low);
    if (place_of(more_high) > most) most = place_of(more_high);
    set_range(least, most, low, high);
}

hu_uniform_scale hu_uniform_scale_of(float low, float high, uint32_t bits) {
    const float levels = (float)((1u << bits) - 1), least = 1e-8f;
    float width = high - low, step = width / levels;
    if (!isfinite(width)) return (hu_uniform_scale){0.0f, hu_f32_of_bits(HU_F32_NAN)};
    return (hu_uniform_scale){low + 0.0f, step > least ? step : least};
}

/* ---- parts ---- */

/* What a part may need beside the caller's arrays. */
typedef struct part_room {
    float zeros[PIECE], steps[PIECE];
    uint32_t words[PIECE];
} part_room;

/* Zero and step for each of n elements: lines may be as short as the nine weights of a filter, too
 * short for loops of their own. */
static void spread_scales(const hu_uniformer *u, const hu_uniform_scale *scale, int64_t first,
                          size_t n, part_room *room) {
    const hu_uniform_scale *here = scale + first / u->line;
    size_t left = (size_t)(u->line - first % u->line);
    for (size_t at = 0; at < n; left = (size_t)u->line, here++)
        for (size_t end = n - at < left ? n : at + left; at < end; at++) {
            room->zeros[at] = here->zero;
            room->steps[at] = here->step;
        }
}

/* n <= PIECE elements from element `first` of a row on. */
static hu_uniform_part part_at(const hu_uniformer *u, const hu_uniform_scale *scale, int64_t first,
                               size_t n, part_room *room) {
    hu_uniform_part part = {.n = n, .levels = u->levels, .scale = scale[0]};
    if (u->line == 0) return part;
    spread_scales(u, scale, first, n, room);
    part.zeros = room->zeros;
    part.steps = room->steps;
    return part;
}

/* The same with the random words from word `index` on, where they are needed. */
static hu_uniform_part shaken_at(const hu_uniformer *u, const hu_uniform_scale *scale,
                                 int64_t first, size_t n, const hu_random_key *key, uint64_t index,
                                 part_room *room) {
    hu_uniform_part part = part_at(u, scale, first, n, room);
    if (u->rounding != HU_ROUND_STOCHASTIC) return part;
    hu_random_words_fast(key, index, n, room->words);
    part.words = room->words;
    return part;
}

/* ---- rows ---- */

static size_t piece_at(int64_t first, int64_t end) {
    return end - first < PIECE ? (size_t)(end - first) : PIECE;
}

/* Where all elements share a scale, rows are one long one. */
static int64_t elements_of_turn(const hu_uniformer *u, int64_t rows) {
    return u->line ? u->row_elements : rows * u->row_elements;
}

void hu_uniform_round(const hu_uniformer *u, const hu_uniform_scale *scale, int64_t rows,
                      const float *x, float *y, const hu_random_key *key, uint64_t first_index,
                      hu_round_counts *counts) {
    part_room room;
    int64_t all = rows * u->row_elements, turn = elements_of_turn(u, rows);
    for (int64_t row = 0; row < all; row += turn)
        for (int64_t first = 0; first < turn; first += PIECE) {
            int64_t at = row + first;
            hu_uniform_part part = shaken_at(u, scale, first, piece_at(first, turn), key,
                                             first_index + (uint64_t)at, &room);
            u->kernels->values(&part, x + at, y + at, counts);
        }
}

void hu_uniform_residual(const hu_uniformer *u, const hu_uniform_scale *scale, int64_t rows,
                         const float *x, float *residual) {
    part_room room;
    int64_t all = rows * u->row_elements, turn = elements_of_turn(u, rows);
    for (int64_t row = 0; row < all; row += turn)
        for (int64_t first = 0; first < turn; first += PIECE) {
            int64_t at = row + first;
            hu_uniform_part part = part_at(u, scale, first, piece_at(first, turn), &room);
            u->kernels->residual(&part, x + at, residual + at);
        }
}

void hu_uniform_residual_of(const hu_uniformer *u, hu_uniform_scale scale, size_t n, const float *x,
                            float *residual) {
    const hu_uniform_part part = {.n = n, .levels = u->levels, .scale = scale};
    u->kernels->residual(&part, x, residual);
}

/* Codes of 1 or 2 bytes <-> their low bits as a dense stream. */
static void join(uint32_t bits, size_t n, const void *codes, void *bytes) {
    size_t each = bits <= 8 ? 1 : 2;
    if (bits == 8 * each)
        memcpy(bytes, codes, n * each);
    else
        hu_join_bits(n, codes, each, bits, bytes);
}

static void split(uint32_t bits, size_t n, const void *bytes, void *codes) {
    size_t each = bits <= 8 ? 1 : 2;
    if (bits == 8 * each)
        memcpy(codes, bytes, n * each);
    else
        hu_split_bits(n, bytes, bits, codes, each);
}

/* Rounds n elements, a row or seamless ones, to their bytes. */
static void pack_row(const hu_uniformer *u, const hu_uniform_scale *scale, int64_t n,
                     const float *x, uint8_t *row, const hu_random_key *key, uint64_t index,
                     hu_round_counts *counts) {
    part_room room;
    uint16_t codes[PIECE];
    for (int64_t first = 0; first < n; first += PIECE) {
        hu_uniform_part part =
            shaken_at(u, scale, first, piece_at(first, n), key, index + (uint64_t)first, &room);
        u->kernels->codes(&part, x + first, codes, counts);
        join(u->bits, part.n, codes, row + dense_bytes(u->bits, (size_t)first));
    }
}

void hu_uniform_pack(const hu_uniformer *u, const hu_uniform_scale *scale, int64_t rows,
                     const float *x, void *data, const hu_random_key *key, uint64_t first_index,
                     hu_round_counts *counts) {
    uint8_t *bytes = data;
    int64_t step = u->is_seamless ? rows : 1, n = step * u->row_elements;
    for (int64_t r = 0; r < rows; r += step) {
        int64_t at = r * u->row_elements;
        pack_row(u, scale, n, x + at, bytes + (size_t)r * u->row_bytes, key,
                 first_index + (uint64_t)at, counts);
    }
}

void hu_uniform_unpack(const hu_uniformer *u, const hu_uniform_scale *scale, const void *row,
                       int64_t first, size_t n, float *y) {
    const uint8_t *bytes = row;
    part_room room;
    uint16_t codes[PIECE];
    for (size_t at = 0; at < n; at += PIECE) {
        int64_t place = first + (int64_t)at;
        size_t count = n - at < PIECE ? n - at : PIECE;
        hu_uniform_part part = part_at(u, scale, place, count, &room);
        split(u->bits, count, bytes + dense_bytes(u->bits, (size_t)place), codes);
        u->kernels->decode(&part, codes, y + at);
    }
}

/* ---- residuals as codes ---- */

size_t hu_uniform_residual_bytes(uint32_t r_bits, size_t n) {
    return dense_bytes(r_bits, n);
}

void hu_uniform_residual_pack(uint32_t r_bits, size_t n, const float *residual, void *data) {
    uint8_t codes[PIECE], *bytes = data;
    for (size_t at = 0; at < n; at += PIECE) {
        size_t count = n - at < PIECE ? n - at : PIECE;
        kernels[hu_cpu_isa()]->shrink(r_bits, count, residual + at, codes);
        join(r_bits, count, codes, bytes + dense_bytes(r_bits, at));
    }
}

void hu_uniform_residual_unpack(uint32_t r_bits, size_t n, const void *data, float *residual) {
    uint8_t codes[PIECE];
    const uint8_t *bytes = data;
    for (size_t at = 0; at < n; at += PIECE) {
        size_t count = n - at < PIECE ? n - at : PIECE;
        split(r_bits, count, bytes + dense_bytes(r_bits, at), codes);
        kernels[hu_cpu_isa()]->grow(r_bits, count, codes, residual + at);
    }
}
