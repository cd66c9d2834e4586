/* layout/fate.h - what a plan makes of a node's output, and what the formats force on it. */
#ifndef HU_LAYOUT_FATE_H
#define HU_LAYOUT_FATE_H
#include "engine/run.h"

typedef enum hu_output_fate {
    HU_OUTPUT_SAVED,      /* stored, and there for the backward pass */
    HU_OUTPUT_TRANSIENT,  /* stored, dead before the backward pass needs it */
    HU_OUTPUT_RECOMPUTED, /* never stored: its readers compute it anew, backward too */
    HU_OUTPUT_FUSED       /* never stored: computed inside its one reader's loop */
} hu_output_fate;

/* "saved", "transient", "recomputed", "fused". Borrowed: valid for ever. */
const char *hu_fate_name(hu_output_fate fate);

/* Of a forward value. */
hu_output_fate hu_run_fate(const hu_run *run, hu_value_id value);

/* Name of the storage that the plan has chosen for a value, whether or not it is stored. */
const char *hu_run_storage_name(const hu_run *run, hu_value_id value);

/* Bits of a code of the value, and bits that each lies in: more where storage=packed has no
 * narrower place. Equal of dense storage, of blocks and of uniform integers, which have no gaps. */
void hu_run_storage_bits(const hu_run *run, hu_value_id value, uint32_t *code, uint32_t *stored);

/* True if no number of the value is known before the largest magnitude of the whole tensor: such a
 * tensor stands in float32 between two loops over the batch, and its nodes join no others. */
bool hu_run_needs_maximum_first(const hu_run *run, hu_value_id value);

/* The same of the value's gradient: of one of its contributions, or of their sum. */
bool hu_run_gradient_needs_maximum_first(const hu_run *run, hu_value_id value);

#endif
