/* op/sight.h - which keys the rows of a sample see: what the operations of attention share. */
#ifndef HU_OP_SIGHT_H
#define HU_OP_SIGHT_H
#include "op/attention.h"
#include "op/op.h"
#include "product/heads.h"

/* hu_sight_attrs in texts. */
extern const hu_attribute hu_sight_attributes[];

/* Rows and keys of sample i that are there. lengths [count], NULL: all. A length beyond the keys
 * means all of them, one that is no number none. */
hu_heads_there hu_sight_there(const hu_sight_attrs *attrs, const hu_heads *heads,
                              const float *lengths, int64_t i);

/* Numbers of pairs [heads, rows, keys] of count samples that are not there. */
int64_t hu_sight_absent_pairs(const hu_sight_attrs *attrs, const hu_heads *heads, int64_t count,
                              const float *lengths);

#endif
