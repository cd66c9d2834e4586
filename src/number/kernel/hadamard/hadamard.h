/* kernel/hadamard/hadamard.h - rotations of lines by Hadamard matrices: one body per ISA, the same
 * bits.
 *
 * A line is cut into groups of `size` numbers, a power of two; what is left at its end into powers
 * of two, the largest first. A group x of H numbers becomes
 *
 *   y = r (x diag(s) H),   r = 1 / sqrt(H) to nearest float32,
 *
 * H the Sylvester matrix, s the first H of `size` signs. Its products are sums: for the distances
 * d = H/2, H/4, ..., 1 in this order the numbers a, b at the places i and i + d, i of those whose
 * bit d is 0, become a + b and a - b, each one float32 operation; then every number is multiplied
 * by r. The way back is x = s (r (y H)): H is its own transpose. NaNs become 0x7FC00000. Source:
 * NVIDIA, arXiv 2509.25149, appendix C; TransformerEngine, which has 16 fixed signs.
 */
#ifndef HU_KERNEL_HADAMARD_H
#define HU_KERNEL_HADAMARD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/random.h>

#include "base/cpu.h"

enum { HU_HADAMARD_MOST = 1024 };

/* Where the signs come from. */
typedef enum hu_hadamard_signs {
    HU_SIGNS_FIXED,  /* + + + - + - - - - - - + - + - -, again and again: TransformerEngine's */
    HU_SIGNS_RANDOM, /* drawn: hu_hadamard_draw */
    HU_SIGNS_PLAIN   /* none */
} hu_hadamard_signs;

/* True for powers of two, 2 .. HU_HADAMARD_MOST. */
bool hu_hadamard_is_size(int64_t size);

/* The fixed signs, or none; [HU_HADAMARD_MOST], 0 or 0x80000000 each. Borrowed: valid forever. */
const uint32_t *hu_hadamard_fixed(hu_hadamard_signs signs);

/* Signs from a random sequence: the upper bit of word i. */
void hu_hadamard_draw(const hu_random_key *key, int32_t size, uint32_t *signs);

/* Rotates the n numbers of a line from one that begins a group on; x and y are the same array or do
 * not overlap. back: the other way. Proof: tests/unit/kernel_hadamard_test.c. */
void hu_hadamard_line(int32_t size, const uint32_t *signs, size_t n, const float *x, float *y,
                      bool back);

/* The same of the columns of a matrix [lines, columns]: groups are of lines. */
void hu_hadamard_across(int32_t size, const uint32_t *signs, int64_t lines, int64_t columns,
                        const float *x, float *y, bool back);

/* The loops of an instruction set: n numbers, a multiple of the size; and one group of n columns,
 * whose numbers are `stride` apart. */
typedef struct hu_hadamard_kernels {
    void (*groups)(int32_t size, const uint32_t *signs, size_t n, const float *x, float *y,
                   bool back);
    void (*columns)(int32_t size, const uint32_t *signs, int64_t stride, size_t n, const float *x,
                    float *y, bool back);
} hu_hadamard_kernels;

/* As hu_hadamard_line and hu_hadamard_across on an instruction set of the caller's choice. */
const hu_hadamard_kernels *hu_hadamard_kernels_of(hu_isa isa);
void hu_hadamard_line_isa(hu_isa isa, int32_t size, const uint32_t *signs, size_t n, const float *x,
                          float *y, bool back);
void hu_hadamard_across_isa(hu_isa isa, int32_t size, const uint32_t *signs, int64_t lines,
                            int64_t columns, const float *x, float *y, bool back);

#endif
