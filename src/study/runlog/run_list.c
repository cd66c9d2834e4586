#include "runlog/run_list.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/config.h"
#include "format/table/keep.h"
#include "runlog/folder.h"
#include "runlog/progress.h"
#include "runlog/result.h"

/* ---- Which folders are runs: those that hold a resolved configuration ---- */

#define CONFIG_NAME "config.resolved.yaml"
static const char config_name[] = CONFIG_NAME;

static bool has_file(const char *directory, const char *name) {
    char *path = NULL;
    bool is_present = hu_path_join(directory, name, &path) == HU_OK && hu_file_exists(path);
    hu_free(path);
    return is_present;
}

hu_status hu_run_folder_is(const char *directory, bool *is_run) {
    char *path = NULL;
    *is_run = false;
    hu_status st = hu_path_join(directory, config_name, &path);
    if (st == HU_OK) st = hu_file_find(path, is_run);
    hu_free(path);
    return st;
}

/* Folders directly below of which `is` says so, by name. */
static hu_status find_below(const char *directory, hu_status (*is)(const char *, bool *),
                            hu_names *names) {
    hu_status st = HU_OK;
    uint32_t number;
    bool is_one;
    char *path = NULL;
    DIR *open = opendir(directory);
    *names = (hu_names){0};
    if (!open && errno == ENOMEM) return hu_io_fail(directory, "cannot open", errno);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        if (entry->d_name[0] == '.') continue;
        HU_TRY(hu_path_join(directory, entry->d_name, &path));
        HU_TRY(is(path, &is_one));
        if (is_one) HU_TRY(hu_names_intern(names, entry->d_name, HU_NAMES_NONE, &number));
        hu_free(path);
        path = NULL;
    }
    hu_names_sort(names);
done:
    if (open) closedir(open);
    hu_free(path);
    return st;
}

hu_status hu_runs_below(const char *directory, hu_names *names) {
    return find_below(directory, hu_run_folder_is, names);
}

static const struct {
    const char *file, *verb, *words;
} lists[] = {{"compare.json", "compare", "a comparison"},
             {"demo.json", "demo", "a demo"},
             {"assign.json", "assign", "a search"}};
enum { LISTS = sizeof lists / sizeof *lists };

/* Place of the list that a verb left in its folder; LISTS: none has. */
static size_t list_of(const char *directory) {
    size_t i = 0;
    while (i < LISTS && !has_file(directory, lists[i].file)) i++;
    return i;
}

hu_status hu_runs_list(const char *directory, const char **verb, json_t **list) {
    char *path = NULL;
    size_t i = list_of(directory);
    *verb = i < LISTS ? lists[i].verb : "";
    *list = NULL;
    if (i == LISTS) return HU_OK;
    hu_status st = hu_path_join(directory, lists[i].file, &path);
    if (st == HU_OK) st = hu_json_load(path, list);
    hu_free(path);
    return st;
}

/* Trainings have such a file, too, beside their configuration. */
static hu_status is_group(const char *directory, bool *is) {
    bool is_run;
    hu_status st = hu_run_folder_is(directory, &is_run);
    *is = st == HU_OK && !is_run &&
          (list_of(directory) < LISTS || has_file(directory, HU_PROGRESS_FILE));
    return st;
}

/* The folders directly below that are of comparisons, demos or searches, or may be: they have a
 * list of runs, or a progress.jsonl and no configuration. Owner frees with hu_names_free. */
static hu_status groups_below(const char *directory, hu_names *names) {
    return find_below(directory, is_group, names);
}

/* What left a list of runs in its folder, in words. */
static const char *kind_of(const char *directory) {
    size_t i = list_of(directory);
    return i < LISTS ? lists[i].words : "several runs";
}

static bool is_file(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* HU_ERR_MISSING, or the runs that the user may have meant. */
static hu_status explain(const char *directory) {
    enum { SHOWN = 6 };
    char text[2048] = "";
    hu_names names;
    hu_status st = hu_runs_below(directory, &names);
    uint32_t shown = names.count < SHOWN ? names.count : SHOWN;
    for (uint32_t i = 0; i < shown; i++)
        hu_note_add(text, sizeof text, ", ", "%.100s/%.200s", directory, names.name[i]);
    if (st == HU_OK && names.count == 0)
        st = hu_fail(HU_ERR_MISSING, "%s: no run folder (%s)", directory,
                     is_file(directory) ? "it is a file" : CONFIG_NAME " is not there");
    else if (st == HU_OK)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "%s: found the folder of %s, expected one of its %u runs: %s%s", directory,
                     kind_of(directory), names.count, text, names.count > SHOWN ? ", ..." : "");
    hu_names_free(&names);
    return st;
}

