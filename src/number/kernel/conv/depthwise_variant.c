/* kernel/conv/depthwise_variant.c - the loops of depthwise.h, compiled once per instruction
 * set. Kernels of 3x3 taps have bodies of their own. */
#include <math.h>
#include <stdint.h>

#include "kernel/conv/depthwise.h"
#include "kernel/lane.h"

#if defined(__AVX2__)
/* Eight lanes with AVX-512 too, for lines of 14 or 29 channels are usual, but 32 registers. */
#include <immintrin.h>
typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));
enum { LANES = 8 };

#define multiply_add(a, b, c) ((vector)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))

static inline vector read_part(const float *p, int64_t n) {
#if defined(__AVX512F__)
    return (vector)_mm256_maskz_loadu_ps((__mmask8)((1u << n) - 1), p);
#else
    static const int32_t mask[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};
    __m256i lanes = _mm256_loadu_si256((const __m256i *)(const void *)(mask + LANES - n));
    return (vector)_mm256_maskload_ps(p, lanes);
#endif
}
#else
/* Four lanes that every compiler knows, fused by the C library. */
typedef float vector __attribute__((vector_size(16), aligned(4), may_alias));
enum { LANES = 4 };

static inline vector multiply_add(vector a, vector b, vector c) {
    return (vector){fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]),
                    fmaf(a[3], b[3], c[3])};
}

static inline vector read_part(const float *p, int64_t n) {
    vector x = {0};
    for (int64_t i = 0; i < n; i++) x[i] = p[i];
    return x;
}
#endif

enum { ROWS = 4, TAPS = 3 };

HU_INLINE const vector *at(const float *p) {
    return (const vector *)p;
}

HU_INLINE vector *to(float *p) {
    return (vector *)p;
}

/* The first n lanes, or all. */
HU_INLINE vector read(const float *p, int64_t n, const bool is_part) {
    return is_part ? read_part(p, n) : *at(p);
}

/* The first n lanes, or all. */
HU_INLINE void write(float *p, vector x, int64_t n, const bool is_part) {
    float lanes[LANES];
    if (!is_part) {
        *to(p) = x;
        return;
    }
    *to(lanes) = x;
    for (int64_t i = 0; i < n; i++) p[i] = lanes[i];
}

/* ---- forward and data gradient ---- */

/* `rows` neighbouring rows of high x wide taps. Input row i is tap row i - r of output row r: it is
 * read once for all of them. Each sum still takes its taps in ascending order, because i ascends.
 */
HU_INLINE void fixed_tile(const hu_depthwise_sweep *s, const float *x, float *y, int64_t w,
                          int64_t n, const bool is_part, const int rows, const int high,
                          const int wide) {
    vector sum[ROWS], weight[TAPS][TAPS];
    HU_UNROLL
    for (int k = 0; k < high; k++) {
        HU_UNROLL
        for (int c = 0; c < wide; c++)
            weight[k][c] = *at(s->weights + k * s->tap_weight_row + c * s->tap_weight_column + w);
    }
    HU_UNROLL
    for (int r = 0; r < rows; r++) sum[r] = *at(s->start + w);
    HU_UNROLL
    for (int i = 0; i < rows + high - 1; i++) {
        HU_UNROLL
        for (int c = 0; c < wide; c++) {
            vector a = read(x + i * s->tap_source_row + c * s->tap_source_column, n, is_part);
            HU_UNROLL
            for (int r = 0; r < rows; r++)
                if (i >= r && i - r < high) sum[r] = multiply_add(a, weight[i - r][c], sum[r]);
        }
    }
    HU_UNROLL
    for (int r = 0; r < rows; r++) write(y + r * s->target_row, sum[r], n, is_part);
}

