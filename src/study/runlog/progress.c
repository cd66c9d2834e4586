#include "runlog/progress.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text_file.h"
#include "planner/planner.h"
#include "render/table.h"
#include "render/terminal.h"
#include "runlog/folder.h"
#include "runlog/result.h"

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

/* ---- progress text ---- */

/* An event of progress.jsonl as lines for people: a training prints them,
 * and so does whoever follows it. */

/* Lines that grow in a room of HU_PROGRESS_TEXT_BYTES; what does not fit is cut off. */
typedef struct lines {
    char *text;
    size_t used;
} lines;

__attribute__((format(printf, 2, 3))) static void put(lines *l, const char *format, ...) {
    va_list args;
    size_t room = HU_PROGRESS_TEXT_BYTES - l->used;
    va_start(args, format);
    int more = vsnprintf(l->text + l->used, room, format, args);
    va_end(args);
    if (more < 0) return;
    char *first = l->text + l->used;
    l->used += (size_t)more < room ? (size_t)more : room - 1;
    /* Names come from files: what would move a terminal's cursor is none of their characters. */
    for (char *c = first + (*format == '\n' && *first); *c; c++)
        if ((unsigned char)*c < ' ' || *c == '\177') *c = '?';
}

static const char *word(const json_t *row, const char *key) {
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static long long whole(const json_t *row, const char *key) {
    return json_integer_value(json_object_get(row, key));
}

const char *hu_progress_event(const json_t *row) {
    return word(row, "event");
}

/* "test accuracy 56.20 %": the metric of an evaluation; nothing where there was none. */
static void put_metric(lines *l, const char *before, const json_t *row, const char *key) {
    const json_t *made = json_object_get(row, key);
    const hu_metric *metric = hu_metric_find(word(made, "name"));
    char name[HU_METRIC_TEXT_BYTES], value[HU_METRIC_TEXT_BYTES];
    if (!metric || !json_object_get(made, "value")) return;
    put(l, "%s%s %s %s", before, word(made, "part"), hu_metric_words(metric, name),
        hu_metric_text(metric, hu_json_real(made, "value"), value));
}

static void put_data(lines *l, const json_t *row) {
    static const char *const parts[] = {"train", "validation", "test"};
    static const char *const names[] = {"training", "validation", "test"};
    const json_t *samples = json_object_get(row, "samples");
    char number[HU_GROUPED_BYTES];
    const char *between = ": ";
    put(l, "\ndata       %s", word(row, "data"));
    for (int p = 0; p < 3; p++) {
        if (whole(samples, parts[p]) < 1) continue;
        put(l, "%s%s %s", between, hu_grouped(whole(samples, parts[p]), number), names[p]);
        between = ", ";
    }
    put(l, " samples");
    if (*word(row, "shape")) put(l, " of %s", word(row, "shape"));
    bool is_text = strcmp(word(row, "counted"), "tokens") == 0;
    if (whole(row, "classes") > 0)
        put(l, ", %s%lld%s", is_text ? "a vocabulary of " : "", whole(row, "classes"),
            is_text ? "" : " classes");
}

static void put_recipe(lines *l, const json_t *row) {
    double warmup = hu_json_real(row, "warmup_epochs"), first = hu_json_real(row, "first_lr");
    put(l, "\nrecipe     %s, lr %g %s", word(row, "optimizer"), hu_json_real(row, "lr"),
        word(row, "schedule"));
    if (warmup > 0.0) put(l, " behind a warm-up of %.4g epochs", warmup);
    if (first == 0.0) put(l, " (step 0 has lr 0)");
    put(l, ", batch %lld", whole(row, "batch"));
    if (*word(row, "optimizer_state")) put(l, ", state in %s", word(row, "optimizer_state"));
    put(l, "\nlength     %.4g epochs, %lld steps", hu_json_real(row, "epochs"),
        whole(row, "steps"));
    if (whole(row, "step") > 0) put(l, ", %lld of them done", whole(row, "step"));
}

static void put_memory(lines *l, const json_t *row) {
    const double mib = 1024.0 * 1024.0;
    const json_t *bytes = json_object_get(row, "planned_bytes");
    put(l,
        "\nmemory     %.1f MiB planned: arena %.1f (saved for the backward pass %.1f), masters "
        "%.1f, optimizer %.1f",
        hu_json_real(bytes, "total") / mib, hu_json_real(bytes, "arena") / mib,
        hu_json_real(bytes, "saved") / mib, hu_json_real(bytes, "masters") / mib,
        hu_json_real(bytes, "optimizer") / mib);
    if (whole(bytes, "workers") > 0) put(l, ", workers %.1f", hu_json_real(bytes, "workers") / mib);
    if (*word(row, "gaps")) put(l, "\nstorage    %s; %s", word(row, "gaps"), HU_GAPS_ADVICE);
}

/* The block before the first step; a line of a command that has many trainings. */
static void put_start(lines *l, const json_t *row) {
    char number[HU_GROUPED_BYTES];
    if (*word(row, "verb")) {
        put(l, "%s in %s", word(row, "verb"), word(row, "folder"));
        if (whole(row, "rows") > 0) put(l, ", %lld rows", whole(row, "rows"));
        return;
    }
    put(l, "model      %s (%s), %s parameters", word(row, "model"), word(row, "task"),
        hu_grouped(whole(row, "parameters"), number));
    put_data(l, row);
    put_recipe(l, row);
    put(l, "\nprecision  %s, loss scaling %s", word(row, "precision"), word(row, "scaling"));
    if (whole(row, "workers") > 1) put(l, "\nworkers    %lld", whole(row, "workers"));
    put_memory(l, row);
    put(l, "\nrun        %s", word(row, "run"));
}

/* "  (last step: disc 1.3988, gen 0.6902)": losses of turns, where there are some. */
static void put_phases(lines *l, const json_t *row) {
    static const char prefix[] = "loss_";
    const char *key, *before = " (last step: ";
    char number[HU_FIXED_BYTES];
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)row, key, value) {
        if (strncmp(key, prefix, sizeof prefix - 1) != 0) continue;
        double loss = json_is_number(value) ? json_number_value(value) : (double)NAN;
        put(l, "%s%s %s", before, key + sizeof prefix - 1, hu_fixed_text(loss, 4, number));
        before = ", ";
    }
    if (*before == ',') put(l, ")");
}

