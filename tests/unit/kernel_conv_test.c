/* Every instruction set against the definition taken literally, bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/rng.h"
#include "kernel/conv/conv.h"
#include "reference/conv.h"

enum { GUARD = 64 };

typedef struct geometry {
    int64_t size_h, size_w, in_c, out_c, kernel_h, kernel_w, stride, pad, dilation, count;
    int64_t more; /* padding after the image beyond pad */
} geometry;

/* Where an infinity and a NaN are put: nowhere, or at a place of x and dy. */
typedef enum poisoning { CLEAN, POISONED } poisoning;

static void *zeroed(size_t count, size_t bytes) {
    void *block;
    assert_int_equal(hu_alloc_array(count, bytes, &block), HU_OK);
    return block;
}

static float *random_floats(int64_t count, uint64_t stream) {
    hu_random_key key = {.seed = 11, .stream = stream};
    float *x = zeroed((size_t)count, sizeof *x);
    for (int64_t i = 0; i < count; i++) x[i] = 2 * hu_random_uniform(&key, (uint64_t)i) - 1;
    return x;
}

/* -1 if a window is larger than the padded image. */
static int64_t out_extent(int64_t in, int64_t kernel, const geometry *g) {
    int64_t room = in + 2 * g->pad + g->more - (kernel - 1) * g->dilation - 1;
    return room < 0 ? -1 : room / g->stride + 1;
}

static hu_conv conv_of(const geometry *g) {
    return (hu_conv){.in_h = g->size_h,
                     .in_w = g->size_w,
                     .in_c = g->in_c,
                     .out_h = out_extent(g->size_h, g->kernel_h, g),
                     .out_w = out_extent(g->size_w, g->kernel_w, g),
                     .out_c = g->out_c,
                     .kernel_h = g->kernel_h,
                     .kernel_w = g->kernel_w,
                     .stride_h = g->stride,
                     .stride_w = g->stride,
                     .pad_h = g->pad,
                     .pad_w = g->pad,
                     .dilation_h = g->dilation,
                     .dilation_w = g->dilation};
}

/* NaNs are equal to each other: which one comes out of two is the processor's. */
static void assert_same(const geometry *g, const char *what, int64_t count, const float *a,
                        const float *b) {
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(&a[i], &b[i], sizeof *a) == 0 || (isnan(a[i]) && isnan(b[i]))) continue;
        fail_msg("%s, %s[%lld]: %a, expected %a; %lldx%lldx%lld -> %lld, kernel %lldx%lld, stride "
                 "%lld, pad %lld, dilation %lld, count %lld, more %lld",
                 hu_isa_name(hu_cpu_isa()), what, (long long)i, (double)a[i], (double)b[i],
                 (long long)g->size_h, (long long)g->size_w, (long long)g->in_c,
                 (long long)g->out_c, (long long)g->kernel_h, (long long)g->kernel_w,
                 (long long)g->stride, (long long)g->pad, (long long)g->dilation,
                 (long long)g->count, (long long)g->more);
    }
}

typedef struct arrays {
    float *x, *w, *bias, *dy; /* given */
    float *y, *dx, *dw;       /* expected */
    float *to, *packed;       /* found */
    char *scratch;
    int64_t xs, ws, ys;
} arrays;

