#include "op/product.h"

#include <omp.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "op/accumulate.h"
#include "op/dense.h"
#include "op/dnn.h"

enum { ALIGNMENT = 64 };

/* Who computes the products without a chosen accumulator: one of the two, or NULL both. */
typedef struct engines {
    hu_dense *dense;
    hu_dnn *dnn;
} engines;

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

static bool needs_data_gradient(const hu_node_info *info) {
    return info->need_din[0] && !hu_accumulates(info, HU_PRODUCT_INPUT_GRAD);
}

static bool needs_engine(const hu_node_info *info) {
    return !hu_accumulates(info, HU_PRODUCT_FORWARD) ||
           !hu_accumulates(info, HU_PRODUCT_WEIGHT_GRAD) || needs_data_gradient(info);
}

static hu_status create_dnn(const hu_node_info *info, const hu_product *product, hu_dnn **dnn) {
    int before = enter_one_thread();
    hu_status st = hu_dnn_create(info, product, dnn);
    leave_one_thread(before);
    return st;
}

/* oneDNN 2.6 computes wrong weight gradients of strided 1x1 convolutions with fewer channels than a
 * vector has lanes; 16: also those of processors with AVX-512. */
static bool is_wrong_in_dnn(const hu_product *p) {
    enum { MOST_LANES = 16 };
    return p->kernel_h == 1 && p->kernel_w == 1 && (p->stride_h > 1 || p->stride_w > 1) &&
           p->in_c < MOST_LANES;
}

static bool is_by_dnn(const hu_node_info *info, const hu_product *p) {
    return !hu_dense_can(p) || (info->by_dnn && !is_wrong_in_dnn(p));
}

hu_status hu_product_create(const hu_node_info *info, void **state) {
    hu_product product = hu_product_of(info);
    void *block;
    *state = NULL;
    hu_status st = hu_accumulate_plan(info, &product);
    if (st != HU_OK || !needs_engine(info)) return st;
    st = hu_alloc(sizeof(engines), &block);
    if (st != HU_OK) return st;
    engines *made = block;
    *made = (engines){0};
    st = is_by_dnn(info, &product) ? create_dnn(info, &product, &made->dnn)
                                   : hu_dense_create(&product, info->by_winograd, &made->dense);
    if (st == HU_OK)
        *state = made;
    else
        hu_free(made);
    return st;
}

hu_status hu_product_prepare(const hu_node_info *info, void *state, int64_t count) {
    const engines *by = state;
    (void)info;
    if (!by || !by->dnn) return HU_OK;
    int before = enter_one_thread();
    hu_status st = hu_dnn_prepare(by->dnn, count);
    leave_one_thread(before);
    return st;
}

void hu_product_release(void *state) {
    engines *by = state;
    if (!by) return;
    hu_dense_free(by->dense);
    hu_dnn_release(by->dnn);
    hu_free(by);
}

/* ---- sizes ---- */

/* Behind oneDNN's scratch: gradients that are then added to those of earlier chunks. */
static size_t dnn_scratch_bytes(const hu_node_info *info, const hu_dnn *dnn, hu_pass pass) {
    size_t bytes = hu_dnn_scratch_bytes(dnn, pass), elements = 0;
    if (pass == HU_FORWARD || hu_accumulates(info, HU_PRODUCT_WEIGHT_GRAD)) return bytes;
    for (int i = 0; i < info->n_params; i++) elements += (size_t)hu_shape_elements(&info->param[i]);
    return hu_round_up(bytes, ALIGNMENT) + elements * sizeof(float);
}

/* The products of a pass take turns in the same scratch. */
static size_t dense_scratch_bytes(const hu_node_info *info, const hu_product *product,
                                  const hu_dense *dense, hu_pass pass) {
    size_t most = 0;
    for (int role = 0; role < HU_PRODUCT_ROLES; role++) {
        bool is_forward = role == HU_PRODUCT_FORWARD;
        if (is_forward != (pass == HU_FORWARD) || hu_accumulates(info, (hu_product_role)role))
            continue;
        size_t bytes = hu_dense_scratch_bytes(product, dense, (hu_product_role)role, info->chunk);
        if (bytes > most) most = bytes;
    }
    return most;
}

size_t hu_product_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    hu_product product = hu_product_of(info);
    const engines *by = state;
    size_t accumulated = hu_accumulate_scratch_bytes(info, &product, pass), bytes = 0;
    if (by && by->dnn)
        bytes = dnn_scratch_bytes(info, by->dnn, pass);
    else if (by)
        bytes = dense_scratch_bytes(info, &product, by->dense, pass);
    return accumulated > bytes ? accumulated : bytes;
}

static size_t packed_bytes(const hu_node_info *info, const engines *by, hu_pass pass) {
    if (!by) return 0;
    if (by->dnn) return hu_dnn_packed_bytes(by->dnn, pass);
    if (pass == HU_BACKWARD)
        return needs_data_gradient(info) ? hu_dense_packed_bytes(by->dense, pass) : 0;
    return hu_accumulates(info, HU_PRODUCT_FORWARD) ? 0 : hu_dense_packed_bytes(by->dense, pass);
}

/* Workspace: the packed weights and behind them, in the forward pass by oneDNN, the bias
 * (param[1]), in the backward pass what the weight gradient keeps from chunk to chunk. */
static void *behind_packed(const hu_op_call *call, hu_pass pass) {
    return (char *)call->workspace +
           hu_round_up(packed_bytes(call->info, call->state, pass), ALIGNMENT);
}

