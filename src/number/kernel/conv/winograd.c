#include "kernel/conv/winograd.h"

#include <string.h>

#include "base/cpu.h"
#include "kernel/conv/conv.h"

enum {
    LEAST_CHANNELS = 8,
    SIDE = 3,
    TAPS = SIDE * SIDE,
    POINTS = HU_WINOGRAD_POINTS,
    BLOCK = 24,           /* tiles: a multiple of what kernels multiply at once */
    SKEW = 16,            /* floats between points, lest all fall into the same sets of a cache */
    MULTIPLE = 8,         /* channels of a transformed tile */
    PAYING_TILES = 16,    /* of an image */
    PAYING_CHANNELS = 16, /* a vector of AVX-512 */
};

/* The record of hu_cpu_isa(). */
static const hu_winograd_kernels *winograd_kernels_of_isa(void) {
    static const hu_winograd_kernels *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_winograd_kernels)};
    return of_isa[hu_cpu_isa()];
}

bool hu_winograd_fits(const hu_conv *c) {
    return c->kernel_h == SIDE && c->kernel_w == SIDE && c->stride_h == 1 && c->stride_w == 1 &&
           c->dilation_h == 1 && c->dilation_w == 1 && c->pad_h < SIDE && c->pad_w < SIDE &&
           c->in_c >= LEAST_CHANNELS && c->out_c >= LEAST_CHANNELS;
}

bool hu_winograd_pays(const hu_conv *c) {
    int64_t tiles = ((c->out_h + 1) / 2) * ((c->out_w + 1) / 2);
    bool is_large = tiles >= PAYING_TILES && c->in_c >= PAYING_CHANNELS;
    return hu_winograd_fits(c) && is_large && c->out_c >= PAYING_CHANNELS;
}

/* ---- transformed weights: [block of 16][16 points][depth][16], after them the bias ---- */

/* Floats of a block of 16 channels: [16 points][depth][16]. */
static int64_t block_floats(int64_t depth) {
    return POINTS * depth * HU_CONV_WIDTH;
}

static size_t packed_bytes(int64_t depth, int64_t width) {
    return (size_t)(hu_conv_blocks(width) * (block_floats(depth) + HU_CONV_WIDTH)) * sizeof(float);
}

size_t hu_winograd_forward_packed_bytes(const hu_conv *c) {
    return packed_bytes(c->in_c, c->out_c);
}

size_t hu_winograd_data_packed_bytes(const hu_conv *c) {
    return packed_bytes(c->out_c, c->in_c);
}

/* G w, with `from` and `to` so far from one number to the next. */
static void transform_line(const float *w, int64_t from, float *u, int64_t to) {
    float ends = w[0] + w[2 * from];
    u[0] = w[0];
    u[to] = 0.5f * (ends + w[from]);
    u[2 * to] = 0.5f * (ends - w[from]);
    u[3 * to] = w[2 * from];
}

/* G w G^T of one filter's channel, to points `step` apart. */
static void transform_taps(const float w[TAPS], float *u, int64_t step) {
    float lines[4 * SIDE];
    for (int j = 0; j < SIDE; j++) transform_line(w + j, SIDE, lines + j, SIDE);
    for (int i = 0; i < 4; i++) transform_line(lines + i * SIDE, 1, u + 4 * i * step, step);
}

/* Tap t of channel i meeting channel k is weights[k * of_k + i * of_i + t * of_tap]; a negative
 * of_tap begins at the last tap. */
typedef struct weight_view {
    const float *first;
    int64_t of_k, of_i, of_tap;
} weight_view;

