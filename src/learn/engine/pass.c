#include <string.h>

#include "base/error.h"
#include "engine/chunk.h"

/* ---- Questions about a planned run that planning and passes ask alike ---- */

bool hu_stays_on_grid(const hu_run *run, const hu_quantizer *from, const hu_quantizer *to) {
    return run->options.fuse && to->kind == HU_QUANTIZER_FLOAT && to->scale == HU_SCALE_NONE &&
           hu_quantizer_same_numbers(from, to);
}

/* Rounding a contribution again to the grid it is on changes nothing. Where quantizers may change,
 * a rehearsal takes the way of a sum that is rounded: it uses the same buffers, and no less
 * scratch. */
bool hu_rounds_gradient_sum(const hu_run *run, hu_value_id id) {
    const hu_slot *sum = &run->grad_sum[id];
    uint32_t count = hu_contribution_count(run->graph, id);
    bool may_change = run->rehearsal.is_on && sum->capacity_bits > 0;
    if (!hu_quantizer_rounds(&sum->edge->quantizer) && !may_change) return false;
    if (count != 1) return count > 1;
    const hu_slot *only = &run->grad[hu_contribution_use(run->graph, id, 0)];
    may_change = may_change || (run->rehearsal.is_on && only->capacity_bits > 0);
    return may_change || !hu_quantizer_same_numbers(&only->edge->quantizer, &sum->edge->quantizer);
}

bool hu_use_is_stored(const hu_run *run, uint32_t use) {
    const hu_use *u = &run->graph->use[use];
    uint32_t producer = run->graph->value[u->value].producer;
    return producer == HU_NONE || run->exec[u->node].backward_in != run->exec[producer].backward_in;
}

bool hu_remakes_mask(const hu_run *run, uint32_t n) {
    const hu_exec *exec = &run->exec[n];
    hu_value_id out = run->graph->node[n].out[0];
    bool is_made_again = exec->is_lazy ? run->is_virtual[out] : run->is_remade[out];
    return exec->mask_bytes > 0 && run->options.recompute && is_made_again;
}

bool hu_overwrites_input(const hu_run *run, const hu_node *node) {
    hu_value_id in = node->in[0];
    const hu_value_info *value = &run->graph->value[in];
    return hu_node_works_in_place(node) && !hu_use_slot(run, node->first_use) &&
           value->use_count == 1 && value->producer != HU_NONE && run->is_virtual[in] &&
           !hu_node_saves(node, 0);
}

bool hu_region_sums_in_batch_order(const hu_run *run, uint32_t n) {
    bool any = false;
    for (uint32_t m = hu_region_first(run, n); m <= hu_region_last(run, n); m++)
        any |= run->exec[m].sums_in_batch_order;
    return any;
}

bool hu_contribution_completes(hu_run *run, uint32_t use) {
    hu_value_id v = run->graph->use[use].value;
    const hu_value_info *value = &run->graph->value[v];
    run->has_contributed[use] = true;
    if (!hu_is_summed_parameter(run->graph, v)) return false;
    for (uint32_t k = 0; k < value->use_count; k++)
        if (hu_use_has_gradient(run->graph, value->uses[k]) &&
            !run->has_contributed[value->uses[k]])
            return false;
    return true;
}

void hu_point_dparams(const hu_run *run, uint32_t n, int64_t partial, float **dparam) {
    const hu_node *node = &run->graph->node[n];
    float *place = hu_buffer_data(run, run->exec[n].dpartial);
    if (place) place += partial * run->exec[n].dparam_elements;
    for (int j = 0; j < node->n_params; j++) {
        dparam[j] = node->need_dparam[j] ? place : NULL;
        if (dparam[j]) place += run->graph->value[node->param[j]].elements;
    }
}

/* What its producer rounds. */
static hu_tallied_numbers of_value(const hu_run *run, hu_value_id v, const hu_slot *slots) {
    uint32_t p = run->graph->value[v].producer;
    return (hu_tallied_numbers){v, &slots[v], p != HU_NONE && hu_loop_at(run, p)};
}

