/* data/image_decode.h - a picture from the bytes of a file of any known format. */
#ifndef HU_DATA_IMAGE_DECODE_H
#define HU_DATA_IMAGE_DECODE_H
#include "data/image_room.h"

/* Decodes a JPEG, PNG or WebP, told apart by their first bytes. name: of the file, for messages.
 * side: the shorter side that is wanted; JPEGs may be decoded at 1/2, 1/4 or 1/8 of their size as
 * long as twice that much is left. image: empty, or one that was decoded before, whose memory is
 * used again; its pixels lie as in the file, image->orientation says how to turn them.
 * HU_ERR_CORRUPT, HU_ERR_KIND for whole files of other kinds, HU_ERR_LIMIT for more than
 * HU_IMAGE_PIXELS_MAX pixels, HU_ERR_MEMORY; the image is then empty. */
hu_status hu_image_decode(const char *name, const uint8_t *data, size_t bytes, int64_t side,
                          hu_image *image);

/* Reads a file into room->file and decodes it to room->image. HU_ERR_IO and others as well. */
hu_status hu_image_read(const char *path, int64_t side, hu_image_room *room);

/* The same as a person sees it: turned by its orientation. */
hu_status hu_image_read_upright(const char *path, int64_t side, hu_image_room *room);

/* Reads a file, turns the picture and makes of its middle the square [side, side, 3], as
 * hu_image_shrink does. What is beside of it may not be decoded: room->image is then anything. */
hu_status hu_image_read_square(const char *path, int64_t side, uint8_t *square,
                               hu_image_room *room);

/* HU_OK where a file is a picture by its first bytes, which alone are read; else as hu_image_read
 * would fail. */
hu_status hu_image_check_head(const char *path);

#endif
