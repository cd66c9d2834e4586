#include <halfulp/gemm.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/cpu.h"
#include "base/memory.h"

#include <cmocka.h>

/* ---- tools ---- */

static uint64_t seed = 1;

static uint32_t next_word(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

/* About Gaussian, `bits` significant bits, or all 24. */
static float next_number(int bits) {
    float sum = 0;
    for (int i = 0; i < 6; i++) sum += (float)(next_word() >> 8) * 0x1p-24f - 0.5f;
    if (bits >= 24) return sum;
    uint32_t mask = ~((1u << (24 - bits)) - 1);
    return hu_f32_of_bits(hu_f32_bits(sum) & mask);
}

static float *numbers(int64_t count, int bits) {
    void *block;
    assert_int_equal(hu_alloc_array((size_t)count, sizeof(float), &block), HU_OK);
    float *x = block;
    for (int64_t i = 0; i < count; i++) x[i] = next_number(bits);
    return x;
}

static hu_accumulator parsed(const char *text, hu_semantics semantics) {
    hu_accumulator accumulator;
    if (hu_accumulator_parse(text, &accumulator) != HU_OK) fail_msg("%s", hu_last_error());
    accumulator.semantics = semantics;
    return accumulator;
}

static hu_format format_of(const char *text) {
    hu_format format;
    if (hu_format_parse(text, &format) != HU_OK) fail_msg("%s", hu_last_error());
    return format;
}

static void run(const hu_gemm_task *task) {
    if (hu_gemm(task) != HU_OK) fail_msg("%s", hu_last_error());
}

static void assert_same(const char *what, int64_t count, const float *found, const float *wanted) {
    for (int64_t i = 0; i < count; i++)
        if (hu_f32_bits(found[i]) != hu_f32_bits(wanted[i]))
            fail_msg("%s: number %lld is %a, expected %a", what, (long long)i, (double)found[i],
                     (double)wanted[i]);
}

/* Some rows of the product by the reference, against c. */
static void assert_rows(const char *what, const hu_gemm_task *task) {
    float *row = numbers(task->n, 24);
    for (int64_t i = 0; i < task->m; i += task->m / 5 + 1) {
        hu_gemm_task one = *task;
        one.m = 1;
        one.a.data += i * task->a.stride;
        one.c = row;
        one.c_stride = task->n;
        one.carry = NULL;
        one.before = 0;
        one.counts = NULL;
        one.scratch = NULL;
        if (hu_gemm_reference(&one) != HU_OK) fail_msg("%s", hu_last_error());
        assert_same(what, task->n, task->c + i * task->c_stride, row);
    }
    hu_free(row);
}

/* ---- blocks ---- */

/* Extents beyond every block, chunk, run and stretch, on both sides of the limit of few rows. */
static void check_blocks(const char *accumulator, hu_semantics semantics, int bits, int64_t m,
                         int64_t n, int64_t k, int threads) {
    float *a = numbers(m * k, bits), *b = numbers(k * n, bits), *bias = numbers(n, 24);
    float *c = numbers(m * (n + 3), 24);
    hu_gemm_task task = {.m = m,
                         .n = n,
                         .k = k,
                         .a = {.data = a, .stride = k, .k_stride = 1},
                         .b = {.data = b, .stride = 1, .k_stride = n},
                         .accumulator = parsed(accumulator, semantics),
                         .c = c,
                         .c_stride = n + 3,
                         .bias = bias,
                         .threads = threads};
    run(&task);
    assert_rows(accumulator, &task);
    hu_free(a);
    hu_free(b);
    hu_free(c);
    hu_free(bias);
}

static const char *const modes[] = {"fmacs",       "macs:1/6/9",  "fmac:1/6/9",     "mac:1/6/9",
                                    "fmac8:1/6/9", "kahan:1/6/9", "kahan-cpd:1/6/9"};

static void products_larger_than_all_blocks_equal_the_reference(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        check_blocks(modes[i], HU_SEMANTICS_EXACT, 10, 211, 530, 700, 1);
        check_blocks(modes[i], HU_SEMANTICS_F32FMA, 24, 205, 290, 1337, 3);
        check_blocks(modes[i], HU_SEMANTICS_EXACT, 24, 16, 300, 900, 1);
        check_blocks(modes[i], HU_SEMANTICS_EXACT, 24, 191, 150, 650, 2);
        check_blocks(modes[i], HU_SEMANTICS_EXACT, 3, 900, 16, 144, 2);
    }
    check_blocks("fmac7:1/5/2:sub=n", HU_SEMANTICS_EXACT, 3, 205, 530, 700, 2);
    check_blocks("fmac100:1/5/10", HU_SEMANTICS_EXACT, 11, 205, 530, 730, 1);
    check_blocks("fmac:fp32", HU_SEMANTICS_EXACT, 24, 205, 530, 730, 1);
    check_blocks("mac:bf16", HU_SEMANTICS_EXACT, 8, 205, 300, 730, 1);
}

