/* cli/warnings.h - what a planned run warns of: one line each. */
#ifndef HU_CLI_WARNINGS_H
#define HU_CLI_WARNINGS_H
#include <jansson.h>

#include "graph/run.h"

/* Products that run in a slow reference implementation: lines on stderr; and the same texts as an
 * array, the value of "warnings" (new reference, NULL if out of memory). */
void hu_warnings_print(const hu_run *run);
json_t *hu_warnings_json(const hu_run *run);

#endif
