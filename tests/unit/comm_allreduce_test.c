/* Processes whose messages others carry end with the bits of a training's workers with
 * schedule=pairwise, and know messages that are not theirs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <halfulp/allreduce.h>

#include "base/rng.h"
#include "comm/internal.h"

enum { MOST = 7, LAYERS = 5, ELEMENTS = 200, STEPS = 3, ROOM = 8192 };

/* A large layer, one smaller than most numbers of processes, one that travels in float32, one of
 * zeros, one without elements. */
static const hu_comm_layer layers[LAYERS] = {{"a", 0, 131, false},
                                             {"b", 131, 5, false},
                                             {"c", 136, 40, true},
                                             {"d", 176, 24, false},
                                             {"e", 200, 0, false}};

static const struct {
    const char *format, *scaling;
    hu_rounding rounding;
    bool kahan;
} cases[] = {{"e5m2", "aps", HU_ROUND_NEAREST_EVEN, false},
             {"e5m2", "none", HU_ROUND_NEAREST_EVEN, false},
             {"e5m2", "none", HU_ROUND_NEAREST_EVEN, true},
             {"e4m3fn", "aps", HU_ROUND_STOCHASTIC, false},
             {"e4m3fn", "aps-wide", HU_ROUND_NEAREST_EVEN, false},
             {"e4m3", "aps2", HU_ROUND_STOCHASTIC, false},
             {"e3m0", "aps-tight", HU_ROUND_NEAREST_EVEN, false},
             {"e2m1:ovf=sat", "aps2", HU_ROUND_NEAREST_EVEN, false},
             {"fp16", "constant:10", HU_ROUND_TOWARD_ZERO, true},
             {"1/6/9", "aps", HU_ROUND_NEAREST_EVEN, false},
             {"e5m12", "aps", HU_ROUND_STOCHASTIC, false},
             {"fp32", "none", HU_ROUND_NEAREST_EVEN, false},
             {"e5m2", "terngrad", HU_ROUND_NEAREST_EVEN, false},
             {"e5m2", "qsgd:4/16", HU_ROUND_NEAREST_EVEN, false},
             {"e5m2", "flex16+5", HU_ROUND_NEAREST_EVEN, false}};
enum { CASES = sizeof cases / sizeof *cases };

/* Gradients of a step; in the last one some are not finite. */
static void fill(float gradient[MOST][ELEMENTS], int32_t workers, int step) {
    for (int32_t w = 0; w < workers; w++)
        for (int32_t i = 0; i < ELEMENTS; i++) {
            hu_random_key key = {1, 2, (uint64_t)(w + MOST * step)};
            double normal = (double)hu_random_normal(&key, (uint64_t)i);
            gradient[w][i] = i >= 176 ? 0.0f : (float)ldexp(normal * 0.003, i % 9 - 4);
        }
    if (step < STEPS - 1) return;
    gradient[0][133] = INFINITY;
    gradient[workers - 1][140] = NAN;
}

/* ---- all processes in this one ---- */

typedef struct job {
    hu_allreduce_options options;
    hu_allreduce *process[MOST];
    float x[MOST][ELEMENTS];
    uint8_t told[MOST][ROOM], parts[MOST][ROOM], heard[MOST][ROOM], sums[MOST][ROOM];
} job;

static void open_job(job *j, size_t c, int32_t workers, bool feedback) {
    hu_allreduce_layer layer[LAYERS];
    for (int l = 0; l < LAYERS; l++)
        layer[l] = (hu_allreduce_layer){layers[l].name, layers[l].elements, layers[l].exact};
    j->options = (hu_allreduce_options){.size = sizeof j->options,
                                        .workers = workers,
                                        .format = cases[c].format,
                                        .scaling = cases[c].scaling,
                                        .rounding = cases[c].rounding,
                                        .kahan = cases[c].kahan,
                                        .error_feedback = feedback,
                                        .seed = 7};
    for (int32_t w = 0; w < workers; w++) {
        j->options.rank = w;
        if (hu_allreduce_open(&j->options, layer, LAYERS, &j->process[w]) != HU_OK)
            fail_msg("case %zu: %s", c, hu_last_error());
    }
}

static void close_job(job *j) {
    for (int32_t w = 0; w < j->options.workers; w++) hu_allreduce_close(j->process[w]);
}

