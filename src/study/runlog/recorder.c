/* runlog/recorder.c - numerics.jsonl and histograms.jsonl, written while a run trains. Counts of
 * steps are added up until a row is due. The last RING steps are kept one by one, so that a step
 * that is skipped or ends the run can be told with the steps that led to it. */
#include "runlog/folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "engine/run.h"
#include "graph/tensor_order.h"
#include "runlog/events.h"
#include "runlog/row_columns.h"

/* Steps kept one by one. */
enum { RING = 4 };

/* One tensor in some steps. */
typedef struct entry {
    hu_event_counts counts;
    double most_overflow, most_underflow, most_subnormal;
    uint64_t events; /* bits 1 << event: what befell it */
} entry;

/* Head of the state; after it the entries of the sums, those of the kept steps, how long events
 * held in the steps of the sums, what has ever befallen each tensor, one bit per event, and which
 * products' sums have ever been in trouble. All in one block, which is what checkpoints hold. */
typedef struct book {
    uint64_t fingerprint;
    int64_t pending_steps, pending_last; /* steps in the sums, and the last of them */
    int64_t ring_step[RING];
    int64_t ring_count;
} book;

struct hu_recorder {
    hu_append *numerics, *histograms;
    const hu_edge_table *edges; /* borrowed, as the graph of the walk */
    const hu_run *run;          /* of the step that is being noted; it may be planned anew */
    hu_tensor_order walk;
    book *book;
    size_t book_bytes;
    entry *pending;          /* [walk.count] */
    entry *ring[RING];       /* oldest first */
    hu_event_duration *held; /* [walk.count][HU_EVENTS] */
    uint16_t *befallen;      /* [walk.count] */
    uint8_t *failed;         /* [node_count][HU_PRODUCT_ROLES] 1: sums that were in trouble */
    bool *marked;            /* [walk.count] for hu_trouble_of_tensors */
    hu_trouble trouble;
    bool is_known; /* trouble is that of now */
    bool is_first; /* element of the list that is being written */
    hu_exponents_fn *seen;
    void *seen_context;
};

/* ---- opening ---- */

static size_t book_bytes(size_t tensors, size_t nodes) {
    return sizeof(book) + (RING + 1) * tensors * sizeof(entry) +
           tensors * HU_EVENTS * sizeof(hu_event_duration) + tensors * sizeof(uint16_t) +
           nodes * HU_PRODUCT_ROLES;
}

hu_status hu_recorder_bytes(const hu_graph *graph, const hu_edge_table *edges, size_t *bytes,
                            size_t *tensors) {
    hu_tensor_order walk;
    hu_status st = hu_tensor_order_create(graph, hu_tensor_order_more(edges), &walk);
    if (st != HU_OK) return st;
    *tensors = walk.count;
    *bytes = book_bytes(walk.count, graph->node_count);
    hu_tensor_order_free(&walk);
    return HU_OK;
}

/* One block for all that a resumed run must go on with. */
static hu_status make_book(hu_recorder *r) {
    void *block;
    size_t tensors = r->walk.count;
    r->book_bytes = book_bytes(tensors, r->walk.graph->node_count);
    hu_status st = HU_NEW_ARRAY(&r->marked, tensors + 1);
    if (st == HU_OK) st = hu_alloc(r->book_bytes, &block);
    if (st != HU_OK) return st;
    r->book = block;
    r->pending = (entry *)(void *)(r->book + 1);
    for (int i = 0; i < RING; i++) r->ring[i] = r->pending + (size_t)(i + 1) * tensors;
    r->held = (hu_event_duration *)(void *)(r->pending + (RING + 1) * tensors);
    r->befallen = (uint16_t *)(void *)(r->held + tensors * HU_EVENTS);
    r->failed = (uint8_t *)(void *)(r->befallen + tensors);
    return HU_OK;
}

/* The names of all tensors, in order: counts of another graph have other places. */
static uint64_t fingerprint_of(const hu_tensor_order *walk) {
    char name[HU_TENSOR_NAME_BYTES];
    XXH64_state_t state;
    /* Other versions kept other things of each tensor, and nothing of sums. */
    XXH64_reset(&state, sizeof(entry) + HU_EVENTS * sizeof(hu_event_duration) + 1);
    for (uint32_t i = 0; i < walk->count; i++) {
        hu_tensor_name(walk->graph, walk->tensor[i], name);
        XXH64_update(&state, name, strlen(name) + 1);
    }
    return XXH64_digest(&state);
}

