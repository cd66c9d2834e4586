/* Groups of tensors and what assignments choose: the figures of Lee et al.'s models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/model.h"
#include "precision/precision.h"

enum { BATCH = 128 };

typedef struct plan {
    hu_graph *graph;
    hu_edge_table edges;
    hu_precision precision;
    hu_tensor_groups groups;
} plan;

static void open_plan(plan *p, const char *model, const char *precision) {
    hu_shape image = {3, {32, 32, 3}};
    hu_model_options options = {.name = model, .width = 1, .image = image, .classes = 10};
    *p = (plan){0};
    assert_int_equal(hu_model_build(&options, &p->graph), HU_OK);
    assert_int_equal(hu_edge_table_create(p->graph, &p->edges), HU_OK);
    if (hu_precision_parse(precision, &p->precision) != HU_OK) fail_msg("%s", hu_last_error());
}

static void write_plan(plan *p) {
    hu_status st = hu_precision_write(&p->precision, p->graph, BATCH, true, &p->edges);
    if (st != HU_OK) fail_msg("%s", hu_last_error());
    assert_int_equal(hu_tensor_groups_create(p->graph, &p->edges, BATCH, &p->groups), HU_OK);
}

static void make_plan(plan *p, const char *model, const char *precision) {
    open_plan(p, model, precision);
    write_plan(p);
}

static void close_plan(plan *p) {
    hu_tensor_groups_free(&p->groups);
    hu_precision_free(&p->precision);
    hu_edge_table_free(&p->edges);
    hu_graph_free(p->graph);
}

static uint32_t bits_of(const plan *p, const char *name) {
    hu_value_id v = hu_graph_find(p->graph, name);
    assert_true(v != HU_NONE);
    return hu_format_bits(&p->edges.value[v].quantizer.format);
}

static uint32_t gradient_bits(const plan *p, const char *name) {
    hu_value_id v = hu_graph_find(p->graph, name);
    assert_true(v != HU_NONE);
    return hu_format_bits(&hu_precision_gradient(p->graph, &p->edges, v)->format);
}

/* The figures of Lee et al.'s released code: groups, all elements, the largest groups, and the
 * shares of the first ten in the order of demotion. */
typedef struct group_table {
    const char *model;
    uint32_t groups;
    int64_t all;
    struct {
        uint32_t id;
        int64_t elements;
    } largest[6];
    double shares[10];
} group_table;

static const group_table tables[] = {
    {"resnet18",
     22,
     543364500,
     {{5, 67272960}, {3, 67182848}, {1, 50405632}, {2, 50405632}, {4, 50405632}, {10, 34210304}},
     {.1238, .2475, .3402, .4330, .5257, .5887, .6510, .6979, .7447, .7804}},
    {"mobilenet-v2",
     59,
     1313287604,
     {{11, 113253696}, {10, 113249376}, {13, 113249376}, {7, 75502464}, {6, 75499584}, {17, 0}},
     {.0862, .1725, .2587, .3162, .3737, .4024, .4312, .4599, .4887, .5174}}};

static void check_table(const group_table *table) {
    plan p;
    uint32_t order[64];
    double sum = 0.0;
    make_plan(&p, table->model, "high");
    assert_int_equal(p.groups.count, table->groups);
    assert_int_equal(p.groups.all, table->all);
    hu_groups_by_size(&p.groups, false, order);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(order[i], table->largest[i].id);
        if (table->largest[i].elements)
            assert_int_equal(p.groups.elements[order[i]], table->largest[i].elements);
    }
    for (size_t i = 0; i < 10; i++) {
        sum += hu_group_share(&p.groups, order[i]);
        assert_true(fabs(sum - table->shares[i]) < 5e-5);
    }
    close_plan(&p);
}

static void test_groups_of_the_paper(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) check_table(&tables[i]);
}

static uint32_t group_of(const plan *p, const char *name) {
    hu_value_id v = hu_graph_find(p->graph, name);
    if (v == HU_NONE) fail_msg("no tensor '%s'", name);
    return p->groups.of_value[v];
}

