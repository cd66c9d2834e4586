#include <halfulp/gemm.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "accumulator_text.h"
#include "base/bits.h"
#include "base/cpu.h"
#include "kernel/gemm/tensor_core.h"

/* ---- sums ---- */

enum { TERMS = 4096 };

/* x y summed by the reference and by the kernels of every instruction set, which agree. */
static float sum_of(const char *text, int64_t k, const float *x, const float *y,
                    hu_gemm_counts *counts) {
    float expected, found;
    hu_gemm_task task = {.m = 1,
                         .n = 1,
                         .k = k,
                         .a = {.data = x, .k_stride = 1},
                         .b = {.data = y, .k_stride = 1},
                         .accumulator = parsed(text),
                         .c = &expected,
                         .threads = 1,
                         .counts = counts};
    if (counts) *counts = (hu_gemm_counts){0};
    assert_int_equal(hu_gemm_reference(&task), HU_OK);
    task.c = &found;
    task.counts = NULL;
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        assert_int_equal(hu_gemm(&task), HU_OK);
        if (hu_f32_bits(found) != hu_f32_bits(expected))
            fail_msg("%s: %s gives %a, the reference %a", text, hu_isa_name((hu_isa)isa),
                     (double)found, (double)expected);
    }
    return expected;
}

static void assert_sum(const char *text, int64_t k, const float *x, const float *y,
                       float expected) {
    float found = sum_of(text, k, x, y, NULL);
    if (hu_f32_bits(found) != hu_f32_bits(expected))
        fail_msg("%s: found %a, expected %a", text, (double)found, (double)expected);
}

/* 1, and 31 products of 2^-14, each of them below the last bit that F = 13 keeps. */
static void terms_below_the_last_bit_are_lost(void **state) {
    (void)state;
    float x[32] = {1}, y[32] = {1};
    hu_gemm_counts counts;
    for (int i = 1; i < 32; i++) x[i] = 0x1p-5f;
    for (int i = 1; i < 32; i++) y[i] = 0x1p-9f;
    assert_sum("tc:h100-fp8", 32, x, y, 1.0f);
    assert_sum("tc:h100-fp8:emin=-6", 32, x, y, 1.0f);
    assert_sum("tc:b200-fp8", 32, x, y, 0x1.007cp+0f);
    assert_sum("tc:K=32:F=25:out=23", 32, x, y, 0x1.007cp+0f);
    sum_of("tc:h100-fp8", 32, x, y, &counts);
    assert_int_equal(counts.values, 32);
    assert_int_equal(counts.terms, 32);
    assert_int_equal(counts.stalled, 31);
}

/* Exactly 0x1.8809p+1. */
static void results_keep_bits_below_their_own_leading_one(void **state) {
    (void)state;
    const float x[] = {1.75f, 0x1p-6f}, y[] = {1.75f, 0x1.2p-6f};
    assert_sum("tc:h100-fp8", 2, x, y, 0x1.8808p+1f);
    assert_sum("tc:ada-fp8", 2, x, y, 0x1.8808p+1f);
    assert_sum("tc:h100", 2, x, y, 0x1.8809p+1f);
}

static void long_sums_lose_and_promotion_keeps(void **state) {
    (void)state;
    static float x[TERMS], y[TERMS];
    static const struct {
        float x, y, sum, promoted;
    } rows[] = {{1, 1.125f, 4324, 4608}, {0.4375f, 0.1015625f, 158.84375f, 182}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; k < TERMS; k++) x[k] = rows[i].x;
        for (int k = 0; k < TERMS; k++) y[k] = rows[i].y;
        assert_sum("tc:h100-fp8", TERMS, x, y, rows[i].sum);
        assert_sum("tc:h100-fp8,promote=128", TERMS, x, y, rows[i].promoted);
    }
}

/* Guard bits that cancellation brings to light. */
static void generations_differ_in_their_last_bits(void **state) {
    (void)state;
    const float ones[] = {1, 1, 1, 1};
    const float three[] = {0x1p12f, -0x1p12f, 0x1p-11f, 0x1p-13f};
    const float four[] = {0x1p12f, -0x1p12f, 0x1p-12f, 0x1p-12f};
    assert_sum("tc:v100-fp16", 4, three, ones, 0x1p-11f);
    assert_sum("tc:a100", 4, three, ones, 0x1p-11f);
    assert_sum("tc:h100", 4, three, ones, 1.25f * 0x1p-11f);
    assert_sum("tc:v100-fp16", 4, four, ones, 0.0f);
    assert_sum("tc:a100", 4, four, ones, 0x1p-11f);
    assert_sum("tc:h100", 4, four, ones, 0x1p-11f);
}

