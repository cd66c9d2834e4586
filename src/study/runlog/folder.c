#include "runlog/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/run.h"
#include "format/table/keep.h"
#include "product/onednn.h"
#include "runlog/metrics.h"
#include "runlog/names.h"
#include "task/task.h"

/* ---- Which names in a folder are a run's own, and whether they lie in it ---- */

/* Names that end with a dash stand for all that begin so. */
static const char *const own_names[] = {
    "config.resolved.yaml", "env.json", "metrics.csv", "metrics.jsonl", "plan.resolved.yaml",
    "plan.json", "graph.json", HU_NETWORK_FILE, "vocabulary.txt", "vocabulary.source.txt",
    "alphabet.txt", "classes.txt", "data.txt", "held-out.txt", "numerics.jsonl", "bits.jsonl",
    "histograms.jsonl", "progress.jsonl", "report.html", "result.json", "weights.safetensors",
    "pictures", "answers", "answers-", "confusion.json", "mistakes", "checkpoint", "best",
    /* of several runs */
    "common.yaml", "compare.json", "demo.json", "assign.json", "plan.yaml", "plans", "log.txt",
    "seconds",
    /* formats of files */
    HU_CODE_TABLES_FOLDER};

bool hu_run_folder_owns(const char *name) {
    static const char board[] = "events.out.tfevents.";
    if (strncmp(name, board, sizeof board - 1) == 0) return true;
    for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++) {
        size_t length = strlen(own_names[i]);
        bool is_begin = own_names[i][length - 1] == '-';
        if (is_begin ? strncmp(name, own_names[i], length) == 0 : strcmp(name, own_names[i]) == 0)
            return true;
    }
    return false;
}

/* Whether the target of a link lies below the root, a resolved path. A target that is missing
 * would be made somewhere: outside, for all that can be told. */
static bool leaves(const char *root, const char *path) {
    char *target = realpath(path, NULL);
    size_t length = strlen(root);
    bool is_below = target && strncmp(target, root, length) == 0 &&
                    (length == 1 || target[length] == '/' || !target[length]);
    free(target);
    return !is_below;
}

static hu_status check_entry(const char *root, const char *path, bool *is_folder) {
    struct stat info;
    *is_folder = false;
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? HU_OK : hu_io_fail(path, "cannot open", errno);
    if (S_ISLNK(info.st_mode) && leaves(root, path))
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found a link that leaves the folder, expected a file of the run", path);
    if (S_ISLNK(info.st_mode) && stat(path, &info) != 0)
        return hu_io_fail(path, "cannot open", errno);
    *is_folder = S_ISDIR(info.st_mode);
    if (*is_folder || S_ISREG(info.st_mode)) return HU_OK;
    return hu_fail(HU_ERR_CORRUPT, "%s: found a %s, expected a file of the run", path,
                   hu_io_kind(info.st_mode));
}

/* Names of a directory in their order: its own, or all. */
static hu_status list(const char *directory, bool only_own, hu_names *found) {
    hu_status st = HU_OK;
    uint32_t number;
    DIR *open = opendir(directory);
    *found = (hu_names){0};
    if (!open && (errno == ENOENT || errno == ENOTDIR)) return HU_OK;
    if (!open) return hu_io_fail(directory, "cannot open", errno);
    for (struct dirent *entry; st == HU_OK && (entry = readdir(open));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (only_own && !hu_run_folder_owns(name)) continue;
        st = hu_names_intern(found, name, HU_NAMES_NONE, &number);
    }
    closedir(open);
    if (st == HU_OK) hu_names_sort(found);
    return st;
}

/* depth: folders below that are looked into. */
static hu_status check_below(const char *root, const char *directory, int depth, bool only_own) {
    hu_names found;
    char *path = NULL;
    hu_status st = list(directory, only_own, &found);
    for (uint32_t i = 0; st == HU_OK && i < found.count; i++) {
        bool is_folder = false;
        st = hu_path_join(directory, found.name[i], &path);
        if (st == HU_OK) st = check_entry(root, path, &is_folder);
        if (st == HU_OK && is_folder && depth > 0) st = check_below(root, path, depth - 1, false);
        hu_free(path);
        path = NULL;
    }
    hu_names_free(&found);
    return st;
}

