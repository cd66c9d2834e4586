/* halfulp score: how good is a number format? A fixed suite of small trainings beside float32's. */
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "render/table.h"
#include "sweep/score.h"

static hu_status print(const hu_config *config, const hu_scores *scores) {
    hu_status st = HU_OK;
    char *text = NULL;
    json_t *object = NULL;
    if (hu_config_flag(config, "json", NULL)) {
        HU_TRY(hu_scores_json(scores, &object));
        return hu_json_print(object);
    }
    HU_TRY(hu_scores_print(scores, &text));
    fputs(text, stdout);
done:
    hu_free(text);
    return st;
}

static hu_status run_score(hu_config *config, int *exit_code) {
    hu_status st;
    hu_scores scores = {0};
    const volatile sig_atomic_t *interrupted;
    (void)exit_code;
    HU_TRY(hu_interrupt_install(&interrupted));
    hu_interrupt_mark_children();
    HU_TRY(hu_scores_read(config, &scores));
    HU_TRY(hu_scores_run(config, interrupted, &scores));
    st = print(config, &scores);
done:
    hu_scores_free(&scores);
    return st;
}

static const char *const flags[] = {"json", NULL};

static const char *const score_keys[] = {
    "score.*",          "precision.*",   "accumulator.*",   "scaler.*",
    "bits.*",           "compare.seeds", "run.dir",         "run.steps",
    "compare.parallel", "run.threads",   "run.quiet",       "optimizer.state",
    "run.products",     "data.limit",    "data.test_limit", NULL};

enum { MAX_SUBJECTS = 1024 };

const hu_verb hu_verb_score = {
    .name = "score",
    .group = HU_VERBS_COMPARE,
    .help = "how good is a number format: one figure, from eight small trainings",
    .usage = "FORMAT|PRECISION... [suite=quick] [accumulator=A] [key=value ...] [--json]",
    .details =
        "Eight networks are trained on data that every machine draws for itself, with three seeds\n"
        "each, and float32 beside them. Score of a training: the share of float32's gain over\n"
        "guessing that is kept, in per cent; of a network: mean over the seeds; of a format: mean\n"
        "over the networks, with its standard error, the bits of a number (scales of blocks too)\n"
        "and the place in the league (docs/league). suite=quick: four networks, one seed.\n"
        "The same command goes on where it was stopped; what was trained once is only read\n"
        "(run.dir=DIR, usually runs/score). A precision by role, as w=e4m3,act=e5m2, stands first\n"
        "or in precision='A;B'. steps, data.limit, seeds and score.networks make other suites,\n"
        "whose figures nothing is comparable with.\n",
    .flags = flags,
    .max_subjects = MAX_SUBJECTS,
    .keys = score_keys,
    .examples = {{"score e4m3fn suite=quick", "a first look, in half a minute"},
                 {"score e4m3fn mxfp8 hfp8", "three of them, by the whole suite"},
                 {"score fp32 accumulator=fmac8:1/6/9", "a low-precision accumulator alone"}},
    .run = run_score,
};
