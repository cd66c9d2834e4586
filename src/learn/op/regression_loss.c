#include <float.h>
#include <math.h>

#include "base/elementary.h"
#include "base/error.h"
#include "kernel/elementary/elementary.h"
#include "op/internal.h"

/* ---- loss elements ---- */

/* Losses of elements, each the mean or the sum over a sample: mse and l1 on numbers, bce on logits,
 * kl_normal on means and log-variances. The unit of all is the sample. */

/* Elements that are looked at together. */
enum { BLOCK = 256 };

/* y = f(x, t) of n elements. */
typedef void element_fn(int64_t n, const double *x, const double *t, double *y);

/* The loss of a prediction x and a target t, its derivatives by x and by t, and what the metric
 * sums; targets outside of least..most are NaN to it. */
typedef struct element_loss {
    element_fn *value, *slope, *target_slope, *metric;
    double least, most;
} element_loss;

static int64_t elements_of(const hu_op_call *call) {
    return hu_shape_elements(&call->info->in[0]);
}

/* What a sample's sum is divided by. */
static double divisor_of(const hu_op_call *call) {
    const hu_element_loss_attrs *attrs = call->info->attrs;
    return attrs && attrs->sums ? 1.0 : (double)elements_of(call);
}

static bool accepts(const element_loss *loss, double t) {
    return t >= loss->least && t <= loss->most;
}

static int64_t check_target(const hu_node_info *info, int64_t count, const float *target,
                            const element_loss *loss, hu_round_counts *counts) {
    int64_t n = count * hu_shape_elements(&info->in[1]);
    for (int64_t i = 0; i < n; i++) counts->nan += !accepts(loss, (double)target[i]);
    counts->elements += (uint64_t)n;
    return count;
}

/* Up to BLOCK elements of both inputs in double. */
typedef struct block {
    int64_t n;
    double x[BLOCK], t[BLOCK];
} block;

/* Elements first .. end-1 of the call, as many as fit. */
static void read_block(const hu_op_call *call, const element_loss *loss, int64_t first, int64_t end,
                       block *b) {
    const float *x = call->in[0] + first, *t = call->in[1] + first;
    b->n = end - first < BLOCK ? end - first : BLOCK;
    for (int64_t i = 0; i < b->n; i++) {
        b->x[i] = (double)x[i];
        b->t[i] = accepts(loss, (double)t[i]) ? (double)t[i] : (double)NAN;
    }
}

/* Loss of one sample; *metric, if wanted, what its metric sums. All sums in the elements' order. */
static double elements_sample_loss(const hu_op_call *call, const element_loss *loss, int64_t sample,
                                   double *metric) {
    int64_t n = elements_of(call), end = (sample + 1) * n;
    double sum = 0, of_metric = 0, value[BLOCK];
    block b;
    for (int64_t first = sample * n; first < end; first += BLOCK) {
        read_block(call, loss, first, end, &b);
        loss->value(b.n, b.x, b.t, value);
        for (int64_t i = 0; i < b.n; i++) sum += value[i];
        if (metric && loss->metric != loss->value) loss->metric(b.n, b.x, b.t, value);
        for (int64_t i = 0; metric && i < b.n; i++) of_metric += value[i];
    }
    if (metric) *metric = of_metric;
    return sum / divisor_of(call);
}

/* in[0], in[1] [count, elements] -> out[0] [count] */
static void forward(const hu_op_call *call, const element_loss *loss) {
    for (int64_t s = 0; s < call->count; s++)
        call->out[0][s] = (float)elements_sample_loss(call, loss, s, NULL);
}

static void reduce(const hu_op_call *call, hu_pass pass, const element_loss *loss) {
    double sum = 0, metric = 0;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) {
        double of_sample;
        sum += elements_sample_loss(call, loss, s, &of_sample);
        metric += of_sample;
    }
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = metric;
}

/* The gradient of an input [elements] of one sample. */
static void sample_gradient(const hu_op_call *call, const element_loss *loss, element_fn *slope,
                            int64_t sample, float *gradient) {
    int64_t n = elements_of(call), end = (sample + 1) * n;
    double divisor = divisor_of(call), dout = (double)call->dout[0][sample], by_input[BLOCK];
    block b;
    for (int64_t first = sample * n; first < end; first += BLOCK) {
        read_block(call, loss, first, end, &b);
        slope(b.n, b.x, b.t, by_input);
        float *to = gradient + (first - sample * n);
        for (int64_t i = 0; i < b.n; i++) to[i] = (float)(dout * by_input[i] / divisor);
    }
}

