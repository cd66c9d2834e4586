/* halfulp bench kernel=step: the time of a training step beside the same step in float32,
 * alternating in one run; alone where the two are one and the same, or beside=none asks for it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "bench/bench.h"
#include "engine/run.h"
#include "render/json.h"
#include "render/table.h"
#include "runlog/plan_json.h"
#include "settings/dataset.h"
#include "settings/messages.h"
#include "settings/options.h"
#include "settings/planned.h"

enum { WARM_UP_STEPS = 2, WORK_STEPS = 3, IMAGES = 1024, MOST = 2, MOST_TURNS = 12 };

/* One of the trainings that take turns. */
typedef struct contestant {
    hu_config *config;
    hu_precision precision;
    hu_trainer *trainer;
    const char *name, *accumulator;
    hu_bench_times times;    /* steps with a whole batch after the warm-up */
    double spread;           /* of these */
    double first_seconds;    /* its planning and its first step */
    int64_t samples;         /* of a whole batch */
    uint64_t allocations;    /* in its steps after the first */
    int64_t resident_growth; /* bytes, in its steps after the warm-up */
    int work_steps;          /* further steps whose work was timed */
    double work_step;        /* their mean seconds */
} contestant;

/* The training that was asked for is the last of them; the first is what others are divided by. */
typedef struct step_contest {
    contestant by[MOST];
    int count;
    bool has_reference;    /* false: one training that is not the plain one */
    double common_seconds; /* from the start of the process, or of
                              this measurement, to the first planning */
    int64_t threads;
    const char *model;
    double peak; /* multiply-adds a second of all its threads */
} step_contest;

static void print_message(void *context, const char *text) {
    (void)context;
    fprintf(stderr, "%s\n", text);
}

static const hu_listener listener = {.on_message = print_message};

/* Float32 everywhere, products too. */
static hu_status make_plain(hu_config *config) {
    static const char *const keys[][2] = {{"precision.name", "fp32"},   {"precision.rules", ""},
                                          {"accumulator.name", "fp32"}, {"accumulator.rules", ""},
                                          {"operand.rules", ""},        {"operand.high", ""}};
    hu_status st = HU_OK;
    hu_keys *tree = NULL;
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "bench", &tree));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        HU_TRY(hu_keys_set_text(tree, keys[i][0], keys[i][1], "bench"));
    HU_TRY(hu_config_merge(config, tree));
done:
    hu_keys_free(tree);
    return st;
}

/* Is the training that was asked for the plain one already? */
static hu_status is_plain(const hu_config *config, bool *plain) {
    static const char *const lists[] = {"precision.rules", "accumulator.rules", "operand.rules"};
    hu_status st = HU_OK;
    const char *precision, *accumulator;
    const hu_keys *rules;
    HU_TRY(hu_config_text(config, "precision.name", &precision));
    HU_TRY(hu_config_text(config, "accumulator.name", &accumulator));
    *plain = strcmp(precision, "fp32") == 0 && strcmp(accumulator, "fp32") == 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        HU_TRY(hu_config_list(config, lists[i], &rules));
        *plain = *plain && hu_keys_count(rules) == 0;
    }
done:
    return st;
}

/* Plans one of the trainings, with a configuration of its own. */
static hu_status enter(const hu_config *config, hu_dataset *dataset, bool plain, contestant *c) {
    hu_status st = HU_OK;
    hu_train_options options;
    double start = hu_seconds_now();
    HU_TRY(hu_options_copy(config, &c->config));
    if (plain) HU_TRY(make_plain(c->config));
    HU_TRY(hu_options_train(c->config, dataset, &c->precision, &options));
    /* Random tokens are in no order: they may as well be in streams. */
    if (!hu_config_given(config, "data.name") && hu_dataset_find(dataset, "tokens") >= 0)
        dataset->streams = options.batch;
    HU_TRY(hu_trainer_create(&options, dataset, &c->trainer));
    HU_TRY(hu_config_text(c->config, "precision.name", &c->name));
    HU_TRY(hu_config_text(c->config, "accumulator.name", &c->accumulator));
    c->first_seconds = hu_seconds_now() - start;
    if (!plain)
        HU_TRY(
            hu_network_tell(c->config, &options, dataset, hu_trainer_graph(c->trainer), &listener));
done:
    return st;
}

