/* One conv2d or linear node run by its record alone, and compared with the plain reference. Shared
 * by op_conv_test.c and op_linear_test.c; include after cmocka.h. */
#ifndef HU_TEST_OP_PRODUCT_H
#define HU_TEST_OP_PRODUCT_H
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "op/attributes.h"
#include "product/onednn.h"
#include "reference/product.h"

enum { SAMPLES = 8, GUARD_BYTES = 256, GUARD = 0x5a, MAX_CHUNKS = SAMPLES };

/* What a node computes for SAMPLES samples; weight gradients stay apart for each chunk. */
typedef struct run_result {
    float *y, *dx, *dw, *db; /* [SAMPLES, out], [SAMPLES, in], [chunks, weights], [chunks, out_c] */
    int64_t chunks;
} run_result;

typedef struct product_case {
    const hu_op *op;
    const void *attrs;
    hu_product product;
    hu_shape in, out, param[2];
    int n_params;
    float *x, *dy, *w, *bias;
    hu_product_engine engine;
    const float *door_bias; /* read after begin, by transposed layers; else NULL */
    const struct hu_operand_formats *operands; /* NULL: none is rounded */
    double stats[6]; /* largest numbers of the operands, before the first call */
    bool adds;       /* all chunks into the first gradients, in order; one thread */
} product_case;

static void *zeroed(size_t count, size_t bytes) {
    void *block;
    assert_int_equal(hu_alloc_array(count, bytes, &block), HU_OK);
    return block;
}

static float *random_floats(int64_t count, uint64_t stream) {
    hu_random_key key = {.seed = 7, .stream = stream};
    float *x = zeroed((size_t)count, sizeof *x);
    for (int64_t i = 0; i < count; i++) x[i] = 2 * hu_random_uniform(&key, (uint64_t)i) - 1;
    return x;
}

/* Shapes by the record; bound by the caller: product. */
static product_case case_make(const hu_op *op, const void *attrs, hu_shape in, hu_product product) {
    product_case c = {.op = op, .attrs = attrs, .in = in, .product = product};
    hu_param_decl params[HU_MAX_PARAMS];
    int n_out = 0;
    assert_int_equal(op->shape(attrs, 1, &in, &n_out, &c.out), HU_OK);
    assert_int_equal(n_out, 1);
    assert_int_equal(op->params(attrs, &in, params, &c.n_params), HU_OK);
    assert_int_equal(c.n_params, product.has_bias ? 2 : 1);
    for (int i = 0; i < c.n_params; i++) c.param[i] = params[i].shape;
    assert_true(hu_shape_elements(&c.out) == hu_product_out(&product));
    assert_true(hu_shape_elements(&c.param[0]) == hu_product_weights(&product));
    c.x = random_floats(SAMPLES * hu_product_in(&product), 1);
    c.dy = random_floats(SAMPLES * hu_product_out(&product), 2);
    c.w = random_floats(hu_product_weights(&product), 3);
    c.bias = product.has_bias ? random_floats(product.out_c, 4) : NULL;
    return c;
}

/* to [columns, rows] from [rows, columns] */
static inline void transpose(int64_t rows, int64_t columns, const float *from, float *to) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) to[j * rows + i] = from[i * columns + j];
}

/* A plain linear layer, and the transposed one that computes the same: its weights are [in, out].
 * The latter borrows all other arrays; free its w, then the plain case. */
static inline product_case case_transposed(const product_case *plain,
                                           const hu_linear_attrs *attrs) {
    product_case c = *plain;
    hu_param_decl params[HU_MAX_PARAMS];
    int64_t in = plain->product.in_c, out = plain->product.out_c;
    c.attrs = attrs;
    assert_int_equal(c.op->params(attrs, &c.in, params, &c.n_params), HU_OK);
    for (int i = 0; i < c.n_params; i++) c.param[i] = params[i].shape;
    assert_true(c.param[0].extent[0] == in && c.param[0].extent[1] == out);
    c.w = zeroed((size_t)(in * out), sizeof *c.w);
    transpose(out, in, plain->w, c.w);
    c.door_bias = plain->bias;
    return c;
}

