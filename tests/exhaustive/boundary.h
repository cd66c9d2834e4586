/* tests/exhaustive/boundary.h - inputs at which a rounding to a format can go wrong: values of the
 * format, the ties between them and their neighbours; the edges of the subnormals and of the range;
 * float32's own subnormals; infinities and NaNs; numbers of all exponents. */
#ifndef HU_TEST_BOUNDARY_H
#define HU_TEST_BOUNDARY_H
#include <stdint.h>

#include "base/bits.h"
#include "base/rng.h"
#include "format/value.h"

typedef void boundary_take(void *context, uint32_t bits);

typedef struct boundary {
    const hu_format *format;
    boundary_take *take;
    void *context;
} boundary;

static inline void boundary_both_signs(const boundary *b, uint32_t bits) {
    b->take(b->context, bits & ~HU_F32_SIGN);
    b->take(b->context, bits | HU_F32_SIGN);
}

/* The number nearest to value and its neighbours. */
static inline void boundary_near(const boundary *b, double value) {
    if (value > (double)hu_f32_of_bits(HU_F32_INFINITY - 1)) return;
    uint32_t bits = hu_f32_bits((float)value);
    if (bits > 0) boundary_both_signs(b, bits - 1);
    boundary_both_signs(b, bits);
    boundary_both_signs(b, bits + 1);
}

/* A code's value and the tie above it; the largest one has a tie too. */
static inline void boundary_code(const boundary *b, uint32_t code) {
    uint32_t code_max = hu_format_code_max(b->format);
    double low = (double)hu_f32_of_bits(hu_format_magnitude_bits(b->format, code)), high;
    if (code < code_max)
        high = (double)hu_f32_of_bits(hu_format_magnitude_bits(b->format, code + 1));
    else
        high = code
                   ? 2 * low - (double)hu_f32_of_bits(hu_format_magnitude_bits(b->format, code - 1))
                   : 2 * low;
    boundary_near(b, low);
    boundary_near(b, (low + high) / 2);
}

/* About `most` codes: all, if there are no more; else the first and last of every binade, and
 * others at irregular distances. */
static inline void boundary_codes(const boundary *b, uint32_t most) {
    enum { EDGE = 16 };
    const hu_random_key key = {168, b->format->exp_bits, b->format->man_bits};
    uint32_t code_max = hu_format_code_max(b->format), binade = 1u << b->format->man_bits;
    uint32_t stride = code_max / most + 1;
    for (uint32_t first = 0; first <= code_max; first += binade)
        for (uint32_t place = 0; place < binade && first + place <= code_max;) {
            boundary_code(b, first + place);
            int is_edge = place < EDGE || place + EDGE >= binade;
            uint32_t step =
                is_edge ? 1 : 1 + hu_random_word(&key, first + place) % (2 * stride - 1);
            uint32_t last = binade > EDGE ? binade - EDGE : 0;
            if (place < last && place + step > last) step = last - place;
            place += step;
        }
    for (uint32_t i = 0; i < EDGE && i <= code_max; i++) boundary_code(b, code_max - i);
}

static inline void boundary_specials(const boundary *b) {
    static const uint32_t bits[] = {0,          HU_F32_INFINITY,     0x007fffffu,
                                    0x00800000, HU_F32_INFINITY - 1, HU_F32_INFINITY + 1,
                                    0x7fbfffff, HU_F32_NAN,          0x7fffffff};
    for (uint32_t i = 0; i < sizeof bits / sizeof bits[0]; i++) boundary_both_signs(b, bits[i]);
    for (uint32_t i = 0; i < 23; i++) {
        boundary_both_signs(b, 1u << i); /* float32's subnormals */
        boundary_both_signs(b, (1u << i) + 1);
        boundary_both_signs(b, (2u << i) - 1);
        boundary_both_signs(b, HU_F32_INFINITY | 1u << i); /* NaNs */
        boundary_both_signs(b, HU_F32_INFINITY | ((2u << i) - 1));
    }
    for (uint32_t e = 0; e < 255; e++) /* every exponent, in and out of range */
        for (uint32_t i = 0; i < 24; i++) {
            boundary_both_signs(b, e << 23 | 1u << i);
            boundary_both_signs(b, e << 23 | ((1u << i) - 1));
        }
}

/* Hands every input to take: about 12 per code, and `random` patterns. */
static inline void boundary_inputs(const boundary *b, uint32_t most_codes, uint32_t random) {
    const hu_random_key key = {169, b->format->exp_bits, b->format->man_bits};
    hu_format_limits limits = hu_format_limits_of(b->format);
    boundary_near(b, limits.underflow_threshold);
    boundary_near(b, limits.overflow_threshold);
    boundary_near(b, limits.min_subnormal / 4);
    boundary_near(b, 2 * limits.max_finite);
    boundary_specials(b);
    boundary_codes(b, most_codes);
    for (uint32_t i = 0; i < random; i++) {
        uint32_t word = hu_random_word(&key, i);
        uint32_t near = hu_f32_bits((float)limits.min_normal) + (word & 0x07ffffff);
        b->take(b->context, word);
        b->take(b->context, near ^ (word & HU_F32_SIGN));
    }
}

/* The same, `most` at a time in x: full has them checked, *n of them, the last time fewer. */
typedef struct boundary_blocks {
    float *x;
    size_t *n, most;
    void (*full)(void *context);
    void *context;
} boundary_blocks;

static inline void boundary_gather(void *context, uint32_t bits) {
    const boundary_blocks *b = context;
    b->x[(*b->n)++] = hu_f32_of_bits(bits);
    if (*b->n < b->most) return;
    b->full(b->context);
    *b->n = 0;
}

static inline void boundary_inputs_in_blocks(const hu_format *format, uint32_t most_codes,
                                             uint32_t random, boundary_blocks blocks) {
    const boundary b = {format, boundary_gather, &blocks};
    *blocks.n = 0;
    boundary_inputs(&b, most_codes, random);
    blocks.full(blocks.context);
    *blocks.n = 0;
}

#endif
