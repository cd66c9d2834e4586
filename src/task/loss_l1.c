/* Mean absolute error: mean over the numbers of a sample, and over the samples. */
#include "task/loss.h"

const hu_loss_form hu_loss_l1 = {
    .name = "l1", .help = "mean absolute error", .kind = HU_LOSS_NUMBERS, .op = &hu_op_l1};
