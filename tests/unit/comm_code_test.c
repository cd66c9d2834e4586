/* Gradients in codes of their own: TernGrad, QSGD and Flexpoint against a plain model of their
 * papers, number by number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "comm/cost_model.h"
#include "comm/internal.h"
#include "comm/plan.h"

enum { WORKERS_MOST = 6, ELEMENTS = 200, LAYERS = 3 };

/* The second travels in float32, the third is smaller than most numbers of workers. */
static const hu_comm_layer layers[LAYERS] = {
    {"a", 0, 155, false}, {"b", 155, 40, true}, {"c", 195, 5, false}};

typedef struct job {
    hu_comm_options options;
    hu_comm_plan *plan;
    float gradient[WORKERS_MOST][ELEMENTS];
    float result[WORKERS_MOST][ELEMENTS];
} job;

static void begin(job *j, const char *schedule, const char *scaling, int32_t workers) {
    memset(j, 0, sizeof *j);
    j->options = (hu_comm_options){.workers = workers, .seed = 7, .bucket_bytes = 1};
    assert_int_equal(hu_comm_schedule_parse(schedule, &j->options.schedule, &j->options.group),
                     HU_OK);
    assert_int_equal(hu_comm_scaling_parse(scaling, &j->options.scaling, &j->options.constant),
                     HU_OK);
    assert_int_equal(hu_format_parse("fp32", &j->options.format), HU_OK);
    for (int32_t w = 0; w < workers; w++)
        for (int32_t i = 0; i < ELEMENTS; i++) {
            hu_random_key key = {1, 2, (uint64_t)w};
            float normal = hu_random_normal(&key, (uint64_t)i);
            j->gradient[w][i] = (float)ldexp((double)normal * 0.003, i % 9 - 4);
        }
}

