/* Promotion on overflow: a forward tensor of which too much is beyond its format's range goes to
 * the high candidate, for the rest of the training. Its gradient, its group and its readers stay as
 * they are. Source: Lee et al., algorithm 2. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/adapt.h"

typedef struct promotions {
    uint32_t count, applied; /* promoted so far; of these, in the edge table */
    uint32_t value[];        /* [count] value ids in the order of promotion, room for all values */
} promotions;

static hu_status create(const hu_adapt_task *task, void **state) {
    *state = NULL;
    if (!task->precision->promotes) return HU_OK;
    return hu_alloc(sizeof(promotions) + task->graph->value_count * sizeof(uint32_t), state);
}

static uint32_t most_events(const hu_graph *graph) {
    return graph->value_count;
}

/* Only forward tensors are promoted: activations, and working copies of parameters. */
static const hu_quantizer *high_of(const hu_precision *precision, const hu_value_info *value) {
    return &precision->high[value->role == HU_VALUE_PARAMETER ? HU_ROLE_WEIGHT : HU_ROLE_ACT];
}

/* Gives promoted tensors the high candidate: those of the step before, all if others have written
 * the table anew. Of precisions by epoch, those without promotion are left as they are. */
static void before_step(void *state, hu_adapt_moment *moment) {
    promotions *p = state;
    uint32_t first = moment->rewritten ? 0 : p->applied;
    if (!moment->precision->promotes) return;
    for (uint32_t i = first; i < p->count; i++) {
        hu_value_id v = p->value[i];
        const hu_quantizer *high = high_of(moment->precision, &moment->graph->value[v]);
        hu_quantizer *quantizer = &moment->edges->value[v].quantizer;
        if (hu_quantizer_bits(quantizer) < hu_quantizer_bits(high)) *quantizer = *high;
    }
    moment->rewritten = moment->rewritten || first < p->count;
    p->applied = p->count;
}

/* Where a format stopped the forward pass, the tensors behind are counted in part or not at all. */
static bool is_counted(const hu_adapt_moment *moment, hu_value_id v) {
    uint32_t producer = moment->graph->value[v].producer;
    return producer == HU_NONE || producer < moment->counted_nodes;
}

/* The share of a tensor's elements that its format could not hold in the step, NaNs included; -1 if
 * the high candidate has no more bits. */
static double overflow_share(const hu_adapt_moment *moment, hu_value_id v) {
    const hu_edge *edge = &moment->edges->value[v];
    const hu_quantizer *high = high_of(moment->precision, &moment->graph->value[v]);
    uint64_t beyond = edge->counts.overflow + edge->counts.nan;
    if (!beyond || hu_quantizer_bits(&edge->quantizer) >= hu_quantizer_bits(high)) return -1.0;
    return (double)beyond / (double)edge->counts.elements;
}

static void after_step(void *state, hu_adapt_moment *moment) {
    promotions *p = state;
    const hu_graph *graph = moment->graph;
    if (!moment->precision->promotes) return;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        double share = overflow_share(moment, v);
        if (share < moment->precision->promote_at || share < 0.0 || !is_counted(moment, v))
            continue;
        p->value[p->count++] = v;
        moment->changes_next = true;
        hu_adapt_tell(moment, (hu_adapt_event){.by = &hu_adaptation_promote,
                                               .value = v,
                                               .from = moment->edges->value[v].quantizer,
                                               .to = *high_of(moment->precision, &graph->value[v]),
                                               .share = share});
    }
}

static void save(const void *state, const void **data, size_t *bytes) {
    const promotions *p = state;
    *data = p->value;
    *bytes = p->count * sizeof *p->value;
}

/* Each a forward value or a parameter, none twice. */
static hu_status check(const void *state, const hu_graph *graph, const void *data, size_t bytes) {
    const uint32_t *ids = data;
    size_t count = bytes / sizeof *ids;
    (void)state;
    if (bytes % sizeof *ids != 0 || count > graph->value_count)
        return hu_fail(HU_ERR_CORRUPT, "found %zu bytes, expected a multiple of %zu up to %zu",
                       bytes, sizeof *ids, graph->value_count * sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        hu_value_id v = ids[i];
        bool is_known = v < graph->value_count && hu_is_rounded_kind(&graph->value[v]);
        for (size_t k = 0; k < i; k++) is_known = is_known && ids[k] != v;
        if (!is_known)
            return hu_fail(HU_ERR_CORRUPT,
                           "found tensor %u at place %zu, expected each forward "
                           "tensor once at most",
                           v, i);
    }
    return HU_OK;
}

static void restore(void *state, const void *data, size_t bytes) {
    promotions *p = state;
    p->count = (uint32_t)(bytes / sizeof *p->value);
    p->applied = 0;
    if (bytes > 0) memcpy(p->value, data, bytes);
}

static uint32_t changed(const void *state) {
    const promotions *p = state;
    return p->count;
}

const hu_adaptation hu_adaptation_promote = {
    .name = "promote",
    .help = "a forward tensor that overflows goes to the high candidate for good",
    .keys = "precision.name precision.high precision.promote_at",
    .asked = "+promote",
    .section = "promoted",
    .create = create,
    .free = hu_free,
    .most_events = most_events,
    .before_step = before_step,
    .after_step = after_step,
    .save = save,
    .check = check,
    .restore = restore,
    .changed = changed};