/* The transformed weights of every block, and after all of them the bias or zeros. */
static void pack(const weight_view *v, int64_t depth, int64_t width, const float *bias,
                 float *packed) {
    int64_t blocks = hu_conv_blocks(width), step = depth * HU_CONV_WIDTH;
    float *end = packed + blocks * block_floats(depth), taps[TAPS];
    for (int64_t b = 0; b < blocks; b++, packed += block_floats(depth))
        for (int64_t k = 0; k < depth; k++)
            for (int64_t lane = 0; lane < HU_CONV_WIDTH; lane++) {
                int64_t i = b * HU_CONV_WIDTH + lane;
                const float *from = v->first + k * v->of_k + i * v->of_i;
                for (int t = 0; t < TAPS; t++) taps[t] = i < width ? from[t * v->of_tap] : 0;
                transform_taps(taps, packed + k * HU_CONV_WIDTH + lane, step);
            }
    memset(end, 0, (size_t)(blocks * HU_CONV_WIDTH) * sizeof *end);
    if (bias) memcpy(end, bias, (size_t)width * sizeof *end);
}

void hu_winograd_pack_forward(const hu_conv *c, const float *weights, const float *bias,
                              float *packed) {
    const weight_view v = {weights, 1, TAPS * c->in_c, c->in_c};
    pack(&v, c->in_c, c->out_c, bias, packed);
}

/* Weights turned by 180 degrees: taps are read from the last to the first, in_c and out_c change
 * places. */
void hu_winograd_pack_data(const hu_conv *c, const float *weights, float *packed) {
    const weight_view v = {weights + (TAPS - 1) * c->in_c, TAPS * c->in_c, 1, -c->in_c};
    pack(&v, c->out_c, c->in_c, NULL, packed);
}

/* ---- products ---- */

