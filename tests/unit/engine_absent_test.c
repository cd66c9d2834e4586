/* Numbers that a mask takes out are in no counter, whatever rounds them and wherever they lie; and
 * what is left has the same bits in every storage, for any number of threads and any chunk. */
#include "engine/run.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/planner.h"

enum { BATCH = 7, T = 6, D = 8, HEADS = 2, CLASSES = 3, MOST = T * D * T * D };

typedef struct net {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    hu_value_id scores, weighed, dropped, context;
    uint32_t read; /* use of the scores by the weights */
} net;

typedef struct variant {
    const char *format;
    hu_storage_mode storage;
    int threads;
    int64_t chunk;
    bool fuse, is_causal, has_lengths, lengths_too;
} variant;

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

static hu_value_id apply(net *n, const hu_op *op, const char *name, const void *attrs, int n_in,
                         hu_value_id a, hu_value_id b, hu_value_id c) {
    hu_value_id in[] = {a, b, c}, out[HU_MAX_OUTPUTS];
    must(hu_graph_apply(n->graph, op, name, NULL, attrs, n_in, in, out));
    return out[0];
}

/* x [T, D] -> k -> scores of x and k -> weights -> dropout -> context of x -> classes -> loss */
static void declare(net *n, const variant *v) {
    const hu_shape rows = {2, {T, D}}, one = {1, {1}}, scalar = {0, {0}};
    const hu_attention_mask_attrs sight = {v->is_causal, v->lengths_too};
    const hu_scores_attrs scores = {HEADS, 0.5f, sight};
    const hu_dropout_attrs dropout = {.probability = 0.25f};
    const hu_linear_attrs keys = {
        .out_features = D, .rows = true, .weight_init = {HU_INIT_NORMAL, 0.4f}};
    const hu_linear_attrs head = {.out_features = CLASSES, .weight_init = {HU_INIT_NORMAL, 0.4f}};
    hu_value_id x, lengths = 0, label, k, y;
    int more = v->has_lengths;
    *n = (net){0};
    must(hu_graph_create(&n->graph));
    must(hu_graph_input(n->graph, "input", &rows, &x));
    must(hu_graph_target(n->graph, "lengths", &one, &lengths));
    must(hu_graph_target(n->graph, "label", &scalar, &label));
    k = apply(n, &hu_op_linear, "keys", &keys, 1, x, 0, 0);
    n->scores = apply(n, &hu_op_attention_scores, "scores", &scores, 2 + more, x, k, lengths);
    n->weighed =
        apply(n, &hu_op_attention_weights, "weights", &sight, 1 + more, n->scores, lengths, 0);
    n->dropped = apply(n, &hu_op_dropout, "drop", &dropout, 1, n->weighed, 0, 0);
    n->context =
        apply(n, &hu_op_attention_context, "context", &sight, 2 + more, n->dropped, k, lengths);
    y = apply(n, &hu_op_linear, "fc", &head, 1, n->context, 0, 0);
    y = apply(n, &hu_op_log_softmax, "lsm", NULL, 1, y, 0, 0);
    apply(n, &hu_op_nll, "loss", NULL, 2, y, label, 0);
    must(hu_graph_finish(n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
    n->read = n->graph->value[n->scores].uses[0];
}

/* Everything that the scores' side makes has the format; the weights read the scores in it once
 * more. */
static void plan(net *n, const variant *v) {
    const hu_run_options options = {.batch = BATCH,
                                    .chunk = v->chunk,
                                    .threads = v->threads,
                                    .storage = v->storage,
                                    .fuse = v->fuse,
                                    .recompute = true};
    hu_quantizer q = {0};
    declare(n, v);
    must(hu_quantizer_parse(v->format, HU_ROUND_NEAREST_EVEN, &q));
    const hu_value_id rounded[] = {n->scores, n->weighed, n->dropped, n->context};
    for (int i = 0; i < 4; i++) {
        n->edges.value[rounded[i]].quantizer = n->edges.grad_sum[rounded[i]].quantizer = q;
        n->edges.grad[n->graph->value[rounded[i]].uses[0]].quantizer = q;
    }
    must(hu_quantizer_parse("bf16", HU_ROUND_NEAREST_EVEN, &n->edges.use[n->read].quantizer));
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
    hu_weights_draw(&n->weights, n->graph, 3, 1);
}

static void drop(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

static int64_t length_of(int64_t sample) {
    return sample % (T + 1); /* none, too */
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const hu_random_key key = {5, 1, 0};
    (void)context;
    for (int64_t i = 0; i < count * T * D && field == 0; i++)
        rows[i] = hu_random_normal(&key, (uint64_t)(first * T * D + i));
    for (int64_t s = 0; s < count && field > 0; s++)
        rows[s] = (float)(field == 1 ? length_of(first + s) : (first + s) % CLASSES);
}

static double step(net *n, int64_t samples) {
    hu_pass_options pass = {.training = true, .samples = samples, .seed_gradient = 4.0f};
    hu_pass_result result;
    hu_source source = {n, fill};
    hu_edge_table_clear(&n->edges);
    hu_run_round_parameters(n->run, 0, true);
    must(hu_run_forward(n->run, &pass, &source, &result));
    must(hu_run_backward(n->run, &pass));
    return result.loss_sum;
}

/* Pairs of a head that are present, or rows. */
static uint64_t valid(const variant *v, int64_t samples, bool pairs) {
    uint64_t count = 0;
    for (int64_t i = 0; i < samples; i++) {
        int64_t keys = v->has_lengths ? length_of(i) : T;
        int64_t rows = v->lengths_too && v->has_lengths ? length_of(i) : T;
        count += pairs ? 0 : (uint64_t)rows;
        for (int64_t t = 0; pairs && t < rows; t++)
            for (int64_t s = 0; s < keys; s++) count += !v->is_causal || s <= t;
    }
    return count;
}

/* Scores and weights of drawn numbers are no zeros but those that were rounded to it. */
static void check_counts(const char *what, const hu_round_counts *counts, uint64_t expected,
                         bool may_be_zero) {
    if (counts->elements != expected)
        fail_msg("%s: %llu elements, expected %llu", what, (unsigned long long)counts->elements,
                 (unsigned long long)expected);
    assert_true(counts->zero <= counts->elements);
    if (!may_be_zero && counts->zero != counts->underflow)
        fail_msg("%s: %llu zeros, of which %llu were rounded", what,
                 (unsigned long long)counts->zero, (unsigned long long)counts->underflow);
}

static void check_all_counts(const net *n, const variant *v, int64_t samples) {
    const hu_edge_table *e = &n->edges;
    uint64_t pairs = HEADS * valid(v, samples, true), rows = D * valid(v, samples, false);
    const uint32_t of_scores = n->graph->value[n->scores].uses[0];
    check_counts("scores", &e->value[n->scores].counts, pairs, false);
    check_counts("scores at reading", &e->use[n->read].counts, pairs, true);
    check_counts("weights", &e->value[n->weighed].counts, pairs, false);
    check_counts("dropped weights", &e->value[n->dropped].counts, pairs, true);
    check_counts("context", &e->value[n->context].counts, rows, true);
    check_counts("gradient of scores", &e->grad[of_scores].counts, pairs, true);
    check_counts("gradient of weights", &e->grad[n->graph->value[n->weighed].uses[0]].counts, pairs,
                 true);
    check_counts("gradient of the context", &e->grad[n->graph->value[n->context].uses[0]].counts,
                 rows, true);
}

static void same_gradients(const net *a, const net *b) {
    float scratch[2][MOST];
    for (hu_value_id v = 0; v < a->graph->value_count; v++) {
        const hu_value_info *value = &a->graph->value[v];
        if (value->role != HU_VALUE_PARAMETER) continue;
        const float *x = hu_run_param_grad(a->run, v, 0, value->elements, scratch[0]);
        const float *y = hu_run_param_grad(b->run, v, 0, value->elements, scratch[1]);
        for (int64_t i = 0; i < value->elements; i++) assert_true(x[i] - x[i] == 0);
        if (memcmp(x, y, (size_t)value->elements * sizeof *x) != 0)
            fail_msg("gradient of %s", value->name);
    }
}

/* The two variants differ in what changes no bit. */
static void compare(const variant *v, const variant *w) {
    net a, b;
    plan(&a, v);
    plan(&b, w);
    for (int64_t samples = BATCH; samples > 0; samples -= 4) {
        double loss = step(&a, samples);
        assert_true(loss - loss == 0 && loss == step(&b, samples));
        same_gradients(&a, &b);
        check_all_counts(&a, v, samples);
        check_all_counts(&b, w, samples);
    }
    drop(&a);
    drop(&b);
}

static void masked_numbers_are_counted_nowhere(void **state) {
    (void)state;
    static const char *const formats[] = {"e4m3", "fp16", "bf16", "e4m3fn:scale=current", "mxfp8"};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int mask = 0; mask < 6; mask++) {
            bool causal = mask % 2, lengths = mask > 1, too = mask > 3;
            variant v = {formats[f], HU_STORAGE_PACKED, 1, 2, true, causal, lengths, too};
            variant w = {formats[f], HU_STORAGE_FLOAT32, 3, 2, false, causal, lengths, too};
            compare(&v, &w);
        }
}

static void histograms_have_them_neither(void **state) {
    (void)state;
    const variant v = {"e4m3", HU_STORAGE_PACKED, 2, 2, true, true, true, false};
    hu_histogram seen = {0};
    net n;
    plan(&n, &v);
    must(hu_run_reserve_histograms(n.run));
    hu_exponent_record_begin(n.run, 0);
    step(&n, BATCH);
    hu_exponent_record_end(n.run);
    assert_true(hu_exponent_record_value(n.run, n.scores, &seen));
    assert_true(seen.elements == HEADS * valid(&v, BATCH, true) && seen.zero == 0);
    seen = (hu_histogram){0};
    assert_true(hu_exponent_record_gradient(n.run, n.weighed, &seen));
    assert_true(seen.elements == HEADS * valid(&v, BATCH, true));
    drop(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masked_numbers_are_counted_nowhere),
        cmocka_unit_test(histograms_have_them_neither),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
