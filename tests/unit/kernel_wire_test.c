/* Codes and sums of the wire are the integer reference's: every pair of codes of every format of at
 * most 8 bits, numbers at every boundary, every instruction set of this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../exhaustive/boundary.h"
#include "base/memory.h"
#include "comm/internal.h"
#include "kernel/block/block.h"
#include "kernel/wire/wire.h"

enum { MOST = 1 << 17 };

static const hu_random_key key = {11, 12, 13};
static float x[MOST], y[MOST], z[MOST];
static uint8_t codes[4 * MOST], sums[4 * MOST], expected[4 * MOST], dense[4 * MOST + 8];
static size_t x_count;

/* What the codes of 1 and 2 bytes store: the format's code, or what stands for a number that has
 * none. */
static uint32_t code_of(const hu_format *format, float number) {
    uint32_t code, sign = hu_f32_bits(number) >> 31;
    if (hu_format_encode(format, number, &code) == HU_OK) return code;
    if (isnan(number) && hu_format_encode(format, (float)INFINITY, &code) == HU_OK) return code;
    return isnan(number) ? 0 : hu_format_code_max(format) | sign << (hu_format_bits(format) - 1);
}

static uint32_t code_at(const hu_wire *w, const uint8_t *all, size_t i) {
    uint32_t code = 0;
    memcpy(&code, all + i * w->code_bytes, w->code_bytes);
    return code;
}

/* What is stored of a rounded number. */
static uint32_t stored(const hu_wire *w, float number) {
    float value;
    if (!w->rounds) return hu_f32_bits(number);
    if (w->code_bytes < 4) return code_of(&w->format, number);
    if (w->format.specials == HU_SPECIALS_IEEE) return hu_f32_bits(number);
    hu_format_decode(&w->format, code_of(&w->format, number), &value);
    return hu_f32_bits(value);
}

static void put_code(const hu_wire *w, uint8_t *all, size_t i, uint32_t code) {
    memcpy(all + i * w->code_bytes, &code, w->code_bytes);
}

static const char *what_of(const hu_wire *w, const char *verb) {
    static char text[160];
    char name[64];
    hu_format_print(&w->format, name, sizeof name);
    snprintf(text, sizeof text, "%s %s %s on %s", verb, name, hu_rounding_name(w->rounding),
             hu_isa_name(hu_cpu_isa()));
    return text;
}

static void assert_same_codes(const hu_wire *w, size_t n, const uint8_t *found, const char *verb) {
    if (memcmp(found, expected, n * w->code_bytes) == 0) return;
    for (size_t i = 0; i < n; i++)
        if (code_at(w, found, i) != code_at(w, expected, i))
            fail_msg("%s: element %zu: code %x, expected %x", what_of(w, verb), i,
                     code_at(w, found, i), code_at(w, expected, i));
}

static void assert_same_counts(const hu_wire *w, const hu_round_counts *a, const hu_round_counts *b,
                               const char *verb) {
    if (memcmp(a, b, sizeof *a) == 0) return;
    const hu_round_counts *both[2] = {a, b};
    for (int i = 0; i < 2; i++)
        print_error("%s: overflow %llu underflow %llu subnormal %llu zero %llu nan %llu exponents "
                    "%d..%d of %llu\n",
                    what_of(w, verb), (unsigned long long)both[i]->overflow,
                    (unsigned long long)both[i]->underflow, (unsigned long long)both[i]->subnormal,
                    (unsigned long long)both[i]->zero, (unsigned long long)both[i]->nan,
                    both[i]->min_exponent, both[i]->max_exponent,
                    (unsigned long long)both[i]->elements);
    fail();
}

static void each_isa(void (*check)(const hu_format *, hu_rounding), const hu_format *format,
                     hu_rounding rounding) {
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        check(format, rounding);
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* The counts of rounding numbers[n], which y receives. */
static hu_round_counts counts_of(const hu_format *format, hu_rounding rounding, size_t n,
                                 const float *numbers) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    assert_int_equal(hu_round_f32(n, numbers, y, format, rounding, &key, 5, &counts), HU_OK);
    return counts;
}

static float canonical(float sum) {
    return isnan(sum) ? hu_f32_of_bits(HU_F32_NAN) : sum;
}

