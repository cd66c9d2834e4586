#include "engine/rows.h"

#include <assert.h>
#include <omp.h>

#include "base/checked.h"
#include "base/process.h"
#include "engine/facts.h"
#include "engine/padding.h"
#include "engine/record.h"
#include "engine/scale.h"
#include "engine/usage.h"
#include "engine/work.h"

int hu_thread_number(void) {
    return omp_get_thread_num();
}

hu_visit hu_visit_begin(hu_run *run, hu_thread *thread, uint32_t region, hu_pass pass, int64_t c) {
    hu_visit visit = {.run = run,
                      .thread = thread,
                      .region = region,
                      .pass = pass,
                      .chunk = c,
                      .first = c * run->options.chunk,
                      .count = hu_chunk_rows(run, c),
                      .bump = {thread->scratch, 0},
                      .number = ++thread->visits};
    return visit;
}

/* ---- time ---- */

void hu_work_start(hu_visit *visit) {
    if (visit->run->pass.timed) visit->since = hu_seconds_now();
}

void hu_work_stop(hu_visit *visit, int work) {
    if (visit->run->pass.timed) visit->thread->seconds[work] += hu_seconds_now() - visit->since;
}

/* ---- scratch and buffers ---- */

void *hu_bump_take(hu_bump *bump, size_t bytes) {
    void *part = bump->base ? bump->base + bump->used : NULL;
    bump->used += hu_round_up(bytes, 64);
    return part;
}

void *hu_visit_take(hu_visit *visit, size_t bytes) {
    void *part = hu_bump_take(&visit->bump, bytes);
    if (visit->run->rehearsal.is_on) hu_rehearse_scratch(visit->run, visit->bump.used);
    assert(visit->bump.used <= visit->run->scratch_bytes); /* a rehearsal takes no less */
    return part;
}

float *hu_visit_take_rows(hu_visit *visit, const hu_slot *slot) {
    int64_t elements = hu_visit_elements(visit, slot) * visit->count;
    return hu_visit_take(visit, (size_t)elements * sizeof(float));
}

void hu_visit_touch(hu_visit *visit, uint32_t buffer) {
    if (visit->run->rehearsal.is_on) hu_rehearse_buffer(visit->run, buffer);
}

const float *hu_visit_read_step(hu_visit *visit, const hu_slot *slot, int64_t step) {
    hu_parts parts = visit->parts;
    parts.step = step;
    hu_visit_touch(visit, slot->buffer);
    float *rows = hu_visit_take_rows(visit, slot);
    if (visit->run->rehearsal.is_on) return NULL;
    hu_work_start(visit);
    hu_parts_read(slot, &parts, rows);
    hu_work_stop(visit, hu_op_count + HU_WORK_UNPACK);
    return rows;
}

const float *hu_visit_read(hu_visit *visit, const hu_slot *slot) {
    if (visit->loop) return hu_visit_read_step(visit, slot, visit->parts.step);
    hu_visit_touch(visit, slot->buffer);
    float *scratch = slot->storage.trait->is_float32 ? NULL : hu_visit_take_rows(visit, slot);
    if (visit->run->rehearsal.is_on) return NULL;
    hu_work_start(visit);
    const float *x =
        hu_storage_read(&slot->storage, slot->data, visit->first, visit->count, scratch);
    hu_work_stop(visit, hu_op_count + HU_WORK_UNPACK);
    return x;
}

float *hu_visit_place(hu_visit *visit, const hu_slot *slot, bool is_stored) {
    if (!is_stored) return hu_visit_take_rows(visit, slot);
    hu_visit_touch(visit, slot->buffer);
    hu_visit_touch(visit, slot->staging);
    if (visit->loop) return hu_visit_take_rows(visit, slot);
    if (slot->storage.trait->is_float32)
        return slot->data ? hu_storage_in_place(&slot->storage, slot->data, visit->first) : NULL;
    if (slot->staging != HU_NONE) return hu_scale_staged_rows(slot, visit->first);
    return hu_visit_take_rows(visit, slot);
}

void hu_visit_clear_padding(hu_visit *visit, hu_value_id v, float *x) {
    const hu_run *run = visit->run;
    hu_value_id lengths = hu_padding_lengths(run, v, visit->loop);
    if (lengths == HU_NONE) return;
    hu_visit_touch(visit, run->value[lengths].buffer);
    if (!x || run->rehearsal.is_on) return;
    if (visit->loop)
        hu_padding_clear_parts(run, v, &visit->parts, x);
    else
        hu_padding_clear(run, v, visit->first, visit->count, x);
}

void hu_visit_clear_rounded(hu_visit *visit, const hu_slot *slot, hu_value_id v, const float *x) {
    hu_visit_clear_padding(visit, v, slot->uniformer ? (float *)x : NULL);
}

/* Of rows that the tally counts, before they are rounded. */
static void add_extremes(const hu_visit *visit, const hu_slot *slot, hu_tally *tally,
                         const float *x) {
    const hu_run *run = visit->run;
    hu_value_id v = hu_tallied(run, (uint32_t)(tally - visit->thread->tally)).value;
    if (!visit->loop && hu_has_padding(run, v))
        hu_padding_add_extremes(run, slot, v, visit->first, visit->count, x, tally);
    else
        hu_scale_add_maximum(slot, tally, visit->count * hu_visit_elements(visit, slot), x);
}

