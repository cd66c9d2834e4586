/* What nodes in a loop read as wholes in every step: attention of a decoder that is fed with what
 * it has found. Gradients against differences of the loss, counts, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/run.h"
#include "graph/graph.h"
#include "model_of.h"
#include "op/attributes.h"
#include "planner/planner.h"
#include "says.h"
#include "task/task.h"

enum { BATCH = 5, SOURCE = 6, PLACES = 8, WORDS = 7, HIDDEN = 8 };

/* Words of the sentences and of their translations. */
static const float source_length[BATCH] = {1, 6, 3, 6, 2}, length[BATCH] = {8, 1, 0, 5, 3};

typedef struct net {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
} net;

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

static hu_quantizer quantizer_of(const char *text) {
    hu_quantizer q = {0};
    must(hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &q));
    return q;
}

/* format: of all values and gradients; NULL: float32. */
static void declare(net *n, const char *format) {
    const hu_dataset data = sentences(WORDS, WORDS);
    hu_task_choice choice;
    hu_model_options options = {.name = "seq2seq", .width = 1.0, .choice = &choice};
    options.sizes.chosen[HU_SIZE_HIDDEN] = HIDDEN;
    options.sizes.chosen[HU_SIZE_LAYERS] = 2;
    *n = (net){0};
    must(hu_model_choose("seq2seq", NULL, NULL, &data, &choice));
    must(hu_model_build(&options, &n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
    hu_weights_draw(&n->weights, n->graph, 3, 1);
    for (hu_value_id v = 0; format && v < n->graph->value_count; v++) {
        const hu_value_info *value = &n->graph->value[v];
        if (!hu_is_rounded_kind(value)) continue;
        n->edges.value[v].quantizer = quantizer_of(format);
        for (uint32_t k = 0; k < value->use_count; k++)
            n->edges.grad[value->uses[k]].quantizer = quantizer_of(format);
    }
}

static void drop(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

/* The word in front of a target is the target before it. */
static int64_t word_at(int64_t sample, int64_t t) {
    return (sample * 5 + t * 3 + 1) % WORDS;
}

static float number(uint32_t field, int64_t sample, int64_t t) {
    bool is_present = (float)t < length[sample];
    switch (field) {
    case HU_TRANSLATION_SOURCE:
        return (float)((sample + 2 * t) % WORDS);
    case HU_TRANSLATION_TOKENS:
        return (float)word_at(sample, t);
    case HU_TRANSLATION_TARGETS:
        return is_present ? (float)word_at(sample, t + 1) : -1.0f;
    case HU_TRANSLATION_SOURCE_LENGTH:
        return source_length[sample];
    default:
        return length[sample];
    }
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    static const int64_t places[] = {SOURCE, PLACES, PLACES, 1, 1};
    (void)context;
    for (int64_t s = 0; s < count; s++)
        for (int64_t t = 0; t < places[field]; t++) *rows++ = number(field, first + s, t);
}

static void plan(net *n, int64_t chunk, int threads) {
    const hu_run_options options = {
        .batch = BATCH, .chunk = chunk, .threads = threads, .fuse = true};
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
}

/* The sum of the losses of all places. */
static double loss_of(net *n) {
    const hu_pass_options pass = {.training = true, .samples = BATCH};
    const hu_source source = {n, fill};
    hu_pass_result result;
    hu_run_round_parameters(n->run, 0, true);
    must(hu_run_forward(n->run, &pass, &source, &result));
    return result.stats[0][HU_LOSS_SUM];
}

static void differentiate(net *n) {
    hu_pass_options pass = {.training = true, .samples = BATCH};
    pass.row_gradient[0] = 1.0f;
    (void)loss_of(n);
    must(hu_run_backward(n->run, &pass));
}

/* Along a drawn direction of each parameter in turn. */
static void gradients_are_those_of_the_loss(void **state) {
    (void)state;
    enum { MOST = 4096 };
    const double step = 1.0 / 64;
    net n;
    declare(&n, NULL);
    plan(&n, 2, 2);
    for (hu_value_id v = 0; v < n.graph->value_count; v++) {
        const hu_value_info *value = &n.graph->value[v];
        const hu_random_key key = {9, v, 0};
        float scratch[MOST], kept[MOST], *master;
        double expected = 0, found = 0, size = 0;
        if (value->role != HU_VALUE_PARAMETER) continue;
        assert_true(value->elements <= MOST);
        master = n.weights.block + n.weights.offset[v];
        memcpy(kept, master, (size_t)value->elements * sizeof *kept);
        differentiate(&n);
        const float *gradient = hu_run_param_grad(n.run, v, 0, value->elements, scratch);
        for (int64_t i = 0; i < value->elements; i++) {
            double along = hu_random_word(&key, (uint64_t)i) % 2 ? 1 : -1;
            found += along * (double)gradient[i];
            size += (double)gradient[i] * (double)gradient[i];
        }
        /* Four places, so that the error is of the fourth order. */
        for (int k = -2; k <= 2; k++) {
            static const double weight[] = {1, -8, 0, 8, -1};
            for (int64_t i = 0; i < value->elements; i++) {
                float along = hu_random_word(&key, (uint64_t)i) % 2 ? 1.0f : -1.0f;
                master[i] = kept[i] + (float)(k * step) * along;
            }
            if (k) expected += weight[k + 2] * loss_of(&n) / (12 * step);
        }
        memcpy(master, kept, (size_t)value->elements * sizeof *kept);
        if (!(size > 0) || fabs(found - expected) > 1e-3 * sqrt(size) + 1e-5)
            fail_msg("%s: found %.9g, differences give %.9g", value->name, found, expected);
    }
    drop(&n);
}

static const hu_edge *grad_edge(const net *n, const char *node, int input) {
    for (uint32_t k = 0; k < n->graph->node_count; k++)
        if (strcmp(n->graph->node[k].name, node) == 0)
            return &n->edges.grad[n->graph->node[k].first_use + (uint32_t)input];
    fail_msg("no node '%s'", node);
    return NULL;
}

static uint64_t elements_of(const net *n, const char *name) {
    return n->edges.value[hu_graph_find(n->graph, name)].counts.elements;
}

/* Pairs that are present: places of the translation times words of the sentence. What is held has
 * one gradient, rounded once, however many steps have read it. */
static void what_is_there_is_counted(void **state) {
    (void)state;
    net n;
    uint64_t pairs = 0, places = 0, words = 0;
    for (int s = 0; s < BATCH; s++) {
        pairs += (uint64_t)(source_length[s] * length[s]);
        places += (uint64_t)length[s];
        words += (uint64_t)source_length[s];
    }
    for (int chunk = 1; chunk <= 3; chunk++) {
        declare(&n, "fp16");
        plan(&n, chunk, 2);
        differentiate(&n);
        assert_int_equal(elements_of(&n, "attn.weights.out"), pairs);
        assert_int_equal(elements_of(&n, "attn.query.out"), places * HIDDEN);
        assert_int_equal(elements_of(&n, "attn.tanh.out"), pairs * HIDDEN);
        assert_int_equal(grad_edge(&n, "attn.sum", 0)->counts.elements, words * HIDDEN);
        assert_int_equal(grad_edge(&n, "attn.sum", 1)->counts.elements, places * HIDDEN);
        assert_int_equal(grad_edge(&n, "attn.context", 1)->counts.elements, words * HIDDEN);
        drop(&n);
    }
}

/* Gradients by the words of a sentence, of samples that take no step too: zero after its end. */
static void sentences_without_steps_have_no_gradient(void **state) {
    (void)state;
    float room[BATCH * SOURCE * HIDDEN];
    net n;
    declare(&n, NULL);
    plan(&n, 2, 1);
    differentiate(&n);
    const float *rows =
        hu_run_value(n.run, hu_graph_find(n.graph, "attn.weights.out"), BATCH, room);
    for (int64_t s = 0; s < BATCH; s++)
        for (int64_t t = 0; t < PLACES; t++) {
            double sum = 0;
            for (int64_t k = 0; k < SOURCE; k++) {
                float weight = rows[(s * PLACES + t) * SOURCE + k];
                bool is_seen = (float)t < length[s] && (float)k < source_length[s];
                assert_true(is_seen ? weight > 0 : weight == 0);
                sum += (double)weight;
            }
            assert_true(fabs(sum - ((float)t < length[s])) < 1e-6);
        }
    drop(&n);
}

/* What is held comes from outside. */
static void a_value_of_the_loop_is_refused(void **state) {
    (void)state;
    const hu_shape rows = {2, {3, 4}}, one = {1, {4}};
    const hu_zeros_attrs zeros = {.numbers = 4};
    hu_graph *graph;
    hu_value_id x, start, previous, out[HU_MAX_OUTPUTS];
    must(hu_graph_create(&graph));
    must(hu_graph_input(graph, "x", &rows, &x));
    must(hu_graph_apply(graph, &hu_op_zeros, "start", NULL, &zeros, 0, NULL, out));
    start = out[0];
    must(hu_graph_loop(graph, 3, HU_NONE));
    must(hu_graph_state(graph, "previous", start, &previous));
    must(hu_graph_apply(graph, &hu_op_tanh, "inside", NULL, NULL, 1, &x, out));
    const hu_value_id in[] = {out[0], previous}, flat[] = {start, previous};
    says(hu_graph_apply(graph, &hu_op_add_row, "sum", NULL, NULL, 2, in, out), HU_ERR_ARGUMENT,
         "expected one from outside");
    says(hu_graph_apply(graph, &hu_op_add_row, "sum", NULL, NULL, 2, flat, out), HU_ERR_SHAPE,
         "add_row");
    assert_true(hu_shape_equal(&graph->value[start].shape, &one));
    hu_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_those_of_the_loss),
                                       cmocka_unit_test(what_is_there_is_counted),
                                       cmocka_unit_test(sentences_without_steps_have_no_gradient),
                                       cmocka_unit_test(a_value_of_the_loop_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
