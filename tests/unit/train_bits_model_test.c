/* Steps of static, cyclic and learned bits on ResNet-20 beside a float64 model of their equations
 * (float64_model.h).
 *
 * Every layer of the model is given what the program gave its own: then what the quantisers made is
 * equal bit for bit, and what a layer computed lies within a proven bound of float32's errors; no
 * rounding in one layer can hide a fault in the next. So the step as a whole is the model's.
 */
#include "float64_model.h"
#include "precision/adaptation.h"
#include "recorded_step.h"

typedef struct tallies {
    int64_t numbers, codes, moved; /* compared; quantised; with another code than in float64 */
    double worst;                  /* largest share of a bound that was needed */
} tallies;
static tallies seen;

static void expect_within(float found, bounded model, const char *what, int64_t i) {
    double distance = fabs((double)found - model.value);
    if (!(distance <= model.error + 0x1p-140))
        fail_msg("%s, element %lld: found %.9g, expected %.17g within %.3g", what, (long long)i,
                 (double)found, model.value, model.error);
    seen.numbers++;
    if (model.error > 0.0) seen.worst = fmax(seen.worst, distance / model.error);
}

static void expect_equal(int64_t n, const float *found, const float *expected, const char *what) {
    for (int64_t i = 0; i < n; i++)
        if (found[i] != expected[i])
            fail_msg("%s, element %lld: found %.9g, expected %.9g", what, (long long)i,
                     (double)found[i], (double)expected[i]);
    seen.numbers += n;
}

static const hu_graph *graph_of(const fixture *f) {
    return f->trainer->graph;
}

static int64_t batch_elements(const fixture *f, hu_value_id v) {
    return REC_BATCH * graph_of(f)->value[v].elements;
}

/* ---- quantisers ---- */

typedef struct quantised {
    int64_t n;
    const float *x, *found;
    int bits;
    const hu_random_key *key; /* NULL: to nearest */
    int64_t first;            /* random word of x[0] */
    const char *what;
    hu_round_counts *counts; /* added to */
} quantised;

/* The code of the papers' equation in float64 is the same but where its place is next to a tie. */
static void compare_exact(const quantised *q, const grid *g, double low, double high, int64_t i) {
    double noise = q->key ? noise_of(q->key, q->first + i) : 0.0;
    double code = code_of(g, q->x[i], noise);
    bounded place = exact_place(g, low, high, q->x[i], noise);
    double exact = rint(clamped(place.value, g->levels));
    seen.codes++;
    if (exact == code) return;
    seen.moved++;
    double from_tie = fabs(fabs(place.value - floor(place.value)) - 0.5);
    if (!(fabs(exact - code) == 1.0 && from_tie <= place.error))
        fail_msg("%s, element %lld: code %g, in float64 %g", q->what, (long long)i, code,
                 place.value);
}

static void count_one(hu_round_counts *counts, float x, float value) {
    int32_t exponent = x != 0.0f ? ilogb((double)x) : HU_NO_EXPONENT;
    counts->elements++;
    counts->zero += value == 0.0f;
    counts->underflow += value == 0.0f && x != 0.0f;
    if (x == 0.0f) return;
    if (exponent > counts->max_exponent) counts->max_exponent = exponent;
    if (counts->min_exponent == HU_NO_EXPONENT || exponent < counts->min_exponent)
        counts->min_exponent = exponent;
}

/* Values with one range, bit for bit. */
static grid compare_quantised(const quantised *q) {
    grid g = grid_of(q->n, q->x, q->bits);
    double low = q->x[0], high = q->x[0];
    for (int64_t i = 0; i < q->n; i++) {
        low = fmin(low, q->x[i]);
        high = fmax(high, q->x[i]);
    }
    for (int64_t i = 0; i < q->n; i++) {
        double noise = q->key ? noise_of(q->key, q->first + i) : 0.0;
        float value = value_of(&g, code_of(&g, q->x[i], noise));
        if (value != q->found[i])
            fail_msg("%s, element %lld of %g: found %.9g, expected %.9g", q->what, (long long)i,
                     (double)q->x[i], (double)q->found[i], (double)value);
        count_one(q->counts, q->x[i], value);
        compare_exact(q, &g, low, high, i);
    }
    return g;
}

