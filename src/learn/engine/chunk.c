#include "engine/chunk.h"

#include <assert.h>
#include <omp.h>
#include <string.h>

#include "base/checked.h"
#include "base/process.h"

/* ---- usage ---- */

/* What the passes note while they are rehearsed (planner/rehearsal.c): when each
 * buffer is used, how much scratch a thread needs, and which nodes run in a region. */

void hu_rehearse_buffer(hu_run *run, uint32_t buffer) {
    if (buffer == HU_NONE) return;
    hu_buffer_use(&run->buffers[buffer], run->rehearsal.course, run->rehearsal.time);
}

void hu_rehearse_scratch(const hu_run *run, hu_visit_scratch *scratch, size_t bytes) {
    scratch->time = run->rehearsal.time;
    if (bytes > scratch->bytes) scratch->bytes = bytes;
}

/* A buffer is used when a region begins. */
static void rehearse_beginning(hu_run *run, uint32_t buffer) {
    if (buffer == HU_NONE) return;
    hu_buffer_use(&run->buffers[buffer], run->rehearsal.course, run->rehearsal.time - 1);
}

/* Whether visits of the region read of a node's parameters only what it has begun with. */
static bool reads_packed_params(const hu_run *run, uint32_t region, uint32_t n, hu_pass pass) {
    const hu_op *op = run->graph->node[n].op;
    bool is_begun = n >= hu_region_first(run, region) && n <= hu_region_last(run, region);
    return is_begun && op->packs_params &&
           op->packs_params(&run->exec[n].info, run->exec[n].state, pass);
}

/* Node n runs in a region. */
static void hu_rehearse_member(hu_run *run, uint32_t region, uint32_t n, hu_pass pass) {
    const hu_exec *exec = &run->exec[n];
    hu_rehearse_buffer(run, exec->stats);
    rehearse_beginning(run, exec->params[pass]);
    if (!reads_packed_params(run, region, n, pass)) hu_rehearse_buffer(run, exec->params[pass]);
    rehearse_beginning(run, exec->workspace[pass]);
    hu_rehearse_buffer(run, exec->workspace[pass]);
    if (!run->rehearsal.has_met[n]) run->rehearsal.met[run->rehearsal.met_count++] = n;
    run->rehearsal.has_met[n] = true;
}

/* ---- parts ---- */

/* One step of the rows of some samples, in a slot whose rows have steps.
 *
 * Slots keep them sample by sample: parts are gathered before an op reads them, and stored one by
 * one. A scale or a range is that of one part, so that no step waits for another, and no sample
 * for the others.
 */

/* Elements of part k that are present, of n. */
static inline int64_t hu_parts_valid(const hu_parts *parts, int64_t n, int64_t k) {
    if (!parts->lengths) return n;
    float length = parts->lengths[parts->first + parts->sample[k]];
    return hu_rows_of_length(length, n / parts->row) * parts->row;
}

/* Where the row of a sample lies. */
static unsigned char *row_of(const hu_slot *slot, int64_t sample) {
    return slot->data + hu_storage_bytes(&slot->storage, sample);
}

/* Reads the parts into rows [count, elements]. */
static void hu_parts_read(const hu_slot *slot, const hu_parts *parts, float *rows) {
    int64_t n = hu_part_elements(slot);
    for (int64_t k = 0; k < parts->count; k++) {
        float *to = rows + k * n;
        const float *from = hu_storage_read_part(
            &slot->storage, row_of(slot, parts->first + parts->sample[k]), parts->step * n, n, to);
        if (from != to) memcpy(to, from, (size_t)n * sizeof *to);
    }
}

/* Rounds x [count, elements], counts (NULL: not counted).
 *
 * Without random words and scales of their own the place of numbers does not matter: all parts are
 * one run. */
