/* train/internal.h - the trainer's own structure, and what the files of this room share. */
#ifndef HU_TRAIN_INTERNAL_H
#define HU_TRAIN_INTERNAL_H
#include <signal.h>

#include "comm/plan.h"
#include "engine/run.h"
#include "graph/graph.h"
#include "graph/tensor_order.h"
#include "precision/adaptation.h"
#include "store/checkpoint.h"
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

/* A place of a pass in which a sample is written (train/greedy_decode.c). */
typedef struct hu_writer {
    int64_t sample, words, most; /* place in the half, words so far, and their bound */
    bool is_done;
} hu_writer;

/* What evaluation works in: made with the trainer, so that evaluating allocates nothing. */
typedef struct hu_evaluation_scratch {
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
} hu_evaluation_scratch;

/* See train/evaluate.c. All zero: test samples are as large as those of training. */
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
    int64_t zeroed;          /* streams whose states have become zeros (train/recurrent_state.c) */
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

/* See train/workers.c. */
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
    unsigned char *record;         /* [count] results and findings (engine/run.h) of all processes;
                                      NULL:    this one runs all workers */
    float *before[HU_COMM_LOSSES]; /* [here][elements] that error feedback kept before the step */
    /* What error feedback keeps elsewhere, for a checkpoint: [count - 1][elements] of workers 1, 2,
     * ..., where worker 0 is and the others are in other processes; else NULL. */
    float *elsewhere[HU_COMM_LOSSES];
    hu_comm_counts lost; /* of all layers, of the steps that were done */
    float scale;         /* loss scale of what error feedback keeps */
} hu_workers;

/* See train/recurrent_state.c. */
typedef struct hu_streams {
    int64_t numbers;  /* that go on, of one stream; 0: none do */
    float *rows;      /* [batch][numbers] of a checkpoint */
    float *elsewhere; /* [workers - 1][most samples of a worker][numbers] of other processes */
    int64_t zeroed;   /* streams that began again because they were not finite or not made, in all
                         steps */
} hu_streams;

/* What each turn of a step has of its own; of graphs without turns there is one, of everything. */
typedef struct hu_phase_state {
    hu_optimizer *optimizer;     /* its state is that of elements offset .. */
    int64_t offset, elements;    /* its masters */
    int64_t first_block, blocks; /* of the gradient */
    uint32_t first, count;       /* its parameters in name order */
    hu_loss_scale scaler;
} hu_phase_state;

/* Bits of all tensors of a batch in their formats: in the first step, and summed over the steps. */
typedef struct hu_aggregate {
    double first, sum;
} hu_aggregate;

enum { HU_PLATEAU_WINDOWS = 3 };

/* See train/early_stopping.c. Section "plateau" of a checkpoint. */
typedef struct hu_plateau {
    int64_t drops;                   /* so often has the rate fallen */
    int64_t stale;                   /* evaluations since the best one, or since it fell */
    double best;                     /* of their metric; NaN: there was none */
    double sum;                      /* of losses, */
    int64_t steps;                   /* so many */
    int64_t windows;                 /* means so far, */
    double mean[HU_PLATEAU_WINDOWS]; /* of which number w is at w modulo these */
} hu_plateau;

/* See train/early_stopping.c. Section "patience" of a checkpoint. */
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

