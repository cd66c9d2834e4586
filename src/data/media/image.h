/* media/image.h - images decoded: JPEG, PNG, WebP. */
#ifndef HU_MEDIA_IMAGE_H
#define HU_MEDIA_IMAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "base/memory.h"
#include "kernel/resample/resample.h"

enum {
    HU_IMAGE_CHANNELS = 3,
    HU_IMAGE_PIXELS_MAX = 1 << 27, /* of a file that is decoded */
    HU_IMAGE_FILE_MAX = 1 << 29,   /* bytes of a file */
    HU_IMAGE_SIDE_MAX = 4096,      /* of what data.size may ask for */
    HU_IMAGE_UPRIGHT = 1,          /* the orientations of EXIF: as it lies, ... */
    HU_IMAGE_FIRST_ACROSS = 5      /* ... and from this one to 8 rows are columns */
};

typedef struct hu_image {
    int64_t width, height;
    uint8_t *pixels; /* [height, width, 3], within room, which hu_image_free frees */
    hu_scratch room;
    int orientation; /* of the file's EXIF: how pixels must be turned to be seen upright; 0: none */
} hu_image;

/* Each decodes one format into an image that is empty or was decoded before, whose memory is used
 * again; image.h tells the formats apart and says more. only_middle: what hu_image_shrink to
 * `side` does not look at may be left as the memory was. */
hu_status hu_image_decode_jpeg(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                               bool only_middle, hu_image *image);

/* Files of more pixels are refused from now on, by all threads; HU_IMAGE_PIXELS_MAX at first. Tests
 * of very many files set fewer. */
void hu_image_limit(int64_t pixels);

/* HU_ERR_CORRUPT for sizes below 1, HU_ERR_LIMIT for more pixels than that. */
hu_status hu_image_check(const char *name, int64_t width, int64_t height);

/* Checks a size and makes room for pixels of so many bytes each, which are anything, at an odd
 * address: libjpeg-turbo writes rows whose address is a multiple of 32 past the caches (AVX2 and
 * SSE2 alike), which takes a fourth of its time for small pictures, and the reader's who comes
 * next. */
hu_status hu_image_reserve(const char *name, int64_t width, int64_t height, size_t pixel_bytes,
                           hu_image *image);

/* Turns and mirrors the pixels as their orientation says, which is then HU_IMAGE_UPRIGHT: 2
 * mirrored left to right, 3 upside down, 4 mirrored top to bottom, 5 rows and columns exchanged, 6
 * a quarter to the right, 7 exchanged along the other diagonal, 8 a quarter to the left. As
 * Pillow's exif_transpose. HU_ERR_MEMORY: the image is as before. */
hu_status hu_image_turn(const char *name, hu_image *image);

/* Where that exchanges its sides: " (EXIF turns it: 90x120 as seen)"; else "". For messages about
 * the size of what somebody has marked. */
enum { HU_IMAGE_SEEN_BYTES = 80 };
const char *hu_image_seen(const hu_image *image, char text[HU_IMAGE_SEEN_BYTES]);

/* Whether its height is its width where it is seen upright. */
bool hu_image_is_transposed(const hu_image *image);

/* Frees the pixels; the image is then empty. */
void hu_image_free(hu_image *image);

/* The weights along an axis, and where they lie: made again only where what they are for changes.
 */
typedef struct hu_image_axis {
    hu_resample_axis weights;
    int64_t from, to, begin;
    hu_scratch room;
} hu_image_axis;

/* What resizing needs beside the image, used again by the next. All zero at first; of one thread;
 * freed by hu_image_resizer_free. */
typedef struct hu_image_resizer {
    hu_image_axis columns, rows;
    hu_scratch between, line;
} hu_image_resizer;

void hu_image_resizer_free(hu_image_resizer *resizer);

/* Resizes the image so that its shorter side becomes `side` (the other is rounded down) and puts
 * the middle side x side pixels into square [side, side, 3]. Bilinear, the triangle as wide as the
 * pixels that a target pixel covers; weights of 22 bits, columns first, rounded to bytes in
 * between: the numbers of Pillow's resize and torchvision's CenterCrop. HU_ERR_MEMORY. */
