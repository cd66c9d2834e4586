/* Limits of number formats: of one with their meaning, of several side by side, of all. */
#include <halfulp/round.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "format/draft.h"
#include "format/value.h"
#include "kernel/block/block.h"
#include "render/table.h"
#include "report/formats.h"
#include "tensor/quantizer.h"

static const char *const specials_names[] = {"ieee", "fin", "fn", "fnuz", "table"};

/* The quantizer's parser names the nearest of all formats, where the plain one knows none. */
static hu_status parse_plain(const char *typed, hu_format *format) {
    hu_quantizer quantizer;
    hu_status st = hu_plain_format_parse(typed, format);
    if (st != HU_ERR_UNKNOWN) return st;
    return hu_quantizer_parse(typed, HU_ROUND_NEAREST_EVEN, &quantizer);
}

hu_status hu_named_format_parse(const char *typed, hu_named_format *named) {
    hu_status st = HU_OK;
    hu_quantizer quantizer;
    bool is_block = hu_quantizer_parse(typed, HU_ROUND_NEAREST_EVEN, &quantizer) == HU_OK &&
                    quantizer.kind == HU_QUANTIZER_BLOCK;
    *named = (hu_named_format){.is_element = is_block};
    snprintf(named->typed, sizeof named->typed, "%s", typed);
    if (is_block) named->block = quantizer.block;
    if (is_block)
        named->format = quantizer.format;
    else
        HU_TRY(parse_plain(typed, &named->format));
    HU_TRY(hu_format_print(&named->format, named->name, sizeof named->name));
done:
    return st;
}

void hu_named_format_words(const hu_named_format *named, char *text, size_t capacity) {
    if (named->is_element)
        snprintf(text, capacity, "elements of %s: %s", named->typed, named->name);
    else if (strcasecmp(named->typed, named->name) != 0)
        snprintf(text, capacity, "%s, which is %s", named->typed, named->name);
    else
        snprintf(text, capacity, "%s", named->name);
}

bool hu_named_format_warns(const hu_named_format *named, char *text, size_t capacity) {
    static const char bare[] = "e4m3";
    const char *rest = named->typed + sizeof bare - 1;
    if (strncasecmp(named->typed, bare, sizeof bare - 1) != 0 || (*rest && *rest != ':') ||
        named->format.specials != HU_SPECIALS_IEEE)
        return false;
    snprintf(
        text, capacity,
        "e4m3 has infinities as IEEE 754 would have them, and is not OCP's E4M3, whose largest "
        "number is 448: that is e4m3fn (PyTorch's float8_e4m3fn saturates: e4m3fn:ovf=sat)");
    return true;
}

/* ---- one format ---- */

json_t *hu_format_json(const hu_named_format *named) {
    const hu_format *format = &named->format;
    hu_format_limits limits = hu_format_limits_of(format);
    json_t *object =
        json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:s, s:b, s:s, s:s, s:s}", "name", named->name,
                  "typed", named->typed, "bits", (int)hu_format_bits(format), "exp_bits",
                  (int)format->exp_bits, "man_bits", (int)format->man_bits, "bias",
                  (int)format->bias, "specials", specials_names[format->specials], "subnormals",
                  (int)format->subnormals, "overflow", hu_overflow_name(format->overflow), "sub",
                  hu_format_subnormals_name(format), "nan", hu_nan_name(format->nan));
    if (!object) return NULL;
    int failed =
        json_object_set_new(object, "max", hu_json_number(limits.max_finite)) |
        json_object_set_new(object, "min_normal", hu_json_number(limits.min_normal)) |
        json_object_set_new(object, "min_subnormal", hu_json_number(limits.min_subnormal)) |
        json_object_set_new(object, "overflow_threshold",
                            hu_json_number(limits.overflow_threshold)) |
        json_object_set_new(object, "underflow_threshold",
                            hu_json_number(limits.underflow_threshold)) |
        json_object_set_new(object, "epsilon", hu_json_number(hu_format_epsilon(format))) |
        json_object_set_new(object, "numbers",
                            json_integer((json_int_t)hu_format_numbers(format))) |
        json_object_set_new(object, "codes", json_integer((json_int_t)limits.codes));
    char note[256];
    if (hu_named_format_warns(named, note, sizeof note))
        failed |= json_object_set_new(object, "note", json_string(note));
    if (!failed) return object;
    json_decref(object);
    return NULL;
}

/* "1.5 x 2^-14" or the like is what people compare; the exact power is printed beside the number.
 */
static hu_status add_number(hu_table *table, const char *what, double value, const char *note) {
    int exponent;
    double fraction = 2 * frexp(value, &exponent);
    hu_status st;
    HU_TRY(hu_table_cell(table, "%s", what));
    HU_TRY(hu_table_cell(table, "%.9g", value));
    if (value == 0)
        HU_TRY(hu_table_cell(table, "0"));
    else if (fraction == 1)
        HU_TRY(hu_table_cell(table, "2^%d", exponent - 1));
    else
        HU_TRY(hu_table_cell(table, "%.9g x 2^%d", fraction, exponent - 1));
    HU_TRY(hu_table_cell(table, "%s", note));
done:
    return st;
}

