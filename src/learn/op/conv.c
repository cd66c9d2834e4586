#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "op/attributes.h"
#include "op/operand.h"
#include "product/gathered.h"
#include "product/product.h"

/* ---- geometry ---- */

/* Attributes of conv2d, conv1d and linear, and what they multiply.
 */

/* Windows that begin in the padded image and end there. */
static int64_t windows(int64_t extent, int64_t kernel, int64_t stride, int64_t padding,
                       int64_t dilation) {
    return (extent + padding - (kernel - 1) * dilation - 1) / stride + 1;
}

/* The extent that so many windows come from. */
static int64_t extent_of(int64_t count, int64_t kernel, int64_t stride, int64_t padding,
                         int64_t dilation) {
    return (count - 1) * stride + (kernel - 1) * dilation + 1 - padding;
}

hu_product hu_product_conv2d(const hu_conv_attrs *a, const hu_shape *in) {
    int64_t h = in->extent[0], w = in->extent[1], channels = in->extent[2];
    int64_t pad_h = 2 * a->pad_h + a->more_h, pad_w = 2 * a->pad_w + a->more_w;
    hu_product p = {
        .in_h = h,
        .in_w = w,
        .in_c = channels,
        .out_c = a->out_channels,
        .kernel_h = a->kernel_h,
        .kernel_w = a->kernel_w,
        .stride_h = a->stride_h,
        .stride_w = a->stride_w,
        .pad_h = a->pad_h,
        .pad_w = a->pad_w,
        .dilation_h = a->dilation_h,
        .dilation_w = a->dilation_w,
        .groups = a->groups,
        .has_bias = a->has_bias,
    };
    if (a->transposed) {
        p.in_h = extent_of(h, a->kernel_h, a->stride_h, pad_h, a->dilation_h) + a->extra_h;
        p.in_w = extent_of(w, a->kernel_w, a->stride_w, pad_w, a->dilation_w) + a->extra_w;
        p.in_c = a->out_channels;
        p.out_c = channels;
    }
    p.out_h = windows(p.in_h, a->kernel_h, a->stride_h, pad_h, a->dilation_h);
    p.out_w = windows(p.in_w, a->kernel_w, a->stride_w, pad_w, a->dilation_w);
    return p;
}

/* Numbers that one output is a sum of. */
static int64_t hu_linear_inputs(const hu_linear_attrs *a, const hu_shape *in) {
    return a->rows ? hu_channels(in) : hu_shape_elements(in);
}

hu_product hu_product_linear(const hu_linear_attrs *a, const hu_shape *in) {
    int64_t in_features = hu_linear_inputs(a, in), rows = hu_shape_elements(in) / in_features;
    hu_product made = a->transposed ? hu_product_rows(rows, a->out_features, in_features)
                                    : hu_product_rows(rows, in_features, a->out_features);
    made.has_bias = a->has_bias;
    made.is_linear = !a->rows;
    return made;
}

/* Rows are an image of one column. */
hu_product hu_product_conv1d(const hu_conv1d_attrs *a, const hu_shape *in) {
    const hu_shape image = {3, {in->extent[0], 1, in->extent[1]}};
    const hu_conv_attrs conv = {.out_channels = a->out_channels,
                                .kernel_h = a->kernel,
                                .kernel_w = 1,
                                .stride_h = a->stride,
                                .stride_w = 1,
                                .pad_h = a->pad,
                                .more_h = a->more,
                                .dilation_h = a->dilation,
                                .dilation_w = 1,
                                .groups = a->groups,
                                .has_bias = a->has_bias,
                                .transposed = a->transposed,
                                .extra_h = a->extra};
    return hu_product_conv2d(&conv, &image);
}

/* Weights of two extents belong to a linear layer, of three to a convolution of rows, of four to
 * one of images. */
enum { LINEAR_RANK = 2, ROWS_RANK = 3 };

static bool product_is_transposed(const hu_node_info *info) {
    if (info->param[0].rank == LINEAR_RANK)
        return ((const hu_linear_attrs *)info->attrs)->transposed;
    if (info->param[0].rank == ROWS_RANK) return ((const hu_conv1d_attrs *)info->attrs)->transposed;
    return ((const hu_conv_attrs *)info->attrs)->transposed;
}

