/* Codes of tables: each comes back from its number, in every table that has a name and in tables of
 * files of 2 to 65,536 codes, in arrays of any length, on every instruction set; and rounding,
 * counting and packing in one pass are rounder and packer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/memory.h"
#include "base/rng.h"
#include "format/table/steps.h"
#include "format/value.h"
#include "kernel/encode/encode.h"

enum { MOST = HU_CODES_MOST + 1000, GUARD = 0xa5 };
static const hu_random_key key = {39, 8, 50};

/* The instruction sets, and AVX-512 that looks up bytes. */
enum { VBMI = HU_ISA_COUNT, WAYS };

/* false: this machine has no such kernels. */
static bool use_way(int way) {
    hu_cpu_set_isa(way == VBMI ? HU_ISA_AVX512 : (hu_isa)way);
    hu_cpu_use_vbmi(way == VBMI);
    return way == VBMI ? hu_cpu_has_vbmi() : hu_cpu_isa() == (hu_isa)way;
}

static hu_format parsed(const char *name) {
    hu_format format;
    if (hu_format_parse(name, &format) != HU_OK) fail_msg("%s: %s", name, hu_last_error());
    return format;
}

/* ---- tables of files ---- */

static char folder[] = "/tmp/halfulp-kernel-tables-XXXXXX";

/* Number i of a table of n, as a kind of table has them. */
typedef float number_fn(uint32_t i, uint32_t n);

static float spaced(uint32_t i, uint32_t n) {
    return (float)i - (float)(n / 2);
}

/* Neighbours that differ in the last bits of the fraction alone: no bytes tell them apart. */
static float close_together(uint32_t i, uint32_t n) {
    (void)n;
    return i == 0 ? 0.0f : 1.0f + (float)i * 0x1p-20f;
}

/* Exponents from 2^-60 on, 8 numbers each. */
static float spread_out(uint32_t i, uint32_t n) {
    (void)n;
    return i == 0 ? 0.0f : ldexpf(1.0f + (float)(i % 8) / 8, (int)(i / 8) - 60);
}

/* The same with fractions of all lengths. */
static float spread_deep(uint32_t i, uint32_t n) {
    return spread_out(i, n) + ldexpf((float)i, (int)(i / 8) - 76);
}

/* No 0, and more of one sign. */
static float uneven(uint32_t i, uint32_t n) {
    return i < n / 4 + 1 ? -1.5f - (float)i : 0.25f * (float)(i + 1);
}

static hu_format file_of(const char *kind, number_fn *number, uint32_t n) {
    char path[100], name[120];
    snprintf(path, sizeof path, "%s/%s-%u", folder, kind, (unsigned)n);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (uint32_t i = 0; i < n; i++) fprintf(file, "%a\n", (double)number(i, n));
    assert_int_equal(fclose(file), 0);
    snprintf(name, sizeof name, "table:%s", path);
    hu_format format = parsed(name);
    unlink(path);
    return format;
}

/* Calls check with each table of a file. */
static void for_files(void (*check)(const hu_format *format)) {
    static const struct {
        const char *kind;
        number_fn *number;
    } kinds[] = {{"spaced", spaced},
                 {"close", close_together},
                 {"spread", spread_out},
                 {"deep", spread_deep},
                 {"uneven", uneven}};
    static const uint32_t counts[] = {2, 3, 15, 16, 17, 128, 129, 255, 256, 257, 1000, 65536};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            bool has_room = (kinds[k].number != spread_out && kinds[k].number != spread_deep) ||
                            counts[i] <= 1000;
            if (!has_room) continue;
            hu_format format = file_of(kinds[k].kind, kinds[k].number, counts[i]);
            check(&format);
        }
}

/* Calls check with each table that has a name, and with some that options make. */
static void for_names(void (*check)(const hu_format *format)) {
    static const char *const names[] = {"posit8:ovf=inf",
                                        "posit8:bias=7",
                                        "posit5:bias=80",
                                        "takum11",
                                        "takum7",
                                        "hif8:ovf=nan:bias=40",
                                        "hif8:ovf=sat",
                                        "lns8:base=1.25",
                                        "lns8:bias=99",
                                        "nf4:bias=-90",
                                        "nf4:ovf=inf",
                                        "book:-1..1:255",
                                        "book:0..1:256",
                                        "book:1..2:5",
                                        "book:-3..-1:4",
                                        "book:-1e-40..1e-40:9",
                                        "binary8p3ue",
                                        "binary8p3uf",
                                        "binary8p1ue",
                                        "binary8p4se",
                                        "binary8p3ue:bias=9",
                                        "binary6p3se",
                                        "binary8p5uf:sat=none"};
    for (uint32_t i = 0; i < hu_code_table_named_count(); i++) {
        hu_format format;
        hu_code_table_named(i, &format, NULL);
        if (hu_format_is_table(&format)) check(&format);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hu_format format = parsed(names[i]);
        check(&format);
    }
}

