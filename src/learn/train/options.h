/* train/options.h - what a training is asked to do, and what it tells of itself. */
#ifndef HU_TRAIN_OPTIONS_H
#define HU_TRAIN_OPTIONS_H
#include <halfulp/data.h>

#include "base/keys.h"
#include "comm/process_group.h"
#include "engine/run.h"
#include "model/model.h"
#include "precision/adaptation.h"
#include "precision/precision.h"
#include "train/loss_scale.h"
#include "train/lr_schedule.h"
#include "train/optimizer.h"

/* How the gradients of several workers meet. Texts are borrowed: needed as long as the trainer. */
typedef struct hu_train_comm {
    hu_comm_options options; /* workers 0: one worker trains alone, nothing travels */
    const char *formats;     /* what travels: a format, or a list by epoch "0: fp32, 30: e4m3" */
    const char *exact;       /* globs of parameters that travel in float32, separated by commas;
                                "last": those of the last layer; "": none */
    /* How this process meets the others. NULL: it runs all workers. plan and gradient as in
     * hu_process_group_emulated, for worker `first` alone. */
    hu_status (*join)(void *context, const hu_comm_plan *plan, float *const *gradient,
                      hu_process_group **team);
    void *context;
    int32_t first; /* worker of this process, where there is join */
} hu_train_comm;

typedef struct hu_train_options {
    const char *model;        /* Borrowed, as the precision: must outlive the trainer */
    const hu_custom_net *own; /* NULL: the model of the name. Borrowed: needed while the trainer is
                              made */
    const hu_keys *network;   /* a network file in place of both, NULL: none. Borrowed as own */
    const hu_task *task;      /* NULL: what the model's head is made for */
    const hu_loss_form *loss; /* NULL: the task's usual one */
    double beta;              /* weight of the divergence of a code, of tasks that have one */
    double smoothing;         /* of classes, see op/attributes.h; of adversaries: 1 minus what real
                                 pictures are to the judge */
    double width;
    hu_model_norm norm;   /* of the model of the name, */
    bool norms_all_rows;  /* hu_model_options */
    hu_model_sizes sizes; /* likewise */
    double dropout;       /* of its dropout nodes; negative: its own */
    double drop_path;     /* hu_model_options */
    hu_augment augment;
    /* Where the training begins and in which order it sees the samples. */
    bool drop_last;         /* an epoch ends with its last whole batch */
    bool keep_order;        /* training samples come in the order of the data set, not shuffled */
    int64_t sorted_epochs;  /* the first epochs, whose samples come by their length */
    const hu_keys *buckets; /* ascending lengths, see hu_loader_settings; NULL or empty: none.
                               Borrowed: needed while the trainer is made */
    const char *init;       /* file whose weights the run began with, NULL: drawn. Borrowed */
    uint64_t init_hash;     /* of these weights, see hu_trainer_init_hash; 0: not known */
    hu_precision precision; /* Borrowed: its rules must outlive the trainer */
                            /* Formats, and which weights are kept and evaluated. */
    bool keep_masters; /* false: the weights live in their format: rounded at the start and after
                          each update, so that small updates vanish (Micikevicius et al.) */
    bool eval_masters; /* evaluate with unrounded weights */
                       /* The update. */
    hu_optimizer_options optimizer;
    const hu_keys *optimizer_state; /* formats of its state, see train/state_formats.c; NULL:
                                       float32. Borrowed, as no_decay */
    const hu_keys *no_decay;        /* patterns of the parameters without weight decay, NULL: none.
                                       Borrowed: needed while the trainer is made */
    double average;            /* decay of the running means of the weights; 0: there are none */
    const hu_keys *average_of; /* patterns of what is averaged; NULL: all. Borrowed, as no_decay */
    bool eval_average;         /* evaluate with the means, where there are some */
    int64_t patience;          /* evaluations in a row without a better metric after which the
                                  training ends; 0: it never ends early */
    double min_delta;          /* by how much a better one beats the best, in its printed unit */
    bool eval_writes;          /* let models write by themselves, where the task has it */
    hu_schedule schedule;
    double phase_2_rate;       /* rate of the second turn over that of the first; 0: the same */
    const hu_keys *lr_rules;   /* "PATTERN: FACTOR" of the rate, the first that matches; NULL: none.
                                  Borrowed: needed while the trainer is made */
    double clip_norm;          /* largest L2 norm of the unscaled gradient; 0: no clipping */
    const hu_keys *clip_rules; /* "PATTERN: NORM", bounds of their own; else as lr_rules */
    int64_t accumulate; /* parts of a worker's samples that run one after the other, their gradients
                           added */
    hu_loss_scale_options scaler;
    hu_train_comm comm;
    int64_t batch;           /* samples of one update */
    int64_t steps;           /* updates of the whole training */
    hu_run_options run;      /* its batch is the trainer's business: the samples of a part */
                             /* What is recorded. */
    int64_t histogram_every; /* steps between those whose exponents are recorded; 0: none */
} hu_train_options;

