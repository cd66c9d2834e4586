/* train/trainer.h - training: joins model, precision, data, optimizer, schedule and loss scaling,
 * one step at a time. */
#ifndef HU_TRAIN_TRAINER_H
#define HU_TRAIN_TRAINER_H
#include <signal.h>

#include "comm/cost_model.h"
#include "model/model.h"
#include "planner/planner.h"
#include "precision/bits.h"
#include "store/checkpoint.h"
#include "train/options.h"

typedef struct hu_trainer hu_trainer;

/* Plans everything; the data set is borrowed and must outlive the trainer. */
hu_status hu_trainer_create(const hu_train_options *options, const hu_dataset *dataset,
                            hu_trainer **trainer);
void hu_trainer_free(hu_trainer *trainer);

/* Steps of an epoch of count samples; HU_ERR_ARGUMENT if the only one is left out. */
hu_status hu_trainer_epoch_steps(const hu_train_options *options, int64_t count, int64_t *steps);

/* One update. A step whose gradients are not finite is skipped: weights and optimizer state stay as
 * they are. Running statistics belong to the forward pass: they are updated when it ends with a
 * finite loss, whatever the backward pass finds then, as in torch with GradScaler. So do states
 * that go on from batch to batch; those of a stream that are not finite become zeros.
 * HU_ERR_NONFINITE: the run has diverged (no loss scaling, or too many skipped steps);
 * the message names step and tensor. The state must not be saved: the weights are those of the last
 * good step, unless the update itself overflowed. */
hu_status hu_trainer_step(hu_trainer *trainer, hu_step_report *report);

/* The next steps take them; NULL: those of the data set again. Borrowed: needed as long.
 * HU_ERR_SHAPE: more than a batch, or none; HU_ERR_ARGUMENT: a field that the task reads is
 * missing. */
hu_status hu_trainer_give(hu_trainer *trainer, const hu_given_samples *given);

/* What the network makes of given samples, with the weights that evaluation uses: predictions
 * [count, elements] (NaN where a format stopped the pass), and their mean loss, NaN where no target
 * is given. Any number of them. */
int64_t hu_trainer_prediction_elements(const hu_trainer *trainer);
hu_status hu_trainer_predict_given(hu_trainer *trainer, const hu_given_samples *given,
                                   float *predictions, double *loss);

/* The gradients of one step before they become one. Borrowed: valid until the trainer is freed. */
typedef struct hu_worker_gradients {
    int64_t step;
    float *const *gradient;     /* [workers] arrays in which the layers have their offsets */
    const hu_comm_layer *layer; /* [layers] */
    int32_t workers, layers;
} hu_worker_gradients;

/* Runs the passes of the next step for every worker, as hu_trainer_step does, and no more: nothing
 * travels and nothing is updated. The trainer is made with workers, all in this process; it cannot
 * go on from here. HU_ERR_NONFINITE names step, worker and tensor: a training skips this step. */
hu_status hu_trainer_gradients(hu_trainer *trainer, hu_worker_gradients *made);

/* In every so many-th step, from step 0 on, tensors that are not rounded are counted as well, and
 * what becomes of updates (graph/edge.h); 0: in none, as at first. Changes no bit of a training. */
void hu_trainer_count_every(hu_trainer *trainer, int64_t every);

/* Runs the samples of an evaluation again, up to the part whose loss is not finite, and counts all
 * tensors of that part into the edge table of the run, in place of the step's counts. */
hu_status hu_trainer_count_evaluation(hu_trainer *trainer, hu_split_kind half);

/* Later steps keep the numbers of a tensor (engine/run.h, hu_run_watch); and of none. */
hu_status hu_trainer_watch_tensor(hu_trainer *trainer, hu_tensor tensor);
void hu_trainer_unwatch(hu_trainer *trainer);

/* Lets later steps add up what their time is spent on (hu_run_work_seconds), or not. */
void hu_trainer_time_work(hu_trainer *trainer, bool timed);

/* metrics [metrics of the task] over the test samples, and their mean loss. Allocates room for the
 * predictions of one part while it runs. */
hu_status hu_trainer_evaluate(hu_trainer *trainer, double *metrics, double *loss);

