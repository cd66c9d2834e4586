/* journal/board.h - what a run tells TensorBoard beside its metrics: the exponents of its tensors.
 */
#ifndef HU_JOURNAL_BOARD_H
#define HU_JOURNAL_BOARD_H
#include "journal/recorder.h"
#include "show/tensorboard.h"

/* The exponents of one tensor, as "exponents/NAME"; board is the context of hu_recorder_watch. */
hu_status hu_board_exponents(void *board, int64_t step, const char *name, int32_t first,
                             const uint64_t *bin, size_t count);

#endif
