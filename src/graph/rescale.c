#include "graph/rescale.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "graph/visit.h"

/* The history: a fingerprint of what follows (2 words), then for every tensor with a delayed scale,
 * in the order of visit(), the maxima of the latest steps as bits, newest first, 0 where there is
 * none. */
enum { HEAD = 2 };

typedef void slot_fn(hu_run *run, hu_slot *slot, uint32_t kind, uint32_t index, void *context);

static void visit(hu_run *run, slot_fn *each, void *context) {
    for (hu_value_id v = 0; v < run->graph->value_count; v++) {
        if (run->value[v].edge) each(run, &run->value[v], 0, v, context);
        if (run->grad_sum[v].edge) each(run, &run->grad_sum[v], 1, v, context);
    }
    for (uint32_t u = 0; u < run->graph->use_count; u++)
        if (run->grad[u].edge) each(run, &run->grad[u], 2, u, context);
}

static bool is_delayed(const hu_slot *slot) {
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    return quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->scale == HU_SCALE_DELAYED;
}

typedef struct plan {
    uint32_t words;
    XXH64_state_t hash;
} plan;

static void place_slot(hu_run *run, hu_slot *slot, uint32_t kind, uint32_t index, void *context) {
    plan *p = context;
    (void)run;
    if (!is_delayed(slot)) return;
    uint32_t words = (uint32_t)slot->edge->quantizer.history;
    const uint32_t key[3] = {kind, index, words};
    XXH64_update(&p->hash, key, sizeof key);
    slot->history = p->words;
    slot->maxima = words;
    p->words += words;
}

hu_status hu_rescale_create(hu_run *run) {
    plan p = {.words = HEAD};
    void *block;
    XXH64_reset(&p.hash, 0);
    visit(run, place_slot, &p);
    if (p.words == HEAD) return HU_OK;
    hu_status st = hu_alloc_array(p.words, sizeof *run->history, &block);
    if (st != HU_OK) return st;
    uint64_t fingerprint = XXH64_digest(&p.hash);
    run->history = block;
    run->history_words = p.words;
    memset(run->history, 0, p.words * sizeof *run->history);
    memcpy(run->history, &fingerprint, sizeof fingerprint);
    return HU_OK;
}

float *hu_rescale_room(const hu_slot *slot, int64_t first) {
    if (!hu_quantizer_needs_maximum(&slot->edge->quantizer)) return NULL;
    if (slot->rows) return slot->rows + first * slot->elements;
    return slot->data ? hu_storage_in_place(&slot->storage, slot->data, first) : NULL;
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

void hu_rescale_top(const hu_slot *slot, hu_tally *tally, int64_t rows, const float *x) {
    tally->top = larger(tally->top, hu_top_f32((size_t)(rows * slot->elements), x));
}

/* Adds to the maximum of the present step. */
static void note(hu_slot *slot, uint32_t top) {
    if (slot->history == HU_NONE) return;
    slot->top = slot->top == HU_NONE ? top : larger(slot->top, top);
}

static bool is_step(const hu_run *run) {
    return run->pass.training && !run->pass.scan;
}

void hu_rescale_finish(hu_run *run, hu_slot *slot, uint32_t index) {
    uint32_t top = 0;
    for (int t = 0; t < run->options.threads; t++)
        top = larger(top, run->thread[t].tally[index].top);
    if (is_step(run)) note(slot, top);
    if (!hu_quantizer_needs_maximum(&slot->edge->quantizer)) return;
    hu_slot_set_scale(slot, top);
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_thread *thread = &run->thread[hu_thread_number()];
        int64_t first = c * run->options.chunk;
        hu_slot_store(slot, &run->context, first, hu_chunk_rows(run, c),
                      hu_rescale_room(slot, first), &thread->tally[index].counts);
    }
}

/* Largest magnitude of a gradient sum. */
static uint32_t sum_top(hu_run *run, hu_value_id v) {
    uint32_t top = 0;
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1) reduction(max : top)
    for (int64_t c = 0; c < run->chunks; c++) {
        uint32_t region = run->graph->value[v].producer;
        hu_visit visit =
            hu_visit_begin(run, &run->thread[hu_thread_number()], region, HU_BACKWARD, c);
        const float *sum = hu_visit_gradient_sum(&visit, v);
        top = larger(top, hu_top_f32((size_t)(visit.count * run->grad_sum[v].elements), sum));
    }
    return top;
}

