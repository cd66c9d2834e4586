/* LARS in a training: rates of tensors from their norms, against a plain reference; tensors that do
 * not decay. */
#include <math.h>

#include "train/internal.h"
#include "train/trainer.h"
#include "train_fixture.h"

enum { STEPS = 4 };

/* What the reference keeps of a training. */
typedef struct reference {
    float *w, *v, *g; /* [trained] */
    bool *decay;      /* [parameters] */
} reference;

static void *room(size_t count, size_t bytes) {
    void *block = calloc(count, bytes);
    assert_non_null(block);
    return block;
}

static const hu_value_info *value_of(const fixture *f, uint32_t p) {
    return &f->trainer->graph->value[f->trainer->name_order[p]];
}

static int64_t offset_of(const fixture *f, uint32_t p) {
    return f->trainer->weights.offset[f->trainer->name_order[p]];
}

static reference open_reference(fixture *f) {
    size_t trained = (size_t)f->trainer->weights.trained;
    reference r = {room(trained, sizeof(float)), room(trained, sizeof(float)),
                   room(trained, sizeof(float)), room(f->trainer->parameter_count, sizeof(bool))};
    memcpy(r.w, f->trainer->weights.block, trained * sizeof(float));
    for (uint32_t p = 0; p < f->trainer->parameter_count; p++)
        r.decay[p] = !strstr(value_of(f, p)->name, "bn");
    return r;
}

static void close_reference(reference *r) {
    free(r->w);
    free(r->v);
    free(r->g);
    free(r->decay);
}

/* The gradients of the last step, as the update saw them. */
static void read_gradients(fixture *f, const reference *r, float factor) {
    hu_trainer *t = f->trainer;
    for (uint32_t p = 0; p < t->parameter_count; p++) {
        int64_t n = value_of(f, p)->elements, at = offset_of(f, p);
        float *scratch = room((size_t)n, sizeof(float));
        const float *g = t->gradient_sum
                             ? t->gradient_sum + at
                             : hu_run_param_grad(t->run, t->name_order[p], 0, n, scratch);
        for (int64_t i = 0; i < n; i++) r->g[at + i] = g[i] * factor;
        free(scratch);
    }
}

/* Squares in runs of 4,096, as docs/reference/numerics/training.md says; each is added to total. */
static void add_squares(const float *x, int64_t n, double *total) {
    for (int64_t first = 0; first < n; first += 4096) {
        double sum = 0;
        for (int64_t i = first; i < n && i < first + 4096; i++) sum += (double)x[i] * (double)x[i];
        *total += sum;
    }
}

static double norm(const float *x, int64_t n) {
    double total = 0;
    add_squares(x, n, &total);
    return sqrt(total);
}

/* The norm of all gradients: parameters by name. */
static double norm_of_all(const fixture *f, const reference *r) {
    double total = 0;
    for (uint32_t p = 0; p < f->trainer->parameter_count; p++)
        add_squares(r->g + offset_of(f, p), value_of(f, p)->elements, &total);
    return sqrt(total);
}

/* lambda of one tensor, straight from the formula. */
static float lambda(const float *w, const float *g, int64_t n, double decay, bool stays) {
    double weights = (double)(float)norm(w, n), gradients = (double)(float)norm(g, n);
    if (weights == 0) return stays ? 0 : 1;
    if (gradients + decay * weights == 0) return 1;
    return (float)(0.001 * weights / (gradients + decay * weights));
}

static void step_reference(fixture *f, const reference *r, double lr) {
    const hu_optimizer_options *o = &f->options.optimizer;
    for (uint32_t p = 0; p < f->trainer->parameter_count; p++) {
        int64_t n = value_of(f, p)->elements, at = offset_of(f, p);
        double decay = r->decay[p] ? o->weight_decay : 0;
        float rate = (float)lr * lambda(r->w + at, r->g + at, n, decay, o->zeros_stay);
        float *w = r->w + at, *v = r->v + at;
        for (int64_t i = 0; i < n; i++) {
            v[i] = (float)o->momentum * v[i] + rate * (r->g[at + i] + (float)decay * w[i]);
            w[i] -= v[i];
        }
    }
}

static void prepare_lars(fixture *f, const char *precision, const hu_keys *no_decay) {
    prepare(f, precision);
    f->options.optimizer = hu_optimizer_defaults(HU_OPTIMIZER_LARS);
    f->options.optimizer.weight_decay = 0.01;
    f->options.no_decay = no_decay;
    f->options.schedule = hu_schedule_constant(4);
    f->options.width = 2; /* the third convolution is many blocks */
}

