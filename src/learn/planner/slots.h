/* planner/slots.h - makes the slots of a run. */
#ifndef HU_LAYOUT_SLOTS_H
#define HU_LAYOUT_SLOTS_H
#include "engine/internal.h"

/* Makes a slot that is prepared for the edge's quantizer. A row has the shape of the value, whose
 * last extent is what blocks are cut from. stream: of stochastic rounding; in_loop: a loop rounds
 * its rows. */
hu_status hu_slot_init(hu_slot *slot, hu_edge *edge, hu_storage_mode mode,
                       const hu_value_info *value, uint64_t stream, bool in_loop);
void hu_slot_release(hu_slot *slot);

/* Bytes of rows of the slot, whatever it holds within its capacity. */
size_t hu_slot_bytes(const hu_slot *slot, hu_storage_mode mode, int64_t rows);

/* For the rehearsal: the storage within the capacity that takes most scratch, a packed one if there
 * is any. hu_slot_prepare goes back to the quantizer's own. */
hu_status hu_slot_rehearse_storage(hu_slot *slot, hu_storage_mode mode);

#endif
