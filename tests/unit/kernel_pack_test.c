/* Packing loses nothing: every code of every format comes back, in every width, on every
 * instruction set of this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "format/value.h"
#include "kernel/pack/pack.h"

static const hu_random_key key = {5, 6, 7};

typedef struct block {
    float *x, *y;
    uint8_t *codes;
} block;

static block make_block(size_t n) {
    block b;
    void *p;
    assert_int_equal(hu_alloc_array(n + 1, sizeof(float), &p), HU_OK);
    b.x = p;
    assert_int_equal(hu_alloc_array(n + 1, sizeof(float), &p), HU_OK);
    b.y = p;
    assert_int_equal(hu_alloc(4 * n + 1, &p), HU_OK);
    b.codes = p;
    return b;
}

static void free_block(block *b) {
    hu_free(b->x);
    hu_free(b->y);
    hu_free(b->codes);
}

static void assert_same_bits(const float *a, const float *b, size_t n, const char *what) {
    for (size_t i = 0; i < n; i++)
        if (hu_f32_bits(a[i]) != hu_f32_bits(b[i]))
            fail_msg("%s: element %zu: %a, expected %a", what, i, (double)a[i], (double)b[i]);
}

static int code_at(const uint8_t *codes, size_t i, uint32_t bits, uint32_t code) {
    for (uint32_t b = 0; b < bits; b++) {
        size_t at = i * bits + b;
        if ((codes[at / 8] >> (at % 8) & 1) != (code >> b & 1)) return 0;
    }
    return 1;
}

/* x[n] -> codes -> y[n] is the identity; the codes are the reference's; no byte beyond is touched.
 */
static void check_round_trip(const hu_format *format, int code_bits, hu_isa isa, size_t n,
                             const block *b) {
    hu_packer packer;
    uint64_t unencodable = 3;
    char name[64], what[128];
    assert_int_equal(hu_format_print(format, name, sizeof name), HU_OK);
    snprintf(what, sizeof what, "%s in %d bits, %s", name, code_bits, hu_isa_name(isa));
    assert_int_equal(hu_packer_init_isa(&packer, format, code_bits, isa), HU_OK);
    size_t bytes = hu_packed_bytes(n, format, code_bits);
    uint32_t width = code_bits ? (uint32_t)code_bits : hu_format_bits(format);
    assert_int_equal(bytes, (n * width + 7) / 8);
    b->codes[bytes] = 0x5a;
    hu_packer_pack(&packer, n, b->x, b->codes, &unencodable);
    assert_int_equal(b->codes[bytes], 0x5a);
    assert_int_equal(unencodable, 3);
    memcpy(b->y, b->codes, bytes);
    memset(b->codes, 0xa5, bytes);
    hu_packer_pack(&packer, n, b->x, b->codes, NULL);
    assert_memory_equal(b->y, b->codes, bytes);
    for (size_t i = 0; i < n; i++) {
        uint32_t code;
        assert_int_equal(hu_format_encode(format, b->x[i], &code), HU_OK);
        if (!code_at(b->codes, i, width, code)) fail_msg("%s: code of %a", what, (double)b->x[i]);
    }
    memset(b->y, 0x55, (n + 1) * sizeof(float));
    hu_packer_unpack(&packer, n, b->codes, b->y);
    assert_same_bits(b->y, b->x, n, what);
    assert_int_equal(hu_f32_bits(b->y[n]), 0x55555555);
}

static void put_code(uint8_t *codes, size_t i, uint32_t bits, uint32_t code) {
    for (uint32_t b = 0; b < bits; b++) {
        size_t at = i * bits + b;
        codes[at / 8] =
            (uint8_t)((codes[at / 8] & ~(1u << (at % 8))) | (code >> b & 1) << (at % 8));
    }
}

/* Code i at place i (and from the first again after the last), the spare bits above it set, reads
 * as b->x[i]: also codes that packing never writes. */
