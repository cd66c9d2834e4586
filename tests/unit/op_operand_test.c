/* What products multiply, rounded by the product itself: the same numbers as of a product that is
 * given arrays which were rounded before, block by block, in the order of op/operand.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <halfulp/quantize.h>

#include "base/bits.h"
#include "base/cpu.h"
#include "op/operand.h"
#include "op_product.h"
#include "reference/tile.h"

static hu_quantizer quantizer(const char *text) {
    hu_quantizer made;
    if (hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &made) != HU_OK)
        fail_msg("%s", hu_last_error());
    return made;
}

/* Numbers of one array that share a scale, or stand alone. */
typedef struct strip {
    int64_t at, step, count;
    uint64_t word, word_step; /* of the first of them, and from one to the next */
} strip;

/* How the operand is written: its text, and its words. */
typedef struct rule {
    const char *text;
    int64_t length; /* of a block; 0: none */
    hu_random_key key;
} rule;

static rule rule_of(const hu_operand_formats *formats, hu_operand_place o, const char *text) {
    char stream[64];
    const hu_quantizer *q = &formats->quantizer[o];
    snprintf(stream, sizeof stream, "operand %s", hu_operand_name(o));
    return (rule){.text = text,
                  .length = q->kind == HU_QUANTIZER_BLOCK ? q->block.length : 0,
                  .key = {7, hu_stream_id(stream, "node"), 3}};
}

/* One array of plain numbers, or one block. */
static void round_strip(const rule *r, const strip *s, const float *x, float *y) {
    hu_quantization *made;
    float *line = zeroed((size_t)s->count, sizeof *line);
    float *is = zeroed((size_t)s->count, sizeof *is);
    assert_int_equal(hu_quantization_open(r->text, HU_ROUND_NEAREST_EVEN, s->count, &made), HU_OK);
    for (int64_t i = 0; i < s->count; i++) line[i] = x[s->at + i * s->step];
    /* Number i of a strip takes word first + i: each by itself where words lie apart. */
    for (int64_t i = 0; i < s->count; i++) {
        uint64_t first = s->word + (uint64_t)i * (s->word_step - 1);
        if (i == 0 || s->word_step != 1)
            assert_int_equal(hu_quantize(made, 1, line, is, &r->key, first, NULL, NULL), HU_OK);
        y[s->at + i * s->step] = is[i];
    }
    hu_quantization_close(made);
    hu_free(line);
    hu_free(is);
}

/* [rows, cols] from an array, rows so far apart; words from `word` on. */
typedef struct matrix {
    int64_t at, rows, cols, step;
    uint64_t word;
} matrix;

static void round_matrix(const rule *r, const matrix *m, bool is_down, const float *x, float *y) {
    const int64_t length = r->length ? r->length : m->cols;
    for (int64_t i = 0; !is_down || !r->length ? i < m->rows : false; i++)
        for (int64_t k = 0; k < m->cols; k += length) {
            int64_t n = m->cols - k < length ? m->cols - k : length;
            strip s = {m->at + i * m->step + k, 1, n, m->word + (uint64_t)(i * m->cols + k), 1};
            round_strip(r, &s, x, y);
        }
    for (int64_t i = 0; is_down && r->length && i < m->rows; i += length)
        for (int64_t k = 0; k < m->cols; k++) {
            int64_t n = m->rows - i < length ? m->rows - i : length;
            strip s = {m->at + i * m->step + k, m->step, n, m->word + (uint64_t)(i * m->cols + k),
                       (uint64_t)m->cols};
            round_strip(r, &s, x, y);
        }
}

/* Weights tap by tap and group by group, where blocks go from row to row. */
static void round_weights(const rule *r, const hu_product *p, bool is_down, const float *x,
                          float *y) {
    const int64_t cols = p->in_c / p->groups, rows = p->out_c / p->groups;
    const int64_t taps = p->kernel_h * p->kernel_w;
    uint64_t word = 0;
    const matrix whole = {0, p->out_c * taps, cols, cols, 0};
    if (!is_down) {
        round_matrix(r, &whole, false, x, y);
        return;
    }
    for (int64_t g = 0; g < p->groups; g++)
        for (int64_t t = 0; t < taps; t++, word += (uint64_t)(rows * cols)) {
            const matrix tap = {g * rows * taps * cols + t * cols, rows, cols, taps * cols, word};
            round_matrix(r, &tap, true, x, y);
        }
}

