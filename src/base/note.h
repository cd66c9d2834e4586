/* base/note.h - short texts to which one thing after the other is added: warnings that a caller
 * shows later. */
#ifndef HU_BASE_NOTE_H
#define HU_BASE_NOTE_H
#include <stddef.h>

/* Adds a text (printf form) to note [capacity], behind the separator if something stands there;
 * what does not fit is cut off. */
void hu_note_add(char *note, size_t capacity, const char *separator, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
