/* Softmax and cross entropy in one node: no tensor between, one buffer less. */
#include "base/error.h"
#include "op/loss.h"
#include "op/softmax_row.h"
#include "task/loss.h"
#include "task/unlabelled.h"

/* head: rows of class scores; target: a class number for each row, negative where there is none. */
static hu_status add(hu_graph *graph, const char *name, hu_value_id head, hu_value_id target,
                     float weight, hu_normaliser normaliser) {
    hu_status st;
    hu_value_id in[2] = {head, target}, out[HU_MAX_OUTPUTS];
    HU_TRY(hu_graph_apply(graph, &hu_op_softmax_cross_entropy, name, NULL, &hu_unlabelled_rows, 2,
                          in, out));
    st = hu_graph_loss(graph, out[0], weight, normaliser);
done:
    return st;
}

/* The head is a row of logits. */
static double probability(int64_t outputs, const float *row, int64_t class_number) {
    return hu_exp(hu_log_softmax(hu_softmax_row_of(outputs, row), row[class_number]));
}

const hu_loss_form hu_loss_softmax_cross_entropy = {.name = "softmax_cross_entropy",
                                                    .help = "softmax and cross entropy, one node",
                                                    .kind = HU_LOSS_ROWS,
                                                    .probability = probability,
                                                    .add = add};
