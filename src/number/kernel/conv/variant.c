/* kernel/conv/variant.c - the loops of sweep.h and of winograd.h, compiled once per
 * instruction set. `held` is a vector in a register, of the type that multiply_add takes and gives:
 * where sums change their type with each one, gcc 12 moves them from register to register. */
#include <math.h>
#include <string.h>

#include "kernel/conv/sweep.h"
#include "kernel/lane.h"

#if defined(__AVX512F__) /* tiles of 8 places x 16 channels: the fewest that hide the latency */
#include <immintrin.h>
typedef float vector __attribute__((vector_size(64), aligned(4), may_alias));
typedef __m512 held;
enum { LANES = 16, PLACES = 8 };
#define HU_PLACES 8
#define HU_HAS_16_LANES 1
#define multiply_add(a, b, c) _mm512_fmadd_ps(a, b, c)
#define spread(x) _mm512_set1_ps(*(x))
#elif defined(__AVX2__) /* tiles of 6 places x 16 channels: 12 sums in 16 registers */
#include <immintrin.h>
typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));
typedef __m256 held;
enum { LANES = 8, PLACES = 6 };
#define HU_PLACES 6
#define multiply_add(a, b, c) _mm256_fmadd_ps(a, b, c)
#define spread(x) _mm256_broadcast_ss(x)
#else /* four lanes that every compiler knows, fused by the C library */
typedef float vector __attribute__((vector_size(16), aligned(4), may_alias));
typedef vector held;
enum { LANES = 4, PLACES = 6 };
#define HU_PLACES 6

static inline vector multiply_add(vector a, vector b, vector c) {
    return (vector){fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]),
                    fmaf(a[3], b[3], c[3])};
}

static inline vector spread(const float *x) {
    return (vector){*x, *x, *x, *x};
}
#endif

enum { WIDTH = 16, VECTORS = WIDTH / LANES };

/* Blocks of 16 channels in a tile of at most FEW places, and in one of more. */
enum { WIDE = HU_CONV_BLOCKS_OF(LANES), BLOCKS = WIDE > 1 ? 2 : 1, FEW = 4, SUMS = WIDE * VECTORS };

HU_INLINE const vector *at(const float *p) {
    return (const vector *)p;
}

HU_INLINE vector *to(float *p) {
    return (vector *)p;
}

typedef uint32_t bits __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* What the compiler knows of x ends here. */
#define HIDE(x) __asm__("" : "+r"(x))

/* ---- places x channels, over taps and their channels ---- */

/* Channels of block b of the tile: 16, or fewer in the last. */
HU_INLINE int64_t block_width(int64_t width, int b) {
    int64_t left = width - b * WIDTH;
    return left < WIDTH ? left : WIDTH;
}

/* sum[place][channels] start with s->start (bias or zeros), or with what earlier blocks of terms
 * left in target. Fewer than 16 channels are read into a full vector first. */
HU_INLINE void begin_sums(const hu_conv_sweep *s, float *const *target, held sum[PLACES][SUMS],
                          const int places, const int blocks) {
    float lanes[WIDTH] = {0};
    HU_UNROLL
    for (int m = 0; m < places; m++) {
        HU_UNROLL
        for (int b = 0; b < blocks; b++) {
            const float *from = (s->start ? s->start : target[m]) + b * WIDTH;
            if (!s->start && block_width(s->width, b) < WIDTH) {
                memcpy(lanes, from, (size_t)block_width(s->width, b) * sizeof *lanes);
                from = lanes;
            }
            HU_UNROLL
            for (int v = 0; v < VECTORS; v++) sum[m][b * VECTORS + v] = *at(from + v * LANES);
        }
    }
}

