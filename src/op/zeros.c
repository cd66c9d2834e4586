/* What a recurrence starts as, of no input: zeros, +0; or carried, what it has ended as in the pass
 * before. No format rounds it, no gradient comes to it. */
#include "op/zeros.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

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
    {HU_ATTRIBUTE_WHOLE, "numbers", offsetof(hu_zeros_attrs, numbers), NAN},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
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