hu_status hu_run_folder_check_owned(const char *directory) {
    char *root = realpath(directory, NULL);
    if (!root) return errno == ENOMEM ? hu_io_fail(directory, "cannot open", errno) : HU_OK;
    hu_status st = check_below(root, directory, 1, true);
    free(root);
    return st;
}

/* ---- folder ---- */

/* Bytes of a result; bytes that sections may take in a checkpoint which the one before the first
 * step has not, beside four for each tensor (promotions). */
enum { RESULT_LIMIT = 1 << 24, LATER_BYTES = 4096 };

#define MARKS_SECTION "journal"

/* A name for a new folder: model, precision and time, with what a file name should not hold
 * replaced. */
static hu_status name_folder(const hu_config *config, char *path, size_t capacity) {
    const char *model, *precision, *name;
    time_t now = time(NULL);
    struct tm local;
    char stamp[32];
    hu_status st = HU_OK;
    HU_TRY(hu_config_text(config, "model.name", &model));
    HU_TRY(hu_config_text(config, "precision.name", &precision));
    HU_TRY(hu_config_text(config, "run.name", &name));
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    if (strcmp(name, "auto") == 0)
        snprintf(path, capacity, "runs/%.40s-%.60s-%s", model, precision, stamp);
    else
        snprintf(path, capacity, "runs/%.200s", name);
    for (char *c = path + strlen("runs/"); *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.=", *c)) *c = '_';
    if (path[strlen("runs/")] == '.') path[strlen("runs/")] = '_'; /* seen in listings */
done:
    return st;
}

/* The folder that the user named, or a new one below runs/, with a number where two begin in one
 * second. */
static hu_status make_directory(const char *directory, const hu_config *config, char **path) {
    hu_status st = HU_OK;
    char base[256], name[300];
    if (directory) {
        HU_TRY(hu_directory_create(directory));
        return hu_strdup(directory, path);
    }
    HU_TRY(name_folder(config, base, sizeof base));
    HU_TRY(hu_directory_create("runs"));
    for (int i = 0; i < 10000; i++) {
        if (i == 0)
            snprintf(name, sizeof name, "%s", base);
        else
            snprintf(name, sizeof name, "%s-%d", base, i);
        if (mkdir(name, 0777) == 0) {
            HU_TRY(hu_directory_sync_of(name));
            return hu_strdup(name, path);
        }
        if (errno != EEXIST) break;
    }
    return hu_fail(HU_ERR_IO, "%s: cannot make the folder: %s", name, strerror(errno));
done:
    return st;
}

/* A whole file, replaced at once: no reader sees half of it. */
static hu_status write_text(const char *directory, const char *name, const char *text) {
    char *path = NULL;
    hu_status st = hu_path_join(directory, name, &path);
    if (st == HU_OK) st = hu_file_replace(path, text, strlen(text));
    hu_free(path);
    return st;
}

static hu_status write_config(const hu_run_folder *folder, const hu_config *config) {
    char *yaml = NULL;
    hu_status st = HU_OK;
    /* A network of a file: nothing outside the folder is needed to build it again. It comes first:
     * the configuration says that a run is there. */
    if (hu_config_network_text(config))
        HU_TRY(write_text(folder->path, HU_NETWORK_FILE, hu_config_network_text(config)));
    HU_TRY(hu_code_tables_keep(folder->path));
    HU_TRY(hu_keys_print(hu_config_tree(config), &yaml));
    HU_TRY(write_text(folder->path, "config.resolved.yaml", yaml));
done:
    hu_free(yaml);
    return st;
}

/* env.json: what else could have an influence on speed, or on oneDNN's results. */
static hu_status write_env(const hu_run_folder *folder) {
    char *line = NULL;
    const char *cap = getenv("HALFULP_MAX_ISA");
    char onednn[32];
    hu_dnn_version(onednn, sizeof onednn);
    hu_status st =
        hu_json_line(json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "halfulp", HALFULP_VERSION,
                               "compiler", __VERSION__, "onednn", onednn, "isa",
                               hu_isa_name(hu_cpu_isa()), "HALFULP_MAX_ISA", cap ? cap : "not set",
                               "processors", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN)),
                     &line);
    if (st == HU_OK) st = write_text(folder->path, "env.json", line);
    hu_free(line);
    return st;
}

