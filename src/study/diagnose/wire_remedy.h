/* diagnose/wire_remedy.h - what could be changed of how gradients travel, and what each change
 * would lose. */
#ifndef HU_EXPLAIN_WIRE_REMEDY_H
#define HU_EXPLAIN_WIRE_REMEDY_H
#include "diagnose/run_record.h"
#include "diagnose/why.h"

enum { HU_WIRE_KEYS_BYTES = 256, HU_WIRE_EFFECT_BYTES = 160, HU_WIRE_TRIES_MOST = 12 };

/* What a way of sending loses of the gradients of a step, before they are summed. */
typedef struct hu_wire_loss {
    bool is_known; /* exponents were recorded */
    hu_lost lost;
    bool is_most;  /* pieces with scales of their own lose less */
    bool sums_fit; /* a sum of all workers cannot leave the range */
} hu_wire_loss;

typedef struct hu_wire_remedy_trial {
    char keys[HU_WIRE_KEYS_BYTES];     /* words for `train`: "scaling=aps2 schedule=pairwise" */
    char effect[HU_WIRE_EFFECT_BYTES]; /* "would lose 1.2 % ..." */
    hu_wire_loss loss;
} hu_wire_remedy_trial;

typedef struct hu_wire_remedy {
    char way[HU_WIRE_EFFECT_BYTES]; /* "8 workers, e4m3, scaling none, schedule ring" */
    int64_t step;                   /* whose exponents tell, -1: none were recorded */
    hu_wire_loss now;               /* of the way that the run has */
    hu_wire_remedy_trial option[HU_WIRE_TRIES_MOST];
    int count;
} hu_wire_remedy;

/* True of gradients on their way, and of their sums there. */
bool hu_is_on_wire(const hu_run_record *run, uint32_t place);

/* What another format would lose under the scaling of the run. */
hu_wire_loss hu_wire_remedy_loss_in(const hu_run_record *run, const hu_why *why, uint32_t place,
                                    int64_t step, const hu_format *format);

/* Whether nothing overflows, not in sums either, and at most 1 % vanishes. */
bool hu_wire_remedy_holds(const hu_wire_loss *loss);

/* For the death of a tensor on its way. Every option is one that `train` takes in place of the
 * run's own. None where the folder has no
 * configuration that can be read. */
void hu_wire_remedy_find(const hu_run_record *run, const hu_why *why, const hu_failure *death,
                         hu_wire_remedy *advice);

#endif
