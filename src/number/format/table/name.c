/* format/table/name.c - names of formats by table.
 *
 *   name = a generator's *(":bias=" B | ":ovf=" ("inf" | "sat" | "nan" | "propagate" | "none") |
 *          ":sat=" ("finite" | "propagate" | "none"))      the last of P3109's
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "format/draft.h"
#include "format/table/register.h"

/* ---- the list of generators ---- */

/* clang-format off */
#define GENERATOR(prefix, goes_on, form, read, summary)                                            \
    {prefix, goes_on, form, summary, hu_##read##_read, hu_##read##_fill}
static const hu_code_generator generators[] = {
    GENERATOR("posit", HU_THEN_DIGIT, "positN (N = 3..16)", posit,
              "posits of the standard of 2022: 2 exponent bits, tapered precision (:es=0..4)"),
    GENERATOR("takum", HU_THEN_DIGIT, "takumN (N = 3..16)", takum,
              "linear takums: a range of 2^+-254 that hardly depends on N, tapered precision"),
    GENERATOR("takumlog", HU_THEN_DIGIT, "takumlogN (N = 3..16)", takum,
              "logarithmic takums: powers of e^(1/2)"),
    GENERATOR("hif8", HU_THEN_END | HU_THEN_COLON, "hif8", hif8,
              "HiFloat8: 1 to 3 mantissa bits by magnitude, ties away from zero"),
    GENERATOR("binary", HU_THEN_DIGIT, "binaryKpPse (K = 3..16; s|u, e|f)", p3109,
              "IEEE P3109: K bits, P of precision; un/signed, extended|finite (8p3se)"),
    GENERATOR("lns", HU_THEN_DIGIT, "lnsN:f=F (N = 3..16)", lns,
              "logarithmic numbers: sign and a fixed-point log2 of F fraction bits"),
    GENERATOR("nf4", HU_THEN_END | HU_THEN_COLON, "nf4", nf4,
              "NormalFloat of QLoRA: 16 quantiles of a normal distribution, -1..1"),
    GENERATOR("ternary", HU_THEN_END | HU_THEN_COLON, "ternary", ternary,
              "-1, 0 and 1"),
    GENERATOR("book", HU_THEN_COLON, "book:LO..HI:N", book,
              "N evenly spaced numbers from LO to HI"),
    GENERATOR("table", HU_THEN_COLON, "table:FILE", table_file,
              "the numbers of a file, one a line in the order of codes"),
};
#undef GENERATOR
/* clang-format on */

const hu_code_generator *hu_code_generator_at(size_t index) {
    return index < sizeof generators / sizeof *generators ? &generators[index] : NULL;
}

static bool goes_on_so(int goes_on, unsigned char c) {
    return ((goes_on & HU_THEN_DIGIT) && isdigit(c)) || ((goes_on & HU_THEN_COLON) && c == ':') ||
           ((goes_on & HU_THEN_END) && c == '\0') || ((goes_on & HU_THEN_LETTER) && isalpha(c));
}

static bool begins(const char *text, const char *word) {
    for (; *word; text++, word++)
        if (tolower((unsigned char)*text) != *word) return false;
    return true;
}

const hu_code_generator *hu_code_generator_of(const char *text) {
    const hu_code_generator *g;
    if (hu_p3109_is_short(text)) text = "binary8";
    for (size_t i = 0; (g = hu_code_generator_at(i)) != NULL; i++)
        if (begins(text, g->prefix) &&
            goes_on_so(g->goes_on, (unsigned char)text[strlen(g->prefix)]))
            return g;
    return NULL;
}

/* ---- names for lists ---- */

/* The rows of lists: a name and its own words, if the generator's are not enough. */
static const struct {
    const char *name, *summary;
} named[] = {
    {"posit6", "posit of 6 bits (standard of 2022)"},
    {"posit8", "posit of 8 bits (standard of 2022)"},
    {"posit16", "posit of 16 bits (standard of 2022)"},
    {"takum8", "linear takum of 8 bits"},
    {"takum16", "linear takum of 16 bits"},
    {"takumlog8", "logarithmic takum of 8 bits"},
    {"takumlog16", "logarithmic takum of 16 bits"},
    {"hif8", "HiFloat8: 1 to 3 mantissa bits by magnitude, ties away"},
    {"binary8p3se", "IEEE P3109: 8 bits, precision 3, signed, extended (:sat=none)"},
    {"binary8p4se", "IEEE P3109: 8 bits, precision 4, signed, extended"},
    {"lns8", "logarithmic numbers of 8 bits: 2^(k/8), 2^-8 to 2^8"},
    {"nf4", "NormalFloat of QLoRA: 16 quantiles of a normal distribution"},
    {"ternary", "-1, 0 and 1"},
};

uint32_t hu_code_table_named_count(void) {
    return sizeof named / sizeof *named;
}

const char *hu_code_table_named(uint32_t index, hu_format *format, const char **description) {
    if (index >= hu_code_table_named_count()) return NULL;
    if (format) (void)hu_code_table_parse(named[index].name, format);
    if (description) *description = named[index].summary;
    return named[index].name;
}

bool hu_code_table_is_named(const char *text) {
    return hu_code_generator_of(text) != NULL;
}

/* ---- reading ---- */

hu_status hu_code_fail_expected(const hu_code_recipe *r, const char *expected) {
    char found[24] = "the end";
    unsigned char c = (unsigned char)r->text[r->used];
    if (c != '\0') snprintf(found, sizeof found, isprint(c) ? "'%c'" : "byte 0x%02x", c);
    return hu_fail(HU_ERR_PARSE, "format '%s', column %zu: found %s, expected %s", r->original,
                   r->used + 1, found, expected);
}

bool hu_code_accept(hu_code_recipe *r, const char *word) {
    size_t length = strlen(word);
    if (strncmp(r->text + r->used, word, length) != 0) return false;
    r->used += length;
    return true;
}

hu_status hu_code_read_number(hu_code_recipe *r, const char *what, int64_t least, int64_t most,
                              int64_t *number) {
    const char *at = r->text + r->used;
    char *end, expected[64];
    bool has_digit = isdigit((unsigned char)at[at[0] == '-' || at[0] == '+']);
    long long value = strtoll(at, &end, 10);
    snprintf(expected, sizeof expected, "%s %lld..%lld", what, (long long)least, (long long)most);
    if (!has_digit) return hu_code_fail_expected(r, expected);
    if (value < least || value > most)
        return hu_fail(HU_ERR_FORMAT, "format '%s', column %zu: found %.*s, expected %s",
                       r->original, r->used + 1, (int)(end - at < 20 ? end - at : 20), at,
                       expected);
    *number = value;
    r->used += (size_t)(end - at);
    return HU_OK;
}

hu_status hu_code_read_decimal(hu_code_recipe *r, const char *what, double *number) {
    char text[64];
    size_t length = 0;
    const char *at = r->text + r->used;
    hu_wide wide;
    /* Up to ':', the end, or the two dots of a range. */
    while (at[length] && at[length] != ':' && strncmp(at + length, "..", 2) != 0) length++;
    if (length >= sizeof text) return hu_code_fail_expected(r, what);
    memcpy(text, at, length);
    text[length] = '\0';
    if (!hu_wide_read(text, &wide)) return hu_code_fail_expected(r, what);
    *number = strtod(text, NULL);
    r->used += length;
    return HU_OK;
}

/* The words of ":sat=", each with what it means. Source: IEEE P3109, Interim Report 4.0, 4.7.5. */
static const struct {
    const char *word;
    hu_overflow overflow;
} saturations[] = {
    {"finite", HU_OVERFLOW_SAT}, {"propagate", HU_OVERFLOW_PROPAGATE}, {"none", HU_OVERFLOW_NONE}};
enum { SATURATIONS = sizeof saturations / sizeof *saturations };

static hu_status read_saturation(hu_code_recipe *r, hu_format *format) {
    for (size_t i = 0; i < SATURATIONS; i++)
        if (hu_code_accept(r, saturations[i].word)) {
            format->overflow = (uint8_t)saturations[i].overflow;
            return HU_OK;
        }
    return hu_code_fail_expected(r, "'finite', 'propagate' or 'none'");
}

static hu_status read_overflow(hu_code_recipe *r, hu_format *format) {
    for (int i = 0; hu_overflow_name(i); i++)
        if (hu_code_accept(r, hu_overflow_name(i))) {
            format->overflow = (uint8_t)i;
            return HU_OK;
        }
    return hu_code_fail_expected(r, "'inf', 'sat', 'nan', 'propagate' or 'none'");
}

/* ":bias=" and ":ovf=" or ":sat=", each once, to the end of the text. */
static hu_status read_options(hu_code_recipe *r, bool names_saturation, hu_format *format) {
    hu_status st = HU_OK;
    bool has_bias = false, has_overflow = false;
    int64_t bias;
    while (r->text[r->used] == ':') {
        if (!has_bias && hu_code_accept(r, ":bias=")) {
            has_bias = true;
            HU_TRY(hu_code_read_number(r, "a bias", -400, 400, &bias));
            format->bias = (int32_t)bias;
        } else if (!has_overflow && hu_code_accept(r, ":ovf=")) {
            has_overflow = true;
            HU_TRY(read_overflow(r, format));
        } else if (names_saturation && !has_overflow && hu_code_accept(r, ":sat=")) {
            has_overflow = true;
            HU_TRY(read_saturation(r, format));
        } else {
            r->used++;
            return hu_code_fail_expected(r, names_saturation
                                                ? "'bias=', and 'sat=' or 'ovf=', at most once"
                                                : "'bias=' or 'ovf=', each at most once");
        }
    }
    if (r->text[r->used] != '\0') return hu_code_fail_expected(r, "':' or the end");
done:
    return st;
}

/* The table of a recipe, made where the register has none. */
static hu_status table_of(const hu_code_generator *g, hu_code_recipe *r, uint64_t content,
                          uint32_t *number) {
    hu_status st = HU_OK;
    hu_code_draft draft = {0};
    hu_code_table *table = NULL;
    size_t length = strlen(r->name) + 1;
    *number = hu_code_register_find(r->name, content);
    if (*number) return HU_OK;
    HU_TRY(g->fill(r, &draft));
    st = hu_code_table_make(&draft, &table);
    if (st != HU_OK && r->file) HU_TRY(hu_fail_within(st, "%s, ", strchr(r->name, ':') + 1));
    if (st != HU_OK) HU_TRY(hu_fail_within(st, "format '%s': ", r->original));
    HU_TRY(hu_new_array(length, 1, &table->name));
    memcpy(table->name, r->name, length);
    table->summary = g->summary;
    table->content = content;
    table->source = r->file;
    table->source_bytes = r->file_bytes;
    r->file = NULL;
    hu_code_draft_close(&draft);
    return hu_code_register_add(table, number);
done:
    hu_code_draft_close(&draft);
    hu_code_table_free(table);
    return st;
}

/* A name that stands for a float, with the options of a table. All saturations of P3109 are one
 * where every number is finite. */
static hu_status take_plain(const hu_code_recipe *r, const hu_format *options, hu_format *format) {
    hu_format made = r->plain;
    made.bias += options->bias;
    if (options->overflow == HU_OVERFLOW_INF || options->overflow == HU_OVERFLOW_NAN)
        made.overflow = options->overflow;
    hu_status st = hu_format_check(&made);
    if (st != HU_OK) return hu_fail_within(st, "format '%s': ", r->original);
    *format = made;
    return HU_OK;
}

static hu_status parse(hu_code_recipe *r, hu_format *format) {
    const hu_code_generator *g = hu_code_generator_of(r->original);
    hu_status st = HU_OK;
    hu_format made = {.specials = HU_SPECIALS_TABLE, .subnormals = 1, .overflow = UINT8_MAX};
    r->used = begins(r->original, g->prefix) ? strlen(g->prefix) : 0;
    HU_TRY(g->read(r));
    HU_TRY(read_options(r, g->read == hu_p3109_read, &made));
    if (r->plain.exp_bits) return take_plain(r, &made, format);
    HU_TRY(table_of(g, r, r->file ? XXH64(r->file, r->file_bytes, 1) | 1 : 0, &made.table));
    if (made.overflow == UINT8_MAX) made.overflow = (uint8_t)hu_code_table_of(&made)->overflow;
    st = hu_code_table_check(&made);
    if (st != HU_OK) return hu_fail_within(st, "format '%s': ", r->original);
    *format = made;
done:
    return st;
}

hu_status hu_code_table_parse(const char *text, hu_format *format) {
    hu_code_recipe recipe = {.original = text};
    char *lower = NULL;
    size_t length = strlen(text);
    *format = (hu_format){0};
    hu_status st = hu_new_array(length + 1, 1, &lower);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < length; i++) lower[i] = (char)tolower((unsigned char)text[i]);
    recipe.text = lower;
    st = parse(&recipe, format);
    hu_free(recipe.file);
    hu_free(lower);
    return st;
}

hu_status hu_code_table_print(const hu_format *format, char *text, uint32_t capacity) {
    const hu_code_table *t = hu_code_table_of(format);
    char bias[24] = "", overflow[24] = "";
    if (format->bias) snprintf(bias, sizeof bias, ":bias=%d", (int)format->bias);
    if (format->overflow != t->overflow)
        snprintf(overflow, sizeof overflow, ":ovf=%s", hu_overflow_name(format->overflow));
    for (size_t i = 0; *overflow && t->is_p3109 && i < SATURATIONS; i++)
        if (format->overflow == saturations[i].overflow)
            snprintf(overflow, sizeof overflow, ":sat=%s", saturations[i].word);
    size_t needed = strlen(t->name) + strlen(bias) + strlen(overflow) + 1;
    if (needed > capacity)
        return hu_fail(HU_ERR_ARGUMENT, "format name into %u bytes, at least %zu are needed",
                       (unsigned)capacity, needed);
    snprintf(text, capacity, "%s%s%s", t->name, bias, overflow);
    return HU_OK;
}
