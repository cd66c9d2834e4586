/* Opening the files of a run folder and taking them apart line by line. */
#include "runlog/history.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/text_file.h"
#include "render/json.h"
#include "runlog/events.h"
#include "runlog/folder.h"
#include "runlog/graph_json.h"
#include "runlog/history_brief.h"
#include "runlog/history_reader.h"
#include "runlog/run_list.h"

typedef hu_status line_fn(hu_history *history, const hu_place *place, const json_t *line);

static hu_status read_line(hu_history *history, const hu_place *place, const char *text,
                           size_t bytes, line_fn *take) {
    json_error_t error;
    json_t *line;
    hu_status st = hu_json_parse(text, bytes, &line, &error);
    if (st == HU_ERR_CORRUPT)
        return hu_place_fail(place, "column %d: no JSON: %s", error.column, error.text);
    if (st != HU_OK) return st;
    st = json_is_object(line) ? take(history, place, line)
                              : hu_place_fail(place, "found no object, expected {...}");
    json_decref(line);
    return st;
}

static void warn(hu_history *history, const char *file, const char *what, size_t line) {
    hu_note_add(history->warning, sizeof history->warning, "; ", what, file, line);
}

/* The rest of a line whose beginning never reached the disk, or one with a hole: what crashes and
 * full disks left in folders of older versions. */
static bool is_part(const hu_line *line) {
    return line->bytes == 0 || line->text[0] != '{' || memchr(line->text, 0, line->bytes);
}

/* Parts of lines are left out, as is a last line without an end, which an interrupted write leaves.
 */
static hu_status read_lines(hu_history *history, const char *name, bool may_miss, line_fn *take) {
    hu_status st = HU_OK;
    hu_place place = {history->folder, name, 0};
    hu_lines *lines = NULL;
    hu_line line;
    bool is_present;
    char *path = NULL;
    size_t parts = 0, first_part = 0;
    HU_TRY(hu_path_join(history->folder, name, &path));
    st = hu_lines_open(path, &lines);
    if (st == HU_ERR_MISSING && may_miss) st = HU_OK;
    while (st == HU_OK && lines) {
        HU_TRY(hu_lines_next(lines, &line, &is_present));
        if (!is_present) break;
        place.line++;
        if (!line.has_end) {
            warn(history, name, "%s: line %zu has no end and is left out", place.line);
            break;
        }
        if (!is_part(&line)) {
            st = read_line(history, &place, line.text, line.bytes, take);
            continue;
        }
        if (parts++ == 0) first_part = place.line;
    }
    if (parts > 0)
        warn(history, name, "%s: line %zu, or more, are parts of lines and left out", first_part);
done:
    hu_lines_close(lines);
    hu_free(path);
    return st;
}

static hu_status read_plan(hu_history *history) {
    hu_place place = {history->folder, "plan.json", 1};
    json_t *object;
    hu_status st = hu_json_read(&place, &object);
    if (object) st = hu_history_plan(&place, object, &history->plan);
    json_decref(object);
    return st;
}

/* The run's own word on how it ended. */
static hu_status read_result(hu_history *history) {
    json_t *result;
    hu_status st = hu_result_read(history->folder, &result);
    if (st != HU_OK) return st;
    const char *reason = json_string_value(json_object_get(result, "diverged"));
    const char *collapse = json_string_value(json_object_get(result, "collapsed"));
    if (reason) st = hu_strdup(reason, &history->diverged);
    if (collapse && st == HU_OK) st = hu_strdup(collapse, &history->collapsed);
    json_decref(result);
    return st;
}

static hu_status check_folder(const char *folder) {
    char *path = NULL;
    hu_status st = hu_run_folder_config(folder, &path);
    hu_free(path);
    return st;
}

/* Takes a file's failure as a warning: what it would have told is left out. */
static hu_status forgive(hu_history *history, hu_status status) {
    if (status == HU_OK || status == HU_ERR_MEMORY) return status;
    hu_note_add(history->warning, sizeof history->warning, "; ", "%s", hu_last_error());
    return HU_OK;
}

/* What is read of a folder. */
typedef enum extent {
    WHOLE,   /* all files; one that misses or is damaged is a failure */
    LENIENT, /* only a folder that is no run at all is a failure */
    BRIEF,   /* the same, in bounded memory */
    BOUNDED, /* as WHOLE, in bounded memory */
    METRICS  /* metrics.jsonl alone */
} extent;

