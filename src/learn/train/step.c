#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "data/fields.h"
#include "engine/run.h"
#include "graph/tensor_order.h"
#include "train/internal.h"
#include "train/trainer.h"

/* ---- The total loss of the samples of several passes ---- */

void hu_loss_sums_add(hu_loss_sums *sums, const hu_pass_result *result) {
    for (int k = 0; k < HU_LOSSES_MOST; k++) {
        for (int i = 0; i < HU_LOSS_STATS; i++) sums->stats[k][i] += result->stats[k][i];
        sums->units[k] += (double)result->units[k];
    }
}

/* A picture without boxes is no fault of the data: what finds none is no loss (Liu et al., "SSD",
 * equation 1: N = 0). Rows that nobody has labelled say nothing. */
double hu_loss_sums_total(const hu_loss_sums *sums, const hu_graph *graph, const hu_task *task) {
    double total = 0.0;
    bool is_known = task->kind == HU_LOSS_BOXES;
    for (int k = 0; k < graph->loss_count; k++) {
        double units = sums->units[k] > 0.0 ? sums->units[k] : 1.0;
        is_known = is_known || sums->units[k] > 0.0;
        total += (double)graph->loss[k].weight * sums->stats[k][HU_LOSS_SUM] / units;
    }
    return is_known ? total : (double)NAN;
}

/* ---- Passes of a step's samples ---- */

/* The vector of all trained parameters, cut into blocks: what a thread works on at
 * a time, and what sums of squares are made of. */

int64_t hu_gradient_blocks_of(const hu_trainer *trainer, uint32_t index) {
    int64_t elements = trainer->graph->value[trainer->name_order[index]].elements;
    return (elements + HU_GRADIENT_BLOCK - 1) / HU_GRADIENT_BLOCK;
}

int64_t hu_gradient_block_count(const hu_trainer *trainer) {
    int64_t blocks = 0;
    for (uint32_t p = 0; p < trainer->parameter_count; p++)
        blocks += hu_gradient_blocks_of(trainer, p);
    return blocks;
}

/* Walks over the parameters: there are few, and blocks are large. */
hu_gradient_block hu_gradient_block_at(const hu_trainer *trainer, int64_t index) {
    for (uint32_t p = 0;; p++) {
        hu_value_id v = trainer->name_order[p];
        int64_t elements = trainer->graph->value[v].elements;
        int64_t blocks = hu_gradient_blocks_of(trainer, p);
        if (index >= blocks) {
            index -= blocks;
            continue;
        }
        int64_t first = index * HU_GRADIENT_BLOCK, left = elements - first;
        return (hu_gradient_block){v, p, first, left < HU_GRADIENT_BLOCK ? left : HU_GRADIENT_BLOCK,
                                   trainer->weights.offset[v] + first};
    }
}

/* ---- part ---- */

/* The samples of a step and the forward passes over their parts.
 *
 * A part is what one pass runs: the samples of a worker, which are the whole batch where there is
 * only one, or one of optimizer.accumulate pieces of them. */

/* Number of a loaded value in the graph, which is that of the task's field. */
static uint32_t field_of(const hu_graph *graph, hu_value_id v) {
    uint32_t field = 0;
    while (graph->loaded[field] != v) field++;
    return field;
}

/* Numbers of samples that a program gives; fields that it leaves out say nothing. */
static void fill_given(const hu_batch_source *batch, int f, int64_t first, int64_t count,
                       float *rows) {
    const hu_field *field = &batch->trainer->dataset->field[f];
    const float *given = batch->given->rows[f];
    int64_t numbers = hu_field_elements(field);
    if (given)
        memcpy(rows, given + (batch->first + first) * numbers,
               (size_t)(count * numbers) * sizeof *rows);
    for (int64_t i = 0; !given && i < count * numbers; i++)
        rows[i] = field->classes > 0 || field->is_boxes ? (float)HU_UNLABELLED : 0.0f;
}

/* Samples first .. first+count-1 of the batch, [count, field]. */
void hu_fill_batch(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const hu_batch_source *batch = context;
    const hu_trainer *trainer = batch->trainer;
    if (batch->given) {
        fill_given(batch, trainer->shapes.field[field], first, count, rows);
        return;
    }
    hu_loader_fill(batch->loader, trainer->shapes.field[field], trainer->task->field[field].reading,
                   batch->first + first, count, rows);
}

