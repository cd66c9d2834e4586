/* A small network whose operations note what the executor hands them, and the same network computed
 * without an executor: operations driven one by one, rounded element by element by the reference.
 *
 * input -> conv -> [bn ->] relu -> add(relu.out, conv.out) -> fc.product -> fc -> lsm -> loss
 */
#ifndef RUN_SPY_H
#define RUN_SPY_H
#include "engine/internal.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/planner.h"
#include "reference/block.h"

enum { SPY_BATCH = 11, SPY_CHUNK = 4, SPY_CLASSES = 3, SPY_MOST = SPY_BATCH * 64, SPY_NODES = 8 };

/* What one node was given, all samples of the batch. */
typedef struct spy {
    const hu_op *original;
    hu_op op;
    const char *name;
    bool has_params; /* seen in this step; made again later, a batch norm meets newer buffers */
    float in[2][SPY_MOST], dout[SPY_MOST], saved_out[SPY_MOST], param[HU_MAX_PARAMS][512];
} spy;

static spy spies[SPY_NODES];
static int spy_count;

static inline spy *spy_of(const char *name) {
    for (int s = 0; s < spy_count; s++)
        if (strcmp(spies[s].name, name) == 0) return &spies[s];
    fail_msg("no spy on '%s'", name);
    return NULL;
}

static inline void spy_note(float *to, const float *from, const hu_op_call *call,
                            const hu_shape *shape) {
    int64_t n = hu_shape_elements(shape);
    if (from) memcpy(to + call->first * n, from, (size_t)(call->count * n) * sizeof *to);
}

static inline void spy_forward(const hu_op_call *call) {
    spy *s = spy_of(call->info->name);
    for (int i = 0; i < call->info->n_in; i++)
        spy_note(s->in[i], call->in[i], call, &call->info->in[i]);
    for (int p = 0; call->first == 0 && !s->has_params && p < call->info->n_params; p++)
        memcpy(s->param[p], call->param[p],
               (size_t)hu_shape_elements(&call->info->param[p]) * sizeof(float));
    if (call->first == 0) s->has_params = true;
    s->original->forward(call);
}

static inline void spy_backward(const hu_op_call *call) {
    spy *s = spy_of(call->info->name);
    spy_note(s->dout, call->dout[0], call, &call->info->out[0]);
    spy_note(s->saved_out, call->out[0], call, &call->info->out[0]);
    s->original->backward(call);
}

/* The loss node must be the real record: hu_graph_finish looks for it. */
static inline const hu_op *spy_on(const hu_op *original, const char *name) {
    spy *s = &spies[spy_count++];
    assert_true(spy_count <= SPY_NODES);
    *s = (spy){.original = original, .op = *original, .name = name};
    s->op.forward = spy_forward;
    s->op.packs_params = NULL; /* a spy looks at them */
    s->op.backward = spy_backward;
    s->op.forward_relu = NULL;
    return &s->op;
}

typedef struct network {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    float images[SPY_BATCH * 32], labels[SPY_BATCH];
} network;

static inline hu_value_id spy_apply(hu_graph *graph, const hu_op *op, const char *name,
                                    const char *prefix, const void *attrs, int n_in,
                                    const hu_value_id *in) {
    hu_value_id out[HU_MAX_OUTPUTS];
    const hu_op *used = op == &hu_op_nll ? op : spy_on(op, name);
    if (hu_graph_apply(graph, used, name, prefix, attrs, n_in, in, out) != HU_OK)
        fail_msg("%s", hu_last_error());
    return out[0];
}

