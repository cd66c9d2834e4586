#include "base/cpu.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const names[HU_ISA_COUNT] = {"scalar", "avx2", "avx512"};

/* -1: nobody has asked yet. Two threads that ask first find the same answer. */
static _Atomic int chosen = -1, leaves_vbmi_out = -1;

/* What HALFULP_MAX_ISA may say: the sets, each with all below it, and the last one's further words.
 */
static const char with_vbmi[] = "avx512vbmi";

const char *hu_isa_name(hu_isa isa) {
    return names[isa];
}

/* The set that a word caps the choice to, HU_ISA_COUNT where it takes nothing away; -1: no word. */
static int cap_of(const char *word) {
    for (int i = 0; word && i < HU_ISA_COUNT; i++)
        if (strcmp(word, names[i]) == 0) return i;
    return word && strcmp(word, with_vbmi) == 0 ? HU_ISA_COUNT : -1;
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
    int cap = cap_of(getenv("HALFULP_MAX_ISA"));
    if (cap >= 0 && cap < HU_ISA_COUNT && (hu_isa)cap < best) best = (hu_isa)cap;
    atomic_store(&chosen, (int)best);
    return best;
}

static bool machine_has_vbmi(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return hu_cpu_isa_native() == HU_ISA_AVX512 && __builtin_cpu_supports("avx512vbmi");
#else
    return false;
#endif
}

bool hu_cpu_has_vbmi(void) {
    int is_out = atomic_load(&leaves_vbmi_out);
    if (is_out < 0) {
        is_out = cap_of(getenv("HALFULP_MAX_ISA")) == HU_ISA_AVX512;
        atomic_store(&leaves_vbmi_out, is_out);
    }
    return hu_cpu_isa() == HU_ISA_AVX512 && !is_out && machine_has_vbmi();
}

bool hu_cpu_is_capped(void) {
    return hu_cpu_isa() != hu_cpu_isa_native() || hu_cpu_has_vbmi() != machine_has_vbmi();
}

void hu_cpu_use_vbmi(bool is_wanted) {
    atomic_store(&leaves_vbmi_out, !is_wanted);
}

void hu_cpu_set_isa(hu_isa isa) {
    hu_isa native = hu_cpu_isa_native();
    atomic_store(&chosen, (int)(isa < native ? isa : native));
}

/* ---- Whether what the environment asks of the machine can be had ---- */

/* Fewer bytes than the smallest stack that threads work with: with 16 KiB the thread-local data of
 * the libraries alone do not fit, and the process ends by a signal. */
enum { LEAST_STACK = 256 << 10 };

static hu_status check_isa(void) {
    const char *cap = getenv("HALFULP_MAX_ISA");
    if (!cap || !*cap) return HU_OK;
    if (cap_of(cap) >= 0) return HU_OK;
    return hu_fail(
        HU_ERR_ARGUMENT,
        "the environment variable HALFULP_MAX_ISA: found '%.100s', expected %s, %s, %s or %s", cap,
        names[HU_ISA_SCALAR], names[HU_ISA_AVX2], names[HU_ISA_AVX512], with_vbmi);
}

/* Bytes as OMP_STACKSIZE has them (OpenMP 5.0, 6.7): a number, then B, K (also where there is no
 * letter), M or G. false: not a size, which the OpenMP library says itself. */
static bool read_stack(const char *text, uint64_t *bytes) {
    static const char letters[] = "bkmg";
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text) return false;
    while (isspace((unsigned char)*end)) end++;
    const char *letter = *end ? strchr(letters, tolower((unsigned char)*end)) : letters + 1;
    if (!letter) return false;
    unsigned shift = 10 * (unsigned)(letter - letters);
    *bytes = number > UINT64_MAX >> shift ? UINT64_MAX : (uint64_t)number << shift;
    return true;
}

static hu_status check_stack(const char *name) {
    const char *text = getenv(name);
    uint64_t bytes;
    if (!text || !read_stack(text, &bytes) || bytes >= LEAST_STACK) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "the environment variable %s: found '%.100s', expected at least %dK", name, text,
                   LEAST_STACK >> 10);
}

hu_status hu_cap_check(void) {
    hu_status st = check_isa();
    if (st == HU_OK) st = check_stack("OMP_STACKSIZE");
    return st == HU_OK ? check_stack("GOMP_STACKSIZE") : st;
}