/* Read from the data before the passes: the gradient of the first part needs the units of all. */
static int64_t hu_count_units(hu_trainer *trainer, int loss, int64_t first, int64_t samples) {
    const hu_graph *graph = trainer->graph;
    hu_batch_source batch = {trainer, trainer->train_loader, first, trainer->given};
    hu_round_counts ignored;
    int64_t units = 0;
    if (graph->loss[loss].normaliser == HU_PER_SAMPLE) return samples;
    uint32_t field = field_of(graph, hu_graph_loss_target(graph, loss));
    hu_round_counts_clear(&ignored);
    for (int64_t s = 0; s < samples; s++) {
        hu_fill_batch(&batch, field, s, 1, trainer->target);
        units += hu_graph_count_units(graph, loss, 1, trainer->target, &ignored);
    }
    return units;
}

/* Forward pass of the next part of a share of the batch, which becomes shorter by it; sets samples
 * and first_sample of the pass. */
static hu_status hu_forward_part(hu_trainer *trainer, const hu_step_batch *batch, hu_share *share,
                                 hu_pass_options *pass, hu_pass_result *result) {
    hu_batch_source place = {trainer, trainer->train_loader, batch->first + share->first,
                             trainer->given};
    hu_source source = {&place, hu_fill_batch};
    int64_t left = share->end - share->first;
    pass->first_sample = share->first;
    pass->samples = left < trainer->part ? left : trainer->part;
    share->first += pass->samples;
    hu_status st = hu_run_forward(trainer->run, pass, &source, result);
    return st == HU_OK ? hu_loader_status(trainer->train_loader) : st;
}

/* ---- Where the first number that is not finite was made ---- */

/* Targets that a loss cannot use: class numbers that are none, boxes without an area, or numbers
 * that are not finite. */
static void describe_target(hu_trainer *trainer, hu_value_id v, const hu_round_counts *counts) {
    char expected[64] = "finite numbers";
    if (trainer->task->kind == HU_LOSS_ROWS)
        snprintf(expected, sizeof expected, "one of the classes 0..%lld",
                 (long long)trainer->shapes.outputs - 1);
    if (trainer->task->kind == HU_LOSS_BOXES || trainer->task->kind == HU_LOSS_REGIONS)
        snprintf(expected, sizeof expected, "finite boxes with an area and a class of the data");
    if (trainer->task->kind == HU_LOSS_SEQUENCE)
        snprintf(expected, sizeof expected, "one of the classes 1..%lld, then unlabelled",
                 (long long)trainer->shapes.outputs - 1);
    snprintf(trainer->culprit, sizeof trainer->culprit, "%s: %llu of %llu are not %s",
             trainer->graph->value[v].name, (unsigned long long)counts->nan,
             (unsigned long long)counts->elements, expected);
}

/* A bad master is the cause of a bad working copy, so that it is named instead of it. */
static bool master_is_finite(const hu_trainer *trainer, hu_value_id v) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_scan_f32((size_t)trainer->graph->value[v].elements, hu_weights_of(&trainer->weights, v),
                &counts);
    return counts.overflow + counts.nan == 0;
}

/* ", summed in fmac:e4m3" where a product makes the tensor with an accumulator of its own, which is
 * to be asked before its format. */
static void describe_sums(const hu_trainer *trainer, hu_tensor tensor, char *text, size_t bytes) {
    enum { ROOM = 16, ACCUMULATOR_BYTES = 96 };
    hu_made_by made[ROOM];
    char name[ACCUMULATOR_BYTES];
    uint32_t count = hu_made_by_products(trainer->graph, tensor, ROOM, made);
    text[0] = '\0';
    for (uint32_t i = 0; i < count && i < ROOM && text[0] == '\0'; i++) {
        const hu_accumulation *sums = &trainer->edges.products[made[i].node].accumulation;
        if (!sums->chosen[made[i].role]) continue;
        hu_accumulator_print(&sums->accumulator[made[i].role], name, sizeof name);
        snprintf(text, bytes, ", summed in %s", name);
    }
}