static hu_product product_of(const hu_node_info *info) {
    if (info->param[0].rank == LINEAR_RANK) return hu_product_linear(info->attrs, &info->in[0]);
    if (info->param[0].rank == ROWS_RANK) return hu_product_conv1d(info->attrs, &info->in[0]);
    return hu_product_conv2d(info->attrs, &info->in[0]);
}

/* ---- product ---- */

/* What conv2d, conv1d and linear share: the record functions that let
 * the room product compute their products.
 */

enum { ALIGNMENT = 64 };

static int64_t product_macs(const hu_node_info *info) {
    hu_product product = product_of(info);
    return hu_product_macs(&product);
}

/* The state of a node. */
typedef struct layer {
    hu_products *products;
    hu_operand_set *operands; /* NULL: none is rounded */
} layer;

static hu_products *products_of(void *state) {
    return ((layer *)state)->products;
}

static hu_operand_set *operands_of(void *state) {
    return ((layer *)state)->operands;
}

static void product_release(void *state) {
    layer *made = state;
    if (!made) return;
    hu_products_free(made->products);
    hu_operands_free(made->operands);
    hu_free(made);
}

static hu_status product_create(const hu_node_info *info, void **state) {
    hu_product_facts facts = {.geometry = product_of(info),
                              .transposed = product_is_transposed(info),
                              .accumulation = info->accumulation,
                              .needs = {true, info->need_din[0], true},
                              .engine = info->engine,
                              .chunk = info->chunk,
                              .threads = info->threads};
    layer *made = NULL;
    hu_status st = HU_OK;
    *state = NULL;
    HU_TRY(HU_NEW(&made));
    *made = (layer){0};
    HU_TRY(hu_products_create(&facts, &made->products));
    HU_TRY(hu_operands_create(info, &facts.geometry, facts.transposed, &made->operands));
    *state = made;
    made = NULL;
done:
    product_release(made);
    return st;
}

static hu_status product_prepare(const hu_node_info *info, void *state, int64_t count) {
    (void)info;
    return hu_products_prepare(products_of(state), count);
}

/* ---- sizes ---- */

/* The product of a pass that reads packed weights. */
static hu_product_role packing_role(hu_pass pass) {
    return pass == HU_FORWARD ? HU_PRODUCT_FORWARD : HU_PRODUCT_INPUT_GRAD;
}

/* The two products of the backward pass take turns in the same scratch. */
static size_t product_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    const hu_products *products = products_of(state);
    size_t rounded = hu_operands_scratch_bytes(operands_of(state), pass);
    size_t bytes = hu_products_scratch_bytes(products, packing_role(pass));
    if (pass == HU_FORWARD) return rounded + bytes;
    size_t weights = hu_products_scratch_bytes(products, HU_PRODUCT_WEIGHT_GRAD);
    return rounded + (weights > bytes ? weights : bytes);
}

/* Workspace: the packed weights; after them, in the backward pass, what the weight gradient keeps
 * from chunk to chunk; at last weights that are rounded for this product. */
static size_t carry_offset(const hu_products *products) {
    return hu_round_up(hu_products_packed_bytes(products, HU_PRODUCT_INPUT_GRAD), ALIGNMENT);
}

static size_t product_bytes(const hu_products *products, hu_pass pass) {
    size_t carry = pass == HU_BACKWARD ? hu_products_carry_bytes(products) : 0;
    return carry ? carry_offset(products) + carry
                 : hu_products_packed_bytes(products, packing_role(pass));
}

static size_t product_workspace_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    size_t rounded = hu_operands_workspace_bytes(operands_of(state), pass);
    size_t bytes = product_bytes(products_of(state), pass);
    return rounded ? hu_round_up(bytes, ALIGNMENT) + rounded : bytes;
}

static void *rounded_weights(const hu_op_call *call, hu_pass pass) {
    size_t bytes = product_bytes(products_of(call->state), pass);
    return (char *)call->workspace + hu_round_up(bytes, ALIGNMENT);
}

static const char *product_impl(const hu_node_info *info, void *state, hu_pass pass) {
    enum { LETTERS = 3 };
    (void)info;
    const hu_products *products = products_of(state);
    const char *name = hu_products_impl(products, packing_role(pass));
    if (pass == HU_FORWARD) return name;
    /* Of the two products of the backward pass, the slow one is worth a word. */
    const char *weights = hu_products_impl(products, HU_PRODUCT_WEIGHT_GRAD);
    bool is_slow = strncmp(name, "ref", LETTERS) == 0;
    return is_slow && strncmp(weights, "ref", LETTERS) != 0 ? name : weights;
}

