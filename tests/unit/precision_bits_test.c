/* Texts of bits, the layers that have them, and the schedules that follow from the step alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits_fixture.h"
#include "config/config.h"
#include "op/attributes.h"
#include "precision/internal.h"
#include "precision/precision.h"

static void test_list(void **state) {
    (void)state;
    char text[64];
    for (int s = 0; s < HU_BITS_SCHEDULES; s++) {
        const hu_bits_schedule *row = hu_bits_table[s];
        char keys[256], *rest = NULL;
        assert_true(row->name[0] && row->help[0] && row->deploys_at[0]);
        assert_true(row->create && row->at);
        assert_true(!row->save == !row->check && !row->save == !row->restore);
        assert_true(!row->after_step == !row->save && !row->cases == !row->suppose);
        snprintf(keys, sizeof keys, "%s", row->keys);
        for (char *key = strtok_r(keys, " ", &rest); key; key = strtok_r(NULL, " ", &rest))
            if (!hu_config_key_find(key)) fail_msg("%s: no key '%s'", row->name, key);
        snprintf(text, sizeof text, "%s%s%s", row->name, row->argument[0] ? ":" : "",
                 strcmp(row->argument, "A-B") == 0 ? "3-8"
                 : row->argument[0]                ? "8"
                                                   : "");
        assert_ptr_equal(bits_of_text(text).schedule, row);
    }
}

/* The settings of a text are those of the keys' usual values. */
static void test_usual(void **state) {
    (void)state;
    const hu_bits bits = bits_of_text("ldp:3-8");
    const struct {
        const char *key;
        double value;
    } rows[] = {{"bits.exponent", bits.exponent_bits},
                {"bits.grad", bits.gradient.most},
                {"bits.cycles", (double)bits.cycles},
                {"bits.every", (double)bits.every},
                {"bits.until", (double)bits.until},
                {"bits.interval", (double)bits.interval},
                {"bits.epsilon", bits.epsilon},
                {"bits.decay", bits.decay},
                {"bits.target", bits.target},
                {"bits.balance", bits.balance},
                {"bits.lr", bits.rate},
                {"bits.residual", bits.residual_bits}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strtod(hu_config_key_find(rows[i].key)->preset, NULL) != rows[i].value)
            fail_msg("%s: %g", rows[i].key, rows[i].value);
    assert_true(bits.last_float && !bits.first_float && !bits.by_step && !bits.gradient_follows);
    assert_string_equal(hu_config_key_find("bits.cost")->preset, bits.cost->name);
    assert_string_equal(hu_config_key_find("bits.set")->preset, "4,6,8");
    assert_int_equal(bits.set_count, 3);
    assert_memory_equal(bits.set, "\4\6\10", 3);
}

static void expect_error(const char *text, hu_status status, const char *part) {
    hu_precision precision;
    hu_status st = hu_precision_parse(text, &precision);
    if (st != status || !strstr(hu_last_error(), part))
        fail_msg("%s: %d '%s', expected %d '%s'", text, st, hu_last_error(), status, part);
}

static void test_texts(void **state) {
    (void)state;
    const hu_bits bits = bits_of_text("cpt:3-8");
    assert_int_equal(bits.forward.least, 3);
    assert_int_equal(bits.forward.most, 8);
    expect_error("cpt:8-4", HU_ERR_ARGUMENT, "empty");
    expect_error("cpt:1-8", HU_ERR_ARGUMENT, "found 1 bits, expected 2 to 16");
    expect_error("pfq:3-17", HU_ERR_ARGUMENT, "found 17 bits");
    expect_error("ldp:3-", HU_ERR_PARSE, "found '3-'");
    expect_error("ldp", HU_ERR_PARSE, "ldp:A-B, as in ldp:4-8");
    expect_error("ldp:8", HU_ERR_PARSE, "ldp:A-B");
    expect_error("static:4-8", HU_ERR_PARSE, "static:B, as in static:8");
    expect_error("static:0", HU_ERR_ARGUMENT, "found 0 bits");
    expect_error("static:8x", HU_ERR_PARSE, "8x");
    expect_error("random:4", HU_ERR_PARSE, "'random' alone");
    expect_error("cpt:4-8+promote", HU_ERR_PARSE, "+promote");
    expect_error("cpq:4-8", HU_ERR_UNKNOWN, "'cpt:4-8'");
    hu_precision precision;
    assert_int_equal(hu_precision_parse("cpt:2-16", &precision), HU_OK);
    assert_int_equal(precision.bits.forward.most, 16);
    assert_false(precision.eval_masters);
}

