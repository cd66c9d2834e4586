/* format/rounding.c - rounding modes as values and as words.
 *
 *   mode   = "rne" | "rna" | "rz" | "ru" | "rd" | "rodd" | "sr" [ ":bits=" N [ ":kind=" kind ] ]
 *   kind   = "a" | "b" | "c"
 */
#include <halfulp/format.h>

#include "base/error.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BITS_PLACE = 8, KIND_PLACE = 16 };

/* clang-format off */
static const char *const mode_names[HU_ROUND_COUNT] = {
    [HU_ROUND_NEAREST_EVEN] = "rne",
    [HU_ROUND_NEAREST_AWAY] = "rna",
    [HU_ROUND_TOWARD_ZERO]  = "rz",
    [HU_ROUND_UP]           = "ru",
    [HU_ROUND_DOWN]         = "rd",
    [HU_ROUND_TO_ODD]       = "rodd",
    [HU_ROUND_STOCHASTIC]   = "sr",
};

/* The modes of N stated bits, indexed by N - 1 and kind. */
#define KINDS(n) {"sr:bits=" #n ":kind=a", "sr:bits=" #n ":kind=b", "sr:bits=" #n}
static const char *const bits_names[HU_RANDOM_BITS_MOST][HU_RANDOM_COUNT] = {
    KINDS(1),  KINDS(2),  KINDS(3),  KINDS(4),  KINDS(5),  KINDS(6),  KINDS(7),  KINDS(8),
    KINDS(9),  KINDS(10), KINDS(11), KINDS(12), KINDS(13), KINDS(14), KINDS(15), KINDS(16),
    KINDS(17), KINDS(18), KINDS(19), KINDS(20), KINDS(21), KINDS(22), KINDS(23), KINDS(24),
    KINDS(25), KINDS(26), KINDS(27), KINDS(28), KINDS(29), KINDS(30), KINDS(31), KINDS(32)};
#undef KINDS
/* clang-format on */

uint32_t hu_rounding_bits(hu_rounding rounding) {
    return ((unsigned)rounding & HU_ROUND_BITS) >> BITS_PLACE;
}

hu_random_kind hu_rounding_kind(hu_rounding rounding) {
    return (hu_random_kind)(((unsigned)rounding & HU_ROUND_KIND) >> KIND_PLACE);
}

hu_rounding hu_rounding_of_bits(uint32_t bits, hu_random_kind kind) {
    if (bits < 1 || bits > HU_RANDOM_BITS_MOST || (unsigned)kind >= HU_RANDOM_COUNT)
        return HU_ROUND_COUNT;
    return (hu_rounding)(HU_ROUND_STOCHASTIC | bits << BITS_PLACE | (unsigned)kind << KIND_PLACE);
}

hu_rounding hu_rounding_mode(hu_rounding rounding) {
    const unsigned mode = (unsigned)rounding & ~(unsigned)(HU_ROUND_BITS | HU_ROUND_KIND);
    if (mode == (unsigned)rounding) return mode < HU_ROUND_COUNT ? rounding : HU_ROUND_COUNT;
    bool is_known =
        rounding == hu_rounding_of_bits(hu_rounding_bits(rounding), hu_rounding_kind(rounding));
    return is_known ? HU_ROUND_STOCHASTIC : HU_ROUND_COUNT;
}

const char *hu_rounding_name(hu_rounding rounding) {
    const hu_rounding mode = hu_rounding_mode(rounding);
    const uint32_t bits = hu_rounding_bits(rounding);
    if (mode == HU_ROUND_COUNT) return "?";
    return bits ? bits_names[bits - 1][hu_rounding_kind(rounding)] : mode_names[mode];
}

/* "N" or "N:kind=K", what stands behind "sr:bits=". */
static hu_status read_bits(const char *text, const char *at, hu_rounding *rounding) {
    static const char kind_key[] = ":kind=";
    hu_random_kind kind = HU_RANDOM_C;
    char *end;
    unsigned long bits = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
    if (bits < 1 || bits > HU_RANDOM_BITS_MOST || (*end && *end != ':'))
        return hu_fail(HU_ERR_PARSE,
                       "rounding '%.64s', column %d: found '%.20s', expected the number of random "
                       "bits, 1..%d",
                       text, (int)(at - text) + 1, at, HU_RANDOM_BITS_MOST);
    if (*end) {
        const char *word = end + sizeof kind_key - 1;
        bool is_kind = strncasecmp(end, kind_key, sizeof kind_key - 1) == 0 && strlen(word) == 1;
        int letter = is_kind ? (*word | 0x20) - 'a' : HU_RANDOM_COUNT;
        if (letter < 0 || letter >= HU_RANDOM_COUNT)
            return hu_fail(HU_ERR_PARSE,
                           "rounding '%.64s', column %d: found '%.20s', expected ':kind=a', "
                           "':kind=b' or ':kind=c'",
                           text, (int)(end - text) + 1, end);
        kind = (hu_random_kind)letter;
    }
    *rounding = hu_rounding_of_bits((uint32_t)bits, kind);
    return HU_OK;
}

/* Names of modes may be written in any case, as those of formats. */
hu_status hu_rounding_parse(const char *text, hu_rounding *rounding) {
    static const char bits_key[] = "sr:bits=";
    HU_GIVEN(rounding);
    HU_GIVEN(text);
    *rounding = HU_ROUND_NEAREST_EVEN;
    for (int i = 0; i < HU_ROUND_COUNT; i++)
        if (strcasecmp(text, mode_names[i]) == 0) {
            *rounding = (hu_rounding)i;
            return HU_OK;
        }
    if (strncasecmp(text, bits_key, sizeof bits_key - 1) == 0)
        return read_bits(text, text + sizeof bits_key - 1, rounding);
    return hu_fail(HU_ERR_UNKNOWN,
                   "rounding '%.64s' is unknown; allowed: rne, rna, rz, ru, rd, rodd, sr, "
                   "sr:bits=N[:kind=a|b|c]",
                   text);
}
