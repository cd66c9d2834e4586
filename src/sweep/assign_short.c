/* What short trainings lose with one group low each: they go on where float32 ended, for a few
 * steps over the same batches, and are judged by the loss of the validation samples. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "show/json.h"
#include "sweep/assign_probe.h"
#include "train/initialize.h"

/* One step tells nothing that its gradient does not. */
enum { LEAST_STEPS = 2 };

/* Losses as they become known: kept in a file, so that the same command goes on with them. */
typedef struct record {
    char path[600];
    char search[20]; /* a hash of all keys and seeds: what the losses are of */
    int64_t steps;
    size_t seeds, rows; /* rows: everything high, then the groups */
    double *loss;       /* [seeds][rows]; NaN: diverged */
    bool *is_known;     /* [seeds][rows] */
} record;

static hu_status identify(const hu_assign *assign, char *search, size_t bytes) {
    hu_status st = HU_OK;
    char *keys = NULL, *seeds = NULL;
    HU_TRY(hu_keys_print(assign->common, &keys));
    HU_TRY(hu_keys_print(assign->seeds, &seeds));
    uint64_t hash = XXH64(seeds, strlen(seeds), XXH64(keys, strlen(keys), 0));
    snprintf(search, bytes, "%016llx", (unsigned long long)hash);
done:
    hu_free(keys);
    hu_free(seeds);
    return st;
}

static hu_status open_record(const hu_assign *assign, record *r) {
    hu_status st = HU_OK;
    r->steps = assign->short_runs.steps;
    r->seeds = hu_keys_count(assign->seeds);
    r->rows = (size_t)assign->groups.tensors.count + 1;
    snprintf(r->path, sizeof r->path, "%s/short-runs.json", assign->directory);
    HU_TRY(identify(assign, r->search, sizeof r->search));
    HU_TRY(HU_NEW_ARRAY(&r->loss, r->seeds * r->rows));
    HU_TRY(HU_NEW_ARRAY(&r->is_known, r->seeds * r->rows));
done:
    return st;
}

/* What an earlier command has measured in the same way: with the same keys and seeds, as many
 * steps, and the same scale. */
static hu_status read_record(const hu_assign *assign, record *r) {
    json_t *file, *one;
    size_t i;
    hu_status st = hu_json_load(r->path, &file);
    const char *search = json_string_value(json_object_get(file, "search"));
    bool is_same = search && strcmp(search, r->search) == 0 &&
                   hu_json_real(file, "steps") == (double)r->steps &&
                   hu_json_real(file, "loss_scale") == assign->scale;
    json_array_foreach(is_same ? json_object_get(file, "runs") : NULL, i, one) {
        double at = hu_json_real(one, "row");
        if (!(at >= 0.0 && at < (double)(r->seeds * r->rows))) continue;
        r->loss[(size_t)at] = hu_json_real(one, "loss");
        r->is_known[(size_t)at] = true;
    }
    json_decref(file);
    return st;
}

static hu_status write_record(const hu_assign *assign, const record *r) {
    hu_status st = HU_OK;
    char *text = NULL;
    json_t *runs = json_array();
    for (size_t i = 0; runs && i < r->seeds * r->rows; i++)
        if (r->is_known[i])
            json_array_append_new(runs, json_pack("{s:I, s:o}", "row", (json_int_t)i, "loss",
                                                  hu_json_number(r->loss[i])));
    HU_TRY(hu_json_pretty(json_pack("{s:s, s:I, s:o, s:o}", "search", r->search, "steps",
                                    (json_int_t)r->steps, "loss_scale",
                                    hu_json_number(assign->scale), "runs", runs),
                          &text));
    HU_TRY(hu_file_replace(r->path, text, strlen(text)));
done:
    hu_free(text);
    return st;
}

/* Steps of a training that begins where another one ended; the loss of the validation samples,
 * NaN if it is not finite. */
