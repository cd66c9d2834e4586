/* session/assumed.h - the data that plan and bench assume where the user names none. */
#ifndef HU_SESSION_ASSUMED_H
#define HU_SESSION_ASSUMED_H
#include <halfulp/data.h>

#include "config/config.h"

/* Shapes without pixels: images of the extents that the model is made for (faster-rcnn: 600x1000),
 * else 32x32x3, 28x28x1 for cnn-s; 10 classes, 1000 of large images, 19 of large label maps, 20 of
 * boxes. The number of samples is a multiple of batch. To plan with, never to be read or closed. */
hu_dataset hu_assumed_dataset(const char *model, int64_t batch);

/* The same with the side and the number of classes that the user gave by data.crop and
 * data.classes: a network for pictures that are not at hand. */
hu_status hu_assumed_read(const hu_config *config, const char *model, int64_t batch,
                          hu_dataset *assumed);

/* The same shapes with pixels: drawn digits, for cnn-s what is in the middle of their green. Owner
 * frees with hu_dataset_close. */
hu_status hu_assumed_open(const char *model, const hu_data_limits *limits, hu_dataset **dataset);

#endif
