#include <halfulp/gemm.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/cpu.h"

#include <cmocka.h>

enum { MOST = 2048 };

static float ones[MOST];

static hu_accumulator parsed(const char *text) {
    hu_accumulator accumulator;
    if (hu_accumulator_parse(text, &accumulator) != HU_OK) fail_msg("%s", hu_last_error());
    return accumulator;
}

static hu_gemm_task dot(const char *accumulator, int64_t k, const float *x, const float *y,
                        float *c) {
    return (hu_gemm_task){.m = 1,
                          .n = 1,
                          .k = k,
                          .a = {.data = x, .k_stride = 1},
                          .b = {.data = y, .k_stride = 1},
                          .accumulator = parsed(accumulator),
                          .c = c,
                          .threads = 1};
}

static void assert_bits(const char *what, float found, float expected) {
    if (hu_f32_bits(found) != hu_f32_bits(expected))
        fail_msg("%s: %a, expected %a", what, (double)found, (double)expected);
}

/* The product by the reference and by every instruction set; [m, n] of it, c_stride n. */
static void assert_product(const char *what, hu_gemm_task task, const float *expected) {
    float c[64];
    task.c = c;
    task.c_stride = task.n;
    for (int isa = -1; isa <= (int)hu_cpu_isa_native(); isa++) {
        memset(c, 0xFF, sizeof c);
        if (isa >= 0) hu_cpu_set_isa((hu_isa)isa);
        hu_status st = isa < 0 ? hu_gemm_reference(&task) : hu_gemm(&task);
        if (st != HU_OK) fail_msg("%s: %s", what, hu_last_error());
        for (int64_t i = 0; i < task.m * task.n; i++) assert_bits(what, c[i], expected[i]);
    }
}

static void assert_dot(const char *accumulator, int64_t k, const float *x, const float *y,
                       float expected) {
    assert_product(accumulator, dot(accumulator, k, x, y, NULL), &expected);
}

static void assert_semantics(hu_semantics semantics, const char *accumulator, int64_t k,
                             const float *x, const float *y, float expected) {
    hu_gemm_task task = dot(accumulator, k, x, y, NULL);
    task.accumulator.semantics = semantics;
    assert_product(accumulator, task, &expected);
}

static void assert_f32fma(const char *accumulator, int64_t k, const float *x, const float *y,
                          float expected) {
    assert_semantics(HU_SEMANTICS_F32FMA, accumulator, k, x, y, expected);
}

static void assert_cpd(const char *accumulator, int64_t k, const float *x, const float *y,
                       float expected) {
    assert_semantics(HU_SEMANTICS_CPD, accumulator, k, x, y, expected);
}

/* 1024 + 1 is a tie of ten-bit significands, and 1024 is even. */
static void plain_sums_stall(void **state) {
    (void)state;
    assert_dot("fmac:1/6/9", 2048, ones, ones, 1024.0f);
    assert_dot("mac:1/6/9", 2048, ones, ones, 1024.0f);
    assert_dot("fmac:fp16", 2048, ones, ones, 2048.0f);
    assert_dot("fmac8:1/6/9", 2048, ones, ones, 2048.0f);
    assert_dot("macs:1/6/9", 2048, ones, ones, 2048.0f);
    assert_dot("fmacs", 2048, ones, ones, 2048.0f);
    assert_dot("fmac2000:1/6/9", 2048, ones, ones, 1024.0f + 48.0f);
}

/* Algorithm 1 of the 1/6/9 study as it is printed, in double: exact before each rounding for these
 * terms, whose sums stay normal. */
static double to_grid(double x, int bits) {
    int exponent;
    double fraction = frexp(x, &exponent);
    return ldexp(rint(ldexp(fraction, bits)), exponent - bits);
}

static double blocks_of_eight(int n, const float *x, const float *y) {
    double master = 0.0, block = 0.0;
    for (int i = 0; i < n; i++) {
        if (i % 8 == 0) {
            master = to_grid(master + block, 24);
            block = 0.0;
        }
        block = to_grid(block + (double)x[i] * (double)y[i], 10);
    }
    return to_grid(master + block, 24);
}

