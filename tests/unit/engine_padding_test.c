/* Rows that are padding leave no trace: a batch counts what its samples count without padding, and
 * as much whatever there is room for. A model of sentences and one of pairs of segments. */
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
#include "planner/planner.h"
#include "says.h"
#include "task/task.h"

enum { BATCH = 6, WORDS = 7, HIDDEN = 8, MOST = 1 << 14 };

/* Rows of a sample: of the first sequence, of the second one, and hidden words. */
typedef struct extents {
    int64_t source, places, hidden;
} extents;

static const extents narrow = {6, 8, 3}, wide = {9, 13, 5};
static const extents valid[BATCH] = {{6, 8, 3}, {1, 1, 1}, {0, 3, 2},
                                     {4, 0, 0}, {2, 5, 3}, {5, 8, 1}};

/* How a batch is computed: what changes no number. */
typedef struct way {
    hu_storage_mode storage;
    int threads;
    bool fuse;
} way;
static const way plain = {HU_STORAGE_FLOAT32, 1, false}, packed = {HU_STORAGE_PACKED, 3, true};

/* Formats of values and of gradients; of what values are read in, NULL: as they are. */
typedef struct formats {
    const char *values, *gradients, *read;
} formats;

typedef struct net {
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    int64_t first; /* number of the first sample */
} net;

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

/* ---- data ---- */

/* Sentences with translations, or pairs of segments. */
static hu_dataset data_with_room_for(extents room, bool are_pairs) {
    static char name[] = "sequences";
    const hu_field words = {.type = HU_FIELD_I32, .rank = 1, .classes = WORDS};
    const hu_field number = {.type = HU_FIELD_I32};
    hu_field sentence[] = {words, words, words, number, number};
    hu_field pair[] = {words, words, words, words, number, number};
    static const char *const of_sentence[] = {"source", "tokens", "targets", "source_length",
                                              "target_length"};
    static const char *const of_pair[] = {"tokens", "targets", "segments",
                                          "places", "label",   "length"};
    hu_dataset made = {.name = name, .field_count = are_pairs ? 6 : 5};
    sentence[0].extent[0] = room.source;
    sentence[1].extent[0] = sentence[2].extent[0] = room.places;
    pair[0].extent[0] = pair[2].extent[0] = room.places;
    pair[1].extent[0] = pair[3].extent[0] = room.hidden;
    pair[2].classes = pair[4].classes = 2;
    for (int f = 0; f < made.field_count; f++) {
        made.field[f] = are_pairs ? pair[f] : sentence[f];
        snprintf(made.field[f].name, sizeof made.field[f].name, "%s",
                 are_pairs ? of_pair[f] : of_sentence[f]);
    }
    return made;
}

static int64_t word_at(int64_t sample, int64_t t) {
    return (sample * 5 + t * 3 + 1) % WORDS;
}

/* Number t of a field; after the end of a sample what must not matter. */
static float number(const char *field, int64_t s, int64_t t, bool has_pairs) {
    const extents *of = &valid[s];
    if (strcmp(field, "source_length") == 0) return (float)of->source;
    if (strcmp(field, "target_length") == 0 || strcmp(field, "length") == 0)
        return (float)of->places;
    if (strcmp(field, "label") == 0) return (float)(s % 2);
    if (strcmp(field, "places") == 0)
        return t < of->hidden && t < of->places ? (float)(of->places - 1 - t) : -1.0f;
    if (strcmp(field, "targets") == 0) {
        bool is_present = has_pairs ? t < of->hidden && t < of->places : t < of->places;
        return is_present ? (float)word_at(s, t + 1) : -1.0f;
    }
    if (strcmp(field, "segments") == 0) return (float)(t > 2);
    if (strcmp(field, "source") == 0) return (float)((s + 2 * t) % WORDS);
    return (float)word_at(s, t);
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const net *n = context;
    const hu_value_info *value = &n->graph->value[n->graph->loaded[field]];
    bool has_pairs = hu_graph_find(n->graph, "segments") != HU_NONE;
    for (int64_t s = 0; s < count; s++)
        for (int64_t t = 0; t < value->elements; t++)
            *rows++ = number(value->name, n->first + first + s, t, has_pairs);
}

