/* Log-softmax and negative log-likelihood as two nodes, with a tensor between that a precision can
 * be given to (Lee et al.). */
#include "task/loss.h"

/* The head of the loss is a row of log-probabilities. */
const hu_loss_form hu_loss_nll = {.name = "nll",
                                  .help = "log_softmax and negative log-likelihood, two nodes",
                                  .kind = HU_LOSS_ROWS,
                                  .before = &hu_op_log_softmax,
                                  .op = &hu_op_nll};
