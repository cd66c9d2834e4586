/* The order of the tensors of a step: each after all that it is made of, in every model. */
#include "graph/tensor_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model_of.h"
#include "op/attributes.h"

enum { ROOM = 64 };

static hu_graph *build(const char *name) {
    static const hu_shape grey = {3, {28, 28, 1}};
    const hu_model *model;
    if (hu_model_find(name, &model) != HU_OK) fail_msg("%s", hu_last_error());
    hu_shape coloured = image_for(model);
    return model_of(name, 1.0, strcmp(name, "cnn-s") == 0 ? &grey : &coloured, 10);
}

static void sources_come_first(void **state) {
    (void)state;
    for (int m = 0; m < hu_model_count; m++) {
        hu_graph *graph = build(hu_model_table[m].name);
        hu_tensor_order walk;
        uint32_t source[ROOM];
        assert_int_equal(hu_tensor_order_create(graph, 0, &walk), HU_OK);
        assert_true(walk.count > graph->node_count);
        for (uint32_t i = 0; i < walk.count; i++) {
            hu_tensor tensor = walk.tensor[i];
            assert_int_equal(walk.place[tensor.kind][tensor.value], i);
            uint32_t count = hu_tensor_order_sources(&walk, i, ROOM, source);
            assert_true(count <= ROOM);
            for (uint32_t s = 0; s < count; s++)
                if (source[s] >= i)
                    fail_msg("%s: %s, kind %d, is made of a later tensor", hu_model_table[m].name,
                             graph->value[tensor.value].name, (int)tensor.kind);
        }
        hu_tensor_order_free(&walk);
        hu_graph_free(graph);
    }
}

/* Every trained parameter has a gradient, every activation but the loss's own too. */
static void all_tensors_are_walked(void **state) {
    (void)state;
    hu_graph *graph = build("resnet20");
    hu_tensor_order walk;
    assert_int_equal(hu_tensor_order_create(graph, 0, &walk), HU_OK);
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        assert_true(walk.place[HU_TENSOR_VALUE][v] != HU_NONE);
        bool has_gradient = value->role == HU_VALUE_PARAMETER ||
                            (value->role == HU_VALUE_ACTIVATION && value->use_count > 0);
        assert_int_equal(walk.place[HU_TENSOR_GRADIENT][v] != HU_NONE, has_gradient);
    }
    hu_tensor_order_free(&walk);
    hu_graph_free(graph);
}

static bool is_source(const hu_tensor_order *walk, uint32_t place, const char *name) {
    char found[HU_TENSOR_NAME_BYTES];
    uint32_t source[ROOM], count = hu_tensor_order_sources(walk, place, ROOM, source);
    for (uint32_t s = 0; s < count; s++) {
        hu_tensor_name(walk->graph, walk->tensor[source[s]], found);
        if (strcmp(found, name) == 0) return true;
    }
    return false;
}

static uint32_t place_of(const hu_tensor_order *walk, hu_tensor_kind kind, const char *name) {
    uint32_t place = walk->place[kind][hu_graph_find(walk->graph, name)];
    assert_true(place != HU_NONE);
    return place;
}

static void sources_are_those_of_the_graph(void **state) {
    (void)state;
    hu_graph *graph = build("resnet20");
    hu_tensor_order walk;
    assert_int_equal(hu_tensor_order_create(graph, 0, &walk), HU_OK);
    uint32_t out = place_of(&walk, HU_TENSOR_VALUE, "layer2.0.conv1.out");
    assert_true(is_source(&walk, out, "layer1.2.relu2.out"));
    assert_true(is_source(&walk, out, "layer2.0.conv1.weight"));
    assert_int_equal(hu_tensor_order_sources(&walk, out, 0, NULL), 2);
    /* The fork before layer2: both branches bring a gradient. */
    uint32_t fork = place_of(&walk, HU_TENSOR_GRADIENT, "layer1.2.relu2.out");
    assert_true(is_source(&walk, fork, "layer2.0.conv1.out.grad"));
    assert_true(is_source(&walk, fork, "layer2.0.shortcut.conv.out.grad"));
    uint32_t sum = place_of(&walk, HU_TENSOR_SUM, "layer1.2.relu2.out");
    assert_true(is_source(&walk, sum, "layer1.2.relu2.out.grad"));
    uint32_t weight = place_of(&walk, HU_TENSOR_GRADIENT, "conv1.weight");
    assert_true(is_source(&walk, weight, "conv1.out.grad"));
    assert_true(is_source(&walk, weight, "input"));
    uint32_t running = place_of(&walk, HU_TENSOR_VALUE, "bn1.running_var");
    assert_true(is_source(&walk, running, "conv1.out"));
    assert_int_equal(
        hu_tensor_order_sources(&walk, place_of(&walk, HU_TENSOR_VALUE, "input"), 0, NULL), 0);
    hu_tensor_order_free(&walk);
    hu_graph_free(graph);
}

