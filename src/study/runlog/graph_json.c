#include "runlog/graph_json.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/graph.h"
#include "runlog/history_reader.h"

static const char file_name[] = "graph.json";

static const char *const role_names[] = {[HU_VALUE_INPUT] = "input",
                                         [HU_VALUE_TARGET] = "target",
                                         [HU_VALUE_ACTIVATION] = "activation",
                                         [HU_VALUE_PARAMETER] = "parameter",
                                         [HU_VALUE_BUFFER] = "buffer",
                                         [HU_VALUE_IDS] = "ids",
                                         [HU_VALUE_FACT] = "fact"};
enum { ROLES = sizeof role_names / sizeof *role_names };

/* ---- writing ---- */

static json_t *shape_json(const hu_shape *shape) {
    json_t *extents = json_array();
    for (int i = 0; extents && i < shape->rank; i++)
        json_array_append_new(extents, json_integer((json_int_t)shape->extent[i]));
    return extents;
}

static json_t *values_json(const hu_graph *graph) {
    json_t *list = json_array();
    for (hu_value_id v = 0; list && v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", value->name, "role",
                                              role_names[value->role], "shape",
                                              shape_json(&value->shape)));
    }
    return list;
}

static json_t *names_json(const hu_graph *graph, int count, const hu_value_id *values) {
    json_t *list = json_array();
    for (int i = 0; list && i < count; i++)
        json_array_append_new(list, json_string(graph->value[values[i]].name));
    return list;
}

static json_t *nodes_json(const hu_graph *graph) {
    json_t *list = json_array();
    for (uint32_t n = 0; list && n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", node->name, "op", node->op->name,
                            "inputs", names_json(graph, node->n_in, node->in), "parameters",
                            names_json(graph, node->n_params, node->param), "outputs",
                            names_json(graph, node->n_out, node->out)));
    }
    return list;
}

/* The loaded values of a role. */
static json_t *loaded_json(const hu_graph *graph, bool targets) {
    json_t *list = json_array();
    for (uint32_t i = 0; list && i < graph->loaded_count; i++) {
        const hu_value_info *value = &graph->value[graph->loaded[i]];
        if ((value->role == HU_VALUE_TARGET) == targets)
            json_array_append_new(list, json_string(value->name));
    }
    return list;
}

static json_t *losses_json(const hu_graph *graph) {
    json_t *list = json_array();
    for (int k = 0; list && k < graph->loss_count; k++) {
        const hu_node *node = &graph->node[graph->loss[k].node];
        json_array_append_new(list, json_string(graph->value[node->out[0]].name));
    }
    return list;
}

static const char *const pass_names[] = {[HU_LOSS_ALWAYS] = "all",
                                         [HU_LOSS_IN_TRAINING] = "training",
                                         [HU_LOSS_IN_EVALUATION] = "evaluation"};

/* Which passes have each loss. */
static json_t *passes_json(const hu_graph *graph) {
    json_t *list = json_array();
    for (int k = 0; list && k < graph->loss_count; k++)
        json_array_append_new(list, json_string(pass_names[graph->loss[k].when]));
    return list;
}

/* Recurrences: the first and the last node of each; none of other graphs. */
static json_t *loops_json(const hu_graph *graph) {
    json_t *list = json_array();
    for (uint32_t k = 0; k < graph->loop_count; k++)
        json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "first",
                                              (json_int_t)graph->loop[k].first, "last",
                                              (json_int_t)graph->loop[k].last, "steps",
                                              (json_int_t)graph->loop[k].steps));
    return list;
}

/* The turns of a step, each with its losses; none of other graphs. */
static json_t *phases_json(const hu_graph *graph) {
    json_t *list = json_array();
    for (int t = 0; list && t < graph->phase_count; t++) {
        json_t *losses = json_array();
        for (int k = 0; losses && k < graph->loss_count; k++) {
            const hu_node *node = &graph->node[graph->loss[k].node];
            if (graph->loss[k].phase == t)
                json_array_append_new(losses, json_string(graph->value[node->out[0]].name));
        }
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "name", graph->phase[t].name, "losses", losses));
    }
    return list;
}

