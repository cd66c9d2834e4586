/* halfulp compare: the same training in many precisions, with paired seeds. */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "render/table.h"
#include "render/terminal.h"
#include "report/report.h"
#include "sweep/compare.h"

/* The table, or with --json the object that compare.json holds too. */
static hu_status print(const hu_config *config, const hu_compare *compare, bool has_report) {
    hu_status st = HU_OK;
    char *text = NULL;
    json_t *object = NULL;
    if (hu_config_flag(config, "json", NULL)) {
        HU_TRY(hu_compare_json(compare, &object));
        return hu_json_print(object);
    }
    HU_TRY(hu_compare_print(compare, hu_colour_wanted(STDOUT_FILENO), &text));
    fputs(text, stdout);
    printf("rows and compare.json: %s/\n", compare->directory);
    if (has_report) printf("report: %s/report.html\n", compare->directory);
done:
    hu_free(text);
    return st;
}

static bool has_ended(const hu_compare *compare) {
    for (int i = 0; i < compare->count; i++)
        if (compare->job[i].state == HU_JOB_DONE) return true;
    return false;
}

/* A row that diverged is a result; a row that could not run is not: 1, or the code that all rows
 * ended with (5 of a full disk). */
static int code_of(const hu_compare *compare) {
    int failed = 0, first = 0;
    bool is_same = true;
    for (int i = 0; i < compare->count; i++) {
        const hu_job *job = &compare->job[i];
        if (job->state != HU_JOB_FAILED) continue;
        if (failed++ == 0) first = job->exit_code;
        is_same = is_same && job->exit_code == first;
    }
    if (failed == 0) return 0;
    return failed == compare->count && is_same && first > 0 ? first : 1;
}

static hu_status run_compare(hu_config *config, int *exit_code) {
    hu_status st = HU_OK;
    hu_compare compare = {0};
    const volatile sig_atomic_t *interrupted;
    HU_TRY(hu_interrupt_install(&interrupted));
    /* Rows are processes of their own, which must end with this one. */
    hu_interrupt_mark_children();
    HU_TRY(hu_compare_read(config, &compare));
    HU_TRY(hu_compare_run(config, interrupted, &compare));
    /* The page is made of what is present; the table is told without it, too. Where no row ended
     * there is none to be made, and rows that failed are what went wrong first. */
    hu_report_tried page = {0};
    if (has_ended(&compare)) page = hu_report_try(compare.directory);
    HU_TRY(print(config, &compare, has_ended(&compare) && page.status == HU_OK));
    *exit_code = code_of(&compare);
    if (*exit_code == 0) st = hu_report_end(&page, compare.directory);
done:
    hu_compare_free(&compare);
    return st;
}

static const char *const flags[] = {"json", NULL};

static const char *const compare_keys[] = {HU_TRAINING_KEYS, "compare.*", NULL};

const hu_verb hu_verb_compare = {
    .name = "compare",
    .group = HU_VERBS_COMPARE,
    .help = "the same training in many precisions and seeds: one table",
    .usage = "precision=A,B,... [seeds=1,2,...] [key=value ...] [--json]",
    .details =
        "Any key of train. Each row is a process of its own in the folder DIR/PRECISION-sSEED;\n"
        "run.dir=DIR names the whole (auto: a folder below runs/ named after the other keys).\n"
        "The same command goes on where it was stopped; finished rows are only read. Commas in\n"
        "w=F,act=F and in fp(4,3,4) do not split; 'A;B;C' splits at semicolons only. A row may be\n"
        "a list by epoch: '0: fp32, 30: hfp8'. parallel=N runs N rows at once. * marks the front: "
        "no other precision is as good in both the task's\n"
        "metric and memory (means over the seeds) and better in one. Diverged rows are rows.\n"
        "All rows are evaluated with the weights rounded as in training, or all with the float32\n"
        "masters: eval.weights=master.\n",
    .flags = flags,
    .max_subjects = 0,
    .keys = compare_keys,
    .examples = {{"compare precision=fp32,hfp8 data=glyphs epochs=0.5",
                  "two precisions beside each other"},
                 {"compare precision=fp32,1/6/9,hfp8 seeds=1,2,3 model=resnet20 data=cifar10:DIR",
                  "three of them with three seeds each"}},
    .run = run_compare,
};
