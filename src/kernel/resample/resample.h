/* kernel/resample/resample.h - bytes as weighted sums of neighbouring bytes, in integers: one body
 * per ISA, the same bits. */
#ifndef HU_KERNEL_RESAMPLE_RESAMPLE_H
#define HU_KERNEL_RESAMPLE_RESAMPLE_H
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

enum { HU_RESAMPLE_BITS = 22, HU_RESAMPLE_CHANNELS = 3 };

/* Weights of one axis, not negative and together about 2^22: place i is the sum over k < count[i]
 * of weight[i * most + k] times what stands at first[i] + k, divided by 2^22, rounded half up, at
 * most 255. */
typedef struct hu_resample_axis {
    int64_t places, most;
    int64_t *first, *count;
    int32_t *weight;
} hu_resample_axis;

/* One row of pixels of three bytes -> [places, 3]. Reads one byte behind the last pixel that has a
 * weight, and writes one behind the last place. */
typedef void hu_resample_row_fn(const hu_resample_axis *axis, const uint8_t *from, uint8_t *to);

/* Place i of all columns: rows [count[i], bytes] -> to [bytes]; sums: room for [bytes]. */
typedef void hu_resample_column_fn(const hu_resample_axis *axis, int64_t i, const uint8_t *from,
                                   int64_t bytes, int32_t *sums, uint8_t *to);

typedef struct hu_resample {
    hu_resample_row_fn *row;
    hu_resample_column_fn *column;
} hu_resample;

extern const hu_resample HU_OF_ISA(hu_resample);

/* Those of this machine. Borrowed: valid for ever. Proof: tests/unit/kernel_resample_test.c. */
const hu_resample *hu_resample_here(void);

#endif
