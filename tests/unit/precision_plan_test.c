/* Named precisions, rules and schemes as they end up in the edge table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "base/memory.h"
#include "model/model.h"
#include "precision/precision.h"

typedef struct plan {
    hu_graph *graph;
    hu_edge_table edges;
    hu_precision precision;
} plan;

static hu_status open_plan(plan *p, const char *model, const char *precision, const char **rules,
                           bool signals) {
    hu_shape image = {3, {32, 32, 3}};
    hu_status st = hu_precision_parse(precision, &p->precision);
    hu_model_options options = {.name = model,
                                .width = 1,
                                .image = image,
                                .classes = 10,
                                .splits_bias = hu_precision_splits_bias(&p->precision)};
    assert_int_equal(hu_model_build(&options, &p->graph), HU_OK);
    assert_int_equal(hu_edge_table_create(p->graph, &p->edges), HU_OK);
    for (; st == HU_OK && rules && *rules; rules++)
        st = hu_precision_add_rule(&p->precision, *rules);
    if (st == HU_OK) st = hu_precision_write(&p->precision, p->graph, 128, signals, &p->edges);
    return st;
}

static void close_plan(plan *p) {
    hu_precision_free(&p->precision);
    hu_edge_table_free(&p->edges);
    hu_graph_free(p->graph);
}

static void make_plan(plan *p, const char *model, const char *precision, const char **rules,
                      bool signals) {
    if (open_plan(p, model, precision, rules, signals) != HU_OK) fail_msg("%s", hu_last_error());
}

/* "" where nothing is rounded, else the canonical name of the format and the mode if not rne. */
static const char *spell(const hu_quantizer *quantizer) {
    static char text[128];
    text[0] = '\0';
    if (!hu_quantizer_rounds(quantizer)) return text;
    assert_int_equal(hu_format_print(&quantizer->format, text, sizeof text), HU_OK);
    if (quantizer->rounding != HU_ROUND_NEAREST_EVEN) {
        strcat(text, " ");
        strcat(text, hu_rounding_name(quantizer->rounding));
    }
    return text;
}

static void expect_format(const char *name, const hu_quantizer *quantizer, const char *expected) {
    char canonical[128] = "", mode[16] = "", base[128];
    hu_format format;
    strcpy(base, expected);
    char *space = strchr(base, ' ');
    if (space) {
        strcpy(mode, space);
        *space = '\0';
    }
    if (base[0]) {
        assert_int_equal(hu_format_parse(base, &format), HU_OK);
        assert_int_equal(hu_format_print(&format, canonical, sizeof canonical), HU_OK);
        strcat(canonical, mode);
    }
    if (strcmp(spell(quantizer), canonical) != 0)
        fail_msg("%s: found '%s', expected '%s'", name, spell(quantizer), canonical);
}

static hu_value_id find(const plan *p, const char *name) {
    hu_value_id v = hu_graph_find(p->graph, name);
    if (v == HU_NONE) fail_msg("no tensor '%s'", name);
    return v;
}

/* What a value, all contributions to its gradient, and their sum are rounded to. */
static void expect(const plan *p, const char *name, const char *value, const char *grad,
                   const char *sum) {
    hu_value_id v = find(p, name);
    const hu_value_info *info = &p->graph->value[v];
    expect_format(name, &p->edges.value[v].quantizer, value);
    for (uint32_t k = 0; k < info->use_count; k++)
        expect_format(name, &p->edges.grad[info->uses[k]].quantizer, grad);
    expect_format(name, &p->edges.grad_sum[v].quantizer, sum);
}

