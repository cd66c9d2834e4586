#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "engine/run.h"
#include "precision/adaptation.h"
#include "train/internal.h"
#include "train/trainer.h"

/* ---- state ---- */

/* The trainer's sections of a checkpoint; docs/reference/checkpoint-format.md lists them. */

/* Names and shapes of all parameters and buffers: a checkpoint fits only the graph it was made
 * from. */
static uint64_t graph_fingerprint(const hu_graph *graph) {
    XXH64_state_t state;
    char shape[256];
    XXH64_reset(&state, 0);
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        hu_shape_print(&value->shape, shape, sizeof shape);
        XXH64_update(&state, value->name, strlen(value->name) + 1);
        XXH64_update(&state, shape, strlen(shape) + 1);
    }
    return XXH64_digest(&state);
}

_Static_assert(sizeof(hu_train_position) == 112, "the saved position has no padding");

/* Loss scale and state of the optimizer. */
static hu_status save_phase(const hu_trainer *trainer, int phase, hu_checkpoint_writer *writer) {
    hu_status st = HU_OK;
    const hu_phase_state *learner = &trainer->phase[phase];
    char section[HU_SECTION_BYTES], block[HU_SECTION_BYTES];
    const char *name;
    const void *data;
    size_t bytes;
    HU_TRY(hu_checkpoint_add(writer, hu_phase_section(trainer, phase, "scaler", section),
                             &learner->scaler.state, sizeof learner->scaler.state));
    for (size_t i = 0; hu_optimizer_state(learner->optimizer, i, &name, &data, &bytes); i++) {
        snprintf(block, sizeof block, "optimizer.%.16s", name);
        HU_TRY(hu_checkpoint_add(writer, hu_phase_section(trainer, phase, block, section), data,
                                 bytes));
    }
done:
    return st;
}

hu_status hu_trainer_save(hu_trainer *trainer, hu_checkpoint_writer *writer) {
    hu_status st = HU_OK;
    const void *data;
    size_t bytes;
    /* The history of scales that is saved must be the one that the next step begins with. */
    HU_TRY(hu_adapt_between(trainer));
    trainer->position = (hu_train_position){.graph = graph_fingerprint(trainer->graph),
                                            .seed = trainer->options.run.seed,
                                            .progress = trainer->progress};
    HU_TRY(hu_checkpoint_add(writer, "position", &trainer->position, sizeof trainer->position));
    HU_TRY(hu_checkpoint_add(writer, "parameters", trainer->weights.block,
                             (size_t)trainer->weights.elements * sizeof(float)));
    for (int t = 0; t < trainer->phases; t++) HU_TRY(save_phase(trainer, t, writer));
    /* Optional sections come last; a run that does not need them has the file of older versions. */
    if (trainer->init_hash)
        HU_TRY(hu_checkpoint_add(writer, "init", &trainer->init_hash, sizeof trainer->init_hash));
    HU_TRY(hu_adapt_save(trainer, writer));
    HU_TRY(hu_aggregate_save(trainer, writer));
    HU_TRY(hu_weight_average_save(trainer, writer));
    HU_TRY(hu_streams_save(trainer, writer));
    HU_TRY(hu_plateau_save(trainer, writer));
    HU_TRY(hu_early_stopping_save(trainer, writer));
    HU_TRY(hu_state_formats_save(trainer, writer));
    HU_TRY(hu_workers_save(trainer, writer));
    hu_tensor_scale_history(trainer->run, &data, &bytes);
    if (bytes > 0) HU_TRY(hu_checkpoint_add(writer, "scale.history", data, bytes));
    hu_run_ranges(trainer->run, &data, &bytes);
    if (bytes > 0) HU_TRY(hu_checkpoint_add(writer, "scale.ranges", data, bytes));
    const hu_bits_meter *meter = hu_trainer_bits(trainer);
    bytes = 0;
    if (meter) hu_bits_meter_state(meter, &data, &bytes);
    if (bytes > 0) HU_TRY(hu_checkpoint_add(writer, "bits.cost", data, bytes));
done:
    return st;
}

