/* Values that one consumer rounds when it reads them, against an explicit node in between that does
 * nothing but be rounded. */
#include "engine/run.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/internal.h"
#include "planner/planner.h"

enum { BATCH = 7, CHUNK = 2, WIDE = 12, MOST = WIDE * WIDE, STEPS = 3, READERS = 3 };

/* input -> one -> x; two(x), norm(x) and relu(x) are added -> lsm -> loss. Between x and each of
 * its readers stands a node `flat` if is_explicit. */
typedef struct net {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    hu_value_id x, flat[READERS];
    uint32_t use[READERS]; /* of x, by its readers */
} net;

typedef struct variant {
    const char *read[READERS], *x; /* "": not rounded */
    hu_storage_mode storage;
    int threads;
    bool fuse, recompute;
    unsigned kept; /* bit r: what reader r has rounded waits, packed, for the backward pass */
} variant;

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

static hu_value_id apply(net *n, const hu_op *op, const char *name, const void *attrs, int n_in,
                         const hu_value_id *in) {
    hu_value_id out[HU_MAX_OUTPUTS];
    must(hu_graph_apply(n->graph, op, name, NULL, attrs, n_in, in, out));
    return out[0];
}

/* What reader number r reads. */
static hu_value_id input_of(net *n, int r, bool is_explicit) {
    static const char *const names[] = {"flat0", "flat1", "flat2"};
    if (!is_explicit) return n->x;
    return n->flat[r] = apply(n, &hu_op_flatten, names[r], NULL, 1, &n->x);
}

static void declare(net *n, bool is_explicit) {
    const hu_shape wide = {1, {WIDE}}, scalar = {0, {0}};
    const hu_linear_attrs linear = {.out_features = WIDE, .weight_init = {HU_INIT_NORMAL, 0.4f}};
    const hu_batch_norm_attrs norm = {.momentum = 0.25f, .epsilon = 1e-5f};
    hu_value_id in[2], part[READERS];
    *n = (net){0};
    must(hu_graph_create(&n->graph));
    must(hu_graph_input(n->graph, "input", &wide, &in[0]));
    must(hu_graph_target(n->graph, "label", &scalar, &in[1]));
    n->x = apply(n, &hu_op_linear, "one", &linear, 1, in);
    for (int r = 0; r < READERS; r++) {
        static const hu_op *const ops[] = {&hu_op_linear, &hu_op_batch_norm, &hu_op_relu};
        const void *attrs[] = {&linear, &norm, NULL};
        static const char *const names[] = {"two", "norm", "relu"};
        hu_value_id read = input_of(n, r, is_explicit);
        part[r] = apply(n, ops[r], names[r], attrs[r], 1, &read);
    }
    part[0] = apply(n, &hu_op_add, "add0", NULL, 2, part);
    part[1] = part[2];
    in[0] = apply(n, &hu_op_add, "add1", NULL, 2, part);
    in[0] = apply(n, &hu_op_log_softmax, "lsm", NULL, 1, in);
    apply(n, &hu_op_nll, "loss", NULL, 2, in);
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
    for (int r = 0; r < READERS; r++) n->use[r] = n->graph->value[n->x].uses[r];
}

static hu_quantizer quantizer_of(const char *text) {
    hu_quantizer q = {0};
    if (text[0]) must(hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &q));
    return q;
}

static void plan(net *n, const variant *v, bool is_explicit) {
    const hu_run_options options = {.batch = BATCH,
                                    .chunk = CHUNK,
                                    .threads = v->threads,
                                    .storage = v->storage,
                                    .fuse = v->fuse,
                                    .recompute = v->recompute};
    declare(n, is_explicit);
    n->edges.value[n->x].quantizer = quantizer_of(v->x);
    for (int r = 0; r < READERS; r++) {
        hu_edge *edge = is_explicit ? &n->edges.value[n->flat[r]] : &n->edges.use[n->use[r]];
        edge->quantizer = quantizer_of(v->read[r]);
    }
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
    hu_weights_draw(&n->weights, n->graph, 3, 1);
}

static void drop(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const net *n = context;
    const hu_random_key key = {5, 1, hu_run_pass(n->run)->step};
    for (int64_t i = 0; i < count * WIDE && field == 0; i++)
        rows[i] = hu_random_normal(&key, (uint64_t)(first * WIDE + i));
    for (int64_t s = 0; s < count && field == 1; s++) rows[s] = (float)((first + s) % WIDE);
}

static double step(net *n, uint64_t number) {
    hu_pass_options pass = {
        .training = true, .samples = BATCH, .seed_gradient = 4.0f, .step = number};
    hu_pass_result result;
    hu_source source = {n, fill};
    hu_edge_table_clear(&n->edges);
    hu_run_round_parameters(n->run, number, true);
    must(hu_run_forward(n->run, &pass, &source, &result));
    must(hu_run_backward(n->run, &pass));
    hu_tensor_scale_end_step(n->run);
    return result.loss_sum;
}

static void same_gradients(const net *a, const net *b) {
    float scratch[2][MOST];
    for (hu_value_id v = 0; v < a->graph->value_count; v++) {
        const hu_value_info *value = &a->graph->value[v];
        if (value->role != HU_VALUE_PARAMETER) continue;
        hu_value_id param = hu_graph_find(b->graph, value->name);
        const float *x = hu_run_param_grad(a->run, v, 0, value->elements, scratch[0]);
        const float *y = hu_run_param_grad(b->run, param, 0, value->elements, scratch[1]);
        if (memcmp(x, y, (size_t)value->elements * sizeof *x) != 0)
            fail_msg("gradient of %s", value->name);
    }
}

