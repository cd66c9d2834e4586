#include "comm/code.h"

#include <math.h>

#include "base/rng.h"

void hu_comm_pack_whole(uint32_t bits, int64_t n, const float *code, uint8_t *to) {
    uint64_t held = 0;
    uint32_t count = 0, mask = (1u << bits) - 1u;
    for (int64_t i = 0; i < n; i++) {
        held |= (uint64_t)((uint32_t)(int32_t)code[i] & mask) << count;
        for (count += bits; count >= 8; count -= 8, held >>= 8) *to++ = (uint8_t)held;
    }
    if (count > 0) *to = (uint8_t)held;
}

void hu_comm_unpack_whole(uint32_t bits, int64_t n, const uint8_t *from, float *code) {
    uint64_t held = 0;
    uint32_t count = 0, mask = (1u << bits) - 1u, sign = 1u << (bits - 1);
    for (int64_t i = 0; i < n; i++) {
        for (; count < bits; count += 8) held |= (uint64_t)*from++ << count;
        uint32_t field = (uint32_t)held & mask;
        code[i] = (float)((int32_t)(field ^ sign) - (int32_t)sign);
        held >>= bits;
        count -= bits;
    }
}

float hu_comm_draw_whole(double x, uint32_t word) {
    double below = floor(x);
    return (float)(below + (hu_word_share(word) < x - below));
}
