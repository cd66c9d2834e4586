/* Proof that formats of IEEE P3109 are rounded as its definitions say (tests/reference/p3109.c), in
 * every mode and saturation, by the reference and by the kernels of every instruction set, and are
 * counted so.
 *
 *   proof_kernel_p3109           all 376 formats that float32 holds: every number, every boundary,
 * the neighbours of both, and 1,000,000 random inputs of each proof_kernel_p3109 --short   those of
 * up to 8 bits and some of the others, 2,000 random inputs
 *
 * Prints the failures and exits with 1 if there is one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "kernel/round/round.h"
#include "reference/p3109.h"

enum { MOST_INPUTS = 1 << 21, SHOWN = 20, MODES = HU_ROUND_COUNT + HU_RANDOM_COUNT };

static const hu_random_key key = {3109, 4, 7};
static float x[MOST_INPUTS], wanted[MOST_INPUTS], got[MOST_INPUTS];
static uint32_t words[MOST_INPUTS];
static size_t count;
static unsigned long long passed, failed;

static void add(float value) {
    if (count < MOST_INPUTS) x[count++] = value;
}

static void add_around(double value) {
    float middle = (float)value;
    if (!isfinite(middle)) return;
    add(middle);
    add(nextafterf(middle, INFINITY));
    add(nextafterf(middle, -INFINITY));
}

/* Numbers, the middle and quarters between neighbours, beyond the ends, and of all magnitudes. */
static void make_inputs(const p3109 *f, size_t random) {
    const uint32_t codes = f->is_signed ? 1u << (f->k - 1) : 1u << f->k;
    const double most = p3109_most(f), step = most - p3109_value(f, codes - 3 - f->is_extended);
    count = 0;
    for (uint32_t c = 0; c + 1 < codes; c++) {
        double low = p3109_value(f, c), high = p3109_value(f, c + 1);
        if (!isfinite(low)) continue;
        if (!isfinite(high)) high = low + step;
        for (int sign = -1; sign <= 1; sign += 2) {
            add_around(sign * low);
            add_around(sign * (low + high) / 2);
            add((float)(sign * (0.75 * low + 0.25 * high)));
            add((float)(sign * (0.25 * low + 0.75 * high)));
        }
    }
    for (int sign = -1; sign <= 1; sign += 2) {
        for (double far = 1; far < 9; far += 0.25) add_around(sign * (most + far * step));
        for (int e = 1; e < 9; e++) add_around(sign * ldexp(most, e));
        add((float)sign * INFINITY);
        add((float)sign * 0.0f);
    }
    for (size_t i = 0; i < random; i++) {
        uint32_t word = hu_random_word(&key, i);
        float any = hu_f32_of_bits(word);
        double u = ldexp((double)hu_random_word(&key, i + ((uint64_t)1 << 40)), -31);
        if (i % 2 && !isnan(any)) add(any);
        if (i % 2 == 0) add((float)((word & 1 ? -u : u) * p3109_value(f, 1 + word % (codes / 2))));
    }
    hu_random_words(&key, 0, count, words);
}

/* Leaves what is not beyond the ends, repeated to fill blocks: those have loops of their own. */
static void leave_calm(const p3109 *f) {
    enum { ENOUGH = 9000 };
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if ((double)x[i] >= p3109_least(f) && (double)x[i] <= p3109_most(f)) x[kept++] = x[i];
    for (count = kept; count < ENOUGH; count++) x[count] = x[count - kept];
    hu_random_words(&key, 0, count, words);
}

static int same(float a, float b) {
    return hu_f32_bits(a) == hu_f32_bits(b) || (isnan(a) && isnan(b));
}

static void report(const char *name, const char *mode, const char *who, size_t i) {
    if (failed++ < SHOWN)
        printf("%s %s %s: %a, word 0x%08x: found %a, expected %a\n", name, mode, who, (double)x[i],
               words[i], (double)got[i], (double)wanted[i]);
}

/* Expected results and counts. */
static hu_round_counts expect(const p3109 *f, hu_rounding mode, p3109_saturation saturation) {
    hu_round_counts c;
    const double normal = p3109_value(f, 1u << (f->p - 1));
    hu_round_counts_clear(&c);
    for (size_t i = 0; i < count; i++) {
        bool is_beyond;
        wanted[i] = p3109_round(f, mode, saturation, x[i], words[i], &is_beyond);
        double magnitude = fabs((double)wanted[i]);
        c.elements++;
        c.overflow += is_beyond;
        c.zero += wanted[i] == 0;
        c.underflow += wanted[i] == 0 && x[i] != 0;
        c.subnormal += magnitude > 0 && magnitude < normal;
        if (x[i] == 0 || isinf(x[i])) continue;
        int exponent = ilogbf(x[i]);
        if (exponent > c.max_exponent) c.max_exponent = exponent;
        if (c.min_exponent == HU_NO_EXPONENT || exponent < c.min_exponent)
            c.min_exponent = exponent;
    }
    return c;
}

