/* Winograd's algorithm: exact where float32 is, close to the sums in float64 elsewhere, the same
 * bits on every instruction set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/rng.h"
#include "kernel/conv/winograd.h"
#include "reference/conv.h"

enum { GUARD = 64, TAPS = 9, RESULTS = 3 };

/* x and dy whole numbers up to 8, weights multiples of 4 up to 32: no rounding anywhere; or
 * uniform in [-1, 1). */
typedef enum numbers { WHOLE, UNIFORM } numbers;

typedef struct geometry {
    int64_t h, w, in_c, out_c, pad_h, pad_w, count;
} geometry;

typedef struct arrays {
    hu_conv conv;
    int64_t count;
    float *x, *w, *bias, *dy, *before; /* before: what the weight gradient is added to, or NULL */
    int64_t size[RESULTS];             /* of y, dx, dw */
} arrays;

static void *zeroed(size_t count, size_t bytes) {
    void *block;
    assert_int_equal(hu_alloc_array(count, bytes, &block), HU_OK);
    return block;
}

static float *random_numbers(int64_t count, uint64_t stream, float most, numbers kind) {
    hu_random_key key = {.seed = 17, .stream = stream};
    float *x = zeroed((size_t)count, sizeof *x);
    for (int64_t i = 0; i < count; i++) {
        float u = 2 * hu_random_uniform(&key, (uint64_t)i) - 1;
        x[i] = kind == WHOLE ? most / 8 * rintf(8 * u) : u;
    }
    return x;
}

static hu_conv conv_of(const geometry *g) {
    return (hu_conv){.in_h = g->h,
                     .in_w = g->w,
                     .in_c = g->in_c,
                     .out_h = g->h + 2 * g->pad_h - 2,
                     .out_w = g->w + 2 * g->pad_w - 2,
                     .out_c = g->out_c,
                     .kernel_h = 3,
                     .kernel_w = 3,
                     .stride_h = 1,
                     .stride_w = 1,
                     .pad_h = g->pad_h,
                     .pad_w = g->pad_w,
                     .dilation_h = 1,
                     .dilation_w = 1};
}

static arrays make_arrays(const geometry *g, numbers kind, bool adds) {
    arrays a = {.conv = conv_of(g), .count = g->count};
    const hu_conv *c = &a.conv;
    a.size[0] = g->count * c->out_h * c->out_w * c->out_c;
    a.size[1] = g->count * c->in_h * c->in_w * c->in_c;
    a.size[2] = TAPS * c->in_c * c->out_c;
    a.x = random_numbers(a.size[1], 1, 8, kind);
    a.w = random_numbers(a.size[2], 2, 32, kind);
    a.dy = random_numbers(a.size[0], 3, 8, kind);
    a.bias = random_numbers(c->out_c, 4, 8, kind);
    a.before = adds ? random_numbers(a.size[2], 5, 8, kind) : NULL;
    return a;
}

static void free_arrays(arrays *a) {
    hu_free(a->x);
    hu_free(a->w);
    hu_free(a->dy);
    hu_free(a->bias);
    hu_free(a->before);
}

static char *guarded(size_t bytes) {
    char *block = zeroed(bytes + GUARD, 1);
    memset(block, 0x5a, bytes + GUARD);
    return block;
}

static void release(char *block, size_t bytes) {
    for (size_t i = 0; i < GUARD; i++) assert_int_equal(block[bytes + i], 0x5a);
    hu_free(block);
}

static void run_forward(const arrays *a, float *y) {
    const hu_conv *c = &a->conv;
    size_t packed_bytes = hu_winograd_forward_packed_bytes(c);
    size_t scratch_bytes = hu_winograd_forward_scratch_bytes(c);
    char *packed = guarded(packed_bytes), *scratch = guarded(scratch_bytes);
    void *weights = packed;
    hu_winograd_pack_forward(c, a->w, a->bias, weights);
    hu_winograd_forward(c, a->count, a->x, weights, scratch, y);
    release(packed, packed_bytes);
    release(scratch, scratch_bytes);
}

