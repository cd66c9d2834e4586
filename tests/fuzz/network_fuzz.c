/* Network files: what is read is a whole graph, and written it is read as an equal one. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "config/config.h"
#include "model/network_file.h"

/* Classification of small pictures, or the next word of short texts, as the file asks. */
static bool choose(bool reads_text, hu_dataset *data, hu_task_choice *choice) {
    *data = (hu_dataset){.name = NULL};
    if (!reads_text) hu_dataset_set_images(data, 8, 8, 3, 10);
    for (int f = 0; reads_text && f < 2; f++) {
        data->field[f] = (hu_field){.type = HU_FIELD_I32, .rank = 1, .extent = {8}, .classes = 9};
        strcpy(data->field[f].name, f ? "targets" : "tokens");
        data->field_count = 2;
    }
    const hu_task *task = reads_text ? &hu_task_language : &hu_task_classify;
    return FUZZ_DONE(hu_model_choose("", task, NULL, data, choice));
}

static hu_status build(const hu_keys *file, const hu_task_choice *choice, hu_graph **graph) {
    enum { NODES_MOST = 256 };
    const hu_custom_net net = {.head = HU_NONE, .file = file};
    const hu_model_options options = {.name = "text",
                                      .width = 0.5,
                                      .dropout = -1.0,
                                      .own = &net,
                                      .choice = choice,
                                      .nodes_most = NODES_MOST};
    return hu_model_build(&options, graph);
}

static bool same_graph(const hu_graph *a, const hu_graph *b) {
    bool same = a->node_count == b->node_count && a->value_count == b->value_count;
    for (uint32_t n = 0; same && n < a->node_count; n++)
        same = strcmp(a->node[n].name, b->node[n].name) == 0 && a->node[n].op == b->node[n].op;
    for (uint32_t v = 0; same && v < a->value_count; v++)
        same = strcmp(a->value[v].name, b->value[v].name) == 0 &&
               hu_shape_equal(&a->value[v].shape, &b->value[v].shape) &&
               a->value[v].use_count == b->value[v].use_count;
    return same;
}

/* Written and read again. Names of nodes may be such that a file cannot tell them apart from
 * others ("a.0.b" beside a block a): then reading may fail, but gives no other graph. */
static void check_written(const hu_graph *graph, const hu_task_choice *choice) {
    const hu_network_heading heading = {.name = "fuzz"};
    hu_byte_writer text = {0};
    hu_keys *tree = NULL;
    hu_graph *again = NULL;
    if (hu_network_write(graph, &heading, choice, &text) == HU_OK &&
        FUZZ_DONE(hu_write_u8(&text, 0)) &&
        FUZZ_DONE(hu_yaml_parse((const char *)text.data, text.size - 1, "text", &tree)) &&
        build(tree, choice, &again) == HU_OK)
        FUZZ_CHECK(same_graph(graph, again));
    hu_graph_free(again);
    hu_keys_free(tree);
    hu_free(text.data);
}

void fuzz_one(const uint8_t *data, size_t size) {
    hu_keys *tree;
    hu_dataset of;
    hu_task_choice choice;
    hu_graph *graph = NULL;
    hu_network_heading heading;
    if (hu_yaml_parse((const char *)data, size, "text", &tree) != HU_OK) return;
    hu_status st = hu_network_read_heading(tree, &heading);
    bool reads_text = st == HU_OK && heading.task && strcmp(heading.task, "language") == 0;
    if (choose(reads_text, &of, &choice)) {
        st = build(tree, &choice, &graph);
        FUZZ_CHECK((st == HU_OK) == (graph != NULL));
        if (st != HU_OK) FUZZ_CHECK(hu_last_error()[0] != '\0');
        if (st == HU_OK) check_written(graph, &choice);
    }
    hu_graph_free(graph);
    hu_keys_free(tree);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const texts[] = {
        ("halfulp_network: 1\nname: a\ninputs: {input: image}\nblocks:\n  b:\n    in: x\n"
         "    parameters: [out, stride=1]\n    nodes:\n"
         "      - c: conv2d x out={out} kernel=3 stride={stride} pad=1 bias=off\n"
         "      - n: batch_norm c\n"
         "      - s: {when: \"stride > 1\", node: conv2d x out={out} kernel=1 stride=2, else: x}\n"
         "      - a: add n s\n    out: a\nnodes:\n  - i: conv2d input out=4 kernel=1\n"
         "  - l: {block: b, in: i, repeat: 3, out: [4, 4, 2*2], last: {stride: 2}}\n"
         "  - p: global_avg_pool l\n  - fc: linear p out=classes\nhead: fc\n"),
        ("halfulp_network: 1\ntask: language\ninputs: {tokens: ids}\nsizes: {hidden: 6}\nnodes:\n"
         "  - e: embedding tokens words=ids width=hidden\n  - z: zeros numbers=6\n"
         "  - l: {loop: e, nodes: [{h: state z next=t}, {g: linear h out=6}, {a: add g e}, "
         "{t: tanh a}], out: t}\n"
         "  - o: linear l out=classes rows=on share=weight:e.weight\nhead: o\n"),
        ("halfulp_network: 1\ninputs: {input: [8, 8, 3], label: target}\nnodes:\n"
         "  - f: flatten input\n  - a: linear f out=10 init=normal:0.1 params=x.*_y\n"
         "  - s: split a first=5\n  - c: concat s.out0 s.out1\n  - d: dropout c\n"
         "  - k: softmax_cross_entropy d label ignores=on ignored=-1\n"
         "losses: [{value: k, per: row, weight: 0.5, when: always}]\ncompare: [d, label]\n"),
        "halfulp_network: 2\n",
        ("halfulp_network: 1\ninputs: {input: image}\nnodes: [{a: linear input out=10 "
         "params=x.weight*_y}]\nhead: a\n"),
        ("halfulp_network: 1\ninputs: {input: image}\nblocks: {a: {in: x, nodes: [{b: {block: a, "
         "in: x}}], out: b}}\nnodes: [{c: {block: a, in: input, repeat: 999999}}]\nhead: c\n")};
    return index < sizeof texts / sizeof *texts && fuzz_text_seed(texts[index], seed);
}
