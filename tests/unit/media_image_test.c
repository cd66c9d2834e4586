/* Pictures from bytes: JPEG and PNG of every kind, damaged ones, and their resizing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/rng.h"
#include "image_files.h"
#include "media/image_files.h"

enum { SIDE_MOST = 120 };

static void png_gives_the_bytes_back(void **state) {
    (void)state;
    draw(13, 9, 3);
    write_png(13, 9, PNG_FORMAT_RGB, pixels);
    hu_image image = decode(4);
    assert_true(image.width == 13 && image.height == 9);
    assert_memory_equal(image.pixels, pixels, 13 * 9 * 3);
    hu_image_free(&image);
    draw(13, 9, 1);
    write_png(13, 9, PNG_FORMAT_GRAY, pixels);
    image = decode(4);
    for (int i = 0; i < 13 * 9; i++)
        for (int c = 0; c < 3; c++) assert_int_equal(image.pixels[3 * i + c], pixels[i]);
    hu_image_free(&image);
}

/* Grey and coloured pictures, of which a file is written, are read back. */
static void a_png_file_is_written(void **state) {
    (void)state;
    char path[] = "/tmp/halfulp-png-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    for (int channels = 1; channels <= 3; channels += 2) {
        draw(13, 9, channels);
        assert_int_equal(hu_image_write_png(path, 9, 13, channels, pixels), HU_OK);
        FILE *made = fopen(path, "rb");
        file_bytes = fread(file, 1, sizeof file, made);
        fclose(made);
        hu_image image = decode(4);
        assert_true(image.width == 13 && image.height == 9);
        for (int i = 0; i < 13 * 9 * 3; i++)
            assert_int_equal(image.pixels[i], pixels[channels == 3 ? i : i / 3]);
        hu_image_free(&image);
    }
    assert_int_equal(hu_image_write_png(path, 9, 13, 2, pixels), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "2 channels, expected 1 or 3"));
    assert_int_equal(hu_image_write_png(path, 0, 13, 1, pixels), HU_ERR_LIMIT);
    assert_int_equal(hu_image_write_png("/nowhere/x.png", 9, 13, 1, pixels), HU_ERR_MISSING);
    uint64_t blocks = hu_memory_count().live_blocks;
    hu_memory_fail_at(1);
    assert_int_equal(hu_image_write_png(path, 9, 13, 1, pixels), HU_ERR_MEMORY);
    hu_memory_fail_at(0);
    assert_int_equal(hu_memory_count().live_blocks, blocks);
    unlink(path);
}

static void transparency_is_dropped(void **state) {
    (void)state;
    draw(6, 5, 4);
    write_png(6, 5, PNG_FORMAT_RGBA, pixels);
    hu_image image = decode(4);
    for (int i = 0; i < 6 * 5; i++) assert_memory_equal(image.pixels + 3 * i, pixels + 4 * i, 3);
    hu_image_free(&image);
}

/* 16 bits: written by the full interface, whose numbers are as dark as those of 8 bits. */
static void sixteen_bits_become_eight(void **state) {
    (void)state;
    uint8_t row[8 * 6];
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    file_bytes = 0;
    png_set_write_fn(png, NULL, take, NULL);
    png_set_IHDR(png, info, 8, 2, 16, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int i = 0; i < 8 * 3; i++) row[2 * i] = row[2 * i + 1] = (uint8_t)(11 * i);
    for (int y = 0; y < 2; y++) png_write_row(png, row);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    hu_image image = decode(2);
    for (int i = 0; i < 2 * 8 * 3; i++)
        assert_int_equal(image.pixels[i], (uint8_t)(11 * (i % (8 * 3))));
    hu_image_free(&image);
}

static void flat(int width, int height, int channels, const uint8_t *colour) {
    for (int i = 0; i < width * height; i++)
        memcpy(pixels + i * channels, colour, (size_t)channels);
}

static void expect_flat(const hu_image *image, const int *colour) {
    for (int64_t i = 0; i < image->width * image->height; i++)
        for (int c = 0; c < 3; c++)
            assert_in_range(image->pixels[3 * i + c] + 1000, colour[c] + 1000 - 3,
                            colour[c] + 1000 + 3);
}

