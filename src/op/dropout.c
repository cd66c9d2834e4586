/* Dropout (Srivastava et al., 2014), inverted: kept elements are scaled by 1/(1-p) in training,
 * evaluation is the identity. Element i of sample s of the batch is kept iff random word number
 * s * elements + i of the node's key is at least p * 2^32: chunks do not matter. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/round/round.h"
#include "op/dropout.h"

enum { WORDS = 1024 }; /* a multiple of 8 */

static hu_status dropout_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    const hu_dropout_attrs *a = attrs;
    (void)n_in;
    if (!(a->probability >= 0 && a->probability < 1))
        return hu_fail(HU_ERR_ARGUMENT, "dropout: probability %g, expected 0 <= p < 1",
                       (double)a->probability);
    *n_out = 1;
    out[0] = in[0];
    return HU_OK;
}

static size_t dropout_mask_bytes(const hu_node_info *info) {
    return ((size_t)hu_shape_elements(&info->in[0]) + 7) / 8;
}

static float keep_scale(const hu_op_call *call) {
    const hu_dropout_attrs *a = call->info->attrs;
    return (float)(1.0 / (1.0 - (double)a->probability));
}

/* One run of at most WORDS elements. A NaN stays NaN even where it is dropped. */
static void drop(int64_t count, const uint32_t *words, uint32_t threshold, float scale,
                 const float *x, float *y, uint8_t *bits) {
    memset(bits, 0, (size_t)(count + 7) / 8);
    for (int64_t i = 0; i < count; i++) {
        unsigned keep = words[i] >= threshold;
        bits[i / 8] = (uint8_t)(bits[i / 8] | keep << (i % 8));
        y[i] = keep ? x[i] * scale : x[i] == x[i] ? 0.0f : x[i];
    }
}

static void dropout_forward(const hu_op_call *call) {
    const hu_dropout_attrs *a = call->info->attrs;
    int64_t elements = hu_shape_elements(&call->info->in[0]);
    uint32_t words[WORDS], threshold = (uint32_t)((double)a->probability * 0x1p32);
    if (!call->training) {
        memcpy(call->out[0], call->in[0], (size_t)(call->count * elements) * sizeof(float));
        return;
    }
    for (int64_t s = 0; s < call->count; s++) {
        uint8_t *bits = call->mask + (size_t)s * dropout_mask_bytes(call->info);
        for (int64_t i = 0; i < elements; i += WORDS) {
            int64_t n = elements - i < WORDS ? elements - i : WORDS, at = s * elements + i;
            hu_random_words_fast(&call->key,
                                 (uint64_t)((call->before + call->first) * elements + at),
                                 (size_t)n, words);
            drop(n, words, threshold, keep_scale(call), call->in[0] + at, call->out[0] + at,
                 bits + i / 8);
        }
    }
}

static void dropout_backward(const hu_op_call *call) {
    int64_t elements = hu_shape_elements(&call->info->in[0]);
    float scale = keep_scale(call);
    if (!call->din[0]) return;
    if (!call->training) {
        memcpy(call->din[0], call->dout[0], (size_t)(call->count * elements) * sizeof(float));
        return;
    }
    for (int64_t s = 0; s < call->count; s++) {
        const uint8_t *bits = call->mask + (size_t)s * dropout_mask_bytes(call->info);
        const float *dy = call->dout[0] + s * elements;
        float *dx = call->din[0] + s * elements;
        for (int64_t i = 0; i < elements; i++)
            dx[i] = bits[i / 8] >> (i % 8) & 1 ? dy[i] * scale : 0.0f;
    }
}

static const hu_attribute dropout_attributes[] = {
    {HU_ATTRIBUTE_REAL, "probability", offsetof(hu_dropout_attrs, probability), 0.5},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

const hu_op hu_op_dropout = {.name = "dropout",
                             .keeps_rows = true,
                             .attrs_bytes = sizeof(hu_dropout_attrs),
                             .attributes = dropout_attributes,
                             .min_in = 1,
                             .max_in = 1,
                             .keeps_absent = true,
                             .shape = dropout_shape,
                             .saves = HU_SAVE_NOTHING,
                             .mask_bytes = dropout_mask_bytes,
                             .forward = dropout_forward,
                             .backward = dropout_backward};
