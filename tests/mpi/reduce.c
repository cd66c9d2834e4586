/* Every process of an MPI job reduces generated gradients in all schedules, scalings and formats;
 * process 0 compares the bytes of all with those of as many workers in one process.
 *
 *   mpirun -np N mpi_reduce [every]      every: takes one case of so many (1: all)
 *
 * With HALFULP_SMPI it is linked with its transport and run by smpirun. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/rng.h"
#include "comm/internal.h"
#include "comm/process_group.h"
#include "comm/transport.h"

enum { ELEMENTS = 2000, LAYERS = 6, STEPS = 2, FIRST_STEP = 5, NAME_BYTES = 128 };

/* A large layer, one smaller than most numbers of workers, one that travels in float32, one of
 * zeros, one of subnormals, and one with what is not finite. */
static const hu_comm_layer layers[LAYERS] = {{"a", 0, 1531, false},   {"b", 1531, 5, false},
                                             {"c", 1536, 40, true},   {"d", 1576, 124, false},
                                             {"e", 1700, 100, false}, {"f", 1800, 200, false}};

/* Bytes of gradients that travel together: every layer alone, some, all. */
static const int64_t bucket_bytes[] = {1, 2000, 1 << 20};
static const char *const formats[] = {"e5m2", "e4m3", "e3m0", "1/6/9", "bf16", "fp32"};
static const char *const scalings[] = {"none", "constant:10", "aps",       "aps-tight", "aps-wide",
                                       "aps2", "terngrad",    "qsgd:4/32", "flex16+5"};
static const char *const schedules[] = {"seq",      "ring",     "halving",  "pairwise",
                                        "hier:1",   "hier:2",   "hier:4",   "hier:16",
                                        "hier2d:1", "hier2d:2", "hier2d:4", "hier2d:16"};
/* Rounding, Kahan's sums, error feedback. */
static const hu_comm_options extras[] = {{.rounding = HU_ROUND_NEAREST_EVEN},
                                         {.rounding = HU_ROUND_STOCHASTIC},
                                         {.rounding = HU_ROUND_NEAREST_EVEN, .kahan = true},
                                         {.rounding = HU_ROUND_STOCHASTIC, .error_feedback = true}};
enum {
    FORMATS = sizeof formats / sizeof *formats,
    SCALINGS = sizeof scalings / sizeof *scalings,
    SCHEDULES = sizeof schedules / sizeof *schedules,
    EXTRAS = sizeof extras / sizeof *extras,
    BUCKETS = sizeof bucket_bytes / sizeof *bucket_bytes
};

typedef struct test {
    hu_transport *transport;
    int every, number, run, differing; /* cases: taken of so many, seen, run, that differ */
    char name[NAME_BYTES];             /* of the present one */
    bool overlap;
} test;

/* Ends all processes: the others may wait for this one. */
static _Noreturn void give_up(const test *t) {
    fprintf(stderr, "mpi_reduce: %s: %s\n", t->name, hu_last_error());
    if (t->transport) t->transport->kind->end_job(t->transport, 1);
    exit(1);
}

static void need(const test *t, hu_status status) {
    if (status != HU_OK) give_up(t);
}

static void fill(int32_t worker, uint64_t step, float *x) {
    hu_random_key key = {1, 2 + (uint64_t)worker, step};
    for (int64_t i = 0; i < ELEMENTS; i++)
        x[i] = (float)ldexp((double)hu_random_normal(&key, (uint64_t)i) * 0.003, (int)(i % 9) - 4);
    for (int64_t i = 0; i < layers[3].elements; i++) x[layers[3].offset + i] = 0.0f;
    for (int64_t i = 0; i < layers[4].elements; i++) x[layers[4].offset + i] *= 0x1p-130f;
    if (step == FIRST_STEP) return;
    x[layers[5].offset + worker % 200] = worker % 2 ? INFINITY : -INFINITY;
    if (worker == 1) x[layers[5].offset + 150] = NAN;
}

/* All that a worker has after a step: its sums, what it counted, what it lost. */
static uint64_t hash_of(const hu_process_group *team, int32_t worker, const float *gradient) {
    uint64_t hash = XXH64(gradient, ELEMENTS * sizeof *gradient, 1);
    hash = XXH64(hu_process_group_counts(team, worker), LAYERS * sizeof(hu_comm_counts), hash);
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++) {
        const float *loss = hu_process_group_residual(team, worker, i);
        if (loss) hash = XXH64(loss, ELEMENTS * sizeof *loss, hash);
    }
    return hash;
}

