/* cli/failure.h - the one line on stderr that says why the program failed. */
#ifndef HU_CLI_FAILURE_H
#define HU_CLI_FAILURE_H
#include <halfulp/status.h>

/* Writes "halfulp: STATUS: last error" unless it was written before, or somebody else does it. */
void hu_failure_tell(hu_status status);

/* Another process of the job tells it. */
void hu_failure_leave(void);

/* From now on until hu_failure_end a library that ends the process by exit, as the OpenMP runtime
 * does where it gets neither memory nor threads for its team, ends it with the exit code of
 * HU_ERR_MEMORY and a line of ours behind its own. What a checkpoint holds stays, as behind a kill.
 * The runtime asks anew for every loop, so that no team made at the start would prevent it. */
void hu_failure_watch(void);
void hu_failure_end(void);

#endif