static void expect_counts(const hu_round_counts *found, const hu_round_counts *expected,
                          const char *what) {
    if (memcmp(found, expected, sizeof *found) == 0) return;
    fail_msg("%s: found %llu elements, %llu zero, %llu underflow, exponents %d to %d; expected "
             "%llu, %llu, %llu, %d to %d (and no overflow, subnormal or NaN)",
             what, (unsigned long long)found->elements, (unsigned long long)found->zero,
             (unsigned long long)found->underflow, found->min_exponent, found->max_exponent,
             (unsigned long long)expected->elements, (unsigned long long)expected->zero,
             (unsigned long long)expected->underflow, expected->min_exponent,
             expected->max_exponent);
}

/* ---- a quantised layer ---- */

/* What the model says of one layer; sensitivity: sum of dL/dQ (round(u) - u) s in float64. */
typedef struct layer {
    const hu_node *node;
    int bits, gradient_bits,
        apart_bits; /* the last: of the gradient as the weights read it, or 0 */
    uint64_t step;
    conv_sizes sizes;
    double sensitivity, sensitivity_error;
    float low, width; /* of its input */
} layer;

static product_sum sums[3][REC_MOST]; /* y, dx, dw */

static conv_sizes sizes_of(const hu_node *node) {
    const hu_shape *in = &node->shapes[0], *out = &node->shapes[1], *w = &node->shapes[2];
    int64_t kernel = w->extent[1], stride = in->extent[0] / out->extent[0];
    return (conv_sizes){REC_BATCH,      in->extent[0],  in->extent[1],  in->extent[2],
                        out->extent[0], out->extent[1], out->extent[2], kernel,
                        stride,         kernel / 2};
}

static void compare_input(const fixture *f, layer *l) {
    hu_round_counts counts;
    uint32_t use = l->node->first_use;
    hu_value_id v = l->node->in[0];
    quantised q = {batch_elements(f, v), rec.value[v], rec.in[use], l->bits, NULL, 0,
                   l->node->name,        &counts};
    hu_round_counts_clear(&counts);
    grid g = compare_quantised(&q);
    expect_counts(&f->trainer->edges.use[use].counts, &counts, l->node->name);
    expect_equal(q.n, rec.saved[use], rec.in[use], "what the backward pass reads");
    l->low = (float)g.zero;
    l->width = -INFINITY;
    for (int64_t i = 0; i < q.n; i++) l->width = fmaxf(l->width, (float)((double)q.x[i] - g.zero));
}

static void compare_weights(const fixture *f, const layer *l) {
    hu_round_counts counts;
    hu_value_id w = l->node->param[0];
    int64_t channels = l->sizes.out, line = graph_of(f)->value[w].elements / channels;
    hu_round_counts_clear(&counts);
    for (int64_t c = 0; c < channels; c++) {
        quantised q = {line,
                       rec.master[w] + c * line,
                       rec.param[w] + c * line,
                       l->bits,
                       NULL,
                       0,
                       graph_of(f)->value[w].name,
                       &counts};
        (void)compare_quantised(&q);
    }
    expect_counts(&f->trainer->edges.value[w].counts, &counts, graph_of(f)->value[w].name);
}

/* Contribution of a use, which may be that of another use of the same node. */
static const float *contribution_of(const fixture *f, uint32_t use) {
    uint32_t stored = f->trainer->run->stored_as[use];
    assert_true(rec.has_din[stored]);
    return rec.din[stored];
}

/* The gradient of a value: contributions added in float32, in the order of the consumers. */
static void add_contributions(const fixture *f, hu_value_id v, float *gradient) {
    const hu_value_info *value = &graph_of(f)->value[v];
    for (uint32_t k = 0; k < value->use_count; k++) {
        const float *more = contribution_of(f, value->uses[k]);
        for (int64_t i = 0; i < batch_elements(f, v); i++)
            gradient[i] = k == 0 ? more[i] : (float)((double)gradient[i] + (double)more[i]);
    }
}

