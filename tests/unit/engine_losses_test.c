/* Several inputs, targets and losses: what is loaded, what is minimised, what a pass tells. All
 * numbers are small whole ones, so that every sum is exact and equality can be demanded. */
#include "engine/run.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/planner.h"

enum { BATCH = 5, CHUNK = 2, WIDE = 4, CLASSES = 3, PARAMS = 8, MOST = WIDE * WIDE };

/* a, b -> add -> trunk -> head0 -> loss0 (t0)
 *                      -> head1 -> loss1 (t1) */
typedef struct net {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    hu_value_id a, b, t[2], loss[2];
    float rows[4][BATCH * WIDE]; /* by loaded value */
    int64_t fills[4];            /* samples asked for */
} net;

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

static hu_value_id apply(net *n, const hu_op *op, const char *name, const void *attrs, int n_in,
                         const hu_value_id *in) {
    hu_value_id out[HU_MAX_OUTPUTS];
    must(hu_graph_apply(n->graph, op, name, NULL, attrs, n_in, in, out));
    return out[0];
}

static hu_value_id linear(net *n, const char *name, hu_value_id in, int64_t outputs) {
    hu_linear_attrs attrs = {.out_features = outputs};
    return apply(n, &hu_op_linear, name, &attrs, 1, &in);
}

static void declare(net *n) {
    const hu_shape wide = {1, {WIDE}}, scalar = {0, {0}};
    *n = (net){0};
    must(hu_graph_create(&n->graph));
    must(hu_graph_input(n->graph, "a", &wide, &n->a));
    must(hu_graph_target(n->graph, "t0", &scalar, &n->t[0]));
    must(hu_graph_input(n->graph, "b", &wide, &n->b));
    must(hu_graph_target(n->graph, "t1", &scalar, &n->t[1]));
    hu_value_id both[2] = {n->a, n->b};
    hu_value_id trunk = linear(n, "trunk", apply(n, &hu_op_add, "add", NULL, 2, both), WIDE);
    hu_value_id in0[2] = {linear(n, "head0", trunk, CLASSES), n->t[0]};
    hu_value_id in1[2] = {linear(n, "head1", trunk, CLASSES), n->t[1]};
    n->loss[0] = apply(n, &hu_op_nll, "loss0", NULL, 2, in0);
    n->loss[1] = apply(n, &hu_op_nll, "loss1", NULL, 2, in1);
}

static void plan(net *n, int threads, bool fuse) {
    const hu_run_options options = {
        .batch = BATCH, .chunk = CHUNK, .threads = threads, .seed = 1, .fuse = fuse};
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
    for (int64_t i = 0; i < n->weights.elements; i++)
        n->weights.block[i] = (float)((i * 7) % 5 - 2);
    for (int64_t i = 0; i < BATCH * WIDE; i++) {
        n->rows[0][i] = (float)((i * 3) % 7 - 3);
        n->rows[2][i] = (float)((i * 5) % 9 - 4);
    }
    for (int64_t s = 0; s < BATCH; s++) {
        n->rows[1][s] = (float)(s % CLASSES);
        n->rows[3][s] = (float)((s + 1) % CLASSES);
    }
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
}

static void drop(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    net *n = context;
    int64_t elements = n->graph->value[n->graph->loaded[field]].elements;
    memcpy(rows, n->rows[field] + first * elements, (size_t)(count * elements) * sizeof *rows);
#pragma omp atomic
    n->fills[field] += count;
}

/* Both passes; gradients of all parameters one after the other. */
static hu_pass_result step(net *n, const hu_pass_options *options, float *gradients) {
    hu_pass_options pass = *options;
    hu_pass_result result;
    hu_source source = {n, fill};
    float scratch[MOST];
    pass.training = true;
    pass.samples = BATCH;
    hu_edge_table_clear(&n->edges);
    hu_run_round_parameters(n->run, 0, true);
    must(hu_run_forward(n->run, &pass, &source, &result));
    must(hu_run_backward(n->run, &pass));
    for (hu_value_id v = 0; v < n->graph->value_count; v++) {
        int64_t elements = n->graph->value[v].elements;
        if (n->graph->value[v].role != HU_VALUE_PARAMETER) continue;
        memcpy(gradients + n->weights.offset[v], hu_run_param_grad(n->run, v, 0, elements, scratch),
               (size_t)elements * sizeof *gradients);
    }
    return result;
}

