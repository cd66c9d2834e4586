/* data/image_write.h - pictures into PNG files. */
#ifndef HU_DATA_IMAGE_WRITE_H
#define HU_DATA_IMAGE_WRITE_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* Pixels of a side that a picture has at most. */
enum { HU_IMAGE_WRITE_MOST = 1 << 15 };

/* Writes or replaces a PNG of bytes [height, width, channels], 1 (grey) or 3 (red, green, blue).
 * HU_ERR_ARGUMENT: other channels; HU_ERR_LIMIT: no size of a picture; HU_ERR_MISSING: no such
 * folder; HU_ERR_IO, HU_ERR_MEMORY.
 * Proof: tests/unit/data_image_test.c. */
hu_status hu_image_write_png(const char *path, int64_t height, int64_t width, int64_t channels,
                             const uint8_t *pixels);

/* The same file in memory; name: in messages. Owner frees *png with hu_free. */
hu_status hu_image_png(const char *name, int64_t height, int64_t width, int64_t channels,
                       const uint8_t *pixels, uint8_t **png, size_t *bytes);

#endif
