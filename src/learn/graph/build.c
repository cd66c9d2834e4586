#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "graph/internal.h"

/* ---- loop ---- */

/* The loop that is being declared, NULL: none. */
static const hu_loop *hu_loop_open(const hu_graph *graph) {
    const hu_loop *last = graph->loop_count ? &graph->loop[graph->loop_count - 1] : NULL;
    return last && !last->is_closed ? last : NULL;
}

/* ---- declaration ---- */

static hu_status check_lengths(const hu_graph *graph, hu_value_id lengths) {
    if (lengths == HU_NONE) return HU_OK;
    if (lengths >= graph->value_count || !hu_is_given(&graph->value[lengths]) ||
        graph->value[lengths].elements != 1)
        return hu_fail(HU_ERR_ARGUMENT,
                       "a loop's lengths: found '%s', expected a target or a fact of one element",
                       lengths < graph->value_count ? graph->value[lengths].name : "?");
    return HU_OK;
}

hu_status hu_graph_loop(hu_graph *graph, int64_t steps, hu_value_id lengths) {
    hu_status st = HU_OK;
    if (hu_loop_open(graph)) return hu_fail(HU_ERR_ARGUMENT, "a loop begins inside another");
    if (steps < 1)
        return hu_fail(HU_ERR_ARGUMENT, "a loop of %lld steps, expected at least 1",
                       (long long)steps);
    HU_TRY(check_lengths(graph, lengths));
    HU_TRY(hu_grow(&graph->loop, graph->loop_count, &graph->loop_capacity, sizeof *graph->loop));
    graph->loop[graph->loop_count++] =
        (hu_loop){.first = graph->node_count, .steps = steps, .lengths = lengths};
done:
    return st;
}

hu_status hu_graph_add_loop(hu_graph *graph, uint32_t first, uint32_t last, int64_t steps) {
    bool is_sound = first <= last && last < graph->node_count && steps > 0;
    for (uint32_t n = first; is_sound && n <= last; n++) is_sound = graph->node[n].loop == HU_NONE;
    if (!is_sound)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found a loop of nodes %u to %u, expected nodes below %u that are in none",
                       first, last, graph->node_count);
    hu_status st =
        hu_grow(&graph->loop, graph->loop_count, &graph->loop_capacity, sizeof *graph->loop);
    if (st != HU_OK) return st;
    for (uint32_t n = first; n <= last; n++) graph->node[n].loop = graph->loop_count;
    graph->loop[graph->loop_count++] = (hu_loop){
        .first = first, .last = last, .steps = steps, .lengths = HU_NONE, .is_closed = true};
    return HU_OK;
}

/* Until hu_graph_next says what follows, the initial row stands in its place. */
hu_status hu_graph_state(hu_graph *graph, const char *name, hu_value_id initial,
                         hu_value_id *state) {
    const hu_loop *loop = hu_loop_open(graph);
    if (!loop) return hu_fail(HU_ERR_ARGUMENT, "the state '%s' is outside of loops", name);
    if (initial < graph->value_count && graph->value[initial].producer != HU_NONE &&
        graph->value[initial].producer >= loop->first)
        return hu_fail(HU_ERR_ARGUMENT, "the state '%s' starts as '%s', which its loop makes", name,
                       graph->value[initial].name);
    const hu_value_id in[] = {initial, initial, loop->lengths};
    int n_in = loop->lengths == HU_NONE ? HU_STATE_LENGTHS : HU_STATE_LENGTHS + 1;
    return hu_graph_apply(graph, &hu_op_previous, name, NULL, NULL, n_in, in, state);
}

static hu_node *node_of_state(const hu_graph *graph, const hu_loop *loop, hu_value_id state) {
    uint32_t n = state < graph->value_count ? graph->value[state].producer : HU_NONE;
    bool is_state = n != HU_NONE && n >= loop->first && graph->node[n].op->is_previous;
    return is_state ? &graph->node[n] : NULL;
}

