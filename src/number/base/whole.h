/* base/whole.h - numbers of words, classes and places, which travel as float32. */
#ifndef HU_BASE_WHOLE_H
#define HU_BASE_WHOLE_H
#include <stdint.h>

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
