/* Pictures as files in memory, for the tests that decode them. */
#ifndef TEST_IMAGE_FILES_H
#define TEST_IMAGE_FILES_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <png.h>
#include <webp/encode.h>

#include "base/memory.h"
#include "jpeg_bytes.h"
#include "media/image.h"

enum { MOST = 1 << 20 };

static uint8_t file[MOST], pixels[MOST];
static size_t file_bytes;

static inline uint8_t pattern(int64_t x, int64_t y, int64_t c) {
    return (uint8_t)(x * 37 + y * 91 + c * 53 + (x * y) % 29 * 7);
}

static inline void draw(int64_t width, int64_t height, int channels) {
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            for (int c = 0; c < channels; c++)
                pixels[(y * width + x) * channels + c] = pattern(x, y, c);
}

static inline void write_png(int width, int height, uint32_t format, const void *data) {
    png_image png = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)width,
                     .height = (png_uint_32)height,
                     .format = format};
    file_bytes = sizeof file;
    assert_true(png_image_write_to_memory(&png, file, &file_bytes, 0, data, 0, NULL));
}

static inline void write_jpeg(int width, int height, const jpeg_kind *kind) {
    uint8_t *made = jpeg_file(pixels, width, height, kind, &file_bytes);
    assert_true(file_bytes <= sizeof file);
    memcpy(file, made, file_bytes);
    free(made);
}

/* Without losses, or with those of a quality. */
static inline void write_webp(int width, int height, float quality) {
    uint8_t *made = NULL;
    file_bytes = quality > 0.0f ? WebPEncodeRGB(pixels, width, height, 3 * width, quality, &made)
                                : WebPEncodeLosslessRGB(pixels, width, height, 3 * width, &made);
    assert_true(file_bytes > 0 && file_bytes <= sizeof file);
    memcpy(file, made, file_bytes);
    WebPFree(made);
}

static inline hu_image decode(int64_t side) {
    hu_image image = {0};
    if (hu_image_decode("picture", file, file_bytes, side, &image) != HU_OK)
        fail_msg("%s", hu_last_error());
    return image;
}

/* Leaves large numbers where the next call's locals will lie: one that is read unset shows. */
static __attribute__((noinline, unused)) void soil_stack(void) {
    volatile uint8_t soil[4096];
    for (size_t i = 0; i < sizeof soil; i++) soil[i] = 0x5a;
}

static inline hu_status try_decode(const uint8_t *data, size_t bytes) {
    uint64_t blocks = hu_memory_count().live_blocks;
    uint8_t *copy = malloc(bytes ? bytes : 1); /* so that reading after it is seen */
    hu_image image = {0};
    if (bytes) memcpy(copy, data, bytes);
    soil_stack();
    hu_status st = hu_image_decode("picture", copy, bytes, 8, &image);
    free(copy);
    if (st == HU_OK) {
        assert_true(image.width > 0 && image.height > 0);
        hu_image_free(&image);
    } else {
        assert_true(st == HU_ERR_CORRUPT || st == HU_ERR_LIMIT || st == HU_ERR_KIND);
        assert_null(image.pixels);
        assert_non_null(strstr(hu_last_error(), "picture"));
    }
    assert_int_equal(hu_memory_count().live_blocks, blocks);
    return st;
}

/* What the full interface of libpng writes to. */
static inline void take(png_structp png, png_bytep data, size_t bytes) {
    (void)png;
    memcpy(file + file_bytes, data, bytes);
    file_bytes += bytes;
}

#endif
