/* kernel/block/variant.c - the block kernels in portable C, compiled once per instruction set.
 * Full tiles of 16, 32 and 128 elements of a line are loops of constant length. Assumes the default
 * floating-point environment. */
#include "base/bits.h"
#include "kernel/block/block.h"
#include "kernel/lane.h"

static const uint32_t least_normal = 0x00800000u, largest = 0x7F7FFFFFu;

/* Calls BODY(count) with a constant count where it is that of a full tile. */
#define FOR_BLOCK(count, body)                                                                     \
    do {                                                                                           \
        if ((count) == 32)                                                                         \
            body(32);                                                                              \
        else if ((count) == 16)                                                                    \
            body(16);                                                                              \
        else if ((count) == 128)                                                                   \
            body(128);                                                                             \
        else                                                                                       \
            body(count);                                                                           \
    } while (0)

HU_INLINE int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* Tiles that x[n] meets one after the other: elements of the present one from `at` on. */
typedef struct walk {
    int64_t place, inside, length, line; /* inside: of the tile, of the first element */
    size_t at, n, count;
} walk;

HU_INLINE size_t left_in_tile(const walk *w) {
    int64_t left = w->line - w->place, of_tile = w->length - w->inside;
    size_t count = (size_t)(left < of_tile ? left : of_tile);
    return count < w->n - w->at ? count : w->n - w->at;
}

HU_INLINE walk walk_from(const hu_blocker *b, int64_t place, size_t n) {
    int64_t length = b->format.length;
    int64_t inside = b->shift >= 0 ? place & (length - 1) : place % length;
    walk w = {place, inside, length, b->line, 0, n, 0};
    w.count = n ? left_in_tile(&w) : 0;
    return w;
}

/* From the second tile on walks begin with tiles: no division tells how much is left. */
HU_INLINE void go_on(walk *w) {
    w->at += w->count;
    w->place += (int64_t)w->count;
    w->inside = 0;
    if (w->place >= w->line) w->place = 0;
    int64_t left = w->line - w->place;
    size_t count = (size_t)(left < w->length ? left : w->length);
    w->count = count < w->n - w->at ? count : w->n - w->at;
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

/* Tiles of single elements of a line: every element has a maximum of its own. */
static uint32_t single_tops(size_t n, const float *x, uint32_t *tops) {
    int32_t most = 0;
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < n; i++) {
        int32_t u = (int32_t)(hu_f32_bits(x[i]) & ~HU_F32_SIGN);
        tops[i] = (uint32_t)larger((int32_t)tops[i], u);
        most = larger(most, u >= (int32_t)HU_F32_INFINITY ? 0 : u);
    }
    return (uint32_t)most;
}

/* The same of several short lines, from the beginning of one on: maxima side by side, joined at the
 * end. */
static uint32_t folded_tops(size_t line, size_t n, const float *x, uint32_t *tops) {
    const size_t step = HU_BLOCK_WIDE / line * line, width = n < step ? n : step;
    uint32_t wide[HU_BLOCK_WIDE] = {0}, most = 0;
    for (size_t at = 0; at < n; at += step) {
        uint32_t top = single_tops(n - at < step ? n - at : step, x + at, wide);
        if (top > most) most = top;
    }
    for (size_t at = 0; at < width; at += line) {
        size_t count = width - at < line ? width - at : line;
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            tops[i] = (uint32_t)larger((int32_t)tops[i], (int32_t)wide[at + i]);
    }
    return most;
}

/* Tile by tile, lines cut as block.h says; a short tile at the end of a line has a maximum of its
 * own. */
static uint32_t all_tops(const hu_blocker *b, int64_t place, size_t n, const float *x,
                         uint32_t *tops) {
    int32_t most = 0;
    if (b->format.length == 1 && b->format.lines > 1 && n > (size_t)b->line)
        return folded_tops((size_t)b->line, n, x, tops);
    if (b->format.length == 1) return single_tops(n, x, tops);
    for (walk w = walk_from(b, place, n); w.at < n; go_on(&w), tops++) {
        int32_t top;
#define TOP(size) top = top_of(size, x + w.at, 0)
        FOR_BLOCK(w.count, TOP);
        *tops = (uint32_t)larger((int32_t)*tops, top);
        /* Only tiles with an infinity or a NaN are read twice: the tensor's maximum is that of
         * finite numbers. */
        if (top >= (int32_t)HU_F32_INFINITY) top = top_of(w.count, x + w.at, 1);
        most = larger(most, top);
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

/* Tiles whose scale is NaN become +0, those whose scale is 0 zeros with their signs. */
static void clear_block(size_t n, const float *x, int is_nan, float *y, hu_block_loss *loss) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = hu_f32_bits(x[i]);
        loss->nan += (uint64_t)is_nan;
        loss->vanished += !is_nan && (bits & ~HU_F32_SIGN) != 0;
        y[i] = hu_f32_of_bits(is_nan ? 0 : bits & HU_F32_SIGN);
    }
}

