/* Teams of processes, which are threads here: the bits of the emulated team, and what becomes of
 * those who wait for somebody who is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include "base/memory.h"
#include "base/process.h"
#include "base/rng.h"
#include "comm/plan.h"
#include "comm/process_group.h"
#include "comm/transport.h"
#include "mailbox.h"

enum { WORKERS_MOST = MAILBOX_MOST, ELEMENTS = 400, LAYERS = 4, STEP = 137 };

static const hu_comm_layer layers[LAYERS] = {
    {"a", 0, 231, false}, {"b", 231, 5, false}, {"c", 236, 40, true}, {"d", 276, 124, false}};

/* What one rank of a job does. */
typedef enum role { WORKS, NEVER_COMES, COMES_LATE, SENDS_OTHER_BYTES } role;

typedef struct job {
    hu_comm_options options;
    hu_failure_detector_options wait;
    bool overlap;
    hu_comm_plan *plan;
    mailbox *box;
    role role[WORKERS_MOST];
    float late; /* seconds */
} job;

typedef struct rank {
    job *job;
    int32_t number;
    float gradient[ELEMENTS];
    int32_t told[WORKERS_MOST];
    hu_status status, again; /* of the first reduction; of one more after that */
    char message[512];
} rank;

static void begin(job *j, const char *schedule, const char *scaling, const char *format,
                  int32_t workers) {
    *j = (job){.options = {.workers = workers, .seed = 7, .bucket_bytes = 1},
               .wait = {.timeout = 60.0}};
    assert_int_equal(hu_comm_schedule_parse(schedule, &j->options.schedule, &j->options.group),
                     HU_OK);
    assert_int_equal(hu_comm_scaling_parse(scaling, &j->options.scaling, &j->options.constant),
                     HU_OK);
    assert_int_equal(hu_format_parse(format, &j->options.format), HU_OK);
}

static void end(job *j) {
    mailbox_destroy(j->box);
    hu_comm_plan_free(j->plan);
}

static void fill(int32_t worker, float *x) {
    hu_random_key key = {1, 2, (uint64_t)worker};
    for (int32_t i = 0; i < ELEMENTS; i++)
        x[i] = (float)ldexp((double)hu_random_normal(&key, (uint64_t)i) * 0.003,
                            i % 9 - 4 + 2 * worker);
}

static void nap(double seconds) {
    struct timespec pause = {.tv_sec = (time_t)seconds};
    pause.tv_nsec = (long)((seconds - (double)pause.tv_sec) * 1e9);
    nanosleep(&pause, NULL);
}

static hu_status work(rank *r, hu_process_group *team) {
    job *j = r->job;
    if (j->role[r->number] == COMES_LATE) nap((double)j->late);
    if (j->role[r->number] == SENDS_OTHER_BYTES) return hu_process_group_gather(team, 1, r->told);
    for (int32_t l = LAYERS - 2; l >= 0; l--) hu_process_group_ready(team, STEP, l);
    hu_status st = hu_process_group_reduce(team, STEP);
    r->told[r->number] = 100 + r->number;
    return st == HU_OK ? hu_process_group_gather(team, sizeof *r->told, r->told) : st;
}

static void *run_rank(void *argument) {
    rank *r = argument;
    job *j = r->job;
    float *gradient = r->gradient;
    hu_rendezvous *peers;
    hu_process_group *team = NULL;
    if (j->role[r->number] == NEVER_COMES) return NULL;
    fill(r->number, gradient);
    r->status = hu_rendezvous_create(&j->box->end[r->number].transport, &j->wait, &peers);
    if (r->status == HU_OK)
        r->status = hu_process_group_process(j->plan, &gradient, peers, j->overlap, &team);
    if (r->status == HU_OK) r->status = work(r, team);
    snprintf(r->message, sizeof r->message, "%s", hu_last_error());
    if (r->status != HU_OK && j->overlap) r->again = hu_process_group_reduce(team, STEP);
    hu_process_group_free(team);
    hu_rendezvous_free(peers);
    return NULL;
}

/* Plan and mailbox of a job, and its ranks as threads: item[workers] of `bytes` each, which a body
 * gets. */
static void run_threads(job *j, void *(*body)(void *), void *item, size_t bytes) {
    pthread_t thread[WORKERS_MOST];
    int32_t workers = j->options.workers;
    assert_int_equal(hu_comm_plan_create(&j->options, layers, LAYERS, &j->plan), HU_OK);
    j->box = mailbox_create(workers);
    for (int32_t w = 0; w < workers; w++)
        assert_int_equal(pthread_create(&thread[w], NULL, body, (char *)item + (size_t)w * bytes),
                         0);
    for (int32_t w = 0; w < workers; w++) pthread_join(thread[w], NULL);
}