/* What its reader rounds. */
static hu_tallied_numbers of_use(const hu_run *run, uint32_t u, const hu_slot *slots) {
    const hu_use *use = &run->graph->use[u];
    const hu_node *node = &run->graph->node[use->node];
    bool by_step = node->loop != HU_NONE && !hu_is_held(node, use->index);
    return (hu_tallied_numbers){use->value, &slots[u], by_step};
}

hu_tallied_numbers hu_tallied(const hu_run *run, uint32_t tally) {
    if (tally < hu_tally_of_use(run, 0)) return of_value(run, tally, run->value);
    if (tally < hu_tally_of_sum(run, 0))
        return of_use(run, tally - hu_tally_of_use(run, 0), run->grad);
    if (tally < hu_tally_of_input(run, 0))
        return of_value(run, tally - hu_tally_of_sum(run, 0), run->grad_sum);
    if (tally < hu_tally_of_weights(run, 0))
        return of_use(run, tally - hu_tally_of_input(run, 0), run->use);
    return of_value(run, tally - hu_tally_of_weights(run, 0), run->grad_weights);
}

void hu_point_given(const hu_run *run, uint32_t n, const float **given) {
    const hu_node *node = &run->graph->node[n];
    for (int i = 0; i < node->n_in; i++) {
        const hu_value_info *value = &run->graph->value[node->in[i]];
        const void *data = run->value[node->in[i]].data;
        given[i] = hu_is_given(value) ? data : NULL;
    }
}

/* ---- run ---- */

const hu_graph *hu_run_graph(const hu_run *run) {
    return run->graph;
}

const hu_edge_table *hu_run_edges(const hu_run *run) {
    return run->edges;
}

const hu_weights *hu_run_weights(const hu_run *run) {
    return run->weights;
}

const hu_pass_options *hu_run_pass(const hu_run *run) {
    return &run->pass;
}

bool hu_run_has_unencodable(const hu_run *run) {
    return run->overflowed;
}

void hu_run_set_unencodable(hu_run *run, bool overflowed) {
    run->overflowed = overflowed;
}

uint32_t hu_run_counted_nodes(const hu_run *run) {
    return run->counted_nodes;
}

const char *hu_run_unencodable_parameter(const hu_run *run) {
    return run->unencodable_parameter;
}

const float *hu_run_rounded_parameter(const hu_run *run, hu_value_id v, float *scratch) {
    const hu_slot *slot = &run->value[v];
    if (!hu_is_rounded_copy(slot) || run->graph->value[v].role != HU_VALUE_PARAMETER)
        return hu_weights_of(run->weights, v);
    return hu_storage_read(&slot->storage, slot->data, 0, 1, scratch);
}

void hu_run_parameter_rounding(const hu_run *run, hu_value_id v, hu_quantizer *quantizer,
                               int32_t *exponent) {
    const hu_slot *slot = &run->value[v];
    bool is_rounded = hu_is_rounded_copy(slot) && run->graph->value[v].role == HU_VALUE_PARAMETER;
    if (slot->edge->quantizer.is_real) is_rounded = false; /* its numbers are no format's */
    *quantizer = is_rounded ? slot->edge->quantizer : (hu_quantizer){.kind = HU_QUANTIZER_NONE};
    *exponent = is_rounded ? slot->exponent : 0;
}

const float *hu_run_value(const hu_run *run, hu_value_id v, int64_t rows, float *scratch) {
    const hu_slot *slot = &run->value[v];
    return hu_storage_read(&slot->storage, slot->data, 0, rows, scratch);
}

/* ---- work ---- */

/* What the threads' time in the visits of the chunks is spent on, in passes with
 * `timed`. */

int hu_work_of_op(const hu_op *op) {
    int i = 0;
    while (i < hu_op_count && strcmp(hu_op_table[i]->name, op->name) != 0) i++;
    return i;
}

