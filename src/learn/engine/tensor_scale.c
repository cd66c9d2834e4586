#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "engine/chunk.h"

/* ---- scale ---- */

/* Scales of whole tensors: maxima, and their history.
 *
 * A scale that comes from the tensor's own maximum is known when all rows are present
 * (hu_rescale_finish). A delayed scale is known beforehand: it comes from the maxima of earlier
 * steps, which are state of the run. A pass that is not a training step, or repeats one, leaves
 * that state alone.
 */

/* The history: a fingerprint of what follows (2 words), then for every tensor with a delayed scale,
 * in the order of each_slot(), the maxima of the latest steps as bits, newest first, 0 where there
 * is none. */
enum { HEAD = 2 };

typedef void slot_fn(hu_run *run, hu_slot *slot, uint32_t kind, uint32_t index, void *context);

static void each_slot(hu_run *run, slot_fn *each, void *context) {
    for (hu_value_id v = 0; v < run->graph->value_count; v++) {
        if (run->value[v].edge) each(run, &run->value[v], 0, v, context);
        if (run->grad_sum[v].edge) each(run, &run->grad_sum[v], 1, v, context);
    }
    for (uint32_t u = 0; u < run->graph->use_count; u++)
        if (run->grad[u].edge) each(run, &run->grad[u], 2, u, context);
    for (uint32_t u = 0; run->use && u < run->graph->use_count; u++)
        each(run, &run->use[u], 3, u, context);
    for (hu_value_id v = 0; run->grad_weights && v < run->graph->value_count; v++)
        if (run->grad_weights[v].edge) each(run, &run->grad_weights[v], 4, v, context);
}

static bool is_delayed(const hu_slot *slot) {
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    return quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->scale == HU_SCALE_DELAYED;
}

/* What the history is made of, while its slots are placed. */
typedef struct history_layout {
    uint32_t words;
    XXH64_state_t hash;
} history_layout;

static void place_slot(hu_run *run, hu_slot *slot, uint32_t kind, uint32_t index, void *context) {
    history_layout *layout = context;
    (void)run;
    if (!is_delayed(slot)) return;
    uint32_t words = (uint32_t)slot->edge->quantizer.history;
    const uint32_t key[3] = {kind, index, words};
    XXH64_update(&layout->hash, key, sizeof key);
    slot->history = layout->words;
    slot->maxima = words;
    layout->words += words;
}

uint32_t hu_tensor_scale_place_history(hu_run *run, uint64_t *fingerprint) {
    history_layout layout = {.words = HEAD};
    XXH64_reset(&layout.hash, 0);
    each_slot(run, place_slot, &layout);
    *fingerprint = XXH64_digest(&layout.hash);
    return layout.words == HEAD ? 0 : layout.words;
}

void hu_tensor_scale_clear_history(hu_run *run, uint64_t fingerprint) {
    memset(run->history, 0, run->history_words * sizeof *run->history);
    memcpy(run->history, &fingerprint, sizeof fingerprint);
}

