/* Ids: loaded as they are whatever the precision, looked up, and refused where they are none. */
#include "engine/run.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/planner.h"

enum { BATCH = 5, CHUNK = 2, TOKENS = 3, WORDS = 6, IDS = BATCH * TOKENS };

typedef struct net {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    float id[IDS], target[IDS];
} net;

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

/* tokens -> rows of the table, which are the scores of the targets. */
static void open_net(net *n, int threads) {
    const hu_shape row = {1, {TOKENS}};
    const hu_embedding_attrs table = {.words = WORDS, .width = WORDS, .factor = 1.0f};
    const hu_run_options options = {.batch = BATCH, .chunk = CHUNK, .threads = threads, .seed = 1};
    hu_value_id tokens, targets, out[HU_MAX_OUTPUTS];
    *n = (net){0};
    must(hu_graph_create(&n->graph));
    must(hu_graph_ids(n->graph, "tokens", &row, WORDS, &tokens));
    must(hu_graph_target(n->graph, "targets", &row, &targets));
    must(hu_graph_apply(n->graph, &hu_op_embedding, "emb", NULL, &table, 1, &tokens, out));
    const hu_value_id in[2] = {out[0], targets};
    must(hu_graph_apply(n->graph, &hu_op_softmax_cross_entropy, "loss", NULL, NULL, 2, in, out));
    must(hu_graph_loss(n->graph, out[0], 1.0f, HU_PER_ROW));
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
    for (int64_t i = 0; i < n->weights.elements; i++) n->weights.block[i] = (float)(i % 7) / 8.0f;
    for (int64_t i = 0; i < IDS; i++) {
        n->id[i] = (float)(i * 5 % WORDS);
        n->target[i] = (float)((i * 5 + 1) % WORDS);
    }
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
}

static void close_net(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const net *n = context;
    const float *from = field == 0 ? n->id : n->target;
    memcpy(rows, from + first * TOKENS, (size_t)(count * TOKENS) * sizeof *rows);
}

static hu_status forward(net *n, const hu_pass_options *pass, hu_pass_result *result) {
    hu_source source = {n, fill};
    hu_run_round_parameters(n->run, 0, true);
    return hu_run_forward(n->run, pass, &source, result);
}

/* The gradient of a row is the sum over its ids of softmax - one hot, over all tokens. */
static void the_table_learns_from_its_ids(void **unused) {
    (void)unused;
    for (int threads = 1; threads <= 3; threads += 2) {
        net n;
        hu_pass_result result;
        float scratch[WORDS * WORDS];
        open_net(&n, threads);
        const hu_pass_options pass = {
            .samples = BATCH, .training = true, .row_gradient = {1.0f / IDS}};
        must(forward(&n, &pass, &result));
        assert_int_equal(result.units[0], IDS);
        must(hu_run_backward(n.run, &pass));
        hu_value_id weight = hu_graph_find(n.graph, "emb.weight");
        const float *gradient = hu_run_param_grad(n.run, weight, 0, WORDS * WORDS, scratch);
        double expected[WORDS][WORDS] = {{0}};
        for (int64_t i = 0; i < IDS; i++) {
            const int64_t id = (int64_t)n.id[i], target = (int64_t)n.target[i];
            const float *row = n.weights.block + id * WORDS;
            double sum = 0;
            for (int c = 0; c < WORDS; c++) sum += exp((double)row[c]);
            for (int c = 0; c < WORDS; c++)
                expected[id][c] += (exp((double)row[c]) / sum - (c == target)) / IDS;
        }
        for (int w = 0; w < WORDS; w++)
            for (int c = 0; c < WORDS; c++)
                assert_true(fabs((double)gradient[w * WORDS + c] - expected[w][c]) < 1e-7);
        close_net(&n);
    }
}

static void what_is_no_id_ends_the_pass_with_its_place(void **unused) {
    (void)unused;
    static const float none[] = {WORDS, -1.0f, 1.5f, NAN, 0x1p24f};
    for (int threads = 1; threads <= 3; threads += 2)
        for (int i = 0; i < 5; i++) {
            net n;
            hu_pass_result result;
            const hu_pass_options pass = {.samples = BATCH};
            open_net(&n, threads);
            n.id[4 * TOKENS + 1] = -7.0f; /* not the first */
            n.id[3 * TOKENS + 2] = none[i];
            assert_int_equal(forward(&n, &pass, &result), HU_ERR_ARGUMENT);
            assert_non_null(strstr(hu_last_error(), "'tokens' of sample 3"));
            assert_non_null(strstr(hu_last_error(), "place 2: found"));
            assert_non_null(strstr(hu_last_error(), "expected a whole number from 0 to 5"));
            n.id[3 * TOKENS + 2] = n.id[4 * TOKENS + 1] = 0.0f;
            must(forward(&n, &pass, &result));
            close_net(&n);
        }
}

static void more_ids_than_float32_has_are_refused(void **unused) {
    (void)unused;
    const hu_shape row = {1, {TOKENS}};
    hu_graph *graph;
    hu_value_id id;
    must(hu_graph_create(&graph));
    assert_int_equal(hu_graph_ids(graph, "tokens", &row, HU_IDS_MOST + 1, &id), HU_ERR_LIMIT);
    assert_non_null(strstr(hu_last_error(), "16777217"));
    assert_int_equal(hu_graph_ids(graph, "tokens", &row, 0, &id), HU_ERR_LIMIT);
    must(hu_graph_ids(graph, "tokens", &row, HU_IDS_MOST, &id));
    assert_false(hu_is_rounded_kind(&graph->value[id]));
    hu_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_learns_from_its_ids),
        cmocka_unit_test(what_is_no_id_ends_the_pass_with_its_place),
        cmocka_unit_test(more_ids_than_float32_has_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
