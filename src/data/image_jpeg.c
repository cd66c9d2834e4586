/* JPEG by libjpeg-turbo. */
#include <stdbool.h>
#include <string.h>

#include <turbojpeg.h>

#include "base/error.h"
#include "data/image.h"

/* Cyan, magenta, yellow, black. */
enum { INKS = 4 };

/* What libjpeg only warns of damages the picture, but for stray bytes between segments. */
static bool is_damage(tjhandle decoder) {
    return tjGetErrorCode(decoder) != TJERR_WARNING ||
           !strstr(tjGetErrorStr2(decoder), "extraneous bytes");
}

/* What the decoder says of its last failure; it has no code for memory that ran out. */
static hu_status fail(const char *name, tjhandle decoder) {
    if (strstr(tjGetErrorStr2(decoder), "emory"))
        return hu_fail(HU_ERR_MEMORY, "%s: cannot decode the JPEG file: %s", name,
                       tjGetErrorStr2(decoder));
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

/* What is known of a picture before it is decoded. */
typedef struct frame {
    int width, height;
    bool has_inks; /* four of them, instead of grey or three colours */
} frame;

/* The frame header as ITU-T T.81, B.2.2 has it, of a picture of one or three components. false: not
 * found. It spares libjpeg-turbo to read the tables twice, which costs a small picture some
 * percent. */
static bool find_frame(const uint8_t *data, size_t bytes, frame *found) {
    enum {
        FIRST_FRAME = 0xc0,
        LAST_FRAME = 0xc2,
        FIRST_BARE = 0xd0,
        LAST_BARE = 0xda,
        FILL = 0xff
    };
    enum { HEAD = 10 }; /* marker, length, bits, height, width, components */
    for (size_t at = 2; bytes >= HEAD && at <= bytes - HEAD;) {
        const uint8_t *p = data + at;
        int marker = p[1];
        if (p[0] != 0xff || marker < FIRST_FRAME || marker == FILL) return false;
        if (marker >= FIRST_BARE && marker <= LAST_BARE) return false;
        if (marker <= LAST_FRAME) {
            *found = (frame){.height = p[5] << 8 | p[6], .width = p[7] << 8 | p[8]};
            return (p[9] == 1 || p[9] == 3) && found->width > 0 && found->height > 0;
        }
        at += 2 + (size_t)(p[2] << 8 | p[3]);
    }
    return false;
}

static hu_status read_frame(const char *name, const uint8_t *data, size_t bytes, tjhandle decoder,
                            frame *found) {
    /* A file without a picture, tables alone or cut short, is no failure there and sets nothing. */
    int sampling = 0, space = TJCS_RGB;
    *found = (frame){0};
    if (tjDecompressHeader3(decoder, data, bytes, &found->width, &found->height, &sampling,
                            &space) != 0 &&
        is_damage(decoder))
        return fail(name, decoder);
    if (found->width < 1 || found->height < 1)
        return hu_fail(HU_ERR_CORRUPT, "%s: damaged JPEG file: found no picture", name);
    /* Both are four inks; YCCK is CMYK with its first three turned into luma and chroma. */
    found->has_inks = space == TJCS_CMYK || space == TJCS_YCCK;
    return HU_OK;
}

/* Scans of a file: their marker cannot stand within coded data (T.81, annex B.1.1.5). What metadata
 * may hold of it counts too. */
static uint64_t count_scans(const uint8_t *data, size_t bytes) {
    uint64_t scans = 0;
    const uint8_t *end = data + bytes;
    while (data + 1 < end && (data = memchr(data, 0xff, (size_t)(end - data - 1))) != NULL)
        scans += *++data == 0xda;
    return scans;
}

/* A file that promises more pixels than its bytes can hold is refused before they are decoded:
 * every block of 8 x 8 pixels takes one bit at least with Huffman codes (T.81, annex F.2), which
 * are 512 pixels a byte. Twice as many are let through, and 16 times as many visits of a pixel by
 * scans of a progressive file, of which encoders make ten; what costs no time always. With at most
 * 500 scans (TJFLAG_LIMITSCANS) this bounds what a byte of a file costs. */
static hu_status check_promise(const char *name, const frame *whole, const uint8_t *data,
                               size_t bytes) {
    enum { SMALL = 1 << 20, PIXELS_OF_BYTE = 1024, VISITS = 16 };
    uint64_t pixels = (uint64_t)whole->width * (uint64_t)whole->height;
    if (pixels > SMALL && pixels / PIXELS_OF_BYTE > bytes)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: damaged JPEG file: found %dx%d pixels in %zu bytes, expected at most "
                       "%d in a byte",
                       name, whole->width, whole->height, bytes, PIXELS_OF_BYTE);
    uint64_t scans = pixels > SMALL ? count_scans(data, bytes) : 0;
    if (scans <= VISITS || pixels * scans / PIXELS_OF_BYTE / VISITS <= bytes) return HU_OK;
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: damaged JPEG file: found %llu scans of %dx%d pixels in %zu bytes, expected "
                   "fewer",
                   name, (unsigned long long)scans, whole->width, whole->height, bytes);
}

static hu_status decode(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                        tjhandle decoder, hu_image *image) {
    frame whole;
    hu_status st = HU_OK;
    if (!find_frame(data, bytes, &whole)) st = read_frame(name, data, bytes, decoder, &whole);
    if (st == HU_OK) st = hu_image_check(name, whole.width, whole.height);
    if (st == HU_OK) st = check_promise(name, &whole, data, bytes);
    if (st != HU_OK) return st;
    /* The reduced size is never more than what was checked above. */
    tjscalingfactor factor = scale_for(whole.width, whole.height, side);
    int width = TJSCALED(whole.width, factor), height = TJSCALED(whole.height, factor);
    st = hu_image_reserve(name, width, height, whole.has_inks ? INKS : HU_IMAGE_CHANNELS, image);
    if (st != HU_OK) return st;
    if (tjDecompress2(decoder, data, bytes, image->pixels, width, 0, height,
                      whole.has_inks ? TJPF_CMYK : TJPF_RGB,
                      TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS) != 0 &&
        is_damage(decoder))
        return fail(name, decoder);
    if (whole.has_inks) inks_to_colours(image);
    return HU_OK;
}

hu_status hu_image_decode_jpeg(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                               hu_image *image) {
    hu_status st;
    tjhandle decoder = tjInitDecompress();
    if (decoder)
        st = decode(name, data, bytes, side, decoder, image);
    else
        st = hu_fail(HU_ERR_MEMORY, "%s: no memory for a JPEG decoder", name);
    if (decoder) tjDestroy(decoder);
    if (st != HU_OK) hu_image_free(image);
    return st;
}
