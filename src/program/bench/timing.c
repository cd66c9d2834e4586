#include "bench/bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/statistics.h"

/* ---- times ---- */

/* The turns of one contestant of a benchmark, and when it has had enough of them.
 *
 * Contestants take turns one after the other, again and again, so that what else the machine does
 * meets all alike. The best turn is the figure; the spread of the turns says whether to trust it.
 */

static const double resolution = 1e-9;

hu_status hu_bench_times_add(hu_bench_times *times, double seconds) {
    hu_status st = hu_grow(&times->seconds, times->count, &times->capacity, sizeof *times->seconds);
    if (st != HU_OK) return st;
    if (seconds < resolution) seconds = resolution;
    if (times->count == 0 || seconds < times->best) times->best = seconds;
    times->seconds[times->count++] = seconds;
    times->spent += seconds;
    return HU_OK;
}

double hu_bench_times_spread(hu_bench_times *times) {
    return hu_sample_stats_above_least(times->seconds, times->count);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double hu_bench_times_quartile(hu_bench_times *times) {
    if (times->count == 0) return 0.0;
    qsort(times->seconds, times->count, sizeof *times->seconds, ascending);
    return times->seconds[times->count / 4];
}

void hu_bench_times_free(hu_bench_times *times) {
    hu_free(times->seconds);
    *times = (hu_bench_times){0};
}

bool hu_bench_takes(const hu_bench_pace *pace, const hu_bench_times *times) {
    enum { LEAST = 2 };
    int64_t count = (int64_t)times->count;
    if (pace->repeat > 0) return count < pace->repeat;
    if (count == 0) return true;
    double mean = times->spent / (double)count;
    if (count >= pace->most || hu_seconds_now() + mean > pace->until) return false;
    return count < LEAST || pace->limit <= 0 || times->spent + mean <= pace->limit;
}

/* ---- part ---- */

/* What one kernel of `bench` has found: its tables and lines, or its object of JSON,
 * and how far the repeats of its rows scatter. */

/* Repeats of a row that spread by more tell of other work on the machine. */
static const double spread_limit = 0.10;

void hu_bench_part_free(hu_bench_part *part) {
    hu_writer_free(&part->text);
    json_decref(part->json);
    *part = (hu_bench_part){0};
}

static hu_status write_text(hu_bench_part *part, const char *text) {
    return hu_write_bytes(&part->text, text, strlen(text));
}

hu_status hu_bench_tell(hu_bench_part *part, const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    hu_status st = write_text(part, line);
    return st == HU_OK ? write_text(part, part->form == HU_BENCH_MARKDOWN ? "\n\n" : "\n") : st;
}

hu_status hu_bench_tell_table(hu_bench_part *part, const hu_table *table) {
    hu_status st = HU_OK;
    bool is_markdown = part->form == HU_BENCH_MARKDOWN;
    char *text = NULL;
    HU_TRY(is_markdown ? hu_table_markdown(table, &text) : hu_table_print(table, &text));
    if (!is_markdown && part->text.size > 0) HU_TRY(write_text(part, "\n"));
    HU_TRY(write_text(part, text));
    if (is_markdown) HU_TRY(write_text(part, "\n"));
done:
    hu_free(text);
    return st;
}

hu_status hu_bench_tell_part(hu_bench_part *part, const hu_bench_part *more) {
    return hu_write_bytes(&part->text, more->text.data, more->text.size);
}

void hu_bench_noise_add(hu_bench_noise *noise, const hu_bench_noise *more) {
    noise->rows += more->rows;
    noise->noisy += more->noisy;
    noise->once += more->once;
}

void hu_bench_note_spread(hu_bench_part *part, double own, double reference) {
    part->noise.rows++;
    part->noise.noisy += own > spread_limit || reference > spread_limit;
    part->noise.once += isnan(own) || isnan(reference);
}

hu_status hu_bench_spread_cell(hu_table *table, double spread) {
    if (isnan(spread)) return hu_table_cell(table, "-");
    return hu_table_cell(table, "%.1f", 100.0 * spread);
}

const char *hu_bench_verdict(const hu_bench_noise *noise) {
    if (10 * noise->noisy > noise->rows) return "noisy";
    return 2 * noise->once > noise->rows ? "unknown" : "quiet";
}

hu_status hu_bench_noise_tell(const hu_bench_noise *noise, hu_bench_part *part) {
    hu_status st = HU_OK;
    const char *verdict = hu_bench_verdict(noise);
    HU_TRY(hu_bench_tell(
        part,
        "%s: %lld of %lld rows, or what they stand beside, spread by more than %.0f %% (median "
        "turn over the best)%s",
        verdict, (long long)noise->noisy, (long long)noise->rows, 100.0 * spread_limit,
        strcmp(verdict, "noisy") == 0
            ? ": not to be trusted; run it again when the machine has nothing else to do"
            : ""));
    if (noise->once > 0)
        HU_TRY(hu_bench_tell(part,
                             "%lld of %lld rows were measured once, so that nothing is known of "
                             "their spread: give them time by seconds=, or repeat=",
                             (long long)noise->once, (long long)noise->rows));
done:
    return st;
}

json_t *hu_bench_noise_json(const hu_bench_noise *noise) {
    return json_pack("{s:o, s:I, s:I, s:I, s:s}", "limit", hu_json_number(spread_limit), "rows",
                     (json_int_t)noise->rows, "noisy", (json_int_t)noise->noisy, "measured_once",
                     (json_int_t)noise->once, "verdict", hu_bench_verdict(noise));
}
