/* Pictures with label maps: numbers as the files hold them, moved with the picture, and everything
 * that is wrong with them. */
#include <sys/stat.h>

#include "base/rng.h"
#include "dense_files.h"
#include "media/image.h"

static void numbers_are_those_of_the_files(void **state) {
    (void)state;
    hu_dataset *d = open_with((hu_image_choice){.size = 0});
    const hu_field *image = &d->field[HU_FIELD_IMAGE], *mask = &d->field[MASK];
    assert_true(d->field_count == 2 && d->train.count == TRAIN && d->test.count == TESTS);
    assert_true(image->extent[0] == HEIGHT && image->extent[1] == WIDTH && image->extent[2] == 3);
    assert_string_equal(mask->name, "mask");
    assert_true(mask->rank == 2 && mask->extent[0] == HEIGHT && mask->extent[1] == WIDTH);
    assert_true(mask->classes == 5 && d->augment.flip && d->augment.pad == 0);
    fill(d, (hu_loader_settings){.seed = 1}, images, masks);
    for (int i = 0; i < TRAIN * PIXELS; i++) {
        int label = label_at(i / PIXELS, i % PIXELS / WIDTH, i % WIDTH);
        assert_true(masks[i] == (label == VOID ? (float)HU_UNLABELLED : (float)label));
    }
    hu_dataset_close(d);
}

/* The first map has classes 0 to 2 only: the others are known from those that are not used. */
static void a_limit_leaves_the_classes(void **state) {
    (void)state;
    static uint8_t few[PIXELS];
    const hu_image_choice choice = {.unlabelled = 1 + VOID};
    const hu_data_limits limits = {1, 0};
    hu_dataset *d;
    for (int i = 0; i < PIXELS; i++) few[i] = (uint8_t)(i % 3);
    put_png("trainannot/00.png", PNG_FORMAT_GRAY, WIDTH, HEIGHT, few);
    if (hu_dataset_open_images(spec(), &limits, &choice, &d) != HU_OK)
        fail_msg("%s", hu_last_error());
    assert_true(d->train.count == 1 && d->test.count == TESTS && d->field[MASK].classes == 5);
    hu_dataset_close(d);
    put_scene("train", 0);
}

/* Wherever a pixel goes, its label goes too; what comes in from outside is unlabelled and black. */
static void maps_move_with_their_pictures(void **state) {
    (void)state;
    const hu_loader_settings settings = {
        .seed = 5, .shuffle = true, .augment = {.pad = 2, .flip = true}, .threads = 3};
    hu_dataset *d = open_with((hu_image_choice){.size = 0});
    fill(d, settings, images, masks);
    int unlabelled = 0;
    for (int i = 0; i < TRAIN * PIXELS; i++) {
        unlabelled += masks[i] == (float)HU_UNLABELLED;
        if (masks[i] != (float)HU_UNLABELLED)
            assert_true(images[3 * i] == 20 * masks[i]);
        else
            assert_true(images[3 * i] == 0 || images[3 * i] == 20 * VOID);
    }
    assert_true(unlabelled > 2 * TRAIN && unlabelled < TRAIN * PIXELS / 2);
    hu_dataset_close(d);
    /* The same where the files are read while they are used. */
    d = open_with((hu_image_choice){.memory = 1100});
    assert_non_null(d->train.reader);
    fill(d, settings, images_again, masks_again);
    assert_memory_equal(images, images_again, sizeof images);
    assert_memory_equal(masks, masks_again, sizeof masks);
    hu_dataset_close(d);
}

