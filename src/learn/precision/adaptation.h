/* precision/adaptation.h - adaptations: what changes the edge table while a training runs.
 *
 * An adaptation is one file and one line of the list. A trainer calls those that its precision asks
 * for at two moments, in the order of the list: before the passes of a step, where they may change
 * quantizers, and at the end of a step, where its counts are known. Between the two moments no
 * quantizer changes. docs/how-to/add-an-adaptation.md shows how to add one.
 */
#ifndef HU_PRECISION_ADAPTATION_H
#define HU_PRECISION_ADAPTATION_H
#include "precision/precision.h"

typedef struct hu_adaptation hu_adaptation;

/* Something that an adaptation did or decided: for the journal, and for pictures. */
typedef struct hu_adapt_event {
    const hu_adaptation *by; /* Borrowed: valid forever */
    hu_value_id value;       /* whose forward format changes; HU_NONE: the whole table does */
    hu_quantizer from, to;   /* of the value */
    double share;            /* of its elements, what asked for the change */
    const char *precision;   /* of the whole table. Borrowed: valid as long as the training */
    int64_t epoch;           /* from which it holds */
} hu_adapt_event;

/* What an adaptation knows when a training is planned. Borrowed for the call. */
typedef struct hu_adapt_task {
    const hu_precision *precision; /* Borrowed: valid as long as the training */
    const hu_graph *graph;
    int64_t batch; /* see hu_precision_write */
    bool signals;
    int64_t steps, steps_per_epoch; /* of the whole training */
    uint64_t seed;
} hu_adapt_task;

/* What an adaptation sees, and may change, at one of its moments. Borrowed for the call. */
typedef struct hu_adapt_moment {
    const hu_graph *graph;
    hu_edge_table *edges;
    const hu_precision *precision; /* of the step's epoch */
    int64_t step, steps_per_epoch;
    bool is_between; /* before a step: what comes is none, but an evaluation or a checkpoint of the
                        model as it is after `step`, or before the first one */
    int64_t done;    /* steps */
    /* After a step: its samples, mean loss and loss scale, and whether it changed no weight. */
    int64_t samples;
    double loss;
    float scale;
    bool is_skipped;
    uint32_t counted_nodes; /* after a step: the nodes whose outputs it counted completely, see
                               engine counts in graph/run.h */
    bool rewritten;         /* before a step: the table differs from that of the pass before; an
                               adaptation that changes it says so here, and sees what those before
                               it in the list said */
    bool changes_next;      /* after a step: the next one has other formats */
    hu_adapt_event *event;  /* [event_count] of this step; NULL: nobody listens (evaluation) */
    uint32_t event_count;
} hu_adapt_moment;

struct hu_adaptation {
    /* For people: messages, pages and help. */
    const char *name;
    const char *help;
    const char *keys;    /* names of the keys that it reads, separated by spaces */
    const char *asked;   /* how a user asks for it, for messages: "+promote" */
    const char *section; /* of its state in a checkpoint; of its list in numerics.jsonl */
    /* State for a training, NULL if the precision does not ask for the adaptation. Owner frees. */
    hu_status (*create)(const hu_adapt_task *task, void **state);
    void (*free)(void *state);
    /* Before a run is planned: writes the capacities of the edges whose quantizers will change, so
     * that changing them needs no new plan. NULL: every change is planned anew. */
    void (*widen)(const void *state, const hu_graph *graph, hu_edge_table *edges);
    /* Events of one step at most. */
    uint32_t (*most_events)(const hu_graph *graph);
    /* The two moments. Neither allocates. NULL: nothing to do. */
    void (*before_step)(void *state, hu_adapt_moment *moment);
    void (*after_step)(void *state, hu_adapt_moment *moment);
    /* The state as bytes, 0 of them if nothing has happened yet. Borrowed: valid until the next
     * moment. NULL: there is none, all follows from the number of the step. */
    void (*save)(const void *state, const void **data, size_t *bytes);
    /* HU_ERR_CORRUPT unless the bytes are what save gave for such a graph; changes nothing. */
    hu_status (*check)(const void *state, const hu_graph *graph, const void *data, size_t bytes);
    /* Takes bytes that passed check in place of the present state; 0 bytes: the first state. The
     * next moment before a step is told that the table was rewritten. */
    void (*restore)(void *state, const void *data, size_t bytes);
    /* Tensors that it has changed for good: the column "promoted". NULL: it never does. */
    uint32_t (*changed)(const void *state);
};

/* X(identifier). The one list; its order is that of the calls. */
#define HU_ADAPTATION_LIST(X)                                                                      \
    X(epochs)                                                                                      \
    X(bits)                                                                                        \
    X(promote)

#define HU_ADAPTATION_COUNT_ONE(identifier) +1
enum { HU_ADAPTATION_COUNT = 0 HU_ADAPTATION_LIST(HU_ADAPTATION_COUNT_ONE) };
#undef HU_ADAPTATION_COUNT_ONE

#define HU_ADAPTATION_DECLARE(identifier) extern const hu_adaptation hu_adaptation_##identifier;
HU_ADAPTATION_LIST(HU_ADAPTATION_DECLARE)
#undef HU_ADAPTATION_DECLARE

extern const hu_adaptation *const hu_adaptation_table[HU_ADAPTATION_COUNT];

/* The adaptations of one training with their states, in the order of the table. */
typedef struct hu_adaptations {
    void *state[HU_ADAPTATION_COUNT]; /* NULL: not asked for */
    hu_adapt_event *event;            /* [most_events] */
} hu_adaptations;

/* States and room for events, for what the precision asks for. Owner frees. */
hu_status hu_adaptations_create(const hu_adapt_task *task, hu_adaptations *adaptations);
void hu_adaptations_free(hu_adaptations *adaptations);

/* Capacities that all of them ask for. */
void hu_adaptations_widen(const hu_adaptations *adaptations, const hu_graph *graph,
                          hu_edge_table *edges);

/* The two moments, for all of them. */
void hu_adapt_before_step(hu_adaptations *adaptations, hu_adapt_moment *moment);
void hu_adapt_after_step(hu_adaptations *adaptations, hu_adapt_moment *moment);

/* Tensors that were changed for good, by all of them. */
uint32_t hu_adapt_changed(const hu_adaptations *adaptations);

/* ---- Bits of a training ---- */

/* The meter of a training whose precision has a schedule of bits, else NULL. */
hu_bits_meter *hu_bits_meter_of(const hu_adaptations *adaptations);

/* Bits with which the model is used after so many steps: [layers]. */
void hu_bits_trained(const hu_adaptations *adaptations, int64_t steps, uint8_t *forward);

#endif
