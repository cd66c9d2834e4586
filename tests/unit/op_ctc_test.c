/* ctc_loss against the sum over all paths, one by one; known answers; lengths; what has no path. */
#include "media/ctc.h"
#include "op_drive.h"

#include <stdio.h>

#include "op/attributes.h"

enum { LABELS = 3, MOST_ROWS = 6, MOST_CLASSES = 4 };

/* What the paths of a sample give. */
typedef struct paths {
    double all;                              /* probability of those that spell the labels */
    double at[MOST_ROWS][MOST_CLASSES];      /* of those that are in a class at a row */
    double softmax[MOST_ROWS][MOST_CLASSES]; /* of a class at a row */
} paths;

/* The text of a path is these labels. */
static bool spells(const int *path, int rows, const float *label, int labels) {
    int count = 0;
    for (int t = 0; t < rows; t++) {
        if (path[t] == 0 || (t > 0 && path[t] == path[t - 1])) continue;
        if (count == labels || (float)path[t] != label[count]) return false;
        count++;
    }
    return count == labels;
}

static paths all_paths(const float *x, int rows, int classes, const float *label, int labels) {
    paths p = {.all = 0};
    int path[MOST_ROWS] = {0};
    for (int t = 0; t < rows; t++) {
        double sum = 0;
        for (int k = 0; k < classes; k++) sum += exp((double)x[t * classes + k]);
        for (int k = 0; k < classes; k++) p.softmax[t][k] = exp((double)x[t * classes + k]) / sum;
    }
    for (bool is_more = true; is_more;) {
        double probability = 1;
        for (int t = 0; t < rows; t++) probability *= p.softmax[t][path[t]];
        if (spells(path, rows, label, labels)) {
            p.all += probability;
            for (int t = 0; t < rows; t++) p.at[t][path[t]] += probability;
        }
        int t = 0;
        while (t < rows && ++path[t] == classes) path[t++] = 0;
        is_more = t < rows;
    }
    return p;
}

static int label_count(const float *label) {
    int count = 0;
    while (count < LABELS && label[count] > 0) count++;
    return count;
}

static void open_ctc(drive *d, const void *attrs, int rows, int classes, int64_t batch,
                     int64_t chunk) {
    hu_shape in[3] = {DRIVE_SHAPE(rows, classes), DRIVE_SHAPE(LABELS), {.rank = 0}};
    drive_open(d, &hu_op_ctc_loss, attrs, 3, in, batch, chunk);
}

static void check_sample(const drive *d, int64_t s, int rows, int classes) {
    const float *x = d->in[0] + s * rows * classes, *dx = d->din[0] + s * rows * classes;
    const float *label = d->in[1] + s * LABELS;
    int length = (int)d->in[2][s], labels = label_count(label);
    paths p = all_paths(x, length, classes, label, labels);
    double loss = p.all > 0 ? -log(p.all) : 0, dy = (double)d->dout[0][s];
    assert_true(fabs((double)d->out[0][s] - loss) <= 1e-7 * (1 + fabs(loss)));
    for (int t = 0; t < rows; t++)
        for (int k = 0; k < classes; k++) {
            bool counts = t < length && p.all > 0;
            double slope = counts ? dy * (p.softmax[t][k] - p.at[t][k] / p.all) : 0;
            double found = (double)dx[t * classes + k];
            if (!(fabs(found - slope) <= 1e-7 * fabs(dy)) || (!counts && dx[t * classes + k] != 0))
                fail_msg("sample %d, row %d, class %d: found %.12g, expected %.12g", (int)s, t, k,
                         found, slope);
        }
}

