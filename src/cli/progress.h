/* cli/progress.h - what a person sees on stderr while a training runs. */
#ifndef HU_CLI_PROGRESS_H
#define HU_CLI_PROGRESS_H
#include "cli/session.h"

/* The memory plan, one line, before step 1. */
void hu_progress_memory(const hu_ledger *ledger);

/* A line that overwrites itself, at most five times a second: step, loss, accuracy, rate, time
 * left. */
void hu_progress_step(const hu_session *session, const hu_step_report *report, double rate);

/* Ends the line. */
void hu_progress_end(void);

#endif
