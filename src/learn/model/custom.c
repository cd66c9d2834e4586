#include "model/custom.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/split.h"
#include "task/task.h"

/* Room for a shape in a message. */
enum { SHAPE_BYTES = 128 };

/* Of what a task loads a network may read the inputs, and how many rows of them are there. */
static bool may_read(const hu_value_info *value) {
    return hu_is_read_in(value) ||
           (value->role == HU_VALUE_TARGET && strcmp(value->name, HU_LENGTHS_FIELD) == 0);
}

/* The task's value of the same name and shape. */
static hu_status find_input(const hu_custom_net *net, hu_value_id v, const hu_task_choice *choice,
                            const hu_graph *graph, hu_value_id *found) {
    const hu_value_info *given = &net->graph->value[v];
    char has[SHAPE_BYTES], needs[SHAPE_BYTES];
    *found = hu_graph_find(graph, given->name);
    if (*found == HU_NONE || !may_read(&graph->value[*found]))
        return hu_fail(HU_ERR_ARGUMENT, "the network has an input '%s', the task %s has '%s'",
                       given->name, choice->task->name, choice->task->field[0].value);
    const hu_shape *data = &graph->value[*found].shape;
    if (hu_shape_equal(&given->shape, data)) return HU_OK;
    hu_shape_print(&given->shape, has, sizeof has);
    hu_shape_print(data, needs, sizeof needs);
    return hu_fail(HU_ERR_SHAPE, "input '%s': the network takes %s, the data has %s", given->name,
                   has, needs);
}

/* map: the new value of each declared one. Nodes come in the order of declaration, so that inputs
 * are mapped before they are read. */
static hu_status replay_node(const hu_node *node, bool splits_bias, hu_value_id *map,
                             hu_graph *graph) {
    hu_status st = HU_OK;
    void *block = NULL;
    hu_value_id out[HU_MAX_OUTPUTS];
    HU_TRY(hu_alloc_array((size_t)node->n_in, sizeof(hu_value_id), &block));
    hu_value_id *in = block;
    for (int i = 0; i < node->n_in; i++) in[i] = map[node->in[i]];
    if (splits_bias && hu_adds_bias(node->op, node->attrs))
        HU_TRY(hu_apply_split(graph, node->op, node->name, NULL, node->attrs, in, out));
    else
        HU_TRY(hu_graph_apply(graph, node->op, node->name, NULL, node->attrs, node->n_in, in, out));
    for (int i = 0; i < node->n_out; i++) map[node->out[i]] = out[i];
done:
    hu_free(block);
    return st;
}

hu_status hu_custom_net_build(const hu_custom_net *net, const hu_task_choice *choice,
                              bool splits_bias, hu_graph *graph) {
    hu_status st = HU_OK;
    hu_value_id values[HU_TASK_FIELDS_MAX];
    void *block = NULL;
    HU_TRY(hu_alloc_array(net->graph->value_count, sizeof(hu_value_id), &block));
    hu_value_id *map = block; /* [value_count] from the declared network into the new graph */
    HU_TRY(hu_task_declare(choice, graph, values));
    for (hu_value_id v = 0; v < net->graph->value_count; v++)
        if (net->graph->value[v].role == HU_VALUE_INPUT)
            HU_TRY(find_input(net, v, choice, graph, &map[v]));
    for (uint32_t n = 0; n < net->graph->node_count; n++)
        HU_TRY(replay_node(&net->graph->node[n], splits_bias, map, graph));
    HU_TRY(hu_task_close(choice, graph, values, map[net->head]));
done:
    hu_free(block);
    return st;
}
