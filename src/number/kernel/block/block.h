/* kernel/block/block.h - block formats: tiles of neighbouring numbers share a scale.
 *
 * Rows (samples, parameters, matrices) are lines of `line` elements; they are cut into tiles of
 * `lines` x `length` elements from the first line and the first element of a line on, the last ones
 * may be smaller. With a = largest magnitude of a tile and M = largest number of the element
 * format, every operation one correctly rounded float32 operation:
 *
 *   E8M0 (MX): scale X = 2^k, k = l - emax of the element format with l as hu_block_power says
 *   (usually floor(log2 a)), raised to -127 if it is below (a = 0 too) and at most 127 - emax;
 *   code k + 127. Elements p = element format's rounding of v / X (exact), value p X.
 *
 *   F32: a is at least `least`; scale s = a / M, at least 2^-126 and at most the largest float32, 1
 *   if a = 0; elements p = rounding of v (1 / s), value p s. Source: DeepSeek-V3 (arXiv 2412.19437,
 *   section 3.3; least = 1e-4 in its code). WAY_TE: S = M / a, at most the largest float32, 1 if
 *   a = 0; rounding of v S, value p (1 / S). Source: TransformerEngine, recipe_common.cuh. Stored
 *   are s and S.
 *
 *   FORMAT: a scale of the tensor and a number c of another format F with largest number T, to
 *   nearest-even and saturating. A = largest finite magnitude of the tensor. c = 0: elements are
 *   zeros with the sign of v.
 *     s = max(A / (T M), 2^-126), 1 if A = 0; c = F(a / (M s)); d = s c; p = rounding of v / d;
 *     value p d. (NVFP4 is F = E4M3FN, T M = 2688.) Where T M is beyond float32 A / (T M) is
 *     (A / M) / T, and T M / A is T / (A / M).
 *     WAY_TE: S = min(T M / A, largest float32), 1 if A = 0; c = F(min(a (S (1 / M)), T));
 *     D = 1 / S; p = rounding of v min(1 / (c D), largest float32); value p (c D). Source:
 *     TransformerEngine, core_nvfp4.cuh. The tensor's scale is S.
 *     WAY_AO: g = s; c = F((a / M) / g), raised to F's smallest normal number;
 *     p = rounding of
 *     v min((1 / g) / c, largest float32); value p (g c). Source: torchao, nvfp4_tensor.py.
 *     WAY_EDEN: g = (A / 255.99) / V, bounded as s, V = 6 / (17/16 0.93); c = F((a / V) / g), 1
 *     where that is 0; d = c g; z = v / d, p = its rounding; for every `group` elements of a line
 *     t = sum(z z) / sum(z p), 1 if the divisor is 0; c' = c t rounded stochastically to F; value
 *     p (c' g). Word first + i of the sequence whose stream is the other one's with its upper bit
 *     turned serves tile i of a row whose first word is first. Sums: hu_block_sums. Source:
 *     Quartet II, arXiv 2601.22813.
 *     Without a factor s = S = g = 1.
 *     FOUR: a second c with 1.5 times the quotient before F; the tile takes it if its error, the
 *     sum of |value - v| or of its square, is smaller; T is 256 in the tensor's scale. Source:
 *     "Four over six", arXiv 2512.02010.
 *
 * Values are at most the largest float32. A tile with a NaN or an infinity has a NaN scale; its
 * values are all 0x7FC00000. The element's rounding mode and random words are those of plain
 * formats: word first + i serves element i. A quotient or product before the rounding that is below
 * 2^-126 and not 0 rounds as 2^-126 does; a quotient beyond float32 is its largest number where the
 * element makes NaN of infinities (posits, takums).
 *
 * HADAMARD: lines are rotated first (kernel/hadamard/hadamard.h): everything above is of the
 * rotated numbers, and values are rotated back unless `stays_rotated`.
 *
 * Counts are of the elements in their format: overflow, underflow, subnormal, zero; nan = elements
 * of tiles whose scale is NaN; max_exponent of the unscaled numbers, no min_exponent. Thread-safe:
 * a prepared hu_blocker is read only.
 */
#ifndef HU_KERNEL_BLOCK_BLOCK_H
#define HU_KERNEL_BLOCK_BLOCK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>

#include "kernel/hadamard/hadamard.h"
#include "kernel/pack/pack.h"
#include "kernel/round/round.h"

/* ---- scale ---- */

/* power-of-two scales of whole tensors: x is rounded to the numbers 2^k f of
 * a format's numbers f, which are those of the same format with the bias lowered by k. So scaled
 * rounding and packing are the plain kernels with another bias, exact wherever binary32 is.
 */

