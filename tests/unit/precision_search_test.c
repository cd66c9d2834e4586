/* Sets of low groups that a search tries: budgets, orders, trimming. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/model.h"
#include "precision/search.h"

enum { BATCH = 128, MOST_GROUPS = 64 };

typedef struct fixture {
    hu_graph *graph;
    hu_precision precision;
    hu_search_groups groups;
} fixture;

static void open_fixture(fixture *f, const char *model) {
    hu_shape image = {3, {32, 32, 3}};
    hu_model_options options = {.name = model, .width = 1, .image = image, .classes = 10};
    assert_int_equal(hu_model_build(&options, &f->graph), HU_OK);
    assert_int_equal(hu_precision_parse("high", &f->precision), HU_OK);
    assert_int_equal(hu_search_groups_create(&f->precision, f->graph, BATCH, &f->groups), HU_OK);
    assert_true(f->groups.tensors.count <= MOST_GROUPS);
}

static void close_fixture(fixture *f) {
    hu_search_groups_free(&f->groups);
    hu_precision_free(&f->precision);
    hu_graph_free(f->graph);
}

/* The bits that the search counts are those of the edge table for the same groups. */
static int64_t bits_of_plan(const fixture *f, const bool *low) {
    hu_precision listed;
    hu_edge_table edges;
    char item[32];
    assert_int_equal(hu_precision_parse("listed", &listed), HU_OK);
    for (uint32_t g = 0; g < f->groups.tensors.count; g++) {
        snprintf(item, sizeof item, "group:%u", g);
        if (low[g]) assert_int_equal(hu_precision_add_listed(&listed, item), HU_OK);
    }
    assert_int_equal(hu_edge_table_create(f->graph, &edges), HU_OK);
    assert_int_equal(hu_precision_write(&listed, f->graph, BATCH, true, &edges), HU_OK);
    int64_t bits = hu_precision_aggregate_bits(f->graph, &edges, BATCH);
    hu_edge_table_free(&edges);
    hu_precision_free(&listed);
    return bits;
}

static void test_bits(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, "resnet18");
    bool low[MOST_GROUPS];
    int64_t bits;
    assert_int_equal(f.groups.all_plain, 32 * INT64_C(543364500));
    assert_int_equal(f.groups.all_high, 16 * INT64_C(543364500));
    for (int order = 0; order < HU_SEARCH_ORDERS; order++)
        for (int share = 27; share <= 50; share++)
            for (int trims = 0; trims <= 1; trims++) {
                int64_t most = f.groups.all_plain / 100 * share;
                assert_int_equal(
                    hu_search_fill(&f.groups, (hu_search_order)order, 7, most, trims, low, &bits),
                    HU_OK);
                assert_true(bits <= most);
                assert_int_equal(bits, bits_of_plan(&f, low));
                for (uint32_t g = 0; trims && g < f.groups.tensors.count; g++)
                    if (low[g]) assert_true(bits + f.groups.saved[g] > most);
            }
    close_fixture(&f);
}

static void test_orders(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, "resnet18");
    bool low[MOST_GROUPS];
    int64_t bits, most = f.groups.all_high - 1;
    hu_search_fill(&f.groups, HU_SEARCH_SIZE, 0, most, false, low, &bits);
    assert_true(low[5]); /* the largest */
    f.groups.loss[5] = 0.5;
    f.groups.loss[3] = 0.1;
    hu_search_fill(&f.groups, HU_SEARCH_TRADE, 0, most, false, low, &bits);
    assert_true(!low[5] && !low[3] && low[1]);
    for (uint32_t g = 0; g < f.groups.tensors.count; g++) f.groups.loss[g] = g == 14 ? 0.001 : 0.2;
    hu_search_fill(&f.groups, HU_SEARCH_LOSS, 0, most, false, low, &bits);
    assert_true(low[14] && !low[5]);
    /* What counts is the loss for a saved bit: twice the loss for four times the bits comes first.
     */
    for (uint32_t g = 0; g < f.groups.tensors.count; g++) f.groups.rounding[g] = 1.0;
    f.groups.rounding[21] = 1e-9;
    f.groups.rounding[5] = 2e-9;
    assert_true(f.groups.saved[5] > 2 * f.groups.saved[21] && f.groups.saved[21] > 0);
    hu_search_fill(&f.groups, HU_SEARCH_ROUNDING, 0, most, false, low, &bits);
    assert_true(low[5] && !low[21]);
    hu_search_fill(&f.groups, HU_SEARCH_ENDS, 0, f.groups.all_plain / 100 * 26, false, low, &bits);
    assert_true(!low[0] && !low[21]);
    close_fixture(&f);
}

