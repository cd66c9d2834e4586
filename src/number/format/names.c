#include "format/draft.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"
#include "format/table/table.h"

/* ---- The table of named formats ---- */

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
/* clang-format on */

enum { NAMED_COUNT = sizeof table / sizeof table[0] };

uint32_t hu_format_float_count(void) {
    return NAMED_COUNT;
}

uint32_t hu_format_named_count(void) {
    return NAMED_COUNT + hu_code_table_named_count();
}

/* Row `index` of the table: its name, NULL after the last. */
const char *hu_format_named(uint32_t index, hu_format *format, const char **description) {
    if (index >= NAMED_COUNT) return hu_code_table_named(index - NAMED_COUNT, format, description);
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
    enum { MOST = 64 };
    const char *names[MOST];
    char nearest[128];
    uint32_t count = 0;
    const char *meant = hu_format_meant(name);
    if (meant)
        return hu_fail(HU_ERR_UNKNOWN, "format '%.64s' is unknown, expected %s", name, meant);
    while (count < MOST && (names[count] = hu_format_named(count, NULL, NULL)) != NULL) count++;
    hu_nearest(name, names, count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "format '%.64s' is unknown; nearest: %s", name, nearest);
}

/* ---- Names that formats have elsewhere, and what is meant by them here ---- */

/* Number systems that are no floats, integers or blocks: what their names begin with, a number
 * after it where it says so. */
typedef struct other_system {
    const char *prefix;
    int takes_number;
    const char *meant;
} other_system;

#define KNOWN_ARE "a float (e4m3fn), integers (uniform8), blocks (mxfp8) or a table (posit8): "
static const other_system others[] = {
    {"posit", 0, "positN, N = 3..16 (posit8: 2 exponent bits; posit8:es=1)"},
    {"takum", 0, "takumN or takumlogN, N = 3..16 (takum8: the linear one)"},
    {"unum", 0, KNOWN_ARE "unums are not known, their third type is posit8"},
    {"binary", 1, "binaryKpP and s or u, e or f, of IEEE P3109 (binary8p3se)"},
    {"hif", 1, "hif8 (HiFloat8)"},
    {"hifloat", 0, "hif8 (HiFloat8)"},
    {"nf", 1, "nf4, or table:FILE of the numbers of another one"},
    {"normalfloat", 0, "nf4, or table:FILE of the numbers of another one"},
    {"lns", 0, "lnsN, N = 3..16 (lns8:f=3: 3 fraction bits of the logarithm)"},
    {"ternary", 1, "ternary (-1, 0, 1)"},
    {"binary", 0,
     "binaryKpP and s or u, e or f, of IEEE P3109 (binary8p3se), or book:-1..1:2 (two numbers)"},
    {"p3109", 0, "binaryKpP and s or u, e or f (binary8p3se)"},
    {"table", 0, "table:FILE, a file with a number for each code, one a line"},
    {"book", 0, "book:LO..HI:N, N evenly spaced numbers"},
    {"codebook", 0, "book:LO..HI:N, or table:FILE of the numbers of another one"},
    {"bfp", 0, "mxint8 or mxfp8 (blocks that share a power of two)"},
    {"msfp", 0, "mxint8 or mxfp8 (blocks that share a power of two)"},
    {"fixed", 0, "uniform8 (integers over the range of a tensor)"},
    {"fxp", 0, "uniform8 (integers over the range of a tensor)"}};
#undef KNOWN_ARE

/* Names of floats and integers elsewhere, each with what is meant. */
static const char fp8[] = "e4m3fn or e5m2 (OCP's), or the precision hfp8",
                  fp6[] = "e3m2 or e2m3 (OCP's), or mxfp6e3m2 in blocks",
                  fp4[] = "e2m1 (OCP's), or mxfp4 or nvfp4 in blocks",
                  bits8[] = "e4m3fn or e5m2 (exponent and mantissa bits), or uniform8 "
                            "(integers)",
                  bits7[] = "e3m3 or e4m2 (exponent and mantissa bits), or uniform7 "
                            "(integers)",
                  bits6[] = "e3m2 or e2m3 (exponent and mantissa bits), or uniform6 "
                            "(integers)",
                  bits5[] = "e2m2 or e3m1 (exponent and mantissa bits), or uniform5 "
                            "(integers)",
                  bits4[] = "e2m1 (exponent and mantissa bits), or uniform4 (integers)",
                  bits16[] = "fp16 or bf16, or uniform16 (integers)";
