#include "session/comm.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

const char *hu_usual_schedule(const hu_comm_scaling *scaling) {
    return scaling->wide ? "pairwise" : "ring";
}

/* Few workers want their first bucket to leave early, many want few latencies: docs/results.md has
 * both ends. */
hu_status hu_options_bucket(hu_config *config, int32_t workers, int64_t *bytes) {
    enum { LEAST_MEGABYTES = 2 };
    hu_status st = HU_OK;
    char usual[32];
    double megabytes;
    snprintf(usual, sizeof usual, "%d", workers > LEAST_MEGABYTES ? workers : LEAST_MEGABYTES);
    HU_TRY(hu_config_set(config, "comm.bucket", usual, "workers"));
    HU_TRY(hu_config_f64(config, "comm.bucket", &megabytes));
    *bytes = (int64_t)(megabytes * 1e6);
done:
    return st;
}

static hu_status read_schedule(hu_config *config, hu_comm_options *options) {
    hu_status st = HU_OK;
    const char *text;
    HU_TRY(hu_config_set(config, "comm.schedule", hu_usual_schedule(options->scaling), "scaling"));
    HU_TRY(hu_config_text(config, "comm.schedule", &text));
    HU_TRY(hu_comm_schedule_parse(text, &options->schedule, &options->group));
done:
    return st;
}

hu_status hu_options_rounding(const hu_config *config, hu_comm_options *options) {
    hu_status st = HU_OK;
    const char *text;
    HU_TRY(hu_config_text(config, "comm.rounding", &text));
    HU_TRY(hu_rounding_parse(text, &options->rounding));
    HU_TRY(hu_config_bool(config, "comm.kahan", &options->kahan));
    HU_TRY(hu_config_bool(config, "comm.error_feedback", &options->error_feedback));
done:
    return st;
}

hu_status hu_options_reduction(hu_config *config, hu_comm_options *options) {
    hu_status st = HU_OK;
    const char *text;
    int64_t workers;
    HU_TRY(hu_config_i64(config, "comm.workers", &workers));
    options->workers = (int32_t)workers;
    HU_TRY(hu_config_text(config, "comm.scaling", &text));
    HU_TRY(hu_comm_scaling_parse(text, &options->scaling, &options->constant));
    HU_TRY(read_schedule(config, options));
    HU_TRY(hu_options_rounding(config, options));
    HU_TRY(hu_options_bucket(config, options->workers, &options->bucket_bytes));
    HU_TRY(hu_config_u64(config, "run.seed", &options->seed));
done:
    return st;
}

/* One worker whose gradient is not rounded: what a training without workers does. */
static bool is_alone(const hu_train_comm *comm) {
    return comm->options.workers == 1 && strcmp(comm->formats, "fp32") == 0;
}

hu_status hu_options_comm(hu_config *config, hu_train_comm *comm) {
    hu_status st = HU_OK;
    HU_TRY(hu_options_reduction(config, &comm->options));
    HU_TRY(hu_config_text(config, "comm.format", &comm->formats));
    HU_TRY(hu_config_text(config, "comm.exact", &comm->exact));
    if (!is_alone(comm)) goto done;
    comm->options.workers = 0;
    /* The short word is easily taken for that of all tensors. */
    if (comm->options.rounding != HU_ROUND_NEAREST_EVEN)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "found key 'comm.rounding', but the gradient of one worker does not travel; "
                     "expected precision.rounding for the tensors of a training");
done:
    return st;
}
