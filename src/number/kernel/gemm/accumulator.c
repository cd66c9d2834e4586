/* kernel/gemm/accumulator.c - reading, writing and checking accumulators.
 *
 *   accumulator = "fmacs" | mode ":" F | "tc:" core
 *   mode        = "macs" | "fmac" | "mac" | "fmac" K | "kahan" | "kahan-cpd"
 *
 * F is any format, K the decimal number of terms of a block; of a core speaks tensor_core.h.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "format/value.h"
#include "kernel/block/block.h"
#include "kernel/gemm/operand.h"
#include "kernel/gemm/tensor_core.h"

enum { MODE_MAX = 31, TEXT_MIN = 96, FORMAT_TEXT = 64 };

static const char *const mac_names[HU_MAC_COUNT] = {
    [HU_MAC_FMACS] = "fmacs",         [HU_MAC_MACS] = "macs",
    [HU_MAC_FMAC] = "fmac",           [HU_MAC_MAC] = "mac",
    [HU_MAC_FMAC_K] = "fmac-k",       [HU_MAC_KAHAN] = "kahan",
    [HU_MAC_KAHAN_CPD] = "kahan-cpd", [HU_MAC_TC] = "tc"};

/* FMAC-K is spelled with its number: fmac8 stands for all of them in messages. */
static const char *const spelled_names[HU_MAC_COUNT] = {"fmacs", "macs",  "fmac",      "mac",
                                                        "fmac8", "kahan", "kahan-cpd", "tc"};

static const char *const semantics_names[HU_SEMANTICS_COUNT] = {
    [HU_SEMANTICS_EXACT] = "exact", [HU_SEMANTICS_F32FMA] = "f32fma", [HU_SEMANTICS_CPD] = "cpd"};

const char *hu_mac_name(hu_mac mac) {
    return (unsigned)mac < HU_MAC_COUNT ? mac_names[mac] : "?";
}

const char *hu_semantics_name(hu_semantics semantics) {
    return (unsigned)semantics < HU_SEMANTICS_COUNT ? semantics_names[semantics] : "?";
}

/* HU_ERR_UNKNOWN with the nearest modes; text stands in the message, `length` of it is the mode. */
static hu_status fail_unknown(const char *text, size_t length) {
    char mode[MODE_MAX + 1], nearest[128];
    snprintf(mode, sizeof mode, "%.*s", (int)(length < MODE_MAX ? length : MODE_MAX), text);
    hu_nearest(mode, spelled_names, HU_MAC_COUNT, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN,
                   "accumulator '%.160s': unknown mode '%s'; the nearest are %s (one of fmacs, "
                   "macs:F, fmac:F, mac:F, fmacK:F, kahan:F, kahan-cpd:F, tc:NAME)",
                   text, mode, nearest);
}

/* The digits after "fmac"; mode is known to hold at least one and nothing else. */
static hu_status read_block(const char *text, const char *digits, int64_t *block) {
    int64_t value = 0;
    for (const char *c = digits; *c != '\0'; c++)
        if (!hu_mul_i64(value, 10, &value) || !hu_add_i64(value, *c - '0', &value))
            return hu_fail(HU_ERR_ARGUMENT, "accumulator '%.160s': block of %s terms, at most %lld",
                           text, digits, (long long)INT64_MAX);
    if (value < 1)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator '%.160s': block of 0 terms, at least 1", text);
    *block = value;
    return HU_OK;
}

/* The word before the colon, upper or lower case. Only FMAC-K has a number after its name. */
static hu_status read_mode(const char *text, size_t length, hu_accumulator *accumulator) {
    char mode[MODE_MAX + 1] = "";
    if (length > MODE_MAX) return fail_unknown(text, length);
    for (size_t i = 0; i < length; i++) mode[i] = (char)tolower((unsigned char)text[i]);
    for (int i = 0; i < HU_MAC_COUNT; i++)
        if (i != HU_MAC_FMAC_K && strcmp(mode, mac_names[i]) == 0) {
            accumulator->mac = (hu_mac)i;
            return HU_OK;
        }
    if (strncmp(mode, "fmac", 4) != 0 || strspn(mode + 4, "0123456789") + 4 != length)
        return fail_unknown(text, length);
    accumulator->mac = HU_MAC_FMAC_K;
    return read_block(text, mode + 4, &accumulator->block);
}

/* Sums have a NaN, whatever the format's codes, and are rounded where they are made: by the steps
 * of a float. */
static hu_status check_sums(const hu_format *format) {
    if (hu_format_is_table(format))
        return hu_fail(HU_ERR_FORMAT,
                       "found a format by table, expected a float: sums are rounded to one inside "
                       "the product");
    if (format->nan != HU_NAN_STAYS)
        return hu_fail(HU_ERR_FORMAT, "found nan=ovf, expected a format whose NaN stays");
    if (format->overflow == HU_OVERFLOW_PROPAGATE)
        return hu_fail(HU_ERR_FORMAT, "found ovf=propagate, expected ovf=inf, sat or nan");
    return HU_OK;
}