static void reduce(job *j, int threads, uint64_t step) {
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

/* The word that decides over element i of a layer at a worker. */
static double share(const hu_comm_layer *layer, int32_t worker, uint64_t step, int64_t i) {
    uint64_t where = ((uint64_t)worker << 32) + 1;
    hu_random_key key = {7, hu_stream_id("wire", layer->name) ^ where * 0x9E3779B97F4A7C15u, step};
    return (double)hu_random_word(&key, (uint64_t)i) / 4294967296.0;
}

static double drawn(double size, double share) {
    double below = floor(size);
    return share < size - below ? below + 1.0 : below;
}

/* ---- TernGrad: Wen et al., Eq. 2 and 3 with one scaler, cuts at C sigma ---- */

static double ternary(const job *j, const hu_comm_layer *layer, uint64_t step, int64_t i,
                      double cut) {
    double top = 0.0, sum = 0.0, limit[WORKERS_MOST];
    for (int32_t w = 0; w < j->options.workers; w++) {
        double mean = 0.0, squares = 0.0, largest = 0.0;
        for (int64_t e = 0; e < layer->elements; e++) {
            double x = (double)j->gradient[w][layer->offset + e];
            mean += x;
            squares += x * x;
            largest = fmax(largest, fabs(x));
        }
        mean /= (double)layer->elements;
        squares /= (double)layer->elements;
        limit[w] = (double)(float)(sqrt(squares - mean * mean) * cut);
        if (cut == 0.0) limit[w] = largest;
        top = fmax(top, fmin(largest, limit[w]));
    }
    for (int32_t w = 0; w < j->options.workers; w++) {
        double x = (double)j->gradient[w][layer->offset + i], size = fmin(fabs(x), limit[w]);
        double t = drawn(size / top, share(layer, w, step, i));
        sum += x < 0.0 ? -t : t;
    }
    return sum * top;
}

/* ---- QSGD: Alistarh et al., section 3.1, in the order of the workers ---- */

static float levels(const job *j, const hu_comm_layer *layer, uint64_t step, int64_t i, double s,
                    int64_t block) {
    float sum = 0.0f;
    int64_t piece = 0, n = layer->elements;
    while (hu_comm_edge(n, (int32_t)piece + 1, j->plan->pieces) <= i) piece++;
    int64_t first = hu_comm_edge(n, (int32_t)piece, j->plan->pieces);
    int64_t last = hu_comm_edge(n, (int32_t)piece + 1, j->plan->pieces);
    int64_t from = first + (i - first) / block * block,
            to = from + block < last ? from + block : last;
    for (int32_t w = 0; w < j->options.workers; w++) {
        const float *x = j->gradient[w] + layer->offset;
        double squares = 0.0;
        for (int64_t e = from; e < to; e++) squares += (double)x[e] * (double)x[e];
        float unit = (float)(sqrt(squares) / s);
        double level = drawn(fmin(fabs((double)x[i]) / (double)unit, s), share(layer, w, step, i));
        sum += (x[i] < 0.0f ? -(float)level : (float)level) * unit;
    }
    return sum;
}

/* ---- Flexpoint with the exponent of APS ---- */

static double whole(const job *j, const hu_comm_layer *layer, int64_t i) {
    double top = 0.0, sum = 0.0;
    int e = 0;
    for (int32_t w = 0; w < j->options.workers; w++)
        for (int64_t k = 0; k < layer->elements; k++)
            top = fmax(top, fabs((double)j->gradient[w][layer->offset + k]));
    top *= (double)j->options.workers;
    while (e < 31 && ldexp(top, e + 1) <= 32768.0) e++;
    for (int32_t w = 0; w < j->options.workers; w++)
        sum += rint(ldexp((double)j->gradient[w][layer->offset + i], e));
    return ldexp(fmin(sum, 32767.0), -e);
}

static void sums_are_those_of_the_papers(void **state) {
    (void)state;
    static const char *const schedules[] = {"seq", "pairwise", "hier:2", "hier2d:3", "ring"};
    static const char *const scalings[] = {"terngrad", "terngrad:0", "terngrad:1.25", "qsgd",
                                           "qsgd:8/7", "qsgd:2/64",  "flex16+5"};
    static job j;
    int done = 0;
    for (size_t a = 0; a < 5 * 7; a++) {
        const char *scaling = scalings[a % 7];
        bool is_ring = a / 7 == 4, has_groups = a / 7 == 2 || a / 7 == 3;
        if (is_ring && strcmp(scaling, "flex16+5") != 0) continue;
        /* Sums of sums of QSGD are another order of additions. */
        if (has_groups && strncmp(scaling, "qsgd", 4) == 0) continue;
        begin(&j, schedules[a / 7], scaling, 6);
        reduce(&j, 1, 3);
        for (int32_t l = 0; l < LAYERS; l += 2)
            for (int64_t i = 0; i < layers[l].elements; i++) {
                const hu_comm_layer *layer = &layers[l];
                float found = j.result[0][layer->offset + i], expected;
                if (a % 7 < 3)
                    expected = (float)ternary(&j, layer, 3, i, (double[]){2.5, 0.0, 1.25}[a % 7]);
                else if (a % 7 < 6)
                    expected = levels(&j, layer, 3, i, (double[]){7.0, 127.0, 1.0}[a % 7 - 3],
                                      (int64_t[]){512, 7, 64}[a % 7 - 3]);
                else
                    expected = (float)whole(&j, layer, i);
                if (found != expected)
                    fail_msg("%s %s: %s[%d] is %a, expected %a", schedules[a / 7], scaling,
                             layer->name, (int)i, (double)found, (double)expected);
                done++;
            }
        end(&j);
    }
    assert_true(done > 3000);
}

/* A layer of its own as written down: 5 numbers, 2 workers, 4 bits with one norm of 5 and 10. */
static void numbers_are_those_on_paper(void **state) {
    (void)state;
    static const float mine[] = {3.0f, 0.0f, -4.0f, 0.0f, 0.0f},
                       other[] = {0.0f, 0.0f, 0.0f, 0.0f, 8.0f};
    static job j;
    /* The largest is 8, with room for two 16 = 2^4: the unit is 2^(4 - 15). */
    begin(&j, "ring", "flex16+5", 2);
    memcpy(j.gradient[0] + 195, mine, sizeof mine);
    memcpy(j.gradient[1] + 195, other, sizeof other);
    j.gradient[0][196] = 0x1.8p-11f; /* 1.5 units: to the even 2 */
    reduce(&j, 1, 0);
    static const float whole_sum[] = {3.0f, 0x1p-10f, -4.0f, 0.0f, 8.0f};
    assert_memory_equal(j.result[0] + 195, whole_sum, sizeof whole_sum);
    end(&j);
    /* What is the largest of all itself is never drawn. */
    begin(&j, "seq", "terngrad:0", 2);
    memcpy(j.gradient[0] + 195, other, sizeof mine);
    memcpy(j.gradient[1] + 195, other, sizeof other);
    j.gradient[0][195] = -8.0f;
    reduce(&j, 1, 0);
    static const float ternary_sum[] = {-8.0f, 0.0f, 0.0f, 0.0f, 16.0f};
    for (int i = 0; i < 5; i++) assert_true(j.result[0][195 + i] == ternary_sum[i]);
    end(&j);
}

static void draws_are_right_on_average(void **state) {
    (void)state;
    enum { STEPS = 3000, WORKERS = 3 };
    static const char *const scalings[] = {"terngrad:0", "qsgd:3/50"};
    static job j;
    for (size_t c = 0; c < 2; c++) {
        double mean[ELEMENTS] = {0}, squares[ELEMENTS] = {0};
        for (int s = 0; s < STEPS; s++) {
            begin(&j, "pairwise", scalings[c], WORKERS);
            reduce(&j, 1, (uint64_t)s);
            for (int i = 0; i < 155; i++) {
                mean[i] += (double)j.result[0][i] / STEPS;
                squares[i] += (double)j.result[0][i] * (double)j.result[0][i] / STEPS;
            }
            end(&j);
        }
        for (int i = 0; i < 155; i++) {
            double exact = 0.0, variance = squares[i] - mean[i] * mean[i];
            for (int w = 0; w < WORKERS; w++) exact += (double)j.gradient[w][i];
            /* Five standard errors of a mean. */
            if (fabs(mean[i] - exact) > 5.0 * sqrt(variance / STEPS) + 1e-12)
                fail_msg("%s[%d]: mean %g, expected %g", scalings[c], i, mean[i], exact);
        }
    }
}

static void what_is_not_finite_comes_through(void **state) {
    (void)state;
    static const char *const scalings[] = {"terngrad", "qsgd:4/8", "flex16+5"};
    static job j;
    for (size_t c = 0; c < 3; c++)
        for (int kind = 0; kind < 2; kind++) {
            begin(&j, "pairwise", scalings[c], 4);
            j.gradient[2][50] = kind ? (float)INFINITY : (float)NAN;
            reduce(&j, 1, 0);
            assert_int_equal(hu_f32_bits(j.result[0][50]), HU_F32_NAN);
            /* One unit for all of a layer, or for a block; other layers have their own. */
            assert_true(c == 1 ? isfinite(j.result[0][0]) : isnan(j.result[0][0]));
            assert_true(isfinite(j.result[0][195]));
            end(&j);
        }
}

static void zeros_stay_zeros(void **state) {
    (void)state;
    static const char *const scalings[] = {"terngrad", "qsgd", "flex16+5"};
    static job j;
    for (size_t c = 0; c < 3; c++) {
        begin(&j, "pairwise", scalings[c], 4);
        memset(j.gradient, 0, sizeof j.gradient);
        reduce(&j, 1, 0);
        for (int i = 0; i < ELEMENTS; i++) assert_true(j.result[0][i] == 0.0f);
        end(&j);
    }
}

static void buckets_and_threads_change_no_bit(void **state) {
    (void)state;
    static const char *const scalings[] = {"terngrad", "qsgd:4/16", "flex16+5"};
    static job a, b;
    for (size_t c = 0; c < 3; c++) {
        begin(&a, "hier2d:2", scalings[c], 6);
        b = a;
        b.options.bucket_bytes = 1 << 20;
        reduce(&a, 1, 5);
        reduce(&b, 3, 5);
        assert_memory_equal(a.result[0], b.result[0], sizeof a.result[0]);
        end(&a);
        end(&b);
    }
}

/* What a gradient loses is there in the next step: sums of steps come near those of gradients. */
static void losses_are_fed_back(void **state) {
    (void)state;
    enum { STEPS = 200 };
    static job j;
    double sum = 0.0, exact = 0.0;
    float *gradient[WORKERS_MOST];
    hu_comm_emulated *emulated;
    begin(&j, "pairwise", "qsgd:7/50", 3);
    j.options.error_feedback = true;
    assert_int_equal(hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan), HU_OK);
    for (int32_t w = 0; w < WORKERS_MOST; w++) gradient[w] = j.result[w];
    assert_int_equal(hu_comm_emulated_create(j.plan, gradient, 1, &emulated), HU_OK);
    for (int s = 0; s < STEPS; s++) {
        memcpy(j.result, j.gradient, sizeof j.result);
        assert_int_equal(hu_comm_emulated_run(emulated, (uint64_t)s), HU_OK);
        sum += (double)j.result[0][8] / STEPS;
    }
    for (int w = 0; w < 3; w++) exact += (double)j.gradient[w][8];
    assert_true(fabs(sum - exact) < 0.02 * fabs(exact));
    hu_comm_emulated_free(emulated);
    end(&j);
}

