/* The edge table as a plan by names and back: the same table, whoever wrote it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "config/load.h"
#include "model/model.h"
#include "precision/precision.h"

static hu_graph *build(const char *model) {
    hu_graph *graph;
    hu_model_options options = {
        .name = model, .width = 0.25, .image = {3, {32, 32, 3}}, .classes = 10};
    if (hu_model_build(&options, &graph) != HU_OK) fail_msg("%s", hu_last_error());
    return graph;
}

static void write_table(const hu_precision *precision, const hu_graph *graph,
                        hu_edge_table *edges) {
    assert_int_equal(hu_edge_table_create(graph, edges), HU_OK);
    hu_status st = hu_precision_write(precision, graph, 64, true, edges);
    if (st == HU_OK) st = hu_accumulators_write(&precision->accumulators, graph, edges);
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

static hu_keys *tree_of(const hu_precision *precision, const hu_graph *graph,
                        const hu_edge_table *edges) {
    hu_keys *scaler, *tree;
    assert_int_equal(hu_keys_create(HU_KEYS_MAP, NULL, "test", &scaler), HU_OK);
    hu_plan_facts facts = {"model", 1.0, precision, true, true, scaler, 7};
    if (hu_resolved_tree(&facts, graph, edges, &tree) != HU_OK) fail_msg("%s", hu_last_error());
    hu_keys_free(scaler);
    return tree;
}

/* What the session does with the keys of a plan file. */
static void read_keys(const hu_keys *keys, hu_precision *precision) {
    const hu_keys *tensors = hu_keys_find(keys, "precision.tensors");
    const hu_keys *rules = hu_keys_find(keys, "accumulator.rules");
    const hu_keys *semantics = hu_keys_find(keys, "accumulator.semantics");
    hu_semantics chosen = HU_SEMANTICS_EXACT;
    assert_int_equal(
        hu_precision_parse(hu_keys_value(hu_keys_find(keys, "precision.name")), precision), HU_OK);
    for (size_t i = 0; i < hu_keys_count(tensors); i++)
        if (hu_precision_add_tensor(precision, hu_keys_value(hu_keys_at(tensors, i)), "test") !=
            HU_OK)
            fail_msg("%s", hu_last_error());
    if (semantics) assert_int_equal(hu_semantics_parse(hu_keys_value(semantics), &chosen), HU_OK);
    for (size_t i = 0; rules && i < hu_keys_count(rules); i++)
        if (hu_accumulators_add_rule(&precision->accumulators, hu_keys_value(hu_keys_at(rules, i)),
                                     chosen) != HU_OK)
            fail_msg("%s", hu_last_error());
    const char *low_bits = hu_keys_value(hu_keys_find(keys, "precision.low_bits"));
    assert_int_equal(hu_low_bits_parse(low_bits, precision->low_bits), HU_OK);
}

static void check_edge(const char *what, uint32_t i, const hu_edge *a, const hu_edge *b) {
    const hu_quantizer *x = &a->quantizer, *y = &b->quantizer;
    bool same = x->kind == y->kind && x->rounding == y->rounding && x->scale == y->scale &&
                x->history == y->history && hu_block_format_equal(&x->block, &y->block) &&
                memcmp(&x->format, &y->format, sizeof x->format) == 0;
    if (!hu_quantizer_rounds(x) && !hu_quantizer_rounds(y)) return;
    if (!same) fail_msg("%s %u", what, i);
}

static void check_tables(const hu_edge_table *a, const hu_edge_table *b) {
    assert_memory_equal(a->low_bits, b->low_bits, sizeof a->low_bits);
    for (uint32_t v = 0; v < a->value_count; v++) {
        check_edge("value", v, &a->value[v], &b->value[v]);
        check_edge("sum", v, &a->grad_sum[v], &b->grad_sum[v]);
    }
    for (uint32_t u = 0; u < a->use_count; u++) {
        check_edge("grad", u, &a->grad[u], &b->grad[u]);
        check_edge("use", u, &a->use[u], &b->use[u]);
    }
    for (uint32_t n = 0; n < a->node_count; n++)
        for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
            const hu_accumulation *x = &a->products[n].accumulation;
            const hu_accumulation *y = &b->products[n].accumulation;
            assert_int_equal(x->chosen[r], y->chosen[r]);
            if (x->chosen[r])
                assert_memory_equal(&x->accumulator[r], &y->accumulator[r],
                                    sizeof x->accumulator[r]);
        }
}

/* Table -> tree -> YAML keys -> precision -> table. */
static void round_trip(hu_precision *precision, const char *model) {
    hu_graph *graph = build(model);
    hu_edge_table written, read;
    hu_precision again;
    hu_keys *keys;
    write_table(precision, graph, &written);
    hu_keys *tree = tree_of(precision, graph, &written);
    assert_true(hu_plan_is_resolved(tree));
    if (hu_plan_resolved_keys(tree, &keys) != HU_OK) fail_msg("%s", hu_last_error());
    read_keys(keys, &again);
    write_table(&again, graph, &read);
    check_tables(&written, &read);
    assert_int_equal(again.promotes, precision->promotes);
    hu_keys_free(keys);
    hu_keys_free(tree);
    hu_precision_free(&again);
    hu_edge_table_free(&written);
    hu_edge_table_free(&read);
    hu_graph_free(graph);
}

