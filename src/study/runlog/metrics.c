#include "runlog/metrics.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "render/csv.h"
#include "render/json.h"

/* ---- TensorBoard tags ---- */

enum { TAG_BYTES = 112 };

static const struct {
    const char *column, *about;
} sentences[] = {
    {"loss", "Loss of the step's batch, before its update."},
    {"batch_metric", "Metric over the samples of the step's batch."},
    {"lr", "Learning rate of the step."},
    {"loss_scale", "What the loss is multiplied with before the backward pass."},
    {"skipped", "1 where the update was left out, because gradients were not finite."},
    {"gradient_norm", "Root of the squares of all gradients, without the loss scale."},
    {"test_metric", "Metric over the test samples."},
    {"validation_metric", "Metric over the samples held out of training."},
    {"low_precision_ratio", "Share of the numbers of all tensors that are in low precision."},
    {"promoted", "Tensors that were promoted from low to high precision so far."},
    {"relative_forward_cost", "Bit-operations of all forward passes so far, over the most bits."},
    {"relative_training_cost", "Bit-operations of all steps so far, over the most bits."},
    {"turn_1_loss", "Loss of the first turn of each step."},
    {"turn_2_loss", "Loss of the second turn of each step."},
    {"turn_2_loss_scale", "Loss scale of the second turn."},
};

/* What a column of the metrics is, in a sentence. Borrowed: valid forever. */
static const char *tensorboard_tag_about(const char *column) {
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (strcmp(sentences[i].column, column) == 0) return sentences[i].about;
    return "";
}

/* "train/loss" of a group and a column's title; "test/accuracy" of test_accuracy, whose group its
 * title says too. "" without a group. Gives tag. */
static const char *tensorboard_tag(const char *group, const char *title, char tag[TAG_BYTES]) {
    size_t length = group ? strlen(group) : 0;
    bool says_group = length > 0 && strncmp(title, group, length) == 0 && title[length] == '_';
    tag[0] = '\0';
    if (group)
        snprintf(tag, TAG_BYTES, "%.20s/%.80s", group, title + (says_group ? length + 1 : 0));
    return tag;
}

/* ---- columns ---- */

/* The columns of a run's metrics: one list for metrics.csv, metrics.jsonl and
 * TensorBoard, and for the folder read back. A column is one line. */

/* Bit-operations up to a row, of forward passes or of all; and as shares. NaN: no schedule. */
static double hu_row_bitops(const hu_metrics_row *row, bool is_forward) {
    if (!row->bits) return (double)NAN;
    return is_forward ? row->bits->spent->forward : row->bits->spent->training;
}

static double hu_row_cost(const hu_metrics_row *row, bool is_forward) {
    if (!row->bits) return (double)NAN;
    return is_forward ? hu_bits_relative_forward(row->bits) : hu_bits_relative_training(row->bits);
}

/* Loss and loss scale of one of several turns, from 0 on. NaN: there is one turn. */
static double hu_row_phase_loss(const hu_metrics_row *row, int phase) {
    return row->report->phases > 1 ? row->report->phase[phase].loss : (double)NAN;
}

static double hu_row_phase_scale(const hu_metrics_row *row, int phase) {
    return row->report->phases > 1 ? (double)row->report->phase[phase].scale : (double)NAN;
}

#define VALUE(name, kind, cell, place, board, curve, value)                                        \
    static double name##_of(const hu_metrics_row *row) {                                           \
        return (double)(value);                                                                    \
    }
HU_METRICS_COLUMNS(VALUE)
#undef VALUE

