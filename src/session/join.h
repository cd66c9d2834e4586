/* session/join.h - lists of a configuration as one text. */
#ifndef HU_SESSION_JOIN_H
#define HU_SESSION_JOIN_H
#include "config/config.h"

/* Items of a list key joined by commas, for the parsers of whole lists; "auto" is left out.
 * HU_ERR_LIMIT: the list does not fit. */
hu_status hu_options_join(const hu_config *config, const char *key, char *text, size_t capacity);

#endif
