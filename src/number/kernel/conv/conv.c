#include "kernel/conv/conv.h"

#include <string.h>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/conv/sweep.h"

/* ---- The places of a convolution, sorted by the taps that reach them ---- */

/* One axis of a convolution. */
typedef struct extent {
    int64_t in, out, kernel, stride, pad, dilation;
} extent;

/* The taps that read the image at output place y. */
static hu_conv_run forward_taps(const extent *e, int64_t y) {
    int64_t base = y * e->stride - e->pad;
    int64_t low = base < 0 ? (-base + e->dilation - 1) / e->dilation : 0;
    int64_t high = base < e->in ? (e->in - 1 - base) / e->dilation + 1 : 0;
    if (high > e->kernel) high = e->kernel;
    if (low >= high) return (hu_conv_run){0};
    return (hu_conv_run){.tap = low,
                         .tap_step = 1,
                         .taps = high - low,
                         .source = base + low * e->dilation,
                         .source_step = e->stride,
                         .tap_source = e->dilation};
}

/* The taps whose output reads input place y: y + pad - k * dilation is stride times an output
 * place, and falls with k. */
static hu_conv_run data_taps(const extent *e, int64_t y) {
    /* Of k, k+1, ... only every step-th can be met: stride must divide the change of k dilation. */
    int64_t divisor = hu_common_divisor(e->stride, e->dilation), step = e->stride / divisor;
    int64_t last = (e->out - 1) * e->stride, k = 0, at = y + e->pad;
    /* The first k whose output place is not after the last one; then the first that stride
     * divides. */
    if (at > last) k = (at - last + e->dilation - 1) / e->dilation;
    int64_t end = k + step;
    while (k < end && (at - k * e->dilation) % e->stride != 0) k++;
    at -= k * e->dilation;
    if (k == end || k >= e->kernel || at < 0) return (hu_conv_run){0};
    int64_t taps = (e->kernel - 1 - k) / step + 1, fall = e->dilation / divisor;
    int64_t source = at / e->stride;
    if (taps > source / fall + 1) taps = source / fall + 1;
    return (hu_conv_run){.tap = k,
                         .tap_step = step,
                         .taps = taps,
                         .source = source,
                         .source_step = 1,
                         .tap_source = -fall};
}

/* Runs of the places 0 .. places-1, those of each residue modulo step apart. */
static hu_status make_axis(const extent *e, hu_conv_run (*taps_of)(const extent *, int64_t),
                           int64_t places, int64_t step, hu_conv_axis *axis) {
    hu_status st = HU_NEW_ARRAY(&axis->runs, (size_t)places);
    if (st != HU_OK) return st;
    /* Places of one residue modulo stride are met by the same taps but at the borders: neighbours
     * with the same taps become one run. */
    for (int64_t residue = 0; residue < step && residue < places; residue++) {
        hu_conv_run *last = NULL;
        for (int64_t y = residue; y < places; y += step) {
            hu_conv_run run = taps_of(e, y);
            run.first = y;
            run.step = step;
            run.count = 1;
            if (last && last->tap == run.tap && last->taps == run.taps) {
                last->count++;
                continue;
            }
            last = &axis->runs[axis->count++];
            *last = run;
        }
    }
    return HU_OK;
}

/* Rows and columns are independent: a place's taps are the product of both. */
static hu_status make_axes(const hu_conv *c, hu_conv_plan *plan) {
    const extent h = {c->in_h, c->out_h, c->kernel_h, c->stride_h, c->pad_h, c->dilation_h};
    const extent w = {c->in_w, c->out_w, c->kernel_w, c->stride_w, c->pad_w, c->dilation_w};
    hu_status st;
    HU_TRY(make_axis(&h, forward_taps, c->out_h, 1, &plan->forward.rows));
    HU_TRY(make_axis(&w, forward_taps, c->out_w, 1, &plan->forward.columns));
    HU_TRY(make_axis(&h, data_taps, c->in_h, c->stride_h, &plan->data.rows));
    HU_TRY(make_axis(&w, data_taps, c->in_w, c->stride_w, &plan->data.columns));
done:
    return st;
}

