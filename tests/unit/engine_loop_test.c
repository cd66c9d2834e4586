/* Recurrences: a loop against the same steps as nodes of their own, bit for bit; what the
 * parameters of a loop read; lengths; scales, ranges and learned bits of steps. */
#include <stdio.h>

#include "base/bits.h"
#include "engine/internal.h"
#include "graph/graph.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/planner.h"

enum { BATCH = 7, WIDE = 6, CLASSES = 5, MOST_STEPS = 5, MOST = 4096 };

/* x -> first -> [steps, WIDE]; x -> start -> [WIDE]; per step, p being the step before:
 *   a = x_t + linear(p);  u = tanh a;  g = u times a weight;  h = g + g * p
 * and after the last one all h -> last -> log_softmax -> nll */
typedef struct net {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    int64_t steps;
    bool has_lengths;
    const float *lengths; /* [BATCH], from sample `sample` on */
    int64_t sample;
    double loss;
    float h[BATCH * MOST_STEPS * WIDE], start[BATCH * WIDE]; /* after the forward pass */
} net;

typedef struct variant {
    const char *value, *grad, *sum, *accumulator; /* "": not rounded, not chosen */
    hu_storage_mode storage;
    int threads;
    int64_t chunk;
    bool fuse;
} variant;

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

/* ---- what the linear layer of the loop is handed ---- */

typedef struct seen_rows {
    float in[BATCH][MOST_STEPS][WIDE], dout[BATCH][MOST_STEPS][WIDE]; /* by its calls for steps */
    float all_in[MOST], all_dout[MOST];                               /* by those for parameters */
    int64_t steps[BATCH], rows; /* step calls go backward in time */
} seen_rows;
static seen_rows seen;
static hu_op spied;

static void keep_rows(const hu_op_call *call) {
    size_t bytes = (size_t)(call->count * WIDE) * sizeof(float);
    memcpy(seen.all_in + seen.rows * WIDE, call->in[0], bytes);
    memcpy(seen.all_dout + seen.rows * WIDE, call->dout[0], bytes);
    seen.rows += call->count;
}

/* c [rows, n] = a [rows, k] b [k, n] by integers alone, b read with these strides. */
static void expect_reference(const hu_accumulator *accumulator, int64_t rows, int64_t n, int64_t k,
                             hu_operand a, hu_operand b, const float *bias, const float *c) {
    float expected[MOST];
    hu_gemm_task task = {.m = rows,
                         .n = n,
                         .k = k,
                         .a = a,
                         .b = b,
                         .bias = bias,
                         .accumulator = *accumulator,
                         .c = expected,
                         .c_stride = n,
                         .threads = 1};
    must(hu_gemm_reference(&task));
    assert_memory_equal(c, expected, (size_t)(rows * n) * sizeof *c);
}

static const hu_accumulator *accumulator_of(const hu_op_call *call, hu_product_role role) {
    return hu_accumulates(call->info, role) ? &call->info->accumulation->accumulator[role] : NULL;
}

/* y = x w' + b */
static void spy_forward(const hu_op_call *call) {
    const hu_accumulator *one = accumulator_of(call, HU_PRODUCT_FORWARD);
    hu_op_linear.forward(call);
    if (one)
        expect_reference(one, call->count, WIDE, WIDE,
                         (hu_operand){.data = call->in[0], .stride = WIDE, .k_stride = 1},
                         (hu_operand){.data = call->param[0], .stride = WIDE, .k_stride = 1},
                         call->param[1], call->out[0]);
}

/* dx = dy w of a step, or the rows that the parameters read. */
static void spy_backward(const hu_op_call *call) {
    const hu_accumulator *one = accumulator_of(call, HU_PRODUCT_INPUT_GRAD);
    hu_op_linear.backward(call);
    if (!call->din[0]) {
        if (call->info->threads == 1) keep_rows(call); /* calls come side by side else */
        return;
    }
    if (one)
        expect_reference(one, call->count, WIDE, WIDE,
                         (hu_operand){.data = call->dout[0], .stride = WIDE, .k_stride = 1},
                         (hu_operand){.data = call->param[0], .stride = 1, .k_stride = WIDE}, NULL,
                         call->din[0]);
}

static void spy_accumulate(const hu_op_call *call) {
    hu_op_linear.accumulate(call);
    keep_rows(call);
}

/* ---- both graphs ---- */

static hu_value_id apply(net *n, const hu_op *op, const char *name, const void *attrs, int n_in,
                         const hu_value_id *in) {
    hu_value_id out[HU_MAX_OUTPUTS];
    must(hu_graph_apply(n->graph, op, name, NULL, attrs, n_in, in, out));
    return out[0];
}