/* The gradient of an input [count, elements] from dout[0] [count]; gradient NULL: not wanted. */
static void fill_gradient(const hu_op_call *call, const element_loss *loss, element_fn *slope,
                          float *gradient) {
    for (int64_t s = 0; gradient && s < call->count; s++)
        sample_gradient(call, loss, slope, s, gradient + s * elements_of(call));
}

static void backward(const hu_op_call *call, const element_loss *loss) {
    fill_gradient(call, loss, loss->slope, call->din[0]);
    fill_gradient(call, loss, loss->target_slope, call->din[1]);
}

static const hu_attribute attributes[] = {
    {HU_ATTRIBUTE_FLAG, "sum", offsetof(hu_element_loss_attrs, sums), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

static hu_status scalar_shape(const char *name, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
    return hu_expect_same(name, n_in, in);
}

/* The operation hu_op_NAME of the element_loss NAME. */
#define ELEMENT_LOSS(NAME)                                                                         \
    static hu_status NAME##_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,     \
                                  hu_shape *out) {                                                 \
        (void)attrs;                                                                               \
        return scalar_shape(#NAME, n_in, in, n_out, out);                                          \
    }                                                                                              \
    static int64_t NAME##_check_target(const hu_node_info *info, int64_t count,                    \
                                       const float *target, hu_round_counts *counts) {             \
        return check_target(info, count, target, &NAME, counts);                                   \
    }                                                                                              \
    static void NAME##_forward(const hu_op_call *call) {                                           \
        forward(call, &NAME);                                                                      \
    }                                                                                              \
    static void NAME##_reduce(const hu_op_call *call, hu_pass pass) {                              \
        reduce(call, pass, &NAME);                                                                 \
    }                                                                                              \
    static void NAME##_backward(const hu_op_call *call) {                                          \
        backward(call, &NAME);                                                                     \
    }                                                                                              \
    const hu_op hu_op_##NAME = {.name = #NAME,                                                     \
                                HU_LOSS_RECORD,                                                    \
                                .attrs_bytes = sizeof(hu_element_loss_attrs),                      \
                                .attributes = attributes,                                          \
                                .shape = NAME##_shape,                                             \
                                .check_target = NAME##_check_target,                               \
                                .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,                        \
                                .reduce = NAME##_reduce,                                           \
                                .forward = NAME##_forward,                                         \
                                .backward = NAME##_backward};

/* The element_fn NAME of the function of one element OF. */
#define ELEMENT_FN(NAME, OF)                                                                       \
    static void NAME(int64_t n, const double *x, const double *t, double *y) {                     \
        for (int64_t i = 0; i < n; i++) y[i] = OF(x[i], t[i]);                                     \
    }

/* ---- mse: (x - t)^2; its metric is the sum of these, without the division ---- */

static double square(double x, double t) {
    return (x - t) * (x - t);
}

static double square_slope(double x, double t) {
    return 2 * (x - t);
}

static double square_target_slope(double x, double t) {
    return 2 * (t - x);
}

ELEMENT_FN(squares, square)
ELEMENT_FN(square_slopes, square_slope)
ELEMENT_FN(square_target_slopes, square_target_slope)

static const element_loss mse = {squares, square_slopes, square_target_slopes,
                                 squares, -DBL_MAX,      DBL_MAX};

ELEMENT_LOSS(mse)

/* ---- bce: binary cross-entropy of sigmoid(x) and a target in 0..1, on logits ---- */

/* -t log sigmoid(x) - (1 - t) log(1 - sigmoid(x)), in the form that neither overflows nor cancels.
 */
double hu_cross_entropy(double x, double t) {
    double y;
    hu_elementary()->cross_entropy(1, &x, &t, &y);
    return y;
}

static void cross_entropies(int64_t n, const double *x, const double *t, double *y) {
    hu_elementary()->cross_entropy(n, x, t, y);
}

static void cross_entropy_slopes(int64_t n, const double *x, const double *t, double *y) {
    hu_elementary()->share(n, x, y);
    for (int64_t i = 0; i < n; i++) y[i] -= t[i];
}

static double cross_entropy_target_slope(double x, double t) {
    return t != t ? t : -x;
}

/* Elements on their target's side of 0; NaN is on none. */
static double is_on_its_side(double x, double t) {
    return t > 0.5 ? x > 0 : x <= 0;
}

ELEMENT_FN(cross_entropy_target_slopes, cross_entropy_target_slope)
ELEMENT_FN(are_on_their_sides, is_on_its_side)

