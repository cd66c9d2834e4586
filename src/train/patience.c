#include "train/patience.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

#define SECTION "patience"

_Static_assert(sizeof(hu_patience) == 16, "the saved state has no padding");

void hu_patience_begin(hu_trainer *trainer) {
    trainer->patience = (hu_patience){.best = (double)NAN};
}

/* Beats the best by more than the least difference that counts. */
static bool is_better(const hu_trainer *trainer, double value) {
    const hu_metric *metric = trainer->task->metric[0];
    double best = trainer->patience.best, margin = trainer->options.min_delta / metric->factor;
    return hu_metric_is_better(metric, value,
                               metric->higher_is_better ? best + margin : best - margin);
}

void hu_patience_note(hu_trainer *trainer, double value) {
    hu_patience *p = &trainer->patience;
    if (trainer->options.patience < 1) return;
    if (is_better(trainer, value)) {
        p->best = value;
        p->stale = 0;
    } else {
        p->stale++;
    }
}

bool hu_patience_is_over(const hu_trainer *trainer) {
    int64_t patience = trainer->options.patience;
    return patience > 0 && trainer->patience.stale >= patience;
}

hu_status hu_patience_save(const hu_trainer *trainer, hu_checkpoint_writer *writer) {
    if (trainer->options.patience < 1) return HU_OK;
    return hu_checkpoint_add(writer, SECTION, &trainer->patience, sizeof trainer->patience);
}

/* What restore takes over: a new state where the file has none. */
static hu_status find(const hu_trainer *trainer, const hu_checkpoint *checkpoint,
                      hu_patience *saved) {
    const void *data;
    size_t bytes = 0;
    *saved = (hu_patience){.best = (double)NAN};
    if (trainer->options.patience < 1) return HU_OK;
    hu_status st = hu_checkpoint_section(checkpoint, SECTION, &data, &bytes);
    if (st != HU_OK) return st == HU_ERR_MISSING ? HU_OK : st;
    if (bytes == sizeof *saved) memcpy(saved, data, bytes);
    if (bytes == sizeof *saved && saved->stale >= 0) return HU_OK;
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: section '" SECTION "' has %zu bytes and says %lld evaluations; expected "
                   "%zu bytes and no number below 0",
                   hu_checkpoint_path(checkpoint), bytes, (long long)saved->stale, sizeof *saved);
}

hu_status hu_patience_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_patience saved;
    return find(trainer, checkpoint, &saved);
}

void hu_patience_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_patience saved;
    if (find(trainer, checkpoint, &saved) == HU_OK) trainer->patience = saved;
}