static void test_round_trip(void **state) {
    static const char *const models[] = {"cnn-s", "resnet20", "squeezenet", "shufflenet-v2"};
    static const char *const texts[] = {
        "fp32",
        "fp16",
        "bf16",
        "1/6/9/d",
        "1/6/9/n",
        "hfp8+promote",
        "operator",
        "operator-out",
        "demote:0.4:random:7",
        "mxfp8",
        "nvfp4",
        "mxint8",
        "w=uniform4:channel,act=uniform8:running,grad=uniform8 sr,wgrad=fp32",
        "e4m3fn:scale=current sr",
        ("w=e5m2:scale=delayed7,act=e4m3fnuz:scale=bias rz,grad=e3m4:ovf=nan:scale=delayed,wgrad="
         "fp(6,9,0) rodd"),
        "act=e2m1:ovf=inf,grad=e2m3:specials=ieee:sub=n rna",
        "e5m2:bias=16:specials=fnuz",
        "act=e4m3:scale=2^-9,grad=fp(5,2,0):scale=2^4"};
    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            hu_precision precision;
            if (hu_precision_parse(texts[t], &precision) != HU_OK)
                fail_msg("%s: %s", texts[t], hu_last_error());
            round_trip(&precision, models[m]);
            hu_precision_free(&precision);
        }
}

static void test_products(void **state) {
    (void)state;
    hu_precision precision;
    assert_int_equal(hu_precision_parse("demote:0.5", &precision), HU_OK);
    assert_int_equal(hu_precision_set_candidates(&precision, "fp16", "mxfp4"), HU_OK);
    hu_accumulators *accumulators = &precision.accumulators;
    assert_int_equal(hu_accumulators_parse("fmac8:1/6/9/n", HU_SEMANTICS_F32FMA, accumulators),
                     HU_OK);
    static const char *const rules[] = {"fc: fp32", "*.input_grad: kahan:e5m10",
                                        "conv1.forward: fmacs"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (hu_accumulators_add_rule(accumulators, rules[i], HU_SEMANTICS_F32FMA) != HU_OK)
            fail_msg("%s", hu_last_error());
    round_trip(&precision, "resnet20");
    hu_precision_free(&precision);
}

/* Uses of one value may differ: then each has its own text. */
static void test_uses(void **state) {
    (void)state;
    hu_graph *graph = build("resnet20");
    hu_precision precision, again;
    hu_edge_table written, read;
    hu_keys *keys;
    hu_value_id v = 0;
    assert_int_equal(hu_precision_parse("hfp8", &precision), HU_OK);
    write_table(&precision, graph, &written);
    while (graph->value[v].use_count < 2) v++;
    written.grad[graph->value[v].uses[1]].quantizer = (hu_quantizer){0};
    written.use[graph->value[v].uses[1]].quantizer = written.value[v].quantizer;
    hu_quantizer *reading = &written.use[graph->value[v + 1].uses[0]].quantizer;
    assert_int_equal(hu_quantizer_parse("e2m1:scale=current sr", HU_ROUND_NEAREST_EVEN, reading),
                     HU_OK);
    hu_keys *tree = tree_of(&precision, graph, &written);
    assert_int_equal(hu_plan_resolved_keys(tree, &keys), HU_OK);
    read_keys(keys, &again);
    write_table(&again, graph, &read);
    check_tables(&written, &read);
    hu_keys_free(keys);
    hu_keys_free(tree);
    hu_precision_free(&precision);
    hu_precision_free(&again);
    hu_edge_table_free(&written);
    hu_edge_table_free(&read);
    hu_graph_free(graph);
}

static void test_refused(void **state) {
    static const char *const wrong[] = {"conv1.out",
                                        ": value e4m3",
                                        "a: valu e4m3",
                                        "a: value",
                                        "a: value e99m3",
                                        "a: value e4m3; value e4m3",
                                        "a: sum e4m3; sum e4m3",
                                        "a: value e4m3 no",
                                        "a: e4m3"};
    (void)state;
    hu_precision precision;
    assert_int_equal(hu_precision_parse("resolved", &precision), HU_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (hu_precision_add_tensor(&precision, wrong[i], "test") == HU_OK)
            fail_msg("'%s'", wrong[i]);
        assert_int_equal(precision.tensor_count, 0);
    }
    assert_int_equal(
        hu_precision_add_tensor(&precision, "a: value e4m3; grad e5m2; grad fp32", "test"), HU_OK);
    assert_int_equal(precision.tensors[0].part[HU_PART_GRAD].count, 2);
    hu_precision_free(&precision);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_uses),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
