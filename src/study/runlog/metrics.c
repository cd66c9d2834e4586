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
#include "runlog/tensorboard_tag.h"

/* ---- columns ---- */

/* The columns of a run's metrics: one list for metrics.csv, metrics.jsonl and
 * TensorBoard, and for the folder read back. A column is one line. */

double hu_row_bitops(const hu_metrics_row *row, bool is_forward) {
    if (!row->bits) return (double)NAN;
    return is_forward ? row->bits->spent->forward : row->bits->spent->training;
}

double hu_row_cost(const hu_metrics_row *row, bool is_forward) {
    if (!row->bits) return (double)NAN;
    return is_forward ? hu_bits_relative_forward(row->bits) : hu_bits_relative_training(row->bits);
}

double hu_row_phase_loss(const hu_metrics_row *row, int phase) {
    return row->report->phases > 1 ? row->report->phase[phase].loss : (double)NAN;
}

double hu_row_phase_scale(const hu_metrics_row *row, int phase) {
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

const hu_column *hu_column_at(int place) {
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
    char tag[HU_COLUMNS][HU_BOARD_TAG_BYTES];
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
                                   : hu_tensorboard_tag_about(hu_columns[c].name);
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
        hu_tensorboard_tag(hu_columns[c].board, board_title(*metrics, c), (*metrics)->tag[c]);
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
    for (int place = 1; object && (column = hu_column_at(place)) != NULL; place++) {
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
