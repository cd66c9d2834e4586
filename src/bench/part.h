/* bench/part.h - what one kernel of `bench` has found: its tables and lines, or its object of JSON,
 * and how far the repeats of its rows scatter. */
#ifndef HU_BENCH_PART_H
#define HU_BENCH_PART_H
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "show/json.h"
#include "show/table.h"

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