hu_status hu_run_folder_config(const char *directory, char **path) {
    bool is_present = false;
    hu_status st = hu_path_join(directory, config_name, path);
    if (st == HU_OK) st = hu_file_find(*path, &is_present);
    if (st == HU_OK && is_present) st = hu_run_folder_check_owned(directory);
    /* Names of formats in the records are those of the run's own copies. */
    if (st == HU_OK && is_present) st = hu_code_tables_recall(directory);
    if (st == HU_OK && is_present) return HU_OK;
    hu_free(*path);
    *path = NULL;
    return st == HU_OK ? explain(directory) : st;
}

/* ---- what both lists are made by ---- */

/* Adds what a folder is, or what it holds, to a list. */
typedef hu_status run_list_adder(json_t *listing, const char *folder);

/* The cells of one row. */
typedef hu_status run_list_cells(hu_table *table, const json_t *row);

/* ---- listing ---- */

/* The runs of a folder, a row each: what was trained, and how far it is. */

/* What the files of a run say. */
typedef struct run_files {
    const char *folder;
    hu_keys *config;
    json_t *result; /* NULL: it has not ended */
    hu_run_standing standing;
    time_t changed; /* its configuration */
    bool is_damaged;
} run_files;

static void free_files(run_files *files) {
    hu_keys_free(files->config);
    json_decref(files->result);
    hu_run_standing_free(&files->standing);
}

/* The words that a folder was last begun with, null where nothing tells. New reference. */
static json_t *run_list_command(const hu_run_standing *standing) {
    size_t count = json_array_size(standing->starts);
    json_t *last = count ? json_array_get(standing->starts, count - 1) : NULL;
    json_t *command = json_object_get(last, "command");
    return command ? json_incref(command) : json_null();
}

/* A file that cannot be read is a fact about the run; no memory is a failure. */
static hu_status note(hu_status st, bool *is_damaged) {
    if (st == HU_OK || st == HU_ERR_MEMORY) return st;
    *is_damaged = true;
    return HU_OK;
}

static hu_status read_files(const char *folder, run_files *files) {
    hu_status st = HU_OK;
    char *path = NULL;
    struct stat about;
    *files = (run_files){.folder = folder};
    st = hu_run_folder_config(folder, &path);
    files->is_damaged = st == HU_ERR_CORRUPT; /* links and pipes in place of files */
    if (files->is_damaged) return HU_OK;
    HU_TRY(st);
    if (stat(path, &about) == 0) files->changed = about.st_mtime;
    HU_TRY(note(hu_yaml_read(path, &files->config), &files->is_damaged));
    HU_TRY(note(hu_result_read(folder, &files->result), &files->is_damaged));
    HU_TRY(note(hu_run_standing_read(folder, &files->standing), &files->is_damaged));
done:
    hu_free(path);
    return st;
}

/* A key of the configuration as text; "" where it is missing or a list. */
static const char *text_of(const run_files *files, const char *key) {
    const hu_keys *found = files->config ? hu_keys_find(files->config, key) : NULL;
    const char *text = found ? hu_keys_value(found) : NULL;
    return text ? text : "";
}

/* What the user calls it. */
static const char *name_of(const run_files *files) {
    const char *name = text_of(files, "run.name");
    return strcmp(name, "auto") == 0 ? "" : name;
}

static const char *state_of(const run_files *files) {
    if (hu_run_folder_is_locked(files->folder)) return "running";
    if (files->is_damaged) return "damaged";
    if (json_object_get(files->result, "diverged")) return "diverged";
    if (json_object_get(files->result, "stopped_early")) return "stopped early";
    if (files->result) return "finished";
    return strcmp(files->standing.state, "failed") == 0 ? "failed" : "stopped";
}

static json_t *pack_metric(const hu_metric *metric, const char *part, double value, double best) {
    return json_pack("{s:s, s:s, s:o, s:o, s:s}", "name", metric->name, "part", part, "value",
                     hu_json_number(value), "best", hu_json_number(best), "better",
                     metric->higher_is_better ? "higher" : "lower");
}

