/* engine/usage.h - what the passes note while they are rehearsed (layout/rehearse.h): when each
 * buffer is used, how much scratch a thread needs, and which nodes run in a region. */
#ifndef HU_ENGINE_USAGE_H
#define HU_ENGINE_USAGE_H
#include "engine/state.h"

/* A buffer (HU_NONE: none) is used at the present time. */
void hu_rehearse_buffer(hu_run *run, uint32_t buffer);

/* A thread's scratch is used up to so many bytes. */
void hu_rehearse_scratch(hu_run *run, size_t bytes);

/* Node n runs in the present region. */
void hu_rehearse_member(hu_run *run, uint32_t n, hu_pass pass);

#endif