static const char e4m3fn[] = "e4m3fn (its codes; PyTorch's cast saturates: e4m3fn:ovf=sat)",
                  mxfp6[] = "mxfp6e3m2 or mxfp6e2m3",
                  scale[] = "mxfp8, mxfp4 or another block format: it is what scales their blocks";
static const char *const elsewhere[][2] = {{"float8_e4m3fn", e4m3fn},
                                           {"fp8_e4m3fn", e4m3fn},
                                           {"fp8_e4m3", e4m3fn},
                                           {"fp8e4m3", e4m3fn},
                                           {"fp8-e4m3", e4m3fn},
                                           {"f8e4m3fn", e4m3fn},
                                           {"f8_e4m3", e4m3fn},
                                           {"float8_e4m3", "e4m3 (as IEEE 754 has it), or e4m3fn"},
                                           {"float8_e5m2", "e5m2"},
                                           {"fp8_e5m2", "e5m2"},
                                           {"fp8e5m2", "e5m2"},
                                           {"fp8-e5m2", "e5m2"},
                                           {"f8e5m2", "e5m2"},
                                           {"f8_e5m2", "e5m2"},
                                           {"float8_e4m3fnuz", "e4m3fnuz"},
                                           {"float8_e5m2fnuz", "e5m2fnuz"},
                                           {"float8_e4m3b11fnuz", "e4m3b11fnuz"},
                                           {"float8_e3m4", "e3m4"},
                                           {"float8_e8m0fnu", scale},
                                           {"ue8m0", scale},
                                           {"float6_e3m2fn", "e3m2"},
                                           {"float6_e2m3fn", "e2m3"},
                                           {"float4_e2m1fn", "e2m1"},
                                           {"float4_e2m1fn_x2", "e2m1"},
                                           {"fp4_e2m1", "e2m1"},
                                           {"fp6_e3m2", "e3m2"},
                                           {"fp6_e2m3", "e2m3"},
                                           {"mxfp6", mxfp6},
                                           {"mx6", mxfp6},
                                           {"mx8", "mxfp8"},
                                           {"mx4", "mxfp4"},
                                           {"binary16", "fp16"},
                                           {"binary32", "fp32"},
                                           {"binary64", "fp32, the widest"},
                                           {"uint8", "uniform8"},
                                           {"uint4", "uniform4"},
                                           {"fp8", fp8},
                                           {"float8", fp8},
                                           {"f8", fp8},
                                           {"ofp8", fp8},
                                           {"fp6", fp6},
                                           {"float6", fp6},
                                           {"fp4", fp4},
                                           {"float4", fp4},
                                           {"int2", "uniform2"},
                                           {"int3", "uniform3"},
                                           {"int4", "uniform4"},
                                           {"int5", "uniform5"},
                                           {"int6", "uniform6"},
                                           {"int7", "uniform7"},
                                           {"int8", "uniform8, or mxint8 in blocks"},
                                           {"int16", "uniform16"},
                                           {"8bit", bits8},
                                           {"8-bit", bits8},
                                           {"7bit", bits7},
                                           {"7-bit", bits7},
                                           {"6bit", bits6},
                                           {"6-bit", bits6},
                                           {"5bit", bits5},
                                           {"5-bit", bits5},
                                           {"4bit", bits4},
                                           {"4-bit", bits4},
                                           {"16bit", bits16},
                                           {"16-bit", bits16},
                                           {"bf8", "e5m2"},
                                           {"hf8", "e4m3fn"},
                                           {"bfloat16", "bf16"},
                                           {"bfloat", "bf16"},
                                           {"half", "fp16"},
                                           {"float16", "fp16"},
                                           {"f16", "fp16"},
                                           {"amp", "fp16 or bf16, with scaler=dynamic for fp16"},
                                           {"mixed", "fp16 or bf16, with scaler=dynamic for fp16"},
                                           {"tensorfloat32", "tf32"},
                                           {"float", "fp32"},
                                           {"float32", "fp32"},
                                           {"f32", "fp32"},
                                           {"single", "fp32"},
                                           {"fp64", "fp32, the widest"},
                                           {"float64", "fp32, the widest"},
                                           {"double", "fp32, the widest"}};

static const char *other_system_of(const char *name) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t length = strlen(others[i].prefix);
        if (strncasecmp(name, others[i].prefix, length) != 0) continue;
        if (!others[i].takes_number || isdigit((unsigned char)name[length])) return others[i].meant;
    }
    return NULL;
}

const char *hu_format_meant(const char *name) {
    size_t length = strcspn(name, ": ");
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (strlen(elsewhere[i][0]) == length && strncasecmp(elsewhere[i][0], name, length) == 0)
            return elsewhere[i][1];
    return other_system_of(name);
}
