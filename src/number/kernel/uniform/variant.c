/* kernel/uniform/variant.c - the loops of uniform.h in portable C, compiled once per instruction
 * set.
 *
 * Branch-free; a loop's `shape` is constant at every call, so that each combination becomes a loop
 * of its own. Assumes the default floating-point environment. */
#include "base/bits.h"
#include "kernel/lane.h"
#include "kernel/round/tally.h"
#include "kernel/uniform/uniform.h"

enum { NARROW_LEVELS = 255 };       /* codes up to here are bytes */
static const float magic = 0x1p23f; /* sums with it are whole numbers, by the hardware's rounding */

/* What a loop writes. */
typedef enum target { VALUES, BYTES, PAIRS } target;

HU_INLINE float clamped(float t, float levels) {
    t = t < 0.0f ? 0.0f : t;
    return t > levels ? levels : t;
}

/* u - 1/2, exactly: 24 bits of a word less half of 2^24. */
HU_INLINE float noise_of(uint32_t word) {
    return (float)((int32_t)(word >> 8) - 0x800000) * 0x1p-24f;
}

/* One NaN for all, whichever operand the hardware takes its payload from. */
HU_INLINE float without_payload(float y) {
    return hu_f32_of_bits(pick(y != y, HU_F32_NAN, hu_f32_bits(y)));
}

HU_INLINE float value_of(hu_uniform_scale scale, float code) {
    float product = scale.step * code;
    return without_payload(product + scale.zero);
}

/* Both ends of x[n], as integers in the order of the numbers. */
static void range(size_t n, const float *x, int32_t *least, int32_t *most) {
    int32_t low = *least, high = *most;
#pragma omp simd reduction(min : low) reduction(max : high)
    for (size_t i = 0; i < n; i++) {
        int32_t word = (int32_t)hu_f32_bits(x[i]), place = word ^ (word >> 31 & INT32_MAX);
        low = place < low ? place : low;
        high = place > high ? place : high;
    }
    *least = low;
    *most = high;
}

/* The counters of one run; exponents as kernel/round/tally.h. */
typedef struct run_tally {
    uint32_t beyond, nan, zero, lost;
    int32_t top;
    uint32_t under;
} run_tally;

HU_INLINE void add_run(size_t n, const run_tally *t, hu_round_counts *counts) {
    counts->elements += n;
    counts->overflow += t->beyond;
    counts->underflow += t->lost;
    counts->zero += t->zero;
    counts->nan += t->nan;
    note_exponents(counts, (uint32_t)t->top, t->under, 0);
}

/* Zero and step of element i; `each`: it has its own. */
HU_INLINE hu_uniform_scale scale_of(const hu_uniform_part *p, size_t i, int each) {
    return each ? (hu_uniform_scale){p->zeros[i], p->steps[i]} : p->scale;
}

/* t with the noise of its word. */
HU_INLINE float shaken(const hu_uniform_part *p, float t, size_t i, int stochastic) {
    return stochastic ? t + noise_of(p->words[i]) : t;
}

/* What a loop must think of. */
typedef struct shape {
    target what;
    int each, stochastic, counting;
} shape;

/* x -> t -> code -> value, and what of it is asked for. `sum` holds the code in its last bits. The
 * part is a copy: the compiler cannot know that stores leave a shared one alone. */
HU_INLINE void quantise(hu_uniform_part p, const float *x, void *to, shape of, run_tally *run) {
    const float levels = p.levels, over = levels + 0.5f;
    uint32_t beyond = 0, nan = 0, zero = 0, lost = 0, under = NO_INPUT;
    int32_t top = 0;
#pragma omp simd reduction(+ : beyond, nan, zero, lost) reduction(max : top) reduction(min : under)
    for (size_t i = 0; i < p.n; i++) {
        hu_uniform_scale scale = scale_of(&p, i, of.each);
        float in = x[i], t = (in - scale.zero) / scale.step;
        float sum = clamped(shaken(&p, t, i, of.stochastic), levels) + magic;
        float y = value_of(scale, sum - magic);
        uint32_t code = pick(sum != sum, 0, hu_f32_bits(sum) - hu_f32_bits(magic));
        if (of.what == VALUES) ((float *)to)[i] = y;
        if (of.what == BYTES) ((uint8_t *)to)[i] = (uint8_t)code;
        if (of.what == PAIRS) ((uint16_t *)to)[i] = (uint16_t)code;
        if (!of.counting) continue;
        uint32_t u = hu_f32_bits(in) & ~HU_F32_SIGN, is_zero = y == 0.0f;
        int32_t finite = u < HU_F32_INFINITY ? (int32_t)u : 0;
        beyond += (uint32_t)(t < -0.5f) | (uint32_t)(t > over);
        nan += y != y;
        zero += is_zero;
        lost += is_zero & (u != 0);
        top = finite > top ? finite : top;
        under = at_most(under, u - 1);
    }
    *run = (run_tally){beyond, nan, zero, lost, top, under};
}