/* A metrics.csv that has other columns, or is none, makes room for a new one. */
static hu_status open_rows(hu_run_folder *folder, const hu_metric *metric, hu_metrics_more more) {
    char *path = NULL;
    hu_status st = hu_metrics_open(folder->path, metric, more, folder->board, &folder->metrics);
    if (st != HU_ERR_CORRUPT) return st;
    HU_TRY(hu_path_join(folder->path, "metrics.csv", &path));
    HU_TRY(hu_file_set_aside(path, folder->note, sizeof folder->note));
    st = hu_metrics_open(folder->path, metric, more, folder->board, &folder->metrics);
done:
    hu_free(path);
    return st;
}

/* step: events from there on are cut off. */
static hu_status open_metrics(hu_run_folder *folder, const hu_trainer *trainer, int64_t step) {
    hu_status st = HU_OK;
    const hu_metric *metric = hu_trainer_task(trainer)->metric[0];
    const hu_bits_meter *meter = hu_trainer_bits(trainer);
    hu_metrics_more more = {.bits = meter,
                            .held = hu_trainer_samples(trainer, HU_SPLIT_VALIDATION) > 0,
                            .phases = hu_trainer_graph(trainer)->phase_count > 0,
                            .counted = hu_task_counted(hu_trainer_task(trainer)),
                            .per_sample = (double)hu_trainer_places(trainer)};
    HU_TRY(
        hu_tensorboard_open(folder->path, step, folder->note, sizeof folder->note, &folder->board));
    HU_TRY(open_rows(folder, metric, more));
    if (meter) HU_TRY(hu_bit_log_open(folder->path, meter, folder->board, &folder->bits));
done:
    return st;
}