static void check_every_code_reads(const hu_format *format, int code_bits, hu_isa isa, size_t n,
                                   const block *b) {
    hu_packer packer;
    char what[64];
    uint32_t bits = hu_format_bits(format), width = code_bits ? (uint32_t)code_bits : bits;
    uint32_t spare = (uint32_t)(((uint64_t)1 << width) - ((uint64_t)1 << bits));
    snprintf(what, sizeof what, "reading %u-bit codes, %s", width, hu_isa_name(isa));
    assert_int_equal(hu_packer_init_isa(&packer, format, code_bits, isa), HU_OK);
    uint32_t used = (uint32_t)(((uint64_t)1 << bits) - 1);
    for (uint32_t i = 0; i < n; i++) put_code(b->codes, i, width, (i & used) | spare);
    hu_packer_unpack(&packer, n, b->codes, b->y);
    assert_same_bits(b->y, b->x, n, what);
}

/* Every code of the format, all widths that hold it. Kernels may have another way for short arrays:
 * few codes are repeated, to a length that leaves a rest of every vector. */
static void check_format(const hu_format *format, block *b) {
    enum { LEAST = 1001 };
    size_t codes = (size_t)1 << hu_format_bits(format), n = codes < LEAST ? LEAST : codes;
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(hu_format_decode(format, i & (uint32_t)(codes - 1), &b->x[i]), HU_OK);
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        for (int code_bits = 0; code_bits <= 16; code_bits += 8) {
            if (code_bits && codes > (size_t)1 << code_bits) continue;
            check_round_trip(format, code_bits, (hu_isa)isa, n, b);
            check_every_code_reads(format, code_bits, (hu_isa)isa, n, b);
        }
    }
}

/* The biases at the ends of the format's range and its customary one. */
static void check_biases(hu_format format, block *b) {
    int32_t top = (1 << format.exp_bits) - (format.specials == HU_SPECIALS_IEEE ? 2 : 1);
    const int32_t biases[] = {(1 << (format.exp_bits - 1)) - 1, top - 127, 150 - format.man_bits,
                              127};
    for (size_t i = 0; i < sizeof biases / sizeof biases[0]; i++) {
        format.bias = biases[i];
        if (i > 0 && format.exp_bits + format.man_bits > 9) continue; /* the rest takes time only */
        if (hu_format_check(&format) == HU_OK) check_format(&format, b);
    }
}

static void every_code_of_every_format_comes_back(void **state) {
    (void)state;
    block b = make_block(65536);
    for (uint8_t e = 1; e <= 8; e++)
        for (uint8_t m = 0; m <= 15 - e; m++)
            for (uint8_t specials = 0; specials < 4; specials++)
                for (uint8_t subnormals = 0; subnormals < 2; subnormals++) {
                    check_biases((hu_format){.exp_bits = e,
                                             .man_bits = m,
                                             .specials = specials,
                                             .subnormals = subnormals,
                                             .overflow = HU_OVERFLOW_SAT},
                                 &b);
                }
    free_block(&b);
}

/* Formats up to 32 bits, lengths that end within a byte and across chunks of the dense stream. */
static void dense_streams_of_every_width_come_back(void **state) {
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 3, 5, 7, 8, 9, 33, 1023, 1024, 1025, 3001};
    block b = make_block(4096);
    for (uint8_t e = 2; e <= 8; e++)
        for (uint8_t m = 0; m <= 23; m++) {
            hu_format f = {.exp_bits = e, .man_bits = m, .subnormals = 1};
            f.bias = (1 << (e - 1)) - 1;
            uint32_t mask = (uint32_t)(hu_format_limits_of(&f).codes - 1);
            for (uint32_t i = 0; i < 4096; i++)
                hu_format_decode(&f, hu_random_word(&key, i) & mask, &b.x[i]);
            if (m == 0) b.x[0] = hu_f32_of_bits(HU_F32_INFINITY);
            for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
                for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
                    check_round_trip(&f, 0, (hu_isa)isa, lengths[l], &b);
        }
    free_block(&b);
}

