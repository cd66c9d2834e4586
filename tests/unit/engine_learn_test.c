/* How the loss hangs on the bits of a rounding: what the passes sum up is, with the step's own
 * derivative, that of a network whose quantisers are relaxed, in float64.
 *
 * Relaxed: bits are a real number b = N beta, and rounding is the identity plus the residual
 * c = round(u) - u that it had, so that Q = s(b) (u + c) + Z = x + c s(b), x fixed. Where residuals
 * of inputs have few bits, c is the one that they leave.
 */
#include "float64_model.h"
#include "run_spy.h"

enum { MOST = 8, IMAGE = 32, PIXELS = 16, INPUTS = 2, CHANNELS = 4, TAPS = 9, FEATURES = 64 };
enum { WEIGHTS = CHANNELS * TAPS * INPUTS };
static const double step_of_beta = 1e-5;

/* The network with its numbers, and what rounding adds to them. */
typedef struct relaxed {
    const network *net;
    float rounded_image[SPY_BATCH * IMAGE], rounded_weight[WEIGHTS];
    double taken[SPY_BATCH * IMAGE]; /* by rounding, as the passes see it */
    double image[SPY_BATCH * IMAGE], weight[WEIGHTS], conv[SPY_BATCH * FEATURES];
} relaxed;

static void add_pixel(void *context, int64_t x, int64_t w, int64_t y) {
    relaxed *r = context;
    r->conv[y] += r->image[x] * r->weight[w];
}

/* conv, then relu(conv) + conv, linear, bias, log-softmax, nll. */
static double loss_of_sample(const relaxed *r, int sample) {
    const float *w = hu_weights_of(&r->net->weights, network_find(r->net, "fc.weight"));
    const float *b = hu_weights_of(&r->net->weights, network_find(r->net, "fc.bias"));
    double logit[SPY_CLASSES], total = 0.0;
    for (int c = 0; c < SPY_CLASSES; c++) {
        logit[c] = b[c];
        for (int i = 0; i < FEATURES; i++) {
            double y = r->conv[sample * FEATURES + i];
            logit[c] += w[c * FEATURES + i] * (fmax(y, 0.0) + y);
        }
        total += exp(logit[c]);
    }
    return log(total) - logit[(int)r->net->labels[sample]];
}

/* Mean loss where what rounding added is scaled: by s(b) over the s that it was rounded with. */
static double relaxed_loss(relaxed *r, double scale) {
    const conv_sizes sizes = {SPY_BATCH, 4, 4, INPUTS, 4, 4, CHANNELS, 3, 1, 1};
    const float *weight = hu_weights_of(&r->net->weights, network_find(r->net, "conv.weight"));
    double total = 0.0;
    for (int i = 0; i < SPY_BATCH * IMAGE; i++)
        r->image[i] = r->rounded_image[i] + (scale - 1.0) * r->taken[i];
    for (int i = 0; i < WEIGHTS; i++)
        r->weight[i] = weight[i] + scale * ((double)r->rounded_weight[i] - (double)weight[i]);
    memset(r->conv, 0, sizeof r->conv);
    each_product(&sizes, add_pixel, r);
    for (int s = 0; s < SPY_BATCH; s++) total += loss_of_sample(r, s);
    return total / SPY_BATCH;
}

/* s(b) without the factors that do not depend on b. */
static double step_at(bool is_float, double b) {
    return is_float ? exp2(-b) : 1.0 / (exp2(b) - 1.0);
}

static void round_uniform(int64_t n, const float *x, int bits, float *y) {
    grid g = grid_of(n, x, bits);
    for (int64_t i = 0; i < n; i++) y[i] = value_of(&g, code_of(&g, x[i], 0.0));
}

/* By the definitions of the formats, not by the engine. */
static void round_all(relaxed *r, const hu_quantizer *q, int bits) {
    const float *weight = hu_weights_of(&r->net->weights, network_find(r->net, "conv.weight"));
    if (q->kind == HU_QUANTIZER_UNIFORM) {
        round_uniform(SPY_BATCH * IMAGE, r->net->images, bits, r->rounded_image);
        for (int c = 0; c < CHANNELS; c++)
            round_uniform(TAPS * INPUTS, weight + c * TAPS * INPUTS, bits,
                          r->rounded_weight + c * TAPS * INPUTS);
        return;
    }
    hand_round(q, INPUTS, SPY_BATCH * IMAGE, r->net->images, r->rounded_image);
    hand_round(q, INPUTS, WEIGHTS, weight, r->rounded_weight);
}

/* The multiple of 1 / (2^bits - 2) next to c. */
static double in_bits(double c, int bits) {
    double steps = exp2(bits) - 2.0;
    return rint((float)(c * steps)) / steps;
}

/* Spacing of floats at one of them. */
static double spacing_at(const hu_format *format, float x) {
    int exponent;
    (void)frexp(x, &exponent);
    int least = 1 - format->bias;
    return ldexp(1.0,
                 (exponent - 1 > least && x != 0.0f ? exponent - 1 : least) - format->man_bits);
}

