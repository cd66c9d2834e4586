#include "data/image_decode.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

/* What else the first bytes may be, and the command that makes something of it that is read. */
typedef struct kind {
    const char *mark, *name, *command; /* command NULL: none is known */
    size_t offset, length;
} kind;

#define IMAGEMAGICK "convert FILE FILE.png"
#define LIBHEIF "heif-convert FILE FILE.jpg"

static const kind *kind_of(const uint8_t *data, size_t bytes) {
    static const kind known[] = {{"GIF8", "a GIF", "convert 'FILE[0]' FILE.png", 0, 4},
                                 {"BM", "a BMP", IMAGEMAGICK, 0, 2},
                                 {"II*\0", "a TIFF", IMAGEMAGICK, 0, 4},
                                 {"MM\0*", "a TIFF", IMAGEMAGICK, 0, 4},
                                 {"ftypavif", "an AVIF", LIBHEIF, 4, 8},
                                 {"ftypheic", "a HEIC", LIBHEIF, 4, 8},
                                 {"ftypheix", "a HEIC", LIBHEIF, 4, 8},
                                 {"ftypmif1", "a HEIC", LIBHEIF, 4, 8},
                                 {"ftypmsf1", "a HEIC", LIBHEIF, 4, 8},
                                 {"ftyp", "a video or HEIC", LIBHEIF, 4, 4},
                                 {"\0\0\0\014JXL ", "a JPEG XL", "djxl FILE FILE.png", 0, 8},
                                 {"\377\012", "a JPEG XL", "djxl FILE FILE.png", 0, 2},
                                 {"\0\0\0\014jP  ", "a JPEG 2000", IMAGEMAGICK, 0, 8},
                                 {"%PDF", "a PDF", "pdftoppm -png FILE FILE", 0, 4},
                                 {"<svg", "an SVG", "rsvg-convert FILE -o FILE.png", 0, 4},
                                 {"<?xml", "an XML", NULL, 0, 5},
                                 {"<!DOCTYPE", "an HTML", NULL, 0, 9},
                                 {"<html", "an HTML", NULL, 0, 5}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes >= known[i].offset + known[i].length &&
            memcmp(data + known[i].offset, known[i].mark, known[i].length) == 0)
            return &known[i];
    return NULL;
}

/* HU_OK where the first bytes are those of no kind that is known. */
static hu_status fail_foreign(const char *name, const uint8_t *data, size_t bytes) {
    const kind *found = kind_of(data, bytes);
    if (!found) return HU_OK;
    return hu_fail(HU_ERR_KIND, "%s: found %s file, expected JPEG, PNG or WebP%s%s%s", name,
                   found->name, found->command ? ": '" : "", found->command ? found->command : "",
                   found->command ? "' converts it" : "");
}

/* A RIFF file of this kind (WebP container specification). */
static bool is_webp(const uint8_t *data, size_t bytes) {
    enum { SIZE_BYTES = 4 };
    return bytes >= 12 && memcmp(data, "RIFF", 4) == 0 &&
           memcmp(data + 4 + SIZE_BYTES, "WEBP", 4) == 0;
}

typedef enum format { JPEG, PNG, WEBP, NONE } format;

/* SOI and the first byte of the next marker (ITU-T T.81, annex B); the first half of the PNG
 * signature (PNG specification, 5.2). Endings of names are not asked. */
static format format_of(const uint8_t *data, size_t bytes) {
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff}, png[] = {0x89, 'P', 'N', 'G'};
    if (bytes >= sizeof jpeg && memcmp(data, jpeg, sizeof jpeg) == 0) return JPEG;
    if (bytes >= sizeof png && memcmp(data, png, sizeof png) == 0) return PNG;
    return is_webp(data, bytes) ? WEBP : NONE;
}

/* Of bytes of no format that is read. */
static hu_status fail_unknown(const char *name, const uint8_t *data, size_t bytes) {
    if (bytes == 0) return hu_fail(HU_ERR_CORRUPT, "%s: found an empty file", name);
    hu_status st = fail_foreign(name, data, bytes);
    if (st != HU_OK) return st;
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: offset 0: found byte 0x%02x, expected a JPEG, PNG or WebP file", name,
                   data[0]);
}

static hu_status decode(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                        bool only_middle, hu_image *image) {
    switch (format_of(data, bytes)) {
    case JPEG:
        return hu_image_decode_jpeg(name, data, bytes, side, only_middle, image);
    case PNG:
        return hu_image_decode_png(name, data, bytes, image);
    case WEBP:
        return hu_image_decode_webp(name, data, bytes, image);
    case NONE:
        break;
    }
    hu_image_free(image);
    return fail_unknown(name, data, bytes);
}

hu_status hu_image_decode(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                          hu_image *image) {
    return decode(name, data, bytes, side, false, image);
}

/* Not blocked by a pipe, which is no picture. */
hu_status hu_image_check_head(const char *path) {
    uint8_t head[32];
    struct stat facts;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return hu_io_fail(path, "cannot open", errno);
    bool is_file = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
    ssize_t bytes = is_file ? read(file, head, sizeof head) : 0;
    int error = errno;
    close(file);
    if (!is_file) return hu_fail(HU_ERR_CORRUPT, "%s: found no regular file", path);
    if (bytes < 0) return hu_io_fail(path, "cannot read", error);
    if (format_of(head, (size_t)bytes) != NONE) return HU_OK;
    return fail_unknown(path, head, (size_t)bytes);
}

static hu_status read_file(const char *path, int64_t side, bool only_middle, hu_image_room *room) {
    size_t bytes;
    hu_status st = hu_file_read_room(path, HU_IMAGE_FILE_MAX, &room->file, &bytes);
    if (st == HU_OK) return decode(path, room->file.block, bytes, side, only_middle, &room->image);
    hu_image_free(&room->image);
    return st;
}

hu_status hu_image_read(const char *path, int64_t side, hu_image_room *room) {
    return read_file(path, side, false, room);
}

hu_status hu_image_read_upright(const char *path, int64_t side, hu_image_room *room) {
    hu_status st = hu_image_read(path, side, room);
    return st == HU_OK ? hu_image_turn(path, &room->image) : st;
}

hu_status hu_image_read_square(const char *path, int64_t side, uint8_t *square,
                               hu_image_room *room) {
    hu_status st = read_file(path, side, true, room);
    if (st == HU_OK) st = hu_image_turn(path, &room->image);
    return st == HU_OK ? hu_image_shrink(&room->image, side, square, &room->resizer) : st;
}

void hu_image_room_trim(hu_image_room *room) {
    enum { KEPT_BYTES = 1 << 20 };
    if (room->image.room.bytes > KEPT_BYTES) hu_image_free(&room->image);
    if (room->file.bytes > KEPT_BYTES) hu_room_free(&room->file);
    if (room->resizer.between.bytes > KEPT_BYTES) hu_image_resizer_free(&room->resizer);
}

void hu_image_room_free(hu_image_room *room) {
    hu_room_free(&room->path);
    hu_room_free(&room->file);
    hu_image_free(&room->image);
    hu_image_resizer_free(&room->resizer);
}
