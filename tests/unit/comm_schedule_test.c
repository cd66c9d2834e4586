/* Schedules: what is sent is received, and every worker ends with every summand exactly once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/plan.h"

/* Numbers of a schedule's steps as the paper counts them. */
static int32_t expected_steps(const char *name, int32_t p, int32_t k) {
    int32_t folds = 0, levels = 0, core = 1;
    while (core <= p / 2) core *= 2, levels++;
    if (core != p) folds = 2;
    if (!strcmp(name, "hier")) return 4 * (k - 1) + 2 * (p / k - 1);
    if (!strcmp(name, "hier2d")) return 2 * (k - 1) + 2 * (p / k - 1);
    if (!strcmp(name, "halving")) return 2 * levels + folds;
    return 2 * (p - 1);
}

/* held[worker][piece][summand]: how often the worker's sum of the piece has a worker's gradient. */
typedef struct walk {
    int32_t workers, pieces;
    int *held, *slots;
    hu_comm_list *list;
    int32_t *at;
} walk;

static int *held(const walk *w, int32_t worker, int32_t piece) {
    return w->held + ((size_t)worker * (size_t)w->pieces + (size_t)piece) * (size_t)w->workers;
}

/* Slots of a worker are as many as there are workers. */
static int *slot(const walk *w, int32_t worker, int32_t number, int32_t piece) {
    size_t workers = (size_t)w->workers;
    return w->slots +
           (((size_t)worker * workers + (size_t)number) * (size_t)w->pieces + (size_t)piece) *
               workers;
}

static void combine(const walk *w, int32_t worker, const hu_comm_action *action) {
    for (int32_t p = action->first; p < action->first + action->count; p++)
        for (int32_t s = 0; s < action->slots; s++)
            for (int32_t v = 0; v < w->workers && s != action->slot; v++)
                held(w, worker, p)[v] += slot(w, worker, s, p)[v];
}

/* sent: the message of the peer in this step. */
static void receive(const walk *w, int32_t worker, const hu_comm_action *action,
                    const hu_comm_action *sent, const int *before) {
    assert_non_null(sent);
    assert_int_equal(sent->peer, worker);
    assert_int_equal(sent->first, action->first);
    assert_int_equal(sent->count, action->count);
    for (int32_t p = action->first; p < action->first + action->count; p++)
        for (int32_t v = 0; v < w->workers; v++) {
            int got =
                before[((size_t)action->peer * (size_t)w->pieces + (size_t)p) * (size_t)w->workers +
                       (size_t)v];
            int *own = &held(w, worker, p)[v];
            if (action->act == HU_COMM_TAKE) *own = got;
            if (action->act == HU_COMM_ADD) *own += got;
            if (action->act == HU_COMM_KEEP) slot(w, worker, action->slot, p)[v] = got;
        }
}

/* One step of all workers: what is sent is what was held before. */
static void run_step(walk *w, int32_t step, int *before, const hu_comm_action **sent) {
    size_t numbers = (size_t)w->workers * (size_t)w->pieces * (size_t)w->workers;
    memcpy(before, w->held, numbers * sizeof *before);
    for (int32_t r = 0; r < w->workers; r++) {
        const hu_comm_list *list = &w->list[r];
        const hu_comm_action *action = &list->action[w->at[r]];
        sent[r] = NULL;
        if (w->at[r] == list->count || action->step > step || action->act != HU_COMM_SEND) continue;
        assert_int_equal(action->step, step);
        sent[r] = action;
        w->at[r]++;
    }
    for (int32_t r = 0; r < w->workers; r++)
        for (; w->at[r] < w->list[r].count && w->list[r].action[w->at[r]].step <= step;
             w->at[r]++) {
            const hu_comm_action *action = &w->list[r].action[w->at[r]];
            assert_int_not_equal(action->act, HU_COMM_SEND);
            if (action->act == HU_COMM_COMBINE)
                combine(w, r, action);
            else
                receive(w, r, action, sent[action->peer], before);
        }
}

static void check(const hu_comm_schedule *schedule, hu_comm_shape shape) {
    walk w = {.workers = shape.workers, .pieces = schedule->pieces(&shape)};
    size_t workers = (size_t)w.workers, pieces = (size_t)w.pieces;
    w.held = calloc(workers * pieces * workers, sizeof *w.held);
    w.slots = calloc(workers * workers * pieces * workers, sizeof *w.slots);
    w.list = calloc(workers, sizeof *w.list);
    w.at = calloc(workers, sizeof *w.at);
    int *before = calloc(workers * pieces * workers, sizeof *before);
    const hu_comm_action **sent = calloc(workers, sizeof *sent);
    for (int32_t r = 0; r < w.workers; r++) {
        assert_int_equal(hu_comm_list_make(schedule, &shape, r, &w.list[r]), HU_OK);
        assert_int_equal(w.list[r].steps,
                         expected_steps(schedule->name, shape.workers, shape.group));
        for (int32_t p = 0; p < w.pieces; p++) held(&w, r, p)[r] = 1;
    }
    for (int32_t s = -1; s < w.list[0].steps; s++) run_step(&w, s, before, sent);
    for (int32_t r = 0; r < w.workers; r++) {
        assert_int_equal(w.at[r], w.list[r].count);
        for (int32_t p = 0; p < w.pieces; p++)
            for (int32_t v = 0; v < w.workers; v++)
                if (held(&w, r, p)[v] != 1)
                    fail_msg("%s:%d of %d: worker %d has piece %d of worker %d %d times",
                             schedule->name, shape.group, shape.workers, r, p, v,
                             held(&w, r, p)[v]);
        hu_comm_list_free(&w.list[r]);
    }
    free(w.held), free(w.slots), free(w.list), free(w.at), free(before), free(sent);
}