/* All labels of up to three numbers, with all lengths: repeats, one label, none, no path. */
static void losses_are_sums_over_all_paths(void **unused) {
    (void)unused;
    static const int sizes[][2] = {{6, 4}, {4, 3}, {1, 2}};
    for (int c = 0; c < 3; c++) {
        int rows = sizes[c][0], classes = sizes[c][1], texts = classes * classes * classes;
        int64_t batch = (int64_t)texts * (rows + 1), s = 0, impossible = 0;
        drive d;
        double sum = 0;
        open_ctc(&d, NULL, rows, classes, batch, 7);
        for (int i = 0; i < texts; i++)
            for (int length = 0; length <= rows; length++, s++) {
                const int number[LABELS] = {i % classes, i / classes % classes,
                                            i / classes / classes};
                bool ended = false;
                for (int k = 0; k < LABELS; k++) {
                    ended = ended || number[k] == 0;
                    d.in[1][s * LABELS + k] = ended ? -1.0f : (float)number[k];
                }
                d.in[2][s] = (float)length;
                const float *label = d.in[1] + s * LABELS;
                impossible += length < hu_ctc_least_rows(label, label_count(label));
            }
        drive_forward(&d);
        drive_backward(&d);
        for (s = 0; s < batch; s++) {
            check_sample(&d, s, rows, classes);
            sum += (double)d.out[0][s];
        }
        assert_true(fabs(d.stats[HU_LOSS_SUM] - sum) <= 1e-6 * sum);
        assert_true(d.stats[HU_LOSS_METRIC] == (double)impossible && impossible > 0);
        drive_close(&d);
    }
}

/* Three rows of equal scores: one over 27 for each path. */
static void known_answers_hold(void **unused) {
    (void)unused;
    static const float table[][LABELS] = {{1, -1, -1}, {1, 1, -1}, {1, 2, -1}, {-1, -1, -1}};
    static const double expected[] = {1.5040774, 3.2958369, 1.6863990, 3.2958369};
    drive d;
    open_ctc(&d, NULL, 3, 3, 4, 4);
    memset(d.in[0], 0, 4 * 9 * sizeof *d.in[0]);
    memcpy(d.in[1], table, sizeof table);
    for (int s = 0; s < 4; s++) d.in[2][s] = 3;
    drive_forward(&d);
    for (int s = 0; s < 4; s++) assert_true(fabs((double)d.out[0][s] - expected[s]) < 1e-7 * 2);
    drive_close(&d);
}

/* After a node of log-probabilities the loss is the same, and the gradient is minus the share of
 * the paths. */
static void logs_give_the_same_loss(void **unused) {
    (void)unused;
    enum { ROWS = 5, CLASSES = 4 };
    static const hu_ctc_attrs of_logs = {.takes_logs = true};
    static const float label[LABELS] = {2, 3, 3};
    drive d;
    open_ctc(&d, &of_logs, ROWS, CLASSES, 1, 1);
    float logits[ROWS * CLASSES];
    memcpy(logits, d.in[0], sizeof logits);
    memcpy(d.in[1], label, sizeof label);
    d.in[2][0] = ROWS;
    paths p = all_paths(logits, ROWS, CLASSES, label, LABELS);
    for (int i = 0; i < ROWS * CLASSES; i++)
        d.in[0][i] = (float)log(p.softmax[i / CLASSES][i % CLASSES]);
    drive_forward(&d);
    drive_backward(&d);
    assert_true(fabs((double)d.out[0][0] + log(p.all)) < 2e-6);
    for (int i = 0; i < ROWS * CLASSES; i++) {
        double slope = -(double)d.dout[0][0] * p.at[i / CLASSES][i % CLASSES] / p.all;
        assert_true(fabs((double)d.din[0][i] - slope) < 2e-6);
    }
    drive_close(&d);
}

/* Long rows, far from what double could multiply: the logarithms stay finite. */
static void many_rows_stay_finite(void **unused) {
    (void)unused;
    enum { ROWS = 4000, CLASSES = 29 };
    drive d;
    open_ctc(&d, NULL, ROWS, CLASSES, 1, 1);
    for (int i = 0; i < ROWS * CLASSES; i++) d.in[0][i] *= 30;
    for (int k = 0; k < LABELS; k++) d.in[1][k] = (float)(k + 1);
    d.in[2][0] = ROWS;
    drive_forward(&d);
    drive_backward(&d);
    assert_true(isfinite(d.out[0][0]) && d.out[0][0] > 1000);
    for (int t = 0; t < ROWS; t++) { /* the slopes of a row have the sum 0 */
        double sum = 0;
        for (int k = 0; k < CLASSES; k++) sum += (double)d.din[0][t * CLASSES + k];
        assert_true(fabs(sum) < 1e-6);
    }
    drive_close(&d);
}

