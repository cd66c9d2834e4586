#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <halfulp/quantize.h>
#include <halfulp/tensor.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/quantizer.h"

/* ---- quantize ---- */

/* Arrays rounded and packed by quantizers: the public face of tensor/quantizer.h. */

_Static_assert((int)HU_QUANTIZATION_TEXT_BYTES == (int)HU_QUANTIZER_BYTES, "the same texts");

enum { PART = 4096 }; /* elements rounded at a time, a multiple of 8: dense codes begin on a byte */

struct hu_quantization {
    hu_quantizer quantizer;
    int64_t line;
    hu_blocker blocker;     /* of block formats; its rows are lines, or what `blocks_of` makes */
    hu_uniformer uniformer; /* of uniform integers; likewise */
};

/* What a single array cannot have. */
static hu_status check_alone(const char *text, const hu_quantizer *quantizer) {
    if (quantizer->scale == HU_SCALE_DELAYED)
        return hu_fail(HU_ERR_UNSUPPORTED,
                       "'%.100s': a delayed scale comes from the steps before, expected "
                       ":scale=current, :scale=bias or :scale=2^K",
                       text);
    if (quantizer->per_channel || quantizer->keeps_range)
        return hu_fail(HU_ERR_UNSUPPORTED,
                       "'%.100s': ranges of channels and of steps before are those of a training, "
                       "expected uniform%u alone",
                       text, (unsigned)quantizer->bits);
    return HU_OK;
}

/* *numbers of an array of so many lines, if their bytes as float32 fit the address space. */
static bool fits(int64_t line, int64_t rows, size_t *numbers) {
    size_t bytes;
    return rows >= 0 && hu_mul_size((size_t)rows, (size_t)line, numbers) &&
           hu_mul_size(*numbers, sizeof(float), &bytes) && bytes <= PTRDIFF_MAX;
}

/* The numbers of an array that is present. */
static hu_status count_numbers(const hu_quantization *q, int64_t rows, size_t *numbers) {
    if (fits(q->line, rows, numbers)) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "rows: found %lld lines of %lld elements, expected as many as memory has "
                   "addresses for",
                   (long long)rows, (long long)q->line);
}

hu_status hu_quantization_open(const char *text, hu_rounding usual, int64_t line,
                               hu_quantization **quantization) {
    HU_GIVEN(quantization);
    *quantization = NULL;
    HU_GIVEN(text);
    hu_status st = HU_OK;
    hu_quantization *made = NULL;
    size_t numbers;
    if (line < 1)
        return hu_fail(HU_ERR_ARGUMENT, "line: found %lld elements, expected at least 1",
                       (long long)line);
    if (!fits(line, 1, &numbers))
        return hu_fail(HU_ERR_ARGUMENT,
                       "line: found %lld elements, expected as many as memory has "
                       "addresses for",
                       (long long)line);
    HU_TRY(HU_NEW(&made));
    made->line = line;
    /* Text first: what it asks for may be impossible for a single array. */
    HU_TRY(hu_quantizer_parse(text, usual, &made->quantizer));
    HU_TRY(check_alone(text, &made->quantizer));
    if (made->quantizer.kind == HU_QUANTIZER_UNIFORM)
        HU_TRY(hu_uniformer_init(&made->uniformer, made->quantizer.bits, made->quantizer.rounding,
                                 line, 0));
    if (made->quantizer.kind == HU_QUANTIZER_BLOCK)
        HU_TRY(hu_blocker_init(&made->blocker, &made->quantizer.block, made->quantizer.rounding,
                               line, line));
    *quantization = made;
    return HU_OK;
done:
    hu_free(made);
    return st;
}

void hu_quantization_close(hu_quantization *quantization) {
    hu_free(quantization);
}

