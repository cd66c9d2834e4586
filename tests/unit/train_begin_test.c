/* Trainings that begin where another one stands, and tensors that are promoted beforehand. */
#include <math.h>

#include "comm/plan.h"
#include "train/trainer.h"
#include "train_fixture.h"

static void begin_with(fixture *f, const char *precision, double momentum) {
    prepare(f, precision);
    f->options.optimizer.momentum = momentum;
    begin(f);
}

static void begin_at(fixture *f, const fixture *other) {
    if (hu_trainer_begin_at(f->trainer, other->trainer) != HU_OK) fail_msg("%s", hu_last_error());
}

/* The same step again and again: weights and momentum are those of the other training. */
static void test_same_step_again(void **state) {
    (void)state;
    fixture ended, once;
    begin_with(&ended, "fp32", 0.9);
    for (int i = 0; i < 5; i++) step(&ended);
    uint64_t begun = hu_trainer_weights_hash(ended.trainer);
    begin_with(&once, "fp32", 0.9);
    uint64_t drawn = hu_trainer_weights_hash(once.trainer);
    assert_true(begun != drawn);
    begin_at(&once, &ended);
    assert_true(hu_trainer_weights_hash(once.trainer) == begun);
    step(&once);
    uint64_t after = hu_trainer_weights_hash(once.trainer);
    for (int i = 0; i < 3; i++) step(&once);
    begin_at(&once, &ended);
    assert_int_equal(hu_trainer_progress(once.trainer)->step, 0);
    assert_int_equal(step(&once).step, 0);
    assert_true(hu_trainer_weights_hash(once.trainer) == after);
    /* Without the momentum the step is another one. */
    fixture plain;
    begin_with(&plain, "fp32", 0.9);
    memcpy(plain.trainer->weights.block, ended.trainer->weights.block,
           (size_t)ended.trainer->weights.elements * sizeof(float));
    step(&plain);
    assert_true(hu_trainer_weights_hash(plain.trainer) != after);
    assert_true(hu_trainer_weights_hash(ended.trainer) == begun);
    end(&plain);
    end(&once);
    end(&ended);
}

static void begin_packed(fixture *f, const char *format, hu_keys **list) {
    prepare(f, "fp32");
    *list = list_of(format, NULL);
    f->options.optimizer_state = *list;
    begin(f);
}

/* Codes of one format mean nothing in another, though they have as many bytes. */
static void test_packed_state(void **state) {
    (void)state;
    fixture ended, same, other;
    hu_keys *list[3];
    begin_packed(&ended, "bf16 sr", &list[0]);
    begin_packed(&same, "bf16", &list[1]);
    begin_packed(&other, "fp16", &list[2]);
    for (int i = 0; i < 5; i++) step(&ended);
    begin_at(&same, &ended);
    const char *name;
    const void *kept, *taken;
    size_t bytes;
    assert_true(hu_optimizer_state(ended.trainer->phase[0].optimizer, 1, &name, &kept, &bytes));
    assert_true(hu_optimizer_state(same.trainer->phase[0].optimizer, 1, &name, &taken, &bytes));
    assert_memory_equal(kept, taken, bytes);
    assert_int_equal(hu_trainer_begin_at(other.trainer, ended.trainer), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "optimizer.state"));
    end(&other);
    end(&same);
    end(&ended);
    for (int i = 0; i < 3; i++) hu_keys_free(list[i]);
}

/* Where nothing but the gradient moves the weights, the update is the gradient that is given. */
static void test_gradient_of_a_step(void **state) {
    (void)state;
    enum { SCALE = 1024 };
    fixture f;
    prepare(&f, "fp32");
    assert_int_equal(hu_comm_schedule_parse("seq", &f.options.comm.options.schedule,
                                            &f.options.comm.options.group),
                     HU_OK);
    assert_int_equal(hu_comm_scaling_parse("none", &f.options.comm.options.scaling,
                                           &f.options.comm.options.constant),
                     HU_OK);
    f.options.comm.options.workers = 1;
    f.options.comm.formats = "fp32";
    f.options.comm.exact = "";
    f.options.optimizer.momentum = 0.0;
    f.options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_CONSTANT);
    f.options.scaler.init = SCALE;
    begin(&f);
    size_t bytes = (size_t)f.trainer->weights.trained * sizeof(float);
    float *before = malloc(bytes);
    memcpy(before, f.trainer->weights.block, bytes);
    float rate = (float)step(&f).lr;
    const float *gradient = hu_trainer_gradient(f.trainer);
    assert_non_null(gradient);
    for (int64_t i = 0; i < f.trainer->weights.trained; i++) {
        float expected = before[i] - rate * (gradient[i] * (1.0f / SCALE));
        assert_true(f.trainer->weights.block[i] == expected);
    }
    free(before);
    end(&f);
    begin_with(&f, "fp32", 0.9);
    step(&f);
    assert_null(hu_trainer_gradient(f.trainer));
    end(&f);
}

/* What is promoted beforehand counts, is trained and stays as if it had overflowed. */
static void test_promoted_beforehand(void **state) {
    (void)state;
    fixture f, other;
    begin_with(&f, "uniform+promote", 0.9);
    begin_with(&other, "uniform+promote", 0.9);
    const hu_graph *graph = hu_trainer_graph(f.trainer);
    hu_value_id value[2] = {hu_graph_find(graph, "conv1.out"), hu_graph_find(graph, "fc.weight")};
    double all_low = hu_trainer_aggregate(f.trainer).last, expected = all_low;
    for (int i = 0; i < 2; i++) {
        double batch = graph->value[value[i]].role == HU_VALUE_PARAMETER ? 1.0 : BATCH;
        expected += 8.0 * batch * (double)graph->value[value[i]].elements;
    }
    assert_int_equal(hu_trainer_promote(f.trainer, value, 2), HU_OK);
    assert_true(hu_trainer_aggregate(f.trainer).last == expected);
    assert_int_equal(hu_trainer_promoted(f.trainer), 2);
    begin_at(&f, &other);
    assert_int_equal(hu_trainer_promoted(f.trainer), 2);
    uint64_t drawn = hu_trainer_weights_hash(f.trainer);
    assert_true(drawn == hu_trainer_weights_hash(other.trainer));
    step(&f);
    step(&other);
    assert_true(hu_trainer_weights_hash(f.trainer) != hu_trainer_weights_hash(other.trainer));
    assert_true(hu_trainer_aggregate(f.trainer).last >= expected);
    end(&other);
    end(&f);
}

static void test_refusals(void **state) {
    (void)state;
    fixture f, wide, adam;
    begin_with(&f, "fp32", 0.9);
    prepare(&wide, "fp32");
    wide.options.width = 0.5;
    begin(&wide);
    prepare(&adam, "fp32");
    adam.options.optimizer = hu_optimizer_defaults(HU_OPTIMIZER_ADAM);
    begin(&adam);
    uint64_t drawn = hu_trainer_weights_hash(f.trainer);
    assert_int_equal(hu_trainer_begin_at(f.trainer, wide.trainer), HU_ERR_SHAPE);
    assert_int_equal(hu_trainer_begin_at(f.trainer, adam.trainer), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "optimizer adam, expected that of sgd"));
    hu_value_id value = 0;
    assert_int_equal(hu_trainer_promote(f.trainer, &value, 1), HU_ERR_ARGUMENT);
    assert_true(hu_trainer_weights_hash(f.trainer) == drawn);
    end(&adam);
    end(&wide);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_step_again), cmocka_unit_test(test_gradient_of_a_step),
        cmocka_unit_test(test_packed_state), cmocka_unit_test(test_promoted_beforehand),
        cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
