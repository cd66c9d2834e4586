#include "op/row_count.h"

#include "base/error.h"

hu_status hu_expect_row_count(const char *op, int which, int n_in, const hu_shape *in) {
    if (which >= n_in || (hu_shape_elements(&in[which]) == 1 && in[0].rank >= 2)) return HU_OK;
    return hu_fail(HU_ERR_SHAPE,
                   "%s: found %lld numbers beside an input of rank %d, expected the number of rows "
                   "of a sequence",
                   op, (long long)hu_shape_elements(&in[which]), in[0].rank);
}

hu_status hu_expect_lengths(const char *op, int which, int n_in, const hu_shape *in) {
    if (which >= n_in || hu_shape_elements(&in[which]) == 1) return HU_OK;
    return hu_fail(HU_ERR_SHAPE, "%s: the lengths have %lld elements, expected 1", op,
                   (long long)hu_shape_elements(&in[which]));
}
