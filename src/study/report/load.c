#include "report/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/config.h"
#include "render/json.h"
#include "report/tensor_groups.h"
#include "runlog/folder.h"
#include "runlog/history.h"
#include "runlog/run_list.h"

/* ---- The exponents of one tensor of a run, by its histograms ---- */

static hu_status unknown(const hu_names *names, const char *folder, const char *name) {
    char nearest[256];
    hu_nearest(name, (const char *const *)names->name, names->count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "%s has no tensor '%.100s', nearest: %s", folder, name, nearest);
}

static const hu_exponents *find(const hu_histogram_record *record, uint32_t tensor) {
    for (uint32_t i = 0; i < record->count; i++)
        if (record->tensor[i].tensor == tensor) return &record->tensor[i].exponents;
    return NULL;
}

hu_status hu_recorded_tensor_read(const char *folder, const char *name, int64_t step,
                                  hu_recorded_tensor *tensor) {
    hu_status st;
    *tensor = (hu_recorded_tensor){0};
    HU_TRY(hu_history_read_some(folder, &tensor->history));
    const hu_history *history = tensor->history;
    uint32_t number = hu_names_find(&history->tensors, name);
    if (number == HU_NAMES_NONE) HU_TRY(unknown(&history->tensors, folder, name));
    for (size_t i = 0; i < history->histogram_count; i++) {
        const hu_histogram_record *record = &history->histograms[i];
        const hu_exponents *found = find(record, number);
        if (!found || (step >= 0 && record->step > step)) continue;
        tensor->exponents = found;
        snprintf(tensor->words, sizeof tensor->words, "%.200s of %.400s, step %lld", name, folder,
                 (long long)record->step);
    }
    if (tensor->exponents) return HU_OK;
    st = hu_fail(HU_ERR_MISSING,
                 "%s: found no histogram of %s up to the step, see "
                 "run.histogram_every",
                 folder, name);
done:
    hu_recorded_tensor_free(tensor);
    return st;
}

void hu_recorded_tensor_free(hu_recorded_tensor *tensor) {
    hu_history_free(tensor->history);
    *tensor = (hu_recorded_tensor){0};
}

/* ---- Run folders -> what the report shows of them ---- */

enum { MAX_RUNS = 10000 };

/* Notes what a run lacks; the page names it. */
static void add_missing(hu_report_run *run, const char *what, const char *why) {
    size_t used = strlen(run->missing);
    snprintf(run->missing + used, sizeof run->missing - used, "%s%s%s%s", used ? "; " : "", what,
             *why ? ": " : "", why);
}

/* Room for one more run, all zero. */
static hu_status new_run(hu_report *report, hu_report_run **run) {
    if (report->count == MAX_RUNS)
        return hu_fail(HU_ERR_LIMIT, "report: found more than %d runs", MAX_RUNS);
    hu_status st = hu_grow(&report->run, report->count, &report->capacity, sizeof *report->run);
    if (st != HU_OK) return st;
    *run = &report->run[report->count++];
    **run = (hu_report_run){0};
    return HU_OK;
}

/* The resolved configuration: without it the folder is no run. */
static hu_status read_config(hu_report_run *run) {
    char *path = NULL;
    hu_status st = hu_path_join(run->folder, "config.resolved.yaml", &path);
    if (st == HU_OK) st = hu_yaml_read(path, &run->config);
    hu_free(path);
    if (st != HU_OK) return st;
    /* Older versions knew nothing else. */
    snprintf(run->loss, sizeof run->loss, "%.40s of %.30s", hu_report_text(run, "task.loss", "nll"),
             hu_report_text(run, "task.name", "classify"));
    run->seed = strtoll(hu_report_text(run, "run.seed", "1"), NULL, 10);
    return hu_strdup(hu_report_text(run, "precision.name", "?"), &run->precision);
}

/* Only trainings that say classes have one. */
static hu_status read_confusion(hu_report_run *run) {
    char *path = NULL;
    hu_status st = hu_path_join(run->folder, "confusion.json", &path);
    if (st == HU_OK) st = hu_json_load(path, &run->confusion);
    hu_free(path);
    return st;
}

static hu_status find_trouble(hu_report_run *run) {
    hu_tensor_order walk;
    hu_status st = hu_history_walk(run->history, run->graph, &walk);
    if (st == HU_OK) st = hu_trouble_of_run(run->history, &walk, &run->trouble);
    hu_tensor_order_free(&walk);
    return st;
}

/* Files that could not be read leave their sections out and are named on the page. */
static void read_files(hu_report_run *run) {
    if (hu_result_read(run->folder, &run->result) != HU_OK)
        add_missing(run, "result.json cannot be read", hu_last_error());
    else if (!run->result)
        add_missing(run, "no result.json", "the training has not ended, or is of an older version");
    if (read_confusion(run) != HU_OK)
        add_missing(run, "confusion.json cannot be read", hu_last_error());
    if (hu_history_read_brief(run->folder, &run->history) != HU_OK) {
        add_missing(run, "no curves and histograms", hu_last_error());
        return;
    }
    if (run->history->warning[0]) add_missing(run, run->history->warning, "");
    if (!run->history->plan) add_missing(run, "no plan.json", "no groups");
    if (run->history->histogram_count == 0) add_missing(run, "no histograms", "");
    if (hu_report_find_tensors(run) != HU_OK || find_trouble(run) != HU_OK)
        add_missing(run, "no roles of tensors, no groups", hu_last_error());
}

