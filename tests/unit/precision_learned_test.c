/* Schedules of bits that follow the training: progressive precision on made-up losses, and learned
 * precision on made-up sums of its quantisers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bits_fixture.h"

static void tell(fixture *f, int64_t step, double loss) {
    const hu_bits_news news = {.step = step, .samples = 128, .loss = loss};
    f->course.schedule->after_step(f->course.state, &news);
}

/* ---- progressive ---- */

/* Tells one loss for all steps between two looks. */
static void tell_look(fixture *f, int64_t look, double loss) {
    for (int64_t t = look * 400; t < (look + 1) * 400; t++) tell(f, t, loss);
}

/* A loss that falls by a tenth of the first one at each look does not stand still; one that stays
 * does after five looks, and the list begins anew. */
static void test_turns(void **state) {
    (void)state;
    fixture f;
    open_layers(&f, "resnet20", "pfq:3-8", 64000);
    begin(&f);
    const struct {
        double loss;
        int bits; /* of the step after the look */
    } curve[] = {{1.0, 3},  {0.9, 3},  {0.8, 3},  {0.7, 3},  {0.6, 3},
                 {0.5, 3},  {0.48, 3}, {0.46, 3}, {0.45, 3}, {0.44, 4}, /* within .15 of .633 */
                 {0.43, 4}, {0.42, 4}, {0.41, 4}, {0.40, 4}, {0.40, 6}, /* .06: .0379 */
                 {0.40, 6}, {0.39, 6}, {0.38, 6}, {0.37, 6}, {0.36, 6}, /* .024: too far */
                 {0.36, 6}, {0.36, 6}, {0.36, 8}, {9.0, 8}};            /* .0152: from .37 on */
    for (size_t i = 0; i < sizeof curve / sizeof *curve; i++) {
        tell_look(&f, (int64_t)i, curve[i].loss);
        if (first_bits(&f, 0) != curve[i].bits)
            fail_msg("look %zu: %d bits, expected %d", i, first_bits(&f, 0), curve[i].bits);
    }
    close_fixture(&f);
}

/* The same curve by the rules in plain words, for many random curves. */
static int model_bits(const double *losses, int looks, double epsilon, double decay) {
    const int bits[] = {4, 5, 6, 8};
    double list[64], mean = 0.0;
    int count = 0, turn = 0;
    for (int i = 0; i < looks; i++) {
        double sum = 0.0;
        for (int k = 0; k <= i && k < 10; k++) sum += losses[k];
        mean = sum / (i < 10 ? i + 1 : 10);
        if (turn == 3) continue;
        list[count++] = losses[i];
        double last = list[count - 1];
        bool still = count >= 5;
        for (int k = 2; still && k <= 5; k++)
            still = fabs(list[count - k] - last) / mean <= epsilon;
        if (!still) continue;
        turn++;
        if (turn == 1 || turn == 2) epsilon *= decay;
        count = 0;
    }
    return bits[turn];
}

static void test_curves(void **state) {
    (void)state;
    int ends[9] = {0};
    for (int c = 0; c < 200; c++) {
        fixture f;
        double losses[40], loss = 1.0;
        open_layers(&f, "cnn-s", "static:8", 64000);
        f.bits = bits_of_text("pfq:4-8");
        f.bits.interval = 7;
        f.bits.epsilon = 0.05;
        f.bits.decay = 0.3;
        begin(&f);
        uint32_t word = 12345u + 77u * (uint32_t)c;
        for (int i = 0; i < 40; i++) {
            word = word * 1664525u + 1013904223u;
            loss *= 1.0 - 0.25 * (double)(c % 20) / 20.0 * (double)(word >> 16) / 65536.0;
            losses[i] = c % 8 == 0 && i % 2 ? 1.3 * loss : loss; /* some go up and down */
            for (int64_t t = 7 * i; t < 7 * (i + 1); t++) tell(&f, t, losses[i]);
        }
        assert_int_equal(first_bits(&f, 0), model_bits(losses, 40, 0.05, 0.3));
        ends[first_bits(&f, 0)]++;
        close_fixture(&f);
    }
    assert_true(ends[4] > 0 && ends[5] > 0 && ends[6] > 0 && ends[8] > 0);
}

