/* What a search found: plan.yaml with its evidence, assign.json, a table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "show/json.h"
#include "show/table.h"
#include "sweep/assign.h"

/* What a candidate reached at every length that it was trained for. */
static json_t *rungs_json(const hu_assign *assign, const hu_assign_candidate *c) {
    char test[HU_METRIC_KEY_BYTES];
    json_t *list = json_array();
    hu_metric_key("test", assign->metric, test);
    for (int r = 0; list && r < c->rungs; r++)
        json_array_append_new(
            list, json_pack("{s:I, s:o, s:o}", "steps", (json_int_t)hu_assign_steps(assign, r),
                            test, hu_json_number(c->value[r]), "memory_share",
                            hu_json_number(hu_assign_share(assign, c->bits_used[r]))));
    return list;
}

static json_t *low_json(const hu_assign *assign, const hu_assign_candidate *c) {
    json_t *list = json_array();
    for (uint32_t g = 0; list && g < assign->groups.tensors.count; g++)
        if (c->low[g]) json_array_append_new(list, json_integer(g));
    return list;
}

static json_t *candidate_json(const hu_assign *assign, const hu_assign_candidate *c) {
    return json_pack("{s:s, s:s, s:I, s:b, s:b, s:o, s:o, s:o, s:s}", "name", c->name, "order",
                     hu_search_order_name(c->order), "order_seed", (json_int_t)c->seed, "trimmed",
                     c->is_trimmed, "plain_demotion", c->is_plain, "low_groups",
                     low_json(assign, c), "planned_memory_share",
                     hu_json_number(hu_assign_share(assign, (double)c->bits)), "rungs",
                     rungs_json(assign, c), "plan", c->path);
}

/* Loss of each group, [groups]; empty where the float32 run left no histograms. */
static json_t *losses_json(const hu_assign *assign) {
    json_t *list = json_array();
    for (uint32_t g = 0; list && assign->knows_loss && g < assign->groups.tensors.count; g++)
        json_array_append_new(list, hu_json_number(assign->groups.loss[g]));
    return list;
}

/* What the budget is of: "memory", or the metric's name. */
static const char *budget_kind(const hu_assign *assign) {
    return assign->is_memory ? "memory" : assign->metric->name;
}

/* The object of `assign --json` and of assign.json. */
static json_t *result_json(const hu_assign *assign, int best, const char *plan) {
    const hu_assign_candidate *c = best < 0 ? NULL : &assign->candidate[best];
    int last = assign->rungs - 1;
    const hu_metric *metric = assign->metric;
    char test[HU_METRIC_KEY_BYTES], fp32[HU_METRIC_KEY_BYTES], high[HU_METRIC_KEY_BYTES];
    json_t *candidates = json_array();
    for (uint32_t i = 0; candidates && i < assign->count; i++)
        json_array_append_new(candidates, candidate_json(assign, &assign->candidate[i]));
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:{s:s, s:o}, s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:o, s:o}", "kind",
        "assign", "halfulp", HALFULP_VERSION, "model",
        hu_keys_find(assign->common, "model.name")
            ? hu_keys_value(hu_keys_find(assign->common, "model.name"))
            : "cnn-s",
        "metric", hu_metric_json(metric), "budget", "kind", budget_kind(assign), "value",
        hu_json_number(assign->budget), "plan", plan, "chosen", c ? c->name : "high",
        hu_metric_key("test", metric, test),
        hu_json_number(c ? c->value[last] : assign->high_value), "memory_share",
        hu_json_number(hu_assign_share(assign, c ? c->bits_used[last] : assign->high_bits)),
        hu_metric_key("fp32", metric, fp32), hu_json_number(assign->reference[last]),
        hu_metric_key("high", metric, high), hu_json_number(assign->high_value), "trainings",
        assign->trainings, "group_losses", losses_json(assign), "candidates", candidates);
}

/* Plain demotion that went to the end: what the choice is held against. */
static const hu_assign_candidate *plain_of(const hu_assign *assign) {
    for (uint32_t i = 0; i < assign->count; i++)
        if (assign->candidate[i].is_plain && assign->candidate[i].rungs == assign->rungs)
            return &assign->candidate[i];
    return NULL;
}

/* Text as YAML between apostrophes; what has no room is left out. */
static const char *quoted(const char *text, char *room, size_t capacity) {
    size_t used = 0;
    room[used++] = '\'';
    for (; *text && used + 4 < capacity; text++) {
        if (*text == '\'') room[used++] = '\'';
        room[used++] = *text;
    }
    room[used++] = '\'';
    room[used] = '\0';
    return room;
}