/* ---- codes ---- */

static float y[MOST], wanted[MOST];
static uint8_t codes[4 * MOST + 64], again[4 * MOST + 64];

/* Code i of an array. */
static uint32_t code_at(const uint8_t *from, int bits, uint32_t width, size_t i) {
    uint32_t code = 0;
    if (bits == 8) return from[i];
    if (bits == 16) return from[2 * i] | (uint32_t)from[2 * i + 1] << 8;
    for (uint32_t b = 0; b < width; b++) {
        size_t at = i * width + b;
        code |= (uint32_t)(from[at / 8] >> at % 8 & 1) << b;
    }
    return code;
}

/* n codes, all of the table in turn, are read as the reference reads them, and come back. */
static void check_length(const hu_format *format, const hu_packer *packer, int bits, size_t n) {
    uint32_t count = hu_code_table_of(format)->codes, code;
    size_t bytes = hu_packer_bytes(packer, n);
    for (size_t i = 0; i < n; i++) hu_format_decode(format, (uint32_t)(i % count), &wanted[i]);
    memset(codes, 0, bytes);
    memset(again, GUARD, bytes + 64);
    for (size_t i = 0; i < n; i++)
        for (uint32_t b = 0; b < packer->width; b++) {
            size_t at = i * packer->width + b;
            codes[at / 8] |= (uint8_t)((i % count >> b & 1) << at % 8);
        }
    hu_packer_unpack(packer, n, codes, y);
    hu_packer_pack(packer, n, y, again, NULL);
    for (size_t i = 0; i < n; i++) {
        bool is_read =
            hu_f32_bits(y[i]) == hu_f32_bits(wanted[i]) || (isnan(y[i]) && isnan(wanted[i]));
        if (!is_read)
            fail_msg("%s, %d bits, %zu of %zu: %a for %a", hu_code_table_of(format)->name, bits, i,
                     n, (double)y[i], (double)wanted[i]);
        if (hu_format_encode(format, y[i], &code) != HU_OK) continue; /* no number of float32 */
        if (code_at(again, bits, packer->width, i) != code)
            fail_msg("%s, %d bits, %zu of %zu: code %u of %a for %u",
                     hu_code_table_of(format)->name, bits, i, n,
                     code_at(again, bits, packer->width, i), (double)y[i], code);
    }
    for (size_t i = 0; i < 64; i++) assert_int_equal(again[bytes + i], GUARD);
}

static void check_codes(const hu_format *format) {
    static const size_t lengths[] = {0, 1, 7, 63, 64, 65, 255, 257, 320, 1023, 1025, 1088, 4163};
    uint32_t count = hu_code_table_of(format)->codes;
    for (int way = 0; way < WAYS; way++)
        for (int bits = 0; bits <= 16 && use_way(way); bits += 8) {
            hu_packer packer;
            if (bits && bits < (int)hu_format_bits(format)) continue;
            assert_int_equal(hu_packer_init(&packer, format, bits), HU_OK);
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
                check_length(format, &packer, bits, lengths[l]);
            if (count > 4163) check_length(format, &packer, bits, count + 77);
        }
}

static void codes_of_names_come_back(void **state) {
    (void)state;
    for_names(check_codes);
}

static void codes_of_files_come_back(void **state) {
    (void)state;
    for_files(check_codes);
}

/* ---- one pass ---- */

enum { INPUTS = 5000 };
static float x[INPUTS], z[INPUTS];

/* Numbers of the table and near them, of all exponents, zeros, and some that are not finite. In
 * runs of a thousand only of one kind, so that groups are alike. */
static void fill(const hu_format *format) {
    const hu_code_table *t = hu_code_table_of(format);
    for (uint32_t i = 0; i < INPUTS; i++) {
        uint32_t word = hu_random_word(&key, 2 * i + 1), kind = i / 1000 == 0   ? 0
                                                                : i / 1000 == 1 ? 1
                                                                                : word % 7;
        float number = ldexpf(t->number[word / 7 % t->count], -format->bias);
        x[i] = number;
        if (kind == 1) x[i] = number * (0.5f + (float)(word >> 8) * 0x1p-24f);
        if (kind == 2) x[i] = hu_f32_of_bits(hu_random_word(&key, 2 * i));
        if (kind == 3) x[i] = hu_f32_of_bits(hu_f32_bits(number) ^ (word >> 31));
        if (kind == 4) x[i] = word & 64 ? 0.0f : -0.0f;
        if (kind == 5 && i > 4000) x[i] = word & 64 ? INFINITY : word & 128 ? -INFINITY : NAN;
        if (kind == 6) x[i] = hu_f32_of_bits(word & 0x807fffffu);
    }
}