static hu_format pairs_of; /* format whose sums of all pairs stand in expected and z */

/* Sums of all pairs of codes: a in the low bits of the index, then the sum so far. */
static size_t make_pairs(const hu_format *format, hu_rounding rounding) {
    uint32_t bits = hu_format_bits(format), all = 1u << bits;
    float value[256];
    for (uint32_t c = 0; c < all; c++) hu_format_decode(format, c, &value[c]);
    for (uint32_t i = 0; i < all * all; i++)
        z[i] = canonical(value[i >> bits] + value[i & (all - 1)]);
    if (!hu_format_equal(format, &pairs_of) || rounding != HU_ROUND_NEAREST_EVEN)
        for (uint32_t i = 0; i < all * all; i++)
            expected[i] = (uint8_t)code_of(
                format, hu_format_round(format, rounding, z[i], hu_random_word(&key, i + 5)));
    pairs_of = rounding == HU_ROUND_NEAREST_EVEN ? *format : (hu_format){0};
    return (size_t)all * all;
}

static void set_pairs(const hu_format *format, size_t n) {
    uint32_t bits = hu_format_bits(format);
    for (uint32_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)(i & ((1u << bits) - 1));
        sums[i] = (uint8_t)(i >> bits);
    }
}

static void check_pairs(const hu_format *format, hu_rounding rounding) {
    hu_wire w;
    hu_round_counts counts;
    size_t n = make_pairs(format, rounding);
    assert_int_equal(hu_wire_init(&w, format, rounding), HU_OK);
    assert_int_equal(w.code_bytes, 1);
    set_pairs(format, n);
    hu_wire_add(&w, n, codes, sums, &key, 5, NULL);
    assert_same_codes(&w, n, sums, "add");
    set_pairs(format, n);
    hu_round_counts_clear(&counts);
    hu_wire_add(&w, n, codes, sums, &key, 5, &counts);
    assert_same_codes(&w, n, sums, "add, counted");
    hu_round_counts wanted = counts_of(format, rounding, n, z);
    assert_same_counts(&w, &counts, &wanted, "add");
}

/* e, m, specials, subnormals and overflow rule: every kind of format of at most 8 bits. */
static void every_pair_of_8_bit_codes_adds_as_the_reference(void **state) {
    (void)state;
    for (uint8_t e = 1; e <= 7; e++)
        for (uint8_t m = 0; m <= 7 - e; m++)
            for (uint8_t kind = 0; kind < 24; kind++) {
                hu_format f = {.exp_bits = e,
                               .man_bits = m,
                               .specials = kind % 4,
                               .subnormals = kind / 4 % 2,
                               .overflow = kind / 8,
                               .bias = e > 1 ? (1 << (e - 1)) - 1 : 1};
                if (hu_format_check(&f) != HU_OK) continue;
                each_isa(check_pairs, &f, HU_ROUND_NEAREST_EVEN);
            }
}

static void pairs_add_in_every_mode(void **state) {
    (void)state;
    static const char *const names[] = {
        "e5m2", "e4m3fn", "e3m0", "e2m1", "e4m3fnuz", "e4m3:sub=nearest", "fp(3,2,0):nan=ovf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int mode = 0; mode < HU_ROUND_COUNT; mode++) {
            hu_format f;
            assert_int_equal(hu_format_parse(names[i], &f), HU_OK);
            each_isa(check_pairs, &f, (hu_rounding)mode);
        }
}

/* Sums of numbers at the ends of float32's range, where a format's bias leads to. */
static void pairs_add_at_every_bias(void **state) {
    (void)state;
    static const char *const names[] = {"e5m2:bias=-97",    "e5m2:bias=148", "e4m3:bias=127",
                                        "e4m3fn:bias=-112", "e4m3:bias=140", "e3m0:bias=150",
                                        "e7m0:bias=130",    "e2m1:bias=149", "e6m1:bias=20"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hu_format f;
        assert_int_equal(hu_format_parse(names[i], &f), HU_OK);
        each_isa(check_pairs, &f, HU_ROUND_NEAREST_EVEN);
    }
}

static void take(void *context, uint32_t bits) {
    (void)context;
    if (x_count < MOST) x[x_count++] = hu_f32_of_bits(bits);
}

