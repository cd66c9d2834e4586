/* The arrays of labelled images, for tests. */
#ifndef TEST_SPLIT_H
#define TEST_SPLIT_H
#include <halfulp/data.h>

static inline const uint8_t *pixels_of(const hu_split *split) {
    return split->rows[HU_FIELD_IMAGE];
}

static inline const int32_t *labels_of(const hu_split *split) {
    return split->rows[HU_FIELD_LABEL];
}

/* Both fields of samples first..first+count-1. */
static inline void fill_both(const hu_loader *loader, int64_t first, int64_t count, float *images,
                             float *labels) {
    hu_loader_fill(loader, HU_FIELD_IMAGE, HU_READ_NORMALISED, first, count, images);
    hu_loader_fill(loader, HU_FIELD_LABEL, HU_READ_PLAIN, first, count, labels);
}

#endif
