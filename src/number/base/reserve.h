/* base/reserve.h - blocks that are counted and never filled. */
#ifndef HU_BASE_RESERVE_H
#define HU_BASE_RESERVE_H
#include <stdbool.h>

/* From now on large blocks of hu_alloc are addresses alone, zeros like others, to which the system
 * promises no memory: whoever plans what it does not run may plan more than the machine has. false:
 * blocks are as ever; those that are there stay. */
void hu_memory_only_counts(bool only_counts);

#endif
