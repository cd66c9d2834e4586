/* format/names.h - the table of named formats, and what a name may have meant. */
#ifndef HU_FORMAT_NAMES_H
#define HU_FORMAT_NAMES_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>

/* Looks up length characters of text, lower case. Returns 0 and leaves *format if no name fits. */
int hu_format_named_find(const char *text, size_t length, hu_format *format);

/* What is meant here by a name that a format has elsewhere ("int8": "uniform8, or ..."), or what is
 * known in the place of another number system ("posit8"); in any case, up to a ':' or a blank. NULL
 * if it is not known. Borrowed: valid for ever. */
const char *hu_format_meant(const char *name);

/* Message of an unknown name: what it means, or the three nearest names. */
hu_status hu_format_fail_unknown(const char *name);

#endif
