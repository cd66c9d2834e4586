#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "runlog/result.h"
#include "runlog/run_list.h"

/* ---- listing groups ---- */

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

static const char *state_of(const group_files *files) {
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
                     "kind", files->verb, "state", state_of(files), "rows",
                     count_of(standing->rows), "done", count_of(standing->done), "failed",
                     (json_int_t)standing->failed, "diverged", (json_int_t)standing->diverged,
                     "best", best_of(files), "command", hu_run_list_command(standing), "changed",
                     changed_of(files));
}

/* Nothing of a folder that is no such one after all. */
static hu_status add_group(json_t *listing, const char *folder) {
    group_files files = {.folder = folder};
    hu_status st = hu_run_standing_read(folder, &files.standing);
    /* What cannot be read is not told; the list may do without. */
    if (st != HU_ERR_MEMORY) st = hu_runs_list(folder, &files.verb, &files.list);
    if (st == HU_OK && !*files.verb) files.verb = files.standing.verb;
    if (st == HU_OK && *files.verb) st = hu_run_list_insert(listing, pack_group(&files));
    hu_run_standing_free(&files.standing);
    json_decref(files.list);
    return st;
}

/* Those below a folder, and itself. */
static hu_status add_all(json_t *listing, const char *folder) {
    hu_status st = HU_OK;
    hu_names names = {0};
    bool is_run;
    HU_TRY(hu_run_folder_is(folder, &is_run));
    if (!is_run) HU_TRY(add_group(listing, folder));
    HU_TRY(hu_groups_below(folder, &names));
    HU_TRY(hu_run_list_add_each(folder, &names, add_group, listing));
done:
    hu_names_free(&names);
    return st;
}

hu_status hu_run_list_groups(const char *folder, json_t **listing) {
    return hu_run_list_collect(folder, add_all, listing);
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
    HU_TRY(hu_run_list_state_cell(table, group));
    HU_TRY(hu_run_list_date_cell(table, group));
done:
    return st;
}

hu_status hu_run_list_groups_table(const json_t *listing, hu_table **table) {
    static const char *const titles[] = {"folder", "kind", "rows",  "diverged",
                                         "failed", "best", "state", "started"};
    return hu_run_list_rows(listing, titles, sizeof titles / sizeof *titles, group_cells, table);
}
