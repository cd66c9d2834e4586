#include "op/product.h"

#include <omp.h>
#include <string.h>

#include "base/checked.h"
#include "op/dnn.h"

enum { ALIGNMENT = 64 };

/* oneDNN must see one thread (op/dnn.h). The setting is the calling thread's own. Gives what
 * leave_one_thread restores. */
static int enter_one_thread(void) {
    int before = omp_get_max_threads();
    omp_set_num_threads(1);
    return before;
}

static void leave_one_thread(int before) {
    omp_set_num_threads(before);
}

static void fill_with_nan(float *x, int64_t count) {
    memset(x, 0xff, (size_t)count * sizeof *x);
}

hu_status hu_product_create(const hu_node_info *info, const hu_product *product, void **state) {
    hu_dnn *dnn;
    int before = enter_one_thread();
    hu_status st = hu_dnn_create(info, product, &dnn);
    leave_one_thread(before);
    *state = dnn;
    return st;
}

hu_status hu_product_prepare(const hu_node_info *info, void *state, int64_t count) {
    (void)info;
    int before = enter_one_thread();
    hu_status st = hu_dnn_prepare(state, count);
    leave_one_thread(before);
    return st;
}

void hu_product_release(void *state) {
    hu_dnn_release(state);
}

size_t hu_product_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    return hu_dnn_scratch_bytes(state, pass);
}

/* Workspace: the packed weights and, in the forward pass, the bias (param[1]) behind them. */
static size_t bias_offset(const hu_dnn *dnn) {
    return hu_round_up(hu_dnn_packed_bytes(dnn, HU_FORWARD), ALIGNMENT);
}

size_t hu_product_workspace_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    if (pass == HU_BACKWARD || info->n_params < 2) return hu_dnn_packed_bytes(state, pass);
    return bias_offset(state) + (size_t)hu_shape_elements(&info->param[1]) * sizeof(float);
}

void hu_product_begin(const hu_op_call *call, hu_pass pass) {
    size_t bytes = hu_dnn_packed_bytes(call->state, pass);
    float *bias = NULL;
    if (bytes == 0) return;
    if (pass == HU_FORWARD && call->info->n_params > 1) {
        bias = (float *)(void *)((char *)call->workspace + bias_offset(call->state));
        memcpy(bias, call->param[1],
               (size_t)hu_shape_elements(&call->info->param[1]) * sizeof *bias);
    }
    int before = enter_one_thread();
    if (!hu_dnn_pack(call->state, pass, call->param[0], bias, call->workspace))
        memset(call->workspace, 0xff, bytes);
    leave_one_thread(before);
}

void hu_product_run_forward(const hu_op_call *call) {
    int before = enter_one_thread();
    if (!hu_dnn_forward(call))
        fill_with_nan(call->out[0], call->count * hu_shape_elements(&call->info->out[0]));
    leave_one_thread(before);
}

void hu_product_run_backward(const hu_op_call *call) {
    const hu_node_info *info = call->info;
    int before = enter_one_thread();
    if (call->din[0] && !hu_dnn_data_gradient(call))
        fill_with_nan(call->din[0], call->count * hu_shape_elements(&info->in[0]));
    bool failed = call->dparam[0] && !hu_dnn_weight_gradient(call);
    for (int i = 0; failed && i < info->n_params; i++)
        if (call->dparam[i]) fill_with_nan(call->dparam[i], hu_shape_elements(&info->param[i]));
    leave_one_thread(before);
}
