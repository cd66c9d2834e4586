/* What training sees of pictures beyond crops: RandAugment beside Pillow, mixtures of pairs and
 * erased rectangles by their definitions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <halfulp/data.h>

#include "base/rng.h"
#include "data/mixing.h"
#include "data/randaugment.h"
#include "split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { COUNT = 41, HEIGHT = 12, WIDTH = 10, CHANNELS = 3, ELEMENTS = HEIGHT * WIDTH * CHANNELS };

/* ---- RandAugment ---- */

static uint64_t hash_of(const uint8_t *x, size_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ x[i]) * 0x100000001b3u;
    return h;
}

/* Hashes (FNV-1a) of what Pillow 13.0 makes of a picture by formula, at strength 2 with the sign
 * minus and 9 with plus: autocontrast, equalize, ... in the order of the header, by ImageOps,
 * ImageEnhance, and transform with bilinear pixels and this fill colour. */
static const uint64_t pillow[HU_RANDAUGMENT_OPERATIONS][2] = {
    {0xac55fde2dbc2c3d1, 0xac55fde2dbc2c3d1}, {0x7c17644570cc2425, 0x7c17644570cc2425},
    {0x3082710c6d407fa5, 0x3082710c6d407fa5}, {0xe002396e69567980, 0x7c4edb796257c26e},
    {0xfad6687f76d6ba45, 0x9949886e101c8545}, {0xcd4fa3de708aaa85, 0x3082710c6d407fa5},
    {0x85107fab8d837695, 0x8317a0297e578df1}, {0x76af40a648e5f271, 0x66139aedd77cc9c1},
    {0x9f69258b54ba4075, 0x8013ce0fef7cfd49}, {0x4498b8f94e4ca24d, 0xf4f6c6320f03e7ad},
    {0xe70b913395c73c6c, 0x463149c782e48adf}, {0xc98e171fa649b7c7, 0x2b6a52209a216fa9},
    {0x790e72e8fd9ed5f9, 0x7867ac7f6ffb3c85}, {0x4c45cd4bbc3a23e9, 0xf71cd5a12b7fccc5},
    {0xc228e7a9eafa198a, 0x864436d7f563b8ae}};

static const uint8_t fill[CHANNELS] = {124, 116, 104};

static void formula(uint8_t *image) {
    for (int i = 0; i < ELEMENTS; i++) image[i] = (uint8_t)(40 + (i * i * 7 + i * 13) % 180);
}

static void operations_are_pillows(void **state) {
    (void)state;
    static uint8_t image[ELEMENTS], scratch[ELEMENTS];
    for (int operation = 0; operation < HU_RANDAUGMENT_OPERATIONS; operation++)
        for (int k = 0; k < 2; k++) {
            formula(image);
            hu_randaugment_apply(operation, k ? 9.0 : 2.0, k ? 1.0 : -1.0, fill, HEIGHT, WIDTH,
                                 image, scratch);
            if (hash_of(image, ELEMENTS) != pillow[operation][k])
                fail_msg("operation %d, case %d: %llx", operation, k,
                         (unsigned long long)hash_of(image, ELEMENTS));
        }
}

/* Two operations, each as likely as any, done half of the time, at strengths about the magnitude.
 */
static void operations_are_drawn(void **state) {
    (void)state;
    const hu_randaugment settings = {.magnitude = 9.0, .std = 0.5, .fill = {1, 2, 3}};
    static uint8_t image[ELEMENTS], expected[ELEMENTS], scratch[ELEMENTS];
    const hu_random_key key = {5, hu_stream_id("randaugment", ""), 3};
    const hu_random_key strengths = {5, hu_stream_id("randaugment strength", ""), 3};
    int done = 0, seen[HU_RANDAUGMENT_OPERATIONS] = {0};
    for (int64_t index = 0; index < 600; index++) {
        formula(image);
        formula(expected);
        for (uint64_t n = 0; n < 2; n++) {
            uint64_t block = 4 * (uint64_t)index + n;
            double u[3];
            for (uint64_t i = 0; i < 3; i++)
                u[i] = (double)hu_random_word(&key, 4 * block + i) / 4294967296.0;
            if (u[1] >= 0.5) continue;
            double m = 9.0 + 0.5 * (double)hu_random_normal(&strengths, block);
            int operation = (int)floor(15.0 * u[0]);
            hu_randaugment_apply(operation, m > 10.0 ? 10.0 : m, u[2] < 0.5 ? -1.0 : 1.0,
                                 settings.fill, HEIGHT, WIDTH, expected, scratch);
            seen[operation]++;
            done++;
        }
        hu_randaugment_run(&settings, 5, 3, index, HEIGHT, WIDTH, image, scratch);
        assert_memory_equal(image, expected, ELEMENTS);
    }
    assert_true(abs(done - 600) < 60);
    for (int o = 0; o < HU_RANDAUGMENT_OPERATIONS; o++) assert_true(seen[o] > 15);
}

