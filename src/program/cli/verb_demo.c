/* halfulp demo: the same small network in six precisions, side by side. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "render/json.h"
#include "render/table.h"
#include "report/report.h"
#include "runlog/plan_json.h"
#include "session/session.h"
#include "settings/dataset.h"
#include "settings/options.h"
#include "sweep/jobs.h"

/* The rows of the demo: all start from the same weights and see the same batches. */
static const struct {
    const char *label, *precision, *scaler, *folder;
} rows[] = {
    {"fp32", "fp32", "none", "fp32"},
    {"fp16, dynamic loss scale", "fp16", "dynamic", "fp16"},
    {"1/6/9, no scaling", "1/6/9/d", "none", "1-6-9"},
    {"hfp8 everywhere", "hfp8", "dynamic", "hfp8"},
    {"e4m3fn:ovf=sat everywhere, no scaling", "e4m3fn:ovf=sat", "none", "e4m3fn-sat"},
    {"e4m3fn:scale=current everywhere", "e4m3fn:scale=current", "none", "e4m3fn-scaled"},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* What a row needs when its trainer is gone. */
typedef struct demo_row {
    hu_session_result result;
    hu_ledger ledger;
    double overflow, underflow; /* shares of all roundings */
    int64_t skipped;
    uint64_t hash;
    bool has_masters; /* its masters were judged, not the weights as products see them */
} demo_row;

/* "demo" is the origin that messages about these keys name. */
static hu_status put(hu_keys *tree, const char *key, const char *value) {
    return hu_keys_set_text(tree, key, value, "demo");
}

/* The user's configuration with one row's precision. */
static hu_status configure(const hu_config *config, int r, hu_config **made) {
    hu_status st = HU_OK;
    hu_keys *tree = NULL;
    HU_TRY(hu_options_copy(config, made));
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "demo", &tree));
    HU_TRY(put(tree, "precision.name", rows[r].precision));
    HU_TRY(put(tree, "scaler.name", rows[r].scaler));
    HU_TRY(hu_config_merge(*made, tree));
done:
    hu_keys_free(tree);
    return st;
}

/* The weights that a row's test accuracy is of, as eval.weights= names them. */
static const char *weights_of(const demo_row *row) {
    return row->has_masters ? "master" : "rounded";
}

/* How its precision, or the user, has the row judged. */
static hu_status read_weights(const hu_config *own, demo_row *row) {
    const char *weights;
    hu_status st = hu_config_text(own, "eval.weights", &weights);
    if (st == HU_OK) row->has_masters = strcmp(weights, "master") == 0;
    return st;
}

static double share(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : 0.0;
}

/* Trains one row in a folder of its own, and keeps what the table says of it. */
static hu_status run_row(const hu_config *config, hu_dataset *dataset, int r, const char *folder,
                         hu_rows *told, demo_row *row) {
    hu_status st = HU_OK;
    hu_config *own = NULL;
    hu_session session = {0};
    hu_listener listener, hears;
    const volatile sig_atomic_t *flag;
    char directory[512];
    snprintf(directory, sizeof directory, "%s/%s", folder, rows[r].folder);
    HU_TRY(hu_rows_begin(told, rows[r].label, directory));
    HU_TRY(configure(config, r, &own));
    HU_TRY(hu_progress_listener(own, &listener));
    if (r > 0) hu_progress_briefly(&listener);
    hu_rows_listen(told, &listener, &hears);
    HU_TRY(hu_session_open(own, dataset, NULL, directory, false, &hears, NULL, &session));
    HU_TRY(read_weights(own, row));
    HU_TRY(hu_interrupt_install(&flag));
    session.interrupted = flag;
    st = hu_session_run(&session, &row->result);
    /* The open line of progress ends before an error is printed. */
    hu_progress_end();
    HU_TRY(st);
    HU_TRY(hu_session_write_result(&session, &row->result));
    const hu_train_progress *progress = hu_trainer_progress(session.trainer);
    row->ledger = hu_trainer_ledger(session.trainer);
    /* Counts of the whole training, all roundings of all steps. */
    row->overflow = share(progress->overflow, progress->elements);
    row->underflow = share(progress->underflow, progress->elements);
    row->skipped = hu_trainer_skipped(session.trainer);
    row->hash = hu_trainer_weights_hash(session.trainer);
    /* The planned bytes against the allocator's, before anything is freed. */
    HU_TRY(hu_ledger_check(&row->ledger, &session.before));
    HU_TRY(hu_rows_ended(told));
done:
    hu_session_close(&session);
    hu_config_free(own);
    return st;
}

