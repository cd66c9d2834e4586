/* Networks that a program declares: operations by name, attributes as texts. */
#include "session/net.h"

#include "base/error.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/text.h"

/* Inputs of one operation: more than any has. */
enum { NEAREST_BYTES = 256, INPUTS_MAX = 1 << 16 };

struct hu_net {
    hu_graph *graph;
    hu_value_id head;
    bool is_broken; /* a declaration has failed: the graph can only be freed */
};

hu_status hu_net_create(hu_net **net) {
    HU_GIVEN(net);
    hu_status st = HU_OK;
    void *block = NULL;
    *net = NULL;
    HU_TRY(hu_alloc(sizeof **net, &block));
    hu_net *made = block;
    made->head = HU_NONE;
    HU_TRY(hu_graph_create(&made->graph));
    *net = made;
    block = NULL;
done:
    hu_free(block);
    return st;
}

void hu_net_free(hu_net *net) {
    if (!net) return;
    hu_graph_free(net->graph);
    hu_free(net);
}

/* A graph that failed half-way has values that nothing made: it can only be freed. */
static hu_status check(const hu_net *net) {
    return net->is_broken ? hu_fail(HU_ERR_ARGUMENT, "a declaration of this network has failed")
                          : HU_OK;
}

hu_status hu_net_input(hu_net *net, const char *name, const hu_shape *sample, hu_value *value) {
    HU_GIVEN(net);
    HU_GIVEN(name);
    HU_GIVEN(sample);
    HU_GIVEN(value);
    hu_value_id id = HU_NONE;
    hu_status st = check(net);
    if (st != HU_OK) return st;
    st = hu_graph_input(net->graph, name, sample, &id);
    net->is_broken = st != HU_OK;
    *value = id;
    return st;
}

/* Loops are not told in words. */
static bool is_of_loops(const hu_op *op) {
    return op->is_previous || op->is_carried;
}

/* Losses are the task's to add, so they are no operations here. */
static hu_status find_op(const char *name, const hu_op **op) {
    const char *names[256];
    char nearest[NEAREST_BYTES];
    size_t count = 0;
    *op = hu_op_find(name);
    bool is_state = *op && is_of_loops(*op);
    if (*op && !(*op)->is_loss && !is_state) return HU_OK;
    if (*op && !is_state)
        return hu_fail(HU_ERR_ARGUMENT, "operation '%s' is a loss, which the task adds to the head",
                       name);
    for (int i = 0; i < hu_op_count && count < sizeof names / sizeof *names; i++)
        if (!hu_op_table[i]->is_loss && !is_of_loops(hu_op_table[i]))
            names[count++] = hu_op_table[i]->name;
    hu_nearest(name, names, count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "unknown operation '%.60s', nearest: %s", name, nearest);
}

/* The attribute struct of an op from a text and the shape of its first input. Owner frees. */
static hu_status read_attributes(const hu_net *net, const hu_op *op, const char *name,
                                 const char *text, size_t n_in, const hu_value *in, void **attrs) {
    hu_status st = HU_OK;
    HU_TRY(hu_alloc(op->attrs_bytes, attrs));
    st = hu_attributes_read(op->attributes, text ? text : "", *attrs);
    if (st != HU_OK) return hu_fail_within(st, "node '%s' (%s): ", name, op->name);
    if (op->usual && n_in > 0 && in[0] < net->graph->value_count)
        /* What the text leaves open follows from the input, such as an initial deviation from its
         * fan-in. */
        op->usual(*attrs, &net->graph->value[in[0]].shape);
done:
    return st;
}

hu_status hu_net_apply(hu_net *net, const char *op, const char *name, const char *attributes,
                       size_t n_in, const hu_value *in, hu_value *outputs) {
    HU_GIVEN(net);
    HU_GIVEN(op);
    HU_GIVEN(name);
    HU_GIVEN_IF(in, n_in > 0);
    HU_GIVEN(outputs);
    HU_GIVEN_MOST(n_in, INPUTS_MAX);
    _Static_assert((int)HU_NET_OUTPUTS == (int)HU_MAX_OUTPUTS, "the public header must agree");
    hu_status st = HU_OK;
    const hu_op *found;
    void *attrs = NULL;
    HU_TRY(check(net));
    HU_TRY(find_op(op, &found));
    HU_TRY(read_attributes(net, found, name, attributes, n_in, in, &attrs));
    st = hu_graph_apply(net->graph, found, name, NULL, attrs, (int)n_in, in, outputs);
    net->is_broken = st != HU_OK;
done:
    hu_free(attrs);
    return st;
}

hu_status hu_net_head(hu_net *net, hu_value value) {
    HU_GIVEN(net);
    hu_status st = check(net);
    if (st != HU_OK) return st;
    if (value >= net->graph->value_count)
        return hu_fail(HU_ERR_ARGUMENT, "head: %u is no value of the network", value);
    /* The last head that was named counts. */
    net->head = value;
    return HU_OK;
}

hu_status hu_net_own(const hu_net *net, hu_own_net *own) {
    hu_status st = check(net);
    *own = (hu_own_net){.graph = net->graph, .head = net->head};
    if (st == HU_OK && net->head == HU_NONE)
        st = hu_fail(HU_ERR_ARGUMENT, "the network has no head: hu_net_head says what it predicts");
    return st;
}
