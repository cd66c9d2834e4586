#include "planner/planner.h"

#include <stdio.h>
#include <string.h>

#include <halfulp/format.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/chunk.h"
#include "graph/graph.h"
#include "planner/internal.h"

/* ---- Slots ---- */

/* Makes a slot that is prepared for the edge's quantizer. A row has the shape of the value, whose
 * last extent is what blocks are cut from. stream: of stochastic rounding; in_loop: a loop rounds
 * its rows. */
static hu_status slot_init(hu_slot *slot, hu_edge *edge, hu_storage_mode mode,
                           const hu_value_info *value, uint64_t stream, bool in_loop) {
    hu_status st = HU_OK;
    const hu_shape *shape = &value->shape;
    const hu_quantizer *quantizer = &edge->quantizer;
    *slot = (hu_slot){.edge = edge,
                      .prepared = *quantizer,
                      .capacity_bits = hu_quantizer_can_change(quantizer) ? edge->capacity_bits : 0,
                      .elements = hu_shape_elements(shape),
                      .line = shape->rank > 0 ? shape->extent[shape->rank - 1] : 1,
                      .steps = value->steps,
                      .in_loop = in_loop,
                      .buffer = HU_NONE,
                      .residual = HU_NONE,
                      .staging = HU_NONE,
                      .history = HU_NONE,
                      .range = HU_NONE,
                      .top = HU_NONE,
                      .stream = stream};
    if (quantizer->kind == HU_QUANTIZER_BLOCK) HU_TRY(HU_NEW(&slot->blocker));
    if (quantizer->kind == HU_QUANTIZER_UNIFORM) {
        /* Channels of a parameter are its first extent. */
        slot->scales = quantizer->per_channel && shape->rank > 0 ? shape->extent[0] : 1;
        HU_TRY(HU_NEW(&slot->uniformer));
        HU_TRY(HU_NEW_ARRAY(&slot->scale, (size_t)slot->scales));
    }
    HU_TRY(hu_slot_prepare(slot, mode));
done:
    return st;
}

/* Storage for the widest number format of so many bits. */
static hu_status choose_widest(uint32_t bits, hu_storage_mode mode, int64_t elements,
                               hu_storage *storage) {
    enum { FLOAT32_BITS = 32, LEAST_BITS = 3, WIDE_EXPONENT = 8, NARROW_EXPONENT = 2 };
    if (bits >= FLOAT32_BITS) return hu_storage_choose(mode, NULL, elements, storage);
    if (bits < LEAST_BITS) bits = LEAST_BITS;
    uint32_t exponent = bits > WIDE_EXPONENT ? WIDE_EXPONENT : NARROW_EXPONENT;
    const hu_format format = {.exp_bits = (uint8_t)exponent,
                              .man_bits = (uint8_t)(bits - 1 - exponent),
                              .subnormals = 1,
                              .bias = (1 << (exponent - 1)) - 1};
    return hu_storage_choose(mode, &format, elements, storage);
}

/* Codes of so many bits, or float32. */
static size_t widest_uniform(const hu_slot *slot, hu_storage_mode mode, int64_t rows) {
    enum { BYTE_BITS = 8 };
    size_t bits = (size_t)slot->elements * slot->capacity_bits;
    if (hu_slot_mode(slot, mode) == HU_STORAGE_FLOAT32)
        return hu_storage_bytes(&slot->storage, rows);
    return (bits + BYTE_BITS - 1) / BYTE_BITS * (size_t)rows;
}

size_t hu_slot_bytes(const hu_slot *slot, hu_storage_mode mode, int64_t rows) {
    size_t bytes = hu_storage_bytes(&slot->storage, rows), most;
    hu_storage widest;
    if (slot->capacity_bits == 0) return bytes;
    if (slot->uniformer) return widest_uniform(slot, mode, rows);
    mode = hu_slot_mode(slot, mode);
    if (choose_widest(slot->capacity_bits, mode, slot->elements, &widest) != HU_OK) return bytes;
    most = hu_storage_bytes(&widest, rows);
    return most > bytes ? most : bytes;
}

/* For the rehearsal: the storage within the capacity that takes most scratch, a packed one if there
 * is any. hu_slot_prepare goes back to the quantizer's own. */
