/* Trainings in which tensors are promoted: the same bits in every way of running them, and wherever
 * they are interrupted. */
#include <math.h>

#include "base/hash.h"
#include "engine/internal.h"
#include "train/trainer.h"
#include "train_fixture.h"

enum { STEPS = 6 };

typedef struct job {
    const char *model, *precision, *high, *low;
    double promote_at, lr;
    bool promotes; /* some tensor is promoted; otherwise what is tried did not happen */
} job;

static const job jobs[] = {
    {"cnn-s", "uniform+promote", NULL, "act=fp(2,5,2),w=fp(2,5,2),grad=fp(5,2,0)", 0.0005, 0.2,
     true},
    {"squeezenet", "demote:0.7:random:5+promote", NULL,
     "act=fp(2,5,1),w=fp(3,4,2),grad=fp(5,2,0),wgrad=fp(5,2,0)", 0.05, 0.05, true},
    {"shufflenet-v2", "demote:0.5:increasing+promote", "fp16", "e4m3fn", 0.0001, 0.5, false},
    {"resnet20", "operator-out+promote", NULL, "act=e2m1 sr,w=e3m2,grad=e5m2", 0.01, 0.05, true},
    {"cnn-s", "uniform+promote", "act=fp(6,9,0):scale=delayed2,w=fp16,grad=fp16,wgrad=fp16",
     "act=e2m5:scale=delayed3:ovf=sat,w=e2m5:scale=delayed2,grad=e4m3fn:scale=delayed", 0.0001, 0.3,
     true},
    {"cnn-s", "demote:0.8+promote", "bf16", "mxfp8", 0.01, 0.05, false},
    /* Infinities of low activations make NaNs that high ones cannot hold. */
    {"shufflenet-v2", "demote:0.7:random:2+promote", NULL, "e5m2", 0.0001, 1e6, true},
    {"resnet20", "demote:0.5:random:3+promote", NULL, "act=e2m3:specials=ieee:ovf=inf,w=e5m2",
     0.0001, 0.1, true},
    /* As before, in networks whose branches join: which node the format stops is found out in
       another order where cheap nodes run in the loops of others. */
    {"squeezenet", "demote:0.93:random:396+promote", "e6m5:specials=fin",
     "act=e2m3:specials=ieee:ovf=inf,w=e5m2,grad=e5m2", 0.3, 0.05, true},
    {"mobilenet-v2", "operator-out+promote", NULL,
     "act=e2m3:specials=ieee:ovf=inf,w=e5m2,grad=e5m2", 0.001, 1, true},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

/* Ways of running that must not matter. */
enum { APART = 1, KEEP = 2, THREADS = 4, FLOAT32 = 8, DENSE = 16, VARIANTS = 6 };
static const int variants[VARIANTS] = {
    0, APART | THREADS, KEEP, FLOAT32 | THREADS, DENSE | APART, APART | KEEP};

static void open_job(fixture *f, const job *j, int variant, int64_t accumulate) {
    prepare(f, j->precision);
    if (hu_precision_set_candidates(&f->options.precision, j->high, j->low) != HU_OK)
        fail_msg("%s", hu_last_error());
    f->options.precision.promote_at = j->promote_at;
    f->options.model = j->model;
    f->options.width = strcmp(j->model, "shufflenet-v2") == 0 ? 0.1 : 0.25;
    f->options.schedule = hu_schedule_constant(j->lr);
    f->options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
    f->options.accumulate = accumulate;
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

/* What a step leaves; 0 after one that ends the training. */
static uint64_t one_step(fixture *f, bool evaluates) {
    struct {
        uint64_t weights;
        double loss, accuracy, test_loss, ratio;
        uint64_t promoted, skipped;
    } left = {0};
    hu_step_report report;
    hu_status st = hu_trainer_step(f->trainer, &report);
    if (st == HU_ERR_NONFINITE) return 0;
    if (st != HU_OK) fail_msg("%s", hu_last_error());
    if (evaluates)
        assert_int_equal(hu_trainer_evaluate(f->trainer, &left.accuracy, &left.test_loss), HU_OK);
    left.weights = hu_trainer_weights_hash(f->trainer);
    left.loss = isnan(report.loss) ? 0.0 : report.loss;
    left.test_loss = isnan(left.test_loss) ? -1.0 : left.test_loss;
    left.ratio = report.low_ratio;
    left.promoted = report.promoted;
    left.skipped = report.skipped;
    return XXH64(&left, sizeof left, 1);
}

static uint32_t run_job(const job *j, int variant, int64_t accumulate, uint64_t left[STEPS]) {
    fixture f;
    open_job(&f, j, variant, accumulate);
    memset(left, 0, STEPS * sizeof *left);
    for (int s = 0; s < STEPS; s++)
        if ((left[s] = one_step(&f, true)) == 0) break;
    uint32_t promoted = hu_trainer_promoted(f.trainer);
    end(&f);
    return promoted;
}

static void every_way_of_running_gives_the_same(void **state) {
    (void)state;
    for (int k = 0; k < JOBS; k++) {
        uint64_t expected[STEPS], found[STEPS];
        int64_t accumulate = k % 2 ? 2 : 1;
        uint32_t promoted = run_job(&jobs[k], variants[0], accumulate, expected);
        if (jobs[k].promotes && !promoted) fail_msg("job %d: nothing promoted", k);
        for (int i = 1; i < VARIANTS; i++) {
            (void)run_job(&jobs[k], variants[i], accumulate, found);
            for (int s = 0; s < STEPS; s++)
                if (found[s] != expected[s]) fail_msg("job %d, variant %d: step %d", k, i, s);
        }
    }
}

/* Saved after every step, and restored into a trainer that is new or has gone another way. */
static void interrupted_anywhere(void **state) {
    (void)state;
    for (int k = 0; k < JOBS; k++) {
        char directory[256];
        fixture whole, part;
        uint64_t left = 1, again;
        make_directory(directory);
        open_job(&whole, &jobs[k], 0, 1);
        for (int s = 0; s < STEPS && left; s++) {
            save_trainer(&whole, directory);
            open_job(&part, &jobs[k], variants[s % VARIANTS], 1);
            load_trainer(&part, directory);
            left = one_step(&whole, false);
            if ((again = one_step(&part, false)) != left) fail_msg("job %d: step %d", k, s);
            if (left && one_step(&whole, true) != one_step(&part, true))
                fail_msg("job %d: behind step %d", k, s);
            end(&part);
            load_trainer(&whole, directory); /* back again: promotions are undone */
            if (one_step(&whole, false) != left) fail_msg("job %d: step %d once more", k, s);
        }
        end(&whole);
        remove_directory(directory);
    }
}

/* The maxima of the tensors that are not promoted stay, in the run and in a checkpoint. */
static void delayed_scales_outlive_promotions(void **state) {
    enum { TENSORS = 200 };
    (void)state;
    fixture f;
    hu_step_report report;
    uint32_t newest[TENSORS] = {0}, compared = 0;
    open_job(&f, &jobs[4], 0, 1);
    const hu_graph *graph = f.trainer->graph;
    assert_true(graph->value_count <= TENSORS);
    for (int s = 0; s < STEPS && compared == 0; s++) {
        assert_int_equal(hu_trainer_step(f.trainer, &report), HU_OK);
        if (report.events == 0) continue;
        for (int planned = 0; planned < 2; planned++) {
            const hu_run *run = f.trainer->run;
            for (hu_value_id v = 0; v < graph->value_count; v++) {
                uint32_t place = run->value[v].history;
                if (place == HU_NONE || run->history[place] == 0) continue;
                if (planned) {
                    assert_int_equal(run->history[place], newest[v]);
                    compared++;
                }
                newest[v] = run->history[place];
            }
            double accuracy, loss;
            assert_int_equal(hu_trainer_evaluate(f.trainer, &accuracy, &loss), HU_OK);
        }
    }
    assert_true(compared > 10);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_of_running_gives_the_same),
        cmocka_unit_test(interrupted_anywhere),
        cmocka_unit_test(delayed_scales_outlive_promotions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
