/* kernel/pack/pack.c - from a format and a code width to a kernel; dense bit streams. */
#include "kernel/pack/pack.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "format/table/steps.h"
#include "format/value.h"

#define HU_PACK_VARIANT(bits)                                                                      \
    hu_pack_fn HU_OF_ISA(hu_pack_##bits);                                                          \
    hu_unpack_fn HU_OF_ISA(hu_unpack_##bits);
#include "kernel/pack/pack.list"
#undef HU_PACK_VARIANT

typedef struct pack_variant {
    uint32_t bits;
    hu_pack_fn *pack[HU_ISA_COUNT];
    hu_unpack_fn *unpack[HU_ISA_COUNT];
} pack_variant;

static const pack_variant variants[] = {
#define HU_PACK_VARIANT(bits) {bits, {HU_OF_ISA(hu_pack_##bits)}, {HU_OF_ISA(hu_unpack_##bits)}},
#include "kernel/pack/pack.list"
#undef HU_PACK_VARIANT
};

enum { CHUNK = 1024 }; /* codes between two byte boundaries of a dense stream; a multiple of 8 */

/* The kernels need 2^emin and the grid 2^(emin+23-m) as normal binary32 numbers. */
static int has_kernel(const hu_format *format) {
    int emin = hu_format_emin(format);
    return emin >= -126 && emin + 23 - format->man_bits <= 127;
}

/* The codes of what is no finite number, and the numbers that some kinds of format lack
 * (docs/reference/numerics/formats.md, "Formats"). Infinities that have no code are stored as the
 * largest finite number, NaNs that have none as 0; the caller is told of both (unencodable). */
static void set_specials(hu_packer *p, const hu_format *format) {
    int is_ieee = format->specials == HU_SPECIALS_IEEE, is_fn = format->specials == HU_SPECIALS_FN;
    int is_fnuz = format->specials == HU_SPECIALS_FNUZ;
    int has_nan = is_fn || is_fnuz || (is_ieee && format->man_bits > 0);
    p->code_max = hu_format_code_max(format);
    p->is_infinity_lost = !is_ieee;
    p->infinity_code = p->code_max + (is_ieee ? 1 : 0);
    p->first_nan = p->infinity_code + 1;
    p->is_nan_lost = !has_nan;
    p->nan_code = is_fnuz ? p->magnitude_mask + 1 : has_nan ? p->magnitude_mask : 0;
    p->nan_sign = has_nan && !is_fnuz ? HU_F32_SIGN : 0;
    p->zero_sign = is_fnuz ? 0 : HU_F32_SIGN;
    p->minus_zero = is_fnuz ? HU_F32_NAN : HU_F32_SIGN;
    p->subnormal_mask = format->subnormals ? UINT32_MAX : 0;
    p->is_plain = p->nan_sign && p->zero_sign && format->subnormals;
}

/* Constants for a 32-bit word that holds sign, exponent and significand at binary32's places. */
static void set_constants(hu_packer *p, const hu_format *format) {
    uint32_t magnitude_bits = (uint32_t)format->exp_bits + format->man_bits;
    int emin = hu_format_emin(format);
    p->format = *format;
    p->drop = 23u - format->man_bits;
    p->sign_shift = 31 - magnitude_bits;
    p->magnitude_mask = (1u << magnitude_bits) - 1;
    p->hidden = 1u << format->man_bits;
    set_specials(p, format);
    if (!has_kernel(format)) return;
    p->min_normal_bits = (uint32_t)(emin + 127) << 23;
    p->rebias = (uint32_t)(emin + 126) << 23;
    p->grid_bits = p->min_normal_bits + (p->drop << 23);
}

#if defined(__x86_64__)
hu_pack_fn hu_pack_vector_8_avx2, hu_pack_vector_16_avx2;
hu_unpack_fn hu_unpack_vector_8_avx2, hu_unpack_vector_16_avx2, hu_unpack_halves_8_avx2,
    hu_unpack_halves_16_avx2, hu_unpack_vector_8_avx512, hu_unpack_unsigned_zero_8_avx512,
    hu_unpack_halves_16_avx512, hu_unpack_planes_avx512, hu_unpack_unsigned_zero_8_avx2;

/* What hu_unpack_vector_8_avx512 looks up: 8 bits fill no more than half of binary32. */
static void hold_upper_halves(hu_packer *packer) {
    enum { MAGNITUDES = sizeof packer->upper / sizeof *packer->upper };
    uint8_t codes[MAGNITUDES];
    float value[MAGNITUDES];
    for (int i = 0; i < MAGNITUDES; i++) codes[i] = (uint8_t)i;
    packer->unpack(packer, MAGNITUDES, codes, value);
    for (int i = 0; i < MAGNITUDES; i++) packer->upper[i] = (uint16_t)(hu_f32_bits(value[i]) >> 16);
}

/* 8 bits without -0 are read so; what is written is portable. */
static void prefer_unsigned_zero(hu_packer *packer, int is_wide) {
    if (is_wide) hold_upper_halves(packer);
    packer->unpack = is_wide ? hu_unpack_unsigned_zero_8_avx512 : hu_unpack_unsigned_zero_8_avx2;
}

/* Kernels written with intrinsics. Most use AVX2, and are half again as fast as the compilers' code
 * for AVX-512; some read codes as wide as the format. */
static void prefer_vector(hu_packer *packer, hu_isa isa) {
    if (isa < HU_ISA_AVX2 || !packer->pack) return;
    int is_tight = (int)hu_format_bits(&packer->format) == packer->code_bits;
    int is_wide = isa == HU_ISA_AVX512;
    if (!packer->zero_sign) {
        if (is_tight && packer->code_bits == 8 && packer->subnormal_mask)
            prefer_unsigned_zero(packer, is_wide);
        return;
    }
    if (packer->code_bits == 8) {
        packer->pack = hu_pack_vector_8_avx2;
        packer->unpack = hu_unpack_vector_8_avx2;
        if (is_tight && is_wide) hold_upper_halves(packer);
        if (is_tight)
            packer->unpack = is_wide ? hu_unpack_vector_8_avx512 : hu_unpack_halves_8_avx2;
    } else if (packer->code_bits == 16) {
        packer->pack = hu_pack_vector_16_avx2;
        packer->unpack = hu_unpack_vector_16_avx2;
        if (is_tight)
            packer->unpack = is_wide ? hu_unpack_halves_16_avx512 : hu_unpack_halves_16_avx2;
    }
}
#else
static void prefer_vector(hu_packer *packer, hu_isa isa) {
    (void)packer;
    (void)isa;
}
#endif

/* ---- formats by table ---- */

#define HU_PACK_VARIANT(bits)                                                                      \
    hu_pack_fn HU_OF_ISA(hu_pack_table_##bits);                                                    \
    hu_unpack_fn HU_OF_ISA(hu_unpack_table_##bits);
#include "kernel/pack/pack.list"
#undef HU_PACK_VARIANT

static const pack_variant table_variants[] = {
#define HU_PACK_VARIANT(bits)                                                                      \
    {bits, {HU_OF_ISA(hu_pack_table_##bits)}, {HU_OF_ISA(hu_unpack_table_##bits)}},
#include "kernel/pack/pack.list"
#undef HU_PACK_VARIANT
};

#if defined(__x86_64__)
hu_pack_fn hu_pack_bytes_vbmi;
hu_unpack_fn hu_unpack_bytes_vbmi;

/* Kernels by tables in registers. */
static void prefer_registers(hu_packer *packer, hu_isa isa) {
    if (isa != HU_ISA_AVX512 || packer->code_bits != 8) return;
    packer->unpack = hu_cpu_has_vbmi() ? hu_unpack_bytes_vbmi : hu_unpack_planes_avx512;
    if (hu_cpu_has_vbmi() && packer->steps->members) packer->pack = hu_pack_bytes_vbmi;
}
#else
static void prefer_registers(hu_packer *packer, hu_isa isa) {
    (void)packer, (void)isa;
}
#endif

static hu_status init_by_table(hu_packer *packer, const hu_format *format, int code_bits,
                               hu_isa isa) {
    const hu_code_table *t = hu_code_table_of(format);
    uint32_t unit_bits = code_bits ? (uint32_t)code_bits : 32, zero;
    *packer = (hu_packer){.format = *format, .code_bits = code_bits, .decoded = t->decoded};
    packer->width = code_bits ? (uint32_t)code_bits : t->bits;
    packer->magnitude_mask = (1u << t->bits) - 1;
    packer->code_max = hu_format_limits_of(format).code_max;
    packer->is_nan_lost = t->nan_code < 0;
    packer->is_infinity_lost = !hu_code_table_has_infinities(format);
    /* NaN without a code is stored as 0 would be. */
    float of_zero = hu_format_round(format, HU_ROUND_NEAREST_EVEN, 0, 0);
    hu_format_encode(format, of_zero, &zero);
    packer->nan_code = packer->is_nan_lost ? zero : (uint32_t)t->nan_code;
    packer->infinity_code =
        t->infinity_code[0] < 0 ? t->code[t->count - 1] : (uint32_t)t->infinity_code[0];
    packer->minus_infinity_code =
        t->infinity_code[1] < 0 ? t->code[0] : (uint32_t)t->infinity_code[1];
    for (size_t i = 0; i < sizeof table_variants / sizeof table_variants[0]; i++) {
        if (table_variants[i].bits != unit_bits) continue;
        packer->pack = table_variants[i].pack[isa];
        packer->unpack = table_variants[i].unpack[isa];
    }
    hu_status st = hu_code_steps_of(format, HU_ROUND_NEAREST_EVEN, &packer->steps);
    if (st == HU_OK) prefer_registers(packer, isa);
    return st;
}

/* ---- any format ---- */

hu_status hu_packer_init_isa(hu_packer *packer, const hu_format *format, int code_bits,
                             hu_isa isa) {
    hu_status st = HU_OK;
    memset(packer, 0, sizeof *packer);
    HU_TRY(hu_format_check(format));
    uint32_t bits = hu_format_bits(format);
    if ((code_bits != 0 && code_bits != 8 && code_bits != 16) ||
        (code_bits != 0 && (uint32_t)code_bits < bits))
        return hu_fail(HU_ERR_ARGUMENT, "codes of %d bits, allowed 0 (dense)%s%s for %u-bit codes",
                       code_bits, bits <= 8 ? ", 8" : "", bits <= 16 ? ", 16" : "", bits);
    if (hu_format_is_table(format)) return init_by_table(packer, format, code_bits, isa);
    set_constants(packer, format);
    packer->code_bits = code_bits;
    packer->width = code_bits ? (uint32_t)code_bits : bits;
    uint32_t unit_bits = code_bits ? (uint32_t)code_bits : 32;
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        if (variants[i].bits != unit_bits || !has_kernel(format)) continue;
        packer->pack = variants[i].pack[isa];
        packer->unpack = variants[i].unpack[isa];
    }
    prefer_vector(packer, isa);
done:
    return st;
}

hu_status hu_packer_init(hu_packer *packer, const hu_format *format, int code_bits) {
    return hu_packer_init_isa(packer, format, code_bits, hu_cpu_isa());
}

/* By the integer reference. */
static uint32_t slow_encode(const hu_packer *p, float x, uint64_t unencodable[2]) {
    uint32_t bits = hu_f32_bits(x), u = bits & ~HU_F32_SIGN, code;
    if (u > HU_F32_INFINITY) {
        unencodable[1]++;
        return p->nan_code | (bits & p->nan_sign) >> p->sign_shift;
    }
    if (u == HU_F32_INFINITY) {
        unencodable[0]++;
        return p->infinity_code | (bits & HU_F32_SIGN) >> p->sign_shift;
    }
    hu_format_encode(&p->format, x, &code);
    return code;
}

/* Bits above the code's own are ignored, as in the kernels. */
static float slow_decode(const hu_packer *p, uint32_t code) {
    float y;
    uint32_t used = (p->magnitude_mask << 1) | 1;
    hu_format_decode(&p->format, code & used, &y);
    return y;
}

/* n codes at index first of an array with 8, 16 or 32 bits each. */
static void slow_pack(const hu_packer *p, size_t n, const float *x, void *codes, uint32_t bits,
                      uint64_t unencodable[2]) {
    for (size_t i = 0; i < n; i++) {
        uint32_t code = slow_encode(p, x[i], unencodable);
        if (bits == 8) ((uint8_t *)codes)[i] = (uint8_t)code;
        if (bits == 16) ((uint16_t *)codes)[i] = (uint16_t)code;
        if (bits == 32) ((uint32_t *)codes)[i] = code;
    }
}

static void slow_unpack(const hu_packer *p, size_t n, const void *codes, uint32_t bits, float *y) {
    for (size_t i = 0; i < n; i++) {
        uint32_t code = bits == 8    ? ((const uint8_t *)codes)[i]
                        : bits == 16 ? ((const uint16_t *)codes)[i]
                                     : ((const uint32_t *)codes)[i];
        y[i] = slow_decode(p, code);
    }
}

/* wants_lost: the caller asked for what has no code, and the format has such numbers. */
static void pack_units(const hu_packer *p, size_t n, const float *x, void *codes, int wants_lost,
                       uint64_t unencodable[2]) {
    uint32_t bits = p->code_bits ? (uint32_t)p->code_bits : 32;
    int counts = wants_lost && (p->is_infinity_lost || p->is_nan_lost);
    if (p->pack)
        p->pack(p, n, x, codes, counts ? unencodable : NULL);
    else
        slow_pack(p, n, x, codes, bits, unencodable);
}

/* Units are codes of 8, 16 or 32 bits; 32 are those of dense streams before they are joined. */
static void unpack_units(const hu_packer *p, size_t n, const void *codes, float *y) {
    if (p->unpack)
        p->unpack(p, n, codes, y);
    else
        slow_unpack(p, n, codes, p->code_bits ? (uint32_t)p->code_bits : 32, y);
}

/* Appends n codes of width bits, the least significant bit first, from a byte boundary on. */
static void join_bits(size_t n, const uint32_t *codes, uint32_t width, uint8_t *to) {
    uint64_t held = 0;
    uint32_t filled = 0;
    for (size_t i = 0; i < n; i++) {
        held |= (uint64_t)codes[i] << filled;
        filled += width;
        while (filled >= 8) {
            *to++ = (uint8_t)held;
            held >>= 8;
            filled -= 8;
        }
    }
    if (filled) *to = (uint8_t)held;
}

/* The codes that join_bits wrote; reads no byte after the last code's. */
static void split_bits(size_t n, const uint8_t *from, uint32_t width, uint32_t *codes) {
    uint64_t held = 0, mask = ((uint64_t)1 << width) - 1;
    uint32_t filled = 0;
    for (size_t i = 0; i < n; i++) {
        while (filled < width) {
            held |= (uint64_t)*from++ << filled;
            filled += 8;
        }
        codes[i] = (uint32_t)(held & mask);
        held >>= width;
        filled -= width;
    }
}

void hu_packer_pack(const hu_packer *packer, size_t n, const float *x, void *codes,
                    uint64_t *unencodable) {
    uint64_t lost[2] = {0, 0};
    uint32_t units[CHUNK];
    if (packer->code_bits) pack_units(packer, n, x, codes, unencodable != NULL, lost);
    for (size_t at = 0; !packer->code_bits && at < n; at += CHUNK) {
        size_t count = n - at < CHUNK ? n - at : CHUNK;
        pack_units(packer, count, x + at, units, unencodable != NULL, lost);
        join_bits(count, units, packer->width, (uint8_t *)codes + at / 8 * packer->width);
    }
    if (unencodable)
        *unencodable +=
            (packer->is_infinity_lost ? lost[0] : 0) + (packer->is_nan_lost ? lost[1] : 0);
}

void hu_packer_unpack(const hu_packer *packer, size_t n, const void *codes, float *y) {
    uint32_t units[CHUNK];
    if (packer->code_bits) unpack_units(packer, n, codes, y);
    for (size_t at = 0; !packer->code_bits && at < n; at += CHUNK) {
        size_t count = n - at < CHUNK ? n - at : CHUNK;
        split_bits(count, (const uint8_t *)codes + at / 8 * packer->width, packer->width, units);
        unpack_units(packer, count, units, y + at);
    }
}

size_t hu_packer_bytes(const hu_packer *packer, size_t n) {
    return n / 8 * packer->width + (n % 8 * packer->width + 7) / 8;
}

hu_status hu_pack(size_t n, const float *x, void *codes, const hu_format *format, int code_bits,
                  uint64_t *unencodable) {
    HU_GIVEN(format);
    HU_GIVEN_IF(x, n > 0);
    HU_GIVEN_IF(codes, n > 0);
    hu_packer packer;
    hu_status st = hu_packer_init(&packer, format, code_bits);
    if (st == HU_OK) hu_packer_pack(&packer, n, x, codes, unencodable);
    return st;
}

hu_status hu_unpack(size_t n, const void *codes, float *y, const hu_format *format, int code_bits) {
    HU_GIVEN(format);
    HU_GIVEN_IF(codes, n > 0);
    HU_GIVEN_IF(y, n > 0);
    hu_packer packer;
    hu_status st = hu_packer_init(&packer, format, code_bits);
    if (st == HU_OK) hu_packer_unpack(&packer, n, codes, y);
    return st;
}

size_t hu_packed_bytes(size_t n, const hu_format *format, int code_bits) {
    if (!format) return 0;
    hu_packer packer = {.width = code_bits ? (uint32_t)code_bits : hu_format_bits(format)};
    size_t whole, bytes;
    bool is_size = hu_mul_size(n / 8, packer.width, &whole) &&
                   hu_add_size(whole, (n % 8 * packer.width + 7) / 8, &bytes);
    return is_size ? bytes : SIZE_MAX;
}
