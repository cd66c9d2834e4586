#include "journal/board.h"

#include <stdio.h>

hu_status hu_board_exponents(void *board, int64_t step, const char *name, int32_t first,
                             const uint64_t *bin, size_t count) {
    char tag[512];
    if (count == 0) return HU_OK;
    snprintf(tag, sizeof tag, "exponents/%s", name);
    return hu_tensorboard_exponents(board, step, tag, first, bin, count);
}