static const char *subnormals_words(const hu_format *format) {
    if (format->subnormals) return "kept";
    return format->underflow == HU_UNDERFLOW_NEAREST ? "none, what is below goes to the nearest"
                                                     : "flushed";
}

/* "hif8: 8 bits, 256 codes by table: HiFloat8 ..., overflow inf, 253 numbers". */
static void print_table_head(const hu_named_format *named) {
    const hu_format *format = &named->format;
    char words[3 * HU_FORMAT_NAME_BYTES], number[HU_GROUPED_BYTES], scale[48] = "";
    hu_named_format_words(named, words, sizeof words);
    if (format->bias) snprintf(scale, sizeof scale, ", times 2^%d", -(int)format->bias);
    float of_zero = hu_format_round(format, HU_ROUND_NEAREST_EVEN, 0.0f, 0);
    printf("%s: %u bits by table (%s)%s, %s, overflow %s, %llu codes, %s numbers\n", words,
           hu_format_bits(format), hu_format_summary(format), scale,
           hu_format_has_nan(format) ? "with NaN" : "no NaN", hu_overflow_name(format->overflow),
           (unsigned long long)hu_format_limits_of(format).codes,
           hu_grouped((int64_t)hu_format_numbers(format), number));
    if (of_zero != 0)
        printf("no 0: it becomes %.9g, and so do padding and the zeros of relu\n", (double)of_zero);
    putchar('\n');
}

static void print_head(const hu_named_format *named) {
    if (hu_format_summary(&named->format)) {
        print_table_head(named);
        return;
    }
    const hu_format *format = &named->format;
    int usual = (1 << (format->exp_bits - 1)) - 1;
    char words[3 * HU_FORMAT_NAME_BYTES], number[HU_GROUPED_BYTES], extra[48] = "";
    hu_named_format_words(named, words, sizeof words);
    if (format->bias != usual)
        snprintf(extra, sizeof extra, " (the usual %d %c %d)", usual,
                 format->bias > usual ? '+' : '-', abs(format->bias - usual));
    printf("%s: %u bits = 1 sign + %d exponent + %d mantissa, bias %d%s, specials %s, "
           "subnormals %s, overflow %s%s, %llu codes, %s numbers\n\n",
           words, hu_format_bits(format), format->exp_bits, format->man_bits, (int)format->bias,
           extra, specials_names[format->specials], subnormals_words(format),
           hu_overflow_name(format->overflow),
           format->nan == HU_NAN_OVERFLOWS ? ", NaN as an infinity" : "",
           (unsigned long long)hu_format_limits_of(format).codes,
           hu_grouped((int64_t)hu_format_numbers(format), number));
}

static const char *epsilon_words(const hu_format *format) {
    if (hu_format_epsilon(format) == 0) return "none: the numbers end at 1, or begin above it";
    return hu_format_summary(format)
               ? "from 1 to the next number"
               : "from 1 to the next number; rounding errors are at most half of it";
}

hu_status hu_format_show(const hu_named_format *named) {
    static const char *const titles[] = {"limit", "value", "exactly", "meaning"};
    const hu_format *format = &named->format;
    hu_format_limits limits = hu_format_limits_of(format);
    hu_table *table;
    hu_status st = hu_table_create(titles, 4, &table);
    if (st != HU_OK) return st;
    HU_TRY(add_number(table, "max", limits.max_finite, "largest finite number"));
    HU_TRY(add_number(table, "min_normal", limits.min_normal, "smallest normal number"));
    HU_TRY(add_number(table, "min_subnormal", limits.min_subnormal, "smallest nonzero number"));
    HU_TRY(add_number(table, "epsilon", hu_format_epsilon(format), epsilon_words(format)));
    HU_TRY(add_number(table, "overflow_threshold", limits.overflow_threshold,
                      format->specials == HU_SPECIALS_FN ? "above it: overflow (nearest-even)"
                                                         : "from it on: overflow (nearest-even)"));
    HU_TRY(add_number(table, "underflow_threshold", limits.underflow_threshold,
                      limits.underflow_threshold > 0 ? "below it: zero (nearest-even)"
                                                     : "nothing but 0 becomes 0 (nearest-even)"));
    print_head(named);
    st = hu_show_table(table);
done:
    hu_table_free(table);
    return st;
}

/* ---- several ---- */

enum {
    BITS,
    EXPONENT,
    MANTISSA,
    BIAS,
    SPECIALS,
    SUBNORMALS,
    OVERFLOW_TO,
    LARGEST,
    LEAST_NORMAL,
    LEAST,
    OVERFLOW_FROM,
    ZERO_BELOW,
    EPSILON,
    BINADES,
    NUMBERS,
    PROPERTIES
};