/* ---- erased rectangles ---- */

static void rectangles_become_noise(void **state) {
    (void)state;
    enum { SIDE = 32, PIXELS = SIDE * SIDE };
    static float sample[PIXELS * 2];
    int erased = 0;
    double share = 0.0, sum = 0.0, squares = 0.0, numbers = 0.0;
    for (int64_t index = 0; index < 2000; index++) {
        int top = SIDE, bottom = -1, left = SIDE, right = -1, count = 0;
        for (int i = 0; i < PIXELS * 2; i++) sample[i] = 1000.0f;
        hu_erase(0.25, 7, 2, index, SIDE, SIDE, 2, sample);
        for (int p = 0; p < PIXELS; p++) {
            if (sample[2 * p] == 1000.0f) continue;
            int y = p / SIDE, x = p % SIDE;
            assert_true(sample[2 * p + 1] != 1000.0f);
            top = y < top ? y : top, bottom = y > bottom ? y : bottom;
            left = x < left ? x : left, right = x > right ? x : right;
            count++;
            for (int c = 0; c < 2; c++) {
                sum += (double)sample[2 * p + c];
                squares += (double)sample[2 * p + c] * (double)sample[2 * p + c];
                numbers += 1.0;
            }
        }
        if (count == 0) continue;
        assert_int_equal(count, (bottom - top + 1) * (right - left + 1));
        assert_true(count > 0.015 * PIXELS && count < 0.36 * PIXELS);
        erased++;
        share += (double)count / PIXELS;
    }
    assert_true(abs(erased - 500) < 80);
    assert_true(fabs(share / erased - 0.5 * (0.02 + 1.0 / 3.0)) < 0.02);
    assert_true(fabs(sum / numbers) < 0.02 && fabs(squares / numbers - 1.0) < 0.02);
}

/* ---- mixtures ---- */

/* Mean 1/2 and variance 1 / (4 (2 A + 1)) of Beta(A, A). */
static void shares_are_of_beta(void **state) {
    (void)state;
    static const double sizes[] = {0.2, 0.8, 1.0, 3.0};
    enum { DRAWS = 20000 };
    const hu_random_key key = {1, hu_stream_id("mix", ""), 0};
    for (size_t a = 0; a < 4; a++) {
        const hu_augment augment = {.mixup = sizes[a]};
        double mean = 0.0, squares = 0.0;
        for (int64_t i = 0; i < DRAWS; i++) {
            hu_mix mix = hu_mix_draw(&augment, &key, i, 8, 8);
            assert_true(!mix.is_cut && mix.weight >= 0.0f && mix.weight <= 1.0f);
            mean += (double)mix.weight / DRAWS;
            squares += (double)mix.weight * (double)mix.weight / DRAWS;
        }
        double variance = squares - mean * mean, expected = 0.25 / (2.0 * sizes[a] + 1.0);
        assert_true(fabs(mean - 0.5) < 0.01 && fabs(variance / expected - 1.0) < 0.03);
    }
}

static void weights_of_cuts_are_their_pixels(void **state) {
    (void)state;
    const hu_random_key key = {2, hu_stream_id("mix", ""), 5};
    const hu_augment augment = {.mixup = 0.8, .cutmix = 1.0, .mix_switch = 0.5};
    static float sample[HEIGHT * WIDTH], other[HEIGHT * WIDTH];
    int cuts = 0;
    for (int64_t i = 0; i < 1000; i++) {
        hu_mix mix = hu_mix_draw(&augment, &key, i, HEIGHT, WIDTH);
        double sum = 0.0;
        cuts += mix.is_cut;
        for (int p = 0; p < HEIGHT * WIDTH; p++) sample[p] = 0.0f, other[p] = 1.0f;
        hu_mix_apply(&mix, HEIGHT, WIDTH, 1, other, sample);
        for (int p = 0; p < HEIGHT * WIDTH; p++) sum += (double)sample[p] / (HEIGHT * WIDTH);
        assert_true(fabs(sum - (double)mix.weight) < 1e-6);
    }
    assert_true(cuts > 430 && cuts < 570);
}

/* ---- loaders ---- */

static uint8_t pixels[COUNT * ELEMENTS];
static int32_t labels[COUNT];
static float alone[COUNT * ELEMENTS], mixed[COUNT * ELEMENTS];

static hu_dataset data_of(bool mixes) {
    hu_random_key key = {9, hu_stream_id("test", "mix"), 0};
    for (uint64_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)hu_random_word(&key, i);
    for (int i = 0; i < COUNT; i++) labels[i] = i % 7;
    hu_dataset made = {.train = {.count = COUNT, .rows = {pixels, labels}},
                       .test = {.count = COUNT, .rows = {pixels, labels}}};
    hu_dataset_set_images(&made, HEIGHT, WIDTH, CHANNELS, 7);
    for (int c = 0; c < CHANNELS; c++) {
        made.field[HU_FIELD_IMAGE].mean[c] = 0.5f;
        made.field[HU_FIELD_IMAGE].std[c] = 0.25f;
    }
    if (mixes) assert_int_equal(hu_dataset_mix(&made), HU_OK);
    return made;
}

