/* The three products of conv2d and linear with a chosen accumulator, beside matrices that are laid
 * out here from the definition of a convolution and multiplied by hu_gemm_reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "op/attributes.h"
#include "op_product.h"

typedef struct outcome {
    float *y, *dx, *dw, *db;
    hu_gemm_counts counts[HU_PRODUCT_ROLES];
} outcome;

static outcome outcome_make(const hu_product *p) {
    outcome o = {0};
    o.y = zeroed((size_t)(SAMPLES * hu_product_out(p)), sizeof(float));
    o.dx = zeroed((size_t)(SAMPLES * hu_product_in(p)), sizeof(float));
    o.dw = zeroed((size_t)hu_product_weights(p), sizeof(float));
    o.db = zeroed((size_t)p->out_c, sizeof(float));
    return o;
}

static void outcome_free(outcome *o) {
    hu_free(o->y);
    hu_free(o->dx);
    hu_free(o->dw);
    hu_free(o->db);
}

/* ---- by the definition ---- */

/* Element (row, term) of one factor for a group; term runs in the order of the sum. */
typedef float element_fn(const product_case *c, int64_t group, int64_t row, int64_t term);

static int64_t depth_of(const hu_product *p) {
    return p->in_c / p->groups;
}
static int64_t filters_of(const hu_product *p) {
    return p->out_c / p->groups;
}

/* Row (sample, oh, ow), column (kh, kw, channel of the group). */
static float input_at(const product_case *c, int64_t group, int64_t row, int64_t column) {
    const hu_product *p = &c->product;
    int64_t depth = depth_of(p), tap = column / depth;
    int64_t ow = row % p->out_w, oh = row / p->out_w % p->out_h, n = row / (p->out_w * p->out_h);
    int64_t ih = oh * p->stride_h - p->pad_h + tap / p->kernel_w * p->dilation_h;
    int64_t iw = ow * p->stride_w - p->pad_w + tap % p->kernel_w * p->dilation_w;
    if (ih < 0 || iw < 0 || ih >= p->in_h || iw >= p->in_w) return 0;
    return c->x[((n * p->in_h + ih) * p->in_w + iw) * p->in_c + group * depth + column % depth];
}

/* Row (sample, ih, iw), column (kh, kw, filter): the output that this tap leads to, if any. */
static float gradient_at(const product_case *c, int64_t group, int64_t row, int64_t column) {
    const hu_product *p = &c->product;
    int64_t filters = filters_of(p), tap = column / filters;
    int64_t iw = row % p->in_w, ih = row / p->in_w % p->in_h, n = row / (p->in_w * p->in_h);
    for (int64_t oh = 0; oh < p->out_h; oh++)
        for (int64_t ow = 0; ow < p->out_w; ow++)
            if (oh * p->stride_h - p->pad_h + tap / p->kernel_w * p->dilation_h == ih &&
                ow * p->stride_w - p->pad_w + tap % p->kernel_w * p->dilation_w == iw)
                return c->dy[((n * p->out_h + oh) * p->out_w + ow) * p->out_c + group * filters +
                             column % filters];
    return 0;
}

static float weight_at(const product_case *c, int64_t group, int64_t filter, int64_t column) {
    const hu_product *p = &c->product;
    int64_t width = p->kernel_h * p->kernel_w * depth_of(p);
    return c->w[(group * filters_of(p) + filter) * width + column];
}

static float weight_back_at(const product_case *c, int64_t group, int64_t channel, int64_t term) {
    int64_t filters = filters_of(&c->product), depth = depth_of(&c->product);
    return weight_at(c, group, term % filters, term / filters * depth + channel);
}

static float output_at(const product_case *c, int64_t group, int64_t filter, int64_t pixel) {
    const hu_product *p = &c->product;
    return c->dy[pixel * p->out_c + group * filters_of(p) + filter];
}

static float input_back_at(const product_case *c, int64_t group, int64_t column, int64_t pixel) {
    return input_at(c, group, pixel, column);
}

