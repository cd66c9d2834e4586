/* comm/schedule.h - who sends what to whom when: reductions as lists that depend on numbers alone.
 *
 * A tensor is cut into pieces: piece c of P holds its elements n c / P .. n (c + 1) / P - 1. A
 * schedule gives every worker a list of actions on ranges of pieces. The same lists drive the
 * workers of one process, the processes of MPI and the model of their time, so that the result is a
 * function of the list, never of a transport. A schedule is one file schedule_<name>.c and one line
 * here. Source: APS paper, section 3.4 (ring, masters and workers); Thakur et al., "Optimization of
 * collective communication operations in MPICH", 2005 (halving and doubling, pairwise exchange).
 */
#ifndef HU_COMM_SCHEDULE_H
#define HU_COMM_SCHEDULE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

typedef enum hu_comm_act {
    HU_COMM_SEND,   /* own pieces go to the peer */
    HU_COMM_TAKE,   /* the peer's pieces replace the own */
    HU_COMM_ADD,    /* the peer's pieces are added to the own, rounded */
    HU_COMM_KEEP,   /* the peer's pieces wait in a slot */
    HU_COMM_COMBINE /* own pieces and those in the slots become their sum, in the order of slots */
} hu_comm_act;

/* One thing that one worker does. In a step it sends at most once and receives at most once; what
 * it sends is what it held before the step. */
typedef struct hu_comm_action {
    hu_comm_act act;
    int32_t step;         /* from 0 */
    int32_t peer;         /* COMBINE: unused */
    int32_t first, count; /* pieces */
    int32_t slot;         /* KEEP: where; COMBINE: the slot that is the worker's own */
    int32_t slots;        /* COMBINE: summands, the own one included */
    int32_t level;        /* COMBINE: 0 for the sum of gradients, 1 for the sum of such sums */
    bool is_sum;          /* SEND, TAKE, KEEP where owners of pieces add: what travels is a sum, not
                             a gradient. Of lists with ADD unused */
} hu_comm_action;

/* What one worker does, in order. */
typedef struct hu_comm_list {
    hu_comm_action *action; /* [count], owned */
    int32_t count;
    int32_t steps;  /* of the whole schedule: the same for all workers */
    int32_t pieces; /* into which a tensor is cut */
    size_t capacity;
    hu_status status; /* of the first action for which there was no memory */
} hu_comm_list;

/* What a list depends on. */
typedef struct hu_comm_shape {
    int32_t workers;
    int32_t group; /* workers of one group; schedules without groups ignore it */
    bool wide;     /* sums are made in float32 by the owner of the pieces, see comm/scaling.h */
} hu_comm_shape;

typedef struct hu_comm_schedule {
    const char *name; /* "ring" */
    const char *help;
    bool has_groups;  /* is written NAME:K */
    bool adds_on_way; /* partial sums travel: neither float32 sums nor Kahan's are possible */
    int32_t (*pieces)(const hu_comm_shape *shape);
    void (*write)(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list);
} hu_comm_schedule;

/* X(identifier). The one list of schedules. */

// clang-format off
#define HU_COMM_SCHEDULE_LIST(X) \
    X(seq)                       \
    X(ring)                      \
    X(hier)                      \
    X(hier2d)                    \
    X(halving)                   \
    X(pairwise)

// clang-format on

#define HU_COMM_SCHEDULE_DECLARE(identifier)                                                       \
    extern const hu_comm_schedule hu_comm_schedule_##identifier;
HU_COMM_SCHEDULE_LIST(HU_COMM_SCHEDULE_DECLARE)
#undef HU_COMM_SCHEDULE_DECLARE

/* Schedule number i in the order of the list, NULL behind the last. Borrowed: valid for ever. */
const hu_comm_schedule *hu_comm_schedule_at(size_t i);

/* "ring", "hier:16" -> schedule and group size (0 where there are no groups). HU_ERR_UNKNOWN with
 * all names; HU_ERR_PARSE where a group size is missing, wrong or too much. */
hu_status hu_comm_schedule_parse(const char *text, const hu_comm_schedule **schedule,
                                 int32_t *group);

/* "hier:16"; capacity bytes, 32 are enough. */
void hu_comm_schedule_print(const hu_comm_schedule *schedule, int32_t group, char *text,
                            size_t capacity);

/* HU_ERR_ARGUMENT where the schedule cannot serve the shape: says what was found and expected. */
hu_status hu_comm_schedule_check(const hu_comm_schedule *schedule, const hu_comm_shape *shape);

/* The list of one worker of a shape that the check has passed; free it with hu_comm_list_free.
 * HU_ERR_MEMORY. */
hu_status hu_comm_list_make(const hu_comm_schedule *schedule, const hu_comm_shape *shape,
                            int32_t rank, hu_comm_list *list);
void hu_comm_list_free(hu_comm_list *list);

/* First element of piece `piece` of a tensor of n elements that is cut into `pieces`. */
static inline int64_t hu_comm_edge(int64_t n, int32_t piece, int32_t pieces) {
    /* n below 2^62 / pieces: 128 bits keep the product exact for all. */
    return (int64_t)((__int128)n * piece / pieces);
}

#endif
