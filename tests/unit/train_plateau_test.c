/* Learning rates that fall where a training gets no better. */
#include <math.h>

#include "train/internal.h"
#include "train/trainer.h"
#include "train_fixture.h"

static char folder[256];

static int make_folder(void **state) {
    (void)state;
    make_directory(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    remove_directory(folder);
    return 0;
}

static void prepare_plateau(fixture *f, hu_schedule_kind kind, int64_t patience, double factor) {
    prepare(f, "fp32");
    f->options.schedule.kind = kind;
    f->options.schedule.unit = HU_UNIT_STEP;
    f->options.schedule.patience = patience;
    f->options.schedule.factor = factor;
    f->options.schedule.period = 2;
    f->options.schedule.lr = 1;
}

static void expect_rate(const fixture *f, double expected, int i) {
    double found = hu_plateau_rate(f->trainer, 5);
    if (!(fabs(found - expected) <= 1e-15))
        fail_msg("number %d: found %.17g, expected %.17g", i, found, expected);
}

/* Rates of torch 1.13: ReduceLROnPlateau(mode="max", factor=0.5, patience=1). */
static void rates_fall_as_torchs_where_more_is_better(void **state) {
    (void)state;
    static const double value[] = {.5, .5,  .50004, .5001, .6, .6, .6, .6,
                                   .6, .61, NAN,    .61,   .7, .1, .1};
    static const double rate[] = {1,    1,    .5,   .5,    .5,    .5,    .25,   .25,
                                  .125, .125, .125, .0625, .0625, .0625, .03125};
    fixture f;
    prepare_plateau(&f, HU_SCHEDULE_PLATEAU, 2, 0.5);
    begin(&f);
    for (int i = 0; i < (int)(sizeof value / sizeof *value); i++) {
        hu_trainer_follow_metric(f.trainer, value[i]);
        expect_rate(&f, rate[i], i);
    }
    end(&f);
}

/* The same with mode="min", factor=0.1, patience=2, min_lr=0.005. */
static void rates_fall_to_the_floor_where_less_is_better(void **state) {
    (void)state;
    static const double value[] = {9,   9,   8.9992, 8.999, 8.5, 8.5, 8.6, 8.4999,
                                   8.4, 8.4, 8.4,    8.4,   8.4, 8.4, 8.4};
    static const double rate[] = {1, 1, 1, 1, 1, 1, 1, .1, .1, .1, .1, .01, .01, .01, .005};
    fixture f;
    prepare_plateau(&f, HU_SCHEDULE_PLATEAU, 3, 0.1);
    f.options.schedule.floor = 0.005;
    begin(&f);
    const hu_task *own = f.trainer->task;
    f.trainer->task = &hu_task_language;
    for (int i = 0; i < (int)(sizeof value / sizeof *value); i++) {
        hu_trainer_follow_metric(f.trainer, value[i]);
        expect_rate(&f, rate[i], i);
    }
    f.trainer->task = own;
    end(&f);
}

/* Means of two losses: 4 3 2, 2.5 (not above 3), 3 (not above 3 of the last three: 3 2 2.5), 3.5
 * above all, 3.5 not, 5 above. A loss that is not finite is none. */
static void rates_fall_where_a_mean_loss_is_above_the_last_three(void **state) {
    (void)state;
    static const double loss[] = {5, 3,   3,   3,        1,   3, 2, 3, 3,
                                  3, NAN, 3.5, INFINITY, 3.5, 4, 3, 5, 5};
    static const double rate[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, .9, .9, .9, .9, .81};
    fixture f;
    prepare_plateau(&f, HU_SCHEDULE_PLATEAU_LOSS, 1, 0.9);
    begin(&f);
    for (int i = 0; i < (int)(sizeof loss / sizeof *loss); i++) {
        hu_plateau_note_loss(f.trainer, loss[i]);
        hu_trainer_follow_metric(f.trainer, 0.5); /* not followed */
        expect_rate(&f, rate[i], i);
    }
    end(&f);
}

/* Steps feed their own losses, and take the rate that they have led to. */
static void steps_note_their_losses(void **state) {
    (void)state;
    fixture f;
    double sum = 0;
    prepare_plateau(&f, HU_SCHEDULE_PLATEAU_LOSS, 1, 0.5);
    f.options.schedule.period = 50;
    f.options.schedule.lr = 0.05;
    begin(&f);
    for (int i = 0; i < 4; i++) sum += step(&f).loss;
    assert_true(f.trainer->plateau.sum == sum);
    f.trainer->plateau.drops = 2;
    assert_true(step(&f).lr == 0.05 * 0.25);
    end(&f);
}

/* Of other schedules nothing is noted, and nothing is saved. */
static void others_know_of_nothing(void **state) {
    (void)state;
    fixture f;
    const void *data;
    size_t bytes;
    prepare(&f, "fp32");
    begin(&f);
    step(&f);
    for (int i = 0; i < 30; i++) hu_trainer_follow_metric(f.trainer, 0.5);
    assert_true(f.trainer->plateau.drops == 0 && f.trainer->plateau.steps == 0);
    save_trainer(&f, folder);
    hu_checkpoint *checkpoint = open_newest(folder);
    assert_int_equal(hu_checkpoint_section(checkpoint, "plateau", &data, &bytes), HU_ERR_MISSING);
    hu_checkpoint_free(checkpoint);
    end(&f);
}

/* A file of another schedule begins anew; one with numbers that cannot be is refused. */
static void the_state_is_restored(void **state) {
    (void)state;
    fixture f, other;
    prepare_plateau(&f, HU_SCHEDULE_PLATEAU, 2, 0.5);
    prepare_plateau(&other, HU_SCHEDULE_PLATEAU, 2, 0.5);
    begin(&f);
    begin(&other);
    step(&f);
    for (int i = 0; i < 4; i++) hu_trainer_follow_metric(f.trainer, 0.5);
    save_trainer(&f, folder);
    load_trainer(&other, folder);
    assert_memory_equal(&other.trainer->plateau, &f.trainer->plateau, sizeof(hu_plateau));
    assert_true(other.trainer->plateau.drops == 1 && other.trainer->plateau.stale == 1);
    hu_trainer_follow_metric(other.trainer, 0.5);
    expect_rate(&other, 0.25, 0);
    f.trainer->plateau.stale = -1;
    save_trainer(&f, folder);
    assert_int_equal(restore_trainer(&other, folder), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "section 'plateau' has 72 bytes"));
    f.trainer->options.schedule.kind = HU_SCHEDULE_CONSTANT;
    save_trainer(&f, folder);
    load_trainer(&other, folder);
    assert_true(other.trainer->plateau.drops == 0 && isnan(other.trainer->plateau.best));
    end(&f);
    end(&other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_fall_as_torchs_where_more_is_better),
        cmocka_unit_test(rates_fall_to_the_floor_where_less_is_better),
        cmocka_unit_test(rates_fall_where_a_mean_loss_is_above_the_last_three),
        cmocka_unit_test(steps_note_their_losses),
        cmocka_unit_test(others_know_of_nothing),
        cmocka_unit_test(the_state_is_restored),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