/* The accumulator is 1 from a step before: its K terms are 1 and zeros. */
static float after_one(const char *text, float product) {
    float x[32] = {1}, y[32] = {1};
    hu_accumulator core = parsed(text);
    x[core.block] = product;
    y[core.block] = 1;
    return sum_of(text, core.block + 1, x, y, NULL);
}

static void small_negative_terms_meet_guard_bits(void **state) {
    (void)state;
    assert_true(after_one("tc:v100-fp16", -0x1p-24f) == 1.0f);
    assert_true(after_one("tc:a100", -0x1p-24f) == 0x1.fffffep-1f);
    assert_true(after_one("tc:a100", -0x1p-25f) == 1.0f);
    assert_true(after_one("tc:h100", -0x1p-25f) == 0x1.fffffep-1f);
}

/* 1 and 3 2^-14, K = 1: cut to 1, to nearest 1 + 2^-13; a late sum is float32's. */
static void results_are_rounded_as_asked(void **state) {
    (void)state;
    const float x[] = {1, 3 * 0x1p-15f}, y[] = {1, 1};
    assert_sum("tc:K=2:F=20:out=13", 2, x, y, 1.0f);
    assert_sum("tc:K=2:F=20:out=13:round=rne", 2, x, y, 1.0f + 0x1p-13f);
    assert_sum("tc:K=1:F=20:out=13:c=late", 2, x, y, 1.0f + 3 * 0x1p-15f);
    const float big[] = {60000, 60000}, small[] = {0x1p-14f, 0x1p-11f};
    assert_sum("tc:v100-fp16:out=fp16", 2, big, y, INFINITY);
    assert_sum("tc:v100-fp16:out=fp16", 2, small, small, 0x1p-22f);
}

/* A subnormal factor of E4M3, 2^-9, has the exponent of its smallest normal number: 2^-6 beside
 * 2^8 aligns to 2^2, where 2^-12 is below the last of 13 bits. */
static void subnormal_factors_have_their_formats_exponent(void **state) {
    (void)state;
    const float x[] = {0x1p-9f, 0x1p-6f}, y[] = {0x1p8f, 0x1p-6f};
    assert_sum("tc:h100-fp8", 2, x, y, 0.5f + 0x1p-12f);
    assert_sum("tc:h100-fp8:emin=-6", 2, x, y, 0.5f);
    assert_sum("tc:h100-fp8:emin=-6/-126", 2, x, y, 0.5f);
    assert_sum("tc:h100-fp8:emin=-126/-6", 2, x, y, 0.5f + 0x1p-12f);
}

static void special_numbers_have_ieees_outcome(void **state) {
    (void)state;
    const float x[] = {1, INFINITY, 3}, y[] = {2, -1, 4}, zero[] = {0, 0, 0};
    const float both[] = {INFINITY, -INFINITY}, ones[] = {1, 1};
    assert_sum("tc:h100", 3, x, y, -INFINITY);
    assert_int_equal(hu_f32_bits(sum_of("tc:h100", 3, x, zero, NULL)), HU_F32_NAN);
    assert_int_equal(hu_f32_bits(sum_of("tc:h100", 2, both, ones, NULL)), HU_F32_NAN);
    assert_int_equal(hu_f32_bits(sum_of("tc:K=1:F=25", 2, both, ones, NULL)), HU_F32_NAN);
    const float minus[] = {-1, 1}, least[] = {-0x1p-149f, 0};
    assert_int_equal(hu_f32_bits(sum_of("tc:h100", 2, minus, ones, NULL)), 0);
    assert_int_equal(hu_f32_bits(sum_of("tc:h100", 2, least, minus, NULL)), 1);
    const float huge[] = {0x1p127f, 0x1p127f};
    assert_sum("tc:h100", 2, huge, ones, INFINITY);
}

/* ---- texts ---- */

