/* Mean squared error: mean over the numbers of a sample, and over the samples. */
#include "base/error.h"
#include "task/loss.h"

/* head and target: numbers of one shape. */
static hu_status add(hu_graph *graph, const char *name, hu_value_id head, hu_value_id target,
                     float weight, hu_normaliser normaliser) {
    hu_status st;
    hu_value_id in[2] = {head, target}, out[HU_MAX_OUTPUTS];
    HU_TRY(hu_graph_apply(graph, &hu_op_mse, name, NULL, NULL, 2, in, out));
    st = hu_graph_loss(graph, out[0], weight, normaliser);
done:
    return st;
}

const hu_loss_form hu_loss_mse = {
    .name = "mse", .help = "mean squared error", .kind = HU_LOSS_NUMBERS, .add = add};
