/* help/about.h - pieces of the help that several pages have. */
#ifndef HU_MANUAL_ABOUT_H
#define HU_MANUAL_ABOUT_H
#include "help/key_groups.h"
#include "help/verb.h"

/* "  lr                       base learning rate" */
void hu_put_key_line(hu_page *page, const hu_config_key *key);

/* The whole help of a verb: usage, one line, details, examples, and its keys, of which the common
 * ones have a line each and the others stand as names in the line of their group. */
void hu_put_verb(hu_page *page, const hu_verb *verb);

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

#endif
