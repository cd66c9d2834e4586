#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "render/json.h"
#include "render/table.h"
#include "settings/options.h"
#include "sweep/search.h"
#include "train/trainer.h"

/* ---- What was measured of every group ---- */

static double share_of(const hu_assign *assign, int64_t bits) {
    return hu_assign_share(assign, (double)bits);
}

/* "conv1.out and 3 more": the tensors of a group, in the order of the graph. */
static hu_status name_cell(const hu_assign *assign, uint32_t g, hu_table *table) {
    const char *first = "";
    uint32_t count = 0;
    for (hu_value_id v = 0; v < assign->graph->value_count; v++) {
        if (assign->groups.tensors.of_value[v] != g) continue;
        if (count++ == 0) first = assign->graph->value[v].name;
    }
    if (count < 2) return hu_table_cell(table, "%s", first);
    return hu_table_cell(table, "%s and %u more", first, count - 1);
}

/* Degrees between two updates. */
static double angle_of(double cosine) {
    const double half_phase = 180.0, pi = 3.14159265358979323846;
    return acos(fmax(-1.0, fmin(1.0, cosine))) * half_phase / pi;
}

static hu_status cost_cell(const hu_assign *assign, uint32_t g, hu_table *table) {
    const hu_assign_short_runs *made = &assign->short_runs;
    if (made->steps == 0) return hu_table_cell(table, "-");
    if (isnan(made->cost[g]))
        return hu_table_cell(table, assign->groups.trained[g] > 0.0 ? "diverged" : "not known");
    if (isnan(made->noise)) return hu_table_cell(table, "%+.4f", made->cost[g]);
    return hu_table_cell(table, "%+.4f +- %.4f", made->cost[g], made->noise);
}

static hu_status group_row(const hu_assign *assign, uint32_t g, hu_table *table) {
    hu_status st = HU_OK;
    const hu_search_groups *groups = &assign->groups;
    HU_TRY(hu_table_cell(table, "%u", g));
    HU_TRY(name_cell(assign, g, table));
    HU_TRY(hu_table_cell(table, "%.4f", share_of(assign, groups->saved[g])));
    HU_TRY(hu_table_cell(table, "%.4f", share_of(assign, groups->promoted[g])));
    HU_TRY(hu_table_cell(table, "%.2e", groups->rounding[g]));
    HU_TRY(hu_table_cell(table, "%.2e", groups->loss[g]));
    HU_TRY(hu_table_cell(table, "%.2e", groups->direction[g]));
    HU_TRY(hu_table_cell(table, "%.1f", angle_of(assign->cosine[g])));
    HU_TRY(cost_cell(assign, g, table));
done:
    return st;
}

/* What was measured of every group. Owner frees. */
static hu_status assign_print_groups(const hu_assign *assign, char **text) {
    static const char *const titles[] = {"group",    "tensors", "saves", "promoted",  "rounding",
                                         "gradient", "update",  "angle", "short runs"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    *text = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++) HU_TRY(group_row(assign, g, table));
    HU_TRY(hu_table_print(table, text));
done:
    hu_table_free(table);
    return st;
}

/* "24 of 3 steps (assign.short=1: 80 steps at most in all), each judged on 600 validation samples".
 */
static void assign_say_short_runs(const hu_assign *assign, char *text, size_t capacity) {
    const hu_assign_short_runs *made = &assign->short_runs;
    if (made->steps == 0)
        snprintf(text, capacity, "none: assign.short=%g leaves fewer than 2 steps for each of %u",
                 made->share, assign->groups.tensors.count + 1);
    else
        snprintf(
            text, capacity,
            "%d of %lld steps (assign.short=%g: %lld steps at most in all), each judged on "
            "%lld validation samples",
            made->runs, (long long)made->steps, made->share,
            (long long)(made->share * (double)assign->steps * (double)hu_keys_count(assign->seeds)),
            (long long)assign->dataset->validation.count);
}

/* ---- JSON ---- */

/* [groups]; empty where nothing was measured. */
static json_t *numbers(const hu_assign *assign, const double *number) {
    json_t *list = json_array();
    for (uint32_t g = 0; list && assign->count > 0 && g < assign->groups.tensors.count; g++)
        json_array_append_new(list, hu_json_number(number[g]));
    return list;
}

static json_t *shares(const hu_assign *assign, const int64_t *bits) {
    json_t *list = json_array();
    for (uint32_t g = 0; list && assign->count > 0 && g < assign->groups.tensors.count; g++)
        json_array_append_new(list, hu_json_number(share_of(assign, bits[g])));
    return list;
}