const hu_column hu_columns[] = {
#define ROW(name, kind, cell, place, board, curve, value)                                          \
    {#name,     HU_COLUMN_##kind,                                                                  \
     cell,      place,                                                                             \
     board,     curve,                                                                             \
     name##_of, offsetof(hu_metrics_record, name)},
    HU_METRICS_COLUMNS(ROW)
#undef ROW
};

bool hu_column_is_evaluated(const hu_column *column) {
    return column->kind == HU_COLUMN_TEST || column->kind == HU_COLUMN_HELD;
}

/* The column at a place of metrics.jsonl, from 1 on; NULL after the last one. */
static const hu_column *column_at(int place) {
    for (int c = 0; c < HU_COLUMNS; c++)
        if (hu_columns[c].place == place) return &hu_columns[c];
    return NULL;
}

const char *hu_column_title(const hu_column *column, const hu_metric *metric,
                            char title[HU_METRIC_KEY_BYTES]) {
    static const char suffix[] = "_metric";
    size_t length = strlen(column->name), tail = sizeof suffix - 1;
    bool is_metric = length > tail && strcmp(column->name + length - tail, suffix) == 0;
    if (!is_metric) return column->name;
    snprintf(title, HU_METRIC_KEY_BYTES, "%.*s_%s", (int)(length - tail), column->name,
             metric->name);
    return title;
}

double hu_column_of(const hu_column *column, const hu_metrics_record *record) {
    const char *member = (const char *)record + column->offset;
    if (column->kind == HU_COLUMN_WHOLE) return (double)*(const int64_t *)(const void *)member;
    if (column->kind == HU_COLUMN_FLAG) return *(const bool *)(const void *)member;
    return *(const double *)(const void *)member;
}

/* ---- metrics ---- */

enum { CELL_BYTES = 64 };

struct hu_metrics {
    const char *folder; /* borrowed: the opener's */
    hu_csv *csv;
    hu_append *lines;
    hu_tensorboard *board;
    hu_metrics_more more; /* columns that metrics.csv has beside the usual ones */
    const char *title[HU_COLUMNS];
    char room[HU_COLUMNS][HU_METRIC_KEY_BYTES]; /* for titles that hold the metric's name */
    char tag[HU_COLUMNS][TAG_BYTES];
    bool is_told[HU_COLUMNS]; /* TensorBoard knows what the tag is */
    char rate_title[64], rate_about[112];
};

static bool is_rate(const hu_column *column) {
    return strcmp(column->name, "images_per_second") == 0;
}

/* "tokens_per_second" where a sample is many tokens. */
static void name_rate(hu_metrics *metrics) {
    const char *counted = metrics->more.counted;
    snprintf(metrics->rate_title, sizeof metrics->rate_title, "%.40s_per_second", counted);
    snprintf(metrics->rate_about, sizeof metrics->rate_about,
             "%c%.40s that this process has trained with in a second, so far.",
             toupper((unsigned char)counted[0]), counted + 1);
}

/* A column's title and what it is, as TensorBoard has them. */
static const char *board_title(const hu_metrics *metrics, int c) {
    return is_rate(&hu_columns[c]) ? metrics->rate_title : metrics->title[c];
}

static const char *board_about(const hu_metrics *metrics, int c) {
    return is_rate(&hu_columns[c]) ? metrics->rate_about
                                   : tensorboard_tag_about(hu_columns[c].name);
}

static bool has_cell(const hu_metrics *metrics, const hu_column *column) {
    if (column->kind == HU_COLUMN_HELD) return metrics->more.held;
    if (column->kind == HU_COLUMN_TURN) return metrics->more.phases;
    return metrics->more.bits || column->kind != HU_COLUMN_BITS;
}

/* A run that goes on in another precision goes on with the columns that it has. */
static hu_status read_titles(const char *path, hu_metrics *metrics) {
    hu_lines *lines;
    hu_line line;
    bool is_present;
    char *titles = NULL;
    hu_status st = hu_lines_open(path, &lines);
    if (st != HU_OK) return st == HU_ERR_MISSING ? HU_OK : st;
    HU_TRY(hu_lines_next(lines, &line, &is_present));
    if (!is_present) goto done;
    HU_TRY(HU_NEW_ARRAY(&titles, line.bytes + 1));
    memcpy(titles, line.text, line.bytes);
    metrics->more.bits = strstr(titles, ",training_bitops");
    metrics->more.held = strstr(titles, ",validation_");
    metrics->more.phases = strstr(titles, ",turn_1_loss");
done:
    hu_free(titles);
    hu_lines_close(lines);
    return st;
}

static hu_status open_csv(hu_metrics *metrics) {
    hu_status st = HU_OK;
    char *path = NULL;
    const char *titles[HU_COLUMNS];
    int count = 0;
    HU_TRY(hu_path_join(metrics->folder, "metrics.csv", &path));
    HU_TRY(read_titles(path, metrics));
    for (int c = 0; c < HU_COLUMNS; c++)
        if (has_cell(metrics, &hu_columns[c])) titles[count++] = metrics->title[c];
    HU_TRY(hu_csv_open(path, titles, count, &metrics->csv));
done:
    hu_free(path);
    return st;
}

static hu_status open_lines(hu_metrics *metrics) {
    hu_status st = HU_OK;
    char *path = NULL;
    HU_TRY(hu_path_join(metrics->folder, "metrics.jsonl", &path));
    st = hu_append_open(path, &metrics->lines);
done:
    hu_free(path);
    return st;
}

hu_status hu_metrics_open(const char *folder, const hu_metric *metric, hu_metrics_more more,
                          hu_tensorboard *board, hu_metrics **metrics) {
    hu_status st = HU_OK;
    void *block = NULL;
    *metrics = NULL;
    HU_TRY(hu_alloc(sizeof **metrics, &block));
    *metrics = block;
    **metrics = (hu_metrics){.folder = folder, .board = board, .more = more};
    name_rate(*metrics);
    for (int c = 0; c < HU_COLUMNS; c++) {
        (*metrics)->title[c] = hu_column_title(&hu_columns[c], metric, (*metrics)->room[c]);
        tensorboard_tag(hu_columns[c].board, board_title(*metrics, c), (*metrics)->tag[c]);
    }
    HU_TRY(open_csv(*metrics));
    HU_TRY(open_lines(*metrics));
done:
    if (st != HU_OK) {
        hu_metrics_close(*metrics);
        *metrics = NULL;
    }
    return st;
}

hu_status hu_metrics_sync(hu_metrics *metrics) {
    hu_status st = hu_csv_sync(metrics->csv);
    return st == HU_OK ? hu_append_sync(metrics->lines) : st;
}

void hu_metrics_close(hu_metrics *metrics) {
    if (!metrics) return;
    hu_csv_close(metrics->csv);
    hu_append_close(metrics->lines);
    hu_free(metrics);
}

static bool is_absent(const hu_column *column, double value) {
    bool may_miss = column->kind == HU_COLUMN_BATCH || column->kind == HU_COLUMN_BITS ||
                    column->kind == HU_COLUMN_TURN || hu_column_is_evaluated(column);
    return may_miss && isnan(value);
}

/* The C library may print the sign of a NaN, which means nothing. */
static const char *print_cell(const hu_column *column, double value, char cell[CELL_BYTES]) {
    if (is_absent(column, value)) return "";
    if (isnan(value)) return "nan";
    return snprintf(cell, CELL_BYTES, column->cell, value) > 0 ? cell : "";
}

static hu_status write_cells(const hu_metrics *metrics, const hu_metrics_row *row) {
    hu_status st = HU_OK;
    char cell[CELL_BYTES];
    for (int c = 0; c < HU_COLUMNS; c++) {
        const hu_column *column = &hu_columns[c];
        if (!has_cell(metrics, column)) continue;
        HU_TRY(hu_csv_cell(metrics->csv, "%s", print_cell(column, column->value(row), cell)));
    }
done:
    return st;
}

static json_t *value_json(const hu_column *column, double value) {
    if (column->kind == HU_COLUMN_WHOLE) return json_integer((json_int_t)value);
    if (column->kind == HU_COLUMN_FLAG) return json_boolean(value != 0.0);
    return hu_json_number(value);
}

static hu_status write_line(hu_metrics *metrics, const hu_metrics_row *row) {
    char *line = NULL;
    const hu_column *column;
    json_t *object = json_object();
    for (int place = 1; object && (column = column_at(place)) != NULL; place++) {
        double value = column->value(row);
        if (!is_absent(column, value))
            json_object_set_new(object, metrics->title[column - hu_columns],
                                value_json(column, value));
    }
    if (object && row->report->culprit[0])
        json_object_set_new(object, "culprit", json_string(row->report->culprit));
    hu_status st = hu_json_line(object, &line);
    if (st != HU_OK) return st;
    hu_append_format(metrics->lines, "%s\n", line);
    hu_free(line);
    return hu_append_end(metrics->lines);
}

/* Tag, title and what it says, which the first event of a tag has. */
static hu_scalar make_scalar(hu_metrics *metrics, int c, double value) {
    hu_scalar scalar = {.tag = metrics->tag[c], .value = value};
    if (metrics->is_told[c]) return scalar;
    metrics->is_told[c] = true;
    scalar.title = board_title(metrics, c);
    scalar.about = board_about(metrics, c);
    return scalar;
}

/* The metric of an evaluation comes last: it is left out where there is none. */
static hu_status write_board(hu_metrics *metrics, const hu_metrics_row *row) {
    hu_scalar scalar[HU_COLUMNS];
    size_t count = 0;
    for (int phase = 0; phase < 2; phase++)
        for (int c = 0; c < HU_COLUMNS; c++) {
            const hu_column *column = &hu_columns[c];
            double value = column->value(row);
            bool is_phase = hu_column_is_evaluated(column) == (phase == 1);
            if (!column->board || !is_phase || is_absent(column, value)) continue;
            if (is_rate(column)) value *= metrics->more.per_sample;
            scalar[count++] = make_scalar(metrics, c, value);
        }
    return hu_tensorboard_scalars(metrics->board, row->report->step, scalar, count);
}

hu_status hu_metrics_write(hu_metrics *metrics, const hu_metrics_row *row) {
    hu_status st = HU_OK;
    HU_TRY(write_cells(metrics, row));
    if (metrics->board) HU_TRY(write_board(metrics, row));
    HU_TRY(write_line(metrics, row));
done:
    return st;
}

/* ---- bits.jsonl ---- */

enum { LAYER_TAG_BYTES = HU_NAME_BYTES + 8 };

struct hu_bit_log {
    const hu_bits_meter *meter;
    hu_tensorboard *board;
    hu_append *file;
    hu_scalar *scalar;            /* [layers] of one step */
    char (*tag)[LAYER_TAG_BYTES]; /* [layers] "bits/conv1" */
};

static const hu_bits_layers *layers_of(const hu_bit_log *log) {
    return log->meter->task->layers;
}

hu_status hu_bit_log_open(const char *folder, const hu_bits_meter *meter, hu_tensorboard *board,
                          hu_bit_log **result) {
    hu_status st = HU_OK;
    hu_bit_log *log = NULL;
    char *path = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&log));
    *log = (hu_bit_log){.meter = meter, .board = board};
    uint32_t layers = layers_of(log)->count;
    HU_TRY(HU_NEW_ARRAY(&log->scalar, layers));
    HU_TRY(HU_NEW_ARRAY(&log->tag, layers));
    for (uint32_t l = 0; l < layers; l++)
        snprintf(log->tag[l], LAYER_TAG_BYTES, "bits/%s", layers_of(log)->layer[l].name);
    HU_TRY(hu_path_join(folder, "bits.jsonl", &path));
    HU_TRY(hu_append_open(path, &log->file));
    *result = log;
    log = NULL;
