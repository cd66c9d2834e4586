/* Trainings whose precision changes with the epoch: the same bits in every way of running them,
 * wherever they are interrupted, and those of the trainings that they are made of. */
#include <math.h>

#include "base/hash.h"
#include "precision/precision.h"
#include "train/trainer.h"
#include "train_fixture.h"

/* 40 samples in batches of 16: three steps are an epoch. */
enum { EPOCH = 3, STEPS = 8 };

typedef struct job {
    const char *model, *epochs, *high, *low;
    double promote_at;
} job;

static const job jobs[] = {
    {"cnn-s", "0: fp32, 1: hfp8", NULL, NULL, 0.01},
    {"cnn-s", "0: hfp8+promote, 1: bf16, 2: hfp8+promote", NULL,
     "act=fp(2,5,2),w=fp(2,5,2),grad=fp(5,2,0)", 0.0005},
    {"resnet20", "0: 1/6/9, 1: operator-out, 2: w=e4m3 sr,act=e4m3 sr,grad=e5m2 sr", NULL, NULL,
     0.01},
    {"cnn-s", "0: e4m3fn:scale=delayed3, 1: w=mxfp8,act=e2m5:scale=current,grad=e5m2, 2: fp32",
     NULL, NULL, 0.01},
    {"squeezenet",
     "0: w=e4m3fn:scale=delayed3,act=e4m3fn:scale=delayed2, 2: act=e2m5:scale=delayed", NULL, NULL,
     0.01},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

static hu_status read_phase(void *context, const char *text, hu_precision *precision) {
    const job *j = context;
    hu_status st = hu_precision_parse(text, precision);
    if (st == HU_OK) st = hu_precision_set_candidates(precision, j->high, j->low);
    precision->promote_at = j->promote_at;
    return st;
}

enum { APART = 1, KEEP = 2, THREADS = 4, FLOAT32 = 8, DENSE = 16, VARIANTS = 6 };
static const int variants[VARIANTS] = {
    0, APART | THREADS, KEEP, FLOAT32 | THREADS, DENSE | APART, APART | KEEP};

static void open_job(fixture *f, const job *j, int variant) {
    job copy = *j;
    prepare(f, "fp32");
    if (hu_precision_parse_list(j->epochs, read_phase, &copy, &f->options.precision) != HU_OK)
        fail_msg("%s", hu_last_error());
    f->options.model = j->model;
    f->options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
    f->options.run.chunk = 4;
    f->options.histogram_every = variant & KEEP ? 2 : 0;
    f->options.run.fuse = !(variant & APART);
    f->options.run.recompute = !(variant & KEEP);
    f->options.run.threads = variant & THREADS ? 2 : 1;
    f->options.run.storage = variant & FLOAT32 ? HU_STORAGE_FLOAT32
                             : variant & DENSE ? HU_STORAGE_DENSE
                                               : HU_STORAGE_PACKED;
    begin(f);
}

/* What a step leaves; evaluation is part of it, and must not disturb what follows. */
static uint64_t one_step(fixture *f, bool evaluates) {
    struct {
        uint64_t weights;
        double loss, accuracy, test_loss, ratio;
        uint64_t promoted, skipped, events, changes;
    } left = {0};
    hu_step_report report = step(f);
    if (evaluates)
        assert_int_equal(hu_trainer_evaluate(f->trainer, &left.accuracy, &left.test_loss), HU_OK);
    left.weights = hu_trainer_weights_hash(f->trainer);
    left.loss = isnan(report.loss) ? 0.0 : report.loss;
    left.test_loss = isnan(left.test_loss) ? -1.0 : left.test_loss;
    left.ratio = report.low_ratio;
    left.promoted = report.promoted;
    left.skipped = report.skipped;
    left.events = report.events;
    left.changes = report.changes_next;
    return XXH64(&left, sizeof left, 1);
}

static void every_way_of_running_gives_the_same(void **state) {
    (void)state;
    for (int k = 0; k < JOBS; k++) {
        uint64_t expected[STEPS];
        for (int i = 0; i < VARIANTS; i++) {
            fixture f;
            open_job(&f, &jobs[k], variants[i]);
            for (int s = 0; s < STEPS; s++) {
                uint64_t left = one_step(&f, true);
                if (i == 0) expected[s] = left;
                if (left != expected[s]) fail_msg("job %d, variant %d: step %d", k, i, s);
            }
            end(&f);
        }
    }
}

/* Saved before every step, those that begin a phase included, and restored into a new trainer, and
 * into one that is already beyond. */
static void interrupted_anywhere(void **state) {
    (void)state;
    for (int k = 0; k < JOBS; k++) {
        char directory[256];
        fixture whole, part;
        make_directory(directory);
        open_job(&whole, &jobs[k], 0);
        for (int s = 0; s < STEPS; s++) {
            save_trainer(&whole, directory);
            open_job(&part, &jobs[k], variants[s % VARIANTS]);
            load_trainer(&part, directory);
            uint64_t left = one_step(&whole, false);
            if (one_step(&part, false) != left) fail_msg("job %d: step %d", k, s);
            if (one_step(&whole, true) != one_step(&part, true))
                fail_msg("job %d: behind step %d", k, s);
            end(&part);
            load_trainer(&whole, directory);
            if (one_step(&whole, false) != left) fail_msg("job %d: step %d once more", k, s);
        }
        end(&whole);
        remove_directory(directory);
    }
}

static void open_plain(fixture *f, const char *precision) {
    prepare(f, precision);
    f->options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
    f->options.run.chunk = 4;
    begin(f);
}

/* One phase is the precision itself. */
static void one_phase_is_plain(void **state) {
    static const job one = {"cnn-s", "0: hfp8", NULL, NULL, 0.01};
    (void)state;
    fixture f, plain;
    open_job(&f, &one, THREADS);
    open_plain(&plain, "hfp8");
    for (int s = 0; s < STEPS; s++) {
        hu_step_report here = step(&f), other = step(&plain);
        assert_true(hu_trainer_weights_hash(f.trainer) == hu_trainer_weights_hash(plain.trainer));
        assert_true(here.low_ratio == other.low_ratio);
        assert_int_equal(here.events, s == 0);
        assert_false(here.changes_next);
    }
    end(&f);
    end(&plain);
}

/* A training in float32 for an epoch, then one in 8 bits from its checkpoint. */
static void two_phases_are_two_trainings(void **state) {
    (void)state;
    char directory[256];
    fixture f, first, second;
    double accuracy[2], loss[2];
    make_directory(directory);
    open_job(&f, &jobs[0], THREADS);
    open_plain(&first, "fp32");
    open_plain(&second, "hfp8");
    for (int s = 0; s < STEPS; s++) {
        fixture *now = s < EPOCH ? &first : &second;
        uint64_t made = hu_memory_count().allocations;
        hu_step_report here = step(&f);
        /* Both precisions fit the room that was planned: the second begins without a new plan. */
        if (s > 0) assert_int_equal(hu_memory_count().allocations, made);
        hu_step_report other = step(now);
        assert_true(hu_trainer_weights_hash(f.trainer) == hu_trainer_weights_hash(now->trainer));
        assert_true(here.loss == other.loss);
        assert_true(here.low_ratio == other.low_ratio);
        /* The last step of an epoch is evaluated in the precision of this epoch. */
        assert_int_equal(hu_trainer_evaluate(f.trainer, &accuracy[0], &loss[0]), HU_OK);
        assert_int_equal(hu_trainer_evaluate(now->trainer, &accuracy[1], &loss[1]), HU_OK);
        assert_true(accuracy[0] == accuracy[1] && loss[0] == loss[1]);
        assert_int_equal(here.changes_next, s == EPOCH - 1);
        assert_int_equal(here.events, s == 0 || s == EPOCH);
        if (s == EPOCH) {
            assert_string_equal(here.event[0].precision, "hfp8");
            assert_int_equal(here.event[0].epoch, 1);
            assert_string_equal(here.event[0].by->name, "epochs");
        }
        if (s != EPOCH - 1) continue;
        save_trainer(&first, directory);
        load_trainer(&second, directory);
    }
    end(&f);
    end(&first);
    end(&second);
    remove_directory(directory);
}

/* A rule of a later phase that fits no tensor is found before the training begins. */
static void later_phases_are_checked(void **state) {
    (void)state;
    fixture f;
    job copy = jobs[0];
    prepare(&f, "fp32");
    assert_int_equal(
        hu_precision_parse_list("0: fp32, 1: hfp8", read_phase, &copy, &f.options.precision),
        HU_OK);
    assert_int_equal(
        hu_precision_add_rule(&f.options.precision.phases[1].precision, "conv9.weight: e4m3"),
        HU_OK);
    assert_int_equal(hu_trainer_create(&f.options, &f.data, &f.trainer), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "epoch 1"));
    assert_non_null(strstr(hu_last_error(), "conv3.weight"));
    assert_null(f.trainer);
    hu_precision_free(&f.options.precision);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_of_running_gives_the_same),
        cmocka_unit_test(interrupted_anywhere),
        cmocka_unit_test(one_phase_is_plain),
        cmocka_unit_test(two_phases_are_two_trainings),
        cmocka_unit_test(later_phases_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