/* The gradient of a value as one of its readers has it, in so many bits. */
static void compare_view(const fixture *f, hu_value_id v, const char *purpose, uint64_t step,
                         int bits, const float *found, const hu_round_counts *counted) {
    float gradient[REC_MOST];
    hu_round_counts counts;
    const char *name = graph_of(f)->value[v].name;
    const hu_random_key key = {f->options.run.seed, hu_stream_id(purpose, name), step};
    quantised q = {batch_elements(f, v), gradient, found, bits, &key, 0, name, &counts};
    hu_round_counts_clear(&counts);
    add_contributions(f, v, gradient);
    (void)compare_quantised(&q);
    expect_counts(counted, &counts, name);
}

static void compare_gradient(const fixture *f, const layer *l) {
    const hu_edge_table *edges = &f->trainer->edges;
    hu_value_id v = l->node->out[0];
    compare_view(f, v, "round.grad.sum", l->step, l->gradient_bits, rec.dout[v],
                 &edges->grad_sum[v].counts);
    if (l->apart_bits > 0)
        compare_view(f, v, "round.grad.weights", l->step, l->apart_bits, rec.apart[v],
                     &edges->grad_weights[v].counts);
}

static void compare_sums(int64_t n, const float *found, const product_sum *s, const char *what) {
    for (int64_t i = 0; i < n; i++) expect_within(found[i], sum_bound(&s[i]), what, i);
}

/* Adds dL/dQ (round(u) - u) s of n numbers with one range. dq: in float64, with its errors. The
 * program takes Q - x, with Q a float32 number. */
static void add_sensitivity(layer *l, int64_t n, const float *x, const product_sum *dq) {
    grid g = grid_of(n, x, l->bits);
    for (int64_t i = 0; i < n; i++) {
        double u = ((double)x[i] - g.zero) / g.step, residual = (rint(u) - u) * g.step;
        double code = code_of(&g, x[i], 0.0), from_tie = fabs(fabs(u - floor(u)) - 0.5);
        if (rint(u) != code) {
            assert_true(from_tie <= 5.0 * model_unit * (g.levels + 1.0));
            residual = (code - u) * g.step;
        }
        bounded gradient = sum_bound(&dq[i]);
        double q_error = model_unit * (2.0 * g.step * code + fabs(g.zero));
        l->sensitivity += gradient.value * residual;
        l->sensitivity_error +=
            gradient.error * fabs(residual) + (fabs(gradient.value) + gradient.error) * q_error;
    }
}

static void compare_products(const fixture *f, layer *l) {
    hu_value_id in = l->node->in[0], out = l->node->out[0], w = l->node->param[0];
    uint32_t use = l->node->first_use;
    int64_t weights = graph_of(f)->value[w].elements, line = weights / l->sizes.out;
    conv_model m = {rec.in[use], rec.param[w], rec.dout[out], sums[0], sums[1], sums[2]};
    memset(sums, 0, sizeof sums);
    each_product(&l->sizes, conv_forward, &m);
    each_product(&l->sizes, conv_input_gradient, &m);
    if (l->apart_bits > 0) m.dy = rec.apart[out];
    each_product(&l->sizes, conv_weight_gradient, &m);
    compare_sums(batch_elements(f, out), rec.value[out], sums[0], l->node->name);
    compare_sums(weights, rec.dparam[w], sums[2], graph_of(f)->value[w].name);
    if (rec.has_din[use])
        compare_sums(batch_elements(f, in), rec.din[use], sums[1], "gradient of an input");
    l->sensitivity = l->sensitivity_error = 0.0;
    add_sensitivity(l, batch_elements(f, in), rec.value[in], sums[1]);
    for (int64_t c = 0; c < l->sizes.out; c++)
        add_sensitivity(l, line, rec.master[w] + c * line, sums[2] + c * line);
}

static void compare_layer(const fixture *f, layer *l) {
    l->sizes = sizes_of(l->node);
    compare_input(f, l);
    compare_weights(f, l);
    compare_gradient(f, l);
    compare_products(f, l);
}

/* ---- what stays float32 ---- */

