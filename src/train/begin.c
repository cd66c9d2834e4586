#include "train/begin.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "train/adapt.h"
#include "train/average.h"
#include "train/inner.h"
#include "train/patience.h"
#include "train/plateau.h"
#include "train/update.h"

/* Arrays of the one are arrays of the other. */
static hu_status check_same_parameters(const hu_trainer *a, const hu_trainer *b) {
    bool same = a->parameter_count == b->parameter_count &&
                a->weights.elements == b->weights.elements &&
                a->weights.trained == b->weights.trained;
    for (uint32_t p = 0; same && p < a->parameter_count; p++) {
        hu_value_id v = a->name_order[p], w = b->name_order[p];
        same = strcmp(a->graph->value[v].name, b->graph->value[w].name) == 0 &&
               a->weights.offset[v] == b->weights.offset[w];
    }
    if (same) return HU_OK;
    return hu_fail(HU_ERR_SHAPE,
                   "found %u parameters with %lld numbers to begin with, expected the %u with %lld "
                   "of this training, in their order",
                   b->parameter_count, (long long)b->weights.elements, a->parameter_count,
                   (long long)a->weights.elements);
}

static hu_status take_optimizer(hu_trainer *trainer, const hu_trainer *other) {
    hu_status st = HU_OK;
    const char *name;
    const void *data;
    size_t bytes;
    if (trainer->options.optimizer.kind != other->options.optimizer.kind)
        return hu_fail(HU_ERR_ARGUMENT, "found the state of optimizer %s, expected that of %s",
                       hu_optimizer_kinds[other->options.optimizer.kind].name,
                       hu_optimizer_kinds[trainer->options.optimizer.kind].name);
    if (strcmp(trainer->state_formats, other->state_formats) != 0)
        return hu_fail(HU_ERR_ARGUMENT, "found an optimizer whose state has other formats, "
                                        "expected those of this training (optimizer.state)");
    for (int t = 0; t < trainer->turns; t++)
        for (size_t i = 0; hu_optimizer_state(other->turn[t].optimizer, i, &name, &data, &bytes);
             i++)
            HU_TRY(hu_optimizer_restore(trainer->turn[t].optimizer, i, data, bytes));
done:
    return st;
}

hu_status hu_trainer_begin_at(hu_trainer *trainer, const hu_trainer *other) {
    hu_status st = HU_OK;
    HU_TRY(check_same_parameters(trainer, other));
    HU_TRY(take_optimizer(trainer, other));
    for (int t = 0; t < trainer->turns; t++)
        HU_TRY(hu_loss_scale_init(&trainer->options.scaler, &trainer->turn[t].scaler));
    memcpy(trainer->weights.block, other->weights.block,
           (size_t)other->weights.elements * sizeof *other->weights.block);
    if (!trainer->options.keep_masters) hu_round_masters(trainer);
    hu_average_take(trainer, other);
    trainer->progress = (hu_train_progress){.last_metric_step = -1, .last_epoch_loss = (double)NAN};
    hu_plateau_begin(trainer);
    hu_patience_begin(trainer);
done:
    return st;
}

hu_status hu_trainer_promote(hu_trainer *trainer, const hu_value_id *value, uint32_t count) {
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++) {
        if (hu_adaptation_table[a] != &hu_adaptation_promote || !trainer->adaptations.state[a])
            continue;
        hu_adaptation_promote.restore(trainer->adaptations.state[a], value, count * sizeof *value);
        return hu_adapt_between(trainer);
    }
    return hu_fail(HU_ERR_ARGUMENT, "found tensors to promote, expected a precision that promotes");
}

const float *hu_trainer_gradient(const hu_trainer *trainer) {
    return trainer->workers.gradient ? trainer->workers.gradient[0] : NULL;
}
