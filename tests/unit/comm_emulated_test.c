/* Reductions are those of a plain model of them: element by element, by the integer reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "comm/cost_model.h"
#include "comm/internal.h"
#include "comm/plan.h"
#include "kernel/block/block.h"

enum { WORKERS_MOST = 12, ELEMENTS = 200, LAYERS = 4 };

/* A large layer, one smaller than most numbers of workers, one that travels in float32, one of
 * zeros. */
static const hu_comm_layer layers[LAYERS] = {
    {"a", 0, 131, false}, {"b", 131, 5, false}, {"c", 136, 40, true}, {"d", 176, 24, false}};

typedef struct job {
    hu_comm_options options;
    hu_comm_plan *plan;
    float gradient[WORKERS_MOST][ELEMENTS];
    float result[WORKERS_MOST][ELEMENTS];
} job;

static void fill(job *j, double size) {
    for (int32_t w = 0; w < j->options.workers; w++)
        for (int32_t i = 0; i < ELEMENTS; i++) {
            hu_random_key key = {1, 2, (uint64_t)w};
            float normal = hu_random_normal(&key, (uint64_t)i);
            j->gradient[w][i] = i >= 176 ? 0.0f : (float)ldexp((double)normal * size, i % 9 - 4);
        }
}

static void begin(job *j, const char *schedule, const char *scaling, const char *format,
                  int32_t workers) {
    memset(j, 0, sizeof *j);
    j->options = (hu_comm_options){.workers = workers, .seed = 7, .bucket_bytes = 1};
    assert_int_equal(hu_comm_schedule_parse(schedule, &j->options.schedule, &j->options.group),
                     HU_OK);
    assert_int_equal(hu_comm_scaling_parse(scaling, &j->options.scaling, &j->options.constant),
                     HU_OK);
    assert_int_equal(hu_format_parse(format, &j->options.format), HU_OK);
    fill(j, 0.003);
}

static void run(job *j, int threads, uint64_t step) {
    hu_comm_emulated *emulated;
    float *gradient[WORKERS_MOST];
    assert_int_equal(hu_comm_plan_create(&j->options, layers, LAYERS, &j->plan), HU_OK);
    memcpy(j->result, j->gradient, sizeof j->result);
    for (int32_t w = 0; w < WORKERS_MOST; w++) gradient[w] = j->result[w];
    assert_int_equal(hu_comm_emulated_create(j->plan, gradient, threads, &emulated), HU_OK);
    assert_int_equal(hu_comm_emulated_run(emulated, step), HU_OK);
    hu_comm_emulated_free(emulated);
    for (int32_t w = 1; w < j->options.workers; w++)
        assert_memory_equal(j->result[w], j->result[0], sizeof j->result[0]);
}

static void end(job *j) {
    hu_comm_plan_free(j->plan);
}

/* ---- the model ---- */

static float q(const job *j, bool exact, float x) {
    bool has_nan = j->options.format.man_bits > 0;
    if (exact) return x;
    /* The code that stands for NaN where there is none. */
    if (isnan(x) && !has_nan) return (float)INFINITY;
    return hu_format_round(&j->options.format, j->options.rounding, x, 0);
}

/* Piece of element i of a layer of n. */
static int32_t piece_of(int64_t i, int64_t n, int32_t pieces) {
    int32_t p = 0;
    while (hu_comm_edge(n, p + 1, pieces) <= i) p++;
    return p;
}

static float from_zero(const job *j, bool exact, const float *h, int32_t count) {
    float sum = 0.0f;
    for (int32_t w = 0; w < count; w++) sum = q(j, exact, sum + h[w]);
    return sum;
}

static float around_ring(const job *j, bool exact, const float *h, int32_t count, int32_t begin) {
    float sum = h[begin];
    for (int32_t s = 1; s < count; s++) sum = q(j, exact, sum + h[(begin + s) % count]);
    return sum;
}

