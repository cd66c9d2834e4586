/* format/list.h - the table of named formats. */
#ifndef HU_FORMAT_LIST_H
#define HU_FORMAT_LIST_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>

/* Looks up length characters of text, lower case. Returns 0 and leaves *format if no name fits. */
int hu_format_named_find(const char *text, size_t length, hu_format *format);

/* Message of an unknown name: the three nearest names. */
hu_status hu_format_fail_unknown(const char *name);

#endif