static inline void network_graph(network *net, bool with_norm) {
    hu_graph *g;
    hu_value_id image, label, pair[2];
    hu_shape shape = {3, {4, 4, 2}}, scalar = {0, {0}};
    hu_conv_attrs conv = {.out_channels = 4,
                          .kernel_h = 3,
                          .kernel_w = 3,
                          .stride_h = 1,
                          .stride_w = 1,
                          .pad_h = 1,
                          .pad_w = 1,
                          .dilation_h = 1,
                          .dilation_w = 1,
                          .groups = 1,
                          .weight_init = {HU_INIT_NORMAL, 0.3f}};
    hu_batch_norm_attrs norm = {1e-5f, 0.1f};
    hu_linear_attrs linear = {.out_features = SPY_CLASSES, .weight_init = {HU_INIT_UNIFORM, 0.2f}};
    hu_bias_attrs bias = {{HU_INIT_NORMAL, 0.1f}};
    spy_count = 0;
    assert_int_equal(hu_graph_create(&net->graph), HU_OK);
    g = net->graph;
    assert_int_equal(hu_graph_input(g, "input", &shape, &image), HU_OK);
    assert_int_equal(hu_graph_target(g, "label", &scalar, &label), HU_OK);
    pair[1] = spy_apply(g, &hu_op_conv2d, "conv", NULL, &conv, 1, &image);
    pair[0] = pair[1];
    if (with_norm) pair[0] = spy_apply(g, &hu_op_batch_norm, "bn", NULL, &norm, 1, pair);
    pair[0] = spy_apply(g, &hu_op_relu, "relu", NULL, NULL, 1, pair);
    pair[0] = spy_apply(g, &hu_op_add, "add", NULL, NULL, 2, pair);
    pair[0] = spy_apply(g, &hu_op_linear, "fc.product", "fc", &linear, 1, pair);
    pair[0] = spy_apply(g, &hu_op_bias, "fc", NULL, &bias, 1, pair);
    pair[0] = spy_apply(g, &hu_op_log_softmax, "lsm", NULL, NULL, 1, pair);
    pair[1] = label;
    spy_apply(g, &hu_op_nll, "loss", NULL, NULL, 2, pair);
    assert_int_equal(hu_graph_finish(g), HU_OK);
    assert_int_equal(hu_edge_table_create(g, &net->edges), HU_OK);
    drive_fill(net->images, SPY_BATCH * 32, 77);
    for (int i = 0; i < SPY_BATCH; i++) net->labels[i] = (float)(i % SPY_CLASSES);
}

static inline hu_value_id network_find(const network *net, const char *name) {
    hu_value_id v = hu_graph_find(net->graph, name);
    if (v == HU_NONE) fail_msg("no value '%s'", name);
    return v;
}

/* "" for unrounded, else FORMAT, with " sr" after it for stochastic rounding. */
static inline hu_quantizer quantizer_of(const char *text) {
    hu_quantizer q = {0};
    if (!text[0]) return q;
    if (hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &q) != HU_OK)
        fail_msg("%s", hu_last_error());
    return q;
}

static inline void set_value(network *net, const char *name, const char *format) {
    net->edges.value[network_find(net, name)].quantizer = quantizer_of(format);
}

/* Contribution of one consumer to the gradient of a value. */
static inline hu_edge *grad_edge(network *net, const char *name, uint32_t use) {
    return &net->edges.grad[net->graph->value[network_find(net, name)].uses[use]];
}

/* One format for all activations, gradients, weights and weight gradients; "" keeps float32. */
static inline void set_all(network *net, const char *act, const char *grad, const char *weight,
                           const char *wgrad) {
    const hu_graph *g = net->graph;
    for (hu_value_id v = 0; v < g->value_count; v++) {
        bool is_param = g->value[v].role == HU_VALUE_PARAMETER;
        if (!hu_is_rounded_kind(&g->value[v])) continue;
        net->edges.value[v].quantizer = quantizer_of(is_param ? weight : act);
        for (uint32_t k = 0; k < g->value[v].use_count; k++)
            net->edges.grad[g->value[v].uses[k]].quantizer = quantizer_of(is_param ? wgrad : grad);
    }
}

/* How nodes are joined: the whole suite runs with each. */
static bool spy_unfused, spy_recompute;

static inline void network_make(network *net, const hu_run_options *options) {
    if (hu_weights_create(net->graph, &net->weights) != HU_OK ||
        hu_run_create(net->graph, &net->edges, &net->weights, options, &net->run) != HU_OK)
        fail_msg("%s", hu_last_error());
    hu_weights_draw(&net->weights, net->graph, options->seed, options->threads);
}

static inline void network_plan(network *net, hu_storage_mode storage, int threads) {
    hu_run_options options = {.batch = SPY_BATCH,
                              .chunk = SPY_CHUNK,
                              .threads = threads,
                              .storage = storage,
                              .seed = 42,
                              .fuse = !spy_unfused,
                              .recompute = spy_recompute};
    network_make(net, &options);
}

