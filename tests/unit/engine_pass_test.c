/* The executor against the same network computed by hand: rounding points, storages, threads,
 * overflows, counts and memory. */
#include "run_spy.h"

static by_hand hand;

static void same_bits(const char *what, const char *name, const float *found, const float *expected,
                      int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&found[i], &expected[i], sizeof *found) != 0)
            fail_msg("%s of '%s', element %lld: found %a, expected %a", what, name, (long long)i,
                     (double)found[i], (double)expected[i]);
}

/* Everything that the operations were given, and the gradients of the parameters. */
static void compare(network *net) {
    const hu_graph *g = net->graph;
    for (uint32_t n = 0; n < g->node_count; n++) {
        const hu_node *node = &g->node[n];
        if (g->node[n].loss >= 0) continue;
        const spy *s = spy_of(node->name);
        for (int i = 0; i < node->n_in; i++)
            same_bits("input", node->name, s->in[i], hand.value[node->in[i]],
                      SPY_BATCH * g->value[node->in[i]].elements);
        for (int p = 0; p < node->n_params; p++)
            same_bits("parameter", node->name, s->param[p], hand.value[node->param[p]],
                      g->value[node->param[p]].elements);
        same_bits("output gradient", node->name, s->dout, hand.sum[node->out[0]],
                  SPY_BATCH * g->value[node->out[0]].elements);
        if (node->op->saves & HU_SAVE_OUTPUT_0)
            same_bits("saved output", node->name, s->saved_out, hand.value[node->out[0]],
                      SPY_BATCH * g->value[node->out[0]].elements);
    }
    for (hu_value_id v = 0; v < g->value_count; v++) {
        float scratch[512];
        int64_t count = g->value[v].elements;
        if (g->value[v].role != HU_VALUE_PARAMETER) continue;
        const float *grad = hu_run_param_grad(net->run, v, 0, count, scratch);
        same_bits("gradient", g->value[v].name, grad, hand.contribution[g->value[v].uses[0]],
                  count);
    }
}

/* Formats of Lee et al., and others here and there, so that no edge can stand in for another. */
static void lee_edges(network *net) {
    set_all(net, "fp(4,3,4)", "fp(5,2,0)", "fp(4,3,4)", "fp(6,9,0)");
    set_value(net, "conv.out", "e5m2");
    set_value(net, "bn.out", "fp(2,1,0)");
    set_value(net, "fc.product.out", "");
    set_value(net, "bn.weight", "bf16");
    grad_edge(net, "fc.product.out", 0)->quantizer = quantizer_of("");
    grad_edge(net, "conv.out", 1)->quantizer = quantizer_of("e4m3fn:ovf=sat");
    grad_edge(net, "bn.bias", 0)->quantizer = quantizer_of("");
}

static void popescu_edges(network *net) {
    set_all(net, "1/6/9/d", "1/6/9/d", "1/6/9/d", "1/6/9/d");
    net->edges.grad_sum[network_find(net, "conv.out")].quantizer = quantizer_of("fp(5,2,0)");
    net->edges.grad_sum[network_find(net, "relu.out")].quantizer = quantizer_of("1/6/9/d");
    net->edges.grad_sum[network_find(net, "fc.out")].quantizer = quantizer_of("e5m2");
}

/* Scales from whole tensors and blocks on every kind of edge, sums included. */
static void scaled_edges(network *net) {
    set_all(net, "e4m3fn:scale=current", "nvfp4", "mxfp8", "e5m2:scale=bias");
    set_value(net, "conv.out", "nvfp4");
    set_value(net, "bn.out", "mxint8");
    set_value(net, "conv.weight", "nvfp4");
    set_value(net, "fc.weight", "fp(4,3,4):scale=bias");
    grad_edge(net, "conv.out", 1)->quantizer = quantizer_of("fp(5,2,0):scale=bias");
    grad_edge(net, "bn.out", 0)->quantizer = quantizer_of("mxfp6e3m2");
    grad_edge(net, "bn.weight", 0)->quantizer = quantizer_of("nvfp4");
    grad_edge(net, "conv.weight", 0)->quantizer = quantizer_of("mxfp4");
    net->edges.grad_sum[network_find(net, "conv.out")].quantizer =
        quantizer_of("e4m3fn:scale=current");
    net->edges.grad_sum[network_find(net, "relu.out")].quantizer = quantizer_of("nvfp4");
    net->edges.grad_sum[network_find(net, "fc.out")].quantizer = quantizer_of("e3m2:scale=current");
}