/* Pairs in the order of the epoch, each as the other is after its own changes. */
static void partners_are_neighbours(void **state) {
    (void)state;
    hu_dataset data = data_of(true);
    hu_loader_settings settings = {.seed = 3, .shuffle = true, .batch = 8};
    settings.augment = (hu_augment){
        .pad = 2, .flip = true, .erase = 0.5, .randaugment = 9.0, .randaugment_std = 0.5};
    hu_loader *plain, *both;
    assert_int_equal(hu_loader_create(&data, HU_SPLIT_TRAIN, &settings, &plain), HU_OK);
    settings.augment.mixup = 0.8;
    settings.augment.cutmix = 1.0;
    settings.augment.mix_switch = 0.5;
    settings.fillers = 2;
    assert_int_equal(hu_loader_create(&data, HU_SPLIT_TRAIN, &settings, &both), HU_OK);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        const hu_random_key key = {3, hu_stream_id("mix", ""), (uint64_t)epoch};
        assert_int_equal(hu_loader_begin_epoch(plain, epoch), HU_OK);
        assert_int_equal(hu_loader_begin_epoch(both, epoch), HU_OK);
        hu_loader_fill(plain, 0, HU_READ_NORMALISED, 0, COUNT, alone);
        for (int64_t p = 0; p < COUNT; p += 5)
            hu_loader_fill(both, 0, HU_READ_NORMALISED, p, COUNT - p < 5 ? COUNT - p : 5,
                           mixed + p * ELEMENTS);
        for (int64_t p = 0; p < COUNT; p++) {
            float row[2], label[2], *made = mixed + p * ELEMENTS;
            int64_t index = hu_loader_index(both, p), partner = p ^ 1;
            hu_loader_fill(both, 2, HU_READ_PLAIN, p, 1, row);
            hu_loader_fill(both, 1, HU_READ_PLAIN, p, 1, label);
            assert_true(label[0] == (float)(index % 7));
            if (partner >= COUNT) {
                assert_memory_equal(made, alone + p * ELEMENTS, ELEMENTS * sizeof(float));
                assert_true(row[0] == label[0] && row[1] == 0.0f);
                continue;
            }
            hu_mix mix = hu_mix_draw(&settings.augment, &key, index, HEIGHT, WIDTH);
            assert_true(row[0] == (float)(hu_loader_index(both, partner) % 7));
            assert_true(row[1] == mix.weight);
            hu_mix_apply(&mix, HEIGHT, WIDTH, CHANNELS, alone + partner * ELEMENTS,
                         alone + p * ELEMENTS + 0);
            assert_memory_equal(made, alone + p * ELEMENTS, ELEMENTS * sizeof(float));
            /* As it was, for its partner. */
            hu_loader_fill(plain, 0, HU_READ_NORMALISED, p, 1, alone + p * ELEMENTS);
        }
    }
    hu_loader_close(plain);
    hu_loader_close(both);
}

/* Evaluations see samples as they are, and labels with nothing mixed in. */
static void evaluations_mix_nothing(void **state) {
    (void)state;
    hu_dataset data = data_of(true);
    const hu_loader_settings settings = {.seed = 3};
    hu_loader *loader;
    float row[2 * COUNT];
    assert_int_equal(hu_loader_create(&data, HU_SPLIT_TEST, &settings, &loader), HU_OK);
    hu_loader_fill(loader, 2, HU_READ_PLAIN, 0, COUNT, row);
    for (int i = 0; i < COUNT; i++)
        assert_true(row[2 * i] == (float)(i % 7) && row[2 * i + 1] == 0);
    hu_loader_close(loader);
}

static void what_cannot_be_changed_is_refused(void **state) {
    (void)state;
    hu_dataset data = data_of(false);
    hu_loader_settings settings = {.seed = 3, .augment = {.randaugment = 9.0}};
    hu_loader *loader;
    data.field[HU_FIELD_IMAGE].extent[2] = 1;
    assert_int_equal(hu_loader_create(&data, HU_SPLIT_TRAIN, &settings, &loader), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "1 channels, expected pictures of 3"));
    data.field[HU_FIELD_LABEL].rank = 1;
    assert_int_equal(hu_dataset_mix(&data), HU_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_pillows),
        cmocka_unit_test(operations_are_drawn),
        cmocka_unit_test(rectangles_become_noise),
        cmocka_unit_test(shares_are_of_beta),
        cmocka_unit_test(weights_of_cuts_are_their_pixels),
        cmocka_unit_test(partners_are_neighbours),
        cmocka_unit_test(evaluations_mix_nothing),
        cmocka_unit_test(what_cannot_be_changed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
