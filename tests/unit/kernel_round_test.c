/* Every rounding kernel of round.list on every instruction set of this machine equals the integer
 * reference bit for bit, results and counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "format/value.h"
#include "kernel/round/round.h"

static const char *const formats[] = {
    "fp32", "tf32", "bf16", "fp16", "e5m2", "e4m3fn", "e4m3", "e5m2fnuz", "e4m3fnuz", "e4m3b11fnuz",
    "e3m4", "e3m2", "e2m3", "e2m1", "1/6/9/d", "1/6/9/n", "fp(4,3,4)", "fp(6,9,0)",
    /* no fraction bits: ties by the parity of the significand */
    "e3m0", "e2m0", "e8m0", "e5m0:sub=n", "e1m0:specials=fin", "e1m3:specials=fin",
    /* all fraction bits, no bit dropped */
    "e5m23", "e7m23:ovf=sat", "e7m22", "e8m22", "e8m23:sub=n", "e8m1:ovf=nan", "e8m7:sub=n",
    /* every overflow rule and kind of specials */
    "e5m2:ovf=sat", "e5m2:ovf=nan", "e4m3fn:ovf=sat", "e4m3fn:ovf=inf", "e4m3fnuz:ovf=sat",
    "e4m3fnuz:sub=n", "e2m1:ovf=inf", "fp16:sub=n:ovf=sat", "e5m10:specials=fnuz:sub=n:ovf=inf",
    /* ranges at both ends of binary32: normal numbers below 2^-126, largest exponent 127 */
    "e4m3:bias=140", "e5m10:bias=139", "e2m1:bias=149", "e8m7:bias=140", "e8m7:bias=143:sub=n",
    "e4m3:bias=127", "e4m3fn:bias=-112", "e5m10:bias=-97", "e5m2:bias=-97:ovf=sat",
    "e5m23:bias=-97", "e6m9:bias=-65:ovf=sat", "e7m22:bias=-1",
    /* no subnormals, and a coarse quantum in their place, on every route */
    "1/6/9:sub=nearest", "e5m2:sub=nearest", "e4m3:sub=nearest:ovf=sat", "e8m7:sub=nearest",
    "e8m23:sub=nearest", "e8m0:sub=nearest", "e5m23:sub=nearest", "e7m22:sub=nearest:ovf=nan",
    "e4m3fnuz:sub=nearest", "e4m3:bias=140:sub=nearest", "e8m7:bias=143:sub=nearest",
    "e4m3:bias=-103:sub=nearest", "e4m3:bias=-104:sub=nearest", "e2m22:bias=-104:sub=nearest",
    "e3m23:bias=-103:sub=nearest", "e3m23:bias=-104:sub=nearest",
    /* infinities that stay while numbers saturate, on every route */
    "e5m2:ovf=propagate", "fp16:sub=n:ovf=propagate", "e8m7:ovf=propagate", "e5m23:ovf=propagate",
    "e4m3:bias=140:ovf=propagate", "fp32:ovf=propagate",
    /* NaNs that overflow */
    "fp(4,3,4):nan=ovf", "fp(5,2,0):ovf=inf:nan=ovf", "fp(6,9,0):ovf=nan:nan=ovf",
    "fp(7,9,2):nan=ovf", "fp(4,3,124):ovf=inf:nan=ovf", "e4m23:specials=fin:nan=ovf",
    "fp(4,3,4):sub=nearest:ovf=inf:nan=ovf"};
enum { FORMATS = sizeof formats / sizeof formats[0], INPUTS = 20000, ENOUGH = 6000 };

static const hu_random_key key = {0x0123456789abcdefu, 0xfedcba9876543210u, 77};
static float inputs[INPUTS], expected[INPUTS], got[INPUTS + 8];
static uint32_t words[INPUTS];
static size_t input_count;

static void add_input(uint32_t bits) {
    if (input_count + 2 > INPUTS) return;
    inputs[input_count++] = hu_f32_of_bits(bits & ~HU_F32_SIGN);
    inputs[input_count++] = hu_f32_of_bits(bits | HU_F32_SIGN);
}

static void add_neighbours(double value) {
    if (value > (double)hu_f32_of_bits(HU_F32_INFINITY - 1)) return;
    uint32_t bits = hu_f32_bits((float)value);
    for (uint32_t i = 0; i < 5; i++) add_input(bits + i >= 2 ? bits + i - 2 : 0);
}

