/* data/file_names.h - sorted names in a directory. */
#ifndef HU_DATA_FILE_NAMES_H
#define HU_DATA_FILE_NAMES_H
#include <stdbool.h>
#include <stddef.h>

#include <halfulp/status.h>

typedef struct hu_file_names {
    char **name; /* [count] */
    size_t count, capacity;
} hu_file_names;

/* Adds a copy. */
hu_status hu_file_names_add(hu_file_names *names, const char *name);
void hu_file_names_free(hu_file_names *names);

/* Index of a name in sorted names; -1: it is not there. */
long hu_file_names_find(const hu_file_names *names, const char *name);

/* Names of the folders in a directory, or of the files that end in .jpg, .jpeg or .png in any case;
 * sorted byte by byte, without those that begin with a dot. HU_ERR_MISSING, HU_ERR_IO,
 * HU_ERR_MEMORY; the names are then empty. */
hu_status hu_file_names_of_folders(const char *directory, hu_file_names *names);
hu_status hu_file_names_of_images(const char *directory, hu_file_names *names);

/* Whether path is a folder. */
bool hu_is_folder(const char *path);

#endif
