/* Random small graphs with random formats, a function of a seed. */
#ifndef RANDOM_GRAPH_H
#define RANDOM_GRAPH_H
#include <stdio.h>

#include "op/attributes.h"
#include "product/onednn.h"
#include "run_spy.h"

enum { MOST_VALUES = 64, MOST_CHANNELS = 40, CLASSES = 5 };

/* ---- a random graph ---- */

typedef struct world {
    uint64_t seed, state;
    hu_graph *graph;
    hu_edge_table edges;
    hu_value_id value[MOST_VALUES]; /* activations so far, the image first */
    int count, names;
    int64_t batch, chunk, tail;
    bool counts_products, switches; /* formats change between steps */
    hu_product_engine products;
    float seed_gradient;
} world;

/* splitmix64 */
static inline uint64_t draw(world *w, uint64_t below) {
    uint64_t z = w->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % below;
}

static inline const hu_shape *shape_of(const world *w, hu_value_id v) {
    return &w->graph->value[v].shape;
}

static inline int64_t channels_of(const world *w, hu_value_id v) {
    const hu_shape *shape = shape_of(w, v);
    return shape->extent[shape->rank - 1];
}

/* Mostly one of the latest values. */
static inline hu_value_id pick(world *w) {
    int among = draw(w, 10) < 7 && w->count > 3 ? 3 : w->count;
    return w->value[w->count - 1 - (int)draw(w, (uint64_t)among)];
}

/* Another value of the same shape, or the same once more. */
static inline hu_value_id pick_like(world *w, hu_value_id v) {
    for (int i = 0; i < 24; i++) {
        hu_value_id other = pick(w);
        if (other != v && hu_shape_equal(shape_of(w, other), shape_of(w, v))) return other;
    }
    return v;
}

/* True if an earlier node has parameters of the shapes that a new one wants. */
static inline bool can_share(const world *w, const hu_node *node, const hu_op *op,
                             const void *attrs, const hu_shape *in) {
    hu_param_decl list[HU_MAX_PARAMS];
    int count = 0;
    if (node->op != op || op->params(attrs, in, list, &count) != HU_OK || count != node->n_params)
        return false;
    for (int j = 0; j < count; j++)
        if (!hu_shape_equal(&list[j].shape, &w->graph->value[node->param[j]].shape)) return false;
    return true;
}

/* Now and then parameters of earlier nodes, some or all of them. */
static inline void pick_params(world *w, const hu_op *op, const void *attrs, const hu_shape *in,
                               hu_value_id *params) {
    for (int j = 0; j < HU_MAX_PARAMS; j++) params[j] = HU_NONE;
    if (!op->params || draw(w, 2)) return;
    for (uint32_t n = w->graph->node_count; n-- > 0;) {
        const hu_node *node = &w->graph->node[n];
        if (!can_share(w, node, op, attrs, in)) continue;
        for (int j = 0; j < node->n_params; j++)
            if (draw(w, 4)) params[j] = node->param[j];
        return;
    }
}

static inline hu_value_id apply(world *w, const hu_op *op, const void *attrs, int n_in,
                                const hu_value_id *in) {
    char name[32];
    hu_value_id out[HU_MAX_OUTPUTS], params[HU_MAX_PARAMS];
    snprintf(name, sizeof name, "%s%d", op->name, w->names++);
    pick_params(w, op, attrs, shape_of(w, in[0]), params);
    if (hu_graph_share(w->graph, op, name, attrs, n_in, in, params, out) != HU_OK)
        fail_msg("seed %llu: %s", (unsigned long long)w->seed, hu_last_error());
    const hu_node *node = &w->graph->node[w->graph->node_count - 1];
    for (int i = 0; i < node->n_out && w->count < MOST_VALUES; i++) w->value[w->count++] = out[i];
    return out[0];
}

