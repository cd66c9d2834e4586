/* Accumulators for all products and by rule, as they end up in the edge table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "precision/rules.h"

typedef struct plan {
    hu_graph *graph;
    hu_edge_table edges;
    hu_accumulators accumulators;
} plan;

static hu_status open_plan(plan *p, const char *name, const char *const *rules) {
    hu_shape image = {3, {32, 32, 3}};
    hu_model_options options = {.name = "resnet20", .width = 1, .image = image, .classes = 10};
    *p = (plan){0};
    assert_int_equal(hu_model_build(&options, &p->graph), HU_OK);
    assert_int_equal(hu_edge_table_create(p->graph, &p->edges), HU_OK);
    hu_status st = hu_accumulators_parse(name, HU_SEMANTICS_F32FMA, &p->accumulators);
    for (; st == HU_OK && rules && *rules; rules++)
        st = hu_accumulators_add_rule(&p->accumulators, *rules, HU_SEMANTICS_F32FMA);
    if (st == HU_OK) st = hu_accumulators_write(&p->accumulators, p->graph, &p->edges);
    return st;
}

static void close_plan(plan *p) {
    hu_accumulators_free(&p->accumulators);
    hu_edge_table_free(&p->edges);
    hu_graph_free(p->graph);
}

/* "fp32" where nothing is chosen. */
static void expect(const plan *p, const char *layer, hu_product_role role, const char *expected) {
    char name[HU_NAME_BYTES], text[96] = "fp32";
    for (uint32_t n = 0; n < p->graph->node_count; n++) {
        const hu_accumulation *a = &p->edges.products[n].accumulation;
        if (!p->graph->node[n].op->is_product) continue;
        hu_graph_layer_name(p->graph, &p->graph->node[n], name);
        if (strcmp(name, layer) != 0) continue;
        if (a->chosen[role]) {
            assert_int_equal(hu_accumulator_print(&a->accumulator[role], text, sizeof text), HU_OK);
            assert_int_equal(a->accumulator[role].semantics, HU_SEMANTICS_F32FMA);
        }
        assert_string_equal(text, expected);
        return;
    }
    fail_msg("no layer '%s'", layer);
}

static void one_for_all(void **state) {
    (void)state;
    plan p;
    assert_int_equal(open_plan(&p, "fmac8:1/6/9", NULL), HU_OK);
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
        expect(&p, "conv1", (hu_product_role)r, "fmac8:1/6/9/d");
        expect(&p, "layer3.2.conv2", (hu_product_role)r, "fmac8:1/6/9/d");
        expect(&p, "fc", (hu_product_role)r, "fmac8:1/6/9/d");
    }
    for (uint32_t n = 0; n < p.graph->node_count; n++)
        if (!p.graph->node[n].op->is_product)
            assert_false(p.edges.products[n].accumulation.chosen[HU_PRODUCT_FORWARD]);
    close_plan(&p);
    assert_int_equal(open_plan(&p, "fp32", NULL), HU_OK);
    expect(&p, "conv1", HU_PRODUCT_FORWARD, "fp32");
    assert_false(hu_accumulators_count(&p.accumulators, 0));
    close_plan(&p);
}

static void later_rules_win(void **state) {
    (void)state;
    static const char *const rules[] = {"layer1.*: kahan:1/6/9", "*.weight_grad: fmacs", "fc:fp32",
                                        " layer1.?.conv1.forward : fmac:e4m3fn:ovf=sat", NULL};
    plan p;
    assert_int_equal(open_plan(&p, "fmac8:1/6/9", rules), HU_OK);
    expect(&p, "conv1", HU_PRODUCT_FORWARD, "fmac8:1/6/9/d");
    expect(&p, "conv1", HU_PRODUCT_WEIGHT_GRAD, "fmacs");
    expect(&p, "layer1.0.conv1", HU_PRODUCT_FORWARD, "fmac:e4m3fn:ovf=sat");
    expect(&p, "layer1.0.conv2", HU_PRODUCT_FORWARD, "kahan:1/6/9/d");
    expect(&p, "layer1.0.conv1", HU_PRODUCT_INPUT_GRAD, "kahan:1/6/9/d");
    expect(&p, "layer1.0.conv1", HU_PRODUCT_WEIGHT_GRAD, "fmacs");
    for (int r = 0; r < HU_PRODUCT_ROLES; r++) expect(&p, "fc", (hu_product_role)r, "fp32");
    close_plan(&p);
}

static void counted_steps(void **state) {
    (void)state;
    plan p;
    assert_int_equal(open_plan(&p, "fmacs", NULL), HU_OK);
    assert_false(hu_accumulators_count(&p.accumulators, 0));
    p.accumulators.count_every = 10;
    assert_true(hu_accumulators_count(&p.accumulators, 0));
    assert_false(hu_accumulators_count(&p.accumulators, 5));
    assert_true(hu_accumulators_count(&p.accumulators, 20));
    close_plan(&p);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *rules[2];
        hu_status expected;
        const char *says;
    } rows[] = {{"fmac8", {NULL}, HU_ERR_PARSE, "fmac8"},
                {"fnac8:1/6/9", {NULL}, HU_ERR_UNKNOWN, "'fmac8'"},
                {"fmac0:1/6/9", {NULL}, HU_ERR_ARGUMENT, ""},
                {"fp32", {"conv1"}, HU_ERR_PARSE, "'conv1'"},
                {"fp32", {": fmacs"}, HU_ERR_PARSE, "expected"},
                {"fp32", {"conv1: fnacs"}, HU_ERR_UNKNOWN, "rule 'conv1: fnacs'"},
                {"fp32", {"layer1.0.convv1: fmacs"}, HU_ERR_UNKNOWN, "'layer1.0.conv1'"},
                {"fp32", {"bn1: fmacs"}, HU_ERR_UNKNOWN, "matches no layer"},
                {"fp32", {"conv1.foward: fmacs"}, HU_ERR_UNKNOWN, "'conv1.forward'"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        plan p;
        uint64_t live = hu_memory_count().live_blocks;
        hu_status st = open_plan(&p, rows[r].name, rows[r].rules);
        if (st != rows[r].expected) fail_msg("row %zu: %d: %s", r, (int)st, hu_last_error());
        if (!strstr(hu_last_error(), rows[r].says)) fail_msg("row %zu: %s", r, hu_last_error());
        close_plan(&p);
        assert_true(hu_memory_count().live_blocks == live);
    }
}

static void semantics(void **state) {
    (void)state;
    hu_semantics s;
    assert_int_equal(hu_semantics_parse("f32fma", &s), HU_OK);
    assert_int_equal(s, HU_SEMANTICS_F32FMA);
    assert_int_equal(hu_semantics_parse("cpd", &s), HU_OK);
    assert_int_equal(s, HU_SEMANTICS_CPD);
    assert_int_equal(hu_semantics_parse("exact", &s), HU_OK);
    assert_int_equal(s, HU_SEMANTICS_EXACT);
    assert_int_equal(hu_semantics_parse("", &s), HU_ERR_UNKNOWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_for_all), cmocka_unit_test(later_rules_win),
        cmocka_unit_test(counted_steps), cmocka_unit_test(refused), cmocka_unit_test(semantics)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
