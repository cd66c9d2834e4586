#include "media/image_files.h"

#include <png.h>
#include <setjmp.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "media/image.h"
#include "media/png_input.h"

/* ---- Label maps: pictures whose bytes are class numbers ---- */

enum { MOST_BITS = 8 };

static const char *kind_of(int colour) {
    if (colour & PNG_COLOR_MASK_ALPHA) return "with transparency";
    return colour == PNG_COLOR_TYPE_RGB ? "of three colours" : "of one channel";
}

/* The head of the file: size, and whether it is a label map. */
static hu_status read_head(const char *name, png_structp png, png_infop info, hu_label_map *map) {
    hu_png_pass_over(png);
    png_read_info(png, info);
    int bits = png_get_bit_depth(png, info), colour = png_get_color_type(png, info);
    int64_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    bool is_map = colour == PNG_COLOR_TYPE_GRAY || colour == PNG_COLOR_TYPE_PALETTE;
    if (!is_map || bits > MOST_BITS)
        return hu_fail(
            HU_ERR_CORRUPT,
            "%s: found a PNG %s, %d bits each, expected a label map of one channel of at "
            "most %d bits",
            name, kind_of(colour), bits, MOST_BITS);
    hu_status st = hu_image_check(name, width, height);
    if (st != HU_OK) return st;
    *map = (hu_label_map){.width = width, .height = height};
    return HU_NEW_ARRAY(&map->labels, (size_t)(width * height));
}

/* Left by longjmp where libpng fails; map is in the hands of the caller and freed by it. */
static hu_status decode(const char *name, png_structp png, png_infop info, hu_label_map *map) {
    hu_status st = read_head(name, png, info, map);
    if (st != HU_OK) return st;
    png_set_packing(png); /* one number a byte, where the file packs them */
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < map->height; y++)
            png_read_row(png, map->labels + y * map->width, NULL);
    png_read_end(png, NULL);
    return HU_OK;
}

hu_status hu_label_map_decode(const char *name, const uint8_t *data, size_t bytes,
                              hu_label_map *map) {
    hu_png_input in = {.data = data, .bytes = bytes};
    png_infop info;
    hu_status st;
    *map = (hu_label_map){0};
    png_structp png = hu_png_open(&in, &info);
    if (!png) return hu_fail(HU_ERR_MEMORY, "%s: no memory for a PNG decoder", name);
    if (setjmp(png_jmpbuf(png)) == 0)
        st = decode(name, png, info, map);
    else
        st = hu_png_fail(name, &in);
    png_destroy_read_struct(&png, &info, NULL);
    if (st == HU_OK) return st;
    hu_free(map->labels);
    *map = (hu_label_map){0};
    return st;
}

/* ---- Pictures into PNG files ---- */

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
