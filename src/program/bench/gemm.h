/* bench/gemm.h - what the verbs that compare accumulators share: their list and their data. */
#ifndef HU_BENCH_GEMM_H
#define HU_BENCH_GEMM_H
#include <halfulp/gemm.h>

#include "config/config.h"

enum { HU_ACCUMULATORS_MOST = 64 };

/* Accumulators in the order in which they are measured. */
typedef struct hu_accumulator_list {
    hu_accumulator items[HU_ACCUMULATORS_MOST];
    int count;
} hu_accumulator_list;

/* The key accumulator, texts of hu_accumulator_parse separated by commas (commas within parentheses
 * are a format's own), or all modes in 1/6/9 where it is not given; each in exact and
 * f32fma, or in accumulator.semantics where it is given. Errors as hu_accumulator_parse;
 * HU_ERR_LIMIT. */
hu_status hu_accumulator_list_read(const hu_config *config, hu_accumulator_list *list);

/* run.threads, all processors where it is left open. */
hu_status hu_threads_read(hu_config *config, int *threads);

/* n numbers of data set `kind` ("normal": mean 0, variance 1; "uniform" on [-1, 1); "lognormal":
 * e^normal) for the factor `name`. */
void hu_factor_fill(const char *kind, uint64_t seed, const char *name, int64_t n, float *x);

#endif
