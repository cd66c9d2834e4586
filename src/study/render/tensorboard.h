/* render/tensorboard.h - TensorBoard's event file beside metrics.csv: events.out.tfevents.*.
 * Records of length, masked CRC-32C, and an Event message (tensorboard.proto). */
#ifndef HU_SHOW_TENSORBOARD_H
#define HU_SHOW_TENSORBOARD_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

typedef struct hu_tensorboard hu_tensorboard;

/* One number of a step. */
typedef struct hu_scalar {
    const char *tag;           /* "train/loss": what is in front of the slash is its group */
    double value;              /* NaN and infinities are written as they are */
    const char *title, *about; /* its name and a sentence about it, wanted once for each tag; NULL:
                                  they were told */
} hu_scalar;

/* Opens the folder's event file, or makes one. Of an existing file the events of `step` and later
 * ones are cut off, and what is after its last whole record. A file without any is set aside
 * (hu_file_set_aside) and begun anew: what is drawn from a training never stops it.
 *
 *   note  [capacity] a line for what was damaged is added, if anything was
 *
 * HU_ERR_IO, HU_ERR_MEMORY. Owner closes. */
hu_status hu_tensorboard_open(const char *directory, int64_t step, char *note, size_t capacity,
                              hu_tensorboard **board);

/* Numbers of one step, as many as there are. Written out at once.
 * Proof: tests/program/tensorboard_test.py, tests/program/bit_record_test.py. */
hu_status hu_tensorboard_scalars(hu_tensorboard *board, int64_t step, const hu_scalar *scalar,
                                 size_t count);

/* How often each exponent occurs: bucket i counts exponent first + i. */
hu_status hu_tensorboard_exponents(hu_tensorboard *board, int64_t step, const char *tag,
                                   int32_t first, const uint64_t *bucket, size_t count);

/* Waits until all events are on the disk. HU_ERR_IO. */
hu_status hu_tensorboard_sync(hu_tensorboard *board);

/* Closes; NULL is allowed. */
void hu_tensorboard_close(hu_tensorboard *board);

#endif
