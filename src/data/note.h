/* data/note.h - sentences about the files of a data set, for who opens it. */
#ifndef HU_DATA_NOTE_H
#define HU_DATA_NOTE_H
#include <halfulp/status.h>

#include "data/left_files.h"

/* Adds a line to *note, which is NULL at first; lines are parted by '\n'. Owner frees with hu_free.
 * HU_ERR_MEMORY: *note is as before. */
__attribute__((format(printf, 2, 3))) hu_status hu_note(char **note, const char *format, ...);

/* Adds what lies beside the pictures of a directory, where there is something. HU_ERR_MEMORY. */
hu_status hu_note_left(char **note, const char *directory, const hu_left_files *left);

#endif
