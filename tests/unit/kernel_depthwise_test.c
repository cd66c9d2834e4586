/* Depthwise convolutions on every instruction set against the definition taken literally, bit for
 * bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/rng.h"
#include "kernel/conv/depthwise.h"
#include "reference/conv.h"

enum { GUARD = 64 };

typedef struct geometry {
    int64_t size_h, size_w, channels, kernel_h, kernel_w, stride, pad, dilation, count;
} geometry;

static void *zeroed(size_t bytes) {
    void *block;
    assert_int_equal(hu_alloc_array(bytes, 1, &block), HU_OK);
    return block;
}

static float *floats(int64_t count) {
    return zeroed((size_t)(count + GUARD) * sizeof(float));
}

static float *random_floats(int64_t count, uint64_t stream) {
    hu_random_key key = {.seed = 12, .stream = stream};
    float *x = floats(count);
    for (int64_t i = 0; i < count; i++) x[i] = 2 * hu_random_uniform(&key, (uint64_t)i) - 1;
    return x;
}

static int64_t out_extent(int64_t in, int64_t kernel, const geometry *g) {
    int64_t room = in + 2 * g->pad - (kernel - 1) * g->dilation - 1;
    return room < 0 ? -1 : room / g->stride + 1;
}

static hu_conv conv_of(const geometry *g) {
    return (hu_conv){.in_h = g->size_h,
                     .in_w = g->size_w,
                     .in_c = g->channels,
                     .out_h = out_extent(g->size_h, g->kernel_h, g),
                     .out_w = out_extent(g->size_w, g->kernel_w, g),
                     .out_c = g->channels,
                     .kernel_h = g->kernel_h,
                     .kernel_w = g->kernel_w,
                     .stride_h = g->stride,
                     .stride_w = g->stride,
                     .pad_h = g->pad,
                     .pad_w = g->pad,
                     .dilation_h = g->dilation,
                     .dilation_w = g->dilation};
}

/* NaNs are equal to each other: which one comes out of two is the processor's. The numbers after
 * the array are still there. */
static void check_same(const geometry *g, const char *what, int64_t count, const float *found,
                       const float *expected) {
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(&found[i], &expected[i], sizeof *found) == 0) continue;
        if (isnan(found[i]) && isnan(expected[i])) continue;
        fail_msg(
            "%s, %s[%lld]: %a, expected %a; %lldx%lldx%lld, kernel %lldx%lld, stride %lld, pad "
            "%lld, dilation %lld, count %lld",
            hu_isa_name(hu_cpu_isa()), what, (long long)i, (double)found[i], (double)expected[i],
            (long long)g->size_h, (long long)g->size_w, (long long)g->channels,
            (long long)g->kernel_h, (long long)g->kernel_w, (long long)g->stride, (long long)g->pad,
            (long long)g->dilation, (long long)g->count);
    }
    for (int64_t i = count; i < count + GUARD; i++) assert_true(found[i] == 7);
}

static float *spoiled(int64_t count) {
    float *x = floats(count);
    for (int64_t i = 0; i < count + GUARD; i++) x[i] = 7;
    return x;
}

typedef struct arrays {
    int64_t xs, ys, ws;
    float *x, *dy, *w, *bias, *dw;
    float *packed;
    void *scratch;
} arrays;

static void check_forward(const geometry *g, const hu_conv *c, const hu_depthwise *plan,
                          const arrays *a, const float *bias) {
    float *expected = spoiled(a->ys), *found = spoiled(a->ys);
    hu_depthwise_pack(plan, a->w, bias, a->packed);
    hu_depthwise_reference_forward(c, g->count, a->x, a->w, bias, expected);
    hu_depthwise_forward(plan, g->count, a->x, a->packed, found);
    check_same(g, "y", a->ys, found, expected);
    hu_free(expected);
    hu_free(found);
}

static void check_data(const geometry *g, const hu_conv *c, const hu_depthwise *plan,
                       const arrays *a) {
    float *expected = spoiled(a->xs), *found = spoiled(a->xs);
    hu_depthwise_pack(plan, a->w, NULL, a->packed);
    hu_depthwise_reference_data(c, g->count, a->dy, a->w, expected);
    hu_depthwise_data_gradient(plan, g->count, a->dy, a->packed, found);
    check_same(g, "dx", a->xs, found, expected);
    hu_free(expected);
    hu_free(found);
}