/* The sums of `places` places go to their targets, only `width` channels of them. */
HU_INLINE void end_sums(const hu_conv_sweep *s, float *const *target, held sum[PLACES][SUMS],
                        const int places, const int blocks) {
    float lanes[WIDTH];
    HU_UNROLL
    for (int m = 0; m < places; m++) {
        HU_UNROLL
        for (int b = 0; b < blocks; b++) {
            int64_t width = block_width(s->width, b);
            float *into = width < WIDTH ? lanes : target[m] + b * WIDTH;
            HU_UNROLL
            for (int v = 0; v < VECTORS; v++) *to(into + v * LANES) = sum[m][b * VECTORS + v];
            if (width < WIDTH) memcpy(target[m] + b * WIDTH, lanes, (size_t)width * sizeof *lanes);
        }
    }
}

/* Register tile: places x 16 sums of each block. Per term one row of each panel [16] meets one
 * number of each place; the loop over terms is the definition's order, lanes are independent sums.
 */
HU_INLINE void sweep_tile(const hu_conv_sweep *s, const float *const *source, float *const *target,
                          const int places, const int blocks) {
    held sum[PLACES][SUMS];
    const float *x[PLACES];
    HU_UNROLL
    for (int m = 0; m < places; m++) x[m] = source[m];
    begin_sums(s, target, sum, places, blocks);
    for (int64_t r = 0; r < s->tap_rows; r++)
        for (int64_t c = 0; c < s->tap_columns; c++) {
            const float *panel = s->panel + r * s->tap_panel_row + c * s->tap_panel_column;
            int64_t k = r * s->tap_source_row + c * s->tap_source_column;
            for (int64_t left = s->depth; left > 0; left--, k += s->source_term, panel += WIDTH) {
                held b[SUMS];
                HU_UNROLL
                for (int v = 0; v < blocks * VECTORS; v++)
                    b[v] = *at(panel + v / VECTORS * s->panel_block + v % VECTORS * LANES);
                HU_UNROLL
                for (int m = 0; m < places; m++) {
                    held a = spread(x[m] + k);
                    HU_UNROLL
                    for (int v = 0; v < blocks * VECTORS; v++)
                        sum[m][v] = multiply_add(a, b[v], sum[m][v]);
                }
            }
        }
    end_sums(s, target, sum, places, blocks);
}

/* The next place of a sweep. */
typedef struct walker {
    int64_t row, column;
    const float *source_image, *source_row, *source;
    float *target_image, *target_row, *target;
} walker;

/* Goes on to the next place: a column, at the end of a row the next row, then the next image. */
HU_INLINE void walk(const hu_conv_sweep *s, walker *w) {
    w->source += s->source_column;
    w->target += s->target_column;
    if (++w->column < s->columns) return;
    w->column = 0;
    w->source_row += s->source_row;
    w->target_row += s->target_row;
    if (++w->row == s->rows) {
        w->row = 0;
        w->source_row = w->source_image += s->source_image;
        w->target_row = w->target_image += s->target_image;
    }
    w->source = w->source_row;
    w->target = w->target_row;
}

/* A constant number of places keeps the sums in registers. */
HU_INLINE void sweep_any(const hu_conv_sweep *s, const float *const *source, float *const *target,
                         int64_t places, const int blocks) {
    switch (places) {
    case 1:
        sweep_tile(s, source, target, 1, blocks);
        break;
    case 2:
        sweep_tile(s, source, target, 2, blocks);
        break;
    case 3:
        sweep_tile(s, source, target, 3, blocks);
        break;
    case 4:
        sweep_tile(s, source, target, 4, blocks);
        break;
    case 5:
        if (blocks <= BLOCKS) sweep_tile(s, source, target, 5, blocks);
        break;
    case 6:
        if (blocks <= BLOCKS) sweep_tile(s, source, target, 6, blocks);
        break;
#if HU_PLACES > 6
    case 7:
        if (blocks <= BLOCKS) sweep_tile(s, source, target, 7, blocks);
        break;
    case 8:
        if (blocks <= BLOCKS) sweep_tile(s, source, target, 8, blocks);
        break;
#endif
    }
}

/* Functions of their own: what the walk keeps would take registers from the tile's pointers. */
typedef void tile_fn(const hu_conv_sweep *s, const float *const *source, float *const *target,
                     int64_t places);

