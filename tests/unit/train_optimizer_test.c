#include "train/optimizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/rng.h"

enum { ELEMENTS = 259, STEPS = 50 };

/* A tensor of which lars takes three quarters of the rate. */
static const hu_tensor_update decayed = {true, 0.75f, 1, 1, 1}, bare = {false, 0.75f, 1, 1, 1};

static hu_optimizer *create(const hu_optimizer_options *options, int64_t parameters) {
    hu_optimizer *optimizer;
    assert_int_equal(hu_optimizer_create(options, parameters, NULL, &optimizer), HU_OK);
    hu_optimizer_begin(optimizer);
    return optimizer;
}

static float sample(uint64_t purpose, uint64_t step, uint64_t index) {
    hu_random_key key = {.seed = 7, .stream = purpose, .step = step};
    return hu_random_normal(&key, index);
}

static void fill(float *x, uint64_t purpose, uint64_t step) {
    for (uint64_t i = 0; i < ELEMENTS; i++) x[i] = sample(purpose, step, i);
}

/* One weight by hand: all numbers are exact in float32. */
static void momentum_follows_the_hand_computed_steps(void **state) {
    (void)state;
    hu_optimizer_options options = {
        .kind = HU_OPTIMIZER_SGD, .momentum = 0.5, .weight_decay = 0.25};
    hu_optimizer *sgd = create(&options, 1);
    float w = 1.0f, g = 0.5f;
    hu_optimizer_begin_step(sgd, 0.5);
    hu_optimizer_apply(sgd, 0, 1, &w, &g, decayed);
    assert_true(w == 0.625f); /* g + wd w = 0.75 = v; 1 - 0.375 */
    hu_optimizer_begin_step(sgd, 0.5);
    hu_optimizer_apply(sgd, 0, 1, &w, &g, decayed);
    assert_true(w == 0.109375f); /* 0.65625; v = 0.375 + 0.65625; w -= 0.515625 */
    hu_optimizer_begin_step(sgd, 0.5);
    hu_optimizer_apply(sgd, 0, 1, &w, &g, bare);
    assert_true(w == -0.3984375f); /* no decay: v = 0.515625 + 0.5 */
    hu_optimizer_free(sgd);
}

static void nesterov_looks_ahead(void **state) {
    (void)state;
    hu_optimizer_options options = {.kind = HU_OPTIMIZER_SGD, .momentum = 0.5, .nesterov = true};
    hu_optimizer *sgd = create(&options, 1);
    float w = 1.0f, g = 0.5f;
    hu_optimizer_begin_step(sgd, 1.0);
    hu_optimizer_apply(sgd, 0, 1, &w, &g, decayed);
    assert_true(w == 0.25f); /* v = 0.5; 1 - (0.5 + 0.25) */
    hu_optimizer_begin_step(sgd, 1.0);
    hu_optimizer_apply(sgd, 0, 1, &w, &g, decayed);
    assert_true(w == -0.625f); /* v = 0.75; 0.25 - (0.5 + 0.375) */
    hu_optimizer_free(sgd);
}

/* All numbers are exact in float32; the tensor takes half of the rate. */
static void lars_keeps_the_rate_in_its_momentum(void **state) {
    (void)state;
    hu_optimizer_options options = {
        .kind = HU_OPTIMIZER_LARS, .momentum = 0.5, .weight_decay = 0.25, .trust = 0.001};
    hu_optimizer *lars = create(&options, 1);
    const hu_tensor_update half = {true, 0.5f, 1, 1, 1}, none = {true, 0.0f, 1, 1, 1};
    const hu_tensor_update bare_half = {false, 0.5f, 1, 1, 1};
    const char *name;
    const void *data;
    size_t bytes;
    float w = 1.0f, g = 0.5f;
    hu_optimizer_begin_step(lars, 0.5);
    hu_optimizer_apply(lars, 0, 1, &w, &g, half);
    assert_true(w == 0.8125f); /* v = 0.25 x (0.5 + 0.25) = 0.1875 */
    hu_optimizer_begin_step(lars, 1.0);
    hu_optimizer_apply(lars, 0, 1, &w, &g, bare_half);
    assert_true(w ==
                0.46875f); /* v = 0.09375 + 0.5 x 0.5: the new rate leaves the old part alone */
    hu_optimizer_begin_step(lars, 1.0);
    hu_optimizer_apply(lars, 0, 1, &w, &g, none);
    assert_true(w == 0.296875f); /* v = 0.171875 */
    assert_true(hu_optimizer_state(lars, 1, &name, &data, &bytes));
    assert_string_equal(name, "velocity");
    assert_true(*(const float *)data == 0.171875f);
    assert_false(hu_optimizer_state(lars, 2, &name, &data, &bytes));
    hu_optimizer_free(lars);
}