static hu_status check_next(const hu_graph *graph, const hu_loop *loop, const hu_node *node,
                            hu_value_id next) {
    const hu_value_info *value = next < graph->value_count ? &graph->value[next] : NULL;
    const hu_value_info *state = &graph->value[node->out[0]];
    char found[176], expected[176];
    if (!value || value->producer == HU_NONE || value->producer < loop->first ||
        graph->node[value->producer].op->is_view)
        return hu_fail(HU_ERR_ARGUMENT,
                       "'%s': found '%s' as the next state, expected a value that the loop makes, "
                       "and no view",
                       state->name, value ? value->name : "?");
    if (hu_shape_equal(&value->shape, &state->shape)) return HU_OK;
    hu_shape_print(&value->shape, found, sizeof found);
    hu_shape_print(&state->shape, expected, sizeof expected);
    return hu_fail(HU_ERR_SHAPE, "'%s' becomes '%s': found %s, expected %s", state->name,
                   value->name, found, expected);
}

hu_status hu_graph_next(hu_graph *graph, hu_value_id state, hu_value_id next) {
    const hu_loop *loop = hu_loop_open(graph);
    hu_node *node = loop ? node_of_state(graph, loop, state) : NULL;
    if (!node || node->in[HU_STATE_NEXT] != node->in[HU_STATE_INITIAL])
        return hu_fail(HU_ERR_ARGUMENT, "'%s': expected a state of the open loop, without a next",
                       state < graph->value_count ? graph->value[state].name : "?");
    hu_status st = check_next(graph, loop, node, next);
    if (st != HU_OK) return st;
    node->in[HU_STATE_NEXT] = next;
    graph->use[node->first_use + HU_STATE_NEXT].value = next;
    return HU_OK;
}

hu_status hu_graph_end_loop(hu_graph *graph) {
    bool has_state = false;
    if (!hu_loop_open(graph)) return hu_fail(HU_ERR_ARGUMENT, "no loop is open");
    hu_loop *loop = &graph->loop[graph->loop_count - 1];
    for (uint32_t n = loop->first; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        if (!node->op->is_previous) continue;
        has_state = true;
        if (node->in[HU_STATE_NEXT] == node->in[HU_STATE_INITIAL])
            return hu_fail(HU_ERR_ARGUMENT, "the state '%s' has no next", node->name);
    }
    if (!has_state) return hu_fail(HU_ERR_ARGUMENT, "a loop without a state");
    loop->last = graph->node_count - 1;
    loop->is_closed = true;
    return HU_OK;
}

/* Steps hand an op some samples of a chunk, in several calls: nothing may be added over the batch
 * but gradients of parameters, which come from one more call for all rows. */
static hu_status hu_loop_check(const hu_loop *loop, const hu_op *op) {
    bool looks = op->reduce && !op->rounds_operands; /* in a loop operands are looked at by step */
    bool can = !looks && !op->commit && !op->is_loss && !op->makes_facts && !op->mask_bytes;
    if (op->params) can &= op->dparam_per_chunk && (op->max_in == 1 || op->broadcasts);
    if (!loop && op->is_previous)
        return hu_fail(HU_ERR_ARGUMENT, "'%s' is for states of loops", op->name);
    if (!loop || can) return HU_OK;
    return hu_fail(
        HU_ERR_ARGUMENT,
        "'%s' cannot run in a loop: it keeps bits for the backward pass or looks at a whole batch",
        op->name);
}

/* HU_ERR_ARGUMENT for a value that a node of the loop holds, and that the loop makes. */
static hu_status hu_loop_hold(const hu_loop *loop, const hu_value_info *value) {
    if (value->producer == HU_NONE || value->producer < loop->first) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "'%s' is read as a whole in every step: found a value that the loop makes, "
                   "expected one from outside",
                   value->name);
}

/* The shape of one step of a value that a loop reads; HU_ERR_SHAPE if it has no rows for steps. */
static hu_status hu_loop_step(const hu_loop *loop, const hu_value_info *value, hu_shape *step) {
    const hu_shape *whole = &value->shape;
    if (whole->rank < 1 || whole->extent[0] != loop->steps)
        return hu_fail(HU_ERR_SHAPE,
                       "'%s' is read in a loop: found a first extent of %lld, "
                       "expected %lld steps",
                       value->name, (long long)(whole->rank ? whole->extent[0] : 0),
                       (long long)loop->steps);
    step->rank = whole->rank - 1;
    for (int i = 0; i < step->rank; i++) step->extent[i] = whole->extent[i + 1];
    return HU_OK;
}

