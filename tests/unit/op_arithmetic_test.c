/* Arithmetic of shapes that are stretched to each other, against plain loops in double: outputs and
 * gradients that are no sums bit by bit, sums within the bound of their order; chunks of any length
 * give the same bits but for the parameter. */
#include "op_drive.h"

#include <float.h>

#include "base/bits.h"
#include "op/attributes.h"

enum { BATCH = 7, MOST = 1 << 13 };

/* What one output number is made of, and its slopes, in double. */
typedef double plain_fn(double a, double b);

static double plus(double a, double b) {
    return a + b;
}
static double minus(double a, double b) {
    return a - b;
}
static double times(double a, double b) {
    return a * b;
}
static double over(double a, double b) {
    return a / b;
}
static double smaller(double a, double b) {
    return a <= b ? a : b;
}
static double larger(double a, double b) {
    return a >= b ? a : b;
}
static double one(double a, double b) {
    (void)a, (void)b;
    return 1;
}
static double minus_one(double a, double b) {
    (void)a, (void)b;
    return -1;
}
static double first(double a, double b) {
    (void)b;
    return a;
}
static double second(double a, double b) {
    (void)a;
    return b;
}
static double inverse(double a, double b) {
    (void)a;
    return 1 / b;
}
static double divisor_slope(double a, double b) {
    return -a / (b * b);
}
static double is_smaller(double a, double b) {
    return a <= b;
}
static double is_larger_strictly(double a, double b) {
    return a > b;
}
static double is_larger(double a, double b) {
    return a >= b;
}
static double is_smaller_strictly(double a, double b) {
    return a < b;
}

typedef struct arithmetic {
    const hu_op *op;
    plain_fn *value, *slope[2];
} arithmetic;

static const arithmetic ops[] = {
    {&hu_op_add, plus, {one, one}},
    {&hu_op_sub, minus, {one, minus_one}},
    {&hu_op_mul, times, {second, first}},
    {&hu_op_div, over, {inverse, divisor_slope}},
    {&hu_op_minimum, smaller, {is_smaller, is_larger_strictly}},
    {&hu_op_maximum, larger, {is_larger, is_smaller_strictly}},
};
enum { OPS = sizeof ops / sizeof *ops };

/* The place of the number that output number k, counted within a sample, reads of a shape. */
static int64_t place(const hu_shape *out, const hu_shape *shape, int64_t k) {
    int64_t at = 0, step = 1;
    for (int d = 1; d <= out->rank; d++) {
        int64_t i = k % out->extent[out->rank - d];
        k /= out->extent[out->rank - d];
        if (d > shape->rank) continue;
        int64_t extent = shape->extent[shape->rank - d];
        if (extent > 1) at += i * step;
        step *= extent;
    }
    return at;
}

/* The second operand, which may be the second input, the parameter or the constant. */
typedef struct operand {
    hu_shape shape;
    const float *x;
    float *slope;
    bool is_shared;
} operand;

static operand operand_of(drive *d, int which, const float *constant) {
    if (which < d->info.n_in) return (operand){d->in_shape[which], d->in[which], d->din[which], 0};
    if (d->info.n_params) return (operand){d->param_shape[0], d->param[0], d->dparam[0], 1};
    return (operand){{.rank = 0}, constant, NULL, 1};
}

static int64_t index_of(const drive *d, const operand *of, int64_t s, int64_t k) {
    int64_t at = place(&d->out_shape[0], &of->shape, k);
    return of->is_shared ? at : s * hu_shape_elements(&of->shape) + at;
}

static void check_outputs(const drive *d, const arithmetic *u, const operand *of) {
    int64_t n = hu_shape_elements(&d->out_shape[0]);
    for (int64_t s = 0; s < BATCH; s++)
        for (int64_t k = 0; k < n; k++) {
            float a = of[0].x[index_of(d, &of[0], s, k)], b = of[1].x[index_of(d, &of[1], s, k)];
            float expected = (float)u->value((double)a, (double)b);
            assert_int_equal(hu_f32_bits(d->out[0][s * n + k]), hu_f32_bits(expected));
        }
}

/* A gradient of n terms in double has an error below n 2^-52 of the sum of their sizes, and is
 * rounded once; that of a parameter is summed over chunks in float32, in a tree. */
