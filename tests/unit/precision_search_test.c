/* Sets of low groups that a search tries: budgets, orders, trimming. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_orders),
                                       cmocka_unit_test(test_impossible)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