static void test_scheme_lee(void **state) {
    (void)state;
    plan p;
    make_plan(&p, "resnet20", "hfp8", NULL, false);
    expect(&p, "input", "fp(4,3,4)", "fp(5,2,0)", "");
    expect(&p, "label", "", "", "");
    expect(&p, "conv1.out", "fp(4,3,4)", "fp(5,2,0)", "");
    expect(&p, "conv1.weight", "fp(4,3,4)", "fp(6,9,0)", "");
    expect(&p, "bn1.weight", "fp(4,3,4)", "fp(6,9,0)", "");
    expect(&p, "bn1.running_mean", "", "", "");
    expect(&p, "relu1.out", "fp(4,3,4)", "fp(5,2,0)", ""); /* fans out: the sum stays float32 */
    assert_int_equal(p.graph->value[find(&p, "relu1.out")].use_count, 2);
    expect(&p, "fc.product.out", "", "", "");
    expect(&p, "fc.out", "fp(4,3,4)", "fp(5,2,0)", "");
    expect(&p, "fc.bias", "fp(4,3,4)", "fp(6,9,0)", "");
    expect(&p, "log_softmax.out", "fp(4,3,4)", "fp(5,2,0)", "");
    expect(&p, "loss.out", "fp(4,3,4)", "", "");
    close_plan(&p);
}

static void test_scheme_popescu(void **state) {
    (void)state;
    plan p;
    make_plan(&p, "resnet20", "1/6/9/d", NULL, false);
    expect(&p, "input", "1/6/9/d", "1/6/9/d", "1/6/9/d");
    expect(&p, "relu1.out", "1/6/9/d", "1/6/9/d", "1/6/9/d");
    expect(&p, "conv1.weight", "1/6/9/d", "1/6/9/d", "");
    expect(&p, "fc.product.out", "1/6/9/d", "1/6/9/d", "1/6/9/d");
    expect(&p, "fc.bias", "1/6/9/d", "1/6/9/d", "");
    expect(&p, "fc.out", "1/6/9/d", "1/6/9/d", "1/6/9/d");
    expect(&p, "log_softmax.out", "1/6/9/d", "1/6/9/d", "1/6/9/d");
    expect(&p, "loss.out", "", "", "");
    close_plan(&p);
}

static hu_status read_phase(void *context, const char *text, hu_precision *precision) {
    (void)context;
    return hu_precision_parse(text, precision);
}

/* R(R(R(W) R(X)) + R(B)): the product of a convolution is rounded before its bias in Popescu et
 * al.'s scheme; in the others the bias stays inside, and no such tensor is present. */
static void test_bias_of_convolutions(void **state) {
    (void)state;
    plan p;
    make_plan(&p, "squeezenet", "1/6/9/d", NULL, false);
    expect(&p, "conv10.product.out", "1/6/9/d", "1/6/9/d", "1/6/9/d");
    expect(&p, "conv10.out", "1/6/9/d", "1/6/9/d", "1/6/9/d");
    expect(&p, "conv10.bias", "1/6/9/d", "1/6/9/d", "");
    const hu_node *node = &p.graph->node[p.graph->value[find(&p, "conv10.out")].producer];
    assert_string_equal(node->op->name, "bias");
    uint32_t weight = p.graph->value[find(&p, "conv10.weight")].uses[0];
    assert_string_equal(p.graph->node[p.graph->use[weight].node].name, "conv10.product");
    close_plan(&p);
    static const char *const whole[] = {"fp16", "hfp8", "fp32"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        make_plan(&p, "squeezenet", whole[i], NULL, true);
        assert_int_equal(hu_graph_find(p.graph, "conv10.product.out"), HU_NONE);
        find(&p, "conv10.bias");
        close_plan(&p);
    }
    assert_int_equal(hu_precision_parse_list("0: fp32, 1: 1/6/9", read_phase, NULL, &p.precision),
                     HU_OK);
    assert_true(hu_precision_splits_bias(&p.precision));
    hu_precision_free(&p.precision);
}

static void test_scheme_micikevicius(void **state) {
    (void)state;
    plan p;
    make_plan(&p, "resnet20", "fp16", NULL, true);
    expect(&p, "input", "fp16", "fp16", "fp16");
    expect(&p, "fc.product.out", "", "", "");
    expect(&p, "fc.out", "fp16", "fp16", "fp16");
    expect(&p, "fc.weight", "fp16", "fp16", "");
    expect(&p, "log_softmax.out", "fp16", "fp16", "fp16");
    expect(&p, "loss.out", "", "", "");
    close_plan(&p);
}

/* What the precision gives most tensors of a role: the low candidate where an assignment makes all
 * low. */