/* One training or two, as bench.beside says. */
static hu_status enter_all(hu_bench *bench, hu_dataset *dataset, step_contest *contest) {
    const hu_config *config = bench->config;
    hu_status st = HU_OK;
    const char *beside;
    bool plain;
    HU_TRY(hu_config_text(config, "bench.beside", &beside));
    HU_TRY(is_plain(config, &plain));
    contest->has_reference = plain || strcmp(beside, "none") != 0;
    contest->common_seconds = hu_seconds_since_start() - bench->begun;
    if (!plain && contest->has_reference)
        HU_TRY(enter(config, dataset, true, &contest->by[contest->count++]));
    contestant *asked = &contest->by[contest->count++];
    HU_TRY(enter(config, dataset, false, asked));
    HU_TRY(hu_config_i64(asked->config, "run.threads", &contest->threads));
    hu_warnings_tell(hu_trainer_run(asked->trainer), &listener);
done:
    return st;
}

static void leave(contestant *c) {
    hu_bench_times_free(&c->times);
    hu_trainer_free(c->trainer);
    hu_precision_free(&c->precision);
    hu_config_free(c->config);
}

/* One step. The first steps fill caches and are not counted in the best, nor is an epoch's last
 * batch where it is short; what is allocated after the first step would be a fault. */
static hu_status take_turn(contestant *c, int64_t turn) {
    hu_step_report report;
    int64_t resident = hu_resident_bytes();
    uint64_t allocations = hu_memory_count().allocations;
    double start = hu_seconds_now();
    hu_status st = hu_trainer_step(c->trainer, &report);
    double seconds = hu_seconds_now() - start;
    if (turn > 0) c->allocations += hu_memory_count().allocations - allocations;
    if (turn >= WARM_UP_STEPS) c->resident_growth += hu_resident_bytes() - resident;
    if (turn == 0) c->first_seconds += seconds;
    if (report.samples > c->samples) c->samples = report.samples;
    bool counts = turn >= WARM_UP_STEPS && report.samples == c->samples;
    if (st == HU_OK && counts) st = hu_bench_times_add(&c->times, seconds);
    return st;
}

/* Seconds of a step that a kind of work takes, per thread. */
static double work_seconds(const step_contest *contest, const contestant *c, int work) {
    double all = hu_run_work_seconds(hu_trainer_run(c->trainer), work);
    return all / (double)(c->work_steps * contest->threads);
}

/* What a step's time is spent on: further steps, as many as there is time for but one, with a clock
 * around every piece of work. */
static hu_status time_work(const hu_bench *bench, contestant *c) {
    const hu_bench_pace pace = {.most = WORK_STEPS, .until = bench->until};
    hu_bench_times times = {0};
    hu_status st = HU_OK;
    hu_step_report report;
    hu_trainer_time_work(c->trainer, true);
    while (hu_bench_takes(&pace, &times)) {
        double start = hu_seconds_now();
        HU_TRY(hu_trainer_step(c->trainer, &report));
        HU_TRY(hu_bench_times_add(&times, hu_seconds_now() - start));
    }
    c->work_steps = (int)times.count;
    c->work_step = times.spent / c->work_steps;
done:
    hu_bench_times_free(&times);
    return st;
}

/* Waiting threads, loading, merging, the update: what is left of the step. */
static double rest_seconds(const step_contest *contest, const contestant *c) {
    double rest = c->work_step;
    for (int w = 0; w < hu_run_work_count(); w++) rest -= work_seconds(contest, c, w);
    return rest > 0 ? rest : 0;
}

static json_t *work_json(const step_contest *contest, const contestant *c) {
    json_t *object = json_object();
    for (int w = 0; object && w < hu_run_work_count(); w++)
        if (work_seconds(contest, c, w) > 0)
            json_object_set_new(object, hu_run_work_name(w),
                                hu_json_number(work_seconds(contest, c, w)));
    if (object) json_object_set_new(object, "rest", hu_json_number(rest_seconds(contest, c)));
    return object;
}

/* Time over that of float32; NaN without a reference. */
static double ratio_of(const step_contest *contest, const contestant *c) {
    return contest->has_reference ? c->times.best / contest->by[0].times.best : NAN;
}

/* Multiply-adds of a step over those that the processors could have done: three products for each
 * of the forward pass. NaN where losses take turns, whose passes differ. */
static double share_of_peak(const step_contest *contest, const contestant *c) {
    const hu_graph *graph = hu_trainer_graph(c->trainer);
    double macs = 3.0 * (double)hu_graph_macs(graph) * (double)c->samples;
    if (graph->phase_count > 0) return (double)NAN;
    return macs / (c->times.best * contest->peak);
}

