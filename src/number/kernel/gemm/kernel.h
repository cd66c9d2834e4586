/* kernel/gemm/kernel.h - the micro-kernels: one tile of accumulators, k terms, one instruction set.
 * Thread-safe: pure functions of their arguments.
 *
 * A tile is rows x columns accumulators. Panels are k-major, without gaps: a[k][rows],
 * b[k][columns], padded with zeros; float for arithmetic F32, double for the F64 kinds (float32
 * numbers, so that their products are exact). Any alignment; 64 bytes are fastest. The state of a
 * tile lies in float arrays [rows][columns] with row stride ld: `sum` (the accumulator, or the
 * float32 master of FMAC-K, FMAC and TC) and `extra` (the running block sum of FMAC-K, the
 * accumulator of FMAC and TC, the compensation of Kahan; unused otherwise). The caller zeroes the
 * state before the first term; a sum ends with sum + extra in float32 for FMAC-K, FMAC and TC, with
 * sum otherwise. Every variant of one (mac, semantics) gives the same bits wherever the driver's
 * proof allows it; a NaN in the state is always 0x7FC00000. Proof:
 * tests/unit/kernel_gemm_kernel_test.c.
 */
#ifndef HU_KERNEL_GEMM_KERNEL_H
#define HU_KERNEL_GEMM_KERNEL_H
#include "base/cpu.h"

#include <halfulp/gemm.h>

/* The arithmetic in which R's argument is computed. What F32 kinds need, FMACS apart: man_bits <=
 * 21, -126 <= emin <= 104 + man_bits, and no argument of R in 2^(105+man_bits) .. threshold
 * (nothing to prove where the format overflows before that: all but 8 exponent bits, or a small
 * bias). F64 kinds need nothing: every format, every float32 number. */
typedef enum hu_gemm_arithmetic {
    HU_GEMM_F32,     /* float32: all semantics but exact, and exact where proved */
    HU_GEMM_F64,     /* float64, one operation: exact for MAC, MACS and KAHAN_CPD always, for fused
                        steps where proved (man_bits <= 16 and exponents within 53 binades) */
    HU_GEMM_F64_ODD, /* float64 rounded to odd: exact always; the same as F64 for MAC, MACS and
                        KAHAN_CPD, whose kernels it names */
    HU_GEMM_F32_ODD, /* float32 rounded to odd: exact always; FMAC-K, FMAC and KAHAN on AVX-512 */
    HU_GEMM_ARITHMETIC_COUNT
} hu_gemm_arithmetic;

/* How much of R is needed. All give the same bits where the proof holds. */
typedef enum hu_gemm_class {
    HU_GEMM_SHORT_LEAN, /* LEAN and FAST of formats with m <= HU_GEMM_SHORT_BITS, in float32: two */
    HU_GEMM_SHORT_FAST, /* instructions round; float64 holds every format so */
    HU_GEMM_LEAN,       /* no overflow, no result below the smallest normal's grid */
    HU_GEMM_FAST,       /* subnormals kept, no overflow */
    HU_GEMM_FULL,       /* overflow select and flush */
    HU_GEMM_COUNT_ALL,  /* FULL, and counts */
    HU_GEMM_CLASS_COUNT
} hu_gemm_class;

enum { HU_GEMM_SHORT_BITS = 10 }; /* step.inc, round_short */

