/* embedding: rows of a table by whole numbers, their gradient in the order of the batch; what is no
 * id; attributes. */
#include "op/attributes.h"
#include "op_drive.h"

enum { WORDS = 7, WIDTH = 5, TOKENS = 6, BATCH = 5, IDS = BATCH * TOKENS };

static int64_t id_of(int64_t i) {
    return (i * i + 3 * i) % (WORDS - 1); /* none is the last word */
}

static void open_drive(drive *d, const hu_embedding_attrs *attrs, int64_t chunk) {
    hu_shape in = DRIVE_SHAPE(TOKENS);
    drive_open(d, &hu_op_embedding, attrs, 1, &in, BATCH, chunk);
    for (int64_t i = 0; i < IDS; i++) d->in[0][i] = (float)id_of(i);
    d->need_din[0] = false;
}

static hu_embedding_attrs table(float factor) {
    return (hu_embedding_attrs){.words = WORDS, .width = WIDTH, .factor = factor};
}

/* One product in float32; sums begin at +0 and go on sample by sample, place by place. */
static void rows_are_looked_up_and_gradients_gathered(void **unused) {
    (void)unused;
    static const float factors[] = {1.0f, 0x1.6a09e6p+3f, -3.0f};
    for (int f = 0; f < 3; f++)
        for (int64_t chunk = 1; chunk <= BATCH; chunk++) {
            drive d;
            const hu_embedding_attrs attrs = table(factors[f]);
            float sum[WORDS][WIDTH] = {{0}};
            open_drive(&d, &attrs, chunk);
            drive_forward(&d);
            drive_backward(&d);
            for (int64_t i = 0; i < IDS; i++)
                for (int j = 0; j < WIDTH; j++) {
                    float made = factors[f] * d.param[0][id_of(i) * WIDTH + j];
                    assert_memory_equal(&d.out[0][i * WIDTH + j], &made, sizeof made);
                    sum[id_of(i)][j] += factors[f] * d.dout[0][i * WIDTH + j];
                }
            assert_memory_equal(d.dparam[0], sum, sizeof sum);
            drive_close(&d);
        }
}

static void padding_has_no_gradient(void **unused) {
    (void)unused;
    static const float zero[WIDTH];
    const hu_embedding_attrs attrs = table(2.0f);
    hu_embedding_attrs skipping = attrs;
    drive plain, padded;
    skipping.has_padding = true;
    skipping.padding = 4;
    open_drive(&plain, &attrs, 2);
    open_drive(&padded, &skipping, 2);
    drive_forward(&plain);
    drive_backward(&plain);
    drive_forward(&padded);
    drive_backward(&padded);
    for (int64_t i = 0; i < IDS; i++)
        assert_memory_equal(padded.out[0] + i * WIDTH, plain.out[0] + i * WIDTH, sizeof zero);
    assert_memory_not_equal(plain.dparam[0] + 4 * WIDTH, zero, sizeof zero);
    for (int64_t w = 0; w < WORDS; w++) {
        const float *expected = w == 4 ? zero : plain.dparam[0] + w * WIDTH;
        assert_memory_equal(padded.dparam[0] + w * WIDTH, expected, sizeof zero);
    }
    drive_close(&plain);
    drive_close(&padded);
}

/* The engine ends a pass that is given them; nothing outside of the table is touched here. */
static void what_is_no_id_gives_nan(void **unused) {
    (void)unused;
    static const float none[] = {WORDS, -1.0f, 0.5f, NAN, INFINITY, -INFINITY};
    const hu_embedding_attrs attrs = table(1.0f);
    drive d;
    open_drive(&d, &attrs, BATCH);
    for (int i = 0; i < 6; i++) d.in[0][2 + i] = none[i];
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t i = 0; i < IDS; i++)
        assert_int_equal(isnan(d.out[0][i * WIDTH]) != 0, i >= 2 && i < 8);
    for (int64_t i = 0; i < WORDS * WIDTH; i++) assert_true(isfinite(d.dparam[0][i]));
    drive_close(&d);
}

static void attributes_are_read_and_checked(void **unused) {
    (void)unused;
    const hu_attribute *list = hu_op_embedding.attributes;
    hu_embedding_attrs attrs = {0};
    hu_shape in = DRIVE_SHAPE(4, 3), expected = DRIVE_SHAPE(4, 3, 8), out;
    int n;
    assert_int_equal(hu_attributes_read(list, "words=10 width=8", &attrs), HU_OK);
    assert_true(attrs.factor == 1.0f && !attrs.has_padding);
    assert_int_equal(hu_op_embedding.shape(&attrs, 1, &in, &n, &out), HU_OK);
    assert_true(n == 1 && hu_shape_equal(&out, &expected));
    assert_int_equal(hu_attributes_read(list, "words=10", &attrs), HU_ERR_ARGUMENT);
    attrs.has_padding = true;
    attrs.padding = 10;
    assert_int_equal(hu_op_embedding.shape(&attrs, 1, &in, &n, &out), HU_ERR_ARGUMENT);
    attrs = (hu_embedding_attrs){.words = (1 << 24) + 1, .width = 1, .factor = 1.0f};
    assert_int_equal(hu_op_embedding.shape(&attrs, 1, &in, &n, &out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "found 16777217 words"));
    attrs = table(NAN);
    assert_int_equal(hu_op_embedding.shape(&attrs, 1, &in, &n, &out), HU_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_looked_up_and_gradients_gathered),
        cmocka_unit_test(padding_has_no_gradient),
        cmocka_unit_test(what_is_no_id_gives_nan),
        cmocka_unit_test(attributes_are_read_and_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