/* Running means of the weights (train/weight_average.c). */
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
    hu_evaluation_scratch room;
    hu_evaluation_graph tested; /* of test samples that have another size */
    /* Model, its formats, its numbers, and the plan that runs them. */
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    /* How a step moves them on. */
    hu_loader *train_loader, *test_loader;
    hu_loader *validation_loader;         /* NULL: nothing is held out */
    hu_phase_state phase[HU_PHASES_MOST]; /* [turns], in the order of the step */
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
    char *state_formats;  /* of packed state, as a checkpoint has them (train/state_formats.c) */
    uint32_t *name_order; /* [parameters] value ids of the trained parameters in name order */
    uint32_t parameter_count;
    uint64_t init_hash;   /* of the weights that the training began with, 0: drawn */
    int64_t loaded_epoch; /* epoch whose order the train loader holds; -1: none */
    const hu_given_samples
        *given; /* of the next step, in place of those of the data set, or NULL */
    int64_t steps_per_epoch;
    int64_t part;                      /* samples of one pass */
    const volatile sig_atomic_t *stop; /* set where this process was asked to end, or NULL */
    int64_t count_every;               /* steps between those that count all, 0: none do */
    bool timed;                        /* steps add up what their time is spent on */
    hu_adaptations adaptations;
    uint32_t counted_nodes; /* of the step's last forward pass, see engine/run.h */
    bool bad_statistics;    /* running statistics are not finite after the step's passes */
    char culprit[640];
} hu_trainer;

/* ---- micro_batch.c: blocks of the gradient, and passes of a step's samples ---- */

/* The vector of all trained parameters, cut into blocks: what a thread works on at
 * a time, and what sums of squares are made of. */

enum { HU_GRADIENT_BLOCK = 4096 };

/* Visits all trained parameters in blocks of HU_GRADIENT_BLOCK elements. The blocks depend on the
 * model only, and so does the order of every sum over them. */
typedef struct hu_gradient_block {
    hu_value_id param;
    uint32_t index;       /* of the parameter in name order */
    int64_t first, count; /* inside the parameter */
    int64_t offset;       /* in the vector of all trained parameters */
} hu_gradient_block;
int64_t hu_gradient_block_count(const hu_trainer *trainer);
int64_t hu_gradient_blocks_of(const hu_trainer *trainer, uint32_t index);
hu_gradient_block hu_gradient_block_at(const hu_trainer *trainer, int64_t index);

/* The samples of a step and the forward passes over their parts.
 *
 * A part is what one pass runs: the samples of a worker, which are the whole batch where there is
 * only one, or one of optimizer.accumulate pieces of them. */

/* The samples of one step: places in the present epoch. */
typedef struct hu_step_batch {
    int64_t first, samples;
    int64_t units[HU_LOSSES_MOST]; /* over which each loss is a mean: of the whole batch */
} hu_step_batch;

/* Part of an epoch of a loader, or of given samples, that begins at sample `first`, as a hu_source.
 * The values of the graph are loaded in the order of the task's fields. */
typedef struct hu_batch_source {
    const hu_trainer *trainer;
    const hu_loader *loader;
    int64_t first;
    const hu_given_samples *given; /* in place of the loader's; NULL: there are none */
} hu_batch_source;
void hu_fill_batch(void *context, uint32_t field, int64_t first, int64_t count, float *rows);

/* HU_ERR_ARGUMENT for a number that chooses no row of its table. Asked before passes, which would
 * find it behind roundings that are counted. */
hu_status hu_check_given_ids(const hu_trainer *trainer, const hu_given_samples *given);

/* ---- prepare.c: a network made ready to be trained ---- */

/* Writes the precision into the edges. */
hu_status hu_write_edges(hu_trainer *trainer);

/* Makes what passes of every size that will occur need, so that steps allocate nothing. */
hu_status hu_reserve_sizes(hu_trainer *trainer);

/* The same for a training batch of so many samples. */
hu_status hu_reserve_samples(hu_trainer *trainer, int64_t samples);

/* ---- phases.c: turns of a step, and what each has of its own ---- */

/* What the rate of a step is multiplied with in a turn. */
double hu_phase_rate(const hu_trainer *trainer, int phase);

/* "optimizer.m" of a training without turns, "gen.optimizer.m" of a turn: the name of a section.
 * section: room for HU_SECTION_BYTES. Gives it back. */
enum { HU_SECTION_BYTES = 64 };
const char *hu_phase_section(const hu_trainer *trainer, int phase, const char *name, char *section);