static void test_lists(void **state) {
    (void)state;
    hu_bits bits = bits_of_text("staged");
    assert_int_equal(hu_bits_add_stage(&bits, "30: 6"), HU_ERR_ARGUMENT);
    assert_int_equal(hu_bits_add_stage(&bits, "0: 4 6 12"), HU_OK);
    assert_int_equal(hu_bits_add_stage(&bits, "0: 4"), HU_ERR_ARGUMENT);
    assert_int_equal(hu_bits_add_stage(&bits, "30 6"), HU_ERR_PARSE);
    assert_int_equal(hu_bits_add_stage(&bits, "30:"), HU_ERR_PARSE);
    assert_int_equal(hu_bits_add_stage(&bits, "30: 6x"), HU_ERR_PARSE);
    assert_int_equal(hu_bits_add_stage(&bits, "30: 17"), HU_ERR_ARGUMENT);
    assert_int_equal(hu_bits_add_stage(&bits, "30: 3"), HU_OK);
    assert_int_equal(bits.stage_count, 2);
    assert_int_equal(bits.stage[0].count, 3);
    assert_int_equal(bits.forward.least, 3);
    assert_int_equal(bits.forward.most, 12);
    assert_int_equal(hu_bits_parse_set("", &bits), HU_ERR_ARGUMENT);
    assert_int_equal(hu_bits_parse_set("5, 3", &bits), HU_OK);
    assert_int_equal(bits.forward.least, 3);
    assert_int_equal(bits.forward.most, 5);
    assert_int_equal(hu_bits_parse_gradient("same", &bits), HU_OK);
    assert_true(bits.gradient_follows);
    assert_int_equal(hu_bits_parse_gradient("6-8", &bits), HU_OK);
    assert_true(!bits.gradient_follows && bits.gradient.least == 6);
    assert_int_equal(hu_bits_parse_gradient("32", &bits), HU_ERR_ARGUMENT);
    char name[HU_BITS_NAME_BYTES];
    hu_bits_name(HU_BITS_FLOAT, 5, 8, name);
    assert_string_equal(name, "e5m2");
    hu_bits_name(HU_BITS_INTEGER, 5, 8, name);
    assert_string_equal(name, "int8");
    hu_bits_name(HU_BITS_INTEGER, 5, HU_BITS_FLOAT32, name);
    assert_string_equal(name, "fp32");
}

/* Layers of the models of the papers: multiply-accumulates, and what follows the products. */
static void test_layers(void **state) {
    (void)state;
    const struct {
        const char *model;
        uint32_t count;
        int64_t macs, others;
    } rows[] = {{"resnet20", 22, 40812544, 2 * 200704 + 188416 + 86016},
                {"resnet38", 40, 83279872, 2 * 372736 + 360448 + 172032},
                {"resnet74", 76, 168214528, 2 * 716800 + 704512 + 344064}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        int64_t others = 0;
        open_layers(&f, rows[i].model, "static:8", 1);
        assert_int_equal(f.layers.count, rows[i].count);
        assert_int_equal(f.layers.quantised, rows[i].count - 1);
        assert_int_equal(hu_bits_macs(&f.layers, true), rows[i].macs);
        assert_int_equal(hu_bits_macs(&f.layers, false), 640);
        for (uint32_t l = 0; l < f.layers.count; l++) others += f.layers.layer[l].others;
        assert_int_equal(others, rows[i].others);
        assert_string_equal(f.layers.layer[0].name, "conv1");
        assert_string_equal(f.layers.layer[rows[i].count - 1].name, "fc");
        assert_int_equal(hu_bits_layer_of(&f.layers, f.layers.layer[5].node), 5);
        close_fixture(&f);
    }
}

