/* op/tokens.h - attributes of what is done with rows as tokens: position, class_token and pick. Its
 * other operation, pick_rows, has none: [T, ..] and places [M] -> [M, ..], of which what is no
 * number of a row gives zeros. */
#ifndef HU_OP_TOKENS_H
#define HU_OP_TOKENS_H
#include "op/op.h"

/* position adds a parameter of the shape of a sample, so that every place has numbers of its own;
 * the parameter is called by the node's prefix alone. */
typedef struct hu_position_attrs {
    hu_init init;
    bool for_batches; /* an extent of 1 stands in front of the parameter's others, as frameworks
                         have it that add it to whole batches */
    int64_t rows;     /* of the parameter, of which samples take the first ones; 0: theirs */
} hu_position_attrs;

/* class_token puts a row that is a parameter, [1, D], in front of the rows of every sample: [T, D]
 * -> [T + 1, D]; it is called by the node's prefix alone. */
typedef struct hu_class_token_attrs {
    hu_init init;
    bool for_batches; /* likewise: [1, 1, D] */
} hu_class_token_attrs;

/* pick gives one row: [T, ..] -> [..]. A second input holds lengths [1], how many rows of the
 * sample count; a length beyond T is T. Of no rows the result is zero. */
typedef struct hu_pick_attrs {
    bool last; /* of the rows that count; false: the first one */
} hu_pick_attrs;

#endif