static void free_arrays(arrays *a) {
    float *all[] = {a->x, a->w, a->bias, a->dy, a->y, a->dx, a->dw, a->to, a->packed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hu_free(all[i]);
    hu_free(a->scratch);
}

static arrays make_arrays(const hu_conv *c, int64_t count, poisoning poison) {
    arrays a = {.xs = count * c->in_h * c->in_w * c->in_c,
                .ys = count * c->out_h * c->out_w * c->out_c,
                .ws = c->out_c * c->kernel_h * c->kernel_w * c->in_c};
    a.x = random_floats(a.xs, 1);
    a.w = random_floats(a.ws, 2);
    a.dy = random_floats(a.ys, 3);
    a.bias = random_floats(c->out_c, 4);
    if (poison == POISONED) {
        a.x[a.xs / 2] = INFINITY;
        a.x[a.xs / 3] = NAN;
        a.dy[a.ys / 2] = -INFINITY;
        a.dy[a.ys - 1] = NAN;
    }
    a.y = zeroed((size_t)a.ys, sizeof(float));
    a.dx = zeroed((size_t)a.xs, sizeof(float));
    a.dw = random_floats(a.ws, 5);
    int64_t most = a.xs > a.ys ? a.xs : a.ys;
    a.to = zeroed((size_t)((most > a.ws ? most : a.ws) + GUARD), sizeof(float));
    return a;
}

static void spoil(float *x, int64_t count) {
    memset(x, 0x5a, (size_t)(count + GUARD) * sizeof *x);
}

static void check_guard(const float *x, int64_t count) {
    for (int64_t i = 0; i < GUARD; i++) {
        uint32_t bits;
        memcpy(&bits, &x[count + i], sizeof bits);
        assert_int_equal(bits, 0x5a5a5a5a);
    }
}

static void check_gathers(const geometry *g, const hu_conv_plan *plan, arrays *a) {
    size_t forward = hu_conv_forward_packed_bytes(plan), data = hu_conv_data_packed_bytes(plan);
    a->packed = zeroed(forward > data ? forward : data, 1);
    hu_conv_pack_forward(plan, a->w, a->bias, a->packed);
    spoil(a->to, a->ys);
    hu_conv_forward(plan, g->count, a->x, a->packed, a->to);
    assert_same(g, "y", a->ys, a->to, a->y);
    check_guard(a->to, a->ys);
    hu_conv_pack_data(plan, a->w, a->packed);
    spoil(a->to, a->xs);
    hu_conv_data_gradient(plan, g->count, a->dy, a->packed, a->to);
    assert_same(g, "dx", a->xs, a->to, a->dx);
    check_guard(a->to, a->xs);
    hu_free(a->packed);
    a->packed = NULL;
}

static void check_weights(const geometry *g, const hu_conv_plan *plan, arrays *a, bool adds) {
    size_t bytes = hu_conv_scratch_bytes(plan, g->count);
    a->scratch = zeroed(bytes + GUARD, 1);
    memset(a->scratch, 0x5a, bytes + GUARD);
    spoil(a->to, a->ws);
    float *before = random_floats(a->ws, 5);
    if (adds) memcpy(a->to, before, (size_t)a->ws * sizeof *before);
    hu_free(before);
    hu_conv_weight_gradient(plan, g->count, a->x, a->dy, adds, a->scratch, a->to);
    assert_same(g, "dw", a->ws, a->to, a->dw);
    check_guard(a->to, a->ws);
    for (size_t i = 0; i < GUARD; i++) assert_int_equal(a->scratch[bytes + i], 0x5a);
    hu_free(a->scratch);
    a->scratch = NULL;
}

/* The scalar bodies are slow: they see one geometry of `scalar_every`. */
static void check(const geometry *g, poisoning poison, bool with_scalar) {
    hu_conv c = conv_of(g);
    hu_conv_plan *plan;
    bool adds = (g->size_h + g->in_c + g->pad) % 2 == 1;
    if (c.out_h < 1 || c.out_w < 1) return;
    arrays a = make_arrays(&c, g->count, poison);
    hu_conv_reference_forward(&c, g->count, a.x, a.w, a.bias, a.y);
    hu_conv_reference_data(&c, g->count, a.dy, a.w, a.dx);
    hu_conv_reference_weights(&c, g->count, a.x, a.dy, adds, a.dw);
    assert_int_equal(hu_conv_plan_create(&c, &plan), HU_OK);
    for (hu_isa isa = HU_ISA_SCALAR; isa <= hu_cpu_isa_native(); isa++) {
        if (isa == HU_ISA_SCALAR && !with_scalar) continue;
        hu_cpu_set_isa(isa);
        check_gathers(g, plan, &a);
        check_weights(g, plan, &a, adds);
    }
    hu_conv_plan_free(plan);
    free_arrays(&a);
}

static void channels_and_kernels(void **state) {
    static const int64_t channels[] = {1, 3, 5, 8, 16, 17, 24, 32, 64, 130, 0};
    static const int64_t kernels[][2] = {{1, 1}, {3, 3}, {5, 5}, {1, 7}, {7, 7}};
    (void)state;
    int64_t turn = 0;
    for (size_t i = 0; i < 10; i++)
        for (size_t o = 0; o < 10; o++)
            for (size_t k = 0; k < 5; k++, turn++) {
                const geometry g = {5 + turn % 3,
                                    4 + turn % 4,
                                    channels[i],
                                    channels[o],
                                    kernels[k][0],
                                    kernels[k][1],
                                    1 + turn % 3,
                                    turn / 2 % 4,
                                    1 + turn % 2,
                                    1 + turn % 2,
                                    0};
                check(&g, CLEAN, turn % 7 == 0);
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
                        const geometry g = {size,
                                            1 + (size + turn) % 9,
                                            3 + turn % 3,
                                            4 + turn % 5,
                                            kernels[k],
                                            kernels[(k + (size_t)turn) % 5],
                                            stride,
                                            pad,
                                            dilation,
                                            1 + turn % 5,
                                            0};
                        check(&g, CLEAN, turn % 3 == 0);
                    }
}

/* More or less padding below and right of the image than above and left. */
static void uneven_padding(void **state) {
    static const int64_t channels[] = {3, 7, 16, 17, 40, 64};
    (void)state;
    int64_t turn = 0;
    for (int64_t pad = 0; pad <= 3; pad++)
        for (int64_t more = -pad; more <= 4; more++)
            for (int64_t stride = 1; stride <= 3; stride++)
                for (int64_t kernel = 1; kernel <= 7; kernel += 2, turn++) {
                    const geometry g = {5 + turn % 4,  7 - turn % 3, channels[turn % 6],
                                        4 + turn % 15, kernel,       8 - kernel,
                                        stride,        pad,          1 + turn % 5 / 4,
                                        1 + turn % 3,  more};
                    check(&g, CLEAN, turn % 3 == 0);
                }
}

static void large_images(void **state) {
    (void)state;
    const geometry g[] = {
        {32, 32, 16, 16, 3, 3, 1, 1, 1, 2, 0}, {32, 32, 3, 16, 3, 3, 1, 1, 1, 1, 0},
        {32, 32, 16, 32, 3, 3, 2, 1, 1, 1, 0}, {32, 32, 16, 32, 1, 1, 2, 0, 1, 1, 0},
        {16, 16, 32, 32, 3, 3, 1, 1, 1, 2, 0}, {8, 8, 64, 64, 3, 3, 1, 1, 1, 3, 0},
        {4, 4, 512, 40, 3, 3, 1, 1, 1, 5, 0},  {1, 1, 700, 10, 1, 1, 1, 0, 1, 5, 0},
        {5, 150, 3, 4, 3, 3, 1, 1, 1, 1, 0},   {1, 1, 64, 10, 1, 1, 1, 0, 1, 150, 0},
        {1, 1, 5, 10, 1, 1, 2, 1, 1, 5, 0},    {2, 2, 130, 33, 3, 3, 2, 3, 2, 40, 0}};
    for (size_t i = 0; i < sizeof g / sizeof *g; i++) check(&g[i], CLEAN, i % 3 == 0);
}

/* Rows of every length up to more than two tiles, whose places lie at equal steps. */
static void long_rows(void **state) {
    static const int64_t channels[] = {3, 16, 40, 64}, filters[] = {16, 5, 33, 49};
    (void)state;
    for (int64_t columns = 6; columns <= 70; columns++) {
        int64_t stride = 1 + columns % 3, kernel = 1 + columns % 4;
        const geometry g = {2 + columns % 3,
                            columns * stride,
                            channels[columns % 4],
                            filters[columns / 2 % 4],
                            1 + columns % 2 * 2,
                            kernel,
                            stride,
                            kernel / 2,
                            1,
                            1 + columns % 2,
                            0};
        check(&g, columns % 5 == 0 ? POISONED : CLEAN, columns % 8 == 0);
    }
}

/* Lanes that are filters: every number of terms, windows that leave the image on both sides. */
static void few_channels(void **state) {
    static const int64_t kernels[] = {1, 2, 3, 4, 5, 7, 11}, filters[] = {16, 32, 48, 96, 20};
    (void)state;
    int64_t turn = 0;
    for (int64_t in_c = 1; in_c <= 5; in_c++)
        for (size_t k = 0; k < 7; k++)
            for (int64_t stride = 1; stride <= 4; stride++, turn++) {
                const geometry g = {3 + turn % 8,
                                    1 + turn % 13,
                                    in_c,
                                    filters[turn % 5],
                                    kernels[(k + (size_t)turn) % 7],
                                    kernels[k],
                                    stride,
                                    turn % 6,
                                    1 + turn % 9 / 8,
                                    1 + turn % 4,
                                    0};
                check(&g, turn % 4 == 3 ? POISONED : CLEAN, turn % 3 == 0);
            }
}

/* Linear layers of rows: few places and many, widths around all tiles, long and short sums. */
static void rows(void **state) {
    static const int64_t widths[] = {1, 15, 16, 31, 33, 48, 63, 64, 65, 79, 128, 400};
    static const int64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 17, 64};
    (void)state;
    int64_t turn = 0;
    for (size_t i = 0; i < 12; i++)
        for (size_t o = 0; o < 12; o++, turn++) {
            int64_t row_count = counts[turn % 10], images = 1 + turn % 3;
            if (turn % 11 == 0) images = 300 / row_count;
            const geometry g = {row_count, 1, widths[i], widths[o], 1, 1, 1, 0, 1, images, 0};
            check(&g, turn % 5 == 0 ? POISONED : CLEAN, turn % 9 == 0);
        }
}

