#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "op/internal.h"

/* slice, pad and transpose: numbers that only move, each way, within a sample. */

/* Where the numbers of a sample lie in the input (0) and in the output (1): those that both have.
 */
typedef struct move {
    hu_strides strides;
    int64_t first[2]; /* number of the first in either */
} move;

/* What is read and written of one sample. */
typedef struct copying {
    const float *from;
    float *to;
    int source; /* which of the two arrays `from` is */
} copying;

static void copy_run(void *context, const hu_stride_run *run) {
    const copying *c = context;
    const float *from = c->from + run->at[c->source];
    float *to = c->to + run->at[1 - c->source];
    int64_t from_step = run->step[c->source], to_step = run->step[1 - c->source];
    if (from_step == 1 && to_step == 1)
        memcpy(to, from, (size_t)run->count * sizeof *to);
    else
        for (int64_t i = 0; i < run->count; i++) to[i * to_step] = from[i * from_step];
}

/* source 0: from the input to the output, 1: the way back. */
static void move_all(const hu_op_call *call, const move *m, int source, const float *from,
                     float *to) {
    int64_t elements[2] = {hu_shape_elements(&call->info->in[0]),
                           hu_shape_elements(&call->info->out[0])};
    for (int64_t n = 0; n < call->count; n++) {
        copying c = {from + n * elements[source] + m->first[source],
                     to + n * elements[1 - source] + m->first[1 - source], source};
        hu_strides_each(&m->strides, copy_run, &c);
    }
}

static void move_forward(const hu_op_call *call, const move *m) {
    move_all(call, m, 0, call->in[0], call->out[0]);
}

/* Numbers that the output does not have get +0. */
static void move_backward(const hu_op_call *call, const move *m) {
    size_t bytes = (size_t)(call->count * hu_shape_elements(&call->info->in[0])) * sizeof(float);
    if (!call->din[0]) return;
    memset(call->din[0], 0, bytes);
    move_all(call, m, 1, call->dout[0], call->din[0]);
}

/* ---- slice: every step-th place of one axis, from start to before end ---- */