/* Gradients with the losses of given weights; 0: not declared. */
static hu_pass_result with_losses(const float weight[2], const hu_pass_options *pass, int threads,
                                  bool fuse, float *gradients, int64_t *count) {
    net n;
    declare(&n);
    for (int k = 0; k < 2; k++)
        if (weight[k] != 0.0f) must(hu_graph_loss(n.graph, n.loss[k], weight[k], HU_PER_SAMPLE));
    plan(&n, threads, fuse);
    *count = n.weights.trained;
    hu_pass_result result = step(&n, pass, gradients);
    drop(&n);
    return result;
}

static void losses_are_added_with_their_weights(void **state) {
    (void)state;
    static const float only0[2] = {1, 0}, only1[2] = {0, 1}, both[2] = {1, 0.5f};
    const hu_pass_options pass = {.seed_gradient = 2.0f};
    for (int variant = 0; variant < 4; variant++) {
        float g0[100], g1[100], sum[100];
        int64_t count;
        bool fuse = variant & 1;
        int threads = 1 + (variant >> 1);
        hu_pass_result r0 = with_losses(only0, &pass, threads, fuse, g0, &count);
        hu_pass_result r1 = with_losses(only1, &pass, threads, fuse, g1, &count);
        hu_pass_result r = with_losses(both, &pass, threads, fuse, sum, &count);
        assert_int_equal(count, WIDE * WIDE + 2 * CLASSES * WIDE);
        for (int64_t i = 0; i < count; i++) assert_true(sum[i] == g0[i] + 0.5f * g1[i]);
        assert_true(r.stats[0][HU_LOSS_SUM] == r0.loss_sum);
        assert_true(r.stats[1][HU_LOSS_SUM] == r1.loss_sum);
        assert_true(r.loss_sum == r0.loss_sum + 0.5 * r1.loss_sum && r0.loss_sum != 0);
        assert_int_equal(r.units[0], BATCH);
        assert_int_equal(r.units[1], BATCH);
    }
}

/* nll counts samples as its rows: the normaliser then only chooses the seed. */
static void a_loss_per_row_has_a_seed_of_its_own(void **state) {
    (void)state;
    const hu_pass_options pass = {.seed_gradient = 1.0f, .row_gradient = {0, 4.0f}};
    float by_sample[100], by_row[100];
    for (int is_row = 0; is_row < 2; is_row++) {
        net n;
        declare(&n);
        must(hu_graph_loss(n.graph, n.loss[0], 4.0f, HU_PER_SAMPLE));
        must(hu_graph_loss(n.graph, n.loss[1], is_row ? 1.0f : 4.0f,
                           is_row ? HU_PER_ROW : HU_PER_SAMPLE));
        plan(&n, 2, true);
        hu_pass_result result = step(&n, &pass, is_row ? by_row : by_sample);
        assert_int_equal(result.units[1], BATCH);
        if (is_row) assert_memory_equal(by_row, by_sample, (size_t)n.weights.trained * 4);
        drop(&n);
    }
}

/* Pixels of a map that nobody has labelled: nothing to learn from, and nothing that is not finite.
 */
static void without_a_counted_row_loss_and_gradients_are_0(void **state) {
    (void)state;
    const hu_pass_options pass = {.row_gradient = {1.0f}};
    hu_row_loss_attrs attrs = {.ignores = true, .ignored = -1.0f};
    float gradients[100];
    net n;
    declare(&n);
    hu_value_id in[2] = {hu_graph_find(n.graph, "head0.out"), n.t[0]};
    hu_value_id loss = apply(&n, &hu_op_nll, "masked", &attrs, 2, in);
    must(hu_graph_loss(n.graph, loss, 1.0f, HU_PER_ROW));
    plan(&n, 2, true);
    for (int64_t s = 0; s < BATCH; s++) n.rows[1][s] = -1.0f;
    hu_pass_result result = step(&n, &pass, gradients);
    assert_int_equal(result.units[0], 0);
    assert_true(result.loss_sum == 0.0);
    for (int64_t i = 0; i < n.weights.trained; i++) assert_true(gradients[i] == 0.0f);
    drop(&n);
}