static void compare_norm(const fixture *f, const hu_node *node) {
    hu_value_id out = node->out[0];
    int64_t channels = graph_of(f)->value[node->param[0]].elements;
    uint32_t use = node->first_use;
    norm_model m = {.rows = batch_elements(f, out) / channels,
                    .channels = channels,
                    .x = rec.in[use],
                    .dy = rec.dout[out],
                    .epsilon = 1e-5f};
    for (int64_t c = 0; c < channels; c++) {
        m.gamma = rec.master[node->param[0]][c];
        m.beta = rec.master[node->param[1]][c];
        norm_moments(&m, c);
        norm_sums(&m, c);
        for (int64_t i = c; i < m.rows * channels; i += channels) {
            expect_within(rec.value[out][i], norm_forward(&m, m.x[i]), node->name, i);
            expect_within(rec.din[use][i], norm_backward(&m, m.x[i], m.dy[i]), node->name, i);
        }
        expect_within(rec.dparam[node->param[0]][c], norm_dgamma(&m), "gamma", c);
        expect_within(rec.dparam[node->param[1]][c], norm_dbeta(&m), "beta", c);
    }
}

static void compare_relu(const fixture *f, const hu_node *node) {
    hu_value_id out = node->out[0];
    const float *x = rec.in[node->first_use], *dx = rec.din[node->first_use];
    for (int64_t i = 0; i < batch_elements(f, out); i++) {
        assert_true(rec.value[out][i] == (x[i] > 0.0f ? x[i] : 0.0f));
        assert_true(dx[i] == (x[i] > 0.0f ? rec.dout[out][i] : 0.0f));
    }
}

static void compare_add(const fixture *f, const hu_node *node) {
    hu_value_id out = node->out[0];
    uint32_t use = node->first_use;
    for (int64_t i = 0; i < batch_elements(f, out); i++)
        assert_true(rec.value[out][i] ==
                    (float)((double)rec.in[use][i] + (double)rec.in[use + 1][i]));
    for (uint32_t k = 0; k < 2; k++)
        expect_equal(batch_elements(f, out), contribution_of(f, use + k), rec.dout[out],
                     node->name);
}

static void compare_pool(const fixture *f, const hu_node *node) {
    hu_value_id in = node->in[0], out = node->out[0];
    int64_t channels = graph_of(f)->value[out].elements;
    int64_t pixels = graph_of(f)->value[in].elements / channels;
    memset(sums, 0, sizeof sums);
    for (int64_t i = 0; i < batch_elements(f, in); i++) {
        int64_t to = i / (pixels * channels) * channels + i % channels;
        double dy = rec.dout[out][to] / (double)pixels;
        add_product(&sums[0][to], rec.in[node->first_use][i], 1.0 / (double)pixels);
        expect_within(rec.din[node->first_use][i], (bounded){dy, 2 * model_unit * fabs(dy)},
                      node->name, i);
    }
    compare_sums(batch_elements(f, out), rec.value[out], sums[0], node->name);
}

static void compare_linear(const fixture *f, const hu_node *node) {
    hu_value_id out = node->out[0], w = node->param[0];
    int64_t columns = graph_of(f)->value[node->in[0]].elements;
    int64_t rows = graph_of(f)->value[out].elements;
    conv_sizes sizes = {REC_BATCH, 1, 1, columns, 1, 1, rows, 1, 1, 0};
    conv_model m = {
        rec.in[node->first_use], rec.master[w], rec.dout[out], sums[0], sums[1], sums[2]};
    memset(sums, 0, sizeof sums);
    each_product(&sizes, conv_forward, &m);
    each_product(&sizes, conv_input_gradient, &m);
    each_product(&sizes, conv_weight_gradient, &m);
    compare_sums(REC_BATCH * rows, rec.value[out], sums[0], node->name);
    compare_sums(REC_BATCH * columns, rec.din[node->first_use], sums[1], node->name);
    compare_sums(rows * columns, rec.dparam[w], sums[2], node->name);
}