static void tile_of_one(const hu_conv_sweep *s, const float *const *source, float *const *target,
                        int64_t places) {
    sweep_any(s, source, target, places, 1);
}

static void tile_of_some(const hu_conv_sweep *s, const float *const *source, float *const *target,
                         int64_t places) {
    sweep_any(s, source, target, places, BLOCKS);
}

static void tile_of_all(const hu_conv_sweep *s, const float *const *source, float *const *target,
                        int64_t places) {
    sweep_any(s, source, target, places, WIDE);
}

/* All places of a sweep in tiles of nearly equal size. */
static void sweep_places(const hu_conv_sweep *s, int64_t most, tile_fn *tile) {
    walker w = {0, 0, s->source, s->source, s->source, s->target, s->target, s->target};
    /* Places of one sweep are numbered [image, row, column]; a tile takes the next few, wherever
     * they lie. */
    for (int64_t left = s->images * s->rows * s->columns, n; left > 0; left -= n) {
        const float *source[PLACES];
        float *target[PLACES];
        n = hu_conv_share(left, most);
        for (int64_t m = 0; m < n; m++) {
            source[m] = w.source;
            target[m] = w.target;
            walk(s, &w);
        }
        tile(s, source, target, n);
    }
}

#ifdef HU_HAS_16_LANES
#include "kernel/conv/line.inc"
#endif

/* Places of one block. */
static void sweep_block(const hu_conv_sweep *s) {
#ifdef HU_HAS_16_LANES
    if (s->columns >= LEAST_LINE) {
        sweep_lines(s);
        return;
    }
#endif
    sweep_places(s, PLACES, tile_of_one);
}

/* Rows, and images, of places that lie one after the other are one: the walk is then a step. */
HU_INLINE void join_places(hu_conv_sweep *s) {
    if (s->source_row != s->columns * s->source_column ||
        s->target_row != s->columns * s->target_column)
        return;
    s->columns *= s->rows;
    s->rows = 1;
    if (s->source_image != s->columns * s->source_column ||
        s->target_image != s->columns * s->target_column)
        return;
    s->columns *= s->images;
    s->images = 1;
}

/* Blocks side by side as many as a tile has; those that are left, one by one. */
static void sweep(const hu_conv_sweep *s) {
    int64_t most = s->images * s->rows * s->columns <= FEW ? WIDE : BLOCKS, n;
    hu_conv_sweep part = *s;
    join_places(&part);
    for (int64_t left = s->width; left > 0; left -= part.width) {
        n = left > (most - 1) * WIDTH ? most : left > (BLOCKS - 1) * WIDTH ? BLOCKS : 1;
        part.width = left < n * WIDTH ? left : n * WIDTH;
        if (n == 1)
            sweep_block(&part);
        else if (n == BLOCKS)
            sweep_places(&part, PLACES, tile_of_some);
        else
            sweep_places(&part, FEW, tile_of_all);
        part.panel += n * s->panel_block;
        part.target += n * WIDTH;
        if (s->start) part.start += n * WIDTH;
    }
}

/* ---- filters x channels, over pixels ---- */

/* Fewer than 16 channels of a block: sums [filters][16]. */
static void put_narrow(const hu_conv_outer *o, const float *sums, int64_t first, int64_t width) {
    for (int64_t m = 0; m < o->filters; m++)
        for (int64_t i = 0; i < width; i++) {
            float *dw = o->dw + m * o->dw_filter + first + i;
            *dw = o->adds ? *dw + sums[m * WIDTH + i] : sums[m * WIDTH + i];
        }
}

/* Stores count x 16 sums, `step` floats from one filter to the next. */
HU_INLINE void put_sums(held sum[PLACES][VECTORS], float *to_first, int64_t step, const int count) {
    HU_UNROLL
    for (int m = 0; m < count; m++) {
        HU_UNROLL
        for (int v = 0; v < VECTORS; v++) *to(to_first + m * step + v * LANES) = sum[m][v];
    }
}