static void assign_put_groups(const hu_assign *assign, json_t *object) {
    const hu_search_groups *groups = &assign->groups;
    const hu_assign_short_runs *made = &assign->short_runs;
    json_object_set_new(object, "group_saves", shares(assign, groups->saved));
    json_object_set_new(object, "group_promoted", shares(assign, groups->promoted));
    json_object_set_new(object, "group_rounding", numbers(assign, groups->rounding));
    json_object_set_new(object, "group_losses", numbers(assign, groups->loss));
    json_object_set_new(object, "group_directions", numbers(assign, groups->direction));
    json_object_set_new(object, "group_cosines", numbers(assign, assign->cosine));
    json_object_set_new(object, "high_cosine", hu_json_number(assign->high_cosine));
    if (made->steps == 0) {
        json_object_set_new(object, "short_runs", json_null());
        return;
    }
    json_object_set_new(object, "short_runs",
                        json_pack("{s:i, s:I, s:o, s:o}", "count", made->runs, "steps",
                                  (json_int_t)made->steps, "costs", numbers(assign, made->cost),
                                  "noise", hu_json_number(made->noise)));
}

/* ---- The end of a search in words: for plan.yaml, and for a terminal ---- */

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

/* How a candidate (or HU_ASSIGN_HIGH) ended. Borrowed: valid as long as assign. */
static const hu_assign_outcome *assign_ended(const hu_assign *assign, int i) {
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
    const hu_assign_outcome *ended = assign_ended(assign, is_plain ? choice->plain : choice->best);
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

/* The part of plan.yaml that is for people: configurations leave the key "evidence" out. */
static void assign_print_evidence(const hu_assign *assign, const hu_assign_choice *choice,
                                  char *text, size_t capacity) {
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
    const hu_assign_outcome *ended = assign_ended(assign, is_plain ? choice->plain : choice->best);
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
    assign_say_short_runs(assign, short_runs, sizeof short_runs);
    say(w,
        "%s\nsaves, promoted: share of float32's bits that a low group saves, and that promotions "
        "are expected to take back. rounding,\ngradient, update: squared relative errors of the "
        "group low alone; angle of the update to float32's, in degrees. short\nruns: validation "
        "loss beside everything high.\nShort runs: %s.\n\n",
        groups, short_runs);
}

/* The table of candidates and what is to be said of it. Owner frees. */
static hu_status assign_print(const hu_assign *assign, const hu_assign_choice *choice,
                              char **text) {
    enum { WORDS_BYTES = 8192 };
    hu_status st = HU_OK;
    char *table = NULL, *groups = NULL;
    *text = NULL;
    HU_TRY(print_table(assign, choice->best, &table));
    if (assign->count > 0) HU_TRY(assign_print_groups(assign, &groups));
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

/* ---- assign plan ---- */

/* Sets of low groups as plan files, and the trainings that these describe. */

static hu_status put_text(hu_keys *tree, const char *key, const char *text) {
    hu_keys *node;
    hu_status st = hu_keys_create(HU_KEYS_TEXT, text, "assign", &node);
    return st == HU_OK ? hu_keys_set(tree, key, node) : st;
}

/* precision.low_tensors: the low groups by number. */
static hu_status put_low_groups(const hu_assign *assign, const bool *low, hu_keys *tree) {
    hu_status st = HU_OK;
    hu_keys *list = NULL, *item;
    char text[24];
    HU_TRY(hu_keys_create(HU_KEYS_LIST, NULL, "assign", &list));
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++) {
        if (!low[g]) continue;
        snprintf(text, sizeof text, "group:%u", g);
        HU_TRY(hu_keys_create(HU_KEYS_TEXT, text, "assign", &item));
        HU_TRY(hu_keys_append(list, item));
    }
    return hu_keys_set(tree, "precision.low_tensors", list);
done:
    hu_keys_free(list);
    return st;
}

/* The candidates' formats, and all that the command says of precision, rules too. */
static hu_status put_precision(const hu_assign *assign, hu_keys *tree) {
    static const char *const always[] = {"precision.high", "precision.low", "precision.promote_at"};
    hu_status st = HU_OK;
    hu_keys *copy;
    const char *text;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        HU_TRY(hu_config_text(assign->config, always[i], &text));
        HU_TRY(put_text(tree, always[i], text));
    }
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *key = hu_config_keys[i].name;
        bool is_ours = strncmp(key, "precision.", 10) == 0 && hu_config_given(assign->config, key);
        if (!is_ours || hu_keys_find(tree, key)) continue;
        HU_TRY(hu_keys_copy(hu_keys_find(hu_config_tree(assign->config), key), &copy));
        HU_TRY(hu_keys_set(tree, key, copy));
    }
done:
    return st;
}

