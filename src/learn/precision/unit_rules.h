/* precision/unit_rules.h - what ops do to the sizes of numbers (precision/unit_scaling.h). */
#ifndef HU_PRECISION_UNIT_RULES_H
#define HU_PRECISION_UNIT_RULES_H
#include "graph/graph.h"

/* What is known of the numbers of a value when the training begins; their root mean square is 1. */
typedef struct hu_unit_numbers {
    double terms;  /* the sum of so many terms of size 1: see add_up */
    double mean;   /* of all */
    double offset; /* root mean square of the means of channels, beside that */
} hu_unit_numbers;

/* Of a product, of a norm. */
#define HU_UNIT_CENTRED ((hu_unit_numbers){.terms = 1})

/* What an op does to sizes: root mean squares, of inputs of size 1 and, backward, of gradients of
 * the output of size 1; before any factor. Absent numbers count as zeros. */
typedef struct hu_unit_sizes {
    hu_unit_numbers in;  /* given: of input 0 */
    double made;         /* 1 over the size of the output: the factor of the output */
    hu_unit_numbers out; /* after its factor */
    double given[2];     /* of the gradient of input 0, of any other input */
} hu_unit_sizes;

/* Of a node whose input 0 has these numbers; where there is no rule, everything is 1. */
hu_unit_sizes hu_unit_sizes_of(const hu_node *node, hu_unit_numbers in);
bool hu_has_unit_rule(const hu_op *op);

/* Elements of all outputs of a sample, and of a parameter. */
double hu_unit_outputs(const hu_node *node);
double hu_unit_parameters(const hu_node *node, int j);

#endif
