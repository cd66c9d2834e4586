/* A loss that takes the rows of wide logits a few at a time, from codes and into codes, against the
 * same run in float32, where it has all of them at once: losses, metric, gradients and counts. */
#include "engine/run.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/planner.h"

enum { BATCH = 5, CHUNK = 2, ROWS = 70, WIDE = 6, CLASSES = 300, IGNORED = 7 };

typedef struct net {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    hu_value_id logits;
    hu_pass_result result;
} net;

typedef struct variant {
    const char *value, *gradient;
    hu_row_loss_attrs loss;
    int64_t classes;
    int threads;
    hu_rounding rounding; /* of the gradient */
} variant;

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

static hu_quantizer quantizer_of(const char *text, hu_rounding rounding) {
    hu_quantizer q = {0};
    must(hu_quantizer_parse(text, rounding, &q));
    return q;
}

static void plan(net *n, const variant *v, hu_storage_mode storage) {
    const hu_run_options options = {.batch = BATCH,
                                    .chunk = CHUNK,
                                    .threads = v->threads,
                                    .seed = 3,
                                    .fuse = true,
                                    .storage = storage};
    const hu_shape wide = {2, {ROWS, WIDE}}, target = {1, {ROWS}};
    const hu_linear_attrs linear = {
        .out_features = v->classes, .rows = true, .weight_init = {HU_INIT_NORMAL, 0.7f}};
    hu_value_id in[2], out[HU_MAX_OUTPUTS];
    *n = (net){0};
    must(hu_graph_create(&n->graph));
    must(hu_graph_input(n->graph, "input", &wide, &in[0]));
    must(hu_graph_target(n->graph, "label", &target, &in[1]));
    must(hu_graph_apply(n->graph, &hu_op_linear, "logits", NULL, &linear, 1, in, out));
    n->logits = in[0] = out[0];
    must(
        hu_graph_apply(n->graph, &hu_op_softmax_cross_entropy, "loss", NULL, &v->loss, 2, in, out));
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
    n->edges.value[n->logits].quantizer = quantizer_of(v->value, HU_ROUND_NEAREST_EVEN);
    n->edges.grad[n->graph->value[n->logits].uses[0]].quantizer =
        quantizer_of(v->gradient, v->rounding);
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
    hu_weights_draw(&n->weights, n->graph, 3, 1);
}

static void drop(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

/* Some classes stand where many rows have their largest number; one row has no class. */
static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const net *n = context;
    const hu_random_key key = {5, 1, 2};
    int64_t classes = n->graph->value[n->logits].elements / ROWS;
    for (int64_t i = 0; i < count * ROWS * WIDE && field == 0; i++)
        rows[i] = hu_random_normal(&key, (uint64_t)(first * ROWS * WIDE + i));
    for (int64_t i = 0; i < count * ROWS && field == 1; i++)
        rows[i] = (float)((first * ROWS + i) * 11 % classes);
}

static void step(net *n) {
    hu_pass_options pass = {.training = true, .samples = BATCH, .seed_gradient = 64.0f, .step = 9};
    for (int k = 0; k < HU_LOSSES_MOST; k++) pass.row_gradient[k] = 64.0f;
    hu_source source = {n, fill};
    hu_edge_table_clear(&n->edges);
    hu_run_round_parameters(n->run, 9, true);
    must(hu_run_forward(n->run, &pass, &source, &n->result));
    must(hu_run_backward(n->run, &pass));
}

static void expect_same(const net *a, const net *b, const char *text) {
    static float scratch[2][WIDE * CLASSES];
    hu_value_id weight = hu_graph_find(a->graph, "logits.weight");
    int64_t elements = a->graph->value[weight].elements;
    uint32_t use = a->graph->value[a->logits].uses[0];
    const float *x = hu_run_param_grad(a->run, weight, 0, elements, scratch[0]);
    const float *y = hu_run_param_grad(b->run, weight, 0, elements, scratch[1]);
    if (memcmp(x, y, (size_t)elements * sizeof *x) != 0) fail_msg("%s: gradients", text);
    assert_memory_equal(&a->result.stats, &b->result.stats, sizeof a->result.stats);
    assert_memory_equal(&a->edges.value[a->logits].counts, &b->edges.value[b->logits].counts,
                        sizeof(hu_round_counts));
    assert_memory_equal(&a->edges.grad[use].counts, &b->edges.grad[use].counts,
                        sizeof(hu_round_counts));
    assert_int_equal(a->edges.grad[use].counts.elements,
                     BATCH * a->graph->value[a->logits].elements);
}

static void check(const variant *v) {
    net packed, plain;
    plan(&packed, v, HU_STORAGE_PACKED);
    plan(&plain, v, HU_STORAGE_FLOAT32);
    step(&packed);
    step(&plain);
    assert_true(packed.result.stats[0][HU_LOSS_SUM] > 0);
    expect_same(&packed, &plain, v->value);
    drop(&packed);
    drop(&plain);
}

static void rows_give_what_the_whole_gives(void **state) {
    static const char *const values[] = {
        "e4m3fn", "e5m2", "fp16", "posit8", "mxfp8", "nvfp4", "e4m3fn:scale=current"};
    static const char *const gradients[] = {"e5m2", "fp16", "mxfp8"};
    static const hu_row_loss_attrs losses[] = {
        {0}, {.smoothing = 0.1f}, {.ignores = true, .ignored = IGNORED}};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (size_t g = 0; g < sizeof gradients / sizeof *gradients; g++)
            for (size_t l = 0; l < sizeof losses / sizeof *losses; l++)
                for (int turn = 0; turn < 4; turn++)
                    check(&(variant){values[i], gradients[g], losses[l],
                                     turn % 2 ? CLASSES : CLASSES - 2, 1 + (int)(l % 2),
                                     turn / 2 ? HU_ROUND_STOCHASTIC : HU_ROUND_NEAREST_EVEN});
}

static void narrow_rows_keep_nothing(void **state) {
    (void)state;
    check(&(variant){"e4m3fn", "e5m2", {0}, 40, 2, HU_ROUND_NEAREST_EVEN});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_give_what_the_whole_gives),
        cmocka_unit_test(narrow_rows_keep_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