/* Twice and half as large: label (2 i + 1) in / (2 out), rounded down, of each axis. */
static void resized_maps_hold_no_new_numbers(void **state) {
    (void)state;
    for (int64_t size = HEIGHT / 2; size <= 2 * HEIGHT; size += 3 * HEIGHT / 2) {
        int64_t height = size, width = WIDTH * size / HEIGHT;
        hu_dataset *d = open_with((hu_image_choice){.size = size});
        assert_true(d->field[MASK].extent[0] == height && d->field[MASK].extent[1] == width);
        const uint8_t *map = d->train.rows[MASK];
        for (int64_t i = 0; i < TRAIN * height * width; i++) {
            int64_t y = i / width % height, x = i % width;
            int label =
                label_at((int)(i / width / height), (int)((2 * y + 1) * HEIGHT / (2 * height)),
                         (int)((2 * x + 1) * WIDTH / (2 * width)));
            assert_int_equal(map[i], label == VOID ? HU_UNLABELLED_BYTE : label);
        }
        hu_dataset_close(d);
    }
}

/* ---- windows of scenes that are scaled at random ---- */

enum { EPOCH = 3, SEED = 9, MOST_SIDE = 24 };

static const double least = 0.5, most = 2.0;

static int64_t below(uint32_t word, int64_t bound) {
    return bound > 0 ? (int64_t)((uint64_t)word * (uint64_t)bound >> 32) : 0;
}

/* The definition: window [side_h, side_w] of training sample number, as floats. */
static void expect_window(int number, int64_t side_h, int64_t side_w, const float *image,
                          const float *mask, int *padded) {
    static uint8_t whole[PIXELS * 3], scaled[MOST_SIDE * MOST_SIDE * 3];
    const hu_random_key key = {SEED, hu_stream_id("scaled crop", ""), EPOCH};
    uint32_t words[4];
    hu_random_block(&key, (uint64_t)number, words);
    double ratio = least + (most - least) * ((double)words[0] / 4294967296.0);
    int64_t h = (int64_t)(HEIGHT * ratio), w = (int64_t)(WIDTH * ratio);
    int64_t top = below(words[1], h - side_h + 1), left = below(words[2], w - side_w + 1);
    for (int i = 0; i < PIXELS; i++) {
        whole[3 * i] = (uint8_t)(20 * label_at(number, i / WIDTH, i % WIDTH));
        whole[3 * i + 1] = (uint8_t)i;
        whole[3 * i + 2] = (uint8_t)number;
    }
    const hu_image picture = {.width = WIDTH, .height = HEIGHT, .pixels = whole};
    hu_image_resizer resizer = {0};
    const hu_image_cut all = {0, 0, WIDTH, HEIGHT};
    assert_int_equal(hu_image_resize(&picture, &all, h, w, (size_t)(3 * w), scaled, &resizer),
                     HU_OK);
    hu_image_resizer_free(&resizer);
    for (int64_t i = 0; i < side_h * side_w; i++) {
        int64_t y = top + i / side_w, x = left + i % side_w;
        bool is_present = y < h && x < w;
        *padded += !is_present;
        int label = is_present ? label_at(number, (int)((2 * y + 1) * HEIGHT / (2 * h)),
                                          (int)((2 * x + 1) * WIDTH / (2 * w)))
                               : VOID;
        assert_true(mask[i] == (label == VOID ? (float)HU_UNLABELLED : (float)label));
        for (int c = 0; c < 3; c++)
            assert_true(image[3 * i + c] ==
                        (is_present ? (float)scaled[3 * (y * w + x) + c] : 0.0f));
    }
}

/* Training samples one after the other in an epoch, in so many threads. */
static void fill_windows(const hu_dataset *d, int threads, int64_t pixels, float *to_images,
                         float *to_masks) {
    const hu_loader_settings settings = {
        .seed = SEED, .augment = d->augment, .window = 2, .threads = threads};
    hu_loader_settings plain = settings;
    plain.augment.flip = false;
    hu_loader *loader;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &plain, &loader), HU_OK);
    assert_int_equal(hu_loader_begin_epoch(loader, EPOCH), HU_OK);
    for (int64_t p = 0; p < TRAIN; p++) {
        if (hu_loader_want(loader, p, 1) != HU_OK) fail_msg("%s", hu_last_error());
        hu_loader_fill(loader, HU_FIELD_IMAGE, HU_READ_PLAIN, p, 1, to_images + p * pixels * 3);
        hu_loader_fill(loader, MASK, HU_READ_PLAIN, p, 1, to_masks + p * pixels);
    }
    hu_loader_close(loader);
}