static const hu_storage_mode storages[] = {HU_STORAGE_PACKED, HU_STORAGE_FLOAT32, HU_STORAGE_DENSE};
static const int thread_counts[] = {1, 2, 3, 7};

static void check_everywhere(void (*edges)(network *), float seed_gradient) {
    for (size_t s = 0; s < 3; s++)
        for (size_t t = 0; t < 4; t++) {
            network net = {0};
            network_graph(&net, true);
            edges(&net);
            network_plan(&net, storages[s], thread_counts[t]);
            hand_step(&hand, &net, seed_gradient);
            hu_pass_result result = network_step(&net, seed_gradient);
            assert_false(net.run->overflowed);
            double loss = 0; /* of the rounded log-probabilities, before its own rounding */
            for (int i = 0; i < SPY_BATCH; i++)
                loss += (double)hand.raw[network_find(&net, "loss.out")][i];
            assert_true(fabs(result.loss_sum - loss) < 1e-12 * fabs(loss));
            compare(&net);
            hand_close(&hand, &net);
            network_close(&net);
        }
}

static void test_scaled(void **state) {
    (void)state;
    check_everywhere(scaled_edges, 64.0f);
    check_everywhere(scaled_edges, 1e-4f);
}

static void test_lee(void **state) {
    (void)state;
    check_everywhere(lee_edges, 64.0f);
}

/* The sum of the contributions stays off the grid in one scheme and is put on it in the other. */
static void test_sums(void **state) {
    (void)state;
    for (int popescu = 0; popescu < 2; popescu++) {
        network net = {0};
        int off_grid = 0, hidden = 0;
        network_graph(&net, true);
        (popescu ? popescu_edges : lee_edges)(&net);
        network_plan(&net, HU_STORAGE_PACKED, 2);
        hand_step(&hand, &net, 64.0f);
        network_step(&net, 64.0f);
        hu_quantizer grid = quantizer_of("fp(5,2,0)");
        const spy *conv = spy_of("conv");
        hu_value_id norm = network_find(&net, "bn.out");
        for (int i = 0; i < SPY_MOST; i++) {
            float x = conv->dout[i];
            off_grid += hu_format_round(&grid.format, HU_ROUND_NEAREST_EVEN, x, 0) != x;
            /* relu's bits come from the rounded input: what rounded to zero sends nothing back. */
            if (popescu || !(hand.raw[norm][i] > 0) || hand.value[norm][i] != 0) continue;
            assert_true(spy_of("bn")->dout[i] == 0);
            hidden += spy_of("relu")->dout[i] != 0;
        }
        assert_int_equal(off_grid > 0, !popescu);
        if (!popescu) assert_true(hidden > 0);
        hand_close(&hand, &net);
        network_close(&net);
    }
}

static void test_popescu(void **state) {
    (void)state;
    check_everywhere(popescu_edges, 64.0f);
}

static void float32_edges(network *net) {
    (void)net;
}

static void test_float32(void **state) {
    (void)state;
    check_everywhere(float32_edges, 1.0f / SPY_BATCH);
}

static void stochastic_edges(network *net) {
    set_all(net, "fp(4,3,4) sr", "fp(5,2,0) sr", "fp(4,3,4) sr", "fp(6,9,0) sr");
    net->edges.grad_sum[network_find(net, "conv.out")].quantizer = quantizer_of("fp(5,2,0) sr");
}

/* Random words belong to elements: threads and storages see the same ones. */
static void test_stochastic(void **state) {
    (void)state;
    static float dout[SPY_MOST], in[SPY_MOST], grad[512];
    for (size_t s = 0; s < 3; s++)
        for (size_t t = 0; t < 4; t++) {
            network net = {0};
            float scratch[512];
            network_graph(&net, true);
            stochastic_edges(&net);
            network_plan(&net, storages[s], thread_counts[t]);
            network_step(&net, 64.0f);
            const float *g =
                hu_run_param_grad(net.run, network_find(&net, "conv.weight"), 0, 72, scratch);
            if (s + t > 0) {
                same_bits("output gradient", "conv", spy_of("conv")->dout, dout, SPY_MOST);
                same_bits("input", "fc.product", spy_of("fc.product")->in[0], in, SPY_MOST);
                same_bits("gradient", "conv.weight", g, grad, 72);
            }
            memcpy(dout, spy_of("conv")->dout, sizeof dout);
            memcpy(in, spy_of("fc.product")->in[0], sizeof in);
            memcpy(grad, g, 72 * sizeof *g);
            network_close(&net);
        }
}

