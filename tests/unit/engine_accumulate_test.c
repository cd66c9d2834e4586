/* Products with a chosen accumulator in a run: threads, storage and the length of chunks change no
 * bit, and accumulators are counted once. */
#include "planner/internal.h"
#include "run_spy.h"

enum { WEIGHTS = 72 + SPY_CLASSES * 64 };
static const char *const weights[] = {"conv.weight", "fc.weight"};

typedef struct result {
    double loss;
    float gradient[WEIGHTS]; /* of conv.weight, then fc.weight */
    hu_gemm_counts conv[HU_PRODUCT_ROLES], fc[HU_PRODUCT_ROLES];
} result;

static hu_node_products *products_of(network *net, const char *node) {
    for (uint32_t n = 0; n < net->graph->node_count; n++)
        if (strcmp(net->graph->node[n].name, node) == 0) return &net->edges.products[n];
    fail_msg("no node '%s'", node);
    return NULL;
}

static void choose(network *net, const char *node, const char *text) {
    hu_accumulation *accumulation = &products_of(net, node)->accumulation;
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
        accumulation->chosen[r] = true;
        if (hu_accumulator_parse(text, &accumulation->accumulator[r]) != HU_OK)
            fail_msg("%s", hu_last_error());
    }
}

/* The summed gradient of conv.out is rounded again: once, although it is read twice. */
static void open_network(network *net, const char *format, const char *accumulator) {
    *net = (network){0};
    network_graph(net, false);
    set_all(net, format, format, format, format);
    net->edges.grad_sum[network_find(net, "conv.out")].quantizer = quantizer_of(format);
    choose(net, "conv", accumulator);
    choose(net, "fc.product", accumulator);
}

static void plan(network *net, hu_storage_mode storage, int threads, int64_t chunk) {
    hu_run_options options = {.batch = SPY_BATCH,
                              .chunk = chunk,
                              .threads = threads,
                              .storage = storage,
                              .seed = 42,
                              .fuse = !spy_unfused,
                              .recompute = spy_recompute,
                              .products = HU_ENGINE_OWN};
    network_make(net, &options);
}

static void read_gradients(network *net, float *to) {
    for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
        hu_value_id v = network_find(net, weights[w]);
        int64_t n = net->graph->value[v].elements;
        float scratch[WEIGHTS];
        memcpy(to, hu_run_param_grad(net->run, v, 0, n, scratch), (size_t)n * sizeof *to);
        to += n;
    }
}

static hu_pass_options counted_pass(void) {
    return (hu_pass_options){.training = true,
                             .count_products = true,
                             .samples = SPY_BATCH,
                             .step = 3,
                             .seed_gradient = 0.25f};
}

static result train(const char *format, const char *accumulator, hu_storage_mode storage,
                    int threads, int64_t chunk) {
    network net;
    result r = {0};
    open_network(&net, format, accumulator);
    plan(&net, storage, threads, chunk);
    hu_pass_options pass = counted_pass();
    hu_run_round_parameters(net.run, pass.step, true);
    r.loss = network_forward(&net, &pass).loss_sum;
    assert_int_equal(hu_run_backward(net.run, &pass), HU_OK);
    read_gradients(&net, r.gradient);
    memcpy(r.conv, products_of(&net, "conv")->counts, sizeof r.conv);
    memcpy(r.fc, products_of(&net, "fc.product")->counts, sizeof r.fc);
    assert_int_equal(net.edges.grad_sum[network_find(&net, "conv.out")].counts.elements,
                     SPY_BATCH * 64);
    network_close(&net);
    return r;
}

static void same_result(const result *found, const result *expected) {
    assert_memory_equal(found->gradient, expected->gradient, sizeof found->gradient);
    assert_memory_equal(found->conv, expected->conv, sizeof found->conv);
    assert_memory_equal(found->fc, expected->fc, sizeof found->fc);
}

static void check_everywhere(const char *format, const char *accumulator) {
    static const hu_storage_mode storages[] = {HU_STORAGE_PACKED, HU_STORAGE_FLOAT32,
                                               HU_STORAGE_DENSE};
    static const int threads[] = {1, 2, 3, 7};
    static const int64_t chunks[] = {4, 1, 5, SPY_BATCH, 16};
    result expected = train(format, accumulator, HU_STORAGE_PACKED, 1, 4);
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            result found = train(format, accumulator, storages[(c + t) % 3], threads[t], chunks[c]);
            same_result(&found, &expected);
            if (chunks[c] == 4) assert_true(found.loss == expected.loss);
        }
}

static void nothing_changes_bits(void **state) {
    (void)state;
    check_everywhere("1/6/9", "fmac8:1/6/9");
    check_everywhere("1/6/9", "kahan:fp16");
    check_everywhere("e5m2 sr", "fmac:e5m4");
    check_everywhere("e4m3", "tc:K=20:F=11:out=9:promote=60");
    check_everywhere("fp16", "tc:h100-fp8");
}