static void check_slopes(const drive *d, const arithmetic *u, const operand *of, int which) {
    static double sum[MOST], size[MOST];
    int64_t n = hu_shape_elements(&d->out_shape[0]), all = BATCH * n;
    int64_t most = (of[which].is_shared ? 1 : BATCH) * hu_shape_elements(&of[which].shape);
    if (!of[which].slope) return;
    assert_true(most <= MOST);
    memset(sum, 0, sizeof sum), memset(size, 0, sizeof size);
    for (int64_t s = 0; s < BATCH; s++)
        for (int64_t k = 0; k < n; k++) {
            float a = of[0].x[index_of(d, &of[0], s, k)], b = of[1].x[index_of(d, &of[1], s, k)];
            double term = (double)d->dout[0][s * n + k] * u->slope[which]((double)a, (double)b);
            int64_t to = index_of(d, &of[which], s, k);
            sum[to] += term;
            size[to] += fabs(term);
        }
    for (int64_t i = 0; i < most; i++) {
        double found = (double)of[which].slope[i], bound = 0x1p-24 * fabs(sum[i]) + 0x1p-149;
        bound += size[i] * ((double)(all / most + 4) * 0x1p-52);
        if (of[which].is_shared) bound += size[i] * 4 * 0x1p-24; /* at most 3 levels of a tree */
        if (!(fabs(found - sum[i]) <= bound))
            fail_msg("%s, operand %d, number %lld: %.9g, expected %.9g within %g", u->op->name,
                     which, (long long)i, found, sum[i], bound);
    }
}

typedef struct shapes {
    int n;
    hu_shape in[2];
    hu_arithmetic_attrs attrs;
} shapes;

