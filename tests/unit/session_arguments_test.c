/* What a binding passes by mistake, NULL, a negative number, one that is too large, into every
 * function of include/halfulp: a status that names the function and the argument, or the answer
 * that its declaration tells; never a crash. The table is whole: a function that has no row fails.
 */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <halfulp/halfulp.h>

#define FUNCTION(name) static void name##_row(void)

/* The first mistake of a call is named: "FUNCTION: ARGUMENT is ...". */
static void check_refused(hu_status st, const char *call, const char *argument) {
    char expected[128];
    snprintf(expected, sizeof expected, "%.*s: %s is ", (int)strcspn(call, "("), call, argument);
    if (st != HU_ERR_ARGUMENT || strncmp(hu_last_error(), expected, strlen(expected)) != 0)
        fail_msg("%s: found status %d, '%s', expected '%s...'", call, (int)st, hu_last_error(),
                 expected);
}
#define REFUSED(argument, call) check_refused(call, #call, argument)

/* The same where the message is of another form. */
#define FAILS(status, call) assert_int_equal(call, status)

/* What the rows share: a valid one of each. */
static hu_format fp8;
static hu_dataset *data;
static hu_loader *loader;
static hu_net *net;
static hu_training *training;
static hu_quantization *quantization;
static hu_plan *plan;
static hu_allreduce *allreduce;
static const hu_loader_settings in_order = {.seed = 1};
static float floats[4096];

static hu_status fill(void *context, int field, int64_t epoch, int64_t index, float *row) {
    (void)context, (void)epoch;
    row[0] = field == 0 ? (float)index : (float)(index % 2);
    return HU_OK;
}
static const hu_sample_source source = {.size = sizeof source, .samples = 8, .fill = fill};
static const hu_field fields[] = {{.name = "image", .rank = 3, .extent = {1, 1, 1}},
                                  {.name = "label", .classes = 2}};

static const char plan_text[] = "halfulp_plan: 1\n"
                                "tensors: {conv1.out: {value: e4m3, grad: [e5m2, fp16]}}\n"
                                "products: {conv1: {forward: 'fmac:fp16'}}\n";

static int open_all(void **unused) {
    (void)unused;
    static const hu_setting settings[] = {
        {"model", "cnn-s"},       {"model.width", "0.25"}, {"data", "glyphs"}, {"data.limit", "32"},
        {"data.test_limit", "8"}, {"batch", "8"},          {"steps", "2"},     {"threads", "1"}};
    if (hu_format_parse("e4m3", &fp8) != HU_OK) return 1;
    if (hu_dataset_of_sources(fields, 2, &source, &source, &data) != HU_OK) return 1;
    if (hu_loader_create(data, HU_SPLIT_TRAIN, &in_order, &loader) != HU_OK) return 1;
    if (hu_net_create(&net) != HU_OK) return 1;
    if (hu_quantization_open("mxfp8", HU_ROUND_NEAREST_EVEN, 32, &quantization) != HU_OK) return 1;
    if (hu_plan_parse(plan_text, "plan", &plan) != HU_OK) return 1;
    const hu_allreduce_options two = {
        .size = sizeof two, .workers = 2, .format = "e5m2", .scaling = "aps"};
    const hu_allreduce_layer layer = {"w", 8, 0};
    if (hu_allreduce_open(&two, &layer, 1, &allreduce) != HU_OK) return 1;
    return hu_training_open(NULL, settings, sizeof settings / sizeof *settings, NULL, &training) !=
           HU_OK;
}

static int close_all(void **unused) {
    (void)unused;
    hu_training_close(training);
    hu_quantization_close(quantization);
    hu_plan_close(plan);
    hu_allreduce_close(allreduce);
    hu_net_free(net);
    hu_loader_close(loader);
    hu_dataset_close(data);
    return 0;
}

/* ---- api.h, status.h, random.h, tensor.h ---- */

FUNCTION(hu_version) {
    assert_non_null(hu_version());
}
FUNCTION(hu_status_text) {
    assert_string_equal(hu_status_text((hu_status)-1), "unknown status");
    assert_string_equal(hu_status_text((hu_status)9999), "unknown status");
}
FUNCTION(hu_status_exit_code) {
    assert_int_equal(hu_status_exit_code((hu_status)-1), 1);
    assert_int_equal(hu_status_exit_code((hu_status)9999), 1);
}
FUNCTION(hu_last_error) {
    assert_non_null(hu_last_error());
}
FUNCTION(hu_stream_id) {
    assert_true(hu_stream_id(NULL, NULL) == hu_stream_id("", ""));
}
FUNCTION(hu_shape_elements) {
    assert_int_equal(hu_shape_elements(NULL), 0);
}
FUNCTION(hu_shape_check) {
    const hu_shape wrong[] = {{.rank = -1},
                              {.rank = HU_MAX_RANK + 1},
                              {.rank = 1, .extent = {0}},
                              {.rank = 2, .extent = {INT64_C(1) << 40, INT64_C(1) << 40}}};
    REFUSED("shape", hu_shape_check(NULL));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(HU_ERR_SHAPE, hu_shape_check(&wrong[i]));
}
FUNCTION(hu_shape_equal) {
    const hu_shape scalar = {.rank = 0};
    assert_false(hu_shape_equal(&scalar, NULL));
    assert_false(hu_shape_equal(NULL, &scalar));
    assert_true(hu_shape_equal(NULL, NULL));
}
FUNCTION(hu_shape_print) {
    char text[4] = "abc";
    hu_shape_print(NULL, text, sizeof text);
    assert_string_equal(text, "");
    hu_shape_print(NULL, NULL, 4);
    hu_shape_print(&(hu_shape){.rank = 0}, NULL, 4);
}

/* ---- format.h ---- */

