/* Resolved plans as public functions read them: what a file says of tensors and products, in texts
 * that quantize.h and gemm.h read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <halfulp/plan.h>
#include <halfulp/quantize.h>

static const char text[] = "# all that a plan may say\n"
                           "halfulp_plan: 1\n"
                           "model: {name: cnn-s, width: 0.5, parameters: 590}\n"
                           "scheme: popescu\n"
                           "scaler: {name: dynamic, init: 1024}\n"
                           "tensors:\n"
                           "  conv1.weight: {value: \"fp(4,3,4)\", grad: \"fp(6,9,0)\"}\n"
                           "  relu.out:\n"
                           "    value: e5m2 sr\n"
                           "    use: fp16\n"
                           "    grad: [mxfp8, fp32, 'e4m3fn:scale=current rz']\n"
                           "    sum: bf16\n"
                           "    weights: fp32\n"
                           "  fc.out: {}\n"
                           "semantics: f32fma\n"
                           "products:\n"
                           "  conv1: {forward: 'fmac8:1/6/9', weight_grad: 'kahan:fp16'}\n"
                           "  fc:\n"
                           "    input_grad: fp32\n"
                           "    forward: {x: 'mxfp8:scale=rceil', w: e4m3fn}\n"
                           "    weight_grad: {accumulator: fp32, dy: nvfp4 sr}\n"
                           "promotion: {at: 0.01, to: {act: 'fp(6,9,0)'}}\n"
                           "evidence: {of: [people]}\n";

static hu_plan *read_plan(const char *from) {
    hu_plan *plan;
    if (hu_plan_parse(from, "plan", &plan) != HU_OK) fail_msg("%s", hu_last_error());
    return plan;
}

static void check_format(const hu_plan *plan, const char *tensor, hu_plan_part part,
                         size_t consumer, const char *expected) {
    char found[HU_PLAN_TEXT_BYTES];
    size_t index;
    hu_quantization *quantization;
    assert_int_equal(hu_plan_find(plan, tensor, &index), HU_OK);
    assert_string_equal(hu_plan_tensor(plan, index), tensor);
    assert_int_equal(hu_plan_format(plan, index, part, consumer, found, sizeof found), HU_OK);
    assert_string_equal(found, expected);
    assert_int_equal(hu_quantization_open(found, HU_ROUND_NEAREST_EVEN, 32, &quantization), HU_OK);
    hu_quantization_close(quantization);
}

static void check_all(const hu_plan *plan) {
    size_t relu;
    assert_int_equal(hu_plan_tensor_count(plan), 3);
    check_format(plan, "conv1.weight", HU_PLAN_VALUE, 0, "fp(4,3,4)");
    check_format(plan, "conv1.weight", HU_PLAN_GRAD, 0, "fp(6,9,0)");
    check_format(plan, "conv1.weight", HU_PLAN_GRAD, 7, "fp(6,9,0)"); /* that of all */
    check_format(plan, "conv1.weight", HU_PLAN_SUM, 0, "fp32");
    check_format(plan, "relu.out", HU_PLAN_VALUE, 0, "e5m2 sr");
    check_format(plan, "relu.out", HU_PLAN_USE, 1, "fp16");
    check_format(plan, "relu.out", HU_PLAN_GRAD, 0, "mxfp8");
    check_format(plan, "relu.out", HU_PLAN_GRAD, 1, "fp32");
    check_format(plan, "relu.out", HU_PLAN_GRAD, 2, "e4m3fn:ovf=sat:scale=current rz");
    check_format(plan, "relu.out", HU_PLAN_SUM, 0, "bf16");
    check_format(plan, "relu.out", HU_PLAN_WEIGHTS, 0, "fp32");
    check_format(plan, "fc.out", HU_PLAN_VALUE, 0, "fp32");
    assert_int_equal(hu_plan_find(plan, "relu.out", &relu), HU_OK);
    static const size_t counts[HU_PLAN_PARTS] = {1, 1, 3, 1, 1};
    for (int p = 0; p < HU_PLAN_PARTS; p++)
        assert_int_equal(hu_plan_formats(plan, relu, (hu_plan_part)p), counts[p]);

    hu_accumulator expected[2], found;
    int is_chosen;
    assert_int_equal(hu_accumulator_parse("fmac8:1/6/9", &expected[0]), HU_OK);
    assert_int_equal(hu_accumulator_parse("kahan:fp16", &expected[1]), HU_OK);
    expected[0].semantics = expected[1].semantics = HU_SEMANTICS_F32FMA;
    assert_int_equal(hu_plan_layer_count(plan), 2);
    assert_string_equal(hu_plan_layer(plan, 0), "conv1");
    assert_int_equal(hu_plan_accumulator(plan, 0, HU_PLAN_FORWARD, &found, &is_chosen), HU_OK);
    assert_true(is_chosen && memcmp(&found, &expected[0], sizeof found) == 0);
    assert_int_equal(hu_plan_accumulator(plan, 0, HU_PLAN_WEIGHT_GRAD, &found, &is_chosen), HU_OK);
    assert_true(is_chosen && memcmp(&found, &expected[1], sizeof found) == 0);
    for (size_t layer = 0; layer < 2; layer++) {
        hu_plan_accumulator(plan, layer, HU_PLAN_INPUT_GRAD, &found, &is_chosen);
        assert_false(is_chosen);
    }

    static const char *const operands[HU_PLAN_OPERANDS] = {
        "mxfp8:scale=rceil", "e4m3fn", "fp32", "fp32", "nvfp4 sr", "fp32"};
    for (int o = 0; o < HU_PLAN_OPERANDS; o++) {
        char found_text[HU_PLAN_TEXT_BYTES];
        for (size_t layer = 0; layer < 2; layer++) {
            assert_int_equal(hu_plan_operand_format(plan, layer, (hu_plan_operand)o, found_text,
                                                    sizeof found_text),
                             HU_OK);
            assert_string_equal(found_text, layer == 1 ? operands[o] : "fp32");
        }
    }

    assert_string_equal(hu_plan_fact(plan, "model.name"), "cnn-s");
    assert_string_equal(hu_plan_fact(plan, "scaler.init"), "1024");
    assert_string_equal(hu_plan_fact(plan, "promotion.to.act"), "fp(6,9,0)");
    assert_null(hu_plan_fact(plan, "scaler"));
    assert_null(hu_plan_fact(plan, "master"));
}

