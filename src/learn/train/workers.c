#include "train/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/internal.h"
#include "engine/run.h"
#include "train/trainer.h"

/* ---- What error feedback keeps ---- */

/* What error feedback keeps, in checkpoints. */

enum { SECTION_BYTES = 64 };

static bool is_kept(const hu_workers *workers, int32_t i) {
    return workers->team && hu_process_group_residual(workers->team, 0, i);
}

static size_t row_bytes(const hu_workers *workers) {
    return (size_t)workers->plan->elements * sizeof(float);
}

/* Bytes of one kind from other processes. */
static size_t elsewhere_bytes(const hu_workers *workers) {
    bool is_written_here = workers->first == 0 && workers->here < workers->count;
    return is_written_here ? (size_t)(workers->count - 1) * row_bytes(workers) : 0;
}

/* Bytes of one kind of the workers here. */
static size_t here_bytes(const hu_workers *workers) {
    return (size_t)workers->here * row_bytes(workers);
}

/* Made with the trainer: a training that has begun does not end at its first checkpoint for want of
 * memory. */
/* Room for what error feedback keeps in other processes, where checkpoints are written; part of
 * hu_workers_bytes. HU_ERR_MEMORY. */
static hu_status workers_make_room(hu_workers *workers) {
    hu_status st = HU_OK;
    void *block;
    size_t bytes = elsewhere_bytes(workers);
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++) {
        if (!is_kept(workers, i)) continue;
        HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, here_bytes(workers), &block));
        workers->before[i] = block;
        if (bytes == 0) continue;
        HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, bytes, &block));
        workers->elsewhere[i] = block;
    }
done:
    return st;
}

static uint64_t workers_room_bytes(const hu_workers *workers) {
    return (uint64_t)hu_comm_loss_kinds(workers->plan) *
           (elsewhere_bytes(workers) + here_bytes(workers));
}

/* One kind after the other, to the process that writes. */
hu_status hu_trainer_gather(hu_trainer *trainer) {
    hu_status st = HU_OK;
    hu_workers *workers = &trainer->workers;
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++)
        if (is_kept(workers, i))
            HU_TRY(hu_process_group_collect(workers->team, row_bytes(workers),
                                            hu_process_group_residual(workers->team, 0, i),
                                            workers->elsewhere[i]));
    HU_TRY(hu_streams_gather(trainer));
done:
    return st;
}

/* Rows of all workers in order; those of other processes were gathered. */
static hu_status save_rows(const hu_workers *workers, int32_t i, hu_checkpoint_writer *writer) {
    hu_status st = HU_OK;
    char name[SECTION_BYTES];
    const void **row = NULL;
    HU_TRY(HU_NEW_ARRAY(&row, (size_t)workers->count));
    for (int32_t w = 0; w < workers->count; w++)
        row[w] = w < workers->here
                     ? hu_process_group_residual(workers->team, w, i)
                     : workers->elsewhere[i] + (size_t)(w - 1) * (size_t)workers->plan->elements;
    snprintf(name, sizeof name, "comm.loss.%d", i);
    HU_TRY(hu_checkpoint_add_rows(writer, name, row, (size_t)workers->count, row_bytes(workers)));
done:
    hu_free(row);
    return st;
}

hu_status hu_workers_save(hu_trainer *trainer, hu_checkpoint_writer *writer) {
    hu_status st = HU_OK;
    hu_workers *workers = &trainer->workers;
    if (!workers->team) return HU_OK;
    HU_TRY(hu_checkpoint_add(writer, "comm.counts", &workers->lost, sizeof workers->lost));
    if (!is_kept(workers, 0)) return HU_OK;
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++)
        if (is_kept(workers, i)) HU_TRY(save_rows(workers, i, writer));
    HU_TRY(hu_checkpoint_add(writer, "comm.scale", &workers->scale, sizeof workers->scale));
done:
    return st;
}

