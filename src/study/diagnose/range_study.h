/* diagnose/range_study.h - the tables of the range study (Popescu et al., sections IV-D and V): of
 * every convolution and fully connected layer, which share of its input, its weights and the
 * gradient of its output is subnormal or vanishes, the largest over the training.
 */
#ifndef HU_EXPLAIN_RANGE_STUDY_H
#define HU_EXPLAIN_RANGE_STUDY_H
#include "graph/tensor_order.h"
#include "runlog/history.h"

typedef enum hu_range_part {
    HU_RANGE_INPUT,
    HU_RANGE_WEIGHT,
    HU_RANGE_GRADIENT, /* of the layer's output */
    HU_RANGE_PARTS
} hu_range_part;

/* Largest shares of all elements in one step. */
typedef struct hu_range_share {
    bool is_present;
    double subnormal, underflow, overflow, zero;
    int64_t step; /* of the largest subnormal share (of counts: the last step of its row) */
} hu_range_share;

typedef struct hu_range_layer {
    char name[HU_NAME_BYTES];
    char tensor[HU_RANGE_PARTS][HU_TENSOR_NAME_BYTES];
    hu_range_share share[HU_RANGE_PARTS];
    double accumulators; /* largest subnormal share of its accumulators in a step; NaN: none */
} hu_range_layer;

typedef struct hu_range_table {
    hu_range_layer *layer; /* [count] in the order of the graph */
    uint32_t count;
} hu_range_table;

/* As the run itself has counted (format NULL: in its own formats; only rounded tensors), or as its
 * histograms say of a format. Owner frees with hu_range_free. */
hu_status hu_range_create(const hu_history *history, const hu_graph *graph, const hu_format *format,
                          hu_range_table *table);
void hu_range_free(hu_range_table *table);

/* The largest subnormal share of a part over all layers, or of all parts (part HU_RANGE_PARTS);
 * *layer: where, *where: in which part. is_there is false if nothing was counted. */
hu_range_share hu_range_most(const hu_range_table *table, hu_range_part part, uint32_t *layer,
                             hu_range_part *where);

/* Kinds of tensors whose exponents are pooled. */
typedef enum hu_pool {
    HU_POOL_ACTIVATION,
    HU_POOL_WEIGHT,
    HU_POOL_GRADIENT,        /* of activations */
    HU_POOL_WEIGHT_GRADIENT, /* of parameters */
    HU_POOLS
} hu_pool;
const char *hu_pool_name(hu_pool pool);

/* Exponents of all tensors of a kind in all recorded steps, without the steps' weights: counts are
 * added. bin: [277] from -149 on. */
typedef struct hu_pooled {
    double elements, zero, nonfinite;
    double bin[277];
} hu_pooled;
void hu_range_pool(const hu_history *history, const hu_tensor_order *walk,
                   hu_pooled pooled[HU_POOLS]);

#endif