/* ---- adapt.c: formats that change while a training runs ---- */

/* States for what the precision asks for. */
hu_status hu_adapt_create(hu_trainer *trainer);

/* Before the passes of the report's step: lets the adaptations change the edges, and plans again if
 * they did. */
hu_status hu_adapt_before(hu_trainer *trainer, hu_step_report *report);

/* Between two steps, before the weights are evaluated or saved: the same, for the precision of the
 * step that was done last. */
hu_status hu_adapt_between(hu_trainer *trainer);

/* The end of a step: what its counts ask for comes true before the next pass; the report lists it.
 */
void hu_adapt_after(hu_trainer *trainer, hu_step_report *report);

/* Adds a section for each adaptation that has a state. */
hu_status hu_adapt_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);

/* Whether the sections of a checkpoint fit the adaptations of this training: HU_ERR_ARGUMENT if one
 * was made by an adaptation that this training does without, HU_ERR_CORRUPT. Changes nothing. */
hu_status hu_adapt_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* Takes the states of a checkpoint that was checked, and plans for them; done_steps: of the
 * checkpoint. */
hu_status hu_adapt_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint,
                           int64_t done_steps);

/* ---- aggregate ---- */

/* The model aggregate over the steps: promotion and other changes of formats
 * make it larger or smaller while a training runs. */

/* Adds the step whose formats the edges hold; before its promotions. */
void hu_aggregate_add(hu_trainer *trainer, int64_t step);

/* A section "aggregate" of checkpoints after the first step; in those of older versions, all steps
 * up to `done` are taken to have had the present one. restore takes what check has found sound:
 * HU_ERR_CORRUPT for another size or numbers that no training makes. */
hu_status hu_aggregate_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_aggregate_check(const hu_checkpoint *checkpoint);
void hu_aggregate_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint, int64_t done);

/* ---- workers.c: gradients of several workers ---- */

/* Makes the gradients and the plan of the reduction. HU_ERR_ARGUMENT, HU_ERR_PARSE and
 * HU_ERR_UNKNOWN where the options do not fit. */
hu_status hu_workers_create(hu_trainer *trainer);
void hu_workers_free(hu_workers *workers);

/* Samples of worker w (of all) in a batch: an even share, in order. */
hu_share hu_worker_share(const hu_trainer *trainer, int64_t samples, int32_t w);

/* Most samples of one worker. */
int64_t hu_worker_most(const hu_train_options *options);

/* The format that travels from this epoch on. Makes another plan where it changes. */
hu_status hu_workers_begin_step(hu_trainer *trainer, const hu_step_report *report);

/* The step is skipped: what is kept is what it was before. */
void hu_workers_undo_residuals(hu_workers *workers);

/* Worker `here` of this process begins its passes of the step. */
void hu_workers_begin(hu_trainer *trainer, int32_t here);

/* Its next backward pass; is_last: it has no further one in the step. Sets what the pass tells. */
void hu_workers_begin_part(hu_trainer *trainer, bool is_first, bool is_last, hu_pass_options *pass);

/* The backward pass has come to its end: its gradient is the worker's, or more of it. */
void hu_workers_add_part(hu_trainer *trainer);

/* Its passes are done: what they found. A gradient that was not made is NaN where they were stopped
 * and zero where there was no sample. */
void hu_workers_note(hu_trainer *trainer, const hu_worker_result *result);

/* What the passes of all workers found together; their gradients have become one. */
hu_status hu_workers_reduce(hu_trainer *trainer, const hu_step_report *report,
                            hu_worker_result *total);

/* Adds what the step's roundings on the way did to what hu_trainer_wire tells. */
void hu_workers_count(hu_trainer *trainer);

/* What error feedback keeps, as sections "comm.loss.I" of a checkpoint, and what was counted. All
 * processes of a training must call hu_trainer_gather before that of worker 0 saves. */
