/* Samples held out of the training part. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <halfulp/data.h>

#include "base/memory.h"

enum { COUNT = 100, CLASSES = 10, SIDE = 2, PIXELS = SIDE * SIDE };

static uint8_t pixels[COUNT * PIXELS];
static int32_t labels[COUNT];

/* Pixel p of sample i is i, its class i % 10. */
static hu_dataset sample(void) {
    for (int i = 0; i < COUNT; i++) {
        memset(pixels + i * PIXELS, i, PIXELS);
        labels[i] = i % CLASSES;
    }
    hu_dataset made = {.train = {.count = COUNT, .rows = {pixels, labels}},
                       .test = {.count = 50, .rows = {pixels, labels}}};
    hu_dataset_set_images(&made, SIDE, SIDE, 1, CLASSES);
    return made;
}

/* Which samples the loader of a part gives; checks that pixels and classes are theirs. */
static void samples_of(const hu_dataset *d, hu_split_kind half, bool shuffle, bool *seen) {
    hu_loader *loader;
    hu_loader_settings settings = {.seed = 3, .shuffle = shuffle};
    float images[COUNT * PIXELS], classes[COUNT];
    assert_int_equal(hu_loader_create(d, half, &settings, &loader), HU_OK);
    int64_t count = hu_loader_count(loader), before = -1;
    memset(seen, 0, COUNT);
    hu_loader_fill(loader, HU_FIELD_IMAGE, HU_READ_PLAIN, 0, count, images);
    hu_loader_fill(loader, HU_FIELD_LABEL, HU_READ_PLAIN, 0, count, classes);
    for (int64_t p = 0; p < count; p++) {
        int64_t i = hu_loader_index(loader, p);
        assert_true(i >= 0 && i < COUNT && !seen[i] && (shuffle || i > before));
        for (int64_t k = 0; k < PIXELS; k++) assert_true(images[p * PIXELS + k] == (float)i);
        assert_true(classes[p] == (float)(i % CLASSES));
        seen[i] = true;
        before = i;
    }
    hu_loader_close(loader);
}

static void the_parts_share_no_sample_and_miss_none(void **state) {
    bool train[COUNT], shuffled[COUNT], held[COUNT];
    (void)state;
    hu_dataset d = sample();
    assert_int_equal(hu_dataset_hold_out(&d, 0.2, 7), HU_OK);
    assert_int_equal(d.train.count, 80);
    assert_int_equal(d.validation.count, 20);
    assert_int_equal(d.test.count, 50);
    samples_of(&d, HU_SPLIT_TRAIN, false, train);
    samples_of(&d, HU_SPLIT_TRAIN, true, shuffled);
    samples_of(&d, HU_SPLIT_VALIDATION, false, held);
    assert_memory_equal(train, shuffled, sizeof train);
    bool is_front = true;
    for (int i = 0; i < COUNT; i++) {
        assert_true(train[i] != held[i]);
        is_front = is_front && held[i] == (i < 20);
    }
    assert_false(is_front);
    hu_free(d.parted);
}

static void the_seed_of_the_data_names_the_parts(void **state) {
    bool held[3][COUNT];
    const uint64_t seeds[3] = {1, 1, 2};
    (void)state;
    for (int s = 0; s < 3; s++) {
        hu_dataset d = sample();
        assert_int_equal(hu_dataset_hold_out(&d, 20, seeds[s]), HU_OK);
        samples_of(&d, HU_SPLIT_VALIDATION, false, held[s]);
        hu_free(d.parted);
    }
    assert_memory_equal(held[0], held[1], COUNT);
    assert_memory_not_equal(held[0], held[2], COUNT);
}

/* A change of a sample is named by the sample: the same whether or not others are held out. */
static void held_out_samples_leave_the_changes_of_others_alone(void **state) {
    (void)state;
    float whole[COUNT * PIXELS], rest[COUNT * PIXELS];
    hu_loader_settings settings = {.seed = 3, .augment = {.pad = 1, .flip = true}};
    hu_dataset d = sample();
    hu_loader *loader;
    assert_int_equal(hu_loader_create(&d, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
    hu_loader_fill(loader, HU_FIELD_IMAGE, HU_READ_PLAIN, 0, COUNT, whole);
    hu_loader_close(loader);
    assert_int_equal(hu_dataset_hold_out(&d, 0.3, 1), HU_OK);
    assert_int_equal(hu_loader_create(&d, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
    hu_loader_fill(loader, HU_FIELD_IMAGE, HU_READ_PLAIN, 0, hu_loader_count(loader), rest);
    for (int64_t p = 0; p < hu_loader_count(loader); p++)
        assert_memory_equal(rest + p * PIXELS, whole + hu_loader_index(loader, p) * PIXELS,
                            PIXELS * sizeof *rest);
    hu_loader_close(loader);
    hu_free(d.parted);
}

static void amounts_that_leave_nothing_are_refused(void **state) {
    (void)state;
    const struct {
        double amount;
        const char *said;
    } row[] = {
        {0.0, "a share below 1"},    {-1.0, "a share below 1"},   {2.5, "a share below 1"},
        {NAN, "a share below 1"},    {0.001, "expected 1 to 99"}, {0.999, "expected 1 to 99"},
        {100.0, "expected 1 to 99"}, {1e300, "expected 1 to 99"}, {99.0, "of class"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hu_dataset d = sample();
        assert_int_equal(hu_dataset_hold_out(&d, row[i].amount, 1), HU_ERR_ARGUMENT);
        assert_non_null(strstr(hu_last_error(), row[i].said));
        assert_int_equal(d.train.count, COUNT);
        assert_true(!d.parted && d.validation.count == 0);
    }
    hu_dataset d = sample();
    hu_loader *loader;
    hu_loader_settings settings = {0};
    assert_int_equal(hu_loader_create(&d, HU_SPLIT_VALIDATION, &settings, &loader),
                     HU_ERR_ARGUMENT);
    assert_int_equal(hu_dataset_hold_out(&d, 10, 1), HU_OK);
    assert_int_equal(hu_dataset_hold_out(&d, 10, 1), HU_ERR_ARGUMENT);
    hu_free(d.parted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_share_no_sample_and_miss_none),
        cmocka_unit_test(the_seed_of_the_data_names_the_parts),
        cmocka_unit_test(held_out_samples_leave_the_changes_of_others_alone),
        cmocka_unit_test(amounts_that_leave_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
