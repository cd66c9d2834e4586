/* Running means of the weights: their recurrence, evaluation with them, and a trainer restored. */
#include <math.h>

#include "train/internal.h"
#include "train/trainer.h"
#include "train_fixture.h"

enum { STEPS = 6 };

static void prepare_means(fixture *f, const char *precision, double decay) {
    prepare(f, precision);
    f->options.average = decay;
    f->options.eval_average = true;
}

static size_t bytes_of(const fixture *f) {
    return (size_t)f->trainer->weights.trained * sizeof(float);
}

static float *copy(const float *x, size_t bytes) {
    float *made = malloc(bytes);
    assert_non_null(made);
    memcpy(made, x, bytes);
    return made;
}

/* e = d e + (1 - d) w from the first masters on, on any number of threads; training itself does not
 * know of them. */
static void means_follow_their_recurrence(void **state) {
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        fixture f, plain;
        prepare_means(&f, threads == 2 ? "hfp8" : "fp32", 0.75);
        prepare(&plain, threads == 2 ? "hfp8" : "fp32");
        f.options.run.threads = threads;
        begin(&f);
        begin(&plain);
        float *e = copy(f.trainer->weights.block, bytes_of(&f));
        for (int i = 0; i < STEPS; i++) {
            bool skipped = step(&f).skipped;
            step(&plain);
            for (int64_t k = 0; k < f.trainer->weights.trained && !skipped; k++)
                e[k] = 0.75f * e[k] + 0.25f * f.trainer->weights.block[k];
            assert_memory_equal(e, f.trainer->average.mean, bytes_of(&f));
        }
        assert_memory_equal(f.trainer->weights.block, plain.trainer->weights.block, bytes_of(&f));
        free(e);
        end(&f);
        end(&plain);
    }
}

/* Metrics are those of a trainer whose masters are the means; training goes on with the masters. */
static void evaluation_takes_the_means(void **state) {
    (void)state;
    for (int takes = 0; takes < 2; takes++) {
        double found[HU_METRICS_MAX], expected[HU_METRICS_MAX], loss, wanted;
        fixture f, other;
        prepare_means(&f, "fp32", 0.9);
        f.options.eval_average = takes;
        prepare(&other, "fp32");
        begin(&f);
        begin(&other);
        for (int i = 0; i < STEPS; i++) {
            step(&f);
            step(&other);
        }
        if (takes) memcpy(other.trainer->weights.block, f.trainer->average.mean, bytes_of(&f));
        float *before = copy(f.trainer->weights.block, bytes_of(&f));
        assert_int_equal(hu_trainer_evaluate(f.trainer, found, &loss), HU_OK);
        assert_int_equal(hu_trainer_evaluate(other.trainer, expected, &wanted), HU_OK);
        assert_true(loss == wanted && found[0] == expected[0]);
        assert_memory_equal(before, f.trainer->weights.block, bytes_of(&f));
        free(before);
        end(&f);
        end(&other);
    }
}

static void others_are_as_they_are(void **state) {
    (void)state;
    fixture f;
    hu_keys *own = list_of("conv*", NULL), *wrong = list_of("convv*", NULL);
    prepare_means(&f, "fp32", 0.9);
    f.options.average_of = wrong;
    assert_int_equal(hu_trainer_create(&f.options, &f.data, &f.trainer), HU_ERR_PARSE);
    f.options.average_of = own;
    begin(&f);
    for (int i = 0; i < STEPS; i++) step(&f);
    for (uint32_t p = 0; p < f.trainer->parameter_count; p++) {
        hu_value_id v = f.trainer->name_order[p];
        const hu_value_info *value = &f.trainer->graph->value[v];
        int64_t at = f.trainer->weights.offset[v];
        bool same = memcmp(f.trainer->average.mean + at, f.trainer->weights.block + at,
                           (size_t)value->elements * sizeof(float)) == 0;
        assert_true(same == (strncmp(value->name, "conv", 4) != 0));
    }
    hu_trainer_free(f.trainer);
    f.options.average = 0; /* patterns of nothing */
    assert_int_equal(hu_trainer_create(&f.options, &f.data, &f.trainer), HU_ERR_PARSE);
    assert_non_null(strstr(hu_last_error(), "optimizer.average, which is 0"));
    f.options.average = 1;
    assert_int_equal(hu_trainer_create(&f.options, &f.data, &f.trainer), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "optimizer.average: found 1"));
    f.trainer = NULL;
    end(&f);
    hu_keys_free(own);
    hu_keys_free(wrong);
}

static void a_restored_trainer_goes_on_with_the_same_means(void **state) {
    (void)state;
    char directory[256];
    fixture f, g, plain;
    make_directory(directory);
    prepare_means(&f, "fp32", 0.9);
    prepare_means(&g, "fp32", 0.9);
    prepare(&plain, "fp32");
    begin(&f);
    begin(&g);
    begin(&plain);
    for (int i = 0; i < STEPS; i++) step(&f);
    save_trainer(&f, directory);
    for (int i = 0; i < STEPS; i++) step(&f);
    assert_int_equal(restore_trainer(&g, directory), HU_OK);
    for (int i = 0; i < STEPS; i++) step(&g);
    assert_memory_equal(f.trainer->average.mean, g.trainer->average.mean, bytes_of(&f));
    assert_int_equal(restore_trainer(&plain, directory), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "optimizer.average: found 0, expected as in"));
    end(&f);
    end(&g);
    end(&plain);
    remove_directory(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_follow_their_recurrence),
        cmocka_unit_test(evaluation_takes_the_means),
        cmocka_unit_test(others_are_as_they_are),
        cmocka_unit_test(a_restored_trainer_goes_on_with_the_same_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
