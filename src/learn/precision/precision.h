/* precision/precision.h - which tensor gets which format: what texts say of it, and how it is
 * written into the edge table.
 */
#ifndef HU_PRECISION_PRECISION_H
#define HU_PRECISION_PRECISION_H
#include "base/keys.h"
#include "graph/edge.h"
#include "precision/bits.h"
#include "precision/rules.h"
#include "precision/tensor_groups.h"
#include "precision/unit_scaling.h"

/* ---- assignment.c: which tensors are kept in the low one of two candidate formats ---- */

/* assignments: which tensors are kept in the low one of two candidate
 * formats.
 *
 * A kind of assignment is one record and one line of the list. Text: NAME or NAME:ARGUMENT.
 */

typedef enum hu_group_order {
    HU_GROUPS_DECREASING,
    HU_GROUPS_INCREASING,
    HU_GROUPS_RANDOM
} hu_group_order;

typedef struct hu_assignment_kind hu_assignment_kind;

/* What the text of an assignment says. */
typedef struct hu_assignment {
    const hu_assignment_kind *kind; /* NULL: none. Borrowed: valid forever */
    double target;                  /* demote: low-precision ratio, or share of memory */
    bool by_memory;
    hu_group_order order;
    uint64_t seed; /* of a random order */
} hu_assignment;

/* What an assignment knows when it chooses. Borrowed for the call. */
typedef struct hu_assignment_task {
    const hu_assignment *assignment;
    const hu_graph *graph;
    const hu_edge_table *edges; /* everything in the high format */
    const hu_tensor_groups *groups;
    const hu_quantizer *high,
        *low; /* [HU_ROLE_COUNT]; a low one that does not round: no candidate */
    int64_t batch;
    const char *const *listed; /* [listed_count] the user's list of low tensors */
    uint32_t listed_count;
} hu_assignment_task;

/* The choice: both [value_count], all false when an assignment begins. Gradients of parameters stay
 * high whatever is said here unless the low candidate names a format for them. */
typedef struct hu_low_set {
    bool *value, *gradient;
} hu_low_set;

struct hu_assignment_kind {
    const char *name;
    const char *argument; /* "R" as help shows it; "" if it takes none */
    const char *help;
    /* Reads the argument, NULL if there was none; NULL: takes none. */
    hu_status (*parse)(const char *argument, hu_assignment *assignment);
    hu_status (*choose)(const hu_assignment_task *task, hu_low_set *low);
};

/* X(identifier). The one list of kinds; the first names are those of Lee et al. */
#define HU_ASSIGNMENT_LIST(X)                                                                      \
    X(high)                                                                                        \
    X(uniform)                                                                                     \
    X(hfp8)                                                                                        \
    X(operator)                                                                                    \
    X(operator_out)                                                                                \
    X(demote)                                                                                      \
    X(listed)

#define HU_ASSIGNMENT_DECLARE(identifier)                                                          \
    extern const hu_assignment_kind hu_assignment_##identifier;
HU_ASSIGNMENT_LIST(HU_ASSIGNMENT_DECLARE)
#undef HU_ASSIGNMENT_DECLARE

extern const hu_assignment_kind *const hu_assignment_table[];
extern const int hu_assignment_count;

/* ---- names.c ---- */

/* What users write about precision, as a structure: named precisions, formats
 * by role, candidates and rules.
 */

/* Where rounding happens. */
typedef enum hu_scheme {
    HU_SCHEME_LEE, /* every module's output once, gradients by each consumer; sums stay float32 */
    HU_SCHEME_POPESCU,      /* inputs and outputs of every layer, products before the bias, summed
                               gradients again */
    HU_SCHEME_MICIKEVICIUS, /* storage format of everything; products with their bias in float32 */
    HU_SCHEME_COUNT
} hu_scheme;

typedef enum hu_scaler_default { HU_SCALER_NONE, HU_SCALER_DYNAMIC } hu_scaler_default;

