/* precision/names.h - what users write about precision, as a structure: named precisions, formats
 * by role, candidates and rules. */
#ifndef HU_PRECISION_NAMES_H
#define HU_PRECISION_NAMES_H
#include "precision/assignment.h"
#include "precision/bits.h"
#include "precision/rules.h"

/* Where rounding happens. */
typedef enum hu_scheme {
    HU_SCHEME_LEE, /* every module's output once, gradients by each consumer; sums stay float32 */
    HU_SCHEME_POPESCU,      /* inputs and outputs of every layer, products before the bias, summed
                               gradients again */
    HU_SCHEME_MICIKEVICIUS, /* storage format of everything; products with their bias in float32 */
    HU_SCHEME_COUNT
} hu_scheme;

typedef enum hu_scaler_default { HU_SCALER_NONE, HU_SCALER_DYNAMIC } hu_scaler_default;

enum { HU_SPEC_BYTES = 128 };

/* One rule: tensors whose name (or role) matches the pattern get the quantizer; later rules win. */
typedef struct hu_precision_rule {
    hu_rule words;
    hu_quantizer quantizer;
} hu_precision_rule;

/* The records of one value in the edge table. */
typedef enum hu_tensor_part {
    HU_PART_VALUE,   /* the value, or the working copy of a parameter */
    HU_PART_USE,     /* what a consumer makes of it when it reads it */
    HU_PART_GRAD,    /* its gradient, as a consumer gives it */
    HU_PART_SUM,     /* the sum of these gradients */
    HU_PART_WEIGHTS, /* the same sum as the gradient of the producer's weights reads it */
    HU_PARTS
} hu_tensor_part;

/* Formats of one part: none is float32; one for each use in their order, or one for all. */
typedef struct hu_part_formats {
    hu_quantizer *list; /* [count] */
    uint32_t count;
} hu_part_formats;

/* One tensor of a resolved plan (precision/resolved_plan.h). */
typedef struct hu_precision_tensor {
    char *name;
    char *origin; /* where it was read: "plan.yaml:12:3", "argument 4" */
    hu_part_formats part[HU_PARTS];
} hu_precision_tensor;

/* What `precision=` and its sub-keys say. */
typedef struct hu_precision {
    char name[HU_SPEC_BYTES];
    hu_scheme scheme;
    hu_quantizer role[HU_ROLE_COUNT];
    hu_rounding rounding; /* of rules that name no mode */
    bool is_lee;          /* formats whose codes are all numbers: NaNs overflow, infinities live */
    hu_precision_rule *rules;
    uint32_t rule_count;
    /* What else a precision decides, unless the user does. */
    hu_scaler_default scaler;   /* unless the user says otherwise */
    bool scaler_epoch_interval; /* growth interval of one epoch (Lee et al.) instead of 2,000 steps
                                 */
    bool eval_masters;          /* evaluate with unrounded weights */
    hu_accumulators accumulators;

    hu_assignment assignment; /* which tensors go low; role[] is the high candidate then */
    hu_quantizer high[HU_ROLE_COUNT], low[HU_ROLE_COUNT]; /* the candidates */
    char **listed; /* [listed_count] tensors that assignment "listed" makes low */
    uint32_t listed_count;
    bool promotes;     /* forward tensors that overflow go high for good (precision/adaptation.c) */
    double promote_at; /* from this share of overflows on */

    hu_bits bits; /* a schedule of bits (precision/bit_schedule.h): nothing above rounds then */

    bool is_resolved;             /* the tensors say all: no scheme, role or candidate is asked */
    hu_precision_tensor *tensors; /* [tensor_count] */
    uint32_t tensor_count;
    uint32_t low_bits[HU_ROLE_COUNT]; /* of is_resolved: see hu_edge_table; 0: the usual */

    struct hu_precision_phase
        *phases; /* [phase_count] precision by epoch, see precision/precision_epochs.h;
                    only name, scaler, eval_masters, promotes and accumulators
                    above mean something then */
    uint32_t phase_count;
} hu_precision;

/* One precision and where it begins. */
typedef struct hu_precision_phase {
    int64_t epoch; /* the first one, counted from 0 */
    hu_precision precision;
} hu_precision_phase;

/* Reads a precision: a name of the table (fp32, fp16, bf16, 1/6/9/d, 1/6/9/n), an assignment
 * (high, uniform = hfp8, operator, operator-out, demote:R, listed: precision/assignment.h), a
 * schedule of bits (static:B, cpt:A-B, pfq:A-B, ldp:A-B, random, staged: precision/bit_schedule.h),
 * any number format (that format everywhere), or "w=F,act=F,grad=F,wgrad=F" (what is left out stays
 * float32; dynamic loss scaling as hfp8 has it where a gradient format's range is narrower than
 * that of 1/6/9). A format may be followed by a rounding mode: "act=e4m3 sr". "+promote" behind any
 * of them: forward tensors that overflow go to the high candidate while training. Errors:
 * HU_ERR_UNKNOWN with the nearest names, HU_ERR_PARSE with the column, HU_ERR_ARGUMENT for a ratio
 * out of range; on failure *precision is zero. */
hu_status hu_precision_parse(const char *text, hu_precision *precision);
void hu_precision_free(hu_precision *precision);

/* One rounding mode for all roles, and for the rules added afterwards that name none.
 * HU_ERR_ARGUMENT: a role or a candidate does not know the mode (uniform integers). */
hu_status hu_precision_set_rounding(hu_precision *precision, hu_rounding rounding);

/* As the released code of Lee et al.: rounds half away from zero, and in formats whose codes are
 * all numbers a NaN becomes what an infinity becomes (nan=ovf), in roles, candidates and the rules
 * added afterwards. Errors as hu_precision_set_rounding; HU_ERR_ARGUMENT for schedules of bits and
 * resolved plans, whose formats are not chosen here. */
hu_status hu_precision_set_lee(hu_precision *precision);

/* Whether a format of the precision, of any phase, is one of these. */
bool hu_precision_has_lee(const hu_precision *precision);

/* The candidates that assignments and promotion choose from; NULL leaves one as it is. Both are
 * FORMAT or "w=F,act=F,grad=F,wgrad=F"; without wgrad, gradients of parameters stay high. At the
 * start they are those of Lee et al.: fp(6,9,0); fp(4,3,4) forward and fp(5,2,0) backward.
 * HU_ERR_ARGUMENT: a low format that is not narrower than the high one. */
hu_status hu_precision_set_candidates(hu_precision *precision, const char *high, const char *low);

/* Bits of the widest format among the roles that round, 0 if none does. */
uint32_t hu_widest_role(const hu_quantizer role[HU_ROLE_COUNT]);

/* Adds a tensor name, glob, role or "group:N" to what "listed" makes low. */
hu_status hu_precision_add_listed(hu_precision *precision, const char *text);

/* Adds "PATTERN: FORMAT [MODE]". The pattern is a role (act, act.grad, weight, weight.grad) or a
 * glob (* and ?) over tensor names ("layer1.*", "conv1.weight.grad"); fp32 means not rounded. Roles
 * and globs change formats where the scheme rounds; a full name rounds that tensor in any case. On
 * failure the rules stay as they were. */
hu_status hu_precision_add_rule(hu_precision *precision, const char *text);

/* "lee", "popescu", "micikevicius" <-> scheme. */
hu_status hu_scheme_parse(const char *text, hu_scheme *scheme);
const char *hu_scheme_name(hu_scheme scheme);

/* The names of the table, for help and completion. */
extern const char *const hu_precision_names[];
extern const int hu_precision_name_count;

#endif