static float by_halves(const job *j, bool exact, const float *h, int32_t count, int32_t piece) {
    float v[WORKERS_MOST];
    int32_t core = 1;
    while (core <= count / 2) core *= 2;
    for (int32_t w = 0; w < core; w++)
        v[w] = w + core < count ? q(j, exact, h[w] + h[w + core]) : h[w];
    for (int32_t half = core / 2; half >= 1; half /= 2)
        for (int32_t w = 0; w < core; w++)
            if ((w & half) == (piece & half)) v[w] = q(j, exact, v[w] + v[w ^ half]);
    return v[piece];
}

/* The sum of h[workers], numbers of the format, as a schedule adds them. */
static float narrow_sum(const job *j, bool exact, const float *h, int32_t piece) {
    const hu_comm_options *o = &j->options;
    const char *name = o->schedule->name;
    float groups[WORKERS_MOST] = {0};
    if (!strcmp(name, "ring")) return around_ring(j, exact, h, o->workers, piece);
    if (!strcmp(name, "halving")) return by_halves(j, exact, h, o->workers, piece);
    if (!o->schedule->has_groups) return from_zero(j, exact, h, o->workers);
    int32_t count = o->workers / o->group;
    for (int32_t g = 0; g < count; g++) groups[g] = from_zero(j, exact, h + g * o->group, o->group);
    /* Owners, not a ring, add what travels beside sums in float32. */
    if (o->scaling->wide) return from_zero(j, exact, groups, count);
    return around_ring(j, exact, groups, count,
                       !strcmp(name, "hier") ? piece / o->group : piece % count);
}

static float wide(const float *h, int32_t count) {
    float sum = -0.0f; /* leaves the first number as it is */
    for (int32_t w = 0; w < count; w++) sum += h[w];
    return sum;
}

/* Sums in float32 by the owners of one level or two, each rounded once. */
static float wide_sum(const job *j, const float *h) {
    const hu_comm_options *o = &j->options;
    float groups[WORKERS_MOST] = {0};
    if (!o->schedule->has_groups) return q(j, false, wide(h, o->workers));
    int32_t count = o->workers / o->group;
    for (int32_t g = 0; g < count; g++) groups[g] = q(j, false, wide(h + g * o->group, o->group));
    return q(j, false, wide(groups, count));
}

/* ceil(log2(x)) by counting. */
static int ceil_log2(double x) {
    int e = -400;
    while (ldexp(1.0, e) < x) e++;
    return e;
}

/* Factor 2^f of a layer. */
static int factor(const job *j, const hu_comm_layer *layer) {
    const char *name = j->options.scaling->name;
    hu_format_limits limits = hu_format_limits_of(&j->options.format);
    double top = 0.0;
    for (int32_t w = 0; w < j->options.workers; w++)
        for (int64_t i = 0; i < layer->elements; i++)
            top = fmax(top, fabs((double)j->gradient[w][layer->offset + i]));
    if (!strcmp(name, "constant")) return j->options.constant;
    if (!strcmp(name, "none") || top == 0.0) return 0;
    top *= j->options.workers;
    if (!strcmp(name, "aps-tight")) {
        int f = -400;
        while (ldexp(top, f + 1) <= limits.max_finite) f++;
        return f;
    }
    return limits.emax - ceil_log2(top);
}