/* The lock is the descriptor's: it ends with the process, however that ends. */
hu_status hu_run_folder_lock(const char *directory, const char *doing, int *descriptor) {
    *descriptor = -1;
    hu_status st = hu_run_folder_check_owned(directory);
    if (st == HU_OK) st = hu_io_open(directory, O_RDONLY | O_DIRECTORY, descriptor);
    if (st != HU_OK) return st;
    /* Who only looks whether somebody trains here holds it for a moment (hu_run_folder_is_locked).
     */
    const struct timespec moment = {.tv_nsec = 20000000};
    for (int i = 0; i < 3; i++) {
        if (flock(*descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return HU_OK;
        nanosleep(&moment, NULL);
    }
    return hu_fail(HU_ERR_IO, "%s: another process is %s in this folder", directory, doing);
}

/* What writers of files left that were interrupted, there and in the folders of its pictures. */
static hu_status sweep(const char *folder) {
    static const char *const pictures[] = {"pictures", "answers", "mistakes"};
    struct stat info;
    hu_status st = HU_OK;
    hu_atomic_file_sweep(folder);
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures && st == HU_OK; i++) {
        char *path = NULL;
        st = hu_path_join(folder, pictures[i], &path);
        /* A link leads out of the folder. */
        if (st == HU_OK && lstat(path, &info) == 0 && S_ISDIR(info.st_mode))
            hu_atomic_file_sweep(path);
        hu_free(path);
    }
    return st;
}

static hu_status open_folder(const char *directory, const hu_config *config,
                             hu_run_folder *folder) {
    hu_status st = HU_OK;
    int64_t keep;
    bool keeps_best;
    *folder = (hu_run_folder){.lock = -1};
    HU_TRY(hu_config_i64(config, "run.keep", &keep));
    folder->keep = (int)keep;
    HU_TRY(make_directory(directory, config, &folder->path));
    /* Two processes in one folder would mix their rows and checkpoints. */
    HU_TRY(hu_run_folder_lock(folder->path, "training", &folder->lock));
    HU_TRY(sweep(folder->path));
    HU_TRY(hu_path_join(folder->path, "checkpoint", &folder->checkpoints));
    HU_TRY(hu_config_bool(config, "run.keep_best", &keeps_best));
    if (keeps_best) HU_TRY(hu_path_join(folder->path, HU_BEST_FOLDER, &folder->best));
done:
    return st;
}

/* Room for what lies there at one time: two checkpoints, the best one and the next one being
 * written. */
static hu_status check_space(const char *directory, size_t state_bytes) {
    struct statvfs disk;
    if (statvfs(directory, &disk) != 0) return HU_OK;
    double available = (double)disk.f_bavail * (double)disk.f_frsize;
    double needed = (HU_CHECKPOINT_KEEP + 2) * (double)state_bytes;
    if (available >= needed) return HU_OK;
    return hu_fail(HU_ERR_IO,
                   "%s: the disk is too full for checkpoints: found %.0f bytes free, expected at "
                   "least %.0f",
                   directory, available, needed);
}

/* As many bytes as a checkpoint of this training may ever have. */
static hu_status checkpoint_bytes(hu_trainer *trainer, size_t *bytes) {
    hu_status st = HU_OK;
    size_t recorder, tensors;
    hu_checkpoint_writer *writer = NULL;
    const hu_run *run = hu_trainer_run(trainer);
    HU_TRY(hu_recorder_bytes(hu_run_graph(run), hu_run_edges(run), &recorder, &tensors));
    HU_TRY(hu_checkpoint_begin(0, &writer));
    HU_TRY(hu_trainer_save(trainer, writer));
    *bytes = hu_checkpoint_bytes(writer) + recorder + sizeof(hu_history_mark[HU_HISTORIES]) +
             LATER_BYTES + 4 * tensors;
done:
    hu_checkpoint_writer_free(writer);
    return st;
}

hu_status hu_run_folder_create(const char *directory, const hu_config *config, hu_trainer *trainer,
                               hu_run_folder *folder) {
    hu_status st = HU_OK;
    char *path = NULL;
    size_t bytes;
    bool is_run;
    HU_TRY(open_folder(directory, config, folder));
    HU_TRY(hu_path_join(folder->path, "config.resolved.yaml", &path));
    HU_TRY(hu_file_find(path, &is_run));
    if (is_run)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "%s holds a run already; `halfulp resume %s` goes on with it, "
                       "run.dir=NEW makes another",
                       folder->path, folder->path));
    /* Before the first step: what would fail after hours fails now. */
    HU_TRY(checkpoint_bytes(trainer, &bytes));
    HU_TRY(hu_checkpoint_probe(folder->checkpoints, bytes));
    HU_TRY(check_space(folder->path, bytes));
    HU_TRY(write_config(folder, config));
    HU_TRY(write_env(folder));
    HU_TRY(open_metrics(folder, trainer, 0));
done:
    hu_free(path);
    if (st != HU_OK) hu_run_folder_close(folder);
    return st;
}

/* A run that goes on has no result yet. */
static hu_status drop_result(const char *directory) {
    char *path = NULL;
    hu_status st = hu_path_join(directory, "result.json", &path);
    if (st == HU_OK && unlink(path) != 0 && errno != ENOENT)
        st = hu_fail(HU_ERR_IO, "%s: cannot remove: %s", path, strerror(errno));
    hu_free(path);
    return st;
}

hu_status hu_run_folder_reopen(const char *directory, const hu_config *config,
                               const hu_trainer *trainer, const hu_run_saved *saved,
                               hu_run_folder *folder) {
    hu_status st = HU_OK;
    int64_t step = hu_trainer_progress(trainer)->step;
    HU_TRY(open_folder(directory, config, folder));
    HU_TRY(drop_result(directory));
    if (folder->best) hu_checkpoint_drop_after(folder->best, step);
    /* Lines after the checkpoint will be written again, by the same steps. */
    HU_TRY(hu_history_truncate(directory, saved->has_marks ? saved->mark : NULL, step, folder->note,
                               sizeof folder->note));
    HU_TRY(write_config(folder, config));
    HU_TRY(open_metrics(folder, trainer, step));
done:
    if (st != HU_OK) hu_run_folder_close(folder);
    return st;
}