/* A case whose arrays are what the operands of one product become; chunks of so many samples. */
typedef struct rounded {
    product_case c;
    float *x, *dy, *w;
} rounded;

static void round_samples(const rule *r, int64_t pixels, int64_t channels, int64_t chunk,
                          bool is_down, const float *x, float *y) {
    for (int64_t first = 0; first < SAMPLES; first += chunk) {
        int64_t count = SAMPLES - first < chunk ? SAMPLES - first : chunk;
        const matrix m = {first * pixels * channels, count * pixels, channels, channels,
                          (uint64_t)(first * pixels * channels)};
        round_matrix(r, &m, is_down, x, y);
    }
}

static rounded round_case(const product_case *c, const char *const texts[HU_OPERANDS],
                          hu_product_role role, int64_t chunk) {
    const hu_product *p = &c->product;
    const bool turned = c->door_bias != NULL;
    const int64_t in = p->in_h * p->in_w, out = p->out_h * p->out_w;
    rounded made = {.c = *c};
    made.c.operands = NULL;
    made.x = zeroed((size_t)(SAMPLES * hu_product_in(p)), sizeof(float));
    made.dy = zeroed((size_t)(SAMPLES * hu_product_out(p)), sizeof(float));
    made.w = zeroed((size_t)hu_product_weights(p), sizeof(float));
    for (int o = 2 * (int)role; o < 2 * (int)role + 2; o++) {
        const rule r = rule_of(c->operands, (hu_operand_place)o, texts[o]);
        const bool is_down = role == HU_PRODUCT_WEIGHT_GRAD;
        if (o == HU_OPERAND_FORWARD_W || o == HU_OPERAND_INPUT_GRAD_W)
            round_weights(&r, p, (role == HU_PRODUCT_INPUT_GRAD) != turned, c->w, made.w);
        else if (o == HU_OPERAND_FORWARD_X || o == HU_OPERAND_WEIGHT_GRAD_X)
            round_samples(&r, in, p->in_c, chunk, is_down, c->x, made.x);
        else
            round_samples(&r, out, p->out_c, chunk, is_down, c->dy, made.dy);
    }
    if (role != HU_PRODUCT_INPUT_GRAD) made.c.x = made.x;
    if (role != HU_PRODUCT_FORWARD) made.c.dy = made.dy;
    if (role != HU_PRODUCT_WEIGHT_GRAD) made.c.w = made.w;
    return made;
}

static void rounded_free(rounded *r) {
    hu_free(r->x);
    hu_free(r->dy);
    hu_free(r->w);
}

static void check_role(const product_case *c, const char *const texts[HU_OPERANDS],
                       hu_product_role role, const run_result *found, int64_t chunk) {
    const hu_product *p = &c->product;
    rounded r = round_case(c, texts, role, chunk);
    run_result expected = run_case(&r.c, chunk, 1);
    if (role == HU_PRODUCT_FORWARD)
        assert_same_floats(found->y, expected.y, SAMPLES * hu_product_out(p));
    if (role == HU_PRODUCT_INPUT_GRAD)
        assert_same_floats(found->dx, expected.dx, SAMPLES * hu_product_in(p));
    if (role == HU_PRODUCT_WEIGHT_GRAD)
        assert_same_floats(found->dw, expected.dw, found->chunks * hu_product_weights(p));
    result_free(&expected);
    rounded_free(&r);
}

/* A bias learns from what nobody has rounded. */
static void check_bias(const product_case *c, const run_result *found, int64_t chunk) {
    product_case plain = *c;
    plain.operands = NULL;
    run_result expected = run_case(&plain, chunk, 1);
    assert_same_floats(found->db, expected.db, found->chunks * c->product.out_c);
    result_free(&expected);
}

static void check(product_case *c, const char *const texts[HU_OPERANDS]) {
    static const int64_t chunks[] = {3, SAMPLES};
    hu_operand_formats formats;
    for (int o = 0; o < HU_OPERANDS; o++) formats.quantizer[o] = quantizer(texts[o]);
    c->operands = &formats;
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        run_result found = run_case(c, chunks[i], 1), two = run_case(c, chunks[i], 2);
        for (int role = 0; role < HU_PRODUCT_ROLES; role++)
            check_role(c, texts, (hu_product_role)role, &found, chunks[i]);
        check_bias(c, &found, chunks[i]);
        assert_same_floats(found.y, two.y, SAMPLES * hu_product_out(&c->product));
        assert_same_floats(found.dx, two.dx, SAMPLES * hu_product_in(&c->product));
        assert_same_floats(found.dw, two.dw, found.chunks * hu_product_weights(&c->product));
        result_free(&found);
        result_free(&two);
    }
    c->operands = NULL;
}

