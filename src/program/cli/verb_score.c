/* halfulp score: how good is a number format? A fixed suite of small trainings beside float32's. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
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

/* Without a format: the league. */
static hu_status print_league(const hu_config *config) {
    hu_status st = HU_OK;
    char *text = NULL;
    json_t *object = NULL;
    if (hu_config_flag(config, "json", NULL)) {
        HU_TRY(hu_league_json(&object));
        return hu_json_print(object);
    }
    HU_TRY(hu_league_print(&text));
    fputs(text, stdout);
done:
    hu_free(text);
    return st;
}

/* out=FILE.svg; *path NULL: no picture is asked for. Asked before anything is trained. */
static hu_status choose_picture(const hu_config *config, const char **path) {
    static const char *const endings[] = {"svg", NULL};
    int form;
    *path = NULL;
    if (!hu_config_given(config, "out.file")) return HU_OK;
    hu_status st = hu_config_text(config, "out.file", path);
    return st == HU_OK ? hu_ending_find(*path, endings, &form) : st;
}

/* scores NULL: the league alone. */
static hu_status draw(const hu_scores *scores, const char *path) {
    char *svg = NULL;
    hu_status st = HU_OK;
    if (!path) return HU_OK;
    HU_TRY(hu_league_draw(scores, &svg));
    st = hu_file_replace(path, svg, strlen(svg));
    if (st == HU_OK) fprintf(stderr, "drawn: %s\n", path);
done:
    hu_free(svg);
    return st;
}

static hu_status score_formats(hu_config *config, const char *picture) {
    hu_status st;
    hu_scores scores = {0};
    const volatile sig_atomic_t *interrupted;
    HU_TRY(hu_interrupt_install(&interrupted));
    hu_interrupt_mark_children();
    HU_TRY(hu_scores_read(config, &scores));
    HU_TRY(hu_scores_run(config, interrupted, &scores));
    HU_TRY(draw(&scores, picture));
    st = print(config, &scores);
done:
    hu_scores_free(&scores);
    return st;
}

static hu_status run_score(hu_config *config, int *exit_code) {
    hu_status st;
    const char *picture;
    bool is_asked = hu_config_subjects(config) > 0 || hu_config_given(config, "precision.name");
    (void)exit_code;
    HU_TRY(choose_picture(config, &picture));
    if (is_asked) return score_formats(config, picture);
    HU_TRY(draw(NULL, picture));
    st = print_league(config);
done:
    return st;
}

static const char *const flags[] = {"json", NULL};

static const char *const score_keys[] = {"score.*",          "precision.*",     "accumulator.*",
                                         "operand.*",        "scaler.*",        "bits.*",
                                         "compare.seeds",    "run.dir",         "run.steps",
                                         "compare.parallel", "run.threads",     "run.quiet",
                                         "out.file",         "optimizer.state", "run.products",
                                         "data.limit",       "data.test_limit", NULL};

enum { MAX_SUBJECTS = 1024 };

const hu_verb hu_verb_score = {
    .name = "score",
    .group = HU_VERBS_COMPARE,
    .help = "how good is a number format: one figure, from eight small trainings",
    .usage = "[FORMAT|PRECISION...] [suite=quick] [accumulator=A] [out=FILE.svg] [key=value ...] "
             "[--json]",
    .details =
        "Eight networks are trained on data that every machine draws for itself, with three seeds\n"
        "each, and float32 beside them. Score of a training: the share of float32's gain over\n"
        "guessing that is kept, in per cent; of a network: mean over the seeds; of a format: mean\n"
        "over the networks, with its standard error, the bits of a number (scales of blocks too)\n"
        "and the place in the league (docs/league). suite=quick: four networks, one seed.\n"
        "The same command goes on where it was stopped; what was trained once is only read\n"
        "(run.dir=DIR, usually runs/score). A precision by role, as w=e4m3,act=e5m2, stands first\n"
        "or in precision='A;B'. Without a format the league is printed; out=FILE.svg draws it,\n"
        "and the formats of the command in it, against bits. steps, data.limit, seeds and\n"
        "score.networks make other suites, whose figures nothing is comparable with.\n",
    .flags = flags,
    .max_subjects = MAX_SUBJECTS,
    .keys = score_keys,
    .examples = {{"score e4m3fn suite=quick", "a first look, in half a minute"},
                 {"score", "the league"},
                 {"score fp32 accumulator=fmac8:1/6/9", "a low-precision accumulator alone"}},
    .run = run_score,
};
