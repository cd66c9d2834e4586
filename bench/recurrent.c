/* An LSTM layer as a loop of ordinary operations beside one function that does nothing else.
 *
 *   cmake --build build --target bench-recurrent
 *   build/bench-recurrent [TURNS]
 *
 * Forward and backward of one layer in float32 on one thread, the whole batch in one chunk, in
 * turns; the loss is the mean of squares, which both sides take the same way. The function is what
 * one would write by hand: the gates of all inputs are one product, each step multiplies and runs
 * over the gates in place, gradients of weights are one product after the last step. It uses the
 * library's products and vector kernels, keeps what it needs step by step ([steps][batch][...]),
 * and neither rounds nor counts. Both begin with the same numbers; hidden states must agree to
 * 1e-5. Seconds are processor time, which other work on the machine hardly changes; the least of
 * all turns counts. Exit code 1: the two disagree. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"

#include "base/memory.h"
#include "base/rng.h"
#include "engine/run.h"
#include "kernel/elementary/elementary.h"
#include "kernel/fused/fused.h"
#include "model/internal.h"
#include "op/attributes.h"
#include "planner/planner.h"
#include "product/product.h"

enum { I, F, G, O, GATES, MOST_PRODUCTS = 3 };

typedef struct shape {
    int64_t steps, batch, in, hidden, projection; /* projection 0: none */
} shape;

/* The layers of the small language models: 32 streams of 32 words, and of 20 with a projection. */
static const shape shapes[] = {{32, 32, 128, 128, 0}, {20, 32, 128, 256, 128}};

static float *floats(int64_t count) {
    void *block;
    must(hu_alloc_array((size_t)count, sizeof(float), &block));
    memset(block, 0, (size_t)count * sizeof(float));
    return block;
}

static int64_t out_of(const shape *s) {
    return s->projection ? s->projection : s->hidden;
}

/* ---- the loop ---- */

typedef struct loop_net {
    shape s;
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    hu_value_id hidden;
} loop_net;

/* x and target, samples one after the other: field 0 and 1. */
static float number(const shape *s, uint32_t field, int64_t sample, int64_t t, int64_t i) {
    const hu_random_key key = {1, 1 + field, 0};
    int64_t width = field ? out_of(s) : s->in;
    return 0.5f * hu_random_normal(&key, (uint64_t)((sample * s->steps + t) * width + i));
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    float *const *from = context;
    (void)first, (void)count;
    memcpy(rows, from[field], (size_t)((const int64_t *)(void *)from[2])[field] * sizeof *rows);
}

static void open_loop(const shape *s, loop_net *n) {
    const hu_recurrent_form form = {.layer = "rnn",
                                    .suffix = "_l0",
                                    .hidden = s->hidden,
                                    .projection = s->projection,
                                    .lengths = HU_NONE};
    const hu_recurrent_state start = {HU_NONE, HU_NONE};
    const hu_shape x = {2, {s->steps, s->in}}, y = {2, {s->steps, out_of(s)}};
    const hu_run_options options = {
        .batch = s->batch, .chunk = s->batch, .threads = 1, .fuse = true, .recompute = true};
    hu_value_id in, both[2];
    *n = (loop_net){.s = *s};
    must(hu_graph_create(&n->graph));
    must(hu_graph_input(n->graph, "x", &x, &in));
    must(hu_graph_target(n->graph, "target", &y, &both[1]));
    hu_builder b = {.graph = n->graph};
    both[0] = n->hidden = hu_build_lstm(&b, &form, in, start, NULL);
    (void)hu_build_node(&b, &hu_op_mse, "loss", NULL, NULL, 2, both);
    must(b.status);
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
    hu_weights_draw(&n->weights, n->graph, 3, 1);
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
}

static double run_loop(loop_net *n, float **data) {
    hu_pass_options pass = {.training = true, .samples = n->s.batch};
    hu_pass_result result;
    hu_source source = {data, fill};
    pass.seed_gradient = 1.0f / (float)n->s.batch;
    double begin = seconds();
    hu_run_round_parameters(n->run, 0, true);
    must(hu_run_forward(n->run, &pass, &source, &result));
    must(hu_run_backward(n->run, &pass));
    return seconds() - begin;
}