/* Tensor, format and counts: what a user needs to choose another format. */
static void describe(hu_trainer *trainer, hu_tensor tensor, const hu_round_counts *counts) {
    char format[HU_QUANTIZER_BYTES], name[HU_TENSOR_NAME_BYTES], sums[128];
    const hu_quantizer *quantizer = hu_tensor_quantizer(trainer->graph, &trainer->edges, tensor);
    hu_tensor_name(trainer->graph, tensor, name);
    bool is_weight = tensor.kind == HU_TENSOR_VALUE &&
                     trainer->graph->value[tensor.value].role == HU_VALUE_PARAMETER;
    if (is_weight && !master_is_finite(trainer, tensor.value)) {
        snprintf(trainer->culprit, sizeof trainer->culprit, "non-finite numbers in the weights %s",
                 name);
        return;
    }
    hu_quantizer_print(quantizer, format, sizeof format);
    describe_sums(trainer, tensor, sums, sizeof sums);
    snprintf(trainer->culprit, sizeof trainer->culprit,
             "non-finite numbers first in %s (%s%s: %llu overflows, %llu NaNs of %llu)", name,
             format, sums, (unsigned long long)counts->overflow, (unsigned long long)counts->nan,
             (unsigned long long)counts->elements);
}

/* True if the passes of a turn make a tensor. */
static bool is_made(const hu_graph *graph, hu_tensor tensor, int phase) {
    const hu_value_info *value = &graph->value[tensor.value];
    bool is_parameter = value->role == HU_VALUE_PARAMETER;
    if (phase == 0) return true;
    if (hu_tensor_is_backward(tensor)) return value->grad_in >> (phase - 1) & 1u;
    if (value->producer != HU_NONE) return hu_node_runs(&graph->node[value->producer], phase);
    return is_parameter || hu_value_is_read(graph, tensor.value, phase);
}

/* In the order in which the passes make the tensors. */
static void find(hu_trainer *trainer, int phase) {
    const hu_tensor_order *walk = &trainer->walk;
    for (uint32_t i = 0; i < walk->count; i++) {
        hu_tensor tensor = walk->tensor[i];
        if (!is_made(trainer->graph, tensor, phase)) continue;
        hu_round_counts counts = hu_tensor_counts(trainer->graph, &trainer->edges, tensor);
        const hu_quantizer *quantizer =
            hu_tensor_quantizer(trainer->graph, &trainer->edges, tensor);
        if (!hu_edge_nonfinite(quantizer, &counts)) continue;
        bool is_target = tensor.kind == HU_TENSOR_VALUE &&
                         trainer->graph->value[tensor.value].role == HU_VALUE_TARGET;
        if (is_target)
            describe_target(trainer, tensor.value, &counts);
        else
            describe(trainer, tensor, &counts);
        return;
    }
}

/* Counts the masters of parameters that are not rounded. */
static void scan_masters(hu_trainer *trainer) {
    const hu_graph *graph = trainer->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        hu_edge *edge = &trainer->edges.value[v];
        if (graph->value[v].role != HU_VALUE_PARAMETER || hu_quantizer_rounds(&edge->quantizer))
            continue;
        hu_round_counts_clear(&edge->counts);
        hu_scan_f32((size_t)graph->value[v].elements, hu_weights_of(&trainer->weights, v),
                    &edge->counts);
    }
}

/* What was counted of them in the passes that are repeated is counted again. Targets are not. */
static void clear_unrounded(hu_trainer *trainer) {
    hu_edge_table *edges = &trainer->edges;
    for (uint32_t v = 0; v < edges->value_count; v++) {
        bool is_target = trainer->graph->value[v].role == HU_VALUE_TARGET;
        if (!is_target && !hu_quantizer_rounds(&edges->value[v].quantizer))
            hu_round_counts_clear(&edges->value[v].counts);
        if (!hu_quantizer_rounds(&edges->grad_sum[v].quantizer))
            hu_round_counts_clear(&edges->grad_sum[v].counts);
    }
    for (uint32_t u = 0; u < edges->use_count; u++)
        if (!hu_quantizer_rounds(&edges->grad[u].quantizer))
            hu_round_counts_clear(&edges->grad[u].counts);
}

