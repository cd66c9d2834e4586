/* Every code of a narrow format, with its bits, class and value. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "report/formats.h"
#include "show/stdout.h"
#include "show/table.h"

enum { BITS_BYTES = HU_CODE_BITS_MOST + 3, VALUE_BYTES = 32, POWER_BYTES = 48 };

/* One line of the table. */
typedef struct code_row {
    uint32_t code;
    char bits[BITS_BYTES]; /* "1 0110 101": sign, exponent, mantissa */
    const char *class_name;
    float value;
} code_row;

const char *hu_code_class(const hu_format *format, uint32_t code) {
    float value;
    if (hu_format_decode(format, code, &value) != HU_OK || isnan(value)) return "NaN";
    if (isinf(value)) return "inf";
    if (value == 0.0f) return "zero";
    return fabs((double)value) < hu_format_limits_of(format).min_normal ? "subnormal" : "normal";
}

static code_row row_of(const hu_format *format, uint32_t code) {
    code_row row = {.code = code, .class_name = hu_code_class(format, code)};
    int bits = (int)hu_format_bits(format);
    char *at = row.bits;
    for (int i = bits - 1; i >= 0; i--) {
        *at++ = (char)('0' + (code >> i & 1));
        if (i == bits - 1 || (i == format->man_bits && i > 0)) *at++ = ' ';
    }
    /* Every code has a value (halfulp/format.h). */
    if (hu_format_decode(format, code, &row.value) != HU_OK) row.value = NAN;
    return row;
}

/* Nine digits give every float32 back, seventeen every double. */
static const char *value_text(float value, int digits, char text[VALUE_BYTES]) {
    if (isnan(value))
        snprintf(text, VALUE_BYTES, "NaN");
    else
        snprintf(text, VALUE_BYTES, "%.*g", digits, (double)value);
    return text;
}

/* "1.75 x 2^-3"; "" of what is no number or zero. */
static const char *power_text(float value, char text[POWER_BYTES]) {
    int exponent;
    double fraction = 2 * frexp((double)value, &exponent);
    text[0] = '\0';
    if (isfinite(value) && value != 0.0f)
        snprintf(text, POWER_BYTES, "%.9g x 2^%d", fraction, exponent - 1);
    return text;
}

static int code_digits(const hu_format *format) {
    return (int)(hu_format_bits(format) + 3) / 4;
}

static hu_status check(const hu_named_format *named, int count) {
    for (int i = 0; i < count; i++)
        if (hu_format_bits(&named[i].format) > HU_CODE_BITS_MOST)
            return hu_fail(HU_ERR_ARGUMENT,
                           "found %s with %u bits, expected at most %d for a table of all codes "
                           "(--decode gives the numbers of single ones)",
                           named[i].typed, hu_format_bits(&named[i].format), HU_CODE_BITS_MOST);
    return HU_OK;
}

static hu_status show(const hu_named_format *named) {
    static const char *const titles[] = {"code", "bits", "class", "value", "exactly"};
    const hu_format *format = &named->format;
    char words[3 * HU_FORMAT_NAME_BYTES], value[VALUE_BYTES], power[POWER_BYTES];
    hu_table *table;
    hu_status st = hu_table_create(titles, 5, &table);
    if (st != HU_OK) return st;
    for (uint32_t code = 0; code < 1u << hu_format_bits(format); code++) {
        code_row row = row_of(format, code);
        HU_TRY(hu_table_cell(table, "0x%0*x", code_digits(format), code));
        HU_TRY(hu_table_cell(table, "%s", row.bits));
        HU_TRY(hu_table_cell(table, "%s", row.class_name));
        HU_TRY(hu_table_cell(table, "%s", value_text(row.value, 9, value)));
        HU_TRY(hu_table_cell(table, "%s", power_text(row.value, power)));
    }
    hu_named_format_words(named, words, sizeof words);
    printf("%s%s\n\n", words, named->is_element ? ", in units of the block's scale" : "");
    st = hu_show_table(table);
done:
    hu_table_free(table);
    return st;
}

hu_status hu_codes_show(const hu_named_format *named, int count) {
    hu_status st = check(named, count);
    for (int i = 0; i < count && st == HU_OK; i++) {
        if (i > 0) printf("\n");
        st = show(&named[i]);
    }
    return st;
}

/* A comma in a name, as in fp(4,3,4), wants quotes (RFC 4180). */
hu_status hu_codes_csv(const hu_named_format *named, int count) {
    char value[VALUE_BYTES];
    hu_status st = check(named, count);
    if (st != HU_OK) return st;
    printf("format,code,bits,class,value\n");
    for (int i = 0; i < count; i++)
        for (uint32_t code = 0; code < 1u << hu_format_bits(&named[i].format); code++) {
            code_row row = row_of(&named[i].format, code);
            printf("\"%s\",0x%0*x,%s,%s,%s\n", named[i].name, code_digits(&named[i].format), code,
                   row.bits, row.class_name, value_text(row.value, 17, value));
        }
    return HU_OK;
}

static json_t *json_of(const hu_named_format *named) {
    json_t *codes = json_array(), *object = hu_format_json(named);
    for (uint32_t code = 0; code < 1u << hu_format_bits(&named->format); code++) {
        code_row row = row_of(&named->format, code);
        json_array_append_new(codes, json_pack("{s:i, s:s, s:s, s:o}", "code", (int)code, "bits",
                                               row.bits, "class", row.class_name, "value",
                                               hu_json_number((double)row.value)));
    }
    if (object && json_object_set_new(object, "table", codes) == 0) return object;
    json_decref(object);
    return NULL;
}

hu_status hu_codes_json(const hu_named_format *named, int count) {
    hu_status st = check(named, count);
    if (st != HU_OK) return st;
    if (count == 1) return hu_json_print(json_of(named));
    json_t *all = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(all, json_of(&named[i]));
    return hu_json_print(json_pack("{s:o}", "formats", all));
}
