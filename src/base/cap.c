/* base/cap.c - what variables of the environment may ask of the machine. */
#include "base/cap.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"

/* Fewer bytes than the smallest stack that threads work with: with 16 KiB the thread-local data of
 * the libraries alone do not fit, and the process ends by a signal. */
enum { LEAST_STACK = 256 << 10 };

static hu_status check_isa(void) {
    const char *cap = getenv("HALFULP_MAX_ISA");
    if (!cap || !*cap) return HU_OK;
    for (int i = 0; i < HU_ISA_COUNT; i++)
        if (strcmp(cap, hu_isa_name((hu_isa)i)) == 0) return HU_OK;
    return hu_fail(
        HU_ERR_ARGUMENT,
        "the environment variable HALFULP_MAX_ISA: found '%.100s', expected %s, %s or %s", cap,
        hu_isa_name(HU_ISA_SCALAR), hu_isa_name(HU_ISA_AVX2), hu_isa_name(HU_ISA_AVX512));
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
