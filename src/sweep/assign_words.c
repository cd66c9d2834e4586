#include "sweep/assign_words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "show/table.h"

/* A text that grows; what has no room is left out. */
typedef struct writer {
    char *text;
    size_t used, capacity;
} writer;

static void say(writer *w, const char *form, ...) __attribute__((format(printf, 2, 3)));
static void say(writer *w, const char *form, ...) {
    va_list arguments;
    va_start(arguments, form);
    int n = vsnprintf(w->text + w->used, w->capacity - w->used, form, arguments);
    va_end(arguments);
    if (n > 0) w->used += (size_t)n < w->capacity - w->used ? (size_t)n : w->capacity - w->used - 1;
}

const hu_assign_outcome *hu_assign_ended(const hu_assign *assign, int i) {
    return i < 0 ? &assign->high : &assign->candidate[i].rung[assign->rungs - 1];
}

/* Text as YAML between apostrophes. */
static void say_quoted(writer *w, const char *text) {
    say(w, "'");
    for (; *text; text++) say(w, *text == '\'' ? "''" : "%c", *text);
    say(w, "'");
}

/* "26.00 % +- 0.40" of seeds; the spread in the same unit. */
static void say_spread(const hu_assign *assign, writer *w, double value, double deviation) {
    char text[HU_METRIC_TEXT_BYTES];
    say(w, "%s", hu_metric_text(assign->metric, value, text));
    if (!isnan(deviation)) say(w, " +- %s", hu_metric_number(assign->metric, deviation, text));
}

/* Both parts of one that ended: "  test_accuracy: 25.10 % +- 0.30". */
static void say_parts(const hu_assign *assign, const hu_assign_choice *choice, bool is_plain,
                      writer *w) {
    char key[HU_METRIC_KEY_BYTES];
    const char *whose = is_plain ? "plain_demotion_" : "";
    const hu_assign_outcome *ended =
        hu_assign_ended(assign, is_plain ? choice->plain : choice->best);
    say(w, "  %s%s: ", whose, hu_metric_key("validation", assign->metric, key));
    say_spread(assign, w, ended->value, ended->deviation);
    say(w, "\n  %s%s: ", whose, hu_metric_key("test", assign->metric, key));
    say_spread(assign, w, choice->test[is_plain], choice->test_deviation[is_plain]);
    say(w, "\n  %smemory_share_of_float32: %.4f\n", whose, hu_assign_share(assign, ended->bits));
    if (assign->kind == HU_BUDGET_SAVED || assign->kind == HU_BUDGET_TOTAL)
        say(w, "  %s%s_share_of_float32: %.4f\n", whose, hu_budget_name(assign), ended->size);
}

static void say_seeds(const hu_assign *assign, writer *w) {
    for (size_t s = 0; s < hu_keys_count(assign->seeds); s++)
        say(w, "%s%s", s ? ", " : "", hu_keys_value(hu_keys_at(assign->seeds, s)));
}

void hu_assign_print_evidence(const hu_assign *assign, const hu_assign_choice *choice, char *text,
                              size_t capacity) {
    writer w = {text, 0, capacity};
    const hu_assign_outcome *plain = &assign->reference[assign->rungs - 1];
    const hu_assign_candidate *c = choice->best < 0 ? NULL : &assign->candidate[choice->best];
    say(&w,
        "evidence:\n  search: halfulp assign budget=%s:%g, %u candidates, %d rungs, %d "
        "trainings\n  meets_the_budget: %s\n  steps: %lld\n  seeds: [",
        hu_budget_name(assign), assign->budget, assign->count, assign->rungs, assign->trainings,
        choice->meets ? "yes" : "no", (long long)assign->steps);
    say_seeds(assign, &w);
    say(&w, "]\n  validation_samples: %lld\n  test_samples: %lld\n",
        (long long)assign->dataset->validation.count, (long long)choice->test_samples);
    say_parts(assign, choice, false, &w);
    if (choice->plain >= 0) {
        say_parts(assign, choice, true, &w);
        say(&w, "  better_than_plain_demotion_by: %.2f +- %.2f, %s\n", choice->gain, choice->noise,
            choice->is_separated ? "separated" : "not separated");
    }
    say(&w, "  float32_validation: ");
    say_spread(assign, &w, plain->value, plain->deviation);
    say(&w, "\n  everything_high_validation: ");
    say_spread(assign, &w, assign->high.value, assign->high.deviation);
    say(&w, " at %.4f\n  order: %s%s\n  from: ", hu_assign_share(assign, assign->high.bits),
        c ? hu_search_order_name(c->order) : "none", c && c->is_trimmed ? ", trimmed" : "");
    say_quoted(&w, assign->directory);
    say(&w, "\n");
}