/* A code's value, the tie above it, and their neighbours. */
static void add_code(const hu_format *format, uint32_t code) {
    double low = hu_f32_of_bits(hu_format_magnitude_bits(format, code));
    add_neighbours(low);
    if (code >= hu_format_code_max(format)) return;
    double high = hu_f32_of_bits(hu_format_magnitude_bits(format, code + 1));
    add_neighbours((low + high) / 2);
}

/* Boundary operands of a format, then random patterns up to the number INPUTS. */
static void make_inputs(const hu_format *format) {
    static const uint32_t specials[] = {0,          1,          2,          3,          0x003fffff,
                                        0x00400000, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff,
                                        0x01000000, 0x7f7fffff, 0x7f7ffffe, 0x7f000000, 0x7f800000,
                                        0x7f800001, 0x7fa00000, 0x7fbfffff, 0x7fc00000, 0x7fffffff};
    uint32_t max = hu_format_code_max(format), hidden = 1u << format->man_bits;
    hu_format_limits limits = hu_format_limits_of(format);
    input_count = 0;
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) add_input(specials[i]);
    add_neighbours(limits.overflow_threshold);
    add_neighbours(limits.underflow_threshold);
    add_neighbours(limits.max_finite * 2);
    add_neighbours(limits.min_subnormal / 2);
    add_neighbours(limits.min_subnormal / 4);
    for (uint32_t c = 0; c <= max && c < 300; c++) add_code(format, c);
    for (uint32_t c = 0; c < 16; c++) {
        if (hidden - 8 + c <= max && hidden + c >= 8) add_code(format, hidden - 8 + c);
        if (c <= max) add_code(format, max - c);
    }
    for (uint32_t i = 0; input_count + 2 <= INPUTS; i++) {
        uint32_t word = hu_random_word(&key, 1000000 + i);
        uint32_t near = hu_f32_bits((float)limits.min_normal) + (word & 0x07ffffff);
        add_input(i & 1 ? word : near);
    }
}

static void set_expected(const hu_format *format, hu_rounding rounding) {
    for (size_t i = 0; i < input_count; i++)
        expected[i] = hu_format_round(format, rounding, inputs[i], words[i]);
}

/* Overflow as documented: rounded to the same precision, in a range that ends far from x, it lies
 * beyond the largest finite value. */
static int goes_beyond(const hu_format *format, hu_rounding rounding, float x, uint32_t word) {
    hu_format wide = {.exp_bits = 8, .man_bits = format->man_bits, .subnormals = 1};
    wide.bias = fabsf(x) >= 1 || format->bias < 127 ? 127 : format->bias;
    if (isinf(x)) return 1;
    double y = hu_format_round(&wide, rounding, x, word);
    return fabs(y) > hu_format_limits_of(format).max_finite;
}

static hu_round_counts recount(const hu_format *format, hu_rounding rounding, size_t n) {
    hu_round_counts c;
    hu_format kept = *format;
    double min_normal = hu_format_limits_of(format).min_normal;
    kept.subnormals = 1;
    kept.underflow = HU_UNDERFLOW_FLUSH;
    bool is_coarse = format->underflow == HU_UNDERFLOW_NEAREST;
    hu_round_counts_clear(&c);
    for (size_t i = 0; i < n; i++) {
        float x = inputs[i];
        double before = fabs((double)hu_format_round(&kept, rounding, x, words[i]));
        c.elements++;
        c.nan += isnan(x) != 0;
        c.zero += expected[i] == 0;
        c.underflow += expected[i] == 0 && x != 0;
        c.subnormal += !is_coarse && before > 0 && before < min_normal;
        c.overflow += !isnan(x) && goes_beyond(format, rounding, x, words[i]);
        if (!isfinite(x) || x == 0) continue;
        int exponent = ilogbf(x);
        if (exponent > c.max_exponent) c.max_exponent = exponent;
        bool is_less = c.min_exponent == HU_NO_EXPONENT || exponent < c.min_exponent;
        if (is_less) c.min_exponent = exponent;
    }
    return c;
}