/* The passes of one worker once more, as far as they went. */
static hu_status scan_worker(hu_trainer *trainer, const hu_step_batch *batch, int32_t worker,
                             hu_pass_options *pass) {
    hu_status st = HU_OK;
    const hu_run *run = trainer->run;
    hu_share share = hu_worker_share(trainer, batch->samples, worker);
    hu_pass_result result;
    bool stopped = false;
    while (share.first < share.end && !stopped) {
        HU_TRY(hu_forward_part(trainer, batch, &share, pass, &result));
        stopped = hu_run_has_unencodable(run) || !isfinite(result.loss_sum);
        if (!stopped) HU_TRY(hu_run_backward(trainer->run, pass));
        stopped = stopped || hu_run_has_unencodable(run);
    }
done:
    return st;
}

/* The passes of the workers of this process. */
static hu_status scan(hu_trainer *trainer, const hu_step_batch *batch,
                      const hu_pass_options *pass) {
    hu_status st = HU_OK;
    hu_pass_options repeated = *pass;
    repeated.scan = true;
    repeated.counts_all = false;
    repeated.gradient_ready = NULL; /* no gradient travels twice */
    for (int32_t here = 0; here < trainer->workers.here; here++)
        HU_TRY(scan_worker(trainer, batch, trainer->workers.first + here, &repeated));
done:
    return st;
}

/* Runs the passes of the step again, and scans the tensors that are not rounded; trainer->culprit
 * then says where a non-finite number first appeared. */
static void diagnose(hu_trainer *trainer, const hu_step_batch *batch, const hu_pass_options *pass) {
    snprintf(trainer->culprit, sizeof trainer->culprit, "non-finite gradients");
    /* A row of skipped steps is recorded once: the first of them shows where it began. */
    const hu_phase_state *learner = &trainer->phase[pass->phase > 0 ? pass->phase - 1 : 0];
    if (learner->scaler.state.consecutive == 0) hu_exponent_record_begin(trainer->run, pass->step);
    hu_exponent_record_parameters(trainer->run);
    clear_unrounded(trainer);
    scan_masters(trainer);
    (void)scan(trainer, batch, pass);
    hu_exponent_record_end(trainer->run);
    find(trainer, pass->phase);
}

/* ---- Steps ---- */

/* One update: rounded copies, forward, backward, unscale, check, clip, optimizer. */

/* Tensors that are not rounded have counts only where a skipped step was scanned. */
static void count_roundings(hu_train_progress *progress, const hu_edge *edges, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!hu_quantizer_rounds(&edges[i].quantizer)) continue;
        progress->elements += edges[i].counts.elements;
        progress->overflow += edges[i].counts.overflow;
        progress->underflow += edges[i].counts.underflow;
        progress->subnormal += edges[i].counts.subnormal;
    }
}

/* Forward and backward passes of all parts of the samples of one worker of this process. */
static hu_status run_worker(hu_trainer *trainer, const hu_step_batch *batch, int32_t here,
                            hu_pass_options *pass) {
    hu_status st = HU_OK;
    const hu_run *run = trainer->run;
    int32_t worker = trainer->workers.first + here;
    hu_share share = hu_worker_share(trainer, batch->samples, worker);
    hu_worker_result found = {.ended = 1, .counted_nodes = trainer->graph->node_count};
    pass->keeps_statistics = worker > 0;
    hu_workers_begin(trainer, here);
    for (bool is_first = true; share.first < share.end && !found.stopped; is_first = false) {
        hu_pass_result result;
        HU_TRY(hu_forward_part(trainer, batch, &share, pass, &result));
        /* Sums, not means: the parts of a batch may differ in size and in units. */
        hu_loss_sums_add(&found.losses, &result);
        found.ended = found.ended && !hu_run_has_unencodable(run);
        found.zeroed += hu_carried_settle(trainer->run, pass->first_sample, pass->samples,
                                          !hu_run_has_unencodable(run));
        found.counted_nodes = hu_run_counted_nodes(run);
        found.stopped = hu_run_has_unencodable(run) || !isfinite(result.loss_sum);
        hu_workers_begin_part(trainer, is_first, share.first == share.end, pass);
        if (!found.stopped) HU_TRY(hu_run_backward(trainer->run, pass));
        found.overflowed = hu_run_has_unencodable(run);
        found.stopped = found.stopped || found.overflowed;
        if (!found.stopped) hu_workers_add_part(trainer);
    }
    /* Streams of parts that did not run after one that was stopped begin again. */
    found.zeroed += hu_carried_settle(trainer->run, share.first, share.end - share.first, false);
    hu_workers_note(trainer, &found);
done:
    return st;
}

