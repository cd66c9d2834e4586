/* A network of one's own that flattens an image: what is exported gives the same answers when it is
 * computed as torch does, channels first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <halfulp/train.h>
#include <math.h>

#include "store/safetensors.h"

enum { HEIGHT = 4, WIDTH = 5, CHANNELS = 3, MAPS = 6, HIDDEN = 7, CLASSES = 4, SAMPLES = 40 };
enum { PIXELS = HEIGHT * WIDTH, FLAT = PIXELS * MAPS };

/* Pixel [y, x, c] of a sample: one channel is bright on one side, by its class. */
static float pixel(int64_t index, int64_t y, int64_t x, int64_t c) {
    int64_t label = index % CLASSES;
    bool is_left = x < 2, is_bright = c == label / 2 && is_left == (label % 2 == 0);
    return (is_bright ? 1.0f : 0.0f) + 0.05f * (float)((index * 31 + y * 17 + x * 7 + c * 3) % 13);
}

static hu_status fill(void *context, int field, int64_t epoch, int64_t index, float *row) {
    (void)context, (void)epoch;
    if (field == 1) row[0] = (float)(index % CLASSES);
    if (field == 1) return HU_OK;
    for (int64_t y = 0; y < HEIGHT; y++)
        for (int64_t x = 0; x < WIDTH; x++)
            for (int64_t c = 0; c < CHANNELS; c++)
                row[(y * WIDTH + x) * CHANNELS + c] = pixel(index, y, x, c);
    return HU_OK;
}

static hu_dataset *make_data(void) {
    const hu_field fields[] = {{.name = "image", .rank = 3, .extent = {HEIGHT, WIDTH, CHANNELS}},
                               {.name = "label", .classes = CLASSES}};
    const hu_sample_source source = {sizeof source, SAMPLES, NULL, fill};
    hu_dataset *data;
    assert_int_equal(hu_dataset_of_sources(fields, 2, &source, &source, &data), HU_OK);
    return data;
}

static void apply(hu_net *net, const char *op, const char *name, const char *attributes,
                  hu_value *value) {
    if (hu_net_apply(net, op, name, attributes, 1, value, value) != HU_OK)
        fail_msg("%s", hu_last_error());
}

static hu_net *make_net(void) {
    const hu_shape image = {3, {HEIGHT, WIDTH, CHANNELS}};
    hu_value value[HU_NET_OUTPUTS];
    hu_net *net;
    assert_int_equal(hu_net_create(&net), HU_OK);
    assert_int_equal(hu_net_input(net, "input", &image, value), HU_OK);
    apply(net, "conv2d", "conv", "out=6 kernel=3 pad=1", value);
    apply(net, "flatten", "flat", "", value);
    apply(net, "relu", "relu1", "", value);
    apply(net, "linear", "fc1", "out=7", value);
    apply(net, "relu", "relu2", "", value);
    apply(net, "linear", "fc2", "out=4", value);
    assert_int_equal(hu_net_head(net, value[0]), HU_OK);
    return net;
}

static hu_training *open_net(const hu_net *net, const hu_dataset *data, const char *init) {
    const hu_setting settings[] = {{"run.batch", "10"}, {"steps", "40"}, {"threads", "1"},
                                   {"lr.base", "0.1"},  {"seed", "4"},   {"init", init}};
    hu_training *training;
    if (hu_training_open(net, settings, sizeof settings / sizeof *settings, data, &training) !=
        HU_OK)
        fail_msg("%s", hu_last_error());
    return training;
}

/* ---- the same network as torch computes it, from the file alone ---- */

typedef struct weights {
    float conv[MAPS * CHANNELS * 9], conv_bias[MAPS]; /* [out, in, kh, kw] */
    float fc1[HIDDEN * FLAT], fc1_bias[HIDDEN];
    float fc2[CLASSES * HIDDEN], fc2_bias[CLASSES];
} weights;

static void read_one(const hu_safetensors *file, const char *name, float *x, size_t count) {
    const hu_safetensor *tensor = hu_safetensors_find(file, name);
    assert_non_null(tensor);
    assert_int_equal(tensor->elements, count);
    assert_int_equal(hu_safetensors_read(file, tensor, x), HU_OK);
}

