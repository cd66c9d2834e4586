/* The answer of `why`, for its verb and for programs. */
#include "diagnose/answer.h"

#include <halfulp/why.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/wire_remedy.h"

/* From narrow to wide, the order in which the answer lists them. */
static const char usual_formats[] = "e2m1,e4m3fn,e5m2,fp16,1/6/9,bf16,tf32,fp32";

hu_status hu_answer_open(const char *folder, const char *formats, hu_answer *answer) {
    hu_status st = HU_OK;
    hu_diagnosis *x = &answer->x;
    HU_TRY(hu_run_record_read(folder, formats && formats[0] ? formats : usual_formats, &x->run));
    HU_TRY(hu_why_create(&x->run, &x->why));
done:
    return st;
}

hu_status hu_answer_advise(hu_answer *answer) {
    hu_status st = HU_OK;
    const hu_diagnosis *x = &answer->x;
    uint32_t place = x->why.death.place;
    bool is_apart = hu_is_optimizer_state(&x->run, place) ||
                    (place != HU_NONE && hu_is_on_wire(&x->run, place));
    if (!x->run.config || is_apart) return HU_OK;
    answer->has_advice = true;
    HU_TRY(hu_remedy_create(&x->run, &x->why, &answer->advice));
done:
    return st;
}

hu_remedy *hu_answer_advice(hu_answer *answer) {
    return answer->has_advice ? &answer->advice : NULL;
}

json_t *hu_answer_json(const hu_answer *answer, uint32_t asked) {
    json_t *object = hu_why_json(&answer->x, asked);
    if (object)
        json_object_set_new(object, "advice",
                            answer->has_advice ? hu_remedy_json(&answer->x, &answer->advice)
                                               : json_null());
    return object;
}

void hu_answer_close(hu_answer *answer) {
    hu_remedy_free(&answer->advice);
    hu_why_free(&answer->x.why);
    /* The findings point into the run, so they go first. */
    hu_run_record_close(&answer->x.run);
}

/* ---- why.h ---- */

hu_status hu_why_of_run(const char *folder, const char *tensor, const char *formats, char **json) {
    HU_GIVEN(json);
    *json = NULL;
    HU_GIVEN(folder);
    hu_status st = HU_OK;
    hu_answer answer = {0};
    uint32_t asked;
    HU_TRY(hu_answer_open(folder, formats, &answer));
    HU_TRY(hu_fact_place(&answer.x, tensor, &asked));
    HU_TRY(hu_answer_advise(&answer));
    HU_TRY(hu_json_pretty(hu_answer_json(&answer, asked), json));
done:
    hu_answer_close(&answer);
    return st;
}

void hu_why_text_free(char *json) {
    hu_free(json);
}
