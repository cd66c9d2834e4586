/* The eight ways in which a picture can lie. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/image.h"

bool hu_image_lies_across(const hu_image *image) {
    return image->orientation >= HU_IMAGE_FIRST_ACROSS;
}

const char *hu_image_seen(const hu_image *image, char text[HU_IMAGE_SEEN_BYTES]) {
    text[0] = '\0';
    if (hu_image_lies_across(image))
        snprintf(text, HU_IMAGE_SEEN_BYTES, " (EXIF turns it: %lldx%lld as seen)",
                 (long long)image->height, (long long)image->width);
    return text;
}

hu_status hu_image_turn(const char *name, hu_image *image) {
    int o = image->orientation;
    hu_image made = {0};
    if (o <= HU_IMAGE_UPRIGHT) return HU_OK;
    bool is_across = hu_image_lies_across(image);
    bool from_bottom = o == 3 || o == 4 || o == 6 || o == 7;
    bool from_right = o == 2 || o == 3 || o == 7 || o == 8;
    int64_t height = image->height, width = image->width, row = width * HU_IMAGE_CHANNELS;
    hu_status st = hu_image_reserve(name, is_across ? height : width, is_across ? width : height,
                                    HU_IMAGE_CHANNELS, &made);
    if (st != HU_OK) return st;
    /* A step down and one to the right in the file's pixels, and what they are in the result. */
    int64_t down = from_bottom ? -row : row;
    int64_t right = from_right ? -HU_IMAGE_CHANNELS : HU_IMAGE_CHANNELS;
    int64_t by_row = is_across ? right : down, by_column = is_across ? down : right;
    const uint8_t *first = image->pixels + (from_bottom ? (height - 1) * row : 0) +
                           (from_right ? row - HU_IMAGE_CHANNELS : 0);
    uint8_t *to = made.pixels;
    for (int64_t y = 0; y < made.height; y++)
        for (int64_t x = 0; x < made.width; x++, to += HU_IMAGE_CHANNELS)
            memcpy(to, first + y * by_row + x * by_column, HU_IMAGE_CHANNELS);
    hu_image_free(image);
    *image = made;
    image->orientation = HU_IMAGE_UPRIGHT;
    return HU_OK;
}
