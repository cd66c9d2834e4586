/* explain/trial.h - another way of rounding, tried on the numbers that a run recorded. */
#ifndef HU_EXPLAIN_TRIAL_H
#define HU_EXPLAIN_TRIAL_H
#include "explain/recorded.h"
#include "train/loss_scale.h"

/* A way of rounding. */
typedef struct hu_way {
    bool changes[HU_ROLE_COUNT];      /* tensors of the role get another quantizer */
    hu_quantizer role[HU_ROLE_COUNT]; /* that one */
    const bool *is_freed; /* [hu_recorded.count] tensors that go as the rest of their role; NULL:
                             none. Borrowed */
    const hu_quantizer *usual; /* [HU_ROLE_COUNT] the rest of each role. Borrowed */
    hu_loss_scale_kind scaler;
    int32_t scale; /* log2 of a constant loss scale, or of the one that a dynamic one begins with */
    bool is_recorded; /* with the loss scales that the steps had */
} hu_way;

/* What a way of rounding does to the tensors of one direction. */
typedef struct hu_outcome {
    double score; /* the largest error in units of what trains well: beyond 1 it hurts */
    double lost;  /* the largest share of a tensor's nonzero numbers that vanish or exceed */
    double error; /* the largest error of a tensor, see hu_expected */
    uint32_t lost_tensor, error_tensor; /* of hu_recorded; HU_NONE */
    bool is_fatal;                      /* some number becomes infinite in every step */
} hu_outcome;

/* Judges forward or backward tensors by their worst histogram. Tensors of which nothing is told are
 * judged by those that stand for them, larger and smaller ones too; where the steps are taken as
 * they were (is_recorded), not at all. Gradients of a run that did not come far are judged larger
 * and smaller, too: they will not stay as they are once it trains.
 *
 *   scores  [hu_recorded.count] or NULL: of each tensor of that direction
 */
hu_outcome hu_trial_judge(const hu_recorded *recorded, const hu_way *way, bool backward,
                          double *scores);

/* Both directions together: the worse of each. */
hu_outcome hu_outcome_worse(const hu_outcome *a, const hu_outcome *b);

/* log2 of the largest loss scale that leaves every gradient room to grow below the end of its
 * format, more where it stays as it is; HU_NO_EXPONENT where no gradient has an end. */
int32_t hu_trial_limit(const hu_recorded *recorded, const hu_way *way);

#endif
