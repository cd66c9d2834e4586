#include "precision/bits.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "precision/internal.h"
#include "precision/rules.h"

uint32_t hu_bits_layer_of(const hu_bits_layers *layers, uint32_t node) {
    for (uint32_t l = 0; l < layers->count; l++)
        if (layers->layer[l].node == node) return l;
    return HU_NONE;
}

uint32_t hu_bits_of_weights(const hu_bits_layers *layers, const uint8_t *forward, uint32_t layer) {
    uint32_t most = forward[layer];
    for (uint32_t l = layers->layer[layer].shares; l != layer; l = layers->layer[l].shares)
        if (forward[l] > most) most = forward[l];
    return most;
}

int64_t hu_bits_macs(const hu_bits_layers *layers, bool is_quantised) {
    int64_t macs = 0;
    for (uint32_t l = 0; l < layers->count; l++)
        if (layers->layer[l].is_quantised == is_quantised) macs += layers->layer[l].macs;
    return macs;
}

/* Which products of a node a step computes. A network that learns in turns is applied several
 * times, and in one of them perhaps for the sake of another network. */
static void count_passes(const hu_graph *graph, uint32_t index, hu_bits_layer *layer) {
    const hu_node *node = &graph->node[index];
    for (int turn = 1; turn <= hu_graph_phases(graph); turn++)
        layer->forwards += hu_node_runs(node, turn);
    layer->has_errors = node->needs_backward;
    layer->has_updates = layer->has_weights ? node->need_dparam[0] : node->need_din[1];
    if (!layer->has_weights || graph->phase_count == 0) return;
    const hu_value_info *weight = &graph->value[node->param[0]];
    layer->is_repeated = graph->use[weight->uses[0]].node != index;
}

static hu_bits_layer describe(const hu_graph *graph, uint32_t index) {
    const hu_node *node = &graph->node[index];
    hu_bits_layer layer = {.node = index,
                           .has_weights = node->n_params > 0,
                           .is_quantised = true,
                           .bounds = {0, HU_BITS_FLOAT32},
                           .macs = hu_node_macs(graph, node),
                           .inputs = graph->value[node->in[0]].elements,
                           .outputs = graph->value[node->out[0]].elements};
    int64_t second = graph->value[hu_node_second_factor(node)].elements;
    if (layer.has_weights)
        layer.weights = second;
    else
        layer.inputs += second;
    count_passes(graph, index, &layer);
    hu_graph_layer_name(graph, node, layer.name);
    return layer;
}

static bool is_norm(const hu_op *op) {
    return op == &hu_op_batch_norm || op == &hu_op_range_norm;
}

/* Work of an element-wise operation per element, as the papers count it. */
static int64_t work_per_element(const hu_op *op) {
    if (is_norm(op)) return 2;
    return op->is_relu || op == &hu_op_add;
}

/* The layer that the first input of a node comes from. */
static uint32_t layer_before(const hu_graph *graph, const hu_bits_layers *layers, uint32_t node) {
    while (node != HU_NONE && !graph->node[node].op->is_product)
        node = graph->value[graph->node[node].in[0]].producer;
    return node == HU_NONE ? HU_NONE : hu_bits_layer_of(layers, node);
}

/* Number of the quantised layer whose bits a norm has too: that from which its input comes.
 * HU_NONE: the node is no norm, stays float32, or bits->norms is off. */
static uint32_t layer_of_norm(const hu_bits *bits, const hu_bits_layers *layers,
                              const hu_graph *graph, uint32_t node) {
    if (!bits->norms || !is_norm(graph->node[node].op)) return HU_NONE;
    uint32_t l = layer_before(graph, layers, node);
    return l != HU_NONE && layers->layer[l].is_quantised ? l : HU_NONE;
}

static void count_others(const hu_graph *graph, hu_bits_layers *layers) {
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        int64_t work = work_per_element(node->op);
        uint32_t layer = work ? layer_before(graph, layers, n) : HU_NONE;
        if (layer == HU_NONE) continue;
        layers->layer[layer].others += work * graph->value[node->out[0]].elements;
    }
}

/* Characters of the block's name, 0 if the name has no dot. */
static size_t prefix_length(const char *name) {
    size_t length = strcspn(name, ".");
    return name[length] ? length : 0;
}

/* Layers in front of the first block belong to it; so do those between two to the later one. */
static void find_blocks(hu_bits_layers *layers) {
    const char *present = NULL;
    for (uint32_t l = 0; l < layers->count; l++) {
        const char *name = layers->layer[l].name;
        size_t length = prefix_length(name);
        if (length > 0) {
            bool is_same =
                present && prefix_length(present) == length && memcmp(present, name, length) == 0;
            layers->blocks += !is_same;
            present = name;
        }
        layers->layer[l].block = layers->blocks - (length > 0);
    }
    for (uint32_t l = 0; l < layers->count; l++)
        if (layers->blocks > 0 && layers->layer[l].block == layers->blocks)
            layers->layer[l].block = layers->blocks - 1;
    if (present) return;
    layers->blocks = layers->count;
    for (uint32_t l = 0; l < layers->count; l++) layers->layer[l].block = l;
}