/* What rounding took from the images, by the definitions. */
static void find_taken(relaxed *r, const hu_quantizer *q, int bits, int residual_bits) {
    const float *image = r->net->images, *rounded = r->rounded_image;
    bool is_uniform = q->kind == HU_QUANTIZER_UNIFORM;
    grid g = grid_of(SPY_BATCH * IMAGE, image, bits);
    for (int i = 0; i < SPY_BATCH * IMAGE; i++) {
        double exact = (double)rounded[i] - (double)image[i];
        double spacing = is_uniform ? g.step : spacing_at(&q->format, rounded[i]);
        double t = (float)((double)(float)((double)image[i] - g.zero) / g.step);
        double c = is_uniform ? rint(clamped(t, g.levels)) - clamped(t, g.levels) : exact / spacing;
        r->taken[i] = residual_bits == 0 ? exact : spacing * in_bits(c, residual_bits);
    }
}

static hu_edge *input_edge(network *net) {
    return &net->edges.use[net->graph->value[network_find(net, "input")].uses[0]];
}

/* The step of the network whose first layer rounds what it reads. */
static void open_learning(network *net, const hu_quantizer *q, int residual_bits,
                          hu_storage_mode storage, int threads) {
    *net = (network){0};
    network_graph(net, false);
    hu_edge *input = input_edge(net);
    hu_edge *weight = &net->edges.value[network_find(net, "conv.weight")];
    input->quantizer = weight->quantizer = *q;
    weight->quantizer.per_channel = q->kind == HU_QUANTIZER_UNIFORM;
    input->learns = weight->learns = true;
    input->residual_bits = (uint32_t)residual_bits;
    network_plan(net, storage, threads);
    (void)network_step(net, 1.0f / SPY_BATCH);
}

static double sensitivity_of(const network *net) {
    hu_value_id image = network_find(net, "input"), weight = network_find(net, "conv.weight");
    double of_input = net->edges.use[net->graph->value[image].uses[0]].sensitivity;
    assert_true(of_input != 0.0); /* though nobody else wants the gradient of the images */
    return of_input + net->edges.value[weight].sensitivity;
}

static void compare(const hu_quantizer *q, int bits, int residual_bits) {
    static relaxed r;
    network net;
    bool is_float = q->kind == HU_QUANTIZER_FLOAT;
    open_learning(&net, q, residual_bits, HU_STORAGE_PACKED, 2);
    r = (relaxed){.net = &net};
    round_all(&r, q, bits);
    find_taken(&r, q, bits, residual_bits);
    /* dL/dbeta = sum dL/dQ (round(u) - u) ds/dbeta, with ds/dbeta / s as in the equation */
    double codes = exp2(bits), slope = -MOST * log(2.0) * (is_float ? 1.0 : codes / (codes - 1.0));
    double found = sensitivity_of(&net) * slope;
    double now = step_at(is_float, bits), h = step_of_beta * MOST;
    double after = relaxed_loss(&r, step_at(is_float, bits + h) / now);
    double before = relaxed_loss(&r, step_at(is_float, bits - h) / now);
    double expected = (after - before) / (2.0 * step_of_beta);
    /* Sums of float32 gradients and numbers; h squared; nothing of the size of a term. */
    if (!(fabs(found - expected) <= 2e-5 * fabs(expected) + 1e-8))
        fail_msg("%d bits, residuals of %d: found %.12g, expected %.12g", bits, residual_bits,
                 found, expected);
    assert_true(fabs(expected) > 1e-6);
    network_close(&net);
}

static const int residuals[] = {0, 2, 4, 5, 6, 8};
enum { RESIDUALS = sizeof residuals / sizeof *residuals };

static void integers(void **state) {
    (void)state;
    for (int bits = 2; bits <= MOST; bits++) {
        const hu_quantizer q = {.kind = HU_QUANTIZER_UNIFORM,
                                .rounding = HU_ROUND_NEAREST_EVEN,
                                .bits = (uint32_t)bits};
        for (int r = 0; r < RESIDUALS; r++) compare(&q, bits, residuals[r]);
    }
}

static void floats(void **state) {
    (void)state;
    const char *names[] = {"e4m1", "e4m2", "e4m3"};
    for (int i = 0; i < 3; i++) {
        const hu_quantizer q = quantizer_of(names[i]);
        for (int r = 0; r < RESIDUALS; r++) compare(&q, 6 + i, residuals[r]);
    }
}

/* Whether residuals wait, packed, or numbers are read again. */
static void the_same_in_every_storage(void **state) {
    (void)state;
    static const char *const names[] = {"uniform3", "uniform8", "e4m2", "e2m1"};
    for (int i = 0; i < 4; i++)
        for (int r = 0; r < RESIDUALS; r++) {
            const hu_quantizer q = quantizer_of(names[i]);
            network packed, others[2];
            open_learning(&packed, &q, residuals[r], HU_STORAGE_DENSE, 1);
            open_learning(&others[0], &q, residuals[r], HU_STORAGE_FLOAT32, 3);
            open_learning(&others[1], &q, residuals[r], HU_STORAGE_PACKED, 2);
            const hu_slot *use = &packed.run->use[input_edge(&packed) - packed.edges.use];
            assert_int_equal(use->buffer != HU_NONE, residuals[r] > 0);
            assert_int_equal(use->residual != HU_NONE, residuals[r] > 0);
            for (int k = 0; k < 2; k++) {
                assert_true(input_edge(&others[k])->sensitivity ==
                            input_edge(&packed)->sensitivity);
                network_close(&others[k]);
            }
            network_close(&packed);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(integers), cmocka_unit_test(floats),
                                       cmocka_unit_test(the_same_in_every_storage)};
    int failed = 0;
    for (int joined = 0; joined < 2; joined++) {
        spy_unfused = joined == 0;
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
