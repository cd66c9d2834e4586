#include "precision/adaptation.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/precision.h"

/* ---- adapt ---- */

/* adaptations: what changes the edge table while a training runs.
 *
 * An adaptation is one file and one line of the list. A trainer calls those that its precision asks
 * for at two moments, in the order of the list: before the passes of a step, where they may change
 * quantizers, and at the end of a step, where its counts are known. Between the two moments no
 * quantizer changes. docs/how-to/add-an-adaptation.md shows how to add one.
 */

const hu_adaptation *const hu_adaptation_table[HU_ADAPTATION_COUNT] = {
#define ADAPTATION_ROW(identifier) &hu_adaptation_##identifier,
    HU_ADAPTATION_LIST(ADAPTATION_ROW)
#undef ADAPTATION_ROW
};

/* Room for the events of one step is made here: a step allocates nothing. */
hu_status hu_adaptations_create(const hu_adapt_task *task, hu_adaptations *adaptations) {
    hu_status st = HU_OK;
    size_t events = 0;
    *adaptations = (hu_adaptations){0};
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++) {
        HU_TRY(hu_adaptation_table[a]->create(task, &adaptations->state[a]));
        if (adaptations->state[a]) events += hu_adaptation_table[a]->most_events(task->graph);
    }
    HU_TRY(HU_NEW_ARRAY(&adaptations->event, events));
done:
    if (st != HU_OK) hu_adaptations_free(adaptations);
    return st;
}

void hu_adaptations_free(hu_adaptations *adaptations) {
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (adaptations->state[a]) hu_adaptation_table[a]->free(adaptations->state[a]);
    hu_free(adaptations->event);
    *adaptations = (hu_adaptations){0};
}

void hu_adaptations_widen(const hu_adaptations *adaptations, const hu_graph *graph,
                          hu_edge_table *edges) {
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (adaptations->state[a] && hu_adaptation_table[a]->widen)
            hu_adaptation_table[a]->widen(adaptations->state[a], graph, edges);
}

/* Adds an event to those of the moment. */
static void hu_adapt_tell(hu_adapt_moment *moment, hu_adapt_event event) {
    if (moment->event) moment->event[moment->event_count++] = event;
}

/* In the order of the list: what rewrites the table goes before what changes single tensors. */
void hu_adapt_before_step(hu_adaptations *adaptations, hu_adapt_moment *moment) {
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (adaptations->state[a] && hu_adaptation_table[a]->before_step)
            hu_adaptation_table[a]->before_step(adaptations->state[a], moment);
}

void hu_adapt_after_step(hu_adaptations *adaptations, hu_adapt_moment *moment) {
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (adaptations->state[a] && hu_adaptation_table[a]->after_step)
            hu_adaptation_table[a]->after_step(adaptations->state[a], moment);
}

uint32_t hu_adapt_changed(const hu_adaptations *adaptations) {
    uint32_t count = 0;
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (adaptations->state[a] && hu_adaptation_table[a]->changed)
            count += hu_adaptation_table[a]->changed(adaptations->state[a]);
    return count;
}

/* ---- adapt promote ---- */

/* Promotion on overflow: a forward tensor of which too much is beyond its format's range goes to
 * the high candidate, for the rest of the training. Its gradient, its group and its readers stay as
 * they are. Source: Lee et al., algorithm 2. */

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

/* Where a format stopped the forward pass, the tensors after are counted in part or not at all. */
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

/* ---- adapt epochs ---- */

/* Precision by epoch: the whole table is written anew where a phase begins. Source: Han, Si,
 * Demmel, You, "Auto-Precision Scaling", table 6: hybrid precision. */

/* The tables of all phases, written once, so that a boundary can neither fail nor allocate. */
typedef struct tables {
    const hu_precision *whole; /* Borrowed: valid as long as the training */
    const hu_precision *present;
    uint32_t count;
    hu_edge_table of_phase[]; /* [count] */
} tables;

static void free_tables(void *state) {
    tables *t = state;
    for (uint32_t p = 0; p < t->count; p++) hu_edge_table_free(&t->of_phase[p]);
    hu_free(t);
}

static hu_status adapt_epochs_create(const hu_adapt_task *task, void **state) {
    hu_status st = HU_OK;
    const hu_precision *whole = task->precision;
    void *block = NULL;
    *state = NULL;
    if (whole->phase_count == 0) return HU_OK;
    HU_TRY(hu_alloc(sizeof(tables) + whole->phase_count * sizeof(hu_edge_table), &block));
    tables *t = block;
    t->whole = whole;
    t->present = hu_precision_at(whole, 0);
    for (; t->count < whole->phase_count; t->count++) {
        const hu_precision_phase *phase = &whole->phases[t->count];
        hu_edge_table *edges = &t->of_phase[t->count];
        HU_TRY(hu_edge_table_create(task->graph, edges));
        st = hu_precision_write(&phase->precision, task->graph, task->batch, task->signals, edges);
        if (st == HU_OK) continue;
        hu_edge_table_free(edges);
        HU_TRY(hu_fail_within(st, "precision.epochs, epoch %lld: ", (long long)phase->epoch));
    }
    *state = block;
    block = NULL;
done:
    if (block) free_tables(block);
    return st;
}