/* The shape of a value of which a node makes one step; outside of loops (NULL) the same. */
static hu_shape hu_loop_whole(const hu_loop *loop, const hu_shape *step) {
    hu_shape whole = {.rank = step->rank + 1};
    if (!loop) return *step;
    whole.extent[0] = loop->steps;
    for (int i = 0; i < step->rank && i + 1 < HU_MAX_RANK; i++)
        whole.extent[i + 1] = step->extent[i];
    return whole;
}

/* Notes that a loop (NULL: none) makes or reads the steps of a value. */
static void hu_loop_mark(const hu_loop *loop, hu_value_info *value) {
    if (loop) value->steps = loop->steps;
}

/* ---- questions ---- */

/* What a state becomes is found by the one use of what it starts as. */
static hu_status check_carried(const hu_graph *graph, hu_value_id start) {
    uint32_t uses = 0, states = 0;
    for (uint32_t u = 0; u < graph->use_count; u++) {
        const hu_use *use = &graph->use[u];
        if (use->value != start) continue;
        uses++;
        states += graph->node[use->node].op->is_previous && use->index == HU_STATE_INITIAL;
    }
    if (uses == 1 && states == 1) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "'%s': found %u readers, expected one, the state that goes on",
                   graph->value[start].name, uses);
}

hu_status hu_loops_check(const hu_graph *graph) {
    hu_status st = HU_OK;
    if (hu_loop_open(graph)) return hu_fail(HU_ERR_ARGUMENT, "a loop has no end");
    for (uint32_t n = 0; n < graph->node_count && st == HU_OK; n++)
        if (graph->node[n].op->is_carried) st = check_carried(graph, graph->node[n].out[0]);
    if (st != HU_OK) return st;
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (graph->node[n].op->is_previous && graph->node[n].loop == HU_NONE)
            return hu_fail(HU_ERR_ARGUMENT, "the state '%s' is outside of loops",
                           graph->node[n].name);
    return HU_OK;
}

bool hu_is_read_by_step(const hu_graph *graph, hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++) {
        const hu_use *use = &graph->use[value->uses[k]];
        const hu_node *node = &graph->node[use->node];
        if (node->loop != HU_NONE && !(node->op->is_previous && use->index != HU_STATE_NEXT))
            return true;
    }
    return false;
}

void hu_loop_share_phases(hu_graph *graph, uint32_t n) {
    const hu_loop *loop = hu_loop_of(graph, &graph->node[n]);
    if (!loop || n != loop->last) return;
    for (uint32_t m = loop->first; m < n; m++) graph->node[n].phases |= graph->node[m].phases;
    for (uint32_t m = loop->first; m < n; m++) graph->node[m].phases = graph->node[n].phases;
}

bool hu_loop_learns(const hu_graph *graph, uint32_t index, unsigned bit) {
    const hu_loop *loop = &graph->loop[index];
    bool learns = false;
    for (uint32_t n = loop->first; n <= loop->last; n++) {
        const hu_node *node = &graph->node[n];
        for (int i = 0; i < node->n_in; i++) learns |= graph->value[node->in[i]].grad_in & bit;
        for (int j = 0; j < node->n_params; j++)
            learns |= graph->value[node->param[j]].grad_in & bit;
    }
    return learns;
}

void hu_loop_close_gradients(hu_graph *graph, uint32_t last, unsigned bit) {
    const hu_loop *loop = hu_loop_of(graph, &graph->node[last]);
    if (!loop || last != loop->last) return;
    for (uint32_t n = loop->first; n <= last; n++) {
        hu_node *node = &graph->node[n];
        if (node->op->is_previous)
            node->need_din[HU_STATE_NEXT] = graph->value[node->in[HU_STATE_NEXT]].grad_in & bit;
    }
}

/* ---- build ---- */

/* ---- Values by name ---- */

void hu_name_table_free(hu_name_table *table) {
    hu_free(table->entry);
    *table = (hu_name_table){0};
}

/* The place of a name, or the free one where it belongs; the table must have a free place. */
static hu_name_entry *place_of(const hu_name_table *table, const char *name) {
    size_t mask = table->capacity - 1, i = (size_t)XXH64(name, strlen(name), 0) & mask;
    while (table->entry[i].name && strcmp(table->entry[i].name, name) != 0) i = (i + 1) & mask;
    return &table->entry[i];
}

