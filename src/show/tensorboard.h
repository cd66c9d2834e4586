/* show/tensorboard.h - TensorBoard's event file beside metrics.csv: events.out.tfevents.*.
 * Records of length, masked CRC-32C, and an Event message (tensorboard.proto). */
#ifndef HU_SHOW_TENSORBOARD_H
#define HU_SHOW_TENSORBOARD_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

typedef struct hu_tensorboard hu_tensorboard;

/* One number of a step. */
typedef struct hu_scalar {
    const char *tag; /* "loss" */
    double value;    /* NaN and infinities are written as they are */
} hu_scalar;

/* Opens the folder's event file, or makes one. Of an existing file the events of `step` and later
 * ones are cut off, and a last record that is not whole. HU_ERR_CORRUPT if the file is of another
 * kind; HU_ERR_IO, HU_ERR_MEMORY. Owner closes. */
hu_status hu_tensorboard_open(const char *directory, int64_t step, hu_tensorboard **board);

/* Numbers of one step, as many as there are. Written out at once.
 * Proof: tests/program/tensorboard_test.py, tests/program/bit_record_test.py. */
hu_status hu_tensorboard_scalars(hu_tensorboard *board, int64_t step, const hu_scalar *scalar,
                                 size_t count);

/* How often each exponent occurs: bucket i counts exponent first + i. */
hu_status hu_tensorboard_exponents(hu_tensorboard *board, int64_t step, const char *tag,
                                   int32_t first, const uint64_t *bucket, size_t count);

/* Closes; NULL is allowed. HU_ERR_IO if something could not be written. */
hu_status hu_tensorboard_close(hu_tensorboard *board);

#endif
