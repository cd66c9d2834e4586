#include "kernel/reduce/channel.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/cpu.h"

enum { BLOCK_ROWS = 128, NARROW = 32 };

/* How [rows, channels] lies as whole rows of width and rest elements of one more; scratch cut up.
 */
typedef struct layout {
    int64_t width, whole, rest;
    float *shift, *sum, *square; /* [width] */
    double *first, *second;      /* [width] */
} layout;

/* The record of hu_cpu_isa(). */
static const hu_reduce_kernels *kernels_here(void) {
    static const hu_reduce_kernels *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_reduce_columns)};
    return of_isa[hu_cpu_isa()];
}

int64_t hu_channel_width(int64_t channels) {
    return hu_common_multiple(channels, channels < NARROW ? NARROW : 8);
}

void hu_channel_widen(int64_t channels, const float *narrow, float *wide) {
    int64_t width = hu_channel_width(channels);
    for (int64_t j = 0; j < width; j += channels)
        memcpy(wide + j, narrow, (size_t)channels * sizeof *wide);
}

size_t hu_channel_scratch_bytes(int64_t channels) {
    size_t width = (size_t)hu_channel_width(channels);
    return width * (3 * sizeof(float) + 2 * sizeof(double));
}

/* Places the five lines in scratch, doubles first, and clears the columns' sums. */
static layout lay_out(int64_t rows, int64_t channels, void *scratch) {
    layout l = {.width = hu_channel_width(channels)};
    l.whole = rows * channels / l.width;
    l.rest = rows * channels % l.width;
    l.first = scratch;
    l.second = l.first + l.width;
    l.shift = (float *)(l.second + l.width);
    l.sum = l.shift + l.width;
    l.square = l.sum + l.width;
    for (int64_t j = 0; j < l.width; j++) l.first[j] = l.second[j] = 0;
    return l;
}

/* Rows of the next block, `done` whole rows being summed already. */
static int64_t block_rows(const layout *l, int64_t done) {
    return l->whole - done < BLOCK_ROWS ? l->whole - done : BLOCK_ROWS;
}

/* Adds the columns of each channel, in ascending order. */
static void fold(const layout *l, int64_t channels, const double *column, double *sum) {
    for (int64_t c = 0; c < channels; c++) sum[c] = column[c];
    for (int64_t j = channels; j < l->width; j += channels)
        for (int64_t c = 0; c < channels; c++) sum[c] += column[j + c];
}

void hu_channel_sums(int64_t rows, int64_t channels, const float *x, void *scratch, double *sum) {
    const hu_reduce_kernels *k = kernels_here();
    layout l = lay_out(rows, channels, scratch);
    for (int64_t done = 0, n; done < l.whole; done += n, x += n * l.width) {
        n = block_rows(&l, done);
        k->sums(n, l.width, x, l.sum);
        for (int64_t j = 0; j < l.width; j++) l.first[j] += (double)l.sum[j];
    }
    for (int64_t j = 0; j < l.rest; j++) l.first[j] += (double)x[j];
    fold(&l, channels, l.first, sum);
}

void hu_channel_products(int64_t rows, int64_t channels, const float *dy, const float *x,
                         const float *center, void *scratch, double *sum, double *product) {
    const hu_reduce_kernels *k = kernels_here();
    layout l = lay_out(rows, channels, scratch);
    hu_channel_widen(channels, center, l.shift);
    for (int64_t done = 0, n; done < l.whole; done += n, x += n * l.width, dy += n * l.width) {
        n = block_rows(&l, done);
        k->products(n, l.width, dy, x, l.shift, l.sum, l.square);
        for (int64_t j = 0; j < l.width; j++) {
            l.first[j] += (double)l.sum[j];
            l.second[j] += (double)l.square[j];
        }
    }
    for (int64_t j = 0; j < l.rest; j++) {
        l.first[j] += (double)dy[j];
        l.second[j] += (double)(dy[j] * (x[j] - l.shift[j]));
    }
    fold(&l, channels, l.first, sum);
    fold(&l, channels, l.second, product);
}

size_t hu_channel_range_scratch_bytes(int64_t channels) {
    return (size_t)hu_channel_width(channels) * 2 * (sizeof(float) + sizeof(int32_t));
}

/* Joins the columns of a channel, and the incomplete row after them, in the order of their rows.
 */
static void fold_extremes(int64_t channels, int64_t c, int64_t whole, int64_t rows, const float *x,
                          const hu_reduce_extremes *column, const hu_channel_range *range) {
    int64_t width = hu_channel_width(channels), each = width / channels;
    float high = -INFINITY, low = INFINITY;
    int64_t high_at = 0, low_at = 0;
    for (int64_t k = 0; whole > 0 && k < each; k++) {
        int64_t j = k * channels + c;
        int64_t top = (int64_t)column->high_at[j] * each + k;
        int64_t bottom = (int64_t)column->low_at[j] * each + k;
        bool is_high = column->high[j] > high || (column->high[j] == high && top < high_at);
        bool is_low = column->low[j] < low || (column->low[j] == low && bottom < low_at);
        if (is_high) high = column->high[j], high_at = top;
        if (is_low) low = column->low[j], low_at = bottom;
    }
    for (int64_t r = whole * each; r < rows; r++) {
        float y = x[r * channels + c];
        if (y > high) high = y, high_at = r;
        if (y < low) low = y, low_at = r;
    }
    range->high[c] = high;
    range->low[c] = low;
    range->high_at[c] = high_at;
    range->low_at[c] = low_at;
}