static hu_value_id linear(net *n, const char *name, hu_value_id in, int64_t out) {
    const hu_linear_attrs attrs = {
        .out_features = out, .has_bias = true, .weight_init = {HU_INIT_NORMAL, 0.4f}};
    return apply(n, &hu_op_linear, name, &attrs, 1, &in);
}

typedef struct cell {
    hu_value_id x, previous, product;
} cell;

/* The first step makes the weight gain.weight, later ones share it. */
static hu_value_id gain(net *n, const char *name, hu_value_id in) {
    const hu_arithmetic_attrs attrs = {.shape = {1, {WIDE}}, .weight_init = {HU_INIT_NORMAL, 0.9f}};
    hu_value_id out[HU_MAX_OUTPUTS], weight = hu_graph_find(n->graph, "gain.weight");
    if (weight == HU_NONE)
        must(hu_graph_apply(n->graph, &hu_op_mul, name, "gain", &attrs, 1, &in, out));
    else
        must(hu_graph_share(n->graph, &hu_op_mul, name, &attrs, 1, &in, &weight, out));
    return out[0];
}

static hu_value_id step_behind(net *n, const char *prefix, const cell *c) {
    char name[64];
    hu_value_id in[2] = {c->x, c->product};
    snprintf(name, sizeof name, "%sa", prefix);
    hu_value_id a = apply(n, &hu_op_add, name, NULL, 2, in);
    snprintf(name, sizeof name, "%su", prefix);
    hu_value_id u = apply(n, &hu_op_tanh, name, NULL, 1, &a);
    snprintf(name, sizeof name, "%sg", prefix);
    in[0] = gain(n, name, u), in[1] = c->previous;
    snprintf(name, sizeof name, "%sm", prefix);
    in[1] = apply(n, &hu_op_mul, name, NULL, 2, in);
    snprintf(name, sizeof name, "%sh", prefix);
    return apply(n, &hu_op_add, name, NULL, 2, in);
}

static hu_value_id loop(net *n, hu_value_id x, hu_value_id start, hu_value_id lengths) {
    const hu_linear_attrs attrs = {
        .out_features = WIDE, .has_bias = true, .weight_init = {HU_INIT_NORMAL, 0.4f}};
    const hu_reshape_attrs rows = {.shape = {2, {n->steps, WIDE}}};
    cell c = {.x = apply(n, &hu_op_reshape, "rows", &rows, 1, &x)};
    spied = hu_op_linear;
    spied.forward = spy_forward;
    spied.packs_params = NULL; /* a spy looks at them */
    spied.backward = spy_backward;
    spied.accumulate = spy_accumulate;
    must(hu_graph_loop(n->graph, n->steps, lengths));
    must(hu_graph_state(n->graph, "p", start, &c.previous));
    c.product = apply(n, &spied, "cell", &attrs, 1, &c.previous);
    hu_value_id h = step_behind(n, "", &c);
    must(hu_graph_next(n->graph, c.previous, h));
    must(hu_graph_end_loop(n->graph));
    return apply(n, &hu_op_flatten, "flat", NULL, 1, &h);
}

static hu_value_id unrolled(net *n, hu_value_id x, hu_value_id start) {
    const hu_linear_attrs attrs = {
        .out_features = WIDE, .has_bias = true, .weight_init = {HU_INIT_NORMAL, 0.4f}};
    const hu_split_attrs first = {.first = WIDE};
    const hu_reshape_attrs same = {.shape = {1, {WIDE}}};
    hu_value_id part[HU_MAX_OUTPUTS], h[MOST_STEPS], out[HU_MAX_OUTPUTS], shared[2];
    char name[64];
    for (int64_t t = 0; t < n->steps; t++) {
        cell c = {.x = x};
        snprintf(name, sizeof name, "split%d", (int)t);
        if (t + 1 < n->steps) {
            must(hu_graph_apply(n->graph, &hu_op_split, name, NULL, &first, 1, &x, part));
            c.x = part[0], x = part[1];
        }
        snprintf(name, sizeof name, "p%d", (int)t);
        c.previous = apply(n, &hu_op_reshape, name, &same, 1, t > 0 ? &h[t - 1] : &start);
        snprintf(name, sizeof name, "cell%d", (int)t);
        if (t == 0)
            must(
                hu_graph_apply(n->graph, &hu_op_linear, name, "cell", &attrs, 1, &c.previous, out));
        else
            must(
                hu_graph_share(n->graph, &hu_op_linear, name, &attrs, 1, &c.previous, shared, out));
        shared[0] = hu_graph_find(n->graph, "cell.weight");
        shared[1] = hu_graph_find(n->graph, "cell.bias");
        c.product = out[0];
        snprintf(name, sizeof name, "t%d.", (int)t);
        h[t] = step_behind(n, name, &c);
    }
    return n->steps > 1 ? apply(n, &hu_op_concat, "flat", NULL, (int)n->steps, h)
                        : apply(n, &hu_op_flatten, "flat", NULL, 1, h);
}

