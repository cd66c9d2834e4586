/* base/checked.h - arithmetic of sizes, which says when it does not fit. */
#ifndef HU_BASE_CHECKED_H
#define HU_BASE_CHECKED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each gives false, and leaves *result unspecified, when the exact result does not fit. */
static inline bool hu_add_size(size_t a, size_t b, size_t *result) {
    return !__builtin_add_overflow(a, b, result);
}
static inline bool hu_mul_size(size_t a, size_t b, size_t *result) {
    return !__builtin_mul_overflow(a, b, result);
}
static inline bool hu_add_i64(int64_t a, int64_t b, int64_t *result) {
    return !__builtin_add_overflow(a, b, result);
}
static inline bool hu_mul_i64(int64_t a, int64_t b, int64_t *result) {
    return !__builtin_mul_overflow(a, b, result);
}

/* value rounded up to a multiple of step (step > 0, no overflow expected: value far below
 * SIZE_MAX). */
static inline size_t hu_round_up(size_t value, size_t step) {
    return (value + step - 1) / step * step;
}

/* The greatest number that divides both, and the least that both divide; a, b > 0. */
static inline int64_t hu_common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
static inline int64_t hu_common_multiple(int64_t a, int64_t b) {
    return a / hu_common_divisor(a, b) * b;
}

/* Numbers of words, classes and places, which travel as float32. */

/* The number if it is one of 0 .. bound-1, else -1: below, beyond, between two or NaN. */
static inline int64_t hu_whole_below(float number, int64_t bound) {
    if (!(number >= 0.0f && (double)number < (double)bound)) return -1;
    return (float)(int64_t)number == number ? (int64_t)number : -1;
}

/* How many of so many rows a length means: cut to 0 .. rows and to a whole number (of NaN: 0). */
static inline int64_t hu_rows_of_length(float length, int64_t rows) {
    if (!(length > 0.0f)) return 0;
    return (double)length < (double)rows ? (int64_t)length : rows;
}

#endif
