/* Network files: every model written as one is read as an equal graph; and what files may say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* ---- What files may say ---- */

/* Pictures of 8x8x3 in 10 classes. */
static hu_status declare_with(const char *text, const hu_model_options *asked, hu_graph **graph) {
    hu_dataset data = {.name = NULL};
    hu_task_choice choice;
    hu_custom_net net = {.head = HU_NONE};
    hu_keys *tree = NULL;
    hu_model_options options = *asked;
    *graph = NULL;
    hu_dataset_set_images(&data, 8, 8, 3, 10);
    hu_status st = hu_yaml_parse_most(text, strlen(text), 1 << 24, "a.yaml", &tree);
    if (st == HU_OK) st = hu_model_choose("", &hu_task_classify, NULL, &data, &choice);
    net.file = tree;
    options.own = &net;
    options.choice = &choice;
    if (st == HU_OK) st = hu_model_build(&options, graph);
    hu_keys_free(tree);
    return st;
}

static hu_status declare(const char *text, hu_graph **graph) {
    const hu_model_options usual = {.name = "a.yaml", .width = 1.0, .dropout = -1.0};
    return declare_with(text, &usual, graph);
}

#define TOP "halfulp_network: 1\ninputs: {input: image}\n"

static void refuses(hu_status status, const char *text, const char *where, const char *said) {
    hu_graph *graph;
    hu_status st = declare(text, &graph);
    if (st == HU_OK) fail_msg("is taken: %s", text);
    assert_null(graph);
    if (st != status || strncmp(hu_last_error(), where, strlen(where)) != 0 ||
        !strstr(hu_last_error(), said))
        fail_msg("found status %d: %s; expected %d: %s ... %s, of\n%s", (int)st, hu_last_error(),
                 (int)status, where, said, text);
}

static void bad_tops_are_named(void **state) {
    (void)state;
    refuses(HU_ERR_PARSE, "nodes: []", "a.yaml:1:1", "no key halfulp_network");
    refuses(HU_ERR_VERSION, "halfulp_network: 2", "a.yaml:1:1", "version '2'");
    refuses(HU_ERR_PARSE, "halfulp_network: [1]", "a.yaml:1:1", "expected 1");
    refuses(HU_ERR_UNKNOWN, "halfulp_network: 1\nhaed: a", "a.yaml:2:1", "'head'");
    refuses(HU_ERR_PARSE, "halfulp_network: 1", "a.yaml:1:1", "no key nodes");
    refuses(HU_ERR_UNKNOWN, "halfulp_network: 1\ntask: clasify\n", "a.yaml:2:1", "'classify'");
    refuses(HU_ERR_UNKNOWN, "halfulp_network: 1\nrecipe: resnet21\n", "a.yaml:2:1", "'resnet20'");
    refuses(HU_ERR_PARSE, "halfulp_network: 1\nnodes: []", "a.yaml:1:1", "no key inputs");
    refuses(HU_ERR_UNKNOWN, "halfulp_network: 1\ninputs: {image: image}\nnodes: []\n",
            "a.yaml:2:10", "'input'");
    refuses(HU_ERR_ARGUMENT, "halfulp_network: 1\ninputs: {input: ids}\nnodes: []\n", "a.yaml:2:10",
            "expected image");
    refuses(HU_ERR_SHAPE, "halfulp_network: 1\ninputs: {input: [8, 8, 1]}\nnodes: []\n",
            "a.yaml:2:10", "8x8x3");
    refuses(HU_ERR_PARSE, TOP "nodes: []\n", "a.yaml:1:1", "neither head nor losses");
    refuses(HU_ERR_PARSE, TOP "nodes: []\nhead: a\nlosses: []\n", "a.yaml:4:1", "head and losses");
    refuses(HU_ERR_UNKNOWN, TOP "sizes: {layer: 3}\nnodes: []\nhead: a\n", "a.yaml:3:9",
            "'layers'");
    refuses(HU_ERR_UNKNOWN, TOP "nodes: []\nhead: fc\n", "a.yaml:4:1", "unknown value 'fc'");
    refuses(HU_ERR_SHAPE, TOP "nodes:\n  - a: relu input\nhead: a\n", "a.yaml:5:1", "head");
}

