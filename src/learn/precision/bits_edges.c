#include "precision/bits_edges.h"

#include "base/error.h"
#include "base/memory.h"
#include "precision/bit_schedule.h"

hu_bits_records hu_bits_records_of(const hu_graph *graph, const hu_bits_layer *layer,
                                   const hu_edge_table *edges) {
    const hu_node *node = &graph->node[layer->node];
    hu_edge *second =
        layer->has_weights ? &edges->value[node->param[0]] : &edges->use[node->first_use + 1];
    return (hu_bits_records){.input = &edges->use[node->first_use],
                             .weight = second,
                             .gradient = &edges->grad_sum[node->out[0]],
                             .apart = &edges->grad_weights[node->out[0]]};
}

void hu_bits_each_norm(const hu_bits *bits, const hu_bits_layers *layers, const hu_graph *graph,
                       const hu_edge_table *edges, hu_bits_norm_fn *each, void *context) {
    for (uint32_t n = 0; bits->norms && n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        uint32_t l = hu_bits_layer_of_norm(bits, layers, graph, n);
        if (l == HU_NONE) continue;
        each(context, l, &edges->use[node->first_use], &edges->grad_sum[node->out[0]]);
    }
}

/* Floats with so many bits: what the exponent leaves is mantissa. */
static hu_quantizer float_of(const hu_bits *bits, uint32_t b) {
    char name[HU_BITS_NAME_BYTES];
    hu_quantizer made = {0};
    hu_bits_name(bits->kind, bits->exponent_bits, b, name);
    (void)hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, &made); /* the range was checked */
    return made;
}

static hu_quantizer quantizer_of(const hu_bits *bits, uint32_t b, hu_rounding rounding) {
    if (b == HU_BITS_FLOAT32) return (hu_quantizer){0};
    if (bits->kind == HU_BITS_FLOAT) return float_of(bits, b);
    return (hu_quantizer){.kind = HU_QUANTIZER_UNIFORM, .rounding = rounding, .bits = b};
}

/* Gradients shrink below the range of floats with few bits: these follow their largest magnitude,
 * as integers follow their range. */
static hu_quantizer gradient_of(const hu_bits *bits, uint32_t b) {
    hu_quantizer made = quantizer_of(bits, b, HU_ROUND_STOCHASTIC);
    if (made.kind != HU_QUANTIZER_FLOAT) return made;
    made.rounding = HU_ROUND_STOCHASTIC;
    made.scale = HU_SCALE_CURRENT;
    made.format.overflow = HU_OVERFLOW_SAT;
    return made;
}

/* What hu_bits_write puts into the records of one layer. */
typedef struct written {
    hu_quantizer input, weight, gradient;
} written;

static written written_of(const hu_bits *bits, uint32_t input, uint32_t weight, uint32_t gradient) {
    written w = {.input = quantizer_of(bits, input, HU_ROUND_NEAREST_EVEN),
                 .weight = quantizer_of(bits, weight, HU_ROUND_NEAREST_EVEN),
                 .gradient = gradient_of(bits, gradient)};
    w.input.keeps_range = w.input.kind == HU_QUANTIZER_UNIFORM;
    w.weight.per_channel = w.weight.kind == HU_QUANTIZER_UNIFORM;
    return w;
}

/* Bits of all layers, for norms. */
typedef struct bits_of_layers {
    const hu_bits *bits;
    const uint8_t *forward, *gradient; /* [layers] */
} bits_of_layers;

static void write_norm(void *context, uint32_t l, hu_edge *input, hu_edge *gradient) {
    const bits_of_layers *of = context;
    written w = written_of(of->bits, of->forward[l], of->forward[l], of->gradient[l]);
    input->quantizer = w.input;
    gradient->quantizer = w.gradient;
}

void hu_bits_write(const hu_bits *bits, const hu_bits_layers *layers, const hu_graph *graph,
                   const uint8_t *forward, const uint8_t *gradient, hu_edge_table *edges) {
    for (uint32_t l = 0; l < layers->count; l++) {
        if (!layers->layer[l].is_quantised) continue;
        hu_bits_records r = hu_bits_records_of(graph, &layers->layer[l], edges);
        uint32_t weight = hu_bits_of_weights(layers, forward, l);
        written w = written_of(bits, forward[l], weight, gradient[l]);
        r.input->quantizer = w.input;
        r.weight->quantizer = layers->layer[l].has_weights ? w.weight : w.input;
        r.gradient->quantizer = w.gradient;
        r.apart->is_apart = bits->gradient_of_weights > 0 && layers->layer[l].has_weights;
        if (!r.apart->is_apart) continue;
        r.apart->quantizer = gradient_of(bits, bits->gradient_of_weights);
        edges->has_apart = true;
    }
    bits_of_layers of = {bits, forward, gradient};
    hu_bits_each_norm(bits, layers, graph, edges, write_norm, &of);
}

