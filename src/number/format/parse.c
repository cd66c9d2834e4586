/* format/parse.c - reading a format's name.
 *
 *   name    = base *(":" option)
 *   base    = a name of the table | "e" X "m" Y | "1/" X "/" Y [ "/d" | "/n" ] | "fp(" X "," Y ","
 *             b ")" ; b is added to the default bias, FIN: Lee et al.
 *   option  = "bias=" B | "specials=" ("ieee" | "fin" | "fn" | "fnuz") |
 *             "sub=" ("d" | "n" | "nearest") | "ovf=" ("inf" | "sat" | "nan" | "propagate") |
 *             "nan=" ("nan" | "ovf")
 */
#include <halfulp/format.h>

#include "base/error.h"
#include "format/draft.h"
#include "format/table/table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Characters of a text, and digits of a number: far more than any field has. */
enum { TEXT_MAX = 175, DIGITS_MAX = 15 };

typedef struct parser {
    const char *original;
    char text[TEXT_MAX + 1]; /* lower case */
    size_t at;
    size_t start[HU_FIELD_COUNT]; /* where each field was said */
    int is_given[HU_FIELD_COUNT]; /* by an option */
    hu_format_draft draft;
} parser;

static hu_status fail_expected(const parser *p, const char *expected) {
    char found[24] = "the end";
    unsigned char c = (unsigned char)p->text[p->at];
    if (c != '\0') snprintf(found, sizeof found, isprint(c) ? "'%c'" : "byte 0x%02x", c);
    return hu_fail(HU_ERR_PARSE, "format '%s', column %zu: found %s, expected %s", p->original,
                   p->at + 1, found, expected);
}

/* Takes the word if it stands here. Both are lower case by now, so they compare byte by byte. */
static int accept_word(parser *p, const char *word) {
    size_t length = strlen(word);
    if (strncmp(p->text + p->at, word, length) != 0) return 0;
    p->at += length;
    return 1;
}

