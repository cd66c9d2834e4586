/* cli/main.h - the verbs of the program, and the one line on stderr that says why it failed. */
#ifndef HU_CLI_MAIN_H
#define HU_CLI_MAIN_H
#include <halfulp/status.h>

/* Writes "halfulp: STATUS: last error" unless it was written before, or somebody else does it. */
void hu_failure_tell(hu_status status);

/* Another process of the job tells it. */
void hu_failure_leave(void);

#endif
