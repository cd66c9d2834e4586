#include "data/image.h"

#include <stdatomic.h>

#include "base/error.h"

static _Atomic int64_t most_pixels = HU_IMAGE_PIXELS_MAX;

void hu_image_limit(int64_t pixels) {
    atomic_store(&most_pixels, pixels);
}

hu_status hu_image_check(const char *name, int64_t width, int64_t height) {
    if (width < 1 || height < 1)
        return hu_fail(HU_ERR_CORRUPT, "%s: found an image of %lldx%lld pixels", name,
                       (long long)width, (long long)height);
    int64_t most = atomic_load(&most_pixels);
    /* The division cannot overflow as the product could: a header of a few bytes can claim any
     * size. */
    if (width > most / height)
        return hu_fail(HU_ERR_LIMIT, "%s: found %lldx%lld pixels, expected at most %lld", name,
                       (long long)width, (long long)height, (long long)most);
    return HU_OK;
}

hu_status hu_image_reserve(const char *name, int64_t width, int64_t height, size_t pixel_bytes,
                           hu_image *image) {
    enum { ODD = 1 };
    hu_room room = image->room;
    *image = (hu_image){0};
    hu_status st = hu_image_check(name, width, height);
    size_t bytes = st == HU_OK ? (size_t)(width * height) * pixel_bytes : 0;
    uint8_t *block = NULL;
    if (st == HU_OK) st = hu_room_take(&room, bytes + ODD, &block);
    if (st == HU_OK)
        *image = (hu_image){.width = width, .height = height, .pixels = block + ODD, .room = room};
    else
        hu_room_free(&room);
    return st;
}

void hu_image_free(hu_image *image) {
    hu_room_free(&image->room);
    *image = (hu_image){0};
}
