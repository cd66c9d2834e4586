/* help/data_layouts.h - how files must lie for each kind of data, and what lies in a run's
 * folder. */
#ifndef HU_MANUAL_DATA_LAYOUTS_H
#define HU_MANUAL_DATA_LAYOUTS_H
#include <stddef.h>

#include "render/html.h"

/* Whether a word names a kind of data: "folder", "folder:DIR". */
bool hu_is_data_kind(const char *word);

/* Kinds of data by their names, without what stands behind the colon; NULL behind the last.
 * Borrowed: for ever. */
const char *hu_data_kind_word(size_t index);

/* What the kind of such a word is, how its files lie, and trainings on it. Nothing for others. */
void hu_put_data_kind(hu_page *page, const char *word);

/* The files of a run's folder, and the verbs that read it. */
void hu_put_runs(hu_page *page);

#endif
