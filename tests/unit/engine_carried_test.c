/* States that go on from pass to pass: a long sample cut into two passes is the sample, bit for
 * bit, in every storage; what they start as is a constant for gradients; passes that are cut, run
 * again or evaluate leave it alone. */
#include <math.h>

#include "engine/internal.h"
#include "model/internal.h"
#include "op/attributes.h"
#include "op_drive.h"
#include "planner/planner.h"

enum { STREAMS = 5, STEPS = 3, IN = 3, HIDDEN = 8, CLASSES = 3, NUMBERS = 2 * HIDDEN, MOST = 512 };

/* What a layer starts as. */
typedef enum start { ZERO, CARRIED, LOADED } start;

typedef struct net {
    start start;
    int64_t steps;
    hu_graph *graph;
    hu_edge_table edges;
    hu_weights weights;
    hu_run *run;
    hu_value_id rows, cells;
    int64_t first_step;  /* of a pass, in the long sample */
    float poison;        /* of step 0 of stream 2; 0: none */
    const float *loaded; /* [STREAMS][NUMBERS] where it starts as loaded numbers */
} net;

typedef struct plan {
    const char *format; /* of all values, NULL: none */
    hu_storage_mode storage;
    int64_t chunk, batch;
    int threads;
    uint32_t capacity_bits;
} plan;

static void must(hu_status st) {
    if (st != HU_OK) fail_msg("%s", hu_last_error());
}

static void declare(net *n) {
    const hu_shape rows = {2, {n->steps, IN}}, state = {1, {HIDDEN}}, scalar = {0, {0}};
    const hu_linear_attrs head = {.out_features = CLASSES, .weight_init = {HU_INIT_NORMAL, 0.5f}};
    const hu_recurrent_form form = {.layer = "rnn",
                                    .suffix = "_l0",
                                    .hidden = HIDDEN,
                                    .lengths = HU_NONE,
                                    .is_carried = n->start == CARRIED};
    hu_value_id x, in[2];
    hu_recurrent_state begin = {HU_NONE, HU_NONE};
    must(hu_graph_create(&n->graph));
    must(hu_graph_input(n->graph, "x", &rows, &x));
    must(hu_graph_target(n->graph, "label", &scalar, &in[1]));
    if (n->start == LOADED) {
        must(hu_graph_target(n->graph, "h0", &state, &begin.hidden));
        must(hu_graph_target(n->graph, "c0", &state, &begin.cell));
    }
    hu_builder b = {.graph = n->graph};
    n->rows = hu_build_lstm(&b, &form, x, begin, &n->cells);
    hu_value_id all = hu_build_node(&b, &hu_op_flatten, "flat", NULL, NULL, 1, &n->rows);
    all = hu_build_node(&b, &hu_op_linear, "head", NULL, &head, 1, &all);
    in[0] = hu_build_node(&b, &hu_op_log_softmax, "lsm", NULL, NULL, 1, &all);
    (void)hu_build_node(&b, &hu_op_nll, "loss", NULL, NULL, 2, in);
    must(b.status);
    must(hu_graph_finish(n->graph));
}

static void set_format(net *n, const char *format) {
    for (hu_value_id v = 0; format && v < n->graph->value_count; v++)
        if (n->graph->value[v].role == HU_VALUE_ACTIVATION)
            must(hu_quantizer_parse(format, HU_ROUND_NEAREST_EVEN, &n->edges.value[v].quantizer));
}

static void open_net(net *n, start s, int64_t steps, const plan *p) {
    const hu_run_options options = {.batch = p->batch,
                                    .chunk = p->chunk,
                                    .streams = STREAMS,
                                    .threads = p->threads,
                                    .storage = p->storage,
                                    .fuse = true};
    *n = (net){.start = s, .steps = steps};
    declare(n);
    must(hu_edge_table_create(n->graph, &n->edges));
    set_format(n, p->format);
    for (hu_value_id v = 0; v < n->graph->value_count; v++)
        n->edges.value[v].capacity_bits = p->capacity_bits;
    must(hu_weights_create(n->graph, &n->weights));
    hu_weights_draw(&n->weights, n->graph, 3, 1);
    must(hu_run_create(n->graph, &n->edges, &n->weights, &options, &n->run));
    hu_run_round_parameters(n->run, 0, true);
}

static void close_net(net *n) {
    hu_run_free(n->run);
    hu_weights_free(&n->weights);
    hu_edge_table_free(&n->edges);
    hu_graph_free(n->graph);
}

