/* Traffic and time of reductions, and where scales leave nothing of the numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include "comm/cost_model.h"
#include "comm/plan.h"
#include "comm/process_group.h"

static hu_comm_options options_of(const char *schedule, const char *scaling, const char *format,
                                  int32_t workers) {
    hu_comm_options options = {.workers = workers, .bucket_bytes = 1};
    assert_int_equal(hu_comm_schedule_parse(schedule, &options.schedule, &options.group), HU_OK);
    assert_int_equal(hu_comm_scaling_parse(scaling, &options.scaling, &options.constant), HU_OK);
    assert_int_equal(hu_format_parse(format, &options.format), HU_OK);
    return options;
}

static hu_comm_plan *plan_of(const char *schedule, const char *scaling, const char *format,
                             int32_t workers, int64_t elements) {
    const hu_comm_layer layer = {.name = "all", .elements = elements};
    hu_comm_options options = options_of(schedule, scaling, format, workers);
    hu_comm_plan *plan;
    assert_int_equal(hu_comm_plan_create(&options, &layer, 1, &plan), HU_OK);
    return plan;
}

static hu_comm_link link_of(const char *rate, const char *latency) {
    hu_comm_link link;
    assert_int_equal(hu_comm_link_parse(rate, latency, &link), HU_OK);
    return link;
}

/* 510 steps around a ring of 256, 90 in groups of 16. */
static void steps_are_those_of_the_paper(void **state) {
    (void)state;
    static const struct {
        const char *schedule;
        int64_t steps;
    } rows[] = {{"ring", 510},    {"hier:4", 138},  {"hier:8", 90},    {"hier:16", 90},
                {"hier:32", 138}, {"hier:64", 258}, {"hier2d:16", 60}, {"halving", 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_comm_traffic traffic;
        hu_comm_plan *plan = plan_of(rows[i].schedule, "aps", "e5m2", 256, 9408);
        assert_int_equal(hu_comm_traffic_of(plan, &traffic, NULL), HU_OK);
        assert_int_equal(traffic.steps, rows[i].steps);
        assert_int_equal(traffic.agreement_steps, 8);
        hu_comm_plan_free(plan);
    }
}

/* A ring of 4 with 4 M bytes: 6 steps of 1 M and a header, each over two links; 2 steps to agree.
 */
static void time_is_that_of_the_slowest_messages(void **state) {
    (void)state;
    const hu_comm_link link = {.bits_per_second = 8e9, .latency_seconds = 1e-3};
    hu_comm_plan *plan = plan_of("ring", "aps", "e5m2", 4, 4000000);
    hu_comm_time time;
    assert_int_equal(hu_comm_predict(plan, &link, &time), HU_OK);
    double agreement = 2 * (2e-3 + 1.05e-9), message = 2e-3 + 1000040 * 1.05e-9;
    assert_true(fabs(time.agreement_seconds - agreement) < 1e-12);
    assert_true(fabs(time.seconds - agreement - 6 * message) < 1e-9);
    hu_comm_plan_free(plan);
}

/* Layers that travel apart, around a ring of 2: one exponent and two messages each. Two buckets at
 * once share the link, so that both of their messages take twice as long to leave, but travel
 * together; the third is alone. */
static void buckets_share_the_links(void **state) {
    (void)state;
    const hu_comm_layer layers[] = {
        {"a", 0, 2000, false}, {"b", 2000, 2000, false}, {"c", 4000, 2000, false}};
    const hu_comm_link link = {.bits_per_second = 8e9, .latency_seconds = 1e-3};
    hu_comm_options options = options_of("ring", "aps", "e5m2", 2);
    double message = 1040 * 1.05e-9, exponent = 1.05e-9, way = 2e-3;
    for (int32_t count = 1; count <= 3; count++) {
        hu_comm_plan *plan;
        hu_comm_time time;
        assert_int_equal(hu_comm_plan_create(&options, layers, count, &plan), HU_OK);
        assert_int_equal(plan->buckets, count);
        assert_int_equal(hu_comm_predict(plan, &link, &time), HU_OK);
        double wanted = (count == 3 ? 6 : 3) * way + count * (exponent + 2 * message);
        assert_true(fabs(time.seconds - wanted) < 1e-12);
        hu_comm_plan_free(plan);
    }
}

/* Milliseconds of SimGrid's SMPI 3.32 for MPI processes that follow the same lists: 256 nodes,
 * links of 10 Gbit/s and 10 us, no factors of its own (docs/results/workers.md says how). */
static void times_are_those_of_a_simulated_network(void **state) {
    (void)state;
    enum { RESNET50 = 25557032, LAYER = 1048576 };
    static const struct {
        const char *schedule, *format;
        int64_t elements;
        double milliseconds;
    } rows[] = {{"ring", "e5m2", RESNET50, 53.694},      {"ring", "fp16", RESNET50, 96.463},
                {"ring", "fp32", RESNET50, 181.832},     {"ring", "e3m0", RESNET50, 32.310},
                {"halving", "e5m2", RESNET50, 43.297},   {"halving", "fp16", RESNET50, 86.065},
                {"halving", "fp32", RESNET50, 171.433},  {"pairwise", "e5m2", RESNET50, 53.694},
                {"pairwise", "fp32", RESNET50, 181.832}, {"hier2d:4", "e5m2", RESNET50, 45.739},
                {"hier2d:16", "e5m2", RESNET50, 44.223}, {"hier2d:16", "fp16", RESNET50, 86.991},
                {"hier2d:64", "e5m2", RESNET50, 45.739}, {"hier:4", "e5m2", RESNET50, 108.232},
                {"hier:16", "e5m2", RESNET50, 120.927},  {"hier:16", "fp16", RESNET50, 239.767},
                {"hier:64", "e5m2", RESNET50, 120.341},  {"seq", "e5m2", RESNET50, 10438.194},
                {"ring", "e5m2", LAYER, 12.681},         {"ring", "fp16", LAYER, 14.436},
                {"ring", "fp32", LAYER, 17.777},         {"halving", "e5m2", LAYER, 2.284},
                {"halving", "fp16", LAYER, 4.039},       {"hier2d:16", "e5m2", LAYER, 3.210},
                {"hier:16", "e5m2", LAYER, 6.962},       {"pairwise", "e5m2", LAYER, 12.681}};
    const hu_comm_link link = link_of("10G", "10us");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_comm_plan *plan =
            plan_of(rows[i].schedule, "aps", rows[i].format, 256, rows[i].elements);
        hu_comm_time time;
        assert_int_equal(hu_comm_predict(plan, &link, &time), HU_OK);
        double ratio = 1e3 * time.seconds / rows[i].milliseconds;
        if (fabs(ratio - 1.0) > 0.06)
            fail_msg("%s %s: %g", rows[i].schedule, rows[i].format, ratio);
        hu_comm_plan_free(plan);
    }
}