/* One after the other, those of this process. */
static hu_status run_here(hu_trainer *trainer, const hu_step_batch *batch, hu_pass_options *pass) {
    hu_status st = HU_OK;
    for (int32_t here = 0; here < trainer->workers.here; here++)
        HU_TRY(run_worker(trainer, batch, here, pass));
done:
    return st;
}

/* The passes of all workers, and their gradients made one. stopped: some number could not go on.
 * The loss is the mean over what was seen, NaN if a forward pass did not end. */
static hu_status run_workers(hu_trainer *trainer, const hu_step_batch *batch, hu_pass_options *pass,
                             hu_step_report *report, bool *stopped) {
    hu_status st = HU_OK;
    const hu_metric *metric = trainer->task->metric[0];
    hu_phase_report *phase = &report->phase[report->phases - 1];
    hu_worker_result all;
    HU_TRY(run_here(trainer, batch, pass));
    HU_TRY(hu_workers_reduce(trainer, report, &all));
    *stopped = all.stopped;
    report->zeroed += all.zeroed;
    report->wants_stop = report->wants_stop || all.wants_stop;
    if (report->phases == 1 || all.counted_nodes < trainer->counted_nodes)
        trainer->counted_nodes = all.counted_nodes;
    trainer->bad_statistics = all.bad_statistics;
    trainer->plateau.drops = all.drops;
    report->lr = hu_plateau_rate(trainer, report->step);
    phase->loss =
        all.ended ? hu_loss_sums_total(&all.losses, trainer->graph, trainer->task) : (double)NAN;
    report->loss = report->phases == 1 ? phase->loss : report->loss + phase->loss;
    bool is_known = hu_node_runs(&trainer->graph->node[trainer->graph->loss[0].node], pass->phase);
    report->metric = metric->of_batch && is_known
                         ? metric->of_batch(all.losses.stats[0], (double)batch->units[0])
                         : (double)NAN;
done:
    return st;
}

/* Samples in the data set, in the order of their epoch. */
static hu_status find_samples(hu_trainer *trainer, int64_t in_epoch, hu_step_batch *batch,
                              int64_t epoch) {
    hu_status st = HU_OK;
    batch->first = in_epoch * trainer->options.batch;
    int64_t left = hu_loader_count(trainer->train_loader) - batch->first;
    batch->samples = left < trainer->options.batch ? left : trainer->options.batch;
    HU_TRY(hu_dataset_need_samples(&trainer->dataset->train));
    if (trainer->loaded_epoch != epoch) {
        HU_TRY(hu_loader_begin_epoch(trainer->train_loader, epoch));
        trainer->loaded_epoch = epoch;
    }
    HU_TRY(hu_loader_want(trainer->train_loader, batch->first, batch->samples));
done:
    return st;
}

/* The samples of the step; an epoch begins with its own order and empty sums. */
static hu_status find_batch(hu_trainer *trainer, hu_step_batch *batch, hu_step_report *report) {
    hu_status st = HU_OK;
    int64_t in_epoch = report->step % trainer->steps_per_epoch;
    report->epoch = report->step / trainer->steps_per_epoch;
    if (trainer->given)
        *batch = (hu_step_batch){.samples = trainer->given->count};
    else
        HU_TRY(find_samples(trainer, in_epoch, batch, report->epoch));
    report->samples = batch->samples;
    if (in_epoch == 0) {
        trainer->progress.epoch_loss = 0.0;
        trainer->progress.epoch_units = 0;
        trainer->progress.last_epoch_loss = (double)NAN;
        hu_carried_clear(trainer->run);
    }
    /* Units of the whole batch, before its passes: every part divides its gradient by them. */
    for (int k = 0; k < trainer->graph->loss_count; k++)
        batch->units[k] = hu_count_units(trainer, k, batch->first, batch->samples);
done:
    return st;
}

