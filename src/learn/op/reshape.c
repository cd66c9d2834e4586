#include <math.h>
#include <string.h>

#include "base/error.h"
#include "op/internal.h"

/* ---- Attributes of the views ---- */

/* x of any shape -> y [elements] */
static hu_status flatten_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    (void)attrs, (void)n_in;
    *n_out = 1;
    out[0] = (hu_shape){.rank = 1, .extent = {hu_shape_elements(in)}};
    return HU_OK;
}

/* An executor that lets the view share its input's memory passes equal pointers. */
static void move(const hu_op_call *call, float *to, const float *from) {
    size_t bytes = (size_t)(call->count * hu_shape_elements(&call->info->in[0])) * sizeof *to;
    if (to && to != from) memcpy(to, from, bytes);
}

/* out[0] and in[0] hold the same count x elements numbers in the same order. */
static void view_forward(const hu_op_call *call) {
    move(call, call->out[0], call->in[0]);
}

static void view_backward(const hu_op_call *call) {
    move(call, call->din[0], call->dout[0]);
}

const hu_op hu_op_flatten = {.name = "flatten",
                             .keeps_rows = true,
                             .min_in = 1,
                             .max_in = 1,
                             .is_view = true,
                             .shape = flatten_shape,
                             .saves = HU_SAVE_NOTHING,
                             .forward = view_forward,
                             .backward = view_backward};

/* The shape that the attributes say, with the one extent of -1 that is worked out; false: no extent
 * would do. */
static bool fill_extent(const hu_shape *in, hu_shape *shape) {
    int64_t left = hu_shape_elements(in);
    int open = -1;
    for (int i = 0; i < shape->rank; i++) {
        int64_t extent = shape->extent[i];
        if (extent == -1 && open >= 0) return false;
        if (extent == -1) open = i;
        if (extent == -1) continue;
        if (extent < 1 || left % extent != 0) return false;
        left /= extent;
    }
    if (open >= 0) shape->extent[open] = left;
    return open >= 0 || left == 1;
}

/* x of any shape -> y of the shape that the attributes say */
static hu_status reshape_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    enum { SHAPE_TEXT = 176 };
    char found[SHAPE_TEXT], wanted[SHAPE_TEXT];
    const hu_reshape_attrs *a = attrs;
    (void)n_in;
    *n_out = 1;
    out[0] = a->shape;
    if (fill_extent(in, &out[0])) return hu_shape_check(&out[0]);
    hu_shape_print(in, found, sizeof found);
    hu_shape_print(&a->shape, wanted, sizeof wanted);
    return hu_fail(HU_ERR_SHAPE,
                   "reshape: the input is %s, which has another number of elements "
                   "than %s",
                   found, wanted);
}

static const hu_attribute reshape_attributes[] = {
    {HU_ATTRIBUTE_SHAPE, "shape", offsetof(hu_reshape_attrs, shape), NAN, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_reshape = {.name = "reshape",
                             .keeps_rows = true,
                             .attrs_bytes = sizeof(hu_reshape_attrs),
                             .min_in = 1,
                             .max_in = 1,
                             .is_view = true,
                             .attributes = reshape_attributes,
                             .shape = reshape_shape,
                             .saves = HU_SAVE_NOTHING,
                             .forward = view_forward,
                             .backward = view_backward};

/* next, initial [of one step], lengths [] -> as initial. next is declared after this node. */
static hu_status previous_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    (void)attrs;
    *n_out = 1;
    out[0] = in[1];
    return hu_expect_lengths("previous", 2, n_in, in);
}

const hu_op hu_op_previous = {.name = "previous",
                              .min_in = 2,
                              .max_in = 3,
                              .is_view = true,
                              .is_previous = true,
                              .shape = previous_shape,
                              .saves = HU_SAVE_NOTHING};

/* ---- Attributes of zeros and carried ---- */

/* -> [numbers] */
static hu_status zeros_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    const hu_zeros_attrs *a = attrs;
    (void)n_in, (void)in;
    *n_out = 1;
    out[0] = (hu_shape){.rank = 1, .extent = {a->numbers}};
    if (a->numbers > 0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "zeros: found %lld numbers, expected at least 1",
                   (long long)a->numbers);
}

static void zeros_forward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->out[0]);
    memset(call->out[0], 0, (size_t)n * sizeof(float));
}

static const hu_attribute zeros_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "numbers", offsetof(hu_zeros_attrs, numbers), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_zeros = {.name = "zeros",
                           .attrs_bytes = sizeof(hu_zeros_attrs),
                           .attributes = zeros_attributes,
                           .makes_facts = true,
                           .shape = zeros_shape,
                           .saves = HU_SAVE_NOTHING,
                           .forward = zeros_forward};

const hu_op hu_op_carried = {.name = "carried",
                             .attrs_bytes = sizeof(hu_zeros_attrs),
                             .attributes = zeros_attributes,
                             .makes_facts = true,
                             .is_carried = true,
                             .shape = zeros_shape,
                             .saves = HU_SAVE_NOTHING};

/* ---- constant and ids: numbers that do not learn, the same for all samples ---- */

/* -> [shape] */
static hu_status constant_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    const hu_constant_attrs *a = attrs;
    (void)n_in, (void)in;
    *n_out = 1;
    out[0] = a->shape;
    if (a->shape.rank > 0) return hu_shape_check(&a->shape);
    return hu_fail(HU_ERR_SHAPE, "found no shape=, expected extents as 7x7x16");
}

static hu_status constant_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                                 int *count) {
    const hu_constant_attrs *a = attrs;
    (void)in;
    *count = 1;
    list[0] = (hu_param_decl){.suffix = "", .shape = a->shape, .trained = false};
    return HU_OK;
}

static void constant_forward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->out[0]);
    for (int64_t s = 0; s < call->count; s++)
        memcpy(call->out[0] + s * n, call->param[0], (size_t)n * sizeof(float));
}

static const hu_attribute constant_attributes[] = {
    {HU_ATTRIBUTE_SHAPE, "shape", offsetof(hu_constant_attrs, shape), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

#define CONSTANT_RECORD                                                                            \
    .attrs_bytes = sizeof(hu_constant_attrs), .attributes = constant_attributes,                   \
    .shape = constant_shape, .params = constant_params, .saves = HU_SAVE_NOTHING,                  \
    .forward = constant_forward

const hu_op hu_op_constant = {.name = "constant", CONSTANT_RECORD};

const hu_op hu_op_ids = {.name = "ids", .makes_facts = true, CONSTANT_RECORD};
