/* Costs of layers by their bits, and of whole trainings: the published numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bits_fixture.h"
#include "config/config.h"

/* Numbers of rows of the list. */
enum { BITOPS, PAPER, MEMORY, TRAFFIC, TABLE };

static const hu_bits_layer layer = {
    .is_quantised = true, .macs = 1000, .inputs = 50, .outputs = 70, .weights = 640, .others = 9};

/* The product of the weights' gradient alone has other bits; the gradient is held twice. */
static void test_gradients_apart(void **state) {
    (void)state;
    const hu_cost_task task = {.batch = 64};
    const hu_cost_bits bits = {4, 6, 8, 16, true};
    const double expected[][HU_COST_PASSES] = {{24000, 32000, 96000},
                                               {12.0 * 2009, 16.0 * 2009, 48.0 * 2009},
                                               {50 * 6 + 10 * 4, 70 * 8, 70 * 16},
                                               {340, 600, 70 * 16 + 50 * 6}};
    for (int c = 0; c < TABLE; c++) {
        double cost[HU_COST_PASSES];
        hu_cost_list[c]->passes(&task, &layer, &bits, cost);
        for (int p = 0; p < HU_COST_PASSES; p++) assert_true(cost[p] == expected[c][p]);
    }
}

static void test_formulas(void **state) {
    (void)state;
    const hu_cost_task task = {.batch = 64};
    const hu_cost_bits bits = {4, 6, 8, 8, false};
    const double expected[][HU_COST_PASSES] = {{24000, 32000, 48000},
                                               {12.0 * 2009, 16.0 * 2009, 24.0 * 2009},
                                               {50 * 6 + 10 * 4, 70 * 8, 0},
                                               {340, 600, 860}};
    for (int c = 0; c < TABLE; c++) {
        double cost[HU_COST_PASSES];
        hu_cost_list[c]->passes(&task, &layer, &bits, cost);
        for (int p = 0; p < HU_COST_PASSES; p++) assert_true(cost[p] == expected[c][p]);
    }
    const hu_cost *found;
    assert_int_equal(hu_cost_find("traffic", &found), HU_OK);
    assert_ptr_equal(found, hu_cost_list[TRAFFIC]);
    assert_int_equal(hu_cost_find("trafic", &found), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "'traffic'"));
    for (int c = 0; c < HU_COST_COUNT; c++)
        assert_true(hu_cost_list[c]->name[0] && hu_cost_list[c]->unit[0] &&
                    hu_cost_list[c]->help[0] && hu_cost_list[c]->inference > 0.0);
}

/* What a step computes of a layer that other networks use too; what is held is held once. */
static void test_passes_of_a_step(void **state) {
    (void)state;
    const hu_cost_task task = {.batch = 64};
    const hu_cost_bits bits = {4, 6, 8, 8, false};
    for (int c = 0; c < TABLE; c++) {
        double all[HU_COST_PASSES], found[HU_COST_PASSES];
        hu_bits_layer used = layer;
        hu_cost_list[c]->passes(&task, &layer, &bits, all);
        for (int kind = 0; kind < 8; kind++) {
            used.forwards = 1 + (kind & 1);
            used.has_errors = kind & 2;
            used.has_updates = kind & 4;
            hu_cost_passes(hu_cost_list[c], &task, &used, &bits, found);
            assert_true(found[HU_COST_FORWARD] ==
                        (c == MEMORY ? 1 : used.forwards) * all[HU_COST_FORWARD]);
            assert_true(found[HU_COST_ERROR] == used.has_errors * all[HU_COST_ERROR]);
            assert_true(found[HU_COST_UPDATE] == used.has_updates * all[HU_COST_UPDATE]);
        }
    }
}

/* The slope is that of the cost, and does not look beyond the range where a table ends. */
static void test_slopes(void **state) {
    (void)state;
    const hu_cost_task task = {.batch = 64};
    const hu_bits_range range = {3, 8};
    for (int c = 0; c < TABLE; c++)
        for (double b = 3.0; b <= 8.0; b++) {
            const hu_cost *cost = hu_cost_list[c];
            double slope = (hu_cost_forward(cost, &task, &layer, b + 0.5) -
                            hu_cost_forward(cost, &task, &layer, b - 0.5));
            assert_true(hu_cost_slope(cost, &task, &layer, &range, b) == slope);
        }
    const hu_bits_range point = {8, 8};
    assert_true(hu_cost_slope(hu_cost_list[MEMORY], &task, &layer, &point, 8.0) == 0.0);
}