static const hu_quantizer *usual(const hu_precision *p, hu_role role) {
    const hu_assignment_kind *kind = p->assignment.kind;
    bool is_low = kind == &hu_assignment_uniform || kind == &hu_assignment_hfp8;
    return is_low && hu_quantizer_rounds(&p->low[role]) ? &p->low[role] : &p->role[role];
}

static void test_named_precisions(void **state) {
    (void)state;
    static const struct {
        const char *name, *act, *grad, *weight, *wgrad;
        hu_scheme scheme;
        hu_scaler_default scaler;
        bool epoch, masters;
    } rows[] = {
        {"fp32", "", "", "", "", HU_SCHEME_LEE, HU_SCALER_NONE, false, true},
        {"fp16", "fp16", "fp16", "fp16", "fp16", HU_SCHEME_MICIKEVICIUS, HU_SCALER_DYNAMIC, false,
         false},
        {"bf16", "bf16", "bf16", "bf16", "bf16", HU_SCHEME_MICIKEVICIUS, HU_SCALER_NONE, false,
         false},
        {"1/6/9/d", "1/6/9/d", "1/6/9/d", "1/6/9/d", "1/6/9/d", HU_SCHEME_POPESCU, HU_SCALER_NONE,
         false, false},
        {"1/6/9/n", "1/6/9/n", "1/6/9/n", "1/6/9/n", "1/6/9/n", HU_SCHEME_POPESCU, HU_SCALER_NONE,
         false, false},
        {"1/6/9", "1/6/9/d", "1/6/9/d", "1/6/9/d", "1/6/9/d", HU_SCHEME_POPESCU, HU_SCALER_NONE,
         false, false},
        {"high", "fp(6,9,0)", "fp(6,9,0)", "fp(6,9,0)", "fp(6,9,0)", HU_SCHEME_LEE,
         HU_SCALER_DYNAMIC, true, true},
        {"hfp8", "fp(4,3,4)", "fp(5,2,0)", "fp(4,3,4)", "fp(6,9,0)", HU_SCHEME_LEE,
         HU_SCALER_DYNAMIC, true, true},
        {"uniform", "fp(4,3,4)", "fp(5,2,0)", "fp(4,3,4)", "fp(6,9,0)", HU_SCHEME_LEE,
         HU_SCALER_DYNAMIC, true, true},
        {"e4m3fn", "e4m3fn", "e4m3fn", "e4m3fn", "e4m3fn", HU_SCHEME_POPESCU, HU_SCALER_NONE, false,
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_precision p;
        assert_int_equal(hu_precision_parse(rows[i].name, &p), HU_OK);
        expect_format(rows[i].name, usual(&p, HU_ROLE_ACT), rows[i].act);
        expect_format(rows[i].name, usual(&p, HU_ROLE_ACT_GRAD), rows[i].grad);
        expect_format(rows[i].name, usual(&p, HU_ROLE_WEIGHT), rows[i].weight);
        expect_format(rows[i].name, usual(&p, HU_ROLE_WEIGHT_GRAD), rows[i].wgrad);
        assert_int_equal(p.scheme, rows[i].scheme);
        assert_int_equal(p.scaler, rows[i].scaler);
        assert_int_equal(p.scaler_epoch_interval, rows[i].epoch);
        assert_int_equal(p.eval_masters, rows[i].masters);
    }
    for (int i = 0; i < hu_precision_name_count; i++) {
        hu_precision p;
        assert_int_equal(hu_precision_parse(hu_precision_names[i], &p), HU_OK);
        hu_precision_free(&p);
    }
}

static void test_role_strings(void **state) {
    (void)state;
    hu_precision p;
    assert_int_equal(hu_precision_parse("act=fp(4,3,4),grad=fp(5,2,0) sr,w=e4m3fn:ovf=sat", &p),
                     HU_OK);
    expect_format("act", &p.role[HU_ROLE_ACT], "fp(4,3,4)");
    expect_format("grad", &p.role[HU_ROLE_ACT_GRAD], "fp(5,2,0) sr");
    expect_format("w", &p.role[HU_ROLE_WEIGHT], "e4m3fn:ovf=sat");
    expect_format("wgrad", &p.role[HU_ROLE_WEIGHT_GRAD], "");
    assert_int_equal(p.scheme, HU_SCHEME_LEE);
    assert_int_equal(hu_precision_parse("wgrad=fp16", &p), HU_OK);
    expect_format("wgrad", &p.role[HU_ROLE_WEIGHT_GRAD], "fp16");
    assert_int_equal(hu_precision_parse("act=fp(4,3,4),weight=fp16", &p), HU_ERR_PARSE);
    assert_non_null(strstr(hu_last_error(), "column 15"));
    assert_int_equal(hu_precision_parse("w=fp16,act=nonsense", &p), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "column 8"));
    assert_int_equal(hu_precision_parse("w=fp16 upwards", &p), HU_ERR_UNKNOWN);
    assert_int_equal(hu_precision_parse("w=fp16,", &p), HU_ERR_PARSE);
    assert_int_equal(hu_precision_parse("w=fp16,,act=fp16", &p), HU_ERR_PARSE);
    assert_int_equal(hu_precision_parse("hfp9", &p), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "hfp8"));
    assert_int_equal(hu_precision_parse("", &p), HU_ERR_UNKNOWN);
}

