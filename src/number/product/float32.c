#include "product/float32.h"
#include "kernel/conv/conv.h"
#include "kernel/conv/depthwise.h"

#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "kernel/conv/conv.h"
#include "kernel/conv/depthwise.h"
#include "kernel/conv/winograd.h"
#include "kernel/reduce/channel.h"
#include "product/call.h"

/* The products of one group, or depthwise ones. */
typedef struct hu_dense {
    hu_conv conv;
    hu_depthwise *depthwise; /* of a depthwise convolution */
    hu_conv_plan *plan;      /* of another; both NULL: by Winograd's algorithm */
    hu_conv_plan *row; /* where pixels are rows that samples may not all have: of one row, with
                          the packed weights and the sums of all; else NULL */
} hu_dense;

struct hu_grouped {
    hu_product part; /* one group */
    int64_t groups;  /* parts that are computed one after the other */
    hu_dense *dense; /* of the part */
};

static void hu_dense_free(hu_dense *dense);

/* ---- dense ---- */

/* Products of one group or depthwise, by kernel/conv, in float32 and an order
 * of sums that is part of their definition (kernel/conv/conv.h, kernel/conv/depthwise.h,
 * kernel/conv/winograd.h). The bias gradient of a call is summed as in the op bias. No call fails
 * or allocates.
 */

static bool is_depthwise(const hu_product *p) {
    return p->groups > 1 && p->groups == p->in_c && p->groups == p->out_c;
}

/* True if kernel/conv can compute the product: one group, or as many as channels on both sides. */
static bool hu_dense_can(const hu_product *p) {
    return p->groups == 1 || is_depthwise(p);
}

static bool is_of_rows(const hu_product *p) {
    return p->kernel_h == 1 && p->kernel_w == 1 && p->stride_h == 1 && p->stride_w == 1 &&
           p->pad_h == 0 && p->pad_w == 0 && p->in_w == 1 && p->in_h > 1 && p->out_h == p->in_h;
}

static hu_status create_row(hu_dense *dense) {
    hu_conv one = dense->conv;
    one.in_h = one.out_h = 1;
    return hu_conv_plan_create(&one, &dense->row);
}

static bool is_by_winograd(const hu_conv *conv, hu_product_engine engine) {
    if (engine == HU_ENGINE_FASTEST) return hu_winograd_pays(conv);
    return engine == HU_ENGINE_WINOGRAD && hu_winograd_fits(conv);
}

/* HU_ERR_MEMORY, HU_ERR_LIMIT; hu_dense_can must hold. engine: not HU_ENGINE_ONEDNN. Owner frees
 * with hu_dense_free (NULL is allowed). */
static hu_status hu_dense_create(const hu_product *p, hu_product_engine engine, hu_dense **dense) {
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
    else if (!is_by_winograd(&made->conv, engine))
        st = hu_conv_plan_create(&made->conv, &made->plan);
    if (st == HU_OK && made->plan && is_of_rows(p)) st = create_row(made);
    if (st == HU_OK) return st;
    hu_dense_free(made);
    *dense = NULL;
    return st;
}

