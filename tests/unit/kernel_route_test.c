/* Which kernel rounds which format: every route serves where round.h says that it does, nowhere
 * else, and the first row of round.list that serves is taken. Sums of counts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/round/round.h"

/* The bounds of round.h, by the numbers of the format themselves. */
static bool should_serve(hu_round_route route, hu_rounding rounding, const hu_format *format) {
    const hu_format_limits limits = hu_format_limits_of(format);
    bool is_even = rounding == HU_ROUND_NEAREST_EVEN;
    int m = format->man_bits, most = is_even ? 127 : 126;
    bool has_room = is_even ? limits.emin >= -126 : limits.emin - m >= -93;
    bool is_coarse_in_range = limits.emin + 23 <= most;
    if (format->underflow == HU_UNDERFLOW_NEAREST && !is_coarse_in_range) has_room = false;
    switch (route) {
    case HU_ROUTE_MAGIC:
        return m <= 22 && limits.emax + 23 - m <= most && has_room;
    case HU_ROUTE_SUBNORMAL:
        return m == 23 && limits.emax + 1 <= 127 && has_room;
    case HU_ROUTE_ALIGNED:
        return format->exp_bits == 8 && format->bias == 127;
    default:
        return true;
    }
}

static void check_format(const hu_format *format) {
    for (int mode = 0; mode < HU_ROUND_COUNT; mode++) {
        hu_rounder rounder;
        const hu_round_variant *first = NULL;
        for (int route = 0; route <= HU_ROUTE_INTEGER; route++)
            if (hu_round_route_serves((hu_round_route)route, (hu_rounding)mode, format) !=
                should_serve((hu_round_route)route, (hu_rounding)mode, format))
                fail_msg("e%dm%d bias %d: route %d, mode %d", format->exp_bits, format->man_bits,
                         (int)format->bias, route, mode);
        for (size_t v = hu_round_variant_count(); v-- > 0;) {
            const hu_round_variant *row = hu_round_variant_at(v);
            if ((int)row->rounding == mode && should_serve(row->route, row->rounding, format))
                first = row;
        }
        assert_non_null(first);
        assert_int_equal(hu_rounder_init(&rounder, format, (hu_rounding)mode), HU_OK);
        assert_int_equal(rounder.route, first->route);
        assert_int_equal(rounder.rounding, mode);
        assert_ptr_equal(rounder.run, first->run[hu_cpu_isa()]);
    }
}

/* All widths, every third bias and the ones at the ends. */
static void routes_serve_what_they_promise(void **state) {
    size_t checked = 0;
    (void)state;
    for (uint8_t e = 1; e <= 8; e++)
        for (uint8_t m = 0; m <= 23; m++)
            for (uint8_t specials = 0; specials < 2; specials++)
                for (int32_t bias = -127; bias <= 150; bias++) {
                    hu_format format = {.exp_bits = e,
                                        .man_bits = m,
                                        .bias = bias,
                                        .specials = specials ? HU_SPECIALS_FIN : HU_SPECIALS_IEEE};
                    format.underflow = bias % 2 ? HU_UNDERFLOW_NEAREST : HU_UNDERFLOW_FLUSH;
                    if (hu_format_check(&format) != HU_OK) continue;
                    check_format(&format);
                    checked++;
                }
    assert_true(checked > 20000);
}

