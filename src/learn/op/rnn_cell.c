#include "base/error.h"
#include "kernel/elementary/elementary.h"
#include "op/op.h"

/* ---- gates ---- */

/* What the cells of LSTMs and GRUs are made of, after their products: lstm_gates, gru_gates,
 * gru_candidate, sum_of_products and blend. Gates lie after each other in the last extent, in the
 * order of torch. Each is a tensor of its own; the backward passes read them as they were rounded.
 */

static int64_t elements(const hu_shape *shape) {
    return hu_shape_elements(shape);
}

/* Rows of the last extent in a call, where in[0] has so many parts of `units` channels. */
static int64_t rows_of(const hu_op_call *call) {
    return call->count * elements(&call->info->out[0]) / hu_channels(&call->info->out[0]);
}

/* in[0] has `parts` parts of as many channels; outputs have one. */
static hu_status part_shape(const char *op, int parts, const hu_shape *in, int count,
                            hu_shape *out) {
    hu_status st = hu_expect_rank_least(op, in, 1);
    if (st != HU_OK) return st;
    if (hu_channels(in) % parts != 0)
        return hu_fail(HU_ERR_SHAPE, "%s: found %lld channels, expected a multiple of %d", op,
                       (long long)hu_channels(in), parts);
    for (int i = 0; i < count; i++) {
        out[i] = *in;
        out[i].extent[in->rank - 1] /= parts;
    }
    return HU_OK;
}

static void sigmoid_slope(int64_t n, const float *y, const float *dy, float *dx) {
    for (int64_t i = 0; i < n; i++) dx[i] = dy[i] * ((1.0f - y[i]) * y[i]);
}

static void fill_zero(int64_t n, float *x) {
    for (int64_t i = 0; i < n; i++) x[i] = 0.0f;
}

/* ---- lstm_gates: a [4 H] -> i, f = sigmoid, g = tanh, o = sigmoid ---- */

enum { LSTM_I, LSTM_F, LSTM_G, LSTM_O, LSTM_GATES };

static hu_status lstm_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    (void)attrs, (void)n_in;
    *n_out = LSTM_GATES;
    return part_shape("lstm_gates", LSTM_GATES, in, LSTM_GATES, out);
}

static void lstm_forward(const hu_op_call *call) {
    const hu_elementary_kernels *kernels = hu_elementary();
    int64_t units = hu_channels(&call->info->out[0]), rows = rows_of(call);
    for (int64_t r = 0; r < rows; r++)
        for (int k = 0; k < LSTM_GATES; k++) {
            const float *a = call->in[0] + (r * LSTM_GATES + k) * units;
            float *y = call->out[k] + r * units;
            if (k == LSTM_G)
                kernels->tangent(units, a, y);
            else
                kernels->sigmoid(units, a, y);
        }
}

/* da = dy y (1 - y), and dy (1 - y^2) of g. */
static void lstm_backward(const hu_op_call *call) {
    int64_t units = hu_channels(&call->info->out[0]), rows = rows_of(call);
    for (int64_t r = 0; call->din[0] && r < rows; r++)
        for (int k = 0; k < LSTM_GATES; k++) {
            const float *y = call->out[k] + r * units, *dy = call->dout[k] + r * units;
            float *da = call->din[0] + (r * LSTM_GATES + k) * units;
            if (k == LSTM_G)
                hu_elementary()->tangent_backward(units, y, dy, da);
            else
                sigmoid_slope(units, y, dy, da);
        }
}

static const char *const lstm_names[] = {"i", "f", "g", "o"};

const hu_op hu_op_lstm_gates = {.name = "lstm_gates",
                                .min_in = 1,
                                .max_in = 1,
                                .output_names = lstm_names,
                                .shape = lstm_shape,
                                .saves = HU_SAVE_ALL_OUTPUTS,
                                .forward = lstm_forward,
                                .backward = lstm_backward};

/* ---- gru_gates: a [3 H], b [3 H] -> r, z = sigmoid(a + b) of the first two parts ---- */

