/* session/given_files.h - files that a command names, one by one or by their folder. */
#ifndef HU_SESSION_GIVEN_FILES_H
#define HU_SESSION_GIVEN_FILES_H
#include "config/config.h"

typedef struct hu_given_files {
    char **path; /* [count] */
    size_t count, capacity;
    size_t left_out; /* files and folders that were named, or lie in a folder that was, and are not
                        among them */
    size_t unread; /* those of them that may be meant: pictures that cannot be read, and files that
                      were named */
} hu_given_files;

/* Hears of a file that is left out, and why: "FILE: damaged ...". */
typedef void hu_given_file_left(const char *why);

/* The subjects of a command from number first on: a file stands for itself, a folder for its
 * pictures (of their usual endings) or, where it has none, for its sounds, sorted by name.
 * What else lies beside pictures is told and counted. HU_ERR_MISSING where a folder has neither,
 * HU_ERR_IO, HU_ERR_MEMORY. Whether files are there and sound is found out by who reads them. Owner
 * frees with hu_given_files_free, also on failure. */
hu_status hu_given_files_read(const hu_config *config, int first, hu_given_file_left *told,
                              hu_given_files *files);

/* Reads the pictures of several files and takes those out that cannot be read: damaged ones, files
 * of other kinds, and those that are not there. A file alone stays, and so do sounds.
 * HU_ERR_CORRUPT where none can be read; HU_ERR_MEMORY and others. */
hu_status hu_given_files_leave_out(hu_given_files *files, hu_given_file_left *told);
void hu_given_files_free(hu_given_files *files);

#endif
