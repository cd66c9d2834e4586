/* engine/row_stream.c - rows of a wide tensor that an op takes and leaves a few at a time: they are
 * unpacked just before it reads them, and rounded, counted and packed just after it has written
 * them, all in the cache. A rehearsal does not take this path: it needs as much scratch at most. */
#include "base/process.h"
#include "engine/chunk.h"

/* Work within that of the op, whose time it is taken from. */
static void count_within(hu_chunk *visit, int work, double since) {
    if (!visit->run->pass.timed) return;
    double seconds = hu_seconds_now() - since;
    visit->thread->seconds[work] += seconds;
    visit->since += seconds;
}

static double start_within(const hu_chunk *visit) {
    return visit->run->pass.timed ? hu_seconds_now() : 0.0;
}

/* ---- read ---- */

static const float *read(const hu_rows_in *rows, int64_t sample, int64_t first, int64_t n) {
    const hu_stream_in *stream = (const hu_stream_in *)(const void *)rows;
    const hu_slot *slot = stream->slot;
    const unsigned char *row =
        slot->data + hu_storage_bytes(&slot->storage, stream->visit->first + sample);
    double since = start_within(stream->visit);
    const float *x =
        hu_storage_read_part(&slot->storage, row, first * slot->line, n * slot->line, stream->room);
    count_within(stream->visit, hu_op_count + HU_WORK_UNPACK, since);
    return x;
}

bool hu_chunk_stream_input(hu_chunk *visit, uint32_t n, hu_op_call *call) {
    const hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    const hu_slot *slot = &run->value[node->in[0]];
    if (!node->op->takes_rows || run->rehearsal.is_on || visit->loop) return false;
    if (hu_use_slot(run, node->first_use) || hu_reads_scaled(run, n)) return false;
    if (!hu_storage_has_part(&slot->storage, slot->line)) return false;
    if (!hu_chunk_must_read(visit, node->in[0])) return false;
    hu_stream_in *stream = &visit->stream_in;
    if (stream->slot != slot) /* once a visit, as where all of them are read */
        *stream = (hu_stream_in){{read}, visit, slot, hu_chunk_take_rows(visit, slot)};
    call->in[0] = NULL;
    call->rows_in = &stream->rows;
    return true;
}

/* ---- written ---- */

static void store(const hu_rows_out *rows, int64_t sample, int64_t first, int64_t n) {
    const hu_stream_out *stream = (const hu_stream_out *)(const void *)rows;
    const hu_slot *slot = stream->slot;
    hu_chunk *visit = stream->visit;
    double since = start_within(visit);
    hu_slot_encode_part(slot, &visit->run->context, visit->first + sample, first * slot->line,
                        n * slot->line, rows->room, stream->counts);
    count_within(visit, hu_op_count + HU_WORK_ROUND, since);
}

/* True if nobody looks at the numbers of the pass beside those who round them. */
static bool is_unwatched(const hu_run *run) {
    return !run->pass.scan && !run->pass.counts_all && !run->records && !run->watch;
}

bool hu_chunk_stream_gradient(hu_chunk *visit, uint32_t n, hu_op_call *call) {
    const hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    uint32_t use = node->first_use;
    const hu_slot *slot = &run->grad[use];
    if (!node->op->takes_rows || run->rehearsal.is_on || visit->loop || !is_unwatched(run))
        return false;
    if (!hu_use_is_stored(run, use) || slot->is_read_at_once || !hu_slot_encodes(slot))
        return false;
    if (hu_slot_waits(slot) || slot->history != HU_NONE || hu_gives_scaled(run, n)) return false;
    if (hu_has_padding(run, node->in[0]) || hu_learns_input(run, n, 0)) return false;
    if (slot->edge->quantizer.is_real || !hu_storage_has_part(&slot->storage, slot->line))
        return false;
    hu_round_counts *counts = &visit->thread->tally[hu_tally_of_use(run, use)].counts;
    visit->stream_out = (hu_stream_out){{call->din[0], store}, visit, slot, counts};
    call->rows_out = &visit->stream_out.rows;
    return true;
}
