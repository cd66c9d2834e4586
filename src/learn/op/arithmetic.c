#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/broadcast/broadcast.h"
#include "kernel/fused/fused.h"
#include "op/internal.h"

/* Arithmetic of two values, of a value and a constant, or of a value and a parameter of its own,
 * whose shapes are stretched to each other as in NumPy: from the right, extents are equal or 1, and
 * what is missing on the left is 1. The gradient of what was stretched is a sum: of an input over
 * its sample, of a parameter over the samples of a chunk (kernel/broadcast/broadcast.h has the
 * order), in double, rounded once. */

/* ---- shapes ---- */

enum { SHAPE_TEXT = 176 };

/* out <- the shape that both are stretched to. */
static hu_status stretch(const char *op, const hu_shape *to, hu_shape *out) {
    char one[SHAPE_TEXT], other[SHAPE_TEXT];
    hu_shape whole = {.rank = out->rank > to->rank ? out->rank : to->rank};
    for (int d = 1; d <= whole.rank; d++) {
        int64_t a = d <= out->rank ? out->extent[out->rank - d] : 1;
        int64_t b = d <= to->rank ? to->extent[to->rank - d] : 1;
        whole.extent[whole.rank - d] = a == 1 ? b : a;
        if (a == b || a == 1 || b == 1) continue;
        hu_shape_print(out, one, sizeof one);
        hu_shape_print(to, other, sizeof other);
        return hu_fail(HU_ERR_SHAPE,
                       "%s: found %s and %s, expected extents that from the right are equal or 1",
                       op, one, other);
    }
    *out = whole;
    return hu_shape_check(out);
}

/* n shapes -> the one that all are stretched to. */
static hu_status stretch_all(const char *op, int n, const hu_shape *in, int *n_out, hu_shape *out) {
    hu_status st = HU_OK;
    *n_out = 1;
    out[0] = in[0];
    for (int i = 1; i < n; i++) HU_TRY(stretch(op, &in[i], out));
done:
    return st;
}

/* True where a parameter, or a constant, takes the place of the second value. */
static bool has_weight(const void *attrs) {
    const hu_arithmetic_attrs *a = attrs;
    return a && a->shape.rank > 0;
}

static bool has_constant(const void *attrs) {
    const hu_arithmetic_attrs *a = attrs;
    return a && (a->value < 0 || a->value > 0);
}

static hu_status arithmetic_shape(const char *op, const void *attrs, int n_in, const hu_shape *in,
                                  int *n_out, hu_shape *out) {
    const hu_arithmetic_attrs *a = attrs;
    hu_status st = HU_OK;
    int operands = n_in + has_weight(attrs) + has_constant(attrs);
    if (operands != 2)
        return hu_fail(
            HU_ERR_ARGUMENT,
            "%s: found %d value%s%s%s, expected two values, or one and value= (not 0) or "
            "shape=",
            op, n_in, n_in == 1 ? "" : "s", has_constant(attrs) ? ", value=" : "",
            has_weight(attrs) ? ", shape=" : "");
    if (a && !isfinite(a->value))
        return hu_fail(HU_ERR_ARGUMENT, "%s: value %g, expected a finite number", op,
                       (double)a->value);
    HU_TRY(stretch_all(op, n_in, in, n_out, out));
    if (has_weight(attrs)) HU_TRY(hu_shape_check(&a->shape));
    if (has_weight(attrs)) HU_TRY(stretch(op, &a->shape, out));
done:
    return st;
}

static hu_status arithmetic_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                                   int *count) {
    const hu_arithmetic_attrs *a = attrs;
    (void)in;
    *count = has_weight(attrs);
    if (has_weight(attrs))
        list[0] = (hu_param_decl){
            .suffix = "weight", .shape = a->shape, .init = a->weight_init, .trained = true};
    return HU_OK;
}

/* The weight begins as what changes nothing. */
static void factor_usual(void *attrs, const hu_shape *in) {
    hu_arithmetic_attrs *a = attrs;
    (void)in;
    if (has_weight(attrs)) a->weight_init = (hu_init){HU_INIT_CONSTANT, 1.0f};
}

static void term_usual(void *attrs, const hu_shape *in) {
    hu_arithmetic_attrs *a = attrs;
    (void)in;
    a->weight_init = (hu_init){HU_INIT_CONSTANT, 0.0f};
}

