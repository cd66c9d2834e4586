/* kernel/hadamard/variant.c - butterflies of one instruction set, on vectors of 8 floats. Assumes
 * the default floating-point environment. */
#include <string.h>

#include "base/bits.h"
#include "kernel/hadamard/hadamard.h"
#include "kernel/lane.h"

enum { LANES = 8 };

typedef uint32_t u8x __attribute__((vector_size(32), aligned(4), may_alias));

/* 1 / sqrt(size) for a power of two: exact, or the square root of 2 over one. */
HU_INLINE float factor_of(int32_t size) {
    uint32_t k = (uint32_t)__builtin_ctz((unsigned)size);
    return hu_f32_of_bits((127 - (k + 1) / 2) << 23) * (k % 2 ? 1.41421356f : 1.0f);
}

/* Sums of NaNs have signs and payloads that depend on the order of operands: all become one. */
HU_INLINE float one_nan(float y) {
    uint32_t bits = hu_f32_bits(y);
    return hu_f32_of_bits((bits & ~HU_F32_SIGN) > HU_F32_INFINITY ? HU_F32_NAN : bits);
}

/* Vectors go by pointers: portable code has no registers for them. */
HU_INLINE void make_one_nan(v8 *y) {
    u8x is = (u8x)(*y != *y), bits = (u8x)*y;
    *y = (v8)((bits & ~is) | (is & HU_F32_NAN));
}

HU_INLINE void turn_signs(v8 *x, const uint32_t *signs) {
    u8x s;
    memcpy(&s, signs, sizeof s);
    *x = (v8)((u8x)*x ^ s);
}

/* a + b in the lanes whose bit is 0, a - b in the others: `other` has the lanes changed, and the
 * sum of a number and its partner with the sign of the own one turned is their difference. */
#define BUTTERFLY(own, other, turned) ((other) + (v8)((u8x)(own) ^ (turned)))

HU_INLINE void within(v8 *y, float factor) {
    const uint32_t m = HU_F32_SIGN;
    const u8x fours = {0, 0, 0, 0, m, m, m, m}, pairs = {0, 0, m, m, 0, 0, m, m};
    const u8x singles = {0, m, 0, m, 0, m, 0, m};
    v8 x = *y;
    x = BUTTERFLY(x, MIX(x, x, 4, 5, 6, 7, 0, 1, 2, 3), fours);
    x = BUTTERFLY(x, MIX(x, x, 2, 3, 0, 1, 6, 7, 4, 5), pairs);
    x = BUTTERFLY(x, MIX(x, x, 1, 0, 3, 2, 5, 4, 7, 6), singles);
    *y = x * factor;
}

/* Vectors of a group: count of them, a power of two. */
HU_INLINE void rotate(int32_t count, float factor, v8 *y) {
    for (int32_t d = count / 2; d > 0; d /= 2)
        for (int32_t i = 0; i < count; i += 2 * d)
            for (int32_t k = i; k < i + d; k++) {
                v8 a = y[k], b = y[k + d];
                y[k] = a + b;
                y[k + d] = a - b;
            }
    for (int32_t i = 0; i < count; i++) within(&y[i], factor);
}

HU_INLINE void vectors(int32_t count, const uint32_t *signs, const float *x, float *to, bool back) {
    v8 y[HU_HADAMARD_MOST / LANES];
    float factor = factor_of(count * LANES);
    for (int32_t i = 0; i < count; i++) {
        y[i] = *load(x + LANES * i);
        if (!back) turn_signs(&y[i], signs + LANES * i);
    }
    rotate(count, factor, y);
    for (int32_t i = 0; i < count; i++) {
        if (back) turn_signs(&y[i], signs + LANES * i);
        make_one_nan(&y[i]);
        *store(to + LANES * i) = y[i];
    }
}

