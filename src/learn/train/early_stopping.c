#include "train/internal.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "train/trainer.h"

/* ---- Trainings that end early, where evaluations get no better ---- */

#define SECTION "patience"

_Static_assert(sizeof(hu_early_stopping) == 16, "the saved state has no padding");

void hu_early_stopping_begin(hu_trainer *trainer) {
    trainer->patience = (hu_early_stopping){.best = (double)NAN};
}

/* Beats the best by more than the least difference that counts. */
static bool is_better(const hu_trainer *trainer, double value) {
    const hu_metric *metric = trainer->task->metric[0];
    double best = trainer->patience.best, margin = trainer->options.min_delta / metric->factor;
    return hu_metric_is_better(metric, value,
                               metric->higher_is_better ? best + margin : best - margin);
}

void hu_early_stopping_note(hu_trainer *trainer, double value) {
    hu_early_stopping *p = &trainer->patience;
    if (trainer->options.patience < 1) return;
    if (is_better(trainer, value)) {
        p->best = value;
        p->stale = 0;
    } else {
        p->stale++;
    }
}

bool hu_early_stopping_is_over(const hu_trainer *trainer) {
    int64_t patience = trainer->options.patience;
    return patience > 0 && trainer->patience.stale >= patience;
}

hu_status hu_early_stopping_save(const hu_trainer *trainer, hu_checkpoint_writer *writer) {
    if (trainer->options.patience < 1) return HU_OK;
    return hu_checkpoint_add(writer, SECTION, &trainer->patience, sizeof trainer->patience);
}

/* What restore takes over: a new state where the file has none. */
static hu_status find(const hu_trainer *trainer, const hu_checkpoint *checkpoint,
                      hu_early_stopping *saved) {
    const void *data;
    size_t bytes = 0;
    *saved = (hu_early_stopping){.best = (double)NAN};
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

hu_status hu_early_stopping_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_early_stopping saved;
    return find(trainer, checkpoint, &saved);
}

void hu_early_stopping_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_early_stopping saved;
    if (find(trainer, checkpoint, &saved) == HU_OK) trainer->patience = saved;
}

/* ---- plateau ---- */

/* Learning rates that fall where a training gets no better: what they know of it.
 */

#define PLATEAU_SECTION "plateau"

_Static_assert(sizeof(hu_plateau) == 72, "the saved state has no padding");

static bool has_state(const hu_trainer *trainer) {
    hu_schedule_kind kind = trainer->options.schedule.kind;
    return kind == HU_SCHEDULE_PLATEAU || kind == HU_SCHEDULE_PLATEAU_LOSS;
}

void hu_plateau_begin(hu_trainer *trainer) {
    trainer->plateau = (hu_plateau){.best = (double)NAN};
}

/* Beats the best by more than that share of it. */
static bool plateau_is_better(const hu_trainer *trainer, double value) {
    const hu_metric *metric = trainer->task->metric[0];
    double best = trainer->plateau.best, margin = trainer->options.schedule.threshold * fabs(best);
    return hu_metric_is_better(metric, value,
                               metric->higher_is_better ? best + margin : best - margin);
}

void hu_plateau_note_metric(hu_trainer *trainer, double value) {
    hu_plateau *p = &trainer->plateau;
    if (trainer->options.schedule.kind != HU_SCHEDULE_PLATEAU) return;
    if (plateau_is_better(trainer, value)) {
        p->best = value;
        p->stale = 0;
    } else if (++p->stale >= trainer->options.schedule.patience) {
        p->stale = 0;
        p->drops++;
    }
}

/* The mean of the steps that were seen becomes the last one. */
static void end_window(hu_plateau *p) {
    double mean = p->sum / (double)p->steps;
    bool is_above = p->windows >= HU_PLATEAU_WINDOWS;
    for (int i = 0; i < HU_PLATEAU_WINDOWS; i++) is_above = is_above && mean > p->mean[i];
    p->drops += is_above;
    p->mean[p->windows++ % HU_PLATEAU_WINDOWS] = mean;
    p->sum = 0.0;
    p->steps = 0;
}

void hu_plateau_note_loss(hu_trainer *trainer, double loss) {
    const hu_schedule *s = &trainer->options.schedule;
    hu_plateau *p = &trainer->plateau;
    if (s->kind != HU_SCHEDULE_PLATEAU_LOSS || !isfinite(loss)) return;
    p->sum += loss;
    p->steps++;
    double unit = s->unit == HU_UNIT_EPOCH ? (double)trainer->steps_per_epoch : 1.0;
    if ((double)p->steps >= s->period * unit) end_window(p);
}

double hu_plateau_rate(const hu_trainer *trainer, int64_t step) {
    hu_schedule s = trainer->options.schedule;
    int64_t drops = trainer->plateau.drops, steps = trainer->options.steps;
    if (drops > 0) s.lr = fmax(s.lr * pow(s.factor, (double)drops), s.floor);
    return hu_schedule_lr(&s, step, trainer->steps_per_epoch, steps > 0 ? steps : 1);
}

hu_status hu_plateau_save(const hu_trainer *trainer, hu_checkpoint_writer *writer) {
    if (!has_state(trainer)) return HU_OK;
    return hu_checkpoint_add(writer, PLATEAU_SECTION, &trainer->plateau, sizeof trainer->plateau);
}

/* What restore takes over: a new state where the file has none. */
static hu_status plateau_find(const hu_trainer *trainer, const hu_checkpoint *checkpoint,
                              hu_plateau *saved) {
    const void *data;
    size_t bytes = 0;
    *saved = (hu_plateau){.best = (double)NAN};
    if (!has_state(trainer)) return HU_OK;
    hu_status st = hu_checkpoint_section(checkpoint, PLATEAU_SECTION, &data, &bytes);
    if (st != HU_OK) return st == HU_ERR_MISSING ? HU_OK : st;
    if (bytes == sizeof *saved) memcpy(saved, data, bytes);
    bool is_possible = saved->drops >= 0 && saved->stale >= 0 && saved->steps >= 0 &&
                       saved->windows >= 0 && isfinite(saved->sum);
    if (bytes == sizeof *saved && is_possible && saved->drops <= UINT32_MAX) return HU_OK;
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: section '" PLATEAU_SECTION
                   "' has %zu bytes and says %lld drops, %lld evaluations "
                   "and %lld steps; expected %zu bytes and no number below 0",
                   hu_checkpoint_path(checkpoint), bytes, (long long)saved->drops,
                   (long long)saved->stale, (long long)saved->steps, sizeof *saved);
}

hu_status hu_plateau_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_plateau saved;
    return plateau_find(trainer, checkpoint, &saved);
}

void hu_plateau_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_plateau saved;
    if (plateau_find(trainer, checkpoint, &saved) == HU_OK) trainer->plateau = saved;
}