/* Path, section and both sizes. */
static hu_status wrong_size(const hu_checkpoint *checkpoint, const char *section, size_t found,
                            size_t expected) {
    return hu_fail(HU_ERR_CORRUPT, "%s: section '%s' has %zu bytes, expected %zu",
                   hu_checkpoint_path(checkpoint), section, found, expected);
}

/* A section that every run has, of a size that follows from the model. */
static hu_status fixed_section(const hu_checkpoint *checkpoint, const char *name, size_t expected,
                               const void **data) {
    size_t bytes;
    hu_status st = hu_checkpoint_section(checkpoint, name, data, &bytes);
    if (st == HU_ERR_MISSING)
        return hu_fail(HU_ERR_CORRUPT, "%s: section '%s' is missing",
                       hu_checkpoint_path(checkpoint), name);
    if (st == HU_OK && bytes != expected) return wrong_size(checkpoint, name, bytes, expected);
    return st;
}

static hu_status other_optimizer(const hu_trainer *trainer, const hu_checkpoint *checkpoint,
                                 const char *no, const char *section) {
    return hu_fail(
        HU_ERR_ARGUMENT,
        "optimizer: found %s, expected the one of %s, which left %s'%s': a run keeps its "
        "optimizer",
        hu_optimizer_kinds[trainer->options.optimizer.kind].name, hu_checkpoint_path(checkpoint),
        no, section);
}

/* A state that another kind of optimizer did not leave is no damage. */
static hu_status optimizer_section(const hu_trainer *trainer, const hu_checkpoint *checkpoint,
                                   int phase, const char *state, size_t expected,
                                   const void **saved) {
    char section[HU_SECTION_BYTES], block[HU_SECTION_BYTES];
    size_t bytes;
    snprintf(block, sizeof block, "optimizer.%.16s", state);
    hu_phase_section(trainer, phase, block, section);
    if (hu_checkpoint_section(checkpoint, section, saved, &bytes) == HU_ERR_MISSING)
        return other_optimizer(trainer, checkpoint, "no ", section);
    return fixed_section(checkpoint, section, expected, saved);
}

/* Every block that is needed is there in its size, and none of another kind of optimizer. */
static hu_status check_optimizer(const hu_trainer *trainer, const hu_checkpoint *checkpoint,
                                 int phase) {
    char prefix[HU_SECTION_BYTES];
    const char *name;
    const void *data, *saved;
    size_t bytes, length = strlen(hu_phase_section(trainer, phase, "optimizer.", prefix));
    const hu_optimizer *optimizer = trainer->phase[phase].optimizer;
    for (size_t i = 0; hu_optimizer_state(optimizer, i, &name, &data, &bytes); i++) {
        hu_status st = optimizer_section(trainer, checkpoint, phase, name, bytes, &saved);
        if (st != HU_OK) return st;
    }
    for (size_t i = 0; i < hu_checkpoint_sections(checkpoint); i++) {
        name = hu_checkpoint_section_name(checkpoint, i);
        if (strncmp(name, prefix, length) == 0 &&
            !hu_optimizer_keeps(trainer->options.optimizer.kind, name + length))
            return other_optimizer(trainer, checkpoint, "", name);
    }
    return HU_OK;
}

/* Loss scale and optimizer of a turn can be taken over; changes nothing but *restored. */
static hu_status check_phase(const hu_trainer *trainer, const hu_checkpoint *checkpoint, int phase,
                             hu_loss_scale *restored) {
    hu_status st = HU_OK;
    char section[HU_SECTION_BYTES];
    const void *scaler;
    *restored = trainer->phase[phase].scaler;
    HU_TRY(fixed_section(checkpoint, hu_phase_section(trainer, phase, "scaler", section),
                         sizeof restored->state, &scaler));
    HU_TRY(hu_loss_scale_restore(restored, scaler, sizeof restored->state));
    HU_TRY(check_optimizer(trainer, checkpoint, phase));
done:
    return st;
}