/* One row, any number of taps. */
HU_INLINE void any_tile(const hu_depthwise_sweep *s, const float *x, float *y, int64_t w, int64_t n,
                        const bool is_part) {
    vector sum = *at(s->start + w);
    for (int64_t k = 0; k < s->tap_rows; k++)
        for (int64_t c = 0; c < s->tap_columns; c++) {
            vector a = read(x + k * s->tap_source_row + c * s->tap_source_column, n, is_part);
            const float *b = s->weights + k * s->tap_weight_row + c * s->tap_weight_column + w;
            sum = multiply_add(a, *at(b), sum);
        }
    write(y, sum, n, is_part);
}

/* rows 0: one row of any taps. */
HU_INLINE void tile(const hu_depthwise_sweep *s, const float *x, float *y, int64_t w, int64_t n,
                    const bool is_part, const int rows, const int high, const int wide) {
    if (rows)
        fixed_tile(s, x, y, w, n, is_part, rows, high, wide);
    else
        any_tile(s, x, y, w, n, is_part);
}

/* The last lanes of a line that is no multiple of a vector are computed twice. */
HU_INLINE void line(const hu_depthwise_sweep *s, const float *x, float *y, const int rows,
                    const int high, const int wide) {
    int64_t i = 0, w = 0;
    if (s->length < LANES) {
        tile(s, x, y, 0, s->length, true, rows, high, wide);
        return;
    }
    for (; i + LANES <= s->length; i += LANES) {
        tile(s, x + i, y + i, w, LANES, false, rows, high, wide);
        w += LANES;
        if (w == s->period) w = 0;
    }
    if (i == s->length) return;
    i = s->length - LANES;
    tile(s, x + i, y + i, i % s->period, LANES, false, rows, high, wide);
}

/* A line for each column; length, period and weights are the same for all. */
HU_INLINE void lines(const hu_depthwise_sweep *s, const int rows, const int high, const int wide) {
    const float *x = s->source;
    float *y = s->target;
    for (int64_t c = 0; c < s->columns; c++, x += s->source_column, y += s->target_column)
        line(s, x, y, rows, high, wide);
}

/* The taps of a row as a constant. */
HU_INLINE void lines_of_width(const hu_depthwise_sweep *s, const int rows, const int high) {
    switch (s->tap_columns) {
    case 1:
        lines(s, rows, high, 1);
        break;
    case 2:
        lines(s, rows, high, 2);
        break;
    case 3:
        lines(s, rows, high, 3);
        break;
    default:
        lines(s, 0, 0, 0);
    }
}

/* Up to 3 taps in each direction have code of their own, others the loop over taps. */
static void one_row(const hu_depthwise_sweep *s) {
    switch (s->tap_rows) {
    case 1:
        lines_of_width(s, 1, 1);
        break;
    case 2:
        lines_of_width(s, 1, 2);
        break;
    case 3:
        lines_of_width(s, 1, 3);
        break;
    default:
        lines(s, 0, 0, 0);
    }
}

/* From the last row to the first: taps that went up go down. */
static hu_depthwise_sweep reversed(const hu_depthwise_sweep *s) {
    hu_depthwise_sweep r = *s;
    r.source += (s->rows - 1) * s->source_row;
    r.target += (s->rows - 1) * s->target_row;
    r.source_row = -s->source_row;
    r.target_row = -s->target_row;
    return r;
}

/* Rows that share what they read: up to 4 of 3x3, 2x3 and 1x3 taps. */
static int64_t some_rows(const hu_depthwise_sweep *s) {
    bool shares = s->tap_rows == TAPS && s->tap_columns <= TAPS && s->tap_columns > 0 &&
                  s->tap_source_row == s->source_row;
    int64_t rows = s->rows < ROWS ? s->rows : ROWS;
    if (!shares) rows = 1;
    switch (rows) {
    case 2:
        lines_of_width(s, 2, TAPS);
        break;
    case 3:
        lines_of_width(s, 3, TAPS);
        break;
    case 4:
        lines_of_width(s, 4, TAPS);
        break;
    default:
        one_row(s);
    }
    return rows;
}

/* The data gradient's taps fall where rows rise; turned round, rows share what they read in it as
 * well. */