/* hash[STEPS][workers] of the emulated team. */
static void emulate(const test *t, const hu_comm_plan *plan, uint64_t *hash) {
    int32_t workers = plan->options.workers;
    hu_process_group *team;
    float *all, **gradient;
    need(t, hu_new_array((size_t)workers * ELEMENTS, sizeof *all, &all));
    need(t, hu_new_array((size_t)workers, sizeof *gradient, &gradient));
    for (int32_t w = 0; w < workers; w++) gradient[w] = all + (size_t)w * ELEMENTS;
    need(t, hu_process_group_emulated(plan, gradient, 1, &team));
    for (uint64_t s = 0; s < STEPS; s++) {
        for (int32_t w = 0; w < workers; w++) fill(w, FIRST_STEP + s, gradient[w]);
        need(t, hu_process_group_reduce(team, FIRST_STEP + s));
        for (int32_t w = 0; w < workers; w++)
            hash[s * (uint64_t)workers + (uint64_t)w] = hash_of(team, w, gradient[w]);
    }
    hu_process_group_free(team);
    hu_free(gradient);
    hu_free(all);
}

/* A worker that computes for a while, longer or shorter than the others. */
static void dawdle(const test *t) {
    hu_random_key key = {3, (uint64_t)t->transport->rank, (uint64_t)t->number};
    struct timespec pause = {.tv_nsec = (long)hu_random_below(&key, 0, 300000)};
    if (t->overlap) nanosleep(&pause, NULL);
}

/* hash[STEPS][workers] of the team of processes: the same in each. */
static void reduce(const test *t, const hu_comm_plan *plan, uint64_t *hash) {
    int32_t workers = plan->options.workers, rank = t->transport->rank;
    const hu_failure_detector_options wait = {.timeout = 300.0};
    float *gradient;
    hu_rendezvous *job;
    hu_process_group *team;
    need(t, hu_new_array(ELEMENTS, sizeof *gradient, &gradient));
    need(t, hu_rendezvous_create(t->transport, &wait, &job));
    need(t, hu_process_group_process(plan, &gradient, job, t->overlap, &team));
    for (uint64_t s = 0; s < STEPS; s++) {
        fill(rank, FIRST_STEP + s, gradient);
        for (int32_t l = 0; l < LAYERS - 1 && t->overlap; l++) {
            hu_process_group_ready(team, FIRST_STEP + s, l);
            dawdle(t);
        }
        need(t, hu_process_group_reduce(team, FIRST_STEP + s));
        hash[s * (uint64_t)workers + (uint64_t)rank] = hash_of(team, 0, gradient);
        need(t, hu_process_group_gather(team, sizeof *hash, hash + s * (uint64_t)workers));
    }
    hu_process_group_free(team);
    hu_rendezvous_free(job);
    hu_free(gradient);
}

static void compare(test *t, const hu_comm_plan *plan) {
    size_t hashes = (size_t)plan->options.workers * STEPS, differing = 0;
    uint64_t *found, *expected;
    need(t, hu_new_array(hashes, sizeof *found, &found));
    need(t, hu_new_array(hashes, sizeof *expected, &expected));
    reduce(t, plan, found);
    t->run++;
    if (t->transport->rank == 0) {
        emulate(t, plan, expected);
        for (size_t i = 0; i < hashes; i++) differing += found[i] != expected[i];
        if (differing > 0) printf("%s: %zu of %zu results differ\n", t->name, differing, hashes);
    }
    t->differing += differing > 0;
    hu_free(found);
    hu_free(expected);
}

/* Options that exclude each other are no case. */
static void try_case(test *t, const hu_comm_options *options) {
    hu_comm_plan *plan;
    hu_status st = hu_comm_plan_create(options, layers, LAYERS, &plan);
    if (st == HU_ERR_ARGUMENT) return;
    need(t, st);
    if (t->number % t->every == 0) {
        t->overlap = t->run % 2 == 0 && t->transport->any_thread;
        compare(t, plan);
    }
    t->number++;
    hu_comm_plan_free(plan);
}

