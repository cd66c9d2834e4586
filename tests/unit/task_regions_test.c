/* Detections of a model that proposes regions, beside a plain version that sorts by exchanging and
 * looks at every pair; and their mean average precision in a case that is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "base/rng.h"
#include "media/anchors.h"
#include "media/boxes.h"
#include "plain_boxes.h"
#include "task/internal.h"
#include "task/task.h"

enum { REGIONS = 40, CLASSES = 3, WIDTH = (CLASSES + 1) * 5, MOST = 4, SAMPLES = 6 };
static const hu_picture picture = {60, 80};
static _Alignas(64) unsigned char scratch[CLASSES * 10000];
static float said[SAMPLES][REGIONS][WIDTH], at[SAMPLES][REGIONS][4], truth[SAMPLES][MOST][5];

/* Regions of whole pixels, every fifth none; scores of which some are equal. */
static void draw(uint64_t number) {
    const hu_random_key key = {4, hu_stream_id("test", "regions"), number};
    for (uint64_t r = 0; r < SAMPLES * REGIONS; r++) {
        float *region = at[r / REGIONS][r % REGIONS], *row = said[r / REGIONS][r % REGIONS];
        uint32_t words[WIDTH + 4];
        for (uint64_t k = 0; k < WIDTH + 4; k++)
            words[k] = hu_random_word(&key, r * (WIDTH + 4) + k);
        region[0] = (float)(words[0] % 50);
        region[1] = (float)(words[1] % 40);
        region[2] = region[0] + (r % 5 == 0 ? 0.0f : 10.0f + (float)(words[2] % 20));
        region[3] = region[1] + 8.0f + (float)(words[3] % 12);
        for (int k = 0; k < WIDTH; k++) {
            float drawn = (float)(words[4 + k] % 9) - 4.0f;
            row[k] = k > CLASSES ? 0.25f * drawn : drawn;
        }
    }
}

static hu_metric_call call_now(void) {
    return (hu_metric_call){.samples = SAMPLES,
                            .rows = REGIONS,
                            .outputs = WIDTH,
                            .prediction = said[0][0],
                            .target = truth[0][0],
                            .loss = &hu_loss_faster_rcnn,
                            .targets = MOST * HU_BOX_NUMBERS,
                            .whole = SAMPLES,
                            .regions = at[0][0],
                            .picture = picture,
                            .scratch = scratch};
}

static double inside(double x) {
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Beside the region, by the offsets of the class. */
static hu_box box_of(const float *region, const float *row, int class_number) {
    const float *o = row + CLASSES + 1 + 4 * class_number;
    double w = ((double)region[2] - (double)region[0]) / 80;
    double h = ((double)region[3] - (double)region[1]) / 60;
    double cx = ((double)region[0] + (double)region[2]) / 160 + (double)o[0] / 10 * w;
    double cy = ((double)region[1] + (double)region[3]) / 120 + (double)o[1] / 10 * h;
    w *= exp((double)o[2] / 5);
    h *= exp((double)o[3] / 5);
    return (hu_box){inside(cx - w / 2), inside(cy - h / 2), inside(cx + w / 2), inside(cy + h / 2)};
}

typedef struct listed {
    int count;
    hu_detection list[REGIONS * CLASSES];
} listed;

static void add(void *context, const hu_detection *detection) {
    listed *to = context;
    to->list[to->count++] = *detection;
}

/* Adds what is plainly said of a class. */
static void add_class(int s, int k, listed *to) {
    plain_box list[REGIONS];
    int count = 0;
    for (int r = 0; r < REGIONS; r++) {
        const float *row = said[s][r];
        double score = hu_softmax(hu_softmax_row_of(CLASSES + 1, row), row[k + 1]);
        if (r % 5 == 0 || !(score > 0.01)) continue;
        list[count++] = (plain_box){score, box_of(at[s][r], row, k + 1), k, s};
    }
    plain_sort(list, count);
    count = plain_suppress(list, count, 0.45);
    for (int i = 0; i < count; i++)
        to->list[to->count++] = (hu_detection){k, list[i].score, list[i].box};
}

static void detections_are_the_plain_ones(void **state) {
    (void)state;
    int all = 0;
    for (uint64_t round = 0; round < 8; round++) {
        draw(round);
        for (int s = 0; s < SAMPLES; s++) {
            hu_metric_call call = call_now();
            listed found = {0}, expected = {0};
            hu_detections_visit(&call, s, add, &found);
            for (int k = 0; k < CLASSES; k++) add_class(s, k, &expected);
            assert_int_equal(found.count, expected.count);
            for (int i = 0; i < found.count; i++) {
                const hu_detection *a = &found.list[i], *b = &expected.list[i];
                assert_int_equal(a->class_number, b->class_number);
                assert_true(a->score == b->score);
                const double *x = &a->box.x1, *y = &b->box.x1;
                for (int c = 0; c < 4; c++) assert_true(fabs(x[c] - y[c]) < 1e-14);
            }
            all += found.count;
        }
    }
    assert_true(all > 8 * SAMPLES * CLASSES * 3);
}

/* Regions that are the true boxes, said with certainty: all is found; without its regions nothing.
 */
static void known_precisions(void **state) {
    (void)state;
    double sums[CLASSES * (2 + 2 * REGIONS * SAMPLES)], cells[HU_TASK_COLUMNS_MAX];
    memset(said, 0, sizeof said);
    memset(at, 0, sizeof at);
    for (int s = 0; s < SAMPLES; s++)
        for (int t = 0; t < MOST; t++) {
            float box[] = {0.25f * (float)t, .5f, 0.25f * (float)t + .2f, .75f,
                           (float)((s + t) % CLASSES)};
            hu_box corners = hu_box_of_row(box);
            memcpy(truth[s][t], box, sizeof box);
            hu_roi_write(&corners, picture, at[s][3 * t]);
            said[s][3 * t][1 + (s + t) % CLASSES] = 30.0f;
        }
    hu_metric_call call = call_now();
    assert_int_equal(hu_detection_classes(&call), CLASSES);
    assert_true(hu_detections_scratch_bytes(&call) <= sizeof scratch);
    assert_true(hu_metric_mean_ap.collection->sum_count(&call) <=
                (int64_t)(sizeof sums / sizeof *sums));
    hu_metric_mean_ap.collection->clear(&call, sums);
    hu_metric_mean_ap.collection->add(&call, sums);
    hu_metric_mean_ap.collection->finish(&call, sums);
    assert_true(hu_metric_value(&hu_metric_mean_ap, &call, sums) == 1.0);
    call.samples = 1;
    hu_task_detect_regions.describe(&call, cells);
    assert_true(cells[0] == MOST && cells[1] == MOST && cells[2] == MOST);
    call.samples = SAMPLES;
    call.prediction = call.regions = NULL; /* a format stopped the pass */
    hu_metric_mean_ap.collection->clear(&call, sums);
    hu_metric_mean_ap.collection->add(&call, sums);
    hu_metric_mean_ap.collection->finish(&call, sums);
    assert_true(hu_metric_value(&hu_metric_mean_ap, &call, sums) == 0.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detections_are_the_plain_ones),
        cmocka_unit_test(known_precisions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