static hu_status rehearse_storage(hu_slot *slot, hu_storage_mode mode) {
    enum { PACKED_BITS = 16 };
    uint32_t bits = slot->capacity_bits < PACKED_BITS ? slot->capacity_bits : PACKED_BITS;
    if (slot->capacity_bits == 0 || slot->uniformer) return HU_OK;
    return choose_widest(bits, hu_slot_mode(slot, mode), slot->elements, &slot->storage);
}

static void slot_release(hu_slot *slot) {
    hu_free(slot->blocker);
    slot->blocker = NULL;
    hu_free(slot->uniformer);
    slot->uniformer = NULL;
    hu_free(slot->scale);
    slot->scale = NULL;
}

/* ---- Loops (graph/graph.h) ---- */

/* True if a loop makes a value, and rounds the sum of its gradient; or reads its steps at a
 * use, and rounds what it reads and its part of the gradient. */
static bool loop_makes(const hu_run *run, hu_value_id v) {
    uint32_t producer = run->graph->value[v].producer;
    return producer != HU_NONE && hu_loop_at(run, producer);
}

static bool loop_reads(const hu_run *run, uint32_t use) {
    const hu_use *u = &run->graph->use[use];
    const hu_node *node = &run->graph->node[u->node];
    bool is_initial = node->op->is_previous && u->index != HU_STATE_NEXT;
    bool is_whole = is_initial || hu_is_held(node, u->index);
    return hu_loop_at(run, u->node) && u->index < node->n_in && !is_whole;
}

/* Samples of a node's largest call: the rows of all steps where it has parameters. */
static int64_t loop_chunk(const hu_run *run, uint32_t n) {
    const hu_loop *loop = hu_loop_at(run, n);
    bool has_params = run->graph->node[n].n_params > 0;
    return loop && has_params ? loop->steps * run->options.chunk : run->options.chunk;
}

/* Who computes a node's products: oneDNN knows none of the many counts of samples in loops. */
static hu_product_engine loop_engine(const hu_run *run, uint32_t n) {
    bool is_known = !hu_loop_at(run, n) || run->options.products != HU_ENGINE_ONEDNN;
    return is_known ? run->options.products : HU_ENGINE_OWN;
}

/* The state that a carried start is read by. */
static uint32_t state_of(const hu_graph *graph, const hu_node *start) {
    return graph->use[graph->value[start->out[0]].uses[0]].node;
}

/* Bytes of one row, in the widest format that the slot has room for. */
static size_t row_bytes(const hu_run *run, const hu_slot *slot) {
    size_t now = hu_carried_storage(slot).row_bytes;
    size_t most = hu_slot_bytes(slot, run->options.storage, 1) / (size_t)slot->steps;
    return now > most ? now : most;
}

/* A buffer lives as long as the arena. */
static void keep_always(hu_run *run, uint32_t buffer) {
    for (int course = 0; course < HU_COURSES; course++) {
        hu_buffer_use(&run->buffers[buffer], course, 0);
        hu_buffer_use(&run->buffers[buffer], course, hu_time_update(run->graph));
    }
}

static hu_status declare_banks(hu_run *run, hu_carried *c) {
    const hu_slot *slot = &run->value[run->graph->node[c->node].in[HU_STATE_NEXT]];
    for (int bank = 0; bank < 2; bank++) {
        hu_status st = hu_buffers_add(run, row_bytes(run, slot) * (size_t)run->streams,
                                      HU_BUFFER_ACTIVATION, &c->buffer[bank]);
        if (st != HU_OK) return st;
        keep_always(run, c->buffer[bank]);
    }
    return HU_OK;
}

/* Rows pass through it between the passes. */
static hu_status declare_room(hu_run *run) {
    size_t most = 0;
    for (uint32_t i = 0; i < run->carried_count; i++) {
        const hu_node *state = &run->graph->node[run->carried[i].node];
        const hu_slot *slot = &run->value[state->in[HU_STATE_NEXT]];
        size_t bytes = (size_t)(slot->elements / slot->steps) * sizeof(float);
        if (bytes > most) most = bytes;
    }
    hu_status st = hu_buffers_add(run, most, HU_BUFFER_SCRATCH, &run->carried_room);
    if (st == HU_OK) keep_always(run, run->carried_room);
    return st;
}

