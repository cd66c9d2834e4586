/* Faster-RCNN's loss of what is said of regions; the task adds that of the anchors. */
#include "task/loss.h"

/* A row begins with the logits of the classes, the background first. */
const hu_loss_form hu_loss_faster_rcnn = {.name = "faster_rcnn",
                                          .help = "softmax and offsets, of regions and of anchors",
                                          .kind = HU_LOSS_REGIONS,
                                          .op = &hu_op_roi_loss};