/* ---- run ---- */

static const float *bias_of(const hu_op_call *call) {
    return call->info->n_params > 1 ? call->param[1] : NULL;
}

static void product_begin(const hu_op_call *call, hu_pass pass) {
    const float *w = hu_operands_round_weights(operands_of(call->state), pass, call,
                                               rounded_weights(call, pass));
    hu_products_pack(products_of(call->state), packing_role(pass), w, bias_of(call),
                     call->workspace);
}

/* Accumulators, roundings of operands and transposed layers read the weights or the bias. */
static bool product_packs_params(const hu_node_info *info, void *state, hu_pass pass) {
    hu_product_role role = packing_role(pass);
    return !operands_of(state) && !product_is_transposed(info) && !hu_accumulates(info, role) &&
           hu_products_packed_bytes(products_of(state), role) > 0;
}

static void product_reduce(const hu_op_call *call, hu_pass pass) {
    hu_operands_reduce(operands_of(call->state), call, pass);
}

/* Rounds what the product multiplies, and computes it. */
static void run_product(const hu_op_call *call, hu_product_role role, hu_product_call product) {
    hu_pass pass = role == HU_PRODUCT_FORWARD ? HU_FORWARD : HU_BACKWARD;
    hu_operands_lend(operands_of(call->state), role, call, rounded_weights(call, pass), &product);
    hu_products_run(products_of(call->state), role, &product);
}

/* x [count, in] -> y [count, out], both of info->in[0] and info->out[0] */
static void product_forward(const hu_op_call *call) {
    hu_product_call product = {.x = call->in[0],
                               .w = call->param[0],
                               .bias = bias_of(call),
                               .y = call->out[0],
                               .first = call->first,
                               .count = call->count,
                               .lengths = call->lengths,
                               .extent = call->info->in[0].extent[0],
                               .thread = call->thread,
                               .packed = call->workspace,
                               .scratch = call->scratch,
                               .counts = call->product_counts};
    run_product(call, HU_PRODUCT_FORWARD, product);
}

/* What both products of the backward pass read and write. */
static hu_product_call backward_call(const hu_op_call *call) {
    return (hu_product_call){.x = call->in[0],
                             .w = call->param[0],
                             .dy = call->dout[0],
                             .dx = call->din[0],
                             .dw = call->dparam[0],
                             .db = call->info->n_params > 1 ? call->dparam[1] : NULL,
                             .first = call->first,
                             .count = call->count,
                             .lengths = call->lengths,
                             .extent = call->info->in[0].extent[0],
                             .thread = call->thread,
                             .adds = call->adds_dparam,
                             .packed = call->workspace,
                             .scratch = call->scratch,
                             .counts = call->product_counts};
}

static bool product_in_batch_order(const hu_node_info *info) {
    return hu_accumulates(info, HU_PRODUCT_WEIGHT_GRAD);
}

/* dy [count, out] -> dx [count, in]; x, dy -> this chunk's part of dw, db */
static void product_backward(const hu_op_call *call) {
    hu_product_call product = backward_call(call);
    if (product.dx) run_product(call, HU_PRODUCT_INPUT_GRAD, product);
    if (product_in_batch_order(call->info) || !product.dw) return;
    run_product(call, HU_PRODUCT_WEIGHT_GRAD, product);
}

static void product_accumulate(const hu_op_call *call) {
    hu_product_call product = backward_call(call);
    product.carry = (char *)call->workspace + carry_offset(products_of(call->state));
    run_product(call, HU_PRODUCT_WEIGHT_GRAD, product);
}

/* The fields of a record whose one input is multiplied with its param[0], and that may add its
 * param[1]. */
#define PRODUCT_RECORD                                                                             \
    .min_in = 1, .max_in = 1, .is_product = true, .rounds_operands = true,                         \
    .saves = HU_SAVE_INPUT_0, .stats_count = hu_operands_stats_count,                              \
    .partial_count = hu_operands_partial_count, .reduce = product_reduce,                          \
    .merge = hu_operands_merge, .finish = hu_operands_finish,                                      \
    .scratch_bytes = product_scratch_bytes, .workspace_bytes = product_workspace_bytes,            \
    .create = product_create, .prepare = product_prepare, .release = product_release,              \
    .begin = product_begin, .packs_params = product_packs_params, .forward = product_forward,      \
    .backward = product_backward, .dparam_per_chunk = true,                                        \
    .in_batch_order = product_in_batch_order, .accumulate = product_accumulate,                    \
    .macs = product_macs, .impl = product_impl