#define SHAPE(...)                                                                                 \
    {                                                                                              \
        .rank = (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .extent = {         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const shapes cases[] = {
    {2, {SHAPE(3, 7), SHAPE(3, 7)}, {.value = 0}},
    {2, {SHAPE(4, 5, 6), SHAPE(6)}, {.value = 0}},       /* a gate of channels */
    {2, {SHAPE(4, 5, 6), SHAPE(1, 1, 6)}, {.value = 0}}, /* likewise */
    {2, {SHAPE(6), SHAPE(4, 5, 6)}, {.value = 0}},       /* the other way round */
    {2, {SHAPE(4, 5, 6), SHAPE(4, 5, 1)}, {.value = 0}}, /* a gate of places */
    {2, {SHAPE(4, 5, 6), SHAPE(4, 1, 1)}, {.value = 0}},
    {2, {SHAPE(4, 5, 6), SHAPE(1)}, {.value = 0}},
    {2, {SHAPE(4, 5, 6), {.rank = 0}}, {.value = 0}},
    {2, {{.rank = 0}, {.rank = 0}}, {.value = 0}},
    {2, {SHAPE(4, 1, 6), SHAPE(5, 1)}, {.value = 0}}, /* both are stretched */
    {2, {SHAPE(1, 5), SHAPE(4, 1)}, {.value = 0}},
    {2, {SHAPE(2, 1, 3, 1, 5), SHAPE(4, 1, 2, 1)}, {.value = 0}},
    {2, {SHAPE(2, 300), SHAPE(2, 1)}, {.value = 0}}, /* rows of several blocks */
    {1, {SHAPE(4, 5, 6)}, {.value = 0.3f}},
    {1, {SHAPE(4, 5, 6)}, {.value = -2.0f}},
    {1, {SHAPE(4, 5, 6)}, {.shape = SHAPE(6)}}, /* a layer's scale */
    {1, {SHAPE(4, 5, 6)}, {.shape = SHAPE(4, 5, 6)}},
    {1, {SHAPE(4, 5, 6)}, {.shape = SHAPE(5, 1)}},
    {1, {SHAPE(4, 5, 6)}, {.shape = SHAPE(1)}},
    {1, {SHAPE(6)}, {.shape = SHAPE(4, 1, 6)}}, /* the input is stretched */
    {1, {SHAPE(4, 1)}, {.shape = SHAPE(3)}},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Numbers away from 0, which are divided by; some of both operands are equal. */
static void open_numbers(drive *d, const arithmetic *u, const shapes *c, int64_t chunk) {
    drive_open(d, u->op, &c->attrs, c->n, c->in, BATCH, chunk);
    for (int i = 0; i < c->n; i++)
        for (int64_t k = 0; k < drive_in_elements(d, i); k++) {
            float v = d->in[i][k];
            d->in[i][k] = k % 5 == 0 ? 1.5f : v + (v < 0 ? -0.5f : 0.5f);
        }
    for (int64_t k = 0; d->info.n_params && k < drive_param_elements(d, 0); k++)
        d->param[0][k] = k % 3 == 0 ? 1.5f : 1.0f + 0.1f * d->param[0][k];
}

static void numbers_are_those_of_plain_loops(void **unused) {
    (void)unused;
    for (int o = 0; o < OPS; o++)
        for (int c = 0; c < CASES; c++)
            for (int64_t chunk = 1; chunk <= BATCH; chunk += 3) {
                drive d;
                open_numbers(&d, &ops[o], &cases[c], chunk);
                drive_forward(&d);
                drive_backward(&d);
                const operand of[2] = {operand_of(&d, 0, NULL),
                                       operand_of(&d, 1, &cases[c].attrs.value)};
                check_outputs(&d, &ops[o], of);
                check_slopes(&d, &ops[o], of, 0);
                check_slopes(&d, &ops[o], of, 1);
                drive_close(&d);
            }
}

static void chunks_do_not_matter(void **unused) {
    (void)unused;
    for (int o = 0; o < OPS; o++)
        for (int c = 0; c < CASES; c++) {
            drive d, e;
            open_numbers(&d, &ops[o], &cases[c], BATCH);
            open_numbers(&e, &ops[o], &cases[c], 2);
            e.reversed = true;
            drive_forward(&d), drive_forward(&e);
            drive_backward(&d), drive_backward(&e);
            assert_memory_equal(d.out[0], e.out[0],
                                (size_t)drive_out_elements(&d, 0) * sizeof(float));
            for (int i = 0; i < d.info.n_in; i++)
                assert_memory_equal(d.din[i], e.din[i],
                                    (size_t)drive_in_elements(&d, i) * sizeof(float));
            drive_close(&d), drive_close(&e);
        }
}

/* Where the shapes of out[0] and in[0] are equal, gradients may take each other's place. */
static void gradients_work_in_place(void **unused) {
    (void)unused;
    for (int o = 0; o < OPS; o++)
        for (int c = 0; c < CASES; c++) {
            drive d, e;
            open_numbers(&d, &ops[o], &cases[c], BATCH);
            open_numbers(&e, &ops[o], &cases[c], BATCH);
            size_t bytes = (size_t)drive_in_elements(&d, 0) * sizeof(float);
            if (hu_shape_equal(&d.in_shape[0], &d.out_shape[0])) e.din[0] = e.dout[0];
            drive_forward(&d), drive_forward(&e);
            drive_backward(&d), drive_backward(&e);
            assert_memory_equal(d.din[0], e.din[0], bytes);
            for (int i = 1; i < d.info.n_in; i++)
                assert_memory_equal(d.din[i], e.din[i],
                                    (size_t)drive_in_elements(&d, i) * sizeof(float));
            if (d.info.n_params)
                assert_memory_equal(d.dparam[0], e.dparam[0],
                                    (size_t)drive_param_elements(&d, 0) * sizeof(float));
            drive_close(&d), drive_close(&e);
        }
}

/* A condition of another shape; it is no gradient's. */
static void where_chooses_and_says_nothing_of_its_condition(void **unused) {
    (void)unused;
    const hu_shape in[3] = {SHAPE(3, 1), SHAPE(3, 4), SHAPE(4)};
    drive d;
    drive_open(&d, &hu_op_where, NULL, 3, in, BATCH, 2);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++)
        d.in[0][i] = i % 4 == 0 ? 0.0f : i % 4 == 1 ? -0.0f : i % 4 == 2 ? NAN : 0x1p-149f;
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t s = 0; s < BATCH; s++)
        for (int64_t c = 0; c < 4; c++) {
            double sum = 0;
            for (int64_t r = 0; r < 3; r++) {
                int64_t k = (s * 3 + r) * 4 + c, given = s * 3 + r;
                bool is = given % 4 > 1;
                assert_true(d.out[0][k] == (is ? d.in[1][k] : d.in[2][s * 4 + c]));
                assert_true(d.din[1][k] == (is ? d.dout[0][k] : 0.0f));
                sum += is ? 0.0 : (double)d.dout[0][k];
            }
            assert_true(d.din[2][s * 4 + c] == (float)sum);
        }
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++)
        assert_int_equal(hu_f32_bits(d.din[0][i]), 0);
    drive_close(&d);
}

static void refuses(const hu_op *op, const char *text, int n_in, const hu_shape *in, hu_status st,
                    const char *word) {
    hu_arithmetic_attrs attrs = {0};
    hu_shape out[HU_MAX_OUTPUTS];
    int n;
    assert_int_equal(hu_op_read_attributes(op, text, in, &attrs), HU_OK);
    assert_int_equal(op->shape(&attrs, n_in, in, &n, out), st);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

static void what_does_not_fit_is_refused(void **unused) {
    (void)unused;
    const hu_shape two[3] = {SHAPE(4, 3), SHAPE(4, 2), SHAPE(4, 3)};
    refuses(&hu_op_mul, "", 2, two, HU_ERR_SHAPE, "mul: found 4x3 and 4x2");
    refuses(&hu_op_sub, "shape=4x2", 1, two, HU_ERR_SHAPE, "sub: found 4x3 and 4x2");
    refuses(&hu_op_div, "shape=0", 1, two, HU_ERR_SHAPE, "0");
    refuses(&hu_op_add, "", 3, two, HU_ERR_SHAPE, "4x2");
    refuses(&hu_op_add, "value=1", 3, two, HU_ERR_ARGUMENT, "expected one beside value=");
    refuses(&hu_op_mul, "", 1, two, HU_ERR_ARGUMENT, "found 1 value, expected two values");
    refuses(&hu_op_mul, "value=0", 1, two, HU_ERR_ARGUMENT, "not 0");
    refuses(&hu_op_mul, "value=2", 2, two, HU_ERR_ARGUMENT, "found 2 values, value=");
    refuses(&hu_op_mul, "value=2 shape=3", 1, two, HU_ERR_ARGUMENT, "value=, shape=");
    const hu_shape chosen[3] = {SHAPE(5), SHAPE(4, 3), SHAPE(4, 3)};
    hu_shape out;
    int n;
    assert_int_equal(hu_op_where.shape(NULL, 3, chosen, &n, &out), HU_ERR_SHAPE);
    assert_non_null(strstr(hu_last_error(), "where: found 5 and 4x3"));
}

static void writes(const hu_op *op, const hu_arithmetic_attrs *attrs, const char *expected) {
    const hu_shape in = SHAPE(4, 3);
    char *text = NULL;
    assert_int_equal(hu_op_write_attributes(op, attrs, &in, &text), HU_OK);
    assert_string_equal(text, expected);
    hu_free(text);
}

static void weights_begin_as_what_changes_nothing(void **unused) {
    (void)unused;
    static const float starts[OPS] = {0, 0, 1, 1, 0, 0};
    const hu_shape in = SHAPE(4, 3);
    for (int o = 0; o < OPS; o++) {
        hu_arithmetic_attrs attrs = {0}, told = {0};
        hu_param_decl list[HU_MAX_PARAMS];
        int count = 0;
        assert_int_equal(hu_op_read_attributes(ops[o].op, "shape=1x3", &in, &attrs), HU_OK);
        assert_int_equal(ops[o].op->params(&attrs, &in, list, &count), HU_OK);
        assert_true(count == 1 && strcmp(list[0].suffix, "weight") == 0 && list[0].trained);
        assert_true(list[0].init.kind == HU_INIT_CONSTANT && list[0].init.scale == starts[o]);
        assert_int_equal(hu_op_read_attributes(ops[o].op, "shape=3 init=normal:0.5", &in, &told),
                         HU_OK);
        assert_true(told.weight_init.kind == HU_INIT_NORMAL && told.weight_init.scale == 0.5f);
        assert_int_equal(ops[o].op->params(NULL, &in, list, &count), HU_OK);
        assert_int_equal(count, 0);
        writes(ops[o].op, &attrs, "shape=1x3");
        writes(ops[o].op, &told, "shape=3 init=normal:0.5");
        writes(ops[o].op, &(hu_arithmetic_attrs){.value = -0.1f}, "value=-0.1");
        writes(ops[o].op, NULL, "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_plain_loops),
        cmocka_unit_test(chunks_do_not_matter),
        cmocka_unit_test(gradients_work_in_place),
        cmocka_unit_test(where_chooses_and_says_nothing_of_its_condition),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(weights_begin_as_what_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
