/* train/inner.h - the trainer's own structure: for the files of this room only. */
#ifndef HU_TRAIN_INNER_H
#define HU_TRAIN_INNER_H
#include "engine/pass.h"
#include "graph/walk.h"
#include "precision/adapt.h"
#include "train/options.h"

/* Section "position" of a checkpoint, in the machine's own byte order like all sections. */
typedef struct hu_train_position {
    uint64_t graph, seed;
    hu_train_progress progress;
} hu_train_position;

/* What evaluation works in: made with the trainer, so that evaluating allocates nothing. */
typedef struct hu_evaluation_room {
    float *prediction;            /* [part, elements], where storage must be unpacked */
    double *sums[HU_METRICS_MAX]; /* by metric of the task */
} hu_evaluation_room;

typedef struct hu_trainer {
    hu_train_options options;
    /* What is learned, and from which data. */
    const hu_dataset *dataset;
    const hu_task *task;
    const hu_loss_form *loss;
    hu_task_shapes shapes;
    float *target; /* [elements of a target] while the units of a batch are counted */
    hu_evaluation_room room;
    /* Model, its formats, its numbers, and the plan that runs them. */
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    /* How a step moves them on. */
    hu_loader *train_loader, *test_loader;
    hu_optimizer *optimizer;
    hu_loss_scale scaler;
    hu_train_progress progress;
    hu_walk walk;
    /* Room for one step and one checkpoint, and facts that are worked out once. */
    hu_train_position position; /* what the checkpoint being written borrows */
    float *gradient_sum;        /* [trained] of accumulated parts, NULL if accumulate is 1 */
    double *block_squares;      /* [blocks] partial sums of the squared norm */
    uint32_t *name_order;       /* [parameters] value ids of the trained parameters in name order */
    uint32_t parameter_count;
    uint64_t init_hash;   /* of the weights that the training began with, 0: drawn */
    int64_t loaded_epoch; /* epoch whose order the train loader holds; -1: none */
    int64_t steps_per_epoch;
    int64_t part; /* samples of one pass */
    bool timed;   /* steps add up what their time is spent on */
    hu_adaptations adaptations;
    uint32_t counted_nodes; /* of the step's last forward pass, see engine/run.h */
    char culprit[512];
} hu_trainer;

#endif