/* Of the result, on the test samples if they were read; of a run that has none, of its latest
 * evaluation. */
static json_t *metric_of(const run_files *files) {
    const hu_run_standing *standing = &files->standing;
    const hu_metric *metric = hu_metric_find(standing->name);
    hu_result_metric test = hu_result_metric_of(files->result);
    hu_result_metric held = hu_result_validation_of(files->result);
    if (files->result && !isnan(test.last))
        return pack_metric(test.metric, "test", test.last, test.best);
    if (files->result && !isnan(held.last))
        return pack_metric(held.metric, "validation", held.last, held.best);
    if (metric && !isnan(standing->metric))
        return pack_metric(metric, standing->part, standing->metric, standing->best);
    return json_null();
}

static json_int_t step_of(const run_files *files) {
    const json_t *steps = json_object_get(files->result, "steps");
    return json_is_integer(steps) ? json_integer_value(steps) : files->standing.step;
}

static json_t *pack_run(const run_files *files) {
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:I}", "run",
                     files->folder, "name", name_of(files), "model", text_of(files, "model.name"),
                     "precision", text_of(files, "precision.name"), "data",
                     text_of(files, "data.name"), "state", state_of(files), "step", step_of(files),
                     "steps", (json_int_t)files->standing.steps, "epochs",
                     hu_json_number(files->standing.epochs), "metric", metric_of(files), "command",
                     run_list_command(&files->standing), "changed", (json_int_t)files->changed);
}

/* Puts a row where its time belongs: the latest is the last. Takes the reference; NULL is
 * HU_ERR_MEMORY. */
static hu_status run_list_insert(json_t *listing, json_t *run) {
    size_t at = json_array_size(listing);
    double changed = hu_json_real(run, "changed");
    while (at > 0 && hu_json_real(json_array_get(listing, at - 1), "changed") > changed) at--;
    if (run && json_array_insert_new(listing, at, run) == 0) return HU_OK;
    return hu_fail(HU_ERR_MEMORY, "out of memory while listing runs");
}

static hu_status add_run(json_t *listing, const char *folder) {
    run_files files = {0};
    hu_status st = read_files(folder, &files);
    if (st == HU_OK) st = run_list_insert(listing, pack_run(&files));
    free_files(&files);
    return st;
}

/* Adds the folders of these names in a folder. HU_ERR_MEMORY, or add's. */
static hu_status run_list_add_each(const char *folder, const hu_names *names, run_list_adder *add,
                                   json_t *listing) {
    hu_status st = HU_OK;
    for (uint32_t i = 0; i < names->count && st == HU_OK; i++) {
        char *path = NULL;
        st = hu_path_join(folder, names->name[i], &path);
        if (st == HU_OK) st = add(listing, path);
        hu_free(path);
    }
    return st;
}

/* A list of what add finds. Owner drops the reference; NULL on failure. HU_ERR_MEMORY, or add's. */
static hu_status run_list_collect(const char *folder, run_list_adder *add, json_t **listing) {
    *listing = NULL;
    json_t *made = json_array();
    hu_status st =
        made ? add(made, folder) : hu_fail(HU_ERR_MEMORY, "out of memory while listing runs");
    if (st == HU_OK)
        *listing = made;
    else
        json_decref(made);
    return st;
}

/* The runs below a folder; the folder itself, where it is one. */
static hu_status add_all(json_t *listing, const char *folder) {
    hu_status st = HU_OK;
    hu_names names = {0};
    char *path = NULL;
    HU_TRY(hu_runs_below(folder, &names));
    HU_TRY(run_list_add_each(folder, &names, add_run, listing));
    HU_TRY(hu_path_join(folder, "config.resolved.yaml", &path));
    if (names.count == 0 && hu_file_exists(path)) HU_TRY(add_run(listing, folder));
done:
    hu_names_free(&names);
    hu_free(path);
    return st;
}

hu_status hu_run_list_read(const char *folder, json_t **listing) {
    *listing = NULL;
    if (!hu_file_exists(folder))
        return hu_fail(HU_ERR_MISSING, "%s: no such folder, expected one that runs are in", folder);
    return run_list_collect(folder, add_all, listing);
}

/* ---- for people ---- */

