/* Uniform integers: every kernel against the definition element by element, bit for bit; ranges in
 * any order; packed and unpacked; residuals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/rng.h"
#include "kernel/uniform/uniform.h"
#include "reference/uniform.h"

enum { MOST = 4096, GUARD = 32, LINES = 64 };
static const hu_random_key key = {3, 5, 7};
static const hu_rounding modes[] = {HU_ROUND_NEAREST_EVEN, HU_ROUND_STOCHASTIC};

/* Numbers of widely spread size, some zeros of either sign. */
static void fill(float *x, size_t n, int spread, uint64_t seed) {
    hu_random_key own = {seed, 1, 2};
    for (size_t i = 0; i < n; i++) {
        uint32_t word = hu_random_word(&own, 2 * i + 1);
        int exponent = (int)(hu_random_word(&own, 2 * i) % (uint32_t)(2 * spread + 1)) - spread;
        x[i] = word % 9 == 0 ? (word & 16 ? -0.0f : 0.0f)
                             : ldexpf(hu_random_normal(&own, 7777 + i), exponent);
    }
}

static hu_uniform_scale scale_of(size_t n, const float *x, uint32_t bits) {
    float low = INFINITY, high = -INFINITY;
    hu_uniform_range(n, x, &low, &high);
    return hu_uniform_scale_of(low, high, bits);
}

/* What the contract says of the elements one by one. */
typedef struct expected {
    float y[MOST], residual[MOST];
    uint32_t codes[MOST];
    hu_round_counts counts;
} expected;

static void count_one(hu_uniform_scale scale, float levels, float x, float y,
                      hu_round_counts *counts) {
    float above = x - scale.zero, t = above / scale.step;
    counts->elements++;
    counts->nan += isnan(y) ? 1 : 0;
    counts->zero += y == 0.0f;
    counts->underflow += y == 0.0f && x != 0.0f;
    counts->overflow += t < -0.5f || t > levels + 0.5f;
    if (x == 0.0f || !isfinite(x)) return;
    int exponent = ilogbf(x);
    if (exponent > counts->max_exponent) counts->max_exponent = exponent;
    if (counts->min_exponent == HU_NO_EXPONENT || exponent < counts->min_exponent)
        counts->min_exponent = exponent;
}

static void by_reference(const hu_uniformer *u, const hu_uniform_scale *scale, size_t n,
                         const float *x, uint64_t index, expected *e) {
    hu_round_counts_clear(&e->counts);
    for (size_t i = 0; i < n; i++) {
        size_t place = i % (size_t)u->row_elements;
        hu_uniform_scale s = scale[u->line ? place / (size_t)u->line : 0];
        e->codes[i] =
            hu_uniform_reference(s, u->bits, u->rounding, x[i], hu_random_word(&key, index + i),
                                 &e->y[i], &e->residual[i]);
        count_one(s, (float)((1u << u->bits) - 1), x[i], e->y[i], &e->counts);
    }
}

static void expect_bits(const hu_uniformer *u, const char *what, const float *x, const float *y,
                        const float *wanted, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (hu_f32_bits(y[i]) != hu_f32_bits(wanted[i]))
            fail_msg("%s on %s, %u bits, %s, line %lld, element %zu: input %a gives %a, expected "
                     "%a",
                     what, hu_isa_name(hu_cpu_isa()), (unsigned)u->bits,
                     hu_rounding_name(u->rounding), (long long)u->line, i, (double)x[i],
                     (double)y[i], (double)wanted[i]);
}

/* A code from a dense stream, the least significant bit first. */
static uint32_t code_at(const uint8_t *bytes, size_t i, uint32_t width) {
    uint32_t code = 0;
    for (uint32_t k = 0; k < width; k++) {
        size_t bit = i * width + k;
        code |= (uint32_t)(bytes[bit / 8] >> bit % 8 & 1) << k;
    }
    return code;
}

