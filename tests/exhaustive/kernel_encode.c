/* Proof that rounding, counting and packing in one pass give the numbers, codes and counts of
 * rounder and packer.
 *   kernel_encode [--short] [FORMAT]                 FORMAT in any spelling
 * All formats of 8 and of 16 bits that have a kernel, in every kind of specials and overflow. Long:
 * all 2^32 inputs on every instruction set of this machine, twice: in ascending order, where a
 * vector's numbers are alike, and mixed. Short: a share of the blocks that changes with the format,
 * and the boundary inputs (boundary.h). Prints one line per format and "N passed, M failed"; exit
 * code 1 if M > 0. */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "boundary.h"
#include "kernel/encode/encode.h"

enum { BLOCK = 1 << 16, BLOCKS = 1 << 16, SHARE = 9001, NAME_BYTES = 80 };
static const uint32_t mixer = 2654435761u; /* odd: a permutation of all inputs */

/* One format on all instruction sets; the scalar one is the definition's. */
typedef struct task {
    char name[NAME_BYTES];
    hu_rounder rounder[HU_ISA_COUNT];
    hu_packer packer[HU_ISA_COUNT];
    int isa;
} task;

/* The arrays of a thread; n: elements in use. */
typedef struct room {
    size_t n;
    float x[BLOCK], y[BLOCK], wanted[BLOCK];
    uint16_t codes[BLOCK], wanted_codes[BLOCK]; /* or bytes */
    hu_round_counts counts, wanted_counts;
} room;

static int differs(const task *t, const room *r, const float *y, int is_counted, const char *what,
                   uint32_t block) {
    if ((!y || memcmp(y, r->wanted, r->n * sizeof *y) == 0) &&
        memcmp(r->codes, r->wanted_codes, hu_packer_bytes(&t->packer[0], r->n)) == 0 &&
        (!is_counted || memcmp(&r->counts, &r->wanted_counts, sizeof r->counts) == 0))
        return 0;
    printf("%s on %s: %s, block %x differs\n", t->name, hu_isa_name((hu_isa)t->isa), what, block);
    return 1;
}

/* One way of asking for the block; y: r->y, r->x or NULL. */
static int check_way(const task *t, room *r, float *y, int is_counted, const char *what,
                     uint32_t block) {
    hu_round_counts_clear(&r->counts);
    memset(r->codes, 0x5a, sizeof r->codes);
    hu_encode(&t->rounder[t->isa], &t->packer[t->isa], r->n, r->x, y, r->codes, NULL, 0,
              is_counted ? &r->counts : NULL);
    return differs(t, r, y, is_counted, what, block);
}

/* The inputs x of the room; block: what a failure is called. */
static int check_inputs(const task *t, room *r, uint32_t block) {
    int failures = 0;
    hu_round_counts_clear(&r->wanted_counts);
    hu_encode_plain(&t->rounder[0], &t->packer[0], r->n, r->x, r->wanted, r->wanted_codes, NULL, 0,
                    &r->wanted_counts);
    failures += check_way(t, r, r->y, 1, "to another array", block);
    failures += check_way(t, r, r->y, 0, "uncounted", block);
    failures += check_way(t, r, NULL, 1, "codes alone", block);
    failures += check_way(t, r, r->x, 1, "in place", block);
    /* Now the numbers are on the grid, and x holds them. */
    hu_round_counts_clear(&r->counts);
    hu_round_counts_clear(&r->wanted_counts);
    hu_count_on_grid(&t->rounder[0], r->n, r->wanted, &r->wanted_counts);
    hu_encode_on_grid(&t->rounder[t->isa], &t->packer[t->isa], r->n, r->x, r->codes, &r->counts);
    return failures + differs(t, r, NULL, 1, "on the grid", block);
}