static void read_weights(const char *path, weights *w) {
    hu_safetensors *file;
    assert_int_equal(hu_safetensors_open(path, &file), HU_OK);
    read_one(file, "conv.weight", w->conv, (size_t)MAPS * CHANNELS * 9);
    read_one(file, "conv.bias", w->conv_bias, MAPS);
    read_one(file, "fc1.weight", w->fc1, (size_t)HIDDEN * FLAT);
    read_one(file, "fc1.bias", w->fc1_bias, HIDDEN);
    read_one(file, "fc2.weight", w->fc2, (size_t)CLASSES * HIDDEN);
    read_one(file, "fc2.bias", w->fc2_bias, CLASSES);
    hu_safetensors_free(file);
}

/* x [CHANNELS, HEIGHT, WIDTH] of a sample -> map [MAPS, HEIGHT, WIDTH] */
static double convolved(const weights *w, int64_t index, int64_t o, int64_t y, int64_t x) {
    double sum = (double)w->conv_bias[o];
    for (int64_t c = 0; c < CHANNELS; c++)
        for (int64_t t = 0; t < 9; t++) {
            int64_t at_y = y + t / 3 - 1, at_x = x + t % 3 - 1;
            if (at_y < 0 || at_y >= HEIGHT || at_x < 0 || at_x >= WIDTH) continue;
            sum +=
                (double)w->conv[(o * CHANNELS + c) * 9 + t] * (double)pixel(index, at_y, at_x, c);
        }
    return sum;
}

static void linear(const float *weight, const float *bias, int64_t out, int64_t in, bool bends,
                   const double *x, double *y) {
    for (int64_t o = 0; o < out; o++) {
        y[o] = (double)bias[o];
        for (int64_t i = 0; i < in; i++) y[o] += (double)weight[o * in + i] * x[i];
        if (bends && y[o] < 0) y[o] = 0;
    }
}

/* Probability of the class that is likeliest, and which that is. */
static double likeliest(const weights *w, int64_t index, int64_t *class) {
    double flat[FLAT], hidden[HIDDEN], logit[CLASSES], sum = 0;
    for (int64_t o = 0; o < MAPS; o++)
        for (int64_t p = 0; p < PIXELS; p++)
            flat[o * PIXELS + p] = fmax(0.0, convolved(w, index, o, p / WIDTH, p % WIDTH));
    linear(w->fc1, w->fc1_bias, HIDDEN, FLAT, true, flat, hidden);
    linear(w->fc2, w->fc2_bias, CLASSES, HIDDEN, false, hidden, logit);
    *class = 0;
    for (int64_t k = 1; k < CLASSES; k++)
        if (logit[k] > logit[*class]) *class = k;
    for (int64_t k = 0; k < CLASSES; k++) sum += exp(logit[k] - logit[*class]);
    return 1.0 / sum;
}

static void what_is_exported_is_the_network(void **state) {
    char folder[] = "/tmp/flat-XXXXXX", path[64];
    static weights w;
    double cells[SAMPLES * HU_PREDICTION_COLUMNS], metric, loss;
    const char *titles[HU_PREDICTION_COLUMNS];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    hu_net *net = make_net();
    hu_dataset *data = make_data();
    hu_training *training = open_net(net, data, "none");
    while (hu_training_step(training) < 40) {
        hu_step step = {.size = sizeof step};
        assert_int_equal(hu_training_next(training, &step), HU_OK);
    }
    assert_int_equal(hu_training_test(training, &metric, &loss), HU_OK);
    assert_true(metric > 0.9);
    assert_int_equal(hu_training_predict(training, SAMPLES, cells), HU_OK);
    int columns = hu_training_columns(training, titles);
    assert_string_equal(titles[columns - 1], "probability");
    assert_int_equal(hu_training_export(training, path), HU_OK);
    read_weights(path, &w);
    for (int64_t i = 0; i < SAMPLES; i++) {
        int64_t class;
        double p = likeliest(&w, i, &class);
        assert_int_equal(class, (int64_t)cells[i * columns + 1]);
        if (fabs(p - cells[i * columns + 2]) > 1e-5) fail_msg("sample %d: %g", (int)i, p);
    }
    hu_training *again = open_net(net, data, path);
    assert_int_equal(hu_training_hash(again), hu_training_hash(training));
    hu_training_close(again);
    hu_training_close(training);
    hu_dataset_close(data);
    hu_net_free(net);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_exported_is_the_network)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
