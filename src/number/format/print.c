/* format/print.c - the canonical spelling of a format. */
#include <halfulp/format.h>

#include "base/error.h"
#include "format/draft.h"
#include "format/table/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The longest text with all options, and room to spare. */
enum { TEXT_MIN = 64 };

/* Name of the format in the table, NULL if it has none. */
static const char *table_name(const hu_format *format) {
    for (uint32_t i = 0; i < hu_format_float_count(); i++) {
        hu_format named;
        const char *name = hu_format_named(i, &named, NULL);
        if (hu_format_equal(&named, format)) return name;
    }
    return NULL;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, uint32_t capacity,
                                                         const char *form, ...) {
    size_t used = strlen(text);
    va_list args;
    va_start(args, form);
    vsnprintf(text + used, capacity - used, form, args);
    va_end(args);
}

/* The options by which the format differs from a base, as read_format() would read them. */
static void print_options(const hu_format *format, const hu_format *base, char *text,
                          uint32_t capacity) {
    int overflow = base->overflow;
    if (format->bias != base->bias) append(text, capacity, ":bias=%d", (int)format->bias);
    if (format->specials != base->specials) {
        append(text, capacity, ":specials=%s", hu_specials_name(format->specials));
        overflow = (int)hu_format_default_overflow((hu_specials)format->specials);
    }
    if (format->subnormals != base->subnormals || format->underflow != base->underflow)
        append(text, capacity, ":sub=%s", hu_format_subnormals_name(format));
    if (format->overflow != overflow)
        append(text, capacity, ":ovf=%s", hu_overflow_name(format->overflow));
    if (format->nan != base->nan) append(text, capacity, ":nan=%s", hu_nan_name(format->nan));
}

/* "fp(e,m,b)" with options. */
static void print_lee(const hu_format *format, char *text, uint32_t capacity) {
    hu_format base = *format;
    int additional_bias = format->bias - (int)hu_format_default_bias(format->exp_bits);
    base.subnormals = 1;
    base.overflow = HU_OVERFLOW_SAT;
    base.underflow = HU_UNDERFLOW_FLUSH;
    base.nan = HU_NAN_STAYS;
    append(text, capacity, "fp(%d,%d,%d)", format->exp_bits, format->man_bits, additional_bias);
    print_options(format, &base, text, capacity);
}

/* "eXmY" as it is read when no name of the table is spelled so. */
static void print_plain(const hu_format *format, char *text, uint32_t capacity) {
    hu_format base = {.exp_bits = format->exp_bits,
                      .man_bits = format->man_bits,
                      .specials = HU_SPECIALS_IEEE,
                      .subnormals = 1,
                      .overflow = HU_OVERFLOW_INF,
                      .bias = (int32_t)hu_format_default_bias(format->exp_bits)};
    append(text, capacity, "e%dm%d", format->exp_bits, format->man_bits);
    hu_format_named_find(text, strlen(text), &base);
    print_options(format, &base, text, capacity);
}

/* Whether the format is one of IEEE P3109: signed and finite. */
static int is_p3109(const hu_format *format) {
    enum { BITS_MOST = 16 };
    return hu_format_bits(format) <= BITS_MOST && format->specials == HU_SPECIALS_FNUZ &&
           format->overflow == HU_OVERFLOW_SAT && format->subnormals &&
           format->bias == 1 << (format->exp_bits - 1);
}

/* The first of several that are equally short stays. */
static void keep_shorter(const char *candidate, char *text) {
    size_t length = strlen(candidate);
    if (length < strlen(text)) memcpy(text, candidate, length + 1);
}

/* The shortest of eXmY with options, P3109's name and the names of equal widths with options. */
static void print_shortest(const hu_format *format, char *text, uint32_t capacity) {
    print_plain(format, text, capacity);
    if (is_p3109(format)) {
        char candidate[TEXT_MIN] = "";
        append(candidate, sizeof candidate, "binary%dp%dsf",
               1 + format->exp_bits + format->man_bits, format->man_bits + 1);
        keep_shorter(candidate, text);
    }
    if (format->nan != HU_NAN_STAYS) {
        char candidate[TEXT_MIN] = "";
        print_lee(format, candidate, sizeof candidate);
        keep_shorter(candidate, text);
    }
    for (uint32_t i = 0; i < hu_format_float_count(); i++) {
        char candidate[TEXT_MIN] = "";
        hu_format named;
        const char *name = hu_format_named(i, &named, NULL);
        if (named.exp_bits != format->exp_bits || named.man_bits != format->man_bits) continue;
        append(candidate, sizeof candidate, "%s", name);
        print_options(format, &named, candidate, sizeof candidate);
        keep_shorter(candidate, text);
    }
}

hu_status hu_format_print(const hu_format *format, char *text, uint32_t capacity) {
    HU_GIVEN(format);
    HU_GIVEN(text);
    hu_status st = HU_OK;
    if (capacity > 0) text[0] = '\0';
    if (capacity < TEXT_MIN)
        return hu_fail(HU_ERR_ARGUMENT, "format name into %u bytes, at least %d are needed",
                       capacity, TEXT_MIN);
    HU_TRY(hu_format_check(format));
    if (format->table) return hu_code_table_print(format, text, capacity);
    const char *name = table_name(format);
    /* The first of: a name of the table, Lee et al.'s spelling, the shortest with options. Each is
     * read as the same format. */
    if (name != NULL)
        append(text, capacity, "%s", name);
    else if (format->specials == HU_SPECIALS_FIN && format->subnormals &&
             format->overflow == HU_OVERFLOW_SAT && format->nan == HU_NAN_STAYS)
        print_lee(format, text, capacity);
    else
        print_shortest(format, text, capacity);
done:
    return st;
}