hu_status hu_workers_save(hu_trainer *trainer, hu_checkpoint_writer *writer);

/* Whether they can be taken over: HU_ERR_ARGUMENT where they are of another number of workers;
 * HU_ERR_CORRUPT. */
hu_status hu_workers_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* Takes them over once they are checked; a checkpoint without them begins with nothing lost. */
hu_status hu_workers_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* Bytes of gradients and of what travels, for the ledger: those of the format that travels now. */
uint64_t hu_workers_bytes(const hu_workers *workers);

/* ---- wire_plan.c: formats in which gradients travel ---- */

/* "e5m2", or a list by epoch "0: fp32, 30: e4m3" whose epochs grow from 0. Owner frees *phase.
 * HU_ERR_PARSE, HU_ERR_ARGUMENT, and the errors of formats. */
hu_status hu_wire_formats_parse(const char *text, hu_wire_phase **phase, int32_t *phases);

/* ---- update.c: how a step changes the weights ---- */

/* Updates that leave no trace, counted by parameter into the edge table
 * (hu_update_counts in graph/edge.h).
 *
 * Without masters the stored weight is compared with the one before: what an update asked for and
 * rounding took back is lost. With masters nothing is: an update that is too small for the weight's
 * format adds up in the master, so that it is only counted as small.
 */

/* Whether a step counts tensors that are not rounded, and what becomes of its update. */
bool hu_step_counts_all(const hu_trainer *trainer, int64_t step);

/* Sum of squares of the unscaled gradient of the batch in a turn, block by block; not finite if any
 * element of the gradient is not. The sum of each block stays in block_squares. */
double hu_gradient_squares(hu_trainer *trainer, int phase, float inverse_scale);

/* Clips the gradients of a turn and lets its optimizer change the masters, unless the turn is
 * skipped. True if one of them, or packed state, is not finite
 * afterwards. inverse_scale: of the loss scale. */
bool hu_update_masters(hu_trainer *trainer, const hu_step_report *report, int phase,
                       float inverse_scale);

/* Whether a running statistic of this process is not finite. */
bool hu_statistics_are_bad(const hu_trainer *trainer);

/* An update can overflow although its gradients were finite, and such weights must not be saved:
 * HU_ERR_NONFINITE names the first tensor. masters_nonfinite: what hu_update_masters found. Running
 * statistics are those of worker 0, whose process told all others of them (bad_statistics). */
hu_status hu_check_update(hu_trainer *trainer, const hu_step_report *report,
                          bool masters_nonfinite);

/* Rounds the masters themselves to the formats of the weights, for a training without masters:
 * small updates vanish. */
void hu_round_masters(hu_trainer *trainer);

/* ---- The gradients of the parts of a worker's samples become one gradient ---- */

/* Adds the gradients of the pass that just ran, those of its turn, to sum [trained], in the order
 * of the parts; NULL: does nothing, the gradients of the only part are read in place. */
void hu_reduce_part(hu_trainer *trainer, float *sum, bool is_first);

/* The same for one parameter, whose gradient is known before the others' are. */
void hu_reduce_parameter(hu_trainer *trainer, hu_value_id param, float *sum, bool is_first);

/* Makes the list, one entry for each trained parameter in name order. HU_ERR_PARSE names a pattern
 * of options.no_decay, .lr_rules or .clip_rules that matches no parameter, with the nearest names,
 * and a rule that is no "PATTERN: NUMBER". */
hu_status hu_tensors_create(hu_trainer *trainer);
void hu_tensors_free(hu_trainer *trainer);

/* What a pattern or rule does to a parameter that it matches. number: of the rule. */
typedef void hu_rule_fn(hu_trainer *trainer, uint32_t p, uint32_t rule, double number);

/* ---- state_formats.c: formats of the optimizer's state ---- */

