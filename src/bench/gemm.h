/* bench/gemm.h - the rows of bench kernel=gemm. */
#ifndef HU_BENCH_GEMM_H
#define HU_BENCH_GEMM_H
#include "bench/accumulators.h"
#include "show/json.h"

enum { HU_BENCH_MODE_BYTES = 32, HU_BENCH_FORMAT_BYTES = 64 };

/* One product measured beside a reference in the same run. Rates in 10^9 multiply-adds a second;
 * peak: of that many threads. */
typedef struct hu_bench_gemm_row {
    char mode[HU_BENCH_MODE_BYTES], format[HU_BENCH_FORMAT_BYTES];
    const char *semantics, *reference;
    int64_t m, n, k;
    int threads;
    double rate, reference_rate, peak;
} hu_bench_gemm_row;

/* The bare kernel of one tile in the first-level cache, on one core. */
typedef struct hu_bench_tile_row {
    char mode[HU_BENCH_MODE_BYTES];
    int rows, columns;
    double instructions; /* that a multiply-add sends to the two ports that multiply, at least: peak
                            over these is the bound */
    double rate, peak;
} hu_bench_tile_row;

/* Measures the float32 kernel of `accumulator` that keeps subnormals and proves overflow away.
 * Gives false where this machine has none. */
bool hu_bench_tile(const hu_accumulator *accumulator, hu_bench_tile_row *row);

/* The rows for people, and as the object of --json. */
hu_status hu_bench_gemm_print(const hu_bench_gemm_row *rows, int row_count,
                              const hu_bench_tile_row *tiles, int tile_count);
hu_status hu_bench_gemm_json(const hu_bench_gemm_row *rows, int row_count,
                             const hu_bench_tile_row *tiles, int tile_count);

#endif