/* Lists the states that go on from pass to pass, and gives them two banks that live as long as the
 * arena. HU_ERR_MEMORY. */
static hu_status loop_declare_carried(hu_run *run) {
    hu_status st = HU_OK;
    const hu_graph *graph = run->graph;
    uint32_t count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) count += graph->node[n].op->is_carried;
    run->carried_to = 1;
    run->streams = run->options.streams > 0 ? run->options.streams : run->options.batch;
    if (count == 0) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&run->carried, count));
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!graph->node[n].op->is_carried) continue;
        hu_carried *c = &run->carried[run->carried_count++];
        c->node = state_of(graph, &graph->node[n]);
        HU_TRY(declare_banks(run, c));
    }
    HU_TRY(declare_room(run));
done:
    return st;
}

/* The banks are in the arena: both hold zeros. */
static void loop_begin_carried(hu_run *run) {
    if (!run->arena) return;
    hu_carried_clear(run);
    hu_carried_begin_step(run);
}

/* ---- The plan ---- */

static hu_status make_array(size_t count, size_t bytes, void *array) {
    return hu_alloc_array(count, bytes, (void **)array);
}

/* Makes room for the slots of uses, if one of them has a record of its own. */
static hu_status create_use_slots(hu_run *run) {
    const hu_graph *graph = run->graph;
    bool any = false;
    for (uint32_t u = 0; u < graph->use_count; u++) {
        const hu_value_info *value = &graph->value[graph->use[u].value];
        if (!hu_quantizer_rounds(&run->edges->use[u].quantizer)) continue;
        if (!hu_is_rounded_kind(value))
            return hu_fail(HU_ERR_ARGUMENT,
                           "'%s' is a target or a running statistic: no use may round it",
                           value->name);
        any = true;
    }
    return any ? make_array(graph->use_count, sizeof *run->use, &run->use) : HU_OK;
}

/* Makes room for the slots of sums that are read apart, if there are any. */
static hu_status create_views(hu_run *run) {
    const hu_graph *graph = run->graph;
    bool any = false;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        if (!run->edges->grad_weights[v].is_apart) continue;
        const hu_node *node = value->producer == HU_NONE ? NULL : &graph->node[value->producer];
        if (!node || !node->op->is_product || node->n_params == 0)
            return hu_fail(HU_ERR_ARGUMENT,
                           "'%s': found a gradient that weights read apart, expected it of outputs "
                           "of convolutions and linear layers alone",
                           value->name);
        any = true;
    }
    return any ? make_array(graph->value_count, sizeof *run->grad_weights, &run->grad_weights)
               : HU_OK;
}

/* Channels are of parameters: rows of samples have one range. */
static hu_status check_channels(const hu_run *run) {
    const hu_graph *graph = run->graph;
    for (uint32_t i = 0; i < graph->use_count; i++) {
        const hu_value_info *value = &graph->value[graph->use[i].value];
        bool is_parameter = value->role == HU_VALUE_PARAMETER;
        const hu_edge *own = &run->edges->value[graph->use[i].value];
        if (run->edges->use[i].quantizer.per_channel || run->edges->grad[i].quantizer.per_channel ||
            (!is_parameter && own->quantizer.per_channel))
            return hu_fail(HU_ERR_ARGUMENT,
                           "'%s': found a uniform format by :channel, expected it of parameters "
                           "alone",
                           value->name);
    }
    return HU_OK;
}

