/* WebP by libwebp: a single picture, with or without losses. */
#include <webp/decode.h>

#include "base/error.h"
#include "data/image.h"

/* libwebp has numbers alone for what is wrong. */
static const char *words_of(VP8StatusCode code) {
    return code == VP8_STATUS_NOT_ENOUGH_DATA       ? "the file is cut off"
           : code == VP8_STATUS_UNSUPPORTED_FEATURE ? "a kind of it that libwebp cannot read"
                                                    : "its bytes are no picture";
}

static hu_status fail(const char *name, VP8StatusCode code) {
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        return hu_fail(HU_ERR_MEMORY, "%s: no memory to decode the WebP file", name);
    return hu_fail(HU_ERR_CORRUPT, "%s: damaged WebP file: %s", name, words_of(code));
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
    if (st != HU_OK) hu_image_free(image);
    return st;
}
