#include "engine/chunk.h"

#include <string.h>

/* Where a lazy node writes: over its input, in place, or scratch. */
static float *making_room(hu_chunk *visit, const hu_node *node, const hu_op_call *call,
                          bool is_stored) {
    const hu_slot *slot = &visit->run->value[node->out[0]];
    bool in_place = is_stored && slot->storage.trait->is_float32;
    if (in_place || !hu_overwrites_input(visit->run, node))
        return hu_chunk_place(visit, slot, is_stored);
    if (is_stored) hu_chunk_touch(visit, slot->buffer);
    hu_forget(&visit->thread->value[node->in[0]]);
    return (float *)call->in[0];
}

/* True if this visit makes a lazy value first: there it is counted, and stored if anywhere. */
static bool makes_first(const hu_chunk *visit, hu_value_id v) {
    return visit->pass == HU_FORWARD && visit->run->made_in[v] == visit->region;
}

/* A lazy node's call with its inputs. */
static hu_op_call *load_inputs(hu_chunk *visit, uint32_t n) {
    const hu_node *node = &visit->run->graph->node[n];
    hu_op_call *call = hu_chunk_call(visit, n);
    bool is_first = makes_first(visit, node->out[0]);
    for (int i = 0; i < node->n_in; i++) call->in[i] = hu_chunk_input(visit, n, i, is_first);
    return call;
}

/* True if a relu and the node before it run as one: nobody rounds, counts or reads the numbers
 * between them. A rehearsal takes the unfused path: it uses the same buffers and at least as much
 * scratch, because it takes the relu's mask before the inner op borrows scratch. */
static bool joins_relu(const hu_run *run, const hu_node *node) {
    hu_value_id in = node->in[0];
    if (!node->op->is_relu || run->rehearsal.is_on || run->pass.scan || run->pass.counts_all ||
        run->records || run->watch || !hu_overwrites_input(run, node))
        return false;
    uint32_t producer = run->graph->value[in].producer;
    const hu_op *before = run->graph->node[producer].op;
    if (hu_makes_scaled(run, producer) || hu_reads_scaled(run, producer)) return false;
    return before->forward_relu && !hu_quantizer_rounds(&run->value[in].edge->quantizer) &&
           run->graph->value[in].elements % 8 == 0;
}

/* The output of a relu and of the node before it. */
static float *make_with_relu(hu_chunk *visit, uint32_t n, bool is_stored) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    uint32_t before = run->graph->value[node->in[0]].producer;
    hu_op_call *relu = hu_chunk_call(visit, n), *call = load_inputs(visit, before);
    const hu_node *first = &run->graph->node[before];
    const hu_slot *slot = &run->value[node->out[0]];
    bool in_place = is_stored && slot->storage.trait->is_float32;
    hu_chunk_point_mask(visit, n, relu);
    call->out[0] =
        in_place ? hu_chunk_place(visit, slot, is_stored) : making_room(visit, first, call, false);
    hu_chunk_lend_scratch(visit, before, call);
    hu_work_start(visit);
    first->op->forward_relu(call, relu->mask);
    hu_work_stop(visit, run->exec[before].kind);
    relu->out[0] = call->out[0];
    hu_chunk_scale_outputs(visit, n, relu);
    return call->out[0];
}

/* True if the output of a node holds values of its format before it is rounded. */
static bool stays_on_grid(const hu_run *run, uint32_t n) {
    const hu_node *node = &run->graph->node[n];
    const hu_slot *read = hu_use_slot(run, node->first_use);
    const hu_slot *from = read ? read : &run->value[node->in[0]];
    return node->op->selects_input && !hu_makes_scaled(run, n) &&
           hu_stays_on_grid(run, &from->edge->quantizer, &run->value[node->out[0]].edge->quantizer);
}

/* Runs a lazy node; true: *rows are its output, false: the output must be read from storage. */
static bool make(hu_chunk *visit, uint32_t n, const float **rows) {
    hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    hu_value_id out = node->out[0];
    bool is_first = makes_first(visit, out);
    bool is_stored = is_first && !run->is_virtual[out];
    float *y;
    if (joins_relu(run, node)) {
        y = make_with_relu(visit, n, is_stored);
    } else {
        hu_chunk_point_mask(visit, n, hu_chunk_call(visit, n));
        hu_op_call *call = load_inputs(visit, n);
        y = call->out[0] = making_room(visit, node, call, is_stored);
        hu_chunk_scale_inputs(visit, n, call);
        hu_chunk_lend_scratch(visit, n, call);
        hu_chunk_run_op(visit, n, node->op->forward, call);
        hu_chunk_scale_outputs(visit, n, call);
    }
    hu_chunk_clear_padding(visit, out, y);
    *rows = y;
    hu_tally *tally = is_first ? &visit->thread->tally[hu_tally_of_value(run, out)] : NULL;
    unsigned flags =
        (is_stored ? HU_ROWS_STORED : 0) | (stays_on_grid(run, n) ? HU_ROWS_ON_GRID : 0);
    return hu_chunk_round(visit, &run->value[out], flags, tally, y);
}

/* True if a value is made in this visit: nobody stores it, or its first reader runs here. */
static bool is_made_here(const hu_chunk *visit, hu_value_id v) {
    hu_run *run = visit->run;
    uint32_t p = run->graph->value[v].producer;
    if (run->is_remade[v]) return visit->pass == HU_BACKWARD;
    if (p == HU_NONE || !run->exec[p].is_lazy) return false;
    if (run->rehearsal.is_on && run->made_in[v] == HU_NONE) run->made_in[v] = visit->region;
    return run->is_virtual[v] || makes_first(visit, v);
}

