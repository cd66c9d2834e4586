/* kernel/wire/lanes_portable.h - the vocabulary of variant.c in vectors of four 32-bit words that
 * the compilers make of what the machine has. `mask` says which lanes a comparison holds in. */
#ifndef HU_KERNEL_WIRE_LANES_PORTABLE_H
#define HU_KERNEL_WIRE_LANES_PORTABLE_H
#include <stdint.h>
#include <string.h>

#include "kernel/lane.h"

enum { LANES = 4 };

typedef uint32_t vec __attribute__((vector_size(16)));
typedef int32_t signed_vec __attribute__((vector_size(16)));
typedef float float_vec __attribute__((vector_size(16)));
typedef signed_vec mask;
typedef uint32_t shift_count; /* a number of places */

HU_INLINE vec v_set(uint32_t word) {
    return (vec){word, word, word, word};
}
HU_INLINE vec v_load(const void *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}
HU_INLINE void v_store(void *to, vec v) {
    memcpy(to, &v, sizeof v);
}
HU_INLINE shift_count v_shift_by(uint32_t places) {
    return places;
}
HU_INLINE vec v_left(vec v, shift_count by) {
    return v << by;
}
/* By a constant. */
HU_INLINE vec v_left_by(vec v, uint32_t places) {
    return v << places;
}
HU_INLINE vec v_right(vec v, shift_count by) {
    return v >> by;
}
/* Copies of the sign bit come in from above. */
HU_INLINE vec v_right_signed(vec v, shift_count by) {
    return (vec)((signed_vec)v >> (int32_t)by);
}
HU_INLINE vec v_add(vec a, vec b) {
    return a + b;
}
HU_INLINE vec v_sub(vec a, vec b) {
    return a - b;
}
/* The words as float32 numbers. */
HU_INLINE vec v_add_floats(vec a, vec b) {
    return (vec)((float_vec)a + (float_vec)b);
}
HU_INLINE vec v_multiply_floats(vec a, vec b) {
    return (vec)((float_vec)a * (float_vec)b);
}
HU_INLINE mask v_is_nan(vec v) {
    return (mask)((float_vec)v != (float_vec)v);
}
/* a > b, as signed numbers. */
HU_INLINE mask v_greater(vec a, vec b) {
    return (signed_vec)a > (signed_vec)b;
}
HU_INLINE mask v_equal(vec a, vec b) {
    return (mask)(a == b);
}
/* True if any byte, or 16-bit word, of a or b is greater than limit's, as signed numbers. */
HU_INLINE int v_any_greater_8(vec a, vec b, vec limit) {
    typedef int8_t bytes __attribute__((vector_size(16)));
    typedef uint64_t halves __attribute__((vector_size(16)));
    halves any = (halves)(((bytes)a > (bytes)limit) | ((bytes)b > (bytes)limit));
    return (any[0] | any[1]) != 0;
}
HU_INLINE int v_any_greater_16(vec a, vec b, vec limit) {
    typedef int16_t words __attribute__((vector_size(16)));
    typedef uint64_t halves __attribute__((vector_size(16)));
    halves any = (halves)(((words)a > (words)limit) | ((words)b > (words)limit));
    return (any[0] | any[1]) != 0;
}
HU_INLINE vec v_choose(mask is, vec yes, vec no) {
    return ((vec)is & yes) | (~(vec)is & no);
}
/* v, and where `is` also the bits. */
HU_INLINE vec v_or_where(mask is, vec v, vec bits) {
    return v | ((vec)is & bits);
}
/* v, but 0 where `is`. */
HU_INLINE vec v_zero_where(mask is, vec v) {
    return v & ~(vec)is;
}
/* Signed. */
HU_INLINE vec v_less_of(vec a, vec b) {
    return v_choose(v_greater(a, b), b, a);
}
HU_INLINE vec v_greater_of(vec a, vec b) {
    return v_choose(v_greater(a, b), a, b);
}
/* The less of unsigned numbers. */
HU_INLINE vec v_less_of_unsigned(vec a, vec b) {
    return v_choose((mask)(a < b), a, b);
}
/* One more in every lane where `is`. */
HU_INLINE vec v_count(vec counter, mask is) {
    return counter - (vec)is;
}
/* 4 LANES codes of 8 bits, 2 LANES codes of 16 bits, in order. */
HU_INLINE void v_store_8(uint8_t *to, const vec codes[4]) {
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < LANES; i++) to[v * LANES + i] = (uint8_t)codes[v][i];
}
HU_INLINE void v_store_16(uint16_t *to, const vec codes[2]) {
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < LANES; i++) to[v * LANES + i] = (uint16_t)codes[v][i];
}

#endif