static void infinities_stay_where_they_reach(void **state) {
    (void)state;
    const geometry g[] = {{9, 9, 16, 16, 3, 3, 1, 1, 1, 2, 0}, {8, 8, 3, 16, 3, 3, 1, 1, 1, 2, 0},
                          {7, 7, 5, 7, 5, 5, 2, 2, 1, 3, 0},   {6, 6, 40, 24, 3, 3, 1, 1, 2, 2, 0},
                          {4, 4, 64, 64, 3, 3, 1, 1, 1, 4, 0}, {1, 1, 30, 10, 1, 1, 1, 0, 1, 5, 0}};
    for (size_t i = 0; i < sizeof g / sizeof *g; i++) check(&g[i], POISONED, true);
}

/* An infinite pixel reaches 3x3 outputs, all others are finite. */
static void an_infinity_touches_its_neighbourhood(void **state) {
    (void)state;
    const geometry g = {8, 8, 16, 16, 3, 3, 1, 1, 1, 1, 0};
    hu_conv c = conv_of(&g);
    arrays a = make_arrays(&c, 1, CLEAN);
    hu_conv_plan *plan;
    hu_cpu_set_isa(hu_cpu_isa_native());
    assert_int_equal(hu_conv_plan_create(&c, &plan), HU_OK);
    a.packed = zeroed(hu_conv_forward_packed_bytes(plan), 1);
    hu_conv_pack_forward(plan, a.w, NULL, a.packed);
    a.x[(3 * 8 + 4) * 16 + 5] = INFINITY;
    hu_conv_forward(plan, 1, a.x, a.packed, a.to);
    for (int64_t i = 0; i < a.ys; i++) {
        int64_t h = i / 16 / 8, w = i / 16 % 8;
        bool reached = h >= 2 && h <= 4 && w >= 3 && w <= 5;
        assert_int_equal(isfinite(a.to[i]) ? 0 : 1, reached ? 1 : 0);
    }
    hu_conv_plan_free(plan);
    free_arrays(&a);
}

