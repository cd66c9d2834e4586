/* Advice upon a network: which ways are tried, what they cost, where few bits pay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "comm/cost_model.h"
#include "comm/internal.h"
#include "comm/plan.h"

static const hu_comm_layer layers[] = {
    {"a", 0, 40000, false}, {"b", 40000, 100, false}, {"c", 40100, 9900, true}};
enum { LAYERS = 3, ELEMENTS = 50000, CHOICES_MOST = 4 };

typedef struct asked {
    hu_comm_choice choice[CHOICES_MOST];
    hu_comm_question question;
} asked;

/* A question about formats that cost nothing; 8 nodes, 10 Gbit/s, 10 us. */
static void ask(asked *a, const char *scaling, int32_t nodes, int formats,
                const char *const *format) {
    int32_t constant;
    memset(a, 0, sizeof *a);
    for (int i = 0; i < formats; i++)
        assert_int_equal(hu_format_parse(format[i], &a->choice[i].format), HU_OK);
    a->question = (hu_comm_question){.nodes = nodes,
                                     .link = {1e10, 1e-5},
                                     .layer = layers,
                                     .layers = LAYERS,
                                     .bucket_bytes = 160000,
                                     .choice = a->choice,
                                     .choices = formats};
    assert_int_equal(hu_comm_scaling_parse(scaling, &a->question.scaling, &constant), HU_OK);
}

static const char *const usual[] = {"fp32", "fp16", "e5m2"};

