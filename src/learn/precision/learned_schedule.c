#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/bits.h"
#include "precision/internal.h"

/* ---- bits learned ---- */

/* Learned precision (LDP): every layer has a number beta, which the training moves like a weight,
 * and b = round(beta N) bits, N the most bits. Source: Yu et al., "LDP: Learnable Dynamic
 * Precision".
 *
 *   quantiser   Q = s round(u) + Z, u = (x - Z) / s, s = range / (2^b - 1)
 *   task        G_T = dL/dbeta = sum of dL/dQ (round(u) - u) ds/dbeta   (round straight through)
 *               ds/dbeta = -s N ln 2 2^b / (2^b - 1); of floats, s = 2^(e - m), -s N ln 2
 *   cost        C = sum over layers of the forward cost (Eq. 4 with bit-operations)
 *               G_C = dC/dbeta where C >= T, else 0
 *   both        G = G_T + alpha G_C mean|G_T| / (mean|G_C| + 1e-12)   (Eq. 5; means over layers)
 *   step        beta <- clamp(beta - rate G), within [least, most] / N
 *
 * T is the share bits.target of the cost with the most bits everywhere. All layers begin with the
 * least bits. A layer with bounds of its own (bits.layers) keeps within them, beta too; one that
 * has no choice takes no part in the means. The bits of a step are those of the betas that the step
 * before left. */

/* What a checkpoint holds: the settings, then the betas of the quantised layers' list. */
typedef struct saved_head {
    uint32_t least, most, kind, layers;
} saved_head;

typedef struct ldp {
    hu_bits_task task;
    double target;                   /* T */
    double *task_slope, *cost_slope; /* [layers] G_T and G_C of the step */
    size_t saved_bytes;
    saved_head *saved;
    double *beta; /* [layers], after the head */
} ldp;

static uint32_t bits_of(const ldp *p, uint32_t layer) {
    const hu_bits_range *range = &p->task.bits->forward;
    double b = rint(p->beta[layer] * range->most);
    b = fmin(fmax(b, range->least), range->most);
    return hu_bits_bound(&p->task.layers->layer[layer], (uint32_t)b);
}

/* Where a layer's bits move: all of the range, or what its bounds leave of it; one number where
 * they leave nothing. */
static hu_bits_range range_of(const hu_bits_task *task, uint32_t layer) {
    const hu_bits_layer *l = &task->layers->layer[layer];
    const hu_bits_range *range = &task->bits->forward;
    return (hu_bits_range){hu_bits_bound(l, range->least), hu_bits_bound(l, range->most)};
}

/* A layer whose bounds are one number learns nothing. */
static bool learns(const hu_bits_task *task, uint32_t layer) {
    hu_bits_range range = range_of(task, layer);
    bool is_free = task->bits->rule_count == 0 || range.least < range.most;
    return task->layers->layer[layer].is_quantised && is_free;
}

/* C with the same bits everywhere, but for the bounds of layers. */
static double bounded_cost(const hu_bits_task *task, double b) {
    const hu_cost_task costs = hu_bits_cost_task(task);
    double sum = 0.0;
    for (uint32_t l = 0; l < task->layers->count; l++) {
        const hu_bits_layer *layer = &task->layers->layer[l];
        double own = fmin(fmax(b, layer->bounds.least), layer->bounds.most);
        if (layer->is_quantised) sum += hu_cost_forward(task->bits->cost, &costs, layer, own);
    }
    return sum;
}

/* C with the same bits everywhere. */
static double cost_at(const hu_bits_task *task, double b) {
    const hu_cost_task costs = hu_bits_cost_task(task);
    double sum = 0.0;
    for (uint32_t l = 0; l < task->layers->count; l++)
        if (task->layers->layer[l].is_quantised)
            sum += hu_cost_forward(task->bits->cost, &costs, &task->layers->layer[l], b);
    return sum;
}

static double present_cost(const ldp *p) {
    const hu_cost_task costs = hu_bits_cost_task(&p->task);
    double sum = 0.0;
    for (uint32_t l = 0; l < p->task.layers->count; l++)
        if (p->task.layers->layer[l].is_quantised)
            sum += hu_cost_forward(p->task.bits->cost, &costs, &p->task.layers->layer[l],
                                   bits_of(p, l));
    return sum;
}

/* The target is of a cost that grows: where fewer bits cost more, there is nothing to weigh. A
 * table of the user may say anything. */