/* Whether an infinity among the gradients is heard of: see hu_precision_write. */
static inline bool hu_scaler_signals(const hu_train_options *options) {
    return options->scaler.kind != HU_LOSS_SCALE_NONE;
}

/* Numbers that a run carries from step to step and that are not weights. */
typedef struct hu_train_progress {
    int64_t step; /* updates done, skipped ones included */
    /* Of the present epoch: the sum of loss x samples, a sample of which half the rows count being
     * half a sample; and units of the first loss (samples, or rows that count). */
    double epoch_loss;
    int64_t epoch_units;
    double last_epoch_loss; /* mean over the units of the latest epoch that were seen so far; NaN:
                               none was, as where all of its steps were skipped */
    double ratio_sum;       /* low-precision ratio, summed over steps */
    double last_metric, best_metric; /* the task's first metric, on the samples that it is
                                        followed by: those held out if there are any, else test */
    int64_t last_metric_step;        /* -1: not yet evaluated */
    uint64_t elements, overflow, underflow, subnormal; /* all roundings so far */
} hu_train_progress;

/* One turn of a step. */
typedef struct hu_phase_report {
    const char *name; /* of the turn, "" of the one turn of other graphs. Borrowed: as long as the
                         trainer */
    double loss;      /* as that of the step */
    double gradient_norm; /* likewise */
    double lr;            /* of the turn */
    float scale;
    bool skipped; /* its parameters and optimizer stayed as they were */
} hu_phase_report;

/* Samples that a program has, in place of those of the data set: rows by field of the data set,
 * [count, extents of the field], as the network reads them; NULL: nothing is known of the field. */
typedef struct hu_given_samples {
    const float *const *rows;
    int64_t count;
} hu_given_samples;

typedef struct hu_step_report {
    int64_t step; /* number of the step, from 0 */
    int64_t epoch;
    int64_t samples;
    hu_phase_report phase[HU_PHASES_MOST]; /* [turns] */
    int phases;                            /* 1 of graphs without turns */
    double loss; /* mean over the batch, before the loss op's own rounding; the sum of all turns' */
    double metric; /* the task's first metric over the batch; NaN where losses do not tell it */
    double lr;
    float scale;          /* loss scale used, in the first turn */
    double gradient_norm; /* of the unscaled gradient, of all turns; NaN if not finite */
    bool skipped;         /* some turn was */
    int64_t zeroed;       /* streams whose states were not finite, or not made, and begin again */
    bool wants_stop;      /* the process of some worker was asked to end, see hu_trainer_watch */
    const hu_adapt_event *event; /* [events] what adaptations found: it comes true before the next
                                    pass. Borrowed: valid until the next step */
    uint32_t events;
    bool changes_next;   /* the next step has other formats */
    double low_ratio;    /* low-precision ratio of the step */
    uint32_t promoted;   /* tensors promoted so far, those of this step included */
    const char *culprit; /* where a non-finite number first appeared, "" if none. Borrowed: valid
                            until the next step */
} hu_step_report;

#endif