static hu_status read_rates(const char *yaml, const hu_bits *bits, hu_cost_rates *rates) {
    hu_keys *tree;
    assert_int_equal(hu_yaml_parse(yaml, strlen(yaml), "costs.yaml", &tree), HU_OK);
    hu_status st = hu_cost_rates_read(tree, bits, rates);
    hu_keys_free(tree);
    return st;
}

static void expect_rates_error(const char *yaml, const hu_bits *bits, hu_status status,
                               const char *part) {
    hu_cost_rates rates;
    assert_int_equal(read_rates(yaml, bits, &rates), status);
    if (!strstr(hu_last_error(), part)) fail_msg("'%s' has no '%s'", hu_last_error(), part);
}

static void test_rates(void **state) {
    (void)state;
    hu_bits bits = bits_of_text("ldp:4-6");
    hu_cost_rates rates;
    const hu_cost_task task = {.rates = &rates, .batch = 1};
    const hu_cost *cost = hu_cost_list[TABLE];
    double passes[HU_COST_PASSES];
    if (read_rates("unit: pJ\nformats: {int4: 0.25, int5: 0.5, int6: 1, int8: 2, int6*int8: 1.5, "
                   "bf16: 7}",
                   &bits, &rates) != HU_OK)
        fail_msg("%s", hu_last_error());
    assert_string_equal(rates.unit, "pJ");
    cost->passes(&task, &layer, &(hu_cost_bits){6, 6, 8, 8, false}, passes);
    assert_true(passes[0] == 1000 && passes[1] == 1500 && passes[2] == 1500);
    cost->passes(&task, &layer, &(hu_cost_bits){4, 4, 8, 8, false}, passes);
    assert_true(passes[0] == 250 && passes[1] == 2000 && passes[2] == 2000);
    cost->passes(&task, &layer, &(hu_cost_bits){5.5, 5.5, 8, 8, false}, passes);
    assert_true(passes[0] == 750 && passes[1] == 1750);
    assert_true(hu_cost_slope(cost, &task, &layer, &bits.forward, 5) == 375);
    assert_true(hu_cost_slope(cost, &task, &layer, &bits.forward, 4) == 250);
    assert_true(hu_cost_slope(cost, &task, &layer, &bits.forward, 6) == 500);
    expect_rates_error("formats: {int4: 1, int6: 1, int8: 2}", &bits, HU_ERR_ARGUMENT,
                       "no cost of int5, expected one for every format from int4 to int6");
    expect_rates_error("formats: {int4: 1, int5: 1, int6: 1}", &bits, HU_ERR_ARGUMENT, "int8");
    expect_rates_error("formats: {int4: -1}", &bits, HU_ERR_PARSE, "formats.int4");
    expect_rates_error("formats: {int4: cheap}", &bits, HU_ERR_PARSE, "cheap");
    expect_rates_error("int4: 1", &bits, HU_ERR_PARSE, "formats");
    expect_rates_error("formats: {int4: 1, int4xint6: 2}", &bits, HU_ERR_PARSE, "'int4xint6'");
    expect_rates_error("formats: {int4: 1, int4*: 2}", &bits, HU_ERR_PARSE, "'int4*'");
    expect_rates_error("formats: {uniform4: 1}", &bits, HU_ERR_PARSE, "expected formats like int6");
    expect_rates_error("formats: {int17: 1}", &bits, HU_ERR_PARSE, "'int17'");
    expect_rates_error("formats: {int4*int6: 1, int6*int4: 2}", &bits, HU_ERR_PARSE,
                       "one cost of two factors, in either order");
    expect_rates_error("units: pJ\nformats: {int4: 1}", &bits, HU_ERR_PARSE, "'units'");
    expect_rates_error("formats: {int4: 1, int5: 1, int6: 1}", &bits, HU_ERR_ARGUMENT,
                       "from int8 to int8, those of gradients (bits.grad)");
    bits.gradient_follows = true;
    assert_int_equal(read_rates("formats: {int4: 1, int5: 1, int6: 1}", &bits, &rates), HU_OK);
    bits.kind = HU_BITS_FLOAT;
    bits.exponent_bits = 3;
    expect_rates_error("formats: {e3m0: 1, int5: 1, e3m2: 1}", &bits, HU_ERR_ARGUMENT, "e3m1");
    assert_int_equal(read_rates("formats: {e3m0: 1, e3m1: 1, e3m2: 1}", &bits, &rates), HU_OK);
}