/* The same over the validation samples (HU_SPLIT_VALIDATION) or the test samples. HU_ERR_ARGUMENT:
 * none are held out. */
hu_status hu_trainer_evaluate_on(hu_trainer *trainer, hu_split_kind half, double *metrics,
                                 double *loss);

/* Shape of a sample that the model draws, [height, width, channels], NULL if its task is none of
 * pictures; and how many samples a half has. Borrowed: valid as long as the trainer. */
const hu_shape *hu_trainer_picture(const hu_trainer *trainer);
int64_t hu_trainer_samples(const hu_trainer *trainer, hu_split_kind half);

/* How many of what hu_task_counted says are a sample: 1 image, or its tokens. */
int64_t hu_trainer_places(const hu_trainer *trainer);

/* The first samples of a half, and what the model makes of them (or one picture twice, with what is
 * true and what the model says drawn over it) with the weights that evaluation
 * uses, as numbers in 0..1 (NaN where a format stopped the pass): [count, shape of a picture]. Only
 * where hu_trainer_picture gives a shape. */
hu_status hu_trainer_draw(hu_trainer *trainer, hu_split_kind half, int64_t count, float *real,
                          float *made);

/* What the latest evaluation on test samples gave, [metrics of the task]; NaN before the first.
 * Borrowed: valid until the next. */
const double *hu_trainer_test_metrics(const hu_trainer *trainer);

/* Classes that metrics of the task are means over, 0: none is. And what metric number m gave of
 * each of them in the latest evaluation on test or validation samples, [classes]: NaN where no
 * sample has the class, and before the first; NULL of other metrics. Borrowed: valid until the
 * next. */
int64_t hu_trainer_classes(const hu_trainer *trainer);
const double *hu_trainer_class_metric(const hu_trainer *trainer, hu_split_kind half, int m);

/* What the model says of the first test samples, with the weights that evaluation uses: cells
 * [count, columns of the task]. HU_ERR_ARGUMENT if there are fewer. */
hu_status hu_trainer_predict(hu_trainer *trainer, int64_t count, double *cells);

/* Gives the first count test samples to a function, one after the other: number, what the model
 * says and what is true, and the loader that has the sample at that position. Its first failure
 * ends the walk. HU_ERR_ARGUMENT if there are fewer. */
typedef hu_status hu_sample_visitor(void *context, int64_t index, const hu_metric_call *sample,
                                    const hu_loader *loader);
hu_status hu_trainer_show(hu_trainer *trainer, int64_t count, hu_sample_visitor *show,
                          void *context);

/* hu_trainer_evaluate_on, which gives all samples of the half to such a function too (NULL: to
 * none) while it walks over them once. */
hu_status hu_trainer_evaluate_shown(hu_trainer *trainer, hu_split_kind half,
                                    hu_sample_visitor *show, void *context, double *metrics,
                                    double *loss);

/* Notes the value of the task's first metric in the progress record. */
void hu_trainer_record_metric(hu_trainer *trainer, double value);

/* Lets the learning rate of schedule plateau follow it, others do not, and the patience. */
void hu_trainer_follow_metric(hu_trainer *trainer, double value);

/* Whether the training is to end, as so many evaluations in a row as options.patience were no
 * better. */
bool hu_trainer_is_out_of_patience(const hu_trainer *trainer);

/* What is learned. Borrowed: valid forever. */
const hu_task *hu_trainer_task(const hu_trainer *trainer);
const hu_loss_form *hu_trainer_loss(const hu_trainer *trainer);

/* Reports of steps say wants_stop where the flag is set, in whichever process of a training.
 * Borrowed: as long as the trainer. */
void hu_trainer_watch(hu_trainer *trainer, const volatile sig_atomic_t *stop);

/* Seconds that training has waited for its samples to be read; 0 where they are in memory. */
double hu_trainer_data_waited(const hu_trainer *trainer);

/* Where the time went that gradients took between processes; zero where one runs all workers. */
hu_process_group_seconds hu_trainer_team_seconds(const hu_trainer *trainer);

