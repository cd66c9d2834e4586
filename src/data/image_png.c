/* PNG by libpng's own interface: the simplified one would apply gAMA, which changes pixels. */
#include <setjmp.h>
#include <string.h>

#include <zlib.h>

#include "base/error.h"
#include "data/image.h"
#include "data/image_exif.h"
#include "data/png_input.h"

/* Every kind as three bytes a pixel, as they are: palettes are looked up, 16 bits are divided by
 * 257, transparency is dropped, gamma and profiles are not applied. */
static void choose_form(png_structp png) {
    png_set_palette_to_rgb(png);
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_scale_16(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
}

/* Left by longjmp where libpng fails; the image is in the hands of the caller and freed by it. */
static hu_status read_pixels(const char *name, png_structp png, png_infop info, hu_image *image) {
    hu_png_pass_over(png);
    png_read_info(png, info);
    hu_status st = hu_image_reserve(name, png_get_image_width(png, info),
                                    png_get_image_height(png, info), HU_IMAGE_CHANNELS, image);
    if (st != HU_OK) return st;
    choose_form(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    int64_t row = image->width * HU_IMAGE_CHANNELS;
    if (png_get_rowbytes(png, info) != (size_t)row)
        return hu_fail(HU_ERR_INTERNAL, "%s: rows of %zu bytes, expected %lld", name,
                       png_get_rowbytes(png, info), (long long)row);
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < image->height; y++)
            png_read_row(png, image->pixels + y * row, NULL);
    return HU_OK;
}

/* The orientation of the chunk eXIf, before or behind the pixels, 0 without a whole one: chunks are
 * a length, a name, contents and a checksum of the last two (PNG specification, 5.3). */
static int find_orientation(const uint8_t *data, size_t bytes) {
    enum { SIGNATURE = 8, LENGTH = 4, NAME = 4, AROUND = 12 };
    for (size_t at = SIGNATURE; bytes >= AROUND && at <= bytes - AROUND;) {
        const uint8_t *p = data + at, *name = p + LENGTH, *contents = name + NAME;
        size_t length = png_get_uint_32(p);
        if (length > bytes - at - AROUND) return 0;
        if (memcmp(name, "IEND", NAME) == 0) return 0;
        if (memcmp(name, "eXIf", NAME) == 0 &&
            crc32(0, name, (uInt)(NAME + length)) == png_get_uint_32(contents + length))
            return hu_exif_orientation(contents, length);
        at += AROUND + length;
    }
    return 0;
}

hu_status hu_image_decode_png(const char *name, const uint8_t *data, size_t bytes,
                              hu_image *image) {
    hu_png_input in = {.data = data, .bytes = bytes};
    png_infop info;
    hu_status st;
    png_structp png = hu_png_open(&in, &info);
    if (!png) {
        hu_image_free(image);
        return hu_fail(HU_ERR_MEMORY, "%s: no memory for a PNG decoder", name);
    }
    if (setjmp(png_jmpbuf(png)) == 0)
        st = read_pixels(name, png, info, image);
    else
        st = hu_png_fail(name, &in);
    if (st == HU_OK) image->orientation = find_orientation(data, bytes);
    png_destroy_read_struct(&png, &info, NULL);
    if (st != HU_OK) hu_image_free(image);
    return st;
}