static void sweep(const hu_depthwise_sweep *given) {
    hu_depthwise_sweep s = given->tap_source_row == -given->source_row ? reversed(given) : *given;
    while (s.rows > 0) {
        int64_t n = some_rows(&s);
        s.source += n * s.source_row;
        s.target += n * s.target_row;
        s.rows -= n;
    }
}

/* ---- weight gradient ---- */

/* One row of a run of rows. */
typedef struct row {
    const hu_conv_run *run;
    const float *x, *dy; /* at the first tap's row, column 0 */
} row;

/* Taps from k0 and c0 on, high x wide of them: those of all places of the two runs. */
HU_INLINE void add_taps(const hu_depthwise_outer *o, const row *r, const hu_conv_run *columns,
                        vector sum[TAPS][TAPS], int64_t n, const bool is_part, const int k0,
                        const int high, const int c0, const int wide) {
    const float *dy = r->dy + columns->first * o->channels;
    const float *x = r->x + columns->source * o->channels;
    int64_t x_step = columns->source_step * o->channels, down = r->run->tap_source * o->x_row;
    int64_t right = columns->tap_source * o->channels;
    for (int64_t i = 0; i < columns->count; i++, dy += o->channels, x += x_step) {
        vector a = read(dy, n, is_part);
        HU_UNROLL
        for (int k = 0; k < high; k++) {
            HU_UNROLL
            for (int c = 0; c < wide; c++)
                sum[k0 + k][c0 + c] = multiply_add(a, read(x + k * down + c * right, n, is_part),
                                                   sum[k0 + k][c0 + c]);
        }
    }
}

/* The sets of taps that a 3-wide kernel can leave at a border, as constants: 4 first + count. */
HU_INLINE void add_columns(const hu_depthwise_outer *o, const row *r, const hu_conv_run *columns,
                           vector sum[TAPS][TAPS], int64_t n, const bool is_part, const int k0,
                           const int high) {
    switch (4 * columns->tap + columns->taps) {
    case 1:
        add_taps(o, r, columns, sum, n, is_part, k0, high, 0, 1);
        break;
    case 2:
        add_taps(o, r, columns, sum, n, is_part, k0, high, 0, 2);
        break;
    case 3:
        add_taps(o, r, columns, sum, n, is_part, k0, high, 0, 3);
        break;
    case 4 + 1:
        add_taps(o, r, columns, sum, n, is_part, k0, high, 1, 1);
        break;
    case 4 + 2:
        add_taps(o, r, columns, sum, n, is_part, k0, high, 1, 2);
        break;
    case 8 + 1:
        add_taps(o, r, columns, sum, n, is_part, k0, high, 2, 1);
        break;
    }
}

/* The same for rows. */
HU_INLINE void add_runs(const hu_depthwise_outer *o, const row *r, const hu_conv_run *columns,
                        vector sum[TAPS][TAPS], int64_t n, const bool is_part) {
    switch (4 * r->run->tap + r->run->taps) {
    case 1:
        add_columns(o, r, columns, sum, n, is_part, 0, 1);
        break;
    case 2:
        add_columns(o, r, columns, sum, n, is_part, 0, 2);
        break;
    case 3:
        add_columns(o, r, columns, sum, n, is_part, 0, 3);
        break;
    case 4 + 1:
        add_columns(o, r, columns, sum, n, is_part, 1, 1);
        break;
    case 4 + 2:
        add_columns(o, r, columns, sum, n, is_part, 1, 2);
        break;
    case 8 + 1:
        add_columns(o, r, columns, sum, n, is_part, 2, 1);
        break;
    }
}

/* Whether the places of a run read tap `tap`. */
HU_INLINE bool takes_part(const hu_conv_run *run, int64_t tap) {
    return tap >= run->tap && tap < run->tap + run->taps;
}

