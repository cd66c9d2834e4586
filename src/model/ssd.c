/* ssd300: VGG-16 whose last layers look for boxes on six maps; ssd-s: the same idea on three maps
 * of pictures of about 160 x 120 pixels. Each map has a head of class scores and one of offsets,
 * for a few anchors at each place. Source: Liu et al. 2016, "SSD: Single Shot MultiBox Detector".
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "box/boxes.h"
#include "model/families.h"
#include "model/look.h"
#include "op/l2_norm.h"

enum { NAME_BYTES = HU_LOOK_NAME_BYTES, STAGES = 5 };

/* Maps that are looked at, with the shapes of their anchors. */
typedef struct looks {
    int count;
    hu_value_id map[HU_ANCHOR_MAPS_MAX];
    const hu_ssd_map *form; /* [count] */
    bool is_clipped;
    int64_t most; /* boxes of a picture, see box/anchors.h */
} looks;

static hu_anchors anchors_of(const hu_builder *b, const looks *l, hu_value_id picture) {
    hu_anchors anchors = {.maps = l->count, .is_clipped = l->is_clipped, .most = l->most};
    hu_picture size = {hu_look_extent(b, picture, 0), hu_look_extent(b, picture, 1)};
    for (int m = 0; m < l->count; m++)
        anchors.map[m] = hu_anchor_map_ssd(&l->form[m], size, hu_look_extent(b, l->map[m], 0),
                                           hu_look_extent(b, l->map[m], 1));
    return anchors;
}

/* A 3x3 convolution whose outputs at a place are rows, one for each anchor: [anchors, numbers]. */
static hu_value_id rows(hu_builder *b, const char *name, int number, hu_value_id map,
                        const hu_anchor_map *form, int64_t numbers) {
    char text[NAME_BYTES / 2];
    snprintf(text, sizeof text, "%s.%d", name, number);
    hu_value_id value =
        hu_layer_conv(b, text, map, form->shapes * numbers, hu_window_same(3, 1), true);
    return hu_look_rows(b, text, value, numbers);
}

/* The rows of all maps behind each other: [anchors, classes and offsets], and the loss on them. */
static void look(hu_builder *b, const looks *l, hu_value_id picture) {
    char text[NAME_BYTES];
    hu_anchors anchors = anchors_of(b, l, picture);
    int64_t outputs = hu_build_outputs(b), classes = outputs - HU_OFFSETS;
    hu_value_id flat[HU_ANCHOR_MAPS_MAX];
    for (int m = 0; m < l->count; m++) {
        const hu_anchor_map *form = &anchors.map[m];
        /* Another task may have no classes; it refuses the head below. */
        hu_value_id in[2] = {rows(b, "cls", m, l->map[m], form, classes > 0 ? classes : 1),
                             rows(b, "box", m, l->map[m], form, HU_OFFSETS)};
        snprintf(text, sizeof text, "map.%d", m);
        hu_value_id both = hu_build_concat(b, text, 2, in);
        hu_shape shape = hu_build_shape(b, both);
        snprintf(text, sizeof text, "map.%d.flat", m);
        shape = (hu_shape){1, {b->status == HU_OK ? hu_shape_elements(&shape) : 1}};
        flat[m] = hu_build_reshape(b, text, both, &shape);
    }
    int64_t width = (classes > 0 ? classes : 1) + HU_OFFSETS;
    const hu_shape whole = {2, {hu_anchors_count(&anchors), width}};
    hu_value_id head = hu_build_concat(b, "maps", l->count, flat);
    b->choice.anchors = &anchors;
    hu_build_loss(b, hu_build_reshape(b, "head", head, &whole));
    b->choice.anchors = NULL;
}

/* ---- ssd-s ---- */