static void check_codes(const hu_uniformer *u, int64_t rows, const uint8_t *data,
                        const expected *e) {
    size_t n = (size_t)u->row_elements;
    assert_int_equal(u->row_bytes, (n * u->bits + 7) / 8);
    for (size_t r = 0; r < (size_t)rows; r++)
        for (size_t i = 0; i < n; i++) {
            uint32_t code = code_at(data + r * u->row_bytes, i, u->bits);
            if (code != e->codes[r * n + i])
                fail_msg("%u bits, row %zu, element %zu: code %u, expected %u", (unsigned)u->bits,
                         r, i, (unsigned)code, (unsigned)e->codes[r * n + i]);
        }
}

/* NaNs under a finite range have no code. */
static void forget_nans(const hu_uniformer *u, const hu_uniform_scale *scale, expected *e,
                        size_t n) {
    for (size_t i = 0; i < n; i++) {
        hu_uniform_scale s = scale[u->line ? i % (size_t)u->row_elements / (size_t)u->line : 0];
        if (isnan(e->y[i]) && !isnan(s.step)) e->y[i] = s.zero;
    }
}

static void check_unpack(const hu_uniformer *u, const hu_uniform_scale *scale, int64_t rows,
                         const float *x, const uint8_t *data, expected *e) {
    static float y[MOST];
    size_t n = (size_t)u->row_elements;
    forget_nans(u, scale, e, (size_t)rows * n);
    for (size_t r = 0; r < (size_t)rows; r++) {
        const uint8_t *row = data + r * u->row_bytes;
        hu_uniform_unpack(u, scale, row, 0, n, y);
        expect_bits(u, "unpack", x + r * n, y, e->y + r * n, n);
        for (size_t first = 8; first < n; first += 8 * 13) {
            size_t count = n - first < 37 ? n - first : 37;
            hu_uniform_unpack(u, scale, row, (int64_t)first, count, y);
            expect_bits(u, "unpack part", x + r * n + first, y, e->y + r * n + first, count);
        }
    }
}

static void check_isa(uint32_t bits, hu_rounding rounding, int64_t rows, int64_t row_elements,
                      int64_t line, const hu_uniform_scale *scale, const float *x) {
    static expected e;
    static float y[MOST];
    static uint8_t data[2 * MOST + GUARD];
    hu_uniformer u;
    hu_round_counts rounded, packed;
    const uint64_t index = 1000003;
    size_t n = (size_t)(rows * row_elements);
    assert_int_equal(hu_uniformer_init(&u, bits, rounding, row_elements, line), HU_OK);
    by_reference(&u, scale, n, x, index, &e);
    hu_round_counts_clear(&rounded);
    hu_round_counts_clear(&packed);
    hu_uniform_round(&u, scale, rows, x, y, &key, index, &rounded);
    expect_bits(&u, "round", x, y, e.y, n);
    memcpy(y, x, n * sizeof *y);
    hu_uniform_round(&u, scale, rows, y, y, &key, index, NULL);
    expect_bits(&u, "round in place", x, y, e.y, n);
    hu_uniform_residual(&u, scale, rows, x, y);
    expect_bits(&u, "residual", x, y, e.residual, n);
    for (int counting = 0; counting < 2; counting++) {
        memset(data, 0xA5, sizeof data);
        hu_uniform_pack(&u, scale, rows, x, data, &key, index, counting ? &packed : NULL);
        for (size_t i = 0; i < GUARD; i++)
            assert_int_equal(data[(size_t)rows * u.row_bytes + i], 0xA5);
        check_codes(&u, rows, data, &e);
    }
    check_unpack(&u, scale, rows, x, data, &e);
    assert_memory_equal(&rounded, &e.counts, sizeof rounded);
    assert_memory_equal(&packed, &e.counts, sizeof packed);
}

/* On every instruction set that this machine has. */
static void check(uint32_t bits, hu_rounding rounding, int64_t rows, int64_t row_elements,
                  int64_t line, const hu_uniform_scale *scale, const float *x) {
    hu_isa before = hu_cpu_isa();
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        check_isa(bits, rounding, rows, row_elements, line, scale, x);
    }
    hu_cpu_set_isa(before);
}

