/* Images that are read while they are used: the same bits as in memory, for any number of threads,
 * from any step on, in a room of fixed size. */
#include <png.h>
#include <sys/stat.h>

#include <halfulp/data.h>

#include "base/memory.h"
#include "base/rng.h"
#include "data_files.h"
#include "split.h"

enum {
    CLASSES = 3,
    EACH = 13,
    TESTS = 5,
    SIDE = 8,
    COUNT = CLASSES * EACH,
    PIXELS = SIDE * SIDE * 3
};

/* Bytes of memory into which the images do not fit, but a window of WINDOW does. */
enum { SMALL = 5000, WINDOW = 7 };

static float images[COUNT * PIXELS], again[COUNT * PIXELS], labels[COUNT], labels_again[COUNT];

/* Every picture of its own size, every pixel of its own colour. */
static void put_picture(const char *name, uint64_t number) {
    static uint8_t pixels[40 * 40 * 3];
    hu_random_key key = {7, hu_stream_id("test", "pictures"), number};
    png_image png = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    png.width = (png_uint_32)(SIDE + number % 19);
    png.height = (png_uint_32)(SIDE + number % 23);
    for (uint64_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)hu_random_word(&key, i);
    unlink(at(name));
    assert_true(png_image_write_to_file(&png, at(name), 0, pixels, 0, NULL));
}

static int make_tree(void **state) {
    static const char *const halves[] = {"train", "val"};
    char name[128];
    uint64_t number = 0;
    if (make_folder(state) != 0) return 1;
    for (int h = 0; h < 2; h++) {
        assert_int_equal(mkdir(at(halves[h]), 0777), 0);
        for (int c = 0; c < CLASSES; c++) {
            snprintf(name, sizeof name, "%s/class%d", halves[h], c);
            assert_int_equal(mkdir(at(name), 0777), 0);
            for (int i = 0; i < (h ? TESTS : EACH); i++) {
                snprintf(name, sizeof name, "%s/class%d/%02d.png", halves[h], c, i);
                put_picture(name, number++);
            }
        }
    }
    return 0;
}

static hu_dataset *open_with(hu_image_choice choice) {
    char spec[128];
    hu_dataset *d;
    snprintf(spec, sizeof spec, "folder:%s", folder);
    if (hu_dataset_open_images(spec, NULL, &choice, &d) != HU_OK) fail_msg("%s", hu_last_error());
    return d;
}

static hu_loader *make(const hu_dataset *d, hu_split_kind half, hu_loader_settings settings) {
    hu_loader *loader;
    if (hu_loader_create(d, half, &settings, &loader) != HU_OK) fail_msg("%s", hu_last_error());
    return loader;
}

/* An epoch from position `first` on, in windows. */
static void fill_epoch(hu_loader *loader, int64_t epoch, int64_t first, int64_t window,
                       float *to_images, float *to_labels) {
    int64_t count = hu_loader_count(loader);
    assert_int_equal(hu_loader_begin_epoch(loader, epoch), HU_OK);
    for (int64_t p = first; p < count; p += window) {
        int64_t samples = count - p < window ? count - p : window;
        if (hu_loader_want(loader, p, samples) != HU_OK) fail_msg("%s", hu_last_error());
#pragma omp parallel for num_threads(3)
        for (int64_t i = p; i < p + samples; i++)
            fill_both(loader, i, 1, to_images + i * PIXELS, to_labels + i);
    }
}

static const hu_loader_settings every_change = {
    .seed = 3, .shuffle = true, .augment = {.pad = 1, .flip = true, .cutout = 2}, .window = WINDOW};

static void the_bits_are_those_of_memory(void **state) {
    (void)state;
    hu_dataset *in_memory = open_with((hu_image_choice){.size = SIDE + 4, .crop = SIDE});
    hu_dataset *in_files =
        open_with((hu_image_choice){.size = SIDE + 4, .crop = SIDE, .memory = 2 * SMALL});
    assert_null(in_memory->train.reader);
    assert_non_null(in_files->train.reader);
    assert_null(in_files->train.rows[HU_FIELD_IMAGE]);
    hu_loader *expected = make(in_memory, HU_SPLIT_TRAIN, every_change);
    for (int threads = 1; threads <= 5; threads++)
        for (int64_t window = 1; window <= WINDOW; window += 3) {
            hu_loader_settings settings = every_change;
            settings.threads = threads;
            settings.goes_on = threads % 2;
            hu_loader *found = make(in_files, HU_SPLIT_TRAIN, settings);
            for (int64_t epoch = 0; epoch < 3; epoch++) {
                fill_epoch(expected, epoch, 0, COUNT, images, labels);
                memset(again, 0, sizeof again);
                fill_epoch(found, epoch, 0, window, again, labels_again);
                assert_memory_equal(images, again, sizeof images);
                assert_memory_equal(labels, labels_again, sizeof labels);
            }
            assert_true(hu_loader_waited(found) >= 0.0);
            hu_loader_close(found);
        }
    assert_true(hu_loader_waited(expected) == 0.0);
    hu_loader_close(expected);
    hu_dataset_close(in_memory);
    hu_dataset_close(in_files);
}

