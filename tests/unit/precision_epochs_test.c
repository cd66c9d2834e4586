/* Lists of precisions by epoch: what is read, what is refused, and which one holds when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "precision/precision.h"

static hu_status read_phase(void *context, const char *text, hu_precision *precision) {
    (*(int *)context)++;
    return hu_precision_parse(text, precision);
}

static hu_status parse(const char *text, hu_precision *precision) {
    int calls = 0;
    hu_status st = hu_precision_parse_list(text, read_phase, &calls, precision);
    if (st == HU_OK) assert_int_equal(calls, precision->phase_count);
    return st;
}

static void test_list(void **state) {
    (void)state;
    hu_precision p;
    if (parse("0: fp32,30 :  w=e4m3,act=fp(4,3,4),grad=e5m2 , 60: 1/6/9", &p) != HU_OK)
        fail_msg("%s", hu_last_error());
    assert_int_equal(p.phase_count, 3);
    assert_int_equal(p.phases[1].epoch, 30);
    assert_string_equal(p.phases[1].precision.name, "w=e4m3,act=fp(4,3,4),grad=e5m2");
    assert_string_equal(p.name, "0: fp32, 30: w=e4m3,act=fp(4,3,4),grad=e5m2, 60: 1/6/9");
    assert_ptr_equal(hu_precision_at(&p, 0), &p.phases[0].precision);
    assert_ptr_equal(hu_precision_at(&p, 29), &p.phases[0].precision);
    assert_ptr_equal(hu_precision_at(&p, 30), &p.phases[1].precision);
    assert_ptr_equal(hu_precision_at(&p, 1000000), &p.phases[2].precision);
    assert_int_equal(p.scaler, HU_SCALER_DYNAMIC); /* for the e5m2 gradients of one phase */
    assert_false(p.eval_masters);                  /* 1/6/9 evaluates with rounded weights */
    assert_false(p.promotes);
    hu_precision_free(&p);
    assert_int_equal(hu_precision_parse("hfp8", &p), HU_OK);
    assert_ptr_equal(hu_precision_at(&p, 7), &p);
    hu_precision_free(&p);
}

/* What holds for the whole training is on if one phase wants it. */
static void test_join(void **state) {
    (void)state;
    hu_precision p;
    assert_int_equal(parse("0: fp32, 1: hfp8+promote, 2: fp16", &p), HU_OK);
    assert_int_equal(p.scaler, HU_SCALER_DYNAMIC);
    assert_true(p.scaler_epoch_interval); /* of the first phase that scales */
    assert_true(p.promotes);
    hu_precision_free(&p);
    assert_int_equal(parse("0: fp16, 1: hfp8", &p), HU_OK);
    assert_false(p.scaler_epoch_interval);
    hu_precision_free(&p);
}

static void test_refused(void **state) {
    static const struct {
        const char *text;
        hu_status status;
        const char *says;
    } rows[] = {
        {"", HU_ERR_PARSE, "EPOCH: PRECISION"},
        {"fp32", HU_ERR_PARSE, "'fp32'"},
        {"-1: fp32", HU_ERR_PARSE, "'-1: fp32'"},
        {"0.5: fp32", HU_ERR_PARSE, "'0.5: fp32'"},
        {"0: ", HU_ERR_PARSE, "epoch 0"},
        {"0: fp32, ", HU_ERR_UNKNOWN, "epoch 0"},
        {"0: fp32, 1:", HU_ERR_PARSE, "epoch 1"},
        {"99999999999999999999: fp32", HU_ERR_PARSE, "expected"},
        {"1: fp32", HU_ERR_ARGUMENT, "found epoch 1 first, expected 0"},
        {"0: fp32, 0: hfp8", HU_ERR_ARGUMENT, "found epoch 0 behind epoch 0"},
        {"0: fp32, 5: hfp8, 3: bf16", HU_ERR_ARGUMENT, "found epoch 3 behind epoch 5"},
        {"0: fp32, 2: hfp9", HU_ERR_UNKNOWN, "nearest: 'hfp8'"},
        {"0: fp32, 2: demote:7", HU_ERR_ARGUMENT, "epoch 2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_precision p;
        hu_status st = parse(rows[i].text, &p);
        if (st != rows[i].status) fail_msg("'%s': %s", rows[i].text, hu_last_error());
        if (!strstr(hu_last_error(), rows[i].says))
            fail_msg("'%s': %s", rows[i].text, hu_last_error());
        assert_int_equal(p.phase_count, 0);
        assert_null(p.phases);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
