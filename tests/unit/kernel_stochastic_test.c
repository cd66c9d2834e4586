/* Stochastic rounding goes up with the probability that the fraction says, and depends only on
 * (seed, stream, step, index): not on threads, on how an array is split or on the instruction set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "format/value.h"
#include "kernel/round/round.h"

enum { DRAWS = 1 << 20 };

static const hu_random_key key = {0x5eed, 0x57ea3, 9};
static float x[DRAWS], y[DRAWS], whole[DRAWS];

/* One route each: fast addition, subnormals only, on the bits, shifts per element. */
static const char *const formats[] = {"fp16",    "e5m2",          "e4m3fn:ovf=sat", "fp(4,3,4)",
                                      "1/6/9/d", "e5m23",         "bf16",           "e8m2",
                                      "e2m1",    "e4m3:bias=140", "e3m0",           "1/6/9/n"};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static hu_format parse(const char *name) {
    hu_format format;
    if (hu_format_parse(name, &format) != HU_OK) fail_msg("%s: %s", name, hu_last_error());
    return format;
}

/* Draws for x = low + k/16 (high - low), of which DRAWS * k/16 should be high; returns how many
 * were. Every result must be one of the two. */
static uint64_t count_ups(const hu_format *format, double low, double high, int k, uint64_t first) {
    double value = low + (high - low) * k / 16;
    assert_true((double)(float)value == value);
    for (size_t i = 0; i < DRAWS; i++) x[i] = (float)value;
    assert_int_equal(hu_round_f32(DRAWS, x, y, format, HU_ROUND_STOCHASTIC, &key, first, NULL),
                     HU_OK);
    uint64_t ups = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        assert_true((double)y[i] == high || (double)y[i] == low);
        ups += (double)y[i] == high;
    }
    return ups;
}

/* k/16 for k = 0..15: exact for 0; each mean within 4.5 sigma; and the sum of squared deviations
 * over their variances chi-squared with 15 degrees, of which 1 in 500,000 lies above 55.3 and 1 in
 * 500,000 below 1.04. */
static void check_interval(const hu_format *format, double low, double high, uint64_t *first) {
    double chi_squared = 0;
    for (int k = 0; k < 16; k++, *first += DRAWS) {
        uint64_t ups = count_ups(format, low, high, k, *first);
        double p = k / 16.0, off = (double)ups - DRAWS * p, variance = DRAWS * p * (1 - p);
        if (k == 0) {
            assert_int_equal(ups, 0);
            continue;
        }
        if (fabs(off) > 4.5 * sqrt(variance))
            fail_msg("between %a and %a, %d/16: %llu ups of %d", low, high, k,
                     (unsigned long long)ups, DRAWS);
        chi_squared += off * off / variance;
    }
    if (chi_squared > 55.3 || chi_squared < 1.04)
        fail_msg("between %a and %a: chi-squared %g", low, high, chi_squared);
}

static double value_of(const hu_format *format, uint32_t code) {
    return (double)hu_f32_of_bits(hu_format_magnitude_bits(format, code));
}

/* Intervals of neighbouring codes whose sixteenths are float32 numbers. */
static void check_normals_and_subnormals(const char *name, uint64_t *first) {
    hu_format format = parse(name);
    uint32_t hidden = 1u << format.man_bits, max = hu_format_code_max(&format);
    uint32_t normal = hidden < max / 2 ? max / 2 : hidden;
    double sign = *first / DRAWS % 32 ? -1 : 1;
    check_interval(&format, sign * value_of(&format, normal), sign * value_of(&format, normal + 1),
                   first);
    if (format.man_bits > 1)
        check_interval(&format, value_of(&format, hidden / 2), value_of(&format, hidden / 2 + 1),
                       first);
    check_interval(&format, 0, value_of(&format, 1), first);
}

static void probabilities_are_the_fractions(void **state) {
    (void)state;
    static const char *const names[] = {"fp16", "e5m2", "fp(4,3,4)", "bf16", "1/6/9/d", "e2m1"};
    uint64_t first = 0;
    for (size_t f = 0; f < sizeof names / sizeof names[0]; f++)
        check_normals_and_subnormals(names[f], &first);
}

