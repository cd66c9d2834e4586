/* settings/options.c - from the keys of a configuration to the options of a trainer. Values that
 * the user left open are set by the recipe, the model or the precision, in the order of
 * hu_options_train, and are then in the resolved configuration like all others. */
#include "settings/options.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "model/model.h"
#include "model/network_file.h"
#include "product/onednn.h"
#include "runlog/graph_json.h"
#include "runlog/history.h"
#include "tensor/exponent_histogram.h"
#include "train/trainer.h"

/* ---- comm options ---- */

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

static hu_status read_comm_schedule(hu_config *config, hu_comm_options *options) {
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
    st = hu_rounding_parse(text, &options->rounding);
    if (st != HU_OK) return hu_fail_within(st, "comm.rounding: ");
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
    HU_TRY(read_comm_schedule(config, options));
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

/* All keys comm.*. Nothing travels (workers 0) where there is one worker and the gradient is not
 * rounded on its way. HU_ERR_ARGUMENT where keys do not fit each other, or where one was asked for
 * that would change nothing. */
static hu_status hu_options_comm(hu_config *config, hu_train_comm *comm) {
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

/* ---- options ---- */

static const char prefix[] = "auto:";

/* The folder; NULL: scaler.init is a number, or open. */
static const char *run_of(const hu_config *config) {
    const char *text;
    if (hu_config_text(config, "scaler.init", &text) != HU_OK) return NULL;
    return strncmp(text, prefix, sizeof prefix - 1) == 0 ? text + sizeof prefix - 1 : NULL;
}

/* Whether scaler.init names a run. */
static bool loss_scale_is_from_run(const hu_config *config) {
    return run_of(config) != NULL;
}

static void lower(double *most, const hu_quantizer *quantizer) {
    if (quantizer->kind != HU_QUANTIZER_FLOAT || quantizer->scale != HU_SCALE_NONE) return;
    *most = fmin(*most, hu_format_limits_of(&quantizer->format).max_finite);
}

/* The least end among the formats that gradients of a role have in any phase, low candidates and
 * rules for gradients included; infinity: none has one. */
static double end_of(const hu_precision *precision, hu_role role) {
    double most = INFINITY;
    for (uint32_t p = 0; p < precision->phase_count; p++)
        most = fmin(most, end_of(&precision->phases[p].precision, role));
    if (precision->phase_count) return most;
    lower(&most, &precision->role[role]);
    if (precision->assignment.kind) lower(&most, &precision->low[role]);
    for (uint32_t r = 0; r < precision->rule_count; r++) {
        const char *pattern = precision->rules[r].words.pattern;
        size_t length = strlen(pattern);
        bool is_gradient = length >= 5 && strcmp(pattern + length - 5, ".grad") == 0;
        if (is_gradient) lower(&most, &precision->rules[r].quantizer);
    }
    return most;
}

/* What the run recorded; HU_ERR_MISSING where that is nothing. */
static hu_status read_largest(const char *folder, hu_largest largest[HU_LARGEST_KINDS]) {
    hu_status st = HU_OK;
    hu_history *history = NULL;
    hu_graph *graph = NULL;
    hu_tensor_order walk = {0};
    st = hu_history_read(folder, &history);
    if (st != HU_OK) HU_TRY(hu_fail_within(st, "scaler.init=%s%s: ", prefix, folder));
    HU_TRY(hu_graph_read(folder, &graph));
    HU_TRY(hu_tensor_order_create(graph, false, &walk));
    hu_history_largest(history, &walk, largest);
    if (history->histogram_count == 0 || !(hu_largest_of_all(largest).magnitude > 0.0))
        st = hu_fail(HU_ERR_MISSING,
                     "scaler.init=%s%s: found no histogram with gradients, expected a run that was "
                     "trained with run.histogram_every above 0",
                     prefix, folder);
done:
    hu_tensor_order_free(&walk);
    hu_graph_free(graph);
    hu_history_free(history);
    return st;
}

/* Puts the number in the place of the run's name; nothing happens where none is named. It is the
 * largest power of two S with S max|g| below the largest finite number of the format of g, for
 * gradients of activations and of parameters; 1 where no gradient has a format with an end.
 * HU_ERR_MISSING: no such run, or it recorded no gradients. */
static hu_status loss_scale_from_run(hu_config *config, const hu_precision *precision) {
    static const hu_role roles[HU_LARGEST_KINDS] = {HU_ROLE_ACT_GRAD, HU_ROLE_WEIGHT_GRAD};
    const char *folder = run_of(config);
    hu_largest largest[HU_LARGEST_KINDS];
    char text[32];
    bool any = false;
    int32_t scale = 0;
    if (!folder) return HU_OK;
    hu_status st = read_largest(folder, largest);
    if (st != HU_OK) return st;
    for (int k = 0; k < HU_LARGEST_KINDS; k++) {
        double end = end_of(precision, roles[k]);
        if (isinf(end) || !(largest[k].magnitude > 0.0)) continue;
        int32_t most = hu_scale_below(largest[k].magnitude, end);
        scale = any && scale < most ? scale : most;
        any = true;
    }
    snprintf(text, sizeof text, "%.17g", ldexp(1.0, scale));
    return hu_config_replace(config, "scaler.init", text, "the gradients of a run");
}

/* One key: auto takes the data set's own number. */
static hu_status set_number(hu_config *config, const char *key, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return hu_config_set(config, key, text, "recipe");
}

/* data.augment: auto, none, or names of what is switched on at its usual strength; sub-keys win. */
static hu_status read_augment(hu_config *config, const hu_dataset *dataset, hu_augment *augment) {
    hu_status st = HU_OK;
    hu_augment usual = dataset->augment;
    const hu_keys *list;
    const char *border;
    HU_TRY(hu_config_list(config, "data.augment", &list));
    for (size_t i = 0; i < hu_keys_count(list); i++) {
        const char *word = hu_keys_value(hu_keys_at(list, i));
        if (strcmp(word, "auto") == 0) continue;
        if (i == 0) usual = (hu_augment){0};
        if (strcmp(word, "crop") == 0)
            usual.pad = dataset->augment.pad ? dataset->augment.pad : 4;
        else if (strcmp(word, "flip") == 0)
            usual.flip = true;
        else if (strcmp(word, "turn") == 0)
            usual.turn = true;
        else if (strcmp(word, "cutout") == 0)
            usual.cutout = 8;
        else if (strcmp(word, "none") != 0)
            return hu_keys_fail(hu_keys_at(list, i), "auto, none, crop, flip, turn or cutout");
    }
    HU_TRY(set_number(config, "data.pad", usual.pad));
    HU_TRY(hu_config_set(config, "data.flip", usual.flip ? "on" : "off", "recipe"));
    HU_TRY(hu_config_set(config, "data.turn", usual.turn ? "on" : "off", "recipe"));
    HU_TRY(set_number(config, "data.cutout", usual.cutout));
    HU_TRY(hu_config_i64(config, "data.pad", &augment->pad));
    HU_TRY(hu_config_bool(config, "data.flip", &augment->flip));
    HU_TRY(hu_config_bool(config, "data.turn", &augment->turn));
    HU_TRY(hu_config_i64(config, "data.cutout", &augment->cutout));
    HU_TRY(hu_config_text(config, "data.border", &border));
    augment->reflect = strcmp(border, "reflect") == 0;
    augment->area = dataset->augment.area;
    augment->least_scale = dataset->augment.least_scale;
    augment->most_scale = dataset->augment.most_scale;
    augment->box_samples = dataset->augment.box_samples;
    HU_TRY(hu_config_f64(config, "data.randaugment", &augment->randaugment));
    HU_TRY(hu_config_f64(config, "data.randaugment_std", &augment->randaugment_std));
    HU_TRY(hu_config_f64(config, "data.erase", &augment->erase));
    HU_TRY(hu_config_f64(config, "data.mixup", &augment->mixup));
    HU_TRY(hu_config_f64(config, "data.cutmix", &augment->cutmix));
    HU_TRY(hu_config_f64(config, "data.mix_switch", &augment->mix_switch));
done:
    return st;
}

/* What only lars reads would change nothing elsewhere; usual values are those of every resolved
 * configuration. */
static hu_status check_lars(const hu_config *config, const hu_optimizer_options *optimizer) {
    double usual = hu_optimizer_defaults(HU_OPTIMIZER_LARS).trust;
    const char *idle = NULL;
    if (optimizer->zeros_stay && hu_config_asked(config, "optimizer.compat"))
        idle = "optimizer.compat";
    if (optimizer->trust != usual && hu_config_asked(config, "optimizer.trust"))
        idle = "optimizer.trust";
    if (!idle || optimizer->kind == HU_OPTIMIZER_LARS) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "found key '%s', which %s does not read; expected optimizer=lars", idle,
                   hu_optimizer_kinds[optimizer->kind].name);
}

/* Every key of optimizer.*, whether or not this optimizer reads it. */
static hu_status read_optimizer(hu_config *config, hu_train_options *options) {
    hu_status st = HU_OK;
    const char *name;
    hu_optimizer_options *optimizer = &options->optimizer;
    HU_TRY(hu_config_text(config, "optimizer.name", &name));
    HU_TRY(hu_optimizer_parse(name, &optimizer->kind));
    HU_TRY(hu_config_f64(config, "optimizer.weight_decay", &optimizer->weight_decay));
    HU_TRY(hu_config_f64(config, "optimizer.momentum", &optimizer->momentum));
    HU_TRY(hu_config_bool(config, "optimizer.nesterov", &optimizer->nesterov));
    HU_TRY(hu_config_f64(config, "optimizer.beta1", &optimizer->beta1));
    HU_TRY(hu_config_f64(config, "optimizer.beta2", &optimizer->beta2));
    HU_TRY(hu_config_f64(config, "optimizer.alpha", &optimizer->alpha));
    HU_TRY(hu_config_f64(config, "optimizer.eps", &optimizer->eps));
    HU_TRY(hu_config_f64(config, "optimizer.initial", &optimizer->initial));
    HU_TRY(hu_config_f64(config, "optimizer.trust", &optimizer->trust));
    HU_TRY(hu_config_text(config, "optimizer.compat", &name));
    optimizer->zeros_stay = strcmp(name, "cpd") == 0;
    HU_TRY(check_lars(config, optimizer));
    HU_TRY(hu_config_list(config, "optimizer.state", &options->optimizer_state));
    HU_TRY(hu_config_list(config, "optimizer.no_decay", &options->no_decay));
    HU_TRY(hu_config_f64(config, "optimizer.clip_norm", &options->clip_norm));
    HU_TRY(hu_config_list(config, "optimizer.clip_rules", &options->clip_rules));
    HU_TRY(hu_config_list(config, "lr.rules", &options->lr_rules));
    HU_TRY(hu_config_f64(config, "optimizer.average", &options->average));
    HU_TRY(hu_config_list(config, "optimizer.average_of", &options->average_of));
    HU_TRY(hu_config_bool(config, "eval.average", &options->eval_average));
    HU_TRY(hu_config_bool(config, "eval.decode", &options->eval_writes));
    HU_TRY(hu_config_i64(config, "optimizer.accumulate", &options->accumulate));
done:
    return st;
}

/* A rate that follows evaluations needs some. */
static hu_status check_followed(const hu_config *config, const hu_schedule *schedule) {
    int64_t every;
    hu_status st = hu_config_i64(config, "eval.every", &every);
    if (st != HU_OK || every > 0 || schedule->kind != HU_SCHEDULE_PLATEAU) return st;
    return hu_fail(HU_ERR_ARGUMENT,
                   "eval.every: found 0, expected at least 1: the learning rate of schedule "
                   "plateau follows evaluations");
}

/* When a training ends early. */
static hu_status read_patience(const hu_config *config, hu_train_options *options) {
    hu_status st = HU_OK;
    int64_t every;
    HU_TRY(hu_config_i64(config, "stop.patience", &options->patience));
    HU_TRY(hu_config_f64(config, "stop.min_delta", &options->min_delta));
    HU_TRY(hu_config_i64(config, "eval.every", &every));
    if (options->patience > 0 && every == 0)
        return hu_fail(HU_ERR_ARGUMENT, "eval.every: found 0, expected at least 1: stop.patience "
                                        "counts evaluations");
    if (options->patience == 0 && options->min_delta > 0.0)
        return hu_fail(HU_ERR_ARGUMENT, "found key 'stop.min_delta', which nothing reads without "
                                        "stop.patience");
done:
    return st;
}

/* Lists are texts in the configuration; train/lr_schedule.c reads them. */
static hu_status read_schedule(hu_config *config, hu_schedule *schedule) {
    hu_status st = HU_OK;
    const char *kind, *unit;
    char list[1024];
    *schedule = hu_schedule_constant(0.0);
    HU_TRY(hu_config_text(config, "lr.schedule", &kind));
    HU_TRY(hu_schedule_parse(kind, &schedule->kind));
    HU_TRY(hu_config_text(config, "lr.per", &unit));
    HU_TRY(hu_schedule_parse_unit(unit, &schedule->unit));
    HU_TRY(hu_config_f64(config, "lr.base", &schedule->lr));
    HU_TRY(hu_config_f64(config, "lr.floor", &schedule->floor));
    HU_TRY(hu_config_f64(config, "lr.factor", &schedule->factor));
    HU_TRY(hu_config_i64(config, "lr.patience", &schedule->patience));
    HU_TRY(hu_config_f64(config, "lr.threshold", &schedule->threshold));
    HU_TRY(hu_config_f64(config, "lr.power", &schedule->power));
    HU_TRY(hu_config_f64(config, "lr.period", &schedule->period));
    HU_TRY(hu_config_f64(config, "lr.stretch", &schedule->stretch));
    HU_TRY(hu_config_f64(config, "lr.shrink", &schedule->shrink));
    HU_TRY(hu_config_f64(config, "lr.warmup", &schedule->warmup));
    schedule->warmup_unit = HU_UNIT_EPOCH;
    HU_TRY(hu_config_f64(config, "lr.warmup_start", &schedule->warmup_start));
    HU_TRY(hu_options_join(config, "lr.milestones", list, sizeof list));
    if (list[0]) HU_TRY(hu_schedule_parse_milestones(list, schedule));
    HU_TRY(hu_options_join(config, "lr.knots", list, sizeof list));
    if (list[0]) HU_TRY(hu_schedule_parse_knots(list, schedule));
    HU_TRY(check_followed(config, schedule));
done:
    return st;
}

/* What the precision asks for where scaler.name is auto. Intervals count good steps; Lee et al.'s
 * precisions take an epoch. */
static hu_status read_scaler(hu_config *config, const hu_precision *precision,
                             int64_t steps_per_epoch, hu_loss_scale_options *scaler) {
    hu_status st = HU_OK;
    const char *name;
    double init, growth, backoff, least, most;
    int64_t interval, stop_after;
    bool dynamic = precision->scaler == HU_SCALER_DYNAMIC;
    HU_TRY(hu_config_text(config, "scaler.name", &name));
    if (strcmp(name, "auto") == 0)
        name = loss_scale_is_from_run(config) ? "constant" : dynamic ? "dynamic" : "none";
    HU_TRY(hu_config_set(config, "scaler.name", name, "precision"));
    HU_TRY(hu_loss_scale_parse(name, &scaler->kind));
    *scaler = hu_loss_scale_defaults(scaler->kind);
    HU_TRY(hu_config_set(config, "scaler.init", scaler->kind == HU_LOSS_SCALE_NONE ? "1" : "65536",
                         "precision"));
    HU_TRY(set_number(config, "scaler.interval",
                      precision->scaler_epoch_interval ? steps_per_epoch : 2000));
    HU_TRY(set_number(config, "scaler.stop_after", 20));
    HU_TRY(loss_scale_from_run(config, precision));
    HU_TRY(hu_config_f64(config, "scaler.init", &init));
    HU_TRY(hu_config_f64(config, "scaler.growth", &growth));
    HU_TRY(hu_config_f64(config, "scaler.backoff", &backoff));
    HU_TRY(hu_config_f64(config, "scaler.min", &least));
    HU_TRY(hu_config_f64(config, "scaler.max", &most));
    HU_TRY(hu_config_i64(config, "scaler.interval", &interval));
    HU_TRY(hu_config_i64(config, "scaler.stop_after", &stop_after));
    *scaler =
        (hu_loss_scale_options){.kind = scaler->kind,
                                .init = scaler->kind == HU_LOSS_SCALE_NONE ? 1.0f : (float)init,
                                .growth = (float)growth,
                                .backoff = (float)backoff,
                                .interval = (int32_t)interval,
                                .min = (float)least,
                                /* The default bound is no bound. */
                                .max = most > 3.3e38 ? 0.0f : (float)most,
                                .max_consecutive_skips = (int32_t)stop_after};
done:
    return st;
}

/* steps wins over epochs if the user gave it. */
static hu_status read_length(hu_config *config, int64_t steps_per_epoch, int64_t *steps) {
    double epochs;
    hu_status st = HU_OK;
    if (!hu_config_is_auto(config, "run.steps")) return hu_config_i64(config, "run.steps", steps);
    HU_TRY(hu_config_f64(config, "run.epochs", &epochs));
    *steps = (int64_t)ceil(epochs * (double)steps_per_epoch);
    HU_TRY(set_number(config, "run.steps", *steps));
done:
    return st;
}

/* Masters or rounded copies, as the precision's own study evaluates. */
static hu_status read_eval_weights(hu_config *config, const hu_precision *precision,
                                   bool *masters) {
    const char *name;
    hu_status st = hu_config_set(config, "eval.weights",
                                 precision->eval_masters ? "master" : "rounded", "precision");
    if (st == HU_OK) st = hu_config_text(config, "eval.weights", &name);
    if (st == HU_OK) *masters = strcmp(name, "master") == 0;
    return st;
}

/* Samples of a chunk: small enough for the second cache (four images of 32x32x16 numbers are
 * 256 KiB) and for an even share of work, never a function of the threads. */
static int64_t usual_chunk(int64_t batch) {
    enum { USUAL_CHUNK = 4 };
    return batch < USUAL_CHUNK ? batch : USUAL_CHUNK;
}

/* Threads and chunks are set before they are read, so that the resolved configuration holds them.
 */
static hu_status read_run(hu_config *config, hu_train_options *options) {
    hu_status st = HU_OK;
    const char *storage, *products, *recompute;
    int64_t threads;
    bool recomputes;
    HU_TRY(set_number(config, "run.threads", omp_get_num_procs()));
    HU_TRY(hu_config_u64(config, "run.seed", &options->run.seed));
    HU_TRY(hu_config_i64(config, "run.threads", &threads));
    options->run.threads = (int)threads;
    HU_TRY(set_number(config, "run.chunk", usual_chunk(options->batch)));
    HU_TRY(hu_config_i64(config, "run.chunk", &options->run.chunk));
    HU_TRY(hu_config_text(config, "run.storage", &storage));
    HU_TRY(hu_storage_mode_parse(storage, &options->run.storage));
    HU_TRY(hu_config_bool(config, "run.fuse", &options->run.fuse));
    HU_TRY(hu_config_text(config, "run.recompute", &recompute));
    options->run.recompute = 2;
    if (strcmp(recompute, "2") != 0) {
        HU_TRY(hu_config_bool(config, "run.recompute", &recomputes));
        options->run.recompute = recomputes;
    }
    HU_TRY(hu_config_i64(config, "run.histogram_every", &options->histogram_every));
    HU_TRY(hu_config_text(config, "run.products", &products));
    if (strcmp(products, "onednn") == 0) options->run.products = HU_ENGINE_ONEDNN;
    if (options->run.products == HU_ENGINE_ONEDNN && !hu_dnn_is_there())
        return hu_fail(HU_ERR_UNSUPPORTED,
                       "run.products: found onednn, which is %s; expected own, winograd or auto",
                       hu_dnn_absence());
    if (strcmp(products, "auto") == 0) options->run.products = HU_ENGINE_FASTEST;
    if (strcmp(products, "winograd") == 0) options->run.products = HU_ENGINE_WINOGRAD;
    HU_TRY(hu_config_bool(config, "precision.master", &options->keep_masters));
done:
    return st;
}

/* What is learned; "auto" is what the model's head is made for, with its task's usual loss. */
static hu_status read_task(hu_config *config, hu_train_options *options) {
    hu_status st = HU_OK;
    const char *name;
    const hu_model *model;
    hu_network_heading heading;
    if (hu_config_is_auto(config, "task.name") && options->network) {
        HU_TRY(hu_network_read_heading(options->network, &heading));
        HU_TRY(hu_config_set(config, "task.name", heading.task ? heading.task : "classify",
                             options->model));
    }
    if (hu_config_is_auto(config, "task.name")) {
        HU_TRY(hu_model_find(options->model, &model));
        HU_TRY(hu_config_set(config, "task.name", model->task, "model"));
    }
    HU_TRY(hu_config_text(config, "task.name", &name));
    HU_TRY(hu_task_find(name, &options->task));
    HU_TRY(hu_config_set(config, "task.loss", options->task->loss, "task"));
    HU_TRY(hu_config_text(config, "task.loss", &name));
    HU_TRY(hu_task_loss(options->task, name, &options->loss));
    HU_TRY(hu_config_f64(config, "task.beta", &options->beta));
    if (options->beta != 1.0 && !options->task->has_code)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "found key 'task.beta', which the task %s does not read; expected task=vae",
                     options->task->name);
    HU_TRY(st);
    HU_TRY(hu_config_f64(config, "task.smoothing", &options->smoothing));
    bool smooths = options->task->has_adversaries || options->task->kind == HU_LOSS_ROWS;
    if (options->smoothing != 0.0 && !smooths)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "found key 'task.smoothing', which the task %s does not read; expected "
                     "task=classify, segment or gan",
                     options->task->name);
