/* Parameters with several uses: one that two layers share, or a table of words with the layer that
 * finds words again, against two copies of it whose gradients are added. */
#include "engine/run.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/planner.h"

enum { BATCH = 7, CHUNK = 2, WIDE = 12, CLASSES = WIDE, MOST = WIDE * WIDE, WORDS = 5, ROWS = 4 };

/* input -> one -> relu -> two -> lsm -> loss; the weights of two are those of one, or copies. Where
 * there are words, one is their table and has no bias, and all but the loss is of rows. */
typedef struct net {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    hu_value_id weight[2], bias[2]; /* bias: HU_NONE where there are words */
} net;

typedef struct variant {
    const char *contribution, *sum, *weight; /* "": not rounded */
    hu_storage_mode storage;
    int threads;
    bool fuse;
} variant;

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

static hu_value_id apply(net *n, const hu_op *op, const char *name, int n_in,
                         const hu_value_id *in) {
    hu_value_id out[HU_MAX_OUTPUTS];
    must(hu_graph_apply(n->graph, op, name, NULL, NULL, n_in, in, out));
    return out[0];
}

static void declare(net *n, bool shares) {
    const hu_shape wide = {1, {WIDE}}, scalar = {0, {0}};
    const hu_linear_attrs attrs = {
        .out_features = WIDE, .has_bias = true, .weight_init = {HU_INIT_NORMAL, 0.4f}};
    hu_value_id in[2], out[HU_MAX_OUTPUTS];
    *n = (net){0};
    must(hu_graph_create(&n->graph));
    must(hu_graph_input(n->graph, "input", &wide, &in[0]));
    must(hu_graph_target(n->graph, "label", &scalar, &in[1]));
    must(hu_graph_apply(n->graph, &hu_op_linear, "one", NULL, &attrs, 1, in, out));
    n->weight[0] = n->weight[1] = hu_graph_find(n->graph, "one.weight");
    n->bias[0] = n->bias[1] = hu_graph_find(n->graph, "one.bias");
    const hu_value_id params[2] = {shares ? n->weight[0] : HU_NONE, shares ? n->bias[0] : HU_NONE};
    in[0] = apply(n, &hu_op_relu, "relu", 1, out);
    must(hu_graph_share(n->graph, &hu_op_linear, "two", &attrs, 1, in, params, out));
    if (!shares) n->weight[1] = hu_graph_find(n->graph, "two.weight");
    if (!shares) n->bias[1] = hu_graph_find(n->graph, "two.bias");
    in[0] = apply(n, &hu_op_log_softmax, "lsm", 1, out);
    apply(n, &hu_op_nll, "loss", 2, in);
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
}

/* Rows of words: the table [WORDS, WIDE] is the weight of the layer after it, or has a copy there.
 */
static void declare_words(net *n, bool shares) {
    const hu_shape rows = {1, {ROWS}};
    const hu_embedding_attrs table = {
        .words = WORDS, .width = WIDE, .factor = 1.0f, .weight_init = {HU_INIT_NORMAL, 0.4f}};
    const hu_linear_attrs attrs = {
        .out_features = WORDS, .rows = true, .weight_init = {HU_INIT_NORMAL, 0.4f}};
    hu_value_id in[2], out[HU_MAX_OUTPUTS];
    *n = (net){.bias = {HU_NONE, HU_NONE}};
    must(hu_graph_create(&n->graph));
    must(hu_graph_ids(n->graph, "words", &rows, WORDS, &in[0]));
    must(hu_graph_target(n->graph, "next", &rows, &in[1]));
    must(hu_graph_apply(n->graph, &hu_op_embedding, "one", NULL, &table, 1, in, out));
    n->weight[0] = n->weight[1] = hu_graph_find(n->graph, "one.weight");
    const hu_value_id param = shares ? n->weight[0] : HU_NONE;
    in[0] = apply(n, &hu_op_relu, "relu", 1, out);
    must(hu_graph_share(n->graph, &hu_op_linear, "two", &attrs, 1, in, &param, out));
    if (!shares) n->weight[1] = hu_graph_find(n->graph, "two.weight");
    in[0] = apply(n, &hu_op_log_softmax, "lsm", 1, out);
    apply(n, &hu_op_nll, "loss", 2, in);
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
}

static void copy_values(net *n, hu_value_id to, hu_value_id from) {
    memcpy(hu_weights_of(&n->weights, to), hu_weights_of(&n->weights, from),
           (size_t)n->graph->value[to].elements * sizeof(float));
}

static hu_quantizer quantizer_of(const char *text) {
    hu_quantizer q = {0};
    if (text[0]) must(hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &q));
    return q;
}