/* ranks[workers] of the job. */
static void run(job *j, rank *ranks) {
    for (int32_t w = 0; w < j->options.workers; w++) ranks[w] = (rank){.job = j, .number = w};
    run_threads(j, run_rank, ranks, sizeof *ranks);
}

static void emulate(const job *j, float (*result)[ELEMENTS]) {
    float *gradient[WORKERS_MOST];
    hu_process_group *team;
    for (int32_t w = 0; w < j->options.workers; w++) fill(w, gradient[w] = result[w]);
    assert_int_equal(hu_process_group_emulated(j->plan, gradient, 1, &team), HU_OK);
    assert_int_equal(hu_process_group_reduce(team, STEP), HU_OK);
    hu_process_group_free(team);
}

static void all_have_the_bits_of_the_emulated_team(void **state) {
    (void)state;
    static const char *const schedules[] = {"seq",      "ring",    "hier:1",
                                            "hier2d:2", "halving", "pairwise"};
    static const char *const scalings[] = {"none",     "aps",  "aps-wide", "aps2",
                                           "terngrad", "qsgd", "flex16+5"};
    static rank ranks[WORKERS_MOST];
    static float expected[WORKERS_MOST][ELEMENTS];
    int runs = 0;
    for (int i = 0; i < 6 * 7 * 3 * 2; i++) {
        static const int32_t sizes[] = {1, 4, 6};
        job j;
        begin(&j, schedules[i % 6], scalings[i / 6 % 7], "e4m3", sizes[i / 42 % 3]);
        j.overlap = i / 126 == 1;
        if (hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan) != HU_OK) continue;
        hu_comm_plan_free(j.plan);
        run(&j, ranks);
        emulate(&j, expected);
        for (int32_t w = 0; w < j.options.workers; w++) {
            assert_int_equal(ranks[w].status, HU_OK);
            assert_memory_equal(ranks[w].gradient, expected[w], sizeof expected[w]);
            for (int32_t o = 0; o < j.options.workers; o++)
                assert_int_equal(ranks[w].told[o], 100 + o);
        }
        end(&j);
        runs++;
    }
    assert_true(runs > 140);
}

/* Rank 2 of 5 is missing: all others say so, whomever they wait for. */
static void who_is_gone_is_named(void **state) {
    (void)state;
    static rank ranks[WORKERS_MOST];
    for (int overlap = 0; overlap < 2; overlap++) {
        job j;
        double begun = hu_seconds_now();
        begin(&j, "ring", overlap ? "none" : "aps", "e4m3fn", 5);
        j.wait = (hu_failure_detector_options){.timeout = 0.4};
        j.overlap = overlap != 0;
        j.role[2] = NEVER_COMES;
        run(&j, ranks);
        assert_true(hu_seconds_now() - begun < 10.0);
        for (int32_t w = 0; w < 5; w++) {
            if (w == 2) continue;
            assert_int_equal(ranks[w].status, HU_ERR_PEER);
            assert_non_null(strstr(ranks[w].message, "rank 2 did not answer in 0.4 s"));
            assert_non_null(strstr(ranks[w].message, "training step 137, layer a"));
            if (overlap) assert_int_equal(ranks[w].again, HU_ERR_PEER);
        }
        end(&j);
    }
}

static void phase_is_named(const char *scaling, const char *format, const char *phase) {
    static rank ranks[WORKERS_MOST];
    job j;
    begin(&j, "pairwise", scaling, format, 3);
    j.wait.timeout = 0.2;
    j.role[1] = NEVER_COMES;
    run(&j, ranks);
    for (int32_t w = 0; w < 3; w += 2) {
        if (!strstr(ranks[w].message, phase)) fail_msg("%s: no %s", ranks[w].message, phase);
        char own[32];
        snprintf(own, sizeof own, "rank %d, ", w);
        assert_memory_equal(ranks[w].message, own, strlen(own));
    }
    end(&j);
}

static void the_phase_is_named(void **state) {
    (void)state;
    phase_is_named("aps", "e5m2", "layer a, exponents: ");
    phase_is_named("aps2", "e5m2", "layer a, reduction step ");
}

/* 0.4 s late, with a patience of 0.3 s and 0.5 s for answers: not lost. */
static void who_comes_back_is_not_lost(void **state) {
    (void)state;
    static rank ranks[WORKERS_MOST];
    job j;
    begin(&j, "ring", "aps", "e5m2", 3);
    j.wait.timeout = 0.3;
    j.role[1] = COMES_LATE;
    j.late = 0.4f;
    run(&j, ranks);
    for (int32_t w = 0; w < 3; w++) assert_int_equal(ranks[w].status, HU_OK);
    end(&j);
}

