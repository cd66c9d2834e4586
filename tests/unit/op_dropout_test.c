/* Dropout: which elements, by the words' own definition; chunks do not matter; eval; NaN. */
#include "op/attributes.h"
#include "op_drive.h"

enum { ELEMENTS = 1500, BATCH = 7 };
static const hu_dropout_attrs attrs = {.probability = 0.3f};

static void open_dropout(drive *d, int64_t chunk) {
    hu_shape in = DRIVE_SHAPE(ELEMENTS);
    drive_open(d, &hu_op_dropout, &attrs, 1, &in, BATCH, chunk);
}

static void the_words_decide(void **unused) {
    (void)unused;
    drive d;
    open_dropout(&d, 3);
    drive_forward(&d);
    drive_backward(&d);
    const float scale = (float)(1 / (1 - (double)attrs.probability));
    int64_t kept = 0;
    for (int64_t i = 0; i < BATCH * ELEMENTS; i++) {
        double u = (double)hu_random_word(&d.key, (uint64_t)i) * 0x1p-32;
        bool keep = u >= floor((double)attrs.probability * 0x1p32) * 0x1p-32;
        assert_true(d.out[0][i] == (keep ? d.in[0][i] * scale : 0));
        assert_true(d.din[0][i] == (keep ? d.dout[0][i] * scale : 0));
        kept += keep;
    }
    assert_true(fabs((double)kept / (BATCH * ELEMENTS) - 0.7) < 0.02);
    drive_close(&d);
}

static void chunks_do_not_matter(void **unused) {
    (void)unused;
    drive a, b;
    open_dropout(&a, 1);
    open_dropout(&b, 5);
    drive_forward(&a);
    drive_forward(&b);
    assert_memory_equal(a.out[0], b.out[0], BATCH * ELEMENTS * sizeof(float));
    drive_close(&a);
    drive_close(&b);
}

static void eval_is_the_identity(void **unused) {
    (void)unused;
    drive d;
    open_dropout(&d, 2);
    d.training = false;
    drive_forward(&d);
    assert_memory_equal(d.in[0], d.out[0], BATCH * ELEMENTS * sizeof(float));
    drive_close(&d);
}

static void nan_is_never_dropped(void **unused) {
    (void)unused;
    drive d;
    open_dropout(&d, 2);
    for (int64_t i = 0; i < BATCH * ELEMENTS; i++) d.in[0][i] = NAN;
    drive_forward(&d);
    for (int64_t i = 0; i < BATCH * ELEMENTS; i++) assert_true(isnan(d.out[0][i]));
    drive_close(&d);
}

static void probabilities_outside_are_refused(void **unused) {
    (void)unused;
    static const float bad[] = {-0.1f, 1.0f, NAN};
    hu_shape in = DRIVE_SHAPE(4), out;
    int n;
    for (int i = 0; i < 3; i++) {
        hu_dropout_attrs a = {.probability = bad[i]};
        assert_int_equal(hu_op_dropout.shape(&a, 1, &in, &n, &out), HU_ERR_ARGUMENT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words_decide),
        cmocka_unit_test(chunks_do_not_matter),
        cmocka_unit_test(eval_is_the_identity),
        cmocka_unit_test(nan_is_never_dropped),
        cmocka_unit_test(probabilities_outside_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