/* What travels between workers, and what was lost of it in the steps that were done. */
typedef struct hu_wire_report {
    int32_t workers;         /* 0: nothing travels, and nothing else is told */
    hu_comm_traffic traffic; /* of one step, in the format that travels now */
    hu_comm_counts lost;     /* of all layers that are rounded for it */
} hu_wire_report;

/* HU_ERR_MEMORY. */
hu_status hu_trainer_wire(const hu_trainer *trainer, hu_wire_report *report);

/* Where workers are in several processes: all of them call this before that of worker 0 saves. */
hu_status hu_trainer_gather(hu_trainer *trainer);

/* Adds the whole state to a checkpoint; the trainer must not run until the checkpoint is finished.
 */
hu_status hu_trainer_save(hu_trainer *trainer, hu_checkpoint_writer *writer);

/* Takes the state of a checkpoint of the same model, seed and initial weights; nothing is changed
 * on failure. HU_ERR_SHAPE: it was made from another graph (names and shapes of all values);
 * HU_ERR_CORRUPT names the section; HU_ERR_ARGUMENT: the two seeds or hashes, another kind of
 * optimizer, or another number of workers with error feedback. */
hu_status hu_trainer_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* L2 norm of a parameter's unscaled gradient in the latest step. */
double hu_trainer_gradient_norm(const hu_trainer *trainer, hu_value_id parameter);

/* Updates that were skipped so far: of all turns. */
int64_t hu_trainer_skipped(const hu_trainer *trainer);

/* Streams whose states were not finite, or not made, and began again as zeros, so far; -1: the
 * model has no states that go on from batch to batch. */
int64_t hu_trainer_zeroed_streams(const hu_trainer *trainer);

/* Tensors promoted so far. */
uint32_t hu_trainer_promoted(const hu_trainer *trainer);

/* Borrowed views: valid as long as the trainer; the run until a step or evaluation that follows a
 * promotion. */
const hu_train_progress *hu_trainer_progress(const hu_trainer *trainer);
const hu_bits_meter *hu_trainer_bits(const hu_trainer *trainer); /* NULL: no schedule of bits */
const hu_graph *hu_trainer_graph(const hu_trainer *trainer);
const hu_run *hu_trainer_run(const hu_trainer *trainer);
const hu_weights *hu_trainer_weights(const hu_trainer *trainer);
const hu_loss_scale_state *hu_trainer_scaler(const hu_trainer *trainer); /* of the first turn */
int64_t hu_trainer_steps_per_epoch(const hu_trainer *trainer);
int64_t hu_trainer_batch(const hu_trainer *trainer); /* samples of one update */

/* Where there is a schedule of bits: those that evaluation and export use now, [layers]. */
void hu_trainer_trained_bits(const hu_trainer *trainer, uint8_t *forward);

/* XXH64 over the bits of the master weights in name order. */
uint64_t hu_trainer_weights_hash(const hu_trainer *trainer);

/* Share of low-precision elements of the present plan at this batch. */
double hu_trainer_low_ratio(const hu_trainer *trainer);

/* Model aggregate (Lee et al.) in bits: in the first step, in the present plan, and the mean over
 * the steps so far. */
typedef struct hu_aggregate_bits {
    double first, last, mean;
} hu_aggregate_bits;
hu_aggregate_bits hu_trainer_aggregate(const hu_trainer *trainer);

/* What guessing is worth in the task's first metric on the test or the validation samples. */
hu_chance hu_trainer_chance(const hu_trainer *trainer, hu_split_kind half);

/* Planned bytes by role. */
hu_ledger hu_trainer_ledger(const hu_trainer *trainer);

/* The present edge table as YAML, promotions so far applied; of a precision by epoch, that of the
 * step that was done last. A training with the plan has the same bits from here on. Owner frees
 * with hu_free. */
hu_status hu_trainer_resolved_plan(hu_trainer *trainer, char **yaml);

/* ---- The network that options and data ask for ---- */

/* Builds the network of the options for a data set; choice says what is learned. HU_ERR_UNKNOWN,
 * HU_ERR_ARGUMENT, HU_ERR_SHAPE as hu_model_choose and hu_model_build. Owner frees with
 * hu_graph_free. */
