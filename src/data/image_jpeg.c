/* JPEG by libjpeg-turbo. */
#include <stdbool.h>
#include <string.h>

#include <turbojpeg.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/image.h"

/* Cyan, magenta, yellow, black. */
enum { INKS = 4 };

/* What libjpeg only warns of damages the picture, but for stray bytes between segments. */
static bool is_damage(tjhandle decoder) {
    return tjGetErrorCode(decoder) != TJERR_WARNING ||
           !strstr(tjGetErrorStr2(decoder), "extraneous bytes");
}

/* What the decoder says of its last failure. */
static hu_status fail(const char *name, tjhandle decoder) {
    return hu_fail(HU_ERR_CORRUPT, "%s: damaged JPEG file: %s", name, tjGetErrorStr2(decoder));
}

/* The smallest of 1/1 to 1/8 that leaves twice the wanted side. */
static tjscalingfactor scale_for(int width, int height, int64_t side) {
    tjscalingfactor factor = {1, 1};
    int shorter = width < height ? width : height;
    for (int denominator = 2; denominator <= 8; denominator *= 2) {
        tjscalingfactor smaller = {1, denominator};
        if (TJSCALED(shorter, smaller) >= 2 * side) factor = smaller;
    }
    return factor;
}

/* Inks are stored as what they leave of white, as Adobe's programs do. In place. */
static void inks_to_colours(hu_image *image) {
    for (int64_t i = 0; i < image->width * image->height; i++) {
        uint8_t ink[INKS], *to = image->pixels + i * HU_IMAGE_CHANNELS;
        memcpy(ink, image->pixels + i * INKS, sizeof ink);
        for (int c = 0; c < HU_IMAGE_CHANNELS; c++)
            to[c] = (uint8_t)((ink[c] * ink[INKS - 1] + 127) / 255);
    }
}

static hu_status decode(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                        tjhandle decoder, hu_image *image) {
    /* A file without a picture, tables alone or cut short, is no failure there and sets nothing. */
    int width = 0, height = 0, sampling = 0, space = TJCS_RGB, flags = TJFLAG_ACCURATEDCT;
    if (tjDecompressHeader3(decoder, data, bytes, &width, &height, &sampling, &space) != 0 &&
        is_damage(decoder))
        return fail(name, decoder);
    if (width < 1 || height < 1)
        return hu_fail(HU_ERR_CORRUPT, "%s: damaged JPEG file: found no picture", name);
    /* Both are four inks; YCCK is CMYK with its first three turned into luma and chroma. */
    bool has_inks = space == TJCS_CMYK || space == TJCS_YCCK;
    tjscalingfactor factor = scale_for(width, height, side);
    hu_status st = hu_image_reserve(name, width, height, 0, image); /* of the whole picture */
    hu_free(image->pixels);
    *image = (hu_image){0};
    if (st != HU_OK) return st;
    /* The reduced size is never more than what was checked above. */
    width = TJSCALED(width, factor);
    height = TJSCALED(height, factor);
    st = hu_image_reserve(name, width, height, has_inks ? INKS : HU_IMAGE_CHANNELS, image);
    if (st != HU_OK) return st;
    if (tjDecompress2(decoder, data, bytes, image->pixels, width, 0, height,
                      has_inks ? TJPF_CMYK : TJPF_RGB, flags) != 0 &&
        is_damage(decoder))
        return fail(name, decoder);
    if (has_inks) inks_to_colours(image);
    return HU_OK;
}

hu_status hu_image_decode_jpeg(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                               hu_image *image) {
    *image = (hu_image){0};
    tjhandle decoder = tjInitDecompress();
    if (!decoder) return hu_fail(HU_ERR_MEMORY, "%s: no memory for a JPEG decoder", name);
    hu_status st = decode(name, data, bytes, side, decoder, image);
    tjDestroy(decoder);
    if (st == HU_OK) return st;
    hu_free(image->pixels);
    *image = (hu_image){0};
    return st;
}
