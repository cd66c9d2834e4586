/* cnn-s: the small network of the demo, three convolutions and a linear head. */
#include <math.h>

#include "model/builder.h"
#include "model/families.h"

/* At width 1: 16, 32 and 64 channels of 3x3, halved twice; a mean over the picture; a linear
 * head. */
hu_status hu_model_cnn_s(const hu_model_options *options, hu_graph *graph) {
    hu_builder b = hu_build_begin(options, graph);
    int64_t channels = hu_build_width(64, options->width);
    hu_value_id value = hu_build_input(&b);
    value = hu_build_conv(&b, "conv1", value, hu_build_width(16, options->width), 3, 1);
    value = hu_build_max_pool(&b, "pool1", value, 2, 2);
    value = hu_build_norm(&b, "bn1", value);
    value = hu_build_relu(&b, "relu1", value);
    value = hu_build_conv(&b, "conv2", value, hu_build_width(32, options->width), 3, 1);
    value = hu_build_max_pool(&b, "pool2", value, 2, 2);
    value = hu_build_norm(&b, "bn2", value);
    value = hu_build_relu(&b, "relu2", value);
    value = hu_build_conv_bn_relu(&b, "", "3", value, channels, 3, 1);
    value = hu_build_global_pool(&b, "pool", value);
    /* torch.nn.Linear's bounds, 1 / sqrt(fan in). */
    hu_init uniform = {HU_INIT_UNIFORM, 1.0f / sqrtf((float)channels)};
    value = hu_build_linear(&b, "fc", value, hu_build_outputs(&b), uniform, uniform);
    hu_build_loss(&b, value);
    return b.status;
}
