/* Network files: every model written as one is read as an equal graph; and what files may say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "config/config.h"
#include "model/network_file.h"
#include "model_of.h"
#include "op/attributes.h"

/* ---- Round trips ---- */

static const char *name_of(const hu_graph *graph, hu_value_id v) {
    return v == HU_NONE ? "-" : graph->value[v].name;
}

static void expect_same_value(const char *model, const hu_graph *a, const hu_graph *b,
                              hu_value_id v) {
    const hu_value_info *x = &a->value[v], *y = &b->value[v];
    bool same = strcmp(x->name, y->name) == 0 && hu_shape_equal(&x->shape, &y->shape) &&
                x->role == y->role && x->ids == y->ids && x->phase == y->phase &&
                x->init.kind == y->init.kind && x->init.scale == y->init.scale &&
                x->steps == y->steps && x->ends.lengths == y->ends.lengths &&
                x->ends.row == y->ends.row && x->inner.lengths == y->inner.lengths &&
                x->use_count == y->use_count && x->needs_grad == y->needs_grad;
    for (uint32_t u = 0; same && u < x->use_count; u++) same = x->uses[u] == y->uses[u];
    if (!same)
        fail_msg("%s: value '%s' is read as '%s', or with other facts", model, x->name, y->name);
}

static void expect_same_node(const char *model, const hu_graph *a, const hu_graph *b, uint32_t n) {
    const hu_node *x = &a->node[n], *y = &b->node[n];
    char *left, *right;
    bool same = strcmp(x->name, y->name) == 0 && x->op == y->op && x->n_in == y->n_in &&
                x->n_params == y->n_params && x->loss == y->loss && x->loop == y->loop &&
                x->phases == y->phases && x->learns_in == y->learns_in;
    for (int i = 0; same && i < x->n_in; i++) same = x->in[i] == y->in[i];
    for (int j = 0; same && j < x->n_params; j++) same = x->param[j] == y->param[j];
    if (!same) fail_msg("%s: node '%s' is read as '%s', or otherwise", model, x->name, y->name);
    const hu_shape *in = x->n_in ? x->shapes : NULL;
    assert_int_equal(hu_op_write_attributes(x->op, x->attrs, in, &left), HU_OK);
    assert_int_equal(hu_op_write_attributes(y->op, y->attrs, in, &right), HU_OK);
    if (strcmp(left, right) != 0)
        fail_msg("%s: node '%s': '%s' is read as '%s'", model, x->name, left, right);
    hu_free(left);
    hu_free(right);
}

static void expect_same_graph(const char *model, const hu_graph *a, const hu_graph *b) {
    for (hu_value_id v = 0; v < a->value_count && v < b->value_count; v++)
        expect_same_value(model, a, b, v);
    for (uint32_t n = 0; n < a->node_count && n < b->node_count; n++)
        expect_same_node(model, a, b, n);
    assert_int_equal(a->value_count, b->value_count);
    assert_int_equal(a->node_count, b->node_count);
    assert_int_equal(a->loss_count, b->loss_count);
    for (int k = 0; k < a->loss_count; k++)
        assert_memory_equal(&a->loss[k], &b->loss[k], sizeof a->loss[k]);
    assert_int_equal(a->phase_count, b->phase_count);
    assert_int_equal(a->is_split, b->is_split);
    assert_int_equal(a->loop_count, b->loop_count);
    for (uint32_t l = 0; l < a->loop_count; l++)
        assert_true(a->loop[l].first == b->loop[l].first && a->loop[l].last == b->loop[l].last &&
                    a->loop[l].steps == b->loop[l].steps &&
                    a->loop[l].lengths == b->loop[l].lengths);
    assert_string_equal(name_of(a, a->made), name_of(b, b->made));
    assert_string_equal(name_of(a, a->wanted), name_of(b, b->wanted));
}

static hu_keys *parse(const char *text, const char *name) {
    hu_keys *tree = NULL;
    if (hu_yaml_parse(text, strlen(text), name, &tree) != HU_OK) fail_msg("%s", hu_last_error());
    return tree;
}

static void check_model(const hu_model *model, double dropout) {
    static const hu_shape grey = {3, {28, 28, 1}};
    const hu_model_sizes own = {.bands = 0};
    hu_shape coloured = image_for(model);
    const hu_shape *image = strcmp(model->name, "cnn-s") == 0 ? &grey : &coloured;
    hu_model_options asked = {.dropout = dropout, .drop_path = 0.1};
    hu_task_choice choice;
    hu_byte_writer text = {0};
    if (strncmp(model->name, "deit", 4) != 0) asked.drop_path = 0.0;
    hu_graph *built = model_as(model->name, 1.0, image, 10, &own, &asked, &choice);
    const hu_network_heading heading = {.name = model->name, .task = model->task};
    if (hu_network_write(built, &heading, &choice, &text) != HU_OK)
        fail_msg("%s: %s", model->name, hu_last_error());
    assert_int_equal(hu_write_u8(&text, 0), HU_OK);
    if (getenv("SHOW_NETWORK") && strcmp(getenv("SHOW_NETWORK"), model->name) == 0)
        printf("%s\n", (const char *)text.data);
    hu_keys *tree = parse((const char *)text.data, model->name);
    hu_custom_net net = {.head = HU_NONE, .file = tree};
    asked.own = &net;
    hu_graph *read = model_as(model->name, 1.0, image, 10, &own, &asked, &choice);
    expect_same_graph(model->name, built, read);
    hu_graph_free(built);
    hu_graph_free(read);
    hu_keys_free(tree);
    hu_free(text.data);
}

static void every_model_is_read_as_it_is_written(void **state) {
    (void)state;
    for (int m = 0; m < hu_model_count; m++)
        for (int k = 0; k < 2; k++) check_model(&hu_model_table[m], k ? -1.0 : 0.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_is_read_as_it_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
