/* precision/internal.h - what the files of precision share. */
#ifndef HU_PRECISION_INTERNAL_H
#define HU_PRECISION_INTERNAL_H
#include "precision/bits.h"
#include "precision/precision.h"
#include "precision/tensor_groups.h"

/* ---- assignment.c ---- */

/* Reads "demote:0.6". *found = false, and success: no kind has this name. HU_ERR_PARSE,
 * HU_ERR_ARGUMENT: the argument, with what was expected. */
hu_status hu_assignment_parse(const char *text, hu_assignment *assignment, bool *found);

/* Bits that a value and its gradient occupy, each in one of its two candidates. */
int64_t hu_candidate_bits(const hu_assignment_task *task, hu_value_id v, bool value_low,
                          bool gradient_low);

/* ---- resolved_plan.c ---- */

/* Writes the tensors into a table in which nothing is rounded. HU_ERR_UNKNOWN lists the first names
 * that the graph does not have, each with its origin and the nearest ones, and says how many there
 * are. */
hu_status hu_resolved_apply(const hu_precision *precision, const hu_graph *graph,
                            hu_edge_table *edges);

/* ---- bit_layers.c ---- */

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

/* Bits of a layer's weights, which are rounded once for all layers that share them: the most of
 * these. forward: [layers->count]. */
uint32_t hu_bits_of_weights(const hu_bits_layers *layers, const uint8_t *forward, uint32_t layer);

/* ---- bit_schedule.c: for schedules ---- */

/* What costs need to know of the task. */
static inline hu_cost_task hu_bits_cost_task(const hu_bits_task *task) {
    return (hu_cost_task){task->bits->rates, task->batch};
}

/* Bits of the factors of a layer whose input and weights have b, and whose gradient has g. */
static inline hu_cost_bits hu_bits_of_factors(const hu_bits *bits, double b, double g) {
    bool is_apart = bits->gradient_of_weights > 0;
    return (hu_cost_bits){b, b, g, is_apart ? (double)bits->gradient_of_weights : g, is_apart};
}

/* Bits of the model as it would be used after so many steps: those of `deploy`; else those of the
 * last of these steps, or, of a schedule that follows the training, as they stand. For evaluation,
 * export and the plan that a run leaves.
 *   forward, gradient  [layers->count] */
void hu_bits_deployed(const hu_bits_course *course, int64_t steps, uint8_t *forward,
                      uint8_t *gradient);

/* The same bits for all quantised layers, HU_BITS_FLOAT32 for the others; those of the forward pass
 * within the bounds of the layers. */
void hu_bits_fill(const hu_bits_layers *layers, uint32_t b, uint8_t *bits);

/* The gradients' bits where they are one number, or those of the forward pass. */
void hu_bits_fill_gradient(const hu_bits_task *task, const uint8_t *forward, uint8_t *gradient);

/* The same with fractions, of which a forward cost can be the target. */
void hu_bits_suppose(const hu_bits_task *task, double b, double *forward, double *gradient);

/* ---- bit_layers.c: layers with numbers of bits, written into the edge table ---- */

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
