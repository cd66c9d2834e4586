#include "diagnose/range_study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* ---- layers ---- */

/* Layers of the study are those with a weight of two extents or more. */
static bool is_product(const hu_graph *graph, const hu_node *node) {
    for (int j = 0; j < node->n_params; j++)
        if (graph->value[node->param[j]].shape.rank > 1) return true;
    return false;
}

/* The names under which the journal counts the three tensors of a layer. */
static void fill_layer(const hu_graph *graph, const hu_node *node, hu_range_layer *layer) {
    hu_tensor input = {HU_TENSOR_VALUE, node->in[0]};
    hu_tensor gradient = {HU_TENSOR_GRADIENT, node->out[0]};
    hu_graph_layer_name(graph, node, layer->name);
    hu_tensor_name(graph, input, layer->tensor[HU_RANGE_INPUT]);
    hu_tensor_name(graph, gradient, layer->tensor[HU_RANGE_GRADIENT]);
    for (int j = 0; j < node->n_params; j++)
        if (graph->value[node->param[j]].shape.rank > 1)
            hu_tensor_name(graph, (hu_tensor){HU_TENSOR_VALUE, node->param[j]},
                           layer->tensor[HU_RANGE_WEIGHT]);
    layer->accumulators = NAN;
}

static hu_status list_layers(const hu_graph *graph, hu_range_table *table) {
    void *block;
    hu_status st = hu_alloc_array(graph->node_count, sizeof *table->layer, &block);
    if (st != HU_OK) return st;
    table->layer = block;
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (is_product(graph, &graph->node[n]))
            fill_layer(graph, &graph->node[n], &table->layer[table->count++]);
    return HU_OK;
}

static void raise_to(double *most, double value) {
    if (value > *most) *most = value;
}

static void raise_share(hu_range_share *most, const hu_range_share *share) {
    if (!most->is_present || share->subnormal > most->subnormal) most->step = share->step;
    most->is_present = true;
    raise_to(&most->subnormal, share->subnormal);
    raise_to(&most->underflow, share->underflow);
    raise_to(&most->overflow, share->overflow);
    raise_to(&most->zero, share->zero);
}

/* ---- from counts ---- */

static void take_record(const hu_history *history, const hu_tensor_record *record,
                        hu_range_share *most) {
    double elements = (double)record->counts.elements;
    if (strcmp(history->formats.name[record->format], "float32") == 0 || elements == 0.0) return;
    hu_range_share share = {true,
                            record->most_subnormal,
                            record->most_underflow,
                            record->most_overflow,
                            (double)record->counts.zero / elements,
                            record->subnormal_step};
    raise_share(most, &share);
}

static void take_rows(const hu_history *history, uint32_t tensor, hu_range_share *most) {
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        for (uint32_t i = 0; i < row->tensor_count; i++)
            if (row->tensor[i].tensor == tensor) take_record(history, &row->tensor[i], most);
    }
}

/* Products are called LAYER.forward and so on. */
static void take_products(const hu_history *history, hu_range_layer *layer) {
    size_t length = strlen(layer->name);
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        for (uint32_t i = 0; i < row->product_count; i++) {
            const hu_product_record *product = &row->product[i];
            const char *name = history->products.name[product->product];
            const char *dot = strrchr(name, '.');
            bool is_own =
                dot && (size_t)(dot - name) == length && strncmp(name, layer->name, length) == 0;
            if (!is_own || product->values == 0) continue;
            double share = product->most_subnormal;
            if (!(layer->accumulators >= share)) layer->accumulators = share;
        }
    }
}

/* ---- from histograms ---- */

static void take_histograms(const hu_history *history, uint32_t tensor, const hu_format *format,
                            hu_range_share *most) {
    for (size_t r = 0; r < history->histogram_count; r++) {
        const hu_histogram_record *record = &history->histograms[r];
        for (uint32_t i = 0; i < record->count; i++) {
            const hu_exponents *x = &record->tensor[i].exponents;
            if (record->tensor[i].tensor != tensor || x->elements == 0) continue;
            hu_lost lost = hu_exponents_lost(x, format, 0);
            double zero = (double)x->zero / (double)x->elements + lost.underflow.share;
            hu_range_share share = {
                true, lost.subnormal.share, lost.underflow.share, hu_exponents_overflowed(x, &lost),
                zero, record->step};
            raise_share(most, &share);
        }
    }
}