/* What a candidate reached at a rung: mean and spread over the seeds. */
static hu_status value_cell(const hu_assign *assign, const hu_assign_outcome *made,
                            hu_table *table) {
    char value[HU_METRIC_TEXT_BYTES], spread[HU_METRIC_TEXT_BYTES];
    if (!made->is_known) return hu_table_cell(table, "-");
    if (isnan(made->value)) return hu_table_cell(table, "diverged");
    hu_metric_number(assign->metric, made->value, value);
    if (isnan(made->deviation)) return hu_table_cell(table, "%s", value);
    return hu_table_cell(table, "%s +- %s", value,
                         hu_metric_number(assign->metric, made->deviation, spread));
}

/* The share at the end of the longest training. */
static double last_size(const hu_assign *assign, const hu_assign_candidate *c) {
    double size = (double)NAN;
    for (int r = 0; r < assign->rungs; r++)
        if (c->rung[r].is_known) size = c->rung[r].size;
    return size;
}

/* One candidate: how it was found, what it needs, what it reached at each rung. */
static hu_status candidate_row(const hu_assign *assign, const hu_assign_candidate *c, bool is_best,
                               hu_table *table) {
    hu_status st = HU_OK;
    double size = last_size(assign, c);
    HU_TRY(hu_table_cell(table, "%s%s", c->name, is_best ? " *" : ""));
    HU_TRY(hu_table_cell(table, "%s%s%s", hu_search_order_name(c->order),
                         c->is_trimmed ? ", trimmed" : "", c->is_plain ? " (demotion)" : ""));
    HU_TRY(hu_table_cell(table, "%u of %u", c->groups_low, assign->groups.tensors.count));
    HU_TRY(hu_table_cell(table, "%.4f", c->planned));
    HU_TRY(hu_table_cell(table, "%.4f", c->expected));
    HU_TRY(isnan(size) ? hu_table_cell(table, "-") : hu_table_cell(table, "%.4f", size));
    for (int r = assign->first_rung; r < assign->rungs; r++)
        HU_TRY(value_cell(assign, &c->rung[r], table));
done:
    return st;
}

enum { FIXED_COLUMNS = 6 };

static hu_status print_table(const hu_assign *assign, int best, char **text) {
    hu_status st = HU_OK;
    hu_table *table = NULL;
    char words[HU_METRIC_TEXT_BYTES], steps[HU_ASSIGN_RUNGS][HU_METRIC_TEXT_BYTES + 40];
    /* Values stand without their unit, so that the title says it; " %" begins with a space. */
    const char *unit =
        assign->metric->unit[0] ? assign->metric->unit + 1 : hu_metric_words(assign->metric, words);
    const char *titles[FIXED_COLUMNS + HU_ASSIGN_RUNGS] = {"candidate", "order",    "low groups",
                                                           "planned",   "expected", "at the end"};
    int columns = FIXED_COLUMNS;
    for (int r = assign->first_rung; r < assign->rungs; r++) {
        snprintf(steps[r], sizeof steps[r], "%s at %lld steps", unit,
                 (long long)hu_assign_steps(assign, r));
        titles[columns++] = steps[r];
    }
    HU_TRY(hu_table_create(titles, columns, &table));
    for (uint32_t i = 0; i < assign->count; i++)
        HU_TRY(candidate_row(assign, &assign->candidate[i], (int)i == best, table));
    HU_TRY(hu_table_print(table, text));
done:
    hu_table_free(table);
    return st;
}

/* "test accuracy 25.10 % +- 0.30 at 0.3480" */
static void say_test(const hu_assign *assign, const hu_assign_choice *choice, bool is_plain,
                     writer *w) {
    char words[HU_METRIC_TEXT_BYTES];
    const hu_assign_outcome *ended =
        hu_assign_ended(assign, is_plain ? choice->plain : choice->best);
    say(w, "test %s ", hu_metric_words(assign->metric, words));
    say_spread(assign, w, choice->test[is_plain], choice->test_deviation[is_plain]);
    say(w, " at %.4f", ended->size);
}