static void test_every_width(void **state) {
    (void)state;
    static const int spreads[] = {0, 2, 9, 30, 120};
    static float x[MOST];
    for (uint32_t bits = 1; bits <= HU_UNIFORM_BITS_MOST; bits++)
        for (size_t m = 0; m < 2; m++)
            for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++) {
                fill(x, MOST, spreads[s], 17 * bits + s);
                hu_uniform_scale scale = scale_of(MOST, x, bits);
                check(bits, modes[m], 1, MOST, 0, &scale, x);
            }
}

/* Every exponent with every upper part of a fraction, infinities and NaNs too, in a range that
 * most of them are outside of, as that of earlier steps may be. */
static void test_all_short_inputs(void **state) {
    (void)state;
    static const hu_uniform_scale scales[] = {
        {-1.0f, 2.0f / 255}, {0.0f, 1e-8f}, {-3e38f, 1e36f}, {0x1p-100f, 0x1p-110f}};
    static float x[MOST];
    for (uint32_t start = 0; start < 0x10000; start += MOST)
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
            for (uint32_t i = 0; i < MOST; i++)
                x[i] = hu_f32_of_bits((start + i) << 16 | (i & 1 ? 0xFFFF : 0));
            check(2 + (start >> 12) % 15, modes[s % 2], 1, MOST, 0, &scales[s], x);
        }
}

/* Ties and their neighbours: x halfway between two codes. */
static void test_ties(void **state) {
    (void)state;
    static float x[MOST];
    const hu_uniform_scale scale = {0.0f, 1.0f};
    for (size_t i = 0; i + 4 <= MOST; i += 4) {
        x[i] = (float)(i / 4) + 0.5f;
        x[i + 1] = nextafterf(x[i], 1e9f);
        x[i + 2] = nextafterf(x[i], -1e9f);
        x[i + 3] = (float)(i / 4) - 0.25f;
    }
    for (uint32_t bits = 1; bits <= HU_UNIFORM_BITS_MOST; bits++)
        check(bits, HU_ROUND_NEAREST_EVEN, 1, MOST, 0, &scale, x);
}

/* The definition itself against numbers of 53 bits: a value is the nearest of the 2^b numbers that
 * are spread over the range exactly, but for what float32 operations lose. */
static void test_nearest_of_all(void **state) {
    (void)state;
    static float x[MOST], y[MOST];
    for (uint32_t bits = 1; bits <= HU_UNIFORM_BITS_MOST; bits++) {
        hu_uniformer u;
        hu_uniform_scale scale;
        float low = INFINITY, high = -INFINITY;
        fill(x, MOST, 1, bits);
        hu_uniform_range(MOST, x, &low, &high);
        scale = hu_uniform_scale_of(low, high, bits);
        assert_int_equal(hu_uniformer_init(&u, bits, HU_ROUND_NEAREST_EVEN, MOST, 0), HU_OK);
        hu_uniform_round(&u, &scale, 1, x, y, NULL, 0, NULL);
        double levels = ldexp(1, (int)bits) - 1, lost = 4 * 0x1p-24 * levels;
        double step = ((double)high - (double)low) / levels;
        for (size_t i = 0; i < MOST; i++) {
            double place = ((double)x[i] - (double)low) / step;
            double found = ((double)y[i] - (double)low) / step, code = rint(found);
            if (!(fabs(found - code) < lost && fabs(found - place) < 0.5 + lost && code >= 0 &&
                  code <= levels))
                fail_msg("%u bits: %.9g is %.9g, at %.9g of steps instead of %.9g", (unsigned)bits,
                         (double)x[i], (double)y[i], found, place);
        }
    }
}