static hu_status grow_table(hu_name_table *table) {
    enum { FIRST = 64 };
    hu_name_table larger = {.count = table->count,
                            .capacity = table->capacity ? 2 * table->capacity : FIRST};
    hu_status st = HU_NEW_ARRAY(&larger.entry, larger.capacity);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entry[i].name) *place_of(&larger, table->entry[i].name) = table->entry[i];
    hu_free(table->entry);
    *table = larger;
    return HU_OK;
}

hu_status hu_name_table_add(hu_name_table *table, const char *name, uint32_t id) {
    if (2 * (table->count + 1) >= table->capacity) {
        hu_status st = grow_table(table);
        if (st != HU_OK) return st;
    }
    *place_of(table, name) = (hu_name_entry){name, id};
    table->count++;
    return HU_OK;
}

const hu_name_entry *hu_name_table_find(const hu_name_table *table, const char *name) {
    if (table->capacity == 0) return NULL;
    const hu_name_entry *entry = place_of(table, name);
    return entry->name ? entry : NULL;
}

/* ---- The graph as others ask about it ---- */

/* The graph as others ask about it; build.c declares it, finalize.c closes it. */

hu_status hu_graph_create(hu_graph **graph) {
    hu_status st = HU_NEW(graph);
    if (st == HU_OK) (*graph)->made = (*graph)->wanted = HU_NONE;
    return st;
}

static void free_node(hu_node *node) {
    hu_free(node->name);
    hu_free(node->attrs);
    hu_free(node->in);
    hu_free(node->out);
    hu_free(node->param);
    hu_free(node->need_din);
    hu_free(node->need_dparam);
    hu_free(node->shapes);
}

void hu_graph_free(hu_graph *graph) {
    if (!graph) return;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        hu_free(graph->value[v].name);
        hu_free(graph->value[v].uses);
    }
    for (uint32_t n = 0; n < graph->node_count; n++) free_node(&graph->node[n]);
    hu_name_table_free(&graph->names);
    hu_free(graph->loaded);
    hu_free(graph->loop);
    hu_free(graph->value);
    hu_free(graph->node);
    hu_free(graph->use);
    hu_free(graph);
}

bool hu_use_has_gradient(const hu_graph *graph, uint32_t use) {
    const hu_use *u = &graph->use[use];
    const hu_node *node = &graph->node[u->node];
    return u->index < node->n_in ? node->need_din[u->index]
                                 : node->need_dparam[u->index - node->n_in];
}

uint32_t hu_contribution_count(const hu_graph *graph, hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    uint32_t count = 0;
    for (uint32_t k = 0; k < value->use_count; k++)
        count += hu_use_has_gradient(graph, value->uses[k]);
    return count;
}

uint32_t hu_contribution_use(const hu_graph *graph, hu_value_id v, uint32_t k) {
    const hu_value_info *value = &graph->value[v];
    uint32_t i = 0;
    while (!hu_use_has_gradient(graph, value->uses[i]) || k-- > 0) i++;
    return value->uses[i];
}

bool hu_is_summed_parameter(const hu_graph *graph, hu_value_id v) {
    return graph->value[v].role == HU_VALUE_PARAMETER && hu_contribution_count(graph, v) > 1;
}

hu_value_id hu_graph_find(const hu_graph *graph, const char *name) {
    const hu_name_entry *entry = hu_name_table_find(&graph->names, name);
    return entry ? entry->id : HU_NONE;
}

void hu_graph_layer_name(const hu_graph *graph, const hu_node *node, char *layer) {
    static const char suffix[] = ".weight";
    const hu_value_info *weight = node->n_params > 0 ? &graph->value[node->param[0]] : NULL;
    bool is_own =
        weight && (!weight->uses || &graph->node[graph->use[weight->uses[0]].node] == node);
    const char *name = is_own ? weight->name : node->name;
    snprintf(layer, HU_NAME_BYTES, "%s", name);
    size_t length = strlen(layer), tail = sizeof suffix - 1;
    if (length > tail && strcmp(layer + length - tail, suffix) == 0) layer[length - tail] = '\0';
}

const char *hu_product_role_name(hu_product_role role) {
    static const char *const names[] = {"forward", "input_grad", "weight_grad"};
    return names[role];
}

