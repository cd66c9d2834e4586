/* Depthwise convolutions as kernel/conv/depthwise.h defines them, one element after the other. */
#include "reference/conv.h"

#include <math.h>

/* The input place that tap k of output place y reads; -1: padding. */
static int64_t place(int64_t y, int64_t k, int64_t stride, int64_t pad, int64_t dilation,
                     int64_t extent) {
    int64_t at = y * stride - pad + k * dilation;
    return at < 0 || at >= extent ? -1 : at;
}

/* The output place whose tap k reads input place y; -1: there is none. */
static int64_t origin(int64_t y, int64_t k, int64_t stride, int64_t pad, int64_t dilation,
                      int64_t extent) {
    int64_t at = y + pad - k * dilation;
    return at < 0 || at % stride != 0 || at / stride >= extent ? -1 : at / stride;
}

typedef int64_t place_fn(int64_t y, int64_t k, int64_t stride, int64_t pad, int64_t dilation,
                         int64_t extent);

/* Sum over the taps of one number; source: [source_h, source_w, C]. */
static float sum_taps(const hu_conv *c, place_fn *place_of, int64_t h, int64_t w, int64_t channel,
                      int64_t source_h, int64_t source_w, const float *source, const float *weights,
                      float sum) {
    for (int64_t kh = 0; kh < c->kernel_h; kh++)
        for (int64_t kw = 0; kw < c->kernel_w; kw++) {
            int64_t sh = place_of(h, kh, c->stride_h, c->pad_h, c->dilation_h, source_h);
            int64_t sw = place_of(w, kw, c->stride_w, c->pad_w, c->dilation_w, source_w);
            if (sh < 0 || sw < 0) continue;
            sum = fmaf(source[(sh * source_w + sw) * c->in_c + channel],
                       weights[(channel * c->kernel_h + kh) * c->kernel_w + kw], sum);
        }
    return sum;
}

void hu_depthwise_reference_forward(const hu_conv *c, int64_t count, const float *x,
                                    const float *weights, const float *bias, float *y) {
    for (int64_t n = 0; n < count; n++, x += c->in_h * c->in_w * c->in_c)
        for (int64_t h = 0; h < c->out_h; h++)
            for (int64_t w = 0; w < c->out_w; w++)
                for (int64_t i = 0; i < c->in_c; i++)
                    *y++ = sum_taps(c, place, h, w, i, c->in_h, c->in_w, x, weights,
                                    bias ? bias[i] : 0.0f);
}

void hu_depthwise_reference_data(const hu_conv *c, int64_t count, const float *dy,
                                 const float *weights, float *dx) {
    for (int64_t n = 0; n < count; n++, dy += c->out_h * c->out_w * c->in_c)
        for (int64_t h = 0; h < c->in_h; h++)
            for (int64_t w = 0; w < c->in_w; w++)
                for (int64_t i = 0; i < c->in_c; i++)
                    *dx++ = sum_taps(c, origin, h, w, i, c->out_h, c->out_w, dy, weights, 0.0f);
}

/* Of images first .. end-1. */
static float sum_pixels(const hu_conv *c, int64_t first, int64_t end, int64_t channel, int64_t kh,
                        int64_t kw, const float *x, const float *dy) {
    float sum = 0;
    for (int64_t n = first; n < end; n++)
        for (int64_t h = 0; h < c->out_h; h++)
            for (int64_t w = 0; w < c->out_w; w++) {
                int64_t sh = place(h, kh, c->stride_h, c->pad_h, c->dilation_h, c->in_h);
                int64_t sw = place(w, kw, c->stride_w, c->pad_w, c->dilation_w, c->in_w);
                if (sh < 0 || sw < 0) continue;
                sum = fmaf(dy[((n * c->out_h + h) * c->out_w + w) * c->in_c + channel],
                           x[((n * c->in_h + sh) * c->in_w + sw) * c->in_c + channel], sum);
            }
    return sum;
}

void hu_depthwise_reference_weights(const hu_conv *c, int64_t count, const float *x,
                                    const float *dy, bool adds, float *dw) {
    int64_t strip = hu_depthwise_strip(c);
    for (int64_t i = 0; i < c->in_c; i++)
        for (int64_t kh = 0; kh < c->kernel_h; kh++)
            /* The strips are added in order, then to what dw holds. */
            for (int64_t kw = 0; kw < c->kernel_w; kw++, dw++) {
                float total = 0;
                for (int64_t first = 0; first < count; first += strip) {
                    int64_t end = first + strip < count ? first + strip : count;
                    float sum = sum_pixels(c, first, end, i, kh, kw, x, dy);
                    total = first == 0 ? sum : total + sum;
                }
                *dw = adds ? *dw + total : total;
            }
}
