/* data/image_map.h - label maps: pictures whose bytes are class numbers. */
#ifndef HU_DATA_IMAGE_MAP_H
#define HU_DATA_IMAGE_MAP_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

typedef struct hu_label_map {
    int64_t width, height;
    uint8_t *labels; /* [height, width]; owner frees with hu_free */
} hu_label_map;

/* Decodes a PNG of one channel of at most 8 bits: the numbers that it holds, neither scaled nor
 * looked up in its palette. HU_ERR_CORRUPT: damaged, or of another kind; HU_ERR_LIMIT,
 * HU_ERR_MEMORY; the map is then empty. Proof: tests/unit/data_dense_test.c. */
hu_status hu_label_map_decode(const char *name, const uint8_t *data, size_t bytes,
                              hu_label_map *map);

#endif
