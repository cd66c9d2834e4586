#include "planner/slots.h"

#include <stdio.h>

#include <halfulp/format.h>

#include "base/error.h"
#include "base/memory.h"

static hu_status init_blocks(hu_slot *slot, hu_storage_mode mode, int64_t line) {
    hu_status st = HU_OK;
    void *block;
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    HU_TRY(hu_alloc(sizeof *slot->blocker, &block));
    slot->blocker = block;
    HU_TRY(hu_blocker_init(slot->blocker, quantizer->block, quantizer->rounding,
                           hu_slot_rounded_elements(slot), line));
    hu_storage_choose_blocks(hu_slot_mode(slot, mode), slot->blocker, &slot->storage);
    if (slot->in_loop)
        HU_TRY(hu_storage_choose(HU_STORAGE_FLOAT32, NULL, slot->elements, &slot->storage));
done:
    return st;
}

/* Channels of a parameter are its first extent. */
static hu_status init_uniform(hu_slot *slot, hu_storage_mode mode, const hu_shape *shape) {
    hu_status st = HU_OK;
    bool has_channels = slot->edge->quantizer.per_channel && shape->rank > 0;
    slot->scales = has_channels ? shape->extent[0] : 1;
    HU_TRY(HU_NEW(&slot->uniformer));
    HU_TRY(HU_NEW_ARRAY(&slot->scale, (size_t)slot->scales));
    HU_TRY(hu_slot_prepare(slot, mode));
done:
    return st;
}

hu_status hu_slot_init(hu_slot *slot, hu_edge *edge, hu_storage_mode mode,
                       const hu_value_info *value, uint64_t stream, bool in_loop) {
    const hu_shape *shape = &value->shape;
    const hu_quantizer *quantizer = &edge->quantizer;
    *slot = (hu_slot){.edge = edge,
                      .prepared = *quantizer,
                      .capacity_bits = hu_quantizer_can_change(quantizer) ? edge->capacity_bits : 0,
                      .elements = hu_shape_elements(shape),
                      .steps = value->steps,
                      .in_loop = in_loop,
                      .buffer = HU_NONE,
                      .residual = HU_NONE,
                      .staging = HU_NONE,
                      .history = HU_NONE,
                      .range = HU_NONE,
                      .top = HU_NONE,
                      .stream = stream};
    if (quantizer->kind == HU_QUANTIZER_BLOCK)
        return init_blocks(slot, mode, shape->rank ? shape->extent[shape->rank - 1] : 1);
    if (quantizer->kind == HU_QUANTIZER_UNIFORM) return init_uniform(slot, mode, shape);
    return hu_slot_prepare(slot, mode);
}

/* Storage for the widest number format of so many bits. */
static hu_status choose_widest(uint32_t bits, hu_storage_mode mode, int64_t elements,
                               hu_storage *storage) {
    enum { FLOAT32_BITS = 32, LEAST_BITS = 3, WIDE_EXPONENT = 8, NARROW_EXPONENT = 2 };
    if (bits >= FLOAT32_BITS) return hu_storage_choose(mode, NULL, elements, storage);
    if (bits < LEAST_BITS) bits = LEAST_BITS;
    uint32_t exponent = bits > WIDE_EXPONENT ? WIDE_EXPONENT : NARROW_EXPONENT;
    const hu_format format = {.exp_bits = (uint8_t)exponent,
                              .man_bits = (uint8_t)(bits - 1 - exponent),
                              .subnormals = 1,
                              .bias = (1 << (exponent - 1)) - 1};
    return hu_storage_choose(mode, &format, elements, storage);
}

/* Codes of so many bits, or float32. */
static size_t widest_uniform(const hu_slot *slot, hu_storage_mode mode, int64_t rows) {
    enum { BYTE_BITS = 8 };
    size_t bits = (size_t)slot->elements * slot->capacity_bits;
    if (hu_slot_mode(slot, mode) == HU_STORAGE_FLOAT32)
        return hu_storage_bytes(&slot->storage, rows);
    return (bits + BYTE_BITS - 1) / BYTE_BITS * (size_t)rows;
}

size_t hu_slot_bytes(const hu_slot *slot, hu_storage_mode mode, int64_t rows) {
    size_t bytes = hu_storage_bytes(&slot->storage, rows), most;
    hu_storage widest;
    if (slot->capacity_bits == 0) return bytes;
    if (slot->uniformer) return widest_uniform(slot, mode, rows);
    mode = hu_slot_mode(slot, mode);
    if (choose_widest(slot->capacity_bits, mode, slot->elements, &widest) != HU_OK) return bytes;
    most = hu_storage_bytes(&widest, rows);
    return most > bytes ? most : bytes;
}

hu_status hu_slot_rehearse_storage(hu_slot *slot, hu_storage_mode mode) {
    enum { PACKED_BITS = 16 };
    uint32_t bits = slot->capacity_bits < PACKED_BITS ? slot->capacity_bits : PACKED_BITS;
    if (slot->capacity_bits == 0 || slot->uniformer) return HU_OK;
    return choose_widest(bits, hu_slot_mode(slot, mode), slot->elements, &slot->storage);
}

void hu_slot_release(hu_slot *slot) {
    hu_free(slot->blocker);
    slot->blocker = NULL;
    hu_free(slot->uniformer);
    slot->uniformer = NULL;
    hu_free(slot->scale);
    slot->scale = NULL;
}