/* Numbers may differ in the sign of a zero from a sum of no numbers, and nothing else. */
static void compare(const job *j, const char *what) {
    for (int32_t l = 0; l < LAYERS; l++) {
        const hu_comm_layer *layer = &layers[l];
        bool exact = layer->exact || !j->plan->narrow.rounds;
        int f = exact ? 0 : factor(j, layer);
        for (int64_t i = 0; i < layer->elements; i++) {
            float h[WORKERS_MOST] = {0};
            for (int32_t w = 0; w < j->options.workers; w++)
                h[w] = q(j, exact, (float)ldexp((double)j->gradient[w][layer->offset + i], f));
            int32_t piece = piece_of(i, layer->elements, j->plan->pieces);
            float sum = j->options.scaling->wide && !exact ? wide_sum(j, h)
                                                           : narrow_sum(j, exact, h, piece);
            float expected = (float)ldexp((double)sum, -f), found = j->result[0][layer->offset + i];
            if (isnan(expected) && isnan(found)) continue;
            if (hu_f32_bits(expected) != hu_f32_bits(found))
                fail_msg("%s %s %s, %d workers: %s[%d] is %a, expected %a", what,
                         j->options.schedule->name, j->options.scaling->name, j->options.workers,
                         layer->name, (int)i, (double)found, (double)expected);
        }
    }
}

static const char *const formats[] = {"e5m2", "e4m3", "e3m0", "1/6/9", "bf16", "fp32", "e4m3fn"};
enum { FORMATS = sizeof formats / sizeof *formats };

static void sums_are_those_of_the_model(void **state) {
    (void)state;
    static const char *const scalings[] = {"none", "constant:10", "aps", "aps-tight", "aps-wide"};
    static const char *const schedules[] = {"seq",     "ring",    "hier:1",   "hier:2",
                                            "hier:3",  "hier:6",  "hier2d:2", "hier2d:3",
                                            "halving", "pairwise"};
    static const int32_t workers[] = {1, 2, 3, 4, 6, 7, 8, 12};
    static job j;
    int done = 0;
    for (size_t a = 0; a < sizeof scalings / sizeof *scalings; a++)
        for (size_t b = 0; b < sizeof schedules / sizeof *schedules; b++)
            for (size_t c = 0; c < FORMATS; c++)
                for (size_t d = 0; d < sizeof workers / sizeof *workers; d++) {
                    begin(&j, schedules[b], scalings[a], formats[c], workers[d]);
                    hu_comm_shape shape = {workers[d], j.options.group, j.options.scaling->wide};
                    if (hu_comm_schedule_check(j.options.schedule, &shape) != HU_OK) continue;
                    run(&j, 1, 3);
                    compare(&j, formats[c]);
                    end(&j);
                    done++;
                }
    assert_true(done > 1000);
}

/* Rounds a row to the numbers of its own scale, whose exponent has a byte; what is not finite
 * travels without one. */
static void own_scale(const hu_format *format, int64_t n, float *row) {
    int32_t k = hu_scale_exponent(format, HU_SCALE_CURRENT, hu_top_f32((size_t)n, row));
    k = k > 126 ? 126 : k < -127 ? -127 : k;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(row[i])) k = 0;
    hu_format own = hu_format_scaled(format, hu_scale_clamp(format, k));
    for (int64_t i = 0; i < n; i++)
        row[i] = hu_format_round(&own, HU_ROUND_NEAREST_EVEN, row[i], 0);
}

/* The sum of elements first .. first + n - 1 of 6 workers, a piece, by the owners of one level or
 * two. */
static void sum_of_piece(const job *j, int64_t first, int64_t n, float *sum) {
    const hu_format *format = &j->options.format;
    int32_t group = j->options.group ? j->options.group : 6, groups = 6 / group;
    float level[6][ELEMENTS], sums[6][ELEMENTS], h[6];
    for (int32_t w = 0; w < 6; w++) {
        memcpy(level[w], j->gradient[w] + first, (size_t)n * sizeof(float));
        own_scale(format, n, level[w]);
    }
    for (int32_t g = 0; g < groups; g++) {
        for (int64_t i = 0; i < n; i++) {
            for (int32_t w = 0; w < group; w++) h[w] = level[g * group + w][i];
            sums[g][i] = wide(h, group);
        }
        own_scale(format, n, sums[g]);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int32_t g = 0; g < groups; g++) h[g] = sums[g][i];
        sum[i] = wide(h, groups);
    }
    if (j->options.group) own_scale(format, n, sum);
}

