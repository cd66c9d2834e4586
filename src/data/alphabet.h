/* data/alphabet.h - the characters of a language as class numbers, for sequences without marks. */
#ifndef HU_DATA_ALPHABET_H
#define HU_DATA_ALPHABET_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* Class 0 is the blank, which is no character; then come a to z, then the others. */
enum { HU_ALPHABET_BLANK = 0, HU_ALPHABET_LETTERS = 26 };

/* In the folder of a run: a character in each line, from class 1 on, as data/vocabulary.h writes
 * them. */
#define HU_ALPHABET_FILE "alphabet.txt"

typedef struct hu_alphabet {
    uint32_t *point;        /* [count] code points: a to z, then others in ascending order */
    size_t count, capacity; /* classes: count + 1 */
} hu_alphabet;

/* The letters and all other characters of texts in UTF-8 [count]. HU_ERR_MEMORY. Owner frees with
 * hu_alphabet_free, also on failure. */
hu_status hu_alphabet_create(const char *const *texts, size_t count, hu_alphabet *alphabet);
void hu_alphabet_free(hu_alphabet *alphabet);

/* Characters of a text in UTF-8. */
int64_t hu_alphabet_length(const char *text);

/* Their class numbers; number [hu_alphabet_length]. HU_ERR_CORRUPT for a character that the
 * alphabet lacks: the message names it alone. */
hu_status hu_alphabet_spell(const hu_alphabet *alphabet, const char *text, int32_t *number);

/* Names of the classes as hu_dataset_class_name reads them: the blank's is empty. Owner frees *text
 * with hu_free. */
hu_status hu_alphabet_names(const hu_alphabet *alphabet, char **text);

/* The alphabet of such names [count classes]. HU_ERR_CORRUPT: the first is not the blank, a to z do
 * not follow, or one of the others is no character behind those before it. HU_ERR_MEMORY. Owner
 * frees, also on failure. */
hu_status hu_alphabet_of_names(const char *names, int64_t count, hu_alphabet *alphabet);

/* Writes or replaces a file of names as above, the blank left out, and reads it back: *names NULL
 * where there is no such file. HU_ERR_CORRUPT names the file. Owner frees *names with hu_free.
 * Proof: tests/unit/data_speech_test.c. */
hu_status hu_alphabet_write(const char *path, const char *names, int64_t count);
hu_status hu_alphabet_read(const char *path, char **names, int64_t *count);

#endif