/* Whether no row that ended well has a better metric. */
static bool is_best(const demo_row *row, const demo_row *all) {
    const hu_metric *metric = row->result.test.metric;
    for (int r = 0; r < ROWS; r++)
        if (!all[r].result.has_diverged &&
            hu_metric_is_better(metric, all[r].result.test.last, row->result.test.last))
            return false;
    return true;
}

/* The metric and its distance from fp32, the first row, as far as there are such. */
static hu_status add_metric(hu_table *table, const demo_row *row, const demo_row *all) {
    hu_status st = HU_OK;
    char text[HU_METRIC_TEXT_BYTES];
    const hu_metric *metric = row->result.test.metric;
    double distance = metric->factor * (row->result.test.last - all[0].result.test.last);
    if (row->result.has_diverged) {
        HU_TRY(hu_table_cell(table, "diverged"));
        hu_table_look(table, HU_COLOUR_BAD);
        return hu_table_cell(table, "-");
    }
    HU_TRY(hu_table_cell(table, "%s", hu_metric_text(metric, row->result.test.last, text)));
    if (is_best(row, all)) hu_table_look(table, HU_COLOUR_BEST);
    st = all[0].result.has_diverged ? hu_table_cell(table, "-")
                                    : hu_table_cell(table, "%+.*f", metric->decimals, distance);
done:
    return st;
}

/* One row of the table; the metric beside that of the first row. */
static hu_status add_cells(hu_table *table, int r, const demo_row *all) {
    hu_status st = HU_OK;
    const demo_row *row = &all[r];
    HU_TRY(hu_table_cell(table, "%s", rows[r].label));
    HU_TRY(add_metric(table, row, all));
    HU_TRY(hu_table_cell(table, "%s", weights_of(row)));
    HU_TRY(hu_table_cell(table, "%.2f MiB", (double)row->ledger.saved / 1048576.0));
    HU_TRY(hu_table_cell(table, "%.2f MiB", (double)row->ledger.total / 1048576.0));
    HU_TRY(hu_table_cell(table, "%.4f %%", 100.0 * row->overflow));
    HU_TRY(hu_table_cell(table, "%.2f %%", 100.0 * row->underflow));
    HU_TRY(hu_table_cell(table, "%lld", (long long)row->skipped));
    HU_TRY(hu_table_cell(table, "%.0f", row->result.images_per_second));
done:
    return st;
}

/* The metric's name stands in the title, so that cells are numbers alone. */
static hu_status print_table(const demo_row *all) {
    char words[HU_METRIC_TEXT_BYTES], test[HU_METRIC_TEXT_BYTES + 8];
    snprintf(test, sizeof test, "test %s", hu_metric_words(all[0].result.test.metric, words));
    const char *const titles[] = {"precision", test,       "to fp32",   "weights", "saved",
                                  "memory",    "overflow", "underflow", "skipped", "images/s"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int r = 0; r < ROWS; r++) HU_TRY(add_cells(table, r, all));
    st = hu_show_table(table);
done:
    hu_table_free(table);
    return st;
}

/* One precision: its result, its memory and what rounding lost. */
static json_t *row_json(int r, const demo_row *row) {
    char test[HU_METRIC_KEY_BYTES];
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "precision", rows[r].precision,
        "run", rows[r].folder, "scaler", rows[r].scaler, "weights", weights_of(row),
        hu_metric_key("test", row->result.test.metric, test), hu_json_number(row->result.test.last),
        "ledger_bytes", hu_ledger_json(&row->ledger), "overflow_share",
        hu_json_number(row->overflow), "underflow_share", hu_json_number(row->underflow),
        "skipped_steps", (json_int_t)row->skipped, "images_per_second",
        hu_json_number(row->result.images_per_second), "weights_hash", hu_json_hash(row->hash));
    if (object && row->result.has_diverged)
        json_object_set_new(object, "diverged", json_string(row->result.reason));
    return object;
}

/* The object of --json and of demo.json. */
static json_t *demo_json(const demo_row *all, const char *folder, const char *data,
                         double seconds) {
    json_t *list = json_array();
    for (int r = 0; r < ROWS; r++) json_array_append_new(list, row_json(r, &all[r]));
    return json_pack("{s:o, s:o, s:s, s:s, s:o}", "metric",
                     hu_metric_json(all[0].result.test.metric), "rows", list, "run", folder, "data",
                     data, "seconds", hu_json_number(seconds));
}

/* demo.json: the order of the rows for the report. */
static hu_status keep(json_t *object, const char *folder) {
    char *text = NULL, *path = NULL;
    hu_status st;
    HU_TRY(hu_json_pretty(object, &text));
    HU_TRY(hu_path_join(folder, "demo.json", &path));
    HU_TRY(hu_file_replace(path, text, strlen(text)));
done:
    hu_free(text);
    hu_free(path);
    return st;
}

