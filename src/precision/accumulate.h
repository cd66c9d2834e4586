/* precision/accumulate.h - which product gets which accumulator: one for all, and rules by layer.
 */
#ifndef HU_PRECISION_ACCUMULATE_H
#define HU_PRECISION_ACCUMULATE_H
#include "graph/edge.h"
#include "precision/rule.h"

/* One rule: products whose layer, or layer and product, match the pattern; later rules win. */
typedef struct hu_accumulator_rule {
    hu_rule words;
    bool chosen; /* false: float32 in the order of kernel/conv/conv.h */
    hu_accumulator accumulator;
} hu_accumulator_rule;

/* What `accumulator=` and its sub-keys say. */
typedef struct hu_accumulators {
    bool chosen; /* of products that no rule names */
    hu_accumulator accumulator;
    hu_accumulator_rule *rules;
    uint32_t rule_count;
    int64_t count_every; /* steps between those that count subnormal accumulators; 0: none */
} hu_accumulators;

/* Reads "fp32" (float32 without one) or an accumulator as hu_accumulator_parse does; keeps
 * the rules. Errors as there; *accumulators is then unchanged. */
hu_status hu_accumulators_parse(const char *text, hu_semantics semantics,
                                hu_accumulators *accumulators);

/* Adds "PATTERN: ACCUMULATOR", split at the first colon. The pattern is a glob (* and ?) over
 * layers
 * ("layer1.0.conv1", "fc") or over their single products ("*.forward", "conv1.input_grad",
 * "layer1.*.weight_grad"). On failure the rules stay as they were. */
hu_status hu_accumulators_add_rule(hu_accumulators *accumulators, const char *text,
                                   hu_semantics semantics);

/* "exact", "f32fma", "cpd" -> semantics; HU_ERR_UNKNOWN. */
hu_status hu_semantics_parse(const char *text, hu_semantics *semantics);

/* Writes the choice into the edge table. A rule that matches nothing: HU_ERR_UNKNOWN with the three
 * nearest names of layers and products. */
hu_status hu_accumulators_write(const hu_accumulators *accumulators, const hu_graph *graph,
                                hu_edge_table *edges);

/* Whether step counts accumulators. */
bool hu_accumulators_count(const hu_accumulators *accumulators, int64_t step);

void hu_accumulators_free(hu_accumulators *accumulators);

#endif
