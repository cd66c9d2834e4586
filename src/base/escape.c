/* base/escape.c - control characters as text. */
#include "base/escape.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the control character at the beginning of a text, 0 where another one stands. */
static size_t control_bytes(const char *text) {
    unsigned char first = (unsigned char)text[0], second = first ? (unsigned char)text[1] : 0;
    if (first == 0xc2 && second >= 0x80 && second < 0xa0) return 2;
    return first < 0x20 || first == 0x7f;
}

/* Bytes of the UTF-8 character at the beginning of a text; 1 of what is none. */
static size_t character_bytes(const char *text) {
    size_t bytes = 1;
    while (((unsigned char)text[0] & 0xc0) == 0xc0 && ((unsigned char)text[bytes] & 0xc0) == 0x80 &&
           bytes < 4)
        bytes++;
    return bytes;
}

void hu_escape(const char *text, char *to, size_t capacity) {
    size_t used = 0;
    while (*text) {
        char piece[4 * 2 + 1];
        size_t controls = control_bytes(text), taken = controls ? controls : character_bytes(text);
        size_t length = controls ? 4 * controls : taken;
        for (size_t i = 0; i < controls; i++)
            snprintf(piece + 4 * i, sizeof piece - 4 * i, "\\x%02x", (unsigned char)text[i]);
        if (used + length >= capacity) break;
        memcpy(to + used, controls ? piece : text, length);
        used += length;
        text += taken;
    }
    if (capacity > 0) to[used] = '\0';
}

bool hu_has_controls(const char *text) {
    for (; *text; text++)
        if (control_bytes(text) > 0) return true;
    return false;
}