static void bad_nodes_are_named(void **state) {
    (void)state;
    refuses(HU_ERR_UNKNOWN, TOP "nodes:\n  - a: conv2 input out=3\nhead: a\n", "a.yaml:4:5",
            "'conv2d'");
    refuses(HU_ERR_UNKNOWN, TOP "nodes:\n  - a: conv2d input out=3 kernle=3\nhead: a\n",
            "a.yaml:4:5", "'kernel'");
    refuses(HU_ERR_UNKNOWN, TOP "nodes:\n  - a: conv2d input out=3 kernel=three\nhead: a\n",
            "a.yaml:4:5", "three");
    refuses(HU_ERR_PARSE, TOP "nodes:\n  - a: conv2d input out=3 kernel=3y\nhead: a\n",
            "a.yaml:4:5", "two as 3x5");
    refuses(HU_ERR_ARGUMENT, TOP "nodes:\n  - a: conv2d input out=3\nhead: a\n", "a.yaml:4:5",
            "kernel is missing");
    refuses(HU_ERR_UNKNOWN, TOP "nodes:\n  - aa: relu input\n  - b: relu ab\nhead: b\n",
            "a.yaml:5:5", "'aa'");
    refuses(HU_ERR_ARGUMENT, TOP "nodes:\n  - a: relu b\n  - b: relu a\nhead: b\n", "a.yaml:4:5",
            "at a.yaml:5:5");
    refuses(HU_ERR_ARGUMENT, TOP "nodes:\n  - a: relu input\n  - a: relu input\nhead: a\n",
            "a.yaml:5:5", "a.yaml:4:5");
    refuses(HU_ERR_SHAPE,
            TOP "nodes:\n  - a: conv2d input out=4 kernel=1\n  - b: add_row a input\nhead: b\n",
            "a.yaml:5:5", "it reads 'a.out' 8x8x4, 'input' 8x8x3");
    refuses(HU_ERR_PARSE, TOP "nodes:\n  - a\nhead: a\n", "a.yaml:4:5", "NAME: OPERATION");
    refuses(HU_ERR_PARSE, TOP "nodes:\n  - a: \"\"\nhead: a\n", "a.yaml:4:5", "OPERATION INPUTS");
    refuses(HU_ERR_PARSE, TOP "nodes:\n  - a b: relu input\nhead: a\n", "a.yaml:4:5", "'a b'");
    refuses(HU_ERR_ARGUMENT, TOP "nodes:\n  - a: state input next=a\nhead: a\n", "a.yaml:4:5",
            "outside of loops");
    refuses(HU_ERR_PARSE, TOP "nodes:\n  - a: conv2d input out={4 kernel=1\nhead: a\n",
            "a.yaml:4:5", "without '}'");
    refuses(HU_ERR_UNKNOWN, TOP "nodes:\n  - a: conv2d input out=clases kernel=1\nhead: a\n",
            "a.yaml:4:5", "'classes'");
    refuses(HU_ERR_LIMIT,
            TOP "nodes:\n  - a: conv2d input out=99999999999*99999999999 kernel=1\nhead: a\n",
            "a.yaml:4:5", "64 bits");
    refuses(HU_ERR_UNKNOWN, TOP "nodes:\n  - a: linear input out=3 share=fd\nhead: a\n",
            "a.yaml:4:5", "fd.weight");
}

