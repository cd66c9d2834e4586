#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "op/attributes.h"

/* Ids are float32: more would not be exact. */
enum { WORDS_MOST = 1 << 24 };

static hu_status check_attrs(const hu_embedding_attrs *a) {
    if (a->words < 1 || a->words > WORDS_MOST || a->width < 1)
        return hu_fail(HU_ERR_SHAPE,
                       "embedding: found %lld words of width %lld, expected 1 to %d and at least 1",
                       (long long)a->words, (long long)a->width, WORDS_MOST);
    if (!isfinite(a->factor))
        return hu_fail(HU_ERR_ARGUMENT, "embedding: factor %g, expected a finite number",
                       (double)a->factor);
    if (a->has_padding && (a->padding < 0 || a->padding >= a->words))
        return hu_fail(HU_ERR_ARGUMENT, "embedding: padding %lld, expected 0 to %lld",
                       (long long)a->padding, (long long)a->words - 1);
    return HU_OK;
}

/* ids [..] -> [.., width] */
static hu_status embedding_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                 hu_shape *out) {
    const hu_embedding_attrs *a = attrs;
    hu_status st = check_attrs(a);
    (void)n_in;
    if (st != HU_OK) return st;
    if (in[0].rank >= HU_MAX_RANK)
        return hu_fail(HU_ERR_SHAPE, "embedding: ids of rank %d, expected less than %d",
                       (int)in[0].rank, HU_MAX_RANK);
    *n_out = 1;
    out[0] = in[0];
    out[0].extent[out[0].rank++] = a->width;
    return hu_shape_check(&out[0]);
}

static hu_status embedding_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                                  int *count) {
    const hu_embedding_attrs *a = attrs;
    (void)in;
    *count = 1;
    list[0] = (hu_param_decl){"weight", {2, {a->words, a->width}}, a->weight_init, true};
    return HU_OK;
}

/* The row of an id; -1 for what is none, whose numbers are NaN and have no gradient. The engine
 * ends a pass before that where ids are loaded. */
static int64_t row_of(const hu_embedding_attrs *a, float id) {
    if (a->is_band) id -= (float)a->first;
    return hu_whole_below(id, a->words);
}

/* y = factor w[id], one product in float32; the row itself where the factor is 1. */
static void forward(const hu_op_call *call) {
    const hu_embedding_attrs *a = call->info->attrs;
    int64_t ids = call->count * hu_shape_elements(&call->info->in[0]), width = a->width;
    for (int64_t i = 0; i < ids; i++) {
        int64_t row = row_of(a, call->in[0][i]);
        const float *restrict w = call->param[0] + (row < 0 ? 0 : row) * width;
        float *restrict y = call->out[0] + i * width;
        float none = a->is_band ? 0.0f : NAN;
        for (int64_t j = 0; j < width; j++) y[j] = row < 0 ? none : a->factor * w[j];
    }
}

/* Rows of ids outside of a band. */
static int64_t absent(const hu_node_info *info, bool training, int64_t count,
                      const float *const *given) {
    const hu_embedding_attrs *a = info->attrs;
    (void)training;
    int64_t ids = count * hu_shape_elements(&info->in[0]), outside = 0;
    for (int64_t i = 0; a->is_band && i < ids; i++) outside += row_of(a, given[0][i]) < 0;
    return outside * a->width;
}

/* The gradient of the table is accumulated: ids have none. */
static void backward(const hu_op_call *call) {
    (void)call;
}

/* One dense gradient for the whole batch, in which only rows of ids are touched. */
static bool in_batch_order(const hu_node_info *info) {
    (void)info;
    return true;
}

/* dw[id] += factor dy, in the order sample, place; +0 where no id points. */
static void accumulate(const hu_op_call *call) {
    const hu_embedding_attrs *a = call->info->attrs;
    int64_t ids = call->count * hu_shape_elements(&call->info->in[0]), width = a->width;
    float *dw = call->dparam[0];
    if (call->first == 0) memset(dw, 0, (size_t)(a->words * width) * sizeof *dw);
    for (int64_t i = 0; i < ids; i++) {
        int64_t row = row_of(a, call->in[0][i]);
        if (row < 0 || (a->has_padding && row == a->padding)) continue;
        const float *restrict dy = call->dout[0] + i * width;
        float *restrict sum = dw + row * width;
        for (int64_t j = 0; j < width; j++) sum[j] += a->factor * dy[j];
    }
}

