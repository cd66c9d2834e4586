/* Folders of images: order, classes, parts, limits, and everything that is wrong with them. */
#include <png.h>
#include <sys/stat.h>

#include "data/reader.h"
#include "data_refused.h"
#include "split.h"

enum { CLASSES = 5, EACH = 12, TESTS = 3, SIDE = 8 };

static void make_directory(const char *name) {
    assert_int_equal(mkdir(at(name), 0777), 0);
}

/* A flat picture whose colour tells class and number. */
static void put_picture(const char *name, int class_number, int number, int width, int height) {
    static uint8_t pixels[64 * 64 * 3];
    png_image png = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)width,
                     .height = (png_uint_32)height,
                     .format = PNG_FORMAT_RGB};
    for (int i = 0; i < width * height; i++) {
        pixels[3 * i] = (uint8_t)(10 * class_number);
        pixels[3 * i + 1] = (uint8_t)(10 * number);
        pixels[3 * i + 2] = 200;
    }
    unlink(at(name));
    assert_true(png_image_write_to_file(&png, at(name), 0, pixels, 0, NULL));
}

static void put_class(const char *half, int c, int count) {
    char name[128];
    snprintf(name, sizeof name, "%s/class%c", half, 'a' + c);
    make_directory(name);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s/class%c/%02d.%s", half, 'a' + c, i, i % 2 ? "PNG" : "png");
        put_picture(name, c, i, SIDE + i, SIDE + c);
    }
}

static int make_tree(void **state) {
    if (make_folder(state) != 0) return 1;
    make_directory("train");
    make_directory("val");
    make_directory("train/.hidden");
    for (int c = CLASSES - 1; c >= 0; c--) {
        put_class("train", c, EACH);
        put_class("val", c, TESTS);
    }
    put("train/classa/notes.txt", "x", 1);
    put("train/classa/.02.png", "x", 1);
    return 0;
}

static const char *spec(void) {
    static char text[128];
    snprintf(text, sizeof text, "folder:%s", folder);
    return text;
}

static hu_dataset *open_choice(hu_image_choice choice, hu_data_limits limits) {
    hu_dataset *d;
    if (hu_dataset_open_images(spec(), &limits, &choice, &d) != HU_OK)
        fail_msg("%s", hu_last_error());
    return d;
}

static const uint8_t *first_pixel(const hu_dataset *d, const hu_split *split, int64_t i) {
    int64_t side = d->field[HU_FIELD_IMAGE].extent[0] + 2 * d->field[HU_FIELD_IMAGE].margin;
    return pixels_of(split) + i * side * side * 3;
}

static void classes_take_turns(void **state) {
    (void)state;
    hu_dataset *d = open_choice((hu_image_choice){.size = SIDE}, (hu_data_limits){0, 0});
    assert_true(d->field[HU_FIELD_LABEL].classes == CLASSES &&
                d->field[HU_FIELD_IMAGE].extent[0] == SIDE &&
                d->field[HU_FIELD_IMAGE].extent[1] == SIDE && d->field[HU_FIELD_IMAGE].margin == 0);
    assert_true(d->field[HU_FIELD_IMAGE].extent[2] == 3 && d->augment.flip && d->augment.pad == 1);
    assert_int_equal(d->train.count, CLASSES * EACH);
    assert_int_equal(d->test.count, CLASSES * TESTS);
    for (int64_t i = 0; i < d->train.count; i++) {
        const uint8_t *pixel = first_pixel(d, &d->train, i);
        assert_int_equal(labels_of(&d->train)[i], i % CLASSES);
        assert_int_equal(pixel[0], 10 * (i % CLASSES));
        assert_int_equal(pixel[1], 10 * (i / CLASSES));
        assert_int_equal(pixel[2], 200);
    }
    hu_dataset_close(d);
    d = open_choice((hu_image_choice){.size = SIDE}, (hu_data_limits){7, 2});
    assert_true(d->train.count == 7 && d->test.count == 2);
    assert_int_equal(first_pixel(d, &d->train, 6)[1], 10);
    hu_dataset_close(d);
}

static void what_is_cropped_away_is_stored(void **state) {
    (void)state;
    hu_dataset *d = open_choice((hu_image_choice){.size = 12, .crop = 8}, (hu_data_limits){5, 5});
    assert_true(d->field[HU_FIELD_IMAGE].extent[0] == 8 &&
                d->field[HU_FIELD_IMAGE].extent[1] == 8 && d->field[HU_FIELD_IMAGE].margin == 2 &&
                d->augment.pad == 2);
    hu_dataset_close(d);
    assert_int_equal(hu_dataset_open(spec(), NULL, &d), HU_OK);
    assert_true(d->field[HU_FIELD_IMAGE].extent[0] == 64 && d->augment.pad == 8);
    hu_dataset_close(d);
}

