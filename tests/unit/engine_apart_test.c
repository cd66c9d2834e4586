/* Gradients that a product reads apart for its parameters, against passes in which both of its
 * products read one gradient: those of the parameters are as if the one view were read, those of
 * the inputs as if the other were, bit for bit. */
#include "base/cpu.h"
#include "engine/run.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/planner.h"

enum { BATCH = 7, CHUNK = 2, SIDE = 4, MOST = 1024, STEPS = 2, LAYERS = 3, CLASSES = 5 };

/* input -> one (conv) -> norm -> relu -> two (conv with bias); relu and two are added -> three
 * (linear with bias) -> lsm -> loss. */
typedef struct net {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    hu_value_id out[LAYERS]; /* of one, two and three */
} net;

typedef struct variant {
    const char *sum, *view; /* "": not rounded */
    hu_storage_mode storage;
    int threads;
    bool fuse, recompute;
    const char *accumulator; /* of weight gradients, NULL: float32 */
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

static hu_conv_attrs conv(bool has_bias) {
    return (hu_conv_attrs){.out_channels = 6,
                           .kernel_h = 3,
                           .kernel_w = 3,
                           .stride_h = 1,
                           .stride_w = 1,
                           .pad_h = 1,
                           .pad_w = 1,
                           .dilation_h = 1,
                           .dilation_w = 1,
                           .groups = 1,
                           .has_bias = has_bias,
                           .weight_init = {HU_INIT_NORMAL, 0.3f}};
}

static void declare(net *n) {
    const hu_shape image = {3, {SIDE, SIDE, 3}}, scalar = {0, {0}};
    const hu_conv_attrs one = conv(false), two = conv(true);
    const hu_linear_attrs three = {
        .out_features = CLASSES, .has_bias = true, .weight_init = {HU_INIT_NORMAL, 0.2f}};
    const hu_batch_norm_attrs norm = {.epsilon = 1e-5f, .momentum = 0.1f};
    hu_value_id in[2], label;
    *n = (net){0};
    must(hu_graph_create(&n->graph));
    must(hu_graph_input(n->graph, "input", &image, &in[0]));
    must(hu_graph_target(n->graph, "label", &scalar, &label));
    n->out[0] = in[0] = apply(n, &hu_op_conv2d, "one", &one, 1, in);
    in[0] = apply(n, &hu_op_batch_norm, "norm", &norm, 1, in);
    in[0] = apply(n, &hu_op_relu, "relu", NULL, 1, in);
    n->out[1] = in[1] = apply(n, &hu_op_conv2d, "two", &two, 1, in);
    in[0] = apply(n, &hu_op_add, "add", NULL, 2, in);
    n->out[2] = in[0] = apply(n, &hu_op_linear, "three", &three, 1, in);
    in[0] = apply(n, &hu_op_log_softmax, "lsm", NULL, 1, in);
    in[1] = label;
    apply(n, &hu_op_nll, "loss", NULL, 2, in);
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
}

static hu_quantizer quantizer_of(const char *text) {
    hu_quantizer q = {0};
    if (text[0]) must(hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &q));
    return q;
}

static void set_accumulator(net *n, const char *text) {
    hu_accumulator accumulator;
    if (!text) return;
    must(hu_accumulator_parse(text, &accumulator));
    for (int l = 0; l < LAYERS; l++) {
        uint32_t node = n->graph->value[n->out[l]].producer;
        hu_accumulation *a = &n->edges.products[node].accumulation;
        a->chosen[HU_PRODUCT_WEIGHT_GRAD] = true;
        a->accumulator[HU_PRODUCT_WEIGHT_GRAD] = accumulator;
    }
}

/* is_apart: parameters read the view; else one layer may read it for all, LAYERS: none. */
static void plan(net *n, const variant *v, bool is_apart, int one_layer) {
    const hu_run_options options = {.batch = BATCH,
                                    .chunk = CHUNK,
                                    .threads = v->threads,
                                    .storage = v->storage,
                                    .fuse = v->fuse,
                                    .recompute = v->recompute};
    declare(n);
    for (int l = 0; l < LAYERS; l++) {
        hu_edge *apart = &n->edges.grad_weights[n->out[l]];
        n->edges.grad_sum[n->out[l]].quantizer = quantizer_of(l == one_layer ? v->view : v->sum);
        apart->is_apart = is_apart;
        if (is_apart) apart->quantizer = quantizer_of(v->view);
    }
    set_accumulator(n, v->accumulator);
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
    const int64_t sample = SIDE * SIDE * 3;
    const hu_random_key key = {5, 1, hu_run_pass(n->run)->step};
    for (int64_t i = 0; i < count * sample && field == 0; i++)
        rows[i] = hu_random_normal(&key, (uint64_t)(first * sample + i));
    for (int64_t s = 0; s < count && field == 1; s++) rows[s] = (float)((first + s) % CLASSES);
}