/* The first metric is the one that compare, assign and the pictures take. */
static json_t *task_json(const hu_task *task, const hu_loss_form *loss) {
    json_t *metrics = json_array();
    for (int m = 0; metrics && task->metric[m]; m++)
        json_array_append_new(metrics,
                              json_pack("{s:s, s:s}", "name", task->metric[m]->name, "better",
                                        task->metric[m]->higher_is_better ? "higher" : "lower"));
    return json_pack("{s:s, s:s, s:o}", "name", task->name, "loss", loss->name, "metrics", metrics);
}

json_t *hu_graph_json(const hu_graph *graph, const hu_task *task, const hu_loss_form *loss) {
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "task", task_json(task, loss), "inputs",
                  loaded_json(graph, false), "targets", loaded_json(graph, true), "losses",
                  losses_json(graph), "values", values_json(graph), "nodes", nodes_json(graph));
    if (object && graph->is_split) json_object_set_new(object, "passes", passes_json(graph));
    if (object && graph->loop_count > 0) json_object_set_new(object, "loops", loops_json(graph));
    if (object && graph->phase_count > 0) json_object_set_new(object, "turns", phases_json(graph));
    return object;
}

/* ---- reading ---- */

static hu_status read_shape(const hu_place *place, const json_t *list, hu_shape *shape) {
    hu_status st = HU_OK;
    size_t rank;
    *shape = (hu_shape){0};
    HU_TRY(hu_json_list(place, list, "shape", &rank));
    if (rank > HU_MAX_RANK)
        return hu_place_fail(place, "shape: found %zu extents, expected at most %d", rank,
                             HU_MAX_RANK);
    for (shape->rank = 0; shape->rank < (int)rank; shape->rank++)
        HU_TRY(hu_json_i64(place, json_array_get(list, (size_t)shape->rank), "extent",
                           &shape->extent[shape->rank]));
done:
    return st;
}

static hu_status read_role(const hu_place *place, const json_t *text, hu_value_role *role) {
    const char *name;
    hu_status st = hu_json_text(place, text, "role", &name);
    if (st != HU_OK) return st;
    for (int r = 0; r < ROLES; r++)
        if (strcmp(role_names[r], name) == 0) {
            *role = (hu_value_role)r;
            return HU_OK;
        }
    return hu_place_fail(
        place,
        "role: found '%.40s', expected input, ids, target, activation, parameter, buffer, fact",
        name);
}

/* Of a value or a node; what has no name cannot be spoken of. */
static hu_status read_name(const hu_place *place, const json_t *object, const char **name) {
    hu_status st = hu_json_text(place, json_object_get(object, "name"), "name", name);
    if (st == HU_OK && !**name) st = hu_place_fail(place, "name: found '', expected a name");
    return st;
}

static hu_status read_value(const hu_place *place, const json_t *object, hu_graph *graph) {
    hu_status st = HU_OK;
    const char *name;
    hu_shape shape;
    hu_value_role role = HU_VALUE_INPUT;
    hu_value_id id;
    HU_TRY(read_name(place, object, &name));
    HU_TRY(read_role(place, json_object_get(object, "role"), &role));
    HU_TRY(read_shape(place, json_object_get(object, "shape"), &shape));
    st = hu_graph_add_value(graph, name, &shape, role, &id);
    if (st != HU_OK && st != HU_ERR_MEMORY) st = hu_place_fail(place, "%s", hu_last_error());
done:
    return st;
}

