/* faster-rcnn: VGG-16 whose last map proposes regions, which two linear layers then look at, one by
 * one; faster-rcnn-s: the same behind four stages of ssd-s. Everything is one network with four
 * losses (approximate joint training). Source: Ren et al. 2015, "Faster R-CNN"; Girshick 2015,
 * "Fast R-CNN". Weights of new layers as there, N(0, 0.01), those of the last offsets N(0, 0.001);
 * but the layers in front of a relu begin by fan in, as those of the trunk do. Conv1 and conv2 of
 * VGG-16, which the authors freeze, are trained here: they are not loaded, so must be. */
#include <stdio.h>

#include "box/anchors.h"
#include "box/boxes.h"
#include "model/families.h"
#include "model/look.h"
#include "op/proposals.h"
#include "op/roi_pool.h"

enum { STAGES = 5, SCORES = 2 };

/* What the two forms differ in. */
typedef struct regions_form {
    hu_proposal_map anchors;
    int64_t rpn, hidden;            /* channels, features */
    int64_t samples;                /* anchors of a picture in their loss */
    int64_t before, after, regions; /* candidates before and behind suppression, regions */
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
    hu_value_id both[] = {hu_look_rows(b, "rpn.cls", scores, SCORES),
                          hu_look_rows(b, "rpn.box", offsets, HU_OFFSETS)};
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

/* Everything behind the map. */
static void close(hu_builder *b, const regions_form *f, double width, hu_value_id picture,
                  hu_value_id map) {
    const hu_picture size = {hu_look_extent(b, picture, 0), hu_look_extent(b, picture, 1)};
    const hu_anchors anchors = {
        .maps = 1,
        .map = {hu_anchor_map_proposals(&f->anchors, size, hu_look_extent(b, map, 0),
                                        hu_look_extent(b, map, 1))}};
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
    hu_value_id map[STAGES], picture = hu_build_region_input(&b);
    hu_look_expect_size(&b, picture, LEAST);
    hu_value_id value = hu_look_vgg(&b, options->width, picture, false, map);
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
    hu_value_id map[STAGES], picture = hu_build_region_input(&b);
    hu_look_expect_size(&b, picture, LEAST);
    hu_value_id value = hu_look_stages(&b, options->width, picture, USED, map);
    close(&b, &form, options->width, picture, value);
    return b.status;
}
