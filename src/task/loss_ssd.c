/* SSD's loss of boxes: on logits in one node, or with the log-probabilities as a tensor between. */
#include "box/boxes.h"
#include "op/loss_boxes.h"
#include "op/softmax.h"
#include "task/loss.h"

static const hu_log_softmax_attrs keeps_offsets = {.kept = HU_OFFSETS};

/* A row is the logits of the classes, the background first. */
const hu_loss_form hu_loss_ssd = {.name = "ssd",
                                  .help = "softmax and offsets of boxes, one node",
                                  .kind = HU_LOSS_BOXES,
                                  .op = &hu_op_ssd_loss};

const hu_loss_form hu_loss_ssd_nll = {.name = "ssd_nll",
                                      .help = "the same behind a node of log-probabilities",
                                      .kind = HU_LOSS_BOXES,
                                      .before = &hu_op_log_softmax,
                                      .before_attrs = &keeps_offsets,
                                      .op = &hu_op_ssd_loss};
