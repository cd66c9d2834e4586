
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"
#include "comm/plan.h"
#include "planner/planner.h"
#include "runlog/plan_json.h"
#include "runlog/result.h"
#include "session/evaluation.h"
#include "session/session.h"
#include "settings/messages.h"
#include "train/trainer.h"

/* ---- Runs that begin with init=check ---- */

hu_status hu_check_run_open(const hu_config *config, hu_check_run *run) {
    hu_status st = HU_OK;
    const char *init;
    *run = (hu_check_run){.norm = (double)NAN};
    HU_TRY(hu_config_text(config, "model.init", &init));
    HU_TRY(hu_config_bool(config, "run.norms", &run->wants_norms));
    run->is_on = hu_check_salt(init) != NULL;
    if (run->wants_norms && !run->is_on)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found run.norms=on without init=check, whose runs alone tell norms");
done:
    return st;
}

void hu_check_run_close(hu_check_run *run) {
    hu_free(run->loss);
    json_decref(run->norms);
    *run = (hu_check_run){0};
}

/* Room for twice as many losses. */
static hu_status grow(hu_check_run *run) {
    enum { FIRST = 64 };
    int64_t room = run->room ? 2 * run->room : FIRST;
    double *larger;
    hu_status st = HU_NEW_ARRAY(&larger, (size_t)room);
    if (st != HU_OK) return st;
    if (run->count) memcpy(larger, run->loss, (size_t)run->count * sizeof *larger);
    hu_free(run->loss);
    run->loss = larger;
    run->room = room;
    return HU_OK;
}

static hu_status note_gradient(hu_check_run *run, const hu_trainer *trainer,
                               const hu_step_report *report) {
    const hu_graph *graph = hu_trainer_graph(trainer);
    run->norm = report->gradient_norm;
    if (!run->wants_norms) return HU_OK;
    run->norms = json_object();
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (graph->value[v].role == HU_VALUE_PARAMETER)
            json_object_set_new(run->norms, graph->value[v].name,
                                hu_json_number(hu_trainer_gradient_norm(trainer, v)));
    return run->norms ? HU_OK : hu_fail(HU_ERR_MEMORY, "cannot allocate the norms of gradients");
}

hu_status hu_check_run_note(hu_check_run *run, const hu_trainer *trainer,
                            const hu_step_report *report) {
    hu_status st = HU_OK;
    if (!run->is_on) return HU_OK;
    run->phases = report->phases;
    for (int t = 0; t < report->phases; t++) {
        if (run->count == run->room) HU_TRY(grow(run));
        run->loss[run->count++] = report->phase[t].loss;
        run->name[t] = report->phase[t].name;
    }
    if (report->step == 0) HU_TRY(note_gradient(run, trainer, report));
done:
    return st;
}

/* Of one turn of every step. */
static json_t *losses_of(const hu_check_run *run, int phase) {
    json_t *losses = json_array();
    for (int64_t i = phase; i < run->count; i += run->phases)
        json_array_append_new(losses, hu_json_number(run->loss[i]));
    return losses;
}

/* Adds losses (of steps with turns one list for each by its name), first_gradient_norm and, if
 * asked for, first_gradient_norms. */
static void check_run_put(const hu_check_run *run, json_t *object) {
    if (!run->is_on || !object) return;
    json_t *losses = run->phases > 1 ? json_object() : losses_of(run, 0);
    for (int t = 0; run->phases > 1 && t < run->phases; t++)
        json_object_set_new(losses, run->name[t], losses_of(run, t));
    json_object_set_new(object, "losses", losses);
    json_object_set_new(object, "first_gradient_norm", hu_json_number(run->norm));
    if (run->norms) json_object_set(object, "first_gradient_norms", run->norms);
}

/* ---- result facts ---- */

/* Facts of a training in its result that no format, worker or bit
 * explains.
 */

/* What images cost that do not stay in memory, and gradients between several processes. */
static void put_waits(json_t *object, const hu_trainer *trainer) {
    hu_process_group_seconds seconds = hu_trainer_team_seconds(trainer);
    double waited = hu_trainer_data_waited(trainer);
    if (waited > 0.0) json_object_set_new(object, "data_wait_seconds", hu_json_number(waited));
    if (!(seconds.busy > 0.0)) return;
    json_object_set_new(object, "comm_seconds", hu_json_number(seconds.busy));
    json_object_set_new(object, "comm_exposed_seconds", hu_json_number(seconds.exposed));
}

/* What of the data's files is no sample. */
static void put_left_out(json_t *object, const hu_dataset *dataset) {
    const int64_t *left = dataset->left_out;
    if (left[0] + left[1] > 0)
        json_object_set_new(
            object, "left_out",
            json_pack("{s:I, s:I}", "train", (json_int_t)left[0], "test", (json_int_t)left[1]));
}

