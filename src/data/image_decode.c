#include "data/image_decode.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"

/* What else the first bytes may be, for the message. */
static const char *name_of(const uint8_t *data, size_t bytes) {
    static const struct {
        const char *mark, *name;
        size_t offset, length;
    } known[] = {{"GIF8", "a GIF", 0, 4},       {"BM", "a BMP", 0, 2},
                 {"II*\0", "a TIFF", 0, 4},     {"MM\0*", "a TIFF", 0, 4},
                 {"ftypavif", "an AVIF", 4, 8}, {"ftyp", "a HEIC or video", 4, 4},
                 {"%PDF", "a PDF", 0, 4},       {"<svg", "an SVG", 0, 4},
                 {"<?xml", "an XML", 0, 5},     {"<!DOCTYPE", "an HTML", 0, 9},
                 {"<html", "an HTML", 0, 5}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes >= known[i].offset + known[i].length &&
            memcmp(data + known[i].offset, known[i].mark, known[i].length) == 0)
            return known[i].name;
    return NULL;
}

/* A RIFF file of this kind (WebP container specification). */
static bool is_webp(const uint8_t *data, size_t bytes) {
    enum { SIZE_BYTES = 4 };
    return bytes >= 12 && memcmp(data, "RIFF", 4) == 0 &&
           memcmp(data + 4 + SIZE_BYTES, "WEBP", 4) == 0;
}

hu_status hu_image_decode(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                          hu_image *image) {
    /* SOI and the first byte of the next marker (ITU-T T.81, annex B); the first half of the PNG
     * signature (PNG specification, 5.2). Endings of names are not asked. */
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff}, png[] = {0x89, 'P', 'N', 'G'};
    if (bytes >= sizeof jpeg && memcmp(data, jpeg, sizeof jpeg) == 0)
        return hu_image_decode_jpeg(name, data, bytes, side, image);
    if (bytes >= sizeof png && memcmp(data, png, sizeof png) == 0)
        return hu_image_decode_png(name, data, bytes, image);
    if (is_webp(data, bytes)) return hu_image_decode_webp(name, data, bytes, image);
    hu_image_free(image);
    if (bytes == 0) return hu_fail(HU_ERR_CORRUPT, "%s: found an empty file", name);
    const char *found = name_of(data, bytes);
    if (found)
        return hu_fail(HU_ERR_CORRUPT, "%s: found %s file, expected JPEG, PNG or WebP", name,
                       found);
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: offset 0: found byte 0x%02x, expected a JPEG, PNG or WebP file", name,
                   data[0]);
}

hu_status hu_image_read(const char *path, int64_t side, hu_image_room *room) {
    size_t bytes;
    hu_status st = hu_file_read_room(path, HU_IMAGE_FILE_MAX, &room->file, &bytes);
    if (st == HU_OK) return hu_image_decode(path, room->file.block, bytes, side, &room->image);
    hu_image_free(&room->image);
    return st;
}

void hu_image_room_trim(hu_image_room *room) {
    enum { KEPT_BYTES = 1 << 20 };
    if (room->image.capacity > KEPT_BYTES) hu_image_free(&room->image);
    if (room->file.bytes > KEPT_BYTES) hu_room_free(&room->file);
    if (room->resizer.between.bytes > KEPT_BYTES) hu_image_resizer_free(&room->resizer);
}

void hu_image_room_free(hu_image_room *room) {
    hu_room_free(&room->path);
    hu_room_free(&room->file);
    hu_image_free(&room->image);
    hu_image_resizer_free(&room->resizer);
}
