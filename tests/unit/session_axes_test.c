/* Networks of operations on axes, rows and groups, declared by texts: they learn in several
 * precisions and with every accumulator, and threads change no bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <halfulp/train.h>

#include "bright_rows.h"

enum { STEPS = 30 };

/* The node's first output; its others have the ids after it. */
static hu_value apply_to(hu_net *net, const char *op, const char *name, const char *attributes,
                         size_t n, const hu_value *in) {
    hu_value out[HU_NET_OUTPUTS];
    if (hu_net_apply(net, op, name, attributes, n, in, out) != HU_OK)
        fail_msg("%s: %s", name, hu_last_error());
    return out[0];
}

static hu_value apply(hu_net *net, const char *op, const char *name, const char *attributes,
                      hu_value in) {
    return apply_to(net, op, name, attributes, 1, &in);
}

static hu_net *begin(hu_value *image) {
    const hu_shape shape = {3, {SIDE, SIDE, 1}};
    hu_net *net;
    assert_int_equal(hu_net_create(&net), HU_OK);
    assert_int_equal(hu_net_input(net, "input", &shape, image), HU_OK);
    return net;
}

/* A block of a transformer over rows, with rotary places, that ends in two summaries. */
static hu_net *make_rows_net(void) {
    hu_value v;
    hu_net *net = begin(&v);
    v = apply(net, "reshape", "rows", "shape=12x3", v);
    v = apply(net, "pad", "pad", "before=2,0 value=0.25", v);
    v = apply(net, "slice", "slice", "axis=0 start=1", v);
    v = apply(net, "conv1d", "conv", "out=8 kernel=3 pad=1 stride=1", v);
    v = apply(net, "conv1d", "depth", "out=8 kernel=5 pad=4 more=-4 groups=8 bias=off", v);
    v = apply(net, "rms_norm", "rms", "", v);
    v = apply(net, "linear", "qkv", "out=24 rows=on", v);
    hu_value part = apply(net, "split", "parts", "parts=3", v);
    hu_value pair[2] = {apply(net, "rotary", "q", "heads=2", part),
                        apply(net, "rotary", "k", "heads=2 pairs=off base=100", part + 1)};
    pair[0] = apply_to(net, "attention_scores", "scores", "heads=2 factor=0.5", 2, pair);
    pair[0] = apply(net, "softmax", "weights", "axis=2", pair[0]);
    pair[1] = part + 2;
    v = apply_to(net, "attention_context", "context", "", 2, pair);
    v = apply(net, "max_pool1d", "pairs", "kernel=2", v);
    v = apply(net, "avg_pool1d", "threes", "kernel=3 stride=1 pad=1", v);
    pair[0] = apply(net, "reduce_max", "largest", "axes=1 keep=on", v);
    pair[1] = apply(net, "reduce_mean", "mean", "axes=-1 keep=on", v);
    v = apply_to(net, "concat", "both", "axis=-1", 2, pair);
    v = apply(net, "linear", "fc", "out=3", v);
    assert_int_equal(hu_net_head(net, v), HU_OK);
    return net;
}

/* Squeeze and excite (Hu et al. 2018): means of channels weigh all places. */
static hu_value excite(hu_net *net, hu_value v) {
    hu_value pair[2] = {v};
    v = apply(net, "global_avg_pool", "squeeze", "", v);
    v = apply(net, "linear", "down", "out=4 rows=on", v);
    v = apply(net, "silu", "silu", "", v);
    v = apply(net, "linear", "up", "out=16 rows=on", v);
    pair[1] = apply(net, "sigmoid", "excite", "", v);
    return apply_to(net, "mul", "excited", "", 2, pair);
}

/* A block of ResNeXt in groups, and shares of places that weigh what the head reads. */
static hu_net *make_groups_net(void) {
    hu_value v;
    hu_net *net = begin(&v);
    v = apply(net, "conv2d", "stem", "out=16 kernel=3 pad=1 bias=off", v);
    v = apply(net, "group_norm", "norm1", "groups=4", v);
    hu_value before = v = apply(net, "relu", "relu1", "", v);
    v = apply(net, "conv2d", "reduce", "out=8 kernel=1 bias=off", v);
    v = apply(net, "instance_norm", "norm2", "", v);
    v = apply(net, "conv2d", "grouped", "out=8 kernel=3 pad=1 groups=4", v);
    v = apply(net, "relu", "relu2", "", v);
    v = excite(net, apply(net, "conv2d", "expand", "out=16 kernel=1 groups=2", v));
    hu_value pair[2] = {before, v};
    v = apply_to(net, "add", "add", "", 2, pair);
    v = apply(net, "transpose", "turned", "axes=2,0,1", v);
    v = apply(net, "transpose", "back", "axes=1,2,0", v);
    hu_value half = apply(net, "split", "halves", "axis=2 sizes=8,8", v);
    pair[0] = apply(net, "softmax", "shares", "axis=0", half);
    pair[1] = half + 1;
    pair[0] = apply_to(net, "mul", "weighed", "", 2, pair);
    v = apply_to(net, "concat", "joined", "axis=0", 2, pair);
    v = apply(net, "reduce_sum", "sum", "axes=1 keep=on", v);
    v = apply(net, "linear", "fc", "out=3", v);
    assert_int_equal(hu_net_head(net, v), HU_OK);
    return net;
}