/* A batch in parts draws the words that the whole batch draws. */
static void test_parts_draw_as_the_whole(void **state) {
    (void)state;
    static float whole[SPY_MOST];
    network net = {0};
    network_graph(&net, true);
    stochastic_edges(&net);
    network_plan(&net, HU_STORAGE_PACKED, 2);
    hu_run_round_parameters(net.run, 1, true);
    hu_pass_options pass = {.samples = SPY_BATCH, .step = 1};
    network_forward(&net, &pass);
    memcpy(whole, spy_of("fc.product")->in[0], sizeof whole);
    pass.first_sample = SPY_CHUNK;
    pass.samples = SPY_CHUNK;
    network_forward(&net, &pass);
    const float *part = spy_of("fc.product")->in[0];
    same_bits("input", "fc.product", part, whole + 64 * SPY_CHUNK, 64 * SPY_CHUNK);
    assert_memory_not_equal(part, whole, 64 * SPY_CHUNK * sizeof *part);
    network_close(&net);
}

/* Also the gradients of parameters: the same numbers round another way in another part. */
static void test_parts_round_gradients_apart(void **state) {
    (void)state;
    network net = {0};
    float scratch[512], first[512];
    network_graph(&net, false);
    set_all(&net, "", "", "", "fp(5,2,0) sr");
    network_plan(&net, HU_STORAGE_PACKED, 2);
    memcpy(net.images + 32 * SPY_CHUNK, net.images, 32 * SPY_CHUNK * sizeof *net.images);
    memcpy(net.labels + SPY_CHUNK, net.labels, SPY_CHUNK * sizeof *net.labels);
    hu_value_id weight = network_find(&net, "conv.weight");
    hu_pass_options pass = {.training = true, .samples = SPY_CHUNK, .seed_gradient = 1.0f};
    for (int part = 0; part < 3; part++) {
        pass.first_sample = part == 1 ? SPY_CHUNK : 0;
        network_forward(&net, &pass);
        assert_int_equal(hu_run_backward(net.run, &pass), HU_OK);
        const float *g = hu_run_param_grad(net.run, weight, 0, 72, scratch);
        if (part == 0) memcpy(first, g, 72 * sizeof *g);
        if (part == 1) assert_memory_not_equal(g, first, 72 * sizeof *g);
        if (part == 2) assert_memory_equal(g, first, 72 * sizeof *g);
    }
    network_close(&net);
}

/* Without batch statistics, the gradients of the parts of a batch add up to those of the whole. */
static void test_parts_add_up(void **state) {
    (void)state;
    network net = {0};
    float scratch[512], sum[512] = {0}, whole[512];
    network_graph(&net, false);
    network_plan(&net, HU_STORAGE_PACKED, 2);
    hu_value_id weight = network_find(&net, "conv.weight");
    hu_pass_options pass = {.training = true, .samples = 2 * SPY_CHUNK, .seed_gradient = 0.125f};
    network_forward(&net, &pass);
    assert_int_equal(hu_run_backward(net.run, &pass), HU_OK);
    memcpy(whole, hu_run_param_grad(net.run, weight, 0, 72, scratch), 72 * sizeof *whole);
    pass.samples = SPY_CHUNK;
    for (; pass.first_sample < 2 * SPY_CHUNK; pass.first_sample += SPY_CHUNK) {
        network_forward(&net, &pass);
        assert_int_equal(hu_run_backward(net.run, &pass), HU_OK);
        const float *g = hu_run_param_grad(net.run, weight, 0, 72, scratch);
        for (int i = 0; i < 72; i++) sum[i] += g[i];
    }
    same_bits("gradient", "conv.weight", sum, whole, 72);
    network_close(&net);
}

