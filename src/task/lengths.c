#include "task/lengths.h"

#include <stdio.h>

#include "op/length.h"

/* The stride that leaves so many rows of frames; 0: none does. */
static int64_t stride_of(int64_t frames, int64_t rows) {
    int64_t stride = rows > 0 ? (frames + rows - 1) / rows : 0;
    return stride > 0 && (frames + stride - 1) / stride == rows ? stride : 0;
}

hu_status hu_lengths_fit(hu_graph *graph, int64_t frames, hu_value_id head, const char *loss,
                         int64_t *rows, hu_value_id *lengths) {
    const hu_shape *made = &graph->value[head].shape;
    char name[2 * HU_NAME_BYTES];
    hu_value_id out[HU_MAX_OUTPUTS];
    const hu_length_attrs attrs = {.stride =
                                       made->rank == 2 ? stride_of(frames, made->extent[0]) : 0};
    *rows = attrs.stride > 0 ? made->extent[0] : 0;
    *lengths = hu_graph_find(graph, HU_LENGTHS_FIELD);
    if (attrs.stride < 2) return HU_OK;
    snprintf(name, sizeof name, "%s.lengths", loss);
    hu_status st = hu_graph_apply(graph, &hu_op_length, name, NULL, &attrs, 1, lengths, out);
    if (st == HU_OK) *lengths = out[0];
    return st;
}
