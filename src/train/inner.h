/* train/inner.h - the trainer's own structure, shared by trainer.c, step.c, state.c and diagnose.c
 * only. */
#ifndef HU_TRAIN_INNER_H
#define HU_TRAIN_INNER_H
#include "graph/walk.h"
#include "train/trainer.h"

/* Section "position" of a checkpoint, in the machine's own byte order like all sections. */
typedef struct hu_train_position {
    uint64_t graph, seed;
    hu_train_progress progress;
} hu_train_position;

struct hu_trainer {
    hu_train_options options;
    const hu_dataset *dataset;
    hu_graph *graph;
    hu_edge_table edges;
    hu_run *run;
    hu_loader *train_loader, *test_loader;
    hu_optimizer *optimizer;
    hu_loss_scale scaler;
    hu_train_progress progress;
    hu_walk walk;
    hu_train_position position; /* what the checkpoint being written borrows */
    float *gradient_sum;        /* [trained] of accumulated parts, NULL if accumulate is 1 */
    double *block_squares;      /* [blocks] partial sums of the squared norm */
    uint32_t *name_order;       /* [parameters] value ids of the trained parameters in name order */
    uint32_t parameter_count;
    uint64_t init_hash;   /* of the weights that the training began with, 0: drawn */
    int64_t loaded_epoch; /* epoch whose order the train loader holds; -1: none */
    int64_t steps_per_epoch;
    int64_t part;            /* samples of one pass */
    bool timed;              /* steps add up what their time is spent on */
    hu_promotion *promotion; /* [value_count] of the latest step; NULL: nothing is ever promoted */
    uint32_t counted_nodes;  /* of the step's last forward pass, see graph/run.h */
    uint32_t *promoted;      /* [promoted_count] value ids in order, of room for all values */
    uint32_t promoted_count;
    bool must_replan; /* some of them are not in the plan yet */
    char culprit[512];
};

enum { HU_GRADIENT_BLOCK = 4096 };

/* Visits all trained parameters in blocks of HU_GRADIENT_BLOCK elements. */
typedef struct hu_gradient_block {
    hu_value_id param;
    int64_t first, count; /* inside the parameter */
    int64_t offset;       /* in the vector of all trained parameters */
} hu_gradient_block;
int64_t hu_gradient_block_count(const hu_trainer *trainer);
hu_gradient_block hu_gradient_block_at(const hu_trainer *trainer, int64_t index);

/* The samples of one step: places in the present epoch. */
typedef struct hu_step_batch {
    int64_t first, samples;
} hu_step_batch;

/* Part of an epoch of a loader that begins at sample `first`, as a hu_source. */
typedef struct hu_batch_source {
    const hu_loader *loader;
    int64_t first;
} hu_batch_source;
void hu_fill_batch(void *context, int64_t first, int64_t count, float *images, float *labels);

/* Forward pass of the part of the batch that begins `done` samples into it; sets samples and
 * first_sample of the pass. */
hu_status hu_forward_part(hu_trainer *trainer, const hu_step_batch *batch, int64_t done,
                          hu_pass_options *pass, hu_pass_result *result);

/* Room for promotions if the precision promotes. */
hu_status hu_create_promotions(hu_trainer *trainer);

/* The end of a step: finds the tensors that go high and notes them for the next step. */
void hu_note_promotions(hu_trainer *trainer, hu_step_report *report);

/* Before a pass: gives promoted tensors their format and plans again. */
hu_status hu_apply_promotions(hu_trainer *trainer);

/* Takes over the promotions of a checkpoint, ids[count], in place of those so far; the caller has
 * checked them. */
hu_status hu_restore_promotions(hu_trainer *trainer, const uint32_t *ids, uint32_t count);

/* Makes what passes of every size that will occur need, so that steps allocate nothing. */
hu_status hu_reserve_sizes(hu_trainer *trainer);

/* Writes the precision into the edges. */
hu_status hu_write_edges(hu_trainer *trainer);

/* Rounds the masters themselves to the formats of the weights. */
void hu_round_masters(hu_trainer *trainer);

/* Runs the step again with the unrounded tensors scanned if need be, and writes where a non-finite
 * number first appeared. */
void hu_diagnose(hu_trainer *trainer, const hu_step_batch *batch, const hu_pass_options *pass);

#endif
