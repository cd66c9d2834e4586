/* sample_normal against its definition: the node's own normal numbers, whatever the chunks; its
 * gradients; and the known values of kl_normal, l1 and bce. */
#include "op_drive.h"

#include "base/elementary.h"
#include "base/error.h"
#include "base/rng.h"
#include "op/attributes.h"

enum { BATCH = 7, SIZE = 5 };

static void sample_is_mean_and_spread_times_noise(void **unused) {
    (void)unused;
    const int64_t chunks[] = {1, 3, BATCH};
    hu_shape in[2] = {DRIVE_SHAPE(SIZE), DRIVE_SHAPE(SIZE)};
    for (size_t k = 0; k < 3; k++) {
        drive d;
        drive_open(&d, &hu_op_sample_normal, NULL, 2, in, BATCH, chunks[k]);
        drive_forward(&d);
        drive_backward(&d);
        for (int64_t i = 0; i < BATCH * SIZE; i++) {
            double noise = (double)hu_random_normal(&d.key, (uint64_t)i);
            double spread = hu_exp((double)d.in[1][i] / 2) * noise;
            assert_true(d.out[0][i] == (float)((double)d.in[0][i] + spread));
            assert_true(d.din[0][i] == d.dout[0][i]);
            assert_true(d.din[1][i] == (float)((double)d.dout[0][i] * spread / 2));
        }
        drive_close(&d);
    }
}

/* In a check run the noise is number (samples before) elements + i of the node's name, in tests of
 * the name and "test". */
static void noise_may_be_a_formula(void **unused) {
    (void)unused;
    hu_shape in[2] = {DRIVE_SHAPE(SIZE), DRIVE_SHAPE(SIZE)};
    for (int training = 0; training < 2; training++) {
        uint32_t hash = hu_formula_hash(HU_FORMULA_HASH_START, training ? "z" : "ztest");
        drive d;
        drive_open(&d, &hu_op_sample_normal, NULL, 2, in, BATCH, 3);
        d.info.name = "z";
        d.training = training != 0;
        d.by_formula = true;
        d.drawn = 100;
        drive_forward(&d);
        for (int64_t i = 0; i < BATCH * SIZE; i++) {
            double t = (double)hu_formula_number(hash, (uint32_t)(100 * SIZE + i));
            double spread = hu_exp((double)d.in[1][i] / 2) * (sqrt(3.0) * t);
            assert_true(d.out[0][i] == (float)((double)d.in[0][i] + spread));
        }
        drive_close(&d);
    }
}

/* Numbers of no input: the same words as those that a sample takes, by draw and by formula. */
static void numbers_need_no_input(void **unused) {
    (void)unused;
    const hu_normal_attrs attrs = {SIZE};
    uint32_t hash = hu_formula_hash(HU_FORMULA_HASH_START, "z");
    for (int64_t chunk = 1; chunk <= BATCH; chunk += 3)
        for (int formula = 0; formula < 2; formula++) {
            drive d;
            drive_open(&d, &hu_op_normal, &attrs, 0, NULL, BATCH, chunk);
            d.info.name = "z";
            d.training = true;
            d.by_formula = formula != 0;
            d.drawn = 48;
            drive_forward(&d);
            for (int64_t i = 0; i < BATCH * SIZE; i++) {
                float t = hu_formula_number(hash, (uint32_t)(48 * SIZE + i));
                double wanted =
                    formula ? sqrt(3.0) * (double)t : (double)hu_random_normal(&d.key, (uint64_t)i);
                assert_true(d.out[0][i] == (float)wanted);
            }
            drive_close(&d);
        }
    const hu_normal_attrs none = {0};
    hu_shape out[HU_MAX_OUTPUTS];
    int n_out;
    assert_int_equal(hu_op_normal.shape(&none, 0, NULL, &n_out, out), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "found 0 numbers, expected at least 1"));
}

