/* Log-softmax and negative log-likelihood as two nodes, with a tensor between that a precision can
 * be given to (Lee et al.). */
#include "base/elementary.h"
#include "task/loss.h"
#include "task/unlabelled.h"

/* The head of the loss is a row of log-probabilities. */
static double probability(int64_t outputs, const float *row, int64_t class_number) {
    (void)outputs;
    return hu_exp((double)row[class_number]);
}

const hu_loss_form hu_loss_nll = {.name = "nll",
                                  .help = "log_softmax and negative log-likelihood, two nodes",
                                  .kind = HU_LOSS_ROWS,
                                  .probability = probability,
                                  .before = &hu_op_log_softmax,
                                  .op = &hu_op_nll,
                                  .attrs = &hu_unlabelled_rows};