/* Who comes back after the others have given it up hears of it. */
static void who_was_given_up_is_told(void **state) {
    (void)state;
    static rank ranks[WORKERS_MOST];
    job j;
    begin(&j, "ring", "aps", "e5m2", 3);
    j.wait.timeout = 0.2;
    j.role[1] = COMES_LATE;
    j.late = 3.0f;
    run(&j, ranks);
    for (int32_t w = 0; w < 3; w++) {
        const char *said = w == 1 ? "the others gave this process up" : "rank 1 did not answer";
        assert_int_equal(ranks[w].status, HU_ERR_PEER);
        assert_non_null(strstr(ranks[w].message, said));
    }
    end(&j);
}

/* The job is being ended: who waits does not wait for the deadline. */
static void waits_end_with_the_job(void **state) {
    (void)state;
    static const volatile sig_atomic_t is_ending = 1;
    static rank ranks[WORKERS_MOST];
    job j;
    double begun = hu_seconds_now();
    begin(&j, "ring", "aps", "e5m2", 5);
    j.wait.is_ending = &is_ending;
    j.role[2] = NEVER_COMES;
    run(&j, ranks);
    assert_true(hu_seconds_now() - begun < 10.0);
    for (int32_t w = 0; w < 5; w++) {
        if (w == 2) continue;
        assert_int_equal(ranks[w].status, HU_ERR_PEER);
        assert_non_null(
            strstr(ranks[w].message, "rank 2 does not answer, and the job is being ended"));
    }
    end(&j);
}

/* The user ends the job: all are present, and the step is done. */
static void who_is_asked_to_end_ends_the_step(void **state) {
    (void)state;
    static const volatile sig_atomic_t is_ending = 1;
    static rank ranks[WORKERS_MOST];
    job j;
    begin(&j, "ring", "aps", "e5m2", 3);
    j.wait.is_ending = &is_ending;
    j.role[1] = COMES_LATE;
    j.late = 0.25f;
    run(&j, ranks);
    for (int32_t w = 0; w < 3; w++) assert_int_equal(ranks[w].status, HU_OK);
    end(&j);
}

/* A rank that does something else, but answers. */
static void nobody_waits_for_ever_for_who_answers(void **state) {
    (void)state;
    static rank ranks[WORKERS_MOST];
    job j;
    begin(&j, "ring", "aps", "e5m2", 2);
    j.wait.timeout = 0.2;
    j.role[1] = SENDS_OTHER_BYTES;
    run(&j, ranks);
    for (int32_t w = 0; w < 2; w++) {
        assert_int_equal(ranks[w].status, HU_ERR_PEER);
        assert_non_null(strstr(ranks[w].message, "rank"));
    }
    end(&j);
}

static void messages_have_the_expected_bytes(void **state) {
    (void)state;
    mailbox *box = mailbox_create(2);
    hu_transport *first = &box->end[0].transport, *second = &box->end[1].transport;
    hu_transfer sent, received, *open = &received;
    uint8_t message[200] = {1}, other[200];
    int32_t which;
    assert_int_equal(hu_transfer_send(first, 1, 3, message, 150, &sent), HU_OK);
    assert_int_equal(hu_transfer_receive(second, 0, 3, other, 200, &received), HU_OK);
    assert_int_equal(hu_transfer_wait(second, &open, 1, 1.0, &which), HU_OK);
    assert_int_equal(hu_transfer_wait(second, &open, 1, 1.0, &which), HU_ERR_PEER);
    assert_string_equal(hu_last_error(), "message of rank 0: found 54 bytes, expected 96");
    hu_transfer_cancel(second, &received);
    assert_false(hu_transfer_is_open(&received));
    assert_int_equal(hu_transfer_send(first, 1, 3, message, 96 * HU_TRANSPORT_PARTS + 1, &sent),
                     HU_ERR_LIMIT);
    mailbox_destroy(box);
}

static void workers_and_processes_are_as_many(void **state) {
    (void)state;
    job j;
    hu_rendezvous *peers;
    hu_process_group *team;
    float x[ELEMENTS], *gradient = x;
    begin(&j, "ring", "aps", "e5m2", 4);
    assert_int_equal(hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan), HU_OK);
    j.box = mailbox_create(3);
    assert_int_equal(hu_rendezvous_create(&j.box->end[0].transport, &j.wait, &peers), HU_OK);
    assert_int_equal(hu_process_group_process(j.plan, &gradient, peers, j.overlap, &team),
                     HU_ERR_ARGUMENT);
    assert_null(team);
    hu_rendezvous_free(peers);
    assert_string_equal(hu_last_error(), "found 4 workers in 3 processes, expected one in each");
    end(&j);
}

