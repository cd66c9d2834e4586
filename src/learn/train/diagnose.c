#include "train/diagnose.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "engine/run.h"
#include "graph/tensor_order.h"
#include "train/workers.h"

/* Targets that a loss cannot use: class numbers that are none, boxes without an area, or numbers
 * that are not finite. */
static void describe_target(hu_trainer *trainer, hu_value_id v, const hu_round_counts *counts) {
    char expected[64] = "finite numbers";
    if (trainer->task->kind == HU_LOSS_ROWS)
        snprintf(expected, sizeof expected, "one of the classes 0..%lld",
                 (long long)trainer->shapes.outputs - 1);
    if (trainer->task->kind == HU_LOSS_BOXES || trainer->task->kind == HU_LOSS_REGIONS)
        snprintf(expected, sizeof expected, "finite boxes with an area and a class of the data");
    if (trainer->task->kind == HU_LOSS_SEQUENCE)
        snprintf(expected, sizeof expected, "one of the classes 1..%lld, then unlabelled",
                 (long long)trainer->shapes.outputs - 1);
    snprintf(trainer->culprit, sizeof trainer->culprit, "%s: %llu of %llu are not %s",
             trainer->graph->value[v].name, (unsigned long long)counts->nan,
             (unsigned long long)counts->elements, expected);
}

/* A bad master is the cause of a bad working copy, so that it is named instead of it. */
static bool master_is_finite(const hu_trainer *trainer, hu_value_id v) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_scan_f32((size_t)trainer->graph->value[v].elements, hu_weights_of(&trainer->weights, v),
                &counts);
    return counts.overflow + counts.nan == 0;
}

/* ", summed in fmac:e4m3" where a product makes the tensor with an accumulator of its own, which is
 * to be asked before its format. */
static void describe_sums(const hu_trainer *trainer, hu_tensor tensor, char *text, size_t bytes) {
    enum { ROOM = 16, ACCUMULATOR_BYTES = 96 };
    hu_made_by made[ROOM];
    char name[ACCUMULATOR_BYTES];
    uint32_t count = hu_made_by_products(trainer->graph, tensor, ROOM, made);
    text[0] = '\0';
    for (uint32_t i = 0; i < count && i < ROOM && text[0] == '\0'; i++) {
        const hu_accumulation *sums = &trainer->edges.products[made[i].node].accumulation;
        if (!sums->chosen[made[i].role]) continue;
        hu_accumulator_print(&sums->accumulator[made[i].role], name, sizeof name);
        snprintf(text, bytes, ", summed in %s", name);
    }
}

/* Tensor, format and counts: what a user needs to choose another format. */
static void describe(hu_trainer *trainer, hu_tensor tensor, const hu_round_counts *counts) {
    char format[HU_QUANTIZER_BYTES], name[HU_TENSOR_NAME_BYTES], sums[128];
    const hu_quantizer *quantizer = hu_tensor_quantizer(trainer->graph, &trainer->edges, tensor);
    hu_tensor_name(trainer->graph, tensor, name);
    bool is_weight = tensor.kind == HU_TENSOR_VALUE &&
                     trainer->graph->value[tensor.value].role == HU_VALUE_PARAMETER;
    if (is_weight && !master_is_finite(trainer, tensor.value)) {
        snprintf(trainer->culprit, sizeof trainer->culprit, "non-finite numbers in the weights %s",
                 name);
        return;
    }
    hu_quantizer_print(quantizer, format, sizeof format);
    describe_sums(trainer, tensor, sums, sizeof sums);
    snprintf(trainer->culprit, sizeof trainer->culprit,
             "non-finite numbers first in %s (%s%s: %llu overflows, %llu NaNs of %llu)", name,
             format, sums, (unsigned long long)counts->overflow, (unsigned long long)counts->nan,
             (unsigned long long)counts->elements);
}

/* True if the passes of a turn make a tensor. */
static bool is_made(const hu_graph *graph, hu_tensor tensor, int phase) {
    const hu_value_info *value = &graph->value[tensor.value];
    bool is_parameter = value->role == HU_VALUE_PARAMETER;
    if (phase == 0) return true;
    if (tensor.kind != HU_TENSOR_VALUE) return value->grad_in >> (phase - 1) & 1u;
    if (value->producer != HU_NONE) return hu_node_runs(&graph->node[value->producer], phase);
    return is_parameter || hu_value_is_read(graph, tensor.value, phase);
}