static void clear_entries(hu_recorder *r, entry *entries) {
    for (uint32_t i = 0; i < r->walk.count; i++) {
        entries[i] = (entry){0};
        hu_round_counts_clear(&entries[i].counts.rounding);
    }
}

hu_status hu_recorder_open(const char *numerics, const char *histograms, const hu_graph *graph,
                           const hu_edge_table *edges, hu_recorder **result) {
    hu_status st = HU_OK;
    void *block = NULL;
    *result = NULL;
    HU_TRY(hu_alloc(sizeof(hu_recorder), &block));
    hu_recorder *r = block;
    r->edges = edges;
    HU_TRY(hu_tensor_order_create(graph, hu_tensor_order_more(edges), &r->walk));
    HU_TRY(make_book(r));
    r->book->fingerprint = fingerprint_of(&r->walk);
    clear_entries(r, r->pending);
    HU_TRY(hu_append_open(numerics, &r->numerics));
    if (histograms) HU_TRY(hu_append_open(histograms, &r->histograms));
    *result = r;
    block = NULL;
done:
    hu_recorder_close(block);
    return st;
}

/* The rest of a line, and out with it. */
static hu_status end_line(hu_append *file, const char *rest) {
    hu_append_text(file, rest);
    hu_append_text(file, "\n");
    return hu_append_end(file);
}

/* Nothing before the first element of a list, then commas. */
static const char *separator(hu_recorder *r) {
    const char *text = r->is_first ? "" : ", ";
    r->is_first = false;
    return text;
}

/* ---- counts of the present step ---- */

/* The histogram of a tensor, if this step took histograms of it. */
static bool recorded(const hu_recorder *r, hu_tensor tensor, int64_t step, hu_histogram *x) {
    if (!hu_exponent_record_has(r->run, (uint64_t)step)) return false;
    *x = (hu_histogram){0};
    return hu_exponent_record_tensor(r->run, tensor, x);
}

/* What the tensor is rounded to; it may change from step to step. */
static const hu_quantizer *quantizer_of(const hu_recorder *r, uint32_t i) {
    return hu_tensor_quantizer(r->walk.graph, r->edges, r->walk.tensor[i]);
}

/* Tensors that are not rounded are counted only in steps that count all or were looked at again,
 * and by their histograms. */
static hu_round_counts rounding_counts(const hu_recorder *r, uint32_t i, int64_t step) {
    hu_histogram x;
    hu_tensor tensor = r->walk.tensor[i];
    hu_round_counts counts = hu_tensor_counts(r->walk.graph, r->edges, tensor);
    if (counts.elements > 0) return counts;
    hu_round_counts_clear(&counts);
    if (!hu_quantizer_rounds(quantizer_of(r, i)) && recorded(r, tensor, step, &x))
        counts = hu_exponent_record_counts(&x);
    return counts;
}

static hu_event_counts present_counts(const hu_recorder *r, uint32_t i, int64_t step) {
    hu_tensor tensor = r->walk.tensor[i];
    hu_event_counts counts = {.rounding = rounding_counts(r, i, step)};
    if (tensor.kind == HU_TENSOR_VALUE) counts.update = r->edges->value[tensor.value].update;
    return counts;
}

/* ---- events ---- */

/* Biases begin as zeros. */
static bool may_be_zero(const hu_recorder *r, uint32_t i) {
    hu_tensor tensor = r->walk.tensor[i];
    return tensor.kind == HU_TENSOR_VALUE && hu_tensor_is_vector(r->walk.graph, tensor);
}

/* Writes those of the tensor's events that are new. */
static void write_events(hu_recorder *r, uint32_t i, int64_t step, const hu_event_counts *c,
                         unsigned events, const char *format) {
    char name[HU_TENSOR_NAME_BYTES];
    /* Each event of a tensor is told once, in the first step that had it. */
    events &= ~(unsigned)r->befallen[i];
    if (events == 0) return;
    r->befallen[i] = (uint16_t)(r->befallen[i] | events);
    r->is_known = false;
    hu_tensor_name(r->walk.graph, r->walk.tensor[i], name);
    for (int e = 0; e < HU_EVENTS; e++) {
        if (!(events >> e & 1u)) continue;
        if (r->is_first)
            hu_append_format(r->numerics, "{\"step\": %" PRId64 ", \"events\": [", step);
        const char *const names[] = {name, format};
        const hu_event_row row = {.kind = hu_event_name(e),
                                  .count = hu_event_count(c, e),
                                  .elements = hu_event_elements(c, e)};
        hu_row_write(r->numerics, separator(r), &hu_row_events, names, &row);
    }
}

