/* Pictures and small ones made of them: crops where a formula says, both of the same place. */
#include <math.h>
#include <png.h>
#include <sys/stat.h>

#include "data_refused.h"
#include "media/image_resize.h"

enum { TRAIN = 3, TESTS = 2, SCALE = 3, CROP = 4, CROPS = 40, SMALL = CROP * CROP * 3 };
enum { LARGE = SMALL * SCALE * SCALE, MOST = 32 };

/* Pixels of the training pictures, not all whole multiples of the scale; those of tests. */
static const int widths[TRAIN] = {20, 13, 29}, heights[TRAIN] = {14, 25, 12};
enum { TEST_WIDTH = 17, TEST_HEIGHT = 19 };

static uint8_t pixel(int picture, int y, int x, int c) {
    return (uint8_t)(picture * 50 + 9 * y + x * x + 70 * c + y * x % 11);
}

static void put_png(const char *name, int picture, int width, int height) {
    static uint8_t data[MOST * MOST * 3];
    png_image png = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    for (int i = 0; i < width * height * 3; i++)
        data[i] = pixel(picture, i / 3 / width, i / 3 % width, i % 3);
    png.width = (png_uint_32)width;
    png.height = (png_uint_32)height;
    unlink(at(name));
    assert_true(png_image_write_to_file(&png, at(name), 0, data, 0, NULL));
}

static void put_all(void) {
    char name[32];
    for (int i = 0; i < TRAIN; i++) {
        snprintf(name, sizeof name, "train/%d.png", i);
        put_png(name, i, widths[i], heights[i]);
    }
    for (int i = 0; i < TESTS; i++) {
        snprintf(name, sizeof name, "test/%d.png", i);
        put_png(name, 3 + i, TEST_WIDTH, TEST_HEIGHT);
    }
}

static int make_tree(void **state) {
    if (make_folder(state) != 0) return 1;
    assert_int_equal(mkdir(at("train"), 0777), 0);
    assert_int_equal(mkdir(at("test"), 0777), 0);
    put_all();
    return 0;
}

static const char *spec(void) {
    static char text[128];
    snprintf(text, sizeof text, "pairs:%s", folder);
    return text;
}

static const hu_image_choice usual = {.crop = CROP, .scale = SCALE, .crops = CROPS};

static hu_dataset *open_with(hu_image_choice choice) {
    hu_dataset *d;
    if (hu_dataset_open_images(spec(), NULL, &choice, &d) != HU_OK) fail_msg("%s", hu_last_error());
    return d;
}

/* The definition, once more: FNV-1a of "crop", mixed with the number of the word. */
static uint32_t word(uint32_t i) {
    uint32_t x = 0x811C9DC5u;
    for (const char *c = "crop"; *c; c++) x = (x ^ (uint8_t)*c) * 0x01000193u;
    x += i * 0x9E3779B9u;
    x = (x ^ x >> 16) * 0x85EBCA6Bu;
    x = (x ^ x >> 13) * 0xC2B2AE35u;
    return x ^ x >> 16;
}

static void fill(const hu_dataset *d, hu_split_kind half, int64_t p, float *small, float *large) {
    hu_loader *loader;
    const hu_loader_settings plain = {.window = 1};
    assert_int_equal(hu_loader_create(d, half, &plain, &loader), HU_OK);
    if (hu_loader_want(loader, p, 1) != HU_OK) fail_msg("%s", hu_last_error());
    hu_loader_fill(loader, 0, HU_READ_PLAIN, p, 1, small);
    hu_loader_fill(loader, 1, HU_READ_PLAIN, p, 1, large);
    hu_loader_close(loader);
}

/* The picture without what fills no small pixel, and the small one. */
static void whole(int picture, int width, int height, uint8_t *small, uint8_t *large) {
    int w = width / SCALE, h = height / SCALE;
    for (int i = 0; i < w * h * SCALE * SCALE * 3; i++)
        large[i] = pixel(picture, i / 3 / (w * SCALE), i / 3 % (w * SCALE), i % 3);
    assert_int_equal(hu_bicubic_resize(large, h * SCALE, w * SCALE, h, w, small), HU_OK);
}

static void is_cut(const uint8_t *from, int columns, int top, int left, int side,
                   const float *found) {
    for (int i = 0; i < side * side * 3; i++) {
        int y = top + i / 3 / side, x = left + i / 3 % side;
        assert_true(found[i] == (float)from[(y * columns + x) * 3 + i % 3]);
    }
}