static void hu_parts_round(const hu_slot *slot, const hu_slot_context *context,
                           const hu_parts *parts, float *x, hu_round_counts *counts) {
    int64_t n = hu_part_elements(slot);
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    bool are_apart = hu_rounding_draws(quantizer->rounding) || hu_quantizer_looks(quantizer);
    are_apart = are_apart || parts->lengths;
    int64_t runs = are_apart ? parts->count : 1;
    for (int64_t k = 0; k < runs; k++) {
        int64_t length = are_apart ? hu_parts_valid(parts, n, k) : n * parts->count;
        if (length == 0) continue;
        hu_slot_round_part(slot, context, parts->first + parts->sample[k], parts->step * n, length,
                           x + k * n, counts);
    }
}

/* Stores rounded parts. */
static void hu_parts_store(const hu_slot *slot, const hu_parts *parts, const float *x) {
    int64_t n = hu_part_elements(slot);
    for (int64_t k = 0; k < parts->count; k++)
        hu_storage_write_part(&slot->storage, row_of(slot, parts->first + parts->sample[k]),
                              parts->step * n, n, x + k * n);
}

void hu_parts_clear(const hu_slot *slot, int64_t sample, int64_t step, const float *zeros) {
    int64_t n = hu_part_elements(slot);
    for (; step < slot->steps; step++)
        hu_storage_write_part(&slot->storage, row_of(slot, sample), step * n, n, zeros);
}

/* ---- padding ---- */

/* Rows of samples that are padding (graph/graph.h): zeros, which nobody counts.
 *
 * Whoever has made numbers of a value or of its gradient clears these rows before they are rounded.
 * Zeros stay zeros in a number format and make no scale larger: what remains is to leave them out
 * of the counters. A uniform quantizer may have no zero: its range is that of the other rows, and
 * the rows are cleared again where rounded numbers are read.
 *
 * A loop has the steps that are present and no others (graph/graph.h). What it makes of rows that a
 * node holds has padding in every step, which is cleared, and not looked at when the step is
 * rounded.
 */

/* The lengths of the rows of a value, in a step of a loop or of the whole; HU_NONE: there is no
 * padding. */
static inline hu_value_id hu_padding_lengths(const hu_run *run, hu_value_id v, bool in_step) {
    const hu_value_info *value = &run->graph->value[v];
    return in_step ? value->inner.lengths : value->ends.lengths;
}

/* Numbers of sample s of the pass that are present, the first ones of its row. */
static int64_t valid(const hu_run *run, const hu_value_info *value, int64_t s) {
    const float *lengths = (const void *)run->value[value->ends.lengths].data;
    return hu_rows_of_length(lengths[s], value->elements / value->ends.row) * value->ends.row;
}

/* Numbers of each step of sample s that are present. */
static int64_t there_in_step(const hu_run *run, const hu_value_info *value, int64_t s) {
    const float *lengths = (const void *)run->value[value->inner.lengths].data;
    int64_t n = value->elements / value->steps;
    return hu_rows_of_length(lengths[s], n / value->inner.row) * value->inner.row;
}

static void clear_from(float *x, int64_t first, int64_t end) {
    memset(x + first, 0, (size_t)(end - first) * sizeof *x);
}

/* Zeroes the padding of x [count, elements of v], samples from `first` on. */
static void hu_padding_clear(const hu_run *run, hu_value_id v, int64_t first, int64_t count,
                             float *x) {
    const hu_value_info *value = &run->graph->value[v];
    bool has_inner = value->inner.lengths != HU_NONE;
    int64_t step = value->elements / value->steps;
    for (int64_t s = first; s < first + count; s++, x += value->elements) {
        clear_from(x, valid(run, value, s), value->elements);
        for (int64_t t = 0; has_inner && t < value->steps; t++)
            clear_from(x + t * step, there_in_step(run, value, s), step);
    }
}

/* The same of one step: x [count of the parts, elements of a step]. */
static void hu_padding_clear_parts(const hu_run *run, hu_value_id v, const hu_parts *parts,
                                   float *x) {
    const hu_value_info *value = &run->graph->value[v];
    int64_t n = value->elements / value->steps;
    for (int64_t k = 0; k < parts->count; k++)
        clear_from(x + k * n, there_in_step(run, value, parts->first + parts->sample[k]), n);
}