typedef struct collector {
    job *job;
    int32_t number;
    uint8_t others[WORKERS_MOST - 1][300]; /* where worker 0 is */
    hu_status status;
    char message[512];
} collector;

static void *run_collector(void *argument) {
    collector *c = argument;
    job *j = c->job;
    float x[ELEMENTS], *gradient = x;
    uint8_t own[300];
    hu_rendezvous *peers;
    hu_process_group *team = NULL;
    if (j->role[c->number] == NEVER_COMES) return NULL;
    memset(own, 10 + c->number, sizeof own);
    c->status = hu_rendezvous_create(&j->box->end[c->number].transport, &j->wait, &peers);
    if (c->status == HU_OK)
        c->status = hu_process_group_process(j->plan, &gradient, peers, j->overlap, &team);
    for (int again = 0; again < 2 && c->status == HU_OK; again++)
        c->status =
            hu_process_group_collect(team, sizeof own, own, c->number == 0 ? c->others : NULL);
    snprintf(c->message, sizeof c->message, "%s", hu_last_error());
    hu_process_group_free(team);
    hu_rendezvous_free(peers);
    return NULL;
}

/* c [workers]. */
static void run_collectors(job *j, collector *c) {
    for (int32_t w = 0; w < j->options.workers; w++) c[w] = (collector){.job = j, .number = w};
    run_threads(j, run_collector, c, sizeof *c);
}

/* Rows reach the first process alone; who is gone is named there. */
static void the_first_collects(void **state) {
    (void)state;
    static collector c[WORKERS_MOST];
    for (int32_t workers = 1; workers <= WORKERS_MOST; workers++) {
        job j;
        begin(&j, "ring", "none", "fp32", workers);
        run_collectors(&j, c);
        for (int32_t w = 0; w < workers; w++) {
            assert_int_equal(c[w].status, HU_OK);
            for (int i = 0; w > 0 && i < 300; i++) {
                assert_int_equal(c[0].others[w - 1][i], 10 + w);
                assert_int_equal(c[w].others[0][i], 0);
            }
        }
        end(&j);
    }
    job j;
    begin(&j, "ring", "none", "fp32", 4);
    j.wait.timeout = 0.2;
    j.role[2] = NEVER_COMES;
    run_collectors(&j, c);
    assert_int_equal(c[0].status, HU_ERR_PEER);
    assert_non_null(strstr(c[0].message, "collect: rank 2 did not answer in 0.2 s"));
    end(&j);
}

/* Rooms of the transport among them; a process holds what its own worker needs. */
static void memory_is_as_planned(void **state) {
    static const char *const schedules[] = {"seq", "ring", "hier:2", "halving", "pairwise"};
    (void)state;
    for (int i = 0; i < 5 * 2; i++) {
        job j;
        float x[ELEMENTS], *gradient = x;
        begin(&j, schedules[i % 5], i % 5 == 4 ? "aps2" : "aps", "e4m3", 4);
        j.options.error_feedback = i / 5 == 1;
        assert_int_equal(hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan), HU_OK);
        j.box = mailbox_create(4);
        for (int32_t w = 0; w < 4; w++) {
            hu_rendezvous *peers;
            hu_process_group *team;
            assert_int_equal(hu_rendezvous_create(&j.box->end[w].transport, &j.wait, &peers),
                             HU_OK);
            uint64_t planned, before = hu_memory_live(HU_MEMORY_WORKERS);
            assert_int_equal(hu_process_group_process(j.plan, &gradient, peers, j.overlap, &team),
                             HU_OK);
            assert_int_equal(hu_process_group_process_bytes(j.plan, w, &planned), HU_OK);
            assert_true(planned > ELEMENTS);
            assert_true(hu_memory_live(HU_MEMORY_WORKERS) - before == planned);
            hu_process_group_free(team);
            assert_true(hu_memory_live(HU_MEMORY_WORKERS) == before);
            hu_rendezvous_free(peers);
        }
        end(&j);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_have_the_bits_of_the_emulated_team),
        cmocka_unit_test(who_is_gone_is_named),
        cmocka_unit_test(the_phase_is_named),
        cmocka_unit_test(who_comes_back_is_not_lost),
        cmocka_unit_test(who_was_given_up_is_told),
        cmocka_unit_test(waits_end_with_the_job),
        cmocka_unit_test(who_is_asked_to_end_ends_the_step),
        cmocka_unit_test(nobody_waits_for_ever_for_who_answers),
        cmocka_unit_test(messages_have_the_expected_bytes),
        cmocka_unit_test(workers_and_processes_are_as_many),
        cmocka_unit_test(the_first_collects),
        cmocka_unit_test(memory_is_as_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