/* The ends: images with the first weights; the last product's output, but not its weights. */
static void test_ends(void **state) {
    (void)state;
    plan p;
    make_plan(&p, "resnet18", "high");
    assert_int_equal(p.groups.elements[0], 789888);
    assert_int_equal(p.groups.elements[21], 5376);
    assert_int_equal(group_of(&p, "input"), 0);
    assert_int_equal(group_of(&p, "conv1.weight"), 0);
    assert_int_equal(group_of(&p, "bn1.weight"), 1);
    assert_int_equal(group_of(&p, "layer2.0.shortcut.conv.weight"), 5); /* the block's input */
    assert_int_equal(group_of(&p, "pool.out"), 20);
    assert_int_equal(group_of(&p, "fc.weight"), 20);
    assert_int_equal(group_of(&p, "fc.bias"), 20);
    assert_int_equal(group_of(&p, "fc.out"), 21);
    close_plan(&p);
}

/* Which groups are low, as a bit set. */
static uint64_t low_groups(const plan *p) {
    uint64_t low = 0, high = 0;
    for (hu_value_id v = 0; v < p->graph->value_count; v++) {
        uint32_t g = p->groups.of_value[v];
        if (g == HU_NONE) continue;
        bool is_low = hu_format_bits(&p->edges.value[v].quantizer.format) == 8;
        *(is_low ? &low : &high) |= UINT64_C(1) << g;
        bool grad_low = hu_format_bits(&hu_precision_gradient(p->graph, &p->edges, v)->format) == 8;
        bool is_param = p->graph->value[v].role == HU_VALUE_PARAMETER;
        assert_int_equal(grad_low, is_low && !is_param);
    }
    assert_true((low & high) == 0);
    return low;
}

static uint64_t set_of(const uint32_t *ids, size_t count) {
    uint64_t set = 0;
    for (size_t i = 0; i < count; i++) set |= UINT64_C(1) << ids[i];
    return set;
}

static void test_demotion(void **state) {
    static const uint32_t half[] = {5, 3, 1, 2, 4};
    static const struct {
        const char *precision;
        size_t groups;
    } rows[] = {{"demote:0", 0},   {"demote:0.12", 1}, {"demote:0.13", 2},
                {"demote:0.5", 5}, {"demote:1", 22},   {"demote:memory=0.5", 0}};
    (void)state;
    plan p;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_plan(&p, "resnet18", rows[i].precision);
        uint64_t low = low_groups(&p);
        assert_int_equal(__builtin_popcountll(low), rows[i].groups);
        if (rows[i].groups <= 5) assert_true(low == set_of(half, rows[i].groups));
        close_plan(&p);
    }
    make_plan(&p, "resnet18", "demote:0.0001:increasing");
    uint32_t smallest[] = {21, 0};
    assert_true(low_groups(&p) == set_of(smallest, 2));
    close_plan(&p);
}

/* A random order is one of its seed, and reaches the ratio. */
static void test_random_order(void **state) {
    (void)state;
    plan p, q, again;
    make_plan(&p, "resnet18", "demote:0.4:random:123");
    make_plan(&again, "resnet18", "demote:0.4:random:123");
    make_plan(&q, "resnet18", "demote:0.4:random:456");
    assert_true(low_groups(&p) == low_groups(&again));
    assert_true(low_groups(&p) != low_groups(&q));
    int64_t low = 0;
    for (uint32_t g = 0; g < p.groups.count; g++)
        if (low_groups(&p) >> g & 1) low += p.groups.elements[g];
    assert_true((double)low >= 0.4 * (double)p.groups.all);
    close_plan(&p);
    close_plan(&q);
    close_plan(&again);
}

/* The first groups in order of size that bring the bits to the budget, and none more. */
static void test_memory_budget(void **state) {
    (void)state;
    plan p;
    const double budget = 0.4;
    make_plan(&p, "resnet18", "demote:memory=0.4");
    double bits = (double)hu_precision_aggregate_bits(p.graph, &p.edges, BATCH);
    double plain = 32.0 * (double)p.groups.all;
    assert_true(bits <= budget * plain);
    uint32_t order[22], last = HU_NONE;
    uint64_t low = low_groups(&p);
    hu_groups_by_size(&p.groups, false, order);
    for (uint32_t i = 0; i < p.groups.count && low >> order[i] & 1; i++) last = order[i];
    assert_true(bits + 8.0 * (double)p.groups.elements[last] > budget * plain);
    close_plan(&p);
    open_plan(&p, "resnet18", "demote:memory=0.2");
    assert_int_equal(hu_precision_write(&p.precision, p.graph, BATCH, true, &p.edges),
                     HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "at least 0.25"));
    close_plan(&p);
}

