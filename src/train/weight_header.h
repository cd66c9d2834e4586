/* train/weight_header.h - weights as a header of C, for small devices. */
#ifndef HU_TRAIN_WEIGHT_HEADER_H
#define HU_TRAIN_WEIGHT_HEADER_H
#include "train/weight_list.h"

/* The text of a header: an array of codes or of floats for each tensor, its shape and scale, and a
 * function that decodes. Owner frees *data with hu_free. HU_ERR_MEMORY. */
hu_status hu_weight_header(const hu_trainer *trainer, const hu_export_options *options,
                           const hu_weight_list *list, uint8_t **data, size_t *bytes);

#endif
