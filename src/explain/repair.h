/* explain/repair.h - what would repair a run: other formats for a role, a loss scale, another rule
 * for a tensor, each tried on the recorded numbers of all tensors before it is told.
 */
#ifndef HU_EXPLAIN_REPAIR_H
#define HU_EXPLAIN_REPAIR_H
#include "explain/setup.h"
#include "explain/trial.h"

/* Options at most: as many that mend all, and cheap ones: the run's own formats with scales of two
 * kinds, and a loss scale. */
enum { HU_REPAIR_MOST = 7, HU_REPAIR_WORDS = 6, HU_REPAIR_WORD_BYTES = 1024 };

/* A change of roles' formats and of the loss scale. */
typedef struct hu_change {
    hu_way way;
    char format[HU_ROLE_COUNT][HU_QUANTIZER_BYTES]; /* words of the roles that change */
    bool is_scaled;                                 /* the loss scale is another one */
    hu_outcome outcome;
    int32_t changes;          /* how many things are other ones than before */
    int32_t bits;             /* more than before, over the roles */
    uint32_t bad, bad_before; /* gradients in trouble with it, and without; 0, 0: not counted */
} hu_change;

typedef struct hu_repair_option {
    char word[HU_REPAIR_WORDS][HU_REPAIR_WORD_BYTES]; /* "scaler=dynamic" */
    int words;
    hu_change change;
    uint64_t bytes; /* planned memory of a training with it; 0: not known (hu_repair_price) */
} hu_repair_option;

typedef struct hu_repair {
    hu_recorded recorded;
    hu_setup setup;
    bool *is_freed;    /* [recorded.count] tensors whose own rule is the cause */
    hu_outcome before; /* as the run rounds */
    hu_repair_option option[HU_REPAIR_MOST]; /* those that mend all first,
                                                the best of them first */
    int count;
    uint64_t bytes;     /* of the run's own training, likewise */
    bool is_partial;    /* no option repairs all: the best one stands alone */
    const char *reason; /* why there is none, as a sentence; NULL */
} hu_repair;

/* Finds what to try. Options change as little as possible, with as few bits as possible, and leave
 * every tensor of the recorded steps with an error that trains well. Behind them stand the formats
 * that the run has with a scale of each tensor, of its own numbers and of those of steps before
 * (which need no tensor in float32), and a dynamic loss scale alone, where these lose less without
 * being enough: who chose a format wants to know how far it goes, and what it costs. Owner frees
 * with hu_repair_free, after a failure too. HU_ERR_MISSING: no configuration. */
hu_status hu_repair_create(const hu_opened_run *run, const hu_why *why, hu_repair *advice);
void hu_repair_free(hu_repair *advice);

/* The format that gradients have though none of them was recorded, as of a run whose first forward
 * pass ended it: advice is then of the forward pass alone. NULL: there were some, or they are
 * float32. text: room for HU_QUANTIZER_BYTES. Gives text. */
const char *hu_repair_untold(const hu_repair *advice, char *text);

/* Whether every tensor of the recorded steps has an error that trains well. */
bool hu_repair_mends(const hu_repair_option *option);

/* Writes a change as words of the command line. */
void hu_repair_words(const hu_opened_run *run, const hu_repair *advice, const hu_change *change,
                     hu_repair_option *option);

#endif
