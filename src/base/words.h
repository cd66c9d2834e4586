/* base/words.h - lists of words as users write them.
 * Thread-safe: pure functions of their arguments.
 */
#ifndef HU_BASE_WORDS_H
#define HU_BASE_WORDS_H
#include <stddef.h>

/* Characters up to the next comma outside parentheses, or to the end: "fp(4,3,4), e5m2" has 9. */
static inline size_t hu_word_length(const char *text) {
    size_t length = 0;
    int depth = 0;
    for (; text[length] && (depth > 0 || text[length] != ','); length++)
        depth += (text[length] == '(') - (text[length] == ')');
    return length;
}

#endif