static void assert_counts_equal(const hu_round_counts *a, const hu_round_counts *b,
                                const char *what) {
    if (memcmp(a, b, sizeof *a) == 0) return;
    const hu_round_counts *both[2] = {a, b};
    for (int i = 0; i < 2; i++)
        print_error("%s: overflow %llu underflow %llu subnormal %llu zero %llu nan %llu exponents "
                    "%d..%d of %llu\n",
                    what, (unsigned long long)both[i]->overflow,
                    (unsigned long long)both[i]->underflow, (unsigned long long)both[i]->subnormal,
                    (unsigned long long)both[i]->zero, (unsigned long long)both[i]->nan,
                    both[i]->min_exponent, both[i]->max_exponent,
                    (unsigned long long)both[i]->elements);
    fail();
}

static void assert_same_bits(const float *a, const float *b, size_t n, const char *what) {
    for (size_t i = 0; i < n; i++)
        if (hu_f32_bits(a[i]) != hu_f32_bits(b[i]))
            fail_msg("%s: element %zu of %zu, input %a: %a, expected %a", what, i, n,
                     (double)inputs[i], (double)a[i], (double)b[i]);
}

static void check_kernel(const hu_format *format, const hu_round_variant *v, hu_isa isa,
                         const char *what) {
    hu_rounder rounder;
    hu_round_counts counts, wanted = recount(format, v->rounding, input_count);
    assert_int_equal(hu_rounder_init_variant(&rounder, format, v, isa), HU_OK);
    memset(got, 0x55, sizeof got);
    hu_rounder_run(&rounder, input_count, inputs, got, &key, 0, NULL);
    assert_same_bits(got, expected, input_count, what);
    hu_round_counts_clear(&counts);
    memcpy(got, inputs, sizeof inputs);
    hu_rounder_run(&rounder, input_count, got, got, &key, 0, &counts);
    assert_same_bits(got, expected, input_count, what);
    assert_counts_equal(&counts, &wanted, what);
}

/* Every kernel in the given mode, or in any (HU_ROUND_COUNT). */
static void check_kernels(const char *name, const hu_format *format, hu_rounding mode) {
    for (size_t v = 0; v < hu_round_variant_count(); v++) {
        const hu_round_variant *variant = hu_round_variant_at(v);
        if (mode != HU_ROUND_COUNT && variant->rounding != mode) continue;
        if (!hu_round_route_serves(variant->route, variant->rounding, format)) continue;
        set_expected(format, variant->rounding);
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            char what[128];
            snprintf(what, sizeof what, "%s %s %s", name, variant->name, hu_isa_name((hu_isa)isa));
            check_kernel(format, variant, (hu_isa)isa, what);
        }
    }
}

static void every_kernel_equals_the_reference_on_boundary_operands(void **state) {
    (void)state;
    hu_random_words(&key, 0, INPUTS, words);
    for (size_t f = 0; f < FORMATS; f++) {
        hu_format format;
        if (hu_format_parse(formats[f], &format) != HU_OK)
            fail_msg("%s: %s", formats[f], hu_last_error());
        make_inputs(&format);
        check_kernels(formats[f], &format, HU_ROUND_COUNT);
    }
}

/* Leaves the inputs that are not beyond the largest finite number, repeated where they are few. */
static void leave_calm(const hu_format *format) {
    double most = hu_format_limits_of(format).max_finite;
    size_t kept = 0;
    for (size_t i = 0; i < input_count; i++)
        if (fabs((double)inputs[i]) <= most) inputs[kept++] = inputs[i];
    for (input_count = kept; input_count < ENOUGH; input_count++)
        inputs[input_count] = inputs[input_count - kept];
}

/* Blocks in which nothing is beyond the format have a loop of their own; one number decides. */
static void calm_blocks_equal_the_reference(void **state) {
    (void)state;
    static const uint32_t beyond[] = {0x7f800000, 0xffc00001, 0xff7fffff};
    for (size_t f = 0; f < FORMATS; f++) {
        hu_format format;
        assert_int_equal(hu_format_parse(formats[f], &format), HU_OK);
        make_inputs(&format);
        leave_calm(&format);
        check_kernels(formats[f], &format, HU_ROUND_COUNT);
        inputs[4100 + f % 3] = hu_f32_of_bits(beyond[f % 3]);
        check_kernels(formats[f], &format, HU_ROUND_COUNT);
    }
}

