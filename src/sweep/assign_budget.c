/* The budget of a search: how it is written, what it counts, who keeps it. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "session/options.h"
#include "sweep/assign.h"
#include "train/initialize.h"

static bool is_word(const char *text, const char *word, size_t length) {
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

static bool is_percent(const hu_metric *metric) {
    const double percent = 100.0;
    return metric->factor == percent;
}

/* What is counted, by the word in front of the colon. */
static const struct {
    const char *name, *words;
} sizes[] = {[HU_BUDGET_MEMORY] = {"memory", "bits of all tensors"},
             [HU_BUDGET_SAVED] = {"saved", "bytes that wait for the backward pass"},
             [HU_BUDGET_TOTAL] = {"total", "all bytes of the ledger"}};

/* Is the budget of the metric? "metric" or its name; "accuracy" says percentage points. */
static bool is_of_metric(const hu_metric *metric, const char *text, size_t length) {
    return is_word(text, "metric", length) || is_word(text, metric->name, length) ||
           (is_percent(metric) && is_word(text, "accuracy", length));
}

static hu_status unknown_budget(const hu_metric *metric, const char *text) {
    char words[HU_METRIC_TEXT_BYTES], point[HU_DECIMAL_BYTES];
    const char *number = text + strcspn(text, ":");
    if (*number && hu_decimal_has_comma(number + 1, point))
        return hu_fail(HU_ERR_ARGUMENT, "budget: found '%s', expected a number with a point: %s",
                       text, point);
    return hu_fail(HU_ERR_ARGUMENT,
                   "budget: found '%s', expected memory:S, saved:S or total:S with S within 0..1 "
                   "(share of float32's bits, of its bytes that wait for the backward pass, of all "
                   "its bytes) or metric:-P (at most P%s of %s worse than float32)",
                   text, metric->unit, hu_metric_words(metric, words));
}

hu_status hu_assign_read_budget(hu_assign *assign) {
    const char *text;
    char *end;
    bool is_known = false;
    hu_status st = hu_config_text(assign->config, "assign.budget", &text);
    if (st != HU_OK) return st;
    size_t length = strcspn(text, ":");
    for (int k = HU_BUDGET_MEMORY; k <= HU_BUDGET_TOTAL; k++)
        if (is_word(text, sizes[k].name, length)) {
            assign->kind = (hu_budget_kind)k;
            is_known = true;
        }
    is_known = is_known || is_of_metric(assign->metric, text, length);
    if (!is_known || !text[length] || !text[length + 1])
        return unknown_budget(assign->metric, text);
    assign->budget = strtod(text + length + 1, &end);
    /* A share cannot be worse by more than the whole. */
    double least = is_percent(assign->metric) ? -100.0 : -DBL_MAX;
    bool is_in_range = assign->kind == HU_BUDGET_METRIC
                           ? assign->budget <= 0.0 && assign->budget >= least
                           : assign->budget > 0.0 && assign->budget <= 1.0;
    return *end == '\0' && is_in_range ? HU_OK : unknown_budget(assign->metric, text);
}

const char *hu_budget_name(const hu_assign *assign) {
    return assign->kind == HU_BUDGET_METRIC ? assign->metric->name : sizes[assign->kind].name;
}

/* A metric is kept with as few bits as possible. */
const char *hu_budget_words(const hu_assign *assign) {
    return sizes[assign->kind == HU_BUDGET_METRIC ? HU_BUDGET_MEMORY : assign->kind].words;
}

double hu_assign_share(const hu_assign *assign, double bits) {
    return bits / (double)assign->groups.all_plain;
}

double hu_assign_size_of(const hu_assign *assign, const json_t *result) {
    const json_t *ledger = json_object_get(result, "ledger_bytes");
    if (assign->kind == HU_BUDGET_SAVED) return hu_json_real(ledger, "saved") / assign->plain_size;
    if (assign->kind == HU_BUDGET_TOTAL) return hu_json_real(ledger, "total") / assign->plain_size;
    return hu_assign_share(assign, hu_json_real(result, "model_aggregate_bits"));
}