static void hu_dense_free(hu_dense *dense) {
    if (!dense) return;
    hu_conv_plan_free(dense->plan);
    hu_conv_plan_free(dense->row);
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

/* Scratch of one of the products in a call of up to count samples. */
static size_t hu_dense_scratch_bytes(const hu_product *p, const hu_dense *dense,
                                     hu_product_role role, int64_t count) {
    if (role == HU_PRODUCT_WEIGHT_GRAD) {
        size_t weights = weight_scratch_bytes(dense, count), bias = bias_scratch_bytes(p);
        return weights > bias ? weights : bias;
    }
    if (dense->plan || dense->depthwise) return 0;
    return role == HU_PRODUCT_FORWARD ? hu_winograd_forward_scratch_bytes(&dense->conv)
                                      : hu_winograd_data_scratch_bytes(&dense->conv);
}

/* FORWARD and INPUT_GRAD read packed weights, as hu_dense_pack has left them for this role; 64-byte
 * aligned. bias NULL: none. */
static size_t hu_dense_packed_bytes(const hu_dense *dense, hu_product_role role) {
    const hu_conv_plan *plan = dense->plan;
    if (role == HU_PRODUCT_WEIGHT_GRAD) return 0;
    if (dense->depthwise) return hu_depthwise_packed_bytes(dense->depthwise);
    if (role == HU_PRODUCT_INPUT_GRAD)
        return plan ? hu_conv_data_packed_bytes(plan) : hu_winograd_data_packed_bytes(&dense->conv);
    return plan ? hu_conv_forward_packed_bytes(plan)
                : hu_winograd_forward_packed_bytes(&dense->conv);
}

/* ---- products ---- */

static void hu_dense_pack(const hu_dense *dense, hu_product_role role, const float *w,
                          const float *bias, void *packed) {
    const hu_conv_plan *plan = dense->plan;
    bool is_forward = role == HU_PRODUCT_FORWARD;
    if (dense->depthwise)
        hu_depthwise_pack(dense->depthwise, w, is_forward ? bias : NULL, packed);
    else if (plan && is_forward)
        hu_conv_pack_forward(plan, w, bias, packed);
    else if (plan)
        hu_conv_pack_data(plan, w, packed);
    else if (is_forward)
        hu_winograd_pack_forward(&dense->conv, w, bias, packed);
    else
        hu_winograd_pack_data(&dense->conv, w, packed);
}

/* x, packed w and bias -> y */
static void forward(const hu_dense *dense, const hu_product_call *call) {
    if (dense->depthwise)
        hu_depthwise_forward(dense->depthwise, call->count, call->x, call->packed, call->y);
    else if (dense->plan)
        hu_conv_forward(dense->plan, call->count, call->x, call->packed, call->y);
    else
        hu_winograd_forward(&dense->conv, call->count, call->x, call->packed, call->scratch,
                            call->y);
}

/* dy, packed w -> dx */
static void input_gradient(const hu_dense *dense, const hu_product_call *call) {
    if (dense->depthwise)
        hu_depthwise_data_gradient(dense->depthwise, call->count, call->dy, call->packed, call->dx);
    else if (dense->plan)
        hu_conv_data_gradient(dense->plan, call->count, call->dy, call->packed, call->dx);
    else
        hu_winograd_data_gradient(&dense->conv, call->count, call->dy, call->packed, call->scratch,
                                  call->dx);
}

/* x, dy -> dw, db */
static void weight_gradient(const hu_dense *dense, const hu_product *p,
                            const hu_product_call *call) {
    if (dense->depthwise)
        hu_depthwise_weight_gradient(dense->depthwise, call->count, call->x, call->dy, call->adds,
                                     call->scratch, call->dw);
    else if (dense->plan)
        hu_conv_weight_gradient(dense->plan, call->count, call->x, call->dy, call->adds,
                                call->scratch, call->dw);
    else
        hu_winograd_weight_gradient(&dense->conv, call->count, call->x, call->dy, call->adds,
                                    call->scratch, call->dw);
    if (p->has_bias && call->db)
        hu_channel_totals(call->count * p->out_h * p->out_w, p->out_c, call->dy, call->adds,
                          call->scratch, call->db);
}

/* FORWARD and INPUT_GRAD of the rows that are present, as samples of one row. After a sample that
 * has all of them those of the next are neighbours. */
static void run_there(const hu_dense *dense, const hu_product *product, hu_product_role role,
                      const hu_product_call *call) {
    for (int64_t s = 0, rows; s < call->count;) {
        const hu_product_call one = hu_call_of_sample(product, call, s);
        int64_t all = 0;
        do {
            rows = hu_rows_valid(product, call, call->first + s++);
            all += rows;
        } while (s < call->count && rows == product->out_h);
        rows = all;
        if (role == HU_PRODUCT_FORWARD)
            hu_conv_forward(dense->row, rows, one.x, one.packed, one.y);
        else
            hu_conv_data_gradient(dense->row, rows, one.dy, one.packed, one.dx);
    }
}

/* product: the one that dense was created for. */
static void hu_dense_run(const hu_dense *dense, const hu_product *product, hu_product_role role,
                         const hu_product_call *call) {
    if (call->lengths && dense->row && role != HU_PRODUCT_WEIGHT_GRAD)
        run_there(dense, product, role, call);
    else if (role == HU_PRODUCT_FORWARD)
        forward(dense, call);
    else if (role == HU_PRODUCT_INPUT_GRAD)
        input_gradient(dense, call);
    else
        weight_gradient(dense, product, call);
}

/* ---- grouped ---- */

/* Products of any number of groups by kernel/conv. Every group is a product of
 * its own (float32.h) on its share of the channels, in the order of sums that it has alone; one
 * group and depthwise convolutions are handed on as they are. No call fails or allocates but
 * create.
 */

enum { ALIGNMENT = 64 };

hu_status hu_grouped_create(const hu_product *p, hu_product_engine engine, hu_grouped **grouped) {
    hu_status st = HU_NEW(grouped);
    if (st != HU_OK) return st;
    hu_grouped *made = *grouped;
    *made = (hu_grouped){.part = *p, .groups = hu_dense_can(p) ? 1 : p->groups};
    if (made->groups > 1) {
        made->part.in_c = p->in_c / p->groups;
        made->part.out_c = p->out_c / p->groups;
        made->part.groups = 1;
    }
    st = hu_dense_create(&made->part, engine, &made->dense);
    if (st == HU_OK) return st;
    hu_grouped_free(made);
    *grouped = NULL;
    return st;
}

void hu_grouped_free(hu_grouped *grouped) {
    if (!grouped) return;
    hu_dense_free(grouped->dense);
    hu_free(grouped);
}

bool hu_grouped_is_by_winograd(const hu_grouped *grouped) {
    return !grouped->dense->plan && !grouped->dense->depthwise;
}

/* ---- sizes ---- */

/* A group's packed weights begin on a boundary of their own. */
static size_t packed_step(const hu_grouped *g, hu_product_role role) {
    size_t bytes = hu_dense_packed_bytes(g->dense, role);
    return g->groups > 1 ? hu_round_up(bytes, ALIGNMENT) : bytes;
}

size_t hu_grouped_packed_bytes(const hu_grouped *g, hu_product_role role) {
    return (size_t)g->groups * packed_step(g, role);
}

/* Scratch of several groups: a group's channels of x or dx, after them those of y or dy, after
 * them what the product of one group needs. */
static size_t in_bytes(const hu_grouped *g, int64_t count) {
    return hu_round_up((size_t)(count * hu_product_in(&g->part)) * sizeof(float), ALIGNMENT);
}

static size_t out_bytes(const hu_grouped *g, int64_t count) {
    return hu_round_up((size_t)(count * hu_product_out(&g->part)) * sizeof(float), ALIGNMENT);
}

size_t hu_grouped_scratch_bytes(const hu_grouped *g, hu_product_role role, int64_t count) {
    size_t bytes = hu_dense_scratch_bytes(&g->part, g->dense, role, count);
    return g->groups > 1 ? in_bytes(g, count) + out_bytes(g, count) + bytes : bytes;
}

/* ---- products ---- */

/* weights [groups][out_c of a group, kernel_h, kernel_w, in_c of a group] */
void hu_grouped_pack(const hu_grouped *g, hu_product_role role, const float *w, const float *bias,
                     void *packed) {
    for (int64_t k = 0; k < g->groups; k++)
        hu_dense_pack(g->dense, role, w + k * hu_product_weights(&g->part),
                      bias ? bias + k * g->part.out_c : NULL,
                      (char *)packed + (size_t)k * packed_step(g, role));
}

/* Channels of one group, side by side: all [pixels, groups x channels] -> one [pixels, channels].
 */
static void take(int64_t pixels, int64_t channels, int64_t step, const float *all, float *one) {
    for (int64_t i = 0; i < pixels; i++, all += step, one += channels)
        memcpy(one, all, (size_t)channels * sizeof *one);
}

/* The way back. */
static void put(int64_t pixels, int64_t channels, int64_t step, const float *one, float *all) {
    for (int64_t i = 0; i < pixels; i++, all += step, one += channels)
        memcpy(all, one, (size_t)channels * sizeof *one);
}

/* Pixels of images that are given and made. */
static int64_t in_pixels(const hu_grouped *g, const hu_product_call *call) {
    return call->count * g->part.in_h * g->part.in_w;
}

static int64_t out_pixels(const hu_grouped *g, const hu_product_call *call) {
    return call->count * g->part.out_h * g->part.out_w;
}

/* Group k of the call; its x and dy are copied. What it makes goes to the scratch, but for
 * gradients of parameters, which lie side by side. */
static hu_product_call group_call(const hu_grouped *g, hu_product_role role,
                                  const hu_product_call *call, int64_t k) {
    const hu_product *p = &g->part;
    hu_product_call one = *call;
    char *in = call->scratch, *out = in + in_bytes(g, call->count);
    one.scratch = out + out_bytes(g, call->count);
    one.packed = (char *)call->packed + (size_t)k * packed_step(g, role);
    one.x = one.dx = (float *)(void *)in;
    one.dy = one.y = (float *)(void *)out;
    if (role != HU_PRODUCT_INPUT_GRAD)
        take(in_pixels(g, call), p->in_c, g->groups * p->in_c, call->x + k * p->in_c, one.dx);
    if (role != HU_PRODUCT_FORWARD)
        take(out_pixels(g, call), p->out_c, g->groups * p->out_c, call->dy + k * p->out_c, one.y);
    if (role != HU_PRODUCT_WEIGHT_GRAD) return one;
    one.dw += k * hu_product_weights(p);
    if (one.db) one.db += k * p->out_c;
    return one;
}

void hu_grouped_run(const hu_grouped *g, hu_product_role role, const hu_product_call *call) {
    const hu_product *p = &g->part;
    if (g->groups == 1) {
        hu_dense_run(g->dense, p, role, call);
        return;
    }
    for (int64_t k = 0; k < g->groups; k++) {
        hu_product_call one = group_call(g, role, call, k);
        hu_dense_run(g->dense, p, role, &one);
        if (role == HU_PRODUCT_FORWARD)
            put(out_pixels(g, call), p->out_c, g->groups * p->out_c, one.y, call->y + k * p->out_c);
        if (role == HU_PRODUCT_INPUT_GRAD)
            put(in_pixels(g, call), p->in_c, g->groups * p->in_c, one.dx, call->dx + k * p->in_c);
    }
}
