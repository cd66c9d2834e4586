/* ssd_loss beside a plain version in double with libm; who is mined, what cannot be learned, and
 * what log-probabilities change. */
#include "op_slopes.h"

#include "media/anchors.h"
#include "media/boxes.h"
#include "op/internal.h"

enum { PLACES = 4, SHAPES = 3, ANCHORS = PLACES * PLACES * SHAPES, CLASSES = 4 };
enum { WIDTH = CLASSES + HU_OFFSETS, MOST = 3, BATCH = 6, CHUNK = 4 };

static const hu_box_loss_attrs logits = {.anchors = {.maps = 1,
                                                     .map = {{.height = PLACES,
                                                              .width = PLACES,
                                                              .step_y = 0.25,
                                                              .step_x = 0.25,
                                                              .shapes = SHAPES,
                                                              .h = {0.3, 0.2, 0.6},
                                                              .w = {0.3, 0.6, 0.2}}}}};

/* Three boxes; two; one; none; one again; one that is small. */
static void fill(drive *d) {
    static const float boxes[BATCH][MOST][HU_BOX_NUMBERS] = {
        {{.1f, .1f, .4f, .4f, 0}, {.5f, .5f, .8f, .75f, 2}, {0, .6f, .2f, 1, 1}},
        {{.1f, .2f, .7f, .4f, 1}, {0, 0, 0, 0, -1}, {.5f, .5f, .7f, 1, 2}},
        {{0, 0, 0, 0, -1}, {.3f, .3f, .6f, .6f, 0}, {0, 0, 0, 0, -1}},
        {{0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}},
        {{.7f, .7f, 1, 1, 2}, {0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}},
        {{.52f, .52f, .54f, .54f, 1}, {0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}}};
    memcpy(d->in[1], boxes, sizeof boxes);
    d->need_din[1] = false;
}

static void open_loss(drive *d, const hu_box_loss_attrs *attrs) {
    hu_shape in[2] = {DRIVE_SHAPE(ANCHORS, WIDTH), DRIVE_SHAPE(MOST, HU_BOX_NUMBERS)};
    drive_open(d, &hu_op_ssd_loss, attrs, 2, in, BATCH, CHUNK);
    fill(d);
}

static double cross_entropy(const double *x, int class_number) {
    double sum = 0;
    for (int c = 0; c < CLASSES; c++) sum += exp(x[c]);
    return log(sum) - x[class_number];
}

/* Boxes that anchors are to find, and the 3 mined ones for each: those with fewer better ones than
 * are wanted. */
static void plain_choice(const double *x, const float *rows, int16_t *match) {
    int64_t wanted = 3 * hu_match_ssd(&logits.anchors, rows, MOST, match);
    int16_t found[ANCHORS];
    memcpy(found, match, sizeof found);
    for (int a = 0; a < ANCHORS; a++) {
        int64_t better = 0;
        float loss = (float)cross_entropy(x + a * WIDTH, 0);
        for (int b = 0; b < ANCHORS; b++) {
            float other = (float)cross_entropy(x + b * WIDTH, 0);
            better += found[b] == HU_UNMATCHED && (other > loss || (other == loss && b < a));
        }
        if (found[a] == HU_UNMATCHED && better < wanted) match[a] = HU_MINED;
    }
}

static double plain_loss(const double *x, const float *rows, const int16_t *match) {
    double sum = 0, offsets[HU_OFFSETS];
    for (int a = 0; a < ANCHORS; a++, x += WIDTH) {
        if (match[a] == HU_UNMATCHED) continue;
        if (match[a] == HU_MINED) {
            sum += cross_entropy(x, 0);
            continue;
        }
        const float *row = rows + match[a] * HU_BOX_NUMBERS;
        hu_centred at = hu_anchor_at(&logits.anchors, a);
        hu_box box = hu_box_of_row(row);
        hu_centred wanted = hu_box_centred(&box);
        hu_offset_encode(&at, &wanted, HU_OFFSET_SSD, offsets);
        sum += cross_entropy(x, (int)row[HU_BOX_CLASS] + 1);
        for (int i = 0; i < HU_OFFSETS; i++) {
            double d = fabs(x[CLASSES + i] - offsets[i]);
            sum += d < 1 ? d * d / 2 : d - 0.5;
        }
    }
    return sum;
}

