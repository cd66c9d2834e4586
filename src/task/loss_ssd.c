/* SSD's loss of boxes: on logits in one node, or with the log-probabilities as a tensor between. */
#include "box/offset.h"
#include "op/loss_boxes.h"
#include "op/softmax.h"
#include "op/softmax_row.h"
#include "task/loss.h"

static const hu_log_softmax_attrs keeps_offsets = {.kept = HU_OFFSETS};

static double of_logs(int64_t classes, const float *row, int64_t class_number) {
    (void)classes;
    return hu_exp((double)row[class_number]);
}

/* A row is the logits of the classes, the background first. */
const hu_loss_form hu_loss_ssd = {.name = "ssd",
                                  .help = "softmax and offsets of boxes, one node",
                                  .kind = HU_LOSS_BOXES,
                                  .probability = hu_softmax_at,
                                  .op = &hu_op_ssd_loss};

const hu_loss_form hu_loss_ssd_nll = {.name = "ssd_nll",
                                      .help = "the same behind a node of log-probabilities",
                                      .kind = HU_LOSS_BOXES,
                                      .probability = of_logs,
                                      .before = &hu_op_log_softmax,
                                      .before_attrs = &keeps_offsets,
                                      .op = &hu_op_ssd_loss};