/* Far below the least subnormal s: x = s 2^-depth goes up with probability 2^-depth. */
static void tiny_numbers_survive_in_the_mean(void **state) {
    (void)state;
    static const char *const names[] = {"fp16", "e4m3fn", "1/6/9/d", "e4m3:bias=140"};
    for (size_t f = 0; f < sizeof names / sizeof names[0]; f++) {
        hu_format format = parse(names[f]);
        double least = value_of(&format, 1);
        for (int depth = 1; depth <= 14 && least * 0x1p-14 >= 0x1p-149; depth += 3) {
            for (size_t i = 0; i < DRAWS; i++) x[i] = (float)-ldexp(least, -depth);
            uint64_t first = (uint64_t)depth * DRAWS, ups = 0;
            assert_int_equal(
                hu_round_f32(DRAWS, x, y, &format, HU_ROUND_STOCHASTIC, &key, first, NULL), HU_OK);
            for (size_t i = 0; i < DRAWS; i++) {
                assert_true((double)y[i] == -least || y[i] == 0);
                assert_true(signbit(y[i]));
                ups += y[i] != 0;
            }
            double p = ldexp(1, -depth), sigma = sqrt(DRAWS * p * (1 - p));
            assert_true(fabs((double)ups - DRAWS * p) <= 4.5 * sigma);
        }
    }
}

/* Many different numbers: sum of (rounded - x) / quantum within 4.5 of its own sigmas. */
static void the_mean_error_is_zero(void **state) {
    (void)state;
    for (size_t f = 0; f < FORMATS; f++) {
        hu_format format = parse(formats[f]);
        hu_format_limits limits = hu_format_limits_of(&format);
        if (!format.subnormals) continue;
        double sum = 0, variance = 0, scale = limits.min_normal * 1.5;
        for (size_t i = 0; i < DRAWS; i++)
            x[i] = (float)(scale * (2 * hu_random_uniform(&key, i) - 1));
        assert_int_equal(hu_round_f32(DRAWS, x, y, &format, HU_ROUND_STOCHASTIC, &key, 77, NULL),
                         HU_OK);
        for (size_t i = 0; i < DRAWS; i++) {
            double quanta = fabs((double)x[i]) / limits.min_subnormal,
                   part = quanta - floor(quanta);
            sum += ((double)y[i] - (double)x[i]) / limits.min_subnormal;
            variance += part * (1 - part);
        }
        if (fabs(sum) > 4.5 * sqrt(variance) + 1e-9)
            fail_msg("%s: mean error %g sigmas", formats[f], sum / sqrt(variance));
    }
}

static void make_numbers(const hu_format *format) {
    double scale = hu_format_limits_of(format).min_normal * 2;
    for (size_t i = 0; i < DRAWS; i++) {
        uint32_t word = hu_random_word(&key, i + 5);
        x[i] = i % 4 ? (float)(scale * (double)hu_random_normal(&key, i)) : hu_f32_of_bits(word);
    }
}

static void every_result_is_that_of_its_index(void **state) {
    (void)state;
    enum { SOME = 20000 };
    const uint64_t first = ((uint64_t)1 << 34) - SOME / 2;
    for (size_t f = 0; f < FORMATS; f++) {
        hu_format format = parse(formats[f]);
        make_numbers(&format);
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            hu_cpu_set_isa((hu_isa)isa);
            hu_round_f32(SOME, x, y, &format, HU_ROUND_STOCHASTIC, &key, first, NULL);
            for (size_t i = 0; i < SOME; i++) {
                float wanted = hu_format_round(&format, HU_ROUND_STOCHASTIC, x[i],
                                               hu_random_word(&key, first + i));
                assert_int_equal(hu_f32_bits(y[i]), hu_f32_bits(wanted));
            }
        }
        hu_cpu_set_isa(hu_cpu_isa_native());
    }
}

