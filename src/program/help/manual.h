/* help/manual.h - what the program says of itself: help, man pages and completion, all made of
 * the tables of verbs, keys, models, data and formats. Texts are given, never printed.
 *
 *   verbs  the table of the program, NULL at the end
 *   text   owner frees with hu_free
 */
#ifndef HU_MANUAL_MANUAL_H
#define HU_MANUAL_MANUAL_H
#include "help/verb.h"

/* `halfulp` alone: the verbs, in fewer than 40 lines. */
hu_status hu_manual_short(const hu_verb *const *verbs, char **text);

/* `halfulp --help`: verbs, the common keys in a line each, examples, and where there is more, in
 * fewer than 70 lines. Long descriptions stand in hu_manual_help alone. */
hu_status hu_manual_overview(const hu_verb *const *verbs, char **text);

/* `halfulp VERB --help`: usage, what it does, its keys with the common ones first, examples. */
hu_status hu_manual_verb(const hu_verb *verb, char **text);

/* `halfulp help WORD`: a verb, a topic, a key, a group of keys, a model, a kind of data, or a word
 * that help/words.h knows. config: model.name and data.name are those at hand, whose defaults are
 * told of keys. HU_ERR_UNKNOWN names the nearest.
 */
hu_status hu_manual_help(const hu_verb *const *verbs, const char *word, const hu_config *config,
                         char **text);

/* A page for man(1), in the requests of man(7): of a verb, of the program with all keys if it is
 * NULL.
 *
 * Proof: tests/program/help_test.py, groff with all warnings. */
hu_status hu_manual_page(const hu_verb *const *verbs, const hu_verb *verb, char **text);

/* A script that completes verbs, the keys of each, known words of values, files and folders.
 *
 *   shell  "bash" (4 or later; needs no bash-completion), "zsh" or "fish"
 *
 * HU_ERR_UNKNOWN: another shell. Proof: tests/program/help_test.py, which asks bash. */
hu_status hu_manual_completion(const hu_verb *const *verbs, const char *shell, char **text);

#endif