static float small_integer(void) {
    return (float)(next_word() % 15) - 7.0f;
}

/* Most terms leave accumulators on the grid of the smallest normal number; those of some slices,
 * alone and in a row, do not. */
static void terms_with_small_products_get_kernels_of_their_own(void **state) {
    (void)state;
    enum { M = 200, N = 208, K = 340 };
    const hu_isa before = hu_cpu_isa();
    float *a = numbers(M * K, 24), *b = numbers(K * N, 24), *c = numbers(M * N, 24);
    for (int64_t i = 0; i < K * N; i++) b[i] = small_integer() * 0x1p-18f;
    for (int64_t i = 0; i < M * K; i++) {
        const int64_t k = i % K;
        bool is_fine = (k >= 64 && k < 99) || k == 205; /* the subnormals' grid is 2^-39 */
        a[i] = small_integer() * (is_fine ? 0x1p-24f : 0x1p-18f);
    }
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
        for (size_t i = 1; i < sizeof modes / sizeof modes[0]; i++)
            for (int threads = 1; threads <= 2; threads++) {
                hu_gemm_task task = {
                    .m = M,
                    .n = N,
                    .k = K,
                    .a = {.data = a, .stride = K, .k_stride = 1},
                    .b = {.data = b, .stride = 1, .k_stride = N},
                    .accumulator =
                        parsed(modes[i], threads == 1 ? HU_SEMANTICS_EXACT : HU_SEMANTICS_F32FMA),
                    .c = c,
                    .c_stride = N,
                    .threads = threads};
                hu_cpu_set_isa((hu_isa)isa);
                run(&task);
                assert_rows(modes[i], &task);
            }
    hu_cpu_set_isa(before);
    hu_free(a);
    hu_free(b);
    hu_free(c);
}

/* ---- convolutions ---- */

/* A convolution of images [count, h, w, ci], weights [co, kh, kw, ci]. */
typedef struct conv {
    int64_t count, h, w, ci, co, kernel, stride, pad, dilation, out_h, out_w;
    float *x, *weights, *y, *dy, *dx, *dw;
} conv;

