/* bench/gemm.h - the rows of bench kernel=gemm. */
#ifndef HU_BENCH_GEMM_H
#define HU_BENCH_GEMM_H
#include <halfulp/gemm.h>

#include "bench/bench.h"
#include "config/config.h"
#include "render/json.h"

/* ---- accumulators ---- */

/* What the verbs that compare accumulators share: their list and their data.
 */

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

/* "fmacs", "fmac", "fmac8", "kahan-cpd", ... without the format. text: at least 32 bytes. */
void hu_accumulator_mode_text(const hu_accumulator *accumulator, char *text, size_t capacity);

/* run.threads, all processors where it is left open. */
hu_status hu_threads_read(hu_config *config, int *threads);

/* n numbers of data set `kind` ("normal": mean 0, variance 1; "uniform" on [-1, 1); "lognormal":
 * e^normal) for the factor `name`. */
void hu_factor_fill(const char *kind, uint64_t seed, const char *name, int64_t n, float *x);

enum { HU_BENCH_MODE_BYTES = 32, HU_BENCH_FORMAT_BYTES = 64 };

/* One product measured beside a reference in the same run. Rates in 10^9 multiply-adds a second;
 * peak: of that many threads. */
typedef struct hu_bench_gemm_row {
    char mode[HU_BENCH_MODE_BYTES], format[HU_BENCH_FORMAT_BYTES];
    const char *semantics, *reference;
    int64_t m, n, k;
    int threads;
    double rate, reference_rate, peak;
    double instructions;             /* as below; NaN: not counted */
    double spread, reference_spread; /* as hu_bench_times_spread */
    int64_t turns;
} hu_bench_gemm_row;

/* The bare kernel of one tile in the first-level cache, on one core. */
typedef struct hu_bench_tile_row {
    char mode[HU_BENCH_MODE_BYTES];
    int rows, columns;
    double instructions; /* hu_bench_instructions: peak over these is the bound */
    double rate, peak, spread;
} hu_bench_tile_row;

/* As many multiply-adds of the bare peak as one of the accumulator in f32fma takes at least: its
 * instructions that multiply, or all of them where the machine's units for others are the fewer
 * (peak over mixed). NaN in other semantics, whose kernels have not been counted. */
double hu_bench_instructions(const hu_accumulator *accumulator, const hu_bench_machine *machine);

/* Whether this machine has a float32 kernel of `accumulator` that keeps subnormals and proves
 * overflow away. Measures it then. HU_ERR_MEMORY. */
hu_status hu_bench_tile(const hu_accumulator *accumulator, const hu_bench_machine *machine,
                        bool *is_present, hu_bench_tile_row *row);

/* All that was measured. */
typedef struct hu_bench_gemm_rows {
    const hu_bench_gemm_row *rows;
    const hu_bench_tile_row *tiles;
    int count, tile_count;
    int left_out; /* rows for which there was no time */
} hu_bench_gemm_rows;

/* The rows for people, and as the object of --json. */
hu_status hu_bench_gemm_tell(const hu_bench_gemm_rows *all, hu_bench_part *part);
json_t *hu_bench_gemm_json(const hu_bench_gemm_rows *all);

#endif