/* Numbers on the grid count as if they were rounded again, infinities and NaNs among them. */
static void numbers_on_the_grid_count_as_if_rounded(void **state) {
    (void)state;
    for (size_t f = 0; f < FORMATS; f++) {
        hu_format format;
        hu_rounder rounder;
        assert_int_equal(hu_format_parse(formats[f], &format), HU_OK);
        assert_int_equal(hu_rounder_init(&rounder, &format, HU_ROUND_NEAREST_EVEN), HU_OK);
        make_inputs(&format);
        leave_calm(&format);
        set_expected(&format, HU_ROUND_NEAREST_EVEN);
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            hu_round_counts counts, wanted;
            hu_cpu_set_isa((hu_isa)isa);
            hu_round_counts_clear(&counts);
            hu_round_counts_clear(&wanted);
            hu_rounder_run(&rounder, input_count, expected, got, NULL, 0, &wanted);
            hu_count_on_grid(&rounder, input_count, expected, &counts);
            assert_counts_equal(&counts, &wanted, formats[f]);
        }
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* The named format, or one that the variant's route serves. */
static void init_named(hu_rounder *rounder, const char *name, const hu_round_variant *v,
                       hu_isa isa) {
    hu_format format;
    assert_int_equal(hu_format_parse(name, &format), HU_OK);
    if (v->route == HU_ROUTE_ALIGNED) hu_format_parse("bf16", &format);
    if (v->route == HU_ROUTE_SUBNORMAL) hu_format_parse("e5m23", &format);
    assert_int_equal(hu_rounder_init_variant(rounder, &format, v, isa), HU_OK);
}

static void every_length_and_offset_writes_its_elements_only(void **state) {
    (void)state;
    enum { LONGEST = 2 * 16 + 1, AROUND = 8 };
    uint32_t some[LONGEST];
    float x[LONGEST + AROUND], y[LONGEST + AROUND];
    hu_format fp16;
    hu_format_parse("fp16", &fp16);
    make_inputs(&fp16);
    for (size_t v = 0; v < hu_round_variant_count(); v++)
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            hu_rounder r;
            init_named(&r, "fp16", hu_round_variant_at(v), (hu_isa)isa);
            for (size_t n = 0; n <= LONGEST; n++)
                for (size_t offset = 0; offset < 4; offset++) {
                    hu_random_words(&key, n, LONGEST, some);
                    memcpy(x, inputs + 20 * n, sizeof x);
                    memset(y, 0x55, sizeof y);
                    hu_rounder_run(&r, n, x + offset, y + offset, &key, n, NULL);
                    for (size_t i = 0; i < LONGEST + AROUND; i++) {
                        uint32_t wanted = 0x55555555;
                        if (i >= offset && i < offset + n)
                            wanted = hu_f32_bits(
                                hu_format_round(&r.format, r.rounding, x[i], some[i - offset]));
                        assert_int_equal(hu_f32_bits(y[i]), wanted);
                    }
                }
        }
}

static void splitting_an_array_changes_nothing(void **state) {
    (void)state;
    static const size_t parts[] = {1, 7, 64, 1023, 1025, 4096};
    const uint64_t first = ((uint64_t)1 << 34) - 5001; /* the block counter carries on the way */
    hu_format format;
    hu_format_parse("1/6/9/n", &format);
    make_inputs(&format);
    hu_random_words(&key, first, INPUTS, words);
    for (size_t v = 0; v < hu_round_variant_count(); v++)
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            hu_rounder r;
            hu_round_counts whole, sum, part;
            init_named(&r, "1/6/9/n", hu_round_variant_at(v), (hu_isa)isa);
            set_expected(&r.format, r.rounding);
            hu_round_counts_clear(&whole);
            hu_rounder_run(&r, INPUTS, inputs, got, &key, first, &whole);
            assert_same_bits(got, expected, INPUTS, "whole");
            hu_round_counts_clear(&sum);
            for (size_t at = 0, turn = 0; at < INPUTS; turn++) {
                size_t n = parts[turn % 6] < INPUTS - at ? parts[turn % 6] : INPUTS - at;
                hu_round_counts_clear(&part);
                hu_rounder_run(&r, n, inputs + at, got + at, &key, first + at, &part);
                hu_round_counts_add(&sum, &part);
                at += n;
            }
            assert_same_bits(got, expected, INPUTS, "parts");
            assert_counts_equal(&sum, &whole, "parts");
        }
}

