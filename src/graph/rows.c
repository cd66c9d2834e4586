#include "graph/rows.h"

#include "base/clock.h"

#include "graph/record.h"
#include "graph/rehearse.h"
#include "graph/rescale.h"
#include "graph/work.h"

/* ---- time ---- */

void hu_work_start(hu_visit *visit) {
    if (visit->run->pass.timed) visit->since = hu_seconds_now();
}

void hu_work_stop(hu_visit *visit, int work) {
    if (visit->run->pass.timed) visit->thread->seconds[work] += hu_seconds_now() - visit->since;
}

/* ---- scratch and buffers ---- */

void *hu_visit_take(hu_visit *visit, size_t bytes) {
    void *part = hu_bump_take(&visit->bump, bytes);
    if (visit->run->is_rehearsal) hu_rehearse_scratch(visit->run, visit->bump.used);
    return part;
}

float *hu_visit_take_rows(hu_visit *visit, const hu_slot *slot) {
    return hu_visit_take(visit, (size_t)(slot->elements * visit->count) * sizeof(float));
}

void hu_visit_touch(hu_visit *visit, uint32_t buffer) {
    if (visit->run->is_rehearsal) hu_rehearse_buffer(visit->run, buffer);
}

const float *hu_visit_read(hu_visit *visit, const hu_slot *slot) {
    hu_visit_touch(visit, slot->buffer);
    float *scratch = slot->storage.trait->is_float32 ? NULL : hu_visit_take_rows(visit, slot);
    if (visit->run->is_rehearsal) return NULL;
    hu_work_start(visit);
    const float *x =
        hu_storage_read(&slot->storage, slot->data, visit->first, visit->count, scratch);
    hu_work_stop(visit, hu_op_count + HU_WORK_UNPACK);
    return x;
}

float *hu_visit_place(hu_visit *visit, const hu_slot *slot, bool is_stored) {
    if (!is_stored) return hu_visit_take_rows(visit, slot);
    hu_visit_touch(visit, slot->buffer);
    hu_visit_touch(visit, slot->waiting);
    if (slot->storage.trait->is_float32)
        return slot->data ? hu_storage_in_place(&slot->storage, slot->data, visit->first) : NULL;
    if (slot->waiting != HU_NONE) return hu_rescale_room(slot, visit->first);
    return hu_visit_take_rows(visit, slot);
}

bool hu_visit_settle(hu_visit *visit, const hu_slot *slot, bool is_stored, bool is_member,
                     hu_tally *tally, float *x) {
    hu_run *run = visit->run;
    bool waits = hu_quantizer_needs_maximum(&slot->edge->quantizer);
    bool is_readable = !waits && !(is_stored && hu_storage_is_blocks(&slot->storage));
    if (run->is_rehearsal) return is_readable;
    if (tally && run->records)
        hu_record_rows(run, (uint32_t)(tally - visit->thread->tally), visit->count * slot->elements,
                       x);
    if (tally && (waits || slot->history != HU_NONE)) hu_rescale_top(slot, tally, visit->count, x);
    if (waits) return is_readable;
    hu_work_start(visit);
    hu_round_counts *counts = tally ? &tally->counts : NULL;
    if (is_member)
        hu_slot_keep(slot, &run->context, visit->first, visit->count, x, is_stored, counts);
    else if (is_stored)
        hu_slot_store(slot, &run->context, visit->first, visit->count, x, counts);
    else
        hu_slot_round(slot, &run->context, visit->first, visit->count, x, counts);
    hu_work_stop(visit, hu_op_count + HU_WORK_ROUND);
    return is_readable;
}

/* ---- calls ---- */

hu_op_call *hu_visit_call(hu_visit *visit, uint32_t n) {
    hu_op_call *call = &visit->thread->call[n];
    if (visit->run->is_rehearsal) hu_rehearse_member(visit->run, visit->region, n, visit->pass);
    call->first = visit->first;
    call->count = visit->count;
    return call;
}

void hu_visit_run_op(hu_visit *visit, uint32_t n, hu_visit_fn *run, const hu_op_call *call) {
    if (visit->run->is_rehearsal) return;
    hu_work_start(visit);
    run(call);
    hu_work_stop(visit, visit->run->exec[n].kind);
}

void hu_visit_lend_scratch(hu_visit *visit, uint32_t n, hu_op_call *call) {
    hu_run *run = visit->run;
    const hu_op *op = run->graph->node[n].op;
    call->scratch = run->is_rehearsal ? NULL : visit->thread->scratch + visit->bump.used;
    if (run->is_rehearsal && op->scratch_bytes)
        hu_rehearse_scratch(run,
                            visit->bump.used + op->scratch_bytes(&run->exec[n].info,
                                                                 run->exec[n].state, visit->pass));
}