/* ---- runs ---- */

/* Pairs of a row and a key have no rows; what a mask takes out of them has a test of its own. */
static bool has_pairs(const hu_value_info *value) {
    return strstr(value->name, "attn.scores") || strstr(value->name, "attn.weights");
}

static void set(hu_edge *edge, const char *text) {
    must(hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &edge->quantizer));
}

static void declare(net *n, const char *model, extents room, const formats *of) {
    hu_dataset data = data_with_room_for(room, strcmp(model, "bert-tiny-s") == 0);
    hu_task_choice choice;
    hu_model_options options = {.name = model, .width = 1.0, .choice = &choice};
    bool is_uniform = of->values && strncmp(of->values, "uniform", 7) == 0;
    options.sizes.chosen[HU_SIZE_HIDDEN] = HIDDEN;
    options.sizes.chosen[HU_SIZE_LAYERS] = 1;
    *n = (net){0};
    must(hu_model_choose(model, NULL, NULL, &data, &choice));
    must(hu_model_build(&options, &n->graph));
    must(hu_edge_table_create(n->graph, &n->edges));
    must(hu_weights_create(n->graph, &n->weights));
    hu_weights_draw(&n->weights, n->graph, 3, 1);
    for (hu_value_id v = 0; of->values && v < n->graph->value_count; v++) {
        const hu_value_info *value = &n->graph->value[v];
        bool is_numbers = hu_is_rounded_kind(value) && value->role != HU_VALUE_PARAMETER;
        if (!is_numbers || (is_uniform && has_pairs(value))) continue;
        set(&n->edges.value[v], of->values);
        set(&n->edges.grad_sum[v], of->gradients);
        for (uint32_t k = 0; k < value->use_count; k++) {
            set(&n->edges.grad[value->uses[k]], of->gradients);
            if (of->read && !has_pairs(value)) set(&n->edges.use[value->uses[k]], of->read);
        }
    }
}

static void plan(net *n, int64_t batch, way w) {
    const hu_run_options options = {.batch = batch,
                                    .chunk = 2,
                                    .threads = w.threads,
                                    .storage = w.storage,
                                    .fuse = w.fuse,
                                    .recompute = true};
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
    must(hu_run_reserve_histograms(n->run));
}

