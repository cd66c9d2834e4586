/* kernel/gemm/prove.h - which micro-kernels give a tile the right bits, from what packing saw.
 * Thread-safe: pure functions of their arguments.
 */
#ifndef HU_KERNEL_GEMM_PROVE_H
#define HU_KERNEL_GEMM_PROVE_H
#include "kernel/gemm/kernel.h"
#include "kernel/gemm/pack.h"

/* The numbers of a panel. Where all are zero: exponent and quantum are HU_NO_QUANTUM. */
typedef struct hu_panel_facts {
    double top;      /* largest magnitude; infinite where a number is not finite */
    int exponent;    /* every |x| < 2^(exponent + 1) */
    int quantum;     /* every x is a multiple of 2^quantum */
    int significand; /* every x has at most so many significant bits */
} hu_panel_facts;

enum { HU_NO_QUANTUM = 4096, HU_SLICE_TERMS = 8, HU_PANEL_SLICES = 40 };

/* A panel of one run of terms; of slices of HU_SLICE_TERMS terms the quanta, where they are known:
 * few slices have the least. */
typedef struct hu_unit_facts {
    hu_panel_facts all;
    bool has_slices;
    int16_t quantum[HU_PANEL_SLICES];
} hu_unit_facts;

/* The facts of numbers that packing has measured. */
hu_panel_facts hu_panel_facts_of(const hu_pack_facts *seen);

/* Where the state of a tile can be. As of zeroed state: {0, 0, HU_NO_QUANTUM}. */
typedef struct hu_gemm_reach {
    double sum;   /* |accumulator| is at most this; of Kahan |accumulator - compensation| */
    double extra; /* |block sum| of FMAC-K, |compensation| of Kahan */
    int quantum;  /* every accumulator is a multiple of 2^quantum */
} hu_gemm_reach;

/* The accumulator's constants, prepared once per call. */
typedef struct hu_gemm_prover {
    hu_accumulator accumulator;
    bool counting;   /* subnormal and overflowing accumulators are counted */
    bool is_float32; /* the format is binary32's: both semantics are one */
    int man_bits, emin;
    double max_finite;  /* results up to here do not overflow */
    double max_magic;   /* float32 kernels round arguments up to here, if can_magic */
    bool can_magic;     /* float32 kernels serve the format for small enough arguments */
    bool has_all_magic; /* for all arguments */
    bool has_kernel[HU_GEMM_ARITHMETIC_COUNT];
} hu_gemm_prover;

/* accumulator: valid; counting: whether kernels have to count; isa: whose kernels may be chosen. */
void hu_gemm_prover_init(const hu_accumulator *accumulator, bool counting, hu_isa isa,
                         hu_gemm_prover *prover);

/* What runs a tile. */
typedef struct hu_gemm_choice {
    bool is_slow; /* no kernel is proved: term by term, see reference.h */
    hu_gemm_arithmetic arithmetic;
    hu_gemm_class class;
} hu_gemm_choice;

/* The cheapest kernel for k terms of factors a and b after `phase` terms of a block (0 for other
 * modes), and where the state can be afterwards. */
hu_gemm_choice hu_gemm_prove(const hu_gemm_prover *prover, const hu_panel_facts *a,
                             const hu_panel_facts *b, int64_t k, int64_t phase,
                             hu_gemm_reach *reach);

/* The slices of k terms that a LEAN kernel serves, where the choice of all terms keeps subnormals
 * but proves overflow away; returns how many. The kernels are those of the choice's arithmetic. */
int64_t hu_gemm_lean_slices(const hu_gemm_prover *prover, const hu_unit_facts *a,
                            const hu_unit_facts *b, int64_t k, bool is_lean[HU_PANEL_SLICES]);

/* Whether finer facts of factors may help. */
bool hu_gemm_wants_slices(const hu_gemm_prover *prover);

/* The quantum of numbers whose hu_pack_facts have this `low`. */
int hu_panel_quantum(uint32_t low);

/* Reach of a state of which the facts of sum and extra are known. */
hu_gemm_reach hu_gemm_reach_of(const hu_gemm_prover *prover, const hu_panel_facts *sum,
                               const hu_panel_facts *extra);

#endif
