/* cli/plain_format.h - number formats where an edge's rounding has no place. */
#ifndef HU_CLI_PLAIN_FORMAT_H
#define HU_CLI_PLAIN_FORMAT_H
#include <halfulp/format.h>

/* Reads a number format; a fixed scale (e4m3fn:scale=2^3) is one, with another bias. Errors as
 * hu_format_parse; HU_ERR_PARSE that says so for block formats, other scales and rounding modes. */
hu_status hu_plain_format_parse(const char *text, hu_format *format);

#endif
