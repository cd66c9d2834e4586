/* kernel/conv/winograd_weights.c - weight gradient: per strip of tiles 16 products of transformed
 * pixels, whose sums are transformed back at the end of a call. */
#include "kernel/conv/plan.h"
#include "kernel/conv/winograd.h"
#include "kernel/conv/winograd_sweep.h"

enum {
    POINTS = HU_WINOGRAD_POINTS,
    STRIP = HU_WINOGRAD_STRIP,
    SKEW = 16,  /* floats between points, lest all fall into the same sets of a cache */
    GROUP = 16, /* filters whose sums stay in a cache until they are transformed */
    TAPS = 9,
};

static int64_t padded(int64_t channels) {
    return hu_conv_blocks(channels) * HU_CONV_WIDTH;
}

/* Tiles of 2x2 output pixels in a call; the last of a row or column may reach beyond the image. */
static int64_t tiles_of(const hu_conv *c, int64_t count) {
    return count * ((c->out_h + 1) / 2) * ((c->out_w + 1) / 2);
}

/* Filters whose sums are kept at the same time: of calls with one strip, few. */
static int64_t group_of(const hu_conv *c, int64_t count) {
    return tiles_of(c, count) <= STRIP && c->out_c > GROUP ? GROUP : c->out_c;
}

/* Scratch: x and dy of a strip, sums. */
static int64_t tile_floats(int64_t channels) {
    return POINTS * (STRIP * padded(channels) + SKEW);
}

/* Floats from one point's sums [filter][channel] to the next point's. */
static int64_t sum_step(const hu_conv *c, int64_t group) {
    return group * padded(c->in_c) + SKEW;
}

size_t hu_winograd_weight_scratch_bytes(const hu_conv *c, int64_t count) {
    int64_t sums = POINTS * sum_step(c, group_of(c, count));
    return (size_t)(tile_floats(c->in_c) + tile_floats(c->out_c) + sums) * sizeof(float);
}

/* The products of a strip with the filters of one group after the other; each is complete where
 * the strip is the last. */
static void run_strip(const hu_conv *c, const hu_winograd_points *x, const hu_winograd_points *dy,
                      const hu_winograd_points *sums, const hu_winograd_tiles *t, int64_t group,
                      bool is_last, bool adds, float *dw) {
    const hu_winograd_kernels *kernels = hu_winograd_kernels_of_isa();
    for (int64_t f = 0; f < c->out_c; f += group) {
        int64_t filters = c->out_c - f < group ? c->out_c - f : group;
        const hu_winograd_points of_group = {dy->at + f, dy->point, dy->tile};
        kernels->outer(x, &of_group, t->count, filters, c->in_c, t->first > 0, sums);
        if (is_last) kernels->weights(sums, filters, c->in_c, adds, dw + f * TAPS * c->in_c);
    }
}

void hu_winograd_weight_gradient(const hu_conv *c, int64_t count, const float *x, const float *dy,
                                 bool adds, void *scratch, float *dw) {
    const hu_winograd_kernels *kernels = hu_winograd_kernels_of_isa();
    int64_t all = tiles_of(c, count), group = group_of(c, count);
    const hu_winograd_source in = {x, c->in_h, c->in_w, c->in_c, c->pad_h, c->pad_w};
    const hu_winograd_source out = {dy, c->out_h, c->out_w, c->out_c, 0, 0};
    const hu_winograd_points v = {scratch, STRIP * padded(c->in_c) + SKEW, padded(c->in_c)};
    const hu_winograd_points w = {v.at + tile_floats(c->in_c), STRIP * padded(c->out_c) + SKEW,
                                  padded(c->out_c)};
    const hu_winograd_points sums = {w.at + tile_floats(c->out_c), sum_step(c, group),
                                     padded(c->in_c)};
    hu_winograd_tiles t = {.rows = (c->out_h + 1) / 2, .columns = (c->out_w + 1) / 2};
    for (; t.first < all; t.first += t.count) {
        t.count = all - t.first < STRIP ? all - t.first : STRIP;
        /* Both factors of a strip are transformed once; then its products go to the sums. */
        kernels->input(&in, &t, &v);
        kernels->gradient(&out, &t, &w);
        run_strip(c, &v, &w, &sums, &t, group, t.first + t.count == all, adds, dw);
    }
}
