/* Range norm against its definition in double, on every odd number of values; bits across
 * instruction sets, chunk lengths and orders; eval and commit. */
#include "op_drive.h"

#include "base/cpu.h"
#include "op/attributes.h"

static const hu_range_norm_attrs attrs = {.epsilon = 1e-5f, .momentum = 0.9f};

/* Samples, chunk, pixels, channels: groups of one chunk, chunks of many groups, fewer than 32
 * values, no multiple of 16, one value alone. */
typedef struct size {
    int64_t batch, chunk, pixels, channels;
} size;
static const size sizes[] = {
    {13, 5, 63, 3},  {16, 4, 16, 8},  {3, 1, 640, 5},   {1, 4, 500, 16}, {64, 64, 4, 33},
    {7, 3, 7, 17},   {1, 1, 1, 3},    {2, 1, 1, 4},     {3, 2, 1, 2},    {31, 4, 1, 9},
    {32, 5, 1, 100}, {33, 4, 1, 24},  {17, 16, 1, 116}, {5, 2, 3, 520},  {11, 3, 97, 1},
    {4, 2, 81, 58},  {128, 4, 64, 7}, {9, 4, 2049, 2},
};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static int64_t values_of(const size *s) {
    return s->batch * s->pixels;
}

static void open_norm(drive *d, const size *s, int64_t chunk) {
    hu_shape in = DRIVE_SHAPE(s->pixels, s->channels);
    drive_open(d, &hu_op_range_norm, &attrs, 1, &in, s->batch, chunk);
}

/* Numbers with few digits, whose sums are exact in float32, and many of which are equal. */
static void make_coarse(drive *d) {
    for (int64_t i = 0; i < drive_in_elements(d, 0); i++) {
        d->in[0][i] = rintf(4.0f * d->in[0][i]) / 4.0f;
        d->dout[0][i] = rintf(4.0f * d->dout[0][i]) / 4.0f;
    }
}

/* ---- the definition, one channel ---- */

typedef struct channel {
    int64_t n, groups, high[16], low[16]; /* places of the extremes */
    double mean, scale, kappa;
} channel;

static double value(const drive *d, const float *x, int64_t i, int64_t c) {
    return (double)x[i * d->in_shape[0].extent[1] + c];
}

static void find_extremes(const drive *d, int64_t c, channel *of) {
    for (int64_t g = 0; g < of->groups; g++) of->high[g] = of->low[g] = -1;
    for (int64_t i = 0; i < of->n; i++) {
        int64_t g = of->groups * i / of->n;
        double x = value(d, d->in[0], i, c);
        if (of->high[g] < 0 || x > value(d, d->in[0], of->high[g], c)) of->high[g] = i;
        if (of->low[g] < 0 || x < value(d, d->in[0], of->low[g], c)) of->low[g] = i;
    }
}

static channel define(const drive *d, const size *s, int64_t c) {
    channel of = {.n = values_of(s)};
    double high = 0, low = 0;
    of.groups = of.n >= 32 ? 16 : of.n >= 2 ? of.n / 2 : 1;
    find_extremes(d, c, &of);
    for (int64_t i = 0; i < of.n; i++) of.mean += value(d, d->in[0], i, c);
    of.mean /= (double)of.n;
    for (int64_t g = 0; g < of.groups; g++) {
        high += value(d, d->in[0], of.high[g], c) / (double)of.groups;
        low += value(d, d->in[0], of.low[g], c) / (double)of.groups;
    }
    double m = fmax((double)of.n / (double)of.groups, 2);
    of.kappa = 0.5 * 0.35 * (1 + sqrt(acos(-1.0) * log(4))) / sqrt(2 * log(m));
    of.scale = 1 / (of.kappa * (high - low) + (double)attrs.epsilon);
    return of;
}

/* dL/dx of value i: through x itself, the mean, and R where the value is an extreme. */
static double gradient(const drive *d, const channel *of, int64_t c, double sum, double product,
                       int64_t i) {
    double gamma = (double)d->param[0][c], through = 0;
    for (int64_t g = 0; g < of->groups; g++)
        through += (double)(of->high[g] == i) - (double)(of->low[g] == i);
    return gamma * of->scale * (value(d, d->dout[0], i, c) - sum / (double)of->n) -
           gamma * product * of->kappa * of->scale * of->scale * through / (double)of->groups;
}