static conv conv_of(int64_t count, int64_t h, int64_t w, int64_t ci, int64_t co, int64_t kernel,
                    int64_t stride, int64_t pad, int64_t dilation) {
    conv v = {count, h, w, ci, co, kernel, stride, pad, dilation, 0, 0, 0, 0, 0, 0, 0, 0};
    v.out_h = (h + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
    v.out_w = (w + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
    v.x = numbers(count * h * w * ci, 10);
    v.weights = numbers(co * kernel * kernel * ci, 10);
    v.y = numbers(count * v.out_h * v.out_w * co, 24);
    v.dy = numbers(count * v.out_h * v.out_w * co, 10);
    v.dx = numbers(count * h * w * ci, 24);
    v.dw = numbers(co * kernel * kernel * ci, 24);
    return v;
}

static void conv_free(conv *v) {
    float *all[] = {v->x, v->weights, v->y, v->dy, v->dx, v->dw};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) hu_free(all[i]);
}

static hu_patches input_patches(const conv *v) {
    return (hu_patches){v->count, v->h,        v->w,        v->ci,     v->ci,     v->out_h,
                        v->out_w, v->kernel,   v->kernel,   v->stride, v->stride, v->pad,
                        v->pad,   v->dilation, v->dilation, 1,         1};
}

static hu_patches gradient_patches(const conv *v) {
    return (hu_patches){v->count, v->out_h,     v->out_w,     v->co,     v->co,    v->h,
                        v->w,     v->kernel,    v->kernel,    1,         1,        -v->pad,
                        -v->pad,  -v->dilation, -v->dilation, v->stride, v->stride};
}

static const float *input_at(const conv *v, int64_t n, int64_t y, int64_t x) {
    if (y < 0 || x < 0 || y >= v->h || x >= v->w) return NULL;
    return v->x + ((n * v->h + y) * v->w + x) * v->ci;
}

/* Sums in float32, one fma per term, in the order that the products promise. */
static float naive_forward(const conv *v, int64_t n, int64_t y, int64_t x, int64_t co) {
    float sum = 0;
    for (int64_t kh = 0; kh < v->kernel; kh++)
        for (int64_t kw = 0; kw < v->kernel; kw++) {
            const float *in = input_at(v, n, y * v->stride - v->pad + kh * v->dilation,
                                       x * v->stride - v->pad + kw * v->dilation);
            const float *weights = v->weights + ((co * v->kernel + kh) * v->kernel + kw) * v->ci;
            for (int64_t c = 0; in && c < v->ci; c++) sum = fmaf(in[c], weights[c], sum);
        }
    return sum;
}

static float naive_weight_grad(const conv *v, int64_t co, int64_t kh, int64_t kw, int64_t ci) {
    float sum = 0;
    for (int64_t n = 0; n < v->count; n++)
        for (int64_t y = 0; y < v->out_h; y++)
            for (int64_t x = 0; x < v->out_w; x++) {
                const float *in = input_at(v, n, y * v->stride - v->pad + kh * v->dilation,
                                           x * v->stride - v->pad + kw * v->dilation);
                if (in)
                    sum =
                        fmaf(v->dy[((n * v->out_h + y) * v->out_w + x) * v->co + co], in[ci], sum);
            }
    return sum;
}

/* The output gradient that the input pixel at y meets through tap kh: output row, or -1. */
static int64_t met_by(const conv *v, int64_t y, int64_t kh, int64_t extent) {
    int64_t at = y + v->pad - kh * v->dilation;
    if (at < 0 || at % v->stride != 0 || at / v->stride >= extent) return -1;
    return at / v->stride;
}

static float naive_input_grad(const conv *v, int64_t n, int64_t y, int64_t x, int64_t ci) {
    float sum = 0;
    for (int64_t kh = 0; kh < v->kernel; kh++)
        for (int64_t kw = 0; kw < v->kernel; kw++) {
            int64_t oy = met_by(v, y, kh, v->out_h), ox = met_by(v, x, kw, v->out_w);
            for (int64_t co = 0; oy >= 0 && ox >= 0 && co < v->co; co++)
                sum = fmaf(v->dy[((n * v->out_h + oy) * v->out_w + ox) * v->co + co],
                           v->weights[((co * v->kernel + kh) * v->kernel + kw) * v->ci + ci], sum);
        }
    return sum;
}

static hu_gemm_task forward_task(const conv *v, const hu_patches *p) {
    int64_t terms = v->kernel * v->kernel * v->ci;
    return (hu_gemm_task){.m = v->count * v->out_h * v->out_w,
                          .n = v->co,
                          .k = terms,
                          .a = {.data = v->x, .patches = p},
                          .b = {.data = v->weights, .stride = terms, .k_stride = 1},
                          .c = v->y,
                          .c_stride = v->co,
                          .threads = 1};
}

static hu_gemm_task weight_grad_task(const conv *v, const hu_patches *p) {
    return (hu_gemm_task){.m = v->co,
                          .n = v->kernel * v->kernel * v->ci,
                          .k = v->count * v->out_h * v->out_w,
                          .a = {.data = v->dy, .stride = 1, .k_stride = v->co},
                          .b = {.data = v->x, .patches = p, .transposed = true},
                          .c = v->dw,
                          .c_stride = v->kernel * v->kernel * v->ci,
                          .threads = 1};
}

static hu_gemm_task input_grad_task(const conv *v, const hu_patches *p) {
    int64_t taps = v->kernel * v->kernel;
    return (hu_gemm_task){.m = v->count * v->h * v->w,
                          .n = v->ci,
                          .k = taps * v->co,
                          .a = {.data = v->dy, .patches = p},
                          .b = {.data = v->weights,
                                .stride = 1,
                                .k_stride = taps * v->ci,
                                .inner = v->co,
                                .outer_stride = v->ci},
                          .c = v->dx,
                          .c_stride = v->ci,
                          .threads = 1};
}

static void assert_conv(const conv *v) {
    float *y = numbers(v->count * v->out_h * v->out_w * v->co, 24), *to = y;
    float *dx = numbers(v->count * v->h * v->w * v->ci, 24);
    float *dw = numbers(v->co * v->kernel * v->kernel * v->ci, 24);
    for (int64_t n = 0; n < v->count; n++)
        for (int64_t at = 0; at < v->out_h * v->out_w; at++)
            for (int64_t co = 0; co < v->co; co++)
                *to++ = naive_forward(v, n, at / v->out_w, at % v->out_w, co);
    to = dx;
    for (int64_t n = 0; n < v->count; n++)
        for (int64_t at = 0; at < v->h * v->w; at++)
            for (int64_t ci = 0; ci < v->ci; ci++)
                *to++ = naive_input_grad(v, n, at / v->w, at % v->w, ci);
    to = dw;
    for (int64_t co = 0; co < v->co; co++)
        for (int64_t tap = 0; tap < v->kernel * v->kernel; tap++)
            for (int64_t ci = 0; ci < v->ci; ci++)
                *to++ = naive_weight_grad(v, co, tap / v->kernel, tap % v->kernel, ci);
    hu_patches in = input_patches(v), gradient = gradient_patches(v);
    hu_gemm_task tasks[] = {forward_task(v, &in), input_grad_task(v, &gradient),
                            weight_grad_task(v, &in)};
    for (int i = 0; i < 3; i++) run(&tasks[i]);
    assert_same("forward", v->count * v->out_h * v->out_w * v->co, v->y, y);
    assert_same("input gradient", v->count * v->h * v->w * v->ci, v->dx, dx);
    assert_same("weight gradient", v->co * v->kernel * v->kernel * v->ci, v->dw, dw);
    hu_free(y);
    hu_free(dx);
    hu_free(dw);
}

static void convolutions_equal_naive_loops(void **state) {
    (void)state;
    /* count, h, w, ci, co, kernel, stride, pad, dilation */
    conv all[] = {conv_of(2, 9, 8, 16, 16, 3, 1, 1, 1), conv_of(3, 12, 11, 8, 24, 3, 2, 1, 1),
                  conv_of(2, 10, 10, 3, 16, 5, 1, 2, 1), conv_of(2, 13, 9, 20, 7, 3, 3, 0, 2),
                  conv_of(1, 6, 7, 32, 5, 1, 2, 0, 1)};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_conv(&all[i]);
        conv_free(&all[i]);
    }
}