/* A table with a row for each element. Owner frees with hu_table_free; NULL on failure. */
static hu_status run_list_rows(const json_t *listing, const char *const *titles, int count,
                               run_list_cells *cells, hu_table **table) {
    hu_status st = hu_table_create(titles, count, table);
    for (size_t i = 0; st == HU_OK && i < json_array_size(listing); i++)
        st = cells(*table, json_array_get(listing, i));
    if (st == HU_OK) return st;
    hu_table_free(*table);
    *table = NULL;
    return st;
}

static const char *word(const json_t *run, const char *key) {
    const char *text = json_string_value(json_object_get(run, key));
    return text && *text ? text : "-";
}

/* "text:wiki.txt" of "text:/data/wiki.txt". */
static hu_status data_cell(hu_table *table, const char *data) {
    size_t kind = strcspn(data, ":");
    if (!data[kind]) return hu_table_cell(table, "%s", data);
    return hu_table_cell(table, "%.*s:%s", (int)kind, data, hu_path_name(data + kind + 1));
}

static hu_status length_cells(hu_table *table, const json_t *run) {
    hu_status st = HU_OK;
    long long step = json_integer_value(json_object_get(run, "step"));
    long long steps = json_integer_value(json_object_get(run, "steps"));
    double epochs = hu_json_real(run, "epochs");
    if (step < 0)
        HU_TRY(hu_table_cell(table, "-"));
    else if (steps < 0)
        HU_TRY(hu_table_cell(table, "%lld", step));
    else
        HU_TRY(hu_table_cell(table, "%lld/%lld", step, steps));
    st = isnan(epochs) ? hu_table_cell(table, "-") : hu_table_cell(table, "%.4g", epochs);
done:
    return st;
}

/* "test accuracy 87.31 %", and the best one. */
static hu_status metric_cells(hu_table *table, const json_t *run) {
    hu_status st = HU_OK;
    char name[HU_METRIC_TEXT_BYTES], value[HU_METRIC_TEXT_BYTES];
    const json_t *made = json_object_get(run, "metric");
    const hu_metric *metric = json_is_object(made)
                                  ? hu_metric_find(json_string_value(json_object_get(made, "name")))
                                  : NULL;
    if (!metric) {
        HU_TRY(hu_table_cell(table, "-"));
        return hu_table_cell(table, "-");
    }
    HU_TRY(hu_table_cell(table, "%s %s %s", word(made, "part"), hu_metric_words(metric, name),
                         hu_metric_text(metric, hu_json_real(made, "value"), value)));
    HU_TRY(hu_table_cell(table, "%s", hu_metric_text(metric, hu_json_real(made, "best"), value)));
done:
    return st;
}

/* Cells that both tables have. */
static hu_status run_list_state_cell(hu_table *table, const json_t *row) {
    static const char *const bad[] = {"failed", "diverged", "damaged"};
    const char *state = word(row, "state");
    bool is_bad = false;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        is_bad = is_bad || strcmp(state, bad[i]) == 0;
    hu_status st = hu_table_cell(table, "%s%s", is_bad ? "! " : "", state);
    if (st == HU_OK && is_bad) hu_table_look(table, HU_COLOUR_BAD);
    return st;
}

static hu_status run_list_date_cell(hu_table *table, const json_t *run) {
    time_t changed = (time_t)json_integer_value(json_object_get(run, "changed"));
    struct tm local;
    char text[32] = "-";
    if (localtime_r(&changed, &local)) strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
    return hu_table_cell(table, "%s", text);
}

static hu_status run_cells(hu_table *table, const json_t *run) {
    hu_status st = HU_OK;
    HU_TRY(hu_table_cell(table, "%s", hu_path_name(word(run, "run"))));
    HU_TRY(hu_table_cell(table, "%s", word(run, "name")));
    HU_TRY(hu_table_cell(table, "%s", word(run, "model")));
    HU_TRY(hu_table_cell(table, "%s", word(run, "precision")));
    HU_TRY(data_cell(table, word(run, "data")));
    HU_TRY(length_cells(table, run));
    HU_TRY(metric_cells(table, run));
    HU_TRY(run_list_state_cell(table, run));
    HU_TRY(run_list_date_cell(table, run));
done:
    return st;
}

hu_status hu_run_list_table(const json_t *listing, hu_table **table) {
    static const char *const titles[] = {"run",  "name",  "model",  "precision",
                                         "data", "steps", "epochs", "metric",
                                         "best", "state", "started"};
    return run_list_rows(listing, titles, sizeof titles / sizeof *titles, run_cells, table);
}