/* True if no unit is 0 or NaN. */
HU_INLINE int all_positive(size_t n, const float *unit) {
    int32_t bad = 0;
#pragma omp simd reduction(| : bad)
    for (size_t i = 0; i < n; i++) bad |= !(unit[i] > 0.0f);
    return !bad;
}

static void divide_singles(const hu_blocker *b, const hu_block_part *part, const float *x, float *y,
                           hu_block_loss *loss) {
    size_t n = part->n;
    const float *unit = part->unit, *inverse = part->inverse;
    if (!all_positive(n, unit)) {
        for (size_t i = 0; i < n; i++)
            if (!(unit[i] > 0.0f))
                clear_block(1, x + i, unit[i] != unit[i], y + i, loss);
            else
                y[i] = kept(x[i], b->divides ? x[i] / unit[i] : x[i] * inverse[i]);
    } else if (b->divides) {
#pragma omp simd
        for (size_t i = 0; i < n; i++) y[i] = kept(x[i], x[i] / unit[i]);
    } else {
#pragma omp simd
        for (size_t i = 0; i < n; i++) y[i] = kept(x[i], x[i] * inverse[i]);
    }
}

/* y = elements in units of their tile's scale, ready to be rounded. */
static void divide(const hu_blocker *b, const hu_block_part *part, const float *x, float *y,
                   hu_block_loss *loss) {
    const float *unit = part->unit, *inverse = part->inverse;
    if (b->format.length == 1) {
        divide_singles(b, part, x, y, loss);
        return;
    }
    for (walk w = walk_from(b, part->place, part->n); w.at < w.n; go_on(&w), unit++, inverse++) {
        float d = *unit;
        if (!(d > 0.0f)) {
            clear_block(w.count, x + w.at, d != d, y + w.at, loss);
        } else if (b->divides) {
#define OVER(size) over(size, x + w.at, d, y + w.at)
            FOR_BLOCK(w.count, OVER);
        } else {
            float r = *inverse;
#define TIMES(size) times(size, x + w.at, r, y + w.at)
            FOR_BLOCK(w.count, TIMES);
        }
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

/* Values of tiles whose unit is NaN. */
HU_INLINE float one_nan(float y) {
    return hu_f32_of_bits(y != y ? HU_F32_NAN : hu_f32_bits(y));
}

/* y = rounded elements times their tile's scale: the numbers that block.h defines. */
static void multiply(const hu_blocker *b, const hu_block_part *part, const float *x, float *y) {
    const float *unit = part->unit;
    if (b->format.length == 1) {
#pragma omp simd
        for (size_t i = 0; i < part->n; i++) y[i] = one_nan(bounded(x[i] * unit[i]));
        return;
    }
    for (walk w = walk_from(b, part->place, part->n); w.at < w.n; go_on(&w), unit++) {
        float d = *unit;
        if (d != d) {
            for (size_t i = 0; i < w.count; i++) y[w.at + i] = hu_f32_of_bits(HU_F32_NAN);
        } else if (b->format.scale == HU_BLOCK_SCALE_E8M0) {
#define SHIFTS(size) shifts(size, x + w.at, d, y + w.at)
            FOR_BLOCK(w.count, SHIFTS);
        } else {
#define PRODUCTS(size) products(size, x + w.at, d, y + w.at)
            FOR_BLOCK(w.count, PRODUCTS);
        }
    }
}

HU_INLINE float term_of(hu_block_sum_kind kind, float x, float y) {
    float d = y - x;
    if (kind == HU_SUM_PRODUCTS) return x * y;
    return kind == HU_SUM_SQUARES ? d * d : hu_f32_of_bits(hu_f32_bits(d) & ~HU_F32_SIGN);
}

typedef uint32_t u8x __attribute__((vector_size(32), aligned(4), may_alias));

/* Elements of one tile from the place `from` of its line on: lane j has places j, j + 8, ... */
HU_INLINE void add_kind(hu_block_sum_kind kind, size_t from, size_t n, const float *x,
                        const float *y, float *lane) {
    size_t i = 0;
    for (; i < n && (from + i) % HU_BLOCK_LANES != 0; i++)
        lane[(from + i) % HU_BLOCK_LANES] += term_of(kind, x[i], y[i]);
    v8 sums = *load(lane);
    for (; i + HU_BLOCK_LANES <= n; i += HU_BLOCK_LANES) {
        v8 d = *load(y + i) - *load(x + i);
        if (kind == HU_SUM_PRODUCTS)
            sums += *load(x + i) * *load(y + i);
        else if (kind == HU_SUM_SQUARES)
            sums += d * d;
        else
            sums += (v8)((u8x)d & ~HU_F32_SIGN);
    }
    *store(lane) = sums;
    for (size_t j = 0; i < n; i++, j++) lane[j] += term_of(kind, x[i], y[i]);
}

static void add(const hu_blocker *b, hu_block_sum_kind kind, int64_t place, size_t n,
                const float *x, const float *y, hu_block_sums *sums) {
    for (walk w = walk_from(b, place, n); w.at < n; go_on(&w), sums++) {
        size_t from = (size_t)w.inside;
        if (kind == HU_SUM_PRODUCTS)
            add_kind(HU_SUM_PRODUCTS, from, w.count, x + w.at, y + w.at, sums->lane);
        else if (kind == HU_SUM_SQUARES)
            add_kind(HU_SUM_SQUARES, from, w.count, x + w.at, y + w.at, sums->lane);
        else
            add_kind(HU_SUM_DISTANCES, from, w.count, x + w.at, y + w.at, sums->lane);
    }
}

/* Tiles without any magnitude take 1: their elements are zeros in every unit. Units of powers of
 * two are always exact; others and what they divide are kept where no step of a division leaves the
 * normal numbers. */
static uint32_t calm(const hu_blocker *b, size_t tiles, const uint32_t *restrict tops,
                     float *restrict unit, float *restrict inverse) {
    const float large = 0x1p60f;
    const int32_t least = (int32_t)hu_f32_bits(0x1p-60f);
    const int32_t top_limit =
        b->format.scale == HU_BLOCK_SCALE_E8M0 ? (int32_t)largest : (int32_t)hu_f32_bits(large);
    int32_t most = 0, bad = 0;
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < tiles; i++) most = larger(most, (int32_t)tops[i]);
    if (most > top_limit) return HU_F32_INFINITY;
    if (b->format.scale == HU_BLOCK_SCALE_E8M0) return (uint32_t)most;
    for (size_t i = 0; i < tiles; i++) unit[i] = tops[i] == 0 ? 1.0f : unit[i];
#pragma omp simd reduction(| : bad)
    for (size_t i = 0; i < tiles; i++) {
        int32_t bits = (int32_t)hu_f32_bits(unit[i]);
        bad |= (bits - least) | ((int32_t)hu_f32_bits(large) - bits);
    }
    if (bad < 0) return HU_F32_INFINITY;
    if (b->divides)
        for (size_t i = 0; i < tiles; i++) inverse[i] = 1.0f / unit[i];
    else
        for (size_t i = 0; i < tiles; i++) inverse[i] = tops[i] == 0 ? 1.0f : inverse[i];
    return (uint32_t)most;
}

/* scale_variant.c */
hu_block_scales_fn HU_VARIANT(hu_block_set_scales);
hu_block_units_fn HU_VARIANT(hu_block_set_units);
hu_block_units_of_tops_fn HU_VARIANT(hu_block_set_both);

const hu_block_kernels HU_VARIANT(hu_block_kernels) = {all_top,
                                                       all_tops,
                                                       divide,
                                                       multiply,
                                                       add,
                                                       HU_VARIANT(hu_block_set_scales),
                                                       HU_VARIANT(hu_block_set_units),
                                                       HU_VARIANT(hu_block_set_both),
                                                       calm};
