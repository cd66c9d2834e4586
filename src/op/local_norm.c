/* local_norm: local response normalisation over neighbouring channels of every place (Krizhevsky et
 * al. 2012, in the form of Caffe: alpha is divided by the size, also where channels cut a window).
 *
 * In double from the float32 (stored) input, sums in the order of the channels, one rounding per
 * result: in half precision x^2 would overflow above 255. */
#include "op/local_norm.h"

#include <inttypes.h>
#include <math.h>

#include "base/elementary.h"
#include "base/error.h"
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

/* Of one place: s^-beta and dy y / s. */
static size_t local_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    size_t channels = (size_t)hu_channels(&info->in[0]);
    return pass == HU_FORWARD ? 0 : 2 * channels * sizeof(double);
}

/* s^-beta; the usual beta needs no logarithm. */
static double power_of(double s, float beta) {
    if (beta == 0.75f) return 1.0 / (sqrt(s) * sqrt(sqrt(s)));
    return hu_exp(-(double)beta * hu_log(s));
}

/* Channels around c: first .. end-1. */
static void window_of(int64_t size, int64_t c, int64_t channels, int64_t *first, int64_t *end) {
    *first = c < size / 2 ? 0 : c - size / 2;
    *end = channels - c <= size / 2 ? channels : c + size / 2 + 1;
}

static double scale_at(const hu_local_norm_attrs *a, int64_t channels, const float *x, int64_t c) {
    int64_t first, end;
    double sum = 0;
    window_of(a->size, c, channels, &first, &end);
    for (int64_t i = first; i < end; i++) sum += (double)x[i] * (double)x[i];
    return (double)a->k + (double)a->alpha / (double)a->size * sum;
}

static int64_t places_of(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
}

/* x [count, .., C] -> y, the same shape */
static void local_forward(const hu_op_call *call) {
    const hu_local_norm_attrs *a = call->info->attrs;
    int64_t channels = hu_channels(&call->info->in[0]);
    const float *x = call->in[0];
    float *y = call->out[0];
    for (int64_t p = places_of(call); p > 0; p--, x += channels, y += channels)
        for (int64_t c = 0; c < channels; c++)
            y[c] = (float)((double)x[c] * power_of(scale_at(a, channels, x, c), a->beta));
}

/* dx_c = dy_c s_c^-beta - 2 alpha beta / size x_c sum over the window of dy y / s: of one place. */
static void place_backward(const hu_local_norm_attrs *a, int64_t channels, const float *x,
                           const float *dy, double *scratch, float *dx) {
    double *power = scratch, *ratio = scratch + channels;
    double factor = 2.0 * (double)a->alpha * (double)a->beta / (double)a->size;
    for (int64_t c = 0; c < channels; c++) {
        double s = scale_at(a, channels, x, c);
        power[c] = power_of(s, a->beta);
        ratio[c] = (double)dy[c] * ((double)x[c] * power[c]) / s;
    }
    for (int64_t c = 0; c < channels; c++) {
        int64_t first, end;
        double sum = 0;
        window_of(a->size, c, channels, &first, &end);
        for (int64_t i = first; i < end; i++) sum += ratio[i];
        dx[c] = (float)((double)dy[c] * power[c] - factor * (double)x[c] * sum);
    }
}

static void local_backward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]);
    const float *x = call->in[0], *dy = call->dout[0];
    float *dx = call->din[0];
    if (!dx) return;
    for (int64_t p = places_of(call); p > 0; p--, x += channels, dy += channels, dx += channels)
        place_backward(call->info->attrs, channels, x, dy, call->scratch, dx);
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
