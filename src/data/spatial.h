/* data/spatial.h - one sample of a spatial field of bytes [height, width, channels]: cropped,
 * mirrored, looked up. */
#ifndef HU_DATA_SPATIAL_H
#define HU_DATA_SPATIAL_H
#include <halfulp/data.h>

#include "kernel/lookup/lookup.h"

/* What a byte of each channel means, and what lies outside of what is stored. */
typedef struct hu_byte_table {
    hu_lookup lookup;
    float outside[HU_CHANNELS_MAX];
} hu_byte_table;

/* What the random words of one sample decide. */
typedef struct hu_change {
    int64_t shift_x, shift_y; /* source pixel = target pixel + shift, in -pad..pad */
    bool flip;
    bool upside, transposes;   /* first and last rows exchanged; then rows and columns, of a square.
                                  Without shift, margin and cut */
    bool reflect;              /* what is stored goes on as its mirror image, not as `outside` */
    int64_t cut_x, cut_y, cut; /* corner and side of the square that becomes 0 */
} hu_change;

/* Bytes of a sample, with its margins. */
const uint8_t *hu_spatial_sample(const hu_field *field, const void *rows, int64_t index);

/* The same in bytes, without the cut: what lies outside is black. */
void hu_spatial_pixels(const hu_field *field, const hu_change *change, const uint8_t *bytes,
                       uint8_t *pixels);

/* What becomes of the pixels [height, width, channels] that hu_spatial_pixels made. */
void hu_spatial_look_up(const hu_field *field, const hu_byte_table *table, const hu_change *change,
                        const uint8_t *pixels, float *sample);

/* sample [height, width, channels] from the bytes of one sample. */
void hu_spatial_fill(const hu_field *field, const hu_byte_table *table, const hu_change *change,
                     const uint8_t *bytes, float *sample);

#endif