static void trust_is_the_share_of_the_norms(void **state) {
    (void)state;
    hu_optimizer_options options = hu_optimizer_defaults(HU_OPTIMIZER_LARS);
    options.weight_decay = 0.25;
    for (int stay = 0; stay < 2; stay++) {
        options.zeros_stay = stay;
        hu_optimizer *lars = create(&options, 1);
        assert_true(hu_optimizer_trusts(lars));
        assert_true(hu_optimizer_trust(lars, 4, 1, true) == (float)(0.001 * 4 / 2));
        assert_true(hu_optimizer_trust(lars, 4, 1, false) == (float)(0.001 * 4));
        assert_true(hu_optimizer_trust(lars, 4, 0, true) == (float)(0.001 * 4 / 1));
        /* The norms are float32. */
        double third = (double)(1.0f / 3.0f), tenth = (double)0.1f;
        assert_true(hu_optimizer_trust(lars, 1.0 / 3.0, 0.1, true) ==
                    (float)(0.001 * third / (tenth + 0.25 * third)));
        /* Nothing to divide by; nothing that the rate could be in proportion to. */
        assert_true(hu_optimizer_trust(lars, 4, 0, false) == 1);
        assert_true(hu_optimizer_trust(lars, 0, 1, true) == (stay ? 0 : 1));
        assert_true(hu_optimizer_trust(lars, 0, 0, true) == (stay ? 0 : 1));
        assert_true(hu_optimizer_trust(lars, 1e-60, 1, true) == (stay ? 0 : 1));
        assert_true(isnan(hu_optimizer_trust(lars, NAN, 1, true)));
        assert_true(isnan(hu_optimizer_trust(lars, 1, NAN, true)));
        hu_optimizer_free(lars);
    }
    hu_optimizer_options sgd = hu_optimizer_defaults(HU_OPTIMIZER_SGD);
    hu_optimizer *other = create(&sgd, 1);
    assert_false(hu_optimizer_trusts(other));
    hu_optimizer_free(other);
}

/* DavidNet minimises the sum over 4,096 samples with a rate of 0.4 / 512 and a decay of 0.256; its
 * recipe the mean, with other numbers (recipes/aps-davidnet.yaml). */
static void a_sum_is_a_mean_with_another_rate_and_decay(void **state) {
    (void)state;
    hu_optimizer_options of_sum = hu_optimizer_defaults(HU_OPTIMIZER_SGD), of_mean = of_sum;
    of_sum.nesterov = of_mean.nesterov = true;
    of_sum.weight_decay = 0.256;
    of_mean.weight_decay = 6.25e-5;
    hu_optimizer *sum = create(&of_sum, ELEMENTS), *mean = create(&of_mean, ELEMENTS);
    float a[ELEMENTS], b[ELEMENTS], g[ELEMENTS], g4096[ELEMENTS];
    fill(a, 1, 0);
    memcpy(b, a, sizeof a);
    for (int t = 0; t < STEPS; t++) {
        fill(g, 2, (uint64_t)t);
        for (int i = 0; i < ELEMENTS; i++) g4096[i] = 4096.0f * g[i];
        hu_optimizer_begin_step(sum, 0.4 / 512);
        hu_optimizer_apply(sum, 0, ELEMENTS, a, g4096, decayed);
        hu_optimizer_begin_step(mean, 3.2);
        hu_optimizer_apply(mean, 0, ELEMENTS, b, g, decayed);
    }
    assert_memory_equal(a, b, sizeof a);
    hu_optimizer_free(sum);
    hu_optimizer_free(mean);
}