/* Different formats everywhere, so that none is mistaken for another; then words of chance. */
static const char *const kinds[][HU_OPERANDS] = {
    {"mxfp8", "mxfp6e3m2", "mxfp8e5m2", "mxfp4", "mxfp6e2m3", "mxint8"},
    {"mxfp4 sr", "mxfp8", "mxfp4 sr", "mxfp8 sr", "mxfp4 sr", "mxfp4 sr"},
    {"e4m3fn", "mxfp4", "e5m2 sr", "e4m3fn:scale=2^-3", "fp32", "e3m2 sr"},
    {"fp32", "fp32", "fp32", "mxfp8", "mxfp4", "fp32"},
    {"mxfp4", "fp32", "mxfp4", "fp32", "fp32", "mxfp4"},
};

static void check_all(product_case *c) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) check(c, kinds[k]);
    case_free(c);
}

static product_case conv(int64_t channels, int64_t out, int64_t kernel, int64_t stride,
                         int64_t groups, bool has_bias) {
    static hu_conv_attrs a;
    const hu_shape in = {3, {7, 6, channels}};
    a = (hu_conv_attrs){.out_channels = out,
                        .kernel_h = kernel,
                        .kernel_w = kernel,
                        .stride_h = stride,
                        .stride_w = stride,
                        .pad_h = kernel / 2,
                        .pad_w = kernel / 2,
                        .dilation_h = 1,
                        .dilation_w = 1,
                        .groups = groups,
                        .has_bias = has_bias};
    return case_make(&hu_op_conv2d, &a, in, hu_product_conv2d(&a, &in));
}

/* Channels that are whole blocks, shorter and longer than one; strides; groups; depthwise. */
static void convolutions(void **state) {
    (void)state;
    product_case cases[] = {conv(32, 64, 3, 1, 1, true)};
    check_all(&cases[0]);
    product_case odd = conv(5, 40, 3, 2, 1, false);
    check_all(&odd);
    product_case pointwise = conv(70, 33, 1, 1, 1, true);
    check_all(&pointwise);
    product_case groups = conv(12, 72, 3, 1, 2, false);
    check_all(&groups);
    product_case depthwise = conv(40, 40, 3, 1, 40, true);
    check_all(&depthwise);
}

static hu_linear_attrs linear_attrs(bool rows, bool has_bias) {
    return (hu_linear_attrs){.out_features = 37, .rows = rows, .has_bias = has_bias};
}

static void linear_layers(void **state) {
    (void)state;
    const hu_shape vector = {1, {45}}, rows = {2, {11, 64}};
    hu_linear_attrs a = linear_attrs(false, true), b = linear_attrs(true, false);
    product_case one = case_make(&hu_op_linear, &a, vector, hu_product_linear(&a, &vector));
    check_all(&one);
    product_case many = case_make(&hu_op_linear, &b, rows, hu_product_linear(&b, &rows));
    check_all(&many);
}

/* Scales of whole tensors come from the largest numbers, which reduce finds before. */
static void tensor_scales(void **state) {
    (void)state;
    static const char *const texts[HU_OPERANDS] = {"e4m3fn:scale=current", "fp32",
                                                   "e5m2:scale=current",   "fp32",
                                                   "e4m3fn:scale=current", "e5m2:scale=current"};
    const hu_shape rows = {2, {11, 64}};
    hu_linear_attrs a = linear_attrs(true, true);
    hu_operand_formats formats;
    product_case c = case_make(&hu_op_linear, &a, rows, hu_product_linear(&a, &rows));
    const bool need_din[] = {true};
    for (int o = 0; o < HU_OPERANDS; o++) formats.quantizer[o] = quantizer(texts[o]);
    c.operands = &formats;
    hu_node_info info = case_info(&c, need_din, 3, 1);
    assert_int_equal(hu_operands_stats_count(&info), HU_OPERANDS);
    for (int pass = 0; pass < 2; pass++)
        assert_int_equal(c.op->partial_count(&info, (hu_pass)pass), HU_OPERANDS);
    info.in_loop = true;
    assert_int_equal(c.op->partial_count(&info, HU_FORWARD), 0);

    /* One chunk: all of the array is one strip. */
    const float *in[] = {c.x}, *dout[] = {c.dy};
    for (int pass = 0; pass < 2; pass++) {
        double partial[HU_OPERANDS];
        void *node;
        info = case_info(&c, need_din, SAMPLES, 1);
        assert_int_equal(c.op->create(&info, &node), HU_OK);
        hu_op_call call = {.training = true,
                           .info = &info,
                           .state = node,
                           .count = SAMPLES,
                           .in = in,
                           .dout = dout,
                           .partial = partial,
                           .stats = c.stats};
        c.op->reduce(&call, (hu_pass)pass);
        c.op->finish(&call, (hu_pass)pass);
        c.op->release(node);
    }
    run_result found = run_case(&c, 3, 1);
    rounded r = {.c = c};
    r.c.operands = NULL;
    r.x = zeroed((size_t)(SAMPLES * hu_product_in(&c.product)), sizeof(float));
    const rule whole = {.text = texts[0]};
    const strip all = {0, 1, SAMPLES * hu_product_in(&c.product), 0, 1};
    round_strip(&whole, &all, c.x, r.x);
    r.c.x = r.x;
    run_result expected = run_case(&r.c, 3, 1);
    assert_same_floats(found.y, expected.y, SAMPLES * hu_product_out(&c.product));
    result_free(&found);
    result_free(&expected);
    rounded_free(&r);
    case_free(&c);
}

