/* data/image_list.h - the images of a folder: those that can be read, those held out. */
#ifndef HU_DATA_IMAGE_LIST_H
#define HU_DATA_IMAGE_LIST_H
#include <halfulp/data.h>

#include "base/memory.h"
#include "data/directory.h"

/* ---- Which pictures of a folder can be decoded ---- */

/* Whether a failure is of a picture's bytes, so that others can go on without it. */
bool hu_image_is_unreadable(hu_status status);

/* One half: files and their classes, class by class in turns. A million files take their names and
 * 8 bytes each. */
typedef struct hu_image_list {
    char **folder; /* [classes], of files by class; NULL: names are paths, labels unlabelled */
    int64_t folders;
    char *names;    /* of all files, each with its final zero */
    uint32_t *name; /* [count] where each name begins in names */
    int32_t *label; /* [count] */
    int64_t count;
    bool is_held;          /* drawn out of those of training */
    hu_skipped_files left; /* what lies in the folders beside pictures */
    int64_t damaged;       /* files that choice->skips_damaged left out, ... */
    char *first_damaged;   /* ... and the path of the first; NULL */
    int64_t others;        /* of sounds, what left tells of pictures */
} hu_image_list;

/* Path of file i, in room. Borrowed: valid until the room is used again. */
hu_status hu_image_list_path(const hu_image_list *list, int64_t i, hu_scratch *room, char **path);

/* The same as a text of its own, NULL after the last file. Owner frees with hu_free. */
hu_status hu_image_list_copy_path(const hu_image_list *list, int64_t i, char **path);

/* Lists DIR/train and DIR/val (DIR/test if there is no val; where neither is present, what
 * choice->held draws out of DIR/train, or of DIR itself without that). classes: how many there are;
 * class_names: the names of their folders, owner frees. Where choice->known says so, DIR/train is
 * not read: classes are those of the model, and both lists are of the test half. HU_ERR_MISSING if
 * a folder is missing, or test images are neither there nor to be drawn, HU_ERR_CORRUPT for a
 * class without images or a test class that the training half does not have, HU_ERR_ARGUMENT for a
 * choice of more classes than there are, or of parts without an image; HU_ERR_LIMIT for names of 4
 * GiB; HU_ERR_IO, HU_ERR_MEMORY. choice->told hears of the files that were found, class by class.
 * Owner frees both with hu_image_list_free, also on failure. */
hu_status hu_image_list_make(const char *directory, const hu_data_limits *limits,
                             const hu_image_choice *choice, hu_image_list *train,
                             hu_image_list *test, char **class_names, int64_t *classes);

/* A list of paths [count] without classes. Owner frees, also on failure. */
hu_status hu_image_list_of_files(const char *const *path, size_t count, hu_image_list *list);
void hu_image_list_free(hu_image_list *list);

/* ---- image held ---- */

/* The images of a folder without a test half that are drawn to test with, as
 * a text by which the same folder is known again. */

#define HU_HELD_FILE "held-out.txt" /* in the folder of a run */

/* The directory of a spec folder:DIR or sounds:DIR; NULL: of another kind. Borrowed: valid as spec
 * is. */
const char *hu_image_held_out_directory(const char *spec);

/* A line "BYTES CLASS/FILE" for each image that choice->held draws by choice->seed, in the order of
 * the test half: a folder is the same one, whatever its path, if and only if the same images of the
 * same sizes are drawn from it. NULL: it has a test half of its own, or nothing is to be drawn.
 * Owner frees. Fails as hu_image_list_make does. */
hu_status hu_image_held_out_list(const char *directory, const hu_image_choice *choice, char **text);

/* Whether the folder is present and has neither a folder val nor test. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_image_held_out_is_flat(const char *directory, bool *is_flat);

#endif
