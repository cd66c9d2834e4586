/* Gradients of a step as its workers have them: their sum is the gradient of a training, bit for
 * bit, and none of them is another one's. */
#include <math.h>
#include <string.h>

#include "comm/plan.h"
#include "comm/process_group.h"
#include "comm/transport.h"
#include "mailbox.h"
#include "train/internal.h"
#include "train/trainer.h"
#include "train_fixture.h"

/* Workers whose gradients are added one after the other, unrounded. */
static void with_workers(fixture *f, int32_t workers) {
    hu_train_comm *comm = &f->options.comm;
    comm->options.workers = workers;
    comm->formats = "fp32";
    assert_int_equal(hu_comm_schedule_parse("seq", &comm->options.schedule, &comm->options.group),
                     HU_OK);
    assert_int_equal(hu_comm_scaling_parse("none", &comm->options.scaling, &comm->options.constant),
                     HU_OK);
}

/* The sum of what was made, as a training adds it. */
static void add(const fixture *f, const hu_worker_gradients *made, float *const *row) {
    hu_process_group *team;
    for (int32_t w = 0; w < made->workers; w++)
        memcpy(row[w], made->gradient[w],
               (size_t)f->trainer->workers.plan->elements * sizeof **row);
    assert_int_equal(hu_process_group_emulated(f->trainer->workers.plan, row, 1, &team), HU_OK);
    assert_int_equal(hu_process_group_reduce(team, (uint64_t)made->step), HU_OK);
    hu_process_group_free(team);
}

/* 3 workers share 16 samples unevenly; 5 hfp8 steps first, so that scales and statistics moved. */
static void test_sum(void **state) {
    enum { WORKERS = 3, STEPS = 5 };
    (void)state;
    fixture made_by, trained;
    hu_worker_gradients made;
    float *row[WORKERS];
    prepare(&made_by, "hfp8");
    prepare(&trained, "hfp8");
    with_workers(&made_by, WORKERS);
    with_workers(&trained, WORKERS);
    begin(&made_by);
    begin(&trained);
    for (int i = 0; i < STEPS; i++) {
        step(&made_by);
        step(&trained);
    }
    assert_int_equal(hu_trainer_gradients(made_by.trainer, &made), HU_OK);
    assert_int_equal(made.step, STEPS);
    assert_int_equal(made.workers, WORKERS);
    assert_int_equal(made.layers, (int)made_by.trainer->parameter_count);
    size_t bytes = (size_t)made_by.trainer->workers.plan->elements * sizeof(float);
    for (int w = 0; w < WORKERS; w++) row[w] = test_malloc(bytes);
    add(&made_by, &made, row);
    assert_memory_not_equal(made.gradient[0], made.gradient[1], bytes);
    step(&trained);
    /* The reduced gradient lies where that of worker 0 was; the update reads it and leaves it. */
    assert_memory_equal(row[0], trained.trainer->workers.gradient[0], bytes);
    for (int w = 0; w < WORKERS; w++) test_free(row[w]);
    end(&made_by);
    end(&trained);
}

/* Numbers that error feedback keeps of worker w. */
static const float *lost(const fixture *f, int32_t w, int32_t i) {
    return hu_process_group_residual(f->trainer->workers.team, w, i);
}

/* A sum that overflows on the wire: what was kept before the step stays, in the unit of the loss
 * scale that the step began with. */
static void test_skipped_step_keeps_losses(void **state) {
    enum { WORKERS = 3 };
    static const char *const scalings[] = {"none", "aps2"};
    static const float factors[] = {0x1p20f, 2.0f};
    (void)state;
    for (int c = 0; c < 2; c++) {
        fixture f;
        prepare(&f, "fp32");
        with_workers(&f, WORKERS);
        f.options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
        f.options.scaler.init = 1.0f;
        hu_comm_options *options = &f.options.comm.options;
        f.options.comm.formats = "e4m3";
        options->error_feedback = true;
        assert_int_equal(hu_comm_schedule_parse("pairwise", &options->schedule, &options->group),
                         HU_OK);
        assert_int_equal(hu_comm_scaling_parse(scalings[c], &options->scaling, &options->constant),
                         HU_OK);
        begin(&f);
        for (int i = 0; i < 2; i++) assert_false(step(&f).skipped);
        size_t n = (size_t)f.trainer->workers.plan->elements;
        float *before = test_malloc(n * sizeof *before);
        int kinds = 0;
        for (int32_t i = 0; i < HU_COMM_LOSSES && lost(&f, 1, i); i++) kinds++;
        for (int32_t i = 0; i < kinds; i++) {
            double sum = 0.0;
            memcpy(before, lost(&f, 1, i), n * sizeof *before);
            f.trainer->phase[0].scaler.state.scale = factors[c];
            /* With scales of its own the wire overflows nowhere. */
            for (int s = 0; s < TRAIN; s++) f.train_labels[s] += c * CLASSES;
            assert_true(step(&f).skipped);
            for (int s = 0; s < TRAIN; s++) f.train_labels[s] -= c * CLASSES;
            for (size_t e = 0; e < n; e++) {
                assert_true(lost(&f, 1, i)[e] == before[e] * factors[c]);
                sum += fabs((double)before[e]);
            }
            assert_true(i == 2 || sum > 0.0);
            f.trainer->phase[0].scaler.state.scale = 1.0f;
            assert_false(step(&f).skipped);
        }
        test_free(before);
        end(&f);
    }
}