/* Arrays beyond the caches take other stores, and other code, than small ones. */
static void large_arrays_equal_their_parts(void **state) {
    (void)state;
    enum { N = (1 << 23) + 37, PART = 50000, VECTOR = 8 };
    static const char *const names[] = {"1/6/9",
                                        "1/6/9/n",
                                        "e4m3fnuz",
                                        "bf16",
                                        "e8m0",
                                        "e8m7:ovf=sat:sub=n",
                                        "e5m23",
                                        "fp32",
                                        "1/6/9:sub=nearest",
                                        "fp(4,3,4):nan=ovf"};
    float *x = malloc(N * sizeof *x), *y = malloc((N + VECTOR) * sizeof *y),
          *z = malloc(N * sizeof *z);
    assert_true(x && y && z);
    for (size_t i = 0; i < N; i++) x[i] = hu_f32_of_bits((uint32_t)(i * 2654435761u));
    for (size_t f = 0; f < sizeof names / sizeof names[0]; f++) {
        hu_format format;
        hu_rounder r;
        hu_round_counts whole, sum;
        assert_int_equal(hu_format_parse(names[f], &format), HU_OK);
        assert_int_equal(hu_rounder_init(&r, &format, HU_ROUND_NEAREST_EVEN), HU_OK);
        hu_round_counts_clear(&whole);
        hu_round_counts_clear(&sum);
        for (size_t at = 0; at < N; at += PART)
            hu_rounder_run(&r, N - at < PART ? N - at : PART, x + at, z + at, NULL, 0, &sum);
        for (int counting = 0; counting < 2; counting++) {
            size_t shift = f % VECTOR; /* at every distance from a vector's boundary */
            float *to = y + shift;
            memset(y, 0x55, (N + VECTOR) * sizeof *y);
            hu_rounder_run(&r, N, x, to, NULL, 0, counting ? &whole : NULL);
            assert_memory_equal(to, z, N * sizeof *z);
            for (size_t i = 0; i < VECTOR; i++)
                assert_int_equal(hu_f32_bits(i < shift ? y[i] : y[N + i]), 0x55555555);
        }
        assert_counts_equal(&whole, &sum, names[f]);
    }
    free(x), free(y), free(z);
}