static inline void network_close(network *net) {
    hu_run_free(net->run);
    hu_weights_free(&net->weights);
    hu_edge_table_free(&net->edges);
    hu_graph_free(net->graph);
}

static inline float *network_master(network *net, const char *name) {
    return hu_weights_of(&net->weights, network_find(net, name));
}

static inline void network_fill(void *context, uint32_t field, int64_t first, int64_t count,
                                float *rows) {
    const network *net = context;
    int64_t at = net->run->pass.first_sample + first, elements = field == 0 ? 32 : 1;
    const float *from = field == 0 ? net->images : net->labels;
    memcpy(rows, from + at * elements, (size_t)(count * elements) * sizeof *rows);
}

static inline hu_pass_result network_forward(network *net, const hu_pass_options *pass) {
    hu_pass_result result;
    hu_source source = {net, network_fill};
    assert_int_equal(hu_run_forward(net->run, pass, &source, &result), HU_OK);
    return result;
}

/* One training pass over the whole batch, gradients included. */
static inline hu_pass_result network_step(network *net, float seed_gradient) {
    hu_pass_options pass = {
        .training = true, .samples = SPY_BATCH, .step = 3, .seed_gradient = seed_gradient};
    for (int s = 0; s < spy_count; s++) spies[s].has_params = false;
    hu_edge_table_clear(&net->edges);
    hu_run_round_parameters(net->run, pass.step, true);
    hu_pass_result result = network_forward(net, &pass);
    if (!net->run->overflowed) assert_int_equal(hu_run_backward(net->run, &pass), HU_OK);
    return result;
}

/* ---- the same without an executor ---- */

typedef struct by_hand {
    drive node[SPY_NODES];
    float value[24][SPY_MOST];        /* rounded values by id; parameters: rounded copies */
    float raw[24][SPY_MOST];          /* before rounding */
    float contribution[24][SPY_MOST]; /* rounded, by use */
    float sum[24][SPY_MOST];          /* of the contributions, by value */
} by_hand;

/* k of the scale 2^k by trial: the least that fits, or the bias as Lee et al. write it. */
static inline int hand_exponent(const hu_quantizer *q, float top) {
    hu_format_limits limits = hu_format_limits_of(&q->format);
    int k = -300, half = 1 << (q->format.exp_bits - 1);
    if (q->scale == HU_SCALE_NONE || (q->scale != HU_SCALE_BIAS && top == 0)) return 0;
    if (q->scale == HU_SCALE_BIAS) {
        int b = -300;
        while (ldexp((double)fmaxf(top, 0x1p-100f), b + 1) <= ldexp(1, half)) b++;
        return q->format.bias - (half - 1) - b;
    }
    while ((double)top > ldexp(limits.max_finite, k)) k++;
    return k;
}

static inline float hand_top(int64_t n, const float *x) {
    float top = 0;
    for (int64_t i = 0; i < n; i++) top = fmaxf(top, fabsf(x[i]));
    return top;
}

static inline int64_t hand_line(const hu_shape *shape) {
    return shape->rank ? shape->extent[shape->rank - 1] : 1;
}

/* line: last extent of the tensor. A delayed scale is that of no history. */
static inline void hand_round(const hu_quantizer *q, int64_t line, int64_t n, const float *x,
                              float *y) {
    float top = hand_top(n, x);
    if (q->kind == HU_QUANTIZER_BLOCK) {
        uint32_t bits;
        uint8_t codes[HU_BLOCK_MOST], scale;
        memcpy(&bits, &top, sizeof bits);
        float tensor = hu_block_tensor_scale(&q->block, bits);
        for (int64_t at = 0; at < n;) {
            int64_t left = line - at % line, size = q->block.length;
            if (size > left) size = left;
            hu_block_reference(&q->block, q->rounding, tensor, (size_t)size, x + at, NULL, y + at,
                               codes, &scale);
            at += size;
        }
        return;
    }
    hu_format format = q->format;
    if (hu_quantizer_needs_maximum(q)) format.bias -= hand_exponent(q, top);
    for (int64_t i = 0; i < n; i++)
        y[i] = hu_quantizer_rounds(q) ? hu_format_round(&format, q->rounding, x[i], 0) : x[i];
}