void hu_run_folder_close(hu_run_folder *folder) {
    hu_metrics_close(folder->metrics);
    hu_recorder_close(folder->numerics);
    hu_bit_log_close(folder->bits);
    hu_tensorboard_close(folder->board);
    if (folder->path && folder->lock >= 0) close(folder->lock);
    hu_free(folder->path);
    hu_free(folder->checkpoints);
    hu_free(folder->best);
    *folder = (hu_run_folder){.lock = -1};
}

/* The line of one adaptation, whose events stand together in the report. */
static hu_status write_events(hu_run_folder *folder, int64_t step, const hu_adapt_event *event,
                              uint32_t count, const hu_run *run) {
    json_t *list = json_array();
    char from[HU_QUANTIZER_BYTES], to[HU_QUANTIZER_BYTES], *line = NULL;
    for (uint32_t e = 0; list && e < count; e++) {
        hu_quantizer_print(&event[e].from, from, sizeof from);
        hu_quantizer_print(&event[e].to, to, sizeof to);
        json_array_append_new(list, json_pack("[s, s, s, o]",
                                              hu_run_graph(run)->value[event[e].value].name, from,
                                              to, hu_json_number(event[e].share)));
    }
    hu_status st = hu_json_line(
        json_pack("{s:I, s:o}", "step", (json_int_t)step, event->by->section, list), &line);
    if (st == HU_OK) st = hu_recorder_line(folder->numerics, line);
    hu_free(line);
    return st;
}

/* The line of a precision that the whole table begins to follow. */
static hu_status write_phase(hu_run_folder *folder, int64_t step, const hu_adapt_event *event) {
    char *line = NULL;
    hu_status st = hu_json_line(json_pack("{s:I, s:s, s:I}", "step", (json_int_t)step, "precision",
                                          event->precision, "epoch", (json_int_t)event->epoch),
                                &line);
    if (st == HU_OK) st = hu_recorder_line(folder->numerics, line);
    hu_free(line);
    return st;
}

hu_status hu_run_folder_events(hu_run_folder *folder, const hu_step_report *report,
                               const hu_run *run) {
    hu_status st = HU_OK;
    for (uint32_t first = 0, end; first < report->events && st == HU_OK; first = end) {
        const hu_adapt_event *event = &report->event[first];
        /* Events of one adaptation that stand together become one line. */
        for (end = first; end < report->events && report->event[end].by == event->by;) end++;
        st = event->value == HU_NONE ? write_phase(folder, report->step, event)
                                     : write_events(folder, report->step, event, end - first, run);
    }
    return st;
}

hu_status hu_run_folder_text(const hu_run_folder *folder, const char *name, const char *text) {
    return write_text(folder->path, name, text);
}

/* The exponents of one tensor, as "exponents/NAME"; board is the context of hu_recorder_watch. */
static hu_status board_exponents(void *board, int64_t step, const char *name, int32_t first,
                                 const uint64_t *bin, size_t count) {
    char tag[512];
    if (count == 0) return HU_OK;
    snprintf(tag, sizeof tag, "exponents/%s", name);
    return hu_tensorboard_exponents(board, step, tag, first, bin, count);
}

/* Histograms only where the run has room for them; they go to TensorBoard as well. */
hu_status hu_run_folder_record(hu_run_folder *folder, const hu_run *run,
                               const hu_run_saved *saved) {
    hu_status st = HU_OK;
    char *numerics = NULL, *histograms = NULL;
    HU_TRY(hu_path_join(folder->path, "numerics.jsonl", &numerics));
    HU_TRY(hu_path_join(folder->path, "histograms.jsonl", &histograms));
    HU_TRY(hu_recorder_open(numerics, hu_exponent_record_has_room(run) ? histograms : NULL,
                            hu_run_graph(run), hu_run_edges(run), &folder->numerics));
    hu_recorder_watch(folder->numerics, board_exponents, folder->board);
    if (saved->record)
        HU_TRY(hu_recorder_restore(folder->numerics, saved->record, saved->record_bytes));
done:
    hu_free(numerics);
    hu_free(histograms);
    return st;
}