/* Units of the first loss that a sample has if all of them count. */
static double units_per_sample(const hu_graph *graph) {
    hu_value_id target = hu_graph_loss_target(graph, 0);
    if (graph->loss[0].normaliser == HU_PER_SAMPLE || target == HU_NONE) return 1.0;
    return (double)graph->value[target].elements;
}

/* The mean of an epoch is one over units; a step without a loss leaves it to the others. Steps that
 * have one though nothing counted make it 0 where there are no others. */
static void add_loss(hu_trainer *trainer, const hu_step_batch *batch, double loss) {
    hu_train_progress *progress = &trainer->progress;
    double of_sample = units_per_sample(trainer->graph);
    if (isfinite(loss)) {
        progress->epoch_loss += loss * ((double)batch->units[0] / of_sample);
        progress->epoch_units += batch->units[0];
    }
    if (progress->epoch_units > 0)
        progress->last_epoch_loss =
            progress->epoch_loss / ((double)progress->epoch_units / of_sample);
    else if (isfinite(loss))
        progress->last_epoch_loss = loss;
}

static void add_progress(hu_trainer *trainer, const hu_step_batch *batch, hu_step_report *report) {
    hu_train_progress *progress = &trainer->progress;
    progress->step = report->step + 1;
    add_loss(trainer, batch, report->loss);
    report->low_ratio = hu_trainer_low_ratio(trainer);
    progress->ratio_sum += report->low_ratio;
    hu_aggregate_add(trainer, report->step);
    hu_plateau_note_loss(trainer, report->loss);
    count_roundings(progress, trainer->edges.value, trainer->edges.value_count);
    count_roundings(progress, trainer->edges.grad, trainer->edges.use_count);
    count_roundings(progress, trainer->edges.grad_sum, trainer->edges.value_count);
    count_roundings(progress, trainer->edges.grad_weights, trainer->edges.value_count);
    hu_workers_count(trainer);
}

/* What loss scaling makes of turns whose gradients were not finite. */
static hu_status update_loss_scales(hu_trainer *trainer, const hu_step_report *report) {
    if (report->skipped && trainer->options.scaler.kind == HU_LOSS_SCALE_NONE)
        return hu_fail(HU_ERR_NONFINITE, "step %lld: %s; no loss scaling is on, training stops",
                       (long long)report->step, trainer->culprit);
    for (int t = 0; t < report->phases; t++) {
        hu_status st =
            hu_loss_scale_update(&trainer->phase[t].scaler, report->phase[t].skipped, report->step);
        if (st != HU_OK) return hu_fail_within(st, "%s: ", trainer->culprit);
    }
    return HU_OK;
}

/* What all passes of a turn have in common. scale: its loss scale. */
static hu_pass_options pass_of(const hu_trainer *trainer, const hu_step_batch *batch,
                               const hu_step_report *report, int phase, float scale) {
    const hu_accumulators *accumulators = &trainer->options.precision.accumulators;
    hu_pass_options pass = {.training = true,
                            .phase = hu_graph_courses(trainer->graph) > 0 ? phase + 1 : 0,
                            .step = (uint64_t)report->step,
                            .drawn = (uint64_t)(report->step * trainer->options.batch),
                            .timed = trainer->timed,
                            .counts_all = hu_step_counts_all(trainer, report->step),
                            .seed_gradient = scale / (float)report->samples,
                            .count_products = hu_accumulators_count(accumulators, report->step)};
    for (int k = 0; k < trainer->graph->loss_count; k++)
        pass.row_gradient[k] = scale / (float)(batch->units[k] > 0 ? batch->units[k] : 1);
    return pass;
}

/* What a step begins with: no counts, and rounded working copies of the masters, which all its
 * workers and parts read. */
static void begin_passes(hu_trainer *trainer, const hu_step_report *report) {
    int64_t every = trainer->options.histogram_every;
    /* The counts of the step before were read by its own end: promotion and the journal. */
    hu_edge_table_clear(&trainer->edges);
    /* Rounding the masters is the first thing that a step counts, and that a histogram records. */
    if (every > 0 && report->step % every == 0)
        hu_exponent_record_begin(trainer->run, (uint64_t)report->step);
    if (hu_step_counts_all(trainer, report->step)) scan_masters(trainer);
    hu_run_round_parameters(trainer->run, (uint64_t)report->step, true);
    hu_exponent_record_end(trainer->run);
    hu_carried_begin_step(trainer->run);
}