/* A drive, and what is to be found in each of its pictures. */
typedef struct chosen {
    const drive *d;
    int16_t match[BATCH][ANCHORS];
} chosen;

static double plain_of(const void *context, int s, const double *x) {
    const chosen *c = context;
    return plain_loss(x, c->d->in[1] + s * MOST * HU_BOX_NUMBERS, c->match[s]);
}

/* The loss, and its gradient against differences in double with the choice held. */
static void losses_and_gradients_are_the_definition(void **unused) {
    (void)unused;
    drive d;
    chosen c = {.d = &d};
    double x[ANCHORS * WIDTH];
    open_loss(&d, &logits);
    drive_forward(&d);
    drive_backward(&d);
    for (int s = 0; s < BATCH; s++) {
        drive_said(&d, s, x);
        plain_choice(x, d.in[1] + s * MOST * HU_BOX_NUMBERS, c.match[s]);
    }
    drive_compare_losses(&d, plain_of, &c);
    assert_true(d.out[0][3] == 0.0f); /* no box, no loss */
    drive_close(&d);
}

/* Equal losses: the first anchors without a box are mined. */
static void of_equal_losses_the_first_are_mined(void **unused) {
    (void)unused;
    drive d;
    open_loss(&d, &logits);
    memset(d.in[0], 0, (size_t)drive_in_elements(&d, 0) * sizeof(float));
    drive_forward(&d);
    drive_backward(&d);
    const int s = 2;
    int16_t match[ANCHORS];
    int64_t left =
        3 * hu_match_ssd(&logits.anchors, d.in[1] + s * MOST * HU_BOX_NUMBERS, MOST, match);
    assert_true(left > 0 && left < ANCHORS / 2);
    for (int a = 0; a < ANCHORS; a++) {
        bool is_mined = match[a] == HU_UNMATCHED && left > 0;
        left -= is_mined;
        float of_background = d.din[0][(s * ANCHORS + a) * WIDTH];
        assert_true((of_background != 0.0f) == (is_mined || match[a] >= 0));
    }
    drive_close(&d);
}

static void units_are_matched_anchors(void **unused) {
    (void)unused;
    drive d;
    hu_round_counts counts;
    int64_t units = 0;
    open_loss(&d, &logits);
    hu_round_counts_clear(&counts);
    for (int s = 0; s < BATCH; s++)
        units += hu_match_ssd(&logits.anchors, d.in[1] + s * MOST * HU_BOX_NUMBERS, MOST, NULL);
    assert_int_equal(hu_op_ssd_loss.check_target(&d.info, BATCH, d.in[1], &counts), units);
    assert_true(units > 7 && counts.nan == 0);
    assert_int_equal(counts.elements, BATCH * MOST * HU_BOX_NUMBERS);
    drive_close(&d);
}

static void boxes_that_cannot_be_learned_give_nan(void **unused) {
    (void)unused;
    static const float bad[][HU_BOX_NUMBERS] = {{.1f, .1f, .1f, .4f, 0},
                                                {.1f, .1f, .4f, .4f, CLASSES - 1},
                                                {.1f, NAN, .4f, .4f, 0},
                                                {.1f, .1f, .4f, .4f, .5f}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        drive d;
        hu_round_counts counts;
        open_loss(&d, &logits);
        memcpy(d.in[1] + MOST * HU_BOX_NUMBERS, bad[k], sizeof bad[k]);
        hu_round_counts_clear(&counts);
        hu_op_ssd_loss.check_target(&d.info, BATCH, d.in[1], &counts);
        assert_int_equal(counts.nan, 1);
        drive_forward(&d);
        drive_backward(&d);
        assert_true(isnan(d.out[0][1]) && isnan(d.stats[HU_LOSS_SUM]) && !isnan(d.out[0][0]));
        assert_true(isnan(d.din[0][ANCHORS * WIDTH]) && !isnan(d.din[0][0]));
        drive_close(&d);
    }
}