/* What reads as another network than was meant. */
static void names_mean_one_thing(void **state) {
    (void)state;
    refuses(HU_ERR_ARGUMENT, TOP "nodes:\n  - input: relu input\nhead: input\n", "a.yaml:4:5",
            "'input', which a value");
    refuses(HU_ERR_ARGUMENT,
            TOP "nodes:\n  - s: split input first=1\n  - s.out1: relu s\nhead: s\n", "a.yaml:5:5",
            "'s.out1'");
    refuses(HU_ERR_ARGUMENT,
            TOP "nodes:\n  - a.out: {when: \"1 > 0\", node: input}\n  - a: relu input\nhead: a\n",
            "a.yaml:5:5", "first at a.yaml:4:28");
    refuses(HU_ERR_ARGUMENT,
            TOP "blocks: {c: {in: [s], nodes: [{s: tanh s}], out: s}}\n"
                "nodes:\n  - l: {block: c, in: input}\nhead: l\n",
            "a.yaml:3:", "an input of the block");
    refuses(HU_ERR_ARGUMENT, TOP "blocks: {c: {in: [s, s], nodes: [], out: s}}\nnodes: []\n",
            "a.yaml:3:", "'s' twice");
    refuses(HU_ERR_PARSE,
            TOP "blocks: {c: {in: s, parameters: [width], nodes: [], out: s}}\nnodes: []\n",
            "a.yaml:3:", "no other meaning");
    refuses(HU_ERR_ARGUMENT,
            TOP "blocks: {c: {in: s, parameters: [k, k=3], nodes: [], out: s}}\nnodes: []\n",
            "a.yaml:3:", "'k' twice");
    refuses(HU_ERR_UNKNOWN, TOP "blocks: {c: {inn: s, nodes: [], out: s}}\nnodes: []\n",
            "a.yaml:3:", "'in'");
    refuses(HU_ERR_UNKNOWN,
            TOP "nodes:\n  - a: linear input out=3\n  - b: linear input out=3 "
                "share=wieght:a.weight\nhead: b\n",
            "a.yaml:5:5", "'weight'");
    refuses(HU_ERR_ARGUMENT, TOP "nodes:\n  - a: relu input next=b\nhead: a\n", "a.yaml:4:5",
            "found next");
    refuses(HU_ERR_ARGUMENT, TOP "nodes:\n  - a: relu input params=b\nhead: a\n", "a.yaml:4:5",
            "no parameters");
    refuses(HU_ERR_ARGUMENT, TOP "nodes: []\nhead: input\ncompare: [input, label]\n", "a.yaml:5:1",
            "compare beside head");
    refuses(HU_ERR_PARSE, TOP "nodes: []\nlosses: []\n", "a.yaml:4:1", "found none");
    refuses(HU_ERR_ARGUMENT, TOP "nodes: []\nlosses: [{phase: a, weight: 2}]\n",
            "a.yaml:4:", "alone");
    refuses(HU_ERR_ARGUMENT,
            TOP
            "nodes:\n  - z: zeros numbers=24\n  - r: reshape input shape=8x24\n  - l: {loop: r, "
            "nodes: [{h: state z next=t}, {t: tanh h}]}\n  - f: relu l\nhead: f\n",
            "a.yaml:7:5", "no `out`");
}

#define BLOCK "blocks:\n  b:\n    in: x\n    parameters: [n]\n    nodes:\n"

