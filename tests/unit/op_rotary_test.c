/* rotary: the bits of docs/reference/numerics/layers.md, beside libm's sines in long double; and
 * what turning must keep. */
#include "page_sums.h"

#include "base/elementary.h"
#include "op/attributes.h"

enum { BATCH = 5, ROWS = 9 };

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1.2e-7 * (fabs(expected) + 1)))
        fail_msg("found %.9g, expected %.17g", found, expected);
}

/* Element i of a head: its partner, and whether it is the first of the two. */
static int64_t partner(const hu_rotary_attrs *a, int64_t depth, int64_t i, bool *is_first,
                       int64_t *pair) {
    *is_first = a->pairs ? i % 2 == 0 : i < depth / 2;
    *pair = a->pairs ? i / 2 : i % (depth / 2);
    if (a->pairs) return *is_first ? i + 1 : i - 1;
    return *is_first ? i + depth / 2 : i - depth / 2;
}

static void check(const hu_rotary_attrs *a, int64_t depth, int64_t chunk) {
    const hu_shape in = DRIVE_SHAPE(ROWS, a->heads * depth);
    drive d;
    drive_open(&d, &hu_op_rotary, a, 1, &in, BATCH, chunk);
    assert_true(hu_shape_equal(&d.out_shape[0], &in));
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t at = 0; at < drive_in_elements(&d, 0); at++) {
        int64_t i = at % depth, t = at / (a->heads * depth) % ROWS, pair;
        bool is_first;
        int64_t other = at - i + partner(a, depth, i, &is_first, &pair);
        long double angle = (long double)t * powl((long double)a->base,
                                                  -2.0L * (long double)pair / (long double)depth);
        double c = (double)cosl(angle), s = (double)sinl(angle) * (is_first ? -1 : 1);
        near((double)d.out[0][at], (double)d.in[0][at] * c + (double)d.in[0][other] * s);
        near((double)d.din[0][at], (double)d.dout[0][at] * c - (double)d.dout[0][other] * s);
        double u =
            (double)t * hu_exp(-((double)pair / (double)(depth / 2)) * hu_log((double)a->base));
        double x = (double)d.in[0][at], dy = (double)d.dout[0][at];
        double sine = is_first ? -hu_sin(u) : hu_sin(u);
        float y = (float)(x * hu_cos(u) + (double)d.in[0][other] * sine);
        float dx = (float)(dy * hu_cos(u) - (double)d.dout[0][other] * sine);
        same_bits("y", 1, &d.out[0][at], &y);
        same_bits("dx", 1, &d.din[0][at], &dx);
        /* The first row stays. */
        if (t == 0) assert_memory_equal(&d.out[0][at], &d.in[0][at], sizeof(float));
    }
    drive_close(&d);
}

static void pairs_turn_by_their_row(void **unused) {
    (void)unused;
    const hu_rotary_attrs cases[] = {
        {1, 10000.0f, false}, {3, 10000.0f, false}, {2, 10000.0f, true}, {1, 1.0f, true}};
    for (int k = 0; k < 4; k++)
        for (int64_t chunk = 1; chunk <= BATCH; chunk += 2) {
            check(&cases[k], 8, chunk);
            check(&cases[k], 2, chunk);
        }
}

/* The product of two rows depends on how far they are apart alone: what the turning is for. */
static void products_know_the_distance_alone(void **unused) {
    (void)unused;
    enum { D = 16 };
    const hu_rotary_attrs a = {1, 10000.0f, false};
    const hu_shape in = DRIVE_SHAPE(ROWS, D);
    drive d;
    drive_open(&d, &hu_op_rotary, &a, 1, &in, 2, 2);
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < ROWS * D; i++)
            d.in[0][s * ROWS * D + i] = d.in[0][s * ROWS * D + i % D];
    drive_forward(&d);
    for (int apart = 0; apart < ROWS; apart++) {
        double first = 0;
        for (int t = 0; t + apart < ROWS; t++) {
            double product = 0;
            for (int i = 0; i < D; i++)
                product +=
                    (double)d.out[0][t * D + i] * (double)d.out[0][(ROWS + t + apart) * D + i];
            if (t == 0) first = product;
            assert_true(fabs(product - first) < 1e-5);
        }
    }
    drive_close(&d);
}

static void refuses(hu_rotary_attrs a, hu_shape in, hu_status status, const char *word) {
    hu_shape out;
    int n;
    assert_int_equal(hu_op_rotary.shape(&a, 1, &in, &n, &out), status);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

static void wrong_attributes_are_named(void **unused) {
    (void)unused;
    const hu_shape in = DRIVE_SHAPE(4, 12), flat = DRIVE_SHAPE(12), long_one = {2, {1 << 30, 2}};
    refuses((hu_rotary_attrs){1, 10000, false}, flat, HU_ERR_SHAPE, "expected 2 extents");
    refuses((hu_rotary_attrs){4, 10000, false}, in, HU_ERR_SHAPE, "4 heads for rows of 12");
    refuses((hu_rotary_attrs){5, 10000, false}, in, HU_ERR_SHAPE, "5 heads");
    refuses((hu_rotary_attrs){0, 10000, false}, in, HU_ERR_SHAPE, "0 heads");
    refuses((hu_rotary_attrs){1, 0.5f, false}, in, HU_ERR_ARGUMENT, "rotary: base 0.5");
    refuses((hu_rotary_attrs){1, INFINITY, false}, in, HU_ERR_ARGUMENT, "base inf");
    refuses((hu_rotary_attrs){1, 10000, false}, long_one, HU_ERR_SHAPE, "rows, expected at most");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_turn_by_their_row),
        cmocka_unit_test(products_know_the_distance_alone),
        cmocka_unit_test(wrong_attributes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