/* The parts with the lengths of the value's rows in each of them. */
static hu_parts hu_padding_parts(const hu_run *run, hu_value_id v, hu_parts parts) {
    const hu_row_lengths *inner = &run->graph->value[v].inner;
    if (inner->lengths == HU_NONE) return parts;
    parts.lengths = (const void *)run->value[inner->lengths].data;
    parts.row = inner->row;
    return parts;
}

void hu_padding_add_extremes(const hu_run *run, const hu_slot *slot, hu_value_id v, int64_t first,
                             int64_t count, const float *x, hu_tally *tally) {
    const hu_value_info *value = &run->graph->value[v];
    for (int64_t s = 0; s < count; s++)
        hu_tensor_scale_add_maximum(slot, tally, valid(run, value, first + s),
                                    x + s * value->elements);
}

uint64_t hu_padding_elements(const hu_run *run, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    int64_t padding = 0, step = value->elements / value->steps;
    for (int64_t s = 0; s < run->pass.samples; s++) {
        int64_t n = valid(run, value, s);
        padding += value->elements - n;
        if (value->inner.lengths != HU_NONE)
            padding += n / step * (step - there_in_step(run, value, s));
    }
    return (uint64_t)padding;
}

/* Zeros from element `first` of sample s to its end, rounded once more. */
static void count_zeros(const hu_run *run, const hu_slot *slot, int64_t s, int64_t first,
                        hu_round_counts *counts) {
    enum { PART = 1024 };
    static const float zeros[PART];
    const hu_random_key key = {run->context.seed, slot->stream, run->context.step};
    float rounded[PART];
    hu_uniformer part = *slot->uniformer;
    for (; first < slot->elements; first += part.row_elements) {
        int64_t left = slot->elements - first;
        part.row_elements = left < PART ? left : PART;
        hu_uniform_round(&part, slot->scale, 1, zeros, rounded, &key,
                         (uint64_t)((run->context.first_row + s) * slot->elements + first), counts);
    }
}

static uint64_t less(uint64_t n, uint64_t by) {
    return n > by ? n - by : 0;
}

void hu_padding_uncount(const hu_run *run, const hu_slot *slot, hu_value_id v,
                        hu_round_counts *counts) {
    hu_round_counts of_zeros;
    hu_round_counts_clear(&of_zeros);
    of_zeros.elements = of_zeros.zero = slot->uniformer ? 0 : hu_padding_elements(run, v);
    for (int64_t s = 0; slot->uniformer && s < run->pass.samples; s++)
        count_zeros(run, slot, s, valid(run, &run->graph->value[v], s), &of_zeros);
    counts->elements = less(counts->elements, of_zeros.elements);
    counts->zero = less(counts->zero, of_zeros.zero);
    counts->nan = less(counts->nan, of_zeros.nan);
    counts->overflow = less(counts->overflow, of_zeros.overflow);
    counts->underflow = less(counts->underflow, of_zeros.underflow);
}

/* ---- rows ---- */

/* One visit: one chunk in one region, by one thread. What a visit reads and writes
 * lies in place (float32), or in the thread's scratch, from which it is packed.
 *
 * In a rehearsal the same code takes the same steps without numbers: it notes when each buffer is
 * used, how much scratch is needed, and which nodes run in a region (engine/chunk.h).
 */

int hu_thread_number(void) {
    return omp_get_thread_num();
}

/* What visits of a region take, which any of its nodes names; HU_NONE: those that load. */
static hu_visit_scratch *scratch_of(hu_run *run, uint32_t region, hu_pass pass) {
    if (region == HU_NONE) return &run->loading;
    return &run->exec[hu_region_first(run, region)].scratch[pass];
}

/* The part of a thread. */
static unsigned char *own_scratch(hu_run *run, const hu_thread *thread,
                                  const hu_visit_scratch *scratch) {
    unsigned char *all = run->arena ? hu_buffer_data(run, scratch->buffer) : NULL;
    return all ? all + (size_t)(thread - run->thread) * scratch->bytes : NULL;
}