void hu_chunk_make(hu_chunk *visit, hu_value_id v) {
    hu_run *run = visit->run;
    hu_seen *seen = &visit->thread->value[v];
    const float *rows = NULL;
    if (hu_is_seen(visit, seen) || !is_made_here(visit, v)) return;
    bool is_there = make(visit, run->graph->value[v].producer, &rows);
    if (is_there) hu_chunk_clear_rounded(visit, &run->value[v], v, rows);
    hu_see_made(visit, seen, rows, !is_there);
}

/* Reads a value that stands in storage, or comes from another step. */
static const float *read_value(hu_chunk *visit, hu_value_id v) {
    hu_run *run = visit->run;
    const float *rows;
    if (hu_is_state(visit, v))
        rows = hu_step_state(visit, run->graph->value[v].producer);
    else if (hu_is_carried_start(run, v))
        rows = hu_carried_read(visit, v);
    else
        rows = hu_chunk_read(visit, &run->value[v]);
    hu_chunk_clear_rounded(visit, &run->value[v], v, rows);
    return rows;
}

const float *hu_chunk_value(hu_chunk *visit, hu_value_id v) {
    hu_run *run = visit->run;
    hu_seen *seen = &visit->thread->value[v];
    bool is_elsewhere = hu_is_state(visit, v) || hu_is_carried_start(run, v);
    if (!is_elsewhere) hu_chunk_make(visit, v);
    if (!hu_is_seen(visit, seen) || seen->is_away) hu_see(visit, seen, read_value(visit, v));
    if (run->rehearsal.is_on && seen->is_made) run->value[v].is_read_at_once = true;
    return seen->rows;
}

/* Rounds rows of a value for one use, into scratch. Where they are counted in a training, they are
 * kept for the backward pass if the plan has room for them. */
static float *round_input(hu_chunk *visit, uint32_t use, const float *rows, hu_tally *tally) {
    hu_run *run = visit->run;
    const hu_slot *slot = &run->use[use];
    int64_t elements = visit->count * hu_chunk_elements(visit, slot);
    float *copy = hu_chunk_take_rows(visit, slot);
    bool keeps = tally && run->pass.training && hu_use_is_kept(run, use);
    hu_round_counts *counts = tally ? &tally->counts : NULL;
    if (keeps) hu_chunk_touch(visit, slot->buffer);
    if (keeps) hu_chunk_touch(visit, slot->residual);
    if (run->rehearsal.is_on) return copy;
    if (tally) hu_chunk_record(visit, hu_tally_of_input(run, use), rows);
    if (tally && slot->history != HU_NONE) hu_tensor_scale_add_maximum(slot, tally, elements, rows);
    hu_work_start(visit);
    if (keeps) {
        hu_slot_store_copy(slot, &run->context, visit->first, visit->count, rows, copy, counts);
        if (slot->residual != HU_NONE)
            hu_residual_keep(slot, visit->first, visit->count, rows, copy);
    } else if (visit->loop) {
        memcpy(copy, rows, (size_t)elements * sizeof *copy);
        hu_chunk_round_rows(visit, slot, run->graph->use[use].value, copy, counts);
    } else {
        hu_slot_round_to(slot, &run->context, visit->first, visit->count, rows, copy, counts);
    }
    hu_work_stop(visit, hu_op_count + HU_WORK_ROUND);
    return copy;
}

const float *hu_chunk_input(hu_chunk *visit, uint32_t n, int i, bool is_counted) {
    const hu_run *run = visit->run;
    const hu_node *node = &run->graph->node[n];
    uint32_t use = node->first_use + (uint32_t)i;
    if (visit->loop && hu_is_held(node, i)) return hu_step_held(visit, n, i);
    if (!hu_use_slot(run, use)) return hu_chunk_value(visit, node->in[i]);
    hu_seen *seen = &visit->thread->input[use];
    if (hu_is_seen(visit, seen) && !is_counted) return seen->rows;
    hu_tally *tally = is_counted ? &visit->thread->tally[hu_tally_of_input(run, use)] : NULL;
    if (visit->pass == HU_BACKWARD && hu_use_is_kept(run, use))
        hu_see(visit, seen, hu_chunk_read(visit, &run->use[use]));
    else
        hu_see(visit, seen, round_input(visit, use, hu_chunk_value(visit, node->in[i]), tally));
    hu_chunk_clear_rounded(visit, &run->use[use], node->in[i], seen->rows);
    return seen->rows;
}

const float *hu_chunk_saved(hu_chunk *visit, uint32_t n, int i) {
    bool is_saved = hu_node_saves(&visit->run->graph->node[n], i);
    return is_saved ? hu_chunk_input(visit, n, i, false) : NULL;
}

/* What a taker gets is made where it stores its own output, or in scratch. */
float *hu_chunk_room(hu_chunk *visit, hu_value_id v) {
    const hu_run *run = visit->run;
    uint32_t p = run->graph->value[v].producer, taker = p == HU_NONE ? HU_NONE : hu_taker(run, p);
    const hu_slot *slot = &run->value[taker == HU_NONE ? v : run->graph->node[taker].out[0]];
    bool is_stored = taker == HU_NONE || slot->storage.trait->is_float32;
    return hu_chunk_place(visit, slot, is_stored);
}

void hu_chunk_store(hu_chunk *visit, hu_value_id v, float *x) {
    hu_tally *tally = &visit->thread->tally[hu_tally_of_value(visit->run, v)];
    const hu_slot *slot = &visit->run->value[v];
    hu_chunk_clear_padding(visit, v, x);
    unsigned flags = visit->run->is_virtual[v] ? 0 : HU_ROWS_STORED;
    if (!hu_chunk_round(visit, slot, flags, tally, x)) return;
    hu_chunk_clear_rounded(visit, slot, v, x);
    hu_see_made(visit, &visit->thread->value[v], x, false);
}
