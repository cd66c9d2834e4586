/* base/checked.h - size arithmetic that says when it does not fit. */
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

#endif