/* Update error and short trainings order groups like the error of the gradient, each by its own
 * numbers; and what is taken back is what loses most by these. */
static void test_orders_by_measures(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, "resnet18");
    bool low[MOST_GROUPS];
    int64_t bits, most = f.groups.all_high - 1;
    struct {
        hu_search_order order;
        double *measure;
        uint32_t first;
    } rows[] = {{HU_SEARCH_DIRECTION, f.groups.direction, 7},
                {HU_SEARCH_TRAINED, f.groups.trained, 9}};
    for (uint32_t g = 0; g < f.groups.tensors.count; g++) f.groups.loss[g] = g == 14 ? 0.0 : 0.2;
    for (int r = 0; r < 2; r++)
        for (uint32_t g = 0; g < f.groups.tensors.count; g++)
            rows[r].measure[g] = g == rows[r].first ? 1e-6 : 0.2;
    for (int r = 0; r < 2; r++) {
        hu_search_fill(&f.groups, rows[r].order, 0, most, false, low, &bits);
        for (uint32_t g = 0; g < f.groups.tensors.count; g++)
            assert_true(low[g] == (g == rows[r].first));
        /* All low but what the budget does not need: that is the group that loses most. */
        int64_t least = f.groups.all_high;
        for (uint32_t g = 0; g < f.groups.tensors.count; g++) {
            least -= f.groups.saved[g];
            rows[r].measure[g] = g == 3 ? 1e9 : 0.001;
        }
        hu_search_fill(&f.groups, rows[r].order, 0, least + f.groups.saved[3], true, low, &bits);
        assert_true(!low[3]);
    }
    close_fixture(&f);
}

/* Bits of the edge table with low groups of which some tensors are promoted. */
static int64_t bits_of_promoted(const fixture *f, const bool *low) {
    hu_precision high;
    hu_edge_table edges;
    int64_t bits = bits_of_plan(f, low);
    assert_int_equal(hu_precision_parse("high", &high), HU_OK);
    assert_int_equal(hu_edge_table_create(f->graph, &edges), HU_OK);
    assert_int_equal(hu_precision_write(&high, f->graph, BATCH, true, &edges), HU_OK);
    for (hu_value_id v = 0; v < f->graph->value_count; v++) {
        uint32_t g = f->groups.tensors.of_value[v];
        if (!f->groups.is_promoted[v] || !low[g]) continue;
        bool is_weight = f->graph->value[v].role == HU_VALUE_PARAMETER;
        int64_t elements = f->graph->value[v].elements * (is_weight ? 1 : BATCH);
        hu_role role = is_weight ? HU_ROLE_WEIGHT : HU_ROLE_ACT;
        bits += elements * ((int64_t)hu_quantizer_bits(&edges.value[v].quantizer) -
                            (int64_t)hu_quantizer_bits(&f->precision.low[role]));
    }
    hu_edge_table_free(&edges);
    hu_precision_free(&high);
    return bits;
}