static void check_crops(const hu_dataset *d) {
    static uint8_t small[MOST * MOST * 3], large[MOST * MOST * 3];
    float found[SMALL], found_large[LARGE];
    int seen = 0;
    for (uint32_t p = 0; p < CROPS; p++) {
        int picture = (int)(word(3 * p) % TRAIN), w = widths[picture] / SCALE;
        int h = heights[picture] / SCALE, top = (int)(word(3 * p + 1) % (uint32_t)(h - CROP + 1));
        int left = (int)(word(3 * p + 2) % (uint32_t)(w - CROP + 1));
        whole(picture, widths[picture], heights[picture], small, large);
        fill(d, HU_SPLIT_TRAIN, p, found, found_large);
        is_cut(small, w, top, left, CROP, found);
        is_cut(large, SCALE * w, SCALE * top, SCALE * left, SCALE * CROP, found_large);
        seen |= 1 << picture;
    }
    assert_int_equal(seen, 7);
}

/* Kept in memory, and read from files again and again. */
static void crops_are_where_the_formula_says(void **state) {
    (void)state;
    hu_dataset *d = open_with(usual);
    assert_true(d->train.count == CROPS && d->test.count == TESTS && d->augment.turn);
    assert_string_equal(d->field[0].name, "small");
    assert_string_equal(d->field[1].name, "large");
    check_crops(d);
    hu_dataset_close(d);
    hu_image_choice little = usual;
    little.memory = 6000;
    d = open_with(little);
    check_crops(d);
    hu_dataset_close(d);
}

static void test_pictures_are_whole(void **state) {
    (void)state;
    static uint8_t small[MOST * MOST * 3], large[MOST * MOST * 3];
    static float found[MOST * MOST * 3], found_large[MOST * MOST * 3];
    hu_dataset *d = open_with(usual);
    const hu_field *field = hu_dataset_fields(d, HU_SPLIT_TEST);
    assert_true(hu_dataset_fields(d, HU_SPLIT_TRAIN) == d->field);
    assert_true(d->field[0].extent[0] == CROP && d->field[1].extent[1] == CROP * SCALE);
    assert_true(field[0].extent[0] == 6 && field[0].extent[1] == 5);
    assert_true(field[1].extent[0] == 18 && field[1].extent[1] == 15);
    for (int i = 0; i < TESTS; i++) {
        whole(3 + i, TEST_WIDTH, TEST_HEIGHT, small, large);
        fill(d, HU_SPLIT_TEST, i, found, found_large);
        for (int k = 0; k < 6 * 5 * 3; k++) assert_true(found[k] == (float)small[k]);
        for (int k = 0; k < 18 * 15 * 3; k++) assert_true(found_large[k] == (float)large[k]);
    }
    hu_dataset_close(d);
}

/* Bytes of all training and test pictures with their small ones. */
enum { TRAIN_BYTES = 2760, TEST_BYTES = 1800, HALVES = 3 };

static hu_dataset *open_held_out(uint64_t memory) {
    hu_image_choice choice = usual;
    choice.memory = memory;
    hu_dataset *d = open_with(choice);
    assert_int_equal(hu_dataset_hold_out(d, 0.25, 1), HU_OK);
    return d;
}

/* Pictures that are kept and samples that are read ahead, of all loaders together. */
static void memory_is_what_was_asked_for(void **state) {
    (void)state;
    static const hu_split_kind halves[HALVES] = {HU_SPLIT_TRAIN, HU_SPLIT_VALIDATION,
                                                 HU_SPLIT_TEST};
    static const int64_t windows[HALVES] = {3, 2, 1};
    uint64_t before = hu_memory_live(HU_MEMORY_DATA);
    hu_dataset *d = open_held_out(1);
    uint64_t fields = hu_memory_live(HU_MEMORY_DATA) - before, most = 0;
    hu_dataset_close(d);
    for (uint64_t memory = 8 * 480; memory < 24000; memory += 137) {
        hu_loader *loaders[HALVES];
        d = open_held_out(memory);
        uint64_t kept = hu_memory_live(HU_MEMORY_DATA) - before - fields;
        uint64_t expected = memory >= 4 * TRAIN_BYTES ? TRAIN_BYTES : 0;
        assert_int_equal(kept, expected + (memory >= 8 * TEST_BYTES ? TEST_BYTES : 0));
        for (int h = 0; h < HALVES; h++) {
            const hu_loader_settings settings = {
                .window = windows[h], .threads = 2, .goes_on = true};
            if (hu_loader_create(d, halves[h], &settings, &loaders[h]) != HU_OK)
                fail_msg("%s", hu_last_error());
        }
        most = hu_memory_live(HU_MEMORY_DATA) - before - fields;
        assert_in_range(most, 1, memory);
        for (int h = 0; h < HALVES; h++) hu_loader_close(loaders[h]);
        hu_dataset_close(d);
    }
    assert_true(most > TRAIN_BYTES + TEST_BYTES);
}

