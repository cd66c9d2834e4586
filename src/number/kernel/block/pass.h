/* kernel/block/pass.h - whole tiles of one line in two passes: their maxima, then everything else
 * in registers. The general way (rows.c) is the definition; what a pass does has its bits, bytes
 * and counts. Served are tiles of 16, 32, 64, ...
 * elements, or lines of so many that are shorter than a tile, that are rounded to nearest-even by
 * the route MAGIC, without rotation and without a choice between scales.
 *
 * Elements are v (1 / d): for powers of two exactly. Where elements are divided (`divides`), with
 * r = 1 / d and q = v r rounded, q + (v - q d) r is within 2^-47 of the quotient before it is
 * rounded. Divisors D and numerators V of 24 bits whose quotient is as near as that to the middle
 * of two float32 numbers beside a middle of two elements can be counted: D N = V 2^s + e with
 * |e| <= 4, N of 25 bits. None of them falls on another side of the middle of elements than the
 * correctly rounded v / d does (tests/unit/kernel_block_pass_test.c takes them all). Nothing
 * underflows that is not rounded to 0 anyway, and nothing overflows: hu_block_kernels, calm.
 *
 * Groups of normal numbers in units that are powers of two are rounded where they lie, by the
 * format's constants times the unit: that is exact as long as these constants are normal numbers
 * of float32, too. */
#ifndef HU_KERNEL_BLOCK_PASS_H
#define HU_KERNEL_BLOCK_PASS_H
#include "kernel/block/internal.h"
#include "kernel/round/tally.h"

/* Elements between two visits to the maxima: what the first cache holds, and a multiple of every
 * tile that is served. */
enum { HU_PASS_MOST = 4096, HU_PASS_LEAST_LENGTH = 16 };
enum { HU_PASS_TILES = HU_PASS_MOST / HU_PASS_LEAST_LENGTH };

/* The loops of one instruction set; tiles of blocker->format.length elements.
 *
 *   tops    bits of the largest magnitude of each tile, NaN and infinity included
 *   round   values; *t gets the counts of elements
 *   pack    the same as codes: dense ones of 4 and 8 bits, others a byte each
 *   unpack  values of such codes; NaN units give NaNs */
struct hu_block_pass {
    void (*tops)(size_t length, size_t tiles, const float *x, uint32_t *tops);
    void (*round)(const hu_blocker *blocker, size_t tiles, const float *unit, const float *inverse,
                  const float *x, float *y, tally *t);
    void (*pack)(const hu_blocker *blocker, size_t tiles, const float *unit, const float *inverse,
                 const float *x, uint8_t *codes, tally *t);
    void (*unpack)(const hu_blocker *blocker, size_t tiles, const float *unit, const uint8_t *codes,
                   float *y);
};

/* The pass of an instruction set that serves the blocker; NULL: none does. */
const hu_block_pass *hu_block_pass_for(const hu_blocker *blocker, hu_isa isa);

/* Tiles of a row from the element `first` on, n elements: rounded to y, or packed to codes with
 * their stored scales. *top is raised as by hu_block_make_scales. False: some tile wants the
 * general way, and numbers and codes are as they were. n is at most HU_PASS_MOST. */
bool hu_block_pass_round(const hu_block_job *job, int64_t first, size_t n, float *y, uint32_t *top);
bool hu_block_pass_pack(const hu_block_job *job, int64_t first, size_t n, uint8_t *codes,
                        uint8_t *scales, uint32_t *top);

/* Values of n elements, whole tiles, from the codes and the stored scales of their first. */
void hu_block_pass_unpack(const hu_blocker *blocker, float tensor_scale, size_t n,
                          const uint8_t *codes, const uint8_t *scales, float *y);

#endif
