/* halfulp assign: the smallest assignment that keeps the metric, or the best that fits the memory.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/verb.h"
#include "journal/folder.h"
#include "show/stdout.h"
#include "sweep/assign.h"

/* The result for people, or as JSON. */
static hu_status print(const hu_assign *assign, int best, json_t *object, const char *text) {
    char fp32[HU_METRIC_TEXT_BYTES], high[HU_METRIC_TEXT_BYTES];
    int last = assign->rungs - 1;
    if (hu_config_flag(assign->config, "json", NULL)) return hu_json_print(json_incref(object));
    fputs(text, stdout);
    printf("\n* chosen. memory share: bits of all tensors beside float32's, before promotions. "
           "float32 %s,\neverything high %s at %.4f.\n",
           hu_metric_text(assign->metric, assign->reference[last], fp32),
           hu_metric_text(assign->metric, assign->high_value, high),
           hu_assign_share(assign, assign->high_bits));
    if (best < 0)
        printf("no candidate meets the budget: everything high is written, which %s\n",
               hu_assign_high_fits(assign) ? "meets it" : "does not meet it either");
    printf("plan: %s/plan.yaml (use it as precision=%s/plan.yaml)\n", assign->directory,
           assign->directory);
    return HU_OK;
}

static hu_status run_assign(hu_config *config, int *exit_code) {
    hu_status st = HU_OK;
    hu_assign assign = {.config = config};
    json_t *object = NULL;
    char *text = NULL;
    int best = -1, lock = -1;
    HU_TRY(hu_assign_read(&assign, &hu_progress_messages));
    HU_TRY(hu_interrupt_install(&assign.jobs.interrupted));
    hu_interrupt_mark_children();
    HU_TRY(hu_folder_lock(assign.directory, "searching", &lock));
    HU_TRY(hu_assign_check_budget(&assign));
    HU_TRY(hu_assign_search(&assign, &best));
    HU_TRY(hu_assign_report(&assign, best, &object, &text));
    HU_TRY(print(&assign, best, object, text));
    /* The plan is written all the same: it is the nearest that there is. */
    if (best < 0 && !hu_assign_high_fits(&assign)) *exit_code = 1;
done:
    json_decref(object);
    hu_free(text);
    if (lock >= 0) close(lock);
    hu_assign_free(&assign);
    return st;
}

static const char *const flags[] = {"json", NULL};

const hu_verb hu_verb_assign = {
    .name = "assign",
    .help = "search the assignment that fits a memory or keeps a metric",
    .usage = "budget=memory:S|metric:-P model=... data=... [seeds=1,2] [key=value ...] [--json]",
    .details =
        "memory:0.35: the best assignment whose tensors take at most 0.35 of float32's bits;\n"
        "metric:-1: the smallest whose test metric is at most 1 worse than float32's, in the unit\n"
        "in which it is printed: percentage points of accuracy (also written accuracy:-1), dB of\n"
        "psnr. float32 is trained first; its exponent histograms say what each group of tensors\n"
        "would lose in precision.low. Sets of groups in several orders are trained briefly, the\n"
        "better half twice as long, and so on (assign.rungs), the last ones in full and with all\n"
        "seeds; under a memory plain demotion stays in the race to its end. Every training is a\n"
        "folder below run.dir; the same command goes on where it was stopped. The result is\n"
        "run.dir/plan.yaml, to be used as precision=PLAN.yaml. Exit code 1: nothing met the\n"
        "budget, the plan is everything high.\n",
    .flags = flags,
    .max_subjects = 0,
    .run = run_assign,
};