static const hu_attribute arithmetic_attributes[] = {
    {HU_ATTRIBUTE_REAL, "value", offsetof(hu_arithmetic_attrs, value), 0, 0, 0},
    {HU_ATTRIBUTE_SHAPE, "shape", offsetof(hu_arithmetic_attrs, shape), 0, 0, 0},
    {HU_ATTRIBUTE_INIT, "init", offsetof(hu_arithmetic_attrs, weight_init), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* ---- arrays that are walked through side by side ---- */

/* Of a call: an input, the parameter, the constant, or the gradient of the output. */
typedef struct array {
    hu_shape shape;
    const float *x;
    bool is_shared; /* by all samples */
} array;

/* The numbers of `count` outputs in order, and the steps of every array from one to the next along
 * each axis: 0 where it is stretched. Axes that all arrays walk through alike are one. */
enum { ARRAYS = HU_JOIN_OPERANDS + 1, AXES = HU_MAX_RANK + 1 };
typedef struct walk {
    int rank;
    int64_t extent[AXES], step[ARRAYS][AXES];
} walk;

/* The step of an array along axis d of the output; axis 0: from one sample to the next. */
static int64_t step_of(const array *of, const hu_shape *out, int d) {
    int at = of->shape.rank - out->rank + d - 1;
    int64_t step = 1;
    if (d == 0) return of->is_shared ? 0 : hu_shape_elements(&of->shape);
    if (at < 0 || of->shape.extent[at] == 1) return 0;
    while (++at < of->shape.rank) step *= of->shape.extent[at];
    return step;
}

/* True if an axis goes on where the last one of the walk ends, in all arrays. */
static bool goes_on(const walk *w, int n, const int64_t *step, int64_t extent) {
    bool same = w->rank > 0;
    for (int k = 0; k < n && same; k++) same = w->step[k][w->rank - 1] == step[k] * extent;
    return same;
}

static walk walk_of(const hu_shape *out, int64_t count, int n, const array *arrays) {
    walk w = {.rank = 0};
    for (int d = 0; d <= out->rank; d++) {
        int64_t extent = d == 0 ? count : out->extent[d - 1], step[ARRAYS] = {0};
        if (extent == 1) continue;
        for (int k = 0; k < n; k++) step[k] = step_of(&arrays[k], out, d);
        bool joins = goes_on(&w, n, step, extent);
        if (!joins) w.extent[w.rank++] = 1;
        w.extent[w.rank - 1] *= extent;
        for (int k = 0; k < n; k++) w.step[k][w.rank - 1] = step[k];
    }
    if (w.rank == 0) w.extent[w.rank++] = 1;
    return w;
}

/* Planes of the two last axes. */
static int64_t plane_count(const walk *w) {
    int64_t planes = 1;
    for (int d = 0; d + 2 < w->rank; d++) planes *= w->extent[d];
    return planes;
}

static int64_t row_step(const walk *w, int k) {
    return w->rank > 1 ? w->step[k][w->rank - 2] : 0;
}

/* Where plane p of array k begins. */
static int64_t plane_at(const walk *w, int64_t p, int k) {
    int64_t at = 0;
    for (int d = w->rank - 3; d >= 0; d--) {
        at += p % w->extent[d] * w->step[k][d];
        p /= w->extent[d];
    }
    return at;
}

/* Plane p of the arrays, the first n of which are operands. */
static hu_plane plane_of(const walk *w, int64_t p, int n, const array *arrays) {
    hu_plane plane = {.rows = w->rank > 1 ? w->extent[w->rank - 2] : 1,
                      .width = w->extent[w->rank - 1]};
    for (int k = 0; k < n; k++) {
        plane.x[k] = arrays[k].x + plane_at(w, p, k);
        plane.row[k] = row_step(w, k);
        plane.step[k] = (int)w->step[k][w->rank - 1];
    }
    return plane;
}

/* What an op makes of arrays of the call: DY, or one of its operands. */
enum { DY, FIRST, SECOND, THIRD };
typedef struct rule {
    hu_join join;
    int from[HU_JOIN_OPERANDS];
} rule;

/* The rule of an output and those of the gradients of its operands. */
typedef struct rules {
    rule forward, slope[HU_JOIN_OPERANDS];
} rules;

static array array_of(const hu_op_call *call, int which) {
    static const hu_shape scalar = {.rank = 0};
    const hu_arithmetic_attrs *a = call->info->attrs;
    int i = which - FIRST;
    if (which == DY) return (array){call->info->out[0], call->dout[0], false};
    if (i < call->info->n_in) return (array){call->info->in[i], call->in[i], false};
    if (call->info->n_params) return (array){call->info->param[0], call->param[0], true};
    return (array){scalar, &a->value, true};
}

/* The operands of a rule, from sample `first` of the call on. */
static int arrays_of(const hu_op_call *call, const rule *r, int64_t first, array *arrays) {
    int n = hu_join_operands(r->join);
    for (int k = 0; k < n; k++) {
        arrays[k] = array_of(call, r->from[k]);
        if (!arrays[k].is_shared) arrays[k].x += first * hu_shape_elements(&arrays[k].shape);
    }
    return n;
}

/* y [count, out] */
static void join_all(const hu_op_call *call, const rule *r, float *y) {
    array arrays[ARRAYS];
    int n = arrays_of(call, r, 0, arrays);
    const walk w = walk_of(&call->info->out[0], call->count, n, arrays);
    for (int64_t p = 0; p < plane_count(&w); p++) {
        hu_plane plane = plane_of(&w, p, n, arrays);
        hu_broadcast()->join(r->join, &plane, y);
        y += plane.rows * plane.width;
    }
}

/* to [target] = the sums over what the target is stretched to, in `count` samples. */
static void sum_all(const hu_op_call *call, const rule *r, int64_t first, int64_t count,
                    const array *target, double *to) {
    array arrays[ARRAYS];
    int n = arrays_of(call, r, first, arrays);
    arrays[n] = *target;
    const walk w = walk_of(&call->info->out[0], count, n + 1, arrays);
    memset(to, 0, (size_t)hu_shape_elements(&target->shape) * sizeof *to);
    for (int64_t p = 0; p < plane_count(&w); p++) {
        hu_plane plane = plane_of(&w, p, n, arrays);
        hu_broadcast()->sum(r->join, &plane, to + plane_at(&w, p, n), row_step(&w, n),
                            (int)w.step[n][w.rank - 1]);
    }
}

/* ---- passes ---- */

/* din[i] [count, in[i]] */
static void input_slope(const hu_op_call *call, const rule *r, int i) {
    array target = array_of(call, FIRST + i);
    float *dx = call->din[i];
    int64_t n = hu_shape_elements(&target.shape);
    bool is_same = r->join == HU_JOIN_SAME && dx == call->dout[0];
    if (!dx || is_same) return;
    if (n == hu_shape_elements(&call->info->out[0])) {
        join_all(call, r, dx);
        return;
    }
    double *sum = call->scratch;
    for (int64_t s = 0; s < call->count; s++, dx += n) {
        sum_all(call, r, s, 1, &target, sum);
        for (int64_t k = 0; k < n; k++) dx[k] = (float)sum[k];
    }
}

/* dparam[0], or what is added to it */
static void weight_slope(const hu_op_call *call, const rule *r) {
    array target = array_of(call, SECOND);
    double *sum = call->scratch;
    if (!call->dparam || !call->dparam[0]) return;
    sum_all(call, r, 0, call->count, &target, sum);
    for (int64_t k = 0, n = hu_shape_elements(&target.shape); k < n; k++)
        call->dparam[0][k] = (call->adds_dparam ? call->dparam[0][k] : 0.0f) + (float)sum[k];
}

/* The first input is the last one: its gradient may take the place of that of the output. */
static void backward_of(const hu_op_call *call, const rules *of) {
    if (call->info->n_params) weight_slope(call, &of->slope[1]);
    for (int i = call->info->n_in - 1; i >= 0; i--) input_slope(call, &of->slope[i], i);
}

/* Sums of what is stretched, one at a time. */
static size_t arithmetic_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    int64_t most = 0, out = hu_shape_elements(&info->out[0]);
    (void)state;
    for (int i = 0; i < info->n_in; i++) {
        int64_t n = hu_shape_elements(&info->in[i]);
        if (n < out && n > most) most = n;
    }
    if (info->n_params > 0 && hu_shape_elements(&info->param[0]) > most)
        most = hu_shape_elements(&info->param[0]);
    return pass == HU_FORWARD ? 0 : (size_t)most * sizeof(double);
}

/* The fields that the records of two operands share. */
#define ARITHMETIC                                                                                 \
    .keeps_rows = true, .broadcasts = true, .attrs_bytes = sizeof(hu_arithmetic_attrs),            \
    .attributes = arithmetic_attributes, .min_in = 1, .is_cheap = true, .in_place = true,          \
    .params = arithmetic_params, .scratch_bytes = arithmetic_scratch_bytes,                        \
    .dparam_per_chunk = true

/* ---- add: y = a + b, or of more inputs of one shape ((in0 + in1) + in2) + ... ---- */

static const rules of_add = {{HU_JOIN_ADD, {FIRST, SECOND}},
                             {{HU_JOIN_SAME, {DY}}, {HU_JOIN_SAME, {DY}}}};

static hu_status add_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    if (n_in < 3) return arithmetic_shape("add", attrs, n_in, in, n_out, out);
    *n_out = 1;
    out[0] = in[0];
    if (has_weight(attrs) || has_constant(attrs))
        return hu_fail(HU_ERR_ARGUMENT, "add: found %d values, expected one beside %s", n_in,
                       has_weight(attrs) ? "shape=" : "value=");
    return hu_expect_same("add", n_in, in);
}

