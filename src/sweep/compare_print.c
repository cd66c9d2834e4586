/* The tables of compare. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "layout/ledger.h"
#include "show/table.h"
#include "sweep/compare.h"

enum { ROLES = 32, FIRST_LEFT_OUT = 2 /* column: precision and metric always stand */ };

static const double mib = 1024.0 * 1024.0;

/* "-" where there is no number. */
static hu_status number(hu_table *table, const char *unit, int digits, double value) {
    if (isnan(value)) return hu_table_cell(table, "-");
    return hu_table_cell(table, "%.*f%s", digits, value, unit);
}

/* Lowest to highest value over the seeds; "-" for one seed. */
static hu_status put_range(hu_table *table, const hu_metric *metric, const hu_compare_mean *mean) {
    char least[HU_METRIC_TEXT_BYTES], most[HU_METRIC_TEXT_BYTES];
    if (mean->done < 2) return hu_table_cell(table, "-");
    return hu_table_cell(table, "%s..%s", hu_metric_number(metric, mean->least, least),
                         hu_metric_number(metric, mean->most, most));
}

/* "0.633 (1.2e+14)": a share, and the bit-operations that it is of. */
static hu_status put_cost(hu_table *table, double relative, double bitops) {
    if (isnan(relative)) return hu_table_cell(table, "-");
    return hu_table_cell(table, "%.3f (%.3g)", relative, bitops);
}

/* "75.70 +- 0.10 %": without the deviation of one run. */
static hu_status put_value(hu_table *table, const hu_metric *metric, double value, double deviation,
                           const char *mark) {
    char mean[HU_METRIC_TEXT_BYTES], spread[HU_METRIC_TEXT_BYTES];
    hu_metric_number(metric, value, mean);
    if (isnan(value)) return hu_table_cell(table, "-");
    if (isnan(deviation)) return hu_table_cell(table, "%s%s%s", mean, metric->unit, mark);
    hu_metric_number(metric, deviation, spread);
    return hu_table_cell(table, "%s +- %s%s%s", mean, spread, metric->unit, mark);
}

/* "-0.10 ~": behind the best, and within the noise. */
static hu_status put_behind(hu_table *table, const hu_metric *metric, const hu_compare_mean *mean) {
    char number[HU_METRIC_TEXT_BYTES];
    if (isnan(mean->behind)) return hu_table_cell(table, "-");
    if (mean->behind == 0.0) return hu_table_cell(table, "%s", mean->is_noise ? "0 ~" : "0");
    hu_metric_number(metric, mean->behind, number);
    return hu_table_cell(table, "%s%s%s", mean->behind > 0.0 ? "+" : "", number,
                         mean->is_noise ? " ~" : "");
}

/* "8.1 > 8.3 (8.2)" MiB: at the start, at the end, the mean over the steps; one number where all
 * are the same. */
static hu_status put_aggregate(hu_table *table, const hu_compare_mean *mean) {
    const double scale = 1.0 / 8.0 / mib;
    double end = mean->aggregate_bits * scale;
    if (!(fabs(mean->aggregate_start - mean->aggregate_bits) > 0.0) &&
        !(fabs(mean->aggregate_mean - mean->aggregate_bits) > 0.0))
        return number(table, " MiB", 1, end);
    return hu_table_cell(table, "%.1f > %.1f (%.1f) MiB", mean->aggregate_start * scale, end,
                         mean->aggregate_mean * scale);
}

/* That which the others are held against. */
static bool is_best(const hu_compare_mean *mean) {
    return mean->behind == 0.0 && !mean->is_noise;
}

/* Runs that went wrong; a terminal shows that there are some. */
static hu_status put_lost(hu_table *table, int count) {
    hu_status st = hu_table_cell(table, "%d", count);
    if (st == HU_OK && count > 0) hu_table_look(table, HU_COLOUR_BAD);
    return st;
}

static hu_status put_mean(hu_table *table, const hu_metric *metric, const hu_compare_mean *mean,
                          bool has_costs) {
    hu_status st;
    HU_TRY(hu_table_cell(table, "%s%s", mean->precision,
                         mean->is_front ? " *"
                         : mean->is_far ? " (far below)"
                                        : ""));
    HU_TRY(put_value(table, metric, mean->value, mean->deviation, ""));
    if (is_best(mean)) hu_table_look(table, HU_COLOUR_BEST);
    HU_TRY(put_range(table, metric, mean));
    HU_TRY(put_behind(table, metric, mean));
    HU_TRY(put_value(table, metric, mean->best, mean->best_deviation,
                     mean->is_best_front ? " *" : ""));
    if (has_costs) {
        HU_TRY(put_cost(table, mean->relative_training, mean->training_bitops));
        HU_TRY(put_cost(table, mean->relative_inference, mean->inference_bitops));
    }
    HU_TRY(number(table, "", 3, mean->low_ratio));
    HU_TRY(put_aggregate(table, mean));
    HU_TRY(number(table, " MiB", 1, mean->memory_bytes / mib));
    HU_TRY(number(table, " MiB", 1, mean->peak_rss_bytes / mib));
    HU_TRY(number(table, "", 0, mean->seconds));
    HU_TRY(number(table, "", 1, mean->promoted));
    HU_TRY(number(table, "", 1, mean->skipped));
    HU_TRY(hu_table_cell(table, "%d of %d", mean->done, mean->rows));
    if (mean->failed > 0) hu_table_look(table, HU_COLOUR_BAD);
    HU_TRY(put_lost(table, mean->diverged));
    HU_TRY(put_lost(table, mean->collapsed));
done:
    return st;
}

