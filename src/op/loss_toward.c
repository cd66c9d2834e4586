/* bce_toward: binary cross entropy of logits and one share that is the same for all of them: what a
 * network is asked to say of all pictures of one kind. The unit is the sample; its metric counts
 * the elements on the target's side of 0. */
#include "base/elementary.h"
#include "base/error.h"
#include "op/attribute.h"
#include "op/loss.h"

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

static int64_t elements_of(const hu_op_call *call) {
    return hu_shape_elements(&call->info->in[0]);
}

static double sample_loss(const hu_op_call *call, int64_t sample) {
    int64_t n = elements_of(call);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += hu_cross_entropy((double)call->in[0][sample * n + i], target_of(call));
    return sum / (double)n;
}

/* in[0] [count, elements] -> out[0] [count] */
static void toward_forward(const hu_op_call *call) {
    for (int64_t s = 0; s < call->count; s++) call->out[0][s] = (float)sample_loss(call, s);
}

static void toward_reduce(const hu_op_call *call, hu_pass pass) {
    int64_t n = elements_of(call);
    double sum = 0, metric = 0;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) {
        sum += sample_loss(call, s);
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
    {HU_ATTRIBUTE_REAL, "target", offsetof(hu_toward_attrs, target), 1.0},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
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