static void compare_bias(const fixture *f, const hu_node *node) {
    hu_value_id out = node->out[0], b = node->param[0];
    int64_t classes = graph_of(f)->value[b].elements;
    memset(sums, 0, sizeof sums);
    for (int64_t i = 0; i < REC_BATCH * classes; i++) {
        double y = (double)rec.in[node->first_use][i] + (double)rec.master[b][i % classes];
        assert_true(rec.value[out][i] == (float)y);
        add_product(&sums[0][i % classes], rec.dout[out][i], 1.0);
    }
    expect_equal(REC_BATCH * classes, rec.din[node->first_use], rec.dout[out], node->name);
    compare_sums(classes, rec.dparam[b], sums[0], node->name);
}

static void compare_softmax(const fixture *f, const hu_node *node) {
    hu_value_id out = node->out[0];
    int64_t classes = graph_of(f)->value[out].elements;
    for (int64_t i = 0; i < REC_BATCH * classes; i++) {
        int64_t row = i / classes * classes, c = i % classes;
        expect_within(rec.value[out][i], log_softmax(classes, rec.in[node->first_use] + row, c),
                      node->name, i);
        expect_within(rec.din[node->first_use][i],
                      log_softmax_gradient(classes, rec.value[out] + row, rec.dout[out] + row, c),
                      node->name, i);
    }
}

static void compare_nll(const fixture *f, const hu_node *node, double loss) {
    int64_t classes = graph_of(f)->value[node->in[0]].elements;
    double total = 0.0;
    for (int64_t i = 0; i < REC_BATCH * classes; i++) {
        bool is_class = rec.value[node->in[1]][i / classes] == (float)(i % classes);
        float share = (float)(-1.0 / REC_BATCH);
        if (is_class) total -= rec.in[node->first_use][i];
        assert_true(rec.din[node->first_use][i] == (is_class ? share : 0.0f));
    }
    assert_true(fabs(total / REC_BATCH - loss) <= 1e-14 * total);
}

static void compare_float(const fixture *f, const hu_node *node, double loss) {
    const struct {
        const char *op;
        void (*compare)(const fixture *f, const hu_node *node);
    } rows[] = {
        {"batch_norm", compare_norm},      {"relu", compare_relu},     {"add", compare_add},
        {"global_avg_pool", compare_pool}, {"linear", compare_linear}, {"bias", compare_bias},
        {"log_softmax", compare_softmax}};
    if (strcmp(node->op->name, "nll") == 0) {
        compare_nll(f, node, loss);
        return;
    }
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        if (strcmp(node->op->name, rows[r].op) == 0) {
            rows[r].compare(f, node);
            return;
        }
    fail_msg("no model of '%s'", node->op->name);
}

/* With bits.norms a norm reads its input and its gradient as a layer does. */
static void compare_norm_edges(const fixture *f, const hu_node *node, uint64_t step) {
    layer l = {.node = node, .bits = 8};
    hu_value_id out = node->out[0];
    compare_input(f, &l);
    compare_view(f, out, "round.grad.sum", step, 8, rec.dout[out],
                 &f->trainer->edges.grad_sum[out].counts);
}

/* The gradient that a float32 node reads is the sum as it is; the forward values are as they are.
 */
static void compare_edges(const fixture *f, const hu_node *node, uint64_t step) {
    float gradient[REC_MOST];
    if (strcmp(node->op->name, "batch_norm") == 0 && f->options.precision.bits.norms) {
        compare_norm_edges(f, node, step);
        return;
    }
    for (int i = 0; i < node->n_in; i++)
        if (strcmp(node->op->name, "conv2d") != 0)
            expect_equal(batch_elements(f, node->in[i]), rec.in[node->first_use + (uint32_t)i],
                         rec.value[node->in[i]], node->name);
    if (node->loss >= 0 || strcmp(node->op->name, "conv2d") == 0) return;
    add_contributions(f, node->out[0], gradient);
    expect_equal(batch_elements(f, node->out[0]), rec.dout[node->out[0]], gradient, node->name);
}

/* ---- steps ---- */

enum { LAYERS = 21 }; /* 19 convolutions of 3 x 3 and two projections */

static layer layers[LAYERS];