hu_chunk hu_chunk_begin(hu_run *run, hu_thread *thread, uint32_t region, hu_pass pass, int64_t c) {
    hu_chunk visit = {.run = run,
                      .thread = thread,
                      .region = region,
                      .pass = pass,
                      .chunk = c,
                      .first = c * run->options.chunk,
                      .count = hu_chunk_rows(run, c),
                      .bump = {own_scratch(run, thread, scratch_of(run, region, pass)), 0},
                      .number = ++thread->visits};
    return visit;
}

/* ---- time ---- */

void hu_work_start(hu_chunk *visit) {
    if (visit->run->pass.timed) visit->since = hu_seconds_now();
}

void hu_work_stop(hu_chunk *visit, int work) {
    if (visit->run->pass.timed) visit->thread->seconds[work] += hu_seconds_now() - visit->since;
}

/* ---- scratch and buffers ---- */

void *hu_bump_take(hu_bump *bump, size_t bytes) {
    void *part = bump->base ? bump->base + bump->used : NULL;
    bump->used += hu_round_up(bytes, 64);
    return part;
}

void *hu_chunk_take(hu_chunk *visit, size_t bytes) {
    void *part = hu_bump_take(&visit->bump, bytes);
    hu_visit_scratch *scratch = scratch_of(visit->run, visit->region, visit->pass);
    if (visit->run->rehearsal.is_on) hu_rehearse_scratch(visit->run, scratch, visit->bump.used);
    assert(visit->bump.used <= scratch->bytes); /* a rehearsal takes no less */
    return part;
}

float *hu_chunk_take_rows(hu_chunk *visit, const hu_slot *slot) {
    int64_t elements = hu_chunk_elements(visit, slot) * visit->count;
    return hu_chunk_take(visit, (size_t)elements * sizeof(float));
}

void hu_chunk_touch(hu_chunk *visit, uint32_t buffer) {
    if (visit->run->rehearsal.is_on) hu_rehearse_buffer(visit->run, buffer);
}

const float *hu_chunk_read_step(hu_chunk *visit, const hu_slot *slot, int64_t step) {
    hu_parts parts = visit->parts;
    parts.step = step;
    hu_chunk_touch(visit, slot->buffer);
    float *rows = hu_chunk_take_rows(visit, slot);
    if (visit->run->rehearsal.is_on) return NULL;
    hu_work_start(visit);
    hu_parts_read(slot, &parts, rows);
    hu_work_stop(visit, hu_op_count + HU_WORK_UNPACK);
    return rows;
}

const float *hu_chunk_read(hu_chunk *visit, const hu_slot *slot) {
    if (visit->loop) return hu_chunk_read_step(visit, slot, visit->parts.step);
    hu_chunk_touch(visit, slot->buffer);
    float *scratch = slot->storage.trait->is_float32 ? NULL : hu_chunk_take_rows(visit, slot);
    if (visit->run->rehearsal.is_on) return NULL;
    hu_work_start(visit);
    const float *x =
        hu_storage_read(&slot->storage, slot->data, visit->first, visit->count, scratch);
    hu_work_stop(visit, hu_op_count + HU_WORK_UNPACK);
    return x;
}

float *hu_chunk_place(hu_chunk *visit, const hu_slot *slot, bool is_stored) {
    if (!is_stored) return hu_chunk_take_rows(visit, slot);
    hu_chunk_touch(visit, slot->buffer);
    hu_chunk_touch(visit, slot->staging);
    if (visit->loop) return hu_chunk_take_rows(visit, slot);
    if (slot->storage.trait->is_float32)
        return slot->data ? hu_storage_in_place(&slot->storage, slot->data, visit->first) : NULL;
    if (slot->staging != HU_NONE) return hu_tensor_scale_staged_rows(slot, visit->first);
    return hu_chunk_take_rows(visit, slot);
}