static inline hu_value_id add_norm(world *w, hu_value_id v) {
    const hu_batch_norm_attrs norm = {1e-5f, 0.1f};
    const hu_range_norm_attrs range = {1e-5f, 0.9f};
    const hu_layer_norm_attrs layer = {1e-5f};
    const hu_rms_norm_attrs rms = {1e-6f};
    const hu_instance_norm_attrs instance = {1e-5f, draw(w, 2)};
    const hu_group_norm_attrs group = {channels_of(w, v) % 2 ? 1 : 2, 1e-5f, draw(w, 2)};
    if (draw(w, 8) == 0) return apply(w, &hu_op_rms_norm, &rms, 1, &v);
    if (draw(w, 8) == 0) return apply(w, &hu_op_group_norm, &group, 1, &v);
    if (draw(w, 8) == 0 && shape_of(w, v)->rank > 1)
        return apply(w, &hu_op_instance_norm, &instance, 1, &v);
    if (draw(w, 4) == 0) return apply(w, &hu_op_layer_norm, &layer, 1, &v);
    if (draw(w, 3) == 0) return apply(w, &hu_op_range_norm, &range, 1, &v);
    return apply(w, &hu_op_batch_norm, &norm, 1, &v);
}

/* A product, often with a bias of its own after it. */
static inline hu_value_id add_product(world *w, const hu_op *op, const void *attrs, hu_value_id v) {
    const hu_bias_attrs bias = {{HU_INIT_NORMAL, 0.1f}};
    v = apply(w, op, attrs, 1, &v);
    return draw(w, 2) ? apply(w, &hu_op_bias, &bias, 1, &v) : v;
}

static inline hu_value_id add_conv(world *w, hu_value_id v) {
    static const int64_t widths[] = {3, 4, 8, 17};
    int64_t kernel = 1 + 2 * (int64_t)draw(w, 2), in = channels_of(w, v);
    int64_t out = draw(w, 2) ? in : widths[draw(w, 4)], stride = draw(w, 5) ? 1 : 2;
    bool is_depthwise = in == out && draw(w, 3) == 0;
    int64_t groups = draw(w, 6) == 0 && in % 2 == 0 && out % 2 == 0 ? 2 : is_depthwise ? in : 1;
    enum { SMALL = 8 };
    bool is_small = shape_of(w, v)->extent[0] <= SMALL && shape_of(w, v)->extent[1] <= SMALL;
    bool transposed = draw(w, 8) == 0 && (stride == 1 || is_small);
    hu_conv_attrs conv = {.out_channels = out,
                          .kernel_h = kernel,
                          .kernel_w = kernel,
                          .stride_h = stride,
                          .stride_w = stride,
                          .pad_h = kernel / 2,
                          .pad_w = kernel / 2,
                          .dilation_h = 1,
                          .dilation_w = 1,
                          .groups = groups,
                          .has_bias = draw(w, 3) == 0,
                          .weight_init = {HU_INIT_NORMAL, 0.3f},
                          .bias_init = {HU_INIT_NORMAL, 0.1f},
                          .transposed = transposed,
                          .extra_w = transposed ? stride - 1 : 0};
    return add_product(w, &hu_op_conv2d, &conv, v);
}

static inline void add_pool(world *w, hu_value_id v) {
    int64_t kernel = 2 + (int64_t)draw(w, 4), most = shape_of(w, v)->extent[0];
    hu_pool_attrs pool = {.kernel_h = kernel,
                          .kernel_w = 2,
                          .stride_h = 1 + (int64_t)draw(w, 2),
                          .stride_w = 1,
                          .pad_h = draw(w, 2) ? 1 : 0};
    if (most < kernel || shape_of(w, v)->extent[1] < 2) return;
    apply(w, draw(w, 2) ? &hu_op_max_pool : &hu_op_avg_pool, &pool, 1, &v);
}