float *hu_tensor_scale_staged_rows(const hu_slot *slot, int64_t first) {
    if (!hu_slot_waits(slot)) return NULL;
    if (slot->staged) return slot->staged + first * slot->elements;
    return slot->data ? hu_storage_in_place(&slot->storage, slot->data, first) : NULL;
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

void hu_tensor_scale_add_maximum(const hu_slot *slot, hu_tally *tally, int64_t n, const float *x) {
    if (slot->uniformer)
        hu_uniform_range((size_t)n, x, &tally->low, &tally->high);
    else
        tally->top = larger(tally->top, hu_slot_top(slot, n, x));
}

/* Adds a maximum to that of the present step, where the slot keeps a history. */
static void note_maximum(hu_slot *slot, uint32_t top) {
    if (slot->history == HU_NONE) return;
    slot->top = slot->top == HU_NONE ? top : larger(slot->top, top);
}

static void count_top(hu_run *run, hu_slot *slot, uint32_t kind, uint32_t index, void *context) {
    (void)run, (void)kind, (void)index;
    if (slot->history != HU_NONE) ++*(size_t *)context;
}

/* Neither counting nor reading changes the run. */
size_t hu_tensor_scale_tops(const hu_run *run) {
    size_t count = 0;
    if (run->history) each_slot((hu_run *)run, count_top, &count);
    return count;
}

static void read_top(hu_run *run, hu_slot *slot, uint32_t kind, uint32_t index, void *context) {
    char **at = context;
    (void)run, (void)kind, (void)index;
    if (slot->history == HU_NONE) return;
    memcpy(*at, &slot->top, sizeof slot->top);
    *at += sizeof slot->top;
}

void hu_tensor_scale_read_tops(const hu_run *run, void *bytes) {
    char *at = bytes;
    if (run->history) each_slot((hu_run *)run, read_top, &at);
}

static void raise_top(hu_run *run, hu_slot *slot, uint32_t kind, uint32_t index, void *context) {
    const char **at = context;
    uint32_t top;
    (void)run, (void)kind, (void)index;
    if (slot->history == HU_NONE) return;
    memcpy(&top, *at, sizeof top);
    if (top != HU_NONE) note_maximum(slot, top);
    *at += sizeof top;
}

void hu_tensor_scale_raise_tops(hu_run *run, const void *bytes) {
    const char *at = bytes;
    if (run->history) each_slot(run, raise_top, &at);
}

void hu_tensor_scale_set_from_row(hu_slot *slot, const float *x, bool is_noted) {
    bool needs = hu_quantizer_needs_maximum(&slot->edge->quantizer);
    if (slot->uniformer) hu_slot_set_ranges(slot, x);
    if (!needs && slot->history == HU_NONE) return;
    uint32_t top = hu_slot_top(slot, slot->elements, x);
    if (is_noted) note_maximum(slot, top);
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

void hu_tensor_scale_end_step(hu_run *run) {
    if (run->history) each_slot(run, end_step, NULL);
}

void hu_tensor_scale_history(const hu_run *run, const void **data, size_t *bytes) {
    *data = run->history;
    *bytes = run->history_words * sizeof *run->history;
}

hu_status hu_tensor_scale_restore(hu_run *run, const void *data, size_t bytes) {
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
    each_slot(run, apply_history, NULL);
    return HU_OK;
}

static void carry(hu_run *run, const hu_slot *slots, uint32_t count, const hu_slot *from,
                  const uint32_t *history) {
    for (uint32_t i = 0; i < count; i++) {
        if (!slots[i].edge || !from[i].edge) continue;
        if (slots[i].history == HU_NONE || from[i].history == HU_NONE) continue;
        size_t maxima = slots[i].maxima < from[i].maxima ? slots[i].maxima : from[i].maxima;
        memcpy(run->history + slots[i].history, history + from[i].history,
               maxima * sizeof *history);
    }
}

void hu_tensor_scale_carry(hu_run *run, const hu_run *from) {
    const hu_graph *graph = run->graph;
    if (!run->history || !from->history) return;
    carry(run, run->value, graph->value_count, from->value, from->history);
    carry(run, run->grad_sum, graph->value_count, from->grad_sum, from->history);
    carry(run, run->grad, graph->use_count, from->grad, from->history);
    if (run->grad_weights && from->grad_weights)
        carry(run, run->grad_weights, graph->value_count, from->grad_weights, from->history);
    if (run->use && from->use) carry(run, run->use, graph->use_count, from->use, from->history);
    each_slot(run, apply_history, NULL);
}

/* ---- range ---- */

/* Ranges of tensors that uniform quantizers round, and running ones of those that
 * are evaluated with them.
 *
 * Source: Banner et al., "Scalable Methods for 8-bit Training of Neural Networks", as CPT and
 * FracTrain implement it: running = 0.9 running + 0.1 current, of zero and width; the first step's
 * range is the first running one.
 */

/* What the run keeps: a fingerprint of the tensors (HEAD floats' bytes), then for each of them
 * whether it has a range, its zero and its width. */
enum { RANGE_HEAD = 2, FIELDS = 3, SEEN = 0, ZERO = 1, WIDTH = 2 };

static const float keep = 0.9f; /* of the running range, in each step */

static float *fields_of(const hu_run *run, const hu_slot *slot) {
    return slot->range == HU_NONE ? NULL : run->ranges + slot->range;
}

/* A step whose range is not finite is skipped: it leaves no trace here. */
static void note(float *kept, float low, float high) {
    float width = high - low;
    if (!isfinite(width) || !isfinite(low)) return;
    kept[ZERO] = kept[SEEN] != 0.0f ? keep * kept[ZERO] + (1.0f - keep) * low : low;
    kept[WIDTH] = kept[SEEN] != 0.0f ? keep * kept[WIDTH] + (1.0f - keep) * width : width;
    kept[SEEN] = 1.0f;
}

/* Sets the range of the present pass: low .. high, which a training step's running range takes in
 * (of several workers that of the one whose running statistics count), or that running range in an
 * evaluation after a first step. */
static void set_running_range(hu_run *run, hu_slot *slot, float low, float high) {
    float *kept = fields_of(run, slot);
    bool is_kept = kept && !run->pass.training && kept[SEEN] != 0.0f;
    if (kept && hu_is_step(run) && !run->pass.keeps_statistics) note(kept, low, high);
    /* What is not finite has no code, under a range of earlier steps either. */
    if (is_kept && isfinite(low) && isfinite(high))
        hu_slot_set_range(slot, kept[ZERO], kept[ZERO] + kept[WIDTH]);
    else
        hu_slot_set_range(slot, low, high);
}

typedef struct places {
    uint32_t floats;
    XXH64_state_t hash;
} places;

static void place(hu_slot *slot, uint32_t kind, uint32_t index, places *p) {
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    const uint32_t key[2] = {kind, index};
    if (quantizer->kind != HU_QUANTIZER_UNIFORM || !quantizer->keeps_range) return;
    XXH64_update(&p->hash, key, sizeof key);
    slot->range = p->floats;
    p->floats += FIELDS;
}

uint32_t hu_tensor_range_place(hu_run *run, uint64_t *fingerprint) {
    places p = {.floats = RANGE_HEAD};
    XXH64_reset(&p.hash, 0);
    for (hu_value_id v = 0; v < run->graph->value_count; v++) place(&run->value[v], 0, v, &p);
    for (uint32_t u = 0; run->use && u < run->graph->use_count; u++) place(&run->use[u], 1, u, &p);
    *fingerprint = XXH64_digest(&p.hash);
    return p.floats == RANGE_HEAD ? 0 : p.floats;
}

void hu_run_ranges(const hu_run *run, const void **data, size_t *bytes) {
    *data = run->ranges;
    *bytes = run->range_count * sizeof *run->ranges;
}

hu_status hu_run_restore_ranges(hu_run *run, const void *data, size_t bytes) {
    const size_t head = RANGE_HEAD * sizeof *run->ranges;
    size_t own = run->range_count * sizeof *run->ranges;
    if (!run->ranges) return HU_OK;
    bool fits = data && bytes == own && memcmp(data, run->ranges, head) == 0;
    memset(run->ranges + RANGE_HEAD, 0, own - head);
    if (fits) memcpy(run->ranges, data, own);
    for (uint32_t i = RANGE_HEAD; i < run->range_count; i++)
        if (!isfinite(run->ranges[i]))
            return hu_fail(HU_ERR_CORRUPT, "number %u of the running ranges is not finite",
                           i - RANGE_HEAD);
    return HU_OK;
}

/* ---- The second loop over the chunks ---- */

static hu_tally no_rows(void) {
    return (hu_tally){.low = INFINITY, .high = -INFINITY};
}

/* Extremes of both; no order changes them. */
static void join(const hu_tally *more, hu_tally *all) {
    all->top = larger(all->top, more->top);
    hu_uniform_range_join(more->low, more->high, &all->low, &all->high);
}

/* Of all threads. */
static hu_tally extremes_of_threads(const hu_run *run, uint32_t index) {
    hu_tally all = no_rows();
    for (int t = 0; t < run->options.threads; t++) join(&run->thread[t].tally[index], &all);
    return all;
}

void hu_rescale_note(hu_run *run, hu_slot *slot, uint32_t index) {
    if (hu_is_step(run)) note_maximum(slot, extremes_of_threads(run, index).top);
}

/* The scale that the extremes of a whole tensor give it. */
static void set_scale(hu_run *run, hu_slot *slot, const hu_tally *all) {
    if (slot->uniformer)
        set_running_range(run, slot, all->low, all->high);
    else
        hu_slot_set_scale(slot, all->top);
}

void hu_rescale_finish(hu_run *run, hu_slot *slot, uint32_t index) {
    hu_rescale_note(run, slot, index);
    if (!hu_slot_waits(slot)) return;
    hu_tally all = extremes_of_threads(run, index);
    set_scale(run, slot, &all);
#pragma omp parallel for num_threads(run->options.threads) schedule(dynamic, 1)
    for (int64_t c = 0; c < run->chunks; c++) {
        hu_thread *thread = &run->thread[hu_thread_number()];
        int64_t first = c * run->options.chunk, rows = hu_chunk_rows(run, c);
        float *x = hu_tensor_scale_staged_rows(slot, first);
        if (run->watch) hu_watch_staged(run, slot, index, first, rows, x);
        hu_slot_store(slot, &run->context, first, rows, x, false, &thread->tally[index].counts);
    }
}

typedef const float *rows_fn(hu_chunk *visit, hu_value_id v);

/* What the slot's scale needs to know of all rows of v: of the value, or of its gradient sum. */
static hu_tally extremes_of(hu_run *run, const hu_slot *slot, uint32_t region, hu_pass pass,
                            rows_fn *rows, hu_value_id v) {
    hu_tally all = no_rows();
#pragma omp parallel num_threads(run->options.threads)
    {
        hu_tally own = no_rows();
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t c = 0; c < run->chunks; c++) {
            hu_chunk visit = hu_chunk_begin(run, &run->thread[hu_thread_number()], region, pass, c);
            const float *x = rows(&visit, v);
            if (hu_has_padding(run, v))
                hu_padding_add_extremes(run, slot, v, visit.first, visit.count, x, &own);
            else
                hu_tensor_scale_add_maximum(slot, &own, visit.count * slot->elements, x);
        }
#pragma omp critical(hu_extremes)
        join(&own, &all);
    }
    return all;
}

void hu_rescale_inputs(hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; run->use && i < node->n_in; i++) {
        hu_slot *slot = &run->use[node->first_use + (uint32_t)i];
        if (!hu_slot_waits(slot)) continue;
        hu_tally all = extremes_of(run, slot, n, HU_FORWARD, hu_chunk_value, node->in[i]);
        set_scale(run, slot, &all);
    }
}