/* With `each` and `what` known, one of four loops. */
HU_INLINE void quantise_as(const hu_uniform_part *p, const float *x, void *to, target what,
                           int each, hu_round_counts *counts) {
    run_tally run;
    if (p->words && counts)
        quantise(*p, x, to, (shape){what, each, 1, 1}, &run);
    else if (p->words)
        quantise(*p, x, to, (shape){what, each, 1, 0}, &run);
    else if (counts)
        quantise(*p, x, to, (shape){what, each, 0, 1}, &run);
    else
        quantise(*p, x, to, (shape){what, each, 0, 0}, &run);
    if (counts) add_run(p->n, &run, counts);
}

HU_INLINE void quantise_any(const hu_uniform_part *p, const float *x, void *to, target what,
                            hu_round_counts *counts) {
    if (p->zeros)
        quantise_as(p, x, to, what, 1, counts);
    else
        quantise_as(p, x, to, what, 0, counts);
}

static void values(const hu_uniform_part *p, const float *x, float *y, hu_round_counts *counts) {
    quantise_any(p, x, y, VALUES, counts);
}

static void codes(const hu_uniform_part *p, const float *x, void *to, hu_round_counts *counts) {
    if (p->levels <= NARROW_LEVELS)
        quantise_any(p, x, to, BYTES, counts);
    else
        quantise_any(p, x, to, PAIRS, counts);
}

HU_INLINE void decode_bytes(hu_uniform_part p, const uint8_t *from, float *y, int each) {
#pragma omp simd
    for (size_t i = 0; i < p.n; i++)
        y[i] = value_of(scale_of(&p, i, each), (float)(int32_t)from[i]);
}

HU_INLINE void decode_pairs(hu_uniform_part p, const uint16_t *from, float *y, int each) {
#pragma omp simd
    for (size_t i = 0; i < p.n; i++)
        y[i] = value_of(scale_of(&p, i, each), (float)(int32_t)from[i]);
}

static void decode(const hu_uniform_part *p, const void *from, float *y) {
    int is_narrow = p->levels <= NARROW_LEVELS;
    if (is_narrow && p->zeros)
        decode_bytes(*p, from, y, 1);
    else if (is_narrow)
        decode_bytes(*p, from, y, 0);
    else if (p->zeros)
        decode_pairs(*p, from, y, 1);
    else
        decode_pairs(*p, from, y, 0);
}

HU_INLINE void residual_as(hu_uniform_part p, const float *x, float *y, int each) {
#pragma omp simd
    for (size_t i = 0; i < p.n; i++) {
        hu_uniform_scale scale = scale_of(&p, i, each);
        float v = clamped((x[i] - scale.zero) / scale.step, p.levels);
        y[i] = without_payload(((v + magic) - magic) - v);
    }
}

static void residual(const hu_uniform_part *p, const float *x, float *y) {
    if (p->zeros)
        residual_as(*p, x, y, 1);
    else
        residual_as(*p, x, y, 0);
}

/* k / (2^r - 2) has code k + 2^(r-1) - 1; the code after the last is NaN's. Sums with 1.5 2^23 are
 * whole numbers of either sign. */
static void shrink(uint32_t r_bits, size_t n, const float *from, uint8_t *to) {
    const int32_t half = (1 << (r_bits - 1)) - 1;
    const uint32_t nan = (1u << r_bits) - 1, middle = hu_f32_bits(0x1.8p23f) - (uint32_t)half;
    const float most = (float)half, steps = (float)(2 * half);
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float k = from[i] * steps;
        k = k < -most ? -most : k;
        k = k > most ? most : k;
        to[i] = (uint8_t)pick(k != k, nan, hu_f32_bits(k + 0x1.8p23f) - middle);
    }
}

static void grow(uint32_t r_bits, size_t n, const uint8_t *from, float *to) {
    const int32_t half = (1 << (r_bits - 1)) - 1;
    const uint32_t nan = (1u << r_bits) - 1;
    const float steps = (float)(2 * half);
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float y = (float)((int32_t)from[i] - half) / steps;
        to[i] = hu_f32_of_bits(pick(from[i] == nan, HU_F32_NAN, hu_f32_bits(y)));
    }
}

const hu_uniform_kernels HU_VARIANT(hu_uniform_kernels) = {range,    values, codes, decode,
                                                           residual, shrink, grow};
