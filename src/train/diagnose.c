/* Finding the tensor in which a non-finite number first appeared. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/inner.h"

static bool master_is_finite(const hu_trainer *trainer, hu_value_id v) {
    const float *x = trainer->run->parameters + trainer->run->offset[v];
    for (int64_t i = 0; i < trainer->graph->value[v].elements; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static bool describe(hu_trainer *trainer, const char *name, const char *suffix,
                     const hu_edge *edge) {
    char format[HU_QUANTIZER_BYTES];
    if (!hu_edge_nonfinite(&edge->quantizer, &edge->counts)) return false;
    hu_quantizer_print(&edge->quantizer, format, sizeof format);
    snprintf(trainer->culprit, sizeof trainer->culprit,
             "non-finite numbers first in %s%s (%s: %llu overflows, %llu NaNs of %llu)", name,
             suffix, format, (unsigned long long)edge->counts.overflow,
             (unsigned long long)edge->counts.nan, (unsigned long long)edge->counts.elements);
    return true;
}

static bool describe_labels(hu_trainer *trainer) {
    const hu_graph *graph = trainer->graph;
    const hu_round_counts *counts = &trainer->edges.value[graph->label].counts;
    if (counts->nan == 0) return false;
    snprintf(trainer->culprit, sizeof trainer->culprit,
             "%s: %llu of %llu are not one of the classes 0..%lld", graph->value[graph->label].name,
             (unsigned long long)counts->nan, (unsigned long long)counts->elements,
             (long long)trainer->dataset->classes - 1);
    return true;
}

static bool describe_weights(hu_trainer *trainer, hu_value_id v) {
    const hu_value_info *value = &trainer->graph->value[v];
    if (value->role == HU_VALUE_PARAMETER && !master_is_finite(trainer, v)) {
        snprintf(trainer->culprit, sizeof trainer->culprit, "non-finite numbers in the weights %s",
                 value->name);
        return true;
    }
    return describe(trainer, value->name, "", &trainer->edges.value[v]);
}

/* In the order in which the pass met the tensors: what a node reads before what it makes. */
static bool find_in_forward(hu_trainer *trainer) {
    const hu_graph *graph = trainer->graph;
    const hu_edge *edges = trainer->edges.value;
    if (describe(trainer, graph->value[graph->image].name, "", &edges[graph->image])) return true;
    if (describe_labels(trainer)) return true;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        for (int j = 0; j < node->n_params; j++)
            if (describe_weights(trainer, node->param[j])) return true;
        for (int i = 0; i < node->n_out; i++)
            if (describe(trainer, graph->value[node->out[i]].name, "", &edges[node->out[i]]))
                return true;
    }
    return false;
}

static bool find_in_backward(hu_trainer *trainer) {
    const hu_graph *graph = trainer->graph;
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const hu_node *node = &graph->node[n];
        for (int i = 0; i < node->n_out; i++) {
            const char *name = graph->value[node->out[i]].name;
            if (describe(trainer, name, ".grad", &trainer->edges.grad_sum[node->out[i]]))
                return true;
        }
        for (int i = 0; i < node->n_in + node->n_params; i++) {
            uint32_t use = node->first_use + (uint32_t)i;
            const char *name = graph->value[graph->use[use].value].name;
            if (describe(trainer, name, ".grad", &trainer->edges.grad[use])) return true;
        }
    }
    return false;
}

void hu_diagnose(hu_trainer *trainer, const hu_step_batch *batch, const hu_pass_options *pass) {
    hu_pass_options again = *pass;
    hu_pass_result result;
    snprintf(trainer->culprit, sizeof trainer->culprit, "non-finite gradients");
    if (find_in_forward(trainer) || find_in_backward(trainer)) return;
    again.scan = true;
    for (int64_t done = 0; done < batch->samples; done += again.samples) {
        if (hu_forward_part(trainer, batch, done, &again, &result) != HU_OK) return;
        if (find_in_forward(trainer) || trainer->run->overflowed) return;
        if (hu_run_backward(trainer->run, &again) != HU_OK || find_in_backward(trainer)) return;
    }
}