static void test_rules(void **state) {
    (void)state;
    plan p;
    const char *rules[] = {"weight: e5m2",
                           "conv2.*: bf16",
                           "conv2.weight: fp32",
                           "act.grad: e5m2 sr",
                           " pool.out : e4m3fn",
                           "conv?.weight.grad: fp16",
                           "bn1.bias.grad: fp(6,9,0)",
                           NULL};
    make_plan(&p, "cnn-s", "hfp8", rules, false);
    expect(&p, "conv1.weight", "e5m2", "fp16", "");
    expect(&p, "fc.bias", "e5m2", "fp(6,9,0)", "");
    expect(&p, "conv2.weight", "", "fp16", ""); /* the last of three rules */
    expect(&p, "conv2.out", "bf16", "e5m2 sr", "");
    expect(&p, "pool.out", "e4m3fn", "e5m2 sr", "");
    expect(&p, "bn1.bias", "e5m2", "fp(6,9,0)", "");
    expect(&p, "relu1.out", "fp(4,3,4)", "e5m2 sr", "");
    expect(&p, "bn2.running_var", "", "", "");
    expect(&p, "label", "", "", "");
    close_plan(&p);
}

/* Roles and globs change formats where the scheme rounds; a full name makes a point of its own. */
static void test_rules_keep_rounding_points(void **state) {
    (void)state;
    plan p;
    const char *broad[] = {"act: e4m3fn", "act.grad: e5m2", "fc.*: bf16", NULL};
    make_plan(&p, "cnn-s", "fp16", broad, true);
    expect(&p, "log_softmax.out", "e4m3fn", "e5m2", "e5m2");
    expect(&p, "loss.out", "", "", "");
    expect(&p, "fc.product.out", "", "", "");
    expect(&p, "fc.out", "bf16", "bf16", "bf16");
    expect(&p, "relu1.out", "e4m3fn", "e5m2", "e5m2");
    close_plan(&p);
    const char *exact[] = {"loss.out: e4m3fn", "fc.product.out.grad: e5m2", NULL};
    make_plan(&p, "cnn-s", "fp16", exact, true);
    expect(&p, "loss.out", "e4m3fn", "", "");
    expect(&p, "fc.product.out", "", "e5m2", "");
    close_plan(&p);
}

/* One mode for all tensors is also that of the rules, unless they name their own. */
static void test_one_rounding(void **state) {
    (void)state;
    plan p;
    hu_precision precision;
    const char *rules[] = {"fc.weight: e4m3fn", "conv1.weight: e4m3fn rz"};
    make_plan(&p, "cnn-s", "fp32", NULL, false);
    assert_int_equal(hu_precision_parse("1/6/9", &precision), HU_OK);
    assert_int_equal(hu_precision_set_rounding(&precision, HU_ROUND_STOCHASTIC), HU_OK);
    for (int r = 0; r < 2; r++)
        assert_int_equal(hu_precision_add_rule(&precision, rules[r]), HU_OK);
    assert_int_equal(hu_precision_write(&precision, p.graph, 128, false, &p.edges), HU_OK);
    expect(&p, "relu1.out", "1/6/9 sr", "1/6/9 sr", "1/6/9 sr");
    expect(&p, "conv2.weight", "1/6/9 sr", "1/6/9 sr", "");
    expect(&p, "fc.weight", "e4m3fn sr", "1/6/9 sr", "");
    expect(&p, "conv1.weight", "e4m3fn rz", "1/6/9 sr", "");
    hu_precision_free(&precision);
    close_plan(&p);
    assert_int_equal(hu_precision_parse("act=uniform8", &precision), HU_OK);
    assert_int_equal(hu_precision_set_rounding(&precision, HU_ROUND_UP), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "found ru, expected rne or sr"));
    assert_int_equal(hu_precision_set_rounding(&precision, HU_ROUND_STOCHASTIC), HU_OK);
    hu_precision_free(&precision);
}

