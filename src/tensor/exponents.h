/* tensor/exponents.h - an exponent histogram as it stands in a file, and what of it a number
 * format would lose. */
#ifndef HU_TENSOR_EXPONENTS_H
#define HU_TENSOR_EXPONENTS_H
#include <stdint.h>

#include <halfulp/format.h>

/* Bin i counts the numbers x with floor(log2 |x|) = first + i. */
typedef struct hu_exponents {
    uint64_t elements, zero, nonfinite; /* elements: all of them, these two included */
    double largest; /* finite magnitude; 0: there is none, or it was not recorded */
    int32_t first;
    uint32_t count;
    uint64_t *bin; /* [count] */
} hu_exponents;

/* Shares of all elements that rounding to nearest-even to a format would lose. A bin that a
 * threshold cuts is taken to be spread evenly over its binade for `share`; least and most count
 * none and all of it. */
typedef struct hu_lost_share {
    double share, least, most;
} hu_lost_share;

typedef struct hu_lost {
    hu_lost_share overflow;  /* beyond the largest finite number; infinities included */
    hu_lost_share underflow; /* not zero before, zero after */
    hu_lost_share subnormal; /* below the smallest normal number but not zero; of formats without
                                subnormals: flushed, and in underflow too */
} hu_lost;

/* What rounding these numbers, times 2^shift, to the format would lose. elements = 0: all zero. */
hu_lost hu_exponents_lost(const hu_exponents *exponents, const hu_format *format, int32_t shift);

/* Share of all elements that are finite and beyond the format's largest number: of infinities and
 * NaN the format is not the cause. */
double hu_exponents_overflowed(const hu_exponents *exponents, const hu_lost *lost);

/* Shares of the sum of squares of all finite numbers that the rounding errors of lost ones are: of
 * numbers that saturate at the largest finite one, and of numbers that become zero. Bins are taken
 * to be spread evenly over their binades. */
typedef struct hu_lost_squares {
    double overflow, underflow;
} hu_lost_squares;
hu_lost_squares hu_exponents_lost_squares(const hu_exponents *exponents, const hu_format *format);

/* Exponents of the largest and the smallest magnitude, HU_NO_EXPONENT if there is none. */
int32_t hu_exponents_top(const hu_exponents *exponents);
int32_t hu_exponents_bottom(const hu_exponents *exponents);

/* log2 of the largest power of two S with S * |x| below the format's largest finite number, for
 * numbers whose largest has the exponent top. The exponent tells it but where this number lies in
 * the last 2^-man_bits of its binade: then it is one less. */
int32_t hu_exponents_scale(int32_t top, const hu_format *format);

/* log2 of the largest power of two S with S x largest < most; both are positive and finite. */
int32_t hu_scale_below(double largest, double most);

#endif