static void declare(net *n, bool is_loop, int64_t steps, bool has_lengths) {
    const hu_shape wide = {1, {WIDE}}, scalar = {0, {0}};
    hu_value_id in[2], input, lengths = HU_NONE;
    *n = (net){.steps = steps, .has_lengths = has_lengths};
    must(hu_graph_create(&n->graph));
    must(hu_graph_input(n->graph, "input", &wide, &input));
    must(hu_graph_target(n->graph, "label", &scalar, &in[1]));
    if (has_lengths) must(hu_graph_target(n->graph, "lengths", &scalar, &lengths));
    hu_value_id x = linear(n, "first", input, MOST_STEPS * WIDE);
    if (steps < MOST_STEPS) { /* the first steps of the same numbers */
        const hu_split_attrs first = {.first = steps * WIDE};
        x = apply(n, &hu_op_split, "head", &first, 1, &x);
    }
    hu_value_id start = linear(n, "start", input, WIDE);
    hu_value_id all = is_loop ? loop(n, x, start, lengths) : unrolled(n, x, start);
    in[0] = linear(n, "last", all, CLASSES);
    in[0] = apply(n, &hu_op_log_softmax, "lsm", NULL, 1, in);
    apply(n, &hu_op_nll, "loss", NULL, 2, in);
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
    hu_weights_draw(&n->weights, n->graph, 3, 1);
}

static hu_quantizer quantizer_of(const char *text) {
    hu_quantizer q = {0};
    if (text[0]) must(hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &q));
    return q;
}

/* Nodes that only move numbers round nothing: they are others in the two graphs. */
static bool moves(const hu_op *op) {
    return op->is_view || op == &hu_op_split || op == &hu_op_concat;
}

/* True for what the steps make, in both graphs: cell, a, u, g, m, h, and t0.a and so on. */
static bool is_of_steps(const char *name) {
    return strchr("caugmht", name[0]) != NULL;
}

static void write_edges(net *n, const variant *v) {
    hu_accumulation accumulation = {0};
    const hu_quantizer asked = quantizer_of(v->value);
    for (hu_value_id id = 0; id < n->graph->value_count; id++) {
        const hu_value_info *value = &n->graph->value[id];
        uint32_t p = value->producer;
        if (value->role != HU_VALUE_ACTIVATION || moves(n->graph->node[p].op)) continue;
        /* Outside of loops a scale is that of all samples. */
        if (hu_quantizer_looks(&asked) && !is_of_steps(value->name)) continue;
        n->edges.value[id].quantizer = quantizer_of(v->value);
        n->edges.grad_sum[id].quantizer = quantizer_of(v->sum);
        for (uint32_t k = 0; k < value->use_count; k++)
            if (!moves(n->graph->node[n->graph->use[value->uses[k]].node].op))
                n->edges.grad[value->uses[k]].quantizer = quantizer_of(v->grad);
    }
    if (v->accumulator[0]) {
        hu_accumulator one;
        must(hu_accumulator_parse(v->accumulator, &one));
        for (int r = 0; r < HU_PRODUCT_ROLES; r++) {
            accumulation.chosen[r] = true;
            accumulation.accumulator[r] = one;
        }
    }
    for (uint32_t k = 0; k < n->graph->node_count; k++)
        if (n->graph->node[k].op->is_product) n->edges.products[k].accumulation = accumulation;
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const hu_random_key key = {5, 1, 0};
    const net *n = context;
    first += n->sample;
    for (int64_t i = 0; i < count * WIDE && field == 0; i++)
        rows[i] = hu_random_normal(&key, (uint64_t)(first * WIDE + i));
    for (int64_t s = 0; s < count && field == 1; s++) rows[s] = (float)((first + s) % CLASSES);
    for (int64_t s = 0; s < count && field == 2; s++) rows[s] = n->lengths[first + s];
}

static void note(const net *n, const char *name, int64_t samples, float *to) {
    hu_value_id v = hu_graph_find(n->graph, name);
    if (v == HU_NONE) return;
    const float *rows = hu_run_value(n->run, v, samples, to);
    if (rows != to) memcpy(to, rows, (size_t)(samples * n->graph->value[v].elements) * sizeof *to);
}

