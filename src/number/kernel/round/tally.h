/* kernel/round/tally.h - counters of one block in 32-bit lanes, and the contract's counters of
 * them. For bodies only: names without prefix. */
#ifndef HU_KERNEL_ROUND_TALLY_H
#define HU_KERNEL_ROUND_TALLY_H
#include <stdbool.h>

#include <halfulp/round.h>

#include "base/bits.h"
#include "kernel/lane.h"

/* Infinities and NaNs less 1, and zero less 1, lie above. */
#define NO_INPUT (HU_F32_INFINITY - 1)

/* Lane counters of one block; the contract's counters follow from them. */
typedef struct tally {
    uint32_t beyond;      /* overflow, NaN not included */
    uint32_t nan;         /* NaN inputs */
    uint32_t below;       /* rounded magnitude below the smallest normal, zero included */
    uint32_t zero_before; /* rounded magnitude zero, before flushing */
    uint32_t zero_in;     /* inputs equal to zero */
    uint32_t top;         /* largest finite input magnitude (bits) */
    uint32_t under;       /* bits of the smallest nonzero one, less 1; NO_INPUT or more: none */
} tally;

/* Whether a loop of groups looks for those that are normal, block by block. Where more than an
 * eighth are not, nobody can tell which will be, and the look costs more than it saves: then it is
 * left out for some blocks. What is counted does not depend on it. */
typedef struct look {
    int blocks_without;
} look;

enum { LOOK_GROUPS = 32, LOOK_WITHOUT = 15 }; /* groups of a block; blocks */

HU_INLINE bool looks(look *l) {
    if (l->blocks_without == 0) return true;
    l->blocks_without--;
    return false;
}

/* `mixed` of the `groups` groups of a block that was looked at were not normal. */
HU_INLINE void have_looked(look *l, uint64_t mixed, size_t groups) {
    if (mixed * 8 > groups) l->blocks_without = LOOK_WITHOUT;
}

HU_INLINE uint32_t at_most(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* floor(log2 |x|) from the bits of a nonzero magnitude; binary32 subnormals normalised. */
HU_INLINE int32_t exponent_of(uint32_t u) {
    uint32_t field = hu_f32_bits((float)(int32_t)u) >> 23;
    return u >> 23 ? (int32_t)(u >> 23) - 127 : (int32_t)field - 127 - 149;
}

/* Widens the range of exponents by the largest and the smallest nonzero magnitude of a block;
 * shift: exponents of the numbers themselves less those of these bits. */
HU_INLINE void note_exponents(hu_round_counts *counts, uint32_t top, uint32_t under,
                              int32_t shift) {
    int32_t most = top ? exponent_of(top) + shift : HU_NO_EXPONENT;
    if (most > counts->max_exponent) counts->max_exponent = most;
    if (under >= NO_INPUT) return;
    int32_t least = exponent_of(under + 1) + shift;
    if (counts->min_exponent == HU_NO_EXPONENT || least < counts->min_exponent)
        counts->min_exponent = least;
}

/* The contract's counters of n elements. `below` holds subnormals and zeros: without subnormals
 * (is_flushed) all of these are zeros now, and were flushed but for zero_before. Underflow is zeros
 * less the zeros that came in. */
HU_INLINE void add_tally(bool is_flushed, size_t n, const tally *t, int32_t shift,
                         hu_round_counts *counts) {
    uint32_t zero = is_flushed ? t->below : t->zero_before;
    counts->elements += n;
    counts->overflow += t->beyond;
    counts->underflow += zero - t->zero_in;
    counts->subnormal += t->below - t->zero_before;
    counts->zero += zero;
    counts->nan += t->nan;
    note_exponents(counts, t->top, t->under, shift);
}

#endif
