/* A search read from the configuration, its steps in order, and its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "journal/folder.h"
#include "precision/edge_writer.h"
#include "session/dataset.h"
#include "session/options.h"
#include "sweep/assign.h"
#include "sweep/jobs_setup.h"
#include "train/prepare.h"

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
    HU_TRY(hu_assign_read_budget(assign));
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
    HU_TRY(hu_owned_check(assign->directory));
done:
    return st;
}

/* References, what groups would lose, sets of groups, the race, the test: each step needs the one
 * before. */
hu_status hu_assign_search(hu_assign *assign, hu_assign_choice *choice) {
    hu_status st = HU_OK;
    assign->pace = (hu_pace){.is_quiet = assign->jobs.is_quiet, .parallel = assign->jobs.parallel};
    assign->jobs.pace = &assign->pace;
    HU_TRY(hu_pace_open(assign->directory, "assign", 0, 0, &assign->pace));
    HU_TRY(hu_assign_plan_size(assign, NULL, false, &assign->plain_size));
    HU_TRY(hu_assign_check_budget(assign));
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
    st = hu_pace_end(&assign->pace, st);
    hu_pace_close(&assign->pace);
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
