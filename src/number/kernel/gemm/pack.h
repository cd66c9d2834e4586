/* kernel/gemm/pack.h - the loops around the micro-kernels that depend on the instruction set:
 * laying numbers out k-major, measuring them, ending sums. Thread-safe: pure functions of their
 * arguments.
 */
#ifndef HU_KERNEL_GEMM_PACK_H
#define HU_KERNEL_GEMM_PACK_H
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

enum {
    HU_PACK_WIDTH_MAX = 64, /* rows or columns of a panel */
    HU_PACK_SPILL = 8       /* floats after a panel that packing may overwrite */
};

/* What a proof needs to know of some float32 numbers, as patterns; starts as {0, 0, UINT32_MAX}. */
typedef struct hu_pack_facts {
    uint32_t top;      /* largest magnitude */
    uint32_t fraction; /* union of the 23 fraction bits */
    uint32_t low;      /* smallest unit in which a number is odd, less 1: at most the true one, at
                          least half of it; zeros left out */
} hu_pack_facts;

static inline void hu_pack_facts_add(hu_pack_facts *facts, const hu_pack_facts *more) {
    facts->top = more->top > facts->top ? more->top : facts->top;
    facts->fraction |= more->fraction;
    facts->low = more->low < facts->low ? more->low : facts->low;
}

/* [width] rows of `run` floats each -> panel[run][width]. What lies `ahead` floats after each row
 * (0: nothing) is wanted next. */
typedef void hu_pack_rows_fn(const float *const *rows, int64_t ahead, int64_t run, int width,
                             float *panel);

/* `run` rows of `valid` floats, stride apart -> panel[run][width], zeros after them. */
typedef void hu_pack_columns_fn(const float *source, int64_t stride, int64_t run, int width,
                                int valid, float *panel);

/* `run` rows of panels * width floats, stride apart -> panels [run][width], `step` floats from one
 * to the next: whole pieces of memory are read, in the order in which they lie. */
typedef void hu_pack_side_fn(const float *source, int64_t stride, int64_t run, int width,
                             int64_t panels, int64_t step, float *panel);

/* Adds what a proof needs to know of x[n] to the facts. */
typedef void hu_pack_measure_fn(size_t n, const float *x, hu_pack_facts *facts);

/* As hu_pack_measure_fn, of x[rows][columns], rows ld apart: short rows too take few instructions.
 */
typedef void hu_pack_measure_rows_fn(int64_t rows, int64_t columns, int64_t ld, const float *x,
                                     hu_pack_facts *facts);

/* `low` of hu_pack_facts for each `slice` numbers of x[n]; the last slice may be shorter. */
typedef void hu_pack_lows_fn(size_t n, const float *x, size_t slice, uint32_t *low);

/* panel[run][width] -> panels of `part` columns each, [run][part], as doubles; columns
 * beyond width are zero. */
typedef void hu_pack_widen_fn(const float *panel, int64_t run, int width, int part, double *out);

/* c[n] = sum[n] + extra[n] + bias[n], each sum rounded to float32; extra and bias may be NULL. NaNs
 * become the one quiet NaN. */
typedef void hu_pack_finish_fn(size_t n, const float *sum, const float *extra, const float *bias,
                               float *c);

/* The loops of one instruction set; all give the same bits. */
typedef struct hu_pack_set {
    hu_pack_rows_fn *rows;
    hu_pack_columns_fn *columns;
    hu_pack_side_fn *side;
    hu_pack_measure_fn *measure;
    hu_pack_measure_rows_fn *measure_rows;
    hu_pack_lows_fn *lows;
    hu_pack_widen_fn *widen;
    hu_pack_finish_fn *finish;
} hu_pack_set;

extern const hu_pack_set HU_OF_ISA(hu_pack_set);

/* The loops of an instruction set of this machine. Borrowed: valid forever. */
const hu_pack_set *hu_pack_set_of(hu_isa isa);

#endif