/* Rows that end inside bytes, lines of every length, pieces that end inside lines. */
static void test_rows_and_lines(void **state) {
    (void)state;
    static float x[MOST];
    static hu_uniform_scale scale[MOST];
    fill(x, MOST, 3, 99);
    for (int64_t n = 1; n <= 70; n++)
        for (uint32_t bits = 1; bits <= HU_UNIFORM_BITS_MOST; bits += 1 + (uint32_t)n % 3) {
            scale[0] = scale_of((size_t)(5 * n), x, bits);
            check(bits, modes[n % 2], 5, n, 0, scale, x);
            for (int64_t l = 0; l < 7; l++) scale[l] = scale_of((size_t)n, x + l * n, bits);
            check(bits, modes[n % 2], 2, 7 * n, n, scale, x);
        }
    for (int64_t l = 0; l < 3; l++) scale[l] = scale_of(1029, x + l * 1029, 5);
    check(5, HU_ROUND_STOCHASTIC, 1, 3 * 1029, 1029, scale, x);
    check(11, HU_ROUND_STOCHASTIC, 1, 3 * 1029, 1029, scale, x);
}

/* Arrays that end where their numbers do: instrumented builds see what is touched after them. */
static void test_nothing_behind(void **state) {
    (void)state;
    static float x[MOST];
    fill(x, MOST, 2, 4);
    for (size_t n = 1; n <= 300; n++)
        for (uint32_t bits = 1; bits <= HU_UNIFORM_BITS_MOST; bits++) {
            hu_uniformer u;
            hu_uniform_scale scale = {-2, 0.01f};
            assert_int_equal(hu_uniformer_init(&u, bits, modes[n % 2], (int64_t)n, 0), HU_OK);
            float *own = malloc(n * sizeof *own), *y = malloc(n * sizeof *y);
            uint8_t *data = malloc(u.row_bytes);
            memcpy(own, x, n * sizeof *own);
            hu_uniform_pack(&u, &scale, 1, own, data, &key, 0, NULL);
            hu_uniform_unpack(&u, &scale, data, 0, n, y);
            hu_uniform_round(&u, &scale, 1, own, own, &key, 0, NULL);
            assert_memory_equal(own, y, n * sizeof *y);
            free(own);
            free(y);
            free(data);
        }
}

/* ---- ranges ---- */

static void expect_range(size_t n, const float *x, float low, float high) {
    float l = INFINITY, h = -INFINITY;
    hu_uniform_range(n, x, &l, &h);
    if (hu_f32_bits(l) != hu_f32_bits(low) || hu_f32_bits(h) != hu_f32_bits(high))
        fail_msg("%zu elements from %a: %a .. %a, expected %a .. %a", n, (double)x[0], (double)l,
                 (double)h, (double)low, (double)high);
}

static void test_known_ranges(void **state) {
    (void)state;
    const float nan = hu_f32_of_bits(HU_F32_NAN);
    expect_range(3, (float[]){1, -2, 3}, -2, 3);
    expect_range(2, (float[]){-3, -2}, -3, -2);
    expect_range(2, (float[]){-0.0f, -0.0f}, 0, 0);
    expect_range(2, (float[]){-0.0f, 5}, 0, 5);
    expect_range(2, (float[]){-5, -0.0f}, -5, 0);
    expect_range(2, (float[]){1e-45f, -1e-45f}, -1e-45f, 1e-45f);
    expect_range(2, (float[]){INFINITY, 1}, 1, INFINITY);
    expect_range(2, (float[]){-INFINITY, 1}, -INFINITY, 1);
    for (int i = 0; i < 40; i++) {
        float x[40], low = INFINITY, high = -INFINITY;
        for (int k = 0; k < 40; k++) x[k] = (float)k;
        x[i] = i % 2 ? NAN : -NAN;
        hu_uniform_range(40, x, &low, &high);
        assert_int_equal(hu_f32_bits(high), HU_F32_NAN);
        x[i] = 1;
        hu_uniform_range(40, x, &low, &high);
        assert_int_equal(hu_f32_bits(high), HU_F32_NAN);
        assert_true(isnan(hu_uniform_scale_of(low, high, 8).step));
    }
    float low = INFINITY, high = -INFINITY;
    hu_uniform_range_join(INFINITY, -INFINITY, &low, &high);
    assert_true(low == INFINITY && high == -INFINITY);
    hu_uniform_range_join(-1, 2, &low, &high);
    hu_uniform_range_join(INFINITY, -INFINITY, &low, &high);
    assert_true(low == -1 && high == 2);
    hu_uniform_range_join(0, nan, &low, &high);
    hu_uniform_range_join(0, 9, &low, &high);
    assert_int_equal(hu_f32_bits(high), HU_F32_NAN);
}

