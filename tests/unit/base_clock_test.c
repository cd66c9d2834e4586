/* Time that never goes back, though the system's clock does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <time.h>

#include "base/process.h"

/* What the system's clock says, in seconds: in the place of libc's. */
static double told;

int clock_gettime(clockid_t clock, struct timespec *time) {
    (void)clock;
    time->tv_sec = (time_t)told;
    time->tv_nsec = (long)((told - (double)time->tv_sec) * 1e9);
    return 0;
}

static double at(double seconds) {
    told = seconds;
    return hu_seconds_now();
}

/* Forward as it is; after a jump back time stands for a moment and goes on as the clock does. */
static void test_time_goes_on(void **state) {
    (void)state;
    double first = at(1000.0);
    assert_true(fabs(first - 1000.0) < 1e-6);
    assert_true(fabs(at(1002.5) - first - 2.5) < 1e-6);
    assert_true(fabs(at(40.0) - first - 2.5) < 1e-6);
    assert_true(fabs(at(41.0) - first - 3.5) < 1e-6);
    assert_true(fabs(at(45.0) - first - 7.5) < 1e-6);
    assert_true(fabs(at(0.0) - first - 7.5) < 1e-6);
    assert_true(fabs(at(0.25) - first - 7.75) < 1e-6);
}

/* Threads that read the clock at nearly the same time do not move it. */
static void test_small_steps_back(void **state) {
    (void)state;
    double first = at(100.0);
    assert_true(at(99.5) == first);
    assert_true(at(99.9) == first);
    assert_true(fabs(at(100.5) - first - 0.5) < 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_time_goes_on),
                                       cmocka_unit_test(test_small_steps_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
