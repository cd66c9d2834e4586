/* local_norm: local response normalisation over neighbouring channels of every place (Krizhevsky et
 * al. 2012, in the form of Caffe: alpha is divided by the size, also where channels cut a window).
 *
 * In double from the float32 (stored) input, sums in the order of the channels, one rounding per
 * result: in half precision x^2 would overflow above 255. */
#include "op/local_norm.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "kernel/elementary/elementary.h"
#include "op/expect.h"

static const hu_attribute local_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "size", offsetof(hu_local_norm_attrs, size), 5},
    {HU_ATTRIBUTE_REAL, "alpha", offsetof(hu_local_norm_attrs, alpha), 1e-4},
    {HU_ATTRIBUTE_REAL, "beta", offsetof(hu_local_norm_attrs, beta), 0.75},
    {HU_ATTRIBUTE_REAL, "k", offsetof(hu_local_norm_attrs, k), 1},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

/* s stays above 0 where k does and alpha is not negative. */
static hu_status local_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    enum { MOST = 1 << 20 };
    const hu_local_norm_attrs *a = attrs;
    (void)n_in;
    bool is_finite = isfinite(a->alpha) && isfinite(a->beta) && isfinite(a->k);
    if (a->size < 1 || a->size > MOST || a->size % 2 == 0 || !is_finite || a->alpha < 0.0f ||
        !(a->k > 0.0f))
        return hu_fail(HU_ERR_SHAPE,
                       "local_norm: size %" PRId64 ", alpha %g, beta %g, k %g; expected an odd "
                       "size up to %d and finite numbers, alpha >= 0 and k > 0",
                       a->size, (double)a->alpha, (double)a->beta, (double)a->k, MOST);
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_rank_least("local_norm", in, 1);
}

/* A window that reaches beyond all channels is as good as one that reaches over them. */
static hu_local_window window_of(const hu_node_info *info) {
    const hu_local_norm_attrs *a = info->attrs;
    int64_t channels = hu_channels(&info->in[0]), half = a->size / 2;
    return (hu_local_window){.channels = channels,
                             .reach = half < channels ? half : channels - 1,
                             .k = (double)a->k,
                             .share = (double)a->alpha / (double)a->size,
                             .power = (double)a->beta};
}

static size_t local_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    const hu_local_window window = window_of(info);
    (void)state, (void)pass;
    return (size_t)hu_local_numbers(&window) * sizeof(double);
}

static int64_t places_of(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
}

/* x [count, .., C] -> y, the same shape */
static void local_forward(const hu_op_call *call) {
    const hu_local_window window = window_of(call->info);
    hu_elementary()->local_norm(places_of(call), &window, call->in[0], call->scratch, call->out[0]);
}

/* dx_c = dy_c s_c^-beta - 2 alpha beta / size x_c sum over the window of dy y / s. */
static void local_backward(const hu_op_call *call) {
    const hu_local_norm_attrs *a = call->info->attrs;
    const hu_local_window window = window_of(call->info);
    double factor = 2.0 * (double)a->alpha * (double)a->beta / (double)a->size;
    if (call->din[0])
        hu_elementary()->local_norm_backward(places_of(call), &window, factor, call->in[0],
                                             call->dout[0], call->scratch, call->din[0]);
}

const hu_op hu_op_local_norm = {.name = "local_norm",
                                .attrs_bytes = sizeof(hu_local_norm_attrs),
                                .attributes = local_attributes,
                                .min_in = 1,
                                .max_in = 1,
                                .shape = local_shape,
                                .saves = HU_SAVE_INPUT_0,
                                .scratch_bytes = local_scratch_bytes,
                                .forward = local_forward,
                                .backward = local_backward};
