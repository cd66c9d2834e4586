#include "kernel/conv/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"

/* One axis of a convolution. */
typedef struct extent {
    int64_t in, out, kernel, stride, pad, dilation;
} extent;

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

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
    int64_t divisor = common_divisor(e->stride, e->dilation), step = e->stride / divisor;
    int64_t last = (e->out - 1) * e->stride, k = 0, at = y + e->pad;
    /* The first k whose output place is not behind the last one; then the first that stride
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