/* Parts are disjoint, as large as each other, and together the whole; the test half is whole. */
static void parts_are_a_partition(void **state) {
    (void)state;
    int seen[CLASSES][EACH] = {{0}};
    for (int part = 1; part <= 5; part++) {
        hu_dataset *d =
            open_choice((hu_image_choice){.size = SIDE, .part = part, .parts = 5, .seed = 3},
                        (hu_data_limits){0, 0});
        assert_true(d->train.count >= 2 * CLASSES && d->train.count <= 3 * CLASSES);
        assert_int_equal(d->test.count, CLASSES * TESTS);
        for (int64_t i = 0; i < d->train.count; i++)
            seen[labels_of(&d->train)[i]][first_pixel(d, &d->train, i)[1] / 10]++;
        hu_dataset_close(d);
    }
    for (int c = 0; c < CLASSES; c++)
        for (int i = 0; i < EACH; i++) assert_int_equal(seen[c][i], 1);
}

/* Three classes, the same in both halves and in every part, numbered in order; others with another
 * seed. */
static void classes_are_drawn_by_their_seed(void **state) {
    (void)state;
    bool differs = false;
    for (uint64_t seed = 1; seed < 9; seed++) {
        uint8_t colour[3];
        hu_dataset *d = open_choice((hu_image_choice){.size = SIDE, .classes = 3, .seed = seed},
                                    (hu_data_limits){0, 0});
        assert_int_equal(d->field[HU_FIELD_LABEL].classes, 3);
        assert_int_equal(d->train.count, 3 * EACH);
        assert_int_equal(d->test.count, 3 * TESTS);
        for (int64_t i = 0; i < 3; i++) {
            colour[i] = first_pixel(d, &d->train, i)[0];
            assert_int_equal(first_pixel(d, &d->test, i)[0], colour[i]);
            assert_true(i == 0 || colour[i] > colour[i - 1]);
        }
        hu_dataset_close(d);
        d = open_choice(
            (hu_image_choice){.size = SIDE, .classes = 3, .seed = seed, .part = 2, .parts = 3},
            (hu_data_limits){0, 0});
        for (int64_t i = 0; i < 3; i++)
            assert_int_equal(first_pixel(d, &d->train, i)[0], colour[i]);
        hu_dataset_close(d);
        differs = differs || colour[0] != 0 || colour[2] != 20;
    }
    assert_true(differs);
}

static void refuse(hu_image_choice choice, hu_status expected, const char *part) {
    refuse_data(spec(), &choice, expected, part);
}

static void choices_that_do_not_fit(void **state) {
    (void)state;
    refuse((hu_image_choice){.size = SIDE, .classes = 6}, HU_ERR_ARGUMENT, "found 5");
    refuse((hu_image_choice){.size = SIDE, .classes = 1}, HU_ERR_CORRUPT, "at least 2");
    refuse((hu_image_choice){.size = SIDE, .parts = 13, .part = 1}, HU_ERR_ARGUMENT,
           "part 1 of 13");
    refuse((hu_image_choice){.size = SIDE, .parts = 3, .part = 4}, HU_ERR_ARGUMENT, "part 4");
    refuse((hu_image_choice){.size = SIDE, .crop = 9}, HU_ERR_ARGUMENT, "crop");
    refuse((hu_image_choice){.size = SIDE, .crop = 7}, HU_ERR_ARGUMENT, "even");
    refuse((hu_image_choice){.size = 5000}, HU_ERR_ARGUMENT, "4096");
    refuse((hu_image_choice){.size = -1}, HU_ERR_ARGUMENT, "size");
    hu_dataset *d;
    hu_image_choice choice = {.size = 8};
    assert_int_equal(hu_dataset_open_images("glyphs", NULL, &choice, &d), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "found data.size=8, expected none"));
}

static void damaged_files_are_named(void **state) {
    (void)state;
    const hu_image_choice usual = {.size = SIDE};
    put("train/classb/03.PNG", "", 0);
    put("train/classd/05.PNG", "no picture", 10);
    refuse(usual, HU_ERR_CORRUPT, "classb/03.PNG: found an empty file"); /* the first by order */
    put_picture("train/classb/03.PNG", 1, 3, 9, 9);
    refuse(usual, HU_ERR_CORRUPT, "classd/05.PNG: offset 0: found byte 0x6e");
    put_picture("train/classd/05.PNG", 3, 5, 9, 9);
    put("val/classe/00.png", "\x89PNG\r\n\x1a\n", 8);
    refuse(usual, HU_ERR_CORRUPT, "val/classe/00.png");
    put_picture("val/classe/00.png", 4, 0, 9, 9);
}