hu_node_info hu_graph_node_info(const hu_node *node, int64_t chunk, int threads) {
    return (hu_node_info){.attrs = node->attrs,
                          .name = node->name,
                          .n_in = node->n_in,
                          .n_out = node->n_out,
                          .n_params = node->n_params,
                          .in = node->shapes,
                          .out = node->shapes + node->n_in,
                          .param = node->shapes + node->n_in + node->n_out,
                          .need_din = node->need_din,
                          .chunk = chunk,
                          .threads = threads};
}

hu_value_id hu_graph_loss_target(const hu_graph *graph, int loss) {
    const hu_node *node = &graph->node[graph->loss[loss].node];
    bool has_target = node->n_in > 1 && graph->value[node->in[1]].role == HU_VALUE_TARGET;
    return has_target ? node->in[1] : HU_NONE;
}

int64_t hu_graph_count_units(const hu_graph *graph, int loss, int64_t count, const float *target,
                             hu_round_counts *counts) {
    const hu_node *node = &graph->node[graph->loss[loss].node];
    hu_node_info info = hu_graph_node_info(node, count, 1);
    if (!node->op->check_target || hu_graph_loss_target(graph, loss) == HU_NONE) return count;
    return node->op->check_target(&info, count, target, counts);
}

/* ---- Declaring a graph: values and nodes, one after the other ---- */

static hu_status list_loaded(hu_graph *graph, hu_value_id id) {
    hu_status st = hu_grow(&graph->loaded, graph->loaded_count, &graph->loaded_capacity,
                           sizeof *graph->loaded);
    if (st != HU_OK) return st;
    graph->loaded[graph->loaded_count++] = id;
    return HU_OK;
}

hu_status hu_graph_add_value(hu_graph *graph, const char *name, const hu_shape *shape,
                             hu_value_role role, hu_value_id *id) {
    hu_status st = HU_OK;
    HU_TRY(hu_shape_check(shape));
    if (strlen(name) >= HU_NAME_BYTES)
        return hu_fail(HU_ERR_LIMIT, "the name '%.40s...' is longer than %d characters", name,
                       HU_NAME_BYTES - 1);
    if (hu_graph_find(graph, name) != HU_NONE)
        return hu_fail(HU_ERR_ARGUMENT, "two values are called '%s'", name);
    HU_TRY(
        hu_grow(&graph->value, graph->value_count, &graph->value_capacity, sizeof *graph->value));
    hu_value_info *value = &graph->value[graph->value_count];
    *value = (hu_value_info){.shape = *shape,
                             .elements = hu_shape_elements(shape),
                             .role = role,
                             .steps = 1,
                             .producer = HU_NONE,
                             .ends = {.lengths = HU_NONE},
                             .inner = {.lengths = HU_NONE},
                             .needs_grad = role == HU_VALUE_PARAMETER};
    HU_TRY(hu_strdup(name, &value->name));
    graph->value_count++; /* from now on hu_graph_free frees the name */
    HU_TRY(hu_name_table_add(&graph->names, value->name, graph->value_count - 1));
    *id = graph->value_count - 1;
    if (hu_is_loaded(value)) HU_TRY(list_loaded(graph, *id));
done:
    return st;
}

hu_status hu_graph_input(hu_graph *graph, const char *name, const hu_shape *shape,
                         hu_value_id *value) {
    return hu_graph_add_value(graph, name, shape, HU_VALUE_INPUT, value);
}

hu_status hu_graph_target(hu_graph *graph, const char *name, const hu_shape *shape,
                          hu_value_id *value) {
    return hu_graph_add_value(graph, name, shape, HU_VALUE_TARGET, value);
}

hu_status hu_graph_ids(hu_graph *graph, const char *name, const hu_shape *shape, int64_t ids,
                       hu_value_id *value) {
    if (ids < 1 || ids > HU_IDS_MOST)
        return hu_fail(HU_ERR_LIMIT,
                       "'%s': found %lld different numbers, expected 1 to %d: larger ones are not "
                       "exact in float32",
                       name, (long long)ids, HU_IDS_MOST);
    hu_status st = hu_graph_add_value(graph, name, shape, HU_VALUE_IDS, value);
    if (st == HU_OK) graph->value[*value].ids = ids;
    return st;
}

