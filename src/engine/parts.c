#include "engine/parts.h"

#include <string.h>

/* Where the row of a sample lies. */
static unsigned char *row_of(const hu_slot *slot, int64_t sample) {
    return slot->data + hu_storage_bytes(&slot->storage, sample);
}

void hu_parts_read(const hu_slot *slot, const hu_parts *parts, float *rows) {
    int64_t n = hu_part_elements(slot);
    for (int64_t k = 0; k < parts->count; k++) {
        float *to = rows + k * n;
        const float *from = hu_storage_read_part(
            &slot->storage, row_of(slot, parts->first + parts->sample[k]), parts->step * n, n, to);
        if (from != to) memcpy(to, from, (size_t)n * sizeof *to);
    }
}

/* Without random words and scales of their own the place of numbers does not matter: all parts are
 * one run. */
void hu_parts_round(const hu_slot *slot, const hu_slot_context *context, const hu_parts *parts,
                    float *x, hu_round_counts *counts) {
    int64_t n = hu_part_elements(slot);
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    bool are_apart = quantizer->rounding == HU_ROUND_STOCHASTIC || hu_quantizer_looks(quantizer);
    are_apart = are_apart || parts->lengths;
    int64_t runs = are_apart ? parts->count : 1;
    for (int64_t k = 0; k < runs; k++) {
        int64_t length = are_apart ? hu_parts_there(parts, n, k) : n * parts->count;
        if (length == 0) continue;
        hu_slot_round_part(slot, context, parts->first + parts->sample[k], parts->step * n, length,
                           x + k * n, counts);
    }
}

void hu_parts_store(const hu_slot *slot, const hu_parts *parts, const float *x) {
    int64_t n = hu_part_elements(slot);
    for (int64_t k = 0; k < parts->count; k++)
        hu_storage_write_part(&slot->storage, row_of(slot, parts->first + parts->sample[k]),
                              parts->step * n, n, x + k * n);
}

void hu_parts_clear(const hu_slot *slot, int64_t sample, int64_t step, const float *zeros) {
    int64_t n = hu_part_elements(slot);
    for (; step < slot->steps; step++)
        hu_storage_write_part(&slot->storage, row_of(slot, sample), step * n, n, zeros);
}
