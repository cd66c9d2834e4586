/* Rounds and packs the boundary inputs of many formats with every kernel of this build and prints
 * one hash of all results: what compilers_test.py compares. Exit code 1 if a result is not that of
 * the integer reference or differs between instruction sets; with an argument, scalar alone. */
#include <stdio.h>
#include <string.h>

#include "../exhaustive/boundary.h"
#include "kernel/pack/pack.h"
#include "kernel/round/round.h"

enum { MOST = 1 << 17, MOST_CODES = 256 };

static const char *const formats[] = {"fp16",   "bf16",       "1/6/9/n",       "e5m2",
                                      "e4m3fn", "e2m1",       "fp(4,3,4)",     "e4m3fnuz",
                                      "e5m23",  "e8m0",       "fp32",          "e7m22:ovf=sat",
                                      "e3m0",   "e8m7:sub=n", "e4m3:bias=140", "e5m2fnuz:ovf=inf"};
static const hu_random_key key = {1, 2, 3};
static float x[MOST], y[MOST], wanted[MOST];
static unsigned char codes[4 * MOST];
static size_t count;
static int failures;

static void add(void *context, uint32_t bits) {
    (void)context;
    if (count < MOST) x[count++] = hu_f32_of_bits(bits);
}

/* FNV-1a. */
static uint64_t fold(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t fold_rounding(uint64_t hash, const hu_format *format, const hu_round_variant *v,
                              hu_isa isa) {
    hu_rounder rounder;
    hu_round_counts counts;
    if (!hu_round_route_serves(v->route, v->rounding, format)) return hash;
    if (hu_rounder_init_variant(&rounder, format, v, isa) != HU_OK) failures++;
    for (size_t i = 0; i < count; i++)
        wanted[i] = hu_format_round(format, v->rounding, x[i], hu_random_word(&key, 7 + i));
    hu_rounder_run(&rounder, count, x, y, &key, 7, NULL);
    failures += memcmp(y, wanted, count * sizeof *y) != 0;
    hu_round_counts_clear(&counts);
    hu_rounder_run(&rounder, count, x, y, &key, 7, &counts);
    failures += memcmp(y, wanted, count * sizeof *y) != 0;
    hash = fold(hash, y, count * sizeof *y);
    return fold(hash, &counts, sizeof counts);
}

/* Packs what rounding left in y. */
static uint64_t fold_packing(uint64_t hash, const hu_format *format, int code_bits, hu_isa isa) {
    hu_packer packer;
    uint64_t lost = 0;
    if (code_bits && (uint32_t)code_bits < hu_format_bits(format)) return hash;
    if (hu_packer_init_isa(&packer, format, code_bits, isa) != HU_OK) failures++;
    hu_packer_pack(&packer, count, y, codes, NULL);
    hash = fold(hash, codes, hu_packer_bytes(&packer, count));
    hu_packer_pack(&packer, count, y, codes, &lost);
    hash = fold(hash, codes, hu_packer_bytes(&packer, count));
    hash = fold(hash, &lost, sizeof lost);
    hu_packer_unpack(&packer, count, codes, wanted);
    return fold(hash, wanted, count * sizeof *wanted);
}

static uint64_t hash_of(hu_isa isa) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        hu_format format;
        if (hu_format_parse(formats[f], &format) != HU_OK) failures++;
        const boundary b = {&format, add, NULL};
        count = 0;
        boundary_inputs(&b, MOST_CODES, 1024);
        for (size_t v = 0; v < hu_round_variant_count(); v++)
            hash = fold_rounding(hash, &format, hu_round_variant_at(v), isa);
        for (int code_bits = 0; code_bits <= 16; code_bits += 8)
            hash = fold_packing(hash, &format, code_bits, isa);
    }
    return hash;
}

int main(int argc, char **argv) {
    uint64_t first = hash_of(HU_ISA_SCALAR);
    (void)argv;
    for (int isa = 1; argc == 1 && isa <= (int)hu_cpu_isa_native(); isa++)
        failures += hash_of((hu_isa)isa) != first;
    printf("%016llx\n", (unsigned long long)first);
    if (failures) fprintf(stderr, "%d results differ\n", failures);
    return failures != 0;
}
