/* kernel/broadcast/broadcast.h - arithmetic of numbers in two or three arrays, of which some are
 * repeated along rows or within them; one body per ISA, the same bits on every ISA. */
#ifndef HU_KERNEL_BROADCAST_BROADCAST_H
#define HU_KERNEL_BROADCAST_BROADCAST_H
#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"

/* X(name, operands that it reads): what is made of x0, x1 and x2, in double; rounded to float32 it
 * is what one operation in float32 makes, but for DIVISOR_SLOPE.
 *
 *   ADD, SUB, MUL, DIV    of x0 and x1
 *   MINIMUM, MAXIMUM      the first of equal ones; NaN where one is
 *   SELECT                x0 where x2 is not 0, else x1
 *   SAME, OPPOSITE        x0, -x0
 *   DIVISOR_SLOPE         -(x0 x1) / (x2 x2)
 *   WHERE, WHERE_NOT      x0 where x1 is not 0, else 0; and the other way round
 *   WHERE_MINIMUM         x0 where x1 is the minimum of x1 and x2, else 0
 *   WHERE_GREATER         x0 where it is not, else 0
 *   WHERE_MAXIMUM, WHERE_LESS  likewise of their maximum
 */
#define HU_JOIN_LIST(X)                                                                            \
    X(ADD, 2)                                                                                      \
    X(SUB, 2)                                                                                      \
    X(MUL, 2)                                                                                      \
    X(DIV, 2)                                                                                      \
    X(MINIMUM, 2)                                                                                  \
    X(MAXIMUM, 2)                                                                                  \
    X(SELECT, 3)                                                                                   \
    X(SAME, 1)                                                                                     \
    X(OPPOSITE, 1)                                                                                 \
    X(DIVISOR_SLOPE, 3)                                                                            \
    X(WHERE, 2)                                                                                    \
    X(WHERE_NOT, 2)                                                                                \
    X(WHERE_MINIMUM, 3)                                                                            \
    X(WHERE_GREATER, 3)                                                                            \
    X(WHERE_MAXIMUM, 3)                                                                            \
    X(WHERE_LESS, 3)

#define HU_JOIN_NAME(name, operands) HU_JOIN_##name,
typedef enum hu_join { HU_JOIN_LIST(HU_JOIN_NAME) HU_JOINS } hu_join;
#undef HU_JOIN_NAME

enum { HU_JOIN_OPERANDS = 3 };

/* Operands that a join reads, the first ones. */
static inline int hu_join_operands(hu_join join) {
#define HU_JOIN_READS(name, operands) [HU_JOIN_##name] = operands,
    static const int reads[HU_JOINS] = {HU_JOIN_LIST(HU_JOIN_READS)};
#undef HU_JOIN_READS
    return reads[join];
}

/* rows times width numbers of each operand: row[i] from one row to the next, step[i], 0 or 1, from
 * one number to the next. */
typedef struct hu_plane {
    int64_t rows, width;
    const float *x[HU_JOIN_OPERANDS];
    int64_t row[HU_JOIN_OPERANDS];
    int step[HU_JOIN_OPERANDS];
} hu_plane;

typedef struct hu_broadcast_kernels {
    /* y [rows, width]; it may be the array of an operand that lies as it does. */
    void (*join)(hu_join join, const hu_plane *plane, float *y);
    /* to += the joins, which are not rounded, to_row from one row to the next, to_step, 0 or 1,
     * from one number to the next: row after row in order. With to_step 0 number i of a row is
     * added to sum i mod 16, which begin as 0, in order, and these are added to `to` in order at
     * the end of the row. */
    void (*sum)(hu_join join, const hu_plane *plane, double *to, int64_t to_row, int to_step);
} hu_broadcast_kernels;

extern const hu_broadcast_kernels HU_OF_ISA(hu_broadcast_kernels);

/* The record of hu_cpu_isa(). */
static inline const hu_broadcast_kernels *hu_broadcast(void) {
    static const hu_broadcast_kernels *const of_isa[HU_ISA_COUNT] = {
        HU_AT_ISA(hu_broadcast_kernels)};
    return of_isa[hu_cpu_isa()];
}

#endif
