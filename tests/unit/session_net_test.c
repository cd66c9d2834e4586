/* Networks that a program declares, trained on samples that it makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <halfulp/train.h>

#include "bright_rows.h"

static void apply(hu_net *net, const char *op, const char *name, const char *attributes,
                  hu_value *value) {
    if (hu_net_apply(net, op, name, attributes, 1, value, value) != HU_OK)
        fail_msg("%s", hu_last_error());
}

static hu_net *make_net(int64_t side) {
    const hu_shape image = {3, {side, side, 1}};
    hu_value value[HU_NET_OUTPUTS];
    hu_net *net;
    assert_int_equal(hu_net_create(&net), HU_OK);
    assert_int_equal(hu_net_input(net, "input", &image, value), HU_OK);
    apply(net, "conv2d", "conv1", "out=8 kernel=3 pad=1 bias=off", value);
    apply(net, "batch_norm", "bn1", NULL, value);
    apply(net, "relu", "relu1", "", value);
    apply(net, "max_pool", "pool1", "kernel=2", value);
    apply(net, "linear", "fc", "out=3", value);
    assert_int_equal(hu_net_head(net, value[0]), HU_OK);
    return net;
}

static hu_status open_net(hu_net *net, const hu_dataset *data, const char *precision,
                          hu_training **training) {
    const hu_setting settings[] = {{"precision", precision}, {"run.batch", "12"}, {"steps", "40"},
                                   {"threads", "2"},         {"lr.base", "0.1"},  {"seed", "4"}};
    return hu_training_open(net, settings, sizeof settings / sizeof *settings, data, training);
}

static uint64_t train_to(hu_training *training, int64_t last) {
    while (hu_training_step(training) < last) {
        hu_step step = {.size = sizeof step};
        if (hu_training_next(training, &step) != HU_OK) fail_msg("%s", hu_last_error());
    }
    return hu_training_hash(training);
}

static void a_network_learns_in_every_precision(void **state) {
    static const char *const precisions[] = {"fp32", "hfp8", "mxfp8", "e4m3fn:scale=current"};
    (void)state;
    hu_net *net = make_net(SIDE);
    hu_dataset *data = make_data(NULL);
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
        hu_training *training;
        double metric, loss;
        if (open_net(net, data, precisions[p], &training) != HU_OK) fail_msg("%s", hu_last_error());
        train_to(training, 40);
        assert_int_equal(hu_training_test(training, &metric, &loss), HU_OK);
        if (metric < 0.95) fail_msg("%s: accuracy %g", precisions[p], metric);
        hu_training_close(training);
    }
    hu_dataset_close(data);
    hu_net_free(net);
}

/* Two trainings of one net, one of them saved, closed and resumed half-way. */
static void a_resumed_network_has_the_same_bits(void **state) {
    char folder[] = "/tmp/net-XXXXXX", command[128];
    (void)state;
    assert_non_null(mkdtemp(folder));
    hu_net *net = make_net(SIDE);
    hu_dataset *data = make_data(NULL);
    hu_training *whole, *half, *rest;
    assert_int_equal(open_net(net, data, "hfp8", &whole), HU_OK);
    assert_int_equal(open_net(net, data, "hfp8", &half), HU_OK);
    train_to(half, 15);
    assert_int_equal(hu_training_save(half, folder), HU_OK);
    hu_training_close(half);
    assert_int_equal(open_net(net, data, "hfp8", &rest), HU_OK);
    hu_net_free(net); /* trainings do not need it any more */
    assert_int_equal(hu_training_resume(rest, folder), HU_OK);
    assert_int_equal(train_to(whole, 40), train_to(rest, 40));
    hu_training_close(whole);
    hu_training_close(rest);
    hu_dataset_close(data);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void has_file(const char *folder, const char *name, bool expected) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if ((access(path, F_OK) == 0) != expected) fail_msg("%s", path);
}