static void skip_spaces(parser *p) {
    while (p->text[p->at] == ' ') p->at++;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static hu_status read_number(parser *p, int is_signed, const char *expected, int64_t *number) {
    int is_negative = 0;
    size_t start = p->at;
    *number = 0;
    if (is_signed && (p->text[p->at] == '-' || p->text[p->at] == '+'))
        is_negative = p->text[p->at++] == '-';
    if (!is_digit(p->text[p->at])) return fail_expected(p, expected);
    while (p->text[p->at] == '0') p->at++;
    for (int digits = 0; is_digit(p->text[p->at]); p->at++) {
        if (digits++ == DIGITS_MAX)
            return hu_fail(HU_ERR_FORMAT,
                           "format '%s', column %zu: found a number of more than %d digits, "
                           "expected %s",
                           p->original, start + 1, DIGITS_MAX, expected);
        *number = *number * 10 + (p->text[p->at] - '0');
    }
    if (is_negative) *number = -*number;
    return HU_OK;
}

/* A number for a field, and where it stands, for the message of a check that comes later. */
static hu_status read_field(parser *p, hu_format_field field, int is_signed, const char *expected) {
    p->start[field] = p->at;
    return read_number(p, is_signed, expected, &p->draft.value[field]);
}

/* Specials bring the overflow behaviour that fits them; an option ovf= may change it. */
static void set_specials(parser *p, hu_specials specials) {
    p->draft.value[HU_FIELD_SPECIALS] = specials;
    p->draft.value[HU_FIELD_OVERFLOW] = hu_format_default_overflow(specials);
}

/* "eXmY"; at the letter e. */
static hu_status read_widths(parser *p) {
    hu_status st = HU_OK;
    p->at++;
    HU_TRY(read_field(p, HU_FIELD_EXP_BITS, 0, "the number of exponent bits"));
    if (!accept_word(p, "m")) return fail_expected(p, "a digit or 'm' and the mantissa bits");
    HU_TRY(read_field(p, HU_FIELD_MAN_BITS, 0, "the number of mantissa bits"));
    if (p->text[p->at] != '\0' && p->text[p->at] != ':') {
        if (isalpha((unsigned char)p->text[p->at])) return hu_format_fail_unknown(p->original);
        return fail_expected(p, "a digit, ':' or the end");
    }
    set_specials(p, HU_SPECIALS_IEEE);
    p->draft.value[HU_FIELD_SUBNORMALS] = 1;
    p->draft.value[HU_FIELD_BIAS] = hu_format_default_bias(p->draft.value[HU_FIELD_EXP_BITS]);
done:
    return st;
}

/* "1/X/Y", "1/X/Y/d", "1/X/Y/n". Source: 1/6/9 study, notation s/e/p/d. */
static hu_status read_slashes(parser *p) {
    hu_status st = HU_OK;
    if (!accept_word(p, "1")) return fail_expected(p, "'1', the one sign bit");
    if (!accept_word(p, "/")) return fail_expected(p, "'/' and the exponent bits");
    HU_TRY(read_field(p, HU_FIELD_EXP_BITS, 0, "the number of exponent bits"));
    if (!accept_word(p, "/")) return fail_expected(p, "a digit or '/' and the mantissa bits");
    HU_TRY(read_field(p, HU_FIELD_MAN_BITS, 0, "the number of mantissa bits"));
    set_specials(p, HU_SPECIALS_IEEE);
    p->draft.value[HU_FIELD_SUBNORMALS] = 1;
    p->draft.value[HU_FIELD_BIAS] = hu_format_default_bias(p->draft.value[HU_FIELD_EXP_BITS]);
    if (accept_word(p, "/")) {
        if (accept_word(p, "n"))
            p->draft.value[HU_FIELD_SUBNORMALS] = 0;
        else if (!accept_word(p, "d"))
            return fail_expected(p, "'d' (subnormals) or 'n' (none)");
    }
done:
    return st;
}

/* "fp(e,m,b)", spaces allowed after "(" and around commas. */
static hu_status read_lee(parser *p) {
    hu_status st = HU_OK;
    skip_spaces(p);
    HU_TRY(read_field(p, HU_FIELD_EXP_BITS, 0, "the number of exponent bits"));
    skip_spaces(p);
    if (!accept_word(p, ",")) return fail_expected(p, "a digit or ',' and the mantissa bits");
    skip_spaces(p);
    HU_TRY(read_field(p, HU_FIELD_MAN_BITS, 0, "the number of mantissa bits"));
    skip_spaces(p);
    if (!accept_word(p, ",")) return fail_expected(p, "a digit or ',' and the additional bias");
    skip_spaces(p);
    HU_TRY(read_field(p, HU_FIELD_BIAS, 1, "the additional exponent bias"));
    skip_spaces(p);
    if (!accept_word(p, ")")) return fail_expected(p, "a digit or ')'");
    set_specials(p, HU_SPECIALS_FIN);
    p->draft.value[HU_FIELD_SUBNORMALS] = 1;
    p->draft.value[HU_FIELD_BIAS] += hu_format_default_bias(p->draft.value[HU_FIELD_EXP_BITS]);
done:
    return st;
}

/* What stands before the first ':'. Names of the table win over spellings, so "e4m3" is the row's.
 */
static hu_status read_base(parser *p) {
    size_t length = strcspn(p->text, ":");
    hu_format named;
    if (length == 0) return fail_expected(p, "the name of a format");
    if (hu_format_named_find(p->text, length, &named)) {
        p->draft = hu_format_draft_of(&named);
        p->at = length;
        return HU_OK;
    }
    if (hu_format_meant(p->original)) return hu_format_fail_unknown(p->original);
    if (is_digit(p->text[0])) return read_slashes(p);
    if (accept_word(p, "fp(")) return read_lee(p);
    if (p->text[0] == 'e' && is_digit(p->text[1])) return read_widths(p);
    return hu_format_fail_unknown(p->original);
}

/* The number whose word stands here; the position stays before the word if there is none. name
 * gives the word of a number, NULL after the last. */
static hu_status read_choice(parser *p, hu_format_field field, const char *name(int64_t),
                             const char *expected) {
    size_t length = strcspn(p->text + p->at, ":");
    p->start[field] = p->at;
    for (int64_t i = 0; name(i) != NULL; i++)
        if (strlen(name(i)) == length && memcmp(name(i), p->text + p->at, length) == 0) {
            p->draft.value[field] = i;
            p->at += length;
            return HU_OK;
        }
    return fail_expected(p, expected);
}

/* What stands after an option's '='. */
static hu_status read_value(parser *p, hu_format_field field) {
    switch (field) {
    case HU_FIELD_SPECIALS:
        return read_choice(p, field, hu_specials_name, "'ieee', 'fin', 'fn' or 'fnuz'");
    case HU_FIELD_SUBNORMALS:
        return read_choice(p, field, hu_subnormals_name, "'d', 'n' or 'nearest'");
    case HU_FIELD_OVERFLOW:
        return read_choice(p, field, hu_overflow_name, "'inf', 'sat', 'nan' or 'propagate'");
    case HU_FIELD_NAN:
        return read_choice(p, field, hu_nan_name, "'nan' or 'ovf'");
    default:
        return read_field(p, field, 1, "the total exponent bias");
    }
}

/* One option after a ':', each at most once. */
static hu_status read_option(parser *p) {
    static const struct {
        const char *key;
        hu_format_field field;
    } options[] = {{"bias=", HU_FIELD_BIAS},
                   {"specials=", HU_FIELD_SPECIALS},
                   {"sub=", HU_FIELD_SUBNORMALS},
                   {"ovf=", HU_FIELD_OVERFLOW},
                   {"nan=", HU_FIELD_NAN}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        hu_format_field field = options[i].field;
        size_t start = p->at;
        if (!accept_word(p, options[i].key)) continue;
        if (p->is_given[field]++)
            return hu_fail(HU_ERR_PARSE, "format '%s', column %zu: '%s' is given twice",
                           p->original, start + 1, options[i].key);
        return read_value(p, field);
    }
    return fail_expected(p, "'bias=', 'specials=', 'sub=', 'ovf=' or 'nan='");
}

/* The whole text; then the draft is checked, and a message names the column of the field that is
 * wrong. */
static hu_status read_format(parser *p) {
    hu_status st = HU_OK;
    hu_format_field field;
    HU_TRY(read_base(p));
    while (accept_word(p, ":")) HU_TRY(read_option(p));
    if (p->text[p->at] != '\0') return fail_expected(p, "':' or the end");
    /* specials= changes the default overflow whatever the order of options. */
    if (p->is_given[HU_FIELD_SPECIALS] && !p->is_given[HU_FIELD_OVERFLOW])
        p->draft.value[HU_FIELD_OVERFLOW] =
            hu_format_default_overflow((hu_specials)p->draft.value[HU_FIELD_SPECIALS]);
    st = hu_format_draft_check(&p->draft, &field);
    if (st != HU_OK)
        hu_fail_within(st, "format '%s', column %zu: ", p->original, p->start[field] + 1);
done:
    return st;
}

hu_status hu_format_parse(const char *text, hu_format *format) {
    HU_GIVEN(format);
    *format = (hu_format){0};
    HU_GIVEN(text);
    if (hu_code_table_is_named(text)) return hu_code_table_parse(text, format);
    parser p = {.original = text};
    size_t length = strlen(text);
    memset(format, 0, sizeof *format);
    if (length > TEXT_MAX)
        return hu_fail(HU_ERR_PARSE,
                       "format '%.32s...', column %d: the name goes on, expected at most %d "
                       "characters",
                       text, TEXT_MAX + 1, TEXT_MAX);
    /* Columns of messages count in the caller's text, which has the same length. */
    for (size_t i = 0; i < length; i++) p.text[i] = (char)tolower((unsigned char)text[i]);
    hu_status st = read_format(&p);
    if (st == HU_OK) *format = hu_format_of_draft(&p.draft);
    return st;
}