/* most[2][layers]: forward and of gradients. */
static void most_of_layers(const hu_bits *bits, const hu_bits_layers *layers, uint8_t *most) {
    for (uint32_t l = 0; l < layers->count; l++) {
        most[l] = (uint8_t)hu_bits_most(bits, &layers->layer[l]);
        most[layers->count + l] = (uint8_t)hu_bits_most_gradient(bits, &layers->layer[l]);
    }
}

hu_status hu_bits_write_most(const hu_bits *bits, const hu_graph *graph, hu_edge_table *edges) {
    hu_status st = HU_OK;
    hu_bits_layers layers = {0};
    uint8_t *most = NULL;
    HU_TRY(hu_bits_layers_create(graph, bits, &layers));
    HU_TRY(HU_NEW_ARRAY(&most, 2 * (size_t)layers.count));
    most_of_layers(bits, &layers, most);
    hu_bits_write(bits, &layers, graph, most, most + layers.count, edges);
done:
    hu_free(most);
    hu_bits_layers_free(&layers);
    return st;
}

static bool same(const hu_quantizer *a, const hu_quantizer *b) {
    return hu_quantizer_same_numbers(a, b) && a->rounding == b->rounding;
}

/* Name of the first tensor of the layer that is not rounded as was written; NULL: none.
 * *of: "" or ".grad", what stands behind it. */
static const char *changed(const hu_graph *graph, const hu_bits_layer *layer, const written *most,
                           const hu_edge_table *edges, const char **of) {
    const hu_node *node = &graph->node[layer->node];
    hu_bits_records r = hu_bits_records_of(graph, layer, edges);
    *of = "";
    if (layer->has_weights && !same(&r.weight->quantizer, &most->weight))
        return graph->value[node->param[0]].name;
    *of = ".grad";
    return same(&r.gradient->quantizer, &most->gradient) ? NULL : graph->value[node->out[0]].name;
}

static const char *changed_norm(const hu_bits *bits, const hu_bits_layers *layers,
                                const hu_graph *graph, const uint8_t *most,
                                const hu_edge_table *edges) {
    for (uint32_t n = 0; n < graph->node_count; n++) {
        hu_value_id out = graph->node[n].out[0];
        uint32_t l = hu_bits_layer_of_norm(bits, layers, graph, n);
        if (l == HU_NONE) continue;
        written w = written_of(bits, most[l], most[l], most[layers->count + l]);
        if (!same(&edges->grad_sum[out].quantizer, &w.gradient)) return graph->value[out].name;
    }
    return NULL;
}

static hu_status refuse(const hu_bits *bits, const char *name, const char *of) {
    return hu_fail(HU_ERR_ARGUMENT,
                   "found a format for '%s%s', whose bits precision '%s' decides; expected "
                   "tensors that it leaves float32, or bits.layers for the bits of a layer",
                   name, of, bits->schedule->name);
}

hu_status hu_bits_check_kept(const hu_bits *bits, const hu_graph *graph,
                             const hu_edge_table *edges) {
    hu_status st = HU_OK;
    hu_bits_layers layers = {0};
    uint8_t *most = NULL;
    const char *of = "", *name = NULL;
    HU_TRY(hu_bits_layers_create(graph, bits, &layers));
    HU_TRY(HU_NEW_ARRAY(&most, 2 * (size_t)layers.count));
    most_of_layers(bits, &layers, most);
    for (uint32_t l = 0; !name && l < layers.count; l++) {
        if (!layers.layer[l].is_quantised) continue;
        written w =
            written_of(bits, most[l], hu_bits_of_weights(&layers, most, l), most[layers.count + l]);
        name = changed(graph, &layers.layer[l], &w, edges, &of);
    }
    if (!name) {
        name = changed_norm(bits, &layers, graph, most, edges);
        of = ".grad";
    }
    if (name) HU_TRY(refuse(bits, name, of));
done:
    hu_free(most);
    hu_bits_layers_free(&layers);
    return st;
}
