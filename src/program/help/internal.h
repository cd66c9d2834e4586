/* help/internal.h - what the pages of the help share. */
#ifndef HU_HELP_INTERNAL_H
#define HU_HELP_INTERNAL_H
#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "help/manual.h"
#include "render/html.h"

/* Keys in groups, which are their namespaces, and those that most people want first */

/* A group of keys: what its names begin with ("lr" of lr.base), and what it is about, in a few
 * words that stand after it in the help. Both forever. */
typedef struct hu_key_group {
    const char *name, *title;
} hu_key_group;

/* Row of the table in the order of the help; NULL after the last. Every namespace of keys.list has
 * one, or its keys would be in no help.
 *
 * Proof: tests/program/help_test.py, test_of_every_key. */
const hu_key_group *hu_key_group_at(size_t index);

/* Whether the key is one of the group: its full name begins with that of the group and a dot. */
bool hu_key_is_of(const hu_config_key *key, const hu_key_group *group);

/* Common key number index, in the order in which a first training is thought of; NULL after
 * the last. The table names keys by their full names. */
const hu_config_key *hu_common_key_at(size_t index);

/* What users type: the short form where there is one, else the full name. Borrowed: forever. */
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

/* ---- Pieces that several pages have ---- */

/* "  lr                       base learning rate" */
void hu_put_key_line(hu_page *page, const hu_config_key *key);

/* Name, help, values and default of a key, in four lines or more; "default: none" is an empty text
 * or list. */
void hu_put_key(hu_page *page, const hu_config_key *key);

/* Also who reads it, and the default of the model at hand: that of the recipe for model.name and
 * data.name of config, where it differs from the table's or a model was named. config stays as it
 * is.
 *
 * Errors: those of reading a configuration. */
hu_status hu_put_key_fully(hu_page *page, const hu_verb *const *verbs, const hu_config_key *key,
                           const hu_config *config);

/* ---- How files must lie for each kind of data, and what lies in a run's folder ---- */

/* The files of a run's folder, and the verbs that read it. */
void hu_put_runs(hu_page *page);

/* ---- What words mean that are no verb, key, topic, model or kind of data ---- */

/* What a word means: everything that is known of it, one below the other. is_known: the page tells
 * already of a key or the like of this name; then only of tables, formats and words of the field,
 * after an empty line. False, and nothing is put: it means none of them. The last error is lost.
 */
bool hu_put_word(hu_page *page, const char *word, bool is_known);

/* Words that it knows by name, for "did you mean": NULL after the last. Formats of one's own are
 * not among them. Borrowed: forever. */
const char *hu_word_at(size_t index);

/* The accumulators, a line each (topic "accumulators"). */
void hu_put_accumulators(hu_page *page);

/* ---- Recipes (recipes.c) and words of the field (terms.c) ---- */

/* All recipes with their rules (topic "recipes"). */
void hu_put_recipes(hu_page *page);

/* One of them, one word. False, and nothing is put: there is none of that name. */
bool hu_put_recipe(hu_page *page, const char *word);
bool hu_put_term(hu_page *page, const char *word);

/* Words of the field by number; NULL after the last. Borrowed: forever. */
const char *hu_term_at(size_t index);

/* ---- Operations of networks (operations.c) ---- */

/* All of them with their attributes, by family. */
void hu_put_operations(hu_page *page);

/* One of them. False, and nothing is put: there is none of that name. */
bool hu_put_operation(hu_page *page, const char *name);

#endif
