/* train/trainer.h - training: joins model, precision, data, optimizer, schedule and loss scaling,
 * one step at a time. */
#ifndef HU_TRAIN_TRAINER_H
#define HU_TRAIN_TRAINER_H
#include <halfulp/data.h>

#include "graph/run.h"
#include "model/model.h"
#include "observe/ledger.h"
#include "precision/plan.h"
#include "precision/promote.h"
#include "store/checkpoint.h"
#include "train/loss_scale.h"
#include "train/optimizer.h"
#include "train/schedule.h"

typedef struct hu_train_options {
    const char *model; /* Borrowed, as the precision: must outlive the trainer */
    double width;
    hu_augment augment;
    bool keep_order;        /* training samples come in the order of the data set, not shuffled */
    const char *init;       /* file whose weights the run began with, NULL: drawn. Borrowed */
    uint64_t init_hash;     /* of these weights, see hu_trainer_init_hash; 0: not known */
    hu_precision precision; /* Borrowed: its rules must outlive the trainer */
    bool keep_masters; /* false: the weights live in their format: rounded at the start and after
                          each update, so that small updates vanish (Micikevicius et al.) */
    bool eval_masters; /* evaluate with unrounded weights */
    hu_optimizer_options optimizer;
    hu_schedule schedule;
    double clip_norm;   /* largest L2 norm of the unscaled gradient; 0: no clipping */
    int64_t accumulate; /* parts of a batch that run one after the other, their gradients added */
    hu_loss_scale_options scaler;
    int64_t batch; /* samples of one update */
    int64_t steps; /* updates of the whole training */
    uint64_t seed;
    int threads;
    int64_t chunk;
    hu_storage_mode storage;
    bool apart;              /* every node in loops of its own, see graph/fuse.h */
    bool recompute;          /* cheap results are made again in the backward pass */
    bool by_dnn;             /* products without a chosen accumulator by oneDNN */
    bool by_winograd;        /* or by Winograd's algorithm where it fits */
    int64_t histogram_every; /* steps between those whose exponents are recorded; 0: none */
} hu_train_options;

/* Numbers that a run carries from step to step and that are not weights. */
typedef struct hu_train_progress {
    int64_t step;      /* updates done, skipped ones included */
    double epoch_loss; /* sum over samples of the present epoch */
    int64_t epoch_samples;
    double last_epoch_loss; /* mean over the samples of the latest epoch that were seen so far */
    double ratio_sum;       /* low-precision ratio, summed over steps */
    double last_accuracy, best_accuracy;
    int64_t last_accuracy_step;                        /* -1: not yet evaluated */
    uint64_t elements, overflow, underflow, subnormal; /* all roundings so far */
} hu_train_progress;

typedef struct hu_step_report {
    int64_t step; /* number of the step, from 0 */
    int64_t epoch;
    int64_t samples;
    double loss; /* mean over the batch, before the loss op's own rounding */
    int64_t correct;
    double lr;
    float scale;          /* loss scale used */
    double gradient_norm; /* of the unscaled gradient; NaN if not finite */
    bool skipped;
    const hu_promotion *promotion; /* [promotions] tensors that go high from the next step on.
                                      Borrowed: valid until the next step */
    uint32_t promotions;
    double low_ratio;    /* low-precision ratio of the step */
    uint32_t promoted;   /* tensors promoted so far, these included */
    const char *culprit; /* where a non-finite number first appeared, "" if none. Borrowed: valid
                            until the next step */
} hu_step_report;

typedef struct hu_trainer hu_trainer;

/* Plans everything; the data set is borrowed and must outlive the trainer. */
hu_status hu_trainer_create(const hu_train_options *options, const hu_dataset *dataset,
                            hu_trainer **trainer);
void hu_trainer_free(hu_trainer *trainer);

/* One update. A step whose gradients are not finite is skipped: weights and optimizer state stay as
 * they are. Running statistics belong to the forward pass: they are updated when it ends with a
 * finite loss, whatever the backward pass finds then, as in torch with GradScaler.
 * HU_ERR_NONFINITE: the run has diverged (no loss scaling, or too many skipped steps);
 * the message names step and tensor. The state must not be saved: the weights are those of the last
 * good step, unless the update itself overflowed. */
hu_status hu_trainer_step(hu_trainer *trainer, hu_step_report *report);

/* Lets later steps add up what their time is spent on (hu_run_work_seconds), or not. */
void hu_trainer_time_work(hu_trainer *trainer, bool timed);

/* Share of the test samples classified correctly (0..1), and their mean loss. */
hu_status hu_trainer_evaluate(hu_trainer *trainer, double *accuracy, double *loss);

/* What the model says of one sample. */
typedef struct hu_prediction {
    int64_t label;
    int64_t predicted;  /* class of the largest probability; -1 where a number was not finite */
    double probability; /* of that class, after the roundings of the precision; NaN with -1 */
} hu_prediction;

/* predictions[count] of the first test samples, with the weights that evaluation uses; their
 * classes are those that hu_trainer_evaluate counts. HU_ERR_ARGUMENT if there are fewer. */
hu_status hu_trainer_predict(hu_trainer *trainer, int64_t count, hu_prediction *predictions);

/* Notes an accuracy in the progress record. */
void hu_trainer_note_accuracy(hu_trainer *trainer, double accuracy);

/* Adds the whole state to a checkpoint; the trainer must not run until the checkpoint is finished.
 */
hu_status hu_trainer_save(hu_trainer *trainer, hu_checkpoint_writer *writer);

/* Takes the state of a checkpoint of the same model, seed and initial weights; nothing is changed
 * on failure. HU_ERR_CORRUPT names the section, HU_ERR_ARGUMENT the two seeds or hashes if they
 * differ.
 */
hu_status hu_trainer_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* Tensors promoted so far. */
uint32_t hu_trainer_promoted(const hu_trainer *trainer);

/* Borrowed views: valid as long as the trainer; the run until a step or evaluation that follows a
 * promotion. */
const hu_train_progress *hu_trainer_progress(const hu_trainer *trainer);
const hu_graph *hu_trainer_graph(const hu_trainer *trainer);
const hu_run *hu_trainer_run(const hu_trainer *trainer);
const hu_loss_scale_state *hu_trainer_scaler(const hu_trainer *trainer);
int64_t hu_trainer_steps_per_epoch(const hu_trainer *trainer);
int64_t hu_trainer_batch(const hu_trainer *trainer); /* samples of one update */

/* XXH64 over the bits of the master weights in name order. */
uint64_t hu_trainer_weights_hash(const hu_trainer *trainer);

/* Share of low-precision elements of the present plan at this batch. */
double hu_trainer_low_ratio(const hu_trainer *trainer);

/* Planned bytes by role. */
hu_ledger hu_trainer_ledger(const hu_trainer *trainer);

#endif