hu_quantization_tile hu_quantization_tile_of(const hu_quantization *quantization) {
    hu_quantization_tile tile = {0, 0, 0};
    if (!quantization) return tile;
    const hu_quantizer *q = &quantization->quantizer;
    const hu_block_format *block = &q->block;
    tile.lines = hu_quantizer_needs_lines(q);
    tile.elements = 1;
    tile.needs_array = hu_quantizer_needs_maximum(q) || hu_quantizer_needs_range(q);
    if (q->kind != HU_QUANTIZER_BLOCK) return tile;
    tile.elements = block->length > block->hadamard ? block->length : block->hadamard;
    if (block->way == HU_BLOCK_WAY_EDEN && block->group > tile.elements)
        tile.elements = block->group;
    return tile;
}

void hu_quantization_print(const hu_quantization *quantization, char *text, uint32_t capacity) {
    if (text && capacity > 0) text[0] = '\0';
    if (!quantization || !text || capacity == 0) return;
    hu_quantizer_print(&quantization->quantizer, text, capacity);
}

/* A blocker for an array: where tiles have several lines, or nothing is packed, the array is one
 * row. `own` has room for it and for signs that are drawn. */
typedef struct array_blocker {
    hu_blocker blocker;
    const hu_blocker *used;
    int64_t rows;
    uint32_t signs[HU_HADAMARD_MOST];
} array_blocker;

static void prepare_blocks(const hu_quantization *q, int64_t rows, const hu_random_key *random,
                           bool is_packed, array_blocker *own) {
    /* Lines are packed one by one, and random scales belong to the tiles of a row. */
    bool has_lines = is_packed || q->quantizer.block.way == HU_BLOCK_WAY_EDEN;
    bool is_whole = rows > 0 && (!has_lines || hu_quantizer_needs_lines(&q->quantizer) > 1);
    own->used = &q->blocker;
    own->rows = rows;
    if (q->quantizer.kind != HU_QUANTIZER_BLOCK) return;
    if (!is_whole && !hu_quantizer_needs_signs(&q->quantizer)) return;
    own->blocker = q->blocker;
    own->used = &own->blocker;
    if (is_whole) {
        /* It cannot fail: the numbers have been counted. */
        (void)hu_blocker_set_row(&own->blocker, rows * q->line, q->line);
        own->rows = 1;
    }
    if (!hu_quantizer_needs_signs(&q->quantizer) || !random) return;
    hu_hadamard_draw(random, q->quantizer.block.hadamard, own->signs);
    own->blocker.signs = own->signs;
}

/* Zero and step of uniform integers over the array. */
static hu_array_scale range_of(const hu_quantization *q, int64_t rows, const float *x) {
    float low = INFINITY, high = -INFINITY;
    hu_uniform_range((size_t)(rows * q->line), x, &low, &high);
    hu_uniform_scale scale = hu_uniform_scale_of(low, high, q->quantizer.bits);
    return (hu_array_scale){0, scale.step, scale.zero};
}

static hu_uniform_scale uniform_scale(hu_array_scale scale) {
    return (hu_uniform_scale){scale.zero, scale.factor};
}

/* The scale that an array's largest magnitude asks for, or its range. */
static hu_array_scale scale_of(const hu_quantization *q, const array_blocker *blocks, int64_t rows,
                               const float *x) {
    hu_array_scale scale = {0, 1.0f, 0.0f};
    const hu_quantizer *quantizer = &q->quantizer;
    if (hu_quantizer_needs_range(quantizer)) return range_of(q, rows, x);
    if (!hu_quantizer_needs_maximum(quantizer)) return scale;
    if (quantizer->kind == HU_QUANTIZER_BLOCK)
        scale.factor = hu_block_tensor_scale(&quantizer->block,
                                             hu_blocker_top(blocks->used, rows * q->line, x));
    else
        scale.exponent = hu_scale_exponent(&quantizer->format, quantizer->scale,
                                           hu_top_f32((size_t)(rows * q->line), x));
    return scale;
}

