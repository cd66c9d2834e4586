/* What stands beside the pixels of a picture: warnings, gamma, EXIF. */
#include <zlib.h>

#include "base/rng.h"
#include "image_files.h"
#include "media/image.h"
#include "media/image_files.h"

/* ---- what libjpeg warns of ---- */

/* Puts bytes in front of the file's place. */
static void insert(size_t at, const void *bytes, size_t count) {
    assert_true(file_bytes + count <= sizeof file);
    memmove(file + at + count, file + at, file_bytes - at);
    memcpy(file + at, bytes, count);
    file_bytes += count;
}

/* Where the first marker of a kind begins. */
static size_t find_marker(int kind) {
    size_t at = 2;
    while (file[at + 1] != kind) at += 2 + (size_t)(file[at + 2] << 8 | file[at + 3]);
    return at;
}

/* A stray byte between segments, a revision of JFIF that is not known, a sequential scan whose
 * parameters are zeros. */
static void oddity(int number) {
    size_t scan = find_marker(0xda);
    if (number == 0) insert(find_marker(0xdb), "\x55", 1);
    if (number == 1) file[find_marker(0xe0) + 9] = 2; /* 2.01 */
    if (number == 2) memset(file + scan + 2 + (file[scan + 2] << 8 | file[scan + 3]) - 3, 0, 3);
}

/* Odd, but every pixel is present; and the same files cut off, of which the oddity is the first
 * warning, and the cut the second. */
static void harmless_oddities_hide_no_damage(void **state) {
    (void)state;
    enum { ODDITIES = 3 };
    const jpeg_kind kind = jpeg_with_less_chroma(true);
    for (int odd = 0; odd < ODDITIES; odd++) {
        draw(30, 22, 3);
        write_jpeg(30, 22, &kind);
        hu_image plain = decode(30);
        size_t data = find_marker(0xda) + 16;
        oddity(odd);
        hu_image image = decode(30);
        assert_memory_equal(image.pixels, plain.pixels, 30 * 22 * 3);
        hu_image_free(&image);
        hu_image_free(&plain);
        for (size_t bytes = data; bytes + 2 < file_bytes; bytes++) {
            assert_int_equal(try_decode(file, bytes), HU_ERR_CORRUPT);
            assert_non_null(strstr(hu_last_error(), "Premature end of JPEG file"));
        }
    }
}

/* Data that libjpeg goes on after, with pixels that are not those of the picture. */
static void wrong_data_are_damage(void **state) {
    (void)state;
    jpeg_kind kind = jpeg_with_less_chroma(true);
    kind.restart = 1;
    draw(64, 48, 3);
    write_jpeg(64, 48, &kind);
    size_t at = find_marker(0xda) + 14;
    while (!(file[at] == 0xff && file[at + 1] >= 0xd0 && file[at + 1] <= 0xd7)) at++;
    uint8_t found = file[at + 1];
    file[at + 1] = 0xd5;
    assert_int_equal(try_decode(file, file_bytes), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "instead of RST"));
    file[at + 1] = found;
    assert_int_equal(try_decode(file, file_bytes), HU_OK);
    memcpy(file + at - 7, "\x7f\xff\0\xff\0\xff\0", 7); /* no code is so many ones */
    assert_int_equal(try_decode(file, file_bytes), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "Corrupt JPEG data"));
}

/* ---- metadata ---- */

/* A PNG by the full interface: rows of one number for every column, gamma 1.0 beside them. */
typedef struct png_kind {
    int colour, bits, is_interlaced;
} png_kind;

