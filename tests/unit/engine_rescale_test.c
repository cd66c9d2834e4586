/* Delayed scales: the maxima of earlier steps, what may change them, and their bytes. */
#include "engine/run.h"
#include "run_spy.h"

#include <stdlib.h>

enum { STEPS = 6, HISTORY = 2 };

static void delayed_edges(network *net) {
    set_all(net, "e4m3fn:scale=delayed2", "e5m2:scale=delayed2", "e4m3fn:scale=delayed2",
            "e3m4:scale=delayed2");
    net->edges.grad_sum[network_find(net, "conv.out")].quantizer =
        quantizer_of("e5m2:scale=delayed2");
}

static void open_network(network *net, hu_storage_mode storage, int threads) {
    *net = (network){0};
    network_graph(net, true);
    delayed_edges(net);
    network_plan(net, storage, threads);
}

/* Step s with weights and images of its own size. */
static void take_step(network *net, int s) {
    float size = ldexpf(1.0f, s % 3 == 1 ? 5 : -s);
    for (int i = 0; i < SPY_BATCH * 32; i++)
        net->images[i] = size * ((float)(i % 13) - 6.0f + 0.01f * (float)s);
    float *weight = network_master(net, "conv.weight");
    for (int i = 0; i < 8; i++) weight[i] = 0.1f * size * (float)(i - 3);
    network_step(net, 1.0f);
    assert_false(net->run->overflowed);
}

static const hu_slot *slot_of(const network *net, const char *name) {
    return &net->run->value[network_find(net, name)];
}

static void test_scales_follow_the_last_steps(void **state) {
    (void)state;
    network net;
    open_network(&net, HU_STORAGE_PACKED, 3);
    float image_top[STEPS], weight_top[STEPS];
    for (int s = 0; s < STEPS; s++) {
        float image = 0, weight = 0;
        for (int back = 1; back <= HISTORY && s - back >= 0; back++) {
            image = fmaxf(image, image_top[s - back]);
            weight = fmaxf(weight, weight_top[s - back]);
        }
        const hu_quantizer *q = &slot_of(&net, "input")->edge->quantizer;
        assert_int_equal(slot_of(&net, "input")->exponent, hand_exponent(q, image));
        assert_int_equal(slot_of(&net, "conv.weight")->exponent, hand_exponent(q, weight));
        take_step(&net, s);
        image_top[s] = hand_top(SPY_BATCH * 32, net.images);
        weight_top[s] = hand_top(net.graph->value[network_find(&net, "conv.weight")].elements,
                                 network_master(&net, "conv.weight"));
        assert_int_equal(slot_of(&net, "input")->exponent, hand_exponent(q, image));
        hu_tensor_scale_end_step(net.run);
    }
    network_close(&net);
}

static void copy_history(const network *net, unsigned char **copy, size_t *bytes) {
    const void *data;
    hu_tensor_scale_history(net->run, &data, bytes);
    assert_true(*bytes > 0);
    *copy = malloc(*bytes);
    assert_non_null(*copy);
    memcpy(*copy, data, *bytes);
}

static void test_what_is_no_step_leaves_history(void **state) {
    (void)state;
    network net;
    unsigned char *before;
    const void *after;
    size_t bytes;
    open_network(&net, HU_STORAGE_PACKED, 2);
    take_step(&net, 0);
    hu_tensor_scale_end_step(net.run);
    copy_history(&net, &before, &bytes);
    hu_pass_options pass = {.samples = SPY_BATCH, .step = 9};
    hu_run_round_parameters(net.run, 9, false);
    net.images[0] = 1e6f;
    network_forward(&net, &pass);
    pass = (hu_pass_options){.training = true, .scan = true, .samples = SPY_BATCH, .step = 9};
    network_forward(&net, &pass);
    assert_int_equal(hu_run_backward(net.run, &pass), HU_OK);
    hu_tensor_scale_end_step(net.run);
    hu_tensor_scale_history(net.run, &after, &bytes);
    assert_memory_equal(after, before, bytes);
    free(before);
    network_close(&net);
}

/* Parts of a batch give one maximum; threads and storage do not matter. */
static void test_history_is_the_same_everywhere(void **state) {
    (void)state;
    unsigned char *first = NULL;
    for (int variant = 0; variant < 4; variant++) {
        network net;
        unsigned char *history;
        size_t bytes;
        open_network(&net, variant % 2 ? HU_STORAGE_FLOAT32 : HU_STORAGE_PACKED, 1 + 2 * variant);
        for (int s = 0; s < 3; s++) {
            take_step(&net, s);
            hu_tensor_scale_end_step(net.run);
        }
        copy_history(&net, &history, &bytes);
        if (first) assert_memory_equal(history, first, bytes);
        if (!first) first = history;
        if (history != first) free(history);
        network_close(&net);
    }
    free(first);
}

static void test_restore(void **state) {
    (void)state;
    network net, other;
    unsigned char *history;
    size_t bytes;
    open_network(&net, HU_STORAGE_PACKED, 1);
    for (int s = 0; s < 3; s++) {
        take_step(&net, s);
        hu_tensor_scale_end_step(net.run);
    }
    copy_history(&net, &history, &bytes);
    open_network(&other, HU_STORAGE_FLOAT32, 2);
    assert_int_equal(slot_of(&other, "input")->exponent, 0);
    assert_int_equal(hu_tensor_scale_restore(other.run, history, bytes), HU_OK);
    assert_true(slot_of(&net, "input")->exponent != 0);
    assert_int_equal(slot_of(&other, "input")->exponent, slot_of(&net, "input")->exponent);
    /* Another layout, nothing, and no finite number. */
    assert_int_equal(hu_tensor_scale_restore(other.run, history, bytes - 4), HU_OK);
    assert_int_equal(slot_of(&other, "input")->exponent, 0);
    assert_int_equal(hu_tensor_scale_restore(other.run, history, bytes), HU_OK);
    assert_int_equal(hu_tensor_scale_restore(other.run, NULL, 0), HU_OK);
    assert_int_equal(slot_of(&other, "input")->exponent, 0);
    memset(history + 8, 0x7F, 4);
    history[8 + 2] = 0x80;
    assert_int_equal(hu_tensor_scale_restore(other.run, history, bytes), HU_ERR_CORRUPT);
    memset(history, 0, 8);
    assert_int_equal(hu_tensor_scale_restore(other.run, history, bytes), HU_OK);
    assert_int_equal(slot_of(&other, "input")->exponent, 0);
    free(history);
    network_close(&net);
    network_close(&other);
}

/* A run without delayed scales has no history. */
static void test_none(void **state) {
    (void)state;
    network net = {0};
    const void *data;
    size_t bytes;
    network_graph(&net, false);
    set_all(&net, "mxfp8", "nvfp4", "e4m3fn:scale=current", "fp16");
    network_plan(&net, HU_STORAGE_PACKED, 1);
    hu_tensor_scale_history(net.run, &data, &bytes);
    assert_int_equal(bytes, 0);
    assert_int_equal(hu_tensor_scale_restore(net.run, "x", 1), HU_OK);
    network_step(&net, 1.0f);
    hu_tensor_scale_end_step(net.run);
    network_close(&net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales_follow_the_last_steps),
        cmocka_unit_test(test_what_is_no_step_leaves_history),
        cmocka_unit_test(test_history_is_the_same_everywhere),
        cmocka_unit_test(test_restore),
        cmocka_unit_test(test_none),
    };
    int failed = 0;
    for (int joined = 0; joined < 3; joined++) {
        spy_unfused = joined == 0;
        spy_recompute = joined == 2;
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
