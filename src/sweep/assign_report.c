/* What a search found: plan.yaml with its evidence, assign.json, what a person reads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "show/json.h"
#include "sweep/assign.h"
#include "sweep/assign_words.h"

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
    json_t *object = outcome_json(assign, hu_assign_ended(assign, i));
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
    const hu_assign_outcome *ended = hu_assign_ended(assign, choice->best);
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
    if (object) hu_assign_put_groups(assign, object);
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
    hu_assign_print_evidence(assign, choice, evidence, sizeof evidence);
    HU_TRY(hu_assign_write_plan(
        assign, choice->best < 0 ? NULL : assign->candidate[choice->best].low, path, evidence));
    snprintf(resolved, sizeof resolved, "%s/plan.resolved.yaml", assign->directory);
    HU_TRY(hu_assign_write_resolved(assign, path, resolved));
    HU_TRY(hu_assign_print(assign, choice, text));
    *object = result_json(assign, choice, path);
    HU_TRY(hu_json_pretty(json_incref(*object), &json));
    snprintf(path, sizeof path, "%s/assign.json", assign->directory);
    HU_TRY(hu_file_replace(path, json, strlen(json)));
done:
    hu_free(json);
    return st;
}