/* An all-gather of what is told, and roundings. */
static void begin_and_round(job *j, uint64_t step) {
    int32_t workers = j->options.workers;
    size_t row = hu_allreduce_told_bytes(j->process[0]);
    assert_true(row * (size_t)workers <= ROOM);
    for (int32_t w = 0; w < workers; w++)
        assert_int_equal(
            hu_allreduce_begin(j->process[w], step, j->x[w], j->told[0] + (size_t)w * row), HU_OK);
    for (int32_t w = 0; w < workers; w++)
        assert_int_equal(hu_allreduce_round(j->process[w], j->told[0], j->parts[w]), HU_OK);
}

/* The all-to-all: message number i of each reaches process i. */
static void exchange(job *j) {
    int32_t workers = j->options.workers;
    for (int32_t from = 0; from < workers; from++) {
        const uint8_t *message = j->parts[from];
        for (int32_t to = 0; to < workers; to++) {
            if (to == from) continue;
            size_t bytes = hu_allreduce_part_bytes(j->process[from], to);
            memcpy(j->heard[to] + (size_t)(from - (from > to)) * bytes, message, bytes);
            message += bytes;
        }
    }
}

static void add_and_end(job *j) {
    int32_t workers = j->options.workers;
    for (int32_t w = 0; w < workers; w++) {
        assert_true(hu_allreduce_sum_bytes(j->process[0], w) <= ROOM);
        assert_int_equal(hu_allreduce_add(j->process[w], j->heard[w], j->sums[w]), HU_OK);
    }
    for (int32_t w = 0; w < workers; w++)
        assert_int_equal(hu_allreduce_end(j->process[w], j->sums, ROOM), HU_OK);
}

/* ---- against workers of a training ---- */

typedef struct model {
    hu_comm_plan *plan;
    hu_comm_emulated *emulated;
    float x[MOST][ELEMENTS];
} model;

static void open_model(model *m, const job *j) {
    float *gradient[MOST];
    hu_comm_options options = {.workers = j->options.workers,
                               .rounding = j->options.rounding,
                               .kahan = j->options.kahan,
                               .error_feedback = j->options.error_feedback,
                               .seed = 7,
                               .bucket_bytes = 1};
    assert_int_equal(hu_comm_schedule_parse("pairwise", &options.schedule, &options.group), HU_OK);
    assert_int_equal(hu_comm_scaling_parse(j->options.scaling, &options.scaling, &options.constant),
                     HU_OK);
    assert_int_equal(hu_format_parse(j->options.format, &options.format), HU_OK);
    for (int w = 0; w < MOST; w++) gradient[w] = m->x[w];
    assert_int_equal(hu_comm_plan_create(&options, layers, LAYERS, &m->plan), HU_OK);
    assert_int_equal(hu_comm_emulated_create(m->plan, gradient, 1, &m->emulated), HU_OK);
}

static void compare(const job *j, const model *m, const char *what) {
    for (int32_t w = 0; w < j->options.workers; w++) {
        const hu_comm_worker *worker = hu_comm_emulated_worker(m->emulated, w);
        if (memcmp(j->x[w], m->x[w], sizeof j->x[w]) != 0)
            for (int i = 0; i < ELEMENTS; i++)
                if (memcmp(&j->x[w][i], &m->x[w][i], sizeof(float)) != 0)
                    fail_msg("%s, process %d of %d: [%d] is %a, expected %a", what, w,
                             j->options.workers, i, (double)j->x[w][i], (double)m->x[w][i]);
        for (int32_t kind = 0; kind < HU_ALLREDUCE_LOSSES; kind++) {
            const float *lost = hu_allreduce_lost(j->process[w], kind);
            const float *expected = hu_comm_worker_loss(worker, kind);
            assert_int_equal(lost != NULL, expected != NULL);
            if (lost) assert_memory_equal(lost, expected, sizeof j->x[w]);
        }
        for (size_t l = 0; l < LAYERS; l++) {
            hu_round_counts rounded, added;
            assert_int_equal(hu_allreduce_counts(j->process[w], l, &rounded, &added), HU_OK);
            const hu_comm_counts *counts = &hu_comm_worker_counts(worker)[l];
            assert_memory_equal(&rounded, &counts->rounded, sizeof rounded);
            assert_memory_equal(&added, &counts->added, sizeof added);
        }
    }
}

