#include "reference/tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <halfulp/random.h>

#include "base/bits.h"
#include "base/rng.h"

/* ---- rotation ---- */

static float magnitude(float x) {
    return hu_f32_of_bits(hu_f32_bits(x) & ~HU_F32_SIGN);
}

static float flipped(float x, uint32_t sign) {
    return hu_f32_of_bits(hu_f32_bits(x) ^ sign);
}

/* x [n] becomes x H: sums in the first half, differences in the second, then each half. */
static void butterflies(int64_t n, float *x) {
    for (int64_t i = 0; i < n / 2; i++) {
        float a = x[i], b = x[i + n / 2];
        x[i] = a + b;
        x[i + n / 2] = a - b;
    }
    if (n <= 2) return;
    butterflies(n / 2, x);
    butterflies(n / 2, x + n / 2);
}

void hu_hadamard_reference(int32_t size, const uint32_t *signs, int64_t n, const float *x, float *y,
                           bool back) {
    float group[HU_HADAMARD_MOST];
    for (int64_t at = 0; at < n;) {
        int64_t h = size;
        while (h > n - at) h /= 2;
        float r = (float)(1.0 / sqrt((double)h));
        for (int64_t i = 0; i < h; i++) group[i] = back ? x[at + i] : flipped(x[at + i], signs[i]);
        if (h > 1) butterflies(h, group);
        for (int64_t i = 0; i < h; i++) {
            float v = back ? flipped(group[i] * r, signs[i]) : group[i] * r;
            y[at + i] = isnan(v) ? hu_f32_of_bits(HU_F32_NAN) : v;
        }
        at += h;
    }
}

static void rotate(const hu_block_format *f, int64_t lines, int64_t line, const uint32_t *signs,
                   const float *x, float *y, bool back) {
    for (int64_t l = 0; l < lines; l++)
        if (f->hadamard)
            hu_hadamard_reference(f->hadamard, signs, line, x + l * line, y + l * line, back);
        else
            memmove(y + l * line, x + l * line, (size_t)line * sizeof *y);
}

float hu_tile_reference_top(const hu_block_format *format, int64_t lines, int64_t line,
                            const float *x, const uint32_t *signs) {
    float *z = malloc((size_t)(lines * line) * sizeof *z), top = 0.0f;
    rotate(format, lines, line, signs, x, z, false);
    for (int64_t i = 0; i < lines * line; i++)
        if (isfinite(z[i])) top = fmaxf(top, magnitude(z[i]));
    free(z);
    return top;
}

/* ---- scales ---- */

/* A tile that is rounded: its numbers stand at first + l * line + c. */
typedef struct tile {
    const hu_block_format *f;
    hu_rounding rounding;
    const float *z;
    float *y;
    uint32_t *codes;
    const hu_random_key *key;
    uint64_t index;
    int64_t first, lines, columns, line;
    float tensor_scale, most;
} tile;

static float largest_float(void) {
    return hu_f32_of_bits(0x7F7FFFFFu);
}

/* k for a largest magnitude, in exact arithmetic on doubles. */
static int power_of(const hu_block_format *f, float a) {
    hu_format_limits limits = hu_format_limits_of(&f->element);
    int m = f->element.man_bits, e = 0, k;
    double fraction, top = limits.max_finite;
    if (a == 0.0f) return -127;
    fraction = frexp((double)a, &e); /* a = fraction 2^e, 1/2 <= fraction < 1 */
    switch (f->power) {
    case HU_BLOCK_CEIL:
        k = (fraction > 0.5 ? e : e - 1) - limits.emax;
        break;
    case HU_BLOCK_RCEIL:
        for (k = -200; (double)a > ldexp(top, k); k++)
            ;
        break;
    case HU_BLOCK_EVEN:
        k = (int)floor(log2(floor(ldexp(fraction, m + 1) + 0.5))) - m + e - 1 - limits.emax;
        break;
    default:
        k = e - 1 - limits.emax;
    }
    int high = limits.emax > 0 ? 127 - limits.emax : 127;
    return k < -127 ? -127 : k > high ? high : k;
}

static float round_scale(const hu_block_format *f, float x) {
    return hu_format_round(&f->scale_format, HU_ROUND_NEAREST_EVEN, x, 0);
}

