/* halfulp assign: the cheapest assignment that keeps the accuracy, or the most accurate that fits
 * the memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/verb.h"
#include "journal/folder.h"
#include "session/data.h"
#include "session/options.h"
#include "show/stdout.h"
#include "sweep/assign.h"
#include "sweep/jobs_setup.h"

/* "memory:0.35" or "accuracy:-1.0". */
static hu_status read_budget(const hu_config *config, hu_assign *assign) {
    static const char memory[] = "memory:", accuracy[] = "accuracy:";
    static const char expected[] = "memory:S with S within 0..1 (share of float32's bits) or "
                                   "accuracy:-P (percentage points below float32)";
    const char *text, *number = NULL;
    char *end;
    hu_status st = hu_config_text(config, "assign.budget", &text);
    if (st != HU_OK) return st;
    assign->is_memory = strncmp(text, memory, sizeof memory - 1) == 0;
    if (assign->is_memory) number = text + sizeof memory - 1;
    if (strncmp(text, accuracy, sizeof accuracy - 1) == 0) number = text + sizeof accuracy - 1;
    assign->budget = number ? strtod(number, &end) : (double)NAN;
    bool is_number = number && *number && *end == '\0' && isfinite(assign->budget);
    bool is_in_range = assign->is_memory ? assign->budget > 0.0 && assign->budget <= 1.0
                                         : assign->budget <= 0.0 && assign->budget >= -100.0;
    if (is_number && is_in_range) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "budget: found '%s', expected %s", text, expected);
}