static void expect_near(double found, double expected, double about, const char *what, int64_t i) {
    if (!(fabs(found - expected) <= 4e-6 * (about + fabs(expected))))
        fail_msg("%s %lld: found %.9g, expected %.9g", what, (long long)i, found, expected);
}

static void compare_channel(const drive *d, const size *s, int64_t c) {
    channel of = define(d, s, c);
    double sum = 0, product = 0, most = 0, gamma = (double)d->param[0][c];
    for (int64_t i = 0; i < of.n; i++) {
        double centred = value(d, d->in[0], i, c) - of.mean, dy = value(d, d->dout[0], i, c);
        sum += dy;
        product += dy * centred;
        most += fabs(dy * centred);
        expect_near(value(d, d->out[0], i, c), gamma * centred * of.scale + (double)d->param[1][c],
                    fabs(gamma * of.scale), "y", i);
    }
    expect_near((double)d->dparam[0][c], product * of.scale, most * of.scale, "dgamma", c);
    expect_near((double)d->dparam[1][c], sum, most + 1, "dbeta", c);
    double through = fabs(gamma) * most * of.kappa * of.scale * of.scale;
    for (int64_t i = 0; i < of.n; i++)
        expect_near(value(d, d->din[0], i, c), gradient(d, &of, c, sum, product, i),
                    4 * fabs(gamma * of.scale) + through, "dx", i);
    expect_near((double)d->param[2][c], 0.9 * of.mean, 1, "running_mean", c);
    expect_near((double)d->param[3][c], 0.1 + 0.9 * of.scale, 0, "running_scale", c);
}

static void passes_are_the_definition(void **unused) {
    (void)unused;
    for (int k = 0; k < SIZES; k++)
        for (int coarse = 0; coarse < 2; coarse++) {
            drive d;
            open_norm(&d, &sizes[k], sizes[k].chunk);
            if (coarse) make_coarse(&d);
            drive_forward(&d);
            drive_backward(&d);
            drive_commit(&d);
            for (int64_t c = 0; c < sizes[k].channels; c++) compare_channel(&d, &sizes[k], c);
            drive_close(&d);
        }
}

/* Values that are all equal have no range: y is beta, whatever the epsilon. */
static void equal_values_give_beta(void **unused) {
    (void)unused;
    drive d;
    const size s = {4, 2, 9, 3};
    open_norm(&d, &s, s.chunk);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) d.in[0][i] = 0.75f;
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) {
        assert_true(d.out[0][i] == d.param[1][i % 3]);
        assert_true(isfinite(d.din[0][i]));
    }
    drive_close(&d);
}

/* ---- bits ---- */

static void expect_same_bits(const drive *a, const drive *b) {
    size_t bytes = (size_t)drive_in_elements(a, 0) * sizeof(float);
    assert_memory_equal(a->out[0], b->out[0], bytes);
    assert_memory_equal(a->din[0], b->din[0], bytes);
    for (int p = 0; p < 4; p++) {
        size_t wide = (size_t)drive_param_elements(a, p) * sizeof(float);
        assert_memory_equal(a->param[p], b->param[p], wide);
        if (p < 2) assert_memory_equal(a->dparam[p], b->dparam[p], wide);
    }
}

static void run_all(drive *d) {
    drive_forward(d);
    drive_backward(d);
    drive_commit(d);
}