/* dw = or += the sums of a block in a strip. The addition comes after the whole sum: strips are
 * added in order. */
HU_INLINE void put_gradient(const hu_conv_outer *o, held sum[PLACES][VECTORS], const int block,
                            const int filters) {
    int64_t width = block_width(o->width, block), first = block * WIDTH;
    if (width < WIDTH) {
        float lanes[PLACES * WIDTH];
        put_sums(sum, lanes, WIDTH, filters);
        put_narrow(o, lanes, first, width);
        return;
    }
    if (o->adds) {
        HU_UNROLL
        for (int m = 0; m < filters; m++) {
            HU_UNROLL
            for (int v = 0; v < VECTORS; v++)
                sum[m][v] += *at(o->dw + m * o->dw_filter + first + v * LANES);
        }
    }
    put_sums(sum, o->dw + first, o->dw_filter, filters);
}

/* One pixel, one block; mask: NULL, or the lanes that take part. */
HU_INLINE void outer_step(const float *x, const float *dy, const uint32_t *mask,
                          held sum[PLACES][VECTORS], const int filters) {
    held b[VECTORS];
    HU_UNROLL
    for (int v = 0; v < VECTORS; v++) b[v] = *at(x + v * LANES);
    HU_UNROLL
    for (int m = 0; m < filters; m++) {
        held a = spread(dy + m);
        HU_UNROLL
        for (int v = 0; v < VECTORS; v++) {
            held factor = mask ? (held)((bits)a & *(const bits *)(mask + v * LANES)) : a;
            sum[m][v] = multiply_add(factor, b[v], sum[m][v]);
        }
    }
}

/* Steps of hu_conv_outer in registers: those that the compiler knew from elsewhere it would read
 * from memory for each pixel. */
typedef struct outer_steps {
    int64_t x_column, dy_column, x_block;
} outer_steps;

HU_INLINE outer_steps steps_of(const hu_conv_outer *o) {
    outer_steps s = {o->x_column, o->dy_column, o->x_block};
    HIDE(s.x_column);
    HIDE(s.dy_column);
    HIDE(s.x_block);
    return s;
}

/* One pixel, all blocks of the tile. */
HU_INLINE void outer_pixel(const outer_steps *by, const float *x, const float *dy,
                           const uint32_t *mask, held sum[BLOCKS][PLACES][VECTORS],
                           const int blocks, const int filters) {
    HU_UNROLL
    for (int i = 0; i < blocks; i++)
        outer_step(x + i * by->x_block, dy, mask ? mask + i * WIDTH : NULL, sum[i], filters);
}

/* Columns before and after the inner ones feel the mask: some of their taps lie in the padding. */
HU_INLINE void outer_row(const hu_conv_outer *o, const outer_steps *by, const float *x,
                         const float *dy, held sum[BLOCKS][PLACES][VECTORS], const int blocks,
                         const int filters, const bool has_masks) {
    const uint32_t *mask = o->mask;
    for (int64_t left = has_masks ? o->before : 0; left > 0;
         left--, x += by->x_column, dy += by->dy_column, mask += o->mask_column)
        outer_pixel(by, x, dy, mask, sum, blocks, filters);
    for (int64_t left = o->columns; left > 0; left--, x += by->x_column, dy += by->dy_column)
        outer_pixel(by, x, dy, NULL, sum, blocks, filters);
    for (int64_t left = has_masks ? o->after : 0; left > 0;
         left--, x += by->x_column, dy += by->dy_column, mask += o->mask_column)
        outer_pixel(by, x, dy, mask, sum, blocks, filters);
}

/* Register tile: filters x 16 lanes of a tap in each block. Pixels come in ascending order, which
 * is the definition's. */