hu_status hu_conv_plan_create(const hu_conv *c, hu_conv_plan **plan) {
    hu_status st = HU_NEW(plan);
    if (st != HU_OK) return st;
    **plan = (hu_conv_plan){.conv = *c,
                            .forward = {.source_h = c->in_h,
                                        .source_w = c->in_w,
                                        .depth = c->in_c,
                                        .target_h = c->out_h,
                                        .target_w = c->out_w,
                                        .width = c->out_c,
                                        .kernel_h = c->kernel_h,
                                        .kernel_w = c->kernel_w},
                            .data = {.source_h = c->out_h,
                                     .source_w = c->out_w,
                                     .depth = c->out_c,
                                     .target_h = c->in_h,
                                     .target_w = c->in_w,
                                     .width = c->in_c,
                                     .kernel_h = c->kernel_h,
                                     .kernel_w = c->kernel_w}};
    st = make_axes(c, *plan);
    if (st == HU_OK) return st;
    hu_conv_plan_free(*plan);
    *plan = NULL;
    return st;
}

void hu_conv_plan_free(hu_conv_plan *plan) {
    if (!plan) return;
    hu_free(plan->forward.rows.runs);
    hu_free(plan->forward.columns.runs);
    hu_free(plan->data.rows.runs);
    hu_free(plan->data.columns.runs);
    hu_free(plan);
}

/* ---- gather ---- */

/* Forward product and data gradient: both gather, for every place, the
 * products of a channel block's weights with the taps that reach the place. */

/* Terms of a block: its panel of 64 bytes a term stays in the L1 cache beside what it meets. */
static const int64_t block_terms = 384;

/* Floats of source images that are swept together: they stay in the L2 cache. But so many places
 * at least: what a panel costs to read is shared out among them. */
static const int64_t group_floats = 65536, group_places = 64;

const hu_conv_kernels *hu_conv_kernels_of_isa(void) {
    static const hu_conv_kernels *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_conv_kernels)};
    return of_isa[hu_cpu_isa()];
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- packed weights ---- */

/* Floats of the panels of one channel block: [kernel_h][kernel_w][depth][16]. */
static int64_t panel_floats(const hu_conv_gather *g) {
    return g->kernel_h * g->kernel_w * g->depth * HU_CONV_WIDTH;
}

static int64_t packed_floats(const hu_conv_gather *g) {
    return hu_conv_blocks(g->width) * panel_floats(g);
}

size_t hu_conv_data_packed_bytes(const hu_conv_plan *plan) {
    return (size_t)packed_floats(&plan->data) * sizeof(float);
}

/* After the panels the bias, filled up with zeros. */
size_t hu_conv_forward_packed_bytes(const hu_conv_plan *plan) {
    int64_t bias = hu_conv_blocks(plan->conv.out_c) * HU_CONV_WIDTH;
    return (size_t)(packed_floats(&plan->forward) + bias) * sizeof(float);
}

/* Channels of a block: 16, or what is left for the last. */
static int64_t width_of(const hu_conv_gather *g, int64_t block) {
    return least(g->width - block * HU_CONV_WIDTH, HU_CONV_WIDTH);
}

/* [out_c, kernel_h, kernel_w, in_c] -> [block][kernel_h][kernel_w][in_c][16 of out_c]. */
void hu_conv_pack_forward(const hu_conv_plan *plan, const float *weights, const float *bias,
                          float *packed) {
    const hu_conv_gather *g = &plan->forward;
    int64_t terms = panel_floats(g) / HU_CONV_WIDTH;
    float *start = packed + packed_floats(g);
    for (int64_t b = 0; b < hu_conv_blocks(g->width); b++)
        hu_conv_kernels_of_isa()->turn(terms, terms, width_of(g, b),
                                       weights + b * HU_CONV_WIDTH * terms,
                                       packed + b * HU_CONV_WIDTH * terms);
    memset(start, 0, (size_t)hu_conv_blocks(g->width) * HU_CONV_WIDTH * sizeof *start);
    if (bias) memcpy(start, bias, (size_t)g->width * sizeof *start);
}

