#include "op/op.h"

#include <string.h>

#include "base/error.h"

/* ---- table ---- */

#define HU_OP_ADDRESS(identifier) &hu_op_##identifier,
const hu_op *const hu_op_table[] = {HU_OP_LIST(HU_OP_ADDRESS)};
#undef HU_OP_ADDRESS

const int hu_op_count = (int)(sizeof hu_op_table / sizeof hu_op_table[0]);

const hu_op *hu_op_find(const char *name) {
    for (int i = 0; i < hu_op_count; i++)
        if (strcmp(hu_op_table[i]->name, name) == 0) return hu_op_table[i];
    return NULL;
}

/* ---- expect ---- */

/* Checks of input shapes that several operations share; op is the name for messages.
 */

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
