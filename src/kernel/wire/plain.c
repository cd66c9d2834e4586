/* kernel/wire/plain.c - rounder and packer, block by block. */
#include "kernel/wire/plain.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "kernel/block/scale.h"

enum { BLOCK = 1024 }; /* numbers between rounding and packing */

static size_t block_of(size_t n, size_t at) {
    return n - at < BLOCK ? n - at : BLOCK;
}

/* Multiplies by 2^k. Exact wherever the results are binary32 numbers: binary64 has room for every
 * product of a binary32 number, and |k| of a clamped scale is below 300. */
static void scale_by_power(size_t n, const float *x, int32_t k, float *y) {
    if (k >= -126 && k <= 127) { /* as exact, and shorter */
        const float power = ldexpf(1, k);
        for (size_t i = 0; i < n; i++) y[i] = x[i] * power;
        return;
    }
    const double power = ldexp(1, k);
    for (size_t i = 0; i < n; i++) y[i] = (float)((double)x[i] * power);
}

/* Codes of 4 bytes that are not finite, in formats that lack codes for some of these, become what
 * their dense bits say: whoever sends a number keeps what the others get. */
static void settle(const hu_wire *w, size_t n, float *codes) {
    const hu_packer *p = &w->packer;
    const uint32_t infinity = p->is_infinity_lost ? w->rounder.max_bits : HU_F32_INFINITY;
    const uint32_t nan = p->is_nan_lost ? 0 : HU_F32_NAN;
    int is_special = 0;
    if (w->format.specials == HU_SPECIALS_IEEE) return;
    for (size_t i = 0; i < n; i++) is_special |= !(fabsf(codes[i]) <= FLT_MAX);
    for (size_t i = 0; is_special && i < n; i++) {
        uint32_t bits = hu_f32_bits(codes[i]), u = bits & ~HU_F32_SIGN, sign = bits ^ u;
        uint32_t special = u == HU_F32_INFINITY ? sign | infinity : (sign & p->nan_sign) | nan;
        if (u >= HU_F32_INFINITY) codes[i] = hu_f32_of_bits(special);
    }
}

/* Codes of 4 bytes are the numbers f: rounded in the carrier, scaled back exactly. */
static void quantise_wide(const hu_wire *w, const hu_rounder *scaled, size_t n, const float *x,
                          int32_t k, float *codes, const hu_random_key *key, uint64_t first_index,
                          hu_round_counts *counts) {
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = block_of(n, at);
        hu_rounder_run(k ? scaled : &w->rounder, count, x + at, codes + at, key, first_index + at,
                       counts);
        if (k) scale_by_power(count, codes + at, -k, codes + at);
        settle(w, count, codes + at);
    }
}

/* Codes of 1 and 2 bytes do not depend on k: a scaled format differs in its bias alone. */
static void quantise_narrow(const hu_rounder *rounder, const hu_packer *packer, size_t n,
                            const float *x, char *codes, const hu_random_key *key,
                            uint64_t first_index, hu_round_counts *counts) {
    float y[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = block_of(n, at);
        hu_rounder_run(rounder, count, x + at, y, key, first_index + at, counts);
        hu_packer_pack(packer, count, y, codes + hu_packer_bytes(packer, at), NULL);
    }
}

hu_status hu_wire_packer_init(hu_packer *packer, const hu_format *format, int code_bits) {
    hu_status st = hu_packer_init(packer, format, code_bits);
    if (st == HU_OK && packer->is_nan_lost && !packer->is_infinity_lost)
        packer->nan_code = packer->infinity_code;
    return st;
}

void hu_wire_quantise_plain(const hu_wire *w, size_t n, const float *x, int32_t k, void *codes,
                            const hu_random_key *key, uint64_t first_index,
                            hu_round_counts *counts) {
    hu_format scaled = hu_format_scaled(&w->format, k);
    hu_rounder rounder;
    hu_packer packer;
    if (!w->rounds) {
        if (counts) hu_scan_f32(n, x, counts);
        if (codes != (const void *)x) memcpy(codes, x, n * sizeof *x);
        return;
    }
    /* Neither can fail: the format is valid, and stays so under a clamped scale. */
    (void)hu_rounder_init(&rounder, &scaled, w->rounding);
    (void)hu_wire_packer_init(&packer, &scaled, w->packer.code_bits);
    if (w->code_bytes == sizeof(float))
        quantise_wide(w, &rounder, n, x, k, codes, key, first_index, counts);
    else
        quantise_narrow(&rounder, &packer, n, x, codes, key, first_index, counts);
}

/* Scales that lead beyond where the packer has kernels: numbers first, then their scale, in blocks
 * that stay in cache. */
static void decode_apart(const hu_wire *w, size_t n, const char *codes, int32_t k, float *y) {
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = block_of(n, at);
        hu_packer_unpack(&w->packer, count, codes + hu_packer_bytes(&w->packer, at), y + at);
        scale_by_power(count, y + at, k, y + at);
    }
}

void hu_wire_decode_plain(const hu_wire *w, size_t n, const void *codes, int32_t k, float *y) {
    hu_format scaled = hu_format_scaled(&w->format, k);
    hu_packer packer;
    if (w->code_bytes < sizeof(float)) {
        (void)hu_wire_packer_init(&packer, &scaled, w->packer.code_bits);
        if (packer.unpack || !w->packer.unpack)
            hu_packer_unpack(&packer, n, codes, y);
        else
            decode_apart(w, n, codes, k, y);
    } else if (k) {
        scale_by_power(n, codes, k, y);
    } else if ((const void *)y != codes) {
        memcpy(y, codes, n * sizeof *y);
    }
}

/* total += x, NaNs made the one of wire.h. */
static void add_floats(size_t n, const float *x, float *total) {
    for (size_t i = 0; i < n; i++) {
        float sum = total[i] + x[i];
        total[i] = sum == sum ? sum : hu_f32_of_bits(HU_F32_NAN);
    }
}

static void add_wide(const hu_wire *w, size_t n, const float *a, float *sum,
                     const hu_random_key *key, uint64_t first_index, hu_round_counts *counts) {
    bool is_finite = w->format.specials == HU_SPECIALS_FIN && w->format.overflow == HU_OVERFLOW_SAT;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = block_of(n, at);
        add_floats(count, a + at, sum + at);
        if (!w->rounds) {
            if (counts) hu_scan_f32(count, sum + at, counts);
            continue;
        }
        hu_rounder_run(&w->rounder, count, sum + at, sum + at, key, first_index + at, counts);
        /* Finite codes that saturate stay finite. */
        if (!is_finite) settle(w, count, sum + at);
    }
}

void hu_wire_add_plain(const hu_wire *w, size_t n, const void *a, void *sum,
                       const hu_random_key *key, uint64_t first_index, hu_round_counts *counts) {
    float x[BLOCK], y[BLOCK];
    if (w->code_bytes == sizeof(float)) {
        add_wide(w, n, a, sum, key, first_index, counts);
        return;
    }
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = block_of(n, at), offset = hu_packer_bytes(&w->packer, at);
        hu_packer_unpack(&w->packer, count, (const char *)a + offset, x);
        hu_packer_unpack(&w->packer, count, (char *)sum + offset, y);
        add_floats(count, x, y);
        hu_rounder_run(&w->rounder, count, y, y, key, first_index + at, counts);
        hu_packer_pack(&w->packer, count, y, (char *)sum + offset, NULL);
    }
}