/* Ids of a list of names; owner frees *ids. */
static hu_status read_names(const hu_place *place, const json_t *object, const char *key,
                            const hu_graph *graph, int *count, hu_value_id **ids) {
    hu_status st = HU_OK;
    const json_t *list = json_object_get(object, key);
    const char *name;
    size_t names;
    HU_TRY(hu_json_list(place, list, key, &names));
    HU_TRY(hu_alloc_array(names, sizeof **ids, (void **)ids));
    for (size_t i = 0; i < names; i++) {
        HU_TRY(hu_json_text(place, json_array_get(list, i), key, &name));
        (*ids)[i] = hu_graph_find(graph, name);
        if ((*ids)[i] == HU_NONE)
            HU_TRY(hu_place_fail(place, "%s: '%.100s' is none of the values", key, name));
    }
    *count = (int)names;
done:
    return st;
}

static hu_status read_node(const hu_place *place, const json_t *object, hu_graph *graph) {
    hu_status st = HU_OK;
    const char *name, *op;
    hu_node_facts facts = {0};
    hu_value_id *in = NULL, *params = NULL, *out = NULL;
    HU_TRY(read_name(place, object, &name));
    HU_TRY(hu_json_text(place, json_object_get(object, "op"), "op", &op));
    const hu_op *found = hu_op_find(op);
    if (!found)
        HU_TRY(hu_fail(HU_ERR_VERSION,
                       "%s/%s: node '%.100s' is a '%.40s', which this version does "
                       "not know",
                       place->folder, place->file, name, op));
    HU_TRY(read_names(place, object, "inputs", graph, &facts.n_in, &in));
    HU_TRY(read_names(place, object, "parameters", graph, &facts.n_params, &params));
    HU_TRY(read_names(place, object, "outputs", graph, &facts.n_out, &out));
    facts.in = in;
    facts.param = params;
    facts.out = out;
    st = hu_graph_add_node(graph, found, name, &facts);
    if (st != HU_OK && st != HU_ERR_MEMORY) st = hu_place_fail(place, "%s", hu_last_error());
done:
    hu_free(in);
    hu_free(params);
    hu_free(out);
    return st;
}

/* Entry i of a list of passes, NULL: all. */
static hu_status read_when(const hu_place *place, const json_t *passes, size_t i,
                           hu_loss_when *when) {
    const char *name;
    *when = HU_LOSS_ALWAYS;
    if (!passes) return HU_OK;
    hu_status st = hu_json_text(place, json_array_get(passes, i), "passes", &name);
    if (st != HU_OK) return st;
    for (int w = HU_LOSS_ALWAYS; w <= HU_LOSS_IN_EVALUATION; w++) {
        *when = (hu_loss_when)w;
        if (strcmp(pass_names[w], name) == 0) return HU_OK;
    }
    return hu_place_fail(place, "passes: found '%.40s', expected all, training, evaluation", name);
}

/* Weights and normalisers are not told: nothing that reads a graph needs them. */
static hu_status read_losses(const hu_place *place, const json_t *list, const json_t *passes,
                             hu_graph *graph) {
    hu_status st = HU_OK;
    const char *name;
    size_t count;
    hu_loss_when when;
    HU_TRY(hu_json_list(place, list, "losses", &count));
    for (size_t i = 0; i < count; i++) {
        HU_TRY(hu_json_text(place, json_array_get(list, i), "losses", &name));
        HU_TRY(read_when(place, passes, i, &when));
        st = hu_graph_loss_when(graph, hu_graph_find(graph, name), 1.0f, HU_PER_SAMPLE, when);
        if (st != HU_OK && st != HU_ERR_MEMORY) HU_TRY(hu_place_fail(place, "%s", hu_last_error()));
    }
done:
    return st;
}

/* Of graphs with turns the losses stand by their turns, in the order of both. */
static hu_status read_phases(const hu_place *place, const json_t *phases, hu_graph *graph) {
    hu_status st = HU_OK;
    const char *name;
    size_t count;
    HU_TRY(hu_json_list(place, phases, "turns", &count));
    for (size_t i = 0; i < count; i++) {
        const json_t *phase = json_array_get(phases, i);
        HU_TRY(hu_json_text(place, json_object_get(phase, "name"), "turns", &name));
        st = hu_graph_phase(graph, name);
        if (st != HU_OK) HU_TRY(hu_place_fail(place, "%s", hu_last_error()));
        HU_TRY(read_losses(place, json_object_get(phase, "losses"), NULL, graph));
    }
done:
    return st;
}

