/* precision/bits_edges.h - layers with numbers of bits, written into the edge table.
 *
 * A quantised layer rounds what it reads: its input for itself alone (with a running range for
 * evaluation), its weights by output channel or its second input as the first, and the gradient of
 * its output stochastically before both products of its backward pass. With bits.grad_weights the
 * product of the weights' gradient reads that gradient apart, with bits of its own or in float32;
 * with bits.norms a norm behind such a layer rounds its input and the gradient of its output
 * likewise. What others read of the same values stays float32; but weights that layers share are
 * rounded once, to the most bits of theirs. Source: Banner et al., SBM, as CPT and FracTrain
 * implement it, which LDP follows.
 */
#ifndef HU_PRECISION_BITS_EDGES_H
#define HU_PRECISION_BITS_EDGES_H
#include "graph/edge.h"
#include "precision/bit_layers.h"

/* Quantizers of all layers; forward, gradient: [layers->count] bits, HU_BITS_FLOAT32 for none. */
void hu_bits_write(const hu_bits *bits, const hu_bits_layers *layers, const hu_graph *graph,
                   const uint8_t *forward, const uint8_t *gradient, hu_edge_table *edges);

/* The same with the most bits everywhere, into a table in which nothing is rounded: what a run is
 * planned for. HU_ERR_ARGUMENT, HU_ERR_MEMORY. */
hu_status hu_bits_write_most(const hu_bits *bits, const hu_graph *graph, hu_edge_table *edges);

/* Whether a table still has what hu_bits_write_most wrote: rules may choose formats of other
 * tensors alone. HU_ERR_ARGUMENT names the first one that has another format; HU_ERR_MEMORY. */
hu_status hu_bits_check_kept(const hu_bits *bits, const hu_graph *graph,
                             const hu_edge_table *edges);

/* The records of one quantised layer. */
typedef struct hu_bits_records {
    hu_edge *input, *weight, *gradient; /* weight: of the second input where there are no weights */
    hu_edge *apart;                     /* the gradient as the weights' gradient reads it */
} hu_bits_records;
hu_bits_records hu_bits_records_of(const hu_graph *graph, const hu_bits_layer *layer,
                                   const hu_edge_table *edges);

/* Calls a function for the input's and the gradient's record of every norm that has the bits of a
 * layer, l its number. */
typedef void hu_bits_norm_fn(void *context, uint32_t l, hu_edge *input, hu_edge *gradient);
void hu_bits_each_norm(const hu_bits *bits, const hu_bits_layers *layers, const hu_graph *graph,
                       const hu_edge_table *edges, hu_bits_norm_fn *each, void *context);

#endif
