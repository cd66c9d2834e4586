#include "report/images.h"

#include <stdio.h>

const char *hu_images_text(const int64_t *image, int64_t classes, char text[HU_IMAGES_TEXT_BYTES]) {
    if (image[1] == 0) { /* rows of a text */
        snprintf(text, HU_IMAGES_TEXT_BYTES, "windows of %lld tokens, %lld different",
                 (long long)image[0], (long long)classes);
        return text;
    }
    int used = snprintf(text, HU_IMAGES_TEXT_BYTES, "%lldx%lldx%lld images", (long long)image[0],
                        (long long)image[1], (long long)image[2]);
    if (classes > 0)
        snprintf(text + used, HU_IMAGES_TEXT_BYTES - (size_t)used, ", %lld classes",
                 (long long)classes);
    return text;
}