void hu_chunk_clear_padding(hu_chunk *visit, hu_value_id v, float *x) {
    const hu_run *run = visit->run;
    hu_value_id lengths = hu_padding_lengths(run, v, visit->loop);
    if (lengths == HU_NONE) return;
    hu_chunk_touch(visit, run->value[lengths].buffer);
    if (!x || run->rehearsal.is_on) return;
    if (visit->loop)
        hu_padding_clear_parts(run, v, &visit->parts, x);
    else
        hu_padding_clear(run, v, visit->first, visit->count, x);
}

void hu_chunk_clear_rounded(hu_chunk *visit, const hu_slot *slot, hu_value_id v, const float *x) {
    hu_chunk_clear_padding(visit, v, slot->uniformer ? (float *)x : NULL);
}

/* Of rows that the tally counts, before they are rounded. */
static void add_extremes(const hu_chunk *visit, const hu_slot *slot, hu_tally *tally,
                         const float *x) {
    const hu_run *run = visit->run;
    hu_value_id v = hu_tallied(run, (uint32_t)(tally - visit->thread->tally)).value;
    if (!visit->loop && hu_has_padding(run, v))
        hu_padding_add_extremes(run, slot, v, visit->first, visit->count, x, tally);
    else
        hu_tensor_scale_add_maximum(slot, tally, visit->count * hu_chunk_elements(visit, slot), x);
}

/* Runs of numbers of the visit's rows x that are rounded: all, or in each part what is present. */
typedef void run_fn(hu_chunk *visit, uint32_t tally, int64_t n, const float *x);

static void each_run(hu_chunk *visit, uint32_t tally, const float *x, run_fn *each) {
    const hu_tallied_numbers of = hu_tallied(visit->run, tally);
    int64_t n = hu_chunk_elements(visit, of.slot);
    const hu_parts parts = hu_padding_parts(visit->run, of.value, visit->parts);
    bool are_apart = visit->loop && parts.lengths;
    if (!are_apart) each(visit, tally, visit->count * n, x);
    for (int64_t k = 0; are_apart && k < visit->count; k++)
        each(visit, tally, hu_parts_valid(&parts, n, k), x + k * n);
}

static void record(hu_chunk *visit, uint32_t tally, int64_t n, const float *x) {
    hu_exponent_record_rows(visit->run, tally, n, x);
}

static void scan(hu_chunk *visit, uint32_t tally, int64_t n, const float *x) {
    hu_scan_f32((size_t)n, x, &visit->thread->tally[tally].counts);
}

void hu_chunk_record(hu_chunk *visit, uint32_t tally, const float *x) {
    if (visit->run->rehearsal.is_on) return;
    if (visit->run->records) each_run(visit, tally, x, record);
    if (visit->run->watch) hu_watch_rows(visit, tally, x);
}

void hu_chunk_scan(hu_chunk *visit, uint32_t tally, const float *x) {
    each_run(visit, tally, x, scan);
}

void hu_chunk_round_rows(const hu_chunk *visit, const hu_slot *slot, hu_value_id v, float *x,
                         hu_round_counts *counts) {
    const hu_slot_context *context = &visit->run->context;
    const hu_parts parts = hu_padding_parts(visit->run, v, visit->parts);
    if (visit->loop)
        hu_parts_round(slot, context, &parts, x, counts);
    else
        hu_slot_round(slot, context, visit->first, visit->count, x, counts);
}

