/* format/list.c - the named formats, one line each, and the names of the rounding modes. */
#include "format/list.h"

#include <halfulp/format.h>

#include "base/error.h"
#include "base/given.h"
#include "base/nearest.h"

#include <string.h>
#include <strings.h>

typedef struct named_format {
    const char *name;
    hu_format format;
    const char *description;
} named_format;

#define F(e, m, bias_, specials_, sub, ovf)                                                        \
    {                                                                                              \
        .exp_bits = (e), .man_bits = (m), .specials = HU_SPECIALS_##specials_,                     \
        .subnormals = (sub), .overflow = HU_OVERFLOW_##ovf, .bias = (bias_)                        \
    }

/* clang-format off */
/* F(exponent bits, mantissa bits, total bias, specials, subnormals, overflow). Names are compared
 * in lower case and may hold any character but ':'. */
static const named_format table[] = {
    {"fp32",        F(8, 23, 127, IEEE, 1, INF), "IEEE 754 binary32, the carrier of all others"},
    {"tf32",        F(8, 10, 127, IEEE, 1, INF), "TensorFloat-32, 19 bits"},
    {"bf16",        F(8,  7, 127, IEEE, 1, INF), "bfloat16"},
    {"fp16",        F(5, 10,  15, IEEE, 1, INF), "IEEE 754 binary16"},
    {"e5m2",        F(5,  2,  15, IEEE, 1, INF), "OCP FP8 E5M2; 8-bit gradients of APS"},
    {"e4m3fn",      F(4,  3,   7, FN,   1, NAN), "OCP FP8 E4M3: no infinity, one NaN magnitude"},
    {"e4m3",        F(4,  3,   7, IEEE, 1, INF), "8 bits with IEEE infinity and NaN, as in APS"},
    {"e5m2fnuz",    F(5,  2,  16, FNUZ, 1, NAN), "FP8 E5M2 without infinity and -0"},
    {"e4m3fnuz",    F(4,  3,   8, FNUZ, 1, NAN), "FP8 E4M3 without infinity and -0"},
    {"e4m3b11fnuz", F(4,  3,  11, FNUZ, 1, NAN), "FP8 E4M3 without infinity and -0, bias 11"},
    {"e3m4",        F(3,  4,   3, IEEE, 1, INF), "8 bits with IEEE infinity and NaN"},
    {"e3m2",        F(3,  2,   3, FIN,  1, SAT), "OCP MX FP6 E3M2: every code is a number"},
    {"e2m3",        F(2,  3,   1, FIN,  1, SAT), "OCP MX FP6 E2M3: every code is a number"},
    {"e2m1",        F(2,  1,   1, FIN,  1, SAT), "OCP MX FP4 E2M1: every code is a number"},
    {"1/6/9/d",     F(6,  9,  31, IEEE, 1, INF), "16-bit 1/6/9 with subnormals"},
    {"1/6/9/n",     F(6,  9,  31, IEEE, 0, INF), "16-bit 1/6/9, results below normal become 0"},
    {"fp(4,3,4)",   F(4,  3,  11, FIN,  1, SAT), "Lee et al., HFP8 forward: bias raised by 4"},
};

static const char *const rounding_names[HU_ROUND_COUNT] = {
    [HU_ROUND_NEAREST_EVEN] = "rne",
    [HU_ROUND_NEAREST_AWAY] = "rna",
    [HU_ROUND_TOWARD_ZERO]  = "rz",
    [HU_ROUND_UP]           = "ru",
    [HU_ROUND_DOWN]         = "rd",
    [HU_ROUND_TO_ODD]       = "rodd",
    [HU_ROUND_STOCHASTIC]   = "sr",
};
/* clang-format on */

enum { NAMED_COUNT = sizeof table / sizeof table[0] };

uint32_t hu_format_named_count(void) {
    return NAMED_COUNT;
}

/* Row `index` of the table: its name, NULL behind the last. */
const char *hu_format_named(uint32_t index, hu_format *format, const char **description) {
    if (index >= NAMED_COUNT) return NULL;
    if (format != NULL) *format = table[index].format;
    if (description != NULL) *description = table[index].description;
    return table[index].name;
}

/* Characters instead of a string: the name may be followed by options. */
int hu_format_named_find(const char *text, size_t length, hu_format *format) {
    for (size_t i = 0; i < NAMED_COUNT; i++)
        if (strlen(table[i].name) == length && memcmp(table[i].name, text, length) == 0) {
            *format = table[i].format;
            return 1;
        }
    return 0;
}

hu_status hu_format_fail_unknown(const char *name) {
    const char *names[NAMED_COUNT];
    char nearest[128];
    const char *meant = hu_format_meant(name);
    if (meant)
        return hu_fail(HU_ERR_UNKNOWN, "format '%.64s' is unknown, expected %s", name, meant);
    for (size_t i = 0; i < NAMED_COUNT; i++) names[i] = table[i].name;
    hu_nearest(name, names, NAMED_COUNT, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "format '%.64s' is unknown; nearest: %s", name, nearest);
}

/* Names of modes may be written in any case, as those of formats. */
hu_status hu_rounding_parse(const char *text, hu_rounding *rounding) {
    HU_GIVEN(rounding);
    HU_GIVEN(text);
    *rounding = HU_ROUND_NEAREST_EVEN;
    for (int i = 0; i < HU_ROUND_COUNT; i++)
        if (strcasecmp(text, rounding_names[i]) == 0) {
            *rounding = (hu_rounding)i;
            return HU_OK;
        }
    return hu_fail(HU_ERR_UNKNOWN,
                   "rounding '%.64s' is unknown; allowed: rne, rna, rz, ru, rd, rodd, sr", text);
}

const char *hu_rounding_name(hu_rounding rounding) {
    return (unsigned)rounding < HU_ROUND_COUNT ? rounding_names[rounding] : "?";
}
