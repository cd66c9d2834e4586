/* Label maps by libpng's own interface: the simplified one would look colours up. */
#include "data/image_map.h"

#include <setjmp.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/image.h"
#include "data/png_input.h"

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