static void run_samples(net *n, const variant *v, int64_t samples) {
    const hu_run_options options = {.batch = samples,
                                    .chunk = v->chunk,
                                    .threads = v->threads,
                                    .storage = v->storage,
                                    .fuse = v->fuse,
                                    .recompute = v->fuse};
    hu_pass_options pass = {.training = true, .samples = samples, .seed_gradient = 64.0f};
    hu_pass_result result;
    hu_source source = {n, fill};
    write_edges(n, v);
    hu_edge_table_clear(&n->edges);
    hu_run_free(n->run);
    n->run = NULL;
    seen.rows = 0;
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
    hu_run_round_parameters(n->run, 0, true);
    must(hu_run_forward(n->run, &pass, &source, &result));
    note(n, "h.out", samples, n->h);
    note(n, "start.out", samples, n->start);
    must(hu_run_backward(n->run, &pass));
    assert_true(!hu_run_has_unencodable(n->run));
    n->loss = result.loss_sum;
}

static void drop(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

static const float *gradient_of(const net *n, const char *name, int64_t *elements, float *scratch) {
    hu_value_id v = hu_graph_find(n->graph, name);
    assert_true(v != HU_NONE);
    *elements = n->graph->value[v].elements;
    return hu_run_param_grad(n->run, v, 0, *elements, scratch);
}

static void expect_same_gradient(const net *a, const net *b, const char *name) {
    static float left[MOST], right[MOST];
    int64_t elements, nonzero = 0;
    const float *x = gradient_of(a, name, &elements, left);
    const float *y = gradient_of(b, name, &elements, right);
    for (int64_t i = 0; i < elements; i++) nonzero += x[i] != 0;
    if (memcmp(x, y, (size_t)elements * sizeof *x) != 0)
        fail_msg("the gradients of %s differ", name);
    assert_true(24 * nonzero > elements);
}

/* ---- a loop and its steps ---- */

static hu_round_counts counts_of(const net *n, const char *name, int kind) {
    hu_round_counts counts;
    hu_value_id v = hu_graph_find(n->graph, name);
    assert_true(v != HU_NONE);
    hu_round_counts_clear(&counts);
    if (kind == 0) hu_round_counts_add(&counts, &n->edges.value[v].counts);
    if (kind == 2) hu_round_counts_add(&counts, &n->edges.grad_sum[v].counts);
    for (uint32_t k = 0; kind == 1 && k < n->graph->value[v].use_count; k++)
        hu_round_counts_add(&counts, &n->edges.grad[n->graph->value[v].uses[k]].counts);
    return counts;
}

static void expect_same_counts(const net *looped, const net *steps, const char *name, int kind) {
    hu_round_counts found = counts_of(looped, name, kind), expected;
    char step[64];
    hu_round_counts_clear(&expected);
    for (int64_t t = 0; t < steps->steps; t++) {
        if (strcmp(name, "cell.out") == 0)
            snprintf(step, sizeof step, "cell%d.out", (int)t);
        else
            snprintf(step, sizeof step, "t%d.%s", (int)t, name);
        hu_round_counts one = counts_of(steps, step, kind);
        hu_round_counts_add(&expected, &one);
    }
    if (memcmp(&found, &expected, sizeof found) != 0)
        fail_msg("counts of %s (%d): %llu elements, expected %llu", name, kind,
                 (unsigned long long)found.elements, (unsigned long long)expected.elements);
}

static void expect_close_gradient(const net *a, const net *b, const char *name) {
    static float left[MOST], right[MOST];
    int64_t elements;
    double difference = 0, size = 0;
    const float *x = gradient_of(a, name, &elements, left);
    const float *y = gradient_of(b, name, &elements, right);
    for (int64_t i = 0; i < elements; i++) {
        difference += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
        size += (double)x[i] * x[i];
    }
    assert_true(size > 0 && difference < 1e-12 * size);
}

static void compare_unrolled(const variant *v, int64_t steps, int64_t samples) {
    static const char *const values[] = {"cell.out", "a.out", "u.out", "g.out", "m.out", "h.out"};
    net looped, single;
    declare(&looped, true, steps, false);
    declare(&single, false, steps, false);
    for (hu_value_id k = 0; k < looped.graph->value_count; k++) {
        const hu_value_info *value = &looped.graph->value[k];
        if (value->role != HU_VALUE_PARAMETER) continue;
        hu_value_id to = hu_graph_find(single.graph, value->name);
        memcpy(hu_weights_of(&single.weights, to), hu_weights_of(&looped.weights, k),
               (size_t)value->elements * sizeof(float));
    }
    run_samples(&looped, v, samples);
    run_samples(&single, v, samples);
    if (looped.loss != single.loss)
        fail_msg("%s, %lld steps: losses %a, %a", v->value, (long long)steps, looped.loss,
                 single.loss);
    assert_true(looped.loss > 0);
    expect_same_gradient(&looped, &single, "first.weight");
    expect_same_gradient(&looped, &single, "start.weight");
    expect_same_gradient(&looped, &single, "last.weight");
    if (!v->accumulator[0]) {
        expect_close_gradient(&looped, &single, "cell.weight");
        expect_close_gradient(&looped, &single, "cell.bias");
    }
    expect_close_gradient(&looped, &single, "gain.weight");
    for (int k = 0; k < 6; k++) {
        expect_same_counts(&looped, &single, values[k], 0);
        expect_same_counts(&looped, &single, values[k], 1);
        /* The gradient of h has two parts in a loop, in the last step the second is 0. */
        if (k < 5) expect_same_counts(&looped, &single, values[k], 2);
        if (v->value[0])
            assert_true(counts_of(&looped, values[k], 0).elements ==
                        (uint64_t)(samples * WIDE * steps));
    }
    drop(&looped);
    drop(&single);
}

static void a_loop_is_its_steps(void **state) {
    (void)state;
    static const variant rows[] = {
        {"", "", "", "", HU_STORAGE_PACKED, 1, 4, true},
        {"", "", "", "", HU_STORAGE_PACKED, 2, 2, false},
        {"fp16", "fp16", "", "", HU_STORAGE_PACKED, 2, 4, true},
        {"1/6/9", "1/6/9", "1/6/9", "", HU_STORAGE_PACKED, 1, 3, true},
        {"e4m3", "e5m2", "e5m2", "", HU_STORAGE_DENSE, 2, 1, true},
        {"e4m3", "e5m2", "fp16", "", HU_STORAGE_FLOAT32, 3, 7, true},
        {"e3m2", "e5m2", "", "", HU_STORAGE_DENSE, 2, 2, false},
        {"1/6/9", "1/6/9", "1/6/9", "macs:1/6/9", HU_STORAGE_PACKED, 2, 2, true}};
    static const int64_t steps[] = {1, 2, MOST_STEPS};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int k = 0; k < 3; k++) compare_unrolled(&rows[r], steps[k], BATCH);
}

