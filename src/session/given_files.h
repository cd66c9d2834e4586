/* session/given_files.h - files that a command names, one by one or by their folder. */
#ifndef HU_SESSION_GIVEN_FILES_H
#define HU_SESSION_GIVEN_FILES_H
#include "config/config.h"

typedef struct hu_given_files {
    char **path; /* [count] */
    size_t count, capacity;
} hu_given_files;

/* The subjects of a command from number first on: a file stands for itself, a folder for its
 * pictures (of their usual endings) or, where it has none, for its sounds, sorted by name.
 * HU_ERR_MISSING where a folder has neither, HU_ERR_IO, HU_ERR_MEMORY. Whether files are there and
 * sound is found out by who reads them. Owner frees with hu_given_files_free, also on failure. */
hu_status hu_given_files_read(const hu_config *config, int first, hu_given_files *files);

/* Hears of a file that is left out, and why: "FILE: damaged ...". */
typedef void hu_given_file_left(const char *why);

/* Reads the pictures of several files and takes those out that are damaged; *left_out: how many. A
 * file alone stays, and so do sounds. HU_ERR_CORRUPT where all are damaged; HU_ERR_MISSING,
 * HU_ERR_IO, HU_ERR_MEMORY at the first file with another failure. */
hu_status hu_given_files_leave_out(hu_given_files *files, hu_given_file_left *told,
                                   size_t *left_out);
void hu_given_files_free(hu_given_files *files);

#endif
