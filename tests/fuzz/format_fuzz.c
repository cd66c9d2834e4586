/* Names of formats and of rounding modes, and formats made of any fields. */
#include "fuzz.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <halfulp/format.h>

enum { PRINTED_BYTES = 64 };

static void check_printed(const hu_format *format) {
    char text[PRINTED_BYTES], again[PRINTED_BYTES];
    hu_format parsed;
    FUZZ_CHECK(hu_format_check(format) == HU_OK);
    FUZZ_CHECK(hu_format_print(format, text, sizeof text) == HU_OK);
    FUZZ_CHECK(hu_format_parse(text, &parsed) == HU_OK);
    FUZZ_CHECK(hu_format_equal(format, &parsed));
    FUZZ_CHECK(memcmp(format, &parsed, sizeof parsed) == 0);
    FUZZ_CHECK(hu_format_print(&parsed, again, sizeof again) == HU_OK);
    FUZZ_CHECK(strcmp(text, again) == 0);
}

static void check_limits(const hu_format *format) {
    hu_format_limits limits = hu_format_limits_of(format);
    FUZZ_CHECK(limits.min_subnormal > 0 && limits.min_subnormal <= limits.min_normal);
    FUZZ_CHECK(limits.min_normal <= limits.max_finite && limits.max_finite <= 0x1p128);
    FUZZ_CHECK(limits.codes == (uint64_t)1 << hu_format_bits(format));
    FUZZ_CHECK(limits.code_max < limits.codes);
    float largest = 0;
    FUZZ_CHECK(hu_format_decode(format, limits.code_max, &largest) == HU_OK);
    FUZZ_CHECK((double)largest == limits.max_finite);
}

/* What was rounded is in the format and stays as it is; a code comes back from its value. */
static void check_numbers(const hu_format *format, uint32_t bits, uint32_t word) {
    float x, rounded, decoded;
    uint32_t code, back, first, second;
    memcpy(&x, &bits, sizeof x);
    for (int r = 0; r < HU_ROUND_COUNT; r++) {
        rounded = hu_format_round(format, (hu_rounding)r, x, word);
        float twice = hu_format_round(format, (hu_rounding)r, rounded, ~word);
        memcpy(&first, &rounded, sizeof first);
        memcpy(&second, &twice, sizeof second);
        bool is_finite = (first & 0x7f800000u) != 0x7f800000u;
        if (is_finite) FUZZ_CHECK(first == second);
        if (is_finite) FUZZ_CHECK(hu_format_encode(format, rounded, &code) == HU_OK);
    }
    code = (uint32_t)(bits & (((uint64_t)1 << hu_format_bits(format)) - 1));
    FUZZ_CHECK(hu_format_decode(format, code, &decoded) == HU_OK);
    if (decoded != 0 && decoded - decoded == 0) {
        FUZZ_CHECK(hu_format_encode(format, decoded, &back) == HU_OK);
        FUZZ_CHECK(back == code);
    }
}

static void check_text(const char *text) {
    static const hu_format zero = {0};
    hu_format format, upper;
    hu_rounding rounding;
    memset(&format, 0xff, sizeof format);
    hu_status st = hu_format_parse(text, &format);
    if (st == HU_OK) {
        check_printed(&format);
        check_limits(&format);
        char *shouted = fuzz_text((const uint8_t *)text, strlen(text));
        for (char *at = shouted; *at; at++) *at = (char)toupper((unsigned char)*at);
        st = hu_format_parse(shouted, &upper);
        FUZZ_CHECK(fuzz_was_fault(st) || (st == HU_OK && hu_format_equal(&format, &upper)));
        free(shouted);
    } else {
        FUZZ_CHECK(fuzz_was_fault(st) || st == HU_ERR_PARSE || st == HU_ERR_UNKNOWN ||
                   st == HU_ERR_FORMAT);
        FUZZ_CHECK(memcmp(&format, &zero, sizeof zero) == 0);
        FUZZ_CHECK(hu_last_error()[0] != '\0');
    }
    if (hu_rounding_parse(text, &rounding) == HU_OK)
        FUZZ_CHECK(hu_rounding_mode(rounding) < HU_ROUND_COUNT);
}

void fuzz_one(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    check_text(text);
    free(text);
    fuzz_cursor cursor = {data, size, 0};
    hu_format format = {.exp_bits = fuzz_u8(&cursor),
                        .man_bits = fuzz_u8(&cursor),
                        .specials = fuzz_u8(&cursor),
                        .subnormals = fuzz_u8(&cursor),
                        .overflow = fuzz_u8(&cursor)};
    format.bias = fuzz_u8(&cursor) - 128; /* -128..158 holds all that can be valid */
    format.bias += fuzz_u8(&cursor) % 32;
    uint32_t high = fuzz_u16(&cursor);
    uint32_t bits = high << 16 | fuzz_u16(&cursor);
    high = fuzz_u16(&cursor);
    uint32_t word = high << 16 | fuzz_u16(&cursor);
    if (hu_format_check(&format) != HU_OK) return;
    check_printed(&format);
    check_limits(&format);
    check_numbers(&format, bits, word);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const texts[] = {
        "fp16", "1/6/9/d", "1/5/10/n", "fp(4,3,4)", "FP( 6 , 9 ,-2 )", "e4m3fn:ovf=sat", "sr",
        "e5m2:bias=16:specials=fnuz", "e4m3b11fnuz:sub=n:ovf=inf:specials=ieee:bias=-7",
        /* exponent, mantissa, specials, subnormals, overflow, bias, number, random word */
        "\x05\x02\x03\x01\x02\x90\x20\x80\x3f\x12\x34\x56\x78\x9a\xbc",
        "\x04\x03\x02\x01\x01\x80\x07\x7f\xff\x80\x01\x01\x02\x03\x04"};
    return index < sizeof texts / sizeof *texts && fuzz_text_seed(texts[index], seed);
}