/* "  6 tensors and the sums of 1 product in trouble" */
static void put_trouble(lines *l, const json_t *row) {
    long long tensors = whole(row, "tensors_lost") + whole(row, "tensors_gone");
    long long sums = whole(row, "sums_failed");
    if (tensors + sums == 0) return;
    put(l, "  ");
    if (tensors > 0) put(l, "%lld tensor%s", tensors, tensors > 1 ? "s" : "");
    if (sums > 0)
        put(l, "%sthe sums of %lld product%s", tensors > 0 ? " and " : "", sums,
            sums > 1 ? "s" : "");
    put(l, " in trouble");
}

/* What a line of an epoch and one inside of it have in common after their beginnings. */
static void put_state(lines *l, const json_t *row) {
    char span[HU_DURATION_BYTES], number[HU_FIXED_BYTES];
    put(l, "  loss %s", hu_fixed_text(hu_json_real(row, "loss"), 4, number));
    put_phases(l, row);
    put_metric(l, "  ", row, "metric");
    put(l, "  lr %.4g  %s %s/s  %s left", hu_json_real(row, "lr"),
        hu_fixed_text(hu_json_real(row, "per_second"), 0, number), word(row, "counted"),
        hu_duration_text(hu_json_real(row, "left_seconds"), span));
    put_trouble(l, row);
    if (whole(row, "skipped") > 0) put(l, "  %lld skipped in this epoch", whole(row, "skipped"));
}

static void put_epoch(lines *l, const json_t *row) {
    put(l, "epoch %.4g/%.4g", hu_json_real(row, "epoch"), hu_json_real(row, "epochs"));
    put_state(l, row);
}

static void put_step(lines *l, const json_t *row) {
    put(l, "step %lld/%lld", whole(row, "step"), whole(row, "steps"));
    put_state(l, row);
}

/* Without the steps, where they are told before it ("after 72 steps; ..."). */
static void put_reason(lines *l, const json_t *row) {
    const size_t after = sizeof "after " - 1;
    const char *reason = word(row, "reason"), *rest = strstr(reason, "; ");
    bool tells_step =
        strncmp(reason, "after ", after) == 0 && isdigit((unsigned char)reason[after]);
    if (tells_step && json_object_get(row, "step")) reason = rest ? rest + 2 : "";
    if (*reason) put(l, "%s%s", reason == word(row, "reason") ? ": " : "; ", reason);
}

static void put_end(lines *l, const json_t *row) {
    char span[HU_DURATION_BYTES];
    put(l, "%s", word(row, "state"));
    if (json_object_get(row, "step"))
        put(l, " after %lld steps, %s", whole(row, "step"),
            hu_duration_text(hu_json_real(row, "seconds"), span));
    put_metric(l, ": ", row, "metric");
    put_metric(l, ", best ", row, "best");
    put_reason(l, row);
}

static void put_data_changed(lines *l, const json_t *row) {
    put(l, "note: the data have changed, which is accepted: %s", word(row, "changed"));
}

/* A training of a comparison or a search. */
static void put_row(lines *l, const json_t *row) {
    char span[HU_DURATION_BYTES];
    put(l, "row %lld of %lld: %s: %s", whole(row, "row"), whole(row, "rows"), word(row, "label"),
        word(row, "state"));
    put_metric(l, ", ", row, "metric");
    if (json_object_get(row, "left_seconds"))
        put(l, ", %s left", hu_duration_text(hu_json_real(row, "left_seconds"), span));
}

const char *hu_progress_text(const json_t *row, char *text) {
    static const struct {
        const char *event;
        void (*put)(lines *l, const json_t *row);
    } kinds[] = {{"start", put_start}, {"epoch", put_epoch}, {"step", put_step},
                 {"end", put_end},     {"row", put_row},     {"data", put_data_changed}};
    lines l = {text, 0};
    text[0] = '\0';
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(hu_progress_event(row), kinds[k].event) == 0) kinds[k].put(&l, row);
    return text;
}

/* ---- Reading while somebody writes ---- */

/* Longer than any row that is written: command lines have some megabytes at most. */
enum { ROW_MOST = 1 << 26 };

struct hu_follow {
    char *path;
    FILE *file; /* NULL: not there yet */
    long at;    /* where the next row begins */
    char *line; /* the row that was read, with a zero after it */
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
static hu_status put_byte(hu_follow *follow, size_t *used, int c) {
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
        HU_TRY(put_byte(follow, &used, *is_present ? '\0' : c));
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

/* A number of a row into where it belongs, if it is present. */
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