/* The passes of a turn, recorded where the step is. */
static hu_status run_passes(hu_trainer *trainer, const hu_step_batch *batch, hu_pass_options *pass,
                            hu_step_report *report, bool *stopped) {
    int64_t every = trainer->options.histogram_every;
    /* After a turn that was skipped the record tells of that turn alone. */
    if (every > 0 && report->step % every == 0 && !report->skipped)
        hu_exponent_record_go_on(trainer->run, pass->step);
    hu_status st = run_workers(trainer, batch, pass, report, stopped);
    hu_exponent_record_end(trainer->run);
    return st;
}

/* One turn of the step: its losses, with the networks as earlier turns have left them, and the
 * update of its parameters. Of graphs without turns it is the step. */
static hu_status run_phase(hu_trainer *trainer, const hu_step_batch *batch, hu_step_report *report,
                           bool *masters_nonfinite) {
    hu_status st = HU_OK;
    int t = report->phases++;
    hu_phase_report *phase = &report->phase[t];
    bool stopped;
    /* The scale of this step, taken before its end changes it. */
    phase->scale = trainer->phase[t].scaler.state.scale;
    phase->name = trainer->graph->phase[t].name;
    float inverse = hu_loss_scale_inverse(&trainer->phase[t].scaler);
    hu_pass_options pass = pass_of(trainer, batch, report, t, phase->scale);
    for (int earlier = 0; earlier < t; earlier++)
        hu_run_round_phase(trainer->run, pass.step, earlier);
    HU_TRY(run_passes(trainer, batch, &pass, report, &stopped));
    phase->lr = report->lr * hu_phase_rate(trainer, t);
    /* One number tells whether all gradients are finite: an update must not begin with one bad. */
    double squares = stopped ? NAN : hu_gradient_squares(trainer, t, inverse);
    phase->gradient_norm = sqrt(squares);
    phase->skipped = !isfinite(squares);
    report->gradient_norm =
        t == 0 ? phase->gradient_norm : hypot(report->gradient_norm, phase->gradient_norm);
    /* The passes run again with the weights that failed, so before the update. */
    if (phase->skipped && !report->skipped) diagnose(trainer, batch, &pass);
    report->skipped = report->skipped || phase->skipped;
    if (phase->skipped) hu_workers_undo_residuals(&trainer->workers);
    *masters_nonfinite |= hu_update_masters(trainer, report, t, inverse);
done:
    return st;
}

/* The order of the phases is part of the result (docs/explanation/architecture/one-step.md). */
hu_status hu_trainer_step(hu_trainer *trainer, hu_step_report *report) {
    hu_status st = HU_OK;
    hu_step_batch batch;
    bool masters_nonfinite = false;
    *report = (hu_step_report){.step = trainer->progress.step,
                               .scale = trainer->phase[0].scaler.state.scale};
    report->culprit = trainer->culprit;
    trainer->culprit[0] = '\0';
    /* A new plan loses what lies in the arena, so that it comes before the first rounding. */
    HU_TRY(hu_adapt_before(trainer, report));
    HU_TRY(find_batch(trainer, &batch, report));
    HU_TRY(hu_workers_begin_step(trainer, report));
    report->lr = hu_plateau_rate(trainer, report->step);
    begin_passes(trainer, report);
    while (report->phases < trainer->phases)
        HU_TRY(run_phase(trainer, &batch, report, &masters_nonfinite));
    /* Delayed scales take over the maxima of the step, those of the rounded masters included. */
    hu_tensor_scale_end_step(trainer->run);
    hu_carried_end_step(trainer->run);
    trainer->streams.zeroed += report->zeroed;
    /* The ratio of the step is that of the formats that it ran in: before adaptations look at the
     * counts. */
    add_progress(trainer, &batch, report);
    hu_adapt_after(trainer, report);
    /* The errors come last, so that the report is complete also for the step that ends a run. */
    HU_TRY(update_loss_scales(trainer, report));
    HU_TRY(hu_check_update(trainer, report, masters_nonfinite));
done:
    return st;
}