/* A run in a folder: left half-way, gone on with, ended; its bits are those of one without. */
static void a_network_keeps_its_run(void **state) {
    static const char *const files[] = {"config.resolved.yaml", "graph.json",     "metrics.csv",
                                        "numerics.jsonl",       "progress.jsonl", "plan.json",
                                        "checkpoint",           "best",           "data.txt"};
    char folder[] = "/tmp/net-XXXXXX", run[64], command[128];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(run, sizeof run, "%s/run", folder);
    const hu_setting settings[] = {{"precision", "hfp8"}, {"run.batch", "12"}, {"steps", "40"},
                                   {"threads", "2"},      {"lr.base", "0.1"},  {"seed", "4"},
                                   {"run.dir", run}};
    const size_t count = sizeof settings / sizeof *settings;
    hu_net *net = make_net(SIDE);
    hu_dataset *data = make_data(NULL);
    hu_training *whole, *half, *rest;
    hu_step step = {.size = sizeof step};
    assert_int_equal(open_net(net, data, "hfp8", &whole), HU_OK);
    if (hu_training_open(net, settings, count, data, &half) != HU_OK)
        fail_msg("%s", hu_last_error());
    train_to(half, 15);
    assert_int_equal(hu_training_reopen(net, NULL, 0, data, run, &rest), HU_ERR_IO); /* held */
    hu_training_close(half);
    assert_int_equal(hu_training_open(net, settings, count, data, &rest), HU_ERR_ARGUMENT);
    has_file(run, "result.json", false);
    assert_int_equal(hu_training_reopen(NULL, NULL, 0, data, run, &rest), HU_ERR_UNKNOWN);
    if (hu_training_reopen(net, NULL, 0, data, run, &rest) != HU_OK)
        fail_msg("%s", hu_last_error());
    assert_int_equal(hu_training_step(rest), 15);
    assert_int_equal(hu_training_resume(rest, run), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "hu_training_reopen"));
    assert_int_equal(hu_training_step(rest), 15);
    assert_true(train_to(whole, 40) == train_to(rest, 40));
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) has_file(run, files[f], true);
    has_file(run, "result.json", true);
    assert_int_equal(hu_training_next(rest, &step), HU_ERR_ARGUMENT);
    hu_training_close(whole);
    hu_training_close(rest);
    hu_dataset_close(data);
    hu_net_free(net);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void a_failing_source_ends_the_step(void **state) {
    (void)state;
    int64_t broken = 7;
    hu_net *net = make_net(SIDE);
    hu_dataset *data = make_data(&broken);
    hu_training *training;
    hu_status st = HU_OK;
    assert_int_equal(open_net(net, data, "fp32", &training), HU_OK);
    for (int s = 0; s < 4 && st == HU_OK; s++) { /* one epoch has all samples */
        hu_step step = {.size = sizeof step};
        st = hu_training_next(training, &step);
    }
    assert_int_equal(st, HU_ERR_IO);
    assert_non_null(strstr(hu_last_error(), "index 7 of epoch 0"));
    hu_training_close(training);
    hu_dataset_close(data);
    hu_net_free(net);
}

static void refuses(hu_net *net, const char *op, const char *attributes, hu_value in,
                    hu_status status, const char *word) {
    hu_value out[HU_NET_OUTPUTS];
    assert_int_equal(hu_net_apply(net, op, "x", attributes, 1, &in, out), status);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

static void declarations_are_checked_at_once(void **state) {
    (void)state;
    hu_net *net = make_net(SIDE);
    refuses(net, "conv3d", "", 0, HU_ERR_UNKNOWN, "'conv2d'");
    refuses(net, "conv2d", "out=4 kernal=3", 0, HU_ERR_UNKNOWN, "'kernel'");
    refuses(net, "conv2d", "kernel=3", 0, HU_ERR_ARGUMENT, "out is missing");
    refuses(net, "nll", "", 0, HU_ERR_ARGUMENT, "a loss");
    refuses(net, "conv2d", "out=4 kernel=30", 0, HU_ERR_SHAPE, "node 'x'");
    refuses(net, "relu", "", 0, HU_ERR_ARGUMENT, "has failed");
    hu_net_free(net);
}

static void does_not_open(hu_net *net, hu_status status, const char *word) {
    hu_dataset *data = make_data(NULL);
    hu_training *training;
    assert_int_equal(open_net(net, data, "fp32", &training), status);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
    assert_null(training);
    hu_dataset_close(data);
    hu_net_free(net);
}

static void a_network_must_fit_the_data(void **state) {
    (void)state;
    hu_net *net;
    hu_value value[HU_NET_OUTPUTS];
    const hu_shape image = {3, {SIDE, SIDE, 1}};
    does_not_open(make_net(8), HU_ERR_SHAPE, "input 'input'");
    assert_int_equal(hu_net_create(&net), HU_OK);
    assert_int_equal(hu_net_input(net, "input", &image, value), HU_OK);
    does_not_open(net, HU_ERR_ARGUMENT, "no head");
    assert_int_equal(hu_net_create(&net), HU_OK);
    assert_int_equal(hu_net_input(net, "picture", &image, value), HU_OK);
    assert_int_equal(hu_net_head(net, value[0]), HU_OK);
    does_not_open(net, HU_ERR_ARGUMENT, "'picture'");
    assert_int_equal(hu_net_create(&net), HU_OK);
    assert_int_equal(hu_net_input(net, "input", &image, value), HU_OK);
    assert_int_equal(hu_net_head(net, value[0]), HU_OK);
    does_not_open(net, HU_ERR_SHAPE, "needs [3]");
}

static void a_network_and_a_model_are_one_too_many(void **state) {
    (void)state;
    const hu_setting settings[] = {{"model", "cnn-s"}};
    hu_net *net = make_net(SIDE);
    hu_dataset *data = make_data(NULL);
    hu_training *training;
    assert_int_equal(hu_training_open(net, settings, 1, data, &training), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "model"));
    hu_dataset_close(data);
    hu_net_free(net);
}

