/* precision/rules.h - the roles of tensors, and rules that give formats and accumulators by glob.
 */
#ifndef HU_PRECISION_RULES_H
#define HU_PRECISION_RULES_H
#include <stdbool.h>

#include <halfulp/status.h>

#include "graph/edge.h"

/* ---- What a tensor is for, as far as formats care ---- */

typedef enum hu_role {
    HU_ROLE_ACT,
    HU_ROLE_ACT_GRAD,
    HU_ROLE_WEIGHT,
    HU_ROLE_WEIGHT_GRAD,
    HU_ROLE_COUNT
} hu_role;

/* How lists of formats by role begin each entry: "w=F,act=F,grad=F,wgrad=F", in that order. */
typedef struct hu_role_key {
    const char *key;
    hu_role role;
} hu_role_key;

extern const hu_role_key hu_role_keys[HU_ROLE_COUNT];

/* "act", "act.grad", "weight", "weight.grad": how rules call them. */
extern const char *const hu_role_names[HU_ROLE_COUNT];

/* True if name matches the glob pattern (* any run, ? any one character). */
bool hu_glob_match(const char *pattern, const char *name);

/* ---- rule ---- */

/* "PATTERN: CHOICE": what rules about tensors and rules about products share. */

/* The words of one rule. */
typedef struct hu_rule {
    char *text;    /* as the user wrote it, for messages */
    char *pattern; /* what stands before the first colon, without spaces around it */
} hu_rule;

/* Takes a rule apart; *choice is what stands after the colon and its spaces, inside of text.
 * HU_ERR_PARSE says that form ("PATTERN: FORMAT") was expected. Owner frees with hu_rule_free. */
hu_status hu_rule_read(const char *text, const char *form, hu_rule *rule, const char **choice);
void hu_rule_free(hu_rule *rule);

/* What rules about products may name: some layers, and parts of each by number ("forward"), NULL
 * behind the last. */
typedef struct hu_rule_layers {
    bool (*has)(const hu_node *node);
    const char *(*part)(int number);
} hu_rule_layers;

/* The names nearest to a pattern: layers, and LAYER.PART. */
hu_status hu_rule_layers_nearest(const hu_rule_layers *layers, const hu_graph *graph,
                                 const char *pattern, char *nearest, size_t capacity);

/* ---- accumulate ---- */

/* Which product gets which accumulator: one for all, and rules by layer.
 */

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

/* ---- operand_rules.c: how products round what they multiply ---- */

/* One rule: operands whose layer, layer and product, or whole name match the pattern; later rules
 * win. */
typedef struct hu_operand_rule {
    hu_rule words;
    hu_quantizer quantizer;
} hu_operand_rule;

/* Layers whose operands stay as they are. */
typedef struct hu_high_layers {
    char *pattern;       /* a glob over layers; NULL: */
    int64_t first, last; /* so many layers from either end, */
    double share;        /* or this share of all at the end, rounded up */
} hu_high_layers;

/* Operands of which a layer has one copy for all its products: tensors of the edge table, which
 * keep scales of earlier steps. */
typedef enum hu_shared_operand {
    HU_SHARED_X,  /* as the layer reads its input */
    HU_SHARED_W,  /* the working copy of its weights */
    HU_SHARED_DY, /* the gradient of its output, once complete */
    HU_SHARED_OPERANDS
} hu_shared_operand;

/* What a recipe and the keys operand.* say. Empty when zero. */
typedef struct hu_operand_choices {
    hu_operand_formats formats;              /* of all layers that no rule names */
    hu_quantizer shared[HU_SHARED_OPERANDS]; /* likewise of copies that all products read */
    hu_high_layers *high;                    /* [high_count] */
    uint32_t high_count;
    bool high_is_asked;     /* the user's, which rules leave alone: a recipe's they may name */
    hu_operand_rule *rules; /* [rule_count] */
    uint32_t rule_count;
} hu_operand_choices;

/* Reads "PATTERN: FORMAT" of a recipe; the pattern is a glob over operands of any layer:
 * "forward.x", "*.dy"; or x, w or dy alone, of which all products read one copy. Errors as
 * hu_operand_choices_add_rule. */
hu_status hu_operand_choices_set(hu_operand_choices *choices, const char *text);

/* Adds "PATTERN: FORMAT", split at the first colon; fp32: not rounded. The pattern is a glob (* and
 * ?) over layers ("layer1.0.conv1"), their products ("*.forward") and their operands
 * ("*.forward.x", "*.weight_grad.*"). HU_ERR_PARSE, HU_ERR_UNKNOWN, HU_ERR_ARGUMENT
 * (hu_operand_check); the rules then stay as they were. */
hu_status hu_operand_choices_add_rule(hu_operand_choices *choices, hu_rounding usual,
                                      const char *text);

/* Adds layers that stay high: "first=N", "last=N", "last=P%" or a glob over layers, in execution
 * order those that round operands. HU_ERR_PARSE. */
hu_status hu_operand_choices_add_high(hu_operand_choices *choices, const char *text);
/* Takes back a recipe's layers: those added afterwards are the user's, and rules leave them as they
 * are. Proof: tests/program/operands_test.py. */
void hu_operand_choices_clear_high(hu_operand_choices *choices);

/* Writes the choices into the edge table. HU_ERR_UNKNOWN with the nearest names where a pattern
 * matches nothing; HU_ERR_ARGUMENT where a recipe finds no layer, or a rule none but those that the
 * user keeps high. */
hu_status hu_operand_choices_write(const hu_operand_choices *choices, const hu_graph *graph,
                                   hu_edge_table *edges);

void hu_operand_choices_free(hu_operand_choices *choices);

#endif