/* What is printed says the same, and is printed the same again. */
static void texts_say_all(void **state) {
    (void)state;
    hu_plan *plan = read_plan(text), *again = read_plan(hu_plan_text(plan));
    check_all(plan);
    check_all(again);
    assert_string_equal(hu_plan_text(again), hu_plan_text(plan));
    assert_null(strchr(hu_plan_text(plan), '#'));
    hu_plan_close(again);
    hu_plan_close(plan);
}

static void a_file_says_what_its_text_does(void **state) {
    (void)state;
    char path[] = "/tmp/halfulp-plan-XXXXXX";
    int open = mkstemp(path);
    hu_plan *plan;
    assert_true(open >= 0 && write(open, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    close(open);
    assert_int_equal(hu_plan_load(path, &plan), HU_OK); /* of any name */
    check_all(plan);
    hu_plan_close(plan);
    unlink(path);
}

/* Room for the text and its zero, and one byte less. */
static void room_is_checked(void **state) {
    (void)state;
    hu_plan *plan = read_plan(text);
    char found[HU_PLAN_TEXT_BYTES];
    uint32_t needed = (uint32_t)strlen("fp(4,3,4)") + 1;
    assert_int_equal(hu_plan_format(plan, 0, HU_PLAN_VALUE, 0, found, needed), HU_OK);
    assert_string_equal(found, "fp(4,3,4)");
    assert_int_equal(hu_plan_format(plan, 0, HU_PLAN_VALUE, 0, found, needed - 1), HU_ERR_LIMIT);
    assert_string_equal(found, "");
    hu_plan_close(plan);
}

static void mistakes_are_told(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
        hu_status status;
    } wrong[] = {
        {"precision: {name: hfp8}\n", "plan:1:1: found no key 'halfulp_plan'", HU_ERR_PARSE},
        {"[a]\n", "found no key 'halfulp_plan'", HU_ERR_PARSE},
        {"halfulp_plan: 2\ntensors: {}\n", "plan:1:1: found halfulp_plan '2', expected 1",
         HU_ERR_VERSION},
        {"halfulp_plan: 1\n", "found no 'tensors:'", HU_ERR_PARSE},
        {"halfulp_plan: 1\ntensors: {a: {valeu: e4m3}}\n",
         "plan:2:15: found 'valeu', expected "
         "value, use, grad, sum or weights",
         HU_ERR_PARSE},
        {"halfulp_plan: 1\ntensors: {a: {value: e4m9x}}\n", "plan:2:11: tensor 'a': format 'e4m9x'",
         HU_ERR_UNKNOWN},
        {"halfulp_plan: 1\ntensors: {}\nproducts: {fc: {forwrad: 'fmac:fp16'}}\n",
         "found 'forwrad', expected forward, input_grad or weight_grad", HU_ERR_PARSE},
        {"halfulp_plan: 1\ntensors: {}\nproducts: {fc: {forward: 'fmuc:fp16'}}\n", "fmuc",
         HU_ERR_UNKNOWN},
        {"halfulp_plan: 1\ntensors: {}\nscaler: {name: dynamik}\n", "dynamik", HU_ERR_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hu_plan *plan;
        hu_status st = hu_plan_parse(wrong[i].text, "plan", &plan);
        if (st != wrong[i].status || plan || !strstr(hu_last_error(), wrong[i].says))
            fail_msg("%s: found status %d, '%s'", wrong[i].text, (int)st, hu_last_error());
    }
    size_t index;
    hu_plan *plan = read_plan(text);
    assert_int_equal(hu_plan_find(plan, "conv1.wieght", &index), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "nearest: 'conv1.weight'"));
    hu_plan_close(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_say_all),
        cmocka_unit_test(a_file_says_what_its_text_does),
        cmocka_unit_test(room_is_checked),
        cmocka_unit_test(mistakes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
