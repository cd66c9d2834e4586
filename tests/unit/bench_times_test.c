/* Turns of a benchmark: which counts, how far they spread, when they are enough; and when rows are
 * called noisy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/process.h"
#include "bench/bench.h"

static hu_bench_times times_of(const double *seconds, int count) {
    hu_bench_times times = {0};
    for (int i = 0; i < count; i++) assert_int_equal(hu_bench_times_add(&times, seconds[i]), HU_OK);
    return times;
}

static void the_best_turn_counts_and_the_median_spreads(void **state) {
    (void)state;
    const double seconds[] = {0.5, 0.25, 0.375, 0.3125, 1.0};
    hu_bench_times times = times_of(seconds, 5), none = {0}, one = times_of(seconds, 1);
    assert_true(times.best == 0.25 && times.count == 5 && times.spent == 2.4375);
    assert_true(hu_bench_times_spread(&times) == 0.5);
    assert_true(hu_bench_times_spread(&times) == 0.5); /* again, sorted */
    assert_true(isnan(hu_bench_times_spread(&none)) && isnan(hu_bench_times_spread(&one)));
    hu_bench_times_free(&times);
    hu_bench_times_free(&one);
    assert_true(times.count == 0 && !times.seconds);
    const double nothing[] = {0.0};
    times = times_of(nothing, 1);
    assert_true(times.best > 0.0); /* a rate is finite */
    hu_bench_times_free(&times);
}

static void a_quarter_beats_the_quartile(void **state) {
    (void)state;
    const double seconds[] = {8.0, 1.0, 7.0, 2.0, 6.0, 3.0, 5.0, 4.0};
    hu_bench_times times = times_of(seconds, 8), none = {0};
    assert_true(hu_bench_times_quartile(&times) == 3.0);
    assert_true(hu_bench_times_quartile(&none) == 0.0 && times.best == 1.0);
    hu_bench_times_free(&times);
}

static void repeat_is_exact(void **state) {
    (void)state;
    const double seconds[] = {9.0, 9.0, 9.0};
    const hu_bench_pace pace = {.repeat = 3, .most = 1, .until = hu_seconds_now() - 1, .limit = 1};
    for (int count = 0; count <= 3; count++) {
        hu_bench_times times = times_of(seconds, count);
        assert_int_equal(hu_bench_takes(&pace, &times), count < 3);
        hu_bench_times_free(&times);
    }
}

static void time_ends_turns_but_not_the_first(void **state) {
    (void)state;
    const double seconds[] = {2.0, 2.0, 2.0};
    double now = hu_seconds_now();
    const hu_bench_pace late = {.most = 9, .until = now - 1}, wide = {.most = 2, .until = now + 99};
    const hu_bench_pace tight = {.most = 9, .until = now + 1};
    const hu_bench_pace limited = {.most = 9, .until = now + 99, .limit = 3.0};
    hu_bench_times none = {0}, one = times_of(seconds, 1), two = times_of(seconds, 2);
    assert_true(hu_bench_takes(&late, &none) && !hu_bench_takes(&late, &one));
    assert_false(hu_bench_takes(&tight, &one)); /* would end after it */
    assert_true(hu_bench_takes(&wide, &one) && !hu_bench_takes(&wide, &two));
    assert_true(hu_bench_takes(&limited, &one) && !hu_bench_takes(&limited, &two));
    hu_bench_times_free(&one);
    hu_bench_times_free(&two);
}

static void rows_are_noisy_by_their_own_turns_or_their_reference(void **state) {
    (void)state;
    hu_bench_part part = {0};
    for (int i = 0; i < 18; i++) hu_bench_note_spread(&part, 0.1, 0.0);
    hu_bench_note_spread(&part, 0.11, 0.0);
    hu_bench_note_spread(&part, 0.0, 0.2);
    assert_true(part.noise.rows == 20 && part.noise.noisy == 2 && part.noise.once == 0);
    assert_string_equal(hu_bench_verdict(&part.noise), "quiet");
    hu_bench_note_spread(&part, 0.3, (double)NAN);
    assert_true(part.noise.noisy == 3 && part.noise.once == 1);
    assert_string_equal(hu_bench_verdict(&part.noise), "noisy");
    const hu_bench_noise noise = part.noise;
    assert_int_equal(hu_bench_noise_tell(&noise, &part), HU_OK);
    assert_int_equal(hu_write_u8(&part.text, 0), HU_OK);
    const char *text = (const char *)part.text.data;
    assert_non_null(strstr(text, "noisy: 3 of 21 rows, or what they stand beside, spread by "
                                 "more than 10 %"));
    assert_non_null(strstr(text, "not to be trusted"));
    assert_non_null(strstr(text, "1 of 21 rows were measured once"));
    const hu_bench_noise few = {.rows = 10, .noisy = 1, .once = 5};
    const hu_bench_noise none = {.rows = 10, .noisy = 1, .once = 6};
    assert_string_equal(hu_bench_verdict(&few), "quiet");
    assert_string_equal(hu_bench_verdict(&none), "unknown");
    hu_bench_part_free(&part);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_turn_counts_and_the_median_spreads),
        cmocka_unit_test(a_quarter_beats_the_quartile),
        cmocka_unit_test(repeat_is_exact),
        cmocka_unit_test(time_ends_turns_but_not_the_first),
        cmocka_unit_test(rows_are_noisy_by_their_own_turns_or_their_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
