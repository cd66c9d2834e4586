/* Factors of dot products, random and adversarial, for the proofs of products. Finite numbers. */
#ifndef HU_TESTS_GEMM_DATA_H
#define HU_TESTS_GEMM_DATA_H
#include <halfulp/format.h>
#include <math.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/rng.h"

/* Words of one sequence, in order. */
typedef struct words {
    hu_random_key key;
    uint64_t at;
    uint32_t buffer[64];
} words;

static inline words words_of(uint64_t seed, uint64_t step) {
    return (words){.key = {.seed = seed, .stream = hu_stream_id("proof", "gemm"), .step = step}};
}

static inline uint32_t word(words *w) {
    if (w->at % 64 == 0) hu_random_words(&w->key, w->at, 64, w->buffer);
    return w->buffer[w->at++ % 64];
}

/* Uniform on low..high. */
static inline int between(words *w, int low, int high) {
    return low + (int)(((uint64_t)word(w) * (uint64_t)(high - low + 1)) >> 32);
}

/* Log-uniform on 1..limit: every octave is as likely. */
static inline int64_t log_uniform(words *w, int64_t limit) {
    double u = (double)word(w) / 4294967296.0;
    return (int64_t)floor(exp2(u * log2((double)limit + 1)));
}

/* Nearly normal: the sum of twelve uniform numbers. */
static inline float gaussian(words *w) {
    double sum = -6.0;
    for (int i = 0; i < 6; i++) {
        uint32_t both = word(w);
        sum += ((double)(both & 0xFFFFu) + (double)(both >> 16) + 1.0) / 65536.0;
    }
    return (float)sum;
}

static inline float signed_one(words *w) {
    return (word(w) & 1) != 0 ? -1.0f : 1.0f;
}

/* An odd number of `bits` bits, or 1. */
static inline float odd_number(words *w, int bits) {
    if (bits < 2) return 1.0f;
    return (float)(1u << (bits - 1) | (word(w) & ((1u << (bits - 1)) - 1)) | 1u);
}

enum data_kind {
    DATA_GAUSSIAN,
    DATA_SPREAD,    /* Gaussian over 12 octaves */
    DATA_UNDERFLOW, /* products around and below the smallest normal number */
    DATA_MIDPOINT, /* products on midpoints of the format, accumulators that are tiny beside them */
    DATA_TAIL,     /* products just beside half a place of the accumulator, 48 bits long */
    DATA_CANCEL,   /* terms that take back what came before, but for a few bits */
    DATA_OVERFLOW, /* products around the largest finite number */
    DATA_BITS,     /* any finite bit patterns */
    DATA_NARROW,   /* products of about m + 2 bits, midpoints often, 40 octaves apart */
    DATA_SHORT,    /* products of about 23 - m bits over few octaves */
    DATA_KINDS
};

/* x 2^exponent, cut to the finite numbers of float32. */
static inline float scaled(float x, int exponent) {
    float y = ldexpf(x, exponent);
    return isfinite(y) ? y : copysignf(0x1p127f, x);
}

static inline void midpoint_term(words *w, const hu_format *f, int64_t i, float *x, float *y) {
    int m = f->man_bits, split = between(w, 0, m + 2), e = between(w, -3, 3) - m / 2;
    if (i % 3 == 0) { /* tiny */
        *x = scaled(signed_one(w), e - between(w, 5, 40));
        *y = scaled(odd_number(w, between(w, 1, 3)), -between(w, 0, 20));
    } else if (i % 3 == 1) { /* about m + 2 bits, odd */
        *x = scaled(signed_one(w) * odd_number(w, split), e);
        *y = odd_number(w, m + 2 - split + (int)(word(w) & 1));
    } else { /* takes most of it back */
        *x = scaled(-x[-1], (int)(word(w) % 8 == 0));
        *y = y[-1];
    }
}

static inline void tail_term(words *w, const hu_format *f, int64_t i, float *x, float *y) {
    int m = f->man_bits, e = between(w, -2, 2), h = between(w, 1, 23);
    if (i % 3 == 0) { /* m + 1 bits */
        *x = scaled(odd_number(w, m + 1), e - m);
        *y = signed_one(w);
    } else if (i % 3 == 1) { /* half a place of it, times (1 + 2^-h) (1 - 2^-h) or beside */
        int above = ilogbf(fabsf(x[-1]));
        *x = scaled(signed_one(w) * (1.0f + ldexpf(1.0f, -h)), above - m - 1);
        *y = 1.0f + signed_one(w) * ldexpf(1.0f, -(word(w) % 2 ? h : between(w, 1, 23)));
    } else {
        *x = -x[-2];
        *y = y[-2];
    }
}