/* Whether any precision has a schedule of bits. */
static bool any_costs(const hu_compare *compare, const hu_compare_mean *means) {
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++)
        if (!isnan(means[i].relative_training)) return true;
    return false;
}

/* Whether any run collapsed: the column and its meaning stand in the text then. */
static bool any_collapsed(const hu_compare *compare, const hu_compare_mean *means) {
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++)
        if (means[i].collapsed > 0) return true;
    return false;
}

/* Whether any is low: the column and its meaning stand in the text then. */
static bool any_low(const hu_compare *compare, const hu_compare_mean *means) {
    enum { SHOWN = 2000 }; /* parts: three digits, and half of the last */
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++)
        if (means[i].low_ratio * SHOWN > 1.0) return true;
    return false;
}

/* A row for each precision; columns that are zero in all of them are left out. */
static hu_status add_means(const hu_compare *compare, const hu_compare_mean *means,
                           bool is_coloured, char **text) {
    static const char *const costs[] = {"training cost", "inference cost"};
    static const char *const others[] = {"low ratio", "aggregate", "memory",  "peak RSS",
                                         "seconds",   "promoted",  "skipped", "runs",
                                         "diverged",  "collapsed"};
    enum { COSTS = sizeof costs / sizeof *costs, OTHERS = sizeof others / sizeof *others };
    char words[HU_METRIC_TEXT_BYTES];
    const hu_metric *metric = hu_compare_metric(compare);
    const char *titles[5 + COSTS + OTHERS] = {"precision", hu_metric_words(metric, words), "range",
                                              "to the best", "best"};
    bool has_costs = any_costs(compare, means);
    int count = 5;
    hu_status st;
    hu_table *table = NULL;
    for (int i = 0; has_costs && i < COSTS; i++) titles[count++] = costs[i];
    for (int i = 0; i < OTHERS; i++) titles[count++] = others[i];
    HU_TRY(hu_table_create(titles, count, &table));
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++)
        HU_TRY(put_mean(table, metric, &means[i], has_costs));
    hu_table_leave_out(table, FIRST_LEFT_OUT);
    HU_TRY(hu_table_print_for(table, is_coloured, text));
done:
    hu_table_free(table);
    return st;
}

/* Ledger of the first seed of each precision that has one. */
static const json_t *ledger_of(const hu_compare *compare, size_t precision) {
    size_t seeds = hu_keys_count(compare->seeds);
    for (size_t k = 0; k < seeds; k++) {
        const json_t *ledger =
            json_object_get(compare->job[precision * seeds + k].result, "ledger_bytes");
        if (ledger) return ledger;
    }
    return NULL;
}

static bool is_sum(const char *role) {
    return strcmp(role, "arena") == 0 || strcmp(role, "saved") == 0 || strcmp(role, "total") == 0;
}

/* Names of the roles that take memory anywhere, sums last. */
static int list_roles(const hu_compare *compare, const char **roles) {
    int count = 1;
    roles[0] = "precision";
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++) {
        json_t *ledger = (json_t *)(uintptr_t)ledger_of(compare, i);
        for (void *at = json_object_iter(ledger); at; at = json_object_iter_next(ledger, at)) {
            const char *role = json_object_iter_key(at);
            bool is_known = json_number_value(json_object_iter_value(at)) <= 0.0 || is_sum(role);
            for (int r = 1; r < count; r++) is_known = is_known || strcmp(roles[r], role) == 0;
            if (!is_known && count < ROLES - 2) roles[count++] = role;
        }
    }
    roles[count++] = "saved";
    roles[count++] = "total";
    return count;
}

/* A row of MiB by role for each precision that has a ledger. */
static hu_status add_ledgers(const hu_compare *compare, char **text) {
    const char *roles[ROLES];
    int count = list_roles(compare, roles);
    hu_status st;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(roles, count, &table));
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++) {
        const json_t *ledger = ledger_of(compare, i);
        if (!ledger) continue;
        HU_TRY(hu_table_cell(table, "%s", hu_keys_value(hu_keys_at(compare->precisions, i))));
        for (int r = 1; r < count; r++)
            HU_TRY(hu_table_cell(table, "%.2f", hu_json_real(ledger, roles[r]) / mib));
    }
    hu_table_leave_out(table, 1);
    HU_TRY(hu_table_print(table, text));
