#include "op/dense.h"

#include "base/checked.h"
#include "kernel/reduce/channel.h"

hu_status hu_dense_create(const hu_product *p, hu_conv_plan **plan) {
    const hu_conv conv = {.in_h = p->in_h,
                          .in_w = p->in_w,
                          .in_c = p->in_c,
                          .out_h = p->out_h,
                          .out_w = p->out_w,
                          .out_c = p->out_c,
                          .kernel_h = p->kernel_h,
                          .kernel_w = p->kernel_w,
                          .stride_h = p->stride_h,
                          .stride_w = p->stride_w,
                          .pad_h = p->pad_h,
                          .pad_w = p->pad_w,
                          .dilation_h = p->dilation_h,
                          .dilation_w = p->dilation_w};
    return hu_conv_plan_create(&conv, plan);
}

/* Sums in double [out_c] and what hu_channel_sums needs. */
static size_t bias_scratch_bytes(const hu_product *p) {
    if (!p->has_bias) return 0;
    return hu_channel_scratch_bytes(p->out_c) + (size_t)p->out_c * sizeof(double);
}

size_t hu_dense_scratch_bytes(const hu_product *p, const hu_conv_plan *plan, int64_t count) {
    size_t weights = hu_conv_scratch_bytes(plan, count), bias = bias_scratch_bytes(p);
    return weights > bias ? weights : bias;
}

void hu_dense_pack(const hu_conv_plan *plan, hu_pass pass, const float *const *param, int n_params,
                   void *packed) {
    if (pass == HU_BACKWARD)
        hu_conv_pack_data(plan, param[0], packed);
    else
        hu_conv_pack_forward(plan, param[0], n_params > 1 ? param[1] : NULL, packed);
}

void hu_dense_forward(const hu_op_call *call, const hu_conv_plan *plan) {
    hu_conv_forward(plan, call->count, call->in[0], call->workspace, call->out[0]);
}

void hu_dense_data_gradient(const hu_op_call *call, const hu_conv_plan *plan) {
    hu_conv_data_gradient(plan, call->count, call->dout[0], call->workspace, call->din[0]);
}

static void bias_gradient(const hu_op_call *call, const hu_product *p) {
    void *behind = (char *)call->scratch + hu_channel_scratch_bytes(p->out_c);
    double *sum = behind;
    float *to = call->dparam[1];
    hu_channel_sums(call->count * p->out_h * p->out_w, p->out_c, call->dout[0], call->scratch, sum);
    for (int64_t c = 0; c < p->out_c; c++)
        to[c] = call->adds_dparam ? to[c] + (float)sum[c] : (float)sum[c];
}

void hu_dense_weight_gradient(const hu_op_call *call, const hu_product *p,
                              const hu_conv_plan *plan) {
    hu_conv_weight_gradient(plan, call->count, call->in[0], call->dout[0], call->adds_dparam,
                            call->scratch, call->dparam[0]);
    if (p->has_bias && call->dparam[1]) bias_gradient(call, p);
}
