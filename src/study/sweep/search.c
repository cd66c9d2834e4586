#include "sweep/search.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include "runlog/folder.h"
#include "settings/dataset.h"
#include "settings/options.h"
#include "sweep/jobs.h"
#include "train/trainer.h"

static hu_status assign_check_budget(const hu_assign *assign);
static hu_status assign_read_budget(hu_assign *assign);

/* ---- assign setup ---- */

/* A search read from the configuration, its steps in order, and its end. */

/* Where the user says nothing: a tenth of the training samples, and two seeds, so that there is a
 * spread. */
#define USUAL_VALIDATION "0.1"
#define USUAL_SEEDS "1,2"

/* Samples to choose on; trainings read no others. */
static hu_status read_parts(hu_assign *assign) {
    hu_status st = HU_OK;
    double held;
    const char *text;
    if (hu_config_given(assign->config, "eval.part"))
        return hu_fail(HU_ERR_ARGUMENT, "assign: found eval.part; it chooses on the validation "
                                        "samples and reads the test samples once");
    if (!hu_config_given(assign->config, "data.validation"))
        HU_TRY(hu_config_set(assign->config, "data.validation", USUAL_VALIDATION, "assign"));
    HU_TRY(hu_config_f64(assign->config, "data.validation", &held));
    HU_TRY(hu_config_text(assign->config, "data.validation", &text));
    if (held == 0.0)
        return hu_fail(HU_ERR_ARGUMENT, "assign: found data.validation=0, expected samples to "
                                        "choose on, as a share or a number");
    HU_TRY(hu_keys_set_text(assign->common, "data.validation", text, "assign"));
    HU_TRY(hu_keys_set_text(assign->common, "eval.part", "validation", "assign"));
done:
    return st;
}

/* The training as it would be with everything high: its graph, batch and length. */
static hu_status read_training(hu_assign *assign, const hu_listener *listener) {
    hu_status st = HU_OK;
    hu_train_options options;
    hu_task_choice choice;
    hu_config *copy = NULL;
    HU_TRY(hu_options_copy(assign->config, &copy));
    HU_TRY(hu_config_set(copy, "precision.name", "high", "assign"));
    HU_TRY(hu_config_set(copy, "data.validation", USUAL_VALIDATION, "assign"));
    HU_TRY(hu_session_dataset(copy, listener, &assign->dataset));
    HU_TRY(hu_options_train(copy, assign->dataset, &assign->precision, &options));
    HU_TRY(hu_train_network(&options, assign->dataset, &choice, &assign->graph));
    assign->metric = choice.task->metric[0];
    assign->batch = options.batch;
    assign->steps = options.steps;
    HU_TRY(
        hu_search_groups_create(&assign->precision, assign->graph, assign->batch, &assign->groups));
    HU_TRY(HU_NEW_ARRAY(&assign->cosine, assign->groups.tensors.count));
    HU_TRY(HU_NEW_ARRAY(&assign->short_runs.cost, assign->groups.tensors.count));
done:
    hu_config_free(copy);
    return st;
}

/* Everything that can be wrong with the command is found before the first training. */
hu_status hu_assign_read(hu_assign *assign, const hu_listener *listener) {
    hu_status st = HU_OK;
    int64_t rungs;
    char plans[640];
    hu_config *config = assign->config;
    if (hu_config_given(config, "precision.name") || hu_config_given(config, "precision.epochs"))
        return hu_fail(HU_ERR_ARGUMENT,
                       "assign: found a precision, which is what it looks for; precision.high and "
                       "precision.low say between which formats");
    HU_TRY(hu_config_i64(config, "assign.rungs", &rungs));
    assign->rungs = (int)rungs;
    HU_TRY(hu_config_i64(config, "assign.random", &assign->random_orders));
    if (!hu_config_given(config, "compare.seeds"))
        HU_TRY(hu_config_set(config, "compare.seeds", USUAL_SEEDS, "assign"));
    HU_TRY(hu_jobs_seeds(config, "assign", &assign->seeds));
    HU_TRY(hu_jobs_common(config, "assign", &assign->common));
    HU_TRY(read_parts(assign));
    HU_TRY(read_training(assign, listener));
    HU_TRY(assign_read_budget(assign));
    if (assign->steps >> (assign->rungs - 1) < 1)
        return hu_fail(HU_ERR_ARGUMENT,
                       "assign: found %lld steps, expected at least %d for assign.rungs=%d",
                       (long long)assign->steps, 1 << (assign->rungs - 1), assign->rungs);
    HU_TRY(hu_jobs_directory(config, assign->common, "assign", assign->directory,
                             sizeof assign->directory));
    HU_TRY(hu_jobs_options(config, assign->directory, assign->common, &assign->jobs));
    snprintf(plans, sizeof plans, "%s/plans", assign->directory);
    HU_TRY(hu_directory_create(assign->directory));
    HU_TRY(hu_directory_create(plans));
    HU_TRY(hu_run_folder_check_owned(assign->directory));
done:
    return st;
}

/* References, what groups would lose, sets of groups, the race, the test: each step needs the one
 * before. */
hu_status hu_assign_search(hu_assign *assign, hu_assign_choice *choice) {
    hu_status st = HU_OK;
    assign->progress =
        (hu_job_progress){.is_quiet = assign->jobs.is_quiet, .parallel = assign->jobs.parallel};
    assign->jobs.progress = &assign->progress;
    HU_TRY(hu_job_progress_open(assign->directory, "assign", 0, 0, &assign->progress));
    HU_TRY(hu_assign_plan_size(assign, NULL, false, &assign->plain_size));
    HU_TRY(assign_check_budget(assign));
    HU_TRY(hu_assign_train_references(assign));
    if (assign->kind == HU_BUDGET_METRIC || !hu_assign_high_fits(assign)) {
        HU_TRY(hu_assign_measure_rounding(assign));
        HU_TRY(hu_assign_measure_gradients(assign));
        HU_TRY(hu_assign_measure_short_runs(assign));
        HU_TRY(hu_assign_make_candidates(assign));
    }
    HU_TRY(hu_assign_race(assign, choice));
    HU_TRY(hu_assign_read_test(assign, choice));
done:
    st = hu_job_progress_end(&assign->progress, st);
    hu_job_progress_close(&assign->progress);
    return st;
}

void hu_assign_free(hu_assign *assign) {
    for (uint32_t i = 0; i < assign->count; i++) hu_free(assign->candidate[i].low);
    hu_free(assign->candidate);
    hu_free(assign->cosine);
    hu_free(assign->short_runs.cost);
    hu_dataset_close(assign->dataset);
    hu_search_groups_free(&assign->groups);
    hu_graph_free(assign->graph);
    hu_precision_free(&assign->precision);
    hu_keys_free(assign->seeds);
    hu_keys_free(assign->common);
}

/* ---- assign budget ---- */

/* The budget of a search: how it is written, what it counts, who keeps it. */

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

/* "memory:0.35", "saved:0.3", "total:0.5", "metric:-0.5" or "accuracy:-1.0". */
static hu_status assign_read_budget(hu_assign *assign) {
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

/* HU_ERR_ARGUMENT: a size that no set of groups meets; the message has the minimum. */
static hu_status assign_check_budget(const hu_assign *assign) {
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
