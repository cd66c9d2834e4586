/* A network of a program's own made of elementwise operations and arithmetic of stretched shapes:
 * it learns in float32 and in hfp8, and threads change no bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <halfulp/train.h>

#include "bright_rows.h"

enum { STEPS = 50, FEW = 10 };

static hu_net *net;

static hu_value join(const char *op, const char *name, const char *attributes, size_t n,
                     const hu_value *in) {
    hu_value out[HU_NET_OUTPUTS];
    if (hu_net_apply(net, op, name, attributes, n, in, out) != HU_OK)
        fail_msg("%s", hu_last_error());
    return out[0];
}

static hu_value apply(const char *op, const char *name, const char *attributes, hu_value in) {
    return join(op, name, attributes, 1, &in);
}

static hu_value both(const char *op, const char *name, hu_value a, hu_value b) {
    return join(op, name, "", 2, (const hu_value[]){a, b});
}

/* A convolution with a norm, and an activation. */
static hu_value layer(hu_value x, const char *name, const char *activation,
                      const char *attributes) {
    char text[64];
    snprintf(text, sizeof text, "%s.conv", name);
    x = apply("conv2d", text, "out=8 kernel=3 pad=1 bias=off", x);
    snprintf(text, sizeof text, "%s.norm", name);
    x = apply("batch_norm", text, "", x);
    snprintf(text, sizeof text, "%s.act", name);
    return apply(activation, text, attributes, x);
}

/* The gate of squeeze and excite. */
static hu_value gate(hu_value x, const char *name) {
    char text[64];
    snprintf(text, sizeof text, "%s.pool", name);
    hu_value g = apply("global_avg_pool", text, "", x);
    snprintf(text, sizeof text, "%s.fc", name);
    g = apply("linear", text, "out=8 rows=on", g);
    snprintf(text, sizeof text, "%s.hard", name);
    g = apply("hard_sigmoid", text, "", g);
    return both("mul", name, x, g);
}

/* Numbers between about 0.7 and 3: what roots and logarithms need. */
static hu_value positive(hu_value x) {
    x = apply("clip", "low", "low=-0.4 high=1", x);
    x = apply("exp", "exp", "", x);
    x = apply("maximum", "least", "value=0.5", x);
    x = apply("log", "log", "", apply("add", "more", "value=0.75", x));
    return apply("sqrt", "sqrt", "", apply("abs", "abs", "", apply("add", "up", "value=0.5", x)));
}

static void make_net(void) {
    const hu_shape image = {3, {SIDE, SIDE, 1}};
    hu_value x;
    assert_int_equal(hu_net_create(&net), HU_OK);
    assert_int_equal(hu_net_input(net, "input", &image, &x), HU_OK);
    x = apply("sub", "centre", "value=0.3", x);
    x = apply("div", "spread", "value=0.5", x);
    hu_value one = gate(layer(x, "a", "silu", ""), "se");
    hu_value two = apply("mul", "scale", "shape=8 init=constant:0.5",
                         apply("conv2d", "b", "out=8 kernel=1 bias=on", one));
    hu_value sum = both("add", "block", one, two);
    hu_value three = layer(sum, "c", "hard_swish", "");
    three = apply("sub", "offset", "shape=6x1x1", apply("div", "by", "shape=1x6x8", three));
    hu_value low = both("minimum", "low2", three, apply("neg", "neg", "", sum));
    hu_value part = join("where", "choice", "", 3, (const hu_value[]){x, three, low});
    part = both("sub", "less", part, apply("global_avg_pool", "mean", "", three));
    hu_value root = positive(sum);
    part = both("div", "ratio", part, root);
    part = both("add", "powers",
                apply("pow", "cube", "exponent=3", apply("mul", "small", "value=0.3", part)),
                apply("square", "square", "", apply("mul", "half", "value=0.5", part)));
    x = both("add", "last", part, apply("pow", "some", "exponent=1.5", root));
    x = apply("linear", "fc", "out=3", x);
    assert_int_equal(hu_net_head(net, x), HU_OK);
}

static hu_training *open_training(const hu_dataset *data, const char *precision,
                                  const char *threads, const char *lr) {
    const hu_setting settings[] = {{"precision", precision}, {"run.batch", "12"}, {"steps", "50"},
                                   {"threads", threads},     {"lr.base", lr},     {"seed", "4"}};
    hu_training *training;
    if (hu_training_open(net, settings, sizeof settings / sizeof *settings, data, &training) !=
        HU_OK)
        fail_msg("%s", hu_last_error());
    return training;
}

/* The mean loss of the first and of the last few steps. */
static uint64_t train(hu_training *training, double *before, double *after) {
    *before = *after = 0;
    for (int i = 0; i < STEPS; i++) {
        hu_step step = {.size = sizeof step};
        if (hu_training_next(training, &step) != HU_OK) fail_msg("%s", hu_last_error());
        if (i < FEW) *before += step.loss / FEW;
        if (i >= STEPS - FEW) *after += step.loss / FEW;
    }
    return hu_training_hash(training);
}

static void the_loss_falls_and_threads_change_no_bit(void **state) {
    static const char *const precisions[] = {"fp32", "hfp8"};
    (void)state;
    make_net();
    hu_dataset *data = make_data(NULL);
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
        hu_training *one = open_training(data, precisions[p], "1", "0.02");
        hu_training *two = open_training(data, precisions[p], "2", "0.02");
        double before, after;
        uint64_t hash = train(one, &before, &after);
        if (!(after < 0.5 * before)) fail_msg("%s: %g, then %g", precisions[p], before, after);
        assert_true(train(two, &before, &after) == hash);
        hu_training_close(one);
        hu_training_close(two);
    }
    hu_dataset_close(data);
    hu_net_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_falls_and_threads_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