/* Labels and lengths that cannot be used, and a NaN in a row that counts, make the loss NaN; a NaN
 * after the rows that count is not read. */
static void wrong_numbers_are_no_loss(void **unused) {
    (void)unused;
    enum { ROWS = 4, CLASSES = 3, CASES = 9 };
    static const float label[CASES][LABELS] = {{0, -1, -1}, {3, -1, -1}, {1.5f, -1, -1},
                                               {1, -1, 2},  {NAN, 1, 1}, {1, -1, -1},
                                               {1, -1, -1}, {1, -1, -1}, {1, -1, -1}};
    static const float length[CASES] = {4, 4, 4, 4, 4, 5, 2.5f, 3, 3};
    drive d;
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    open_ctc(&d, NULL, ROWS, CLASSES, CASES, 4);
    memcpy(d.in[1], label, sizeof label);
    memcpy(d.in[2], length, sizeof length);
    d.in[0][7 * ROWS * CLASSES + 3] = NAN;
    d.in[0][8 * ROWS * CLASSES + 9] = NAN;
    drive_forward(&d);
    drive_backward(&d);
    for (int s = 0; s < CASES; s++) {
        bool is_wrong = s < CASES - 1;
        assert_true((bool)isnan(d.out[0][s]) == is_wrong);
        assert_true((bool)isnan(d.din[0][s * ROWS * CLASSES]) == is_wrong);
    }
    assert_true(isnan(d.stats[HU_LOSS_SUM]));
    assert_int_equal(hu_op_ctc_loss.check_target(&d.info, CASES, d.in[1], &counts), CASES);
    assert_true(counts.elements == CASES * LABELS && counts.nan == 5 * LABELS);
    drive_close(&d);
}

static void shapes_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    static const hu_length_attrs none = {.stride = 0}, two = {.stride = 2};
    hu_shape in[3] = {DRIVE_SHAPE(5, 1), DRIVE_SHAPE(3), {.rank = 0}}, out[HU_MAX_OUTPUTS];
    int n;
    assert_int_equal(hu_op_ctc_loss.shape(NULL, 3, in, &n, out), HU_ERR_SHAPE);
    in[0] = DRIVE_SHAPE(5, 2);
    assert_int_equal(hu_op_ctc_loss.shape(NULL, 3, in, &n, out), HU_OK);
    in[2] = DRIVE_SHAPE(2);
    assert_int_equal(hu_op_ctc_loss.shape(NULL, 3, in, &n, out), HU_ERR_SHAPE);
    assert_int_equal(hu_op_length.shape(&two, 1, &in[2], &n, out), HU_ERR_SHAPE);
    in[2] = (hu_shape){.rank = 0};
    assert_int_equal(hu_op_length.shape(&none, 1, &in[2], &n, out), HU_ERR_SHAPE);
}

static void lengths_are_rounded_up(void **unused) {
    (void)unused;
    static const hu_length_attrs three = {.stride = 3};
    static const float length[] = {0, 1, 3, 4, 160}, expected[] = {0, 1, 1, 2, 54};
    hu_shape in = {.rank = 0};
    drive d;
    drive_open(&d, &hu_op_length, &three, 1, &in, 5, 2);
    memcpy(d.in[0], length, sizeof length);
    drive_forward(&d);
    assert_memory_equal(d.out[0], expected, sizeof expected);
    drive_close(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(losses_are_sums_over_all_paths),
                                       cmocka_unit_test(known_answers_hold),
                                       cmocka_unit_test(logs_give_the_same_loss),
                                       cmocka_unit_test(many_rows_stay_finite),
                                       cmocka_unit_test(wrong_numbers_are_no_loss),
                                       cmocka_unit_test(shapes_that_do_not_fit_are_refused),
                                       cmocka_unit_test(lengths_are_rounded_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