static void expect_no_layer(const hu_graph *graph, const hu_bits *bits, const char *part) {
    hu_bits_layers layers;
    assert_int_equal(hu_bits_layers_create(graph, bits, &layers), HU_ERR_ARGUMENT);
    if (!strstr(hu_last_error(), part)) fail_msg("'%s' has no '%s'", hu_last_error(), part);
    assert_null(layers.layer);
}

/* A model that has no layer to quantise, and one whose only layer is the last. */
static void test_no_layers(void **state) {
    (void)state;
    hu_graph *graph;
    hu_value_id value, out[HU_MAX_OUTPUTS];
    hu_bits_layers layers;
    hu_bits bits = bits_of_text("static:8");
    const hu_shape shape = {1, {6}};
    const hu_linear_attrs attrs = {.out_features = 3};
    assert_int_equal(hu_graph_create(&graph), HU_OK);
    assert_int_equal(hu_graph_input(graph, "input", &shape, &value), HU_OK);
    assert_int_equal(hu_graph_apply(graph, &hu_op_relu, "relu", NULL, NULL, 1, &value, out), HU_OK);
    expect_no_layer(graph, &bits, "without convolutions and linear layers");
    assert_int_equal(hu_graph_apply(graph, &hu_op_linear, "fc", NULL, &attrs, 1, out, out), HU_OK);
    expect_no_layer(graph, &bits, "'fc' the last of 1; expected another one, or bits.last_float");
    bits.last_float = false;
    assert_int_equal(hu_bits_layers_create(graph, &bits, &layers), HU_OK);
    assert_true(layers.count == 1 && layers.quantised == 1 && layers.layer[0].shares == 0);
    hu_bits_layers_free(&layers);
    hu_graph_free(graph);
}

/* The first and the last product, and blocks by name. */
static void test_rules(void **state) {
    (void)state;
    fixture f;
    open_layers(&f, "resnet20", "static:8", 1);
    assert_int_equal(f.layers.blocks, 3);
    for (uint32_t l = 0; l < f.layers.count; l++) {
        const hu_bits_layer *layer = &f.layers.layer[l];
        char digit = strncmp(layer->name, "layer", 5) == 0 ? layer->name[5] : l == 0 ? '1' : '3';
        assert_int_equal(layer->block, digit - '1');
        assert_int_equal(layer->is_quantised, l + 1 < f.layers.count);
    }
    assert_int_equal(f.layers.layer[1].weights, 16 * 16 * 9);
    assert_int_equal(f.layers.layer[1].inputs, 32 * 32 * 16);
    hu_bits_layers_free(&f.layers);
    f.bits.first_float = true;
    f.bits.last_float = false;
    assert_int_equal(hu_bits_layers_create(f.graph, &f.bits, &f.layers), HU_OK);
    assert_false(f.layers.layer[0].is_quantised);
    assert_true(f.layers.layer[f.layers.count - 1].is_quantised);
    close_fixture(&f);
    open_layers(&f, "squeezenet", "static:8", 1);
    assert_true(f.layers.blocks > 1);
    close_fixture(&f);
}

static void test_static(void **state) {
    (void)state;
    fixture f;
    uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
    open_layers(&f, "resnet20", "static:6", 10);
    begin(&f);
    f.course.schedule->at(f.course.state, 9, forward, gradient);
    for (uint32_t l = 0; l < f.layers.count; l++) {
        assert_int_equal(forward[l], l + 1 < f.layers.count ? 6 : 32);
        assert_int_equal(gradient[l], l + 1 < f.layers.count ? 8 : 32);
    }
    hu_bits_end(&f.course);
    f.bits.gradient = (hu_bits_range){6, 8};
    expect_failure(&f, HU_ERR_ARGUMENT, "bits.grad");
    f.bits.gradient = (hu_bits_range){8, 8};
    f.bits.kind = HU_BITS_FLOAT;
    f.bits.exponent_bits = 6;
    expect_failure(&f, HU_ERR_ARGUMENT, "bits.exponent");
    close_fixture(&f);
}

