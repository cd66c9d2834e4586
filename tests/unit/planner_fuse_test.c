/* Random graphs in random formats: nodes that run in each other's visits give the same bits and
 * counts as nodes that run alone. What a pass has not written is NaN. */
#include <stdlib.h>

#include "engine/run.h"
#include "planner/internal.h"
#include "random_graph.h"

enum { GRAPHS = 150, STEPS = 3 };

/* ---- what a run gives: written down by the first, compared by the others ---- */

typedef struct record {
    unsigned char *bytes;
    size_t size, at;
    bool compares;
    uint64_t seed;
    int variant;
} record;

static void put(record *r, const char *what, const char *name, const void *data, size_t bytes) {
    if (r->compares) {
        if (r->at + bytes > r->size || memcmp(r->bytes + r->at, data, bytes) != 0)
            fail_msg("seed %llu, variant %d: %s of '%s' differs", (unsigned long long)r->seed,
                     r->variant, what, name);
        r->at += bytes;
        return;
    }
    r->bytes = realloc(r->bytes, r->size + bytes);
    assert_non_null(r->bytes);
    memcpy(r->bytes + r->size, data, bytes);
    r->size += bytes;
}

static void put_counts(record *r, const world *w) {
    const hu_graph *g = w->graph;
    for (hu_value_id v = 0; v < g->value_count; v++) {
        put(r, "counts", g->value[v].name, &w->edges.value[v].counts, sizeof(hu_round_counts));
        put(r, "counts of the gradient's sum", g->value[v].name, &w->edges.grad_sum[v].counts,
            sizeof(hu_round_counts));
    }
    for (uint32_t u = 0; u < g->use_count; u++) {
        const char *name = g->value[g->use[u].value].name;
        double learned = w->edges.use[u].sensitivity;
        if (isnan(learned)) learned = 0.0; /* NaNs differ */
        put(r, "what a use learns", name, &learned, sizeof learned);
        put(r, "counts of a use", name, &w->edges.use[u].counts, sizeof(hu_round_counts));
        put(r, "counts of a gradient", name, &w->edges.grad[u].counts, sizeof(hu_round_counts));
    }
    for (uint32_t n = 0; n < g->node_count; n++)
        put(r, "products", g->node[n].name, w->edges.products[n].counts,
            sizeof w->edges.products[n].counts);
}

/* The gradients of the parameters; and a step down. */
static void put_gradients(record *r, const world *w, hu_run *run) {
    const hu_graph *g = w->graph;
    for (hu_value_id v = 0; v < g->value_count; v++) {
        size_t n = (size_t)g->value[v].elements;
        if (g->value[v].role != HU_VALUE_PARAMETER) continue;
        float *scratch = malloc(n * sizeof *scratch), *master = hu_weights_of(run->weights, v);
        assert_non_null(scratch);
        const float *grad = hu_run_param_grad(run, v, 0, (int64_t)n, scratch);
        put(r, "gradient", g->value[v].name, grad, n * sizeof *grad);
        for (size_t i = 0; i < n; i++)
            if (fabsf(grad[i]) < 1e6f) master[i] -= 1e-3f / w->seed_gradient * grad[i];
        free(scratch);
    }
}

/* ---- a run ---- */

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const hu_run *run = context;
    int64_t elements = run->graph->value[run->graph->loaded[field]].elements;
    const hu_random_key key = {7, 1, run->pass.step};
    first += run->pass.first_sample;
    for (int64_t i = 0; i < count * elements && field == 0; i++)
        rows[i] = hu_random_normal(&key, (uint64_t)(first * elements + i));
    for (int64_t i = 0; i < count && field == 1; i++) rows[i] = (float)((first + i) % CLASSES);
}

/* What no buffer holds from the forward to the backward pass. */
static void poison_dead(hu_run *run) {
    int32_t end = hu_time_forward(run->graph->node_count - 1);
    bool *lives = calloc(run->arena_bytes ? run->arena_bytes : 1, sizeof *lives);
    assert_non_null(lives);
    for (uint32_t b = 0; b < run->buffer_count; b++) {
        const hu_buffer *buffer = &run->buffers[b];
        if (buffer->bytes && hu_buffer_is_alive(buffer, 0, end) &&
            hu_buffer_is_alive(buffer, 0, end + 1))
            memset(lives + buffer->offset, 1, buffer->bytes);
    }
    for (size_t i = 0; i < run->arena_bytes; i++)
        if (!lives[i]) run->arena[i] = POISON;
    free(lives);
}

/* False: a format could not encode a number. */
static bool run_part(record *r, const world *w, hu_run *run, const hu_pass_options *pass) {
    hu_pass_result result;
    hu_source source = {run, fill};
    assert_int_equal(hu_run_forward(run, pass, &source, &result), HU_OK);
    put(r, "overflow", "forward", &run->overflowed, sizeof run->overflowed);
    if (run->overflowed) return false;
    put(r, "loss", "forward", &result, sizeof result);
    put(r, "block", "parameters", run->weights->block,
        (size_t)run->weights->elements * sizeof(float));
    if (!pass->training) return true;
    poison_dead(run);
    assert_int_equal(hu_run_backward(run, pass), HU_OK);
    put(r, "overflow", "backward", &run->overflowed, sizeof run->overflowed);
    if (!run->overflowed && !pass->scan) put_gradients(r, w, run);
    return !run->overflowed;
}