/* ---- conv ---- */

/* conv2d: [H, W, C] -> [out_h, out_w, out_channels], dense, grouped or depthwise; transposed: the
 * other way round, so that a stride makes the image larger. */

/* Keeps every sum of kernel, stride, padding and dilation far from overflow. */
enum { MAX_WINDOW = 1 << 20 };

typedef struct axis {
    const char *op;
    char name;
    int64_t kernel, stride, pad, more, dilation;
    bool transposed;
    int64_t extra;
} axis;

static hu_status check_axis(const axis *a) {
    if (a->kernel < 1 || a->kernel > MAX_WINDOW || a->stride < 1 || a->stride > MAX_WINDOW ||
        a->pad < 0 || a->pad > MAX_WINDOW || a->dilation < 1 || a->dilation > MAX_WINDOW)
        return hu_fail(HU_ERR_SHAPE,
                       "%s: along %c kernel %" PRId64 ", stride %" PRId64 ", pad %" PRId64
                       ", dilation %" PRId64 "; expected 1..%d, pad 0..%d",
                       a->op, a->name, a->kernel, a->stride, a->pad, a->dilation, MAX_WINDOW,
                       MAX_WINDOW);
    if (a->more < -a->pad || a->more > MAX_WINDOW)
        return hu_fail(HU_ERR_SHAPE,
                       "%s: along %c pad %" PRId64 ", more %" PRId64
                       "; expected more from -pad to %d",
                       a->op, a->name, a->pad, a->more, MAX_WINDOW);
    if (a->extra < 0 || a->extra >= (a->transposed ? a->stride : 1))
        return hu_fail(HU_ERR_SHAPE, "%s: along %c extra %" PRId64 "; expected %s", a->op, a->name,
                       a->extra,
                       a->transposed ? "0 or more, less than the stride"
                                     : "none, only transposed layers have it");
    return HU_OK;
}

/* Transposed: (extent - 1) stride - 2 pad - more + window + extra. */
static hu_status transposed_extent(const axis *a, int64_t extent, int64_t *out) {
    int64_t window = (a->kernel - 1) * a->dilation + 1, reach;
    int64_t ends = window - 2 * a->pad - a->more + a->extra;
    bool fits = hu_mul_i64(extent - 1, a->stride, &reach) && hu_add_i64(reach, ends, out);
    if (fits && *out >= 1) return HU_OK;
    return hu_fail(HU_ERR_SHAPE,
                   "%s: extent %" PRId64 " along %c, stride %" PRId64 ", a window of %" PRId64
                   " and padding %" PRId64 " and %" PRId64 " leave no output that fits 63 bits",
                   a->op, extent, a->name, a->stride, window, a->pad, a->pad + a->more);
}

/* Outputs along one axis: floor((extent + 2 pad + more - window) / stride) + 1. */
static hu_status axis_shape(const axis *a, int64_t extent, int64_t *out) {
    hu_status st = check_axis(a);
    if (st != HU_OK) return st;
    if (a->transposed) return transposed_extent(a, extent, out);
    int64_t window = (a->kernel - 1) * a->dilation + 1, padded;
    if (!hu_add_i64(extent, 2 * a->pad + a->more, &padded) || padded < window)
        return hu_fail(HU_ERR_SHAPE,
                       "%s: extent %" PRId64 " along %c with padding %" PRId64 " and %" PRId64
                       " is less than the window of %" PRId64,
                       a->op, extent, a->name, a->pad, a->pad + a->more, window);
    *out = (padded - window) / a->stride + 1;
    return HU_OK;
}

/* Each group has the same number of input and of output channels. */
static hu_status check_channels(const char *op, int64_t groups, int64_t in_channels,
                                int64_t out_channels) {
    if (groups >= 1 && out_channels >= 1 && in_channels % groups == 0 && out_channels % groups == 0)
        return HU_OK;
    return hu_fail(HU_ERR_SHAPE,
                   "%s: %" PRId64 " groups for %" PRId64 " input and %" PRId64
                   " output channels; expected a common divisor",
                   op, groups, in_channels, out_channels);
}

