/* bench/bench.h - what `bench` measures. A kernel is one file bench/<name>.c, one line here, its
 * word in the key bench.kernel and the keys it reads in bench.c. */
#ifndef HU_BENCH_BENCH_H
#define HU_BENCH_BENCH_H
#include "bench/machine.h"
#include "bench/timing.h"
#include "config/config.h"

/* A measurement from within. */
typedef struct hu_bench {
    hu_config *config;
    const hu_bench_machine *machine;
    int64_t repeat;     /* turns of each row; 0: as many as there is time for */
    double until;       /* by hu_seconds_now: when it is to be done */
    double begun;       /* by hu_seconds_since_start, where it is not the first of its process */
    hu_bench_part part; /* what it finds */
} hu_bench;

/* X(name, weight): hu_status hu_bench_<name>(hu_bench *bench), which measures and tells its rows;
 * its weight when `bench all` shares out the time that is left. */
#define HU_BENCH_LIST(X) X(round, 2) X(pack, 2) X(allreduce, 2) X(gemm, 8) X(conv, 4) X(step, 8)

#define HU_BENCH_DECLARE(name, weight) hu_status hu_bench_##name(hu_bench *bench);
HU_BENCH_LIST(HU_BENCH_DECLARE)
#undef HU_BENCH_DECLARE

/* `halfulp bench`: measures what bench.kernel or the only subject names, "all" for every kernel,
 * within bench.seconds, and prints it or writes it to out.file. HU_ERR_ARGUMENT: keys that it does
 * not read, no such kernel; errors of hu_file_replace, before anything is measured; those of the
 * kernels. */
hu_status hu_bench_run(hu_config *config);

/* Steps of a few models, or of the one that the user names; for `bench all`. */
hu_status hu_bench_steps(hu_bench *bench);

/* A group of contestants that has a share of the time which is left, at most `most` turns each. */
hu_bench_pace hu_bench_pace_of(const hu_bench *bench, double share, int64_t most);

#endif