static hu_status init_views(hu_run *run) {
    for (hu_value_id v = 0; run->grad_weights && v < run->graph->value_count; v++) {
        const hu_value_info *value = &run->graph->value[v];
        if (!run->edges->grad_weights[v].is_apart) continue;
        hu_status st =
            slot_init(&run->grad_weights[v], &run->edges->grad_weights[v], run->options.storage,
                      value, hu_stream_id("round.grad.weights", value->name), loop_makes(run, v));
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

/* Rows of a value: samples for activations, the whole for parameters. */
static hu_status init_slots(hu_run *run) {
    hu_status st = HU_OK;
    const hu_graph *graph = run->graph;
    hu_storage_mode mode = run->options.storage;
    char name[2 * HU_NAME_BYTES];
    HU_TRY(init_views(run));
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        bool in_loop = loop_makes(run, v);
        HU_TRY(slot_init(&run->value[v], &run->edges->value[v], mode, value,
                         hu_stream_id("round", value->name), in_loop));
        run->value[v].has_master = value->role == HU_VALUE_PARAMETER;
        HU_TRY(slot_init(&run->grad_sum[v], &run->edges->grad_sum[v], mode, value,
                         hu_stream_id("round.grad.sum", value->name), in_loop));
    }
    for (uint32_t u = 0; u < graph->use_count; u++) {
        const hu_value_info *value = &graph->value[graph->use[u].value];
        snprintf(name, sizeof name, "%s>%s.%d", value->name, graph->node[graph->use[u].node].name,
                 graph->use[u].index);
        bool in_loop = loop_reads(run, u);
        HU_TRY(slot_init(&run->grad[u], &run->edges->grad[u], mode, value,
                         hu_stream_id("round.grad", name), in_loop));
        if (run->use)
            HU_TRY(slot_init(&run->use[u], &run->edges->use[u], mode, value,
                             hu_stream_id("round.use", name), in_loop));
    }
done:
    return st;
}

/* True if the gradient of one of its parameters is wanted. */
static bool learns_params(const hu_node *node) {
    bool any = false;
    for (int j = 0; j < node->n_params; j++) any |= node->need_dparam[j];
    return any;
}

static hu_status create_nodes(hu_run *run) {
    static const bool wanted = true;
    for (uint32_t n = 0; n < run->graph->node_count; n++) {
        const hu_node *node = &run->graph->node[n];
        hu_exec *exec = &run->exec[n];
        exec->info = hu_graph_node_info(node, loop_chunk(run, n), run->options.threads);
        exec->info.accumulation = &run->edges->products[n].accumulation;
        exec->operands = run->edges->products[n].operands;
        if (node->op->rounds_operands) exec->info.operands = &exec->operands;
        exec->info.in_loop = hu_loop_at(run, n) != NULL;
        exec->info.engine = loop_engine(run, n);
        if (node->n_in == 1 && hu_learns_input(run, n, 0)) exec->info.need_din = &wanted;
        exec->kind = hu_work_of_op(node->op);
        exec->sums_in_batch_order = node->op->in_batch_order && learns_params(node) &&
                                    node->op->in_batch_order(&exec->info);
        for (int pass = 0; pass < 2 && node->op->partial_count; pass++)
            exec->partial_count[pass] = node->op->partial_count(&exec->info, (hu_pass)pass);
        if (!node->op->create) continue;
        hu_status st = node->op->create(&exec->info, &exec->state);
        if (st != HU_OK) return hu_fail_within(st, "node '%s': ", node->name);
    }
    return HU_OK;
}

static uint32_t argument_count(const hu_node *node) {
    return 2 * (uint32_t)node->n_in + 2 * (uint32_t)node->n_out + 2 * (uint32_t)node->n_params;
}

/* Points the argument arrays of a call into place; gives what is after them. */
static void **point_arguments(const hu_node *node, hu_op_call *call, void **place) {
    call->in = (const float **)place;
    call->din = (float **)(place += node->n_in);
    call->out = (float **)(place += node->n_in);
    call->dout = (const float **)(place += node->n_out);
    call->param = (const float **)(place += node->n_out);
    call->dparam = (float **)(place += node->n_params);
    return place + node->n_params;
}

/* Gives every thread a call for every node. */
static hu_status create_threads(hu_run *run) {
    hu_status st = HU_OK;
    const hu_graph *graph = run->graph;
    size_t threads = (size_t)run->options.threads, arguments = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) arguments += argument_count(&graph->node[n]);
    HU_TRY(make_array(threads, sizeof *run->thread, &run->thread));
    HU_TRY(make_array(threads * arguments, sizeof(void *), &run->pointers));
    void **place = run->pointers;
    for (size_t t = 0; t < threads; t++) {
        hu_thread *thread = &run->thread[t];
        HU_TRY(make_array(graph->node_count, sizeof *thread->call, &thread->call));
        HU_TRY(make_array(hu_tally_count(run), sizeof *thread->tally, &thread->tally));
        HU_TRY(make_array(graph->value_count, sizeof *thread->value, &thread->value));
        HU_TRY(make_array(graph->use_count, sizeof *thread->contribution, &thread->contribution));
        if (run->use) HU_TRY(make_array(graph->use_count, sizeof *thread->input, &thread->input));
        HU_TRY(make_array(graph->node_count, sizeof *thread->loop, &thread->loop));
        HU_TRY(make_array(graph->node_count, sizeof *thread->mask, &thread->mask));
        HU_TRY(
            make_array(graph->node_count, sizeof *thread->product_counts, &thread->product_counts));
        HU_TRY(
            make_array(graph->node_count, sizeof *thread->operand_counts, &thread->operand_counts));
        HU_TRY(make_array((size_t)hu_run_work_count(), sizeof(double), &thread->seconds));
        for (uint32_t n = 0; n < graph->node_count; n++) {
            place = point_arguments(&graph->node[n], &thread->call[n], place);
            thread->call[n].thread = (int)t;
        }
        for (uint32_t i = 0; i < hu_tally_count(run); i++)
            hu_round_counts_clear(&thread->tally[i].counts);
    }
done:
    return st;
}