/* A learned precision can aim at any cost; one of a table needs the table. */
static void test_learned_cost(void **state) {
    (void)state;
    fixture f;
    open_layers(&f, "resnet20", "ldp:4-8", 10);
    f.bits.cost = hu_cost_list[TABLE];
    expect_failure(&f, HU_ERR_ARGUMENT, "cost.file");
    f.bits.cost = hu_cost_list[MEMORY];
    f.bits.target = 0.49;
    expect_failure(&f, HU_ERR_ARGUMENT, "bits.target: found 0.49, expected at least 0.5000");
    f.bits.target = 0.5;
    begin(&f);
    hu_forecast forecast;
    assert_int_equal(hu_forecast_create(&f.task, &f.course, &forecast), HU_OK);
    assert_int_equal(forecast.count, 3);
    assert_true(fabs(forecast.cases[1].total.bits - 4.0) < 1e-9);
    assert_true(forecast.cases[2].relative[BITOPS] == 1.0);
    hu_forecast_free(&forecast);
    close_fixture(&f);
}

/* ---- whole trainings ---- */

typedef struct published {
    const char *model, *precision;
    int64_t steps;
    double relative; /* training, to static 8 */
    double digits;   /* that are given */
} published;

static void expect_relative(fixture *f, double expected, double digits) {
    hu_forecast forecast;
    begin(f);
    assert_int_equal(hu_forecast_create(&f->task, &f->course, &forecast), HU_OK);
    double found = forecast.cases[0].relative[BITOPS];
    if (fabs(found - expected) > 0.5 * digits) fail_msg("found %.6f, expected %g", found, expected);
    if (fabs(forecast.cases[0].relative[PAPER] - found) > 0.003)
        fail_msg("the paper's unit: %.6f", forecast.cases[0].relative[PAPER]);
    hu_forecast_free(&forecast);
    hu_bits_end(&f->course);
}