done:
    return st;
}

/* The weights that a network file names, which lie beside it. */
static hu_status take_weights(hu_config *config, const hu_train_options *options) {
    hu_status st = HU_OK;
    hu_network_heading heading;
    char *path = NULL;
    const char *slash = strrchr(options->model, '/');
    size_t folder = slash ? (size_t)(slash + 1 - options->model) : 0;
    HU_TRY(hu_network_read_heading(options->network, &heading));
    if (!heading.weights) return HU_OK;
    if (heading.weights[0] == '/') folder = 0;
    HU_TRY(hu_alloc(folder + strlen(heading.weights) + 1, (void **)&path));
    memcpy(path, options->model, folder);
    strcpy(path + folder, heading.weights);
    st = hu_config_set(config, "model.init", path, options->model);
done:
    hu_free(path);
    return st;
}

/* Where the training begins and in which order it sees the data. */
static hu_status read_start(hu_config *config, hu_train_options *options) {
    hu_status st;
    const char *hash;
    bool shuffle;
    char *end;
    HU_TRY(hu_config_bool(config, "data.shuffle", &shuffle));
    options->keep_order = !shuffle;
    HU_TRY(hu_config_i64(config, "data.sorted", &options->sorted_epochs));
    HU_TRY(hu_config_list(config, "data.buckets", &options->buckets));
    if (options->network) HU_TRY(take_weights(config, options));
    HU_TRY(hu_config_text(config, "model.init", &options->init));
    HU_TRY(hu_config_text(config, "model.init_hash", &hash));
    if (!options->init[0])
        return hu_fail(HU_ERR_ARGUMENT, "init: found '', expected a file or none");
    if (strcmp(options->init, "none") == 0) options->init = NULL;
    options->run.check_noise = options->init && hu_check_salt(options->init);
    if (!options->init || strcmp(hash, "auto") == 0) return HU_OK;
    options->init_hash = strtoull(hash, &end, 16);
    if (strlen(hash) == 16 && strspn(hash, "0123456789abcdef") == 16 && options->init_hash)
        return HU_OK;
    return hu_fail(HU_ERR_PARSE,
                   "model.init_hash: found '%.40s', expected auto or 16 hexadecimal digits", hash);
done:
    return st;
}

