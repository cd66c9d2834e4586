/* PNG by libpng's simplified interface. */
#include "data/image_write.h"

#include <png.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

static hu_status check(int64_t height, int64_t width, int64_t channels) {
    if (channels != 1 && channels != 3)
        return hu_fail(HU_ERR_ARGUMENT, "a picture of %lld channels, expected 1 or 3",
                       (long long)channels);
    if (height < 1 || width < 1 || height > HU_IMAGE_WRITE_MOST || width > HU_IMAGE_WRITE_MOST)
        return hu_fail(HU_ERR_LIMIT, "a picture of %lld x %lld pixels, expected 1..%d",
                       (long long)height, (long long)width, HU_IMAGE_WRITE_MOST);
    return HU_OK;
}

hu_status hu_image_png(const char *name, int64_t height, int64_t width, int64_t channels,
                       const uint8_t *pixels, uint8_t **made, size_t *made_bytes) {
    hu_status st = HU_OK;
    void *block = NULL;
    png_image png = {.version = PNG_IMAGE_VERSION};
    png_alloc_size_t bytes = 0;
    *made = NULL;
    HU_TRY(check(height, width, channels));
    png.width = (png_uint_32)width;
    png.height = (png_uint_32)height;
    png.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
    HU_TRY(hu_alloc(bytes, &block));
    if (!png_image_write_to_memory(&png, block, &bytes, 0, pixels, 0, NULL))
        HU_TRY(hu_fail(HU_ERR_IO, "%s: cannot make a PNG: %s", name, png.message));
    *made = block;
    *made_bytes = bytes;
    block = NULL;
done:
    png_image_free(&png);
    hu_free(block);
    return st;
}

/* In memory first: a file is replaced as a whole. */
hu_status hu_image_write_png(const char *path, int64_t height, int64_t width, int64_t channels,
                             const uint8_t *pixels) {
    uint8_t *png = NULL;
    size_t bytes;
    hu_status st = hu_image_png(path, height, width, channels, pixels, &png, &bytes);
    if (st == HU_OK) st = hu_file_replace(path, png, bytes);
    hu_free(png);
    return st;
}