/* ---- Comparisons, demos and searches ---- */

/* Folders of several trainings: comparisons, demos and searches. What their lists and their
 * progress.jsonl say; the first have the results, the other what happens now. */

/* What the files of such a folder say. */
typedef struct group_files {
    const char *folder, *verb;
    json_t *list; /* compare.json, demo.json or assign.json; NULL: not there yet */
    hu_run_standing standing;
} group_files;

/* A number of the standing; null where no row tells. */
static json_t *count_of(int64_t count) {
    return count >= 0 ? json_integer((json_int_t)count) : json_null();
}

/* Trainings of a list that some member tells about: those of an older version have no rows of
 * progress that count them. */
static void count_rows(const json_t *list, hu_run_standing *standing) {
    size_t i;
    const json_t *row, *rows = json_object_get(list, "rows");
    if (standing->done >= 0 || !json_is_array(rows)) return;
    standing->rows = (int64_t)json_array_size(rows);
    standing->done = 0;
    json_array_foreach((json_t *)(uintptr_t)rows, i, row) {
        const char *state = json_string_value(json_object_get(row, "state"));
        standing->done += !state || strcmp(state, "done") == 0;
        standing->failed += state && strcmp(state, "failed") == 0;
        standing->diverged += json_object_get(row, "diverged") != NULL;
    }
}

/* Whether an element of a list ended badly: "diverged" is a reason or a number of runs. */
static bool is_lost(const json_t *element, const char *key) {
    const json_t *value = json_object_get(element, key);
    return json_is_string(value) || json_integer_value(value) > 0;
}

static json_t *pack_best(const char *name, const hu_metric *metric, const char *part,
                         double value) {
    if (!name || isnan(value)) return json_null();
    return json_pack("{s:s, s:{s:s, s:s, s:o, s:s}}", "name", name, "metric", "name", metric->name,
                     "part", part, "value", hu_json_number(value), "better",
                     metric->higher_is_better ? "higher" : "lower");
}

/* Of precisions or rows, each with its mean or its value on the test samples. */
static json_t *best_of_all(const json_t *elements, const hu_metric *metric) {
    char key[HU_METRIC_KEY_BYTES];
    const char *name = NULL;
    double best = (double)NAN;
    hu_metric_key("test", metric, key);
    for (size_t i = 0; i < json_array_size(elements); i++) {
        const json_t *element = json_array_get(elements, i);
        double value = hu_json_real(element, key);
        if (isnan(value) || is_lost(element, "diverged") || is_lost(element, "collapsed")) continue;
        if (name && !hu_metric_is_better(metric, value, best)) continue;
        best = value;
        name = json_string_value(json_object_get(element, "precision"));
    }
    return pack_best(name, metric, "test", best);
}

static json_t *best_of(const group_files *files) {
    char key[HU_METRIC_KEY_BYTES];
    const json_t *precisions = json_object_get(files->list, "precisions");
    const hu_metric *metric = hu_result_metric_of(files->list).metric;
    if (strcmp(files->verb, "assign") != 0)
        return best_of_all(precisions ? precisions : json_object_get(files->list, "rows"), metric);
    return pack_best(json_string_value(json_object_get(files->list, "chosen")), metric,
                     "validation",
                     hu_json_real(files->list, hu_metric_key("validation", metric, key)));
}

static const char *group_state(const group_files *files) {
    const hu_run_standing *standing = &files->standing;
    if (hu_run_folder_is_locked(files->folder)) return "running";
    if (*standing->state) return standing->state;
    bool is_whole = files->list && standing->done == standing->rows;
    return !standing->is_present && is_whole ? "finished" : "stopped";
}

/* Of the last beginning, or, where nothing tells, of the folder. */
static json_int_t changed_of(const group_files *files) {
    struct stat about;
    size_t count = json_array_size(files->standing.starts);
    double time = hu_json_real(json_array_get(files->standing.starts, count - 1), "time");
    if (count > 0 && time > 0.0 && time < 1e15) return (json_int_t)time;
    return stat(files->folder, &about) == 0 ? (json_int_t)about.st_mtime : 0;
}