enum { HU_SPEC_BYTES = 512 };

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

/* One tensor of a resolved plan (precision/resolved_plan.c). */
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
    hu_operand_choices operands;
    hu_scaling scaling; /* of the network, in all phases alike */

    hu_assignment assignment; /* which tensors go low; role[] is the high candidate then */
    hu_quantizer high[HU_ROLE_COUNT], low[HU_ROLE_COUNT]; /* the candidates */
    char **listed; /* [listed_count] tensors that assignment "listed" makes low */
    uint32_t listed_count;
    bool promotes;     /* forward tensors that overflow go high for good (precision/adaptation.c) */
    double promote_at; /* from this share of overflows on */

    hu_bits bits; /* a schedule of bits (precision/bit_schedule.c): nothing above rounds then */

    bool is_resolved;             /* the tensors say all: no scheme, role or candidate is asked */
    hu_precision_tensor *tensors; /* [tensor_count] */
    uint32_t tensor_count;
    uint32_t low_bits[HU_ROLE_COUNT]; /* of is_resolved: see hu_edge_table; 0: the usual */

    struct hu_precision_phase *phases; /* [phase_count] precision by epoch, see precision/names.c;
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
 * (high, uniform = hfp8, operator, operator-out, demote:R, listed: precision/assignment.c), a
 * schedule of bits (static:B, cpt:A-B, pfq:A-B, ldp:A-B, random, staged: precision/bit_schedule.c),
 * any number format (that format everywhere), or "w=F,act=F,grad=F,wgrad=F" (what is left out stays
 * float32; dynamic loss scaling as hfp8 has it where a gradient format's range is narrower than
 * that of 1/6/9). A format may be followed by a rounding mode: "act=e4m3 sr". "+promote" after any
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

/* Whether no number below 0 stays one: P3109's unsigned formats, files of numbers from 0 on. Proof:
 * tests/program/talk_test.py. */
bool hu_quantizer_is_unsigned(const hu_quantizer *quantizer);

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

/* Row `index` of the recipes among them: its name, what it is, and its parts with ";" between them,
 * "*.x: FORMAT", "high last=1", "scaling unit"; NULL after the last. All forever. */
const char *hu_recipe_at(size_t index, const char **help, const char **parts);

/* ---- names.c: precision by epoch ---- */

/* Precision by epoch: a list of precisions, each from an epoch on.
 *
 * Source: Han, Si, Demmel, You, "Auto-Precision Scaling for Distributed Deep Learning", table 6:
 * float32 in the first 30 epochs, 8 bits in the other 60. A phase begins with the first step of its
 * epoch and lasts until the next phase begins; masters, optimizer state and loss scale go on
 * through all of them.
 */

/* Makes a precision from the text of one phase; context is the caller's. */
typedef hu_status hu_phase_reader(void *context, const char *text, hu_precision *precision);

/* Whether a text is meant as a list of phases: it begins with an epoch and a colon. */
bool hu_precision_is_list(const char *text);

/* Reads "0: fp32, 30: hfp8": "EPOCH: PRECISION, ..." with epochs that ascend from 0. Each PRECISION
 * goes through read. Loss scaling is on if it is on in any phase, promotion is watched if any phase
 * asks for it, evaluation takes the masters if it does in all phases. The name is the list.
 * HU_ERR_PARSE, HU_ERR_ARGUMENT and the errors of read, with the epoch that they are about; then
 * *precision is zero. */
hu_status hu_precision_parse_list(const char *text, hu_phase_reader *read, void *context,
                                  hu_precision *precision);

/* The precision of the steps of an epoch: a phase, or the precision itself if it has none.
 * Borrowed: valid as long as the precision. */
const hu_precision *hu_precision_at(const hu_precision *precision, int64_t epoch);

/* ---- edge_writer.c: schemes, assignments and rules, written into the edge table ---- */