/* Beside plain demotion: by how much it is better on the samples that it was chosen on. */
static void say_plain(const hu_assign *assign, const hu_assign_choice *choice, writer *w) {
    if (choice->plain < 0) return;
    say(w, "plain demotion: ");
    say_test(assign, choice, true, w);
    if (choice->best == choice->plain) {
        say(w, "; it was chosen itself\n");
        return;
    }
    say(w, "; beside it the choice is at %+.2f +- %.2f on validation samples: %s\n", choice->gain,
        choice->noise,
        choice->is_separated               ? "more than chance"
        : assign->kind == HU_BUDGET_METRIC ? "no smaller than it"
                                           : "no more than chance");
}

/* What the numbers are of, and what they may differ by. */
static void say_legend(const hu_assign *assign, writer *w) {
    double deviation = assign->deviation[assign->rungs - 1];
    char fp32[HU_METRIC_TEXT_BYTES], high[HU_METRIC_TEXT_BYTES], spread[HU_METRIC_TEXT_BYTES];
    say(w, "\n* chosen. Values are of %lld validation samples, mean and spread over seeds ",
        (long long)assign->dataset->validation.count);
    say_seeds(assign, w);
    if (isnan(deviation))
        say(w, "; one seed has no spread");
    else
        say(w, "; spread of all trainings %s", hu_metric_number(assign->metric, deviation, spread));
    say(w,
        ".\nplanned, expected, at the end: %s beside float32's, before promotions, with those "
        "known "
        "beforehand, after all. float32 %s, everything high %s at %.4f.\n",
        hu_budget_words(assign),
        hu_metric_text(assign->metric, assign->reference[assign->rungs - 1].value, fp32),
        hu_metric_text(assign->metric, assign->high.value, high), assign->high.size);
}

static void say_end(const hu_assign *assign, const hu_assign_choice *choice, writer *w) {
    if (!choice->meets)
        say(w, "nothing meets the budget: the nearest to it is written, %s\n",
            choice->best < 0 ? "everything high" : assign->candidate[choice->best].name);
    else if (choice->best < 0)
        say(w, "everything high meets the budget, and nothing else does better\n");
    say(w, "chosen: ");
    say_test(assign, choice, false, w);
    say(w, ", read once, %lld samples\n", (long long)choice->test_samples);
    say_plain(assign, choice, w);
    say(w, "plan: %s/plan.yaml, by group (use it as precision=%s/plan.yaml)\n", assign->directory,
        assign->directory);
    say(w, "the same tensor by tensor, with accumulators and scales: %s/plan.resolved.yaml\n",
        assign->directory);
}

/* What the measures are, below their table. */
static void say_groups(const hu_assign *assign, const char *groups, writer *w) {
    char short_runs[240];
    hu_assign_say_short_runs(assign, short_runs, sizeof short_runs);
    say(w,
        "%s\nsaves, promoted: share of float32's bits that a low group saves, and that promotions "
        "are expected to take back. rounding,\ngradient, update: squared relative errors of the "
        "group low alone; angle of the update to float32's, in degrees. short\nruns: validation "
        "loss beside everything high.\nShort runs: %s.\n\n",
        groups, short_runs);
}

hu_status hu_assign_print(const hu_assign *assign, const hu_assign_choice *choice, char **text) {
    enum { WORDS_BYTES = 8192 };
    hu_status st = HU_OK;
    char *table = NULL, *groups = NULL;
    *text = NULL;
    HU_TRY(print_table(assign, choice->best, &table));
    if (assign->count > 0) HU_TRY(hu_assign_print_groups(assign, &groups));
    writer w = {NULL, 0, strlen(table) + (groups ? strlen(groups) : 0) + WORDS_BYTES};
    HU_TRY(HU_NEW_ARRAY(&w.text, w.capacity));
    if (groups) say_groups(assign, groups, &w);
    say(&w, "%s", table);
    say_legend(assign, &w);
    say_end(assign, choice, &w);
    *text = w.text;
done:
    hu_free(table);
    hu_free(groups);
    return st;
}
