/* What it costs weight gradients that their input is unpacked before them: the most that unpacking
 * inside them could save.
 *
 *   cmake --build build --target bench-unpack
 *   build/bench-unpack [FORMAT]                     fp(4,3,4)
 *
 * The 3x3 layers of ResNet-20, 8 images of each, in three ways that take turns: all images are
 * unpacked, then the gradient is made; the same image by image, or as many as a strip of the
 * gradient has (kernel/conv/conv.h), so that what is unpacked stays near; and the gradient alone.
 * One thread, processor time, best of all turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halfulp/format.h>

#include "comparison.h"

#include "base/memory.h"
#include "kernel/conv/conv.h"
#include "kernel/pack/pack.h"

enum { IMAGES = 8, BATCH = 128, TURNS = 100, WAYS = 3 };

/* Layers of `times` convolutions each. */
static const struct {
    int64_t side, channels, times;
} layers[] = {{32, 16, 7}, {16, 32, 6}, {8, 64, 6}};

/* One layer: codes of a whole batch, of which every turn reads the next images. */
typedef struct layer {
    hu_conv_plan *plan;
    const hu_packer *packer;
    int64_t elements, part; /* of an image; images at a time */
    size_t code_bytes;
    unsigned char *codes;
    float *x, *dy, *dw;
    void *scratch;
} layer;

static void *room(size_t bytes) {
    void *block;
    must(hu_alloc(bytes ? bytes : 1, &block));
    memset(block, 0, bytes);
    return block;
}

static layer make(int64_t side, int64_t channels, const hu_packer *packer) {
    const hu_conv conv = {.in_h = side,
                          .in_w = side,
                          .in_c = channels,
                          .out_h = side,
                          .out_w = side,
                          .out_c = channels,
                          .kernel_h = 3,
                          .kernel_w = 3,
                          .stride_h = 1,
                          .stride_w = 1,
                          .pad_h = 1,
                          .pad_w = 1,
                          .dilation_h = 1,
                          .dilation_w = 1};
    layer l = {.packer = packer,
               .elements = side * side * channels,
               .part = hu_conv_strip(&conv).images,
               .code_bytes = packer->code_bits == 8 ? 1 : 2};
    size_t images = (size_t)(IMAGES * l.elements);
    must(hu_conv_plan_create(&conv, &l.plan));
    l.x = room(images * sizeof *l.x);
    l.dy = room(images * sizeof *l.dy);
    l.dw = room((size_t)(9 * channels * channels) * sizeof *l.dw);
    l.codes = room(BATCH * (size_t)l.elements * l.code_bytes);
    l.scratch = room(hu_conv_scratch_bytes(l.plan, IMAGES));
    for (size_t i = 0; i < images; i++) l.x[i] = (float)((int)(i * 7 % 31) - 15) / 16.0f;
    for (size_t i = 0; i < images; i++) l.dy[i] = (float)((int)(i * 5 % 29) - 14) / 16.0f;
    for (size_t n = 0; n < BATCH; n += IMAGES)
        hu_packer_pack(packer, images, l.x, l.codes + n * (size_t)l.elements * l.code_bytes, NULL);
    return l;
}

static void end(layer *l) {
    hu_conv_plan_free(l->plan);
    void *all[] = {l->codes, l->x, l->dy, l->dw, l->scratch};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) hu_free(all[i]);
}

/* The gradient of all images, `part` of them at a time; of codes, or of what is unpacked. */
static void gradient(const layer *l, const unsigned char *codes, int64_t part) {
    for (int64_t n = 0; n < IMAGES; n += part) {
        int64_t count = IMAGES - n < part ? IMAGES - n : part, at = n * l->elements;
        if (codes)
            hu_packer_unpack(l->packer, (size_t)(count * l->elements),
                             codes + (size_t)at * l->code_bytes, l->x);
        hu_conv_weight_gradient(l->plan, count, l->x, l->dy + at, n > 0, l->scratch, l->dw);
    }
}

/* Least seconds of each way. */
static void measure(const layer *l, double best[WAYS]) {
    for (int way = 0; way < WAYS; way++) best[way] = 1e9;
    for (int turn = 0; turn < TURNS; turn++) {
        size_t first = (size_t)(turn % (BATCH / IMAGES) * IMAGES * l->elements) * l->code_bytes;
        const unsigned char *codes = l->codes + first;
        for (int way = 0; way < WAYS; way++) {
            double begin = seconds();
            gradient(l, way < 2 ? codes : NULL, way == 1 ? l->part : IMAGES);
            double took = seconds() - begin;
            if (took < best[way]) best[way] = took;
        }
    }
}

int main(int argc, char **argv) {
    hu_format format;
    hu_packer packer;
    double step[WAYS] = {0};
    must(hu_format_parse(argc > 1 ? argv[1] : "fp(4,3,4)", &format));
    must(hu_packer_init(&packer, &format, hu_format_bits(&format) <= 8 ? 8 : 16));
    printf("layer       whole us  by images us  alone us\n");
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        layer l = make(layers[i].side, layers[i].channels, &packer);
        double best[WAYS];
        measure(&l, best);
        printf("%2dx%2d x %2d  %9.1f  %12.1f  %8.1f\n", (int)layers[i].side, (int)layers[i].side,
               (int)layers[i].channels, 1e6 * best[0], 1e6 * best[1], 1e6 * best[2]);
        for (int way = 0; way < WAYS; way++)
            step[way] += best[way] * (double)(layers[i].times * BATCH / IMAGES);
        end(&l);
    }
    printf("a step of 128 images: %.2f, %.2f, %.2f ms\n", 1e3 * step[0], 1e3 * step[1],
           1e3 * step[2]);
    return 0;
}