/* Bits of the reference, in every way to come by gradients, on any number of threads. */
static void test_reference(void **state) {
    (void)state;
    hu_keys *norms = list_of("bn*.weight", "bn*.bias");
    for (int run = 0; run < 6; run++) {
        fixture f;
        prepare_lars(&f, run % 2 ? "hfp8" : "fp32", norms);
        f.options.run.threads = (const int[]){1, 2, 3, 7, 2, 1}[run];
        f.options.accumulate = run >= 4 ? 2 : 1;
        f.options.optimizer.zeros_stay = run == 2 || run == 3;
        begin(&f);
        assert_true(hu_gradient_block_count(f.trainer) > f.trainer->parameter_count + 10);
        reference r = open_reference(&f);
        for (int i = 0; i < STEPS; i++) {
            float inverse = hu_loss_scale_inverse(&f.trainer->phase[0].scaler);
            hu_step_report report = step(&f);
            assert_false(report.skipped);
            read_gradients(&f, &r, inverse);
            assert_true(report.gradient_norm == norm_of_all(&f, &r));
            step_reference(&f, &r, report.lr);
            assert_memory_equal(r.w, f.trainer->weights.block,
                                (size_t)f.trainer->weights.trained * sizeof(float));
        }
        close_reference(&r);
        end(&f);
    }
    hu_keys_free(norms);
}

/* A batch norm's bias begins at zero: it moves as with plain momentum, or never. */
static void test_zeros(void **state) {
    (void)state;
    for (int stay = 0; stay < 2; stay++) {
        fixture f;
        prepare_lars(&f, "fp32", NULL);
        f.options.optimizer.zeros_stay = stay;
        begin(&f);
        float weight = master(&f, "bn1.weight")[0];
        assert_true(master(&f, "bn1.bias")[0] == 0);
        hu_step_report report = step(&f);
        float g[8];
        hu_value_id v = hu_graph_find(f.trainer->graph, "bn1.bias");
        const float *gradient = hu_run_param_grad(f.trainer->run, v, 0, 8, g);
        for (int i = 0; i < 8; i++) {
            float moved = (float)report.lr * gradient[i];
            assert_true(master(&f, "bn1.bias")[i] == (stay ? 0.0f : -moved));
        }
        for (int i = 0; i < 3; i++) step(&f);
        assert_true((master(&f, "bn1.bias")[0] == 0) == (stay == 1));
        assert_true(master(&f, "bn1.weight")[0] != weight);
        end(&f);
    }
}

/* The norm of a gradient is that of what the update sees: clipped. */
static void test_clipped(void **state) {
    (void)state;
    fixture f;
    prepare_lars(&f, "fp32", NULL);
    f.options.clip_norm = 1e-3;
    begin(&f);
    reference r = open_reference(&f);
    hu_step_report report = step(&f);
    assert_true(report.gradient_norm > 2e-3);
    read_gradients(&f, &r, (float)(1e-3 / report.gradient_norm));
    for (uint32_t p = 0; p < f.trainer->parameter_count; p++) {
        int64_t n = value_of(&f, p)->elements, at = offset_of(&f, p);
        double expected = (double)lambda(r.w + at, r.g + at, n, 0.01, false);
        /* Each element was rounded after the factor here, the norm there. */
        assert_true(fabs((double)f.trainer->tensors[p].trust - expected) < 1e-6 * expected);
    }
    close_reference(&r);
    end(&f);
}

/* Patterns without a match are mistakes; all kinds of updates know tensors that do not decay. */
static void test_no_decay(void **state) {
    (void)state;
    fixture f;
    hu_keys *wrong = list_of("fc.*", "bm*"), *good = list_of("fc.*", "*bn?.weight");
    prepare(&f, "fp32");
    f.options.no_decay = wrong;
    assert_int_equal(hu_trainer_create(&f.options, &f.data, &f.trainer), HU_ERR_PARSE);
    assert_non_null(strstr(hu_last_error(), "found 'bm*'"));
    assert_non_null(strstr(hu_last_error(), "'bn"));
    for (int decays = 0; decays < 2; decays++) {
        f.options.no_decay = decays ? NULL : good;
        f.options.optimizer.weight_decay = 0.5;
        f.options.schedule = hu_schedule_constant(0.5);
        begin(&f);
        hu_step_report report = step(&f);
        hu_value_id v = hu_graph_find(f.trainer->graph, "bn2.weight");
        float g[1], first = 1.0f;
        float gradient = hu_run_param_grad(f.trainer->run, v, 0, 1, g)[0];
        float moved = (float)report.lr * (decays ? gradient + 0.5f * first : gradient);
        assert_true(master(&f, "bn2.weight")[0] == first - moved);
        hu_trainer_free(f.trainer);
    }
    f.trainer = NULL;
    end(&f);
    hu_keys_free(wrong);
    hu_keys_free(good);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_clipped),
        cmocka_unit_test(test_no_decay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