/* True if two or more inputs have the shape of the output. */
static bool is_even(const hu_node_info *info) {
    return info->n_in > 1 && hu_shape_equal(&info->in[0], &info->in[1]);
}

/* The sum of all inputs but the last one; from left to right, each sum rounded to float32. */
static const float *add_first(const hu_op_call *call, int64_t n) {
    const float *left = call->in[0];
    for (int i = 1; i < call->info->n_in - 1; i++, left = call->out[0])
        hu_fused()->add(n, left, call->in[i], call->out[0]);
    return left;
}

static int64_t out_elements(const hu_op_call *call) {
    return call->count * hu_shape_elements(&call->info->out[0]);
}

static void add_forward(const hu_op_call *call) {
    int64_t n = out_elements(call);
    if (is_even(call->info))
        hu_fused()->add(n, add_first(call, n), call->in[call->info->n_in - 1], call->out[0]);
    else
        join_all(call, &of_add.forward, call->out[0]);
}

/* The last addition and the relu are one pass: bits [count, shape]. */
static void add_forward_relu(const hu_op_call *call, uint8_t *bits) {
    int64_t n = out_elements(call);
    if (is_even(call->info)) {
        hu_fused()->add_relu(n, add_first(call, n), call->in[call->info->n_in - 1], call->out[0],
                             bits);
        return;
    }
    join_all(call, &of_add.forward, call->out[0]);
    hu_fused()->relu(n, call->out[0], call->out[0], bits);
}

