#include "train/aggregate.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "train/trainer.h"

#define SECTION "aggregate"

static double now(const hu_trainer *trainer) {
    return (double)hu_precision_aggregate_bits(trainer->graph, &trainer->edges,
                                               trainer->options.batch);
}

/* Sums of whole numbers: exact below 2^53 bits, and the same after a resume in any case. */
void hu_aggregate_add(hu_trainer *trainer, int64_t step) {
    double bits = now(trainer);
    if (step == 0) trainer->aggregate = (hu_aggregate){.first = bits};
    trainer->aggregate.sum += bits;
}

hu_aggregate_bits hu_trainer_aggregate(const hu_trainer *trainer) {
    double bits = now(trainer);
    int64_t steps = trainer->progress.step;
    if (steps == 0) return (hu_aggregate_bits){bits, bits, bits};
    return (hu_aggregate_bits){trainer->aggregate.first, bits,
                               trainer->aggregate.sum / (double)steps};
}

hu_status hu_aggregate_save(const hu_trainer *trainer, hu_checkpoint_writer *writer) {
    if (trainer->progress.step == 0) return HU_OK;
    return hu_checkpoint_add(writer, SECTION, &trainer->aggregate, sizeof trainer->aggregate);
}

hu_status hu_aggregate_check(const hu_checkpoint *checkpoint) {
    const void *data;
    size_t bytes;
    hu_aggregate saved = {0};
    hu_status st = hu_checkpoint_section(checkpoint, SECTION, &data, &bytes);
    if (st != HU_OK) return st == HU_ERR_MISSING ? HU_OK : st;
    if (bytes == sizeof saved) memcpy(&saved, data, sizeof saved);
    if (saved.first > 0.0 && isfinite(saved.first) && saved.sum >= saved.first &&
        isfinite(saved.sum))
        return HU_OK;
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: section '" SECTION "' has %zu bytes and says %g bits, %g in all; expected "
                   "%zu bytes, bits above 0 and no less in all",
                   hu_checkpoint_path(checkpoint), bytes, saved.first, saved.sum, sizeof saved);
}

void hu_aggregate_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint, int64_t done) {
    const void *data;
    size_t bytes;
    double bits = now(trainer);
    trainer->aggregate = (hu_aggregate){bits, bits * (double)done};
    if (hu_checkpoint_section(checkpoint, SECTION, &data, &bytes) == HU_OK)
        memcpy(&trainer->aggregate, data, sizeof trainer->aggregate);
}