static void every_length_and_offset_is_exact(void **state) {
    (void)state;
    static const char *const names[] = {"e4m3fn", "binary8p3sf", "fp16"};
    block b = make_block(128);
    for (size_t f = 0; f < 3; f++)
        for (size_t offset = 0; offset < 4; offset++)
            for (size_t n = 0; n <= 65; n++)
                for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
                    hu_format format;
                    hu_format_parse(names[f], &format);
                    uint32_t mask = (uint32_t)(hu_format_limits_of(&format).codes - 1);
                    for (uint32_t i = 0; i < 128; i++)
                        hu_format_decode(&format, (i * 2654435761u >> 8) & mask, &b.x[i]);
                    block moved = {b.x + offset, b.y + offset, b.codes};
                    check_round_trip(&format, f == 2 ? 16 : 8, (hu_isa)isa, n, &moved);
                }
    free_block(&b);
}

typedef struct lost_case {
    const char *format;
    float plus_infinity, minus_infinity, nan; /* what is read back */
    uint64_t unencodable;                     /* of +inf, -inf, NaN */
} lost_case;

static void values_without_a_code_are_replaced_and_counted(void **state) {
    (void)state;
    static const lost_case cases[] = {
        {"fp16", INFINITY, -INFINITY, NAN, 0},
        {"e3m0", INFINITY, -INFINITY, 0, 1},
        {"e4m3fn", 448, -448, NAN, 2},
        {"e4m3fnuz", 240, -240, NAN, 2},
        {"e2m1", 6, -6, 0, 3},
        {"fp(4,3,4)", 30, -30, 0, 3},
        {"e2m1:bias=149", 0x3p-147f, -0x3p-147f, 0, 3},
    };
    enum { N = 2100 };
    static float x[N], y[N];
    static uint8_t codes[2 * N], uncounted[2 * N];
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (int code_bits = 0; code_bits <= 16; code_bits += 8)
            for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
                hu_format f;
                hu_packer p;
                uint64_t unencodable = 0;
                assert_int_equal(hu_format_parse(cases[c].format, &f), HU_OK);
                if (code_bits && (uint32_t)code_bits < hu_format_bits(&f)) continue;
                memset(x, 0, sizeof x);
                x[3] = x[2050] = INFINITY;
                x[4] = x[2051] = -INFINITY;
                x[5] = NAN;
                x[2052] = -NAN;
                hu_packer_init_isa(&p, &f, code_bits, (hu_isa)isa);
                hu_packer_pack(&p, N, x, codes, &unencodable);
                assert_int_equal(unencodable, 2 * cases[c].unencodable);
                hu_packer_pack(&p, N, x, uncounted, NULL);
                assert_memory_equal(codes, uncounted, hu_packer_bytes(&p, N));
                hu_packer_unpack(&p, N, codes, y);
                for (size_t at = 3; at <= 2050; at += 2047) {
                    assert_true(y[at] == cases[c].plus_infinity);
                    assert_true(y[at + 1] == cases[c].minus_infinity);
                    assert_true(isnan(cases[c].nan) ? isnan(y[at + 2])
                                                    : hu_f32_bits(y[at + 2]) == 0);
                }
            }
}

static void minus_zero_becomes_the_one_zero_of_fnuz(void **state) {
    (void)state;
    hu_format format;
    const float x[3] = {-0.0f, 0.0f, -1.0f};
    float y[3];
    uint8_t codes[3];
    hu_format_parse("e5m2fnuz", &format);
    assert_int_equal(hu_pack(3, x, codes, &format, 8, NULL), HU_OK);
    assert_int_equal(hu_unpack(3, codes, y, &format, 8), HU_OK);
    assert_int_equal(codes[0], 0);
    assert_int_equal(hu_f32_bits(y[0]), 0);
    assert_true(y[2] == -1.0f);
}

