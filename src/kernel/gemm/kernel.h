/* kernel/gemm/kernel.h - the micro-kernels: one tile of accumulators, k terms, one instruction set.
 *
 * A tile is `rows` x (vectors * lanes) accumulators. Panels are k-major: a[k][rows], b[k][columns],
 * padded with zeros; float for arithmetic F32, double for the F64 kinds. The state of a tile lies
 * in float arrays [rows][columns] with row stride ld: `sum` (the accumulator, or the float32 master
 * of FMAC-K) and `extra` (the running block sum of FMAC-K, the compensation of Kahan; NULL
 * otherwise). The caller zeroes the state before the first term. Every variant of one (mac,
 * semantics) gives the same bits wherever the driver's proof allows it.
 */
#ifndef HU_KERNEL_GEMM_KERNEL_H
#define HU_KERNEL_GEMM_KERNEL_H
#include "base/cpu.h"

#include <halfulp/gemm.h>

/* The arithmetic in which R's argument is computed. */
typedef enum hu_gemm_arithmetic {
    HU_GEMM_F32, /* float32: HU_SEMANTICS_F32FMA, or exact where proved */
    HU_GEMM_F64, /* float64, one operation: exact for MAC, MACS and Kahan's sums always, for fused
                    steps where proved (man_bits <= 16 and exponents within 53 binades) */
    HU_GEMM_F64_ODD, /* float64 rounded to odd: exact always */
    HU_GEMM_F32_ODD, /* float32 rounded to odd: exact for man_bits <= 21; not on every ISA */
    HU_GEMM_ARITHMETIC_COUNT
} hu_gemm_arithmetic;

/* How much of R is needed. All give the same bits where the proof holds. */
typedef enum hu_gemm_class {
    HU_GEMM_LEAN,      /* no overflow, no result below the smallest normal's grid */
    HU_GEMM_FAST,      /* subnormals kept, no overflow */
    HU_GEMM_FULL,      /* overflow select and flush */
    HU_GEMM_COUNT_ALL, /* FULL, and counts */
    HU_GEMM_CLASS_COUNT
} hu_gemm_class;

/* R's constants, for both arithmetics: filled by hu_gemm_constants_init from the accumulator. */
typedef struct hu_gemm_constants {
    float lift_f32;     /* 1.5 * 2^(23-m) */
    double lift_f64;    /* 1.5 * 2^(52-m) */
    double emin;        /* smallest normal number */
    double flush_below; /* 0, or emin for formats without subnormals */
    double threshold;   /* |t| >= threshold overflows */
    double overflow;    /* what it becomes: inf, largest finite, NaN */
    int64_t block;      /* of FMAC-K; INT64_MAX for FMAC */
} hu_gemm_constants;

typedef struct hu_gemm_tile {
    int64_t k;
    int64_t phase; /* terms of the block already in `extra` at entry, 0 .. block-1 */
    const void *a, *b;
    float *sum, *extra;
    int64_t ld;
    const hu_gemm_constants *constants;
    hu_gemm_counts *counts; /* COUNT_ALL only; padding is counted too: the caller subtracts nothing
                               because padded accumulators stay +0 (values are the caller's) */
} hu_gemm_tile;

typedef void hu_gemm_kernel_fn(const hu_gemm_tile *tile);

/* The shapes of a kernel set: the driver picks by n. */
typedef enum hu_gemm_shape { HU_GEMM_WIDE, HU_GEMM_NARROW, HU_GEMM_SHAPE_COUNT } hu_gemm_shape;

typedef struct hu_gemm_kernel {
    hu_gemm_kernel_fn *run; /* NULL: this combination does not exist */
    int rows, columns;
} hu_gemm_kernel;

/* The micro-kernel of a combination on an instruction set. FMAC is FMAC-K with an endless block. */
hu_gemm_kernel hu_gemm_kernel_of(hu_isa isa, hu_mac mac, hu_gemm_arithmetic arithmetic,
                                 hu_gemm_class class, hu_gemm_shape shape);

void hu_gemm_constants_init(const hu_accumulator *accumulator, hu_gemm_constants *constants);

#endif
