/* data/grammar.h - sentences of a written grammar, whose entropy is known. */
#ifndef HU_DATA_GRAMMAR_H
#define HU_DATA_GRAMMAR_H
#include <stdint.h>

#include <halfulp/status.h>

/* What a sentence of the grammar is in the mean: words with the sign that ends it, and the entropy
 * of its derivation in nats. Every sentence has one derivation, so that entropy / words is what a
 * token costs who knows the grammar and all that was said before: no model's loss on a long text
 * is lower. Both are solutions of linear equations over the rules (Grenander 1967), found by
 * iteration to the last bit. Proof: tests/unit/data_generated_test.c. */
typedef struct hu_grammar_facts {
    double words, entropy;
} hu_grammar_facts;
hu_grammar_facts hu_grammar_tell(void);

/* Sentences, one a line, words with blanks between; a function of (half, sentences) alone.
 * *surprise: minus the logarithm of the probability of their derivations, in nats. Owner frees
 * *text with hu_free. HU_ERR_MEMORY. */
hu_status hu_grammar_write(const char *half, int64_t sentences, char **text, double *surprise);

#endif