/* The tensor that a training skips the step for. */
static void test_nonfinite(void **state) {
    (void)state;
    fixture f;
    hu_worker_gradients made;
    prepare(&f, "fp32");
    with_workers(&f, 2);
    begin(&f);
    master(&f, "fc.weight")[0] = INFINITY;
    assert_int_equal(hu_trainer_gradients(f.trainer, &made), HU_ERR_NONFINITE);
    assert_non_null(strstr(hu_last_error(), "step 0: worker 0: the gradient of "));
    end(&f);
}

/* Ledger and allocator in step, and nothing is left over. */
static void check_ledger(const fixture *f, const hu_ledger *before) {
    hu_ledger ledger = hu_trainer_ledger(f->trainer);
    if (hu_ledger_check(&ledger, before) != HU_OK) fail_msg("%s", hu_last_error());
}

/* What workers hold is planned: codes of 1, 2 and 4 bytes, slots, scales, messages, losses. */
static void test_ledger(void **state) {
    static const struct {
        const char *schedule, *scaling, *formats, *exact;
        int32_t workers;
        bool feedback;
    } cases[] = {{"seq", "none", "fp32", "", 2, false},
                 {"ring", "aps", "e5m2", "", 5, false},
                 {"pairwise", "aps2", "e4m3", "last", 3, true},
                 {"halving", "aps", "bf16", "", 4, true},
                 {"hier:2", "aps", "e4m3", "*bn*", 6, true},
                 {"pairwise", "aps2", "0: e5m2, 1: fp32", "", 8, true}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        fixture f;
        hu_ledger before = hu_ledger_now();
        prepare(&f, "fp32");
        with_workers(&f, cases[c].workers);
        hu_train_comm *comm = &f.options.comm;
        hu_comm_options *options = &comm->options;
        comm->formats = cases[c].formats;
        comm->exact = cases[c].exact;
        options->error_feedback = cases[c].feedback;
        options->bucket_bytes = 20000;
        assert_int_equal(
            hu_comm_schedule_parse(cases[c].schedule, &options->schedule, &options->group), HU_OK);
        assert_int_equal(
            hu_comm_scaling_parse(cases[c].scaling, &options->scaling, &options->constant), HU_OK);
        begin(&f);
        check_ledger(&f, &before);
        uint64_t gradients =
            (uint64_t)options->workers * (uint64_t)f.trainer->weights.trained * sizeof(float);
        assert_true(hu_trainer_ledger(f.trainer).workers > gradients * (cases[c].feedback + 1));
        for (int i = 0; i < 4; i++) step(&f); /* an epoch of 3, and one of another format */
        check_ledger(&f, &before);
        end(&f);
        assert_true(hu_ledger_now().total == before.total);
    }
}

/* One worker in this process, the others nowhere: nothing travels before the first step. */
static hu_status join(void *context, const hu_comm_plan *plan, float *const *gradient,
                      hu_process_group **team) {
    return hu_process_group_process(plan, gradient, context, false, team);
}

/* Where checkpoints are written is room for what error feedback keeps elsewhere, and only there. */
static void test_ledger_of_processes(void **state) {
    enum { WORKERS = 4 };
    (void)state;
    uint64_t held[WORKERS];
    mailbox *box = mailbox_create(WORKERS);
    for (int32_t rank = 0; rank < WORKERS; rank++) {
        const hu_failure_detector_options wait = {.timeout = 60.0};
        fixture f;
        hu_rendezvous *job;
        assert_int_equal(hu_rendezvous_create(&box->end[rank].transport, &wait, &job), HU_OK);
        hu_ledger before = hu_ledger_now();
        prepare(&f, "fp32");
        with_workers(&f, WORKERS);
        f.options.comm.formats = "e5m2";
        f.options.comm.options.error_feedback = true;
        f.options.comm.join = join;
        f.options.comm.context = job;
        f.options.comm.first = rank;
        begin(&f);
        check_ledger(&f, &before);
        held[rank] = hu_trainer_ledger(f.trainer).workers;
        uint64_t kept = (uint64_t)f.trainer->weights.trained * sizeof(float);
        if (rank > 1) assert_true(held[0] - held[rank] >= (WORKERS - 1) * kept);
        end(&f);
        assert_true(hu_ledger_now().total == before.total);
        hu_rendezvous_free(job);
    }
    mailbox_destroy(box);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ledger),    cmocka_unit_test(test_ledger_of_processes),
        cmocka_unit_test(test_sum),       cmocka_unit_test(test_skipped_step_keeps_losses),
        cmocka_unit_test(test_nonfinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
