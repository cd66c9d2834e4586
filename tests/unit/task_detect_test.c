/* Detections and their mean average precision beside a plain version that sorts by exchanging and
 * looks at every pair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "base/rng.h"
#include "media/anchors.h"
#include "media/boxes.h"
#include "plain_boxes.h"
#include "task/internal.h"
#include "task/task.h"

enum { SIDE = 6, ROWS = SIDE * SIDE * 2, CLASSES = 3, OUTPUTS = CLASSES + 1 + 4, MOST = 4 };
enum { SAMPLES = 14, LIST = SAMPLES * ROWS };

static hu_anchors anchors = {.maps = 1,
                             .map = {{.height = SIDE,
                                      .width = SIDE,
                                      .step_y = 1.0 / SIDE,
                                      .step_x = 1.0 / SIDE,
                                      .shapes = 2,
                                      .h = {0.25, 0.4},
                                      .w = {0.3, 0.2}}}};
static _Alignas(64) unsigned char scratch[CLASSES * 10000];
static float said[SAMPLES][ROWS][OUTPUTS], truth[SAMPLES][MOST][HU_BOX_NUMBERS];

/* Boxes, and rows that often say one of them; equal scores occur. */
static void draw(uint64_t number) {
    hu_random_key key = {8, hu_stream_id("test", "detect"), 2 * number};
    for (uint64_t i = 0; i < SAMPLES * MOST; i++) {
        float *row = truth[i / MOST][i % MOST];
        float x = (float)(hu_random_word(&key, 3 * i) % 12) / 16.0f;
        float y = (float)(hu_random_word(&key, 3 * i + 1) % 12) / 16.0f;
        float box[HU_BOX_NUMBERS] = {x, y, x + 0.25f, y + 0.25f,
                                     (float)(hu_random_word(&key, 3 * i + 2) % (CLASSES + 1)) - 1};
        memcpy(row, box, sizeof box);
    }
    key.step++;
    for (int s = 0; s < SAMPLES; s++)
        for (uint64_t a = 0; a < ROWS; a++)
            for (uint64_t k = 0; k < OUTPUTS; k++) {
                uint32_t word = hu_random_word(&key, ((uint64_t)s * ROWS + a) * OUTPUTS + k);
                float drawn = (float)(word % 9) - (k == 0 ? 2.0f : 4.0f);
                said[s][a][k] = k > CLASSES ? 0.25f * drawn : drawn;
            }
}

static hu_metric_call call_of(const hu_loss_form *loss) {
    return (hu_metric_call){.samples = SAMPLES,
                            .rows = ROWS,
                            .outputs = OUTPUTS,
                            .prediction = said[0][0],
                            .target = truth[0][0],
                            .loss = loss,
                            .anchors = &anchors,
                            .targets = MOST * HU_BOX_NUMBERS,
                            .whole = SAMPLES,
                            .scratch = scratch};
}

/* ---- the plain version ---- */

static hu_box box_of(const float *row, int anchor) {
    hu_centred at = hu_anchor_at(&anchors, anchor);
    hu_centred made = hu_offset_decode(&at, row + CLASSES + 1, HU_OFFSET_SSD);
    hu_box box = hu_box_of(&made);
    return hu_box_clip(&box);
}

/* What is said of a sample and class; returns how many. */
static int plain_detections(int s, int class_number, plain_box *list) {
    int count = 0;
    for (int a = 0; a < ROWS; a++) {
        double score =
            hu_softmax(hu_softmax_row_of(CLASSES + 1, said[s][a]), said[s][a][class_number + 1]);
        if (score > 0.01)
            list[count++] = (plain_box){score, box_of(said[s][a], a), class_number, s};
    }
    plain_sort(list, count);
    return plain_suppress(list, count, 0.45);
}

/* What is said of a sample, of all classes: the best `limit` (0: all), equal ones of the first
 * class. Returns how many. */
static int plain_picture(int s, int limit, plain_box *list) {
    int count = 0;
    for (int c = 0; c < CLASSES; c++) count += plain_detections(s, c, list + count);
    if (limit == 0 || count <= limit) return count;
    plain_sort(list, count);
    return limit;
}

/* Those of a class, best first; returns how many. */
static int plain_class(int s, int class_number, int limit, plain_box *list) {
    plain_box all[CLASSES * ROWS];
    int count = 0, found = plain_picture(s, limit, all);
    for (int i = 0; i < found; i++)
        if (all[i].class_number == class_number) list[count++] = all[i];
    return count;
}