static void test_bad_rules(void **state) {
    (void)state;
    plan p;
    const char *unknown[] = {"conv9.weight: fp16", NULL}, *label[] = {"label: fp16", NULL};
    const char *role[] = {"weights: fp16", NULL};
    assert_int_equal(open_plan(&p, "cnn-s", "hfp8", unknown, true), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "conv9.weight"));
    assert_non_null(strstr(hu_last_error(), "conv1.weight"));
    close_plan(&p);
    assert_int_equal(open_plan(&p, "cnn-s", "hfp8", label, true), HU_ERR_UNKNOWN);
    close_plan(&p);
    assert_int_equal(open_plan(&p, "cnn-s", "hfp8", role, true), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "'weight'"));
    close_plan(&p);
    hu_precision precision;
    assert_int_equal(hu_precision_parse("fp32", &precision), HU_OK);
    assert_int_equal(hu_precision_add_rule(&precision, "conv1.weight fp16"), HU_ERR_PARSE);
    assert_int_equal(hu_precision_add_rule(&precision, ": fp16"), HU_ERR_PARSE);
    assert_int_equal(hu_precision_add_rule(&precision, "act: fp17"), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "act: fp17"));
    assert_int_equal(precision.rule_count, 0);
    uint64_t blocks = hu_memory_count().live_blocks;
    assert_int_equal(hu_precision_add_rule(&precision, "act: fp16"), HU_OK);
    assert_int_equal(hu_precision_add_rule(&precision, "weight: fp17"), HU_ERR_UNKNOWN);
    for (uint64_t nth = 1; nth <= 3; nth++) {
        hu_memory_fail_at(nth);
        assert_int_equal(hu_precision_add_rule(&precision, "weight: fp16"), HU_ERR_MEMORY);
    }
    assert_int_equal(precision.rule_count, 1);
    assert_string_equal(precision.rules[0].words.pattern, "act");
    hu_precision_free(&precision);
    assert_int_equal(hu_memory_count().live_blocks, blocks);
}

static void test_failed_parse_is_zero(void **state) {
    (void)state;
    static const char *const texts[] = {"w=e4m3,act=fp17", "fp17", "e9m3", "w=e4m3,"};
    static const hu_precision zero;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hu_precision precision;
        assert_int_not_equal(hu_precision_parse(texts[i], &precision), HU_OK);
        assert_memory_equal(&precision, &zero, sizeof zero);
    }
}

/* Saturating backward formats tell of overflows by an infinity only where somebody listens. */
static void test_signals(void **state) {
    (void)state;
    for (int signals = 0; signals < 2; signals++) {
        plan p;
        const char *rules[] = {"conv1.weight.grad: e4m3fn:ovf=sat", "conv2.out: e4m3fn:ovf=sat",
                               NULL};
        make_plan(&p, "cnn-s", "hfp8", rules, signals);
        hu_overflow backward = signals ? HU_OVERFLOW_INF : HU_OVERFLOW_SAT;
        for (hu_value_id v = 0; v < p.graph->value_count; v++) {
            const hu_value_info *value = &p.graph->value[v];
            if (hu_quantizer_rounds(&p.edges.value[v].quantizer))
                assert_int_equal(p.edges.value[v].quantizer.format.overflow, HU_OVERFLOW_SAT);
            for (uint32_t k = 0; k < value->use_count; k++)
                if (hu_quantizer_rounds(&p.edges.grad[value->uses[k]].quantizer))
                    assert_int_equal(p.edges.grad[value->uses[k]].quantizer.format.overflow,
                                     backward);
        }
        close_plan(&p);
    }
}