hu_status hu_image_shrink(const hu_image *image, int64_t side, uint8_t *square,
                          hu_image_resizer *resizer);

/* A rectangle inside of an image, in pixels. */
typedef struct hu_image_cut {
    int64_t left, top, width, height;
} hu_image_cut;

/* Resizes what the rectangle holds to [height, width, 3], as hu_image_shrink does: nothing outside
 * of it is seen. Rows of `to` are row_bytes apart. HU_ERR_MEMORY. */
hu_status hu_image_resize(const hu_image *image, const hu_image_cut *cut, int64_t height,
                          int64_t width, size_t row_bytes, uint8_t *to, hu_image_resizer *resizer);

/* Of an image that becomes [height, width, 3] the rectangle `part` of these alone: the same bytes,
 * at the cost of the part. Rows of `to` [part height, part width, 3] are row_bytes apart.
 * HU_ERR_MEMORY. */
hu_status hu_image_resize_part(const hu_image *image, int64_t height, int64_t width,
                               const hu_image_cut *part, size_t row_bytes, uint8_t *to,
                               hu_image_resizer *resizer);

/* ---- What a thread that reads images keeps from one to the next ---- */

/* All zero at first; freed by hu_image_scratch_free. */
typedef struct hu_image_scratch {
    hu_scratch path, file; /* the last file's */
    hu_image image;        /* the last one, or empty */
    hu_image_resizer resizer;
} hu_image_scratch;

/* Gives up what a large picture left: where reading takes milliseconds, memory costs nothing. The
 * image is then empty. */
void hu_image_scratch_trim(hu_image_scratch *room);
void hu_image_scratch_free(hu_image_scratch *room);

/* ---- How a camera was held, as a picture's EXIF block has it ---- */

/* The tag Orientation (0x0112) of the first directory of an EXIF block, which is a TIFF file, with
 * or without "Exif" and two zeros in front: 1 to 8, whose meaning hu_image_turn says. 1 (upright)
 * where there is none, or one that is damaged. Reads no byte outside of data [bytes]. Source: CIPA
 * DC-008 (Exif 2.32), 4.5.2 and 4.6.4; TIFF 6.0, section 2. Allocates nothing: a parser that ran
 * out of memory would leave pictures on their side. */
int hu_exif_orientation(const uint8_t *data, size_t bytes);

/* ---- A picture from the bytes of a file of any known format ---- */

/* Decodes a JPEG, PNG or WebP, told apart by their first bytes. name: of the file, for messages.
 * side: the shorter side that is wanted; JPEGs may be decoded at 1/2, 1/4 or 1/8 of their size as
 * long as twice that much is left. image: empty, or one that was decoded before, whose memory is
 * used again; its pixels lie as in the file, image->orientation says how to turn them.
 * HU_ERR_CORRUPT, HU_ERR_KIND for whole files of other kinds, HU_ERR_LIMIT for more than
 * HU_IMAGE_PIXELS_MAX pixels, HU_ERR_MEMORY; the image is then empty. */
hu_status hu_image_decode(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                          hu_image *image);

/* Reads a file into room->file and decodes it to room->image. HU_ERR_IO and others as well. */
hu_status hu_image_read(const char *path, int64_t side, hu_image_scratch *room);

/* The same as a person sees it: turned by its orientation. */
hu_status hu_image_read_upright(const char *path, int64_t side, hu_image_scratch *room);

/* Reads a file, turns the picture and makes of its middle the square [side, side, 3], as
 * hu_image_shrink does. What is beside of it may not be decoded: room->image is then anything. */
hu_status hu_image_read_square(const char *path, int64_t side, uint8_t *square,
                               hu_image_scratch *room);

/* HU_OK where a file is a picture by its first bytes, which alone are read; else as hu_image_read
 * would fail. */
hu_status hu_image_check_head(const char *path);

#endif
