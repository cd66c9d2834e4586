#include "model/internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "media/anchors.h"
#include "media/boxes.h"
#include "op/attributes.h"

/* ---- look ---- */

/* What networks that look for boxes share. As builder.h: the first error sticks. */

/* Height (0) or width (1) of a map; 1 after an error. */
static int64_t hu_detector_extent(const hu_builder *b, hu_value_id value, int axis) {
    hu_shape shape = hu_build_shape(b, value);
    return shape.rank == 3 ? shape.extent[axis] : 1;
}

void hu_detector_expect_size(hu_builder *b, hu_value_id picture, int64_t least) {
    int64_t height = hu_detector_extent(b, picture, 0), width = hu_detector_extent(b, picture, 1);
    if (b->status != HU_OK || (height >= least && width >= least)) return;
    b->status = hu_fail(HU_ERR_SHAPE,
                        "found pictures of %" PRId64 " x %" PRId64
                        " pixels, expected at least %" PRId64 " x %" PRId64 " (data.size)",
                        height, width, least, least);
}

/* The outputs at a place as rows NAME.rows, one for each anchor: [H, W, shapes numbers] ->
 * [anchors, numbers]. */
static hu_value_id hu_detector_rows(hu_builder *b, const char *name, hu_value_id value,
                                    int64_t numbers) {
    char text[HU_LOOK_NAME_BYTES];
    hu_shape shape = hu_build_shape(b, value);
    int64_t elements = b->status == HU_OK ? hu_shape_elements(&shape) : numbers;
    const hu_shape rows = {2, {elements / numbers, numbers}};
    snprintf(text, sizeof text, "%s.rows", name);
    return hu_build_reshape(b, text, value, &rows);
}

/* After a pool: name poolS. */
static hu_value_id halve(hu_builder *b, int stage, hu_value_id value, bool ceils) {
    char name[HU_LOOK_NAME_BYTES];
    snprintf(name, sizeof name, "pool%d", stage);
    return hu_layer_max_pool(b, name, value, hu_window_valid(2, 2), ceils);
}

/* The first stages of ssd-s, each but the first after a halving: layers stageI.J of 8, 16, 32, 64
 * and 64 channels. map [5]: what each leaves; the last is returned. */