bool hu_chunk_round(hu_chunk *visit, const hu_slot *slot, unsigned flags, hu_tally *tally,
                    float *x) {
    hu_run *run = visit->run;
    bool is_stored = flags & HU_ROWS_STORED;
    bool is_staged = hu_slot_waits(slot);
    uint32_t index = tally ? (uint32_t)(tally - visit->thread->tally) : HU_NONE;
    bool is_readable = !is_staged && !(is_stored && hu_slot_packs_rows(slot));
    if (run->rehearsal.is_on) return is_readable;
    /* Exponents and maxima are of the numbers before they are rounded. */
    if (tally) hu_chunk_record(visit, index, x);
    if (tally && (is_staged || slot->history != HU_NONE)) add_extremes(visit, slot, tally, x);
    if (is_staged) return is_readable;
    hu_work_start(visit);
    hu_round_counts *counts = tally ? &tally->counts : NULL;
    if (visit->loop) { /* all of its steps are counted */
        hu_chunk_round_rows(visit, slot, hu_tallied(run, index).value, x, counts);
        if (is_stored) hu_parts_store(slot, &visit->parts, x);
    } else if (flags & HU_ROWS_ON_GRID) {
        hu_slot_store_on_grid(slot, &run->context, visit->first, visit->count, x, is_stored,
                              counts);
    } else if (is_stored) {
        hu_slot_store(slot, &run->context, visit->first, visit->count, x, slot->is_read_at_once,
                      counts);
        is_readable = is_readable && (slot->is_read_at_once || !hu_slot_encodes(slot));
    } else {
        hu_slot_round(slot, &run->context, visit->first, visit->count, x, counts);
    }
    hu_work_stop(visit, hu_op_count + HU_WORK_ROUND);
    return is_readable;
}

/* ---- calls ---- */

/* Of a product that keeps rows: how many its input has. Its steps in a loop have all of them. */
static const float *lengths_of(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    bool is_of_rows = node->op->is_product && node->op->keeps_rows && node->loop == HU_NONE;
    if (!is_of_rows || !hu_has_padding(run, node->in[0])) return NULL;
    const hu_value_info *in = &run->graph->value[node->in[0]];
    const hu_value_info *out = &run->graph->value[node->out[0]];
    bool has_same = out->ends.lengths == in->ends.lengths &&
                    out->elements / out->ends.row == in->elements / in->ends.row;
    return has_same ? (const void *)run->value[in->ends.lengths].data : NULL;
}

hu_op_call *hu_chunk_call(hu_chunk *visit, uint32_t n) {
    hu_op_call *call = &visit->thread->call[n];
    if (visit->run->rehearsal.is_on) hu_rehearse_member(visit->run, visit->region, n, visit->pass);
    call->first = visit->first;
    call->count = visit->count;
    call->lengths = lengths_of(visit->run, n);
    return call;
}

void hu_chunk_run_op(hu_chunk *visit, uint32_t n, hu_chunk_fn *run, const hu_op_call *call) {
    if (visit->run->rehearsal.is_on) return;
    hu_work_start(visit);
    run(call);
    hu_work_stop(visit, visit->run->exec[n].kind);
}

void hu_chunk_lend_scratch(hu_chunk *visit, uint32_t n, hu_op_call *call) {
    hu_run *run = visit->run;
    const hu_op *op = run->graph->node[n].op;
    call->scratch = visit->bump.base ? visit->bump.base + visit->bump.used : NULL;
    if (!run->rehearsal.is_on || !op->scratch_bytes) return;
    size_t bytes = op->scratch_bytes(&run->exec[n].info, run->exec[n].state, visit->pass);
    hu_rehearse_scratch(run, scratch_of(run, visit->region, visit->pass), visit->bump.used + bytes);
}

void hu_chunk_point_mask(hu_chunk *visit, uint32_t n, hu_op_call *call) {
    hu_run *run = visit->run;
    const hu_exec *exec = &run->exec[n];
    call->mask = NULL;
    if (exec->mask_bytes == 0) return;
    if (!hu_remakes_mask(run, n)) {
        unsigned char *mask = hu_buffer_data(run, exec->mask);
        hu_chunk_touch(visit, exec->mask);
        if (mask) call->mask = mask + (size_t)visit->first * exec->mask_bytes;
        return;
    }
    hu_seen *seen = &visit->thread->mask[n];
    if (!hu_is_seen(visit, seen))
        hu_see(visit, seen, hu_chunk_take(visit, exec->mask_bytes * (size_t)visit->count));
    call->mask = seen->rows;
}
