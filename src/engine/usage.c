#include "engine/usage.h"

void hu_rehearse_buffer(hu_run *run, uint32_t buffer) {
    if (buffer == HU_NONE) return;
    hu_buffer_use(&run->buffers[buffer], run->rehearsal.course, run->rehearsal.time);
}

void hu_rehearse_scratch(hu_run *run, size_t bytes) {
    if (bytes > run->scratch_bytes) run->scratch_bytes = bytes;
}

void hu_rehearse_member(hu_run *run, uint32_t n, hu_pass pass) {
    const hu_exec *exec = &run->exec[n];
    hu_rehearse_buffer(run, exec->stats);
    hu_rehearse_buffer(run, exec->params[pass]);
    hu_rehearse_buffer(run, exec->workspace[pass]);
    run->rehearsal.has_met[n] = true;
}