/* The same range however elements are ordered and cut into calls, on every instruction set. */
static void test_range_has_no_order(void **state) {
    (void)state;
    static float x[MOST];
    uint32_t order[MOST];
    for (uint64_t seed = 0; seed < 50; seed++) {
        float low = INFINITY, high = -INFINITY;
        size_t n = 1 + hu_random_word(&key, seed) % MOST;
        fill(x, n, 5, seed);
        for (size_t i = 0; i < n; i++) {
            low = x[i] < low ? x[i] : low;
            high = x[i] > high ? x[i] : high;
        }
        hu_random_permutation(&(hu_random_key){seed, 1, 1}, (uint32_t)n, order);
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            float l[2] = {INFINITY, INFINITY}, h[2] = {-INFINITY, -INFINITY};
            hu_cpu_set_isa((hu_isa)isa);
            for (size_t i = 0; i < n; i++) hu_uniform_range(1, &x[order[i]], &l[i % 2], &h[i % 2]);
            hu_uniform_range_join(l[1], h[1], &l[0], &h[0]);
            assert_int_equal(hu_f32_bits(l[0]), hu_f32_bits(low + 0.0f));
            assert_int_equal(hu_f32_bits(h[0]), hu_f32_bits(high + 0.0f));
            expect_range(n, x, low + 0.0f, high + 0.0f);
        }
        hu_cpu_set_isa(hu_cpu_isa_native());
    }
}

static void test_scales(void **state) {
    (void)state;
    hu_uniform_scale s = hu_uniform_scale_of(-1, 2, 2);
    assert_true(s.zero == -1 && s.step == 1);
    s = hu_uniform_scale_of(-0.0f, 255, 8);
    assert_true(s.step == 1 && !signbit(s.zero));
    s = hu_uniform_scale_of(3, 3, 8);
    assert_true(s.zero == 3 && s.step == 1e-8f);
    s = hu_uniform_scale_of(0, 1e-20f, 4);
    assert_true(s.step == 1e-8f);
    static const float ends[][2] = {{INFINITY, -INFINITY}, {0, INFINITY},
                                    {-INFINITY, 0},        {0, NAN},
                                    {-3e38f, 3e38f},       {INFINITY, INFINITY}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        float x[3] = {1, -7, 0};
        s = hu_uniform_scale_of(ends[i][0], ends[i][1], 8);
        assert_true(isnan(s.step));
        check(8, modes[i % 2], 1, 3, 0, &s, x);
        check(12, modes[i % 2], 3, 1, 0, &s, x);
    }
}

/* By hand: 2 bits over -1 .. 2 are the numbers -1, 0, 1, 2; one kept range clamps. */
static void test_known_values(void **state) {
    (void)state;
    const hu_uniform_scale s = {-1, 1};
    const float x[] = {-1, -0.5f, 0.5f, 1.5f, 0.6f, 9, -9, 0.4f};
    const float y[] = {-1, -1, 1, 1, 1, 2, -1, 0};
    float found[8], residual[8];
    hu_uniformer u;
    hu_round_counts counts;
    uint8_t data[2];
    assert_int_equal(hu_uniformer_init(&u, 2, HU_ROUND_NEAREST_EVEN, 8, 0), HU_OK);
    hu_round_counts_clear(&counts);
    hu_uniform_round(&u, &s, 1, x, found, NULL, 0, &counts);
    assert_memory_equal(found, y, sizeof y);
    assert_int_equal(counts.overflow, 2);
    assert_int_equal(counts.zero, 1);
    assert_int_equal(counts.underflow, 1);
    assert_int_equal(counts.max_exponent, 3);
    assert_int_equal(counts.min_exponent, -2);
    hu_uniform_pack(&u, &s, 1, x, data, NULL, 0, NULL);
    assert_int_equal(data[0], 0 | 0 << 2 | 2 << 4 | 2 << 6);
    assert_int_equal(data[1], 2 | 3 << 2 | 0 << 4 | 1 << 6);
    hu_uniform_residual(&u, &s, 1, x, residual);
    assert_true(residual[0] == 0 && residual[1] == -0.5f && residual[2] == 0.5f);
    assert_true(residual[3] == -0.5f && residual[5] == 0 && residual[6] == 0);
}

