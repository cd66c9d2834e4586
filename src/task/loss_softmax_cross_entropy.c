/* Softmax and cross entropy in one node: no tensor between, one buffer less. */
#include "op/loss.h"
#include "op/softmax_row.h"
#include "task/loss.h"
#include "task/unlabelled.h"

/* The head is a row of logits. */
static double probability(int64_t outputs, const float *row, int64_t class_number) {
    return hu_exp(hu_log_softmax(hu_softmax_row_of(outputs, row), row[class_number]));
}

const hu_loss_form hu_loss_softmax_cross_entropy = {.name = "softmax_cross_entropy",
                                                    .help = "softmax and cross entropy, one node",
                                                    .kind = HU_LOSS_ROWS,
                                                    .probability = probability,
                                                    .op = &hu_op_softmax_cross_entropy,
                                                    .attrs = &hu_unlabelled_rows};