static void assert_same_pass(const hu_packer *packer, size_t n, const float *numbers,
                             const hu_round_counts *found, const hu_round_counts *expected) {
    if (numbers) assert_memory_equal(numbers, wanted, n * sizeof *numbers);
    assert_memory_equal(again, codes, hu_packer_bytes(packer, n));
    assert_memory_equal(found, expected, sizeof *found);
}

static void check_pass(const hu_rounder *rounder, const hu_packer *packer, size_t first, size_t n) {
    hu_round_counts found, expected;
    hu_round_counts_clear(&expected);
    hu_rounder_run(rounder, n, x + first, wanted, &key, first, &expected);
    hu_packer_pack(packer, n, wanted, codes, NULL);
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        hu_round_counts_clear(&found);
        hu_encode(rounder, packer, n, x + first, is_kept ? y : NULL, again, &key, first, &found);
        assert_same_pass(packer, n, is_kept ? y : NULL, &found, &expected);
    }
    memcpy(z, x + first, n * sizeof *z);
    hu_encode(rounder, packer, n, z, z, again, &key, first, NULL);
    assert_same_pass(packer, n, z, &found, &expected);
    hu_rounder_run(rounder, n, x + first, z, &key, first, NULL);
    assert_memory_equal(z, wanted, n * sizeof *z);
    hu_round_counts_clear(&found);
    hu_round_counts_clear(&expected);
    hu_count_on_grid(rounder, n, wanted, &expected);
    hu_encode_on_grid(rounder, packer, n, wanted, again, &found);
    assert_same_pass(packer, n, NULL, &found, &expected);
}

/* The counts of the scalar kernels, and their numbers, are those of every way. */
static void check_ways(const hu_format *format, hu_rounding mode, size_t n) {
    hu_round_counts found, expected;
    hu_rounder rounder;
    for (int way = 0; way < WAYS; way++) {
        if (!use_way(way)) continue;
        assert_int_equal(hu_rounder_init(&rounder, format, mode), HU_OK);
        hu_round_counts_clear(&found);
        hu_rounder_run(&rounder, n, x, y, &key, 0, &found);
        if (way == 0) memcpy(wanted, y, n * sizeof *y);
        if (way == 0) expected = found;
        for (size_t i = 0; i < n; i++)
            if (hu_f32_bits(y[i]) != hu_f32_bits(wanted[i]))
                fail_msg("%s, mode %d, way %d, %zu: %a becomes %a, expected %a",
                         hu_code_table_of(format)->name, (int)mode, way, i, (double)x[i],
                         (double)y[i], (double)wanted[i]);
        if (memcmp(&found, &expected, sizeof found) != 0)
            fail_msg("%s, mode %d, way %d: other counts: overflow %llu for %llu",
                     hu_code_table_of(format)->name, (int)mode, way,
                     (unsigned long long)found.overflow, (unsigned long long)expected.overflow);
    }
}

static void check_passes(const hu_format *format) {
    static const size_t lengths[] = {1, 256, 321, 1000, INPUTS - 1};
    if (hu_format_bits(format) > 8) return;
    fill(format);
    for (int mode = 0; mode < HU_ROUND_COUNT; mode++) {
        check_ways(format, (hu_rounding)mode, INPUTS);
        for (int way = 0; way < WAYS; way++) {
            hu_rounder rounder;
            hu_packer packer;
            if (!use_way(way)) continue;
            assert_int_equal(hu_rounder_init(&rounder, format, (hu_rounding)mode), HU_OK);
            assert_int_equal(hu_packer_init(&packer, format, 8), HU_OK);
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
                check_pass(&rounder, &packer, l % 2, lengths[l]);
        }
    }
}

static void one_pass_of_names(void **state) {
    (void)state;
    for_names(check_passes);
}

static void one_pass_of_files(void **state) {
    (void)state;
    for_files(check_passes);
}

static int open_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

static int close_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_of_names_come_back),
        cmocka_unit_test(codes_of_files_come_back),
        cmocka_unit_test(one_pass_of_names),
        cmocka_unit_test(one_pass_of_files),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
