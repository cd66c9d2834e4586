/* box/suppress.h - of many boxes around one thing, the best one. */
#ifndef HU_BOX_SUPPRESS_H
#define HU_BOX_SUPPRESS_H
#include "box/box.h"

/* One box that a network says, of one class. */
typedef struct hu_candidate {
    double score;
    int64_t index; /* of its anchor */
    hu_box box;
} hu_candidate;

/* The best candidates so far: at most `most`, in no order. */
typedef struct hu_nms_candidates {
    hu_candidate *list; /* [most]; Borrowed */
    int64_t most, count;
} hu_nms_candidates;

/* Takes a candidate, or leaves it where `most` better ones are there: of a larger score, or of the
 * same and a smaller index. The box is left to the caller. */
void hu_candidates_add(hu_nms_candidates *c, double score, int64_t index);

/* Best first. */
void hu_candidates_sort(hu_nms_candidates *c);

/* Non-maximum suppression: of sorted candidates with their boxes keeps, in their order, those whose
 * overlap with all kept before is at most the threshold; returns how many. */
int64_t hu_candidates_suppress(hu_nms_candidates *c, double threshold);

#endif