/* Where a tensor's k comes from. */
typedef enum hu_scale_rule {
    HU_SCALE_NONE,    /* k = 0 */
    HU_SCALE_CURRENT, /* least k for which the tensor's largest finite magnitude does not exceed the
                         largest finite number */
    HU_SCALE_DELAYED, /* the same of the largest magnitude of earlier steps */
    HU_SCALE_BIAS /* additional bias b = floor(2^(e-1) - log2 of the largest magnitude), which is
                     taken as at least 2^-100. Source: Lee et al., released code, dynamic bias */
} hu_scale_rule;

/* Bits of the largest finite magnitude of x[n]; 0: all are zero, infinite or NaN. */
uint32_t hu_top_f32(size_t n, const float *x);

/* k for a largest magnitude given by its bits, clamped so that all numbers of the scaled format are
 * binary32's: emax + k <= 127, emin - m + k >= -149. k = 0 for magnitude 0 under CURRENT and
 * DELAYED and always under NONE. */
int32_t hu_scale_exponent(const hu_format *format, hu_scale_rule rule, uint32_t top_bits);

/* The k nearest to the given one for which all numbers of the scaled format are binary32's. */
int32_t hu_scale_clamp(const hu_format *format, int32_t k);

/* The format whose numbers are 2^k times those of format. */
hu_format hu_format_scaled(const hu_format *format, int32_t k);

/* V of WAY_EDEN. */
#define HU_BLOCK_EDEN ((float)(6.0 / (17.0 / 16.0 * 0.93)))

enum { HU_BLOCK_MOST = 32 }; /* longest block of block.list */

/* Tiles have at most so many lines and so many elements of a line. */
enum { HU_TILE_SIDE_MOST = 1 << 20 };

/* So many tiles of a line at most belong together (hu_block_step). */
enum { HU_BLOCK_STEP_TILES = 1024 };

typedef enum hu_block_scale {
    HU_BLOCK_SCALE_E8M0,   /* a power of two */
    HU_BLOCK_SCALE_FORMAT, /* a number of scale_format under a scale of the tensor */
    HU_BLOCK_SCALE_F32
} hu_block_scale;

/* How the power of two of an E8M0 scale is found. Source: FLOOR OCP MX 1.0, section 6.3; the others
 * as torchao's ScaleCalculationMode has them, RCEIL with the exact quotient. */
typedef enum hu_block_power {
    HU_BLOCK_FLOOR, /* l = floor(log2 a): elements of up to 2^(emax+1), which saturate */
    HU_BLOCK_CEIL,  /* l = ceil(log2 a) */
    HU_BLOCK_RCEIL, /* the least k with a <= 2^k times the largest element: nothing saturates */
    HU_BLOCK_EVEN, /* l = floor(log2 a') with a rounded to the element's mantissa bits, ties away */
    HU_BLOCK_POWERS
} hu_block_power;

/* Whose float32 operations lead from a maximum to the elements. */
typedef enum hu_block_way {
    HU_BLOCK_WAY_OWN,
    HU_BLOCK_WAY_TE,
    HU_BLOCK_WAY_AO,
    HU_BLOCK_WAY_EDEN
} hu_block_way;

/* Whether a tile chooses between two scales, and by which error. */
typedef enum hu_block_choice {
    HU_BLOCK_CHOICE_NONE,
    HU_BLOCK_CHOICE_FOUR,        /* 4/6, sum of |d| */
    HU_BLOCK_CHOICE_FOUR_SQUARES /* sum of d d */
} hu_block_choice;

/* A block format: a row of block.list, with each hu_block_power those of E8M0 scales, or a free
 * one. Plain data; valid for hu_blocker_init if hu_block_format_check says so. */
typedef struct hu_block_format {
    const char *name;        /* "mxfp8", "mxfp8:scale=ceil", ...; NULL: a free one */
    const char *description; /* NULL: a free one */
    hu_format element;       /* saturating, unless a free one asks for something else */
    int32_t length;          /* elements of a line that a tile takes */
    int32_t lines;           /* lines that it takes */
    hu_block_scale scale;
    hu_block_power power;   /* E8M0 only */
    hu_format scale_format; /* FORMAT only; saturating, with a code for NaN */
    bool is_unsigned;       /* scales are stored without their sign bit */
    bool has_factor;        /* FORMAT only: the tensor has a scale, too */
    hu_block_way way;       /* FORMAT and F32 */
    hu_block_choice choice; /* FORMAT only */
    int32_t group;          /* EDEN only: elements of a line that share t, a multiple of length */
    int32_t hadamard;       /* 0, or numbers that are rotated together */
    hu_hadamard_signs signs;
    float least; /* F32 only: the least a; 0: none */
} hu_block_format;

/* Row index of block.list with the usual power, NULL after the last. Borrowed: valid forever. */
const hu_block_format *hu_block_format_at(size_t index);

