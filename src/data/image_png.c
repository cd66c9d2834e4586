/* PNG by libpng's simplified interface. */
#include <string.h>

#include <png.h>

#include "base/error.h"
#include "data/image.h"

/* RGBA is asked for, because libpng would blend RGB with a background; alpha is dropped instead,
 * which leaves the colours as the file has them. */
enum { WITH_ALPHA = 4 };

/* [pixels, 4] -> [pixels, 3] in place. */
static void drop_alpha(hu_image *image) {
    for (int64_t i = 0; i < image->width * image->height; i++)
        for (int c = 0; c < HU_IMAGE_CHANNELS; c++)
            image->pixels[i * HU_IMAGE_CHANNELS + c] = image->pixels[i * WITH_ALPHA + c];
}

/* What libpng says; it has no code for memory that ran out. */
static hu_status fail(const char *name, const png_image *png) {
    if (strstr(png->message, "emory"))
        return hu_fail(HU_ERR_MEMORY, "%s: cannot decode the PNG file: %s", name, png->message);
    return hu_fail(HU_ERR_CORRUPT, "%s: damaged PNG file: %s", name, png->message);
}

static hu_status decode(const char *name, const uint8_t *data, size_t bytes, png_image *png,
                        hu_image *image) {
    if (!png_image_begin_read_from_memory(png, data, bytes)) return fail(name, png);
    png->format = PNG_FORMAT_RGBA;
    png->flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* 16 bits are as dark as 8 */
    hu_status st = hu_image_reserve(name, png->width, png->height, WITH_ALPHA, image);
    if (st != HU_OK) return st;
    if (!png_image_finish_read(png, NULL, image->pixels, 0, NULL)) return fail(name, png);
    drop_alpha(image);
    return HU_OK;
}

hu_status hu_image_decode_png(const char *name, const uint8_t *data, size_t bytes,
                              hu_image *image) {
    png_image png = {.version = PNG_IMAGE_VERSION};
    hu_status st = decode(name, data, bytes, &png, image);
    png_image_free(&png);
    if (st != HU_OK) hu_image_free(image);
    return st;
}