/* Number t of the long sample of a stream. */
static float number(const net *n, int64_t stream, int64_t t) {
    const hu_random_key key = {5, 1, 0};
    if (n->poison != 0 && stream == 2 && t == 0) return n->poison;
    return hu_random_normal(&key, (uint64_t)(stream * 64 + t));
}

static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const net *n = context;
    first += n->run->pass.first_sample % STREAMS;
    for (int64_t s = first; s < first + count; s++) {
        if (field == 0)
            for (int64_t i = 0; i < n->steps * IN; i++)
                *rows++ = number(n, s, n->first_step * IN + i);
        if (field == 1) *rows++ = (float)(s % CLASSES);
        for (int64_t i = 0; field > 1 && i < HIDDEN; i++)
            *rows++ = n->loaded[s * NUMBERS + (field - 2) * HIDDEN + i];
    }
}

/* One pass over samples first .. of the streams, `updates` rounds on. */
static double pass_over(net *n, int64_t first, int64_t count, int64_t updates, bool trains) {
    hu_pass_options pass = {.training = trains,
                            .samples = count,
                            .first_sample = updates * STREAMS + first,
                            .seed_gradient = 1.0f};
    hu_pass_result result;
    hu_source source = {n, fill};
    n->first_step = updates * n->steps;
    must(hu_run_forward(n->run, &pass, &source, &result));
    return result.loss_sum;
}

/* A whole step: passes of at most `most` samples. */
static int64_t step(net *n, int64_t updates, int64_t most) {
    int64_t zeroed = 0;
    hu_carried_begin_step(n->run);
    for (int64_t first = 0; first < STREAMS; first += most) {
        int64_t count = STREAMS - first < most ? STREAMS - first : most;
        (void)pass_over(n, first, count, updates, true);
        zeroed += hu_carried_settle(n->run, first, count, true);
    }
    hu_carried_end_step(n->run);
    return zeroed;
}

/* Rows of all samples of the last steps of a value, [STREAMS][steps][HIDDEN]. */
static void read_value(const net *n, hu_value_id v, float *rows) {
    float scratch[MOST];
    const float *found = hu_run_value(n->run, v, STREAMS, scratch);
    memcpy(rows, found, (size_t)(STREAMS * n->steps * HIDDEN) * sizeof *rows);
}

static void expect_end_of(const net *whole, const net *part) {
    float all[MOST], end[STREAMS * NUMBERS];
    hu_run_carried(part->run, end);
    assert_int_equal(hu_run_carried_numbers(part->run), NUMBERS);
    for (int k = 0; k < 2; k++) {
        read_value(whole, k == 0 ? whole->rows : whole->cells, all);
        for (int64_t s = 0; s < STREAMS; s++)
            assert_memory_equal(end + s * NUMBERS + k * HIDDEN,
                                all + ((s + 1) * whole->steps - 1) * HIDDEN, HIDDEN * sizeof *all);
    }
}

static const plan usual = {NULL, HU_STORAGE_PACKED, 2, STREAMS, 1, 0};

/* Chunks, parts, threads and storages do not matter. */
static void two_passes_are_one_of_twice_the_steps(void **state) {
    (void)state;
    static const char *const formats[] = {NULL, "e4m3", "fp16"};
    static const hu_storage_mode modes[] = {HU_STORAGE_PACKED, HU_STORAGE_DENSE,
                                            HU_STORAGE_FLOAT32};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        plan p = usual;
        net whole, part;
        p.format = formats[f];
        open_net(&whole, ZERO, 2 * STEPS, &p);
        (void)pass_over(&whole, 0, STREAMS, 0, true);
        for (int m = 0; m < 3; m++)
            for (int64_t chunk = 2; chunk < 4; chunk++) {
                p.storage = modes[m];
                p.chunk = chunk;
                p.threads = (int)chunk - 1;
                open_net(&part, CARRIED, STEPS, &p);
                for (int64_t u = 0; u < 2; u++) assert_int_equal(step(&part, u, STREAMS), 0);
                expect_end_of(&whole, &part);
                hu_carried_clear(part.run);
                for (int64_t u = 0; u < 2; u++) assert_int_equal(step(&part, u, 2), 0);
                expect_end_of(&whole, &part);
                close_net(&part);
            }
        close_net(&whole);
    }
}

static void narrow_rows_are_packed(void **state) {
    (void)state;
    plan p = usual;
    net n;
    p.format = "e4m3";
    open_net(&n, CARRIED, STEPS, &p);
    assert_int_equal(n.run->carried_count, 2);
    assert_int_equal(n.run->carried[0].storage[0].row_bytes, HIDDEN);
    assert_int_equal(n.run->buffers[n.run->carried[0].buffer[1]].bytes, STREAMS * HIDDEN);
    close_net(&n);
}

