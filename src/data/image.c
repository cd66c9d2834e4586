#include "data/image.h"

#include "base/error.h"
#include "base/memory.h"

hu_status hu_image_reserve(const char *name, int64_t width, int64_t height, size_t pixel_bytes,
                           hu_image *image) {
    void *block;
    *image = (hu_image){0};
    if (width < 1 || height < 1)
        return hu_fail(HU_ERR_CORRUPT, "%s: found an image of %lldx%lld pixels", name,
                       (long long)width, (long long)height);
    /* The division cannot overflow as the product could: a header of a few bytes can claim any
     * size. */
    if (width > HU_IMAGE_PIXELS_MAX / height)
        return hu_fail(HU_ERR_LIMIT, "%s: found %lldx%lld pixels, expected at most %d", name,
                       (long long)width, (long long)height, HU_IMAGE_PIXELS_MAX);
    hu_status st = hu_alloc_array((size_t)(width * height), pixel_bytes, &block);
    if (st == HU_OK) *image = (hu_image){width, height, block};
    return st;
}