static const hu_attribute attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "words", offsetof(hu_embedding_attrs, words), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "width", offsetof(hu_embedding_attrs, width), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_REAL, "factor", offsetof(hu_embedding_attrs, factor), 1, 0, 0},
    {HU_ATTRIBUTE_FLAG, "band", offsetof(hu_embedding_attrs, is_band), 0, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "first", offsetof(hu_embedding_attrs, first), 0, 0, INFINITY},
    {HU_ATTRIBUTE_FLAG, "pads", offsetof(hu_embedding_attrs, has_padding), 0, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "padding", offsetof(hu_embedding_attrs, padding), 0, 0, INFINITY},
    {HU_ATTRIBUTE_INIT, "init", offsetof(hu_embedding_attrs, weight_init), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* Standard normal, as torch has them. */
static void usual(void *attrs, const hu_shape *in) {
    hu_embedding_attrs *a = attrs;
    (void)in;
    a->weight_init = (hu_init){HU_INIT_NORMAL, 1.0f};
}

const hu_op hu_op_embedding = {
    .name = "embedding",
    .keeps_rows = true,
    .attrs_bytes = sizeof(hu_embedding_attrs),
    .attributes = attributes,
    .usual = usual,
    .min_in = 1,
    .max_in = 1,
    .shape = embedding_shape,
    .params = embedding_params,
    .saves = HU_SAVE_INPUT_0,
    .absent = absent,
    .forward = forward,
    .backward = backward,
    .in_batch_order = in_batch_order,
    .accumulate = accumulate,
};

/* ---- sinusoid ---- */

/* sinusoid: y = x + p, rows that tell their place by waves (Vaswani et al., 2017, in the form of
 * fairseq, sines in front of cosines). p[t, j] = sin(t w_j) and p[t, D/2 + j] = cos(t w_j), w_j =
 * e^(-j ln(10000) / (D/2 - 1)), are made once, in double; the sum is rounded once. */

/* x [T, D] -> y, the same shape */
static hu_status sinusoid_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    enum { LEAST = 4 };
    hu_status st = hu_expect_rank("sinusoid", in, 2);
    (void)attrs, (void)n_in;
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = in[0];
    int64_t rows = in->extent[0], width = in->extent[1];
    if (width % 2 == 0 && width >= LEAST && rows <= (int64_t)HU_ANGLE_MOST) return HU_OK;
    return hu_fail(HU_ERR_SHAPE,
                   "sinusoid: found %" PRId64 " rows of %" PRId64
                   " numbers, expected at most %.0f rows of an even number, at least %d",
                   rows, width, HU_ANGLE_MOST, LEAST);
}

/* State: p [T, D]. */
static hu_status sinusoid_create(const hu_node_info *info, void **state) {
    int64_t rows = info->in[0].extent[0], half = info->in[0].extent[1] / 2;
    double *p, step = hu_log(10000.0) / (double)(half - 1);
    hu_status st = HU_NEW_ARRAY(&p, (size_t)(rows * 2 * half));
    for (int64_t t = 0; st == HU_OK && t < rows; t++)
        for (int64_t j = 0; j < half; j++) {
            double angle = (double)t * hu_exp(-(double)j * step);
            p[t * 2 * half + j] = hu_sin(angle);
            p[t * 2 * half + half + j] = hu_cos(angle);
        }
    *state = st == HU_OK ? p : NULL;
    return st;
}

static void sinusoid_forward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]);
    const double *p = call->state;
    for (int64_t s = 0; s < call->count; s++)
        for (int64_t i = 0; i < n; i++)
            call->out[0][s * n + i] = (float)((double)call->in[0][s * n + i] + p[i]);
}

/* dx = dy */
static void sinusoid_backward(const hu_op_call *call) {
    size_t bytes = (size_t)(call->count * hu_shape_elements(&call->info->in[0])) * sizeof(float);
    if (call->din[0] && call->din[0] != call->dout[0]) memcpy(call->din[0], call->dout[0], bytes);
}

const hu_op hu_op_sinusoid = {.name = "sinusoid",
                              .keeps_rows = true,
                              .min_in = 1,
                              .max_in = 1,
                              .in_place = true,
                              .selects_gradient = true,
                              .shape = sinusoid_shape,
                              .saves = HU_SAVE_NOTHING,
                              .create = sinusoid_create,
                              .release = hu_free,
                              .forward = sinusoid_forward,
                              .backward = sinusoid_backward};