static void fmac8_has_blocks_of_eight(void **state) {
    (void)state;
    static const int lengths[] = {0, 1, 7, 8, 9, 16};
    float x[16], y[16];
    for (int i = 0; i < 16; i++) {
        x[i] = 1.0f + (float)(37 * i % 64) / 512.0f;
        y[i] = 1.0f + (float)(29 * i % 64) / 512.0f;
    }
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        assert_dot("fmac8:1/6/9", lengths[i], x, y, (float)blocks_of_eight(lengths[i], x, y));
    assert_true(blocks_of_eight(16, x, y) != blocks_of_eight(8, x, y) * 2);
    assert_dot("fmac8:1/6/9", 0, x, y, 0.0f);
}

/* 64 x 0.125 in (5,2); the values are those of a simulation with rational numbers. */
static void kahan_runs_as_computed(void **state) {
    (void)state;
    static const char *const modes[] = {"kahan:e5m2", "kahan-cpd:e5m2"};
    static const float running[] = {1.0f, 1.0f, 1.25f, 1.5f, 1.5f, 1.5f, 1.75f, 2.0f, 2.0f};
    float eighths[64];
    for (int i = 0; i < 64; i++) eighths[i] = 0.125f;
    for (int mode = 0; mode < 2; mode++) {
        for (int i = 0; i < 9; i++) assert_dot(modes[mode], 8 + i, eighths, ones, running[i]);
        assert_dot(modes[mode], 64, eighths, ones, 8.0f);
        assert_f32fma(modes[mode], 64, eighths, ones, 8.0f);
    }
    assert_dot("mac:e5m2", 64, eighths, ones, 1.0f);
    assert_dot("fmac:e5m2", 64, eighths, ones, 1.0f);
}

/* The same, one term a call. */
static void sums_go_on_in_further_calls(void **state) {
    (void)state;
    static const float running[] = {1.0f, 1.0f, 1.25f, 1.5f, 1.5f, 1.5f, 1.75f, 2.0f, 2.0f};
    float carry[2] = {NAN, NAN}, c, eighth = 0.125f, one = 1.0f;
    hu_gemm_task task = dot("kahan:e5m2", 1, &eighth, &one, &c);
    task.carry = carry;
    for (task.before = 0; task.before < 64; task.before++) {
        assert_int_equal(hu_gemm(&task), HU_OK);
        if (task.before >= 7 && task.before < 16)
            assert_bits("carried", c, running[task.before - 7]);
    }
    assert_bits("carried", c, 8.0f);
    task.k = 0;
    assert_int_equal(hu_gemm(&task), HU_OK);
    assert_bits("nothing more", c, 8.0f);
}

/* 1 + 2^-9 is odd in ten bits; the product is 2^-34 short of half a place, which a float32 between
 * loses: the tie then goes up. */
static void exact_rounds_once(void **state) {
    (void)state;
    float x[] = {1.0f + 0x1p-9f, 0x1p-10f * (1.0f + 0x1p-12f)}, y[] = {1.0f, 1.0f - 0x1p-12f};
    assert_dot("fmac:1/6/9", 2, x, y, 1.0f + 0x1p-9f);
    assert_f32fma("fmac:1/6/9", 2, x, y, 1.0f + 0x1p-8f);
    /* a product exactly on a midpoint, the accumulator far below decides */
    float tiny[] = {0x1p-30f, 1.0f + 0x1p-10f}, minus[] = {-0x1p-30f, 1.0f + 3 * 0x1p-10f};
    assert_dot("fmac:1/6/9", 2, tiny, ones, 1.0f + 0x1p-9f);
    assert_f32fma("fmac:1/6/9", 2, tiny, ones, 1.0f);
    assert_dot("fmac:1/6/9", 2, minus, ones, 1.0f + 0x1p-9f);
    assert_f32fma("fmac:1/6/9", 2, minus, ones, 1.0f + 0x1p-8f);
}

