
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/config.h"
#include "config/unused_keys.h"
#include "render/json.h"
#include "report/internal.h"
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

hu_status hu_report_tensor_read(const char *folder, const char *name, int64_t step,
                                hu_report_tensor *tensor) {
    hu_status st;
    *tensor = (hu_report_tensor){0};
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
    hu_report_tensor_free(tensor);
    return st;
}

void hu_report_tensor_free(hu_report_tensor *tensor) {
    hu_history_free(tensor->history);
    *tensor = (hu_report_tensor){0};
}

/* ---- Run folders -> what the report shows of them ---- */

enum { MAX_RUNS = 10000 };

/* Notes what a run lacks; the page names it. */
static void add_missing(hu_report_run *run, const char *what, const char *why) {
    hu_note_add(run->missing, sizeof run->missing, "; ", "%s%s%s", what, *why ? ": " : "", why);
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

/* ---- Numbers, labels and titles ---- */

/* How the page calls its runs: title, labels, and the numbers that choose colours. */

const char *hu_report_text(const hu_report_run *run, const char *key, const char *preset) {
    const hu_keys *node = hu_keys_find(run->config, key);
    return node && hu_keys_kind_of(node) == HU_KEYS_TEXT ? hu_keys_value(node) : preset;
}

/* ---- what is trained on what ---- */

/* "cnn-s", "cnn-s of width 2", "cnn-s with range norms". */
static const char *model_of(const hu_report_run *run, char text[100]) {
    const char *width = hu_report_text(run, "model.width", "1");
    bool has_width = strcmp(width, "1") != 0;
    bool has_ranges = strcmp(hu_report_text(run, "model.norm", "batch"), "range") == 0;
    snprintf(text, 100, "%.50s%s%.15s%s", hu_report_text(run, "model.name", "?"),
             has_width ? " of width " : "", has_width ? width : "",
             has_ranges ? " with range norms" : "");
    return text;
}

static bool same_model(const hu_report_run *a, const hu_report_run *b) {
    char one[100], other[100];
    return strcmp(model_of(a, one), model_of(b, other)) == 0;
}

static bool same_text(const hu_report_run *a, const hu_report_run *b, const char *key) {
    return strcmp(hu_report_text(a, key, "?"), hu_report_text(b, key, "?")) == 0;
}

static bool same_data(const hu_report_run *a, const hu_report_run *b) {
    return same_text(a, b, "data.name");
}

static bool same_subject(const hu_report_run *a, const hu_report_run *b) {
    return same_model(a, b) && same_data(a, b);
}

static bool same_precision(const hu_report_run *a, const hu_report_run *b) {
    return strcmp(a->precision, b->precision) == 0;
}

/* "8 workers, e5m2 aps"; "" where one worker trains alone. */
static const char *short_wire_of(const hu_report_run *run, char text[160]) {
    const char *workers = hu_report_text(run, "comm.workers", "1");
    const char *format = hu_report_text(run, "comm.format", "fp32");
    const char *scaling = hu_report_text(run, "comm.scaling", "none");
    bool is_alone = strcmp(workers, "1") == 0 && strcmp(format, "fp32") == 0;
    bool is_scaled = strcmp(scaling, "none") != 0 && strcmp(format, "fp32") != 0;
    text[0] = '\0';
    if (!is_alone)
        snprintf(text, 160, "%.12s worker%s, %.80s%s%.20s", workers,
                 strcmp(workers, "1") == 0 ? "" : "s", format, is_scaled ? " " : "",
                 is_scaled ? scaling : "");
    return text;
}

/* "8 workers, e5m2 aps by ring" */
static const char *wire_of(const hu_report_run *run, char text[200]) {
    char wire[160];
    text[0] = '\0';
    if (short_wire_of(run, wire)[0])
        snprintf(text, 200, "%s by %.30s", wire, hu_report_text(run, "comm.schedule", "ring"));
    return text;
}

static bool same_wire(const hu_report_run *a, const hu_report_run *b) {
    char one[200], other[200];
    return strcmp(wire_of(a, one), wire_of(b, other)) == 0;
}

static bool same_workers(const hu_report_run *a, const hu_report_run *b) {
    return same_text(a, b, "comm.workers");
}

/* With the schedule only where it alone tells the run from another. */
static const char *brief_wire_of(const hu_report *report, const hu_report_run *run,
                                 char text[200]) {
    char own[160], other[160];
    bool is_known = false;
    short_wire_of(run, own);
    for (size_t k = 0; k < report->count; k++)
        is_known = is_known || (strcmp(own, short_wire_of(&report->run[k], other)) == 0 &&
                                !same_wire(run, &report->run[k]));
    if (is_known) return wire_of(run, text);
    snprintf(text, 200, "%s", own);
    return text;
}

typedef bool same_fn(const hu_report_run *a, const hu_report_run *b);

/* Whether no run before run i is the same in something. */
static bool is_new(const hu_report *report, size_t i, same_fn *same) {
    for (size_t k = 0; k < i; k++)
        if (same(&report->run[k], &report->run[i])) return false;
    return true;
}

static size_t count_new(const hu_report *report, same_fn *same) {
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++) count += is_new(report, i, same);
    return count;
}