/* The one number that can be wrong by itself, t, is restored first. */
static hu_status restore_optimizer(hu_trainer *trainer, const hu_checkpoint *checkpoint,
                                   int phase) {
    hu_optimizer *optimizer = trainer->phase[phase].optimizer;
    const char *name;
    const void *data, *saved;
    size_t bytes;
    for (size_t i = 0; hu_optimizer_state(optimizer, i, &name, &data, &bytes); i++) {
        hu_status st = optimizer_section(trainer, checkpoint, phase, name, bytes, &saved);
        if (st == HU_OK) st = hu_optimizer_restore(optimizer, i, saved, bytes);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

/* A run that had no delayed scales left no history: it starts empty. */
static hu_status restore_history(hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    const void *data;
    size_t bytes;
    hu_status st = hu_checkpoint_section(checkpoint, "scale.history", &data, &bytes);
    if (st != HU_OK && st != HU_ERR_MISSING) return st;
    st = hu_tensor_scale_restore(trainer->run, data, bytes);
    if (st != HU_OK)
        return hu_fail_within(st, "%s: section 'scale.history': ", hu_checkpoint_path(checkpoint));
    return HU_OK;
}

/* The same for running ranges. */
static hu_status restore_ranges(hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    const void *data;
    size_t bytes;
    hu_status st = hu_checkpoint_section(checkpoint, "scale.ranges", &data, &bytes);
    if (st != HU_OK && st != HU_ERR_MISSING) return st;
    st = hu_run_restore_ranges(trainer->run, data, bytes);
    if (st != HU_OK)
        return hu_fail_within(st, "%s: section 'scale.ranges': ", hu_checkpoint_path(checkpoint));
    return HU_OK;
}

/* What the bits of a training have cost. A checkpoint of another precision has no such section: the
 * sums begin here. Changes nothing. */
static hu_status find_meter(const hu_trainer *trainer, const hu_checkpoint *checkpoint,
                            const void **data, size_t *bytes) {
    const hu_bits_meter *meter = hu_trainer_bits(trainer);
    *bytes = 0;
    hu_status st = hu_checkpoint_section(checkpoint, "bits.cost", data, bytes);
    if (st == HU_ERR_MISSING || !meter) return HU_OK;
    if (st == HU_OK) st = hu_bits_meter_check(meter, *data, *bytes);
    if (st != HU_OK)
        return hu_fail_within(st, "%s: section 'bits.cost': ", hu_checkpoint_path(checkpoint));
    return HU_OK;
}

/* Counters of a file that no run wrote could overflow the arithmetic of the next step. */
static bool is_possible(const hu_train_progress *p, int64_t batch) {
    int64_t most = INT64_MAX / 4 / (batch > 0 ? batch : 1);
    return p->step >= 0 && p->step <= most && p->epoch_units >= 0 &&
           p->epoch_units <= INT64_MAX / 4 && p->last_metric_step >= -1 &&
           p->last_metric_step <= p->step;
}

/* Hash of the weights that the run began with, 0 if they were drawn; it must be the one that the
 * options name. */
static hu_status read_init(const hu_trainer *trainer, const hu_checkpoint *checkpoint,
                           uint64_t *init) {
    const void *data;
    size_t bytes;
    const hu_train_options *options = &trainer->options;
    *init = 0;
    hu_status st = hu_checkpoint_section(checkpoint, "init", &data, &bytes);
    if (st != HU_OK && st != HU_ERR_MISSING) return st;
    if (st == HU_OK && bytes != sizeof *init)
        return wrong_size(checkpoint, "init", bytes, sizeof *init);
    if (st == HU_OK) memcpy(init, data, bytes);
    bool is_known = options->init_hash || !options->init;
    if (!is_known || *init == options->init_hash) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "init: found weights of hash %016llx, expected %016llx, with which %s was begun "
                   "(0: drawn)",
                   (unsigned long long)options->init_hash, (unsigned long long)*init,
                   hu_checkpoint_path(checkpoint));
}

/* The file is sound: it is the question that is another one. */
static hu_status other_graph(const hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    char shape[128];
    const hu_value_info *input = &trainer->graph->value[trainer->graph->loaded[0]];
    hu_shape_print(&input->shape, shape, sizeof shape);
    return hu_fail(HU_ERR_SHAPE, "%s: made from another model than '%s' with '%s' %s here",
                   hu_checkpoint_path(checkpoint), trainer->options.model, input->name, shape);
}

hu_status hu_trainer_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_status st = HU_OK;
    const void *place, *parameters;
    hu_loss_scale restored[HU_PHASES_MOST];
    hu_bits_meter *meter = hu_bits_meter_of(&trainer->adaptations);
    hu_train_position saved;
    uint64_t init;
    const void *spent = NULL;
    size_t spent_bytes, bytes = (size_t)trainer->weights.elements * sizeof(float);
    HU_TRY(fixed_section(checkpoint, "position", sizeof saved, &place));
    memcpy(&saved, place, sizeof saved);
    if (saved.graph != graph_fingerprint(trainer->graph)) return other_graph(trainer, checkpoint);
    if (saved.seed != trainer->options.run.seed)
        return hu_fail(HU_ERR_ARGUMENT,
                       "seed: found %llu, expected %llu, with which %s was made: a run keeps its "
                       "seed; `halfulp train` starts one with another",
                       (unsigned long long)trainer->options.run.seed,
                       (unsigned long long)saved.seed, hu_checkpoint_path(checkpoint));
    if (saved.progress.step < 0 || saved.progress.step != hu_checkpoint_step(checkpoint))
        return hu_fail(HU_ERR_CORRUPT, "%s: position says step %lld, the file says %lld",
                       hu_checkpoint_path(checkpoint), (long long)saved.progress.step,
                       (long long)hu_checkpoint_step(checkpoint));
    if (!is_possible(&saved.progress, trainer->options.batch))
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: position says step %lld, %lld units and an evaluation at step %lld, "
                       "which no run can reach",
                       hu_checkpoint_path(checkpoint), (long long)saved.progress.step,
                       (long long)saved.progress.epoch_units,
                       (long long)saved.progress.last_metric_step);
    HU_TRY(read_init(trainer, checkpoint, &init));
    HU_TRY(fixed_section(checkpoint, "parameters", bytes, &parameters));
    HU_TRY(hu_state_formats_check(trainer, checkpoint));
    for (int t = 0; t < trainer->phases; t++)
        HU_TRY(check_phase(trainer, checkpoint, t, &restored[t]));
    HU_TRY(hu_workers_check(trainer, checkpoint));
    HU_TRY(hu_adapt_check(trainer, checkpoint));
    HU_TRY(find_meter(trainer, checkpoint, &spent, &spent_bytes));
    HU_TRY(hu_aggregate_check(checkpoint));
    HU_TRY(hu_weight_average_check(trainer, checkpoint));
    HU_TRY(hu_streams_check(trainer, checkpoint));
    HU_TRY(hu_plateau_check(trainer, checkpoint));
    HU_TRY(hu_early_stopping_check(trainer, checkpoint));
    HU_TRY(hu_adapt_restore(trainer, checkpoint, saved.progress.step));
    HU_TRY(restore_history(trainer, checkpoint));
    HU_TRY(restore_ranges(trainer, checkpoint));
    HU_TRY(hu_workers_restore(trainer, checkpoint));
    HU_TRY(hu_weight_average_restore(trainer, checkpoint));
    HU_TRY(hu_streams_restore(trainer, checkpoint));
    for (int t = 0; t < trainer->phases; t++) HU_TRY(restore_optimizer(trainer, checkpoint, t));
    if (meter) hu_bits_meter_restore(meter, spent, spent_bytes);
    hu_aggregate_restore(trainer, checkpoint, saved.progress.step);
    hu_plateau_restore(trainer, checkpoint);
    hu_early_stopping_restore(trainer, checkpoint);
    for (int t = 0; t < trainer->phases; t++) trainer->phase[t].scaler = restored[t];
    memcpy(trainer->weights.block, parameters, bytes);
    trainer->progress = saved.progress;
    trainer->init_hash = init;
    trainer->loaded_epoch = -1;
done:
    return st;
}
