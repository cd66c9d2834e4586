/* One update: rounded copies, forward, backward, unscale, check, clip, optimizer. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/record.h"
#include "graph/rescale.h"
#include "train/inner.h"

int64_t hu_gradient_block_count(const hu_trainer *trainer) {
    int64_t blocks = 0;
    for (uint32_t p = 0; p < trainer->parameter_count; p++) {
        int64_t elements = trainer->graph->value[trainer->name_order[p]].elements;
        blocks += (elements + HU_GRADIENT_BLOCK - 1) / HU_GRADIENT_BLOCK;
    }
    return blocks;
}

hu_gradient_block hu_gradient_block_at(const hu_trainer *trainer, int64_t index) {
    for (uint32_t p = 0;; p++) {
        hu_value_id v = trainer->name_order[p];
        int64_t elements = trainer->graph->value[v].elements;
        int64_t blocks = (elements + HU_GRADIENT_BLOCK - 1) / HU_GRADIENT_BLOCK;
        if (index >= blocks) {
            index -= blocks;
            continue;
        }
        int64_t first = index * HU_GRADIENT_BLOCK, left = elements - first;
        return (hu_gradient_block){v, first, left < HU_GRADIENT_BLOCK ? left : HU_GRADIENT_BLOCK,
                                   trainer->run->offset[v] + first};
    }
}

/* The scaled gradient of a block: of the one pass, or the sum over the parts. */
static const float *block_gradient(const hu_trainer *trainer, const hu_gradient_block *block,
                                   float *scratch) {
    if (trainer->gradient_sum) return trainer->gradient_sum + block->offset;
    return hu_run_param_grad(trainer->run, block->param, block->first, block->count, scratch);
}

void hu_fill_batch(void *context, int64_t first, int64_t count, float *images, float *labels) {
    const hu_batch_source *batch = context;
    hu_loader_fill(batch->loader, batch->first + first, count, images, labels);
}

/* Adds the gradients of the pass that just ran to the sum over the parts of the batch. */
static void accumulate(hu_trainer *trainer, bool is_first) {
    int64_t blocks = hu_gradient_block_count(trainer);
    if (!trainer->gradient_sum) return;
#pragma omp parallel for num_threads(trainer->options.threads) schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        float scratch[HU_GRADIENT_BLOCK];
        hu_gradient_block block = hu_gradient_block_at(trainer, b);
        const float *g =
            hu_run_param_grad(trainer->run, block.param, block.first, block.count, scratch);
        float *sum = trainer->gradient_sum + block.offset;
        for (int64_t i = 0; i < block.count; i++) sum[i] = is_first ? g[i] : sum[i] + g[i];
    }
}

/* Sum of squares of the unscaled gradient, block by block; not finite if any element is not. */
static double squared_norm(hu_trainer *trainer, float inverse_scale) {
    int64_t blocks = hu_gradient_block_count(trainer);
    double total = 0.0;
#pragma omp parallel for num_threads(trainer->options.threads) schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        float scratch[HU_GRADIENT_BLOCK];
        hu_gradient_block block = hu_gradient_block_at(trainer, b);
        const float *g = block_gradient(trainer, &block, scratch);
        double sum = 0.0, poison = 0.0;
        for (int64_t i = 0; i < block.count; i++) {
            double unscaled = (double)(g[i] * inverse_scale);
            sum += unscaled * unscaled;
            poison += (double)g[i] * 0.0; /* NaN if g is infinite or NaN, whatever the scale */
        }
        trainer->block_squares[b] = sum + poison;
    }
    for (int64_t b = 0; b < blocks; b++) total += trainer->block_squares[b];
    return total;
}

/* Infinities and NaNs have all exponent bits set. */
static bool has_nonfinite(const float *x, int64_t n) {
    uint32_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        found |= (uint32_t)((bits & 0x7f800000u) == 0x7f800000u);
    }
    return found != 0;
}

/* Block by block, unscaled, clipped and applied to the masters while they are in cache. True if a
 * master is not finite any more. */
