/* kernel/lookup/lookup.h - pixels of bytes as the floats that they mean: one body per ISA, the same
 * bits. */
#ifndef HU_KERNEL_LOOKUP_LOOKUP_H
#define HU_KERNEL_LOOKUP_LOOKUP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

enum { HU_LOOKUP_BYTES = 256, HU_LOOKUP_CHANNELS = 3, HU_LOOKUP_LANES = 48 };

/* What a byte of each channel means. */
typedef struct hu_lookup {
    float value[HU_LOOKUP_BYTES][HU_LOOKUP_CHANNELS];
    /* Where is_product: with u = byte unit[0] + byte unit[1] and d = u - mean, the value is
     * d scale[0] + d scale[1], each sum one fma of the first product: without a division. */
    bool is_product;
    float unit[2];
    float mean[HU_LOOKUP_LANES], scale[2][HU_LOOKUP_LANES]; /* of the channels in turns */
} hu_lookup;

/* value[b][c] = (b / divisor - mean[c]) / std[c], each step rounded; is_product where the products
 * give the same bits for every byte and channel. */
void hu_lookup_normalise(float divisor, const float mean[HU_LOOKUP_CHANNELS],
                         const float std[HU_LOOKUP_CHANNELS], hu_lookup *lookup);

/* count pixels of 1 to 3 channels, mirrored: in descending order from the first -> values
 * [count, channels]. */
typedef void hu_lookup_row_fn(const hu_lookup *lookup, const uint8_t *first, bool mirrored,
                              int64_t count, int64_t channels, float *values);

typedef struct hu_lookup_kernel {
    hu_lookup_row_fn *row;
} hu_lookup_kernel;

extern const hu_lookup_kernel HU_OF_ISA(hu_lookup_kernel);

/* That of this machine. Borrowed: valid forever. Proof: tests/unit/kernel_lookup_test.c. */
const hu_lookup_kernel *hu_lookup_here(void);

#endif
