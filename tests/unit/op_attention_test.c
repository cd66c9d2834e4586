/* Attention as three operations: known numbers, rows without a key, what is refused, and what is
 * said of pairs that are missing. */
#include "op/attributes.h"
#include "op_drive.h"

static const hu_attention_mask_attrs plain = {false, false}, causal = {true, false},
                                     own = {false, true};

static hu_status shape_of(const hu_op *op, const void *attrs, int n_in, const hu_shape *in) {
    hu_shape out[HU_MAX_OUTPUTS];
    int n;
    return op->shape(attrs, n_in, in, &n, out);
}

static void weights_of_equal_scores_are_shares(void **unused) {
    (void)unused;
    enum { T = 3, S = 4 };
    hu_shape in = DRIVE_SHAPE(1, T, S);
    drive d;
    drive_open(&d, &hu_op_attention_weights, &causal, 1, &in, 1, 1);
    for (int i = 0; i < T * S; i++) d.in[0][i] = 80.0f;
    drive_forward(&d);
    for (int t = 0; t < T; t++)
        for (int s = 0; s < S; s++) {
            float expected = s <= t ? (float)(1.0 / (t + 1)) : 0.0f;
            assert_memory_equal(&d.out[0][t * S + s], &expected, sizeof expected);
        }
    drive_close(&d);
}

/* log 1, log 2, log 3: a sixth, a third, a half. */
static void weights_are_the_softmax(void **unused) {
    (void)unused;
    hu_shape in = DRIVE_SHAPE(1, 1, 3);
    drive d;
    drive_open(&d, &hu_op_attention_weights, &plain, 1, &in, 2, 1);
    for (int i = 0; i < 6; i++) d.in[0][i] = logf((float)(i % 3 + 1)) + (i < 3 ? 0.0f : 300.0f);
    drive_forward(&d);
    for (int i = 0; i < 6; i++)
        assert_true(fabs((double)d.out[0][i] - (i % 3 + 1) / 6.0) < (i < 3 ? 1e-7 : 1e-5));
    drive_close(&d);
}

/* Of the four samples the first has no key: zeros forward and backward. */
static void rows_without_a_key_are_zeros(void **unused) {
    (void)unused;
    enum { T = 5, HEADS = 2, D = 4, BATCH = 4 };
    static const float lengths[BATCH] = {0, 2, -3, NAN};
    static const hu_scores_attrs scores = {HEADS, 1.0f, {false, false}};
    static const struct {
        const hu_op *op;
        const void *attrs;
        int n_in;
        hu_shape in[3];
    } cases[] = {
        {&hu_op_attention_scores, &scores, 3, {{2, {T, D}}, {2, {T, D}}, {1, {1}}}},
        {&hu_op_attention_weights, &plain, 2, {{3, {HEADS, T, T}}, {1, {1}}}},
        {&hu_op_attention_context, &plain, 3, {{3, {HEADS, T, T}}, {2, {T, D}}, {1, {1}}}},
    };
    for (size_t c = 0; c < 3; c++) {
        drive d;
        int last = cases[c].n_in - 1;
        drive_open(&d, cases[c].op, cases[c].attrs, cases[c].n_in, cases[c].in, BATCH, 3);
        memcpy(d.in[last], lengths, sizeof lengths);
        d.need_din[last] = false;
        drive_forward(&d);
        drive_backward(&d);
        for (int s = 0; s < BATCH; s++)
            for (int which = -1; which < last; which++) {
                const hu_shape *shape = which < 0 ? &d.out_shape[0] : &d.in_shape[which];
                int64_t n = hu_shape_elements(shape), zeros = 0;
                const float *x = (which < 0 ? d.out[0] : d.din[which]) + s * n;
                for (int64_t i = 0; i < n; i++) zeros += x[i] == 0.0f;
                assert_true(s == 1 ? zeros < n : zeros == n);
            }
        drive_close(&d);
    }
}