/* ---- Files ---- */

static uint64_t hash_of(const hu_net *net, const hu_setting *settings, size_t count,
                        const hu_dataset *data) {
    hu_training *training;
    hu_step step = {.size = sizeof step};
    if (hu_training_open(net, settings, count, data, &training) != HU_OK)
        fail_msg("%s", hu_last_error());
    for (int i = 0; i < 4; i++) assert_int_equal(hu_training_next(training, &step), HU_OK);
    uint64_t hash = hu_training_hash(training);
    hu_training_close(training);
    return hash;
}

/* A declared network, its file, the setting model=FILE and the file saved again train alike. */
static void a_saved_network_trains_alike(void **state) {
    (void)state;
    static const hu_setting settings[] = {{"precision", "hfp8"}, {"run.steps", "4"},
                                          {"run.batch", "12"},   {"lr.base", "0.05"},
                                          {"seed", "3"},         {"model", "net-b.yaml"}};
    enum { SETTINGS = sizeof settings / sizeof *settings };
    hu_dataset *data = make_data(NULL);
    hu_net *net = make_net(SIDE), *loaded;
    if (hu_net_save(net, "net-a.yaml") != HU_OK) fail_msg("%s", hu_last_error());
    if (hu_net_load("net-a.yaml", &loaded) != HU_OK) fail_msg("%s", hu_last_error());
    assert_int_equal(hu_net_save(loaded, "net-b.yaml"), HU_OK);
    uint64_t hash = hash_of(net, settings, SETTINGS - 1, data);
    assert_int_equal(hash_of(loaded, settings, SETTINGS - 1, data), hash);
    assert_int_equal(hash_of(NULL, settings, SETTINGS, data), hash);
    hu_value value = 0;
    assert_int_equal(hu_net_head(loaded, 0), HU_ERR_ARGUMENT);
    assert_int_equal(hu_net_apply(loaded, "relu", "r", NULL, 1, &value, &value), HU_ERR_ARGUMENT);
    hu_net_free(loaded);
    hu_net_free(net);
    hu_dataset_close(data);
    remove("net-a.yaml");
    remove("net-b.yaml");
}

static void files_that_are_none_are_refused(void **state) {
    (void)state;
    hu_net *net;
    assert_int_equal(hu_net_load("net-missing.yaml", &net), HU_ERR_MISSING);
    assert_null(net);
    assert_int_equal(hu_net_load("net.txt", &net), HU_ERR_ARGUMENT);
    FILE *file = fopen("net-bad.yaml", "w");
    fputs("halfulp_network: 7\n", file);
    fclose(file);
    assert_int_equal(hu_net_load("net-bad.yaml", &net), HU_ERR_VERSION);
    assert_non_null(strstr(hu_last_error(), "net-bad.yaml:1:1"));
    remove("net-bad.yaml");
    assert_int_equal(hu_net_create(&net), HU_OK);
    assert_int_equal(hu_net_save(net, "net-none.yaml"), HU_ERR_ARGUMENT);
    hu_net_free(net);
}

/* ---- Operations ---- */