static inline void hand_forward(by_hand *h, network *net, uint32_t n) {
    const hu_node *node = &net->graph->node[n];
    const hu_edge *edges = net->edges.value;
    drive *d = &h->node[n];
    drive_open(d, hu_op_find(node->op->name), node->attrs, node->n_in, node->shapes, SPY_BATCH,
               SPY_CHUNK);
    for (int i = 0; i < node->n_in; i++) {
        d->need_din[i] = node->need_din[i];
        memcpy(d->in[i], h->value[node->in[i]], (size_t)drive_in_elements(d, i) * sizeof(float));
    }
    for (int p = 0; p < node->n_params; p++) {
        hu_value_id v = node->param[p];
        const float *master = hu_weights_of(&net->weights, v);
        hand_round(&edges[v].quantizer, hand_line(&net->graph->value[v].shape),
                   net->graph->value[v].elements, master, h->value[v]);
        memcpy(d->param[p], h->value[v], (size_t)drive_param_elements(d, p) * sizeof(float));
    }
    drive_forward(d);
    hu_value_id out = node->out[0];
    memcpy(h->raw[out], d->out[0], (size_t)drive_out_elements(d, 0) * sizeof(float));
    hand_round(&edges[out].quantizer, hand_line(&net->graph->value[out].shape),
               drive_out_elements(d, 0), d->out[0], h->value[out]);
    memcpy(d->out[0], h->value[out], (size_t)drive_out_elements(d, 0) * sizeof(float));
}

/* Contributions in consumer order, added in float32; rounded again only where the table says so. */
static inline void hand_sum(by_hand *h, const network *net, hu_value_id v, float *dout) {
    const hu_value_info *value = &net->graph->value[v];
    int64_t n = value->elements * SPY_BATCH;
    for (uint32_t k = 0; k < value->use_count; k++)
        for (int64_t i = 0; i < n; i++)
            dout[i] = k ? dout[i] + h->contribution[value->uses[k]][i]
                        : h->contribution[value->uses[0]][i];
    const hu_quantizer *sum = &net->edges.grad_sum[v].quantizer;
    const hu_quantizer *first = &net->edges.grad[value->uses[0]].quantizer;
    if (value->use_count > 1 || !hu_quantizer_same_numbers(sum, first))
        hand_round(sum, hand_line(&value->shape), n, dout, dout);
    memcpy(h->sum[v], dout, (size_t)n * sizeof *dout);
}

static inline void hand_backward(by_hand *h, network *net, uint32_t n, float seed_gradient) {
    const hu_node *node = &net->graph->node[n];
    const hu_edge *edges = net->edges.grad;
    drive *d = &h->node[n];
    if (net->graph->node[n].loss >= 0)
        for (int64_t i = 0; i < SPY_BATCH; i++) d->dout[0][i] = seed_gradient;
    else
        hand_sum(h, net, node->out[0], d->dout[0]);
    drive_backward(d);
    for (int i = 0; i < node->n_in; i++)
        if (node->need_din[i])
            hand_round(&edges[node->first_use + (uint32_t)i].quantizer,
                       hand_line(&net->graph->value[node->in[i]].shape), drive_in_elements(d, i),
                       d->din[i], h->contribution[node->first_use + (uint32_t)i]);
    for (int p = 0; p < node->n_params; p++) {
        uint32_t use = node->first_use + (uint32_t)(node->n_in + p);
        if (d->dparam[p])
            hand_round(&edges[use].quantizer, hand_line(&net->graph->value[node->param[p]].shape),
                       drive_param_elements(d, p), d->dparam[p], h->contribution[use]);
    }
}

static inline void hand_step(by_hand *h, network *net, float seed_gradient) {
    const hu_graph *g = net->graph;
    assert_true(g->value_count <= 24 && g->use_count <= 24 && g->node_count <= SPY_NODES);
    hand_round(&net->edges.value[g->loaded[0]].quantizer, 2, SPY_BATCH * 32, net->images,
               h->value[g->loaded[0]]);
    memcpy(h->value[g->loaded[1]], net->labels, sizeof net->labels);
    for (uint32_t n = 0; n < g->node_count; n++) hand_forward(h, net, n);
    for (uint32_t n = g->node_count; n-- > 0;) hand_backward(h, net, n, seed_gradient);
}

static inline void hand_close(by_hand *h, const network *net) {
    for (uint32_t n = 0; n < net->graph->node_count; n++) drive_close(&h->node[n]);
}
#endif
