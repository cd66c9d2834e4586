#include "product/grouped.h"

#include <string.h>

#include "base/checked.h"
#include "base/memory.h"

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

/* Scratch of several groups: a group's channels of x or dx, behind them those of y or dy, behind
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
