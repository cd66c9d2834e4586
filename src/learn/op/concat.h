/* op/concat.h - attributes of the operations that join or part values. */
#ifndef HU_OP_CONCAT_H
#define HU_OP_CONCAT_H
#include "op/op.h"

/* bias adds a vector along the last extent; its one parameter is called "bias". */
typedef struct hu_bias_attrs {
    hu_init bias_init;
} hu_bias_attrs;

/* concat joins along the last extent; NULL: so, too. */
typedef struct hu_concat_attrs {
    bool rows; /* along the first one */
} hu_concat_attrs;

/* split gives two parts of the last extent: the first `first` channels, and the rest. */
typedef struct hu_split_attrs {
    int64_t first;
    bool rows; /* of the first extent: the first `first` rows, and the rest */
} hu_split_attrs;

#endif