/* In the order in which the passes make the tensors. */
static void find(hu_trainer *trainer, int phase) {
    const hu_tensor_order *walk = &trainer->walk;
    for (uint32_t i = 0; i < walk->count; i++) {
        hu_tensor tensor = walk->tensor[i];
        if (!is_made(trainer->graph, tensor, phase)) continue;
        hu_round_counts counts = hu_tensor_counts(trainer->graph, &trainer->edges, tensor);
        const hu_quantizer *quantizer =
            hu_tensor_quantizer(trainer->graph, &trainer->edges, tensor);
        if (!hu_edge_nonfinite(quantizer, &counts)) continue;
        bool is_target = tensor.kind == HU_TENSOR_VALUE &&
                         trainer->graph->value[tensor.value].role == HU_VALUE_TARGET;
        if (is_target)
            describe_target(trainer, tensor.value, &counts);
        else
            describe(trainer, tensor, &counts);
        return;
    }
}

void hu_scan_masters(hu_trainer *trainer) {
    const hu_graph *graph = trainer->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        hu_edge *edge = &trainer->edges.value[v];
        if (graph->value[v].role != HU_VALUE_PARAMETER || hu_quantizer_rounds(&edge->quantizer))
            continue;
        hu_round_counts_clear(&edge->counts);
        hu_scan_f32((size_t)graph->value[v].elements, hu_weights_of(&trainer->weights, v),
                    &edge->counts);
    }
}

/* What was counted of them in the passes that are repeated is counted again. Targets are not. */
static void clear_unrounded(hu_trainer *trainer) {
    hu_edge_table *edges = &trainer->edges;
    for (uint32_t v = 0; v < edges->value_count; v++) {
        bool is_target = trainer->graph->value[v].role == HU_VALUE_TARGET;
        if (!is_target && !hu_quantizer_rounds(&edges->value[v].quantizer))
            hu_round_counts_clear(&edges->value[v].counts);
        if (!hu_quantizer_rounds(&edges->grad_sum[v].quantizer))
            hu_round_counts_clear(&edges->grad_sum[v].counts);
    }
    for (uint32_t u = 0; u < edges->use_count; u++)
        if (!hu_quantizer_rounds(&edges->grad[u].quantizer))
            hu_round_counts_clear(&edges->grad[u].counts);
}

/* The passes of one worker once more, as far as they went. */
static hu_status scan_worker(hu_trainer *trainer, const hu_step_batch *batch, int32_t worker,
                             hu_pass_options *pass) {
    hu_status st = HU_OK;
    const hu_run *run = trainer->run;
    hu_share share = hu_worker_share(trainer, batch->samples, worker);
    hu_pass_result result;
    bool stopped = false;
    while (share.first < share.end && !stopped) {
        HU_TRY(hu_forward_part(trainer, batch, &share, pass, &result));
        stopped = hu_run_has_overflowed(run) || !isfinite(result.loss_sum);
        if (!stopped) HU_TRY(hu_run_backward(trainer->run, pass));
        stopped = stopped || hu_run_has_overflowed(run);
    }
done:
    return st;
}

/* The passes of the workers of this process. */
static hu_status scan(hu_trainer *trainer, const hu_step_batch *batch,
                      const hu_pass_options *pass) {
    hu_status st = HU_OK;
    hu_pass_options repeated = *pass;
    repeated.scan = true;
    repeated.counts_all = false;
    repeated.gradient_ready = NULL; /* no gradient travels twice */
    for (int32_t here = 0; here < trainer->workers.here; here++)
        HU_TRY(scan_worker(trainer, batch, trainer->workers.first + here, &repeated));
done:
    return st;
}

void hu_diagnose(hu_trainer *trainer, const hu_step_batch *batch, const hu_pass_options *pass) {
    snprintf(trainer->culprit, sizeof trainer->culprit, "non-finite gradients");
    /* A row of skipped steps is recorded once: the first of them shows where it began. */
    const hu_learner *learner = &trainer->phase[pass->phase > 0 ? pass->phase - 1 : 0];
    if (learner->scaler.state.consecutive == 0) hu_exponent_record_begin(trainer->run, pass->step);
    hu_exponent_record_parameters(trainer->run);
    clear_unrounded(trainer);
    hu_scan_masters(trainer);
    (void)scan(trainer, batch, pass);
    hu_exponent_record_end(trainer->run);
    find(trainer, pass->phase);
}