static void plain_descent_keeps_no_moments(void **state) {
    (void)state;
    hu_optimizer_options options = {.kind = HU_OPTIMIZER_SGD, .weight_decay = 0.5};
    hu_optimizer *sgd = create(&options, 1);
    float w = 2.0f, g = 1.0f;
    const char *name;
    const void *data;
    size_t bytes;
    hu_optimizer_begin_step(sgd, 0.25);
    hu_optimizer_apply(sgd, 0, 1, &w, &g, decayed);
    assert_true(w == 1.5f);
    assert_true(hu_optimizer_state(sgd, 0, &name, &data, &bytes));
    assert_false(hu_optimizer_state(sgd, 1, &name, &data, &bytes));
    hu_optimizer_free(sgd);
}

/* Whatever the gradient, the first step of Adam has the length lr (eps aside). */
static void the_first_adam_step_has_the_length_of_the_rate(void **state) {
    (void)state;
    hu_optimizer_options options = hu_optimizer_defaults(HU_OPTIMIZER_ADAM);
    hu_optimizer *adam = create(&options, 3);
    float w[3] = {0}, g[3] = {1000.0f, -0.001f, 0.0f};
    hu_optimizer_begin_step(adam, 0.125);
    hu_optimizer_apply(adam, 0, 3, w, g, bare);
    assert_true(fabsf(w[0] + 0.125f) < 1e-6f);
    assert_true(fabsf(w[1] - 0.125f) < 1e-5f);
    assert_true(w[2] == 0.0f);
    hu_optimizer_free(adam);
}

/* All numbers are exact in float32 but for eps, which vanishes beside the root. */
static void rmsprop_divides_by_the_root_of_the_mean_of_squares(void **state) {
    (void)state;
    hu_optimizer_options options = {
        .kind = HU_OPTIMIZER_RMSPROP, .alpha = 0.75, .weight_decay = 0.5, .eps = 0x1p-100};
    hu_optimizer *rmsprop = create(&options, 1);
    float w = 2.0f, g = 3.0f;
    hu_optimizer_begin_step(rmsprop, 0.5);
    hu_optimizer_apply(rmsprop, 0, 1, &w, &g, decayed);
    assert_true(w == 1.0f); /* g = 4, s = 4, 2 - 0.5 x 4 / 2 */
    hu_optimizer_begin_step(rmsprop, 0.5);
    g = 0.0f;
    hu_optimizer_apply(rmsprop, 0, 1, &w, &g, bare);
    assert_true(w == 1.0f);
    const char *name;
    const void *data;
    size_t bytes;
    assert_true(hu_optimizer_state(rmsprop, 1, &name, &data, &bytes));
    assert_string_equal(name, "square_mean");
    assert_true(*(const float *)data == 3.0f);
    assert_false(hu_optimizer_state(rmsprop, 2, &name, &data, &bytes));
    hu_optimizer_free(rmsprop);
}

/* TensorFlow's form: a sum that begins at 9 and nothing added to its root. */
static void adagrad_divides_by_the_root_of_the_sum_of_squares(void **state) {
    (void)state;
    hu_optimizer_options options = {
        .kind = HU_OPTIMIZER_ADAGRAD, .initial = 9, .weight_decay = 0.5};
    hu_optimizer *adagrad = create(&options, 1);
    float w = 2.0f, g = 3.0f;
    hu_optimizer_begin_step(adagrad, 0.625);
    hu_optimizer_apply(adagrad, 0, 1, &w, &g, decayed);
    assert_true(w == 1.5f); /* g = 4, s = 9 + 16, 2 - 0.625 x 4 / 5 */
    g = 12.0f;
    hu_optimizer_begin_step(adagrad, 3.25);
    hu_optimizer_apply(adagrad, 0, 1, &w, &g, bare);
    assert_true(w == -1.5f); /* s = 25 + 144, 1.5 - 3.25 x 12 / 13 */
    const char *name;
    const void *data;
    size_t bytes;
    assert_true(hu_optimizer_state(adagrad, 1, &name, &data, &bytes));
    assert_string_equal(name, "square_sum");
    assert_true(*(const float *)data == 169.0f);
    assert_false(hu_optimizer_state(adagrad, 2, &name, &data, &bytes));
    hu_optimizer_free(adagrad);
}