static void check_weights(const geometry *g, const hu_conv *c, const hu_depthwise *plan,
                          const arrays *a, bool adds) {
    float *expected = spoiled(a->ws), *found = spoiled(a->ws);
    memcpy(expected, a->dw, (size_t)a->ws * sizeof *expected);
    if (adds) memcpy(found, a->dw, (size_t)a->ws * sizeof *found);
    hu_depthwise_reference_weights(c, g->count, a->x, a->dy, adds, expected);
    hu_depthwise_weight_gradient(plan, g->count, a->x, a->dy, adds, a->scratch, found);
    check_same(g, "dw", a->ws, found, expected);
    hu_free(expected);
    hu_free(found);
}

static arrays make_arrays(const geometry *g, const hu_conv *c, const hu_depthwise *plan) {
    arrays a = {.xs = g->count * c->in_h * c->in_w * c->in_c,
                .ys = g->count * c->out_h * c->out_w * c->in_c,
                .ws = c->in_c * c->kernel_h * c->kernel_w};
    a.x = random_floats(a.xs, 1);
    a.dy = random_floats(a.ys, 2);
    a.w = random_floats(a.ws, 3);
    a.bias = random_floats(c->in_c, 4);
    a.dw = random_floats(a.ws, 5);
    a.packed = zeroed(hu_depthwise_packed_bytes(plan));
    a.scratch = zeroed(hu_depthwise_scratch_bytes(plan));
    return a;
}

static void free_arrays(arrays *a) {
    float *all[] = {a->x, a->dy, a->w, a->bias, a->dw, a->packed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hu_free(all[i]);
    hu_free(a->scratch);
}

static void check(const geometry *g, bool is_poisoned) {
    hu_conv c = conv_of(g);
    hu_depthwise *plan;
    if (c.out_h < 1 || c.out_w < 1) return;
    assert_int_equal(hu_depthwise_create(&c, &plan), HU_OK);
    arrays a = make_arrays(g, &c, plan);
    if (is_poisoned) {
        a.x[a.xs / 2] = INFINITY;
        a.x[a.xs / 3] = NAN;
        a.dy[a.ys / 2] = -INFINITY;
        a.dy[a.ys - 1] = NAN;
        a.w[a.ws / 2] = INFINITY;
    }
    for (hu_isa isa = HU_ISA_SCALAR; isa <= hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa(isa);
        check_forward(g, &c, plan, &a, NULL);
        check_forward(g, &c, plan, &a, a.bias);
        check_data(g, &c, plan, &a);
        check_weights(g, &c, plan, &a, false);
        check_weights(g, &c, plan, &a, true);
    }
    free_arrays(&a);
    hu_depthwise_free(plan);
}

static void channels(void **state) {
    static const int64_t numbers[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12,  14, 15,
                                      16, 24, 28, 29, 58, 63, 64, 65, 72, 116, 232};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int64_t stride = 1; stride <= 2; stride++) {
            const geometry g = {7, 6, numbers[i], 3, 3, stride, 1, 1, 3};
            check(&g, false);
        }
}

static void places(void **state) {
    static const int64_t kernels[] = {1, 2, 3, 5, 7};
    (void)state;
    int64_t turn = 0;
    for (int64_t size = 1; size <= 9; size++)
        for (size_t k = 0; k < 5; k++)
            for (int64_t stride = 1; stride <= 3; stride++)
                for (int64_t pad = 0; pad <= 3; pad++)
                    for (int64_t dilation = 1; dilation <= 2; dilation++, turn++) {
                        bool is_square = turn % 2 == 0;
                        const geometry g = {size,
                                            1 + (size + turn) % 9,
                                            1 + turn % 13,
                                            is_square ? 3 : kernels[k],
                                            is_square ? 3 : kernels[(k + (size_t)turn) % 5],
                                            stride,
                                            pad,
                                            dilation,
                                            1 + turn % 3};
                        check(&g, turn % 5 == 0);
                    }
}

/* Several strips, the last of them short; rows that are no multiple of four. */
static void strips(void **state) {
    (void)state;
    const geometry g[] = {{32, 32, 14, 3, 3, 1, 1, 1, 2}, {16, 16, 29, 3, 3, 1, 1, 1, 3},
                          {4, 4, 58, 3, 3, 1, 1, 1, 37},  {5, 3, 6, 3, 3, 1, 1, 1, 40},
                          {9, 20, 24, 3, 3, 2, 1, 1, 11}, {11, 11, 13, 5, 5, 1, 2, 1, 7}};
    for (size_t i = 0; i < sizeof g / sizeof *g; i++) check(&g[i], false);
    for (size_t i = 0; i < sizeof g / sizeof *g; i++) check(&g[i], true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels),
        cmocka_unit_test(places),
        cmocka_unit_test(strips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
