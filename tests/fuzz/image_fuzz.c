/* JPEG, PNG and WebP files: an input is a file; its first byte chooses the side that is wanted and
 * whether the checksums of a PNG are mended, so that what they guard is reached. Most inputs may
 * have few pixels: a header of a few bytes may ask for seconds. */
#include "fuzz.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <webp/encode.h>
#include <zlib.h>

#include "../unit/jpeg_bytes.h"
#include "base/memory.h"
#include "media/image.h"

enum { WIDTH = 17, HEIGHT = 11, SIDE_MAX = 16, FEW_PIXELS = 1 << 14 };

/* Bits of the first byte. */
enum { MENDED = 0x10, LARGE = 0xe0 };

/* Of so many inputs one may be as large as a picture may be, whatever it asks for; and one lies in
 * a file, of those that can be decoded more. */
enum { LARGE_OF = 10, FILES_OF = 30, GOOD_FILES_OF = 4 };

/* The same through a file, of which the middle alone may be decoded, and what a thread keeps of it.
 * square: what was made of the picture; NULL: nothing. */
static void check_file(const uint8_t *file, size_t bytes, int64_t side, hu_status decoded,
                       const uint8_t *square) {
    char path[512];
    uint8_t found[SIDE_MAX * SIDE_MAX * HU_IMAGE_CHANNELS];
    hu_image_scratch room = {0};
    snprintf(path, sizeof path, "%s/a", fuzz_folder());
    fuzz_put("a", file, bytes);
    FUZZ_CHECK(hu_image_check_head(path) == HU_OK || decoded != HU_OK);
    hu_status st = hu_image_read_square(path, side, found, &room);
    FUZZ_CHECK(st == decoded || fuzz_was_fault(st) || fuzz_was_fault(decoded));
    if (st == HU_OK && square)
        FUZZ_CHECK(memcmp(found, square, (size_t)(side * side * HU_IMAGE_CHANNELS)) == 0);
    hu_image_scratch_trim(&room);
    st = hu_image_read_upright(path, side, &room);
    FUZZ_CHECK(st == decoded || fuzz_was_fault(st) || fuzz_was_fault(decoded));
    FUZZ_CHECK(st != HU_OK || (room.image.pixels && room.image.orientation <= HU_IMAGE_UPRIGHT));
    hu_image_scratch_free(&room);
}

