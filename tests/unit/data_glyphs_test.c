#include <math.h>

#include <halfulp/data.h>
#include <omp.h>
#include <xxhash.h>

#include "base/memory.h"
#include "data_refused.h"
#include "split.h"

enum { PIXELS = 3072, TRAIN = 10000, TEST = 2000, CLASSES = 10, SMALL = 16, FEATURES = 256 };

static hu_dataset *open_glyphs(int64_t train, int64_t test) {
    hu_data_limits limits = {train, test};
    hu_dataset *d;
    assert_true(hu_dataset_available("glyphs"));
    assert_int_equal(hu_dataset_open("glyphs", &limits, &d), HU_OK);
    return d;
}

static void the_set_has_its_sizes_and_every_class_equally_often(void **state) {
    (void)state;
    uint64_t before = hu_memory_live(HU_MEMORY_DATA);
    hu_dataset *d = open_glyphs(0, 0);
    assert_int_equal(hu_memory_live(HU_MEMORY_DATA) - before, (TRAIN + TEST) * (PIXELS + 4));
    assert_int_equal(d->train.count, TRAIN);
    assert_int_equal(d->test.count, TEST);
    assert_int_equal(d->field[HU_FIELD_IMAGE].extent[0], 32);
    assert_int_equal(d->field[HU_FIELD_IMAGE].extent[1], 32);
    assert_int_equal(d->field[HU_FIELD_IMAGE].extent[2], 3);
    assert_int_equal(d->field[HU_FIELD_LABEL].classes, CLASSES);
    int train[CLASSES] = {0}, test[CLASSES] = {0};
    for (int i = 0; i < TRAIN; i++) train[labels_of(&d->train)[i]]++;
    for (int i = 0; i < TEST; i++) test[labels_of(&d->test)[i]]++;
    for (int k = 0; k < CLASSES; k++) assert_true(train[k] == 1000 && test[k] == 200);
    double sum = 0, squares = 0, n = (double)TRAIN * PIXELS;
    for (int64_t i = 0; i < (int64_t)TRAIN * PIXELS; i++) {
        double v = pixels_of(&d->train)[i] / 255.0;
        sum += v;
        squares += v * v;
    }
    double mean = sum / n, deviation = sqrt(squares / n - mean * mean);
    assert_true(fabs(mean - (double)d->field[HU_FIELD_IMAGE].mean[0]) < 0.05);
    assert_true(deviation > 0.5 * (double)d->field[HU_FIELD_IMAGE].std[0] &&
                deviation < 1.5 * (double)d->field[HU_FIELD_IMAGE].std[0]);
    hu_dataset_close(d);
}

