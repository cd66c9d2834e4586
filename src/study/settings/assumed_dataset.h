/* settings/assumed_dataset.h - the texts, sentences and sounds that plan assumes where the user
 * names none. */
#ifndef HU_SESSION_ASSUMED_DATASET_H
#define HU_SESSION_ASSUMED_DATASET_H
#include <halfulp/data.h>

#include "config/config.h"

/* The same with the side and the number of classes that the user gave by data.size or data.crop and
 * data.classes: a network for pictures that are not at hand. data.size is the shorter side and
 * keeps the form of the model's pictures, data.crop, which wins, gives squares. */
hu_status hu_assumed_dataset_read(const hu_config *config, const char *model, int64_t batch,
                                  hu_dataset *assumed);

/* What of it the user did not say, and by which keys that is said. */
enum { HU_ASSUMED_TEXT_BYTES = 256 };
const char *hu_assumed_dataset_text(const hu_config *config, const char *model,
                                    char text[HU_ASSUMED_TEXT_BYTES]);

/* The same shapes with numbers: drawn digits, for cnn-s what is in the middle of their green;
 * random tokens and sounds for models that read sequences. Owner frees with hu_dataset_close. */
hu_status hu_assumed_dataset_open(const hu_config *config, const char *model,
                                  const hu_data_limits *limits, hu_dataset **dataset);

#endif
