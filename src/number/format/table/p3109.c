/* format/table/p3109.c - formats of IEEE P3109: BinaryKpP, signed or not, with infinities
 * (extended) or without (finite). Source: IEEE P3109, Interim Report 4.0 (June 2026), 3.1 and 4.7.
 *
 *   name = "binary" K "p" P ("s" | "u") ("e" | "f")          short: without "binary"
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "format/draft.h"
#include "format/table/draft.h"

enum { K_LEAST = 3, K_MOST = 16, EXPONENT_BITS_MOST = 8 };

/* The arguments of a recipe. */
enum { ARG_K, ARG_P, ARG_SIGNED, ARG_EXTENDED };

bool hu_p3109_is_short(const char *text) {
    const char *at = text;
    while (isdigit((unsigned char)*at)) at++;
    if (at == text || tolower((unsigned char)*at) != 'p') return false;
    const char *p = ++at;
    while (isdigit((unsigned char)*at)) at++;
    return at > p && (*at == '\0' || isalpha((unsigned char)*at));
}

/* Bits of the exponent field: P counts the hidden bit, a sign is one more. */
static int exponent_bits(const int64_t *argument) {
    return (int)(argument[ARG_K] - argument[ARG_P] + 1 - argument[ARG_SIGNED]);
}

static bool is_defined(const int64_t *argument) {
    const int64_t k = argument[ARG_K], p = argument[ARG_P];
    return k >= K_LEAST && k <= K_MOST && p >= 1 && p <= k - argument[ARG_SIGNED];
}

static hu_status check(const hu_code_recipe *r) {
    const int64_t *a = r->argument;
    const char *sign = a[ARG_SIGNED] ? "signed" : "unsigned";
    if (!is_defined(a))
        return hu_fail(HU_ERR_FORMAT,
                       "format '%s': found K = %lld, P = %lld, %s; IEEE P3109 has K = 3..16 bits "
                       "and, of precision, P = 1..K-1 (signed) or 1..K (unsigned)",
                       r->original, (long long)a[ARG_K], (long long)a[ARG_P], sign);
    if (exponent_bits(a) <= EXPONENT_BITS_MOST) return HU_OK;
    return hu_fail(HU_ERR_FORMAT,
                   "format '%s': found K = %lld, P = %lld, %s, whose numbers float32 does not "
                   "hold; expected K - P up to 8 (signed), 7 (unsigned), as P = %lld",
                   r->original, (long long)a[ARG_K], (long long)a[ARG_P], sign,
                   (long long)(a[ARG_K] - EXPONENT_BITS_MOST + 1 - a[ARG_SIGNED]));
}

/* One of two letters. */
static hu_status read_letter(hu_code_recipe *r, const char *yes, const char *no, int64_t *is_yes) {
    char expected[48];
    *is_yes = hu_code_accept(r, yes);
    if (*is_yes || hu_code_accept(r, no)) return HU_OK;
    snprintf(expected, sizeof expected, "'%s' or '%s', as in binary8p3se", yes, no);
    return hu_code_fail_expected(r, expected);
}

/* A number; of more than 9 digits one that no format has. */
static bool read_digits(hu_code_recipe *r, int64_t *number) {
    int digits = 0;
    *number = 0;
    for (; isdigit((unsigned char)r->text[r->used]); r->used++)
        if (digits++ < 9) *number = *number * 10 + (r->text[r->used] - '0');
    return digits > 0;
}

/* The float that a format is, code for code and in every mode, where there is one: signed and
 * finite ones have no infinities, no -0 and NaN in its place; and even codes are even significands.
 */
static hu_format float_of(const int64_t *argument) {
    int e = exponent_bits(argument), m = (int)argument[ARG_P] - 1;
    if (!argument[ARG_SIGNED] || argument[ARG_EXTENDED] || m < 1 || e > 7) return (hu_format){0};
    return (hu_format){.exp_bits = (uint8_t)e,
                       .man_bits = (uint8_t)m,
                       .specials = HU_SPECIALS_FNUZ,
                       .subnormals = 1,
                       .overflow = HU_OVERFLOW_SAT,
                       .bias = 1 << (e - 1)};
}

hu_status hu_p3109_read(hu_code_recipe *r) {
    hu_status st = HU_OK;
    int64_t *a = r->argument;
    if (!read_digits(r, &a[ARG_K]) || !hu_code_accept(r, "p"))
        return hu_format_fail_unknown(r->original);
    if (!read_digits(r, &a[ARG_P])) return hu_code_fail_expected(r, "the bits of precision");
    HU_TRY(read_letter(r, "s", "u", &a[ARG_SIGNED]));
    HU_TRY(read_letter(r, "e", "f", &a[ARG_EXTENDED]));
    HU_TRY(check(r));
    snprintf(r->name, sizeof r->name, "binary%dp%d%c%c", (int)a[ARG_K], (int)a[ARG_P],
             a[ARG_SIGNED] ? 's' : 'u', a[ARG_EXTENDED] ? 'e' : 'f');
    r->plain = float_of(a);
done:
    return st;
}

/* Field X above P - 1 bits t, without sign: X = 0: t 2^(1-P) 2^(1-B), else (1 + t 2^(1-P)) 2^(X-B).
 * Ibid., 4.7.2. */
static double magnitude(const int64_t *argument, uint32_t code) {
    int t_bits = (int)argument[ARG_P] - 1, bias = 1 << (exponent_bits(argument) - 1);
    uint32_t field = code >> t_bits, t = code & ((1u << t_bits) - 1);
    uint32_t hidden = field ? 1u << t_bits : 0;
    return ldexp((double)(hidden + t), (field ? (int)field : 1) - bias - t_bits);
}

hu_status hu_p3109_fill(const hu_code_recipe *r, hu_code_draft *draft) {
    const int64_t *a = r->argument;
    uint32_t codes = 1u << a[ARG_K], half = codes / 2, nan = a[ARG_SIGNED] ? half : codes - 1;
    uint32_t end = nan - (a[ARG_EXTENDED] ? 1 : 0); /* positive numbers lie below it */
    hu_status st = hu_code_draft_open(draft, codes);
    if (st != HU_OK) return st;
    for (uint32_t c = 0; c < end; c++) {
        draft->value[c] = magnitude(a, c);
        if (a[ARG_SIGNED] && c > 0) draft->value[half + c] = -draft->value[c];
    }
    draft->value[nan] = NAN;
    if (a[ARG_EXTENDED]) draft->value[end] = INFINITY;
    if (a[ARG_EXTENDED] && a[ARG_SIGNED]) draft->value[half + end] = -INFINITY;
    draft->next[1] = magnitude(a, end);
    draft->next[0] = a[ARG_SIGNED] ? -draft->next[1] : -magnitude(a, 1);
    draft->ties = HU_TIES_EVEN;
    draft->overflow = a[ARG_EXTENDED] ? HU_OVERFLOW_NONE : HU_OVERFLOW_SAT;
    draft->is_p3109 = true;
    draft->min_normal = magnitude(a, 1u << (a[ARG_P] - 1));
    return HU_OK;
}
