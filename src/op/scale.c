/* scale: y = x times a constant, each product rounded once to float32. */
#include "op/scale.h"

#include <math.h>

#include "base/error.h"

/* x of any shape -> y of the same */
static hu_status scale_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    const hu_scale_attrs *a = attrs;
    (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    if (isfinite(a->factor)) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "scale: factor %g, expected a finite number",
                   (double)a->factor);
}

/* from [count, shape] -> to; both may be one array. */
static void multiply(const hu_op_call *call, const float *from, float *to) {
    const hu_scale_attrs *a = call->info->attrs;
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    for (int64_t i = 0; i < n; i++) to[i] = from[i] * a->factor;
}

static void scale_forward(const hu_op_call *call) {
    multiply(call, call->in[0], call->out[0]);
}

/* dx = dy factor: no input is needed. */
static void scale_backward(const hu_op_call *call) {
    if (call->din[0]) multiply(call, call->dout[0], call->din[0]);
}

static const hu_attribute scale_attributes[] = {
    {HU_ATTRIBUTE_REAL, "factor", offsetof(hu_scale_attrs, factor), NAN},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

const hu_op hu_op_scale = {.name = "scale",
                           .keeps_rows = true,
                           .attrs_bytes = sizeof(hu_scale_attrs),
                           .attributes = scale_attributes,
                           .min_in = 1,
                           .max_in = 1,
                           .is_cheap = true,
                           .in_place = true,
                           .shape = scale_shape,
                           .saves = HU_SAVE_NOTHING,
                           .forward = scale_forward,
                           .backward = scale_backward};
