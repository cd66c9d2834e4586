#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "kernel/gemm/pack.h"
#include "kernel/gemm/prove.h"

#include <cmocka.h>

static hu_accumulator parsed(const char *text, hu_semantics semantics) {
    hu_accumulator accumulator;
    if (hu_accumulator_parse(text, &accumulator) != HU_OK) fail_msg("%s", hu_last_error());
    accumulator.semantics = semantics;
    return accumulator;
}

static void facts_are_those_of_the_numbers(void **state) {
    (void)state;
    const float x[] = {0.0f, -6.5f, 0x1.8p-20f, -0.0f, 2.0f, 0x1p-130f};
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_pack_facts seen = {.low = UINT32_MAX};
        hu_pack_set_of((hu_isa)isa)->measure(5, x, &seen);
        hu_panel_facts facts = hu_panel_facts_of(&seen);
        assert_true(facts.top == 6.5);
        assert_int_equal(facts.exponent, 2);
        assert_int_equal(facts.quantum, -21);
        assert_int_equal(facts.significand, 4);
        hu_pack_set_of((hu_isa)isa)->measure(6, x, &seen);
        facts = hu_panel_facts_of(&seen);
        assert_true(facts.quantum <= -130 && facts.quantum >= -131);
        seen = (hu_pack_facts){.low = UINT32_MAX};
        hu_pack_set_of((hu_isa)isa)->measure(1, x, &seen);
        assert_int_equal(hu_panel_facts_of(&seen).quantum, HU_NO_QUANTUM);
        hu_pack_set_of((hu_isa)isa)->measure(1, &(float){NAN}, &seen);
        assert_true(isinf(hu_panel_facts_of(&seen).top));
    }
}

/* A panel of 21 x 19 numbers in rows of 23: its facts, and those of each 8 rows of it alone. */
static void facts_of_parts_are_those_of_their_numbers(void **state) {
    (void)state;
    enum { ROWS = 21, COLUMNS = 19, LD = 23, SLICE = 8 * LD, SLICES = 3 };
    float x[ROWS * LD], inside[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * LD; i++)
        x[i] = i % 5 == 0 ? 0.0f : ldexpf((float)(i * 37 % 101 - 50), -(i * 7 % 30));
    for (int i = 0; i < ROWS * COLUMNS; i++) inside[i] = x[i / COLUMNS * LD + i % COLUMNS];
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        const hu_pack_set *set = hu_pack_set_of((hu_isa)isa);
        hu_pack_facts seen = {.low = UINT32_MAX}, wanted = seen;
        set->measure_rows(ROWS, COLUMNS, LD, x, &seen);
        set->measure(ROWS * COLUMNS, inside, &wanted);
        assert_int_equal(seen.top, wanted.top);
        assert_int_equal(seen.fraction, wanted.fraction);
        assert_int_equal(seen.low, wanted.low);
        uint32_t low[SLICES];
        set->lows(ROWS * LD, x, SLICE, low);
        for (int s = 0; s < SLICES; s++) {
            const size_t first = (size_t)s * SLICE, left = ROWS * LD - first;
            wanted = (hu_pack_facts){.low = UINT32_MAX};
            set->measure(left < SLICE ? left : SLICE, x + first, &wanted);
            assert_int_equal(low[s], wanted.low);
        }
    }
}

/* Of 1/6/9 products from 2^-39 on keep accumulators on the grid; three slices are not worth a call,
 * and a factor without slices counts with its least quantum. */
static void slices_of_coarse_products_are_lean(void **state) {
    (void)state;
    hu_accumulator accumulator = parsed("fmac8:1/6/9", HU_SEMANTICS_F32FMA);
    hu_gemm_prover prover;
    hu_unit_facts a = {.all = {.quantum = -30}, .has_slices = true}, b = {.all = {.quantum = -19}};
    bool is_lean[HU_PANEL_SLICES];
    hu_gemm_prover_init(&accumulator, false, HU_ISA_AVX2, &prover);
    assert_true(hu_gemm_wants_slices(&prover));
    for (int s = 0; s < HU_PANEL_SLICES; s++) a.quantum[s] = -20;
    a.quantum[4] = a.quantum[8] = a.quantum[39] = -21;
    assert_int_equal(hu_gemm_lean_slices(&prover, &a, &b, 320, is_lean), 34);
    for (int s = 0; s < HU_PANEL_SLICES; s++)
        assert_int_equal(is_lean[s], s < 4 || (s > 8 && s < 39));
    assert_int_equal(hu_gemm_lean_slices(&prover, &a, &b, 25, is_lean), 4);
    assert_int_equal(hu_gemm_lean_slices(&prover, &a, &b, 24, is_lean), 0);
    a.has_slices = false;
    assert_int_equal(hu_gemm_lean_slices(&prover, &a, &b, 320, is_lean), 0);
    prover.counting = true;
    assert_false(hu_gemm_wants_slices(&prover));
}

/* Facts of the numbers +-(2^bits - 1) 2^quantum and +-2^quantum. */
static hu_panel_facts facts_of(int bits, int exponent, int quantum) {
    return (hu_panel_facts){ldexp(2.0 - ldexp(1.0, 1 - bits), exponent), exponent, quantum, bits};
}

