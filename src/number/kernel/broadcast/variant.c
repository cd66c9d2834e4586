/* kernel/broadcast/variant.c - the loops of broadcast.h, compiled once per instruction set. */
#include "kernel/broadcast/broadcast.h"

#include <string.h>

#include "kernel/lane.h"

/* Numbers of a row that are taken at a time; repeated ones are written out so often. */
enum { BLOCK = 256, SUMS = 16 };

/* 1 where a is the minimum, or the maximum, of both. */
HU_INLINE int is_minimum(float a, float b) {
    return (a <= b) | (a != a);
}

HU_INLINE int is_maximum(float a, float b) {
    return (a >= b) | (a != a);
}

/* The join in float32; join is a constant where this stands. */
HU_INLINE float number_of(const hu_join join, float a, float b, float c) {
    switch (join) {
    case HU_JOIN_ADD:
        return a + b;
    case HU_JOIN_SUB:
        return a - b;
    case HU_JOIN_MUL:
        return a * b;
    case HU_JOIN_DIV:
        return a / b;
    case HU_JOIN_MINIMUM:
        return is_minimum(a, b) ? a : b;
    case HU_JOIN_MAXIMUM:
        return is_maximum(a, b) ? a : b;
    case HU_JOIN_SELECT:
        return c != 0 ? a : b;
    case HU_JOIN_OPPOSITE:
        return -a;
    case HU_JOIN_DIVISOR_SLOPE:
        return (float)(-((double)a * (double)b) / ((double)c * (double)c));
    case HU_JOIN_WHERE:
        return b != 0 ? a : 0.0f;
    case HU_JOIN_WHERE_NOT:
        return b != 0 ? 0.0f : a;
    case HU_JOIN_WHERE_MINIMUM:
        return is_minimum(b, c) ? a : 0.0f;
    case HU_JOIN_WHERE_GREATER:
        return is_minimum(b, c) ? 0.0f : a;
    case HU_JOIN_WHERE_MAXIMUM:
        return is_maximum(b, c) ? a : 0.0f;
    case HU_JOIN_WHERE_LESS:
        return is_maximum(b, c) ? 0.0f : a;
    default:
        return a;
    }
}

/* The same in double. */
HU_INLINE double term_of(const hu_join join, float a, float b, float c) {
    switch (join) {
    case HU_JOIN_ADD:
        return (double)a + (double)b;
    case HU_JOIN_SUB:
        return (double)a - (double)b;
    case HU_JOIN_MUL:
        return (double)a * (double)b;
    case HU_JOIN_DIV:
        return (double)a / (double)b;
    case HU_JOIN_DIVISOR_SLOPE:
        return -((double)a * (double)b) / ((double)c * (double)c);
    default:
        return (double)number_of(join, a, b, c);
    }
}

HU_INLINE void numbers_of(const hu_join join, int64_t n, const float *const x[HU_JOIN_OPERANDS],
                          float *y) {
    const float *a = x[0], *b = x[1], *c = x[2];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] = number_of(join, a[i], b[i], c[i]);
}

HU_INLINE void terms_of(const hu_join join, int64_t n, const float *const x[HU_JOIN_OPERANDS],
                        double *to) {
    const float *a = x[0], *b = x[1], *c = x[2];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] = term_of(join, a[i], b[i], c[i]);
}

