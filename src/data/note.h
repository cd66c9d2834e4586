/* data/note.h - sentences about the files of a data set, for who opens it. */
#ifndef HU_DATA_NOTE_H
#define HU_DATA_NOTE_H
#include <halfulp/status.h>

/* Adds a line to *note, which is NULL at first; lines are parted by '\n'. Owner frees with hu_free.
 * HU_ERR_MEMORY: *note is as before. */
__attribute__((format(printf, 2, 3))) hu_status hu_note(char **note, const char *format, ...);

#endif