/* The same for 32 nodes and 161 layers of equal size, in buckets of 25 MB or one by one, two on
 * their way at once. */
static void times_of_buckets_are_those_of_a_simulated_network(void **state) {
    (void)state;
    enum { RESNET50 = 25557032, LAYERS = 161 };
    static const struct {
        const char *schedule, *scaling, *format;
        int64_t bucket;
        double milliseconds;
    } rows[] = {
        {"ring", "aps", "e5m2", 25000000, 45.6},    {"ring", "none", "fp32", 25000000, 170.1},
        {"halving", "aps", "e5m2", 25000000, 42.5}, {"ring", "aps", "e5m2", 1, 150.6},
        {"halving", "aps", "e5m2", 1, 66.0},        {"hier:8", "aps", "e5m2", 1, 159.3}};
    const hu_comm_link link = link_of("10G", "10us");
    hu_comm_layer layer[LAYERS];
    for (int32_t l = 0; l < LAYERS; l++) {
        int64_t first = hu_comm_edge(RESNET50, l, LAYERS);
        layer[l] =
            (hu_comm_layer){"layer", first, hu_comm_edge(RESNET50, l + 1, LAYERS) - first, false};
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_comm_options options = options_of(rows[i].schedule, rows[i].scaling, rows[i].format, 32);
        hu_comm_plan *plan;
        hu_comm_time time;
        options.bucket_bytes = rows[i].bucket;
        assert_int_equal(hu_comm_plan_create(&options, layer, LAYERS, &plan), HU_OK);
        assert_int_equal(hu_comm_predict(plan, &link, &time), HU_OK);
        double ratio = 1e3 * time.seconds / rows[i].milliseconds;
        if (fabs(ratio - 1.0) > 0.08)
            fail_msg("%s %s: %g", rows[i].schedule, rows[i].format, ratio);
        hu_comm_plan_free(plan);
    }
}

