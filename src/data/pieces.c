#include "data/pieces.h"

#include <string.h>

/* No vocabulary is known to have a longer piece. */
enum { MOST_BYTES = 254, MARK_BYTES = 2 };

/* Number of the longest piece that the rest of a word begins with, -1 if there is none; *bytes of
 * it. */
static int64_t longest(const hu_vocabulary *vocabulary, const char *rest, size_t left,
                       bool is_first, size_t *bytes) {
    char text[MARK_BYTES + MOST_BYTES] = "##";
    size_t mark = is_first ? 0 : MARK_BYTES;
    *bytes = left < MOST_BYTES ? left : MOST_BYTES;
    memcpy(text + mark, rest, *bytes);
    for (; *bytes > 0; (*bytes)--) {
        int64_t number = hu_vocabulary_find(vocabulary, text, mark + *bytes);
        if (number >= 0) return number;
    }
    return -1;
}

void hu_pieces_of(const hu_vocabulary *vocabulary, const char *word, size_t length, int32_t *number,
                  int64_t *count) {
    *count = 0;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        int64_t piece = longest(vocabulary, word + at, length - at, at == 0, &bytes);
        if (piece < 0) {
            number[0] = (int32_t)vocabulary->unknown;
            *count = 1;
            return;
        }
        number[(*count)++] = (int32_t)piece;
    }
}
