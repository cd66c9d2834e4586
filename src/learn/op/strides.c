#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "op/internal.h"

/* ---- axes ---- */

hu_status hu_expect_axis(const char *op, const char *name, int64_t axis, int rank) {
    if (axis >= -rank && axis < rank) return HU_OK;
    if (rank == 0)
        return hu_fail(HU_ERR_SHAPE, "%s: %s: found %" PRId64 ", and one number without extents",
                       op, name, axis);
    return hu_fail(HU_ERR_SHAPE,
                   "%s: %s: found %" PRId64 ", and an input of %d extents, expected %d to %d", op,
                   name, axis, rank, -rank, rank - 1);
}

hu_status hu_expect_one_axis(const char *op, const hu_axes *axes, int64_t usual, int rank) {
    if (axes->count > 1)
        return hu_fail(HU_ERR_ARGUMENT, "%s: axis: found %d of them, expected one", op,
                       (int)axes->count);
    return hu_expect_axis(op, "axis", axes->count ? axes->at[0] : usual, rank);
}

int hu_one_axis(const hu_axes *axes, int64_t usual, int rank) {
    int64_t axis = axes->count ? axes->at[0] : usual;
    return (int)(axis < 0 ? axis + rank : axis);
}

hu_status hu_expect_axes(const char *op, const hu_axes *axes, int rank) {
    unsigned found = 0;
    for (int i = 0; i < axes->count; i++) {
        hu_status st = hu_expect_axis(op, "axes", axes->at[i], rank);
        if (st != HU_OK) return st;
        const hu_axes one = {1, {axes->at[i]}};
        unsigned bit = hu_axes_bits(&one, rank);
        if (found & bit)
            return hu_fail(HU_ERR_ARGUMENT, "%s: axes: found %" PRId64 " twice", op, axes->at[i]);
        found |= bit;
    }
    return HU_OK;
}

unsigned hu_axes_bits(const hu_axes *axes, int rank) {
    unsigned bits = 0;
    for (int i = 0; i < axes->count; i++)
        bits |= 1u << (axes->at[i] < 0 ? axes->at[i] + rank : axes->at[i]);
    return bits;
}

/* ---- strides ---- */

void hu_steps_of(const hu_shape *shape, int64_t step[HU_MAX_RANK]) {
    int64_t behind = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        step[i] = behind;
        behind *= shape->extent[i];
    }
}

/* True if the step of one axis is as long as all of the axis after it, in both arrays. */
static bool goes_on(const hu_strides *s, int before, int after) {
    int64_t extent = s->extent[after];
    return s->step[0][before] == extent * s->step[0][after] &&
           s->step[1][before] == extent * s->step[1][after];
}

void hu_strides_join(hu_strides *s) {
    int rank = 0;
    for (int i = 0; i < s->rank; i++) {
        if (s->extent[i] == 1) continue;
        int64_t extent = s->extent[i];
        if (rank > 0 && goes_on(s, rank - 1, i)) extent *= s->extent[--rank];
        s->extent[rank] = extent;
        s->step[0][rank] = s->step[0][i];
        s->step[1][rank] = s->step[1][i];
        rank++;
    }
    if (rank == 0)
        *s = (hu_strides){.rank = 1, .extent = {1}, .step = {{1}, {1}}};
    else
        s->rank = rank;
}

void hu_strides_each(const hu_strides *s, hu_stride_fn *each, void *context) {
    int64_t index[HU_MAX_RANK] = {0};
    int last = s->rank - 1, axis;
    hu_stride_run run = {.count = s->extent[last], .step = {s->step[0][last], s->step[1][last]}};
    do {
        each(context, &run);
        for (axis = last - 1; axis >= 0; axis--) {
            run.at[0] += s->step[0][axis];
            run.at[1] += s->step[1][axis];
            if (++index[axis] < s->extent[axis]) break;
            run.at[0] -= s->extent[axis] * s->step[0][axis];
            run.at[1] -= s->extent[axis] * s->step[1][axis];
            index[axis] = 0;
        }
    } while (axis >= 0);
}