static hu_training *open(const hu_net *net, const hu_dataset *data, const char *precision,
                         const char *accumulator, const char *threads, const char *rate) {
    const hu_setting settings[] = {{"precision", precision},
                                   {"accumulator", accumulator},
                                   {"run.batch", "12"},
                                   {"steps", "30"},
                                   {"threads", threads},
                                   {"lr.base", rate},
                                   {"seed", "4"},
                                   {"run.chunk", "3"}};
    hu_training *training;
    if (hu_training_open(net, settings, sizeof settings / sizeof *settings, data, &training))
        fail_msg("%s, %s: %s", precision, accumulator, hu_last_error());
    return training;
}

static uint64_t train_to(hu_training *training, int64_t last) {
    while (hu_training_step(training) < last) {
        hu_step step = {.size = sizeof step};
        if (hu_training_next(training, &step) != HU_OK) fail_msg("%s", hu_last_error());
    }
    return hu_training_hash(training);
}

static void check_learning(const hu_net *net, const hu_dataset *data, const char *precision,
                           const char *accumulator, const char *rate) {
    double metric, loss;
    hu_training *training = open(net, data, precision, accumulator, "1", rate);
    train_to(training, STEPS);
    assert_int_equal(hu_training_test(training, &metric, &loss), HU_OK);
    if (metric < 0.95) fail_msg("%s, %s: accuracy %g", precision, accumulator, metric);
    hu_training_close(training);
}

static void networks_learn_in_every_precision(void **state) {
    static const char *const precisions[] = {"fp32", "bf16", "hfp8", "mxfp8",
                                             "e4m3fn:scale=current"};
    (void)state;
    hu_net *rows = make_rows_net(), *groups = make_groups_net();
    hu_dataset *data = make_data(NULL);
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
        check_learning(rows, data, precisions[p], "fp32", "0.08");
        check_learning(groups, data, precisions[p], "fp32", "0.01");
    }
    hu_dataset_close(data);
    hu_net_free(rows);
    hu_net_free(groups);
}

static void networks_learn_with_every_accumulator(void **state) {
    static const char *const accumulators[] = {"fmacs",       "macs:bf16",      "fmac:1/8/15",
                                               "mac:1/8/15",  "fmac8:1/6/9",    "kahan:1/6/9",
                                               "fmac3:e5m10", "kahan-cpd:1/6/9"};
    (void)state;
    hu_net *rows = make_rows_net(), *groups = make_groups_net();
    hu_dataset *data = make_data(NULL);
    for (size_t a = 0; a < sizeof accumulators / sizeof *accumulators; a++) {
        check_learning(groups, data, "hfp8", accumulators[a], "0.01");
        check_learning(rows, data, "hfp8", accumulators[a], "0.08");
    }
    hu_dataset_close(data);
    hu_net_free(rows);
    hu_net_free(groups);
}

static void threads_change_no_bit(void **state) {
    static const struct {
        const char *precision, *accumulator;
    } cases[] = {{"fp32", "fp32"}, {"hfp8", "fp32"}, {"hfp8", "fmac8:1/6/9"}, {"bf16", "fmacs"}};
    (void)state;
    hu_net *nets[2] = {make_rows_net(), make_groups_net()};
    hu_dataset *data = make_data(NULL);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int n = 0; n < 2; n++) {
            const char *precision = cases[c].precision, *accumulator = cases[c].accumulator;
            hu_training *one = open(nets[n], data, precision, accumulator, "1", "0.01");
            hu_training *two = open(nets[n], data, precision, accumulator, "2", "0.01");
            hu_training *three = open(nets[n], data, precision, accumulator, "3", "0.01");
            uint64_t hash = train_to(one, 8);
            assert_true(hash == train_to(two, 8) && hash == train_to(three, 8));
            hu_training_close(one);
            hu_training_close(two);
            hu_training_close(three);
        }
    hu_dataset_close(data);
    hu_net_free(nets[0]);
    hu_net_free(nets[1]);
}

static void refuses(const char *op, const char *attributes, hu_status status, const char *word) {
    hu_value v, out[HU_NET_OUTPUTS];
    hu_net *net = begin(&v);
    assert_int_equal(hu_net_apply(net, op, "x", attributes, 1, &v, out), status);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
    hu_net_free(net);
}

static void errors_name_the_node(void **state) {
    (void)state;
    refuses("softmax", "axis=3", HU_ERR_SHAPE, "node 'x'");
    refuses("softmax", "axes=1", HU_ERR_UNKNOWN, "'axis'");
    refuses("reduce_mean", "axes=0;1", HU_ERR_PARSE, "expected whole numbers as 0,1");
    refuses("conv1d", "out=4 kernel=3", HU_ERR_SHAPE, "conv1d: the input is 6x6x1");
    refuses("split", "", HU_ERR_ARGUMENT, "first, parts and sizes");
    refuses("group_norm", "", HU_ERR_ARGUMENT, "groups is missing");
    refuses("reshape", "shape=5x5", HU_ERR_SHAPE, "another number of elements");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_learn_in_every_precision),
        cmocka_unit_test(networks_learn_with_every_accumulator),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(errors_name_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