/* Expected promotions take from what groups save: sets that keep a budget keep it with them. */
static void test_promotions(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, "resnet18");
    bool low[MOST_GROUPS] = {false};
    int64_t bits;
    for (hu_value_id v = 0; v < f.graph->value_count; v += 2) {
        if (!hu_is_rounded_kind(&f.graph->value[v])) continue;
        hu_search_promote(&f.groups, v);
        hu_search_promote(&f.groups, v); /* once, however often it was seen */
    }
    for (int order = 0; order < HU_SEARCH_ORDERS; order++)
        for (int share = 32; share <= 50; share += 2)
            for (int trims = 0; trims <= 1; trims++) {
                int64_t most = f.groups.all_plain / 100 * share;
                hu_search_fill(&f.groups, (hu_search_order)order, 7, most, trims, low, &bits);
                assert_int_equal(bits, bits_of_promoted(&f, low));
                assert_int_equal(bits, hu_search_bits(&f.groups, low, true));
                assert_int_equal(hu_search_bits(&f.groups, low, false), bits_of_plan(&f, low));
                assert_true(bits >= bits_of_plan(&f, low));
                bool all = true;
                for (uint32_t g = 0; g < f.groups.tensors.count; g++)
                    all = all && (low[g] || f.groups.saved[g] <= f.groups.promoted[g]);
                assert_true(bits <= most || all);
            }
    close_fixture(&f);
}

/* A group whose promotions leave nothing stays high, but in plain demotion. */
static void test_needless_group(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, "resnet18");
    bool low[MOST_GROUPS];
    int64_t bits;
    f.groups.promoted[5] = f.groups.saved[5];
    for (int order = 0; order < HU_SEARCH_ORDERS; order++)
        for (int trims = 0; trims <= 1; trims++) {
            hu_search_fill(&f.groups, (hu_search_order)order, 1, 0, trims, low, &bits);
            assert_int_equal(low[5], order == HU_SEARCH_SIZE && !trims);
            assert_true(low[4]);
        }
    close_fixture(&f);
}

/* Three groups beside everything high. */
static double judge_short(const double *loss, size_t seeds, double *cost, double *trained) {
    hu_search_groups groups = {.tensors.count = 3, .trained = trained};
    return hu_search_judge_short(loss, seeds, &groups, cost);
}

/* Clear losses count, those within twice the noise do not; divergence is worse than any loss. */
static void test_short_trainings(void **state) {
    (void)state;
    const double nan = (double)NAN;
    double cost[3], trained[3];
    /* Costs 1 and 3, 0 and .25, 8 and diverged: the mean squares 2 and .03125 give the noise. */
    const double two[] = {1, 2, 1, 9, 1, 4, 1.25, nan};
    double noise = judge_short(two, 2, cost, trained);
    assert_true(fabs(noise - sqrt((2 + 0.03125) / 2 / 2)) < 1e-12);
    assert_true(cost[0] == 2 && cost[1] == 0.125 && isnan(cost[2]));
    assert_true(trained[0] == 2 && trained[1] == 0 && trained[2] >= 1e9);
    /* Everything high diverged with the first seed: the second alone is asked. */
    const double lost[] = {nan, 2, nan, 9, 1, 4, 0.5, 1.75};
    noise = judge_short(lost, 2, cost, trained);
    assert_true(noise == 0.5 && cost[0] == 3 && cost[1] == -0.5 && cost[2] == 0.75);
    assert_true(trained[0] == 3 && trained[1] == 0 && trained[2] == 0);
    /* Nothing is known of anything, or of the noise. */
    noise = judge_short(lost, 1, cost, trained);
    assert_true(isnan(noise) && isnan(cost[0]));
    for (int g = 0; g < 3; g++) assert_true(trained[g] == 0);
    const double one[] = {1, 2, 1.5, 1};
    noise = judge_short(one, 1, cost, trained);
    assert_true(isnan(noise) && trained[0] == 1 && trained[1] == 0.5 && trained[2] == 0);
}

/* Below the least: all groups are low, and the bits say that it is not enough. */
static void test_impossible(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, "resnet20");
    bool low[MOST_GROUPS];
    int64_t bits, most = f.groups.all_plain / 5;
    hu_search_fill(&f.groups, HU_SEARCH_SIZE, 0, most, true, low, &bits);
    assert_true(bits > most);
    for (uint32_t g = 0; g < f.groups.tensors.count; g++) assert_true(low[g]);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_orders),
                                       cmocka_unit_test(test_orders_by_measures),
                                       cmocka_unit_test(test_promotions),
                                       cmocka_unit_test(test_needless_group),
                                       cmocka_unit_test(test_short_trainings),
                                       cmocka_unit_test(test_impossible)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