/* [out_channels, kernel_h, kernel_w, in_channels / groups]; transposed: in and out exchanged. */
static hu_shape weight_shape(const hu_conv_attrs *a, const hu_shape *in) {
    int64_t from = hu_channels(in), to = a->out_channels;
    if (a->transposed) return (hu_shape){4, {from, a->kernel_h, a->kernel_w, to / a->groups}};
    return (hu_shape){4, {to, a->kernel_h, a->kernel_w, from / a->groups}};
}

/* x [H, W, C] -> y [out_h, out_w, out_channels] */
static hu_status conv_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    (void)n_in;
    const hu_conv_attrs *a = attrs;
    axis h = {"conv2d",  'H',           a->kernel_h,   a->stride_h, a->pad_h,
              a->more_h, a->dilation_h, a->transposed, a->extra_h};
    axis w = {"conv2d",  'W',           a->kernel_w,   a->stride_w, a->pad_w,
              a->more_w, a->dilation_w, a->transposed, a->extra_w};
    hu_status st;
    HU_TRY(hu_expect_rank("conv2d", in, 3));
    HU_TRY(check_channels("conv2d", a->groups, hu_channels(in), a->out_channels));
    *n_out = 1;
    out[0] = (hu_shape){3, {1, 1, a->out_channels}};
    HU_TRY(axis_shape(&h, in->extent[0], &out[0].extent[0]));
    HU_TRY(axis_shape(&w, in->extent[1], &out[0].extent[1]));
    HU_TRY(hu_shape_check(&out[0]));
    hu_shape weights = weight_shape(a, in);
    HU_TRY(hu_shape_check(&weights));
done:
    return st;
}

/* weight, and bias [out_channels] where there is one */
static hu_status conv_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                             int *count) {
    const hu_conv_attrs *a = attrs;
    *count = 0;
    list[(*count)++] = (hu_param_decl){"weight", weight_shape(a, in), a->weight_init, true};
    if (a->has_bias)
        list[(*count)++] =
            (hu_param_decl){"bias", (hu_shape){1, {a->out_channels}}, a->bias_init, true};
    return HU_OK;
}

static const hu_attribute conv_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "out", offsetof(hu_conv_attrs, out_channels), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_PAIR, "kernel", offsetof(hu_conv_attrs, kernel_h), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_PAIR, "stride", offsetof(hu_conv_attrs, stride_h), 1, 1, INFINITY},
    {HU_ATTRIBUTE_PAIR, "pad", offsetof(hu_conv_attrs, pad_h), 0, 0, INFINITY},
    {HU_ATTRIBUTE_PAIR, "more", offsetof(hu_conv_attrs, more_h), 0, 0, 0},
    {HU_ATTRIBUTE_PAIR, "dilation", offsetof(hu_conv_attrs, dilation_h), 1, 1, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "groups", offsetof(hu_conv_attrs, groups), 1, 1, INFINITY},
    {HU_ATTRIBUTE_FLAG, "bias", offsetof(hu_conv_attrs, has_bias), 1, 0, 0},
    {HU_ATTRIBUTE_FLAG, "transposed", offsetof(hu_conv_attrs, transposed), 0, 0, 0},
    {HU_ATTRIBUTE_PAIR, "extra", offsetof(hu_conv_attrs, extra_h), 0, 0, 0},
    {HU_ATTRIBUTE_INIT, "init", offsetof(hu_conv_attrs, weight_init), 0, 0, 0},
    {HU_ATTRIBUTE_INIT, "bias_init", offsetof(hu_conv_attrs, bias_init), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* He et al.: normal, variance 2 / (kernel x output channels); biases 0. */
static hu_init usual_weights(double fan_out) {
    return (hu_init){HU_INIT_NORMAL, sqrtf(2.0f / (float)fan_out)};
}

static void conv_usual(void *attrs, const hu_shape *in) {
    hu_conv_attrs *a = attrs;
    (void)in;
    a->weight_init =
        usual_weights((double)a->kernel_h * (double)a->kernel_w * (double)a->out_channels);
}

const hu_op hu_op_conv2d = {
    .name = "conv2d",
    .attrs_bytes = sizeof(hu_conv_attrs),
    .attributes = conv_attributes,
    .usual = conv_usual,
    .shape = conv_shape,
    .params = conv_params,
    PRODUCT_RECORD,
};

/* ---- conv1d: [T, C] -> [rows, out_channels] ---- */

/* [out_channels, kernel, in_channels / groups]; transposed: in and out exchanged. */
static hu_shape rows_weight_shape(const hu_conv1d_attrs *a, const hu_shape *in) {
    int64_t from = hu_channels(in), to = a->out_channels;
    if (a->transposed) return (hu_shape){ROWS_RANK, {from, a->kernel, to / a->groups}};
    return (hu_shape){ROWS_RANK, {to, a->kernel, from / a->groups}};
}

static hu_status conv1d_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    (void)n_in;
    const hu_conv1d_attrs *a = attrs;
    axis rows = {.op = "conv1d",
                 .name = 'T',
                 .kernel = a->kernel,
                 .stride = a->stride,
                 .pad = a->pad,
                 .more = a->more,
                 .dilation = a->dilation,
                 .transposed = a->transposed,
                 .extra = a->extra};
    hu_status st;
    HU_TRY(hu_expect_rank("conv1d", in, 2));
    HU_TRY(check_channels("conv1d", a->groups, hu_channels(in), a->out_channels));
    *n_out = 1;
    out[0] = (hu_shape){2, {1, a->out_channels}};
    HU_TRY(axis_shape(&rows, in->extent[0], &out[0].extent[0]));
    HU_TRY(hu_shape_check(&out[0]));
    hu_shape weights = rows_weight_shape(a, in);
    HU_TRY(hu_shape_check(&weights));
done:
    return st;
}