static int check_block(const task *t, room *r, int is_mixed, uint32_t block) {
    r->n = BLOCK;
    for (uint32_t i = 0; i < BLOCK; i++) {
        uint32_t bits = block << 16 | i;
        r->x[i] = hu_f32_of_bits(is_mixed ? bits * mixer : bits);
    }
    return check_inputs(t, r, block);
}

/* Inputs gathered to blocks. */
typedef struct gathered {
    const task *task;
    room room;
    int failures;
} gathered;

static void check_gathered(void *context) {
    gathered *g = context;
    g->failures += check_inputs(g->task, &g->room, UINT32_MAX);
}

static int check_boundary(const task *t) {
    enum { CODES = 256 };
    static gathered g;
    g.task = t;
    g.failures = 0;
    boundary_inputs_in_blocks(&t->packer[0].format, CODES, BLOCK,
                              (boundary_blocks){g.room.x, &g.room.n, BLOCK, check_gathered, &g});
    return g.failures;
}

/* 0 if the format passes on all instruction sets. The way is chosen by the one that rules. */
static int check_format(task *t, uint32_t step, uint32_t start) {
    int failures = 0;
    for (t->isa = 0; t->isa <= (int)hu_cpu_isa_native(); t->isa++) {
        hu_cpu_set_isa((hu_isa)t->isa);
        failures += check_boundary(t);
#pragma omp parallel reduction(+ : failures)
        {
            static _Thread_local room r;
#pragma omp for collapse(2)
            for (int mixed = 0; mixed < 2; mixed++)
                for (uint32_t b = start; b < BLOCKS; b += step)
                    failures += check_block(t, &r, mixed, b);
        }
    }
    return failures > 0;
}

/* True if there is such a format and the kernels serve it. */
static int prepare(task *t, const hu_format *format) {
    if (hu_format_check(format) != HU_OK) return 0;
    hu_format_print(format, t->name, sizeof t->name);
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        if (hu_rounder_init(&t->rounder[isa], format, HU_ROUND_NEAREST_EVEN) != HU_OK) return 0;
        int bits = (int)hu_format_bits(format);
        if (hu_packer_init(&t->packer[isa], format, bits) != HU_OK) return 0;
    }
    return hu_encode_serves(&t->rounder[0], &t->packer[0]);
}

enum { CHOICES_8 = 7 * 24, CHOICES_16 = 8 * 24 };

/* Of 8 bits, then of 16. The customary bias, and that of FP(4,3,4)'s kind. */
static hu_format format_of(uint32_t choice) {
    uint32_t is_wide = choice >= CHOICES_8;
    uint8_t e = (uint8_t)(1 + (is_wide ? choice - CHOICES_8 : choice) / 24);
    int32_t usual = (1 << (e - 1)) - 1;
    return (hu_format){.exp_bits = e,
                       .man_bits = (uint8_t)((is_wide ? 15 : 7) - e),
                       .bias = usual + (choice & 1 ? 4 : 0),
                       .specials = (uint8_t)(choice / 2 % 4),
                       .overflow = (uint8_t)(choice / 8 % 3),
                       .subnormals = 1};
}

int main(int argc, char **argv) {
    enum { CHOICES = CHOICES_8 + CHOICES_16 };
    static task t;
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0, passed = 0, failed = 0;
    hu_format only, format;
    int has_only = argc > 1 + is_short;
    if (has_only && hu_format_parse(argv[1 + is_short], &only) != HU_OK) {
        fprintf(stderr, "%s\n", hu_last_error());
        return 2;
    }
    for (uint32_t i = 0; i < (has_only ? 1 : CHOICES); i++) {
        format = has_only ? only : format_of(i);
        if (!prepare(&t, &format)) continue;
        int is_bad = check_format(&t, is_short ? SHARE : 1, is_short ? i * 24 % SHARE : 0);
        printf("%s: %s\n", t.name, is_bad ? "FAILED" : "passed");
        fflush(stdout);
        failed += is_bad;
        passed += !is_bad;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