static void jpegs_of_all_colour_spaces(void **state) {
    (void)state;
    static const uint8_t colour[] = {200, 90, 30}, grey[] = {77}, inks[] = {200, 100, 50, 128};
    static const int expected[] = {200, 90, 30}, same[] = {77, 77, 77},
                     mixed[] = {200 * 128 / 255, 100 * 128 / 255, 50 * 128 / 255};
    const jpeg_kind colours = jpeg_with_less_chroma(true);
    flat(20, 12, 3, colour);
    write_jpeg(20, 12, &colours);
    hu_image image = decode(12);
    assert_true(image.width == 20 && image.height == 12);
    expect_flat(&image, expected);
    hu_image_free(&image);
    flat(20, 12, 1, grey);
    write_jpeg(20, 12, &jpeg_of_grey);
    image = decode(12);
    expect_flat(&image, same);
    hu_image_free(&image);
    for (int stored = 0; stored < 2; stored++) {
        jpeg_kind of_inks = jpeg_of_inks;
        if (stored) of_inks.stored = JCS_YCCK;
        flat(20, 12, 4, inks);
        write_jpeg(20, 12, &of_inks);
        image = decode(12);
        expect_flat(&image, mixed);
        hu_image_free(&image);
    }
}

static void large_jpegs_are_decoded_smaller(void **state) {
    (void)state;
    static const struct {
        int64_t side, width, height;
    } table[] = {{100, 400, 300}, {75, 200, 150}, {76, 400, 300}, {20, 100, 75}, {10, 50, 38}};
    draw(400, 300, 3);
    write_jpeg(400, 300, &jpeg_of_colours);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        hu_image image = decode(table[i].side);
        assert_int_equal(image.width, table[i].width);
        assert_int_equal(image.height, table[i].height);
        hu_image_free(&image);
    }
}

/* Of a picture that lies in any way and shares its chroma in any way. What is not decoded is left
 * as it was: other bytes there give the same square. */
static void check_middle(const jpeg_kind *kind, int64_t width, int64_t height, int64_t side) {
    static uint8_t expected[SIDE_MOST * SIDE_MOST * 3], found[SIDE_MOST * SIDE_MOST * 3];
    hu_image_resizer resizer = {0};
    draw((int)width, (int)height,
         kind->given == JCS_GRAYSCALE ? 1
         : kind->given == JCS_RGB     ? 3
                                      : 4);
    write_jpeg((int)width, (int)height, kind);
    for (int orientation = 1; orientation <= 8; orientation++) {
        hu_image image = decode(side);
        size_t bytes = (size_t)(image.width * image.height * 3);
        for (int turn = 0; turn < 2; turn++) {
            if (turn == 1) {
                image = decode(HU_IMAGE_PIXELS_MAX); /* has room for all that a file may need */
                memset(image.pixels, 77, bytes);
                assert_int_equal(
                    hu_image_decode_jpeg("picture", file, file_bytes, side, true, &image), HU_OK);
            }
            image.orientation = orientation;
            assert_int_equal(hu_image_turn("picture", &image), HU_OK);
            assert_int_equal(hu_image_shrink(&image, side, turn ? found : expected, &resizer),
                             HU_OK);
            hu_image_free(&image);
        }
        assert_memory_equal(found, expected, (size_t)(side * side * 3));
    }
    hu_image_resizer_free(&resizer);
}

static void middles_are_those_of_whole_pictures(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{320, 100}, {97, 150}, {201, 49}, {64, 64}};
    static const int64_t sides[] = {1, 7, 33, 90, SIDE_MOST};
    static const int shared[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
            for (size_t k = 0; k < sizeof shared / sizeof *shared; k++) {
                jpeg_kind kind = jpeg_of_colours;
                kind.across = shared[k][0];
                kind.down = shared[k][1];
                kind.is_progressive = (i + s + k) % 7 == 6;
                check_middle(&kind, sizes[i][0], sizes[i][1], sides[s]);
            }
            check_middle(&jpeg_of_grey, sizes[i][0], sizes[i][1], sides[s]);
            check_middle(&jpeg_of_inks, sizes[i][0], sizes[i][1], sides[s]);
        }
}

