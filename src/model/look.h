/* model/look.h - what networks that look for boxes share. As builder.h: the first error sticks. */
#ifndef HU_MODEL_LOOK_H
#define HU_MODEL_LOOK_H
#include "model/layers.h"

enum { HU_LOOK_NAME_BYTES = 64 };

/* Height (0) or width (1) of a map; 1 after an error. */
int64_t hu_look_extent(const hu_builder *b, hu_value_id value, int axis);

/* HU_ERR_SHAPE for smaller pictures, which have no place left on the last map. */
void hu_look_expect_size(hu_builder *b, hu_value_id picture, int64_t least);

/* The outputs at a place as rows NAME.rows, one for each anchor: [H, W, shapes numbers] ->
 * [anchors, numbers]. */
hu_value_id hu_look_rows(hu_builder *b, const char *name, hu_value_id value, int64_t numbers);

/* The first stages of ssd-s, each but the first behind a halving: layers stageI.J of 8, 16, 32, 64
 * and 64 channels. map [5]: what each leaves; the last is returned. */
hu_value_id hu_look_stages(hu_builder *b, double width, hu_value_id picture, int stages,
                           hu_value_id *map);

/* VGG-16's convolutions: stages convI_J with relus, each but the last behind a halving; stage 3 is
 * halved with its odd sides rounded up where `ceils` says so. map [5] as above. */
hu_value_id hu_look_vgg(hu_builder *b, double width, hu_value_id picture, bool ceils,
                        hu_value_id *map);

#endif
