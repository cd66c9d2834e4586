/* explain/followed.h - what followed a death: the tensors behind it of which nothing is left. */
#ifndef HU_EXPLAIN_FOLLOWED_H
#define HU_EXPLAIN_FOLLOWED_H
#include "explain/why.h"

/* Finds the tensors that are made of the one that died, directly or by others, and all of whose
 * numbers are zero in the steps of the row that holds the death's: where gradients vanish, no layer
 * behind learns. Parameters of one dimension that may vanish without harm are left out.
 *
 * Fills why->is_gone ([walk->count], freed by hu_why_free) and why->gone. HU_ERR_MEMORY. */
hu_status hu_followed_find(hu_why *why);

/* Whether all of a tensor's numbers were zero before they were rounded: it lost none itself, but
 * got nothing from the death that is told. */
bool hu_followed_only(const hu_why *why, const hu_death *death);

enum { HU_FOLLOWED_BYTES = 512 };

/* "No gradient reaches conv3.out: ...", a line; "" where nothing is gone. Gives text. */
const char *hu_followed_words(const hu_why *why, char text[HU_FOLLOWED_BYTES]);

#endif