/* In every storage the same tensor is named, and the pass ends there. */
static void expect_overflow(void (*spoil)(network *), const char *format, float seed_gradient,
                            const char *name, bool in_gradient) {
    for (size_t s = 0; s < 3; s++) {
        network net = {0};
        network_graph(&net, true);
        set_all(&net, format, "fp(5,2,0)", format, "fp(6,9,0)");
        for (uint32_t u = 0; u < net.edges.use_count; u++)
            net.edges.grad[u].quantizer.format.overflow = HU_OVERFLOW_INF; /* signals */
        network_plan(&net, storages[s], 2);
        if (spoil) spoil(&net);
        network_step(&net, seed_gradient);
        assert_true(net.run->overflowed);
        assert_string_equal(net.run->overflow_name, name);
        assert_int_equal(net.run->overflow_in_gradient, in_gradient);
        network_close(&net);
    }
}

static void spoil_weight(network *net) {
    network_master(net, "fc.weight")[5] = NAN;
}
static void spoil_image(network *net) {
    net->images[100] = NAN;
}
static void spoil_label(network *net) {
    net->labels[SPY_BATCH - 1] = SPY_CLASSES;
}

static void test_unencodable(void **state) {
    (void)state;
    expect_overflow(spoil_weight, "fp(4,3,4)", 1.0f, "fc.weight", false);
    expect_overflow(spoil_image, "fp(4,3,4)", 1.0f, "input", false);
    expect_overflow(spoil_label, "fp(4,3,4)", 1.0f, "loss.out", false);
    expect_overflow(NULL, "fp(4,3,4)", 0x1p30f, "lsm.out", true);
    expect_overflow(spoil_image, "e4m3fn", 0x1p30f, "lsm.out", true); /* has a NaN: goes on */
}

/* As Lee et al.'s code: forward a NaN is the largest number, backward what is too large is
 * infinite, and neither ends the pass, whatever the storage. */
static void test_nan_overflows(void **state) {
    (void)state;
    static const char forward[] = "fp(4,3,4):nan=ovf", backward[] = "fp(5,2,0):ovf=inf:nan=ovf";
    static const float scales[] = {1.0f, 0x1p30f};
    for (size_t s = 0; s < 3; s++)
        for (size_t k = 0; k < 2; k++) {
            network net = {0};
            network_graph(&net, true);
            set_all(&net, forward, backward, forward, backward);
            network_plan(&net, storages[s], 1);
            spoil_weight(&net);
            spoil_image(&net);
            hu_pass_result result = network_step(&net, scales[k]);
            assert_false(net.run->overflowed);
            assert_true(isfinite(result.loss_sum));
            network_close(&net);
        }
}

/* Spoilt copies do not matter to a pass on the masters; a good rounding heals. */
static void test_overflow_is_not_sticky(void **state) {
    (void)state;
    network net = {0};
    network_graph(&net, true);
    set_all(&net, "", "", "fp(4,3,4)", "");
    network_plan(&net, HU_STORAGE_PACKED, 1);
    float *weight = network_master(&net, "fc.weight"), good = weight[5];
    weight[5] = NAN;
    network_step(&net, 1.0f);
    assert_true(net.run->overflowed);
    hu_pass_options pass = {.use_masters = true, .samples = SPY_BATCH};
    hu_pass_result result = network_forward(&net, &pass);
    assert_false(net.run->overflowed);
    assert_true(isnan(result.loss_sum));
    weight[5] = good;
    result = network_step(&net, 1.0f);
    assert_false(net.run->overflowed);
    assert_null(net.run->overflow_name);
    assert_true(isfinite(result.loss_sum));
    network_close(&net);
}

/* Formats with NaN, and float32, hand a NaN through everything to the loss. */
static void test_nan_propagates(void **state) {
    (void)state;
    static const char *const formats[] = {"", "fp16", "e4m3fn", "bf16"};
    for (size_t f = 0; f < 4; f++)
        for (size_t s = 0; s < 3; s++) {
            network net = {0};
            network_graph(&net, true);
            set_all(&net, formats[f], formats[f], formats[f], formats[f]);
            network_plan(&net, storages[s], 2);
            spoil_image(&net);
            hu_pass_result result = network_step(&net, 1.0f);
            assert_false(net.run->overflowed);
            assert_true(isnan(result.loss_sum));
            assert_true(isnan(spy_of("relu")->in[0][0]));
            assert_true(isnan(spy_of("add")->in[0][0]));
            /* A step that found this leaves the running statistics alone. */
            for (int c = 0; c < 4; c++)
                assert_true(network_master(&net, "bn.running_mean")[c] == 0);
            network_close(&net);
        }
}

