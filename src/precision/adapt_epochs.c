/* Precision by epoch: the whole table is written anew where a phase begins. Source: Han, Si,
 * Demmel, You, "Auto-Precision Scaling", table 6: hybrid precision. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/adapt.h"
#include "precision/epochs.h"

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

static hu_status create(const hu_adapt_task *task, void **state) {
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

static uint32_t most_events(const hu_graph *graph) {
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

static void before_step(void *state, hu_adapt_moment *moment) {
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
static void after_step(void *state, hu_adapt_moment *moment) {
    const tables *t = state;
    const hu_precision *next = hu_precision_at(t->whole, epoch_of(moment, moment->step + 1));
    moment->changes_next = moment->changes_next || next != moment->precision;
}

const hu_adaptation hu_adaptation_epochs = {
    .name = "epochs",
    .help = "another precision from an epoch on: low precision after the first epochs",
    .keys = "precision.epochs",
    .asked = "precision.epochs",
    .create = create,
    .free = free_tables,
    .widen = widen,
    .most_events = most_events,
    .before_step = before_step,
    .after_step = after_step};