/* Rings of layers with the same weights. */
static void find_shares(const hu_graph *graph, hu_bits_layers *layers) {
    for (uint32_t l = 0; l < layers->count; l++) {
        hu_bits_layer *layer = &layers->layer[l];
        hu_value_id weight = hu_node_second_factor(&graph->node[layer->node]);
        layer->shares = l;
        for (uint32_t before = l; layer->has_weights && before-- > 0 && layer->shares == l;) {
            hu_bits_layer *other = &layers->layer[before];
            if (hu_node_second_factor(&graph->node[other->node]) != weight) continue;
            layer->shares = other->shares;
            other->shares = l;
        }
    }
}

/* A layer stays float32, and with it all that share its weights. */
static void leave(hu_bits_layers *layers, uint32_t layer) {
    uint32_t l = layer;
    do {
        layers->layer[l].is_quantised = false;
        l = layers->layer[l].shares;
    } while (l != layer);
}

static bool has_rule(const hu_bits_layer *layer) {
    return layer->bounds.least > 0;
}

static hu_status no_layer(const hu_bits_layers *layers, const hu_bits_rule *rule) {
    const char **names;
    char nearest[3 * HU_NAME_BYTES];
    hu_status st = HU_NEW_ARRAY(&names, layers->count);
    if (st != HU_OK) return st;
    for (uint32_t l = 0; l < layers->count; l++) names[l] = layers->layer[l].name;
    hu_nearest(rule->pattern, names, layers->count, nearest, sizeof nearest);
    hu_free(names);
    return hu_fail(HU_ERR_UNKNOWN,
                   "bits.layers: found '%s', which is no layer that can have bits; expected "
                   "convolutions, linear layers or products of attention, such as %s",
                   rule->pattern, nearest);
}

/* Of two rules for a layer the later one holds. */
static hu_status read_rules(const hu_bits *bits, hu_bits_layers *layers) {
    for (uint32_t r = 0; r < bits->rule_count; r++) {
        const hu_bits_rule *rule = &bits->rule[r];
        bool is_used = false;
        for (uint32_t l = 0; l < layers->count; l++) {
            if (!hu_glob_match(rule->pattern, layers->layer[l].name)) continue;
            layers->layer[l].bounds = rule->bounds;
            is_used = true;
        }
        if (!is_used) return no_layer(layers, rule);
    }
    return HU_OK;
}

/* First and last products, where no rule speaks of them, and those of which one says so. */
static void leave_some(const hu_bits *bits, hu_bits_layers *layers) {
    uint32_t last = layers->count - 1;
    for (uint32_t l = 0; l < layers->count; l++) {
        const hu_bits_layer *layer = &layers->layer[l];
        bool is_left = layer->bounds.least == HU_BITS_FLOAT32;
        if (!has_rule(layer))
            is_left = (l == 0 && bits->first_float) || (l == last && bits->last_float);
        if (is_left) leave(layers, l);
    }
}

static hu_status none_left(const hu_bits_layers *layers) {
    if (layers->count == 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "bits: found a model without convolutions and linear layers, expected one "
                       "that can have bits");
    return hu_fail(HU_ERR_ARGUMENT,
                   "bits: found only layers that stay float32, '%s' the last of %u; expected "
                   "another one, or bits.last_float=off, or a rule of bits.layers that gives bits",
                   layers->layer[layers->count - 1].name, layers->count);
}

hu_status hu_bits_layers_create(const hu_graph *graph, const hu_bits *bits,
                                hu_bits_layers *layers) {
    hu_status st = HU_OK;
    *layers = (hu_bits_layers){0};
    HU_TRY(HU_NEW_ARRAY(&layers->layer, graph->node_count));
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (graph->node[n].op->is_product) layers->layer[layers->count++] = describe(graph, n);
    find_shares(graph, layers);
    HU_TRY(read_rules(bits, layers));
    leave_some(bits, layers);
    for (uint32_t l = 0; l < layers->count; l++) layers->quantised += layers->layer[l].is_quantised;
    count_others(graph, layers);
    find_blocks(layers);
    if (layers->quantised == 0) HU_TRY(none_left(layers));
done:
    if (st != HU_OK) hu_bits_layers_free(layers);
    return st;
}

void hu_bits_layers_free(hu_bits_layers *layers) {
    hu_free(layers->layer);
    *layers = (hu_bits_layers){0};
}

/* ---- Layers with numbers of bits, written into the edge table ---- */

/* A quantised layer rounds what it reads: its input for itself alone (with a running range for
 * evaluation), its weights by output channel or its second input as the first, and the gradient of
 * its output stochastically before both products of its backward pass. With bits.grad_weights the
 * product of the weights' gradient reads that gradient apart, with bits of its own or in float32;
 * with bits.norms a norm after such a layer rounds its input and the gradient of its output
 * likewise. What others read of the same values stays float32; but weights that layers share are
 * rounded once, to the most bits of theirs. Source: Banner et al., SBM, as CPT and FracTrain
 * implement it, which LDP follows.
 */

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
        uint32_t l = layer_of_norm(bits, layers, graph, n);
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
 * *of: "" or ".grad", what stands after it. */
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
        uint32_t l = layer_of_norm(bits, layers, graph, n);
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
