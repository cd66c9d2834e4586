/* Sampled softmax: which classes are drawn, scores and gradients against plain sums, rows all of
 * whose drawn classes are their own, ignored rows, accumulators. */
#include "op/attributes.h"

#include "base/rng.h"
#include "op_drive.h"

enum { CLASSES = 9, DRAWN = 6, ROWS = 4, WIDTH = 5, BATCH = 5, SCORES = 1 + DRAWN };

static const hu_sampled_attrs attrs = {
    .classes = CLASSES, .numbers = DRAWN, .ignores = true, .ignored = -1.0f};

/* ---- the law ---- */

static void the_law_is_known(void **unused) {
    (void)unused;
    enum { WORDS = 7266 };
    double sum = 0.0;
    for (int64_t v = 0; v < WORDS; v++) sum += hu_log_uniform_share(v, WORDS);
    assert_true(fabs(hu_log_uniform_share(0, WORDS) - 0.0779596756) < 5e-11);
    assert_true(fabs(sum - 1.0) < 1e-12);
    assert_int_equal(hu_log_uniform_id(0.0, WORDS), 0);
    assert_int_equal(hu_log_uniform_id(1.0 - 0x1p-53, WORDS), WORDS - 1);
    for (int64_t v = 1; v < WORDS; v++) {
        double begin = log((double)v + 1.0) / log(WORDS + 1.0);
        assert_int_equal(hu_log_uniform_id(begin - 1e-9, WORDS), v - 1);
        assert_int_equal(hu_log_uniform_id(begin + 1e-9, WORDS), v);
    }
}

/* U_i = (t("neg", 256 k + i) + 1) / 2 of the check start. */
static void check_runs_draw_known_classes(void **unused) {
    (void)unused;
    enum { NUMBERS = 256, SAMPLES = 3 };
    static const int64_t place[] = {0, 1, 64, 128, 255}, expected[] = {0, 0, 8, 85, 7146};
    const hu_sampled_attrs of_words = {.classes = 7266, .numbers = NUMBERS};
    drive d;
    drive_open(&d, &hu_op_log_uniform, &of_words, 0, NULL, SAMPLES, 2);
    d.info.name = "neg";
    d.by_formula = true;
    d.key.step = 0;
    drive_forward(&d);
    for (int64_t s = 0; s < SAMPLES; s++)
        for (int i = 0; i < 5; i++)
            assert_int_equal((int64_t)d.out[0][s * NUMBERS + place[i]], expected[i]);
    float first = d.out[0][200];
    d.key.step = 1;
    drive_forward(&d);
    assert_true(d.out[0][200] < first || d.out[0][200] > first);
    drive_close(&d);
}

/* Number i lies in stratum i, the same for all samples, another in another step. */
static void drawn_classes_are_stratified(void **unused) {
    (void)unused;
    enum { NUMBERS = 64, WORDS = 10000 };
    const hu_sampled_attrs of_words = {.classes = WORDS, .numbers = NUMBERS};
    int differ = 0;
    float before[NUMBERS] = {0};
    for (uint64_t step = 0; step < 2; step++) {
        drive d;
        drive_open(&d, &hu_op_log_uniform, &of_words, 0, NULL, BATCH, 2);
        d.key.step = step;
        drive_forward(&d);
        for (int64_t i = 0; i < NUMBERS; i++) {
            int64_t id = (int64_t)d.out[0][i];
            assert_true(id >= hu_log_uniform_id((double)i / NUMBERS, WORDS));
            assert_true(id <= hu_log_uniform_id((double)(i + 1) / NUMBERS - 1e-12, WORDS));
            for (int64_t s = 1; s < BATCH; s++)
                assert_memory_equal(&d.out[0][s * NUMBERS + i], &d.out[0][i], sizeof(float));
            differ += before[i] < d.out[0][i] || before[i] > d.out[0][i];
            before[i] = d.out[0][i];
        }
        drive_close(&d);
    }
    assert_true(differ > NUMBERS);
}

/* ---- scores ---- */

/* Of row r: -1 is ignored. */
static float target_of(int64_t r) {
    return r % 7 == 3 ? -1.0f : (float)(r * 5 % CLASSES);
}

static const float drawn[DRAWN] = {0, 0, 1, 3, 3, 7};

static void open_rows(drive *d, const hu_op *op, int64_t columns, int64_t chunk) {
    const hu_shape in[] = {DRIVE_SHAPE(ROWS, columns), DRIVE_SHAPE(ROWS), DRIVE_SHAPE(DRAWN)};
    drive_open(d, op, &attrs, 3, in, BATCH, chunk);
    d->need_din[1] = d->need_din[2] = false;
    for (int64_t r = 0; r < BATCH * ROWS; r++) d->in[1][r] = target_of(r);
    for (int64_t i = 0; i < BATCH * DRAWN; i++) d->in[2][i] = drawn[i % DRAWN];
}

