/* train/weight_view.h - how the tensors of a graph stand in files of weights. */
#ifndef HU_TRAIN_WEIGHT_VIEW_H
#define HU_TRAIN_WEIGHT_VIEW_H
#include "graph/graph.h"

/* Order of the elements of a convolution's weight: as torch has it, [out, in / groups, kh, kw], or
 * as it is here, [out, kh, kw, in / groups]. */
typedef enum hu_weight_layout { HU_WEIGHTS_TORCH, HU_WEIGHTS_HALFULP } hu_weight_layout;

/* How a tensor stands in a file: rows and columns are turned, each for itself. */
typedef struct hu_weight_view {
    hu_shape shape; /* in the file */
    int64_t rows, columns;
    int64_t *row, *column; /* [rows], [columns] the one here that is number i in the file; NULL: i
                            */
} hu_weight_view;

/* Of the parameters and running statistics of a finished graph, which is borrowed. */
typedef struct hu_weight_views hu_weight_views;

/* HU_ERR_MEMORY; owner frees with hu_weight_views_free. */
hu_status hu_weight_views_create(const hu_graph *graph, hu_weight_layout layout,
                                 hu_weight_views **result);
void hu_weight_views_free(hu_weight_views *views); /* NULL is allowed */

/* The shape in the file of a parameter or running statistic that some node uses. */
hu_shape hu_weight_shape(const hu_weight_views *views, hu_value_id v);

/* The whole view; owner frees with hu_weight_view_free, also on failure. HU_ERR_MEMORY;
 * HU_ERR_UNSUPPORTED: no order of it gives torch the same network (train/vector_order.h). */
hu_status hu_weight_view_create(const hu_weight_views *views, hu_value_id v, hu_weight_view *view);
void hu_weight_view_free(hu_weight_view *view);

/* From here to there, the file, and back. */
void hu_weight_turn_out(const hu_weight_view *view, const float *here, float *there);
void hu_weight_turn_in(const hu_weight_view *view, const float *there, float *here);

#endif