static uint64_t live(void) {
    return hu_memory_live(HU_MEMORY_DATA);
}

/* Five samples have room beside the pictures that are kept, eleven have it without them. */
static void a_window_that_does_not_fit(void **state) {
    (void)state;
    hu_loader *loader;
    hu_image_choice choice = usual;
    hu_loader_settings settings = {.window = 5};
    choice.memory = 4 * TRAIN_BYTES;
    hu_dataset *d = open_with(choice);
    uint64_t opened = live();
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
    hu_loader_close(loader);
    settings.window = 12;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader), HU_ERR_ARGUMENT);
    assert_string_equal(hu_last_error(),
                        "data memory: found 0 MiB, expected at least 1: 12 samples of 480 bytes "
                        "are wanted at once, in 1/2 of it");
    assert_int_equal(live(), opened);
    settings.window = 11;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
    hu_loader_close(loader);
    assert_int_equal(live(), opened - TRAIN_BYTES);
    check_crops(d);
    hu_dataset_close(d);
}

/* Another loader reads meanwhile. */
static void pictures_are_given_up_while_they_are_used(void **state) {
    (void)state;
    float found[SMALL], again[SMALL], large[LARGE];
    hu_loader *reading, *loader;
    hu_image_choice choice = usual;
    hu_loader_settings settings = {.window = 2, .threads = 3, .goes_on = true};
    choice.memory = 4 * TRAIN_BYTES;
    hu_dataset *d = open_with(choice);
    hu_dataset *other = open_with(usual);
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &reading), HU_OK);
    settings.window = 11;
    for (int64_t p = 0; p + 2 <= CROPS; p += 2) {
        if (hu_loader_want(reading, p, 2) != HU_OK) fail_msg("%s", hu_last_error());
        if (p == CROPS / 2) {
            assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
            hu_loader_close(loader);
        }
        hu_loader_fill(reading, 0, HU_READ_PLAIN, p, 1, found);
        fill(other, HU_SPLIT_TRAIN, p, again, large);
        assert_memory_equal(found, again, sizeof found);
    }
    hu_loader_close(reading);
    hu_dataset_close(other);
    hu_dataset_close(d);
}

static hu_status try_window(int64_t window, uint64_t memory) {
    const hu_loader_settings settings = {.window = window};
    hu_loader *loader;
    hu_image_choice choice = usual;
    choice.crops = window;
    choice.memory = memory;
    hu_dataset *d = open_with(choice);
    hu_status st = hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader);
    if (st == HU_OK) hu_loader_close(loader);
    hu_dataset_close(d);
    return st;
}

/* Nearly all of 10 MiB, without room for the pictures, which are kept in so much. */
static void the_memory_that_is_named_is_enough(void **state) {
    (void)state;
    enum { NAMED = 10, MIB = 1 << 20, SAMPLE = SMALL + LARGE, WINDOW = NAMED * MIB / 2 / SAMPLE };
    static const uint64_t little[] = {1, MIB, (NAMED - 1) * MIB};
    assert_true(2 * (WINDOW * SAMPLE + TRAIN_BYTES) > NAMED * MIB);
    for (size_t i = 0; i < sizeof little / sizeof *little; i++) {
        assert_int_equal(try_window(WINDOW, little[i]), HU_ERR_ARGUMENT);
        assert_non_null(strstr(hu_last_error(), "expected at least 10: 10922 samples"));
    }
    assert_int_equal(try_window(WINDOW, NAMED * MIB), HU_OK);
}