static hu_status read_all(hu_history *history, extent wanted) {
    hu_status st = HU_OK;
    bool is_lenient = wanted == LENIENT || wanted == BRIEF;
    static const struct {
        const char *name;
        bool may_miss;
        line_fn *take;
    } files[] = {{"metrics.jsonl", false, hu_history_metrics},
                 {"numerics.jsonl", false, hu_history_numerics},
                 {"bits.jsonl", true, hu_history_bits},
                 {"histograms.jsonl", true, hu_history_histogram}};
    size_t count = wanted == METRICS ? 1 : sizeof files / sizeof *files;
    st = hu_graph_metric(history->folder, &history->metric);
    HU_TRY(is_lenient ? forgive(history, st) : st);
    for (size_t i = 0; i < count; i++) {
        st = read_lines(history, files[i].name, files[i].may_miss, files[i].take);
        HU_TRY(is_lenient ? forgive(history, st) : st);
    }
    if (wanted == METRICS) goto done;
    st = read_plan(history);
    HU_TRY(is_lenient ? forgive(history, st) : st);
    /* All others tell the story without it. */
    st = forgive(history, read_result(history));
done:
    return st;
}

static hu_status read_folder(const char *folder, extent wanted, hu_history **result) {
    hu_status st = HU_OK;
    void *block = NULL;
    *result = NULL;
    HU_TRY(check_folder(folder));
    HU_TRY(hu_alloc(sizeof(hu_history), &block));
    hu_history *history = block;
    history->metric = &hu_metric_accuracy;
    bool is_bounded = wanted == BOUNDED;
    history->brief_most = wanted == BRIEF || is_bounded ? HU_BRIEF_ROWS : 0;
    history->brief_tail = is_bounded ? HU_BRIEF_TAIL : 0;
    history->brief_histograms = is_bounded ? HU_BRIEF_HISTOGRAMS : wanted == BRIEF ? 2 : 0;
    history->brief_bytes = is_bounded ? HU_BRIEF_BYTES : 0;
    history->brief_lines = history->brief_stride = 1;
    HU_TRY(hu_strdup(folder, &history->folder));
    HU_TRY(read_all(history, wanted));
    *result = history;
    block = NULL;
done:
    hu_history_free(block);
    return st;
}

hu_status hu_history_read(const char *folder, hu_history **history) {
    return read_folder(folder, WHOLE, history);
}

hu_status hu_history_read_some(const char *folder, hu_history **history) {
    return read_folder(folder, LENIENT, history);
}

hu_status hu_history_read_brief(const char *folder, hu_history **history) {
    return read_folder(folder, BRIEF, history);
}

hu_status hu_history_read_bounded(const char *folder, hu_history **history) {
    return read_folder(folder, BOUNDED, history);
}

hu_status hu_history_read_metrics(const char *folder, hu_history **history) {
    return read_folder(folder, METRICS, history);
}

void hu_history_free(hu_history *history) {
    if (!history) return;
    for (size_t i = 0; i < history->metrics_count; i++) hu_free(history->metrics[i].culprit);
    for (size_t i = 0; i < history->numerics_count; i++)
        hu_numerics_record_free(&history->numerics[i]);
    for (size_t i = 0; i < history->event_count; i++) hu_free(history->events[i].kind);
    for (size_t i = 0; i < history->histogram_count; i++)
        hu_histogram_record_free(&history->histograms[i]);
    for (size_t i = 0; i < history->bits_count; i++) hu_free(history->bits[i].change);
    hu_free(history->bits);
    hu_names_free(&history->layers);
    hu_names_free(&history->event_names);
    hu_free(history->first_event);
    hu_names_free(&history->tensors);
    hu_names_free(&history->formats);
    hu_names_free(&history->products);
    hu_history_plan_free(history->plan);
    hu_free(history->metrics);
    hu_free(history->numerics);
    hu_free(history->skips);
    hu_free(history->events);
    for (size_t i = 0; i < history->phase_count; i++) hu_free(history->phases[i].precision);
    hu_free(history->promotions);
    hu_free(history->phases);
    hu_free(history->histograms);
    hu_free(history->diverged);
    hu_free(history->collapsed);
    hu_free(history->folder);
    hu_free(history);
}

/* Rows come in the order of their steps. */
double hu_history_loss_scale(const hu_history *history, int64_t step) {
    size_t low = 0, high = history->metrics_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (history->metrics[middle].step <= step)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0)
        if (history->metrics[low].loss_scale > 0.0) return history->metrics[low].loss_scale;
    return 1.0;
}

bool hu_history_was_skipped(const hu_history *history, int64_t step) {
    size_t low = 0, high = history->skip_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (history->skips[middle] < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low < history->skip_count && history->skips[low] == step;
}

bool hu_event_is(const hu_event_record *event, int kind) {
    return strcmp(event->kind, hu_event_name(kind)) == 0;
}
