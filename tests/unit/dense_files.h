/* Pictures with label maps, for the tests that read them. */
#ifndef TEST_DENSE_FILES_H
#define TEST_DENSE_FILES_H
#include <sys/stat.h>

#include <png.h>

#include "data_refused.h"
#include "media/image.h"

enum { TRAIN = 7, TESTS = 3, HEIGHT = 6, WIDTH = 10, PIXELS = HEIGHT * WIDTH, MASK = 1, VOID = 11 };

static float images[TRAIN * PIXELS * 3], masks[TRAIN * PIXELS];
static float images_again[TRAIN * PIXELS * 3], masks_again[TRAIN * PIXELS];

static inline void put_png(const char *name, uint32_t format, int width, int height,
                           const void *data) {
    png_image png = {.version = PNG_IMAGE_VERSION, .format = format};
    png.width = (png_uint_32)width;
    png.height = (png_uint_32)height;
    unlink(at(name));
    assert_true(png_image_write_to_file(&png, at(name), 0, data, 0, NULL));
}

/* Labels 0..4, and VOID in the first corner. */
static inline uint8_t label_at(int number, int y, int x) {
    return (uint8_t)(y + x == 0 ? VOID : (number + y + 2 * x) % 5);
}

/* The picture tells its label: the red of a pixel is 20 times that of its map. */
static inline void put_scene(const char *half, int number) {
    uint8_t picture[PIXELS * 3], map[PIXELS];
    char name[64];
    for (int i = 0; i < PIXELS; i++) {
        map[i] = label_at(number, i / WIDTH, i % WIDTH);
        picture[3 * i] = (uint8_t)(20 * map[i]);
        picture[3 * i + 1] = (uint8_t)i;
        picture[3 * i + 2] = (uint8_t)number;
    }
    snprintf(name, sizeof name, "%s/%02d.png", half, number);
    put_png(name, PNG_FORMAT_RGB, WIDTH, HEIGHT, picture);
    snprintf(name, sizeof name, "%sannot/%02d.png", half, number);
    put_png(name, PNG_FORMAT_GRAY, WIDTH, HEIGHT, map);
}

static inline int make_tree(void **state) {
    static const char *const folders[] = {"train", "trainannot", "test", "testannot"};
    if (make_folder(state) != 0) return 1;
    for (int i = 0; i < 4; i++) assert_int_equal(mkdir(at(folders[i]), 0777), 0);
    for (int i = 0; i < TRAIN; i++) put_scene("train", i);
    for (int i = 0; i < TESTS; i++) put_scene("test", i);
    return 0;
}

static inline const char *spec(void) {
    static char text[128];
    snprintf(text, sizeof text, "dense:%s", folder);
    return text;
}

static inline hu_dataset *open_with(hu_image_choice choice) {
    hu_dataset *d;
    choice.unlabelled = 1 + VOID;
    if (hu_dataset_open_images(spec(), NULL, &choice, &d) != HU_OK) fail_msg("%s", hu_last_error());
    return d;
}

static inline void fill(const hu_dataset *d, hu_loader_settings settings, float *to_images,
                        float *to_masks) {
    hu_loader *loader;
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &settings, &loader), HU_OK);
    assert_int_equal(hu_loader_begin_epoch(loader, 3), HU_OK);
    for (int64_t p = 0; p < TRAIN; p++) {
        if (hu_loader_want(loader, p, 1) != HU_OK) fail_msg("%s", hu_last_error());
        hu_loader_fill(loader, HU_FIELD_IMAGE, HU_READ_PLAIN, p, 1, to_images + p * PIXELS * 3);
        hu_loader_fill(loader, MASK, HU_READ_PLAIN, p, 1, to_masks + p * PIXELS);
    }
    hu_loader_close(loader);
}

#endif