/* Writes the precision into the edge table, over what it held. batch: samples of a step, by which
 * assignments weigh activations against parameters. signals: loss scaling is on, so that backward
 * formats that saturate tell of an overflow by an infinity (Lee et al., released code). A rule that
 * matches nothing: HU_ERR_UNKNOWN with the three nearest tensor names; a memory budget that no
 * choice meets: HU_ERR_ARGUMENT with the least. Of a precision by epoch: the first phase. */
hu_status hu_precision_write(const hu_precision *precision, const hu_graph *graph, int64_t batch,
                             bool signals, hu_edge_table *edges);

/* Whether any forward tensor of the table is narrower than its high candidate, so that promotion
 * can ever act on it. */
bool hu_precision_can_promote(const hu_precision *precision, const hu_graph *graph,
                              const hu_edge_table *edges);

/* Whether a format has float32's exponents, subnormal numbers, and at least 16 bits: bf16, tf32. */
bool hu_format_keeps_range(const hu_format *format);

/* Whether all numbers keep float32's range and at least 16 bits in all steps: nothing is rounded,
 * or to formats that do (hu_format_keeps_range) without scales, and no accumulator is chosen. Then
 * nobody asks whether a number of the size of another's rounding error is zero, and products=auto
 * may take Winograd's algorithm. State of the optimizer must stand in the table already; what
 * travels between workers is not looked at (hu_wire_formats_keep_range). */
bool hu_precision_keeps_range(const hu_precision *precision, const hu_edge_table *edges);

/* Whether the scheme, of any phase, rounds a product before its bias: the graph then has biases as
 * nodes of their own (model/registry.c). */
bool hu_precision_splits_bias(const hu_precision *precision);

/* ---- resolved_plan.c: the edge table as text, and back ---- */

/* A plan by tensor names: the edge table as text, and back.
 *
 * A resolved plan says of every tensor that has a rounding point how it is rounded, so that it
 * needs neither the scheme nor the assignment that chose so, and holds for every model whose
 * tensors have these names. docs/reference/plan.schema.json describes the file;
 * src/study/config/plan_file.c turns one into keys.
 */

enum { HU_RESOLVED_VERSION = 1 };

/* Adds "NAME: value F; use F; grad F; sum F; weights F", each part once at most, but for use and
 * grad: once, or once for each use. F is FORMAT [MODE] as hu_quantizer_parse takes it. origin
 * (copied) is where the text was read, and stands in errors. On failure the tensors stay as they
 * were; HU_ERR_PARSE, and the errors of hu_quantizer_parse, name the tensor. */
hu_status hu_precision_add_tensor(hu_precision *precision, const char *text, const char *origin);

/* FORMAT, and the rounding mode unless it is to nearest even: what hu_quantizer_parse reads again.
 * capacity: HU_QUANTIZER_BYTES + 8 are enough. */
void hu_resolved_text(const hu_quantizer *quantizer, char *text, size_t capacity);

/* "8", or "8, 8, 16, 8" by role: the bits up to which a tensor counts as low precision.
 * HU_ERR_PARSE.
 */
hu_status hu_low_bits_parse(const char *text, uint32_t bits[HU_ROLE_COUNT]);

/* XXH64 over the names of all values, each with its final zero. */
uint64_t hu_resolved_names_hash(const hu_graph *graph);

/* What a plan says beside the table. */
typedef struct hu_plan_facts {
    const char *model;
    double width;
    const hu_precision *precision; /* whose scheme, promotion and name are written */
    bool keep_masters, eval_masters;
    const hu_keys *scaler; /* map of the keys scaler.*, copied */
    int64_t step;          /* steps done when the plan was written */
} hu_plan_facts;

/* The table as the key tree of a plan file. Owner frees with hu_keys_free. */
hu_status hu_resolved_tree(const hu_plan_facts *facts, const hu_graph *graph,
                           const hu_edge_table *edges, hu_keys **tree);

#endif
