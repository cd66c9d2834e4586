/* kernel/fused/variant.c - the loops of fused.h, compiled once per instruction set. */
#include "kernel/fused/fused.h"

#include "kernel/lane.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* Masks are made in the widest vectors that this ISA compares in one piece. */
#if defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif

typedef float vm __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t mask __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* Batch norm forward. One rounding per operation, no fused multiply-add: every ISA gives these
 * bits. */
static void normalise(int64_t count, int64_t width, const float *x, const float *center,
                      const float *scale, const float *offset, float *y) {
    for (int64_t start = 0; start < count; start += width, x += width, y += width) {
        int64_t j = 0, n = count - start < width ? count - start : width;
        for (; j + 8 <= n; j += 8)
            *store(y + j) =
                (*load(x + j) - *load(center + j)) * *load(scale + j) + *load(offset + j);
        for (; j < n; j++) y[j] = (x[j] - center[j]) * scale[j] + offset[j];
    }
}

/* Batch norm backward, mean and slope come from the batch's sums of dy and dy * (x - center). */
static void normalise_backward(int64_t count, int64_t width, const float *dy, const float *x,
                               const float *center, const float *scale, const float *mean,
                               const float *slope, float *dx) {
    for (int64_t start = 0; start < count; start += width, x += width, dy += width, dx += width) {
        int64_t j = 0, n = count - start < width ? count - start : width;
        for (; j + 8 <= n; j += 8)
            *store(dx + j) =
                *load(scale + j) * ((*load(dy + j) - *load(mean + j)) -
                                    (*load(x + j) - *load(center + j)) * *load(slope + j));
        for (; j < n; j++) dx[j] = scale[j] * ((dy[j] - mean[j]) - (x[j] - center[j]) * slope[j]);
    }
}

/* Bit i = sign of lane i. */
static inline unsigned lane_bits(const mask *m) {
#if defined(__AVX__)
    return (unsigned)_mm256_movemask_ps((__m256)*m);
#elif defined(__SSE2__)
    return (unsigned)_mm_movemask_ps((__m128)*m);
#else
    unsigned bits = 0;
    for (unsigned i = 0; i < LANES; i++) bits |= ((unsigned)(*m)[i] & 1u) << i;
    return bits;
#endif
}

/* relu of 8 numbers in vectors of LANES, to y; gives their bits. */
HU_INLINE unsigned relu_8(const vm *value, float *y) {
    unsigned byte = 0;
    for (int v = 0; v < 8 / LANES; v++) {
        /* Not (x <= 0): NaN passes. */
        mask keep = ~(mask)(value[v] <= (vm){0});
        *(vm *)(y + v * LANES) = (vm)((mask)value[v] & keep);
        byte |= lane_bits(&keep) << (v * LANES);
    }
    return byte;
}

/* relu of fewer than 8 numbers; the unused bits are 0. */
static unsigned relu_rest(int64_t count, const float *x, float *y) {
    unsigned byte = 0;
    for (int64_t j = 0; j < count; j++) {
        unsigned keep = x[j] <= 0 ? 0u : 1u;
        byte |= keep << j;
        y[j] = keep ? x[j] : 0.0f;
    }
    return byte;
}

static void relu(int64_t count, const float *x, float *y, uint8_t *bits) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        vm value[8 / LANES];
        for (int v = 0; v < 8 / LANES; v++) value[v] = *(const vm *)(x + i + v * LANES);
        bits[i / 8] = (uint8_t)relu_8(value, y + i);
    }
    if (i < count) bits[i / 8] = (uint8_t)relu_rest(count - i, x + i, y + i);
}

/* The sum is rounded to float32 before relu sees it, as if two kernels had run. */
static void add_relu(int64_t count, const float *a, const float *b, float *y, uint8_t *bits) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        vm value[8 / LANES];
        for (int v = 0; v < 8 / LANES; v++)
            value[v] = *(const vm *)(a + i + v * LANES) + *(const vm *)(b + i + v * LANES);
        bits[i / 8] = (uint8_t)relu_8(value, y + i);
    }
    for (int64_t j = i; j < count; j++) y[j] = a[j] + b[j];
    if (i < count) bits[i / 8] = (uint8_t)relu_rest(count - i, y + i, y + i);
}

