/* precision/bit_layers.h - the layers that schedules of bits speak of: the products of a graph,
 * with the sizes by which their work is counted. */
#ifndef HU_PRECISION_BIT_LAYERS_H
#define HU_PRECISION_BIT_LAYERS_H
#include "graph/graph.h"
#include "precision/bits.h"

/* One product: of an input with weights (conv, linear) or of two inputs (attention). Sizes are
 * those of one sample. */
typedef struct hu_bits_layer {
    char name[HU_NAME_BYTES]; /* "layer2.0.conv1", "fc" */
    uint32_t node;
    bool has_weights;  /* false: the second factor is an input, which has the bits of the first */
    bool is_quantised; /* false: it stays float32 */
    hu_bits_range bounds; /* of its bits forward, by a rule; {0, HU_BITS_FLOAT32}: it has none */
    uint32_t block;       /* which numbers of a stage are its own */
    uint32_t shares;      /* the next layer with the same weights, in a ring; itself: no other */
    int64_t macs;         /* forward; each of the two products of the backward pass has as many */
    int forwards;         /* forward passes of a step: one in each turn that runs the node */
    bool has_errors, has_updates; /* which of the two are computed in a step; errors also where the
                                     layer is the first, as the papers count them */
    bool is_repeated;             /* another node has applied the same network before, in turns */
    int64_t inputs, outputs, weights; /* elements; inputs of both factors where
                                        there are no weights */
    int64_t others; /* operations of what follows it: 2 per element of a batch norm, 1 per element
                       of a relu or of an addition of branches (the papers' unit counts them) */
} hu_bits_layer;

typedef struct hu_bits_layers {
    hu_bits_layer *layer; /* [count] in the order of the graph */
    uint32_t count;
    uint32_t quantised; /* of these */
    uint32_t blocks;
} hu_bits_layers;

/* Finds the layers. The last product stays float32 if bits->last_float, the first if
 * bits->first_float, unless a rule gives it bits: LDP keeps the classifier, and on ImageNet the
 * first convolution too. So does a layer whose weights one of these reads as well, and those of
 * which a rule says so. Blocks are the parts of names before the first dot ("layer2"), a layer
 * without one belonging to the next block, or to the last; where no name has a dot each layer is a
 * block. HU_ERR_ARGUMENT: no layer is left to quantise, or a rule is of none. HU_ERR_UNKNOWN: a
 * rule matches no layer. Owner frees. */
hu_status hu_bits_layers_create(const hu_graph *graph, const hu_bits *bits, hu_bits_layers *layers);
void hu_bits_layers_free(hu_bits_layers *layers);

/* What becomes of bits that a schedule gives to a layer, by its bounds. */
static inline uint32_t hu_bits_bound(const hu_bits_layer *layer, uint32_t b) {
    if (b < layer->bounds.least) return layer->bounds.least;
    return b > layer->bounds.most ? layer->bounds.most : b;
}

/* The most bits that a quantised layer can have forward, and its gradient. */
static inline uint32_t hu_bits_most(const hu_bits *bits, const hu_bits_layer *layer) {
    return hu_bits_bound(layer, bits->forward.most);
}
static inline uint32_t hu_bits_most_gradient(const hu_bits *bits, const hu_bits_layer *layer) {
    return bits->gradient_follows ? hu_bits_most(bits, layer) : bits->gradient.most;
}

/* Number of the quantised layer whose bits a norm has too: that from which its input comes.
 * HU_NONE: the node is no norm, stays float32, or bits->norms is off. */
uint32_t hu_bits_layer_of_norm(const hu_bits *bits, const hu_bits_layers *layers,
                               const hu_graph *graph, uint32_t node);

/* Number of layer of a node, HU_NONE if it is none. */
uint32_t hu_bits_layer_of(const hu_bits_layers *layers, uint32_t node);

/* Bits of a layer's weights, which are rounded once for all layers that share them: the most of
 * these. forward: [layers->count]. */
uint32_t hu_bits_of_weights(const hu_bits_layers *layers, const uint8_t *forward, uint32_t layer);

/* Multiply-accumulates of the quantised layers, or of those that stay float32. */
int64_t hu_bits_macs(const hu_bits_layers *layers, bool is_quantised);

#endif