static bool apply_update(hu_trainer *trainer, double lr, float inverse_scale, double norm) {
    int64_t blocks = hu_gradient_block_count(trainer);
    double clip = trainer->options.clip_norm;
    float shrink = clip > 0.0 && norm > clip ? (float)(clip / norm) : 1.0f;
    int broken = 0;
    hu_optimizer_begin_step(trainer->optimizer, lr);
    hu_optimizer_scale_gradients(trainer->optimizer, inverse_scale, shrink);
#pragma omp parallel for num_threads(trainer->options.threads) schedule(static)                    \
    reduction(|                                                                                    \
              : broken)
    for (int64_t b = 0; b < blocks; b++) {
        float scratch[HU_GRADIENT_BLOCK];
        hu_gradient_block block = hu_gradient_block_at(trainer, b);
        float *master = trainer->run->parameters + block.offset;
        hu_optimizer_apply(trainer->optimizer, block.offset, block.count, master,
                           block_gradient(trainer, &block, scratch), true);
        broken |= has_nonfinite(master, block.count);
    }
    return broken != 0;
}

/* Without masters the optimizer's result is stored in the weight format: small updates vanish. */
void hu_round_masters(hu_trainer *trainer) {
    hu_slot_context context = trainer->run->context;
    context.first_row = 0;
    context.scan = false;
    for (uint32_t p = 0; p < trainer->parameter_count; p++) {
        hu_value_id v = trainer->name_order[p];
        float *x = trainer->run->parameters + trainer->run->offset[v];
        hu_rescale_row(&trainer->run->value[v], x, false);
        hu_slot_round(&trainer->run->value[v], &context, 0, 1, x, NULL);
    }
}

static void count_roundings(hu_train_progress *progress, const hu_edge *edges, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!hu_quantizer_rounds(&edges[i].quantizer)) continue;
        progress->elements += edges[i].counts.elements;
        progress->overflow += edges[i].counts.overflow;
        progress->underflow += edges[i].counts.underflow;
        progress->subnormal += edges[i].counts.subnormal;
    }
}

hu_status hu_forward_part(hu_trainer *trainer, const hu_step_batch *batch, int64_t done,
                          hu_pass_options *pass, hu_pass_result *result) {
    hu_batch_source place = {trainer->train_loader, batch->first + done};
    hu_source source = {&place, hu_fill_batch};
    int64_t left = batch->samples - done;
    pass->first_sample = done;
    pass->samples = left < trainer->part ? left : trainer->part;
    return hu_run_forward(trainer->run, pass, &source, result);
}

/* Forward and backward passes of all parts of the batch. stopped: some number could not go on. The
 * loss is the mean over the samples that were seen, NaN if a forward pass did not end. */
static hu_status run_parts(hu_trainer *trainer, const hu_step_batch *batch, hu_pass_options *pass,
                           hu_step_report *report, bool *stopped) {
    hu_status st = HU_OK;
    const hu_run *run = trainer->run;
    int64_t done = 0;
    double loss = 0.0;
    *stopped = false;
    while (done < batch->samples && !*stopped) {
        hu_pass_result result;
        HU_TRY(hu_forward_part(trainer, batch, done, pass, &result));
        loss += run->overflowed ? NAN : result.loss_sum;
        report->correct += result.correct;
        trainer->counted_nodes = run->counted_nodes;
        *stopped = run->overflowed || !isfinite(result.loss_sum);
        if (!*stopped) HU_TRY(hu_run_backward(trainer->run, pass));
        *stopped = *stopped || run->overflowed;
        if (!*stopped) accumulate(trainer, done == 0);
        done += pass->samples;
    }
    report->loss = loss / (double)done;
done:
    return st;
}

/* Where in the data the step stands; loads the order of its epoch. */
static hu_status locate(hu_trainer *trainer, hu_step_batch *batch, hu_step_report *report) {
    int64_t in_epoch = report->step % trainer->steps_per_epoch;
    int64_t count = hu_loader_count(trainer->train_loader);
    report->epoch = report->step / trainer->steps_per_epoch;
    batch->first = in_epoch * trainer->options.batch;
    int64_t left = count - batch->first;
    batch->samples = left < trainer->options.batch ? left : trainer->options.batch;
    report->samples = batch->samples;
    if (in_epoch == 0) {
        trainer->progress.epoch_loss = 0.0;
        trainer->progress.epoch_samples = 0;
    }
    if (trainer->loaded_epoch == report->epoch) return HU_OK;
    trainer->loaded_epoch = report->epoch;
    return hu_loader_begin_epoch(trainer->train_loader, report->epoch);
}

static void note_step(hu_trainer *trainer, hu_step_report *report) {
    hu_train_progress *progress = &trainer->progress;
    progress->step = report->step + 1;
    if (isfinite(report->loss)) {
        progress->epoch_loss += report->loss * (double)report->samples;
        progress->epoch_samples += report->samples;
    }
    if (progress->epoch_samples > 0)
        progress->last_epoch_loss = progress->epoch_loss / (double)progress->epoch_samples;
    report->low_ratio = hu_trainer_low_ratio(trainer);
    progress->ratio_sum += report->low_ratio;
    count_roundings(progress, trainer->edges.value, trainer->edges.value_count);
    count_roundings(progress, trainer->edges.grad, trainer->edges.use_count);
    count_roundings(progress, trainer->edges.grad_sum, trainer->edges.value_count);
}

