/* layout/slots.h - makes the slots of a run. */
#ifndef HU_LAYOUT_SLOTS_H
#define HU_LAYOUT_SLOTS_H
#include "engine/slot.h"

/* Prepares rounding and storage for the edge's quantizer. shape: of a row, whose last extent is
 * what blocks are cut from. */
hu_status hu_slot_init(hu_slot *slot, hu_edge *edge, hu_storage_mode mode, const hu_shape *shape,
                       const char *purpose, const char *name);
void hu_slot_release(hu_slot *slot);

#endif
