/* journal/metrics.h - a run's metrics, row by row: metrics.csv, metrics.jsonl, TensorBoard. */
#ifndef HU_JOURNAL_METRICS_H
#define HU_JOURNAL_METRICS_H
#include "journal/columns.h"
#include "show/tensorboard.h"

typedef struct hu_metrics hu_metrics;

/* Opens the two files of the folder for appending; has_bits: the training has a schedule of bits (a
 * metrics.csv that is there keeps its columns). board is borrowed; NULL: none. Owner frees with
 * hu_metrics_close. HU_ERR_CORRUPT: metrics.csv has other titles. HU_ERR_IO. */
hu_status hu_metrics_open(const char *folder, const hu_metric *metric, bool has_bits,
                          hu_tensorboard *board, hu_metrics **metrics);
void hu_metrics_close(hu_metrics *metrics);

/* Writes a row of all columns. HU_ERR_IO. */
hu_status hu_metrics_write(hu_metrics *metrics, const hu_metrics_row *row);

#endif