/* A checkpoint that is on the disk has its history there, too. */
static hu_status sync_histories(hu_run_folder *folder) {
    hu_status st = HU_OK;
    HU_TRY(hu_metrics_sync(folder->metrics));
    HU_TRY(hu_recorder_sync(folder->numerics));
    if (folder->bits) HU_TRY(hu_bit_log_sync(folder->bits));
    HU_TRY(hu_tensorboard_sync(folder->board));
done:
    return st;
}

/* The trainer's state with that of the recorder, as a checkpoint of a directory. */
static hu_status save_into(hu_run_folder *folder, hu_trainer *trainer, const char *directory,
                           int keep) {
    hu_status st = HU_OK;
    const void *state;
    size_t bytes;
    hu_history_mark mark[HU_HISTORIES];
    hu_checkpoint_writer *writer = NULL;
    HU_TRY(sync_histories(folder));
    HU_TRY(hu_history_marks(folder->path, mark));
    HU_TRY(hu_checkpoint_begin(hu_trainer_progress(trainer)->step, &writer));
    HU_TRY(hu_trainer_save(trainer, writer));
    /* The counts of steps that are in no row yet belong to the state. */
    hu_recorder_state(folder->numerics, &state, &bytes);
    HU_TRY(hu_checkpoint_add(writer, HU_RECORDER_SECTION, state, bytes));
    HU_TRY(hu_checkpoint_add(writer, MARKS_SECTION, mark, sizeof mark));
    HU_TRY(hu_checkpoint_finish(writer, directory, keep));
done:
    hu_checkpoint_writer_free(writer);
    return st;
}

hu_status hu_run_folder_save(hu_run_folder *folder, hu_trainer *trainer) {
    return save_into(folder, trainer, folder->checkpoints, folder->keep);
}

hu_status hu_run_folder_keep_best(hu_run_folder *folder, hu_trainer *trainer, bool is_saved) {
    int64_t step = hu_trainer_progress(trainer)->step;
    if (!folder->best) return HU_OK;
    if (is_saved && hu_checkpoint_share(folder->checkpoints, step, folder->best) == HU_OK)
        return HU_OK;
    return save_into(folder, trainer, folder->best, HU_CHECKPOINT_KEEP);
}

hu_status hu_run_saved_read(const hu_checkpoint *checkpoint, hu_run_saved *saved) {
    const void *data;
    size_t bytes;
    *saved = (hu_run_saved){0};
    if (hu_checkpoint_section(checkpoint, MARKS_SECTION, &data, &bytes) == HU_OK &&
        bytes == sizeof saved->mark) {
        memcpy(saved->mark, data, bytes);
        saved->has_marks = true;
    }
    if (hu_checkpoint_section(checkpoint, HU_RECORDER_SECTION, &data, &bytes) != HU_OK)
        return HU_OK;
    hu_status st = hu_alloc(bytes, &saved->record);
    if (st != HU_OK) return st;
    memcpy(saved->record, data, bytes);
    saved->record_bytes = bytes;
    return HU_OK;
}

void hu_run_saved_free(hu_run_saved *saved) {
    hu_free(saved->record);
    *saved = (hu_run_saved){0};
}

hu_status hu_run_folder_result(const hu_run_folder *folder, json_t *result) {
    char *text = NULL;
    hu_status st = hu_json_pretty(result, &text);
    if (st == HU_OK) st = write_text(folder->path, "result.json", text);
    hu_free(text);
    return st;
}

/* A metric of a later version has no unit, no direction and no key that could be read. */
static hu_status check_metric(const char *path, const json_t *result) {
    const json_t *metric = json_object_get(result, "metric");
    const char *name = json_string_value(json_object_get(metric, "name"));
    if (!metric || (name && hu_metric_find(name))) return HU_OK;
    return hu_fail(HU_ERR_VERSION, "%s: metric '%.40s', which this version does not know", path,
                   name ? name : "");
}