/* Keeps every later product of samples, elements and bytes far from overflow. */
enum { MAX_SAMPLES = 1 << 28, MAX_THREADS = 1024 };
static const int64_t max_elements = INT64_C(1) << 44;

static hu_status check_options(const hu_graph *graph, const hu_run_options *options) {
    if (options->batch < 1 || options->chunk < 1 || options->threads < 1)
        return hu_fail(HU_ERR_ARGUMENT,
                       "batch %lld, chunk %lld, threads %d: each must be at least 1",
                       (long long)options->batch, (long long)options->chunk, options->threads);
    if (options->batch > MAX_SAMPLES || options->chunk > MAX_SAMPLES ||
        options->threads > MAX_THREADS)
        return hu_fail(HU_ERR_LIMIT,
                       "batch %lld, chunk %lld, threads %d: expected at most %d, %d and %d",
                       (long long)options->batch, (long long)options->chunk, options->threads,
                       MAX_SAMPLES, MAX_SAMPLES, MAX_THREADS);
    int64_t samples = options->batch > options->chunk ? options->batch : options->chunk;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (graph->value[v].elements > max_elements / samples)
            return hu_fail(HU_ERR_LIMIT,
                           "'%s': %lld samples of %lld elements, expected at most %lld",
                           graph->value[v].name, (long long)samples,
                           (long long)graph->value[v].elements, (long long)max_elements);
    return HU_OK;
}

/* Room for the maxima of all tensors with delayed scales, all empty. */
static hu_status create_history(hu_run *run) {
    uint64_t fingerprint;
    uint32_t words = hu_tensor_scale_place_history(run, &fingerprint);
    if (words == 0) return HU_OK;
    hu_status st = HU_NEW_ARRAY(&run->history, words);
    if (st != HU_OK) return st;
    run->history_words = words;
    hu_tensor_scale_clear_history(run, fingerprint);
    return HU_OK;
}

/* Room for running ranges, none of them seen yet. */
static hu_status create_ranges(hu_run *run) {
    uint64_t fingerprint;
    uint32_t count = hu_tensor_range_place(run, &fingerprint);
    if (count == 0) return HU_OK;
    hu_status st = HU_NEW_ARRAY(&run->ranges, count);
    if (st != HU_OK) return st;
    run->range_count = count;
    memset(run->ranges, 0, count * sizeof *run->ranges);
    memcpy(run->ranges, &fingerprint, sizeof fingerprint);
    return HU_OK;
}

/* Partial sums of the uses that learn. */
static hu_status create_learned(hu_run *run) {
    void *block;
    size_t count = hu_learn_partials(run);
    if (count == 0) return HU_OK;
    hu_status st = hu_alloc_array(count, sizeof *run->learned, &block);
    if (st == HU_OK) run->learned = block;
    return st;
}

