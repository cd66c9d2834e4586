#include "layout/slots.h"

#include "base/error.h"
#include "base/memory.h"

static hu_status init_blocks(hu_slot *slot, hu_storage_mode mode, int64_t line) {
    hu_status st = HU_OK;
    void *block;
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    HU_TRY(hu_alloc(sizeof *slot->blocker, &block));
    slot->blocker = block;
    HU_TRY(hu_blocker_init(slot->blocker, quantizer->block, quantizer->rounding, slot->elements,
                           line));
    hu_storage_choose_blocks(mode, slot->blocker, &slot->storage);
done:
    return st;
}

hu_status hu_slot_init(hu_slot *slot, hu_edge *edge, hu_storage_mode mode, const hu_shape *shape,
                       const char *purpose, const char *name) {
    hu_status st = HU_OK;
    const hu_quantizer *quantizer = &edge->quantizer;
    bool is_number = quantizer->kind == HU_QUANTIZER_FLOAT;
    *slot = (hu_slot){.edge = edge,
                      .elements = hu_shape_elements(shape),
                      .buffer = HU_NONE,
                      .staging = HU_NONE,
                      .history = HU_NONE,
                      .top = HU_NONE};
    slot->stream = hu_stream_id(purpose, name);
    if (quantizer->kind == HU_QUANTIZER_BLOCK)
        return init_blocks(slot, mode, shape->rank ? shape->extent[shape->rank - 1] : 1);
    if (is_number) HU_TRY(hu_rounder_init(&slot->rounder, &quantizer->format, quantizer->rounding));
    HU_TRY(hu_storage_choose(mode, is_number ? &quantizer->format : NULL, slot->elements,
                             &slot->storage));
done:
    return st;
}

void hu_slot_release(hu_slot *slot) {
    hu_free(slot->blocker);
    slot->blocker = NULL;
}