/* True if the slot's scale comes from the rows of this pass, or enters a history. */
static bool wants_extremes(const hu_slot *slot) {
    return hu_slot_waits(slot) || slot->history != HU_NONE;
}

static void take_extremes(hu_run *run, hu_slot *slot, const hu_tally *all) {
    if (hu_is_step(run)) note_maximum(slot, all->top);
    if (hu_slot_waits(slot)) set_scale(run, slot, all);
}

/* The sum as it is read for the input, and apart from that for the parameters: one look at the rows
 * serves both unless one takes a range, the other a maximum. */
static void rescale_sum(hu_run *run, uint32_t node, hu_value_id v) {
    hu_slot *sum = &run->grad_sum[v], *view = hu_weights_view(run, v);
    bool has_sum = wants_extremes(sum) && hu_rounds_gradient_sum(run, v);
    bool has_view = view && wants_extremes(view);
    hu_tally all = no_rows();
    if (has_sum) {
        all = extremes_of(run, sum, node, HU_BACKWARD, hu_chunk_gradient_sum, v);
        take_extremes(run, sum, &all);
    }
    if (!has_view) return;
    if (!has_sum || (sum->uniformer == NULL) != (view->uniformer == NULL))
        all = extremes_of(run, view, node, HU_BACKWARD, hu_chunk_gradient_sum, v);
    take_extremes(run, view, &all);
}

void hu_rescale_sums(hu_run *run, uint32_t node) {
    const hu_node *n = &run->graph->node[node];
    if (hu_loop_at(run, node)) return; /* its steps look at their own */
    for (int i = 0; i < n->n_out && n->loss < 0; i++) rescale_sum(run, node, n->out[i]);
}
