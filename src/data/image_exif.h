/* data/image_exif.h - how a camera was held, as a picture's EXIF block has it. */
#ifndef HU_DATA_IMAGE_EXIF_H
#define HU_DATA_IMAGE_EXIF_H
#include <stddef.h>
#include <stdint.h>

/* The tag Orientation (0x0112) of the first directory of an EXIF block, which is a TIFF file, with
 * or without "Exif" and two zeros in front: 1 to 8, whose meaning hu_image_turn says. 1 (upright)
 * where there is none, or one that is damaged. Reads no byte outside of data [bytes]. Source: CIPA
 * DC-008 (Exif 2.32), 4.5.2 and 4.6.4; TIFF 6.0, section 2. Allocates nothing: a parser that ran
 * out of memory would leave pictures on their side. */
int hu_exif_orientation(const uint8_t *data, size_t bytes);

#endif