static void overflow_follows_the_format(void **state) {
    (void)state;
    float x[] = {0x1p15f, 0x1p15f, -0x1p15f}, y[] = {1.0f, -1.0f, 1.0f};
    float negative[] = {-0x1p15f, -0x1p15f, 1.0f};
    assert_dot("fmac:fp16", 2, x, ones, INFINITY);
    assert_dot("fmac:fp16", 3, x, ones, INFINITY);
    assert_dot("fmac:fp16", 2, x, y, 0.0f);
    assert_dot("fmac:fp16:ovf=sat", 2, x, ones, 65504.0f);
    assert_dot("fmac:fp16:ovf=sat", 3, x, ones, 65504.0f - 32768.0f);
    assert_dot("fmac:fp16:ovf=sat", 3, negative, ones, -65504.0f);
    assert_dot("fmac:fp16:ovf=nan", 2, negative, ones, hu_f32_of_bits(HU_F32_NAN));
    assert_dot("fmac:e4m3fn", 2, (float[]){448.0f, 16.0f}, ones, 448.0f); /* the tie is even */
    assert_dot("fmac:e4m3fn", 2, (float[]){448.0f, 17.0f}, ones, hu_f32_of_bits(HU_F32_NAN));
    assert_dot("kahan:fp16", 3, x, ones, INFINITY);
    assert_dot("kahan-cpd:fp16", 3, x, ones, INFINITY);
    assert_dot("macs:fp16", 3, x, ones, 0x1p15f);
}

/* Worked by hand, in (5,2): 49152 + 24576 overflows, t = inf, c = R(inf - 49152) - 24576 = inf. The
 * next term has y = R(x y - inf) = -inf and t = inf - inf = NaN, c = NaN: no later term matters. A
 * product that overflows gives c = inf - inf = NaN at once. */
static void cpd_goes_on_with_nan_behind_an_overflow(void **state) {
    (void)state;
    static const char *const modes[] = {"kahan:e5m2", "kahan-cpd:e5m2"};
    const float nan = hu_f32_of_bits(HU_F32_NAN), zeros[4] = {0};
    const float sums[] = {49152.0f, 24576.0f, 0.0f, -49152.0f}, large[] = {57344.0f, 0.0f, 1.0f};
    for (int mode = 0; mode < 2; mode++) {
        assert_cpd(modes[mode], 1, sums, ones, 49152.0f);
        assert_cpd(modes[mode], 2, sums, ones, INFINITY);
        assert_cpd(modes[mode], 3, sums, ones, nan);
        assert_cpd(modes[mode], 4, sums, ones, nan);
        assert_f32fma(modes[mode], 4, sums, ones, INFINITY);
        assert_dot(modes[mode], 4, sums, ones, INFINITY);
        assert_cpd(modes[mode], 1, large, large, INFINITY);
        assert_cpd(modes[mode], 2, large, large, nan);
        assert_f32fma(modes[mode], 2, large, large, INFINITY);
    }
    /* Where nothing overflows to infinity it is f32fma. */
    assert_cpd("kahan-cpd:e5m2:ovf=sat", 4, sums, ones, 24576.0f);
    assert_f32fma("kahan-cpd:e5m2:ovf=sat", 4, sums, ones, 24576.0f);
    assert_cpd("fmac:e5m2", 4, sums, ones, INFINITY);
    assert_cpd("kahan-cpd:e5m2", 4, zeros, ones, 0.0f);
}

/* Sums below 2^-30, the smallest normal number, go to it or to zero in one rounding; so does the
 * tie, to zero. Flushed they are lost all. */
