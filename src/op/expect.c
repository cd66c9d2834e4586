#include "op/expect.h"

#include "base/error.h"

enum { SHAPE_TEXT = 176 };

hu_status hu_expect_same(const char *op, int n_in, const hu_shape *in) {
    char found[SHAPE_TEXT], expected[SHAPE_TEXT];
    for (int i = 1; i < n_in; i++) {
        if (hu_shape_equal(&in[0], &in[i])) continue;
        hu_shape_print(&in[0], expected, sizeof expected);
        hu_shape_print(&in[i], found, sizeof found);
        return hu_fail(HU_ERR_SHAPE, "%s: input %d is %s, expected %s like input 0", op, i, found,
                       expected);
    }
    return HU_OK;
}

static hu_status wrong_rank(const char *op, const hu_shape *in, const char *how, int rank) {
    char found[SHAPE_TEXT];
    hu_shape_print(in, found, sizeof found);
    return hu_fail(HU_ERR_SHAPE, "%s: the input is %s, expected %s%d extents", op, found, how,
                   rank);
}

hu_status hu_expect_rank_least(const char *op, const hu_shape *in, int rank) {
    return in->rank >= rank ? HU_OK : wrong_rank(op, in, "at least ", rank);
}

hu_status hu_expect_rank(const char *op, const hu_shape *in, int rank) {
    return in->rank == rank ? HU_OK : wrong_rank(op, in, "", rank);
}