/* A chunk is its length, a name, contents and the checksum of both (PNG specification, 5.3). */
static void mend_checksums(uint8_t *file, size_t bytes) {
    enum { SIGNATURE = 8, LENGTH = 4, NAME = 4, CHECKSUM = 4 };
    for (size_t at = SIGNATURE; at + LENGTH + NAME + CHECKSUM <= bytes;) {
        uint8_t *p = file + at;
        size_t length = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
        if (length > bytes - at - LENGTH - NAME - CHECKSUM) return;
        uLong sum = crc32(0, p + LENGTH, (uInt)(NAME + length));
        for (int i = 0; i < CHECKSUM; i++)
            p[LENGTH + NAME + length + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
        at += LENGTH + NAME + length + CHECKSUM;
    }
}

static void check_picture(uint8_t choice, const uint8_t *file, size_t bytes) {
    bool is_large = (choice & LARGE) == LARGE || fuzz_is_one_of(LARGE_OF);
    int64_t side = 1 + choice % SIDE_MAX;
    uint8_t square[SIDE_MAX * SIDE_MAX * HU_IMAGE_CHANNELS];
    hu_image image = {0};
    hu_image_resizer resizer = {0};
    hu_image_limit(is_large ? HU_IMAGE_PIXELS_MAX : FEW_PIXELS);
    hu_status st = hu_image_decode("file", file, bytes, side, &image);
    FUZZ_CHECK((st == HU_OK) == (image.pixels != NULL));
    FUZZ_CHECK(is_large || image.width * image.height <= FEW_PIXELS);
    if (st != HU_OK) {
        FUZZ_CHECK(st == HU_ERR_CORRUPT || st == HU_ERR_KIND || st == HU_ERR_LIMIT ||
                   fuzz_was_fault(st));
        FUZZ_CHECK(fuzz_was_fault(st) || strstr(hu_last_error(), "file") != NULL);
    }
    bool is_made = st == HU_OK && FUZZ_DONE(hu_image_turn("file", &image)) &&
                   FUZZ_DONE(hu_image_shrink(&image, side, square, &resizer));
    if (fuzz_is_one_of(st == HU_OK ? GOOD_FILES_OF : FILES_OF))
        check_file(file, bytes, side, st, is_made ? square : NULL);
    hu_image_resizer_free(&resizer);
    hu_image_free(&image);
}

/* The file in a block of its own: it may be changed, and reading after it is seen. */
void fuzz_one(const uint8_t *data, size_t size) {
    static const uint8_t png[] = {0x89, 'P', 'N', 'G'};
    fuzz_cursor cursor = {data, size, 0};
    uint8_t choice = fuzz_u8(&cursor);
    size_t bytes = size;
    const uint8_t *taken = fuzz_take(&cursor, &bytes);
    uint8_t *file = malloc(bytes ? bytes : 1);
    FUZZ_CHECK(file != NULL);
    if (bytes) memcpy(file, taken, bytes);
    if ((choice & MENDED) && bytes > sizeof png && memcmp(file, png, sizeof png) == 0)
        mend_checksums(file, bytes);
    check_picture(choice, file, bytes);
    free(file);
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

/* One that lies on its side: the chunk stands after signature and header; its checksum is mended.
 */
static void put_turned_png(hu_byte_writer *seed) {
    enum { FRONT = 33 };
    static const uint8_t exif[] = {0, 0, 0, 26, 'e', 'X', 'I',  'f', 'M', 'M', 0, 42, 0,
                                   0, 0, 8, 0,  1,   1,   0x12, 0,   3,   0,   0, 0,  1,
                                   0, 6, 0, 0,  0,   0,   0,    0,   0,   0,   0, 0};
    hu_byte_writer plain = {0};
    put_png(PNG_FORMAT_GRAY, &plain);
    FUZZ_CHECK(hu_write_bytes(seed, plain.data, FRONT) == HU_OK);
    FUZZ_CHECK(hu_write_bytes(seed, exif, sizeof exif) == HU_OK);
    FUZZ_CHECK(hu_write_bytes(seed, plain.data + FRONT, plain.size - FRONT) == HU_OK);
    hu_writer_free(&plain);
}

/* One whose sides are not decoded where its middle is wanted. */
static void put_wide_jpeg(const jpeg_kind *kind, hu_byte_writer *seed) {
    enum { WIDE = 200, HIGH = 10 };
    uint8_t pixels[WIDE * HIGH * HU_IMAGE_CHANNELS];
    size_t bytes;
    for (int i = 0; i < WIDE * HIGH * HU_IMAGE_CHANNELS; i++)
        pixels[i] = (uint8_t)(i % 600 / 24 * (7 + i % 3));
    uint8_t *made = jpeg_file(pixels, WIDE, HIGH, kind, &bytes);
    FUZZ_CHECK(hu_write_bytes(seed, made, bytes) == HU_OK);
    free(made);
}

/* The head of one that moves (WebP container specification). */
static void put_moving_webp(hu_byte_writer *seed) {
    static const uint8_t head[] = {'R', 'I', 'F', 'F', 22,  0,   0,  0, 'W', 'E',
                                   'B', 'P', 'V', 'P', '8', 'X', 10, 0, 0,   0,
                                   2,   0,   0,   0,   3,   0,   0,  3, 0,   0};
    FUZZ_CHECK(hu_write_bytes(seed, head, sizeof head) == HU_OK);
}

/* Of one colour: few bytes, and more pixels than most inputs may have. */
static void put_large_webp(hu_byte_writer *seed) {
    enum { SIDE = 300 };
    _Static_assert(SIDE * SIDE > FEW_PIXELS, "it is a large one");
    uint8_t *pixels = calloc(SIDE * SIDE, HU_IMAGE_CHANNELS), *made = NULL;
    FUZZ_CHECK(pixels != NULL);
    size_t bytes = WebPEncodeLosslessRGB(pixels, SIDE, SIDE, HU_IMAGE_CHANNELS * SIDE, &made);
    FUZZ_CHECK(bytes > 0 && hu_write_bytes(seed, made, bytes) == HU_OK);
    WebPFree(made);
    free(pixels);
}

/* A file that promises a million pixels and many scans of them, in bytes that are missing: the
 * head of a progressive file and of its first scan. */
static void put_promise(hu_byte_writer *seed) {
    static const uint8_t head[] = {0xff, 0xd8, 0xff, 0xc2, 0,    17, 8, 4,    1, 4,    1,    3,
                                   1,    0x11, 0,    2,    0x11, 1,  3, 0x11, 1, 0xff, 0xda, 0,
                                   12,   3,    1,    0,    2,    0,  3, 0,    0, 0,    0};
    FUZZ_CHECK(hu_write_bytes(seed, head, sizeof head) == HU_OK);
    for (int i = 0; i < 520; i++) FUZZ_CHECK(hu_write_bytes(seed, "\xff\xda", 2) == HU_OK);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    const uint8_t side = (index == 9 || index == 14 ? LARGE : MENDED) | 3;
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
    case 14:
        put_large_webp(seed);
        return true;
    case 15:
        put_wide_jpeg(&less_chroma, seed);
        return true;
    case 16:
        put_turned_png(seed);
        return true;
    case 17:
        put_moving_webp(seed);
        return true;
    default:
        hu_writer_free(seed);
        return false;
    }
}
