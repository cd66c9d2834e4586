#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "kernel/fused/fused.h"
#include "kernel/reduce/channel.h"
#include "op/internal.h"

/* ---- Attributes of the operations that join or part values ---- */

/* Numbers of an array of the call: [count, shape]. */
static int64_t call_elements(const hu_op_call *call, const hu_shape *shape) {
    return call->count * hu_shape_elements(shape);
}

static void copy(float *to, const float *from, int64_t count) {
    memcpy(to, from, (size_t)count * sizeof *to);
}

/* ---- concat and split along one axis: copies of [rows, part] to and from [rows, whole]; a row is
 * what lies at one place of the axes before it ---- */

/* from [rows, part] -> the first columns of to [rows, whole] */
static void put_columns(int64_t rows, int64_t whole, int64_t part, const float *from, float *to) {
    for (int64_t r = 0; r < rows; r++) copy(to + r * whole, from + r * part, part);
}

/* The first columns of from [rows, whole] -> to [rows, part] */
static void take_columns(int64_t rows, int64_t whole, int64_t part, const float *from, float *to) {
    for (int64_t r = 0; r < rows; r++) copy(to + r * part, from + r * whole, part);
}

/* The extent that is joined or parted: the first, one that is told, or the last. */
static hu_status expect_axis(const char *op, bool rows, const hu_axes *axis, const hu_shape *in) {
    hu_status st = hu_expect_rank_least(op, in, 1);
    if (st != HU_OK) return st;
    if (rows && axis->count)
        return hu_fail(HU_ERR_ARGUMENT, "%s: found rows and an axis, expected one of them", op);
    return hu_expect_one_axis(op, axis, -1, in->rank);
}

static int axis_of(bool rows, const hu_axes *axis, const hu_shape *in) {
    return rows ? 0 : hu_one_axis(axis, -1, in->rank);
}

static int concat_axis(const hu_concat_attrs *a, const hu_shape *in) {
    return a ? axis_of(a->rows, &a->axis, in) : in->rank - 1;
}

static int split_axis(const hu_split_attrs *a, const hu_shape *in) {
    return axis_of(a->rows, &a->axis, in);
}

/* What an axis is called in messages. */
static const char *axis_name(int axis, int rank, char text[32]) {
    if (axis != 0 && axis != rank - 1) {
        snprintf(text, 32, "extent %d", axis);
        return text;
    }
    return axis == rank - 1 ? "last extent" : "first extent";
}

/* Numbers of a shape that lie after each other in the copies. */
static int64_t columns_of(int axis, const hu_shape *shape) {
    int64_t columns = 1;
    for (int i = axis; i < shape->rank; i++) columns *= shape->extent[i];
    return columns;
}

/* in[i] [.., C_i, ..] -> [.., sum of the C_i, ..] */
static hu_status concat_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    static const hu_concat_attrs none = {.rows = false};
    const hu_concat_attrs *a = attrs ? attrs : &none;
    char name[32];
    hu_status st;
    int64_t extent = 0;
    HU_TRY(expect_axis("concat", a->rows, &a->axis, &in[0]));
    int axis = concat_axis(a, &in[0]);
    for (int i = 0; i < n_in; i++) {
        HU_TRY(hu_expect_rank_least("concat", &in[i], 1));
        /* Inputs may differ in one extent alone: compare them as if it were equal. */
        hu_shape like[2] = {in[0], in[i]};
        if (in[i].rank == in[0].rank) like[1].extent[axis] = in[0].extent[axis];
        if (hu_expect_same("concat", 2, like) != HU_OK)
            return hu_fail(HU_ERR_SHAPE,
                           "concat: input %d differs from input 0 in more than the %s", i,
                           axis_name(axis, in[0].rank, name));
        if (!hu_add_i64(extent, in[i].extent[axis], &extent))
            return hu_fail(HU_ERR_SHAPE, "concat: the %ss together do not fit 63 bits",
                           axis_name(axis, in[0].rank, name));
    }
    *n_out = 1;
    out[0] = in[0];
    out[0].extent[axis] = extent;
    st = hu_shape_check(out);