/* The loss of one target is that of a target for each: the same losses, sums and gradients. */
static void a_target_for_all_is_one_for_each(void **unused) {
    (void)unused;
    const float targets[] = {0, 0.9f, 1};
    hu_shape in[2] = {DRIVE_SHAPE(SIZE), DRIVE_SHAPE(SIZE)};
    for (int k = 0; k < 3; k++) {
        drive one, each;
        const hu_toward_attrs toward = {targets[k]};
        const hu_element_loss_attrs mean = {.sums = false};
        drive_open(&one, &hu_op_bce_toward, &toward, 1, in, BATCH, 2);
        drive_open(&each, &hu_op_bce, &mean, 2, in, BATCH, 3);
        one.in[0][0] = -200;
        one.in[0][1] = 200;
        for (int64_t i = 0; i < BATCH * SIZE; i++) {
            each.in[0][i] = one.in[0][i];
            each.in[1][i] = targets[k];
        }
        for (int64_t s = 0; s < BATCH; s++) each.dout[0][s] = one.dout[0][s];
        drive_forward(&one);
        drive_forward(&each);
        drive_backward(&one);
        drive_backward(&each);
        for (int64_t s = 0; s < BATCH; s++) assert_true(one.out[0][s] == each.out[0][s]);
        for (int64_t i = 0; i < BATCH * SIZE; i++)
            assert_true(one.din[0][i] == each.din[0][i] && isfinite(one.din[0][i]));
        drive_close(&one);
        drive_close(&each);
    }
    const hu_toward_attrs wrong = {1.5f};
    hu_shape out[HU_MAX_OUTPUTS];
    int n_out;
    assert_int_equal(hu_op_bce_toward.shape(&wrong, 1, in, &n_out, out), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "target 1.5, expected a number from 0 to 1"));
}

/* The known words of the formula. */
static void the_formula_has_its_known_words(void **unused) {
    (void)unused;
    uint32_t hash = hu_formula_hash(HU_FORMULA_HASH_START, "emb.weight");
    assert_int_equal(hash, 0x11837daf);
    assert_int_equal(hu_formula_hash(hu_formula_hash(HU_FORMULA_HASH_START, "emb."), "weight"),
                     hash);
    assert_int_equal(hu_formula_word(hash, 0), 0xc20eeb91);
    assert_int_equal(hu_formula_word(hash, 1), 0x53247cd4);
    assert_true(hu_formula_number(hash, 0) == 0.5160802602767944f);
}

/* A loss of one number x and t, summed or meant over two like elements. */
static double loss_of(const hu_op *op, bool sums, float x, float t) {
    drive d;
    const hu_element_loss_attrs attrs = {.sums = sums};
    hu_shape in[2] = {DRIVE_SHAPE(2), DRIVE_SHAPE(2)};
    drive_open(&d, op, &attrs, 2, in, 1, 1);
    d.in[0][0] = d.in[0][1] = x;
    d.in[1][0] = d.in[1][1] = t;
    drive_forward(&d);
    double loss = (double)d.out[0][0];
    drive_close(&d);
    return loss;
}

static void losses_have_their_known_values(void **unused) {
    (void)unused;
    assert_true(loss_of(&hu_op_kl_normal, false, 1, 0) == 0.5);
    assert_true(loss_of(&hu_op_kl_normal, true, 1, 0) == 1);
    assert_true(loss_of(&hu_op_kl_normal, false, 0, 0) == 0);
    assert_true(fabs(loss_of(&hu_op_kl_normal, false, 0, 1) - 0.35914091422952255) < 1e-7);
    assert_true(fabs(loss_of(&hu_op_bce, false, 0, 0.3f) - 0.6931471805599453) < 1e-7);
    assert_true(fabs(loss_of(&hu_op_bce, true, 0, 0.3f) - 2 * 0.6931471805599453) < 2e-7);
    assert_true(loss_of(&hu_op_l1, false, 1, 3.5f) == 2.5);
    assert_true(loss_of(&hu_op_l1, true, 4, 3.5f) == 1);
    assert_true(isnan(loss_of(&hu_op_l1, false, NAN, 0)));
    assert_true(isnan(loss_of(&hu_op_kl_normal, false, 0, NAN)));
}

/* Where x = t the absolute error has no slope. */
static void l1_has_no_gradient_where_both_are_equal(void **unused) {
    (void)unused;
    drive d;
    hu_shape in[2] = {DRIVE_SHAPE(4), DRIVE_SHAPE(4)};
    drive_open(&d, &hu_op_l1, NULL, 2, in, 1, 1);
    for (int i = 0; i < 4; i++) d.in[0][i] = d.in[1][i] + (float)(i - 1);
    d.dout[0][0] = 8;
    drive_forward(&d);
    drive_backward(&d);
    const float wanted[] = {-2, 0, 2, 2};
    for (int i = 0; i < 4; i++) assert_true(d.din[0][i] == wanted[i] && d.din[1][i] == -wanted[i]);
    drive_close(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_is_mean_and_spread_times_noise),
        cmocka_unit_test(noise_may_be_a_formula),
        cmocka_unit_test(numbers_need_no_input),
        cmocka_unit_test(a_target_for_all_is_one_for_each),
        cmocka_unit_test(the_formula_has_its_known_words),
        cmocka_unit_test(losses_have_their_known_values),
        cmocka_unit_test(l1_has_no_gradient_where_both_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
