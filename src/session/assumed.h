/* session/assumed.h - the data that plan and bench assume where the user names none. */
#ifndef HU_SESSION_ASSUMED_H
#define HU_SESSION_ASSUMED_H
#include <halfulp/data.h>

#include "config/config.h"

/* Shapes without pixels: images of the extents that the model is made for (faster-rcnn: 600x1000,
 * ssd-s, faster-rcnn-s and fcn-s: 120x160), else 32x32x3, 28x28x1 for cnn-s; 10 classes, 1000 of
 * large images, 19 of large label maps, 20 of boxes. The number of samples is a multiple of batch.
 * To plan with, never to be read or closed. */
hu_dataset hu_assumed_dataset(const char *model, int64_t batch);

/* The same with the side and the number of classes that the user gave by data.size or data.crop and
 * data.classes: a network for pictures that are not at hand. data.size is the shorter side and
 * keeps the form of the model's pictures, data.crop, which wins, gives squares. */
hu_status hu_assumed_read(const hu_config *config, const char *model, int64_t batch,
                          hu_dataset *assumed);

/* What of it the user did not say, and by which keys that is said. */
enum { HU_ASSUMED_TEXT_BYTES = 256 };
const char *hu_assumed_text(const hu_config *config, const char *model,
                            char text[HU_ASSUMED_TEXT_BYTES]);

/* The same shapes with numbers: drawn digits, for cnn-s what is in the middle of their green;
 * random tokens and sounds for models that read sequences. Owner frees with hu_dataset_close. */
hu_status hu_assumed_open(const hu_config *config, const char *model, const hu_data_limits *limits,
                          hu_dataset **dataset);

#endif