/* Sizes of the tensor sets at batch 128. MobileNet-v2: Lee et al.; the others counted layer by
 * layer: halves of a split and a concatenation with its shuffle are tensors, biases parameters. */
static void test_tensor_sets(void **state) {
    (void)state;
    static const struct {
        const char *model;
        int64_t all, parameters;
    } table[] = {{"mobilenet-v2", 1313287604, 2296922},
                 {"shufflenet-v2", 520922844, 1263854},
                 {"squeezenet", 356459284, 734986}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        plan p;
        int64_t all = table[i].all;
        make_plan(&p, table[i].model, "hfp8", NULL, true);
        assert_int_equal(hu_precision_tensor_elements(p.graph, &p.edges, 128), all);
        double ratio = hu_precision_low_ratio(p.graph, &p.edges, 128);
        assert_true(ratio == (double)(all - table[i].parameters) / (double)all);
        close_plan(&p);
    }
}

/* ResNet-18, 10 classes, batch 128: the size of the tensor set, and everything low but the
 * gradients of the parameters (Lee et al.). */
static void test_low_ratio(void **state) {
    (void)state;
    plan p;
    const int64_t all = 543364500, parameters = 11173962;
    make_plan(&p, "resnet18", "hfp8", NULL, true);
    assert_int_equal(hu_precision_tensor_elements(p.graph, &p.edges, 128), all);
    double ratio = hu_precision_low_ratio(p.graph, &p.edges, 128);
    assert_true(ratio == (double)(all - parameters) / (double)all);
    assert_true(ratio > 0.979 && ratio < 0.980);
    close_plan(&p);
    make_plan(&p, "resnet18", "high", NULL, true);
    assert_int_equal(hu_precision_tensor_elements(p.graph, &p.edges, 128), all);
    assert_true(hu_precision_low_ratio(p.graph, &p.edges, 128) == 0.0);
    close_plan(&p);
    const char *rules[] = {"layer1.0.relu1.out: fp(6,9,0)", NULL};
    make_plan(&p, "resnet18", "hfp8", rules, true);
    int64_t one = 128 * 32 * 32 * 64;
    assert_true(hu_precision_low_ratio(p.graph, &p.edges, 128) ==
                (double)(all - parameters - one) / (double)all);
    close_plan(&p);
    /* A rounded inner product is a tensor of its own: 10 numbers a sample, and their gradient. */
    make_plan(&p, "resnet18", "1/6/9/d", NULL, true);
    assert_int_equal(hu_precision_tensor_elements(p.graph, &p.edges, 128), all + 2 * 10 * 128);
    close_plan(&p);
}

/* 16 and 8 bits: 16 times the elements less half of the low ones (Lee et al.); 32 without rounding;
 * a block of up to 32 has one scale of 8 bits. */
static void test_aggregate(void **state) {
    (void)state;
    plan p;
    const int64_t all = 543364500, parameters = 11173962;
    make_plan(&p, "resnet18", "fp32", NULL, true);
    assert_true(hu_precision_aggregate_bits(p.graph, &p.edges, 128) == 32 * all);
    close_plan(&p);
    make_plan(&p, "resnet18", "hfp8", NULL, true);
    assert_true(hu_precision_aggregate_bits(p.graph, &p.edges, 128) ==
                8 * (all - parameters) + 16 * parameters);
    close_plan(&p);
    const char *rules[] = {"layer1.0.relu1.out: mxfp8", "input: nvfp4", "fc.bias.grad: mxfp4",
                           NULL};
    make_plan(&p, "resnet18", "fp32", rules, true);
    int64_t relu = 128 * 32 * 32 * 64, image = 128 * 32 * 32 * 3;
    int64_t saved = relu * 24 - relu / 32 * 8; /* two blocks of 32 in each line of 64 */
    saved += image * 28 - image / 3 * 8;       /* one short block in each line of 3 */
    saved += 10 * 28 - 8;
    assert_true(hu_precision_aggregate_bits(p.graph, &p.edges, 128) == 32 * all - saved);
    close_plan(&p);
    const char *uniform[] = {"layer1.0.relu1.out: uniform5", "fc.weight: uniform4:channel",
                             "conv1.weight: uniform3", NULL};
    make_plan(&p, "resnet18", "fp32", uniform, true);
    saved = relu * 27 + 512 * 10 * 28 - 10 * 64; /* two float32 for each of 10 channels */
    saved += 64 * 9 * 3 * 29;
    assert_true(hu_precision_aggregate_bits(p.graph, &p.edges, 128) == 32 * all - saved);
    /* Low precision is what has at most 8 bits: of twice the elements, the values of these. */
    assert_true(hu_precision_low_ratio(p.graph, &p.edges, 128) ==
                (double)(relu + 512 * 10 + 64 * 9 * 3) / (double)all);
    close_plan(&p);
}