/* For each recall that a detection reaches, the best precision at or after it. */
static double plain_precision(const bool *right, int count, int boxes, bool all_points) {
    double total = 0;
    int points = all_points ? boxes : 11;
    for (int p = 0; p < points; p++) {
        double best = 0;
        int found = 0;
        for (int i = 0; i < count; i++) {
            found += right[i];
            bool reaches = all_points ? found >= p + 1 : 10 * found >= p * boxes;
            if (reaches && (double)found / (i + 1) > best) best = (double)found / (i + 1);
        }
        total += best;
    }
    return total / points;
}

static double plain_mean(bool all_points, int limit) {
    static plain_box list[LIST];
    static bool right[LIST];
    double total = 0;
    int present = 0;
    for (int c = 0; c < CLASSES; c++) {
        bool taken[SAMPLES][MOST] = {{false}};
        int count = 0, boxes = 0;
        for (int s = 0; s < SAMPLES; s++) count += plain_class(s, c, limit, list + count);
        for (int i = 0; i < SAMPLES * MOST; i++)
            boxes += truth[i / MOST][i % MOST][HU_BOX_CLASS] == (float)c;
        plain_sort(list, count);
        for (int i = 0; i < count; i++) {
            int best = -1;
            double most = -1;
            for (int t = 0; t < MOST; t++) {
                const float *row = truth[list[i].sample][t];
                hu_box box = hu_box_of_row(row);
                double iou = hu_box_iou(&box, &list[i].box);
                if (row[HU_BOX_CLASS] == (float)c && iou > most) most = iou, best = t;
            }
            right[i] = most >= 0.5 && !taken[list[i].sample][best];
            if (right[i]) taken[list[i].sample][best] = true;
        }
        if (boxes == 0) continue;
        total += plain_precision(right, count, boxes, all_points);
        present++;
    }
    return total / present;
}

/* ---- tests ---- */

static double by_class[CLASSES]; /* that the latest metric gave */

/* The metric, from parts of given lengths. */
static double value_of(const hu_metric *metric, hu_metric_call whole, const int64_t *cuts) {
    const hu_collection *collection = metric->collection;
    double *sums = malloc((size_t)collection->sum_count(&whole) * sizeof *sums);
    collection->clear(&whole, sums);
    for (; cuts[0] < cuts[1]; cuts++) {
        hu_metric_call part = whole;
        part.samples = cuts[1] - cuts[0];
        if (whole.prediction) part.prediction += cuts[0] * ROWS * OUTPUTS;
        part.target += cuts[0] * MOST * HU_BOX_NUMBERS;
        collection->add(&part, sums);
    }
    collection->finish(&whole, sums);
    double value = hu_metric_value(metric, &whole, sums);
    assert_true(hu_metric_value(metric, &whole, sums) == value ||
                isnan(value)); /* may be asked again */
    for (int c = 0; c < CLASSES; c++) by_class[c] = metric->of_class(&whole, sums, c);
    free(sums);
    return value;
}

static const int64_t at_once[] = {0, SAMPLES, 0}, in_parts[] = {0, 5, 6, SAMPLES, 0};

/* Without a limit of boxes, with one of 1 and with larger ones. */
static void precision_is_the_plain_one(void **state) {
    (void)state;
    static const int limits[] = {0, 1, 5, 0, 12, 30};
    double largest = 0;
    for (uint64_t k = 0; k < 6; k++) {
        draw(k);
        anchors.most = limits[k];
        const hu_metric *metrics[] = {&hu_metric_mean_ap, &hu_metric_mean_ap_11};
        for (int m = 0; m < 2; m++) {
            double found = value_of(metrics[m], call_of(&hu_loss_ssd), at_once);
            double expected = plain_mean(m == 0, limits[k]);
            if (!(fabs(found - expected) < 1e-13))
                fail_msg("%s: found %.17g, expected %.17g", metrics[m]->name, found, expected);
            assert_true(value_of(metrics[m], call_of(&hu_loss_ssd), in_parts) == found);
            largest = fmax(largest, found);
        }
    }
    assert_true(largest > 0.01 && largest < 0.99);
    anchors.most = 0;
}

static void count_one(void *context, const hu_detection *detection) {
    *(int *)context += detection->score > 0;
}

/* Of more boxes than a picture may have as many as it may. */
static void a_picture_has_so_many_boxes(void **state) {
    (void)state;
    hu_metric_call call = call_of(&hu_loss_ssd);
    const int limits[] = {0, 20, 3};
    int found[3] = {0};
    draw(0);
    for (int k = 0; k < 3; k++) {
        anchors.most = limits[k];
        hu_detections_visit(&call, 0, count_one, &found[k]);
    }
    anchors.most = 0;
    assert_true(found[0] > 20);
    assert_int_equal(found[1], 20);
    assert_int_equal(found[2], 3);
}