static void write_edges(net *n, const variant *v) {
    for (hu_value_id id = 0; id < n->graph->value_count; id++) {
        const hu_value_info *value = &n->graph->value[id];
        if (value->role != HU_VALUE_PARAMETER) continue;
        n->edges.value[id].quantizer = quantizer_of(v->weight);
        n->edges.grad_sum[id].quantizer = quantizer_of(v->sum);
        for (uint32_t k = 0; k < value->use_count; k++)
            n->edges.grad[value->uses[k]].quantizer = quantizer_of(v->contribution);
    }
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const hu_random_key key = {5, 1, 0};
    const net *n = context;
    bool is_words = n->bias[0] == HU_NONE;
    for (int64_t i = first * ROWS; i < (first + count) * ROWS && is_words; i++)
        rows[i - first * ROWS] = (float)((i * 7 / 3 + field) % WORDS);
    if (is_words) return;
    for (int64_t i = 0; i < count * WIDE && field == 0; i++)
        rows[i] = hu_random_normal(&key, (uint64_t)(first * WIDE + i));
    for (int64_t s = 0; s < count && field == 1; s++) rows[s] = (float)((first + s) % CLASSES);
}

static void run_step(net *n, const variant *v) {
    const hu_run_options options = {.batch = BATCH,
                                    .chunk = CHUNK,
                                    .threads = v->threads,
                                    .storage = v->storage,
                                    .fuse = v->fuse,
                                    .recompute = v->fuse};
    hu_pass_options pass = {.training = true, .samples = BATCH, .seed_gradient = 64.0f};
    hu_pass_result result;
    hu_source source = {n, fill};
    write_edges(n, v);
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
    hu_weights_draw(&n->weights, n->graph, 3, 1);
    if (n->weight[1] != n->weight[0]) copy_values(n, n->weight[1], n->weight[0]);
    if (n->bias[1] != n->bias[0]) copy_values(n, n->bias[1], n->bias[0]);
    hu_run_round_parameters(n->run, 0, true);
    must(hu_run_forward(n->run, &pass, &source, &result));
    must(hu_run_backward(n->run, &pass));
    assert_true(!hu_run_has_unencodable(n->run));
}