enum { ATTRS_MOST = 4096 };

static size_t bytes_of(hu_attribute_kind kind) {
    switch (kind) {
    case HU_ATTRIBUTE_PAIR:
        return 2 * sizeof(int64_t);
    case HU_ATTRIBUTE_REAL:
        return sizeof(float);
    case HU_ATTRIBUTE_FLAG:
        return sizeof(bool);
    case HU_ATTRIBUTE_SHAPE:
        return sizeof(hu_shape);
    case HU_ATTRIBUTE_AXES:
        return sizeof(hu_axes);
    case HU_ATTRIBUTE_INIT:
        return sizeof(hu_init);
    case HU_ATTRIBUTE_ANCHORS:
        return sizeof(hu_anchors);
    default:
        return sizeof(int64_t);
    }
}

/* Bytes of the struct that an attribute says, as 1. */
static void mark(const hu_op *op, unsigned char *is_told) {
    memset(is_told, 0, ATTRS_MOST);
    for (const hu_attribute *a = op->attributes; a && a->kind != HU_ATTRIBUTE_END; a++)
        memset(is_told + a->offset, 1, bytes_of(a->kind));
    /* The layers of a band have no bias. */
    if (op == &hu_op_band_linear)
        memset(is_told + offsetof(hu_band_linear_attrs, linear.bias_init), 1, sizeof(hu_init));
}

/* What no attribute says is padding alone: less than an int32_t, or what aligns 8 bytes. */
static void every_field_has_a_name(void **state) {
    (void)state;
    unsigned char is_told[ATTRS_MOST];
    for (int i = 0; i < hu_op_count; i++) {
        const hu_op *op = hu_op_table[i];
        size_t gap = 0;
        mark(op, is_told);
        for (size_t b = 0; b <= op->attrs_bytes; b++) {
            bool is_gap = b < op->attrs_bytes && !is_told[b];
            if (!is_gap && gap > (b % 8 == 0 ? 7u : 3u))
                fail_msg("%s: %zu bytes before %zu have no attribute", op->name, gap, b);
            gap = is_gap ? gap + 1 : 0;
        }
    }
}

/* Unused maps of anchors keep what nobody reads; an init of NULL attributes is that of zeros. */
static bool is_equal(const hu_attribute *a, const unsigned char *read, const unsigned char *attrs) {
    static const unsigned char zeros[ATTRS_MOST];
    const void *found = read + a->offset, *wanted = (attrs ? attrs : zeros) + a->offset;
    if (a->kind == HU_ATTRIBUTE_SHAPE) return hu_shape_equal(found, wanted);
    return memcmp(found, wanted, bytes_of(a->kind)) == 0;
}

static void check_attributes(const char *model, const hu_node *node) {
    union {
        long double aligned;
        unsigned char bytes[ATTRS_MOST];
    } read;
    char *text = NULL;
    const hu_shape *in = node->n_in > 0 ? &node->shapes[0] : NULL;
    assert_true(node->op->attrs_bytes <= sizeof read);
    memset(&read, 0, sizeof read);
    assert_int_equal(hu_op_write_attributes(node->op, node->attrs, in, &text), HU_OK);
    if (hu_op_read_attributes(node->op, text, in, &read) != HU_OK)
        fail_msg("%s: %s: '%s': %s", model, node->name, text, hu_last_error());
    for (const hu_attribute *a = node->op->attributes; a && a->kind != HU_ATTRIBUTE_END; a++)
        if (!is_equal(a, read.bytes, node->attrs))
            fail_msg("%s: %s (%s): '%s': %s is read as something else", model, node->name,
                     node->op->name, text, a->name);
    hu_free(text);
}

static void attributes_are_read_as_they_are_written(void **state) {
    (void)state;
    for (int m = 0; m < hu_model_count; m++) {
        hu_graph *graph = build(hu_model_table[m].name);
        for (uint32_t n = 0; n < graph->node_count; n++)
            check_attributes(hu_model_table[m].name, &graph->node[n]);
        hu_graph_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_come_first),
        cmocka_unit_test(all_tensors_are_walked),
        cmocka_unit_test(sources_are_those_of_the_graph),
        cmocka_unit_test(every_field_has_a_name),
        cmocka_unit_test(attributes_are_read_as_they_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
