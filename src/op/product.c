#include "op/product.h"

#include <omp.h>
#include <string.h>

#include "base/checked.h"
#include "op/accumulate.h"
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

hu_product hu_product_of(const hu_node_info *info) {
    enum { LINEAR_RANK = 2 };
    return info->param[0].rank == LINEAR_RANK ? hu_product_linear(info->attrs, &info->in[0])
                                              : hu_product_conv2d(info->attrs, &info->in[0]);
}

int64_t hu_product_node_macs(const hu_node_info *info) {
    hu_product product = hu_product_of(info);
    return hu_product_macs(&product);
}

static bool needs_dnn(const hu_node_info *info) {
    return !hu_accumulates(info, HU_PRODUCT_FORWARD) ||
           !hu_accumulates(info, HU_PRODUCT_WEIGHT_GRAD) ||
           (info->need_din[0] && !hu_accumulates(info, HU_PRODUCT_INPUT_GRAD));
}

hu_status hu_product_create(const hu_node_info *info, void **state) {
    hu_product product = hu_product_of(info);
    hu_dnn *dnn = NULL;
    *state = NULL;
    hu_status st = hu_accumulate_plan(info, &product);
    if (st != HU_OK || !needs_dnn(info)) return st;
    int before = enter_one_thread();
    st = hu_dnn_create(info, &product, &dnn);
    leave_one_thread(before);
    *state = dnn;
    return st;
}

hu_status hu_product_prepare(const hu_node_info *info, void *state, int64_t count) {
    (void)info;
    if (!state) return HU_OK;
    int before = enter_one_thread();
    hu_status st = hu_dnn_prepare(state, count);
    leave_one_thread(before);
    return st;
}

void hu_product_release(void *state) {
    hu_dnn_release(state);
}

size_t hu_product_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    hu_product product = hu_product_of(info);
    size_t accumulated = hu_accumulate_scratch_bytes(info, &product, pass);
    size_t dnn = state ? hu_dnn_scratch_bytes(state, pass) : 0;
    return accumulated > dnn ? accumulated : dnn;
}

static size_t packed_bytes(const hu_dnn *dnn, hu_pass pass) {
    return dnn ? hu_dnn_packed_bytes(dnn, pass) : 0;
}

/* Workspace: the packed weights and behind them, in the forward pass, the bias (param[1]), in the
 * backward pass what the weight gradient keeps from chunk to chunk. */
static void *behind_packed(const hu_op_call *call, hu_pass pass) {
    return (char *)call->workspace + hu_round_up(packed_bytes(call->state, pass), ALIGNMENT);
}

size_t hu_product_workspace_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    hu_product product = hu_product_of(info);
    size_t packed = packed_bytes(state, pass), behind = 0;
    if (pass == HU_BACKWARD)
        behind = hu_accumulate_workspace_bytes(info, &product);
    else if (packed > 0 && info->n_params > 1)
        behind = (size_t)hu_shape_elements(&info->param[1]) * sizeof(float);
    return behind ? hu_round_up(packed, ALIGNMENT) + behind : packed;
}

void hu_product_begin(const hu_op_call *call, hu_pass pass) {
    size_t bytes = packed_bytes(call->state, pass);
    float *bias = NULL;
    if (bytes == 0) return;
    if (pass == HU_FORWARD && call->info->n_params > 1) {
        bias = behind_packed(call, pass);
        memcpy(bias, call->param[1],
               (size_t)hu_shape_elements(&call->info->param[1]) * sizeof *bias);
    }
    int before = enter_one_thread();
    if (!hu_dnn_pack(call->state, pass, call->param[0], bias, call->workspace))
        memset(call->workspace, 0xff, bytes);
    leave_one_thread(before);
}

/* ---- run ---- */

static bool forward_by_dnn(const hu_op_call *call) {
    int before = enter_one_thread();
    bool done = hu_dnn_forward(call);
    leave_one_thread(before);
    return done;
}

void hu_product_run_forward(const hu_op_call *call) {
    hu_product product = hu_product_of(call->info);
    bool done = hu_accumulates(call->info, HU_PRODUCT_FORWARD)
                    ? hu_accumulate_forward(call, &product)
                    : forward_by_dnn(call);
    if (!done) fill_with_nan(call->out[0], call->count * hu_product_out(&product));
}

static bool input_grad_by_dnn(const hu_op_call *call) {
    int before = enter_one_thread();
    bool done = hu_dnn_data_gradient(call);
    leave_one_thread(before);
    return done;
}

static bool weight_grad_by_dnn(const hu_op_call *call) {
    int before = enter_one_thread();
    bool done = hu_dnn_weight_gradient(call);
    leave_one_thread(before);
    return done;
}

static void fill_dparams_with_nan(const hu_op_call *call) {
    for (int i = 0; i < call->info->n_params; i++)
        if (call->dparam[i])
            fill_with_nan(call->dparam[i], hu_shape_elements(&call->info->param[i]));
}

void hu_product_run_backward(const hu_op_call *call) {
    const hu_node_info *info = call->info;
    hu_product product = hu_product_of(info);
    bool done = true;
    if (call->din[0])
        done = hu_accumulates(info, HU_PRODUCT_INPUT_GRAD)
                   ? hu_accumulate_input_grad(call, &product)
                   : input_grad_by_dnn(call);
    if (!done) fill_with_nan(call->din[0], call->count * hu_product_in(&product));
    if (hu_product_whole(info) || !call->dparam[0]) return;
    if (!weight_grad_by_dnn(call)) fill_dparams_with_nan(call);
}

bool hu_product_whole(const hu_node_info *info) {
    return hu_accumulates(info, HU_PRODUCT_WEIGHT_GRAD);
}

void hu_product_accumulate(const hu_op_call *call) {
    hu_product product = hu_product_of(call->info);
    if (!hu_accumulate_weight_grad(call, &product, behind_packed(call, HU_BACKWARD)))
        fill_dparams_with_nan(call);
}
