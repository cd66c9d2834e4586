/* model/network_fold.h - lines of a network file, written with what repeats as blocks. */
#ifndef HU_MODEL_NETWORK_FOLD_H
#define HU_MODEL_NETWORK_FOLD_H
#include "base/bytes.h"
#include "graph/graph.h"

/* What one line says. */
typedef struct hu_network_line {
    const hu_node *node;
    const char *name, *op; /* borrowed */
    const hu_value_id *in; /* [n_in] borrowed */
    int n_in;
    hu_value_id next, valid; /* HU_NONE: not given */
    char *attributes;        /* "out=16 kernel=3"; owned by who wrote the line, */
    char *params, *share;    /* as these; NULL: not given */
} hu_network_line;

/* What an input is called in files by its kind: "image", "rows", "ids", "target". */
const char *hu_network_input_kind(const hu_value_info *value);

/* Writes blocks, nodes and the head (HU_NONE: none). lines [count], in the order of the nodes.
 * Parts "P.0.*", "P.1.*", ... that say the same, but for values of attributes, become uses of one
 * block.
 */
hu_status hu_network_write_nodes(const hu_graph *graph, const hu_network_line *lines,
                                 uint32_t count, hu_value_id head, hu_byte_writer *out);

#endif