static void check_windows(const hu_dataset *d, int64_t side_h, int64_t side_w, int *padded) {
    int64_t pixels = side_h * side_w;
    assert_true(d->field[MASK].extent[0] == side_h && d->field[MASK].extent[1] == side_w);
    assert_non_null(d->train.reader);
    fill_windows(d, 1, pixels, images, masks);
    fill_windows(d, 3, pixels, images_again, masks_again);
    assert_memory_equal(images, images_again, (size_t)(TRAIN * pixels * 3) * sizeof *images);
    assert_memory_equal(masks, masks_again, (size_t)(TRAIN * pixels) * sizeof *masks);
    for (int i = 0; i < TRAIN; i++)
        expect_window(i, side_h, side_w, images + i * pixels * 3, masks + i * pixels, padded);
}

static void windows_are_where_the_words_say(void **state) {
    (void)state;
    int padded = 0;
    hu_dataset *d = open_with((hu_image_choice){.least_scale = least, .most_scale = most});
    assert_null(d->test.field);
    check_windows(d, HEIGHT, WIDTH, &padded);
    assert_in_range(padded, 1, TRAIN * PIXELS - 1);
    hu_dataset_close(d);
    d = open_with((hu_image_choice){.crop = 7, .least_scale = least, .most_scale = most});
    padded = 0;
    check_windows(d, 7, 7, &padded);
    assert_in_range(padded, 1, TRAIN * 49 - 1);
    hu_dataset_close(d);
}

/* Of a scaled picture of 2,000 x 3,330 pixels nothing is made but the window. */
static void a_window_takes_no_memory_but_its_own(void **state) {
    (void)state;
    enum { SIDE = 7, MIB = 1 << 20 };
    uint64_t before = hu_memory_count().live_bytes;
    hu_dataset *d = open_with(
        (hu_image_choice){.size = 200, .crop = SIDE, .least_scale = 10.0, .most_scale = 10.0});
    fill_windows(d, 1, SIDE * SIDE, images, masks);
    hu_dataset_close(d);
    assert_in_range(hu_memory_count().peak_bytes - before, 1, 4 * MIB);
}

/* Whole test pictures, in memory and read ahead; what is held out is the middle, unscaled. */
static void only_training_is_cut(void **state) {
    (void)state;
    enum { SIDE = 4 };
    for (uint64_t memory = 0; memory < 1000; memory += 999) {
        hu_dataset *d = open_with((hu_image_choice){
            .crop = SIDE, .memory = memory, .least_scale = least, .most_scale = most});
        const hu_field *field = hu_dataset_fields(d, HU_SPLIT_TEST);
        const hu_loader_settings plain = {.window = 1};
        hu_loader *loader;
        assert_true((d->test.reader == NULL) == (memory == 0));
        assert_true(field[MASK].extent[0] == HEIGHT && field[0].extent[1] == WIDTH);
        assert_int_equal(hu_loader_create(d, HU_SPLIT_TEST, &plain, &loader), HU_OK);
        assert_int_equal(hu_loader_want(loader, 1, 1), HU_OK);
        hu_loader_fill(loader, MASK, HU_READ_PLAIN, 1, 1, masks);
        hu_loader_fill(loader, HU_FIELD_IMAGE, HU_READ_NORMALISED, 1, 1, images);
        hu_loader_close(loader);
        for (int i = 1; i < PIXELS; i++) {
            int label = label_at(1, i / WIDTH, i % WIDTH);
            float red = (float)(20 * label) / 255.0f;
            assert_true(masks[i] == (float)label);
            assert_true(images[3 * i] == (red - d->field[0].mean[0]) / d->field[0].std[0]);
        }
        assert_int_equal(hu_dataset_hold_out(d, 2.0, 1), HU_OK);
        assert_int_equal(hu_loader_create(d, HU_SPLIT_VALIDATION, &plain, &loader), HU_OK);
        assert_int_equal(hu_loader_want(loader, 0, 1), HU_OK);
        hu_loader_fill(loader, MASK, HU_READ_PLAIN, 0, 1, masks);
        int number = (int)hu_loader_index(loader, 0);
        hu_loader_close(loader);
        for (int i = 0; i < SIDE * SIDE; i++)
            assert_true(masks[i] == (float)label_at(number, (HEIGHT - SIDE) / 2 + i / SIDE,
                                                    (WIDTH - SIDE) / 2 + i % SIDE));
        hu_dataset_close(d);
    }
}

