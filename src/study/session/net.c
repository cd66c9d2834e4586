#include "session/net.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/config.h"
#include "model/network_file.h"
#include "op/attributes.h"

/* The inside of a public network (halfulp/train.h). */

/* Inputs of one operation: more than any has. */
enum { NEAREST_BYTES = 256, INPUTS_MAX = 1 << 16 };

struct hu_net {
    hu_graph *graph;
    hu_value_id head;
    bool is_broken; /* a declaration has failed: the graph can only be freed */
    char *path;     /* a network file in place of the graph; NULL: none */
    char *text;     /* of that file */
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
    hu_free(net->path);
    hu_free(net->text);
    hu_free(net);
}

/* A graph that failed half-way has values that nothing made: it can only be freed. */
static hu_status check(const hu_net *net) {
    if (net->path)
        return hu_fail(HU_ERR_ARGUMENT, "%s: this network is a file, to which nothing is added",
                       net->path);
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

static hu_status unknown_op(const char *name) {
    const char *names[256];
    char nearest[NEAREST_BYTES];
    size_t count = 0;
    for (int i = 0; i < hu_op_count && count < sizeof names / sizeof *names; i++)
        if (!hu_op_table[i]->is_loss && !is_of_loops(hu_op_table[i]))
            names[count++] = hu_op_table[i]->name;
    hu_nearest(name, names, count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "unknown operation '%.60s', nearest: %s", name, nearest);
}

/* Losses are the task's to add, so they are no operations here. */
static hu_status find_op(const char *name, const hu_op **op) {
    *op = hu_op_find(name);
    bool is_state = *op && is_of_loops(*op);
    if (*op && !(*op)->is_loss && !is_state) return HU_OK;
    if (*op && !is_state)
        return hu_fail(HU_ERR_ARGUMENT, "operation '%s' is a loss, which the task adds to the head",
                       name);
    return unknown_op(name);
}

/* The attribute struct of an op from a text and the shape of its first input. Owner frees. */
static hu_status read_attributes(const hu_net *net, const hu_op *op, const char *name,
                                 const char *text, size_t n_in, const hu_value *in, void **attrs) {
    hu_status st = HU_OK;
    bool has_input = n_in > 0 && in[0] < net->graph->value_count;
    HU_TRY(hu_alloc(op->attrs_bytes, attrs));
    st = hu_op_read_attributes(op, text ? text : "",
                               has_input ? &net->graph->value[in[0]].shape : NULL, *attrs);
    if (st != HU_OK) return hu_fail_within(st, "node '%s' (%s): ", name, op->name);
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

hu_status hu_net_own(const hu_net *net, hu_custom_net *own) {
    hu_status st = check(net);
    *own = (hu_custom_net){.graph = net->graph, .head = net->head};
    if (st == HU_OK && net->head == HU_NONE)
        st = hu_fail(HU_ERR_ARGUMENT, "the network has no head: hu_net_head says what it predicts");
    return st;
}

const char *hu_net_path(const hu_net *net) {
    return net->path;
}

/* ---- Networks as files ---- */

hu_status hu_net_load(const char *path, hu_net **net) {
    HU_GIVEN(path);
    HU_GIVEN(net);
    hu_status st = HU_OK;
    hu_keys *file = NULL;
    hu_net *made = NULL;
    hu_network_heading heading;
    *net = NULL;
    if (!hu_is_network_path(path))
        return hu_fail(HU_ERR_ARGUMENT, "%s: found another name, expected FILE.yaml", path);
    HU_TRY(hu_net_create(&made));
    HU_TRY(hu_network_file_read(path, &made->text, &file));
    HU_TRY(hu_network_read_heading(file, &heading));
    HU_TRY(hu_strdup(path, &made->path));
    *net = made;
    made = NULL;
done:
    hu_keys_free(file);
    hu_net_free(made);
    return st;
}

/* Classification by a declared network, of samples as its input takes them. */
static hu_status choice_of(const hu_net *net, hu_task_choice *choice) {
    hu_status st = HU_OK;
    const hu_graph *graph = net->graph;
    hu_custom_net own;
    HU_TRY(hu_net_own(net, &own));
    if (graph->loaded_count == 0)
        return hu_fail(HU_ERR_ARGUMENT, "the network has no input: hu_net_input declares it");
    const hu_shape *made = &graph->value[own.head].shape;
    *choice = (hu_task_choice){.task = &hu_task_classify, .beta = 1.0, .real = 1.0f};
    HU_TRY(hu_task_loss(choice->task, "auto", &choice->loss));
    choice->shapes.value[0] = graph->value[graph->loaded[0]].shape;
    choice->shapes.count = 2;
    choice->shapes.outputs = made->rank ? hu_channels(made) : 1;
done:
    return st;
}

static hu_status write_declared(const hu_net *net, hu_byte_writer *out) {
    hu_status st = HU_OK;
    hu_graph *graph = NULL;
    hu_custom_net own;
    hu_task_choice choice;
    const hu_network_heading heading = {.name = HU_OWN_MODEL, .task = hu_task_classify.name};
    HU_TRY(choice_of(net, &choice));
    HU_TRY(hu_net_own(net, &own));
    const hu_model_options options = {
        .name = HU_OWN_MODEL, .own = &own, .width = 1.0, .dropout = -1.0, .choice = &choice};
    HU_TRY(hu_model_build(&options, &graph));
    HU_TRY(hu_network_write(graph, &heading, &choice, out));
done:
    hu_graph_free(graph);
    return st;
}

hu_status hu_net_save(const hu_net *net, const char *path) {
    HU_GIVEN(net);
    HU_GIVEN(path);
    hu_status st = HU_OK;
    hu_byte_writer text = {0};
    if (!hu_is_network_path(path))
        return hu_fail(HU_ERR_ARGUMENT, "%s: found another name, expected FILE.yaml", path);
    if (net->path) return hu_file_replace(path, net->text, strlen(net->text));
    HU_TRY(write_declared(net, &text));
    HU_TRY(hu_file_replace(path, (const char *)text.data, text.size));
done:
    hu_free(text.data);
    return st;
}

/* ---- What operations there are ---- */

/* Result structs say how large they are, so that programs of an older header go on working. */
#define HU_GIVEN_SIZE(pointer)                                                                     \
    do {                                                                                           \
        if ((pointer)->size < sizeof(pointer)->size)                                               \
            return hu_fail(HU_ERR_ARGUMENT, "%s: the size of %s is %zu, expected its sizeof",      \
                           __func__, #pointer, (pointer)->size);                                   \
    } while (0)

size_t hu_operation_count(void) {
    size_t count = 0;
    for (int i = 0; i < hu_op_count; i++) count += !is_of_loops(hu_op_table[i]);
    return count;
}

static size_t attribute_count(const hu_op *op) {
    size_t count = 0;
    while (op->attributes && op->attributes[count].kind != HU_ATTRIBUTE_END) count++;
    return count;
}

hu_status hu_operation_at(size_t index, hu_operation *operation) {
    HU_GIVEN(operation);
    HU_GIVEN_SIZE(operation);
    size_t left = index;
    for (int i = 0; i < hu_op_count; i++) {
        const hu_op *op = hu_op_table[i];
        if (is_of_loops(op) || left-- > 0) continue;
        const hu_operation made = {.name = op->name,
                                   .least_inputs = op->min_in,
                                   .most_inputs = op->max_in,
                                   .attributes = attribute_count(op),
                                   .multiplies = op->is_product,
                                   .is_loss = op->is_loss};
        hu_give_struct(&made, sizeof made, operation, operation->size);
        return HU_OK;
    }
    return hu_fail(HU_ERR_ARGUMENT, "found operation %zu, expected a number below %zu", index,
                   hu_operation_count());
}

hu_status hu_operation_attribute_at(const char *operation, size_t index,
                                    hu_operation_attribute *attribute) {
    HU_GIVEN(operation);
    HU_GIVEN(attribute);
    HU_GIVEN_SIZE(attribute);
    const hu_op *op = hu_op_find(operation);
    if (!op || is_of_loops(op)) return unknown_op(operation);
    if (index >= attribute_count(op))
        return hu_fail(HU_ERR_ARGUMENT, "%s: found attribute %zu, expected a number below %zu",
                       operation, index, attribute_count(op));
    const hu_attribute *found = &op->attributes[index];
    const hu_operation_attribute made = {.name = found->name,
                                         .form = hu_attribute_form(found->kind),
                                         .is_needed = isnan(found->preset),
                                         .preset = isnan(found->preset) ? 0.0 : found->preset,
                                         .least = found->least,
                                         .most = found->most};
    hu_give_struct(&made, sizeof made, attribute, attribute->size);
    return HU_OK;
}

/* What an operation makes of inputs, and its parameters. */
static hu_status infer(const hu_op *op, const void *attrs, int n_in, const hu_shape *in,
                       hu_operation_shapes *shapes) {
    hu_status st = HU_OK;
    int outputs = 0, parameters = 0;
    hu_param_decl list[HU_MAX_PARAMS];
    if (n_in < op->min_in)
        return hu_fail(HU_ERR_SHAPE, "%d inputs, expected at least %d", n_in, op->min_in);
    if (op->max_in >= 0 && n_in > op->max_in)
        return hu_fail(HU_ERR_SHAPE, "%d inputs, expected at most %d", n_in, op->max_in);
    HU_TRY(op->shape(attrs, n_in, in, &outputs, shapes->output));
    if (op->params) HU_TRY(op->params(attrs, in, list, &parameters));
    for (int j = 0; j < parameters; j++) {
        shapes->parameter_name[j] = list[j].suffix;
        shapes->parameter[j] = list[j].shape;
        shapes->is_trained[j] = list[j].trained;
    }
    shapes->outputs = outputs;
    shapes->parameters = parameters;
done:
    return st;
}

hu_status hu_operation_infer(const char *operation, const char *attributes, size_t n_in,
                             const hu_shape *in, hu_operation_shapes *shapes) {
    HU_GIVEN(operation);
    HU_GIVEN_IF(in, n_in > 0);
    HU_GIVEN(shapes);
    HU_GIVEN_SIZE(shapes);
    HU_GIVEN_MOST(n_in, INPUTS_MAX);
    hu_status st = HU_OK;
    void *attrs = NULL;
    const hu_op *op = hu_op_find(operation);
    if (!op || is_of_loops(op)) return unknown_op(operation);
    hu_operation_shapes made = {.outputs = 0};
    for (size_t i = 0; i < n_in; i++) HU_TRY(hu_shape_check(&in[i]));
    HU_TRY(hu_alloc(op->attrs_bytes, &attrs));
    HU_TRY(hu_op_read_attributes(op, attributes ? attributes : "", n_in ? in : NULL, attrs));
    HU_TRY(infer(op, attrs, (int)n_in, in, &made));
    hu_give_struct(&made, sizeof made, shapes, shapes->size);
done:
    hu_free(attrs);
    return st == HU_OK ? st : hu_fail_within(st, "%s: ", operation);
}