/* R's constants, for both arithmetics: filled by hu_gemm_constants_init from the accumulator. */
typedef struct hu_gemm_constants {
    float lift_f32;       /* 1.5 * 2^(23-m) */
    double lift_f64;      /* 1.5 * 2^(52-m) */
    double emin;          /* smallest normal number */
    double tiny;          /* of the powers below emin, the one whose quantum they have: emin, or
                             2^m emin where numbers go to emin or to 0 */
    double gone_to;       /* |t| that become 0 for the lack of subnormals, or lie on their grid,
                             exceed this: half its quantum, or 0 */
    double flush_below;   /* 0, or emin for formats without subnormals */
    float threshold_f32;  /* |t| >= threshold overflows: the smallest such number of each */
    double threshold_f64; /* arithmetic */
    double overflow;      /* what it becomes: inf, largest finite, NaN */
    double forget_from;   /* Kahan: c becomes +0 where |t| reaches this: infinity; NaN: nowhere */
    int64_t block; /* of FMAC-K, `promote` of TC; INT64_MAX for FMAC, and without `promote` */

    /* Of TC alone. */
    int64_t step;                  /* K */
    int64_t chunk;                 /* terms whose sum integers of 32 bits hold; 0: none */
    int align_bits, out_bits;      /* F, fraction bits of a result */
    double least_a, least_b;       /* 2^least_exponent of factors */
    double lowest_f32, lowest_f64; /* a power of two below those of all steps with numbers */
    double max_finite, quantum;    /* of R: the largest number, 2^-out_bits */
    bool is_late, is_cut;
} hu_gemm_constants;

/* One call of a kernel: k terms are added to every accumulator of a tile. */
typedef struct hu_gemm_tile {
    int64_t k;     /* >= 0 */
    int64_t phase; /* FMAC-K, FMAC and TC: terms that came earlier, modulo block. At 0 the first of
                      these k terms closes the block before it (sum += extra, extra = 0: harmless
                      at the very start), so that extra may hold a whole block between calls */
    const void *a, *b;
    float *sum, *extra;
    int64_t ld;
    const hu_gemm_constants *constants;
    hu_gemm_counts *counts; /* COUNT_ALL only: subnormal and overflow of every rounded accumulator
                               are added to, values are the caller's. Padded accumulators stay +0
                               where the other factor is finite, and then count nothing */
} hu_gemm_tile;

/* tile->sum and extra are read and written, counts added to, all else is only read. */
typedef void hu_gemm_kernel_fn(const hu_gemm_tile *tile);

/* The shapes of a kernel set: the driver picks the one with the least padding. */
typedef enum hu_gemm_shape {
    HU_GEMM_WIDE,
    HU_GEMM_MIDDLE, /* of some modes */
    HU_GEMM_NARROW, /* one vector of columns */
    HU_GEMM_SHAPE_COUNT
} hu_gemm_shape;

/* A micro-kernel, and the accumulators of its tile. */
typedef struct hu_gemm_kernel {
    hu_gemm_kernel_fn *run; /* NULL: this combination does not exist */
    int rows, columns;
    double cost; /* time of a multiply-accumulate beside that of the wide shape */
} hu_gemm_kernel;

/* R's constants of a valid accumulator (hu_accumulator_check); zeros for FMACS. */
void hu_gemm_constants_init(const hu_accumulator *accumulator, hu_gemm_constants *constants);

/* The tables of micro-kernels, one per instruction set and arithmetic, and
 * the choice of one. Thread-safe: the tables are constant. */

/* [mode][rounded to odd][class][shape]; rows of kernel.list, the others are NULL. */
typedef hu_gemm_kernel hu_gemm_table[HU_MAC_COUNT][2][HU_GEMM_CLASS_COUNT][HU_GEMM_SHAPE_COUNT];

extern const hu_gemm_table HU_OF_ISA(hu_gemm_f32), HU_OF_ISA(hu_gemm_f64);

/* The portable bodies with the compiler's AVX2, class FAST alone: for measurements and tests. */
extern const hu_gemm_table hu_gemm_f32_portable_avx2, hu_gemm_f64_portable_avx2;

/* The micro-kernel of a combination on an instruction set. FMAC is FMAC-K with an endless block.
 * FMACS exists for F32 alone, in one class that stands for all; MACS counts nothing, COUNT_ALL is
 * FULL. Of one mode and shape every arithmetic and class has the same rows; F64 kinds have half the
 * columns of F32. */
hu_gemm_kernel hu_gemm_kernel_of(hu_isa isa, hu_mac mac, hu_gemm_arithmetic arithmetic,
                                 hu_gemm_class class, hu_gemm_shape shape);

#endif