static void groups_are_near_the_root(void **state) {
    (void)state;
    static const int32_t rows[][2] = {{256, 16}, {128, 8}, {12, 3}, {6, 2}, {4, 2},
                                      {7, 0},    {2, 0},   {1, 0},  {10, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(hu_comm_usual_group(rows[i][0]), rows[i][1]);
}

/* Every schedule, by layer, bucket and whole, in every format. */
static void all_ways_are_tried(void **state) {
    (void)state;
    static const char *const names[] = {"seq", "ring", "hier", "hier2d", "halving", "pairwise"};
    asked a;
    hu_comm_advice advice;
    ask(&a, "aps", 8, 3, usual);
    assert_int_equal(hu_comm_advise(&a.question, &advice), HU_OK);
    assert_int_equal(advice.count, 6 * HU_COMM_FUSIONS * 3);
    for (int32_t i = 0; i < advice.count; i++) {
        const hu_comm_answer *answer = &advice.answer[i];
        assert_string_equal(answer->options.schedule->name, names[i / 9]);
        assert_int_equal(answer->fusion, i / 3 % 3);
        assert_int_equal(answer->is_narrow, i % 3 == 2);
        assert_string_equal(answer->options.scaling->name, i % 3 == 2 ? "aps" : "none");
        assert_true(answer->work_seconds == 0.0);
        assert_int_equal(answer->options.group,
                         names[i / 9][0] == 'h' && names[i / 9][1] == 'i' ? 2 : 0);
    }
    hu_comm_advice_free(&advice);
}

/* A number of nodes without divisors has no groups. */
static void ways_that_do_not_fit_are_left_out(void **state) {
    (void)state;
    asked a;
    hu_comm_advice advice;
    ask(&a, "aps", 7, 3, usual);
    assert_int_equal(hu_comm_advise(&a.question, &advice), HU_OK);
    assert_int_equal(advice.count, 4 * HU_COMM_FUSIONS * 3);
    hu_comm_advice_free(&advice);
}

/* Sums in float32 have no partial sums that travel; formats without a scaling do not care. So what
 * few bits must beat does not hang on the scaling. */
static void scalings_leave_wide_formats_their_ways(void **state) {
    (void)state;
    static const char *const scalings[] = {"none", "aps", "aps-wide", "aps2"};
    double wide = 0.0;
    for (int s = 0; s < 4; s++) {
        asked a;
        hu_comm_advice advice;
        ask(&a, scalings[s], 8, 3, usual);
        assert_int_equal(hu_comm_advise(&a.question, &advice), HU_OK);
        assert_int_equal(advice.count, 6 * HU_COMM_FUSIONS * 3);
        for (int32_t i = 0; i < advice.count; i++) {
            const hu_comm_answer *answer = &advice.answer[i];
            assert_int_equal(answer->is_missing,
                             s >= 2 && answer->is_narrow && answer->options.schedule->adds_on_way);
            assert_false(answer->is_missing && answer->pays);
        }
        assert_false(advice.narrow->is_missing);
        assert_true(advice.wide->options.schedule->adds_on_way);
        if (s == 0) wide = hu_comm_answer_seconds(advice.wide);
        assert_true(hu_comm_answer_seconds(advice.wide) == wide);
        hu_comm_advice_free(&advice);
    }
}

/* Few bits pay on a slow link; not on one that is all latency, where agreeing costs more than the
 * bytes, nor where their work costs too much. */
static void few_bits_pay_where_bytes_cost(void **state) {
    (void)state;
    asked a;
    hu_comm_advice advice;
    static const struct {
        hu_comm_link link;
        double work; /* seconds per number */
        bool pays;
    } rows[] = {{{1e8, 1e-6}, 0.0, true}, {{1e13, 1e-3}, 0.0, false}, {{1e8, 1e-6}, 1e-6, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ask(&a, "aps", 8, 3, usual);
        a.question.link = rows[i].link;
        a.choice[2].rates.quantise = rows[i].work;
        assert_int_equal(hu_comm_advise(&a.question, &advice), HU_OK);
        for (int32_t k = 0; k < advice.count; k++) {
            const hu_comm_answer *answer = &advice.answer[k];
            bool is_whole_ring =
                answer->fusion == HU_COMM_WHOLE && !strcmp(answer->options.schedule->name, "ring");
            if (!answer->is_narrow) assert_false(answer->pays);
            if (answer->is_narrow && is_whole_ring) assert_int_equal(answer->pays, rows[i].pays);
        }
        assert_int_equal(hu_comm_answer_seconds(advice.narrow) <
                             hu_comm_answer_seconds(advice.wide),
                         rows[i].pays);
        hu_comm_advice_free(&advice);
    }
}

/* The fastest way is no way where every number becomes zero. */
static void lost_numbers_are_not_fast(void **state) {
    (void)state;
    static const char *const formats[] = {"fp32", "e3m0"};
    asked a;
    hu_comm_advice advice;
    ask(&a, "aps", 64, 2, formats);
    assert_int_equal(hu_comm_advise(&a.question, &advice), HU_OK);
    assert_null(advice.narrow);
    for (int32_t i = 0; i < advice.count; i++) {
        assert_int_equal(advice.answer[i].all_zero, i % 2 == 1);
        assert_false(advice.answer[i].pays);
    }
    hu_comm_advice_free(&advice);
    ask(&a, "aps2", 64, 2, formats);
    assert_int_equal(hu_comm_advise(&a.question, &advice), HU_OK);
    assert_non_null(advice.narrow);
    hu_comm_advice_free(&advice);
}

static hu_comm_plan *plan_of(const hu_comm_answer *answer) {
    hu_comm_plan *plan;
    assert_int_equal(hu_comm_plan_create(&answer->options, layers, LAYERS, &plan), HU_OK);
    return plan;
}

/* Additions of 50,000 numbers by 8 workers in a ring: 7 pieces of 8; of an exchange: 8 summands
 * of one piece; in turn: 8 of all. Sent are 2 x 7 pieces, or the whole to 7 others. */
static void work_is_counted_on_the_list(void **state) {
    (void)state;
    static const double added[] = {8.0, 7.0 / 8, 0, 0, 7.0 / 8, 1.0};
    static const double sent[] = {7.0, 14.0 / 8, 0, 0, 14.0 / 8, 14.0 / 8};
    asked a;
    hu_comm_advice advice;
    ask(&a, "aps", 8, 3, usual);
    a.choice[1].rates =
        (hu_comm_rates){.quantise = 1e-3, .decode = 2e-3, .move = 3e-3, .add = 4e-3};
    assert_int_equal(hu_comm_advise(&a.question, &advice), HU_OK);
    for (int s = 0; s < 6; s++) {
        if (added[s] == 0) continue; /* groups add at two levels */
        double wanted = ELEMENTS * (3e-3 + 3e-3 * sent[s] + 4e-3 * added[s]);
        double found = advice.answer[s * 9 + 7].work_seconds;
        assert_true(fabs(found / wanted - 1.0) < 1e-12);
    }
    hu_comm_advice_free(&advice);
}

/* Of all workers, the first has the most additions, messages and memory: it stands for them. */
static void the_first_worker_has_the_most_to_do(void **state) {
    (void)state;
    asked a;
    hu_comm_advice advice;
    for (int32_t nodes = 2; nodes <= 12; nodes++) {
        ask(&a, "aps", nodes, 3, usual);
        assert_int_equal(hu_comm_advise(&a.question, &advice), HU_OK);
        for (int32_t i = 2; i < advice.count; i += 3) {
            assert_false(advice.answer[i].is_missing);
            hu_comm_plan *plan = plan_of(&advice.answer[i]);
            int64_t most_added = 0;
            for (int32_t rank = 0; rank < nodes; rank++) {
                hu_comm_list list;
                int64_t added = 0;
                assert_int_equal(
                    hu_comm_list_make(plan->options.schedule, &plan->shape, rank, &list), HU_OK);
                for (int32_t k = 0; k < list.count; k++) {
                    if (list.action[k].act == HU_COMM_ADD) added += list.action[k].count;
                    if (list.action[k].act == HU_COMM_COMBINE)
                        added += list.action[k].count * list.action[k].slots;
                }
                if (rank == 0) most_added = added;
                assert_true(added <= most_added);
                /* Pieces of a number of elements that they do not divide differ by one. */
                assert_true(hu_comm_worker_bytes(plan, &list) <=
                            advice.answer[i].memory_bytes + (uint64_t)nodes * LAYERS * 64);
                hu_comm_list_free(&list);
            }
            hu_comm_plan_free(plan);
        }
        hu_comm_advice_free(&advice);
    }
}

/* What is told is what a worker allocates, but for its lists and tables. */
static void memory_is_what_a_worker_takes(void **state) {
    (void)state;
    static float gradient[ELEMENTS];
    asked a;
    hu_comm_advice advice;
    for (int feedback = 0; feedback < 2; feedback++) {
        ask(&a, "aps2", 8, 3, usual);
        assert_int_equal(hu_comm_advise(&a.question, &advice), HU_OK);
        for (int32_t i = 0; i < advice.count; i++) {
            if (advice.answer[i].is_missing) continue;
            advice.answer[i].options.error_feedback = feedback;
            hu_comm_plan *plan = plan_of(&advice.answer[i]);
            hu_comm_worker *worker;
            uint64_t before = hu_memory_count().live_bytes;
            assert_int_equal(hu_comm_worker_create(plan, 0, gradient, &worker), HU_OK);
            const hu_comm_list *list = hu_comm_worker_list(worker);
            uint64_t taken = hu_memory_count().live_bytes - before;
            uint64_t told = hu_comm_worker_bytes(plan, list);
            uint64_t tables = list->capacity * sizeof *list->action + 4096;
            assert_true(taken >= told && taken <= told + tables);
            hu_comm_worker_free(worker);
            hu_comm_plan_free(plan);
        }
        hu_comm_advice_free(&advice);
    }
}

/* Positive, and below a microsecond per number on any machine that runs the tests. */
static void rates_are_measured(void **state) {
    (void)state;
    hu_format format;
    hu_wire wire;
    hu_comm_rates rates;
    assert_int_equal(hu_format_parse("e5m2", &format), HU_OK);
    assert_int_equal(hu_wire_init(&wire, &format, HU_ROUND_NEAREST_EVEN), HU_OK);
    assert_int_equal(hu_comm_rates_measure(&wire, &rates), HU_OK);
    const double all[] = {rates.quantise, rates.decode, rates.move, rates.add};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_true(all[i] > 0.0 && all[i] < 1e-6);
}

static void memory_may_end(void **state) {
    (void)state;
    asked a;
    hu_comm_advice advice;
    uint64_t before = hu_memory_count().live_blocks;
    hu_status st = HU_ERR_MEMORY;
    ask(&a, "aps", 3, 1, usual);
    for (uint64_t nth = 1; st != HU_OK; nth++) {
        hu_memory_fail_at(nth);
        st = hu_comm_advise(&a.question, &advice);
        hu_memory_fail_at(0);
        assert_true(st == HU_OK || st == HU_ERR_MEMORY);
        if (st == HU_OK) hu_comm_advice_free(&advice);
        assert_int_equal(hu_memory_count().live_blocks, before);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_near_the_root),
        cmocka_unit_test(all_ways_are_tried),
        cmocka_unit_test(ways_that_do_not_fit_are_left_out),
        cmocka_unit_test(scalings_leave_wide_formats_their_ways),
        cmocka_unit_test(few_bits_pay_where_bytes_cost),
        cmocka_unit_test(lost_numbers_are_not_fast),
        cmocka_unit_test(work_is_counted_on_the_list),
        cmocka_unit_test(the_first_worker_has_the_most_to_do),
        cmocka_unit_test(memory_is_what_a_worker_takes),
        cmocka_unit_test(rates_are_measured),
        cmocka_unit_test(memory_may_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
