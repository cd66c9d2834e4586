/* WebP by libwebp: a single picture, with or without losses. */
#include <string.h>

#include <webp/decode.h>

#include "base/error.h"
#include "data/image.h"
#include "data/image_exif.h"

static hu_status fail(const char *name, VP8StatusCode code) {
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        return hu_fail(HU_ERR_MEMORY, "%s: no memory to decode the WebP file", name);
    if (code == VP8_STATUS_UNSUPPORTED_FEATURE)
        return hu_fail(HU_ERR_KIND,
                       "%s: found a WebP file that moves, or of a kind that libwebp does not read, "
                       "expected a single picture",
                       name);
    return hu_fail(HU_ERR_CORRUPT, "%s: damaged WebP file: %s", name,
                   code == VP8_STATUS_NOT_ENOUGH_DATA ? "the file is cut off"
                                                      : "its bytes are no picture");
}

/* The chunk EXIF of a file: names of four letters, sizes, and contents of an even number of bytes
 * (WebP container specification). 0: there is none. libwebpdemux would find it too, but without
 * memory it would say that there is none. */
static int find_orientation(const uint8_t *data, size_t bytes) {
    enum { RIFF_BYTES = 12, NAME_BYTES = 4, HEAD_BYTES = 8 };
    for (size_t at = RIFF_BYTES; bytes >= HEAD_BYTES && at <= bytes - HEAD_BYTES;) {
        const uint8_t *p = data + at + NAME_BYTES;
        uint64_t size =
            (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
        size_t left = bytes - at - HEAD_BYTES;
        if (size > left) return 0;
        if (memcmp(data + at, "EXIF", NAME_BYTES) == 0)
            return hu_exif_orientation(p + NAME_BYTES, (size_t)size);
        if (size + size % 2 > left) return 0;
        at += HEAD_BYTES + (size_t)(size + size % 2);
    }
    return 0;
}

/* Transparency is dropped: colours stay as the file has them. */
hu_status hu_image_decode_webp(const char *name, const uint8_t *data, size_t bytes,
                               hu_image *image) {
    WebPDecoderConfig config;
    VP8StatusCode code = VP8_STATUS_INVALID_PARAM;
    if (WebPInitDecoderConfig(&config)) code = WebPGetFeatures(data, bytes, &config.input);
    if (code == VP8_STATUS_OK && config.input.has_animation) code = VP8_STATUS_UNSUPPORTED_FEATURE;
    hu_status st = code == VP8_STATUS_OK ? HU_OK : fail(name, code);
    int width = config.input.width, height = config.input.height;
    if (st == HU_OK) st = hu_image_reserve(name, width, height, HU_IMAGE_CHANNELS, image);
    if (st == HU_OK) {
        config.output.colorspace = MODE_RGB;
        config.output.is_external_memory = 1;
        config.output.u.RGBA.rgba = image->pixels;
        config.output.u.RGBA.stride = HU_IMAGE_CHANNELS * width;
        config.output.u.RGBA.size = (size_t)width * (size_t)height * HU_IMAGE_CHANNELS;
        code = WebPDecode(data, bytes, &config);
        WebPFreeDecBuffer(&config.output);
        if (code != VP8_STATUS_OK) st = fail(name, code);
    }
    if (st == HU_OK) image->orientation = find_orientation(data, bytes);
    if (st != HU_OK) hu_image_free(image);
    return st;
}