/* Arrays beyond the caches take other stores than small ones. */
static void large_arrays_equal_their_parts(void **state) {
    (void)state;
    enum { N = (1 << 23) + 37, PART = 50000 };
    static const char *const names[] = {"e5m2", "e4m3fn",  "fp(4,3,4)", "e2m1",
                                        "fp16", "1/6/9/n", "bf16"};
    block b = make_block(N), parts = make_block(N);
    for (size_t f = 0; f < sizeof names / sizeof names[0]; f++)
        for (int code_bits = 8; code_bits <= 16; code_bits += 8) {
            hu_format format;
            hu_packer p;
            assert_int_equal(hu_format_parse(names[f], &format), HU_OK);
            if ((uint32_t)code_bits < hu_format_bits(&format)) continue;
            assert_int_equal(hu_packer_init(&p, &format, code_bits), HU_OK);
            uint32_t used = (1u << hu_format_bits(&format)) - 1;
            size_t bytes = (size_t)code_bits / 8;
            for (size_t i = 0; i < N; i++) {
                uint32_t code = (uint32_t)(i * 2654435761u) >> 7 & used;
                put_code(b.codes, i, (uint32_t)code_bits, code);
            }
            hu_packer_unpack(&p, N, b.codes, b.y);
            for (size_t at = 0; at < N; at += PART)
                hu_packer_unpack(&p, N - at < PART ? N - at : PART, b.codes + at * bytes,
                                 parts.y + at);
            assert_memory_equal(b.y, parts.y, N * sizeof *b.y);
            hu_packer_pack(&p, N, b.y, b.codes, NULL);
            for (size_t at = 0; at < N; at += PART)
                hu_packer_pack(&p, N - at < PART ? N - at : PART, b.y + at,
                               parts.codes + at * bytes, NULL);
            assert_memory_equal(b.codes, parts.codes, N * bytes);
        }
    free_block(&b);
    free_block(&parts);
}

/* Stores past the caches need aligned addresses, which not every array has. */
static void large_arrays_may_begin_anywhere(void **state) {
    (void)state;
    enum { N = (1 << 23) + 65 };
    block b = make_block(N + 1);
    for (int code_bits = 8; code_bits <= 16; code_bits += 8) {
        hu_format format;
        size_t bytes = (size_t)code_bits / 8;
        assert_int_equal(hu_format_parse("e5m2", &format), HU_OK);
        for (size_t i = 0; i < N; i++)
            put_code(b.codes + bytes, i, (uint32_t)code_bits,
                     (uint32_t)(i * 2654435761u) >> 7 & 255);
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            hu_packer p;
            float value;
            assert_int_equal(hu_packer_init_isa(&p, &format, code_bits, (hu_isa)isa), HU_OK);
            hu_packer_unpack(&p, N, b.codes + bytes, b.y + 1);
            for (size_t i = 0; i < N; i += 4099) {
                uint32_t code = (uint32_t)(i * 2654435761u) >> 7 & 255;
                assert_int_equal(hu_format_decode(&format, code, &value), HU_OK);
                assert_int_equal(hu_f32_bits(b.y[1 + i]), hu_f32_bits(value));
            }
            memcpy(b.x, b.codes + bytes, N * bytes);
            memset(b.codes, 0, (N + 1) * bytes);
            for (size_t i = 1; i <= N; i++) /* all NaNs of a sign have one code */
                if (isnan(b.y[i])) b.y[i] = 1.5f;
            hu_packer_pack(&p, N, b.y + 1, b.codes + bytes, NULL);
            for (size_t i = 0; i < N; i += 4099) {
                uint32_t code = (uint32_t)(i * 2654435761u) >> 7 & 255;
                if ((code & 127) > 124) code = 62;
                assert_true(code_at(b.codes + bytes, i, (uint32_t)code_bits, code));
            }
            memcpy(b.codes + bytes, b.x, N * bytes);
        }
    }
    free_block(&b);
}

