/* Blocks of attention: where the norms stand, what scales, and what lengths reach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "model/internal.h"
#include "op/attributes.h"

enum { T = 5 };

typedef struct block {
    hu_graph *graph;
    hu_value_id out;
} block;

static block build(int64_t width, hu_block_form form, bool has_lengths) {
    block made = {0};
    const hu_shape rows = {2, {T, width}}, one = {1, {1}};
    hu_value_id x, lengths;
    assert_int_equal(hu_graph_create(&made.graph), HU_OK);
    assert_int_equal(hu_graph_input(made.graph, "input", &rows, &x), HU_OK);
    assert_int_equal(hu_graph_target(made.graph, "lengths", &one, &lengths), HU_OK);
    if (has_lengths) form.lengths = &lengths;
    hu_builder b = {.graph = made.graph, .dropout = -1.0};
    made.out = hu_build_block(&b, "block", x, &form);
    if (b.status != HU_OK) fail_msg("%s", hu_last_error());
    return made;
}

static const hu_node *node_of(const block *b, const char *name) {
    char value[HU_NAME_BYTES];
    snprintf(value, sizeof value, "block.%s.out", name);
    hu_value_id v = hu_graph_find(b->graph, value);
    return v == HU_NONE ? NULL : &b->graph->node[b->graph->value[v].producer];
}

/* Does input i of a node come from that other node, or from the rows (NULL)? */
static void reads(const block *b, const char *node, int i, const char *from) {
    const hu_node *reader = node_of(b, node);
    assert_non_null(reader);
    uint32_t producer = b->graph->value[reader->in[i]].producer;
    const hu_node *expected = from ? node_of(b, from) : NULL;
    const hu_node *found = producer == HU_NONE ? NULL : &b->graph->node[producer];
    if (found != expected)
        fail_msg("%s reads %s, expected %s", node, found ? found->name : "the rows",
                 from ? from : "the rows");
}

static const hu_block_form form = {.heads = 2, .hidden = 12, .epsilon = 1e-6f};

static void norms_in_front(void **state) {
    (void)state;
    block b = build(8, form, false);
    reads(&b, "ln1", 0, NULL);
    reads(&b, "attn.q.product", 0, "ln1");
    reads(&b, "attn.v.product", 0, "ln1");
    reads(&b, "add1", 0, NULL);
    reads(&b, "add1", 1, "attn.out");
    reads(&b, "ln2", 0, "add1");
    reads(&b, "fc1.product", 0, "ln2");
    reads(&b, "act", 0, "fc1");
    reads(&b, "add2", 0, "add1");
    reads(&b, "add2", 1, "fc2");
    assert_ptr_equal(node_of(&b, "act")->op, &hu_op_gelu);
    assert_int_equal(b.graph->value[b.out].producer, node_of(&b, "add2") - b.graph->node);
    hu_graph_free(b.graph);
}

static void norms_of_sums(void **state) {
    (void)state;
    hu_block_form behind = form;
    behind.norms_sums = behind.has_relu = true;
    block b = build(8, behind, false);
    reads(&b, "attn.k.product", 0, NULL);
    reads(&b, "add1", 0, NULL);
    reads(&b, "ln1", 0, "add1");
    reads(&b, "fc1.product", 0, "ln1");
    reads(&b, "add2", 0, "ln1");
    reads(&b, "ln2", 0, "add2");
    assert_ptr_equal(node_of(&b, "act")->op, &hu_op_relu);
    assert_int_equal(b.graph->value[b.out].producer, node_of(&b, "ln2") - b.graph->node);
    hu_graph_free(b.graph);
}

/* A head of 4 numbers: a half, which no tensor is made for; of 6: a node of its own. */
static void powers_of_two_scale_in_the_product(void **state) {
    (void)state;
    block b = build(8, form, false), c = build(12, form, false);
    const hu_scores_attrs *half = node_of(&b, "attn.scores")->attrs;
    const hu_scores_attrs *one = node_of(&c, "attn.scores")->attrs;
    assert_true(half->factor == 0.5f && one->factor == 1.0f);
    assert_null(node_of(&b, "attn.scale"));
    reads(&b, "attn.scores", 0, "attn.q");
    reads(&c, "attn.scores", 0, "attn.scale");
    const hu_scale_attrs *scale = node_of(&c, "attn.scale")->attrs;
    assert_true(scale->factor == 0.40824829046386301637f);
    hu_graph_free(b.graph);
    hu_graph_free(c.graph);
}

static void lengths_and_dropout_reach_attention(void **state) {
    (void)state;
    hu_block_form some = form;
    some.dropout = 0.1;
    some.attention_dropout = 0.2;
    some.is_causal = true;
    block b = build(8, some, true);
    static const char *const ops[] = {"attn.scores", "attn.weights", "attn.context"};
    for (int i = 0; i < 3; i++) {
        const hu_node *node = node_of(&b, ops[i]);
        assert_int_equal(node->n_in, i == 1 ? 2 : 3);
        assert_string_equal(b.graph->value[node->in[node->n_in - 1]].name, "lengths");
    }
    const hu_attention_mask_attrs *sight = node_of(&b, "attn.context")->attrs;
    assert_true(sight->is_causal && sight->lengths_too);
    reads(&b, "attn.context", 0, "attn.drop");
    reads(&b, "add1", 1, "drop1");
    reads(&b, "add2", 1, "drop2");
    hu_graph_free(b.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_in_front),
        cmocka_unit_test(norms_of_sums),
        cmocka_unit_test(powers_of_two_scale_in_the_product),
        cmocka_unit_test(lengths_and_dropout_reach_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
