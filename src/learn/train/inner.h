/* train/inner.h - the trainer's own structure: for the files of this room only. */
#ifndef HU_TRAIN_INNER_H
#define HU_TRAIN_INNER_H
#include <signal.h>

#include "engine/run.h"
#include "graph/tensor_order.h"
#include "precision/adaptation.h"
#include "task/task.h"
#include "train/options.h"

/* ---- The total loss of the samples of several passes ---- */

/* Sums over the passes so far, by loss of the graph. */
typedef struct hu_loss_sums {
    double stats[HU_LOSSES_MOST][HU_LOSS_STATS];
    double units[HU_LOSSES_MOST]; /* over which each loss is a mean, see op/op.h */
} hu_loss_sums;

/* Adds what a pass found. */
void hu_loss_sums_add(hu_loss_sums *sums, const hu_pass_result *result);

/* The total loss: the sum over the losses of weight x mean over units. A loss without a unit is
 * zero beside others; where none has one the total is NaN, of a task that looks for boxes 0. */
double hu_loss_sums_total(const hu_loss_sums *sums, const hu_graph *graph, const hu_task *task);

/* Section "position" of a checkpoint, in the machine's own byte order like all sections. */
typedef struct hu_train_position {
    uint64_t graph, seed;
    hu_train_progress progress;
} hu_train_position;

/* A place of a pass in which a sample is written (train/greedy_decode.h). */
typedef struct hu_writer {
    int64_t sample, words, most; /* place in the half, words so far, and their bound */
    bool is_done;
} hu_writer;

/* What evaluation works in: made with the trainer, so that evaluating allocates nothing. */
typedef struct hu_evaluation_room {
    float *prediction;            /* [part, elements], where storage must be unpacked */
    float *code[2];               /* [part, code] means and log-variances likewise */
    float *pair;                  /* [part, 2] scores of pairs likewise */
    void *scratch;                /* of the task */
    float *said;                  /* [samples of the larger half, rows], of tasks that write */
    hu_writer *writers;           /* [part] likewise */
    double *sums[HU_METRICS_MAX]; /* by collection (hu_task_collection); NULL between them */
    double test[HU_METRICS_MAX];  /* of the latest evaluation on test samples; NaN: none yet */
    double *by_class[2][HU_METRICS_MAX]; /* [classes] likewise, and on samples held out; NULL of
                                            metrics that are no means over classes */
} hu_evaluation_room;

/* See train/evaluate.h. All zero: test samples are as large as those of training. */
typedef struct hu_evaluation_graph {
    hu_graph *graph;
    hu_task_shapes shapes;
    hu_edge_table edges;
    hu_run *run; /* while they are evaluated */
} hu_evaluation_graph;

/* Samples of a batch that one worker takes. */
typedef struct hu_share {
    int64_t first, end;
} hu_share;

/* What the passes of a worker found in a step. Travels between processes: no padding. */
typedef struct hu_worker_result {
    hu_loss_sums losses;
    int64_t zeroed;          /* streams whose states have become zeros (train/recurrent_state.h) */
    uint32_t ended;          /* every forward pass came to its end */
    uint32_t stopped;        /* some number could not go on */
    uint32_t overflowed;     /* a format stopped a pass */
    uint32_t counted_nodes;  /* see engine/run.h; the fewest of the passes */
    uint32_t wants_stop;     /* the process of the worker was asked to end */
    uint32_t bad_statistics; /* running statistics, which worker 0 keeps, are not finite */
    uint32_t drops; /* of the learning rate: worker 0's, whose process sees the evaluations */
    uint32_t unused;
} hu_worker_result;

/* Format that travels from an epoch on. */
typedef struct hu_wire_phase {
    int64_t epoch;
    hu_format format;
} hu_wire_phase;

/* See train/workers.h. */
typedef struct hu_workers {
    int32_t count, first, here; /* of all; those of this process */
    float **gradient;           /* [here] of [trained]; NULL: the only one is read in place */
    hu_comm_layer *layer;       /* [layers] in the order in which the backward pass makes them */
    hu_value_id *param;         /* [layers] */
    int32_t *layer_of;          /* [value_count] of a parameter's gradient */
    bool *is_ready;             /* [layers] whose gradient the present worker has made */
    int32_t layers;
    hu_wire_phase *phase; /* [phases] */
    int32_t phases, present;
    hu_comm_plan *plan;
    hu_process_group *team;
    uint64_t team_bytes;      /* what the team holds */
    hu_worker_result *result; /* [count] */
    int32_t part_of;          /* worker `here` whose pass runs */
    bool is_first_part, is_last_part;
    unsigned char *record; /* [count] results and findings (engine/run.h) of all processes;
                              NULL:    this one runs all workers */
    float *before[HU_COMM_LOSSES]; /* [here][elements] that error feedback kept before the step */
    /* What error feedback keeps elsewhere, for a checkpoint: [count - 1][elements] of workers 1, 2,
     * ..., where worker 0 is and the others are in other processes; else NULL. */
    float *elsewhere[HU_COMM_LOSSES];
    hu_comm_counts lost; /* of all layers, of the steps that were done */
    float scale;         /* loss scale of what error feedback keeps */
} hu_workers;

