/* base/quote.h - names of files in commands that a message proposes: who copies them runs no other
 * command. */
#ifndef HU_BASE_QUOTE_H
#define HU_BASE_QUOTE_H
#include <stdbool.h>
#include <stddef.h>

/* The word of a shell that means text: itself where nothing in it is special, else in single
 * quotes. false, and "" in to: it does not fit into capacity bytes. to: not text. */
bool hu_quote_shell(const char *text, char *to, size_t capacity);

/* The same of a string of Python, always in single quotes. */
bool hu_quote_python(const char *text, char *to, size_t capacity);

#endif
