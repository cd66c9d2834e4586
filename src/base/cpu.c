#include "base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const names[HU_ISA_COUNT] = {"scalar", "avx2", "avx512"};
/* -1: nobody has asked yet. Two threads that ask first find the same answer. */
static _Atomic int chosen = -1;

const char *hu_isa_name(hu_isa isa) {
    return names[isa];
}

#if defined(__x86_64__)
/* A name that not every compiler's __builtin_cpu_supports knows. */
static bool has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

/* The sets nest: who has AVX-512 here has all of AVX2 too, so a cap can only lower the set. */
hu_isa hu_cpu_isa_native(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2") || !has_f16c())
        return HU_ISA_SCALAR;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return HU_ISA_AVX512;
    return HU_ISA_AVX2;
#else
    return HU_ISA_SCALAR;
#endif
}

hu_isa hu_cpu_isa(void) {
    int isa = atomic_load(&chosen);
    if (isa >= 0) return (hu_isa)isa;
    /* The environment lowers the set and never raises it: a kernel of a set that the machine lacks
     * would end the process. */
    hu_isa best = hu_cpu_isa_native();
    const char *cap = getenv("HALFULP_MAX_ISA");
    for (int i = 0; cap && i < HU_ISA_COUNT; i++)
        if (strcmp(cap, names[i]) == 0 && (hu_isa)i < best) best = (hu_isa)i;
    atomic_store(&chosen, (int)best);
    return best;
}

void hu_cpu_set_isa(hu_isa isa) {
    hu_isa native = hu_cpu_isa_native();
    atomic_store(&chosen, (int)(isa < native ? isa : native));
}
