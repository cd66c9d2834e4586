/* graph/edge.h - the edge table: precision lives here and nowhere else.
 *
 * Records for forward values (one default per value, rounded once by the producer; parameters are
 * rounded copies of the masters), for what a consumer makes of such a value when it reads it (one
 * per use, none as a rule), for gradient contributions (one per use, rounded by the consumer)
 * and for summed gradients (one per value, rounded when the producer reads the sum). A product may
 * read that sum in two ways: as it is rounded for the gradient of its input, and apart from that
 * for the gradients of its parameters (grad_weights). All methods are writers of this table.
 */
#ifndef HU_GRAPH_EDGE_H
#define HU_GRAPH_EDGE_H
#include <halfulp/round.h>

#include "graph/graph.h"
#include "op/operand.h"
#include "tensor/quantizer.h"

/* What became of the update of a parameter, in steps in which that was counted. */
typedef struct hu_update_counts {
    uint64_t asked; /* elements whose update was not zero */
    uint64_t lost;  /* without masters, of these: the stored weight did not change */
    uint64_t small; /* with masters, of these: the update is less than half the last place that the
                       weight's format has there. Formats without a scale only */
} hu_update_counts;

/* What an optimizer keeps for each number of a trained parameter. */
typedef enum hu_state_sort {
    HU_STATE_MOMENTUM, /* a sum or mean of gradients: momentum, first moment, velocity */
    HU_STATE_SQUARES,  /* the same of their squares: second moment, mean or sum of squares */
    HU_STATE_SORTS
} hu_state_sort;

typedef struct hu_edge {
    hu_quantizer quantizer;
    uint32_t capacity_bits;  /* 0: the quantizer stays as it is while a run is planned. Else runs
                                have room for number formats without a scale of at most so many bits
                                (32: for unrounded numbers, too), between which hu_run_requantize
                                changes; unrounded parameters need no room */
    hu_round_counts counts;  /* of the present step */
    hu_update_counts update; /* of the present step; parameters only */
    bool is_apart; /* grad_weights: parameter gradients read the sum by this record; false: they
                      read what grad_sum has made of it */
    bool learns;   /* parameters and uses: the passes of a step work out how the loss hangs on
                      the spacing of the rounded numbers */
    uint32_t residual_bits; /* uses that learn: bits of what rounding took from each number, 2 to 8;
                               0: as it is (engine/learn.c) */
    const struct hu_histogram *exponents; /* state of an optimizer: of the latest step that was
                                             recorded, NULL: it is not. Borrowed: from its owner */
    double sensitivity; /* of the present step, where it learns: sum over the tensor's elements x of
                           dL/dQ (Q - x), Q being x rounded and L the scaled loss */
    double of_workers;  /* the same of those of several workers whose passes are done */
} hu_edge;

/* How a node's products round what they multiply, and what they accumulate in; and what both met in
 * the present step. */
typedef struct hu_node_products {
    hu_accumulation accumulation;
    hu_gemm_counts counts[HU_PRODUCT_ROLES];
    hu_operand_formats operands; /* of nodes whose op rounds operands */
    hu_round_counts rounded[HU_OPERANDS];
} hu_node_products;

/* Fixed factors of a network whose numbers are kept near 1 (precision/unit_scaling.h): they stand
 * between what an op computes and what an edge rounds. 1 where nothing is scaled. */
typedef struct hu_factors {
    bool any;      /* false: none of these is read */
    float *made;   /* [value_count] what the producer computes is multiplied by it */
    float *read;   /* [use_count] inputs, as the consumer's forward part reads them */
    float *given;  /* [use_count] contributions to gradients, of parameters too */
    double *held;  /* [value_count] so many times the gradient of the loss is what is held */
    double *drawn; /* [value_count] of trained parameters: what their first numbers, as those of the
                      network without scaling, are divided by */
    double *start; /* [value_count] likewise: optimizers work on so many times the masters */
} hu_factors;

enum { HU_LOW_KINDS = 4 };

typedef struct hu_edge_table {
    hu_edge *value; /* [value_count] */
    hu_edge *use;   /* [use_count] a consumer rounds what it reads once more, for itself alone; not
                       rounded: it reads the one copy that all uses share */
    hu_edge *grad;  /* [use_count] contributions; of parameters: the parameter's gradient */
    hu_edge *grad_sum;     /* [value_count] */
    hu_edge *grad_weights; /* [value_count] outputs of products: the same sums, for the gradients of
                              the product's parameters */
    hu_edge *wire;         /* [value_count] of trained parameters: their gradient on its way between
                              workers; nothing is rounded where one worker trains alone */
    hu_edge *wire_sum;     /* [value_count] likewise, sums of what travels */
    hu_edge *state[HU_STATE_SORTS]; /* [value_count] of trained parameters: what the optimizer
                                       keeps for them, rounded after each update */
    bool has_state[HU_STATE_SORTS]; /* some of them are rounded */
    bool has_wire;                  /* several workers train */
    bool has_apart;                 /* one of grad_weights is apart */
    bool has_operands; /* a product rounds what it multiplies, now or in a later phase */
    uint32_t value_count, use_count;
    /* Tensors of at most so many bits count as low precision: activations, their gradients,
     * parameters, their gradients (the order of hu_role). 8 unless an assignment says otherwise. */
    uint32_t low_bits[HU_LOW_KINDS];

    hu_node_products *products; /* [node_count]; nothing is chosen but for products */
    uint32_t node_count;
    hu_factors factors;
} hu_edge_table;

/* A table in which nothing is rounded. */
hu_status hu_edge_table_create(const hu_graph *graph, hu_edge_table *edges);
void hu_edge_table_free(hu_edge_table *edges);

/* All records and counts, from the table of a graph that differs from that of `to` in shapes alone.
 */
void hu_edge_table_copy(const hu_edge_table *from, hu_edge_table *to);

/* All factors become 1. */
void hu_edge_table_unscale(hu_edge_table *edges);

/* Zeroes all counts: the start of a step. */
void hu_edge_table_clear(hu_edge_table *edges);

/* The counts do not tell finite inputs that overflow from infinite ones: in modes that round finite
 * numbers inward both questions below may be answered yes where no infinity was left. */

/* True if the rounding that gave these counts left an infinity or a NaN that the format has no code
 * for: such a step counts as overflowed in every storage. */
bool hu_edge_unencodable(const hu_quantizer *quantizer, const hu_round_counts *counts);

/* True if the rounded tensor holds an infinity or a NaN. */
bool hu_edge_nonfinite(const hu_quantizer *quantizer, const hu_round_counts *counts);

#endif
