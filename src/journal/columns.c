#include "journal/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double hu_row_bitops(const hu_metrics_row *row, bool is_forward) {
    if (!row->bits) return (double)NAN;
    return is_forward ? row->bits->spent->forward : row->bits->spent->training;
}

double hu_row_cost(const hu_metrics_row *row, bool is_forward) {
    if (!row->bits) return (double)NAN;
    return is_forward ? hu_bits_relative_forward(row->bits) : hu_bits_relative_training(row->bits);
}

double hu_row_turn_loss(const hu_metrics_row *row, int turn) {
    return row->report->turns > 1 ? row->report->turn[turn].loss : (double)NAN;
}

double hu_row_turn_scale(const hu_metrics_row *row, int turn) {
    return row->report->turns > 1 ? (double)row->report->turn[turn].scale : (double)NAN;
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

bool hu_column_is_judged(const hu_column *column) {
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
