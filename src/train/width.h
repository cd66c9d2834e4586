/* train/width.h - which widths make one network: channel numbers are rounded. */
#ifndef HU_TRAIN_WIDTH_H
#define HU_TRAIN_WIDTH_H
#include "graph/graph.h"
#include "train/options.h"

/* Hundredths on both sides of a width that are looked at. */
enum { HU_WIDTHS_LOOKED_AT = 64 };

/* The nearest widths, in hundredths, that make another network of the options than `graph`, which
 * options->width makes; NaN: none of those that were looked at. HU_ERR_MEMORY. */
hu_status hu_train_other_widths(const hu_train_options *options, const hu_dataset *dataset,
                                const hu_graph *graph, double *below, double *above);

#endif
