#include "base/quote.h"

#include <string.h>

/* Appends, if there is room for that and for a final zero. */
static bool add(const char *text, size_t length, char *to, size_t capacity, size_t *used) {
    if (length >= capacity - *used) return false;
    memcpy(to + *used, text, length);
    *used += length;
    to[*used] = '\0';
    return true;
}

/* Between single quotes, with what stands for a quote and for a backslash inside. */
static bool quote(const char *text, const char *of_quote, const char *of_backslash, char *to,
                  size_t capacity) {
    size_t used = 0;
    bool fits = capacity > 0 && add("'", 1, to, capacity, &used);
    for (; *text && fits; text++) {
        const char *put = *text == '\'' ? of_quote : *text == '\\' ? of_backslash : NULL;
        fits = put ? add(put, strlen(put), to, capacity, &used) : add(text, 1, to, capacity, &used);
    }
    fits = fits && add("'", 1, to, capacity, &used);
    if (!fits && capacity > 0) to[0] = '\0';
    return fits;
}

bool hu_quote_shell(const char *text, char *to, size_t capacity) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./+-@%:,=";
    size_t length = strlen(text);
    if (length == 0 || text[0] == '-' || strspn(text, plain) != length)
        return quote(text, "'\\''", "\\", to, capacity);
    if (length >= capacity) {
        if (capacity > 0) to[0] = '\0';
        return false;
    }
    memcpy(to, text, length + 1);
    return true;
}

bool hu_quote_python(const char *text, char *to, size_t capacity) {
    return quote(text, "\\'", "\\\\", to, capacity);
}
