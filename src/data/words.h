/* data/words.h - numbers of tokens or letters as text for people. */
#ifndef HU_DATA_WORDS_H
#define HU_DATA_WORDS_H
#include <halfulp/data.h>

/* What the class numbers of a data set of text or speech mean. Borrows the data set. */
typedef struct hu_words {
    const char **word; /* [count] by number; NULL: numbers are bytes */
    int64_t count;
    hu_text_unit unit; /* words stand with blanks between them; letters of speech as characters */
} hu_words;

/* HU_ERR_MEMORY. Owner frees with hu_words_free, also on failure. */
hu_status hu_words_create(const hu_dataset *dataset, hu_words *words);
/* The same of the numbers of its field "source": of the language that is translated. */
hu_status hu_words_of_source(const hu_dataset *dataset, hu_words *words);
void hu_words_free(hu_words *words);

/* One text of numbers [count], those below 0 left out. What is no UTF-8 and characters that steer
 * terminals, but for line ends and tabs, become U+FFFD. breaks_lines: <eos> of words is a line end,
 * without blanks around it. Owner frees *text with hu_free. HU_ERR_MEMORY.
 * Proof: tests/unit/data_words_test.c. */
hu_status hu_words_join(const hu_words *words, const int32_t *number, int64_t count,
                        bool breaks_lines, char **text);

#endif
