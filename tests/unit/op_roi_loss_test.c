/* roi_loss beside a plain version in double with libm. */
#include "op_slopes.h"

#include "media/anchors.h"
#include "media/boxes.h"
#include "op/attributes.h"

enum { REGIONS = 7, CLASSES = 4, WIDTH = CLASSES * (1 + HU_OFFSETS), MOST = 3, BATCH = 5 };
enum { CHUNK = 2 };
static const hu_region_loss_attrs attrs = {{60, 80}};

/* Regions near boxes and far from them; some rows are none; picture 3 has no box, 4 no region. */
static void open_loss(drive *d) {
    static const float boxes[BATCH][MOST][HU_BOX_NUMBERS] = {
        {{.1f, .1f, .4f, .4f, 0}, {.5f, .5f, .8f, .75f, 2}, {0, .6f, .2f, 1, 1}},
        {{.1f, .2f, .7f, .4f, 1}, {0, 0, 0, 0, -1}, {.5f, .5f, .7f, 1, 2}},
        {{0, 0, 0, 0, -1}, {.3f, .3f, .6f, .6f, 0}, {0, 0, 0, 0, -1}},
        {{0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}},
        {{.7f, .7f, 1, 1, 2}, {0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}}};
    static const float away[REGIONS][4] = {{0, 0, 0, 0},  {1, -2, 3, 1},  {20, 9, 30, 2}, {0},
                                           {-3, 2, 1, 1}, {40, 30, 2, 0}, {2, 2, -2, -2}};
    hu_shape in[3] = {DRIVE_SHAPE(REGIONS, WIDTH), DRIVE_SHAPE(MOST, HU_BOX_NUMBERS),
                      DRIVE_SHAPE(REGIONS, HU_REGION_NUMBERS)};
    drive_open(d, &hu_op_roi_loss, &attrs, 3, in, BATCH, CHUNK);
    memcpy(d->in[1], boxes, sizeof boxes);
    d->need_din[1] = d->need_din[2] = false;
    memset(d->in[2], 0, sizeof(float) * BATCH * REGIONS * HU_REGION_NUMBERS);
    for (int s = 0; s < 4; s++)
        for (int r = 0; r < REGIONS; r++) {
            float *region = d->in[2] + (s * REGIONS + r) * HU_REGION_NUMBERS;
            if (r == 3) continue;
            hu_box box = hu_box_of_row(boxes[s == 3 ? 0 : s][r % MOST]);
            hu_roi_write(&box, attrs.picture, region);
            for (int k = 0; k < HU_REGION_NUMBERS; k++) region[k] += away[r][k];
        }
}

/* The box that a region shows: best overlap, at least a half. */
static int shown(const float *region, const float *rows) {
    const hu_box at = {(double)region[0] / 80, (double)region[1] / 60, (double)region[2] / 80,
                       (double)region[3] / 60};
    double most = 0;
    int best = -1;
    for (int t = 0; t < MOST; t++) {
        hu_box box = hu_box_of_row(rows + t * HU_BOX_NUMBERS);
        double iou = rows[t * HU_BOX_NUMBERS + 4] < 0 ? 0 : hu_box_iou(&at, &box);
        if (iou > most) most = iou, best = t;
    }
    return most >= 0.5 ? best : -1;
}

static double region_loss(const double *x, const float *region, const float *rows) {
    double total = 0, sum, offsets[HU_OFFSETS];
    int box = shown(region, rows), c = box < 0 ? 0 : (int)rows[box * HU_BOX_NUMBERS + 4] + 1;
    for (int k = 0; k < CLASSES; k++) total += exp(x[k]);
    sum = log(total) - x[c];
    if (box < 0) return sum;
    const float *row = rows + box * HU_BOX_NUMBERS;
    const double w = ((double)region[2] - (double)region[0]) / 80,
                 h = ((double)region[3] - (double)region[1]) / 60;
    const double cx = ((double)region[0] + (double)region[2]) / 160,
                 cy = ((double)region[1] + (double)region[3]) / 120;
    offsets[0] = 10 * (((double)row[0] + (double)row[2]) / 2 - cx) / w;
    offsets[1] = 10 * (((double)row[1] + (double)row[3]) / 2 - cy) / h;
    offsets[2] = 5 * log(((double)row[2] - (double)row[0]) / w);
    offsets[3] = 5 * log(((double)row[3] - (double)row[1]) / h);
    for (int i = 0; i < HU_OFFSETS; i++) {
        double d = fabs(x[CLASSES + HU_OFFSETS * c + i] - offsets[i]);
        sum += d < 1 ? d * d / 2 : d - 0.5;
    }
    return sum;
}