static void everyone_gets_every_summand_once(void **state) {
    (void)state;
    const hu_comm_schedule *schedule;
    for (size_t i = 0; (schedule = hu_comm_schedule_at(i)); i++)
        for (int32_t workers = 1; workers <= 13; workers++)
            for (int32_t group = 1; group <= (schedule->has_groups ? workers : 1); group++)
                for (int wide = 0; wide < (schedule->adds_on_way ? 1 : 2); wide++)
                    if (workers % group == 0)
                        check(schedule, (hu_comm_shape){workers, group, wide != 0});
}

static void the_paper_counts_510_and_90_steps(void **state) {
    (void)state;
    hu_comm_list list;
    hu_comm_shape shape = {256, 16, false};
    assert_int_equal(hu_comm_list_make(&hu_comm_schedule_ring, &shape, 5, &list), HU_OK);
    assert_int_equal(list.steps, 510);
    hu_comm_list_free(&list);
    assert_int_equal(hu_comm_list_make(&hu_comm_schedule_hier, &shape, 5, &list), HU_OK);
    assert_int_equal(list.steps, 90);
    hu_comm_list_free(&list);
}

/* The numbers of a tensor are in one piece each, whatever its size. */
static void pieces_cover_every_element(void **state) {
    (void)state;
    for (int64_t n = 0; n < 40; n++)
        for (int32_t pieces = 1; pieces < 20; pieces++) {
            assert_int_equal(hu_comm_edge(n, 0, pieces), 0);
            assert_int_equal(hu_comm_edge(n, pieces, pieces), n);
            for (int32_t p = 0; p < pieces; p++)
                assert_true(hu_comm_edge(n, p, pieces) <= hu_comm_edge(n, p + 1, pieces));
        }
    assert_int_equal(hu_comm_edge(INT64_MAX, 1 << 30, 1 << 30), INT64_MAX);
}

static void texts_are_read_and_written(void **state) {
    (void)state;
    const hu_comm_schedule *schedule;
    int32_t group;
    char text[32];
    assert_int_equal(hu_comm_schedule_parse("hier:16", &schedule, &group), HU_OK);
    assert_int_equal(group, 16);
    hu_comm_schedule_print(schedule, group, text, sizeof text);
    assert_string_equal(text, "hier:16");
    assert_int_equal(hu_comm_schedule_parse("ring", &schedule, &group), HU_OK);
    assert_string_equal(schedule->name, "ring");
    assert_int_equal(hu_comm_schedule_parse("rnig", &schedule, &group), HU_ERR_UNKNOWN);
    assert_non_null(
        strstr(hu_last_error(), "expected seq, ring, hier:K, hier2d:K, halving or pairwise"));
    assert_int_equal(hu_comm_schedule_parse("hier", &schedule, &group), HU_ERR_PARSE);
    assert_int_equal(hu_comm_schedule_parse("hier:0", &schedule, &group), HU_ERR_PARSE);
    assert_int_equal(hu_comm_schedule_parse("hier:x", &schedule, &group), HU_ERR_PARSE);
    assert_int_equal(hu_comm_schedule_parse("ring:2", &schedule, &group), HU_ERR_PARSE);
}

static void shapes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    hu_comm_shape odd = {10, 4, false}, none = {0, 1, false}, wide = {4, 2, true};
    assert_int_equal(hu_comm_schedule_check(&hu_comm_schedule_hier, &odd), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "10 workers"));
    assert_int_equal(hu_comm_schedule_check(&hu_comm_schedule_ring, &none), HU_ERR_ARGUMENT);
    assert_int_equal(hu_comm_schedule_check(&hu_comm_schedule_ring, &wide), HU_ERR_ARGUMENT);
    assert_int_equal(hu_comm_schedule_check(&hu_comm_schedule_halving, &wide), HU_ERR_ARGUMENT);
    assert_int_equal(hu_comm_schedule_check(&hu_comm_schedule_hier, &wide), HU_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_gets_every_summand_once),
        cmocka_unit_test(the_paper_counts_510_and_90_steps),
        cmocka_unit_test(pieces_cover_every_element),
        cmocka_unit_test(texts_are_read_and_written),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
