/* halfulp why: where the numbers of a run died. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/verb.h"
#include "cli/why_print.h"
#include "config/unused_keys.h"
#include "explain/remedy_keys.h"
#include "explain/root_cause.h"
#include "explain/tensor_table.h"
#include "explain/why_json.h"
#include "explain/wire_remedy.h"
#include "show/table.h"
#include "sweep/price.h"
#include "sweep/try.h"

/* From narrow to wide, the order in which the answer lists them. */
static const char usual_formats[] = "e2m1,e4m3fn,e5m2,fp16,1/6/9,bf16,tf32,fp32";

/* Tensors that a glob names, instead of the story. */
static hu_status print_listed(const hu_explaining *x, const char *glob, bool as_json) {
    hu_status st = HU_OK;
    hu_listed_tensor *tensor = NULL;
    hu_table *table = NULL;
    uint32_t count;
    HU_TRY(hu_listed_create(&x->run, glob, &tensor, &count));
    if (as_json)
        HU_TRY(hu_json_print(json_pack("{s:s, s:o}", "run", x->run.folder, "tensors",
                                       hu_listed_json(tensor, count))));
    if (!as_json) HU_TRY(hu_listed_table(tensor, count, &table));
    if (!as_json) HU_TRY(hu_show_table(table));
done:
    hu_table_free(table);
    hu_free(tensor);
    return st;
}

/* The run's history, its formats to try, and what happened in it. */
static hu_status open_run(const hu_config *config, hu_explaining *x) {
    hu_status st = HU_OK;
    const char *formats;
    HU_TRY(hu_config_text(config, "bench.format", &formats));
    HU_TRY(hu_opened_run_read(hu_config_subject(config, 0), formats[0] ? formats : usual_formats,
                              &x->run));
    HU_TRY(hu_why_create(&x->run, &x->why));
done:
    return st;
}

/* What died between workers, or in the optimizer, has advice of its own; a folder without a
 * configuration has none. */
static hu_status find_advice(const hu_explaining *x, hu_repair *advice, bool *has_advice) {
    uint32_t place = x->why.death.place;
    bool is_apart = hu_is_optimizer_state(&x->run, place) ||
                    (place != HU_NONE && hu_is_on_wire(&x->run, place));
    *has_advice = x->run.config && !is_apart;
    hu_status st = *has_advice ? hu_repair_create(&x->run, &x->why, advice) : HU_OK;
    return st == HU_OK && *has_advice ? hu_repair_price(x->run.folder, advice) : st;
}

static json_t *whole_json(const hu_explaining *x, uint32_t asked, const hu_repair *advice) {
    json_t *object = hu_why_json(x, asked);
    if (object)
        json_object_set_new(object, "advice", advice ? hu_repair_json(x, advice) : json_null());
    return object;
}

static const char *const why_keys[] = {"bench.format", "why.try", "run.threads",
                                       "run.seed",     "run.dir", NULL};

/* What is asked of try=; without it nothing trains, and nothing reads the keys of a training. */
static hu_status read_request(const hu_config *config, hu_try_request *request) {
    static const char *const keys[] = {"bench.format", "why.try", NULL};
    hu_status st = HU_OK;
    *request = (hu_try_request){0};
    HU_TRY(hu_config_i64(config, "why.try", &request->number));
    HU_TRY(hu_keys_used(config, "why", request->number > 0 ? why_keys : keys));
    request->threads = hu_config_typed(config, "run.threads");
    request->seed = hu_config_typed(config, "run.seed");
    if (hu_config_given(config, "run.dir") && !hu_config_is_auto(config, "run.dir"))
        HU_TRY(hu_config_text(config, "run.dir", &request->folder));
done:
    return st;
}

static hu_status run_why(hu_config *config, int *exit_code) {
    hu_status st = HU_OK;
    uint32_t asked;
    hu_explaining x = {0};
    hu_repair advice = {0};
    bool has_advice = false;
    hu_try_request request;
    const char *name = hu_config_subject(config, 1);
    bool as_json = hu_config_flag(config, "json", NULL);
    (void)exit_code;
    HU_TRY(read_request(config, &request));
    HU_TRY(open_run(config, &x));
    if (name && name[strcspn(name, "*?")]) {
        HU_TRY(print_listed(&x, name, as_json));
        goto done;
    }
    HU_TRY(hu_fact_place(&x, name, &asked));
    HU_TRY(find_advice(&x, &advice, &has_advice));
    if (request.number > 0) {
        HU_TRY(hu_why_try(&x, has_advice ? &advice : NULL, &request, as_json));
    } else if (as_json) {
        st = hu_json_print(whole_json(&x, asked, has_advice ? &advice : NULL));
    } else {
        hu_why_print(&x, asked);
        if (has_advice) hu_repair_write(&x, &advice, stdout);
    }
done:
    hu_repair_free(&advice);
    hu_why_free(&x.why);
    /* The findings point into the run, so they go first. */
    hu_opened_run_close(&x.run);
    return st;
}

static const char *const flags[] = {"json", NULL};

const hu_verb hu_verb_why = {
    .name = "why",
    .group = HU_VERBS_UNDERSTAND,
    .help = "where the numbers of a run died: tensor, step, cause, what would have held them",
    .usage = "RUN [TENSOR|GLOB] [format=F,...] [try=N [run.dir=DIR] [threads=N] [seed=N]] [--json]",
    .details =
        "Of a run that diverged: names the first tensor with infinities or NaNs in the step with\n"
        "which it ended. Else the worst of those of which much was lost for at least half of the\n"
        "time: by how much, how long, and how many others are made of it. All zero, 90 % too "
        "small\n"
        "or half too large is much; less is only where the error is a tenth of the tensor's sum "
        "of\n"
        "squares and the loss has not fallen by a fifth. Else the one that came closest. Tells\n"
        "whether it made the loss itself or got it, and which of the formats of format= would "
        "have\n"
        "held its numbers. Of a product's output the accumulator is asked first (accumulator=).\n"
        "TENSOR asks for another one; a GLOB lists what became of all that it\n"
        "names ('*.wire': gradients between workers, as sent; '*.momentum', '*.squares': state of "
        "the\n"
        "optimizer that optimizer.state= packs).\n"
        "Says what to try: other formats for a role, a loss scale, another rule; each is tried on\n"
        "the recorded numbers of all tensors first. try=1 trains the run again with the first,\n"
        "into run.dir= (RUN-try1), with threads= and seed=.\n",
    .flags = flags,
    .min_subjects = 1,
    .max_subjects = 2,
    .keys = why_keys,
    .refuses_others = true,
    .examples = {{"why RUN", "where numbers died, and what to try"},
                 {"why RUN '*.grad'", "what became of all gradients"}},
    .run = run_why,
};