/* dout[0] -> every din, unchanged; where they share memory, nothing is moved. */
static void add_backward(const hu_op_call *call) {
    size_t bytes = (size_t)out_elements(call) * sizeof(float);
    if (!is_even(call->info)) {
        backward_of(call, &of_add);
        return;
    }
    for (int i = 0; i < call->info->n_in; i++)
        if (call->din[i] && call->din[i] != call->dout[0])
            memcpy(call->din[i], call->dout[0], bytes);
}

const hu_op hu_op_add = {.name = "add",
                         ARITHMETIC,
                         .max_in = -1,
                         .usual = term_usual,
                         .selects_gradient = true,
                         .copies_gradient = true,
                         .shape = add_shape,
                         .saves = HU_SAVE_NOTHING,
                         .forward = add_forward,
                         .forward_relu = add_forward_relu,
                         .backward = add_backward};

/* ---- sub, mul, div ---- */

static const rules of_sub = {{HU_JOIN_SUB, {FIRST, SECOND}},
                             {{HU_JOIN_SAME, {DY}}, {HU_JOIN_OPPOSITE, {DY}}}};

static hu_status sub_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    return arithmetic_shape("sub", attrs, n_in, in, n_out, out);
}

static void sub_forward(const hu_op_call *call) {
    join_all(call, &of_sub.forward, call->out[0]);
}

static void sub_backward(const hu_op_call *call) {
    backward_of(call, &of_sub);
}

const hu_op hu_op_sub = {.name = "sub",
                         ARITHMETIC,
                         .max_in = 2,
                         .usual = term_usual,
                         .shape = sub_shape,
                         .saves = HU_SAVE_NOTHING,
                         .forward = sub_forward,
                         .backward = sub_backward};

static const rules of_mul = {{HU_JOIN_MUL, {FIRST, SECOND}},
                             {{HU_JOIN_MUL, {DY, SECOND}}, {HU_JOIN_MUL, {DY, FIRST}}}};

static hu_status mul_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    return arithmetic_shape("mul", attrs, n_in, in, n_out, out);
}

static void mul_forward(const hu_op_call *call) {
    join_all(call, &of_mul.forward, call->out[0]);
}