/* Writes edges.state and trainer->state_formats. The error says what was found in which rule, and
 * what was expected: HU_ERR_PARSE and HU_ERR_UNKNOWN as hu_quantizer_parse, or of a pattern that
 * matches no state, with the nearest names; HU_ERR_ARGUMENT of a format that cannot hold state, and
 * of an optimizer that keeps none. */
hu_status hu_state_formats_write(hu_trainer *trainer);

/* The tensors of a turn in the order of its masters. Owner frees plan->tensor with hu_free. */
hu_status hu_state_formats_plan(const hu_trainer *trainer, int phase, hu_state_plan *plan);

/* After the update of a turn: its counts, and its exponents where the step records them, become
 * those of the edge table. True if some state is infinite or NaN now. */
bool hu_state_formats_note(hu_trainer *trainer, int phase, bool records);

/* Name of state that the present step has left infinite or NaN, in text (HU_TENSOR_NAME_BYTES);
 * NULL: none. */
const char *hu_state_formats_culprit(const hu_trainer *trainer, char *text);

/* Section "state.formats" of a checkpoint: a line "NAME FORMAT" of each tensor that is packed; no
 * section where none is. HU_ERR_ARGUMENT where a checkpoint has other formats than the trainer. */
hu_status hu_state_formats_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_state_formats_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* ---- weight_average.c: running means of the weights ---- */

/* Nothing is made where options.average is 0. HU_ERR_ARGUMENT: it is not below 1; HU_ERR_PARSE
 * names a pattern that matches no parameter; HU_ERR_MEMORY. */
hu_status hu_weight_average_create(hu_trainer *trainer);
void hu_weight_average_free(hu_trainer *trainer);

/* Begins with the means of another trainer of the same parameters; with its weights if it has none.
 */
void hu_weight_average_take(hu_trainer *trainer, const hu_trainer *other);

/* Puts the means in the place of the masters, and the masters in theirs; called again, it puts them
 * back. Does nothing without means, or before the first update. */
void hu_weight_average_exchange(hu_trainer *trainer);

/* Section "average" of a checkpoint, of a run that has means. check changes nothing. */
hu_status hu_weight_average_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_weight_average_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);
hu_status hu_weight_average_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* ---- recurrent_state.c: states that go on from batch to batch ---- */

/* Room for a checkpoint. HU_ERR_ARGUMENT if the data are not read in as many streams as a batch has
 * samples; HU_ERR_MEMORY. */
hu_status hu_streams_create(hu_trainer *trainer);
void hu_streams_free(hu_streams *streams);

/* Samples of a pass of an evaluation that begins at sample `first`: so many of `most` as belong to
 * one update of the streams. */
int64_t hu_streams_samples(const hu_trainer *trainer, int64_t first, int64_t most);

/* Sections "states" [streams][numbers], float32 whatever the states are stored in, and
 * "states.zeroed", how many streams have begun again because they were not finite or not made. */
hu_status hu_streams_save(hu_trainer *trainer, hu_checkpoint_writer *writer);

/* HU_ERR_ARGUMENT for another number of streams; HU_ERR_CORRUPT. */
hu_status hu_streams_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* Streams begin again as zeros where this run has other formats than the one that was saved, and
 * those lack a number of theirs. HU_ERR_CORRUPT. */
hu_status hu_streams_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* Rows of the workers of other processes reach that of worker 0: part of hu_trainer_gather. */
hu_status hu_streams_gather(hu_trainer *trainer);

/* ---- early_stopping.c: what ends a training early or lowers its rate ---- */

/* The state of a new training. */
void hu_early_stopping_begin(hu_trainer *trainer);

/* Notes the metric of an evaluation at the end of an epoch: it is better where it beats the best so
 * far by more than options.min_delta, in the unit in which the metric is printed (percentage points
 * of shares). The first is the best so far; a NaN is not better. With options.patience = 0 nothing
 * is noted. Source: Keras' EarlyStopping (min_delta, patience), whose patience is the same.
 * Proof: tests/unit/train_patience_test.c. */