/* ---- the title ---- */

/* ", 8 workers, e5m2 aps"; ", 8 workers, gradients sent in 3 ways"; nothing where no gradient
 * travels. */
static void add_ways(const hu_report *report, char *text, size_t capacity) {
    char wire[200];
    const hu_report_run *first = &report->run[0];
    size_t ways = count_new(report, same_wire);
    const char *workers = hu_report_text(first, "comm.workers", "1");
    bool shares_workers = count_new(report, same_workers) == 1 && strcmp(workers, "1") != 0;
    if (ways == 1 && brief_wire_of(report, first, wire)[0])
        hu_note_add(text, capacity, ", ", "%s", wire);
    if (ways > 1)
        hu_note_add(text, capacity, "", ", %.12s%sgradients sent in %zu ways",
                    shares_workers ? workers : "", shares_workers ? " workers, " : "", ways);
}

void hu_report_title(const hu_report *report, char *text, size_t capacity) {
    char model[100];
    size_t models = count_new(report, same_model), count = 0;
    size_t precisions = count_new(report, same_precision);
    text[0] = '\0';
    for (size_t i = 0; i < report->count; i++) {
        if (!is_new(report, i, same_model)) continue;
        const char *between = count == 0 ? "" : count + 1 < models ? ", " : " and ";
        hu_note_add(text, capacity, between, "%s", model_of(&report->run[i], model));
        count++;
    }
    if (precisions == 1)
        hu_note_add(text, capacity, "", " in %.120s", report->run[0].precision);
    else
        hu_note_add(text, capacity, "", " in %zu precisions", precisions);
    if (report->count > 0) add_ways(report, text, capacity);
}

/* "; batch 32" where all runs share it. */
static void add_shared(const hu_report *report, const char *key, const char *form, char *text,
                       size_t capacity) {
    char part[64];
    for (size_t i = 1; i < report->count; i++)
        if (!same_text(&report->run[0], &report->run[i], key)) return;
    snprintf(part, sizeof part, form, hu_report_text(&report->run[0], key, "?"));
    hu_note_add(text, capacity, "; ", "%s", part);
}

/* Each model with its data set and its parameters, then what all runs share. */
void hu_report_subtitle(const hu_report *report, char *text, size_t capacity) {
    char model[100], part[400], wire[200];
    text[0] = '\0';
    for (size_t i = 0; i < report->count; i++) {
        const hu_report_run *run = &report->run[i];
        double parameters = hu_json_real(run->result, "parameters");
        if (!is_new(report, i, same_subject)) continue;
        snprintf(part, sizeof part, "%s on %.200s", model_of(run, model),
                 hu_report_text(run, "data.name", "?"));
        hu_note_add(text, capacity, i ? "; " : "", "%s", part);
        if (!(parameters > 0.0)) continue;
        snprintf(part, sizeof part, "%.0f parameters", parameters);
        hu_note_add(text, capacity, ", ", "%s", part);
    }
    add_shared(report, "run.batch", "batch %.20s", text, capacity);
    add_shared(report, "run.steps", "%.20s steps", text, capacity);
    if (report->count > 0 && count_new(report, same_wire) == 1 && wire_of(&report->run[0], wire)[0])
        hu_note_add(text, capacity, "; ", "%s", wire);
    snprintf(part, sizeof part, "%zu run%s", report->count, report->count == 1 ? "" : "s");
    hu_note_add(text, capacity, "; ", "%s", part);
}

