/* diagnose/remedy.h - what would have held the numbers that died: other formats, scales and
 * accumulators. */
#ifndef HU_EXPLAIN_REMEDY_H
#define HU_EXPLAIN_REMEDY_H
#include "diagnose/run_record.h"
#include "diagnose/setup.h"
#include "train/loss_scale.h"

/* ---- Another way of rounding, tried on the numbers that a run recorded ---- */

/* A way of rounding. */
typedef struct hu_remedy_rounding {
    bool changes[HU_ROLE_COUNT];      /* tensors of the role get another quantizer */
    hu_quantizer role[HU_ROLE_COUNT]; /* that one */
    const bool *is_freed; /* [hu_recorded.count] tensors that go as the rest of their role; NULL:
                             none. Borrowed */
    const hu_quantizer *usual; /* [HU_ROLE_COUNT] the rest of each role. Borrowed */
    hu_loss_scale_kind scaler;
    int32_t scale; /* log2 of a constant loss scale, or of the one that a dynamic one begins with */
    bool is_recorded; /* with the loss scales that the steps had */
} hu_remedy_rounding;

/* What a way of rounding does to the tensors of one direction. */
typedef struct hu_remedy_outcome {
    double score; /* the largest error in units of what trains well: beyond 1 it hurts */
    double lost;  /* the largest share of a tensor's nonzero numbers that vanish or exceed */
    double error; /* the largest error of a tensor, see hu_rounding_loss */
    uint32_t lost_tensor, error_tensor; /* of hu_recorded; HU_NONE */
    bool is_fatal;                      /* some number becomes infinite in every step */
} hu_remedy_outcome;

/* Judges forward or backward tensors by their worst histogram. Tensors of which nothing is told are
 * judged by those that stand for them, larger and smaller ones too; where the steps are taken as
 * they were (is_recorded), not at all. Gradients of a run that did not come far are judged larger
 * and smaller, too: they will not stay as they are once it trains.
 *
 *   scores  [hu_recorded.count] or NULL: of each tensor of that direction
 */
hu_remedy_outcome hu_remedy_trial_judge(const hu_recorded *recorded, const hu_remedy_rounding *way,
                                        bool backward, double *scores);

/* log2 of the largest loss scale that leaves every gradient room to grow below the end of its
 * format, more where it stays as it is; HU_NO_EXPONENT where no gradient has an end. */
int32_t hu_remedy_trial_limit(const hu_recorded *recorded, const hu_remedy_rounding *way);

/* ---- repair ---- */

/* What would repair a run: other formats for a role, a loss scale, another rule
 * for a tensor, each tried on the recorded numbers of all tensors before it is told.
 */

/* Options at most: as many that mend all, and cheap ones: the run's own formats with scales of two
 * kinds, and a loss scale. */
enum { HU_REMEDY_MOST = 7, HU_REMEDY_WORDS = 6, HU_REMEDY_WORD_BYTES = 1024 };

/* A change of roles' formats and of the loss scale. */
typedef struct hu_change {
    hu_remedy_rounding way;
    char format[HU_ROLE_COUNT][HU_QUANTIZER_BYTES]; /* words of the roles that change */
    bool is_scaled;                                 /* the loss scale is another one */
    hu_remedy_outcome outcome;
    int32_t changes;          /* how many things are other ones than before */
    int32_t bits;             /* more than before, over the roles */
    uint32_t bad, bad_before; /* gradients in trouble with it, and without; 0, 0: not counted */
} hu_change;

typedef struct hu_remedy_option {
    char word[HU_REMEDY_WORDS][HU_REMEDY_WORD_BYTES]; /* "scaler=dynamic" */
    int words;
    hu_change change;
    uint64_t bytes; /* planned memory of a training with it; 0: not known (hu_remedy_price) */
} hu_remedy_option;

typedef struct hu_remedy {
    hu_recorded recorded;
    hu_setup setup;
    bool *is_freed;           /* [recorded.count] tensors whose own rule is the cause */
    hu_remedy_outcome before; /* as the run rounds */
    hu_remedy_option option[HU_REMEDY_MOST]; /* those that mend all first,
                                                the best of them first */
    int count;
    uint64_t bytes;     /* of the run's own training, likewise */
    bool is_partial;    /* no option repairs all: the best one stands alone */
    const char *reason; /* why there is none, as a sentence; NULL */
} hu_remedy;

/* Finds what to try. Options change as little as possible, with as few bits as possible, and leave
 * every tensor of the recorded steps with an error that trains well. Behind them stand the formats
 * that the run has with a scale of each tensor, of its own numbers and of those of steps before
 * (which need no tensor in float32), and a dynamic loss scale alone, where these lose less without
 * being enough: who chose a format wants to know how far it goes, and what it costs. Owner frees
 * with hu_remedy_free, after a failure too. HU_ERR_MISSING: no configuration. */
hu_status hu_remedy_create(const hu_run_record *run, const hu_why *why, hu_remedy *advice);
void hu_remedy_free(hu_remedy *advice);

/* The format that gradients have though none of them was recorded, as of a run whose first forward
 * pass ended it: advice is then of the forward pass alone. NULL: there were some, or they are
 * float32. text: room for HU_QUANTIZER_BYTES. Gives text. */
const char *hu_remedy_untold(const hu_remedy *advice, char *text);

/* Whether every tensor of the recorded steps has an error that trains well. */
bool hu_remedy_mends(const hu_remedy_option *option);

/* Writes a change as words of the command line. */
void hu_remedy_words(const hu_run_record *run, const hu_remedy *advice, const hu_change *change,
                     hu_remedy_option *option);

#endif
