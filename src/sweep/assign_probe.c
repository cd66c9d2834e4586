#include "sweep/assign_probe.h"

#include <stdio.h>

#include "base/error.h"
#include "session/initial.h"
#include "session/options.h"

static hu_status set_length(hu_config *config, int64_t steps) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)steps);
    hu_status st = hu_config_replace(config, "run.steps", text, "assign");
    return st == HU_OK ? hu_config_replace(config, "lr.warmup", "0", "assign") : st;
}

hu_status hu_assign_probe_read(const hu_assign *assign, const char *plan, size_t s, int64_t steps,
                               hu_assign_probe *probe) {
    hu_status st = HU_OK;
    int64_t seed;
    *probe = (hu_assign_probe){0};
    HU_TRY(hu_keys_as_i64(hu_keys_at(assign->seeds, s), &seed));
    HU_TRY(hu_assign_config(assign, plan, &probe->config));
    if (steps > 0) HU_TRY(set_length(probe->config, steps));
    HU_TRY(hu_options_train(probe->config, assign->dataset, &probe->precision, &probe->options));
    probe->options.run.seed = (uint64_t)seed;
    probe->options.histogram_every = 0;
done:
    if (st != HU_OK) hu_assign_probe_close(probe);
    return st;
}

hu_status hu_assign_probe_make(const hu_assign *assign, hu_assign_probe *probe) {
    hu_status st = hu_trainer_create(&probe->options, assign->dataset, &probe->trainer);
    return st == HU_OK ? hu_initial_weights(probe->config, probe->trainer, NULL) : st;
}

void hu_assign_probe_close(hu_assign_probe *probe) {
    hu_trainer_free(probe->trainer);
    hu_precision_free(&probe->precision);
    hu_config_free(probe->config);
    *probe = (hu_assign_probe){0};
}

hu_status hu_assign_check_stop(const hu_assign *assign) {
    if (!assign->jobs.interrupted || !*assign->jobs.interrupted) return HU_OK;
    return hu_fail(HU_ERR_INTERRUPTED,
                   "stopped while groups were measured; the same command goes on (%s)",
                   assign->directory);
}

hu_status hu_assign_open_ended(const hu_assign *assign, size_t s, hu_config **config,
                               hu_saved_run *run) {
    static const char *const no_flags[] = {NULL};
    const hu_config_request nothing = {.flags = no_flags};
    char folder[1024];
    hu_assign_folder(assign, "fp32", assign->rungs - 1, s, folder, sizeof folder);
    hu_status st = hu_config_load(&nothing, config);
    return st == HU_OK ? hu_saved_run_open(*config, folder, NULL, run) : st;
}