/* n numbers of any join. */
static void numbers(hu_join join, int64_t n, const float *const x[HU_JOIN_OPERANDS], float *y) {
#define JOIN_CASE(name, operands)                                                                  \
    case HU_JOIN_##name:                                                                           \
        numbers_of(HU_JOIN_##name, n, x, y);                                                       \
        break;
    switch (join) { HU_JOIN_LIST(JOIN_CASE) default : break; }
#undef JOIN_CASE
}

static void terms(hu_join join, int64_t n, const float *const x[HU_JOIN_OPERANDS], double *to) {
#define JOIN_CASE(name, operands)                                                                  \
    case HU_JOIN_##name:                                                                           \
        terms_of(HU_JOIN_##name, n, x, to);                                                        \
        break;
    switch (join) { HU_JOIN_LIST(JOIN_CASE) default : break; }
#undef JOIN_CASE
}

/* ---- Rows ---- */

/* Where the operands of a row lie: numbers that are repeated within it in `same`, written out. */
typedef struct operands {
    int count; /* those that the join reads */
    const float *x[HU_JOIN_OPERANDS];
    float same[HU_JOIN_OPERANDS][BLOCK];
} operands;

static void point_row(const hu_plane *plane, int64_t r, operands *of) {
    int64_t most = plane->width < BLOCK ? plane->width : BLOCK;
    for (int k = 0; k < of->count; k++) {
        const float *x = plane->x[k] + r * plane->row[k];
        of->x[k] = plane->step[k] ? x : of->same[k];
        bool is_there = r > 0 && plane->row[k] == 0;
        for (int64_t i = 0; !plane->step[k] && !is_there && i < most; i++) of->same[k][i] = *x;
    }
    /* What a join does not read is some number that is there. */
    for (int k = of->count; k < HU_JOIN_OPERANDS; k++) of->x[k] = of->x[0];
}

/* The next n numbers of the row. */
static void go_on(const hu_plane *plane, int64_t n, operands *of) {
    for (int k = 0; k < HU_JOIN_OPERANDS; k++)
        of->x[k] += (k < of->count ? plane->step[k] : plane->step[0]) ? n : 0;
}

static void join_rows(hu_join join, const hu_plane *plane, float *y) {
    operands of = {.count = hu_join_operands(join)};
    for (int64_t r = 0; r < plane->rows; r++) {
        point_row(plane, r, &of);
        for (int64_t i = 0, n; i < plane->width; i += n, y += n) {
            n = plane->width - i < BLOCK ? plane->width - i : BLOCK;
            numbers(join, n, of.x, y);
            go_on(plane, n, &of);
        }
    }
}

/* ---- Many short rows ---- */

/* True if rows can be joined several at a time: each operand has them one after the other, or all
 * have the same. */
static bool are_short(const hu_plane *plane, int count) {
    enum { SHORT = 64 };
    bool can = plane->width < SHORT && plane->rows > 1;
    for (int k = 0; k < count; k++) {
        bool is_whole = plane->step[k] == 1 && plane->row[k] == plane->width;
        can = can && (is_whole || plane->row[k] == 0);
    }
    return can;
}

/* Rows that are written out one after the other in `same`, for all operands that repeat them. */
static void join_short(hu_join join, const hu_plane *plane, float *y) {
    operands of = {.count = hu_join_operands(join)};
    int64_t width = plane->width, together = BLOCK / width;
    for (int k = 0; k < of.count; k++) {
        of.x[k] = plane->row[k] ? plane->x[k] : of.same[k];
        for (int64_t i = 0; !plane->row[k] && i < together * width; i++)
            of.same[k][i] = plane->x[k][plane->step[k] ? i % width : 0];
    }
    for (int k = of.count; k < HU_JOIN_OPERANDS; k++) of.x[k] = of.x[0];
    for (int64_t r = 0, n; r < plane->rows; r += n, y += n * width) {
        n = plane->rows - r < together ? plane->rows - r : together;
        numbers(join, n * width, of.x, y);
        for (int k = 0; k < HU_JOIN_OPERANDS; k++)
            of.x[k] += (k < of.count ? plane->row[k] : plane->row[0]) ? n * width : 0;
    }
}

static void join(hu_join join, const hu_plane *plane, float *y) {
    if (are_short(plane, hu_join_operands(join)))
        join_short(join, plane, y);
    else
        join_rows(join, plane, y);
}

/* ---- Sums ---- */

static void add_each(int64_t n, const double *term, double *to) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] += term[i];
}

/* n terms, the first of which belongs to sum 0. */
static void add_lanes(int64_t n, const double *term, double sum[SUMS]) {
    int64_t i = 0;
    for (; i + SUMS <= n; i += SUMS) add_each(SUMS, term + i, sum);
    add_each(n - i, term + i, sum);
}

static void sum(hu_join join, const hu_plane *plane, double *to, int64_t to_row, int to_step) {
    operands of = {.count = hu_join_operands(join)};
    double term[BLOCK];
    for (int64_t r = 0; r < plane->rows; r++) {
        double lane[SUMS] = {0}, *at = to + r * to_row;
        point_row(plane, r, &of);
        for (int64_t i = 0, n; i < plane->width; i += n) {
            n = plane->width - i < BLOCK ? plane->width - i : BLOCK;
            terms(join, n, of.x, term);
            if (to_step)
                add_each(n, term, at + i);
            else
                add_lanes(n, term, lane);
            go_on(plane, n, &of);
        }
        for (int k = 0; k < SUMS && !to_step; k++) *at += lane[k];
    }
}

const hu_broadcast_kernels HU_VARIANT(hu_broadcast_kernels) = {.join = join, .sum = sum};
