/* kernel/round/round.h - rounding prepared once per format, so that a call costs one pointer.
 * Thread-safe: a prepared hu_rounder is read only. Same contract as halfulp/round.h.
 */
#ifndef HU_KERNEL_ROUND_H
#define HU_KERNEL_ROUND_H
#include <halfulp/round.h>

#include "base/cpu.h"

/* How a kernel reaches the rounded value; every route gives the same bits.
 *   MAGIC      (|x| + C) - C with C = 2^(k+23-m), k = max(exponent of x, emin): the hardware's own
 *              nearest-even addition rounds to the quantum q = 2^(k-m), subnormals included; other
 *              modes step back to the multiple of q at or below |x| and compare the exact rest.
 *              Needs m <= 22, emax + 23 - m <= 127 and emin >= -126; modes other than nearest-even
 *              one less of emax, and emin - m >= -93, so that 2^-33 q is a normal number.
 *   SUBNORMAL  the same with C = 2^emin for |x| < 2^emin, else C = 0: m = 23, where nothing else is
 *              rounded.
 *              Where the quantum below emin is 2^emin, C is 2^(emin+23) there: both need emin + 23
 *              <= 127, other modes one less.
 *   ALIGNED    integer addition on the bits: e = 8, bias 127, where all numbers lie on binary32's
 *              own grid.
 *   INTEGER    shifts per element; any float, any mode.
 *   TABLE      formats by table (kernel/table), and no other */
typedef enum hu_round_route {
    HU_ROUTE_MAGIC,
    HU_ROUTE_SUBNORMAL,
    HU_ROUTE_ALIGNED,
    HU_ROUTE_INTEGER,
    HU_ROUTE_TABLE
} hu_round_route;

/* What is left to do after the rounding itself, from least to most.
 *   PLAIN  overflow value with the sign of x
 *   SMALL  also: flushed subnormals, zero without sign
 *   EVEN   also: overflow values that differ for infinite inputs
 *   FULL   also: overflow values that depend on the sign
 *   RARE   also: a coarse quantum below emin (HU_UNDERFLOW_NEAREST), NaNs that overflow; every
 *          format whose infinities stay while numbers saturate (HU_OVERFLOW_PROPAGATE)
 *   DEEP   also: emin < -126, where binary32 subnormals are normal numbers of the format */
typedef enum hu_round_finish {
    HU_FINISH_PLAIN,
    HU_FINISH_SMALL,
    HU_FINISH_EVEN,
    HU_FINISH_FULL,
    HU_FINISH_RARE,
    HU_FINISH_DEEP
} hu_round_finish;

/* The row of round.list that serves all numbers of stated random bits and their kinds: as a mode,
 * 8 bits of kind c. */
#define HU_ROUND_STATED_BITS                                                                       \
    ((hu_rounding)(HU_ROUND_STOCHASTIC | 8u << 8 | (unsigned)HU_RANDOM_C << 16))

/* True if random words decide. */
static inline int hu_rounding_draws(hu_rounding rounding) {
    return ((unsigned)rounding & ~(unsigned)(HU_ROUND_BITS | HU_ROUND_KIND)) == HU_ROUND_STOCHASTIC;
}

/* Rounding to nearest and stochastic rounding treat both signs alike, and infinities as any
 * overflow; the others do not. */
static inline hu_round_finish hu_round_least_finish(hu_rounding rounding) {
    switch (rounding) {
    case HU_ROUND_TOWARD_ZERO:
    case HU_ROUND_TO_ODD:
        return HU_FINISH_EVEN;
    case HU_ROUND_UP:
    case HU_ROUND_DOWN:
        return HU_FINISH_FULL;
    default:
        return HU_FINISH_PLAIN;
    }
}

typedef struct hu_rounder hu_rounder;
typedef struct hu_code_steps hu_code_steps;
/* The neighbours of x[n] that stochastic rounding by table chooses from: from[n], nearer to 0, and
 * to[n]. x are finite and not beyond the table's ends; n a multiple of HU_NEIGHBOURS. */
enum { HU_NEIGHBOURS = 64 };
typedef void hu_neighbours_fn(const hu_rounder *rounder, size_t n, const float *x, float *from,
                              float *to);
typedef void hu_round_fn(const hu_rounder *rounder, size_t n, const float *x, float *y,
                         const hu_random_key *key, uint64_t first_index, hu_round_counts *counts);