/* A scale, a range or a block is that of one step of one sample: what the tensors of the steps have
 * where there is one sample. */
static const variant scaled[] = {
    {"e4m3fn:scale=current", "e5m2:scale=current", "e5m2:scale=bias", "", HU_STORAGE_PACKED, 2, 4,
     true},
    {"mxfp8", "mxfp4", "mxfp8", "", HU_STORAGE_PACKED, 2, 4, true},
    {"nvfp4", "nvfp4", "e5m2", "", HU_STORAGE_DENSE, 1, 2, false},
    {"uniform8", "uniform6", "uniform8", "", HU_STORAGE_PACKED, 2, 4, true},
    {"uniform4", "uniform8", "", "macs:1/6/9", HU_STORAGE_DENSE, 1, 1, true}};
enum { SCALED = sizeof scaled / sizeof *scaled };

static void steps_have_scales_of_their_own(void **state) {
    (void)state;
    static const int64_t steps[] = {1, 2, MOST_STEPS};
    for (int r = 0; r < SCALED; r++)
        for (int k = 0; k < 3; k++) compare_unrolled(&scaled[r], steps[k], 1);
}

/* ---- what changes no bit ---- */

static void expect_same_net(const net *a, const net *b) {
    static const char *const names[] = {"first.weight", "first.bias", "start.weight",
                                        "cell.weight",  "cell.bias",  "last.weight"};
    assert_true(a->loss == b->loss);
    for (int k = 0; k < 6; k++) expect_same_gradient(a, b, names[k]);
}

static const float ragged[BATCH] = {3, 0, 5, 1, 5, 2, 4};

/* What a plan may choose, in any variant. */
static void compare_plans(const variant *plain, bool has_lengths) {
    variant others[] = {*plain, *plain, *plain, *plain};
    net a, b;
    others[0].storage = HU_STORAGE_PACKED;
    others[1].storage = HU_STORAGE_DENSE;
    others[2].threads = 3;
    others[3].fuse = true;
    declare(&a, true, MOST_STEPS, has_lengths);
    declare(&b, true, MOST_STEPS, has_lengths);
    a.lengths = b.lengths = ragged;
    run_samples(&a, plain, BATCH);
    for (int o = 0; o < 4; o++) {
        run_samples(&b, &others[o], BATCH);
        expect_same_net(&a, &b);
    }
    drop(&a);
    drop(&b);
}

static void storage_threads_and_fusing_change_no_bit(void **state) {
    (void)state;
    static const char *const formats[][3] = {{"e4m3", "e5m2", "e5m2"},
                                             {"e4m3fn:scale=current", "mxfp8", "uniform8 sr"},
                                             {"uniform6 sr", "uniform8", "e5m2:scale=delayed2"},
                                             {"e4m3fn:scale=delayed", "nvfp4 sr", "e5m2"}};
    for (int k = 0; k < 16; k++) {
        const char *const *f = formats[k / 4];
        const variant plain = {f[0], f[1], f[2], k % 2 ? "macs:1/6/9" : "", HU_STORAGE_FLOAT32,
                               1,    2,    false};
        compare_plans(&plain, k / 2 % 2);
    }
}