/* A number outside of what an attribute takes is refused, whatever the rest. */
static void ranges_are_held(void **state) {
    (void)state;
    int ranges = 0;
    for (size_t i = 0; i < hu_operation_count(); i++) {
        hu_operation op = {.size = sizeof op};
        assert_int_equal(hu_operation_at(i, &op), HU_OK);
        for (size_t a = 0; a < op.attributes; a++) {
            hu_operation_attribute of = {.size = sizeof of};
            hu_operation_shapes shapes = {.size = sizeof shapes};
            char text[64];
            assert_int_equal(hu_operation_attribute_at(op.name, a, &of), HU_OK);
            if (of.least == of.most) continue;
            ranges++;
            snprintf(text, sizeof text, "%s=%g", of.name, of.least - 1.0);
            assert_int_equal(hu_operation_infer(op.name, text, 0, NULL, &shapes), HU_ERR_ARGUMENT);
            assert_non_null(strstr(hu_last_error(), of.name));
            if (of.most > 1e300) continue;
            snprintf(text, sizeof text, "%s=%g", of.name, of.most + 1.0);
            assert_int_equal(hu_operation_infer(op.name, text, 0, NULL, &shapes), HU_ERR_ARGUMENT);
        }
    }
    assert_true(ranges > 60);
}

static void operations_tell_of_themselves(void **state) {
    (void)state;
    bool has_conv = false, has_loss = false;
    hu_operation op = {.size = sizeof op};
    hu_operation_attribute attribute = {.size = sizeof attribute};
    for (size_t i = 0; i < hu_operation_count(); i++) {
        assert_int_equal(hu_operation_at(i, &op), HU_OK);
        for (size_t a = 0; a < op.attributes; a++) {
            assert_int_equal(hu_operation_attribute_at(op.name, a, &attribute), HU_OK);
            assert_true(attribute.name[0] && attribute.form[0]);
        }
        has_conv |= strcmp(op.name, "conv2d") == 0 && op.multiplies && op.attributes > 8;
        has_loss |= strcmp(op.name, "nll") == 0 && op.is_loss;
        assert_int_equal(hu_operation_attribute_at(op.name, op.attributes, &attribute),
                         HU_ERR_ARGUMENT);
    }
    assert_true(has_conv && has_loss);
    assert_int_equal(hu_operation_at(hu_operation_count(), &op), HU_ERR_ARGUMENT);
    assert_int_equal(hu_operation_attribute_at("conv2d", 0, &attribute), HU_OK);
    assert_true(strcmp(attribute.name, "out") == 0 && attribute.is_needed);
    assert_int_equal(hu_operation_attribute_at("conv3d", 0, &attribute), HU_ERR_UNKNOWN);
    assert_true(attribute.least == 1.0 && attribute.most > 1e300);
    const hu_shape image = {3, {8, 6, 3}};
    hu_operation_shapes shapes = {.size = sizeof shapes};
    assert_int_equal(hu_operation_infer("conv2d", "out=4 kernel=3", 1, &image, &shapes), HU_OK);
    assert_true(shapes.outputs == 1 && shapes.output[0].extent[0] == 6 &&
                shapes.output[0].extent[2] == 4);
    assert_true(shapes.parameters == 2 && strcmp(shapes.parameter_name[1], "bias") == 0 &&
                shapes.parameter[0].extent[3] == 3 && shapes.is_trained[0]);
    assert_int_equal(hu_operation_infer("batch_norm", NULL, 1, &image, &shapes), HU_OK);
    assert_true(shapes.parameters == 4 && !shapes.is_trained[2]);
    assert_int_equal(hu_operation_infer("conv2d", "out=4 kernel=9", 1, &image, &shapes),
                     HU_ERR_SHAPE);
    assert_int_equal(hu_operation_infer("add", "", 0, NULL, &shapes), HU_ERR_SHAPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_learns_in_every_precision),
        cmocka_unit_test(a_resumed_network_has_the_same_bits),
        cmocka_unit_test(a_network_keeps_its_run),
        cmocka_unit_test(a_failing_source_ends_the_step),
        cmocka_unit_test(declarations_are_checked_at_once),
        cmocka_unit_test(a_network_must_fit_the_data),
        cmocka_unit_test(a_network_and_a_model_are_one_too_many),
        cmocka_unit_test(a_saved_network_trains_alike),
        cmocka_unit_test(files_that_are_none_are_refused),
        cmocka_unit_test(ranges_are_held),
        cmocka_unit_test(operations_tell_of_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
