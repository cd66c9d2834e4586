/* Proof of rounding by table.
 *   kernel_table [--short] [NAME]
 * posit8, takum8 and hif8 to nearest: all 2^32 inputs, on every instruction set of this machine,
 * against tests/reference/table.h, which rounds strings of bits, numbers and codes (short: every
 * 4,096th block of 65,536 and the boundaries). Every format of a list in every mode, with and
 * without a scale: its boundaries and their neighbours, its numbers and theirs, and random inputs,
 * against the reference of hu_format_round, counters too; packed, against hu_format_encode, and
 * unpacked again; rounded, counted and packed in one pass. Prints "N passed, M failed"; exit
 * code 1 if M > 0. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/memory.h"
#include "base/rng.h"
#include "format/table/table.h"
#include "kernel/encode/encode.h"
#include "kernel/pack/pack.h"
#include "kernel/round/round.h"
#include "reference/table.h"

enum { BLOCK = 1 << 16, BLOCKS = 1 << 16, SHARE = 4096 };

static uint64_t passed, failed;

static void note(const char *name, const char *isa, const char *what, float x, float found,
                 float expected) {
    enum { SHOWN = 20 };
    if (failed++ < SHOWN)
        printf("%s on %s, %s: x = %a (0x%08x): found %a, expected %a\n", name, isa, what, (double)x,
               hu_f32_bits(x), (double)found, (double)expected);
}

static hu_format parsed(const char *name) {
    hu_format format;
    if (hu_format_parse(name, &format) != HU_OK) {
        printf("%s: %s\n", name, hu_last_error());
        exit(1);
    }
    return format;
}

static bool is_same(float a, float b) {
    return hu_f32_bits(a) == hu_f32_bits(b) || (isnan(a) && isnan(b));
}

/* ---- kernels ---- */

/* The instruction sets, and AVX-512 that looks up bytes. */
enum { VBMI = HU_ISA_COUNT, WAYS };
static const char *const way_names[WAYS] = {"scalar", "avx2", "avx512", "avx512 with VBMI"};

/* false: this machine has no such kernels. */
static bool use_way(int way) {
    hu_cpu_set_isa(way == VBMI ? HU_ISA_AVX512 : (hu_isa)way);
    hu_cpu_use_vbmi(way == VBMI);
    return way == VBMI ? hu_cpu_has_vbmi() : hu_cpu_isa() == (hu_isa)way;
}

/* ---- all inputs ---- */

static uint32_t posit8(float x) {
    return reference_posit(8, 2, x);
}

static uint32_t takum8(float x) {
    return reference_takum(8, x);
}

static double posit8_value(uint32_t code) {
    return reference_posit_value(8, 2, code);
}

static double takum8_value(uint32_t code) {
    return reference_takum_value(8, 0, code);
}

typedef struct subject {
    const char *name;
    uint32_t (*code)(float x);
    double (*value)(uint32_t code);
} subject;

static const subject subjects[] = {{"posit8", posit8, posit8_value},
                                   {"takum8", takum8, takum8_value},
                                   {"hif8", reference_hif8, reference_hif8_value}};

/* Rounder and packer of each way; run NULL: there is none. best: the way in use. */
typedef struct kernels {
    int best;
    hu_rounder rounder[WAYS];
    hu_packer packer[WAYS];
} kernels;

/* A block's inputs and what the reference says. */
typedef struct sample {
    float x[BLOCK], y[BLOCK], wanted[BLOCK];
    uint8_t codes[BLOCK], wanted_codes[BLOCK];
} sample;

static uint64_t compare_block(const subject *s, const char *way, const sample *b) {
    uint64_t bad = 0;
    for (uint32_t i = 0; i < BLOCK; i++) {
        if (is_same(b->y[i], b->wanted[i]) && b->codes[i] == b->wanted_codes[i]) continue;
#pragma omp critical
        note(s->name, way, "rne", b->x[i], b->y[i], b->wanted[i]);
        bad++;
    }
    return bad;
}

/* Inputs first, first + stride, ... by all kernels: rounded and packed, and in one pass by those
 * that the machine would take. */