static inline void add_joining(world *w, const hu_op *op, hu_value_id v) {
    int n = op == &hu_op_mul ? 2 : 2 + (draw(w, 4) == 0);
    hu_value_id in[3];
    int64_t channels = channels_of(w, v) * n;
    for (int i = 0; i < n; i++) in[i] = pick_like(w, v);
    in[draw(w, (uint64_t)n)] = v;
    bool grows = op == &hu_op_concat || op == &hu_op_interleave;
    if (grows && channels > MOST_CHANNELS) return;
    apply(w, op, NULL, n, in);
}

static inline void swap(hu_value_id pair[2]) {
    hu_value_id first = pair[0];
    pair[0] = pair[1];
    pair[1] = first;
}

static inline hu_value_id add_relu(world *w, hu_value_id v) {
    return apply(w, &hu_op_relu, NULL, 1, &v);
}

/* Nodes that often stand together: [relu,] conv, [norm, relu, conv, norm, add, relu]. */
static inline void add_block(world *w, hu_value_id v) {
    hu_value_id pair[2];
    if (shape_of(w, v)->rank != 3) return;
    v = add_conv(w, draw(w, 2) ? add_relu(w, v) : v);
    pair[0] = draw(w, 3) ? add_norm(w, v) : v;
    if (draw(w, 3) == 0) pair[0] = add_norm(w, add_conv(w, add_relu(w, pair[0])));
    pair[1] = draw(w, 2) ? pick_like(w, pair[0]) : draw(w, 2) ? add_norm(w, v) : v;
    if (!hu_shape_equal(shape_of(w, pair[0]), shape_of(w, pair[1]))) return;
    if (draw(w, 2)) swap(pair);
    if (draw(w, 4)) pair[0] = apply(w, &hu_op_add, NULL, 2, pair);
    if (draw(w, 3)) add_relu(w, pair[0]);
}

/* Two parts; or two halves that meet again, one of them normalised, sometimes shuffled. */
static inline void add_split(world *w, hu_value_id v) {
    int64_t channels = channels_of(w, v);
    bool meets = channels % 2 == 0 && draw(w, 2);
    hu_split_attrs split = {.first = meets ? channels / 2 : 1};
    hu_value_id pair[2];
    if (channels < 2) return;
    pair[0] = apply(w, &hu_op_split, &split, 1, &v);
    if (!meets) return;
    pair[1] = add_norm(w, pair[0] + 1);
    if (draw(w, 2)) swap(pair);
    apply(w, draw(w, 2) ? &hu_op_add : &hu_op_interleave, NULL, 2, pair);
}

static inline void add_element_wise(world *w, hu_value_id v) {
    const hu_dropout_attrs dropout = {0.3f};
    const hu_bias_attrs bias = {{HU_INIT_NORMAL, 0.1f}};
    const hu_scale_attrs scale = {0.7f};
    const hu_gelu_attrs gelu = {.by_tanh = draw(w, 2)};
    const hu_clipped_relu_attrs clipped = {.limit = 1.0f};
    const hu_clip_attrs clip = {-1.0f, 2.0f};
    static const hu_op *const plain[] = {&hu_op_silu, &hu_op_hard_swish, &hu_op_abs,
                                         &hu_op_neg,  &hu_op_tanh,       &hu_op_hard_sigmoid};
    switch (draw(w, 14)) {
    case 0:
        apply(w, &hu_op_dropout, &dropout, 1, &v);
        break;
    case 1:
        apply(w, &hu_op_bias, &bias, 1, &v);
        break;
    case 2:
        apply(w, &hu_op_sigmoid, NULL, 1, &v);
        break;
    case 3:
        apply(w, &hu_op_log_softmax, NULL, 1, &v);
        break;
    case 4:
        apply(w, &hu_op_scale, &scale, 1, &v);
        break;
    case 5:
        apply(w, &hu_op_gelu, &gelu, 1, &v);
        break;
    case 6:
        apply(w, &hu_op_clipped_relu, &clipped, 1, &v);
        break;
    case 7:
        apply(w, &hu_op_clip, &clip, 1, &v);
        break;
    case 8:
    case 9:
        apply(w, plain[draw(w, 6)], NULL, 1, &v);
        break;
    default:
        apply(w, &hu_op_relu, NULL, 1, &v);
    }
}