/* normalise() and relu() in one pass: y is not read again. */
static void normalise_relu(int64_t count, int64_t width, const float *x, const float *center,
                           const float *scale, const float *offset, float *y, uint8_t *bits) {
    for (int64_t start = 0; start < count; start += width, x += width, y += width) {
        int64_t j = 0, n = count - start < width ? count - start : width;
        uint8_t *to = bits + start / 8;
        for (; j + 8 <= n; j += 8) {
            vm value[8 / LANES];
            for (int v = 0; v < 8 / LANES; v++) {
                int64_t at = j + v * LANES;
                value[v] = (*(const vm *)(x + at) - *(const vm *)(center + at)) *
                               *(const vm *)(scale + at) +
                           *(const vm *)(offset + at);
            }
            to[j / 8] = (uint8_t)relu_8(value, y + j);
        }
        for (int64_t k = j; k < n; k++) y[k] = (x[k] - center[k]) * scale[k] + offset[k];
        if (j < n) to[j / 8] = (uint8_t)relu_rest(n - j, y + j, y + j);
    }
}

/* Lane v of 8 takes bit v of the byte. */
static void relu_backward(int64_t count, const float *dy, const uint8_t *bits, float *dx) {
    mask lane;
    int64_t i = 0;
    for (int v = 0; v < LANES; v++) lane[v] = 1 << v;
    for (; i + 8 <= count; i += 8) {
        for (int v = 0; v < 8; v += LANES) {
            mask keep = ((mask){0} + (int32_t)(bits[i / 8] >> v)) & lane;
            *(mask *)(dx + i + v) = *(const mask *)(dy + i + v) & (mask)(keep == lane);
        }
    }
    for (; i < count; i++) dx[i] = bits[i / 8] >> (i % 8) & 1 ? dy[i] : 0.0f;
}

/* clip of fewer than 8 numbers; the unused bits are 0. */
static unsigned clip_rest(int64_t count, float low, float high, const float *x, float *y) {
    unsigned byte = 0;
    for (int64_t j = 0; j < count; j++) {
        float v = x[j];
        byte |= (v < low || v > high ? 0u : 1u) << j;
        y[j] = v < low ? low : v > high ? high : v;
    }
    return byte;
}

static void clip(int64_t count, float low, float high, const float *x, float *y, uint8_t *bits) {
    const vm least = (vm){0} + low, most = (vm){0} + high;
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        unsigned byte = 0;
        for (int v = 0; v < 8 / LANES; v++) {
            vm value = *(const vm *)(x + i + v * LANES);
            mask below = (mask)(value < least), above = (mask)(value > most);
            mask keep = ~(below | above);
            *(vm *)(y + i + v * LANES) =
                (vm)(((mask)value & keep) | ((mask)least & below) | ((mask)most & above));
            byte |= lane_bits(&keep) << (v * LANES);
        }
        bits[i / 8] = (uint8_t)byte;
    }
    if (i < count) bits[i / 8] = (uint8_t)clip_rest(count - i, low, high, x + i, y + i);
}

static void add(int64_t count, const float *a, const float *b, float *y) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) *store(y + i) = *load(a + i) + *load(b + i);
    for (; i < count; i++) y[i] = a[i] + b[i];
}

const hu_fused_kernels HU_VARIANT(hu_fused_kernels) = {.normalise = normalise,
                                                       .normalise_backward = normalise_backward,
                                                       .relu = relu,
                                                       .relu_backward = relu_backward,
                                                       .clip = clip,
                                                       .add = add,
                                                       .add_relu = add_relu,
                                                       .normalise_relu = normalise_relu};
