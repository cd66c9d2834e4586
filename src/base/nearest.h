/* base/nearest.h - the known names that a mistyped word most resembles, for error messages. */
#ifndef HU_BASE_NEAREST_H
#define HU_BASE_NEAREST_H
#include <stddef.h>

/* Writes the three names nearest to word (fewer if there are fewer names), as "'fp16', 'bf16' or
 * 'tf32'"; "" if count is 0. Nearest = fewest insertions, deletions, replacements and swaps of
 * neighbours, case ignored; of equals the earlier name first. Only the first 63 characters of a
 * word count.
 *   names      [count] strings; NULL entries are skipped
 *   text       capacity bytes; a text that does not fit is cut short */
void hu_nearest(const char *word, const char *const *names, size_t count, char *text,
                size_t capacity);

#endif