static void sums_without_subnormals_go_to_the_nearest(void **state) {
    (void)state;
    static const char *const modes[] = {"fmac", "mac", "fmac8", "kahan", "kahan-cpd"};
    const float x[] = {0x1.8p-31f, 0x1p-30f, -0x1p-30f}, tie[] = {0x1p-31f, 0x1p-31f};
    const float left[] = {0x1p-30f + 0x1p-39f, -0x1p-30f};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        char near[32], flushed[32];
        snprintf(near, sizeof near, "%s:1/6/9:sub=nearest", modes[i]);
        snprintf(flushed, sizeof flushed, "%s:1/6/9/n", modes[i]);
        assert_dot(near, 1, x, ones, 0x1p-30f);
        assert_dot(flushed, 1, x, ones, 0.0f);
        assert_dot(near, 2, left, ones, 0.0f);
        if (i < 3) assert_dot(near, 3, x, ones, 0x1p-30f);
        assert_dot(near, 2, tie, ones, 0.0f);
        assert_f32fma(near, 1, x, ones, 0x1p-30f);
    }
}

/* Formats whose smallest numbers are large: all but 8 exponent bits reach them by their bias. */
static void terms_far_below_the_format_vanish(void **state) {
    (void)state;
    static const char *const accumulators[] = {"macs:e2m3:bias=-110",  "fmac:e2m3:bias=-110",
                                               "mac:e2m3:bias=-110",   "fmac8:e3m2:bias=-112",
                                               "kahan:e2m3:bias=-110", "kahan-cpd:e2m3:bias=-110",
                                               "fmac:e5m21:bias=-96",  "mac:e2m10:bias=-120:sub=n"};
    const float x[] = {1, -2, 3, 0x1p-100f}, large[] = {0x1p113f, 0, 0x1p90f, -0.0f};
    for (size_t i = 0; i < sizeof accumulators / sizeof accumulators[0]; i++) {
        assert_dot(accumulators[i], 4, x, ones, 0.0f);
        assert_f32fma(accumulators[i], 4, x, ones, 0.0f);
    }
    assert_dot("fmac:e2m3:bias=-110", 4, large, ones, 0x1p113f);
    assert_dot("mac:e2m3:bias=-110", 4, large, ones, 0x1p113f);
}

static void non_finite_numbers_give_ieee_outcomes(void **state) {
    (void)state;
    static const char *const modes[] = {"fmacs",       "macs:1/6/9",  "fmac:1/6/9",     "mac:1/6/9",
                                        "fmac8:1/6/9", "kahan:1/6/9", "kahan-cpd:1/6/9"};
    const float nan = hu_f32_of_bits(HU_F32_NAN), odd_nan = hu_f32_of_bits(0xFFC01234u);
    for (int i = 0; i < 7; i++) {
        assert_dot(modes[i], 2, (float[]){1.0f, INFINITY}, ones, INFINITY);
        assert_dot(modes[i], 2, (float[]){-INFINITY, 1.0f}, ones, -INFINITY);
        assert_dot(modes[i], 2, (float[]){INFINITY, -INFINITY}, ones, nan);
        assert_dot(modes[i], 2, (float[]){INFINITY, 1.0f}, (float[]){0.0f, 1.0f}, nan);
        assert_dot(modes[i], 2, (float[]){odd_nan, 1.0f}, ones, nan);
    }
    assert_dot("fmac:1/6/9:ovf=sat", 1, (float[]){-INFINITY}, ones, -0x1.ff8p31f);
    assert_dot("fmac:1/6/9:ovf=nan", 1, (float[]){-INFINITY}, ones, nan);
}

static void zeros_are_positive_but_in_float32(void **state) {
    (void)state;
    float x[] = {-0x1p-100f, -0.0f}, y[] = {0x1p-100f, 1.0f};
    assert_dot("fmacs", 1, x, y, -0.0f);
    assert_dot("fmacs", 2, x, y, -0.0f);
    assert_dot("fmacs", 1, &x[1], &y[1], 0.0f);
    assert_dot("macs:1/6/9", 2, x, y, 0.0f);
    assert_dot("fmac:1/6/9", 2, x, y, 0.0f);
    assert_dot("fmac8:1/6/9", 2, x, y, 0.0f);
    assert_dot("mac:e8m23", 1, x, y, 0.0f);
    assert_dot("kahan:1/6/9", 2, x, y, 0.0f);
    assert_dot("fmac:1/6/9", 2, (float[]){1.0f, -1.0f}, ones, 0.0f);
}