/* The same where codes are as wide as the format. */
static void large_arrays_of_wide_formats_may_begin_anywhere(void **state) {
    (void)state;
    enum { N = (1 << 23) + 65 };
    static const char *const names[] = {"fp16", "1/6/9", "bf16"};
    block b = make_block(N + 1);
    for (size_t i = 0; i < N; i++)
        put_code(b.codes + 2, i, 16, (uint32_t)(i * 2654435761u) >> 7 & 0xffff);
    for (size_t f = 0; f < sizeof names / sizeof *names; f++)
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            hu_format format;
            hu_packer p;
            float value;
            assert_int_equal(hu_format_parse(names[f], &format), HU_OK);
            assert_int_equal(hu_packer_init_isa(&p, &format, 16, (hu_isa)isa), HU_OK);
            hu_packer_unpack(&p, N, b.codes + 2, b.y + 1);
            for (size_t i = 0; i < N; i += 61) {
                uint32_t code = (uint32_t)(i * 2654435761u) >> 7 & 0xffff;
                assert_int_equal(hu_format_decode(&format, code, &value), HU_OK);
                assert_int_equal(hu_f32_bits(b.y[1 + i]), hu_f32_bits(value));
            }
        }
    free_block(&b);
}

/* Widths that a message offers are those that hold the codes. */
static void messages_name_the_widths_that_would_do(void **state) {
    (void)state;
    static const struct {
        const char *format, *allowed;
    } cases[] = {{"e5m2", "codes of 24 bits, allowed 0 (dense), 8, 16 for 8-bit codes"},
                 {"e5m3", "codes of 24 bits, allowed 0 (dense), 16 for 9-bit codes"},
                 {"fp16", "codes of 24 bits, allowed 0 (dense), 16 for 16-bit codes"},
                 {"e5m11", "codes of 24 bits, allowed 0 (dense) for 17-bit codes"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hu_format format;
        hu_packer p;
        assert_int_equal(hu_format_parse(cases[i].format, &format), HU_OK);
        assert_int_equal(hu_packer_init(&p, &format, 24), HU_ERR_ARGUMENT);
        assert_string_equal(hu_last_error(), cases[i].allowed);
    }
}

static void impossible_widths_are_errors(void **state) {
    (void)state;
    hu_format fp16;
    float x = 1;
    uint8_t codes[8];
    hu_format_parse("fp16", &fp16);
    assert_int_equal(hu_pack(1, &x, codes, &fp16, 8, NULL), HU_ERR_ARGUMENT);
    assert_int_equal(hu_pack(1, &x, codes, &fp16, 12, NULL), HU_ERR_ARGUMENT);
    assert_int_equal(hu_unpack(1, codes, &x, &fp16, 32), HU_ERR_ARGUMENT);
    fp16.man_bits = 24;
    assert_int_equal(hu_pack(1, &x, codes, &fp16, 0, NULL), HU_ERR_FORMAT);
}

int main(void) {
    /* From the shortest to the longest. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minus_zero_becomes_the_one_zero_of_fnuz),
        cmocka_unit_test(impossible_widths_are_errors),
        cmocka_unit_test(messages_name_the_widths_that_would_do),
        cmocka_unit_test(values_without_a_code_are_replaced_and_counted),
        cmocka_unit_test(every_length_and_offset_is_exact),
        cmocka_unit_test(large_arrays_may_begin_anywhere),
        cmocka_unit_test(large_arrays_of_wide_formats_may_begin_anywhere),
        cmocka_unit_test(large_arrays_equal_their_parts),
        cmocka_unit_test(dense_streams_of_every_width_come_back),
        cmocka_unit_test(every_code_of_every_format_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
