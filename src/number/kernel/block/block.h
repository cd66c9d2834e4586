/* kernel/block/block.h - block formats: runs of elements along the last extent share a scale.
 *
 * Rows (samples) are lines of `line` elements; every line is cut into blocks of `length` elements,
 * the last of a line may be shorter. With a = largest magnitude of a block, exactly:
 *
 *   E8M0 (MX): scale X = 2^k, k = l - emax of the element format with l as hu_block_power says
 *   (usually floor(log2 a)), raised to -127 if it is below (a = 0 too) and at most 127 - emax, so
 *   that all values are float32 numbers; code k + 127. Elements p = element format's rounding of
 *   v / X (exact), saturating; value p X (exact).
 *
 *   E4M3 (NVFP4): tensor scale s = max(a_tensor / 2688, 2^-126), 1 if a_tensor = 0, with a_tensor
 *   the largest finite magnitude of the tensor; block scale c = E4M3FN rounding, nearest-even and
 *   saturating, of a / (6 s); d = s c; elements p = saturating rounding of v / d; value p d, at
 *   most the largest float32. Every quotient and product here is one correctly rounded float32
 *   operation. c = 0: d = 0, elements are zeros with the sign of v.
 *
 * A block with a NaN or an infinity has a NaN scale (codes 255, 0x7F); its values are all
 * 0x7FC00000. The element's rounding mode and random words are those of plain formats: word
 * first + i serves element i. A quotient v / d below 2^-126 that is not 0 rounds as 2^-126 does.
 *
 * Counts are of the elements in their format: overflow, underflow, subnormal, zero; nan = elements
 * of blocks whose scale is NaN; max_exponent of the unscaled numbers, no min_exponent. Thread-safe:
 * a prepared hu_blocker is read only.
 */
#ifndef HU_KERNEL_BLOCK_BLOCK_H
#define HU_KERNEL_BLOCK_BLOCK_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>

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

enum { HU_BLOCK_MOST = 32 }; /* longest block */

/* What a block's scale is: a power of two, or a number of E4M3FN under a scale of the tensor. */
typedef enum hu_block_scale { HU_BLOCK_SCALE_E8M0, HU_BLOCK_SCALE_E4M3 } hu_block_scale;

/* How the power of two of an E8M0 scale is found. Source: FLOOR OCP MX 1.0, section 6.3; the others
 * as torchao's ScaleCalculationMode has them, RCEIL with the exact quotient. */
typedef enum hu_block_power {
    HU_BLOCK_FLOOR, /* l = floor(log2 a): elements of up to 2^(emax+1), which saturate */
    HU_BLOCK_CEIL,  /* l = ceil(log2 a) */
    HU_BLOCK_RCEIL, /* the least k with a <= 2^k times the largest element: nothing saturates */
    HU_BLOCK_EVEN, /* l = floor(log2 a') with a rounded to the element's mantissa bits, ties away */
    HU_BLOCK_POWERS
} hu_block_power;

/* One row of block.list; with each hu_block_power, those of E8M0 scales. */
typedef struct hu_block_format {
    const char *name; /* "mxfp8", "mxfp8:scale=ceil", ... */
    const char *description;
    hu_format element; /* saturating */
    int length;
    hu_block_scale scale;
    hu_block_power power; /* E8M0 only */
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

/* True if the numbers and codes of both are the same. */
int hu_block_format_equal(const hu_block_format *a, const hu_block_format *b);

/* True if values depend on the largest magnitude of the whole tensor. */
int hu_block_needs_tensor_scale(const hu_block_format *format);

/* The tensor scale s for a largest finite magnitude given by its bits; 1 for E8M0. */
float hu_block_tensor_scale(const hu_block_format *format, uint32_t top_bits);

typedef struct hu_blocker hu_blocker;

/* Elements first .. first+n-1 of a row; scales[0] is that of the block that holds the first. */
typedef struct hu_block_part {
    int64_t first;
    size_t n;
    const uint8_t *scales;
    float tensor_scale;
} hu_block_part;

/* What a division left to be counted: elements of blocks whose scale is NaN, and nonzero ones of
 * blocks whose scale is 0. */
typedef struct hu_block_loss {
    uint64_t nan, vanished;
} hu_block_loss;

/* tops[b] = bits of the largest magnitude (NaN and infinity included) of each of the blocks in
 * x[n], whole blocks from element first of a row on. Returns the largest finite one. */
typedef uint32_t hu_block_tops_fn(const hu_blocker *blocker, int64_t first, size_t n,
                                  const float *x, uint32_t *tops);
typedef void hu_block_divide_fn(const hu_blocker *blocker, const hu_block_part *part,
                                const float *x, float *y, hu_block_loss *loss);
typedef void hu_block_multiply_fn(const hu_blocker *blocker, const hu_block_part *part,
                                  const float *x, float *y);

/* The loops of one instruction set; all give the same bits.
 *
 *   top       bits of the largest finite magnitude of x[n]
 *   tops      the same for each block
 *   divide    elements in units of their block's scale; what vanishes is added to *loss
 *   multiply  rounded elements times their block's scale */
typedef struct hu_block_kernels {
    uint32_t (*top)(size_t n, const float *x);
    hu_block_tops_fn *tops;
    hu_block_divide_fn *divide;
    hu_block_multiply_fn *multiply;
} hu_block_kernels;

struct hu_blocker {
    const hu_block_kernels *kernels;
    const hu_block_format *format;
    hu_rounder rounder;       /* of elements */
    hu_packer packer;         /* of elements, a byte each */
    uint32_t width;           /* bits of an element in the stream: 4, 6 or 8 */
    hu_rounder scale_rounder; /* E4M3 only */
    hu_packer scale_packer;
    float scale_value[256]; /* of the scale's codes */
    int32_t emax;           /* of the element format */
    uint32_t top_limit;     /* 24-bit significands above it raise the power of an E8M0 scale */
    int is_integer;         /* element codes are two's complement */
    int64_t line;           /* elements */
    int64_t row_elements, row_blocks, line_blocks;
    size_t code_bytes; /* of a row's elements, one dense run, before its row_blocks scales */
    size_t row_bytes;
};

/* Prepares for rows of row_elements elements in lines of `line` (a divisor). HU_ERR_ARGUMENT: no
 * such rounding; HU_ERR_SHAPE: a row does not fit the address space. */
hu_status hu_blocker_init(hu_blocker *blocker, const hu_block_format *format, hu_rounding rounding,
                          int64_t row_elements, int64_t line);

/* The same on an instruction set of the caller's choice, which must be there. */
hu_status hu_blocker_init_isa(hu_blocker *blocker, const hu_block_format *format,
                              hu_rounding rounding, int64_t row_elements, int64_t line, hu_isa isa);

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