static void add_rules(fixture *f, const char *const *rules) {
    for (int i = 0; rules[i]; i++) assert_int_equal(hu_bits_add_rule(&f->bits, rules[i]), HU_OK);
    hu_bits_layers_free(&f->layers);
    assert_int_equal(hu_bits_layers_create(f->graph, &f->bits, &f->layers), HU_OK);
}

/* Bits of layers by name: fixed, bounded or none at all; the later rule holds, and wins over the
 * keys of the first and the last product. Schedules are what they are for the others. */
static void test_bounds(void **state) {
    (void)state;
    static const char *const rules[] = {
        "layer1.*: 4", "layer1.0.conv2: 5-6", " layer2.* : float", "layer3.0.*: 7-16", "fc: 8",
        NULL};
    static const struct {
        const char *text;
        int64_t step;
        int conv1, layer10conv1, layer10conv2, layer30conv1, fc;
    } rows[] = {{"static:3", 0, 3, 4, 5, 7, 8}, {"static:8", 5, 8, 4, 6, 8, 8},
                {"cpt:3-8", 0, 3, 4, 5, 7, 8},  {"cpt:3-8", 999, 8, 4, 6, 8, 8},
                {"pfq:3-8", 0, 3, 4, 5, 7, 8},  {"ldp:3-8", 0, 3, 4, 5, 7, 8},
                {"staged", 0, 3, 4, 5, 7, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
        open_layers(&f, "resnet20", rows[i].text, 32000);
        if (f.bits.schedule == &hu_bits_staged)
            assert_int_equal(hu_bits_add_stage(&f.bits, "0: 3 9 9"), HU_OK);
        add_rules(&f, rules);
        begin(&f);
        f.course.schedule->at(f.course.state, rows[i].step, forward, gradient);
        for (uint32_t l = 0; l < f.layers.count; l++) {
            const char *name = f.layers.layer[l].name;
            int expected = forward[l];
            if (strcmp(name, "conv1") == 0) expected = rows[i].conv1;
            if (strcmp(name, "layer1.0.conv1") == 0) expected = rows[i].layer10conv1;
            if (strcmp(name, "layer1.0.conv2") == 0) expected = rows[i].layer10conv2;
            if (strncmp(name, "layer2.", 7) == 0) expected = HU_BITS_FLOAT32;
            if (strcmp(name, "layer3.0.conv1") == 0 && f.bits.schedule != &hu_bits_staged)
                expected = rows[i].layer30conv1;
            if (strcmp(name, "fc") == 0) expected = rows[i].fc;
            if (forward[l] != expected)
                fail_msg("%s, step %d, %s: %d bits, expected %d", rows[i].text, (int)rows[i].step,
                         name, forward[l], expected);
            assert_int_equal(gradient[l] == HU_BITS_FLOAT32, forward[l] == HU_BITS_FLOAT32);
        }
        close_fixture(&f);
    }
}

static void test_bad_bounds(void **state) {
    (void)state;
    static const struct {
        const char *rule;
        hu_status status;
        const char *part;
    } rows[] = {{"fc", HU_ERR_PARSE, "expected 'LAYER: 4, LAYER: 4-6 or LAYER: float'"},
                {"fc: e4m3", HU_ERR_PARSE, "expected bits like 8 or 4-8"},
                {"fc: 1", HU_ERR_ARGUMENT, "found 1 bits"},
                {"fc: 6-4", HU_ERR_ARGUMENT, "which is empty"}};
    fixture f;
    open_layers(&f, "resnet20", "static:8", 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(hu_bits_add_rule(&f.bits, rows[i].rule), rows[i].status);
        if (!strstr(hu_last_error(), rows[i].part)) fail_msg("%s", hu_last_error());
    }
    hu_bits_layers_free(&f.layers);
    assert_int_equal(hu_bits_add_rule(&f.bits, "conv2: 4"), HU_OK);
    assert_int_equal(hu_bits_layers_create(f.graph, &f.bits, &f.layers), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "'conv2', which is no layer that can have bits"));
    assert_non_null(strstr(hu_last_error(), "'conv1'"));
    f.bits.rule_count = 0;
    for (int i = 0; i < HU_BITS_RULES_MOST; i++)
        assert_int_equal(hu_bits_add_rule(&f.bits, "*: 4"), HU_OK);
    assert_int_equal(hu_bits_add_rule(&f.bits, "*: 4"), HU_ERR_LIMIT);
    close_fixture(&f);
}

