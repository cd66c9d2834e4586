/* session/warnings.h - what a planned run warns of: one line each. */
#ifndef HU_SESSION_WARNINGS_H
#define HU_SESSION_WARNINGS_H
#include "config/config.h"

#include "engine/run.h"
#include "session/listener.h"
#include "show/json.h"

/* Products that run in a slow reference implementation: messages to the listener; and the same
 * texts as an array, the value of "warnings" (new reference, NULL if out of memory). */
void hu_warnings_tell(const hu_run *run, const hu_listener *listener);
json_t *hu_warnings_json(const hu_run *run);

/* A message for each key that was typed and has no effect in this training; the second: for each
 * typed key of what a training computes. */
void hu_idle_tell(const hu_config *config, const hu_listener *listener);
void hu_idle_tell_typed(const hu_config *config, const char *reason, const hu_listener *listener);

#endif