/* Only stochastic rounding, of numbers or of scales, and random signs need random words. */
static hu_status check_random(const hu_quantization *q, const hu_random_key *random) {
    const hu_quantizer *quantizer = &q->quantizer;
    bool is_eden =
        quantizer->kind == HU_QUANTIZER_BLOCK && quantizer->block.way == HU_BLOCK_WAY_EDEN;
    bool needs = hu_quantizer_rounds(quantizer) && (hu_rounding_draws(quantizer->rounding) ||
                                                    is_eden || hu_quantizer_needs_signs(quantizer));
    return needs && !random
               ? hu_fail(HU_ERR_ARGUMENT, "stochastic rounding: found no random key, expected one")
               : HU_OK;
}

/* A scale 2^k is the format with its bias moved by k: numbers are not multiplied. */
static hu_status prepare_rounder(const hu_quantization *q, hu_array_scale scale,
                                 hu_rounder *rounder) {
    hu_format scaled = hu_format_scaled(&q->quantizer.format, scale.exponent);
    return hu_rounder_init(rounder, &scaled, q->quantizer.rounding);
}

hu_status hu_quantize(const hu_quantization *quantization, int64_t rows, const float *x, float *y,
                      const hu_random_key *random, uint64_t first_index, hu_array_scale *scale,
                      hu_round_counts *counts) {
    HU_GIVEN(quantization);
    HU_GIVEN_COUNT(rows);
    HU_GIVEN_IF(x, rows > 0);
    HU_GIVEN_IF(y, rows > 0);
    const hu_quantization *q = quantization;
    size_t n = 0;
    hu_status st = count_numbers(q, rows, &n);
    if (st != HU_OK) return st;
    /* The scale is taken from x before y is written, which may be the same array. */
    array_blocker blocks;
    prepare_blocks(q, rows, random, false, &blocks);
    hu_array_scale taken = scale_of(q, &blocks, rows, x);
    const hu_uniform_scale range = uniform_scale(taken);
    hu_rounder rounder;
    HU_TRY(check_random(q, random));
    if (scale) *scale = taken;
    switch (q->quantizer.kind) {
    case HU_QUANTIZER_NONE:
        if (x != y) memcpy(y, x, n * sizeof *y);
        break;
    case HU_QUANTIZER_BLOCK:
        hu_blocker_round(blocks.used, taken.factor, blocks.rows, x, y, random, first_index, counts);
        break;
    case HU_QUANTIZER_UNIFORM:
        hu_uniform_round(&q->uniformer, &range, rows, x, y, random, first_index, counts);
        break;
    default:
        HU_TRY(prepare_rounder(q, taken, &rounder));
        hu_rounder_run(&rounder, n, x, y, random, first_index, counts);
    }
done:
    return st;
}

/* Bits of a code in its place: 8, 16, or 0 for a dense stream. */
static int code_bits(const hu_quantizer *quantizer) {
    uint32_t bits = hu_quantizer_bits(quantizer);
    return bits <= 8 ? 8 : bits <= 16 ? 16 : 0;
}

static size_t block_bytes(const hu_quantization *q, int64_t rows) {
    array_blocker blocks;
    prepare_blocks(q, rows, NULL, true, &blocks);
    return (size_t)blocks.rows * blocks.used->row_bytes;
}

size_t hu_quantized_bytes(const hu_quantization *quantization, int64_t rows) {
    size_t n;
    if (!quantization || rows < 0) return 0;
    const hu_quantization *q = quantization;
    /* Codes and scales of a number take less than its float32. */
    if (!fits(q->line, rows, &n)) return SIZE_MAX;
    if (q->quantizer.kind == HU_QUANTIZER_NONE) return n * sizeof(float);
    if (q->quantizer.kind == HU_QUANTIZER_BLOCK) return block_bytes(q, rows);
    if (q->quantizer.kind == HU_QUANTIZER_UNIFORM) return (size_t)rows * q->uniformer.row_bytes;
    return hu_packed_bytes(n, &q->quantizer.format, code_bits(&q->quantizer));
}