/* A batch and a shorter one, as parts of one step; and the shorter one again as a scan. */
static bool run_parts(record *r, const world *w, hu_run *run, uint64_t step) {
    hu_pass_options pass = {.training = true,
                            .samples = w->batch,
                            .step = step,
                            .count_products = w->counts_products,
                            .seed_gradient = w->seed_gradient};
    if (!run_part(r, w, run, &pass)) return false;
    pass.first_sample = w->batch;
    pass.samples = w->tail;
    if (!run_part(r, w, run, &pass)) return false;
    put_counts(r, w);
    pass.scan = true;
    if (!run_part(r, w, run, &pass)) return false;
    put_counts(r, w);
    return true;
}

/* A step and an evaluation. False: a format stopped the step. */
static bool run_step(record *r, const world *w, hu_run *run, uint64_t step) {
    const void *history;
    size_t bytes;
    hu_pass_options pass = {.samples = w->tail, .step = step, .use_masters = step % 2};
    hu_edge_table_clear((hu_edge_table *)&w->edges);
    memset(run->arena, POISON, run->arena_bytes);
    hu_run_round_parameters(run, step, true);
    bool goes_on = run_parts(r, w, run, step);
    hu_tensor_scale_end_step(run);
    hu_tensor_scale_history(run, &history, &bytes);
    if (bytes) put(r, "history", "scales", history, bytes);
    memset(run->arena, POISON, run->arena_bytes);
    hu_run_round_parameters(run, step, false);
    run_part(r, w, run, &pass);
    return goes_on;
}

/* Formats of another step: planned anew by the first variant, changed in place by the others. */
static void change_formats(world *w, hu_run **run, uint64_t step, int variant) {
    if (!w->switches) return;
    switch_formats(w, step, variant > 0);
    if (variant > 0) {
        assert_true(hu_run_requantize(*run));
        return;
    }
    assert_int_equal(hu_run_replan(run), HU_OK);
    assert_int_equal(hu_run_reserve(*run, w->tail), HU_OK);
}

/* Variants: 0 apart, 1 joined, 2 joined and made again, blocks too. True: no step overflowed. */
static bool run_variant(record *r, world *w, int variant) {
    static const int threads[] = {1, 1, 1, 2, 2, 3};
    hu_run *run = NULL;
    hu_weights weights;
    hu_run_options options = {.batch = w->batch,
                              .chunk = w->chunk,
                              .threads = threads[draw(w, 6)],
                              .storage = (hu_storage_mode)draw(w, 3),
                              .seed = w->seed,
                              .fuse = variant != 0,
                              .recompute = variant == 2 ? 1 + (int)(w->seed % 2) : 0,
                              .products = w->products};
    bool goes_on = true;
    r->variant = variant;
    r->at = 0;
    r->compares = variant > 0;
    switch_formats(w, 0, variant > 0);
    if (hu_weights_create(w->graph, &weights) != HU_OK ||
        hu_run_create(w->graph, &w->edges, &weights, &options, &run) != HU_OK)
        fail_msg("seed %llu: %s", (unsigned long long)w->seed, hu_last_error());
    assert_int_equal(hu_run_reserve(run, w->tail), HU_OK);
    hu_weights_draw(&weights, w->graph, w->seed, options.threads);
    for (uint64_t step = 0; step < STEPS; step++) {
        if (step > 0) change_formats(w, &run, step, variant);
        goes_on = run_step(r, w, run, step) && goes_on;
    }
    if (variant > 0 && r->at != r->size)
        fail_msg("seed %llu, variant %d: ends early", (unsigned long long)w->seed, variant);
    hu_run_free(run);
    hu_weights_free(&weights);
    return goes_on;
}

static bool check_graph(uint64_t seed) {
    world w = open_world(seed);
    record r = {.seed = seed};
    bool goes_on = run_variant(&r, &w, 0);
    for (int variant = 1; variant < 3; variant++) run_variant(&r, &w, variant);
    free(r.bytes);
    close_world(&w);
    return goes_on;
}

/* HALFULP_TEST_GRAPHS: how many, HALFULP_TEST_SEED: from which on. */
static uint64_t number(const char *variable, uint64_t usual) {
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : usual;
}

static void test_random_graphs(void **state) {
    (void)state;
    uint64_t first = number("HALFULP_TEST_SEED", 1);
    uint64_t count = number("HALFULP_TEST_GRAPHS", GRAPHS), whole = 0;
    for (uint64_t seed = first; seed < first + count; seed++) whole += check_graph(seed);
    assert_true(2 * whole >= count); /* most go to their end */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
