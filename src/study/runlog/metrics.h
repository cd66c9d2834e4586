/* runlog/metrics.h - a run's metrics, row by row: metrics.csv, metrics.jsonl, TensorBoard. */
#ifndef HU_RUNLOG_METRICS_H
#define HU_RUNLOG_METRICS_H
#include <stdbool.h>
#include <stddef.h>

#include "precision/bits.h"
#include "render/tensorboard.h"
#include "runlog/result.h"
#include "train/trainer.h"

/* ---- columns ---- */

/* The columns of a run's metrics: one list for metrics.csv, metrics.jsonl and
 * TensorBoard, and for the folder read back. A column is one line. */

/* What a row is made of. */
typedef struct hu_metrics_row {
    const hu_step_report *report;
    double rate;               /* samples a second, of this process so far */
    double test;               /* metric over the test samples, NaN: not evaluated at this step */
    double validation;         /* metric over the samples held out, NaN likewise */
    const hu_bits_meter *bits; /* NULL: the training has no schedule of bits */
} hu_metrics_row;

typedef enum hu_column_kind {
    HU_COLUMN_WHOLE, /* int64_t; 0 where a line has none */
    HU_COLUMN_REAL,  /* double; NaN where a line has none */
    HU_COLUMN_FLAG,  /* bool; false where a line has none */
    HU_COLUMN_BATCH, /* double that only metrics have which a batch's loss tells */
    HU_COLUMN_TEST,  /* double that only rows with an evaluation have */
    HU_COLUMN_HELD,  /* the same of trainings that hold samples out: metrics.csv of others has no
                        such column */
    HU_COLUMN_TURN,  /* double that only trainings have which learn in turns, as above */
    HU_COLUMN_BITS   /* double that only trainings with a schedule of bits have: metrics.csv of
                        others has no such column */
} hu_column_kind;

/* X(name, KIND, cell, place, board, curve, value)
 *   name   title in metrics.csv, key in metrics.jsonl, member of hu_metrics_record; "metric" at
 *          its end stands for the name of the task's first metric
 *   cell   printf form of a double in metrics.csv
 *   place  in a line of metrics.jsonl, from 1 on; 0: not there
 *   board  group of its scalar in TensorBoard ("train/loss"), NULL: it is missing
 *   curve  heading of its curve in the report, before the metric's name if it has one; NULL: none
 *   value  of const hu_metrics_row *row */

/* clang-format off */
#define HU_METRICS_COLUMNS(X)                                                                      \
    X(step,                WHOLE, "%.17g",  1, NULL, NULL, row->report->step)                      \
    X(epoch,               WHOLE, "%.17g",  2, NULL, NULL, row->report->epoch)                     \
    X(loss,                REAL,  "%.17g",  3, "train", "Training loss", row->report->loss)        \
    X(batch_metric,        BATCH, "%.17g",  0, "train", NULL, row->report->metric)                 \
    X(lr,                  REAL,  "%.17g",  4, "train", NULL, row->report->lr)                     \
    X(loss_scale,          REAL,  "%.9g",   5, "scaling", NULL, row->report->scale)                \
    X(skipped,             FLAG,  "%.0f",   7, "scaling", NULL, row->report->skipped)              \
    X(gradient_norm,       REAL,  "%.17g",  6, "train", NULL, row->report->gradient_norm)          \
    X(images_per_second,   REAL,  "%.1f",   0, "speed", NULL, row->rate)                           \
    X(test_metric,         TEST,  "%.17g", 10, "test", "Test", row->test)                          \
    X(low_precision_ratio, REAL,  "%.17g",  8, "precision", NULL, row->report->low_ratio)          \
    X(promoted,            WHOLE, "%.17g",  9, "precision", NULL, row->report->promoted)           \
    X(forward_bitops,      BITS,  "%.17g", 11, NULL, NULL, hu_row_bitops(row, true))               \
    X(training_bitops,     BITS,  "%.17g", 12, NULL, NULL, hu_row_bitops(row, false))              \
    X(relative_forward_cost,  BITS, "%.17g", 13, "spent", NULL, hu_row_cost(row, true))            \
    X(relative_training_cost, BITS, "%.17g", 14, "spent", NULL, hu_row_cost(row, false))           \
    X(validation_metric,   HELD,  "%.17g", 15, "validation", "Validation", row->validation)        \
    X(turn_1_loss,         TURN,  "%.17g", 16, "train", NULL, hu_row_phase_loss(row, 0))           \
    X(turn_2_loss,         TURN,  "%.17g", 17, "train", NULL, hu_row_phase_loss(row, 1))           \
    X(turn_2_loss_scale,   TURN,  "%.9g",  18, "scaling", NULL, hu_row_phase_scale(row, 1))