hu_status hu_train_network(const hu_train_options *options, const hu_dataset *dataset,
                           hu_task_choice *choice, hu_graph **graph);

/* Which sizes the numbers of a network file name, and whether width: bits of
 * hu_model_options.named. Declares the network to find out. Errors as above. */
hu_status hu_train_named_sizes(const hu_train_options *options, const hu_dataset *dataset,
                               unsigned *named);

/* ---- Which widths make one network: channel numbers are rounded ---- */

/* Hundredths on both sides of a width that are looked at. */
enum { HU_WIDTHS_LOOKED_AT = 64 };

/* The nearest widths, in hundredths, that make another network of the options than `graph`, which
 * options->width makes; NaN: none of those that were looked at. HU_ERR_MEMORY. */
hu_status hu_train_other_widths(const hu_train_options *options, const hu_dataset *dataset,
                                const hu_graph *graph, double *below, double *above);

/* ---- What travels between workers ---- */

/* Whether gradients on their way keep float32's range in all epochs: nothing travels, or in formats
 * of which hu_format_keeps_range holds. Errors as above. */
hu_status hu_wire_formats_keep_range(const hu_train_comm *comm, bool *keeps);

/* Trained parameters in the order in which the backward pass makes their gradients.
 *
 *   exact   globs of parameters that travel in float32, separated by commas; "last": those of the
 *           last layer; "" none
 *   param   [parameters of the graph] ids
 *   layer   [the same] with names of the graph and offsets one after the other
 *
 *   layers  their number
 *
 * HU_ERR_UNKNOWN: an entry of exact names none, with the nearest names; HU_ERR_MEMORY. */
hu_status hu_wire_layers(const hu_graph *graph, const char *exact, hu_value_id *param,
                         hu_comm_layer *layer, int32_t *layers);

/* How many there are. */
int32_t hu_wire_layer_count(const hu_graph *graph);

/* ---- How a training begins ---- */

/* A training that begins where another one stands: for measurements on fixed
 * batches, which see the same step with several precisions. */

/* Takes weights, running statistics and optimizer state of another trainer, which stays as it is,
 * and the counters and loss scale of a first step: the next step is step 0. Tensors that were
 * promoted stay promoted, and maxima that scales go by stay. With master=off the weights are
 * rounded, as at every beginning. HU_ERR_SHAPE: the two have other parameters; HU_ERR_ARGUMENT:
 * another kind of optimizer. Proof: tests/unit/train_begin_test.c. */
hu_status hu_trainer_begin_at(hu_trainer *trainer, const hu_trainer *other);

/* Forward tensors of its graph that are promoted from the next step on, as if they had overflowed;
 * those that do not go to a format of more bits stay as they are. Plans again. HU_ERR_ARGUMENT: the
 * precision promotes nothing; HU_ERR_MEMORY. */
hu_status hu_trainer_promote(hu_trainer *trainer, const hu_value_id *value, uint32_t count);

/* The gradient of the step that was done last, times its loss scale: [trained] as the weights
 * have it. NULL: the trainer has no workers, and keeps none. Borrowed: valid until the next step.
 */
const float *hu_trainer_gradient(const hu_trainer *trainer);

/* ---- check start ---- */

/* A start without random numbers: every element of every parameter is a
 * function of the parameter's name and of the element's index, so that any other program can begin
 * with the same bits.
 *
 * With t = number i of the name (base/rng.h), element i, row-major in torch's shape, is
 *   1 + t/16      weights of norms,
 *   t/8           tables: names that are or end in pos, cls,
 *   t/16          other parameters of one extent,
 *   t 2^-floor((bits(fan) - 1) / 2)   all others; bits: length in binary
 *
 * where fan are the elements of a row, of a transposed convolution those of first extent x kernel /
 * stride^2. All are exact in float32 but the first, which is rounded once.
 */

/* x [elements] of parameter v, whose shape in torch is shape. */
void hu_check_start_fill(const hu_graph *graph, hu_value_id v, const hu_shape *shape,
                         const char *salt, float *x);

/* The salt of "check" or "check:SALT", NULL of any other text, which is a file. Borrowed from init.
 */
const char *hu_check_salt(const char *init);

#endif