/* The first step of a cycle of 2,000 with more bits than the step before. */
static void expect_breaks(const char *text, const int64_t *breaks, int count) {
    fixture f;
    open_layers(&f, "resnet20", text, 64000);
    begin(&f);
    int found = 0;
    int64_t told = 0;
    for (int64_t t = 1; t < 2000; t++) {
        if (first_bits(&f, t) == first_bits(&f, t - 1)) continue;
        assert_true(found < count);
        assert_int_equal(t, breaks[found++]);
        told = f.course.schedule->until(f.course.state, told);
        assert_int_equal(told, t);
        assert_int_equal(first_bits(&f, t + 31 * 2000), first_bits(&f, t));
    }
    assert_int_equal(found, count);
    assert_int_equal(f.course.schedule->until(f.course.state, told), 2000);
    assert_int_equal(first_bits(&f, 2000), first_bits(&f, 0));
    close_fixture(&f);
}

/* Breakpoints as shares of a cycle, from the inverse of the formula. */
static void test_cycles(void **state) {
    (void)state;
    static const int64_t wide[] = {410, 739, 1000, 1262, 1591}, narrow[] = {461, 840, 1161, 1540};
    expect_breaks("cpt:3-8", wide, 5);
    expect_breaks("cpt:4-8", narrow, 4);
}

/* The formula in plain arithmetic, wherever it is not close to a half. */
static void test_formula(void **state) {
    (void)state;
    fixture f;
    uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
    open_layers(&f, "resnet20", "cpt:2-13", 1003); /* 7 cycles of 143, two steps left */
    f.bits.cycles = 7;
    f.bits.gradient = (hu_bits_range){6, 9};
    begin(&f);
    for (int64_t t = 0; t < 1003; t++) {
        double height = 0.5 * (1.0 - cos(acos(-1.0) * (double)(t % 143) / 143.0));
        double b = 2.0 + 11.0 * height, g = 6.0 + 3.0 * height;
        f.course.schedule->at(f.course.state, t, forward, gradient);
        if (fabs(b - floor(b) - 0.5) > 1e-9) assert_int_equal(forward[0], rint(b));
        if (fabs(g - floor(g) - 0.5) > 1e-9) assert_int_equal(gradient[0], rint(g));
    }
    assert_int_equal(first_bits(&f, 1001), 2);
    f.course.schedule->deploy(f.course.state, forward);
    assert_int_equal(forward[0], 13);
    hu_bits_end(&f.course);
    /* Halves at a third of a cycle are exact: 2 + 6/4 = 3.5 goes to the even 4; at half 5. */
    f.bits = bits_of_text("cpt:2-8");
    f.task.steps = 32 * 600;
    begin(&f);
    assert_int_equal(first_bits(&f, 199), 3);
    assert_int_equal(first_bits(&f, 200), 4);
    assert_int_equal(first_bits(&f, 300), 5);
    assert_int_equal(first_bits(&f, 400), 6); /* 6.5 */
    assert_int_equal(first_bits(&f, 401), 7);
    hu_bits_end(&f.course);
    f.bits.cycles = 32 * 600 + 1;
    expect_failure(&f, HU_ERR_ARGUMENT, "bits.cycles: found 19201 in a run of 19200 steps");
    close_fixture(&f);
}

