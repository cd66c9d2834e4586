/* format/meant.c - names that formats have elsewhere, and what is meant by them here. */
#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "format/list.h"

/* Number systems that are no floats, integers or blocks: what their names begin with, a number
 * behind it where it says so. */
typedef struct other_system {
    const char *prefix;
    int takes_number;
    const char *meant;
} other_system;

#define KNOWN_ARE "a float (e4m3fn), integers (uniform8) or blocks (mxfp8): "
static const other_system others[] = {
    {"posit", 0, KNOWN_ARE "posits are not known"},
    {"takum", 0, KNOWN_ARE "takums are not known"},
    {"unum", 0, KNOWN_ARE "unums are not known"},
    {"binary", 1, KNOWN_ARE "those of IEEE P3109 are not known"},
    {"hif", 1, KNOWN_ARE "HiFloat is not known"},
    {"hifloat", 0, KNOWN_ARE "HiFloat is not known"},
    {"nf", 1, KNOWN_ARE "NormalFloat, a list of numbers, is not known"},
    {"normalfloat", 0, KNOWN_ARE "NormalFloat, a list of numbers, is not known"},
    {"lns", 0, KNOWN_ARE "logarithmic numbers are not known"},
    {"ternary", 0, KNOWN_ARE "three values are not known; the fewest are the four of uniform2"},
    {"binary", 0, KNOWN_ARE "two values are not known; the fewest are the four of uniform2"},
    {"bfp", 0, "mxint8 or mxfp8 (blocks that share a power of two)"},
    {"msfp", 0, "mxint8 or mxfp8 (blocks that share a power of two)"},
    {"fixed", 0, "uniform8 (integers over the range of a tensor)"},
    {"fxp", 0, "uniform8 (integers over the range of a tensor)"}};
#undef KNOWN_ARE

static const char *other_system_of(const char *name) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t length = strlen(others[i].prefix);
        if (strncasecmp(name, others[i].prefix, length) != 0) continue;
        if (!others[i].takes_number || isdigit((unsigned char)name[length])) return others[i].meant;
    }
    return NULL;
}

const char *hu_format_meant(const char *name) {
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
                      scale[] =
                          "mxfp8, mxfp4 or another block format: it is what scales their blocks";
    static const char *const known[][2] = {{"float8_e4m3fn", e4m3fn},
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
    size_t length = strcspn(name, ": ");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i][0]) == length && strncasecmp(known[i][0], name, length) == 0)
            return known[i][1];
    return other_system_of(name);
}