static float *lay_out(const product_case *c, element_fn *at, int64_t group, int64_t rows,
                      int64_t terms) {
    float *matrix = zeroed((size_t)(rows * terms), sizeof *matrix);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < terms; k++) matrix[i * terms + k] = at(c, group, i, k);
    return matrix;
}

typedef struct definition {
    int64_t m, n, k;
    element_fn *a, *b;
    float *c;
    int64_t c_stride, c_step;
    const float *bias;
} definition;

static void define(const product_case *c, const hu_accumulator *accumulator, const definition *d,
                   hu_gemm_counts *counts) {
    for (int64_t g = 0; g < c->product.groups; g++) {
        float *a = lay_out(c, d->a, g, d->m, d->k), *b = lay_out(c, d->b, g, d->n, d->k);
        hu_gemm_task task = {.m = d->m,
                             .n = d->n,
                             .k = d->k,
                             .a = {.data = a, .stride = d->k, .k_stride = 1},
                             .b = {.data = b, .stride = d->k, .k_stride = 1},
                             .accumulator = *accumulator,
                             .c = d->c + g * d->c_step,
                             .c_stride = d->c_stride,
                             .bias = d->bias ? d->bias + g * d->c_step : NULL,
                             .counts = counts,
                             .threads = 1};
        if (hu_gemm_reference(&task) != HU_OK) fail_msg("%s", hu_last_error());
        hu_free(a);
        hu_free(b);
    }
}

static outcome expected_of(const product_case *c, const hu_accumulator *accumulator) {
    const hu_product *p = &c->product;
    outcome o = outcome_make(p);
    int64_t taps = p->kernel_h * p->kernel_w, depth = depth_of(p), filters = filters_of(p);
    int64_t pixels = SAMPLES * p->out_h * p->out_w, in_pixels = SAMPLES * p->in_h * p->in_w;
    definition forward = {pixels, filters,  taps * depth, input_at, weight_at,
                          o.y,    p->out_c, filters,      c->bias};
    definition input = {in_pixels, depth,   taps * filters, gradient_at, weight_back_at,
                        o.dx,      p->in_c, depth,          NULL};
    definition weight = {filters,      taps * depth,           pixels,
                         output_at,    input_back_at,          o.dw,
                         taps * depth, filters * taps * depth, NULL};
    define(c, accumulator, &forward, &o.counts[HU_PRODUCT_FORWARD]);
    define(c, accumulator, &input, &o.counts[HU_PRODUCT_INPUT_GRAD]);
    define(c, accumulator, &weight, &o.counts[HU_PRODUCT_WEIGHT_GRAD]);
    for (int64_t i = 0; p->has_bias && i < pixels * p->out_c; i++) o.db[i % p->out_c] += c->dy[i];
    return o;
}

/* ---- by the record ---- */

static void call_chunk(const product_case *c, hu_op_call *call, int64_t first, hu_pass pass,
                       const outcome *o) {
    const hu_product *p = &c->product;
    int64_t left = SAMPLES - first, chunk = call->info->chunk;
    const float *in[] = {c->x + first * hu_product_in(p)};
    const float *dout[] = {c->dy + first * hu_product_out(p)}, *param[] = {c->w, c->bias};
    float *out[] = {o->y + first * hu_product_out(p)};
    float *din[] = {call->info->need_din[0] ? o->dx + first * hu_product_in(p) : NULL};
    float *dparam[] = {o->dw, p->has_bias ? o->db : NULL};
    call->first = first;
    call->count = left < chunk ? left : chunk;
    call->in = in;
    call->out = out;
    call->dout = dout;
    call->din = din;
    call->dparam = dparam;
    call->param = param;
    if (pass == HU_FORWARD) {
        c->op->forward(call);
        return;
    }
    c->op->backward(call);
    if (c->op->in_batch_order(call->info)) c->op->accumulate(call);
}