/* A section of a checkpoint, NULL where it has none. */
static hu_status find(const hu_checkpoint *checkpoint, const char *name, const void **data,
                      size_t *bytes) {
    hu_status st = hu_checkpoint_section(checkpoint, name, data, bytes);
    return st == HU_ERR_MISSING ? HU_OK : st;
}

static hu_status find_rows(const hu_checkpoint *checkpoint, int32_t i, const void **data,
                           size_t *bytes) {
    char name[SECTION_BYTES];
    snprintf(name, sizeof name, "comm.loss.%d", i);
    return find(checkpoint, name, data, bytes);
}

/* Whole rows of another number of workers are no damage: it is the question that is another one. */
static hu_status check_rows(const hu_workers *workers, const hu_checkpoint *checkpoint, int32_t i) {
    const void *data;
    size_t found, row = row_bytes(workers);
    hu_status st = find_rows(checkpoint, i, &data, &found);
    if (st != HU_OK || !data || found == (size_t)workers->count * row) return st;
    if (found == 0 || found % row != 0)
        return hu_fail(HU_ERR_CORRUPT, "%s: section 'comm.loss.%d' has %zu bytes, expected %zu",
                       hu_checkpoint_path(checkpoint), i, found, (size_t)workers->count * row);
    return hu_fail(HU_ERR_ARGUMENT,
                   "workers: found %d, but %s was made with %zu workers and keeps what each of "
                   "them lost; expected workers=%zu or comm.error_feedback=off",
                   workers->count, hu_checkpoint_path(checkpoint), found / row, found / row);
}

hu_status hu_workers_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    const hu_workers *workers = &trainer->workers;
    const void *scale, *counts;
    size_t bytes;
    hu_status st = HU_OK;
    HU_TRY(find(checkpoint, "comm.counts", &counts, &bytes));
    if (counts && bytes != sizeof workers->lost)
        return hu_fail(HU_ERR_CORRUPT, "%s: section 'comm.counts' has %zu bytes, expected %zu",
                       hu_checkpoint_path(checkpoint), bytes, sizeof workers->lost);
    if (!is_kept(workers, 0)) return HU_OK;
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++)
        if (is_kept(workers, i)) HU_TRY(check_rows(workers, checkpoint, i));
    HU_TRY(find(checkpoint, "comm.scale", &scale, &bytes));
    if (scale && bytes != sizeof workers->scale)
        st = hu_fail(HU_ERR_CORRUPT, "%s: section 'comm.scale' has %zu bytes, expected %zu",
                     hu_checkpoint_path(checkpoint), bytes, sizeof workers->scale);
done:
    return st;
}

/* The rows of one kind for the workers of this process, zero where the checkpoint has none. */
static hu_status restore_rows(hu_workers *workers, const hu_checkpoint *checkpoint, int32_t i) {
    const void *data;
    size_t found, row = row_bytes(workers);
    hu_status st = find_rows(checkpoint, i, &data, &found);
    for (int32_t w = 0; w < workers->here && st == HU_OK; w++) {
        float *loss = hu_process_group_residual(workers->team, w, i);
        if (data)
            memcpy(loss, (const char *)data + (size_t)(workers->first + w) * row, row);
        else
            memset(loss, 0, row);
    }
    return st;
}

hu_status hu_workers_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_status st = HU_OK;
    hu_workers *workers = &trainer->workers;
    const void *scale, *counts;
    size_t bytes;
    HU_TRY(find(checkpoint, "comm.counts", &counts, &bytes));
    hu_round_counts_clear(&workers->lost.rounded);
    hu_round_counts_clear(&workers->lost.added);
    if (counts) memcpy(&workers->lost, counts, sizeof workers->lost);
    if (!is_kept(workers, 0)) return HU_OK;
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++)
        if (is_kept(workers, i)) HU_TRY(restore_rows(workers, checkpoint, i));
    HU_TRY(find(checkpoint, "comm.scale", &scale, &bytes));
    workers->scale = 1.0f;
    if (scale) memcpy(&workers->scale, scale, sizeof workers->scale);
done:
    return st;
}

/* ---- Workers ---- */