done:
    hu_free(path);
    hu_bit_log_close(log);
    return st;
}

hu_status hu_bit_log_sync(hu_bit_log *log) {
    return hu_append_sync(log->file);
}

void hu_bit_log_close(hu_bit_log *log) {
    if (!log) return;
    hu_append_close(log->file);
    hu_free(log->scalar);
    hu_free(log->tag);
    hu_free(log);
}

/* {"step": N, KEY: rows}; takes the rows. */
static hu_status write_bits_line(const hu_bit_log *log, int64_t step, const char *key,
                                 json_t *rows) {
    char *line = NULL;
    hu_status st =
        hu_json_line(json_pack("{s:I, s:o}", "step", (json_int_t)step, key, rows), &line);
    if (st != HU_OK) return st;
    hu_append_format(log->file, "%s\n", line);
    hu_free(line);
    return hu_append_end(log->file);
}

/* Only what changed: schedules that draw bits anew in each step would fill disks. */
static hu_status write_changes(hu_bit_log *log, int64_t step) {
    hu_status st = HU_OK;
    const hu_bits_meter *meter = log->meter;
    size_t count = 0;
    json_t *rows = json_array();
    for (uint32_t l = 0; l < layers_of(log)->count; l++) {
        if (!meter->has_changed[l]) continue;
        json_array_append_new(rows, json_pack("[s, i, i]", layers_of(log)->layer[l].name,
                                              (int)meter->forward[l], (int)meter->gradient[l]));
        log->scalar[count++] = (hu_scalar){log->tag[l], meter->forward[l], log->tag[l],
                                           "Bits of the layer's numbers in the forward pass."};
    }
    HU_TRY(write_bits_line(log, step, "bits", rows));
    if (log->board) HU_TRY(hu_tensorboard_scalars(log->board, step, log->scalar, count));
done:
    return st;
}

