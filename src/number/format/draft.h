/* format/draft.h - a format as asked for, before it is known to be in the space of formats. */
#ifndef HU_FORMAT_DRAFT_H
#define HU_FORMAT_DRAFT_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>

/* The fields of a format. */
typedef enum hu_format_field {
    HU_FIELD_EXP_BITS,
    HU_FIELD_MAN_BITS,
    HU_FIELD_BIAS,
    HU_FIELD_SPECIALS,
    HU_FIELD_SUBNORMALS,
    HU_FIELD_OVERFLOW,
    HU_FIELD_NAN,
    HU_FIELD_COUNT
} hu_format_field;

/* value[] is indexed by hu_format_field; wide, so that nothing is cut off before the check.
 * HU_FIELD_SUBNORMALS: 0 and 1 as in a format, HU_SUBNORMALS_NEAREST. */
enum { HU_SUBNORMALS_NEAREST = 2 };
typedef struct hu_format_draft {
    int64_t value[HU_FIELD_COUNT];
} hu_format_draft;

/* The draft that a format passes the check with, if it does. */
hu_format_draft hu_format_draft_of(const hu_format *format);

/* As hu_format_check; *field names the first field that is wrong. */
hu_status hu_format_draft_check(const hu_format_draft *draft, hu_format_field *field);

/* The format of a draft that passed the check. */
hu_format hu_format_of_draft(const hu_format_draft *draft);

/* 2^(exp_bits-1) - 1; 0 for exponent bits outside 1..8. */
int64_t hu_format_default_bias(int64_t exp_bits);

/* inf for IEEE, sat for FIN, nan for FN and FNUZ. */
hu_overflow hu_format_default_overflow(hu_specials specials);

/* Words of the options, NULL if the value is outside its enumeration. */
const char *hu_specials_name(int64_t specials);
const char *hu_subnormals_name(int64_t subnormals);
const char *hu_overflow_name(int64_t overflow);
const char *hu_nan_name(int64_t nan);

/* "d", "n" or "nearest". */
const char *hu_format_subnormals_name(const hu_format *format);

/* The table of named formats, and what a name may have meant. */

/* Of the rows of hu_format_named the first ones, which are floats: asking for them makes no table.
 */
uint32_t hu_format_float_count(void);

/* Looks up length characters of text, lower case. Returns 0 and leaves *format if no name fits. */
int hu_format_named_find(const char *text, size_t length, hu_format *format);

/* What is meant here by a name that a format has elsewhere ("int8": "uniform8, or ..."), or what is
 * known in the place of another number system ("posit8"); in any case, up to a ':' or a blank. NULL
 * if it is not known. Borrowed: valid forever. */
const char *hu_format_meant(const char *name);

/* Message of an unknown name: what it means, or the three nearest names. */
hu_status hu_format_fail_unknown(const char *name);

#endif