/* The mode, and the format of all modes but fmacs. */
static hu_status read_accumulator(const char *text, hu_accumulator *accumulator) {
    hu_status st = HU_OK;
    size_t length = strcspn(text, ":");
    HU_TRY(read_mode(text, length, accumulator));
    if (accumulator->mac == HU_MAC_FMACS) {
        if (text[length] == '\0') return HU_OK;
        return hu_fail(HU_ERR_PARSE,
                       "accumulator '%.160s', column %zu: found ':', expected the end (fmacs adds "
                       "in float32)",
                       text, length + 1);
    }
    if (accumulator->mac == HU_MAC_TC) return hu_core_parse(text, length, accumulator);
    if (text[length] == '\0')
        return hu_fail(HU_ERR_PARSE,
                       "accumulator '%.160s', column %zu: found the end, expected ':' and the "
                       "accumulator's format",
                       text, length + 1);
    st = hu_format_parse(text + length + 1, &accumulator->format);
    if (st != HU_OK && hu_block_format_find(text + length + 1))
        st = hu_fail(HU_ERR_PARSE, "found the block format '%s', expected that of single numbers",
                     text + length + 1);
    if (st == HU_OK) st = check_sums(&accumulator->format);
    if (st != HU_OK) hu_fail_within(st, "accumulator '%.160s': ", text);
done:
    return st;
}

hu_status hu_accumulator_parse(const char *text, hu_accumulator *accumulator) {
    HU_GIVEN(accumulator);
    *accumulator = (hu_accumulator){0};
    HU_GIVEN(text);
    hu_accumulator read = {.semantics = HU_SEMANTICS_EXACT};
    memset(accumulator, 0, sizeof *accumulator);
    hu_status st = read_accumulator(text, &read);
    if (st == HU_OK) *accumulator = read;
    return st;
}

hu_status hu_accumulator_check(const hu_accumulator *accumulator) {
    HU_GIVEN(accumulator);
    hu_status st = HU_OK;
    if ((unsigned)accumulator->mac >= HU_MAC_COUNT)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator mode %d, allowed 0..%d", (int)accumulator->mac,
                       HU_MAC_COUNT - 1);
    if ((unsigned)accumulator->semantics >= HU_SEMANTICS_COUNT)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator semantics %d, allowed 0..%d",
                       (int)accumulator->semantics, HU_SEMANTICS_COUNT - 1);
    if (accumulator->mac == HU_MAC_FMAC_K && accumulator->block < 1)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator fmac-k: block of %lld terms, at least 1",
                       (long long)accumulator->block);
    if (accumulator->mac == HU_MAC_FMACS) return HU_OK;
    if (accumulator->mac == HU_MAC_TC) HU_TRY(hu_core_check(accumulator));
    st = hu_format_check(&accumulator->format);
    if (st == HU_OK) st = check_sums(&accumulator->format);
    if (st != HU_OK) hu_fail_within(st, "accumulator %s: ", mac_names[accumulator->mac]);
done:
    return st;
}

hu_status hu_accumulator_print(const hu_accumulator *accumulator, char *text, uint32_t capacity) {
    HU_GIVEN(accumulator);
    HU_GIVEN(text);
    hu_status st = HU_OK;
    char format[FORMAT_TEXT];
    if (capacity > 0) text[0] = '\0';
    if (capacity < TEXT_MIN)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator name into %u bytes, at least %d are needed",
                       capacity, TEXT_MIN);
    HU_TRY(hu_accumulator_check(accumulator));
    if (accumulator->mac == HU_MAC_FMACS) {
        snprintf(text, capacity, "fmacs");
        return HU_OK;
    }
    if (accumulator->mac == HU_MAC_TC) return hu_core_print(accumulator, text, capacity);
    HU_TRY(hu_format_print(&accumulator->format, format, sizeof format));
    if (accumulator->mac == HU_MAC_FMAC_K)
        snprintf(text, capacity, "fmac%" PRId64 ":%s", accumulator->block, format);
    else
        snprintf(text, capacity, "%s:%s", mac_names[accumulator->mac], format);
done:
    return st;
}

/* Two states of m x n floats, `sum` before `extra` (kernel.h), and of TC the factors of a step that
 * is not complete, [block][m] and [block][n]; SIZE_MAX: more than any memory. */
size_t hu_gemm_carry_floats(const hu_accumulator *accumulator, int64_t m, int64_t n) {
    size_t floats, block, factors;
    if (!accumulator || m < 0 || n < 0) return 0;
    block = accumulator->mac == HU_MAC_TC ? (size_t)accumulator->block : 0;
    if (!hu_mul_size((size_t)m, (size_t)n, &floats) || !hu_mul_size(floats, 2, &floats) ||
        !hu_mul_size((size_t)m + (size_t)n, block, &factors) || floats > SIZE_MAX - factors)
        return SIZE_MAX;
    return floats + factors;
}