hu_status hu_model_ssd_s(const hu_model_options *options, hu_graph *graph) {
    enum { FIRST_MAP = 3, LEAST = 16 };
    static const hu_ssd_map forms[] = {
        {8, 12, 24, 1, {2, 0}}, {16, 24, 48, 1, {2, 0}}, {32, 48, 80, 1, {2, 0}}};
    const hu_norm_form norm = {.epsilon = 1e-5f};
    hu_builder b = hu_build_begin(options, graph);
    hu_value_id picture = hu_build_input(&b), map[STAGES];
    looks l = {.form = forms};
    hu_look_expect_size(&b, picture, LEAST);
    hu_value_id value = hu_look_stages(&b, options->width, picture, STAGES, map);
    for (int s = FIRST_MAP; s < STAGES; s++) l.map[l.count++] = map[s];
    value = hu_layer_conv_bn_relu(&b, "extra.0", value, hu_build_scaled(32, options->width),
                                  hu_window_same(1, 1), norm);
    value = hu_layer_conv_bn_relu(&b, "extra.1", value, hu_build_scaled(64, options->width),
                                  hu_window_same(3, 2), norm);
    l.map[l.count++] = value;
    look(&b, &l, picture);
    return b.status;
}

/* ---- ssd300 ---- */

/* conv -> relu with a kernel that looks further apart. */
static hu_value_id dilated(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                           int64_t dilation) {
    char text[NAME_BYTES];
    const hu_conv_form form = {.channels = channels,
                               .kernel = 3,
                               .stride = 1,
                               .dilation = dilation,
                               .has_bias = true,
                               .weight = hu_layer_start(9 * hu_build_channels(b, in))};
    snprintf(text, sizeof text, "%s.relu", name);
    return hu_build_relu(b, text, hu_build_conv_as(b, name, in, &form));
}

hu_status hu_model_ssd300(const hu_model_options *options, hu_graph *graph) {
    enum { EXTRAS = 4, FIRST_EXTRA = 8, LEAST = 268 };
    static const hu_ssd_map forms[] = {{8, 30, 60, 1, {2, 0}},     {16, 60, 111, 2, {2, 3}},
                                       {32, 111, 162, 2, {2, 3}},  {64, 162, 213, 2, {2, 3}},
                                       {100, 213, 264, 1, {2, 0}}, {300, 264, 315, 1, {2, 0}}};
    static const int64_t narrow[EXTRAS] = {256, 128, 128, 128}, wide[] = {512, 256, 256, 256};
    const hu_window window[EXTRAS] = {hu_window_same(3, 2), hu_window_same(3, 2),
                                      hu_window_valid(3, 1), hu_window_valid(3, 1)};
    const hu_l2_norm_attrs length = {.scale = 20.0f, .epsilon = 1e-10f};
    double width = options->width;
    char name[NAME_BYTES];
    hu_builder b = hu_build_begin(options, graph);
    looks l = {.form = forms, .is_clipped = true, .most = 200};
    hu_value_id picture = hu_build_input(&b), map[STAGES];
    hu_look_expect_size(&b, picture, LEAST);
    hu_value_id value = hu_look_vgg(&b, width, picture, true, map);
    value = hu_layer_max_pool(&b, "pool5", value, hu_window_same(3, 1), false);
    l.map[l.count++] = hu_build_node(&b, &hu_op_l2_norm, "norm4", NULL, &length, 1, &map[3]);
    value = dilated(&b, "conv6", value, hu_build_scaled(1024, width), 6);
    value =
        hu_layer_conv_relu(&b, "conv7", value, hu_build_scaled(1024, width), hu_window_same(1, 1));
    l.map[l.count++] = value;
    for (int i = 0; i < EXTRAS; i++) {
        snprintf(name, sizeof name, "conv%d_1", FIRST_EXTRA + i);
        value = hu_layer_conv_relu(&b, name, value, hu_build_scaled(narrow[i], width),
                                   hu_window_same(1, 1));
        snprintf(name, sizeof name, "conv%d_2", FIRST_EXTRA + i);
        value = hu_layer_conv_relu(&b, name, value, hu_build_scaled(wide[i], width), window[i]);
        l.map[l.count++] = value;
    }
    look(&b, &l, picture);
    return b.status;
}
