/* Rows of sequences with lengths: reverse and last_row. Lengths are read as loops read them
 * (graph/loop.h); without them all rows count. */
#include <string.h>

#include "base/error.h"
#include "op/expect.h"
#include "op/op.h"
#include "op/row_count.h"

/* Numbers of one row of in[0]. */
static int64_t row_elements(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return hu_shape_elements(in) / in->extent[0];
}

/* ---- reverse: x [rows, ..], lengths -> y_t = x_(length-1-t), +0 behind the length ---- */

static hu_status reverse_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    (void)attrs;
    hu_status st = hu_expect_rank_least("reverse", in, 1);
    *n_out = 1;
    out[0] = in[0];
    return st == HU_OK ? hu_expect_lengths("reverse", 1, n_in, in) : st;
}

static void turn_round(const hu_op_call *call, const float *from, float *to) {
    int64_t rows = call->info->in[0].extent[0], n = row_elements(call);
    for (int64_t s = 0; s < call->count; s++, from += rows * n, to += rows * n) {
        int64_t length = hu_row_count(call, 1, s);
        for (int64_t t = 0; t < length; t++)
            memcpy(to + t * n, from + (length - 1 - t) * n, (size_t)n * sizeof *to);
        memset(to + length * n, 0, (size_t)((rows - length) * n) * sizeof *to);
    }
}

static void reverse_forward(const hu_op_call *call) {
    turn_round(call, call->in[0], call->out[0]);
}

static void reverse_backward(const hu_op_call *call) {
    if (call->din[0]) turn_round(call, call->dout[0], call->din[0]);
}

const hu_op hu_op_reverse = {.name = "reverse",
                             .min_in = 1,
                             .max_in = 2,
                             .ends_by = 1,
                             .selects_input = true,
                             .selects_gradient = true,
                             .shape = reverse_shape,
                             .saves = HU_SAVE_INPUT_1,
                             .forward = reverse_forward,
                             .backward = reverse_backward};

/* ---- last_row: x [rows, ..], start [..], lengths -> the row at the length, start where there is
 * none ---- */

enum { ROWS, START, LENGTHS };

static hu_status last_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    (void)attrs;
    hu_status st;
    hu_shape row = in[ROWS];
    HU_TRY(hu_expect_rank_least("last_row", in, 1));
    row.rank--;
    for (int i = 0; i < row.rank; i++) row.extent[i] = in[ROWS].extent[i + 1];
    *n_out = 1;
    out[0] = row;
    HU_TRY(hu_expect_same("last_row", 2, (hu_shape[]){row, in[START]}));
    st = hu_expect_lengths("last_row", LENGTHS, n_in, in);
done:
    return st;
}

static int64_t last_of(const hu_op_call *call, int64_t sample) {
    return hu_row_count(call, LENGTHS, sample) - 1;
}

static void last_forward(const hu_op_call *call) {
    int64_t rows = call->info->in[ROWS].extent[0], n = row_elements(call);
    for (int64_t s = 0; s < call->count; s++) {
        int64_t last = last_of(call, s);
        const float *from =
            last < 0 ? call->in[START] + s * n : call->in[ROWS] + (s * rows + last) * n;
        memcpy(call->out[0] + s * n, from, (size_t)n * sizeof *from);
    }
}

static void last_backward(const hu_op_call *call) {
    int64_t rows = call->info->in[ROWS].extent[0], n = row_elements(call);
    size_t bytes = (size_t)n * sizeof(float);
    for (int64_t s = 0; s < call->count; s++) {
        int64_t last = last_of(call, s);
        const float *dy = call->dout[0] + s * n;
        float *dx = call->din[ROWS] ? call->din[ROWS] + s * rows * n : NULL;
        float *start = call->din[START] ? call->din[START] + s * n : NULL;
        if (dx) memset(dx, 0, (size_t)rows * bytes);
        if (dx && last >= 0) memcpy(dx + last * n, dy, bytes);
        if (start) memset(start, 0, bytes);
        if (start && last < 0) memcpy(start, dy, bytes);
    }
}

const hu_op hu_op_last_row = {.name = "last_row",
                              .min_in = 2,
                              .max_in = 3,
                              .shape = last_shape,
                              .saves = HU_SAVE_INPUT_1 << 1,
                              .selects_gradient = true,
                              .forward = last_forward,
                              .backward = last_backward};