/* Where the frame header of the JPEG begins. */
static size_t find_frame(void) {
    size_t at = 2;
    while (file[at + 1] != 0xc0) at += 2 + (size_t)(file[at + 2] << 8 | file[at + 3]);
    return at;
}

/* One that is not found at once, after bytes that fill, is the same picture; so is one that is
 * decoded into the memory of another. */
static void a_frame_is_found_wherever_it_is(void **state) {
    (void)state;
    enum { FILLS = 3 };
    const jpeg_kind kind = jpeg_with_less_chroma(true);
    draw(30, 22, 3);
    write_jpeg(30, 22, &kind);
    hu_image plain = decode(30), again = {0};
    size_t at = find_frame();
    memmove(file + at + FILLS, file + at, file_bytes - at);
    memset(file + at, 0xff, FILLS);
    file_bytes += FILLS;
    hu_image filled = decode(30);
    assert_true(filled.width == 30 && filled.height == 22);
    assert_memory_equal(filled.pixels, plain.pixels, 30 * 22 * 3);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(hu_image_decode("picture", file, file_bytes, 30, &again), HU_OK);
        assert_memory_equal(again.pixels, plain.pixels, 30 * 22 * 3);
        memset(again.pixels, 77, 30 * 22 * 3);
    }
    hu_image_free(&plain);
    hu_image_free(&filled);
    hu_image_free(&again);
}

/* Exactly without losses, near with few; of every size of chunk that a cut leaves nothing. */
static void webp_is_read(void **state) {
    (void)state;
    draw(13, 9, 3);
    write_webp(13, 9, 0.0f);
    hu_image image = decode(9);
    assert_true(image.width == 13 && image.height == 9);
    assert_memory_equal(image.pixels, pixels, 13 * 9 * 3);
    hu_image_free(&image);
    for (size_t bytes = 0; bytes < file_bytes - 1; bytes++)
        assert_int_equal(try_decode(file, bytes), HU_ERR_CORRUPT);
    for (int64_t i = 0; i < 32 * 32 * 3; i++) pixels[i] = (uint8_t)(100 + i / 3 % 32);
    write_webp(32, 32, 95.0f);
    image = decode(32);
    for (int64_t i = 0; i < 32 * 32 * 3; i++)
        assert_true(abs((int)image.pixels[i] - (int)pixels[i]) < 12);
    hu_image_free(&image);
}

/* Every cut is noticed, up to the very end: of a PNG where the last chunk begins (12 bytes). None
 * is taken for a picture that is too large: libjpeg leaves the sizes alone if it meets none. */
static void cut_files_are_refused(void **state) {
    (void)state;
    const jpeg_kind kind = jpeg_with_less_chroma(false);
    draw(30, 22, 3);
    write_jpeg(30, 22, &kind);
    for (size_t bytes = 0; bytes + 2 < file_bytes; bytes++)
        assert_int_equal(try_decode(file, bytes), HU_ERR_CORRUPT);
    write_png(30, 22, PNG_FORMAT_RGB, pixels);
    for (size_t bytes = 0; bytes + 16 < file_bytes; bytes++)
        assert_int_equal(try_decode(file, bytes), HU_ERR_CORRUPT);
}

/* The last scan of a progressive picture so many times instead of once. */
static void repeat_scan(size_t times) {
    size_t start = file_bytes;
    do start--;
    while (file[start] != 0xff || file[start + 1] != 0xda);
    size_t scan = file_bytes - 2 - start; /* without the end of the image */
    assert_true(file_bytes + times * scan <= sizeof file);
    for (size_t i = 1; i < times; i++) memcpy(file + start + i * scan, file + start, scan);
    file_bytes = start + times * scan + 2;
    memcpy(file + file_bytes - 2, "\xff\xd9", 2);
}