/* A convolution without a bias, and the transposed one with its weights that goes from its output
 * to its input: what is the gradient of one is the number of the other. It borrows all arrays. */
static inline product_case case_turned(const product_case *plain, const hu_conv_attrs *attrs) {
    product_case c = *plain;
    const hu_product *p = &plain->product;
    hu_param_decl params[HU_MAX_PARAMS];
    int n_out;
    c.attrs = attrs;
    c.in = plain->out;
    assert_int_equal(c.op->shape(attrs, 1, &c.in, &n_out, &c.out), HU_OK);
    assert_true(hu_shape_equal(&c.out, &plain->in));
    assert_int_equal(c.op->params(attrs, &c.in, params, &c.n_params), HU_OK);
    assert_true(c.n_params == 1 && hu_shape_equal(&params[0].shape, &plain->param[0]));
    c.product = (hu_product){.in_h = p->out_h,
                             .in_w = p->out_w,
                             .in_c = p->out_c,
                             .out_h = p->in_h,
                             .out_w = p->in_w,
                             .out_c = p->in_c,
                             .kernel_h = p->kernel_h,
                             .kernel_w = p->kernel_w,
                             .groups = p->groups};
    c.x = plain->dy;
    c.dy = plain->x;
    return c;
}

static void case_free(product_case *c) {
    hu_free(c->x);
    hu_free(c->dy);
    hu_free(c->w);
    hu_free(c->bias);
}

static void result_free(run_result *r) {
    hu_free(r->y);
    hu_free(r->dx);
    hu_free(r->dw);
    hu_free(r->db);
}

static char *guarded(size_t bytes) {
    char *block = zeroed(bytes + GUARD_BYTES, 1);
    memset(block, GUARD, bytes + GUARD_BYTES);
    return block;
}

static void guard_check(const char *block, size_t bytes) {
    for (size_t i = 0; i < GUARD_BYTES; i++) assert_int_equal(block[bytes + i], GUARD);
}

static hu_node_info case_info(const product_case *c, const bool *need_din, int64_t chunk,
                              int threads) {
    return (hu_node_info){.attrs = c->attrs,
                          .name = "node",
                          .n_in = 1,
                          .n_out = 1,
                          .n_params = c->n_params,
                          .in = &c->in,
                          .out = &c->out,
                          .param = c->param,
                          .need_din = need_din,
                          .chunk = chunk,
                          .threads = threads,
                          .operands = c->operands,
                          .engine = c->engine};
}

/* One chunk of one pass; r receives the numbers. */
static void run_chunk(const product_case *c, const hu_node_info *info, void *state, hu_pass pass,
                      char *workspace, char *scratch, int64_t chunk, const run_result *r) {
    const hu_product *p = &c->product;
    int64_t first = chunk * info->chunk, left = SAMPLES - first;
    const float *in[] = {c->x + first * hu_product_in(p)};
    const float *dout[] = {c->dy + first * hu_product_out(p)}, *param[] = {NULL, c->door_bias};
    float *out[] = {r->y + first * hu_product_out(p)};
    float *din[] = {info->need_din[0] ? r->dx + first * hu_product_in(p) : NULL};
    int64_t to = c->adds ? 0 : chunk;
    float *dparam[] = {r->dw + to * hu_product_weights(p),
                       p->has_bias ? r->db + to * p->out_c : NULL};
    hu_op_call call = {.info = info,
                       .state = state,
                       .training = true,
                       .thread = omp_get_thread_num(),
                       .first = first,
                       .count = left < info->chunk ? left : info->chunk,
                       .total = SAMPLES,
                       .in = in,
                       .adds_dparam = c->adds && chunk > 0,
                       .param = param,
                       .stats = (double *)c->stats,
                       .key = {7, 0, 3},
                       .workspace = workspace,
                       .scratch = scratch};
    if (pass == HU_FORWARD) {
        call.out = out;
        c->op->forward(&call);
        return;
    }
    call.dout = dout;
    call.din = din;
    call.dparam = dparam;
    c->op->backward(&call);
}

