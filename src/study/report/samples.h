/* report/samples.h - what a network sees, says and confuses, as pictures and tables. */
#ifndef HU_REPORT_SAMPLES_H
#define HU_REPORT_SAMPLES_H
#include <stdint.h>

/* "32x32x3 images, 10 classes"; of 0 classes nothing is said. image: [height, width, channels]. */
enum { HU_IMAGES_TEXT_BYTES = 128 };
const char *hu_images_text(const int64_t *image, int64_t classes, char text[HU_IMAGES_TEXT_BYTES]);

#endif