static void close_loop(loop_net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

static float *weight(const loop_net *n, const char *kind) {
    char name[64];
    snprintf(name, sizeof name, "rnn.%s_l0", kind);
    return hu_weights_of(&n->weights, hu_graph_find(n->graph, name));
}

/* ---- one function ---- */

/* rows x in -> rows x out, its gradients, and what these need. */
typedef struct layer {
    hu_products *products;
    const float *w, *bias;
    float *dw, *db;
    void *packed[MOST_PRODUCTS], *scratch;
    int64_t in, out;
} layer;

/* Arrays of one LSTM, step by step: [steps][batch][...]. */
typedef struct lstm {
    shape s;
    layer of_input, of_hidden, of_projection;
    float *x, *target;
    float *gates;          /* [4 H]: i, f, g, o, and in the backward pass what they had before */
    float *product;        /* [batch][4 H] of one step */
    float *cell, *tangent; /* [steps + 1] of cell: what was before the first */
    float *made, *hidden;  /* o tanh c, and what is handed on: [steps + 1], the same array or not */
    float *dhidden, *dcell, *dmade; /* [batch][...] */
    float *dy;                      /* of the loss */
} lstm;

static layer open_layer(int64_t rows, int64_t in, int64_t out, const float *w, const float *bias) {
    hu_product geometry = hu_product_rows(1, in, out);
    geometry.is_linear = true;
    geometry.has_bias = bias != NULL;
    const hu_product_facts facts = {.geometry = geometry,
                                    .needs = {true, true, true},
                                    .engine = HU_ENGINE_OWN,
                                    .chunk = rows,
                                    .threads = 1};
    layer l = {.w = w, .bias = bias, .in = in, .out = out};
    size_t scratch = 64;
    must(hu_products_create(&facts, &l.products));
    for (int r = 0; r < MOST_PRODUCTS; r++) {
        size_t bytes = hu_products_packed_bytes(l.products, (hu_product_role)r);
        size_t needed = hu_products_scratch_bytes(l.products, (hu_product_role)r);
        if (bytes > 0) must(hu_alloc(bytes, &l.packed[r]));
        scratch = needed > scratch ? needed : scratch;
    }
    must(hu_alloc(scratch, &l.scratch));
    l.dw = floats(in * out);
    l.db = floats(out);
    return l;
}

static void pack(layer *l) {
    for (int r = 0; r < HU_PRODUCT_WEIGHT_GRAD; r++)
        if (l->packed[r])
            hu_products_pack(l->products, (hu_product_role)r, l->w, l->bias, l->packed[r]);
}

static void multiply(const layer *l, hu_product_role role, int64_t rows, const float *x,
                     const float *dy, float *result) {
    hu_product_call call = {.x = x,
                            .w = l->w,
                            .bias = l->bias,
                            .y = result,
                            .dy = dy,
                            .dx = result,
                            .dw = l->dw,
                            .db = l->bias ? l->db : NULL,
                            .count = rows,
                            .packed = l->packed[role],
                            .scratch = l->scratch};
    hu_products_run(l->products, role, &call);
}

static void close_layer(layer *l) {
    hu_products_free(l->products);
    for (int r = 0; r < MOST_PRODUCTS; r++) hu_free(l->packed[r]);
    hu_free(l->scratch);
    hu_free(l->dw);
    hu_free(l->db);
}

static void open_lstm(const shape *s, const loop_net *n, lstm *m) {
    int64_t rows = s->steps * s->batch, out = out_of(s), h = s->hidden;
    *m = (lstm){.s = *s};
    m->of_input = open_layer(rows, s->in, GATES * h, weight(n, "weight_ih"), weight(n, "bias_ih"));
    m->of_hidden = open_layer(rows, out, GATES * h, weight(n, "weight_hh"), weight(n, "bias_hh"));
    if (s->projection) m->of_projection = open_layer(rows, h, out, weight(n, "weight_hr"), NULL);
    m->x = floats(rows * s->in);
    m->target = floats(rows * out);
    m->gates = floats(rows * GATES * h);
    m->product = floats(s->batch * GATES * h);
    m->cell = floats((s->steps + 1) * s->batch * h);
    m->tangent = floats(rows * h);
    m->hidden = floats((s->steps + 1) * s->batch * out);
    m->made = s->projection ? floats(rows * h) : m->hidden + s->batch * h;
    m->dhidden = floats(s->batch * out);
    m->dcell = floats(s->batch * h);
    m->dmade = floats(s->batch * h);
    m->dy = floats(rows * out);
    for (int64_t t = 0; t < s->steps; t++)
        for (int64_t b = 0; b < s->batch; b++) {
            int64_t at = t * s->batch + b;
            for (int64_t i = 0; i < s->in; i++) m->x[at * s->in + i] = number(s, 0, b, t, i);
            for (int64_t i = 0; i < out; i++) m->target[at * out + i] = number(s, 1, b, t, i);
        }
}

static void close_lstm(lstm *m) {
    if (m->s.projection) {
        close_layer(&m->of_projection);
        hu_free(m->made);
    }
    close_layer(&m->of_input);
    close_layer(&m->of_hidden);
    float *const all[] = {m->x,      m->target,  m->gates, m->product, m->cell, m->tangent,
                          m->hidden, m->dhidden, m->dcell, m->dmade,   m->dy};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hu_free(all[i]);
}

/* The gates of a step in place, its cell and o tanh c. */
static void forward_step(lstm *m, int64_t t) {
    const hu_elementary_kernels *kernels = hu_elementary();
    int64_t h = m->s.hidden, batch = m->s.batch;
    float *gates = m->gates + t * batch * GATES * h;
    hu_fused()->add(batch * GATES * h, gates, m->product, gates);
    for (int64_t b = 0; b < batch; b++) {
        float *gate = gates + b * GATES * h;
        const float *before = m->cell + (t * batch + b) * h;
        float *cell = m->cell + ((t + 1) * batch + b) * h;
        kernels->sigmoid(2 * h, gate, gate);
        kernels->tangent(h, gate + G * h, gate + G * h);
        kernels->sigmoid(h, gate + O * h, gate + O * h);
        for (int64_t u = 0; u < h; u++)
            cell[u] = (float)((double)gate[F * h + u] * before[u] +
                              (double)gate[I * h + u] * gate[G * h + u]);
        float *tangent = m->tangent + (t * batch + b) * h, *made = m->made + (t * batch + b) * h;
        kernels->tangent(h, cell, tangent);
        for (int64_t u = 0; u < h; u++) made[u] = gate[O * h + u] * tangent[u];
    }
}

static void forward(lstm *m) {
    int64_t batch = m->s.batch, out = out_of(&m->s), h = m->s.hidden;
    pack(&m->of_input);
    pack(&m->of_hidden);
    if (m->s.projection) pack(&m->of_projection);
    multiply(&m->of_input, HU_PRODUCT_FORWARD, m->s.steps * batch, m->x, NULL, m->gates);
    for (int64_t t = 0; t < m->s.steps; t++) {
        multiply(&m->of_hidden, HU_PRODUCT_FORWARD, batch, m->hidden + t * batch * out, NULL,
                 m->product);
        forward_step(m, t);
        if (m->s.projection)
            multiply(&m->of_projection, HU_PRODUCT_FORWARD, batch, m->made + t * batch * h, NULL,
                     m->hidden + (t + 1) * batch * out);
    }
    /* d/dy of the mean over samples of the mean of squares. */
    const float *y = m->hidden + batch * out;
    float factor = 2.0f / (float)(m->s.steps * out * batch);
    for (int64_t i = 0; i < m->s.steps * batch * out; i++)
        m->dy[i] = factor * (y[i] - m->target[i]);
}

/* Gates become their gradients before the nonlinearities. */
static void backward_step(lstm *m, int64_t t, const float *dmade) {
    int64_t h = m->s.hidden, batch = m->s.batch;
    for (int64_t b = 0; b < batch; b++) {
        float *gate = m->gates + (t * batch + b) * GATES * h, *dcell = m->dcell + b * h;
        const float *tangent = m->tangent + (t * batch + b) * h, *dm = dmade + b * h;
        const float *before = m->cell + (t * batch + b) * h;
        for (int64_t u = 0; u < h; u++) {
            float i = gate[I * h + u], f = gate[F * h + u], g = gate[G * h + u];
            float o = gate[O * h + u];
            float dc = dcell[u] + dm[u] * o * (1 - tangent[u] * tangent[u]);
            gate[I * h + u] = dc * g * ((1 - i) * i);
            gate[F * h + u] = dc * before[u] * ((1 - f) * f);
            gate[G * h + u] = dc * i * (1 - g * g);
            gate[O * h + u] = dm[u] * tangent[u] * ((1 - o) * o);
            dcell[u] = dc * f;
        }
    }
}

static void backward(lstm *m) {
    int64_t batch = m->s.batch, out = out_of(&m->s), h = m->s.hidden;
    int64_t rows = m->s.steps * batch;
    memset(m->dhidden, 0, (size_t)(batch * out) * sizeof(float));
    memset(m->dcell, 0, (size_t)(batch * h) * sizeof(float));
    for (int64_t t = m->s.steps; t-- > 0;) {
        /* dy becomes the whole gradient of the step's hidden state. */
        float *dy = m->dy + t * batch * out;
        hu_fused()->add(batch * out, dy, m->dhidden, dy);
        const float *dmade = dy;
        if (m->s.projection) {
            multiply(&m->of_projection, HU_PRODUCT_INPUT_GRAD, batch, NULL, dy, m->dmade);
            dmade = m->dmade;
        }
        backward_step(m, t, dmade);
        multiply(&m->of_hidden, HU_PRODUCT_INPUT_GRAD, batch, NULL,
                 m->gates + t * batch * GATES * h, m->dhidden);
    }
    multiply(&m->of_hidden, HU_PRODUCT_WEIGHT_GRAD, rows, m->hidden, m->gates, NULL);
    multiply(&m->of_input, HU_PRODUCT_WEIGHT_GRAD, rows, m->x, m->gates, NULL);
    if (m->s.projection)
        multiply(&m->of_projection, HU_PRODUCT_WEIGHT_GRAD, rows, m->made, m->dy, NULL);
}

static double run_lstm(lstm *m) {
    double begin = seconds();
    forward(m);
    backward(m);
    return seconds() - begin;
}

/* ---- both ---- */

/* Largest difference of the hidden states, and of the gradient of weight_hh relative to its size.
 */
static double difference(const loop_net *n, const lstm *m, float *room) {
    int64_t out = out_of(&n->s), elements = GATES * n->s.hidden * out;
    const float *rows = hu_run_value(n->run, n->hidden, n->s.batch, room);
    double most = 0, apart = 0, size = 0;
    for (int64_t b = 0; b < n->s.batch; b++)
        for (int64_t t = 0; t < n->s.steps; t++)
            for (int64_t i = 0; i < out; i++) {
                float ours = m->hidden[((t + 1) * n->s.batch + b) * out + i];
                most = fmax(most, fabs((double)rows[(b * n->s.steps + t) * out + i] - ours));
            }
    hu_value_id w = hu_graph_find(n->graph, "rnn.weight_hh_l0");
    const float *dw = hu_run_param_grad(n->run, w, 0, elements, room);
    for (int64_t i = 0; i < elements; i++) {
        apart += ((double)dw[i] - m->of_hidden.dw[i]) * ((double)dw[i] - m->of_hidden.dw[i]);
        size += (double)dw[i] * dw[i];
    }
    return fmax(most, sqrt(apart / size));
}

static bool compare(const shape *s, int turns) {
    loop_net n;
    lstm m;
    int64_t numbers[2] = {s->batch * s->steps * s->in, s->batch * s->steps * out_of(s)};
    float *data[3] = {floats(numbers[0]), floats(numbers[1]), (float *)(void *)numbers};
    float *room = floats(GATES * s->hidden * out_of(s) + numbers[1]);
    double best[2] = {1e30, 1e30};
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t t = 0; t < s->steps; t++) {
            int64_t at = b * s->steps + t;
            for (int64_t i = 0; i < s->in; i++) data[0][at * s->in + i] = number(s, 0, b, t, i);
            for (int64_t i = 0; i < out_of(s); i++)
                data[1][at * out_of(s) + i] = number(s, 1, b, t, i);
        }
    open_loop(s, &n);
    open_lstm(s, &n, &m);
    for (int i = 0; i < turns; i++) {
        best[0] = fmin(best[0], run_loop(&n, data));
        best[1] = fmin(best[1], run_lstm(&m));
    }
    double apart = difference(&n, &m, room);
    printf("%lld steps of %lld, %lld numbers in, %lld cells, %lld out: loop %.2f ms, one function "
           "%.2f ms, ratio %.3f; %.1e apart\n",
           (long long)s->steps, (long long)s->batch, (long long)s->in, (long long)s->hidden,
           (long long)out_of(s), 1e3 * best[0], 1e3 * best[1], best[0] / best[1], apart);
    close_lstm(&m);
    close_loop(&n);
    hu_free(room);
    hu_free(data[0]);
    hu_free(data[1]);
    return apart < 1e-5;
}

int main(int argc, char **argv) {
    int turns = argc > 1 ? atoi(argv[1]) : 40;
    bool agree = true;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        agree = compare(&shapes[i], turns) && agree;
    return agree ? 0 : 1;
}