static void drop(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

/* Metrics read predictions before the backward pass takes their place. */
static double step(net *n, int64_t samples, bool learns) {
    hu_pass_options pass = {
        .training = true, .samples = samples, .seed_gradient = 1.0f, .count_products = true};
    const hu_source source = {n, fill};
    hu_pass_result result;
    double sum = 0;
    for (int k = 0; k < HU_LOSSES_MOST; k++) pass.row_gradient[k] = 1.0f;
    hu_run_round_parameters(n->run, 0, true);
    hu_exponent_record_begin(n->run, 0);
    must(hu_run_forward(n->run, &pass, &source, &result));
    if (learns) must(hu_run_backward(n->run, &pass));
    hu_exponent_record_end(n->run);
    for (int k = 0; k < n->graph->loss_count; k++) sum += result.stats[k][HU_LOSS_SUM];
    return sum;
}

/* ---- what is compared ---- */

static const char *compared; /* the format */

static void same_counts(const char *what, const char *name, const hu_round_counts *a,
                        const hu_round_counts *b) {
    if (memcmp(a, b, sizeof *a) != 0)
        fail_msg(
            "%s, %s of %s: %llu elements, %llu zero, %llu lost, exponents %d to %d; expected %llu, "
            "%llu, %llu, %d to %d",
            compared, what, name, (unsigned long long)a->elements, (unsigned long long)a->zero,
            (unsigned long long)a->underflow, a->min_exponent, a->max_exponent,
            (unsigned long long)b->elements, (unsigned long long)b->zero,
            (unsigned long long)b->underflow, b->min_exponent, b->max_exponent);
}

/* Targets are counted as they come. */
static bool is_counted(const net *n, hu_value_id v) {
    return hu_is_rounded_kind(&n->graph->value[v]);
}

static void same_edges(const net *a, const net *b, const char *format) {
    uint64_t counted = 0;
    compared = format;
    for (hu_value_id v = 0; v < a->graph->value_count; v++) {
        const hu_value_info *value = &a->graph->value[v];
        if (!is_counted(a, v)) continue;
        counted += a->edges.value[v].counts.elements;
        same_counts("values", value->name, &a->edges.value[v].counts, &b->edges.value[v].counts);
        same_counts("the gradient", value->name, &a->edges.grad_sum[v].counts,
                    &b->edges.grad_sum[v].counts);
        for (uint32_t k = 0; k < value->use_count; k++) {
            uint32_t u = value->uses[k];
            same_counts("a gradient", value->name, &a->edges.grad[u].counts,
                        &b->edges.grad[u].counts);
            same_counts("a reading", value->name, &a->edges.use[u].counts, &b->edges.use[u].counts);
        }
    }
    assert_true((counted > 0) == (format != NULL));
}

static void same_histograms(const net *a, const net *b) {
    for (hu_value_id v = 0; v < a->graph->value_count; v++) {
        hu_histogram x[2] = {{0}}, y[2] = {{0}};
        if (!is_counted(a, v) || a->graph->value[v].role == HU_VALUE_PARAMETER) continue;
        hu_exponent_record_value(a->run, v, &x[0]);
        hu_exponent_record_value(b->run, v, &y[0]);
        hu_exponent_record_gradient(a->run, v, &x[1]);
        hu_exponent_record_gradient(b->run, v, &y[1]);
        if (memcmp(x, y, sizeof x) != 0) fail_msg("histograms of %s", a->graph->value[v].name);
    }
}

/* Sums of the same terms, and of zeros, in an order that hangs on where rows stand. Biases of keys
 * have none but what rounding leaves. */
static void same_gradients(const net *a, const net *b) {
    static float scratch[2][MOST];
    for (hu_value_id v = 0; v < a->graph->value_count; v++) {
        const hu_value_info *value = &a->graph->value[v];
        double apart = 0, size = 0;
        if (value->role != HU_VALUE_PARAMETER) continue;
        assert_true(value->elements <= MOST);
        const float *x = hu_run_param_grad(a->run, v, 0, value->elements, scratch[0]);
        const float *y = hu_run_param_grad(b->run, v, 0, value->elements, scratch[1]);
        for (int64_t i = 0; i < value->elements; i++) {
            apart += pow((double)x[i] - (double)y[i], 2);
            size += pow((double)y[i], 2);
        }
        if (!(sqrt(apart) <= 1e-5 * sqrt(size) + 1e-7))
            fail_msg("gradient of %s: %g apart of %g", value->name, sqrt(apart), sqrt(size));
    }
}

static const char *const models[] = {"seq2seq-s", "seq2seq", "bert-tiny-s"};
enum { MODELS = sizeof models / sizeof *models };

/* ---- tests ---- */

static void room_does_not_matter(void **state) {
    (void)state;
    static const formats of[] = {{NULL, NULL, NULL},
                                 {"fp16", "fp16", NULL},
                                 {"1/6/9", "1/6/9", "bf16"},
                                 {"e4m3", "e5m2", NULL},
                                 {"e4m3fn:scale=current", "e5m2:scale=current", NULL},
                                 {"mxfp8", "mxfp8", NULL},
                                 {"bf16", "bf16", "uniform8"},
                                 {"uniform8", "uniform8", NULL}};
    for (int m = 0; m < MODELS; m++)
        for (size_t f = 0; f < sizeof of / sizeof *of; f++) {
            net a, b;
            declare(&a, models[m], wide, &of[f]);
            declare(&b, models[m], narrow, &of[f]);
            plan(&a, BATCH, packed);
            plan(&b, BATCH, plain);
            double x = step(&a, BATCH, true), y = step(&b, BATCH, true);
            if (!(fabs(x - y) <= 1e-12 * fabs(y)))
                fail_msg("%s in %s: a loss of %.17g, expected %.17g", models[m], of[f].values, x,
                         y);
            same_edges(&a, &b, of[f].values);
            same_histograms(&a, &b);
            same_gradients(&a, &b);
            drop(&a);
            drop(&b);
        }
}

/* Where nothing is of the whole batch, samples do not know of each other. */
static void samples_count_what_they_count_alone(void **state) {
    (void)state;
    static const formats of[] = {
        {"fp16", "fp16", NULL}, {"1/6/9", "1/6/9", NULL}, {"e4m3", "e5m2", NULL}};
    for (int m = 0; m < MODELS; m++)
        for (size_t f = 0; f < sizeof of / sizeof *of; f++) {
            net all, alone, sum;
            declare(&all, models[m], wide, &of[f]);
            plan(&all, BATCH, packed);
            step(&all, BATCH, true);
            declare(&sum, models[m], wide, &of[f]);
            for (int64_t s = 0; s < BATCH; s++) {
                extents own = valid[s];
                if (own.source < 1) own.source = 1;
                if (own.places < 1) own.places = 1;
                if (own.hidden < 1) own.hidden = 1;
                declare(&alone, models[m], own, &of[f]);
                plan(&alone, 1, plain);
                alone.first = s;
                step(&alone, 1, true);
                for (hu_value_id v = 0; v < all.graph->value_count; v++) {
                    hu_round_counts_add(&sum.edges.value[v].counts, &alone.edges.value[v].counts);
                    hu_round_counts_add(&sum.edges.grad_sum[v].counts,
                                        &alone.edges.grad_sum[v].counts);
                }
                for (uint32_t u = 0; u < all.graph->use_count; u++)
                    hu_round_counts_add(&sum.edges.grad[u].counts, &alone.edges.grad[u].counts);
                drop(&alone);
            }
            for (hu_value_id v = 0; v < all.graph->value_count; v++)
                if (all.graph->value[v].role == HU_VALUE_PARAMETER) /* one gradient of all */
                    for (uint32_t k = 0; k < all.graph->value[v].use_count; k++)
                        all.edges.grad[all.graph->value[v].uses[k]].counts =
                            sum.edges.grad[all.graph->value[v].uses[k]].counts;
            same_edges(&all, &sum, of[f].values);
            drop(&all);
            drop(&sum);
        }
}

static void accumulate_everywhere(net *n) {
    for (uint32_t k = 0; k < n->graph->node_count; k++) {
        hu_accumulation *of = &n->edges.products[k].accumulation;
        for (int r = 0; n->graph->node[k].op->is_product && r < HU_PRODUCT_ROLES; r++) {
            of->chosen[r] = true;
            must(hu_accumulator_parse("fmac8:1/6/9", &of->accumulator[r]));
        }
    }
}

/* True if the parameter is the weights of layers of rows, or of samples, and nothing else. */
static bool is_of_products(const net *n, hu_value_id v) {
    const hu_value_info *value = &n->graph->value[v];
    bool all = value->role == HU_VALUE_PARAMETER;
    for (uint32_t k = 0; k < value->use_count; k++) {
        const hu_use *use = &n->graph->use[value->uses[k]];
        const hu_node *node = &n->graph->node[use->node];
        all &= node->op == &hu_op_linear && use->index == node->n_in;
    }
    return all;
}

/* Terms of chosen accumulators are rows that are present, and no others: sums end their blocks by
 * them, so that their bits are the same. */
static void accumulators_see_no_padding(void **state) {
    (void)state;
    static float scratch[2][MOST];
    const formats of = {"1/6/9", "1/6/9", NULL};
    static const char *const models_of_rows[] = {"seq2seq-s", "bert-tiny-s"};
    for (int m = 0; m < 2; m++) {
        net a, b;
        declare(&a, models_of_rows[m], wide, &of);
        declare(&b, models_of_rows[m], narrow, &of);
        accumulate_everywhere(&a);
        accumulate_everywhere(&b);
        plan(&a, BATCH, packed);
        plan(&b, BATCH, plain);
        assert_true(step(&a, BATCH, true) == step(&b, BATCH, true));
        same_edges(&a, &b, of.values);
        for (uint32_t k = 0; k < a.graph->node_count; k++)
            if (memcmp(a.edges.products[k].counts, b.edges.products[k].counts,
                       sizeof a.edges.products[k].counts) != 0)
                fail_msg("accumulators of %s", a.graph->node[k].name);
        for (hu_value_id v = 0; v < a.graph->value_count; v++) {
            int64_t count = a.graph->value[v].elements;
            if (!is_of_products(&a, v)) continue;
            if (memcmp(hu_run_param_grad(a.run, v, 0, count, scratch[0]),
                       hu_run_param_grad(b.run, v, 0, count, scratch[1]),
                       (size_t)count * sizeof(float)) != 0)
                fail_msg("gradient of %s", a.graph->value[v].name);
        }
        drop(&a);
        drop(&b);
    }
}

/* Values and gradients: what a rows' end leaves is zero. */
static void padding_is_zero(void **state) {
    (void)state;
    static float room[MOST];
    const formats of = {"uniform8", "uniform8", NULL};
    net n;
    declare(&n, "seq2seq-s", wide, &of);
    plan(&n, BATCH, plain);
    step(&n, BATCH, false);
    hu_value_id v = hu_graph_find(n.graph, "out.out");
    assert_true(n.graph->value[v].ends.lengths == hu_graph_find(n.graph, HU_TARGET_LENGTHS_FIELD));
    const float *rows = hu_run_value(n.run, v, BATCH, room);
    for (int64_t s = 0; s < BATCH; s++)
        for (int64_t t = 0; t < wide.places * WORDS; t++) {
            float x = rows[s * wide.places * WORDS + t];
            if (t >= valid[s].places * WORDS && (x != 0 || signbit(x)))
                fail_msg("sample %d, number %d: %g", (int)s, (int)t, (double)x);
        }
    drop(&n);
}

static void what_cannot_end_is_refused(void **state) {
    (void)state;
    const hu_shape rows = {2, {4, 3}}, one = {1, {1}}, scalar = {0, {0}};
    hu_value_id x, lengths, others, number_of, y[HU_MAX_OUTPUTS];
    hu_graph *graph;
    must(hu_graph_create(&graph));
    must(hu_graph_input(graph, "x", &rows, &x));
    must(hu_graph_input(graph, "number", &scalar, &number_of));
    must(hu_graph_target(graph, "lengths", &one, &lengths));
    must(hu_graph_target(graph, "others", &one, &others));
    says(hu_graph_end_rows(graph, x, number_of), HU_ERR_ARGUMENT, "expected a target or a fact");
    says(hu_graph_end_rows(graph, x, x), HU_ERR_ARGUMENT, "expected a target or a fact");
    says(hu_graph_end_rows(graph, x, 99), HU_ERR_ARGUMENT, "no such value");
    says(hu_graph_end_rows(graph, number_of, lengths), HU_ERR_SHAPE, "has no rows");
    must(hu_graph_end_rows(graph, x, lengths));
    says(hu_graph_end_rows(graph, x, others), HU_ERR_ARGUMENT, "end by others already");
    must(hu_graph_apply(graph, &hu_op_tanh, "y", NULL, NULL, 1, &x, y));
    assert_true(graph->value[y[0]].ends.lengths == lengths && graph->value[y[0]].ends.row == 3);
    must(hu_graph_apply(graph, &hu_op_transpose, "z", NULL, NULL, 1, y, y));
    assert_true(graph->value[y[0]].ends.lengths == HU_NONE);
    says(hu_graph_end_rows(graph, x, lengths), HU_ERR_ARGUMENT, "has read it already");
    hu_graph_free(graph);
}

/* An operation on axes keeps rows that are padding where no row reads another, even if it makes as
 * many rows of them. */
static void axes_decide_what_ends(void **state) {
    static const struct {
        const hu_op *op;
        const char *attributes;
        int64_t row; /* elements of a row that has an end, 0: none has */
    } cases[] = {
        {&hu_op_softmax, "axis=-1", 16},     {&hu_op_softmax, "axis=0", 0},
        {&hu_op_reduce_mean, "axes=2", 4},   {&hu_op_reduce_mean, "axes=1,2 keep=on", 1},
        {&hu_op_reduce_max, "axes=0", 0},    {&hu_op_transpose, "axes=0,2,1", 16},
        {&hu_op_transpose, "axes=1,0,2", 0}, {&hu_op_transpose, "", 0},
        {&hu_op_slice, "axis=1 end=3", 12},  {&hu_op_slice, "axis=0 end=3", 0},
        {&hu_op_pad, "before=0,2,0", 24},    {&hu_op_pad, "before=1,0,0", 0},
        {&hu_op_split, "axis=1 parts=2", 8}, {&hu_op_split, "axis=0 parts=2", 0},
        {&hu_op_rms_norm, "", 16},           {&hu_op_group_norm, "groups=2", 0},
        {&hu_op_reshape, "shape=4x-1", 16},
    };
    const hu_shape rows = {3, {4, 4, 4}}, one = {1, {1}};
    hu_value_id x, lengths, y[HU_MAX_OUTPUTS];
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        union {
            int64_t aligned;
            char bytes[512];
        } attrs = {0};
        hu_graph *graph;
        must(hu_graph_create(&graph));
        must(hu_graph_input(graph, "x", &rows, &x));
        must(hu_graph_target(graph, "lengths", &one, &lengths));
        must(hu_graph_end_rows(graph, x, lengths));
        must(hu_op_read_attributes(cases[c].op, cases[c].attributes, &rows, &attrs));
        must(hu_graph_apply(graph, cases[c].op, "y", NULL, &attrs, 1, &x, y));
        const hu_row_lengths *ends = &graph->value[y[0]].ends;
        bool is_right = cases[c].row ? ends->lengths == lengths && ends->row == cases[c].row
                                     : ends->lengths == HU_NONE;
        if (!is_right) fail_msg("%s %s", cases[c].op->name, cases[c].attributes);
        hu_graph_free(graph);
    }
}