static void bad_blocks_are_named(void **state) {
    (void)state;
    refuses(HU_ERR_UNKNOWN, TOP "nodes:\n  - a: {block: b, in: input}\nhead: a\n", "a.yaml:4:9",
            "unknown block 'b'");
    refuses(HU_ERR_ARGUMENT,
            TOP BLOCK
            "      - c: relu x\n    out: c\nnodes:\n  - a: {block: b, in: input}\nhead: a\n",
            "a.yaml:11:5", "needs n");
    refuses(HU_ERR_UNKNOWN,
            TOP BLOCK "      - c: relu x\n    out: c\nnodes:\n"
                      "  - a: {block: b, in: input, m: 1}\nhead: a\n",
            "a.yaml:11:30", "'n'");
    refuses(HU_ERR_ARGUMENT,
            TOP BLOCK "      - c: relu x\n    out: c\nnodes:\n"
                      "  - a: {block: b, in: [input, input], n: 1}\nhead: a\n",
            "a.yaml:11:5", "found 2 inputs");
    refuses(HU_ERR_ARGUMENT,
            TOP BLOCK "      - c: {block: b, in: x, n: 1}\n    out: c\nnodes:\n"
                      "  - a: {block: b, in: input, n: 1}\nhead: a\n",
            "a.yaml:8:13", "within itself");
    refuses(HU_ERR_ARGUMENT,
            TOP BLOCK "      - c: relu x\n    out: c\nnodes:\n"
                      "  - a: {block: b, in: input, repeat: 3, n: [1, 2]}\nhead: a\n",
            "a.yaml:11:41", "one for each copy");
    refuses(HU_ERR_LIMIT,
            TOP BLOCK "      - c: relu x\n    out: c\nnodes:\n"
                      "  - a: {block: b, in: input, repeat: 99999999, n: 1}\nhead: a\n",
            "a.yaml:11:30", "copies");
    refuses(HU_ERR_ARGUMENT,
            TOP BLOCK "      - c: {when: \"n > 1\", node: relu x}\n      - d: relu c\n    out: d\n"
                      "nodes:\n  - a: {block: b, in: input, n: 1}\nhead: a\n",
            "a.yaml:9:9", "left out");
    refuses(HU_ERR_PARSE,
            TOP BLOCK "      - c: {when: \"n = 1\", node: relu x}\n    out: c\n"
                      "nodes:\n  - a: {block: b, in: input, n: 1}\nhead: a\n",
            "a.yaml:8:13", "==");
}

static hu_graph *built(const char *text) {
    hu_graph *graph;
    if (declare(text, &graph) != HU_OK) fail_msg("%s, of\n%s", hu_last_error(), text);
    return graph;
}

static const hu_value_info *value_of(const hu_graph *graph, const char *name) {
    hu_value_id v = hu_graph_find(graph, name);
    if (v == HU_NONE) fail_msg("no value '%s'", name);
    return &graph->value[v];
}

/* Shortcuts where a block's stride says so; a list by copy, first and last; extents that are sums
 * and products; names of blocks as values. */
static void blocks_repeat_with_parameters(void **state) {
    (void)state;
    hu_graph *graph = built(
        TOP "blocks:\n  b:\n    in: x\n    parameters: [out, stride=1, law=normal:0.5]\n"
            "    nodes:\n"
            "      - c: conv2d x out={out} kernel={stride + 2} stride=stride pad=1 init={law}\n"
            "      - s: {when: \"stride == 1\", node: relu c, else: c}\n"
            "    out: s\n"
            "nodes:\n"
            "  - a: {block: b, in: input, repeat: 3, out: [4, 2*3+1, channels], "
            "first: {stride: 2}, last: {law: uniform:2}}\n"
            "  - d: {block: b, in: a, out: 16*width}\n"
            "  - e: add a.2.c a.2.s\n"
            "  - p: global_avg_pool d\n"
            "  - fc: linear p out=classes\nhead: fc\n");
    assert_int_equal(value_of(graph, "a.0.c.out")->shape.extent[0], 4);
    assert_int_equal(value_of(graph, "a.0.c.out")->shape.extent[2], 4);
    assert_int_equal(hu_graph_find(graph, "a.0.s.out"), HU_NONE);
    assert_int_equal(value_of(graph, "a.1.s.out")->shape.extent[2], 7);
    assert_int_equal(value_of(graph, "a.2.c.out")->shape.extent[2], 3);
    assert_true(value_of(graph, "a.1.c.weight")->init.kind == HU_INIT_NORMAL &&
                value_of(graph, "a.1.c.weight")->init.scale == 0.5f);
    assert_true(value_of(graph, "a.2.c.weight")->init.kind == HU_INIT_UNIFORM);
    assert_int_equal(value_of(graph, "d.c.out")->shape.extent[2], 16);
    assert_int_equal(value_of(graph, "fc.out")->shape.extent[0], 10);
    assert_string_equal(hu_network_unused(graph), "e");
    hu_graph_free(graph);
}