static void texts_come_back(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"tc:h100-fp8", "tc:h100-fp8"},
        {"TC:H100-FP8", "tc:h100-fp8"},
        {"tc:h100-fp8,promote=128", "tc:h100-fp8:promote=128"},
        {"tc:K=32,F=13,out=13", "tc:h100-fp8"},
        {"tc:K=32:F=13", "tc:K=32:F=13:out=23"},
        {"tc:K=4:F=35:out=23", "tc:K=4:F=35:out=23"},
        {"tc:K=32:F=13:out=13:round=rne", "tc:K=32:F=13:out=13:round=rne"},
        {"tc:v100-fp16:out=fp16", "tc:K=4:F=23:out=fp16:emin=-14"},
        {"tc:v100-fp16:out=fp16:round=rz", "tc:K=4:F=23:out=fp16:round=rz:emin=-14"},
        {"tc:k=8, f=20, out=e4m3:ovf=sat, promote=64", "tc:K=8:F=20:out=e4m3:ovf=sat:promote=64"},
        {"tc:a100:out=fp(4,3,4)", "tc:K=8:F=24:out=fp(4,3,4)"},
        {"tc:h100-fp8:emin=-6", "tc:K=32:F=13:out=13:emin=-6"},
        {"tc:h100-fp8:emin=-14/-6", "tc:K=32:F=13:out=13:emin=-14/-6"},
        {"tc:b200-fp8:c=late", "tc:b200-fp8-mma"},
        {"tc:b200-fp8-mma:c=early", "tc:b200-fp8"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[96], again[96];
        hu_accumulator one = parsed(rows[i][0]), other;
        assert_int_equal(hu_accumulator_print(&one, text, sizeof text), HU_OK);
        assert_string_equal(text, rows[i][1]);
        other = parsed(text);
        assert_int_equal(hu_accumulator_print(&other, again, sizeof again), HU_OK);
        assert_string_equal(again, text);
        assert_true(other.block == one.block && other.promote == one.promote &&
                    other.align_bits == one.align_bits && other.rounding == one.rounding &&
                    other.is_late == one.is_late &&
                    other.least_exponent[0] == one.least_exponent[0] &&
                    other.least_exponent[1] == one.least_exponent[1] &&
                    hu_format_equal(&other.format, &one.format));
    }
}

/* b200 and h100 have the same numbers: texts name the first. */
static void all_named_ones_are_read(void **state) {
    (void)state;
    size_t count = 0;
    for (; hu_core_at(count); count++) {
        const hu_core *core = hu_core_at(count);
        char text[96];
        snprintf(text, sizeof text, "tc:%s", core->name);
        hu_accumulator read = parsed(text);
        assert_int_equal(read.block, core->terms);
        assert_int_equal(read.align_bits, core->align_bits);
        assert_int_equal(read.format.man_bits, core->out_bits);
        assert_int_equal(hu_accumulator_check(&read), HU_OK);
    }
    assert_true(count > 8);
}

static void mistakes_are_named(void **state) {
    (void)state;
    assert_fails("tc", HU_ERR_PARSE, "found the end, expected ':' and the name of a tensor core");
    assert_fails("tc:", HU_ERR_UNKNOWN, "unknown tensor core ''");
    assert_fails("tc:h100fp8", HU_ERR_UNKNOWN, "'h100-fp8'");
    assert_fails("tc:h200", HU_ERR_UNKNOWN, "'h100'");
    assert_fails("tc:K=4:F=3:k=8", HU_ERR_PARSE, "'K=' is given twice");
    assert_fails("tc:K=32", HU_ERR_PARSE, "F is missing");
    assert_fails("tc:F=13:out=13", HU_ERR_PARSE, "K is missing");
    assert_fails("tc:K=0:F=13", HU_ERR_ARGUMENT, "K=0, allowed 1..256");
    assert_fails("tc:K=4:F=53", HU_ERR_ARGUMENT, "F=53, allowed 1..52");
    assert_fails("tc:K=4:F=x", HU_ERR_PARSE, "found F=x, expected a number");
    assert_fails("tc:K=4:F=13:out=24", HU_ERR_ARGUMENT, "out=24, allowed 0..23");
    assert_fails("tc:K=4:F=13:out=fp61", HU_ERR_UNKNOWN, "'fp16'");
    assert_fails("tc:K=4:F=13:out=e4m3:sub=n", HU_ERR_FORMAT, "without subnormals");
    assert_fails("tc:h100:round=up", HU_ERR_UNKNOWN, "expected rz or rne");
    assert_fails("tc:h100:c=never", HU_ERR_UNKNOWN, "expected late or early");
    assert_fails("tc:h100-fp8:promote=100", HU_ERR_ARGUMENT, "a multiple of K = 32");
    assert_fails("tc:h100-fp8:promot=128", HU_ERR_UNKNOWN, "'promote'");
    assert_fails("tc:h100-fp8:a100", HU_ERR_UNKNOWN, "unknown option 'a100'");
    assert_fails("tcc:h100", HU_ERR_UNKNOWN, "'tc'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_below_the_last_bit_are_lost),
        cmocka_unit_test(results_keep_bits_below_their_own_leading_one),
        cmocka_unit_test(long_sums_lose_and_promotion_keeps),
        cmocka_unit_test(generations_differ_in_their_last_bits),
        cmocka_unit_test(small_negative_terms_meet_guard_bits),
        cmocka_unit_test(results_are_rounded_as_asked),
        cmocka_unit_test(subnormal_factors_have_their_formats_exponent),
        cmocka_unit_test(special_numbers_have_ieees_outcome),
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(all_named_ones_are_read),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