static void windows_that_make_no_sense(void **state) {
    (void)state;
    const hu_image_choice scaled = {.least_scale = least, .most_scale = most};
    refuse_data(
        "glyphs", &scaled, HU_ERR_ARGUMENT,
        "data glyphs: found data.scales=0.5-2, expected none: it can be chosen of dense:DIR "
        "only");
    refuse_data("glyphs", &(hu_image_choice){.crop = 8}, HU_ERR_ARGUMENT,
                "data glyphs: found data.crop=8, expected none: it can be chosen of folder:DIR, "
                "dense:DIR and pairs:DIR only");
    refuse_data("glyphs", &(hu_image_choice){.size = 9}, HU_ERR_ARGUMENT,
                "found data.size=9, expected none: it can be chosen of folder:DIR, dense:DIR and "
                "boxes:DIR only");
    refuse_data(
        "glyphs", &(hu_image_choice){.classes = 2}, HU_ERR_ARGUMENT,
        "found data.classes=2, expected none: it can be chosen of folder:DIR and sounds:DIR only");
    refuse_data(spec(), &(hu_image_choice){.part = 1, .parts = 2}, HU_ERR_ARGUMENT,
                "found data.part=1/2, expected none");
    refuse_data(spec(), &(hu_image_choice){.crops = 3}, HU_ERR_ARGUMENT,
                "found data.crops=3, expected none: it can be chosen of pairs:DIR only");
    refuse_data(spec(), &(hu_image_choice){.crop = 11}, HU_ERR_ARGUMENT,
                "data.crop: found 11, expected 0 to 10: pictures are 10x6, at most 1 times");
    hu_image_choice wide = scaled;
    wide.crop = 21;
    refuse_data(spec(), &wide, HU_ERR_ARGUMENT, "data.crop: found 21, expected 0 to 20");
    hu_dataset *d = open_with(scaled);
    hu_loader_settings padded = {.augment = d->augment, .window = 1};
    hu_loader *loader;
    padded.augment.pad = 2;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &padded, &loader), HU_ERR_ARGUMENT);
    assert_string_equal(hu_last_error(), "random scales and crops: found padding of 2, expected "
                                         "none: what a crop lacks is unlabelled already");
    padded.augment.area = 0.5;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &padded, &loader), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "found padding of 2, expected none: the rectangle"));
    padded.augment.area = 0.0;
    hu_dataset_close(d);
    assert_int_equal(hu_dataset_open("glyphs", &(hu_data_limits){8, 8}, &d), HU_OK);
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &padded, &loader), HU_ERR_ARGUMENT);
    assert_string_equal(hu_last_error(), "random scales and crops: found data in memory, expected "
                                         "data of files that are opened for it");
    hu_dataset_close(d);
}

static void refuse(hu_image_choice choice, hu_status expected, const char *part) {
    choice.unlabelled = 1 + VOID;
    refuse_data(spec(), &choice, expected, part);
}