/* What the result names; of a training that has not ended, what its graph.json does. */
static const hu_metric *metric_of(const hu_report_run *run) {
    if (run->result) return hu_result_metric_of(run->result).metric;
    return run->history ? run->history->metric : hu_result_metric_of(NULL).metric;
}

/* Reads a run folder; files that are missing leave out their part of the page. */
static hu_status add_run(hu_report *report, const char *folder) {
    hu_report_run *run = NULL;
    hu_status st;
    HU_TRY(hu_run_folder_check_owned(folder));
    HU_TRY(new_run(report, &run));
    HU_TRY(hu_strdup(folder, &run->folder));
    HU_TRY(read_config(run));
    read_files(run);
    run->metric = metric_of(run);
done:
    return st;
}

/* The rows in the order of the list that compare or demo left. */
static hu_status add_listed(hu_report *report, const char *folder, const json_t *rows) {
    char *path = NULL;
    bool is_run;
    hu_status st = HU_OK;
    for (size_t i = 0; i < json_array_size(rows) && st == HU_OK; i++) {
        const char *run = json_string_value(json_object_get(json_array_get(rows, i), "run"));
        if (!run) continue;
        st = hu_path_join(folder, hu_path_name(run), &path);
        if (st == HU_OK) st = hu_run_folder_is(path, &is_run);
        if (st == HU_OK && is_run) st = add_run(report, path);
        hu_free(path);
    }
    return st;
}

static bool is_added(const hu_report *report, const char *folder) {
    for (size_t i = 0; i < report->count; i++)
        if (strcmp(report->run[i].folder, folder) == 0) return true;
    return false;
}

/* Subfolders that are runs and not there yet, by name: rows of other lists over the same folder. */
static hu_status add_found(hu_report *report, const char *folder) {
    hu_names names;
    char *path = NULL;
    hu_status st = hu_runs_below(folder, &names);
    for (uint32_t i = 0; i < names.count && st == HU_OK; i++) {
        st = hu_path_join(folder, names.name[i], &path);
        if (st == HU_OK && !is_added(report, path)) st = add_run(report, path);
        hu_free(path);
    }
    hu_names_free(&names);
    return st;
}

/* The list that compare or demo left in its folder, NULL: neither. */
static hu_status read_list(const char *folder, json_t **list) {
    static const char *const names[] = {"compare.json", "demo.json"};
    char *path = NULL;
    hu_status st = HU_OK;
    *list = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && st == HU_OK && !*list; i++) {
        st = hu_path_join(folder, names[i], &path);
        if (st == HU_OK) st = hu_json_load(path, list);
        hu_free(path);
    }
    return st;
}

/* folder: without slashes at its end. */
static hu_status add_folder(hu_report *report, const char *folder) {
    size_t before = report->count;
    /* One run, or a folder of runs: those of its list in their order, then the others. */
    bool is_run;
    json_t *list = NULL;
    uint32_t number;
    hu_status st = hu_run_folder_check_owned(folder);
    if (st == HU_OK) st = hu_run_folder_is(folder, &is_run);
    if (st != HU_OK || is_run) return st == HU_OK ? add_run(report, folder) : st;
    st = hu_names_intern(&report->folders, folder, HU_NAMES_NONE, &number);
    if (st == HU_OK) st = read_list(folder, &list);
    if (st == HU_OK) st = add_listed(report, folder, json_object_get(list, "rows"));
    if (st == HU_OK) st = add_found(report, folder);
    json_decref(list);
    if (st == HU_OK && report->count == before)
        st = hu_fail(HU_ERR_MISSING,
                     "%s: found no run, expected the folder of a run (with config.resolved.yaml), "
                     "of a comparison or of a demo",
                     folder);
    return st;
}

hu_status hu_report_add(hu_report *report, const char *folder) {
    char *plain;
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    hu_status st = hu_strndup(folder, length, &plain);
    if (st == HU_OK) st = add_folder(report, plain);
    hu_free(plain);
    return st;
}

void hu_report_free(hu_report *report) {
    for (size_t i = 0; i < report->count; i++) {
        hu_report_run *run = &report->run[i];
        hu_free(run->folder);
        hu_free(run->precision);
        hu_keys_free(run->config);
        json_decref(run->result);
        json_decref(run->confusion);
        hu_history_free(run->history);
        hu_graph_free(run->graph);
        hu_free(run->tensor);
    }
    hu_names_free(&report->folders);
    hu_free(report->run);
    *report = (hu_report){0};
}
