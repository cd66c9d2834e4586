#include "comm/cost_model.h"

#include <math.h>

#include <halfulp/round.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "comm/internal.h"
#include "kernel/block/block.h"

enum { NARROW_BELOW_BITS = 16 };

const char *hu_comm_fusion_name(hu_comm_fusion fusion) {
    static const char *const names[HU_COMM_FUSIONS] = {"layer", "bucket", "whole"};
    return names[fusion];
}

/* The larger of the size of a group and the number of groups. */
static int32_t larger_side(int32_t nodes, int32_t k) {
    return k > nodes / k ? k : nodes / k;
}

int32_t hu_comm_usual_group(int32_t nodes) {
    int32_t best = 0;
    for (int32_t k = 2; k < nodes; k++)
        if (nodes % k == 0 && (best == 0 || larger_side(nodes, k) < larger_side(nodes, best)))
            best = k;
    return best;
}

static bool is_narrow(const hu_format *format) {
    return hu_format_bits(format) < NARROW_BELOW_BITS;
}

/* What the first worker does: no other one has more to do, in any schedule. */
static hu_status find_work(const hu_comm_plan *plan, const hu_comm_rates *rates,
                           hu_comm_answer *answer) {
    hu_comm_list list;
    double numbers = (double)plan->elements, sent = 0.0, added = 0.0;
    hu_status st = hu_comm_list_make(plan->options.schedule, &plan->shape, 0, &list);
    if (st != HU_OK) return st;
    for (int32_t a = 0; a < list.count; a++) {
        const hu_comm_action *action = &list.action[a];
        double share = numbers * action->count / plan->pieces;
        if (action->act == HU_COMM_SEND) sent += share;
        if (action->act == HU_COMM_ADD) added += share;
        if (action->act == HU_COMM_COMBINE) added += share * action->slots;
    }
    answer->work_seconds =
        numbers * (rates->quantise + rates->decode) + sent * rates->move + added * rates->add;
    answer->memory_bytes = hu_comm_worker_bytes(plan, &list);
    hu_comm_list_free(&list);
    return HU_OK;
}

static hu_status find_answer(const hu_comm_question *question, const hu_comm_rates *rates,
                             hu_comm_answer *answer) {
    hu_status st = HU_OK;
    hu_comm_plan *plan = NULL;
    double limit = hu_comm_flush_workers(&answer->options);
    answer->all_zero = limit > 0.0 && question->nodes >= limit;
    HU_TRY(hu_comm_plan_create(&answer->options, question->layer, question->layers, &plan));
    HU_TRY(hu_comm_predict(plan, &question->link, &answer->time));
    HU_TRY(find_work(plan, rates, answer));
done:
    hu_comm_plan_free(plan);
    return st;
}

/* The options of one answer. */
static hu_comm_answer begin_answer(const hu_comm_question *question,
                                   const hu_comm_schedule *schedule, hu_comm_fusion fusion,
                                   const hu_format *format) {
    const int64_t bytes[HU_COMM_FUSIONS] = {1, question->bucket_bytes, INT64_MAX};
    const hu_comm_scaling *none = &hu_comm_scaling_none;
    return (hu_comm_answer){
        .fusion = fusion,
        .is_narrow = is_narrow(format),
        .options = {.workers = question->nodes,
                    .schedule = schedule,
                    .group = schedule->has_groups ? hu_comm_usual_group(question->nodes) : 0,
                    .scaling = is_narrow(format) ? question->scaling : none,
                    .format = *format,
                    .bucket_bytes = bytes[fusion]}};
}

/* Whether a schedule can serve so many nodes. */
static bool fits(const hu_comm_question *question, const hu_comm_schedule *schedule) {
    return !schedule->has_groups || hu_comm_usual_group(question->nodes) > 0;
}

/* Whether the sums of an answer are wanted in float32 while they travel. */
static bool is_missing(const hu_comm_answer *answer) {
    return answer->options.scaling->wide && answer->options.schedule->adds_on_way;
}