/* One step, all of it compared; bits: [LAYERS] in the order of the graph. */
static void compare_step(fixture *f, const int *bits) {
    int l = 0;
    hu_step_report report = rec_step(f);
    for (uint32_t n = 0; n < graph_of(f)->node_count; n++) {
        const hu_node *node = &graph_of(f)->node[n];
        compare_edges(f, node, (uint64_t)report.step);
        if (strcmp(node->op->name, "conv2d") != 0) {
            compare_float(f, node, report.loss);
            continue;
        }
        assert_true(l < LAYERS);
        layers[l] = (layer){.node = node,
                            .bits = bits[l],
                            .gradient_bits = 8,
                            .apart_bits = (int)f->options.precision.bits.gradient_of_weights,
                            .step = (uint64_t)report.step};
        compare_layer(f, &layers[l++]);
    }
    assert_int_equal(l, LAYERS);
}

static void open_network(fixture *f, const char *precision, int64_t steps) {
    prepare(f, precision);
    f->options.model = "resnet20";
    f->options.batch = REC_BATCH;
    f->options.steps = steps;
    f->options.run.chunk = 4;
    f->options.run.threads = 1;
    f->options.run.fuse = false;
    f->options.drop_last = true;
    seen = (tallies){0};
}

static void close_network(fixture *f, const char *name) {
    print_message("%s: %lld numbers within bounds, of which at most %.0f %% was needed; %lld codes "
                  "equal, %lld of them beside a tie that float64 breaks the other way\n",
                  name, (long long)seen.numbers, 100.0 * seen.worst, (long long)seen.codes,
                  (long long)seen.moved);
    assert_true(seen.moved * 1000 < seen.codes);
    end(f);
}

/* running <- 0.9 running + 0.1 current, in float32 operations and in float64. */
static float blended(float running, float now) {
    float keep = 0.9f, rest = (float)(1.0 - (double)keep);
    return (float)((double)(float)((double)keep * running) + (double)(float)((double)rest * now));
}

static void compare_ranges(const fixture *f, float (*running)[2], bool is_first) {
    for (int l = 0; l < LAYERS; l++) {
        const hu_slot *slot = &f->trainer->run->use[layers[l].node->first_use];
        const float *kept = f->trainer->run->ranges + slot->range;
        const float now[2] = {layers[l].low, layers[l].width};
        for (int k = 0; k < 2; k++) {
            double exact = is_first ? now[k] : 0.9 * running[l][k] + 0.1 * now[k];
            double size = fabs(running[l][k]) + fabs(now[k]);
            running[l][k] = is_first ? now[k] : blended(running[l][k], now[k]);
            assert_true(kept[0] == 1.0f && kept[1 + k] == running[l][k]);
            assert_true(fabs(kept[1 + k] - exact) <= 4.0 * model_unit * size);
        }
    }
}

static void static_bits(void **state) {
    (void)state;
    fixture f;
    int bits[LAYERS];
    float running[LAYERS][2] = {0};
    for (int l = 0; l < LAYERS; l++) bits[l] = 8;
    open_network(&f, "static:8", 100);
    begin(&f);
    rec_begin(&f);
    for (int t = 0; t < 3; t++) {
        compare_step(&f, bits);
        compare_ranges(&f, running, t == 0);
    }
    close_network(&f, "static:8");
}

/* Banner et al.: norms have 8 bits too, and gradients of weights come from 16. */
static void static_bits_with_norms_and_views(void **state) {
    (void)state;
    fixture f;
    int bits[LAYERS];
    for (int l = 0; l < LAYERS; l++) bits[l] = 8;
    open_network(&f, "static:8", 100);
    f.options.precision.bits.norms = true;
    f.options.precision.bits.gradient_of_weights = 16;
    begin(&f);
    rec_begin(&f);
    for (int t = 0; t < 2; t++) compare_step(&f, bits);
    close_network(&f, "static:8 with norms, weights from 16");
}

/* One cycle of 8 steps: 3 to 8 bits by half a cosine. */
static void cyclic_bits(void **state) {
    (void)state;
    enum { STEPS = 8 };
    fixture f;
    int met[9] = {0};
    open_network(&f, "cpt:3-8", STEPS);
    f.options.precision.bits.cycles = 1;
    begin(&f);
    rec_begin(&f);
    for (int t = 0; t < STEPS; t++) {
        int bits[LAYERS], b = (int)rint(3.0 + 2.5 * (1.0 - cos(acos(-1.0) * t / STEPS)));
        for (int l = 0; l < LAYERS; l++) bits[l] = b;
        met[b] = 1;
        compare_step(&f, bits);
    }
    assert_true(met[3] + met[4] + met[5] + met[6] + met[7] + met[8] >= 5);
    close_network(&f, "cpt:3-8");
}

