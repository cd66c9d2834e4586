/* base/escape.c - control characters as text. */
#include "base/escape.h"

#include <stdio.h>
#include <string.h>

/* Characters of three bytes that reorder text: marks (U+200E, U+200F), embeddings and overrides
 * (U+202A..U+202E), isolates (U+2066..U+2069). Source: Unicode Standard Annex 9, 2. */
static bool reorders(unsigned char second, unsigned char third) {
    if (second == 0x80) return third == 0x8e || third == 0x8f || (third >= 0xaa && third <= 0xae);
    return second == 0x81 && third >= 0xa6 && third <= 0xa9;
}

size_t hu_control_bytes(const char *text) {
    unsigned char first = (unsigned char)text[0], second = first ? (unsigned char)text[1] : 0;
    if (first == 0xc2 && second >= 0x80 && second < 0xa0) return 2;
    if (first == 0xd8 && second == 0x9c) return 2; /* U+061C, the Arabic mark */
    if (first == 0xe2 && second && reorders(second, (unsigned char)text[2])) return 3;
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
        char piece[4 * 3 + 1];
        size_t controls = hu_control_bytes(text),
               taken = controls ? controls : character_bytes(text);
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
        if (hu_control_bytes(text) > 0) return true;
    return false;
}