/* Parameters that the update has left infinite or NaN. */
static void write_broken(hu_recorder *r, int64_t step) {
    for (uint32_t i = 0; i < r->walk.count; i++) {
        hu_tensor tensor = r->walk.tensor[i];
        const hu_value_info *value = &r->walk.graph->value[tensor.value];
        bool is_kept = value->role == HU_VALUE_PARAMETER || value->role == HU_VALUE_BUFFER;
        hu_event_counts counts = {.update = {0}};
        if (tensor.kind != HU_TENSOR_VALUE || !is_kept) continue;
        hu_round_counts_clear(&counts.rounding);
        hu_scan_f32((size_t)value->elements, hu_weights_of(hu_run_weights(r->run), tensor.value),
                    &counts.rounding);
        if (counts.rounding.overflow + counts.rounding.nan)
            write_events(r, i, step, &counts, 1u << HU_EVENT_OF_UPDATE, "float32");
    }
}

/* ---- rows ---- */

static double share(uint64_t count, uint64_t elements) {
    return elements ? (double)count / (double)elements : 0.0;
}

static void raise_to(double *most, double value) {
    if (value > *most) *most = value;
}

static void add_entry(entry *total, const entry *more) {
    hu_round_counts_add(&total->counts.rounding, &more->counts.rounding);
    raise_to(&total->most_overflow, more->most_overflow);
    raise_to(&total->most_underflow, more->most_underflow);
    raise_to(&total->most_subnormal, more->most_subnormal);
}

static void write_entry(hu_recorder *r, uint32_t i, const entry *e) {
    char format[HU_QUANTIZER_BYTES], name[HU_TENSOR_NAME_BYTES];
    const char *const names[] = {name, format};
    const hu_tensor_record record = {.counts = e->counts.rounding,
                                     .most_overflow = e->most_overflow,
                                     .most_underflow = e->most_underflow,
                                     .most_subnormal = e->most_subnormal};
    if (record.counts.elements == 0) return;
    hu_tensor_name(r->walk.graph, r->walk.tensor[i], name);
    hu_quantizer_print(quantizer_of(r, i), format, sizeof format);
    hu_row_write(r->numerics, separator(r), &hu_row_tensors, names, &record);
}

/* In how many of the row's steps each event held. held NULL: the row is of one step. */
static void write_held(hu_recorder *r, int64_t step, const entry *entries,
                       const hu_event_duration *held) {
    char name[HU_TENSOR_NAME_BYTES];
    r->is_first = true;
    hu_append_text(r->numerics, ", \"held\": [");
    for (uint32_t i = 0; i < r->walk.count; i++) {
        hu_event_duration one[HU_EVENTS] = {{0}};
        if (!held)
            hu_event_duration_add(one, (unsigned)entries[i].events, &entries[i].counts, step);
        hu_tensor_name(r->walk.graph, r->walk.tensor[i], name);
        hu_event_duration_write(r->numerics, name, held ? held + (size_t)i * HU_EVENTS : one,
                                &r->is_first);
    }
    hu_append_text(r->numerics, "]");
}

/* A row of counts: one step, or the sums of several. */
static hu_status write_row(hu_recorder *r, int64_t step, int64_t steps, bool skipped,
                           const entry *entries, bool with_present) {
    r->is_first = true;
    hu_append_format(r->numerics, "{\"step\": %" PRId64 ", \"steps\": %" PRId64 ", ", step, steps);
    if (skipped) hu_append_text(r->numerics, "\"skipped\": true, ");
    hu_append_text(r->numerics, "\"tensors\": [");
    for (uint32_t i = 0; i < r->walk.count; i++) write_entry(r, i, &entries[i]);
    hu_append_text(r->numerics, "]");
    write_held(r, step, entries, entries == r->pending ? r->held : NULL);
    if (with_present) hu_product_counts_write(r->numerics, r->walk.graph, r->edges);
    if (with_present) hu_update_counts_write(r->numerics, r->walk.graph, r->edges);
    return end_line(r->numerics, "}");
}

/* Adds the oldest kept step to the sums. */
static void retire(hu_recorder *r) {
    book *b = r->book;
    for (uint32_t i = 0; i < r->walk.count; i++) {
        const entry *oldest = &r->ring[0][i];
        add_entry(&r->pending[i], oldest);
        hu_event_duration_add(r->held + (size_t)i * HU_EVENTS, (unsigned)oldest->events,
                              &oldest->counts, b->ring_step[0]);
    }
    b->pending_steps++;
    b->pending_last = b->ring_step[0];
    b->ring_count--;
    size_t kept = (size_t)b->ring_count * r->walk.count;
    memmove(r->ring[0], r->ring[1], kept * sizeof(entry));
    memmove(b->ring_step, b->ring_step + 1, (size_t)b->ring_count * sizeof *b->ring_step);
}

