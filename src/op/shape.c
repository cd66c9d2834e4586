/* flatten: the same numbers as one vector per sample. */
#include <string.h>

#include "op/op.h"

static hu_status flatten_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    (void)attrs, (void)n_in;
    *n_out = 1;
    out[0] = (hu_shape){.rank = 1, .extent = {hu_shape_elements(in)}};
    return HU_OK;
}

/* An executor that lets the view share its input's memory passes equal pointers. */
static void move(const hu_op_call *call, float *to, const float *from) {
    size_t bytes = (size_t)(call->count * hu_shape_elements(&call->info->in[0])) * sizeof *to;
    if (to && to != from) memcpy(to, from, bytes);
}

static void flatten_forward(const hu_op_call *call) {
    move(call, call->out[0], call->in[0]);
}

static void flatten_backward(const hu_op_call *call) {
    move(call, call->din[0], call->dout[0]);
}

const hu_op hu_op_flatten = {.name = "flatten",
                             .min_in = 1,
                             .max_in = 1,
                             .is_view = true,
                             .shape = flatten_shape,
                             .saves = HU_SAVE_NOTHING,
                             .forward = flatten_forward,
                             .backward = flatten_backward};