static void write_kind(const png_kind *kind, int width, int height, const uint8_t *row) {
    static const png_color colours[4] = {{10, 20, 30}, {200, 100, 50}, {0, 255, 7}, {90, 91, 92}};
    static const png_byte clear[] = {128, 0};
    const png_color_16 grey = {.gray = 1};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    file_bytes = 0;
    png_set_write_fn(png, NULL, take, NULL);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, kind->bits, kind->colour,
                 kind->is_interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_gAMA(png, info, 1.0);
    if (kind->colour == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, colours, kind->bits == 1 ? 2 : 4);
        png_set_tRNS(png, info, clear, 2, NULL);
    }
    if (kind->colour == PNG_COLOR_TYPE_GRAY) png_set_tRNS(png, info, NULL, 0, &grey);
    png_write_info(png, info);
    int passes = kind->is_interlaced ? png_set_interlace_handling(png) : 1;
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < height; y++) png_write_row(png, row);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
}

/* Every kind of PNG: its numbers as they stand, whatever gamma the file claims. */
static void no_metadata_changes_a_png(void **state) {
    (void)state;
    enum { WIDTH = 8, HEIGHT = 3 };
    static const png_kind kinds[] = {
        {PNG_COLOR_TYPE_GRAY, 1, 0},        {PNG_COLOR_TYPE_GRAY, 2, 1},
        {PNG_COLOR_TYPE_GRAY, 4, 0},        {PNG_COLOR_TYPE_GRAY, 8, 1},
        {PNG_COLOR_TYPE_GRAY, 16, 0},       {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0},
        {PNG_COLOR_TYPE_GRAY_ALPHA, 16, 1}, {PNG_COLOR_TYPE_RGB, 8, 1},
        {PNG_COLOR_TYPE_RGB, 16, 0},        {PNG_COLOR_TYPE_RGB_ALPHA, 8, 0},
        {PNG_COLOR_TYPE_RGB_ALPHA, 16, 0},  {PNG_COLOR_TYPE_PALETTE, 1, 0},
        {PNG_COLOR_TYPE_PALETTE, 2, 1}};
    static const int of_palette[4][3] = {{10, 20, 30}, {200, 100, 50}, {0, 255, 7}, {90, 91, 92}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const png_kind *kind = &kinds[k];
        bool is_palette = kind->colour == PNG_COLOR_TYPE_PALETTE;
        bool has_alpha = kind->colour & PNG_COLOR_MASK_ALPHA && !is_palette;
        int channels = is_palette || !(kind->colour & PNG_COLOR_MASK_COLOR) ? 1 : 3;
        int stored = channels + has_alpha, bits = kind->bits,
            most = bits < 16 ? (1 << bits) - 1 : 65535;
        uint8_t row[WIDTH * 4 * 2] = {0};
        int number[WIDTH * 4];
        for (int i = 0; i < WIDTH * stored; i++) {
            number[i] = (i * 7919 + 3001 * (i % 5)) % (most + 1);
            if (is_palette && number[i] > 3) number[i] %= 4;
            if (bits == 16) {
                row[2 * i] = (uint8_t)(number[i] >> 8);
                row[2 * i + 1] = (uint8_t)number[i];
            } else {
                row[i * bits / 8] |= (uint8_t)(number[i] << (8 - bits - i * bits % 8));
            }
        }
        write_kind(kind, WIDTH, HEIGHT, row);
        hu_image image = decode(HEIGHT);
        for (int i = 0; i < WIDTH * HEIGHT; i++)
            for (int c = 0; c < 3; c++) {
                int n = number[i % WIDTH * stored + (channels == 3 ? c : 0)];
                int expected = is_palette ? of_palette[n][c] : (int)((double)n * 255 / most + 0.5);
                assert_int_equal(image.pixels[3 * i + c], expected);
            }
        hu_image_free(&image);
    }
}