static void folders_that_are_missing_or_empty(void **state) {
    (void)state;
    const hu_image_choice usual = {.size = SIDE};
    make_directory("train/classx");
    refuse(usual, HU_ERR_CORRUPT, "classx: found no image");
    assert_int_equal(rmdir(at("train/classx")), 0);
    make_directory("val/classx");
    refuse(usual, HU_ERR_CORRUPT, "val/classx: found a class");
    assert_int_equal(rmdir(at("val/classx")), 0);
    assert_int_equal(rename(at("val"), at("test")), 0);
    assert_true(hu_dataset_available(spec()));
    hu_dataset_close(open_choice(usual, (hu_data_limits){5, 5}));
    assert_int_equal(rename(at("test"), at("other")), 0);
    refuse(usual, HU_ERR_MISSING, "train/CLASS");
    assert_int_equal(rename(at("other"), at("val")), 0);
    assert_int_equal(rename(at("train"), at("other")), 0);
    refuse(usual, HU_ERR_MISSING, "train");
    assert_int_equal(rename(at("other"), at("train")), 0);
}

/* Two pictures of the test half, for a model of three classes. */
static hu_image_choice known_files(void) {
    static char paths[2][256];
    static const char *const list[] = {paths[0], paths[1]};
    snprintf(paths[0], sizeof paths[0], "%s", at("val/classa/00.png"));
    snprintf(paths[1], sizeof paths[1], "%s", at("val/classb/01.PNG"));
    return (hu_image_choice){.size = SIDE,
                             .known = {.only_test = true,
                                       .class_names = "one\0two\0three",
                                       .classes = 3,
                                       .files = list,
                                       .file_count = 2}};
}

static void pictures_alone_have_no_classes(void **state) {
    (void)state;
    const hu_image_choice choice = known_files();
    hu_dataset *d = open_choice(choice, (hu_data_limits){1, 1});
    hu_sample_file file;
    assert_int_equal(d->test.count, 2);
    assert_true(d->lacks_truth && d->only_test);
    assert_int_equal(d->field[HU_FIELD_LABEL].classes, 3);
    assert_string_equal(hu_dataset_class_name(d, 2), "three");
    for (int64_t i = 0; i < 2; i++) {
        assert_int_equal(((const int32_t *)d->test.rows[HU_FIELD_LABEL])[i], HU_UNLABELLED);
        assert_int_equal(hu_split_file(&d->test, i, &file), HU_OK);
        assert_string_equal(file.path, choice.known.files[i]);
        hu_free(file.path);
    }
    hu_dataset_close(d);
}

/* Each class gives its share, the same for the same seed, and the halves have no file in common. */
static void test_images_are_drawn(void **state) {
    (void)state;
    hu_image_choice choice = {.size = SIDE, .held = 0.4, .seed = 5};
    hu_sample_file a, b;
    assert_int_equal(rename(at("val"), at("other")), 0);
    hu_dataset *d = open_choice(choice, (hu_data_limits){0, 0});
    hu_dataset *again = open_choice(choice, (hu_data_limits){0, 0});
    assert_true(d->holds_test && d->test.count > 0);
    for (int64_t i = 0; i < d->test.count; i++) {
        assert_int_equal(hu_split_file(&d->test, i, &a), HU_OK);
        assert_int_equal(hu_split_file(&again->test, i, &b), HU_OK);
        assert_string_equal(a.path, b.path);
        hu_free(b.path);
        for (int64_t k = 0; k < d->train.count; k++) {
            assert_int_equal(hu_split_file(&d->train, k, &b), HU_OK);
            assert_string_not_equal(a.path, b.path);
            hu_free(b.path);
        }
        hu_free(a.path);
    }
    hu_dataset_close(d);
    hu_dataset_close(again);
    choice.held = 0.0;
    refuse(choice, HU_ERR_MISSING, "data.validation=0.2");
    assert_int_equal(rename(at("other"), at("val")), 0);
}

static void running_out_of_memory(void **state) {
    (void)state;
    const hu_image_choice choice = {.size = SIDE, .classes = 2, .part = 1, .parts = 6, .seed = 1};
    const hu_data_limits limits = {3, 2};
    assert_true(fail_every_allocation(spec(), &limits, &choice) > 30);
    /* Without a test half, and of pictures alone. */
    assert_int_equal(rename(at("val"), at("other")), 0);
    assert_true(
        fail_every_allocation(spec(), &limits, &(hu_image_choice){.size = SIDE, .held = 0.4}) > 30);
    assert_int_equal(rename(at("other"), at("val")), 0);
    const hu_image_choice files = known_files();
    assert_true(fail_every_allocation(spec(), &limits, &files) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_take_turns),
        cmocka_unit_test(what_is_cropped_away_is_stored),
        cmocka_unit_test(parts_are_a_partition),
        cmocka_unit_test(classes_are_drawn_by_their_seed),
        cmocka_unit_test(choices_that_do_not_fit),
        cmocka_unit_test(damaged_files_are_named),
        cmocka_unit_test(folders_that_are_missing_or_empty),
        cmocka_unit_test(pictures_alone_have_no_classes),
        cmocka_unit_test(test_images_are_drawn),
        cmocka_unit_test(running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_folder);
}
