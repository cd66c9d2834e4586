/* Functions of each number by itself, bit by bit against their definitions in double, forward and
 * backward, in chunks of any length; the edges of clip on every ISA; attributes. */
#include "op_drive.h"

#include "base/bits.h"
#include "base/cpu.h"
#include "base/elementary.h"
#include "op/attributes.h"

enum { BATCH = 7, ELEMENTS = 45 };

static const float special[] = {0.0f,      -0.0f,    1.0f,      -1.0f,     NAN,    INFINITY,
                                -INFINITY, 0x1p127f, -0x1p127f, 0x1p-149f, -3.0f,  3.0f,
                                -88.5f,    89.0f,    -104.5f,   0.25f,     -0.25f, -2.75f,
                                0x1p-126f, 700.0f,   -700.0f};
enum { SPECIALS = sizeof special / sizeof special[0] };

/* Of x, or where the record says so of the stored y. */
typedef double forward_fn(double x);
typedef float backward_fn(double of, double dy);

typedef struct unary {
    const hu_op *op;
    const void *attrs;
    forward_fn *forward;
    backward_fn *backward;
} unary;

static double share(double x) {
    return 1 / (1 + hu_exp(-x));
}

static double silu(double x) {
    return x / (1 + hu_exp(-x));
}
static float silu_back(double x, double dy) {
    return (float)(dy * (share(x) * (1 + x * (1 - share(x)))));
}

/* relu6(x + 3) */
static double six(double x) {
    return x + 3 < 0 ? 0 : x + 3 > 6 ? 6 : x + 3;
}
static double hard_swish(double x) {
    return x * six(x) / 6;
}
static float hard_swish_back(double x, double dy) {
    return (float)(x <= -3 ? 0 : x >= 3 ? dy : dy * (2 * x + 3) / 6);
}
static double hard_sigmoid(double x) {
    return six(x) / 6;
}
static float hard_sigmoid_back(double x, double dy) {
    return (float)(x <= -3 || x >= 3 ? 0 : dy / 6);
}

static float exp_back(double y, double dy) {
    return (float)(dy * y);
}
static float log_back(double x, double dy) {
    return (float)dy / (float)x;
}
static double root(double x) {
    return sqrt(x);
}
static float root_back(double y, double dy) {
    return (float)(dy / (2 * y));
}
static double power(double x) {
    return hu_pow(x, 1.7);
}
static float power_back(double x, double dy) {
    return (float)(dy * (1.7 * hu_pow(x, 1.7 - 1)));
}
static double square(double x) {
    return x * x;
}
static float square_back(double x, double dy) {
    return (float)(2 * x * dy);
}
static double size(double x) {
    return fabs(x);
}
static float size_back(double x, double dy) {
    return (float)(dy * (x > 0 ? 1 : x < 0 ? -1 : x));
}
static double opposite(double x) {
    return -x;
}
static float opposite_back(double x, double dy) {
    (void)x;
    return (float)-dy;
}
static double between(double x) {
    return x < -0.25 ? -0.25 : x > 1 ? 1 : x;
}
static float between_back(double x, double dy) {
    return x < -0.25 || x > 1 ? 0.0f : (float)dy;
}
static double above(double x) {
    return x < -2.75 ? -2.75 : x;
}
static float above_back(double x, double dy) {
    return x < -2.75 ? 0.0f : (float)dy;
}

static const hu_pow_attrs by_some = {1.7}, by_two = {2.0}, by_half = {0.5};
static const hu_clip_attrs both = {-0.25f, 1.0f}, open_above = {-2.75f, INFINITY};

static float root_of_input_back(double x, double dy) {
    return (float)(dy * (0.5 * (1 / sqrt(x))));
}

static const unary ops[] = {
    {&hu_op_silu, NULL, silu, silu_back},
    {&hu_op_hard_swish, NULL, hard_swish, hard_swish_back},
    {&hu_op_hard_sigmoid, NULL, hard_sigmoid, hard_sigmoid_back},
    {&hu_op_exp, NULL, hu_exp, exp_back},
    {&hu_op_log, NULL, hu_log, log_back},
    {&hu_op_sqrt, NULL, root, root_back},
    {&hu_op_pow, &by_some, power, power_back},
    {&hu_op_pow, &by_two, square, square_back},
    {&hu_op_pow, &by_half, root, root_of_input_back},
    {&hu_op_square, NULL, square, square_back},
    {&hu_op_abs, NULL, size, size_back},
    {&hu_op_neg, NULL, opposite, opposite_back},
    {&hu_op_clip, &both, between, between_back},
    {&hu_op_clip, &open_above, above, above_back},
};
enum { OPS = sizeof ops / sizeof *ops };