/* Sums of aps2: every piece of every level has the scale of its own largest number. Formats of
 * large bias want larger exponents than there are: huge numbers overflow in them. */
static void two_scales_are_those_of_the_pieces(void **state) {
    (void)state;
    static const char *const schedules[] = {"seq", "pairwise", "hier:2", "hier2d:2"};
    static const char *const biased[] = {"e5m2:bias=100", "e5m2:bias=140", "e4m3:bias=100",
                                         "e6m10:bias=120"};
    static const double sizes[] = {0.003, 0x1p37, 1e30};
    enum { BIASED = sizeof biased / sizeof *biased, SIZES = sizeof sizes / sizeof *sizes };
    static job j;
    int infinite = 0;
    for (size_t a = 0; a < 4 * SIZES * (FORMATS + BIASED); a++) {
        size_t f = a / (4 * SIZES);
        begin(&j, schedules[a % 4], "aps2", f < FORMATS ? formats[f] : biased[f - FORMATS], 6);
        fill(&j, sizes[a / 4 % SIZES]);
        run(&j, 1, 3);
        for (int32_t p = 0; p < j.plan->pieces && j.plan->narrow.rounds; p++) {
            int64_t first = hu_comm_edge(131, p, j.plan->pieces);
            int64_t n = hu_comm_edge(131, p + 1, j.plan->pieces) - first;
            float expected[ELEMENTS];
            sum_of_piece(&j, first, n, expected);
            for (int64_t i = 0; i < n; i++) {
                float found = j.result[0][first + i];
                infinite += isinf(found) != 0;
                if (isnan(found) && isnan(expected[i])) continue;
                if (hu_f32_bits(found) != hu_f32_bits(expected[i]))
                    fail_msg("%s, size %g: %a, expected %a",
                             f < FORMATS ? formats[f] : biased[f - FORMATS], sizes[a / 4 % SIZES],
                             (double)found, (double)expected[i]);
            }
        }
        end(&j);
    }
    assert_true(infinite > 100);
}

static void buckets_and_threads_change_no_bit(void **state) {
    (void)state;
    static const char *const schedules[] = {"ring", "hier:4", "halving", "pairwise"};
    static const char *const scalings[] = {"none", "aps", "aps2"};
    static job a, b;
    for (size_t s = 0; s < 4; s++)
        for (size_t c = 0; c < 3; c++)
            for (int mode = 0; mode < 2; mode++) {
                begin(&a, schedules[s], scalings[c], "e4m3", 8);
                hu_comm_shape shape = {8, a.options.group, a.options.scaling->wide};
                if (hu_comm_schedule_check(a.options.schedule, &shape) != HU_OK) continue;
                a.options.rounding = mode ? HU_ROUND_STOCHASTIC : HU_ROUND_NEAREST_EVEN;
                b = a;
                b.options.bucket_bytes = 1 << 20;
                run(&a, 1, 5);
                run(&b, 3, 5);
                assert_memory_equal(a.result[0], b.result[0], sizeof a.result[0]);
                end(&a);
                end(&b);
            }
}

/* Stochastic rounding is not biased: the mean over steps comes near the sum. */
static void stochastic_sums_are_right_on_average(void **state) {
    (void)state;
    enum { STEPS = 4000 };
    static job j;
    double exact = 0.0, mean = 0.0, first = 0.0;
    bool differs = false;
    for (int s = 0; s < STEPS; s++) {
        begin(&j, "ring", "aps", "e3m0:sub=d", 4);
        j.options.rounding = HU_ROUND_STOCHASTIC;
        run(&j, 1, (uint64_t)s);
        mean += (double)j.result[0][4] / STEPS;
        if (s == 0) first = (double)j.result[0][4];
        differs = differs || (double)j.result[0][4] != first;
        end(&j);
    }
    for (int w = 0; w < 4; w++) exact += (double)j.gradient[w][4];
    assert_true(differs);
    assert_true(fabs(mean - exact) < 0.05 * fabs(exact));
}