void hu_early_stopping_note(hu_trainer *trainer, double value);

/* Whether so many evaluations in a row as options.patience were not better. */
bool hu_early_stopping_is_over(const hu_trainer *trainer);

/* Section "patience" of trainings that have some; where it is missing, the state is that of a new
 * training. HU_ERR_CORRUPT for another size or numbers that no training makes. */
hu_status hu_early_stopping_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_early_stopping_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);
void hu_early_stopping_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* ---- plateau ---- */

/* Learning rates that fall where a training gets no better: what they know of it.
 */

/* The state of a new training. */
void hu_plateau_begin(hu_trainer *trainer);

/* Notes the metric of an evaluation that schedule plateau follows: it is better where it beats the
 * best so far by more than `threshold` of that; where it has not been for `patience` evaluations,
 * the rate falls and the count begins again. The first is the best so far; a NaN is not better.
 * Source: torch's ReduceLROnPlateau (relative threshold, no cooldown), whose patience is one less.
 * Proof: tests/unit/train_plateau_test.c. */
void hu_plateau_note_metric(hu_trainer *trainer, double value);

/* Notes the loss of a step, for schedule plateau_loss: where the mean over `period` of them is
 * above each of the three means before, the rate falls. Losses that are not finite are left out.
 * Source: TensorFlow's seq2seq tutorial (0.99, 200 steps). */
void hu_plateau_note_loss(hu_trainer *trainer, double loss);

/* The learning rate of a step: that of the schedule, from a base rate of lr factor^drops, or the
 * floor if that is more. */
double hu_plateau_rate(const hu_trainer *trainer, int64_t step);

/* Section "plateau" of trainings whose schedule has such a state; where it is missing, the state is
 * that of a new training. HU_ERR_CORRUPT for another size or numbers that no training makes. */
hu_status hu_plateau_save(const hu_trainer *trainer, hu_checkpoint_writer *writer);
hu_status hu_plateau_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);
void hu_plateau_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* ---- evaluate.c: room, and test samples of another size ---- */

/* Test samples of another size than those of training: a graph of their own, whose
 * plan stands while they are evaluated. Weights, formats and scales are the trainer's. */

/* Nothing where test samples are as large as those of training. Else makes graph and edges, and
 * plans once, so that what cannot be planned is an error here. HU_ERR_SHAPE: the model's parameters
 * depend on the size. Owner frees with hu_evaluation_graph_free, also on failure. */
hu_status hu_evaluation_graph_create(hu_trainer *trainer);
void hu_evaluation_graph_free(hu_evaluation_graph *sized);

/* Makes room for the predictions, targets and sums of one part. */
hu_status hu_evaluation_scratch_create(hu_trainer *trainer);
void hu_evaluation_scratch_free(hu_evaluation_scratch *room);

/* ---- greedy_decode.c: emits the most likely token at each step ---- */

/* Writes the first samples of a loader, [wanted, rows] of room.said: numbers of words,
 * unlabelled from the end on. A translation ends in front of its first <eos>, or where it has as
 * many words as the graph has rows, or 2 x words of the sentence + 5 of them.
 *
 * The whole network runs with the words so far and guesses of what follows: every precision is what
 * it is in training, and no state is carried. Row t of a pass is right where all words before it
 * are, so that a pass tells one word more, and further ones as long as the guesses, which are the
 * rows of the pass before, were right: the words are those of one pass for each, in fewer passes
 * (Song et al. 2021, "Accelerating feedforward computation via parallel nonlinear equation
 * solving", Jacobi iteration). A place of the pass that has ended takes up the next sample.
 *
 *   pass   as evaluation runs its parts
 *   done   false where a format stopped a pass: the words are then not all there */
hu_status hu_decode(hu_trainer *trainer, hu_run *run, hu_loader *loader,
                    const hu_pass_options *pass, int64_t wanted, bool *done);

#endif
