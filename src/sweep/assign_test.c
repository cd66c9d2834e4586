/* The test samples, read once for what was chosen. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "session/saved_run.h"
#include "sweep/assign.h"

/* The metric of one trained run on the test samples; its folder stays as it is. */
static hu_status read_run(const char *folder, double *value, int64_t *samples) {
    static const char *const no_flags[] = {NULL};
    const hu_config_request nothing = {.flags = no_flags};
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_saved_run run = {0};
    double metrics[HU_METRICS_MAX], loss;
    HU_TRY(hu_config_load(&nothing, &config));
    HU_TRY(hu_saved_run_open(config, folder, NULL, &run));
    HU_TRY(hu_trainer_evaluate_on(run.trainer, HU_HALF_TEST, metrics, &loss));
    *value = metrics[0];
    *samples = run.dataset->test.count;
done:
    hu_saved_run_close(&run);
    hu_config_free(config);
    return st;
}

/* Mean and standard deviation over the seeds. */
static hu_status read_seeds(const hu_assign *assign, const char *name, double *mean,
                            double *deviation, int64_t *samples) {
    hu_status st = HU_OK;
    hu_spread spread = {0};
    double value;
    char folder[1024];
    for (size_t s = 0; s < hu_keys_count(assign->seeds); s++) {
        hu_assign_folder(assign, name, assign->rungs - 1, s, folder, sizeof folder);
        HU_TRY(read_run(folder, &value, samples));
        hu_spread_add(&spread, value);
    }
    *mean = hu_spread_mean(&spread);
    *deviation = hu_spread_deviation(&spread);
done:
    return st;
}

/* What diverged has no weights to be tested. */
static bool has_value(const hu_assign *assign, int i) {
    if (i == HU_ASSIGN_NONE) return false;
    return !isnan(i < 0 ? assign->high.value : assign->candidate[i].rung[assign->rungs - 1].value);
}

hu_status hu_assign_read_test(const hu_assign *assign, hu_assign_choice *choice) {
    const int wanted[2] = {choice->best, choice->plain};
    for (int k = 0; k < 2; k++) {
        choice->test[k] = choice->test_deviation[k] = (double)NAN;
        if (!has_value(assign, wanted[k])) continue;
        const char *name = wanted[k] < 0 ? "high" : assign->candidate[wanted[k]].name;
        hu_status st = read_seeds(assign, name, &choice->test[k], &choice->test_deviation[k],
                                  &choice->test_samples);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}
