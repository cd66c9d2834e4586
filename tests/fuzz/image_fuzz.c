/* JPEG, PNG and WebP files: an input is a file; its first byte chooses the side that is wanted. */
#include "fuzz.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <webp/encode.h>

#include "base/memory.h"
#include "data/image_decode.h"
#include "../unit/jpeg_bytes.h"

enum { WIDTH = 17, HEIGHT = 11, SIDE_MAX = 16 };

/* The same through a file, and what a thread keeps of it. */
static void check_file(const uint8_t *file, size_t bytes, int64_t side, hu_status decoded) {
    char path[512];
    hu_image_room room = {0};
    snprintf(path, sizeof path, "%s/a", fuzz_folder());
    fuzz_put("a", file, bytes);
    hu_status st = hu_image_read(path, side, &room);
    FUZZ_CHECK(st == decoded || fuzz_was_fault(st) || fuzz_was_fault(decoded));
    FUZZ_CHECK((st == HU_OK) == (room.image.pixels != NULL));
    hu_image_room_trim(&room);
    hu_image_room_free(&room);
}

void fuzz_one(const uint8_t *data, size_t size) {
    fuzz_cursor cursor = {data, size, 0};
    int64_t side = 1 + fuzz_u8(&cursor) % SIDE_MAX;
    size_t bytes = size;
    const uint8_t *file = fuzz_take(&cursor, &bytes);
    uint8_t square[SIDE_MAX * SIDE_MAX * HU_IMAGE_CHANNELS];
    hu_image image = {0};
    hu_image_resizer resizer = {0};
    hu_status st = hu_image_decode("file", file, bytes, side, &image);
    FUZZ_CHECK((st == HU_OK) == (image.pixels != NULL));
    if (st != HU_OK) {
        FUZZ_CHECK(st == HU_ERR_CORRUPT || st == HU_ERR_KIND || st == HU_ERR_LIMIT ||
                   fuzz_was_fault(st));
        FUZZ_CHECK(fuzz_was_fault(st) || strstr(hu_last_error(), "file") != NULL);
    }
    if (size % 8 == 0) check_file(file, bytes, side, st);
    if (st != HU_OK) return;
    (void)FUZZ_DONE(hu_image_turn("file", &image));
    (void)FUZZ_DONE(hu_image_shrink(&image, side, square, &resizer));
    hu_image_resizer_free(&resizer);
    hu_image_free(&image);
}

static void fill(uint8_t *pixels) {
    for (int i = 0; i < WIDTH * HEIGHT * 4; i++) pixels[i] = (uint8_t)(i * 7 + i / 50 * 31);
}

static void put_jpeg(const jpeg_kind *kind, hu_byte_writer *seed) {
    uint8_t pixels[WIDTH * HEIGHT * 4];
    size_t bytes;
    fill(pixels);
    uint8_t *made = jpeg_file(pixels, WIDTH, HEIGHT, kind, &bytes);
    FUZZ_CHECK(hu_write_bytes(seed, made, bytes) == HU_OK);
    free(made);
}

/* One that lies on its side. */
static void put_turned_jpeg(hu_byte_writer *seed) {
    static const uint8_t exif[] = {0xff, 0xd8, 0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0,    0, 'M',
                                   'M',  0,    42,   0,    0, 0,  8,   0,   1,   1,   0x12, 0, 3,
                                   0,    0,    0,    1,    0, 6,  0,   0,   0,   0,   0,    0};
    uint8_t pixels[WIDTH * HEIGHT * 4];
    size_t bytes;
    fill(pixels);
    uint8_t *made = jpeg_file(pixels, WIDTH, HEIGHT, &jpeg_of_colours, &bytes);
    FUZZ_CHECK(hu_write_bytes(seed, exif, sizeof exif) == HU_OK);
    FUZZ_CHECK(hu_write_bytes(seed, made + 2, bytes - 2) == HU_OK);
    free(made);
}

static void put_png(uint32_t format, hu_byte_writer *seed) {
    uint8_t pixels[WIDTH * HEIGHT * 4];
    static uint8_t made[4 * sizeof pixels];
    size_t bytes = sizeof made;
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = WIDTH, .height = HEIGHT, .format = format};
    fill(pixels);
    FUZZ_CHECK(png_image_write_to_memory(&png, made, &bytes, 0, pixels, 0, NULL));
    FUZZ_CHECK(hu_write_bytes(seed, made, bytes) == HU_OK);
}

/* cut: bytes that are left out at its end */
static void put_webp(bool is_lossless, size_t cut, hu_byte_writer *seed) {
    uint8_t pixels[WIDTH * HEIGHT * 4], *made = NULL;
    fill(pixels);
    size_t bytes = is_lossless ? WebPEncodeLosslessRGB(pixels, WIDTH, HEIGHT, 3 * WIDTH, &made)
                               : WebPEncodeRGB(pixels, WIDTH, HEIGHT, 3 * WIDTH, 50, &made);
    FUZZ_CHECK(bytes > cut && hu_write_bytes(seed, made, bytes - cut) == HU_OK);
    WebPFree(made);
}

/* A file that promises a million pixels and many scans of them, in bytes that are not there. */
static void put_promise(hu_byte_writer *seed) {
    static const uint8_t head[] = {0xff, 0xd8, 0xff, 0xc2, 0, 17, 8, 4, 1,    4, 1,    3,
                                   1,    0x11, 0,    2,    1, 17, 1, 3, 0x11, 1, 0xff, 0xda};
    FUZZ_CHECK(hu_write_bytes(seed, head, sizeof head) == HU_OK);
    for (int i = 0; i < 520; i++) FUZZ_CHECK(hu_write_bytes(seed, "\xff\xda", 2) == HU_OK);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const uint8_t side = 3;
    jpeg_kind less_chroma = jpeg_with_less_chroma(index == 0);
    FUZZ_CHECK(hu_write_bytes(seed, &side, 1) == HU_OK);
    switch (index) {
    case 0:
        put_jpeg(&less_chroma, seed);
        return true;
    case 1:
        put_jpeg(&jpeg_of_grey, seed);
        return true;
    case 2:
        put_jpeg(&jpeg_of_inks, seed);
        return true;
    case 3:
        less_chroma.is_progressive = true;
        put_jpeg(&less_chroma, seed);
        return true;
    case 4:
        put_png(PNG_FORMAT_RGB, seed);
        return true;
    case 5:
        put_png(PNG_FORMAT_GRAY, seed);
        return true;
    case 6:
        put_png(PNG_FORMAT_RGBA, seed);
        return true;
    case 7:
    case 8:
        put_webp(index == 7, 0, seed);
        return true;
    case 9:
        put_promise(seed);
        return true;
    case 10:
    case 11:
        put_webp(true, index == 10 ? 20 : 60, seed);
        return true;
    case 12:
        put_turned_jpeg(seed);
        return true;
    case 13:
        return fuzz_text_seed("GIF89a", seed);
    default:
        hu_writer_free(seed);
        return false;
    }
}