hu_status hu_assign_write_plan(const hu_assign *assign, const bool *low, const char *path,
                               const char *evidence) {
    hu_status st = HU_OK;
    hu_keys *tree = NULL;
    char *yaml = NULL, *text = NULL;
    bool has_low = low && memchr(low, true, assign->groups.tensors.count);
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "assign", &tree));
    HU_TRY(put_text(tree, "precision.name", has_low ? "listed+promote" : "high"));
    if (has_low) HU_TRY(put_low_groups(assign, low, tree));
    HU_TRY(put_precision(assign, tree));
    HU_TRY(hu_keys_print(tree, &yaml));
    size_t capacity = strlen(yaml) + (evidence ? strlen(evidence) : 0) + 1;
    HU_TRY(HU_NEW_ARRAY(&text, capacity));
    snprintf(text, capacity, "%s%s", yaml, evidence ? evidence : "");
    HU_TRY(hu_file_replace(path, text, capacity - 1));
done:
    hu_keys_free(tree);
    hu_free(yaml);
    hu_free(text);
    return st;
}

hu_status hu_assign_config(const hu_assign *assign, const char *plan_path, hu_config **config) {
    hu_status st = HU_OK;
    hu_keys *plan = NULL;
    HU_TRY(hu_options_copy(assign->config, config));
    if (!plan_path) goto done;
    HU_TRY(hu_plan_read(plan_path, &plan));
    HU_TRY(hu_config_merge(*config, plan));
done:
    hu_keys_free(plan);
    return st;
}

/* ---- assign resolved ---- */

/* The chosen assignment by tensor names, for models other than the one that was searched. */

/* Writes the resolved plan of a training with a plan file. */
static hu_status assign_write_resolved(const hu_assign *assign, const char *plan_path,
                                       const char *path) {
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_precision precision = {0};
    hu_trainer *trainer = NULL;
    hu_train_options options;
    char *yaml = NULL;
    HU_TRY(hu_assign_config(assign, plan_path, &config));
    HU_TRY(hu_options_train(config, assign->dataset, &precision, &options));
    HU_TRY(hu_trainer_create(&options, assign->dataset, &trainer));
    HU_TRY(hu_trainer_resolved_plan(trainer, &yaml));
    HU_TRY(hu_file_replace(path, yaml, strlen(yaml)));
done:
    hu_free(yaml);
    hu_trainer_free(trainer);
    hu_precision_free(&precision);
    hu_config_free(config);
    return st;
}

/* ---- assign report ---- */

/* What a search found: plan.yaml with its evidence, assign.json, what a person reads. */

/* An outcome as JSON: values of the validation samples. */
static json_t *outcome_json(const hu_assign *assign, const hu_assign_outcome *made) {
    char key[HU_METRIC_KEY_BYTES];
    json_t *object = json_object();
    hu_metric_key("validation", assign->metric, key);
    json_object_set_new(object, key, hu_json_number(made->value));
    json_object_set_new(object, "deviation", hu_json_number(made->deviation));
    json_object_set_new(object, "memory_share",
                        hu_json_number(hu_assign_share(assign, made->bits)));
    json_object_set_new(object, "size", hu_json_number(made->size));
    return object;
}

/* What a candidate reached at every length that it was trained for. */
static json_t *rungs_json(const hu_assign *assign, const hu_assign_candidate *c) {
    json_t *list = json_array();
    for (int r = 0; list && r < assign->rungs; r++) {
        if (!c->rung[r].is_known) continue;
        json_t *rung = outcome_json(assign, &c->rung[r]);
        json_object_set_new(rung, "steps", json_integer((json_int_t)hu_assign_steps(assign, r)));
        json_array_append_new(list, rung);
    }
    return list;
}

static json_t *low_json(const hu_assign *assign, const hu_assign_candidate *c) {
    json_t *list = json_array();
    for (uint32_t g = 0; list && g < assign->groups.tensors.count; g++)
        if (c->low[g]) json_array_append_new(list, json_integer(g));
    return list;
}

static json_t *candidate_json(const hu_assign *assign, const hu_assign_candidate *c) {
    return json_pack("{s:s, s:s, s:I, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:s}", "name",
                     c->name, "order", hu_search_order_name(c->order), "order_seed",
                     (json_int_t)c->seed, "trimmed", c->is_trimmed, "plain_demotion", c->is_plain,
                     "low_groups", low_json(assign, c), "planned_memory_share",
                     hu_json_number(hu_assign_share(assign, (double)c->bits)), "planned_size",
                     hu_json_number(c->planned), "expected_size", hu_json_number(c->expected),
                     "loss", hu_json_number(c->loss), "refills", c->refills, "rungs",
                     rungs_json(assign, c), "plan", c->path);
}

static json_t *seeds_json(const hu_assign *assign) {
    json_t *list = json_array();
    for (size_t s = 0; list && s < hu_keys_count(assign->seeds); s++)
        json_array_append_new(list, json_string(hu_keys_value(hu_keys_at(assign->seeds, s))));
    return list;
}