/* See train/recurrent_state.h. */
typedef struct hu_streams {
    int64_t numbers;  /* that go on, of one stream; 0: none do */
    float *rows;      /* [batch][numbers] of a checkpoint */
    float *elsewhere; /* [workers - 1][most samples of a worker][numbers] of other processes */
    int64_t zeroed;   /* streams that began again because they were not finite or not made, in all
                         steps */
} hu_streams;

/* What each turn of a step has of its own; of graphs without turns there is one, of everything. */
typedef struct hu_learner {
    hu_optimizer *optimizer;     /* its state is that of elements offset .. */
    int64_t offset, elements;    /* its masters */
    int64_t first_block, blocks; /* of the gradient */
    uint32_t first, count;       /* its parameters in name order */
    hu_loss_scale scaler;
} hu_learner;

/* Bits of all tensors of a batch in their formats: in the first step, and summed over the steps. */
typedef struct hu_aggregate {
    double first, sum;
} hu_aggregate;

enum { HU_PLATEAU_WINDOWS = 3 };

/* See train/early_stopping.h. Section "plateau" of a checkpoint. */
typedef struct hu_plateau {
    int64_t drops;                   /* so often has the rate fallen */
    int64_t stale;                   /* evaluations since the best one, or since it fell */
    double best;                     /* of their metric; NaN: there was none */
    double sum;                      /* of losses, */
    int64_t steps;                   /* so many */
    int64_t windows;                 /* means so far, */
    double mean[HU_PLATEAU_WINDOWS]; /* of which number w is at w modulo these */
} hu_plateau;

/* See train/early_stopping.h. Section "patience" of a checkpoint. */
typedef struct hu_early_stopping {
    double best;   /* metric of the best evaluation; NaN: there was none */
    int64_t stale; /* evaluations since then */
} hu_early_stopping;

/* Parameters whose gradients are clipped together: group 0 by options.clip_norm, the others by the
 * rules of options.clip_rules. */
typedef struct hu_clip {
    uint32_t groups;
    uint32_t *group; /* [parameters] in name order */
    double *bound;   /* [groups] 0: none */
    double *squares; /* [groups] of a turn's gradient */
} hu_clip;

/* Running means of the weights (train/weight_average.h). */
typedef struct hu_weight_average {
    float *mean;      /* [trained], NULL: there are none */
    bool *takes_part; /* [parameters] in name order; the others are as they are */
} hu_weight_average;

typedef struct hu_trainer {
    hu_train_options options;
    /* What is learned, and from which data. */
    const hu_dataset *dataset;
    const hu_task *task;
    const hu_loss_form *loss;
    hu_task_shapes shapes;
    float *target; /* [elements of a target] while the units of a batch are counted */
    hu_evaluation_room room;
    hu_evaluation_graph tested; /* of test samples that have another size */
    /* Model, its formats, its numbers, and the plan that runs them. */
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    /* How a step moves them on. */
    hu_loader *train_loader, *test_loader;
    hu_loader *validation_loader;     /* NULL: nothing is held out */
    hu_learner phase[HU_PHASES_MOST]; /* [turns], in the order of the step */
    int phases;
    hu_train_progress progress;
    hu_aggregate aggregate;
    hu_plateau plateau;
    hu_early_stopping patience;
    hu_tensor_order walk;
    /* Room for one step and one checkpoint, and facts that are worked out once. */
    hu_train_position position; /* what the checkpoint being written borrows */
    hu_workers workers;
    float *gradient_sum;       /* [trained] of accumulated parts or of workers; NULL: the gradient
                                  of the only pass is read in place. Borrowed from workers if they
                                  have gradients, else owned */
    double *block_squares;     /* [blocks] partial sums of the squared norm */
    double *weight_squares;    /* the same of the masters, NULL where no update reads it */
    hu_tensor_update *tensors; /* [parameters] in name order */
    hu_clip clip;
    hu_weight_average average;
    hu_streams streams;
    char *state_formats;  /* of packed state, as a checkpoint has them (train/state_formats.h) */
    uint32_t *name_order; /* [parameters] value ids of the trained parameters in name order */
    uint32_t parameter_count;
    uint64_t init_hash;   /* of the weights that the training began with, 0: drawn */
    int64_t loaded_epoch; /* epoch whose order the train loader holds; -1: none */
    int64_t steps_per_epoch;
    int64_t part;                      /* samples of one pass */
    const volatile sig_atomic_t *stop; /* set where this process was asked to end, or NULL */
    int64_t count_every;               /* steps between those that count all, 0: none do */
    bool timed;                        /* steps add up what their time is spent on */
    hu_adaptations adaptations;
    uint32_t counted_nodes; /* of the step's last forward pass, see engine/run.h */
    bool bad_statistics;    /* running statistics are not finite behind the step's passes */
    char culprit[512];
} hu_trainer;

#endif