static void a_kernel_that_does_not_serve_is_refused(void **state) {
    (void)state;
    hu_format format;
    hu_rounder rounder;
    assert_int_equal(hu_format_parse("e7m23", &format), HU_OK);
    for (size_t v = 0; v < hu_round_variant_count(); v++) {
        const hu_round_variant *row = hu_round_variant_at(v);
        bool serves = should_serve(row->route, row->rounding, &format);
        assert_int_equal(hu_rounder_init_variant(&rounder, &format, row, HU_ISA_SCALAR),
                         serves ? HU_OK : HU_ERR_UNSUPPORTED);
        if (!serves) assert_non_null(strstr(hu_last_error(), row->name));
        if (!serves) assert_non_null(strstr(hu_last_error(), "scalar"));
    }
    format.man_bits = 24;
    assert_int_equal(
        hu_rounder_init_variant(&rounder, &format, hu_round_variant_at(0), HU_ISA_SCALAR),
        HU_ERR_FORMAT);
    assert_null(rounder.run);
    assert_int_equal(hu_rounder_init(&rounder, &format, HU_ROUND_NEAREST_EVEN), HU_ERR_FORMAT);
    assert_null(rounder.run);
    format.man_bits = 2;
    assert_int_equal(hu_rounder_init(&rounder, &format, HU_ROUND_COUNT), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "rounding mode 7, allowed 0..6"));
}

static void counts_add_up(void **state) {
    (void)state;
    hu_round_counts none, total,
        first = {.elements = 9,
                 .overflow = 1,
                 .underflow = 2,
                 .subnormal = 3,
                 .zero = 4,
                 .nan = 5,
                 .max_exponent = 7,
                 .min_exponent = -6};
    hu_round_counts_clear(&none);
    assert_int_equal(none.max_exponent, HU_NO_EXPONENT);
    assert_int_equal(none.min_exponent, HU_NO_EXPONENT);
    total = none;
    hu_round_counts_add(&total, &none);
    assert_memory_equal(&total, &none, sizeof none);
    hu_round_counts_add(&total, &first);
    assert_memory_equal(&total, &first, sizeof first);
    hu_round_counts_add(&total, &none);
    assert_memory_equal(&total, &first, sizeof first);
    hu_round_counts wider = first, narrower = first;
    wider.max_exponent = 8, wider.min_exponent = -7;
    narrower.max_exponent = 6, narrower.min_exponent = -5;
    hu_round_counts_add(&total, &narrower);
    assert_int_equal(total.max_exponent, 7);
    assert_int_equal(total.min_exponent, -6);
    hu_round_counts_add(&total, &wider);
    assert_int_equal(total.max_exponent, 8);
    assert_int_equal(total.min_exponent, -7);
    assert_int_equal(total.elements, 27);
    assert_int_equal(total.overflow, 3);
    assert_int_equal(total.underflow, 6);
    assert_int_equal(total.subnormal, 9);
    assert_int_equal(total.zero, 12);
    assert_int_equal(total.nan, 15);
}

/* A first look takes all numbers for finite and finds the largest: of positive ones alone, of
 * negative ones, and of blocks that hold a single number that is not finite. */
static void scans_count_numbers_of_one_sign(void **state) {
    (void)state;
    enum { COUNT = 9000 };
    static float x[COUNT];
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
        for (int sign = -1; sign <= 1; sign += 2)
            for (int special = 0; special < 3; special++) {
                hu_round_counts counts;
                hu_cpu_set_isa((hu_isa)isa);
                for (int i = 0; i < COUNT; i++) x[i] = (float)sign * ldexpf(1.5f, i % 40 - 20);
                x[17] = (float)sign * 0x1p-130f, x[4100] = (float)sign * 0x1p90f, x[8999] = 0.0f;
                if (special) x[5000] = special == 1 ? (float)sign * INFINITY : NAN;
                hu_round_counts_clear(&counts);
                hu_scan_f32(COUNT, x, &counts);
                assert_int_equal(counts.elements, COUNT);
                assert_int_equal(counts.overflow, special == 1);
                assert_int_equal(counts.nan, special == 2);
                assert_int_equal(counts.zero, 1);
                assert_int_equal(counts.subnormal, 1);
                assert_int_equal(counts.underflow, 0);
                assert_int_equal(counts.max_exponent, 90);
                assert_int_equal(counts.min_exponent, -130);
            }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_serve_what_they_promise),
        cmocka_unit_test(a_kernel_that_does_not_serve_is_refused),
        cmocka_unit_test(counts_add_up),
        cmocka_unit_test(scans_count_numbers_of_one_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
