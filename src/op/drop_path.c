/* Stochastic depth (Huang et al. 2016): in training a branch is left out of a sample with the
 * probability p, all of it, and scaled by 1/(1-p) where it stays; evaluation is the identity.
 * Sample s of the batch keeps its branch iff random word number s of the node's key is at least p *
 * 2^32: chunks do not matter. */
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "op/dropout.h"

static hu_status drop_path_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                 hu_shape *out) {
    const hu_dropout_attrs *a = attrs;
    (void)n_in;
    if (!(a->probability >= 0 && a->probability < 1))
        return hu_fail(HU_ERR_ARGUMENT, "drop_path: probability %g, expected 0 <= p < 1",
                       (double)a->probability);
    *n_out = 1;
    out[0] = in[0];
    return HU_OK;
}

/* Whether the sample keeps its branch. */
static size_t drop_path_mask_bytes(const hu_node_info *info) {
    (void)info;
    return 1;
}

static float keep_scale(const hu_op_call *call) {
    const hu_dropout_attrs *a = call->info->attrs;
    return (float)(1.0 / (1.0 - (double)a->probability));
}

/* A NaN stays NaN even where it is dropped. */
static void drop_path_forward(const hu_op_call *call) {
    const hu_dropout_attrs *a = call->info->attrs;
    int64_t elements = hu_shape_elements(&call->info->in[0]);
    uint32_t threshold = (uint32_t)((double)a->probability * 0x1p32);
    float scale = keep_scale(call);
    for (int64_t s = 0; s < call->count; s++) {
        const float *x = call->in[0] + s * elements;
        float *y = call->out[0] + s * elements;
        uint64_t place = (uint64_t)(call->before + call->first + s);
        if (!call->training) {
            memcpy(y, x, (size_t)elements * sizeof *y);
            continue;
        }
        call->mask[s] = hu_random_word(&call->key, place) >= threshold;
        if (call->mask[s])
            for (int64_t i = 0; i < elements; i++) y[i] = x[i] * scale;
        else
            for (int64_t i = 0; i < elements; i++) y[i] = x[i] == x[i] ? 0.0f : x[i];
    }
}

static void drop_path_backward(const hu_op_call *call) {
    int64_t elements = hu_shape_elements(&call->info->in[0]);
    float scale = keep_scale(call);
    if (!call->din[0]) return;
    for (int64_t s = 0; s < call->count; s++) {
        const float *dy = call->dout[0] + s * elements;
        float *dx = call->din[0] + s * elements;
        float factor = !call->training ? 1.0f : call->mask[s] ? scale : 0.0f;
        for (int64_t i = 0; i < elements; i++) dx[i] = factor > 0.0f ? dy[i] * factor : 0.0f;
    }
}

static const hu_attribute drop_path_attributes[] = {
    {HU_ATTRIBUTE_REAL, "probability", offsetof(hu_dropout_attrs, probability), 0.1},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

const hu_op hu_op_drop_path = {.name = "drop_path",
                               .keeps_rows = true,
                               .attrs_bytes = sizeof(hu_dropout_attrs),
                               .attributes = drop_path_attributes,
                               .min_in = 1,
                               .max_in = 1,
                               .keeps_absent = true,
                               .shape = drop_path_shape,
                               .saves = HU_SAVE_NOTHING,
                               .mask_bytes = drop_path_mask_bytes,
                               .forward = drop_path_forward,
                               .backward = drop_path_backward};
