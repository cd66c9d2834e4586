/* format/table/keep.h - tables of files kept beside what was made with them: a run's folder has its
 * own copies, which are read wherever the files have gone or however they have changed.
 */
#ifndef HU_FORMAT_TABLE_KEEP_H
#define HU_FORMAT_TABLE_KEEP_H
#include <stddef.h>

#include <halfulp/status.h>

/* The folder of copies in a run's. */
#define HU_CODE_TABLES_FOLDER "tables"

/* Writes what this process has read of files into directory/tables, a file each; nothing where it
 * has read none. Errors of files. */
hu_status hu_code_tables_keep(const char *directory);

/* From now on a table of a file that directory/tables has is read from there. The latest folder
 * counts. Errors of files; no such folder is no error. Thread-safe. Proof:
 * tests/unit/format_table_test.c. */
hu_status hu_code_tables_recall(const char *directory);

/* HU_ERR_ARGUMENT: directory/tables has other numbers than a file that this process has read.
 * Errors of files. Proof: tests/program/compare_test.py. */
hu_status hu_code_tables_check(const char *directory);

/* The contents that were recalled for a path: *text [*bytes] with a zero after it, owner frees;
 * NULL: none were. */
hu_status hu_code_tables_recalled(const char *path, char **text, size_t *bytes);

#endif