/* ---- rounding on the way in ---- */

static void assert_counts(const char *what, const hu_round_counts *found,
                          const hu_round_counts *wanted) {
    if (found->elements != wanted->elements || found->overflow != wanted->overflow ||
        found->underflow != wanted->underflow || found->subnormal != wanted->subnormal ||
        found->zero != wanted->zero || found->nan != wanted->nan ||
        found->max_exponent != wanted->max_exponent || found->min_exponent != wanted->min_exponent)
        fail_msg("%s: other counts than of a pass of its own: %llu elements, expected %llu", what,
                 (unsigned long long)found->elements, (unsigned long long)wanted->elements);
}

/* The weight gradient and the forward product with rounded factors, against factors rounded before.
 */
static void check_rounded(const conv *v, bool is_forward, int threads) {
    hu_format format = format_of("e4m3");
    hu_round_counts counts[2], wanted[2];
    hu_patches p = input_patches(v);
    hu_gemm_task task = is_forward ? forward_task(v, &p) : weight_grad_task(v, &p);
    hu_operand *factors[] = {&task.a, &task.b};
    int64_t image = v->count * v->h * v->w * v->ci, output = task.m * task.n;
    int64_t other =
        is_forward ? v->co * v->kernel * v->kernel * v->ci : v->count * v->out_h * v->out_w * v->co;
    int64_t sizes[] = {is_forward ? image : other, is_forward ? other : image};
    task.accumulator = parsed("fmac8:1/6/9", HU_SEMANTICS_EXACT);
    task.threads = threads;
    for (int i = 0; i < 2; i++) {
        factors[i]->format = &format;
        factors[i]->counts = &counts[i];
        hu_round_counts_clear(&counts[i]);
        hu_round_counts_clear(&wanted[i]);
    }
    run(&task);
    float *first = numbers(output, 24), *rounded[2];
    memcpy(first, task.c, (size_t)output * sizeof *first);
    for (int i = 0; i < 2; i++) {
        rounded[i] = numbers(sizes[i], 24);
        assert_int_equal(hu_round_f32((size_t)sizes[i], factors[i]->data, rounded[i], &format,
                                      HU_ROUND_NEAREST_EVEN, NULL, 0, &wanted[i]),
                         HU_OK);
        factors[i]->data = rounded[i];
        factors[i]->format = NULL;
        assert_counts(is_forward ? "forward" : "weight gradient", &counts[i], &wanted[i]);
    }
    run(&task);
    assert_same("rounded factors", output, first, task.c);
    hu_free(first);
    for (int i = 0; i < 2; i++) hu_free(rounded[i]);
}