/* All chunks of one pass on info->threads threads. */
static void run_pass(const product_case *c, const hu_node_info *info, void *state, hu_pass pass,
                     const run_result *r) {
    size_t workspace_bytes = c->op->workspace_bytes(info, state, pass);
    size_t scratch_bytes = c->op->scratch_bytes(info, state, pass), threads = (size_t)info->threads;
    char *workspace = guarded(workspace_bytes), *scratch[MAX_CHUNKS];
    for (size_t t = 0; t < threads; t++) scratch[t] = guarded(scratch_bytes);
    const float *param[] = {c->w, c->bias};
    hu_op_call call = {
        .info = info, .state = state, .param = param, .key = {7, 0, 3}, .workspace = workspace};
    c->op->begin(&call, pass);
    uint64_t before = hu_memory_count().allocations;
#pragma omp parallel for num_threads(info->threads) schedule(static, 1)
    for (int64_t i = 0; i < r->chunks; i++)
        run_chunk(c, info, state, pass, workspace, scratch[omp_get_thread_num()], i, r);
    assert_true(hu_memory_count().allocations == before);
    for (size_t t = 0; t < threads; t++) {
        guard_check(scratch[t], scratch_bytes);
        hu_free(scratch[t]);
    }
    guard_check(workspace, workspace_bytes);
    hu_free(workspace);
}

static run_result run_case(const product_case *c, int64_t chunk, int threads) {
    const bool need_din[] = {true};
    hu_node_info info = case_info(c, need_din, chunk, threads);
    int64_t chunks = (SAMPLES + chunk - 1) / chunk;
    run_result r = {.chunks = chunks};
    void *state;
    r.y = zeroed((size_t)(SAMPLES * hu_product_out(&c->product)), sizeof(float));
    r.dx = zeroed((size_t)(SAMPLES * hu_product_in(&c->product)), sizeof(float));
    r.dw = zeroed((size_t)(chunks * hu_product_weights(&c->product)), sizeof(float));
    r.db = zeroed((size_t)(chunks * c->product.out_c), sizeof(float));
    assert_int_equal(c->op->create(&info, &state), HU_OK);
    if (SAMPLES % chunk) assert_int_equal(c->op->prepare(&info, state, SAMPLES % chunk), HU_OK);
    run_pass(c, &info, state, HU_FORWARD, &r);
    run_pass(c, &info, state, HU_BACKWARD, &r);
    c->op->release(state);
    return r;
}

/* Any float32 order of a sum of n products is off by at most about n * 2^-24 of the sum of their
 * magnitudes; blocked sums stay far below 1e-5. */
static void compare(const char *what, int64_t count, const float *found,
                    const hu_reference_sum *expected) {
    for (int64_t i = 0; i < count; i++)
        if (!(fabs((double)found[i] - expected[i].value) <= 1e-5 * expected[i].magnitude))
            fail_msg("%s[%lld] is %.9g, expected %.17g", what, (long long)i, (double)found[i],
                     expected[i].value);
}