/* Any step first, windows again, back and forth, the rest of an epoch left out. */
static void any_step_may_come_next(void **state) {
    (void)state;
    static const struct {
        int64_t epoch, first, count;
    } calls[] = {{4, 17, 5}, {4, 17, 5}, {4, 20, 7}, {4, 30, 3}, {5, 0, 7}, {5, 7, 2},
                 {4, 38, 1}, {5, 0, 1},  {6, 0, 7},  {0, 0, 7},  {0, 6, 7}, {0, 0, 2}};
    hu_dataset *in_memory = open_with((hu_image_choice){.size = SIDE});
    hu_dataset *in_files = open_with((hu_image_choice){.size = SIDE, .memory = SMALL});
    hu_loader_settings settings = every_change;
    settings.threads = 3;
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        settings.goes_on = goes_on;
        hu_loader *expected = make(in_memory, HU_SPLIT_TRAIN, every_change);
        hu_loader *found = make(in_files, HU_SPLIT_TRAIN, settings);
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            assert_int_equal(hu_loader_begin_epoch(expected, calls[c].epoch), HU_OK);
            assert_int_equal(hu_loader_begin_epoch(found, calls[c].epoch), HU_OK);
            assert_int_equal(hu_loader_want(found, calls[c].first, calls[c].count), HU_OK);
            fill_both(expected, calls[c].first, calls[c].count, images, labels);
            fill_both(found, calls[c].first, calls[c].count, again, labels_again);
            assert_memory_equal(images, again, (size_t)calls[c].count * PIXELS * sizeof(float));
            for (int64_t i = 0; i < calls[c].count; i++) {
                assert_true(labels[i] == labels_again[i]);
                assert_int_equal(hu_loader_index(expected, calls[c].first + i),
                                 hu_loader_index(found, calls[c].first + i));
            }
        }
        hu_loader_close(expected);
        hu_loader_close(found);
    }
    hu_dataset_close(in_memory);
    hu_dataset_close(in_files);
}

/* Held-out samples of the training part come through the same reader. */
static void parts_that_are_held_out_are_read_too(void **state) {
    (void)state;
    hu_dataset *both[2] = {open_with((hu_image_choice){.size = SIDE}),
                           open_with((hu_image_choice){.size = SIDE, .memory = SMALL})};
    float *const to[2] = {images, again}, *const to_labels[2] = {labels, labels_again};
    for (int d = 0; d < 2; d++) {
        assert_int_equal(hu_dataset_hold_out(both[d], 11, 5), HU_OK);
        hu_loader *loader = make(both[d], HU_SPLIT_VALIDATION, (hu_loader_settings){.window = 3});
        assert_int_equal(hu_loader_count(loader), 11);
        fill_epoch(loader, 0, 0, 3, to[d], to_labels[d]);
        hu_loader_close(loader);
        hu_dataset_close(both[d]);
    }
    assert_memory_equal(images, again, 11 * PIXELS * sizeof(float));
    assert_memory_equal(labels, labels_again, 11 * sizeof(float));
}

/* What is held depends on the memory that was allowed, not on the number of images. */
static void the_room_is_bounded(void **state) {
    (void)state;
    uint64_t before = hu_memory_live(HU_MEMORY_DATA);
    hu_dataset *d = open_with((hu_image_choice){.size = SIDE, .memory = SMALL});
    hu_loader_settings settings = every_change;
    settings.threads = 2;
    uint64_t names = hu_memory_live(HU_MEMORY_DATA) - before;
    assert_true(names < COUNT * PIXELS); /* of the test half: its images */
    hu_loader *loader = make(d, HU_SPLIT_TRAIN, settings);
    fill_epoch(loader, 0, 0, WINDOW, images, labels);
    assert_true(hu_memory_live(HU_MEMORY_DATA) - before - names <= SMALL / 2);
    assert_true(hu_memory_live(HU_MEMORY_DATA) - before - names >= WINDOW * PIXELS);
    assert_int_equal(hu_loader_want(loader, 0, WINDOW + 1), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "at most 7"));
    hu_loader_close(loader);
    settings.window = 20;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "20 samples of 192 bytes"));
    hu_dataset_close(d);
    assert_true(hu_memory_live(HU_MEMORY_DATA) == before);
}

