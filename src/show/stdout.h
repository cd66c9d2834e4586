/* show/stdout.h - results on stdout: the only file below the program that prints. */
#ifndef HU_SHOW_STDOUT_H
#define HU_SHOW_STDOUT_H
#include "show/json.h"
#include "show/table.h"

/* Prints the whole table. HU_ERR_MEMORY. */
hu_status hu_show_table(const hu_table *table);

/* Prints a text where it was made, and frees it; gives made back. */
hu_status hu_show_text(hu_status made, char *text);

/* Writes object to stdout, indented, with a final newline, and drops the reference. NULL (out of
 * memory on the way) is HU_ERR_MEMORY. */
hu_status hu_json_print(json_t *object);

#endif