/* Kahan's sum of h[count] in the format: what overflowed has nothing to compensate. */
static float compensated(const job *j, const float *h, int32_t count) {
    float r = 0.0f, c = 0.0f;
    for (int32_t w = 0; w < count; w++) {
        float y = q(j, false, h[w] - c), t = q(j, false, r + y);
        c = q(j, false, q(j, false, t - r) - y);
        if (!isfinite(c)) c = 0.0f;
        r = t;
    }
    return r;
}

/* Without a scale and with large numbers some sums overflow; then they stay infinite. */
static void compensated_sums_are_kahans(void **state) {
    (void)state;
    static const char *const kinds[] = {"e5m2", "e4m3", "e5m2:ovf=sat", "e5m9", "e5m12"};
    static const double sizes[] = {0.003, 3000.0};
    static const hu_rounding roundings[] = {HU_ROUND_NEAREST_EVEN, HU_ROUND_UP,
                                            HU_ROUND_TOWARD_ZERO};
    static job j;
    int infinite = 0;
    for (size_t a = 0; a < 5 * 2 * 3; a++) {
        size_t size = a / 5 % 2;
        begin(&j, "pairwise", size ? "none" : "aps", kinds[a % 5], 12);
        j.options.kahan = true;
        j.options.rounding = roundings[a / 10];
        fill(&j, sizes[size]);
        run(&j, 1, 1);
        int f = factor(&j, &layers[0]);
        for (int64_t i = 0; i < layers[0].elements; i++) {
            float h[WORKERS_MOST];
            for (int32_t w = 0; w < 12; w++)
                h[w] = q(&j, false, (float)ldexp((double)j.gradient[w][i], f));
            float expected = (float)ldexp((double)compensated(&j, h, 12), -f);
            float found = j.result[0][i];
            infinite += isinf(found) != 0;
            if (hu_f32_bits(found) != hu_f32_bits(expected) && !(isnan(found) && isnan(expected)))
                fail_msg("%s: %a, expected %a", kinds[a % 5], (double)found, (double)expected);
        }
        end(&j);
    }
    assert_true(infinite > 100);
    begin(&j, "ring", "aps", "e5m2", 4);
    j.options.kahan = true;
    assert_int_equal(hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "pairwise"));
}

/* Sums beyond the format stay what they are; a compensation beyond it is none. */
static void compensated_sums_overflow(void **state) {
    (void)state;
    static const struct {
        hu_rounding rounding;
        float h[4], sum;
    } rows[] = {
        {HU_ROUND_NEAREST_EVEN, {4e4f, 4e4f, 4e4f, 4e4f}, (float)INFINITY},
        {HU_ROUND_NEAREST_EVEN, {-4e4f, -4e4f, 1.0f, 4e4f}, -(float)INFINITY},
        /* 57344 is the largest; t - r = 57344.01 is rounded up. */
        {HU_ROUND_UP, {-0.01f, 57344.0f, 0.0f, 0.0f}, 57344.0f},
    };
    static job j;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        begin(&j, "seq", "none", "e5m2", 4);
        j.options.kahan = true;
        j.options.rounding = rows[r].rounding;
        for (int w = 0; w < 4; w++) j.gradient[w][17] = rows[r].h[w];
        run(&j, 1, 1);
        if (j.result[0][17] != rows[r].sum)
            fail_msg("row %zu: %a, expected %a", r, (double)j.result[0][17], (double)rows[r].sum);
        end(&j);
    }
}

