#include "journal/progress.h"

#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text_file.h"

struct hu_progress {
    hu_append *file;
};

/* Whether the file ends in the middle of a row: its writer was killed by a loss of power. */
static hu_status is_torn(const char *path, bool *torn) {
    hu_lines *lines;
    char last = '\n';
    size_t got;
    hu_status st = hu_lines_open(path, &lines);
    if (st != HU_OK) return st;
    uint64_t size = hu_lines_size(lines);
    if (size > 0) st = hu_lines_peek(lines, size - 1, &last, 1, &got);
    *torn = last != '\n';
    hu_lines_close(lines);
    return st;
}

hu_status hu_progress_open(const char *folder, hu_progress **progress) {
    hu_status st = HU_OK;
    hu_progress *made = NULL;
    char *path = NULL;
    bool torn;
    *progress = NULL;
    HU_TRY(HU_NEW(&made));
    HU_TRY(hu_path_join(folder, HU_PROGRESS_FILE, &path));
    HU_TRY(hu_append_open(path, &made->file));
    HU_TRY(is_torn(path, &torn));
    if (torn) hu_append_text(made->file, "\n");
    HU_TRY(hu_append_end(made->file));
    *progress = made;
    made = NULL;
done:
    hu_free(path);
    hu_progress_close(made);
    return st;
}

/* Now, in seconds since 1970, to the millisecond. */
static double wall_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)(now.tv_nsec / 1000000) / 1000.0;
}

/* The event comes first, so that people find it. Drops the reference to facts. */
static json_t *make_row(const char *event, json_t *facts) {
    json_t *row = facts ? json_pack("{s:s, s:f}", "event", event, "time", wall_seconds()) : NULL;
    if (row && json_object_update_missing(row, facts) != 0) {
        json_decref(row);
        row = NULL;
    }
    json_decref(facts);
    return row;
}

/* What begins says by which words, and of which version. */
static hu_status add_command(json_t *row) {
    char *command;
    hu_status st = hu_command_line(&command);
    if (row && command) json_object_set_new(row, "command", json_string(command));
    if (row) json_object_set_new(row, "halfulp", json_string(HALFULP_VERSION));
    hu_free(command);
    return st;
}

hu_status hu_progress_write(hu_progress *progress, const char *event, json_t *facts, json_t **row) {
    hu_status st = HU_OK;
    char *line = NULL;
    json_t *made = make_row(event, facts);
    if (row) *row = NULL;
    if (strcmp(event, "start") == 0) HU_TRY(add_command(made));
    HU_TRY(hu_json_line(json_incref(made), &line));
    if (progress) hu_append_format(progress->file, "%s\n", line);
    if (progress) HU_TRY(hu_append_end(progress->file));
    if (row) *row = json_incref(made);
done:
    json_decref(made);
    hu_free(line);
    return st;
}

void hu_progress_close(hu_progress *progress) {
    if (!progress) return;
    hu_append_close(progress->file);
    hu_free(progress);
}
