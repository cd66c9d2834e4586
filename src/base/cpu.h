/* base/cpu.h - which instruction set the kernels may use. */
#ifndef HU_BASE_CPU_H
#define HU_BASE_CPU_H
#include <halfulp/status.h>

typedef enum hu_isa { HU_ISA_SCALAR, HU_ISA_AVX2, HU_ISA_AVX512, HU_ISA_COUNT } hu_isa;

/* The best set of this machine (AVX2 means AVX2+FMA+F16C+BMI2; AVX-512 means F, BW, DQ, VL), capped
 * by the environment variable HALFULP_MAX_ISA = scalar | avx2 | avx512 (other values are ignored).
 * Fixed at the first call. */
hu_isa hu_cpu_isa(void);

/* What the machine itself offers, without the cap. */
hu_isa hu_cpu_isa_native(void);

/* "scalar", "avx2", "avx512". */
const char *hu_isa_name(hu_isa isa);

/* For tests: overrides the answer of hu_cpu_isa; an isa above the native one is lowered to it. */
void hu_cpu_set_isa(hu_isa isa);

#endif