static void hu_workers_begin_losses(hu_workers *workers, float scale);
static void hu_workers_carry_losses(const hu_workers *from, const hu_workers *to);

/* ---- samples ---- */

hu_share hu_worker_share(const hu_trainer *trainer, int64_t samples, int32_t w) {
    int32_t count = trainer->workers.count;
    return (hu_share){hu_comm_edge(samples, w, count), hu_comm_edge(samples, w + 1, count)};
}

int64_t hu_worker_most(const hu_train_options *options) {
    int64_t workers = options->comm.options.workers > 1 ? options->comm.options.workers : 1;
    return (options->batch + workers - 1) / workers;
}

/* ---- layers ---- */

static hu_status list_layers(hu_trainer *trainer) {
    hu_status st = HU_OK;
    const hu_graph *graph = trainer->graph;
    hu_workers *workers = &trainer->workers;
    const char *exact = trainer->options.comm.exact ? trainer->options.comm.exact : "";
    HU_TRY(HU_NEW_ARRAY(&workers->param, trainer->parameter_count));
    HU_TRY(HU_NEW_ARRAY(&workers->layer, trainer->parameter_count));
    HU_TRY(HU_NEW_ARRAY(&workers->layer_of, graph->value_count));
    HU_TRY(HU_NEW_ARRAY(&workers->is_ready, trainer->parameter_count));
    HU_TRY(hu_wire_layers(graph, exact, workers->param, workers->layer, &workers->layers));
    for (int32_t l = 0; l < workers->layers; l++) {
        hu_value_id v = workers->param[l];
        workers->layer_of[v] = l;
        workers->layer[l].offset = trainer->weights.offset[v];
    }
done:
    return st;
}

/* ---- life ---- */

static hu_status make_gradients(hu_trainer *trainer) {
    hu_status st = HU_OK;
    void *block;
    hu_workers *workers = &trainer->workers;
    HU_TRY(HU_NEW_ARRAY(&workers->gradient, (size_t)workers->here));
    for (int32_t w = 0; w < workers->here; w++) {
        HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, (size_t)trainer->weights.trained * sizeof(float),
                            &block));
        workers->gradient[w] = block;
    }
done:
    return st;
}

/* Bytes that the findings of any plan of the run can take. */
static size_t most_findings(const hu_edge_table *edges) {
    size_t records = 4 * (size_t)edges->value_count + 2 * (size_t)edges->use_count +
                     HU_OPERANDS * (size_t)edges->node_count;
    return records * (sizeof(hu_round_counts) + sizeof(uint32_t) + sizeof(double)) +
           edges->node_count * sizeof edges->products->counts;
}

/* Plan and team of the present phase, and its quantizers in the edge table. */
static hu_status make_team(hu_trainer *trainer) {
    hu_status st = HU_OK;
    hu_workers *workers = &trainer->workers;
    const hu_train_comm *comm = &trainer->options.comm;
    hu_comm_options options = comm->options;
    options.format = workers->phase[workers->present].format;
    HU_TRY(hu_comm_plan_create(&options, workers->layer, workers->layers, &workers->plan));
    if (comm->join)
        HU_TRY(comm->join(comm->context, workers->plan, workers->gradient, &workers->team));
    else
        HU_TRY(hu_process_group_emulated(workers->plan, workers->gradient,
                                         trainer->options.run.threads, &workers->team));
    HU_TRY(comm->join
               ? hu_process_group_process_bytes(workers->plan, workers->first, &workers->team_bytes)
               : hu_process_group_emulated_bytes(workers->plan, &workers->team_bytes));
    for (int32_t l = 0; l < workers->layers; l++) {
        hu_value_id v = workers->param[l];
        trainer->edges.wire[v].quantizer = workers->plan->layer[l].exact
                                               ? (hu_quantizer){0}
                                               : (hu_quantizer){.kind = HU_QUANTIZER_FLOAT,
                                                                .rounding = options.rounding,
                                                                .format = options.format};
        trainer->edges.wire_sum[v].quantizer = trainer->edges.wire[v].quantizer;
    }
done:
    return st;
}