static void run_data(const arrays *a, float *dx) {
    const hu_conv *c = &a->conv;
    size_t packed_bytes = hu_winograd_data_packed_bytes(c);
    size_t scratch_bytes = hu_winograd_data_scratch_bytes(c);
    char *packed = guarded(packed_bytes), *scratch = guarded(scratch_bytes);
    void *weights = packed;
    hu_winograd_pack_data(c, a->w, weights);
    hu_winograd_data_gradient(c, a->count, a->dy, weights, scratch, dx);
    release(packed, packed_bytes);
    release(scratch, scratch_bytes);
}

static void run_weights(const arrays *a, float *dw) {
    size_t bytes = hu_winograd_weight_scratch_bytes(&a->conv, a->count);
    char *scratch = guarded(bytes);
    if (a->before) memcpy(dw, a->before, (size_t)a->size[2] * sizeof *dw);
    hu_winograd_weight_gradient(&a->conv, a->count, a->x, a->dy, a->before != NULL, scratch, dw);
    release(scratch, bytes);
}

/* y, dx, dw, each in a block of its own. */
static void run_all(const arrays *a, hu_isa isa, float *result[RESULTS]) {
    static void (*const run[RESULTS])(const arrays *, float *) = {run_forward, run_data,
                                                                  run_weights};
    hu_cpu_set_isa(isa);
    for (int i = 0; i < RESULTS; i++) {
        size_t bytes = (size_t)a->size[i] * sizeof(float);
        char *block = guarded(bytes);
        void *floats = block;
        result[i] = floats;
        run[i](a, result[i]);
        for (size_t k = 0; k < GUARD; k++) assert_int_equal(block[bytes + k], 0x5a);
    }
}

static void free_all(float *result[RESULTS]) {
    for (int i = 0; i < RESULTS; i++) hu_free(result[i]);
}

static void expect_all(const arrays *a, float *expected[RESULTS]) {
    const hu_conv *c = &a->conv;
    for (int i = 0; i < RESULTS; i++) expected[i] = zeroed((size_t)a->size[i], sizeof *expected[i]);
    if (a->before) memcpy(expected[2], a->before, (size_t)a->size[2] * sizeof(float));
    hu_conv_reference_forward(c, a->count, a->x, a->w, a->bias, expected[0]);
    hu_conv_reference_data(c, a->count, a->dy, a->w, expected[1]);
    hu_conv_reference_weights(c, a->count, a->x, a->dy, a->before != NULL, expected[2]);
}

static void fail_at(const geometry *g, int result, int64_t i, float found, float expected) {
    static const char *const names[RESULTS] = {"y", "dx", "dw"};
    fail_msg("%s: %s[%lld] is %a, expected %a; %lldx%lldx%lld -> %lld, pad %lld, %lld, count %lld",
             hu_isa_name(hu_cpu_isa()), names[result], (long long)i, (double)found,
             (double)expected, (long long)g->h, (long long)g->w, (long long)g->in_c,
             (long long)g->out_c, (long long)g->pad_h, (long long)g->pad_w, (long long)g->count);
}

/* Whole numbers: equal to the definition. */
static void check_exact(const geometry *g, bool adds) {
    arrays a = make_arrays(g, WHOLE, adds);
    float *expected[RESULTS], *found[RESULTS];
    expect_all(&a, expected);
    run_all(&a, hu_cpu_isa_native(), found);
    for (int r = 0; r < RESULTS; r++)
        for (int64_t i = 0; i < a.size[r]; i++)
            if (found[r][i] != expected[r][i]) fail_at(g, r, i, found[r][i], expected[r][i]);
    free_all(expected);
    free_all(found);
    free_arrays(&a);
}

/* Any numbers: the same bits on all instruction sets. */
static void check_bits(const geometry *g, bool adds) {
    arrays a = make_arrays(g, UNIFORM, adds);
    float *scalar[RESULTS], *found[RESULTS];
    run_all(&a, HU_ISA_SCALAR, scalar);
    for (hu_isa isa = HU_ISA_AVX2; isa <= hu_cpu_isa_native(); isa++) {
        run_all(&a, isa, found);
        for (int r = 0; r < RESULTS; r++)
            for (int64_t i = 0; i < a.size[r]; i++)
                if (memcmp(&found[r][i], &scalar[r][i], sizeof(float)) != 0)
                    fail_at(g, r, i, found[r][i], scalar[r][i]);
        free_all(found);
    }
    free_all(scalar);
    free_arrays(&a);
}