/* Rows of one anchor that says a box with certainty. */
static void say(int s, int t, float confidence) {
    const float *row = truth[s][t];
    hu_box box = hu_box_of_row(row);
    hu_centred wanted = hu_box_centred(&box);
    int a = t * 7 + s % 5;
    hu_centred at = hu_anchor_at(&anchors, a);
    double offsets[HU_OFFSETS];
    hu_offset_encode(&at, &wanted, HU_OFFSET_SSD, offsets);
    said[s][a][0] = 0.0f;
    said[s][a][(int)row[HU_BOX_CLASS] + 1] = confidence;
    for (int i = 0; i < HU_OFFSETS; i++) said[s][a][CLASSES + 1 + i] = (float)offsets[i];
}

/* Boxes far apart, of which as many are said as asked; nothing else is. */
static void say_boxes(int wanted) {
    for (int s = 0; s < SAMPLES; s++) {
        for (int a = 0; a < ROWS; a++)
            for (int k = 0; k < OUTPUTS; k++) said[s][a][k] = k == 0 ? 9.0f : 0.0f;
        for (int t = 0; t < MOST; t++) {
            float x = 0.05f + 0.5f * (float)(t % 2), y = 0.05f + 0.5f * (float)(t / 2);
            float box[] = {x, y, x + 0.25f, y + 0.3f, (float)(t % CLASSES)};
            memcpy(truth[s][t], box, sizeof box);
            if (t < wanted) say(s, t, 9.0f);
        }
    }
}

static void known_precisions(void **state) {
    (void)state;
    hu_metric_call call = call_of(&hu_loss_ssd);
    assert_true(hu_detections_scratch_bytes(&call) <= sizeof scratch);
    say_boxes(MOST);
    assert_true(value_of(&hu_metric_mean_ap, call, at_once) == 1.0);
    assert_true(value_of(&hu_metric_mean_ap_11, call, at_once) == 1.0);
    /* Class 0 has two boxes a picture, of which one is found: half of its curve, 6 of 11 recalls.
     */
    say_boxes(3);
    assert_true(value_of(&hu_metric_mean_ap, call, at_once) == (0.5 + 1 + 1) / 3);
    assert_true(by_class[0] == 0.5 && by_class[1] == 1.0 && by_class[2] == 1.0);
    assert_true(value_of(&hu_metric_mean_ap_11, call, at_once) == (6.0 / 11 + 1 + 1) / 3);
    assert_true(by_class[0] == 6.0 / 11 && by_class[1] == 1.0 && by_class[2] == 1.0);
    say_boxes(0);
    assert_true(value_of(&hu_metric_mean_ap, call, at_once) == 0.0);
    /* A format has stopped the pass: nothing is said. A class without boxes does not count. */
    say_boxes(MOST);
    call.prediction = NULL;
    assert_true(value_of(&hu_metric_mean_ap, call, at_once) == 0.0);
    call.prediction = said[0][0];
    for (int i = 0; i < SAMPLES * MOST; i++)
        if (truth[i / MOST][i % MOST][HU_BOX_CLASS] == 2.0f)
            truth[i / MOST][i % MOST][HU_BOX_CLASS] = HU_UNLABELLED;
    assert_true(value_of(&hu_metric_mean_ap, call, at_once) == 1.0);
    assert_true(by_class[0] == 1.0 && by_class[1] == 1.0 && isnan(by_class[2]));
    for (int i = 0; i < SAMPLES * MOST; i++)
        truth[i / MOST][i % MOST][HU_BOX_CLASS] = HU_UNLABELLED;
    assert_true(isnan(value_of(&hu_metric_mean_ap, call, at_once)));
}

/* A second detection of a found box is wrong, however good it is. */
static void a_box_is_found_once(void **state) {
    (void)state;
    say_boxes(MOST);
    hu_metric_call call = call_of(&hu_loss_ssd);
    hu_finder finder = hu_finder_begin(&call, 0);
    hu_detection one = {0, 0.9, {0.05, 0.05, 0.3, 0.35}}, other = {1, 0.9, {0, 0, 0.1, 0.1}};
    assert_int_equal(hu_finder_judge(&finder, &one), HU_DETECTION_RIGHT);
    assert_int_equal(hu_finder_judge(&finder, &one), HU_DETECTION_WRONG);
    assert_int_equal(hu_finder_judge(&finder, &other), HU_DETECTION_WRONG);
}