static void factors_are_rounded_as_in_passes_of_their_own(void **state) {
    (void)state;
    conv all[] = {conv_of(3, 9, 8, 16, 16, 3, 1, 1, 1), conv_of(2, 25, 24, 8, 30, 3, 2, 1, 1)};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (int threads = 1; threads < 4; threads++) {
            check_rounded(&all[i], true, threads);
            check_rounded(&all[i], false, threads);
        }
        conv_free(&all[i]);
    }
}

/* ---- sums that go on, scratch, teams ---- */

/* A weight gradient over batches of images: k in four calls, as the products of chunks. */
static void carried_weight_gradients_have_the_bits_of_one_call(void **state) {
    (void)state;
    const char *accumulators[] = {"fmac8:1/6/9", "fmac:1/6/9", "fmac13:1/5/2", "kahan:1/6/9",
                                  "mac:1/6/9",   "fmac:fp32",  "fmacs"};
    conv v = conv_of(8, 9, 7, 16, 30, 3, 1, 1, 1);
    hu_patches p = input_patches(&v);
    hu_gemm_task whole = weight_grad_task(&v, &p);
    float *carry = numbers((int64_t)hu_gemm_carry_floats(&whole.accumulator, whole.m, whole.n), 24);
    float *c = numbers(whole.m * whole.n, 24);
    for (size_t i = 0; i < sizeof accumulators / sizeof accumulators[0]; i++) {
        whole.accumulator = parsed(accumulators[i], HU_SEMANTICS_EXACT);
        run(&whole);
        hu_gemm_task part = whole;
        part.carry = carry;
        part.c = c;
        for (int64_t image = 0; image < 8; image += p.count) {
            p.count = image == 0 ? 1 : image == 1 ? 2 : 5;
            part.a.data = v.dy + image * v.out_h * v.out_w * v.co;
            part.b.data = v.x + image * v.h * v.w * v.ci;
            part.before = image * v.out_h * v.out_w;
            part.k = p.count * v.out_h * v.out_w;
            part.threads = 1 + (int)(image % 2);
            run(&part);
        }
        p.count = 8;
        assert_same(accumulators[i], whole.m * whole.n, c, whole.c);
    }
    hu_free(carry);
    hu_free(c);
    conv_free(&v);
}

/* A matrix with few rows of A and many of B, which lie side by side: panels of several are packed
 * at once, the last of them with padding. Rounded and counted as in a pass of its own. */