/* Skipped steps tell nothing; short batches count by their samples; the settings are checked. */
static void test_details(void **state) {
    (void)state;
    fixture f;
    uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
    open_layers(&f, "resnet20", "pfq:4-8", 64000);
    f.bits.interval = 2;
    f.bits.gradient_turn_count = 4;
    memcpy(f.bits.gradient_turn, (const uint8_t[]){6, 6, 8, 8}, 4);
    begin(&f);
    for (int64_t look = 0; look < 5; look++) { /* (3 loss + 1 other) / 4 = 1 */
        hu_bits_news news = {.step = 2 * look, .samples = 96, .loss = 0.1 * (double)look};
        f.course.schedule->after_step(f.course.state, &news);
        news =
            (hu_bits_news){.step = 2 * look + 1, .samples = 32, .loss = 4.0 - 0.3 * (double)look};
        f.course.schedule->after_step(f.course.state, &news);
    }
    f.course.schedule->at(f.course.state, 10, forward, gradient);
    assert_int_equal(forward[0], 5);
    assert_int_equal(gradient[0], 6);
    const hu_bits_news skipped = {.step = 11, .samples = 128, .loss = NAN, .is_skipped = true};
    f.course.schedule->after_step(f.course.state, &skipped);
    assert_int_equal(first_bits(&f, 0), 5);
    hu_bits_end(&f.course);
    f.bits.gradient_turn_count = 3;
    expect_failure(&f, HU_ERR_ARGUMENT, "bits.grad_turns: found 3 numbers, expected 4");
    f.bits.gradient_turn_count = 4;
    f.bits.gradient_turn[3] = 9;
    expect_failure(&f, HU_ERR_ARGUMENT, "bits.grad_turns: found 9, expected at most 8");
    f.bits.gradient_turn_count = 0;
    f.bits.turn_count = 2;
    memcpy(f.bits.turn, (const uint8_t[]){6, 4}, 2);
    expect_failure(&f, HU_ERR_ARGUMENT, "bits.turns: found 4 at place 2");
    close_fixture(&f);
}

/* ---- the state of both ---- */

/* Continued from a saved state, in the middle of whatever it is, the bits go on alike. */
static void expect_same_after_restore(const char *text, const double *residual) {
    enum { STEPS = 60 };
    fixture a, b;
    const void *data;
    size_t bytes;
    open_layers(&a, "resnet20", text, 64000);
    open_layers(&b, "resnet20", text, 64000);
    a.bits.interval = b.bits.interval = 3;
    for (int64_t stop = 0; stop < STEPS; stop += 7) {
        begin(&a);
        begin(&b);
        for (int64_t t = 0; t < STEPS; t++) {
            hu_bits_news news = {
                .step = t, .samples = 128, .loss = 1.0 / (double)(t + 10), .residual = residual};
            if (t == stop) {
                a.course.schedule->save(a.course.state, &data, &bytes);
                assert_int_equal(b.course.schedule->check(b.course.state, data, bytes), HU_OK);
                b.course.schedule->restore(b.course.state, data, bytes);
            }
            a.course.schedule->after_step(a.course.state, &news);
            if (t >= stop) b.course.schedule->after_step(b.course.state, &news);
        }
        const void *other;
        size_t other_bytes;
        a.course.schedule->save(a.course.state, &data, &bytes);
        b.course.schedule->save(b.course.state, &other, &other_bytes);
        assert_int_equal(bytes, other_bytes);
        assert_memory_equal(data, other, bytes);
        hu_bits_end(&a.course);
        hu_bits_end(&b.course);
    }
    close_fixture(&a);
    close_fixture(&b);
}

static void test_restore(void **state) {
    (void)state;
    double residual[LAYERS_MOST];
    for (int l = 0; l < LAYERS_MOST; l++) residual[l] = 0.01 * (double)(l % 5) - 0.01;
    expect_same_after_restore("pfq:3-8", residual);
    expect_same_after_restore("ldp:3-8", residual);
}

static void expect_refused(const char *saved, const char *present, hu_status status) {
    fixture a, b;
    const void *data;
    size_t bytes;
    open_layers(&a, "resnet20", saved, 64000);
    open_layers(&b, "resnet20", present, 64000);
    begin(&a);
    begin(&b);
    a.course.schedule->save(a.course.state, &data, &bytes);
    assert_int_equal(b.course.schedule->check(b.course.state, data, bytes), status);
    assert_int_equal(b.course.schedule->check(b.course.state, data, bytes - 1), HU_ERR_CORRUPT);
    close_fixture(&a);
    close_fixture(&b);
}

static void test_damaged(void **state) {
    (void)state;
    expect_refused("pfq:3-8", "pfq:4-8", HU_ERR_ARGUMENT);
    expect_refused("ldp:3-8", "ldp:4-8", HU_ERR_ARGUMENT);
    fixture f;
    const void *data;
    size_t bytes;
    open_layers(&f, "resnet20", "ldp:3-8", 64000);
    begin(&f);
    f.course.schedule->save(f.course.state, &data, &bytes);
    char *copy = test_malloc(bytes);
    memcpy(copy, data, bytes);
    const double wrong[] = {0.374, 1.01, NAN};
    for (int i = 0; i < 3; i++) {
        memcpy(copy + bytes - sizeof(double), &wrong[i], sizeof(double));
        assert_int_equal(f.course.schedule->check(f.course.state, copy, bytes), HU_ERR_CORRUPT);
    }
    test_free(copy);
    close_fixture(&f);
}