static void test_relative(void **state) {
    (void)state;
    static const published rows[] = {
        {"resnet20", "static:3", 64000, 0.297, 1e-3}, {"resnet20", "static:4", 64000, 0.417, 1e-3},
        {"resnet38", "static:5", 64000, 0.547, 1e-3}, {"resnet38", "static:6", 64000, 0.6875, 1e-3},
        {"resnet74", "static:7", 64000, 0.839, 1e-3}, {"resnet74", "static:8", 64000, 1.0, 1e-15},
        {"resnet20", "cpt:4-8", 64000, 0.6989, 1e-4}, {"resnet20", "cpt:3-8", 64000, 0.6333, 1e-4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        open_layers(&f, rows[i].model, rows[i].precision, rows[i].steps);
        expect_relative(&f, rows[i].relative, rows[i].digits);
        close_fixture(&f);
    }
}

/* LDP, table 1: the order of the stages does not matter; table 2, with gradients of 8 bits and, as
 * the text has it, of the drawn ones. */
static void test_stages(void **state) {
    (void)state;
    static const char *const stages[][4] = {{"0: 4 6 8", "30: 6 8 4", "60: 8 4 6", "90: 8"},
                                            {"0: 6 8 4", "30: 8 4 6", "60: 4 6 8", "90: 8"}};
    fixture f;
    for (int i = 0; i < 2; i++) {
        open_layers(&f, "resnet38", "staged", 64000);
        for (int s = 0; s < 4; s++)
            assert_int_equal(hu_bits_add_stage(&f.bits, stages[i][s]), HU_OK);
        expect_relative(&f, 0.8320, 1e-4);
        close_fixture(&f);
    }
    open_layers(&f, "resnet38", "random", 64000);
    f.bits.until = 90;
    expect_relative(&f, 0.832, 6e-3); /* drawn: 36,000 draws */
    f.bits.gradient_follows = true;
    expect_relative(&f, 0.777, 6e-3);
    close_fixture(&f);
}

/* The paper's absolute numbers, and ours. */
static void test_absolute(void **state) {
    (void)state;
    static const struct {
        const char *model;
        double inference, training, macs;
    } rows[] = {{"resnet20", 1.317, 0.647e8, 40812544},
                {"resnet38", 2.685, 1.320e8, 83279872},
                {"resnet74", 5.423, 2.665e8, 168214528}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        hu_forecast forecast;
        open_layers(&f, rows[i].model, "static:8", 64000);
        begin(&f);
        assert_int_equal(hu_forecast_create(&f.task, &f.course, &forecast), HU_OK);
        const hu_forecast_row *total = &forecast.cases[0].total;
        double training = 64000.0 * 128.0 * hu_forecast_training(total, PAPER) / 1e9;
        assert_true(fabs(total->inference[PAPER] / 1e9 - rows[i].inference) < 0.5e-3);
        assert_true(fabs(training / rows[i].training - 1.0) < 1e-3);
        assert_true(total->inference[BITOPS] == 64.0 * rows[i].macs);
        assert_true(hu_forecast_training(total, BITOPS) == 3.0 * 64.0 * rows[i].macs);
        assert_true(total->bits == 8.0 && total->final_bits == 8.0 && total->gradient_bits == 8.0);
        hu_forecast_free(&forecast);
        close_fixture(&f);
    }
}

/* What training decides: bounds. */
static void test_cases(void **state) {
    (void)state;
    fixture f;
    hu_forecast forecast;
    open_layers(&f, "resnet20", "pfq:3-8", 64000);
    begin(&f);
    assert_int_equal(hu_forecast_create(&f.task, &f.course, &forecast), HU_OK);
    assert_int_equal(forecast.count, 2);
    assert_true(fabs(forecast.cases[0].relative[BITOPS] - 57.0 / 192.0) < 1e-15);
    /* 2,000 steps of each of 3, 4 and 6 bits, then 8 */
    double expected = (2000.0 * (57.0 + 80.0 + 132.0) + 58000.0 * 192.0) / 192.0 / 64000.0;
    assert_true(fabs(forecast.cases[1].relative[BITOPS] - expected) < 1e-14);
    assert_true(forecast.cases[0].total.final_bits == 3.0);
    assert_true(forecast.cases[1].total.final_bits == 8.0);
    hu_forecast_free(&forecast);
    close_fixture(&f);
    open_layers(&f, "resnet20", "ldp:3-8", 64000);
    begin(&f);
    assert_int_equal(hu_forecast_create(&f.task, &f.course, &forecast), HU_OK);
    assert_true(fabs(forecast.cases[0].relative[BITOPS] - 57.0 / 192.0) < 1e-15);
    assert_true(fabs(forecast.cases[1].relative_inference[BITOPS] - 0.6) < 1e-12);
    assert_true(fabs(forecast.cases[1].relative[BITOPS] - (0.6 + 2.0 * sqrt(0.6)) / 3.0) < 1e-12);
    assert_true(forecast.cases[2].relative[BITOPS] == 1.0);
    hu_forecast_free(&forecast);
    close_fixture(&f);
}

/* Sums over stretches are those over steps. */
static void test_stretches(void **state) {
    (void)state;
    fixture f;
    hu_forecast forecast;
    uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
    double bits = 0.0, training = 0.0;
    open_layers(&f, "resnet20", "cpt:3-8", 997);
    f.bits.gradient = (hu_bits_range){6, 8};
    f.bits.cycles = 5;
    begin(&f);
    for (int64_t t = 0; t < 997; t++) {
        f.course.schedule->at(f.course.state, t, forward, gradient);
        double b = forward[3], g = gradient[3];
        bits += b;
        training += (double)f.layers.layer[3].macs * (b * b + 2.0 * b * g);
    }
    assert_int_equal(hu_forecast_create(&f.task, &f.course, &forecast), HU_OK);
    const hu_forecast_row *row = &forecast.cases[0].layer[3];
    assert_true(row->bits == bits / 997.0);
    assert_true(fabs(hu_forecast_training(row, BITOPS) / (training / 997.0) - 1.0) < 1e-14);
    assert_true(row->least_bits == 3.0 && row->most_bits == 8.0 && row->final_bits == 8.0);
    hu_forecast_free(&forecast);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formulas),
                                       cmocka_unit_test(test_gradients_apart),
                                       cmocka_unit_test(test_passes_of_a_step),
                                       cmocka_unit_test(test_slopes),
                                       cmocka_unit_test(test_rates),
                                       cmocka_unit_test(test_learned_cost),
                                       cmocka_unit_test(test_relative),
                                       cmocka_unit_test(test_stages),
                                       cmocka_unit_test(test_absolute),
                                       cmocka_unit_test(test_cases),
                                       cmocka_unit_test(test_stretches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