/* What a step loses comes back: the mean over steps of a constant gradient nears the sum. */
static void losses_are_fed_back(void **state) {
    (void)state;
    enum { STEPS = 64 };
    static const char *const cases[][2] = {
        {"ring", "aps"}, {"pairwise", "aps-wide"}, {"pairwise", "aps2"}, {"hier:2", "aps2"}};
    static job j;
    for (size_t c = 0; c < 4; c++) {
        double error = 0.0, size = 0.0, once = 0.0, total[ELEMENTS] = {0};
        float *gradient[WORKERS_MOST];
        hu_comm_emulated *emulated;
        begin(&j, cases[c][0], cases[c][1], "e3m0", 4);
        j.options.error_feedback = true;
        assert_int_equal(hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan), HU_OK);
        for (int32_t w = 0; w < WORKERS_MOST; w++) gradient[w] = j.result[w];
        assert_int_equal(hu_comm_emulated_create(j.plan, gradient, 1, &emulated), HU_OK);
        for (int s = 0; s < STEPS; s++) {
            memcpy(j.result, j.gradient, sizeof j.result);
            assert_int_equal(hu_comm_emulated_run(emulated, (uint64_t)s), HU_OK);
            for (int i = 0; i < 131; i++) {
                double exact = 0.0;
                for (int w = 0; w < 4; w++) exact += (double)j.gradient[w][i];
                total[i] += (double)j.result[0][i];
                if (s == 0) once += pow((double)j.result[0][i] - exact, 2), size += exact * exact;
                if (s == STEPS - 1) error += pow(total[i] / STEPS - exact, 2);
            }
        }
        assert_true(sqrt(error / size) < 0.1 * sqrt(once / size));
        hu_comm_emulated_free(emulated);
        end(&j);
    }
}

/* What a step loses and what it gives are together what it got, exactly: multiples of 2^-12, few
 * enough for float32. */
static void nothing_is_lost_but_to_the_losses(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"seq", "aps"},           {"ring", "none"},       {"pairwise", "aps-tight"},
        {"halving", "aps"},       {"hier:2", "aps"},      {"hier2d:2", "aps"},
        {"pairwise", "aps-wide"}, {"hier:2", "aps-wide"}, {"seq", "aps2"}};
    static job j;
    for (size_t c = 0; c < 2 * sizeof cases / sizeof *cases; c++) {
        float *gradient[WORKERS_MOST];
        hu_comm_emulated *emulated;
        begin(&j, cases[c / 2][0], cases[c / 2][1], "e4m3", 8);
        j.options.kahan = c % 2 != 0;
        j.options.error_feedback = true;
        for (int w = 0; w < WORKERS_MOST; w++)
            for (int i = 0; i < ELEMENTS; i++)
                j.gradient[w][i] = rintf(ldexpf(j.gradient[w][i], 20)) * 0x1p-12f;
        memcpy(j.result, j.gradient, sizeof j.result);
        if (hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan) != HU_OK) continue;
        for (int32_t w = 0; w < WORKERS_MOST; w++) gradient[w] = j.result[w];
        assert_int_equal(hu_comm_emulated_create(j.plan, gradient, 1, &emulated), HU_OK);
        assert_int_equal(hu_comm_emulated_run(emulated, 0), HU_OK);
        bool loses = false;
        for (int i = 0; i < 131; i++) {
            double given = 0.0, found = (double)j.result[0][i], sum = found;
            for (int32_t w = 0; w < 8; w++) {
                hu_comm_worker *worker = hu_comm_emulated_worker(emulated, w);
                given += (double)j.gradient[w][i];
                for (int k = 0; k < HU_COMM_LOSSES; k++)
                    if (hu_comm_worker_loss(worker, k))
                        sum += (double)hu_comm_worker_loss(worker, k)[i];
            }
            loses = loses || found != given;
            if (sum != given)
                fail_msg("%s %s, kahan %d: %a and losses are %a, expected %a", cases[c / 2][0],
                         cases[c / 2][1], j.options.kahan, found, sum, given);
        }
        assert_true(loses);
        hu_comm_emulated_free(emulated);
        end(&j);
    }
}

