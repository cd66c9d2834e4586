/* kernel/reduce/variant.c - the loops of channel.h, compiled once per instruction set. The
 * accumulators of 32 columns stay in registers over the rows. */
#include "kernel/reduce/channel.h"

#include <math.h>

#include "kernel/lane.h"

typedef int32_t i8 __attribute__((vector_size(32), aligned(4), may_alias));

/* Columns of a tile are 8 x `vectors`; rows come in ascending order. */
HU_INLINE void sums_tile(int64_t rows, int64_t width, const float *x, float *sum,
                         const int vectors) {
    v8 s[4] = {{0}, {0}, {0}, {0}};
    for (int64_t r = 0; r < rows; r++, x += width)
        for (int v = 0; v < vectors; v++) s[v] += *load(x + 8 * v);
    for (int v = 0; v < vectors; v++) *store(sum + 8 * v) = s[v];
}

/* Sums of d = x - shift and of d^2, both rounded once per operation. */
HU_INLINE void moments_tile(int64_t rows, int64_t width, const float *x, const float *shift,
                            float *sum, float *square, const int vectors) {
    v8 k[4], s[4] = {{0}, {0}, {0}, {0}}, q[4] = {{0}, {0}, {0}, {0}};
    for (int v = 0; v < vectors; v++) k[v] = *load(shift + 8 * v);
    for (int64_t r = 0; r < rows; r++, x += width) {
        for (int v = 0; v < vectors; v++) {
            v8 d = *load(x + 8 * v) - k[v];
            s[v] += d;
            q[v] += d * d;
        }
    }
    for (int v = 0; v < vectors; v++) {
        *store(sum + 8 * v) = s[v];
        *store(square + 8 * v) = q[v];
    }
}

/* Sums of dy and of dy * (x - center). */
HU_INLINE void products_tile(int64_t rows, int64_t width, const float *dy, const float *x,
                             const float *center, float *sum, float *product, const int vectors) {
    v8 k[4], s[4] = {{0}, {0}, {0}, {0}}, p[4] = {{0}, {0}, {0}, {0}};
    for (int v = 0; v < vectors; v++) k[v] = *load(center + 8 * v);
    for (int64_t r = 0; r < rows; r++, x += width, dy += width) {
        for (int v = 0; v < vectors; v++) {
            v8 g = *load(dy + 8 * v);
            s[v] += g;
            p[v] += g * (*load(x + 8 * v) - k[v]);
        }
    }
    for (int v = 0; v < vectors; v++) {
        *store(sum + 8 * v) = s[v];
        *store(product + 8 * v) = p[v];
    }
}

/* a where the mask `is` has ones, b where it has zeros. No function: vectors are not passed by
 * value, which needs registers that not every ISA has. */
#define CHOOSE(is, a, b) (((is) & (i8)(a)) | (~(is) & (i8)(b)))

/* Later rows win only if they are strictly beyond, so that the first row of an extreme stays. */
HU_INLINE void extremes_tile(int64_t rows, int64_t width, const float *x,
                             const hu_reduce_extremes *to, int64_t at, const int vectors) {
    v8 high[2], low[2];
    i8 high_at[2] = {{0}, {0}}, low_at[2] = {{0}, {0}}, row = {0};
    for (int v = 0; v < vectors; v++) {
        high[v] = (v8){0} - INFINITY;
        low[v] = (v8){0} + INFINITY;
    }
    for (int64_t r = 0; r < rows; r++, x += width, row += 1) {
        for (int v = 0; v < vectors; v++) {
            v8 y = *load(x + 8 * v);
            i8 is_high = y > high[v], is_low = y < low[v];
            high[v] = (v8)CHOOSE(is_high, y, high[v]);
            high_at[v] = CHOOSE(is_high, row, high_at[v]);
            low[v] = (v8)CHOOSE(is_low, y, low[v]);
            low_at[v] = CHOOSE(is_low, row, low_at[v]);
        }
    }
    for (int v = 0; v < vectors; v++) {
        *store(to->high + at + 8 * v) = high[v];
        *store(to->low + at + 8 * v) = low[v];
        *(i8 *)(to->high_at + at + 8 * v) = high_at[v];
        *(i8 *)(to->low_at + at + 8 * v) = low_at[v];
    }
}

/* Tiles of 32 columns, then of 8. */
static void sums(int64_t rows, int64_t width, const float *x, float *sum) {
    int64_t j = 0;
    for (; j + 32 <= width; j += 32) sums_tile(rows, width, x + j, sum + j, 4);
    for (; j < width; j += 8) sums_tile(rows, width, x + j, sum + j, 1);
}

static void moments(int64_t rows, int64_t width, const float *x, const float *shift, float *sum,
                    float *square) {
    int64_t j = 0;
    for (; j + 32 <= width; j += 32)
        moments_tile(rows, width, x + j, shift + j, sum + j, square + j, 4);
    for (; j < width; j += 8) moments_tile(rows, width, x + j, shift + j, sum + j, square + j, 1);
}

static void products(int64_t rows, int64_t width, const float *dy, const float *x,
                     const float *center, float *sum, float *product) {
    int64_t j = 0;
    for (; j + 32 <= width; j += 32)
        products_tile(rows, width, dy + j, x + j, center + j, sum + j, product + j, 4);
    for (; j < width; j += 8)
        products_tile(rows, width, dy + j, x + j, center + j, sum + j, product + j, 1);
}

/* Tiles of 16 columns, then of 8. */
static void extremes(int64_t rows, int64_t width, const float *x, hu_reduce_extremes *to) {
    int64_t j = 0;
    for (; j + 16 <= width; j += 16) extremes_tile(rows, width, x + j, to, j, 2);
    for (; j < width; j += 8) extremes_tile(rows, width, x + j, to, j, 1);
}

typedef double d8 __attribute__((vector_size(64), aligned(8), may_alias));

/* By address: vectors longer than those of the ISA cannot be passed by value. */
HU_INLINE void add_8_products(const float *x, const float *y, d8 *sum) {
    *sum += __builtin_convertvector(*load(x), d8) * __builtin_convertvector(*load(y), d8);
}

static void lane_products(int64_t n, const float *x, const float *y, double *lane) {
    d8 low = *(const d8 *)lane, high = *(const d8 *)(lane + 8);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        add_8_products(x + i, y + i, &low);
        add_8_products(x + i + 8, y + i + 8, &high);
    }
    *(d8 *)lane = low;
    *(d8 *)(lane + 8) = high;
    for (int k = 0; i < n; i++, k++) lane[k] += (double)x[i] * (double)y[i];
}

const hu_reduce_kernels HU_VARIANT(hu_reduce_columns) = {.sums = sums,
                                                         .moments = moments,
                                                         .products = products,
                                                         .lane_products = lane_products,
                                                         .extremes = extremes};

#undef CHOOSE
