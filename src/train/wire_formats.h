/* train/wire_formats.h - what travels between workers, as users write it. */
#ifndef HU_TRAIN_WIRE_FORMATS_H
#define HU_TRAIN_WIRE_FORMATS_H
#include "train/inner.h"

/* "e5m2", or a list by epoch "0: fp32, 30: e4m3" whose epochs grow from 0. Owner frees *phase.
 * HU_ERR_PARSE, HU_ERR_ARGUMENT, and the errors of formats. */
hu_status hu_wire_formats_parse(const char *text, hu_wire_phase **phase, int32_t *phases);

/* Whether gradients on their way keep float32's range in all epochs: nothing travels, or in formats
 * of which hu_format_keeps_range holds. Errors as above. */
hu_status hu_wire_formats_keep_range(const hu_train_comm *comm, bool *keeps);

#endif