static const char *const property_names[PROPERTIES] = {[BITS] = "bits",
                                                       [EXPONENT] = "exponent bits",
                                                       [MANTISSA] = "mantissa bits",
                                                       [BIAS] = "bias",
                                                       [SPECIALS] = "specials",
                                                       [SUBNORMALS] = "subnormals",
                                                       [OVERFLOW_TO] = "overflow to",
                                                       [LARGEST] = "largest",
                                                       [LEAST_NORMAL] = "smallest normal",
                                                       [LEAST] = "smallest",
                                                       [OVERFLOW_FROM] = "overflow from",
                                                       [ZERO_BELOW] = "zero below",
                                                       [EPSILON] = "epsilon",
                                                       [BINADES] = "binades, normal",
                                                       [NUMBERS] = "numbers"};

/* What only floats have. */
static bool is_of_floats(int property) {
    return property == EXPONENT || property == MANTISSA || property == BIAS ||
           property == SUBNORMALS;
}

static hu_status put_property(hu_table *table, const hu_format *format, int property) {
    const hu_format_limits limits = hu_format_limits_of(format);
    char number[HU_GROUPED_BYTES];
    if (hu_format_summary(format) && is_of_floats(property)) return hu_table_cell(table, "-");
    switch (property) {
    case BITS:
        return hu_table_cell(table, "%u", hu_format_bits(format));
    case EXPONENT:
        return hu_table_cell(table, "%d", format->exp_bits);
    case MANTISSA:
        return hu_table_cell(table, "%d", format->man_bits);
    case BIAS:
        return hu_table_cell(table, "%d", (int)format->bias);
    case SPECIALS:
        return hu_table_cell(table, "%s", specials_names[format->specials]);
    case SUBNORMALS:
        return hu_table_cell(table, "%s", format->subnormals ? "yes" : "no");
    case OVERFLOW_TO:
        return hu_table_cell(table, "%s", hu_overflow_name(format->overflow));
    case BINADES:
        return hu_table_cell(table, "%d", limits.emax - limits.emin + 1);
    case NUMBERS:
        return hu_table_cell(table, "%s", hu_grouped((int64_t)hu_format_numbers(format), number));
    default:
        break;
    }
    const double value[PROPERTIES] = {[LARGEST] = limits.max_finite,
                                      [LEAST_NORMAL] = limits.min_normal,
                                      [LEAST] = limits.min_subnormal,
                                      [OVERFLOW_FROM] = limits.overflow_threshold,
                                      [ZERO_BELOW] = limits.underflow_threshold,
                                      [EPSILON] = hu_format_epsilon(format)};
    return hu_table_cell(table, "%.9g", value[property]);
}

hu_status hu_formats_show(const hu_named_format *named, int count) {
    const char *titles[HU_FORMATS_MOST + 1] = {""};
    hu_table *table;
    hu_status st;
    for (int i = 0; i < count; i++) titles[i + 1] = named[i].typed;
    HU_TRY(hu_table_create(titles, count + 1, &table));
    HU_TRY(hu_table_cell(table, "name"));
    for (int i = 0; i < count; i++)
        HU_TRY(hu_table_cell(table, "%s%s", named[i].is_element ? "elements " : "", named[i].name));
    for (int p = 0; p < PROPERTIES; p++) {
        HU_TRY(hu_table_cell(table, "%s", property_names[p]));
        for (int i = 0; i < count; i++) HU_TRY(put_property(table, &named[i].format, p));
    }
    st = hu_show_table(table);
done:
    hu_table_free(table);
    return st;
}

static hu_status add_list_row(hu_table *table, uint32_t index) {
    hu_format format;
    const char *description;
    const char *name = hu_format_named(index, &format, &description);
    hu_format_limits limits = hu_format_limits_of(&format);
    hu_status st;
    HU_TRY(hu_table_cell(table, "%s", name));
    HU_TRY(hu_table_cell(table, "%u", hu_format_bits(&format)));
    HU_TRY(put_property(table, &format, EXPONENT));
    HU_TRY(put_property(table, &format, MANTISSA));
    HU_TRY(put_property(table, &format, BIAS));
    HU_TRY(put_property(table, &format, SPECIALS));
    HU_TRY(hu_table_cell(table, "%s",
                         hu_format_summary(&format) ? "-" : hu_format_subnormals_name(&format)));
    HU_TRY(put_property(table, &format, OVERFLOW_TO));
    HU_TRY(hu_table_cell(table, "%.6g", limits.max_finite));
    HU_TRY(hu_table_cell(table, "%.6g", limits.min_subnormal));
    HU_TRY(hu_table_cell(table, "%s", description));
done:
    return st;
}

hu_status hu_formats_list(void) {
    static const char *const titles[] = {"name", "bits", "exp", "man",      "bias", "specials",
                                         "sub",  "ovf",  "max", "smallest", "what"};
    hu_table *table;
    hu_status st = hu_table_create(titles, sizeof titles / sizeof *titles, &table);
    if (st != HU_OK) return st;
    for (uint32_t i = 0; i < hu_format_named_count(); i++) HU_TRY(add_list_row(table, i));
    HU_TRY(hu_show_table(table));
done:
    hu_table_free(table);
    return st;
}
