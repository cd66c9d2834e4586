/* Accumulators and their rules: the first line is an accumulator, the others are rules. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "precision/rules.h"

/* What was read prints to a text that reads back to the same. */
static void check_accumulator(const hu_accumulator *accumulator, hu_semantics semantics) {
    char text[96], again[96];
    hu_accumulator read;
    FUZZ_CHECK(hu_accumulator_check(accumulator) == HU_OK);
    FUZZ_CHECK(accumulator->semantics == semantics);
    FUZZ_CHECK(hu_accumulator_print(accumulator, text, sizeof text) == HU_OK);
    FUZZ_CHECK(hu_accumulator_parse(text, &read) == HU_OK);
    FUZZ_CHECK(hu_accumulator_print(&read, again, sizeof again) == HU_OK);
    FUZZ_CHECK(strcmp(text, again) == 0);
    FUZZ_CHECK(read.mac == accumulator->mac && read.block == accumulator->block);
    FUZZ_CHECK(hu_format_equal(&read.format, &accumulator->format));
}

static void check_failure(hu_status st) {
    FUZZ_CHECK(st == HU_ERR_PARSE || st == HU_ERR_UNKNOWN || st == HU_ERR_FORMAT ||
               st == HU_ERR_ARGUMENT || fuzz_was_fault(st));
    FUZZ_CHECK(hu_last_error()[0] != '\0');
}

static void add_rule(hu_accumulators *accumulators, const char *text) {
    uint32_t count = accumulators->rule_count;
    hu_status st = hu_accumulators_add_rule(accumulators, text, HU_SEMANTICS_F32FMA);
    if (st != HU_OK) {
        check_failure(st);
        FUZZ_CHECK(accumulators->rule_count == count);
        return;
    }
    FUZZ_CHECK(accumulators->rule_count == count + 1);
    const hu_accumulator_rule *rule = &accumulators->rules[count];
    FUZZ_CHECK(rule->words.pattern[0] != '\0' && !strchr(rule->words.pattern, ':'));
    FUZZ_CHECK(strncmp(rule->words.text, rule->words.pattern, strlen(rule->words.pattern)) == 0);
    if (rule->chosen) check_accumulator(&rule->accumulator, HU_SEMANTICS_F32FMA);
}

/* The choices over a layer with a weight and one without. */
static void check_written(const hu_accumulators *accumulators) {
    static const hu_op product = {.is_product = true}, other = {0};
    static char weight[] = "conv1.weight", first[] = "conv1", second[] = "fc", third[] = "relu";
    static hu_value_id param[] = {0};
    hu_value_info values[] = {{.name = weight}};
    hu_node nodes[] = {{.name = first, .op = &product, .n_params = 1, .param = param},
                       {.name = second, .op = &product},
                       {.name = third, .op = &other}};
    hu_node_products products[3] = {0};
    const hu_graph graph = {.node = nodes, .node_count = 3, .value = values, .value_count = 1};
    hu_edge_table edges = {.products = products};
    hu_status st = hu_accumulators_write(accumulators, &graph, &edges);
    FUZZ_CHECK(st == HU_OK || (st == HU_ERR_UNKNOWN && accumulators->rule_count > 0) ||
               fuzz_was_fault(st));
    FUZZ_CHECK(!products[2].accumulation.chosen[0]);
    if (accumulators->rule_count == 0)
        FUZZ_CHECK(products[1].accumulation.chosen[0] == accumulators->chosen);
    (void)hu_accumulators_count(accumulators, 14);
}

void fuzz_one(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size), *rest = text;
    const char *line = strsep(&rest, "\n");
    hu_semantics semantics;
    if (hu_semantics_parse(line, &semantics) == HU_OK)
        FUZZ_CHECK(strcmp(hu_semantics_name(semantics), line) == 0);
    hu_accumulators accumulators = {.count_every = 7};
    hu_status st = hu_accumulators_parse(line, HU_SEMANTICS_EXACT, &accumulators);
    if (st != HU_OK) check_failure(st);
    FUZZ_CHECK(st == HU_OK || !accumulators.chosen);
    if (accumulators.chosen) check_accumulator(&accumulators.accumulator, HU_SEMANTICS_EXACT);
    while ((line = strsep(&rest, "\n"))) add_rule(&accumulators, line);
    FUZZ_CHECK(accumulators.count_every == 7);
    check_written(&accumulators);
    hu_accumulators_free(&accumulators);
    free(text);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const texts[] = {
        "fmac8:1/6/9\nlayer1.*: kahan:fp16\n*.weight_grad : fmacs\nfc:fp32",
        "fmac12:e4m3fn:ovf=sat\nconv?.forward: kahan-cpd:fp(5,7,0)",
        "fp32\n *a*b?c*: macs:bf16",
        "mac:e5m2:bias=16:specials=fnuz",
        "fmac9223372036854775807:1/6/9/n",
        "fmac:1/6/9",
        "f32fma\nconv1: fmac8:fp16\nfc.forward:fp32\n*: fp32"};
    return index < sizeof texts / sizeof *texts && fuzz_text_seed(texts[index], seed);
}
