#include "runlog/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "runlog/folder.h"
#include "runlog/progress.h"

/* Longer than any row that is written: command lines have some megabytes at most. */
enum { ROW_MOST = 1 << 26 };

struct hu_follow {
    char *path;
    FILE *file; /* NULL: not there yet */
    long at;    /* where the next row begins */
    char *line; /* the row that was read, with a zero behind it */
    size_t capacity;
};

hu_status hu_follow_open(const char *folder, hu_follow **follow) {
    hu_status st = HU_OK;
    hu_follow *made = NULL;
    *follow = NULL;
    if (!hu_file_exists(folder)) return hu_fail(HU_ERR_MISSING, "%s: no such folder", folder);
    HU_TRY(hu_run_folder_check_owned(folder));
    HU_TRY(HU_NEW(&made));
    HU_TRY(hu_path_join(folder, HU_PROGRESS_FILE, &made->path));
    *follow = made;
    made = NULL;
done:
    hu_follow_close(made);
    return st;
}

void hu_follow_close(hu_follow *follow) {
    if (!follow) return;
    if (follow->file) fclose(follow->file);
    hu_free(follow->path);
    hu_free(follow->line);
    hu_free(follow);
}

/* Puts a character at the end of the row, which has `used`; longer ones keep their beginning. */
static hu_status put(hu_follow *follow, size_t *used, int c) {
    if (*used >= ROW_MOST) return HU_OK;
    hu_status st = hu_grow(&follow->line, *used, &follow->capacity, 1);
    if (st == HU_OK) follow->line[(*used)++] = (char)c;
    return st;
}

/* The next whole line into follow->line; *is_there false: there is none yet. A line that is too
 * long becomes an empty one. */
static hu_status read_line(hu_follow *follow, bool *is_present) {
    hu_status st = HU_OK;
    size_t used = 0;
    *is_present = false;
    clearerr(follow->file); /* the end that was met may be no end any more */
    if (fseek(follow->file, follow->at, SEEK_SET) != 0) return HU_OK;
    for (int c; !*is_present && (c = fgetc(follow->file)) != EOF;) {
        *is_present = c == '\n';
        if (*is_present && used == ROW_MOST) used = 0;
        HU_TRY(put(follow, &used, *is_present ? '\0' : c));
    }
    if (*is_present) follow->at = ftell(follow->file);
done:
    return st;
}

hu_status hu_follow_next(hu_follow *follow, json_t **row) {
    hu_status st = HU_OK;
    bool is_present = true;
    *row = NULL;
    if (!follow->file) follow->file = fopen(follow->path, "re");
    if (!follow->file && errno == ENOENT) return HU_OK;
    if (!follow->file) return hu_io_fail(follow->path, "cannot open", errno);
    while (is_present) {
        json_error_t error;
        HU_TRY(read_line(follow, &is_present));
        if (!is_present) break;
        if (hu_json_parse(follow->line, strlen(follow->line), row, &error) == HU_ERR_MEMORY)
            return HU_ERR_MEMORY;
        if (*row && *hu_progress_event(*row)) return HU_OK;
        json_decref(*row);
        *row = NULL;
    }
    if (ferror(follow->file))
        st = hu_fail(HU_ERR_IO, "%s: cannot read: %s", follow->path, strerror(errno));
done:
    return st;
}

/* A number of a row into where it belongs, if it is there. */
static void take_whole(const json_t *row, const char *key, int64_t *number) {
    if (json_is_integer(json_object_get(row, key)))
        *number = json_integer_value(json_object_get(row, key));
}

static void take_real(const json_t *row, const char *key, double *number) {
    double value = hu_json_real(row, key);
    if (!isnan(value)) *number = value;
}

static void take_text(const json_t *row, const char *key, char *text, size_t capacity) {
    const char *value = json_string_value(json_object_get(row, key));
    if (value) snprintf(text, capacity, "%s", value);
}

/* A folder of several trainings begins, or goes on. */
static void take_verb(const json_t *row, hu_run_standing *standing) {
    standing->rows = standing->done = -1;
    standing->failed = standing->diverged = 0;
    take_text(row, "verb", standing->verb, sizeof standing->verb);
    take_whole(row, "done", &standing->done);
}

/* One of its trainings: those that begin are no news. */
static void take_training(const json_t *row, hu_run_standing *standing) {
    char state[32] = "";
    take_text(row, "state", state, sizeof state);
    bool has_diverged = strcmp(state, "diverged") == 0;
    bool has_ended = has_diverged || strcmp(state, "finished") == 0;
    standing->failed += strcmp(state, "failed") == 0;
    standing->diverged += has_diverged;
    if (has_ended && standing->done >= 0) standing->done++;
}

static void take_row(const json_t *row, hu_run_standing *standing) {
    const char *event = hu_progress_event(row);
    standing->is_present = true;
    /* Skipped steps are numbers, not counts, and come before the row that counts them. */
    if (strcmp(event, "skipped") == 0 || strcmp(event, "rescaled") == 0 ||
        strcmp(event, "data") == 0)
        return;
    if (strcmp(event, "start") == 0) standing->state[0] = '\0';
    if (strcmp(event, "start") == 0) take_verb(row, standing);
    take_whole(row, "rows", &standing->rows);
    if (strcmp(event, "row") == 0) {
        take_training(row, standing);
        return;
    }
    take_whole(row, "step", &standing->step);
    take_whole(row, "steps", &standing->steps);
    take_real(row, "epoch", &standing->epoch);
    take_real(row, "epochs", &standing->epochs);
    take_real(row, "metric.value", &standing->metric);
    take_real(row, "best.value", &standing->best);
    take_text(json_object_get(row, "metric"), "name", standing->name, sizeof standing->name);
    take_text(json_object_get(row, "metric"), "part", standing->part, sizeof standing->part);
    take_text(row, "state", standing->state, sizeof standing->state);
}

/* How it was begun, each time. */
static hu_status take_start(const json_t *row, hu_run_standing *standing) {
    static const char *const keys[] = {"time", "halfulp", "command"};
    if (strcmp(hu_progress_event(row), "start") != 0) return HU_OK;
    json_t *start = json_object();
    for (size_t k = 0; start && k < sizeof keys / sizeof *keys; k++) {
        json_t *value = json_object_get(row, keys[k]);
        if (value) json_object_set(start, keys[k], value);
    }
    if (start && json_array_append_new(standing->starts, start) == 0) return HU_OK;
    return hu_fail(HU_ERR_MEMORY, "out of memory while reading %s", HU_PROGRESS_FILE);
}

hu_status hu_run_standing_read(const char *folder, hu_run_standing *standing) {
    hu_status st = HU_OK;
    hu_follow *follow = NULL;
    json_t *row = NULL;
    const double unknown = (double)NAN;
    *standing = (hu_run_standing){.step = -1,
                                  .steps = -1,
                                  .epoch = unknown,
                                  .epochs = unknown,
                                  .metric = unknown,
                                  .best = unknown,
                                  .rows = -1,
                                  .done = -1,
                                  .starts = json_array()};
    HU_TRY(hu_follow_open(folder, &follow));
    do {
        json_decref(row);
        HU_TRY(hu_follow_next(follow, &row));
        if (row) take_row(row, standing);
        if (row) HU_TRY(take_start(row, standing));
    } while (row);
done:
    json_decref(row);
    hu_follow_close(follow);
    return st;
}

void hu_run_standing_free(hu_run_standing *standing) {
    json_decref(standing->starts);
    standing->starts = NULL;
}

bool hu_run_folder_is_locked(const char *folder) {
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return false;
    bool is_held = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(descriptor);
    return is_held;
}
