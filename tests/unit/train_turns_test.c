/* Two networks that learn in turns: what a step moves, counts and skips, each turn for itself. */
#include <math.h>

#include "precision/precision.h"
#include "train/internal.h"
#include "train/trainer.h"
#include "train_fixture.h"

enum { PICTURE_SIDE = 32, PICTURE = PICTURE_SIDE * PICTURE_SIDE, PICTURES = 40, JUDGE = 0, MAKER };

typedef struct adversaries {
    fixture f;
    uint8_t *pixels;
} adversaries;

/* Pictures of noise, upper half brighter. */
static void open(adversaries *a, const char *precision) {
    hu_random_key key = {.seed = 5, .stream = 1, .step = 0};
    prepare(&a->f, precision);
    a->pixels = malloc(PICTURES * PICTURE);
    assert_non_null(a->pixels);
    for (int64_t i = 0; i < PICTURES * PICTURE; i++)
        a->pixels[i] = (uint8_t)(hu_random_word(&key, (uint64_t)i) % 128 +
                                 (i % PICTURE < PICTURE / 2 ? 100 : 0));
    hu_dataset_set_images(&a->f.data, PICTURE_SIDE, PICTURE_SIDE, 1, CLASSES);
    a->f.data.train = (hu_split){.count = PICTURES, .rows = {a->pixels, a->f.train_labels}};
    a->f.data.test = (hu_split){.count = BATCH, .rows = {a->pixels, a->f.test_labels}};
    a->f.options.model = "dcgan-s";
    a->f.options.width = 0.5;
    a->f.options.optimizer = hu_optimizer_defaults(HU_OPTIMIZER_ADAM);
    a->f.options.schedule = hu_schedule_constant(0.001);
    begin(&a->f);
}

static void done(adversaries *a) {
    end(&a->f);
    free(a->pixels);
}

static float *copy_of(const hu_trainer *trainer, int phase) {
    const hu_phase_state *learner = &trainer->phase[phase];
    float *copy = malloc((size_t)learner->elements * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, trainer->weights.block + learner->offset,
           (size_t)learner->elements * sizeof *copy);
    return copy;
}

static bool has_moved(const hu_trainer *trainer, int phase, float *before) {
    const hu_phase_state *learner = &trainer->phase[phase];
    bool moved = memcmp(before, trainer->weights.block + learner->offset,
                        (size_t)learner->elements * sizeof *before) != 0;
    free(before);
    return moved;
}

static void each_phase_has_parameters_of_its_own(void **state) {
    (void)state;
    adversaries a;
    open(&a, "fp32");
    const hu_trainer *trainer = a.f.trainer;
    assert_int_equal(trainer->phases, 2);
    assert_string_equal(trainer->graph->phase[JUDGE].name, "disc");
    for (int t = 0; t < 2; t++) {
        assert_int_equal(trainer->phase[t].elements, hu_graph_phase_parameters(trainer->graph, t));
        for (uint32_t p = 0; p < trainer->phase[t].count; p++) {
            const char *name =
                trainer->graph->value[trainer->name_order[trainer->phase[t].first + p]].name;
            assert_int_equal(strncmp(name, t == JUDGE ? "disc." : "gen.", t == JUDGE ? 5 : 4), 0);
        }
    }
    assert_int_equal(trainer->phase[JUDGE].elements + trainer->phase[MAKER].elements,
                     trainer->weights.trained);
    hu_step_report report = step(&a.f);
    assert_int_equal(report.phases, 2);
    assert_true(report.loss == report.phase[JUDGE].loss + report.phase[MAKER].loss);
    assert_true(report.gradient_norm ==
                hypot(report.phase[JUDGE].gradient_norm, report.phase[MAKER].gradient_norm));
    for (int t = 0; t < 2; t++) assert_int_equal(hu_optimizer_t(trainer->phase[t].optimizer), 1);
    done(&a);
}