enum { GRU_R, GRU_Z, GRU_GATES, GRU_N = GRU_GATES, GRU_PARTS };

static hu_status gru_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    (void)attrs;
    *n_out = GRU_GATES;
    hu_status st = hu_expect_same("gru_gates", n_in, in);
    return st == HU_OK ? part_shape("gru_gates", GRU_PARTS, in, GRU_GATES, out) : st;
}

static void gru_forward(const hu_op_call *call) {
    int64_t units = hu_channels(&call->info->out[0]), rows = rows_of(call);
    for (int64_t r = 0; r < rows; r++)
        for (int k = 0; k < GRU_GATES; k++) {
            int64_t at = (r * GRU_PARTS + k) * units;
            float *y = call->out[k] + r * units;
            for (int64_t i = 0; i < units; i++) y[i] = call->in[0][at + i] + call->in[1][at + i];
            hu_elementary()->sigmoid(units, y, y);
        }
}

/* Both inputs get dy y (1 - y), and 0 in their third part. */
static void gru_backward(const hu_op_call *call) {
    int64_t units = hu_channels(&call->info->out[0]), rows = rows_of(call);
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < 2; j++) {
            float *da = call->din[j] ? call->din[j] + r * GRU_PARTS * units : NULL;
            if (!da) continue;
            for (int k = 0; k < GRU_GATES; k++)
                sigmoid_slope(units, call->out[k] + r * units, call->dout[k] + r * units,
                              da + k * units);
            fill_zero(units, da + GRU_N * units);
        }
}

static const char *const gru_names[] = {"r", "z"};

const hu_op hu_op_gru_gates = {.name = "gru_gates",
                               .min_in = 2,
                               .max_in = 2,
                               .output_names = gru_names,
                               .shape = gru_shape,
                               .saves = HU_SAVE_ALL_OUTPUTS,
                               .forward = gru_forward,
                               .backward = gru_backward};

/* ---- gru_candidate: a [3 H], b [3 H], r [H] -> n = tanh(a + r b) of the third parts ---- */

static hu_status candidate_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                 hu_shape *out) {
    (void)attrs, (void)n_in;
    hu_status st;
    hu_shape pair[2];
    *n_out = 1;
    HU_TRY(hu_expect_same("gru_candidate", 2, in));
    HU_TRY(part_shape("gru_candidate", GRU_PARTS, in, 1, out));
    pair[0] = out[0];
    pair[1] = in[2];
    HU_TRY(hu_expect_same("gru_candidate", 2, pair));
done:
    return st;
}

/* r b in double, where it is exact; one rounding of the sum before tanh. */
static void candidate_forward(const hu_op_call *call) {
    int64_t units = hu_channels(&call->info->out[0]), rows = rows_of(call);
    for (int64_t row = 0; row < rows; row++) {
        int64_t at = (row * GRU_PARTS + GRU_N) * units;
        const float *a = call->in[0] + at, *b = call->in[1] + at, *r = call->in[2] + row * units;
        float *n = call->out[0] + row * units;
        for (int64_t i = 0; i < units; i++) n[i] = (float)(a[i] + (double)r[i] * b[i]);
        hu_elementary()->tangent(units, n, n);
    }
}

/* What is not the third part gets 0. */
static void place_third(int64_t units, const float *x, float *to) {
    fill_zero(GRU_N * units, to);
    for (int64_t i = 0; i < units; i++) to[GRU_N * units + i] = x[i];
}

/* da = dn (1 - n^2), db = da r, dr = da b. scratch: da of one row. */
static void candidate_backward(const hu_op_call *call) {
    int64_t units = hu_channels(&call->info->out[0]), rows = rows_of(call);
    float *da = call->scratch, *product = da + units;
    for (int64_t row = 0; row < rows; row++) {
        int64_t at = row * GRU_PARTS * units;
        const float *b = call->in[1] + at + GRU_N * units, *r = call->in[2] + row * units;
        hu_elementary()->tangent_backward(units, call->out[0] + row * units,
                                          call->dout[0] + row * units, da);
        if (call->din[0]) place_third(units, da, call->din[0] + at);
        for (int64_t i = 0; i < units; i++) product[i] = da[i] * r[i];
        if (call->din[1]) place_third(units, product, call->din[1] + at);
        for (int64_t i = 0; call->din[2] && i < units; i++)
            call->din[2][row * units + i] = da[i] * b[i];
    }
}