static void stochastic_rounding_is_by_place(void **state) {
    (void)state;
    const variant v = {"e4m3", "e5m2", "", "", HU_STORAGE_PACKED, 1, 4, true};
    variant other = v;
    net a, b;
    float at[2][BATCH * MOST_STEPS * WIDE];
    other.chunk = 2;
    other.threads = 2;
    net *nets[] = {&a, &b};
    for (int k = 0; k < 2; k++) {
        declare(nets[k], true, MOST_STEPS, false);
        write_edges(nets[k], &v);
        hu_run_options options = {
            .batch = BATCH, .chunk = k ? other.chunk : v.chunk, .threads = 1 + k, .seed = 9};
        hu_pass_options pass = {.training = true, .samples = BATCH, .seed_gradient = 1.0f};
        hu_pass_result result;
        hu_source source = {nets[k], fill};
        hu_value_id h = hu_graph_find(nets[k]->graph, "h.out");
        nets[k]->edges.value[h].quantizer.rounding = HU_ROUND_STOCHASTIC;
        must(hu_run_create(nets[k]->graph, &nets[k]->edges, &nets[k]->weights, &options,
                           &nets[k]->run));
        hu_run_round_parameters(nets[k]->run, 0, true);
        must(hu_run_forward(nets[k]->run, &pass, &source, &result));
        const float *rows = hu_run_value(nets[k]->run, h, BATCH, at[k]);
        if (rows != at[k]) memcpy(at[k], rows, sizeof at[k]);
    }
    assert_memory_equal(at[0], at[1], sizeof at[0]);
    drop(&a);
    drop(&b);
}

/* ---- parameters ---- */

static void a_gradient_of_a_parameter_is_one_sum(void **state) {
    (void)state;
    const variant v = {"", "", "", "", HU_STORAGE_PACKED, 1, 3, true};
    static float scratch[MOST];
    net n;
    int64_t elements, row = 0;
    declare(&n, true, MOST_STEPS, true);
    n.lengths = ragged;
    run_samples(&n, &v, BATCH);
    /* Sample by sample, in each the steps in ascending order, reading what came before. */
    for (int64_t s = 0; s < BATCH; s++)
        for (int64_t t = 0; t < (int64_t)ragged[s]; t++, row++) {
            const float *before = t ? n.h + (s * MOST_STEPS + t - 1) * WIDE : n.start + s * WIDE;
            assert_memory_equal(seen.all_in + row * WIDE, before, WIDE * sizeof *before);
        }
    assert_int_equal(seen.rows, row);
    const float *found = gradient_of(&n, "cell.weight", &elements, scratch);
    for (int64_t o = 0; o < WIDE; o++)
        for (int64_t i = 0; i < WIDE; i++) {
            double sum = 0, size = 0;
            for (int64_t r = 0; r < row; r++) {
                double term = (double)seen.all_dout[r * WIDE + o] * seen.all_in[r * WIDE + i];
                sum += term;
                size += fabs(term);
            }
            assert_true(fabs(found[o * WIDE + i] - sum) <= 1e-6 * size);
        }
    drop(&n);
}

/* Products of all steps are those of the reference, in the order of the steps: the spies compare
 * what each step multiplies, here is the sum over all of them. */
static void accumulators_go_from_step_to_step(void **state) {
    (void)state;
    static const char *const names[] = {"fmac8:1/6/9", "fmac:e5m10", "kahan:1/6/9", "fmacs",
                                        "tc:K=6:F=13:out=13"};
    static float scratch[MOST];
    for (int k = 0; k < 5; k++)
        for (int64_t chunk = 1; chunk <= BATCH; chunk += 3) {
            const variant v = {"", "", "", names[k], HU_STORAGE_PACKED, 2, chunk, true};
            hu_accumulator one;
            net n;
            int64_t elements;
            must(hu_accumulator_parse(names[k], &one));
            declare(&n, true, MOST_STEPS, true);
            n.lengths = ragged;
            run_samples(&n, &v, BATCH);
            const float *found = gradient_of(&n, "cell.weight", &elements, scratch);
            assert_int_equal(seen.rows, 20); /* the sum of the lengths */
            expect_reference(&one, WIDE, WIDE, seen.rows,
                             (hu_operand){.data = seen.all_dout, .stride = 1, .k_stride = WIDE},
                             (hu_operand){.data = seen.all_in, .stride = 1, .k_stride = WIDE}, NULL,
                             found);
            found = gradient_of(&n, "cell.bias", &elements, scratch);
            for (int64_t o = 0; o < WIDE; o++) {
                float sum = 0;
                for (int64_t r = 0; r < seen.rows; r++) sum += seen.all_dout[r * WIDE + o];
                assert_true(found[o] == sum);
            }
            drop(&n);
        }
}