/* Every number of bits and kind, every route, every instruction set. */
static void stated_bits_equal_the_reference(void **state) {
    (void)state;
    enum { SOME = 4096, MODES = HU_RANDOM_BITS_MOST * HU_RANDOM_COUNT };
    for (size_t f = 0; f < FORMATS; f++) {
        hu_format format = parse(formats[f]);
        make_numbers(&format);
        /* Halves and sixteenths of a quantum: ties of few bits. */
        for (size_t i = 0; i < SOME; i += 3)
            x[i] = (float)ldexp((double)(i % 512), 1 - format.bias - format.man_bits - 5);
        for (int mode = 0; mode < MODES; mode++) {
            hu_rounding rounding = hu_rounding_of_bits(1 + (uint32_t)mode / HU_RANDOM_COUNT,
                                                       (hu_random_kind)(mode % HU_RANDOM_COUNT));
            const uint64_t first = (uint64_t)mode * SOME + 1;
            for (size_t i = 0; i < SOME; i++)
                whole[i] =
                    hu_format_round(&format, rounding, x[i], hu_random_word(&key, first + i));
            for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
                hu_round_counts counts = {0};
                hu_cpu_set_isa((hu_isa)isa);
                hu_round_f32(SOME, x, y, &format, rounding, &key, first, isa ? &counts : NULL);
                for (size_t i = 0; i < SOME; i++)
                    if (hu_f32_bits(y[i]) != hu_f32_bits(whole[i]))
                        fail_msg("%s %s %s: %a: found %a, expected %a", formats[f],
                                 hu_rounding_name(rounding), hu_isa_name((hu_isa)isa), (double)x[i],
                                 (double)y[i], (double)whole[i]);
            }
        }
        hu_cpu_set_isa(hu_cpu_isa_native());
    }
}

static void threads_and_splits_change_nothing(void **state) {
    (void)state;
    const uint64_t first = 12345678901;
    for (size_t f = 0; f < FORMATS; f++) {
        hu_format format = parse(formats[f]);
        make_numbers(&format);
        hu_round_f32(DRAWS, x, whole, &format, HU_ROUND_STOCHASTIC, &key, first, NULL);
        for (int threads = 1; threads <= 7; threads += 2) {
            size_t part = (size_t)(DRAWS / threads) - 13; /* no multiple of a block of words */
            memset(y, 0x55, sizeof y);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
            for (size_t at = 0; at < DRAWS; at += part)
                hu_round_f32(at + part < DRAWS ? part : DRAWS - at, x + at, y + at, &format,
                             HU_ROUND_STOCHASTIC, &key, first + at, NULL);
            assert_memory_equal(y, whole, sizeof y);
        }
        for (size_t at = 0, n = 1; at < DRAWS; at += n, n = (n * 7 + 3) % 4099 + 1) {
            size_t count = at + n < DRAWS ? n : DRAWS - at;
            memcpy(y + at, x + at, count * sizeof *y);
            hu_round_f32(count, y + at, y + at, &format, HU_ROUND_STOCHASTIC, &key, first + at,
                         NULL);
        }
        assert_memory_equal(y, whole, sizeof y);
    }
}

/* Numbers in the middle of two neighbours, drawn with two keys: as often equal as two coins are. */
static void check_keys(const char *name, const hu_random_key *other) {
    hu_format format = parse(name);
    double equal = 0;
    for (size_t i = 0; i < DRAWS; i++) x[i] = (float)(1.5 * value_of(&format, 1));
    hu_round_f32(DRAWS, x, whole, &format, HU_ROUND_STOCHASTIC, &key, 0, NULL);
    hu_round_f32(DRAWS, x, y, &format, HU_ROUND_STOCHASTIC, other, 0, NULL);
    for (size_t i = 0; i < DRAWS; i++) equal += y[i] == whole[i];
    if (fabs(equal - DRAWS / 2) > 4.5 * sqrt(DRAWS / 4))
        fail_msg("%s, key %llu, %llu, %llu: %.0f of %d equal", name,
                 (unsigned long long)other->seed, (unsigned long long)other->stream,
                 (unsigned long long)other->step, equal, DRAWS);
}

/* Another seed, stream or step, in its lower or upper half: other draws. */
static void each_part_of_the_key_counts(void **state) {
    (void)state;
    static const char *const names[] = {"fp16", "bf16", "e4m3:bias=140"};
    for (size_t f = 0; f < sizeof names / sizeof names[0]; f++)
        for (int shift = 0; shift <= 32; shift += 32) {
            uint64_t part = 1ull << shift;
            check_keys(names[f], &(hu_random_key){key.seed + part, key.stream, key.step});
            check_keys(names[f], &(hu_random_key){key.seed, key.stream + part, key.step});
            check_keys(names[f], &(hu_random_key){key.seed, key.stream, key.step + part});
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_the_fractions),
        cmocka_unit_test(tiny_numbers_survive_in_the_mean),
        cmocka_unit_test(the_mean_error_is_zero),
        cmocka_unit_test(every_result_is_that_of_its_index),
        cmocka_unit_test(stated_bits_equal_the_reference),
        cmocka_unit_test(threads_and_splits_change_nothing),
        cmocka_unit_test(each_part_of_the_key_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