/* 155 and 5 numbers of 2 bits, 40 of 32; sums of 6 in 4 bits; 4 bytes a layer upon agreement. */
static void bytes_are_those_of_the_codes(void **state) {
    (void)state;
    static job j;
    hu_comm_traffic traffic;
    begin(&j, "seq", "terngrad", 6);
    reduce(&j, 1, 0);
    assert_int_equal(hu_comm_traffic_of(j.plan, &traffic, NULL), HU_OK);
    int64_t headers = 3 * 40, up = headers + 39 + 160 + 2, down = headers + 78 + 160 + 3;
    assert_int_equal(traffic.bytes, 5 * (up + down) + 6 * 3 * 3 * 4);
    end(&j);
    /* Norms of 2 and 1 blocks go before 4 bits a number; sums are float32. */
    begin(&j, "seq", "qsgd:4/100", 6);
    reduce(&j, 1, 0);
    assert_int_equal(hu_comm_traffic_of(j.plan, &traffic, NULL), HU_OK);
    up = headers + 8 + 78 + 160 + 4 + 3;
    down = headers + 620 + 160 + 20;
    assert_int_equal(traffic.bytes, 5 * (up + down));
    end(&j);
    begin(&j, "seq", "flex16+5", 6);
    reduce(&j, 1, 0);
    assert_int_equal(hu_comm_traffic_of(j.plan, &traffic, NULL), HU_OK);
    up = headers + 310 + 160 + 10;
    assert_int_equal(traffic.bytes, 5 * 2 * up + 6 * 3 * 3);
    end(&j);
}