static void check_block(const subject *s, const float *values, const kernels *k, uint32_t first,
                        uint32_t stride) {
    static _Thread_local sample b;
    uint64_t bad = 0, passes = 1;
    for (uint32_t i = 0; i < BLOCK; i++) {
        b.x[i] = hu_f32_of_bits(first + i * stride);
        b.wanted_codes[i] = (uint8_t)s->code(b.x[i]);
        b.wanted[i] = values[b.wanted_codes[i]];
    }
    for (int way = 0; way < WAYS; way++) {
        if (!k->rounder[way].run) continue;
        hu_rounder_run(&k->rounder[way], BLOCK, b.x, b.y, NULL, 0, NULL);
        hu_packer_pack(&k->packer[way], BLOCK, b.y, b.codes, NULL);
        bad += compare_block(s, way_names[way], &b);
        passes++;
    }
    hu_encode(&k->rounder[k->best], &k->packer[k->best], BLOCK, b.x, b.y, b.codes, NULL, 0, NULL);
    bad += compare_block(s, "one pass", &b);
#pragma omp atomic
    passed += BLOCK * passes - bad;
}

static void check_all(const subject *s, uint32_t step) {
    static kernels k;
    hu_format format = parsed(s->name);
    float values[256];
    for (uint32_t code = 0; code < 256; code++) values[code] = (float)s->value(code);
    for (int way = 0; way < WAYS; way++) {
        k.rounder[way].run = NULL;
        if (!use_way(way)) continue;
        k.best = way;
        if (hu_rounder_init(&k.rounder[way], &format, HU_ROUND_NEAREST_EVEN) ||
            hu_packer_init(&k.packer[way], &format, 8))
            exit(1);
    }
    use_way(k.best);
#pragma omp parallel for schedule(dynamic, 16)
    for (uint32_t block = 0; block < BLOCKS; block += step)
        check_block(s, values, &k, block << 16, 1);
    /* Ties of 8 bits end in zeros: all beginnings, with what lies beside. */
    const uint32_t ends[] = {0, 1, 0xffff};
    for (int i = 0; i < 3; i++) check_block(s, values, &k, ends[i], BLOCK);
    printf("%s: all of every %u. block, %llu failed\n", s->name, (unsigned)step,
           (unsigned long long)failed);
}

/* ---- boundaries ---- */

/* Inputs of a format. */
typedef struct inputs {
    float *x;
    size_t n, room;
} inputs;

static void add(inputs *in, float x) {
    if (in->n < in->room) in->x[in->n++] = x;
}

/* x and three neighbours on both sides. */
static void add_near(inputs *in, double x) {
    float at = (float)x, low = at, high = at;
    add(in, at);
    for (int i = 0; i < 3; i++) {
        add(in, low = nextafterf(low, -INFINITY));
        add(in, high = nextafterf(high, INFINITY));
    }
}

/* Every stride-th number and boundary; random numbers of all exponents and of the table's. */
static void gather(const hu_format *format, uint32_t stride, size_t random, inputs *in) {
    const hu_code_table *t = hu_code_table_of(format);
    const hu_random_key key = {39, format->table, 0};
    const float special[] = {0.0f, -0.0f,  INFINITY, -INFINITY,       NAN,
                             -NAN, 1e-45f, -1e-45f,  0x1.fffffep127f, -0x1.fffffep127f};
    in->n = 0;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) add(in, special[i]);
    for (uint32_t i = 0; i <= t->count; i += i + stride < 64 || i + 64 > t->count ? 1 : stride) {
        if (i < t->count) add_near(in, ldexp(t->number[i], -format->bias));
        add_near(in, ldexp(t->boundary[i].at, -format->bias));
    }
    for (int i = 0; i < 2; i++) add_near(in, ldexp(t->next[i], -format->bias));
    for (size_t i = 0; i < random; i++) {
        uint32_t word = hu_random_word(&key, 2 * i), other = hu_random_word(&key, 2 * i + 1);
        float number = t->number[other % t->count];
        add(in, hu_f32_of_bits(word));
        add(in,
            ldexpf((number != 0 ? number : 1) * (0.5f + (float)word * 0x1p-32f), -format->bias));
    }
}

static uint64_t count_zero(const inputs *in, const float *y) {
    uint64_t zero = 0;
    for (size_t i = 0; i < in->n; i++) zero += y[i] == 0;
    return zero;
}