/* The same row with another power; NULL if its scale is no power of two. */
const hu_block_format *hu_block_format_with(size_t index, hu_block_power power);

/* "floor", "ceil", "rceil", "even". */
const char *hu_block_power_name(hu_block_power power);

/* By name, whose case is ignored, "NAME:scale=POWER" too; NULL if there is none. Borrowed: valid
 * forever. */
const hu_block_format *hu_block_format_find(const char *name);

/* The first row of block.list, with any power, that is equal to a format; NULL: there is none.
 * Borrowed: valid forever. */
const hu_block_format *hu_block_format_like(const hu_block_format *format);

/* True if the numbers and codes of both are the same. */
bool hu_block_format_equal(const hu_block_format *a, const hu_block_format *b);

/* HU_ERR_FORMAT: sides, ways and choices that do not go together, what was found and expected. */
hu_status hu_block_format_check(const hu_block_format *format);

/* Elements of a line after which tiles, rotated groups and those of MS-EDEN begin together. */
int64_t hu_block_step(const hu_block_format *format);

/* Bytes of a stored scale: 1, 2 or 4. */
uint32_t hu_block_scale_bytes(const hu_block_format *format);

/* Tiles of so many lines. */
int64_t hu_block_tiles(const hu_block_format *format, int64_t lines, int64_t line);

/* The same numbers where the other dimension of a matrix is the inner one: sides change places. */
hu_block_format hu_block_format_across(const hu_block_format *format);

/* True if values depend on the largest magnitude of the whole tensor. */
bool hu_block_needs_tensor_scale(const hu_block_format *format);

/* The tensor's scale for a largest finite magnitude given by its bits; 1 where there is none. */
float hu_block_tensor_scale(const hu_block_format *format, uint32_t top_bits);

typedef struct hu_blocker hu_blocker;

/* Elements of a row from one that stands at `place` of its line on. unit and inverse: of the tiles
 * in the order in which the elements meet them; where tiles have several lines all elements are of
 * one line. */
typedef struct hu_block_part {
    int64_t place;
    size_t n;
    const float *unit;    /* by which rounded elements are multiplied; NaN, or 0: all are zero */
    const float *inverse; /* 1 / unit, where elements are multiplied */
} hu_block_part;

/* What a division left to be counted: elements of tiles whose scale is NaN, and nonzero ones of
 * tiles whose scale is 0. */
typedef struct hu_block_loss {
    uint64_t nan, vanished;
} hu_block_loss;

/* Sums of a tile: lane j has those of its elements of places j, j + 8, ... of the tile's lines,
 * line by line; hu_block_sum adds the lanes as ((0+4)+(2+6)) + ((1+5)+(3+7)). */
enum { HU_BLOCK_LANES = 8 };
typedef struct hu_block_sums {
    float lane[HU_BLOCK_LANES];
} hu_block_sums;
float hu_block_sum(const hu_block_sums *sums);

/* What is summed of the elements x and y before and after. */
typedef enum hu_block_sum_kind {
    HU_SUM_DISTANCES, /* |y - x| */
    HU_SUM_SQUARES,   /* (y - x)^2 */
    HU_SUM_PRODUCTS   /* x y */
} hu_block_sum_kind;

/* Numbers of short lines that kernels take at a time where tiles have one of each line. */
enum { HU_BLOCK_WIDE = 256 };

typedef void hu_block_scales_fn(const hu_blocker *blocker, float tensor_scale, float more,
                                size_t tiles, const uint32_t *tops, uint8_t *scales);
typedef void hu_block_units_of_tops_fn(const hu_blocker *blocker, float tensor_scale, size_t tiles,
                                       const uint32_t *tops, uint8_t *scales, float *unit,
                                       float *inverse);
typedef void hu_block_units_fn(const hu_blocker *blocker, float tensor_scale, size_t tiles,
                               const uint8_t *scales, float *unit, float *inverse);

/* See pass.h. */
typedef struct hu_block_pass hu_block_pass;

/* The loops of one instruction set; all give the same bits.
 *
 *   top       bits of the largest finite magnitude of x[n]
 *   tops      raises tops[], bits of the largest magnitude (NaN and infinity included) of each of
 *             the tiles that x[n] meets; gives the largest finite one
 *   divide    elements in units of their tile's scale; what vanishes is added to *loss
 *   multiply  rounded elements times their tile's scale
 *   add       to the sums of the tiles that x[n], y[n] meet
 *   set_scales  stored scales from maxima (bits), one after the other; `more` times the quotient
 *   set_units   units and inverses from stored scales; inverse NULL: not wanted
 *   set_both    stored scales, NULL: not wanted, and units and inverses from maxima
 *   calm        bits of the largest magnitude of all tiles with these maxima, whose units and
 *               inverses become those that a pass takes; infinity: it cannot take all of them */