hu_status hu_workers_create(hu_trainer *trainer) {
    hu_status st = HU_OK;
    hu_workers *workers = &trainer->workers;
    const hu_train_comm *comm = &trainer->options.comm;
    bool travels = comm->options.workers > 0;
    workers->count = travels ? comm->options.workers : 1;
    workers->first = comm->join ? comm->first : 0;
    workers->here = comm->join ? 1 : workers->count;
    workers->scale = 1.0f;
    hu_round_counts_clear(&workers->lost.rounded);
    hu_round_counts_clear(&workers->lost.added);
    HU_TRY(HU_NEW_ARRAY(&workers->result, (size_t)workers->count));
    if (!travels) return HU_OK;
    if (trainer->graph->phase_count > 0)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "found %d workers with a model that learns in turns, '%s' and '%s', "
                       "expected none: gradients travel in steps without turns alone",
                       workers->count, trainer->graph->phase[0].name,
                       trainer->graph->phase[1].name));
    if (workers->count > trainer->options.batch)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "found %d workers, expected at most the batch of %lld",
                       workers->count, (long long)trainer->options.batch));
    HU_TRY(hu_wire_formats_parse(comm->formats, &workers->phase, &workers->phases));
    HU_TRY(list_layers(trainer));
    HU_TRY(make_gradients(trainer));
    HU_TRY(make_team(trainer));
    HU_TRY(workers_make_room(workers));
    size_t row = sizeof(hu_worker_result) + most_findings(&trainer->edges);
    if (comm->join) HU_TRY(HU_NEW_ARRAY(&workers->record, (size_t)workers->count * row));
    trainer->edges.has_wire = true;
    trainer->gradient_sum = workers->gradient[0];
done:
    return st;
}

void hu_workers_free(hu_workers *workers) {
    hu_process_group_free(workers->team);
    hu_comm_plan_free(workers->plan);
    for (int32_t w = 0; workers->gradient && w < workers->here; w++) hu_free(workers->gradient[w]);
    hu_free(workers->gradient);
    hu_free(workers->layer);
    hu_free(workers->layer_of);
    hu_free(workers->is_ready);
    hu_free(workers->param);
    hu_free(workers->phase);
    hu_free(workers->result);
    hu_free(workers->record);
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++) {
        hu_free(workers->elsewhere[i]);
        hu_free(workers->before[i]);
    }
    *workers = (hu_workers){0};
}

uint64_t hu_workers_bytes(const hu_workers *workers) {
    if (!workers->plan) return 0;
    uint64_t gradient = (uint64_t)workers->plan->elements * sizeof(float);
    return (uint64_t)workers->here * gradient + workers->team_bytes + workers_room_bytes(workers);
}

/* ---- a step ---- */

static hu_status change_format(hu_trainer *trainer, int32_t phase) {
    hu_workers *workers = &trainer->workers, old = *workers;
    workers->present = phase;
    workers->plan = NULL;
    workers->team = NULL;
    hu_status st = make_team(trainer);
    if (st == HU_OK) hu_workers_carry_losses(&old, workers);
    hu_process_group_free(old.team);
    hu_comm_plan_free(old.plan);
    return st;
}

hu_status hu_workers_begin_step(hu_trainer *trainer, const hu_step_report *report) {
    hu_workers *workers = &trainer->workers;
    hu_status st = HU_OK;
    int32_t phase = 0;
    if (!workers->team) return HU_OK;
    while (phase + 1 < workers->phases && workers->phase[phase + 1].epoch <= report->epoch) phase++;
    if (phase != workers->present) st = change_format(trainer, phase);
    if (st == HU_OK) hu_workers_begin_losses(workers, report->scale);
    return st;
}

/* The gradient of a parameter is that of the whole share: it may travel. */
static void take_gradient(void *context, hu_value_id param) {
    hu_trainer *trainer = context;
    hu_workers *workers = &trainer->workers;
    int32_t layer = workers->layer_of[param];
    hu_reduce_parameter(trainer, param, workers->gradient[workers->part_of],
                        workers->is_first_part);
    workers->is_ready[layer] = true;
    hu_process_group_ready(workers->team, (uint64_t)trainer->progress.step, layer);
}

