#include <inttypes.h>
#include <math.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "op/internal.h"

/* rotary: rows that tell their place by turning pairs of numbers (Su et al. 2021, "RoFormer",
 * 3.2.2). In row t pair i of each head of d numbers turns by t base^(-2 i / d); cosines and sines
 * are made once, in double. The gradient turns back. */

static const hu_attribute rotary_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "heads", offsetof(hu_rotary_attrs, heads), 1, 1, INFINITY},
    {HU_ATTRIBUTE_REAL, "base", offsetof(hu_rotary_attrs, base), 10000, 0, 0},
    {HU_ATTRIBUTE_FLAG, "pairs", offsetof(hu_rotary_attrs, pairs), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* x [T, heads d] -> y, the same shape */
static hu_status rotary_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    const hu_rotary_attrs *a = attrs;
    hu_status st;
    (void)n_in;
    HU_TRY(hu_expect_rank("rotary", in, 2));
    if (!(a->base >= 1.0f) || !isfinite(a->base))
        return hu_fail(HU_ERR_ARGUMENT, "rotary: base %g, expected a finite number from 1 on",
                       (double)a->base);
    if (a->heads < 1 || in->extent[1] % a->heads != 0 || in->extent[1] / a->heads % 2 != 0)
        return hu_fail(HU_ERR_SHAPE,
                       "rotary: %" PRId64 " heads for rows of %" PRId64
                       " numbers, expected a divisor that leaves each head an even number",
                       a->heads, in->extent[1]);
    if (in->extent[0] > (int64_t)HU_ANGLE_MOST)
        return hu_fail(HU_ERR_SHAPE, "rotary: found %" PRId64 " rows, expected at most %.0f",
                       in->extent[0], HU_ANGLE_MOST);
    *n_out = 1;
    out[0] = in[0];
done:
    return st;
}

static int64_t pairs_of(const hu_node_info *info) {
    const hu_rotary_attrs *a = info->attrs;
    return info->in[0].extent[1] / a->heads / 2;
}

/* State: cosine and sine of each turn, [T, pairs, 2]. */
static hu_status rotary_create(const hu_node_info *info, void **state) {
    const hu_rotary_attrs *a = info->attrs;
    int64_t rows = info->in[0].extent[0], pairs = pairs_of(info);
    double *turn, log_base = hu_log((double)a->base);
    hu_status st = HU_NEW_ARRAY(&turn, (size_t)(rows * pairs * 2));
    for (int64_t t = 0; st == HU_OK && t < rows; t++)
        for (int64_t i = 0; i < pairs; i++) {
            double angle = (double)t * hu_exp(-((double)i / (double)pairs) * log_base);
            turn[(t * pairs + i) * 2] = hu_cos(angle);
            turn[(t * pairs + i) * 2 + 1] = hu_sin(angle);
        }
    *state = st == HU_OK ? turn : NULL;
    return st;
}

/* One head of a row: (a, b) -> (a cos - b sin, b cos + a sin), one rounding each; back with the
 * other sign of sin. y may be x. */
static void turn_head(const hu_node_info *info, const double *turn, double sign, const float *x,
                      float *y) {
    const hu_rotary_attrs *a = info->attrs;
    int64_t pairs = pairs_of(info), apart = a->pairs ? 1 : pairs, step = a->pairs ? 2 : 1;
    for (int64_t i = 0; i < pairs; i++) {
        double cosine = turn[2 * i], sine = sign * turn[2 * i + 1];
        double first = (double)x[i * step], second = (double)x[i * step + apart];
        y[i * step] = (float)(first * cosine - second * sine);
        y[i * step + apart] = (float)(second * cosine + first * sine);
    }
}

static void turn_all(const hu_op_call *call, double sign, const float *x, float *y) {
    const hu_rotary_attrs *a = call->info->attrs;
    int64_t rows = call->info->in[0].extent[0], depth = 2 * pairs_of(call->info);
    const double *turn = call->state;
    for (int64_t r = 0; r < call->count * rows; r++)
        for (int64_t h = 0; h < a->heads; h++, x += depth, y += depth)
            turn_head(call->info, turn + r % rows * depth, sign, x, y);
}

static void rotary_forward(const hu_op_call *call) {
    turn_all(call, 1.0, call->in[0], call->out[0]);
}

static void rotary_backward(const hu_op_call *call) {
    if (call->din[0]) turn_all(call, -1.0, call->dout[0], call->din[0]);
}

const hu_op hu_op_rotary = {.name = "rotary",
                            .keeps_rows = true,
                            .attrs_bytes = sizeof(hu_rotary_attrs),
                            .attributes = rotary_attributes,
                            .min_in = 1,
                            .max_in = 1,
                            .in_place = true,
                            .shape = rotary_shape,
                            .saves = HU_SAVE_NOTHING,
                            .create = rotary_create,
                            .release = hu_free,
                            .forward = rotary_forward,
                            .backward = rotary_backward};