static void check_counts(const char *name, const char *mode, const char *isa,
                         const hu_round_counts *found, const hu_round_counts *expected) {
    if (memcmp(found, expected, sizeof *found) == 0) return;
    if (failed++ < SHOWN)
        printf("%s %s %s: overflow %llu underflow %llu subnormal %llu zero %llu nan %llu, expected "
               "%llu %llu %llu %llu %llu\n",
               name, mode, isa, (unsigned long long)found->overflow,
               (unsigned long long)found->underflow, (unsigned long long)found->subnormal,
               (unsigned long long)found->zero, (unsigned long long)found->nan,
               (unsigned long long)expected->overflow, (unsigned long long)expected->underflow,
               (unsigned long long)expected->subnormal, (unsigned long long)expected->zero,
               (unsigned long long)expected->nan);
}

static void check_mode(const p3109 *f, const char *name, hu_rounding mode,
                       p3109_saturation saturation) {
    hu_format format;
    if (hu_format_parse(name, &format) != HU_OK) {
        printf("%s\n", hu_last_error());
        failed++;
        return;
    }
    const char *word = hu_rounding_name(mode);
    hu_round_counts expected = expect(f, mode, saturation);
    for (size_t i = 0; i < count; i++) {
        got[i] = hu_format_round(&format, mode, x[i], words[i]);
        if (!same(got[i], wanted[i])) report(name, word, "reference", i);
    }
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_round_counts counts;
        hu_round_counts_clear(&counts);
        hu_cpu_set_isa((hu_isa)isa);
        hu_round_f32(count, x, got, &format, mode, &key, 0, &counts);
        for (size_t i = 0; i < count; i++)
            if (!same(got[i], wanted[i])) report(name, word, hu_isa_name((hu_isa)isa), i);
        check_counts(name, word, hu_isa_name((hu_isa)isa), &counts, &expected);
        /* In parts of other sizes, in which fewer blocks have something beyond the ends. */
        for (size_t at = 0, n = 64; at < count; at += n, n = (n * 3 + 1) % 300 + 20) {
            if (n > count - at) n = count - at;
            hu_round_f32(n, x + at, got + at, &format, mode, &key, at, NULL);
        }
        for (size_t i = 0; i < count; i++)
            if (!same(got[i], wanted[i])) report(name, word, "in parts", i);
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
    passed += count;
}

/* Modes without stated bits, and each kind of them with another number of bits for each format. */
static hu_rounding mode_at(int index, const p3109 *f, int saturation) {
    uint32_t bits = 1 + (uint32_t)(f->k * 5 + f->p * 3 + saturation * 7) % HU_RANDOM_BITS_MOST;
    if (index < HU_ROUND_COUNT) return (hu_rounding)index;
    return hu_rounding_of_bits(bits, (hu_random_kind)(index - HU_ROUND_COUNT));
}

static void check_inputs(const p3109 *f) {
    static const char *const saturations[] = {"finite", "propagate", "none"};
    for (int s = 0; s < 3; s++)
        for (int m = 0; m < MODES; m++) {
            char name[64];
            p3109_name(f, name);
            snprintf(name + strlen(name), 24, ":sat=%s", saturations[s]);
            check_mode(f, name, mode_at(m, f, s), (p3109_saturation)s);
        }
}

static void check_format(const p3109 *f, size_t random) {
    make_inputs(f, random);
    check_inputs(f);
    leave_calm(f);
    check_inputs(f);
}

int main(int argc, char **argv) {
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0, formats = 0;
    for (int k = 3; k <= 16; k++)
        for (int p = 1; p <= k; p++)
            for (int kind = 0; kind < 4; kind++) {
                p3109 f = {k, p, kind % 2 == 0, kind / 2 == 0};
                if (!p3109_exists(&f) || !p3109_fits(&f)) continue;
                if (is_short && k > 8 && !(k == 11 || (k == 16 && p == 9))) continue;
                if (is_short && k > 8 && (p + kind) % 4 != 1) continue;
                check_format(&f, is_short ? 2000 : 1000000);
                formats++;
            }
    printf("%d formats, %d modes, 3 saturations: %llu roundings passed, %llu failed\n", formats,
           MODES, passed, failed);
    return failed != 0;
}