typedef struct hu_block_kernels {
    uint32_t (*top)(size_t n, const float *x);
    uint32_t (*tops)(const hu_blocker *blocker, int64_t place, size_t n, const float *x,
                     uint32_t *tops);
    void (*divide)(const hu_blocker *blocker, const hu_block_part *part, const float *x, float *y,
                   hu_block_loss *loss);
    void (*multiply)(const hu_blocker *blocker, const hu_block_part *part, const float *x,
                     float *y);
    void (*add)(const hu_blocker *blocker, hu_block_sum_kind kind, int64_t place, size_t n,
                const float *x, const float *y, hu_block_sums *sums);
    hu_block_scales_fn *set_scales;
    hu_block_units_fn *set_units;
    hu_block_units_of_tops_fn *set_both;
    uint32_t (*calm)(const hu_blocker *blocker, size_t tiles, const uint32_t *tops, float *unit,
                     float *inverse);
} hu_block_kernels;

struct hu_blocker {
    const hu_block_kernels *kernels;
    const hu_block_pass *pass; /* of the instruction set, NULL: none serves */
    bool has_pass;             /* it serves the rows: lines end with tiles, or with bytes */
    hu_block_format format;    /* whose length is at most that of a line, where there is a pass */
    int32_t whole_length;      /* of the format as it was asked for */
    hu_rounder rounder;        /* of elements */
    hu_packer packer;          /* of elements: a byte each, two, or dense */
    uint32_t width;            /* bits of an element in the stream */
    bool is_joined;            /* packed a byte each and then joined: 4 and 6 bits */
    hu_rounder scale_rounder;  /* FORMAT only */
    hu_rounder scale_chance;   /* EDEN only: the same, stochastic */
    hu_packer scale_packer;
    uint32_t scale_bytes;
    float scale_value[256]; /* of scales of one byte */
    float most, scale_most; /* largest numbers of elements and scales */
    float scale_least;      /* smallest normal scale */
    int32_t emax;           /* of the element format */
    uint32_t top_limit;     /* 24-bit significands above it raise the power of an E8M0 scale */
    bool is_integer;        /* element codes are two's complement */
    bool divides;           /* elements are divided by units, not multiplied by inverses */
    bool bounds;           /* quotients are bounded: the element's format has no use for infinity */
    bool stays_rotated;    /* values are not rotated back; set by who wants it */
    const uint32_t *signs; /* [hadamard] 0 or 0x80000000; set by who draws them. Borrowed */
    int32_t shift;         /* log2 of the format's length, -1: that is no power of two */
    int64_t line;          /* elements */
    int64_t row_elements, row_lines, row_blocks, line_blocks;
    int64_t slab_lines, slab_columns; /* of what gets its scales at a time: whole tiles */
    size_t code_bytes; /* of a row's elements, one dense run, before its row_blocks scales */
    size_t row_bytes;
};

/* Prepares for rows of row_elements elements in lines of `line` (a divisor). HU_ERR_ARGUMENT: no
 * such rounding; HU_ERR_SHAPE: a row does not fit the address space; as hu_block_format_check. */
hu_status hu_blocker_init(hu_blocker *blocker, const hu_block_format *format, hu_rounding rounding,
                          int64_t row_elements, int64_t line);

/* The same on an instruction set of the caller's choice, which must be there. */
hu_status hu_blocker_init_isa(hu_blocker *blocker, const hu_block_format *format,
                              hu_rounding rounding, int64_t row_elements, int64_t line, hu_isa isa);

/* The same blocker for rows of another number of elements. HU_ERR_SHAPE. */
hu_status hu_blocker_set_row(hu_blocker *blocker, int64_t row_elements, int64_t line);

/* Bits of the largest finite magnitude of the n numbers of whole lines, rotated where the format
 * rotates: what the tensor's scale comes from. */
uint32_t hu_blocker_top(const hu_blocker *blocker, int64_t n, const float *x);

/* Rounds whole rows of x to y (the same array or not overlapping). counts NULL: not counted. */
void hu_blocker_round(const hu_blocker *blocker, float tensor_scale, int64_t rows, const float *x,
                      float *y, const hu_random_key *key, uint64_t first_index,
                      hu_round_counts *counts);

/* The same rounding, given as bytes: rows * row_bytes. */
void hu_blocker_pack(const hu_blocker *blocker, float tensor_scale, int64_t rows, const float *x,
                     void *data, const hu_random_key *key, uint64_t first_index,
                     hu_round_counts *counts);

/* Elements first .. first+n-1 of one packed row, first a multiple of 8: the numbers that
 * hu_blocker_round gives, bit for bit. */
void hu_blocker_unpack(const hu_blocker *blocker, float tensor_scale, const void *row,
                       int64_t first, size_t n, float *y);

#endif