done:
    hu_table_free(table);
    return st;
}

/* A line for each row that diverged, collapsed or failed; returns the bytes written. */
static size_t put_endings(const hu_compare *compare, char *text, size_t capacity) {
    size_t used = 0;
    for (int i = 0; i < compare->count && used < capacity; i++) {
        const hu_job *job = &compare->job[i];
        const json_t *why = json_object_get(job->result, "diverged");
        const json_t *lost = json_object_get(job->result, "collapsed");
        int wrote = 0;
        if (why || lost)
            wrote = snprintf(text + used, capacity - used, "%s %s: %s\n", job->label,
                             why ? "diverged" : "collapsed", json_string_value(why ? why : lost));
        else if (job->state == HU_JOB_FAILED)
            wrote =
                snprintf(text + used, capacity - used, "%s failed: %s\n", job->label, job->failure);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    return used;
}

/* "fp(3,2): activations of 6 bits lie in 8 each" of the first run of each precision that has such
 * codes, and what helps; returns the length. */
static size_t put_gaps(const hu_compare *compare, char *text, size_t capacity) {
    size_t used = 0, seeds = hu_keys_count(compare->seeds);
    text[0] = '\0';
    for (size_t p = 0; p < hu_keys_count(compare->precisions); p++) {
        const json_t *result = compare->job[p * seeds].result;
        const char *gaps = json_string_value(json_object_get(result, "gaps"));
        if (!gaps || used >= capacity) continue;
        used += (size_t)snprintf(text + used, capacity - used, "%s: %s; %s\n",
                                 hu_keys_value(hu_keys_at(compare->precisions, p)), gaps,
                                 HU_GAPS_ADVICE);
    }
    return used < capacity ? used : capacity - 1;
}

/* What one run of each says of noise: nothing of the noise of seeds. */
static const char *seeds_note(const hu_compare *compare) {
    return hu_keys_count(compare->seeds) > 1 ? ""
                                             : "one seed each: nothing is known of how far other "
                                               "seeds would scatter, and ~ tells of the "
                                               "test samples alone;\nseeds=1,2,3 tells.\n";
}

hu_status hu_compare_print(const hu_compare *compare, bool is_coloured, char **text) {
    static const char notes[] =
        "mean +- standard deviation of the last evaluation over the seeds, and of each run's best "
        "one.\n~ no difference to the best that the noise of seeds, or of the test samples where "
        "each has one seed, would not make (95 %).\naggregate: all tensors of one batch in "
        "their formats, where it changes at the start > at the end\n(mean over the steps); memory: "
        "arena, masters and optimizer; peak RSS: of the whole process.\n";
    static const char low[] = "low ratio: mean over the steps.\n";
    static const char collapsed[] =
        "collapsed: stayed below half of its best (above twice, where lower is better), or ended "
        "where\nguessing does.\n";
    static const char costs[] =
        "costs: over those of the most bits in all layers, and in bit-operations: of all steps, "
        "and of\none sample when the model is used.\n";
    char words[HU_METRIC_TEXT_BYTES];
    hu_status st;
    hu_compare_mean *means = NULL;
    char *results = NULL, *ledgers = NULL;
    HU_TRY(hu_compare_means(compare, &means));
    HU_TRY(add_means(compare, means, is_coloured, &results));
    HU_TRY(add_ledgers(compare, &ledgers));
    size_t capacity = strlen(results) + strlen(ledgers) + strlen(seeds_note(compare)) +
                      sizeof notes + sizeof low + sizeof collapsed + sizeof costs + sizeof words +
                      400 + (size_t)compare->count * 2000;
    HU_TRY(HU_NEW_ARRAY(text, capacity));
    int head = snprintf(
        *text, capacity,
        "%s\n* on the front of %s against memory, by the last or by the best evaluations. "
        "All rows are evaluated with %s weights.\n%s%s%s%s%s\nmemory by role in MiB (first "
        "seed)\n%s\n",
        results, hu_metric_words(hu_compare_metric(compare), words), hu_compare_weights(compare),
        notes, any_low(compare, means) ? low : "", any_collapsed(compare, means) ? collapsed : "",
        seeds_note(compare), any_costs(compare, means) ? costs : "", ledgers);
    size_t used = (size_t)head;
    used += put_gaps(compare, *text + used, capacity - used);
    put_endings(compare, *text + used, capacity - used);
done:
    hu_free(means);
    hu_free(results);
    hu_free(ledgers);
    return st;
}