static hu_value_id hu_detector_stages(hu_builder *b, double width, hu_value_id value, int stages,
                                      hu_value_id *map) {
    enum { STAGES = 5, FIRST_ODD = 4 };
    static const int layers[STAGES] = {2, 2, 3, 3, 3};
    static const int64_t channels[STAGES] = {8, 16, 32, 64, 64};
    const hu_norm_form norm = {.epsilon = 1e-5f};
    char name[HU_LOOK_NAME_BYTES];
    for (int s = 0; s < stages; s++) {
        /* The half of an odd side is rounded up after the first map that is looked at. */
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

/* VGG-16's convolutions: stages convI_J with relus, each but the last after a halving; stage 3 is
 * halved with its odd sides rounded up where `ceils` says so. map [5] as above. */
static hu_value_id hu_detector_vgg(hu_builder *b, double width, hu_value_id value, bool ceils,
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

/* ---- ssd ---- */

/* ssd300: VGG-16 whose last layers look for boxes on six maps; ssd-s: the same idea on three maps
 * of pictures of about 160 x 120 pixels. Each map has a head of class scores and one of offsets,
 * for a few anchors at each place. Source: Liu et al. 2016, "SSD: Single Shot MultiBox Detector".
 */

enum { NAME_BYTES = HU_LOOK_NAME_BYTES, STAGES = 5 };

/* Maps that are looked at, with the shapes of their anchors. */
typedef struct looks {
    int count;
    hu_value_id map[HU_ANCHOR_MAPS_MAX];
    const hu_ssd_map *form; /* [count] */
    bool is_clipped;
    int64_t most; /* boxes of a picture, see media/anchors.h */
} looks;

static hu_anchors anchors_of(const hu_builder *b, const looks *l, hu_value_id picture) {
    hu_anchors anchors = {.maps = l->count, .is_clipped = l->is_clipped, .most = l->most};
    hu_picture size = {hu_detector_extent(b, picture, 0), hu_detector_extent(b, picture, 1)};
    for (int m = 0; m < l->count; m++)
        anchors.map[m] = hu_anchor_map_ssd(&l->form[m], size, hu_detector_extent(b, l->map[m], 0),
                                           hu_detector_extent(b, l->map[m], 1));
    return anchors;
}

/* A 3x3 convolution whose outputs at a place are rows, one for each anchor: [anchors, numbers]. */
static hu_value_id rows(hu_builder *b, const char *name, int number, hu_value_id map,
                        const hu_anchor_map *form, int64_t numbers) {
    char text[NAME_BYTES / 2];
    snprintf(text, sizeof text, "%s.%d", name, number);
    hu_value_id value =
        hu_layer_conv(b, text, map, form->shapes * numbers, hu_window_same(3, 1), true);
    return hu_detector_rows(b, text, value, numbers);
}

/* The rows of all maps after each other: [anchors, classes and offsets], and the loss on them. */
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
    hu_detector_expect_size(&b, picture, LEAST);
    hu_value_id value = hu_detector_stages(&b, options->width, picture, STAGES, map);
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
    hu_detector_expect_size(&b, picture, LEAST);
    hu_value_id value = hu_detector_vgg(&b, width, picture, true, map);
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

/* ---- faster rcnn ---- */

/* faster-rcnn: VGG-16 whose last map proposes regions, which two linear layers then look at, one by
 * one; faster-rcnn-s: the same after four stages of ssd-s. Everything is one network with four
 * losses (approximate joint training). Source: Ren et al. 2015, "Faster R-CNN"; Girshick 2015,
 * "Fast R-CNN". Weights of new layers as there, N(0, 0.01), those of the last offsets N(0, 0.001);
 * but the layers in front of a relu begin by fan in, as those of the trunk do. Conv1 and conv2 of
 * VGG-16, which the authors freeze, are trained here: they are not loaded, so must be. */

enum { FASTER_RCNN_STAGES = 5, SCORES = 2 };

/* What the two forms differ in. */
typedef struct regions_form {
    hu_proposal_map anchors;
    int64_t rpn, hidden;            /* channels, features */
    int64_t samples;                /* anchors of a picture in their loss */
    int64_t before, after, regions; /* candidates before and after suppression, regions */
    double least;                   /* pixels of a region's side */
    int64_t bins;                   /* of the pool, along both axes */
    double dropout;
} regions_form;

/* A 1x1 convolution with a bias: of a map, or of rows [R, 1, C] a linear layer. */
static hu_value_id last(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                        float deviation) {
    const hu_conv_form form = {.channels = channels,
                               .kernel = 1,
                               .stride = 1,
                               .has_bias = true,
                               .weight = {HU_INIT_NORMAL, deviation}};
    return hu_build_conv_as(b, name, in, &form);
}

/* Of each anchor the scores of background and thing and the offsets of a box: [anchors, 6]. */
static hu_value_id propose(hu_builder *b, const regions_form *f, hu_value_id map,
                           int64_t channels) {
    const float deviation = 0.01f;
    int64_t shapes = (int64_t)f->anchors.sizes * f->anchors.ratios;
    hu_value_id seen = hu_layer_conv_relu(b, "rpn.conv", map, channels, hu_window_same(3, 1));
    hu_value_id scores = last(b, "rpn.cls", seen, shapes * SCORES, deviation);
    hu_value_id offsets = last(b, "rpn.box", seen, shapes * HU_OFFSETS, deviation);
    hu_value_id both[] = {hu_detector_rows(b, "rpn.cls", scores, SCORES),
                          hu_detector_rows(b, "rpn.box", offsets, HU_OFFSETS)};
    return hu_build_concat(b, "rpn", 2, both);
}

/* The regions of the map as rows [R, 1, bins bins C]. */
static hu_value_id pool(hu_builder *b, const regions_form *f, hu_value_id map,
                        hu_value_id regions) {
    const hu_roi_pool_attrs attrs = {f->bins, f->bins, (float)(1.0 / f->anchors.step)};
    const hu_value_id in[] = {map, regions};
    const hu_shape rows = {3, {f->regions, 1, f->bins * f->bins * hu_build_channels(b, map)}};
    hu_value_id pooled = hu_build_node(b, &hu_op_roi_pool, "pool", NULL, &attrs, 2, in);
    return hu_build_reshape(b, "pool.rows", pooled, &rows);
}

/* Of each region the scores of the classes, then four offsets for each: [R, 5 classes]. */
static hu_value_id say(hu_builder *b, const regions_form *f, hu_value_id value, int64_t features) {
    const float of_scores = 0.01f, of_offsets = 0.001f;
    int64_t outputs = hu_build_outputs(b), classes = outputs / (1 + HU_OFFSETS);
    const hu_shape rows = {2, {f->regions, outputs}};
    value = hu_layer_conv_relu(b, "fc6", value, features, hu_window_same(1, 1));
    value = hu_layer_dropout(b, "fc6.drop", value, f->dropout);
    value = hu_layer_conv_relu(b, "fc7", value, features, hu_window_same(1, 1));
    value = hu_layer_dropout(b, "fc7.drop", value, f->dropout);
    hu_value_id both[] = {last(b, "cls", value, classes, of_scores),
                          last(b, "box", value, classes * HU_OFFSETS, of_offsets)};
    return hu_build_reshape(b, "head", hu_build_concat(b, "said", 2, both), &rows);
}

/* Everything after the map. */
static void close(hu_builder *b, const regions_form *f, double width, hu_value_id picture,
                  hu_value_id map) {
    const hu_picture size = {hu_detector_extent(b, picture, 0), hu_detector_extent(b, picture, 1)};
    const hu_anchors anchors = {
        .maps = 1,
        .map = {hu_anchor_map_proposals(&f->anchors, size, hu_detector_extent(b, map, 0),
                                        hu_detector_extent(b, map, 1))}};
    const hu_proposal_attrs attrs = {.anchors = anchors,
                                     .picture = size,
                                     .before = f->before,
                                     .after = f->after,
                                     .regions = f->regions,
                                     .least = f->least};
    hu_task_regions r = {.anchors = anchors, .picture = size, .samples = f->samples};
    r.rows = propose(b, f, map, hu_build_scaled(f->rpn, width));
    const hu_value_id in[] = {r.rows, b->value[1]};
    r.regions = hu_build_node(b, &hu_op_proposals, "rois", NULL, &attrs, 2, in);
    r.head = say(b, f, pool(b, f, map, r.regions), hu_build_scaled(f->hidden, width));
    b->choice.regions = f->regions;
    hu_build_region_losses(b, &r);
}

hu_status hu_model_faster_rcnn(const hu_model_options *options, hu_graph *graph) {
    enum { LEAST = 16 };
    static const regions_form form = {
        .anchors = {16, 3, 3, {128, 256, 512}, {0.5, 1, 2}},
        .rpn = 512,
        .hidden = 4096,
        .samples = 256,
        .before = 12000,
        .after = 2000,
        .regions = 128,
        .least = 16,
        .bins = 7,
        .dropout = 0.5,
    };
    hu_builder b = hu_build_begin(options, graph);
    hu_value_id map[FASTER_RCNN_STAGES], picture = hu_build_region_input(&b);
    hu_detector_expect_size(&b, picture, LEAST);
    hu_value_id value = hu_detector_vgg(&b, options->width, picture, false, map);
    close(&b, &form, options->width, picture, value);
    return b.status;
}

hu_status hu_model_faster_rcnn_s(const hu_model_options *options, hu_graph *graph) {
    enum { LEAST = 16, USED = 4 };
    static const regions_form form = {
        .anchors = {8, 3, 3, {12, 24, 48}, {0.5, 1, 2}},
        .rpn = 64,
        .hidden = 128,
        .samples = 256,
        .before = 400,
        .after = 100,
        .regions = 32,
        .least = 4,
        .bins = 4,
    };
    hu_builder b = hu_build_begin(options, graph);
    hu_value_id map[FASTER_RCNN_STAGES], picture = hu_build_region_input(&b);
    hu_detector_expect_size(&b, picture, LEAST);
    hu_value_id value = hu_detector_stages(&b, options->width, picture, USED, map);
    close(&b, &form, options->width, picture, value);
    return b.status;
}