/* Row i of a run, at its first tap's input row, column 0, channel `channel`. */
HU_INLINE row row_at(const hu_depthwise_outer *o, const hu_conv_run *run, int64_t image, int64_t i,
                     int64_t channel) {
    return (row){
        run, o->x + image * o->x_image + (run->source + i * run->source_step) * o->x_row + channel,
        o->dy + image * o->dy_image + (run->first + i) * o->dy_row + channel};
}

/* 3x3: all nine sums of a block of channels stay in registers over the strip. */
HU_INLINE void square_sums(const hu_depthwise_outer *o, int64_t channel, int64_t n,
                           const bool is_part) {
    vector sum[TAPS][TAPS] = {{{0}}};
    for (int64_t image = 0; image < o->images; image++)
        for (int64_t h = 0; h < o->rows->count; h++) {
            const hu_conv_run *rows = &o->rows->runs[h];
            for (int64_t i = 0; i < rows->count; i++) {
                row r = row_at(o, rows, image, i, channel);
                for (int64_t w = 0; w < o->columns->count; w++)
                    add_runs(o, &r, &o->columns->runs[w], sum, n, is_part);
            }
        }
    HU_UNROLL
    for (int k = 0; k < TAPS; k++) {
        HU_UNROLL
        for (int c = 0; c < TAPS; c++)
            write(o->sums + (k * TAPS + c) * o->channels + channel, sum[k][c], n, is_part);
    }
}

/* One tap's sum over a row of the output, for kernels of any size. */
HU_INLINE vector add_tap(const hu_depthwise_outer *o, const row *r, const hu_conv_run *columns,
                         int64_t k, int64_t c, vector sum, int64_t n, const bool is_part) {
    const float *dy = r->dy + columns->first * o->channels;
    int64_t down = (k - r->run->tap) * r->run->tap_source;
    int64_t right = columns->source + (c - columns->tap) * columns->tap_source;
    const float *x = r->x + down * o->x_row + right * o->channels;
    if (!takes_part(r->run, k) || !takes_part(columns, c)) return sum;
    for (int64_t i = 0; i < columns->count; i++, dy += o->channels)
        sum = multiply_add(read(dy, n, is_part),
                           read(x + i * columns->source_step * o->channels, n, is_part), sum);
    return sum;
}

/* One tap's sum over the strip. */
HU_INLINE void tap_sums(const hu_depthwise_outer *o, int64_t k, int64_t c, int64_t channel,
                        int64_t n, const bool is_part) {
    vector sum = {0};
    for (int64_t image = 0; image < o->images; image++)
        for (int64_t h = 0; h < o->rows->count; h++)
            for (int64_t i = 0; i < o->rows->runs[h].count; i++) {
                row r = row_at(o, &o->rows->runs[h], image, i, channel);
                for (int64_t w = 0; w < o->columns->count; w++)
                    sum = add_tap(o, &r, &o->columns->runs[w], k, c, sum, n, is_part);
            }
    write(o->sums + (k * o->kernel_w + c) * o->channels + channel, sum, n, is_part);
}

/* Sums of n channels from `channel` on, for every tap. */
HU_INLINE void block_sums(const hu_depthwise_outer *o, int64_t channel, int64_t n,
                          const bool is_part) {
    if (o->kernel_h == TAPS && o->kernel_w == TAPS) {
        square_sums(o, channel, n, is_part);
        return;
    }
    for (int64_t k = 0; k < o->kernel_h; k++)
        for (int64_t c = 0; c < o->kernel_w; c++) tap_sums(o, k, c, channel, n, is_part);
}

/* The last block of channels may begin earlier: channels that it shares with the one before are
 * computed twice, with the same result. */
static void outer(const hu_depthwise_outer *o) {
    if (o->channels < LANES) {
        block_sums(o, 0, o->channels, true);
        return;
    }
    for (int64_t c = 0; c < o->channels; c += LANES)
        block_sums(o, c + LANES <= o->channels ? c : o->channels - LANES, LANES, false);
}

const hu_depthwise_kernels HU_VARIANT(hu_depthwise_kernels) = {.sweep = sweep, .outer = outer};