void hu_channel_extremes(int64_t rows, int64_t channels, const float *x, void *scratch,
                         const hu_channel_range *range) {
    int64_t width = hu_channel_width(channels), whole = rows * channels / width;
    hu_reduce_extremes column = {.high = scratch};
    column.low = column.high + width;
    column.high_at = (int32_t *)(void *)(column.low + width);
    column.low_at = column.high_at + width;
    if (whole > 0) kernels_here()->extremes(whole, width, x, &column);
    for (int64_t c = 0; c < channels; c++)
        fold_extremes(channels, c, whole, rows, x, &column, range);
}

void hu_moments_merge(int64_t count, double n, double *mean, double *m2, double n_right,
                      const double *mean_right, const double *m2_right) {
    double weight = n_right / (n + n_right), between = n * weight;
    for (int64_t j = 0; j < count; j++) {
        double delta = mean_right[j] - mean[j];
        mean[j] += delta * weight;
        m2[j] += m2_right[j] + delta * delta * between;
    }
}

/* Joins a block of n rows, given by its sums about l->shift, to the columns; the block's mean
 * becomes the next shift. Two neighbouring means that differ by D put at least D^2/2 per row into
 * the true m2, so the shifted sums lose no more than float32's own precision of the result. */
static void join_block(layout *l, int64_t before, int64_t n) {
    double inverse = 1.0 / (double)n;
    double weight = (double)n / (double)(before + n), between = (double)before * weight;
    for (int64_t j = 0; j < l->width; j++) {
        double sum = (double)l->sum[j], mean = (double)l->shift[j] + sum * inverse;
        double delta = mean - l->first[j];
        l->first[j] += delta * weight;
        l->second[j] += (double)l->square[j] - sum * sum * inverse + delta * delta * between;
        l->shift[j] = (float)mean;
    }
}

/* Joins the columns of each channel in ascending order. The first `rest` columns have one row more.
 */
static void fold_moments(const layout *l, int64_t channels, double *mean, double *m2) {
    for (int64_t c = 0; c < channels; c++) {
        double n = 0, mu = 0, square = 0;
        for (int64_t j = c; j < l->width; j += channels) {
            double columns_rows = (double)(l->whole + (j < l->rest));
            if (columns_rows <= 0) break;
            hu_moments_merge(1, n, &mu, &square, columns_rows, l->first + j, l->second + j);
            n += columns_rows;
        }
        mean[c] = mu;
        /* Shifted sums can leave a rounding error below zero. */
        m2[c] = square < 0 ? 0 : square;
    }
}

size_t hu_channel_total_scratch_bytes(int64_t channels) {
    return hu_channel_scratch_bytes(channels) + (size_t)channels * sizeof(double);
}

void hu_channel_totals(int64_t rows, int64_t channels, const float *x, bool adds, void *scratch,
                       float *to) {
    void *behind = (char *)scratch + hu_channel_scratch_bytes(channels);
    double *sum = behind;
    hu_channel_sums(rows, channels, x, scratch, sum);
    for (int64_t c = 0; c < channels; c++) to[c] = adds ? to[c] + (float)sum[c] : (float)sum[c];
}

void hu_channel_moments(int64_t rows, int64_t channels, const float *x, void *scratch, double *mean,
                        double *m2) {
    const hu_reduce_kernels *k = kernels_here();
    layout l = lay_out(rows, channels, scratch);
    /* The first row is the first shift: of the size of the numbers, without another pass. */
    if (l.whole) memcpy(l.shift, x, (size_t)l.width * sizeof *x);
    for (int64_t done = 0, n; done < l.whole; done += n, x += n * l.width) {
        n = block_rows(&l, done);
        k->moments(n, l.width, x, l.shift, l.sum, l.square);
        join_block(&l, done, n);
    }
    /* The incomplete row joins its columns one number at a time. */
    double weight = 1.0 / (double)(l.whole + 1), between = (double)l.whole * weight;
    for (int64_t j = 0; j < l.rest; j++) {
        double delta = (double)x[j] - l.first[j];
        l.first[j] += delta * weight;
        l.second[j] += delta * delta * between;
    }
    fold_moments(&l, channels, mean, m2);
}

/* How many of n elements from `first` on come before the first lane's turn. */
static int64_t before_turn(int64_t first, int64_t n) {
    int64_t lack = (HU_LANES - first % HU_LANES) % HU_LANES;
    return lack < n ? lack : n;
}

void hu_lanes_add(hu_lanes *lanes, int64_t first, int64_t n, const double *term) {
    int64_t i = 0, head = before_turn(first, n);
    for (; i < head; i++) lanes->sum[(first + i) % HU_LANES] += term[i];
    for (; i + HU_LANES <= n; i += HU_LANES)
        for (int k = 0; k < HU_LANES; k++) lanes->sum[k] += term[i + k];
    for (; i < n; i++) lanes->sum[(first + i) % HU_LANES] += term[i];
}

void hu_lanes_add_products(hu_lanes *lanes, int64_t first, int64_t n, const float *x,
                           const float *y) {
    int64_t head = before_turn(first, n);
    for (int64_t i = 0; i < head; i++)
        lanes->sum[(first + i) % HU_LANES] += (double)x[i] * (double)y[i];
    kernels_here()->lane_products(n - head, x + head, y + head, lanes->sum);
}

double hu_lanes_total(const hu_lanes *lanes) {
    double total = 0.0;
    for (int k = 0; k < HU_LANES; k++) total += lanes->sum[k];
    return total;
}
