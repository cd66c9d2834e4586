#include <string.h>

#include "base/checked.h"
#include "kernel/elementary/elementary.h"
#include "op/internal.h"

/* softmax along one axis: the numbers of each row in double, in their order, one rounding. The rows
 * of another axis than the last are copied side by side first, some of them at once. */

enum { TOGETHER = 64, ALIGNMENT = 64 };

static const hu_attribute softmax_attributes[] = {
    {HU_ATTRIBUTE_AXES, "axis", offsetof(hu_softmax_attrs, axis), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

static int axis_of(const void *attrs, int rank) {
    const hu_softmax_attrs *a = attrs;
    return hu_one_axis(&a->axis, -1, rank);
}

/* x of any shape -> y, the same */
static hu_status softmax_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    const hu_softmax_attrs *a = attrs;
    (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_one_axis("softmax", &a->axis, -1, in->rank);
}

/* Along the first axis all rows of a sequence are one. */
static bool softmax_keeps_rows(const void *attrs, int rank) {
    return axis_of(attrs, rank) > 0;
}

/* A sample as [blocks, width, step]: rows of `width` numbers, `step` apart. */
typedef struct layout {
    int64_t blocks, width, step;
} layout;

static layout layout_of(const hu_node_info *info) {
    const hu_shape *in = &info->in[0];
    int axis = axis_of(info->attrs, in->rank);
    layout l = {1, in->extent[axis], 1};
    for (int i = 0; i < axis; i++) l.blocks *= in->extent[i];
    for (int i = axis + 1; i < in->rank; i++) l.step *= in->extent[i];
    return l;
}

/* Rows that are copied at once; of the last axis none are. */
static size_t rows_bytes(const layout *l) {
    int64_t rows = l->step == 1 ? 0 : TOGETHER;
    return hu_round_up((size_t)(rows * l->width) * sizeof(float), ALIGNMENT);
}

/* Forward: the rows, and what their powers need; backward: rows of y and of dy. */
static size_t softmax_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    const layout l = layout_of(info);
    if (pass == HU_BACKWARD) return 2 * rows_bytes(&l);
    return rows_bytes(&l) + (size_t)hu_softmax_numbers(l.width) * sizeof(double);
}

/* Row r of so many begins at all + r, its numbers are `step` apart; in rows they lie side by side.
 */
static void take(const layout *l, int64_t rows, const float *all, float *row) {
    for (int64_t i = 0; i < l->width; i++)
        for (int64_t r = 0; r < rows; r++) row[r * l->width + i] = all[i * l->step + r];
}

static void put(const layout *l, int64_t rows, const float *row, float *all) {
    for (int64_t i = 0; i < l->width; i++)
        for (int64_t r = 0; r < rows; r++) all[i * l->step + r] = row[r * l->width + i];
}

/* Every row sees all of its numbers. */
static void see_all(const layout *l, int64_t seen[TOGETHER]) {
    for (int r = 0; r < TOGETHER; r++) seen[r] = l->width;
}

/* Rows at x [.., width, step] from row `first` of a block on; y may be x. */
static void forward_rows(const hu_op_call *call, const layout *l, const int64_t *seen, int64_t rows,
                         const float *x, float *y) {
    double *powers = (double *)((char *)call->scratch + rows_bytes(l));
    float *row = call->scratch;
    if (l->step == 1) {
        hu_elementary()->softmax(rows, l->width, seen, x, powers, y);
        return;
    }
    take(l, rows, x, row);
    hu_elementary()->softmax(rows, l->width, seen, row, powers, row);
    put(l, rows, row, y);
}

/* dx = y (dy - sum over the row of y dy), y the rounded shares; dx may be dy. */
static void backward_rows(const hu_op_call *call, const layout *l, const int64_t *seen,
                          int64_t rows, const float *y, const float *dy, float *dx) {
    float *row = call->scratch, *slope = (float *)((char *)call->scratch + rows_bytes(l));
    if (l->step == 1) {
        hu_elementary()->softmax_backward(rows, l->width, seen, y, dy, dx);
        return;
    }
    take(l, rows, y, row);
    take(l, rows, dy, slope);
    hu_elementary()->softmax_backward(rows, l->width, seen, row, slope, slope);
    put(l, rows, slope, dx);
}

/* All rows of the call, up to TOGETHER at once: of the last axis those that follow each other, of
 * others those of one block. */
static void each_rows(const hu_op_call *call, hu_pass pass) {
    const layout l = layout_of(call->info);
    int64_t seen[TOGETHER], blocks = call->count * l.blocks, per_block = l.step;
    see_all(&l, seen);
    if (l.step == 1) per_block = blocks, blocks = 1;
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t r = 0; r < per_block; r += TOGETHER) {
            int64_t rows = per_block - r < TOGETHER ? per_block - r : TOGETHER;
            int64_t at = l.step == 1 ? r * l.width : b * l.width * l.step + r;
            if (pass == HU_FORWARD)
                forward_rows(call, &l, seen, rows, call->in[0] + at, call->out[0] + at);
            else
                backward_rows(call, &l, seen, rows, call->out[0] + at, call->dout[0] + at,
                              call->din[0] + at);
        }
}

static void softmax_forward(const hu_op_call *call) {
    each_rows(call, HU_FORWARD);
}

static void softmax_backward(const hu_op_call *call) {
    if (call->din[0]) each_rows(call, HU_BACKWARD);
}

const hu_op hu_op_softmax = {.name = "softmax",
                             .keeps_rows = true,
                             .keeps_rows_of = softmax_keeps_rows,
                             .attrs_bytes = sizeof(hu_softmax_attrs),
                             .attributes = softmax_attributes,
                             .min_in = 1,
                             .max_in = 1,
                             .in_place = true,
                             .shape = softmax_shape,
                             .saves = HU_SAVE_OUTPUT_0,
                             .scratch_bytes = softmax_scratch_bytes,
                             .forward = softmax_forward,
                             .backward = softmax_backward};
