#include "model/look.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"

int64_t hu_look_extent(const hu_builder *b, hu_value_id value, int axis) {
    hu_shape shape = hu_build_shape(b, value);
    return shape.rank == 3 ? shape.extent[axis] : 1;
}

void hu_look_expect_size(hu_builder *b, hu_value_id picture, int64_t least) {
    int64_t height = hu_look_extent(b, picture, 0), width = hu_look_extent(b, picture, 1);
    if (b->status != HU_OK || (height >= least && width >= least)) return;
    b->status = hu_fail(HU_ERR_SHAPE,
                        "found pictures of %" PRId64 " x %" PRId64
                        " pixels, expected at least %" PRId64 " x %" PRId64 " (data.size)",
                        height, width, least, least);
}

hu_value_id hu_look_rows(hu_builder *b, const char *name, hu_value_id value, int64_t numbers) {
    char text[HU_LOOK_NAME_BYTES];
    hu_shape shape = hu_build_shape(b, value);
    int64_t elements = b->status == HU_OK ? hu_shape_elements(&shape) : numbers;
    const hu_shape rows = {2, {elements / numbers, numbers}};
    snprintf(text, sizeof text, "%s.rows", name);
    return hu_build_reshape(b, text, value, &rows);
}

/* Behind a pool: name poolS. */
static hu_value_id halve(hu_builder *b, int stage, hu_value_id value, bool ceils) {
    char name[HU_LOOK_NAME_BYTES];
    snprintf(name, sizeof name, "pool%d", stage);
    return hu_layer_max_pool(b, name, value, hu_window_valid(2, 2), ceils);
}

hu_value_id hu_look_stages(hu_builder *b, double width, hu_value_id value, int stages,
                           hu_value_id *map) {
    enum { STAGES = 5, FIRST_ODD = 4 };
    static const int layers[STAGES] = {2, 2, 3, 3, 3};
    static const int64_t channels[STAGES] = {8, 16, 32, 64, 64};
    const hu_norm_form norm = {.epsilon = 1e-5f};
    char name[HU_LOOK_NAME_BYTES];
    for (int s = 0; s < stages; s++) {
        /* The half of an odd side is rounded up behind the first map that is looked at. */
        if (s > 0) value = halve(b, s, value, s >= FIRST_ODD);
        for (int k = 0; k < layers[s]; k++) {
            snprintf(name, sizeof name, "stage%d.%d", s + 1, k);
            value = hu_layer_conv_bn_relu(b, name, value, hu_build_scaled(channels[s], width),
                                          hu_window_same(3, 1), norm);
        }
        map[s] = value;
    }
    return value;
}

hu_value_id hu_look_vgg(hu_builder *b, double width, hu_value_id value, bool ceils,
                        hu_value_id *map) {
    enum { STAGES = 5, THIRD = 3 };
    static const int64_t channels[STAGES] = {64, 128, 256, 512, 512};
    static const int layers[STAGES] = {2, 2, 3, 3, 3};
    char name[HU_LOOK_NAME_BYTES];
    for (int s = 0; s < STAGES; s++) {
        if (s > 0) value = halve(b, s, value, ceils && s == THIRD);
        for (int k = 0; k < layers[s]; k++) {
            snprintf(name, sizeof name, "conv%d_%d", s + 1, k + 1);
            value = hu_layer_conv_relu(b, name, value, hu_build_scaled(channels[s], width),
                                       hu_window_same(3, 1));
        }
        map[s] = value;
    }
    return value;
}
