#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "op/internal.h"

/* reduce_mean, reduce_sum and reduce_max: all numbers of the reduced axes become one. */

static const hu_attribute reduce_attributes[] = {
    {HU_ATTRIBUTE_AXES, "axes", offsetof(hu_reduce_attrs, axes), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "keep", offsetof(hu_reduce_attrs, keeps), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* The reduced axes as bits. */
static unsigned reduced(const hu_reduce_attrs *a, int rank) {
    return a->axes.count ? hu_axes_bits(&a->axes, rank) : (1u << rank) - 1;
}

/* x of any shape -> y, without the reduced axes or with extents of 1 in their place */
static hu_status reduce_shape(const char *op, const hu_reduce_attrs *a, const hu_shape *in,
                              int *n_out, hu_shape *out) {
    hu_status st = hu_expect_axes(op, &a->axes, in->rank);
    if (st != HU_OK) return st;
    unsigned bits = reduced(a, in->rank);
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
    for (int i = 0; i < in->rank; i++)
        if (a->keeps || !(bits >> i & 1u))
            out[0].extent[out[0].rank++] = bits >> i & 1u ? 1 : in->extent[i];
    return HU_OK;
}

/* Row t of the output is made of row t where the first axis stays. */
static bool reduce_keeps_rows(const void *attrs, int rank) {
    return rank > 0 && !(reduced(attrs, rank) & 1u);
}

/* Elements of a sample in their order (0), and what each of them goes to (1). */
static hu_strides strides_of(const hu_node_info *info) {
    const hu_shape *in = &info->in[0];
    unsigned bits = reduced(info->attrs, in->rank);
    hu_strides s = {.rank = in->rank};
    int64_t step = 1;
    hu_steps_of(in, s.step[0]);
    for (int i = in->rank - 1; i >= 0; i--) {
        bool stays = !(bits >> i & 1u);
        s.extent[i] = in->extent[i];
        s.step[1][i] = stays ? step : 0;
        if (stays) step *= in->extent[i];
    }
    hu_strides_join(&s);
    return s;
}

static int64_t in_elements(const hu_node_info *info) {
    return hu_shape_elements(&info->in[0]);
}

static int64_t out_elements(const hu_node_info *info) {
    return hu_shape_elements(&info->out[0]);
}

/* ---- sums ---- */

/* Arrays of one sample. */
typedef struct sums {
    const float *x;
    double *sum;
} sums;

static void add_run(void *context, const hu_stride_run *run) {
    const sums *s = context;
    const float *x = s->x + run->at[0];
    double *sum = s->sum + run->at[1];
    if (run->step[1] == 0) {
        double all = *sum;
        for (int64_t i = 0; i < run->count; i++) all += (double)x[i * run->step[0]];
        *sum = all;
        return;
    }
    for (int64_t i = 0; i < run->count; i++) sum[i * run->step[1]] += (double)x[i * run->step[0]];
}

/* x [count, in] -> y [count, out]: sums in double, each divided, one rounding. */
static void sum_forward(const hu_op_call *call, double divisor) {
    const hu_strides strides = strides_of(call->info);
    int64_t in = in_elements(call->info), out = out_elements(call->info);
    for (int64_t n = 0; n < call->count; n++) {
        sums s = {call->in[0] + n * in, call->scratch};
        memset(s.sum, 0, (size_t)out * sizeof *s.sum);
        hu_strides_each(&strides, add_run, &s);
        for (int64_t i = 0; i < out; i++) call->out[0][n * out + i] = (float)(s.sum[i] / divisor);
    }
}

/* What the elements of a run get. */
typedef struct shares {
    float *dx;
    const float *dy;
    double divisor;
} shares;

static void share_run(void *context, const hu_stride_run *run) {
    const shares *s = context;
    float *dx = s->dx + run->at[0];
    const float *dy = s->dy + run->at[1];
    for (int64_t i = 0; i < run->count; i++)
        dx[i * run->step[0]] = (float)((double)dy[i * run->step[1]] / s->divisor);
}

/* dx = dy / divisor of what an element went to; nothing is rounded where that is 1. */
static void sum_backward(const hu_op_call *call, double divisor) {
    const hu_strides strides = strides_of(call->info);
    int64_t in = in_elements(call->info), out = out_elements(call->info);
    for (int64_t n = 0; call->din[0] && n < call->count; n++) {
        shares s = {call->din[0] + n * in, call->dout[0] + n * out, divisor};
        hu_strides_each(&strides, share_run, &s);
    }
}

static size_t sum_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    return pass == HU_FORWARD ? (size_t)out_elements(info) * sizeof(double) : 0;
}

static hu_status sum_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    (void)n_in;
    return reduce_shape("reduce_sum", attrs, in, n_out, out);
}

static void reduce_sum_forward(const hu_op_call *call) {
    sum_forward(call, 1.0);
}

static void reduce_sum_backward(const hu_op_call *call) {
    sum_backward(call, 1.0);
}

const hu_op hu_op_reduce_sum = {.name = "reduce_sum",
                                .keeps_rows = true,
                                .keeps_rows_of = reduce_keeps_rows,
                                .attrs_bytes = sizeof(hu_reduce_attrs),
                                .attributes = reduce_attributes,
                                .min_in = 1,
                                .max_in = 1,
                                .selects_gradient = true,
                                .shape = sum_shape,
                                .saves = HU_SAVE_NOTHING,
                                .scratch_bytes = sum_scratch_bytes,
                                .forward = reduce_sum_forward,
                                .backward = reduce_sum_backward};