static void test_refused(void **state) {
    (void)state;
    hu_uniformer u;
    assert_int_equal(hu_uniformer_init(&u, 0, HU_ROUND_NEAREST_EVEN, 8, 0), HU_ERR_ARGUMENT);
    assert_int_equal(hu_uniformer_init(&u, 17, HU_ROUND_NEAREST_EVEN, 8, 0), HU_ERR_ARGUMENT);
    assert_int_equal(hu_uniformer_init(&u, 8, HU_ROUND_UP, 8, 0), HU_ERR_ARGUMENT);
    assert_int_equal(hu_uniformer_init(&u, 8, HU_ROUND_STOCHASTIC, INT64_MAX, 0), HU_ERR_SHAPE);
}

/* ---- stochastic rounding ---- */

/* The mean of many values is the number itself: within 5 standard deviations of the mean, which
 * are at most 5 * step / 2 / sqrt(n). */
static void test_stochastic_is_unbiased(void **state) {
    (void)state;
    enum { DRAWS = 1 << 16 };
    static float x[DRAWS], y[DRAWS];
    for (uint32_t bits = 1; bits <= HU_UNIFORM_BITS_MOST; bits += 3)
        for (int k = 0; k < 20; k++) {
            hu_uniformer u;
            hu_uniform_scale s = hu_uniform_scale_of(-0.7f, 1.9f, bits);
            float number = -0.7f + 2.6f * (float)k / 19.3f;
            double sum = 0, bound = 5 * (double)s.step / 2 / sqrt(DRAWS);
            for (size_t i = 0; i < DRAWS; i++) x[i] = number;
            assert_int_equal(hu_uniformer_init(&u, bits, HU_ROUND_STOCHASTIC, DRAWS, 0), HU_OK);
            hu_uniform_round(&u, &s, 1, x, y, &key, (uint64_t)k * DRAWS, NULL);
            for (size_t i = 0; i < DRAWS; i++) sum += (double)y[i] - (double)number;
            if (!(fabs(sum / DRAWS) < bound + 1e-7))
                fail_msg("%u bits, %g: mean error %g, expected less than %g", (unsigned)bits,
                         (double)number, sum / DRAWS, bound);
        }
}

/* ---- residuals as codes ---- */

