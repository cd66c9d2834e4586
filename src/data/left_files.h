/* data/left_files.h - what lies beside the files of a list and is not read, counted. */
#ifndef HU_DATA_LEFT_FILES_H
#define HU_DATA_LEFT_FILES_H
#include <stdbool.h>
#include <stdint.h>

#include <halfulp/status.h>

enum { HU_LEFT_ENDING_BYTES = 12, HU_LEFT_KINDS = 12 };

/* All zero: nothing was left. */
typedef struct hu_left_files {
    struct {
        char ending[HU_LEFT_ENDING_BYTES]; /* ".heic", in small letters; "": none */
        int64_t count;
    } kind[HU_LEFT_KINDS];
    int kinds;
    int64_t others, folders; /* files of still other endings; folders */
} hu_left_files;

/* Counts one more. */
void hu_left_files_count(hu_left_files *left, const char *name, bool is_folder);

/* Adds what another list counted. */
void hu_left_files_add(hu_left_files *left, const hu_left_files *more);

/* "9 .heic (not supported: heif-convert makes .jpg of them), 1 .txt, 3 folders"; NULL: nothing was
 * left. Owner frees. HU_ERR_MEMORY. */
hu_status hu_left_files_words(const hu_left_files *left, char **words);

#endif