static void pass_over(const product_case *c, const hu_node_info *info, void *state, hu_pass pass,
                      outcome *o) {
    size_t workspace_bytes = c->op->workspace_bytes(info, state, pass);
    size_t scratch_bytes = c->op->scratch_bytes(info, state, pass);
    char *workspace = guarded(workspace_bytes), *scratch = guarded(scratch_bytes);
    const float *param[] = {c->w, c->bias};
    hu_op_call call = {.info = info,
                       .state = state,
                       .training = true,
                       .total = SAMPLES,
                       .param = param,
                       .workspace = workspace,
                       .scratch = scratch,
                       .product_counts = o->counts};
    c->op->begin(&call, pass);
    uint64_t before = hu_memory_count().allocations;
    for (int64_t first = 0; first < SAMPLES; first += info->chunk)
        call_chunk(c, &call, first, pass, o);
    assert_true(hu_memory_count().allocations == before);
    guard_check(workspace, workspace_bytes);
    guard_check(scratch, scratch_bytes);
    hu_free(workspace);
    hu_free(scratch);
}

static outcome found_of(const product_case *c, const hu_accumulation *accumulation, bool need_din,
                        int64_t chunk, int threads) {
    outcome o = outcome_make(&c->product);
    hu_node_info info = case_info(c, &need_din, chunk, threads);
    void *state;
    info.accumulation = accumulation;
    if (c->op->create(&info, &state) != HU_OK) fail_msg("%s", hu_last_error());
    if (SAMPLES % chunk) assert_int_equal(c->op->prepare(&info, state, SAMPLES % chunk), HU_OK);
    pass_over(c, &info, state, HU_FORWARD, &o);
    pass_over(c, &info, state, HU_BACKWARD, &o);
    c->op->release(state);
    return o;
}

static void same_counts(const outcome *found, const outcome *expected) {
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
        assert_true(found->counts[r].values == expected->counts[r].values);
        assert_true(found->counts[r].subnormal == expected->counts[r].subnormal);
        assert_true(found->counts[r].overflow == expected->counts[r].overflow);
        assert_true(found->counts[r].terms == expected->counts[r].terms);
        assert_true(found->counts[r].stalled == expected->counts[r].stalled);
    }
}

static void same_outcome(const product_case *c, const outcome *found, const outcome *expected) {
    const hu_product *p = &c->product;
    assert_same_floats(found->y, expected->y, SAMPLES * hu_product_out(p));
    assert_same_floats(found->dx, expected->dx, SAMPLES * hu_product_in(p));
    assert_same_floats(found->dw, expected->dw, hu_product_weights(p));
    if (p->has_bias) assert_same_floats(found->db, expected->db, p->out_c);
    same_counts(found, expected);
}

static hu_accumulation everywhere(const char *text, hu_semantics semantics) {
    hu_accumulation accumulation;
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
        accumulation.chosen[r] = true;
        if (hu_accumulator_parse(text, &accumulation.accumulator[r]) != HU_OK)
            fail_msg("%s", hu_last_error());
        accumulation.accumulator[r].semantics = semantics;
    }
    return accumulation;
}

/* Any chunk length and any number of threads give the bits of the definition. */
static void check_products(const product_case *c, const char *text, hu_semantics semantics) {
    static const int64_t chunks[] = {SAMPLES, 1, 3, 5};
    static const int threads[] = {1, 2, 3, 7};
    hu_accumulation accumulation = everywhere(text, semantics);
    outcome expected = expected_of(c, &accumulation.accumulator[0]);
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        outcome found = found_of(c, &accumulation, true, chunks[i], threads[i]);
        same_outcome(c, &found, &expected);
        outcome_free(&found);
    }
    outcome_free(&expected);
}

static void check_accumulators(const product_case *c) {
    check_products(c, "fmac8:1/6/9", HU_SEMANTICS_EXACT);
    check_products(c, "fmac8:1/6/9", HU_SEMANTICS_F32FMA);
    check_products(c, "fmac3:e4m3", HU_SEMANTICS_EXACT);
    check_products(c, "kahan:1/6/9/n", HU_SEMANTICS_EXACT);
    check_products(c, "fmacs", HU_SEMANTICS_EXACT);
    check_products(c, "tc:h100-fp8:promote=64", HU_SEMANTICS_EXACT);
    check_products(c, "tc:K=5:F=24:out=fp16", HU_SEMANTICS_EXACT);
}

