/* bench/machine.h - the machine that a benchmark ran on: what it is called, and what it can do at
 * best, measured in the same run. Rates are of one core and its own processor time. */
#ifndef HU_BENCH_MACHINE_H
#define HU_BENCH_MACHINE_H

#include <halfulp/status.h>

#include "bench/timing.h"

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

/* Reads and measures all but the copy from memory, in a few milliseconds. HU_ERR_MEMORY. */
hu_status hu_bench_machine_measure(hu_bench_machine *machine);

/* The copy from memory: a tenth of a second, and two arrays of 64 MiB, which the process's peak of
 * memory shows afterwards. HU_ERR_MEMORY. */
hu_status hu_bench_machine_measure_memory(hu_bench_machine *machine);

/* Lines of text, and the object "machine" of --json (new reference). */
hu_status hu_bench_machine_tell(const hu_bench_machine *machine, hu_bench_part *part);
json_t *hu_bench_machine_json(const hu_bench_machine *machine);

#endif