/* Down the columns of a chunk, rotated and corrected in groups of different lengths: the rows that
 * both begin with, turned, are lines. */
static void corrected_columns(void **state) {
    (void)state;
    enum { GROUP = 48, ROTATED = 32, STEP = 96, ROWS = 29, COLS = 37, ALL = SAMPLES * ROWS };
    static float lines[COLS * STEP], is[COLS * STEP], scales[COLS * STEP];
    static uint32_t codes[COLS * STEP];
    const hu_shape rows = {2, {ROWS, 64}};
    hu_linear_attrs a = linear_attrs(true, false);
    hu_operand_formats formats = {0};
    hu_quantizer *q = &formats.quantizer[HU_OPERAND_WEIGHT_GRAD_DY];
    product_case c = case_make(&hu_op_linear, &a, rows, hu_product_linear(&a, &rows));
    char text[64];
    snprintf(text, sizeof text, "nvfp4:eden=%d:hadamard=%d rna", GROUP, ROTATED);
    *q = quantizer(text);
    const rule r = rule_of(&formats, HU_OPERAND_WEIGHT_GRAD_DY, text);
    const uint32_t *signs = hu_hadamard_fixed(q->block.signs);
    const float top = 3.5f, scale = hu_block_tensor_scale(&q->block, hu_f32_bits(top));
    rounded expected = {.c = c};
    expected.dy = zeroed((size_t)(ALL * COLS), sizeof(float));
    for (int64_t first = 0; first < ALL; first += STEP) {
        int64_t n = ALL - first < STEP ? ALL - first : STEP;
        transpose(n, COLS, c.dy + first * COLS, lines);
        hu_tile_reference(&q->block, q->rounding, scale, COLS, n, lines, &r.key,
                          (uint64_t)(first * COLS), signs, is, codes, scales);
        transpose(COLS, n, is, expected.dy + first * COLS);
    }
    expected.c.dy = expected.dy;
    c.operands = &formats;
    c.stats[HU_OPERAND_WEIGHT_GRAD_DY] = (double)top;
    run_result found = run_case(&c, SAMPLES, 1), wanted = run_case(&expected.c, SAMPLES, 1);
    assert_same_floats(found.dw, wanted.dw, hu_product_weights(&c.product));
    result_free(&found);
    result_free(&wanted);
    rounded_free(&expected);
    case_free(&c);
}

/* What no operand can be. */
static void refused(void **state) {
    (void)state;
    static const char *const texts[] = {"uniform8", "e4m3fn:scale=delayed"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hu_quantizer q = quantizer(texts[i]);
        assert_int_equal(hu_operand_check(&q), HU_ERR_ARGUMENT);
    }
}

static void allocation_failures(void **state) {
    (void)state;
    hu_operand_formats formats;
    product_case c = conv(32, 64, 3, 1, 1, true);
    for (int o = 0; o < HU_OPERANDS; o++) formats.quantizer[o] = quantizer("mxfp8");
    c.operands = &formats;
    check_allocation_failures(&c);
    case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),  cmocka_unit_test(linear_layers),
        cmocka_unit_test(tensor_scales), cmocka_unit_test(corrected_columns),
        cmocka_unit_test(refused),       cmocka_unit_test(allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
