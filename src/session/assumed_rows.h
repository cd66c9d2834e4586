/* session/assumed_rows.h - the texts, sentences and sounds that plan assumes where the user names
 * none. */
#ifndef HU_SESSION_ASSUMED_ROWS_H
#define HU_SESSION_ASSUMED_ROWS_H
#include <halfulp/data.h>

#include "config/config.h"

/* Replaces the fields of an assumed data set by those of the texts, sentences or sounds that a
 * model is made for: as long as data.length (tokens) or data.frames say, of data.classes different
 * tokens or characters (of sentences: of the language that is translated to), else of the model's
 * usual ones. Other models: nothing happens. */
hu_status hu_assumed_rows(const hu_config *config, const char *model, hu_dataset *assumed);

/* The keys that say otherwise, NULL for other models: "data.length=N data.classes=N". Borrowed:
 * valid for ever. */
const char *hu_assumed_rows_keys(const char *model);

#endif