/* The formulas of torch.optim in double. */
typedef struct reference {
    double w, first, second;
} reference;

static void step_in_double(const hu_optimizer_options *o, int t, double lr, double g,
                           reference *r) {
    if (o->kind == HU_OPTIMIZER_ADAMW)
        r->w *= 1 - lr * o->weight_decay;
    else
        g += o->weight_decay * r->w;
    if (o->kind == HU_OPTIMIZER_LARS) {
        r->first = o->momentum * r->first + lr * (double)decayed.trust * g;
        r->w -= r->first;
        return;
    }
    if (o->kind == HU_OPTIMIZER_RMSPROP) {
        r->first = o->alpha * r->first + (1 - o->alpha) * g * g;
        r->w -= lr * g / (sqrt(r->first) + o->eps);
        return;
    }
    if (o->kind == HU_OPTIMIZER_ADAGRAD) {
        r->first += g * g;
        r->w -= lr * g / (sqrt(r->first) + o->eps);
        return;
    }
    if (o->kind == HU_OPTIMIZER_SGD) {
        r->first = t == 1 ? g : o->momentum * r->first + g;
        r->w -= lr * (o->nesterov ? g + o->momentum * r->first : r->first);
        return;
    }
    r->first = o->beta1 * r->first + (1 - o->beta1) * g;
    r->second = o->beta2 * r->second + (1 - o->beta2) * g * g;
    double m = r->first / (1 - pow(o->beta1, t)), s = r->second / (1 - pow(o->beta2, t));
    r->w -= lr * m / (sqrt(s) + o->eps);
}

static void every_kind_follows_its_formulas_in_double(void **state) {
    (void)state;
    for (int kind = 0; kind < HU_OPTIMIZER_COUNT + 1; kind++) {
        hu_optimizer_options options = hu_optimizer_defaults(
            kind == HU_OPTIMIZER_COUNT ? HU_OPTIMIZER_SGD : (hu_optimizer_kind)kind);
        options.nesterov = kind == HU_OPTIMIZER_COUNT;
        options.weight_decay = 0.05;
        hu_optimizer *optimizer = create(&options, ELEMENTS);
        float w[ELEMENTS], g[ELEMENTS];
        reference r[ELEMENTS] = {0};
        fill(w, 1, 0);
        for (int i = 0; i < ELEMENTS; i++) r[i].w = (double)w[i];
        for (int t = 1; t <= STEPS; t++) {
            double lr = 0.01 * (1 + t % 3);
            fill(g, 2, (uint64_t)t);
            hu_optimizer_begin_step(optimizer, lr);
            hu_optimizer_apply(optimizer, 0, ELEMENTS, w, g, decayed);
            for (int i = 0; i < ELEMENTS; i++) step_in_double(&options, t, lr, (double)g[i], &r[i]);
        }
        assert_int_equal(hu_optimizer_t(optimizer), STEPS);
        for (int i = 0; i < ELEMENTS; i++) assert_true(fabs((double)w[i] - r[i].w) < 2e-5);
        hu_optimizer_free(optimizer);
    }
}

static void any_split_gives_the_same_bits(void **state) {
    (void)state;
    for (int kind = 0; kind < HU_OPTIMIZER_COUNT; kind++) {
        hu_optimizer_options options = hu_optimizer_defaults((hu_optimizer_kind)kind);
        options.weight_decay = 0.01;
        hu_optimizer *whole = create(&options, ELEMENTS), *split = create(&options, ELEMENTS);
        float a[ELEMENTS], b[ELEMENTS], g[ELEMENTS];
        fill(a, 1, 0);
        memcpy(b, a, sizeof a);
        for (int t = 0; t < STEPS; t++) {
            fill(g, 2, (uint64_t)t);
            hu_optimizer_begin_step(whole, 0.1);
            hu_optimizer_apply(whole, 0, ELEMENTS, a, g, decayed);
            hu_optimizer_begin_step(split, 0.1);
            for (int64_t first = 0, n; first < ELEMENTS; first += n) {
                n = 1 + (first * 7 + t) % 19;
                if (n > ELEMENTS - first) n = ELEMENTS - first;
                hu_optimizer_apply(split, first, n, b + first, g + first, decayed);
            }
        }
        assert_memory_equal(a, b, sizeof a);
        hu_optimizer_free(whole);
        hu_optimizer_free(split);
    }
}