/* The same loss in two nodes, with a tensor between. */
static void log_probabilities_give_the_same_loss(void **unused) {
    (void)unused;
    static const hu_log_softmax_attrs keeping = {.kept = HU_OFFSETS};
    hu_shape in = DRIVE_SHAPE(ANCHORS, WIDTH);
    hu_box_loss_attrs logs = logits;
    drive one, soft, two;
    logs.takes_logs = true;
    open_loss(&one, &logits);
    open_loss(&two, &logs);
    drive_open(&soft, &hu_op_log_softmax, &keeping, 1, &in, BATCH, CHUNK);
    drive_forward(&one);
    drive_backward(&one);
    drive_forward(&soft);
    memcpy(two.in[0], soft.out[0], (size_t)drive_in_elements(&two, 0) * sizeof(float));
    drive_forward(&two);
    drive_backward(&two);
    memcpy(soft.dout[0], two.din[0], (size_t)drive_in_elements(&two, 0) * sizeof(float));
    drive_backward(&soft);
    for (int s = 0; s < BATCH; s++)
        assert_true(fabsf(one.out[0][s] - two.out[0][s]) <= 1e-6f * one.out[0][s]);
    for (int64_t i = 0; i < drive_in_elements(&one, 0); i++)
        assert_true(fabsf(one.din[0][i] - soft.din[0][i]) <= 2e-6f);
    drive_close(&one);
    drive_close(&soft);
    drive_close(&two);
}

static void smooth_l1_has_its_known_values(void **unused) {
    (void)unused;
    static const double known[][3] = {{0.5, 0.125, 0.5}, {-3, 2.5, -1}, {1, 0.5, 1}, {0, 0, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(hu_smooth_l1(known[i][0], 1.0) == known[i][1]);
        assert_true(hu_smooth_l1_slope(known[i][0], 1.0) == known[i][2]);
    }
}

static void shapes_that_do_not_fit_are_refused(void **unused) {
    (void)unused;
    hu_shape in[2] = {DRIVE_SHAPE(ANCHORS, WIDTH), DRIVE_SHAPE(MOST, HU_BOX_NUMBERS)}, out;
    hu_shape bad[][2] = {{DRIVE_SHAPE(ANCHORS + 1, WIDTH), in[1]},
                         {DRIVE_SHAPE(ANCHORS, HU_OFFSETS + 1), in[1]},
                         {in[0], DRIVE_SHAPE(MOST, 4)},
                         {in[0], DRIVE_SHAPE(HU_TRUTHS_MAX + 1, HU_BOX_NUMBERS)},
                         {in[0], DRIVE_SHAPE(HU_BOX_NUMBERS)}};
    hu_box_loss_attrs none = {.takes_logs = false};
    int n;
    assert_int_equal(hu_op_ssd_loss.shape(&logits, 2, in, &n, &out), HU_OK);
    assert_int_equal(hu_op_ssd_loss.shape(&none, 2, in, &n, &out), HU_ERR_SHAPE);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(hu_op_ssd_loss.shape(&logits, 2, bad[i], &n, &out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_gradients_are_the_definition),
        cmocka_unit_test(of_equal_losses_the_first_are_mined),
        cmocka_unit_test(units_are_matched_anchors),
        cmocka_unit_test(boxes_that_cannot_be_learned_give_nan),
        cmocka_unit_test(log_probabilities_give_the_same_loss),
        cmocka_unit_test(smooth_l1_has_its_known_values),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
