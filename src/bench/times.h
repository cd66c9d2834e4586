/* bench/times.h - the turns of one contestant of a benchmark, and when it has had enough of them.
 *
 * Contestants take turns one after the other, again and again, so that what else the machine does
 * meets all alike. The best turn is the figure; the spread of the turns says whether to trust it.
 */
#ifndef HU_BENCH_TIMES_H
#define HU_BENCH_TIMES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

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

/* By how much of the best turn the median lies above it (hu_spread_above_least); NaN of fewer than
 * two turns. Turns lose their order. */
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

#endif