/* Constants of one (format, rounding); "bits" are those of a binary32 magnitude. */
struct hu_rounder {
    hu_round_fn *run;
    hu_format format;
    hu_rounding rounding;
    hu_round_route route;
    hu_round_finish finish;
    uint32_t drop;              /* 23 - m */
    uint32_t tiny_drop;         /* the same below emin: 23 where the quantum there is 2^emin */
    uint32_t nan_cap;           /* magnitudes are cut here: infinity where NaNs overflow */
    int32_t emin_field;         /* emin + 127, may be below 1 */
    uint32_t emin_bits;         /* of 2^emin; MAGIC and SUBNORMAL only */
    float threshold;            /* smallest |x| that overflows; nearest-even, MAGIC and SUBNORMAL */
    uint32_t exponent_cap;      /* bits of 2^(emax+1); other modes, MAGIC and SUBNORMAL */
    uint32_t parity_cap;        /* magnitudes are cut here before the last bit of the significand is
                                   read; ALIGNED only */
    uint32_t max_bits;          /* largest finite */
    uint32_t min_normal_bits;   /* 2^emin */
    uint32_t min_nonzero_bits;  /* 2^(emin-m) before flushing, or 2^emin */
    uint32_t flush_below_bits;  /* results below become 0: min_normal_bits or 0 */
    uint32_t zero_sign;         /* 0x80000000 if -0 exists, else 0 */
    uint32_t overflow_value[2]; /* result of finite overflow, complete bits: of + and - inputs */
    uint32_t infinite_value[2]; /* result of +inf, -inf */
    const hu_code_steps *steps; /* TABLE. Borrowed: valid forever */
    uint32_t nan_from;          /* TABLE: magnitudes above it count as NaN */
    hu_neighbours_fn *neighbours; /* TABLE, stochastic; NULL: as the steps find them */
};

/* Prepares for the best instruction set of hu_cpu_isa(). HU_ERR_FORMAT: the format is invalid;
 * HU_ERR_ARGUMENT: no such rounding; HU_ERR_MEMORY: the first time that a table meets the mode.
 * Proof: tests/unit/kernel_round_test.c. */
hu_status hu_rounder_init(hu_rounder *rounder, const hu_format *format, hu_rounding rounding);

/* As hu_rounder_init on an instruction set of the caller's choice (which must be there). */
hu_status hu_rounder_init_isa(hu_rounder *rounder, const hu_format *format, hu_rounding rounding,
                              hu_isa isa);

/* Rounds x[n] to y[n] (the same array or not overlapping) and adds to counts if not NULL. key must
 * be given where hu_rounding_draws; word first_index + i serves element i. */
static inline void hu_rounder_run(const hu_rounder *rounder, size_t n, const float *x, float *y,
                                  const hu_random_key *key, uint64_t first_index,
                                  hu_round_counts *counts) {
    rounder->run(rounder, n, x, y, key, first_index, counts);
}

/* Counts x[n] as a float32 edge, changing nothing: overflow = infinities, subnormal = binary32
 * subnormals, underflow untouched. */
void hu_scan_f32(size_t n, const float *x, hu_round_counts *counts);

/* Counts x[n], numbers that the rounder leaves as they are, as rounding them again would. */
void hu_count_on_grid(const hu_rounder *rounder, size_t n, const float *x, hu_round_counts *counts);

/* words[i] = word first + i of the sequence, as hu_random_words, several blocks at once. */
void hu_random_words_fast(const hu_random_key *key, uint64_t first, size_t count, uint32_t *words);

/* Table for tests and benchmarks: variant 0..hu_round_variant_count()-1 of round.list. */
typedef void hu_scan_fn(size_t n, const float *x, uint32_t min_normal_bits,
                        hu_round_counts *counts);
typedef void hu_words_fn(const hu_random_key *key, uint64_t first, size_t count, uint32_t *words);

/* One row of round.list; rounding: the mode that it serves. */
typedef struct hu_round_variant {
    const char *name;
    hu_rounding rounding;
    hu_round_route route;
    hu_round_fn *run[HU_ISA_COUNT]; /* NULL where not compiled */
} hu_round_variant;

/* Number of rows of round.list, and row index of them. Borrowed: valid forever. */
size_t hu_round_variant_count(void);
const hu_round_variant *hu_round_variant_at(size_t index);

/* True if the route can serve the format in that mode. */
int hu_round_route_serves(hu_round_route route, hu_rounding rounding, const hu_format *format);

/* As hu_rounder_init with a variant and instruction set of the caller's choice (both must serve).
 */
hu_status hu_rounder_init_variant(hu_rounder *rounder, const hu_format *format,
                                  const hu_round_variant *variant, hu_isa isa);
#endif
