/* format/meant.c - names that formats have elsewhere, and what is meant by them here. */
#include <stddef.h>
#include <strings.h>

#include "format/list.h"

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
    static const char *const known[][2] = {{"fp8", fp8},
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
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(known[i][0], name) == 0) return known[i][1];
    return NULL;
}
