/* Every operation's gradients against central differences, over one list of cases. */
#include "op_drive.h"

#include <stdio.h>

#include "op/attributes.h"

typedef enum input_kind {
    NORMAL,  /* smooth operations */
    SHARES,  /* the same; input 1 lies between 0.1 and 0.9 */
    APART,   /* the same; input 1 lies 0.1 or more away from input 0, on both sides */
    LENGTHS, /* the same; the last input says how many keys there are, from none on */
    REGIONS, /* as SPACED; input 1 holds regions of the map */
    BOXES,   /* the same; input 1 holds boxes, so many that all anchors take part */
    IDS,     /* whole numbers below 5 */
    DRAWN,   /* smooth; input 1 holds classes, of which -1 is none, input 2 the same ones for all */
    PLACES,  /* smooth; input 1 holds places of rows or ids of words, some twice, some of none */
    MIXED,   /* smooth; input 1 holds classes, input 2 other ones with weights */
    SPELLED, /* smooth; input 1 holds labels of different number, input 2 the rows that count */
    DIVIDED, /* smooth; input 1 lies between 0.5 and 2.5 */
    GIVEN,   /* smooth; input 0 is 0 or not */
    POSITIVE, /* input 0 lies between 0.5 and 2.5 */
    SPACED    /* all values at least 0.05 apart and 0.025 away from 0: kinks are out of reach */
} input_kind;

typedef struct gradient_case {
    const hu_op *op;
    const void *attrs;
    input_kind kind;
    int n_in;
    hu_shape in[DRIVE_INS];
    bool labels; /* input 1 holds labels */
    float h;
} gradient_case;