/* Runs of numbers of the visit's rows x that are rounded: all, or in each part what is there. */
typedef void run_fn(hu_visit *visit, uint32_t tally, int64_t n, const float *x);

static void each_run(hu_visit *visit, uint32_t tally, const float *x, run_fn *each) {
    const hu_tallied_numbers of = hu_tallied(visit->run, tally);
    int64_t n = hu_visit_elements(visit, of.slot);
    const hu_parts parts = hu_padding_parts(visit->run, of.value, visit->parts);
    bool are_apart = visit->loop && parts.lengths;
    if (!are_apart) each(visit, tally, visit->count * n, x);
    for (int64_t k = 0; are_apart && k < visit->count; k++)
        each(visit, tally, hu_parts_there(&parts, n, k), x + k * n);
}

static void record(hu_visit *visit, uint32_t tally, int64_t n, const float *x) {
    hu_record_rows(visit->run, tally, n, x);
}

static void scan(hu_visit *visit, uint32_t tally, int64_t n, const float *x) {
    hu_scan_f32((size_t)n, x, &visit->thread->tally[tally].counts);
}

void hu_visit_record(hu_visit *visit, uint32_t tally, const float *x) {
    if (visit->run->records) each_run(visit, tally, x, record);
}

void hu_visit_scan(hu_visit *visit, uint32_t tally, const float *x) {
    each_run(visit, tally, x, scan);
}

void hu_visit_round_rows(const hu_visit *visit, const hu_slot *slot, hu_value_id v, float *x,
                         hu_round_counts *counts) {
    const hu_slot_context *context = &visit->run->context;
    const hu_parts parts = hu_padding_parts(visit->run, v, visit->parts);
    if (visit->loop)
        hu_parts_round(slot, context, &parts, x, counts);
    else
        hu_slot_round(slot, context, visit->first, visit->count, x, counts);
}

bool hu_visit_round(hu_visit *visit, const hu_slot *slot, unsigned flags, hu_tally *tally,
                    float *x) {
    hu_run *run = visit->run;
    bool is_stored = flags & HU_ROWS_STORED;
    bool is_staged = hu_slot_waits(slot);
    uint32_t index = tally ? (uint32_t)(tally - visit->thread->tally) : HU_NONE;
    bool is_readable = !is_staged && !(is_stored && hu_slot_packs_rows(slot));
    if (run->rehearsal.is_on) return is_readable;
    /* Exponents and maxima are of the numbers before they are rounded. */
    if (tally) hu_visit_record(visit, index, x);
    if (tally && (is_staged || slot->history != HU_NONE)) add_extremes(visit, slot, tally, x);
    if (is_staged) return is_readable;
    hu_work_start(visit);
    hu_round_counts *counts = tally ? &tally->counts : NULL;
    if (visit->loop) { /* all of its steps are counted */
        hu_visit_round_rows(visit, slot, hu_tallied(run, index).value, x, counts);
        if (is_stored) hu_parts_store(slot, &visit->parts, x);
    } else if (flags & HU_ROWS_ON_GRID) {
        hu_slot_store_on_grid(slot, &run->context, visit->first, visit->count, x, is_stored,
                              counts);
    } else if (is_stored) {
        hu_slot_store(slot, &run->context, visit->first, visit->count, x, counts);
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

hu_op_call *hu_visit_call(hu_visit *visit, uint32_t n) {
    hu_op_call *call = &visit->thread->call[n];
    if (visit->run->rehearsal.is_on) hu_rehearse_member(visit->run, n, visit->pass);
    call->first = visit->first;
    call->count = visit->count;
    call->lengths = lengths_of(visit->run, n);
    return call;
}

void hu_visit_run_op(hu_visit *visit, uint32_t n, hu_visit_fn *run, const hu_op_call *call) {
    if (visit->run->rehearsal.is_on) return;
    hu_work_start(visit);
    run(call);
    hu_work_stop(visit, visit->run->exec[n].kind);
}

void hu_visit_lend_scratch(hu_visit *visit, uint32_t n, hu_op_call *call) {
    hu_run *run = visit->run;
    const hu_op *op = run->graph->node[n].op;
    call->scratch = run->rehearsal.is_on ? NULL : visit->thread->scratch + visit->bump.used;
    if (run->rehearsal.is_on && op->scratch_bytes)
        hu_rehearse_scratch(run,
                            visit->bump.used + op->scratch_bytes(&run->exec[n].info,
                                                                 run->exec[n].state, visit->pass));
}

void hu_visit_point_mask(hu_visit *visit, uint32_t n, hu_op_call *call) {
    hu_run *run = visit->run;
    const hu_exec *exec = &run->exec[n];
    call->mask = NULL;
    if (exec->mask_bytes == 0) return;
    if (!hu_remakes_mask(run, n)) {
        unsigned char *mask = hu_buffer_data(run, exec->mask);
        hu_visit_touch(visit, exec->mask);
        if (mask) call->mask = mask + (size_t)visit->first * exec->mask_bytes;
        return;
    }
    hu_seen *seen = &visit->thread->mask[n];
    if (!hu_is_seen(visit, seen))
        hu_see(visit, seen, hu_visit_take(visit, exec->mask_bytes * (size_t)visit->count));
    call->mask = seen->rows;
}
