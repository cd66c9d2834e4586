#include "kernel/wire/wire.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "format/value.h"
#include "kernel/block/block.h"
#include "kernel/pack/bits.h"

/* ---- plain ---- */

/* The arithmetic of wire.h composed of rounder and packer, in blocks that
 * stay in the first-level cache: any format, any mode. What the fast kernels must equal. */

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

/* A packer of codes of the format, with the code of wire.h for NaNs. Errors as hu_packer_init. */
static hu_status hu_wire_packer_init(hu_packer *packer, const hu_format *format, int code_bits) {
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

static void hu_wire_decode_plain(const hu_wire *w, size_t n, const void *codes, int32_t k,
                                 float *y) {
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

/* ---- wire ---- */

#define HU_WIRE_VARIANT(bits)                                                                      \
    hu_wire_add_fn HU_OF_ISA(hu_wire_add_##bits);                                                  \
    hu_wire_quantise_fn HU_OF_ISA(hu_wire_quantise_##bits);
#include "kernel/wire/wire.list"
#undef HU_WIRE_VARIANT

typedef struct wire_variant {
    uint32_t bits;
    hu_wire_add_fn *add[HU_ISA_COUNT];
    hu_wire_quantise_fn *quantise[HU_ISA_COUNT];
} wire_variant;

static const wire_variant variants[] = {
#define HU_WIRE_VARIANT(bits)                                                                      \
    {bits, {HU_OF_ISA(hu_wire_add_##bits)}, {HU_OF_ISA(hu_wire_quantise_##bits)}},
#include "kernel/wire/wire.list"
#undef HU_WIRE_VARIANT
};

static const hu_format float32 = {
    .exp_bits = 8, .man_bits = 23, .bias = 127, .subnormals = 1, .specials = HU_SPECIALS_IEEE};

/* The magnitude code that overflow gives where it is one comparison away: the largest finite one,
 * or the next, which is infinity or NaN. 0: it is neither. Infinities without a code are stored as
 * the largest finite number. */
static uint32_t over_code_of(const hu_format *format, const hu_packer *packer) {
    switch (format->overflow) {
    case HU_OVERFLOW_INF:
        return packer->infinity_code;
    case HU_OVERFLOW_SAT:
        return packer->code_max;
    case HU_OVERFLOW_PROPAGATE: /* two codes */
        return 0;
    default:
        /* A NaN with the sign of what overflowed. */
        return packer->nan_sign && packer->nan_code == packer->code_max + 1 ? packer->nan_code : 0;
    }
}

static void set_places(hu_wire *w) {
    const hu_format *f = &w->format;
    const hu_packer *p = &w->packer;
    uint32_t drop = p->drop, hidden = 1u << f->man_bits;
    w->places = (hu_wire_places){
        .drop = drop,
        .top_shift = p->sign_shift,
        .down_shift = 8u - f->exp_bits,
        .number_mask = HU_F32_SIGN | p->magnitude_mask << drop,
        .max_place = p->code_max << drop,
        .flush_place = f->subnormals ? 0 : hidden << drop,
        .parity_cap = w->rounder.parity_cap,
        .code_max = p->code_max,
        .over_code = over_code_of(f, p),
        .hidden = hidden,
        .flush_code = f->subnormals ? 0 : hidden,
        .nan_code = p->nan_code,
        .nan_sign = p->nan_sign >> p->sign_shift,
        .sign_bit = HU_F32_SIGN >> p->sign_shift,
        .exponent_down = 127 - f->bias,
    };
}

/* Sums at binary32's place are the format's if none of these overflows there and not in the
 * carrier, or the other way round: only at the format's own place may the largest number be the
 * carrier's. */
static bool has_add(const hu_format *format) {
    double max = hu_format_limits_of(format).max_finite;
    return format->exp_bits < 8 ? max < 0x1p127 : format->bias == 127;
}

/* The kernels of the width, for nearest-even and formats whose specials they know. */
static void set_kernels(hu_wire *w, hu_isa isa) {
    if (w->code_bytes == sizeof(float) || w->rounding != HU_ROUND_NEAREST_EVEN) return;
    if (hu_format_is_table(&w->format)) return;
    if (w->format.specials == HU_SPECIALS_FNUZ || w->format.nan != HU_NAN_STAYS) return;
    if (w->format.underflow != HU_UNDERFLOW_FLUSH) return;
    set_places(w);
    if (w->places.over_code == 0) return;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (variants[i].bits != 8 * w->code_bytes) continue;
        w->add = has_add(&w->format) ? variants[i].add[isa] : NULL;
        w->quantise = variants[i].quantise[isa];
    }
}

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
    set_kernels(wire, hu_cpu_isa());
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

/* False where the kernels cannot reach the grid of the scaled format: too near to the ends of
 * binary32's range. */
static bool find_grid(const hu_wire *wire, int32_t k, hu_wire_grid *grid) {
    hu_format scaled = hu_format_scaled(&wire->format, k);
    int emin = hu_format_emin(&scaled);
    int emax = (int)(wire->packer.code_max >> scaled.man_bits) - 1 + emin;
    *grid = (hu_wire_grid){.is_aligned = wire->format.exp_bits == 8 && wire->format.bias == 127};
    /* Clamped, such a k is at most 0 and at least -23. */
    if (grid->is_aligned) grid->power = (float)(1 << -k);
    if (grid->is_aligned) return true;
    /* 2^emin is normal, and so is the constant added to 2^(emax+1). */
    if (emin < -126 || emax + 1 + 23 - scaled.man_bits > 127) return false;
    grid->emin_bits = (uint32_t)(emin + 127) << 23;
    grid->cap_bits = (uint32_t)(emax + 128) << 23;
    return true;
}

/* Elements that the kernels do, from the first on; plain.c does the rest. */
static size_t whole_groups(size_t n) {
    return n / HU_WIRE_GROUP * HU_WIRE_GROUP;
}

void hu_wire_quantise(const hu_wire *wire, size_t n, const float *x, int32_t k, void *codes,
                      const hu_random_key *key, uint64_t first_index, hu_round_counts *counts) {
    hu_wire_grid grid;
    size_t done = 0;
    k = hu_wire_clamp(wire, k);
    if (wire->quantise && n >= HU_WIRE_GROUP && find_grid(wire, k, &grid)) {
        done = whole_groups(n);
        wire->quantise(&wire->places, &grid, done, x, codes, counts);
    }
    if (done < n)
        hu_wire_quantise_plain(wire, n - done, x + done, k, (char *)codes + done * wire->code_bytes,
                               key, first_index + done, counts);
}

void hu_wire_decode(const hu_wire *wire, size_t n, const void *codes, int32_t k, float *y) {
    hu_wire_decode_plain(wire, n, codes, hu_wire_clamp(wire, k), y);
}

void hu_wire_add(const hu_wire *wire, size_t n, const void *a, void *sum, const hu_random_key *key,
                 uint64_t first_index, hu_round_counts *counts) {
    size_t done = wire->add ? whole_groups(n) : 0, bytes = done * wire->code_bytes;
    if (done) wire->add(&wire->places, done, a, sum, counts);
    if (done < n)
        hu_wire_add_plain(wire, n - done, (const char *)a + bytes, (char *)sum + bytes, key,
                          first_index + done, counts);
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