/* [out_c, kernel_h, kernel_w, in_c] -> [block][kernel_h][kernel_w][out_c][16 of in_c]. */
void hu_conv_pack_data(const hu_conv_plan *plan, const float *weights, float *packed) {
    const hu_conv_gather *g = &plan->data;
    int64_t taps = g->kernel_h * g->kernel_w;
    for (int64_t b = 0; b < hu_conv_blocks(g->width); b++) {
        int64_t width = width_of(g, b);
        for (int64_t t = 0; t < taps; t++) {
            const float *w = weights + t * g->width + b * HU_CONV_WIDTH;
            for (int64_t k = 0; k < g->depth; k++, packed += HU_CONV_WIDTH) {
                const float *from = w + k * taps * g->width;
                for (int64_t i = 0; i < width; i++) packed[i] = from[i];
                for (int64_t i = width; i < HU_CONV_WIDTH; i++) packed[i] = 0;
            }
        }
    }
}

/* ---- products ---- */

/* A part of the sums: taps of kernel rows and columns, and their channels. */
typedef struct block {
    int64_t row, row_end, column, column_end, channel, channel_end;
} block;

/* What does not change from sweep to sweep. */
typedef struct product {
    const hu_conv_gather *g;
    const hu_conv_kernels *kernels;
    int64_t images;
    const float *source; /* of the images that are swept together */
    float *target;       /* of them, at the first channel block */
    const float *panel, *start;
    int64_t width;
} product;

/* The taps of run in kernel rows (columns) first .. end-1: j0 .. j1-1. */
static void clip(const hu_conv_run *run, int64_t first, int64_t end, int64_t *j0, int64_t *j1) {
    *j0 = *j1 = 0;
    if (run->taps == 0) return;
    if (first > run->tap) *j0 = (first - run->tap + run->tap_step - 1) / run->tap_step;
    if (end > run->tap) *j1 = (end - run->tap + run->tap_step - 1) / run->tap_step;
    if (*j1 > run->taps) *j1 = run->taps;
    if (*j0 > *j1) *j0 = *j1;
}

/* Taps that lie one after the other are one. */
static void join_taps(hu_conv_sweep *s) {
    if (s->tap_columns > 1 && s->tap_source_column == s->depth &&
        s->tap_panel_column == s->depth * HU_CONV_WIDTH) {
        s->depth *= s->tap_columns;
        s->tap_columns = 1;
    }
}

/* One block of terms for the places of one run of rows and one run of columns: taps r0 .. r1-1
 * times c0 .. c1-1, channels of the block. */
static void sweep_runs(const product *p, const block *b, const hu_conv_run *row,
                       const hu_conv_run *column) {
    const hu_conv_gather *g = p->g;
    int64_t r0, r1, c0, c1, source_row = g->source_w * g->depth,
                            target_row = g->target_w * g->width;
    /* Sums start anew at the first term of a place, later blocks go on. Places without taps get the
     * start alone, once. */
    bool reaches = row->taps > 0 && column->taps > 0;
    clip(row, b->row, b->row_end, &r0, &r1);
    clip(column, b->column, b->column_end, &c0, &c1);
    bool is_first = reaches ? r0 == 0 && c0 == 0 && b->channel == 0
                            : b->row == 0 && b->column == 0 && b->channel == 0;
    if ((r0 == r1 || c0 == c1) && (reaches || !is_first)) return;
    int64_t tap =
        (row->tap + r0 * row->tap_step) * g->kernel_w + column->tap + c0 * column->tap_step;
    hu_conv_sweep s = {.source = p->source + (row->source + r0 * row->tap_source) * source_row +
                                 (column->source + c0 * column->tap_source) * g->depth + b->channel,
                       .panel = p->panel + (tap * g->depth + b->channel) * HU_CONV_WIDTH,
                       .start = is_first ? p->start : NULL,
                       .target = p->target + row->first * target_row + column->first * g->width,
                       .images = p->images,
                       .rows = row->count,
                       .columns = column->count,
                       .width = p->width,
                       .source_image = g->source_h * source_row,
                       .source_row = row->source_step * source_row,
                       .source_column = column->source_step * g->depth,
                       .target_image = g->target_h * target_row,
                       .target_row = row->step * target_row,
                       .target_column = column->step * g->width,
                       .tap_rows = r1 - r0,
                       .tap_columns = c1 - c0,
                       .depth = b->channel_end - b->channel,
                       .tap_source_row = row->tap_source * source_row,
                       .tap_source_column = column->tap_source * g->depth,
                       .tap_panel_row = row->tap_step * g->kernel_w * g->depth * HU_CONV_WIDTH,
                       .tap_panel_column = column->tap_step * g->depth * HU_CONV_WIDTH,
                       .panel_block = panel_floats(g),
                       .source_term = 1};
    join_taps(&s);
    p->kernels->sweep(&s);
}

