/* op/attention.h - attributes of attention: scores, weights and context are operations of their
 * own.
 */
#ifndef HU_OP_ATTENTION_H
#define HU_OP_ATTENTION_H
#include <stdbool.h>
#include <stdint.h>

#include "op/op.h"
#include "product/batched_matmul.h"

/* Rows (queries, T of them) see keys (S of them): all, or the first ones where an input behind the
 * others, lengths [1], says how many there are. One more, also [1], may say how many rows there
 * are: those behind see nothing. Of attention_weights and attention_context. */
typedef struct hu_attention_mask_attrs {
    bool is_causal;   /* row t sees no key behind key t */
    bool lengths_too; /* lengths are those of the rows as well: rows behind them see nothing */
} hu_attention_mask_attrs;

/* Of attention_scores. */
typedef struct hu_scores_attrs {
    int64_t heads; /* what the numbers of rows and keys are cut into */
    float factor;  /* what rows are multiplied with first: a power of two, which rounds nothing */
    hu_attention_mask_attrs sight;
} hu_scores_attrs;

#endif
