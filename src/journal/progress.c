#include "journal/progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

struct hu_progress {
    char *path;
    FILE *file;
};

/* Whether the file ends in the middle of a row: its writer was killed. */
static bool is_torn(FILE *file) {
    return fseek(file, -1, SEEK_END) == 0 && fgetc(file) != '\n';
}

hu_status hu_progress_open(const char *folder, hu_progress **progress) {
    hu_status st = HU_OK;
    hu_progress *made = NULL;
    *progress = NULL;
    HU_TRY(HU_NEW(&made));
    HU_TRY(hu_path_join(folder, HU_PROGRESS_FILE, &made->path));
    made->file = fopen(made->path, "a+");
    if (!made->file) HU_TRY(hu_fail(HU_ERR_IO, "%s: cannot open: %s", made->path, strerror(errno)));
    if (is_torn(made->file)) fputc('\n', made->file);
    *progress = made;
    made = NULL;
done:
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

hu_status hu_progress_write(hu_progress *progress, const char *event, json_t *facts, json_t **row) {
    hu_status st = HU_OK;
    char *line = NULL;
    json_t *made = make_row(event, facts);
    if (row) *row = NULL;
    HU_TRY(hu_json_line(json_incref(made), &line));
    if (progress && (fprintf(progress->file, "%s\n", line) < 0 || fflush(progress->file) != 0))
        HU_TRY(hu_fail(HU_ERR_IO, "%s: cannot write: %s", progress->path, strerror(errno)));
    if (row) *row = json_incref(made);
done:
    json_decref(made);
    hu_free(line);
    return st;
}

void hu_progress_close(hu_progress *progress) {
    if (!progress) return;
    if (progress->file) fclose(progress->file);
    hu_free(progress->path);
    hu_free(progress);
}
