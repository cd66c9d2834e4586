/* base/words.h - lists of words as users write them.
 * Thread-safe: pure functions of their arguments.
 */
#ifndef HU_BASE_WORDS_H
#define HU_BASE_WORDS_H
#include <stddef.h>
#include <string.h>

/* Characters up to the next comma outside parentheses, or to the end: "fp(4,3,4), e5m2" has 9. */
static inline size_t hu_word_length(const char *text) {
    size_t length = 0;
    int depth = 0;
    for (; text[length] && (depth > 0 || text[length] != ','); length++)
        depth += (text[length] == '(') - (text[length] == ')');
    return length;
}

/* Length without blanks of the word at *text, which moves to its first character; *end is what is
 * behind it, a comma or the end. */
static inline size_t hu_word_at(const char **text, const char **end) {
    *text += strspn(*text, " ");
    size_t length = hu_word_length(*text);
    *end = *text + length;
    while (length > 0 && (*text)[length - 1] == ' ') length--;
    return length;
}

#endif