/* weight, and bias [out_channels] where there is one */
static hu_status conv1d_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                               int *count) {
    const hu_conv1d_attrs *a = attrs;
    const hu_shape bias = {1, {a->out_channels}};
    list[0] = (hu_param_decl){"weight", rows_weight_shape(a, in), a->weight_init, true};
    list[1] = (hu_param_decl){"bias", bias, a->bias_init, true};
    *count = a->has_bias ? 2 : 1;
    return HU_OK;
}

static const hu_attribute conv1d_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "out", offsetof(hu_conv1d_attrs, out_channels), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "kernel", offsetof(hu_conv1d_attrs, kernel), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "stride", offsetof(hu_conv1d_attrs, stride), 1, 1, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "pad", offsetof(hu_conv1d_attrs, pad), 0, 0, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "more", offsetof(hu_conv1d_attrs, more), 0, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "dilation", offsetof(hu_conv1d_attrs, dilation), 1, 1, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "groups", offsetof(hu_conv1d_attrs, groups), 1, 1, INFINITY},
    {HU_ATTRIBUTE_FLAG, "bias", offsetof(hu_conv1d_attrs, has_bias), 1, 0, 0},
    {HU_ATTRIBUTE_FLAG, "transposed", offsetof(hu_conv1d_attrs, transposed), 0, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "extra", offsetof(hu_conv1d_attrs, extra), 0, 0, 0},
    {HU_ATTRIBUTE_INIT, "init", offsetof(hu_conv1d_attrs, weight_init), 0, 0, 0},
    {HU_ATTRIBUTE_INIT, "bias_init", offsetof(hu_conv1d_attrs, bias_init), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

static void conv1d_usual(void *attrs, const hu_shape *in) {
    hu_conv1d_attrs *a = attrs;
    (void)in;
    a->weight_init = usual_weights((double)a->kernel * (double)a->out_channels);
}

const hu_op hu_op_conv1d = {
    .name = "conv1d",
    .attrs_bytes = sizeof(hu_conv1d_attrs),
    .attributes = conv1d_attributes,
    .usual = conv1d_usual,
    .shape = conv1d_shape,
    .params = conv1d_params,
    PRODUCT_RECORD,
};

/* ---- linear ---- */

/* linear: a sample of any shape, read as one vector -> [out_features]; or each of its rows, [.., C]
 * -> [.., out_features]. Weights [out, in]; transposed: [in, out]. */

/* [out, in]; transposed: [in, out] */
static hu_shape linear_weight_shape(const hu_linear_attrs *a, const hu_shape *in) {
    int64_t in_features = hu_linear_inputs(a, in);
    return a->transposed ? (hu_shape){2, {in_features, a->out_features}}
                         : (hu_shape){2, {a->out_features, in_features}};
}

/* x of any shape, read as [in] -> y [out]; rows: x [.., in] -> y [.., out] */
static hu_status linear_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    (void)n_in;
    const hu_linear_attrs *a = attrs;
    hu_status st;
    if (a->out_features < 1)
        return hu_fail(HU_ERR_SHAPE, "linear: %" PRId64 " output features, expected at least 1",
                       a->out_features);
    if (a->rows) HU_TRY(hu_expect_rank_least("linear", in, 1));
    *n_out = 1;
    out[0] = a->rows ? in[0] : (hu_shape){.rank = 1};
    out[0].extent[out[0].rank - 1] = a->out_features;
    HU_TRY(hu_shape_check(&out[0]));
    hu_shape weights = linear_weight_shape(a, in);
    HU_TRY(hu_shape_check(&weights));
done:
    return st;
}