/* One pass of the maker in a step and three of the judge, which share statistics. */
static void statistics_move_once_for_every_pass(void **state) {
    (void)state;
    adversaries a;
    open(&a, "fp32");
    hu_trainer *trainer = a.f.trainer;
    step(&a.f);
    const hu_graph *graph = trainer->graph;
    const char *const nodes[] = {"real.bn1", "fake.bn1", "again.bn1"};
    float *mean = master(&a.f, "disc.bn1.running_mean");
    int applications = 0;
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (int i = 0; i < 3; i++)
            if (strcmp(graph->node[n].name, nodes[i]) == 0) {
                applications++;
                assert_true(hu_weights_of(&trainer->weights, graph->node[n].param[2]) == mean);
                assert_int_equal(graph->node[n].phases, i < 2 ? 1 << JUDGE : 1 << MAKER);
                assert_int_equal(graph->node[n].learns_in, i < 2 ? JUDGE : MAKER);
            }
    assert_int_equal(applications, 3);
    done(&a);
    /* With momentum 0.1 and no variance at all the judge's running variance would be 0.9^3, and the
     * maker's 0.9: weights of 0 make pictures and maps of one number each. */
    open(&a, "fp32");
    trainer = a.f.trainer;
    memset(trainer->weights.block, 0, (size_t)trainer->weights.trained * sizeof(float));
    step(&a.f);
    assert_true(fabsf(master(&a.f, "gen.bn1.running_var")[0] - 0.9f) < 1e-6f);
    assert_true(fabsf(master(&a.f, "disc.bn1.running_var")[0] - 0.729f) < 1e-6f);
    done(&a);
}

/* Every tensor of a batch is counted once, in whichever turns its node runs. */
static void tensors_are_counted_once(void **state) {
    (void)state;
    for (int64_t accumulate = 1; accumulate <= 2; accumulate++) {
        adversaries a;
        open(&a, "1/6/9/d");
        hu_trainer_free(a.f.trainer);
        a.f.options.accumulate = accumulate;
        begin(&a.f);
        step(&a.f);
        const hu_graph *graph = a.f.trainer->graph;
        const hu_edge_table *edges = &a.f.trainer->edges;
        int counted = 0;
        for (hu_value_id v = 0; v < graph->value_count; v++) {
            const hu_value_info *value = &graph->value[v];
            if (!hu_quantizer_rounds(&edges->value[v].quantizer)) continue;
            uint64_t rows = value->role == HU_VALUE_PARAMETER ? 1 : BATCH;
            if (edges->value[v].counts.elements != rows * (uint64_t)value->elements)
                fail_msg("%s: %llu elements", value->name,
                         (unsigned long long)edges->value[v].counts.elements);
            counted++;
        }
        assert_true(counted > 60);
        done(&a);
    }
}

/* The other turn goes on: with its own scale, and with the judge as it was. */
static void a_phase_is_skipped_alone(void **state) {
    (void)state;
    for (int t = 0; t < 2; t++) {
        adversaries a;
        open(&a, "1/6/9/d");
        hu_trainer_free(a.f.trainer);
        a.f.options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
        begin(&a.f);
        hu_trainer *trainer = a.f.trainer;
        step(&a.f);
        trainer->phase[t].scaler.state.scale = 0x1p120f;
        float *judge = copy_of(trainer, JUDGE), *maker = copy_of(trainer, MAKER);
        hu_step_report report = step(&a.f);
        assert_true(report.skipped && report.phase[t].skipped && !report.phase[1 - t].skipped);
        assert_true(isnan(report.gradient_norm) && isfinite(report.loss));
        assert_true(isfinite(report.phase[1 - t].gradient_norm));
        bool moved[2] = {has_moved(trainer, JUDGE, judge), has_moved(trainer, MAKER, maker)};
        assert_true(!moved[t] && moved[1 - t]);
        assert_true(trainer->phase[t].scaler.state.scale == 0x1p119f);
        assert_true(trainer->phase[1 - t].scaler.state.scale == 0x1p16f);
        assert_int_equal(hu_optimizer_t(trainer->phase[t].optimizer), 1);
        assert_int_equal(hu_optimizer_t(trainer->phase[1 - t].optimizer), 2);
        assert_int_equal(hu_trainer_skipped(trainer), 1);
        /* The tensor that is told is one of the turn that was skipped. */
        const char *place = t == JUDGE ? "real." : "again.";
        const char *other = t == JUDGE ? "again." : "real.";
        if (!strstr(report.culprit, place) && !strstr(report.culprit, "fake."))
            fail_msg("%s", report.culprit);
        assert_null(strstr(report.culprit, other));
        done(&a);
    }
}