/* The gradient of a step that begins with loaded numbers, of which there is none. */
static void the_start_is_a_constant(void **state) {
    (void)state;
    static float begin[STREAMS * NUMBERS];
    net part, loaded;
    open_net(&part, CARRIED, STEPS, &usual);
    open_net(&loaded, LOADED, STEPS, &usual);
    (void)step(&part, 0, STREAMS);
    hu_run_carried(part.run, begin);
    loaded.loaded = begin;
    hu_carried_begin_step(part.run);
    assert_true(pass_over(&part, 0, STREAMS, 1, true) == pass_over(&loaded, 0, STREAMS, 1, true));
    must(hu_run_backward(part.run, hu_run_pass(part.run)));
    must(hu_run_backward(loaded.run, hu_run_pass(loaded.run)));
    for (hu_value_id v = 0; v < part.graph->value_count; v++) {
        const hu_value_info *value = &part.graph->value[v];
        float a[MOST], b[MOST];
        if (value->role != HU_VALUE_PARAMETER) continue;
        hu_value_id w = hu_graph_find(loaded.graph, value->name);
        const float *x = hu_run_param_grad(part.run, v, 0, value->elements, a);
        const float *y = hu_run_param_grad(loaded.run, w, 0, value->elements, b);
        assert_memory_equal(x, y, (size_t)value->elements * sizeof *x);
    }
    close_net(&loaded);
    close_net(&part);
}

static void expect_states(const net *n, const float *rows) {
    float found[STREAMS * NUMBERS];
    hu_run_carried(n->run, found);
    assert_memory_equal(found, rows, sizeof found);
}

/* An evaluation, and a step that is scanned or never ended, change nothing of what a step reads. */
static void others_leave_it_alone(void **state) {
    (void)state;
    float begin[STREAMS * NUMBERS], whole[MOST];
    net n, zero;
    open_net(&n, CARRIED, STEPS, &usual);
    open_net(&zero, ZERO, 2 * STEPS, &usual);
    (void)step(&n, 0, STREAMS);
    hu_run_carried(n.run, begin);
    hu_carried_begin_evaluation(n.run);
    (void)pass_over(&zero, 0, STREAMS, 0, false);
    read_value(&zero, zero.rows, whole);
    for (int64_t u = 0; u < 2; u++) (void)pass_over(&n, 0, STREAMS, u, false);
    float made[MOST];
    read_value(&n, n.rows, made);
    for (int64_t s = 0; s < STREAMS; s++)
        assert_memory_equal(made + s * STEPS * HIDDEN, whole + (2 * s + 1) * STEPS * HIDDEN,
                            STEPS * HIDDEN * sizeof *made);
    hu_carried_end_evaluation(n.run);
    expect_states(&n, begin);
    hu_carried_begin_step(n.run);
    double loss = pass_over(&n, 0, STREAMS, 1, true);
    assert_true(pass_over(&n, 0, STREAMS, 1, true) == loss); /* run again: the same start */
    expect_states(&n, begin);
    close_net(&zero);
    close_net(&n);
}

static void a_stream_that_no_pass_comes_to_stays(void **state) {
    (void)state;
    float begin[STREAMS * NUMBERS], end[STREAMS * NUMBERS];
    net n;
    open_net(&n, CARRIED, STEPS, &usual);
    (void)step(&n, 0, STREAMS);
    hu_run_carried(n.run, begin);
    hu_carried_begin_step(n.run);
    (void)pass_over(&n, 0, 2, 1, true);
    assert_int_equal(hu_carried_settle(n.run, 0, 2, true), 0);
    hu_carried_end_step(n.run);
    hu_run_carried(n.run, end);
    assert_true(memcmp(end, begin, 2 * NUMBERS * sizeof *end) != 0);
    assert_memory_equal(end + 2 * NUMBERS, begin + 2 * NUMBERS, 3 * NUMBERS * sizeof *end);
    close_net(&n);
}

