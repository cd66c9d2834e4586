/* bench/timing.h - the turns of one contestant of a benchmark, and when it has had enough of them.
 *
 * Contestants take turns one after the other, again and again, so that what else the machine does
 * meets all alike. The best turn is the figure; the spread of the turns says whether to trust it.
 */
#ifndef HU_BENCH_TIMING_H
#define HU_BENCH_TIMING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "base/bytes.h"
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

/* One text behind the other, and one count to the other. */
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

#endif