/* One training: its time, memory and what a step is spent on. */
static json_t *row_json(const step_contest *contest, const contestant *c) {
    bool has_reference = contest->has_reference;
    hu_ledger ledger = hu_trainer_ledger(c->trainer);
    return json_pack(
        "{s:s, s:s, s:I, s:o, s:o, s:o, s:s, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:o, "
        "s:o}",
        "precision", c->name, "accumulator", c->accumulator, "threads",
        (json_int_t)contest->threads, "seconds_per_step", hu_json_number(c->times.best),
        "images_per_second", hu_json_number((double)c->samples / c->times.best),
        "seconds_to_first_step", hu_json_number(contest->common_seconds + c->first_seconds),
        "reference", has_reference ? "fp32" : "none", "reference_seconds_per_step",
        has_reference ? hu_json_number(contest->by[0].times.best) : json_null(), "ratio",
        has_reference ? hu_json_number(ratio_of(contest, c)) : json_null(), "peak_rss_bytes",
        (json_int_t)hu_peak_rss_bytes(), "allocations_after_first_step", (json_int_t)c->allocations,
        "resident_growth_bytes", (json_int_t)c->resident_growth, "ledger_bytes",
        hu_ledger_json(&ledger), "seconds_by_op", work_json(contest, c), "share_of_peak",
        hu_json_number(share_of_peak(contest, c)), "turns", (json_int_t)c->times.count, "spread",
        hu_json_number(c->spread), "reference_spread",
        has_reference ? hu_json_number(contest->by[0].spread) : json_null());
}

static json_t *make_json(const step_contest *contest) {
    json_t *rows = json_array();
    for (int i = 0; rows && i < contest->count; i++)
        json_array_append_new(rows, row_json(contest, &contest->by[i]));
    /* Warnings are those of the training that was asked for. */
    const hu_run *asked = hu_trainer_run(contest->by[contest->count - 1].trainer);
    return json_pack("{s:s, s:s, s:I, s:o, s:o}", "kernel", "step", "model", contest->model,
                     "batch", (json_int_t)contest->by[0].samples, "rows", rows, "warnings",
                     hu_warnings_json(asked));
}

static hu_status add_row(hu_table *table, const step_contest *contest, const contestant *c) {
    hu_status st = HU_OK;
    hu_ledger ledger = hu_trainer_ledger(c->trainer);
    HU_TRY(hu_table_cell(table, "%s", c->name));
    HU_TRY(hu_table_cell(table, "%s", c->accumulator));
    HU_TRY(hu_table_cell(table, "%.4f", c->times.best));
    HU_TRY(hu_table_cell(table, "%.0f", (double)c->samples / c->times.best));
    if (contest->has_reference)
        HU_TRY(hu_table_cell(table, "%.3f", ratio_of(contest, c)));
    else
        HU_TRY(hu_table_cell(table, "-"));
    double share = share_of_peak(contest, c);
    if (isnan(share))
        HU_TRY(hu_table_cell(table, "-"));
    else
        HU_TRY(hu_table_cell(table, "%.3f", share));
    HU_TRY(hu_bench_spread_cell(table, c->spread));
    HU_TRY(hu_table_cell(table, "%.1f", (double)ledger.saved / 1048576.0));
    HU_TRY(hu_table_cell(table, "%.2f", contest->common_seconds + c->first_seconds));
done:
    return st;
}

static hu_status add_work_row(hu_table *table, const step_contest *contest, const char *name,
                              double (*seconds)(const step_contest *, const contestant *, int),
                              int work) {
    hu_status st = HU_OK;
    HU_TRY(hu_table_cell(table, "%s", name));
    for (int i = 0; i < contest->count; i++) {
        double s = seconds(contest, &contest->by[i], work);
        HU_TRY(hu_table_cell(table, "%.1f", 1e3 * s));
        HU_TRY(hu_table_cell(table, "%.1f", 100 * s / contest->by[i].work_step));
    }
done:
    return st;
}

static double rest_of(const step_contest *contest, const contestant *c, int work) {
    (void)work;
    return rest_seconds(contest, c);
}