/* One schedule and fusion in all formats. */
static hu_status add_row(const hu_comm_question *question, const hu_comm_schedule *schedule,
                         hu_comm_fusion fusion, hu_comm_advice *advice) {
    hu_comm_answer *row = &advice->answer[advice->count];
    double wide = INFINITY;
    for (int32_t c = 0; c < question->choices; c++) {
        row[c] = begin_answer(question, schedule, fusion, &question->choice[c].format);
        row[c].is_missing = is_missing(&row[c]);
        if (row[c].is_missing) continue;
        hu_status st = find_answer(question, &question->choice[c].rates, &row[c]);
        if (st != HU_OK) return st;
        if (!row[c].is_narrow) wide = fmin(wide, hu_comm_answer_seconds(&row[c]));
    }
    for (int32_t c = 0; c < question->choices; c++)
        row[c].pays = question->nodes > 1 && row[c].is_narrow && !row[c].is_missing &&
                      !row[c].all_zero && hu_comm_answer_seconds(&row[c]) < wide;
    advice->count += question->choices;
    return HU_OK;
}

static void find_fastest(hu_comm_advice *advice) {
    for (int32_t i = 0; i < advice->count; i++) {
        const hu_comm_answer *answer = &advice->answer[i];
        const hu_comm_answer **best = answer->is_narrow ? &advice->narrow : &advice->wide;
        if (answer->is_missing || answer->all_zero) continue;
        if (!*best || hu_comm_answer_seconds(answer) < hu_comm_answer_seconds(*best))
            *best = answer;
    }
}

hu_status hu_comm_advise(const hu_comm_question *question, hu_comm_advice *advice) {
    hu_status st = HU_OK;
    const hu_comm_schedule *schedule;
    size_t schedules = 0;
    *advice = (hu_comm_advice){.choices = question->choices};
    while (hu_comm_schedule_at(schedules)) schedules++;
    HU_TRY(HU_NEW_ARRAY(&advice->answer, schedules * HU_COMM_FUSIONS * (size_t)question->choices));
    for (size_t i = 0; (schedule = hu_comm_schedule_at(i)) != NULL; i++)
        for (int f = 0; f < HU_COMM_FUSIONS && fits(question, schedule); f++)
            HU_TRY(add_row(question, schedule, (hu_comm_fusion)f, advice));
    if (question->nodes > 1) find_fastest(advice);
done:
    if (st != HU_OK) hu_comm_advice_free(advice);
    return st;
}

void hu_comm_advice_free(hu_comm_advice *advice) {
    hu_free(advice->answer);
    *advice = (hu_comm_advice){0};
}

/* ---- expected ---- */

/* What a way of sending would lose of gradients that are known by their exponents
 * alone.
 *
 * A scale follows the largest number; within its binade that is taken to lie in the middle, so that
 * a scale may be off by one binade. Scales of pieces (aps2) are taken as one of the whole tensor,
 * which loses more.
 */

/* The k of numbers whose largest is about top. */
static int32_t scale_of(const hu_comm_options *o, float top) {
    uint32_t bits = hu_f32_bits(top);
    if (o->scaling->takes_constant) return hu_scale_clamp(&o->format, -o->constant);
    if (o->scaling->fresh) return hu_scale_exponent(&o->format, HU_SCALE_CURRENT, bits);
    int32_t exponent = hu_comm_exponent(o->scaling, &o->format, o->workers, bits, false);
    return hu_scale_clamp(&o->format, hu_comm_scale_of(&o->format, exponent));
}

hu_comm_expected hu_comm_expect(const hu_comm_options *o, const hu_exponents *exponents) {
    hu_comm_expected e = {.sums_fit = true};
    int32_t exponent = hu_exponents_top(exponents);
    /* Codes of a scaling's own keep its range, and lose elsewhere than a format does. */
    if (exponent == HU_NO_EXPONENT || o->scaling->code) return e;
    float top = (float)ldexp(1.5, exponent);
    e.k = scale_of(o, top);
    e.lost = hu_exponents_lost(exponents, &o->format, -e.k);
    /* A scale that follows the largest number leaves none beyond the range, wherever in its binade
     * that number lies. */
    bool follows = o->scaling->fresh || o->scaling->exponent;
    if (follows && exponents->nonfinite == 0) e.lost.overflow = (hu_lost_share){0};
    /* Sums in float32 get a scale of their own, or room for all. */
    double sum = ldexp((double)top, -e.k) * (double)o->workers;
    e.sums_fit = o->scaling->fresh || sum <= hu_format_limits_of(&o->format).max_finite;
    return e;
}