/* The metrics of the task after the first, of the evaluation that ended this process's training.
 */
static void put_more_metrics(json_t *object, const hu_trainer *trainer) {
    const hu_task *task = hu_trainer_task(trainer);
    const double *found = hu_trainer_test_metrics(trainer);
    char key[HU_METRIC_KEY_BYTES];
    for (int m = 1; task->metric[0] && task->metric[m]; m++)
        if (!isnan(found[m]))
            json_object_set_new(object, hu_metric_key("test", task->metric[m], key),
                                hu_json_number(found[m]));
}

static void put_gaps(json_t *object, const hu_trainer *trainer) {
    char gaps[HU_GAPS_BYTES];
    if (hu_gaps_words(hu_trainer_run(trainer), gaps)[0])
        json_object_set_new(object, "gaps", json_string(gaps));
}

/* Adds the task's further metrics and those of each class, the aggregate, what a guess is worth,
 * why the run is said to have collapsed (collapse "": it is not), and what was waited for.
 * HU_ERR_MEMORY: a list of classes had no room.
 *
 * How the aggregate went, what a guess is worth, and whether more than that was learned. */
static hu_status result_facts_put(json_t *object, const hu_trainer *trainer,
                                  const hu_dataset *dataset, const char *collapse) {
    hu_status st;
    hu_chance chance = hu_trainer_chance(trainer, HU_SPLIT_TEST);
    hu_aggregate_bits aggregate = hu_trainer_aggregate(trainer);
    put_waits(object, trainer);
    put_more_metrics(object, trainer);
    put_gaps(object, trainer);
    put_left_out(object, dataset);
    if (hu_trainer_zeroed_streams(trainer) >= 0)
        json_object_set_new(object, "zeroed_streams",
                            json_integer(hu_trainer_zeroed_streams(trainer)));
    HU_TRY(hu_class_facts_put(object, trainer, dataset, HU_SPLIT_TEST));
    HU_TRY(hu_class_facts_put(object, trainer, dataset, HU_SPLIT_VALIDATION));
    json_object_set_new(object, "model_aggregate_bits_start", hu_json_number(aggregate.first));
    json_object_set_new(object, "model_aggregate_bits_mean", hu_json_number(aggregate.mean));
    if (chance.samples > 0)
        json_object_set_new(object, "chance",
                            json_pack("{s:o, s:I}", "value", hu_json_number(chance.value),
                                      "samples", (json_int_t)chance.samples));
    if (collapse[0]) json_object_set_new(object, "collapsed", json_string(collapse));
done:
    return st;
}

/* ---- What the result of a training says of a schedule of bits ---- */

/* Costs of the trained model, and the numbers of bits it has. */
typedef struct trained {
    uint8_t *bits; /* [layers]. Owner frees */
    uint32_t least, most;
    double inference, relative; /* bit-operations of a sample, and as a share */
    double cost;                /* forward cost that the target is of, as a share */
} trained;

static bool read(const hu_trainer *trainer, trained *t) {
    const hu_bits_meter *meter = hu_trainer_bits(trainer);
    *t = (trained){.least = HU_BITS_FLOAT32};
    if (!meter) return false;
    const hu_bits *bits = meter->task->bits;
    const hu_bits_layers *layers = meter->task->layers;
    const hu_cost *cost = bits->cost ? bits->cost : &hu_cost_bitops;
    if (HU_NEW_ARRAY(&t->bits, layers->count) != HU_OK) return false;
    hu_trainer_trained_bits(trainer, t->bits);
    for (uint32_t l = 0; l < layers->count; l++) {
        if (!layers->layer[l].is_quantised) continue;
        if (t->bits[l] < t->least) t->least = t->bits[l];
        if (t->bits[l] > t->most) t->most = t->bits[l];
    }
    t->inference = hu_bits_meter_inference(meter, t->bits);
    t->relative = t->inference / hu_bits_meter_inference(meter, NULL);
    t->cost = hu_bits_meter_forward(meter, cost, t->bits) / hu_bits_meter_most(meter, cost);
    return true;
}

static bool has_target(const hu_bits *bits) {
    return bits->schedule->learned != NULL;
}

static json_t *layers_json(const hu_bits_layers *layers, const uint8_t *bits) {
    json_t *list = json_array();
    for (uint32_t l = 0; l < layers->count; l++)
        if (layers->layer[l].is_quantised)
            json_array_append_new(
                list, json_pack("{s:s, s:i}", "name", layers->layer[l].name, "bits", (int)bits[l]));
    return list;
}