static hu_status check_ids(const hu_value_info *value, int64_t samples, int64_t numbers,
                           const float *id) {
    for (int64_t i = 0; i < samples * numbers; i++)
        if (hu_whole_below(id[i], value->ids) < 0)
            return hu_fail(HU_ERR_ARGUMENT,
                           "'%s' of sample %lld of the batch, place %lld: found %.9g, expected a "
                           "whole number from 0 to %lld",
                           value->name, (long long)(i / numbers), (long long)(i % numbers),
                           (double)id[i], (long long)value->ids - 1);
    return HU_OK;
}

hu_status hu_check_given_ids(const hu_trainer *trainer, const hu_given_samples *given) {
    hu_status st = HU_OK;
    const hu_graph *graph = trainer->graph;
    for (uint32_t k = 0; st == HU_OK && k < graph->loaded_count; k++) {
        const hu_value_info *value = &graph->value[graph->loaded[k]];
        int f = trainer->shapes.field[k];
        int64_t numbers = hu_field_elements(&trainer->dataset->field[f]);
        if (value->role == HU_VALUE_IDS && given->rows[f])
            st = check_ids(value, given->count, numbers, given->rows[f]);
    }
    return st;
}

/* A field that the task reads, or counts the units of a loss by. */
static hu_status check_given(const hu_trainer *trainer, const hu_given_samples *given) {
    const hu_field *field = trainer->dataset->field;
    if (given->count < 1 || given->count > trainer->options.batch)
        return hu_fail(HU_ERR_SHAPE, "found %lld samples, expected 1 to %lld: the batch",
                       (long long)given->count, (long long)trainer->options.batch);
    for (uint32_t k = 0; k < trainer->graph->loaded_count; k++)
        if (!given->rows[trainer->shapes.field[k]])
            return hu_fail(HU_ERR_ARGUMENT, "found no numbers of the field '%s', expected some",
                           field[trainer->shapes.field[k]].name);
    return hu_check_given_ids(trainer, given);
}

/* Room for the passes of so many samples is made once for each number of them. */
hu_status hu_trainer_give(hu_trainer *trainer, const hu_given_samples *given) {
    hu_status st = HU_OK;
    if (given) HU_TRY(check_given(trainer, given));
    if (given) HU_TRY(hu_reserve_samples(trainer, given->count));
    trainer->given = given;
done:
    return st;
}

/* A worker that was stopped has NaNs for what it did not make. */
static hu_status check_finite(const hu_worker_gradients *made) {
    for (int32_t w = 0; w < made->workers; w++)
        for (int32_t l = 0; l < made->layers; l++) {
            const float *gradient = made->gradient[w] + made->layer[l].offset;
            for (int64_t e = 0; e < made->layer[l].elements; e++)
                if (!isfinite(gradient[e]))
                    return hu_fail(HU_ERR_NONFINITE,
                                   "step %lld: worker %d: the gradient of %s is not finite, a "
                                   "training skips this step; expected another one",
                                   (long long)made->step, w, made->layer[l].name);
        }
    return HU_OK;
}

hu_status hu_trainer_gradients(hu_trainer *trainer, hu_worker_gradients *made) {
    hu_status st = HU_OK;
    hu_step_batch batch;
    const hu_workers *workers = &trainer->workers;
    hu_step_report report = {.step = trainer->progress.step,
                             .scale = trainer->phase[0].scaler.state.scale};
    if (!workers->gradient || workers->here != workers->count)
        return hu_fail(HU_ERR_INTERNAL, "gradients of workers that are not all here");
    HU_TRY(hu_adapt_before(trainer, &report));
    HU_TRY(find_batch(trainer, &batch, &report));
    HU_TRY(hu_workers_begin_step(trainer, &report));
    hu_pass_options pass = pass_of(trainer, &batch, &report, 0, report.scale);
    hu_run_round_parameters(trainer->run, pass.step, true);
    HU_TRY(run_here(trainer, &batch, &pass));
    *made = (hu_worker_gradients){.step = report.step,
                                  .gradient = workers->gradient,
                                  .layer = workers->layer,
                                  .workers = workers->count,
                                  .layers = workers->layers};
    HU_TRY(check_finite(made));
done:
    return st;
}
