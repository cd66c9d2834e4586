/* kernel/gemm/pack_variant.c - pack.h in portable C with vectors of 8, compiled once per
 * instruction set. */
#include <string.h>

#include "base/bits.h"
#include "kernel/gemm/pack.h"
#include "kernel/lane.h"

typedef float v4 __attribute__((vector_size(16), aligned(4), may_alias));

/* Four rows, or as many as there are, as pack_group: both halves of a vector on their own. */
HU_INLINE void pack_group_of_4(const float *const *rows, int valid, int64_t ahead, int64_t blocks,
                               int width, float *panel) {
    const float *source[4];
    for (int r = 0; r < 4; r++) source[r] = rows[r < valid ? r : valid - 1];
    for (int64_t k = 0; k < 8 * blocks; k += 8) {
        v8 x[4], pair[4];
        for (int r = 0; r < 4; r++) x[r] = *load(source[r] + k);
        for (int r = 0; r < valid && ahead; r++) __builtin_prefetch(source[r] + k + ahead);
        for (int i = 0; i < 4; i += 2) {
            pair[i] = MIX(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
            pair[i + 1] = MIX(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
        }
        x[0] = MIX(pair[0], pair[2], 0, 1, 8, 9, 4, 5, 12, 13);
        x[1] = MIX(pair[0], pair[2], 2, 3, 10, 11, 6, 7, 14, 15);
        x[2] = MIX(pair[1], pair[3], 0, 1, 8, 9, 4, 5, 12, 13);
        x[3] = MIX(pair[1], pair[3], 2, 3, 10, 11, 6, 7, 14, 15);
        for (int i = 0; i < 4; i++) *(v4 *)(panel + (k + i) * width) = MIX(x[i], x[i], 0, 1, 2, 3);
        for (int i = 0; i < 4; i++)
            *(v4 *)(panel + (k + i + 4) * width) = MIX(x[i], x[i], 4, 5, 6, 7);
    }
}

/* Eight rows, or as many as there are: a store of 8 then spills into the row below, which is
 * written later. */
HU_INLINE void pack_group(const float *const *rows, int valid, int64_t ahead, int64_t blocks,
                          int width, float *panel) {
    const float *source[8];
    for (int r = 0; r < 8; r++) source[r] = rows[r < valid ? r : valid - 1];
    for (int64_t k = 0; k < 8 * blocks; k += 8) {
        v8 x[8];
        for (int r = 0; r < 8; r++) x[r] = *load(source[r] + k);
        for (int r = 0; r < valid && ahead; r++) __builtin_prefetch(source[r] + k + ahead);
        transpose_8(x);
        for (int i = 0; i < 8; i++) *store(panel + (k + i) * width) = x[i];
    }
}

/* The incomplete group first: what it spills belongs to the groups before it. */
HU_INLINE void pack_rows(const float *const *rows, int64_t ahead, int64_t run, int width,
                         float *panel) {
    int64_t blocks = run / 8;
    int whole = width / 8 * 8;
    if (blocks > 0 && whole < width && width - whole <= 4)
        pack_group_of_4(rows + whole, width - whole, ahead, blocks, width, panel + whole);
    else if (blocks > 0 && whole < width)
        pack_group(rows + whole, width - whole, ahead, blocks, width, panel + whole);
    for (int r = 0; r < whole && blocks > 0; r += 8)
        pack_group(rows + r, 8, ahead, blocks, width, panel + r);
    for (int64_t k = 8 * blocks; k < run; k++)
        for (int r = 0; r < width; r++) panel[k * width + r] = rows[r][k];
}

/* The widths of the kernels' tiles as constants, so that the loops over rows unroll. */
static void pack_rows_any(const float *const *rows, int64_t ahead, int64_t run, int width,
                          float *panel) {
    switch (width) {
    case 3:
        pack_rows(rows, ahead, run, 3, panel);
        break;
    case 4:
        pack_rows(rows, ahead, run, 4, panel);
        break;
    case 6:
        pack_rows(rows, ahead, run, 6, panel);
        break;
    case 8:
        pack_rows(rows, ahead, run, 8, panel);
        break;
    case 12:
        pack_rows(rows, ahead, run, 12, panel);
        break;
    case 10:
        pack_rows(rows, ahead, run, 10, panel);
        break;
    case 16:
        pack_rows(rows, ahead, run, 16, panel);
        break;
    case 24:
        pack_rows(rows, ahead, run, 24, panel);
        break;
    case 32:
        pack_rows(rows, ahead, run, 32, panel);
        break;
    default:
        pack_rows(rows, ahead, run, width, panel);
    }
}

/* Row k of the source is row k of the panel: `valid` numbers side by side, then zeros. Rows may be
 * far apart, so reads are announced 24 rows ahead. */
HU_INLINE void copy_columns(const float *source, int64_t stride, int64_t run, int width, int valid,
                            float *panel) {
    for (int64_t k = 0; k < run; k++, source += stride, panel += width) {
        __builtin_prefetch(source + 24 * stride);
        memcpy(panel, source, (size_t)valid * sizeof *panel);
        if (valid < width) memset(panel + valid, 0, (size_t)(width - valid) * sizeof *panel);
    }
}

/* The widths of the kernels' tiles as constants, so that a row is copied without a call. */
static void pack_columns(const float *source, int64_t stride, int64_t run, int width, int valid,
                         float *panel) {
    switch (valid == width ? width : 0) {
    case 3:
        copy_columns(source, stride, run, 3, 3, panel);
        break;
    case 4:
        copy_columns(source, stride, run, 4, 4, panel);
        break;
    case 6:
        copy_columns(source, stride, run, 6, 6, panel);
        break;
    case 8:
        copy_columns(source, stride, run, 8, 8, panel);
        break;
    case 12:
        copy_columns(source, stride, run, 12, 12, panel);
        break;
    case 16:
        copy_columns(source, stride, run, 16, 16, panel);
        break;
    case 24:
        copy_columns(source, stride, run, 24, 24, panel);
        break;
    case 32:
        copy_columns(source, stride, run, 32, 32, panel);
        break;
    default:
        copy_columns(source, stride, run, width, valid, panel);
    }
}

/* Rows may be far apart, where no prefetcher of the machine finds the next one: it is announced two
 * rows ahead. Not further: rows a power of two apart fall into one set of the caches, which has
 * eight lines. */
HU_INLINE void copy_side(const float *source, int64_t stride, int64_t run, int width,
                         int64_t panels, int64_t step, float *panel) {
    enum { AHEAD = 2, LINE = 16 };
    for (int64_t k = 0; k < run; k++, source += stride, panel += width) {
        const float *next = source + (k + AHEAD < run ? AHEAD * stride : 0);
        for (int64_t i = 0; i < panels * width; i += LINE) __builtin_prefetch(next + i);
        for (int64_t p = 0; p < panels; p++)
            memcpy(panel + p * step, source + p * width, (size_t)width * sizeof *panel);
    }
}

static void pack_side(const float *source, int64_t stride, int64_t run, int width, int64_t panels,
                      int64_t step, float *panel) {
    switch (width) {
    case 8:
        copy_side(source, stride, run, 8, panels, step, panel);
        break;
    case 16:
        copy_side(source, stride, run, 16, panels, step, panel);
        break;
    case 24:
        copy_side(source, stride, run, 24, panels, step, panel);
        break;
    case 32:
        copy_side(source, stride, run, 32, panels, step, panel);
        break;
    default:
        copy_side(source, stride, run, width, panels, step, panel);
    }
}

/* Per number the unit in which it is odd: the difference of u and u & (u - 1), as floats, is the
 * value of the pattern's lowest bit. Of powers of two that bit belongs to the exponent, and the
 * difference lies between half of the number and the number. Zeros give 0 less 1, the largest
 * pattern, and fall out of the minimum. */
HU_INLINE uint32_t low_of(float x) {
    uint32_t u = hu_f32_bits(x) & ~HU_F32_SIGN;
    return hu_f32_bits(hu_f32_of_bits(u) - hu_f32_of_bits(u & (u - 1))) - 1;
}

static void measure(size_t n, const float *x, hu_pack_facts *facts) {
    uint32_t top = facts->top, fraction = facts->fraction, low = facts->low;
#pragma omp simd reduction(max : top) reduction(| : fraction) reduction(min : low)
    for (size_t i = 0; i < n; i++) {
        uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        uint32_t unit = low_of(x[i]);
        fraction |= u;
        top = u > top ? u : top;
        low = unit < low ? unit : low;
    }
    *facts = (hu_pack_facts){top, fraction & 0x007fffffu, low};
}

/* Facts of every column modulo LANES: one reduction in the end. */
static void measure_rows(int64_t rows, int64_t columns, int64_t ld, const float *x,
                         hu_pack_facts *facts) {
    enum { LANES = 16 };
    uint32_t top[LANES] = {0}, fraction[LANES] = {0}, low[LANES];
    const int64_t whole = columns / LANES * LANES;
    memset(low, 0xff, sizeof low);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < whole; j += LANES)
            for (int l = 0; l < LANES; l++) {
                uint32_t u = hu_f32_bits(x[i * ld + j + l]) & ~HU_F32_SIGN;
                uint32_t unit = low_of(x[i * ld + j + l]);
                fraction[l] |= u;
                top[l] = u > top[l] ? u : top[l];
                low[l] = unit < low[l] ? unit : low[l];
            }
    for (int l = 0; l < LANES; l++) {
        const hu_pack_facts seen = {top[l], fraction[l] & 0x007fffffu, low[l]};
        hu_pack_facts_add(facts, &seen);
    }
    for (int64_t i = 0; i < rows && whole < columns; i++)
        measure((size_t)(columns - whole), x + i * ld + whole, facts);
}

static void lows(size_t n, const float *x, size_t slice, uint32_t *low) {
    for (size_t at = 0; at < n; at += slice, low++) {
        const size_t count = n - at < slice ? n - at : slice;
        uint32_t least = UINT32_MAX;
#pragma omp simd reduction(min : least)
        for (size_t i = 0; i < count; i++) {
            uint32_t unit = low_of(x[at + i]);
            least = unit < least ? unit : least;
        }
        *low = least;
    }
}

/* Columns `first` .. `first + part - 1` of a panel [run][width] -> out[run][part]. */
HU_INLINE void widen_part(const float *panel, int64_t run, int width, int valid, int part,
                          double *out) {
    for (int64_t k = 0; k < run; k++, panel += width, out += part) {
        for (int i = 0; i < valid; i++) out[i] = (double)panel[i];
        for (int i = valid; i < part; i++) out[i] = 0;
    }
}

/* A float32 panel of `width` columns as panels of `part` columns in float64, which kernels of that
 * arithmetic read. */
static void widen(const float *panel, int64_t run, int width, int part, double *out) {
    if (part == width) { /* one panel: numbers in the same order */
        for (int64_t i = 0; i < run * width; i++) out[i] = (double)panel[i];
        return;
    }
    for (int first = 0; first < width; first += part, out += run * part) {
        int valid = width - first < part ? width - first : part;
        if (valid == 16 && part == 16)
            widen_part(panel + first, run, width, 16, 16, out);
        else if (valid == 12 && part == 12)
            widen_part(panel + first, run, width, 12, 12, out);
        else if (valid == 8 && part == 8)
            widen_part(panel + first, run, width, 8, 8, out);
        else if (valid == 4 && part == 4)
            widen_part(panel + first, run, width, 4, 4, out);
        else
            widen_part(panel + first, run, width, valid, part, out);
    }
}

HU_INLINE float one_nan(float x) {
    return x == x ? x : hu_f32_of_bits(HU_F32_NAN);
}

/* The order of additions is the definition's: state first, then bias. */
static void finish(size_t n, const float *sum, const float *extra, const float *bias, float *c) {
    if (!extra && !bias) {
        for (size_t i = 0; i < n; i++) c[i] = one_nan(sum[i]);
    } else if (!bias) {
        for (size_t i = 0; i < n; i++) c[i] = one_nan(sum[i] + extra[i]);
    } else if (!extra) {
        for (size_t i = 0; i < n; i++) c[i] = one_nan(sum[i] + bias[i]);
    } else {
        for (size_t i = 0; i < n; i++) c[i] = one_nan(sum[i] + extra[i] + bias[i]);
    }
}

const hu_pack_set HU_VARIANT(hu_pack_set) = {pack_rows_any, pack_columns, pack_side, measure,
                                             measure_rows,  lows,         widen,     finish};
