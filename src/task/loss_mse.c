/* Mean squared error: mean over the numbers of a sample, and over the samples. */
#include "task/loss.h"

const hu_loss_form hu_loss_mse = {
    .name = "mse", .help = "mean squared error", .kind = HU_LOSS_NUMBERS, .op = &hu_op_mse};
