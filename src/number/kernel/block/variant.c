/* kernel/block/variant.c - the block kernels in portable C, compiled once per instruction set.
 * Full blocks of 32 and 16 elements are loops of constant length. Assumes the default
 * floating-point environment. */
#include "base/bits.h"
#include "kernel/block/block.h"
#include "kernel/lane.h"

static const uint32_t least_normal = 0x00800000u, largest = 0x7F7FFFFFu;

/* Calls BODY(count) with a constant count where it is that of a full block. */
#define FOR_BLOCK(count, body)                                                                     \
    do {                                                                                           \
        if ((count) == 32)                                                                         \
            body(32);                                                                              \
        else if ((count) == 16)                                                                    \
            body(16);                                                                              \
        else                                                                                       \
            body(count);                                                                           \
    } while (0)

HU_INLINE int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* Elements of the block that begins at element `place` of a line. */
HU_INLINE int64_t block_size(const hu_blocker *b, int64_t place) {
    int64_t length = b->format->length, left = b->line - place;
    return left < length ? left : length;
}

/* Elements from `place` to the end of the block that holds it. */
HU_INLINE int64_t left_in_block(const hu_blocker *b, int64_t place) {
    int64_t inside = place % b->format->length;
    return block_size(b, place - inside) - inside;
}

/* Bits of the largest magnitude in x[n]; only_finite leaves infinities and NaNs out. */
HU_INLINE int32_t top_of(size_t n, const float *x, int only_finite) {
    int32_t top = 0;
#pragma omp simd reduction(max : top)
    for (size_t i = 0; i < n; i++) {
        int32_t u = (int32_t)(hu_f32_bits(x[i]) & ~HU_F32_SIGN);
        top = larger(top, only_finite && u >= (int32_t)HU_F32_INFINITY ? 0 : u);
    }
    return top;
}

static uint32_t all_top(size_t n, const float *x) {
    return (uint32_t)top_of(n, x, 1);
}

/* Block by block, lines cut as block.h says; a short block at the end of a line has a maximum of
 * its own. */
static uint32_t all_tops(const hu_blocker *b, int64_t first, size_t n, const float *x,
                         uint32_t *tops) {
    int64_t place = first % b->line;
    int32_t most = 0;
    for (size_t at = 0; at < n; tops++) {
        size_t count = (size_t)block_size(b, place);
        int32_t top;
#define TOP(size) top = top_of(size, x + at, 0)
        FOR_BLOCK(count, TOP);
        *tops = (uint32_t)top;
        /* Only blocks with an infinity or a NaN are read twice: the tensor's maximum is that of
         * finite numbers. */
        if (top >= (int32_t)HU_F32_INFINITY) top = top_of(count, x + at, 1);
        most = larger(most, top);
        at += count;
        place = place + (int64_t)count < b->line ? place + (int64_t)count : 0;
    }
    return (uint32_t)most;
}

/* |y| with nonzero numbers of small quotients kept from vanishing. */
HU_INLINE float kept(float x, float y) {
    uint32_t u = hu_f32_bits(x) & ~HU_F32_SIGN, v = hu_f32_bits(y) & ~HU_F32_SIGN;
    uint32_t sign = hu_f32_bits(x) & HU_F32_SIGN;
    v = is_less(v, least_normal) ? (u ? least_normal : 0) : v;
    return hu_f32_of_bits(sign | v);
}

HU_INLINE void times(size_t n, const float *x, float factor, float *y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = kept(x[i], x[i] * factor);
}

HU_INLINE void over(size_t n, const float *x, float divisor, float *y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = kept(x[i], x[i] / divisor);
}

/* Blocks whose scale is NaN become +0, those whose scale is 0 zeros with their signs. */
static void clear_block(size_t n, const float *x, int is_nan, float *y, hu_block_loss *loss) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = hu_f32_bits(x[i]);
        loss->nan += (uint64_t)is_nan;
        loss->vanished += !is_nan && (bits & ~HU_F32_SIGN) != 0;
        y[i] = hu_f32_of_bits(is_nan ? 0 : bits & HU_F32_SIGN);
    }
}

/* y = elements in units of their block's scale, ready to be rounded. A part may begin and end
 * within a block; from the second block on it follows the blocks of the line. */
static void divide(const hu_blocker *b, const hu_block_part *part, const float *x, float *y,
                   hu_block_loss *loss) {
    int64_t place = part->first % b->line;
    const uint8_t *scale = part->scales;
    int is_power = b->format->scale == HU_BLOCK_SCALE_E8M0;
    size_t next = (size_t)left_in_block(b, place), count;
    for (size_t at = 0; at < part->n; scale++) {
        size_t left = part->n - at;
        count = next < left ? next : left;
        float value = b->scale_value[*scale], d = value * part->tensor_scale;
        if (!(d > 0.0f)) {
            clear_block(count, x + at, d != d, y + at, loss);
        } else if (is_power) {
            /* The inverse of 2^(code - 127) is 2^(127 - code): a product instead of a quotient,
             * with the same result. */
            float inverse = b->scale_value[254 - *scale];
#define TIMES(size) times(size, x + at, inverse, y + at)
            FOR_BLOCK(count, TIMES);
        } else {
#define OVER(size) over(size, x + at, d, y + at)
            FOR_BLOCK(count, OVER);
        }
        at += count;
        place = place + (int64_t)count < b->line ? place + (int64_t)count : 0;
        next = (size_t)block_size(b, place);
    }
}

/* At most the largest float32 in place of an infinity, as the contract says (block.h). */
HU_INLINE float bounded(float y) {
    uint32_t u = hu_f32_bits(y) & ~HU_F32_SIGN;
    return hu_f32_of_bits(hu_f32_bits(y) - (u == HU_F32_INFINITY ? HU_F32_INFINITY - largest : 0));
}

HU_INLINE void products(size_t n, const float *x, float d, float *y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = bounded(x[i] * d);
}

/* Powers of two times elements never leave binary32. */
HU_INLINE void shifts(size_t n, const float *x, float d, float *y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = x[i] * d;
}

/* y = rounded elements times their block's scale: the numbers that block.h defines. */
static void multiply(const hu_blocker *b, const hu_block_part *part, const float *x, float *y) {
    int64_t place = part->first % b->line;
    int is_power = b->format->scale == HU_BLOCK_SCALE_E8M0;
    const uint8_t *scale = part->scales;
    size_t next = (size_t)left_in_block(b, place), count;
    for (size_t at = 0; at < part->n; scale++) {
        size_t left = part->n - at;
        count = next < left ? next : left;
        float d = b->scale_value[*scale] * part->tensor_scale;
        if (d != d) {
            for (size_t i = 0; i < count; i++) y[at + i] = hu_f32_of_bits(HU_F32_NAN);
        } else if (is_power) {
#define SHIFTS(size) shifts(size, x + at, d, y + at)
            FOR_BLOCK(count, SHIFTS);
        } else {
#define PRODUCTS(size) products(size, x + at, d, y + at)
            FOR_BLOCK(count, PRODUCTS);
        }
        at += count;
        place = place + (int64_t)count < b->line ? place + (int64_t)count : 0;
        next = (size_t)block_size(b, place);
    }
}

const hu_block_kernels HU_VARIANT(hu_block_kernels) = {all_top, all_tops, divide, multiply};
