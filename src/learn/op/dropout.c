#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "kernel/round/round.h"
#include "op/internal.h"

/* ---- noise ---- */

/* Random words of a node: element i of sample s of the batch takes word s elements + i
 * of the node's key, so that chunks do not matter. In check runs it takes word (samples before)
 * elements + i of the node's name, or of the name and "test" outside of training. */

uint32_t hu_noise_word(const hu_noise *noise, int64_t i) {
    uint64_t at = noise->first + (uint64_t)i;
    if (noise->call->by_formula) return hu_formula_word(noise->hash, (uint32_t)at);
    return hu_random_word(&noise->call->key, at);
}

/* ---- dropout ---- */

enum { WORDS = 1024 }; /* a multiple of 8 */

/* What is dropped of a value leaves its shape; op: the one that is told. */
static hu_status check_share(const char *op, const void *attrs, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    const hu_dropout_attrs *a = attrs;
    if (!(a->probability >= 0 && a->probability < 1))
        return hu_fail(HU_ERR_ARGUMENT, "%s: probability %g, expected 0 <= p < 1", op,
                       (double)a->probability);
    *n_out = 1;
    out[0] = in[0];
    return HU_OK;
}

static hu_status dropout_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    (void)n_in;
    return check_share("dropout", attrs, in, n_out, out);
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
    {HU_ATTRIBUTE_REAL, "probability", offsetof(hu_dropout_attrs, probability), 0.5, 0, 1},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
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

/* ---- Numbers of the normal law ---- */

/* m, v of any shape -> z of the same */
static hu_status sample_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    (void)attrs;
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_same("sample_normal", n_in, in);
}

static hu_noise noise_of(const hu_op_call *call) {
    return hu_noise_of(call, hu_shape_elements(&call->info->out[0]));
}

/* Of element i of the call. The formula's numbers are uniform: sqrt(3) gives them the variance 1.
 */
static double number(const hu_noise *n, int64_t i) {
    static const double sqrt_3 = 1.7320508075688772;
    uint64_t at = n->first + (uint64_t)i;
    if (!n->call->by_formula) return (double)hu_random_normal(&n->call->key, at);
    return sqrt_3 * (double)hu_formula_number(n->hash, (uint32_t)at);
}

/* e^(v/2) n */
static double spread_of(const hu_noise *n, int64_t i) {
    return hu_exp((double)n->call->in[1][i] / 2.0) * number(n, i);
}

static void sample_forward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    hu_noise drawn = noise_of(call);
    for (int64_t i = 0; i < n; i++)
        call->out[0][i] = (float)((double)call->in[0][i] + spread_of(&drawn, i));
}

/* dm = dz, dv = dz e^(v/2) n / 2 */
static void sample_backward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    hu_noise drawn = noise_of(call);
    const float *dz = call->dout[0];
    for (int64_t i = 0; call->din[0] && i < n; i++) call->din[0][i] = dz[i];
    for (int64_t i = 0; call->din[1] && i < n; i++)
        call->din[1][i] = (float)((double)dz[i] * spread_of(&drawn, i) / 2.0);
}

const hu_op hu_op_sample_normal = {.name = "sample_normal",
                                   .min_in = 2,
                                   .max_in = 2,
                                   .shape = sample_shape,
                                   .saves = HU_SAVE_INPUT_1,
                                   .forward = sample_forward,
                                   .backward = sample_backward};

/* ---- normal: numbers that nothing decides but their place; no gradient comes to them ---- */

/* -> [numbers] */
static hu_status normal_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    const hu_normal_attrs *a = attrs;
    (void)n_in, (void)in;
    *n_out = 1;
    out[0] = (hu_shape){.rank = 1, .extent = {a->numbers}};
    if (a->numbers > 0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "normal: found %lld numbers, expected at least 1",
                   (long long)a->numbers);
}

static void normal_forward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->out[0]);
    hu_noise drawn = noise_of(call);
    for (int64_t i = 0; i < n; i++) call->out[0][i] = (float)number(&drawn, i);
}

static const hu_attribute normal_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "numbers", offsetof(hu_normal_attrs, numbers), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_normal = {.name = "normal",
                            .attrs_bytes = sizeof(hu_normal_attrs),
                            .attributes = normal_attributes,
                            .shape = normal_shape,
                            .saves = HU_SAVE_NOTHING,
                            .forward = normal_forward};

/* ---- drop path ---- */

/* Stochastic depth (Huang et al. 2016): in training a branch is left out of a sample with the
 * probability p, all of it, and scaled by 1/(1-p) where it stays; evaluation is the identity.
 * Sample s of the batch keeps its branch iff random word number s of the node's key is at least p *
 * 2^32: chunks do not matter. */

static hu_status drop_path_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                 hu_shape *out) {
    (void)n_in;
    return check_share("drop_path", attrs, in, n_out, out);
}

/* Whether the sample keeps its branch. */
static size_t drop_path_mask_bytes(const hu_node_info *info) {
    (void)info;
    return 1;
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
    {HU_ATTRIBUTE_REAL, "probability", offsetof(hu_dropout_attrs, probability), 0.1, 0, 1},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
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