/* A vector that ends is stretched to rows that do not. */
static void what_is_stretched_ends_no_rows(void **state) {
    (void)state;
    const hu_shape rows = {2, {4, 3}}, square = {2, {4, 4}}, vector = {1, {4}}, gate = {2, {4, 1}},
                   one = {1, {1}};
    const hu_arithmetic_attrs by_channel = {.shape = {1, {3}}};
    hu_value_id x, whole, v, g, lengths, y[HU_MAX_OUTPUTS];
    hu_graph *graph;
    must(hu_graph_create(&graph));
    must(hu_graph_input(graph, "x", &rows, &x));
    must(hu_graph_input(graph, "whole", &square, &whole));
    must(hu_graph_input(graph, "v", &vector, &v));
    must(hu_graph_input(graph, "g", &gate, &g));
    must(hu_graph_target(graph, "lengths", &one, &lengths));
    must(hu_graph_end_rows(graph, x, lengths));
    must(hu_graph_end_rows(graph, v, lengths));
    must(hu_graph_apply(graph, &hu_op_mul, "a", NULL, &by_channel, 1, &x, y));
    assert_true(graph->value[y[0]].ends.lengths == lengths && graph->value[y[0]].ends.row == 3);
    must(hu_graph_apply(graph, &hu_op_mul, "b", NULL, NULL, 2, (hu_value_id[]){x, g}, y));
    assert_true(graph->value[y[0]].ends.lengths == lengths && graph->value[y[0]].ends.row == 3);
    must(hu_graph_apply(graph, &hu_op_add, "c", NULL, NULL, 2, (hu_value_id[]){whole, v}, y));
    assert_true(graph->value[y[0]].ends.lengths == HU_NONE);
    must(hu_graph_apply(graph, &hu_op_add, "d", NULL, NULL, 2, (hu_value_id[]){v, whole}, y));
    assert_true(graph->value[y[0]].ends.lengths == HU_NONE);
    hu_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_does_not_matter),
        cmocka_unit_test(samples_count_what_they_count_alone),
        cmocka_unit_test(accumulators_see_no_padding),
        cmocka_unit_test(padding_is_zero),
        cmocka_unit_test(what_cannot_end_is_refused),
        cmocka_unit_test(axes_decide_what_ends),
        cmocka_unit_test(what_is_stretched_ends_no_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