static void test_random(void **state) {
    (void)state;
    fixture f;
    int seen[9] = {0};
    open_layers(&f, "resnet20", "random", 4000);
    f.bits.every = 10;
    f.bits.until = 9; /* epochs of 400 steps */
    begin(&f);
    for (int64_t t = 0; t < 3600; t++) {
        assert_int_equal(first_bits(&f, t), first_bits(&f, t - t % 10));
        seen[first_bits(&f, t)]++;
    }
    assert_int_equal(seen[4] + seen[6] + seen[8], 3600);
    for (int b = 4; b <= 8; b += 2) assert_true(seen[b] > 1000); /* 1,200 with a deviation of 90 */
    for (int64_t t = 3600; t < 4000; t++) assert_int_equal(first_bits(&f, t), 8);
    assert_int_equal(f.course.schedule->until(f.course.state, 3595), 3600);
    assert_true(f.course.schedule->until(f.course.state, 3600) > 4000);
    int first = first_bits(&f, 0);
    bool is_other = false;
    for (uint64_t seed = 2; seed < 12; seed++) {
        hu_bits_end(&f.course);
        f.task.seed = seed;
        begin(&f);
        is_other = is_other || first_bits(&f, 0) != first;
    }
    assert_true(is_other);
    hu_bits_end(&f.course);
    f.bits.until = 11;
    expect_failure(&f, HU_ERR_ARGUMENT, "bits.until: found 11, which is step 4400");
    close_fixture(&f);
}

static void test_staged(void **state) {
    (void)state;
    fixture f;
    uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
    open_layers(&f, "resnet38", "staged", 160 * 400);
    expect_failure(&f, HU_ERR_ARGUMENT, "bits.stages: found none");
    assert_int_equal(hu_bits_add_stage(&f.bits, "0: 4 6 8"), HU_OK);
    assert_int_equal(hu_bits_add_stage(&f.bits, "30: 6 8 4"), HU_OK);
    assert_int_equal(hu_bits_add_stage(&f.bits, "90: 8"), HU_OK);
    f.bits.gradient_follows = true;
    begin(&f);
    const int expected[] = {4, 6, 8, 6, 8, 4, 8, 8, 8};
    const int64_t step[] = {0, 30 * 400 - 1, 30 * 400, 90 * 400 - 1, 90 * 400, 160 * 400 - 1};
    for (int i = 0; i < 6; i++) {
        f.course.schedule->at(f.course.state, step[i], forward, gradient);
        for (uint32_t l = 0; l + 1 < f.layers.count; l++) {
            assert_int_equal(forward[l], expected[3 * (i / 2) + (int)f.layers.layer[l].block]);
            assert_int_equal(gradient[l], forward[l]);
        }
    }
    assert_int_equal(f.course.schedule->until(f.course.state, 100), 30 * 400);
    hu_bits_end(&f.course);
    assert_int_equal(hu_bits_add_stage(&f.bits, "160: 8"), HU_OK);
    expect_failure(&f, HU_ERR_ARGUMENT, "begins at step 64000");
    f.bits.stage[3] = (hu_bits_stage){.from = 100, .count = 2, .bits = {4, 4}};
    expect_failure(&f, HU_ERR_ARGUMENT, "found 2 numbers, expected 1, or 3");
    close_fixture(&f);
}

/* A cycle is left for its most bits, a stage for nothing. */
static void test_deployed(void **state) {
    (void)state;
    fixture f;
    uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
    open_layers(&f, "resnet20", "cpt:3-8", 64000);
    begin(&f);
    hu_bits_deployed(&f.course, 2001, forward, gradient);
    assert_int_equal(first_bits(&f, 2000), 3);
    assert_int_equal(forward[0], 8);
    assert_int_equal(forward[f.layers.count - 1], HU_BITS_FLOAT32);
    hu_bits_end(&f.course);
    f.bits = bits_of_text("staged");
    assert_int_equal(hu_bits_add_stage(&f.bits, "0: 4"), HU_OK);
    assert_int_equal(hu_bits_add_stage(&f.bits, "3: 6"), HU_OK);
    begin(&f);
    const int expected[] = {4, 4, 6};
    const int64_t steps[] = {0, 1200, 1201};
    for (int i = 0; i < 3; i++) {
        hu_bits_deployed(&f.course, steps[i], forward, gradient);
        assert_int_equal(forward[0], expected[i]);
        assert_int_equal(gradient[0], 8);
    }
    close_fixture(&f);
}

