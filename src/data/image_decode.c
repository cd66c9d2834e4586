#include "data/image_decode.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

hu_status hu_image_decode(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                          hu_image *image) {
    /* SOI and the first byte of the next marker (ITU-T T.81, annex B); the first half of the PNG
     * signature (PNG specification, 5.2). Endings of names are not asked. */
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

hu_status hu_image_read(const char *path, int64_t side, hu_image *image) {
    uint8_t *data = NULL;
    size_t bytes;
    *image = (hu_image){0};
    hu_status st = hu_file_read_plain(path, HU_IMAGE_FILE_MAX, &data, &bytes);
    if (st == HU_OK) st = hu_image_decode(path, data, bytes, side, image);
    hu_free(data);
    return st;
}