/* One that is no progress, and sound ones of 379 and 568 scans. */
static void scans_without_end_are_refused(void **state) {
    (void)state;
    jpeg_kind kind = jpeg_of_colours;
    kind.is_progressive = true;
    draw(16, 16, 3);
    write_jpeg(16, 16, &kind);
    repeat_scan(3);
    assert_int_equal(try_decode(file, file_bytes), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "progression"));
    kind.planes = 2;
    write_jpeg(16, 16, &kind);
    assert_int_equal(try_decode(file, file_bytes), HU_OK);
    kind.planes = 3;
    write_jpeg(16, 16, &kind);
    assert_int_equal(try_decode(file, file_bytes), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "more than 500 scans"));
}

/* The least that a picture can take: every block the same, codes made for it. */
static void pixels_that_no_byte_stands_for_are_refused(void **state) {
    (void)state;
    enum { SIDE = 2400 };
    uint8_t *grey = calloc(SIDE, SIDE);
    size_t bytes;
    hu_image image = {0};
    jpeg_kind kind = jpeg_of_grey;
    kind.quality = 50;
    kind.is_progressive = true;
    uint8_t *made = jpeg_file(grey, SIDE, SIDE, &kind, &bytes);
    assert_int_equal(hu_image_decode("picture", made, bytes, SIDE, &image), HU_OK);
    hu_image_free(&image);
    /* The last scan, which is a few bytes, a hundred times. */
    size_t start = bytes;
    do start--;
    while (made[start] != 0xff || made[start + 1] != 0xda);
    size_t scan = bytes - 2 - start, many = start + 100 * scan + 2;
    uint8_t *bomb = calloc(1, many);
    memcpy(bomb, made, start);
    for (size_t i = 0; i < 100; i++) memcpy(bomb + start + i * scan, made + start, scan);
    memcpy(bomb + many - 2, "\xff\xd9", 2);
    assert_int_equal(hu_image_decode("picture", bomb, many, SIDE, &image), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "scans of 2400x2400 pixels"));
    free(bomb);
    uint8_t *frame = memchr(made, 0xc2, bytes);
    while (frame[-1] != 0xff) frame = memchr(frame + 1, 0xc2, bytes - (size_t)(frame + 1 - made));
    frame[4] = frame[6] = 0x27; /* about 10,000 pixels a side */
    assert_int_equal(hu_image_decode("picture", made, bytes, SIDE, &image), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "expected at most 1024 in a byte"));
    free(made);
    free(grey);
}

static void changed_files_do_no_harm(void **state) {
    (void)state;
    hu_random_key key = {.seed = 3, .stream = 1};
    const jpeg_kind kind_of_jpeg = jpeg_with_less_chroma(true);
    for (int kind = 0; kind < 4; kind++) {
        draw(30, 22, 3);
        if (kind > 1)
            write_webp(30, 22, kind == 2 ? 0.0f : 80.0f);
        else if (kind)
            write_jpeg(30, 22, &kind_of_jpeg);
        else
            write_png(30, 22, PNG_FORMAT_RGB, pixels);
        for (uint64_t turn = 0; turn < 3000; turn++) {
            uint32_t word = hu_random_word(&key, 2 * turn),
                     bits = hu_random_word(&key, 2 * turn + 1);
            size_t at = word % file_bytes;
            uint8_t old = file[at];
            file[at] ^= (uint8_t)(1 + bits % 255);
            try_decode(file, file_bytes);
            if (turn % 4 != 0) file[at] = old; /* now and then the damage stays */
            if (turn % 64 == 63) file[turn % file_bytes] = (uint8_t)bits;
        }
    }
}