/* The first damaged file in the order of the epoch is named when it is wanted, not before. */
static void damaged_files_are_named_when_they_are_wanted(void **state) {
    (void)state;
    hu_dataset *d = open_with((hu_image_choice){.size = SIDE, .memory = SMALL});
    put("train/class1/06.png", "", 0);
    put("train/class2/09.png", "no picture", 10);
    for (int threads = 1; threads <= 4; threads++) {
        hu_loader *loader =
            make(d, HU_SPLIT_TRAIN, (hu_loader_settings){.window = WINDOW, .threads = threads});
        /* In file order 06 of class 1 is number 6 x 3 + 1 = 19, and 09 of class 2 number 29. */
        assert_int_equal(hu_loader_want(loader, 7, WINDOW), HU_OK);
        assert_int_equal(hu_loader_want(loader, 14, 5), HU_OK);
        assert_int_equal(hu_loader_want(loader, 14, WINDOW), HU_ERR_CORRUPT);
        assert_non_null(strstr(hu_last_error(), "train/class1/06.png: found an empty file"));
        assert_int_equal(hu_loader_want(loader, 20, WINDOW), HU_OK);
        assert_int_equal(hu_loader_want(loader, 25, WINDOW), HU_ERR_CORRUPT);
        assert_non_null(strstr(hu_last_error(), "train/class2/09.png: offset 0"));
        assert_int_equal(hu_loader_want(loader, 0, WINDOW), HU_OK);
        hu_loader_close(loader);
    }
    put_picture("train/class1/06.png", 6 + EACH);
    put_picture("train/class2/09.png", 9 + 2 * EACH);
    hu_dataset_close(d);
}

/* Crops of a share of an image: a function of seed, epoch and index; tests see none of them. */
static void shares_of_images_are_drawn_in_every_epoch(void **state) {
    (void)state;
    hu_image_choice choice = {.size = SIDE + 4, .crop = SIDE, .area = 0.2};
    hu_dataset *d = open_with(choice),
               *whole = open_with((hu_image_choice){.size = SIDE + 4, .crop = SIDE});
    assert_true(d->augment.area == 0.2 && d->augment.pad == 0 && d->augment.flip);
    assert_non_null(d->train.reader);
    assert_null(d->test.reader);
    hu_loader_settings settings = {.seed = 3, .augment = {.area = 0.2}, .window = COUNT};
    hu_loader *one = make(d, HU_SPLIT_TRAIN, settings);
    settings.threads = 4;
    settings.window = WINDOW;
    settings.shuffle = true;
    hu_loader *four = make(d, HU_SPLIT_TRAIN, settings);
    fill_epoch(one, 2, 0, COUNT, images, labels);
    fill_epoch(four, 2, 0, WINDOW, again, labels_again);
    for (int64_t i = 0; i < COUNT; i++)
        assert_memory_equal(again + i * PIXELS, images + hu_loader_index(four, i) * PIXELS,
                            PIXELS * sizeof(float));
    fill_epoch(one, 3, 0, COUNT, again, labels_again);
    int same = 0;
    for (int64_t i = 0; i < COUNT; i++)
        same += memcmp(images + i * PIXELS, again + i * PIXELS, PIXELS * sizeof(float)) == 0;
    assert_true(same <= 2);
    hu_loader_close(four);
    /* Memory alone cannot draw them, and a border is not drawn beside. */
    assert_int_equal(hu_loader_create(whole, HU_SPLIT_TRAIN, &settings, &four), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "data in memory"));
    settings.augment.pad = 1;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &four), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "padding"));
    hu_loader_close(one);
    hu_dataset_close(d);
    hu_dataset_close(whole);
}

/* Every allocation of one thread fails once: an error, and nothing is left. */
static void running_out_of_memory(void **state) {
    (void)state;
    hu_dataset *d = open_with((hu_image_choice){.size = SIDE, .memory = SMALL});
    uint64_t blocks = hu_memory_count().live_blocks;
    for (uint64_t nth = 1;; nth++) {
        hu_loader *loader;
        hu_memory_fail_at(nth);
        hu_status st = hu_loader_create(d, HU_SPLIT_TRAIN, &every_change, &loader);
        if (st == HU_OK) st = hu_loader_want(loader, 0, WINDOW);
        hu_memory_fail_at(0);
        hu_loader_close(loader);
        assert_int_equal(hu_memory_count().live_blocks, blocks);
        if (st == HU_OK) {
            assert_true(nth > 12);
            break;
        }
        assert_int_equal(st, HU_ERR_MEMORY);
    }
    hu_dataset_close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bits_are_those_of_memory),
        cmocka_unit_test(any_step_may_come_next),
        cmocka_unit_test(parts_that_are_held_out_are_read_too),
        cmocka_unit_test(the_room_is_bounded),
        cmocka_unit_test(damaged_files_are_named_when_they_are_wanted),
        cmocka_unit_test(shares_of_images_are_drawn_in_every_epoch),
        cmocka_unit_test(running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_folder);
}
