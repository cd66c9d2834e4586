/* kernel/uniform/uniform.h - uniform integers: 2^b evenly spaced numbers between the least and the
 * largest number of a tensor, or of each line of a parameter (an output channel).
 *
 * With levels L = 2^b - 1, zero Z = low, step s = max((high - low) / L, 1e-8):
 *
 *   t = (x - Z) / s         and for stochastic rounding  t + (u - 1/2), u = (word >> 8) 2^-24
 *   code = round(clamp(t, 0, L)), to nearest, ties to even
 *   value = s code + Z
 *
 * Every operation here is one correctly rounded float32 operation, in this order. A range that is
 * not finite, or wider than float32 numbers are, has s = NaN: all its values are 0x7FC00000, in
 * every storage. A NaN under a finite range (one that was kept from earlier steps) stays a NaN in
 * float32; it has no code, is packed as code 0, and is counted.
 *
 * Thread-safe: a prepared hu_uniformer is read only. Results do not depend on the instruction set,
 * or on how rows are split into calls.
 * Source: Banner et al., SBM; the quantizer of its, CPT's and FracTrain's released code.
 * Proof: tests/unit/kernel_uniform_test.c.
 */
#ifndef HU_KERNEL_UNIFORM_UNIFORM_H
#define HU_KERNEL_UNIFORM_UNIFORM_H
#include <stdbool.h>

#include <halfulp/round.h>

#include "base/cpu.h"

enum { HU_UNIFORM_BITS_MOST = 16 };

typedef struct hu_uniform_scale {
    float zero, step;
} hu_uniform_scale;

typedef struct hu_uniform_kernels hu_uniform_kernels;

typedef struct hu_uniformer {
    const hu_uniform_kernels *kernels;
    uint32_t bits;
    hu_rounding rounding; /* nearest-even or stochastic */
    float levels;         /* 2^bits - 1 */
    int64_t row_elements; /* a sample, or a whole parameter */
    int64_t line;         /* elements of a row that share a scale, in order (a channel of a
                             parameter); 0: one scale for the whole tensor */
    size_t row_bytes;     /* dense codes of a row, the least significant bit first; rows begin at
                             byte boundaries, lines where the one before ended */
    bool is_seamless;     /* packed rows follow one another as one long row: they share a scale, and
                             end where a byte does */
} hu_uniformer;

/* Prepares for codes of 1 <= bits <= 16 and rows of row_elements elements; line: 0, or a divisor of
 * row_elements. HU_ERR_ARGUMENT: other bits, or a rounding other than nearest-even and stochastic;
 * HU_ERR_SHAPE: a row does not fit the address space. */
hu_status hu_uniformer_init(hu_uniformer *u, uint32_t bits, hu_rounding rounding,
                            int64_t row_elements, int64_t line);

/* Widens *low and *high by x[n]; before the first call they are INFINITY and -INFINITY. A NaN makes
 * *high NaN for good. The order of elements and calls does not matter: -0 counts as +0. */
void hu_uniform_range(size_t n, const float *x, float *low, float *high);

/* Widens *low and *high by a range that such calls gave, which may be that of no elements. */
void hu_uniform_range_join(float more_low, float more_high, float *low, float *high);

/* Zero and step of a range; low = INFINITY, high = -INFINITY (no elements): step NaN. */
hu_uniform_scale hu_uniform_scale_of(float low, float high, uint32_t bits);

/* Rounds whole rows of x to y, the same array or not overlapping.
 *
 *   scale   [1], or [row_elements / line] where lines have their own; rows share them
 *   key     of stochastic rounding, whose word first_index + i serves element i; else may be NULL
 *   counts  [1], added to; NULL: not counted. zero: values equal to 0; underflow: nonzero x among
 *           them; nan: NaN values; overflow: x more than half a step outside the range;
 *           exponents: those of x; no subnormal */
void hu_uniform_round(const hu_uniformer *u, const hu_uniform_scale *scale, int64_t rows,
                      const float *x, float *y, const hu_random_key *key, uint64_t first_index,
                      hu_round_counts *counts);

/* The same rounding, given as codes: rows * row_bytes. */
void hu_uniform_pack(const hu_uniformer *u, const hu_uniform_scale *scale, int64_t rows,
                     const float *x, void *data, const hu_random_key *key, uint64_t first_index,
                     hu_round_counts *counts);

/* Elements first .. first+n-1 of one packed row, first a multiple of 8; where rows are seamless, n
 * may reach beyond the row. The numbers that hu_uniform_round gives, bit for bit. */
void hu_uniform_unpack(const hu_uniformer *u, const hu_uniform_scale *scale, const void *row,
                       int64_t first, size_t n, float *y);

/* residual[i] = round(v) - v of x[i], v = clamp((x - Z) / s, 0, L), to nearest in every mode: the
 * derivative of the value by s, where rounding counts as the identity. NaN where the value is.
 * residual may be x. Source: Esser et al., LSQ, equation 3, within the range. */
void hu_uniform_residual(const hu_uniformer *u, const hu_uniform_scale *scale, int64_t rows,
                         const float *x, float *residual);

/* The same of n elements that share a scale. */
void hu_uniform_residual_of(const hu_uniformer *u, hu_uniform_scale scale, size_t n, const float *x,
                            float *residual);

/* Residuals, numbers of [-1/2, 1/2], as a dense stream of codes of 2 <= r_bits <= 8, and back:
 * the nearest of the k / (2^r - 2), |k| < 2^(r-1), ties to even. 0 stays 0, as it is the residual
 * of all zeros after a rectifier; NaN has the last code. */
size_t hu_uniform_residual_bytes(uint32_t r_bits, size_t n);
void hu_uniform_residual_pack(uint32_t r_bits, size_t n, const float *residual, void *data);
void hu_uniform_residual_unpack(uint32_t r_bits, size_t n, const void *data, float *residual);

/* What a loop works on: at most a piece of a row. */
typedef struct hu_uniform_part {
    size_t n;
    float levels;
    hu_uniform_scale scale;     /* of all elements, or else of each: */
    const float *zeros, *steps; /* [n], NULL: scale serves all */
    const uint32_t *words;      /* [n], NULL: to nearest */
} hu_uniform_part;

/* The loops of one instruction set; all give the same bits. x, codes and y: [n]. Codes are of 1
 * byte where bits <= 8, else of 2. */
struct hu_uniform_kernels {
    /* least and most [1]: ends of x[n] as ordered integers (uniform.c), widened. */
    void (*range)(size_t n, const float *x, int32_t *least, int32_t *most);
    void (*values)(const hu_uniform_part *part, const float *x, float *y, hu_round_counts *counts);
    void (*codes)(const hu_uniform_part *part, const float *x, void *codes,
                  hu_round_counts *counts);
    void (*decode)(const hu_uniform_part *part, const void *codes, float *y);
    void (*residual)(const hu_uniform_part *part, const float *x, float *y);
    void (*shrink)(uint32_t r_bits, size_t n, const float *residual, uint8_t *codes);
    void (*grow)(uint32_t r_bits, size_t n, const uint8_t *codes, float *residual);
};

#endif
