/* Log-softmax and negative log-likelihood as two nodes, with a tensor between that a precision can
 * be given to (Lee et al.). */
#include "base/elementary.h"
#include "base/error.h"
#include "task/loss.h"
#include "task/unlabelled.h"

/* head: rows of class scores; target: a class number for each row, negative where there is none. */
static hu_status add(hu_graph *graph, const char *name, hu_value_id head, hu_value_id target,
                     float weight, hu_normaliser normaliser) {
    hu_status st;
    hu_value_id in[2], out[HU_MAX_OUTPUTS];
    HU_TRY(hu_graph_apply(graph, &hu_op_log_softmax, "log_softmax", NULL, NULL, 1, &head, out));
    in[0] = out[0];
    in[1] = target;
    HU_TRY(hu_graph_apply(graph, &hu_op_nll, name, NULL, &hu_unlabelled_rows, 2, in, out));
    st = hu_graph_loss(graph, out[0], weight, normaliser);
done:
    return st;
}

/* The head of the loss is a row of log-probabilities. */
static double probability(int64_t outputs, const float *row, int64_t class_number) {
    (void)outputs;
    return hu_exp((double)row[class_number]);
}

const hu_loss_form hu_loss_nll = {.name = "nll",
                                  .help = "log_softmax and negative log-likelihood, two nodes",
                                  .kind = HU_LOSS_ROWS,
                                  .probability = probability,
                                  .add = add};
