/* Cross entropy of samples mixed of two (data.mixup, data.cutmix): what other losses of rows become
 * where the data are mixed. */
#include "op/loss.h"
#include "task/loss.h"

/* The head is a row of logits. */
const hu_loss_form hu_loss_mixed_cross_entropy = {
    .name = "mixed_cross_entropy",
    .help = "softmax and cross entropy of mixed samples (data.mixup, data.cutmix)",
    .kind = HU_LOSS_ROWS,
    .op = &hu_op_mixed_cross_entropy};