/* Where all that the backward pass wants is kept, x itself is gone when it begins. */
static void check_kept(const net *n, unsigned kept) {
    const hu_run *run = n->run;
    int32_t forward_end = hu_time_forward(run->graph->node_count - 1);
    bool outlives = hu_buffer_outlives(&run->buffers[run->value[n->x].buffer], forward_end);
    for (int r = 0; r < READERS; r++)
        assert_int_equal(hu_use_is_kept(run, n->use[r]), kept >> r & 1u);
    assert_int_equal(outlives, kept == 0);
}

/* hu_run_create forgets nothing between steps: delayed scales follow the maxima. */
static void compare(const variant *v) {
    net read, explicit_;
    plan(&read, v, false);
    plan(&explicit_, v, true);
    check_kept(&read, v->kept);
    for (uint64_t s = 0; s < STEPS; s++) {
        double loss = step(&read, s);
        assert_true(loss == step(&explicit_, s) && loss - loss == 0);
        same_gradients(&read, &explicit_);
        for (int r = 0; r < READERS; r++)
            assert_memory_equal(&read.edges.use[read.use[r]].counts,
                                &explicit_.edges.value[explicit_.flat[r]].counts,
                                sizeof(hu_round_counts));
    }
    assert_memory_equal(read.weights.block, explicit_.weights.block,
                        (size_t)read.weights.elements * sizeof(float));
    drop(&read);
    drop(&explicit_);
}

static void reading_rounds_as_a_node_in_between(void **state) {
    (void)state;
    static const variant rows[] = {
        /* Somebody reads x as it is in the backward pass: another node, or a mask made again. */
        {{"e4m3", "", ""}, "", HU_STORAGE_PACKED, 1, false, false, 0},
        {{"", "e4m3", ""}, "", HU_STORAGE_PACKED, 2, true, true, 0},
        {{"", "", "e3m2"}, "bf16", HU_STORAGE_PACKED, 2, true, true, 0},
        {{"e4m3fn:scale=current", "nvfp4", "e4m3"}, "", HU_STORAGE_PACKED, 2, true, true, 0},
        {{"e4m3", "e4m3fn:scale=current", "nvfp4"}, "bf16", HU_STORAGE_PACKED, 2, true, true, 0},
        /* Copies would take as many bytes as x. */
        {{"e4m3", "e2m1", "e3m4"}, "bf16", HU_STORAGE_FLOAT32, 1, true, false, 0},
        {{"e4m3", "e2m1", "e3m4"}, "", HU_STORAGE_FLOAT32, 1, false, false, 0},
        {{"mxfp8", "e4m3fn:scale=delayed2", "mxfp4"}, "fp16", HU_STORAGE_DENSE, 3, true, false, 0},
        {{"fp16", "bf16", "e4m3"}, "", HU_STORAGE_PACKED, 3, true, false, 0},
        {{"e5m2", "e5m2", "e5m2"}, "e5m2", HU_STORAGE_PACKED, 2, false, false, 0},
        {{"e4m3", "e2m1", ""}, "", HU_STORAGE_PACKED, 2, true, false, 3},
        {{"e4m3fn:scale=current", "nvfp4", "e4m3"}, "", HU_STORAGE_PACKED, 2, true, false, 3},
        {{"uniform8", "uniform3", ""}, "", HU_STORAGE_PACKED, 2, false, true, 3},
        {{"uniform5", "mxfp8", "uniform2"}, "", HU_STORAGE_DENSE, 3, true, false, 3},
        {{"e4m3fn:scale=delayed2", "e2m1", ""}, "bf16", HU_STORAGE_DENSE, 3, false, true, 3}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) compare(&rows[r]);
}

/* A parameter with one use: there is nobody else whose copy could differ. */
static void a_parameter_rounded_at_reading_is_a_rounded_parameter(void **state) {
    (void)state;
    static const char *const formats[] = {"e4m3", "mxfp8", "e4m3fn:scale=current"};
    static const variant plain = {{"", "", ""}, "", HU_STORAGE_PACKED, 2, true, true, 0};
    for (size_t f = 0; f < 3; f++) {
        net n[2];
        for (int at_use = 0; at_use < 2; at_use++) {
            net *m = &n[at_use];
            plan(m, &plain, false);
            hu_run_free(m->run);
            hu_value_id w = hu_graph_find(m->graph, "two.weight");
            hu_edge *edge = at_use ? &m->edges.use[m->graph->value[w].uses[0]] : &m->edges.value[w];
            edge->quantizer = quantizer_of(formats[f]);
            const hu_run_options options = {
                .batch = BATCH, .chunk = CHUNK, .threads = 2, .fuse = true};
            must(hu_run_create(m->graph, &m->edges, &m->weights, &options, &m->run));
            step(m, 0);
            assert_true(edge->counts.elements == WIDE * WIDE);
        }
        same_gradients(&n[0], &n[1]);
        drop(&n[0]);
        drop(&n[1]);
    }
}

static void a_target_is_never_rounded(void **state) {
    (void)state;
    net n;
    const hu_run_options options = {.batch = 1, .chunk = 1, .threads = 1};
    declare(&n, false);
    hu_value_id label = hu_graph_find(n.graph, "label");
    n.edges.use[n.graph->value[label].uses[0]].quantizer = quantizer_of("e4m3");
    assert_int_equal(hu_run_create(n.graph, &n.edges, &n.weights, &options, &n.run),
                     HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "'label'"));
    drop(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_rounds_as_a_node_in_between),
        cmocka_unit_test(a_parameter_rounded_at_reading_is_a_rounded_parameter),
        cmocka_unit_test(a_target_is_never_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
