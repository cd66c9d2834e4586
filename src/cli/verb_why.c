/* halfulp why: where the numbers of a run died. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "cli/verb.h"
#include "cli/why_print.h"
#include "config/used.h"
#include "show/stdout.h"

/* From narrow to wide, the order in which the answer lists them. */
static const char usual_formats[] = "e2m1,e4m3fn,e5m2,fp16,1/6/9,bf16,tf32,fp32";

/* Place of the tensor that the user named, HU_NONE for none. */
static hu_status find_asked(const hu_explaining *x, const char *name, uint32_t *place) {
    hu_status st = HU_OK;
    char text[HU_TENSOR_NAME_BYTES], nearest[256];
    void *block = NULL;
    *place = HU_NONE;
    if (!name) return HU_OK;
    for (uint32_t i = 0; i < x->run.walk.count; i++)
        if (strcmp(hu_fact_name(x, i, text), name) == 0) *place = i;
    if (*place != HU_NONE) return HU_OK;
    /* Advice: the nearest of the names that stand in the run's files. */
    HU_TRY(hu_alloc_array(x->run.history->tensors.count, sizeof(char *), &block));
    const char **names = block;
    for (uint32_t i = 0; i < x->run.history->tensors.count; i++)
        names[i] = x->run.history->tensors.name[i];
    hu_nearest(name, names, x->run.history->tensors.count, nearest, sizeof nearest);
    st = hu_fail(HU_ERR_UNKNOWN, "%s has no tensor '%.100s', nearest: %s", x->run.folder, name,
                 nearest);
done:
    hu_free(block);
    return st;
}

/* The run's history, its formats to try, and what happened in it. */
static hu_status open_run(const hu_config *config, hu_explaining *x) {
    hu_status st = HU_OK;
    const char *formats;
    HU_TRY(hu_config_text(config, "bench.format", &formats));
    HU_TRY(hu_opened_run_read(hu_config_subject(config, 0), formats[0] ? formats : usual_formats,
                              &x->run));
    HU_TRY(hu_why_create(x->run.history, &x->run.walk, &x->why));
done:
    return st;
}

static hu_status run_why(hu_config *config, int *exit_code) {
    static const char *const keys[] = {"bench.format", NULL};
    hu_status st = HU_OK;
    uint32_t asked;
    hu_explaining x = {0};
    (void)exit_code;
    HU_TRY(hu_keys_used(config, "why", keys));
    HU_TRY(open_run(config, &x));
    HU_TRY(find_asked(&x, hu_config_subject(config, 1), &asked));
    if (hu_config_flag(config, "json", NULL))
        st = hu_json_print(hu_why_json(&x, asked));
    else
        hu_why_print(&x, asked);
done:
    hu_why_free(&x.why);
    /* The findings point into the run, so they go first. */
    hu_opened_run_close(&x.run);
    return st;
}

static const char *const flags[] = {"json", NULL};

const hu_verb hu_verb_why = {
    .name = "why",
    .help = "where the numbers of a run died: tensor, step, cause, what would have held them",
    .usage = "RUN [TENSOR] [format=F,...] [--json]",
    .details =
        "Names the first tensor with infinities or NaNs in the step with which a run ended; else "
        "the\n"
        "first of which much was lost (1 % too large, half of the nonzero numbers too small, or "
        "all\n"
        "zero); else the one that came closest. Tells whether it made the loss itself or got it, "
        "and\n"
        "which of the formats of format= would have held its numbers. TENSOR asks for another "
        "one.\n",
    .flags = flags,
    .min_subjects = 1,
    .max_subjects = 2,
    .run = run_why,
};