/* One number of one worker is not finite: nor is the sum, and all workers have the same bits. */
static void check_nonfinite(const char *schedule, const char *scaling, const char *format,
                            float number, bool kahan) {
    static job j;
    begin(&j, schedule, scaling, format, 4);
    j.options.kahan = kahan;
    if (hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan) != HU_OK) return;
    hu_comm_plan_free(j.plan);
    j.gradient[2][17] = number;
    run(&j, 1, 1);
    float sum = j.result[0][17];
    if (isfinite(sum)) fail_msg("%s %s %s: %a", schedule, scaling, format, (double)sum);
    /* The one NaN, of whatever sign the gradient's was. */
    if (isnan(number)) assert_true(isinf(sum) || hu_f32_bits(sum) == HU_F32_NAN);
    /* Other layers do not suffer. */
    assert_true(isfinite(j.result[0][140]) != 0);
    end(&j);
}

/* An infinity or a NaN reaches everyone, in every format and scaling. */
static void what_is_not_finite_is_not_lost(void **state) {
    (void)state;
    static const char *const kinds[] = {"e5m2", "e4m3fn", "fp(4,3,7)", "e3m0", "e2m1", "fp32",
                                        /* codes of 4 bytes */
                                        "e6m10:specials=fin", "e5m12:specials=fin",
                                        "e7m20:specials=fin", "e5m12:specials=fnuz",
                                        "e5m12:specials=fn", "e6m17",
                                        /* infinities that are rounded to numbers */
                                        "e5m2:ovf=sat", "e4m3:ovf=sat", "e5m12:ovf=sat",
                                        "e5m12:specials=fn:ovf=sat", "e8m23:sub=n:ovf=sat"};
    static const char *const scalings[] = {"none",      "constant:3", "aps",
                                           "aps-tight", "aps-wide",   "aps2"};
    static const char *const schedules[] = {"pairwise", "seq", "ring", "halving", "hier:2"};
    const float numbers[] = {(float)NAN, -(float)NAN, (float)INFINITY, -(float)INFINITY};
    for (size_t f = 0; f < sizeof kinds / sizeof *kinds; f++)
        for (size_t a = 0; a < 6 * 5 * 4; a++) {
            const char *schedule = schedules[a % 5], *scaling = scalings[a / 5 % 6];
            check_nonfinite(schedule, scaling, kinds[f], numbers[a / 30], false);
            check_nonfinite(schedule, scaling, kinds[f], numbers[a / 30], true);
        }
}

/* All workers have the same bits of sums that overflow, whatever the format has no code for: run
 * compares them. */
static void all_have_the_bits_of_sums_that_overflow(void **state) {
    (void)state;
    static const char *const kinds[] = {"e4m3fn",
                                        "e4m3fnuz",
                                        "e6m10:specials=fin:ovf=inf",
                                        "e6m10:specials=fin:ovf=nan",
                                        "e5m12:specials=fnuz",
                                        "e5m12:specials=fn",
                                        "e5m12:specials=fn:ovf=inf",
                                        "e6m15:ovf=nan"};
    static const char *const schedules[] = {"pairwise", "seq", "ring", "halving", "hier:2"};
    static job j;
    for (size_t a = 0; a < 8 * 5 * 2 * 2; a++) {
        begin(&j, schedules[a % 5], a / 10 % 2 ? "aps-wide" : "constant:0", kinds[a / 20], 4);
        j.options.kahan = a / 5 % 2 != 0;
        if (hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan) != HU_OK) continue;
        hu_comm_plan_free(j.plan);
        fill(&j, 0.4 * hu_format_limits_of(&j.options.format).max_finite);
        run(&j, 1, 1);
        end(&j);
    }
}