static const hu_attribute slice_attributes[] = {
    {HU_ATTRIBUTE_AXES, "axis", offsetof(hu_slice_attrs, axis), 0, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "start", offsetof(hu_slice_attrs, start), 0, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "end", offsetof(hu_slice_attrs, end), 0, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "step", offsetof(hu_slice_attrs, step), 1, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

static int slice_axis(const hu_slice_attrs *a, int rank) {
    return hu_one_axis(&a->axis, -1, rank);
}

/* First place, and the one after the last, of an axis of so many. */
static int64_t start_of(const hu_slice_attrs *a, int64_t extent) {
    return a->start < 0 ? a->start + extent : a->start;
}

static int64_t end_of(const hu_slice_attrs *a, int64_t extent) {
    return a->end <= 0 ? a->end + extent : a->end;
}

static hu_status slice_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    const hu_slice_attrs *a = attrs;
    (void)n_in;
    hu_status st = hu_expect_one_axis("slice", &a->axis, -1, in->rank);
    if (st != HU_OK) return st;
    int axis = slice_axis(a, in->rank);
    int64_t extent = in->extent[axis];
    bool fits = a->start >= -extent && a->end >= -extent && end_of(a, extent) <= extent;
    if (!fits || start_of(a, extent) >= end_of(a, extent) || a->step < 1)
        return hu_fail(HU_ERR_SHAPE,
                       "slice: found start %" PRId64 ", end %" PRId64 " and step %" PRId64
                       " of %" PRId64 " places of axis %d, expected at least one place and a step "
                       "of at least 1",
                       a->start, a->end, a->step, extent, axis);
    *n_out = 1;
    out[0] = in[0];
    out[0].extent[axis] = (end_of(a, extent) - start_of(a, extent) - 1) / a->step + 1;
    return HU_OK;
}

static move slice_of(const hu_node_info *info) {
    const hu_slice_attrs *a = info->attrs;
    const hu_shape *in = &info->in[0], *out = &info->out[0];
    int axis = slice_axis(a, in->rank);
    move m = {.strides = {.rank = in->rank}};
    hu_steps_of(in, m.strides.step[0]);
    hu_steps_of(out, m.strides.step[1]);
    memcpy(m.strides.extent, out->extent, sizeof out->extent);
    m.first[0] = start_of(a, in->extent[axis]) * m.strides.step[0][axis];
    m.strides.step[0][axis] *= a->step;
    hu_strides_join(&m.strides);
    return m;
}

static void slice_forward(const hu_op_call *call) {
    const move m = slice_of(call->info);
    move_forward(call, &m);
}

static void slice_backward(const hu_op_call *call) {
    const move m = slice_of(call->info);
    move_backward(call, &m);
}

const hu_op hu_op_slice = {.name = "slice",
                           .keeps_rows = true,
                           .attrs_bytes = sizeof(hu_slice_attrs),
                           .attributes = slice_attributes,
                           .min_in = 1,
                           .max_in = 1,
                           .selects_input = true,
                           .selects_gradient = true,
                           .shape = slice_shape,
                           .saves = HU_SAVE_NOTHING,
                           .forward = slice_forward,
                           .backward = slice_backward};

/* ---- pad: places of one number before and after those of the input ---- */

static const hu_attribute pad_attributes[] = {
    {HU_ATTRIBUTE_AXES, "before", offsetof(hu_pad_attrs, before), 0, 0, 0},
    {HU_ATTRIBUTE_AXES, "after", offsetof(hu_pad_attrs, after), 0, 0, 0},
    {HU_ATTRIBUTE_REAL, "value", offsetof(hu_pad_attrs, value), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

static int64_t places(const hu_axes *list, int axis) {
    return list->count ? list->at[axis] : 0;
}

/* A list has a number for each axis, or none at all. */
static hu_status check_places(const char *name, const hu_axes *list, int rank) {
    if (list->count != 0 && list->count != rank)
        return hu_fail(HU_ERR_SHAPE,
                       "pad: %s: found %d numbers, expected one for each of %d extents", name,
                       (int)list->count, rank);
    for (int i = 0; i < list->count; i++)
        if (list->at[i] < 0)
            return hu_fail(HU_ERR_ARGUMENT, "pad: %s: found %" PRId64 ", expected 0 or more", name,
                           list->at[i]);
    return HU_OK;
}

static hu_status pad_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    const hu_pad_attrs *a = attrs;
    hu_status st;
    (void)n_in;
    HU_TRY(check_places("before", &a->before, in->rank));
    HU_TRY(check_places("after", &a->after, in->rank));
    *n_out = 1;
    out[0] = in[0];
    for (int i = 0; i < in->rank; i++) {
        int64_t *extent = &out[0].extent[i];
        if (!hu_add_i64(*extent, places(&a->before, i), extent) ||
            !hu_add_i64(*extent, places(&a->after, i), extent))
            return hu_fail(HU_ERR_SHAPE, "pad: extent %d does not fit 63 bits", i);
    }
    st = hu_shape_check(out);
done:
    return st;
}

static move pad_of(const hu_node_info *info) {
    const hu_pad_attrs *a = info->attrs;
    const hu_shape *in = &info->in[0];
    move m = {.strides = {.rank = in->rank}};
    hu_steps_of(in, m.strides.step[0]);
    hu_steps_of(&info->out[0], m.strides.step[1]);
    memcpy(m.strides.extent, in->extent, sizeof in->extent);
    for (int i = 0; i < in->rank; i++) m.first[1] += places(&a->before, i) * m.strides.step[1][i];
    hu_strides_join(&m.strides);
    return m;
}

static void pad_forward(const hu_op_call *call) {
    const hu_pad_attrs *a = call->info->attrs;
    const move m = pad_of(call->info);
    int64_t elements = call->count * hu_shape_elements(&call->info->out[0]);
    for (int64_t i = 0; i < elements; i++) call->out[0][i] = a->value;
    move_forward(call, &m);
}

static void pad_backward(const hu_op_call *call) {
    const move m = pad_of(call->info);
    move_backward(call, &m);
}

/* The value need not be one of the input's format: what is moved is rounded, which leaves it. */
const hu_op hu_op_pad = {.name = "pad",
                         .keeps_rows = true,
                         .attrs_bytes = sizeof(hu_pad_attrs),
                         .attributes = pad_attributes,
                         .min_in = 1,
                         .max_in = 1,
                         .selects_gradient = true,
                         .shape = pad_shape,
                         .saves = HU_SAVE_NOTHING,
                         .forward = pad_forward,
                         .backward = pad_backward};

/* ---- transpose: axes in another order ---- */

static const hu_attribute transpose_attributes[] = {
    {HU_ATTRIBUTE_AXES, "axes", offsetof(hu_transpose_attrs, axes), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* Which axis of the input is axis i of the output. */
static int source_of(const hu_transpose_attrs *a, int rank, int i) {
    if (a && a->axes.count) return (int)(a->axes.at[i] < 0 ? a->axes.at[i] + rank : a->axes.at[i]);
    return i < rank - 2 ? i : 2 * rank - 3 - i;
}

static hu_status transpose_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                 hu_shape *out) {
    const hu_transpose_attrs *a = attrs;
    bool is_told = a && a->axes.count;
    (void)n_in;
    hu_status st = is_told ? hu_expect_axes("transpose", &a->axes, in->rank)
                           : hu_expect_rank_least("transpose", in, 2);
    if (st != HU_OK) return st;
    if (is_told && a->axes.count != in->rank)
        return hu_fail(HU_ERR_SHAPE, "transpose: axes: found %d of them, expected all %d",
                       (int)a->axes.count, in->rank);
    *n_out = 1;
    out[0] = (hu_shape){.rank = in->rank};
    for (int i = 0; i < in->rank; i++) out[0].extent[i] = in->extent[source_of(a, in->rank, i)];
    return HU_OK;
}

/* Rows stay rows where the first axis is told to stay. */
static bool transpose_keeps_rows(const void *attrs, int rank) {
    const hu_transpose_attrs *a = attrs;
    return a && a->axes.count && source_of(a, rank, 0) == 0;
}

static move transpose_of(const hu_node_info *info) {
    const hu_shape *out = &info->out[0];
    int64_t step[HU_MAX_RANK];
    move m = {.strides = {.rank = out->rank}};
    hu_steps_of(&info->in[0], step);
    hu_steps_of(out, m.strides.step[1]);
    memcpy(m.strides.extent, out->extent, sizeof out->extent);
    for (int i = 0; i < out->rank; i++)
        m.strides.step[0][i] = step[source_of(info->attrs, out->rank, i)];
    hu_strides_join(&m.strides);
    return m;
}

static void transpose_forward(const hu_op_call *call) {
    const move m = transpose_of(call->info);
    move_forward(call, &m);
}

static void transpose_backward(const hu_op_call *call) {
    const move m = transpose_of(call->info);
    if (call->din[0]) move_all(call, &m, 1, call->dout[0], call->din[0]);
}

const hu_op hu_op_transpose = {.name = "transpose",
                               .keeps_rows = true,
                               .keeps_rows_of = transpose_keeps_rows,
                               .attrs_bytes = sizeof(hu_transpose_attrs),
                               .attributes = transpose_attributes,
                               .min_in = 1,
                               .max_in = 1,
                               .selects_input = true,
                               .selects_gradient = true,
                               .shape = transpose_shape,
                               .saves = HU_SAVE_NOTHING,
                               .forward = transpose_forward,
                               .backward = transpose_backward};
