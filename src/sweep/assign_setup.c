/* A search read from the configuration, its steps in order, and its end. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "model/model.h"
#include "session/data.h"
#include "session/options.h"
#include "sweep/assign.h"
#include "sweep/jobs_setup.h"

static bool begins_with(const char *text, const char *word, size_t length) {
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

static bool is_percent(const hu_metric *metric) {
    const double percent = 100.0;
    return metric->factor == percent;
}

/* Is the budget of the metric? "metric" or its name; "accuracy" says percentage points. */
static bool is_of_metric(const hu_metric *metric, const char *text, size_t length) {
    return begins_with(text, "metric", length) || begins_with(text, metric->name, length) ||
           (is_percent(metric) && begins_with(text, "accuracy", length));
}

static hu_status unknown_budget(const hu_metric *metric, const char *text) {
    char words[HU_METRIC_TEXT_BYTES];
    return hu_fail(HU_ERR_ARGUMENT,
                   "budget: found '%s', expected memory:S with S within 0..1 (share of float32's "
                   "bits) or metric:-P (at most P%s of %s worse than float32)",
                   text, metric->unit, hu_metric_words(metric, words));
}

/* "memory:0.35", "metric:-0.5" or "accuracy:-1.0". */
static hu_status read_budget(const hu_config *config, hu_assign *assign) {
    const char *text;
    char *end;
    hu_status st = hu_config_text(config, "assign.budget", &text);
    if (st != HU_OK) return st;
    size_t length = strcspn(text, ":");
    assign->is_memory = begins_with(text, "memory", length);
    bool is_known = assign->is_memory || is_of_metric(assign->metric, text, length);
    if (!is_known || !text[length] || !text[length + 1])
        return unknown_budget(assign->metric, text);
    assign->budget = strtod(text + length + 1, &end);
    /* A share cannot be worse by more than the whole. */
    double least = is_percent(assign->metric) ? -100.0 : -DBL_MAX;
    bool is_in_range = assign->is_memory ? assign->budget > 0.0 && assign->budget <= 1.0
                                         : assign->budget <= 0.0 && assign->budget >= least;
    return *end == '\0' && is_in_range ? HU_OK : unknown_budget(assign->metric, text);
}

/* The training as it would be with everything high: its graph, batch and length. */
static hu_status read_training(hu_assign *assign, const hu_listener *listener) {
    hu_status st = HU_OK;
    hu_dataset *dataset = NULL;
    hu_train_options options;
    hu_config *copy = NULL;
    HU_TRY(hu_options_copy(assign->config, &copy));
    HU_TRY(hu_config_set(copy, "precision.name", "high", "assign"));
    HU_TRY(hu_session_dataset(copy, listener, &dataset));
    HU_TRY(hu_options_train(copy, dataset, &assign->precision, &options));
    hu_task_choice choice;
    HU_TRY(hu_model_choose(options.model, options.task, options.loss, dataset, &choice));
    assign->metric = choice.task->metric[0];
    hu_model_options model = {
        .name = options.model, .width = options.width, .norm = options.norm, .choice = &choice};
    assign->batch = options.batch;
    assign->steps = options.steps;
    HU_TRY(hu_model_build(&model, &assign->graph));
    HU_TRY(
        hu_search_groups_create(&assign->precision, assign->graph, assign->batch, &assign->groups));
done:
    hu_dataset_close(dataset);
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
    HU_TRY(hu_jobs_seeds(config, "assign", &assign->seeds));
    HU_TRY(hu_jobs_common(config, "assign", &assign->common));
    HU_TRY(read_training(assign, listener));
    HU_TRY(read_budget(config, assign));
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
done:
    return st;
}

/* References, what groups would lose, sets of groups, the race: each step needs the one before. */
hu_status hu_assign_search(hu_assign *assign, int *best) {
    hu_status st = HU_OK;
    HU_TRY(hu_assign_train_references(assign));
    HU_TRY(hu_assign_measure_loss(assign));
    HU_TRY(hu_assign_make_candidates(assign));
    HU_TRY(hu_assign_race(assign, best));
done:
    return st;
}

void hu_assign_free(hu_assign *assign) {
    for (uint32_t i = 0; i < assign->count; i++) hu_free(assign->candidate[i].low);
    hu_free(assign->candidate);
    hu_search_groups_free(&assign->groups);
    hu_graph_free(assign->graph);
    hu_precision_free(&assign->precision);
    hu_keys_free(assign->seeds);
    hu_keys_free(assign->common);
}