static hu_conv_attrs attrs(int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                           int64_t dilation, int64_t groups, bool has_bias) {
    return (hu_conv_attrs){.out_channels = out,
                           .kernel_h = kernel,
                           .kernel_w = kernel,
                           .stride_h = stride,
                           .stride_w = stride,
                           .pad_h = pad,
                           .pad_w = pad,
                           .dilation_h = dilation,
                           .dilation_w = dilation,
                           .groups = groups,
                           .has_bias = has_bias};
}

static product_case conv_case(const hu_conv_attrs *a, int64_t h, int64_t w, int64_t channels) {
    hu_shape in = {3, {h, w, channels}};
    return case_make(&hu_op_conv2d, a, in, hu_product_conv2d(a, &in));
}

static void check_conv(hu_conv_attrs a, int64_t h, int64_t w, int64_t channels) {
    product_case c = conv_case(&a, h, w, channels);
    check_accumulators(&c);
    case_free(&c);
}

static void dense_kernels(void **state) {
    (void)state;
    check_conv(attrs(8, 3, 1, 1, 1, 1, false), 5, 4, 3);
    check_conv(attrs(5, 1, 1, 0, 1, 1, true), 3, 4, 7);
}

static void strides_padding_and_dilation(void **state) {
    (void)state;
    check_conv(attrs(6, 3, 2, 1, 1, 1, false), 6, 5, 4);
    check_conv(attrs(3, 1, 2, 0, 1, 1, false), 5, 5, 4);
    check_conv(attrs(4, 3, 3, 2, 2, 1, true), 7, 8, 3);
    hu_conv_attrs oblong = attrs(5, 3, 1, 1, 1, 1, true);
    oblong.kernel_w = 1;
    oblong.pad_w = 0;
    oblong.stride_h = 2;
    oblong.dilation_h = 2;
    check_conv(oblong, 9, 3, 4);
}

/* Kernels of two extents, and more padding on one side than on the other. */
static void uneven_kernels_and_padding(void **state) {
    (void)state;
    hu_conv_attrs row = attrs(5, 1, 1, 0, 1, 1, true), column = attrs(4, 1, 1, 0, 1, 2, false);
    row.kernel_w = 7;
    row.pad_w = 3;
    check_conv(row, 3, 5, 4);
    column.kernel_h = 7;
    column.pad_h = 3;
    column.more_h = -2;
    column.more_w = 1;
    check_conv(column, 6, 3, 4);
    hu_conv_attrs plain = attrs(5, 1, 1, 0, 1, 1, false);
    plain.more_h = plain.more_w = 1;
    check_conv(plain, 3, 2, 3);
}

static void groups(void **state) {
    (void)state;
    check_conv(attrs(6, 3, 1, 1, 1, 2, true), 4, 4, 4);
    check_conv(attrs(5, 3, 2, 1, 1, 5, false), 5, 4, 5);
    check_conv(attrs(6, 1, 1, 0, 1, 3, false), 3, 2, 6);
    check_conv(attrs(16, 3, 2, 1, 1, 4, true), 6, 5, 8);
}