FUNCTION(hu_format_equal) {
    assert_false(hu_format_equal(&fp8, NULL));
    assert_false(hu_format_equal(NULL, &fp8));
}
FUNCTION(hu_format_check) {
    hu_format wrong = fp8;
    REFUSED("format", hu_format_check(NULL));
    memset(&wrong, 0xff, sizeof wrong);
    FAILS(HU_ERR_FORMAT, hu_format_check(&wrong));
}
FUNCTION(hu_format_parse) {
    hu_format made;
    REFUSED("format", hu_format_parse("fp16", NULL));
    REFUSED("text", hu_format_parse(NULL, &made));
    assert_int_not_equal(hu_format_parse("", &made), HU_OK);
}
FUNCTION(hu_format_print) {
    char text[64];
    REFUSED("format", hu_format_print(NULL, text, sizeof text));
    REFUSED("text", hu_format_print(&fp8, NULL, 64));
    assert_int_not_equal(hu_format_print(&fp8, text, 0), HU_OK);
}
FUNCTION(hu_format_named_count) {
    assert_true(hu_format_named_count() > 0);
}
FUNCTION(hu_format_named) {
    assert_null(hu_format_named(UINT32_MAX, NULL, NULL));
    assert_non_null(hu_format_named(0, NULL, NULL));
}
FUNCTION(hu_format_bits) {
    assert_int_equal(hu_format_bits(NULL), 0);
}
FUNCTION(hu_format_limits_of) {
    assert_true(hu_format_limits_of(NULL).codes == 0);
}
FUNCTION(hu_rounding_parse) {
    hu_rounding mode;
    REFUSED("rounding", hu_rounding_parse("rne", NULL));
    REFUSED("text", hu_rounding_parse(NULL, &mode));
}
FUNCTION(hu_rounding_name) {
    assert_string_equal(hu_rounding_name((hu_rounding)-1), "?");
    assert_string_equal(hu_rounding_name(HU_ROUND_COUNT), "?");
}
FUNCTION(hu_rounding_of_bits) {
    assert_int_equal(hu_rounding_of_bits(0, HU_RANDOM_A), HU_ROUND_COUNT);
    assert_int_equal(hu_rounding_of_bits(33, HU_RANDOM_A), HU_ROUND_COUNT);
    assert_int_equal(hu_rounding_of_bits(8, HU_RANDOM_COUNT), HU_ROUND_COUNT);
}
FUNCTION(hu_rounding_mode) {
    assert_int_equal(hu_rounding_mode((hu_rounding)-1), HU_ROUND_COUNT);
}
FUNCTION(hu_rounding_bits) {
    assert_int_equal(hu_rounding_bits(HU_ROUND_STOCHASTIC), 0);
}
FUNCTION(hu_rounding_kind) {
    assert_int_equal(hu_rounding_kind(HU_ROUND_STOCHASTIC), HU_RANDOM_A);
}
FUNCTION(hu_format_round) {
    assert_true(isnan(hu_format_round(NULL, HU_ROUND_NEAREST_EVEN, 1.0f, 0)));
}
FUNCTION(hu_format_encode) {
    uint32_t code;
    REFUSED("format", hu_format_encode(NULL, 1.0f, &code));
    REFUSED("code", hu_format_encode(&fp8, 1.0f, NULL));
}
FUNCTION(hu_format_decode) {
    float x;
    REFUSED("format", hu_format_decode(NULL, 0, &x));
    REFUSED("x", hu_format_decode(&fp8, 0, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_format_decode(&fp8, UINT32_MAX, &x));
}

/* ---- round.h, histogram.h, quantize.h, gemm.h ---- */

FUNCTION(hu_round_counts_clear) {
    hu_round_counts_clear(NULL);
}
FUNCTION(hu_round_counts_add) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_round_counts_add(NULL, &counts);
    hu_round_counts_add(&counts, NULL);
    assert_true(counts.elements == 0);
}
FUNCTION(hu_round_f32) {
    REFUSED("format", hu_round_f32(1, floats, floats, NULL, HU_ROUND_UP, NULL, 0, NULL));
    REFUSED("x", hu_round_f32(1, NULL, floats, &fp8, HU_ROUND_UP, NULL, 0, NULL));
    REFUSED("y", hu_round_f32(1, floats, NULL, &fp8, HU_ROUND_UP, NULL, 0, NULL));
    FAILS(HU_OK, hu_round_f32(0, NULL, NULL, &fp8, HU_ROUND_UP, NULL, 0, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_round_f32(1, floats, floats, &fp8, HU_ROUND_COUNT, NULL, 0, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_round_f32(1, floats, floats, &fp8, (hu_rounding)-1, NULL, 0, NULL));
    FAILS(HU_ERR_ARGUMENT,
          hu_round_f32(1, floats, floats, &fp8, HU_ROUND_STOCHASTIC, NULL, 0, NULL));
}
FUNCTION(hu_pack) {
    uint8_t codes[16];
    REFUSED("format", hu_pack(1, floats, codes, NULL, 8, NULL));
    REFUSED("x", hu_pack(1, NULL, codes, &fp8, 8, NULL));
    REFUSED("codes", hu_pack(1, floats, NULL, &fp8, 8, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_pack(1, floats, codes, &fp8, -8, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_pack(1, floats, codes, &fp8, 1000, NULL));
}
FUNCTION(hu_unpack) {
    uint8_t codes[16] = {0};
    REFUSED("format", hu_unpack(1, codes, floats, NULL, 8));
    REFUSED("codes", hu_unpack(1, NULL, floats, &fp8, 8));
    REFUSED("y", hu_unpack(1, codes, NULL, &fp8, 8));
    FAILS(HU_ERR_ARGUMENT, hu_unpack(1, codes, floats, &fp8, 7));
}
FUNCTION(hu_packed_bytes) {
    assert_int_equal(hu_packed_bytes(4, NULL, 8), 0);
}
FUNCTION(hu_histogram_add) {
    hu_histogram seen = {0};
    REFUSED("x", hu_histogram_add(1, NULL, 1, &seen));
    REFUSED("histogram", hu_histogram_add(1, floats, 1, NULL));
    FAILS(HU_OK, hu_histogram_add(0, NULL, 1, &seen));
    FAILS(HU_ERR_ARGUMENT, hu_histogram_add(1, floats, 0, &seen));
    FAILS(HU_ERR_ARGUMENT, hu_histogram_add(1, floats, INT32_MAX, &seen));
    assert_true(seen.elements == 0);
}
FUNCTION(hu_histogram_merge) {
    hu_histogram seen = {0};
    hu_histogram_merge(NULL, &seen);
    hu_histogram_merge(&seen, NULL);
}
FUNCTION(hu_histogram_lost) {
    const hu_histogram seen = {0};
    hu_format wrong = fp8;
    hu_lost lost;
    memset(&wrong, 0xff, sizeof wrong);
    REFUSED("histogram", hu_histogram_lost(NULL, &fp8, 0, &lost));
    REFUSED("format", hu_histogram_lost(&seen, NULL, 0, &lost));
    REFUSED("lost", hu_histogram_lost(&seen, &fp8, 0, NULL));
    FAILS(HU_ERR_FORMAT, hu_histogram_lost(&seen, &wrong, 0, &lost));
    FAILS(HU_ERR_ARGUMENT, hu_histogram_lost(&seen, &fp8, INT32_MIN, &lost));
    FAILS(HU_OK, hu_histogram_lost(&seen, &fp8, 0, &lost));
    assert_true(lost.overflow.most == 0.0 && lost.underflow.most == 0.0);
}
FUNCTION(hu_quantization_open) {
    hu_quantization *made;
    REFUSED("quantization", hu_quantization_open("mxfp8", HU_ROUND_NEAREST_EVEN, 32, NULL));
    REFUSED("text", hu_quantization_open(NULL, HU_ROUND_NEAREST_EVEN, 32, &made));
    FAILS(HU_ERR_ARGUMENT, hu_quantization_open("mxfp8", HU_ROUND_NEAREST_EVEN, 0, &made));
    FAILS(HU_ERR_ARGUMENT, hu_quantization_open("mxfp8", HU_ROUND_NEAREST_EVEN, -1, &made));
    FAILS(HU_ERR_ARGUMENT, hu_quantization_open("mxfp8", HU_ROUND_COUNT, 32, &made));
    assert_null(made);
}
FUNCTION(hu_quantization_close) {
    hu_quantization_close(NULL);
}
FUNCTION(hu_quantization_tile_of) {
    assert_int_equal(hu_quantization_tile_of(NULL).lines, 0);
}
FUNCTION(hu_quantization_print) {
    char text[8] = "abc";
    hu_quantization_print(NULL, text, sizeof text);
    assert_string_equal(text, "");
    hu_quantization_print(quantization, NULL, 8);
    hu_quantization_print(quantization, text, 0);
}
FUNCTION(hu_quantize) {
    REFUSED("quantization", hu_quantize(NULL, 1, floats, floats, NULL, 0, NULL, NULL));
    REFUSED("rows", hu_quantize(quantization, -1, floats, floats, NULL, 0, NULL, NULL));
    REFUSED("x", hu_quantize(quantization, 1, NULL, floats, NULL, 0, NULL, NULL));
    REFUSED("y", hu_quantize(quantization, 1, floats, NULL, NULL, 0, NULL, NULL));
}
FUNCTION(hu_quantized_bytes) {
    assert_int_equal(hu_quantized_bytes(NULL, 1), 0);
    assert_int_equal(hu_quantized_bytes(quantization, -1), 0);
}
FUNCTION(hu_quantize_pack) {
    uint32_t packed[64];
    hu_array_scale scale;
    REFUSED("quantization", hu_quantize_pack(NULL, 1, floats, packed, NULL, 0, &scale, NULL));
    REFUSED("rows", hu_quantize_pack(quantization, -1, floats, packed, NULL, 0, &scale, NULL));
    REFUSED("x", hu_quantize_pack(quantization, 1, NULL, packed, NULL, 0, &scale, NULL));
    REFUSED("data", hu_quantize_pack(quantization, 1, floats, NULL, NULL, 0, &scale, NULL));
    REFUSED("scale", hu_quantize_pack(quantization, 1, floats, packed, NULL, 0, NULL, NULL));
}
FUNCTION(hu_quantize_unpack) {
    uint32_t packed[64] = {0};
    const hu_array_scale one = {.factor = 1};
    floats[0] = 7;
    hu_quantize_unpack(NULL, 1, packed, one, floats);
    hu_quantize_unpack(quantization, -1, packed, one, floats);
    hu_quantize_unpack(quantization, 1, NULL, one, floats);
    hu_quantize_unpack(quantization, 1, packed, one, NULL);
    assert_true(floats[0] == 7);
}
FUNCTION(hu_plan_load) {
    hu_plan *made;
    REFUSED("plan", hu_plan_load("plan.yaml", NULL));
    REFUSED("path", hu_plan_load(NULL, &made));
    FAILS(HU_ERR_MISSING, hu_plan_load("/no/such/plan.yaml", &made));
    assert_null(made);
}
FUNCTION(hu_plan_parse) {
    hu_plan *made;
    REFUSED("plan", hu_plan_parse("", "name", NULL));
    REFUSED("text", hu_plan_parse(NULL, "name", &made));
    REFUSED("name", hu_plan_parse("", NULL, &made));
    FAILS(HU_ERR_PARSE, hu_plan_parse("", "name", &made));
    assert_null(made);
}
FUNCTION(hu_plan_close) {
    hu_plan_close(NULL);
}
FUNCTION(hu_plan_text) {
    assert_null(hu_plan_text(NULL));
}
FUNCTION(hu_plan_fact) {
    assert_null(hu_plan_fact(NULL, "scheme"));
    assert_null(hu_plan_fact(plan, NULL));
    assert_null(hu_plan_fact(plan, ""));
}
FUNCTION(hu_plan_tensor_count) {
    assert_int_equal(hu_plan_tensor_count(NULL), 0);
}
FUNCTION(hu_plan_tensor) {
    assert_null(hu_plan_tensor(NULL, 0));
    assert_null(hu_plan_tensor(plan, SIZE_MAX));
}
FUNCTION(hu_plan_find) {
    size_t index = 1;
    REFUSED("index", hu_plan_find(plan, "conv1.out", NULL));
    REFUSED("plan", hu_plan_find(NULL, "conv1.out", &index));
    assert_int_equal(index, 0);
    REFUSED("name", hu_plan_find(plan, NULL, &index));
}
FUNCTION(hu_plan_formats) {
    assert_int_equal(hu_plan_formats(NULL, 0, HU_PLAN_VALUE), 0);
    assert_int_equal(hu_plan_formats(plan, SIZE_MAX, HU_PLAN_VALUE), 0);
    assert_int_equal(hu_plan_formats(plan, 0, (hu_plan_part)-1), 0);
    assert_int_equal(hu_plan_formats(plan, 0, HU_PLAN_PARTS), 0);
}
FUNCTION(hu_plan_format) {
    char text[HU_PLAN_TEXT_BYTES] = "x";
    REFUSED("text", hu_plan_format(plan, 0, HU_PLAN_VALUE, 0, NULL, 9));
    REFUSED("plan", hu_plan_format(NULL, 0, HU_PLAN_VALUE, 0, text, sizeof text));
    assert_string_equal(text, "");
    FAILS(HU_ERR_ARGUMENT, hu_plan_format(plan, SIZE_MAX, HU_PLAN_VALUE, 0, text, sizeof text));
    FAILS(HU_ERR_ARGUMENT, hu_plan_format(plan, 0, HU_PLAN_PARTS, 0, text, sizeof text));
    FAILS(HU_ERR_ARGUMENT, hu_plan_format(plan, 0, HU_PLAN_GRAD, SIZE_MAX, text, sizeof text));
    FAILS(HU_ERR_LIMIT, hu_plan_format(plan, 0, HU_PLAN_VALUE, 0, text, 0));
    FAILS(HU_ERR_LIMIT, hu_plan_format(plan, 0, HU_PLAN_VALUE, 0, text, 4));
}
FUNCTION(hu_plan_layer_count) {
    assert_int_equal(hu_plan_layer_count(NULL), 0);
}
FUNCTION(hu_plan_layer) {
    assert_null(hu_plan_layer(NULL, 0));
    assert_null(hu_plan_layer(plan, SIZE_MAX));
}
FUNCTION(hu_plan_accumulator) {
    hu_accumulator made;
    int is_chosen;
    REFUSED("accumulator", hu_plan_accumulator(plan, 0, HU_PLAN_FORWARD, NULL, &is_chosen));
    REFUSED("is_chosen", hu_plan_accumulator(plan, 0, HU_PLAN_FORWARD, &made, NULL));
    REFUSED("plan", hu_plan_accumulator(NULL, 0, HU_PLAN_FORWARD, &made, &is_chosen));
    FAILS(HU_ERR_ARGUMENT, hu_plan_accumulator(plan, SIZE_MAX, HU_PLAN_FORWARD, &made, &is_chosen));
    FAILS(HU_ERR_ARGUMENT, hu_plan_accumulator(plan, 0, HU_PLAN_PRODUCTS, &made, &is_chosen));
}
FUNCTION(hu_plan_operand_format) {
    char text[HU_PLAN_TEXT_BYTES];
    REFUSED("text", hu_plan_operand_format(plan, 0, HU_PLAN_FORWARD_X, NULL, 9));
    REFUSED("plan", hu_plan_operand_format(NULL, 0, HU_PLAN_FORWARD_X, text, sizeof text));
    FAILS(HU_ERR_ARGUMENT,
          hu_plan_operand_format(plan, SIZE_MAX, HU_PLAN_FORWARD_X, text, sizeof text));
    FAILS(HU_ERR_ARGUMENT, hu_plan_operand_format(plan, 0, HU_PLAN_OPERANDS, text, sizeof text));
    FAILS(HU_ERR_LIMIT, hu_plan_operand_format(plan, 0, HU_PLAN_FORWARD_X, text, 0));
}
FUNCTION(hu_accumulator_parse) {
    hu_accumulator made;
    REFUSED("accumulator", hu_accumulator_parse("fmacs", NULL));
    REFUSED("text", hu_accumulator_parse(NULL, &made));
}
FUNCTION(hu_accumulator_print) {
    char text[96];
    const hu_accumulator fmacs = {.mac = HU_MAC_FMACS};
    REFUSED("accumulator", hu_accumulator_print(NULL, text, sizeof text));
    REFUSED("text", hu_accumulator_print(&fmacs, NULL, 96));
}
FUNCTION(hu_accumulator_check) {
    REFUSED("accumulator", hu_accumulator_check(NULL));
    FAILS(HU_ERR_ARGUMENT, hu_accumulator_check(&(hu_accumulator){.mac = HU_MAC_COUNT}));
    FAILS(HU_ERR_ARGUMENT, hu_accumulator_check(&(hu_accumulator){.mac = (hu_mac)-1}));
    FAILS(HU_ERR_ARGUMENT,
          hu_accumulator_check(&(hu_accumulator){.semantics = HU_SEMANTICS_COUNT}));
}
FUNCTION(hu_mac_name) {
    assert_string_equal(hu_mac_name(HU_MAC_COUNT), "?");
    assert_string_equal(hu_mac_name((hu_mac)-1), "?");
}
FUNCTION(hu_semantics_name) {
    assert_string_equal(hu_semantics_name(HU_SEMANTICS_COUNT), "?");
    assert_string_equal(hu_semantics_name((hu_semantics)-1), "?");
}

static const hu_gemm_task no_buffers = {.m = 2, .n = 2, .k = 2, .threads = 1, .c_stride = 2};

FUNCTION(hu_gemm) {
    hu_gemm_task negative = no_buffers;
    negative.m = -1;
    REFUSED("task", hu_gemm(NULL));
    FAILS(HU_ERR_ARGUMENT, hu_gemm(&no_buffers));
    FAILS(HU_ERR_SHAPE, hu_gemm(&negative));
}
FUNCTION(hu_gemm_carry_floats) {
    assert_int_equal(hu_gemm_carry_floats(NULL, 4, 4), 0);
    assert_int_equal(hu_gemm_carry_floats(&(hu_accumulator){0}, -1, 4), 0);
    assert_int_equal(hu_gemm_carry_floats(&(hu_accumulator){0}, 4, -1), 0);
}
FUNCTION(hu_gemm_scratch_bytes) {
    size_t bytes;
    hu_gemm_task negative = no_buffers;
    negative.k = -1;
    REFUSED("task", hu_gemm_scratch_bytes(NULL, &bytes));
    REFUSED("bytes", hu_gemm_scratch_bytes(&no_buffers, NULL));
    FAILS(HU_ERR_SHAPE, hu_gemm_scratch_bytes(&negative, &bytes));
}
FUNCTION(hu_gemm_reference) {
    REFUSED("task", hu_gemm_reference(NULL));
    FAILS(HU_ERR_ARGUMENT, hu_gemm_reference(&no_buffers));
}

/* ---- allreduce.h ---- */

static const hu_allreduce_layer eight = {"w", 8, 0};

FUNCTION(hu_allreduce_open) {
    const hu_allreduce_options usual = {
        .size = sizeof usual, .workers = 2, .format = "e5m2", .scaling = "aps"};
    const hu_allreduce_layer nameless = {NULL, 8, 0}, negative = {"w", -1, 0};
    const hu_allreduce_layer huge[] = {{"v", INT64_MAX, 0}, {"w", INT64_MAX, 0}};
    hu_allreduce_options wrong = usual;
    hu_allreduce *made;
    REFUSED("allreduce", hu_allreduce_open(&usual, &eight, 1, NULL));
    REFUSED("options", hu_allreduce_open(NULL, &eight, 1, &made));
    REFUSED("layer", hu_allreduce_open(&usual, NULL, 1, &made));
    REFUSED("layers", hu_allreduce_open(&usual, &eight, 0, &made));
    REFUSED("layers", hu_allreduce_open(&usual, &eight, SIZE_MAX, &made));
    FAILS(HU_ERR_ARGUMENT, hu_allreduce_open(&usual, &nameless, 1, &made));
    FAILS(HU_ERR_ARGUMENT, hu_allreduce_open(&usual, &negative, 1, &made));
    FAILS(HU_ERR_ARGUMENT, hu_allreduce_open(&usual, huge, 2, &made));
    wrong.size = 1;
    REFUSED("options->size", hu_allreduce_open(&wrong, &eight, 1, &made));
    wrong = usual;
    wrong.workers = 0;
    REFUSED("options->workers", hu_allreduce_open(&wrong, &eight, 1, &made));
    wrong = usual;
    wrong.rank = 2;
    REFUSED("options->rank", hu_allreduce_open(&wrong, &eight, 1, &made));
    wrong.rank = -1;
    REFUSED("options->rank", hu_allreduce_open(&wrong, &eight, 1, &made));
    wrong = usual;
    wrong.rounding = HU_ROUND_COUNT;
    REFUSED("options->rounding", hu_allreduce_open(&wrong, &eight, 1, &made));
    wrong = usual;
    wrong.format = NULL;
    REFUSED("options->format", hu_allreduce_open(&wrong, &eight, 1, &made));
    wrong = usual;
    wrong.scaling = NULL;
    REFUSED("options->scaling", hu_allreduce_open(&wrong, &eight, 1, &made));
    assert_null(made);
}
FUNCTION(hu_allreduce_close) {
    hu_allreduce_close(NULL);
}
FUNCTION(hu_allreduce_print) {
    char text[4] = "abc";
    hu_allreduce_print(NULL, text, sizeof text);
    assert_string_equal(text, "");
    hu_allreduce_print(allreduce, NULL, 8);
    hu_allreduce_print(allreduce, text, 0);
}
FUNCTION(hu_allreduce_told_bytes) {
    assert_int_equal(hu_allreduce_told_bytes(NULL), 0);
}
FUNCTION(hu_allreduce_part_bytes) {
    assert_int_equal(hu_allreduce_part_bytes(NULL, 0), 0);
    assert_int_equal(hu_allreduce_part_bytes(allreduce, -1), 0);
    assert_int_equal(hu_allreduce_part_bytes(allreduce, 2), 0);
}
FUNCTION(hu_allreduce_sum_bytes) {
    assert_int_equal(hu_allreduce_sum_bytes(NULL, 0), 0);
    assert_int_equal(hu_allreduce_sum_bytes(allreduce, -1), 0);
    assert_int_equal(hu_allreduce_sum_bytes(allreduce, 2), 0);
}
FUNCTION(hu_allreduce_begin) {
    REFUSED("allreduce", hu_allreduce_begin(NULL, 0, floats, floats));
    REFUSED("x", hu_allreduce_begin(allreduce, 0, NULL, floats));
    REFUSED("told", hu_allreduce_begin(allreduce, 0, floats, NULL));
}
FUNCTION(hu_allreduce_round) {
    REFUSED("allreduce", hu_allreduce_round(NULL, floats, floats));
    REFUSED("told", hu_allreduce_round(allreduce, NULL, floats));
    REFUSED("parts", hu_allreduce_round(allreduce, floats, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_allreduce_round(allreduce, floats, floats));
}
FUNCTION(hu_allreduce_add) {
    REFUSED("allreduce", hu_allreduce_add(NULL, floats, floats));
    REFUSED("parts", hu_allreduce_add(allreduce, NULL, floats));
    REFUSED("sum", hu_allreduce_add(allreduce, floats, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_allreduce_add(allreduce, floats, floats));
}
FUNCTION(hu_allreduce_end) {
    REFUSED("allreduce", hu_allreduce_end(NULL, floats, 64));
    REFUSED("sums", hu_allreduce_end(allreduce, NULL, 64));
    FAILS(HU_ERR_ARGUMENT, hu_allreduce_end(allreduce, floats, 64));
}
FUNCTION(hu_allreduce_counts) {
    hu_round_counts rounded, added;
    REFUSED("allreduce", hu_allreduce_counts(NULL, 0, &rounded, &added));
    REFUSED("rounded", hu_allreduce_counts(allreduce, 0, NULL, &added));
    REFUSED("added", hu_allreduce_counts(allreduce, 0, &rounded, NULL));
    REFUSED("layer", hu_allreduce_counts(allreduce, 1, &rounded, &added));
    REFUSED("layer", hu_allreduce_counts(allreduce, SIZE_MAX, &rounded, &added));
}
FUNCTION(hu_allreduce_lost) {
    assert_null(hu_allreduce_lost(NULL, 0));
    assert_null(hu_allreduce_lost(allreduce, -1));
    assert_null(hu_allreduce_lost(allreduce, HU_ALLREDUCE_LOSSES));
    assert_null(hu_allreduce_lost(allreduce, 0)); /* it has no error feedback */
}

/* ---- data.h ---- */

FUNCTION(hu_dataset_find) {
    assert_int_equal(hu_dataset_find(NULL, "image"), -1);
    assert_int_equal(hu_dataset_find(data, NULL), -1);
}
FUNCTION(hu_dataset_class_name) {
    assert_null(hu_dataset_class_name(NULL, 0));
    assert_null(hu_dataset_class_name(data, -1));
    assert_null(hu_dataset_class_name(data, INT64_MAX));
}
FUNCTION(hu_dataset_source_name) {
    assert_null(hu_dataset_source_name(NULL, 0));
    assert_null(hu_dataset_source_name(data, INT64_MIN));
}
FUNCTION(hu_field_elements) {
    assert_int_equal(hu_field_elements(NULL), 0);
}
FUNCTION(hu_dataset_set_images) {
    hu_dataset_set_images(NULL, 1, 1, 1, 2);
}
FUNCTION(hu_dataset_open) {
    hu_dataset *made;
    made = data;
    REFUSED("spec", hu_dataset_open(NULL, NULL, &made));
    assert_null(made);
    REFUSED("dataset", hu_dataset_open("glyphs", NULL, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_dataset_open("glyphs", &(hu_data_limits){-1, 0}, &made));
    assert_int_not_equal(hu_dataset_open("", NULL, &made), HU_OK);
}
FUNCTION(hu_dataset_open_images) {
    hu_dataset *made;
    REFUSED("spec", hu_dataset_open_images(NULL, NULL, NULL, &made));
    REFUSED("dataset", hu_dataset_open_images("glyphs", NULL, NULL, NULL));
}
FUNCTION(hu_dataset_of_sources) {
    hu_dataset *made;
    hu_sample_source wrong = source;
    REFUSED("fields", hu_dataset_of_sources(NULL, 2, &source, &source, &made));
    REFUSED("train", hu_dataset_of_sources(fields, 2, NULL, &source, &made));
    REFUSED("test", hu_dataset_of_sources(fields, 2, &source, NULL, &made));
    REFUSED("dataset", hu_dataset_of_sources(fields, 2, &source, &source, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_dataset_of_sources(fields, 0, &source, &source, &made));
    FAILS(HU_ERR_ARGUMENT, hu_dataset_of_sources(fields, -1, &source, &source, &made));
    FAILS(HU_ERR_ARGUMENT, hu_dataset_of_sources(fields, 1 << 30, &source, &source, &made));
    wrong.fill = NULL;
    FAILS(HU_ERR_ARGUMENT, hu_dataset_of_sources(fields, 2, &wrong, &source, &made));
    wrong = source;
    wrong.samples = -1;
    FAILS(HU_ERR_ARGUMENT, hu_dataset_of_sources(fields, 2, &source, &wrong, &made));
}
FUNCTION(hu_dataset_of_rows) {
    hu_dataset *made;
    const hu_sample_rows rows = {sizeof rows, 4, NULL}, unsized = {0, 4, NULL};
    const hu_sample_rows none = {sizeof none, 0, NULL};
    REFUSED("fields", hu_dataset_of_rows(NULL, 2, &rows, &rows, &made));
    REFUSED("train", hu_dataset_of_rows(fields, 2, NULL, &rows, &made));
    REFUSED("test", hu_dataset_of_rows(fields, 2, &rows, NULL, &made));
    REFUSED("dataset", hu_dataset_of_rows(fields, 2, &rows, &rows, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_dataset_of_rows(fields, 2, &unsized, &rows, &made));
    FAILS(HU_ERR_ARGUMENT, hu_dataset_of_rows(fields, 2, &rows, &none, &made));
}
FUNCTION(hu_dataset_hold_out) {
    REFUSED("dataset", hu_dataset_hold_out(NULL, 0.5, 1));
    FAILS(HU_ERR_ARGUMENT, hu_dataset_hold_out(data, -1.0, 1));
    FAILS(HU_ERR_ARGUMENT, hu_dataset_hold_out(data, (double)NAN, 1));
    FAILS(HU_ERR_ARGUMENT, hu_dataset_hold_out(data, 1e300, 1));
}
FUNCTION(hu_dataset_mix) {
    hu_dataset other = {.field_count = 1};
    REFUSED("dataset", hu_dataset_mix(NULL));
    FAILS(HU_ERR_ARGUMENT, hu_dataset_mix(&other));
}
FUNCTION(hu_dataset_close) {
    hu_dataset_close(NULL);
}
FUNCTION(hu_dataset_available) {
    assert_false(hu_dataset_available(NULL));
}
FUNCTION(hu_data_kind_name) {
    assert_null(hu_data_kind_name(SIZE_MAX));
}
FUNCTION(hu_data_kind_help) {
    assert_null(hu_data_kind_help(SIZE_MAX));
}
FUNCTION(hu_dataset_fields) {
    assert_null(hu_dataset_fields(NULL, HU_SPLIT_TRAIN));
    assert_null(hu_dataset_fields(data, (hu_split_kind)7));
    assert_null(hu_dataset_fields(data, (hu_split_kind)-1));
}
FUNCTION(hu_loader_create) {
    hu_loader *made;
    hu_loader_settings wrong = in_order;
    REFUSED("dataset", hu_loader_create(NULL, HU_SPLIT_TRAIN, &in_order, &made));
    REFUSED("settings", hu_loader_create(data, HU_SPLIT_TRAIN, NULL, &made));
    REFUSED("loader", hu_loader_create(data, HU_SPLIT_TRAIN, &in_order, NULL));
    REFUSED("half", hu_loader_create(data, (hu_split_kind)7, &in_order, &made));
    wrong.bucket_count = 3;
    REFUSED("settings->buckets", hu_loader_create(data, HU_SPLIT_TRAIN, &wrong, &made));
    FAILS(HU_ERR_ARGUMENT, hu_loader_create(data, HU_SPLIT_VALIDATION, &in_order, &made));
}
FUNCTION(hu_loader_close) {
    hu_loader_close(NULL);
}
FUNCTION(hu_loader_count) {
    assert_int_equal(hu_loader_count(NULL), 0);
}
FUNCTION(hu_loader_begin_epoch) {
    REFUSED("loader", hu_loader_begin_epoch(NULL, 0));
    FAILS(HU_ERR_ARGUMENT, hu_loader_begin_epoch(loader, -1));
}
FUNCTION(hu_loader_index) {
    assert_int_equal(hu_loader_index(NULL, 0), -1);
    assert_int_equal(hu_loader_index(loader, -1), -1);
    assert_int_equal(hu_loader_index(loader, 8), -1);
}
FUNCTION(hu_loader_want) {
    REFUSED("loader", hu_loader_want(NULL, 0, 1));
    FAILS(HU_ERR_ARGUMENT, hu_loader_want(loader, -1, 1));
    FAILS(HU_ERR_ARGUMENT, hu_loader_want(loader, 0, -1));
    FAILS(HU_ERR_ARGUMENT, hu_loader_want(loader, 4, 5));
    FAILS(HU_ERR_ARGUMENT, hu_loader_want(loader, 1, INT64_MAX));
}
FUNCTION(hu_loader_waited) {
    assert_true(hu_loader_waited(NULL) == 0.0);
}
FUNCTION(hu_loader_fill) {
    floats[0] = 7;
    hu_loader_fill(NULL, 0, HU_READ_PLAIN, 0, 1, floats);
    hu_loader_fill(loader, 0, HU_READ_PLAIN, 0, 1, NULL);
    hu_loader_fill(loader, -1, HU_READ_PLAIN, 0, 1, floats);
    hu_loader_fill(loader, 2, HU_READ_PLAIN, 0, 1, floats);
    hu_loader_fill(loader, 0, HU_READ_PLAIN, -1, 1, floats);
    hu_loader_fill(loader, 0, HU_READ_PLAIN, 8, 1, floats);
    hu_loader_fill(loader, 0, HU_READ_PLAIN, 1, INT64_MAX, floats);
    assert_true(floats[0] == 7);
}
FUNCTION(hu_loader_status) {
    REFUSED("loader", hu_loader_status(NULL));
}
FUNCTION(hu_loader_length) {
    assert_int_equal(hu_loader_length(NULL, 0, 0), 0);
    assert_int_equal(hu_loader_length(loader, -1, 0), 0);
    assert_int_equal(hu_loader_length(loader, 2, 0), 0);
    assert_int_equal(hu_loader_length(loader, 0, 8), 0);
}

/* ---- train.h ---- */

FUNCTION(hu_net_create) {
    REFUSED("net", hu_net_create(NULL));
}
FUNCTION(hu_net_free) {
    hu_net_free(NULL);
}
FUNCTION(hu_net_input) {
    hu_net *own;
    hu_value value;
    const hu_shape shape = {.rank = 1, .extent = {4}}, wrong = {.rank = 99};
    REFUSED("net", hu_net_input(NULL, "input", &shape, &value));
    REFUSED("name", hu_net_input(net, NULL, &shape, &value));
    REFUSED("sample", hu_net_input(net, "input", NULL, &value));
    REFUSED("value", hu_net_input(net, "input", &shape, NULL));
    assert_int_equal(hu_net_create(&own), HU_OK);
    FAILS(HU_ERR_SHAPE, hu_net_input(own, "input", &wrong, &value));
    hu_net_free(own);
}
FUNCTION(hu_net_apply) {
    hu_net *own;
    hu_value in[1] = {12345}, out[HU_NET_OUTPUTS];
    REFUSED("net", hu_net_apply(NULL, "relu", "r", "", 1, in, out));
    REFUSED("op", hu_net_apply(net, NULL, "r", "", 1, in, out));
    REFUSED("name", hu_net_apply(net, "relu", NULL, "", 1, in, out));
    REFUSED("in", hu_net_apply(net, "relu", "r", "", 1, NULL, out));
    REFUSED("outputs", hu_net_apply(net, "relu", "r", "", 1, in, NULL));
    REFUSED("n_in", hu_net_apply(net, "relu", "r", "", SIZE_MAX, in, out));
    assert_int_equal(hu_net_create(&own), HU_OK);
    assert_int_not_equal(hu_net_apply(own, "relu", "r", NULL, 1, in, out), HU_OK);
    hu_net_free(own);
    assert_int_equal(hu_net_create(&own), HU_OK);
    assert_int_not_equal(hu_net_apply(own, "relu", "r", NULL, 0, NULL, out), HU_OK);
    hu_net_free(own);
}
FUNCTION(hu_net_load) {
    hu_net *own = net;
    REFUSED("path", hu_net_load(NULL, &own));
    REFUSED("net", hu_net_load("a.yaml", NULL));
    FAILS(HU_ERR_MISSING, hu_net_load("nowhere.yaml", &own));
    assert_null(own);
}
FUNCTION(hu_net_save) {
    REFUSED("net", hu_net_save(NULL, "a.yaml"));
    REFUSED("path", hu_net_save(net, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_net_save(net, "a.yaml")); /* it has no head */
}
FUNCTION(hu_operation_count) {
    assert_true(hu_operation_count() > 0);
}
FUNCTION(hu_operation_at) {
    hu_operation found = {.size = sizeof found}, unsized = {.size = 0};
    REFUSED("operation", hu_operation_at(0, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_operation_at(SIZE_MAX, &found));
    FAILS(HU_ERR_ARGUMENT, hu_operation_at(0, &unsized));
}
FUNCTION(hu_operation_attribute_at) {
    hu_operation_attribute found = {.size = sizeof found}, unsized = {.size = 0};
    REFUSED("operation", hu_operation_attribute_at(NULL, 0, &found));
    REFUSED("attribute", hu_operation_attribute_at("conv2d", 0, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_operation_attribute_at("conv2d", SIZE_MAX, &found));
    FAILS(HU_ERR_ARGUMENT, hu_operation_attribute_at("conv2d", 0, &unsized));
    FAILS(HU_ERR_UNKNOWN, hu_operation_attribute_at("", 0, &found));
}
FUNCTION(hu_operation_infer) {
    const hu_shape shape = {.rank = 1, .extent = {4}}, wrong = {.rank = 99};
    hu_operation_shapes found = {.size = sizeof found}, unsized = {.size = 0};
    REFUSED("operation", hu_operation_infer(NULL, "", 1, &shape, &found));
    REFUSED("in", hu_operation_infer("relu", "", 1, NULL, &found));
    REFUSED("n_in", hu_operation_infer("relu", "", SIZE_MAX, &shape, &found));
    REFUSED("shapes", hu_operation_infer("relu", "", 1, &shape, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_operation_infer("relu", "", 1, &shape, &unsized));
    FAILS(HU_ERR_SHAPE, hu_operation_infer("relu", "", 1, &wrong, &found));
    FAILS(HU_ERR_SHAPE, hu_operation_infer("relu", NULL, 0, NULL, &found));
}
FUNCTION(hu_net_head) {
    REFUSED("net", hu_net_head(NULL, 0));
    FAILS(HU_ERR_ARGUMENT, hu_net_head(net, UINT32_MAX));
}
FUNCTION(hu_training_open) {
    hu_training *made;
    const hu_setting broken = {NULL, "1"}, valueless = {"steps", NULL};
    REFUSED("training", hu_training_open(NULL, NULL, 0, NULL, NULL));
    REFUSED("settings", hu_training_open(NULL, NULL, 1, NULL, &made));
    REFUSED("count", hu_training_open(NULL, &broken, SIZE_MAX, NULL, &made));
    FAILS(HU_ERR_ARGUMENT, hu_training_open(NULL, &broken, 1, NULL, &made));
    FAILS(HU_ERR_ARGUMENT, hu_training_open(NULL, &valueless, 1, NULL, &made));
    FAILS(HU_ERR_ARGUMENT, hu_training_open(net, NULL, 0, data, &made)); /* it has no head */
    assert_null(made);
}
FUNCTION(hu_training_reopen) {
    hu_training *made = training;
    REFUSED("folder", hu_training_reopen(NULL, NULL, 0, NULL, NULL, &made));
    assert_null(made);
    REFUSED("training", hu_training_reopen(NULL, NULL, 0, NULL, "nowhere", NULL));
    REFUSED("settings", hu_training_reopen(NULL, NULL, 1, NULL, "nowhere", &made));
    REFUSED("count",
            hu_training_reopen(NULL, &(hu_setting){"a", "b"}, SIZE_MAX, NULL, "nowhere", &made));
    FAILS(HU_ERR_MISSING, hu_training_reopen(NULL, NULL, 0, NULL, "nowhere", &made));
}
FUNCTION(hu_training_close) {
    hu_training_close(NULL);
}
FUNCTION(hu_training_next) {
    hu_step step = {.size = sizeof step}, unsized = {.size = 0};
    REFUSED("training", hu_training_next(NULL, &step));
    REFUSED("step", hu_training_next(training, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_training_next(training, &unsized));
}
FUNCTION(hu_training_push) {
    hu_step step = {.size = sizeof step};
    const float *const rows[2] = {floats, floats};
    REFUSED("training", hu_training_push(NULL, 1, rows, &step));
    REFUSED("rows", hu_training_push(training, 1, NULL, &step));
    REFUSED("step", hu_training_push(training, 1, rows, NULL));
    FAILS(HU_ERR_SHAPE, hu_training_push(training, -1, rows, &step));
    FAILS(HU_ERR_SHAPE, hu_training_push(training, INT64_MAX, rows, &step));
}
FUNCTION(hu_training_step) {
    assert_int_equal(hu_training_step(NULL), 0);
}
FUNCTION(hu_training_steps) {
    assert_int_equal(hu_training_steps(NULL), 0);
}
FUNCTION(hu_training_test) {
    double metric, loss;
    REFUSED("training", hu_training_test(NULL, &metric, &loss));
    REFUSED("metric", hu_training_test(training, NULL, &loss));
    REFUSED("loss", hu_training_test(training, &metric, NULL));
}
FUNCTION(hu_training_columns) {
    const char *titles[HU_PREDICTION_COLUMNS];
    assert_int_equal(hu_training_columns(NULL, titles), 0);
    assert_int_equal(hu_training_columns(training, NULL), 0);
}
FUNCTION(hu_training_predict) {
    double cells[64];
    REFUSED("training", hu_training_predict(NULL, 1, cells));
    REFUSED("cells", hu_training_predict(training, 1, NULL));
    REFUSED("count", hu_training_predict(training, -1, cells));
    FAILS(HU_ERR_ARGUMENT, hu_training_predict(training, INT64_MAX, cells));
}
FUNCTION(hu_training_prediction_elements) {
    assert_int_equal(hu_training_prediction_elements(NULL), 0);
}
FUNCTION(hu_training_predict_rows) {
    double loss;
    const float *const rows[2] = {floats, floats};
    REFUSED("training", hu_training_predict_rows(NULL, 1, rows, floats, &loss));
    REFUSED("count", hu_training_predict_rows(training, -1, rows, floats, &loss));
    REFUSED("rows", hu_training_predict_rows(training, 1, NULL, floats, &loss));
    REFUSED("predictions", hu_training_predict_rows(training, 1, rows, NULL, &loss));
    REFUSED("loss", hu_training_predict_rows(training, 1, rows, floats, NULL));
}
FUNCTION(hu_training_read) {
    size_t count;
    REFUSED("training", hu_training_read(NULL, "fc.weight", floats, 1, &count));
    REFUSED("name", hu_training_read(training, NULL, floats, 1, &count));
    REFUSED("x", hu_training_read(training, "fc.weight", NULL, 1, &count));
    REFUSED("count", hu_training_read(training, "fc.weight", floats, 1, NULL));
    FAILS(HU_ERR_UNKNOWN, hu_training_read(training, "", floats, 1, &count));
}
FUNCTION(hu_training_write) {
    REFUSED("training", hu_training_write(NULL, "fc.weight", floats, 1));
    REFUSED("name", hu_training_write(training, NULL, floats, 1));
    REFUSED("x", hu_training_write(training, "fc.weight", NULL, 1));
    FAILS(HU_ERR_SHAPE, hu_training_write(training, "fc.weight", floats, SIZE_MAX));
    FAILS(HU_ERR_SHAPE, hu_training_write(training, "fc.weight", NULL, 0));
}
FUNCTION(hu_training_counts) {
    hu_round_counts counts;
    REFUSED("training", hu_training_counts(NULL, "fc.out", &counts));
    REFUSED("tensor", hu_training_counts(training, NULL, &counts));
    REFUSED("counts", hu_training_counts(training, "fc.out", NULL));
}
FUNCTION(hu_training_tensor_count) {
    assert_int_equal(hu_training_tensor_count(NULL), 0);
}
FUNCTION(hu_training_tensor_at) {
    hu_training_tensor tensor = {.size = sizeof tensor}, unsized = {.size = 0};
    REFUSED("training", hu_training_tensor_at(NULL, 0, &tensor));
    REFUSED("tensor", hu_training_tensor_at(training, 0, NULL));
    FAILS(HU_ERR_ARGUMENT, hu_training_tensor_at(training, SIZE_MAX, &tensor));
    FAILS(HU_ERR_ARGUMENT, hu_training_tensor_at(training, 0, &unsized));
}
FUNCTION(hu_training_watch) {
    REFUSED("training", hu_training_watch(NULL, "fc.out"));
    REFUSED("tensor", hu_training_watch(training, NULL));
    FAILS(HU_ERR_UNKNOWN, hu_training_watch(training, ""));
}
FUNCTION(hu_training_folder) {
    assert_null(hu_training_folder(NULL));
    assert_null(hu_training_folder(training));
}

FUNCTION(hu_training_unwatch) {
    hu_training_unwatch(NULL);
    hu_training_unwatch(training);
}
FUNCTION(hu_training_numbers) {
    size_t count;
    REFUSED("training", hu_training_numbers(NULL, "fc.out", 0, floats, 1, &count));
    REFUSED("tensor", hu_training_numbers(training, NULL, 0, floats, 1, &count));
    REFUSED("x", hu_training_numbers(training, "fc.weight", 0, NULL, 1, &count));
    REFUSED("count", hu_training_numbers(training, "fc.weight", 0, floats, 1, NULL));
    FAILS(HU_ERR_UNKNOWN, hu_training_numbers(training, "", 0, floats, 1, &count));
}
FUNCTION(hu_training_hash) {
    assert_true(hu_training_hash(NULL) == 0);
}
FUNCTION(hu_training_bytes) {
    uint64_t bytes;
    REFUSED("training", hu_training_bytes(NULL, "total", &bytes));
    REFUSED("role", hu_training_bytes(training, NULL, &bytes));
    REFUSED("bytes", hu_training_bytes(training, "total", NULL));
}
FUNCTION(hu_training_save) {
    REFUSED("training", hu_training_save(NULL, "nowhere"));
    REFUSED("folder", hu_training_save(training, NULL));
    assert_int_not_equal(hu_training_save(training, ""), HU_OK);
}
FUNCTION(hu_training_resume) {
    REFUSED("training", hu_training_resume(NULL, "nowhere"));
    REFUSED("folder", hu_training_resume(training, NULL));
    assert_int_not_equal(hu_training_resume(training, ""), HU_OK);
}
FUNCTION(hu_training_export) {
    REFUSED("training", hu_training_export(NULL, "nowhere"));
    REFUSED("path", hu_training_export(training, NULL));
    assert_int_not_equal(hu_training_export(training, ""), HU_OK);
}

FUNCTION(hu_why_of_run) {
    char *json;
    REFUSED("folder", hu_why_of_run(NULL, NULL, NULL, &json));
    REFUSED("json", hu_why_of_run("nowhere", NULL, NULL, NULL));
    FAILS(HU_ERR_MISSING, hu_why_of_run("nowhere", "", "", &json));
}
FUNCTION(hu_why_text_free) {
    hu_why_text_free(NULL);
}

/* ---- the table ---- */

#define ROW(name)                                                                                  \
    { #name, name##_row }
static const struct {
    const char *name;
    void (*call)(void);
} rows[] = {
    ROW(hu_version),
    ROW(hu_status_text),
    ROW(hu_status_exit_code),
    ROW(hu_last_error),
    ROW(hu_stream_id),
    ROW(hu_shape_elements),
    ROW(hu_shape_check),
    ROW(hu_shape_equal),
    ROW(hu_shape_print),
    ROW(hu_format_equal),
    ROW(hu_format_check),
    ROW(hu_format_parse),
    ROW(hu_format_print),
    ROW(hu_format_named_count),
    ROW(hu_format_named),
    ROW(hu_format_bits),
    ROW(hu_format_limits_of),
    ROW(hu_rounding_parse),
    ROW(hu_rounding_name),
    ROW(hu_rounding_of_bits),
    ROW(hu_rounding_mode),
    ROW(hu_rounding_bits),
    ROW(hu_rounding_kind),
    ROW(hu_format_round),
    ROW(hu_format_encode),
    ROW(hu_format_decode),
    ROW(hu_round_counts_clear),
    ROW(hu_round_counts_add),
    ROW(hu_round_f32),
    ROW(hu_pack),
    ROW(hu_unpack),
    ROW(hu_packed_bytes),
    ROW(hu_histogram_add),
    ROW(hu_histogram_merge),
    ROW(hu_histogram_lost),
    ROW(hu_quantization_open),
    ROW(hu_quantization_close),
    ROW(hu_quantization_tile_of),
    ROW(hu_quantization_print),
    ROW(hu_quantize),
    ROW(hu_quantized_bytes),
    ROW(hu_quantize_pack),
    ROW(hu_quantize_unpack),
    ROW(hu_allreduce_open),
    ROW(hu_allreduce_close),
    ROW(hu_allreduce_print),
    ROW(hu_allreduce_told_bytes),
    ROW(hu_allreduce_part_bytes),
    ROW(hu_allreduce_sum_bytes),
    ROW(hu_allreduce_begin),
    ROW(hu_allreduce_round),
    ROW(hu_allreduce_add),
    ROW(hu_allreduce_end),
    ROW(hu_allreduce_counts),
    ROW(hu_allreduce_lost),
    ROW(hu_plan_load),
    ROW(hu_plan_parse),
    ROW(hu_plan_close),
    ROW(hu_plan_text),
    ROW(hu_plan_fact),
    ROW(hu_plan_tensor_count),
    ROW(hu_plan_tensor),
    ROW(hu_plan_find),
    ROW(hu_plan_formats),
    ROW(hu_plan_format),
    ROW(hu_plan_layer_count),
    ROW(hu_plan_layer),
    ROW(hu_plan_accumulator),
    ROW(hu_plan_operand_format),
    ROW(hu_accumulator_parse),
    ROW(hu_accumulator_print),
    ROW(hu_accumulator_check),
    ROW(hu_mac_name),
    ROW(hu_semantics_name),
    ROW(hu_gemm),
    ROW(hu_gemm_carry_floats),
    ROW(hu_gemm_scratch_bytes),
    ROW(hu_gemm_reference),
    ROW(hu_dataset_find),
    ROW(hu_dataset_class_name),
    ROW(hu_dataset_source_name),
    ROW(hu_field_elements),
    ROW(hu_dataset_set_images),
    ROW(hu_dataset_open),
    ROW(hu_dataset_open_images),
    ROW(hu_dataset_of_sources),
    ROW(hu_dataset_of_rows),
    ROW(hu_dataset_hold_out),
    ROW(hu_dataset_mix),
    ROW(hu_dataset_close),
    ROW(hu_dataset_available),
    ROW(hu_data_kind_name),
    ROW(hu_data_kind_help),
    ROW(hu_dataset_fields),
    ROW(hu_loader_create),
    ROW(hu_loader_close),
    ROW(hu_loader_count),
    ROW(hu_loader_begin_epoch),
    ROW(hu_loader_index),
    ROW(hu_loader_want),
    ROW(hu_loader_waited),
    ROW(hu_loader_fill),
    ROW(hu_loader_status),
    ROW(hu_loader_length),
    ROW(hu_net_create),
    ROW(hu_net_free),
    ROW(hu_net_input),
    ROW(hu_net_load),
    ROW(hu_net_save),
    ROW(hu_operation_count),
    ROW(hu_operation_at),
    ROW(hu_operation_attribute_at),
    ROW(hu_operation_infer),
    ROW(hu_net_apply),
    ROW(hu_net_head),
    ROW(hu_training_open),
    ROW(hu_training_reopen),
    ROW(hu_training_close),
    ROW(hu_training_next),
    ROW(hu_training_push),
    ROW(hu_training_step),
    ROW(hu_training_steps),
    ROW(hu_training_test),
    ROW(hu_training_columns),
    ROW(hu_training_predict),
    ROW(hu_training_prediction_elements),
    ROW(hu_training_predict_rows),
    ROW(hu_training_read),
    ROW(hu_training_write),
    ROW(hu_training_counts),
    ROW(hu_training_tensor_count),
    ROW(hu_training_tensor_at),
    ROW(hu_training_watch),
    ROW(hu_training_folder),
    ROW(hu_training_unwatch),
    ROW(hu_training_numbers),
    ROW(hu_training_hash),
    ROW(hu_training_bytes),
    ROW(hu_training_save),
    ROW(hu_training_resume),
    ROW(hu_training_export),
    ROW(hu_why_of_run),
    ROW(hu_why_text_free),
};
enum { ROWS = sizeof rows / sizeof *rows };

static void every_row(void **unused) {
    (void)unused;
    for (size_t i = 0; i < ROWS; i++) rows[i].call();
}

/* The name in front of the first parenthesis after HU_API; text: after the word. */
static void check_declared(const char *text, const char *file) {
    const char *end = strchr(text, '(');
    const char *begin = end;
    assert_non_null(end);
    while (begin > text &&
           (begin[-1] == '_' || strchr("abcdefghijklmnopqrstuvwxyz0123456789", begin[-1])))
        begin--;
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == (size_t)(end - begin) &&
            memcmp(rows[i].name, begin, (size_t)(end - begin)) == 0)
            return;
    fail_msg("%s: %.*s has no row here: what does it do with NULL, 0, -1?", file,
             (int)(end - begin), begin);
}

static int check_header(const char *path, const char *name) {
    static char text[1 << 18];
    int found = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    assert_true(bytes < sizeof text - 1);
    text[bytes] = '\0';
    fclose(file);
    for (const char *at = text; (at = strstr(at, "\nHU_API ")) != NULL; found++)
        check_declared(at += strlen("\nHU_API "), name);
    return found;
}

/* Every function of the headers has a row, and every row a function. */
static void table_is_whole(void **unused) {
    (void)unused;
    static const char folder[] = HALFULP_SOURCE_DIR "/include/halfulp";
    size_t found = 0;
    DIR *open = opendir(folder);
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
        char path[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        found += (size_t)check_header(path, entry->d_name);
    }
    closedir(open);
    assert_int_equal(found, ROWS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_whole),
        cmocka_unit_test(every_row),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
