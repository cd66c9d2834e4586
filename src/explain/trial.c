/* explain/trial.c - ways of rounding judged by the error that they make in each tensor.
 *
 * Errors that train well were measured on small networks: forward the error of three mantissa bits
 * with some room, backward more (docs/results.md, "Advice").
 */
#include "explain/trial.h"

#include <math.h>

#include "explain/expected.h"

#define FORWARD_ERROR 0.04
#define BACKWARD_ERROR 0.075
#define SMALL_ERROR 0.5 /* of parameters of one dimension */
#define FATAL_SCORE 100.0

/* Binades that are left to grow where the end of a format makes infinities. */
enum { HEADROOM = 1 };

/* Numbers of a tensor against those that are recorded of it, or of the one that stands for it. */
typedef struct spread {
    int32_t least, most; /* binades */
} spread;

/* Gradients while a training goes well, against those of its first step: in float32 the root mean
 * square of none shrank by more than 8 binades or grew by more than 4 (docs/results.md, "Advice").
 */
static const spread training = {-8, 4};

/* Gradients of parameters are sums over a batch; gradients of activations grow and shrink from
 * layer to layer. */
static spread spread_of(hu_role role) {
    static const spread spreads[HU_ROLE_COUNT] = {
        [HU_ROLE_ACT_GRAD] = {-8, 3}, [HU_ROLE_WEIGHT_GRAD] = {0, 6}};
    return spreads[role];
}

/* How a tensor is rounded; backward formats that saturate tell of it where a loss scale listens. */
static hu_quantizer quantizer_of(const hu_recorded *recorded, const hu_way *way, uint32_t t) {
    const hu_recorded_tensor *tensor = &recorded->tensor[t];
    hu_quantizer q = tensor->now;
    if (way->is_freed && way->is_freed[t]) q = way->usual[tensor->role];
    if (way->changes[tensor->role]) q = way->role[tensor->role];
    bool signals = hu_is_backward(tensor->role) && way->scaler != HU_LOSS_SCALE_NONE;
    if (signals && q.kind == HU_QUANTIZER_FLOAT && q.format.overflow == HU_OVERFLOW_SAT)
        q.format.overflow = HU_OVERFLOW_INF;
    return q;
}

/* What a tensor's numbers may be in steps that the run did not take. */
static spread spread_in(const hu_recorded *recorded, uint32_t t) {
    const hu_recorded_tensor *tensor = &recorded->tensor[t];
    if (tensor->source != t) return spread_of(tensor->role);
    bool moves = recorded->is_early && hu_is_backward(tensor->role);
    return moves ? training : (spread){0, 0};
}

/* The largest loss scale with so many binades of room. */
static int32_t limit_of(const hu_recorded *recorded, const hu_way *way, int32_t headroom) {
    int32_t limit = HU_NO_EXPONENT;
    for (uint32_t t = 0; t < recorded->count; t++) {
        const hu_recorded_tensor *tensor = &recorded->tensor[t];
        hu_quantizer q = quantizer_of(recorded, way, t);
        bool has_end = q.kind == HU_QUANTIZER_FLOAT && q.scale == HU_SCALE_NONE;
        if (!hu_is_backward(tensor->role) || !has_end || tensor->source == HU_NONE) continue;
        int32_t top = recorded->tensor[tensor->source].top;
        if (tensor->source != t) top += spread_of(tensor->role).most;
        int32_t most = hu_format_limits_of(&q.format).emax - headroom - top;
        if (limit == HU_NO_EXPONENT || most < limit) limit = most;
    }
    return limit;
}

int32_t hu_trial_limit(const hu_recorded *recorded, const hu_way *way) {
    bool stays = way->scaler == HU_LOSS_SCALE_CONSTANT;
    return limit_of(recorded, way, recorded->is_early && stays ? training.most : HEADROOM);
}

/* log2 of the loss scale that gradients have: a dynamic one falls until they fit. */
static int32_t scale_of(const hu_recorded *recorded, const hu_way *way) {
    if (way->scaler == HU_LOSS_SCALE_NONE) return 0;
    if (way->scaler == HU_LOSS_SCALE_CONSTANT) return way->scale;
    int32_t limit = limit_of(recorded, way, 0);
    return limit == HU_NO_EXPONENT || limit > way->scale ? way->scale : limit;
}

/* ---- judging ---- */

typedef struct judging {
    const hu_recorded *recorded;
    const hu_way *way;
    int32_t scale;
    hu_outcome result;
} judging;