static void make_inputs(const hu_format *format) {
    const boundary b = {format, take, NULL};
    x_count = 0;
    boundary_inputs(&b, 300, 1024);
}

/* The number f after code i, of any width. */
static float number_at(const hu_wire *w, const uint8_t *all, size_t i) {
    uint32_t code = code_at(w, all, i);
    float number;
    if (w->code_bytes == 4) return hu_f32_of_bits(code);
    assert_int_equal(hu_format_decode(&w->format, code, &number), HU_OK);
    return number;
}

static void set_expected_codes(const hu_wire *w, const hu_format *scaled, int32_t k) {
    for (size_t i = 0; i < x_count; i++) {
        float rounded = hu_format_round(scaled, w->rounding, x[i], hu_random_word(&key, i + 5));
        if (!w->rounds) rounded = x[i]; /* a signalling NaN stays one */
        /* Exact: both are numbers of their formats. */
        if (!isnan(rounded)) rounded = ldexpf(rounded, -k);
        put_code(w, expected, i, stored(w, rounded));
    }
}

/* Codes, also of what is not finite, come back from the wire bit for bit, but for payloads. */
static void assert_travels(const hu_wire *w, size_t n, const uint8_t *all) {
    hu_wire_pack_bits(w, n, all, dense);
    hu_wire_unpack_bits(w, n, dense, expected);
    for (size_t i = 0; w->code_bytes == 4 && i < n; i++) {
        uint32_t here = code_at(w, all, i), wanted = code_at(w, expected, i);
        bool are_nan = here << 1 > 0xFF000000u && wanted << 1 > 0xFF000000u;
        if (are_nan && here >> 31 == wanted >> 31) put_code(w, expected, i, here);
    }
    assert_same_codes(w, n, all, "travel");
}

static void check_quantise_at(const hu_wire *w, int32_t asked) {
    int32_t k = hu_wire_clamp(w, asked);
    hu_format scaled = hu_format_scaled(&w->format, k);
    hu_round_counts counts;
    assert_int_equal(hu_format_check(&scaled), HU_OK);
    make_inputs(&scaled);
    set_expected_codes(w, &scaled, k);
    hu_wire_quantise(w, x_count, x, asked, sums, &key, 5, NULL);
    assert_same_codes(w, x_count, sums, "quantise");
    hu_round_counts_clear(&counts);
    memset(sums, 0, sizeof sums);
    hu_wire_quantise(w, x_count, x, asked, sums, &key, 5, &counts);
    assert_same_codes(w, x_count, sums, "quantise, counted");
    hu_round_counts wanted = counts_of(&scaled, w->rounding, x_count, x);
    assert_same_counts(w, &counts, &wanted, "quantise");
    assert_travels(w, x_count, sums);
    hu_wire_decode(w, x_count, sums, asked, y);
    for (size_t i = 0; i < x_count; i++) {
        float number = number_at(w, sums, i);
        uint32_t wanted_bits = isnan(number) ? hu_f32_bits(number) : hu_f32_bits(ldexpf(number, k));
        if (hu_f32_bits(y[i]) != wanted_bits)
            fail_msg("%s: element %zu: %a, expected %a", what_of(w, "decode"), i, (double)y[i],
                     (double)hu_f32_of_bits(wanted_bits));
    }
}

/* Also where the constant of rounding by addition, and 2^emin, leave binary32's normal numbers. */
static void check_quantise(const hu_format *format, hu_rounding rounding) {
    hu_format_limits limits = hu_format_limits_of(format);
    int last_high = 127 - (limits.emax + 24 - format->man_bits), last_low = -126 - limits.emin;
    const int32_t scales[] = {
        0, 3, -7, -40, 60, -1000, 1000, last_high, last_high + 1, last_low, last_low - 1};
    hu_wire w;
    assert_int_equal(hu_wire_init(&w, format, rounding), HU_OK);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) check_quantise_at(&w, scales[i]);
}