static json_t *pack_group(group_files *files) {
    hu_run_standing *standing = &files->standing;
    count_rows(files->list, standing);
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:o, s:o, s:I}", "folder", files->folder,
                     "kind", files->verb, "state", group_state(files), "rows",
                     count_of(standing->rows), "done", count_of(standing->done), "failed",
                     (json_int_t)standing->failed, "diverged", (json_int_t)standing->diverged,
                     "best", best_of(files), "command", run_list_command(standing), "changed",
                     changed_of(files));
}

/* Nothing of a folder that is no such one after all. */
static hu_status add_group(json_t *listing, const char *folder) {
    group_files files = {.folder = folder};
    hu_status st = hu_run_standing_read(folder, &files.standing);
    /* What cannot be read is not told; the list may do without. */
    if (st != HU_ERR_MEMORY) st = hu_runs_list(folder, &files.verb, &files.list);
    if (st == HU_OK && !*files.verb) files.verb = files.standing.verb;
    if (st == HU_OK && *files.verb) st = run_list_insert(listing, pack_group(&files));
    hu_run_standing_free(&files.standing);
    json_decref(files.list);
    return st;
}

/* Those below a folder, and itself. */
static hu_status add_groups(json_t *listing, const char *folder) {
    hu_status st = HU_OK;
    hu_names names = {0};
    bool is_run;
    HU_TRY(hu_run_folder_is(folder, &is_run));
    if (!is_run) HU_TRY(add_group(listing, folder));
    HU_TRY(groups_below(folder, &names));
    HU_TRY(run_list_add_each(folder, &names, add_group, listing));
done:
    hu_names_free(&names);
    return st;
}

hu_status hu_run_list_groups(const char *folder, json_t **listing) {
    return run_list_collect(folder, add_groups, listing);
}

/* ---- for people ---- */

static long long whole(const json_t *group, const char *key) {
    return (long long)json_integer_value(json_object_get(group, key));
}

/* "3/6"; of a search, which does not know how many there will be, "3". */
static hu_status rows_cell(hu_table *table, const json_t *group) {
    if (!json_is_integer(json_object_get(group, "done"))) return hu_table_cell(table, "-");
    if (!json_is_integer(json_object_get(group, "rows")))
        return hu_table_cell(table, "%lld", whole(group, "done"));
    return hu_table_cell(table, "%lld/%lld", whole(group, "done"), whole(group, "rows"));
}

/* Trainings that went wrong; a terminal shows that there are some. */
static hu_status lost_cell(hu_table *table, const json_t *group, const char *key) {
    hu_status st = hu_table_cell(table, "%lld", whole(group, key));
    if (st == HU_OK && whole(group, key) > 0) hu_table_look(table, HU_COLOUR_BAD);
    return st;
}

/* "hfp8: test accuracy 87.31 %". */
static hu_status best_cell(hu_table *table, const json_t *group) {
    char name[HU_METRIC_TEXT_BYTES], value[HU_METRIC_TEXT_BYTES];
    const json_t *best = json_object_get(group, "best"), *made = json_object_get(best, "metric");
    const char *known = json_string_value(json_object_get(made, "name"));
    const hu_metric *metric = known ? hu_metric_find(known) : NULL;
    if (!metric) return hu_table_cell(table, "-");
    return hu_table_cell(table, "%s: %s %s %s", json_string_value(json_object_get(best, "name")),
                         json_string_value(json_object_get(made, "part")),
                         hu_metric_words(metric, name),
                         hu_metric_text(metric, hu_json_real(made, "value"), value));
}

static hu_status group_cells(hu_table *table, const json_t *group) {
    hu_status st = HU_OK;
    const char *folder = json_string_value(json_object_get(group, "folder"));
    HU_TRY(hu_table_cell(table, "%s", hu_path_name(folder)));
    HU_TRY(hu_table_cell(table, "%s", json_string_value(json_object_get(group, "kind"))));
    HU_TRY(rows_cell(table, group));
    HU_TRY(lost_cell(table, group, "diverged"));
    HU_TRY(lost_cell(table, group, "failed"));
    HU_TRY(best_cell(table, group));
    HU_TRY(run_list_state_cell(table, group));
    HU_TRY(run_list_date_cell(table, group));
done:
    return st;
}

hu_status hu_run_list_groups_table(const json_t *listing, hu_table **table) {
    static const char *const titles[] = {"folder", "kind", "rows",  "diverged",
                                         "failed", "best", "state", "started"};
    return run_list_rows(listing, titles, sizeof titles / sizeof *titles, group_cells, table);
}
