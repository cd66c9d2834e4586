/* What is done with rows as tokens: position, class_token, pick and pick_rows. */

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "kernel/fused/fused.h"
#include "kernel/reduce/channel.h"
#include "op/internal.h"

static void copy(float *to, const float *from, int64_t count) {
    memcpy(to, from, (size_t)count * sizeof *to);
}

/* The one trained parameter of a node. */
static hu_status declare(hu_shape shape, bool for_batches, hu_init init, hu_param_decl *list,
                         int *count) {
    list[0] = (hu_param_decl){.suffix = "", .shape = shape, .init = init, .trained = true};
    *count = 1;
    if (!for_batches) return HU_OK;
    list[0].shape.extent[0] = 1;
    for (int32_t i = 0; i < shape.rank && i + 1 < HU_MAX_RANK; i++)
        list[0].shape.extent[i + 1] = shape.extent[i];
    list[0].shape.rank = shape.rank + 1;
    return hu_shape_check(&list[0].shape);
}

/* ---- position: y = x + w, w as large as a sample, or with more rows ---- */

static hu_status position_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    const hu_position_attrs *a = attrs;
    hu_status st = hu_expect_rank_least("position", in, 1);
    (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    if (st != HU_OK || a->rows == 0 || a->rows >= in[0].extent[0]) return st;
    return hu_fail(HU_ERR_SHAPE, "position: found %lld rows, expected at most %lld",
                   (long long)in[0].extent[0], (long long)a->rows);
}

static hu_status position_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                                 int *count) {
    const hu_position_attrs *a = attrs;
    hu_shape shape = in[0];
    if (a->rows > 0) shape.extent[0] = a->rows;
    return declare(shape, a->for_batches, a->init, list, count);
}

static size_t position_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    return pass == HU_FORWARD ? 0 : hu_channel_total_scratch_bytes(hu_shape_elements(&info->in[0]));
}

/* x [count, shape], w [shape] -> y [count, shape] */
static void position_forward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]);
    for (int64_t s = 0; s < call->count; s++)
        hu_fused()->add(n, call->in[0] + s * n, call->param[0], call->out[0] + s * n);
}

/* dx = dy; dw = sum of dy over the samples, in the order of hu_channel_totals; +0 after the rows
 * of a sample. */
static void position_backward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]);
    if (call->din[0] && call->din[0] != call->dout[0])
        copy(call->din[0], call->dout[0], call->count * n);
    if (!call->dparam || !call->dparam[0]) return;
    if (!call->adds_dparam)
        memset(call->dparam[0], 0,
               (size_t)hu_shape_elements(&call->info->param[0]) * sizeof(float));
    hu_channel_totals(call->count, n, call->dout[0], call->adds_dparam, call->scratch,
                      call->dparam[0]);
}

/* Tables begin as those of BERT and of image Transformers do. */
static void position_usual(void *attrs, const hu_shape *in) {
    hu_position_attrs *a = attrs;
    (void)in;
    a->init = (hu_init){HU_INIT_NORMAL, 0.02f};
}

static const hu_attribute position_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "rows", offsetof(hu_position_attrs, rows), 0, 0, INFINITY},
    {HU_ATTRIBUTE_FLAG, "batches", offsetof(hu_position_attrs, for_batches), 0, 0, 0},
    {HU_ATTRIBUTE_INIT, "init", offsetof(hu_position_attrs, init), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};
static const hu_attribute class_token_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "batches", offsetof(hu_class_token_attrs, for_batches), 0, 0, 0},
    {HU_ATTRIBUTE_INIT, "init", offsetof(hu_class_token_attrs, init), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_position = {.name = "position",
                              .keeps_rows = true,
                              .attrs_bytes = sizeof(hu_position_attrs),
                              .attributes = position_attributes,
                              .usual = position_usual,
                              .min_in = 1,
                              .max_in = 1,
                              .is_cheap = true,
                              .in_place = true,
                              .shape = position_shape,
                              .params = position_params,
                              .saves = HU_SAVE_NOTHING,
                              .scratch_bytes = position_scratch_bytes,
                              .forward = position_forward,
                              .backward = position_backward,
                              .dparam_per_chunk = true};

/* ---- class_token: a row in front of all others ---- */

/* x [T, ..] -> y [T + 1, ..] */
static hu_status class_token_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                   hu_shape *out) {
    hu_status st = hu_expect_rank_least("class_token", in, 2);
    (void)attrs, (void)n_in;
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = in[0];
    if (!hu_add_i64(in->extent[0], 1, &out[0].extent[0]))
        return hu_fail(HU_ERR_SHAPE, "class_token: one row more does not fit 63 bits");
    return hu_shape_check(out);
}

static hu_status class_token_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                                    int *count) {
    const hu_class_token_attrs *a = attrs;
    hu_shape row = in[0];
    row.extent[0] = 1;
    return declare(row, a->for_batches, a->init, list, count);
}

/* Numbers of a row. */
static int64_t row_elements(const hu_shape *in) {
    return hu_shape_elements(in) / in->extent[0];
}

static size_t class_token_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    return pass == HU_FORWARD ? 0 : (size_t)row_elements(&info->in[0]) * sizeof(double);
}

/* w [1, row], x [count, T, row] -> y [count, T + 1, row] */
static void class_token_forward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]), row = row_elements(&call->info->in[0]);
    for (int64_t s = 0; s < call->count; s++) {
        float *y = call->out[0] + s * (n + row);
        copy(y, call->param[0], row);
        copy(y + row, call->in[0] + s * n, n);
    }
}

/* dx = dy but for the first row; dw = sum of the first rows over the samples, in their order, in
 * double. */