static uint32_t adapt_epochs_most_events(const hu_graph *graph) {
    (void)graph;
    return 1;
}

/* Counts stay: they are of the present step. Accumulators are the same in all phases. */
static void copy_quantizers(const hu_edge_table *from, hu_edge_table *to) {
    for (uint32_t v = 0; v < to->value_count; v++) {
        to->value[v].quantizer = from->value[v].quantizer;
        to->grad_sum[v].quantizer = from->grad_sum[v].quantizer;
        to->grad_weights[v].quantizer = from->grad_weights[v].quantizer;
        to->grad_weights[v].is_apart = from->grad_weights[v].is_apart;
    }
    for (uint32_t u = 0; u < to->use_count; u++) {
        to->use[u].quantizer = from->use[u].quantizer;
        to->grad[u].quantizer = from->grad[u].quantizer;
    }
    for (uint32_t n = 0; n < to->node_count; n++)
        to->products[n].operands = from->products[n].operands;
    memcpy(to->low_bits, from->low_bits, sizeof to->low_bits);
}

static hu_edge *edges_of(const hu_edge_table *table, int kind) {
    hu_edge *const kinds[] = {table->value, table->grad_sum, table->grad, table->grad_weights};
    return kinds[kind];
}

/* Bits of the widest codes that the phases give an edge; 0 if all give it the same. Parameters
 * that are not rounded need no room. */
static uint32_t widest(const tables *t, int kind, uint32_t index, bool is_parameter) {
    const hu_quantizer *first = &edges_of(&t->of_phase[0], kind)[index].quantizer;
    uint32_t bits = 0;
    bool changes = false;
    for (uint32_t p = 0; p < t->count; p++) {
        const hu_quantizer *quantizer = &edges_of(&t->of_phase[p], kind)[index].quantizer;
        changes = changes || quantizer->rounding != first->rounding ||
                  !hu_quantizer_same_numbers(quantizer, first);
        if (!hu_quantizer_rounds(quantizer) && is_parameter) continue;
        if (hu_quantizer_code_bits(quantizer) > bits) bits = hu_quantizer_code_bits(quantizer);
    }
    return changes ? bits : 0;
}

static void widen(const void *state, const hu_graph *graph, hu_edge_table *edges) {
    const tables *t = state;
    for (uint32_t p = 0; p < t->count; p++)
        edges->has_apart = edges->has_apart || t->of_phase[p].has_apart;
    for (uint32_t v = 0; v < edges->value_count; v++) {
        bool is_parameter = graph->value[v].role == HU_VALUE_PARAMETER;
        edges->value[v].capacity_bits = widest(t, 0, v, is_parameter);
        edges->grad_sum[v].capacity_bits = widest(t, 1, v, false);
        edges->grad_weights[v].capacity_bits = widest(t, 3, v, false);
    }
    for (uint32_t u = 0; u < edges->use_count; u++)
        edges->grad[u].capacity_bits = widest(t, 2, u, false);
}

static int64_t epoch_of(const hu_adapt_moment *moment, int64_t step) {
    return step / moment->steps_per_epoch;
}

static void adapt_epochs_before_step(void *state, hu_adapt_moment *moment) {
    tables *t = state;
    int64_t epoch = epoch_of(moment, moment->step);
    uint32_t p = 0;
    while (&t->whole->phases[p].precision != moment->precision) p++;
    if (t->present != moment->precision || moment->rewritten) {
        copy_quantizers(&t->of_phase[p], moment->edges);
        t->present = moment->precision;
        moment->rewritten = true;
    }
    /* A function of the step, so that a training that was interrupted tells it as well. */
    if (moment->step == t->whole->phases[p].epoch * moment->steps_per_epoch)
        hu_adapt_tell(moment, (hu_adapt_event){.by = &hu_adaptation_epochs,
                                               .value = HU_NONE,
                                               .precision = moment->precision->name,
                                               .epoch = epoch});
}

/* The journal ends its row before a phase begins. */
static void adapt_epochs_after_step(void *state, hu_adapt_moment *moment) {
    const tables *t = state;
    const hu_precision *next = hu_precision_at(t->whole, epoch_of(moment, moment->step + 1));
    moment->changes_next = moment->changes_next || next != moment->precision;
}

const hu_adaptation hu_adaptation_epochs = {
    .name = "epochs",
    .help = "another precision from an epoch on: low precision after the first epochs",
    .keys = "precision.epochs",
    .asked = "precision.epochs",
    .create = adapt_epochs_create,
    .free = free_tables,
    .widen = widen,
    .most_events = adapt_epochs_most_events,
    .before_step = adapt_epochs_before_step,
    .after_step = adapt_epochs_after_step};