static const char *const usual[] = {
    "e5m2", "e4m3", "e4m3fn", "e3m0", "e2m1", "e2m0", "e4m3fnuz", "e5m2:ovf=sat", "e4m3fn:ovf=sat",
    "e4m3fn:ovf=inf", "e5m2:ovf=nan", "e5m2:sub=n", "e5m2:sub=nearest", "e3m4", "fp(4,3,4)", "e7m0",
    "e1m6:specials=fin", "1/6/9/d", "1/6/9/n", "bf16", "fp16", "fp16:ovf=sat", "e8m0",
    "e7m8:specials=fin", "e8m7:bias=140",
    /* codes of 4 bytes */
    "tf32", "e6m17", "e8m15", "fp(5,20,3)", "e8m22", "e8m23:sub=n", "fp32:ovf=sat", "fp32",
    "e6m10:specials=fin", "e6m10:specials=fin:ovf=inf", "e6m10:specials=fin:ovf=nan",
    "e5m12:specials=fn", "e5m12:specials=fn:ovf=inf", "e5m12:specials=fnuz", "e5m12:ovf=nan"};

static void numbers_become_the_codes_of_the_reference(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        hu_format f;
        assert_int_equal(hu_format_parse(usual[i], &f), HU_OK);
        each_isa(check_quantise, &f, HU_ROUND_NEAREST_EVEN);
        each_isa(check_quantise, &f, HU_ROUND_STOCHASTIC);
        each_isa(check_quantise, &f, HU_ROUND_UP);
    }
}

static void check_quantise_once(const hu_format *format, hu_rounding rounding) {
    hu_wire w;
    assert_int_equal(hu_wire_init(&w, format, rounding), HU_OK);
    check_quantise_at(&w, format->exp_bits % 2 ? 0 : -5);
}

static void numbers_become_the_codes_of_every_format(void **state) {
    (void)state;
    for (uint8_t e = 1; e <= 8; e++)
        for (uint8_t m = 0; m <= 15 - e; m++)
            for (uint8_t kind = 0; kind < 24; kind++) {
                hu_format f = {.exp_bits = e,
                               .man_bits = m,
                               .specials = kind % 4,
                               .subnormals = kind / 4 % 2,
                               .overflow = kind / 8,
                               .bias = e > 1 ? (1 << (e - 1)) - 1 : 1};
                /* Of the wide ones two kinds: infinity, and largest number without subnormals. */
                bool is_one = e + m <= 7 || kind == 4 || kind == 8;
                if (is_one && hu_format_check(&f) == HU_OK)
                    each_isa(check_quantise_once, &f, HU_ROUND_NEAREST_EVEN);
            }
}

/* Codes of random patterns; of 4 bytes: numbers of the format. */
static void random_codes(const hu_wire *w, size_t n, uint64_t first, uint8_t *all) {
    uint32_t mask = (uint32_t)(((uint64_t)1 << w->bits) - 1);
    /* Now and then two largest numbers meet, at places that vectors take care of. */
    uint32_t largest = hu_format_code_max(&w->format);
    for (size_t i = 0; i < n; i++) {
        uint32_t word = hu_random_word(&key, first + i);
        /* Half of them of one binade around 1, so that sums meet ties. */
        if (i & 1) word = (word & 0x80FFFFFFu) | 0x3F000000u;
        float number = hu_format_round(&w->format, HU_ROUND_NEAREST_EVEN, hu_f32_of_bits(word), 0);
        put_code(w, all, i,
                 w->code_bytes == 4 || i & 1 ? stored(w, number)
                 : i % 512 == 300            ? largest
                                             : word & mask);
    }
}

static const size_t lengths[] = {0, 1, 7, 15, 16, 17, 63, 64, 65, 129, 1023, 1024, 1025, 4096};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Sums of random codes in z and expected; gives their number. */
static size_t make_sums(const hu_wire *w) {
    size_t n = 0;
    for (size_t l = 0; l < LENGTHS; l++) n += lengths[l];
    random_codes(w, n, 0, codes);
    random_codes(w, n, n, sums);
    for (size_t i = 0; i < n; i++) {
        z[i] = canonical(number_at(w, sums, i) + number_at(w, codes, i));
        float rounded = hu_format_round(&w->format, w->rounding, z[i], hu_random_word(&key, i + 5));
        put_code(w, expected, i, stored(w, rounded));
    }
    return n;
}

/* Any split of an array gives the same codes and counts: lengths that end within vectors and
 * blocks. */