/* 16 + 1 rounds to 16 in e5m3: Kahan's keeps the 1, until there are enough of them. */
static void terms_that_change_nothing_are_counted(void **state) {
    static const struct {
        const char *accumulator;
        uint64_t stalled;
    } cases[] = {{"fmac:e5m3", 7},      {"mac:e5m3", 7}, {"fmac4:e5m3", 3}, {"kahan:e5m3", 0},
                 {"kahan-cpd:e5m3", 0}, {"fmacs", 0},    {"macs:e5m3", 0}};
    /* Factors that are zero and NaN are no such terms. */
    float x[] = {32.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.0f, 1.0f}, c;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int fast = 0; fast < 2; fast++) {
            hu_gemm_counts counts = {0};
            hu_gemm_task task = dot(cases[i].accumulator, 9, x, ones, &c);
            task.counts = &counts;
            assert_int_equal(fast ? hu_gemm(&task) : hu_gemm_reference(&task), HU_OK);
            bool looks = cases[i].accumulator[4] != 's' && cases[i].accumulator[3] != 's';
            assert_int_equal(counts.terms, looks ? 8 : 0);
            if (counts.stalled != cases[i].stalled)
                fail_msg("%s: %llu stalled, expected %llu", cases[i].accumulator,
                         (unsigned long long)counts.stalled, (unsigned long long)cases[i].stalled);
        }
}

/* Accumulators of (6,9): 2^-30 is the smallest normal number. */
static void intermediate_accumulators_are_counted(void **state) {
    (void)state;
    float x[] = {0x1p-31f, 0x1p-31f, 0x1p-39f, -0x1p-30f, 0x1p31f, 0x1p31f, 1.0f}, c;
    hu_gemm_counts counts = {.values = 10, .subnormal = 20, .overflow = 30};
    hu_gemm_task task = dot("fmac:1/6/9", 7, x, ones, &c);
    for (int fast = 0; fast < 2; fast++) {
        counts = (hu_gemm_counts){.values = 10, .subnormal = 20, .overflow = 30};
        task.counts = &counts;
        assert_int_equal(fast ? hu_gemm(&task) : hu_gemm_reference(&task), HU_OK);
        assert_int_equal(counts.values, 17);
        assert_int_equal(counts.subnormal, 22); /* 2^-31, 2^-39 */
        assert_int_equal(counts.overflow, 32);  /* 2^32, inf + 1 */
        assert_int_equal(counts.stalled, 1);    /* inf + 1 */
    }
    task.accumulator = parsed("fmac:1/6/9/n");
    task.k = 2;
    for (int fast = 0; fast < 2; fast++) {
        counts = (hu_gemm_counts){0};
        assert_int_equal(fast ? hu_gemm(&task) : hu_gemm_reference(&task), HU_OK);
        assert_int_equal(counts.subnormal, 2); /* both flushed */
        assert_int_equal(counts.stalled, 2);
        assert_bits("flushed", c, 0.0f);
    }
}

static void no_terms_give_zeros_and_bias(void **state) {
    (void)state;
    static const float bias[] = {1.5f, -0.0f, 0x1p-149f};
    hu_gemm_task task = dot("fmac8:1/6/9", 0, NULL, NULL, NULL);
    task.m = 2;
    task.n = 3;
    assert_product("nothing", task, (float[]){0, 0, 0, 0, 0, 0});
    task.bias = bias;
    assert_product("bias", task, (float[]){1.5f, 0.0f, 0x1p-149f, 1.5f, 0.0f, 0x1p-149f});
    task.m = 0;
    assert_product("no rows", task, NULL);
}