static void test_residual_codes(void **state) {
    (void)state;
    float x[101], y[101];
    uint8_t data[101 + GUARD];
    for (uint32_t r = 2; r <= 8; r++)
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
            for (size_t n = 1; n <= 101; n++) {
                const double steps = (double)((1u << r) - 2);
                hu_cpu_set_isa((hu_isa)isa);
                for (size_t i = 0; i < n; i++) x[i] = i % 7 == 3 ? 0.0f : (float)i / 100.0f - 0.5f;
                if (n > 50) x[50] = NAN;
                memset(data, 0xA5, sizeof data);
                hu_uniform_residual_pack(r, n, x, data);
                assert_int_equal(hu_uniform_residual_bytes(r, n), (n * r + 7) / 8);
                assert_int_equal(data[(n * r + 7) / 8], 0xA5);
                hu_uniform_residual_unpack(r, n, data, y);
                for (size_t i = 0; i < n; i++) {
                    float nearest = (float)(rint((double)(x[i] * (float)steps)) / steps);
                    if (i == 50) nearest = hu_f32_of_bits(HU_F32_NAN);
                    if (!(y[i] == nearest || (isnan(y[i]) && i == 50)))
                        fail_msg("%u bits, %g: %g, expected %g", (unsigned)r, (double)x[i],
                                 (double)y[i], (double)nearest);
                }
            }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* The derivative of a loss by the step is the sum of gradient times residual. What codes of r bits
 * do to it, over tensors of independent numbers: errors of residuals are even over 1 / (2^r - 2),
 * residuals over 1, so that the error of the sum is 1 / (2^r - 2) of it, in the mean of squares. */
enum { TENSORS = 300, ELEMENTS = 4096 };

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The sum with exact residuals, and what codes of r bits change of it. */
static double sum_and_error(uint32_t r, const float *gradient, const float *residual,
                            double *error) {
    static float kept[ELEMENTS];
    static uint8_t data[ELEMENTS];
    double sum = 0;
    *error = 0;
    hu_uniform_residual_pack(r, ELEMENTS, residual, data);
    hu_uniform_residual_unpack(r, ELEMENTS, data, kept);
    for (size_t i = 0; i < ELEMENTS; i++) {
        sum += (double)gradient[i] * (double)residual[i];
        *error += (double)gradient[i] * ((double)kept[i] - (double)residual[i]);
    }
    return sum;
}

static void check_step_gradient(uint32_t bits, bool is_rectified, uint32_t r) {
    static float x[ELEMENTS], gradient[ELEMENTS], residual[ELEMENTS];
    double relative[TENSORS], sums = 0, errors = 0;
    hu_uniformer u;
    assert_int_equal(hu_uniformer_init(&u, bits, HU_ROUND_NEAREST_EVEN, ELEMENTS, 0), HU_OK);
    for (uint64_t t = 0; t < TENSORS; t++) {
        hu_random_key own = {t, bits, 9};
        for (size_t i = 0; i < ELEMENTS; i++) {
            x[i] = hu_random_normal(&own, i);
            if (is_rectified && x[i] < 0.0f) x[i] = 0.0f;
            gradient[i] = hu_random_normal(&own, ELEMENTS + i);
        }
        hu_uniform_scale scale = scale_of(ELEMENTS, x, bits);
        double error, sum;
        hu_uniform_residual(&u, &scale, 1, x, residual);
        sum = sum_and_error(r, gradient, residual, &error);
        relative[t] = fabs(error / sum);
        sums += sum * sum;
        errors += error * error;
    }
    qsort(relative, TENSORS, sizeof *relative, by_size);
    double found = sqrt(errors / sums), wanted = 1 / (ldexp(1, (int)r) - 2);
    print_message("%u bits%s, residuals of %u bits: error %.3f %% (mean of squares), %.3f %% "
                  "(median)\n",
                  (unsigned)bits, is_rectified ? ", rectified" : "", (unsigned)r, 100 * found,
                  100 * relative[TENSORS / 2]);
    /* Sums of squares of 300 numbers: one part in 12 is a standard deviation of their ratio. */
    assert_true(found > 0.65 * wanted && found < 1.4 * wanted);
}

static void test_step_gradient(void **state) {
    (void)state;
    for (uint32_t bits = 3; bits <= 8; bits += 5)
        for (int is_rectified = 0; is_rectified < 2; is_rectified++)
            for (uint32_t r = 4; r <= 8; r += 2) check_step_gradient(bits, is_rectified != 0, r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_every_width),
        cmocka_unit_test(test_all_short_inputs),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_nearest_of_all),
        cmocka_unit_test(test_rows_and_lines),
        cmocka_unit_test(test_nothing_behind),
        cmocka_unit_test(test_known_ranges),
        cmocka_unit_test(test_range_has_no_order),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_stochastic_is_unbiased),
        cmocka_unit_test(test_residual_codes),
        cmocka_unit_test(test_step_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