static void choices_and_files_that_do_not_fit(void **state) {
    (void)state;
    refuse_data(spec(), &(hu_image_choice){.scale = 1}, HU_ERR_ARGUMENT, "data.scale");
    refuse_data(spec(), &(hu_image_choice){.crops = -1}, HU_ERR_ARGUMENT, "data.crops");
    refuse_data(spec(), &(hu_image_choice){.size = 9}, HU_ERR_ARGUMENT, "data.size=9");
    refuse_data(spec(), &(hu_image_choice){.parts = 2, .part = 1}, HU_ERR_ARGUMENT, "folder:DIR");
    refuse_data("glyphs", &(hu_image_choice){.scale = 2}, HU_ERR_ARGUMENT,
                "data.scale=2, expected none: it can be chosen of pairs:DIR only");
    refuse_data(spec(), &(hu_image_choice){.unlabelled = 3}, HU_ERR_ARGUMENT,
                "data.unlabelled=2, expected none");
    refuse_data(spec(), &(hu_image_choice){.least_scale = 0.5, .most_scale = 2}, HU_ERR_ARGUMENT,
                "data.scales=0.5-2, expected none: it can be chosen of dense:DIR only");
    hu_image_choice wide = usual;
    wide.crop = 5;
    refuse_data(spec(), &wide, HU_ERR_CORRUPT,
                "train/0.png: found an image that leaves 6x4 pixels at 1/3, expected at least 5x5 "
                "(a picture of 15x15)");
    put_png("test/1.png", 4, TEST_WIDTH, TEST_HEIGHT - 3);
    refuse_data(spec(), &usual, HU_ERR_CORRUPT,
                "test/1.png: found a test image of 15x15 pixels (whole multiples of 3), expected "
                "15x18");
    put("test/1.png", "no picture", 10);
    refuse_data(spec(), &usual, HU_ERR_CORRUPT, "test/1.png");
    assert_int_equal(unlink(at("test/0.png")) + unlink(at("test/1.png")), 0);
    refuse_data(spec(), &usual, HU_ERR_CORRUPT, "found no image");
    put_all();
}

static void running_out_of_memory(void **state) {
    (void)state;
    assert_true(fail_every_allocation(spec(), NULL, &usual) > 60);
}

/* HALFULP_FRAMES names a folder with train/ and test/ of twelve CamVid frames of 480x360. Pillow's
 * small pictures have bytes that sum up to 37,586,551; of 388,800 bytes ours differ in a few, by
 * one. */
static void known_frames_have_known_bytes(void **state) {
    (void)state;
    char text[1200];
    const char *named = getenv("HALFULP_FRAMES");
    hu_dataset *d;
    if (!named) skip();
    snprintf(text, sizeof text, "pairs:%s", named);
    double sum = 0;
    static float small[90 * 120 * 3], large[360 * 480 * 3];
    for (int half = 0; half < 2; half++) { /* train is read as test pictures are: whole */
        char other[1100];
        snprintf(other, sizeof other, "%s/frames-%d", folder, half);
        assert_int_equal(mkdir(other, 0777), 0);
        for (int k = 0; k < 2; k++) {
            char from[1100], to[1200];
            snprintf(from, sizeof from, "%s/%s", named, half ? "train" : "test");
            snprintf(to, sizeof to, "%s/%s", other, k ? "train" : "test");
            assert_int_equal(symlink(from, to), 0);
        }
        snprintf(text, sizeof text, "pairs:%s", other);
        assert_int_equal(hu_dataset_open(text, NULL, &d), HU_OK);
        assert_int_equal(d->test.count, half ? 8 : 4);
        for (int64_t p = 0; p < d->test.count; p++) {
            fill(d, HU_SPLIT_TEST, p, small, large);
            for (int i = 0; i < 90 * 120 * 3; i++) sum += (double)small[i];
        }
        hu_dataset_close(d);
    }
    if (fabs(sum - 37586551.0) > 20.0) fail_msg("sum of all bytes: %.0f", sum);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crops_are_where_the_formula_says),
        cmocka_unit_test(test_pictures_are_whole),
        cmocka_unit_test(memory_is_what_was_asked_for),
        cmocka_unit_test(a_window_that_does_not_fit),
        cmocka_unit_test(pictures_are_given_up_while_they_are_used),
        cmocka_unit_test(the_memory_that_is_named_is_enough),
        cmocka_unit_test(choices_and_files_that_do_not_fit),
        cmocka_unit_test(running_out_of_memory),
        cmocka_unit_test(known_frames_have_known_bytes),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_folder);
}