static hu_status add_use(hu_graph *graph, uint32_t node, int index, hu_value_id value) {
    hu_status st = hu_grow(&graph->use, graph->use_count, &graph->use_capacity, sizeof *graph->use);
    if (st != HU_OK) return st;
    graph->use[graph->use_count++] = (hu_use){node, index, value};
    return HU_OK;
}

static hu_status add_outputs(hu_graph *graph, uint32_t id, const hu_shape *shapes) {
    hu_node *node = &graph->node[id];
    char name[2 * HU_NAME_BYTES];
    for (int i = 0; i < node->n_out; i++) {
        if (node->op->output_names)
            snprintf(name, sizeof name, "%s.%s", node->name, node->op->output_names[i]);
        else if (node->n_out == 1)
            snprintf(name, sizeof name, "%s.out", node->name);
        else
            snprintf(name, sizeof name, "%s.out%d", node->name, i);
        hu_value_role role = node->op->makes_facts ? HU_VALUE_FACT : HU_VALUE_ACTIVATION;
        hu_shape shape = hu_loop_whole(hu_loop_of(graph, node), &shapes[i]);
        hu_status st = hu_graph_add_value(graph, name, &shape, role, &node->out[i]);
        if (st != HU_OK) return st;
        hu_loop_mark(hu_loop_of(graph, node), &graph->value[node->out[i]]);
        graph->value[node->out[i]].producer = id;
        graph->value[node->out[i]].output = (uint32_t)i;
    }
    return HU_OK;
}

/* Who a node's parameters are: new ones with names PREFIX.suffix, or shared ones. */
typedef struct params_of {
    const char *prefix;        /* NULL: the node's name */
    const hu_value_id *shared; /* NULL: none is */
} params_of;

static hu_status check_shared(const hu_graph *graph, hu_value_id id, const hu_param_decl *decl) {
    char found[128], expected[128];
    hu_value_role role = decl->trained ? HU_VALUE_PARAMETER : HU_VALUE_BUFFER;
    if (id >= graph->value_count || graph->value[id].role != role)
        return hu_fail(HU_ERR_ARGUMENT, "'%s' cannot be shared as %s: it is no %s",
                       id < graph->value_count ? graph->value[id].name : "?", decl->suffix,
                       decl->trained ? "trained parameter" : "running statistic");
    if (hu_shape_equal(&graph->value[id].shape, &decl->shape)) return HU_OK;
    hu_shape_print(&graph->value[id].shape, found, sizeof found);
    hu_shape_print(&decl->shape, expected, sizeof expected);
    return hu_fail(HU_ERR_SHAPE, "'%s' cannot be shared as %s: found %s, expected %s",
                   graph->value[id].name, decl->suffix, found, expected);
}

void hu_param_name(const char *prefix, const char *suffix, char *name, size_t bytes) {
    const char *star = strchr(prefix, '*');
    if (star)
        snprintf(name, bytes, "%.*s%s%s", (int)(star - prefix), prefix, suffix, star + 1);
    else
        snprintf(name, bytes, "%s%s%s", prefix, *suffix ? "." : "", suffix);
}

static hu_status add_param(hu_graph *graph, uint32_t id, const char *prefix,
                           const hu_param_decl *decl, hu_value_id *param) {
    char name[2 * HU_NAME_BYTES];
    hu_param_name(prefix ? prefix : graph->node[id].name, decl->suffix, name, sizeof name);
    hu_value_role role = decl->trained ? HU_VALUE_PARAMETER : HU_VALUE_BUFFER;
    hu_status st = hu_graph_add_value(graph, name, &decl->shape, role, param);
    if (st == HU_OK) graph->value[*param].init = decl->init;
    return st;
}

static hu_status add_params(hu_graph *graph, uint32_t id, const params_of *of,
                            const hu_param_decl *list) {
    hu_status st = HU_OK;
    for (int j = 0; j < graph->node[id].n_params; j++) {
        hu_value_id param = of->shared ? of->shared[j] : HU_NONE;
        if (param == HU_NONE)
            HU_TRY(add_param(graph, id, of->prefix, &list[j], &param));
        else
            HU_TRY(check_shared(graph, param, &list[j]));
        graph->node[id].param[j] = param;
    }
done:
    return st;
}