/* ---- numbers ---- */

/* "demote:0.6:increasing+promote" -> "demote:increasing+promote": numbers to vary do not part a
 * family. */
static void name_family(hu_report_run *run) {
    const char *colon = strchr(run->precision, ':');
    bool is_number = colon && (isdigit((unsigned char)colon[1]) || colon[1] == '.' ||
                               strncmp(colon, ":memory=", 8) == 0);
    int head = (int)(is_number ? colon - run->precision : 0);
    const char *tail = is_number ? colon + 1 + strcspn(colon + 1, ":+") : run->precision;
    snprintf(run->family, sizeof run->family, "%.*s%s", head, run->precision, tail);
}

/* Runs that differ in nothing but the seed and what does not change a training. */
static bool same_settings(const hu_report_run *a, const hu_report_run *b) {
    if (strcmp(a->precision, b->precision) != 0) return false;
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *key = hu_config_keys[i].name;
        const hu_keys *x = hu_keys_find(a->config, key), *y = hu_keys_find(b->config, key);
        if (hu_config_key_is_free(key) || strcmp(key, "run.seed") == 0) continue;
        if (x && y && !hu_keys_equal(x, y)) return false;
    }
    return true;
}

/* Seeds of one precision and setting share a number, precisions of a family a colour. */
static void number_run(hu_report *report, size_t i) {
    hu_report_run *run = &report->run[i];
    name_family(run);
    run->number = run->family_number = -1;
    for (size_t k = 0; k < i; k++) {
        if (report->run[k].seed != run->seed && same_settings(run, &report->run[k]))
            run->number = report->run[k].number;
        if (strcmp(run->family, report->run[k].family) == 0)
            run->family_number = report->run[k].family_number;
    }
    run->is_first = run->number < 0;
    if (run->number < 0) run->number = report->precisions++;
    if (run->family_number < 0) run->family_number = report->families++;
}

/* ---- labels ---- */

/* "cnn-s on glyphs: fp32, 8 workers, e5m2 aps": model, data set and wire only where runs
 * differ in them. */
static void begin_label(const hu_report *report, hu_report_run *run) {
    char model[100] = "", wire[200] = "";
    bool has_model = count_new(report, same_model) > 1, has_data = count_new(report, same_data) > 1;
    if (has_model) model_of(run, model);
    if (count_new(report, same_wire) > 1) brief_wire_of(report, run, wire);
    snprintf(run->label, sizeof run->label, "%.40s%s%.40s%s%.60s%s%.50s", model,
             has_model && has_data ? " on " : "",
             has_data ? hu_report_text(run, "data.name", "?") : "",
             has_model || has_data ? ": " : "", run->precision, wire[0] ? ", " : "", wire);
}

/* With the folder where other settings differ, too. */
static void make_name(const hu_report *report, hu_report_run *run) {
    bool is_same = false;
    char folder[80] = "";
    for (size_t k = 0; k < report->count; k++)
        is_same = is_same || (strcmp(report->run[k].label, run->label) == 0 &&
                              report->run[k].number != run->number);
    if (is_same) snprintf(folder, sizeof folder, " (%.60s)", hu_path_name(run->folder));
    snprintf(run->name, sizeof run->name, "%.130s%s", run->label, folder);
}

/* With the seed where nothing else tells runs apart. */
static void end_label(const hu_report *report, hu_report_run *run) {
    bool is_seed = false;
    char seed[32] = "";
    for (size_t k = 0; k < report->count; k++)
        is_seed = is_seed ||
                  (strcmp(report->run[k].name, run->name) == 0 && report->run[k].seed != run->seed);
    if (is_seed) snprintf(seed, sizeof seed, " seed %lld", (long long)run->seed);
    snprintf(run->label, sizeof run->label, "%.160s%s", run->name, seed);
}

/* Each step reads what the one before it made of all runs. */
void hu_report_number(hu_report *report) {
    report->precisions = report->families = 0;
    report->metric = report->count ? report->run[0].metric : NULL;
    for (size_t i = 0; i < report->count; i++) number_run(report, i);
    for (size_t i = 0; i < report->count; i++) begin_label(report, &report->run[i]);
    for (size_t i = 0; i < report->count; i++) make_name(report, &report->run[i]);
    for (size_t i = 0; i < report->count; i++) end_label(report, &report->run[i]);
}