/* Groups that are shorter than a vector. */
static void few(int32_t size, const uint32_t *signs, const float *x, float *to, bool back) {
    float y[LANES], factor = factor_of(size);
    for (int32_t i = 0; i < size; i++)
        y[i] = hu_f32_of_bits(hu_f32_bits(x[i]) ^ (back ? 0 : signs[i]));
    for (int32_t d = size / 2; d > 0; d /= 2)
        for (int32_t i = 0; i < size; i++) {
            if (i & d) continue;
            float a = y[i], b = y[i + d];
            y[i] = a + b;
            y[i + d] = a - b;
        }
    for (int32_t i = 0; i < size; i++)
        to[i] = one_nan(hu_f32_of_bits(hu_f32_bits(y[i] * factor) ^ (back ? signs[i] : 0)));
}

static void groups(int32_t size, const uint32_t *signs, size_t n, const float *x, float *y,
                   bool back) {
    size_t step = (size_t)size;
    if (size < LANES)
        for (size_t i = 0; i < n; i += step) few(size, signs, x + i, y + i, back);
    else if (size == 2 * LANES)
        for (size_t i = 0; i < n; i += step) vectors(2, signs, x + i, y + i, back);
    else if (size == 4 * LANES)
        for (size_t i = 0; i < n; i += step) vectors(4, signs, x + i, y + i, back);
    else
        for (size_t i = 0; i < n; i += step) vectors(size / LANES, signs, x + i, y + i, back);
}

/* Groups of 16 numbers, the usual ones, of 8 columns: all stay in registers. */
enum { USUAL = 16 };

HU_INLINE void eight_columns(const uint32_t *signs, int64_t stride, const float *x, float *y,
                             bool back) {
    const float factor = factor_of(USUAL);
    v8 r[USUAL];
    HU_UNROLL
    for (int i = 0; i < USUAL; i++) {
        r[i] = *load(x + i * stride);
        if (!back) r[i] = (v8)((u8x)r[i] ^ signs[i]);
    }
#define STAGE(d)                                                                                   \
    HU_UNROLL                                                                                      \
    for (int k = 0; k < USUAL / 2; k++) {                                                          \
        const int i = k / (d)*2 * (d) + k % (d);                                                   \
        const v8 a = r[i], b = r[i + (d)];                                                         \
        r[i] = a + b;                                                                              \
        r[i + (d)] = a - b;                                                                        \
    }
    STAGE(8)
    STAGE(4)
    STAGE(2)
    STAGE(1)
#undef STAGE
    HU_UNROLL
    for (int i = 0; i < USUAL; i++) {
        r[i] *= factor;
        if (back) r[i] = (v8)((u8x)r[i] ^ signs[i]);
        make_one_nan(&r[i]);
        *store(y + i * stride) = r[i];
    }
}

/* n columns side by side, at most 64: their numbers of a group stand `stride` apart. */
static void columns(int32_t size, const uint32_t *signs, int64_t stride, size_t n, const float *x,
                    float *y, bool back) {
    float factor = factor_of(size);
    for (; size == USUAL && n >= LANES; n -= LANES, x += LANES, y += LANES)
        eight_columns(signs, stride, x, y, back);
    if (n == 0) return;
    for (int32_t i = 0; i < size; i++)
        for (size_t c = 0; c < n; c++)
            y[i * stride + (int64_t)c] =
                hu_f32_of_bits(hu_f32_bits(x[i * stride + (int64_t)c]) ^ (back ? 0 : signs[i]));
    for (int32_t d = size / 2; d > 0; d /= 2)
        for (int32_t i = 0; i < size; i++) {
            if (i & d) continue;
            float *a = y + i * stride, *b = y + (i + d) * stride;
#pragma omp simd
            for (size_t c = 0; c < n; c++) {
                float sum = a[c] + b[c], difference = a[c] - b[c];
                a[c] = sum;
                b[c] = difference;
            }
        }
    for (int32_t i = 0; i < size; i++)
        for (size_t c = 0; c < n; c++)
            y[i * stride + (int64_t)c] = one_nan(hu_f32_of_bits(
                hu_f32_bits(y[i * stride + (int64_t)c] * factor) ^ (back ? signs[i] : 0)));
}

const hu_hadamard_kernels HU_VARIANT(hu_hadamard_kernels) = {groups, columns};
