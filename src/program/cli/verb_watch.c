/* halfulp watch: what a training, a comparison or a search does, while it does it. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "config/unused_keys.h"
#include "runlog/progress.h"

enum { POLL_NANOSECONDS = 200000000, EXIT_INTERRUPTED = 130 };

static const char *const no_keys[] = {NULL};

/* The words that began it: its file tells them, whoever watches may not know them. */
static void print_command(const json_t *row) {
    const char *command = json_string_value(json_object_get(row, "command"));
    bool is_start = strcmp(hu_progress_event(row), "start") == 0;
    if (is_start && command && !hu_has_controls(command)) printf("command    %s\n", command);
}

/* A row as lines, or as it stands in the file. */
static hu_status print_row(json_t *row, bool as_json) {
    char text[HU_PROGRESS_TEXT_BYTES], *line = NULL;
    hu_status st = HU_OK;
    if (as_json) {
        st = hu_json_line(json_incref(row), &line);
        if (st == HU_OK) puts(line);
        hu_free(line);
    } else if (*hu_progress_text(row, text)) {
        puts(text);
        print_command(row);
    }
    fflush(stdout);
    return st;
}

/* All rows that are present now; *rows counts them, *has_ended: the last of them is an end. */
static hu_status print_rows(hu_follow *follow, bool as_json, int64_t *rows, bool *has_ended) {
    hu_status st = HU_OK;
    json_t *row = NULL;
    do {
        json_decref(row);
        HU_TRY(hu_follow_next(follow, &row));
        if (!row) break;
        ++*rows;
        *has_ended = strcmp(hu_progress_event(row), "end") == 0;
        HU_TRY(print_row(row, as_json));
    } while (row);
done:
    json_decref(row);
    return st;
}

/* Why nothing more will come. */
static hu_status explain(const char *folder, int64_t rows) {
    if (rows == 0)
        return hu_fail(HU_ERR_MISSING,
                       "%s: found no row of progress.jsonl, expected the folder of a training, a "
                       "comparison or a search of this version",
                       folder);
    fprintf(stderr, "%s: no process works here, and its last row is no end: it was stopped\n",
            folder);
    return HU_OK;
}

static hu_status run_watch(hu_config *config, int *exit_code) {
    const struct timespec pause = {.tv_nsec = POLL_NANOSECONDS};
    const char *folder = hu_config_subject(config, 0);
    bool as_json = hu_config_flag(config, "json", NULL), has_ended = false, is_held = true;
    hu_status st = HU_OK;
    hu_follow *follow = NULL;
    int64_t rows = 0;
    const volatile sig_atomic_t *flag;
    HU_TRY(hu_keys_used(config, "watch", no_keys));
    hu_interrupt_words("\nhalfulp: left; the training goes on\n");
    HU_TRY(hu_interrupt_install(&flag));
    HU_TRY(hu_follow_open(folder, &follow));
    while (!*flag && !has_ended && is_held) {
        /* Asked before the rows are read: a process that ends between leaves its rows. */
        is_held = hu_run_folder_is_locked(folder);
        HU_TRY(print_rows(follow, as_json, &rows, &has_ended));
        if (is_held && !has_ended) nanosleep(&pause, NULL);
    }
    if (!has_ended && !is_held) HU_TRY(explain(folder, rows));
    if (*flag) *exit_code = EXIT_INTERRUPTED;
done:
    hu_follow_close(follow);
    return st;
}

static const char *const flags[] = {"json", NULL};

const hu_verb hu_verb_watch = {
    .name = "watch",
    .group = HU_VERBS_TRAIN,
    .help = "follow a training, a comparison or a search while it runs",
    .usage = "RUN [--json]",
    .details = "RUN is the folder of any of them. Prints what happened so far, a line for every\n"
               "epoch or row, and what happens until it ends; Ctrl-C ends the watching alone.\n"
               "--json: the rows of progress.jsonl as they are.\n",
    .flags = flags,
    .min_subjects = 1,
    .max_subjects = 1,
    .keys = no_keys,
    .refuses_others = true,
    .examples = {{"watch RUN", "what happened so far, and what happens until it ends"}},
    .run = run_watch,
};