/* Every pair of a run of rows and a run of columns, for the terms of one block. */
static void sweep_block(const product *p, const block *b) {
    for (int64_t r = 0; r < p->g->rows.count; r++)
        for (int64_t c = 0; c < p->g->columns.count; c++)
            sweep_runs(p, b, &p->g->rows.runs[r], &p->g->columns.runs[c]);
}

/* Of `all` things of so many terms each, how many make a block, in blocks of nearly equal size. */
static int64_t block_share(int64_t all, int64_t terms) {
    int64_t most = block_terms / terms > 1 ? block_terms / terms : 1;
    int64_t blocks = (all + most - 1) / most;
    return (all + blocks - 1) / blocks;
}

/* Blocks of whole kernel rows, of columns of one row, or of channels of one tap: the terms of one
 * block come before those of the next. */
static void sweep_blocks(const product *p) {
    const hu_conv_gather *g = p->g;
    int64_t rows = block_share(g->kernel_h, g->kernel_w * g->depth);
    int64_t columns = rows > 1 ? g->kernel_w : block_share(g->kernel_w, g->depth);
    int64_t channels = rows > 1 || columns > 1 ? g->depth : block_share(g->depth, 1);
    for (int64_t r = 0; r < g->kernel_h; r += rows)
        for (int64_t c = 0; c < g->kernel_w; c += columns)
            for (int64_t k = 0; k < g->depth; k += channels) {
                const block b = {r, least(r + rows, g->kernel_h),
                                 c, least(c + columns, g->kernel_w),
                                 k, least(k + channels, g->depth)};
                sweep_block(p, &b);
            }
}

/* start: [blocks][16], or zeros for all blocks (start_step 0). */
static void gather(const hu_conv_gather *g, int64_t count, const float *source, const float *packed,
                   const float *start, int64_t start_step, float *target) {
    int64_t source_image = g->source_h * g->source_w * g->depth;
    int64_t target_image = g->target_h * g->target_w * g->width;
    int64_t places = g->target_h * g->target_w, group = (group_places + places - 1) / places;
    if (group < group_floats / source_image) group = group_floats / source_image;
    product p = {.g = g, .kernels = hu_conv_kernels_of_isa()};
    /* Images in groups that stay in the cache while all channel blocks read them. The order of
     * images and blocks is free: every place has sums of its own. */
    for (int64_t n = 0; n < count; n += group)
        for (int64_t b = 0; b < hu_conv_blocks(g->width); b += p.kernels->blocks) {
            p.images = least(group, count - n);
            p.source = source + n * source_image;
            p.target = target + n * target_image + b * HU_CONV_WIDTH;
            p.panel = packed + b * panel_floats(g);
            p.start = start + b * start_step;
            p.width = least(g->width - b * HU_CONV_WIDTH, p.kernels->blocks * HU_CONV_WIDTH);
            sweep_blocks(&p);
        }
}

void hu_conv_forward(const hu_conv_plan *plan, int64_t count, const float *x, const float *packed,
                     float *y) {
    gather(&plan->forward, count, x, packed, packed + packed_floats(&plan->forward), HU_CONV_WIDTH,
           y);
}

void hu_conv_data_gradient(const hu_conv_plan *plan, int64_t count, const float *dy,
                           const float *packed, float *dx) {
    static const float zeros[HU_CONV_MOST_BLOCKS * HU_CONV_WIDTH];
    gather(&plan->data, count, dy, packed, zeros, 0, dx);
}
