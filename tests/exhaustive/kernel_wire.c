/* Proof that the vector kernels of the wire give the codes and counts of rounder and packer.
 *   kernel_wire [--short] [FORMAT]
 * Long: all 2^32 float32 inputs become codes, on every instruction set of this machine, for formats
 * of every kind and several scales; and of 16-bit formats 2^30 pairs of codes are added: every code
 * with 2^14 others. Short: a share of both that changes with the format. (All pairs of codes of 8
 * bits: tests/unit/kernel_wire_test.c.)
 * Prints one line per format and "N passed, M failed"; exit code 1 if M > 0. */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "kernel/wire/wire.h"

enum { BLOCK = 1 << 16, BLOCKS = 1 << 16, ADDED = 1 << 14, SHARE = 251 };
static const hu_random_key key = {31, 42, 53};

/* One format on all instruction sets. */
typedef struct task {
    const char *name;
    hu_wire wire[HU_ISA_COUNT];
    const hu_wire *best; /* the last of them: the plain way runs on it */
    int isas;
} task;

/* The arrays of a thread. */
typedef struct room {
    float x[BLOCK];
    uint8_t a[2 * BLOCK], sum[2 * BLOCK], wanted[2 * BLOCK];
    hu_round_counts counts, wanted_counts;
} room;

static int differs(const task *t, int isa, const room *r, const char *what, uint32_t block) {
    size_t bytes = (size_t)BLOCK * t->wire[isa].code_bytes;
    if (memcmp(r->sum, r->wanted, bytes) == 0 &&
        memcmp(&r->counts, &r->wanted_counts, sizeof r->counts) == 0)
        return 0;
    printf("%s on %s: %s, block %x differs\n", t->name, hu_isa_name((hu_isa)isa), what, block);
    return 1;
}

/* The inputs whose upper half is `block`. */
static int check_inputs(const task *t, room *r, int32_t scale, uint32_t block) {
    int failures = 0;
    int32_t k = hu_wire_clamp(&t->wire[0], scale);
    for (uint32_t i = 0; i < BLOCK; i++) r->x[i] = hu_f32_of_bits(block << 16 | i);
    hu_round_counts_clear(&r->wanted_counts);
    hu_wire_quantise_plain(t->best, BLOCK, r->x, k, r->wanted, NULL, 0, &r->wanted_counts);
    for (int isa = 0; isa < t->isas; isa++) {
        hu_round_counts_clear(&r->counts);
        hu_wire_quantise(&t->wire[isa], BLOCK, r->x, scale, r->sum, NULL, 0, &r->counts);
        failures += differs(t, isa, r, "quantise", block);
        /* The loop without counters is another. */
        hu_wire_quantise(&t->wire[isa], BLOCK, r->x, scale, r->sum, NULL, 0, NULL);
        failures += differs(t, isa, r, "quantise uncounted", block);
    }
    return failures;
}

/* All 2^16 codes, each to another one by a rotation of the codes that depends on the round. */
static void set_pairs(room *r, uint32_t round) {
    uint32_t turn = hu_random_word(&key, round);
    for (uint32_t i = 0; i < BLOCK; i++) {
        uint16_t a = (uint16_t)i, b = (uint16_t)(i * (turn | 1) + (turn >> 16));
        memcpy(r->a + 2 * i, &a, 2);
        memcpy(r->sum + 2 * i, &b, 2);
    }
}

static int check_sums(const task *t, room *r, uint32_t round) {
    int failures = 0;
    set_pairs(r, round);
    memcpy(r->wanted, r->sum, sizeof r->sum);
    hu_round_counts_clear(&r->wanted_counts);
    hu_wire_add_plain(t->best, BLOCK, r->a, r->wanted, NULL, 0, &r->wanted_counts);
    for (int isa = 0; isa < t->isas; isa++) {
        set_pairs(r, round);
        hu_round_counts_clear(&r->counts);
        hu_wire_add(&t->wire[isa], BLOCK, r->a, r->sum, NULL, 0, &r->counts);
        failures += differs(t, isa, r, "add", round);
        set_pairs(r, round);
        hu_wire_add(&t->wire[isa], BLOCK, r->a, r->sum, NULL, 0, NULL);
        failures += differs(t, isa, r, "add uncounted", round);
    }
    return failures;
}

/* 0 if the format passes on all instruction sets. */
static int check_format(const char *name, uint32_t step, uint32_t start) {
    static const int32_t scales[] = {0, -9, 14};
    static task t;
    hu_format format;
    int failures = 0;
    t.name = name;
    t.isas = (int)hu_cpu_isa_native() + 1;
    t.best = &t.wire[t.isas - 1];
    if (hu_format_parse(name, &format) != HU_OK) return 1;
    for (int isa = 0; isa < t.isas; isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        if (hu_wire_init(&t.wire[isa], &format, HU_ROUND_NEAREST_EVEN) != HU_OK) return 1;
    }
#pragma omp parallel reduction(+ : failures)
    {
        static _Thread_local room r;
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++)
#pragma omp for
            for (uint32_t b = start; b < BLOCKS; b += step)
                failures += check_inputs(&t, &r, scales[s], b);
        if (t.wire[0].code_bytes == 2)
#pragma omp for
            for (uint32_t round = start; round < ADDED; round += step)
                failures += check_sums(&t, &r, round);
    }
    return failures > 0;
}

int main(int argc, char **argv) {
    static const char *const names[] = {
        "e5m2",       "e4m3",    "e4m3fn",  "e3m0", "e2m1", "e5m2:ovf=sat", "e4m3fn:ovf=sat",
        "e4m3:sub=n", "1/6/9/d", "1/6/9/n", "bf16", "fp16", "fp16:ovf=sat", "e7m8:specials=fin",
        "e8m5:sub=n", "e7m2"};
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0, passed = 0, failed = 0;
    const char *only = argc > 1 + is_short ? argv[1 + is_short] : NULL;
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (only && strcmp(only, names[i]) != 0) continue;
        int is_bad = check_format(names[i], is_short ? SHARE : 1, is_short ? i % SHARE : 0);
        printf("%s: %s\n", names[i], is_bad ? "FAILED" : "passed");
        failed += is_bad;
        passed += !is_bad;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
