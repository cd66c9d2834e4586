/* Label maps that are told from grey images, and how fields move together. */
#include <halfulp/data.h>

#include "data_files.h"
#include "split.h"

enum { SIDE = 4, PIXELS = SIDE * SIDE, TRAIN = 6, TEST = 2, MASK = 2 };

static uint8_t byte_at(int image, int pixel) {
    static const uint8_t bytes[] = {0, 15, 16, 63, 64, 255, 8, 200};
    return bytes[(image + pixel) % 8];
}

static void put_half(const char *half, int count) {
    char name[64];
    uint8_t images[16 + TRAIN * PIXELS] = {0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, SIDE, 0, 0, 0, SIDE};
    uint8_t labels[8 + TRAIN] = {0, 0, 8, 1};
    images[7] = labels[7] = (uint8_t)count;
    for (int i = 0; i < count; i++) {
        labels[8 + i] = (uint8_t)(i % 3);
        for (int p = 0; p < PIXELS; p++) images[16 + i * PIXELS + p] = byte_at(i, p);
    }
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", half);
    put(name, images, 16 + (size_t)(count * PIXELS));
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", half);
    put(name, labels, 8 + (size_t)count);
}

static hu_dataset *open_ink(void) {
    char spec[96];
    hu_dataset *d;
    put_half("train", TRAIN);
    put_half("t10k", TEST);
    snprintf(spec, sizeof spec, "ink:idx:%s", folder);
    if (hu_dataset_open(spec, NULL, &d) != HU_OK) fail_msg("%s", hu_last_error());
    return d;
}

static void pixels_are_ground_ink_of_their_label_or_unlabelled(void **state) {
    (void)state;
    hu_dataset *d = open_ink();
    assert_int_equal(hu_dataset_find(d, "mask"), MASK);
    assert_int_equal(d->field[MASK].classes, 1 + 3);
    const uint8_t *map = d->train.rows[MASK];
    for (int i = 0; i < TRAIN * PIXELS; i++) {
        uint8_t byte = byte_at(i / PIXELS, i % PIXELS);
        int expected = byte < 16 ? 0 : byte < 64 ? HU_UNLABELLED_BYTE : 1 + i / PIXELS % 3;
        assert_int_equal(map[i], expected);
    }
    hu_dataset_close(d);
}

/* Names of the images' classes are not those of maps, whose class 0 is the ground. */
static void maps_have_no_names_of_the_images_classes(void **state) {
    static const char names[] = "shirt\ncoat\nbag\n";
    (void)state;
    put("classes.txt", names, sizeof names - 1);
    hu_dataset *d = open_ink();
    assert_null(hu_dataset_class_name(d, 0));
    assert_int_equal(d->class_name_count, 0);
    hu_dataset_close(d); /* once each */
}

/* Where the image shows a byte, the map shows its class; where both lie outside, the image is black
 * and the map unlabelled. */
static void a_map_moves_with_its_image(void **state) {
    (void)state;
    float image[TRAIN * PIXELS], map[TRAIN * PIXELS];
    hu_dataset *d = open_ink();
    hu_loader *loader;
    hu_loader_settings settings = {
        .seed = 3, .shuffle = true, .augment = {.pad = 2, .flip = true, .cutout = 2}};
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
    int outside = 0;
    for (int64_t epoch = 0; epoch < 20; epoch++) {
        assert_int_equal(hu_loader_begin_epoch(loader, epoch), HU_OK);
        hu_loader_fill(loader, HU_FIELD_IMAGE, HU_READ_UNIT, 0, TRAIN, image);
        hu_loader_fill(loader, MASK, HU_READ_PLAIN, 0, TRAIN, map);
        for (int i = 0; i < TRAIN * PIXELS; i++) {
            int label = labels_of(&d->train)[hu_loader_index(loader, i / PIXELS)];
            int byte = (int)(image[i] * 255.0f + 0.5f);
            int expected = byte < 16 ? 0 : byte < 64 ? HU_UNLABELLED : 1 + label;
            if (byte == 0 && map[i] == (float)HU_UNLABELLED)
                outside++;
            else
                assert_int_equal((int)map[i], expected);
        }
    }
    assert_true(outside > 0);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

static void what_is_no_grey_image_is_refused(void **state) {
    (void)state;
    hu_dataset *d;
    assert_int_equal(hu_dataset_open("ink:glyphs", NULL, &d), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "found 3 channels, expected 1"));
    assert_int_equal(hu_dataset_open("ink:ink:glyphs", NULL, &d), HU_ERR_ARGUMENT);
    assert_int_equal(hu_dataset_open("ink", NULL, &d), HU_ERR_ARGUMENT);
    assert_int_equal(hu_dataset_open("ink:fashion-mnits", NULL, &d), HU_ERR_UNKNOWN);
    assert_null(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_ground_ink_of_their_label_or_unlabelled),
        cmocka_unit_test(a_map_moves_with_its_image),
        cmocka_unit_test(maps_have_no_names_of_the_images_classes),
        cmocka_unit_test(what_is_no_grey_image_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