/* Promotes what is expected to be promoted out of low groups. */
static hu_status promote_expected(const hu_assign *assign, const bool *low, hu_trainer *trainer) {
    const hu_graph *graph = hu_trainer_graph(trainer);
    hu_value_id *value = NULL;
    uint32_t count = 0;
    hu_status st = HU_NEW_ARRAY(&value, assign->graph->value_count);
    for (hu_value_id v = 0; st == HU_OK && v < assign->graph->value_count; v++) {
        if (!assign->groups.is_promoted[v] || !low[assign->groups.tensors.of_value[v]]) continue;
        value[count] = hu_graph_find(graph, assign->graph->value[v].name);
        count += value[count] != HU_NONE;
    }
    if (st == HU_OK && count > 0) st = hu_trainer_promote(trainer, value, count);
    hu_free(value);
    return st;
}

/* The ledger of a training that is planned and not begun. promoted_of: low groups whose expected
 * promotions are counted, or NULL. */
static hu_status plan_ledger(const hu_assign *assign, const char *plan_path,
                             const bool *promoted_of, hu_ledger *ledger) {
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_precision precision = {0};
    hu_trainer *trainer = NULL;
    hu_train_options options;
    HU_TRY(hu_assign_config(assign, plan_path, &config));
    HU_TRY(hu_options_train(config, assign->dataset, &precision, &options));
    HU_TRY(hu_trainer_create(&options, assign->dataset, &trainer));
    if (promoted_of) HU_TRY(promote_expected(assign, promoted_of, trainer));
    *ledger = hu_trainer_ledger(trainer);
done:
    hu_trainer_free(trainer);
    hu_precision_free(&precision);
    hu_config_free(config);
    return st;
}

hu_status hu_assign_plan_size(const hu_assign *assign, const bool *low, bool promotes,
                              double *size) {
    hu_status st = HU_OK;
    hu_ledger ledger;
    char path[660];
    const hu_search_groups *groups = &assign->groups;
    bool is_ledger = assign->kind == HU_BUDGET_SAVED || assign->kind == HU_BUDGET_TOTAL;
    if (!is_ledger) {
        *size = low ? hu_assign_share(assign, (double)hu_search_bits(groups, low, promotes))
                    : (double)groups->all_plain;
        return HU_OK;
    }
    snprintf(path, sizeof path, "%s/plans/size.yaml", assign->directory);
    if (low) HU_TRY(hu_assign_write_plan(assign, low, path, NULL));
    HU_TRY(plan_ledger(assign, low ? path : NULL, promotes ? low : NULL, &ledger));
    *size = (double)(assign->kind == HU_BUDGET_SAVED ? ledger.saved : ledger.total);
    if (low) *size /= assign->plain_size;
    if (low) remove(path);
done:
    return st;
}

double hu_assign_gain(const hu_assign *assign, double value, double other) {
    const hu_metric *metric = assign->metric;
    return metric->factor * (metric->higher_is_better ? value - other : other - value);
}

bool hu_assign_fits(const hu_assign *assign, int rung, const hu_assign_outcome *made) {
    const double slack = 1e-9;
    if (!made->is_known || isnan(made->value)) return false;
    if (assign->kind != HU_BUDGET_METRIC) return made->size <= assign->budget + slack;
    double gain = hu_assign_gain(assign, made->value, assign->reference[rung].value);
    return gain >= assign->budget - slack;
}

hu_status hu_assign_check_budget(const hu_assign *assign) {
    enum { ROUND = 10000 };
    const double slack = 1e-9;
    bool *low = NULL;
    double least;
    hu_status st = HU_OK;
    if (assign->kind == HU_BUDGET_METRIC) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&low, assign->groups.tensors.count));
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++)
        low[g] = assign->groups.saved[g] > 0;
    HU_TRY(hu_assign_plan_size(assign, low, false, &least));
    if (least > assign->budget + slack)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "budget: found %s:%g, expected at least %.4f: the share of float32's %s "
                       "that is left with every group low",
                       hu_budget_name(assign), assign->budget, ceil(ROUND * least) / ROUND,
                       hu_budget_words(assign)));
done:
    hu_free(low);
    return st;
}
