/* bench/bench.h - what `bench` measures. A kernel is one file bench/<name>.c, one line here, its
 * word in the key bench.kernel and the keys it reads in verb_bench.c. */
#ifndef HU_BENCH_BENCH_H
#define HU_BENCH_BENCH_H
#include "config/config.h"

/* X(name): hu_status hu_bench_<name>(hu_config *config), which measures and prints its rows. */
#define HU_BENCH_LIST(X) X(step) X(round) X(pack) X(allreduce) X(gemm) X(conv)

#define HU_BENCH_DECLARE(name) hu_status hu_bench_##name(hu_config *config);
HU_BENCH_LIST(HU_BENCH_DECLARE)
#undef HU_BENCH_DECLARE

/* Seconds for a measurement: processor time of the calling thread where it works alone, which other
 * programs hardly disturb; of the clock for several threads. */
double hu_bench_seconds(int threads);

#endif