void hu_rescale_sums(hu_run *run, uint32_t node) {
    const hu_node *n = &run->graph->node[node];
    for (int i = 0; i < n->n_out; i++) {
        hu_slot *slot = &run->grad_sum[n->out[i]];
        bool needs = hu_quantizer_needs_maximum(&slot->edge->quantizer);
        if (!needs && slot->history == HU_NONE) continue;
        if (node == run->graph->loss_node || !hu_chunk_rounds_sum(run, n->out[i])) continue;
        uint32_t top = sum_top(run, n->out[i]);
        if (is_step(run)) note(slot, top);
        if (needs) hu_slot_set_scale(slot, top);
    }
}

void hu_rescale_row(hu_slot *slot, const float *x, bool noted) {
    bool needs = hu_quantizer_needs_maximum(&slot->edge->quantizer);
    if (!needs && slot->history == HU_NONE) return;
    uint32_t top = hu_top_f32((size_t)slot->elements, x);
    if (noted) note(slot, top);
    if (needs) hu_slot_set_scale(slot, top);
}

/* The scale that a slot's history gives. */
static void apply_history(hu_run *run, hu_slot *slot, uint32_t kind, uint32_t index,
                          void *context) {
    (void)kind;
    (void)index;
    (void)context;
    if (slot->history == HU_NONE) return;
    const uint32_t *maxima = run->history + slot->history;
    uint32_t top = 0;
    for (uint32_t i = 0; i < slot->maxima; i++) top = larger(top, maxima[i]);
    hu_slot_set_scale(slot, top);
}

/* Where a format stops a step, which tensors came before depends on how nodes are joined: only what
 * could not be encoded itself is noted, so that its scale can grow. */
static bool counts_in_history(const hu_run *run, const hu_slot *slot) {
    return !run->overflowed || hu_edge_unencodable(&slot->edge->quantizer, &slot->edge->counts);
}

static void end_step(hu_run *run, hu_slot *slot, uint32_t kind, uint32_t index, void *context) {
    if (slot->history == HU_NONE || slot->top == HU_NONE) return;
    if (!counts_in_history(run, slot)) {
        slot->top = HU_NONE;
        return;
    }
    uint32_t *maxima = run->history + slot->history;
    memmove(maxima + 1, maxima, (slot->maxima - 1) * sizeof *maxima);
    maxima[0] = slot->top;
    slot->top = HU_NONE;
    apply_history(run, slot, kind, index, context);
}

void hu_rescale_end_step(hu_run *run) {
    if (run->history) visit(run, end_step, NULL);
}

void hu_rescale_history(const hu_run *run, const void **data, size_t *bytes) {
    *data = run->history;
    *bytes = run->history_words * sizeof *run->history;
}

hu_status hu_rescale_restore(hu_run *run, const void *data, size_t bytes) {
    const size_t head = HEAD * sizeof *run->history;
    size_t own = run->history_words * sizeof *run->history;
    if (!run->history) return HU_OK;
    bool fits = data && bytes == own && memcmp(data, run->history, head) == 0;
    memset(run->history + HEAD, 0, own - head);
    if (fits) memcpy(run->history, data, own);
    for (uint32_t i = HEAD; i < run->history_words; i++)
        if (run->history[i] >= 0x7F800000u)
            return hu_fail(HU_ERR_CORRUPT, "maximum %u of the scales' history is not finite",
                           i - HEAD);
    visit(run, apply_history, NULL);
    return HU_OK;
}

static void carry(hu_run *run, const hu_slot *slots, uint32_t count, const hu_slot *from,
                  const uint32_t *history) {
    for (uint32_t i = 0; i < count; i++) {
        if (slots[i].history == HU_NONE || from[i].history == HU_NONE) continue;
        size_t maxima = slots[i].maxima < from[i].maxima ? slots[i].maxima : from[i].maxima;
        memcpy(run->history + slots[i].history, history + from[i].history,
               maxima * sizeof *history);
    }
}

void hu_rescale_carry(hu_run *run, const hu_run *from) {
    const hu_graph *graph = run->graph;
    if (!run->history || !from->history) return;
    carry(run, run->value, graph->value_count, from->value, from->history);
    carry(run, run->grad_sum, graph->value_count, from->grad_sum, from->history);
    carry(run, run->grad, graph->use_count, from->grad, from->history);
    visit(run, apply_history, NULL);
}