/* Whole numbers: sums are exact in any order. */
static void fill_whole(float *x, int64_t n, int64_t seed) {
    for (int64_t i = 0; i < n; i++) x[i] = (float)((i * i * 7 + i * seed) % 11 - 5);
}

/* The class of column c of row r, -1 where there is none. */
static int64_t class_at(int64_t r, int64_t c) {
    int64_t own = (int64_t)target_of(r);
    if (own < 0 || c == 0) return own;
    return (int64_t)drawn[c - 1] == own ? -1 : (int64_t)drawn[c - 1];
}

static double product_of(const drive *d, int64_t r, int64_t class) {
    double sum = (double)d->param[1][class];
    for (int64_t j = 0; j < WIDTH; j++)
        sum += (double)d->in[0][r * WIDTH + j] * (double)d->param[0][class * WIDTH + j];
    return sum;
}

static void check_scores(const drive *d) {
    double dx[BATCH * ROWS][WIDTH] = {{0}}, dw[CLASSES][WIDTH] = {{0}}, db[CLASSES] = {0};
    int64_t absent = 0;
    for (int64_t r = 0; r < BATCH * ROWS; r++)
        for (int64_t c = 0; c < SCORES; c++) {
            int64_t class = class_at(r, c);
            double dy = (double)d->dout[0][r * SCORES + c];
            absent += class < 0;
            double expected = class < 0 ? 0.0 : product_of(d, r, class);
            assert_true((double)d->out[0][r * SCORES + c] - expected == 0.0);
            for (int64_t j = 0; class >= 0 && j < WIDTH; j++) {
                dx[r][j] += dy * (double)d->param[0][class * WIDTH + j];
                dw[class][j] += dy * (double)d->in[0][r * WIDTH + j];
            }
            if (class >= 0) db[class] += dy;
        }
    for (int64_t i = 0; i < BATCH * ROWS * WIDTH; i++)
        assert_true((double)d->din[0][i] - dx[i / WIDTH][i % WIDTH] == 0.0);
    for (int64_t i = 0; i < CLASSES * WIDTH; i++)
        assert_true((double)d->dparam[0][i] - dw[i / WIDTH][i % WIDTH] == 0.0);
    for (int64_t v = 0; v < CLASSES; v++) assert_true((double)d->dparam[1][v] - db[v] == 0.0);
    const float *given[] = {NULL, d->in[1], d->in[2]};
    assert_int_equal(d->op->absent(&d->info, true, BATCH, given), absent);
}

static void scores_and_gradients_are_plain_sums(void **unused) {
    (void)unused;
    hu_accumulation wide = {{true, true, true}, {{0}}};
    for (int r = 0; r < HU_PRODUCT_ROLES; r++)
        assert_int_equal(hu_accumulator_parse("fmac8:e8m20", &wide.accumulator[r]), HU_OK);
    for (int64_t chunk = 1; chunk <= BATCH; chunk++)
        for (int chosen = 0; chosen < 2; chosen++) {
            drive d;
            open_rows(&d, &hu_op_sampled_scores, WIDTH, chunk);
            d.op->release(d.state);
            d.info.accumulation = chosen ? &wide : NULL;
            assert_int_equal(d.op->create(&d.info, &d.state), HU_OK);
            if (BATCH % chunk)
                assert_int_equal(d.op->prepare(&d.info, d.state, BATCH % chunk), HU_OK);
            fill_whole(d.in[0], BATCH * ROWS * WIDTH, 3);
            fill_whole(d.param[0], CLASSES * WIDTH, 5);
            fill_whole(d.param[1], CLASSES, 2);
            fill_whole(d.dout[0], BATCH * ROWS * SCORES, 4);
            drive_forward(&d);
            drive_backward(&d);
            check_scores(&d);
            drive_close(&d);
        }
}

/* What an accumulator of 2 bits makes of 3 terms is not their sum: it is used by both products. */
static void accumulators_are_obeyed(void **unused) {
    (void)unused;
    hu_accumulation narrow = {{true, true, true}, {{0}}};
    for (int r = 0; r < HU_PRODUCT_ROLES; r++)
        assert_int_equal(hu_accumulator_parse("fmac:e5m2", &narrow.accumulator[r]), HU_OK);
    drive d;
    open_rows(&d, &hu_op_sampled_scores, WIDTH, 2);
    d.op->release(d.state);
    d.info.accumulation = &narrow;
    assert_int_equal(d.op->create(&d.info, &d.state), HU_OK);
    assert_int_equal(d.op->prepare(&d.info, d.state, BATCH % 2), HU_OK);
    memset(d.param[1], 0, CLASSES * sizeof(float));
    for (int64_t i = 0; i < BATCH * ROWS * WIDTH; i++) d.in[0][i] = 1.0f;
    for (int64_t i = 0; i < CLASSES * WIDTH; i++) d.param[0][i] = i % WIDTH == 0 ? 8.0f : 0.5f;
    drive_forward(&d);
    for (int64_t r = 0; r < BATCH * ROWS; r++)
        for (int64_t c = 0; c < SCORES; c++)
            assert_true(class_at(r, c) < 0 || !(d.out[0][r * SCORES + c] > 8.0f));
    drive_close(&d);
}