/* An update can overflow although its gradients were finite: such weights must not be saved.
 * broken: what the update found in the masters. */
static hu_status check_update(hu_trainer *trainer, const hu_step_report *report, bool broken) {
    const hu_run *run = trainer->run;
    if (!broken && !has_nonfinite(run->parameters + run->trained, run->block - run->trained))
        return HU_OK;
    for (hu_value_id v = 0; v < trainer->graph->value_count; v++) {
        const hu_value_info *value = &trainer->graph->value[v];
        bool is_kept = value->role == HU_VALUE_PARAMETER || value->role == HU_VALUE_BUFFER;
        if (!is_kept || !has_nonfinite(run->parameters + run->offset[v], value->elements)) continue;
        snprintf(trainer->culprit, sizeof trainer->culprit,
                 "non-finite numbers in %s after the update", value->name);
        break;
    }
    return hu_fail(HU_ERR_NONFINITE, "step %lld: %s (learning rate %g), training stops",
                   (long long)report->step, trainer->culprit, report->lr);
}

/* The optimizer's part of a step. True if a master is not finite behind it: what rounding has
 * changed, and the masters of a skipped step, are looked at as a whole. */
static bool update(hu_trainer *trainer, const hu_step_report *report, float inverse) {
    const hu_run *run = trainer->run;
    if (!report->skipped) {
        bool broken = apply_update(trainer, report->lr, inverse, report->gradient_norm);
        if (trainer->options.keep_masters) return broken;
        hu_round_masters(trainer);
    }
    return has_nonfinite(run->parameters, run->trained);
}

/* What loss scaling makes of a step whose gradients were not finite. */
static hu_status judge(hu_trainer *trainer, const hu_step_report *report) {
    if (report->skipped && trainer->options.scaler.kind == HU_LOSS_SCALE_NONE)
        return hu_fail(HU_ERR_NONFINITE, "step %lld: %s; no loss scaling is on, training stops",
                       (long long)report->step, trainer->culprit);
    hu_status st = hu_loss_scale_update(&trainer->scaler, report->skipped, report->step);
    if (st != HU_OK) return hu_fail_within(st, "%s: ", trainer->culprit);
    return HU_OK;
}

hu_status hu_trainer_step(hu_trainer *trainer, hu_step_report *report) {
    hu_status st = HU_OK;
    hu_step_batch batch;
    bool stopped;
    *report =
        (hu_step_report){.step = trainer->progress.step, .scale = trainer->scaler.state.scale};
    report->culprit = trainer->culprit;
    trainer->culprit[0] = '\0';
    HU_TRY(hu_apply_promotions(trainer));
    HU_TRY(locate(trainer, &batch, report));
    float inverse = hu_loss_scale_inverse(&trainer->scaler);
    report->lr = hu_schedule_lr(&trainer->options.schedule, report->step, trainer->steps_per_epoch,
                                trainer->options.steps > 0 ? trainer->options.steps : 1);
    hu_pass_options pass = {
        .training = true, .step = (uint64_t)report->step, .timed = trainer->timed};
    pass.seed_gradient = report->scale / (float)report->samples;
    pass.count_products =
        hu_accumulators_count(&trainer->options.precision.accumulators, report->step);
    int64_t every = trainer->options.histogram_every;
    hu_edge_table_clear(&trainer->edges);
    if (every > 0 && report->step % every == 0) hu_record_begin(trainer->run, pass.step);
    hu_run_round_parameters(trainer->run, pass.step, true);
    st = run_parts(trainer, &batch, &pass, report, &stopped);
    hu_record_end(trainer->run);
    HU_TRY(st);
    double squares = stopped ? NAN : squared_norm(trainer, inverse);
    report->gradient_norm = sqrt(squares);
    report->skipped = !isfinite(squares);
    if (report->skipped) hu_diagnose(trainer, &batch, &pass);
    bool broken = update(trainer, report, inverse);
    hu_rescale_end_step(trainer->run);
    note_step(trainer, report);
    hu_note_promotions(trainer, report);
    HU_TRY(judge(trainer, report));
    HU_TRY(check_update(trainer, report, broken));
done:
    return st;
}