/* Calls a function for all slots whose quantizer may change while the run is planned. */
static hu_status each_with_capacity(hu_run *run, hu_status (*each)(hu_slot *, hu_storage_mode)) {
    hu_status st = HU_OK;
    uint32_t values = run->graph->value_count, uses = run->graph->use_count;
    hu_slot *slots[] = {run->value, run->grad_sum, run->grad, run->use, run->grad_weights};
    const uint32_t count[] = {values, values, uses, run->use ? uses : 0,
                              run->grad_weights ? values : 0};
    for (int k = 0; k < 5; k++)
        for (uint32_t i = 0; i < count[k]; i++)
            if (slots[k][i].capacity_bits > 0) HU_TRY(each(&slots[k][i], run->options.storage));
done:
    return st;
}

hu_status hu_run_create(const hu_graph *graph, hu_edge_table *edges, hu_weights *weights,
                        const hu_run_options *options, hu_run **result) {
    hu_status st = HU_OK;
    hu_run *run = NULL;
    *result = NULL;
    HU_TRY(check_options(graph, options));
    HU_TRY(make_array(1, sizeof *run, &run));
    *run = (hu_run){.graph = graph, .edges = edges, .weights = weights, .options = *options};
    HU_TRY(make_array(graph->value_count, sizeof *run->value, &run->value));
    HU_TRY(make_array(graph->value_count, sizeof *run->grad_sum, &run->grad_sum));
    HU_TRY(make_array(graph->use_count, sizeof *run->grad, &run->grad));
    HU_TRY(make_array(graph->node_count, sizeof *run->exec, &run->exec));
    HU_TRY(make_array(graph->value_count, sizeof *run->made_in, &run->made_in));
    HU_TRY(make_array(graph->use_count, sizeof *run->stored_as, &run->stored_as));
    HU_TRY(make_array(graph->use_count, sizeof *run->has_contributed, &run->has_contributed));
    HU_TRY(make_array(graph->value_count, sizeof *run->is_virtual, &run->is_virtual));
    HU_TRY(make_array(graph->value_count, sizeof *run->is_remade, &run->is_remade));
    for (hu_value_id v = 0; v < graph->value_count; v++) run->made_in[v] = HU_NONE;
    HU_TRY(check_channels(run));
    HU_TRY(create_use_slots(run));
    HU_TRY(create_views(run));
    HU_TRY(init_slots(run));
    HU_TRY(create_history(run));
    HU_TRY(create_ranges(run));
    HU_TRY(create_learned(run));
    HU_TRY(create_nodes(run));
    HU_TRY(create_threads(run));
    hu_fuse_plan(run);
    HU_TRY(hu_buffers_declare(run));
    HU_TRY(hu_saved_input_declare(run));
    HU_TRY(each_with_capacity(run, rehearse_storage));
    HU_TRY(hu_rehearse(run));
    HU_TRY(each_with_capacity(run, hu_slot_prepare));
    HU_TRY(loop_declare_carried(run));
    HU_TRY(hu_buffers_place(run));
    loop_begin_carried(run);
    HU_TRY(hu_run_reserve(run, options->batch));
    run->context.seed = options->seed;
    *result = run;
    run = NULL;
done:
    hu_run_free(run);
    return st;
}

/* Takes out of a run what goes from step to step. */
static hu_run take_state(hu_run *run) {
    hu_run state = {.graph = run->graph,
                    .value = run->value,
                    .grad_sum = run->grad_sum,
                    .grad_weights = run->grad_weights,
                    .use = run->use,
                    .grad = run->grad,
                    .history = run->history,
                    .ranges = run->ranges,
                    .range_count = run->range_count,
                    .histogram = run->histogram,
                    .watch = run->watch};
    run->value = run->use = run->grad_sum = run->grad_weights = run->grad = NULL;
    run->history = NULL;
    run->ranges = NULL;
    run->histogram = NULL;
    run->watch = NULL;
    return state;
}

static void release_slots(hu_slot *slots, uint32_t count) {
    for (uint32_t i = 0; slots && i < count; i++) slot_release(&slots[i]);
    hu_free(slots);
}

/* What take_state takes. */
static void free_state(hu_run *run) {
    release_slots(run->value, run->graph->value_count);
    release_slots(run->grad_sum, run->graph->value_count);
    release_slots(run->grad_weights, run->graph->value_count);
    release_slots(run->use, run->graph->use_count);
    release_slots(run->grad, run->graph->use_count);
    hu_free(run->history);
    hu_free(run->ranges);
    hu_free(run->histogram);
    hu_watch_free(run->watch);
}