static void clear_pending(hu_recorder *r) {
    clear_entries(r, r->pending);
    memset(r->held, 0, (size_t)r->walk.count * HU_EVENTS * sizeof *r->held);
    r->book->pending_steps = 0;
}

/* All kept steps join the sums, which become a row. */
hu_status hu_recorder_row(hu_recorder *r) {
    while (r->book->ring_count > 0) retire(r);
    if (r->book->pending_steps == 0) return HU_OK;
    hu_status st =
        write_row(r, r->book->pending_last, r->book->pending_steps, false, r->pending, true);
    clear_pending(r);
    return st;
}

/* Rows up to a step that was not done: the kept steps one by one. */
static hu_status write_steps(hu_recorder *r) {
    hu_status st = HU_OK;
    book *b = r->book;
    if (b->pending_steps > 0)
        HU_TRY(write_row(r, b->pending_last, b->pending_steps, false, r->pending, false));
    clear_pending(r);
    for (int64_t i = 0; i < b->ring_count; i++) {
        bool is_last = i == b->ring_count - 1;
        HU_TRY(write_row(r, b->ring_step[i], 1, is_last, r->ring[i], is_last));
    }
    b->ring_count = 0;
done:
    return st;
}

/* ---- histograms ---- */

void hu_recorder_watch(hu_recorder *recorder, hu_exponents_fn *seen, void *context) {
    recorder->seen = seen;
    recorder->seen_context = context;
}

static hu_status write_histogram(hu_recorder *r, uint32_t i, int64_t step, const hu_histogram *x) {
    char name[HU_TENSOR_NAME_BYTES];
    /* Empty bins at both ends are left out. */
    int32_t first = 0, end = HU_HISTOGRAM_BINS;
    while (first < end && x->bin[first] == 0) first++;
    while (end > first && x->bin[end - 1] == 0) end--;
    hu_tensor_name(r->walk.graph, r->walk.tensor[i], name);
    hu_append_format(r->histograms, "%s[\"%s\", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %d, [",
                     separator(r), name, x->elements, x->zero, x->nan + x->infinite,
                     first < end ? HU_HISTOGRAM_LEAST + first : 0);
    for (int32_t b = first; b < end; b++)
        hu_append_format(r->histograms, b > first ? ",%" PRIu64 : "%" PRIu64, x->bin[b]);
    hu_append_format(r->histograms, "], %.17g]", (double)x->largest);
    if (!r->seen) return HU_OK;
    return r->seen(r->seen_context, step, name, HU_HISTOGRAM_LEAST + first, x->bin + first,
                   (size_t)(end - first));
}

static hu_status write_histograms(hu_recorder *r, int64_t step) {
    hu_histogram x;
    hu_status st = HU_OK;
    if (!r->histograms || !hu_exponent_record_has(r->run, (uint64_t)step)) return HU_OK;
    r->is_first = true;
    hu_append_format(r->histograms, "{\"step\": %" PRId64 ", \"tensors\": [", step);
    for (uint32_t i = 0; i < r->walk.count; i++)
        if (recorded(r, r->walk.tensor[i], step, &x)) HU_TRY(write_histogram(r, i, step, &x));
    hu_append_text(r->histograms, "]");
    st = end_line(r->histograms, "}");
done:
    return st;
}

/* ---- steps ---- */

/* Puts the present step after the kept ones, and writes what is new. */
static hu_status note_tensors(hu_recorder *r, int64_t step, hu_step_end end) {
    book *b = r->book;
    char format[HU_QUANTIZER_BYTES];
    /* Room for this step: the oldest of the kept ones joins the sums. */
    if (b->ring_count == RING) retire(r);
    entry *entries = r->ring[b->ring_count];
    b->ring_step[b->ring_count++] = step;
    r->is_first = true;
    for (uint32_t i = 0; i < r->walk.count; i++) {
        hu_event_counts counts = present_counts(r, i, step);
        const hu_round_counts c = counts.rounding;
        unsigned events = hu_events_of(&counts, hu_quantizer_rounds(quantizer_of(r, i)));
        if (may_be_zero(r, i)) events &= ~(1u << HU_EVENT_OF_ZERO);
        /* Losses of gradients do not count in a skipped step, whose loss scale was too large: only
         * what is not finite tells. */
        if (end == HU_STEP_SKIPPED && hu_tensor_is_backward(r->walk.tensor[i]))
            events &= (1u << HU_EVENT_OF_NAN) | (1u << HU_EVENT_OF_INFINITY) |
                      (1u << HU_EVENT_OF_OVERFLOW);
        entries[i] = (entry){counts, share(c.overflow, c.elements), share(c.underflow, c.elements),
                             share(c.subnormal, c.elements), events};
        if (!(events & ~(unsigned)r->befallen[i])) continue;
        hu_quantizer_print(quantizer_of(r, i), format, sizeof format);
        write_events(r, i, step, &counts, events, format);
    }
    if (end == HU_STEP_BROKEN) write_broken(r, step);
    return r->is_first ? HU_OK : end_line(r->numerics, "]}");
}