static double bar_of(const hu_recorded_tensor *tensor) {
    if (tensor->is_small) return SMALL_ERROR;
    return hu_is_backward(tensor->role) ? BACKWARD_ERROR : FORWARD_ERROR;
}

/* Adds what a tensor loses of one histogram, its numbers so many binades larger; gives its score.
 */
static double judge_sample(judging *j, uint32_t t, const hu_quantizer *q,
                           const hu_recorded_sample *sample, int32_t more) {
    const hu_recorded_tensor *tensor = &j->recorded->tensor[t];
    bool is_backward = hu_is_backward(tensor->role), is_recorded = j->way->is_recorded;
    int32_t shift = more + (is_backward && !is_recorded ? j->scale - sample->scale : 0);
    bool adapts = is_backward && j->way->scaler == HU_LOSS_SCALE_DYNAMIC;
    bool has_room = is_recorded || adapts || more > 0;
    hu_expected e = hu_expect(sample->numbers, q, shift, has_room ? 0 : HEADROOM);
    double lost = e.vanished + e.exceeded, score = e.error / bar_of(tensor);
    hu_outcome *r = &j->result;
    if (!tensor->is_small && (lost > r->lost || r->lost_tensor == HU_NONE)) {
        r->lost = lost;
        r->lost_tensor = t;
    }
    if (!tensor->is_small && (e.error > r->error || r->error_tensor == HU_NONE)) {
        r->error = e.error;
        r->error_tensor = t;
    }
    if (e.is_fatal) r->is_fatal = true;
    return e.is_fatal ? FATAL_SCORE : score;
}

/* Whether a skipped step says nothing of how the run fared: its loss scale was given up. */
static bool is_passed_over(const judging *j, const hu_recorded_tensor *tensor,
                           const hu_recorded_sample *sample) {
    return sample->was_skipped && j->way->is_recorded && hu_is_backward(tensor->role) &&
           j->way->scaler == HU_LOSS_SCALE_DYNAMIC;
}

/* As recorded, and as small and as large as it may become: a dynamic scale makes way for what
 * grows. */
static double judge_tensor(judging *j, uint32_t t) {
    const hu_recorded_tensor *tensor = &j->recorded->tensor[t];
    if (tensor->source == HU_NONE) return 0.0;
    const hu_recorded_tensor *source = &j->recorded->tensor[tensor->source];
    hu_quantizer q = quantizer_of(j->recorded, j->way, t);
    bool is_told = tensor->source == t, is_recorded = j->way->is_recorded;
    bool adapts = j->way->scaler == HU_LOSS_SCALE_DYNAMIC;
    spread between = is_recorded ? (spread){0, 0} : spread_in(j->recorded, t);
    int32_t shift[] = {between.least, is_told && adapts ? 0 : between.most};
    double most = 0.0;
    if (!is_told && is_recorded) return 0.0;
    for (uint32_t s = 0; s < source->samples; s++) {
        const hu_recorded_sample *sample = &j->recorded->sample[source->first + s];
        if (is_passed_over(j, tensor, sample)) continue;
        for (int i = 0; i < (shift[0] == shift[1] ? 1 : 2); i++)
            most = fmax(most, judge_sample(j, t, &q, sample, shift[i]));
    }
    return most;
}

hu_outcome hu_trial_judge(const hu_recorded *recorded, const hu_way *way, bool backward,
                          double *scores) {
    judging j = {
        recorded, way, scale_of(recorded, way), {.lost_tensor = HU_NONE, .error_tensor = HU_NONE}};
    for (uint32_t t = 0; t < recorded->count; t++) {
        if (hu_is_backward(recorded->tensor[t].role) != backward) continue;
        double score = judge_tensor(&j, t);
        if (score > j.result.score) j.result.score = score;
        if (scores) scores[t] = score;
    }
    return j.result;
}

hu_outcome hu_outcome_worse(const hu_outcome *a, const hu_outcome *b) {
    hu_outcome worse = *a;
    bool takes_lost = a->lost_tensor == HU_NONE || b->lost > a->lost;
    bool takes_error = a->error_tensor == HU_NONE || b->error > a->error;
    worse.score = a->score > b->score ? a->score : b->score;
    worse.is_fatal = a->is_fatal || b->is_fatal;
    if (takes_lost && b->lost_tensor != HU_NONE) {
        worse.lost = b->lost;
        worse.lost_tensor = b->lost_tensor;
    }
    if (takes_error && b->error_tensor != HU_NONE) {
        worse.error = b->error;
        worse.error_tensor = b->error_tensor;
    }
    return worse;
}