static void other_files_are_refused(void **state) {
    (void)state;
    static const uint8_t gif[] = "GIF89a", heic[] = "\0\0\0\030ftypheic", zeros[64];
    assert_int_equal(try_decode(gif, sizeof gif), HU_ERR_KIND);
    assert_non_null(
        strstr(hu_last_error(), "found a GIF file, expected JPEG, PNG or WebP: 'convert"));
    assert_int_equal(try_decode(heic, sizeof heic), HU_ERR_KIND);
    assert_non_null(strstr(hu_last_error(), "found a HEIC file"));
    assert_non_null(strstr(hu_last_error(), "heif-convert FILE FILE.jpg"));
    assert_int_equal(try_decode(zeros, sizeof zeros), HU_ERR_CORRUPT);
    assert_int_equal(try_decode(zeros, 0), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "empty"));
    /* A picture of 60,000 x 60,000 pixels, said by its header alone. */
    draw(8, 8, 3);
    write_jpeg(8, 8, &jpeg_of_colours);
    for (size_t i = 0; i + 8 < file_bytes; i++) {
        if (file[i] != 0xff || file[i + 1] != 0xc0) continue;
        file[i + 5] = file[i + 7] = 60000 >> 8;
        file[i + 6] = file[i + 8] = 60000 & 0xff;
        break;
    }
    assert_int_equal(try_decode(file, file_bytes), HU_ERR_LIMIT);
    assert_non_null(strstr(hu_last_error(), "60000x60000 pixels, expected at most 134217728"));
}

static void limits_hold(void **state) {
    (void)state;
    draw(8, 9, 3);
    write_jpeg(8, 9, &jpeg_of_colours);
    hu_image_limit(8 * 9);
    assert_int_equal(try_decode(file, file_bytes), HU_OK);
    hu_image_limit(8 * 9 - 1);
    assert_int_equal(try_decode(file, file_bytes), HU_ERR_LIMIT);
    assert_non_null(strstr(hu_last_error(), "8x9 pixels, expected at most 71"));
    hu_image_limit(HU_IMAGE_PIXELS_MAX);
    assert_int_equal(try_decode(file, file_bytes), HU_OK);
}

/* The first numbers and the CRC-32 of all as Pillow 9.4 gives them: resize(..., BILINEAR), crop. */
static void resizing_is_pillows(void **state) {
    (void)state;
    hu_image_resizer resizer = {0}; /* used again for other sizes */
    static const struct {
        int64_t width, height, side;
        uint8_t first[6];
        uint32_t crc;
    } table[] = {{13, 9, 5, {124, 138, 141, 114, 144, 155}, 1687163623},
                 {5, 7, 8, {41, 94, 147, 59, 112, 165}, 1453784252},
                 {640, 17, 6, {131, 91, 105, 106, 137, 149}, 248478106}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t side = table[i].side;
        uint8_t square[8 * 8 * 3];
        draw(table[i].width, table[i].height, 3);
        hu_image image = {.width = table[i].width, .height = table[i].height, .pixels = pixels};
        assert_int_equal(hu_image_shrink(&image, side, square, &resizer), HU_OK);
        assert_memory_equal(square, table[i].first, sizeof table[i].first);
        assert_int_equal(crc32(0, square, (unsigned)(side * side * 3)), table[i].crc);
    }
    hu_image_resizer_free(&resizer);
}

/* As Pillow's crop and resize(..., BILINEAR) of the columns, then of the rows; what lies beyond the
 * result stays as it is. */
static void a_rectangle_is_resized_alone(void **state) {
    (void)state;
    hu_image_resizer resizer = {0}; /* used again for other sizes */
    static const struct {
        int64_t width, height;
        hu_image_cut cut;
        int64_t to_height, to_width;
        uint8_t first[6];
        uint32_t crc;
    } table[] = {{40, 30, {3, 5, 21, 11}, 8, 8, {141, 106, 95, 148, 115, 112}, 2387623739},
                 {40, 30, {0, 0, 40, 30}, 5, 7, {127, 133, 131, 133, 124, 124}, 832493560},
                 {20, 20, {9, 2, 3, 17}, 6, 8, {116, 106, 159, 117, 110, 158}, 745958279},
                 {20, 20, {4, 4, 8, 6}, 6, 8, {112, 165, 218, 177, 230, 27}, 2369392947}};
    enum { ROW = 40 };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint8_t wide[8 * ROW], tight[8 * 8 * 3];
        memset(wide, 77, sizeof wide);
        draw(table[i].width, table[i].height, 3);
        hu_image image = {.width = table[i].width, .height = table[i].height, .pixels = pixels};
        size_t row = (size_t)table[i].to_width * 3, rows = (size_t)table[i].to_height;
        assert_int_equal(hu_image_resize(&image, &table[i].cut, table[i].to_height,
                                         table[i].to_width, ROW, wide, &resizer),
                         HU_OK);
        for (size_t y = 0; y < rows; y++) {
            memcpy(tight + y * row, wide + y * ROW, row);
            for (size_t x = row; x < ROW; x++) assert_int_equal(wide[y * ROW + x], 77);
        }
        assert_memory_equal(tight, table[i].first, sizeof table[i].first);
        assert_int_equal(crc32(0, tight, (unsigned)(rows * row)), table[i].crc);
    }
    hu_image_resizer_free(&resizer);
}

