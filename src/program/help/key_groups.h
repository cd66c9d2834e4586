/* help/key_groups.h - the keys in groups, which are their namespaces, and those that most people
 * want first. */
#ifndef HU_MANUAL_KEY_GROUPS_H
#define HU_MANUAL_KEY_GROUPS_H
#include "config/config.h"
#include "render/html.h"

/* A group of keys: what its names begin with ("lr" of lr.base), and what it is about, in a few
 * words that stand behind it in the help. Both for ever. */
typedef struct hu_key_group {
    const char *name, *title;
} hu_key_group;

/* Row of the table in the order of the help; NULL behind the last. Every namespace of keys.list has
 * one, or its keys would be in no help.
 *
 * Proof: tests/program/help_test.py, test_of_every_key. */
const hu_key_group *hu_key_group_at(size_t index);

/* Whether the key is one of the group: its full name begins with that of the group and a dot. */
bool hu_key_is_of(const hu_config_key *key, const hu_key_group *group);

/* Common key number index, in the order in which a first training is thought of; NULL behind the
 * last. The table names keys by their full names. */
const hu_config_key *hu_common_key_at(size_t index);

/* Whether the key is among them. */
bool hu_key_is_common(const hu_config_key *key);

/* What users type: the short form where there is one, else the full name. Borrowed: for ever. */
const char *hu_key_typed_name(const hu_config_key *key);

enum { HU_BRIEF_BYTES = 72 };

/* The beginning of a long help, in one line that ends where a thought does: at a semicolon, in
 * front of a parenthesis, or, with dots, between two words.
 *
 *   text  room for HU_BRIEF_BYTES; given back */
const char *hu_key_brief(const char *help, char *text);

/* Puts words in lines of at most 79 columns.
 *
 *   text    words with blanks between them; one that is longer than a line stands alone in it
 *   at      column at which the first line goes on
 *   indent  blanks in front of the others
 *
 * Ends with a newline. */
void hu_put_wrapped(hu_page *page, const char *text, int at, int indent);

#endif
