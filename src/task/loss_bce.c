/* Binary cross entropy on logits: the prediction of a number in 0..1 is the logit's sigmoid. */
#include "base/elementary.h"
#include "base/error.h"
#include "task/loss.h"

/* head and target: numbers of one shape; the target lies in 0..1. */
static hu_status add(hu_graph *graph, const char *name, hu_value_id head, hu_value_id target,
                     float weight, hu_normaliser normaliser) {
    hu_status st;
    hu_value_id in[2] = {head, target}, out[HU_MAX_OUTPUTS];
    HU_TRY(hu_graph_apply(graph, &hu_op_bce, name, NULL, NULL, 2, in, out));
    st = hu_graph_loss(graph, out[0], weight, normaliser);
done:
    return st;
}

/* hu_exp instead of libm's exp: the same bits on every machine. */
static double predicted(double logit) {
    return 1.0 / (1.0 + hu_exp(-logit));
}

const hu_loss_form hu_loss_bce = {.name = "bce",
                                  .help = "binary cross entropy on logits",
                                  .kind = HU_LOSS_NUMBERS,
                                  .predicted = predicted,
                                  .add = add};
