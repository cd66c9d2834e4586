#include "journal/board.h"

#include <stdio.h>

hu_status hu_board_row(hu_tensorboard *board, const hu_step_report *report, double rate,
                       double accuracy) {
    const hu_scalar row[] = {
        {"loss", report->loss},
        {"batch_accuracy", (double)report->correct / (double)report->samples},
        {"lr", report->lr},
        {"loss_scale", (double)report->scale},
        {"skipped", report->skipped ? 1.0 : 0.0},
        {"gradient_norm", report->gradient_norm},
        {"images_per_second", rate},
        {"low_precision_ratio", report->low_ratio},
        {"promoted", (double)report->promoted},
        {"test_accuracy", accuracy}, /* last: left out where there is none */
    };
    size_t count = sizeof row / sizeof *row;
    return hu_tensorboard_scalars(board, report->step, row, accuracy < 0.0 ? count - 1 : count);
}

hu_status hu_board_exponents(void *board, int64_t step, const char *name, int32_t first,
                             const uint64_t *bin, size_t count) {
    char tag[512];
    if (count == 0) return HU_OK;
    snprintf(tag, sizeof tag, "exponents/%s", name);
    return hu_tensorboard_exponents(board, step, tag, first, bin, count);
}