/* Low are the inputs of forward products, their weights, and the gradients of their outputs. */
static void test_operator(void **state) {
    (void)state;
    plan p;
    make_plan(&p, "resnet18", "operator");
    assert_int_equal(bits_of(&p, "input"), 16);
    assert_int_equal(bits_of(&p, "conv1.weight"), 16);
    assert_int_equal(gradient_bits(&p, "conv1.out"), 16);
    assert_int_equal(bits_of(&p, "relu1.out"), 8);
    assert_int_equal(gradient_bits(&p, "relu1.out"), 16);
    assert_int_equal(bits_of(&p, "layer1.0.conv1.weight"), 8);
    assert_int_equal(gradient_bits(&p, "layer1.0.conv1.weight"), 16);
    assert_int_equal(bits_of(&p, "layer1.0.conv1.out"), 16);
    assert_int_equal(gradient_bits(&p, "layer1.0.conv1.out"), 8);
    assert_int_equal(bits_of(&p, "layer1.0.bn1.weight"), 16);
    assert_int_equal(bits_of(&p, "layer1.0.relu2.out"), 8); /* read by a product and an addition */
    assert_int_equal(bits_of(&p, "layer1.0.add.out"), 16);
    assert_int_equal(bits_of(&p, "pool.out"), 16); /* the last product's input */
    assert_int_equal(bits_of(&p, "fc.weight"), 16);
    assert_int_equal(gradient_bits(&p, "fc.out"), 16);
    close_plan(&p);
    make_plan(&p, "resnet18", "operator-out");
    assert_int_equal(bits_of(&p, "layer1.0.conv1.out"), 8);
    assert_int_equal(gradient_bits(&p, "layer1.0.conv1.out"), 8);
    assert_int_equal(gradient_bits(&p, "relu1.out"), 8);
    assert_int_equal(bits_of(&p, "layer1.0.bn1.out"), 16);
    assert_int_equal(bits_of(&p, "conv1.out"), 16);
    assert_int_equal(bits_of(&p, "fc.out"), 16);
    close_plan(&p);
}

static void test_listed(void **state) {
    (void)state;
    plan p;
    open_plan(&p, "resnet20", "listed+promote");
    assert_int_equal(hu_precision_add_listed(&p.precision, "group:3"), HU_OK);
    assert_int_equal(hu_precision_add_listed(&p.precision, "layer1.0.*.out.grad"), HU_OK);
    assert_int_equal(hu_precision_add_listed(&p.precision, "fc.weight"), HU_OK);
    write_plan(&p);
    assert_true(p.precision.promotes);
    assert_int_equal(bits_of(&p, "fc.weight"), 8);
    assert_int_equal(bits_of(&p, "layer1.0.conv1.out"), 16);
    assert_int_equal(gradient_bits(&p, "layer1.0.conv1.out"), 8);
    for (hu_value_id v = 0; v < p.graph->value_count; v++)
        if (p.groups.of_value[v] == 3)
            assert_int_equal(hu_format_bits(&p.edges.value[v].quantizer.format), 8);
    close_plan(&p);
    static const char *const wrong[] = {"group:99", "layer9.out", "labell"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        open_plan(&p, "resnet20", "listed");
        assert_int_equal(hu_precision_add_listed(&p.precision, wrong[i]), HU_OK);
        assert_int_equal(hu_precision_write(&p.precision, p.graph, BATCH, true, &p.edges),
                         HU_ERR_UNKNOWN);
        assert_non_null(strstr(hu_last_error(), wrong[i]));
        close_plan(&p);
    }
}