/* weight, and bias [out] where there is one */
static hu_status linear_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                               int *count) {
    const hu_linear_attrs *a = attrs;
    *count = 0;
    list[(*count)++] = (hu_param_decl){"weight", linear_weight_shape(a, in), a->weight_init, true};
    if (a->has_bias)
        list[(*count)++] =
            (hu_param_decl){"bias", (hu_shape){1, {a->out_features}}, a->bias_init, true};
    return HU_OK;
}

static const hu_attribute linear_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "out", offsetof(hu_linear_attrs, out_features), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_FLAG, "bias", offsetof(hu_linear_attrs, has_bias), 1, 0, 0},
    {HU_ATTRIBUTE_FLAG, "transposed", offsetof(hu_linear_attrs, transposed), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "rows", offsetof(hu_linear_attrs, rows), 0, 0, 0},
    {HU_ATTRIBUTE_INIT, "init", offsetof(hu_linear_attrs, weight_init), 0, 0, 0},
    {HU_ATTRIBUTE_INIT, "bias_init", offsetof(hu_linear_attrs, bias_init), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* Weights and biases uniform within 1 / sqrt(inputs), as torch has them. */
static void linear_usual(void *attrs, const hu_shape *in) {
    hu_linear_attrs *a = attrs;
    hu_init init = {HU_INIT_UNIFORM, 1.0f / sqrtf((float)hu_linear_inputs(a, in))};
    a->weight_init = init;
    if (a->has_bias) a->bias_init = init;
}

const hu_op hu_op_linear = {
    .name = "linear",
    .keeps_rows = true,
    .attrs_bytes = sizeof(hu_linear_attrs),
    .attributes = linear_attributes,
    .usual = linear_usual,
    .shape = linear_shape,
    .params = linear_params,
    PRODUCT_RECORD,
};

/* ---- band_linear ---- */

enum { ROWS, IDS };

static int64_t rows_of(const hu_node_info *info) {
    return hu_shape_elements(&info->in[IDS]);
}

static hu_status band_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    const hu_band_linear_attrs *a = attrs;
    hu_shape rows = in[ROWS];
    rows.rank--;
    if (a->linear.has_bias || !a->linear.rows || a->last <= a->first || a->first < 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "band_linear: found ids %lld to %lld, expected a band, and a layer of rows "
                       "without a bias",
                       (long long)a->first, (long long)a->last);
    if (in[ROWS].rank < 1 || !hu_shape_equal(&rows, &in[IDS]))
        return hu_fail(HU_ERR_SHAPE, "band_linear: found %lld ids, expected one for each row",
                       (long long)hu_shape_elements(&in[IDS]));
    return hu_op_linear.shape(&a->linear, n_in, in, n_out, out);
}

static hu_status band_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                             int *count) {
    return hu_op_linear.params(attrs, in, list, count);
}

static hu_status band_create(const hu_node_info *info, void **state) {
    hu_product_facts facts = {.geometry = product_of(info),
                              .transposed = product_is_transposed(info),
                              .accumulation = info->accumulation,
                              .needs = {true, info->need_din[ROWS], true},
                              .threads = info->threads};
    facts.geometry.in_h = facts.geometry.out_h = facts.geometry.in_w = facts.geometry.out_w = 1;
    hu_some_rows *rows;
    hu_status st = hu_some_rows_create(&facts, &rows);
    *state = rows;
    return st;
}

static void band_release(void *state) {
    hu_some_rows_free(state);
}

static hu_product_role role_of(hu_pass pass) {
    return pass == HU_FORWARD ? HU_PRODUCT_FORWARD : HU_PRODUCT_INPUT_GRAD;
}

static size_t band_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    return hu_some_rows_scratch_bytes(state, role_of(pass));
}

static size_t band_workspace_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    return hu_some_rows_packed_bytes(state, role_of(pass));
}