static void files_that_are_wrong(void **state) {
    (void)state;
    static uint8_t data[4 * PIXELS];
    static uint8_t bytes[1 << 12];
    const hu_image_choice usual = {.size = 0};
    memset(data, 3, sizeof data);
    put_png("trainannot/02.png", PNG_FORMAT_RGB, WIDTH, HEIGHT, data);
    refuse(usual, HU_ERR_CORRUPT, "trainannot/02.png: found a PNG of three colours, 8 bits each");
    put_png("trainannot/02.png", PNG_FORMAT_LINEAR_Y, WIDTH, HEIGHT, data);
    refuse(usual, HU_ERR_CORRUPT, "of one channel, 16 bits each, expected a label map");
    put_png("trainannot/02.png", PNG_FORMAT_GRAY, WIDTH - 1, HEIGHT, data);
    refuse(usual, HU_ERR_CORRUPT, "found a label map of 9x6 pixels, expected 10x6");
    put_png("trainannot/02.png", PNG_FORMAT_GRAY, WIDTH, HEIGHT, data);
    FILE *file = fopen(at("trainannot/02.png"), "rb");
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t kept = 0; kept < length - 12; kept += kept < 20 ? 1 : 5) {
        put("trainannot/02.png", bytes, kept);
        refuse(usual, HU_ERR_CORRUPT, "trainannot/02.png");
    }
    assert_int_equal(unlink(at("trainannot/02.png")), 0);
    refuse(usual, HU_ERR_MISSING, "trainannot/02.png");
    put_scene("train", 2);
    put_png("train/03.png", PNG_FORMAT_RGB, WIDTH, HEIGHT - 1, data);
    refuse(usual, HU_ERR_CORRUPT, "train/03.png: found 10x5 pixels, expected 10x6");
    put_scene("train", 3);
    data[7] = 5;
    put_png("testannot/01.png", PNG_FORMAT_GRAY, WIDTH, HEIGHT, data);
    refuse(usual, HU_ERR_CORRUPT, "testannot/01.png: found class 5, which no map in");
    put_scene("test", 1);
    refuse((hu_image_choice){.area = 0.5}, HU_ERR_ARGUMENT, "found data.area=0.5, expected none");
    refuse((hu_image_choice){.size = 5000}, HU_ERR_ARGUMENT, "4096");
    hu_dataset_close(open_with(usual));
}

/* A palette is not looked up, and small numbers may be packed. */
static void palettes_are_numbers(void **state) {
    (void)state;
    static uint8_t data[PIXELS], colours[4 * 3] = {0, 0, 0, 9, 9, 9, 90, 9, 9, 200, 200, 200};
    png_image png = {.version = PNG_IMAGE_VERSION,
                     .format = PNG_FORMAT_RGB_COLORMAP,
                     .width = WIDTH,
                     .height = HEIGHT,
                     .colormap_entries = 4};
    for (int i = 0; i < PIXELS; i++) data[i] = (uint8_t)(i % 4);
    unlink(at("trainannot/00.png"));
    assert_true(png_image_write_to_file(&png, at("trainannot/00.png"), 0, data, 0, colours));
    hu_dataset *d = open_with((hu_image_choice){.size = 0});
    assert_memory_equal(d->train.rows[MASK], data, sizeof data);
    hu_dataset_close(d);
    put_scene("train", 0);
}

static void put_text(const char *text) {
    put("classes.txt", text, strlen(text));
}

static void running_out_of_memory(void **state) {
    (void)state;
    hu_image_choice choice = {.size = 3, .unlabelled = 1 + VOID};
    const hu_data_limits limits = {2, 1};
    put_text("a\nb\nc\nd\ne\n");
    assert_true(fail_every_allocation(spec(), &limits, &choice) > 30);
    choice.crop = 2;
    assert_true(fail_every_allocation(spec(), &limits, &choice) > 30);
    assert_int_equal(unlink(at("classes.txt")), 0);
}

