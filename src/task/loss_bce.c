/* Binary cross entropy on logits, mean or sum over the numbers of a sample: the prediction of a
 * number in 0..1 is the logit's sigmoid. The sum is minus the log-likelihood of a picture whose
 * numbers are each the share of ones of a coin. */
#include "base/elementary.h"
#include "op/loss.h"
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

static const hu_element_loss_attrs summed = {.sums = true};

const hu_loss_form hu_loss_bce_sum = {.name = "bce_sum",
                                      .help =
                                          "binary cross entropy on logits, summed over a sample",
                                      .kind = HU_LOSS_LIKELIHOOD,
                                      .predicted = predicted,
                                      .surprise = hu_cross_entropy,
                                      .op = &hu_op_bce,
                                      .attrs = &summed};