static void check_sums(const hu_format *format, hu_rounding rounding) {
    hu_wire w;
    hu_round_counts counts;
    assert_int_equal(hu_wire_init(&w, format, rounding), HU_OK);
    size_t n = make_sums(&w), done = 0, bytes = w.code_bytes;
    hu_round_counts_clear(&counts);
    for (size_t l = 0; l < LENGTHS; done += lengths[l++])
        hu_wire_add(&w, lengths[l], codes + bytes * done, sums + bytes * done, &key, 5 + done,
                    &counts);
    assert_same_codes(&w, n, sums, "add");
    hu_round_counts wanted = counts_of(format, rounding, n, z);
    assert_same_counts(&w, &counts, &wanted, "add");
    make_sums(&w);
    hu_wire_add(&w, n, codes, sums, &key, 5, NULL);
    assert_same_codes(&w, n, sums, "add, uncounted");
    assert_travels(&w, n, sums);
}

/* The same of numbers: 4096 and less at odd places in memory. */
static void check_splits(const hu_format *format, hu_rounding rounding) {
    hu_wire w;
    hu_round_counts counts, wanted;
    assert_int_equal(hu_wire_init(&w, format, rounding), HU_OK);
    size_t n = 0, done = 0, bytes = w.code_bytes;
    for (size_t l = 0; l < LENGTHS; l++) n += lengths[l];
    for (size_t i = 0; i < n; i++) x[i] = 0.06f * hu_random_normal(&key, i);
    hu_round_counts_clear(&counts);
    hu_round_counts_clear(&wanted);
    hu_wire_quantise(&w, n, x, -3, expected, &key, 5, &wanted);
    for (size_t l = 0; l < LENGTHS; done += lengths[l++])
        hu_wire_quantise(&w, lengths[l], x + done, -3, sums + bytes * done, &key, 5 + done,
                         &counts);
    assert_same_codes(&w, n, sums, "quantise");
    assert_same_counts(&w, &counts, &wanted, "quantise");
}

static void random_codes_add_as_the_reference(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        hu_format f;
        assert_int_equal(hu_format_parse(usual[i], &f), HU_OK);
        each_isa(check_sums, &f, HU_ROUND_NEAREST_EVEN);
        each_isa(check_sums, &f, HU_ROUND_STOCHASTIC);
        each_isa(check_splits, &f, HU_ROUND_NEAREST_EVEN);
        each_isa(check_splits, &f, HU_ROUND_STOCHASTIC);
    }
}

/* More elements than 32-bit counters are trusted with. */
static void counters_of_long_arrays_are_complete(void **state) {
    (void)state;
    enum { LONG = (3 << 20) + 77, PATTERN = 4099 };
    hu_format f;
    hu_wire w;
    float *numbers;
    uint8_t *all;
    assert_int_equal(hu_format_parse("e4m3", &f), HU_OK);
    assert_int_equal(HU_NEW_ARRAY(&numbers, LONG), HU_OK);
    assert_int_equal(HU_NEW_ARRAY(&all, LONG), HU_OK);
    for (size_t i = 0; i < LONG; i++) numbers[i] = hu_random_normal(&key, i % PATTERN);
    assert_int_equal(hu_wire_init(&w, &f, HU_ROUND_NEAREST_EVEN), HU_OK);
    hu_round_counts whole, parts;
    hu_round_counts_clear(&whole);
    hu_round_counts_clear(&parts);
    hu_wire_quantise(&w, LONG, numbers, -8, all, NULL, 0, &whole);
    for (size_t at = 0; at < LONG; at += 60) /* less than a vector's worth: the plain way */
        hu_wire_quantise(&w, LONG - at < 60 ? LONG - at : 60, numbers + at, -8, all + at, NULL, 0,
                         &parts);
    assert_same_counts(&w, &whole, &parts, "quantise");
    assert_true(whole.overflow > 1 << 20);
    hu_free(numbers);
    hu_free(all);
}