/* What is stored for a tile; more: times the quotient. */
static float scale_of(const tile *t, float a, float more) {
    const hu_block_format *f = t->f;
    float s, inverse = 1.0f / t->most, c;
    if (!isfinite(a)) return hu_f32_of_bits(HU_F32_NAN);
    if (f->scale == HU_BLOCK_SCALE_E8M0) return (float)ldexp(1.0, power_of(f, a));
    if (f->scale == HU_BLOCK_SCALE_F32) {
        if (f->least > 0.0f && a < f->least) a = f->least;
        if (a == 0.0f) return 1.0f;
        if (f->way == HU_BLOCK_WAY_TE) return fminf(t->most / a, largest_float());
        s = a / t->most;
        return fminf(fmaxf(s, 0x1p-126f), largest_float());
    }
    switch (f->way) {
    case HU_BLOCK_WAY_TE:
        s = t->tensor_scale * inverse;
        c = round_scale(f, more * (a * s));
        break;
    case HU_BLOCK_WAY_AO:
        s = a / t->most;
        c = round_scale(f, more * (s / t->tensor_scale));
        c = fmaxf(c, (float)hu_format_limits_of(&f->scale_format).min_normal);
        break;
    case HU_BLOCK_WAY_EDEN:
        s = a / (float)(6.0 / (17.0 / 16.0 * 0.93));
        c = round_scale(f, more * (s / t->tensor_scale));
        if (c == 0.0f) c = 1.0f;
        break;
    default:
        s = t->most * t->tensor_scale;
        c = round_scale(f, more * (a / s));
    }
    return c;
}

/* d of a stored scale: what rounded elements are multiplied by. */
static float unit_of(const tile *t, float stored) {
    const hu_block_format *f = t->f;
    if (f->scale == HU_BLOCK_SCALE_E8M0) return stored;
    if (f->scale == HU_BLOCK_SCALE_F32) return f->way == HU_BLOCK_WAY_TE ? 1.0f / stored : stored;
    if (f->way == HU_BLOCK_WAY_TE) return stored * (1.0f / t->tensor_scale);
    return stored * t->tensor_scale;
}

/* v in units of the scale. */
static float in_units(const tile *t, float v, float stored) {
    const hu_block_format *f = t->f;
    float d = unit_of(t, stored), q;
    if (f->scale == HU_BLOCK_SCALE_E8M0)
        q = v / d;
    else if (f->scale == HU_BLOCK_SCALE_F32)
        q = v * (f->way == HU_BLOCK_WAY_TE ? stored : 1.0f / stored);
    else if (f->way == HU_BLOCK_WAY_TE)
        q = v * fminf(1.0f / d, largest_float());
    else if (f->way == HU_BLOCK_WAY_AO)
        q = v * fminf(1.0f / t->tensor_scale / stored, largest_float());
    else
        q = v / d;
    if (v != 0.0f && magnitude(q) < 0x1p-126f) q = copysignf(0x1p-126f, v);
    float of_infinity = hu_format_round(&f->element, HU_ROUND_NEAREST_EVEN, INFINITY, 0);
    if (isinf(q) && isnan(of_infinity)) q = copysignf(largest_float(), q);
    return q;
}

/* ---- elements ---- */

static uint32_t stored_code(const hu_format *element, float p) {
    uint32_t code;
    hu_format_encode(element, p, &code);
    bool is_integer = element->exp_bits == 1 && element->specials == HU_SPECIALS_FNUZ;
    return is_integer && code > 0x7F ? 256 - (code & 0x7F) : code;
}

static float element_of(const tile *t, int64_t at, float stored) {
    float v = t->z[at], d = unit_of(t, stored);
    uint32_t word = t->key ? hu_random_word(t->key, t->index + (uint64_t)at) : 0;
    float in = isnan(d)    ? 0.0f
               : d == 0.0f ? hu_f32_of_bits(hu_f32_bits(v) & HU_F32_SIGN)
                           : in_units(t, v, stored);
    return hu_format_round(&t->f->element, t->rounding, in, word);
}

static float value_of(const tile *t, float p, float stored) {
    float d = unit_of(t, stored), value = p * d;
    if (isnan(d)) return hu_f32_of_bits(HU_F32_NAN);
    return isinf(value) ? copysignf(largest_float(), value) : value;
}

