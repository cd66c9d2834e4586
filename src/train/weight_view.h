/* train/weight_view.h - how the tensors of a graph stand in files of weights. */
#ifndef HU_TRAIN_WEIGHT_VIEW_H
#define HU_TRAIN_WEIGHT_VIEW_H
#include "graph/graph.h"

/* Order of the elements of a convolution's weight: as torch has it, [out, in / groups, kh, kw], or
 * as it is here, [out, kh, kw, in / groups]. */
typedef enum hu_weight_layout { HU_WEIGHTS_TORCH, HU_WEIGHTS_HALFULP } hu_weight_layout;

/* A vector that is an image: [places, channels] here, [channels, places] in the file. A vector of n
 * numbers that is none has n places of one channel. */
typedef struct hu_weight_side {
    int64_t places, channels;
} hu_weight_side;

/* How a tensor stands in a file: rows and columns are turned, each for itself. A place is one of
 * the kernel of a convolution, or of the image that a linear layer reads or makes as one vector. */
typedef struct hu_weight_view {
    hu_shape shape; /* in the file */
    hu_weight_side row, column;
} hu_weight_view;

/* Of a parameter or running statistic that some node uses. */
hu_weight_view hu_weight_view_of(const hu_graph *graph, hu_value_id v, hu_weight_layout layout);

/* From here to there, the file, and back. */
void hu_weight_turn_out(const hu_weight_view *view, const float *here, float *there);
void hu_weight_turn_in(const hu_weight_view *view, const float *there, float *here);

#endif