/* EXIF with a second entry in front; big: which end of a number comes first. [bytes] of block. */
static size_t exif_block(bool big, int orientation, uint8_t *block) {
    static const uint8_t large[] = {'M', 'M', 0, 42, 0, 0,   0, 8, 0, 2, 1,    0x0f, 0,
                                    2,   0,   0, 0,  1, 'a', 0, 0, 0, 1, 0x12, 0,    3,
                                    0,   0,   0, 1,  0, 0,   0, 0, 0, 0, 0,    0};
    static const uint8_t little[] = {'I', 'I', 42, 0, 8, 0,   0, 0, 2, 0,    0x0f, 1, 2,
                                     0,   1,   0,  0, 0, 'a', 0, 0, 0, 0x12, 1,    3, 0,
                                     1,   0,   0,  0, 0, 0,   0, 0, 0, 0,    0,    0};
    memcpy(block, big ? large : little, sizeof large);
    block[big ? 31 : 30] = (uint8_t)orientation;
    return sizeof large;
}

static void put_number(uint8_t *to, uint32_t number, bool big) {
    for (int i = 0; i < 4; i++) to[big ? 3 - i : i] = (uint8_t)(number >> 8 * i);
}

/* Puts the block into the file that stands there: a segment of a JPEG, a chunk of a PNG in front of
 * the pixels or after them, one of a WebP of the extended form. */
static void put_exif(int kind, const uint8_t *block, size_t bytes) {
    uint8_t segment[256];
    if (kind == 0) {
        memcpy(segment, "\xff\xe1\0\0Exif\0\0", 10);
        segment[3] = (uint8_t)(bytes + 8);
        memcpy(segment + 10, block, bytes);
        insert(2, segment, bytes + 10);
    } else if (kind < 3) {
        put_number(segment, (uint32_t)bytes, true);
        memcpy(segment + 4, "eXIf", 4);
        memcpy(segment + 8, block, bytes);
        put_number(segment + 8 + bytes, (uint32_t)crc32(0, segment + 4, (unsigned)bytes + 4), true);
        insert(kind == 1 ? 33 : file_bytes - 12, segment, bytes + 12);
    } else {
        static const uint8_t extended[] = {'V', 'P', '8', 'X', 10, 0, 0, 0, 8,
                                           0,   0,   0,   12,  0,  0, 8, 0, 0}; /* 13 x 9 pixels */
        insert(12, extended, sizeof extended);
        memcpy(segment, "EXIF", 4);
        put_number(segment + 4, (uint32_t)bytes, false);
        memcpy(segment + 8, block, bytes);
        insert(file_bytes, segment, bytes + 8);
        put_number(file + 4, (uint32_t)file_bytes - 8, false);
    }
}

static void write_with_exif(int kind, const uint8_t *block, size_t bytes) {
    draw(13, 9, 3);
    if (kind == 0)
        write_jpeg(13, 9, &jpeg_of_colours);
    else if (kind < 3)
        write_png(13, 9, PNG_FORMAT_RGB, pixels);
    else
        write_webp(13, 9, 0.0f);
    put_exif(kind, block, bytes);
}

enum { EXIF_KINDS = 4 };

/* Where row 0 and column 0 of the file are seen, as the standard says it: top, bottom, left, right.
 */
static const char *const seen[] = {NULL, "tl", "tr", "br", "bl", "lt", "rt", "rb", "lb"};

static int64_t from(char side, int64_t number, int64_t extent) {
    return side == 't' || side == 'l' ? number : extent - 1 - number;
}

static void exif_says_how_a_picture_is_seen(void **state) {
    (void)state;
    uint8_t block[64];
    for (int kind = 0; kind < EXIF_KINDS; kind++)
        for (int o = 1; o <= 8; o++) {
            write_with_exif(kind, block, exif_block(o % 2, o, block));
            hu_image stored = decode(9), turned = decode(9);
            assert_int_equal(stored.orientation, o);
            assert_true(stored.width == 13 && stored.height == 9);
            assert_int_equal(hu_image_turn("picture", &turned), HU_OK);
            bool is_across = seen[o][0] == 'l' || seen[o][0] == 'r';
            assert_int_equal(hu_image_is_transposed(&stored), is_across);
            assert_int_equal(turned.width, is_across ? 9 : 13);
            assert_int_equal(turned.height, is_across ? 13 : 9);
            for (int64_t y = 0; y < 9; y++)
                for (int64_t x = 0; x < 13; x++) {
                    int64_t row = from(seen[o][0], y, 9), column = from(seen[o][1], x, 13);
                    int64_t at = is_across ? column * 9 + row : row * 13 + column;
                    assert_memory_equal(turned.pixels + 3 * at, stored.pixels + 3 * (y * 13 + x),
                                        3);
                }
            assert_int_equal(turned.orientation, 1);
            hu_image_free(&stored);
            hu_image_free(&turned);
        }
}

