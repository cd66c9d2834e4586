/* format/table/books.c - logarithmic numbers and code books. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "format/table/draft.h"

/* ---- logarithmic numbers ---- */

enum { LNS_LEAST = 3, LNS_MOST = 16, LNS_RANGE_BITS = 5 };

/* lnsN[:f=F | :base=B]: without either as many fraction bits as leave a range of 2^-8..2^8. */
hu_status hu_lns_read(hu_code_recipe *r) {
    hu_status st = hu_code_read_number(r, "bits", LNS_LEAST, LNS_MOST, &r->argument[0]);
    if (st != HU_OK) return st;
    int64_t n = r->argument[0], usual = n > LNS_RANGE_BITS ? n - LNS_RANGE_BITS : 0;
    size_t length = (size_t)snprintf(r->name, sizeof r->name, "lns%d", (int)n);
    r->argument[1] = usual;
    if (hu_code_accept(r, ":base=")) {
        size_t start = r->used;
        st = hu_code_read_decimal(r, "a base above 1", &r->number[0]);
        if (st == HU_OK && !(r->number[0] >= 1.00001 && r->number[0] <= 1024))
            st = hu_fail(HU_ERR_FORMAT,
                         "format '%s', column %zu: found base %g, expected 1.00001..1024",
                         r->original, start + 1, r->number[0]);
        char text[HU_DECIMAL_BYTES];
        snprintf(r->name + length, sizeof r->name - length, ":base=%s",
                 hu_decimal_text(r->number[0], text));
    } else if (hu_code_accept(r, ":f=")) {
        st = hu_code_read_number(r, "fraction bits", 0, n - 2, &r->argument[1]);
        if (r->argument[1] != usual)
            snprintf(r->name + length, sizeof r->name - length, ":f=%d", (int)r->argument[1]);
    }
    return st;
}

/* base^exponent. */
static double power_of(const hu_code_recipe *r, double exponent) {
    if (r->number[0] > 0) return pow(r->number[0], exponent);
    return exp2(ldexp(exponent, -(int)r->argument[1]));
}

/* Beyond what double holds is beyond float32 as well: all such numbers are one, and the boundary
 * between two of them is there, too. */
enum { FAR = 1000 };
static double within(double x) {
    return x > ldexp(1, FAR) ? ldexp(1, FAR) : x < ldexp(1, -FAR) ? ldexp(1, -FAR) : x;
}

static double boundary_of(const hu_code_recipe *r, double exponent) {
    double next = within(power_of(r, exponent + 0.5));
    bool is_far = next == ldexp(1, FAR) || within(power_of(r, exponent - 0.5)) == ldexp(1, -FAR);
    return is_far ? NAN : within(power_of(r, exponent));
}

/* Sign and logarithm L: 0, or base^(L - bias); the code of -0 is NaN. Boundaries lie half way
 * between logarithms. */
hu_status hu_lns_fill(const hu_code_recipe *r, hu_code_draft *draft) {
    uint32_t sign = 1u << (r->argument[0] - 1);
    double bias = ldexp(sign, -1);
    hu_status st = hu_code_draft_open(draft, 2 * sign);
    if (st != HU_OK) return st;
    for (uint32_t c = 0; c < sign; c++) {
        draft->value[c] = c ? hu_code_value(within(power_of(r, c - bias))) : 0;
        draft->value[sign | c] = c ? -draft->value[c] : NAN;
        draft->boundary[c] = boundary_of(r, c + 0.5 - bias);
        if (c + 1 < sign) draft->boundary[sign | (c + 1)] = -draft->boundary[c];
    }
    draft->low_boundary = -draft->boundary[sign - 1];
    draft->next[1] = within(power_of(r, sign - bias));
    draft->next[0] = -draft->next[1];
    return HU_OK;
}

/* ---- NormalFloat ---- */

hu_status hu_nf4_read(hu_code_recipe *r) {
    snprintf(r->name, sizeof r->name, "nf4");
    return HU_OK;
}

/* Quantiles of a normal distribution, boundaries their means in float32. Source: Dettmers et al.,
 * "QLoRA", 2023 (arXiv 2305.14314), appendix E, and its software. */