static void fast_random_words_are_the_words(void **state) {
    (void)state;
    static uint32_t fast[3000];
    static const uint64_t firsts[] = {0, 1, 2, 3, 5, ((uint64_t)1 << 34) - 70, UINT64_MAX - 5000};
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        for (size_t f = 0; f < sizeof firsts / sizeof firsts[0]; f++)
            for (size_t n = 0; n <= 3000; n = n < 40 ? n + 1 : n + 740) {
                memset(fast, 0, sizeof fast);
                hu_random_words(&key, firsts[f], n, words);
                hu_random_words_fast(&key, firsts[f], n, fast);
                assert_memory_equal(fast, words, n * sizeof *fast);
                assert_true(n == 3000 || fast[n] == 0);
            }
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* 16 fractions k/16 between neighbours, 65,536 draws each: the sum of squared deviations over their
 * variance is chi-squared with 15 degrees (k = 0 must be exact); 55.3 has probability 2e-6. */
static void check_probabilities(double base, double step) {
    enum { DRAWS = 1 << 16 };
    static float y[DRAWS], x[DRAWS];
    double chi_squared = 0;
    hu_format fp16;
    hu_format_parse("fp16", &fp16);
    for (int k = 0; k < 16; k++) {
        uint64_t ups = 0;
        for (size_t i = 0; i < DRAWS; i++) x[i] = (float)(base + step * k / 16);
        uint64_t first = (uint64_t)k * DRAWS;
        assert_int_equal(hu_round_f32(DRAWS, x, y, &fp16, HU_ROUND_STOCHASTIC, &key, first, NULL),
                         HU_OK);
        for (size_t i = 0; i < DRAWS; i++) {
            int is_up = (double)y[i] == base + step;
            assert_true(is_up || (double)y[i] == base);
            ups += (uint64_t)is_up;
        }
        double p = k / 16.0, off = (double)ups - DRAWS * p;
        if (k == 0) assert_int_equal(ups, 0);
        if (k > 0) chi_squared += off * off / (DRAWS * p * (1 - p));
    }
    assert_true(chi_squared < 55.3);
    assert_true(chi_squared > 1);
}

static void stochastic_rounding_has_the_right_probabilities(void **state) {
    (void)state;
    check_probabilities(1.0, 0x1p-10);
    check_probabilities(-1.0, -0x1p-10);
    check_probabilities(0x1p-24 * 5, 0x1p-24);
    check_probabilities(0.0, 0x1p-24);
}

/* The least words of the sequence (found by search): only they tell the smallest fractions apart.
 */
static void the_smallest_fractions_go_up_with_the_smallest_words_only(void **state) {
    (void)state;
    static const struct {
        uint64_t index;
        uint32_t word;
    } rare[] = {{2929788886u, 0}, {1418207529u, 1}};
    hu_format fp16;
    hu_format_parse("fp16", &fp16);
    for (size_t w = 0; w < 2; w++) {
        assert_int_equal(hu_random_word(&key, rare[w].index), rare[w].word);
        for (int exponent = -60; exponent < -24; exponent++)
            for (int k = 0; k < 3; k++) {
                static const float near[3] = {1.0f, 0x1.000002p0f, 0x1.fffffep0f};
                float x = ldexpf(near[k], exponent), y;
                for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
                    hu_cpu_set_isa((hu_isa)isa);
                    hu_round_f32(1, &x, &y, &fp16, HU_ROUND_STOCHASTIC, &key, rare[w].index, NULL);
                    /* up iff word < x / 2^-24 * 2^32, where fractions below 2^-33 are none */
                    int goes_up = x >= 0x1p-57f && rare[w].word < ldexp((double)x, 56);
                    assert_true(y == (goes_up ? 0x1p-24f : 0.0f));
                }
            }
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

static void a_float32_scan_counts_without_touching(void **state) {
    (void)state;
    hu_format fp32;
    hu_format_parse("fp32", &fp32);
    make_inputs(&fp32);
    memcpy(got, inputs, sizeof inputs);
    memset(words, 0, sizeof words);
    set_expected(&fp32, HU_ROUND_NEAREST_EVEN);
    for (size_t n = 0; n <= INPUTS; n = n < 40 ? n + 1 : n + 4990) {
        hu_round_counts wanted = recount(&fp32, HU_ROUND_NEAREST_EVEN, n), counts;
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            hu_cpu_set_isa((hu_isa)isa);
            hu_round_counts_clear(&counts);
            hu_scan_f32(n, inputs, &counts);
            assert_counts_equal(&counts, &wanted, hu_isa_name((hu_isa)isa));
        }
    }
    assert_memory_equal(got, inputs, sizeof inputs);
    leave_calm(&fp32);
    set_expected(&fp32, HU_ROUND_NEAREST_EVEN);
    hu_round_counts wanted = recount(&fp32, HU_ROUND_NEAREST_EVEN, input_count), counts;
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        hu_round_counts_clear(&counts);
        hu_scan_f32(input_count, inputs, &counts);
        assert_counts_equal(&counts, &wanted, "finite numbers");
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

static void wrong_arguments_are_errors(void **state) {
    (void)state;
    hu_format fp16, bad;
    float x = 1, y = 7;
    hu_format_parse("fp16", &fp16);
    bad = fp16;
    bad.exp_bits = 9;
    assert_int_equal(hu_round_f32(1, &x, &y, &bad, HU_ROUND_NEAREST_EVEN, NULL, 0, NULL),
                     HU_ERR_FORMAT);
    assert_int_equal(hu_round_f32(1, &x, &y, &fp16, HU_ROUND_STOCHASTIC, NULL, 0, NULL),
                     HU_ERR_ARGUMENT);
    assert_int_equal(hu_round_f32(1, &x, &y, &fp16, HU_ROUND_COUNT, NULL, 0, NULL),
                     HU_ERR_ARGUMENT);
    assert_true(y == 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_equals_the_reference_on_boundary_operands),
        cmocka_unit_test(calm_blocks_equal_the_reference),
        cmocka_unit_test(numbers_on_the_grid_count_as_if_rounded),
        cmocka_unit_test(every_length_and_offset_writes_its_elements_only),
        cmocka_unit_test(splitting_an_array_changes_nothing),
        cmocka_unit_test(large_arrays_equal_their_parts),
        cmocka_unit_test(fast_random_words_are_the_words),
        cmocka_unit_test(stochastic_rounding_has_the_right_probabilities),
        cmocka_unit_test(the_smallest_fractions_go_up_with_the_smallest_words_only),
        cmocka_unit_test(a_float32_scan_counts_without_touching),
        cmocka_unit_test(wrong_arguments_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