static void room_for_the_sum_can_take_the_whole_range(void **state) {
    (void)state;
    static const struct {
        const char *scaling, *format;
        hu_rounding rounding;
        double workers;
    } rows[] = {{"aps", "e3m0", HU_ROUND_NEAREST_EVEN, 64},
                {"aps-wide", "e3m0", HU_ROUND_NEAREST_EVEN, 64},
                {"aps", "e4m3", HU_ROUND_NEAREST_EVEN, 131072},
                {"aps", "e2m1", HU_ROUND_NEAREST_EVEN, 16},
                {"aps-tight", "e2m1", HU_ROUND_NEAREST_EVEN, 24},
                {"aps", "e2m1:sub=n", HU_ROUND_NEAREST_EVEN, 6},
                {"aps", "e3m2:sub=n", HU_ROUND_NEAREST_EVEN, 74},
                {"aps", "e3m0", HU_ROUND_TOWARD_ZERO, 33},
                /* Ties do not vanish. */
                {"aps", "e3m0", HU_ROUND_NEAREST_AWAY, 65},
                /* A number of workers that no machine has, and none at all. */
                {"aps", "e5m2", HU_ROUND_NEAREST_EVEN, 0},
                {"aps", "bf16", HU_ROUND_NEAREST_EVEN, 0},
                {"aps", "e3m0", HU_ROUND_UP, 0},
                {"aps", "e3m0", HU_ROUND_STOCHASTIC, 0},
                {"aps2", "e3m0", HU_ROUND_NEAREST_EVEN, 0},
                {"constant:4", "e3m0", HU_ROUND_NEAREST_EVEN, 0},
                {"none", "e3m0", HU_ROUND_NEAREST_EVEN, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_comm_options options = options_of("seq", rows[i].scaling, rows[i].format, 2);
        options.rounding = rows[i].rounding;
        double found = hu_comm_flush_workers(&options);
        if (found != rows[i].workers)
            fail_msg("%s %s: %g, expected %g", rows[i].scaling, rows[i].format, found,
                     rows[i].workers);
    }
}

enum { TRIED = 96, WORKERS_MOST = 512 };

/* Gradients of one binade: some everywhere in it, and the largest ones for which workers times them
 * still are a power of two or a power of two times the largest finite number. */
static void gradients_to_try(const hu_format *format, int32_t workers, float *x) {
    hu_format_limits limits = hu_format_limits_of(format);
    const double rooms[] = {1.0, ldexp(limits.max_finite, -limits.emax)};
    int n = 0;
    for (int r = 0; r < 2; r++) {
        float largest = (float)(rooms[r] / workers);
        while ((double)largest * workers > rooms[r]) largest = nextafterf(largest, 0.0f);
        for (int i = 0; i < 16; i++, largest = nextafterf(largest, 0.0f)) x[n++] = largest;
    }
    for (int i = 0; n < TRIED; i++, n++) x[n] = 1.0f + (float)i / (TRIED - 32);
}

/* Tries gradients, each as the largest of its layer, in a real reduction. */
static bool any_is_kept(hu_comm_options options) {
    static float tried[WORKERS_MOST][TRIED];
    float *row[WORKERS_MOST];
    hu_comm_layer layer[TRIED];
    hu_comm_plan *plan;
    hu_process_group *team;
    bool is_kept = false;
    for (int32_t i = 0; i < TRIED; i++)
        layer[i] = (hu_comm_layer){.name = "one", .offset = i, .elements = 1};
    for (int32_t w = 0; w < options.workers; w++)
        gradients_to_try(&options.format, options.workers, row[w] = tried[w]);
    options.bucket_bytes = 1 << 20;
    assert_int_equal(hu_comm_plan_create(&options, layer, TRIED, &plan), HU_OK);
    assert_int_equal(hu_process_group_emulated(plan, row, 1, &team), HU_OK);
    assert_int_equal(hu_process_group_reduce(team, 0), HU_OK);
    for (int i = 0; i < TRIED; i++) is_kept = is_kept || tried[0][i] != 0.0f;
    hu_process_group_free(team);
    hu_comm_plan_free(plan);
    return is_kept;
}

/* The limit is exact: from there on every number vanishes, with one worker less not. */
static void numbers_vanish_where_the_limit_says(void **state) {
    (void)state;
    static const char *const formats[] = {
        "e3m0",      "e2m1", "e2m1:specials=ieee", "e2m1:sub=n",   "e3m2:sub=n",        "e2m3",
        "fp(2,2,1)", "e3m1", "e3m0:bias=60",       "e2m2:bias=-9", "e2m2:specials=fnuz"};
    static const char *const scalings[] = {"aps", "aps-tight", "aps-wide"};
    static const hu_rounding roundings[] = {HU_ROUND_NEAREST_EVEN, HU_ROUND_NEAREST_AWAY,
                                            HU_ROUND_TOWARD_ZERO};
    for (size_t i = 0; i < 3 * 3 * sizeof formats / sizeof *formats; i++) {
        hu_comm_options options = options_of("seq", scalings[i % 3], formats[i / 9], 2);
        options.rounding = roundings[i / 3 % 3];
        int32_t limit = (int32_t)hu_comm_flush_workers(&options);
        if (limit < 3 || 2 * limit >= WORKERS_MOST) fail_msg("%s: limit %d", formats[i / 9], limit);
        const int32_t workers[] = {1,         limit / 2, limit - 2,     limit - 1, limit,
                                   limit + 1, limit + 2, 2 * limit - 1, 2 * limit};
        for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
            options.workers = workers[w];
            if (any_is_kept(options) == (workers[w] < limit)) continue;
            fail_msg("%s %s, rounding %s: %d workers, limit %d", formats[i / 9], scalings[i % 3],
                     hu_rounding_name(options.rounding), workers[w], limit);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_the_paper),
        cmocka_unit_test(time_is_that_of_the_slowest_messages),
        cmocka_unit_test(buckets_share_the_links),
        cmocka_unit_test(times_are_those_of_a_simulated_network),
        cmocka_unit_test(times_of_buckets_are_those_of_a_simulated_network),
        cmocka_unit_test(room_for_the_sum_can_take_the_whole_range),
        cmocka_unit_test(numbers_vanish_where_the_limit_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