/* Factors are multiplied in one after the other, as if the gradients came with them. */
static void factors_of_gradients_are_those_of_a_loop_before(void **state) {
    (void)state;
    const float unscale = 1.0f / 3.0f, clip = 0.7f;
    for (int kind = 0; kind <= HU_OPTIMIZER_COUNT; kind++) {
        bool nesterov = kind == HU_OPTIMIZER_COUNT;
        for (int decay = 0; decay < 2; decay++) {
            hu_optimizer_options options =
                hu_optimizer_defaults(nesterov ? HU_OPTIMIZER_SGD : (hu_optimizer_kind)kind);
            options.weight_decay = 0.01;
            options.nesterov = nesterov;
            hu_optimizer *inside = create(&options, ELEMENTS), *before = create(&options, ELEMENTS);
            float a[ELEMENTS], b[ELEMENTS], g[ELEMENTS], ready[ELEMENTS];
            hu_tensor_update clipped = decay ? decayed : bare;
            clipped.clip = clip;
            fill(a, 1, 0);
            memcpy(b, a, sizeof a);
            for (int t = 0; t < 5; t++) {
                fill(g, 2, (uint64_t)t);
                for (int i = 0; i < ELEMENTS; i++) ready[i] = g[i] * unscale * clip;
                hu_optimizer_begin_step(inside, 0.1);
                hu_optimizer_unscale_gradients(inside, unscale);
                hu_optimizer_apply(inside, 0, ELEMENTS, a, g, clipped);
                hu_optimizer_begin_step(before, 0.1);
                hu_optimizer_apply(before, 0, ELEMENTS, b, ready, decay ? decayed : bare);
            }
            assert_memory_equal(a, b, sizeof a);
            hu_optimizer_begin_step(inside, 0.1); /* forgets the factors */
            hu_optimizer_apply(inside, 0, ELEMENTS, a, ready, decay ? decayed : bare);
            hu_optimizer_begin_step(before, 0.1);
            hu_optimizer_apply(before, 0, ELEMENTS, b, ready, decay ? decayed : bare);
            assert_memory_equal(a, b, sizeof a);
            hu_optimizer_free(inside);
            hu_optimizer_free(before);
        }
    }
}

/* A share of the rate is the rate of the tensor: decoupled decay and Adam's step are of it, too. */
static void a_share_of_the_rate_is_a_rate(void **state) {
    (void)state;
    hu_tensor_update quarter = decayed;
    quarter.rate = 0.25;
    for (int kind = 0; kind < HU_OPTIMIZER_COUNT; kind++) {
        hu_optimizer_options options = hu_optimizer_defaults((hu_optimizer_kind)kind);
        options.weight_decay = 0.01;
        hu_optimizer *shared = create(&options, ELEMENTS), *own = create(&options, ELEMENTS);
        float a[ELEMENTS], b[ELEMENTS], g[ELEMENTS];
        fill(a, 1, 0);
        memcpy(b, a, sizeof a);
        for (int t = 0; t < 5; t++) {
            fill(g, 2, (uint64_t)t);
            hu_optimizer_begin_step(shared, 0.2);
            hu_optimizer_apply(shared, 0, ELEMENTS, a, g, quarter);
            hu_optimizer_begin_step(own, 0.05);
            hu_optimizer_apply(own, 0, ELEMENTS, b, g, decayed);
        }
        assert_memory_equal(a, b, sizeof a);
        hu_optimizer_free(shared);
        hu_optimizer_free(own);
    }
}