/* ---- learned bits ---- */

/* The betas end the state that a checkpoint has, the classifier's last. */
static const double *betas_of(const fixture *f) {
    static double beta[LAYERS + 1];
    const void *data = NULL;
    size_t bytes = 0;
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (hu_adaptation_table[a] == &hu_adaptation_bits)
            hu_adaptation_bits.save(f->trainer->adaptations.state[a], &data, &bytes);
    assert_true(bytes > (LAYERS + 1) * sizeof(double));
    memcpy(beta, (const char *)data + bytes - (LAYERS + 1) * sizeof *beta,
           (LAYERS + 1) * sizeof *beta);
    return beta;
}

/* Sensitivities of the program: of inputs and weights. */
static void compare_sensitivities(const fixture *f, double *model) {
    for (int l = 0; l < LAYERS; l++) {
        const hu_edge_table *edges = &f->trainer->edges;
        const hu_edge *input = &edges->use[layers[l].node->first_use];
        double found = input->sensitivity + edges->value[layers[l].node->param[0]].sensitivity;
        model[l] = layers[l].sensitivity;
        if (!(fabs(found - model[l]) <= layers[l].sensitivity_error))
            fail_msg("%s: found %.17g, expected %.17g within %.3g", layers[l].node->name, found,
                     model[l], layers[l].sensitivity_error);
        assert_true(layers[l].sensitivity_error < 0.5 * fabs(model[l]) || fabs(model[l]) < 1e-6);
    }
}

static void compare_betas(const fixture *f, const learned_model *m) {
    for (int l = 0; l < LAYERS; l++)
        if (!(fabs(betas_of(f)[l] - m->beta[l]) <= 1e-6 * m->beta[l]))
            fail_msg("%s: found beta %.12g, expected %.12g", layers[l].node->name, betas_of(f)[l],
                     m->beta[l]);
    assert_true(betas_of(f)[LAYERS] == 3.0 / 8.0); /* float32 */
}

/* Both sides of the target come: below it the loss moves the betas alone. */
static void learned_bits_and_betas(void **state) {
    (void)state;
    enum { STEPS = 12 };
    fixture f;
    int dear = 0;
    double macs[LAYERS], beta[LAYERS], sensitivity[LAYERS];
    learned_model m = {LAYERS, 3, 8, macs, 0.2, 1.0, 0.5, 0.0, beta};
    open_network(&f, "ldp:3-8", STEPS);
    f.options.precision.bits.target = m.target;
    f.options.precision.bits.rate = m.rate;
    f.options.precision.bits.residual_bits = 0; /* the model does not round residuals */
    begin(&f);
    rec_begin(&f);
    for (int t = 0; t < STEPS; t++) {
        int bits[LAYERS];
        for (int l = 0; l < LAYERS; l++) {
            beta[l] = betas_of(&f)[l]; /* of the program: errors do not add up */
            if (t == 0) assert_true(beta[l] == 3.0 / 8.0);
            bits[l] = (int)learned_bits(&m, l);
        }
        compare_step(&f, bits);
        for (int l = 0; l < LAYERS; l++) {
            const conv_sizes *s = &layers[l].sizes;
            macs[l] = (double)(s->oh * s->ow * s->out * s->in * s->kernel * s->kernel);
        }
        compare_sensitivities(&f, sensitivity);
        learned_step(&m, sensitivity);
        compare_betas(&f, &m);
        dear += m.cost >= m.target;
    }
    assert_true(dear > 0 && dear < STEPS);
    close_network(&f, "ldp:3-8");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(static_bits), cmocka_unit_test(static_bits_with_norms_and_views),
        cmocka_unit_test(cyclic_bits), cmocka_unit_test(learned_bits_and_betas)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
