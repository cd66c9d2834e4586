/* Samples that nobody has labelled: a training with them has the bits of one without them, and
 * means of epochs are over what is labelled. The network is one linear layer: what batch statistics
 * see of the images would be another matter. */
#include <math.h>

#include "op/attributes.h"
#include "own_net.h"
#include "train/trainer.h"
#include "train_fixture.h"

enum { LABELLED = 8, ALL = 16, STEPS = 5 };

static hu_graph *linear_net(hu_custom_net *net) {
    const hu_shape image = {3, {SIDE, SIDE, 1}};
    const hu_linear_attrs attrs = {.out_features = CLASSES, .weight_init = {HU_INIT_NORMAL, 0.1f}};
    return own_node(net, &image, &hu_op_linear, "fc", &attrs);
}

/* Both halves have so many samples, of which those from `labelled` on have no label. */
static void give_samples(fixture *f, int64_t count, int64_t labelled) {
    for (int64_t s = labelled; s < count; s++)
        f->train_labels[s] = f->test_labels[s] = HU_UNLABELLED;
    f->data.train.count = f->data.test.count = f->options.batch = count;
}

static void begin_linear(fixture *f, const char *loss, int64_t accumulate) {
    hu_custom_net net;
    hu_graph *graph = linear_net(&net);
    f->options.own = &net;
    f->options.task = &hu_task_classify;
    f->options.keep_order = true;
    f->options.accumulate = accumulate;
    assert_int_equal(hu_loss_find(loss, &f->options.loss), HU_OK);
    begin(f);
    hu_graph_free(graph);
}

/* The second half of the batch is a chunk of its own, and adds zeros. */
static void compare(const char *loss, int64_t accumulate) {
    fixture with, without;
    double metric[2][HU_METRICS_MAX], mean[2];
    prepare(&with, "fp32");
    prepare(&without, "fp32");
    give_samples(&with, ALL, LABELLED);
    give_samples(&without, LABELLED, LABELLED);
    begin_linear(&with, loss, accumulate);
    begin_linear(&without, loss, 1);
    for (int i = 0; i < STEPS; i++) {
        hu_step_report a = step(&with), b = step(&without);
        assert_true(a.loss == b.loss && a.loss > 0.0);
        assert_true(a.metric == b.metric);
        assert_true(a.gradient_norm == b.gradient_norm && a.gradient_norm > 0.0);
        assert_true(hu_trainer_weights_hash(with.trainer) ==
                    hu_trainer_weights_hash(without.trainer));
        assert_true(hu_trainer_progress(with.trainer)->last_epoch_loss == a.loss);
    }
    assert_int_equal(hu_trainer_evaluate(with.trainer, metric[0], &mean[0]), HU_OK);
    assert_int_equal(hu_trainer_evaluate(without.trainer, metric[1], &mean[1]), HU_OK);
    assert_true(mean[0] == mean[1] && mean[0] > 0.0);
    assert_true(metric[0][0] == metric[1][0] && metric[0][0] >= 0.0);
    end(&with);
    end(&without);
}

static void unlabelled_samples_change_nothing(void **state) {
    (void)state;
    compare("nll", 1);
    compare("nll", 2);
    compare("softmax_cross_entropy", 1);
    compare("softmax_cross_entropy", 2);
}

/* Three batches of 8, with 8, 0 and 4 labels. */
static void an_epoch_is_a_mean_over_labels(void **state) {
    (void)state;
    fixture f;
    prepare(&f, "fp32");
    give_samples(&f, LABELLED, LABELLED);
    f.data.train.count = 24;
    for (int64_t s = 8; s < 24; s++)
        if (s < 16 || s >= 20) f.train_labels[s] = HU_UNLABELLED;
    f.options.optimizer.momentum = 0.0;
    begin_linear(&f, "nll", 1);
    hu_step_report first = step(&f);
    uint64_t hash = hu_trainer_weights_hash(f.trainer);
    hu_step_report empty = step(&f);
    assert_true(isnan(empty.loss) && isnan(empty.metric));
    assert_true(empty.gradient_norm == 0.0 && !empty.skipped);
    assert_true(hu_trainer_weights_hash(f.trainer) == hash);
    assert_true(hu_trainer_progress(f.trainer)->last_epoch_loss == first.loss);
    hu_step_report last = step(&f);
    assert_true(hu_trainer_progress(f.trainer)->last_epoch_loss ==
                (8.0 * first.loss + 4.0 * last.loss) / 12.0);
    assert_true(last.loss != first.loss);
    end(&f);
}

static void without_labels_there_is_no_loss(void **state) {
    (void)state;
    fixture f;
    double metrics[HU_METRICS_MAX], loss;
    prepare(&f, "fp32");
    give_samples(&f, ALL, 0);
    begin_linear(&f, "nll", 1);
    assert_int_equal(hu_trainer_evaluate(f.trainer, metrics, &loss), HU_OK);
    assert_true(isnan(loss) && isnan(metrics[0]));
    end(&f);
}

/* The mean over no label is none; its gradient is +0, and a step changes nothing that it would not
 * change without a loss: no decay, no momentum, no skip. */
static void check_empty_batch(const char *precision, const char *loss) {
    fixture f;
    prepare(&f, precision);
    give_samples(&f, ALL, 0);
    f.options.optimizer.momentum = 0.9;
    begin_linear(&f, loss, 2); /* the sum of two parts can be looked at */
    uint64_t before = hu_trainer_weights_hash(f.trainer);
    for (int i = 0; i < 2; i++) {
        const hu_step_report made = step(&f);
        assert_true(!made.skipped && made.gradient_norm == 0.0 && !signbit(made.gradient_norm));
        assert_true(isnan(made.loss) && made.culprit[0] == '\0');
    }
    assert_true(hu_trainer_weights_hash(f.trainer) == before);
    for (int64_t i = 0; i < hu_graph_parameters(f.trainer->graph); i++)
        assert_true(f.trainer->gradient_sum[i] == 0.0f && !signbit(f.trainer->gradient_sum[i]));
    end(&f);
}

static void a_batch_without_labels_changes_nothing(void **state) {
    (void)state;
    static const char *const precisions[] = {"fp32", "fp16", "1/6/9/d", "hfp8"};
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
        check_empty_batch(precisions[i], "nll");
        check_empty_batch(precisions[i], "softmax_cross_entropy");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unlabelled_samples_change_nothing),
        cmocka_unit_test(an_epoch_is_a_mean_over_labels),
        cmocka_unit_test(without_labels_there_is_no_loss),
        cmocka_unit_test(a_batch_without_labels_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