/* The part of plan.yaml that is for people: configurations leave the key "evidence" out. */
static void print_evidence(const hu_assign *assign, int best, char *text, size_t capacity) {
    const hu_assign_candidate *c = best < 0 ? NULL : &assign->candidate[best];
    const hu_assign_candidate *plain = plain_of(assign);
    int last = assign->rungs - 1;
    const hu_metric *metric = assign->metric;
    char demotion[160] = "", folder[600], key[HU_METRIC_KEY_BYTES], value[HU_METRIC_TEXT_BYTES],
         fp32[HU_METRIC_TEXT_BYTES], high[HU_METRIC_TEXT_BYTES];
    if (plain)
        snprintf(demotion, sizeof demotion, "  plain_demotion: %s at %.4f\n",
                 hu_metric_text(metric, plain->value[last], value),
                 hu_assign_share(assign, plain->bits_used[last]));
    snprintf(text, capacity,
             "evidence:\n  search: halfulp assign budget=%s:%g, %u candidates, %d rungs, %d "
             "trainings\n  steps: %lld\n  seeds: %zu\n  %s: %s\n  "
             "memory_share_of_float32: %.4f\n  float32: %s\n  everything_high: %s at "
             "%.4f\n%s  order: %s%s\n  from: %s\n",
             budget_kind(assign), assign->budget, assign->count, assign->rungs, assign->trainings,
             (long long)assign->steps, hu_keys_count(assign->seeds),
             hu_metric_key("test", metric, key),
             hu_metric_text(metric, c ? c->value[last] : assign->high_value, value),
             hu_assign_share(assign, c ? c->bits_used[last] : assign->high_bits),
             hu_metric_text(metric, assign->reference[last], fp32),
             hu_metric_text(metric, assign->high_value, high),
             hu_assign_share(assign, assign->high_bits), demotion,
             c ? hu_search_order_name(c->order) : "none", c && c->is_trimmed ? ", trimmed" : "",
             quoted(assign->directory, folder, sizeof folder));
}

/* One candidate: how it was found, what it needs, what it reached at each rung. */
static hu_status candidate_row(const hu_assign *assign, const hu_assign_candidate *c, bool is_best,
                               hu_table *table) {
    hu_status st = HU_OK;
    char value[HU_METRIC_TEXT_BYTES];
    HU_TRY(hu_table_cell(table, "%s%s", c->name, is_best ? " *" : ""));
    HU_TRY(hu_table_cell(table, "%s%s%s", hu_search_order_name(c->order),
                         c->is_trimmed ? ", trimmed" : "", c->is_plain ? " (demotion)" : ""));
    HU_TRY(hu_table_cell(table, "%u of %u", c->groups_low, assign->groups.tensors.count));
    HU_TRY(hu_table_cell(table, "%.4f", hu_assign_share(assign, (double)c->bits)));
    for (int r = 0; r < assign->rungs; r++) {
        if (r >= c->rungs)
            HU_TRY(hu_table_cell(table, "-"));
        else if (isnan(c->value[r]))
            HU_TRY(hu_table_cell(table, "diverged"));
        else
            HU_TRY(
                hu_table_cell(table, "%s", hu_metric_number(assign->metric, c->value[r], value)));
    }
done:
    return st;
}

static hu_status print_table(const hu_assign *assign, int best, char **text) {
    hu_status st = HU_OK;
    hu_table *table = NULL;
    char words[HU_METRIC_TEXT_BYTES], steps[HU_ASSIGN_RUNGS][HU_METRIC_TEXT_BYTES + 40];
    /* Values stand without their unit, so that the title says it; " %" begins with a space. */
    const char *unit =
        assign->metric->unit[0] ? assign->metric->unit + 1 : hu_metric_words(assign->metric, words);
    const char *titles[4 + HU_ASSIGN_RUNGS] = {"candidate", "order", "low groups", "memory share"};
    for (int r = 0; r < assign->rungs; r++) {
        snprintf(steps[r], sizeof steps[r], "%s at %lld steps", unit,
                 (long long)hu_assign_steps(assign, r));
        titles[4 + r] = steps[r];
    }
    HU_TRY(hu_table_create(titles, 4 + assign->rungs, &table));
    for (uint32_t i = 0; i < assign->count; i++)
        HU_TRY(candidate_row(assign, &assign->candidate[i], (int)i == best, table));
    HU_TRY(hu_table_print(table, text));
done:
    hu_table_free(table);
    return st;
}

hu_status hu_assign_report(const hu_assign *assign, int best, json_t **object, char **text) {
    hu_status st = HU_OK;
    char path[640], resolved[660], evidence[2048], *json = NULL;
    *object = NULL;
    *text = NULL;
    snprintf(path, sizeof path, "%s/plan.yaml", assign->directory);
    print_evidence(assign, best, evidence, sizeof evidence);
    HU_TRY(
        hu_assign_write_plan(assign, best < 0 ? NULL : &assign->candidate[best], path, evidence));
    snprintf(resolved, sizeof resolved, "%s/plan.resolved.yaml", assign->directory);
    HU_TRY(hu_assign_write_resolved(assign, path, resolved));
    HU_TRY(print_table(assign, best, text));
    *object = result_json(assign, best, path);
    HU_TRY(hu_json_pretty(json_incref(*object), &json));
    snprintf(path, sizeof path, "%s/assign.json", assign->directory);
    HU_TRY(hu_file_replace(path, json, strlen(json)));
done:
    hu_free(json);
    return st;
}
