/* Trainings that end early, where evaluations get no better. */
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

static void prepare_patience(fixture *f, int64_t patience, double min_delta) {
    prepare(f, "fp32");
    f->options.patience = patience;
    f->options.min_delta = min_delta;
}

/* Feeds values; the patience is to end with number `over`, counted from 0. */
static void expect_end(fixture *f, const double *value, int count, int over) {
    for (int i = 0; i < count; i++) {
        hu_trainer_follow_metric(f->trainer, value[i]);
        if (hu_trainer_is_out_of_patience(f->trainer) != (i >= over))
            fail_msg("value number %d: expected the end at number %d", i, over);
    }
}

/* A tie is not better, nor is a NaN; a better one begins the count anew. */
static void three_that_are_not_better_end_it(void **state) {
    (void)state;
    static const double value[] = {.5, .5, .4, .6, .6, NAN, .59};
    fixture f;
    prepare_patience(&f, 3, 0.0);
    begin(&f);
    expect_end(&f, value, 7, 6);
    end(&f);
}

/* Accuracies are shares, and printed in percent: 1 is one percentage point. */
static void less_than_the_least_difference_is_not_better(void **state) {
    (void)state;
    static const double value[] = {.5, .509, .511, .515, .5215};
    fixture f;
    prepare_patience(&f, 2, 1.0);
    begin(&f);
    expect_end(&f, value, 5, 5);
    end(&f);
    prepare_patience(&f, 2, 1.2);
    begin(&f);
    expect_end(&f, value, 3, 2);
    end(&f);
}

static void a_perplexity_is_better_below(void **state) {
    (void)state;
    static const double value[] = {300, 250, 251, 249, 249, 260};
    fixture f;
    prepare_patience(&f, 2, 0.0);
    begin(&f);
    const hu_task *own = f.trainer->task;
    f.trainer->task = &hu_task_language;
    expect_end(&f, value, 6, 5);
    f.trainer->task = own;
    end(&f);
}

/* Without patience nothing is noted, and nothing is saved. */
static void others_never_end_early(void **state) {
    (void)state;
    fixture f;
    const void *data;
    size_t bytes;
    prepare(&f, "fp32");
    begin(&f);
    step(&f);
    for (int i = 0; i < 30; i++) hu_trainer_follow_metric(f.trainer, 0.5);
    assert_false(hu_trainer_is_out_of_patience(f.trainer));
    assert_int_equal(f.trainer->patience.stale, 0);
    save_trainer(&f, folder);
    hu_checkpoint *checkpoint = open_newest(folder);
    assert_int_equal(hu_checkpoint_section(checkpoint, "patience", &data, &bytes), HU_ERR_MISSING);
    hu_checkpoint_free(checkpoint);
    end(&f);
}

/* A file without the state begins anew; one with numbers that cannot be is refused. */
static void the_state_is_restored(void **state) {
    (void)state;
    fixture f, other;
    prepare_patience(&f, 3, 0.0);
    prepare_patience(&other, 3, 0.0);
    begin(&f);
    begin(&other);
    step(&f);
    for (int i = 0; i < 3; i++) hu_trainer_follow_metric(f.trainer, 0.5);
    save_trainer(&f, folder);
    load_trainer(&other, folder);
    assert_memory_equal(&other.trainer->patience, &f.trainer->patience, sizeof(hu_early_stopping));
    assert_false(hu_trainer_is_out_of_patience(other.trainer));
    hu_trainer_follow_metric(other.trainer, 0.5);
    assert_true(hu_trainer_is_out_of_patience(other.trainer));
    f.trainer->patience.stale = -1;
    save_trainer(&f, folder);
    assert_int_equal(restore_trainer(&other, folder), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "section 'patience' has 16 bytes"));
    f.trainer->options.patience = 0;
    save_trainer(&f, folder);
    load_trainer(&other, folder);
    assert_true(other.trainer->patience.stale == 0 && isnan(other.trainer->patience.best));
    end(&f);
    end(&other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_that_are_not_better_end_it),
        cmocka_unit_test(less_than_the_least_difference_is_not_better),
        cmocka_unit_test(a_perplexity_is_better_below),
        cmocka_unit_test(others_never_end_early),
        cmocka_unit_test(the_state_is_restored),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