/* Tiny and huge gradients keep their digits: scales reach as far as binary32. */
static void extreme_magnitudes_fit(void **state) {
    (void)state;
    static const double sizes[] = {1e-44, 1e-38, 1e-30, 1e30, 1e36};
    static job j;
    for (size_t s = 0; s < 5; s++) {
        begin(&j, "pairwise", "aps", "e5m2", 4);
        fill(&j, sizes[s]);
        run(&j, 1, 1);
        for (int i = 0; i < 131; i++) {
            double exact = 0.0, terms = 0.0;
            for (int w = 0; w < 4; w++) exact += (double)j.gradient[w][i];
            for (int w = 0; w < 4; w++) terms += fabs((double)j.gradient[w][i]);
            assert_true(isfinite(j.result[0][i]) != 0);
            assert_true(fabs((double)j.result[0][i] - exact) <= terms + ldexp(1.0, -149));
        }
        end(&j);
    }
}

/* Workers 1 and 3 get nothing; whichever threads find that, the caller hears of the first. */
static void the_first_failure_is_told(void **state) {
    (void)state;
    static job j;
    for (int threads = 1; threads <= 4; threads++) {
        float *gradient[WORKERS_MOST];
        hu_comm_emulated *emulated;
        begin(&j, "ring", "aps", "e5m2", 4);
        assert_int_equal(hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan), HU_OK);
        for (int32_t w = 0; w < WORKERS_MOST; w++) gradient[w] = j.result[w];
        assert_int_equal(hu_comm_emulated_create(j.plan, gradient, threads, &emulated), HU_OK);
        for (int32_t w = 0; w < 4; w += 2) {
            hu_comm_action *first =
                hu_comm_worker_list(hu_comm_emulated_worker(emulated, w))->action;
            assert_int_equal(first->act, HU_COMM_SEND);
            first->step = 1000; /* which never comes */
        }
        hu_comm_scaling_parse("something else", &j.options.scaling, &j.options.constant);
        assert_int_equal(hu_comm_emulated_run(emulated, 1), HU_ERR_CORRUPT);
        if (strncmp(hu_last_error(), "worker 1: message: found mark 00000000", 38) != 0)
            fail_msg("%d threads: %s", threads, hu_last_error());
        hu_comm_emulated_free(emulated);
        end(&j);
    }
}

static void traffic_is_counted(void **state) {
    (void)state;
    static const hu_comm_layer one = {"a", 0, 1024, false};
    hu_comm_traffic traffic;
    static job j;
    begin(&j, "ring", "aps", "e3m0", 8);
    assert_int_equal(hu_comm_plan_create(&j.options, &one, 1, &j.plan), HU_OK);
    assert_int_equal(hu_comm_traffic_of(j.plan, &traffic, NULL), HU_OK);
    assert_int_equal(traffic.steps, 14);
    assert_int_equal(traffic.agreement_steps, 3);
    /* 14 messages of 128 numbers of 4 bits with headers of 40 bytes, and 3 exponents. */
    assert_int_equal(traffic.bytes_per_worker, 14 * (64 + 40) + 3);
    assert_int_equal(traffic.bytes, UINT64_C(8) * traffic.bytes_per_worker);
    end(&j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_model),
        cmocka_unit_test(two_scales_are_those_of_the_pieces),
        cmocka_unit_test(buckets_and_threads_change_no_bit),
        cmocka_unit_test(stochastic_sums_are_right_on_average),
        cmocka_unit_test(compensated_sums_are_kahans),
        cmocka_unit_test(compensated_sums_overflow),
        cmocka_unit_test(losses_are_fed_back),
        cmocka_unit_test(nothing_is_lost_but_to_the_losses),
        cmocka_unit_test(what_is_not_finite_is_not_lost),
        cmocka_unit_test(all_have_the_bits_of_sums_that_overflow),
        cmocka_unit_test(extreme_magnitudes_fit),
        cmocka_unit_test(the_first_failure_is_told),
        cmocka_unit_test(traffic_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
