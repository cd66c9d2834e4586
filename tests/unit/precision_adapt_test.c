/* The list of adaptations, and each of them at its moments on an edge table with made-up counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "config/config.h"
#include "model/model.h"
#include "precision/adaptation.h"

typedef struct plan {
    hu_graph *graph;
    hu_edge_table edges;
    hu_precision precision;
    hu_adaptations adaptations;
} plan;

static void open_plan(plan *p, const char *precision) {
    hu_model_options options = {
        .name = "resnet20", .width = 1, .image = {3, {32, 32, 3}}, .classes = 10};
    *p = (plan){0};
    assert_int_equal(hu_model_build(&options, &p->graph), HU_OK);
    assert_int_equal(hu_edge_table_create(p->graph, &p->edges), HU_OK);
    if (hu_precision_parse(precision, &p->precision) != HU_OK) fail_msg("%s", hu_last_error());
    hu_status st = hu_precision_write(&p->precision, p->graph, 128, true, &p->edges);
    if (st != HU_OK) fail_msg("%s", hu_last_error());
    hu_adapt_task task = {
        .precision = &p->precision, .graph = p->graph, .batch = 128, .signals = true};
    assert_int_equal(hu_adaptations_create(&task, &p->adaptations), HU_OK);
}

static void close_plan(plan *p) {
    hu_adaptations_free(&p->adaptations);
    hu_precision_free(&p->precision);
    hu_edge_table_free(&p->edges);
    hu_graph_free(p->graph);
}

static hu_adapt_moment moment_of(plan *p) {
    return (hu_adapt_moment){.graph = p->graph,
                             .edges = &p->edges,
                             .precision = &p->precision,
                             .steps_per_epoch = 1,
                             .counted_nodes = p->graph->node_count,
                             .event = p->adaptations.event};
}

static hu_adapt_moment after(plan *p) {
    hu_adapt_moment moment = moment_of(p);
    hu_adapt_after_step(&p->adaptations, &moment);
    return moment;
}

static bool before(plan *p, bool rewritten) {
    hu_adapt_moment moment = moment_of(p);
    moment.rewritten = rewritten;
    hu_adapt_before_step(&p->adaptations, &moment);
    return moment.rewritten;
}

static uint32_t bits_of(const plan *p, hu_value_id v) {
    return hu_quantizer_bits(&p->edges.value[v].quantizer);
}

/* Every record is complete, and the keys that it names exist. */
static void test_list(void **state) {
    (void)state;
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++) {
        const hu_adaptation *row = hu_adaptation_table[a];
        char keys[256], *rest = NULL;
        assert_true(row->name[0] && row->help[0] && row->keys[0] && row->asked[0]);
        assert_true(row->create && row->free && row->most_events);
        assert_true(row->before_step || row->after_step);
        assert_true(!row->save == !row->check && !row->save == !row->restore);
        assert_true(strlen(row->keys) < sizeof keys);
        strcpy(keys, row->keys);
        for (char *key = strtok_r(keys, " ", &rest); key; key = strtok_r(NULL, " ", &rest))
            if (!hu_config_key_find(key)) fail_msg("%s: no key '%s'", row->name, key);
    }
}

/* Without "+promote" nothing is asked at all. */
static void test_none(void **state) {
    (void)state;
    plan p;
    open_plan(&p, "uniform");
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++) assert_null(p.adaptations.state[a]);
    assert_false(before(&p, false));
    assert_int_equal(after(&p).event_count, 0);
    close_plan(&p);
}

