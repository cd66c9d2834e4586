/* Binary cross entropy on logits: the prediction of a number in 0..1 is the logit's sigmoid. */
#include "base/elementary.h"
#include "task/loss.h"

/* hu_exp instead of libm's exp: the same bits on every machine. */
static double predicted(double logit) {
    return 1.0 / (1.0 + hu_exp(-logit));
}

const hu_loss_form hu_loss_bce = {.name = "bce",
                                  .help = "binary cross entropy on logits",
                                  .kind = HU_LOSS_NUMBERS,
                                  .predicted = predicted,
                                  .op = &hu_op_bce};