static hu_status check_growth(const hu_bits_task *task) {
    const hu_bits *bits = task->bits;
    char less[HU_BITS_NAME_BYTES], more[HU_BITS_NAME_BYTES];
    for (uint32_t b = bits->forward.least; b < bits->forward.most; b++) {
        if (cost_at(task, b) <= cost_at(task, b + 1)) continue;
        hu_bits_name(bits->kind, bits->exponent_bits, b, less);
        hu_bits_name(bits->kind, bits->exponent_bits, b + 1, more);
        return hu_fail(HU_ERR_ARGUMENT,
                       "bits.cost=%s: found %s dearer than %s, expected costs that do not fall "
                       "where bits grow; what runs in a wider format costs as much as that",
                       bits->cost->name, less, more);
    }
    if (cost_at(task, bits->forward.most) > 0.0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "bits.cost=%s: found only costs of 0", bits->cost->name);
}

static hu_status check_target(const hu_bits_task *task) {
    const hu_bits *bits = task->bits;
    double least = bounded_cost(task, bits->forward.least),
           most = cost_at(task, bits->forward.most);
    if (bits->target * most >= least) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "bits.target: found %g, expected at least %.4f: the share of %s with %u bits in "
                   "all layers%s of that with %u",
                   bits->target, ceil(1e4 * least / most) / 1e4, bits->cost->name,
                   bits->forward.least, bits->rule_count ? " (bits.layers)" : "",
                   bits->forward.most);
}

/* A layer's beta stays where its bits do, and within those of all. */
static double clamp_beta(const ldp *p, uint32_t layer, double beta) {
    hu_bits_range own = range_of(&p->task, layer);
    const hu_bits_range *all = &p->task.bits->forward;
    double least = (double)own.least / all->most, most = (double)own.most / all->most;
    beta = fmin(fmax(beta, least), most);
    return fmin(fmax(beta, (double)all->least / all->most), 1.0);
}

/* One block: the state, two arrays, then what is saved. */
static hu_status create(const hu_bits_task *task, void **state) {
    hu_status st = HU_OK;
    uint32_t layers = task->layers->count;
    const hu_bits_range *range = &task->bits->forward;
    size_t array = layers * sizeof(double), saved = sizeof(saved_head) + array;
    HU_TRY(check_growth(task));
    HU_TRY(check_target(task));
    HU_TRY(hu_alloc(sizeof(ldp) + 2 * array + saved, state));
    ldp *p = *state;
    p->task = *task;
    p->target = task->bits->target * cost_at(task, range->most);
    p->task_slope = (double *)(p + 1);
    p->cost_slope = p->task_slope + layers;
    p->saved = (saved_head *)(p->cost_slope + layers);
    p->beta = (double *)(p->saved + 1);
    p->saved_bytes = saved;
    *p->saved = (saved_head){range->least, range->most, task->bits->kind, layers};
    for (uint32_t l = 0; l < layers; l++)
        p->beta[l] = clamp_beta(p, l, (double)range->least / range->most);
done:
    return st;
}

static void at(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient) {
    const ldp *p = state;
    (void)step;
    hu_bits_fill(p->task.layers, 0, forward);
    for (uint32_t l = 0; l < p->task.layers->count; l++)
        if (p->task.layers->layer[l].is_quantised) forward[l] = (uint8_t)bits_of(p, l);
    hu_bits_fill_gradient(&p->task, forward, gradient);
}

/* ds/dbeta / s. */
static double slope_of_step(const hu_bits *bits, uint32_t b) {
    const double ln2 = 0x1.62e42fefa39efp-1;
    double codes = (double)(UINT32_C(1) << b);
    double slope = -ln2 * bits->forward.most;
    return bits->kind == HU_BITS_FLOAT ? slope : slope * codes / (codes - 1.0);
}

/* G_T and G_C of all layers, and the means of their absolute values. */
static void find_slopes(ldp *p, const double *residual, double *mean_task, double *mean_cost) {
    const hu_bits *bits = p->task.bits;
    const hu_cost_task costs = hu_bits_cost_task(&p->task);
    bool is_dear = present_cost(p) >= p->target;
    uint32_t learning = 0;
    *mean_task = *mean_cost = 0.0;
    for (uint32_t l = 0; l < p->task.layers->count; l++) learning += learns(&p->task, l);
    for (uint32_t l = 0; l < p->task.layers->count; l++) {
        const hu_bits_layer *layer = &p->task.layers->layer[l];
        if (!learns(&p->task, l)) continue;
        uint32_t b = bits_of(p, l);
        hu_bits_range range = range_of(&p->task, l);
        double slope = hu_cost_slope(bits->cost, &costs, layer, &range, b);
        p->task_slope[l] = residual[l] * slope_of_step(bits, b);
        p->cost_slope[l] = is_dear ? slope * bits->forward.most : 0.0;
        *mean_task += fabs(p->task_slope[l]) / learning;
        *mean_cost += fabs(p->cost_slope[l]) / learning;
    }
}