/* A value and what it is stretched by: a constant, a parameter, a value of fewer channels or
 * places.
 */
static inline void add_arithmetic(world *w, hu_value_id v) {
    static const hu_op *const joins[] = {&hu_op_mul, &hu_op_add, &hu_op_sub, &hu_op_maximum,
                                         &hu_op_minimum};
    const hu_op *op = joins[draw(w, 5)];
    const hu_shape *shape = shape_of(w, v);
    hu_arithmetic_attrs attrs = {.weight_init = {HU_INIT_NORMAL, 0.5f}};
    hu_value_id in[3] = {v, v, v};
    if (draw(w, 3) == 0) {
        attrs.value = 0.75f;
    } else if (draw(w, 2)) {
        attrs.shape = *shape;
        for (int i = 0; i < shape->rank; i++)
            if (draw(w, 2)) attrs.shape.extent[i] = 1;
        if (attrs.shape.rank == 0) attrs.shape = (hu_shape){1, {1}};
    } else { /* a gate: the mean of the places, of a value of as many channels */
        hu_value_id of = pick_like(w, v);
        if (shape->rank != 3) return;
        in[1] = draw(w, 2) ? apply(w, &hu_op_global_avg_pool, NULL, 1, &of) : of;
        in[2] = pick_like(w, v);
        if (draw(w, 3) == 0) swap(in);
        if (draw(w, 4) == 0)
            apply(w, &hu_op_where, NULL, 3, in);
        else
            apply(w, op, NULL, 2, in);
        return;
    }
    apply(w, op, &attrs, 1, in);
}

/* What is done with rows: an image has rows of pixels. */
static inline void add_tokens(world *w, hu_value_id v) {
    enum { MOST_ROWS = 12 };
    const hu_init normal = {HU_INIT_NORMAL, 0.1f};
    const hu_position_attrs position = {.init = normal};
    const hu_class_token_attrs class_token = {.init = normal};
    const hu_pick_attrs pick_row = {.last = draw(w, 2)};
    const hu_concat_attrs join = {.rows = true};
    const hu_shape *shape = shape_of(w, v);
    int64_t rows = shape->extent[0];
    const hu_split_attrs apart = {.first = 1 + rows / 3, .rows = true};
    hu_value_id pair[2] = {v, pick_like(w, v)};
    bool is_wave = shape->rank == 2 && shape->extent[1] >= 4 && shape->extent[1] % 2 == 0;
    switch (draw(w, 6)) {
    case 0:
        if (shape->rank > 1 && rows < MOST_ROWS) apply(w, &hu_op_class_token, &class_token, 1, &v);
        break;
    case 1:
        if (shape->rank > 1) apply(w, &hu_op_pick, &pick_row, 1, &v);
        break;
    case 2:
        if (2 * rows < MOST_ROWS) apply(w, &hu_op_concat, &join, 2, pair);
        break;
    case 3:
        if (rows > 1) apply(w, &hu_op_split, &apart, 1, &v);
        break;
    case 4:
        if (is_wave) apply(w, &hu_op_sinusoid, NULL, 1, &v);
        break;
    default:
        apply(w, &hu_op_position, &position, 1, &v);
    }
}

/* An axis of a value, counted from the front or from the end. */
static inline int64_t draw_axis(world *w, hu_value_id v) {
    int64_t rank = shape_of(w, v)->rank, axis = (int64_t)draw(w, (uint64_t)rank);
    return draw(w, 2) ? axis : axis - rank;
}

