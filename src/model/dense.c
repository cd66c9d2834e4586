/* dense-s: four convolutions at full resolution and a class score for every pixel. */
#include <stdio.h>

#include "model/builder.h"
#include "model/families.h"

/* Four layers of 5x5 see 17x17 pixels around each pixel. */
enum { LAYERS = 4, CHANNELS = 16, KERNEL = 5, NAME_BYTES = 16 };

hu_status hu_model_dense_s(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    hu_value_id value = hu_build_input(&b);
    int64_t channels = hu_build_width(CHANNELS, options->width);
    for (int i = 1; i <= LAYERS; i++) {
        char number[NAME_BYTES];
        snprintf(number, sizeof number, "%d", i);
        value = hu_build_conv_bn_relu(&b, "", number, value, channels, KERNEL, 1);
    }
    /* A product of 1x1: the same linear layer at every pixel. */
    hu_conv_form head = {.channels = hu_build_outputs(&b),
                         .kernel = 1,
                         .stride = 1,
                         .has_bias = true,
                         .weight = hu_init_usual(channels),
                         .bias = hu_init_usual(channels)};
    hu_build_loss(&b, hu_build_conv_as(&b, "scores", value, &head));
    return b.status;
}
