/* Sums of gradients over MPI: ours in any schedule, scaling and format beside the MPI_Allreduce of
 * the MPI, in one run. bench/net.py runs it on links of a chosen rate.
 *
 *   allreduce REPEAT BUCKET_BYTES SCHEDULE SCALING FORMAT [SCHEDULE SCALING FORMAT ...]
 *
 * The gradients are as many as ResNet-18 has for images of 32x32, 11,173,962, in its tensors, the
 * last layer's first. `mpi allreduce fp32` is the library's sum. Cases take turns; process 0 prints
 * a line for each: the seconds of the slowest process, turn by turn. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "comm/process_group.h"

enum { WORDS = 3, FIRST_WORD = 3, LAYERS_MOST = 64, CASES_MOST = 16, REPEAT_MOST = 1000 };

hu_transport_open_function hu_transport_open_module;

typedef struct bench {
    hu_transport *transport;
    hu_comm_layer layer[LAYERS_MOST];
    int32_t layers;
    int64_t elements;
    float *drawn, *gradient; /* [elements]: as drawn; summed in place */
} bench;

/* One way to sum; team NULL: MPI_Allreduce. */
typedef struct way {
    char **words;
    hu_comm_plan *plan;
    hu_process_group *team;
    double seconds[REPEAT_MOST];
} way;

static void need(hu_status status) {
    if (status == HU_OK) return;
    fprintf(stderr, "allreduce: %s\n", hu_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void add_layer(bench *b, int64_t elements) {
    b->layer[b->layers++] = (hu_comm_layer){"layer", b->elements, elements, false};
    b->elements += elements;
}

/* A convolution with the scales and shifts after it, from the last to the first. */
static void add_conv(bench *b, int64_t in, int64_t out, int64_t side) {
    add_layer(b, out);
    add_layer(b, out);
    add_layer(b, in * out * side * side);
}

static void add_layers(bench *b) {
    enum { CLASSES = 10, FEATURES = 512 };
    add_layer(b, CLASSES);
    add_layer(b, (int64_t)CLASSES * FEATURES);
    for (int64_t width = FEATURES; width >= 64; width /= 2)
        for (int block = 1; block >= 0; block--) {
            int64_t in = block > 0 || width == 64 ? width : width / 2;
            if (in != width) add_conv(b, in, width, 1);
            add_conv(b, width, width, 3);
            add_conv(b, in, width, 3);
        }
    add_conv(b, 3, 64, 3);
}

/* Exponents differ from layer to layer, as those of gradients do. */
static void draw(bench *b) {
    hu_random_key key = {1, 2, (uint64_t)b->transport->rank};
    need(hu_new_array((size_t)b->elements, sizeof *b->drawn, &b->drawn));
    need(hu_new_array((size_t)b->elements, sizeof *b->gradient, &b->gradient));
    for (int32_t l = 0; l < b->layers; l++)
        for (int64_t i = b->layer[l].offset; i < b->layer[l].offset + b->layer[l].elements; i++)
            b->drawn[i] = hu_random_normal(&key, (uint64_t)i) * (0.001f + 0.0005f * (float)l);
}

static void prepare(bench *b, way *w, int64_t bucket_bytes) {
    hu_comm_options options = {.workers = b->transport->size, .bucket_bytes = bucket_bytes};
    hu_process_options process = {.wait = {.timeout = 300.0}};
    if (strcmp(w->words[0], "mpi") == 0) return;
    need(hu_comm_schedule_parse(w->words[0], &options.schedule, &options.group));
    need(hu_comm_scaling_parse(w->words[1], &options.scaling, &options.constant));
    need(hu_format_parse(w->words[2], &options.format));
    need(hu_comm_plan_create(&options, b->layer, b->layers, &w->plan));
    need(hu_process_group_process(w->plan, &b->gradient, b->transport, &process, &w->team));
}

/* Seconds of the slowest process. */
static double run(bench *b, way *w, uint64_t turn) {
    double begun, seconds, slowest;
    memcpy(b->gradient, b->drawn, (size_t)b->elements * sizeof *b->drawn);
    MPI_Barrier(MPI_COMM_WORLD);
    begun = MPI_Wtime();
    if (w->team)
        need(hu_process_group_reduce(w->team, turn));
    else
        MPI_Allreduce(MPI_IN_PLACE, b->gradient, (int)b->elements, MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
    seconds = MPI_Wtime() - begun;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void report(const bench *b, const way *w, int repeat) {
    if (b->transport->rank != 0) return;
    printf("%s %s %s elements %lld seconds", w->words[0], w->words[1], w->words[2],
           (long long)b->elements);
    for (int r = 0; r < repeat; r++) printf(" %.6f", w->seconds[r]);
    printf("\n");
}

int main(int argc, char **argv) {
    static bench b;
    static way ways[CASES_MOST];
    char error[HU_TRANSPORT_ERROR];
    int repeat = argc > 1 ? atoi(argv[1]) : 0, count = (argc - FIRST_WORD) / WORDS;
    if (count < 1 || count > CASES_MOST || repeat < 1 || repeat > REPEAT_MOST ||
        (argc - FIRST_WORD) % WORDS != 0) {
        fprintf(stderr, "usage: allreduce REPEAT BUCKET_BYTES SCHEDULE SCALING FORMAT ...\n");
        return 2;
    }
    if (hu_transport_open_module(HU_TRANSPORT_VERSION, &b.transport, error) != 0) return 1;
    add_layers(&b);
    draw(&b);
    for (int i = 0; i < count; i++) {
        ways[i].words = argv + FIRST_WORD + i * WORDS;
        prepare(&b, &ways[i], atoll(argv[2]));
    }
    for (int r = 0; r < repeat; r++)
        for (int i = 0; i < count; i++) ways[i].seconds[r] = run(&b, &ways[i], (uint64_t)r);
    for (int i = 0; i < count; i++) {
        report(&b, &ways[i], repeat);
        hu_process_group_free(ways[i].team);
        hu_comm_plan_free(ways[i].plan);
    }
    hu_free(b.drawn);
    hu_free(b.gradient);
    b.transport->kind->close(b.transport);
    return 0;
}