/* Eq. 5, the step and the clamp. */
static void after_step(void *state, const hu_bits_news *news) {
    const double tiny = 1e-12;
    ldp *p = state;
    const hu_bits *bits = p->task.bits;
    double mean_task, mean_cost;
    if (news->is_skipped) return;
    find_slopes(p, news->residual, &mean_task, &mean_cost);
    double balance = bits->balance * mean_task / (mean_cost + tiny);
    for (uint32_t l = 0; l < p->task.layers->count; l++) {
        if (!learns(&p->task, l)) continue;
        double beta = p->beta[l] - bits->rate * (p->task_slope[l] + balance * p->cost_slope[l]);
        p->beta[l] = clamp_beta(p, l, beta);
    }
}

static const double *learned(const void *state) {
    return ((const ldp *)state)->beta;
}

static const char *const cases[] = {"the least bits", "the target in every step",
                                    "the most bits, as static", NULL};

/* Bits, with fractions, at which C = T in all layers alike: of all ways to meet T that with the
 * dearest training, since b grows slower than its square. */
static double bits_of_target(const ldp *p) {
    enum { HALVINGS = 60 };
    double low = p->task.bits->forward.least, high = p->task.bits->forward.most;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = 0.5 * (low + high);
        if (bounded_cost(&p->task, middle) < p->target)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static int64_t suppose(const void *state, int which, int64_t step, double *forward,
                       double *gradient) {
    const ldp *p = state;
    const hu_bits_range *range = &p->task.bits->forward;
    (void)step;
    double b = which == 0 ? range->least : which == 1 ? bits_of_target(p) : range->most;
    hu_bits_suppose(&p->task, b, forward, gradient);
    return INT64_MAX;
}

static void save(const void *state, const void **data, size_t *bytes) {
    const ldp *p = state;
    *data = p->saved;
    *bytes = p->saved_bytes;
}

static hu_status check(const void *state, const void *data, size_t bytes) {
    const ldp *p = state;
    saved_head head;
    double beta;
    if (bytes < sizeof head || (bytes - sizeof head) % sizeof beta != 0)
        return hu_fail(HU_ERR_CORRUPT, "ldp: found %zu bytes, expected %zu", bytes, p->saved_bytes);
    memcpy(&head, data, sizeof head);
    if (head.least != p->saved->least || head.most != p->saved->most ||
        head.kind != p->saved->kind || head.layers != p->saved->layers)
        return hu_fail(HU_ERR_ARGUMENT,
                       "ldp: found the state of %u-%u bits in %u layers, expected %u-%u in %u",
                       head.least, head.most, head.layers, p->saved->least, p->saved->most,
                       p->saved->layers);
    if (bytes != p->saved_bytes)
        return hu_fail(HU_ERR_CORRUPT, "ldp: found %zu bytes, expected %zu", bytes, p->saved_bytes);
    for (uint32_t l = 0; l < head.layers; l++) {
        memcpy(&beta, (const char *)data + sizeof head + l * sizeof beta, sizeof beta);
        if (!(beta >= (double)head.least / head.most && beta <= 1.0))
            return hu_fail(HU_ERR_CORRUPT, "ldp: found beta %g at place %u, expected %g to 1", beta,
                           l, (double)head.least / head.most);
    }
    return HU_OK;
}

static void restore(void *state, const void *data, size_t bytes) {
    ldp *p = state;
    memcpy(p->saved, data, bytes);
}

const hu_bits_schedule hu_bits_learned = {
    .name = "ldp",
    .argument = "A-B",
    .help = "every layer learns its bits between A and B, for a target of the forward cost",
    .keys = "bits.target bits.cost bits.balance bits.lr bits.residual",
    .wants_residuals = true,
    .deploys_at = "the bits that each layer ends with",
    .create = create,
    .at = at,
    .after_step = after_step,
    .learned = learned,
    .cases = cases,
    .suppose = suppose,
    .save = save,
    .check = check,
    .restore = restore};
