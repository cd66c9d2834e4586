/* reduce_mean, reduce_sum and reduce_max bit for bit against their definition, element by element.
 */
#include "op/attributes.h"
#include "op_drive.h"

enum { BATCH = 7, MOST = 512 };

typedef struct reduction_case {
    hu_shape in;
    hu_reduce_attrs attrs;
    hu_shape out;
} reduction_case;

static const reduction_case cases[] = {
    {{3, {3, 4, 5}}, {{1, {0}}, false}, {2, {4, 5}}},
    {{3, {3, 4, 5}}, {{1, {1}}, false}, {2, {3, 5}}},
    {{3, {3, 4, 5}}, {{1, {-1}}, true}, {3, {3, 4, 1}}},
    {{3, {3, 4, 5}}, {{2, {0, 1}}, false}, {1, {5}}},
    {{3, {3, 4, 5}}, {{2, {-3, 2}}, true}, {3, {1, 4, 1}}},
    {{3, {3, 4, 5}}, {{2, {2, 1}}, false}, {1, {3}}},
    {{3, {3, 4, 5}}, {{0, {0}}, false}, {.rank = 0}},
    {{3, {3, 4, 5}}, {{3, {2, 0, 1}}, true}, {3, {1, 1, 1}}},
    {{5, {2, 3, 2, 1, 4}}, {{2, {1, 3}}, false}, {3, {2, 2, 4}}},
    {{5, {2, 3, 2, 3, 2}}, {{3, {0, 2, 4}}, true}, {5, {1, 3, 1, 3, 1}}},
    {{2, {1, 6}}, {{1, {0}}, false}, {1, {6}}},
    {{1, {300}}, {{1, {0}}, true}, {1, {1}}},
    {{.rank = 0}, {{0, {0}}, true}, {.rank = 0}},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Which output an element of a sample belongs to: its index without the reduced axes. */
static int64_t output_of(const reduction_case *c, int64_t element) {
    int64_t index[HU_MAX_RANK], at = 0;
    for (int i = c->in.rank - 1; i >= 0; i--) {
        index[i] = element % c->in.extent[i];
        element /= c->in.extent[i];
    }
    for (int i = 0; i < c->in.rank; i++) {
        bool is_reduced = c->attrs.axes.count == 0;
        for (int k = 0; k < c->attrs.axes.count; k++)
            is_reduced |= (c->attrs.axes.at[k] + c->in.rank) % c->in.rank == i;
        if (!is_reduced) at = at * c->in.extent[i] + index[i];
    }
    return at;
}

static void same_bits(const float *found, const float *expected, int64_t count) {
    assert_memory_equal(found, expected, (size_t)count * sizeof *found);
}

static void open(drive *d, const hu_op *op, const reduction_case *c, int64_t chunk) {
    drive_open(d, op, &c->attrs, 1, &c->in, BATCH, chunk);
    if (!hu_shape_equal(&d->out_shape[0], &c->out)) fail_msg("%s: wrong shape", op->name);
    drive_forward(d);
    drive_backward(d);
}

static void check_sum(const reduction_case *c, bool is_mean, int64_t chunk) {
    drive d;
    open(&d, is_mean ? &hu_op_reduce_mean : &hu_op_reduce_sum, c, chunk);
    int64_t in = hu_shape_elements(&c->in), out = hu_shape_elements(&c->out);
    double divisor = is_mean ? (double)(in / out) : 1.0;
    for (int64_t s = 0; s < BATCH; s++) {
        double sum[MOST] = {0};
        float y[MOST], dx[MOST];
        for (int64_t i = 0; i < in; i++) {
            sum[output_of(c, i)] += (double)d.in[0][s * in + i];
            dx[i] = (float)((double)d.dout[0][s * out + output_of(c, i)] / divisor);
        }
        for (int64_t i = 0; i < out; i++) y[i] = (float)(sum[i] / divisor);
        same_bits(d.out[0] + s * out, y, out);
        same_bits(d.din[0] + s * in, dx, in);
    }
    drive_close(&d);
}

static void sums_and_means_are_the_definition(void **unused) {
    (void)unused;
    for (int k = 0; k < CASES; k++)
        for (int64_t chunk = 1; chunk <= BATCH; chunk += 3) {
            check_sum(&cases[k], false, chunk);
            check_sum(&cases[k], true, chunk);
        }
}

/* Few different numbers, so that most are not the only ones of their size; some NaN. */
static void check_max(const reduction_case *c, int64_t chunk) {
    static const float numbers[] = {-2, 0.5f, -0.0f, 0, 1, 1, -1};
    drive d;
    drive_open(&d, &hu_op_reduce_max, &c->attrs, 1, &c->in, BATCH, chunk);
    int64_t in = hu_shape_elements(&c->in), out = hu_shape_elements(&c->out);
    for (int64_t i = 0; i < BATCH * in; i++)
        d.in[0][i] = i % 29 == 28 ? NAN : numbers[i * i / 3 % 7];
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t s = 0; s < BATCH; s++) {
        int64_t first[MOST];
        float dx[MOST] = {0};
        const float *x = d.in[0] + s * in;
        for (int64_t i = 0; i < out; i++) first[i] = -1;
        for (int64_t i = 0; i < in; i++) {
            int64_t *best = &first[output_of(c, i)];
            if (*best < 0 || (!isnan(x[*best]) && !(x[i] <= x[*best]))) *best = i;
        }
        for (int64_t i = 0; i < out; i++) {
            same_bits(&d.out[0][s * out + i], &x[first[i]], 1);
            dx[first[i]] = d.dout[0][s * out + i];
        }
        same_bits(d.din[0] + s * in, dx, in);
    }
    drive_close(&d);
}