/* What is done along axes. */
static inline void add_axes(world *w, hu_value_id v) {
    enum { MOST_PLACES = 12 };
    static const hu_op *const reductions[] = {&hu_op_reduce_mean, &hu_op_reduce_sum,
                                              &hu_op_reduce_max};
    int64_t axis = draw_axis(w, v), rank = shape_of(w, v)->rank;
    int64_t places = shape_of(w, v)->extent[axis < 0 ? axis + rank : axis];
    const hu_slice_attrs slice = {
        {1, {axis}}, (int64_t)draw(w, 2) * (places > 1), 0, 1 + (int64_t)draw(w, 2)};
    const hu_reduce_attrs reduce = {{1, {axis}}, rank == 1 || draw(w, 2)};
    const hu_softmax_attrs softmax = {{1, {axis}}};
    const hu_split_attrs split = {.axis = {1, {axis}}, .sizes = {2, {1, places - 1}}};
    const hu_concat_attrs join = {.axis = {1, {axis}}};
    hu_pad_attrs pad = {{(int32_t)rank, {0}}, {(int32_t)rank, {0}}, draw(w, 2) ? 0.3f : 0.0f};
    hu_transpose_attrs turn = {{(int32_t)rank, {0}}};
    hu_value_id pair[2] = {v, pick_like(w, v)};
    pad.before.at[axis < 0 ? axis + rank : axis] = (int64_t)draw(w, 2);
    pad.after.at[axis < 0 ? axis + rank : axis] = (int64_t)draw(w, 2);
    for (int64_t i = 0, first = (int64_t)draw(w, 3); i < rank; i++)
        turn.axes.at[i] = (i + first) % rank;
    switch (draw(w, 7)) {
    case 0:
        apply(w, &hu_op_slice, &slice, 1, &v);
        break;
    case 1:
        if (places < MOST_PLACES) apply(w, &hu_op_pad, &pad, 1, &v);
        break;
    case 2:
        apply(w, &hu_op_transpose, &turn, 1, &v);
        break;
    case 3:
        apply(w, &hu_op_softmax, &softmax, 1, &v);
        break;
    case 4:
        if (places > 1) apply(w, &hu_op_split, &split, 1, &v);
        break;
    case 5:
        if (2 * places < MOST_PLACES) apply(w, &hu_op_concat, &join, 2, pair);
        break;
    default:
        apply(w, reductions[draw(w, 3)], &reduce, 1, &v);
    }
}

/* What is done with rows [T, C]. */
static inline void add_rows(world *w, hu_value_id v) {
    int64_t rows = shape_of(w, v)->extent[0], channels = channels_of(w, v);
    int64_t groups = channels % 2 == 0 && draw(w, 2) ? 2 : 1;
    const hu_conv1d_attrs conv = {.out_channels = groups * (1 + (int64_t)draw(w, 5)),
                                  .kernel = 3,
                                  .stride = 1 + (int64_t)draw(w, 2),
                                  .pad = 1 + (int64_t)draw(w, 2),
                                  .dilation = 1,
                                  .groups = groups,
                                  .has_bias = draw(w, 2),
                                  .weight_init = {HU_INIT_NORMAL, 0.3f},
                                  .bias_init = {HU_INIT_NORMAL, 0.1f}};
    const hu_pool1d_attrs pool = {.kernel = 2, .stride = 1 + (int64_t)draw(w, 2), .pad = 1};
    const hu_rotary_attrs rotary = {1, 100.0f, draw(w, 2)};
    switch (draw(w, 4)) {
    case 0:
    case 1:
        add_product(w, &hu_op_conv1d, &conv, v);
        break;
    case 2:
        if (rows > 1) apply(w, draw(w, 2) ? &hu_op_max_pool1d : &hu_op_avg_pool1d, &pool, 1, &v);
        break;
    default:
        if (channels % 2 == 0) apply(w, &hu_op_rotary, &rotary, 1, &v);
    }
}