void hu_workers_begin(hu_trainer *trainer, int32_t here) {
    hu_workers *workers = &trainer->workers;
    workers->part_of = here;
    if (workers->team)
        memset(workers->is_ready, 0, (size_t)workers->layers * sizeof *workers->is_ready);
}

void hu_workers_begin_part(hu_trainer *trainer, bool is_first, bool is_last,
                           hu_pass_options *pass) {
    hu_workers *workers = &trainer->workers;
    workers->is_first_part = is_first;
    workers->is_last_part = is_last;
    pass->gradient_ready = workers->team && is_last ? take_gradient : NULL;
    pass->ready_context = trainer;
}

void hu_workers_add_part(hu_trainer *trainer) {
    const hu_workers *workers = &trainer->workers;
    if (workers->team && workers->is_last_part) return; /* each was taken when it was ready */
    hu_reduce_part(trainer,
                   workers->team ? workers->gradient[workers->part_of] : trainer->gradient_sum,
                   workers->is_first_part);
}

/* A worker that was stopped says so with its gradient, as far as that has not begun to travel, and
 * so reaches all others. */
void hu_workers_note(hu_trainer *trainer, const hu_worker_result *result) {
    hu_workers *workers = &trainer->workers;
    hu_worker_result *own = &workers->result[workers->first + workers->part_of];
    *own = *result;
    if (workers->team) hu_learn_end_worker(trainer->run);
    own->wants_stop = trainer->stop && *trainer->stop;
    own->drops = (uint32_t)trainer->plateau.drops;
    own->bad_statistics = own == workers->result && hu_statistics_are_bad(trainer);
    for (int32_t l = 0; workers->team && l < workers->layers; l++) {
        const hu_comm_layer *layer = &workers->layer[l];
        float *gradient = workers->gradient[workers->part_of] + layer->offset;
        if (workers->is_ready[l]) continue;
        for (int64_t e = 0; e < layer->elements; e++) gradient[e] = result->stopped ? NAN : 0.0f;
    }
}

/* Counts of the wire: gradients as they were rounded, and apart from them their sums. */
static void count_wire(hu_trainer *trainer) {
    hu_workers *workers = &trainer->workers;
    for (int32_t w = 0; w < workers->here; w++) {
        const hu_comm_counts *counts = hu_process_group_counts(workers->team, w);
        for (int32_t l = 0; l < workers->layers; l++) {
            hu_value_id v = workers->param[l];
            hu_round_counts_add(&trainer->edges.wire[v].counts, &counts[l].rounded);
            hu_round_counts_add(&trainer->edges.wire_sum[v].counts, &counts[l].added);
        }
    }
}

void hu_workers_count(hu_trainer *trainer) {
    hu_workers *workers = &trainer->workers;
    for (int32_t l = 0; workers->team && l < workers->layers; l++) {
        hu_value_id v = workers->param[l];
        if (!hu_quantizer_rounds(&trainer->edges.wire[v].quantizer)) continue;
        hu_round_counts_add(&workers->lost.rounded, &trainer->edges.wire[v].counts);
        hu_round_counts_add(&workers->lost.added, &trainer->edges.wire_sum[v].counts);
    }
}

/* In the order of the workers, whichever process they ran in. */
static hu_worker_result sum_results(const hu_workers *workers) {
    hu_worker_result total = workers->result[0];
    for (int32_t w = 1; w < workers->count; w++) {
        const hu_worker_result *one = &workers->result[w];
        for (int k = 0; k < HU_LOSSES_MOST; k++) {
            for (int i = 0; i < HU_LOSS_STATS; i++)
                total.losses.stats[k][i] += one->losses.stats[k][i];
            total.losses.units[k] += one->losses.units[k];
        }
        total.zeroed += one->zeroed;
        total.ended = total.ended && one->ended;
        total.stopped = total.stopped || one->stopped;
        total.overflowed = total.overflowed || one->overflowed;
        total.wants_stop = total.wants_stop || one->wants_stop;
        total.bad_statistics = total.bad_statistics || one->bad_statistics;
        if (one->counted_nodes < total.counted_nodes) total.counted_nodes = one->counted_nodes;
    }
    return total;
}