static hu_status write_learned(const hu_bit_log *log, int64_t step) {
    const hu_bits_layers *layers = layers_of(log);
    json_t *rows = json_array();
    for (uint32_t l = 0; l < layers->count; l++)
        if (layers->layer[l].is_quantised)
            json_array_append_new(rows, json_pack("[s, o]", layers->layer[l].name,
                                                  hu_json_number(log->meter->beta[l])));
    return write_bits_line(log, step, "beta", rows);
}

/* What the bits of this step cost; what all steps so far did stands among the metrics. */
static hu_status write_costs(const hu_bit_log *log, int64_t step) {
    const hu_bits_meter *m = log->meter;
    const hu_scalar scalar[] = {{"cost/forward", m->step_forward / m->most_forward, "cost/forward",
                                 "Bit-operations of this step's forward pass, over the most bits."},
                                {"cost/training", m->step_total / m->most_total, "cost/training",
                                 "Bit-operations of this step, over the most bits."}};
    return hu_tensorboard_scalars(log->board, step, scalar, 2);
}

hu_status hu_bit_log_step(hu_bit_log *log, int64_t step, bool has_row) {
    hu_status st = HU_OK;
    bool has_changed = log->meter->any_changed;
    if (has_changed) HU_TRY(write_changes(log, step));
    if (log->board && (has_changed || has_row)) HU_TRY(write_costs(log, step));
    if (has_row && log->meter->beta) HU_TRY(write_learned(log, step));
done:
    return st;
}
