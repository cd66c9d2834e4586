#include "task/adversaries.h"

#include <stdio.h>

#include "base/error.h"
#include "op/loss.h"

/* NAME.loss: the judge is to say `target` of these pictures. */
static hu_status want(const hu_task_choice *choice, hu_graph *graph, const char *name,
                      hu_value_id said, float target) {
    hu_toward_attrs attrs = {target};
    hu_value_id out[HU_MAX_OUTPUTS];
    hu_status st = hu_graph_apply(graph, choice->loss->op, name, NULL, &attrs, 1, &said, out);
    return st == HU_OK ? hu_graph_loss(graph, out[0], 1.0f, HU_PER_SAMPLE) : st;
}

hu_status hu_task_expect_adversaries(const hu_task_choice *choice) {
    if (choice->task->has_adversaries) return HU_OK;
    return hu_fail(
        HU_ERR_ARGUMENT,
        "found two networks that learn against each other, the task %s has no losses for "
        "them; expected task=%s",
        choice->task->name, hu_task_gan.name);
}

hu_status hu_task_close_adversaries(const hu_task_choice *choice, hu_graph *graph,
                                    const hu_value_id *values, const hu_adversaries *networks) {
    hu_status st = HU_OK;
    HU_TRY(hu_task_expect_adversaries(choice));
    HU_TRY(hu_task_check_head(choice, &graph->value[networks->made]));
    HU_TRY(hu_graph_turn(graph, HU_JUDGE));
    HU_TRY(want(choice, graph, "real.loss", networks->real, choice->real));
    HU_TRY(want(choice, graph, "fake.loss", networks->fake, 0.0f));
    HU_TRY(hu_graph_turn(graph, HU_MAKER));
    HU_TRY(want(choice, graph, "again.loss", networks->again, 1.0f));
    hu_graph_answer(graph, networks->made, values[hu_task_target(choice->task)]);
done:
    return st;
}