static void a_restored_state_goes_on_with_the_same_bits(void **state) {
    (void)state;
    for (int kind = 0; kind < HU_OPTIMIZER_COUNT; kind++) {
        hu_optimizer_options options = hu_optimizer_defaults((hu_optimizer_kind)kind);
        hu_optimizer *first = create(&options, ELEMENTS), *second = create(&options, ELEMENTS);
        float a[ELEMENTS], b[ELEMENTS], g[ELEMENTS];
        fill(a, 1, 0);
        for (uint64_t t = 0; t < 2 * STEPS; t++) {
            if (t == STEPS) memcpy(b, a, sizeof a);
            const char *name;
            const void *data;
            size_t bytes;
            for (size_t i = 0; t == STEPS && hu_optimizer_state(first, i, &name, &data, &bytes);
                 i++)
                assert_int_equal(hu_optimizer_restore(second, i, data, bytes), HU_OK);
            fill(g, 2, t);
            hu_optimizer_begin_step(first, 0.1);
            hu_optimizer_apply(first, 0, ELEMENTS, a, g, decayed);
            if (t < STEPS) continue;
            hu_optimizer_begin_step(second, 0.1);
            hu_optimizer_apply(second, 0, ELEMENTS, b, g, decayed);
        }
        assert_memory_equal(a, b, sizeof a);
        hu_optimizer_free(first);
        hu_optimizer_free(second);
    }
}

static void a_wrong_state_is_refused(void **state) {
    (void)state;
    hu_optimizer_options options = hu_optimizer_defaults(HU_OPTIMIZER_ADAM);
    hu_optimizer *adam = create(&options, 4);
    float moments[4] = {1, 2, 3, 4};
    int64_t t = -1;
    assert_int_equal(hu_optimizer_restore(adam, 0, &t, sizeof t), HU_ERR_CORRUPT);
    assert_int_equal(hu_optimizer_restore(adam, 1, moments, 12), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "'first_moment': found 12 bytes, expected 16"));
    assert_int_equal(hu_optimizer_restore(adam, 3, moments, 16), HU_ERR_ARGUMENT);
    assert_int_equal(hu_optimizer_t(adam), 0);
    hu_optimizer_free(adam);
}

static void no_decay_never_touches_the_weight(void **state) {
    (void)state;
    for (int kind = 0; kind < HU_OPTIMIZER_COUNT; kind++) {
        hu_optimizer_options options = hu_optimizer_defaults((hu_optimizer_kind)kind);
        options.weight_decay = 0;
        hu_optimizer *optimizer = create(&options, 1);
        float w = INFINITY, g = 0.0f;
        hu_optimizer_begin_step(optimizer, 0.1);
        hu_optimizer_apply(optimizer, 0, 1, &w, &g, decayed);
        assert_true(w == INFINITY);
        hu_optimizer_free(optimizer);
    }
}

static void a_nan_gradient_is_not_laundered(void **state) {
    (void)state;
    for (int kind = 0; kind < HU_OPTIMIZER_COUNT; kind++) {
        hu_optimizer_options options = hu_optimizer_defaults((hu_optimizer_kind)kind);
        hu_optimizer *optimizer = create(&options, 2);
        float w[2] = {1.0f, 1.0f}, g[2] = {NAN, 1.0f};
        hu_optimizer_begin_step(optimizer, 0.1);
        hu_optimizer_apply(optimizer, 0, 2, w, g, decayed);
        assert_true(isnan(w[0]) && isfinite(w[1]));
        hu_optimizer_free(optimizer);
    }
}

static void names_are_parsed_and_mistakes_get_advice(void **state) {
    (void)state;
    hu_optimizer_kind kind;
    for (int i = 0; i < HU_OPTIMIZER_COUNT; i++) {
        assert_int_equal(hu_optimizer_parse(hu_optimizer_kinds[i].name, &kind), HU_OK);
        assert_int_equal(kind, i);
        assert_true(strlen(hu_optimizer_kinds[i].summary) > 0);
    }
    assert_int_equal(hu_optimizer_parse("adamv", &kind), HU_ERR_UNKNOWN);
    assert_string_equal(hu_last_error(),
                        "optimizer: found 'adamv', expected 'adam', 'adamw' or 'lars'");
}

static void expect_refused(hu_optimizer_options options, const char *message) {
    hu_optimizer *optimizer;
    assert_int_equal(hu_optimizer_create(&options, 1, NULL, &optimizer), HU_ERR_ARGUMENT);
    assert_null(optimizer);
    assert_non_null(strstr(hu_last_error(), message));
}

