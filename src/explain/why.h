/* explain/why.h - where the numbers of a training died: the first tensor in which they did, at
 * which step, and what it was made of.
 *
 * A run that diverged died of non-finite numbers: the tensor that had them first in its last
 * skipped steps. Other deaths are tensors of which much was lost: saturation (1 % of the numbers or
 * more rounded beyond the largest finite one), underflow (half of the nonzero numbers or more
 * became zero), zero (all of them are). Tensors that were promoted for it are alive. Parameters of
 * one dimension, biases and the like, are small enough to vanish without harm: their losses do not
 * count.
 */
#ifndef HU_EXPLAIN_WHY_H
#define HU_EXPLAIN_WHY_H
#include "graph/walk.h"
#include "journal/history.h"

typedef enum hu_death_kind {
    HU_DEATH_NONE,
    HU_DEATH_NAN,
    HU_DEATH_INFINITY, /* of a tensor that is not rounded */
    HU_DEATH_OVERFLOW, /* of a rounded one, into infinity or NaN */
    HU_DEATH_SATURATION,
    HU_DEATH_UNDERFLOW,
    HU_DEATH_ZERO,
    HU_DEATH_UPDATE /* the optimizer made a weight infinite or NaN */
} hu_death_kind;

/* "nan", "infinity", ... Borrowed: valid for ever. */
const char *hu_death_kind_name(hu_death_kind kind);

typedef enum hu_verdict {
    HU_VERDICT_FINE,    /* nothing died */
    HU_VERDICT_HURT,    /* numbers died, the training went on */
    HU_VERDICT_DIVERGED /* the last steps of the run were not finite */
} hu_verdict;

typedef enum hu_death_cause {
    HU_CAUSE_GIVEN,      /* data or weights as the training began with them */
    HU_CAUSE_MADE_HERE,  /* all that the tensor is made of was alive */
    HU_CAUSE_INHERITED,  /* something that it is made of was dead */
    HU_CAUSE_NOT_COUNTED /* something that it is made of was not counted in that step */
} hu_death_cause;

/* A tensor in one step (or in some steps, as the record of them tells). */
typedef struct hu_condition {
    hu_death_kind kind;             /* NONE: alive */
    int64_t step;                   /* of the record */
    const hu_tensor_record *record; /* NULL: not counted. Borrowed: from the history */
} hu_condition;

typedef struct hu_death {
    hu_death_kind kind;
    int64_t step;
    uint32_t place; /* in the walk, HU_NONE: no death */
    hu_death_cause cause;
    uint32_t spread; /* tensors behind it that were not finite in that step */
} hu_death;

/* The state of the analysis. */
typedef struct hu_why {
    const hu_history *history; /* borrowed */
    const hu_walk *walk;       /* borrowed */
    uint32_t *place;           /* [history->tensors.count] in the walk, HU_NONE: of no tensor */
    uint32_t *tensor;          /* [walk->count] number of the name, HU_NAMES_NONE */
    bool *saturates;           /* [history->formats.count] overflow is no infinity or NaN */
    bool *rounds;              /* [history->formats.count] not float32 */
    hu_verdict verdict;
    hu_death death; /* what is to be explained */
    hu_death end;   /* non-finite numbers that the run ended with, where that is another one */
    size_t skipped; /* steps in all */
} hu_why;

/* Analyses a run; owner frees with hu_why_free. HU_ERR_CORRUPT: a format that is none. */
hu_status hu_why_create(const hu_history *history, const hu_walk *walk, hu_why *why);
void hu_why_free(hu_why *why);

/* How a tensor was at a step: by the record that holds it; of a step whose histogram says more than
 * counts do, by that. */
hu_condition hu_why_condition(const hu_why *why, uint32_t place, int64_t step);

/* Whether a dead tensor made its death itself. */
hu_death_cause hu_why_cause(const hu_why *why, uint32_t place, int64_t step);

/* Exponents of a tensor in the recorded step nearest to `step` and not behind it; NULL: none.
 * *recorded: that step. Borrowed: from the history. */
const hu_exponents *hu_why_exponents(const hu_why *why, uint32_t place, int64_t step,
                                     int64_t *recorded);

/* True of the output of a loss. Nothing reads it: the loss is reported, and the backward pass
 * begins, without its rounding. */
bool hu_why_is_loss_output(const hu_why *why, uint32_t place);

/* True for parameters of one dimension and their gradients. */
bool hu_why_is_vector(const hu_why *why, uint32_t place);

/* True if an event is a death of its own, by the rules above. */
bool hu_why_is_death(const hu_why *why, const hu_event_record *event, hu_death *death);

#endif
