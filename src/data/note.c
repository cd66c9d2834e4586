#include "data/note.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

hu_status hu_note(char **note, const char *format, ...) {
    enum { LINE_BYTES = 1024 }; /* a longer one is cut */
    char line[LINE_BYTES];
    size_t used = *note ? strlen(*note) + 1 : 0;
    void *block = *note;
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (char *c = line; *c; c++)
        if (*c == '\n') *c = ' '; /* of a file's name */
    hu_status st = hu_realloc(&block, used + strlen(line) + 1);
    if (st != HU_OK) return st;
    *note = block;
    if (used > 0) (*note)[used - 1] = '\n';
    strcpy(*note + used, line);
    return HU_OK;
}

hu_status hu_note_left(char **note, const char *directory, const hu_left_files *left) {
    char *words;
    hu_status st = hu_left_files_words(left, &words);
    if (st == HU_OK && words)
        st = hu_note(note, "%s: beside the pictures, left out: %s", directory, words);
    hu_free(words);
    return st;
}
