#include "product/product.h"

#include <omp.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "kernel/reduce/channel.h"
#include "product/accumulate.h"
#include "product/call.h"
#include "product/float32.h"
#include "product/onednn.h"

enum { ALIGNMENT = 64 };

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
