/* Ways of rounding on recorded gradients: those of a run that did not come far will move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "diagnose/remedy.h"

enum { BINS = 4, FIRST = -20, TOP = FIRST + BINS - 1 };

/* One gradient of an activation whose numbers lie in 2^-20 .. 2^-16, recorded in one step. */
typedef struct record {
    uint64_t bin[BINS];
    hu_exponents numbers;
    hu_recorded_sample sample;
    hu_recorded_tensor tensor;
    hu_recorded recorded;
} record;

static void make(record *r, bool is_early) {
    *r = (record){.bin = {100, 200, 200, 100}};
    r->numbers = (hu_exponents){.elements = 600, .first = FIRST, .count = BINS, .bin = r->bin};
    r->sample = (hu_recorded_sample){.numbers = &r->numbers};
    r->tensor = (hu_recorded_tensor){.role = HU_ROLE_ACT_GRAD, .top = TOP, .samples = 1};
    r->recorded = (hu_recorded){.tensor = &r->tensor,
                                .count = 1,
                                .sample = &r->sample,
                                .histograms = 1,
                                .is_early = is_early};
}

static hu_remedy_rounding way_of(const char *format, hu_loss_scale_kind scaler, int32_t scale) {
    hu_remedy_rounding way = {.scaler = scaler, .scale = scale};
    way.changes[HU_ROLE_ACT_GRAD] = true;
    assert_int_equal(hu_quantizer_parse(format, HU_ROUND_NEAREST_EVEN, &way.role[HU_ROLE_ACT_GRAD]),
                     HU_OK);
    return way;
}

/* Whether a way, with the largest loss scale that it allows, is said to train well. */
static bool is_good(const char *format, hu_loss_scale_kind scaler, bool is_early) {
    record r;
    make(&r, is_early);
    hu_remedy_rounding way = way_of(format, scaler, 0);
    if (scaler != HU_LOSS_SCALE_NONE) way.scale = hu_remedy_trial_limit(&r.recorded, &way);
    return hu_remedy_trial_judge(&r.recorded, &way, true, NULL).score <= 1.0;
}

/* The 14 binades of e4m3 hold what may come of one gradient where a loss scale puts it there, the 6
 * of e3m3 do not. A scale of the tensor itself follows, and 1/6/9 holds all without any. */
static void test_gradients_will_move(void **state) {
    static const struct {
        const char *format;
        hu_loss_scale_kind scaler;
        bool is_good, is_good_early;
    } rows[] = {{"e4m3", HU_LOSS_SCALE_NONE, false, false},
                {"e4m3", HU_LOSS_SCALE_CONSTANT, true, true},
                {"e4m3", HU_LOSS_SCALE_DYNAMIC, true, true},
                {"e3m3", HU_LOSS_SCALE_CONSTANT, true, false},
                {"e3m3", HU_LOSS_SCALE_DYNAMIC, true, false},
                {"e4m3:scale=current", HU_LOSS_SCALE_NONE, true, true},
                {"fp16", HU_LOSS_SCALE_NONE, true, false},
                {"fp16", HU_LOSS_SCALE_CONSTANT, true, true},
                {"fp16", HU_LOSS_SCALE_DYNAMIC, true, true},
                {"1/6/9", HU_LOSS_SCALE_NONE, true, true},
                {"mxfp8", HU_LOSS_SCALE_NONE, true, true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (is_good(rows[i].format, rows[i].scaler, false) != rows[i].is_good)
            fail_msg("%s, %d: not as recorded", rows[i].format, (int)rows[i].scaler);
        if (is_good(rows[i].format, rows[i].scaler, true) != rows[i].is_good_early)
            fail_msg("%s, %d: not as it may become", rows[i].format, (int)rows[i].scaler);
    }
}

/* A constant scale has more room, as nothing takes it back; e4m3 ends at 2^8. */
static void test_room_to_grow(void **state) {
    record far, early;
    (void)state;
    make(&far, false);
    make(&early, true);
    hu_remedy_rounding constant = way_of("e4m3", HU_LOSS_SCALE_CONSTANT, 0);
    hu_remedy_rounding dynamic = way_of("e4m3", HU_LOSS_SCALE_DYNAMIC, 0);
    hu_remedy_rounding follows = way_of("e4m3:scale=current", HU_LOSS_SCALE_CONSTANT, 0);
    assert_int_equal(hu_remedy_trial_limit(&far.recorded, &constant), 7 - 1 - TOP);
    assert_int_equal(hu_remedy_trial_limit(&early.recorded, &constant), 7 - 4 - TOP);
    assert_int_equal(hu_remedy_trial_limit(&far.recorded, &dynamic), 7 - 1 - TOP);
    assert_int_equal(hu_remedy_trial_limit(&early.recorded, &dynamic), 7 - 1 - TOP);
    assert_int_equal(hu_remedy_trial_limit(&early.recorded, &follows), HU_NO_EXPONENT);
}

/* What was recorded is judged as it was, whatever the run made of it. */
static void test_recorded_steps_are_as_they_were(void **state) {
    record far, early;
    (void)state;
    make(&far, false);
    make(&early, true);
    hu_remedy_rounding way = way_of("fp16", HU_LOSS_SCALE_NONE, 0);
    way.is_recorded = true;
    assert_true(hu_remedy_trial_judge(&far.recorded, &way, true, NULL).error ==
                hu_remedy_trial_judge(&early.recorded, &way, true, NULL).error);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients_will_move),
                                       cmocka_unit_test(test_room_to_grow),
                                       cmocka_unit_test(test_recorded_steps_are_as_they_were)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