static void factors_are_rounded_and_counted(void **state) {
    (void)state;
    hu_format format;
    hu_round_counts counts;
    float x[] = {1.0f + 0x1p-3f, 3.0f, 0x1p-20f, 0x1p20f}, y[] = {1.0f, 1.0f, 1.0f, 0.5f}, c = 0;
    hu_gemm_task task = dot("fmacs", 4, x, y, &c);
    assert_int_equal(hu_format_parse("e5m2:ovf=sat", &format), HU_OK);
    task.a.format = &format;
    task.a.rounding = HU_ROUND_UP;
    task.a.counts = &counts;
    for (int fast = 0; fast < 2; fast++) {
        hu_round_counts_clear(&counts);
        assert_int_equal(fast ? hu_gemm(&task) : hu_gemm_reference(&task), HU_OK);
        assert_bits("rounded up", c, 1.25f + 3.0f + 0x1p-16f + 28672.0f);
        assert_int_equal(counts.elements, 4);
        assert_int_equal(counts.overflow, 1);
        assert_int_equal(counts.subnormal, 1);
        assert_int_equal(counts.max_exponent, 20);
    }
}

/* A convolution of integers, whose sums are exact in any order: images [2, 5, 4, 3] in pixels 4
 * apart, kernel [3, 2] with stride (2, 1), padding (1, 1), dilation (1, 2), 2 output channels. */
enum { IMAGES = 2, HEIGHT = 5, WIDTH = 4, CHANNELS = 3, PIXEL = 4, OUT_H = 3, OUT_W = 4, OUT = 2 };
enum { KERNEL_H = 3, KERNEL_W = 2, KERNEL = KERNEL_H * KERNEL_W * CHANNELS };
enum { PIXELS = IMAGES * HEIGHT * WIDTH, PATCHES = IMAGES * OUT_H * OUT_W };

typedef struct convolution {
    float x[PIXELS * PIXEL], w[OUT * KERNEL], y[PATCHES * OUT], dx[PIXELS * CHANNELS];
    float dw[OUT * KERNEL];
} convolution;

static int small_integer(int i) {
    return i * 7919 % 11 - 5;
}

/* y = x * w by definition; with dy = y the gradients of w and x. */
static void convolve(convolution *o) {
    memset(o, 0, sizeof *o);
    for (int i = 0; i < PIXELS * PIXEL; i++)
        o->x[i] = i % PIXEL < CHANNELS ? (float)small_integer(i) : NAN;
    for (int i = 0; i < OUT * KERNEL; i++) o->w[i] = (float)small_integer(i + 3);
    for (int backward = 0; backward < 2; backward++)
        for (int i = 0; i < PATCHES * KERNEL * OUT; i++) {
            int out = i % OUT, c = i / OUT % CHANNELS, kw = i / OUT / CHANNELS % KERNEL_W;
            int kh = i / OUT / CHANNELS / KERNEL_W % KERNEL_H, patch = i / OUT / KERNEL;
            int iy = patch / OUT_W % OUT_H * 2 - 1 + kh, ix = patch % OUT_W - 1 + kw * 2;
            int image = patch / OUT_W / OUT_H, tap = (kh * KERNEL_W + kw) * CHANNELS + c;
            if (iy < 0 || iy >= HEIGHT || ix < 0 || ix >= WIDTH) continue;
            int pixel = (image * HEIGHT + iy) * WIDTH + ix;
            float *y = &o->y[patch * OUT + out], w = o->w[out * KERNEL + tap];
            if (!backward) *y += o->x[pixel * PIXEL + c] * w;
            if (backward) o->dw[out * KERNEL + tap] += *y * o->x[pixel * PIXEL + c];
            if (backward) o->dx[pixel * CHANNELS + c] += *y * w;
        }
}