static void check_counts(const char *name, const hu_format *format, const inputs *in,
                         const float *wanted, const hu_round_counts *c) {
    bool loses = hu_code_table_of(format)->infinity_is_nan;
    uint64_t nan = 0, under = 0;
    for (size_t i = 0; i < in->n; i++) {
        nan += isnan(in->x[i]) || (loses && isinf(in->x[i]));
        under += wanted[i] == 0 && in->x[i] != 0;
    }
    bool is_right = c->elements == in->n && c->zero == count_zero(in, wanted) && c->nan == nan &&
                    c->underflow == under && c->subnormal == 0;
    if (is_right)
        passed++;
    else
        note(name, "all", "counters", 0, (float)c->underflow, (float)under);
}

/* Codes of 8 or 16 bits, or as they come in 32. */
static uint32_t code_at(const void *codes, int bits, size_t i) {
    return bits == 8 ? ((const uint8_t *)codes)[i] : ((const uint16_t *)codes)[i];
}

static void check_packing(const char *name, const hu_format *format, const inputs *in,
                          const float *y, const char *way) {
    uint32_t *codes, wanted;
    float *back;
    hu_packer packer;
    if (HU_NEW_ARRAY(&codes, in->n) || HU_NEW_ARRAY(&back, in->n)) exit(1);
    for (int bits = 0; bits <= 16; bits += 8) {
        if (bits && bits < (int)hu_format_bits(format)) continue;
        if (hu_packer_init(&packer, format, bits)) exit(1);
        hu_packer_pack(&packer, in->n, y, codes, NULL);
        hu_packer_unpack(&packer, in->n, codes, back);
        for (size_t i = 0; i < in->n; i++) {
            bool has_code =
                isfinite(y[i]) || (isinf(y[i]) ? !packer.is_infinity_lost : !packer.is_nan_lost);
            bool is_right = !has_code || is_same(back[i], y[i]);
            if (bits && has_code && hu_format_encode(format, y[i], &wanted) == HU_OK)
                is_right = is_right && code_at(codes, bits, i) == wanted;
            if (is_right)
                passed++;
            else
                note(name, way, "packed", in->x[i], back[i], y[i]);
        }
    }
    hu_free(codes);
    hu_free(back);
}

/* Numbers, codes and counts in one pass, of arrays of which the last groups are not whole. y and
 * codes: what rounder and packer make of x. */
typedef struct passes {
    const char *name, *way;
    const hu_rounder *rounder;
    const hu_packer *packer;
    const hu_random_key *key;
    size_t n;
    float *x, *y;
    uint8_t *codes;
} passes;

static void compare_pass(const passes *p, const char *what, const float *y, const uint8_t *codes,
                         const hu_round_counts *found, const hu_round_counts *expected) {
    size_t bad = 0;
    while (bad < p->n && (!y || memcmp(&y[bad], &p->y[bad], sizeof *y) == 0) &&
           codes[bad] == p->codes[bad])
        bad++;
    if (bad < p->n)
        note(p->name, p->way, what, p->x[bad], codes[bad], p->codes[bad]);
    else if (memcmp(found, expected, sizeof *found) != 0)
        note(p->name, p->way, "counts in one pass", 0, (float)found->underflow,
             (float)expected->underflow);
    else
        passed += p->n;
}

static void check_one_pass(const passes *p) {
    float *z;
    uint8_t *codes;
    hu_round_counts found, expected;
    if (HU_NEW_ARRAY(&z, p->n) || HU_NEW_ARRAY(&codes, p->n)) exit(1);
    hu_round_counts_clear(&expected);
    hu_encode_plain(p->rounder, p->packer, p->n, p->x, p->y, p->codes, p->key, 0, &expected);
    hu_round_counts_clear(&found);
    hu_encode(p->rounder, p->packer, p->n, p->x, NULL, codes, p->key, 0, &found);
    compare_pass(p, "one pass", NULL, codes, &found, &expected);
    hu_round_counts_clear(&found);
    hu_encode(p->rounder, p->packer, p->n, p->x, z, codes, p->key, 0, &found);
    compare_pass(p, "one pass, with numbers", z, codes, &found, &expected);
    memcpy(z, p->x, p->n * sizeof *z);
    hu_encode(p->rounder, p->packer, p->n, z, z, codes, p->key, 0, NULL);
    compare_pass(p, "one pass in place", z, codes, &found, &expected);
    hu_round_counts_clear(&expected);
    hu_count_on_grid(p->rounder, p->n, p->y, &expected);
    hu_round_counts_clear(&found);
    hu_encode_on_grid(p->rounder, p->packer, p->n, p->y, codes, &found);
    compare_pass(p, "on the grid", NULL, codes, &found, &expected);
    hu_free(z);
    hu_free(codes);
}

