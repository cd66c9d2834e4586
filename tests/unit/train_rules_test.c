/* Rules by name in a training: shares of the rate, and norms of the gradients of some parameters.
 */
#include <math.h>

#include "train/internal.h"
#include "train/trainer.h"
#include "train_fixture.h"

/* Masters before and after one step, and the gradient between them, of the trained parameters. */
typedef struct moved {
    float *before, *after, *gradient; /* [trained] */
    double norm;                      /* of the step */
} moved;

static float *copy(const float *x, int64_t n) {
    float *made = malloc((size_t)n * sizeof *made);
    assert_non_null(made);
    memcpy(made, x, (size_t)n * sizeof *made);
    return made;
}

static moved one_step(fixture *f) {
    hu_trainer *t = f->trainer;
    const int64_t trained = t->weights.trained;
    moved m = {.before = copy(t->weights.block, trained)};
    m.norm = step(f).gradient_norm;
    m.after = copy(t->weights.block, trained);
    m.gradient = copy(t->weights.block, trained);
    for (uint32_t p = 0; p < t->parameter_count; p++) {
        hu_value_id v = t->name_order[p];
        int64_t n = t->graph->value[v].elements;
        float *scratch = copy(t->weights.block, n);
        memcpy(m.gradient + t->weights.offset[v], hu_run_param_grad(t->run, v, 0, n, scratch),
               (size_t)n * sizeof *scratch);
        free(scratch);
    }
    return m;
}

static void forget(moved *m) {
    free(m->before);
    free(m->after);
    free(m->gradient);
}

/* L2 norm of the gradients of all parameters whose names begin so, or do not. */
static double norm_of(const fixture *f, const moved *m, const char *prefix, bool begin) {
    double total = 0;
    for (uint32_t p = 0; p < f->trainer->parameter_count; p++) {
        hu_value_id v = f->trainer->name_order[p];
        const hu_value_info *value = &f->trainer->graph->value[v];
        if ((strncmp(value->name, prefix, strlen(prefix)) == 0) != begin) continue;
        const float *g = m->gradient + f->trainer->weights.offset[v];
        for (int64_t i = 0; i < value->elements; i++) total += (double)g[i] * (double)g[i];
    }
    return sqrt(total);
}

static void expect_moved(const fixture *f, const moved *m, const char *prefix, bool begin,
                         double factor) {
    for (uint32_t p = 0; p < f->trainer->parameter_count; p++) {
        hu_value_id v = f->trainer->name_order[p];
        const hu_value_info *value = &f->trainer->graph->value[v];
        if ((strncmp(value->name, prefix, strlen(prefix)) == 0) != begin) continue;
        for (int64_t i = 0; i < value->elements; i++) {
            int64_t at = f->trainer->weights.offset[v] + i;
            double expected = (double)m->before[at] - 0.5 * factor * (double)m->gradient[at];
            double room = 1e-6 * (fabs(expected) + fabs((double)m->before[at]));
            assert_true(fabs((double)m->after[at] - expected) <= room);
        }
    }
}

static void prepare_plain(fixture *f) {
    prepare(f, "fp32");
    f->options.optimizer.momentum = 0;
    f->options.schedule = hu_schedule_constant(0.5);
}

/* The parameters of a rule share one norm, all others that of clip_norm. */
static void groups_are_clipped_apart(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        fixture f;
        hu_keys *own = list_of("conv*: 1e-3", NULL);
        prepare_plain(&f);
        f.options.run.threads = threads;
        f.options.clip_rules = own;
        f.options.clip_norm = 1e-4;
        begin(&f);
        moved m = one_step(&f);
        double of_rule = norm_of(&f, &m, "conv", true), others = norm_of(&f, &m, "conv", false);
        assert_true(of_rule > 1e-3 && others > 1e-4);
        assert_true(fabs(hypot(of_rule, others) - m.norm) < 1e-9);
        expect_moved(&f, &m, "conv", true, 1e-3 / of_rule);
        expect_moved(&f, &m, "conv", false, 1e-4 / others);
        forget(&m);
        end(&f);
        hu_keys_free(own);
    }
}

/* Rules alone leave the others as they are; a norm that is not reached does nothing. */
static void others_are_not_clipped_without_a_norm(void **state) {
    (void)state;
    fixture f;
    hu_keys *own = list_of("conv*: 1e-3", "fc*: 1e6");
    prepare_plain(&f);
    f.options.clip_rules = own;
    begin(&f);
    moved m = one_step(&f);
    expect_moved(&f, &m, "conv", true, 1e-3 / norm_of(&f, &m, "conv", true));
    expect_moved(&f, &m, "conv", false, 1);
    forget(&m);
    end(&f);
    hu_keys_free(own);
}

/* The first rule that matches counts; a factor of 0 leaves the weights, bit for bit. */
static void rates_have_rules(void **state) {
    (void)state;
    fixture f;
    hu_keys *own = list_of("conv1.weight: 0", "conv*: 0.25");
    prepare_plain(&f);
    f.options.lr_rules = own;
    begin(&f);
    moved m = one_step(&f);
    hu_value_id v = hu_graph_find(f.trainer->graph, "conv1.weight");
    int64_t first = f.trainer->weights.offset[v], n = f.trainer->graph->value[v].elements;
    assert_memory_equal(m.before + first, m.after + first, (size_t)n * sizeof(float));
    expect_moved(&f, &m, "conv1", true, 0);
    expect_moved(&f, &m, "conv2", true, 0.25);
    expect_moved(&f, &m, "conv", false, 1);
    forget(&m);
    end(&f);
    hu_keys_free(own);
}

static void expect_refused(const char *rule, const char *message, bool is_clip) {
    fixture f;
    hu_keys *own = list_of(rule, NULL);
    prepare_plain(&f);
    *(is_clip ? &f.options.clip_rules : &f.options.lr_rules) = own;
    assert_int_equal(hu_trainer_create(&f.options, &f.data, &f.trainer), HU_ERR_PARSE);
    if (!strstr(hu_last_error(), message)) fail_msg("%s", hu_last_error());
    f.trainer = NULL;
    end(&f);
    hu_keys_free(own);
}

static void mistakes_are_named(void **state) {
    (void)state;
    expect_refused("convv*: 1", "a pattern that matches a parameter, nearest: '", false);
    expect_refused("conv*", "'PATTERN: NUMBER', the number at least 0", false);
    expect_refused("conv*: x", "'PATTERN: NUMBER'", false);
    expect_refused("conv*: 1x", "'PATTERN: NUMBER'", false);
    expect_refused("conv*: -1", "'PATTERN: NUMBER'", false);
    expect_refused("conv*: nan", "'PATTERN: NUMBER'", true);
    expect_refused("conv*: 0", "'PATTERN: NUMBER'", true);
    expect_refused(": 1", "'PATTERN: NUMBER'", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_clipped_apart),
        cmocka_unit_test(others_are_not_clipped_without_a_norm),
        cmocka_unit_test(rates_have_rules),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