/* Where the plan has other tensors they need other room. */
static hu_status take_histograms(hu_run *run, hu_run *state) {
    if (!state->histogram) return HU_OK;
    if (hu_tally_count(run) != hu_tally_count(state)) return hu_run_reserve_histograms(run);
    run->histogram = state->histogram;
    state->histogram = NULL;
    return HU_OK;
}

/* What the next step begins with lies in the arena, which a new plan has not. */
static hu_status keep_carried(const hu_run *run, float **rows) {
    size_t numbers = (size_t)(hu_run_carried_numbers(run) * run->streams);
    if (numbers == 0 || !run->arena) return HU_OK;
    hu_status st = HU_NEW_ARRAY(rows, numbers);
    if (st == HU_OK) hu_run_carried(run, *rows);
    return st;
}

hu_status hu_run_replan(hu_run **run) {
    hu_run *old = *run;
    hu_edge_table *edges = old->edges;
    hu_weights *weights = old->weights;
    hu_run_options options = old->options;
    float *carried = NULL;
    hu_status st = keep_carried(old, &carried);
    hu_run state = take_state(old);
    hu_run_free(old); /* first, so that two arenas never stand side by side */
    *run = NULL;
    if (st == HU_OK) st = hu_run_create(state.graph, edges, weights, &options, run);
    if (st == HU_OK) {
        /* Formats become wider, or an epoch begins: then zeros follow. */
        if (carried) (void)hu_run_restore_carried(*run, carried);
        hu_tensor_scale_carry(*run, &state);
        (void)hu_run_restore_ranges(*run, state.ranges, state.range_count * sizeof *state.ranges);
        st = take_histograms(*run, &state);
    }
    if (st == HU_OK) {
        st = hu_watch_carry(*run, state.watch);
        state.watch = NULL;
    }
    free_state(&state);
    hu_free(carried);
    return st;
}

void hu_run_free(hu_run *run) {
    if (!run) return;
    for (uint32_t n = 0; run->exec && n < run->graph->node_count; n++) {
        const hu_op *op = run->graph->node[n].op;
        if (op->release && run->exec[n].state) op->release(run->exec[n].state);
        for (int pass = 0; pass < 2; pass++) hu_free(run->exec[n].members[pass].node);
    }
    for (int t = 0; run->thread && t < run->options.threads; t++) {
        hu_free(run->thread[t].call);
        hu_free(run->thread[t].tally);
        hu_free(run->thread[t].value);
        hu_free(run->thread[t].contribution);
        hu_free(run->thread[t].input);
        hu_free(run->thread[t].loop);
        hu_free(run->thread[t].mask);
        hu_free(run->thread[t].product_counts);
        hu_free(run->thread[t].operand_counts);
        hu_free(run->thread[t].seconds);
    }
    free_state(run);
    hu_free(run->thread);
    hu_free(run->pointers);
    hu_free(run->learned);
    hu_free(run->exec);
    hu_free(run->made_in);
    hu_free(run->stored_as);
    hu_free(run->has_contributed);
    hu_free(run->is_virtual);
    hu_free(run->is_remade);
    hu_free(run->carried);
    hu_free(run->buffers);
    hu_free(run->arena);
    hu_free(run);
}

hu_status hu_run_reserve(hu_run *run, int64_t samples) {
    int64_t tail = samples % run->options.chunk;
    for (uint32_t n = 0; tail && n < run->graph->node_count; n++) {
        const hu_op *op = run->graph->node[n].op;
        if (!op->prepare) continue;
        hu_status st = op->prepare(&run->exec[n].info, run->exec[n].state, tail);
        if (st != HU_OK) return hu_fail_within(st, "node '%s': ", run->graph->node[n].name);
    }
    return HU_OK;
}

hu_status hu_run_reserve_histograms(hu_run *run) {
    void *block;
    hu_status st = hu_alloc_array(hu_tally_count(run), sizeof *run->histogram, &block);
    if (st == HU_OK) run->histogram = block;
    return st;
}