/* The accumulator matters, and its counts are what the shapes say. */
static void accumulators_are_used_and_counted(void **state) {
    (void)state;
    result low = train("1/6/9", "fmac8:e4m3", HU_STORAGE_PACKED, 2, 4);
    result high = train("1/6/9", "fmacs", HU_STORAGE_PACKED, 2, 4);
    assert_memory_not_equal(low.gradient, high.gradient, sizeof low.gradient);
    const uint64_t conv = SPY_BATCH * 16 * 9 * 2 * 4, fc = SPY_BATCH * 64 * SPY_CLASSES;
    assert_true(low.conv[HU_PRODUCT_FORWARD].values == conv);
    assert_true(low.conv[HU_PRODUCT_INPUT_GRAD].values == 0); /* of the image */
    assert_true(low.conv[HU_PRODUCT_WEIGHT_GRAD].values == conv);
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) assert_true(low.fc[r].values == fc);
    assert_true(low.conv[HU_PRODUCT_WEIGHT_GRAD].subnormal > 0);
    assert_true(low.conv[HU_PRODUCT_FORWARD].overflow == 0);
    assert_true(high.conv[HU_PRODUCT_FORWARD].subnormal == 0);
}

/* Every pass sums anew; only passes that ask for it count; running allocates nothing. */
static void passes_start_their_sums(void **state) {
    (void)state;
    network net;
    float first[WEIGHTS], again[WEIGHTS];
    open_network(&net, "1/6/9", "fmac8:1/6/9");
    plan(&net, HU_STORAGE_PACKED, 3, 4);
    assert_int_equal(hu_run_reserve(net.run, 6), HU_OK);
    network_step(&net, 0.25f);
    assert_true(products_of(&net, "conv")->counts[HU_PRODUCT_FORWARD].values == 0);
    read_gradients(&net, first);
    uint64_t before = hu_memory_count().allocations;
    hu_pass_options less = counted_pass();
    less.samples = 6;
    network_forward(&net, &less);
    assert_int_equal(hu_run_backward(net.run, &less), HU_OK);
    hu_gemm_counts counted = products_of(&net, "conv")->counts[HU_PRODUCT_WEIGHT_GRAD];
    assert_true(counted.values == 6 * 16 * 9 * 2 * 4);
    less.scan = true;
    network_forward(&net, &less);
    assert_int_equal(hu_run_backward(net.run, &less), HU_OK);
    assert_true(products_of(&net, "conv")->counts[HU_PRODUCT_WEIGHT_GRAD].values == counted.values);
    network_step(&net, 0.25f);
    read_gradients(&net, again);
    assert_int_equal(hu_memory_count().allocations, before);
    assert_memory_equal(first, again, sizeof first);
    network_close(&net);
}

/* An accumulator that overflows gives infinities, which the loss or the gradients show. */
static void overflow_is_seen(void **state) {
    (void)state;
    network net;
    float gradient[WEIGHTS];
    open_network(&net, "", "fmac8:e4m3:bias=16");
    plan(&net, HU_STORAGE_PACKED, 2, 4);
    hu_pass_options pass = counted_pass();
    hu_run_round_parameters(net.run, pass.step, true);
    hu_pass_result forward = network_forward(&net, &pass);
    assert_true(!isfinite(forward.loss_sum));
    assert_true(products_of(&net, "conv")->counts[HU_PRODUCT_FORWARD].overflow > 0);
    network_close(&net);
    open_network(&net, "", "fmacs");
    for (int r = 1; r < HU_PRODUCT_ROLES; r++)
        assert_int_equal(
            hu_accumulator_parse("fmac8:e4m3:bias=16",
                                 &products_of(&net, "conv")->accumulation.accumulator[r]),
            HU_OK);
    plan(&net, HU_STORAGE_PACKED, 2, 4);
    hu_run_round_parameters(net.run, pass.step, true);
    assert_true(isfinite(network_forward(&net, &pass).loss_sum) != 0);
    assert_int_equal(hu_run_backward(net.run, &pass), HU_OK);
    read_gradients(&net, gradient);
    bool finite = true;
    for (int i = 0; i < 72; i++) finite = finite && isfinite(gradient[i]);
    assert_false(finite);
    network_close(&net);
}

/* One gradient of the batch, not one per chunk. */
static void one_partial_gradient(void **state) {
    (void)state;
    network net;
    open_network(&net, "1/6/9", "fmac8:1/6/9");
    plan(&net, HU_STORAGE_PACKED, 1, 1);
    const hu_exec *exec = &net.run->exec[0];
    assert_string_equal(net.graph->node[0].name, "conv");
    assert_true(net.run->buffers[exec->dpartial].bytes == 72 * sizeof(float));
    network_close(&net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes_bits),
        cmocka_unit_test(accumulators_are_used_and_counted),
        cmocka_unit_test(passes_start_their_sums),
        cmocka_unit_test(overflow_is_seen),
        cmocka_unit_test(one_partial_gradient),
    };
    int failed = 0;
    for (int joined = 0; joined < 3; joined++) {
        spy_unfused = joined == 0;
        spy_recompute = joined == 2;
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