static void test_no_allocation(void **state) {
    (void)state;
    for (size_t s = 0; s < 3; s++) {
        network net = {0};
        network_graph(&net, true);
        lee_edges(&net);
        network_plan(&net, storages[s], 3);
        assert_int_equal(hu_run_reserve(net.run, 6), HU_OK);
        network_step(&net, 64.0f);
        uint64_t before = hu_memory_count().allocations;
        hu_pass_options pass = {.training = true, .seed_gradient = 64.0f};
        for (int round = 0; round < 3; round++) {
            network_step(&net, 64.0f);
            pass.samples = 6; /* chunks of 4 and 2 */
            network_forward(&net, &pass);
            assert_int_equal(hu_run_backward(net.run, &pass), HU_OK);
        }
        assert_int_equal(hu_memory_count().allocations, before);
        network_close(&net);
    }
}

static uint64_t all_counts(const network *net) {
    uint64_t total = 0;
    for (hu_value_id v = 0; v < net->edges.value_count; v++)
        total += net->edges.value[v].counts.elements + net->edges.grad_sum[v].counts.elements;
    for (uint32_t u = 0; u < net->edges.use_count; u++) total += net->edges.grad[u].counts.elements;
    return total;
}

/* Every rounding counts once: not in evaluation, not when a pass is repeated to find a NaN. */
static void test_counts(void **state) {
    (void)state;
    network net = {0};
    network_graph(&net, true);
    lee_edges(&net);
    network_plan(&net, HU_STORAGE_PACKED, 3);
    network_step(&net, 64.0f);
    const hu_edge *values = net.edges.value;
    assert_int_equal(values[network_find(&net, "conv.out")].counts.elements, SPY_BATCH * 64);
    assert_int_equal(values[network_find(&net, "conv.weight")].counts.elements, 72);
    assert_int_equal(grad_edge(&net, "conv.out", 1)->counts.elements, SPY_BATCH * 64);
    assert_int_equal(grad_edge(&net, "conv.weight", 0)->counts.elements, 72);
    assert_int_equal(values[network_find(&net, "fc.product.out")].counts.elements, 0);
    uint64_t counted = all_counts(&net);
    hu_pass_options pass = {.samples = SPY_BATCH, .step = 4};
    hu_run_round_parameters(net.run, 4, false);
    network_forward(&net, &pass);
    assert_int_equal(all_counts(&net), counted);
    pass = (hu_pass_options){
        .training = true, .scan = true, .samples = SPY_BATCH, .step = 3, .seed_gradient = 64.0f};
    float mean = network_master(&net, "bn.running_mean")[0];
    network_forward(&net, &pass);
    assert_int_equal(hu_run_backward(net.run, &pass), HU_OK);
    assert_true(network_master(&net, "bn.running_mean")[0] == mean);
    /* The scan adds the tensors that are not rounded, and only those. */
    assert_int_equal(values[network_find(&net, "conv.out")].counts.elements, SPY_BATCH * 64);
    assert_int_equal(grad_edge(&net, "conv.weight", 0)->counts.elements, 72);
    uint64_t unrounded = SPY_BATCH * SPY_CLASSES; /* fc.product.out */
    unrounded += SPY_BATCH * SPY_CLASSES + 4;     /* its gradient, that of bn.bias */
    unrounded += SPY_BATCH * 64;                  /* the sum where two gradients meet */
    assert_int_equal(all_counts(&net), counted + unrounded);
    network_close(&net);
}

/* What waits for the backward pass: input, conv.out, add.out, lsm.out, labels and relu's bits,
 * which are not kept where cheap results are made again. */