/* Every rectangle of what an image becomes: smaller, larger, one side of each, and as it is. */
static void a_part_is_what_the_whole_has_there(void **state) {
    (void)state;
    enum { WIDTH = 13, HEIGHT = 9, LONGEST = 31, ROW = 3 * LONGEST + 5 };
    static const int sizes[][2] = {{5, 4}, {31, 22}, {6, 20}, {26, 3}, {WIDTH, HEIGHT}};
    static uint8_t whole[LONGEST * LONGEST * 3], part[LONGEST * ROW];
    hu_image_resizer resizer = {0};
    draw(WIDTH, HEIGHT, 3);
    hu_image image = {.width = WIDTH, .height = HEIGHT, .pixels = pixels};
    const hu_image_cut all = {0, 0, WIDTH, HEIGHT};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int width = sizes[s][0], height = sizes[s][1];
        assert_int_equal(
            hu_image_resize(&image, &all, height, width, (size_t)(3 * width), whole, &resizer),
            HU_OK);
        for (int i = 0; i < width * height; i++) {
            int left = i % width, top = i / width;
            hu_image_cut cut = {left, top, 1 + (i * 7) % (width - left),
                                1 + (i * 5) % (height - top)};
            memset(part, 77, sizeof part);
            assert_int_equal(hu_image_resize_part(&image, height, width, &cut, ROW, part, &resizer),
                             HU_OK);
            for (int64_t y = 0; y < cut.height; y++) {
                assert_memory_equal(part + y * ROW, whole + 3 * ((top + y) * width + left),
                                    (size_t)(3 * cut.width));
                for (int64_t x = 3 * cut.width; x < ROW; x++)
                    assert_int_equal(part[y * ROW + x], 77);
            }
        }
    }
    hu_image_resizer_free(&resizer);
}

static void the_same_size_changes_nothing(void **state) {
    (void)state;
    hu_image_resizer resizer = {0}; /* used again for other sizes */
    uint8_t square[8 * 8 * 3];
    draw(8, 8, 3);
    hu_image image = {.width = 8, .height = 8, .pixels = pixels};
    assert_int_equal(hu_image_shrink(&image, 8, square, &resizer), HU_OK);
    assert_memory_equal(square, pixels, sizeof square);
    hu_image_resizer_free(&resizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_gives_the_bytes_back),
        cmocka_unit_test(a_png_file_is_written),
        cmocka_unit_test(transparency_is_dropped),
        cmocka_unit_test(sixteen_bits_become_eight),
        cmocka_unit_test(jpegs_of_all_colour_spaces),
        cmocka_unit_test(large_jpegs_are_decoded_smaller),
        cmocka_unit_test(middles_are_those_of_whole_pictures),
        cmocka_unit_test(a_frame_is_found_wherever_it_is),
        cmocka_unit_test(webp_is_read),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(scans_without_end_are_refused),
        cmocka_unit_test(pixels_that_no_byte_stands_for_are_refused),
        cmocka_unit_test(changed_files_do_no_harm),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(resizing_is_pillows),
        cmocka_unit_test(a_rectangle_is_resized_alone),
        cmocka_unit_test(a_part_is_what_the_whole_has_there),
        cmocka_unit_test(the_same_size_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
