/* train/weight_export.h - weights written as codes or as a C header. */
#ifndef HU_TRAIN_WEIGHT_EXPORT_H
#define HU_TRAIN_WEIGHT_EXPORT_H
#include "graph/graph.h"
#include "train/options.h"
#include "train/weights_file.h"

/* ---- Which widths make one network: channel numbers are rounded ---- */

/* Hundredths on both sides of a width that are looked at. */
enum { HU_WIDTHS_LOOKED_AT = 64 };

/* The nearest widths, in hundredths, that make another network of the options than `graph`, which
 * options->width makes; NaN: none of those that were looked at. HU_ERR_MEMORY. */
hu_status hu_train_other_widths(const hu_train_options *options, const hu_dataset *dataset,
                                const hu_graph *graph, double *below, double *above);

/* ---- Weights as a header of C, for small devices ---- */

/* The text of a header: an array of codes or of floats for each tensor, its shape and scale, and a
 * function that decodes. Owner frees *data with hu_free. HU_ERR_MEMORY. */
hu_status hu_weight_header(const hu_trainer *trainer, const hu_export_options *options,
                           const hu_weight_list *list, uint8_t **data, size_t *bytes);

#endif
