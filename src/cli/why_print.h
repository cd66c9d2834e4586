/* cli/why_print.h - what `why` tells, in words. */
#ifndef HU_CLI_WHY_PRINT_H
#define HU_CLI_WHY_PRINT_H
#include "explain/facts.h"

/* The whole in words, to stdout. */
void hu_why_print(const hu_explaining *x, uint32_t asked);

#endif
