/* op/loss_regions.h - attributes of roi_loss. */
#ifndef HU_OP_LOSS_REGIONS_H
#define HU_OP_LOSS_REGIONS_H
#include "box/anchors.h"
#include "op/op.h"

/* roi_loss. in[0] [R, 5 classes]: of each region the logits of the classes, of which 0 is the
 * background, then four offsets for each class; in[1] [most, 5]: boxes (box/boxes.h) whose class c
 * is class c + 1 here; in[2] [R, 4]: the regions (box/anchors.h), which are constants. A region
 * shows the box that it overlaps most, if by at least 0.5, else the background. The loss of a
 * picture is divided by its regions: cross entropy of all, smooth L1 (beta 1) of the offsets of the
 * region's class where it shows a box, beside the region and in the scales of HU_OFFSET_SSD. Rows
 * without an area take no part; a picture without regions has the loss 0. Source: Girshick, "Fast
 * R-CNN", 2.3.
 */
typedef struct hu_region_loss_attrs {
    hu_picture picture; /* that regions are in pixels of */
} hu_region_loss_attrs;

#endif