static void test_glob(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool matches;
    } rows[] = {{"", "", true},
                {"", "a", false},
                {"*", "", true},
                {"*", "a.b", true},
                {"?", "", false},
                {"?", "x", true},
                {"a*", "b", false},
                {"a*c", "abc", true},
                {"a*c", "abcd", false},
                {"*.grad", "x.grad", true},
                {"*.grad", "x.grads", false},
                {"a*b*c", "aXbYbZc", true},
                {"a**c", "ac", true},
                {"a?c", "ac", false},
                {"*ab", "aab", true},
                {"*ab*", "aXab", true},
                {"conv?.w", "conv1.w", true},
                {"conv?.w", "conv10.w", false},
                {"abc", "abcd", false},
                {"abcd", "abc", false},
                {"a*a", "a", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (hu_glob_match(rows[i].pattern, rows[i].name) != rows[i].matches)
            fail_msg("'%s' on '%s'", rows[i].pattern, rows[i].name);
}

/* Formats by role scale the loss as hfp8 does where their gradients need it. */
static void test_scaling_of_roles(void **state) {
    (void)state;
    const struct {
        const char *text;
        bool scales;
    } rows[] = {{"w=fp(4,3,4),act=fp(4,3,4),grad=fp(5,2,0),wgrad=fp(6,9,0)", true},
                {"grad=fp16", true},
                {"wgrad=e4m3fn", true},
                {"grad=1/6/9:scale=2^8,wgrad=1/6/9", true}, /* its upper end is lower */
                {"w=e2m1,act=e4m3", false},
                {"w=e4m3,act=e4m3,grad=1/6/9,wgrad=fp(6,9,0)", false},
                {"grad=bf16,wgrad=e8m3", false},
                {"grad=e5m2:scale=current,wgrad=mxfp8", false},
                {"grad=uniform8", false},
                {"e5m2", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_precision p;
        assert_int_equal(hu_precision_parse(rows[i].text, &p), HU_OK);
        if ((p.scaler == HU_SCALER_DYNAMIC) != rows[i].scales ||
            p.scaler_epoch_interval != rows[i].scales)
            fail_msg("%s: scaler %d", rows[i].text, (int)p.scaler);
        hu_precision_free(&p);
    }
}

static void test_schemes(void **state) {
    (void)state;
    hu_scheme scheme;
    for (int i = 0; i < HU_SCHEME_COUNT; i++) {
        assert_int_equal(hu_scheme_parse(hu_scheme_name((hu_scheme)i), &scheme), HU_OK);
        assert_int_equal(scheme, i);
    }
    assert_int_equal(hu_scheme_parse("leo", &scheme), HU_ERR_UNKNOWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scheme_lee),
        cmocka_unit_test(test_scheme_popescu),
        cmocka_unit_test(test_bias_of_convolutions),
        cmocka_unit_test(test_scheme_micikevicius),
        cmocka_unit_test(test_named_precisions),
        cmocka_unit_test(test_role_strings),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_rules_keep_rounding_points),
        cmocka_unit_test(test_one_rounding),
        cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_failed_parse_is_zero),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_low_ratio),
        cmocka_unit_test(test_tensor_sets),
        cmocka_unit_test(test_aggregate),
        cmocka_unit_test(test_glob),
        cmocka_unit_test(test_scaling_of_roles),
        cmocka_unit_test(test_schemes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