static const hu_patches forward_patches = {.count = IMAGES,
                                           .in_h = HEIGHT,
                                           .in_w = WIDTH,
                                           .channels = CHANNELS,
                                           .pixel_stride = PIXEL,
                                           .out_h = OUT_H,
                                           .out_w = OUT_W,
                                           .kernel_h = KERNEL_H,
                                           .kernel_w = KERNEL_W,
                                           .stride_h = 2,
                                           .stride_w = 1,
                                           .pad_h = 1,
                                           .pad_w = 1,
                                           .dilation_h = 1,
                                           .dilation_w = 2,
                                           .up_h = 1,
                                           .up_w = 1};

static void assert_conv_product(hu_gemm_task task, const float *expected) {
    float c[PIXELS * PIXEL];
    task.c = c;
    task.c_stride = task.n;
    task.threads = 1;
    task.accumulator = parsed("fmac8:e8m21");
    for (int fast = 0; fast < 2; fast++) {
        memset(c, 0xFF, sizeof c);
        if ((fast ? hu_gemm(&task) : hu_gemm_reference(&task)) != HU_OK)
            fail_msg("%s", hu_last_error());
        for (int64_t i = 0; i < task.m * task.n; i++) assert_bits("product", c[i], expected[i]);
    }
}

static void convolutions_are_products(void **state) {
    (void)state;
    static convolution o;
    convolve(&o);
    hu_gemm_task task = {.m = PATCHES, .n = OUT, .k = KERNEL};
    task.a = (hu_operand){.data = o.x, .patches = &forward_patches};
    task.b = (hu_operand){.data = o.w, .stride = KERNEL, .k_stride = 1};
    assert_conv_product(task, o.y);

    task = (hu_gemm_task){.m = OUT, .n = KERNEL, .k = PATCHES};
    task.a = (hu_operand){.data = o.y, .stride = 1, .k_stride = OUT};
    task.b = (hu_operand){.data = o.x, .patches = &forward_patches, .transposed = true};
    assert_conv_product(task, o.dw);

    /* each pixel reads the outputs (iy + pad - kh) / stride that it went into */
    const hu_patches backward = {.count = IMAGES,
                                 .in_h = OUT_H,
                                 .in_w = OUT_W,
                                 .channels = OUT,
                                 .pixel_stride = OUT,
                                 .out_h = HEIGHT,
                                 .out_w = WIDTH,
                                 .kernel_h = KERNEL_H,
                                 .kernel_w = KERNEL_W,
                                 .stride_h = 1,
                                 .stride_w = 1,
                                 .pad_h = -1,
                                 .pad_w = -1,
                                 .dilation_h = -1,
                                 .dilation_w = -2,
                                 .up_h = 2,
                                 .up_w = 1};
    task = (hu_gemm_task){.m = PIXELS, .n = CHANNELS, .k = KERNEL_H * KERNEL_W * OUT};
    task.a = (hu_operand){.data = o.y, .patches = &backward};
    task.b = (hu_operand){
        .data = o.w, .stride = 1, .k_stride = KERNEL, .inner = OUT, .outer_stride = CHANNELS};
    assert_conv_product(task, o.dx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_sums_stall),
        cmocka_unit_test(fmac8_has_blocks_of_eight),
        cmocka_unit_test(kahan_runs_as_computed),
        cmocka_unit_test(sums_go_on_in_further_calls),
        cmocka_unit_test(exact_rounds_once),
        cmocka_unit_test(overflow_follows_the_format),
        cmocka_unit_test(cpd_goes_on_with_nan_behind_an_overflow),
        cmocka_unit_test(sums_without_subnormals_go_to_the_nearest),
        cmocka_unit_test(terms_far_below_the_format_vanish),
        cmocka_unit_test(non_finite_numbers_give_ieee_outcomes),
        cmocka_unit_test(zeros_are_positive_but_in_float32),
        cmocka_unit_test(intermediate_accumulators_are_counted),
        cmocka_unit_test(terms_that_change_nothing_are_counted),
        cmocka_unit_test(no_terms_give_zeros_and_bias),
        cmocka_unit_test(factors_are_rounded_and_counted),
        cmocka_unit_test(convolutions_are_products),
    };
    for (int i = 0; i < MOST; i++) ones[i] = 1.0f;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