HU_INLINE void outer_tile(const hu_conv_outer *o, const int blocks, const int filters,
                          const bool has_masks) {
    held sum[BLOCKS][PLACES][VECTORS];
    const outer_steps by = steps_of(o);
    HU_UNROLL
    for (int i = 0; i < blocks; i++) {
        HU_UNROLL
        for (int m = 0; m < filters; m++) {
            HU_UNROLL
            for (int v = 0; v < VECTORS; v++) sum[i][m][v] = (held){0};
            /* dw is wanted when the sums are complete. */
            __builtin_prefetch(o->dw + m * o->dw_filter + i * WIDTH, 1);
        }
    }
    for (int64_t n = 0; n < o->images; n++) {
        const float *x = o->x + n * o->x_image, *dy = o->dy + n * o->dy_image;
        for (int64_t left = o->rows; left > 0; left--, x += o->x_row, dy += o->dy_row)
            outer_row(o, &by, x, dy, sum, blocks, filters, has_masks);
    }
    HU_UNROLL
    for (int i = 0; i < blocks; i++) put_gradient(o, sum[i], i, filters);
}

/* A constant number of filters keeps the sums in registers. */
HU_INLINE void outer_any(const hu_conv_outer *o, const int blocks, const bool has_masks) {
    switch (o->filters) {
    case 1:
        outer_tile(o, blocks, 1, has_masks);
        break;
    case 2:
        outer_tile(o, blocks, 2, has_masks);
        break;
    case 3:
        outer_tile(o, blocks, 3, has_masks);
        break;
    case 4:
        outer_tile(o, blocks, 4, has_masks);
        break;
    case 5:
        outer_tile(o, blocks, 5, has_masks);
        break;
    case 6:
        outer_tile(o, blocks, 6, has_masks);
        break;
#if HU_PLACES > 6
    case 7:
        outer_tile(o, blocks, 7, has_masks);
        break;
    case 8:
        outer_tile(o, blocks, 8, has_masks);
        break;
#endif
    }
}

/* Functions of their own, so that each has registers for its loops. */
typedef void outer_fn(const hu_conv_outer *o);

static __attribute__((noinline)) void outer_of_one(const hu_conv_outer *o) {
    outer_any(o, 1, false);
}

static __attribute__((noinline)) void outer_of_some(const hu_conv_outer *o) {
    outer_any(o, BLOCKS, false);
}

static __attribute__((noinline)) void masked_of_one(const hu_conv_outer *o) {
    outer_any(o, 1, true);
}

static __attribute__((noinline)) void masked_of_some(const hu_conv_outer *o) {
    outer_any(o, BLOCKS, true);
}

static void outer(const hu_conv_outer *o) {
    static outer_fn *const of[2][2] = {{outer_of_one, outer_of_some},
                                       {masked_of_one, masked_of_some}};
    of[o->mask != NULL][o->width > WIDTH](o);
}

#ifdef HU_HAS_16_LANES
#include "kernel/conv/taps.inc"
#define OUTER_TAPS taps_of
#else
#define OUTER_TAPS NULL
#endif

/* ---- rows into panels ---- */

static void turn(int64_t terms, int64_t step, int64_t width, const float *from, float *to) {
    int64_t k = 0;
    for (; k + 8 <= terms; k += 8)
        for (int64_t first = 0; first < WIDTH; first += 8) {
            v8 x[8];
            HU_UNROLL
            for (int i = 0; i < 8; i++)
                x[i] = first + i < width ? *load(from + (first + i) * step + k) : (v8){0};
            transpose_8(x);
            HU_UNROLL
            for (int i = 0; i < 8; i++) *store(to + (k + i) * WIDTH + first) = x[i];
        }
    for (; k < terms; k++)
        for (int64_t i = 0; i < WIDTH; i++) to[k * WIDTH + i] = i < width ? from[i * step + k] : 0;
}

/* ---- few channels: terms of x x filters, over pixels ---- */

/* hu_conv_few (sweep.h): lanes are filters, and each float of a window of x has a sum of its own.
 */

/* Filters of two vectors share what is read of x; 16 registers have room for half the terms. */
enum { FEW_VECTORS = 2, FEW_TERMS = LANES < 16 ? HU_CONV_FEW_TERMS / 2 : HU_CONV_FEW_TERMS };