int hu_run_work_count(void) {
    return hu_op_count + HU_WORK_OTHERS;
}

const char *hu_run_work_name(int work) {
    static const char *const others[] = {
        [HU_WORK_ROUND] = "round and pack", [HU_WORK_UNPACK] = "unpack"};
    return work < hu_op_count ? hu_op_table[work]->name : others[work - hu_op_count];
}

double hu_run_work_seconds(const hu_run *run, int work) {
    double sum = 0;
    for (int t = 0; t < run->options.threads; t++) sum += run->thread[t].seconds[work];
    return sum;
}

void hu_run_clear_work(hu_run *run) {
    for (int t = 0; t < run->options.threads; t++)
        memset(run->thread[t].seconds, 0, (size_t)hu_run_work_count() * sizeof(double));
}

/* ---- Other quantizers for a planned run, between steps ---- */

/* True if all slots of an array have room for what has changed. */
static bool have_room(const hu_slot *slots, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!hu_slot_is_prepared(&slots[i]) && !hu_slot_has_room(&slots[i])) return false;
    return true;
}

/* The record of a use that was not rounded at all may be new: such slots exist only if one is. */
static bool uses_have_room(const hu_run *run) {
    if (run->use) return have_room(run->use, run->graph->use_count);
    for (uint32_t u = 0; u < run->graph->use_count; u++)
        if (hu_quantizer_rounds(&run->edges->use[u].quantizer)) return false;
    return true;
}

/* Whether a sum is read apart decides what a pass does: that takes another plan. */
static bool views_have_room(const hu_run *run) {
    for (hu_value_id v = 0; v < run->graph->value_count; v++) {
        const hu_slot *slot = hu_weights_view(run, v);
        if (run->edges->grad_weights[v].is_apart != (slot != NULL)) return false;
        if (slot && !have_room(slot, 1)) return false;
    }
    return true;
}

static void prepare_views(hu_run *run) {
    for (hu_value_id v = 0; v < run->graph->value_count; v++) {
        hu_slot *slot = hu_weights_view(run, v);
        if (slot && !hu_slot_is_prepared(slot)) (void)hu_slot_prepare(slot, run->options.storage);
    }
}

static void prepare(hu_run *run, hu_slot *slots, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!hu_slot_is_prepared(&slots[i])) (void)hu_slot_prepare(&slots[i], run->options.storage);
}

/* What a product multiplies is rounded by what its node was made for. */
static bool operands_stay(const hu_run *run) {
    bool same = true;
    for (uint32_t n = 0; n < run->graph->node_count && same; n++)
        same = hu_operands_same(&run->exec[n].operands, &run->edges->products[n].operands);
    return same;
}

bool hu_run_requantize(hu_run *run) {
    uint32_t values = run->graph->value_count, uses = run->graph->use_count;
    if (!have_room(run->value, values) || !have_room(run->grad_sum, values) ||
        !have_room(run->grad, uses) || !uses_have_room(run) || !views_have_room(run) ||
        !operands_stay(run))
        return false;
    prepare(run, run->value, values);
    prepare(run, run->grad_sum, values);
    prepare(run, run->grad, uses);
    if (run->use) prepare(run, run->use, uses);
    prepare_views(run);
    return true;
}

/* ---- Passes ---- */

static hu_status start_pass(hu_run *run, const hu_pass_options *pass) {
    if (pass->samples < 1 || pass->samples > run->options.batch)
        return hu_fail(HU_ERR_INTERNAL, "a pass of %lld samples, planned for 1..%lld",
                       (long long)pass->samples, (long long)run->options.batch);
    run->pass = *pass;
    run->context.step = pass->step;
    run->context.scan = pass->scan;
    run->context.counts_all = pass->counts_all;
    run->context.first_row = pass->first_sample;
    run->chunks = (pass->samples + run->options.chunk - 1) / run->options.chunk;
    hu_tally_clear(run);
    return HU_OK;
}