static void class_token_backward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]), row = row_elements(&call->info->in[0]);
    float *to = call->dparam ? call->dparam[0] : NULL;
    double *sum = call->scratch;
    for (int64_t i = 0; i < row; i++) sum[i] = 0.0;
    for (int64_t s = 0; s < call->count; s++) {
        const float *dy = call->dout[0] + s * (n + row);
        for (int64_t i = 0; i < row; i++) sum[i] += (double)dy[i];
        if (call->din[0]) copy(call->din[0] + s * n, dy + row, n);
    }
    for (int64_t i = 0; to && i < row; i++)
        to[i] = call->adds_dparam ? to[i] + (float)sum[i] : (float)sum[i];
}

const hu_op hu_op_class_token = {.name = "class_token",
                                 .attrs_bytes = sizeof(hu_class_token_attrs),
                                 .attributes = class_token_attributes,
                                 .usual = position_usual,
                                 .min_in = 1,
                                 .max_in = 1,
                                 .selects_gradient = true,
                                 .shape = class_token_shape,
                                 .params = class_token_params,
                                 .saves = HU_SAVE_NOTHING,
                                 .scratch_bytes = class_token_scratch_bytes,
                                 .forward = class_token_forward,
                                 .backward = class_token_backward,
                                 .dparam_per_chunk = true};

/* ---- pick: one row of all ---- */

/* x [T, ..], lengths [1] -> y [..] */
static hu_status pick_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    hu_status st = hu_expect_rank_least("pick", in, 1);
    (void)attrs;
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = (hu_shape){.rank = in[0].rank - 1};
    for (int i = 0; i < out[0].rank; i++) out[0].extent[i] = in[0].extent[i + 1];
    return hu_expect_lengths("pick", 1, n_in, in);
}

/* The row that is picked of sample s of the call; negative: none. */
static int64_t picked(const hu_op_call *call, int64_t s) {
    const hu_pick_attrs *a = call->info->attrs;
    int64_t valid = hu_row_count(call, 1, s);
    return valid == 0 ? -1 : a && a->last ? valid - 1 : 0;
}

static void pick_forward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]), row = row_elements(&call->info->in[0]);
    for (int64_t s = 0; s < call->count; s++) {
        int64_t at = picked(call, s);
        float *y = call->out[0] + s * row;
        if (at < 0)
            memset(y, 0, (size_t)row * sizeof *y);
        else
            copy(y, call->in[0] + s * n + at * row, row);
    }
}

/* dx = dy in the row that was picked, +0 in the others. */
static void pick_backward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]), row = row_elements(&call->info->in[0]);
    for (int64_t s = 0; call->din[0] && s < call->count; s++) {
        int64_t at = picked(call, s);
        float *dx = call->din[0] + s * n;
        memset(dx, 0, (size_t)n * sizeof *dx);
        if (at >= 0) copy(dx + at * row, call->dout[0] + s * row, row);
    }
}

static const hu_attribute pick_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "last", offsetof(hu_pick_attrs, last), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_pick = {.name = "pick",
                          .attrs_bytes = sizeof(hu_pick_attrs),
                          .attributes = pick_attributes,
                          .min_in = 1,
                          .max_in = 2,
                          .selects_input = true,
                          .selects_gradient = true,
                          .shape = pick_shape,
                          .saves = HU_SAVE_INPUT_1,
                          .forward = pick_forward,
                          .backward = pick_backward};

/* ---- pick_rows: the rows at places ---- */

/* x [T, ..], places [M] -> y [M, ..] */
static hu_status pick_rows_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                 hu_shape *out) {
    hu_status st = hu_expect_rank_least("pick_rows", in, 1);
    (void)attrs, (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    out[0].extent[0] = in[1].extent[0];
    if (st != HU_OK || in[1].rank == 1) return st;
    return hu_fail(HU_ERR_SHAPE, "pick_rows: found places of rank %d, expected 1", (int)in[1].rank);
}

/* The row at place m of all places of the call; -1 for what is no number of a row. */
static int64_t row_at(const hu_op_call *call, int64_t m) {
    return hu_whole_below(call->in[1][m], call->info->in[0].extent[0]);
}

static void pick_rows_forward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]), row = row_elements(&call->info->in[0]);
    int64_t places = call->info->in[1].extent[0];
    for (int64_t m = 0; m < call->count * places; m++) {
        int64_t at = row_at(call, m);
        float *y = call->out[0] + m * row;
        if (at < 0)
            memset(y, 0, (size_t)row * sizeof *y);
        else
            copy(y, call->in[0] + m / places * n + at * row, row);
    }
}

/* dx = the sum of dy over the places that name a row, in their order, in float32: places differ but
 * in data that asks twice. */
static void pick_rows_backward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]), row = row_elements(&call->info->in[0]);
    int64_t places = call->info->in[1].extent[0];
    if (!call->din[0]) return;
    memset(call->din[0], 0, (size_t)(call->count * n) * sizeof(float));
    for (int64_t m = 0; m < call->count * places; m++) {
        int64_t at = row_at(call, m);
        float *dx = call->din[0] + m / places * n + (at < 0 ? 0 : at) * row;
        for (int64_t i = 0; at >= 0 && i < row; i++) dx[i] += call->dout[0][m * row + i];
    }
}

const hu_op hu_op_pick_rows = {.name = "pick_rows",
                               .min_in = 2,
                               .max_in = 2,
                               .selects_input = true,
                               .shape = pick_rows_shape,
                               .saves = HU_SAVE_INPUT_1,
                               .forward = pick_rows_forward,
                               .backward = pick_rows_backward};
