/* Depthwise convolutions: places sorted by the taps that reach them, as in plan.h. Lines of few
 * channels run over the whole row where neighbours lie beside each other. */
#include "kernel/conv/depthwise.h"

#include <string.h>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"

enum {
    ALIGNMENT = 64,
    MOST_JOINED = 64, /* channels of lines that run over a row */
    ROWS = 4          /* of a sweep */
};

struct hu_depthwise {
    hu_conv conv;
    hu_conv_plan *plan;
    int64_t taps, period, line; /* packed: start and a line of weights per tap */
};

static const hu_depthwise_kernels *kernels(void) {
    static const hu_depthwise_kernels *const of_isa[HU_ISA_COUNT] = {
        HU_AT_ISA(hu_depthwise_kernels)};
    return of_isa[hu_cpu_isa()];
}

/* Channels after which a line of weights repeats itself: few channels are repeated until they fill
 * whole vectors, so that a line may run over neighbouring pixels. */
static int64_t period_of(int64_t channels) {
    int64_t period = channels;
    if (channels > MOST_JOINED) return channels;
    while (period % HU_DEPTHWISE_LANES != 0) period += channels;
    return period;
}

int64_t hu_depthwise_strip(const hu_conv *c) {
    int64_t pixels = c->out_h * c->out_w;
    return (HU_DEPTHWISE_STRIP + pixels - 1) / pixels;
}

hu_status hu_depthwise_create(const hu_conv *conv, hu_depthwise **plan) {
    hu_status st = HU_NEW(plan);
    int64_t floats;
    if (st != HU_OK) return st;
    hu_depthwise *p = *plan;
    *p = (hu_depthwise){
        .conv = *conv, .taps = conv->kernel_h * conv->kernel_w, .period = period_of(conv->in_c)};
    /* After the period as many floats as a vector that begins at its last channel reads. */
    p->line = (p->period + 2 * HU_DEPTHWISE_LANES - 1) & -(int64_t)HU_DEPTHWISE_LANES;
    if (!hu_mul_i64(p->line, p->taps + 1, &floats) || floats > INT64_MAX / 8)
        st = hu_fail(HU_ERR_LIMIT, "weights of a depthwise convolution do not fit 63 bits");
    else
        st = hu_conv_plan_create(conv, &p->plan);
    if (st == HU_OK) return st;
    hu_depthwise_free(p);
    *plan = NULL;
    return st;
}

void hu_depthwise_free(hu_depthwise *plan) {
    if (!plan) return;
    hu_conv_plan_free(plan->plan);
    hu_free(plan);
}

size_t hu_depthwise_packed_bytes(const hu_depthwise *p) {
    return (size_t)(p->line * (p->taps + 1)) * sizeof(float);
}

/* line[i] = weight of channel i modulo C. */
static void repeat(const hu_depthwise *p, const float *from, int64_t step, float *line) {
    for (int64_t i = 0; i < p->line; i++) line[i] = from[i % p->conv.in_c * step];
}

void hu_depthwise_pack(const hu_depthwise *p, const float *weights, const float *bias,
                       float *packed) {
    static const float zero = 0;
    repeat(p, bias ? bias : &zero, bias ? 1 : 0, packed);
    for (int64_t t = 0; t < p->taps; t++)
        repeat(p, weights + t, p->taps, packed + (t + 1) * p->line);
}

/* ---- forward and data gradient ---- */

/* The places of one run of rows, and of those the given ones, and one run of columns. */
static void sweep_runs(const hu_depthwise *p, const hu_conv_gather *g, const hu_conv_run *rows,
                       int64_t first, int64_t count, const hu_conv_run *columns,
                       const float *source, const float *packed, float *target) {
    int64_t c = p->conv.in_c, source_row = g->source_w * c, target_row = g->target_w * c;
    int64_t from = rows->source + first * rows->source_step, to = rows->first + first * rows->step;
    hu_depthwise_sweep s = {
        .source = source + from * source_row + columns->source * c,
        .start = packed,
        .weights = packed + p->line * (1 + rows->tap * g->kernel_w + columns->tap),
        .target = target + to * target_row + columns->first * c,
        .rows = count,
        .columns = columns->count,
        .length = c,
        .period = p->period,
        .source_row = rows->source_step * source_row,
        .source_column = columns->source_step * c,
        .target_row = rows->step * target_row,
        .target_column = columns->step * c,
        .tap_rows = columns->taps ? rows->taps : 0,
        .tap_columns = columns->taps,
        .tap_source_row = rows->tap_source * source_row,
        .tap_source_column = columns->tap_source * c,
        .tap_weight_row = rows->tap_step * g->kernel_w * p->line,
        .tap_weight_column = columns->tap_step * p->line,
    };
    /* Neighbouring places are one long line of channels. */
    bool are_neighbours = s.source_column == c && s.target_column == c;
    if (are_neighbours && p->period % HU_DEPTHWISE_LANES == 0) {
        s.length = columns->count * c;
        s.columns = 1;
    }
    kernels()->sweep(&s);
}