/* Puts "bits" into the object of a training with a schedule of bits, else nothing. */
static void bits_result_put(json_t *object, const hu_trainer *trainer) {
    trained t;
    if (!object || !read(trainer, &t)) return;
    const hu_bits_meter *meter = hu_trainer_bits(trainer);
    const hu_bits *bits = meter->task->bits;
    double target = has_target(bits) ? bits->target : (double)NAN;
    json_object_set_new(
        object, "bits",
        json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schedule",
                  bits->schedule->name, "most_bits", (int)bits->forward.most, "forward_bitops",
                  hu_json_number(meter->spent->forward), "training_bitops",
                  hu_json_number(meter->spent->training), "relative_forward_cost",
                  hu_json_number(hu_bits_relative_forward(meter)), "relative_training_cost",
                  hu_json_number(hu_bits_relative_training(meter)), "inference_bitops",
                  hu_json_number(t.inference), "relative_inference_cost",
                  hu_json_number(t.relative), "cost_at_end", hu_json_number(t.cost), "target",
                  hu_json_number(target), "layers", layers_json(meter->task->layers, t.bits)));
    hu_free(t.bits);
}

const char *hu_bits_result_text(const hu_trainer *trainer, char text[HU_BITS_TEXT_BYTES]) {
    trained t;
    text[0] = '\0';
    if (!read(trainer, &t)) return text;
    const hu_bits_meter *meter = hu_trainer_bits(trainer);
    const hu_bits *bits = meter->task->bits;
    if (meter->spent->samples > 0)
        hu_note_add(text, HU_BITS_TEXT_BYTES, "",
                    "training cost %.3f of static %u bits (%.4g bit-operations), ",
                    hu_bits_relative_training(meter), bits->forward.most, meter->spent->training);
    hu_note_add(text, HU_BITS_TEXT_BYTES, "", "inference %.3f (%.4g a sample), layers of ",
                t.relative, t.inference);
    hu_note_add(text, HU_BITS_TEXT_BYTES, "", t.least == t.most ? "%u bits" : "%u to %u bits",
                t.least, t.most);
    if (has_target(bits))
        hu_note_add(text, HU_BITS_TEXT_BYTES, "; ",
                    "forward cost (bits.cost=%s) at the end %.3f of that with %u bits, target %g",
                    bits->cost->name, t.cost, bits->forward.most, bits->target);
    hu_free(t.bits);
    return text;
}

/* ---- What the result of a training says of its workers ---- */

/* The keys that say how, as texts. Borrowed: from the configuration. */
typedef struct way {
    const char *format, *scaling, *schedule;
} way;

/* code: room for what stands for a format where the scaling has codes of its own. */
enum { CODE_BYTES = 32 };
static way way_of(const hu_config *config, char code[CODE_BYTES]) {
    way w = {"", "", ""};
    hu_comm_options o = {.workers = 1};
    (void)hu_config_text(config, "comm.format", &w.format);
    (void)hu_config_text(config, "comm.scaling", &w.scaling);
    (void)hu_config_text(config, "comm.schedule", &w.schedule);
    if (hu_comm_scaling_parse(w.scaling, &o.scaling, &o.constant) == HU_OK && o.scaling->code) {
        hu_comm_code_print(&o, code, CODE_BYTES);
        w.format = code;
    }
    return w;
}

/* Of numbers that were missing nothing was lost. */
static double share(uint64_t count, const hu_round_counts *of) {
    return of->elements ? (double)count / (double)of->elements : 0.0;
}

static bool read_wire(const hu_trainer *trainer, hu_wire_report *report) {
    return hu_trainer_wire(trainer, report) == HU_OK && report->workers > 0;
}

/* Puts "comm" into the object of a training whose gradients travel, else nothing. */
static void wire_result_put(json_t *object, const hu_config *config, const hu_trainer *trainer) {
    hu_wire_report report;
    if (!object || !read_wire(trainer, &report)) return;
    const hu_round_counts *sent = &report.lost.rounded, *sums = &report.lost.added;
    char code[CODE_BYTES];
    way w = way_of(config, code);
    json_object_set_new(
        object, "comm",
        json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "workers",
                  (int)report.workers, "format", w.format, "scaling", w.scaling, "schedule",
                  w.schedule, "bytes_per_step", (json_int_t)report.traffic.bytes,
                  "bytes_per_worker", (json_int_t)report.traffic.bytes_per_worker, "overflow_share",
                  hu_json_number(share(sent->overflow, sent)), "underflow_share",
                  hu_json_number(share(sent->underflow, sent)), "sum_overflow_share",
                  hu_json_number(share(sums->overflow, sums)), "sum_underflow_share",
                  hu_json_number(share(sums->underflow, sums))));
}

