#include "session/saved_gradients.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "session/initial.h"
#include "settings/options.h"

enum { PATH_BYTES = 4096, USUAL_WORKERS = 8 };

/* An empty configuration with what the user may choose anew. */
static hu_status make_config(const hu_gradients_wanted *wanted, hu_config **config) {
    static const char *const no_flags[] = {NULL};
    static const char *const chosen[] = {"data.name", "run.threads"};
    hu_status st = HU_OK;
    hu_keys *given = NULL;
    const hu_config_request nothing = {.flags = no_flags};
    HU_TRY(hu_config_load(&nothing, config));
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "command line", &given));
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        const char *value;
        if (!hu_config_given(wanted->given, chosen[i])) continue;
        HU_TRY(hu_config_text(wanted->given, chosen[i], &value));
        HU_TRY(hu_keys_set_text(given, chosen[i], value, "command line"));
    }
    if (hu_keys_count(given) > 0) HU_TRY(hu_config_merge(*config, given));
done:
    hu_keys_free(given);
    return st;
}

/* The run with workers as they are asked for, whatever it trained with; they only make gradients.
 */
static hu_status open_wanted(const hu_gradients_wanted *wanted, const hu_listener *listener,
                             hu_saved_gradients *g) {
    hu_status st = HU_OK;
    HU_TRY(make_config(wanted, &g->config));
    HU_TRY(hu_saved_run_read(g->config, wanted->directory, listener, &g->run));
    hu_train_comm *comm = &g->run.options.comm;
    int32_t usual = comm->options.workers > 1 ? comm->options.workers : USUAL_WORKERS;
    *comm = (hu_train_comm){.options = {.workers = wanted->workers ? wanted->workers : usual},
                            .formats = "fp32",
                            .exact = wanted->exact};
    HU_TRY(hu_comm_schedule_parse("seq", &comm->options.schedule, &comm->options.group));
    HU_TRY(hu_comm_scaling_parse("none", &comm->options.scaling, &comm->options.constant));
    HU_TRY(hu_trainer_create(&g->run.options, g->run.dataset, &g->run.trainer));
done:
    return st;
}

/* Where the run was at a step or before: a checkpoint, or its beginning (*checkpoint NULL). */
static hu_status find_checkpoint(const hu_gradients_wanted *wanted, const hu_listener *listener,
                                 hu_checkpoint **checkpoint) {
    char path[PATH_BYTES], warning[1024];
    int64_t last = wanted->step < 0 ? INT64_MAX : wanted->step;
    snprintf(path, sizeof path, "%s/checkpoint", wanted->directory);
    hu_status st = hu_checkpoint_open_before(path, last, checkpoint, warning, sizeof warning);
    if (st == HU_ERR_MISSING && wanted->step >= 0) return HU_OK;
    if (st == HU_OK && warning[0]) hu_listener_tell(listener, "%s", warning);
    return st;
}

/* A trainer of the run as it was there. */
static hu_status begin(const hu_saved_gradients *g, const hu_checkpoint *checkpoint,
                       hu_trainer *trainer) {
    if (!checkpoint) return hu_initial_weights(g->config, trainer, NULL);
    return hu_saved_run_restore(g->config, g->run.directory, trainer, checkpoint);
}

/* A checkpoint of its own carries a trainer's state to another one. */
static hu_status carry(const hu_saved_gradients *g, hu_trainer *from, hu_trainer *to) {
    hu_status st = HU_OK;
    hu_checkpoint_writer *writer = NULL;
    hu_checkpoint *checkpoint = NULL;
    char warning[1], folder[PATH_BYTES];
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/halfulp-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        return hu_fail(HU_ERR_IO, "%s: cannot be made: %s", folder, strerror(errno));
    HU_TRY(hu_checkpoint_begin(hu_trainer_progress(from)->step, &writer));
    HU_TRY(hu_trainer_save(from, writer));
    HU_TRY(hu_checkpoint_finish(writer, folder, HU_CHECKPOINT_KEEP));
    HU_TRY(hu_checkpoint_open_newest(folder, &checkpoint, warning, sizeof warning));
    (void)unlink(hu_checkpoint_path(checkpoint));
    HU_TRY(begin(g, checkpoint, to));
done:
    (void)rmdir(folder);
    hu_checkpoint_free(checkpoint);
    hu_checkpoint_writer_free(writer);
    return st;
}

/* Trains as the run did, with its own workers, from a checkpoint to the step before the one that is
 * asked for. */
static hu_status train_on(const hu_gradients_wanted *wanted, const hu_listener *listener,
                          const hu_checkpoint *checkpoint, hu_saved_gradients *g) {
    hu_status st = HU_OK;
    hu_saved_gradients again = {0};
    HU_TRY(make_config(wanted, &again.config));
    HU_TRY(hu_saved_run_read(again.config, wanted->directory, NULL, &again.run));
    again.run.options.histogram_every = 0;
    HU_TRY(hu_trainer_create(&again.run.options, again.run.dataset, &again.run.trainer));
    HU_TRY(begin(&again, checkpoint, again.run.trainer));
    hu_listener_tell(listener, "%s: training again from step %lld to step %lld", wanted->directory,
                     (long long)hu_trainer_progress(again.run.trainer)->step,
                     (long long)wanted->step);
    while (hu_trainer_progress(again.run.trainer)->step < wanted->step) {
        hu_step_report report;
        if (wanted->stop && *wanted->stop) HU_TRY(hu_fail(HU_ERR_INTERRUPTED, "interrupted"));
        HU_TRY(hu_trainer_step(again.run.trainer, &report));
    }
    HU_TRY(carry(g, again.run.trainer, g->run.trainer));
done:
    hu_saved_gradients_close(&again);
    return st;
}

static hu_status check_step(const hu_gradients_wanted *wanted, const hu_saved_gradients *g) {
    int64_t steps = g->run.options.steps;
    if (wanted->step <= steps) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "step: found %lld, expected at most %lld, where %s ends",
                   (long long)wanted->step, (long long)steps, wanted->directory);
}

hu_status hu_saved_gradients_open(const hu_gradients_wanted *wanted, const hu_listener *listener,
                                  hu_saved_gradients *gradients) {
    hu_status st = HU_OK;
    hu_checkpoint *checkpoint = NULL;
    *gradients = (hu_saved_gradients){0};
    HU_TRY(open_wanted(wanted, listener, gradients));
    HU_TRY(check_step(wanted, gradients));
    HU_TRY(find_checkpoint(wanted, listener, &checkpoint));
    int64_t step = checkpoint ? hu_checkpoint_step(checkpoint) : 0;
    if (wanted->step > step)
        HU_TRY(train_on(wanted, listener, checkpoint, gradients));
    else
        HU_TRY(begin(gradients, checkpoint, gradients->run.trainer));
    HU_TRY(hu_trainer_gradients(gradients->run.trainer, &gradients->made));
done:
    hu_checkpoint_free(checkpoint);
    if (st != HU_OK) hu_saved_gradients_close(gradients);
    return st;
}

void hu_saved_gradients_close(hu_saved_gradients *gradients) {
    hu_saved_run_close(&gradients->run);
    hu_config_free(gradients->config);
    *gradients = (hu_saved_gradients){0};
}