/* model.layers, model.width and model.dropout work on what a file leaves to them. */
static void keys_change_what_a_file_declares(void **state) {
    (void)state;
    static const char text[] =
        TOP "sizes: {layers: 2}\nblocks:\n  b: {in: x, nodes: [{r: relu x}], out: r}\nnodes:\n"
            "  - c: conv2d input out=32*width kernel=1\n"
            "  - a: {block: b, in: c, repeat: layers}\n"
            "  - d: dropout a probability=0.25\n"
            "  - p: global_avg_pool d\n  - fc: linear p out=classes\nhead: fc\n";
    hu_graph *graph = built(text);
    assert_true(hu_graph_find(graph, "a.1.r.out") != HU_NONE);
    assert_int_equal(hu_graph_find(graph, "a.2.r.out"), HU_NONE);
    assert_true(hu_graph_find(graph, "d.out") != HU_NONE);
    hu_graph_free(graph);
    hu_model_options options = {.name = "a.yaml", .width = 0.5, .dropout = 0.0};
    options.sizes.chosen[HU_SIZE_LAYERS] = 5;
    if (declare_with(text, &options, &graph) != HU_OK) fail_msg("%s", hu_last_error());
    assert_true(hu_graph_find(graph, "a.4.r.out") != HU_NONE);
    assert_int_equal(hu_graph_find(graph, "d.out"), HU_NONE);
    assert_int_equal(value_of(graph, "c.out")->shape.extent[2], 16);
    hu_graph_free(graph);
    options.sizes.chosen[HU_SIZE_HEADS] = 5; /* which the file does not have */
    assert_int_equal(declare_with(text, &options, &graph), HU_ERR_ARGUMENT);
}

/* Sums with a minus, presets that are sums, a dropout that is left out. */
static void numbers_are_worked_out(void **state) {
    (void)state;
    static const char text[] = TOP
        "blocks: {b: {in: x, parameters: [n, k=-1, m=2*channels], nodes: "
        "[{c: conv2d x out=n-2 kernel=3 pad=1 more=k}, {d: conv2d c out=m kernel=1}], out: d}}\n"
        "nodes:\n  - a: {block: b, in: input, n: 10-2}\n  - f: dropout a probability=0.5\n"
        "  - r: relu f.out\n  - fc: linear r out=classes\nhead: fc\n";
    hu_graph *graph = built(text);
    assert_int_equal(value_of(graph, "a.c.out")->shape.extent[2], 6);
    assert_int_equal(value_of(graph, "a.c.out")->shape.extent[0], 7);
    assert_int_equal(value_of(graph, "a.d.out")->shape.extent[2], 6);
    hu_graph_free(graph);
    const hu_model_options options = {.name = "a.yaml", .width = 1.0, .dropout = 0.0};
    if (declare_with(text, &options, &graph) != HU_OK) fail_msg("%s", hu_last_error());
    hu_graph_free(graph);
}

/* A recurrence, parameters of another node, losses of the file's own. */
static void loops_and_losses_are_declared(void **state) {
    (void)state;
    hu_graph *graph =
        built("halfulp_network: 1\ninputs: {input: image, label: target}\nnodes:\n"
              "  - rows: reshape input shape={height}x24\n"
              "  - start: zeros numbers=24\n"
              "  - l:\n      loop: rows\n      nodes:\n"
              "        - h: state start next=new\n"
              "        - a: linear h out=24\n        - b: add a rows\n        - new: tanh b\n"
              "      out: new\n"
              "  - last: pick l last=on\n"
              "  - fc: linear last out=classes params=out\n"
              "  - again: linear last out=classes share=out\n"
              "  - one: softmax_cross_entropy fc label\n"
              "  - two: softmax_cross_entropy again label\n"
              "losses:\n  - {value: one, per: row}\n  - {value: two, weight: 0.25, per: row}\n");
    assert_int_equal(graph->loop_count, 1);
    assert_int_equal(graph->loop[0].steps, 8);
    assert_int_equal(value_of(graph, "new.out")->shape.rank, 2);
    assert_int_equal(value_of(graph, "a.weight")->shape.extent[1], 24);
    assert_int_equal(value_of(graph, "out.weight")->use_count, 2);
    assert_int_equal(hu_graph_find(graph, "again.weight"), HU_NONE);
    assert_int_equal(graph->loss_count, 2);
    assert_true(graph->loss[1].weight == 0.25f && graph->loss[1].normaliser == HU_PER_ROW);
    hu_graph_free(graph);
}

