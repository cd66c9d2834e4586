/* kernel/pack/bits.c - eight codes at a time: neighbours close up in words of 64 bits, first by
 * two, then by fours, then by eights, and open again the same way. Words are little endian in
 * memory, as on every machine that halfulp is built and tested on. */
#include "kernel/pack/bits.h"

#include <string.h>

#include "base/cpu.h"
#include "kernel/lane.h"

enum { EIGHT = 8 }; /* codes of a turn: `width` whole bytes */

HU_INLINE uint64_t load_word(const void *from) {
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

HU_INLINE void store_word(void *to, uint64_t word) {
    memcpy(to, &word, sizeof word);
}

/* The low `bits` bits of every field of `field` bits (8, 16, 32, 64). */
HU_INLINE uint64_t low_bits(uint32_t field, uint32_t bits) {
    uint64_t unit = field == 64 ? 1 : UINT64_MAX / (((uint64_t)1 << field) - 1);
    return unit * (((uint64_t)1 << bits) - 1);
}

/* Fields of `field` bits, of which `bits` are used, close up two by two: the upper one moves down
 * to the end of the lower one. */
HU_INLINE uint64_t close_up(uint64_t x, uint32_t field, uint32_t bits) {
    uint64_t lower = low_bits(2 * field, bits);
    return (x & lower) | (x >> (field - bits) & lower << bits);
}

HU_INLINE uint64_t open_up(uint64_t x, uint32_t field, uint32_t bits) {
    uint64_t lower = low_bits(2 * field, bits);
    return (x & lower) | (x & lower << bits) << (field - bits);
}

HU_INLINE uint64_t join_bytes(uint64_t x, uint32_t width) {
    return close_up(close_up(close_up(x, 8, width), 16, 2 * width), 32, 4 * width);
}

HU_INLINE uint64_t split_bytes(uint64_t x, uint32_t width) {
    return open_up(open_up(open_up(x, 32, 4 * width), 16, 2 * width), 8, width);
}

/* Four codes of 2 bytes in a word. */
HU_INLINE uint64_t join_pairs(uint64_t x, uint32_t width) {
    return close_up(close_up(x, 16, width), 32, 2 * width);
}

HU_INLINE uint64_t split_pairs(uint64_t x, uint32_t width) {
    return open_up(open_up(x, 32, 2 * width), 16, width);
}

/* Eight codes of 1 byte; writes 8 bytes, of which `width` are theirs. */
HU_INLINE void join_eight_bytes(const uint8_t *codes, uint32_t width, uint8_t *to) {
    store_word(to, join_bytes(load_word(codes), width));
}

HU_INLINE void split_eight_bytes(const uint8_t *from, uint32_t width, uint8_t *codes) {
    store_word(codes, split_bytes(load_word(from), width));
}

/* Eight codes of 2 bytes, whose 4 width bits, 36 to 60, lie one after the other; writes 16 bytes.
 */
HU_INLINE void join_eight_pairs(const uint8_t *codes, uint32_t width, uint8_t *to) {
    uint64_t low = join_pairs(load_word(codes), width),
             high = join_pairs(load_word(codes + 8), width);
    store_word(to, low | high << 4 * width);
    store_word(to + 8, high >> (64 - 4 * width));
}

HU_INLINE void split_eight_pairs(const uint8_t *from, uint32_t width, uint8_t *codes) {
    uint64_t low = load_word(from), high = load_word(from + 8);
    uint64_t second = low >> 4 * width | high << (64 - 4 * width);
    store_word(codes, split_pairs(low, width));
    store_word(codes + 8, split_pairs(second, width));
}

/* The last codes, in a room that is large enough for a whole turn's reads and writes. */
static void join_rest(size_t n, const uint8_t *codes, size_t code_bytes, uint32_t width,
                      uint8_t *to) {
    uint8_t from[2 * EIGHT] = {0}, room[2 * EIGHT];
    memcpy(from, codes, n * code_bytes);
    if (code_bytes == 1)
        join_eight_bytes(from, width, room);
    else
        join_eight_pairs(from, width, room);
    memcpy(to, room, (n * width + 7) / 8);
}

static void split_rest(size_t n, const uint8_t *from, uint32_t width, uint8_t *codes,
                       size_t code_bytes) {
    uint8_t bytes[2 * EIGHT] = {0}, room[2 * EIGHT];
    memcpy(bytes, from, (n * width + 7) / 8);
    if (code_bytes == 1)
        split_eight_bytes(bytes, width, room);
    else
        split_eight_pairs(bytes, width, room);
    memcpy(codes, room, n * code_bytes);
}

/* Codes, from the first on, whose turns neither write nor read after the end of n: a turn touches
 * 8 code_bytes bytes of a stream of which it takes `width`. */
static size_t whole_turns(size_t n, size_t code_bytes, uint32_t width) {
    size_t margin = (EIGHT * code_bytes - width + width - 1) / width;
    size_t turns = n / EIGHT;
    return turns > margin ? (turns - margin) * EIGHT : 0;
}

/* How many codes vectors have done; a multiple of 8. */
static size_t join_by_vectors(size_t n, const void *codes, size_t code_bytes, uint32_t width,
                              void *bytes) {
#if defined(__x86_64__)
    if (code_bytes == 1 && hu_cpu_isa() >= HU_ISA_AVX2)
        return hu_join_bytes_avx2(n, codes, width, bytes);
#endif
    return 0;
}

static size_t split_by_vectors(size_t n, const void *bytes, uint32_t width, void *codes,
                               size_t code_bytes) {
#if defined(__x86_64__)
    if (code_bytes == 1 && hu_cpu_isa() >= HU_ISA_AVX2)
        return hu_split_bytes_avx2(n, bytes, width, codes);
#endif
    return 0;
}

void hu_join_bits(size_t n, const void *codes, size_t code_bytes, uint32_t width, void *bytes) {
    const uint8_t *from = codes;
    uint8_t *to = bytes;
    size_t at = join_by_vectors(n, codes, code_bytes, width, bytes);
    size_t whole = whole_turns(n, code_bytes, width);
    if (code_bytes == 1)
        for (; at < whole; at += EIGHT) join_eight_bytes(from + at, width, to + at / 8 * width);
    else
        for (; at < whole; at += EIGHT) join_eight_pairs(from + 2 * at, width, to + at / 8 * width);
    for (; at < n; at += EIGHT)
        join_rest(n - at < EIGHT ? n - at : EIGHT, from + at * code_bytes, code_bytes, width,
                  to + at / 8 * width);
}

void hu_split_bits(size_t n, const void *bytes, uint32_t width, void *codes, size_t code_bytes) {
    const uint8_t *from = bytes;
    uint8_t *to = codes;
    size_t at = split_by_vectors(n, bytes, width, codes, code_bytes);
    size_t whole = whole_turns(n, code_bytes, width);
    if (code_bytes == 1)
        for (; at < whole; at += EIGHT) split_eight_bytes(from + at / 8 * width, width, to + at);
    else
        for (; at < whole; at += EIGHT)
            split_eight_pairs(from + at / 8 * width, width, to + 2 * at);
    for (; at < n; at += EIGHT)
        split_rest(n - at < EIGHT ? n - at : EIGHT, from + at / 8 * width, width,
                   to + at * code_bytes, code_bytes);
}