/* ---- lengths ---- */

/* Each sample runs as if it were alone, in a loop of as many steps; the others are +0. */
static void compare_alone(const variant *v) {
    net together;
    declare(&together, true, MOST_STEPS, true);
    together.lengths = ragged;
    run_samples(&together, v, BATCH);
    for (int64_t s = 0; s < BATCH; s++) {
        net alone;
        int64_t steps = (int64_t)ragged[s];
        const float *row = together.h + s * MOST_STEPS * WIDE;
        for (int64_t i = steps * WIDE; i < MOST_STEPS * WIDE; i++)
            assert_true(row[i] == 0 && !signbit(row[i]));
        if (steps == 0) continue;
        declare(&alone, true, steps, false);
        for (hu_value_id k = 0; k < alone.graph->value_count; k++)
            if (alone.graph->value[k].role == HU_VALUE_PARAMETER &&
                strncmp(alone.graph->value[k].name, "last", 4) != 0)
                memcpy(hu_weights_of(&alone.weights, k),
                       hu_weights_of(&together.weights,
                                     hu_graph_find(together.graph, alone.graph->value[k].name)),
                       (size_t)alone.graph->value[k].elements * sizeof(float));
        alone.sample = s;
        run_samples(&alone, v, 1);
        assert_memory_equal(row, alone.h, (size_t)(steps * WIDE) * sizeof *row);
        drop(&alone);
    }
    uint64_t rows = 0;
    for (int s = 0; s < BATCH; s++) rows += (uint64_t)ragged[s];
    static const char *const values[] = {"cell.out", "a.out", "g.out", "m.out", "h.out", "u.out"};
    for (int k = 0; k < 6; k++)
        for (int kind = 0; kind < 2; kind++) {
            /* g has two readers, and so two contributions to its gradient; the gradient of h that
             * views pass on is not rounded. */
            uint64_t times = kind && k == 2 ? 2 : kind && k == 4 ? 0 : 1;
            assert_true(counts_of(&together, values[k], kind).elements == times * rows * WIDE);
        }
    drop(&together);
}

static void samples_have_their_own_lengths(void **state) {
    (void)state;
    const variant plain = {"e4m3", "e5m2", "e5m2", "", HU_STORAGE_PACKED, 2, 4, true};
    compare_alone(&plain);
    for (int r = 0; r + 1 < SCALED; r++) compare_alone(&scaled[r]); /* the last sums otherwise */
}

/* Samples without a step pass the gradient 0 to where they start; a batch of them is nothing. */
static void a_batch_without_steps_is_nothing(void **state) {
    (void)state;
    static const float none[BATCH] = {0, -1, 0.5f, 0, 0, NAN, 0};
    static float scratch[MOST];
    for (int k = 0; k < 2; k++) {
        const variant v = {"", "", "", k ? "macs:1/6/9" : "", HU_STORAGE_PACKED, 2, 3, true};
        static const char *const names[] = {"first.weight", "start.weight", "cell.weight",
                                            "cell.bias"};
        net n;
        declare(&n, true, MOST_STEPS, true);
        n.lengths = none;
        run_samples(&n, &v, BATCH);
        for (int p = 0; p < 4; p++) {
            int64_t elements;
            const float *x = gradient_of(&n, names[p], &elements, scratch);
            for (int64_t i = 0; i < elements; i++) assert_true(x[i] == 0);
        }
        drop(&n);
    }
}

/* ---- plan and refusals ---- */

static void the_ledger_is_what_lives(void **state) {
    (void)state;
    const variant v = {"e4m3", "e5m2", "e5m2", "", HU_STORAGE_PACKED, 2, 4, true};
    net n;
    hu_ledger before = hu_ledger_now();
    declare(&n, true, MOST_STEPS, false);
    run_samples(&n, &v, BATCH);
    hu_ledger ledger = hu_ledger_of(n.run, 0, 0);
    assert_int_equal(hu_ledger_check(&ledger, &before), HU_OK);
    assert_true(hu_graph_macs(n.graph) ==
                WIDE * (MOST_STEPS * WIDE + WIDE + MOST_STEPS * WIDE + MOST_STEPS * CLASSES));
    /* What only the step reads that makes it has no memory. */
    const char *const passing[] = {"cell.out", "a.out", "m.out"};
    for (int k = 0; k < 3; k++) assert_true(n.run->is_virtual[hu_graph_find(n.graph, passing[k])]);
    drop(&n);
}

/* ---- what is known of all steps ---- */

static net *opened(net *n, bool is_loop) {
    declare(n, is_loop, MOST_STEPS, false);
    return n;
}