static void whole_numbers_are_packed(void **state) {
    (void)state;
    static const float ternary[] = {1.0f, -1.0f, 0.0f, 1.0f, -1.0f};
    static const uint8_t expected[] = {1 | 3 << 2 | 1 << 6, 3};
    uint8_t bytes[64];
    hu_comm_pack_whole(2, 5, ternary, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    for (uint32_t bits = 2; bits <= 20; bits++) {
        float in[20], out[20];
        for (int i = 0; i < 20; i++) in[i] = (float)((i * 7919 % (1 << bits)) - (1 << (bits - 1)));
        hu_comm_pack_whole(bits, 20, in, bytes);
        hu_comm_unpack_whole(bits, 20, bytes, out);
        assert_memory_equal(in, out, sizeof in);
    }
}

static void forms_are_read_and_written(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"terngrad", "terngrad"}, {"terngrad:2.5", "terngrad"}, {"terngrad:0", "terngrad:0"},
        {"qsgd:4", "qsgd"},       {"qsgd:8/64", "qsgd:8/64"},   {"flex16+5", "flex16+5"}};
    static const char *const wrong[] = {"terngrad:",  "terngrad:-1", "terngrad:2.555", "qsgd:1",
                                        "qsgd:9",     "qsgd:4/0",    "qsgd:4/x",       "qsgd:4/8/2",
                                        "flex16+5:3", "qsgd:",       "terngrad:nan"};
    const hu_comm_scaling *scaling;
    int32_t constant;
    char text[32];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(hu_comm_scaling_parse(texts[i][0], &scaling, &constant), HU_OK);
        hu_comm_scaling_print(scaling, constant, text, sizeof text);
        assert_string_equal(text, texts[i][1]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(hu_comm_scaling_parse(wrong[i], &scaling, &constant), HU_ERR_PARSE);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    static job j;
    begin(&j, "pairwise", "qsgd", 4);
    j.options.rounding = HU_ROUND_STOCHASTIC;
    assert_int_equal(hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "sr with scaling qsgd"));
    begin(&j, "seq", "flex16+5", 4);
    j.options.kahan = true;
    assert_int_equal(hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan), HU_ERR_ARGUMENT);
    begin(&j, "ring", "terngrad", 4);
    assert_int_equal(hu_comm_plan_create(&j.options, layers, LAYERS, &j.plan), HU_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_papers),
        cmocka_unit_test(numbers_are_those_on_paper),
        cmocka_unit_test(draws_are_right_on_average),
        cmocka_unit_test(what_is_not_finite_comes_through),
        cmocka_unit_test(zeros_stay_zeros),
        cmocka_unit_test(buckets_and_threads_change_no_bit),
        cmocka_unit_test(losses_are_fed_back),
        cmocka_unit_test(bytes_are_those_of_the_codes),
        cmocka_unit_test(whole_numbers_are_packed),
        cmocka_unit_test(forms_are_read_and_written),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