/* ---- learned ---- */

static const double *betas(const fixture *f) {
    const void *data;
    size_t bytes;
    f->course.schedule->save(f->course.state, &data, &bytes);
    return (const double *)data + 2; /* after four numbers of 32 bits */
}

static void expect_near(double found, double expected) {
    if (fabs(found - expected) > 1e-13 * (1.0 + fabs(expected)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

/* dL/dbeta is the finite difference of the quantiser with the rounding fixed: with c = round(u) -
 * u, Q = s (u + c) + Z = x + c s, and s = range / (2^(N beta) - 1). */
static void test_gradient(void **state) {
    (void)state;
    const double range = 1.7, c = 0.37, upstream = 0.8, n = 8.0, h = 1e-5;
    fixture f;
    open_layers(&f, "cnn-s", "static:8", 100);
    for (int kind = 0; kind < 2; kind++)
        for (uint32_t least = 3; least < 8; least++) {
            double residual[LAYERS_MOST] = {0}, beta = least / n, s[2];
            f.bits = bits_of_text("ldp:3-8");
            f.bits.forward.least = least;
            f.bits.kind = kind ? HU_BITS_FLOAT : HU_BITS_INTEGER;
            f.bits.exponent_bits = 2;
            f.bits.target = 1.0; /* costs do not count */
            f.bits.rate = 1e-3;
            begin(&f);
            double now = kind ? range / exp2(n * beta) : range / (exp2(n * beta) - 1.0);
            for (int i = 0; i < 2; i++) {
                double b = n * (beta + (i ? h : -h));
                s[i] = kind ? range / exp2(b) : range / (exp2(b) - 1.0);
            }
            residual[0] = upstream * c * now;
            const hu_bits_news news = {.samples = 1, .residual = residual};
            f.course.schedule->after_step(f.course.state, &news);
            double found = (beta - betas(&f)[0]) / f.bits.rate;
            double expected = upstream * c * (s[1] - s[0]) / (2.0 * h);
            if (fabs(found - expected) > 1e-8 * fabs(expected))
                fail_msg("%u bits: found %.12g, expected %.12g", least, found, expected);
            assert_true(betas(&f)[1] == beta); /* no gradient, no change */
            hu_bits_end(&f.course);
        }
    close_fixture(&f);
}

/* Eq. 5 in plain arithmetic on a graph of three convolutions and a linear layer; the first learning
 * layers have bits from least to most. */
static void follow_equation_5(const char *const *rules, const double *least,
                              const double *highest) {
    enum { QUANTISED = 3, STEPS = 400 };
    fixture f;
    double beta[QUANTISED], most = 0.0;
    int dear = 0, cheap = 0;
    open_layers(&f, "cnn-s", "ldp:4-8", 100);
    assert_int_equal(f.layers.quantised, QUANTISED);
    for (int i = 0; rules[i]; i++) assert_int_equal(hu_bits_add_rule(&f.bits, rules[i]), HU_OK);
    hu_bits_layers_free(&f.layers);
    assert_int_equal(hu_bits_layers_create(f.graph, &f.bits, &f.layers), HU_OK);
    f.bits.rate = 0.02;
    begin(&f);
    double learning = 0.0;
    for (int l = 0; l < QUANTISED; l++) {
        beta[l] = fmin(fmax(0.5, least[l] / 8.0), 1.0);
        learning += least[l] < highest[l];
        most += (double)f.layers.layer[l].macs * 64.0;
    }
    for (int t = 0; t < STEPS; t++) {
        double residual[LAYERS_MOST] = {0}, task[QUANTISED], cost[QUANTISED], all = 0.0;
        double mean_task = 0.0, mean_cost = 0.0;
        uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
        f.course.schedule->at(f.course.state, t, forward, gradient);
        for (int l = 0; l < QUANTISED; l++) {
            double b = fmin(highest[l], fmax(least[l], rint(8.0 * beta[l])));
            assert_int_equal(forward[l], b);
            all += (double)f.layers.layer[l].macs * b * b;
        }
        for (int l = 0; l < QUANTISED; l++) {
            double b = forward[l], o = (double)f.layers.layer[l].macs * 1024.0;
            residual[l] = 0.1 * sin(1.0 + t * (l + 1)) + 0.2; /* grows the bits on average */
            task[l] = residual[l] * -8.0 * log(2.0) * exp2(b) / (exp2(b) - 1.0);
            cost[l] = all >= 0.6 * most ? 2.0 * o * b * 8.0 / 1024.0 : 0.0;
            if (least[l] == highest[l]) continue;
            mean_task += fabs(task[l]) / learning;
            mean_cost += fabs(cost[l]) / learning;
        }
        dear += all >= 0.6 * most;
        cheap += all < 0.6 * most;
        for (int l = 0; l < QUANTISED; l++) {
            double g = task[l] + cost[l] * mean_task / (mean_cost + 1e-12);
            if (least[l] == highest[l]) continue;
            beta[l] = fmin(highest[l] / 8.0, fmax(least[l] / 8.0, beta[l] - 0.02 * g));
        }
        const hu_bits_news news = {.step = t, .samples = 128, .residual = residual};
        f.course.schedule->after_step(f.course.state, &news);
        for (int l = 0; l < QUANTISED; l++) expect_near(betas(&f)[l], beta[l]);
        assert_true(betas(&f)[QUANTISED] == 0.5); /* the layer that stays float32 */
    }
    if (dear <= 10 || cheap <= 10)
        fail_msg("%d dear steps, %d cheap ones", dear, cheap); /* the cost came and went */
    close_fixture(&f);
}

/* All layers alike; and one with bounds of its own, one without a choice, beyond the range. */
static void test_equation_5(void **state) {
    (void)state;
    follow_equation_5((const char *const[]){NULL}, (const double[]){4, 4, 4},
                      (const double[]){8, 8, 8});
    follow_equation_5((const char *const[]){"conv1: 3", "conv2: 5-9", NULL},
                      (const double[]){3, 5, 4}, (const double[]){3, 8, 8});
}

/* Without a task gradient nothing moves, also where the cost exceeds the target; a skipped step
 * moves nothing; the clamps hold. */
static void test_edges(void **state) {
    (void)state;
    fixture f;
    double residual[LAYERS_MOST] = {0};
    open_layers(&f, "cnn-s", "ldp:3-8", 100);
    f.bits.target = 9.0 / 64.0; /* met by 3 bits alone, and C >= T from the first step on */
    begin(&f);
    hu_bits_news news = {.samples = 1, .residual = residual};
    f.course.schedule->after_step(f.course.state, &news);
    assert_true(betas(&f)[0] == 0.375);
    for (int l = 0; l < 3; l++) residual[l] = -1e9;
    f.course.schedule->after_step(f.course.state, &news);
    for (int l = 0; l < 4; l++) assert_true(betas(&f)[l] == 0.375);
    residual[0] = 1e9;
    news.is_skipped = true;
    f.course.schedule->after_step(f.course.state, &news);
    assert_true(betas(&f)[0] == 0.375);
    news.is_skipped = false;
    f.course.schedule->after_step(f.course.state, &news);
    assert_true(betas(&f)[0] == 1.0 && betas(&f)[1] == 0.375);
    assert_int_equal(first_bits(&f, 0), 8);
    hu_bits_end(&f.course);
    f.bits.target = 0.14;
    expect_failure(&f, HU_ERR_ARGUMENT, "bits.target: found 0.14, expected at least 0.1407");
    close_fixture(&f);
}

/* C over that with the most bits everywhere. */
static double present_share(const fixture *f) {
    double most = 0.0, sum = 0.0;
    uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
    f->course.schedule->at(f->course.state, 0, forward, gradient);
    for (uint32_t l = 0; l + 1 < f->layers.count; l++) {
        double macs = (double)f->layers.layer[l].macs;
        most += 64.0 * macs;
        sum += macs * forward[l] * forward[l];
    }
    return sum / most;
}

/* Where the loss always wants more bits, the cost comes to the target and stays about there. */
static void test_target(void **state) {
    (void)state;
    enum { STEPS = 4000, LAST = 1000 };
    fixture f;
    double residual[LAYERS_MOST], mean = 0.0;
    open_layers(&f, "resnet20", "ldp:3-8", STEPS);
    f.bits.rate = 0.01;
    begin(&f);
    for (int64_t t = 0; t < STEPS; t++) {
        for (uint32_t l = 0; l < f.layers.count; l++)
            residual[l] = 0.01 * (1.0 + (double)(l % 3)) * (1.0 + sin((double)t * 0.7 + l));
        const hu_bits_news news = {.step = t, .samples = 128, .residual = residual};
        f.course.schedule->after_step(f.course.state, &news);
        if (t >= STEPS - LAST) mean += present_share(&f) / LAST;
    }
    if (!(mean > 0.95 * 0.6 && mean < 1.05 * 0.6)) fail_msg("the mean cost is %.4f", mean);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),      cmocka_unit_test(test_curves),
        cmocka_unit_test(test_details),    cmocka_unit_test(test_restore),
        cmocka_unit_test(test_damaged),    cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_equation_5), cmocka_unit_test(test_edges),
        cmocka_unit_test(test_target)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