static void sums_are_those_of_pairwise(void **state) {
    (void)state;
    static job j;
    static model m;
    static const int32_t workers[] = {1, 2, 3, 4, 7};
    for (size_t a = 0; a < CASES * 5 * 2; a++) {
        size_t c = a / 10;
        open_job(&j, c, workers[a / 2 % 5], a % 2);
        open_model(&m, &j);
        for (int step = 0; step < STEPS; step++) {
            fill(j.x, j.options.workers, step);
            memcpy(m.x, j.x, sizeof m.x);
            begin_and_round(&j, (uint64_t)step + 40);
            exchange(&j);
            add_and_end(&j);
            assert_int_equal(hu_comm_emulated_run(m.emulated, (uint64_t)step + 40), HU_OK);
            compare(&j, &m, cases[c].scaling);
        }
        hu_comm_emulated_free(m.emulated);
        hu_comm_plan_free(m.plan);
        close_job(&j);
    }
}

/* What a checkpoint keeps is all that a handle has of the steps before. */
static void losses_are_all_that_is_kept(void **state) {
    (void)state;
    static job a, b;
    for (size_t c = 0; c < CASES; c++) {
        open_job(&a, c, 3, true);
        open_job(&b, c, 3, true);
        for (int step = 0; step < 2; step++) {
            fill(a.x, 3, step);
            memcpy(b.x, a.x, sizeof b.x);
            begin_and_round(&a, (uint64_t)step);
            exchange(&a);
            add_and_end(&a);
            for (int w = 0; w < 3 && step == 0; w++)
                for (int kind = 0; kind < HU_ALLREDUCE_LOSSES; kind++) {
                    const float *kept = hu_allreduce_lost(a.process[w], kind);
                    if (kept) memcpy(hu_allreduce_lost(b.process[w], kind), kept, sizeof a.x[w]);
                }
        }
        begin_and_round(&b, 1);
        exchange(&b);
        add_and_end(&b);
        assert_memory_equal(a.x, b.x, 3 * sizeof a.x[0]);
        close_job(&a);
        close_job(&b);
    }
}

/* ---- bytes and texts ---- */

/* A code of 8 bits is a byte, beside the head of a message and an exponent of a layer. */
static void bytes_are_a_quarter_of_those_of_float32(void **state) {
    (void)state;
    enum { N = 4000 };
    static const hu_allreduce_layer layer = {"w", N, 0};
    const hu_allreduce_options options = {
        .size = sizeof options, .workers = 4, .format = "e5m2", .scaling = "aps"};
    hu_allreduce *made;
    assert_int_equal(hu_allreduce_open(&options, &layer, 1, &made), HU_OK);
    assert_int_equal(hu_allreduce_told_bytes(made), 1);
    for (int32_t w = 0; w < 4; w++) {
        assert_int_equal(hu_allreduce_part_bytes(made, w), N / 4 + sizeof(hu_comm_header));
        assert_int_equal(hu_allreduce_sum_bytes(made, w), N / 4 + sizeof(hu_comm_header));
    }
    hu_allreduce_close(made);
}

static void check_text(const char *format, const char *scaling, const char *expected) {
    static const hu_allreduce_layer layer = {"w", 1, 0};
    char text[256], whole[256];
    const hu_allreduce_options options = {.size = sizeof options,
                                          .workers = 4,
                                          .format = format,
                                          .scaling = scaling,
                                          .error_feedback = 1,
                                          .seed = 5};
    hu_allreduce *made;
    assert_int_equal(hu_allreduce_open(&options, &layer, 1, &made), HU_OK);
    hu_allreduce_print(made, text, sizeof text);
    snprintf(whole, sizeof whole, "%s rounding=rne kahan=off error_feedback=on seed=5 workers=4",
             expected);
    assert_string_equal(text, whole);
    hu_allreduce_close(made);
}

static void settings_have_one_text(void **state) {
    (void)state;
    check_text("E5M2", "aps", "format=e5m2 scaling=aps");
    check_text("e6m9", "constant:-3", "format=1/6/9/d scaling=constant:-3");
    check_text("e5m2", "terngrad:2.5", "scaling=terngrad");
    check_text("fp16", "qsgd:8/64", "scaling=qsgd:8/64");
}

/* ---- what is refused ---- */

static void check_corrupt(hu_status st, const char *text) {
    assert_int_equal(st, HU_ERR_CORRUPT);
    if (!strstr(hu_last_error(), text))
        fail_msg("found '%s', expected '%s'", hu_last_error(), text);
}

