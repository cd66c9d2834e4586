/* How long reductions take on a simulated network, without the work of processors: workers are
 * those of hollow.c. bench/smpi.py writes the network and runs it.
 *
 *   mpi_time RATE LATENCY ELEMENTS LAYERS BUCKET_BYTES SCHEDULE SCALING FORMAT [SCHEDULE ...]
 *
 * Process 0 prints a line for each: seconds from the moment at which all have begun to that at
 * which all have ended, and what comm/cost_model.h says of links of this rate and latency. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/cost_model.h"
#include "comm/process_group.h"

enum { WORDS = 3, FIRST_SHAPE = 3, FIRST_WORD = 6 };

hu_transport_open_function hu_transport_open_module;
__attribute__((visibility("default"))) int main(int argc, char **argv); /* smpirun looks for it */

static void need(hu_status status) {
    if (status == HU_OK) return;
    fprintf(stderr, "mpi_time: %s\n", hu_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Layers of equal size, as near as can be. */
static hu_comm_plan *make_plan(char **words, int32_t workers, char **shape) {
    int64_t elements = atoll(shape[0]);
    int32_t layers = atoi(shape[1]);
    hu_comm_options options = {.workers = workers, .bucket_bytes = atoll(shape[2])};
    hu_comm_layer *layer;
    hu_comm_plan *plan;
    need(hu_comm_schedule_parse(words[0], &options.schedule, &options.group));
    need(hu_comm_scaling_parse(words[1], &options.scaling, &options.constant));
    need(hu_format_parse(words[2], &options.format));
    need(hu_new_array((size_t)layers, sizeof *layer, &layer));
    for (int32_t l = 0; l < layers; l++) {
        int64_t first = hu_comm_edge(elements, l, layers);
        layer[l] =
            (hu_comm_layer){"layer", first, hu_comm_edge(elements, l + 1, layers) - first, false};
    }
    need(hu_comm_plan_create(&options, layer, layers, &plan));
    hu_free(layer);
    return plan;
}

/* The latest moment of all processes. */
static double latest(hu_process_group *team, int32_t workers, int32_t rank, double *moment) {
    double last = 0.0;
    moment[rank] = MPI_Wtime();
    need(hu_process_group_gather(team, sizeof *moment, moment));
    for (int32_t w = 0; w < workers; w++)
        if (moment[w] > last) last = moment[w];
    return last;
}

static void report(const hu_comm_plan *plan, const hu_comm_link *link, char **words,
                   double seconds) {
    hu_comm_traffic traffic;
    hu_comm_time predicted;
    need(hu_comm_traffic_of(plan, &traffic, NULL));
    need(hu_comm_predict(plan, link, &predicted));
    printf("%s %s %s buckets %d steps %lld seconds %.9f predicted %.9f\n", words[0], words[1],
           words[2], plan->buckets, (long long)(traffic.steps / plan->buckets), seconds,
           predicted.seconds);
    fflush(stdout);
}

static void measure(hu_transport *transport, const hu_comm_plan *plan, const hu_comm_link *link,
                    char **words) {
    const hu_failure_detector_options wait = {.timeout = 1e9};
    hu_rendezvous *job;
    float *gradient = NULL;
    double *moment;
    hu_process_group *team;
    need(hu_new_array((size_t)transport->size, sizeof *moment, &moment));
    need(hu_rendezvous_create(transport, &wait, &job));
    need(hu_process_group_process(plan, &gradient, job, false, &team));
    /* The gather is a barrier: who leaves it knows of all. */
    (void)latest(team, transport->size, transport->rank, moment);
    moment[transport->rank] = 0.0;
    double begun = MPI_Wtime();
    need(hu_process_group_reduce(team, 1));
    double ended = latest(team, transport->size, transport->rank, moment);
    if (transport->rank == 0) report(plan, link, words, ended - begun);
    hu_process_group_free(team);
    hu_rendezvous_free(job);
    hu_free(moment);
}

int main(int argc, char **argv) {
    char error[HU_TRANSPORT_ERROR];
    hu_transport *transport;
    hu_comm_link link;
    if (argc < FIRST_WORD + WORDS || (argc - FIRST_WORD) % WORDS != 0) {
        fprintf(stderr,
                "usage: mpi_time ELEMENTS LAYERS BUCKET_BYTES SCHEDULE SCALING FORMAT ...\n");
        return 2;
    }
    if (hu_transport_open_module(HU_TRANSPORT_VERSION, &transport, error) != 0) return 1;
    need(hu_comm_link_parse(argv[1], argv[2], &link));
    for (int i = FIRST_WORD; i < argc; i += WORDS) {
        hu_comm_plan *plan = make_plan(argv + i, transport->size, argv + FIRST_SHAPE);
        measure(transport, plan, &link, argv + i);
        hu_comm_plan_free(plan);
    }
    transport->kind->close(transport);
    return 0;
}