done:
    return st;
}

/* in[i] [rows, part i] -> out[0] [rows, whole], in the order of the inputs. */
static void concat_forward(const hu_op_call *call) {
    int axis = concat_axis(call->info->attrs, &call->info->in[0]);
    int64_t whole = columns_of(axis, &call->info->out[0]), at = 0;
    int64_t rows = call_elements(call, &call->info->out[0]) / whole;
    for (int i = 0; i < call->info->n_in; i++) {
        int64_t part = columns_of(axis, &call->info->in[i]);
        put_columns(rows, whole, part, call->in[i], call->out[0] + at);
        at += part;
    }
}

/* dout[0] -> din[i]: the columns that came from input i. */
static void concat_backward(const hu_op_call *call) {
    int axis = concat_axis(call->info->attrs, &call->info->in[0]);
    int64_t whole = columns_of(axis, &call->info->out[0]), at = 0;
    int64_t rows = call_elements(call, &call->info->out[0]) / whole;
    for (int i = 0; i < call->info->n_in; i++) {
        int64_t part = columns_of(axis, &call->info->in[i]);
        if (call->din[i]) take_columns(rows, whole, part, call->dout[0] + at, call->din[i]);
        at += part;
    }
}

static const hu_attribute concat_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "rows", offsetof(hu_concat_attrs, rows), 0, 0, 0},
    {HU_ATTRIBUTE_AXES, "axis", offsetof(hu_concat_attrs, axis), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_concat = {.name = "concat",
                            .keeps_rows = true,
                            .attrs_bytes = sizeof(hu_concat_attrs),
                            .attributes = concat_attributes,
                            .min_in = 1,
                            .max_in = -1,
                            .selects_gradient = true,
                            .shape = concat_shape,
                            .saves = HU_SAVE_NOTHING,
                            .forward = concat_forward,
                            .backward = concat_backward};

/* Two parts, of which the first is told. */
static hu_status first_size(const hu_split_attrs *a, int64_t extent, hu_axes *sizes) {
    if (a->first < 1 || a->first >= extent)
        return hu_fail(HU_ERR_SHAPE,
                       "split: first part of %" PRId64 " of %" PRId64
                       " %s, expected at least 1 in each part",
                       a->first, extent,
                       a->rows         ? "rows"
                       : a->axis.count ? "places"
                                       : "channels");
    *sizes = (hu_axes){2, {a->first, extent - a->first}};
    return HU_OK;
}

/* Parts of one size. */
static hu_status equal_sizes(const hu_split_attrs *a, int64_t extent, hu_axes *sizes) {
    if (a->parts < 1 || a->parts > HU_MAX_OUTPUTS || extent % a->parts != 0)
        return hu_fail(HU_ERR_SHAPE,
                       "split: %" PRId64 " parts of %" PRId64
                       ", expected a divisor of it, from 1 to %d",
                       a->parts, extent, HU_MAX_OUTPUTS);
    sizes->count = (int32_t)a->parts;
    for (int i = 0; i < sizes->count; i++) sizes->at[i] = extent / a->parts;
    return HU_OK;
}

static hu_status told_sizes(const hu_split_attrs *a, int64_t extent, hu_axes *sizes) {
    int64_t left = extent;
    _Static_assert((int)HU_MAX_RANK == (int)HU_MAX_OUTPUTS, "a size for each output");
    *sizes = a->sizes;
    for (int i = 0; i < sizes->count; i++) {
        if (sizes->at[i] < 1 || sizes->at[i] > left)
            return hu_fail(HU_ERR_SHAPE,
                           "split: sizes: found %" PRId64 ", and %" PRId64 " of %" PRId64
                           " are left, expected at least 1 and no more",
                           sizes->at[i], left, extent);
        left -= sizes->at[i];
    }
    if (left == 0) return HU_OK;
    return hu_fail(HU_ERR_SHAPE, "split: sizes: found %" PRId64 " together, expected all %" PRId64,
                   extent - left, extent);
}

static hu_status split_sizes(const hu_split_attrs *a, int64_t extent, hu_axes *sizes) {
    int told = (a->first != 0) + (a->parts != 0) + (a->sizes.count != 0);
    if (told != 1)
        return hu_fail(HU_ERR_ARGUMENT,
                       "split: found %d of first, parts and sizes, expected one of them", told);
    if (a->first) return first_size(a, extent, sizes);
    return a->parts ? equal_sizes(a, extent, sizes) : told_sizes(a, extent, sizes);
}

/* in [.., C, ..] -> its parts, of which C is the sum */
static hu_status split_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    hu_status st;
    const hu_split_attrs *a = attrs;
    hu_axes sizes = {0};
    (void)n_in;
    HU_TRY(expect_axis("split", a->rows, &a->axis, in));
    int axis = split_axis(a, in);
    HU_TRY(split_sizes(a, in->extent[axis], &sizes));
    *n_out = sizes.count;
    for (int i = 0; i < sizes.count; i++) {
        out[i] = in[0];
        out[i].extent[axis] = sizes.at[i];
    }
done:
    return st;
}

