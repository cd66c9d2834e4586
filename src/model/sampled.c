#include "model/sampled.h"

#include <stdio.h>

#include "op/geometry.h"
#include "op/sampled.h"
#include "task/unlabelled.h"

/* The product with all rows of the weight that the node which makes `scores` has. */
static hu_value_id whole_head(hu_builder *b, const char *name, hu_value_id in, hu_value_id scores) {
    char text[HU_NAME_BYTES];
    const hu_linear_attrs attrs = {
        .out_features = hu_build_outputs(b), .rows = true, .has_bias = true};
    hu_value_id out[HU_MAX_OUTPUTS] = {HU_NONE}, params[2];
    if (b->status != HU_OK) return HU_NONE;
    const hu_node *node = &b->graph->node[b->graph->value[scores].producer];
    for (int j = 0; j < 2; j++) params[j] = node->param[j];
    snprintf(text, sizeof text, "%s.whole", name);
    b->status = hu_graph_share(b->graph, &hu_op_linear, text, &attrs, 1, &in, params, out);
    return out[0];
}

void hu_build_sampled_loss(hu_builder *b, const char *name, hu_value_id in, int64_t numbers,
                           hu_init weight) {
    char text[HU_NAME_BYTES];
    const hu_sampled_attrs attrs = {.classes = hu_build_outputs(b),
                                    .numbers = numbers,
                                    .ignores = hu_unlabelled_rows.ignores,
                                    .ignored = hu_unlabelled_rows.ignored,
                                    .weight_init = weight,
                                    .bias_init = {HU_INIT_CONSTANT, 0.0f}};
    snprintf(text, sizeof text, "%s.sampled", name);
    hu_task_sampled made = {.numbers = numbers};
    made.drawn = hu_build_node(b, &hu_op_log_uniform, "neg", NULL, &attrs, 0, NULL);
    const hu_value_id reads[] = {in, b->value[hu_task_target(b->choice.task)], made.drawn};
    made.scores = hu_build_node(b, &hu_op_sampled_scores, text, name, &attrs, 3, reads);
    hu_value_id head = whole_head(b, name, in, made.scores);
    if (b->status == HU_OK)
        b->status = hu_task_close_sampled(&b->choice, b->graph, b->value, head, &made);
}
