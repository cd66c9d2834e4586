/* model/transformer.h - blocks of attention and feed-forward layers over rows [T, C]. As builder.h:
 * the first error sticks. */
#ifndef HU_MODEL_TRANSFORMER_H
#define HU_MODEL_TRANSFORMER_H
#include "model/builder.h"

typedef struct hu_block_form {
    int64_t heads, hidden;      /* hidden: features of the feed-forward layers */
    float epsilon;              /* of the norms */
    bool is_causal;             /* no row sees one behind it */
    bool norms_sums;            /* norms stand behind the sums (BERT), not in front of the layers */
    bool has_relu;              /* else gelu */
    const hu_value_id *lengths; /* [1], rows of each sample that are there; NULL: all */
    double dropout, attention_dropout, hidden_dropout; /* of sums, weights, hidden features */
    double drop_path; /* share of samples that lose a branch; 0: none */
    hu_init weight;   /* of all products; biases begin at 0 */
    bool is_usual;    /* weights and biases begin by hu_init_usual instead */
} hu_block_form;

/* Multi-head attention of the rows with themselves: NAME.q, .k, .v, .scores, .weights, .context and
 * .out; NAME.scale is a tensor only where 1 / sqrt(numbers of a head) is no power of two. */
hu_value_id hu_build_attention(hu_builder *b, const char *name, hu_value_id rows,
                               const hu_block_form *form);

/* A block NAME: NAME.ln1, .attn, .add1, .ln2, .fc1, .act, .fc2 and .add2; with drop_path NAME.path1
 * and .path2 in front of the sums.
 *
 *   norms in front   x + attn(ln1 x), then x + fc2 act(fc1 ln2 x)
 *   norms of sums    ln1(x + attn x), then ln2(x + fc2 act(fc1 x)) */
hu_value_id hu_build_block(hu_builder *b, const char *name, hu_value_id rows,
                           const hu_block_form *form);

#endif
