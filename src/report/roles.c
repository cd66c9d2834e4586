#include "report/roles.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "journal/graph.h"
#include "precision/tensor_groups.h"

/* Every tensor that a graph may have, by the name that the journal gives it. */
static void find_value(hu_report_run *run, hu_value_id v) {
    char name[HU_TENSOR_NAME_BYTES];
    for (int kind = 0; kind < HU_TENSOR_KINDS; kind++) {
        const hu_tensor tensor = {(hu_tensor_kind)kind, v};
        hu_tensor_name(run->graph, tensor, name);
        uint32_t number = hu_names_find(&run->history->tensors, name);
        if (number != HU_NAMES_NONE) run->tensor[number] = tensor;
    }
}

hu_status hu_report_find_tensors(hu_report_run *run) {
    hu_status st;
    uint32_t count = run->history->tensors.count;
    HU_TRY(HU_NEW_ARRAY(&run->tensor, (size_t)count + 1));
    for (uint32_t t = 0; t < count; t++) run->tensor[t].value = HU_NONE;
    HU_TRY(hu_graph_read(run->folder, &run->graph));
    for (hu_value_id v = 0; v < run->graph->value_count; v++) find_value(run, v);
done:
    return st;
}

/* NULL: not of the graph. */
static const hu_value_info *value_of(const hu_report_run *run, uint32_t tensor) {
    hu_value_id v = run->graph ? run->tensor[tensor].value : HU_NONE;
    return v == HU_NONE ? NULL : &run->graph->value[v];
}

int hu_report_role(const hu_report_run *run, uint32_t tensor) {
    const hu_value_info *value = value_of(run, tensor);
    if (!value) return HU_REPORT_ROLES;
    if (hu_tensor_is_state(run->tensor[tensor])) return HU_REPORT_STATE;
    return hu_role_of(value, run->tensor[tensor].kind != HU_TENSOR_VALUE);
}

static bool is_vector(const hu_value_info *value) {
    return value->role == HU_VALUE_PARAMETER && value->shape.rank < 2;
}

bool hu_report_is_vector(const hu_report_run *run, uint32_t tensor) {
    const hu_value_info *value = value_of(run, tensor);
    return value && is_vector(value);
}

/* Bytes of a parameter's name up to its last dot, if no other parameter that is no vector has the
 * same there; else of the whole name. */
static int parameter_bytes(const hu_graph *graph, const hu_value_info *value) {
    const char *dot = strrchr(value->name, '.');
    int length = (int)strlen(value->name), head = dot ? (int)(dot - value->name) : length;
    if (!dot) return length;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *other = &graph->value[v];
        if (other == value || other->role != HU_VALUE_PARAMETER || is_vector(other)) continue;
        if (strrchr(other->name, '.') == other->name + head &&
            strncmp(other->name, value->name, (size_t)head) == 0)
            return length;
    }
    return head;
}

/* A node with one output tells it by its name. */
static void value_label(const hu_graph *graph, const hu_value_info *value,
                        char label[HU_LABEL_BYTES]) {
    const hu_node *node = value->producer == HU_NONE ? NULL : &graph->node[value->producer];
    if (value->role == HU_VALUE_PARAMETER)
        snprintf(label, HU_LABEL_BYTES, "%.*s", parameter_bytes(graph, value), value->name);
    else
        snprintf(label, HU_LABEL_BYTES, "%s", node && node->n_out == 1 ? node->name : value->name);
}

void hu_report_label(const hu_report_run *run, uint32_t tensor, char label[HU_LABEL_BYTES]) {
    static const char *const ends[HU_TENSOR_KINDS] = {[HU_TENSOR_SUM] = " (sum)",
                                                      [HU_TENSOR_WEIGHTS] = " (for weights)",
                                                      [HU_TENSOR_MOMENTUM] = " (momentum)",
                                                      [HU_TENSOR_SQUARES] = " (squares)"};
    const hu_value_info *value = value_of(run, tensor);
    if (!value) {
        snprintf(label, HU_LABEL_BYTES, "%s", run->history->tensors.name[tensor]);
        return;
    }
    const char *end = ends[run->tensor[tensor].kind];
    value_label(run->graph, value, label);
    size_t used = strlen(label);
    if (end) snprintf(label + used, HU_LABEL_BYTES - used, "%s", end);
}
