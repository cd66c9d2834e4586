/* help/words.h - what words mean that are no verb, key, topic, model or kind of data: rows of the
 * library's tables, number formats, precisions, accumulators, and words of the field. */
#ifndef HU_MANUAL_WORDS_H
#define HU_MANUAL_WORDS_H
#include <stdbool.h>
#include <stddef.h>

#include "render/html.h"

/* What a word means: everything that is known of it, one below the other. is_known: the page tells
 * already of a key or the like of this name; then only of tables, formats and words of the field,
 * behind an empty line. False, and nothing is put: it means none of them. The last error is lost.
 */
bool hu_put_word(hu_page *page, const char *word, bool is_known);

/* Words that it knows by name, for "did you mean": NULL behind the last. Formats of one's own are
 * not among them. Borrowed: for ever. */
const char *hu_word_at(size_t index);

/* The accumulators, a line each (topic "accumulators"). */
void hu_put_accumulators(hu_page *page);

#endif