static hu_row_choice choice_among(const hu_band_linear_attrs *a, bool training, const float *ids) {
    bool takes_all = a->all_in_evaluation && !training;
    return (hu_row_choice){takes_all ? NULL : ids, a->first, a->last};
}

static hu_row_choice choice_of(const hu_op_call *call) {
    return choice_among(call->info->attrs, call->training, call->in[IDS]);
}

static int64_t band_absent(const hu_node_info *info, bool training, int64_t count,
                           const float *const *given) {
    const hu_band_linear_attrs *a = info->attrs;
    const hu_row_choice choice = choice_among(a, training, given[IDS]);
    int64_t absent = 0;
    for (int64_t r = 0; r < count * rows_of(info); r++) absent += !hu_row_is_chosen(&choice, r);
    return absent * a->linear.out_features;
}

static void band_begin(const hu_op_call *call, hu_pass pass) {
    hu_some_rows_pack(call->state, role_of(pass), call->param[0], call->workspace);
}

/* The arrays of a pass; rows are what products call samples. */
static hu_product_call arrays_of(const hu_op_call *call) {
    return (hu_product_call){.x = call->in[ROWS],
                             .w = call->param[0],
                             .first = call->first,
                             .count = call->count * rows_of(call->info),
                             .thread = call->thread,
                             .adds = call->adds_dparam,
                             .packed = call->workspace,
                             .scratch = call->scratch,
                             .counts = call->product_counts};
}

static void band_forward(const hu_op_call *call) {
    const hu_row_choice choice = choice_of(call);
    hu_product_call product = arrays_of(call);
    product.y = call->out[0];
    hu_some_rows_run(call->state, HU_PRODUCT_FORWARD, &choice, &product);
}

static void band_backward(const hu_op_call *call) {
    const hu_row_choice choice = choice_of(call);
    hu_product_call product = arrays_of(call);
    product.dy = call->dout[0];
    product.dx = call->din[ROWS];
    product.dw = call->dparam[0];
    if (product.dx) hu_some_rows_run(call->state, HU_PRODUCT_INPUT_GRAD, &choice, &product);
    if (product_in_batch_order(call->info) || !product.dw) return;
    hu_some_rows_run(call->state, HU_PRODUCT_WEIGHT_GRAD, &choice, &product);
}

static void band_accumulate(const hu_op_call *call) {
    const hu_row_choice choice = choice_of(call);
    hu_product_call product = arrays_of(call);
    product.dy = call->dout[0];
    product.dw = call->dparam[0];
    hu_some_rows_accumulate(call->state, &choice, &product);
}

static const hu_attribute band_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "out", offsetof(hu_band_linear_attrs, linear.out_features), NAN, 1,
     INFINITY},
    {HU_ATTRIBUTE_FLAG, "transposed", offsetof(hu_band_linear_attrs, linear.transposed), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "rows", offsetof(hu_band_linear_attrs, linear.rows), 1, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "first", offsetof(hu_band_linear_attrs, first), NAN, 0, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "last", offsetof(hu_band_linear_attrs, last), NAN, 0, 0},
    {HU_ATTRIBUTE_FLAG, "all_in_evaluation", offsetof(hu_band_linear_attrs, all_in_evaluation), 0,
     0, 0},
    {HU_ATTRIBUTE_INIT, "init", offsetof(hu_band_linear_attrs, linear.weight_init), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* As linear: the attributes begin with its own. */
static void band_usual(void *attrs, const hu_shape *in) {
    hu_op_linear.usual(attrs, in);
}

const hu_op hu_op_band_linear = {.name = "band_linear",
                                 .attrs_bytes = sizeof(hu_band_linear_attrs),
                                 .attributes = band_attributes,
                                 .usual = band_usual,
                                 .min_in = 2,
                                 .max_in = 2,
                                 .is_product = true,
                                 .shape = band_shape,
                                 .params = band_params,
                                 .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                                 .absent = band_absent,
                                 .scratch_bytes = band_scratch_bytes,
                                 .workspace_bytes = band_workspace_bytes,
                                 .create = band_create,
                                 .release = band_release,
                                 .begin = band_begin,
                                 .forward = band_forward,
                                 .backward = band_backward,
                                 .dparam_per_chunk = true,
                                 .in_batch_order = product_in_batch_order,
                                 .accumulate = band_accumulate,
                                 .macs = product_macs};