/* x [rows, whole] -> out[i] [rows, part i] */
static void split_forward(const hu_op_call *call) {
    int axis = split_axis(call->info->attrs, &call->info->in[0]);
    int64_t whole = columns_of(axis, &call->info->in[0]), at = 0;
    int64_t rows = call_elements(call, &call->info->in[0]) / whole;
    for (int i = 0; i < call->info->n_out; i++) {
        int64_t part = columns_of(axis, &call->info->out[i]);
        if (call->out[i]) take_columns(rows, whole, part, call->in[0] + at, call->out[i]);
        at += part;
    }
}

/* An output that nobody reads has no gradient: its part is zero. */
static void split_backward(const hu_op_call *call) {
    int axis = split_axis(call->info->attrs, &call->info->in[0]);
    int64_t whole = columns_of(axis, &call->info->in[0]), at = 0;
    int64_t rows = call_elements(call, &call->info->in[0]) / whole;
    if (!call->din[0]) return;
    for (int i = 0; i < call->info->n_out; i++) {
        int64_t part = columns_of(axis, &call->info->out[i]);
        float *to = call->din[0] + at;
        if (call->dout[i])
            put_columns(rows, whole, part, call->dout[i], to);
        else
            for (int64_t r = 0; r < rows; r++) memset(to + r * whole, 0, (size_t)part * sizeof *to);
        at += part;
    }
}

static const hu_attribute split_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "first", offsetof(hu_split_attrs, first), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "rows", offsetof(hu_split_attrs, rows), 0, 0, 0},
    {HU_ATTRIBUTE_AXES, "axis", offsetof(hu_split_attrs, axis), 0, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "parts", offsetof(hu_split_attrs, parts), 0, 0, 0},
    {HU_ATTRIBUTE_AXES, "sizes", offsetof(hu_split_attrs, sizes), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_split = {.name = "split",
                           .keeps_rows = true,
                           .attrs_bytes = sizeof(hu_split_attrs),
                           .attributes = split_attributes,
                           .min_in = 1,
                           .max_in = 1,
                           .shape = split_shape,
                           .saves = HU_SAVE_NOTHING,
                           .forward = split_forward,
                           .backward = split_backward};

/* ---- bias: y = x + b[channel] ---- */

static hu_status bias_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    (void)attrs, (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_rank_least("bias", in, 1);
}

static hu_status bias_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                             int *count) {
    const hu_bias_attrs *a = attrs;
    list[0] = (hu_param_decl){.suffix = "bias",
                              .shape = {.rank = 1, .extent = {hu_channels(in)}},
                              .init = a->bias_init,
                              .trained = true};
    *count = 1;
    return HU_OK;
}

