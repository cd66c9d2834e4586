/* Boxes with scores, sorted by exchanging, and suppression that looks at every pair. */
#ifndef TEST_PLAIN_BOXES_H
#define TEST_PLAIN_BOXES_H
#include "media/boxes.h"

typedef struct plain_box {
    double score;
    hu_box box;
    int class_number, sample;
} plain_box;

/* By score alone, equal ones in the order of the list. */
static inline void plain_sort(plain_box *list, int count) {
    for (int pass = 0; pass < count; pass++)
        for (int i = 0; i + 1 < count; i++)
            if (list[i + 1].score > list[i].score) {
                plain_box moved = list[i];
                list[i] = list[i + 1];
                list[i + 1] = moved;
            }
}

/* Of a sorted list those whose overlap with all that stay before is at most so much; returns how
 * many. */
static inline int plain_suppress(plain_box *list, int count, double most) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool is_kept = true;
        for (int k = 0; k < kept; k++)
            is_kept = is_kept && hu_box_iou(&list[i].box, &list[k].box) <= most;
        if (is_kept) list[kept++] = list[i];
    }
    return kept;
}

#endif
