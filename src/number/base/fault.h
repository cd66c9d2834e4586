/* base/fault.h - the faults of hu_memory_fail_at, for allocators beside hu_alloc. */
#ifndef HU_BASE_FAULT_H
#define HU_BASE_FAULT_H
#include <stdbool.h>

/* Counts one allocation that a caller is about to make by other means: true if it is the one that
 * hu_memory_fail_at (base/memory.h) wants to fail. Thread-safe. */
bool hu_fault_strikes(void);

#endif