/* The maximum that a delayed scale remembers is that of all samples and steps. */
static void delayed_scales_look_at_all_steps(void **state) {
    (void)state;
    static const char *const texts[] = {"e8m20:scale=delayed2", ""};
    uint32_t top[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        const variant v = {texts[k], "", "", "", HU_STORAGE_PACKED, 2, 2, false};
        net n;
        run_samples(opened(&n, true), &v, BATCH);
        hu_value_id h = hu_graph_find(n.graph, "h.out");
        for (int i = 0; k && i < BATCH * MOST_STEPS * WIDE; i++) {
            uint32_t bits = hu_f32_bits(fabsf(n.h[i]));
            top[k] = bits > top[k] ? bits : top[k];
        }
        if (k == 0) top[k] = n.run->value[h].top;
        drop(&n);
    }
    /* What was met is 20 bits away from what nobody has rounded, at most. */
    assert_true(top[0] != HU_NONE && fabs((double)top[0] - (double)top[1]) < 64);
}

/* Bits of a product in a loop learn from all its steps, as those of the steps together do. */
static double sensitivity(bool is_loop, double *of_weight) {
    const variant v = {"", "", "", "", HU_STORAGE_PACKED, 1, 1, false};
    const char *const first = is_loop ? "cell" : "cell0";
    double sum = 0;
    net n;
    opened(&n, is_loop);
    hu_value_id w = hu_graph_find(n.graph, "cell.weight");
    n.edges.value[w].quantizer = quantizer_of("uniform4:channel");
    n.edges.value[w].learns = true;
    for (uint32_t k = 0; k < n.graph->node_count; k++) {
        if (strncmp(n.graph->node[k].name, first, 4) != 0) continue;
        hu_edge *edge = &n.edges.use[n.graph->node[k].first_use];
        edge->quantizer = quantizer_of("uniform4");
        edge->learns = true;
    }
    run_samples(&n, &v, 1);
    for (uint32_t u = 0; u < n.graph->use_count; u++) sum += n.edges.use[u].sensitivity;
    *of_weight = n.edges.value[w].sensitivity;
    drop(&n);
    return sum;
}

static void bits_learn_from_all_steps(void **state) {
    (void)state;
    double weight[2], input[2];
    for (int k = 0; k < 2; k++) input[k] = sensitivity(k == 0, &weight[k]);
    assert_true(input[1] != 0 && fabs(input[0] - input[1]) < 1e-9 * fabs(input[1]));
    assert_true(weight[0] != 0 && weight[1] != 0);
}

/* Parameters read a gradient that is rounded apart from that of the state. */
static void parameters_read_a_gradient_of_their_own(void **state) {
    (void)state;
    const variant v = {"", "", "", "", HU_STORAGE_PACKED, 1, 2, false};
    static float plain[MOST], scratch[MOST];
    for (int k = 0; k < 2; k++) {
        net n;
        int64_t elements;
        opened(&n, true);
        hu_value_id out = hu_graph_find(n.graph, "cell.out");
        n.edges.has_apart = n.edges.grad_weights[out].is_apart = k > 0;
        n.edges.grad_weights[out].quantizer = quantizer_of(k ? "uniform5" : "");
        run_samples(&n, &v, BATCH);
        const float *x = gradient_of(&n, "start.weight", &elements, scratch);
        if (k == 0) memcpy(plain, x, (size_t)elements * sizeof *x);
        assert_memory_equal(plain, x, (size_t)elements * sizeof *x);
        /* Of each row at most 2^5 numbers. */
        for (int64_t r = 0; k && r < seen.rows; r++) {
            const float *row = seen.all_dout + r * WIDE;
            float low = row[0], high = row[0];
            for (int i = 1; i < WIDE; i++) low = fminf(low, row[i]), high = fmaxf(high, row[i]);
            double step = ((double)high - low) / 31;
            for (int i = 0; i < WIDE; i++) {
                double at = ((double)row[i] - low) / step;
                assert_true(step == 0 || fabs(at - rint(at)) < 1e-3);
            }
        }
        drop(&n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_is_its_steps),
        cmocka_unit_test(steps_have_scales_of_their_own),
        cmocka_unit_test(storage_threads_and_fusing_change_no_bit),
        cmocka_unit_test(stochastic_rounding_is_by_place),
        cmocka_unit_test(a_gradient_of_a_parameter_is_one_sum),
        cmocka_unit_test(accumulators_go_from_step_to_step),
        cmocka_unit_test(samples_have_their_own_lengths),
        cmocka_unit_test(a_batch_without_steps_is_nothing),
        cmocka_unit_test(the_ledger_is_what_lives),
        cmocka_unit_test(delayed_scales_look_at_all_steps),
        cmocka_unit_test(bits_learn_from_all_steps),
        cmocka_unit_test(parameters_read_a_gradient_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