static inline void add_something(world *w) {
    hu_value_id v = pick(w);
    bool is_image = shape_of(w, v)->rank == 3;
    hu_linear_attrs linear = {.out_features = 1 + (int64_t)draw(w, 9),
                              .has_bias = draw(w, 2),
                              .rows = draw(w, 2) && shape_of(w, v)->rank > 0,
                              .weight_init = {HU_INIT_UNIFORM, 0.2f}};
    if (draw(w, 8) == 0 && shape_of(w, v)->rank > 0) add_axes(w, v);
    if (draw(w, 3) == 0 && shape_of(w, v)->rank == 2) add_rows(w, v);
    switch (draw(w, 20)) {
    case 18:
    case 19:
        add_arithmetic(w, v);
        break;
    case 14:
    case 15:
        add_tokens(w, v);
        break;
    case 0:
        add_product(w, &hu_op_linear, &linear, v);
        break;
    case 1:
        add_split(w, v);
        break;
    case 2:
        if (is_image) add_pool(w, v);
        break;
    case 3:
        add_joining(w, &hu_op_mul, v);
        break;
    case 4:
        add_joining(w, draw(w, 2) ? &hu_op_concat : &hu_op_interleave, v);
        break;
    case 5:
    case 6:
    case 7:
        add_joining(w, &hu_op_add, v);
        break;
    case 8:
    case 9:
        if (is_image) add_conv(w, v);
        break;
    case 10:
    case 11:
        add_norm(w, v);
        break;
    case 12:
    case 13:
        add_block(w, v);
        break;
    default:
        add_element_wise(w, v);
    }
}

static inline bool is_read(const world *w, hu_value_id v) {
    for (uint32_t u = 0; u < w->graph->use_count; u++)
        if (w->graph->use[u].value == v) return true;
    return false;
}

/* Most of what nobody reads, as vectors, to the classes. */
static inline void add_end(world *w, hu_value_id label) {
    hu_value_id in[MOST_VALUES], pair[2];
    int n = 0, count = w->count;
    hu_linear_attrs linear = {.out_features = CLASSES, .weight_init = {HU_INIT_UNIFORM, 0.2f}};
    hu_bias_attrs bias = {{HU_INIT_NORMAL, 0.1f}};
    for (int i = 1; i < count; i++) {
        hu_value_id v = w->value[i];
        if (is_read(w, v) || (i < count - 1 && draw(w, 6) == 0)) continue;
        if (shape_of(w, v)->rank == 3 && draw(w, 2)) {
            v = apply(w, &hu_op_global_avg_pool, NULL, 1, &v);
            in[n++] = apply(w, &hu_op_flatten, NULL, 1, &v);
        } else {
            in[n++] = apply(w, &hu_op_mean, NULL, 1, &v);
        }
    }
    pair[0] = n > 1 ? apply(w, &hu_op_concat, NULL, n, in) : in[0];
    pair[0] = apply(w, &hu_op_linear, &linear, 1, pair);
    pair[0] = apply(w, &hu_op_bias, &bias, 1, pair);
    pair[0] = apply(w, &hu_op_log_softmax, NULL, 1, pair);
    pair[1] = label;
    apply(w, &hu_op_nll, NULL, 2, pair);
}

static inline void open_graph(world *w) {
    hu_shape image = {3,
                      {5 + (int64_t)draw(w, 3), 4 + (int64_t)draw(w, 3), 1 + (int64_t)draw(w, 4)}};
    hu_shape scalar = {0, {0}};
    hu_value_id label;
    int nodes = 4 + (int)draw(w, 22);
    assert_int_equal(hu_graph_create(&w->graph), HU_OK);
    assert_int_equal(hu_graph_input(w->graph, "input", &image, &w->value[w->count++]), HU_OK);
    assert_int_equal(hu_graph_target(w->graph, "label", &scalar, &label), HU_OK);
    if (draw(w, 3)) add_conv(w, w->value[0]);
    for (int i = 0; i < nodes && w->count < MOST_VALUES / 2; i++) add_something(w);
    add_end(w, label);
    assert_int_equal(hu_graph_finish(w->graph), HU_OK);
}

