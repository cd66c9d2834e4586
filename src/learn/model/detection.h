/* model/detection.h - networks that find boxes: SSD and Faster R-CNN, and what they share. */
#ifndef HU_MODEL_DETECTION_H
#define HU_MODEL_DETECTION_H
#include "model/imagenet_layers.h"

enum { HU_LOOK_NAME_BYTES = 64 };

/* HU_ERR_SHAPE for smaller pictures, which have no place left on the last map. */
void hu_detector_expect_size(hu_builder *b, hu_value_id picture, int64_t least);

#endif