static void every_input_is_loaded_and_rounded_by_its_edge(void **state) {
    (void)state;
    net n;
    float gradients[100], sum[BATCH * WIDE], scratch[BATCH * WIDE];
    declare(&n);
    must(hu_graph_loss(n.graph, n.loss[0], 1.0f, HU_PER_SAMPLE));
    hu_value_id add = hu_graph_find(n.graph, "add.out");
    plan(&n, 2, false);
    must(hu_quantizer_parse("e2m1", HU_ROUND_TOWARD_ZERO, &n.edges.value[n.b].quantizer));
    hu_run_free(n.run);
    const hu_run_options options = {.batch = BATCH, .chunk = CHUNK, .threads = 2};
    must(hu_run_create(n.graph, &n.edges, &n.weights, &options, &n.run));
    for (int64_t i = 0; i < BATCH * WIDE; i++) {
        n.rows[2][i] *= 0.75f; /* e2m1 has 0, .5, 1, 1.5, 2, 3 */
        float magnitude = fabsf(n.rows[2][i]);
        float rounded = magnitude >= 3    ? 3.0f
                        : magnitude >= 2  ? 2.0f
                        : magnitude < 0.5 ? 0.0f
                                          : floorf(2 * magnitude) / 2;
        sum[i] = n.rows[0][i] + copysignf(rounded, n.rows[2][i]);
    }
    const hu_pass_options pass = {.seed_gradient = 1.0f};
    step(&n, &pass, gradients);
    assert_memory_equal(hu_run_value(n.run, add, BATCH, scratch), sum, sizeof sum);
    for (int f = 0; f < 4; f++) assert_int_equal(n.fills[f], BATCH);
    assert_int_equal(n.edges.value[n.b].counts.elements, BATCH * WIDE);
    drop(&n);
}

static void a_target_that_a_loss_cannot_use_is_counted(void **state) {
    (void)state;
    net n;
    float gradients[100];
    const hu_pass_options pass = {.seed_gradient = 1.0f};
    declare(&n);
    must(hu_graph_loss(n.graph, n.loss[0], 1.0f, HU_PER_SAMPLE));
    must(hu_graph_loss(n.graph, n.loss[1], 1.0f, HU_PER_SAMPLE));
    plan(&n, 1, true);
    n.rows[3][1] = 7.0f;
    hu_pass_result result = step(&n, &pass, gradients);
    assert_true(isnan(result.loss_sum) && isnan(result.stats[1][HU_LOSS_SUM]));
    assert_true(!isnan(result.stats[0][HU_LOSS_SUM]));
    assert_int_equal(n.edges.value[n.t[1]].counts.nan, 1);
    assert_int_equal(n.edges.value[n.t[1]].counts.elements, BATCH);
    assert_int_equal(n.edges.value[n.t[0]].counts.nan, 0);
    drop(&n);
}

static void expect_refused(net *n, hu_status st, const char *words) {
    assert_int_equal(st, HU_ERR_ARGUMENT);
    if (!strstr(hu_last_error(), words)) fail_msg("no '%s' in: %s", words, hu_last_error());
    hu_graph_free(n->graph);
    declare(n);
}

static void wrong_losses_are_refused(void **state) {
    (void)state;
    net n;
    declare(&n);
    expect_refused(&n, hu_graph_finish(n.graph), "'loss0' and 'loss1' are losses");
    expect_refused(&n, hu_graph_loss(n.graph, n.a, 1, HU_PER_SAMPLE), "the output of a node");
    expect_refused(&n, hu_graph_loss(n.graph, hu_graph_find(n.graph, "add.out"), 1, HU_PER_SAMPLE),
                   "node 'add' (add) is no loss");
    expect_refused(&n, hu_graph_loss(n.graph, n.loss[0], NAN, HU_PER_SAMPLE), "finite");
    must(hu_graph_loss(n.graph, n.loss[0], 1, HU_PER_SAMPLE));
    expect_refused(&n, hu_graph_loss(n.graph, n.loss[0], 1, HU_PER_SAMPLE), "twice");
    apply(&n, &hu_op_relu, "reads", NULL, 1, &n.loss[1]);
    must(hu_graph_loss(n.graph, n.loss[1], 1, HU_PER_SAMPLE));
    expect_refused(&n, hu_graph_finish(n.graph), "'loss1.out' is read by node 'reads'");
    hu_graph_free(n.graph);
    must(hu_graph_create(&n.graph));
    expect_refused(&n, hu_graph_finish(n.graph), "needs an input");
    hu_graph_free(n.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_added_with_their_weights),
        cmocka_unit_test(a_loss_per_row_has_a_seed_of_its_own),
        cmocka_unit_test(without_a_counted_row_loss_and_gradients_are_0),
        cmocka_unit_test(every_input_is_loaded_and_rounded_by_its_edge),
        cmocka_unit_test(a_target_that_a_loss_cannot_use_is_counted),
        cmocka_unit_test(wrong_losses_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
