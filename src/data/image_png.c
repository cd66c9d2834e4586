/* PNG by libpng's own interface: the simplified one would apply gAMA, which changes pixels. */
#include <setjmp.h>
#include <string.h>

#include "base/error.h"
#include "data/image.h"
#include "data/image_exif.h"
#include "data/png_input.h"

/* Chunks that are no pixels are passed over, but for EXIF: they may be large, and none is to change
 * what the file has. */
static void choose_chunks(png_structp png) {
    static const png_byte read[] = "eXIf";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_AS_DEFAULT, read, 1);
}

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
    choose_chunks(png);
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

/* The chunk may stand behind the pixels. What else is wrong there has changed none of them. */
static void read_orientation(png_structp png, png_infop info, hu_image *image) {
    png_bytep exif = NULL;
    png_uint_32 bytes = 0;
    if (setjmp(png_jmpbuf(png)) == 0) png_read_end(png, info);
    if (png_get_eXIf_1(png, info, &bytes, &exif) != 0)
        image->orientation = hu_exif_orientation(exif, bytes);
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
    if (st == HU_OK) read_orientation(png, info, image);
    png_destroy_read_struct(&png, &info, NULL);
    if (st != HU_OK) hu_image_free(image);
    return st;
}
