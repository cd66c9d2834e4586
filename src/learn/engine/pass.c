#include "engine/pass.h"

#include "base/error.h"
#include "engine/backward.h"
#include "engine/counters.h"
#include "engine/dynamic_scale.h"
#include "engine/exponent_record.h"
#include "engine/forward.h"
#include "engine/run.h"
#include "engine/state.h"

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
    hu_dynamic_scale_set_from_row(slot, master, counted);
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
    hu_dynamic_scale_set_from_row(&run->value[v], master, false);
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