static void check(const geometry *g, bool adds) {
    hu_conv c = conv_of(g);
    if (c.out_h < 1 || c.out_w < 1) return;
    assert_true(hu_winograd_fits(&c));
    check_exact(g, adds);
    check_bits(g, adds);
}

static void places(void **state) {
    (void)state;
    int64_t turn = 0;
    for (int64_t h = 1; h <= 9; h++)
        for (int64_t w = 1; w <= 9; w++)
            for (int64_t pad = 0; pad <= 2; pad++, turn++) {
                const geometry g = {h, w, 8, 8 + turn % 3, pad, (pad + turn / 3) % 3, 1 + turn % 4};
                check(&g, turn % 2 == 1);
            }
}

static void channels(void **state) {
    static const int64_t sizes[] = {8, 9, 15, 16, 17, 24, 31, 33, 40, 64};
    (void)state;
    int64_t turn = 0;
    for (size_t i = 0; i < 10; i++)
        for (size_t o = 0; o < 10; o++, turn++) {
            const geometry g = {5 + turn % 3, 6 - turn % 2, sizes[i], sizes[o], 1,
                                turn % 3,     1 + turn % 3};
            check(&g, turn % 2 == 0);
        }
}

/* More tiles than a strip, and exactly so many; more filters than a group. */
static void large_images(void **state) {
    static const geometry g[] = {{32, 32, 16, 16, 1, 1, 2}, {16, 16, 32, 24, 1, 1, 1},
                                 {16, 16, 17, 40, 1, 1, 2}, {8, 8, 64, 64, 1, 1, 4},
                                 {4, 4, 130, 70, 1, 1, 5},  {3, 131, 9, 8, 2, 1, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof g / sizeof *g; i++) check(&g[i], i % 2 == 0);
}

/* The three results in float64: what output pixel (n, h, w) adds to them by tap k. */
static void add_tap(const arrays *a, int64_t n, int64_t h, int64_t w, int64_t k,
                    double *sum[RESULTS]) {
    const hu_conv *c = &a->conv;
    int64_t y = h - c->pad_h + k / 3, x = w - c->pad_w + k % 3;
    if (y < 0 || y >= c->in_h || x < 0 || x >= c->in_w) return;
    int64_t in = ((n * c->in_h + y) * c->in_w + x) * c->in_c;
    int64_t out = ((n * c->out_h + h) * c->out_w + w) * c->out_c;
    for (int64_t oc = 0; oc < c->out_c; oc++)
        for (int64_t ic = 0; ic < c->in_c; ic++) {
            int64_t tap = (oc * TAPS + k) * c->in_c + ic;
            sum[0][out + oc] += (double)a->x[in + ic] * (double)a->w[tap];
            sum[1][in + ic] += (double)a->dy[out + oc] * (double)a->w[tap];
            sum[2][tap] += (double)a->dy[out + oc] * (double)a->x[in + ic];
        }
}

static void sum_exactly(const arrays *a, double *sum[RESULTS]) {
    const hu_conv *c = &a->conv;
    for (int r = 0; r < RESULTS; r++) sum[r] = zeroed((size_t)a->size[r], sizeof *sum[r]);
    for (int64_t i = 0; i < a->size[0]; i++) sum[0][i] = (double)a->bias[i % c->out_c];
    for (int64_t n = 0; n < a->count; n++)
        for (int64_t h = 0; h < c->out_h; h++)
            for (int64_t w = 0; w < c->out_w; w++)
                for (int64_t k = 0; k < TAPS; k++) add_tap(a, n, h, w, k, sum);
}

static double mean_error(int64_t count, const float *found, const double *sum) {
    double squares = 0;
    for (int64_t i = 0; i < count; i++) {
        double error = (double)found[i] - sum[i];
        squares += error * error;
    }
    return sqrt(squares / (double)count);
}

/* Root mean square errors beside those of the definition, of numbers uniform in [-1, 1). */
static void errors_are_small(void **state) {
    static const geometry g[] = {{32, 32, 16, 16, 1, 1, 2},
                                 {8, 8, 64, 64, 1, 1, 4},
                                 {7, 9, 24, 17, 2, 0, 3},
                                 {16, 16, 128, 8, 1, 1, 1}};
    static const double most = 1.5;
    (void)state;
    for (size_t i = 0; i < sizeof g / sizeof *g; i++) {
        arrays a = make_arrays(&g[i], UNIFORM, false);
        float *found[RESULTS], *plain[RESULTS];
        double *sum[RESULTS];
        run_all(&a, hu_cpu_isa_native(), found);
        expect_all(&a, plain);
        sum_exactly(&a, sum);
        for (int r = 0; r < RESULTS; r++) {
            double by_definition = mean_error(a.size[r], plain[r], sum[r]);
            double ratio = mean_error(a.size[r], found[r], sum[r]) / by_definition;
            if (!(ratio <= most)) fail_msg("geometry %zu, result %d: %g times", i, r, ratio);
            hu_free(sum[r]);
        }
        free_all(plain);
        free_all(found);
        free_arrays(&a);
    }
}

/* Numbers of very different size: each times a power of two between 2^-12 and 2^12. */
static void spread_out(int64_t count, uint64_t stream, float *x) {
    hu_random_key key = {.seed = 23, .stream = stream};
    for (int64_t i = 0; i < count; i++)
        x[i] = ldexpf(x[i], (int)(hu_random_word(&key, (uint64_t)i) % 25) - 12);
}

/* The largest magnitude of channel ic among the 4x4 pixels that the tile of an output reads. */
static double most_of_tile(const arrays *a, int64_t n, int64_t h, int64_t w, int64_t ic) {
    const hu_conv *c = &a->conv;
    double most = 0;
    for (int64_t k = 0; k < 16; k++) {
        int64_t y = h / 2 * 2 - c->pad_h + k / 4, x = w / 2 * 2 - c->pad_w + k % 4;
        if (y < 0 || y >= c->in_h || x < 0 || x >= c->in_w) continue;
        most = fmax(most, fabs((double)a->x[((n * c->in_h + y) * c->in_w + x) * c->in_c + ic]));
    }
    return most;
}

/* The sum over channels of the largest pixel times the largest weight. */
static double size_of(const arrays *a, int64_t n, int64_t h, int64_t w, int64_t oc) {
    const hu_conv *c = &a->conv;
    double size = 0;
    for (int64_t ic = 0; ic < c->in_c; ic++) {
        double weight = 0;
        for (int64_t k = 0; k < TAPS; k++)
            weight = fmax(weight, fabs((double)a->w[(oc * TAPS + k) * c->in_c + ic]));
        size += weight * most_of_tile(a, n, h, w, ic);
    }
    return size;
}

/* The bound of docs/reference/numerics/sums.md for the forward product: 81 (C + 10) u times that
 * sum. */
static void errors_keep_their_bound(void **state) {
    static const geometry g[] = {
        {9, 8, 16, 16, 1, 1, 2}, {12, 12, 48, 17, 1, 1, 1}, {6, 7, 130, 8, 2, 0, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof g / sizeof *g; i++) {
        arrays a = make_arrays(&g[i], UNIFORM, false);
        const hu_conv *c = &a.conv;
        float *found[RESULTS];
        double *sum[RESULTS], worst = 0;
        spread_out(a.size[1], 1, a.x);
        spread_out(a.size[2], 2, a.w);
        memset(a.bias, 0, (size_t)c->out_c * sizeof *a.bias);
        run_all(&a, hu_cpu_isa_native(), found);
        sum_exactly(&a, sum);
        double bound = 81.0 * (double)(c->in_c + 10) * 0x1p-24;
        for (int64_t at = 0; at < a.size[0]; at++) {
            int64_t pixel = at / c->out_c, w = pixel % c->out_w, h = pixel / c->out_w % c->out_h;
            double size = size_of(&a, pixel / c->out_w / c->out_h, h, w, at % c->out_c);
            worst = fmax(worst, fabs((double)found[0][at] - sum[0][at]) / (bound * size));
        }
        if (!(worst <= 1.0)) fail_msg("geometry %zu: %g of the bound", i, worst);
        if (!(worst > 1e-5)) fail_msg("geometry %zu: a bound that says nothing, %g", i, worst);
        for (int r = 0; r < RESULTS; r++) hu_free(sum[r]);
        free_all(found);
        free_arrays(&a);
    }
}

static void what_does_not_pay(void **state) {
    static const geometry paying[] = {{7, 7, 16, 16, 1, 1, 1}, {32, 32, 64, 24, 1, 1, 1}},
                          other[] = {{4, 4, 512, 512, 1, 1, 1},
                                     {8, 8, 8, 16, 1, 1, 1},
                                     {8, 8, 16, 15, 1, 1, 1}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        hu_conv c = conv_of(&paying[i]);
        assert_true(hu_winograd_pays(&c));
        c.stride_h = 2;
        assert_false(hu_winograd_pays(&c));
    }
    for (size_t i = 0; i < 3; i++) {
        hu_conv c = conv_of(&other[i]);
        assert_true(hu_winograd_fits(&c));
        assert_false(hu_winograd_pays(&c));
    }
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    const geometry g = {8, 8, 8, 8, 1, 1, 1};
    const hu_conv fits = conv_of(&g);
    assert_true(hu_winograd_fits(&fits));
    hu_conv c[8];
    for (size_t i = 0; i < 8; i++) c[i] = fits;
    c[0].kernel_h = 5;
    c[1].kernel_w = 1;
    c[2].stride_h = 2;
    c[3].stride_w = 2;
    c[4].dilation_h = 2;
    c[5].pad_w = 3;
    c[6].in_c = 7;
    c[7].out_c = 3;
    for (size_t i = 0; i < 8; i++) assert_false(hu_winograd_fits(&c[i]));
}

static void results_do_not_depend_on_count(void **state) {
    (void)state;
    const geometry g = {7, 6, 20, 24, 1, 1, 5};
    arrays a = make_arrays(&g, UNIFORM, false);
    float *all[RESULTS], *one[RESULTS];
    run_all(&a, hu_cpu_isa_native(), all);
    arrays part = a;
    part.count = 1;
    for (int r = 0; r < 2; r++) part.size[r] /= 5;
    for (int64_t n = 0; n < 5; n++, part.x += part.size[1], part.dy += part.size[0]) {
        run_all(&part, hu_cpu_isa_native(), one);
        for (int r = 0; r < 2; r++)
            assert_memory_equal(one[r], all[r] + n * part.size[r],
                                (size_t)part.size[r] * sizeof(float));
        free_all(one);
    }
    free_all(all);
    free_arrays(&a);
}

/* An infinite pixel reaches the tiles that read it, and no other. */
static void an_infinity_reaches_its_tiles(void **state) {
    (void)state;
    const geometry g = {12, 12, 16, 16, 1, 1, 1};
    arrays a = make_arrays(&g, UNIFORM, false);
    float *found[RESULTS];
    a.x[(5 * 12 + 6) * 16 + 3] = INFINITY;
    run_all(&a, hu_cpu_isa_native(), found);
    for (int64_t i = 0; i < a.size[0]; i++) {
        int64_t h = i / 16 / 12, w = i / 16 % 12;
        bool is_read = h >= 4 && h <= 7 && w >= 4 && w <= 7;
        bool is_near = h >= 4 && h <= 6 && w >= 5 && w <= 7;
        if (is_near) assert_true(!isfinite(found[0][i]));
        if (!is_read) assert_true(isfinite(found[0][i]));
    }
    free_all(found);
    free_arrays(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(channels),
        cmocka_unit_test(large_images),
        cmocka_unit_test(errors_are_small),
        cmocka_unit_test(errors_keep_their_bound),
        cmocka_unit_test(what_does_not_pay),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(results_do_not_depend_on_count),
        cmocka_unit_test(an_infinity_reaches_its_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
