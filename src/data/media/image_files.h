/* media/image_files.h - label maps read, and images written. */
#ifndef HU_MEDIA_IMAGE_FILES_H
#define HU_MEDIA_IMAGE_FILES_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* ---- Label maps: pictures whose bytes are class numbers ---- */

typedef struct hu_label_map {
    int64_t width, height;
    uint8_t *labels; /* [height, width]; owner frees with hu_free */
} hu_label_map;

/* Decodes a PNG of one channel of at most 8 bits: the numbers that it holds, neither scaled nor
 * looked up in its palette. HU_ERR_CORRUPT: damaged, or of another kind; HU_ERR_LIMIT,
 * HU_ERR_MEMORY; the map is then empty. Proof: tests/unit/data_dense_test.c. */
hu_status hu_label_map_decode(const char *name, const uint8_t *data, size_t bytes,
                              hu_label_map *map);

/* ---- Pictures into PNG files ---- */

/* Pixels of a side that a picture has at most. */
enum { HU_IMAGE_WRITE_MOST = 1 << 15 };

/* Writes or replaces a PNG of bytes [height, width, channels], 1 (grey) or 3 (red, green, blue).
 * HU_ERR_ARGUMENT: other channels; HU_ERR_LIMIT: no size of a picture; HU_ERR_MISSING: no such
 * folder; HU_ERR_IO, HU_ERR_MEMORY.
 * Proof: tests/unit/media_image_test.c. */
hu_status hu_image_write_png(const char *path, int64_t height, int64_t width, int64_t channels,
                             const uint8_t *pixels);

/* The same file in memory; name: in messages. Owner frees *png with hu_free. */
hu_status hu_image_png(const char *name, int64_t height, int64_t width, int64_t channels,
                       const uint8_t *pixels, uint8_t **png, size_t *bytes);

#endif
