/* cli/key_of.h - which key a word may be a value of. */
#ifndef HU_CLI_KEY_OF_H
#define HU_CLI_KEY_OF_H

/* "model" of the name of a model, "precision" of a format or a named precision, "data" of a kind of
 * data with or without its path; NULL: none of them. The last error is lost. */
const char *hu_key_of_word(const char *word);

#endif