/* Only the stream whose numbers are not finite; all, where a pass had no end. */
static void what_is_not_finite_becomes_zeros(void **state) {
    (void)state;
    float end[STREAMS * NUMBERS];
    net n;
    open_net(&n, CARRIED, STEPS, &usual);
    n.poison = NAN;
    assert_int_equal(step(&n, 0, 2), 1);
    hu_run_carried(n.run, end);
    for (int64_t i = 0; i < STREAMS * NUMBERS; i++)
        assert_true(i / NUMBERS == 2 ? end[i] == 0.0f : end[i] != 0.0f && isfinite(end[i]));
    n.poison = 0;
    hu_carried_begin_step(n.run);
    (void)pass_over(&n, 0, STREAMS, 1, true);
    assert_int_equal(hu_carried_settle(n.run, 1, 2, false), 2);
    hu_carried_end_step(n.run);
    hu_run_carried(n.run, end);
    for (int64_t i = 0; i < STREAMS * NUMBERS; i++)
        assert_true((i / NUMBERS == 1 || i / NUMBERS == 2) == (end[i] == 0.0f));
    close_net(&n);
}

/* Formats that become wider in place, or by another plan, keep the numbers. */
static void other_formats_keep_the_numbers(void **state) {
    (void)state;
    float begin[STREAMS * NUMBERS];
    plan p = usual;
    net n;
    p.format = "e4m3";
    for (int again = 0; again < 2; again++) {
        p.capacity_bits = again ? 0 : 16;
        open_net(&n, CARRIED, STEPS, &p);
        (void)step(&n, 0, STREAMS);
        hu_run_carried(n.run, begin);
        set_format(&n, "fp16");
        if (again)
            must(hu_run_replan(&n.run));
        else
            assert_true(hu_run_requantize(n.run));
        expect_states(&n, begin);
        hu_run_round_parameters(n.run, 0, true);
        hu_carried_begin_step(n.run);
        hu_carried_end_step(n.run);
        expect_states(&n, begin);
        assert_int_equal(n.run->carried[0].storage[n.run->carried_from].row_bytes, 2 * HIDDEN);
        close_net(&n);
    }
}

static void numbers_are_restored(void **state) {
    (void)state;
    float begin[STREAMS * NUMBERS];
    plan p = usual;
    net n, other;
    p.format = "e4m3";
    open_net(&n, CARRIED, STEPS, &p);
    p.storage = HU_STORAGE_FLOAT32;
    open_net(&other, CARRIED, STEPS, &p);
    (void)step(&other, 0, STREAMS);
    hu_run_carried(other.run, begin);
    assert_int_equal(hu_run_restore_carried(n.run, begin), 0);
    expect_states(&n, begin);
    (void)step(&n, 1, STREAMS);
    (void)step(&other, 1, STREAMS);
    hu_run_carried(other.run, begin);
    expect_states(&n, begin);
    begin[7] = 0.3f; /* e4m3 has no such number */
    assert_int_equal(hu_run_restore_carried(n.run, begin), 1);
    for (int i = 0; i < NUMBERS; i++) begin[7 / NUMBERS * NUMBERS + i] = 0.0f;
    expect_states(&n, begin);
    close_net(&other);
    close_net(&n);
}

/* Two readers: which of them says what it becomes? */
static void a_start_has_one_reader(void **state) {
    (void)state;
    const hu_recurrent_form form = {
        .layer = "rnn", .suffix = "_l0", .hidden = HIDDEN, .lengths = HU_NONE, .is_carried = true};
    const hu_shape rows = {2, {STEPS, IN}}, scalar = {0, {0}};
    const hu_recurrent_state begin = {HU_NONE, HU_NONE};
    net n = {.steps = STEPS};
    hu_value_id x, in[2];
    must(hu_graph_create(&n.graph));
    must(hu_graph_input(n.graph, "x", &rows, &x));
    must(hu_graph_target(n.graph, "label", &scalar, &in[1]));
    hu_builder b = {.graph = n.graph};
    (void)hu_build_lstm(&b, &form, x, begin, NULL);
    hu_value_id first = hu_graph_find(n.graph, "rnn_l0.hidden.start.out");
    in[0] = hu_build_node(&b, &hu_op_log_softmax, "lsm", NULL, NULL, 1, &first);
    (void)hu_build_node(&b, &hu_op_nll, "loss", NULL, NULL, 2, in);
    must(b.status);
    assert_int_equal(hu_graph_finish(n.graph), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "rnn_l0.hidden.start.out': found 2 readers"));
    hu_graph_free(n.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_passes_are_one_of_twice_the_steps),
        cmocka_unit_test(narrow_rows_are_packed),
        cmocka_unit_test(the_start_is_a_constant),
        cmocka_unit_test(others_leave_it_alone),
        cmocka_unit_test(a_stream_that_no_pass_comes_to_stays),
        cmocka_unit_test(what_is_not_finite_becomes_zeros),
        cmocka_unit_test(other_formats_keep_the_numbers),
        cmocka_unit_test(numbers_are_restored),
        cmocka_unit_test(a_start_has_one_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
