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

enum { PERCENT = 100 };

/* What a candidate reached at every length that it was trained for. */
static json_t *rungs_json(const hu_assign *assign, const hu_assign_candidate *c) {
    json_t *list = json_array();
    for (int r = 0; list && r < c->rungs; r++)
        json_array_append_new(
            list, json_pack("{s:I, s:o, s:o}", "steps", (json_int_t)hu_assign_steps(assign, r),
                            "test_accuracy", hu_json_number(c->accuracy[r]), "memory_share",
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

/* The object of `assign --json` and of assign.json. */
static json_t *result_json(const hu_assign *assign, int best, const char *plan) {
    const hu_assign_candidate *c = best < 0 ? NULL : &assign->candidate[best];
    int last = assign->rungs - 1;
    json_t *candidates = json_array();
    for (uint32_t i = 0; candidates && i < assign->count; i++)
        json_array_append_new(candidates, candidate_json(assign, &assign->candidate[i]));
    return json_pack(
        "{s:s, s:s, s:s, s:{s:s, s:o}, s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:o, s:o}", "kind",
        "assign", "halfulp", HALFULP_VERSION, "model",
        hu_keys_find(assign->common, "model.name")
            ? hu_keys_value(hu_keys_find(assign->common, "model.name"))
            : "cnn-s",
        "budget", "kind", assign->is_memory ? "memory" : "accuracy", "value",
        hu_json_number(assign->budget), "plan", plan, "chosen", c ? c->name : "high",
        "test_accuracy", hu_json_number(c ? c->accuracy[last] : assign->high_accuracy),
        "memory_share",
        hu_json_number(hu_assign_share(assign, c ? c->bits_used[last] : assign->high_bits)),
        "fp32_accuracy", hu_json_number(assign->reference[last]), "high_accuracy",
        hu_json_number(assign->high_accuracy), "trainings", assign->trainings, "group_losses",
        losses_json(assign), "candidates", candidates);
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
    char demotion[160] = "", folder[600];
    if (plain)
        snprintf(demotion, sizeof demotion, "  plain_demotion: %.2f %% at %.4f\n",
                 PERCENT * plain->accuracy[last], hu_assign_share(assign, plain->bits_used[last]));
    snprintf(text, capacity,
             "evidence:\n  search: halfulp assign budget=%s:%g, %u candidates, %d rungs, %d "
             "trainings\n  steps: %lld\n  seeds: %zu\n  test_accuracy: %.2f %%\n  "
             "memory_share_of_float32: %.4f\n  float32: %.2f %%\n  everything_high: %.2f %% at "
             "%.4f\n%s  order: %s%s\n  from: %s\n",
             assign->is_memory ? "memory" : "accuracy", assign->budget, assign->count,
             assign->rungs, assign->trainings, (long long)assign->steps,
             hu_keys_count(assign->seeds),
             PERCENT * (c ? c->accuracy[last] : assign->high_accuracy),
             hu_assign_share(assign, c ? c->bits_used[last] : assign->high_bits),
             PERCENT * assign->reference[last], PERCENT * assign->high_accuracy,
             hu_assign_share(assign, assign->high_bits), demotion,
             c ? hu_search_order_name(c->order) : "none", c && c->is_trimmed ? ", trimmed" : "",
             quoted(assign->directory, folder, sizeof folder));
}

/* One candidate: how it was found, what it needs, what it reached at each rung. */
static hu_status candidate_row(const hu_assign *assign, const hu_assign_candidate *c, bool is_best,
                               hu_table *table) {
    hu_status st = HU_OK;
    HU_TRY(hu_table_cell(table, "%s%s", c->name, is_best ? " *" : ""));
    HU_TRY(hu_table_cell(table, "%s%s%s", hu_search_order_name(c->order),
                         c->is_trimmed ? ", trimmed" : "", c->is_plain ? " (demotion)" : ""));
    HU_TRY(hu_table_cell(table, "%u of %u", c->groups_low, assign->groups.tensors.count));
    HU_TRY(hu_table_cell(table, "%.4f", hu_assign_share(assign, (double)c->bits)));
    for (int r = 0; r < assign->rungs; r++) {
        if (r >= c->rungs)
            HU_TRY(hu_table_cell(table, "-"));
        else if (isnan(c->accuracy[r]))
            HU_TRY(hu_table_cell(table, "diverged"));
        else
            HU_TRY(hu_table_cell(table, "%.2f", PERCENT * c->accuracy[r]));
    }
done:
    return st;
}

static hu_status print_table(const hu_assign *assign, int best, char **text) {
    hu_status st = HU_OK;
    hu_table *table = NULL;
    char steps[HU_ASSIGN_RUNGS][40];
    const char *titles[4 + HU_ASSIGN_RUNGS] = {"candidate", "order", "low groups", "memory share"};
    for (int r = 0; r < assign->rungs; r++) {
        snprintf(steps[r], sizeof steps[r], "%% at %lld steps",
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