/* What the columns of the table mean, and where the runs are. */
static void print_notes(const demo_row *all, const hu_dataset *dataset, const char *folder,
                        double seconds) {
    printf("\n%s, %lld training and %lld test images; same start, same batches; %.0f s in all.\n",
           dataset->name, (long long)dataset->train.count, (long long)dataset->test.count, seconds);
    printf(
        "weights: those that were judged, the float32 masters or as products see them, as the\n"
        "precision's own study does; eval.weights=rounded judges all rows alike;\n"
        "saved: activations and masks kept for the backward pass; memory: arena, masters and\n"
        "optimizer, planned before the first step and equal to the allocator's count to the byte;\n"
        "overflow, underflow: shares of all roundings beyond the largest value, and to zero.\n");
    for (int r = 0; r < ROWS; r++)
        if (all[r].result.has_diverged)
            printf("%s diverged: %s\n", rows[r].label, all[r].result.reason);
    printf("run folders: %s/\n", folder);
}

/* run.dir, or a folder of its own named after the time. */
static hu_status claim_folder(const hu_config *config, char *folder, size_t capacity) {
    const char *given;
    time_t now = time(NULL);
    struct tm local;
    char stamp[64];
    hu_status st = HU_OK;
    HU_TRY(hu_config_text(config, "run.dir", &given));
    snprintf(folder, capacity, "%s", given);
    if (strcmp(given, "auto") != 0) return HU_OK;
    HU_TRY(hu_directory_create("runs"));
    strftime(stamp, sizeof stamp, "runs/demo-%Y%m%d-%H%M%S", localtime_r(&now, &local));
    snprintf(folder, capacity, "%s", stamp);
    /* Two demos may begin in the same second: mkdir decides which of them has the name. */
    for (int i = 1; mkdir(folder, 0777) != 0; i++) {
        if (errno != EEXIST)
            return hu_fail(HU_ERR_IO, "%s: cannot make the folder: %s", folder, strerror(errno));
        snprintf(folder, capacity, "%s-%d", stamp, i);
    }
done:
    return st;
}

/* All rows, one after the other; stdout belongs to the table or the object. */
static hu_status run_rows(const hu_config *config, hu_dataset *dataset, const char *folder,
                          demo_row *all) {
    hu_status st = HU_OK;
    hu_rows *told;
    HU_TRY(hu_rows_open(folder, "demo", ROWS, &told));
    for (int r = 0; r < ROWS && st == HU_OK; r++)
        st = run_row(config, dataset, r, folder, told, &all[r]);
    st = hu_rows_close(told, st);
done:
    return st;
}

static hu_status run_demo(hu_config *config, int *exit_code) {
    hu_status st = HU_OK;
    hu_dataset *dataset = NULL;
    demo_row all[ROWS] = {0};
    char folder[400];
    double start = hu_seconds_now();
    (void)exit_code;
    /* A precision that was asked for would be replaced six times without a word. */
    if (hu_config_given(config, "precision.name") || hu_config_given(config, "precision.epochs") ||
        hu_config_given(config, "scaler.name"))
        return hu_fail(HU_ERR_ARGUMENT, "demo chooses precision and scaler itself; use `train`");
    HU_TRY(claim_folder(config, folder, sizeof folder));
    HU_TRY(hu_session_dataset(config, &hu_progress_messages, &dataset));
    HU_TRY(run_rows(config, dataset, folder, all));
    double seconds = hu_seconds_now() - start;
    HU_TRY(keep(demo_json(all, folder, dataset->name, seconds), folder));
    hu_report_tried page = hu_report_try(folder);
    if (hu_config_flag(config, "json", NULL))
        HU_TRY(hu_json_print(demo_json(all, folder, dataset->name, seconds)));
    else {
        HU_TRY(print_table(all));
        print_notes(all, dataset, folder, seconds);
        if (page.status == HU_OK) printf("report: %s/report.html\n", folder);
    }
    st = hu_report_end(&page, folder);
done:
    hu_dataset_close(dataset);
    return st;
}

static const char *const flags[] = {"json", NULL};

static const char *const demo_keys[] = {HU_TRAINING_KEYS, "-precision.name", "-scaler.*",
                                        "-precision.epochs", NULL};

const hu_verb hu_verb_demo = {
    .name = "demo",
    .group = HU_VERBS_TRAIN,
    .help = "train a small network in six precisions and compare them",
    .usage = "[key=value ...] [--json]",
    .details = "Any key of train but precision and scaler: epochs=1, threads=1, data=glyphs, ...\n",
    .flags = flags,
    .max_subjects = 0,
    .keys = demo_keys,
    .examples = {{"demo data=glyphs epochs=0.5",
                  "the six precisions on drawn digits, which need no files"},
                 {"demo", "the same on Fashion-MNIST, some minutes"}},
    .run = run_demo,
};
