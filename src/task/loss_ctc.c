/* Connectionist temporal classification: on logits in one node, or with the log-probabilities as a
 * tensor between. */
#include "op/loss_ctc.h"
#include "task/loss.h"

static const hu_ctc_attrs of_logs = {.takes_logs = true};

const hu_loss_form hu_loss_ctc = {.name = "ctc",
                                  .help = "all ways to spell a text in rows of scores, one node",
                                  .kind = HU_LOSS_SEQUENCE,
                                  .op = &hu_op_ctc_loss};

const hu_loss_form hu_loss_ctc_nll = {.name = "ctc_nll",
                                      .help = "the same behind a node of log-probabilities",
                                      .kind = HU_LOSS_SEQUENCE,
                                      .before = &hu_op_log_softmax,
                                      .op = &hu_op_ctc_loss,
                                      .attrs = &of_logs};