static int64_t padded(int64_t channels) {
    return (channels + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
}

/* Scratch: transformed tiles, and the products of a block of channels. */
static int64_t tile_floats(int64_t depth) {
    return POINTS * (BLOCK * padded(depth) + SKEW);
}

static size_t scratch_bytes(int64_t depth) {
    return (size_t)(tile_floats(depth) + POINTS * (BLOCK * HU_CONV_WIDTH + SKEW)) * sizeof(float);
}

size_t hu_winograd_forward_scratch_bytes(const hu_conv *c) {
    return scratch_bytes(c->in_c);
}

size_t hu_winograd_data_scratch_bytes(const hu_conv *c) {
    return scratch_bytes(c->out_c);
}

/* To images [h][w][width]. */
static void gather(const hu_winograd_source *s, int64_t count, const float *packed, void *scratch,
                   int64_t h, int64_t w, int64_t width, float *y) {
    const hu_winograd_kernels *kernels = winograd_kernels_of_isa();
    int64_t depth = s->channels, tile = padded(depth);
    const float *bias = packed + hu_conv_blocks(width) * block_floats(depth);
    const hu_winograd_points v = {scratch, BLOCK * tile + SKEW, tile};
    const hu_winograd_points m = {v.at + tile_floats(depth), BLOCK * HU_CONV_WIDTH + SKEW,
                                  HU_CONV_WIDTH};
    hu_winograd_tiles t = {.rows = (h + 1) / 2, .columns = (w + 1) / 2};
    for (int64_t all = count * t.rows * t.columns; t.first < all; t.first += t.count) {
        t.count = all - t.first < BLOCK ? all - t.first : BLOCK;
        /* A block of tiles is transformed once, then meets every block of output channels. */
        kernels->input(s, &t, &v);
        for (int64_t b = 0; b < hu_conv_blocks(width); b++) {
            int64_t first = b * HU_CONV_WIDTH, left = width - first;
            kernels->multiply(&v, packed + b * block_floats(depth), t.count, depth, &m);
            kernels->output(&m, bias + first, &t, h, w, width,
                            left < HU_CONV_WIDTH ? left : HU_CONV_WIDTH, y + first);
        }
    }
}

void hu_winograd_forward(const hu_conv *c, int64_t count, const float *x, const float *packed,
                         void *scratch, float *y) {
    const hu_winograd_source s = {x, c->in_h, c->in_w, c->in_c, c->pad_h, c->pad_w};
    gather(&s, count, packed, scratch, c->out_h, c->out_w, c->out_c, y);
}

void hu_winograd_data_gradient(const hu_conv *c, int64_t count, const float *dy,
                               const float *packed, void *scratch, float *dx) {
    const hu_winograd_source s = {
        dy, c->out_h, c->out_w, c->out_c, SIDE - 1 - c->pad_h, SIDE - 1 - c->pad_w};
    gather(&s, count, packed, scratch, c->in_h, c->in_w, c->in_c, dx);
}

/* ---- winograd weights ---- */

/* Weight gradient: per strip of tiles 16 products of transformed
 * pixels, whose sums are transformed back at the end of a call. */

enum {
    STRIP = HU_WINOGRAD_STRIP,
    GROUP = 16, /* filters whose sums stay in a cache until they are transformed */
};

static int64_t whole_blocks(int64_t channels) {
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
static int64_t strip_floats(int64_t channels) {
    return POINTS * (STRIP * whole_blocks(channels) + SKEW);
}

/* Floats from one point's sums [filter][channel] to the next point's. */
static int64_t sum_step(const hu_conv *c, int64_t group) {
    return group * whole_blocks(c->in_c) + SKEW;
}

size_t hu_winograd_weight_scratch_bytes(const hu_conv *c, int64_t count) {
    int64_t sums = POINTS * sum_step(c, group_of(c, count));
    return (size_t)(strip_floats(c->in_c) + strip_floats(c->out_c) + sums) * sizeof(float);
}

/* The products of a strip with the filters of one group after the other; each is complete where
 * the strip is the last. */
static void run_strip(const hu_conv *c, const hu_winograd_points *x, const hu_winograd_points *dy,
                      const hu_winograd_points *sums, const hu_winograd_tiles *t, int64_t group,
                      bool is_last, bool adds, float *dw) {
    const hu_winograd_kernels *kernels = winograd_kernels_of_isa();
    for (int64_t f = 0; f < c->out_c; f += group) {
        int64_t filters = c->out_c - f < group ? c->out_c - f : group;
        const hu_winograd_points of_group = {dy->at + f, dy->point, dy->tile};
        kernels->outer(x, &of_group, t->count, filters, c->in_c, t->first > 0, sums);
        if (is_last) kernels->weights(sums, filters, c->in_c, adds, dw + f * TAPS * c->in_c);
    }
}

void hu_winograd_weight_gradient(const hu_conv *c, int64_t count, const float *x, const float *dy,
                                 bool adds, void *scratch, float *dw) {
    const hu_winograd_kernels *kernels = winograd_kernels_of_isa();
    int64_t all = tiles_of(c, count), group = group_of(c, count);
    const hu_winograd_source in = {x, c->in_h, c->in_w, c->in_c, c->pad_h, c->pad_w};
    const hu_winograd_source out = {dy, c->out_h, c->out_w, c->out_c, 0, 0};
    const hu_winograd_points v = {scratch, STRIP * whole_blocks(c->in_c) + SKEW,
                                  whole_blocks(c->in_c)};
    const hu_winograd_points w = {v.at + strip_floats(c->in_c),
                                  STRIP * whole_blocks(c->out_c) + SKEW, whole_blocks(c->out_c)};
    const hu_winograd_points sums = {w.at + strip_floats(c->out_c), sum_step(c, group),
                                     whole_blocks(c->in_c)};
    hu_winograd_tiles t = {.rows = (c->out_h + 1) / 2, .columns = (c->out_w + 1) / 2};
    for (; t.first < all; t.first += t.count) {
        t.count = all - t.first < STRIP ? all - t.first : STRIP;
        /* Both factors of a strip are transformed once; then its products go to the sums. */
        kernels->input(&in, &t, &v);
        kernels->gradient(&out, &t, &w);
        run_strip(c, &v, &w, &sums, &t, group, t.first + t.count == all, adds, dw);
    }
}
