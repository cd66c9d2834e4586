#include "op/length.h"

#include <math.h>

#include "base/error.h"

static hu_status length_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    const hu_length_attrs *a = attrs;
    (void)n_in;
    if (a->stride < 1 || (!a->leading && hu_shape_elements(&in[0]) != 1))
        return hu_fail(HU_ERR_SHAPE,
                       "length: found %lld numbers of a sample and a stride of %lld, expected one "
                       "number and a stride of at least 1",
                       (long long)hu_shape_elements(&in[0]), (long long)a->stride);
    *n_out = 1;
    out[0] = a->leading ? (hu_shape){1, {1}} : in[0];
    return HU_OK;
}

static int64_t leading(int64_t count, const float *x) {
    int64_t n = 0;
    while (n < count && x[n] >= 0.0f) n++;
    return n;
}

/* Whole numbers below 2^24 stay exact. */
static void length_forward(const hu_op_call *call) {
    const hu_length_attrs *a = call->info->attrs;
    int64_t n = hu_shape_elements(&call->info->in[0]);
    for (int64_t s = 0; s < call->count; s++) {
        const float *x = call->in[0] + s * n;
        double rows = a->leading ? (double)leading(n, x) : (double)*x;
        call->out[0][s] = (float)ceil(rows / (double)a->stride);
    }
}

static const hu_attribute length_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "stride", offsetof(hu_length_attrs, stride), 1},
    {HU_ATTRIBUTE_FLAG, "leading", offsetof(hu_length_attrs, leading), 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

const hu_op hu_op_length = {.name = "length",
                            .attrs_bytes = sizeof(hu_length_attrs),
                            .attributes = length_attributes,
                            .min_in = 1,
                            .max_in = 1,
                            .makes_facts = true,
                            .shape = length_shape,
                            .forward = length_forward};
