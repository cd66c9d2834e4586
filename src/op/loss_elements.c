/* Losses of elements, each the mean or the sum over a sample: mse and l1 on numbers, bce on logits,
 * kl_normal on means and log-variances. The unit of all is the sample. */
#include <math.h>

#include "base/elementary.h"
#include "op/expect.h"
#include "op/loss.h"

/* The loss of a prediction x and a target t, its derivatives by x and by t, and what the metric
 * sums. */
typedef struct element_loss {
    double (*value)(double x, double t);
    double (*slope)(double x, double t);
    double (*target_slope)(double x, double t);
    double (*metric)(double x, double t);
    bool (*accepts)(double t);
} element_loss;

static int64_t elements_of(const hu_op_call *call) {
    return hu_shape_elements(&call->info->in[0]);
}

/* What a sample's sum is divided by. */
static double divisor_of(const hu_op_call *call) {
    const hu_element_loss_attrs *attrs = call->info->attrs;
    return attrs && attrs->sums ? 1.0 : (double)elements_of(call);
}

/* Targets that the loss cannot use are NaN to it. */
static double target_of(const element_loss *loss, float t) {
    return loss->accepts((double)t) ? (double)t : (double)NAN;
}

static int64_t check_target(const hu_node_info *info, int64_t count, const float *target,
                            const element_loss *loss, hu_round_counts *counts) {
    int64_t n = count * hu_shape_elements(&info->in[1]);
    for (int64_t i = 0; i < n; i++) counts->nan += !loss->accepts((double)target[i]);
    counts->elements += (uint64_t)n;
    return count;
}

/* Sum over one sample of x [elements] and t [elements], in order. */
static double sample_sum(const hu_op_call *call, const element_loss *loss,
                         double (*of)(double, double), int64_t sample) {
    int64_t n = elements_of(call);
    const float *x = call->in[0] + sample * n, *t = call->in[1] + sample * n;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += of((double)x[i], target_of(loss, t[i]));
    return sum;
}

static double sample_loss(const hu_op_call *call, const element_loss *loss, int64_t sample) {
    return sample_sum(call, loss, loss->value, sample) / divisor_of(call);
}

/* in[0], in[1] [count, elements] -> out[0] [count] */
static void forward(const hu_op_call *call, const element_loss *loss) {
    for (int64_t s = 0; s < call->count; s++) call->out[0][s] = (float)sample_loss(call, loss, s);
}

static void reduce(const hu_op_call *call, hu_pass pass, const element_loss *loss) {
    double sum = 0, metric = 0;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) {
        sum += sample_loss(call, loss, s);
        metric += sample_sum(call, loss, loss->metric, s);
    }
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = metric;
}

/* The gradient of an input [count, elements] from dout[0] [count]; gradient NULL: not wanted. */
static void fill_gradient(const hu_op_call *call, const element_loss *loss,
                          double (*slope)(double, double), float *gradient) {
    int64_t n = elements_of(call);
    double divisor = divisor_of(call);
    for (int64_t i = 0; gradient && i < call->count * n; i++) {
        double by_input = slope((double)call->in[0][i], target_of(loss, call->in[1][i]));
        gradient[i] = (float)((double)call->dout[0][i / n] * by_input / divisor);
    }
}

static void backward(const hu_op_call *call, const element_loss *loss) {
    fill_gradient(call, loss, loss->slope, call->din[0]);
    fill_gradient(call, loss, loss->target_slope, call->din[1]);
}

static const hu_attribute attributes[] = {
    {HU_ATTRIBUTE_FLAG, "sum", offsetof(hu_element_loss_attrs, sums), 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
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

static bool is_finite(double t) {
    return t - t == 0;
}

static const element_loss mse = {square, square_slope, square_target_slope, square, is_finite};

ELEMENT_LOSS(mse)

/* ---- bce: binary cross-entropy of sigmoid(x) and a target in 0..1, on logits ---- */

/* -t log sigmoid(x) - (1 - t) log(1 - sigmoid(x)), in the form that neither overflows nor cancels.
 */
double hu_cross_entropy(double x, double t) {
    double magnitude = x < 0 ? -x : x, largest = x < 0 ? 0 : x;
    return largest - x * t + hu_log1p(hu_exp(-magnitude));
}

static double cross_entropy_slope(double x, double t) {
    return 1 / (1 + hu_exp(-x)) - t;
}

static double cross_entropy_target_slope(double x, double t) {
    return t != t ? t : -x;
}

/* Elements on their target's side of 0; NaN is on none. */
static double is_on_its_side(double x, double t) {
    return t > 0.5 ? x > 0 : x <= 0;
}

static bool is_share(double t) {
    return t >= 0 && t <= 1;
}

static const element_loss bce = {hu_cross_entropy, cross_entropy_slope, cross_entropy_target_slope,
                                 is_on_its_side, is_share};

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

static const element_loss l1 = {distance, distance_slope, distance_target_slope, square, is_finite};

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

static const element_loss kl_normal = {hu_divergence, divergence_slope, divergence_spread_slope,
                                       hu_divergence, is_finite};

ELEMENT_LOSS(kl_normal)