static void assert_choice(const char *accumulator, hu_semantics semantics, hu_panel_facts a,
                          hu_panel_facts b, hu_gemm_arithmetic arithmetic, hu_gemm_class class) {
    hu_accumulator parsed_one = parsed(accumulator, semantics);
    hu_gemm_prover prover;
    hu_gemm_reach reach = {0, 0, HU_NO_QUANTUM};
    hu_gemm_prover_init(&parsed_one, false, HU_ISA_AVX2, &prover);
    hu_gemm_choice choice = hu_gemm_prove(&prover, &a, &b, 100, 0, &reach);
    assert_false(choice.is_slow);
    if (choice.arithmetic != arithmetic || choice.class != class)
        fail_msg("%s: arithmetic %d and class %d, expected %d and %d", accumulator,
                 (int)choice.arithmetic, (int)choice.class, (int)arithmetic, (int)class);
}

static void cheap_kernels_are_proved_where_they_serve(void **state) {
    (void)state;
    hu_panel_facts fp8 = facts_of(3, 4, -16), half = facts_of(11, 3, -20),
                   all = facts_of(24, 3, -60);
    hu_panel_facts huge = facts_of(3, 15, 2), coarse = facts_of(4, 3, 0),
                   deep = facts_of(24, 3, -90);
    const hu_semantics exact = HU_SEMANTICS_EXACT, f32fma = HU_SEMANTICS_F32FMA;
    assert_choice("fmac8:1/6/9", exact, fp8, fp8, HU_GEMM_F32, HU_GEMM_SHORT_LEAN);
    assert_choice("fmac8:1/5/10", exact, fp8, fp8, HU_GEMM_F32, HU_GEMM_SHORT_FAST);
    assert_choice("fmac8:1/6/9", exact, half, half, HU_GEMM_F64, HU_GEMM_FAST);
    assert_choice("fmac8:1/6/9", exact, all, all, HU_GEMM_F64_ODD, HU_GEMM_FAST);
    assert_choice("fmac8:1/6/9", f32fma, all, all, HU_GEMM_F32, HU_GEMM_SHORT_FAST);
    assert_choice("fmac8:1/5/10", f32fma, huge, huge, HU_GEMM_F32, HU_GEMM_FULL);
    assert_choice("mac:1/6/9", exact, half, half, HU_GEMM_F32, HU_GEMM_SHORT_FAST);
    assert_choice("mac:1/7/12", exact, half, half, HU_GEMM_F64, HU_GEMM_LEAN);
    assert_choice("fmac:1/7/12", exact, coarse, coarse, HU_GEMM_F32, HU_GEMM_LEAN);
    assert_choice("fmac8:1/6/9/n", exact, fp8, fp8, HU_GEMM_F32, HU_GEMM_FULL);
    assert_choice("fmac8:1/6/9/n", exact, coarse, coarse, HU_GEMM_F32, HU_GEMM_SHORT_LEAN);
    assert_choice("kahan-cpd:1/6/9", exact, half, half, HU_GEMM_F32, HU_GEMM_SHORT_FAST);
    assert_choice("kahan:1/6/9", exact, half, half, HU_GEMM_F64, HU_GEMM_FAST);
    assert_choice("kahan:bf16:sub=n", f32fma, all, all, HU_GEMM_F32, HU_GEMM_SHORT_LEAN);
    assert_choice("kahan:bf16:sub=n", f32fma, all, deep, HU_GEMM_F32, HU_GEMM_FULL);
    assert_choice("kahan:bf16:sub=n", exact, coarse, coarse, HU_GEMM_F32, HU_GEMM_SHORT_LEAN);
    assert_choice("fmac:e2m3:bias=-110", exact, fp8, fp8, HU_GEMM_F64, HU_GEMM_FAST);
    assert_choice("fmac:fp32", f32fma, all, all, HU_GEMM_F64_ODD, HU_GEMM_LEAN);
}

static void bounds_grow_with_the_sum(void **state) {
    (void)state;
    hu_accumulator accumulator = parsed("fmac:1/5/10", HU_SEMANTICS_F32FMA);
    hu_panel_facts ones = facts_of(1, 0, 0);
    hu_gemm_prover prover;
    hu_gemm_reach reach = {0, 0, HU_NO_QUANTUM};
    hu_gemm_prover_init(&accumulator, false, HU_ISA_AVX2, &prover);
    for (int i = 0; i < 16; i++)
        assert_int_equal(hu_gemm_prove(&prover, &ones, &ones, 1000, 1, &reach).class,
                         HU_GEMM_SHORT_LEAN);
    assert_int_equal(hu_gemm_prove(&prover, &ones, &ones, 1000, 1, &reach).class, HU_GEMM_FULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_those_of_the_numbers),
        cmocka_unit_test(facts_of_parts_are_those_of_their_numbers),
        cmocka_unit_test(slices_of_coarse_products_are_lean),
        cmocka_unit_test(cheap_kernels_are_proved_where_they_serve),
        cmocka_unit_test(bounds_grow_with_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
