/* halfulp assign: the smallest assignment that keeps the metric, or the best that fits the memory.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "render/table.h"
#include "runlog/folder.h"
#include "sweep/search.h"

static hu_status run_assign(hu_config *config, int *exit_code) {
    hu_status st = HU_OK;
    hu_assign assign = {.config = config};
    json_t *object = NULL;
    char *text = NULL;
    hu_assign_choice choice;
    int lock = -1;
    HU_TRY(hu_assign_read(&assign, &hu_progress_messages));
    HU_TRY(hu_interrupt_install(&assign.jobs.interrupted));
    hu_interrupt_mark_children();
    HU_TRY(hu_run_folder_lock(assign.directory, "searching", &lock));
    HU_TRY(hu_assign_search(&assign, &choice));
    HU_TRY(hu_assign_report(&assign, &choice, &object, &text));
    if (hu_config_flag(config, "json", NULL))
        HU_TRY(hu_json_print(json_incref(object)));
    else
        fputs(text, stdout);
    /* The plan is written all the same: it is the nearest that there is. */
    if (!choice.meets) *exit_code = 1;
done:
    json_decref(object);
    hu_free(text);
    if (lock >= 0) close(lock);
    hu_assign_free(&assign);
    return st;
}

static const char *const flags[] = {"json", NULL};

static const char *const assign_keys[] = {HU_TRAINING_KEYS, "assign.*", "compare.*", NULL};

const hu_verb hu_verb_assign = {
    .name = "assign",
    .group = HU_VERBS_COMPARE,
    .help = "search the assignment that fits a memory or keeps a metric",
    .usage = "budget=memory:S|saved:S|total:S|metric:-P model=... data=... [seeds=1,2] "
             "[key=value ...] [--json]",
    .details =
        "memory:0.35: the best assignment whose tensors take at most 0.35 of float32's bits (the\n"
        "paper's aggregate); saved: of its bytes that wait for the backward pass; total: of all\n"
        "its bytes. All count promotions. metric:-1: the smallest whose metric is at most 1 worse\n"
        "than float32's, in the unit in which it is printed: percentage points of accuracy (also\n"
        "written accuracy:-1), dB of psnr.\n"
        "Everything is chosen on samples that data.validation holds out of the training (0.1).\n"
        "float32 is trained first; then gradients, updates and short runs (assign.short) with "
        "each\n"
        "group of tensors low alone say what it would lose in precision.low, and what overflows\n"
        "and is promoted. Sets of groups that fit with that are trained briefly, then twice as\n"
        "long, and so on (assign.rungs), each with all seeds (1,2); who is worse by more than the\n"
        "noise leaves. Of the last ones that the noise does not tell apart, that whose groups\n"
        "lose least is chosen. Plain demotion stays to the end. A set whose promotions take more\n"
        "than was expected is followed by a smaller one. The test samples are read once, for the\n"
        "choice and for plain demotion. Every training is a folder below run.dir; the same\n"
        "command goes on where it was stopped. The result is run.dir/plan.yaml, to be used as\n"
        "precision=PLAN.yaml. Exit code 1: nothing met the budget, the plan is the nearest.\n",
    .flags = flags,
    .max_subjects = 0,
    .keys = assign_keys,
    .examples = {{"assign budget=memory:0.35 data=glyphs epochs=1",
                  "the best assignment at 35 % of the bits"},
                 {"assign budget=metric:-1 model=resnet20 data=cifar10:DIR",
                  "the smallest that loses at most one point"}},
    .run = run_assign,
};