static int by_hash(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void no_two_images_are_equal(void **state) {
    (void)state;
    static uint64_t hashes[TRAIN + TEST];
    hu_dataset *d = open_glyphs(0, 0);
    for (int i = 0; i < TRAIN; i++) hashes[i] = XXH64(pixels_of(&d->train) + i * PIXELS, PIXELS, 0);
    for (int i = 0; i < TEST; i++)
        hashes[TRAIN + i] = XXH64(pixels_of(&d->test) + i * PIXELS, PIXELS, 0);
    qsort(hashes, TRAIN + TEST, sizeof hashes[0], by_hash);
    for (int i = 1; i < TRAIN + TEST; i++) assert_true(hashes[i] != hashes[i - 1]);
    hu_dataset_close(d);
}

static void limits_and_threads_change_no_image(void **state) {
    (void)state;
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    hu_dataset *one = open_glyphs(300, 70);
    omp_set_num_threads(5);
    hu_dataset *five = open_glyphs(217, 300);
    omp_set_num_threads(threads);
    assert_int_equal(one->train.count, 300);
    assert_int_equal(five->train.count, 217);
    assert_memory_equal(pixels_of(&one->train), pixels_of(&five->train), 217 * PIXELS);
    assert_memory_equal(pixels_of(&one->test), pixels_of(&five->test), 70 * PIXELS);
    hu_dataset_close(one);
    hu_dataset_close(five);
}

/* Results published with the set hold only while its bytes stay what they are, on every machine. */
static void the_bytes_are_those_of_the_first_release(void **state) {
    (void)state;
    hu_dataset *d = open_glyphs(500, 500);
    assert_true(XXH64(pixels_of(&d->train), 500 * PIXELS, 0) == UINT64_C(0xd41475a1e24a763a));
    assert_true(XXH64(pixels_of(&d->test), 500 * PIXELS, 0) == UINT64_C(0x903f29cd0ccda91f));
    hu_dataset_close(d);
}

/* 16 x 16 grey values, zero mean, unit length. */
static void describe(const uint8_t *pixels, float *features) {
    float mean = 0, length = 0;
    for (int f = 0; f < FEATURES; f++) {
        features[f] = 0;
        for (int k = 0; k < 12; k++) {
            int y = 2 * (f / SMALL) + k / 6, x = 2 * (f % SMALL);
            features[f] += (float)pixels[(32 * y + x) * 3 + k % 6];
        }
        mean += features[f] / FEATURES;
    }
    for (int f = 0; f < FEATURES; f++) {
        features[f] -= mean;
        length += features[f] * features[f];
    }
    for (int f = 0; f < FEATURES; f++) features[f] /= sqrtf(length);
}

static float similarity(const float *a, const float *b) {
    float lanes[8] = {0};
    for (int f = 0; f < FEATURES; f += 8)
        for (int k = 0; k < 8; k++) lanes[k] += a[f + k] * b[f + k];
    return lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] + lanes[7];
}

/* Share of test images whose most similar row of known [count, 256] has their label (row modulo
 * 10). */
static double accuracy(const hu_dataset *d, const float *known, int count, int tests) {
    int right = 0;
    for (int t = 0; t < tests; t++) {
        float features[FEATURES], most = -2;
        int nearest = 0;
        describe(pixels_of(&d->test) + t * PIXELS, features);
        for (int i = 0; i < count; i++) {
            float s = similarity(features, known + (size_t)i * FEATURES);
            if (s > most) {
                most = s;
                nearest = i;
            }
        }
        right += nearest % CLASSES == labels_of(&d->test)[t];
    }
    return (double)right / tests;
}

/* Ten mean images must not do (a task for one linear layer would show nothing about formats), and
 * more examples must help: the classes are there to be learned. Chance is 0.1. */
static void the_task_can_be_learned_but_not_by_templates(void **state) {
    (void)state;
    static float known[TRAIN * FEATURES], means[CLASSES * FEATURES];
    hu_dataset *d = open_glyphs(0, 0);
    for (int i = 0; i < TRAIN; i++) {
        describe(pixels_of(&d->train) + i * PIXELS, known + i * FEATURES);
        for (int f = 0; f < FEATURES; f++)
            means[i % CLASSES * FEATURES + f] += known[i * FEATURES + f] / 1000;
    }
    double templates = accuracy(d, means, CLASSES, TEST);
    double few = accuracy(d, known, 500, 500), many = accuracy(d, known, TRAIN, 500);
    print_message("templates %.3f, nearest of 500 %.3f, nearest of 10000 %.3f\n", templates, few,
                  many);
    assert_true(templates > 0.13 && templates < 0.5);
    assert_true(many > 0.4 && many < 0.9);
    assert_true(many > few + 0.1);
    hu_dataset_close(d);
}

static void memory_faults_are_reported_and_leak_nothing(void **state) {
    (void)state;
    const hu_data_limits limits = {2, 2};
    /* the set, its name, two blocks for each half; then it opens */
    assert_int_equal(fail_every_allocation("glyphs", &limits, NULL), 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_set_has_its_sizes_and_every_class_equally_often),
        cmocka_unit_test(no_two_images_are_equal),
        cmocka_unit_test(limits_and_threads_change_no_image),
        cmocka_unit_test(the_bytes_are_those_of_the_first_release),
        cmocka_unit_test(the_task_can_be_learned_but_not_by_templates),
        cmocka_unit_test(memory_faults_are_reported_and_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
