/* layout/kept.h - which rounded inputs are kept for the backward pass.
 *
 * A use with a record of its own (graph/edge.h) rounds what it reads. If its node wants that input
 * in the backward pass too, the rounded numbers may wait for it packed; then the value itself,
 * which nobody has rounded, need not live longer than the forward pass. Without such a copy the
 * backward pass reads the value and rounds it again, to the same bits.
 * Beside what a rounding that learns has rounded, what it took from the numbers is kept
 * (engine/residual.h).
 */
#ifndef HU_LAYOUT_KEPT_H
#define HU_LAYOUT_KEPT_H
#include "engine/state.h"

/* Declares buffers for all uses of a stored value that could be kept, if they take fewer bytes
 * together than the value: with float32 storage none do. */
hu_status hu_kept_declare(hu_run *run);

/* After a rehearsal: keeps no copies of values that live into the backward pass all the same,
 * because somebody else wants them there. True if there were any: what lives how long has changed.
 */
bool hu_kept_drop(hu_run *run);

#endif