#define SHAPE(...)                                                                                 \
    {                                                                                              \
        .rank = (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .extent = {         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const hu_batch_norm_attrs norm = {.epsilon = 1e-5f, .momentum = 0.1f};
static const hu_range_norm_attrs range = {.epsilon = 1e-5f, .momentum = 0.9f};
static const hu_bias_attrs bias = {.bias_init = {HU_INIT_CONSTANT, 0}};
static const hu_pool_attrs pool2 = {2, 2, 2, 2, 0, 0, 0, 0, false, false};
static const hu_pool_attrs pool3 = {3, 3, 2, 2, 1, 1, 0, 0, false, true};
static const hu_pool_attrs tall = {3, 2, 1, 3, 2, 0, 0, 0, false, false};
static const hu_pool_attrs beyond = {3, 2, 2, 3, 1, 0, -1, 1, true, true};
static const hu_pool1d_attrs in_pairs = {3, 2, 1, 0, true, true};
static const hu_adaptive_pool_attrs adaptive = {3, 2}, stretched = {5, 7};
static const hu_local_norm_attrs local = {.size = 5, .alpha = 2.0f, .beta = 0.75f, .k = 1.0f};
static const hu_local_norm_attrs plain_local = {.size = 3, .alpha = 1.5f, .beta = 0.5f, .k = 2.0f};
static const hu_layer_norm_attrs layer = {.epsilon = 1e-5f};
static const hu_group_norm_attrs groups = {3, 1e-5f, true}, plain_groups = {2, 1e-5f, false};
static const hu_instance_norm_attrs instance = {1e-5f, true}, plain_instance = {1e-5f, false};
static const hu_rms_norm_attrs rms = {1e-6f};
static const hu_l2_norm_attrs l2 = {.scale = 2.0f, .epsilon = 1e-10f};
static const hu_reduce_attrs of_ends = {{2, {0, -1}}, false}, of_second = {{1, {1}}, true},
                             of_all = {.keeps = true};
static const hu_roi_pool_attrs regions = {2, 3, 0.5f};
static const hu_softmax_attrs of_last = {{0, {0}}}, of_rows_too = {{1, {0}}};
static const hu_log_softmax_attrs keeping = {.kept = 4};
static const hu_box_loss_attrs boxes = {.anchors = {.maps = 1,
                                                    .map = {{.height = 2,
                                                             .width = 3,
                                                             .step_y = 0.5,
                                                             .step_x = 0.33,
                                                             .shapes = 2,
                                                             .h = {0.5, 0.7},
                                                             .w = {0.4, 0.2}}}}};
static const hu_box_loss_attrs boxes_of_logs = {.takes_logs = true,
                                                .anchors = {.maps = 1,
                                                            .map = {{.height = 1,
                                                                     .width = 4,
                                                                     .step_y = 1,
                                                                     .step_x = 0.25,
                                                                     .shapes = 1,
                                                                     .h = {0.9},
                                                                     .w = {0.3}}}}};
static const hu_box_loss_attrs things = {.samples = 64,
                                         .anchors = {.maps = 1,
                                                     .map = {{.height = 2,
                                                              .width = 4,
                                                              .step_y = 0.5,
                                                              .step_x = 0.25,
                                                              .shapes = 1,
                                                              .h = {0.6},
                                                              .w = {0.25}}}}};
static const hu_region_loss_attrs of_regions = {{1, 1}};
static const hu_split_attrs split = {.first = 3}, split_rows = {.first = 1, .rows = true};
static const hu_split_attrs three = {.axis = {1, {1}}, .parts = 3};
static const hu_split_attrs by_sizes = {.sizes = {3, {1, 3, 2}}};
static const hu_concat_attrs join_rows = {.rows = true}, join_middle = {.axis = {1, {1}}};
static const hu_slice_attrs every_other = {{1, {1}}, 1, -1, 2};
static const hu_pad_attrs around = {{2, {1, 0}}, {2, {0, 2}}, 0.5f};
static const hu_transpose_attrs turned = {{3, {2, 0, 1}}};
static const hu_position_attrs position = {.init = {HU_INIT_CONSTANT, 0}};
static const hu_position_attrs more_rows = {.init = {HU_INIT_CONSTANT, 0}, .rows = 7};
static const hu_rotary_attrs halves = {2, 10000.0f, false}, neighbours = {1, 10.0f, true};
static const hu_class_token_attrs class_token = {.init = {HU_INIT_CONSTANT, 0}};
static const hu_pick_attrs pick_last = {.last = true};
static const hu_dropout_attrs dropout = {.probability = 0.4f};
static const hu_scale_attrs eighth = {.factor = 0.125f}, odd = {.factor = -1.7f};
static const hu_conv_attrs conv = {.out_channels = 5,
                                   .kernel_h = 3,
                                   .kernel_w = 3,
                                   .stride_h = 1,
                                   .stride_w = 1,
                                   .pad_h = 1,
                                   .pad_w = 1,
                                   .dilation_h = 1,
                                   .dilation_w = 1,
                                   .groups = 1};
static const hu_conv_attrs strided = {.out_channels = 4,
                                      .kernel_h = 3,
                                      .kernel_w = 2,
                                      .stride_h = 2,
                                      .stride_w = 1,
                                      .pad_h = 1,
                                      .pad_w = 0,
                                      .dilation_h = 1,
                                      .dilation_w = 2,
                                      .groups = 2,
                                      .has_bias = true};
static const hu_conv_attrs uneven = {.out_channels = 6,
                                     .kernel_h = 1,
                                     .kernel_w = 5,
                                     .stride_h = 1,
                                     .stride_w = 2,
                                     .pad_h = 0,
                                     .pad_w = 1,
                                     .more_h = 1,
                                     .more_w = 2,
                                     .dilation_h = 1,
                                     .dilation_w = 1,
                                     .groups = 3,
                                     .has_bias = true};
static const hu_conv_attrs depthwise = {.out_channels = 8,
                                        .kernel_h = 3,
                                        .kernel_w = 3,
                                        .stride_h = 2,
                                        .stride_w = 2,
                                        .pad_h = 1,
                                        .pad_w = 1,
                                        .dilation_h = 1,
                                        .dilation_w = 1,
                                        .groups = 8};
static const hu_conv_attrs larger_image = {.out_channels = 6,
                                           .kernel_h = 4,
                                           .kernel_w = 3,
                                           .stride_h = 2,
                                           .stride_w = 2,
                                           .pad_h = 1,
                                           .pad_w = 1,
                                           .dilation_h = 1,
                                           .dilation_w = 1,
                                           .groups = 2,
                                           .has_bias = true,
                                           .transposed = true,
                                           .extra_w = 1};
static const hu_conv1d_attrs in_time = {.out_channels = 6,
                                        .kernel = 3,
                                        .stride = 2,
                                        .pad = 2,
                                        .more = -1,
                                        .dilation = 2,
                                        .groups = 2,
                                        .has_bias = true};
static const hu_conv1d_attrs more_rows_in_time = {.out_channels = 4,
                                                  .kernel = 4,
                                                  .stride = 2,
                                                  .pad = 1,
                                                  .dilation = 1,
                                                  .groups = 1,
                                                  .has_bias = true,
                                                  .transposed = true};
static const hu_linear_attrs linear = {.out_features = 6, .has_bias = true};
static const hu_embedding_attrs table = {.words = 6, .width = 3, .factor = 1.5f};
static const hu_embedding_attrs padded = {
    .words = 6, .width = 4, .factor = 1.0f, .has_padding = true, .padding = 5};
static const hu_linear_attrs linear_only = {.out_features = 3};
static const hu_linear_attrs transposed = {.out_features = 7, .transposed = true, .has_bias = true};
static const hu_linear_attrs of_rows = {.out_features = 4, .has_bias = true, .rows = true};
static const hu_band_linear_attrs band = {{.out_features = 4, .rows = true}, 1, 4, false};
static const hu_band_linear_attrs band_back = {
    {.out_features = 5, .transposed = true, .rows = true}, 0, 2, true};
static const hu_linear_attrs rows_back = {.out_features = 5, .transposed = true, .rows = true};
static const hu_scores_attrs scores = {.heads = 2, .factor = 1.0f};
static const hu_scores_attrs causal_scores = {3, 0.5f, {true, false}};
static const hu_scores_attrs own_scores = {2, 0.25f, {false, true}};
static const hu_attention_mask_attrs all = {false, false}, causal = {true, false},
                                     own = {true, true};
static const hu_reshape_attrs reshape = {SHAPE(4, 15)};
static const hu_leaky_relu_attrs leaky = {.slope = 0.2f};
static const hu_clipped_relu_attrs clipped = {.limit = 0.3f};
static const hu_pow_attrs cube = {3.0}, inverse = {-1.0}, some_power = {1.7};
static const hu_clip_attrs between = {-0.31f, 0.24f}, from_below = {-INFINITY, 0.11f};
static const hu_arithmetic_attrs by_constant = {.value = -1.7f},
                                 by_channel = {.shape = SHAPE(5),
                                               .weight_init = {HU_INIT_CONSTANT, 1.0f}},
                                 by_row = {.shape = SHAPE(3, 1),
                                           .weight_init = {HU_INIT_CONSTANT, 1.0f}},
                                 by_more = {.shape = SHAPE(4, 1, 5),
                                            .weight_init = {HU_INIT_CONSTANT, 1.0f}};
static const hu_gelu_attrs by_tanh = {.by_tanh = true};
static const hu_enlarge_attrs twice = {2, 2}, wide = {1, 3};
static const hu_bilinear_attrs larger = {7, 9, false}, smaller = {2, 3, false};
static const hu_bilinear_attrs aligned = {8, 5, true}, one_row = {1, 4, true};
static const hu_toward_attrs toward = {0.75f};
static const hu_row_conv_attrs ahead = {.context = 3, .weight_init = {HU_INIT_UNIFORM, 0.5f}};
static const hu_ctc_attrs of_logs = {.takes_logs = true};
static const hu_element_loss_attrs sums = {.sums = true};
static const hu_row_loss_attrs ignoring = {.ignores = true, .ignored = 2};
static const hu_row_loss_attrs smooth = {.ignores = true, .ignored = 2, .smoothing = 0.1f};

static const hu_row_loss_attrs mixed = {.ignores = true, .ignored = -1, .smoothing = 0.1f};

static const hu_sampled_attrs sampled = {
    .classes = 7, .numbers = 6, .ignores = true, .ignored = -1.0f};

static const gradient_case cases[] = {
    {&hu_op_conv2d, &conv, NORMAL, 1, {SHAPE(5, 6, 3)}, false, 0.02f},
    {&hu_op_conv2d, &strided, NORMAL, 1, {SHAPE(6, 5, 4)}, false, 0.02f},
    {&hu_op_conv2d, &uneven, NORMAL, 1, {SHAPE(4, 7, 9)}, false, 0.02f},
    {&hu_op_conv2d, &depthwise, NORMAL, 1, {SHAPE(5, 5, 8)}, false, 0.02f},
    {&hu_op_conv2d, &larger_image, NORMAL, 1, {SHAPE(3, 2, 4)}, false, 0.02f},
    {&hu_op_conv1d, &in_time, NORMAL, 1, {SHAPE(9, 4)}, false, 0.02f},
    {&hu_op_conv1d, &more_rows_in_time, NORMAL, 1, {SHAPE(4, 3)}, false, 0.02f},
    {&hu_op_linear, &linear, NORMAL, 1, {SHAPE(10)}, false, 0.02f},
    {&hu_op_linear, &linear_only, NORMAL, 1, {SHAPE(2, 3, 2)}, false, 0.02f},
    {&hu_op_linear, &transposed, NORMAL, 1, {SHAPE(9)}, false, 0.02f},
    {&hu_op_linear, &of_rows, NORMAL, 1, {SHAPE(3, 6)}, false, 0.02f},
    {&hu_op_linear, &of_rows, NORMAL, 1, {SHAPE(2, 3, 5)}, false, 0.02f},
    {&hu_op_linear, &rows_back, NORMAL, 1, {SHAPE(4, 3)}, false, 0.02f},
    {&hu_op_embedding, &table, IDS, 1, {SHAPE(3)}, false, 0.02f},
    {&hu_op_embedding, &padded, IDS, 1, {SHAPE(2, 2)}, false, 0.02f},
    {&hu_op_bias, &bias, NORMAL, 1, {SHAPE(3, 2, 5)}, false, 0.02f},
    {&hu_op_bias, &bias, NORMAL, 1, {SHAPE(17)}, false, 0.02f},
    {&hu_op_batch_norm, &norm, NORMAL, 1, {SHAPE(3, 3, 4)}, false, 0.02f},
    {&hu_op_batch_norm, &norm, NORMAL, 1, {SHAPE(5, 4, 1)}, false, 0.02f},
    {&hu_op_batch_norm, &norm, NORMAL, 1, {SHAPE(2, 3, 37)}, false, 0.02f},
    {&hu_op_batch_norm, &norm, NORMAL, 1, {SHAPE(9)}, false, 0.02f},
    {&hu_op_batch_norm, &norm, LENGTHS, 2, {SHAPE(4, 3, 5), {.rank = 0}}, false, 0.02f},
    {&hu_op_row_conv, &ahead, NORMAL, 1, {SHAPE(5, 4)}, false, 0.02f},
    {&hu_op_row_conv, &ahead, LENGTHS, 2, {SHAPE(5, 4), {.rank = 0}}, false, 0.02f},
    {&hu_op_range_norm, &range, SPACED, 1, {SHAPE(3, 3, 4)}, false, 0.01f},
    {&hu_op_range_norm, &range, SPACED, 1, {SHAPE(2, 3, 37)}, false, 0.01f},
    {&hu_op_range_norm, &range, SPACED, 1, {SHAPE(9)}, false, 0.01f},
    {&hu_op_relu, NULL, SPACED, 1, {SHAPE(3, 3, 3)}, false, 0.01f},
    {&hu_op_relu, NULL, SPACED, 1, {SHAPE(2, 4, 8)}, false, 0.01f},
    {&hu_op_leaky_relu, &leaky, SPACED, 1, {SHAPE(3, 3, 3)}, false, 0.01f},
    {&hu_op_clipped_relu, &clipped, SPACED, 1, {SHAPE(3, 5)}, false, 0.01f},
    {&hu_op_gelu, NULL, NORMAL, 1, {SHAPE(4, 5)}, false, 0.02f},
    {&hu_op_gelu, &by_tanh, NORMAL, 1, {SHAPE(4, 5)}, false, 0.02f},
    {&hu_op_sigmoid, NULL, NORMAL, 1, {SHAPE(4, 5)}, false, 0.02f},
    {&hu_op_tanh, NULL, NORMAL, 1, {SHAPE(4, 5)}, false, 0.02f},
    {&hu_op_silu, NULL, NORMAL, 1, {SHAPE(4, 5)}, false, 0.02f},
    {&hu_op_hard_swish, NULL, SPACED, 1, {SHAPE(4, 5)}, false, 0.01f},
    {&hu_op_hard_sigmoid, NULL, SPACED, 1, {SHAPE(4, 5)}, false, 0.01f},
    {&hu_op_exp, NULL, NORMAL, 1, {SHAPE(4, 5)}, false, 0.01f},
    {&hu_op_log, NULL, POSITIVE, 1, {SHAPE(4, 5)}, false, 0.01f},
    {&hu_op_sqrt, NULL, POSITIVE, 1, {SHAPE(4, 5)}, false, 0.01f},
    {&hu_op_pow, &some_power, POSITIVE, 1, {SHAPE(4, 5)}, false, 0.01f},
    {&hu_op_pow, &inverse, POSITIVE, 1, {SHAPE(4, 5)}, false, 0.01f},
    {&hu_op_pow, &cube, NORMAL, 1, {SHAPE(4, 5)}, false, 0.01f},
    {&hu_op_square, NULL, NORMAL, 1, {SHAPE(4, 5)}, false, 0.02f},
    {&hu_op_abs, NULL, SPACED, 1, {SHAPE(4, 5)}, false, 0.01f},
    {&hu_op_neg, NULL, NORMAL, 1, {SHAPE(4, 5)}, false, 0.02f},
    {&hu_op_clip, &between, SPACED, 1, {SHAPE(3, 5)}, false, 0.01f},
    {&hu_op_clip, &from_below, SPACED, 1, {SHAPE(2, 8)}, false, 0.01f},
    {&hu_op_nearest, &twice, NORMAL, 1, {SHAPE(3, 2, 4)}, false, 0.02f},
    {&hu_op_nearest, &wide, NORMAL, 1, {SHAPE(2, 3, 1)}, false, 0.02f},
    {&hu_op_bilinear, &larger, NORMAL, 1, {SHAPE(3, 4, 2)}, false, 0.02f},
    {&hu_op_bilinear, &smaller, NORMAL, 1, {SHAPE(5, 7, 3)}, false, 0.02f},
    {&hu_op_bilinear, &aligned, NORMAL, 1, {SHAPE(4, 6, 1)}, false, 0.02f},
    {&hu_op_bilinear, &one_row, NORMAL, 1, {SHAPE(1, 3, 2)}, false, 0.02f},
    {&hu_op_pixel_shuffle, &twice, NORMAL, 1, {SHAPE(2, 3, 8)}, false, 0.02f},
    {&hu_op_pixel_shuffle, &wide, NORMAL, 1, {SHAPE(2, 3, 6)}, false, 0.02f},
    {&hu_op_scale, &eighth, NORMAL, 1, {SHAPE(10)}, false, 0.02f},
    {&hu_op_scale, &odd, NORMAL, 1, {SHAPE(2, 3, 3)}, false, 0.02f},
    {&hu_op_add, NULL, NORMAL, 2, {SHAPE(3, 7), SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_add, NULL, NORMAL, 3, {SHAPE(9), SHAPE(9), SHAPE(9)}, false, 0.02f},
    {&hu_op_mul, NULL, NORMAL, 2, {SHAPE(3, 7), SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_add, NULL, NORMAL, 2, {SHAPE(3, 5), SHAPE(5)}, false, 0.02f},
    {&hu_op_add, NULL, NORMAL, 2, {SHAPE(4, 1, 5), SHAPE(3, 1)}, false, 0.02f},
    {&hu_op_add, &by_constant, NORMAL, 1, {SHAPE(3, 5)}, false, 0.02f},
    {&hu_op_add, &by_channel, NORMAL, 1, {SHAPE(3, 5)}, false, 0.02f},
    {&hu_op_sub, NULL, NORMAL, 2, {SHAPE(3, 5), SHAPE(3, 5)}, false, 0.02f},
    {&hu_op_sub, NULL, NORMAL, 2, {SHAPE(5), SHAPE(3, 1)}, false, 0.02f},
    {&hu_op_sub, &by_row, NORMAL, 1, {SHAPE(2, 3, 5)}, false, 0.02f},
    {&hu_op_mul, NULL, NORMAL, 2, {SHAPE(4, 3, 5), SHAPE(1, 1, 5)}, false, 0.02f},
    {&hu_op_mul, NULL, NORMAL, 2, {SHAPE(3, 1), SHAPE(4, 3, 5)}, false, 0.02f},
    {&hu_op_mul, &by_constant, NORMAL, 1, {SHAPE(3, 5)}, false, 0.02f},
    {&hu_op_mul, &by_channel, NORMAL, 1, {SHAPE(2, 3, 5)}, false, 0.02f},
    {&hu_op_mul, &by_row, NORMAL, 1, {SHAPE(2, 3, 5)}, false, 0.02f},
    {&hu_op_mul, &by_more, NORMAL, 1, {SHAPE(3, 5)}, false, 0.02f},
    {&hu_op_div, NULL, DIVIDED, 2, {SHAPE(4, 3, 5), SHAPE(3, 1)}, false, 0.01f},
    {&hu_op_div, NULL, DIVIDED, 2, {SHAPE(3, 1), SHAPE(3, 5)}, false, 0.01f},
    {&hu_op_div, &by_constant, NORMAL, 1, {SHAPE(3, 5)}, false, 0.02f},
    {&hu_op_div, &by_channel, NORMAL, 1, {SHAPE(2, 3, 5)}, false, 0.005f},
    {&hu_op_minimum, NULL, APART, 2, {SHAPE(3, 7), SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_maximum, NULL, APART, 2, {SHAPE(3, 7), SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_maximum, &by_constant, NORMAL, 1, {SHAPE(3, 7)}, false, 1e-3f},
    {&hu_op_where, NULL, GIVEN, 3, {SHAPE(3, 1), SHAPE(3, 7), SHAPE(7)}, false, 0.02f},
    {&hu_op_where, NULL, GIVEN, 3, {SHAPE(2, 3), SHAPE(3), SHAPE(2, 3)}, false, 0.02f},
    {&hu_op_concat, NULL, NORMAL, 3, {SHAPE(2, 2, 3), SHAPE(2, 2, 1), SHAPE(2, 2, 4)}, false, .02f},
    {&hu_op_interleave, NULL, NORMAL, 2, {SHAPE(2, 2, 5), SHAPE(2, 2, 5)}, false, .02f},
    {&hu_op_interleave, NULL, NORMAL, 3, {SHAPE(3, 2), SHAPE(3, 2), SHAPE(3, 2)}, false, .02f},
    {&hu_op_sum_of_products,
     NULL,
     NORMAL,
     4,
     {SHAPE(3, 7), SHAPE(3, 7), SHAPE(3, 7), SHAPE(3, 7)},
     false,
     0.02f},
    {&hu_op_blend, NULL, NORMAL, 3, {SHAPE(3, 7), SHAPE(3, 7), SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_reverse, NULL, NORMAL, 1, {SHAPE(4, 3)}, false, 0.02f},
    {&hu_op_last_row, NULL, NORMAL, 2, {SHAPE(4, 3), SHAPE(3)}, false, 0.02f},
    {&hu_op_lstm_gates, NULL, NORMAL, 1, {SHAPE(2, 12)}, false, 0.02f},
    {&hu_op_gru_gates, NULL, NORMAL, 2, {SHAPE(2, 9), SHAPE(2, 9)}, false, 0.02f},
    {&hu_op_gru_candidate, NULL, NORMAL, 3, {SHAPE(2, 9), SHAPE(2, 9), SHAPE(2, 3)}, false, 0.02f},
    {&hu_op_split, &split, NORMAL, 1, {SHAPE(2, 3, 5)}, false, 0.02f},
    {&hu_op_concat, &join_rows, NORMAL, 2, {SHAPE(2, 3), SHAPE(4, 3)}, false, .02f},
    {&hu_op_split, &split_rows, NORMAL, 1, {SHAPE(4, 3)}, false, 0.02f},
    {&hu_op_concat, &join_middle, NORMAL, 2, {SHAPE(2, 3, 2), SHAPE(2, 1, 2)}, false, .02f},
    {&hu_op_split, &three, NORMAL, 1, {SHAPE(2, 6, 3)}, false, 0.02f},
    {&hu_op_split, &by_sizes, NORMAL, 1, {SHAPE(4, 6)}, false, 0.02f},
    {&hu_op_slice, &every_other, NORMAL, 1, {SHAPE(3, 8, 2)}, false, 0.02f},
    {&hu_op_pad, &around, NORMAL, 1, {SHAPE(3, 4)}, false, 0.02f},
    {&hu_op_position, &position, NORMAL, 1, {SHAPE(3, 5)}, false, 0.02f},
    {&hu_op_position, &position, NORMAL, 1, {SHAPE(40, 8)}, false, 0.02f},
    {&hu_op_position, &more_rows, NORMAL, 1, {SHAPE(3, 5)}, false, 0.02f},
    {&hu_op_band_linear, &band, PLACES, 2, {SHAPE(9, 6), SHAPE(9)}, false, 0.02f},
    {&hu_op_band_linear, &band_back, PLACES, 2, {SHAPE(8, 3), SHAPE(8)}, false, 0.02f},
    {&hu_op_pick_rows, NULL, PLACES, 2, {SHAPE(5, 3), SHAPE(4)}, false, 0.02f},
    {&hu_op_pick_rows, NULL, PLACES, 2, {SHAPE(6, 2, 2), SHAPE(1)}, false, 0.02f},
    {&hu_op_class_token, &class_token, NORMAL, 1, {SHAPE(3, 5)}, false, 0.02f},
    {&hu_op_rotary, &halves, NORMAL, 1, {SHAPE(5, 12)}, false, 0.02f},
    {&hu_op_rotary, &neighbours, NORMAL, 1, {SHAPE(4, 6)}, false, 0.02f},
    {&hu_op_sinusoid, NULL, NORMAL, 1, {SHAPE(3, 6)}, false, 0.02f},
    {&hu_op_pick, NULL, NORMAL, 1, {SHAPE(3, 5)}, false, 0.02f},
    {&hu_op_pick, &pick_last, NORMAL, 1, {SHAPE(4, 2, 3)}, false, 0.02f},
    {&hu_op_pick, &pick_last, LENGTHS, 2, {SHAPE(5, 3), SHAPE(1)}, false, 0.02f},
    {&hu_op_max_pool, &pool2, SPACED, 1, {SHAPE(4, 5, 3)}, false, 0.01f},
    {&hu_op_max_pool, &pool3, SPACED, 1, {SHAPE(5, 4, 2)}, false, 0.01f},
    {&hu_op_max_pool, &tall, SPACED, 1, {SHAPE(3, 5, 2)}, false, 0.01f},
    {&hu_op_avg_pool, &pool2, NORMAL, 1, {SHAPE(4, 5, 3)}, false, 0.02f},
    {&hu_op_avg_pool, &pool3, NORMAL, 1, {SHAPE(5, 4, 2)}, false, 0.02f},
    {&hu_op_avg_pool, &tall, NORMAL, 1, {SHAPE(3, 5, 2)}, false, 0.02f},
    {&hu_op_max_pool, &beyond, SPACED, 1, {SHAPE(6, 7, 3)}, false, 0.01f},
    {&hu_op_avg_pool, &beyond, NORMAL, 1, {SHAPE(6, 7, 3)}, false, 0.02f},
    {&hu_op_max_pool1d, &in_pairs, SPACED, 1, {SHAPE(9, 3)}, false, 0.01f},
    {&hu_op_avg_pool1d, &in_pairs, NORMAL, 1, {SHAPE(9, 3)}, false, 0.02f},
    {&hu_op_global_avg_pool, NULL, NORMAL, 1, {SHAPE(6, 5)}, false, 0.02f},
    {&hu_op_adaptive_avg_pool, &adaptive, NORMAL, 1, {SHAPE(7, 5, 3)}, false, 0.02f},
    {&hu_op_adaptive_avg_pool, &stretched, NORMAL, 1, {SHAPE(4, 5, 2)}, false, 0.02f},
    {&hu_op_roi_pool, &regions, REGIONS, 2, {SHAPE(5, 6, 2), SHAPE(3, 4)}, false, 0.01f},
    {&hu_op_local_norm, &local, NORMAL, 1, {SHAPE(2, 3, 11)}, false, 0.01f},
    {&hu_op_local_norm, &plain_local, NORMAL, 1, {SHAPE(7)}, false, 0.01f},
    {&hu_op_local_norm, &local, NORMAL, 1, {SHAPE(3, 2)}, false, 0.01f},
    {&hu_op_layer_norm, &layer, NORMAL, 1, {SHAPE(3, 12)}, false, 0.01f},
    {&hu_op_layer_norm, &layer, NORMAL, 1, {SHAPE(2, 2, 5)}, false, 0.01f},
    {&hu_op_layer_norm, &layer, NORMAL, 1, {SHAPE(7)}, false, 0.01f},
    {&hu_op_group_norm, &groups, NORMAL, 1, {SHAPE(2, 3, 6)}, false, 0.01f},
    {&hu_op_group_norm, &groups, NORMAL, 1, {SHAPE(12)}, false, 0.01f},
    {&hu_op_group_norm, &plain_groups, NORMAL, 1, {SHAPE(5, 4)}, false, 0.01f},
    {&hu_op_instance_norm, &instance, NORMAL, 1, {SHAPE(3, 3, 4)}, false, 0.01f},
    {&hu_op_instance_norm, &plain_instance, NORMAL, 1, {SHAPE(7, 3)}, false, 0.01f},
    {&hu_op_rms_norm, &rms, NORMAL, 1, {SHAPE(5, 6)}, false, 0.01f},
    {&hu_op_rms_norm, &rms, NORMAL, 1, {SHAPE(9)}, false, 0.01f},
    {&hu_op_l2_norm, &l2, NORMAL, 1, {SHAPE(2, 3, 7)}, false, 0.01f},
    {&hu_op_reduce_mean, &of_ends, NORMAL, 1, {SHAPE(3, 4, 5)}, false, 0.02f},
    {&hu_op_reduce_mean, &of_all, NORMAL, 1, {SHAPE(9)}, false, 0.02f},
    {&hu_op_reduce_sum, &of_second, NORMAL, 1, {SHAPE(3, 4, 5)}, false, 0.02f},
    {&hu_op_reduce_max, &of_ends, SPACED, 1, {SHAPE(3, 4, 5)}, false, 0.01f},
    {&hu_op_reduce_max, &of_second, SPACED, 1, {SHAPE(4, 6)}, false, 0.01f},
    {&hu_op_global_avg_pool, NULL, NORMAL, 1, {SHAPE(3, 4, 5)}, false, 0.02f},
    {&hu_op_mean, NULL, NORMAL, 1, {SHAPE(3, 4, 5)}, false, 0.02f},
    {&hu_op_transpose, &turned, NORMAL, 1, {SHAPE(3, 4, 5)}, false, 0.02f},
    {&hu_op_transpose, NULL, NORMAL, 1, {SHAPE(3, 4, 5)}, false, 0.02f},
    {&hu_op_add_row, NULL, NORMAL, 2, {SHAPE(3, 5), SHAPE(5)}, false, 0.02f},
    {&hu_op_flatten, NULL, NORMAL, 1, {SHAPE(3, 4, 5)}, false, 0.02f},
    {&hu_op_reshape, &reshape, NORMAL, 1, {SHAPE(3, 4, 5)}, false, 0.02f},
    {&hu_op_attention_scores, &scores, NORMAL, 2, {SHAPE(5, 6), SHAPE(7, 6)}, false, 0.02f},
    {&hu_op_attention_scores, &causal_scores, NORMAL, 2, {SHAPE(9, 6), SHAPE(9, 6)}, false, 0.02f},
    {&hu_op_attention_scores,
     &own_scores,
     LENGTHS,
     3,
     {SHAPE(6, 8), SHAPE(6, 8), SHAPE(1)},
     false,
     0.02f},
    {&hu_op_attention_weights, &all, NORMAL, 1, {SHAPE(2, 5, 7)}, false, 0.02f},
    {&hu_op_attention_weights, &causal, NORMAL, 1, {SHAPE(2, 6, 4)}, false, 0.02f},
    {&hu_op_attention_weights, &own, LENGTHS, 2, {SHAPE(3, 5, 5), SHAPE(1)}, false, 0.02f},
    {&hu_op_attention_context, &all, NORMAL, 2, {SHAPE(2, 5, 7), SHAPE(7, 6)}, false, 0.02f},
    {&hu_op_attention_context, &causal, NORMAL, 2, {SHAPE(3, 9, 9), SHAPE(9, 6)}, false, 0.02f},
    {&hu_op_attention_context,
     &own,
     LENGTHS,
     3,
     {SHAPE(2, 6, 6), SHAPE(6, 8), SHAPE(1)},
     false,
     0.02f},
    {&hu_op_dropout, &dropout, NORMAL, 1, {SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_drop_path, &dropout, NORMAL, 1, {SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_softmax, &of_last, NORMAL, 1, {SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_softmax, &of_rows_too, NORMAL, 1, {SHAPE(4, 3, 2)}, false, 0.02f},
    {&hu_op_log_softmax, NULL, NORMAL, 1, {SHAPE(10)}, false, 0.02f},
    {&hu_op_log_softmax, NULL, NORMAL, 1, {SHAPE(2, 3)}, false, 0.02f},
    {&hu_op_log_softmax, &keeping, NORMAL, 1, {SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_ssd_loss, &boxes, BOXES, 2, {SHAPE(12, 7), SHAPE(5, 5)}, false, 0.02f},
    {&hu_op_ssd_loss, &boxes_of_logs, BOXES, 2, {SHAPE(4, 6), SHAPE(2, 5)}, false, 0.02f},
    {&hu_op_rpn_loss, &things, BOXES, 2, {SHAPE(8, 6), SHAPE(4, 5)}, false, 0.02f},
    {&hu_op_roi_loss,
     &of_regions,
     BOXES,
     3,
     {SHAPE(4, 15), SHAPE(4, 5), SHAPE(4, 4)},
     false,
     0.02f},
    {&hu_op_nll, NULL, NORMAL, 2, {SHAPE(10), {.rank = 0}}, true, 0.02f},
    {&hu_op_nll, &ignoring, NORMAL, 2, {SHAPE(3, 2, 5), SHAPE(3, 2)}, true, 0.02f},
    {&hu_op_softmax_cross_entropy, NULL, NORMAL, 2, {SHAPE(10), {.rank = 0}}, true, 0.02f},
    {&hu_op_softmax_cross_entropy, &ignoring, NORMAL, 2, {SHAPE(4, 5), SHAPE(4)}, true, 0.02f},
    {&hu_op_adaptive_cross_entropy,
     NULL,
     NORMAL,
     4,
     {SHAPE(9, 5), SHAPE(9), SHAPE(9, 1), SHAPE(9, 6)},
     true,
     0.02f},
    {&hu_op_nll, &smooth, NORMAL, 2, {SHAPE(3, 2, 5), SHAPE(3, 2)}, true, 0.02f},
    {&hu_op_softmax_cross_entropy, &smooth, NORMAL, 2, {SHAPE(4, 5), SHAPE(4)}, true, 0.02f},
    {&hu_op_sampled_scores, &sampled, DRAWN, 3, {SHAPE(4, 5), SHAPE(4), SHAPE(6)}, false, 0.02f},
    {&hu_op_sampled_cross_entropy,
     &sampled,
     DRAWN,
     3,
     {SHAPE(4, 7), SHAPE(4), SHAPE(6)},
     false,
     0.02f},
    {&hu_op_mixed_cross_entropy, &mixed, MIXED, 3, {SHAPE(5), {.rank = 0}, SHAPE(2)}, false, 0.02f},
    {&hu_op_bce, NULL, SHARES, 2, {SHAPE(2, 9), SHAPE(2, 9)}, false, 0.02f},
    {&hu_op_mse, NULL, NORMAL, 2, {SHAPE(3, 7), SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_mse, &sums, NORMAL, 2, {SHAPE(3, 7), SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_bce, &sums, SHARES, 2, {SHAPE(2, 9), SHAPE(2, 9)}, false, 0.02f},
    {&hu_op_l1, NULL, APART, 2, {SHAPE(3, 7), SHAPE(3, 7)}, false, 0.02f},
    {&hu_op_l1, &sums, APART, 2, {SHAPE(11), SHAPE(11)}, false, 0.02f},
    {&hu_op_kl_normal, NULL, NORMAL, 2, {SHAPE(8), SHAPE(8)}, false, 0.02f},
    {&hu_op_kl_normal, &sums, NORMAL, 2, {SHAPE(8), SHAPE(8)}, false, 0.02f},
    {&hu_op_sample_normal, NULL, NORMAL, 2, {SHAPE(3, 8), SHAPE(3, 8)}, false, 0.02f},
    {&hu_op_ctc_loss, NULL, SPELLED, 3, {SHAPE(6, 4), SHAPE(3), {.rank = 0}}, false, 0.02f},
    {&hu_op_ctc_loss, &of_logs, SPELLED, 3, {SHAPE(9, 5), SHAPE(4), {.rank = 0}}, false, 0.02f},
    {&hu_op_bce_toward, &toward, NORMAL, 1, {SHAPE(3, 5)}, false, 0.02f},
};
enum { CASES = sizeof cases / sizeof cases[0], BATCH = 11, CHUNK = 4, PROBES = 24 };

static void fill_spaced(float *x, int64_t n) {
    uint32_t order[4096];
    hu_random_key key = {.seed = 9, .stream = 1, .step = 0};
    assert_true(n <= 4096);
    hu_random_permutation(&key, (uint32_t)n, order);
    for (int64_t i = 0; i < n; i++) x[i] = 0.05f * (float)((int64_t)order[i] - n / 2) + 0.025f;
}

/* L = sum of out * dout, in double. */
static double objective(drive *d) {
    double sum = 0;
    drive_forward(d);
    for (int o = 0; o < d->info.n_out; o++)
        for (int64_t i = 0; i < drive_out_elements(d, o); i++)
            sum += (double)d->out[o][i] * (double)d->dout[o][i];
    return sum;
}

static double difference(drive *d, float *x, float h) {
    float old = *x, up = old + h, down = old - h;
    *x = up;
    double high = objective(d);
    *x = down;
    double low = objective(d);
    *x = old;
    return (high - low) / ((double)up - (double)down);
}

/* Compares about PROBES entries of a gradient with differences; tolerance 2e-3 of its scale. */
static void check_gradient(drive *d, const char *what, int which, float *x, const float *gradient,
                           int64_t n, float h) {
    double scale = 1e-3;
    for (int64_t i = 0; i < n; i++) {
        assert_true(isfinite(gradient[i]));
        scale = fmax(scale, fabs((double)gradient[i]));
    }
    for (int64_t i = 0; i < n; i += n / PROBES + 1) {
        double expected = difference(d, x + i, h);
        if (fabs(expected - (double)gradient[i]) > 2e-3 * scale)
            fail_msg("%s, %s %d, element %lld: gradient %.7g, difference %.7g", d->op->name, what,
                     which, (long long)i, (double)gradient[i], expected);
    }
}

/* Boxes from the left to the right side, of two classes; one of each picture is none. */
static void fill_boxes(drive *d) {
    int64_t most = d->in_shape[1].extent[0];
    d->need_din[1] = d->need_din[2] = false;
    for (int64_t r = 0; r < d->batch * most; r++) {
        float left = (float)(r % most) / (float)most;
        float *row = d->in[1] + 5 * r;
        row[0] = left;
        row[1] = 0.02f * (float)(r / most);
        row[2] = left + 0.25f;
        row[3] = 0.6f + row[1];
        if (d->info.n_in > 2) memcpy(d->in[2] + 4 * r, row, 4 * sizeof *row);
        row[4] = r % most == 1 ? -1.0f : (float)(r % 2 && d->in_shape[0].extent[1] > 6);
    }
}

/* From no label to as many as there is room for, and from no row to all. */
static void fill_texts(drive *d) {
    int64_t most = d->in_shape[1].extent[0], rows = d->in_shape[0].extent[0];
    d->need_din[1] = d->need_din[2] = false;
    for (int64_t s = 0; s < d->batch; s++) {
        for (int64_t i = 0; i < most; i++)
            d->in[1][s * most + i] = i < s % (most + 1) ? (float)(1 + (s * i + s) % 3) : -1.0f;
        d->in[2][s] = (float)(s * 5 % (rows + 1));
    }
}

/* Drawn classes are some of the rows' own, and some of each other. */
static void fill_drawn(drive *d) {
    d->need_din[1] = d->need_din[2] = false;
    for (int64_t r = 0; r < drive_in_elements(d, 1); r++) d->in[1][r] = (float)(r * 5 % 8 - 1);
    for (int64_t i = 0; i < drive_in_elements(d, 2); i++) {
        int64_t k = i % d->in_shape[2].extent[0];
        d->in[2][i] = (float)(k * k / 3 % 7);
    }
}

static void fill_mixed(drive *d) {
    d->need_din[1] = d->need_din[2] = false;
    for (int64_t s = 0; s < d->batch; s++) {
        d->in[1][s] = (float)(s * 5 % 6 - 1);
        d->in[2][2 * s] = (float)(s % 5);
        d->in[2][2 * s + 1] = (float)(s % 4) / 4.0f;
    }
}

static void open_case(drive *d, const gradient_case *g) {
    drive_open(d, g->op, g->attrs, g->n_in, g->in, BATCH, CHUNK);
    if (g->kind == SPACED || g->kind == REGIONS) fill_spaced(d->in[0], drive_in_elements(d, 0));
    for (int64_t i = 0; g->kind == REGIONS && i < drive_in_elements(d, 1); i++)
        d->in[1][i] = (float)(i * 5 % 7) + (i % 4 > 1 ? 4.0f : 0.0f);
    if (g->kind == REGIONS) d->need_din[1] = false;
    for (int64_t i = 0; g->kind == IDS && i < drive_in_elements(d, 0); i++)
        d->in[0][i] = (float)(i * i % 5);
    if (g->kind == IDS) d->need_din[0] = false;
    for (int64_t i = 0; g->kind == PLACES && i < drive_in_elements(d, 1); i++)
        d->in[1][i] = (float)(i * i % 7 - 1);
    if (g->kind == PLACES) d->need_din[1] = false;
    hu_random_key key = {.seed = 5};
    for (int64_t i = 0; g->kind == POSITIVE && i < drive_in_elements(d, 0); i++)
        d->in[0][i] = 0.5f + 2.0f * hu_random_uniform(&key, (uint64_t)i);
    for (int64_t i = 0; g->kind == DIVIDED && i < drive_in_elements(d, 1); i++)
        d->in[1][i] = 0.5f + 2.0f * hu_random_uniform(&key, (uint64_t)i);
    for (int64_t i = 0; g->kind == GIVEN && i < drive_in_elements(d, 0); i++)
        d->in[0][i] = (float)(i * i % 3 - 1);
    if (g->kind == GIVEN) d->need_din[0] = false;
    for (int64_t i = 0; g->kind == SHARES && i < drive_in_elements(d, 1); i++)
        d->in[1][i] = 0.1f + 0.8f * hu_random_uniform(&key, (uint64_t)i);
    for (int64_t i = 0; g->kind == APART && i < drive_in_elements(d, 1); i++) {
        float away = 0.1f + fabsf(d->in[1][i]);
        d->in[1][i] = d->in[0][i] + (i % 2 ? away : -away);
    }
    for (int64_t i = 0; g->kind == LENGTHS && i < d->batch; i++)
        d->in[g->n_in - 1][i] = (float)(i % (g->in[0].extent[g->in[0].rank - 2] + 1));
    if (g->kind == LENGTHS) d->need_din[g->n_in - 1] = false;
    if (g->kind == BOXES) fill_boxes(d);
    if (g->kind == SPELLED) fill_texts(d);
    if (g->kind == DRAWN) fill_drawn(d);
    if (g->kind == MIXED) fill_mixed(d);
    if (g->labels) {
        d->need_din[1] = false;
        for (int64_t r = 0; r < drive_in_elements(d, 1); r++)
            d->in[1][r] = (float)(r * 7 % g->in[0].extent[g->in[0].rank - 1]);
    }
}

static void gradients_equal_differences(void **unused) {
    (void)unused;
    for (int k = 0; k < CASES; k++) {
        drive d;
        open_case(&d, &cases[k]);
        drive_forward(&d);
        drive_backward(&d);
        for (int i = 0; i < d.info.n_in; i++)
            if (d.need_din[i])
                check_gradient(&d, "input", i, d.in[i], d.din[i], drive_in_elements(&d, i),
                               cases[k].h);
        for (int p = 0; p < d.info.n_params; p++)
            if (d.decl[p].trained)
                check_gradient(&d, "parameter", p, d.param[p], d.dparam[p],
                               drive_param_elements(&d, p), cases[k].h);
        drive_close(&d);
    }
}

/* Chunks in another order, and input gradients that nobody wants, change no bit. */
static void order_and_unwanted_gradients_do_not_matter(void **unused) {
    (void)unused;
    for (int k = 0; k < CASES; k++) {
        drive a, b;
        open_case(&a, &cases[k]);
        open_case(&b, &cases[k]);
        b.reversed = true;
        drive_forward(&a);
        drive_forward(&b);
        for (int o = 0; o < a.info.n_out; o++)
            assert_memory_equal(a.out[o], b.out[o],
                                (size_t)drive_out_elements(&a, o) * sizeof(float));
        drive_backward(&a);
        drive_backward(&b);
        assert_memory_equal(a.din[0], b.din[0], (size_t)drive_in_elements(&a, 0) * sizeof(float));
        for (int i = 0; i < b.info.n_in; i++) b.need_din[i] = false;
        drive_backward(&b);
        for (int p = 0; p < a.info.n_params; p++)
            if (a.decl[p].trained)
                assert_memory_equal(a.dparam[p], b.dparam[p],
                                    (size_t)drive_param_elements(&a, p) * sizeof(float));
        drive_close(&a);
        drive_close(&b);
    }
}

static void every_operation_has_a_case(void **unused) {
    (void)unused;
    for (int i = 0; i < hu_op_count; i++) {
        int found = hu_op_table[i]->max_in == 0; /* no input, nothing to differentiate */
        for (int k = 0; k < CASES; k++) found += cases[k].op == hu_op_table[i];
        /* Facts have no gradient. */
        if (!found && !hu_op_table[i]->makes_facts && !hu_op_table[i]->is_previous)
            fail_msg("%s has no case", hu_op_table[i]->name);
        assert_ptr_equal(hu_op_find(hu_op_table[i]->name), hu_op_table[i]);
    }
    assert_null(hu_op_find("convolution"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_has_a_case),
        cmocka_unit_test(gradients_equal_differences),
        cmocka_unit_test(order_and_unwanted_gradients_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
