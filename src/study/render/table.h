/* render/table.h - text tables with aligned columns, for people. */
#ifndef HU_SHOW_TABLE_H
#define HU_SHOW_TABLE_H
#include <stdint.h>

#include <halfulp/status.h>

#include "render/json.h"
#include "render/terminal.h"

typedef struct hu_table hu_table;

/* A table whose first row is titles[columns] (copied); columns from 1 to 32. Owner frees with
 * hu_table_free. */
hu_status hu_table_create(const char *const *titles, int columns, hu_table **table);
void hu_table_free(hu_table *table);

/* Puts the next cell (printf form), row by row, left to right; control characters as "\xHH". */
hu_status hu_table_cell(hu_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* How the last cell looks where the table is printed in colours. A table tells all without them. */
void hu_table_look(hu_table *table, hu_colour look);

/* Leaves out those columns from `first` (0: the leftmost) on in which every row is zero ("0",
 * "0.00") or "-": they tell nothing. Call after the last cell of the last row; a table without
 * rows stays as it is. Proof: tests/unit/render_table_test.c. */
void hu_table_leave_out(hu_table *table, int first);

/* The whole text: titles, a line of dashes, rows; columns two blanks apart. A column whose cells
 * (all but "" and "-") begin like numbers is aligned right, others left; no blanks at line ends.
 * Owner frees *text with hu_free. Proof: tests/unit/render_table_test.c. */
hu_status hu_table_print(const hu_table *table, char **text);

/* The same as a table of Markdown: "|" stands as "\\|", columns of numbers are aligned right by the
 * reader of it ("---:"). Owner frees *text with hu_free. */
hu_status hu_table_markdown(const hu_table *table, char **text);

/* The same in colours or without; hu_colour_wanted tells whether. */
hu_status hu_table_print_for(const hu_table *table, bool is_coloured, char **text);

enum { HU_GROUPED_BYTES = 32 };

/* "1234567" as "1,234,567". text: room for HU_GROUPED_BYTES. Gives text. */
const char *hu_grouped(int64_t number, char *text);

/* ---- Results on stdout: the only file below the program that prints ---- */

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