/* ---- random formats ---- */

/* The first ones need no maximum. */
static const char *const formats[] = {"",
                                      "bf16",
                                      "e5m2",
                                      "e5m2 sr",
                                      "bf16 sr",
                                      "fp(4,3,4):ovf=sat",
                                      "fp(5,2,0):ovf=sat sr",
                                      "fp16:ovf=sat",
                                      "mxfp8",
                                      "mxfp4",
                                      "e4m3fn:scale=delayed2",
                                      "e4m3fn:scale=2^3",
                                      "fp(6,9,0)",
                                      "nvfp4",
                                      "e4m3fn:scale=current",
                                      "fp(5,2,0):scale=bias"};
enum { FORMATS = sizeof formats / sizeof *formats, LOCAL_FORMATS = FORMATS - 3 };

static inline hu_quantizer draw_format(world *w, int mode) {
    switch (mode) {
    case 0:
        return quantizer_of("");
    case 1: /* whole tensors in one format */
        return quantizer_of("e5m2");
    case 2:
        return quantizer_of(formats[draw(w, LOCAL_FORMATS)]);
    case 3: /* now and then one that waits */
        return quantizer_of(formats[draw(w, 12) ? draw(w, LOCAL_FORMATS) : draw(w, FORMATS)]);
    default:
        return quantizer_of(formats[draw(w, FORMATS)]);
    }
}

static inline void choose_accumulators(world *w) {
    static const char *const names[] = {"fmac8:1/6/9", "mac:bf16", "fmac8:1/6/9"};
    for (uint32_t n = 0; n < w->graph->node_count; n++) {
        hu_accumulation *accumulation = &w->edges.products[n].accumulation;
        if (!w->graph->node[n].op->is_product || draw(w, 2)) continue;
        for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
            if (!draw(w, 3)) continue;
            accumulation->chosen[r] = true;
            assert_int_equal(hu_accumulator_parse(names[draw(w, 3)], &accumulation->accumulator[r]),
                             HU_OK);
        }
    }
}

/* What products read of samples is rounded as layers with bits do, and may be learned. */
static inline void choose_bits(world *w) {
    static const char *const names[] = {"uniform8", "uniform3", "uniform5",
                                        "e4m3",     "e2m1",     "e4m3fn:scale=current"};
    static const uint32_t residuals[] = {8, 4, 5, 0};
    for (uint32_t n = 0; n < w->graph->node_count; n++) {
        const hu_node *node = &w->graph->node[n];
        hu_edge *edge = &w->edges.use[node->first_use];
        if (!node->op->is_product || !hu_is_rounded_kind(&w->graph->value[node->in[0]])) continue;
        edge->quantizer = quantizer_of(names[draw(w, 6)]);
        edge->learns = draw(w, 2);
        edge->residual_bits = residuals[draw(w, 4)];
    }
}

static inline void open_edges(world *w) {
    const hu_graph *g = w->graph;
    int mode = (int)draw(w, 6), sums = draw(w, 2) ? mode : 0;
    assert_int_equal(hu_edge_table_create(g, &w->edges), HU_OK);
    for (hu_value_id v = 0; v < g->value_count; v++) {
        bool has_sum = g->value[v].role != HU_VALUE_PARAMETER || hu_is_summed_parameter(g, v);
        if (!hu_is_rounded_kind(&g->value[v])) continue;
        w->edges.value[v].quantizer = draw_format(w, mode);
        if (has_sum) w->edges.grad_sum[v].quantizer = draw_format(w, sums);
    }
    bool has_uses = draw(w, 3) == 0; /* rounded at reading */
    for (uint32_t u = 0; u < g->use_count && has_uses; u++)
        if (hu_is_rounded_kind(&g->value[g->use[u].value]) && draw(w, 3) == 0)
            w->edges.use[u].quantizer = draw_format(w, mode);
    for (uint32_t u = 0; u < g->use_count; u++)
        if (g->value[g->use[u].value].role != HU_VALUE_BUFFER)
            w->edges.grad[u].quantizer = draw_format(w, mode);
    if (draw(w, 3) == 0) choose_accumulators(w);
    if (draw(w, 3) == 0) choose_bits(w);
}