static void drop(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

/* The sum of the copies' gradients, rounded as the sum's record says. */
static void add_gradients(const net *n, const hu_value_id copy[2], const char *sum, float *to) {
    float scratch[2][MOST];
    hu_rounder rounder;
    int64_t elements = n->graph->value[copy[0]].elements;
    const float *first = hu_run_param_grad(n->run, copy[0], 0, elements, scratch[0]);
    const float *second = hu_run_param_grad(n->run, copy[1], 0, elements, scratch[1]);
    for (int64_t i = 0; i < elements; i++) to[i] = first[i] + second[i];
    if (!sum[0]) return;
    hu_quantizer q = quantizer_of(sum);
    must(hu_rounder_init(&rounder, &q.format, q.rounding));
    hu_rounder_run(&rounder, (size_t)elements, to, to, NULL, 0, NULL);
}

static void compare(const variant *v, void (*declares)(net *n, bool shares)) {
    net shared, copies;
    float expected[MOST], scratch[MOST];
    declares(&shared, true);
    declares(&copies, false);
    assert_int_equal(2 * shared.weights.trained, copies.weights.trained);
    run_step(&shared, v);
    run_step(&copies, v);
    const hu_value_id *pairs[] = {copies.weight, copies.bias};
    const hu_value_id ids[] = {shared.weight[0], shared.bias[0]};
    for (int p = 0; p < 2 && ids[p] != HU_NONE; p++) {
        int64_t elements = shared.graph->value[ids[p]].elements;
        add_gradients(&copies, pairs[p], v->sum, expected);
        const float *found = hu_run_param_grad(shared.run, ids[p], 0, elements, scratch);
        assert_memory_equal(found, expected, (size_t)elements * sizeof *found);
        int64_t nonzero = 0;
        for (int64_t i = 0; i < elements; i++) nonzero += expected[i] != 0;
        assert_true(2 * nonzero > elements);
        const hu_edge *sum = &shared.edges.grad_sum[ids[p]];
        assert_true(sum->counts.elements == (v->sum[0] ? (uint64_t)elements : 0));
    }
    drop(&shared);
    drop(&copies);
}

static void a_shared_gradient_is_the_sum_of_the_copies(void **state) {
    (void)state;
    static const variant rows[] = {
        {"", "", "", HU_STORAGE_PACKED, 1, true},
        {"e5m2", "", "", HU_STORAGE_PACKED, 2, true},
        {"e5m2", "e4m3", "e4m3", HU_STORAGE_PACKED, 2, false},
        {"e5m2", "e4m3", "e4m3", HU_STORAGE_FLOAT32, 3, true},
        {"fp16", "bf16", "fp16", HU_STORAGE_DENSE, 2, true},
        {"mxfp8", "", "mxfp8", HU_STORAGE_PACKED, 2, true},
        {"e4m3fn:scale=current", "e5m2", "e4m3fn:scale=current", HU_STORAGE_PACKED, 1, true}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        compare(&rows[r], declare);
        compare(&rows[r], declare_words);
    }
}

/* What is planned is what lives: a shared parameter has one master, one copy, a gradient by use and
 * their sum. */
static void a_shared_parameter_is_planned_once(void **state) {
    (void)state;
    const variant v = {"e5m2", "fp16", "e4m3", HU_STORAGE_PACKED, 1, true};
    const uint64_t elements = WIDE * WIDE + WIDE;
    net n;
    hu_ledger before = hu_ledger_now();
    declare(&n, true);
    run_step(&n, &v);
    hu_ledger ledger = hu_ledger_of(n.run, 0, 0);
    assert_int_equal(hu_ledger_check(&ledger, &before), HU_OK);
    assert_true(ledger.parameters == elements * sizeof(float));
    assert_true(ledger.arena[HU_BUFFER_WEIGHT] == elements);
    assert_true(ledger.arena[HU_BUFFER_WEIGHT_GRADIENT] <= elements * (2 * 1 + 2));
    drop(&n);
}

static void running_statistics_are_updated_by_every_use(void **state) {
    (void)state;
    const hu_shape wide = {1, {WIDE}}, scalar = {0, {0}};
    const hu_batch_norm_attrs attrs = {.momentum = 0.25f, .epsilon = 1e-5f};
    float mean[2][WIDE];
    for (int shares = 0; shares < 2; shares++) {
        net n = {0};
        hu_value_id in[2], out[HU_MAX_OUTPUTS], params[4];
        must(hu_graph_create(&n.graph));
        must(hu_graph_input(n.graph, "input", &wide, &in[0]));
        must(hu_graph_target(n.graph, "label", &scalar, &in[1]));
        must(hu_graph_apply(n.graph, &hu_op_batch_norm, "one", NULL, &attrs, 1, in, out));
        memcpy(params, n.graph->node[0].param, sizeof params);
        in[0] = apply(&n, &hu_op_relu, "relu", 1, out);
        for (int p = 0; p < 4 && !shares; p++) params[p] = HU_NONE;
        must(hu_graph_share(n.graph, &hu_op_batch_norm, "two", &attrs, 1, in, params, out));
        in[0] = apply(&n, &hu_op_log_softmax, "lsm", 1, out);
        apply(&n, &hu_op_nll, "loss", 2, in);
        must(hu_graph_finish(n.graph));
        must(hu_edge_table_create(n.graph, &n.edges));
        must(hu_weights_create(n.graph, &n.weights));
        const variant v = {"", "", "", HU_STORAGE_PACKED, 1, true};
        run_step(&n, &v);
        hu_value_id one = hu_graph_find(n.graph, "one.running_mean");
        hu_value_id two = hu_graph_find(n.graph, "two.running_mean");
        memcpy(mean[shares], hu_weights_of(&n.weights, one), sizeof mean[0]);
        for (int c = 0; c < WIDE && !shares; c++) /* what the second use then makes of it */
            mean[0][c] = 0.75f * mean[0][c] + hu_weights_of(&n.weights, two)[c];
        drop(&n);
    }
    for (int c = 0; c < WIDE; c++) assert_true(fabsf(mean[0][c] - mean[1][c]) < 1e-6f);
}

static void what_cannot_be_shared_is_refused(void **state) {
    (void)state;
    const hu_linear_attrs narrow = {.out_features = 3}, wide = {.out_features = WIDE};
    const struct {
        const char *name, *words;
        const hu_linear_attrs *attrs;
        hu_status expected;
    } rows[] = {
        {"one.weight", "found 12x12, expected 3x12", &narrow, HU_ERR_SHAPE},
        {"input", "'input' cannot be shared as weight: it is no trained", &wide, HU_ERR_ARGUMENT}};
    for (size_t r = 0; r < 2; r++) {
        net n;
        declare(&n, false);
        hu_value_id in = hu_graph_find(n.graph, "input"), out[HU_MAX_OUTPUTS];
        hu_value_id param = hu_graph_find(n.graph, rows[r].name);
        hu_status st =
            hu_graph_share(n.graph, &hu_op_linear, "three", rows[r].attrs, 1, &in, &param, out);
        assert_int_equal(st, rows[r].expected);
        if (!strstr(hu_last_error(), rows[r].words)) fail_msg("%s", hu_last_error());
        drop(&n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shared_gradient_is_the_sum_of_the_copies),
        cmocka_unit_test(a_shared_parameter_is_planned_once),
        cmocka_unit_test(running_statistics_are_updated_by_every_use),
        cmocka_unit_test(what_cannot_be_shared_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