/* A block that is cut off, changed, or says nothing leaves the picture as it is, or turned one of
 * eight ways; no byte after it is read. */
static void hostile_exif_does_no_harm(void **state) {
    (void)state;
    hu_random_key key = {.seed = 5, .stream = 1};
    uint8_t block[64];
    for (int big = 0; big < 2; big++) {
        size_t whole = exif_block(big, 6, block);
        assert_int_equal(hu_exif_orientation(block, whole), 6);
        for (size_t bytes = 0; bytes <= whole; bytes++) {
            uint8_t *copy = malloc(bytes ? bytes : 1);
            memcpy(copy, block, bytes);
            assert_int_equal(hu_exif_orientation(copy, bytes), bytes < 34 ? 1 : 6);
            free(copy);
        }
        for (int value = 0; value < 256; value++) {
            exif_block(big, value, block);
            assert_int_equal(hu_exif_orientation(block, whole),
                             value >= 1 && value <= 8 ? value : 1);
        }
        for (uint64_t turn = 0; turn < 20000; turn++) {
            uint8_t *copy = malloc(whole);
            exif_block(big, 6, copy);
            for (uint64_t i = 0; i < 3; i++)
                copy[hu_random_word(&key, 6 * turn + 2 * i) % whole] =
                    (uint8_t)hu_random_word(&key, 6 * turn + 2 * i + 1);
            assert_in_range(hu_exif_orientation(copy, whole), 1, 8);
            free(copy);
        }
    }
    for (int kind = 0; kind < EXIF_KINDS; kind++) {
        memset(block, 0xff, sizeof block);
        write_with_exif(kind, block, 40);
        hu_image image = decode(9);
        assert_true(image.orientation <= 1 && image.width == 13);
        hu_image_free(&image);
    }
}

/* Most bytes that this process has ever had mapped, in KiB. */
static long mapped_at_most(void) {
    char line[256];
    long most = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmPeak: %ld", &most) == 1) break;
    if (status) fclose(status);
    assert_true(most > 0);
    return most;
}

/* A chunk that says two gigabytes, of which none are present. */
static void long_metadata_take_no_memory(void **state) {
    (void)state;
    static const char *const names[] = {"eXIf", "tEXt", "zTXt", "iTXt", "iCCP", "sPLT", "abCd"};
    long before = mapped_at_most();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint8_t chunk[8];
        hu_label_map map;
        draw(13, 9, 1);
        write_png(13, 9, PNG_FORMAT_GRAY, pixels);
        put_number(chunk, 0x7ffffff0, true);
        memcpy(chunk + 4, names[i], 4);
        insert(33, chunk, sizeof chunk);
        assert_int_equal(try_decode(file, file_bytes), HU_ERR_CORRUPT);
        assert_int_equal(hu_label_map_decode("map", file, file_bytes, &map), HU_ERR_CORRUPT);
    }
    assert_in_range(mapped_at_most() - before, 0, 1 << 18);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harmless_oddities_hide_no_damage),
        cmocka_unit_test(wrong_data_are_damage),
        cmocka_unit_test(no_metadata_changes_a_png),
        cmocka_unit_test(exif_says_how_a_picture_is_seen),
        cmocka_unit_test(hostile_exif_does_no_harm),
        cmocka_unit_test(long_metadata_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