/* ---- formats that change between steps ---- */

/* A function of the seed, the edge and a purpose. */
static inline uint64_t draw_for(const world *w, uint64_t purpose, uint64_t edge, uint64_t below) {
    world local = {.state = w->seed * 0x10001 + purpose * 0x1000003 + edge * 0x101};
    draw(&local, 2);
    return draw(&local, below);
}

/* 0 for most edges whose format needs a maximum, and for some others: they stay as they are. */
static inline uint32_t capacity_of(const world *w, const hu_edge *edge, uint64_t number) {
    static const uint32_t bits[] = {0, 8, 16, 32};
    return hu_quantizer_is_plain(&edge->quantizer) ? bits[draw_for(w, 1, number, 4)] : 0;
}

static inline void switch_edge(const world *w, hu_edge *edge, uint64_t number, uint64_t step,
                               bool has_master, bool has_capacity) {
    uint32_t capacity = capacity_of(w, edge, number);
    edge->capacity_bits = has_capacity ? capacity : 0;
    if (capacity == 0) return;
    for (uint64_t turn = 0;; turn++) {
        hu_quantizer q = quantizer_of(formats[draw_for(w, 2 + 64 * step + turn, number, 8)]);
        bool rounds = hu_quantizer_rounds(&q);
        if (hu_quantizer_bits(&q) > capacity && (rounds || !has_master)) continue;
        edge->quantizer = q;
        return;
    }
}

/* The formats of a step; has_capacity: runs have room for all of them. */
static inline void switch_formats(world *w, uint64_t step, bool has_capacity) {
    const hu_graph *g = w->graph;
    uint64_t number = 0;
    if (!w->switches) return;
    for (hu_value_id v = 0; v < g->value_count; v++) {
        bool is_param = g->value[v].role == HU_VALUE_PARAMETER;
        if (!hu_is_rounded_kind(&g->value[v])) continue;
        switch_edge(w, &w->edges.value[v], number++, step, is_param, has_capacity);
        if (!is_param || hu_is_summed_parameter(g, v))
            switch_edge(w, &w->edges.grad_sum[v], number++, step, false, has_capacity);
    }
    for (uint32_t u = 0; u < g->use_count; u++)
        if (g->value[g->use[u].value].role != HU_VALUE_BUFFER)
            switch_edge(w, &w->edges.grad[u], number++, step, false, has_capacity);
}

static inline world open_world(uint64_t seed) {
    static const float gradients[] = {0.1f, 64.0f, 0x1p16f};
    world w = {.seed = seed, .state = seed};
    open_graph(&w);
    open_edges(&w);
    w.batch = 1 + (int64_t)draw(&w, 19);
    w.chunk = 1 + (int64_t)draw(&w, 5);
    w.tail = 1 + (int64_t)draw(&w, (uint64_t)w.batch);
    w.counts_products = draw(&w, 2);
    w.switches = draw(&w, 3) == 0;
    if (draw(&w, 6) == 0)
        w.products = hu_dnn_is_there() ? HU_ENGINE_ONEDNN : HU_ENGINE_OWN;
    else if (draw(&w, 3) == 0)
        w.products = HU_ENGINE_WINOGRAD;
    w.seed_gradient = gradients[draw(&w, 3)];
    return w;
}

static inline void close_world(world *w) {
    hu_edge_table_free(&w->edges);
    hu_graph_free(w->graph);
}
#endif
