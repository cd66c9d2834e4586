/* data/voc_xml.h - the boxes of a picture as PASCAL VOC writes them in XML. */
#ifndef HU_DATA_VOC_XML_H
#define HU_DATA_VOC_XML_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/data.h>

enum { HU_VOC_NAME_BYTES = 64, HU_VOC_FILE_BYTES = 256 };

/* Corners in pixels of the file. */
typedef struct hu_voc_box {
    char name[HU_VOC_NAME_BYTES]; /* of its class */
    double x1, y1, x2, y2;
    bool is_difficult; /* evaluations neither ask for it nor count it as wrong */
} hu_voc_box;

typedef struct hu_voc {
    int64_t width, height; /* of the picture; 0: the file does not say */
    hu_voc_box *box;       /* [count] in the order of the file; owner frees with hu_free */
    size_t count, capacity;
    char file[HU_VOC_FILE_BYTES]; /* <filename>, "" where there is none, or a longer one */
} hu_voc;

/* Reads <annotation>: <size>, <filename>, and the <bndbox>, <name> and <difficult> of each
 * <object>; parts of objects and everything else are skipped, boxes are as the file has them. UTF-8
 * and UTF-16, with or without a byte-order mark, and encodings of one byte a character that the C
 * library knows (windows-1252). HU_ERR_CORRUPT names file and line: not XML, not of that form;
 * HU_ERR_MEMORY. The boxes are then freed. Proof: tests/unit/data_voc_test.c. */
hu_status hu_voc_read(const char *name, const uint8_t *data, size_t bytes, hu_voc *voc);

/* Cuts the boxes to a picture of width x height pixels, and drops those of which nothing is left:
 * that are turned round (xmin above xmax), outside, or narrower or lower than a millionth of the
 * picture, so that they have an area in float32 wherever they are moved to. told gets as many more
 * as there were. Proof: the same. */
void hu_voc_fit(hu_voc *voc, int64_t width, int64_t height, hu_boxes_told *told);

/* Whether <filename> means a picture of this name, whatever their folders and endings, or is
 * missing. */
bool hu_voc_is_of(const hu_voc *voc, const char *name);

#endif
