#include "kernel/wire/bits.h"

void hu_join_bits(size_t n, const void *codes, size_t code_bytes, uint32_t width, void *bytes) {
    const uint32_t mask = (1u << width) - 1;
    uint8_t *to = bytes;
    uint64_t held = 0;
    uint32_t filled = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t code =
            code_bytes == 1 ? ((const uint8_t *)codes)[i] : ((const uint16_t *)codes)[i];
        held |= (uint64_t)(code & mask) << filled;
        for (filled += width; filled >= 8; filled -= 8, held >>= 8) *to++ = (uint8_t)held;
    }
    if (filled) *to = (uint8_t)held;
}

void hu_split_bits(size_t n, const void *bytes, uint32_t width, void *codes, size_t code_bytes) {
    const uint32_t mask = (1u << width) - 1;
    const uint8_t *from = bytes;
    uint64_t held = 0;
    uint32_t filled = 0;
    for (size_t i = 0; i < n; i++) {
        for (; filled < width; filled += 8) held |= (uint64_t)*from++ << filled;
        if (code_bytes == 1)
            ((uint8_t *)codes)[i] = (uint8_t)(held & mask);
        else
            ((uint16_t *)codes)[i] = (uint16_t)(held & mask);
        held >>= width;
        filled -= width;
    }
}