/* The same step without and with a skipped turn before it: the maker learns from the same judge. */
static void the_maker_reads_the_judge_of_its_phase(void **state) {
    (void)state;
    adversaries a, b;
    open(&a, "fp32");
    open(&b, "fp32");
    hu_step_report first = step(&a.f);
    /* A judge that never moves gives another loss to the maker. */
    b.f.trainer->options.schedule = hu_schedule_constant(0.0);
    hu_step_report still = step(&b.f);
    assert_true(first.phase[JUDGE].loss == still.phase[JUDGE].loss);
    assert_true(first.phase[MAKER].loss != still.phase[MAKER].loss);
    done(&a);
    done(&b);
}

/* The first update of adam moves every weight by about the rate. */
static void the_second_phase_may_have_another_rate(void **state) {
    (void)state;
    adversaries a, b;
    open(&a, "fp32");
    open(&b, "fp32");
    float *before = copy_of(a.f.trainer, MAKER);
    b.f.trainer->options.phase_2_rate = 2.0;
    hu_step_report one = step(&a.f), two = step(&b.f);
    assert_true(one.phase[MAKER].lr == one.lr && two.phase[MAKER].lr == 2.0 * one.lr);
    assert_true(two.phase[JUDGE].lr == two.lr && two.lr == one.lr);
    assert_false(has_moved(b.f.trainer, JUDGE, copy_of(a.f.trainer, JUDGE)));
    float *first = copy_of(a.f.trainer, MAKER), *second = copy_of(b.f.trainer, MAKER);
    int64_t moved = 0;
    for (int64_t i = 0; i < a.f.trainer->phase[MAKER].elements; i++) {
        float by_one = first[i] - before[i], by_two = second[i] - before[i];
        if (fabsf(by_one) < 0.0005f) continue; /* a gradient near the epsilon of adam */
        assert_true(fabsf(by_two - 2.0f * by_one) < 1e-5f);
        moved++;
    }
    assert_true(moved > a.f.trainer->phase[MAKER].elements / 2);
    free(before);
    free(first);
    free(second);
    done(&a);
    done(&b);
}

/* A forward pass of the judge that ends in NaN on real pictures stops its turn; the maker has made
 * its pictures by then, and makes them again. */
static void the_maker_goes_on_where_the_judge_was_stopped(void **state) {
    (void)state;
    adversaries a, sound;
    open(&a, "fp32");
    open(&sound, "fp32");
    hu_trainer_free(a.f.trainer);
    a.f.options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
    a.f.options.scaler.init = 1.0f;
    assert_int_equal(
        hu_precision_add_rule(&a.f.options.precision, "real.conv1.out: e4m3fn:bias=70:ovf=nan"),
        HU_OK);
    begin(&a.f);
    hu_trainer *trainer = a.f.trainer;
    float *judge = copy_of(trainer, JUDGE), *maker = copy_of(trainer, MAKER);
    hu_step_report report = step(&a.f);
    assert_true(report.phase[JUDGE].skipped && !report.phase[MAKER].skipped);
    assert_true(isnan(report.phase[JUDGE].loss) && isnan(report.loss));
    assert_non_null(strstr(report.culprit, "real.conv1.out"));
    bool moved[2] = {has_moved(trainer, JUDGE, judge), has_moved(trainer, MAKER, maker)};
    assert_true(!moved[JUDGE] && moved[MAKER]);
    /* The loss of a maker whose judge did not learn, whose scale is 1 likewise. */
    sound.f.trainer->options.schedule = hu_schedule_constant(0.0);
    assert_true(step(&sound.f).phase[MAKER].loss == report.phase[MAKER].loss);
    done(&a);
    done(&sound);
}

static void workers_are_refused(void **state) {
    (void)state;
    adversaries a;
    open(&a, "fp32");
    hu_trainer_free(a.f.trainer);
    a.f.options.comm = (hu_train_comm){.formats = "fp32"};
    a.f.options.comm.options.workers = 2;
    assert_int_equal(hu_trainer_create(&a.f.options, &a.f.data, &a.f.trainer), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "learns in turns, 'disc' and 'gen'"));
    done(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_phase_has_parameters_of_its_own),
        cmocka_unit_test(statistics_move_once_for_every_pass),
        cmocka_unit_test(tensors_are_counted_once),
        cmocka_unit_test(a_phase_is_skipped_alone),
        cmocka_unit_test(the_maker_reads_the_judge_of_its_phase),
        cmocka_unit_test(the_second_phase_may_have_another_rate),
        cmocka_unit_test(the_maker_goes_on_where_the_judge_was_stopped),
        cmocka_unit_test(workers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