/* clang-format on */

typedef int64_t hu_column_WHOLE;
typedef double hu_column_REAL;
typedef bool hu_column_FLAG;
typedef double hu_column_BATCH;
typedef double hu_column_TEST;
typedef double hu_column_HELD;
typedef double hu_column_TURN;
typedef double hu_column_BITS;

/* One line of metrics.jsonl; of what the line does not have, NaN or 0. */
typedef struct hu_metrics_record {
#define HU_COLUMN_MEMBER(name, kind, cell, place, board, curve, value) hu_column_##kind name;
    HU_METRICS_COLUMNS(HU_COLUMN_MEMBER)
#undef HU_COLUMN_MEMBER
    char *culprit; /* the tensor in which a non-finite number was first found; NULL: none */
} hu_metrics_record;

enum {
#define HU_COLUMN_COUNT_ONE(...) +1
    HU_COLUMNS = 0 HU_METRICS_COLUMNS(HU_COLUMN_COUNT_ONE),
#undef HU_COLUMN_COUNT_ONE
    HU_COLUMNS_ALWAYS = 3 /* places 1 to 3 of a line stand in those of every version */
};

typedef struct hu_column {
    const char *name;
    hu_column_kind kind;
    const char *cell;
    int place;
    const char *board;
    const char *curve;
    double (*value)(const hu_metrics_row *row);
    size_t offset; /* in hu_metrics_record */
} hu_column;

/* [HU_COLUMNS] in the order of metrics.csv. */
extern const hu_column hu_columns[];

/* Of the task's first metric: only rows with an evaluation have it. */
bool hu_column_is_evaluated(const hu_column *column);

/* The column's number in a record that was read. */
double hu_column_of(const hu_column *column, const hu_metrics_record *record);

/* The column's title in a run of a metric: "test_accuracy" of test_metric. */
const char *hu_column_title(const hu_column *column, const hu_metric *metric,
                            char title[HU_METRIC_KEY_BYTES]);

typedef struct hu_metrics hu_metrics;

/* What only some trainings have: columns, and places of samples. */
typedef struct hu_metrics_more {
    bool bits;   /* it has a schedule of bits */
    bool held;   /* it holds samples out */
    bool phases; /* it learns in turns */
    /* What TensorBoard is told the rate in, "images" or "tokens" (borrowed: valid forever), and
     * how many of them are a sample. metrics.csv tells it in samples, as all versions did. */
    const char *counted;
    double per_sample;
} hu_metrics_more;

/* Opens the two files of the folder for appending (a metrics.csv that is present keeps its
 * columns). board is borrowed; NULL: none. Owner frees with hu_metrics_close. HU_ERR_CORRUPT:
 * metrics.csv has other titles. HU_ERR_IO. */
hu_status hu_metrics_open(const char *folder, const hu_metric *metric, hu_metrics_more more,
                          hu_tensorboard *board, hu_metrics **metrics);
void hu_metrics_close(hu_metrics *metrics);

/* Waits until all rows are on the disk. HU_ERR_IO. */
hu_status hu_metrics_sync(hu_metrics *metrics);

/* Writes a row of all columns. HU_ERR_IO. */
hu_status hu_metrics_write(hu_metrics *metrics, const hu_metrics_row *row);

/* Bits.jsonl: the bits of a training's layers, written while they change, also for TensorBoard */

typedef struct hu_bit_log hu_bit_log;

/* Opens the folder's file for appending. Meter and board (NULL: none) are borrowed. Owner closes.
 * HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_bit_log_open(const char *folder, const hu_bits_meter *meter, hu_tensorboard *board,
                          hu_bit_log **log);

/* After a step: a line of the layers whose bits differ from those of the step before, if there are
 * any; has_row: the metrics have a row, and what is learned has a line too. HU_ERR_IO. */
hu_status hu_bit_log_step(hu_bit_log *log, int64_t step, bool has_row);

/* NULL is allowed. */
void hu_bit_log_close(hu_bit_log *log);

/* Waits until all lines are on the disk. HU_ERR_IO. */
hu_status hu_bit_log_sync(hu_bit_log *log);

#endif