size_t hu_product_workspace_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    hu_product product = hu_product_of(info);
    const engines *by = state;
    size_t packed = packed_bytes(info, by, pass), behind = 0;
    if (pass == HU_BACKWARD)
        behind = hu_accumulate_workspace_bytes(info, &product);
    else if (packed > 0 && by->dnn && info->n_params > 1)
        behind = (size_t)hu_shape_elements(&info->param[1]) * sizeof(float);
    return behind ? hu_round_up(packed, ALIGNMENT) + behind : packed;
}

static void pack_for_dnn(const hu_op_call *call, hu_pass pass, hu_dnn *dnn, size_t bytes) {
    float *bias = NULL;
    if (pass == HU_FORWARD && call->info->n_params > 1) {
        bias = behind_packed(call, pass);
        memcpy(bias, call->param[1],
               (size_t)hu_shape_elements(&call->info->param[1]) * sizeof *bias);
    }
    int before = enter_one_thread();
    if (!hu_dnn_pack(dnn, pass, call->param[0], bias, call->workspace))
        memset(call->workspace, 0xff, bytes);
    leave_one_thread(before);
}

void hu_product_begin(const hu_op_call *call, hu_pass pass) {
    const engines *by = call->state;
    size_t bytes = packed_bytes(call->info, by, pass);
    if (bytes == 0) return;
    if (by->dnn)
        pack_for_dnn(call, pass, by->dnn, bytes);
    else
        hu_dense_pack(by->dense, pass, call->param, call->info->n_params, call->workspace);
}

const char *hu_product_impl(const hu_node_info *info, void *state, hu_pass pass) {
    const engines *by = state;
    bool is_accumulated = pass == HU_FORWARD && hu_accumulates(info, HU_PRODUCT_FORWARD);
    return by && by->dnn && !is_accumulated ? hu_dnn_impl(by->dnn, pass) : "";
}

/* ---- run ---- */

/* One of oneDNN's products, which expects its own state. */
static bool run_dnn(const hu_op_call *call, hu_dnn *dnn, bool (*product)(const hu_op_call *)) {
    hu_op_call inner = *call;
    inner.state = dnn;
    int before = enter_one_thread();
    bool done = product(&inner);
    leave_one_thread(before);
    return done;
}

static bool forward(const hu_op_call *call, const hu_product *product) {
    const engines *by = call->state;
    if (hu_accumulates(call->info, HU_PRODUCT_FORWARD)) return hu_accumulate_forward(call, product);
    if (by->dnn) return run_dnn(call, by->dnn, hu_dnn_forward);
    hu_dense_forward(call, by->dense);
    return true;
}

void hu_product_run_forward(const hu_op_call *call) {
    hu_product product = hu_product_of(call->info);
    if (!forward(call, &product))
        fill_with_nan(call->out[0], call->count * hu_product_out(&product));
}

static bool data_gradient(const hu_op_call *call, const hu_product *product) {
    const engines *by = call->state;
    if (hu_accumulates(call->info, HU_PRODUCT_INPUT_GRAD))
        return hu_accumulate_input_grad(call, product);
    if (by->dnn) return run_dnn(call, by->dnn, hu_dnn_data_gradient);
    hu_dense_data_gradient(call, by->dense);
    return true;
}

/* Into scratch, and from there added to the gradients of earlier chunks. */
static bool add_dnn_gradient(const hu_op_call *call, hu_dnn *dnn) {
    const hu_node_info *info = call->info;
    void *behind =
        (char *)call->scratch + hu_round_up(hu_dnn_scratch_bytes(dnn, HU_BACKWARD), ALIGNMENT);
    float *place = behind, *part[HU_MAX_PARAMS];
    hu_op_call inner = *call;
    for (int i = 0; i < info->n_params; i++) {
        part[i] = place;
        place += hu_shape_elements(&info->param[i]);
    }
    inner.dparam = part;
    if (!run_dnn(&inner, dnn, hu_dnn_weight_gradient)) return false;
    for (int i = 0; i < info->n_params; i++)
        for (int64_t j = 0; call->dparam[i] && j < hu_shape_elements(&info->param[i]); j++)
            call->dparam[i][j] += part[i][j];
    return true;
}

static bool weight_gradient(const hu_op_call *call, const hu_product *product) {
    const engines *by = call->state;
    if (by->dnn)
        return call->adds_dparam ? add_dnn_gradient(call, by->dnn)
                                 : run_dnn(call, by->dnn, hu_dnn_weight_gradient);
    hu_dense_weight_gradient(call, product, by->dense);
    return true;
}

static void fill_dparams_with_nan(const hu_op_call *call) {
    for (int i = 0; i < call->info->n_params; i++)
        if (call->dparam[i])
            fill_with_nan(call->dparam[i], hu_shape_elements(&call->info->param[i]));
}

void hu_product_run_backward(const hu_op_call *call) {
    hu_product product = hu_product_of(call->info);
    if (call->din[0] && !data_gradient(call, &product))
        fill_with_nan(call->din[0], call->count * hu_product_in(&product));
    if (hu_product_whole(call->info) || !call->dparam[0]) return;
    if (!weight_gradient(call, &product)) fill_dparams_with_nan(call);
}

bool hu_product_whole(const hu_node_info *info) {
    return hu_accumulates(info, HU_PRODUCT_WEIGHT_GRAD);
}

void hu_product_accumulate(const hu_op_call *call) {
    hu_product product = hu_product_of(call->info);
    if (!hu_accumulate_weight_grad(call, &product, behind_packed(call, HU_BACKWARD)))
        fill_dparams_with_nan(call);
}
