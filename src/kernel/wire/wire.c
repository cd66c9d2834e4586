/* kernel/wire/wire.c - from a format and a mode to kernels. */
#include "kernel/wire/wire.h"

#include <string.h>

#include "base/error.h"
#include "kernel/block/scale.h"
#include "kernel/wire/bits.h"
#include "kernel/wire/plain.h"

static const hu_format float32 = {
    .exp_bits = 8, .man_bits = 23, .bias = 127, .subnormals = 1, .specials = HU_SPECIALS_IEEE};

hu_status hu_wire_init(hu_wire *wire, const hu_format *format, hu_rounding rounding) {
    hu_status st = HU_OK;
    memset(wire, 0, sizeof *wire);
    if (!format) format = &float32;
    HU_TRY(hu_rounder_init(&wire->rounder, format, rounding));
    wire->format = *format;
    wire->rounding = rounding;
    wire->rounds = !hu_format_equal(format, &float32);
    wire->bits = hu_format_bits(format);
    wire->code_bytes = wire->bits <= 8 ? 1 : wire->bits <= 16 ? 2 : 4;
    int code_bits = wire->code_bytes < sizeof(float) ? 8 * (int)wire->code_bytes : 0;
    HU_TRY(hu_wire_packer_init(&wire->packer, format, code_bits));
done:
    if (st != HU_OK) memset(wire, 0, sizeof *wire);
    return st;
}

size_t hu_wire_bytes(const hu_wire *wire, size_t n) {
    return n / 8 * wire->bits + (n % 8 * wire->bits + 7) / 8;
}

int32_t hu_wire_clamp(const hu_wire *wire, int32_t k) {
    return hu_scale_clamp(&wire->format, k);
}

void hu_wire_quantise(const hu_wire *wire, size_t n, const float *x, int32_t k, void *codes,
                      const hu_random_key *key, uint64_t first_index, hu_round_counts *counts) {
    hu_wire_quantise_plain(wire, n, x, hu_wire_clamp(wire, k), codes, key, first_index, counts);
}

void hu_wire_decode(const hu_wire *wire, size_t n, const void *codes, int32_t k, float *y) {
    hu_wire_decode_plain(wire, n, codes, hu_wire_clamp(wire, k), y);
}

void hu_wire_add(const hu_wire *wire, size_t n, const void *a, void *sum, const hu_random_key *key,
                 uint64_t first_index, hu_round_counts *counts) {
    hu_wire_add_plain(wire, n, a, sum, key, first_index, counts);
}

/* True if a code in memory is what travels. */
static bool is_whole(const hu_wire *wire) {
    return !wire->rounds || (wire->code_bytes < 4 && wire->bits == 8 * wire->code_bytes);
}

void hu_wire_pack_bits(const hu_wire *wire, size_t n, const void *codes, void *bytes) {
    if (is_whole(wire))
        memcpy(bytes, codes, n * wire->code_bytes);
    else if (wire->code_bytes == sizeof(float))
        hu_packer_pack(&wire->packer, n, codes, bytes, NULL);
    else
        hu_join_bits(n, codes, wire->code_bytes, wire->bits, bytes);
}

void hu_wire_unpack_bits(const hu_wire *wire, size_t n, const void *bytes, void *codes) {
    if (is_whole(wire))
        memcpy(codes, bytes, n * wire->code_bytes);
    else if (wire->code_bytes == sizeof(float))
        hu_packer_unpack(&wire->packer, n, bytes, codes);
    else
        hu_split_bits(n, bytes, wire->bits, codes, wire->code_bytes);
}