static void all_isas_give_the_same_bits(void **unused) {
    (void)unused;
    for (int k = 0; k < SIZES; k++) {
        drive d[HU_ISA_COUNT];
        for (int isa = 0; isa < HU_ISA_COUNT; isa++) {
            hu_cpu_set_isa((hu_isa)isa);
            open_norm(&d[isa], &sizes[k], sizes[k].chunk);
            for (int64_t i = 0; i < drive_in_elements(&d[isa], 0); i += 37) d[isa].in[0][i] = -0.0f;
            run_all(&d[isa]);
            if (isa > 0) expect_same_bits(&d[0], &d[isa]);
        }
        for (int isa = 0; isa < HU_ISA_COUNT; isa++) drive_close(&d[isa]);
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* Where sums are exact, what remains are the groups: these are of the whole batch. */
static void chunks_do_not_move_groups(void **unused) {
    (void)unused;
    for (int k = 0; k < SIZES; k++) {
        drive whole;
        open_norm(&whole, &sizes[k], sizes[k].batch);
        make_coarse(&whole);
        run_all(&whole);
        for (int64_t chunk = 1; chunk <= sizes[k].batch && chunk <= 16; chunk++) {
            drive cut;
            open_norm(&cut, &sizes[k], chunk);
            make_coarse(&cut);
            cut.reversed = true;
            run_all(&cut);
            size_t bytes = (size_t)drive_in_elements(&cut, 0) * sizeof(float);
            assert_memory_equal(whole.out[0], cut.out[0], bytes);
            for (int p = 2; p < 4; p++)
                assert_memory_equal(whole.param[p], cut.param[p],
                                    (size_t)sizes[k].channels * sizeof(float));
            drive_close(&cut);
        }
        drive_close(&whole);
    }
}

/* ---- the rest ---- */

static void groups_are_cut_as_said(void **unused) {
    (void)unused;
    for (int64_t n = 1; n < 700; n++) {
        int64_t groups = hu_range_norm_groups(n);
        assert_true(groups >= 1 && groups <= 16 && (groups == 1 || n >= 2 * groups));
        assert_true(groups == 16 || n < 32);
        for (int64_t g = 0, i = 0; g < groups; g++)
            for (assert_int_equal(i, hu_range_norm_begin(n, g)); i < hu_range_norm_begin(n, g + 1);
                 i++)
                assert_int_equal(groups * i / n, g);
        assert_int_equal(hu_range_norm_begin(n, groups), n);
    }
}

static void eval_uses_running_statistics(void **unused) {
    (void)unused;
    drive d;
    const size s = {5, 2, 6, 4};
    open_norm(&d, &s, s.chunk);
    d.training = false;
    for (int c = 0; c < 4; c++) {
        d.param[2][c] = (float)c;
        d.param[3][c] = 0.5f;
    }
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) {
        int64_t c = i % 4;
        double scale = (double)d.param[0][c] * 0.5;
        double y = ((double)d.in[0][i] - (double)c) * scale + (double)d.param[1][c];
        assert_true(fabs((double)d.out[0][i] - y) < 1e-6 * (1 + fabs(y)));
        assert_true(fabs((double)d.din[0][i] - scale * (double)d.dout[0][i]) < 1e-6);
    }
    drive_close(&d);
}

static void one_nan_or_infinity_spoils_its_channel_only(void **unused) {
    (void)unused;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++) {
        drive d;
        const size s = {6, 2, 50, 3};
        open_norm(&d, &s, s.chunk);
        d.in[0][100 * 3 + 1] = bad[k];
        drive_forward(&d);
        drive_backward(&d);
        assert_true(isnan(d.out[0][100 * 3 + 1]));
        for (int64_t i = 0; i < drive_in_elements(&d, 0); i++) {
            if (k == 0) assert_true(isnan(d.out[0][i]) == (i % 3 == 1));
            assert_true(i % 3 == 1 || (isfinite(d.out[0][i]) && isfinite(d.din[0][i])));
        }
        drive_close(&d);
    }
}

static void bad_attributes_fail(void **unused) {
    (void)unused;
    hu_range_norm_attrs bad = {.epsilon = 0, .momentum = 0.9f};
    hu_shape in = DRIVE_SHAPE(4, 4, 2), scalar = {.rank = 0}, out;
    int n;
    assert_int_equal(hu_op_range_norm.shape(&bad, 1, &in, &n, &out), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "range_norm"));
    bad = (hu_range_norm_attrs){.epsilon = 1e-5f, .momentum = 1.5f};
    assert_int_equal(hu_op_range_norm.shape(&bad, 1, &in, &n, &out), HU_ERR_ARGUMENT);
    assert_int_equal(hu_op_range_norm.shape(&attrs, 1, &scalar, &n, &out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_cut_as_said),
        cmocka_unit_test(passes_are_the_definition),
        cmocka_unit_test(equal_values_give_beta),
        cmocka_unit_test(all_isas_give_the_same_bits),
        cmocka_unit_test(chunks_do_not_move_groups),
        cmocka_unit_test(eval_uses_running_statistics),
        cmocka_unit_test(one_nan_or_infinity_spoils_its_channel_only),
        cmocka_unit_test(bad_attributes_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