static void test_storage_is_real(void **state) {
    (void)state;
    static const struct {
        hu_storage_mode mode;
        uint64_t sample_bytes;
    } rows[] = {{HU_STORAGE_PACKED, 32 + 64 + 64 + 3 + 4 + 8},
                {HU_STORAGE_DENSE, 32 + 64 + 64 + 3 + 4 + 8},
                {HU_STORAGE_FLOAT32, 4 * (32 + 64 + 64 + 3) + 4 + 8}};
    for (size_t r = 0; r < 3; r++) {
        network net = {0};
        uint64_t live = hu_memory_live(HU_MEMORY_ARENA), sum = 0;
        network_graph(&net, true);
        lee_edges(&net);
        network_plan(&net, rows[r].mode, 1);
        uint64_t again = spy_recompute ? 8 : 0;
        hu_ledger ledger = hu_ledger_of(net.run, 0, 0);
        assert_int_equal(ledger.saved, SPY_BATCH * (rows[r].sample_bytes - again));
        assert_int_equal(hu_memory_live(HU_MEMORY_ARENA) - live, net.run->arena_bytes);
        for (int i = 0; i < HU_BUFFER_ROLE_COUNT; i++) sum += ledger.arena[i];
        assert_true(sum <= net.run->arena_bytes);
        network_close(&net);
        assert_int_equal(hu_memory_live(HU_MEMORY_ARENA), live);
    }
}

static void test_options(void **state) {
    (void)state;
    network net = {0};
    hu_run *run;
    network_graph(&net, true);
    static const struct {
        hu_run_options options;
        hu_status expected;
    } rows[] = {{{.batch = 0, .chunk = 4, .threads = 1}, HU_ERR_ARGUMENT},
                {{.batch = 8, .chunk = 0, .threads = 1}, HU_ERR_ARGUMENT},
                {{.batch = 8, .chunk = 4, .threads = 0}, HU_ERR_ARGUMENT},
                {{.batch = INT64_MAX, .chunk = 4, .threads = 1}, HU_ERR_LIMIT},
                {{.batch = 8, .chunk = INT64_MAX, .threads = 1}, HU_ERR_LIMIT},
                {{.batch = 8, .chunk = 4, .threads = INT32_MAX}, HU_ERR_LIMIT}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        assert_int_equal(hu_run_create(net.graph, &net.edges, &net.weights, &rows[r].options, &run),
                         rows[r].expected);
        assert_null(run);
    }
    network_plan(&net, HU_STORAGE_PACKED, 1);
    hu_pass_result result;
    hu_source source = {&net, network_fill};
    hu_pass_options pass = {.samples = SPY_BATCH + 1};
    assert_int_equal(hu_run_forward(net.run, &pass, &source, &result), HU_ERR_INTERNAL);
    network_close(&net);
}

static void test_no_memory(void **state) {
    (void)state;
    network net = {0};
    hu_run_options options = {.batch = SPY_BATCH, .chunk = SPY_CHUNK, .threads = 2, .seed = 1};
    network_graph(&net, true);
    lee_edges(&net);
    uint64_t live = hu_memory_count().live_blocks;
    for (uint64_t nth = 1;; nth++) {
        hu_run *run;
        hu_memory_fail_at(nth);
        hu_weights weights;
        hu_status st = hu_weights_create(net.graph, &weights);
        run = NULL;
        if (st == HU_OK) st = hu_run_create(net.graph, &net.edges, &weights, &options, &run);
        hu_memory_fail_at(0);
        hu_run_free(run);
        hu_weights_free(&weights);
        assert_int_equal(hu_memory_count().live_blocks, live);
        if (st == HU_OK) break;
        assert_int_equal(st, HU_ERR_MEMORY);
    }
    network_close(&net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lee),
        cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_popescu),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_float32),
        cmocka_unit_test(test_stochastic),
        cmocka_unit_test(test_parts_draw_as_the_whole),
        cmocka_unit_test(test_parts_round_gradients_apart),
        cmocka_unit_test(test_parts_add_up),
        cmocka_unit_test(test_unencodable),
        cmocka_unit_test(test_nan_overflows),
        cmocka_unit_test(test_overflow_is_not_sticky),
        cmocka_unit_test(test_nan_propagates),
        cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_storage_is_real),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_no_memory),
    };
    int failed = 0;
    for (int joined = 0; joined < 3; joined++) {
        spy_unfused = joined == 0;
        spy_recompute = joined == 2;
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
