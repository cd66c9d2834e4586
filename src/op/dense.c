#include "op/dense.h"

#include "base/checked.h"
#include "base/memory.h"
#include "kernel/conv/winograd.h"
#include "kernel/reduce/channel.h"

static bool is_depthwise(const hu_product *p) {
    return p->groups > 1 && p->groups == p->in_c && p->groups == p->out_c;
}

bool hu_dense_can(const hu_product *p) {
    return p->groups == 1 || is_depthwise(p);
}

hu_status hu_dense_create(const hu_product *p, bool by_winograd, hu_dense **dense) {
    hu_status st = hu_alloc(sizeof **dense, (void **)dense);
    if (st != HU_OK) return st;
    hu_dense *made = *dense;
    *made = (hu_dense){.conv = {.in_h = p->in_h,
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
                                .dilation_w = p->dilation_w}};
    if (is_depthwise(p))
        st = hu_depthwise_create(&made->conv, &made->depthwise);
    else if (!by_winograd || !hu_winograd_fits(&made->conv))
        st = hu_conv_plan_create(&made->conv, &made->plan);
    if (st == HU_OK) return st;
    hu_dense_free(made);
    *dense = NULL;
    return st;
}

void hu_dense_free(hu_dense *dense) {
    if (!dense) return;
    hu_conv_plan_free(dense->plan);
    hu_depthwise_free(dense->depthwise);
    hu_free(dense);
}

/* ---- sizes ---- */

static size_t bias_scratch_bytes(const hu_product *p) {
    return p->has_bias ? hu_channel_total_scratch_bytes(p->out_c) : 0;
}

static size_t weight_scratch_bytes(const hu_dense *dense, int64_t count) {
    if (dense->depthwise) return hu_depthwise_scratch_bytes(dense->depthwise);
    return dense->plan ? hu_conv_scratch_bytes(dense->plan, count)
                       : hu_winograd_weight_scratch_bytes(&dense->conv, count);
}

size_t hu_dense_scratch_bytes(const hu_product *p, const hu_dense *dense, hu_product_role role,
                              int64_t count) {
    if (role == HU_PRODUCT_WEIGHT_GRAD) {
        size_t weights = weight_scratch_bytes(dense, count), bias = bias_scratch_bytes(p);
        return weights > bias ? weights : bias;
    }
    if (dense->plan || dense->depthwise) return 0;
    return role == HU_PRODUCT_FORWARD ? hu_winograd_forward_scratch_bytes(&dense->conv)
                                      : hu_winograd_data_scratch_bytes(&dense->conv);
}

size_t hu_dense_packed_bytes(const hu_dense *dense, hu_pass pass) {
    const hu_conv_plan *plan = dense->plan;
    if (dense->depthwise) return hu_depthwise_packed_bytes(dense->depthwise);
    if (pass == HU_BACKWARD)
        return plan ? hu_conv_data_packed_bytes(plan) : hu_winograd_data_packed_bytes(&dense->conv);
    return plan ? hu_conv_forward_packed_bytes(plan)
                : hu_winograd_forward_packed_bytes(&dense->conv);
}

/* ---- products ---- */

void hu_dense_pack(const hu_dense *dense, hu_pass pass, const float *const *param, int n_params,
                   void *packed) {
    const hu_conv_plan *plan = dense->plan;
    const float *bias = n_params > 1 ? param[1] : NULL;
    if (dense->depthwise)
        hu_depthwise_pack(dense->depthwise, param[0], pass == HU_FORWARD ? bias : NULL, packed);
    else if (plan && pass == HU_BACKWARD)
        hu_conv_pack_data(plan, param[0], packed);
    else if (plan)
        hu_conv_pack_forward(plan, param[0], bias, packed);
    else if (pass == HU_BACKWARD)
        hu_winograd_pack_data(&dense->conv, param[0], packed);
    else
        hu_winograd_pack_forward(&dense->conv, param[0], bias, packed);
}

void hu_dense_forward(const hu_op_call *call, const hu_dense *dense) {
    if (dense->depthwise)
        hu_depthwise_forward(dense->depthwise, call->count, call->in[0], call->workspace,
                             call->out[0]);
    else if (dense->plan)
        hu_conv_forward(dense->plan, call->count, call->in[0], call->workspace, call->out[0]);
    else
        hu_winograd_forward(&dense->conv, call->count, call->in[0], call->workspace, call->scratch,
                            call->out[0]);
}

void hu_dense_data_gradient(const hu_op_call *call, const hu_dense *dense) {
    if (dense->depthwise)
        hu_depthwise_data_gradient(dense->depthwise, call->count, call->dout[0], call->workspace,
                                   call->din[0]);
    else if (dense->plan)
        hu_conv_data_gradient(dense->plan, call->count, call->dout[0], call->workspace,
                              call->din[0]);
    else
        hu_winograd_data_gradient(&dense->conv, call->count, call->dout[0], call->workspace,
                                  call->scratch, call->din[0]);
}

void hu_dense_weight_gradient(const hu_op_call *call, const hu_product *p, const hu_dense *dense) {
    if (dense->depthwise)
        hu_depthwise_weight_gradient(dense->depthwise, call->count, call->in[0], call->dout[0],
                                     call->adds_dparam, call->scratch, call->dparam[0]);
    else if (dense->plan)
        hu_conv_weight_gradient(dense->plan, call->count, call->in[0], call->dout[0],
                                call->adds_dparam, call->scratch, call->dparam[0]);
    else
        hu_winograd_weight_gradient(&dense->conv, call->count, call->in[0], call->dout[0],
                                    call->adds_dparam, call->scratch, call->dparam[0]);
    if (p->has_bias && call->dparam[1])
        hu_channel_totals(call->count * p->out_h * p->out_w, p->out_c, call->dout[0],
                          call->adds_dparam, call->scratch, call->dparam[1]);
}