static double plain_loss(const double *x, const float *regions, const float *rows) {
    double sum = 0;
    int count = 0;
    for (int r = 0; r < REGIONS; r++) {
        const float *region = regions + r * HU_REGION_NUMBERS;
        if (!(region[2] > region[0]) || !(region[3] > region[1])) continue;
        sum += region_loss(x + r * WIDTH, region, rows);
        count++;
    }
    return count ? sum / count : 0;
}

static double plain_of(const void *context, int s, const double *x) {
    const drive *d = context;
    return plain_loss(x, d->in[2] + s * REGIONS * HU_REGION_NUMBERS,
                      d->in[1] + s * MOST * HU_BOX_NUMBERS);
}

static void losses_and_gradients_are_the_definition(void **unused) {
    (void)unused;
    drive d;
    int shows = 0;
    open_loss(&d);
    drive_forward(&d);
    drive_backward(&d);
    drive_compare_losses(&d, plain_of, &d);
    for (int r = 0; r < BATCH * REGIONS; r++)
        shows += shown(d.in[2] + HU_REGION_NUMBERS * r,
                       d.in[1] + r / REGIONS * MOST * HU_BOX_NUMBERS) >= 0;
    assert_true(shows > 7 && shows < 4 * REGIONS);
    assert_true(d.out[0][4] == 0.0f); /* no region, no loss */
    assert_true(d.out[0][3] > 0.0f);  /* regions of the background have one */
    drive_close(&d);
}

static void boxes_that_cannot_be_learned_give_nan(void **unused) {
    (void)unused;
    static const float bad[][HU_BOX_NUMBERS] = {
        {.1f, .1f, .1f, .4f, 0}, {.1f, .1f, .4f, .4f, CLASSES - 1}, {.1f, NAN, .4f, .4f, 0}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        drive d;
        hu_round_counts counts;
        open_loss(&d);
        memcpy(d.in[1] + MOST * HU_BOX_NUMBERS, bad[k], sizeof bad[k]);
        hu_round_counts_clear(&counts);
        assert_int_equal(hu_op_roi_loss.check_target(&d.info, BATCH, d.in[1], &counts), BATCH);
        assert_int_equal(counts.nan, 1);
        drive_forward(&d);
        drive_backward(&d);
        assert_true(isnan(d.out[0][1]) && isnan(d.stats[HU_LOSS_SUM]) && !isnan(d.out[0][0]));
        assert_true(isnan(d.din[0][REGIONS * WIDTH]) && !isnan(d.din[0][0]));
        drive_close(&d);
    }
}

/* A NaN in what is said passes on. */
static void nan_passes_on(void **unused) {
    (void)unused;
    drive d;
    open_loss(&d);
    d.in[0][0] = NAN;
    drive_forward(&d);
    assert_true(isnan(d.out[0][0]) && !isnan(d.out[0][1]));
    drive_close(&d);
}

static void shapes_are_checked(void **unused) {
    (void)unused;
    hu_region_loss_attrs none = {{0, 80}};
    hu_shape out,
        in[3] = {DRIVE_SHAPE(REGIONS, WIDTH), DRIVE_SHAPE(MOST, 5), DRIVE_SHAPE(REGIONS, 4)};
    int n;
    assert_int_equal(hu_op_roi_loss.shape(&attrs, 3, in, &n, &out), HU_OK);
    assert_int_equal(hu_op_roi_loss.shape(&none, 3, in, &n, &out), HU_ERR_SHAPE);
    in[0].extent[1]++;
    assert_int_equal(hu_op_roi_loss.shape(&attrs, 3, in, &n, &out), HU_ERR_SHAPE);
    in[0].extent[1]--;
    in[2].extent[0]--;
    assert_int_equal(hu_op_roi_loss.shape(&attrs, 3, in, &n, &out), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_gradients_are_the_definition),
        cmocka_unit_test(boxes_that_cannot_be_learned_give_nan),
        cmocka_unit_test(nan_passes_on),
        cmocka_unit_test(shapes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