static void a_nan_passes_on(void **unused) {
    (void)unused;
    hu_shape in = DRIVE_SHAPE(1, 2, 3);
    drive d;
    drive_open(&d, &hu_op_attention_weights, &plain, 1, &in, 1, 1);
    d.in[0][4] = NAN;
    drive_forward(&d);
    for (int i = 0; i < 6; i++) assert_int_equal(isnan(d.out[0][i]) != 0, i >= 3);
    drive_close(&d);
}

static void what_is_not_there_is_told(void **unused) {
    (void)unused;
    enum { T = 6, HEADS = 3, D = 6, BATCH = 3 };
    static const float lengths[BATCH] = {0, 4, 9};
    const hu_shape weights[] = {{3, {HEADS, T, T}}, {1, {1}}};
    const hu_shape context[] = {{3, {HEADS, T, T}}, {2, {T, D}}, {1, {1}}};
    const float *given[] = {NULL, lengths, NULL}, *behind[] = {NULL, NULL, lengths};
    drive w, c;
    drive_open(&w, &hu_op_attention_weights, &own, 2, weights, BATCH, 2);
    drive_open(&c, &hu_op_attention_context, &own, 3, context, BATCH, 2);
    assert_int_equal(hu_op_attention_weights.absent(&w.info, true, BATCH, given),
                     HEADS * (36 + (36 - 16) + 0));
    assert_int_equal(hu_op_attention_context.absent(&c.info, true, BATCH, behind), D * (6 + 2 + 0));
    w.info.attrs = c.info.attrs = &plain;
    assert_int_equal(hu_op_attention_weights.absent(&w.info, true, BATCH, given),
                     HEADS * (36 + (36 - 24) + 0));
    assert_int_equal(hu_op_attention_context.absent(&c.info, true, BATCH, behind), 0);
    w.info.attrs = &causal;
    w.info.n_in = 1;
    assert_int_equal(hu_op_attention_weights.absent(&w.info, true, BATCH, given),
                     HEADS * BATCH * 15);
    drive_close(&w);
    drive_close(&c);
}

static void other_shapes_are_refused(void **unused) {
    (void)unused;
    hu_scores_attrs scores = {2, 1.0f, {false, false}};
    hu_shape in[] = {{2, {5, 6}}, {2, {7, 6}}, {1, {1}}};
    assert_int_equal(shape_of(&hu_op_attention_scores, &scores, 3, in), HU_OK);
    scores.factor = 0.3f;
    assert_int_equal(shape_of(&hu_op_attention_scores, &scores, 3, in), HU_ERR_ARGUMENT);
    scores.factor = 0.25f;
    scores.heads = 4;
    assert_int_equal(shape_of(&hu_op_attention_scores, &scores, 3, in), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "found 4 heads for rows of 6 numbers"));
    scores.heads = 2;
    in[2].extent[0] = 2;
    assert_int_equal(shape_of(&hu_op_attention_scores, &scores, 3, in), HU_ERR_SHAPE);
    assert_int_equal(shape_of(&hu_op_attention_scores, &scores, 2, in), HU_OK);
    in[1].extent[1] = 8;
    assert_int_equal(shape_of(&hu_op_attention_scores, &scores, 2, in), HU_ERR_SHAPE);
    hu_shape context[] = {{3, {2, 5, 7}}, {2, {7, 6}}};
    assert_int_equal(shape_of(&hu_op_attention_context, &plain, 2, context), HU_OK);
    context[1].extent[0] = 6;
    assert_int_equal(shape_of(&hu_op_attention_context, &plain, 2, context), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "expected weights [heads, T, S]"));
    assert_int_equal(shape_of(&hu_op_attention_weights, &plain, 1, in), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_equal_scores_are_shares),
        cmocka_unit_test(weights_are_the_softmax),
        cmocka_unit_test(rows_without_a_key_are_zeros),
        cmocka_unit_test(a_nan_passes_on),
        cmocka_unit_test(what_is_not_there_is_told),
        cmocka_unit_test(other_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
