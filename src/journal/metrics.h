/* journal/metrics.h - a run's metrics, row by row: metrics.csv, metrics.jsonl, TensorBoard. */
#ifndef HU_JOURNAL_METRICS_H
#define HU_JOURNAL_METRICS_H
#include "journal/columns.h"
#include "show/tensorboard.h"

typedef struct hu_metrics hu_metrics;

/* What only some trainings have: columns, and places of samples. */
typedef struct hu_metrics_more {
    bool bits;  /* it has a schedule of bits */
    bool held;  /* it holds samples out */
    bool turns; /* it learns in turns */
    /* What TensorBoard is told the rate in, "images" or "tokens" (borrowed: valid for ever), and
     * how many of them are a sample. metrics.csv tells it in samples, as all versions did. */
    const char *counted;
    double per_sample;
} hu_metrics_more;

/* Opens the two files of the folder for appending (a metrics.csv that is there keeps its columns).
 * board is borrowed; NULL: none. Owner frees with
 * hu_metrics_close. HU_ERR_CORRUPT: metrics.csv has other titles. HU_ERR_IO. */
hu_status hu_metrics_open(const char *folder, const hu_metric *metric, hu_metrics_more more,
                          hu_tensorboard *board, hu_metrics **metrics);
void hu_metrics_close(hu_metrics *metrics);

/* Waits until all rows are on the disk. HU_ERR_IO. */
hu_status hu_metrics_sync(hu_metrics *metrics);

/* Writes a row of all columns. HU_ERR_IO. */
hu_status hu_metrics_write(hu_metrics *metrics, const hu_metrics_row *row);

#endif