/* What was chosen, or plain demotion: both parts, with their spread. */
static json_t *ended_json(const hu_assign *assign, const hu_assign_choice *choice, bool is_plain) {
    char key[HU_METRIC_KEY_BYTES];
    int i = is_plain ? choice->plain : choice->best;
    if (i == HU_ASSIGN_NONE) return json_null();
    json_t *object = outcome_json(assign, assign_ended(assign, i));
    json_object_set_new(object, "name", json_string(i < 0 ? "high" : assign->candidate[i].name));
    json_object_set_new(object, hu_metric_key("test", assign->metric, key),
                        hu_json_number(choice->test[is_plain]));
    json_object_set_new(object, "test_deviation", hu_json_number(choice->test_deviation[is_plain]));
    return object;
}

/* Seeds, samples, noise: what the choice rests on. */
static void put_evidence(const hu_assign *assign, const hu_assign_choice *choice, json_t *object) {
    char key[HU_METRIC_KEY_BYTES];
    const hu_assign_outcome *plain = &assign->reference[assign->rungs - 1];
    json_object_set_new(object, "seeds", seeds_json(assign));
    json_object_set_new(object, "validation_samples",
                        json_integer((json_int_t)assign->dataset->validation.count));
    json_object_set_new(object, "test_samples", json_integer((json_int_t)choice->test_samples));
    json_object_set_new(object, "first_rung_steps",
                        json_integer((json_int_t)hu_assign_steps(assign, assign->first_rung)));
    json_object_set_new(object, "meets_budget", json_boolean(choice->meets));
    json_object_set_new(object, "gain_over_plain", hu_json_number(choice->gain));
    json_object_set_new(object, "noise", hu_json_number(choice->noise));
    json_object_set_new(object, "separated", json_boolean(choice->is_separated));
    json_object_set_new(object, "result", ended_json(assign, choice, false));
    json_object_set_new(object, "plain", ended_json(assign, choice, true));
    json_object_set_new(object, hu_metric_key("fp32", assign->metric, key),
                        hu_json_number(plain->value));
    json_object_set_new(object, hu_metric_key("high", assign->metric, key),
                        hu_json_number(assign->high.value));
    json_object_set_new(object, "high_memory_share",
                        hu_json_number(hu_assign_share(assign, assign->high.bits)));
}

/* The object of `assign --json` and of assign.json. */
static json_t *result_json(const hu_assign *assign, const hu_assign_choice *choice,
                           const char *plan) {
    const hu_assign_outcome *ended = assign_ended(assign, choice->best);
    char validation[HU_METRIC_KEY_BYTES], test[HU_METRIC_KEY_BYTES];
    const hu_keys *model = hu_keys_find(assign->common, "model.name");
    json_t *candidates = json_array();
    for (uint32_t i = 0; candidates && i < assign->count; i++)
        json_array_append_new(candidates, candidate_json(assign, &assign->candidate[i]));
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:o, s:{s:s, s:o}, s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:o}", "kind",
        "assign", "halfulp", HALFULP_VERSION, "model", model ? hu_keys_value(model) : "cnn-s",
        "metric", hu_metric_json(assign->metric), "budget", "kind", hu_budget_name(assign), "value",
        hu_json_number(assign->budget), "plan", plan, "chosen",
        choice->best < 0 ? "high" : assign->candidate[choice->best].name,
        hu_metric_key("validation", assign->metric, validation), hu_json_number(ended->value),
        hu_metric_key("test", assign->metric, test), hu_json_number(choice->test[0]),
        "memory_share", hu_json_number(hu_assign_share(assign, ended->bits)), "size",
        hu_json_number(ended->size), "trainings", assign->trainings, "candidates", candidates);
    if (object) assign_put_groups(assign, object);
    if (object) put_evidence(assign, choice, object);
    return object;
}

hu_status hu_assign_report(const hu_assign *assign, const hu_assign_choice *choice, json_t **object,
                           char **text) {
    hu_status st = HU_OK;
    char path[640], resolved[660], evidence[4096], *json = NULL;
    *object = NULL;
    *text = NULL;
    snprintf(path, sizeof path, "%s/plan.yaml", assign->directory);
    assign_print_evidence(assign, choice, evidence, sizeof evidence);
    HU_TRY(hu_assign_write_plan(
        assign, choice->best < 0 ? NULL : assign->candidate[choice->best].low, path, evidence));
    snprintf(resolved, sizeof resolved, "%s/plan.resolved.yaml", assign->directory);
    HU_TRY(assign_write_resolved(assign, path, resolved));
    HU_TRY(assign_print(assign, choice, text));
    *object = result_json(assign, choice, path);
    HU_TRY(hu_json_pretty(json_incref(*object), &json));
    snprintf(path, sizeof path, "%s/assign.json", assign->directory);
    HU_TRY(hu_file_replace(path, json, strlen(json)));
done:
    hu_free(json);
    return st;
}