/* Sums in lanes, then ((0+4)+(2+6)) + ((1+5)+(3+7)). */
static float lanes_sum(const float s[8]) {
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

static float error_of(const tile *t, float stored) {
    float lanes[8] = {0};
    bool is_square = t->f->choice == HU_BLOCK_CHOICE_FOUR_SQUARES;
    for (int64_t l = 0; l < t->lines; l++)
        for (int64_t c = 0; c < t->columns; c++) {
            int64_t at = t->first + l * t->line + c;
            float d = value_of(t, element_of(t, at, stored), stored) - t->z[at];
            lanes[c % 8] += is_square ? d * d : magnitude(d);
        }
    return lanes_sum(lanes);
}

static float tile_scale(const tile *t) {
    uint32_t top = 0;
    for (int64_t l = 0; l < t->lines; l++)
        for (int64_t c = 0; c < t->columns; c++) {
            uint32_t u = hu_f32_bits(magnitude(t->z[t->first + l * t->line + c]));
            if (u > top) top = u;
        }
    float one = scale_of(t, hu_f32_of_bits(top), 1.0f);
    if (!t->f->choice) return one;
    float other = scale_of(t, hu_f32_of_bits(top), 1.5f);
    return error_of(t, other) < error_of(t, one) ? other : one;
}

/* c t of MS-EDEN for the group of tiles that stands at place `from` of a line. */
static void turn_group(tile *t, int64_t from, const hu_block_format *f, float *scales,
                       int64_t tiles) {
    float up = 0.0f, down = 0.0f;
    hu_random_key own = *t->key;
    own.stream ^= UINT64_C(1) << 63;
    for (int64_t i = 0; i < tiles; i++) {
        float squares[8] = {0}, products[8] = {0};
        for (int64_t c = 0; c < f->length && from + i * f->length + c < t->line; c++) {
            int64_t at = t->first + from + i * f->length + c;
            bool is_nan = isnan(unit_of(t, scales[i]));
            float z = is_nan ? 0.0f : in_units(t, t->z[at], scales[i]);
            float p = element_of(t, at, scales[i]);
            squares[c % 8] += z * z;
            products[c % 8] += z * p;
        }
        up += lanes_sum(squares);
        down += lanes_sum(products);
    }
    float turn = down == 0.0f ? 1.0f : up / down;
    for (int64_t i = 0; i < tiles; i++) {
        int64_t across = hu_block_tiles(f, 1, t->line);
        uint64_t place = t->index + (uint64_t)(t->first / t->line * across + from / f->length + i);
        scales[i] = hu_format_round(&f->scale_format, HU_ROUND_STOCHASTIC, scales[i] * turn,
                                    hu_random_word(&own, place));
    }
}

static void turn_scales(tile t, int64_t lines, float *scales) {
    int64_t across = hu_block_tiles(t.f, 1, t.line), group = t.f->group / t.f->length;
    for (int64_t l = 0; l < lines; l++)
        for (int64_t i = 0; i < across; i += group) {
            t.first = l * t.line;
            turn_group(&t, i * t.f->length, t.f, scales + l * across + i,
                       across - i < group ? across - i : group);
        }
}

/* Calls for every tile in order: its place and size. */
static int64_t place_tile(tile *t, const hu_block_format *f, int64_t lines, int64_t index) {
    int64_t across = hu_block_tiles(f, 1, t->line);
    int64_t l = index / across * f->lines, c = index % across * f->length;
    t->first = l * t->line + c;
    t->lines = lines - l < f->lines ? lines - l : f->lines;
    t->columns = t->line - c < f->length ? t->line - c : f->length;
    return index;
}

void hu_tile_reference(const hu_block_format *format, hu_rounding rounding, float tensor_scale,
                       int64_t lines, int64_t line, const float *x, const hu_random_key *key,
                       uint64_t index, const uint32_t *signs, float *y, uint32_t *codes,
                       float *scales) {
    float *z = malloc((size_t)(lines * line) * sizeof *z);
    int64_t tiles = hu_block_tiles(format, lines, line);
    float *own = malloc((size_t)tiles * sizeof *own);
    tile t = {.f = format,
              .rounding = rounding,
              .z = z,
              .y = y,
              .codes = codes,
              .key = key,
              .index = index,
              .line = line,
              .tensor_scale = tensor_scale,
              .most = (float)hu_format_limits_of(&format->element).max_finite};
    rotate(format, lines, line, signs, x, z, false);
    for (int64_t i = 0; i < tiles; i++) {
        place_tile(&t, format, lines, i);
        own[i] = scales[i] = tile_scale(&t);
    }
    if (format->way == HU_BLOCK_WAY_EDEN) turn_scales(t, lines, scales);
    for (int64_t i = 0; i < tiles; i++) {
        place_tile(&t, format, lines, i);
        for (int64_t l = 0; l < t.lines; l++)
            for (int64_t c = 0; c < t.columns; c++) {
                int64_t at = t.first + l * line + c;
                float p = element_of(&t, at, own[i]);
                codes[at] = stored_code(&format->element, p);
                y[at] = value_of(&t, p, scales[i]);
            }
    }
    rotate(format, lines, line, signs, y, y, true);
    free(z);
    free(own);
}
