#include "settings/options.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

const char *hu_default_schedule(const hu_comm_scaling *scaling) {
    return scaling->wide ? "pairwise" : "ring";
}

/* Few workers want their first bucket to leave early, many want few latencies:
 * docs/results/workers.md has both ends. */
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
    HU_TRY(
        hu_config_set(config, "comm.schedule", hu_default_schedule(options->scaling), "scaling"));
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

/* Reads schedule, scaling, rounding and the like of a reduction between so many workers; sets what
 * was left open. The format is left to the caller. */
static hu_status options_reduction(hu_config *config, hu_comm_options *options) {
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

/* Gradients as they are. */
static bool is_unrounded(const hu_train_comm *comm) {
    return strcmp(comm->formats, "fp32") == 0 && !comm->options.scaling->code;
}

/* One worker whose gradient is not rounded: what a training without workers does. */
static bool is_alone(const hu_train_comm *comm) {
    return comm->options.workers == 1 && is_unrounded(comm);
}

/* The first key that was asked for now, by another value than the usual one, and that has a meaning
 * only for numbers that are rounded; NULL: none. */
static const char *idle_rounding(const hu_config *config, const hu_train_comm *comm) {
    const hu_comm_options *o = &comm->options;
    const struct {
        const char *key;
        bool is_used;
    } keys[] = {{"comm.rounding", o->rounding != HU_ROUND_NEAREST_EVEN},
                {"comm.scaling", strcmp(o->scaling->name, "none") != 0},
                {"comm.kahan", o->kahan},
                {"comm.error_feedback", o->error_feedback},
                {"comm.exact", comm->exact[0] != '\0'}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].is_used && hu_config_asked(config, keys[i].key)) return keys[i].key;
    return NULL;
}

/* One worker: nothing travels. The short word rounding= is easily taken for that of all tensors. */
static hu_status check_alone(const hu_config *config, const hu_train_comm *comm) {
    const char *schedule, *idle = idle_rounding(config, comm);
    hu_status st = hu_config_text(config, "comm.schedule", &schedule);
    if (st != HU_OK) return st;
    bool has_order = hu_config_asked(config, "comm.schedule") &&
                     strcmp(schedule, hu_default_schedule(comm->options.scaling)) != 0;
    if (!idle && !has_order) return HU_OK;
    if (idle && strcmp(idle, "comm.rounding") == 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found key 'comm.rounding', but the gradient of one worker does not travel; "
                       "expected precision.rounding for the tensors of a training");
    return hu_fail(HU_ERR_ARGUMENT,
                   "found key '%s', but the gradient of one worker does not travel; expected "
                   "workers=N beside it%s",
                   idle ? idle : "comm.schedule",
                   idle ? ", and a format to round to, such as comm.format=e5m2" : "");
}

/* Float32 that was not asked for: who asks for it compares, and knows. */
static hu_status check_unrounded(const hu_config *config, const hu_train_comm *comm) {
    const char *idle = idle_rounding(config, comm);
    if (!idle || hu_config_asked(config, "comm.format")) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "found key '%s', but gradients travel in float32 as they are; expected a format "
                   "to round to beside it, such as comm.format=e5m2",
                   idle);
}

/* Codes of a scaling's own leave nothing for a format to do. */
static hu_status check_code(const hu_train_comm *comm) {
    if (!comm->options.scaling->code || strcmp(comm->formats, "fp32") == 0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "key 'comm.format': found '%s' beside scaling=%s, whose numbers travel in codes "
                   "of its own; expected no format",
                   comm->formats, comm->options.scaling->name);
}

hu_status hu_options_comm(hu_config *config, hu_train_comm *comm) {
    hu_status st = HU_OK;
    int64_t nodes;
    HU_TRY(options_reduction(config, &comm->options));
    HU_TRY(hu_config_text(config, "comm.format", &comm->formats));
    HU_TRY(hu_config_text(config, "comm.exact", &comm->exact));
    HU_TRY(check_code(comm));
    /* `plan` takes the keys for workers that are nodes of a network, whatever the training has. */
    HU_TRY(hu_config_i64(config, "cluster.nodes", &nodes));
    if (nodes == 0 && is_unrounded(comm))
        HU_TRY(is_alone(comm) ? check_alone(config, comm) : check_unrounded(config, comm));
    if (is_alone(comm)) comm->options.workers = 0;
done:
    return st;
}
