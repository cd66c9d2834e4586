/* op/expect.h - checks of input shapes that several operations share; op is the name for messages.
 */
#ifndef HU_OP_EXPECT_H
#define HU_OP_EXPECT_H
#include <halfulp/status.h>
#include <halfulp/tensor.h>

/* HU_ERR_SHAPE unless every input has the shape of input 0. */
hu_status hu_expect_same(const char *op, int n_in, const hu_shape *in);

/* HU_ERR_SHAPE unless the input has at least / exactly the rank. */
hu_status hu_expect_rank_least(const char *op, const hu_shape *in, int rank);
hu_status hu_expect_rank(const char *op, const hu_shape *in, int rank);

/* Last extent; the shape has rank >= 1. */
static inline int64_t hu_channels(const hu_shape *shape) {
    return shape->extent[shape->rank - 1];
}

#endif