/* Allocates the arrays of a new node and copies what the caller gave. */
static hu_status fill_node(hu_node *node, const hu_op *op, const char *name, const void *attrs,
                           const hu_value_id *in) {
    hu_status st = HU_OK;
    size_t shapes = (size_t)(node->n_in + node->n_out + node->n_params);
    HU_TRY(hu_strdup(name, &node->name));
    if (attrs) HU_TRY(hu_alloc(op->attrs_bytes, &node->attrs));
    if (attrs) memcpy(node->attrs, attrs, op->attrs_bytes);
    HU_TRY(HU_NEW_ARRAY(&node->in, (size_t)node->n_in));
    if (node->n_in > 0) memcpy(node->in, in, (size_t)node->n_in * sizeof *in);
    HU_TRY(HU_NEW_ARRAY(&node->out, (size_t)node->n_out));
    HU_TRY(HU_NEW_ARRAY(&node->param, (size_t)node->n_params));
    HU_TRY(HU_NEW_ARRAY(&node->need_din, (size_t)node->n_in));
    HU_TRY(HU_NEW_ARRAY(&node->need_dparam, (size_t)node->n_params));
    HU_TRY(HU_NEW_ARRAY(&node->shapes, shapes));
done:
    return st;
}

static hu_status infer(const hu_graph *graph, const hu_loop *loop, const hu_op *op,
                       const void *attrs, int n_in, const hu_value_id *in, hu_shape *in_shapes,
                       int *n_out, hu_shape *out, int *n_params, hu_param_decl *list) {
    hu_status st = HU_OK;
    if (n_in < op->min_in)
        return hu_fail(HU_ERR_SHAPE, "%d inputs, expected at least %d", n_in, op->min_in);
    if (op->max_in >= 0 && n_in > op->max_in)
        return hu_fail(HU_ERR_SHAPE, "%d inputs, expected at most %d", n_in, op->max_in);
    for (int i = 0; i < n_in; i++) {
        if (in[i] >= graph->value_count)
            return hu_fail(HU_ERR_ARGUMENT, "input %d is no value of the graph", i);
        in_shapes[i] = graph->value[in[i]].shape;
        if (loop && op->held >> i & 1u)
            HU_TRY(hu_loop_hold(loop, &graph->value[in[i]]));
        else if (loop && !op->is_previous)
            HU_TRY(hu_loop_step(loop, &graph->value[in[i]], &in_shapes[i]));
    }
    HU_TRY(op->shape(attrs, n_in, in_shapes, n_out, out));
    *n_params = 0;
    if (op->params) HU_TRY(op->params(attrs, in_shapes, list, n_params));
done:
    return st;
}

static hu_status declare(hu_graph *graph, const hu_op *op, const char *name, const params_of *of,
                         const void *attrs, int n_in, const hu_value_id *in, hu_value_id *outputs) {
    hu_status st = HU_OK;
    hu_shape out[HU_MAX_OUTPUTS];
    hu_param_decl list[HU_MAX_PARAMS];
    void *in_shapes = NULL;
    const hu_loop *loop = hu_loop_open(graph);
    hu_node node = {.op = op, .n_in = n_in, .loss = -1, .loop = HU_NONE};
    if (loop) node.loop = graph->loop_count - 1;
    HU_TRY(hu_alloc_array((size_t)n_in, sizeof(hu_shape), &in_shapes));
    HU_TRY(hu_loop_check(loop, op));
    HU_TRY(
        infer(graph, loop, op, attrs, n_in, in, in_shapes, &node.n_out, out, &node.n_params, list));
    HU_TRY(hu_grow(&graph->node, graph->node_count, &graph->node_capacity, sizeof *graph->node));
    uint32_t id = graph->node_count++;
    graph->node[id] = node;
    HU_TRY(fill_node(&graph->node[id], op, name, attrs, in));
    HU_TRY(add_outputs(graph, id, out));
    HU_TRY(add_params(graph, id, of, list));
    hu_node *made = &graph->node[id];
    made->first_use = graph->use_count;
    for (int i = 0; i < n_in; i++) HU_TRY(add_use(graph, id, i, in[i]));
    for (int j = 0; j < made->n_params; j++) HU_TRY(add_use(graph, id, n_in + j, made->param[j]));
    for (int i = 0; i < n_in && !op->is_previous; i++)
        if (!hu_is_held(made, i)) hu_loop_mark(loop, &graph->value[in[i]]);
    memcpy(made->shapes, in_shapes, (size_t)n_in * sizeof(hu_shape));
    memcpy(made->shapes + n_in, out, (size_t)made->n_out * sizeof(hu_shape));
    for (int j = 0; j < made->n_params; j++) made->shapes[n_in + made->n_out + j] = list[j].shape;
    hu_row_lengths_infer(graph, made);
    memcpy(outputs, made->out, (size_t)made->n_out * sizeof *outputs);
done:
    hu_free(in_shapes);
    if (st != HU_OK) return hu_fail_within(st, "node '%s' (%s): ", name, op->name);
    return HU_OK;
}