hu_status hu_result_read(const char *directory, json_t **result) {
    hu_status st = HU_OK;
    char *path = NULL;
    uint8_t *data = NULL;
    size_t bytes;
    bool is_present;
    json_error_t error;
    *result = NULL;
    HU_TRY(hu_path_join(directory, "result.json", &path));
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) goto done;
    HU_TRY(hu_file_read_plain(path, RESULT_LIMIT, &data, &bytes));
    st = hu_json_parse((const char *)data, bytes, result, &error);
    if (st == HU_ERR_CORRUPT)
        st = hu_fail(HU_ERR_CORRUPT, "%s: line %d: %s", path, error.line, error.text);
    HU_TRY(st);
    HU_TRY(check_metric(path, *result));
    bool has_metric =
        json_object_get(*result, "metric") || json_object_get(*result, "test_accuracy");
    if (!has_metric || !json_object_get(*result, "ledger_bytes"))
        st =
            hu_fail(HU_ERR_CORRUPT,
                    "%s: found no metric or ledger_bytes, expected the result of a training", path);
done:
    if (st != HU_OK) {
        json_decref(*result);
        *result = NULL;
    }
    hu_free(path);
    hu_free(data);
    return st;
}

/* ---- place ---- */

/* Where the folder of a run is while it trains, and whether it may be written. */

bool hu_run_folder_exists(const hu_run_folder *folder) {
    struct stat here, held;
    if (!folder->path || folder->lock < 0 || fstat(folder->lock, &held) != 0) return true;
    return stat(folder->path, &here) == 0 && here.st_dev == held.st_dev &&
           here.st_ino == held.st_ino;
}

/* The state into the folder by its descriptor: proc(5), /proc/PID/fd. */
static hu_status save_there(const hu_run_folder *folder, hu_trainer *trainer, char *by_descriptor) {
    char *checkpoints;
    hu_status st = hu_path_join(by_descriptor, "checkpoint", &checkpoints);
    if (st != HU_OK) return st;
    hu_run_folder held = *folder; /* all but its path is the same */
    held.path = by_descriptor;
    held.checkpoints = checkpoints;
    st = hu_run_folder_save(&held, trainer);
    hu_free(checkpoints);
    return st;
}

hu_status hu_run_folder_find_again(hu_run_folder *folder, hu_trainer *trainer) {
    char by_descriptor[64], now[4096];
    struct stat held;
    if (hu_run_folder_exists(folder)) return HU_OK;
    snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", folder->lock);
    ssize_t length = readlink(by_descriptor, now, sizeof now - 1);
    now[length > 0 ? length : 0] = '\0';
    if (length <= 0 || fstat(folder->lock, &held) != 0 || held.st_nlink == 0)
        return hu_fail(HU_ERR_MISSING,
                       "%s was removed while the training ran: nothing of it can be saved there",
                       folder->path);
    if (!trainer)
        return hu_fail(
            HU_ERR_MISSING,
            "%s was moved to %s while the training ran; `halfulp resume %s` goes on from "
            "its newest checkpoint",
            folder->path, now, now);
    hu_status st = save_there(folder, trainer, by_descriptor);
    if (st != HU_OK)
        return hu_fail_within(st, "%s was moved to %s while the training ran: ", folder->path, now);
    return hu_fail(HU_ERR_MISSING,
                   "%s was moved to %s while the training ran: its state after %lld steps is saved "
                   "there, `halfulp resume %s` goes on from it",
                   folder->path, now, (long long)hu_trainer_progress(trainer)->step, now);
}

hu_status hu_run_folder_check_writable(const char *directory) {
    static const char *const names[] = {"",
                                        "checkpoint",
                                        "config.resolved.yaml",
                                        "metrics.csv",
                                        "metrics.jsonl",
                                        "numerics.jsonl",
                                        "progress.jsonl"};
    hu_status st = HU_OK;
    char *path = NULL, word[1024];
    for (size_t i = 0; i < sizeof names / sizeof *names && st == HU_OK; i++) {
        st = names[i][0] ? hu_path_join(directory, names[i], &path) : hu_strdup(directory, &path);
        if (st == HU_OK && access(path, W_OK) != 0 && errno != ENOENT)
            st = hu_fail(HU_ERR_IO,
                         "%s: cannot write: %s; a copy can go on: cp -r %s NEW, halfulp resume NEW",
                         path, strerror(errno),
                         hu_quote_shell(directory, word, sizeof word) ? word : "RUN");
        hu_free(path);
        path = NULL;
    }
    return st;
}
