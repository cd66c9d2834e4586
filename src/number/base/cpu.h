/* base/cpu.h - the instruction set that the kernels may use, and caps that the environment sets. */
#ifndef HU_BASE_CPU_H
#define HU_BASE_CPU_H
#include <stdbool.h>

#include <halfulp/status.h>

typedef enum hu_isa { HU_ISA_SCALAR, HU_ISA_AVX2, HU_ISA_AVX512, HU_ISA_COUNT } hu_isa;

/* What every kernel family has once per instruction set, as one list in the order of hu_isa:
 * HU_OF_ISA(f) is f_scalar, f_avx2, f_avx512, for declarations and for tables of functions;
 * HU_AT_ISA(t) is &t_scalar, &t_avx2, &t_avx512, for tables of records. Indexed by hu_cpu_isa(). */
#if defined(__x86_64__)
#define HU_OF_ISA(stem) stem##_scalar, stem##_avx2, stem##_avx512
#define HU_AT_ISA(stem) &stem##_scalar, &stem##_avx2, &stem##_avx512
#else
#define HU_OF_ISA(stem) stem##_scalar
#define HU_AT_ISA(stem) &stem##_scalar
#endif

/* In a file that is compiled once for each set, with HU_ISA = its name (variant.c): f_avx2 of f. */
#define HU_VARIANT(stem) HU_VARIANT_OF(stem, HU_ISA)
#define HU_VARIANT_OF(stem, isa) HU_VARIANT_JOIN(stem, isa)
#define HU_VARIANT_JOIN(stem, isa) stem##_##isa

/* The best set of this machine (AVX2 means AVX2+FMA+F16C+BMI2; AVX-512 means F, BW, DQ, VL), capped
 * by the environment variable HALFULP_MAX_ISA = scalar | avx2 | avx512 | avx512vbmi (other values
 * are ignored). Fixed at the first call. */
hu_isa hu_cpu_isa(void);

/* What the machine itself offers, without the cap. */
hu_isa hu_cpu_isa_native(void);

/* True where the set in use is AVX-512 and the machine looks up bytes too (VBMI: Ice Lake, Zen 4
 * and later), unless HALFULP_MAX_ISA=avx512 leaves that out. Such kernels (*_vbmi.c) stand beside
 * those of AVX-512. */
bool hu_cpu_has_vbmi(void);

/* Whether the machine has more than is used. */
bool hu_cpu_is_capped(void);

/* For tests: leaves it out, or takes it back where the machine has it. */
void hu_cpu_use_vbmi(bool is_wanted);

/* "scalar", "avx2", "avx512". */
const char *hu_isa_name(hu_isa isa);

/* For tests: overrides the answer of hu_cpu_isa; an isa above the native one is lowered to it. */
void hu_cpu_set_isa(hu_isa isa);

/* ---- Whether what the environment asks of the machine can be had ---- */

/* HU_ERR_ARGUMENT if the environment variable HALFULP_MAX_ISA is set, not empty and none of its
 * words (hu_cpu_isa in base/cpu.h would go on as if it
 * were not set; a name of a set that this machine lacks is fine: it caps nothing), or if
 * OMP_STACKSIZE or GOMP_STACKSIZE asks for stacks on which threads cannot live. */
hu_status hu_cap_check(void);

#endif
