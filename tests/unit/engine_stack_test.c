/* Partial weight gradients so large that threads wait for each other after every one: the same
 * gradient as of one thread, and room for few of them. */
#include "engine/run.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/planner.h"

enum { WIDE = 1536, CLASSES = 10, CHUNK = 1, MIB = 1 << 20, WEIGHT_BYTES = 4 * WIDE * WIDE };

/* input -> large -> relu -> small -> lsm -> loss, with a bias each. */
typedef struct net {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
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

static void declare(net *n) {
    const hu_shape wide = {1, {WIDE}}, scalar = {0, {0}};
    hu_linear_attrs attrs = {
        .out_features = WIDE, .has_bias = true, .weight_init = {HU_INIT_NORMAL, 0.05f}};
    hu_value_id in[2];
    *n = (net){0};
    must(hu_graph_create(&n->graph));
    must(hu_graph_input(n->graph, "input", &wide, &in[0]));
    must(hu_graph_target(n->graph, "label", &scalar, &in[1]));
    in[0] = apply(n, &hu_op_linear, "large", &attrs, 1, in);
    in[0] = apply(n, &hu_op_relu, "relu", NULL, 1, in);
    attrs.out_features = CLASSES;
    in[0] = apply(n, &hu_op_linear, "small", &attrs, 1, in);
    in[0] = apply(n, &hu_op_log_softmax, "lsm", NULL, 1, in);
    apply(n, &hu_op_nll, "loss", NULL, 2, in);
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const hu_random_key key = {5, 1, 0};
    (void)context;
    for (int64_t i = 0; i < count * WIDE && field == 0; i++)
        rows[i] = hu_random_normal(&key, (uint64_t)(first * WIDE + i));
    for (int64_t s = 0; s < count && field == 1; s++) rows[s] = (float)((first + s) % CLASSES);
}

/* A training pass; returns the bytes of its scratch. */
static uint64_t run_step(net *n, int64_t batch, int threads) {
    const hu_run_options options = {
        .batch = batch, .chunk = CHUNK, .threads = threads, .fuse = true, .recompute = true};
    hu_pass_options pass = {.training = true, .samples = batch, .seed_gradient = 1.0f};
    hu_pass_result result;
    hu_source source = {n, fill};
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
    hu_weights_draw(&n->weights, n->graph, 3, 1);
    hu_run_round_parameters(n->run, 0, true);
    must(hu_run_forward(n->run, &pass, &source, &result));
    must(hu_run_backward(n->run, &pass));
    hu_ledger ledger = hu_ledger_of(n->run, 0, 0);
    return ledger.arena[HU_BUFFER_SCRATCH];
}

static void drop(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

/* Gradients of all parameters on one thread and on several, for batches that leave 4 to 7 partial
 * results of one chunk or two: trees with every kind of end, and last rounds of too few for every
 * thread. */
static void threads_that_wait_give_the_bits_of_one(void **state) {
    (void)state;
    static const char *const names[] = {"large.weight", "large.bias", "small.weight", "small.bias"};
    for (int64_t batch = 4; batch <= 14; batch++)
        for (int threads = 2; threads <= 8; threads += batch <= 7 ? 1 : 3) {
            net one, many;
            declare(&one);
            declare(&many);
            run_step(&one, batch, 1);
            run_step(&many, batch, threads);
            for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
                hu_value_id id = hu_graph_find(one.graph, names[k]);
                int64_t elements = one.graph->value[id].elements;
                const float *a = hu_run_param_grad(one.run, id, 0, elements, NULL);
                const float *b = hu_run_param_grad(many.run, id, 0, elements, NULL);
                if (memcmp(a, b, (size_t)elements * sizeof *a) != 0)
                    fail_msg("%s: batch of %d, %d threads", names[k], (int)batch, threads);
            }
            drop(&one);
            drop(&many);
        }
}

/* 7 partial results of 9 MiB: of two threads at most one complete subtree and 2 of them lie there
 * at a time, of three 2 and 3, of four 1 and 3. */
static void large_partial_results_take_few_places(void **state) {
    (void)state;
    const uint64_t places[] = {0, 3, 3, 5, 4};
    for (int threads = 1; threads <= 4; threads++) {
        net n;
        declare(&n);
        uint64_t bytes = run_step(&n, 7, threads), least = places[threads] * WEIGHT_BYTES;
        if (bytes < least || bytes > least + 4 * MIB)
            fail_msg("%d threads: %.2f MiB of scratch, expected %d places of 9 MiB", threads,
                     (double)bytes / MIB, (int)places[threads]);
        drop(&n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_wait_give_the_bits_of_one),
        cmocka_unit_test(large_partial_results_take_few_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