static void options_out_of_range_are_refused_by_name(void **state) {
    (void)state;
    hu_optimizer_options sgd = hu_optimizer_defaults(HU_OPTIMIZER_SGD), bad = sgd;
    bad.momentum = 1.0;
    expect_refused(bad, "optimizer.momentum: found 1, expected");
    bad.momentum = NAN;
    expect_refused(bad, "optimizer.momentum: found nan");
    bad = sgd;
    bad.weight_decay = -1;
    expect_refused(bad, "optimizer.weight_decay: found -1");
    bad = sgd;
    bad.momentum = 0;
    bad.nesterov = true;
    expect_refused(bad, "optimizer.nesterov");
    bad = hu_optimizer_defaults(HU_OPTIMIZER_LARS);
    bad.nesterov = true;
    expect_refused(bad, "optimizer.nesterov: found true, expected false");
    bad.nesterov = false;
    bad.trust = 0;
    expect_refused(bad, "optimizer.trust: found 0");
    bad.trust = 1;
    bad.momentum = 1;
    expect_refused(bad, "optimizer.momentum: found 1");
    hu_optimizer_options adam = hu_optimizer_defaults(HU_OPTIMIZER_ADAM);
    bad = adam;
    bad.beta2 = 1.0;
    expect_refused(bad, "optimizer.beta2: found 1");
    bad = adam;
    bad.eps = 0;
    expect_refused(bad, "optimizer.eps: found 0");
    bad = hu_optimizer_defaults(HU_OPTIMIZER_RMSPROP);
    bad.alpha = 1;
    expect_refused(bad, "optimizer.alpha: found 1");
    bad.alpha = 0.5;
    bad.eps = 0;
    expect_refused(bad, "optimizer.eps: found 0");
    bad = hu_optimizer_defaults(HU_OPTIMIZER_ADAGRAD);
    bad.eps = 0;
    expect_refused(bad, "optimizer.eps: found 0, expected a number >= 2^-149 and < 2^127, "
                        "optimizer.initial being 0");
    bad.initial = -1;
    expect_refused(bad, "optimizer.initial: found -1");
    bad = adam;
    bad.kind = HU_OPTIMIZER_COUNT;
    expect_refused(bad, "optimizer.kind");
}

static void a_failed_allocation_leaves_nothing_behind(void **state) {
    (void)state;
    hu_optimizer_options options = hu_optimizer_defaults(HU_OPTIMIZER_ADAM);
    uint64_t before = hu_memory_count().live_blocks;
    for (uint64_t nth = 1; nth <= 3; nth++) {
        hu_optimizer *optimizer;
        hu_memory_fail_at(nth);
        assert_int_equal(hu_optimizer_create(&options, 100, NULL, &optimizer), HU_ERR_MEMORY);
        assert_null(optimizer);
        assert_int_equal(hu_memory_count().live_blocks, before);
    }
    hu_memory_fail_at(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(momentum_follows_the_hand_computed_steps),
        cmocka_unit_test(nesterov_looks_ahead),
        cmocka_unit_test(lars_keeps_the_rate_in_its_momentum),
        cmocka_unit_test(trust_is_the_share_of_the_norms),
        cmocka_unit_test(a_sum_is_a_mean_with_another_rate_and_decay),
        cmocka_unit_test(plain_descent_keeps_no_moments),
        cmocka_unit_test(the_first_adam_step_has_the_length_of_the_rate),
        cmocka_unit_test(rmsprop_divides_by_the_root_of_the_mean_of_squares),
        cmocka_unit_test(adagrad_divides_by_the_root_of_the_sum_of_squares),
        cmocka_unit_test(every_kind_follows_its_formulas_in_double),
        cmocka_unit_test(any_split_gives_the_same_bits),
        cmocka_unit_test(factors_of_gradients_are_those_of_a_loop_before),
        cmocka_unit_test(a_share_of_the_rate_is_a_rate),
        cmocka_unit_test(a_restored_state_goes_on_with_the_same_bits),
        cmocka_unit_test(a_wrong_state_is_refused),
        cmocka_unit_test(no_decay_never_touches_the_weight),
        cmocka_unit_test(a_nan_gradient_is_not_laundered),
        cmocka_unit_test(names_are_parsed_and_mistakes_get_advice),
        cmocka_unit_test(options_out_of_range_are_refused_by_name),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
