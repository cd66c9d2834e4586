/* Label maps whose numbers are far apart, or of what EXIF makes of a picture; what lies beside. */
#include <zlib.h>

#include "dense_files.h"

/* Maps of 0, 127 and 255: as they are, or as data.labels has them; padding stays unlabelled. */
static void far_numbers_become_classes(void **state) {
    (void)state;
    static uint8_t far[PIXELS], two[PIXELS];
    static const uint8_t numbers[] = {0, 127, 255};
    char name[64];
    hu_dataset *d;
    hu_image_choice choice = {.labels = {0, 127, 255}, .label_count = 3};
    for (int i = 0; i < PIXELS; i++) far[i] = numbers[i % 3];
    for (int i = 0; i < PIXELS; i++) two[i] = numbers[i % 2 * 2];
    for (int i = 0; i < TRAIN + TESTS; i++) {
        bool is_test = i >= TRAIN;
        snprintf(name, sizeof name, "%s/%02d.png", is_test ? "testannot" : "trainannot",
                 is_test ? i - TRAIN : i);
        put_png(name, PNG_FORMAT_GRAY, WIDTH, HEIGHT, far);
    }
    assert_int_equal(hu_dataset_open(spec(), NULL, &d), HU_OK);
    assert_int_equal(d->field[MASK].classes, 128);
    assert_non_null(strstr(d->note, "126 of 128 classes have no pixel"));
    assert_non_null(
        strstr(d->note, "data.labels=[0,127,255] makes those that are there classes 0 to 2"));
    hu_dataset_close(d);
    assert_int_equal(hu_dataset_open_images(spec(), NULL, &choice, &d), HU_OK);
    assert_int_equal(d->field[MASK].classes, 3);
    assert_null(d->note);
    fill(d, (hu_loader_settings){.seed = 1}, images, masks);
    for (int i = 0; i < TRAIN * PIXELS; i++) assert_true(masks[i] == (float)(i % PIXELS % 3));
    fill(d, (hu_loader_settings){.seed = 1, .augment = {.pad = 2}}, images, masks);
    int outside = 0;
    for (int i = 0; i < TRAIN * PIXELS; i++) outside += masks[i] == (float)HU_UNLABELLED;
    assert_true(outside > TRAIN);
    hu_dataset_close(d);
    for (int i = 0; i < TRAIN + TESTS; i++) {
        bool is_test = i >= TRAIN;
        snprintf(name, sizeof name, "%s/%02d.png", is_test ? "testannot" : "trainannot",
                 is_test ? i - TRAIN : i);
        put_png(name, PNG_FORMAT_GRAY, WIDTH, HEIGHT, two);
    }
    refuse_data(spec(), NULL, HU_ERR_CORRUPT,
                "1 class, expected at least 2; 255 means unlabelled, as usual: where it is a "
                "class, data.labels=[0,255] says so");
    choice = (hu_image_choice){.labels = {255, 7}, .label_count = 2};
    refuse_data(spec(), &choice, HU_ERR_CORRUPT, "found the number 0, which is neither");
    choice = (hu_image_choice){.labels = {0, 255}, .label_count = 2, .unlabelled = 1 + 255};
    refuse_data(spec(), &choice, HU_ERR_ARGUMENT, "data.unlabelled says is no class");
    choice.unlabelled = 0;
    assert_int_equal(hu_dataset_open_images(spec(), NULL, &choice, &d), HU_OK);
    assert_int_equal(d->field[MASK].classes, 2);
    hu_dataset_close(d);
    for (int i = 0; i < TRAIN; i++) put_scene("train", i);
    for (int i = 0; i < TESTS; i++) put_scene("test", i);
}

/* Puts EXIF after the head of a PNG: the camera was turned by a quarter. */
static void turn_png(const char *name) {
    static uint8_t file[4096];
    uint8_t chunk[38] = "\0\0\0\032eXIfMM\0*\0\0\0\010\0\1\1\022\0\3\0\0\0\1\0\6";
    enum { HEAD = 33, CRC_AT = 34 };
    FILE *read = fopen(at(name), "rb");
    size_t bytes = fread(file, 1, sizeof file, read);
    fclose(read);
    uint32_t crc = (uint32_t)crc32(0, chunk + 4, CRC_AT - 4);
    for (int i = 0; i < 4; i++) chunk[CRC_AT + i] = (uint8_t)(crc >> (24 - 8 * i));
    memmove(file + HEAD + sizeof chunk, file + HEAD, bytes - HEAD);
    memcpy(file + HEAD, chunk, sizeof chunk);
    put(name, file, bytes + sizeof chunk);
}

/* Marks are in the file's pixels, so that EXIF turns nothing; a map of what is seen is told so. */
static void exif_is_told_where_sizes_disagree(void **state) {
    (void)state;
    static uint8_t map[PIXELS];
    const hu_image_choice choice = {.unlabelled = 1 + VOID};
    hu_dataset *d = open_with((hu_image_choice){.size = 0});
    fill(d, (hu_loader_settings){.seed = 1}, images, masks);
    hu_dataset_close(d);
    turn_png("train/01.png");
    d = open_with((hu_image_choice){.size = 0});
    fill(d, (hu_loader_settings){.seed = 1}, images_again, masks_again);
    assert_memory_equal(images, images_again, sizeof images);
    assert_memory_equal(masks, masks_again, sizeof masks);
    hu_dataset_close(d);
    put_png("trainannot/01.png", PNG_FORMAT_GRAY, HEIGHT, WIDTH, map);
    refuse_data(
        spec(), &choice, HU_ERR_CORRUPT,
        "found a label map of 6x10 pixels, expected 10x6 as its picture has (EXIF turns it: "
        "6x10 as seen)");
    put_scene("train", 1);
}

static void what_lies_beside_pictures_is_told(void **state) {
    (void)state;
    hu_dataset *d;
    put("train/b.HEIC", "x", 1);
    put("test/notes.txt", "x", 1);
    assert_int_equal(mkdir(at("test/more"), 0777), 0);
    assert_int_equal(hu_dataset_open(spec(), NULL, &d), HU_OK);
    assert_non_null(strstr(d->note, "beside the pictures, left out: 1 .heic (not supported: "
                                    "heif-convert makes .jpg of them), 1 .txt, 1 folder"));
    hu_dataset_close(d);
    unlink(at("train/b.HEIC"));
    unlink(at("test/notes.txt"));
    assert_int_equal(rmdir(at("test/more")), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_numbers_become_classes),
        cmocka_unit_test(exif_is_told_where_sizes_disagree),
        cmocka_unit_test(what_lies_beside_pictures_is_told),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_folder);
}