/* A row for each kind of work that took time, two columns for each training. */
static hu_status tell_work(const step_contest *contest, hu_bench_part *part) {
    hu_status st = HU_OK;
    const char *titles[1 + 2 * MOST] = {"work"};
    char milliseconds[MOST][64];
    hu_table *table = NULL;
    for (int i = 0; i < contest->count; i++) {
        snprintf(milliseconds[i], sizeof milliseconds[i], "%.48s ms", contest->by[i].name);
        titles[1 + 2 * i] = milliseconds[i];
        titles[2 + 2 * i] = "%";
    }
    HU_TRY(hu_table_create(titles, 1 + 2 * contest->count, &table));
    for (int w = 0; w < hu_run_work_count(); w++)
        if (work_seconds(contest, &contest->by[contest->count - 1], w) > 0)
            HU_TRY(add_work_row(table, contest, hu_run_work_name(w), work_seconds, w));
    HU_TRY(add_work_row(table, contest, "rest", rest_of, 0));
    HU_TRY(hu_bench_tell_table(part, table));
    HU_TRY(hu_bench_tell(part, "mean of %d further steps, per thread",
                         contest->by[contest->count - 1].work_steps));
done:
    hu_table_free(table);
    return st;
}

static hu_status tell_rows(const step_contest *contest, hu_bench_part *part) {
    static const char *const titles[] = {"precision", "accumulator", "seconds/step",
                                         "images/s",  "to fp32",     "of peak",
                                         "spread %",  "saved MiB",   "start to step"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int i = 0; i < contest->count; i++) HU_TRY(add_row(table, contest, &contest->by[i]));
    HU_TRY(hu_bench_tell_table(part, table));
    HU_TRY(hu_bench_tell(part,
                         "%s, batch of %lld, best of %zu %ssteps, %lld threads, at most %.0f MiB "
                         "resident; of peak: 3 times the forward pass's multiply-adds",
                         contest->model, (long long)contest->by[0].samples,
                         contest->by[0].times.count, contest->count > 1 ? "alternating " : "",
                         (long long)contest->threads, (double)hu_peak_rss_bytes() / 1048576.0));
done:
    hu_table_free(table);
    return st;
}

/* The data set that was named, else numbers of the shapes that plan assumes, for which the batch
 * must be known: the recipe's where it is left open. */
static hu_status open_data(hu_config *config, hu_dataset **dataset) {
    const hu_data_limits limits = {IMAGES, 16};
    hu_status st = HU_OK;
    hu_config *recipe = NULL;
    const char *batch;
    if (hu_config_given(config, "data.name")) return hu_session_dataset(config, &listener, dataset);
    HU_TRY(hu_options_copy(config, &recipe));
    HU_TRY(hu_recipe_apply(recipe));
    HU_TRY(hu_config_text(recipe, "run.batch", &batch));
    HU_TRY(hu_config_set(config, "run.batch", batch, "recipe"));
    HU_TRY(hu_assumed_dataset_open(config, &limits, dataset));
done:
    hu_config_free(recipe);
    return st;
}

/* Steps in turns, then those whose work is timed. Every epoch has a whole batch. */
static hu_status measure(const hu_bench *bench, step_contest *contest) {
    static const double share = 0.7; /* of the time; the rest is for the work */
    hu_status st = HU_OK;
    const hu_bench_pace pace = hu_bench_pace_of(bench, share, MOST_TURNS);
    for (int64_t i = 0; hu_bench_takes(&pace, &contest->by[0].times); i++)
        /* Step by step in turns: drifts of the machine meet both trainings alike. */
        for (int k = 0; k < contest->count; k++) HU_TRY(take_turn(&contest->by[k], i));
    for (int k = 0; k < contest->count; k++) {
        contest->by[k].spread = hu_bench_times_spread(&contest->by[k].times);
        HU_TRY(time_work(bench, &contest->by[k]));
    }
done:
    return st;
}

static hu_status tell(hu_bench *bench, const step_contest *contest) {
    for (int k = 0; k < contest->count; k++)
        hu_bench_note_spread(&bench->part, contest->by[k].spread, contest->by[0].spread);
    if (bench->part.form == HU_BENCH_JSON) {
        bench->part.json = make_json(contest);
        return HU_OK;
    }
    hu_status st = tell_rows(contest, &bench->part);
    return st == HU_OK ? tell_work(contest, &bench->part) : st;
}

hu_status hu_bench_step(hu_bench *bench) {
    hu_status st = HU_OK;
    hu_dataset *dataset = NULL;
    step_contest contest = {0};
    HU_TRY(hu_config_text(bench->config, "model.name", &contest.model));
    HU_TRY(open_data(bench->config, &dataset));
    HU_TRY(enter_all(bench, dataset, &contest));
    contest.peak = bench->machine->peak * (double)contest.threads;
    HU_TRY(measure(bench, &contest));
    HU_TRY(tell(bench, &contest));
done:
    for (int k = 0; k < contest.count; k++) leave(&contest.by[k]);
    hu_dataset_close(dataset);
    return st;
}