/* ---- loss ---- */

static double log_count(int64_t class) {
    return log(DRAWN * log((double)(class + 2) / (double)(class + 1)) / log(CLASSES + 1.0));
}

static double loss_of_row(const drive *d, int64_t r) {
    double sum = 0.0, own = 0.0;
    for (int64_t c = 0; c < SCORES; c++) {
        int64_t class = class_at(r, c);
        if (class < 0) continue;
        double z = (double)d->in[0][r * SCORES + c] - log_count(class);
        sum += exp(z);
        if (c == 0) own = z;
    }
    return log(sum) - own;
}

static void losses_are_those_of_the_classes_that_are_there(void **unused) {
    (void)unused;
    drive d;
    hu_round_counts counts = {0};
    double all = 0.0;
    int64_t units = 0;
    open_rows(&d, &hu_op_sampled_cross_entropy, SCORES, 2);
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t s = 0; s < BATCH; s++) {
        double sum = 0.0;
        for (int64_t r = s * ROWS; r < (s + 1) * ROWS; r++) {
            bool is_present = target_of(r) >= 0.0f;
            units += is_present;
            if (is_present) sum += loss_of_row(&d, r);
            for (int64_t c = 0; c < SCORES; c++)
                if (class_at(r, c) < 0) assert_true(d.din[0][r * SCORES + c] == 0.0f);
        }
        all += sum;
        assert_true(fabs((double)d.out[0][s] - sum) < 1e-6 * sum);
    }
    assert_true(fabs(d.stats[HU_LOSS_SUM] - all) < 1e-12 * all);
    assert_int_equal(d.op->check_target(&d.info, BATCH, d.in[1], &counts), units);
    assert_int_equal(counts.nan, 0);
    drive_close(&d);
}

/* Nothing to tell a class from: loss and slopes 0. And what is no class is NaN. */
static void rows_of_hits_alone_cost_nothing(void **unused) {
    (void)unused;
    drive d;
    hu_round_counts counts = {0};
    open_rows(&d, &hu_op_sampled_cross_entropy, SCORES, 2);
    for (int64_t i = 0; i < BATCH * DRAWN; i++) d.in[2][i] = 4.0f;
    for (int64_t r = 0; r < BATCH * ROWS; r++) d.in[1][r] = r < ROWS ? 4.0f : -1.0f;
    drive_forward(&d);
    drive_backward(&d);
    for (int64_t s = 0; s < BATCH; s++) assert_true(d.out[0][s] == 0.0f);
    for (int64_t i = 0; i < BATCH * ROWS * SCORES; i++) assert_true(d.din[0][i] == 0.0f);
    assert_int_equal(d.op->check_target(&d.info, BATCH, d.in[1], &counts), ROWS);
    d.in[1][2] = (float)CLASSES;
    d.in[1][ROWS] = 1.5f;
    drive_forward(&d);
    assert_true(isnan(d.out[0][0]) && isnan(d.out[0][1]) && d.out[0][2] == 0.0f);
    (void)d.op->check_target(&d.info, BATCH, d.in[1], &counts);
    assert_int_equal(counts.nan, 2);
    drive_close(&d);
}

static void shapes_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    hu_shape in[] = {DRIVE_SHAPE(ROWS, WIDTH), DRIVE_SHAPE(ROWS), DRIVE_SHAPE(DRAWN)}, out[1];
    hu_sampled_attrs none = attrs;
    int n;
    assert_int_equal(hu_op_sampled_scores.shape(&attrs, 3, in, &n, out), HU_OK);
    assert_int_equal(hu_op_sampled_cross_entropy.shape(&attrs, 3, in, &n, out), HU_ERR_SHAPE);
    none.numbers = 0;
    assert_int_equal(hu_op_log_uniform.shape(&none, 0, NULL, &n, out), HU_ERR_ARGUMENT);
    in[1].extent[0] = ROWS + 1;
    assert_int_equal(hu_op_sampled_scores.shape(&attrs, 3, in, &n, out), HU_ERR_SHAPE);
    in[1].extent[0] = ROWS;
    in[2].extent[0] = DRAWN - 1;
    assert_int_equal(hu_op_sampled_scores.shape(&attrs, 3, in, &n, out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_law_is_known),
        cmocka_unit_test(check_runs_draw_known_classes),
        cmocka_unit_test(drawn_classes_are_stratified),
        cmocka_unit_test(scores_and_gradients_are_plain_sums),
        cmocka_unit_test(accumulators_are_obeyed),
        cmocka_unit_test(losses_are_those_of_the_classes_that_are_there),
        cmocka_unit_test(rows_of_hits_alone_cost_nothing),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