static inline void cancel_term(words *w, int64_t i, float *x, float *y) {
    if (i % 2 == 0) {
        *x = gaussian(w);
        *y = scaled(gaussian(w), between(w, -8, 8));
    } else {
        *x = -x[-1] * (1.0f + scaled(signed_one(w), -between(w, 1, 30)));
        *y = y[-1];
    }
}

/* A quarter are zeros of either sign, a quarter subnormal or just above. */
static inline float finite_bits(words *w) {
    uint32_t bits = word(w), choice = word(w) % 4;
    float x = hu_f32_of_bits(choice == 0   ? bits & HU_F32_SIGN
                             : choice == 1 ? bits & 0x80FFFFFFu
                                           : bits);
    return isfinite(x) ? x : 1.0f;
}

/* x and y of at most bits / 2 bits, rounded up, over `octaves` octaves. */
static inline void narrow_term(words *w, int bits, int octaves, float *x, float *y) {
    int half = bits < 2 ? 1 : (bits + 1) / 2;
    *x = scaled(signed_one(w) * odd_number(w, between(w, 1, half)), -between(w, 0, octaves));
    *y = scaled(odd_number(w, bits - half < 2 ? 1 : between(w, 1, bits - half)),
                -between(w, 0, octaves / 4));
}

/* Exponents that add up to `target` or thereabouts, each that of a float32. */
static inline void pair_around(words *w, int target, float *x, float *y) {
    int first = target / 2 + between(w, -10, 10);
    *x = scaled(gaussian(w), first);
    *y = scaled(gaussian(w), target - first + between(w, -4, 4));
}

/* Term i of a kind; x and y point at it, the terms before lie in front. */
static inline void make_term(words *w, const hu_format *f, int kind, int64_t i, float *x,
                             float *y) {
    hu_format_limits limits = hu_format_limits_of(f);
    switch (kind) {
    case DATA_SPREAD:
        pair_around(w, between(w, -12, 12), x, y);
        break;
    case DATA_UNDERFLOW:
        pair_around(w, limits.emin - between(w, -2, f->man_bits + 2), x, y);
        break;
    case DATA_MIDPOINT:
        midpoint_term(w, f, i, x, y);
        break;
    case DATA_TAIL:
        tail_term(w, f, i, x, y);
        break;
    case DATA_CANCEL:
        cancel_term(w, i, x, y);
        break;
    case DATA_OVERFLOW:
        pair_around(w, limits.emax - between(w, 1, 6), x, y);
        break;
    case DATA_BITS:
        *x = finite_bits(w);
        *y = finite_bits(w);
        break;
    case DATA_NARROW:
        narrow_term(w, f->man_bits + 2, 32, x, y);
        break;
    case DATA_SHORT:
        narrow_term(w, 23 - f->man_bits, 8, x, y);
        break;
    default:
        *x = gaussian(w);
        *y = gaussian(w);
    }
}

static inline void make_members(const hu_format *f, int64_t k, float *x) {
    for (int64_t i = 0; i < k; i++) {
        float rounded = hu_format_round(f, HU_ROUND_NEAREST_EVEN, x[i], 0);
        if (isfinite(rounded)) x[i] = rounded;
    }
}

/* k terms of one kind, or (every eighth time) of kinds that change every six terms; half of them
 * members of the format. Runs start at multiples of six: no term looks in front of x. */
static inline void make_terms(words *w, const hu_format *f, int64_t k, float *x, float *y) {
    uint32_t choice = word(w), kind = choice >> 8;
    int is_mixed = choice % 8 == 0;
    for (int64_t i = 0; i < k; i++) {
        if (is_mixed && i % 6 == 0) kind = word(w) >> 8;
        make_term(w, f, (int)(kind % DATA_KINDS), i, &x[i], &y[i]);
    }
    if (choice % 2 == 0) return;
    make_members(f, k, x);
    make_members(f, k, y);
}

#endif
