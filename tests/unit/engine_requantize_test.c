/* Other quantizers for a planned run: within its capacity the same as a new plan, beyond it
 * refused, and never an allocation. */
#include "engine/run.h"
#include "run_spy.h"

/* Formats of all tensors: act, grad, weight, wgrad. */
typedef struct formats_of {
    const char *act, *grad, *weight, *wgrad;
} formats_of;

static void write_formats(network *net, const formats_of *f) {
    set_all(net, f->act, f->grad, f->weight, f->wgrad);
    for (hu_value_id v = 0; v < net->graph->value_count; v++)
        if (net->graph->value[v].role == HU_VALUE_ACTIVATION)
            net->edges.grad_sum[v].quantizer = quantizer_of(f->grad);
}

static void write_capacities(network *net, uint32_t bits) {
    for (hu_value_id v = 0; v < net->graph->value_count; v++)
        net->edges.value[v].capacity_bits = net->edges.grad_sum[v].capacity_bits = bits;
    for (uint32_t u = 0; u < net->graph->use_count; u++) net->edges.grad[u].capacity_bits = bits;
}

static void open_network(network *net, const formats_of *f, uint32_t bits, hu_storage_mode mode) {
    *net = (network){0};
    network_graph(net, true);
    write_formats(net, f);
    write_capacities(net, bits);
    network_plan(net, mode, 2);
}

/* Both networks step once from the same weights: gradients, losses and counts agree. */
static void same_step(network *a, network *b) {
    float scratch[2][SPY_MOST];
    memcpy(b->weights.block, a->weights.block, (size_t)a->weights.elements * sizeof(float));
    hu_pass_result x = network_step(a, 4.0f), y = network_step(b, 4.0f);
    assert_true(x.loss_sum == y.loss_sum && x.loss_sum - x.loss_sum == 0);
    for (hu_value_id v = 0; v < a->graph->value_count; v++) {
        const hu_value_info *value = &a->graph->value[v];
        assert_memory_equal(&a->edges.value[v].counts, &b->edges.value[v].counts,
                            sizeof(hu_round_counts));
        if (value->role != HU_VALUE_PARAMETER) continue;
        const float *p = hu_run_param_grad(a->run, v, 0, value->elements, scratch[0]);
        const float *q = hu_run_param_grad(b->run, v, 0, value->elements, scratch[1]);
        assert_memory_equal(p, q, (size_t)value->elements * sizeof *p);
    }
}

/* A thread has in every region the scratch that a fresh plan gives it. */
static void check_scratch(const hu_run *run, const hu_run *fresh) {
    for (uint32_t n = 0; n < run->graph->node_count; n++)
        for (int pass = 0; pass < 2; pass++)
            assert_true(run->exec[n].scratch[pass].bytes >= fresh->exec[n].scratch[pass].bytes);
}

static const formats_of float32 = {"", "", "", ""}, low = {"e4m3", "e5m2", "e4m3", "e5m2"},
                        mixed = {"bf16", "fp16:ovf=sat", "", "e5m2"},
                        blocks = {"mxfp8", "mxfp8", "mxfp8", "mxfp8"},
                        scaled = {"e4m3fn:scale=delayed2", "e5m2", "e4m3", "e5m2"},
                        integers = {"e4m3", "e5m2", "uniform8:channel", "e5m2"};

static void a_change_in_place_is_a_new_plan(void **state) {
    (void)state;
    static const hu_storage_mode modes[] = {HU_STORAGE_PACKED, HU_STORAGE_DENSE,
                                            HU_STORAGE_FLOAT32};
    const formats_of *rows[] = {&low, &float32, &mixed, &low, &mixed};
    for (int m = 0; m < 3; m++) {
        network net;
        open_network(&net, &float32, 32, modes[m]);
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            network fresh;
            open_network(&fresh, rows[r], 0, modes[m]);
            write_formats(&net, rows[r]);
            uint64_t made = hu_memory_count().allocations;
            assert_true(hu_run_requantize(net.run));
            assert_int_equal(hu_memory_count().allocations, made);
            check_scratch(net.run, fresh.run);
            assert_true(net.run->arena_bytes >= fresh.run->arena_bytes);
            same_step(&fresh, &net);
            network_close(&fresh);
        }
        network_close(&net);
    }
}

