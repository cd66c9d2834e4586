#include "bench/part.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "show/json.h"

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
