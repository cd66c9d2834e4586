/* box/match.h - which box each anchor is to find, and which anchors are to find none. */
#ifndef HU_BOX_MATCH_H
#define HU_BOX_MATCH_H
#include "box/anchors.h"

/* Most boxes of a picture, and what an anchor that has none is. */
enum { HU_TRUTHS_MAX = 512, HU_UNMATCHED = -1, HU_MINED = -2 };

/* Overlaps that are no further apart count as equal. */
#define HU_OVERLAP_EQUAL 1e-5

/* SSD's rule. Each box takes the anchor that it overlaps most (equal ones: the first), a later box
 * also from an earlier one; every other anchor takes the box that it overlaps most (the first) if
 * their overlap (intersection over union) is at least 0.5.
 *
 *   rows   [most, 5], most at most HU_TRUTHS_MAX; rows of a class below 0 are no boxes
 *   match  [anchors] number of the row, or HU_UNMATCHED; NULL: only counted
 *
 * Returns the number of matched anchors. Source: Liu et al., 2.2 "Matching strategy". Proof:
 * tests/unit/box_match_test.c. */
int64_t hu_match_ssd(const hu_anchors *anchors, const float *rows, int64_t most, int16_t *match);

/* The rule of Faster-RCNN's proposals: an anchor takes the box that it overlaps most where that is
 * at least 0.7, or where no anchor overlaps that box more; below 0.3 it is HU_UNMATCHED,
 * in between HU_IGNORED. Returns the number of matched anchors. Source: Ren et al., 3.1.2. */
enum { HU_IGNORED = -3 };
int64_t hu_match_proposals(const hu_anchors *anchors, const float *rows, int64_t most,
                           int16_t *match);

/* The boxes of a picture, in the order of their rows, which may have others between them. */
typedef struct hu_truths {
    int64_t count;
    hu_box box[HU_TRUTHS_MAX];
    int16_t row[HU_TRUTHS_MAX];
} hu_truths;

/* Those of rows [most, 5] as above. */
void hu_truths_read(const float *rows, int64_t most, hu_truths *truths);

/* The row whose box a box overlaps most, the first of equal ones, and that overlap: the largest.
 * HU_UNMATCHED and 0 where it overlaps none. */
int64_t hu_match_box(const hu_truths *truths, const hu_box *box, double *overlap);

#endif