/* First words of bands; their order is checked where the words are known. */
static hu_status read_bands(const hu_config *config, hu_model_sizes *sizes) {
    const hu_keys *list;
    hu_status st = hu_config_list(config, "model.bands", &list);
    size_t count = st == HU_OK ? hu_keys_count(list) : 0;
    if (count > HU_BANDS_MOST)
        return hu_fail(HU_ERR_LIMIT, "model.bands: found %zu, expected at most %d", count,
                       HU_BANDS_MOST);
    for (size_t i = 0; st == HU_OK && i < count; i++) {
        char *end;
        const char *text = hu_keys_value(hu_keys_at(list, i));
        long long first = strtoll(text, &end, 10);
        if (end == text || *end || first < 1)
            st = hu_fail(HU_ERR_PARSE, "model.bands: found '%.40s', expected a number of words",
                         text);
        sizes->band[sizes->bands++] = first;
    }
    return st;
}

static hu_status read_sizes(const hu_config *config, hu_model_sizes *sizes) {
    char key[32];
    hu_status st = HU_OK;
    for (int s = 0; s < HU_SIZES && st == HU_OK; s++) {
        snprintf(key, sizeof key, "model.%s", hu_size_keys[s]);
        st = hu_config_i64(config, key, &sizes->chosen[s]);
    }
    return st == HU_OK ? read_bands(config, sizes) : st;
}