static void check_rounded_matrix(const char *accumulator, int64_t m, int64_t n, int64_t k,
                                 int threads) {
    hu_format format = format_of("e4m3");
    hu_round_counts counts, wanted;
    float *a = numbers(m * k, 10), *b = numbers(k * n, 24), *rounded = numbers(k * n, 24);
    float *c = numbers(m * n, 24), *first = numbers(m * n, 24);
    hu_gemm_task task = {
        .m = m,
        .n = n,
        .k = k,
        .a = {.data = a, .stride = k, .k_stride = 1},
        .b = {.data = b, .stride = 1, .k_stride = n, .format = &format, .counts = &counts},
        .accumulator = parsed(accumulator, HU_SEMANTICS_F32FMA),
        .c = first,
        .c_stride = n,
        .threads = threads};
    hu_round_counts_clear(&counts);
    hu_round_counts_clear(&wanted);
    run(&task);
    assert_int_equal(
        hu_round_f32((size_t)(k * n), b, rounded, &format, HU_ROUND_NEAREST_EVEN, NULL, 0, &wanted),
        HU_OK);
    task.b = (hu_operand){.data = rounded, .stride = 1, .k_stride = n};
    task.c = c;
    run(&task);
    assert_rows(accumulator, &task);
    assert_same("a rounded matrix", m * n, first, c);
    assert_counts("a rounded matrix", &counts, &wanted);
    float *all[] = {a, b, rounded, c, first};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) hu_free(all[i]);
}

static void rows_side_by_side_are_packed_together(void **state) {
    (void)state;
    for (int threads = 1; threads < 4; threads++) {
        check_rounded_matrix("fmac8:1/6/9", 17, 1000, 330, threads);
        check_rounded_matrix("fmacs", 5, 777, 1100, threads);
        check_rounded_matrix("mac:1/6/9", 40, 31, 650, threads);
        check_rounded_matrix("kahan:1/6/9", 9, 515, 8, threads);
    }
}

static void check_scratch(hu_gemm_task task) {
    const int64_t n[] = {1, 16, 38, 144, 576, 4608};
    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++)
        for (task.threads = 1; task.threads < 4; task.threads++) {
            size_t before = 0, bytes;
            task.n = n[i];
            task.k = 700;
            for (task.m = 1; task.m < 3000; task.m += 1 + task.m / 16, before = bytes) {
                assert_int_equal(hu_gemm_scratch_bytes(&task, &bytes), HU_OK);
                if (bytes < before) fail_msg("m %lld, n %lld", (long long)task.m, (long long)n[i]);
            }
            task.m = 150;
            before = 0;
            for (task.k = 1; task.k < 9000; task.k += 1 + task.k / 16, before = bytes) {
                assert_int_equal(hu_gemm_scratch_bytes(&task, &bytes), HU_OK);
                if (bytes < before) fail_msg("k %lld, n %lld", (long long)task.k, (long long)n[i]);
            }
        }
}

static void scratch_never_grows_when_extents_shrink(void **state) {
    (void)state;
    hu_gemm_task task = {.accumulator = parsed("kahan:1/6/9", HU_SEMANTICS_EXACT)};
    check_scratch(task);
    task.b.stride = 1; /* side by side */
    check_scratch(task);
    task.accumulator = parsed("fmac8:1/6/9", HU_SEMANTICS_F32FMA);
    check_scratch(task);
    task.accumulator = parsed("fmac:fp32", HU_SEMANTICS_F32FMA);
    check_scratch(task);
}

/* Scratch is asked for by extents, strides, formats and threads: counts that come later change
 * nothing. Nobody writes after it. */
