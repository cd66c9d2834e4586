/* show/stdout.h - results on stdout: the only file below the program that prints. */
#ifndef HU_SHOW_STDOUT_H
#define HU_SHOW_STDOUT_H
#include "show/json.h"
#include "show/table.h"

/* From here on all that is printed to stdout is written by calls that are repeated when a signal
 * interrupts them, or a pipe has no room, until all of it is written or one of them fails. Once, at
 * the start of a program, before anything is printed. Where the C library cannot have a stream of
 * its own, stdout stays what it is. */
void hu_stdout_open(void);

/* Writes what is left. HU_ERR_IO: some of what was printed could not be written, and why; results
 * that could not be written are no results. */
hu_status hu_stdout_end(void);

/* Prints the whole table. HU_ERR_MEMORY. */
hu_status hu_show_table(const hu_table *table);

/* Prints a text where it was made, and frees it; gives made back. */
hu_status hu_show_text(hu_status made, char *text);

/* Writes object to stdout, indented, with a final newline, and drops the reference. NULL (out of
 * memory on the way) is HU_ERR_MEMORY. */
hu_status hu_json_print(json_t *object);

#endif