static void same(const unary *u, const char *what, float x, float found, float expected) {
    bool are_same = isnan(expected) ? isnan(found) : hu_f32_bits(found) == hu_f32_bits(expected);
    if (!are_same)
        fail_msg("%s, %s of %a: found %a, expected %a", u->op->name, what, (double)x, (double)found,
                 (double)expected);
}

/* The stored output is another number than the op made, as a format may have left it. */
static void check(const unary *u, int64_t elements, int64_t chunk) {
    drive d;
    hu_shape in = DRIVE_SHAPE(elements);
    drive_open(&d, u->op, u->attrs, 1, &in, BATCH, chunk);
    int64_t n = BATCH * elements;
    for (int64_t i = 0; i < n; i++)
        d.in[0][i] = i % 3 ? d.in[0][i] * (float)(i % 5 + 1) : special[i / 3 % SPECIALS];
    drive_forward(&d);
    for (int64_t i = 0; i < n; i++) {
        float x = d.in[0][i];
        same(u, "output", x, d.out[0][i], (float)u->forward((double)x));
    }
    bool by_output = hu_saves_output(u->op, 0);
    for (int64_t i = 0; by_output && i < n; i++) d.out[0][i] = 0.75f * d.out[0][i];
    drive_backward(&d);
    for (int64_t i = 0; i < n; i++) {
        float of = by_output ? d.out[0][i] : d.in[0][i];
        same(u, "gradient", of, d.din[0][i], u->backward((double)of, (double)d.dout[0][i]));
    }
    drive_close(&d);
}

static void each_is_its_definition_rounded_once(void **unused) {
    (void)unused;
    for (int o = 0; o < OPS; o++)
        for (int64_t chunk = 1; chunk <= BATCH; chunk += 3) check(&ops[o], ELEMENTS, chunk);
}

static void every_length_and_isa_has_the_same_bits(void **unused) {
    (void)unused;
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        for (int o = 0; o < OPS; o++)
            for (int64_t n = 1; n <= 40; n++) check(&ops[o], n, 2);
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* Where out[0] lies in in[0], and din[0] in dout[0], as the executor may have it. */
static void all_work_in_place(void **unused) {
    (void)unused;
    for (int o = 0; o < OPS; o++) {
        drive d, e;
        hu_shape in = DRIVE_SHAPE(ELEMENTS);
        drive_open(&d, ops[o].op, ops[o].attrs, 1, &in, BATCH, BATCH);
        drive_open(&e, ops[o].op, ops[o].attrs, 1, &in, BATCH, BATCH);
        assert_true(ops[o].op->in_place);
        e.out[0] = e.in[0];
        drive_forward(&d);
        drive_forward(&e);
        assert_memory_equal(d.out[0], e.out[0], BATCH * ELEMENTS * sizeof(float));
        e.in[0] = d.in[0];
        e.din[0] = e.dout[0];
        drive_backward(&d);
        drive_backward(&e);
        assert_memory_equal(d.din[0], e.din[0], BATCH * ELEMENTS * sizeof(float));
        drive_close(&d);
        drive_close(&e);
    }
}

static void reads(const hu_op *op, const char *text, void *attrs, hu_status shape_status) {
    hu_shape in = DRIVE_SHAPE(4, 3), out;
    int n;
    assert_int_equal(hu_attributes_read(op->attributes, text, attrs), HU_OK);
    assert_int_equal(op->shape(attrs, 1, &in, &n, &out), shape_status);
    if (shape_status == HU_OK) assert_true(n == 1 && hu_shape_equal(&in, &out));
}

static void attributes_are_checked(void **unused) {
    (void)unused;
    hu_pow_attrs p = {0};
    hu_clip_attrs c = {0};
    reads(&hu_op_pow, "exponent=-0.3", &p, HU_OK);
    assert_true(p.exponent == -0.3);
    reads(&hu_op_pow, "exponent=0", &p, HU_ERR_ARGUMENT);
    assert_int_equal(hu_attributes_read(hu_op_pow.attributes, "", &p), HU_ERR_ARGUMENT);
    reads(&hu_op_clip, "low=-1 high=6", &c, HU_OK);
    assert_true(c.low == -1 && c.high == 6);
    reads(&hu_op_clip, "high=6", &c, HU_OK);
    assert_true(isinf(c.low) && c.low < 0);
    reads(&hu_op_clip, "low=2", &c, HU_OK);
    reads(&hu_op_clip, "", &c, HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "low=-inf high=inf"));
    reads(&hu_op_clip, "low=2 high=2", &c, HU_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_its_definition_rounded_once),
        cmocka_unit_test(every_length_and_isa_has_the_same_bits),
        cmocka_unit_test(all_work_in_place),
        cmocka_unit_test(attributes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
