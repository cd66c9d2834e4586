/* diagnose/remedy.h - what would have held the numbers that died: other formats, scales and
 * accumulators. */
#ifndef HU_DIAGNOSE_REMEDY_H
#define HU_DIAGNOSE_REMEDY_H
#include <stdio.h>

#include "diagnose/facts.h"
#include "diagnose/run_record.h"
#include "precision/precision.h"
#include "precision/rules.h"
#include "render/json.h"
#include "train/loss_scale.h"

/* ---- Recorded numbers ---- */

/* The numbers of all rounded tensors of a run, as its histograms hold them:
 * what other ways of rounding are tried on. */

/* One histogram of one tensor. */
typedef struct hu_recorded_sample {
    const hu_exponents *numbers; /* borrowed: from the history */
    int32_t scale;               /* log2 of the loss scale in that step; 0 of forward values */
    bool was_skipped;            /* the step's update was left out */
} hu_recorded_sample;

/* A tensor that the run rounds. */
typedef struct hu_recorded_tensor {
    uint32_t place; /* in the walk */
    hu_role role;
    hu_quantizer now; /* in the run's latest record */
    int32_t top;      /* exponent of the largest number in all rows, of a gradient without its loss
                         scale; HU_NO_EXPONENT */
    bool is_small;    /* may vanish without harm: biases */
    uint32_t samples; /* histograms with numbers that are not zero; 0: nothing is told of it */
    uint32_t first;   /* where they begin in hu_recorded.sample */
    uint32_t source;  /* its own number, or where nothing is told that of the tensor it is made of
                         whose numbers stand for it; HU_NONE: of none */
} hu_recorded_tensor;

typedef struct hu_recorded {
    hu_recorded_tensor *tensor; /* [count] in the order of the walk */
    uint32_t count;
    hu_recorded_sample *sample;
    int64_t histograms; /* steps that were looked at */
    bool is_early; /* the run did not come far: its gradients are those of an untrained network */
} hu_recorded;

/* Reads the run: of many histograms, some from the first to the last, or (only_first) what was
 * recorded before anything could go wrong. What workers send each other is not among the tensors,
 * nor is what a loss gives. Owner frees with hu_recorded_free. */
hu_status hu_recorded_create(const hu_run_record *run, const hu_why *why, bool only_first,
                             hu_recorded *recorded);
void hu_recorded_free(hu_recorded *recorded);

static inline bool hu_is_backward(hu_role role) {
    return role == HU_ROLE_ACT_GRAD || role == HU_ROLE_WEIGHT_GRAD;
}

/* ---- How a run rounds and scales by its own configuration ---- */

typedef struct hu_setup {
    const char *precision; /* its name. Borrowed: from the run's configuration, as all texts */
    hu_precision parsed;   /* of that name; zero where it is none of formats by role */
    bool is_by_role;       /* parsed: every tensor of a role has one format unless a rule says
                              otherwise */
    const hu_keys *rules;  /* precision.rules; NULL */
    hu_quantizer usual[HU_ROLE_COUNT]; /* of most tensors of a role */
    hu_loss_scale_kind scaler;
    int32_t scale;          /* log2 of scaler.init */
    bool needs_masters;     /* updates of weights were lost, which are kept without masters */
    bool needs_accumulator; /* sums of products were saturated or flushed, or stalled */
    const char *accumulator;
    bool has_accumulator_rules;
} hu_setup;

/* HU_ERR_MISSING: the folder has no configuration that can be read. Owner frees with hu_setup_free.
 */
hu_status hu_setup_read(const hu_run_record *run, const hu_why *why, const hu_recorded *recorded,
                        hu_setup *setup);
void hu_setup_free(hu_setup *setup);

/* Whether two quantizers have the same numbers but for what is too large. */
bool hu_same_range(const hu_quantizer *a, const hu_quantizer *b);

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
 * every tensor of the recorded steps with an error that trains well. After them stand the formats
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

/* ---- Advice in words, as keys of a configuration and as JSON ---- */

/* Why there is no option, as sentences; NULL: there is one, or nothing is to be repaired. Gives
 * text or one that is valid forever. */
enum { HU_REASON_BYTES = 768 };
const char *hu_remedy_reason(const hu_diagnosis *x, const hu_remedy *advice,
                             char text[HU_REASON_BYTES]);

/* The words of an option as a shell takes them: "scaler=dynamic scaler.init=512". text: room for
 * HU_REMEDY_LINE_BYTES. Gives text. */
enum { HU_REMEDY_LINE_BYTES = HU_REMEDY_WORDS * (HU_REMEDY_WORD_BYTES + 4) };
const char *hu_remedy_line(const hu_remedy_option *option, char *text);

/* {"histograms", "tensors", "before": {"error", "error_tensor", "lost", "lost_tensor"}, "options":
 * [{"keys": [words], "line", "repairs", "changes", "bits", "planned_bytes",
 * "after": {...}}], "planned_bytes", "reason"}; NULL if
 * out of memory. New reference. */
json_t *hu_remedy_json(const hu_diagnosis *x, const hu_remedy *advice);

/* Writes what to try and what the recorded numbers say of it, or why there is nothing. */
void hu_remedy_write(const hu_diagnosis *x, const hu_remedy *advice, FILE *file);

#endif
