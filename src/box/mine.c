#include "box/mine.h"

#include "base/bits.h"
#include "box/match.h"

/* Bits of floats from +0 on are in the order of the floats, with NaN behind infinity. */
uint64_t hu_mine_key(float loss, uint32_t index) {
    uint32_t bits = loss == 0.0f ? 0 : hu_f32_bits(loss) & 0x7fffffffu;
    return (uint64_t)~bits << 32 | index;
}

/* Moves a key down a heap whose smallest key is at the front. */
static void sink(uint64_t *keys, int64_t count, int64_t at) {
    uint64_t key = keys[at];
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && keys[child + 1] < keys[child]) child++;
        if (key <= keys[child]) break;
        keys[at] = keys[child];
        at = child;
    }
    keys[at] = key;
}

uint64_t hu_lot_key(uint32_t word, uint32_t index) {
    return (uint64_t)word << 32 | index;
}

/* A heap gives the first few without sorting all, and needs no room. */
int64_t hu_first_keys(uint64_t *keys, int64_t count, int64_t wanted) {
    int64_t left = count;
    if (wanted > count) wanted = count;
    for (int64_t i = count / 2 - 1; i >= 0; i--) sink(keys, count, i);
    while (count - left < wanted) {
        uint64_t smallest = keys[0];
        keys[0] = keys[--left];
        keys[left] = smallest;
        if (left > 0) sink(keys, left, 0);
    }
    return wanted > 0 ? wanted : 0;
}

void hu_mine(uint64_t *keys, int64_t count, int64_t wanted, int16_t *match) {
    int64_t found = hu_first_keys(keys, count, wanted);
    for (int64_t i = count - found; i < count; i++) match[(uint32_t)keys[i]] = HU_MINED;
}