static void the_first_largest_has_the_gradient(void **unused) {
    (void)unused;
    for (int k = 0; k < CASES; k++)
        for (int64_t chunk = 1; chunk <= BATCH; chunk += 3) check_max(&cases[k], chunk);
}

/* Masks of one, two and four bytes. */
static void large_samples_find_their_largest(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {256, 257, 65536, 65537, 70001};
    static const size_t bytes[] = {1, 2, 2, 4, 4};
    const hu_reduce_attrs all = {.keeps = false};
    for (int k = 0; k < 5; k++) {
        drive d;
        const hu_shape in = DRIVE_SHAPE(sizes[k]);
        drive_open(&d, &hu_op_reduce_max, &all, 1, &in, 2, 2);
        assert_int_equal(hu_op_reduce_max.mask_bytes(&d.info), bytes[k]);
        d.in[0][sizes[k] - 1] = 100;
        d.in[0][sizes[k] + 7] = 100;
        drive_forward(&d);
        drive_backward(&d);
        for (int64_t i = 0; i < 2 * sizes[k]; i++) {
            bool is_largest = i == sizes[k] - 1 || i == sizes[k] + 7;
            assert_true(d.din[0][i] == (is_largest ? d.dout[0][i / sizes[k]] : 0));
        }
        drive_close(&d);
    }
}

static void refuses(const hu_op *op, hu_reduce_attrs attrs, hu_status status, const char *word) {
    const hu_shape in = DRIVE_SHAPE(3, 4);
    hu_shape out;
    int n;
    assert_int_equal(op->shape(&attrs, 1, &in, &n, &out), status);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

static void wrong_axes_are_named(void **unused) {
    (void)unused;
    refuses(&hu_op_reduce_mean, (hu_reduce_attrs){{1, {2}}, false}, HU_ERR_SHAPE,
            "reduce_mean: axes: found 2, and an input of 2 extents, expected -2 to 1");
    refuses(&hu_op_reduce_sum, (hu_reduce_attrs){{1, {-3}}, false}, HU_ERR_SHAPE, "found -3");
    refuses(&hu_op_reduce_max, (hu_reduce_attrs){{2, {1, -1}}, false}, HU_ERR_ARGUMENT,
            "reduce_max: axes: found -1 twice");
}

/* Where the rows of the input are padding, those of the output are, if the first axis stays. */
static void rows_are_kept_with_the_first_axis(void **unused) {
    (void)unused;
    const hu_reduce_attrs last = {{1, {-1}}, false}, first = {{1, {-2}}, true}, all = {.keeps = 1};
    assert_true(hu_keeps_rows(&hu_op_reduce_mean, &last, 2));
    assert_false(hu_keeps_rows(&hu_op_reduce_mean, &first, 2));
    assert_true(hu_keeps_rows(&hu_op_reduce_max, &first, 3));
    assert_false(hu_keeps_rows(&hu_op_reduce_sum, &all, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_means_are_the_definition),
        cmocka_unit_test(the_first_largest_has_the_gradient),
        cmocka_unit_test(large_samples_find_their_largest),
        cmocka_unit_test(wrong_axes_are_named),
        cmocka_unit_test(rows_are_kept_with_the_first_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