/* A line for each class, with or without an end of line of either kind. */
static void classes_may_have_names(void **state) {
    (void)state;
    static const char *const names[] = {"sky", "the road", "car", "a tree", "person"};
    static const char *const texts[] = {"sky\nthe road\ncar\na tree\nperson\n",
                                        "sky\r\nthe road\r\ncar\r\na tree\r\nperson",
                                        "sky\nthe road\ncar\na tree\nperson\nvoid\n\n",
                                        "\xef\xbb\xbfsky\r\nthe road\r\ncar\r\na tree\r\nperson",
                                        "sky\nthe road\ncar\na tree\nperson\nv\xe2te\n"};
    hu_dataset *d = open_with((hu_image_choice){0});
    assert_null(hu_dataset_class_name(d, 0));
    hu_dataset_close(d);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        put_text(texts[t]);
        d = open_with((hu_image_choice){0});
        assert_int_equal(d->field[MASK].classes, 5);
        for (int c = 0; c < 5; c++) assert_string_equal(hu_dataset_class_name(d, c), names[c]);
        assert_null(hu_dataset_class_name(d, -1));
        assert_null(hu_dataset_class_name(d, 5)); /* also where the file has a line for it */
        assert_null(hu_dataset_class_name(d, INT64_MAX));
        hu_dataset_close(d);
    }
    const hu_image_choice choice = {.unlabelled = 1 + VOID};
    put_text("sky\nthe road\n\na tree\nperson\n");
    refuse_data(spec(), &choice, HU_ERR_CORRUPT,
                "classes.txt: found 2 names of classes, expected 5");
    put_text("");
    refuse_data(spec(), &choice, HU_ERR_CORRUPT, "found 0 names");
    assert_int_equal(unlink(at("classes.txt")), 0);
}

/* A result is JSON, which has no other bytes: the line and the byte are told. */
static void class_names_are_utf8(void **state) {
    (void)state;
    const hu_image_choice choice = {.unlabelled = 1 + VOID};
    put_text("ciel\nb\xe2timent\ncar\na tree\nperson\n");
    refuse_data(spec(), &choice, HU_ERR_CORRUPT,
                "classes.txt: line 2, byte 2: found 0xe2, expected UTF-8");
    put_text("\xef\xbb\xbf\xff\nb\nc\nd\ne\n");
    refuse_data(spec(), &choice, HU_ERR_CORRUPT, "line 1, byte 1: found 0xff");
    put_text("\xef\xbb");
    refuse_data(spec(), &choice, HU_ERR_CORRUPT, "found 1 names");
    put_text("ciel\nb\xc3\xa2timent\ncar\na tree\nperson \xf0\x9f\x9a\xb6\n");
    hu_dataset *d = open_with((hu_image_choice){0});
    assert_string_equal(hu_dataset_class_name(d, 1), "b\xc3\xa2timent");
    assert_string_equal(hu_dataset_class_name(d, 4), "person \xf0\x9f\x9a\xb6");
    hu_dataset_close(d);
    assert_int_equal(unlink(at("classes.txt")), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_the_files),
        cmocka_unit_test(a_limit_leaves_the_classes),
        cmocka_unit_test(maps_move_with_their_pictures),
        cmocka_unit_test(resized_maps_hold_no_new_numbers),
        cmocka_unit_test(windows_are_where_the_words_say),
        cmocka_unit_test(a_window_takes_no_memory_but_its_own),
        cmocka_unit_test(only_training_is_cut),
        cmocka_unit_test(windows_that_make_no_sense),
        cmocka_unit_test(files_that_are_wrong),
        cmocka_unit_test(palettes_are_numbers),
        cmocka_unit_test(running_out_of_memory),
        cmocka_unit_test(classes_may_have_names),
        cmocka_unit_test(class_names_are_utf8),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_folder);
}
