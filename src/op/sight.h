/* op/sight.h - which keys the rows of a sample see: what the operations of attention share. */
#ifndef HU_OP_SIGHT_H
#define HU_OP_SIGHT_H
#include "op/attention.h"
#include "op/op.h"
#include "product/batched_matmul.h"

/* hu_sight_attrs in texts. */
extern const hu_attribute hu_sight_attributes[];

/* How many keys and rows of each sample are there: [count], NULL: all. */
typedef struct hu_sight_lengths {
    const float *keys, *rows;
} hu_sight_lengths;

/* The inputs from number `first` on, of which there may be two, one or none. in: arrays. */
hu_sight_lengths hu_sight_lengths_of(int n_in, const float *const *in, int first);

/* HU_ERR_SHAPE unless each of them is one number. */
hu_status hu_sight_expect_lengths(const char *op, int first, int n_in, const hu_shape *in);

/* Rows and keys of sample i that are there. A length beyond the keys means all of them, one that is
 * no number none. */
hu_heads_there hu_sight_there(const hu_sight_attrs *attrs, const hu_heads *heads,
                              hu_sight_lengths lengths, int64_t i);

/* Numbers of pairs [heads, rows, keys] of count samples that are not there. */
int64_t hu_sight_absent_pairs(const hu_sight_attrs *attrs, const hu_heads *heads, int64_t count,
                              hu_sight_lengths lengths);

#endif
