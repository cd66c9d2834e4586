/* data/voc.h - the boxes of a picture as PASCAL VOC writes them in XML. */
#ifndef HU_DATA_VOC_H
#define HU_DATA_VOC_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

enum { HU_VOC_NAME_BYTES = 64 };

/* Corners in pixels of the file: 0 <= x1 < x2 <= width, 0 <= y1 < y2 <= height. */
typedef struct hu_voc_box {
    char name[HU_VOC_NAME_BYTES]; /* of its class */
    double x1, y1, x2, y2;
} hu_voc_box;

typedef struct hu_voc {
    int64_t width, height; /* of the picture */
    hu_voc_box *box;       /* [count] in the order of the file; owner frees with hu_free */
    size_t count, capacity;
    int64_t flat; /* boxes without area, which are left out */
} hu_voc;

/* Reads <annotation> with <size> and the <bndbox> and <name> of each <object>; parts of objects and
 * everything else are skipped. HU_ERR_CORRUPT names file and line: not XML, not of that form, a box
 * that leaves the picture; HU_ERR_MEMORY. The boxes are then freed.
 * Proof: tests/unit/data_boxes_test.c. */
hu_status hu_voc_read(const char *name, const uint8_t *data, size_t bytes, hu_voc *voc);

#endif