/* list NULL: there are none. */
static hu_status read_loops(const hu_place *place, const json_t *list, hu_graph *graph) {
    hu_status st = HU_OK;
    size_t count;
    if (!list) return HU_OK;
    HU_TRY(hu_json_list(place, list, "loops", &count));
    for (size_t i = 0; i < count; i++) {
        const json_t *loop = json_array_get(list, i);
        json_int_t first = json_integer_value(json_object_get(loop, "first"));
        json_int_t last = json_integer_value(json_object_get(loop, "last"));
        bool is_number = first >= 0 && last >= 0 && first < UINT32_MAX && last < UINT32_MAX;
        st = hu_graph_add_loop(graph, (uint32_t)first, is_number ? (uint32_t)last : UINT32_MAX,
                               json_integer_value(json_object_get(loop, "steps")));
        if (st != HU_OK && st != HU_ERR_MEMORY) HU_TRY(hu_place_fail(place, "%s", hu_last_error()));
    }
done:
    return st;
}

static hu_status read_graph(const hu_place *place, const json_t *object, hu_graph *graph) {
    hu_status st = HU_OK;
    const json_t *values = json_object_get(object, "values");
    const json_t *nodes = json_object_get(object, "nodes");
    size_t count;
    HU_TRY(hu_json_list(place, values, "values", &count));
    for (size_t i = 0; i < count; i++) HU_TRY(read_value(place, json_array_get(values, i), graph));
    HU_TRY(hu_json_list(place, nodes, "nodes", &count));
    for (size_t i = 0; i < count; i++) HU_TRY(read_node(place, json_array_get(nodes, i), graph));
    HU_TRY(read_loops(place, json_object_get(object, "loops"), graph));
    const json_t *phases = json_object_get(object, "turns");
    HU_TRY(phases ? read_phases(place, phases, graph)
                  : read_losses(place, json_object_get(object, "losses"),
                                json_object_get(object, "passes"), graph));
    st = hu_graph_finish(graph);
    if (st != HU_OK && st != HU_ERR_MEMORY) st = hu_place_fail(place, "%s", hu_last_error());
done:
    return st;
}

hu_status hu_graph_read(const char *folder, hu_graph **graph) {
    hu_status st = HU_OK;
    hu_place place = {folder, file_name, 1};
    json_t *object = NULL;
    *graph = NULL;
    HU_TRY(hu_json_read(&place, &object));
    if (!object)
        HU_TRY(hu_fail(HU_ERR_MISSING,
                       "%s/%s is not there: an older version of halfulp wrote the folder; "
                       "`halfulp resume %s` adds it",
                       folder, file_name, folder));
    HU_TRY(hu_graph_create(graph));
    HU_TRY(read_graph(&place, object, *graph));
done:
    if (st != HU_OK) {
        hu_graph_free(*graph);
        *graph = NULL;
    }
    json_decref(object);
    return st;
}

hu_status hu_graph_metric(const char *folder, const hu_metric **metric) {
    hu_status st = HU_OK;
    hu_place place = {folder, file_name, 1};
    json_t *object = NULL;
    const char *name;
    *metric = &hu_metric_accuracy;
    HU_TRY(hu_json_read(&place, &object));
    const json_t *metrics = json_object_get(json_object_get(object, "task"), "metrics");
    const json_t *first = json_object_get(json_array_get(metrics, 0), "name");
    if (!first) goto done;
    HU_TRY(hu_json_text(&place, first, "metric", &name));
    const hu_metric *found = hu_metric_find(name);
    if (!found)
        HU_TRY(hu_fail(HU_ERR_VERSION, "%s/%s: metric '%.40s', which this version does not know",
                       folder, file_name, name));
    *metric = found;
done:
    json_decref(object);
    return st;
}