static size_t candidate_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state, (void)pass;
    return 2 * (size_t)hu_channels(&info->out[0]) * sizeof(float);
}

const hu_op hu_op_gru_candidate = {.name = "gru_candidate",
                                   .min_in = 3,
                                   .max_in = 3,
                                   .shape = candidate_shape,
                                   .saves =
                                       HU_SAVE_INPUT_1 | HU_SAVE_INPUT_1 << 1 | HU_SAVE_OUTPUT_0,
                                   .scratch_bytes = candidate_scratch_bytes,
                                   .forward = candidate_forward,
                                   .backward = candidate_backward};

/* ---- sum_of_products: y = a b + c d + ..., in double, one rounding ---- */

static hu_status products_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    (void)attrs;
    *n_out = 1;
    out[0] = in[0];
    if (n_in % 2 != 0)
        return hu_fail(HU_ERR_SHAPE, "sum_of_products: found %d inputs, expected pairs", n_in);
    return hu_expect_same("sum_of_products", n_in, in);
}

static void products_forward(const hu_op_call *call) {
    int64_t n = call->count * elements(&call->info->out[0]);
    for (int64_t i = 0; i < n; i++) {
        double sum = (double)call->in[0][i] * call->in[1][i];
        for (int k = 2; k < call->info->n_in; k += 2)
            sum += (double)call->in[k][i] * call->in[k + 1][i];
        call->out[0][i] = (float)sum;
    }
}

static void products_backward(const hu_op_call *call) {
    int64_t n = call->count * elements(&call->info->out[0]);
    for (int k = 0; k < call->info->n_in; k++) {
        const float *other = call->in[k ^ 1], *dy = call->dout[0];
        float *dx = call->din[k];
        for (int64_t i = 0; dx && i < n; i++) dx[i] = dy[i] * other[i];
    }
}

const hu_op hu_op_sum_of_products = {.name = "sum_of_products",
                                     .min_in = 2,
                                     .max_in = -1,
                                     .shape = products_shape,
                                     .saves = HU_SAVE_ALL_INPUTS,
                                     .forward = products_forward,
                                     .backward = products_backward};

/* ---- blend: a, b, z -> y = a + z (b - a), in double, one rounding ---- */

static hu_status blend_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    (void)attrs;
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_same("blend", n_in, in);
}

static void blend_forward(const hu_op_call *call) {
    int64_t n = call->count * elements(&call->info->out[0]);
    const float *a = call->in[0], *b = call->in[1], *z = call->in[2];
    for (int64_t i = 0; i < n; i++)
        call->out[0][i] = (float)(a[i] + (double)z[i] * ((double)b[i] - a[i]));
}

/* da = dy (1 - z), db = dy z, dz = dy (b - a). */
static void blend_backward(const hu_op_call *call) {
    int64_t n = call->count * elements(&call->info->out[0]);
    const float *a = call->in[0], *b = call->in[1], *z = call->in[2], *dy = call->dout[0];
    for (int64_t i = 0; call->din[0] && i < n; i++) call->din[0][i] = dy[i] * (1.0f - z[i]);
    for (int64_t i = 0; call->din[1] && i < n; i++) call->din[1][i] = dy[i] * z[i];
    for (int64_t i = 0; call->din[2] && i < n; i++) call->din[2][i] = dy[i] * (b[i] - a[i]);
}

const hu_op hu_op_blend = {.name = "blend",
                           .min_in = 3,
                           .max_in = 3,
                           .shape = blend_shape,
                           .saves = HU_SAVE_ALL_INPUTS,
                           .forward = blend_forward,
                           .backward = blend_backward};