/* Codes of scaled formats are those of the unscaled ones: only the bias differs. */
static hu_status prepare_packer(const hu_quantization *q, hu_array_scale scale, hu_packer *packer) {
    hu_format scaled = hu_format_scaled(&q->quantizer.format, scale.exponent);
    return hu_packer_init(packer, &scaled, code_bits(&q->quantizer));
}

/* x [n] -> rounded in parts that stay in cache -> codes in data. */
static hu_status pack_numbers(const hu_quantization *q, size_t n, const float *x, char *data,
                              const hu_random_key *random, uint64_t first_index,
                              hu_array_scale scale, hu_round_counts *counts) {
    hu_status st = HU_OK;
    float part[PART];
    hu_rounder rounder;
    hu_packer packer;
    HU_TRY(prepare_rounder(q, scale, &rounder));
    HU_TRY(prepare_packer(q, scale, &packer));
    for (size_t i = 0; i < n; i += PART) {
        /* first_index + i: random words belong to elements, not to parts. */
        size_t count = n - i < PART ? n - i : PART;
        hu_rounder_run(&rounder, count, x + i, part, random, first_index + i, counts);
        hu_packer_pack(&packer, count, part, data + hu_packer_bytes(&packer, i), NULL);
    }
done:
    return st;
}

/* What is packed is read without the key that drew its signs. */
static hu_status check_unpackable(const hu_quantization *q) {
    if (!hu_quantizer_needs_signs(&q->quantizer)) return HU_OK;
    return hu_fail(HU_ERR_UNSUPPORTED,
                   "hadamard=%d:random: packed numbers cannot tell their signs, expected "
                   "hadamard=%d or hadamard=%d:plain",
                   (int)q->quantizer.block.hadamard, (int)q->quantizer.block.hadamard,
                   (int)q->quantizer.block.hadamard);
}

hu_status hu_quantize_pack(const hu_quantization *quantization, int64_t rows, const float *x,
                           void *data, const hu_random_key *random, uint64_t first_index,
                           hu_array_scale *scale, hu_round_counts *counts) {
    HU_GIVEN(quantization);
    HU_GIVEN_COUNT(rows);
    HU_GIVEN_IF(x, rows > 0);
    HU_GIVEN_IF(data, rows > 0);
    HU_GIVEN(scale);
    const hu_quantization *q = quantization;
    size_t n = 0;
    hu_status st = count_numbers(q, rows, &n);
    *scale = (hu_array_scale){0, 1.0f, 0.0f};
    if (st == HU_OK) st = check_random(q, random);
    if (st == HU_OK) st = check_unpackable(q);
    if (st != HU_OK) return st;
    /* The scale needs the whole array: it is found before the first number is rounded. */
    array_blocker blocks;
    prepare_blocks(q, rows, random, true, &blocks);
    *scale = scale_of(q, &blocks, rows, x);
    const hu_uniform_scale range = uniform_scale(*scale);
    if (q->quantizer.kind == HU_QUANTIZER_FLOAT)
        return pack_numbers(q, n, x, data, random, first_index, *scale, counts);
    if (q->quantizer.kind == HU_QUANTIZER_BLOCK)
        hu_blocker_pack(blocks.used, scale->factor, blocks.rows, x, data, random, first_index,
                        counts);
    else if (q->quantizer.kind == HU_QUANTIZER_UNIFORM)
        hu_uniform_pack(&q->uniformer, &range, rows, x, data, random, first_index, counts);
    else
        memcpy(data, x, n * sizeof *x);
    return HU_OK;
}