/* auto: the model's own. */
static hu_status read_dropout(const hu_config *config, double *dropout) {
    *dropout = -1.0;
    if (hu_config_is_auto(config, "model.dropout")) return HU_OK;
    return hu_config_f64(config, "model.dropout", dropout);
}

hu_status hu_options_train(hu_config *config, const hu_dataset *dataset, hu_precision *precision,
                           hu_train_options *options) {
    hu_status st = HU_OK;
    int64_t steps_per_epoch;
    const char *norm;
    *options = (hu_train_options){0};
    *precision = (hu_precision){0};
    /* The recipe first: it knows the batch, which decides the steps of an epoch, which decide the
     * rest. */
    HU_TRY(hu_recipe_apply(config));
    HU_TRY(hu_config_text(config, "model.name", &options->model));
    HU_TRY(hu_config_network(config, &options->network));
    HU_TRY(hu_config_f64(config, "model.width", &options->width));
    HU_TRY(hu_config_text(config, "model.norm", &norm));
    if (strcmp(norm, "range") == 0) options->norm = HU_MODEL_NORM_RANGE;
    if (strcmp(norm, "off") == 0) options->norm = HU_MODEL_NORM_OFF;
    HU_TRY(hu_config_text(config, "model.norm_rows", &norm));
    options->norms_all_rows = strcmp(norm, "all") == 0;
    HU_TRY(read_sizes(config, &options->sizes));
    HU_TRY(read_dropout(config, &options->dropout));
    HU_TRY(hu_config_f64(config, "model.drop_path", &options->drop_path));
    HU_TRY(read_task(config, options));
    HU_TRY(read_start(config, options));
    HU_TRY(read_augment(config, dataset, &options->augment));
    HU_TRY(hu_config_i64(config, "run.batch", &options->batch));
    HU_TRY(hu_config_bool(config, "data.drop_last", &options->drop_last));
    HU_TRY(hu_trainer_epoch_steps(options, dataset->train.count, &steps_per_epoch));
    HU_TRY(hu_options_precision(config, precision));
    HU_TRY(read_optimizer(config, options));
    HU_TRY(read_schedule(config, &options->schedule));
    HU_TRY(hu_config_f64(config, "lr.turn_2", &options->phase_2_rate));
    HU_TRY(read_scaler(config, precision, steps_per_epoch, &options->scaler));
    HU_TRY(read_length(config, steps_per_epoch, &options->steps));
    HU_TRY(hu_options_comm(config, &options->comm));
    HU_TRY(read_eval_weights(config, precision, &options->eval_masters));
    HU_TRY(read_patience(config, options));
    HU_TRY(read_run(config, options));
    options->precision = *precision;
done:
    if (st != HU_OK) hu_precision_free(precision);
    return st;
}

/* Only what the user gave: a copy resolves its own open values. */
hu_status hu_options_given(const hu_config *config, hu_keys *given) {
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *name = hu_config_keys[i].name;
        hu_keys *copy;
        if (!hu_config_given(config, name)) continue;
        hu_status st = hu_keys_copy(hu_keys_find(hu_config_tree(config), name), &copy);
        if (st == HU_OK) st = hu_keys_set(given, name, copy);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

hu_status hu_options_copy(const hu_config *config, hu_config **copy) {
    static const char *const no_flags[] = {NULL};
    hu_config_request nothing = {.flags = no_flags};
    hu_status st = HU_OK;
    hu_keys *given = NULL;
    HU_TRY(hu_config_load(&nothing, copy));
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "command line", &given));
    HU_TRY(hu_options_given(config, given));
    if (hu_keys_count(given) > 0) HU_TRY(hu_config_merge(*copy, given));
    HU_TRY(hu_config_network_share(config, *copy));
done:
    hu_keys_free(given);
    return st;
}