/* The plan of a run that is never changed does not depend on this at all. */
static void room_for_what_there_is_costs_nothing(void **state) {
    (void)state;
    network plain, wide;
    open_network(&plain, &low, 0, HU_STORAGE_PACKED);
    open_network(&wide, &low, 8, HU_STORAGE_PACKED);
    for (hu_value_id v = 0; v < plain.graph->value_count; v++) {
        const hu_slot *a = &plain.run->value[v], *b = &wide.run->value[v];
        if (a->buffer == HU_NONE) continue;
        assert_true(plain.run->buffers[a->buffer].bytes == wide.run->buffers[b->buffer].bytes);
    }
    same_step(&plain, &wide);
    network_close(&plain);
    network_close(&wide);
}

static void beyond_the_capacity_nothing_changes(void **state) {
    (void)state;
    const formats_of *rows[] = {&mixed, &float32, &blocks, &scaled, &integers};
    network net, fresh;
    open_network(&net, &low, 8, HU_STORAGE_PACKED);
    open_network(&fresh, &low, 0, HU_STORAGE_PACKED);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        write_formats(&net, rows[r]);
        assert_false(hu_run_requantize(net.run));
        write_formats(&net, &low);
        assert_true(hu_run_requantize(net.run));
        same_step(&fresh, &net);
    }
    net.edges.use[0].quantizer = quantizer_of("e3m2");
    assert_false(hu_run_requantize(net.run));
    write_formats(&net, &scaled);
    assert_int_equal(hu_run_replan(&net.run), HU_OK);
    write_formats(&net, &low);
    assert_false(hu_run_requantize(net.run)); /* the plan has loops for scales */
    network_close(&net);
    network_close(&fresh);
}

/* A first layer that keeps what it rounds of the images; capacity 0: no bits but these. */
static void open_kept(network *net, const char *format, uint32_t capacity, hu_storage_mode mode) {
    *net = (network){0};
    network_graph(net, true);
    hu_edge *edge = &net->edges.use[net->graph->value[network_find(net, "input")].uses[0]];
    edge->quantizer = quantizer_of(format);
    edge->capacity_bits = capacity;
    network_plan(net, mode, 2);
}

static size_t kept_bytes(const network *net) {
    uint32_t buffer = net->run->use[net->graph->value[network_find(net, "input")].uses[0]].buffer;
    return buffer == HU_NONE ? 0 : net->run->buffers[buffer].bytes;
}

static void kept_inputs_have_room_for_the_most_bits(void **state) {
    (void)state;
    enum { IMAGE = 32, BYTE = 8 };
    static const struct {
        const char *format[3], *beyond;
        uint32_t most;
    } rows[] = {{{"uniform3", "uniform8", "uniform5"}, "uniform9", 8},
                {{"uniform12", "uniform2", "uniform8"}, "uniform16", 12},
                {{"e4m1", "e4m3", "e2m1"}, "e4m4", 8}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        network net, fresh;
        open_kept(&net, rows[r].format[0], rows[r].most, HU_STORAGE_DENSE);
        assert_int_equal(kept_bytes(&net), SPY_BATCH * IMAGE * rows[r].most / BYTE);
        for (int f = 0; f < 3; f++) {
            hu_edge *edge = &net.edges.use[net.graph->value[network_find(&net, "input")].uses[0]];
            edge->quantizer = quantizer_of(rows[r].format[f]);
            uint64_t made = hu_memory_count().allocations;
            assert_true(hu_run_requantize(net.run));
            assert_int_equal(hu_memory_count().allocations, made);
            open_kept(&fresh, rows[r].format[f], 0, HU_STORAGE_FLOAT32);
            assert_int_equal(kept_bytes(&fresh), 0);
            same_step(&fresh, &net);
            network_close(&fresh);
            edge->quantizer = quantizer_of(rows[r].beyond);
            assert_false(hu_run_requantize(net.run));
        }
        network_close(&net);
    }
    /* Where it may become float32 there is nothing to gain. */
    network wide;
    open_kept(&wide, "e4m3", 32, HU_STORAGE_PACKED);
    assert_int_equal(kept_bytes(&wide), 0);
    network_close(&wide);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_in_place_is_a_new_plan),
        cmocka_unit_test(room_for_what_there_is_costs_nothing),
        cmocka_unit_test(beyond_the_capacity_nothing_changes),
        cmocka_unit_test(kept_inputs_have_room_for_the_most_bits),
    };
    int failed = 0;
    for (int joined = 0; joined < 2; joined++) {
        spy_unfused = joined == 0;
        spy_recompute = joined == 1;
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
