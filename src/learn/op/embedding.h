/* op/embedding.h - attributes of embedding. */
#ifndef HU_OP_EMBEDDING_H
#define HU_OP_EMBEDDING_H
#include "op/op.h"

typedef struct hu_embedding_attrs {
    int64_t words, width; /* rows of the table, and numbers of a row */
    float factor;         /* that rows are multiplied by */
    bool is_band;         /* ids from `first` on have the rows of the table, others +0: absent */
    int64_t first;        /* (op/adaptive_softmax.h) */
    bool has_padding;     /* rows of the id `padding` have the gradient +0 */
    int64_t padding;
    hu_init weight_init;
} hu_embedding_attrs;

#endif