/* The dense stream is kernel/pack's, and comes back; no byte beyond it is touched. */
static void check_bits(const hu_wire *w, size_t n) {
    hu_packer packer;
    size_t bytes = hu_wire_bytes(w, n);
    assert_int_equal(bytes, (n * w->bits + 7) / 8);
    assert_int_equal(hu_packer_init(&packer, &w->format, 0), HU_OK);
    for (size_t i = 0; i < n; i++) y[i] = number_at(w, codes, i);
    hu_packer_pack(&packer, n, y, expected, NULL);
    dense[bytes] = 0x5A;
    hu_wire_pack_bits(w, n, codes, dense);
    assert_int_equal(dense[bytes], 0x5A);
    assert_memory_equal(dense, expected, bytes);
    memset(sums, 0xA5, n * w->code_bytes + 1);
    hu_wire_unpack_bits(w, n, dense, sums);
    assert_int_equal(sums[n * w->code_bytes], 0xA5);
    assert_memory_equal(sums, codes, n * w->code_bytes);
}

static void codes_of_every_width_travel_as_dense_bits(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 7, 8, 9, 31, 33, 63, 64, 65, 1025, 3001};
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
        for (uint8_t e = 2; e <= 8; e++)
            for (uint8_t m = 0; m <= 23; m++) {
                hu_format f = {.exp_bits = e,
                               .man_bits = m,
                               .subnormals = 1,
                               .bias = (1 << (e - 1)) - 1,
                               .overflow = HU_OVERFLOW_SAT};
                hu_wire w;
                hu_cpu_set_isa((hu_isa)isa);
                assert_int_equal(hu_wire_init(&w, &f, HU_ROUND_NEAREST_EVEN), HU_OK);
                for (size_t i = 0; i < 3001; i++) {
                    /* Finite numbers: a NaN's code is not unique. */
                    uint32_t word = hu_random_word(&key, i) & 0xBFFFFFFFu;
                    float number =
                        hu_format_round(&f, HU_ROUND_NEAREST_EVEN, hu_f32_of_bits(word), 0);
                    put_code(&w, codes, i,
                             w.code_bytes == 4 ? hu_f32_bits(number) : code_of(&f, number));
                }
                for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                    check_bits(&w, counts[c]);
            }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* Float32 travels as it is; only sums are made. */
static void float32_is_not_rounded(void **state) {
    (void)state;
    static const float a[] = {1, 0x1p-149f, INFINITY, 3, NAN}, b[] = {0x1p-24f, 0, -INFINITY, 4, 1};
    hu_wire w;
    float sum[5];
    assert_int_equal(hu_wire_init(&w, NULL, HU_ROUND_STOCHASTIC), HU_OK);
    assert_int_equal(hu_wire_bits(&w), 32);
    assert_int_equal(hu_wire_code_bytes(&w), 4);
    assert_int_equal(hu_wire_clamp(&w, 9), 0);
    hu_wire_quantise(&w, 5, b, 9, sum, NULL, 0, NULL);
    assert_memory_equal(sum, b, sizeof b);
    hu_wire_add(&w, 5, a, sum, NULL, 0, NULL);
    for (int i = 0; i < 5; i++)
        assert_int_equal(hu_f32_bits(sum[i]), hu_f32_bits(canonical(b[i] + a[i])));
    hu_wire_pack_bits(&w, 5, sum, dense);
    assert_memory_equal(dense, sum, sizeof sum);
}

static void formats_that_are_none_are_refused(void **state) {
    (void)state;
    hu_wire w;
    hu_format f = {.exp_bits = 9};
    assert_int_equal(hu_wire_init(&w, &f, HU_ROUND_NEAREST_EVEN), HU_ERR_FORMAT);
    assert_int_equal(hu_wire_init(&w, NULL, HU_ROUND_COUNT), HU_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_8_bit_codes_adds_as_the_reference),
        cmocka_unit_test(pairs_add_in_every_mode),
        cmocka_unit_test(pairs_add_at_every_bias),
        cmocka_unit_test(numbers_become_the_codes_of_the_reference),
        cmocka_unit_test(numbers_become_the_codes_of_every_format),
        cmocka_unit_test(random_codes_add_as_the_reference),
        cmocka_unit_test(counters_of_long_arrays_are_complete),
        cmocka_unit_test(codes_of_every_width_travel_as_dense_bits),
        cmocka_unit_test(float32_is_not_rounded),
        cmocka_unit_test(formats_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