static void try_all(test *t) {
    for (int i = 0; i < SCHEDULES * SCALINGS * FORMATS * EXTRAS; i++) {
        int schedule = i % SCHEDULES, scaling = i / SCHEDULES % SCALINGS;
        int format = i / (SCHEDULES * SCALINGS) % FORMATS;
        hu_comm_options options = extras[i / (SCHEDULES * SCALINGS * FORMATS)];
        options.workers = t->transport->size;
        options.seed = 7;
        /* Simulated messages take time: as few as can be where workers are many. */
        options.bucket_bytes = bucket_bytes[options.workers > 64 ? BUCKETS - 1 : i % BUCKETS];
        need(t, hu_comm_schedule_parse(schedules[schedule], &options.schedule, &options.group));
        need(t, hu_comm_scaling_parse(scalings[scaling], &options.scaling, &options.constant));
        need(t, hu_format_parse(formats[format], &options.format));
        snprintf(t->name, sizeof t->name, "%s %s %s, mode %d", schedules[schedule],
                 scalings[scaling], formats[format], i / (SCHEDULES * SCALINGS * FORMATS));
        try_case(t, &options);
    }
}

/* Rows that are cut, rows that wrap around, and rows of other workers only. */
static void gather(test *t) {
    enum { BYTES = 3001 };
    int32_t workers = t->transport->size, rank = t->transport->rank;
    hu_comm_options options = {.workers = workers};
    const hu_failure_detector_options wait = {.timeout = 300.0};
    float *gradient;
    hu_rendezvous *job;
    uint8_t *all;
    hu_comm_plan *plan;
    hu_process_group *team;
    snprintf(t->name, sizeof t->name, "gather");
    need(t, hu_comm_schedule_parse("ring", &options.schedule, &options.group));
    need(t, hu_comm_scaling_parse("none", &options.scaling, &options.constant));
    need(t, hu_format_parse("fp32", &options.format));
    need(t, hu_comm_plan_create(&options, layers, LAYERS, &plan));
    need(t, hu_new_array(ELEMENTS, sizeof *gradient, &gradient));
    need(t, hu_new_array((size_t)workers * BYTES, 1, &all));
    need(t, hu_rendezvous_create(t->transport, &wait, &job));
    need(t, hu_process_group_process(plan, &gradient, job, false, &team));
    memset(all + (size_t)rank * BYTES, rank % 251 + 1, BYTES);
    need(t, hu_process_group_gather(team, BYTES, all));
    for (size_t i = 0; i < (size_t)workers * BYTES; i++)
        if (all[i] != i / BYTES % 251 + 1) {
            printf("gather: byte %zu is %d\n", i, all[i]);
            t->differing++;
            break;
        }
    hu_process_group_free(team);
    hu_rendezvous_free(job);
    hu_free(all);
    hu_free(gradient);
    hu_comm_plan_free(plan);
}

#ifdef HALFULP_SMPI
hu_transport_open_function hu_transport_open_module;
__attribute__((visibility("default"))) int main(int argc, char **argv); /* smpirun looks for it */
static hu_status join(hu_transport **transport) {
    char error[HU_TRANSPORT_ERROR];
    return hu_transport_open_module(HU_TRANSPORT_VERSION, transport, error) == 0
               ? HU_OK
               : hu_fail(HU_ERR_PEER, "%s", error);
}
#else
static hu_status join(hu_transport **transport) {
    int32_t processes;
    const char *name = hu_transport_of_launcher(&processes);
    if (name) return hu_transport_open(name, transport);
    return hu_fail(HU_ERR_ARGUMENT, "found no launcher, expected mpirun -np N mpi_reduce");
}
#endif

int main(int argc, char **argv) {
    test t = {.every = argc > 1 ? atoi(argv[1]) : 1, .name = "start"};
    need(&t, t.every > 0 ? HU_OK : hu_fail(HU_ERR_ARGUMENT, "usage: mpi_reduce [every]"));
    need(&t, join(&t.transport));
    gather(&t);
    try_all(&t);
    if (t.transport->rank == 0)
        printf("%s, %d processes: %d of %d cases, %d differ from the emulated team\n",
               t.transport->kind->name, t.transport->size, t.run, t.number, t.differing);
    t.transport->kind->close(t.transport);
    return t.differing > 0 || t.run == 0;
}