hu_status hu_range_create(const hu_history *history, const hu_graph *graph, const hu_format *format,
                          hu_range_table *table) {
    *table = (hu_range_table){0};
    hu_status st = list_layers(graph, table);
    for (uint32_t l = 0; st == HU_OK && l < table->count; l++) {
        hu_range_layer *layer = &table->layer[l];
        for (int part = 0; part < HU_RANGE_PARTS; part++) {
            uint32_t tensor = hu_names_find(&history->tensors, layer->tensor[part]);
            if (tensor == HU_NAMES_NONE) continue;
            if (format)
                take_histograms(history, tensor, format, &layer->share[part]);
            else
                take_rows(history, tensor, &layer->share[part]);
        }
        if (!format) take_products(history, layer);
    }
    return st;
}

void hu_range_free(hu_range_table *table) {
    hu_free(table->layer);
    *table = (hu_range_table){0};
}

hu_range_share hu_range_most(const hu_range_table *table, hu_range_part part, uint32_t *layer,
                             hu_range_part *where) {
    hu_range_share most = {0};
    int first = part == HU_RANGE_PARTS ? 0 : (int)part;
    int end = part == HU_RANGE_PARTS ? HU_RANGE_PARTS : (int)part + 1;
    *layer = 0;
    *where = (hu_range_part)first;
    for (uint32_t l = 0; l < table->count; l++)
        for (int p = first; p < end; p++) {
            const hu_range_share *share = &table->layer[l].share[p];
            if (!share->is_present) continue;
            if (!most.is_present || share->subnormal > most.subnormal) {
                *layer = l;
                *where = (hu_range_part)p;
            }
            raise_share(&most, share);
        }
    return most;
}

/* ---- pools ---- */

const char *hu_pool_name(hu_pool pool) {
    static const char *const names[] = {"activations", "weights", "activation gradients",
                                        "weight gradients"};
    return names[pool];
}

/* The pool of a tensor, HU_POOLS for none: labels, running statistics, sums of gradients. */
static hu_pool pool_of(const hu_tensor_order *walk, hu_tensor tensor) {
    const hu_value_info *value = &walk->graph->value[tensor.value];
    bool is_parameter = value->role == HU_VALUE_PARAMETER;
    if (!hu_is_rounded_kind(value)) return HU_POOLS;
    if (tensor.kind != HU_TENSOR_VALUE && tensor.kind != HU_TENSOR_GRADIENT) return HU_POOLS;
    if (tensor.kind == HU_TENSOR_VALUE) return is_parameter ? HU_POOL_WEIGHT : HU_POOL_ACTIVATION;
    return is_parameter ? HU_POOL_WEIGHT_GRADIENT : HU_POOL_GRADIENT;
}

static void add_exponents(hu_pooled *pooled, const hu_exponents *x) {
    pooled->elements += (double)x->elements;
    pooled->zero += (double)x->zero;
    pooled->nonfinite += (double)x->nonfinite;
    for (uint32_t b = 0; b < x->count; b++)
        pooled->bin[x->first + 149 + (int32_t)b] += (double)x->bin[b];
}

void hu_range_pool(const hu_history *history, const hu_tensor_order *walk,
                   hu_pooled pooled[HU_POOLS]) {
    char name[HU_TENSOR_NAME_BYTES];
    memset(pooled, 0, HU_POOLS * sizeof *pooled);
    for (uint32_t t = 0; t < walk->count; t++) {
        hu_pool pool = pool_of(walk, walk->tensor[t]);
        hu_tensor_name(walk->graph, walk->tensor[t], name);
        uint32_t tensor = hu_names_find(&history->tensors, name);
        if (pool == HU_POOLS || tensor == HU_NAMES_NONE) continue;
        for (size_t r = 0; r < history->histogram_count; r++)
            for (uint32_t i = 0; i < history->histograms[r].count; i++)
                if (history->histograms[r].tensor[i].tensor == tensor)
                    add_exponents(&pooled[pool], &history->histograms[r].tensor[i].exponents);
    }
}
