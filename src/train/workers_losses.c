/* What error feedback keeps from step to step: its unit, its format, and steps that are skipped. */
#include <string.h>

#include "train/workers.h"

static size_t row_elements(const hu_workers *workers) {
    return (size_t)workers->plan->elements;
}

/* In units of the loss scale, as the gradients. */
static void rescale(float *loss, size_t elements, float factor) {
    for (size_t e = 0; e < elements; e++) loss[e] *= factor;
}

void hu_workers_begin_losses(hu_workers *workers, float scale) {
    float factor = scale / workers->scale;
    size_t elements = row_elements(workers);
    for (int32_t w = 0; w < workers->here; w++)
        for (int32_t i = 0; i < HU_COMM_LOSSES; i++) {
            float *loss = hu_team_loss(workers->team, w, i);
            if (!loss) continue;
            if (factor != 1.0f) rescale(loss, elements, factor);
            memcpy(workers->before[i] + (size_t)w * elements, loss, elements * sizeof *loss);
        }
    workers->scale = scale;
}

void hu_workers_undo_losses(hu_workers *workers) {
    if (!workers->team) return;
    size_t elements = row_elements(workers);
    for (int32_t w = 0; w < workers->here; w++)
        for (int32_t i = 0; i < HU_COMM_LOSSES; i++) {
            float *loss = hu_team_loss(workers->team, w, i);
            if (loss)
                memcpy(loss, workers->before[i] + (size_t)w * elements, elements * sizeof *loss);
        }
}

void hu_workers_carry_losses(const hu_workers *from, const hu_workers *to) {
    size_t bytes = row_elements(to) * sizeof(float);
    for (int32_t w = 0; w < to->here; w++)
        for (int32_t i = 0; i < HU_COMM_LOSSES; i++) {
            const float *old = hu_team_loss(from->team, w, i);
            float *loss = hu_team_loss(to->team, w, i);
            if (loss && old) memcpy(loss, old, bytes);
        }
}
