/* task/unlabelled.h - rows without a class number take no part in losses. */
#ifndef HU_TASK_UNLABELLED_H
#define HU_TASK_UNLABELLED_H
#include <halfulp/data.h>

#include "op/attributes.h"

static const hu_row_loss_attrs hu_unlabelled_rows = {.ignores = true,
                                                     .ignored = (float)HU_UNLABELLED};

#endif