/* Tensors go high from the share on, and only forward ones. */
static void test_promotion(void **state) {
    (void)state;
    plan p;
    open_plan(&p, "uniform+promote");
    hu_value_id conv = hu_graph_find(p.graph, "conv1.out"), bn = hu_graph_find(p.graph, "bn1.out");
    p.edges.value[conv].counts.elements = p.edges.value[bn].counts.elements = 1000;
    p.edges.value[conv].counts.overflow = 6;
    p.edges.value[conv].counts.nan = 4;
    p.edges.value[bn].counts.overflow = 9;
    p.edges.grad[p.graph->value[bn].uses[0]].counts.elements = 10;
    p.edges.grad[p.graph->value[bn].uses[0]].counts.overflow = 10;
    hu_adapt_moment found = after(&p);
    assert_int_equal(found.event_count, 1);
    assert_ptr_equal(found.event[0].by, &hu_adaptation_promote);
    assert_int_equal(found.event[0].value, conv);
    assert_true(found.event[0].share == 0.01);
    assert_int_equal(hu_adapt_changed(&p.adaptations), 1);
    assert_int_equal(bits_of(&p, conv), 8); /* no quantizer changes after a step */
    assert_true(before(&p, false));
    assert_false(before(&p, false));
    assert_int_equal(bits_of(&p, conv), 16);
    assert_int_equal(hu_quantizer_bits(&p.edges.grad[p.graph->value[conv].uses[0]].quantizer), 8);
    assert_int_equal(after(&p).event_count, 0);
    /* Who writes the table anew need not know of promotions. */
    assert_int_equal(hu_precision_write(&p.precision, p.graph, 128, true, &p.edges), HU_OK);
    assert_true(before(&p, true));
    assert_int_equal(bits_of(&p, conv), 16);
    close_plan(&p);
}

/* After the node that a format stopped nothing is known. */
static void test_stopped(void **state) {
    (void)state;
    plan p;
    open_plan(&p, "uniform+promote");
    hu_value_id conv = hu_graph_find(p.graph, "conv1.out");
    hu_adapt_moment moment = moment_of(&p);
    p.edges.value[conv].counts = (hu_round_counts){.elements = 10, .overflow = 5};
    moment.counted_nodes = p.graph->value[conv].producer;
    hu_adapt_after_step(&p.adaptations, &moment);
    assert_int_equal(moment.event_count, 0);
    close_plan(&p);
}

static void test_state(void **state) {
    (void)state;
    enum { ROW = 2 };
    plan p;
    const void *data;
    size_t bytes;
    open_plan(&p, "uniform+promote");
    const hu_adaptation *row = hu_adaptation_table[ROW];
    void *mine = p.adaptations.state[ROW];
    assert_string_equal(row->section, "promoted"); /* also that of files made before the list */
    row->save(mine, &data, &bytes);
    assert_int_equal(bytes, 0);
    uint32_t ids[] = {hu_graph_find(p.graph, "bn1.out"), hu_graph_find(p.graph, "conv1.weight")};
    assert_int_equal(row->check(mine, p.graph, ids, sizeof ids), HU_OK);
    row->restore(mine, ids, sizeof ids);
    assert_true(before(&p, true));
    assert_int_equal(bits_of(&p, ids[0]), 16);
    assert_int_equal(bits_of(&p, ids[1]), 16);
    row->save(mine, &data, &bytes);
    assert_int_equal(bytes, sizeof ids);
    assert_memory_equal(data, ids, sizeof ids);
    uint32_t twice[] = {ids[0], ids[0]}, label[] = {hu_graph_find(p.graph, "label")},
             none[] = {1u << 30}, statistic[] = {hu_graph_find(p.graph, "bn1.running_mean")};
    assert_int_equal(row->check(mine, p.graph, twice, sizeof twice), HU_ERR_CORRUPT);
    assert_int_equal(row->check(mine, p.graph, label, sizeof label), HU_ERR_CORRUPT);
    assert_int_equal(row->check(mine, p.graph, none, sizeof none), HU_ERR_CORRUPT);
    assert_int_equal(row->check(mine, p.graph, statistic, sizeof statistic), HU_ERR_CORRUPT);
    assert_int_equal(row->check(mine, p.graph, ids, sizeof ids - 1), HU_ERR_CORRUPT);
    row->restore(mine, NULL, 0);
    assert_int_equal(hu_adapt_changed(&p.adaptations), 0);
    close_plan(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),      cmocka_unit_test(test_none),
        cmocka_unit_test(test_promotion), cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
