/* A network of one node over an image, as a program declares its own. */
#ifndef TEST_OWN_NET_H
#define TEST_OWN_NET_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/model.h"

/* The node's first output is the head; its parameters are called NAME.weight and so on. */
static inline hu_graph *own_node(hu_custom_net *net, const hu_shape *image, const hu_op *op,
                                 const char *name, const void *attrs) {
    hu_value_id input, out[HU_MAX_OUTPUTS];
    hu_graph *graph;
    assert_int_equal(hu_graph_create(&graph), HU_OK);
    assert_int_equal(hu_graph_input(graph, "input", image, &input), HU_OK);
    assert_int_equal(hu_graph_apply(graph, op, name, NULL, attrs, 1, &input, out), HU_OK);
    *net = (hu_custom_net){.graph = graph, .head = out[0]};
    return graph;
}

#endif
