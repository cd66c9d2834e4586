/* cli/progress.h - what a person sees on stderr while a training runs. */
#ifndef HU_CLI_PROGRESS_H
#define HU_CLI_PROGRESS_H
#include "config/config.h"
#include "settings/messages.h"

/* The program's listener. Messages are lines. Unless run.quiet is on (auto: --json, and stderr is
 * no terminal) there are lines of what is about to be trained, and one for every epoch. On a
 * terminal the steps are a line that overwrites itself, at most five times a second. */
hu_status hu_progress_listener(const hu_config *config, hu_listener *listener);

/* The same without what is about to be trained: for one of several trainings alike. */
void hu_progress_briefly(hu_listener *listener);

/* Messages alone, for verbs that do not train. */
extern const hu_listener hu_progress_messages;

/* Ends the line of the steps. */
void hu_progress_end(void);

#endif
