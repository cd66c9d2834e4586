/* model/options.h - what a builder of a network is asked for. */
#ifndef HU_MODEL_OPTIONS_H
#define HU_MODEL_OPTIONS_H
#include <halfulp/tensor.h>

typedef struct hu_model_options {
    const char *name;
    double width;   /* multiplier of the channel numbers, > 0 */
    hu_shape image; /* [H, W, C] */
    int64_t classes;
} hu_model_options;

#endif
