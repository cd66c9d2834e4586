/* Softmax and cross entropy in one node: no tensor between, one buffer less. */
#include "op/loss.h"
#include "task/loss.h"

/* The head is a row of logits. */
const hu_loss_form hu_loss_softmax_cross_entropy = {.name = "softmax_cross_entropy",
                                                    .help = "softmax and cross entropy, one node",
                                                    .kind = HU_LOSS_ROWS,
                                                    .op = &hu_op_softmax_cross_entropy};
