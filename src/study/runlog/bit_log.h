/* runlog/bit_log.h - the bits of a training's layers, written while they change: bits.jsonl of a
 * run folder (docs/reference/run-folder.md), and TensorBoard. */
#ifndef HU_JOURNAL_BIT_LOG_H
#define HU_JOURNAL_BIT_LOG_H
#include "precision/bits.h"
#include "render/tensorboard.h"

typedef struct hu_bit_log hu_bit_log;

/* Opens the folder's file for appending. Meter and board (NULL: none) are borrowed. Owner closes.
 * HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_bit_log_open(const char *folder, const hu_bits_meter *meter, hu_tensorboard *board,
                          hu_bit_log **log);

/* Behind a step: a line of the layers whose bits differ from those of the step before, if there are
 * any; has_row: the metrics have a row, and what is learned has a line too. HU_ERR_IO. */
hu_status hu_bit_log_step(hu_bit_log *log, int64_t step, bool has_row);

/* NULL is allowed. */
void hu_bit_log_close(hu_bit_log *log);

/* Waits until all lines are on the disk. HU_ERR_IO. */
hu_status hu_bit_log_sync(hu_bit_log *log);

#endif
