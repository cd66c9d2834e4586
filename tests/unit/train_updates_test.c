/* The updates of docs/reference/numerics/training.md, "Updates", written from that page in float32:
 * every bit. */
#include "train/optimizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

enum { ELEMENTS = 1000, STEPS = 12 };

/* A weight and its state; v: the first one that an optimizer keeps. */
typedef struct weight {
    float w, v, s;
} weight;

/* Single operations: a double result of float32 numbers, rounded, is the float32 operation. */
static float product(float a, float b) {
    return (float)((double)a * (double)b);
}
static float sum(float a, float b) {
    return (float)((double)a + (double)b);
}
static float quotient(float a, float b) {
    return (float)((double)a / (double)b);
}
static float root(float a) {
    return (float)sqrt((double)a);
}

/* w - (k m) / (sqrt(s) / r + eps), m and s moved by g before. */
static void adam(const hu_optimizer_options *o, int t, double lr, float g, weight *x) {
    float k = (float)(lr / (1 - pow(o->beta1, t))), r = (float)sqrt(1 - pow(o->beta2, t));
    x->v = sum(x->v, product((float)(1 - o->beta1), sum(g, -x->v)));
    x->s = sum(product((float)o->beta2, x->s), product(product((float)(1 - o->beta2), g), g));
    x->w = sum(x->w, -quotient(product(k, x->v), sum(quotient(root(x->s), r), (float)o->eps)));
}

/* grad: as it comes; unscale and clip are its factors. */
static void update(const hu_optimizer_options *o, int t, double lr, float grad, float unscale,
                   const hu_tensor_update *tensor, weight *x) {
    float g = product(product(grad, unscale), tensor->clip), rate = (float)lr;
    float d = (float)o->weight_decay, m = (float)o->momentum, decayed = sum(g, product(d, x->w));
    switch (o->kind) {
    case HU_OPTIMIZER_SGD:
        x->v = sum(product(m, x->v), decayed);
        x->w = sum(x->w, -product(rate, o->nesterov ? sum(decayed, product(m, x->v)) : x->v));
        break;
    case HU_OPTIMIZER_LARS:
        x->v = sum(product(m, x->v), product(product(rate, tensor->trust), decayed));
        x->w = sum(x->w, -x->v);
        break;
    case HU_OPTIMIZER_ADAM:
        adam(o, t, lr, decayed, x);
        break;
    case HU_OPTIMIZER_ADAMW:
        x->w = product(x->w, (float)(1 - lr * o->weight_decay));
        adam(o, t, lr, g, x);
        break;
    case HU_OPTIMIZER_RMSPROP:
        x->v = sum(product((float)o->alpha, x->v),
                   product(product((float)(1 - o->alpha), decayed), decayed));
        x->w = sum(x->w, -quotient(product(rate, decayed), sum(root(x->v), (float)o->eps)));
        break;
    default: /* HU_OPTIMIZER_ADAGRAD */
        x->v = sum(x->v, product(decayed, decayed));
        x->w = sum(x->w, -quotient(product(rate, decayed), sum(root(x->v), (float)o->eps)));
    }
}

static float drawn(uint64_t stream, int t, int i) {
    const hu_random_key key = {.seed = 5, .stream = stream, .step = (uint64_t)t};
    return hu_random_normal(&key, (uint64_t)i);
}

static void check_kind(const hu_optimizer_options *options) {
    const hu_tensor_update tensor = {true, 0.7f, 0.9f, 1, 1};
    const float unscale = 1.0f / 3.0f;
    hu_optimizer *optimizer;
    float w[ELEMENTS], g[ELEMENTS];
    weight x[ELEMENTS] = {{0, 0, 0}};
    assert_int_equal(hu_optimizer_create(options, ELEMENTS, NULL, &optimizer), HU_OK);
    hu_optimizer_begin(optimizer);
    for (int i = 0; i < ELEMENTS; i++) {
        x[i] = (weight){.w = w[i] = drawn(1, 0, i)};
        if (options->kind == HU_OPTIMIZER_ADAGRAD) x[i].v = (float)options->initial;
    }
    for (int t = 1; t <= STEPS; t++) {
        double lr = 0.01 * (1 + t % 3);
        for (int i = 0; i < ELEMENTS; i++) g[i] = drawn(2, t, i);
        hu_optimizer_begin_step(optimizer, lr);
        hu_optimizer_unscale_gradients(optimizer, unscale);
        hu_optimizer_apply(optimizer, 0, ELEMENTS, w, g, tensor);
        for (int i = 0; i < ELEMENTS; i++) {
            update(options, t, lr, g[i], unscale, &tensor, &x[i]);
            if (memcmp(&w[i], &x[i].w, sizeof w[i]) != 0)
                fail_msg("kind %d, step %d, weight %d: found %a, by the page %a",
                         (int)options->kind, t, i, (double)w[i], (double)x[i].w);
        }
    }
    hu_optimizer_free(optimizer);
}

static void updates_are_the_page(void **state) {
    (void)state;
    for (int kind = 0; kind <= HU_OPTIMIZER_COUNT; kind++) {
        bool nesterov = kind == HU_OPTIMIZER_COUNT;
        hu_optimizer_options options =
            hu_optimizer_defaults(nesterov ? HU_OPTIMIZER_SGD : (hu_optimizer_kind)kind);
        options.nesterov = nesterov;
        options.weight_decay = 0.05;
        check_kind(&options);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(updates_are_the_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