hu_status hu_nf4_fill(const hu_code_recipe *r, hu_code_draft *draft) {
    static const float numbers[16] = {
        -1.0f,
        -0.6961928009986877f,
        -0.5250730514526367f,
        -0.39491748809814453f,
        -0.28444138169288635f,
        -0.18477343022823334f,
        -0.09105003625154495f,
        0.0f,
        0.07958029955625534f,
        0.16093020141124725f,
        0.24611230194568634f,
        0.33791524171829224f,
        0.44070982933044434f,
        0.5626170039176941f,
        0.7229568362236023f,
        1.0f,
    };
    hu_status st = hu_code_draft_open(draft, 16);
    if (st != HU_OK) return st;
    (void)r;
    for (int c = 0; c < 16; c++) {
        draft->value[c] = numbers[c];
        if (c + 1 < 16)
            draft->boundary[c] = (float)(((double)numbers[c] + (double)numbers[c + 1]) / 2);
    }
    draft->ties = HU_TIES_LOWER;
    return HU_OK;
}

/* ---- three numbers ---- */

hu_status hu_ternary_read(hu_code_recipe *r) {
    snprintf(r->name, sizeof r->name, "ternary");
    return HU_OK;
}

/* Two bits in two's complement, 10 for NaN. Source: Ma et al., "The Era of 1-bit LLMs", 2024 (arXiv
 * 2402.17764), without its scale. */
hu_status hu_ternary_fill(const hu_code_recipe *r, hu_code_draft *draft) {
    static const double values[4] = {0, 1, NAN, -1};
    hu_status st = hu_code_draft_open(draft, 4);
    if (st != HU_OK) return st;
    (void)r;
    memcpy(draft->value, values, sizeof values);
    return HU_OK;
}

/* ---- evenly spaced numbers ---- */

/* One end of a book. */
static hu_status read_end(hu_code_recipe *r, const char *what, double *end) {
    size_t start = r->used;
    hu_status st = hu_code_read_decimal(r, what, end);
    if (st == HU_OK && !(fabs(*end) <= FLT_MAX))
        st = hu_fail(HU_ERR_FORMAT, "format '%s', column %zu: found %g, expected a float32",
                     r->original, start + 1, *end);
    return st;
}

hu_status hu_book_read(hu_code_recipe *r) {
    char low[HU_DECIMAL_BYTES], high[HU_DECIMAL_BYTES];
    hu_status st = HU_OK;
    if (!hu_code_accept(r, ":")) return hu_code_fail_expected(r, "':' and LO..HI:N");
    HU_TRY(read_end(r, "the least number", &r->number[0]));
    if (!hu_code_accept(r, "..")) return hu_code_fail_expected(r, "'..' and the largest number");
    HU_TRY(read_end(r, "the largest number", &r->number[1]));
    if (!(r->number[0] < r->number[1]))
        return hu_fail(HU_ERR_FORMAT, "format '%s': found %g..%g, expected LO below HI",
                       r->original, r->number[0], r->number[1]);
    if (!hu_code_accept(r, ":")) return hu_code_fail_expected(r, "':' and how many numbers");
    HU_TRY(hu_code_read_number(r, "numbers", HU_CODES_LEAST, HU_CODES_MOST, &r->argument[0]));
    snprintf(r->name, sizeof r->name, "book:%s..%s:%d", hu_decimal_text(r->number[0], low),
             hu_decimal_text(r->number[1], high), (int)r->argument[0]);
done:
    return st;
}

/* Codes ascend with the numbers. */
hu_status hu_book_fill(const hu_code_recipe *r, hu_code_draft *draft) {
    uint32_t count = (uint32_t)r->argument[0];
    double low = r->number[0], high = r->number[1];
    hu_status st = hu_code_draft_open(draft, count);
    if (st != HU_OK) return st;
    for (uint32_t c = 0; c < count; c++)
        draft->value[c] =
            (float)((low * (count - 1 - c) + high * c) / (count - 1)) + 0.0f; /* never -0 */
    return HU_OK;
}
