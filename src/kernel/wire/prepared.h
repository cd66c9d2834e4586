/* kernel/wire/prepared.h - what hu_wire_init prepares, for wire.h and the kernels behind it. */
#ifndef HU_KERNEL_WIRE_PREPARED_H
#define HU_KERNEL_WIRE_PREPARED_H
#include <stdbool.h>

#include "kernel/pack/pack.h"
#include "kernel/round/round.h"

typedef struct hu_wire {
    hu_format format;
    hu_rounding rounding;
    bool rounds;         /* false: float32 */
    uint32_t bits;       /* of a number on the wire */
    uint32_t code_bytes; /* of a code in memory: 1, 2 or 4 */
    hu_rounder rounder;  /* to the format itself, k = 0 */
    hu_packer packer;    /* between float32 and codes of 1 and 2 bytes, k = 0; of wider formats
                            between float32 and dense bits */
} hu_wire;

#endif