/* The working copy of a parameter, where there is one. */
static void round_parameter(hu_run *run, hu_value_id v, bool counted) {
    hu_round_counts counts;
    hu_slot *slot = &run->value[v];
    if (!hu_is_rounded_copy(slot) || run->graph->value[v].role != HU_VALUE_PARAMETER) return;
    hu_round_counts_clear(&counts);
    const float *master = hu_weights_of(run->weights, v);
    hu_tensor_scale_set_from_row(slot, master, counted);
    hu_slot_store_row(slot, &run->context, master, &counts);
    if (counted) hu_round_counts_add(&slot->edge->counts, &counts);
    if (!run->unencodable_parameter && hu_edge_unencodable(&slot->edge->quantizer, &counts))
        run->unencodable_parameter = run->graph->value[v].name;
}

static void begin_rounding(hu_run *run, uint64_t step) {
    run->context.step = step;
    run->context.first_row = 0;
    run->context.scan = run->context.counts_all = false;
}

void hu_run_round_parameters(hu_run *run, uint64_t step, bool counted) {
    begin_rounding(run, step);
    run->unencodable_parameter = NULL;
    if (counted) hu_exponent_record_parameters(run);
    if (counted) hu_watch_begin(run);
    for (hu_value_id v = 0; v < run->graph->value_count; v++) round_parameter(run, v, counted);
}

void hu_run_round_phase(hu_run *run, uint64_t step, int phase) {
    begin_rounding(run, step);
    for (hu_value_id v = 0; v < run->graph->value_count; v++)
        if (run->graph->value[v].phase == phase) round_parameter(run, v, false);
}

void hu_run_round_master(hu_run *run, hu_value_id v) {
    hu_slot_context context = run->context;
    float *master = hu_weights_of(run->weights, v);
    context.first_row = 0;
    context.scan = context.counts_all = false;
    hu_tensor_scale_set_from_row(&run->value[v], master, false);
    hu_slot_round(&run->value[v], &context, 0, 1, master, NULL);
}

/* What the data set should never have given. */
static hu_status check_ids(const hu_run *run) {
    const hu_bad_id *bad = &run->bad_id;
    if (bad->value == HU_NONE) return HU_OK;
    const hu_value_info *value = &run->graph->value[bad->value];
    return hu_fail(HU_ERR_ARGUMENT,
                   "'%s' of sample %lld of the pass, place %lld: found %.9g, expected a whole "
                   "number from 0 to %lld",
                   value->name, (long long)(bad->place / value->elements),
                   (long long)(bad->place % value->elements), (double)bad->found,
                   (long long)value->ids - 1);
}

hu_status hu_run_forward(hu_run *run, const hu_pass_options *pass, const hu_source *source,
                         hu_pass_result *result) {
    hu_status st = start_pass(run, pass);
    *result = (hu_pass_result){0};
    if (st != HU_OK) return st;
    hu_forward_run(run, source, result);
    return check_ids(run);
}

hu_status hu_run_backward(hu_run *run, const hu_pass_options *pass) {
    if (pass->phase == 0 && hu_graph_courses(run->graph) > 0)
        return hu_fail(HU_ERR_INTERNAL, "a backward pass of all turns, planned for one at a time");
    hu_status st = start_pass(run, pass);
    if (st == HU_OK) hu_backward_run(run);
    return st;
}

const float *hu_run_rounded_part(const hu_run *run, hu_value_id param, int64_t first, int64_t count,
                                 float *scratch) {
    const hu_slot *slot = &run->value[param];
    if (!hu_is_rounded_copy(slot)) return hu_weights_of(run->weights, param) + first;
    return hu_storage_read_part(&slot->storage, slot->data, first, count, scratch);
}

const float *hu_run_param_grad(const hu_run *run, hu_value_id param, int64_t first, int64_t count,
                               float *scratch) {
    const hu_slot *slot = hu_param_gradient(run, param);
    return hu_storage_read_part(&slot->storage, slot->data, first, count, scratch);
}
