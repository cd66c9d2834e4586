/* precision/plan.h - which tensor gets which format: named precisions, rounding schemes and rules,
 * written into the edge table. */
#ifndef HU_PRECISION_PLAN_H
#define HU_PRECISION_PLAN_H
#include "graph/edge.h"
#include "precision/accumulate.h"

/* Where rounding happens. */
typedef enum hu_scheme {
    HU_SCHEME_LEE, /* every module's output once, gradients by each consumer; sums stay float32 */
    HU_SCHEME_POPESCU,      /* inputs and outputs of every layer, products before the bias, summed
                               gradients again */
    HU_SCHEME_MICIKEVICIUS, /* storage format of everything; products with their bias in float32 */
    HU_SCHEME_COUNT
} hu_scheme;

typedef enum hu_role {
    HU_ROLE_ACT,
    HU_ROLE_ACT_GRAD,
    HU_ROLE_WEIGHT,
    HU_ROLE_WEIGHT_GRAD,
    HU_ROLE_COUNT
} hu_role;

typedef enum hu_scaler_default { HU_SCALER_NONE, HU_SCALER_DYNAMIC } hu_scaler_default;

enum { HU_SPEC_BYTES = 128 };

/* One rule: tensors whose name (or role) matches the pattern get the quantizer; later rules win. */
typedef struct hu_precision_rule {
    char *text;
    char *pattern;
    hu_quantizer quantizer;
} hu_precision_rule;

/* What `precision=` and its sub-keys say. */
typedef struct hu_precision {
    char name[HU_SPEC_BYTES];
    hu_scheme scheme;
    hu_quantizer role[HU_ROLE_COUNT];
    hu_rounding rounding; /* of rules that name no mode */
    hu_precision_rule *rules;
    uint32_t rule_count;
    hu_scaler_default scaler;   /* unless the user says otherwise */
    bool scaler_epoch_interval; /* growth interval of one epoch (Lee et al.) instead of 2,000 steps
                                 */
    bool eval_masters;          /* evaluate with unrounded weights */
    hu_accumulators accumulators;
} hu_precision;

/* Reads a precision: a name of the table (fp32, fp16, bf16, 1/6/9/d, 1/6/9/n, high, hfp8 =
 * uniform), any number format (that format everywhere), or "w=F,act=F,grad=F,wgrad=F" (what is left
 * out stays float32). A format may be followed by a rounding mode: "act=e4m3 sr". Errors:
 * HU_ERR_UNKNOWN with the nearest names, HU_ERR_PARSE with the column; on failure *precision
 * is zero. */
hu_status hu_precision_parse(const char *text, hu_precision *precision);
void hu_precision_free(hu_precision *precision);

/* One rounding mode for all roles, and for the rules added afterwards that name none. */
void hu_precision_set_rounding(hu_precision *precision, hu_rounding rounding);

/* Adds "PATTERN: FORMAT [MODE]". The pattern is a role (act, act.grad, weight, weight.grad) or a
 * glob (* and ?) over tensor names ("layer1.*", "conv1.weight.grad"); fp32 means not rounded. Roles
 * and globs change formats where the scheme rounds; a full name rounds that tensor in any case. On
 * failure the rules stay as they were. */
hu_status hu_precision_add_rule(hu_precision *precision, const char *text);

/* "lee", "popescu", "micikevicius" <-> scheme. */
hu_status hu_scheme_parse(const char *text, hu_scheme *scheme);
const char *hu_scheme_name(hu_scheme scheme);

/* Writes the precision into the edge table. signals: loss scaling is on, so that backward
 * formats that saturate tell of an overflow by an infinity (Lee et al., released code). A rule that
 * matches nothing: HU_ERR_UNKNOWN with the three nearest tensor names. */
hu_status hu_precision_write(const hu_precision *precision, const hu_graph *graph, bool signals,
                             hu_edge_table *edges);

/* Elements of all tensors that carry a precision: activations (the images and the loss per sample
 * included) of a batch, parameters, and a gradient of the same size for each, whether or not it is
 * ever computed. Labels, views and products inside a layer that are not rounded are none. Source:
 * Lee et al., size of the tensor set. */
int64_t hu_precision_tensor_elements(const hu_graph *graph, const hu_edge_table *edges,
                                     int64_t batch);

/* Share of those elements that are kept in at most 8 bits. Source: Lee et al., low-precision ratio.
 */
double hu_precision_low_ratio(const hu_graph *graph, const hu_edge_table *edges, int64_t batch);

/* Bits of those elements in their formats: 32 where nothing is rounded; block formats with their
 * scales. Source: Lee et al., model aggregate. */
int64_t hu_precision_aggregate_bits(const hu_graph *graph, const hu_edge_table *edges,
                                    int64_t batch);

/* How the gradient of a value is rounded: that of its first consumer; the loss, which has none,
 * counts as its gradient does. Borrowed: valid as long as the edges. */
const hu_quantizer *hu_precision_gradient(const hu_graph *graph, const hu_edge_table *edges,
                                          hu_value_id v);

/* The names of the table, for help and completion. */
extern const char *const hu_precision_names[];
extern const int hu_precision_name_count;

/* True if name matches the glob pattern (* any run, ? any one character). */
bool hu_glob_match(const char *pattern, const char *name);

#endif