static void check_asked(const char *accumulator, int64_t m, int64_t n, int64_t k, int threads,
                        bool counts_sums, bool is_b_by_rows) {
    enum { MARK = 64 };
    float *a = numbers(m * k, 10), *b = numbers(k * n, 10), *c = numbers(m * n, 24);
    hu_gemm_counts counts = {0};
    hu_gemm_task task = {.m = m,
                         .n = n,
                         .k = k,
                         .a = {.stride = k, .k_stride = 1},
                         .b = {.stride = is_b_by_rows ? k : 1, .k_stride = is_b_by_rows ? 1 : n},
                         .accumulator = parsed(accumulator, HU_SEMANTICS_F32FMA),
                         .threads = threads};
    size_t bytes;
    void *block;
    assert_int_equal(hu_gemm_scratch_bytes(&task, &bytes), HU_OK);
    assert_int_equal(hu_alloc(bytes + MARK, &block), HU_OK);
    memset((char *)block + bytes, 77, MARK);
    task.a.data = a;
    task.b.data = b;
    task.c = c;
    task.c_stride = n;
    task.scratch = block;
    if (counts_sums) task.counts = &counts;
    run(&task);
    for (int i = 0; i < MARK; i++)
        if (((char *)block)[bytes + (size_t)i] != 77)
            fail_msg("%s: %lld x %lld x %lld, %d threads: written behind the scratch", accumulator,
                     (long long)m, (long long)n, (long long)k, threads);
    assert_rows(accumulator, &task);
    hu_free(block);
    hu_free(a);
    hu_free(b);
    hu_free(c);
}

static void nobody_writes_behind_the_scratch(void **state) {
    (void)state;
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        for (int threads = 1; threads < 4; threads++)
            for (int way = 0; way < 4; way++) {
                check_asked("fmac8:1/6/9", 17, 1000, 330, threads, way & 1, way & 2);
                check_asked("fmac8:1/6/9", 16, 64, 300, threads, way & 1, way & 2);
                check_asked("fmac:fp32", 16, 64, 300, threads, way & 1, way & 2);
                check_asked("fmac:fp32", 5, 256, 320, threads, way & 1, way & 2);
                check_asked("kahan:1/6/9", 200, 70, 300, threads, way & 1, way & 2);
            }
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* Nobody writes outside the scratch that was asked for, and products run side by side. */
static void products_run_inside_a_team(void **state) {
    (void)state;
    enum { TEAM = 3, MARK = 64 };
    float *a = numbers(300 * 200, 10), *b = numbers(200 * 40, 10), *c[TEAM];
    char *scratch[TEAM];
    size_t bytes;
    hu_gemm_task task = {.m = 300,
                         .n = 40,
                         .k = 200,
                         .a = {.data = a, .stride = 200, .k_stride = 1},
                         .b = {.data = b, .stride = 1, .k_stride = 40},
                         .accumulator = parsed("fmac8:1/6/9", HU_SEMANTICS_EXACT),
                         .c_stride = 40,
                         .threads = 1};
    assert_int_equal(hu_gemm_scratch_bytes(&task, &bytes), HU_OK);
    for (int i = 0; i < TEAM; i++) {
        void *block;
        assert_int_equal(hu_alloc(bytes + MARK, &block), HU_OK);
        scratch[i] = block;
        memset(scratch[i] + bytes, 77, MARK);
        c[i] = numbers(300 * 40, 24);
    }
    uint64_t allocations = hu_memory_count().allocations;
#pragma omp parallel for num_threads(TEAM)
    for (int i = 0; i < TEAM; i++) {
        hu_gemm_task mine = task;
        mine.c = c[i];
        mine.scratch = scratch[i];
        (void)hu_gemm(&mine);
    }
    assert_int_equal(hu_memory_count().allocations, allocations);
    for (int i = 0; i < TEAM; i++) {
        assert_same("team", 300 * 40, c[i], c[0]);
        for (int mark = 0; mark < MARK; mark++)
            assert_int_equal(scratch[i][bytes + (size_t)mark], 77);
    }
    task.c = c[0];
    assert_rows("team", &task);
    for (int i = 0; i < TEAM; i++) {
        hu_free(scratch[i]);
        hu_free(c[i]);
    }
    hu_free(a);
    hu_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_larger_than_all_blocks_equal_the_reference),
        cmocka_unit_test(terms_with_small_products_get_kernels_of_their_own),
        cmocka_unit_test(convolutions_equal_naive_loops),
        cmocka_unit_test(factors_are_rounded_as_in_passes_of_their_own),
        cmocka_unit_test(carried_weight_gradients_have_the_bits_of_one_call),
        cmocka_unit_test(rows_side_by_side_are_packed_together),
        cmocka_unit_test(scratch_never_grows_when_extents_shrink),
        cmocka_unit_test(nobody_writes_behind_the_scratch),
        cmocka_unit_test(products_run_inside_a_team),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