static void results_do_not_depend_on_count(void **state) {
    (void)state;
    const geometry g = {6, 6, 20, 24, 3, 3, 1, 1, 1, 5, 0};
    hu_conv c = conv_of(&g);
    arrays a = make_arrays(&c, 5, CLEAN);
    hu_conv_plan *plan;
    hu_cpu_set_isa(hu_cpu_isa_native());
    assert_int_equal(hu_conv_plan_create(&c, &plan), HU_OK);
    a.packed = zeroed(hu_conv_forward_packed_bytes(plan), 1);
    hu_conv_pack_forward(plan, a.w, a.bias, a.packed);
    hu_conv_forward(plan, 5, a.x, a.packed, a.y);
    for (int64_t n = 0; n < 5; n++)
        hu_conv_forward(plan, 1, a.x + n * a.xs / 5, a.packed, a.to + n * a.ys / 5);
    assert_memory_equal(a.to, a.y, (size_t)a.ys * sizeof(float));
    hu_conv_plan_free(plan);
    free_arrays(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_and_kernels),
        cmocka_unit_test(places),
        cmocka_unit_test(uneven_padding),
        cmocka_unit_test(large_images),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(few_channels),
        cmocka_unit_test(rows),
        cmocka_unit_test(infinities_stay_where_they_reach),
        cmocka_unit_test(an_infinity_touches_its_neighbourhood),
        cmocka_unit_test(results_do_not_depend_on_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