/* Any two formats; the low one must be narrower. The share of low tensors follows the pair. */
static void test_candidates(void **state) {
    (void)state;
    plan p;
    open_plan(&p, "resnet20", "uniform");
    assert_int_equal(hu_precision_set_candidates(&p.precision, "e4m3", "e2m1"), HU_OK);
    write_plan(&p);
    assert_int_equal(bits_of(&p, "conv1.out"), 4);
    assert_int_equal(gradient_bits(&p, "conv1.weight"), 8);
    double ratio = hu_precision_low_ratio(p.graph, &p.edges, BATCH);
    assert_true(ratio > 0.9 && ratio < 1.0);
    close_plan(&p);
    hu_precision precision;
    assert_int_equal(hu_precision_parse("uniform", &precision), HU_OK);
    assert_int_equal(hu_precision_set_candidates(&precision, "e4m3", "e5m2"), HU_ERR_ARGUMENT);
    assert_int_equal(hu_precision_set_candidates(&precision, "nonsense", NULL), HU_ERR_UNKNOWN);
    hu_precision_free(&precision);
}

static void test_texts(void **state) {
    static const struct {
        const char *text;
        hu_status status;
    } rows[] = {{"demote", HU_ERR_PARSE},
                {"demote:", HU_ERR_PARSE},
                {"demote:x", HU_ERR_PARSE},
                {"demote:1.01", HU_ERR_ARGUMENT},
                {"demote:-0.1", HU_ERR_ARGUMENT},
                {"demote:nan", HU_ERR_ARGUMENT},
                {"demote:0.5:upwards", HU_ERR_PARSE},
                {"demote:0.5:random:x", HU_ERR_PARSE},
                {"demote:0.5:random:99999999999999999999", HU_ERR_PARSE},
                {"demote:memory=2", HU_ERR_ARGUMENT},
                {"operator:1", HU_ERR_PARSE},
                {"promote", HU_ERR_PARSE},
                {"+promote", HU_ERR_UNKNOWN},
                {"operator+promot", HU_ERR_UNKNOWN},
                {"demote:1e0:random", HU_OK},
                {"e4m3+promote", HU_OK},
                {"operator-out+promote", HU_OK}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_precision precision;
        hu_status st = hu_precision_parse(rows[i].text, &precision);
        if (st != rows[i].status) fail_msg("%s: %d %s", rows[i].text, st, hu_last_error());
        if (st == HU_OK) hu_precision_free(&precision);
    }
}

static void assert_same(const hu_edge *a, const hu_edge *b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const hu_quantizer *x = &a[i].quantizer, *y = &b[i].quantizer;
        assert_true(hu_quantizer_same_numbers(x, y));
        assert_int_equal(x->rounding, y->rounding);
        assert_int_equal(x->bits, y->bits);
        assert_int_equal(x->scale, y->scale);
        assert_int_equal(x->history, y->history);
        assert_true(hu_format_equal(&x->format, &y->format));
    }
}

/* What a table held before leaves no trace, although rules make tensors of what was none. */
static void test_written_again(void **state) {
    (void)state;
    plan p;
    hu_edge_table fresh;
    open_plan(&p, "resnet20", "demote:0.5");
    assert_int_equal(hu_precision_add_rule(&p.precision, "fc.product.out: e4m3"), HU_OK);
    assert_int_equal(hu_edge_table_create(p.graph, &fresh), HU_OK);
    assert_int_equal(hu_precision_write(&p.precision, p.graph, BATCH, true, &fresh), HU_OK);
    assert_int_equal(hu_precision_write(&p.precision, p.graph, BATCH, true, &p.edges), HU_OK);
    for (hu_value_id v = 0; v < p.graph->value_count; v++) p.edges.value[v].quantizer.history = 7;
    assert_int_equal(hu_precision_write(&p.precision, p.graph, BATCH, true, &p.edges), HU_OK);
    assert_same(p.edges.value, fresh.value, fresh.value_count);
    assert_same(p.edges.grad, fresh.grad, fresh.use_count);
    assert_same(p.edges.grad_sum, fresh.grad_sum, fresh.value_count);
    hu_edge_table_free(&fresh);
    close_plan(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_of_the_paper),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_demotion),
        cmocka_unit_test(test_random_order),
        cmocka_unit_test(test_memory_budget),
        cmocka_unit_test(test_operator),
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_written_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