static hu_status go_on(const hu_assign *assign, const hu_trainer *from, hu_trainer *trainer,
                       int64_t steps, double *loss) {
    hu_status st = HU_OK;
    hu_step_report report;
    double metrics[HU_METRICS_MAX];
    HU_TRY(hu_trainer_begin_at(trainer, from));
    for (int64_t i = 0; i < steps; i++) {
        HU_TRY(hu_assign_check_stop(assign));
        HU_TRY(hu_trainer_step(trainer, &report));
    }
    HU_TRY(hu_trainer_evaluate_on(trainer, HU_HALF_VALIDATION, metrics, loss));
    if (!isfinite(*loss)) *loss = (double)NAN;
done:
    return st;
}

/* One short run. low NULL: everything high. NaN: it diverged. Loss scales begin where the gradients
 * of all groups did not overflow, so that no step is spent on finding one. */
static hu_status train_one(const hu_assign *assign, const hu_trainer *from, const bool *low,
                           size_t s, double *loss) {
    hu_status st = HU_OK;
    char path[660];
    hu_assign_probe probe = {0};
    hu_loss_scale_options *scaler = &probe.options.scaler;
    snprintf(path, sizeof path, "%s/plans/short.yaml", assign->directory);
    HU_TRY(hu_assign_write_plan(assign, low, path, NULL));
    HU_TRY(hu_assign_probe_read(assign, path, s, assign->short_runs.steps, &probe));
    if (scaler->kind == HU_LOSS_SCALE_DYNAMIC) scaler->init = (float)assign->scale;
    HU_TRY(hu_assign_probe_make(assign, &probe));
    st = go_on(assign, from, probe.trainer, assign->short_runs.steps, loss);
    if (st == HU_ERR_NONFINITE) {
        *loss = (double)NAN;
        st = HU_OK;
    }
done:
    hu_assign_probe_close(&probe);
    remove(path);
    return st;
}

/* All that are not known of a seed, from where its float32 training ended. */
static hu_status run_seed(const hu_assign *assign, record *r, size_t s, bool *low) {
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_saved_run ended = {0};
    if (!memchr(r->is_known + s * r->rows, false, r->rows)) return HU_OK;
    HU_TRY(hu_assign_open_ended(assign, s, &config, &ended));
    for (size_t row = 0; row < r->rows; row++) {
        size_t at = s * r->rows + row;
        if (r->is_known[at]) continue;
        memset(low, false, (r->rows - 1) * sizeof *low);
        if (row > 0) low[row - 1] = true;
        HU_TRY(train_one(assign, ended.trainer, row > 0 ? low : NULL, s, &r->loss[at]));
        r->is_known[at] = true;
        HU_TRY(write_record(assign, r));
    }
done:
    hu_saved_run_close(&ended);
    hu_config_free(config);
    return st;
}

/* Steps of each that the share of a training allows. */
static hu_status find_length(const hu_assign *assign, hu_assign_short_runs *made) {
    hu_status st = hu_config_f64(assign->config, "assign.short", &made->share);
    if (st != HU_OK) return st;
    double runs = (double)assign->groups.tensors.count + 1.0;
    made->steps = (int64_t)(made->share * (double)assign->steps / runs);
    if (made->steps > assign->steps) made->steps = assign->steps;
    if (made->steps < LEAST_STEPS) made->steps = 0;
    return HU_OK;
}

hu_status hu_assign_measure_short_runs(hu_assign *assign) {
    hu_status st = HU_OK;
    hu_assign_short_runs *made = &assign->short_runs;
    record r = {0};
    bool *low = NULL;
    HU_TRY(find_length(assign, made));
    if (made->steps == 0) return HU_OK;
    HU_TRY(open_record(assign, &r));
    made->runs = (int)(r.seeds * r.rows);
    if (!assign->jobs.is_quiet)
        fprintf(stderr, "%d short runs of %lld steps: each group low alone, and none\n", made->runs,
                (long long)made->steps);
    HU_TRY(HU_NEW_ARRAY(&low, assign->groups.tensors.count));
    HU_TRY(read_record(assign, &r));
    for (size_t s = 0; s < r.seeds; s++) HU_TRY(run_seed(assign, &r, s, low));
    made->noise = hu_search_judge_short(r.loss, r.seeds, &assign->groups, made->cost);
done:
    hu_free(low);
    hu_free(r.loss);
    hu_free(r.is_known);
    return st;
}