/* Two cells in one loop, each a block with a state of its own. */
static void states_stand_in_blocks(void **state) {
    (void)state;
    hu_graph *graph = built(
        TOP "blocks:\n  cell:\n    in: [x, start]\n    nodes:\n"
            "      - h: state start next=new\n      - a: linear h out=24\n      - s: add a x\n"
            "      - new: tanh s\n    out: new\n"
            "nodes:\n  - rows: reshape input shape=8x24\n  - zero: zeros numbers=24\n"
            "  - l: {loop: rows, nodes: [{c0: {block: cell, in: [rows, zero]}}, "
            "{c1: {block: cell, in: [c0, zero]}}], out: c1}\n"
            "  - last: pick l last=on\n  - fc: linear last out=classes\nhead: fc\n");
    assert_int_equal(graph->loop_count, 1);
    const hu_node *h = &graph->node[value_of(graph, "c1.h.out")->producer];
    assert_int_equal(h->in[0], hu_graph_find(graph, "c1.new.out"));
    hu_graph_free(graph);
}

/* Ten blocks, each of ten copies of the one before it: 10^10 nodes. */
static void blocks_in_blocks_end_at_a_limit(void **state) {
    enum { BLOCKS = 10, TEXT_BYTES = 4096 };
    char text[TEXT_BYTES];
    (void)state;
    int used = snprintf(text, sizeof text,
                        TOP "blocks:\n  b0:\n    in: x\n    nodes:\n"
                            "      - r: relu x\n    out: r\n");
    for (int i = 1; i <= BLOCKS; i++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "  b%d:\n    in: x\n    nodes:\n"
                         "      - r: {block: b%d, in: x, repeat: 10}\n    out: r\n",
                         i, i - 1);
    snprintf(text + used, sizeof text - (size_t)used,
             "nodes:\n  - a: {block: b%d, in: input}\nhead: a\n", BLOCKS);
    refuses(HU_ERR_LIMIT, text, "a.yaml:", "nodes and copies");
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* 100,000 nodes, one after the other; prints how much processor time parsing and declaring take. */
static void a_long_file_is_read(void **state) {
    enum { NODES = 100000 };
    hu_byte_writer text = {0};
    hu_graph *graph;
    (void)state;
    assert_int_equal(hu_write_format(&text, TOP "nodes:\n  - n0: conv2d input out=4 kernel=1\n"),
                     HU_OK);
    for (int i = 1; i < NODES; i++)
        assert_int_equal(hu_write_format(&text, "  - n%d: %s n%d%s\n", i, i % 2 ? "relu" : "scale",
                                         i - 1, i % 2 ? "" : " factor=0.5"),
                         HU_OK);
    assert_int_equal(hu_write_format(&text,
                                     "  - p: global_avg_pool n%d\n"
                                     "  - fc: linear p out=classes\nhead: fc\n",
                                     NODES - 1),
                     HU_OK);
    assert_int_equal(hu_write_u8(&text, 0), HU_OK);
    double begun = seconds();
    graph = built((const char *)text.data);
    printf("%d nodes: %.2f s\n", NODES, seconds() - begun);
    assert_true(graph->node_count >= NODES + 2);
    hu_graph_free(graph);
    hu_free(text.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_is_read_as_it_is_written),
        cmocka_unit_test(bad_tops_are_named),
        cmocka_unit_test(bad_nodes_are_named),
        cmocka_unit_test(names_mean_one_thing),
        cmocka_unit_test(bad_blocks_are_named),
        cmocka_unit_test(blocks_in_blocks_end_at_a_limit),
        cmocka_unit_test(blocks_repeat_with_parameters),
        cmocka_unit_test(keys_change_what_a_file_declares),
        cmocka_unit_test(numbers_are_worked_out),
        cmocka_unit_test(loops_and_losses_are_declared),
        cmocka_unit_test(states_stand_in_blocks),
        cmocka_unit_test(a_long_file_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