const char *hu_wire_result_text(const hu_config *config, const hu_trainer *trainer,
                                char text[HU_WIRE_TEXT_BYTES]) {
    hu_wire_report report;
    text[0] = '\0';
    if (!read_wire(trainer, &report)) return text;
    char code[CODE_BYTES];
    way w = way_of(config, code);
    const hu_round_counts *sent = &report.lost.rounded, *sums = &report.lost.added;
    snprintf(text, HU_WIRE_TEXT_BYTES,
             "%d worker%s, %.60s, scaling %.20s by %.30s: each sends up to %.3g MB a step",
             report.workers, report.workers == 1 ? "" : "s", w.format, w.scaling, w.schedule,
             (double)report.traffic.bytes_per_worker / 1e6);
    if (sent->elements > 0)
        hu_note_add(text, HU_WIRE_TEXT_BYTES, "; ",
                    "lost %.3g %% by underflow, %.3g %% by overflow, and %.3g %% of sums",
                    100.0 * share(sent->underflow, sent), 100.0 * share(sent->overflow, sent),
                    100.0 * share(sums->overflow + sums->underflow, sums));
    return text;
}

/* ---- What a training has come to, as JSON ---- */

hu_trouble hu_session_trouble(const hu_session *session) {
    hu_recorder *recorder = session->folder.numerics;
    return recorder ? hu_recorder_trouble(recorder) : (hu_trouble){0};
}

const char *hu_session_next(const hu_session *session, const hu_session_result *result) {
    hu_trouble trouble = hu_session_trouble(session);
    bool is_hurt = result->has_diverged || result->collapse[0];
    return is_hurt || hu_is_in_trouble(&trouble) ? "why" : "predict";
}

/* "tokens_per_second", of tasks whose samples have places. */
static void put_rate(json_t *object, const hu_task *task, double rate) {
    char key[48];
    if (!task->place) return;
    snprintf(key, sizeof key, "%s_per_second", task->place);
    json_object_set_new(object, key, hu_json_number(rate));
}

json_t *hu_session_json(const hu_session *session, const hu_session_result *result) {
    const hu_train_progress *progress = hu_trainer_progress(session->trainer);
    const hu_graph *graph = hu_trainer_graph(session->trainer);
    const char *model = "", *precision = "", *data = "";
    hu_ledger ledger = hu_trainer_ledger(session->trainer);
    double elements = progress->elements ? (double)progress->elements : 1.0;
    double steps = progress->step ? (double)progress->step : 1.0;
    hu_config_text(session->config, "model.name", &model);
    hu_config_text(session->config, "precision.name", &precision);
    hu_config_text(session->config, "data.name", &data);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:I, s:I, s:i, s:o, s:I, s:o, s:o, s:o, "
        "s:o, "
        "s:s, s:o, s:o}",
        "model", model, "precision", precision, "data", data, "parameters",
        (json_int_t)hu_graph_parameters(graph), "steps", (json_int_t)progress->step, "train_loss",
        hu_json_number(result->train_loss), "low_precision_ratio",
        hu_json_number(progress->ratio_sum / steps), "model_aggregate_bits",
        (json_int_t)hu_precision_aggregate_bits(graph,
                                                hu_run_edges(hu_trainer_run(session->trainer)),
                                                hu_trainer_batch(session->trainer)),
        "skipped_steps", (json_int_t)hu_trainer_skipped(session->trainer), "promoted",
        (int)hu_trainer_promoted(session->trainer), "images_per_second",
        hu_json_number(result->images_per_second), "peak_rss_bytes",
        (json_int_t)hu_peak_rss_bytes(), "ledger_bytes", hu_ledger_json(&ledger), "weights_hash",
        hu_json_hash(hu_trainer_weights_hash(session->trainer)), "overflow_share",
        hu_json_number((double)progress->overflow / elements), "underflow_share",
        hu_json_number((double)progress->underflow / elements), "run", session->folder.path,
        "warnings", hu_warnings_json(hu_trainer_run(session->trainer)), "train_seconds",
        hu_json_number(session->train_seconds));
    put_rate(object, hu_trainer_task(session->trainer), result->rate);
    json_object_set_new(object, "test_loss", hu_json_number(result->test_loss));
    hu_result_metric_put(object, hu_trainer_task(session->trainer)->name, &result->test);
    if (session->dataset->validation.count > 0)
        hu_result_validation_put(object, &result->validation, session->dataset->validation.count);
    if (result_facts_put(object, session->trainer, session->dataset, result->collapse) != HU_OK) {
        json_decref(object);
        return NULL;
    }
    wire_result_put(object, session->config, session->trainer);
    bits_result_put(object, session->trainer);
    check_run_put(&session->check, object);
    hu_baseline_put(&session->baseline, object);
    if (object && result->is_early)
        json_object_set_new(object, "stopped_early", json_integer((json_int_t)progress->step));
    if (object && result->has_diverged)
        json_object_set_new(object, "diverged", json_string(result->reason));
    return object;
}

hu_status hu_session_write_result(const hu_session *session, const hu_session_result *result) {
    return hu_run_folder_result(&session->folder, hu_session_json(session, result));
}