static const element_loss bce = {
    cross_entropies, cross_entropy_slopes, cross_entropy_target_slopes, are_on_their_sides, 0, 1};

ELEMENT_LOSS(bce)

/* ---- l1: |x - t|; its metric is that of mse, so that both tell the same ---- */

static double distance(double x, double t) {
    return x > t ? x - t : t - x;
}

static double sign_of(double d) {
    return d > 0 ? 1.0 : d < 0 ? -1.0 : d;
}

static double distance_slope(double x, double t) {
    return sign_of(x - t);
}

static double distance_target_slope(double x, double t) {
    return sign_of(t - x);
}

ELEMENT_FN(distances, distance)
ELEMENT_FN(distance_slopes, distance_slope)
ELEMENT_FN(distance_target_slopes, distance_target_slope)

static const element_loss l1 = {distances, distance_slopes, distance_target_slopes,
                                squares,   -DBL_MAX,        DBL_MAX};

ELEMENT_LOSS(l1)

/* ---- kl_normal: how far N(x, e^v) is from N(0, 1), x a mean and v = the second input a
 * log-variance; both are predictions. Its metric is the sum of the same ---- */

/* (x^2 + e^v - 1 - v) / 2 */
double hu_divergence(double x, double v) {
    return (x * x + (hu_expm1(v) - v)) / 2.0;
}

static double divergence_slope(double x, double v) {
    (void)v;
    return x;
}

static double divergence_spread_slope(double x, double v) {
    (void)x;
    return hu_expm1(v) / 2.0;
}

ELEMENT_FN(divergences, hu_divergence)
ELEMENT_FN(divergence_slopes, divergence_slope)
ELEMENT_FN(divergence_spread_slopes, divergence_spread_slope)

static const element_loss kl_normal = {divergences, divergence_slopes, divergence_spread_slopes,
                                       divergences, -DBL_MAX,          DBL_MAX};

ELEMENT_LOSS(kl_normal)

/* ---- loss toward ---- */

/* bce_toward: binary cross entropy of logits and one share that is the same for all of them: what a
 * network is asked to say of all pictures of one kind. The unit is the sample; its metric counts
 * the elements on the target's side of 0. */

/* x of any shape -> one number */
static hu_status toward_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    const hu_toward_attrs *a = attrs;
    (void)n_in, (void)in;
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
    if (a->target >= 0.0f && a->target <= 1.0f) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "bce_toward: target %g, expected a number from 0 to 1",
                   (double)a->target);
}

static double target_of(const hu_op_call *call) {
    const hu_toward_attrs *a = call->info->attrs;
    return (double)a->target;
}

static double toward_sample_loss(const hu_op_call *call, int64_t sample) {
    int64_t n = elements_of(call);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += hu_cross_entropy((double)call->in[0][sample * n + i], target_of(call));
    return sum / (double)n;
}

/* in[0] [count, elements] -> out[0] [count] */
static void toward_forward(const hu_op_call *call) {
    for (int64_t s = 0; s < call->count; s++) call->out[0][s] = (float)toward_sample_loss(call, s);
}

static void toward_reduce(const hu_op_call *call, hu_pass pass) {
    int64_t n = elements_of(call);
    double sum = 0, metric = 0;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) {
        sum += toward_sample_loss(call, s);
        for (int64_t i = 0; i < n; i++) {
            float x = call->in[0][s * n + i];
            metric += target_of(call) > 0.5 ? x > 0 : x <= 0;
        }
    }
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = metric;
}

/* dx = dout (sigmoid(x) - target) / elements */
static void toward_backward(const hu_op_call *call) {
    int64_t n = elements_of(call);
    for (int64_t s = 0; call->din[0] && s < call->count; s++)
        for (int64_t i = 0; i < n; i++) {
            double share = 1 / (1 + hu_exp(-(double)call->in[0][s * n + i]));
            call->din[0][s * n + i] =
                (float)((double)call->dout[0][s] * (share - target_of(call)) / (double)n);
        }
}

static const hu_attribute toward_attributes[] = {
    {HU_ATTRIBUTE_REAL, "target", offsetof(hu_toward_attrs, target), 1.0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_bce_toward = {.name = "bce_toward",
                                .attrs_bytes = sizeof(hu_toward_attrs),
                                .attributes = toward_attributes,
                                HU_LOSS_RECORD_OF(1),
                                .shape = toward_shape,
                                .saves = HU_SAVE_INPUT_0,
                                .reduce = toward_reduce,
                                .forward = toward_forward,
                                .backward = toward_backward};