/* Results and counts of all processes; those of this one become those of all. */
static hu_status exchange(hu_trainer *trainer) {
    hu_workers *workers = &trainer->workers;
    const size_t head = sizeof(hu_worker_result), body = hu_counters_bytes(trainer->run);
    const size_t row = head + body;
    unsigned char *own = workers->record + (size_t)workers->first * row;
    if (!workers->record) return HU_OK;
    memcpy(own, &workers->result[workers->first], head);
    hu_counters_write(trainer->run, own + head);
    hu_status st = hu_process_group_gather(workers->team, row, workers->record);
    if (st != HU_OK) return st;
    for (int32_t w = 0; w < workers->count; w++)
        memcpy(&workers->result[w], workers->record + (size_t)w * row, head);
    /* Findings stand after each other where they are merged. */
    for (int32_t w = 0; w < workers->count; w++)
        memmove(workers->record + (size_t)w * body, workers->record + (size_t)w * row + head, body);
    hu_counters_merge(trainer->run, workers->record, workers->count);
    return HU_OK;
}

hu_status hu_workers_reduce(hu_trainer *trainer, const hu_step_report *report,
                            hu_worker_result *total) {
    hu_status st = HU_OK;
    hu_workers *workers = &trainer->workers;
    if (workers->team) {
        HU_TRY(hu_process_group_reduce(workers->team, (uint64_t)report->step));
        count_wire(trainer);
        HU_TRY(exchange(trainer));
        hu_learn_join(trainer->run);
    }
    *total = sum_results(workers);
    if (workers->team) hu_run_set_unencodable(trainer->run, total->overflowed);
done:
    return st;
}

/* ---- workers losses ---- */

/* What error feedback keeps from step to step: its unit, its format, and steps that are skipped. */

static size_t row_elements(const hu_workers *workers) {
    return (size_t)workers->plan->elements;
}

/* In units of the loss scale, as the gradients. */
static void rescale(float *loss, size_t elements, float factor) {
    for (size_t e = 0; e < elements; e++) loss[e] *= factor;
}

/* Error feedback: what is kept comes into the unit of the step's loss scale, and is noted for the
 * case that the step is skipped. */
static void hu_workers_begin_losses(hu_workers *workers, float scale) {
    float factor = scale / workers->scale;
    size_t elements = row_elements(workers);
    for (int32_t w = 0; w < workers->here; w++)
        for (int32_t i = 0; i < HU_COMM_LOSSES; i++) {
            float *loss = hu_process_group_residual(workers->team, w, i);
            if (!loss) continue;
            if (factor != 1.0f) rescale(loss, elements, factor);
            memcpy(workers->before[i] + (size_t)w * elements, loss, elements * sizeof *loss);
        }
    workers->scale = scale;
}

void hu_workers_undo_residuals(hu_workers *workers) {
    if (!workers->team) return;
    size_t elements = row_elements(workers);
    for (int32_t w = 0; w < workers->here; w++)
        for (int32_t i = 0; i < HU_COMM_LOSSES; i++) {
            float *loss = hu_process_group_residual(workers->team, w, i);
            if (loss)
                memcpy(loss, workers->before[i] + (size_t)w * elements, elements * sizeof *loss);
        }
}

/* What is kept goes on in another format. */
static void hu_workers_carry_losses(const hu_workers *from, const hu_workers *to) {
    size_t bytes = row_elements(to) * sizeof(float);
    for (int32_t w = 0; w < to->here; w++)
        for (int32_t i = 0; i < HU_COMM_LOSSES; i++) {
            const float *old = hu_process_group_residual(from->team, w, i);
            float *loss = hu_process_group_residual(to->team, w, i);
            if (loss && old) memcpy(loss, old, bytes);
        }
}
