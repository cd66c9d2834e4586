/* data/directory.h - sorted names in a directory, what lies beside them, and sentences about both.
 */
#ifndef HU_DATA_DIRECTORY_H
#define HU_DATA_DIRECTORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* ---- What lies beside the files of a list and is not read, counted ---- */

enum { HU_LEFT_ENDING_BYTES = 12, HU_LEFT_KINDS = 12 };

/* All zero: nothing was left. */
typedef struct hu_skipped_files {
    struct {
        char ending[HU_LEFT_ENDING_BYTES]; /* ".heic", in small letters; "": none */
        int64_t count;
    } kind[HU_LEFT_KINDS];
    int kinds;
    int64_t others, folders; /* files of still other endings; folders */
} hu_skipped_files;

/* Adds what another list counted. */
void hu_skipped_files_add(hu_skipped_files *left, const hu_skipped_files *more);

/* Names in one block: a list of a million costs its letters and a pointer each. */
typedef struct hu_file_names {
    char **name; /* [count], into text */
    size_t count;
    char *text; /* private: each name with its final zero; NULL: the text of another list */
    size_t bytes, capacity;
    size_t others; /* files beside those of the kind that was sought, without hidden ones */
} hu_file_names;

/* A list of its own of the same names, whose text is borrowed: valid as long as from. */
hu_status hu_file_names_borrow(const hu_file_names *from, hu_file_names *to);
void hu_file_names_free(hu_file_names *names);

/* Index of a name in sorted names; -1: it is missing. */
long hu_file_names_find(const hu_file_names *names, const char *name);

/* What pictures end in, in words. */
#define HU_IMAGE_ENDINGS ".jpg, .jpeg, .jfif, .png, .webp"

/* The same of sounds. */
#define HU_SOUND_ENDINGS ".wav, .flac, .ogg, .oga, .opus, .aif, .aiff, .mp3"

/* Keeps the names that are marked [count], in their order. */
void hu_file_names_keep(hu_file_names *names, const bool *marks);

/* Whether a name ends as pictures, or sounds, do, in any case. */
bool hu_is_sound_name(const char *name);

/* Names of the folders in a directory, or of the files that end as pictures, or sounds, do in any
 * case; sorted byte by byte, without those that begin with a dot. HU_ERR_MISSING, HU_ERR_IO,
 * HU_ERR_MEMORY; the names are then empty. */
hu_status hu_file_names_of_folders(const char *directory, hu_file_names *names);
hu_status hu_file_names_of_images(const char *directory, hu_file_names *names);
hu_status hu_file_names_of_sounds(const char *directory, hu_file_names *names);

/* As hu_file_names_of_images; what is not hidden and no such file is counted in *left besides. */
hu_status hu_file_names_of_images_counted(const char *directory, hu_file_names *names,
                                          hu_skipped_files *left);

/* Files that are not hidden and do not end as pictures do, as those above. */
hu_status hu_file_names_of_others(const char *directory, hu_file_names *names);

/* Whether path is a folder. HU_ERR_IO if the system cannot tell. */
hu_status hu_folder_find(const char *path, bool *is_folder);

/* The same where it does not matter, and whether the directory has a folder of that name. */
bool hu_is_folder(const char *path);
bool hu_has_folder(const char *directory, const char *name);

/* The name of the half that is not trained on: "test" if the directory has such a folder, else
 * "val". HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_test_split(const char *directory, const char **half);

/* ---- Sentences about the files of a data set, for who opens it ---- */

/* Adds a line to *note, which is NULL at first; lines are parted by '\n'. Owner frees with hu_free.
 * HU_ERR_MEMORY: *note is as before. */
__attribute__((format(printf, 2, 3))) hu_status hu_note(char **note, const char *format, ...);

/* Adds what lies beside the pictures of a directory, where there is something. HU_ERR_MEMORY. */
hu_status hu_note_left(char **note, const char *directory, const hu_skipped_files *left);

#endif