static size_t bias_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    return pass == HU_FORWARD ? 0 : hu_channel_total_scratch_bytes(hu_channels(&info->in[0]));
}

/* x [rows, C], b [C] -> y [rows, C] */
static void bias_forward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]);
    int64_t rows = call_elements(call, &call->info->in[0]) / channels;
    for (int64_t r = 0; r < rows; r++)
        hu_fused()->add(channels, call->in[0] + r * channels, call->param[0],
                        call->out[0] + r * channels);
}

/* dx = dy; db [C] = sum of the rows of dy, in the order of hu_channel_totals. */
static void bias_backward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]);
    int64_t n = call_elements(call, &call->info->in[0]);
    if (call->din[0] && call->din[0] != call->dout[0]) copy(call->din[0], call->dout[0], n);
    if (!call->dparam || !call->dparam[0]) return;
    hu_channel_totals(n / channels, channels, call->dout[0], call->adds_dparam, call->scratch,
                      call->dparam[0]);
}

static const hu_attribute bias_attributes[] = {
    {HU_ATTRIBUTE_INIT, "init", offsetof(hu_bias_attrs, bias_init), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_bias = {.name = "bias",
                          .keeps_rows = true,
                          .attrs_bytes = sizeof(hu_bias_attrs),
                          .attributes = bias_attributes,
                          .min_in = 1,
                          .max_in = 1,
                          .is_cheap = true,
                          .in_place = true,
                          .copies_gradient = true,
                          .shape = bias_shape,
                          .params = bias_params,
                          .saves = HU_SAVE_NOTHING,
                          .scratch_bytes = bias_scratch_bytes,
                          .forward = bias_forward,
                          .backward = bias_backward,
                          .dparam_per_chunk = true};

/* ---- add row ---- */

/* add_row: one row is added to each of many: what attention compares with every word. */

enum { ROWS, ROW };

/* rows [S, C], row [C] -> [S, C] */
static hu_status shape(const void *attrs, int n_in, const hu_shape *in, int *n_out, hu_shape *out) {
    (void)attrs, (void)n_in;
    hu_status st = hu_expect_rank("add_row", &in[ROWS], 2);
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = in[ROWS];
    return hu_expect_same("add_row", 2, (hu_shape[]){{1, {hu_channels(&in[ROWS])}}, in[ROW]});
}

static void forward(const hu_op_call *call) {
    int64_t rows = call->info->in[ROWS].extent[0], n = call->info->in[ROWS].extent[1];
    for (int64_t r = 0; r < call->count * rows; r++)
        hu_fused()->add(n, call->in[ROWS] + r * n, call->in[ROW] + r / rows * n,
                        call->out[0] + r * n);
}

/* drows = dy; drow = sum of the rows of dy, s ascending, in double */
static void backward(const hu_op_call *call) {
    int64_t rows = call->info->in[ROWS].extent[0], n = call->info->in[ROWS].extent[1];
    const float *dy = call->dout[0];
    for (int64_t k = 0; call->din[ROWS] && k < call->count * rows * n; k++)
        call->din[ROWS][k] = dy[k];
    for (int64_t s = 0; call->din[ROW] && s < call->count; s++, dy += rows * n)
        for (int64_t c = 0; c < n; c++) {
            double sum = 0.0;
            for (int64_t r = 0; r < rows; r++) sum += (double)dy[r * n + c];
            call->din[ROW][s * n + c] = (float)sum;
        }
}

const hu_op hu_op_add_row = {.name = "add_row",
                             .min_in = 2,
                             .max_in = 2,
                             .held = 1u << ROWS,
                             .keeps_rows = true,
                             .shape = shape,
                             .forward = forward,
                             .backward = backward};
