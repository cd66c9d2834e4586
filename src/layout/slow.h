/* layout/slow.h - what computes a node, and whether that is slow. */
#ifndef HU_LAYOUT_SLOW_H
#define HU_LAYOUT_SLOW_H
#include "engine/run.h"

enum { HU_SLOW_BYTES = HU_NAME_BYTES + 256 };

/* The library's name of what computes a pass of a node ("jit:avx2"); "" where our own kernels do,
 * or where the node has no such pass. Borrowed: valid as long as the run. */
const char *hu_run_impl(const hu_run *run, uint32_t node, hu_pass pass);

/* True if a pass of the node runs in a slow reference implementation of the library; text (room for
 * HU_SLOW_BYTES) then says so in one line that begins with the node's name, else it is "". */
bool hu_run_is_slow(const hu_run *run, uint32_t node, char *text);

#endif