/* One pixel; place: of the window's first float in its row of x. Those from 0 to `end` lie inside.
 */
HU_INLINE void few_pixel(const float *row, int64_t place, int64_t end, const float *dy,
                         held sum[FEW_TERMS][FEW_VECTORS], const int terms, const int vectors,
                         const bool at_border) {
    held b[FEW_VECTORS];
    HU_UNROLL
    for (int v = 0; v < vectors; v++) b[v] = *at(dy + v * LANES);
    HU_UNROLL
    for (int m = 0; m < terms; m++) {
        if (at_border && (place + m < 0 || place + m >= end)) continue;
        held a = spread(row + place + m);
        HU_UNROLL
        for (int v = 0; v < vectors; v++) sum[m][v] = multiply_add(a, b[v], sum[m][v]);
    }
}

/* Register tile: terms x filters. Pixels come in ascending order, which is the definition's. */
HU_INLINE void few_tile(const hu_conv_few *o, const int terms, const int vectors) {
    const hu_conv_windows *w = &o->windows;
    held sum[FEW_TERMS][FEW_VECTORS];
    HU_UNROLL
    for (int m = 0; m < terms; m++) {
        HU_UNROLL
        for (int v = 0; v < vectors; v++) sum[m][v] = (held){0};
    }
    for (int64_t n = 0; n < w->images; n++)
        for (int64_t r = 0; r < w->rows; r++) {
            const float *x = w->x + n * w->x_image + r * w->x_row;
            const float *dy = w->dy + n * w->dy_image + r * w->dy_row;
            int64_t place = w->x_first, c = 0;
            for (; c < w->inner; c++, place += w->x_column, dy += w->dy_column)
                few_pixel(x, place, w->x_end, dy, sum, terms, vectors, true);
            for (; c < w->inner_end; c++, place += w->x_column, dy += w->dy_column)
                few_pixel(x, place, w->x_end, dy, sum, terms, vectors, false);
            for (; c < w->columns; c++, place += w->x_column, dy += w->dy_column)
                few_pixel(x, place, w->x_end, dy, sum, terms, vectors, true);
        }
    HU_UNROLL
    for (int m = 0; m < terms; m++) {
        HU_UNROLL
        for (int v = 0; v < vectors; v++) {
            float *into = o->sums + m * o->sums_term + v * LANES;
            if (o->adds) sum[m][v] += *at(into);
            *to(into) = sum[m][v];
        }
    }
}

/* A constant number of terms keeps the sums in registers. */
HU_INLINE void few_any(const hu_conv_few *o, const int vectors) {
    switch (o->terms) {
#define FEW_CASE(n)                                                                                \
    case n:                                                                                        \
        few_tile(o, n, vectors);                                                                   \
        break;
        FEW_CASE(1)
        FEW_CASE(2)
        FEW_CASE(3)
        FEW_CASE(4)
        FEW_CASE(5)
        FEW_CASE(6)
#ifdef HU_HAS_16_LANES
        FEW_CASE(7)
        FEW_CASE(8)
        FEW_CASE(9)
        FEW_CASE(10)
        FEW_CASE(11)
        FEW_CASE(12)
#endif
#undef FEW_CASE
    }
}

static void few(const hu_conv_few *o) {
    if (o->filters > LANES)
        few_any(o, FEW_VECTORS);
    else
        few_any(o, 1);
}

#include "kernel/conv/copy.inc"

const hu_conv_kernels HU_VARIANT(hu_conv_kernels) = {.places = PLACES,
                                                     .blocks = WIDE,
                                                     .outer_blocks = BLOCKS,
                                                     .sweep = sweep,
                                                     .outer = outer,
                                                     .taps = OUTER_TAPS,
                                                     .few_filters = FEW_VECTORS * LANES,
                                                     .few_terms = FEW_TERMS,
                                                     .few = few,
                                                     .turn = turn,
                                                     .copy_blocks = copy_blocks,
                                                     .copy_tiles = copy_tiles};

#include "kernel/conv/winograd.inc"