static void rows(void **state) {
    (void)state;
    const hu_conv1d_attrs cases[] = {
        {.out_channels = 7, .kernel = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 1},
        {.out_channels = 6,
         .kernel = 4,
         .stride = 2,
         .pad = 3,
         .more = -2,
         .dilation = 2,
         .groups = 3,
         .has_bias = true},
        {.out_channels = 6, .kernel = 3, .stride = 1, .dilation = 1, .groups = 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hu_shape in = {2, {11, 6}};
        product_case c = case_make(&hu_op_conv1d, &cases[i], in, hu_product_conv1d(&cases[i], &in));
        check_accumulators(&c);
        case_free(&c);
    }
}

static void linear(void **state) {
    (void)state;
    for (int bias = 0; bias < 2; bias++) {
        hu_linear_attrs a = {.out_features = 11, .has_bias = bias};
        hu_shape in = {1, {37}};
        product_case c = case_make(&hu_op_linear, &a, in, hu_product_linear(&a, &in));
        check_accumulators(&c);
        case_free(&c);
    }
}

/* The order of a weight gradient is sample, row. */
static void linear_rows(void **state) {
    (void)state;
    for (int bias = 0; bias < 2; bias++) {
        hu_linear_attrs a = {.out_features = 7, .has_bias = bias, .rows = true};
        hu_shape in = {2, {5, 19}};
        product_case c = case_make(&hu_op_linear, &a, in, hu_product_linear(&a, &in));
        check_accumulators(&c);
        case_free(&c);
    }
}

/* A layer that uses the weights [in, out]: the same terms in the same order, so the same bits and
 * counts, each product with its own accumulator. */
static void transposed_linear(void **state) {
    (void)state;
    static const char *const texts[] = {"fmac8:1/6/9", "tc:K=7:F=13:out=13", "fmac8:e6m12"};
    for (int i = 0; i < 4; i++) {
        hu_linear_attrs a = {.out_features = 11, .has_bias = i % 2}, t = a;
        hu_shape in = {1, {37}};
        t.transposed = true;
        product_case plain = case_make(&hu_op_linear, &a, in, hu_product_linear(&a, &in));
        product_case c = case_transposed(&plain, &t);
        hu_accumulation accumulation = everywhere(texts[0], HU_SEMANTICS_EXACT);
        for (int r = 0; r < HU_PRODUCT_ROLES; r++)
            accumulation.accumulator[r] =
                everywhere(texts[r], HU_SEMANTICS_EXACT).accumulator[(r + i) % HU_PRODUCT_ROLES];
        outcome expected = found_of(&plain, &accumulation, true, 3, 2);
        outcome found = found_of(&c, &accumulation, true, 5, 3);
        float *dw = zeroed(11 * 37, sizeof *dw);
        transpose(37, 11, found.dw, dw);
        memcpy(found.dw, dw, 11 * 37 * sizeof *dw);
        same_outcome(&plain, &found, &expected);
        hu_free(dw);
        outcome_free(&expected);
        outcome_free(&found);
        hu_free(c.w);
        case_free(&plain);
    }
}

/* A transposed convolution against the convolution that it is the gradient of, each product with an
 * accumulator of its own: the same terms in the same order. */
static void transposed_convolution(void **state) {
    (void)state;
    static const char *const texts[] = {"fmac8:1/6/9", "tc:K=7:F=13:out=13", "fmac8:e6m12"};
    hu_conv_attrs a = attrs(6, 3, 2, 1, 1, 2, false), t = a;
    product_case plain = conv_case(&a, 6, 6, 4);
    t.transposed = true;
    t.out_channels = 4;
    t.extra_h = t.extra_w = 1;
    product_case c = case_turned(&plain, &t);
    hu_accumulation given = everywhere(texts[0], HU_SEMANTICS_EXACT), here = given;
    for (int r = 0; r < HU_PRODUCT_ROLES; r++)
        given.accumulator[r] = everywhere(texts[r], HU_SEMANTICS_EXACT).accumulator[r];
    here.accumulator[HU_PRODUCT_FORWARD] = given.accumulator[HU_PRODUCT_INPUT_GRAD];
    here.accumulator[HU_PRODUCT_INPUT_GRAD] = given.accumulator[HU_PRODUCT_FORWARD];
    here.accumulator[HU_PRODUCT_WEIGHT_GRAD] = given.accumulator[HU_PRODUCT_WEIGHT_GRAD];
    outcome expected = found_of(&plain, &given, true, 3, 2),
            found = found_of(&c, &here, true, 5, 3);
    const hu_product *p = &plain.product;
    assert_same_floats(found.y, expected.dx, SAMPLES * hu_product_in(p));
    assert_same_floats(found.dx, expected.y, SAMPLES * hu_product_out(p));
    assert_same_floats(found.dw, expected.dw, hu_product_weights(p));
    outcome_free(&expected);
    outcome_free(&found);
    case_free(&plain);
}

/* Small whole numbers: every order and every one of these accumulators gives the exact sums. */
static void whole_numbers_are_exact(void **state) {
    (void)state;
    hu_conv_attrs a = attrs(4, 3, 2, 1, 1, 2, true);
    product_case c = conv_case(&a, 6, 5, 4);
    const hu_product *p = &c.product;
    hu_accumulation accumulation = everywhere("fmac8:e6m12", HU_SEMANTICS_EXACT);
    int64_t in = SAMPLES * hu_product_in(p), out = SAMPLES * hu_product_out(p);
    for (int64_t i = 0; i < in; i++) c.x[i] = (float)(i % 5 - 2);
    for (int64_t i = 0; i < out; i++) c.dy[i] = (float)(i % 7 - 3);
    for (int64_t i = 0; i < hu_product_weights(p); i++) c.w[i] = (float)(i % 3 - 1);
    for (int64_t i = 0; i < p->out_c; i++) c.bias[i] = (float)i;
    hu_reference_sum *sums = zeroed((size_t)(in + out), sizeof *sums);
    hu_reference_sum *db = zeroed((size_t)p->out_c, sizeof *db);
    outcome found = found_of(&c, &accumulation, true, 3, 2);
    hu_reference_forward(p, SAMPLES, c.x, c.w, c.bias, sums);
    for (int64_t i = 0; i < out; i++) assert_true((double)found.y[i] == sums[i].value);
    hu_reference_backward_data(p, SAMPLES, c.dy, c.w, sums);
    for (int64_t i = 0; i < in; i++) assert_true((double)found.dx[i] == sums[i].value);
    hu_reference_backward_weights(p, SAMPLES, c.x, c.dy, sums, db);
    for (int64_t i = 0; i < hu_product_weights(p); i++)
        assert_true((double)found.dw[i] == sums[i].value);
    for (int64_t i = 0; i < p->out_c; i++) assert_true((double)found.db[i] == db[i].value);
    outcome_free(&found);
    hu_free(sums);
    hu_free(db);
    case_free(&c);
}

/* Each product alone: it is the accumulator's, the others are oneDNN's. */
static void products_are_chosen_one_by_one(void **state) {
    (void)state;
    hu_conv_attrs a = attrs(6, 3, 1, 1, 1, 1, true);
    product_case c = conv_case(&a, 5, 5, 4);
    const hu_product *p = &c.product;
    hu_accumulation all = everywhere("fmac8:e4m3", HU_SEMANTICS_EXACT), none = {0};
    outcome low = found_of(&c, &all, true, SAMPLES, 1);
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
        hu_accumulation one = all;
        for (int other = 0; other < HU_PRODUCT_ROLES; other++) one.chosen[other] = other == r;
        bool whole = one.chosen[HU_PRODUCT_WEIGHT_GRAD];
        outcome mixed = found_of(&c, &one, true, SAMPLES, 1);
        outcome plain = found_of(&c, &none, true, SAMPLES, 1);
        assert_true(memcmp(low.y, plain.y, sizeof(float)) != 0);
        assert_same_floats(mixed.y, r == 0 ? low.y : plain.y, SAMPLES * hu_product_out(p));
        assert_same_floats(mixed.dx, r == 1 ? low.dx : plain.dx, SAMPLES * hu_product_in(p));
        assert_same_floats(mixed.dw, whole ? low.dw : plain.dw, hu_product_weights(p));
        assert_same_floats(mixed.db, whole ? low.db : plain.db, p->out_c);
        outcome_free(&mixed);
        outcome_free(&plain);
    }
    outcome first = found_of(&c, &all, false, 4, 2); /* the first layer wants no input gradient */
    assert_same_floats(first.dw, low.dw, hu_product_weights(p));
    assert_true(first.counts[HU_PRODUCT_INPUT_GRAD].values == 0);
    outcome_free(&first);
    outcome_free(&low);
    case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_kernels),
        cmocka_unit_test(strides_padding_and_dilation),
        cmocka_unit_test(uneven_kernels_and_padding),
        cmocka_unit_test(groups),
        cmocka_unit_test(rows),
        cmocka_unit_test(linear),
        cmocka_unit_test(linear_rows),
        cmocka_unit_test(transposed_linear),
        cmocka_unit_test(transposed_convolution),
        cmocka_unit_test(whole_numbers_are_exact),
        cmocka_unit_test(products_are_chosen_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
