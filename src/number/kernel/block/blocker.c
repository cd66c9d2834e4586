/* kernel/block/blocker.c - blockers: a block format prepared for rows of one size. */
#include <math.h>

#include "base/checked.h"
#include "base/error.h"
#include "format/value.h"
#include "kernel/block/pass.h"

extern const hu_block_kernels HU_OF_ISA(hu_block_kernels);
static const hu_block_kernels *const kernels[HU_ISA_COUNT] = {HU_AT_ISA(hu_block_kernels)};

uint32_t hu_top_f32(size_t n, const float *x) {
    return kernels[hu_cpu_isa()]->top(n, x);
}

float hu_block_sum(const hu_block_sums *sums) {
    const float *s = sums->lane;
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* 2^(code - 127); code 0 is a binary32 subnormal. */
static void set_power_values(float value[256]) {
    for (uint32_t code = 0; code < 255; code++)
        value[code] = hu_f32_of_bits(code ? code << 23 : 1u << 22);
    value[255] = hu_f32_of_bits(HU_F32_NAN);
}

/* The values of all codes of a byte, and what rounds and packs a scale of a format. */
static hu_status prepare_scales(hu_blocker *b, hu_isa isa) {
    const hu_format *format = &b->format.scale_format;
    hu_status st = HU_OK;
    b->scale_bytes = hu_block_scale_bytes(&b->format);
    if (b->format.scale == HU_BLOCK_SCALE_E8M0) set_power_values(b->scale_value);
    if (b->format.scale != HU_BLOCK_SCALE_FORMAT) return HU_OK;
    hu_format_limits limits = hu_format_limits_of(format);
    b->scale_most = (float)limits.max_finite;
    b->scale_least = (float)limits.min_normal;
    HU_TRY(hu_rounder_init(&b->scale_rounder, format, HU_ROUND_NEAREST_EVEN));
    if (b->format.way == HU_BLOCK_WAY_EDEN)
        HU_TRY(hu_rounder_init(&b->scale_chance, format, HU_ROUND_STOCHASTIC));
    if (b->scale_bytes < sizeof(float))
        HU_TRY(hu_packer_init_isa(&b->scale_packer, format, hu_format_bits(format) <= 8 ? 8 : 16,
                                  isa));
    for (uint32_t code = 0; b->scale_bytes == 1 && code < 256; code++)
        if (code < limits.codes) hu_format_decode(format, code, &b->scale_value[code]);
done:
    return st;
}

/* Lines and columns of what gets its scales at a time: whole tiles and whole rotated groups, small
 * enough to be read again from the cache, and no more tiles than a slab has. */
static void set_slab(hu_blocker *b) {
    const hu_block_format *f = &b->format;
    const int64_t most = f->lines > 1 ? 1 << 16 : 1 << 13;
    const int64_t step = hu_block_step(f);
    int64_t row = f->lines < b->row_lines ? f->lines : b->row_lines;
    if (b->line_blocks <= HU_BLOCK_SLAB_TILES && (step >= b->line || row * b->line <= most)) {
        int64_t of_tiles = HU_BLOCK_SLAB_TILES / b->line_blocks, of_size = most / (row * b->line);
        int64_t rows = of_tiles < of_size ? of_tiles : of_size;
        b->slab_columns = b->line;
        b->slab_lines = f->lines * (rows > 1 ? rows : 1);
        return;
    }
    int64_t of_tiles = HU_BLOCK_SLAB_TILES / (step / f->length), of_size = most / (row * step);
    int64_t steps = of_tiles < of_size ? of_tiles : of_size;
    b->slab_columns = step * (steps > 1 ? steps : 1);
    b->slab_lines = f->lines;
}

static void set_length(hu_blocker *b, int32_t length) {
    bool is_power = (length & (length - 1)) == 0;
    b->format.length = length;
    b->shift = is_power ? __builtin_ctz((unsigned)length) : -1;
}

/* Tiles of a line and a row, and the bytes of a row: a dense run of codes, then the scales. */
hu_status hu_blocker_set_row(hu_blocker *b, int64_t row_elements, int64_t line) {
    enum { BYTE_BITS = 8 };
    size_t bytes;
    if (b->pass) set_length(b, line < b->whole_length ? (int32_t)line : b->whole_length);
    bool is_whole = line % b->format.length == 0, has_bytes = line * b->width % BYTE_BITS == 0;
    b->has_pass = b->pass && b->shift >= 0 && b->format.length >= HU_PASS_LEAST_LENGTH &&
                  (is_whole || has_bytes);
    /* Whole tiles of one line know nothing of its end. */
    if (b->has_pass && is_whole) line = row_elements;
    b->line = line;
    b->row_elements = row_elements;
    b->row_lines = row_elements / line;
    b->line_blocks = hu_block_tiles(&b->format, 1, line);
    b->row_blocks = hu_block_tiles(&b->format, b->row_lines, line);
    b->code_bytes = hu_block_dense_bytes(b, row_elements);
    if (!hu_mul_size((size_t)row_elements, 2 * sizeof(float), &bytes))
        return hu_fail(HU_ERR_SHAPE, "%lld elements of a sample do not fit the address space",
                       (long long)row_elements);
    b->row_bytes = b->code_bytes + (size_t)b->row_blocks * b->scale_bytes;
    set_slab(b);
    return HU_OK;
}

/* The largest significand of a, one at bit 23, with which k = floor(log2 a) - emax. */
static uint32_t top_limit_of(const hu_blocker *b) {
    const uint32_t one = 1u << 23;
    switch (b->format.power) {
    case HU_BLOCK_CEIL:
        return one;
    case HU_BLOCK_RCEIL:
        return (hu_f32_bits(b->most) & (one - 1)) | one;
    case HU_BLOCK_EVEN: /* half a unit of the last bit below 2 */
        return 2 * one - (1u << (22 - b->format.element.man_bits)) - 1;
    default:
        return 2 * one - 1;
    }
}

/* MXINT8's integers, which are stored as two's complements. */
static bool is_integer(const hu_format *element) {
    static const hu_format integer = {.exp_bits = 1,
                                      .man_bits = 6,
                                      .specials = HU_SPECIALS_FNUZ,
                                      .subnormals = 1,
                                      .overflow = HU_OVERFLOW_SAT,
                                      .bias = 1};
    return hu_format_equal(element, &integer);
}

/* Of elements: 8 and 16 bits as units, 4 and 6 bits as bytes that are joined, others dense. */
static hu_status prepare_elements(hu_blocker *b, hu_rounding rounding, hu_isa isa) {
    const hu_format *element = &b->format.element;
    hu_status st = HU_OK;
    b->width = hu_format_bits(element);
    b->is_joined = b->width == 4 || b->width == 6;
    b->bounds = isnan(hu_format_round(element, HU_ROUND_NEAREST_EVEN, INFINITY, 0));
    HU_TRY(hu_rounder_init(&b->rounder, element, rounding));
    HU_TRY(hu_packer_init_isa(&b->packer, element,
                              b->is_joined || b->width == 8 ? 8
                              : b->width == 16              ? 16
                                                            : 0,
                              isa));
done:
    return st;
}

hu_status hu_blocker_init_isa(hu_blocker *blocker, const hu_block_format *format,
                              hu_rounding rounding, int64_t row_elements, int64_t line,
                              hu_isa isa) {
    hu_status st = HU_OK;
    memset(blocker, 0, sizeof *blocker);
    HU_TRY(hu_block_format_check(format));
    blocker->format = *format;
    blocker->kernels = kernels[isa];
    hu_format_limits limits = hu_format_limits_of(&format->element);
    blocker->emax = limits.emax;
    blocker->most = (float)limits.max_finite;
    blocker->top_limit = top_limit_of(blocker);
    blocker->whole_length = format->length;
    set_length(blocker, format->length);
    blocker->is_integer = is_integer(&format->element);
    blocker->divides = format->scale == HU_BLOCK_SCALE_FORMAT &&
                       (format->way == HU_BLOCK_WAY_OWN || format->way == HU_BLOCK_WAY_EDEN);
    blocker->signs = hu_hadamard_fixed(format->signs);
    HU_TRY(prepare_elements(blocker, rounding, isa));
    HU_TRY(prepare_scales(blocker, isa));
    blocker->pass = hu_block_pass_for(blocker, isa);
    HU_TRY(hu_blocker_set_row(blocker, row_elements, line));
done:
    return st;
}

hu_status hu_blocker_init(hu_blocker *blocker, const hu_block_format *format, hu_rounding rounding,
                          int64_t row_elements, int64_t line) {
    return hu_blocker_init_isa(blocker, format, rounding, row_elements, line, hu_cpu_isa());
}