/* Few rows at a time: the runs of columns then read them from the L1 cache. */
static void gather_image(const hu_depthwise *p, const hu_conv_gather *g, const float *source,
                         const float *packed, float *target) {
    for (int64_t r = 0; r < g->rows.count; r++) {
        const hu_conv_run *rows = &g->rows.runs[r];
        for (int64_t first = 0; first < rows->count; first += ROWS) {
            int64_t count = rows->count - first < ROWS ? rows->count - first : ROWS;
            for (int64_t c = 0; c < g->columns.count; c++)
                sweep_runs(p, g, rows, first, count, &g->columns.runs[c], source, packed, target);
        }
    }
}

/* Image by image: they share nothing but weights. */
static void gather(const hu_depthwise *p, const hu_conv_gather *g, int64_t count,
                   const float *source, const float *packed, float *target) {
    int64_t source_image = g->source_h * g->source_w * p->conv.in_c;
    int64_t target_image = g->target_h * g->target_w * p->conv.in_c;
    for (int64_t n = 0; n < count; n++, source += source_image, target += target_image)
        gather_image(p, g, source, packed, target);
}

void hu_depthwise_forward(const hu_depthwise *p, int64_t count, const float *x, const float *packed,
                          float *y) {
    gather(p, &p->plan->forward, count, x, packed, y);
}

void hu_depthwise_data_gradient(const hu_depthwise *p, int64_t count, const float *dy,
                                const float *packed, float *dx) {
    gather(p, &p->plan->data, count, dy, packed, dx);
}

/* ---- weight gradient ---- */

/* Sums of a strip, and of all strips: [taps][C] each. */
static size_t sums_floats(const hu_depthwise *p) {
    return hu_round_up((size_t)(p->taps * p->conv.in_c), ALIGNMENT / sizeof(float));
}

size_t hu_depthwise_scratch_bytes(const hu_depthwise *p) {
    return 2 * sums_floats(p) * sizeof(float);
}

/* What all strips of a call share. */
static hu_depthwise_outer outer_of(const hu_depthwise *p, const float *x, const float *dy) {
    const hu_conv *c = &p->conv;
    return (hu_depthwise_outer){.x = x,
                                .dy = dy,
                                .rows = &p->plan->forward.rows,
                                .columns = &p->plan->forward.columns,
                                .channels = c->in_c,
                                .kernel_h = c->kernel_h,
                                .kernel_w = c->kernel_w,
                                .x_image = c->in_h * c->in_w * c->in_c,
                                .x_row = c->in_w * c->in_c,
                                .dy_image = c->out_h * c->out_w * c->in_c,
                                .dy_row = c->out_w * c->in_c};
}

void hu_depthwise_weight_gradient(const hu_depthwise *p, int64_t count, const float *x,
                                  const float *dy, bool adds, void *scratch, float *dw) {
    hu_depthwise_outer o = outer_of(p, x, dy);
    int64_t strip = hu_depthwise_strip(&p->conv), channels = p->conv.in_c, n = p->taps * channels;
    float *total = scratch, *sums = total + sums_floats(p);
    for (int64_t first = 0; first < count; first += strip) {
        o.images = count - first < strip ? count - first : strip;
        o.sums = first == 0 ? total : sums;
        kernels()->outer(&o);
        /* The first strip is the total; the others are added to it in order. */
        for (int64_t i = 0; first > 0 && i < n; i++) total[i] += sums[i];
        o.x += strip * o.x_image;
        o.dy += strip * o.dy_image;
    }
    if (count == 0) memset(total, 0, (size_t)n * sizeof *total);
    for (int64_t c = 0; c < channels; c++) /* The sums lie [tap][channel], dw [channel][tap]. */
        for (int64_t t = 0; t < p->taps; t++) {
            float *to = &dw[c * p->taps + t], sum = total[t * channels + c];
            *to = adds ? *to + sum : sum;
        }
}