/* The training as it would be with everything high: its graph, batch and length. */
static hu_status read_training(hu_assign *assign) {
    hu_status st = HU_OK;
    hu_dataset *dataset = NULL;
    hu_train_options options;
    hu_config *copy = NULL;
    HU_TRY(hu_options_copy(assign->config, &copy));
    HU_TRY(hu_config_set(copy, "precision.name", "high", "assign"));
    HU_TRY(hu_session_dataset(copy, &hu_progress_messages, &dataset));
    HU_TRY(hu_options_train(copy, dataset, &assign->precision, &options));
    hu_task_choice choice;
    HU_TRY(hu_model_choose(options.model, options.task, options.loss, dataset, &choice));
    hu_model_options model = {.name = options.model, .width = options.width, .choice = &choice};
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
static hu_status read_options(hu_assign *assign) {
    hu_status st = HU_OK;
    int64_t rungs;
    char plans[640];
    hu_config *config = assign->config;
    if (hu_config_given(config, "precision.name"))
        return hu_fail(HU_ERR_ARGUMENT,
                       "assign: found a precision, which is what it looks for; precision.high and "
                       "precision.low say between which formats");
    HU_TRY(read_budget(config, assign));
    HU_TRY(hu_config_i64(config, "assign.rungs", &rungs));
    assign->rungs = (int)rungs;
    HU_TRY(hu_config_i64(config, "assign.random", &assign->random_orders));
    HU_TRY(hu_jobs_seeds(config, "assign", &assign->seeds));
    HU_TRY(hu_jobs_common(config, "assign", &assign->common));
    HU_TRY(read_training(assign));
    if (assign->steps >> (assign->rungs - 1) < 1)
        return hu_fail(HU_ERR_ARGUMENT,
                       "assign: found %lld steps, expected at least %d for assign.rungs=%d",
                       (long long)assign->steps, 1 << (assign->rungs - 1), assign->rungs);
    HU_TRY(hu_jobs_directory(config, assign->common, "assign", assign->directory,
                             sizeof assign->directory));
    HU_TRY(hu_jobs_options(config, assign->directory, assign->common, &assign->jobs));
    HU_TRY(hu_interrupt_install(&assign->jobs.interrupted));
    hu_interrupt_mark_children();
    snprintf(plans, sizeof plans, "%s/plans", assign->directory);
    HU_TRY(hu_directory_create(assign->directory));
    HU_TRY(hu_directory_create(plans));
done:
    return st;
}

/* References, what groups would lose, sets of groups, the race: each step needs the one before. */
static hu_status search(hu_assign *assign, int *best) {
    hu_status st = HU_OK;
    HU_TRY(hu_assign_train_references(assign));
    HU_TRY(hu_assign_measure_loss(assign));
    HU_TRY(hu_assign_make_candidates(assign));
    HU_TRY(hu_assign_race(assign, best));
done:
    return st;
}

/* The result for people, or as JSON. */
static hu_status print(const hu_assign *assign, int best, json_t *object, const char *text) {
    const double percent = 100.0;
    int last = assign->rungs - 1;
    if (hu_config_flag(assign->config, "json", NULL)) return hu_json_print(json_incref(object));
    fputs(text, stdout);
    printf("\n* chosen. memory share: bits of all tensors beside float32's, before promotions. "
           "float32 %.2f %%,\neverything high %.2f %% at %.4f.\n",
           percent * assign->reference[last], percent * assign->high_accuracy,
           hu_assign_share(assign, assign->high_bits));
    if (best < 0)
        printf("no candidate meets the budget: everything high is written, which %s\n",
               hu_assign_high_fits(assign) ? "meets it" : "does not meet it either");
    printf("plan: %s/plan.yaml (use it as precision=%s/plan.yaml)\n", assign->directory,
           assign->directory);
    return HU_OK;
}

/* Frees what the search holds. */
static void forget(hu_assign *assign) {
    for (uint32_t i = 0; i < assign->count; i++) hu_free(assign->candidate[i].low);
    hu_free(assign->candidate);
    hu_search_groups_free(&assign->groups);
    hu_graph_free(assign->graph);
    hu_precision_free(&assign->precision);
    hu_keys_free(assign->seeds);
    hu_keys_free(assign->common);
}

static hu_status run_assign(hu_config *config, int *exit_code) {
    hu_status st = HU_OK;
    hu_assign assign = {.config = config};
    json_t *object = NULL;
    char *text = NULL;
    int best = -1, lock = -1;
    HU_TRY(read_options(&assign));
    HU_TRY(hu_folder_lock(assign.directory, "searching", &lock));
    HU_TRY(hu_assign_check_budget(&assign));
    HU_TRY(search(&assign, &best));
    HU_TRY(hu_assign_report(&assign, best, &object, &text));
    HU_TRY(print(&assign, best, object, text));
    /* The plan is written all the same: it is the nearest that there is. */
    if (best < 0 && !hu_assign_high_fits(&assign)) *exit_code = 1;
done:
    json_decref(object);
    hu_free(text);
    if (lock >= 0) close(lock);
    forget(&assign);
    return st;
}

static const char *const flags[] = {"json", NULL};

const hu_verb hu_verb_assign = {
    .name = "assign",
    .help = "search the assignment that fits a memory or keeps an accuracy",
    .usage = "budget=memory:S|accuracy:-P model=... data=... [seeds=1,2] [key=value ...] [--json]",
    .details =
        "memory:0.35: the most accurate assignment whose tensors take at most 0.35 of float32's\n"
        "bits; accuracy:-1: the smallest that loses at most one percentage point. float32 is\n"
        "trained first; its exponent histograms say what each group of tensors would lose in\n"
        "precision.low. Sets of groups in several orders are trained briefly, the better half\n"
        "twice as long, and so on (assign.rungs), the last ones in full and with all seeds; under\n"
        "a memory plain demotion stays in the race to its end. Every training is a folder below\n"
        "run.dir; the same command goes on where it was stopped. The result is run.dir/plan.yaml,\n"
        "to be used as precision=PLAN.yaml. Exit code 1: nothing met the budget, the plan is\n"
        "everything high.\n",
    .flags = flags,
    .max_subjects = 0,
    .run = run_assign,
};