/* ---- means ---- */

static hu_status mean_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    (void)n_in;
    return reduce_shape("reduce_mean", attrs, in, n_out, out);
}

/* Elements that a mean is of. */
static double divisor_of(const hu_node_info *info) {
    return (double)(in_elements(info) / out_elements(info));
}

static void reduce_mean_forward(const hu_op_call *call) {
    sum_forward(call, divisor_of(call->info));
}

static void reduce_mean_backward(const hu_op_call *call) {
    sum_backward(call, divisor_of(call->info));
}

const hu_op hu_op_reduce_mean = {.name = "reduce_mean",
                                 .keeps_rows = true,
                                 .keeps_rows_of = reduce_keeps_rows,
                                 .attrs_bytes = sizeof(hu_reduce_attrs),
                                 .attributes = reduce_attributes,
                                 .min_in = 1,
                                 .max_in = 1,
                                 .shape = mean_shape,
                                 .saves = HU_SAVE_NOTHING,
                                 .scratch_bytes = sum_scratch_bytes,
                                 .forward = reduce_mean_forward,
                                 .backward = reduce_mean_backward};

/* ---- the largest ---- */

/* Which element of the sample was the largest, in bytes of the mask: as many for each output as
 * hold the number of any element. */
static size_t index_bytes(const hu_node_info *info) {
    int64_t elements = in_elements(info);
    return elements <= 1 << 8 ? 1 : elements <= 1 << 16 ? 2 : 4;
}

static hu_status max_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    const int64_t most = INT64_C(1) << 32;
    (void)n_in;
    if (hu_shape_elements(in) > most)
        return hu_fail(HU_ERR_SHAPE,
                       "reduce_max: found %" PRId64 " elements, expected at most %" PRId64,
                       hu_shape_elements(in), most);
    return reduce_shape("reduce_max", attrs, in, n_out, out);
}

static size_t max_mask_bytes(const hu_node_info *info) {
    return (size_t)out_elements(info) * index_bytes(info);
}

static size_t max_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    return pass == HU_FORWARD ? (size_t)out_elements(info) * sizeof(int64_t) : 0;
}

/* Arrays of one sample; first: the number of the largest so far, -1 for none. */
typedef struct maxima {
    const float *x;
    float *y;
    int64_t *first;
} maxima;

static void max_run(void *context, const hu_stride_run *run) {
    const maxima *m = context;
    for (int64_t i = 0; i < run->count; i++) {
        int64_t from = run->at[0] + i * run->step[0], to = run->at[1] + i * run->step[1];
        bool is_new =
            m->first[to] < 0 || m->x[from] > m->y[to] || (isnan(m->x[from]) && !isnan(m->y[to]));
        if (!is_new) continue;
        m->y[to] = m->x[from];
        m->first[to] = from;
    }
}

/* The lowest bytes of an index, the lowest first. */
static void put_index(uint8_t *mask, size_t bytes, int64_t index) {
    for (size_t i = 0; i < bytes; i++) mask[i] = (uint8_t)(index >> 8 * i);
}

static int64_t take_index(const uint8_t *mask, size_t bytes) {
    int64_t index = 0;
    for (size_t i = 0; i < bytes; i++) index |= (int64_t)mask[i] << 8 * i;
    return index;
}

/* x [count, in] -> y [count, out], and where in a sample each comes from */
static void max_forward(const hu_op_call *call) {
    const hu_strides strides = strides_of(call->info);
    int64_t in = in_elements(call->info), out = out_elements(call->info);
    size_t bytes = index_bytes(call->info);
    for (int64_t n = 0; n < call->count; n++) {
        maxima m = {call->in[0] + n * in, call->out[0] + n * out, call->scratch};
        for (int64_t i = 0; i < out; i++) m.first[i] = -1;
        hu_strides_each(&strides, max_run, &m);
        for (int64_t i = 0; i < out; i++)
            put_index(call->mask + (size_t)(n * out + i) * bytes, bytes, m.first[i]);
    }
}

/* dx = dy where the largest was, +0 elsewhere */
static void max_backward(const hu_op_call *call) {
    int64_t in = in_elements(call->info), out = out_elements(call->info);
    size_t bytes = index_bytes(call->info);
    if (!call->din[0]) return;
    memset(call->din[0], 0, (size_t)(call->count * in) * sizeof(float));
    for (int64_t i = 0; i < call->count * out; i++) {
        int64_t from = take_index(call->mask + (size_t)i * bytes, bytes);
        call->din[0][i / out * in + from] = call->dout[0][i];
    }
}

const hu_op hu_op_reduce_max = {.name = "reduce_max",
                                .keeps_rows = true,
                                .keeps_rows_of = reduce_keeps_rows,
                                .attrs_bytes = sizeof(hu_reduce_attrs),
                                .attributes = reduce_attributes,
                                .min_in = 1,
                                .max_in = 1,
                                .selects_input = true,
                                .selects_gradient = true,
                                .shape = max_shape,
                                .saves = HU_SAVE_NOTHING,
                                .mask_bytes = max_mask_bytes,
                                .scratch_bytes = max_scratch_bytes,
                                .forward = max_forward,
                                .backward = max_backward};
