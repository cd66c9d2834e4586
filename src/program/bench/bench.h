/* bench/bench.h - what `bench` measures. A kernel is one function hu_bench_<name>, one line here,
 * its word in the key bench.kernel and the keys it reads in bench.c. */
#ifndef HU_BENCH_BENCH_H
#define HU_BENCH_BENCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "base/bytes.h"
#include "config/config.h"
#include "render/json.h"
#include "render/table.h"

/* Seconds for a measurement: processor time of the calling thread where it works alone, which other
 * programs hardly disturb; of the clock for several threads. */
double hu_bench_seconds(int threads);

/* Seconds of every turn so far; all zero: none. */
typedef struct hu_bench_times {
    double *seconds;
    size_t count, capacity;
    double best, spent; /* the least of them, their sum; 0 of none */
} hu_bench_times;

/* One turn more; what the clock cannot resolve counts as a nanosecond. HU_ERR_MEMORY. */
hu_status hu_bench_times_add(hu_bench_times *times, double seconds);

/* By how much of the best turn the median lies above it (hu_sample_stats_above_least); NaN of fewer
 * than two turns. Turns lose their order. */
double hu_bench_times_spread(hu_bench_times *times);

/* The turn that a quarter of the others beat: for facts of the machine, where a clock that was set
 * right during a turn must not make the best one. 0 of none. Turns lose their order. */
double hu_bench_times_quartile(hu_bench_times *times);

/* Frees the turns and makes *times {0}. */
void hu_bench_times_free(hu_bench_times *times);

/* What a group of contestants may take. */
typedef struct hu_bench_pace {
    int64_t repeat; /* turns of each, no more and no less; 0: as below */
    int64_t most;   /* turns that are always enough */
    double until;   /* by hu_seconds_now: nobody begins a turn that would end later */
    double limit;   /* seconds of one contestant, beyond its first two turns; 0: none */
} hu_bench_pace;

/* Whether the contestant takes another turn: the first one always. */
bool hu_bench_takes(const hu_bench_pace *pace, const hu_bench_times *times);

/* ---- part ---- */

/* What one kernel of `bench` has found: its tables and lines, or its object of JSON,
 * and how far the repeats of its rows scatter. */

typedef enum hu_bench_form { HU_BENCH_TEXT, HU_BENCH_MARKDOWN, HU_BENCH_JSON } hu_bench_form;

/* Rows by the spread of their repeats. */
typedef struct hu_bench_noise {
    int64_t rows;
    int64_t noisy; /* those whose repeats, or whose reference's, spread by more than 10 % */
    int64_t once;  /* those that were measured once: nothing is known of them */
} hu_bench_noise;

/* All zero but for the form: nothing told yet. */
typedef struct hu_bench_part {
    hu_bench_form form;
    hu_byte_writer text; /* of the first two forms; no final zero */
    json_t *json;        /* of the last one */
    hu_bench_noise noise;
} hu_bench_part;

/* Frees what was told and makes the part {0}. */
void hu_bench_part_free(hu_bench_part *part);

/* A line (printf form, without its end); in Markdown a paragraph. HU_ERR_MEMORY. */
hu_status hu_bench_tell(hu_bench_part *part, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A table; a blank line stands before it where it is not the first. HU_ERR_MEMORY. */
hu_status hu_bench_tell_table(hu_bench_part *part, const hu_table *table);

/* One text after the other, and one count to the other. */
hu_status hu_bench_tell_part(hu_bench_part *part, const hu_bench_part *more);
void hu_bench_noise_add(hu_bench_noise *noise, const hu_bench_noise *more);

/* Counts a row by hu_bench_times_spread of its own turns and of its reference's; NaN: once; a row
 * without a reference gives 0 for it. */
void hu_bench_note_spread(hu_bench_part *part, double own, double reference);

/* The next cell: per cent, "-" where it is not known. */
hu_status hu_bench_spread_cell(hu_table *table, double spread);

/* What the spreads say of the machine: "noisy" where more than a tenth of the rows is, "unknown"
 * where more than half was measured once, else "quiet". */
const char *hu_bench_verdict(const hu_bench_noise *noise);

/* The last lines, and the object "noise" of --json (new reference). */
hu_status hu_bench_noise_tell(const hu_bench_noise *noise, hu_bench_part *part);
json_t *hu_bench_noise_json(const hu_bench_noise *noise);

/* ---- The machine that a benchmark ran on ---- */

enum { HU_MACHINE_NAME_BYTES = 128, HU_MACHINE_SETS_BYTES = 256 };

typedef struct hu_bench_machine {
    char name[HU_MACHINE_NAME_BYTES]; /* as /proc/cpuinfo has it; "unknown processor" */
    char
        sets[HU_MACHINE_SETS_BYTES]; /* those of its instruction sets that matter here; may be "" */
    int64_t processors;              /* that this process may use */
    double hertz;                    /* additions that wait for each other, one a cycle */
    double peak;                     /* float32 multiply-adds a second, by the chosen kernels */
    double mixed;                    /* multiply-adds and as many logical operations, together */
    double copy_cached, copy_memory; /* bytes a second that memcpy moves, within the first-level
                                        cache and from memory; NaN: not measured */
} hu_bench_machine;

/* A measurement from within. */
typedef struct hu_bench {
    hu_config *config;
    const hu_bench_machine *machine;
    int64_t repeat;     /* turns of each row; 0: as many as there is time for */
    double until;       /* by hu_seconds_now: when it is to be done */
    double begun;       /* by hu_seconds_since_start, where it is not the first of its process */
    hu_bench_part part; /* what it finds */
} hu_bench;

/* X(name, weight, whether it measures beside oneDNN): hu_status hu_bench_<name>(hu_bench *bench),
 * which measures and tells its rows; its weight when `bench all` shares out the time that is left.
 */
#define HU_BENCH_LIST(X)                                                                           \
    X(round, 2, false)                                                                             \
    X(pack, 2, false)                                                                              \
    X(allreduce, 2, false) X(gemm, 8, true) X(conv, 4, true) X(step, 8, false)

#define HU_BENCH_DECLARE(name, weight, is_beside_onednn) hu_status hu_bench_##name(hu_bench *bench);
HU_BENCH_LIST(HU_BENCH_DECLARE)
#undef HU_BENCH_DECLARE

/* `halfulp bench`: measures what bench.kernel or the only subject names, "all" for every kernel,
 * within bench.seconds, and prints it or writes it to out.file. HU_ERR_ARGUMENT: keys that it does
 * not read, no such kernel; errors of hu_file_replace, before anything is measured; those of the
 * kernels. */
hu_status hu_bench_run(hu_config *config);

/* A group of contestants that has a share of the time which is left, at most `most` turns each. */
hu_bench_pace hu_bench_pace_of(const hu_bench *bench, double share, int64_t most);

#endif
