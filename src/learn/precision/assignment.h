/* precision/assignment.h - assignments: which tensors are kept in the low one of two candidate
 * formats.
 *
 * A kind of assignment is one file and one line of the list. Text: NAME or NAME:ARGUMENT.
 */
#ifndef HU_PRECISION_ASSIGNMENT_H
#define HU_PRECISION_ASSIGNMENT_H
#include "precision/rules.h"
#include "precision/tensor_groups.h"

typedef enum hu_group_order {
    HU_GROUPS_DECREASING,
    HU_GROUPS_INCREASING,
    HU_GROUPS_RANDOM
} hu_group_order;

typedef struct hu_assignment_kind hu_assignment_kind;

/* What the text of an assignment says. */
typedef struct hu_assignment {
    const hu_assignment_kind *kind; /* NULL: none. Borrowed: valid for ever */
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

/* Reads "demote:0.6". *found = false, and success: no kind has this name. HU_ERR_PARSE,
 * HU_ERR_ARGUMENT: the argument, with what was expected. */
hu_status hu_assignment_parse(const char *text, hu_assignment *assignment, bool *found);

/* Bits that a value and its gradient occupy, each in one of its two candidates. */
int64_t hu_candidate_bits(const hu_assignment_task *task, hu_value_id v, bool value_low,
                          bool gradient_low);

#endif