static void step(net *n, uint64_t number) {
    hu_pass_options pass = {
        .training = true, .samples = BATCH, .seed_gradient = 4.0f, .step = number};
    hu_pass_result result;
    hu_source source = {n, fill};
    hu_edge_table_clear(&n->edges);
    hu_run_round_parameters(n->run, number, true);
    must(hu_run_forward(n->run, &pass, &source, &result));
    must(hu_run_backward(n->run, &pass));
    hu_tensor_scale_end_step(n->run);
    assert_true(isfinite(result.loss_sum));
}

/* 1: the same bits. */
static int same_gradient(const net *a, const net *b, const char *parameter) {
    float scratch[2][MOST];
    hu_value_id v = hu_graph_find(a->graph, parameter);
    assert_int_not_equal(v, HU_NONE);
    int64_t elements = a->graph->value[v].elements;
    assert_true(elements <= MOST);
    const float *x = hu_run_param_grad(a->run, v, 0, elements, scratch[0]);
    const float *y = hu_run_param_grad(b->run, v, 0, elements, scratch[1]);
    return memcmp(x, y, (size_t)elements * sizeof *x) == 0;
}

static const char *const weights_of[LAYERS] = {"one.weight", "two.weight", "three.weight"};
static const char *const bias_of[LAYERS] = {NULL, "two.bias", "three.bias"};

/* What the norm's parameters have comes through the inputs of two and three. */
static void compare_inputs(const net *apart, const net *quantised) {
    assert_true(same_gradient(apart, quantised, "norm.weight"));
    assert_true(same_gradient(apart, quantised, "norm.bias"));
    for (uint32_t u = 0; u < apart->graph->use_count; u++) {
        const hu_value_info *value = &apart->graph->value[apart->graph->use[u].value];
        if (value->role != HU_VALUE_PARAMETER)
            assert_memory_equal(&apart->edges.grad[u].counts, &quantised->edges.grad[u].counts,
                                sizeof(hu_round_counts));
    }
    for (int l = 0; l < LAYERS; l++)
        assert_memory_equal(&apart->edges.grad_sum[apart->out[l]].counts,
                            &quantised->edges.grad_sum[quantised->out[l]].counts,
                            sizeof(hu_round_counts));
}

/* Counted where it is rounded, and once. */
static void check_counts(const net *n, const variant *v) {
    for (int l = 0; l < LAYERS; l++) {
        int64_t elements = v->view[0] ? BATCH * n->graph->value[n->out[l]].elements : 0;
        assert_int_equal(n->edges.grad_weights[n->out[l]].counts.elements, elements);
    }
}

/* The view of one layer does not reach the others: in a pass where this layer alone reads it for
 * both products, the gradients that come in are the same. */
static void compare(const variant *v) {
    net apart, quantised;
    int differ = 0;
    plan(&apart, v, true, LAYERS);
    plan(&quantised, v, false, LAYERS);
    for (uint64_t s = 0; s < STEPS; s++) {
        step(&apart, s);
        step(&quantised, s);
        compare_inputs(&apart, &quantised);
        check_counts(&apart, v);
        for (int l = 0; l < LAYERS; l++) {
            net one;
            plan(&one, v, false, l);
            for (uint64_t earlier = 0; earlier <= s; earlier++) step(&one, earlier);
            assert_true(same_gradient(&apart, &one, weights_of[l]));
            if (bias_of[l]) assert_true(same_gradient(&apart, &one, bias_of[l]));
            differ += !same_gradient(&apart, &quantised, weights_of[l]);
            drop(&one);
        }
    }
    assert_int_equal(differ, STEPS * LAYERS);
    drop(&apart);
    drop(&quantised);
}