static void compare_with_reference(const product_case *c, const run_result *r, int64_t chunk) {
    const hu_product *p = &c->product;
    int64_t in = hu_product_in(p), out = hu_product_out(p), weights = hu_product_weights(p);
    hu_reference_sum *y = zeroed((size_t)(SAMPLES * out), sizeof *y);
    hu_reference_sum *dx = zeroed((size_t)(SAMPLES * in), sizeof *dx);
    hu_reference_sum *dw = zeroed((size_t)weights, sizeof *dw);
    hu_reference_sum *db = zeroed((size_t)p->out_c, sizeof *db);
    hu_reference_forward(p, SAMPLES, c->x, c->w, c->bias, y);
    compare("y", SAMPLES * out, r->y, y);
    hu_reference_backward_data(p, SAMPLES, c->dy, c->w, dx);
    compare("dx", SAMPLES * in, r->dx, dx);
    for (int64_t i = 0; i < r->chunks; i++) {
        int64_t first = i * chunk, count = SAMPLES - first < chunk ? SAMPLES - first : chunk;
        hu_reference_backward_weights(p, count, c->x + first * in, c->dy + first * out, dw, db);
        compare("dw", weights, r->dw + i * weights, dw);
        if (p->has_bias) compare("db", p->out_c, r->db + i * p->out_c, db);
    }
    hu_free(y);
    hu_free(dx);
    hu_free(dw);
    hu_free(db);
}

static void assert_same_floats(const float *a, const float *b, int64_t count) {
    assert_memory_equal(a, b, (size_t)count * sizeof *a);
}

/* Right numbers for every chunk length, also a short last one; threads that change no bit. A sample
 * may feel the length of its chunk in the last bits (oneDNN blocks a product by its rows): the
 * chunk belongs to the plan. */
static inline void check_engine(const product_case *c) {
    const hu_product *p = &c->product;
    run_result tail = run_case(c, 5, 1), whole = run_case(c, SAMPLES, 1);
    compare_with_reference(c, &tail, 5);
    compare_with_reference(c, &whole, SAMPLES);
    run_result one = run_case(c, 3, 1), two = run_case(c, 3, 2);
    assert_same_floats(one.y, two.y, SAMPLES * hu_product_out(p));
    assert_same_floats(one.dx, two.dx, SAMPLES * hu_product_in(p));
    assert_same_floats(one.dw, two.dw, one.chunks * hu_product_weights(p));
    assert_same_floats(one.db, two.db, one.chunks * p->out_c);
    product_case added = *c;
    added.adds = true;
    run_result sum = run_case(&added, 3, 1);
    sum.chunks = 1;
    compare_with_reference(c, &sum, SAMPLES);
    result_free(&sum);
    result_free(&tail);
    result_free(&whole);
    result_free(&one);
    result_free(&two);
}

/* The last of the engines that are in this build. */
static inline hu_product_engine last_engine(void) {
    return hu_dnn_is_there() ? HU_ENGINE_ONEDNN : HU_ENGINE_FASTEST;
}

/* By kernel/conv (without groups), by oneDNN, and by Winograd's algorithm where that fits. */
static inline void check_case(const product_case *c) {
    product_case dnn = *c, winograd = *c;
    dnn.engine = last_engine();
    winograd.engine = HU_ENGINE_WINOGRAD;
    check_engine(c);
    check_engine(&dnn);
    check_engine(&winograd);
}

/* Every allocation of create and prepare may fail: a status, no state, nothing left over. */
static inline void check_allocation_failures(const product_case *c) {
    const bool need_din[] = {true};
    hu_node_info info = case_info(c, need_din, 5, 2);
    uint64_t live = hu_memory_count().live_blocks;
    hu_status st = HU_ERR_MEMORY;
    for (uint64_t n = 1; st != HU_OK; n++) {
        void *state = &info;
        hu_memory_fail_at(n);
        st = c->op->create(&info, &state);
        if (st == HU_OK) st = c->op->prepare(&info, state, 3);
        hu_memory_fail_at(0);
        assert_true(st == HU_OK || st == HU_ERR_MEMORY);
        if (st != HU_OK) assert_memory_equal(hu_last_error(), "cannot allocate ", 16);
        if (st == HU_OK) assert_true(n > 4);
        c->op->release(state);
        assert_true(hu_memory_count().live_blocks == live);
    }
}

#endif
