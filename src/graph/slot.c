#include "graph/slot.h"

#include "base/error.h"

hu_status hu_slot_init(hu_slot *slot, hu_edge *edge, hu_storage_mode mode, int64_t elements,
                       const char *purpose, const char *name) {
    hu_status st = HU_OK;
    const hu_quantizer *quantizer = &edge->quantizer;
    *slot = (hu_slot){.edge = edge, .elements = elements, .buffer = HU_NONE};
    slot->stream = hu_stream_id(purpose, name);
    if (quantizer->rounds)
        HU_TRY(hu_rounder_init(&slot->rounder, &quantizer->format, quantizer->rounding));
    HU_TRY(hu_storage_choose(mode, quantizer->rounds ? &quantizer->format : NULL, elements,
                             &slot->storage));
done:
    return st;
}

static void round_run(const hu_slot *slot, const hu_slot_context *context, int64_t first, int64_t n,
                      const float *x, float *y, hu_round_counts *counts) {
    hu_random_key key = {context->seed, slot->stream, context->step};
    if (slot->edge->quantizer.rounds)
        hu_rounder_run(&slot->rounder, (size_t)n, x, y, &key, (uint64_t)first,
                       context->scan ? NULL : counts);
    else if (context->scan && counts)
        hu_scan_f32((size_t)n, x, counts);
}

void hu_slot_round(const hu_slot *slot, const hu_slot_context *context, int64_t first, int64_t rows,
                   float *x, hu_round_counts *counts) {
    round_run(slot, context, (context->first_row + first) * slot->elements, rows * slot->elements,
              x, x, counts);
}

void hu_slot_store(const hu_slot *slot, const hu_slot_context *context, int64_t first, int64_t rows,
                   float *x, hu_round_counts *counts) {
    hu_slot_round(slot, context, first, rows, x, counts);
    hu_storage_write(&slot->storage, slot->data, first, rows, x);
}

void hu_slot_store_row(const hu_slot *slot, const hu_slot_context *context, const float *x,
                       hu_round_counts *counts) {
    enum { PART = 4096 };
    float part[PART];
    int64_t before = context->first_row * slot->elements;
    for (int64_t i = 0; i < slot->elements; i += PART) {
        int64_t n = slot->elements - i < PART ? slot->elements - i : PART;
        round_run(slot, context, before + i, n, x + i, part, counts);
        bool rounds = slot->edge->quantizer.rounds;
        hu_storage_write_part(&slot->storage, slot->data, i, n, rounds ? part : x + i);
    }
}
