#include "product/product.h"

#include <omp.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "kernel/conv/conv.h"
#include "kernel/conv/depthwise.h"
#include "kernel/conv/winograd.h"
#include "kernel/reduce/channel.h"
#include "product/accumulate.h"
#include "product/call.h"
#include "product/onednn.h"

/* ---- products in float32, of one group or several, in a fixed order of sums ---- */

/* Products of any number of groups by kernel/conv: every group is a product of its own on its share
 * of the channels, in the order of sums that it has alone, which is part of the definition
 * (kernel/conv/conv.h, depthwise.h, winograd.h). The bias gradient of a call is summed as in the op
 * bias. No call fails or allocates but create. */
typedef struct hu_grouped hu_grouped;

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

static void hu_grouped_free(hu_grouped *grouped) {
    if (!grouped) return;
    hu_dense_free(grouped->dense);
    hu_free(grouped);
}

/* HU_ERR_MEMORY, HU_ERR_LIMIT. engine: not HU_ENGINE_ONEDNN. Owner frees with hu_grouped_free
 * (NULL is allowed). */
static hu_status hu_grouped_create(const hu_product *p, hu_product_engine engine,
                                   hu_grouped **grouped) {
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

/* Whether Winograd's algorithm computes its products. */
static bool hu_grouped_is_by_winograd(const hu_grouped *grouped) {
    return !grouped->dense->plan && !grouped->dense->depthwise;
}

/* ---- sizes ---- */

/* A group's packed weights begin on a boundary of their own. */
static size_t packed_step(const hu_grouped *g, hu_product_role role) {
    size_t bytes = hu_dense_packed_bytes(g->dense, role);
    return g->groups > 1 ? hu_round_up(bytes, ALIGNMENT) : bytes;
}

static size_t hu_grouped_packed_bytes(const hu_grouped *g, hu_product_role role) {
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

/* Sizes, packing and products as in float32.h. */
static size_t hu_grouped_scratch_bytes(const hu_grouped *g, hu_product_role role, int64_t count) {
    size_t bytes = hu_dense_scratch_bytes(&g->part, g->dense, role, count);
    return g->groups > 1 ? in_bytes(g, count) + out_bytes(g, count) + bytes : bytes;
}

/* ---- products ---- */

/* weights [groups][out_c of a group, kernel_h, kernel_w, in_c of a group] */
static void hu_grouped_pack(const hu_grouped *g, hu_product_role role, const float *w,
                            const float *bias, void *packed) {
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

static void hu_grouped_run(const hu_grouped *g, hu_product_role role, const hu_product_call *call) {
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

/* ---- product ---- */

/* Inside, roles and shapes are those of facts.geometry: a transposed layer is turned round at the
 * door, and its bias, which oneDNN and kernel/conv do not know, is computed there. */
struct hu_products {
    hu_product_facts facts; /* geometry.has_bias is false where the door adds the bias */
    bool door_has_bias;
    /* Products without a chosen accumulator: one of the two, or both NULL if there is none. */
    hu_grouped *own;
    hu_dnn *dnn;
};

/* oneDNN must see one thread (product/onednn.h). The setting is the calling thread's own. Gives
 * what leave_one_thread restores. */
static int enter_one_thread(void) {
    int before = omp_get_max_threads();
    omp_set_num_threads(1);
    return before;
}

static void leave_one_thread(int before) {
    omp_set_num_threads(before);
}

static void fill_with_nan(float *x, int64_t count) {
    if (x) memset(x, 0xff, (size_t)count * sizeof *x);
}

/* Is the product wanted, and in float32? */
static bool is_plain(const hu_product_facts *facts, hu_product_role role) {
    return facts->needs[role] && !hu_product_is_accumulated(facts, role);
}

/* Products with chosen accumulators need neither kernel/conv nor oneDNN. */
static bool needs_engine(const hu_product_facts *facts) {
    bool needed = false;
    for (int role = 0; role < HU_PRODUCT_ROLES; role++)
        needed |= is_plain(facts, (hu_product_role)role);
    return needed;
}

/* ---- life ---- */

/* oneDNN 2.6 computes wrong weight gradients of strided 1x1 convolutions with fewer channels than a
 * vector has lanes; 16: also those of processors with AVX-512. */
static bool is_wrong_in_dnn(const hu_product *p) {
    enum { MOST_LANES = 16 };
    return p->kernel_h == 1 && p->kernel_w == 1 && (p->stride_h > 1 || p->stride_w > 1) &&
           p->in_c < MOST_LANES;
}

static bool is_by_dnn(const hu_product_facts *facts) {
    return facts->engine == HU_ENGINE_ONEDNN && !is_wrong_in_dnn(&facts->geometry);
}

static hu_status create_engine(hu_products *made) {
    const hu_product_facts *facts = &made->facts;
    if (!needs_engine(facts)) return HU_OK;
    if (!is_by_dnn(facts)) return hu_grouped_create(&facts->geometry, facts->engine, &made->own);
    int before = enter_one_thread();
    hu_status st = hu_dnn_create(facts, &made->dnn);
    leave_one_thread(before);
    return st;
}

static hu_product_role inner_role(const hu_products *products, hu_product_role role) {
    return hu_product_swapped(products->facts.transposed, role);
}

/* The facts of a layer in the terms of its geometry. */
static hu_products turned(const hu_product_facts *facts) {
    hu_products made = {.facts = *facts};
    if (!facts->transposed) return made;
    made.door_has_bias = facts->geometry.has_bias;
    made.facts.geometry.has_bias = false;
    made.facts.needs[HU_PRODUCT_FORWARD] = facts->needs[HU_PRODUCT_INPUT_GRAD];
    made.facts.needs[HU_PRODUCT_INPUT_GRAD] = facts->needs[HU_PRODUCT_FORWARD];
    return made;
}

hu_status hu_products_create(const hu_product_facts *facts, hu_products **products) {
    hu_products *made;
    *products = NULL;
    hu_status st = hu_accumulate_plan(facts);
    if (st != HU_OK) return st;
    st = HU_NEW(&made);
    if (st != HU_OK) return st;
    *made = turned(facts);
    st = create_engine(made);
    if (st == HU_OK)
        *products = made;
    else
        hu_free(made);
    return st;
}

hu_status hu_products_prepare(hu_products *products, int64_t count) {
    if (!products->dnn) return HU_OK;
    int before = enter_one_thread();
    hu_status st = hu_dnn_prepare(products->dnn, count);
    leave_one_thread(before);
    return st;
}

void hu_products_free(hu_products *products) {
    if (!products) return;
    hu_grouped_free(products->own);
    hu_dnn_release(products->dnn);
    hu_free(products);
}

/* ---- sizes ---- */

static size_t parameter_elements(const hu_product *p) {
    return (size_t)(hu_product_weights(p) + (p->has_bias ? p->out_c : 0));
}

/* After oneDNN's scratch: a weight gradient that is then added to that of earlier chunks. */
static size_t dnn_scratch_bytes(const hu_products *products, hu_product_role role) {
    const hu_product_facts *facts = &products->facts;
    size_t bytes = hu_dnn_scratch_bytes(products->dnn, role);
    if (role != HU_PRODUCT_WEIGHT_GRAD || !is_plain(facts, role)) return bytes;
    return hu_round_up(bytes, ALIGNMENT) + parameter_elements(&facts->geometry) * sizeof(float);
}

/* Channels of a bias that the door computes. */
static int64_t door_channels(const hu_products *products) {
    return products->facts.geometry.in_c;
}

static size_t door_scratch_bytes(const hu_products *products, hu_product_role role) {
    if (!products->door_has_bias || role != HU_PRODUCT_WEIGHT_GRAD) return 0;
    return hu_channel_total_scratch_bytes(door_channels(products));
}

static size_t inner_scratch_bytes(const hu_products *products, hu_product_role role) {
    const hu_product_facts *facts = &products->facts;
    size_t accumulated = hu_accumulate_scratch_bytes(facts, role), bytes = 0;
    if (products->dnn)
        bytes = dnn_scratch_bytes(products, role);
    else if (products->own && !hu_product_is_accumulated(facts, role))
        bytes = hu_grouped_scratch_bytes(products->own, role, facts->chunk);
    return accumulated > bytes ? accumulated : bytes;
}

size_t hu_products_scratch_bytes(const hu_products *products, hu_product_role role) {
    size_t inner = inner_scratch_bytes(products, inner_role(products, role));
    size_t door = door_scratch_bytes(products, role);
    return inner > door ? inner : door;
}

/* Of the weights alone. */
static size_t packed_weight_bytes(const hu_products *products, hu_product_role role) {
    if (products->dnn) return hu_dnn_packed_bytes(products->dnn, role);
    if (!products->own || !is_plain(&products->facts, role)) return 0;
    return hu_grouped_packed_bytes(products->own, role);
}

/* oneDNN reads the bias after the packed weights. */
static bool packs_bias(const hu_products *products, hu_product_role role) {
    return products->dnn && role == HU_PRODUCT_FORWARD && products->facts.geometry.has_bias;
}

size_t hu_products_packed_bytes(const hu_products *products, hu_product_role asked) {
    hu_product_role role = inner_role(products, asked);
    size_t bytes = packed_weight_bytes(products, role);
    if (bytes == 0 || !packs_bias(products, role)) return bytes;
    size_t bias_bytes = (size_t)products->facts.geometry.out_c * sizeof(float);
    return hu_round_up(bytes, ALIGNMENT) + bias_bytes;
}

size_t hu_products_carry_bytes(const hu_products *products) {
    return hu_accumulate_carry_bytes(&products->facts);
}

const char *hu_products_impl(const hu_products *products, hu_product_role asked) {
    hu_product_role role = inner_role(products, asked);
    if (hu_product_is_accumulated(&products->facts, role)) return "";
    if (products->dnn) return hu_dnn_impl(products->dnn, role);
    return products->own && hu_grouped_is_by_winograd(products->own) ? "winograd" : "";
}

/* ---- run ---- */

static void pack_for_dnn(const hu_products *products, hu_product_role role, const float *w,
                         const float *bias, void *packed) {
    size_t bytes = packed_weight_bytes(products, role);
    float *bias_copy = NULL;
    if (packs_bias(products, role)) {
        void *behind = (char *)packed + hu_round_up(bytes, ALIGNMENT);
        bias_copy = behind;
        memcpy(bias_copy, bias, (size_t)products->facts.geometry.out_c * sizeof *bias);
    }
    int before = enter_one_thread();
    if (!hu_dnn_pack(products->dnn, role, w, bias_copy, packed)) memset(packed, 0xff, bytes);
    leave_one_thread(before);
}

void hu_products_pack(const hu_products *products, hu_product_role asked, const float *w,
                      const float *bias, void *packed) {
    hu_product_role role = inner_role(products, asked);
    if (packed_weight_bytes(products, role) == 0) return;
    if (!products->facts.geometry.has_bias) bias = NULL; /* none, or the door adds it */
    if (products->dnn)
        pack_for_dnn(products, role, w, bias, packed);
    else
        hu_grouped_pack(products->own, role, w, bias, packed);
}

static bool run_dnn(const hu_dnn *dnn, hu_product_role role, const hu_product_call *call) {
    int before = enter_one_thread();
    bool done = hu_dnn_run(dnn, role, call);
    leave_one_thread(before);
    return done;
}

static void add_floats(float *sum, const float *part, int64_t count) {
    for (int64_t i = 0; sum && i < count; i++) sum[i] += part[i];
}

/* oneDNN overwrites its gradients: they are computed in scratch, and from there added to those of
 * earlier chunks. */
static bool add_dnn_gradient(const hu_products *products, const hu_product_call *call) {
    const hu_product *p = &products->facts.geometry;
    size_t used = hu_dnn_scratch_bytes(products->dnn, HU_PRODUCT_WEIGHT_GRAD);
    void *behind = (char *)call->scratch + hu_round_up(used, ALIGNMENT);
    hu_product_call inner = *call;
    inner.dw = behind;
    inner.db = p->has_bias ? inner.dw + hu_product_weights(p) : NULL;
    if (!run_dnn(products->dnn, HU_PRODUCT_WEIGHT_GRAD, &inner)) return false;
    add_floats(call->dw, inner.dw, hu_product_weights(p));
    add_floats(call->db, inner.db, p->out_c);
    return true;
}

static bool run(const hu_products *products, hu_product_role role, const hu_product_call *call) {
    if (hu_product_is_accumulated(&products->facts, role))
        return hu_accumulate_run(&products->facts, role, call);
    if (!products->dnn) {
        hu_grouped_run(products->own, role, call);
        return true;
    }
    if (role == HU_PRODUCT_WEIGHT_GRAD && call->adds) return add_dnn_gradient(products, call);
    return run_dnn(products->dnn, role, call);
}

/* NaN makes the failure visible in the step that met it. */
static void spoil_outputs(const hu_product *p, hu_product_role role, const hu_product_call *call) {
    if (role == HU_PRODUCT_FORWARD) fill_with_nan(call->y, call->count * hu_product_out(p));
    if (role == HU_PRODUCT_INPUT_GRAD) fill_with_nan(call->dx, call->count * hu_product_in(p));
    if (role != HU_PRODUCT_WEIGHT_GRAD) return;
    fill_with_nan(call->dw, hu_product_weights(p));
    if (p->has_bias) fill_with_nan(call->db, p->out_c);
}

static void run_inner(const hu_products *products, hu_product_role role,
                      const hu_product_call *call) {
    if (!run(products, role, call)) spoil_outputs(&products->facts.geometry, role, call);
}

/* The call in the terms of the other layer: what is the output here is the input there. The door
 * computes the bias. */
static hu_product_call turned_call(const hu_product_call *call) {
    hu_product_call turned = *call;
    turned.x = call->dy;
    turned.y = call->dx;
    turned.dy = call->x;
    turned.dx = call->y;
    turned.bias = NULL;
    turned.db = NULL;
    return turned;
}

/* The bias gradient in the order of the weight gradient: through the whole batch where an
 * accumulator is chosen, else per chunk as in the op bias. */
static void door_bias_gradient(const hu_products *products, const hu_product_call *call,
                               int64_t rows) {
    int64_t channels = door_channels(products);
    if (hu_product_is_accumulated(&products->facts, HU_PRODUCT_WEIGHT_GRAD))
        hu_bias_add_rows(call->first == 0, rows, channels, call->dy, call->db);
    else
        hu_channel_totals(rows, channels, call->dy, call->adds, call->scratch, call->db);
}

static void run_turned(const hu_products *products, hu_product_role role,
                       const hu_product_call *call) {
    const hu_product *p = &products->facts.geometry;
    int64_t rows = call->count * p->in_h * p->in_w;
    hu_product_call turned = turned_call(call);
    run_inner(products, inner_role(products, role), &turned);
    if (!products->door_has_bias) return;
    if (role == HU_PRODUCT_FORWARD) hu_bias_add(rows, p->in_c, call->bias, call->y);
    if (role == HU_PRODUCT_WEIGHT_GRAD && call->db) door_bias_gradient(products, call, rows);
}

void hu_products_run(const hu_products *products, hu_product_role role,
                     const hu_product_call *call) {
    if (products->facts.transposed)
        run_turned(products, role, call);
    else
        run_inner(products, role, call);
}