static void messages_of_others_are_known(void **state) {
    (void)state;
    static job j;
    open_job(&j, 0, 3, true);
    fill(j.x, 3, 0);
    begin_and_round(&j, 8);
    exchange(&j);
    j.heard[1][hu_allreduce_part_bytes(j.process[1], 1) + 60] ^= 1; /* of process 2 */
    check_corrupt(hu_allreduce_add(j.process[1], j.heard[1], j.sums[1]),
                  "gradient of process 2 at process 1: ");
    /* One process is a step behind. */
    fill(j.x, 3, 0);
    begin_and_round(&j, 9);
    exchange(&j);
    assert_int_equal(hu_allreduce_begin(j.process[0], 8, j.x[0], j.told[0]), HU_OK);
    assert_int_equal(hu_allreduce_round(j.process[0], j.told[0], j.parts[0]), HU_OK);
    check_corrupt(hu_allreduce_add(j.process[0], j.heard[0], j.sums[0]),
                  "process 0: message: found step 9, bucket 0, place 0, expected step 8");
    /* A sum that is damaged on its way. */
    fill(j.x, 3, 0);
    begin_and_round(&j, 10);
    exchange(&j);
    for (int w = 0; w < 3; w++)
        assert_int_equal(hu_allreduce_add(j.process[w], j.heard[w], j.sums[w]), HU_OK);
    j.sums[2][50] ^= 4;
    check_corrupt(hu_allreduce_end(j.process[0], j.sums, ROOM), "sum of process 2 at process 0: ");
    assert_int_equal(hu_allreduce_end(j.process[2], j.sums, ROOM), HU_OK);
    close_job(&j);
}

static void check_refused(hu_status st, const char *text) {
    assert_int_equal(st, HU_ERR_ARGUMENT);
    if (strcmp(hu_last_error(), text) != 0)
        fail_msg("found '%s', expected '%s'", hu_last_error(), text);
}

static void calls_have_an_order(void **state) {
    (void)state;
    static job j;
    open_job(&j, 0, 2, false);
    fill(j.x, 2, 0);
    check_refused(hu_allreduce_round(j.process[0], j.told[0], j.parts[0]),
                  "hu_allreduce_round: found no hu_allreduce_begin before it, expected "
                  "hu_allreduce_begin");
    begin_and_round(&j, 1);
    check_refused(hu_allreduce_round(j.process[0], j.told[0], j.parts[0]),
                  "hu_allreduce_round: found hu_allreduce_round before it, expected "
                  "hu_allreduce_begin");
    check_refused(hu_allreduce_end(j.process[0], j.sums, ROOM),
                  "hu_allreduce_end: found hu_allreduce_round before it, expected "
                  "hu_allreduce_add");
    exchange(&j);
    for (int w = 0; w < 2; w++)
        assert_int_equal(hu_allreduce_add(j.process[w], j.heard[w], j.sums[w]), HU_OK);
    char text[128];
    snprintf(text, sizeof text,
             "hu_allreduce_end: stride is 41, expected at least %zu, the bytes of process 1's sum",
             hu_allreduce_sum_bytes(j.process[0], 1));
    check_refused(hu_allreduce_end(j.process[0], j.sums, 41), text);
    assert_int_equal(hu_allreduce_end(j.process[0], j.sums, ROOM), HU_OK);
    close_job(&j);
}

static void options_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const hu_allreduce_layer layer = {"w", 1, 0};
    const hu_allreduce_options usual = {
        .size = sizeof usual, .workers = 2, .format = "e5m2", .scaling = "aps"};
    hu_allreduce_options options = usual;
    hu_allreduce *made;
    options.format = "e5m99";
    assert_int_equal(hu_allreduce_open(&options, &layer, 1, &made), HU_ERR_FORMAT);
    options = usual;
    options.scaling = "apss";
    assert_int_equal(hu_allreduce_open(&options, &layer, 1, &made), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "aps-tight"));
    options.scaling = "aps2";
    options.kahan = 1;
    assert_int_equal(hu_allreduce_open(&options, &layer, 1, &made), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "kahan with scaling aps2"));
    assert_null(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_pairwise),
        cmocka_unit_test(losses_are_all_that_is_kept),
        cmocka_unit_test(bytes_are_a_quarter_of_those_of_float32),
        cmocka_unit_test(settings_have_one_text),
        cmocka_unit_test(messages_of_others_are_known),
        cmocka_unit_test(calls_have_an_order),
        cmocka_unit_test(options_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