hu_status hu_graph_apply(hu_graph *graph, const hu_op *op, const char *name, const char *prefix,
                         const void *attrs, int n_in, const hu_value_id *in, hu_value_id *outputs) {
    const params_of of = {.prefix = prefix};
    return declare(graph, op, name, &of, attrs, n_in, in, outputs);
}

hu_status hu_graph_share(hu_graph *graph, const hu_op *op, const char *name, const void *attrs,
                         int n_in, const hu_value_id *in, const hu_value_id *params,
                         hu_value_id *outputs) {
    const params_of of = {.shared = params};
    return declare(graph, op, name, &of, attrs, n_in, in, outputs);
}

static hu_status check_facts(const hu_graph *graph, const hu_node_facts *facts) {
    const hu_value_id *list[] = {facts->in, facts->out, facts->param};
    const int count[] = {facts->n_in, facts->n_out, facts->n_params};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < count[k]; i++)
            if (list[k][i] >= graph->value_count)
                return hu_fail(HU_ERR_ARGUMENT, "value %u is not declared", list[k][i]);
    if (facts->n_out > HU_MAX_OUTPUTS || facts->n_params > HU_MAX_PARAMS)
        return hu_fail(HU_ERR_LIMIT, "%d outputs and %d parameters, expected at most %d and %d",
                       facts->n_out, facts->n_params, HU_MAX_OUTPUTS, HU_MAX_PARAMS);
    return HU_OK;
}

static hu_status connect(hu_graph *graph, uint32_t id, const hu_node_facts *facts) {
    hu_status st = HU_OK;
    hu_node *node = &graph->node[id];
    hu_shape *shape = node->shapes;
    node->first_use = graph->use_count;
    for (int i = 0; i < node->n_in; i++) {
        *shape++ = graph->value[node->in[i]].shape;
        HU_TRY(add_use(graph, id, i, node->in[i]));
    }
    for (int i = 0; i < node->n_out; i++) {
        node->out[i] = facts->out[i];
        if (graph->value[node->out[i]].producer != HU_NONE)
            return hu_fail(HU_ERR_ARGUMENT, "'%s' is made twice", graph->value[node->out[i]].name);
        *shape++ = graph->value[node->out[i]].shape;
        graph->value[node->out[i]].producer = id;
        graph->value[node->out[i]].output = (uint32_t)i;
    }
    for (int j = 0; j < node->n_params; j++) {
        node->param[j] = facts->param[j];
        *shape++ = graph->value[node->param[j]].shape;
        HU_TRY(add_use(graph, id, node->n_in + j, node->param[j]));
    }
done:
    return st;
}

hu_status hu_graph_add_node(hu_graph *graph, const hu_op *op, const char *name,
                            const hu_node_facts *facts) {
    hu_status st = HU_OK;
    HU_TRY(check_facts(graph, facts));
    HU_TRY(hu_grow(&graph->node, graph->node_count, &graph->node_capacity, sizeof *graph->node));
    uint32_t id = graph->node_count++;
    graph->node[id] = (hu_node){.op = op,
                                .n_in = facts->n_in,
                                .n_out = facts->n_out,
                                .n_params = facts->n_params,
                                .loss = -1,
                                .loop = HU_NONE};
    HU_TRY(fill_node(&graph->node[id], op, name, NULL, facts->in));
    HU_TRY(connect(graph, id, facts));
done:
    if (st != HU_OK) return hu_fail_within(st, "node '%s' (%s): ", name, op->name);
    return HU_OK;
}