/* Where memory fails, nothing is left over. */
static void test_memory(void **state) {
    (void)state;
    static const char *const texts[] = {"static:8", "cpt:4-8", "pfq:3-8", "ldp:3-8", "random"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fixture f;
        int failures = 0;
        open_layers(&f, "cnn-s", texts[i], 64000);
        hu_bits_layers_free(&f.layers);
        uint64_t live = hu_memory_count().live_blocks;
        for (uint64_t n = 1;; n++) {
            hu_forecast forecast = {0};
            hu_memory_fail_at(n);
            hu_status st = hu_bits_layers_create(f.graph, &f.bits, &f.layers);
            if (st == HU_OK) st = hu_bits_begin(&f.task, &f.course);
            if (st == HU_OK) st = hu_forecast_create(&f.task, &f.course, &forecast);
            hu_memory_fail_at(0);
            hu_forecast_free(&forecast);
            hu_bits_end(&f.course);
            hu_bits_layers_free(&f.layers);
            assert_int_equal(hu_memory_count().live_blocks, live);
            if (st == HU_OK) break;
            assert_int_equal(st, HU_ERR_MEMORY);
            failures++;
        }
        assert_true(failures >= 8); /* layers, state, walk, cases and their rows */
        close_fixture(&f);
    }
}

/* Layers round what they read, for themselves alone, and the gradient of what they make; what a run
 * is planned for has the most bits. */
static void test_table(void **state) {
    (void)state;
    fixture f;
    hu_edge_table edges;
    hu_precision precision;
    open_layers(&f, "resnet20", "static:8", 1);
    assert_int_equal(hu_precision_parse("cpt:4-7", &precision), HU_OK);
    assert_int_equal(hu_edge_table_create(f.graph, &edges), HU_OK);
    assert_int_equal(hu_precision_write(&precision, f.graph, 1, false, &edges), HU_OK);
    uint32_t uses = 0, values = 0, sums = 0;
    for (uint32_t u = 0; u < edges.use_count; u++) {
        const hu_quantizer *read = &edges.use[u].quantizer;
        const hu_node *node = &f.graph->node[f.graph->use[u].node];
        if (!hu_quantizer_rounds(read)) continue;
        assert_ptr_equal(node->op, &hu_op_conv2d);
        assert_true(read->kind == HU_QUANTIZER_UNIFORM && read->bits == 7);
        assert_true(read->keeps_range && !read->per_channel);
        assert_int_equal(read->rounding, HU_ROUND_NEAREST_EVEN);
        uses++;
    }
    for (uint32_t v = 0; v < edges.value_count; v++) {
        const hu_quantizer *value = &edges.value[v].quantizer, *sum = &edges.grad_sum[v].quantizer;
        if (hu_quantizer_rounds(value)) {
            assert_int_equal(f.graph->value[v].role, HU_VALUE_PARAMETER);
            assert_true(value->bits == 7 && value->per_channel && !value->keeps_range);
            values++;
        }
        if (!hu_quantizer_rounds(sum)) continue;
        assert_true(sum->bits == 8 && !sum->per_channel && !sum->keeps_range);
        assert_int_equal(sum->rounding, HU_ROUND_STOCHASTIC);
        sums++;
    }
    assert_true(uses == f.layers.quantised && values == uses && sums == uses);
    hu_edge_table_free(&edges);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),      cmocka_unit_test(test_usual),
        cmocka_unit_test(test_texts),     cmocka_unit_test(test_lists),
        cmocka_unit_test(test_layers),    cmocka_unit_test(test_rules),
        cmocka_unit_test(test_no_layers), cmocka_unit_test(test_static),
        cmocka_unit_test(test_cycles),    cmocka_unit_test(test_formula),
        cmocka_unit_test(test_random),    cmocka_unit_test(test_staged),
        cmocka_unit_test(test_table),     cmocka_unit_test(test_deployed),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_bad_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