/* Difficult boxes are not asked for: who finds none of them loses nothing, who finds them, also
 * twice, gains nothing. A class of which all boxes are difficult does not count. */
static void difficult_boxes_do_not_count(void **state) {
    (void)state;
    hu_metric_call call = call_of(&hu_loss_ssd);
    for (int wanted = 3; wanted <= MOST; wanted++) { /* 3: the second boxes of class 0 are missed */
        say_boxes(wanted);
        for (int s = 0; s < SAMPLES; s++)
            for (int t = 3; t < MOST; t++)
                truth[s][t][HU_BOX_CLASS] = (float)(HU_BOX_DIFFICULT - t % CLASSES);
        assert_true(value_of(&hu_metric_mean_ap, call, at_once) == 1.0);
        assert_true(by_class[0] == 1.0 && by_class[1] == 1.0 && by_class[2] == 1.0);
    }
    for (int s = 0; s < SAMPLES; s++) truth[s][1][HU_BOX_CLASS] = HU_BOX_DIFFICULT - 1;
    assert_true(value_of(&hu_metric_mean_ap, call, at_once) == 1.0);
    assert_true(isnan(by_class[1]));
    /* At a box that another class's detection hits it is wrong as ever. */
    hu_finder finder = hu_finder_begin(&call, 0);
    const float *row = truth[0][1];
    hu_detection one = {1, 0.9, hu_box_of_row(row)}, other = {2, 0.9, hu_box_of_row(row)};
    assert_int_equal(hu_finder_judge(&finder, &one), HU_DETECTION_IGNORED);
    assert_int_equal(hu_finder_judge(&finder, &one), HU_DETECTION_IGNORED);
    assert_int_equal(hu_finder_judge(&finder, &other), HU_DETECTION_WRONG);
}

static void nan_says_nothing(void **state) {
    (void)state;
    hu_metric_call call = call_of(&hu_loss_ssd);
    say_boxes(MOST);
    for (int i = 0; i < SAMPLES * ROWS; i++) said[i / ROWS][i % ROWS][0] = NAN;
    assert_true(value_of(&hu_metric_mean_ap, call, at_once) == 0.0);
}

/* Log-probabilities say the same boxes as the logits that they come from. */
static void both_losses_say_the_same(void **state) {
    (void)state;
    say_boxes(3);
    double expected = value_of(&hu_metric_mean_ap, call_of(&hu_loss_ssd), at_once);
    for (int i = 0; i < SAMPLES * ROWS; i++) {
        double sum = 0;
        for (int c = 0; c <= CLASSES; c++) sum += exp((double)said[i / ROWS][i % ROWS][c]);
        for (int c = 0; c <= CLASSES; c++) said[i / ROWS][i % ROWS][c] -= (float)log(sum);
    }
    assert_true(value_of(&hu_metric_mean_ap, call_of(&hu_loss_ssd_nll), at_once) == expected);
}

static void scores_are_softmax(void **state) {
    (void)state;
    const float row[] = {0.5f, -1.0f, 2.0f};
    double sum = exp(0.5) + exp(-1.0) + exp(2.0);
    assert_true(fabs(hu_softmax(hu_loss_row(&hu_loss_ssd, 3, row), 2.0f) - exp(2.0) / sum) < 1e-15);
    assert_true(fabs(hu_softmax(hu_loss_row(&hu_loss_ssd_nll, 3, row), -1.0f) - exp(-1.0)) < 1e-15);
}

static void predictions_count_boxes(void **state) {
    (void)state;
    double cells[HU_TASK_COLUMNS_MAX];
    say_boxes(3);
    hu_metric_call sample = call_of(&hu_loss_ssd);
    sample.samples = 1;
    truth[0][1][HU_BOX_CLASS] = 2.0f; /* said as class 1 */
    hu_task_detect.describe(&sample, cells);
    assert_true(cells[0] == 4.0 && cells[1] == 3.0 && cells[2] == 2.0);
    sample.prediction = NULL;
    hu_task_detect.describe(&sample, cells);
    assert_true(cells[0] == 4.0 && cells[1] == -1.0 && cells[2] == -1.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precision_is_the_plain_one),
        cmocka_unit_test(known_precisions),
        cmocka_unit_test(scores_are_softmax),
        cmocka_unit_test(difficult_boxes_do_not_count),
        cmocka_unit_test(a_box_is_found_once),
        cmocka_unit_test(nan_says_nothing),
        cmocka_unit_test(both_losses_say_the_same),
        cmocka_unit_test(predictions_count_boxes),
        cmocka_unit_test(a_picture_has_so_many_boxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