static void mul_backward(const hu_op_call *call) {
    backward_of(call, &of_mul);
}

const hu_op hu_op_mul = {.name = "mul",
                         ARITHMETIC,
                         .max_in = 2,
                         .usual = factor_usual,
                         .shape = mul_shape,
                         .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                         .forward = mul_forward,
                         .backward = mul_backward};

static const rules of_div = {
    {HU_JOIN_DIV, {FIRST, SECOND}},
    {{HU_JOIN_DIV, {DY, SECOND}}, {HU_JOIN_DIVISOR_SLOPE, {DY, FIRST, SECOND}}}};

static hu_status div_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    return arithmetic_shape("div", attrs, n_in, in, n_out, out);
}

static void div_forward(const hu_op_call *call) {
    join_all(call, &of_div.forward, call->out[0]);
}

static void div_backward(const hu_op_call *call) {
    backward_of(call, &of_div);
}

const hu_op hu_op_div = {.name = "div",
                         ARITHMETIC,
                         .max_in = 2,
                         .usual = factor_usual,
                         .shape = div_shape,
                         .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                         .forward = div_forward,
                         .backward = div_backward};

/* ---- minimum, maximum: the gradient goes where the number came from, of equal ones to the first
 */

static const rules of_minimum = {
    {HU_JOIN_MINIMUM, {FIRST, SECOND}},
    {{HU_JOIN_WHERE_MINIMUM, {DY, FIRST, SECOND}}, {HU_JOIN_WHERE_GREATER, {DY, FIRST, SECOND}}}};

static hu_status minimum_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    return arithmetic_shape("minimum", attrs, n_in, in, n_out, out);
}

static void minimum_forward(const hu_op_call *call) {
    join_all(call, &of_minimum.forward, call->out[0]);
}

static void minimum_backward(const hu_op_call *call) {
    backward_of(call, &of_minimum);
}

const hu_op hu_op_minimum = {.name = "minimum",
                             ARITHMETIC,
                             .max_in = 2,
                             .usual = term_usual,
                             .shape = minimum_shape,
                             .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                             .saves_alone = HU_SAVE_INPUT_0,
                             .forward = minimum_forward,
                             .backward = minimum_backward};

static const rules of_maximum = {
    {HU_JOIN_MAXIMUM, {FIRST, SECOND}},
    {{HU_JOIN_WHERE_MAXIMUM, {DY, FIRST, SECOND}}, {HU_JOIN_WHERE_LESS, {DY, FIRST, SECOND}}}};

static hu_status maximum_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    return arithmetic_shape("maximum", attrs, n_in, in, n_out, out);
}

static void maximum_forward(const hu_op_call *call) {
    join_all(call, &of_maximum.forward, call->out[0]);
}

static void maximum_backward(const hu_op_call *call) {
    backward_of(call, &of_maximum);
}

const hu_op hu_op_maximum = {.name = "maximum",
                             ARITHMETIC,
                             .max_in = 2,
                             .usual = term_usual,
                             .shape = maximum_shape,
                             .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                             .saves_alone = HU_SAVE_INPUT_0,
                             .forward = maximum_forward,
                             .backward = maximum_backward};

/* ---- where: y = in1 where in0 is not 0, else in2; no gradient goes to in0 ---- */

static const rules of_where = {
    {HU_JOIN_SELECT, {SECOND, THIRD, FIRST}},
    {{HU_JOIN_SAME, {DY}}, {HU_JOIN_WHERE, {DY, FIRST}}, {HU_JOIN_WHERE_NOT, {DY, FIRST}}}};

static hu_status where_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    (void)attrs;
    return stretch_all("where", n_in, in, n_out, out);
}

static void where_forward(const hu_op_call *call) {
    join_all(call, &of_where.forward, call->out[0]);
}

static void where_backward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    for (int i = 1; i < call->info->n_in; i++) input_slope(call, &of_where.slope[i], i);
    if (call->din[0]) memset(call->din[0], 0, (size_t)n * sizeof(float));
}

const hu_op hu_op_where = {.name = "where",
                           .keeps_rows = true,
                           .broadcasts = true,
                           .min_in = 3,
                           .max_in = 3,
                           .is_cheap = true,
                           .shape = where_shape,
                           .saves = HU_SAVE_INPUT_0,
                           .scratch_bytes = arithmetic_scratch_bytes,
                           .forward = where_forward,
                           .backward = where_backward};