static void each_product_reads_its_own_view(void **state) {
    (void)state;
    static const variant rows[] = {
        {"uniform8 sr", "", HU_STORAGE_PACKED, 1, true, true, NULL},
        {"uniform8 sr", "", HU_STORAGE_FLOAT32, 3, false, false, NULL},
        {"uniform4 sr", "uniform12", HU_STORAGE_PACKED, 2, true, true, NULL},
        {"uniform4 sr", "uniform8", HU_STORAGE_DENSE, 1, false, true, NULL},
        {"e5m2", "", HU_STORAGE_PACKED, 2, true, true, NULL},
        {"e5m2 sr", "bf16", HU_STORAGE_PACKED, 1, true, false, NULL},
        {"e4m3fn:scale=current sr", "uniform8", HU_STORAGE_PACKED, 2, true, true, NULL},
        {"uniform5 sr", "e4m3fn:scale=current", HU_STORAGE_PACKED, 2, false, true, NULL},
        {"mxfp8", "e4m3fn:scale=delayed2", HU_STORAGE_PACKED, 2, true, true, NULL},
        {"", "mxfp4", HU_STORAGE_PACKED, 2, true, true, NULL},
        {"", "uniform6", HU_STORAGE_DENSE, 2, true, true, NULL},
        {"uniform8 sr", "", HU_STORAGE_PACKED, 2, true, true, "mac:fp16"},
        {"uniform8 sr", "uniform10", HU_STORAGE_PACKED, 3, false, true, "mac:fp16"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) compare(&rows[r]);
}

/* The table by threads, storage, joining and instruction set, with random words in both views. */
static void all_plans_give_the_same_bits(void **state) {
    (void)state;
    static const variant rows[] = {
        {"uniform8 sr", "uniform16 sr", HU_STORAGE_PACKED, 1, true, true, NULL},
        {"uniform8 sr", "uniform16 sr", HU_STORAGE_FLOAT32, 1, true, true, NULL},
        {"uniform8 sr", "uniform16 sr", HU_STORAGE_DENSE, 2, false, true, NULL},
        {"uniform8 sr", "uniform16 sr", HU_STORAGE_PACKED, 3, true, false, NULL},
    };
    for (int isa = 0; isa < HU_ISA_COUNT; isa++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            net first, other;
            hu_cpu_set_isa(hu_cpu_isa_native());
            plan(&first, &rows[0], true, LAYERS);
            step(&first, 0);
            hu_cpu_set_isa((hu_isa)isa);
            plan(&other, &rows[r], true, LAYERS);
            step(&other, 0);
            for (int l = 0; l < LAYERS; l++) {
                assert_true(same_gradient(&first, &other, weights_of[l]));
                assert_memory_equal(&first.edges.grad_weights[first.out[l]].counts,
                                    &other.edges.grad_weights[other.out[l]].counts,
                                    sizeof(hu_round_counts));
            }
            assert_true(same_gradient(&first, &other, "norm.weight"));
            drop(&first);
            drop(&other);
        }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

/* Two views of the same format draw random words of their own. */
static void views_draw_apart(void **state) {
    (void)state;
    static const variant v = {"uniform3 sr", "uniform3 sr", HU_STORAGE_PACKED, 1, true, true, NULL};
    net apart, one;
    plan(&apart, &v, true, LAYERS);
    plan(&one, &v, false, LAYERS);
    step(&apart, 0);
    step(&one, 0);
    for (int l = 0; l < LAYERS; l++) assert_false(same_gradient(&apart, &one, weights_of[l]));
    compare_inputs(&apart, &one);
    drop(&apart);
    drop(&one);
}

/* Whether a sum is read apart takes another plan; another format of the view does not. */
static void views_change_with_the_table(void **state) {
    (void)state;
    static const variant v = {"e5m2", "e4m3", HU_STORAGE_PACKED, 1, true, true, NULL};
    net changed, fresh;
    plan(&changed, &v, false, LAYERS);
    step(&changed, 0);
    for (int l = 0; l < LAYERS; l++) {
        changed.edges.grad_weights[changed.out[l]].is_apart = true;
        changed.edges.grad_weights[changed.out[l]].quantizer = quantizer_of("e4m3");
    }
    assert_false(hu_run_requantize(changed.run));
    must(hu_run_replan(&changed.run));
    plan(&fresh, &v, true, LAYERS);
    step(&changed, 1);
    step(&fresh, 1);
    for (int l = 0; l < LAYERS; l++) assert_true(same_gradient(&changed, &fresh, weights_of[l]));
    drop(&changed);
    drop(&fresh);
}

static void only_products_read_apart(void **state) {
    (void)state;
    net n;
    const hu_run_options options = {.batch = 1, .chunk = 1, .threads = 1};
    declare(&n);
    n.edges.grad_weights[hu_graph_find(n.graph, "norm.out")].is_apart = true;
    assert_int_equal(hu_run_create(n.graph, &n.edges, &n.weights, &options, &n.run),
                     HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "'norm.out'"));
    drop(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_product_reads_its_own_view),
        cmocka_unit_test(all_plans_give_the_same_bits),
        cmocka_unit_test(views_draw_apart),
        cmocka_unit_test(views_change_with_the_table),
        cmocka_unit_test(only_products_read_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
