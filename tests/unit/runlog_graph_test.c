/* graph.json: a graph that was read is the graph that was written; damaged files say where. */
#include "runlog/graph_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "graph/tensor_order.h"
#include "model_of.h"

static char folder[64];

static const char *path(void) {
    static char text[128];
    snprintf(text, sizeof text, "%s/graph.json", folder);
    return text;
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/graph-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state) {
    (void)state;
    remove(path());
    return rmdir(folder);
}

static void write_text(const char *text) {
    FILE *file = fopen(path(), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static hu_graph *build(const char *name) {
    const hu_model *model;
    if (hu_model_find(name, &model) != HU_OK) fail_msg("%s", hu_last_error());
    hu_shape image = image_for(model);
    return model_of(name, 0.5, &image, 7);
}

static hu_graph *write_and_read(const hu_graph *graph) {
    hu_graph *read;
    char *line;
    assert_int_equal(hu_json_line(hu_graph_json(graph, &hu_task_classify, &hu_loss_nll), &line),
                     HU_OK);
    write_text(line);
    hu_free(line);
    if (hu_graph_read(folder, &read) != HU_OK) fail_msg("%s", hu_last_error());
    return read;
}

static void same_value(const hu_value_info *a, const hu_value_info *b) {
    assert_string_equal(a->name, b->name);
    assert_true(hu_shape_equal(&a->shape, &b->shape));
    assert_int_equal(a->elements, b->elements);
    assert_int_equal(a->role, b->role);
    assert_int_equal(a->producer, b->producer);
    assert_int_equal(a->output, b->output);
    assert_int_equal(a->needs_grad, b->needs_grad);
    assert_int_equal(a->use_count, b->use_count);
    assert_memory_equal(a->uses, b->uses, a->use_count * sizeof *a->uses);
}

static void same_node(const hu_node *a, const hu_node *b) {
    assert_string_equal(a->name, b->name);
    assert_ptr_equal(a->op, b->op);
    assert_int_equal(a->n_in, b->n_in);
    assert_int_equal(a->n_out, b->n_out);
    assert_int_equal(a->n_params, b->n_params);
    assert_memory_equal(a->in, b->in, (size_t)a->n_in * sizeof *a->in);
    assert_memory_equal(a->out, b->out, (size_t)a->n_out * sizeof *a->out);
    assert_memory_equal(a->param, b->param, (size_t)a->n_params * sizeof *a->param);
    assert_memory_equal(a->need_din, b->need_din, (size_t)a->n_in * sizeof *a->need_din);
    assert_int_equal(a->needs_backward, b->needs_backward);
    assert_int_equal(a->first_use, b->first_use);
}

static void a_graph_is_read_as_it_was_written(void **state) {
    (void)state;
    for (int m = 0; m < hu_model_count; m++) {
        hu_graph *graph = build(hu_model_table[m].name), *read = write_and_read(graph);
        hu_tensor_order walk, again;
        assert_int_equal(graph->value_count, read->value_count);
        assert_int_equal(graph->node_count, read->node_count);
        assert_int_equal(graph->use_count, read->use_count);
        for (uint32_t v = 0; v < graph->value_count; v++)
            same_value(&graph->value[v], &read->value[v]);
        for (uint32_t n = 0; n < graph->node_count; n++) same_node(&graph->node[n], &read->node[n]);
        assert_int_equal(hu_tensor_order_create(graph, 0, &walk), HU_OK);
        assert_int_equal(hu_tensor_order_create(read, 0, &again), HU_OK);
        assert_int_equal(walk.count, again.count);
        assert_memory_equal(walk.tensor, again.tensor, walk.count * sizeof *walk.tensor);
        hu_tensor_order_free(&walk);
        hu_tensor_order_free(&again);
        hu_graph_free(graph);
        hu_graph_free(read);
    }
}

static void refuses(const char *text, hu_status expected, const char *word) {
    hu_graph *graph;
    write_text(text);
    assert_int_equal(hu_graph_read(folder, &graph), expected);
    assert_null(graph);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

#define VALUES                                                                                     \
    "{\"values\": [{\"name\": \"input\", \"role\": \"input\", \"shape\": [4]}, {\"name\": "        \
    "\"a.out\", \"role\": \"activation\", \"shape\": [4]}], \"nodes\": "

static void damaged_files_say_what_was_found(void **state) {
    (void)state;
    refuses("{\"values\": [", HU_ERR_CORRUPT, "graph.json, line 1");
    refuses("{}", HU_ERR_CORRUPT, "values: found nothing, expected a list");
    refuses("{\"values\": [{\"name\": \"x\", \"role\": \"knob\", \"shape\": []}]}", HU_ERR_CORRUPT,
            "found 'knob', expected input");
    refuses("{\"values\": [{\"name\": \"x\", \"role\": \"input\", \"shape\": [-4]}]}",
            HU_ERR_CORRUPT, "-4");
    refuses(
        "{\"values\": [{\"name\": \"x\", \"role\": \"input\", \"shape\": [1,1,1,1,1,1,1,1,1]}]}",
        HU_ERR_CORRUPT, "9 extents");
    refuses("{\"values\": [{\"name\": \"\", \"role\": \"input\", \"shape\": [4]}]}", HU_ERR_CORRUPT,
            "name: found '', expected a name");
    refuses(VALUES "[{\"name\": \"\", \"op\": \"relu\", \"inputs\": []}]}", HU_ERR_CORRUPT,
            "name: found ''");
    refuses(VALUES "[{\"name\": \"a\", \"op\": \"relu9\", \"inputs\": []}]}", HU_ERR_VERSION,
            "relu9");
    refuses(VALUES "[{\"name\": \"a\", \"op\": \"relu\", \"inputs\": [\"b\"], \"parameters\": [], "
                   "\"outputs\": [\"a.out\"]}]}",
            HU_ERR_CORRUPT, "'b' is none of the values");
    refuses(VALUES "[{\"name\": \"a\", \"op\": \"relu\", \"inputs\": [\"input\"], \"parameters\": "
                   "[], \"outputs\": [\"a.out\", \"a.out\"]}]}",
            HU_ERR_CORRUPT, "made twice");
    refuses(VALUES "[]}", HU_ERR_CORRUPT, "losses: found nothing, expected a list");
    refuses(VALUES "[], \"losses\": []}", HU_ERR_CORRUPT, "the graph needs a loss node");
    refuses(VALUES "[], \"losses\": [\"a.out\"]}", HU_ERR_CORRUPT, "the output of a node");
}

static void an_older_folder_says_how_to_get_it(void **state) {
    hu_graph *graph;
    (void)state;
    remove(path());
    assert_int_equal(hu_graph_read(folder, &graph), HU_ERR_MISSING);
    assert_non_null(strstr(hu_last_error(), "resume"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_read_as_it_was_written),
        cmocka_unit_test(damaged_files_say_what_was_found),
        cmocka_unit_test(an_older_folder_says_how_to_get_it),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