static void check_passes(const char *name, const char *way, const hu_rounder *rounder,
                         const inputs *in) {
    const hu_random_key key = {7, 1, 2};
    hu_packer packer;
    passes p = {name, way, rounder, &packer, &key, in->n, in->x, NULL, NULL};
    if (hu_format_bits(&rounder->format) > 8) return;
    if (hu_packer_init(&packer, &rounder->format, 8)) exit(1);
    if (HU_NEW_ARRAY(&p.y, in->n) || HU_NEW_ARRAY(&p.codes, in->n)) exit(1);
    for (size_t n = in->n, cut = 0; cut < 3 && n > 1000; n -= 37, cut++) {
        p.n = n;
        check_one_pass(&p);
    }
    hu_free(p.y);
    hu_free(p.codes);
}

static void check_mode(const char *name, const hu_format *format, hu_rounding mode,
                       const inputs *in, float *wanted, float *y) {
    const hu_random_key key = {7, 1, 2};
    for (size_t i = 0; i < in->n; i++)
        wanted[i] = hu_format_round(format, mode, in->x[i], hu_random_word(&key, i));
    for (int way = 0; way < WAYS; way++) {
        hu_rounder rounder;
        hu_round_counts counts;
        if (!use_way(way)) continue;
        hu_round_counts_clear(&counts);
        if (hu_rounder_init(&rounder, format, mode)) exit(1);
        hu_rounder_run(&rounder, in->n, in->x, y, &key, 0, &counts);
        for (size_t i = 0; i < in->n; i++)
            if (is_same(y[i], wanted[i]))
                passed++;
            else
                note(name, way_names[way], hu_rounding_name(mode), in->x[i], y[i], wanted[i]);
        check_counts(name, format, in, wanted, &counts);
        if (mode == HU_ROUND_NEAREST_EVEN) check_packing(name, format, in, y, way_names[way]);
        check_passes(name, way_names[way], &rounder, in);
    }
}

static void check_format(const char *name, bool is_short) {
    hu_format format = parsed(name);
    inputs in = {.room = 1 << 21};
    uint32_t stride = is_short && hu_format_bits(&format) > 10 ? 37 : 1;
    float *wanted, *y;
    if (HU_NEW_ARRAY(&in.x, in.room) || HU_NEW_ARRAY(&wanted, in.room) || HU_NEW_ARRAY(&y, in.room))
        exit(1);
    gather(&format, stride, is_short ? 2000 : 200000, &in);
    for (int mode = 0; mode < HU_ROUND_COUNT; mode++)
        check_mode(name, &format, (hu_rounding)mode, &in, wanted, y);
    hu_free(in.x);
    hu_free(wanted);
    hu_free(y);
}

static const char *const names[] = {"posit8",        "takum8",
                                    "hif8",          "takumlog8",
                                    "lns8",          "nf4",
                                    "ternary",       "posit6",
                                    "posit3",        "posit10:es=1",
                                    "posit12:es=3",  "posit16",
                                    "takum16",       "takumlog16",
                                    "takum11",       "lns16",
                                    "lns6:f=4",      "lns8:base=1.25",
                                    "hif8:ovf=sat",  "hif8:ovf=nan:bias=40",
                                    "nf4:bias=-90",  "nf4:ovf=inf",
                                    "posit8:bias=7", "posit8:ovf=inf",
                                    "book:-1..1:15", "book:0..1:16",
                                    "book:1..2:5",   "book:-1..1:2",
                                    "book:-3..-1:4", "book:0..65535:65536",
                                    "lns8:bias=99",  "posit5:bias=80",
                                    "takum3",        "book:-1e-40..1e-40:9"};

int main(int argc, char **argv) {
    bool is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    const char *only = argc > 1 + is_short ? argv[1 + is_short] : NULL;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (!only || strcmp(only, subjects[i].name) == 0)
            check_all(&subjects[i], is_short ? SHARE : 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!only || strcmp(only, names[i]) == 0) check_format(names[i], is_short);
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    return failed != 0;
}