/* Blocks do not cross the end of a line; uniform integers begin each at a byte. */
static void unpack_lines(const hu_quantization *q, int64_t rows, const void *data,
                         hu_array_scale scale, float *y) {
    bool is_uniform = q->quantizer.kind == HU_QUANTIZER_UNIFORM;
    const hu_uniform_scale range = uniform_scale(scale);
    array_blocker blocks;
    prepare_blocks(q, rows, NULL, true, &blocks);
    const hu_blocker *b = blocks.used;
    size_t row_bytes = is_uniform ? q->uniformer.row_bytes : b->row_bytes;
    int64_t line = is_uniform ? q->line : b->row_elements;
    for (int64_t r = 0; r < blocks.rows; r++) {
        const char *row = (const char *)data + (size_t)r * row_bytes;
        float *to = y + r * line;
        if (is_uniform)
            hu_uniform_unpack(&q->uniformer, &range, row, 0, (size_t)line, to);
        else
            hu_blocker_unpack(b, scale.factor, row, 0, (size_t)line, to);
    }
}

/* Beyond it no float32 number is left, and a bias could overflow. */
static bool is_scale(hu_array_scale scale) {
    enum { MOST = 1024 };
    return -MOST <= scale.exponent && scale.exponent <= MOST;
}

void hu_quantize_unpack(const hu_quantization *quantization, int64_t rows, const void *data,
                        hu_array_scale scale, float *y) {
    if (!quantization || !data || !y || rows < 0) return;
    const hu_quantization *q = quantization;
    size_t n;
    hu_packer packer;
    if (!fits(q->line, rows, &n)) return;
    if (q->quantizer.kind == HU_QUANTIZER_NONE)
        memcpy(y, data, n * sizeof *y);
    else if (q->quantizer.kind != HU_QUANTIZER_FLOAT)
        unpack_lines(q, rows, data, scale, y);
    else if (is_scale(scale) && prepare_packer(q, scale, &packer) == HU_OK)
        hu_packer_unpack(&packer, n, data, y);
}

/* ---- shape ---- */

/* A scalar has rank 0 and one element, the empty product. */
int64_t hu_shape_elements(const hu_shape *shape) {
    if (!shape) return 0;
    int64_t elements = 1;
    for (int i = 0; i < shape->rank; i++) elements *= shape->extent[i];
    return elements;
}

hu_status hu_shape_check(const hu_shape *shape) {
    HU_GIVEN(shape);
    int64_t elements = 1;
    if (shape->rank < 0 || shape->rank > HU_MAX_RANK)
        return hu_fail(HU_ERR_SHAPE, "rank %d, allowed 0..%d", shape->rank, HU_MAX_RANK);
    for (int i = 0; i < shape->rank; i++) {
        if (shape->extent[i] < 1)
            return hu_fail(HU_ERR_SHAPE, "extent %d is %" PRId64 ", expected at least 1", i,
                           shape->extent[i]);
        /* Elements are counted in int64_t everywhere; a product that overflows would pass as a
         * small one. */
        if (!hu_mul_i64(elements, shape->extent[i], &elements))
            return hu_fail(HU_ERR_SHAPE, "the number of elements does not fit 63 bits");
    }
    return HU_OK;
}

int hu_shape_equal(const hu_shape *a, const hu_shape *b) {
    if (!a || !b) return a == b;
    if (a->rank != b->rank) return 0;
    for (int i = 0; i < a->rank; i++)
        if (a->extent[i] != b->extent[i]) return 0;
    return 1;
}

/* "28x28x1", or "scalar". */
void hu_shape_print(const hu_shape *shape, char *text, uint32_t capacity) {
    uint32_t used = 0;
    if (!text || capacity == 0) return;
    text[0] = '\0';
    if (!shape) return;
    if (shape->rank == 0) snprintf(text, capacity, "scalar");
    for (int i = 0; i < shape->rank && used < capacity; i++)
        used += (uint32_t)snprintf(text + used, capacity - used, i ? "x%" PRId64 : "%" PRId64,
                                   shape->extent[i]);
}
