#include "data/image.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

hu_status hu_image_reserve(const char *name, int64_t width, int64_t height, size_t pixel_bytes,
                           hu_image *image) {
    void *block;
    *image = (hu_image){0};
    if (width < 1 || height < 1)
        return hu_fail(HU_ERR_CORRUPT, "%s: found an image of %lldx%lld pixels", name,
                       (long long)width, (long long)height);
    if (width > HU_IMAGE_PIXELS_MAX / height)
        return hu_fail(HU_ERR_LIMIT, "%s: found %lldx%lld pixels, expected at most %d", name,
                       (long long)width, (long long)height, HU_IMAGE_PIXELS_MAX);
    hu_status st = hu_alloc_array((size_t)(width * height), pixel_bytes, &block);
    if (st == HU_OK) *image = (hu_image){width, height, block};
    return st;
}

hu_status hu_image_decode(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                          hu_image *image) {
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff}, png[] = {0x89, 'P', 'N', 'G'};
    *image = (hu_image){0};
    if (bytes == 0) return hu_fail(HU_ERR_CORRUPT, "%s: found an empty file", name);
    if (bytes >= sizeof jpeg && memcmp(data, jpeg, sizeof jpeg) == 0)
        return hu_image_decode_jpeg(name, data, bytes, side, image);
    if (bytes >= sizeof png && memcmp(data, png, sizeof png) == 0)
        return hu_image_decode_png(name, data, bytes, image);
    return hu_fail(HU_ERR_CORRUPT, "%s: offset 0: found byte 0x%02x, expected a JPEG or PNG file",
                   name, data[0]);
}
