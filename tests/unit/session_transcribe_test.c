/* A network that a program declares learns to spell sequences whose marks nobody places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <halfulp/train.h>

enum { FRAMES = 15, BINS = 4, LETTERS = 3, SAMPLES = 60, CLASSES = 4, STRIDE = 2 };
enum { FEATURES, LABEL, LENGTH };

/* A hash of two numbers. */
static uint32_t mix(int64_t a, int64_t b) {
    uint32_t x = (uint32_t)(a * 7919 + b * 104729 + 12345);
    x ^= x >> 13;
    x *= 0x5bd1e995u;
    return x ^ x >> 15;
}

static int letters_of(int64_t index) {
    return (int)(mix(index, 0) % (LETTERS + 1));
}

static int letter(int64_t index, int i) {
    return 1 + (int)(mix(index, 1 + i) % (CLASSES - 1));
}

/* Each letter lies four frames long in the bin of its number; a little noise everywhere. */
static void fill_features(int64_t index, float *row) {
    for (int t = 0; t < FRAMES; t++)
        for (int b = 0; b < BINS; b++) {
            bool is_on = t / 5 < letters_of(index) && t % 5 < 4 && letter(index, t / 5) == b;
            row[t * BINS + b] =
                (is_on ? 1.0f : 0.0f) + 0.01f * (float)(mix(index, 100 + t * BINS + b) % 16);
        }
}

static hu_status fill(void *context, int field, int64_t epoch, int64_t index, float *row) {
    (void)context, (void)epoch;
    if (field == FEATURES) fill_features(index, row);
    if (field == LENGTH) row[0] = (float)(letters_of(index) * 5 > 2 ? letters_of(index) * 5 : 2);
    for (int i = 0; field == LABEL && i < LETTERS; i++)
        row[i] = i < letters_of(index) ? (float)letter(index, i) : (float)HU_UNLABELLED;
    return HU_OK;
}

static hu_dataset *make_data(void) {
    const hu_field fields[] = {
        {.name = "features", .rank = 3, .extent = {FRAMES, BINS, 1}},
        {.name = "label", .rank = 1, .extent = {LETTERS}, .classes = CLASSES},
        {.name = "length"}};
    const hu_sample_source source = {sizeof source, SAMPLES, NULL, fill};
    hu_dataset *data;
    assert_int_equal(hu_dataset_of_sources(fields, 3, &source, &source, &data), HU_OK);
    return data;
}

static void apply(hu_net *net, const char *op, const char *name, const char *attributes, size_t n,
                  hu_value *value) {
    if (hu_net_apply(net, op, name, attributes, n, value, value) != HU_OK)
        fail_msg("%s", hu_last_error());
}

/* A convolution over the frames, of which every second is looked at, and a layer for each. */
static hu_net *make_net(void) {
    const hu_shape sound = {3, {FRAMES, BINS, 1}};
    hu_value value[HU_NET_OUTPUTS];
    hu_net *net;
    assert_int_equal(hu_net_create(&net), HU_OK);
    assert_int_equal(hu_net_input(net, "input", &sound, value), HU_OK);
    apply(net, "conv2d", "conv", "out=16 kernel=5x4 stride=2x1 pad=2x0", 1, value);
    apply(net, "relu", "relu", "", 1, value);
    apply(net, "reshape", "rows", "shape=8x16", 1, value);
    apply(net, "linear", "fc", "out=4 rows=on", 1, value);
    assert_int_equal(hu_net_head(net, value[0]), HU_OK);
    return net;
}

static hu_training *open_with(const hu_net *net, const hu_dataset *data, const char *precision,
                              const char *loss, const char *threads, const char *storage) {
    hu_training *training;
    const hu_setting settings[] = {{"precision", precision},
                                   {"run.batch", "12"},
                                   {"steps", "200"},
                                   {"threads", threads},
                                   {"run.storage", storage},
                                   {"lr.base", "0.05"},
                                   {"seed", "4"},
                                   {"task.name", "transcribe"},
                                   {"task.loss", loss}};
    if (hu_training_open(net, settings, sizeof settings / sizeof *settings, data, &training) !=
        HU_OK)
        fail_msg("%s", hu_last_error());
    return training;
}

static uint64_t train_to(hu_training *training, int64_t last) {
    while (hu_training_step(training) < last) {
        hu_step step = {.size = sizeof step};
        if (hu_training_next(training, &step) != HU_OK) fail_msg("%s", hu_last_error());
    }
    return hu_training_hash(training);
}

static void a_network_learns_to_spell(void **state) {
    static const char *const table[][2] = {{"fp32", "ctc"}, {"hfp8", "ctc_nll"}, {"fp16", "auto"}};
    (void)state;
    hu_net *net = make_net();
    hu_dataset *data = make_data();
    for (size_t p = 0; p < sizeof table / sizeof *table; p++) {
        hu_training *training = open_with(net, data, table[p][0], table[p][1], "2", "packed");
        double rate, loss;
        train_to(training, 200);
        assert_int_equal(hu_training_test(training, &rate, &loss), HU_OK);
        if (!(rate < 0.05)) fail_msg("%s: label error rate %g", table[p][0], rate);
        hu_training_close(training);
    }
    hu_dataset_close(data);
    hu_net_free(net);
}

static void threads_and_storage_change_no_bit(void **state) {
    static const char *const table[][2] = {{"1", "packed"}, {"3", "packed"}, {"2", "float32"}};
    (void)state;
    hu_net *net = make_net();
    hu_dataset *data = make_data();
    uint64_t first = 0;
    for (size_t p = 0; p < sizeof table / sizeof *table; p++) {
        hu_training *training = open_with(net, data, "fp16", "auto", table[p][0], table[p][1]);
        uint64_t hash = train_to(training, 25);
        if (p == 0) first = hash;
        assert_int_equal(hash, first);
        hu_training_close(training);
    }
    hu_dataset_close(data);
    hu_net_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_network_learns_to_spell),
                                       cmocka_unit_test(threads_and_storage_change_no_bit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
