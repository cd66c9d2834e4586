/* graph/tensor_order.h - the tensors of a training step in the order in which they are made, each
 * after all that it is made of: forward values, then gradients. The same order serves the message
 * of a skipped step and `why`.
 *
 * The gradient of a value stands after its last consumer's backward part; its sum is where several
 * contributions are added, or one is rounded again.
 */
#ifndef HU_GRAPH_TENSOR_ORDER_H
#define HU_GRAPH_TENSOR_ORDER_H
#include "graph/edge.h"

typedef enum hu_tensor_kind {
    HU_TENSOR_VALUE,
    HU_TENSOR_GRADIENT,
    HU_TENSOR_SUM,
    HU_TENSOR_WEIGHTS,  /* the sum as parameter gradients read it, where that is apart */
    HU_TENSOR_WIRE,     /* a parameter's gradient on its way between workers */
    HU_TENSOR_WIRE_SUM, /* sums of these: of partial sums, and of what an owner has */
    HU_TENSOR_MOMENTUM, /* of a parameter, as the optimizer keeps it: a sum or mean of gradients, */
    HU_TENSOR_SQUARES,  /* and of their squares; in the order of hu_state_sort */
    HU_TENSOR_OPERAND,  /* what the product that makes a value multiplies, in the order of
                           hu_operand_place */
    HU_TENSOR_KINDS = HU_TENSOR_OPERAND + HU_OPERANDS
} hu_tensor_kind;

typedef struct hu_tensor {
    hu_tensor_kind kind;
    hu_value_id value;
} hu_tensor;

typedef struct hu_tensor_order {
    const hu_graph *graph; /* borrowed */
    hu_tensor *tensor;     /* [count] */
    uint32_t count;
    uint32_t *place[HU_TENSOR_KINDS]; /* [kind][value_count] where a tensor stands, HU_NONE if it is
                                         not made */
} hu_tensor_order;

/* What not every training has: gradients of parameters that travel between workers, after the
 * backward pass; sums that products read apart for their parameters; state of the optimizer in a
 * format of its own, after all gradients; operands that products round. */
enum {
    HU_WALK_WIRE = 1,
    HU_WALK_WEIGHTS = 2,
    HU_WALK_MOMENTUM = 4,
    HU_WALK_SQUARES = 8,
    HU_WALK_OPERANDS = 16
};

/* more: of these. Owner frees with hu_tensor_order_free. */
hu_status hu_tensor_order_create(const hu_graph *graph, unsigned more, hu_tensor_order *walk);

/* Those of a table. */
static inline unsigned hu_tensor_order_more(const hu_edge_table *edges) {
    return (edges->has_wire ? HU_WALK_WIRE : 0) | (edges->has_apart ? HU_WALK_WEIGHTS : 0) |
           (edges->has_state[HU_STATE_MOMENTUM] ? HU_WALK_MOMENTUM : 0) |
           (edges->has_state[HU_STATE_SQUARES] ? HU_WALK_SQUARES : 0) |
           (edges->has_operands ? HU_WALK_OPERANDS : 0);
}

/* Whether a tensor is an operand of a product, and which. */
static inline bool hu_tensor_is_operand(hu_tensor tensor) {
    return tensor.kind >= HU_TENSOR_OPERAND;
}
static inline hu_operand_place hu_tensor_operand(hu_tensor tensor) {
    return (hu_operand_place)(tensor.kind - HU_TENSOR_OPERAND);
}

/* Whether the backward pass makes a tensor, or what comes after it. */
static inline bool hu_tensor_is_backward(hu_tensor tensor) {
    if (hu_tensor_is_operand(tensor))
        return hu_operand_role(hu_tensor_operand(tensor)) != HU_PRODUCT_FORWARD;
    return tensor.kind != HU_TENSOR_VALUE;
}

/* Whether a tensor is state of the optimizer. */
static inline bool hu_tensor_is_state(hu_tensor tensor) {
    return tensor.kind == HU_TENSOR_MOMENTUM || tensor.kind == HU_TENSOR_SQUARES;
}
void hu_tensor_order_free(hu_tensor_order *walk);

enum { HU_TENSOR_NAME_BYTES = HU_NAME_BYTES + 16 };

/* "conv1.out", "conv1.out.grad", "conv1.out.grad.sum", "conv1.out.grad.weights",
 * "conv1.weight.grad.wire",
 * "conv1.weight.grad.wire.sum", "conv1.weight.momentum", "conv1.weight.squares",
 * "conv1.forward.x" as operand.rules names them. */
void hu_tensor_name(const hu_graph *graph, hu_tensor tensor, char *name);

/* The record of a tensor that is state of the optimizer. Borrowed: from edges. */
const hu_edge *hu_tensor_state(const hu_edge_table *edges, hu_tensor tensor);

/* How a tensor is rounded (of a gradient: by its first consumer). Borrowed: from edges. */
const hu_quantizer *hu_tensor_quantizer(const hu_graph *graph, const hu_edge_table *edges,
                                        hu_tensor tensor);

/* Counts of the present step; of a gradient: those of all consumers together. */
hu_round_counts hu_tensor_counts(const hu_graph *graph, const hu_edge_table *edges,
                                 hu_tensor tensor);

/* What a tensor is made of, as places in the walk: at most room of them are written, all are
 * counted. Of a forward value: inputs and trained parameters of its node
 * (of running statistics: its inputs); of a gradient: the gradients that
 * its consumers' backward parts read, then the forward values that they read; of a sum, and of one
 * that is read apart: its gradient; of what travels: its sum, or its gradient; of sums on the way:
 * what travels; of state of the optimizer: the last of these that there is. */
uint32_t hu_tensor_order_sources(const hu_tensor_order *walk, uint32_t place, uint32_t room,
                                 uint32_t *sources);

/* ---- Which products make a tensor ---- */

typedef struct hu_made_by {
    uint32_t node;
    hu_product_role role;
} hu_made_by;

/* Products whose sums a tensor is, or is added up from: of a value that of its node, of a gradient
 * those of its consumers' backward parts. At most room of them are written, all are counted;
 * tensors of other kinds have none. */
uint32_t hu_made_by_products(const hu_graph *graph, hu_tensor tensor, uint32_t room,
                             hu_made_by *made);

/* The tensor that a product makes. */
hu_tensor hu_product_makes(const hu_node *node, hu_product_role role);

/* "conv1.forward". name: room for HU_TENSOR_NAME_BYTES. Gives name. */
const char *hu_product_name(const hu_graph *graph, hu_made_by product, char *name);

#endif
