/* diagnose/why.h - where the numbers of a training died: the first tensor in which they did, at
 * which step, and what it was made of.
 *
 * A run that diverged (its result says so) died of non-finite numbers: the tensor that had them
 * first in its last skipped steps (root_cause.c). What else is a death, and which one is the worst,
 * is told in failures.h.
 */
#ifndef HU_DIAGNOSE_WHY_H
#define HU_DIAGNOSE_WHY_H
#include "diagnose/run_record.h"
#include "graph/tensor_order.h"
#include "runlog/events.h"
#include "runlog/history.h"

typedef enum hu_failure_kind {
    HU_FAILURE_NONE,
    HU_FAILURE_NAN,
    HU_FAILURE_INFINITY, /* of a tensor that is not rounded */
    HU_FAILURE_OVERFLOW, /* of a rounded one, into infinity or NaN */
    HU_FAILURE_SATURATION,
    HU_FAILURE_UNDERFLOW,
    HU_FAILURE_ZERO,
    HU_FAILURE_UPDATE,         /* the optimizer made a weight infinite or NaN */
    HU_FAILURE_LOST,           /* updates of a weight that its format does not hold */
    HU_FAILURE_EVALUATION,     /* infinite or NaN in an evaluation */
    HU_FAILURE_SUMS_SATURATED, /* accumulators of a product: beyond the largest number */
    HU_FAILURE_SUMS_FLUSHED,   /* below the smallest, in a format without subnormals */
    HU_FAILURE_SUMS_STALLED,   /* terms that changed nothing */
    HU_FAILURE_KINDS
} hu_failure_kind;

/* "nan", "infinity", ... Borrowed: valid forever. */
const char *hu_failure_kind_name(hu_failure_kind kind);

typedef enum hu_verdict {
    HU_VERDICT_FINE,    /* nothing died */
    HU_VERDICT_HURT,    /* numbers died, the training went on */
    HU_VERDICT_DIVERGED /* the run ended with numbers that were not finite */
} hu_verdict;

typedef enum hu_failure_cause {
    HU_CAUSE_GIVEN,      /* data or weights as the training began with them */
    HU_CAUSE_MADE_HERE,  /* all that the tensor is made of was alive */
    HU_CAUSE_INHERITED,  /* something that it is made of was dead */
    HU_CAUSE_NOT_COUNTED /* something that it is made of was not counted in that step */
} hu_failure_cause;

/* A tensor in one step (or in some steps, as the record of them tells). */
typedef struct hu_condition {
    hu_failure_kind kind;           /* NONE: alive */
    int64_t step;                   /* of the record */
    const hu_tensor_record *record; /* NULL: not counted. Borrowed: from the history */
} hu_condition;

typedef struct hu_failure {
    hu_failure_kind kind;
    int64_t step;   /* the first */
    uint32_t place; /* in the walk, HU_NONE: no death */
    hu_failure_cause cause;
    uint32_t spread;               /* tensors after it that were not finite in that step */
    const hu_event_record *event;  /* that tells it; NULL: counts of a step do. Borrowed: from the
                                      history, as sums */
    const hu_product_record *sums; /* accumulators of which it is told, in its first step; NULL: it
                                      is of the tensor's own numbers */
    const hu_adder *adder; /* the accumulator that made the numbers, or may have: then nothing was
                              counted of it in that step; NULL. Borrowed: from the run */
    int64_t last, steps;   /* the last step in which it held, and in how many; 0: not known */
    double share;          /* of the numbers that could be lost, in the steps in which it held */
    double lasted;   /* of the steps from the first on in which the tensor was counted: the share
                        in which it held */
    double behind;   /* of all tensors: the share that is made of it */
    double severity; /* weight of what was lost x lasted x after */
} hu_failure;

/* The state of the analysis. */
typedef struct hu_why {
    const hu_history *history;   /* borrowed */
    const hu_tensor_order *walk; /* borrowed */
    const hu_adders *adders;     /* borrowed */
    uint32_t *place;             /* [history->tensors.count] in the walk, HU_NONE: of no tensor */
    uint32_t *tensor;            /* [walk->count] number of the name, HU_NAMES_NONE */
    bool *saturates;             /* [history->formats.count] overflow is no infinity or NaN */
    bool *rounds;                /* [history->formats.count] not float32 */
    hu_quantizer *quantizer;     /* [history->formats.count] NONE for accumulators */
    hu_verdict verdict;
    hu_failure death;   /* what is to be explained */
    hu_failure end;     /* non-finite numbers that the run ended with, where that is another one */
    hu_failure *deaths; /* [death_count] all that lost much, the worst first */
    size_t death_count; /* each tensor has one */
    bool trains_well;   /* the loss fell by HU_TRAINS_WELL */
    size_t skipped;     /* steps in all */
    bool *is_gone;      /* [walk->count] after the death, and all zero in its step (failures.h) */
    uint32_t gone;      /* how many are */
    hu_trouble trouble; /* as the training told it */
} hu_why;

/* How a tensor was at a step: by the record that holds it; of a step whose histogram says more than
 * counts do, by that. */
hu_condition hu_why_condition(const hu_why *why, uint32_t place, int64_t step);

/* Whether a dead tensor made its death itself. */
hu_failure_cause hu_why_cause(const hu_why *why, uint32_t place, int64_t step);

/* Exponents of a tensor in the recorded step nearest to `step` and not after it; NULL: none.
 * *recorded: that step. Borrowed: from the history. */
const hu_exponents *hu_why_exponents(const hu_why *why, uint32_t place, int64_t step,
                                     int64_t *recorded);

/* True of the output of a loss. Nothing reads it: the loss is reported, and the backward pass
 * begins, without its rounding. */
bool hu_why_is_loss_output(const hu_why *why, uint32_t place);

/* Steps that were not skipped. */
size_t hu_why_steps_done(const hu_history *history);

/* How many numbers of a tensor were not zero before they were rounded, NaN left out. */
uint64_t hu_nonzero_before(const hu_round_counts *counts);

/* True for parameters of one dimension and their gradients: too few to stop a training. */
bool hu_why_is_vector(const hu_why *why, uint32_t place);

/* True for biases (parameters of one dimension by that name) and for gradients of all parameters of
 * one dimension: such numbers are small enough to vanish without harm. True for facts too, which no
 * format rounds: what a recurrence starts as is meant to be zero. */
bool hu_why_may_vanish(const hu_why *why, uint32_t place);

/* True for formats that may saturate though nobody asked for it: scales of blocks, and those from a
 * tensor's own maximum, saturate by design or not at all. */
bool hu_saturates_unasked(const hu_quantizer *quantizer);

/* Non-finite numbers in what rounding left, HU_FAILURE_NONE: there are none. */
hu_failure_kind hu_why_nonfinite(const hu_why *why, const hu_tensor_record *record);

/* A tensor's counts in a row, NULL if the row has none. Borrowed: from the history. */
const hu_tensor_record *hu_why_record(const hu_numerics_record *row, uint32_t tensor);

/* The row that holds a step, NULL: none. Borrowed: from the history. */
const hu_numerics_record *hu_why_row(const hu_history *history, int64_t step);

/* ---- The analysis ---- */

/* Analyses a run, which must outlive the analysis; owner frees with hu_why_free. HU_ERR_MEMORY. */
hu_status hu_why_create(const hu_run_record *run, hu_why *why);
void hu_why_free(hu_why *why);

#endif