hu_status hu_recorder_note(hu_recorder *r, const hu_run *run, int64_t step, hu_step_end end) {
    hu_status st = HU_OK;
    r->run = run;
    HU_TRY(note_tensors(r, step, end));
    /* One that is skipped had a loss scale that was too large. */
    if (end == HU_STEP_DONE && hu_product_counts_trouble(r->edges, r->failed)) r->is_known = false;
    HU_TRY(write_histograms(r, step));
    if (end != HU_STEP_DONE) HU_TRY(write_steps(r));
done:
    return st;
}

hu_status hu_recorder_evaluation(hu_recorder *r, int64_t step, const char **first) {
    char format[HU_QUANTIZER_BYTES];
    *first = NULL;
    r->is_first = true;
    for (uint32_t i = 0; i < r->walk.count; i++) {
        hu_tensor tensor = r->walk.tensor[i];
        const hu_edge *edge = &r->edges->value[tensor.value];
        const hu_event_counts counts = {.rounding = edge->counts};
        bool is_target = r->walk.graph->value[tensor.value].role == HU_VALUE_TARGET;
        if (tensor.kind != HU_TENSOR_VALUE || is_target) continue;
        if (!hu_edge_nonfinite(&edge->quantizer, &edge->counts)) continue;
        if (!*first) *first = r->walk.graph->value[tensor.value].name;
        hu_quantizer_print(&edge->quantizer, format, sizeof format);
        write_events(r, i, step, &counts, 1u << HU_EVENT_OF_EVALUATION, format);
    }
    return r->is_first ? HU_OK : end_line(r->numerics, "]}");
}

hu_status hu_recorder_line(hu_recorder *r, const char *line) {
    return end_line(r->numerics, line);
}

hu_trouble hu_recorder_trouble(hu_recorder *r) {
    if (r->is_known) return r->trouble;
    r->trouble = (hu_trouble){0};
    hu_trouble_of_tensors(&r->walk, r->befallen, r->marked, &r->trouble);
    for (size_t p = 0; p < (size_t)r->edges->node_count * HU_PRODUCT_ROLES; p++)
        r->trouble.sums += r->failed[p];
    r->is_known = true;
    return r->trouble;
}

/* ---- checkpoints ---- */

void hu_recorder_state(const hu_recorder *r, const void **data, size_t *bytes) {
    *data = r->book;
    *bytes = r->book_bytes;
}

hu_status hu_recorder_restore(hu_recorder *r, const void *data, size_t bytes) {
    book head;
    /* Checked before anything is taken over. */
    if (bytes < sizeof head)
        return hu_fail(HU_ERR_CORRUPT, "the counts of the steps before: found %zu bytes", bytes);
    memcpy(&head, data, sizeof head);
    /* The model is the run's, but what travels between workers may be more or less than before:
     * then nothing is known of the steps before. */
    if (head.fingerprint != r->book->fingerprint) return HU_OK;
    if (bytes != r->book_bytes)
        return hu_fail(HU_ERR_CORRUPT,
                       "the counts of the steps before: found %zu bytes, expected %zu", bytes,
                       r->book_bytes);
    if (head.ring_count < 0 || head.ring_count > RING || head.pending_steps < 0)
        return hu_fail(HU_ERR_CORRUPT,
                       "the counts of the steps before: %lld steps kept, %lld in "
                       "sums",
                       (long long)head.ring_count, (long long)head.pending_steps);
    memcpy(r->book, data, bytes);
    r->is_known = false;
    return HU_OK;
}

hu_status hu_recorder_sync(hu_recorder *r) {
    hu_status st = hu_append_sync(r->numerics);
    return st == HU_OK && r->histograms ? hu_append_sync(r->histograms) : st;
}

void hu_recorder_close(hu_recorder *r) {
    if (!r) return;
    hu_append_close(r->numerics);
    hu_append_close(r->histograms);
    hu_tensor_order_free(&r->walk);
    hu_free(r->marked);
    hu_free(r->book);
    hu_free(r);
}
